// SPDX-License-Identifier: Apache-2.0
/*
 * What each test of the desired state, of grants and of the gate computes is computed without
 * memory first: once for each place where there may be none. Nothing of it is half done: it fails,
 * and says why, or lacks nothing but a name in the words of a finding.
 */
#include "cluster/grants.h"
#include "shortage.h"
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PLACES_MAX 1000 /* of a cloud of thousands of NICs the first ones are enough */

int __real_oneib_desired_compute(const struct oneib_desired_input *input,
                                 struct oneib_desired *desired, struct oneib_error *err);
int __wrap_oneib_desired_compute(const struct oneib_desired_input *input,
                                 struct oneib_desired *desired, struct oneib_error *err);
int __real_oneib_removals_hold(const struct oneib_desired_input *input,
                               struct oneib_desired *desired, size_t *held,
                               struct oneib_error *err);
int __wrap_oneib_removals_hold(const struct oneib_desired_input *input,
                               struct oneib_desired *desired, size_t *held,
                               struct oneib_error *err);
int __real_oneib_grants_compute(const struct oneib_grants_input *input, struct oneib_grants *grants,
                                struct oneib_findings *findings, struct oneib_error *err);
int __wrap_oneib_grants_compute(const struct oneib_grants_input *input, struct oneib_grants *grants,
                                struct oneib_findings *findings, struct oneib_error *err);
int __real_oneib_gate_compute(const struct oneib_gate_input *input, struct oneib_gate *gate,
                              struct oneib_error *err);
int __wrap_oneib_gate_compute(const struct oneib_gate_input *input, struct oneib_gate *gate,
                              struct oneib_error *err);

static void assert_whole(const char *what, size_t place, int outcome, bool is_the_same,
                         const struct oneib_error *err)
{
    if (outcome < 0)
        assert_int_equal(err->code, ONEIB_ERROR_MEMORY);
    else if (!is_the_same)
        fail_msg("%s went on although there was no memory at place %zu", what, place);
}

/* ---- the desired state ----------------------------------------------------------------------- */

static size_t count_joined(const struct oneib_desired *desired)
{
    size_t count = 0;
    for (size_t i = 0; i < desired->cluster_count; i++)
        count += desired->clusters[i].attachment_count;
    return count;
}

static bool are_lists_alike(const struct oneib_desired *a, const struct oneib_desired *b)
{
    return a->cluster_count == b->cluster_count && count_joined(a) == count_joined(b) &&
           a->request_count == b->request_count && a->copy_count == b->copy_count &&
           a->sl_request_count == b->sl_request_count && a->sl_copy_count == b->sl_copy_count &&
           a->unused_count == b->unused_count && a->idle_count == b->idle_count &&
           a->sharer_count == b->sharer_count && a->waiting_count == b->waiting_count &&
           a->room_count == b->room_count && a->fenced_count == b->fenced_count &&
           a->findings.count == b->findings.count;
}

static bool are_desired_alike(const struct oneib_desired_input *input,
                              const struct oneib_desired *a, const struct oneib_desired *b)
{
    const size_t attachments = input->cloud->attachment_count;
    return oneib_partition_table_equal(&a->table, &b->table) && are_lists_alike(a, b) &&
           (attachments == 0 || memcmp(a->member_statuses, b->member_statuses, attachments) == 0);
}

/* Whether the place was reached. */
static bool desire_without(const struct oneib_desired_input *input, size_t place,
                           const struct oneib_desired *with)
{
    struct oneib_desired without = {0};
    struct oneib_error err = {0};
    shortage_begin(place);
    const int outcome = __real_oneib_desired_compute(input, &without, &err);
    const bool was_short = shortage_end();
    assert_whole("the desired state", place, outcome,
                 outcome == 0 && are_desired_alike(input, &without, with), &err);
    oneib_desired_clear(&without);
    return was_short;
}

int __wrap_oneib_desired_compute(const struct oneib_desired_input *input,
                                 struct oneib_desired *desired, struct oneib_error *err)
{
    const int outcome = __real_oneib_desired_compute(input, desired, err);
    for (size_t place = 1; outcome == 0 && place <= PLACES_MAX; place++)
        if (!desire_without(input, place, desired))
            break;
    return outcome;
}

/* ---- the removal hold ------------------------------------------------------------------------ */

/* Of what the hold changes; all else is borrowed. */
static struct oneib_desired copy_of(const struct oneib_desired *desired)
{
    struct oneib_desired copy = *desired;
    struct oneib_error err;
    copy.table = (struct oneib_partition_table){0};
    for (size_t i = 0; i < desired->table.count; i++) {
        const struct oneib_partition *from = &desired->table.items[i];
        struct oneib_partition *to = oneib_partition_table_add(&copy.table, &err);
        assert_non_null(to);
        *to = *from;
        to->members = NULL;
        to->member_count = to->member_capacity = 0;
        for (size_t j = 0; j < from->member_count; j++)
            assert_int_equal(oneib_partition_add_member(to, from->members[j], &err), 0);
    }
    copy.rooms = calloc(desired->room_count + 1, sizeof *copy.rooms);
    assert_non_null(copy.rooms);
    if (desired->room_count)
        memcpy(copy.rooms, desired->rooms, desired->room_count * sizeof *copy.rooms);
    return copy;
}

static void clear_copy(struct oneib_desired *copy)
{
    oneib_partition_table_clear(&copy->table);
    free(copy->rooms);
}

static bool hold_without(const struct oneib_desired_input *input,
                         const struct oneib_desired *before, size_t place,
                         const struct oneib_desired *with)
{
    struct oneib_desired without = copy_of(before);
    struct oneib_error err = {0};
    size_t held;
    shortage_begin(place);
    const int outcome = __real_oneib_removals_hold(input, &without, &held, &err);
    const bool was_short = shortage_end();
    assert_whole("the removal hold", place, outcome,
                 outcome == 0 && oneib_partition_table_equal(&without.table, &with->table), &err);
    clear_copy(&without);
    return was_short;
}

int __wrap_oneib_removals_hold(const struct oneib_desired_input *input,
                               struct oneib_desired *desired, size_t *held, struct oneib_error *err)
{
    struct oneib_desired before = copy_of(desired);
    const int outcome = __real_oneib_removals_hold(input, desired, held, err);
    for (size_t place = 1; outcome == 0 && place <= PLACES_MAX; place++)
        if (!hold_without(input, &before, place, desired))
            break;
    clear_copy(&before);
    return outcome;
}

/* ---- grants ---------------------------------------------------------------------------------- */

static bool are_hosts_alike(const struct oneib_host_grants *a, const struct oneib_host_grants *b)
{
    if (a->host_id != b->host_id || a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (oneib_grant_compare(&a->items[i], &b->items[i]) != 0 ||
            a->items[i].may_set_guid != b->items[i].may_set_guid ||
            a->items[i].limited != b->items[i].limited)
            return false;
    return true;
}

static bool are_grants_alike(const struct oneib_grants *a, const struct oneib_grants *b)
{
    if (a->host_count != b->host_count || a->twice_count != b->twice_count)
        return false;
    for (size_t i = 0; i < a->host_count; i++)
        if (!are_hosts_alike(&a->hosts[i], &b->hosts[i]))
            return false;
    return true;
}

static bool grant_without(const struct oneib_grants_input *input, size_t place,
                          const struct oneib_grants *with)
{
    struct oneib_grants without = {0};
    struct oneib_findings findings = {0};
    struct oneib_error err = {0};
    shortage_begin(place);
    const int outcome = __real_oneib_grants_compute(input, &without, &findings, &err);
    const bool was_short = shortage_end();
    assert_whole("granting", place, outcome, outcome == 0 && are_grants_alike(&without, with),
                 &err);
    oneib_grants_clear(&without);
    oneib_findings_clear(&findings);
    return was_short;
}

int __wrap_oneib_grants_compute(const struct oneib_grants_input *input, struct oneib_grants *grants,
                                struct oneib_findings *findings, struct oneib_error *err)
{
    const int outcome = __real_oneib_grants_compute(input, grants, findings, err);
    for (size_t place = 1; outcome == 0 && place <= PLACES_MAX; place++)
        if (!grant_without(input, place, grants))
            break;
    return outcome;
}

/* ---- the gate -------------------------------------------------------------------------------- */

static bool gate_without(const struct oneib_gate_input *input, size_t place,
                         const struct oneib_gate *with)
{
    struct oneib_gate without = {0};
    struct oneib_error err = {0};
    shortage_begin(place);
    const int outcome = __real_oneib_gate_compute(input, &without, &err);
    const bool was_short = shortage_end();
    assert_whole("the gate", place, outcome,
                 outcome == 0 && oneib_partition_table_equal(&without.table, &with->table), &err);
    oneib_gate_clear(&without);
    return was_short;
}

int __wrap_oneib_gate_compute(const struct oneib_gate_input *input, struct oneib_gate *gate,
                              struct oneib_error *err)
{
    const int outcome = __real_oneib_gate_compute(input, gate, err);
    for (size_t place = 1; outcome == 0 && place <= PLACES_MAX; place++)
        if (!gate_without(input, place, gate))
            break;
    return outcome;
}
