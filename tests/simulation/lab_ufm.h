// SPDX-License-Identifier: Apache-2.0
/*
 * The stand-in for UFM (ufm-standin) in a lab: LAB_SM's opensm, which must be started after it,
 * follows what it believes, and configurations of oneib say sm.kind = "ufm". Functions return 0 or
 * -1 with *err set.
 */
#ifndef ONEIB_LAB_UFM_H
#define ONEIB_LAB_UFM_H

#include "lab.h"

/* Whether it can be had: openssl makes its certificate. */
bool lab_ufm_can_be_had(void);
/* With the orders (ufm_orders.h) that it has from the beginning; NULL: none. */
int lab_ufm_start(struct lab *lab, const char *orders, struct oneib_error *err);
/* Ends it, or starts it again: what it believed is gone then. */
int lab_ufm_stop(struct lab *lab, struct oneib_error *err);
/* Lines of ufm_orders.h; the next call finds them. */
int lab_ufm_order(struct lab *lab, const char *orders, struct oneib_error *err);
/* Lines of its log that begin with this ("PUT", "GET /resources/pkeys/last_updated"): calls so far.
 */
unsigned lab_ufm_calls(struct lab *lab, const char *begin);
/* Somebody else's call, with a right to it: path as "/resources/pkeys/". Another status than 200 is
 * an error. *answer: to be freed; may be NULL. */
int lab_ufm_ask(struct lab *lab, const char *method, const char *path, const char *body,
                char **answer, struct oneib_error *err);
/* Further settings of the group ufm in configurations written from now on; with "auth" among them
 * not the token is used. Borrowed. */
void lab_ufm_more(struct lab *lab, const char *settings);

#endif
