// SPDX-License-Identifier: Apache-2.0
/* The XML-RPC methods: parameters in, oned's kind of answer out. */
#ifndef STANDIN_METHODS_H
#define STANDIN_METHODS_H

#include "standin_state.h"
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <xmlrpc-c/base.h>
#include <xmlrpc-c/server.h>

struct server;

struct standin {
    struct standin_state state;
    pthread_mutex_t lock; /* of state */
    const char *session, *limited_session, *acl_session;
    struct server *server; /* while it serves */
};

/* What a user may do. */
enum standin_right {
    RIGHT_VMS = 1,        /* see them */
    RIGHT_HOSTS = 2,      /* see them */
    RIGHT_NETWORKS = 4,   /* see them */
    RIGHT_ADMIN = 8,      /* write */
    RIGHT_DOCUMENTS = 16, /* see all of them */
    RIGHT_GROUPS = 32,    /* see who is in which */
};

struct standin_user {
    int id, group;
    const char *name;
};

/* One call under way. */
struct standin_call {
    struct standin *standin;
    struct standin_state *state; /* of it */
    const char *method;
    const struct standin_user *user;
    unsigned rights; /* of that user: enum standin_right */
    xmlrpc_env *env;
    xmlrpc_value *parameters; /* the first is the session */
};

typedef xmlrpc_value *(*standin_handler)(struct standin_call *call);

struct standin_method {
    const char *name;
    standin_handler handle;
};
extern const struct standin_method standin_one_methods[];     /* ends with a NULL name */
extern const struct standin_method standin_control_methods[]; /* likewise */

/* Parameters: false with an XML-RPC fault set, as oned answers. Index 0 is the session. Strings are
 * to be freed. */
bool standin_take_int(struct standin_call *call, unsigned index, int *value);
bool standin_take_id(struct standin_call *call, unsigned index, uint32_t *id);
bool standin_take_string(struct standin_call *call, unsigned index, char **value);

/* Answers. */
xmlrpc_value *standin_answer_text(struct standin_call *call, struct oneib_text *text);
xmlrpc_value *standin_answer_id(struct standin_call *call, uint32_t id);
/* [false, "[METHOD] text", code, id, -1]. */
xmlrpc_value *standin_refuse(struct standin_call *call, int code, int id, const char *text);
/* The same for what the state refused about that object. */
xmlrpc_value *standin_refuse_error(struct standin_call *call, uint32_t id,
                                   const struct oneib_error *err);

/* xmlrpc-c hands out text that is the caller's to free() as const char *. */
static inline void standin_free_text(const char *text)
{
    free((void *)(uintptr_t)text);
}

/* standin_paper_calls.c */
xmlrpc_value *standin_paper_info(struct standin_call *call);
xmlrpc_value *standin_paper_pool(struct standin_call *call);
xmlrpc_value *standin_paper_allocate(struct standin_call *call);
xmlrpc_value *standin_paper_update(struct standin_call *call);
xmlrpc_value *standin_paper_chmod(struct standin_call *call);
xmlrpc_value *standin_paper_chown(struct standin_call *call);
xmlrpc_value *standin_paper_delete(struct standin_call *call);
xmlrpc_value *standin_paper_lock(struct standin_call *call);
xmlrpc_value *standin_paper_unlock(struct standin_call *call);

/* A registry with all methods; binding memory belongs to *bindings until the registry is freed. */
xmlrpc_registry *standin_registry_new(struct standin *standin, void **bindings, xmlrpc_env *env);

#endif
