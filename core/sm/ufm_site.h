// SPDX-License-Identifier: Apache-2.0
/*
 * What a UFM is like apart from the keys that are oneib's: its release, the keys of its management
 * plane, its default partition. And whether isolation is worth anything there.
 */
#ifndef ONEIB_SM_UFM_SITE_H
#define ONEIB_SM_UFM_SITE_H

#include "base/error.h"
#include "base/finding.h"
#include "config/config.h"
#include "partitions/partition.h"
#include "sm/ufm_answer.h"
#include "ufm/ufm_link.h"

struct oneib_ufm_site {
    struct oneib_ufm_release release; /* what UFM says, or the configuration instead of it */
    struct oneib_ufm_abilities abilities;
    struct oneib_ufm_sm_keys keys;
    struct oneib_ufm_default management; /* owned; by oneib_ufm_read() */
};

/* Asks all but `management`. Two calls at most. On failure *site is as it was. */
int oneib_ufm_site_read(const struct oneib_ufm_link *link, const struct oneib_config *config,
                        struct oneib_ufm_site *site, struct oneib_error *err);
void oneib_ufm_site_clear(struct oneib_ufm_site *site);

/*
 * What is wrong becomes findings. *closed: REFUSED and why, where nobody may be added to any
 * partition before that is put right; NONE else. own: the default partition as it is to be, whose
 * full members are meant; may be NULL.
 */
void oneib_ufm_site_judge(const struct oneib_ufm_site *site, const struct oneib_config *config,
                          const struct oneib_partition *own, struct oneib_findings *findings,
                          struct oneib_error *closed);

#endif
