// SPDX-License-Identifier: Apache-2.0
/* The driver's actions with stand-ins for oneib-vf, the table and libvirt, which this file defines
 * instead of the libraries: for one source of a program. What was asked of oneib-vf is told as
 * text, a line a call. */
#ifndef ONEIB_UNIT_NODE_DRIVER_SCENE_H
#define ONEIB_UNIT_NODE_DRIVER_SCENE_H

#include "documents.h"
#include "domain/domains.h"
#include "hca/reservations.h"
#include "node/driver.h"
#include "node/helper.h"
#include <inttypes.h>
#include <string.h>

static struct oneib_config config;
static struct oneib_node_vm vm;
static struct oneib_error err;
static struct oneib_text calls;
static struct oneib_vf_table table;
static int fails_at; /* the call of oneib-vf that fails, from 1; 0: none */
static int call_count;
static enum oneib_error_code failure_code;
static bool libvirt_is_silent, table_is_damaged;
static int libvirt_questions;
static const char *domains_here; /* what libvirt says */
static int64_t now;              /* seconds since boot */

/* --- stand-ins ------------------------------------------------------------------------------ */

static int end_call(struct oneib_error *error)
{
    const bool fails = ++call_count == fails_at;
    oneib_text_append(&calls, fails ? " fails\n" : "\n");
    return fails ? oneib_fail(error, failure_code, "no") : 0;
}

static void tell_pci(const char *what, const struct oneib_pci *pci)
{
    char text[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(pci, text);
    oneib_text_printf(&calls, " %s %s", what, text);
}

int oneib_helper_assign(const struct oneib_config *unused,
                        const struct oneib_assignment *assignment, struct oneib_vf_record *record,
                        struct oneib_error *error)
{
    (void)unused;
    *record = (struct oneib_vf_record){0};
    oneib_text_printf(&calls, "assign %" PRIu32 "/%u key %u", assignment->vm_id, assignment->nic_id,
                      assignment->pkey);
    if (assignment->limited)
        oneib_text_append(&calls, " limited");
    if (assignment->device[0])
        oneib_text_printf(&calls, " on %s:%u", assignment->device, assignment->port);
    if (assignment->has_vf)
        tell_pci("vf", &assignment->vf);
    if (assignment->defer_guid)
        oneib_text_append(&calls, " deferred");
    if (assignment->in_use_count > 0)
        oneib_text_printf(&calls, " in-use %zu", assignment->in_use_count);
    assert_int_equal(assignment->numa_node, -1);
    return end_call(error);
}

int oneib_helper_release(const struct oneib_config *unused, uint32_t vm_id, int nic_id,
                         struct oneib_error *error)
{
    (void)unused;
    oneib_text_printf(&calls, "release %" PRIu32, vm_id);
    if (nic_id >= 0)
        oneib_text_printf(&calls, "/%d", nic_id);
    return end_call(error);
}

int oneib_helper_release_vf(const struct oneib_config *unused, const struct oneib_pci *vf,
                            uint32_t vm_id, const struct oneib_pci *in_use, size_t in_use_count,
                            struct oneib_error *error)
{
    (void)unused;
    (void)in_use;
    oneib_text_printf(&calls, "release %" PRIu32, vm_id);
    tell_pci("vf", vf);
    assert_int_equal(in_use_count, 0);
    return end_call(error);
}

int oneib_reservations_read(struct oneib_vf_table *copy, struct oneib_error *error)
{
    *copy = (struct oneib_vf_table){0};
    if (table_is_damaged)
        return oneib_fail(error, ONEIB_ERROR_INPUT, "damaged");
    for (size_t i = 0; i < table.count; i++)
        assert_int_equal(oneib_vf_table_add(copy, &table.items[i], error), 0);
    return 0;
}

int64_t oneib_seconds_since_boot(void)
{
    return now;
}

bool oneib_vf_record_has_owner(const struct oneib_vf_record *of)
{
    return of->owner != 0;
}

int oneib_domains_ask(const struct oneib_config *unused, struct oneib_domains *domains,
                      struct oneib_error *error)
{
    (void)unused;
    libvirt_questions++;
    if (libvirt_is_silent)
        return oneib_fail(error, ONEIB_ERROR_UNREACHABLE, "libvirt does not answer");
    return oneib_domains_parse(domains_here, strlen(domains_here), domains, error);
}

/* --- scenes --------------------------------------------------------------------------------- */

static inline int begin(void **state)
{
    (void)state;
    config = (struct oneib_config){0};
    failure_code = ONEIB_ERROR_UNREACHABLE;
    fails_at = call_count = libvirt_questions = 0;
    libvirt_is_silent = table_is_damaged = false;
    now = 0;
    domains_here = "running other 0000:81:00.7 0000:81:01.0\n";
    err = (struct oneib_error){0};
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    oneib_node_vm_clear(&vm);
    oneib_text_clear(&calls);
    oneib_vf_table_clear(&table);
    return 0;
}

/* VF 0000:81:00.<index> is the NIC's. */
static inline void record(uint32_t vm_id, uint8_t nic_id, unsigned index, oneib_pkey pkey,
                          enum oneib_vf_stage stage, enum oneib_vf_guid guid)
{
    const struct oneib_vf_record added = {
        .vf = {.bus = 0x81, .function = (uint8_t)index},
        .device = "mlx4_0",
        .index = (uint16_t)(index - 1),
        .port = 1,
        .vm_id = vm_id,
        .nic_id = nic_id,
        .pkey = pkey,
        .stage = stage,
        .guid = guid,
    };
    assert_int_equal(oneib_vf_table_add(&table, &added, &err), 0);
}

static inline void record_open(uint32_t vm_id, uint8_t nic_id, unsigned index)
{
    record(vm_id, nic_id, index, 5, ONEIB_VF_OPEN, ONEIB_VF_GUID_SET);
}

static inline void read_document(const char *xml)
{
    struct oneib_error unread = {0};
    oneib_node_vm_clear(&vm);
    if (oneib_node_vm_parse(xml, strlen(xml), "infiniband", &vm, &unread) < 0 &&
        unread.code != ONEIB_ERROR_INPUT && unread.code != ONEIB_ERROR_PROTOCOL)
        fail_msg("%s", unread.text);
}

static inline void assert_calls(const char *expected)
{
    assert_string_equal(calls.data ? calls.data : "", expected);
}

static inline void assert_told(const char *words)
{
    if (!strstr(err.text, words))
        fail_msg("\"%s\" is not in: %s", words, err.text);
}

#define DEPLOYED(id, content) "<VM><ID>" id "</ID><DEPLOY_ID>5dec61fb</DEPLOY_ID>" content "</VM>"
#define OTHER_NIC "<TEMPLATE><NIC><NIC_ID>0</NIC_ID><VN_MAD>bridge</VN_MAD></NIC></TEMPLATE>"
#define OTHER_ATTACHED                                                                             \
    "<TEMPLATE><NIC><NIC_ID>0</NIC_ID><VN_MAD>bridge</VN_MAD>" ATTACH "</NIC></TEMPLATE>"
#define ALIAS_ATTACHED "<TEMPLATE><NIC_ALIAS><NIC_ID>9</NIC_ID>" ATTACH "</NIC_ALIAS></TEMPLATE>"

#endif
