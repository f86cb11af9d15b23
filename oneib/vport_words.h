// SPDX-License-Identifier: Apache-2.0
/* What is said of virtual ports that were asked on the fabric: sync/vports.h. */
#ifndef ONEIB_ONEIB_VPORT_WORDS_H
#define ONEIB_ONEIB_VPORT_WORDS_H

#include "oneib/json.h"
#include "sm/said_vports.h"
#include "sync/sync.h"

/* The finding virtual-ports-unproven, when something was tried and not proved. */
void oneib_vports_note_unproven(const struct oneib_vports *vports, struct oneib_findings *findings);
/* "virtual ports: ..." with a newline; nothing when it was not tried. */
void oneib_vports_append(const struct oneib_vports *vports, struct oneib_text *text);
/* {proven, why, adapters, believed, read}; null when it was not tried. */
json_t *oneib_vports_json(const struct oneib_vports *vports);

/* What a subnet manager that is elsewhere says of the members that are virtual ports: asked where
 * there are such members. */
struct oneib_said_members {
    bool is_known;         /* else nothing below is */
    size_t members;        /* that are virtual ports */
    size_t active;         /* of these: they are, at the adapter of their host */
    size_t inactive;       /* likewise, and not active */
    size_t elsewhere;      /* at another adapter */
    size_t unnamed;        /* it knows of none */
    size_t not_understood; /* of what it said */
};
struct oneib_said_members oneib_said_members_of(const struct oneib_said_vports *said,
                                                const struct oneib_desired *desired);
/* Whether any member is a virtual port. */
bool oneib_has_virtual_members(const struct oneib_desired *desired);
/* "UFM says, ...: ..." with a newline; nothing where it is not known. */
void oneib_said_members_append(const struct oneib_said_members *said, struct oneib_text *text);
/* Its fields but the first; null where it is not known. */
json_t *oneib_said_members_json(const struct oneib_said_members *said);

#endif
