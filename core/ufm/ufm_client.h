// SPDX-License-Identifier: Apache-2.0
/*
 * Calls to UFM over HTTPS, one after the other, on a connection that is kept. Whom it talks to is
 * always proved: by the system's authorities, or by the operator's own. No redirection is followed
 * and no proxy asked, for the password would go there too. No secret is in any error.
 */
#ifndef ONEIB_UFM_UFM_CLIENT_H
#define ONEIB_UFM_UFM_CLIENT_H

#include "base/error.h"
#include "ufm/ufm_link.h"
#include <stdint.h>

/* Who it is that asks, and so under which prefix UFM is asked. */
enum oneib_ufm_auth {
    ONEIB_UFM_BASIC,       /* a user and its password; /ufmRest */
    ONEIB_UFM_TOKEN,       /* a token of UFM's (POST /app/tokens); /ufmRestV3 */
    ONEIB_UFM_CERTIFICATE, /* a client's certificate; /ufmRest */
};

/* Borrowed for as long as the client lives. */
struct oneib_ufm_access {
    const char *url; /* "https://HOST" or "https://HOST:PORT" */
    const char *ca;  /* a file of certificates (PEM); NULL: the system's */
    enum oneib_ufm_auth auth;
    const char *secret; /* a file that this user or root owns and nobody else may read: on one line
                           "USER:PASSWORD" or the token; for CERTIFICATE the key (PEM). Read for
                           each call, so that it can be changed */
    const char *certificate; /* PEM; CERTIFICATE alone */
    uint32_t timeout_ms;     /* for one call */
};

struct oneib_ufm_client;

/* Nothing is connected to. NULL: CONFIG, the url is not one of https; MEMORY. To be closed. */
struct oneib_ufm_client *oneib_ufm_client_open(const struct oneib_ufm_access *access,
                                               struct oneib_error *err);
void oneib_ufm_client_close(struct oneib_ufm_client *client); /* may be NULL */

/*
 * For sm/ufm_work.h, which knows what to ask; it is good for as long as the client is. Errors:
 * REFUSED, the secret is not there, is no secret, or is not one line; AUTH, UFM's certificate is
 * not to be trusted; TIMEOUT; TOO_LARGE, an answer of more than 64 MiB; UNREACHABLE, all else that
 * keeps an answer from coming whole.
 */
struct oneib_ufm_link oneib_ufm_client_link(struct oneib_ufm_client *client);

#endif
