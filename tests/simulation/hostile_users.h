// SPDX-License-Identifier: Apache-2.0
/*
 * What users write who want into others' partitions, or others out of them: texts for the documents
 * that are theirs, and reservations of operators' networks. OpenNebula does not escape "]]>", so a
 * text goes on as elements of the document: these do. They cannot write a host's document, and
 * no text is for one.
 */
#ifndef ONEIB_HOSTILE_USERS_H
#define ONEIB_HOSTILE_USERS_H

#include "lab.h"
#include "walk.h"

#define HOSTILE_RESERVATIONS 6
#define HOSTILE_TEXT_SIZE 640

/* What they want. */
struct hostile_aim {
    uint32_t network; /* a stranger's, */
    unsigned key;     /* which is in force for it */
    uint32_t vm;      /* of the user's own */
    uint64_t port;    /* that the stranger's key shall come to */
    uint32_t host;
};

struct hostile_users {
    struct lab *lab;
    struct walk *dice;
    uint32_t reservations[HOSTILE_RESERVATIONS]; /* 0: none */
};

/* One of the texts, by dice: for lab_vm_write(). Returns its name. */
const char *hostile_vm_text(struct walk *dice, const struct hostile_aim *aim,
                            char text[HOSTILE_TEXT_SIZE]);
/* Likewise for lab_vm_set_nic(). */
const char *hostile_nic_text(struct walk *dice, const struct hostile_aim *aim,
                             char text[HOSTILE_TEXT_SIZE]);
/* Somebody reserves from the network `parent`, writes into a reservation what makes it look like
 * something else, or deletes one. action: what was done. */
int hostile_reserve(struct hostile_users *users, uint32_t parent, const struct hostile_aim *aim,
                    char *action, size_t size, struct oneib_error *err);

#endif
