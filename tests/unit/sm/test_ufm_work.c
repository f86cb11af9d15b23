// SPDX-License-Identifier: Apache-2.0
/* The work on a make-believe UFM, which has keys and members and the faults that it is told to
 * have. It is no stand-in for its interface over HTTPS. */
#include "sm/ufm_work.h"
#include <inttypes.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KEYS 4
#define PORTS 4
#define FIRST 300

enum { NONE, AS_LIMITED, AS_FULL };

static struct {
    uint8_t has[KEYS][PORTS];
    unsigned calls, puts, deletes;
    unsigned cut_at;      /* this call has no answer, but is done; 0: none */
    unsigned refused_at;  /* this call is answered 503 and not done */
    unsigned nonsense_at; /* this one by a page of a proxy */
    unsigned other_at;    /* before this one somebody else adds port 4 to the first key */
    bool ignores_memberships;
    bool lies;            /* says 200 and does nothing */
    bool wraps, says_404; /* shapes of answers */
} ufm;
static struct oneib_error err;

static struct oneib_partition_table wanted, seen;
static struct oneib_ufm_wanted meant;
static struct oneib_ufm_plan plan;
static size_t done;

/* ---- the make-believe UFM -------------------------------------------------------------------- */

static json_t *members_of(unsigned key)
{
    json_t *guids = json_array();
    for (unsigned port = 0; port < PORTS; port++) {
        char guid[24];
        snprintf(guid, sizeof guid, "%016x", port + 1);
        if (ufm.has[key][port] != NONE)
            json_array_append_new(
                guids, json_pack("{s:s, s:b, s:s}", "guid", guid, "index0", 0, "membership",
                                 ufm.has[key][port] == AS_FULL ? "full" : "limited"));
    }
    return guids;
}

static json_t *key_json(unsigned key)
{
    return json_pack("{s:s, s:b, s:o}", "partition", "api_pkey", "ip_over_ib", 1, "guids",
                     members_of(key));
}

static bool is_there(unsigned key)
{
    for (unsigned port = 0; port < PORTS; port++)
        if (ufm.has[key][port] != NONE)
            return true;
    return false;
}

static long get_one(unsigned key, json_t **answer)
{
    char name[16];
    snprintf(name, sizeof name, "0x%04x", FIRST + key);
    if (!is_there(key)) {
        *answer = json_object();
        return ufm.says_404 ? 404 : 200;
    }
    *answer = ufm.wraps ? json_pack("{s:o}", name, key_json(key)) : key_json(key);
    return 200;
}

static long get_all(json_t **answer)
{
    *answer = json_object();
    for (unsigned key = 0; key < KEYS; key++) {
        char name[16];
        snprintf(name, sizeof name, "0x%x", FIRST + key);
        if (is_there(key))
            json_object_set_new(*answer, name, key_json(key));
    }
    return 200;
}

static void put(const char *body)
{
    json_t *document = json_loads(body, 0, NULL);
    assert_non_null(document);
    json_t *guids = json_object_get(document, "guids");
    json_t *memberships = json_object_get(document, "memberships");
    assert_int_equal(json_array_size(guids), json_array_size(memberships));
    const unsigned key =
        (unsigned)strtoul(json_string_value(json_object_get(document, "pkey")), NULL, 16) - FIRST;
    memset(ufm.has[key], NONE, PORTS);
    for (size_t i = 0; i < json_array_size(guids); i++) {
        const char *membership = json_string_value(json_array_get(memberships, i));
        const unsigned long guid = strtoul(json_string_value(json_array_get(guids, i)), NULL, 16);
        ufm.has[key][guid - 1] =
            ufm.ignores_memberships || strcmp(membership, "full") == 0 ? AS_FULL : AS_LIMITED;
    }
    json_decref(document);
}

static void delete (const char *path)
{
    char *rest;
    const unsigned key = (unsigned)strtoul(path + strlen("/resources/pkeys/"), &rest, 16) - FIRST;
    if (*rest == '\0')
        memset(ufm.has[key], NONE, PORTS);
    while (strncmp(rest, "/guids/", 7) == 0 || *rest == ',')
        ufm.has[key][strtoul(rest + (*rest == ',' ? 1 : 7), &rest, 16) - 1] = NONE;
}

static long answer_to(const struct oneib_ufm_call *call, json_t **answer)
{
    ufm.puts += strcmp(call->method, "PUT") == 0;
    ufm.deletes += strcmp(call->method, "DELETE") == 0;
    if (ufm.calls == ufm.refused_at)
        return 503;
    if (strcmp(call->method, "GET") == 0)
        return strchr(call->path, '?')[-1] == 's'
                   ? get_all(answer)
                   : get_one((unsigned)strtoul(call->path + strlen("/resources/pkeys/"), NULL, 16) -
                                 FIRST,
                             answer);
    if (ufm.lies)
        return 200;
    if (strcmp(call->method, "PUT") == 0)
        put(call->body);
    else
        delete (call->path);
    return 200;
}

static int ask(void *context, const struct oneib_ufm_call *call, struct oneib_ufm_reply *reply,
               struct oneib_error *why)
{
    json_t *answer = NULL;
    (void)context;
    if (++ufm.calls == ufm.other_at)
        ufm.has[0][3] = AS_FULL;
    reply->status = answer_to(call, &answer);
    reply->data = answer ? json_dumps(answer, 0) : strdup("");
    if (ufm.calls == ufm.nonsense_at) {
        free(reply->data);
        reply->data = strdup("<html>busy</html>");
    }
    reply->length = strlen(reply->data);
    json_decref(answer);
    if (ufm.calls != ufm.cut_at)
        return 0;
    oneib_ufm_reply_clear(reply);
    return oneib_fail(why, ONEIB_ERROR_UNREACHABLE, "the answer was cut");
}

static const struct oneib_ufm_link fake = {ask, NULL};

/* ---- scenes ---------------------------------------------------------------------------------- */

static void forget(void)
{
    oneib_ufm_plan_clear(&plan);
    oneib_ufm_wanted_clear(&meant);
    oneib_partition_table_clear(&wanted);
    oneib_partition_table_clear(&seen);
}

static int begin(void **state)
{
    (void)state;
    memset(&ufm, 0, sizeof ufm);
    err = (struct oneib_error){0};
    return 0;
}

static int end(void **state)
{
    (void)state;
    forget();
    return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

/* Ports 1 to 4 of the key: "FL-F". */
static void want(unsigned key, const char *members)
{
    struct oneib_partition *partition = oneib_partition_table_add(&wanted);
    assert_non_null(partition);
    partition->pkey = (oneib_pkey)(FIRST + key);
    partition->ipoib = true;
    for (unsigned port = 0; port < PORTS; port++) {
        const struct oneib_member member = {port + 1, ONEIB_MEMBER_GUID,
                                            members[port] == 'F' ? ONEIB_FULL : ONEIB_LIMITED};
        if (members[port] != '-')
            oneib_partition_add_member(partition, member);
    }
}

static void has(unsigned key, const char *members)
{
    for (unsigned port = 0; port < PORTS; port++) {
        const uint8_t expected = members[port] == 'F'   ? AS_FULL
                                 : members[port] == 'L' ? AS_LIMITED
                                                        : NONE;
        if (ufm.has[key][port] != expected)
            fail_msg("key %u, port %u: %u and not %u", key, port + 1, ufm.has[key][port], expected);
    }
}

static void given(unsigned key, const char *members)
{
    for (unsigned port = 0; port < PORTS; port++)
        ufm.has[key][port] = members[port] == 'F' ? AS_FULL : members[port] == 'L' ? AS_LIMITED : 0;
}

static void look_and_plan(void)
{
    const struct oneib_ufm_range range = {256, 32766};
    const struct oneib_ufm_abilities able = {.memberships = true};
    struct oneib_ufm_default management = {0};
    oneib_ufm_plan_clear(&plan);
    oneib_ufm_wanted_clear(&meant);
    if (oneib_ufm_read(&fake, range, &seen, &management, &err) < 0)
        fail_msg("%s", err.text);
    oneib_ufm_default_clear(&management);
    oneib_partition_table_sort(&wanted);
    oneib_ufm_want(&wanted, range, able, &meant);
    oneib_ufm_plan(&meant.table, &seen, &plan);
}

static int work(void)
{
    look_and_plan();
    ufm.calls = ufm.puts = ufm.deletes = 0;
    return oneib_ufm_work(&fake, &plan, &done, &err);
}

static void works(void)
{
    if (work() < 0)
        fail_msg("%s", err.text);
    assert_int_equal(done, plan.count);
}

static void fails(enum oneib_error_code code, const char *part)
{
    assert_int_equal(work(), -1);
    assert_int_equal(err.code, code);
    if (!strstr(err.text, part))
        fail_msg("\"%s\" does not say \"%s\"", err.text, part);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void what_is_wanted_is_what_ufm_has_then(void **state)
{
    (void)state;
    given(0, "FF--");
    given(2, "F---");
    want(0, "F-L-");
    want(1, "-L-F");
    works();
    has(0, "F-L-");
    has(1, "-L-F");
    has(2, "----");
    look_and_plan();
    assert_int_equal(plan.count, 0);
}

static void one_changed_member_is_three_calls_one_of_them_a_put(void **state)
{
    (void)state;
    given(0, "FF--");
    given(1, "FFFF");
    want(0, "FFL-");
    want(1, "FFFF");
    works();
    assert_int_equal(ufm.calls, 3);
    assert_int_equal(ufm.puts, 1);
    assert_int_equal(ufm.deletes, 0);
}

static void shapes_of_answers_and_ways_of_not_there_make_no_difference(void **state)
{
    (void)state;
    ufm.wraps = ufm.says_404 = true;
    given(2, "F---");
    want(0, "FL--");
    works();
    has(0, "FL--");
    has(2, "----");
}

static void what_somebody_else_has_changed_since_is_not_overwritten(void **state)
{
    (void)state;
    given(0, "F---");
    want(0, "FL--");
    look_and_plan();
    ufm.calls = 0;
    ufm.other_at = 1;
    assert_int_equal(oneib_ufm_work(&fake, &plan, &done, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_int_equal(done, 0);
    has(0, "F--F");
}

/* The attacker: a limited member, by a UFM that makes full ones of all. */
static void who_came_in_wider_than_meant_is_taken_out_again(void **state)
{
    (void)state;
    ufm.ignores_memberships = true;
    given(0, "F---");
    want(0, "FL--");
    want(1, "F---");
    fails(ONEIB_ERROR_PROTOCOL, "taken out");
    has(0, "F---");
    has(1, "----");
    assert_non_null(strstr(err.text, "0x012c"));
}

static void who_cannot_be_taken_out_is_not_said_to_be_out(void **state)
{
    (void)state;
    ufm.ignores_memberships = true;
    given(0, "F---");
    want(0, "FL--");
    ufm.refused_at = 4;
    fails(ONEIB_ERROR_PROTOCOL, "could not be taken out: UFM answers 503");
    has(0, "FF--");
}

static void who_comes_in_between_put_and_look_is_taken_out(void **state)
{
    (void)state;
    given(0, "F---");
    want(0, "FL--");
    look_and_plan();
    ufm.calls = 0;
    ufm.other_at = 3;
    assert_int_equal(oneib_ufm_work(&fake, &plan, &done, &err), -1);
    has(0, "FL--");
}

static void a_refused_put_leaves_everything_and_says_why(void **state)
{
    (void)state;
    given(0, "FF--");
    want(0, "F-L-");
    ufm.refused_at = 2;
    fails(ONEIB_ERROR_UNREACHABLE, "503");
    has(0, "FF--");
    assert_int_equal(ufm.deletes, 0);
    ufm.refused_at = 0;
    works();
    has(0, "F-L-");
}

static void a_put_whose_answer_was_cut_counts_by_what_ufm_has(void **state)
{
    (void)state;
    given(0, "FF--");
    want(0, "F-L-");
    look_and_plan();
    ufm.calls = 0;
    ufm.cut_at = 2;
    assert_int_equal(oneib_ufm_work(&fake, &plan, &done, &err), 0);
    has(0, "F-L-");
}

static void a_ufm_that_says_yes_and_does_nothing_is_found_out(void **state)
{
    (void)state;
    want(0, "F---");
    given(1, "F---");
    ufm.lies = true;
    fails(ONEIB_ERROR_PROTOCOL, "it has not");
    assert_int_equal(done, 0);
}

static void without_a_proof_nothing_more_is_sent(void **state)
{
    (void)state;
    want(0, "F---");
    want(1, "F---");
    for (unsigned i = 0; i < 2; i++) {
        memset(ufm.has, NONE, sizeof ufm.has);
        look_and_plan();
        ufm.calls = ufm.puts = 0;
        ufm.nonsense_at = i == 0 ? 3 : 0;
        ufm.cut_at = i == 1 ? 3 : 0;
        assert_int_equal(oneib_ufm_work(&fake, &plan, &done, &err), -1);
        assert_int_equal(ufm.puts, 1);
        assert_int_equal(done, 0);
        assert_non_null(strstr(err.text, "0x012c"));
        ufm.nonsense_at = ufm.cut_at = 0;
    }
    works();
    has(1, "F---");
}

/* A UFM that ends at any moment: whatever is left, the next turn goes on from there. */
static void ended_at_any_call_it_goes_on_later_and_nobody_has_too_much(void **state)
{
    (void)state;
    for (unsigned at = 1; at <= 9; at++) {
        for (unsigned kind = 0; kind < 3; kind++) {
            forget();
            memset(&ufm, 0, sizeof ufm);
            given(0, "FFL-");
            given(1, "F---");
            want(0, "F-LL");
            want(2, "L--F");
            look_and_plan();
            ufm.calls = 0;
            ufm.cut_at = kind == 0 ? at : 0;
            ufm.refused_at = kind == 1 ? at : 0;
            ufm.nonsense_at = kind == 2 ? at : 0;
            (void)oneib_ufm_work(&fake, &plan, &done, &err);
            assert_true(ufm.has[0][2] != AS_FULL && ufm.has[0][3] != AS_FULL);
            assert_true(ufm.has[2][0] != AS_FULL && ufm.has[2][1] == NONE);
            ufm.cut_at = ufm.refused_at = ufm.nonsense_at = 0;
            works();
            has(0, "F-LL");
            has(1, "----");
            has(2, "L--F");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_wanted_is_what_ufm_has_then),
        TEST(one_changed_member_is_three_calls_one_of_them_a_put),
        TEST(shapes_of_answers_and_ways_of_not_there_make_no_difference),
        TEST(what_somebody_else_has_changed_since_is_not_overwritten),
        TEST(who_came_in_wider_than_meant_is_taken_out_again),
        TEST(who_cannot_be_taken_out_is_not_said_to_be_out),
        TEST(who_comes_in_between_put_and_look_is_taken_out),
        TEST(a_refused_put_leaves_everything_and_says_why),
        TEST(a_put_whose_answer_was_cut_counts_by_what_ufm_has),
        TEST(a_ufm_that_says_yes_and_does_nothing_is_found_out),
        TEST(without_a_proof_nothing_more_is_sent),
        TEST(ended_at_any_call_it_goes_on_later_and_nobody_has_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
