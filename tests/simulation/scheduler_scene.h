// SPDX-License-Identifier: Apache-2.0
/*
 * A front-end on which OpenNebula's scheduler asks oneib, with the stand-in for oned. There is no
 * fabric: hosts 0 and 1 are at one leaf, host 2 is at another one.
 */
#ifndef ONEIB_SCHEDULER_SCENE_H
#define ONEIB_SCHEDULER_SCENE_H

#include "base/cleanup.h"
#include "lab_internal.h"
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define TIMEOUT_MS 120000
#define HOSTS 3u
/* What a user writes whose VM or network nobody shall be able to read. */
#define NO_END "]]></NOTE><A><NOTE><![CDATA["

#define MUST(call)                                                                                 \
    do {                                                                                           \
        if ((call) < 0)                                                                            \
            fail_msg("%s", err.text);                                                              \
    } while (0)

static struct oneib_error err;
static struct lab *lab;
static uint32_t red;

/* The environment that oned's drivers have, with the lab's directory as ONE_LOCATION. */
static inline void set_environment(void)
{
    assert_int_equal(setenv("ONE_LOCATION", lab_directory(lab), 1), 0);
    assert_int_equal(setenv("ONE_AUTH", lab_path(lab, "oneadmin_auth"), 1), 0);
    assert_int_equal(mkdir(lab_path(lab, "var"), 0700), 0);
    oneib_autotext struct oneib_text session = {0};
    oneib_text_printf(&session, "%s\n", lab_session(lab));
    MUST(lab_write(lab, "oneadmin_auth", 0600, session.data, &err));
}

static inline void place_host(uint32_t id, const char *leaf, unsigned vfs)
{
    char text[96];
    snprintf(text, sizeof text, "IB_SWITCH=\"%s\"\nIB_VFS_FREE=\"%u\"\n", leaf, vfs);
    MUST(lab_host_update(lab, id, text, &err));
}

static inline int raise_front_end(void)
{
    struct lab_options options = LAB_DEFAULTS;
    lab = lab_open(&options, &err);
    if (!lab)
        fail_msg("%s", err.text);
    MUST(lab_standin_start(lab, (const char *const[]){"--true-time", NULL}, &err));
    MUST(lab_config_write(lab, NULL, &err));
    set_environment();
    for (uint32_t i = 0; i < HOSTS; i++) {
        uint32_t id;
        char name[8];
        snprintf(name, sizeof name, "n%" PRIu32, i);
        MUST(lab_host_create_bare(lab, name, &id, &err));
        assert_int_equal(id, i);
        place_host(i, i < 2 ? "0x0000000000200001" : "0x0000000000200002", 7);
    }
    MUST(lab_network_create(lab, "red", "257", NULL, &red, &err));
    return 0;
}

static inline int end_front_end(void)
{
    lab_close(lab);
    lab = NULL;
    return 0;
}

/* A VM that waits, with a NIC there; NULL: without InfiniBand. */
static inline uint32_t pending(const uint32_t *network)
{
    uint32_t id;
    MUST(lab_vm_create(lab, "waits", network, network ? 1 : 0, &id, &err));
    return id;
}

#endif
