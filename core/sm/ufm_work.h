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
#include "ufm/ufm_link.h"
#include <stddef.h>

/* All keys, as oneib_ufm_read_all() has them. One call. */
int oneib_ufm_read(const struct oneib_ufm_link *link, struct oneib_ufm_range range,
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
