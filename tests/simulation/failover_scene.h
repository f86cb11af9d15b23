// SPDX-License-Identifier: Apache-2.0
/*
 * What the tests of high availability share: two opensm on two hosts of one fabric, each with a
 * partitions file of its own, and an oneibd beside each.
 *
 * What dies are processes: they are killed, and ibsim is told what a kernel would do about it (the
 * port is no SM's any more). The host's link stays up.
 */
#ifndef ONEIB_FAILOVER_SCENE_H
#define ONEIB_FAILOVER_SCENE_H

#include "lab.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#define CHANGE_MS 120000u /* on a busy machine */
#define STANDBY "standby"

/* err: the test's own. */
#define ok(expression)                                                                             \
    do {                                                                                           \
        if ((expression) < 0)                                                                      \
            fail_msg("%s: %s", #expression, err.text);                                             \
    } while (0)

struct site {
    struct lab *lab;
    struct lab_sm standby;
    struct lab_instance instance; /* beside the standby, the one that does not write */
    struct lab_daemon daemon;     /* likewise */
    uint32_t network, vm;         /* on host 0, in the network */
    uint16_t pkey;                /* as a full member has it */
};

/* Fixtures: a fabric with a place for a second SM. *state is its lab. */
int open_fabric(void **state);
int close_fabric(void **state);
#define ON_TWO_SMS(test) cmocka_unit_test_setup_teardown(test, open_fabric, close_fabric)

struct lab_sm standby_sm(const char *partitions);
uint64_t standby_port_guid(struct lab *lab);

/* A VM on host 0, both files taken over, both daemons watching. */
void open_site(struct site *site, struct lab *lab);
/* Its SM and its daemon; returns when the standby's daemon knows that it is beside the master. */
void the_host_of_the_master_dies(struct site *site);
/* And is there again: returns when both daemons know it. */
void the_host_of_the_master_returns(struct site *site);
/* Until both partitions files are. */
void assert_same_files(struct site *site);

/* `oneib` with a configuration, on that HCA's host; it must end with 0. */
void run_oneib(struct lab *lab, const char *hca, const char *config, const char *verb,
               const char *option);

bool has_pkey(struct lab *lab, size_t host, uint16_t wanted);
/* Within CHANGE_MS. */
bool comes_to_have(struct lab *lab, size_t host, uint16_t pkey, bool wanted);
bool is_off_the_fabric(struct lab *lab, size_t host);
void await_off_the_fabric(struct lab *lab, size_t host);

#endif
