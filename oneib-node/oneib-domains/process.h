// SPDX-License-Identifier: Apache-2.0
/*
 * The process that a domain of QEMU's is. libvirt says that a domain has ended when it has taken
 * down all that belongs to it, which can be half a second after the process has; the kernel says it
 * at once. Whatever of this is not as expected is no error: libvirt says it later, then.
 */
#ifndef ONEIB_ONEIB_NODE_ONEIB_DOMAINS_PROCESS_H
#define ONEIB_ONEIB_NODE_ONEIB_DOMAINS_PROCESS_H

#include <stdbool.h>

/* Where libvirt's daemon of the system notes the process of each domain, NAME.pid; everybody may
 * read them. */
#define ONEIB_DOMAIN_PROCESSES "/run/libvirt/qemu"

/*
 * A pidfd, which the caller closes; -1: the process is not found. It is the one that libvirt has
 * noted in the directory, and only when its command line has the UUID (as virDomainGetUUIDString()
 * writes it): another one's end must not be taken for the domain's.
 */
int oneib_domain_process_open(const char *directory, const char *name, const char *uuid);
bool oneib_domain_process_has_ended(int process);

#endif
