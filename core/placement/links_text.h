// SPDX-License-Identifier: Apache-2.0
/*
 * What oneibd knows of links, as text: it writes it (qos.links_file), and the placer reads it. A
 * line each, and "end": what lacks it was cut.
 *
 *   oneib-links 1
 *   port GUID LID                                  of a host, by GUID
 *   link SWITCH PORT TYPE PORTGUID                 TYPE: enum oneib_node_type
 *   link SWITCH PORT 2 PORTGUID NODEGUID           to a switch
 *   exits SWITCH PORTS                             by GUID; by LID, two hexadecimal digits each,
 *                                                  LID 0 first
 *   host ID PORTGUID                               by id
 *   cluster ID SL PORTGUID..
 *   end
 */
#ifndef ONEIB_PLACEMENT_LINKS_TEXT_H
#define ONEIB_PLACEMENT_LINKS_TEXT_H

#include "base/error.h"
#include "base/text.h"
#include "placement/used_links.h"
#include <stddef.h>

/* What is older is not relied on: the scheduler's windows are ten seconds, and a file is written
 * each five. */
#define ONEIB_LINKS_AGE_MAX_S 30

/* Appends. */
void oneib_links_write(const struct oneib_links *links, struct oneib_text *text);
/* INPUT, with the line: it is something else. is_exclusive is the caller's to say. On failure
 * *links is empty. */
int oneib_links_read(const char *text, size_t length, struct oneib_links *links,
                     struct oneib_error *err);

#endif
