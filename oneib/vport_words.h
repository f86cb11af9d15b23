// SPDX-License-Identifier: Apache-2.0
/* What is said of virtual ports that were asked on the fabric: sync/vports.h. */
#ifndef ONEIB_ONEIB_VPORT_WORDS_H
#define ONEIB_ONEIB_VPORT_WORDS_H

#include "oneib/json.h"
#include "sync/vports.h"

/* The finding virtual-ports-unproven, when something was tried and not proved. */
int oneib_vports_note_unproven(const struct oneib_vports *vports, struct oneib_findings *findings,
                               struct oneib_error *err);
/* "virtual ports: ..." with a newline; nothing when it was not tried. */
void oneib_vports_append(const struct oneib_vports *vports, struct oneib_text *text);
/* {proven, why, adapters, believed, read}; null when it was not tried. */
json_t *oneib_vports_json(const struct oneib_vports *vports);

#endif
