// SPDX-License-Identifier: Apache-2.0
/* Two hosts with simulated nodes, and what their trees say, for tests of nodes. */
#ifndef ONEIB_TESTS_NODE_SCENE_H
#define ONEIB_TESTS_NODE_SCENE_H

#include "base/text.h"
#include "ib/guid.h"
#include "lab_node.h"
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#define CHANGE_MS 60000u
#define SEEN_MS 5000u
#define RELOAD_MS 250u
/* oneibd waits for ports that it has changed, and here none follows it, for a second before it
 * looks at what came meanwhile: so long may a grant take, and a bit. */
#define UNSETTLED_MS 3000
#define CLOSED 0x7fff
#define LCM_SHUTDOWN 12
#define LCM_MIGRATE 4

static struct oneib_error err;
static struct lab *lab;

#define ok(expression)                                                                             \
    do {                                                                                           \
        if ((expression) < 0)                                                                      \
            fail_msg("%s: %s", #expression, err.text);                                             \
    } while (0)

#define DEFAULT_PARTITION "Default=0x7fff, defmember=limited : ALL=limited, SELF=full;\n"

/* ---- scenes ---------------------------------------------------------------------------------- */

static inline int start_on(const struct lab_options *fabric, const struct lab_node_options *options)
{
    lab = lab_open(fabric, &err);
    if (lab && lab_write(lab, "partitions.conf", 0644, DEFAULT_PARTITION, &err) == 0 &&
        lab_fabric_start(lab, &err) == 0 && lab_opensm_start(lab, &LAB_SM, &err) == 0 &&
        lab_standin_start(lab, NULL, &err) == 0 && lab_nodes_start(lab, options, &err) == 0)
        return 0;
    print_error("%s\n", err.text);
    lab_close(lab);
    return -1;
}

static inline int start(const struct lab_node_options *options)
{
    const struct lab_options fabric = {.leaves = 1, .hosts_per_leaf = 2, .spines = 0};
    return start_on(&fabric, options);
}

static inline int with_short_waits(void **state)
{
    struct lab_node_options options = LAB_NODES_DEFAULTS;
    (void)state;
    options.pkey_wait_ms = UNSETTLED_MS;
    options.guid_wait_ms = 500;
    return start(&options);
}

static inline int with_long_waits(void **state)
{
    const struct lab_node_options options = LAB_NODES_DEFAULTS;
    (void)state;
    return start(&options);
}

static inline int with_mlx5(void **state)
{
    struct lab_node_options options = LAB_NODES_DEFAULTS;
    (void)state;
    options.driver = ONEIB_HCA_MLX5;
    return start(&options);
}

static inline int stop(void **state)
{
    (void)state;
    lab_close(lab);
    return 0;
}

/* Hosts, and an oneibd that grants what oned says and does not touch what the ports hold: that is
 * set_partitions(). */
static inline void add_nodes(void)
{
    const struct lab_config config = {.partitions = "nobodys.conf",
                                      .daemon = "poll_preparing = 300; poll_idle = 1000;"};
    ok(lab_add_nodes(lab, &err));
    ok(lab_config_write(lab, &config, &err));
    ok(lab_oneibd_start(lab, &LAB_DAEMON, &err));
    ok(lab_nodes_await_grants(lab, &err));
}

/* ---- what trees say -------------------------------------------------------------------------- */

static inline void attribute_path(size_t host, const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/sys/class/infiniband/%s", lab_node_root(lab, host), name);
}

static inline void read_attribute(size_t host, const char *name, char *value, size_t size)
{
    char path[256];
    attribute_path(host, name, path, sizeof path);
    FILE *file = fopen(path, "re");
    if (!file || !fgets(value, (int)size, file))
        fail_msg("%s cannot be read", path);
    fclose(file);
    value[strcspn(value, "\n")] = '\0';
}

static inline void write_attribute(size_t host, const char *name, const char *value)
{
    char path[256];
    attribute_path(host, name, path, sizeof path);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file, "%s\n", value);
    assert_int_equal(fclose(file), 0);
}

static inline bool has_attribute(size_t host, const char *name)
{
    char path[256];
    attribute_path(host, name, path, sizeof path);
    return access(path, F_OK) == 0;
}

static inline void await_attribute(size_t host, const char *name, const char *wanted)
{
    char value[128];
    for (unsigned waited = 0; waited < SEEN_MS; waited += 2) {
        read_attribute(host, name, value, sizeof value);
        if (strcmp(value, wanted) == 0)
            return;
        lab_sleep_ms(2);
    }
    fail_msg("%s is \"%s\", not \"%s\"", name, value, wanted);
}

/* opensm can sleep through a signal. */
static inline void sweep_until(size_t host, const char *name, const char *wanted)
{
    char value[128] = "";
    for (unsigned waited = 0; strcmp(value, wanted) != 0; waited += 10) {
        if (waited % RELOAD_MS == 0)
            ok(lab_opensm_signal(lab, "opensm", SIGHUP, &err));
        if (waited > CHANGE_MS)
            fail_msg("%s is \"%s\", not \"%s\"", name, value, wanted);
        lab_sleep_ms(10);
        read_attribute(host, name, value, sizeof value);
    }
}

/* -1: the table in the tree has it not. */
static inline int index_in_tree(size_t host, uint16_t key)
{
    char name[64], value[32], wanted[16];
    snprintf(wanted, sizeof wanted, "0x%04x", key);
    for (int i = 0;; i++) {
        snprintf(name, sizeof name, "mlx4_0/ports/1/pkeys/%d", i);
        if (!has_attribute(host, name))
            return -1;
        read_attribute(host, name, value, sizeof value);
        if (strcmp(value, wanted) == 0)
            return i;
    }
}

/* Both hosts are full members of the keys, 0 at the end. */
static inline void set_partitions(const uint16_t *keys)
{
    oneib_autotext struct oneib_text text = {0};
    oneib_text_append(&text, DEFAULT_PARTITION);
    for (; *keys; keys++)
        oneib_text_printf(&text, "P%x=0x%x : 0x%" PRIx64 "=full, 0x%" PRIx64 "=full;\n", *keys,
                          *keys, lab_host_port_guid(lab, 0), lab_host_port_guid(lab, 1));
    ok(lab_write(lab, "partitions.conf", 0644, text.data, &err));
}

static inline void await_key(uint16_t key, bool there)
{
    for (unsigned waited = 0; (index_in_tree(0, 0x8000 | key) >= 0) != there; waited += 10) {
        if (waited % RELOAD_MS == 0)
            ok(lab_opensm_signal(lab, "opensm", SIGHUP, &err));
        if (waited > CHANGE_MS)
            fail_msg("0x%04x is %s the tree", key, there ? "not in" : "still in");
        lab_sleep_ms(10);
    }
}

static inline struct lab_node_vf vf_of(size_t host, unsigned vf)
{
    struct lab_node_vf state = {0};
    ok(lab_node_vf(lab, host, vf, &state, &err));
    return state;
}

static inline void await_vf_key(size_t host, unsigned vf, uint16_t key)
{
    unsigned waited = 0;
    while (vf_of(host, vf).key != key && waited++ < SEEN_MS)
        lab_sleep_ms(1);
    assert_int_equal(vf_of(host, vf).key, key);
}

static inline void assert_closed(size_t host, unsigned vf)
{
    const struct lab_node_vf state = vf_of(host, vf);
    assert_int_equal(state.map[0], 0);
    assert_true(state.only);
    assert_int_equal(state.guid, 0);
    assert_int_equal(state.accepted, 0);
}

static inline size_t count_claims(size_t host)
{
    struct lab_node_claim claims[LAB_NODE_CLAIMS];
    size_t count;
    ok(lab_node_claims(lab, host, claims, &count, &err));
    return count;
}

static inline void await_no_claims(size_t host)
{
    for (unsigned waited = 0; count_claims(host) > 0 && waited < SEEN_MS; waited += 2)
        lab_sleep_ms(2);
    assert_int_equal(count_claims(host), 0);
}

/* The only one that the VM has on the host. */
static inline struct lab_node_claim claim_of(size_t host, uint32_t vm)
{
    struct lab_node_claim claims[LAB_NODE_CLAIMS], found = {0};
    size_t count, matching = 0;
    ok(lab_node_claims(lab, host, claims, &count, &err));
    for (size_t i = 0; i < count; i++)
        if (claims[i].vm == vm) {
            found = claims[i];
            matching++;
        }
    assert_int_equal(matching, 1);
    return found;
}

static inline void await_stage(size_t host, uint32_t vm, const char *stage)
{
    for (unsigned waited = 0; strcmp(claim_of(host, vm).stage, stage) != 0; waited += 2) {
        if (waited > SEEN_MS)
            fail_msg("VM %" PRIu32 "'s is %s, not %s", vm, claim_of(host, vm).stage, stage);
        lab_sleep_ms(2);
    }
}

static inline void assert_open(size_t host, uint32_t vm, uint16_t key)
{
    const struct lab_node_claim claim = claim_of(host, vm);
    const struct lab_node_vf state = vf_of(host, claim.vf);
    assert_string_equal(claim.stage, "open");
    assert_int_equal(state.key, 0x8000 | key);
    assert_true(state.only);
}

static inline void assert_guid(size_t host, uint32_t vm)
{
    const struct lab_node_claim claim = claim_of(host, vm);
    const struct lab_node_vf state = vf_of(host, claim.vf);
    const oneib_guid guid = oneib_guid_encode(0, vm, (uint8_t)claim.nic);
    assert_int_equal(state.guid, guid);
    assert_int_equal(state.accepted, guid);
}

#define hasty(test) cmocka_unit_test_setup_teardown(test, with_short_waits, stop)
#define patient(test) cmocka_unit_test_setup_teardown(test, with_long_waits, stop)

#endif
