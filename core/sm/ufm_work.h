// SPDX-License-Identifier: Apache-2.0
/*
 * The requests of a plan, one after the other, each looked at before and after it. What UFM says of
 * a request does not count; what it has then does.
 */
#ifndef ONEIB_SM_UFM_WORK_H
#define ONEIB_SM_UFM_WORK_H

#include "base/error.h"
#include "sm/ufm_answer.h"
#include "sm/ufm_plan.h"
#include <stddef.h>

struct oneib_ufm_call {
    const char *method; /* "GET", "PUT", "DELETE" */
    const char *path;   /* behind the prefix that the authentication decides: "/resources/..." */
    const char *body;   /* JSON; NULL: none */
};

struct oneib_ufm_reply {
    long status; /* of HTTP */
    char *data;  /* owned; never NULL after success, and NUL-terminated beyond length */
    size_t length;
};

/* Whoever carries calls to UFM. -1: there is no whole answer, and whether UFM did what it was asked
 * for nobody knows. */
struct oneib_ufm_link {
    int (*ask)(void *context, const struct oneib_ufm_call *call, struct oneib_ufm_reply *reply,
               struct oneib_error *err);
    void *context;
};
void oneib_ufm_reply_clear(struct oneib_ufm_reply *reply);

/* All keys, as oneib_ufm_read_all() has them. One call. */
int oneib_ufm_look(const struct oneib_ufm_link *link, struct oneib_ufm_range range,
                   struct oneib_partition_table *table, struct oneib_ufm_default *management,
                   struct oneib_error *err);

/*
 * Each request: the key is read, and must be what the plan saw, else somebody else changes it too
 * (REFUSED); it is sent; the key is read again, and must be what was wanted. Three calls for each.
 * Where somebody has more then than is meant, and than before, he is taken out of the key by a
 * fourth before the work ends with an error that names it. A request that was cut may be done
 * later, when nobody looks: whoever relies on UFM reads all keys again from time to time. *done:
 * requests after which UFM has what was wanted; the rest was not begun, but for the one that
 * failed. Doing it again later, by a new plan, goes on from there.
 */
int oneib_ufm_work(const struct oneib_ufm_link *link, const struct oneib_ufm_plan *plan,
                   size_t *done, struct oneib_error *err);

#endif
