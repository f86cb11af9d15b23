// SPDX-License-Identifier: Apache-2.0
/* One call to UFM and its answer, whoever carries it. */
#ifndef ONEIB_UFM_UFM_LINK_H
#define ONEIB_UFM_UFM_LINK_H

#include "base/error.h"
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
#define oneib_autoreply __attribute__((cleanup(oneib_ufm_reply_clear)))

#endif
