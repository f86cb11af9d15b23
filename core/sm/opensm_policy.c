// SPDX-License-Identifier: Apache-2.0
/* The file by which opensm's SA refuses other service levels than the partitions have. */
#include "base/cleanup.h"
#include "base/file.h"
#include "partitions/qos_policy.h"
#include "sm/sm_internal.h"
#include <string.h>

/* A rule is some 30 bytes, and there are 32,767 keys at most. */
#define POLICY_MAX_SIZE ((size_t)4 << 20)

static const char *place(const struct oneib_sm *sm)
{
    return sm->config->opensm.qos_policy;
}

static struct oneib_stamp stamp_of(const struct oneib_sm *sm)
{
    return place(sm) ? oneib_stamp_of(place(sm)) : (struct oneib_stamp){0};
}

void oneib_policy_stamp(struct oneib_sm *sm)
{
    sm->policy.stamp = stamp_of(sm);
}

bool oneib_policy_has_news(const struct oneib_sm *sm)
{
    const struct oneib_stamp now = stamp_of(sm);
    return !oneib_stamp_equal(&now, &sm->policy.stamp);
}

static bool is_same(const struct oneib_text *a, const struct oneib_text *b)
{
    return a->data && b->data && a->length == b->length && memcmp(a->data, b->data, a->length) == 0;
}

/* ---- looking --------------------------------------------------------------------------------- */

static void say_foreign(const struct oneib_sm *sm, struct oneib_findings *findings)
{
    oneib_findings_note(findings, ONEIB_FINDING_QOS_POLICY_FOREIGN,
                        "%s was not written by oneib and stays as it is: paths with other "
                        "service levels than the clusters' are not refused by it",
                        place(sm));
}

static void say_failed(const struct oneib_error *why, struct oneib_findings *findings)
{
    oneib_findings_note(findings, ONEIB_FINDING_QOS_POLICY_NOT_WRITTEN,
                        "the subnet manager does not get the service levels to refuse: %s",
                        why->text);
}

void oneib_policy_settle(struct oneib_sm *sm, struct oneib_findings *findings)
{
    struct oneib_policy_file *policy = &sm->policy;
    oneib_autofree char *data = NULL;
    size_t length = 0;
    struct oneib_error why;
    oneib_text_clear(&policy->there);
    policy->is_ours = false;
    if (!place(sm))
        return;
    if (oneib_file_read(place(sm), POLICY_MAX_SIZE, &data, &length, &why) < 0) {
        if (why.code != ONEIB_ERROR_NOT_FOUND) {
            say_failed(&why, findings);
            return;
        }
    } else if (!oneib_qos_policy_is_ours(data, length)) {
        say_foreign(sm, findings);
        return;
    }
    policy->is_ours = true;
    oneib_text_append_bytes(&policy->there, data ? data : "", length);
    if (policy->refused.data && !is_same(&policy->there, &policy->refused)) {
        say_failed(&policy->why, findings);
        return;
    }
}

/* What could not be written counts as written until it is to be something else: it is said, and
 * not tried all the time. */
bool oneib_policy_is_put(const struct oneib_sm *sm, const struct oneib_partition_table *wanted)
{
    const struct oneib_policy_file *policy = &sm->policy;
    if (!policy->is_ours)
        return true;
    oneib_autotext struct oneib_text text = {0};
    oneib_qos_policy_render(wanted, &text);
    return is_same(&text, &policy->there) || is_same(&text, &policy->refused);
}

/* ---- writing --------------------------------------------------------------------------------- */

struct writing {
    const struct oneib_sm *sm;
    const struct oneib_partition_table *wanted;
};

/* Somebody else's file that has come since it was looked at stays. */
static int check_before_rename(const char *data, size_t length, void *context,
                               struct oneib_error *err)
{
    const struct writing *writing = context;
    const struct oneib_sm *sm = writing->sm;
    oneib_autofree char *there = NULL;
    size_t size = 0;
    struct oneib_error absent;
    if (oneib_qos_policy_check(data, length, writing->wanted, err) < 0)
        return -1;
    if (oneib_file_read(place(sm), POLICY_MAX_SIZE, &there, &size, &absent) == 0 &&
        !oneib_qos_policy_is_ours(there, size))
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "%s is no longer oneib's", place(sm));
    return 0;
}

void oneib_policy_put(struct oneib_sm *sm, const struct oneib_partition_table *wanted)
{
    struct oneib_policy_file *policy = &sm->policy;
    struct oneib_text text = {0};
    if (!policy->is_ours)
        return;
    oneib_qos_policy_render(wanted, &text);
    if (is_same(&text, &policy->there)) {
        oneib_text_clear(&text);
        return;
    }
    struct writing writing = {sm, wanted};
    const bool is_written = oneib_file_replace(place(sm), text.data, text.length, 0644,
                                               check_before_rename, &writing, &policy->why) == 0;
    oneib_policy_stamp(sm);
    oneib_text_clear(&policy->refused);
    if (is_written)
        oneib_text_clear(&policy->there);
    *(is_written ? &policy->there : &policy->refused) = text;
}

void oneib_policy_close(struct oneib_sm *sm)
{
    oneib_text_clear(&sm->policy.there);
    oneib_text_clear(&sm->policy.refused);
}
