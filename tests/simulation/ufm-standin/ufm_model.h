// SPDX-License-Identifier: Apache-2.0
/*
 * What the stand-in for UFM believes, and what it answers to a call: by what is published of UFM's
 * interface, and in the shapes that clients have seen. No UFM was seen by whoever wrote this. Apart
 * from HTTPS, faults and the fabric, so that unit tests can have it, too.
 */
#ifndef ONEIB_SIMULATION_UFM_MODEL_H
#define ONEIB_SIMULATION_UFM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ufm_member {
    uint64_t guid;
    bool is_full, index0;
};

struct ufm_key {
    uint16_t pkey;
    bool ipoib;
    char name[64];
    struct ufm_member *members; /* owned; sorted */
    size_t count;
};

struct ufm_model {
    unsigned major, minor, patch; /* the release: what it can follows from that */
    struct ufm_key *keys;         /* owned; sorted; without 0x7fff */
    size_t count;
    uint64_t default_full[16]; /* full members of 0x7fff */
    size_t default_count;
    uint64_t sa_key;
    bool one_m_key;          /* m_key_per_port is off */
    bool wraps, pads, lists; /* shapes of an answer about one key: within the key, that with four
                                digits, as a list */
    bool says_404;           /* an unknown key is 404, not 200 with {} */
    bool has_no_stamp;       /* last_updated is 404 */
    bool puts_half;          /* the next PUT sets half of the list, and is answered 500 */
    int64_t now;             /* seconds; 0: the clock's */
    int64_t changed;         /* when a key was, for last_updated; 0: never */
    bool has_changed;        /* since somebody set it to false: the fabric is to follow */
    struct ufm_vport {
        uint64_t guid, port; /* port 0: it is not said */
        bool is_down;
    } vports[16]; /* that UFM has seen */
    size_t vport_count;
    bool has_no_vports; /* /resources/vports is 404 */
    char *mapping;      /* owned: physical_virtual_mapping as it was set; NULL: none */
};

/* 6.22.1, sa_key and M_Keys as they should be, all ports limited in 0x7fff. */
void ufm_model_begin(struct ufm_model *model);
void ufm_model_clear(struct ufm_model *model);

/* path: behind /ufmRest, with its query. body: NULL, or JSON of that length. *answer: owned by the
 * caller, JSON or empty. Returns the status. */
long ufm_model_answer(struct ufm_model *model, const char *method, const char *path,
                      const char *body, size_t length, char **answer);

/* NULL: it is not there. */
const struct ufm_key *ufm_model_key(const struct ufm_model *model, uint16_t pkey);

#endif
