// SPDX-License-Identifier: Apache-2.0
/*
 * Which libvirt domains there are on this node, and which PCI devices they name. libvirt is asked
 * by a small program of ours (oneib-domains), which is given a time and then killed: a libvirtd
 * that hangs must not hang a probe, and loading libvirt costs every program that links it 10 ms.
 */
#ifndef ONEIB_DOMAIN_DOMAINS_H
#define ONEIB_DOMAIN_DOMAINS_H

#include "base/config.h"
#include "base/error.h"
#include "base/text.h"
#include "model/pci.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oneib_domain {
    char *name;                /* owned; untrusted: a user's, when it is not "one-ID" */
    int64_t vm_id;             /* of "one-42"; -1: not OpenNebula's */
    bool running;              /* else only defined */
    struct oneib_pci *devices; /* owned: <hostdev type='pci'> and <interface type='hostdev'> */
    size_t device_count;
};

struct oneib_domains {
    struct oneib_domain *items; /* owned */
    size_t count, capacity;
};

/*
 * Asks libvirt (config->node.libvirt) through oneib-domains, which is found beside this program,
 * else in the folder of programs that it was built for. UNREACHABLE or TIMEOUT: nobody knows what
 * is in use, so nothing may be handed out.
 */
int oneib_domains_ask(const struct oneib_config *config, struct oneib_domains *domains,
                      struct oneib_error *err);
void oneib_domains_clear(struct oneib_domains *domains);

/* All devices of all domains, sorted, each once; owned by the caller, NULL when there are none. */
int oneib_domains_devices(const struct oneib_domains *domains, struct oneib_pci **devices,
                          size_t *count, struct oneib_error *err);
bool oneib_domain_names(const struct oneib_domain *domain, const struct oneib_pci *device);
/* The first domain that names the device; NULL: none. */
const struct oneib_domain *oneib_domains_of(const struct oneib_domains *domains,
                                            const struct oneib_pci *device);
/* The 42 of "one-42"; -1: not OpenNebula's. */
int64_t oneib_domain_vm_id(const char *name);
bool oneib_domains_have_vm(const struct oneib_domains *domains, uint32_t vm_id);

/*
 * What oneib-domains prints and oneib_domains_ask() reads: one line a domain,
 * "running one-42 0000:81:00.1 ..." or "defined ..."; the name escaped (base/escape.h) with blanks
 * as \x20. Pure, both ways. Parsing is strict: a line that is not of this form is a PROTOCOL error.
 */
int oneib_domains_parse(const char *text, size_t length, struct oneib_domains *domains,
                        struct oneib_error *err);
void oneib_domain_render(const char *name, bool running, const struct oneib_pci *devices,
                         size_t device_count, struct oneib_text *text);

#endif
