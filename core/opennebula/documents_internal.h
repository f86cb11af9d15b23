// SPDX-License-Identifier: Apache-2.0
/* What the readers of the three kinds of documents share; for core/opennebula alone. */
#ifndef ONEIB_OPENNEBULA_DOCUMENTS_INTERNAL_H
#define ONEIB_OPENNEBULA_DOCUMENTS_INTERNAL_H

#include "base/error.h"
#include "base/finding.h"
#include "cluster/cloud.h"
#include "opennebula/documents.h"
#include "xml/reader.h"
#include "xml/values.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More ports than any machine has slots for; keeps a hostile document from costing time and
 * findings. */
#define ONEIB_HOST_PORTS_MAX 64
/* IB_VFS_FREE of as many ports. */
#define ONEIB_VFS_FREE_MAX (65535 * ONEIB_HOST_PORTS_MAX)
/* IB_SWITCH: as many GUIDs of 18 characters, and the commas between them. */
#define ONEIB_SWITCHES_LENGTH (ONEIB_HOST_PORTS_MAX * 19 - 1)

/* IB_KEYS: as many of six characters, and the commas. */
#define ONEIB_KEYS_LENGTH (ONEIB_HOST_KEYS_MAX * 7 - 1)

/* The fix where no user's text can be the cause. */
/*
 * Reads one object: the element that the reader stands on. *id is its id, or stays ONEIB_NO_ID when
 * it has none.
 */
typedef int (*oneib_object_reader)(struct oneib_reader *reader, struct oneib_documents *documents,
                                   uint32_t *id, struct oneib_error *err);

/* A kind of objects: the root of their pools, the root of one alone. */
struct oneib_object_kind {
    enum oneib_name pool, single;
    enum oneib_subject subject;
    oneib_object_reader read;
};

/* Reads a document whose root is kind->pool, each child kind->single of it, or whose root is
 * kind->single. Findings are attributed to their objects. */
int oneib_documents_read(struct oneib_documents *documents, const char *xml, size_t length,
                         const struct oneib_object_kind *kind, struct oneib_error *err);

/*
 * Adds the finding "OBJECT: ATTRIBUTE "value" WHY"; for a value that is no plain text the reason is
 * said instead of `why`.
 */
void oneib_documents_note_value(struct oneib_documents *documents, enum oneib_finding_id id,
                                const char *object, const char *attribute,
                                const struct oneib_value *value, const char *why);

/* *copy stays as it is when the value says nothing. */
void oneib_documents_keep_text(const struct oneib_value *value, char **copy);

/* An object's NAME: a copy; one that is no plain text becomes "" and a finding. */
char *oneib_documents_copy_name(struct oneib_documents *documents, const char *object,
                                const struct oneib_value *value);

/* Adds the <ID> children of the element that the reader stands on; *invalid: how many were no ids.
 */
int oneib_documents_read_ids(struct oneib_reader *reader, struct oneib_id_set *ids, size_t *invalid,
                             struct oneib_error *err);

/* What a document adds to `documents`, to take it back. */
struct oneib_documents_mark {
    size_t networks, hosts, attachments, vms, findings;
    size_t named, seen, migrating, odd, listed;
};
struct oneib_documents_mark oneib_documents_mark(const struct oneib_documents *documents);
void oneib_documents_take_back(struct oneib_documents *documents,
                               const struct oneib_documents_mark *mark);

/* Does the single user document `xml` say that the user sees everything: is it user 0, or a member
 * of the group 0 (oneadmin)? */
int oneib_document_is_administrators(const char *xml, size_t length, bool *is,
                                     struct oneib_error *err);

/* The users of the single group document `xml`, sorted. */
int oneib_document_group_users(const char *xml, size_t length, struct oneib_id_set *users,
                               struct oneib_error *err);

/* The key of the single network document `xml`, whatever its driver, for reading back what was
 * written. */
int oneib_document_network_key(const char *xml, size_t length, enum oneib_key_state *state,
                               oneib_pkey *pkey, struct oneib_error *err);

#endif
