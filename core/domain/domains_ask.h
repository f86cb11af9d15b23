// SPDX-License-Identifier: Apache-2.0
/* Asking one certain oneib-domains; for core/domain and its tests. */
#ifndef ONEIB_DOMAIN_DOMAINS_ASK_H
#define ONEIB_DOMAIN_DOMAINS_ASK_H

#include "domain/domains.h"

/* program: its path. uri: libvirt's connection. */
int oneib_domains_ask_program(const char *program, const char *uri, uint32_t timeout_ms,
                              struct oneib_domains *domains, struct oneib_error *err);

#endif
