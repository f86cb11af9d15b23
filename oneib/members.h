// SPDX-License-Identifier: Apache-2.0
/* What `oneib sync` did to members, in the words of the daemon's log. */
#ifndef ONEIB_ONEIB_MEMBERS_H
#define ONEIB_ONEIB_MEMBERS_H

#include "base/text.h"
#include "cluster/news.h"
#include "oneib/json.h"
#include "sync/sync.h"

/* Those that the change brought, as snapshot->subnet, read behind it, bears them out. changes: from
 * the file that was in force to snapshot->desired.table. */
void oneib_members_changed(const struct oneib_snapshot *snapshot,
                           const struct oneib_changes *changes, struct oneib_news *news);
/* A line for each of ONEIB_NEWS_LINES, and one that counts the rest. */
void oneib_members_append(const struct oneib_cloud *cloud, const struct oneib_news *news,
                          struct oneib_text *text);
/* All of them: [{change, network, partition, pkey, membership, vm, nic, host, port_guid, reason,
 * proof}] */
json_t *oneib_members_json(const struct oneib_cloud *cloud, const struct oneib_news *news);

#endif
