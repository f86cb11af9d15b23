// SPDX-License-Identifier: Apache-2.0
/* Asking libvirt about a domain. */
#ifndef ONEIB_ONEIB_NODE_ONEIB_DOMAINS_LIBVIRT_EVENTS_H
#define ONEIB_ONEIB_NODE_ONEIB_DOMAINS_LIBVIRT_EVENTS_H

#include "base/error.h"
#include "domain/devices.h"
#include <libvirt/libvirt.h>
#include <stdbool.h>

/* A domain as it was when it was read last. */
struct oneib_domain_state {
    unsigned char uuid[VIR_UUID_BUFLEN];
    char *name; /* owned; untrusted */
    bool running;
    int id;          /* libvirt's, of this run; -1: it does not run */
    bool persistent; /* defined, and so to be had without running */
    struct oneib_devices devices;
    struct oneib_error wrong; /* why nobody knows what it names; code NONE: it is known */

    /* The process of this run: oneib-node/oneib-domains/process.h. */
    bool is_sought; /* it was looked for since the domain was read */
    int process;    /* owned; -1: nobody knows it, or it has ended */
    bool has_ended;
};

/* What libvirt and libxml2 have to say comes back as errors: standard error is not theirs. Once, at
 * start. */
void oneib_libvirt_silence(void);

/* UNREACHABLE: "WHAT: " and libvirt's own words for the call that failed last. */
int oneib_libvirt_fail(struct oneib_error *err, const char *what);

/*
 * Reads the domain into *state, which the caller clears. Whatever cannot be read of it is noted in
 * state->wrong. GONE: there is no such domain any more, and nothing in *state.
 */
enum oneib_domain_found { ONEIB_DOMAIN_FOUND, ONEIB_DOMAIN_GONE };
enum oneib_domain_found oneib_libvirt_read(virDomainPtr domain, struct oneib_domain_state *state);
/* The same of the domain that has this UUID now. */
enum oneib_domain_found oneib_libvirt_read_uuid(virConnectPtr libvirt,
                                                const unsigned char uuid[VIR_UUID_BUFLEN],
                                                struct oneib_domain_state *state);
void oneib_domain_state_clear(struct oneib_domain_state *state);
/* libvirt says so, and its process has not ended. */
bool oneib_domain_state_runs(const struct oneib_domain_state *state);
/* What is known of the process is known of the same run's newer state, too. */
void oneib_domain_state_inherit(struct oneib_domain_state *state, struct oneib_domain_state *older);
bool oneib_domain_states_are_equal(const struct oneib_domain_state *a,
                                   const struct oneib_domain_state *b);

#endif
