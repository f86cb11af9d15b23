// SPDX-License-Identifier: Apache-2.0
/* `oneib qos --links`: which service levels each link carries, and whose; and what other verbs show
 * of the same links. */
#ifndef ONEIB_ONEIB_QOS_LINKS_H
#define ONEIB_ONEIB_QOS_LINKS_H

#include "oneib/command_read.h"
#include "oneib/json.h"
#include "oneib/output.h"
#include "oneib/verb.h"
#include "sync/sharing.h"

enum oneib_exit oneib_qos_links(const struct oneib_run *run, struct oneib_error *err);

/* The links, and which clusters in force with an SL use them. A hop is an index of routes.hops. */
struct oneib_qos_links {
    const struct oneib_run *run;
    struct oneib_reading reading; /* its findings: sl-shared alone */
    struct oneib_routes routes;
    struct oneib_sharing sharing;
    size_t silent; /* switches */
};

/* Looks at everything. *links is to be ended also on failure. */
int oneib_links_begin(const struct oneib_run *run, struct oneib_qos_links *links,
                      struct oneib_error *err);
void oneib_links_end(struct oneib_qos_links *links);
/* Whether some cluster of this SL uses the hop. */
bool oneib_links_carry(const struct oneib_qos_links *links, size_t hop, uint8_t sl);
/* Two cells: whence and where to; one with the clusters' names. */
void oneib_links_append_ends(const struct oneib_qos_links *links, size_t hop,
                             struct oneib_table *table);
void oneib_links_append_clusters(const struct oneib_qos_links *links, size_t hop, uint8_t sl,
                                 struct oneib_table *table);
/* {switch, port, from_host, other, clusters} */
json_t *oneib_links_hop_json(const struct oneib_qos_links *links, size_t hop);
/* A note, where some of the links are not known. */
void oneib_links_note_silent(const struct oneib_qos_links *links);

#endif
