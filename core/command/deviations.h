// SPDX-License-Identifier: Apache-2.0
/* Deviations of the fabric, as `verify`, `sync` and `show` print them. */
#ifndef ONEIB_COMMAND_DEVIATIONS_H
#define ONEIB_COMMAND_DEVIATIONS_H

#include "command/json.h"
#include "command/output.h"
#include "command/places.h"

/* A table of them, and below it what to do about each kind. Nothing when there is none. pkey 0:
 * all, else those of one key. */
void oneib_deviations_append(bool color, const struct oneib_places *places,
                             const struct oneib_verification *verification, oneib_pkey pkey,
                             struct oneib_text *text);

/* {ports, keys, violations, differences, members_off_fabric, members_unverified, deviations}; a
 * deviation: {kind, violation, port_guid, node, host, network, network_name, lid, index, expected,
 * found, fix} */
json_t *oneib_verification_json(const struct oneib_places *places,
                                const struct oneib_verification *verification);

/* "38 ports and 120 keys compared, no deviation" and the like; no newline. */
void oneib_verification_append(const struct oneib_verification *verification,
                               struct oneib_text *text);

#endif
