// SPDX-License-Identifier: Apache-2.0
/*
 * A running domain, through libvirt: the only part of oneib that changes one. Errors quote libvirt.
 * A connection that is lost is UNREACHABLE; it is not opened again by itself. What libvirt does not
 * do is REFUSED. SIGPIPE is ignored once one was opened: a libvirtd that goes away must not end
 * this process.
 */
#ifndef ONEIB_LIVE_LIVE_H
#define ONEIB_LIVE_LIVE_H

#include "base/error.h"
#include "base/text.h"
#include "host/cores.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oneib_live;

/* uri: config->node.libvirt. UNREACHABLE, also when libvirt does not answer for half a minute. */
int oneib_live_open(const char *uri, struct oneib_live **live, struct oneib_error *err);
/* NULL is fine. */
void oneib_live_close(struct oneib_live *live);
static inline void oneib_live_end(struct oneib_live **live)
{
    oneib_live_close(*live);
}
#define oneib_autolive __attribute__((cleanup(oneib_live_end)))

/*
 * domain: a UUID or a name, as OpenNebula's DEPLOY_ID is either. The document of the running domain
 * as it is now. NOT_FOUND: no such domain, or it does not run.
 */
int oneib_live_document(struct oneib_live *live, const char *domain, struct oneib_text *xml,
                        struct oneib_error *err);

/* Plugs one device in, live, and in the persistent document if the domain has one. */
int oneib_live_attach(struct oneib_live *live, const char *domain, const char *device_xml,
                      struct oneib_error *err);

/*
 * Asks the guest to let go of the devices with these aliases, of all at once, and waits until each
 * is gone, timeout_ms in all. gone[i] says of each whether it is. One that the domain does not have
 * is gone. TIMEOUT: the guest has not let go of some in time; REFUSED: the guest or QEMU rejected
 * it (libvirt's event device-removal-failed). Others may be gone all the same.
 */
int oneib_live_detach(struct oneib_live *live, const char *domain, const char *const *aliases,
                      size_t count, uint32_t timeout_ms, bool *gone, struct oneib_error *err);

/* Puts an element, which is in no namespace, into the domain's metadata, live, in this namespace,
 * in the place of the one that is there in it. */
int oneib_live_set_metadata(struct oneib_live *live, const char *domain, const char *element,
                            const char *prefix, const char *namespace, struct oneib_error *err);

/* Has a thread of it run on these CPUs alone, live; not empty. */
enum oneib_live_thread { ONEIB_LIVE_VCPU, ONEIB_LIVE_EMULATOR, ONEIB_LIVE_IO };
int oneib_live_pin(struct oneib_live *live, const char *domain, enum oneib_live_thread kind,
                   uint32_t id, const struct oneib_cpu_set *cpus, struct oneib_error *err);

/* The document inside a file of a saved domain, and replacing it. */
int oneib_live_saved_document(struct oneib_live *live, const char *path, struct oneib_text *xml,
                              struct oneib_error *err);
int oneib_live_saved_replace(struct oneib_live *live, const char *path, const char *xml,
                             struct oneib_error *err);

/* Calls `each` with the document of every running domain, until it fails. A domain that ends
 * meanwhile is left out. */
int oneib_live_each(struct oneib_live *live,
                    int (*each)(const char *xml, size_t length, void *context,
                                struct oneib_error *err),
                    void *context, struct oneib_error *err);

#endif
