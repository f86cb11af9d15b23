// SPDX-License-Identifier: Apache-2.0
/* What a port's own P_Key table says of one member: whether its key is in force. */
#ifndef ONEIB_MODEL_STANDING_H
#define ONEIB_MODEL_STANDING_H

#include "model/pkey.h"
#include "model/subnet.h"

enum oneib_standing {
    ONEIB_IN_FORCE,      /* the port holds the key, with that membership */
    ONEIB_KEY_LACKING,   /* it answered, and does not hold it */
    ONEIB_KEY_OTHERWISE, /* it holds the key with the other membership */
    ONEIB_PORT_ABSENT,   /* the fabric has no such port */
    ONEIB_PORT_MUTE,     /* its table could not be read */
};

/* By the last reading; subnet: known and sorted. guid: whose table, the port's or the VF's. */
enum oneib_standing oneib_standing_of(const struct oneib_subnet *subnet, oneib_guid guid,
                                      oneib_pkey pkey, enum oneib_membership membership);
/* "in-force", "key-lacking", ...: for JSON. */
const char *oneib_standing_name(enum oneib_standing standing);
/* "in force", "the port lacks the key", ...: for people. */
const char *oneib_standing_text(enum oneib_standing standing);

#endif
