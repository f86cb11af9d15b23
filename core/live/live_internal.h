// SPDX-License-Identifier: Apache-2.0
/* What the parts of core/live share. Private to it. */
#ifndef ONEIB_LIVE_LIVE_INTERNAL_H
#define ONEIB_LIVE_LIVE_INTERNAL_H

#include "base/error.h"
#include <libvirt/libvirt.h>
#include <stdint.h>

/* A libvirtd that was restarted looks at all its domains before it answers. */
#define ONEIB_LIVE_CONNECT_MS 30000

struct oneib_live {
    virConnectPtr libvirt;
    char *uri; /* owned */
};

/*
 * Sets *err with what libvirt said last: UNREACHABLE when the connection is lost, NOT_FOUND when
 * there is no such domain, else REFUSED.
 */
int oneib_live_fail(virConnectPtr libvirt, struct oneib_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Puts the domain's name in front. Returns -1. */
int oneib_live_wrap(struct oneib_error *err, const char *domain);

/* A running domain; NULL: NOT_FOUND, or as oneib_live_fail(). */
virDomainPtr oneib_live_find(virConnectPtr libvirt, const char *domain, struct oneib_error *err);
/* UNREACHABLE, also when libvirt has not answered after timeout_ms. */
virConnectPtr oneib_live_connect(const char *uri, uint32_t timeout_ms, struct oneib_error *err);

#endif
