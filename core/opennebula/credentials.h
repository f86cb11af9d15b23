// SPDX-License-Identifier: Apache-2.0
/*
 * Where oned is and who we are there, found as the OpenNebula CLI finds it (cloud-cli's client,
 * OpenNebula's manual "Managing Users"): endpoint from the configuration, else $ONE_XMLRPC, else
 * ~/.one/one_endpoint, else http://localhost:2633/RPC2; session ("user:password") from the
 * configured file, else the file $ONE_AUTH names, else ~/.one/one_auth, else
 * /var/lib/one/.one/one_auth.
 */
#ifndef ONEIB_OPENNEBULA_CREDENTIALS_H
#define ONEIB_OPENNEBULA_CREDENTIALS_H

#include "base/error.h"
#include "config/config.h"
#include <stdbool.h>

struct oneib_credentials {
    char *endpoint; /* owned; http:// or https:// */
    char *session;  /* owned; a secret: never in an error, a log or --json */
};

/*
 * The session file must be a regular file of one line with a ':' in it. A file that others than its
 * owner and group may read is refused.
 */
int oneib_credentials_find(const struct oneib_config *config, struct oneib_credentials *credentials,
                           struct oneib_error *err);
void oneib_credentials_clear(struct oneib_credentials *credentials); /* overwrites the secret */

/*
 * Where one.auth_file is not this user's to read, but this user has a session of its own (as
 * above), that one is to be used: config then names no file, and no one.acl_user, which was said of
 * the configured user. On a machine that is front-end and SM's host the configured session is
 * oneibd's, and oneadmin has another. Returns whether it is so; otherwise config is as it was.
 */
bool oneib_credentials_use_own(struct oneib_config *config);

#endif
