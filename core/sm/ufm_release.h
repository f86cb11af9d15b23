// SPDX-License-Identifier: Apache-2.0
/*
 * What a release of UFM can, as its published interface and users' reports have it. Pure. Each
 * field is a guess until a UFM was seen: where one is wrong, it is put right here.
 */
#ifndef ONEIB_SM_UFM_RELEASE_H
#define ONEIB_SM_UFM_RELEASE_H

#include <stdbool.h>
#include <stdint.h>

struct oneib_ufm_release {
    uint32_t major, minor, patch;
};

/* "6.14.5-2", "6.22.1": numbers of at most four digits; what follows '-' does not count. */
bool oneib_ufm_release_parse(const char *text, struct oneib_ufm_release *release);

struct oneib_ufm_abilities {
    bool memberships;        /* 6.15: PUT honours memberships[]; before, everybody is full */
    bool add;                /* 6.15: an empty key can be made (POST /resources/pkeys/add) */
    bool default_membership; /* 6.19: the membership of 0x7fff can be read */
    bool mapping;            /* 6.19.3: which virtual GUIDs may appear at which physical port */
    bool names;              /* 6.22: a partition can have a name of one's own */
};

struct oneib_ufm_abilities oneib_ufm_abilities_of(const struct oneib_ufm_release *release);

#endif
