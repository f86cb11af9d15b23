// SPDX-License-Identifier: Apache-2.0
/* Saying something to oneib-node. It may take as long as oneib-node does to listen. -1: nobody
 * does. */
#ifndef ONEIB_ONEIB_NODE_ONEIB_DOMAINS_TELL_H
#define ONEIB_ONEIB_NODE_ONEIB_DOMAINS_TELL_H

#include "base/error.h"
#include "oneib-node/oneib-domains/domains_message.h"

int oneib_tell(int socket, const struct oneib_domain_news *news, struct oneib_error *err);
int oneib_tell_kind(int socket, enum oneib_domain_news_kind kind, struct oneib_error *err);
int oneib_tell_unknown(int socket, const char *why, struct oneib_error *err);

#endif
