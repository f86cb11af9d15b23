// SPDX-License-Identifier: Apache-2.0
/* Opening what the verbs need: the configuration, oned, the fabric. */
#ifndef ONEIB_ONEIB_OPEN_H
#define ONEIB_ONEIB_OPEN_H

#include "base/error.h"
#include "config/config.h"
#include "fabric/fabric.h"
#include "oneib/verb.h"
#include "opennebula/credentials.h"
#include "opennebula/one_client.h"
#include "sm/sm.h"

struct oneib_session {
    struct oneib_config config;
    struct oneib_credentials credentials;
    struct oneib_sm *sm;         /* NULL until opened */
    struct oneib_one *one;       /* NULL until opened */
    struct oneib_fabric *fabric; /* NULL until opened */
    int lock;                    /* of the partitions file (sync/lock.h); -1 unless taken */
};

/* Zeroes *session and reads the configuration; logging follows it. On failure nothing must be
 * closed. */
int oneib_session_configure(const struct oneib_run *run, struct oneib_session *session,
                            struct oneib_error *err);
int oneib_session_open_sm(struct oneib_session *session, struct oneib_error *err);
/* Both. On failure nothing must be closed. */
int oneib_session_begin(const struct oneib_run *run, struct oneib_session *session,
                        struct oneib_error *err);
int oneib_session_open_one(struct oneib_session *session, struct oneib_error *err);
int oneib_session_open_fabric(struct oneib_session *session, struct oneib_error *err);
/* For those who are going to write: nobody else does until the session ends. */
int oneib_session_lock(struct oneib_session *session, struct oneib_error *err);
/* Until it is taken again. */
void oneib_session_unlock(struct oneib_session *session);
void oneib_session_end(struct oneib_session *session);
#define oneib_autosession __attribute__((cleanup(oneib_session_end)))

#endif
