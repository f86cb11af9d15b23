// SPDX-License-Identifier: Apache-2.0
/* Kind `ufm` behind the interface of core/sm, on what the stand-in for UFM believes. */
#include "../base/scratch.h"
#include "base/file.h"
#include "base/order.h"
#include "base/stamp.h"
#include "sm/sm_internal.h"
#include "ufm_model.h"
#include <inttypes.h>
#include <stdbool.h>

#define A "0x0002c90300000001"
#define B "0x0002c90300000002"
#define C "0x0002c90300000003"
#define OPEN_GUID UINT64_C(0x0002c90300000009)

static struct ufm_model ufm;
static unsigned calls, puts_seen, changes;
static bool is_away, cuts_changes;

static char record_path[PATH_MAX];
static struct oneib_config config;
static struct oneib_sm *sm;
static struct oneib_seen seen;
static struct oneib_partition_table wanted;
static struct oneib_findings findings;
static struct oneib_error err;

/* ---- UFM ------------------------------------------------------------------------------------- */

static int ask(void *context, const struct oneib_ufm_call *call, struct oneib_ufm_reply *reply,
               struct oneib_error *why)
{
    (void)context;
    calls++;
    if (is_away)
        return oneib_fail(why, ONEIB_ERROR_UNREACHABLE, "UFM is away");
    const bool is_change = strcmp(call->method, "GET") != 0;
    puts_seen += strcmp(call->method, "PUT") == 0;
    changes += is_change;
    reply->status = ufm_model_answer(&ufm, call->method, call->path, call->body,
                                     call->body ? strlen(call->body) : 0, &reply->data);
    reply->length = strlen(reply->data);
    if (!is_change || !cuts_changes)
        return 0;
    oneib_ufm_reply_clear(reply);
    return oneib_fail(why, ONEIB_ERROR_UNREACHABLE, "the answer was cut");
}

static const struct oneib_ufm_link link_to_model = {ask, NULL};

/* Somebody else, in the second after. */
static void stranger(const char *method, const char *path, const char *body)
{
    char *answer;
    ufm.now++;
    const long status =
        ufm_model_answer(&ufm, method, path, body, body ? strlen(body) : 0, &answer);
    free(answer);
    assert_int_equal(status, 200);
}

/* "0x0002c90300000001=full ..." */
static void assert_has(uint16_t pkey, const char *expected)
{
    char text[1024] = "";
    const struct ufm_key *key = ufm_model_key(&ufm, pkey);
    for (size_t i = 0; key && i < key->count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s0x%016" PRIx64 "=%s",
                 i > 0 ? " " : "", key->members[i].guid,
                 key->members[i].is_full ? "full" : "limited");
    assert_string_equal(text, expected);
}

/* ---- scenes ---------------------------------------------------------------------------------- */

static int begin(void **state)
{
    if (make_scratch(state) < 0)
        return -1;
    snprintf(record_path, sizeof record_path, "%s", in_scratch("record"));
    static char url[] = "https://ufm.example";
    config = (struct oneib_config){.sm.kind = ONEIB_SM_UFM};
    config.ufm.url = url;
    config.ufm.record = record_path;
    config.pkeys.first = 0x100;
    config.pkeys.last = 0x1ff;
    config.daemon.poll_preparing_ms = 0;
    ufm_model_begin(&ufm);
    ufm.now = 1700000000;
    calls = puts_seen = changes = 0;
    is_away = cuts_changes = false;
    err = (struct oneib_error){0};
    sm = oneib_sm_open_over(&config, &link_to_model, &err);
    assert_non_null(sm);
    return 0;
}

static int end(void **state)
{
    oneib_sm_close(sm);
    oneib_seen_clear(&seen);
    oneib_partition_table_clear(&wanted);
    oneib_findings_clear(&findings);
    ufm_model_clear(&ufm);
    return remove_scratch(state);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

#define DEFAULT "Default=0x7fff : ALL=limited, SELF=full, 0x0002c90300000009=full ;\n"

/* By key, as a desired table is; an operator's members in his order. */
static void want(const char *text)
{
    if (oneib_partitions_parse(text, strlen(text), "wanted", &wanted, &err) < 0)
        fail_msg("%s", err.text);
    ONEIB_SORT(wanted.items, wanted.count, oneib_partition_compare_keys);
}

static const struct oneib_sm_put what = {.wanted = &wanted, .text = &(struct oneib_text){0}};

static bool is_put(void)
{
    return oneib_sm_is_put(sm, &seen, &what);
}

/* As a snapshot does it: look, settle. True: it differs. */
static bool snapshot(const char *text)
{
    if (oneib_sm_read(sm, &seen, &err) < 0)
        fail_msg("%s", err.text);
    want(text);
    oneib_findings_clear(&findings);
    oneib_sm_settle(sm, &seen, &wanted, &findings);
    return !is_put();
}

static int put(void)
{
    unsigned nudges = 0;
    const int status = oneib_sm_put(sm, &what, &seen, &nudges, &err);
    assert_int_equal(nudges, 0);
    return status;
}

static const char *seen_name(oneib_pkey pkey)
{
    return oneib_partition_table_find(&seen.table, pkey)->name;
}

static void bring(const char *text)
{
    if (snapshot(text) && put() < 0)
        fail_msg("%s", err.text);
}

static void assert_finding(const char *code, enum oneib_severity severity)
{
    for (size_t i = 0; i < findings.count; i++)
        if (strcmp(findings.items[i].code, code) == 0) {
            assert_int_equal(findings.items[i].severity, severity);
            assert_non_null(findings.items[i].fix);
            return;
        }
    fail_msg("no finding %s", code);
}

/* ---- the normal way -------------------------------------------------------------------------- */

static void what_was_put_there_is_what_is_seen_then(void **state)
{
    (void)state;
    assert_true(
        snapshot(DEFAULT "one5=0x0101,ipoib,mtu=5,rate=7,sl=3 : " A "=full, " B "=limited ;"));
    assert_int_equal(seen.state, ONEIB_SEEN_OURS);
    assert_int_equal(put(), 0);
    assert_has(0x101, A "=full " B "=limited");
    assert_true(is_put());
    assert_false(
        snapshot(DEFAULT "one5=0x0101,ipoib,mtu=5,rate=7,sl=3 : " A "=full, " B "=limited ;"));
    oneib_sm_doubt(sm);
    assert_false(
        snapshot(DEFAULT "one5=0x0101,ipoib,mtu=4,rate=7,sl=3 : " A "=full, " B "=limited ;"));
    assert_int_equal(findings.count, 0);
}

static void the_order_of_members_makes_no_difference(void **state)
{
    (void)state;
    bring(DEFAULT "storage=0x0101 : " B "=full, " A "=limited ;");
    assert_true(is_put());
    assert_has(0x101, A "=limited " B "=full");
    assert_false(snapshot(DEFAULT "storage=0x0101 : " B "=full, " A "=limited ;"));
}

static void names_are_those_that_oneib_gave(void **state)
{
    (void)state;
    bring(DEFAULT "one5=0x0101 : " A "=full ;");
    oneib_sm_close(sm);
    sm = oneib_sm_open_over(&config, &link_to_model, &err);
    assert_false(snapshot(DEFAULT "one5=0x0101 : " A "=full ;"));
    assert_string_equal(seen_name(0x101), "one5");
}

static void each_key_has_its_own_name_whatever_keys_come_and_go(void **state)
{
    (void)state;
    bring(DEFAULT "one5=0x0101 : " A "=full ;\none6=0x0102 : " B "=full ;");
    stranger("DELETE", "/resources/pkeys/0x101", NULL);
    stranger("PUT", "/resources/pkeys/",
             "{\"pkey\":\"0x100\",\"guids\":[\"0002c90300000003\"],\"memberships\":[\"full\"]}");
    oneib_sm_doubt(sm);
    assert_true(snapshot(DEFAULT "one6=0x0102 : " B "=full ;"));
    assert_string_equal(seen_name(0x100), "ufm-0x0100");
    assert_string_equal(seen_name(0x102), "one6");
}

static void a_key_that_is_another_clusters_now_is_seen_as_the_first_ones(void **state)
{
    (void)state;
    bring(DEFAULT "one5=0x0101 : " A "=full ;");
    assert_true(snapshot(DEFAULT "one6=0x0101 : " A "=full ;"));
    assert_string_equal(seen_name(0x101), "one5");
    assert_int_equal(put(), 0);
    assert_false(snapshot(DEFAULT "one6=0x0101 : " A "=full ;"));
}

static void the_record_is_written_when_a_name_changes_or_it_has_gone(void **state)
{
    (void)state;
    bring(DEFAULT "one5=0x0101 : " A "=full ;");
    const struct oneib_stamp before = oneib_stamp_of(record_path);
    bring(DEFAULT "one5=0x0101 : " B "=full ;");
    const struct oneib_stamp same = oneib_stamp_of(record_path);
    assert_true(oneib_stamp_equal(&before, &same));
    bring(DEFAULT "one6=0x0101 : " B "=full ;");
    const struct oneib_stamp other = oneib_stamp_of(record_path);
    assert_false(oneib_stamp_equal(&before, &other));
    assert_true(snapshot(DEFAULT "one6=0x0101 : " A "=full ;"));
    assert_int_equal(unlink(record_path), 0);
    assert_int_equal(put(), 0);
    assert_true(oneib_stamp_of(record_path).exists);
}

static void a_partition_of_nobody_is_deleted(void **state)
{
    (void)state;
    bring(DEFAULT "one5=0x0101 : " A "=full ;\none6=0x0102 : " B "=full ;");
    bring(DEFAULT "one6=0x0102 : " B "=full ;");
    assert_null(ufm_model_key(&ufm, 0x101));
    assert_has(0x102, B "=full");
}

static void one_more_member_costs_five_calls_and_one_put(void **state)
{
    (void)state;
    bring(DEFAULT "one5=0x0101 : " A "=full ;\none6=0x0102 : " C "=full ;");
    calls = puts_seen = changes = 0;
    assert_false(oneib_sm_has_news(sm));
    bring(DEFAULT "one5=0x0101 : " A "=full, " B "=full ;\none6=0x0102 : " C "=full ;");
    assert_int_equal(calls, 5);
    assert_int_equal(puts_seen, 1);
    assert_int_equal(changes, 1);
}

static void a_poll_without_change_costs_one_call(void **state)
{
    (void)state;
    bring(DEFAULT "one5=0x0101 : " A "=full ;");
    calls = 0;
    assert_false(oneib_sm_has_news(sm));
    assert_false(snapshot(DEFAULT "one5=0x0101 : " A "=full ;"));
    assert_int_equal(calls, 1);
    config.daemon.poll_preparing_ms = 100000;
    assert_false(oneib_sm_has_news(sm));
    assert_int_equal(calls, 1);
}

/* ---- others ---------------------------------------------------------------------------------- */

static void a_strangers_change_is_seen_and_undone(void **state)
{
    (void)state;
    bring(DEFAULT "one5=0x0101 : " A "=full ;");
    stranger("PUT", "/resources/pkeys/",
             "{\"pkey\":\"0x101\",\"guids\":[\"0002c90300000001\",\"0002c90300000003\"],"
             "\"memberships\":[\"full\",\"full\"],\"ip_over_ib\":false,\"index0\":false}");
    assert_true(oneib_sm_has_news(sm));
    bring(DEFAULT "one5=0x0101 : " A "=full ;");
    assert_has(0x101, A "=full");
    stranger("PUT", "/resources/pkeys/",
             "{\"pkey\":\"0x150\",\"guids\":[\"0002c90300000003\"],\"memberships\":[\"full\"]}");
    assert_true(oneib_sm_has_news(sm));
    bring(DEFAULT "one5=0x0101 : " A "=full ;");
    assert_null(ufm_model_key(&ufm, 0x150));
}

static void what_is_outside_of_the_range_is_left_alone(void **state)
{
    (void)state;
    bring(DEFAULT "one5=0x0101 : " A "=full ;");
    stranger("PUT", "/resources/pkeys/",
             "{\"pkey\":\"0x250\",\"guids\":[\"0002c90300000003\"],\"memberships\":[\"full\"]}");
    oneib_sm_doubt(sm);
    assert_false(snapshot(DEFAULT "one5=0x0101 : " A "=full ;"));
    bring(DEFAULT);
    assert_has(0x250, C "=full");
    assert_null(ufm_model_key(&ufm, 0x101));
}

/* Within the same second nothing tells of it; the full reading does. */
static void a_change_that_last_updated_hides_is_found_when_everything_is_read(void **state)
{
    (void)state;
    bring(DEFAULT "one5=0x0101 : " A "=full ;");
    ufm.now--;
    stranger("DELETE", "/resources/pkeys/0x101", NULL);
    assert_false(oneib_sm_has_news(sm));
    oneib_sm_doubt(sm);
    assert_true(snapshot(DEFAULT "one5=0x0101 : " A "=full ;"));
    assert_int_equal(put(), 0);
    assert_has(0x101, A "=full");
}

static void a_release_without_last_updated_is_read_when_it_is_doubted(void **state)
{
    (void)state;
    ufm.has_no_stamp = true;
    bring(DEFAULT "one5=0x0101 : " A "=full ;");
    stranger("DELETE", "/resources/pkeys/0x101", NULL);
    assert_false(oneib_sm_has_news(sm));
    oneib_sm_doubt(sm);
    assert_true(snapshot(DEFAULT "one5=0x0101 : " A "=full ;"));
}

static void what_was_changed_since_it_was_seen_is_not_overwritten(void **state)
{
    (void)state;
    bring(DEFAULT "one5=0x0101 : " A "=full ;");
    assert_true(snapshot(DEFAULT "one5=0x0101 : " A "=full, " B "=full ;"));
    stranger("DELETE", "/resources/pkeys/0x101/guids/0002c90300000001", NULL);
    assert_int_equal(put(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    bring(DEFAULT "one5=0x0101 : " A "=full, " B "=full ;");
    assert_has(0x101, A "=full " B "=full");
}

static void keys_that_oneib_has_not_put_there_are_somebodys(void **state)
{
    (void)state;
    stranger("PUT", "/resources/pkeys/",
             "{\"pkey\":\"0x150\",\"guids\":[\"0002c90300000003\"],\"memberships\":[\"full\"]}");
    assert_true(snapshot(DEFAULT "one5=0x0101 : " A "=full ;"));
    assert_int_equal(seen.state, ONEIB_SEEN_FOREIGN);
    assert_non_null(strstr(seen.data, "0x0150"));
    assert_non_null(strstr(seen.data, C "=full"));
    assert_int_equal(oneib_sm_refuse(sm, &seen, &err), -1);
    assert_non_null(strstr(err.text, "1 P_Keys"));
    assert_non_null(strstr(err.text, "0x0150"));
    assert_non_null(strstr(err.text, "--force"));
    assert_int_equal(put(), 0); /* by force */
    assert_null(ufm_model_key(&ufm, 0x150));
    assert_false(snapshot(DEFAULT "one5=0x0101 : " A "=full ;"));
    assert_int_equal(seen.state, ONEIB_SEEN_OURS);
}

static void a_damaged_record_is_an_error_that_names_it(void **state)
{
    (void)state;
    bring(DEFAULT "one5=0x0101 : " A "=full ;");
    assert_int_equal(oneib_file_replace(record_path, "?", 1, 0600, NULL, NULL, &err), 0);
    assert_int_equal(oneib_sm_read(sm, &seen, &err), -1);
    assert_non_null(strstr(err.text, record_path));
    assert_non_null(strstr(err.text, "--force"));
}

static void a_record_that_cannot_be_looked_at_is_no_lost_one(void **state)
{
    (void)state;
    assert_int_equal(symlink(record_path, record_path), 0);
    assert_int_equal(oneib_sm_read(sm, &seen, &err), -1);
    assert_non_null(strstr(err.text, record_path));
}

/* Without that UFM has news. */
static void keys_whose_record_is_lost_are_somebodys(void **state)
{
    (void)state;
    bring(DEFAULT "one5=0x0101 : " A "=full ;");
    assert_int_equal(unlink(record_path), 0);
    assert_true(snapshot(DEFAULT "one5=0x0101 : " A "=full ;"));
    assert_int_equal(seen.state, ONEIB_SEEN_FOREIGN);
    assert_string_equal(seen_name(0x101), "ufm-0x0101");
}

static void names_that_another_oneib_has_given_meanwhile_are_seen(void **state)
{
    static const char other[] = "one6=0x0101 : ;\n";
    (void)state;
    bring(DEFAULT "one5=0x0101 : " A "=full ;");
    assert_int_equal(
        oneib_file_replace(record_path, other, sizeof other - 1, 0600, NULL, NULL, &err), 0);
    assert_true(snapshot(DEFAULT "one5=0x0101 : " A "=full ;"));
    assert_string_equal(seen_name(0x101), "one6");
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void a_ufm_that_is_away_is_an_error_and_news_once_it_is_back(void **state)
{
    (void)state;
    bring(DEFAULT "one5=0x0101 : " A "=full ;");
    is_away = true;
    assert_true(oneib_sm_has_news(sm));
    assert_int_equal(oneib_sm_read(sm, &seen, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
    assert_false(oneib_sm_has_news(sm));
    is_away = false;
    assert_true(oneib_sm_has_news(sm));
    assert_false(snapshot(DEFAULT "one5=0x0101 : " A "=full ;"));
}

/* The daemon asks at the begin of a turn and at its end, and oned may have been slow meanwhile. */
static void news_stay_news_until_somebody_has_looked(void **state)
{
    (void)state;
    bring(DEFAULT "one5=0x0101 : " A "=full ;");
    is_away = true;
    assert_true(oneib_sm_has_news(sm));
    assert_true(oneib_sm_has_news(sm));
    assert_int_equal(oneib_sm_read(sm, &seen, &err), -1);
    assert_false(oneib_sm_has_news(sm));
}

static void a_change_whose_answer_was_cut_is_one_when_it_was_done(void **state)
{
    (void)state;
    cuts_changes = true;
    bring(DEFAULT "one5=0x0101 : " A "=full ;");
    assert_has(0x101, A "=full");
}

static void a_change_that_was_done_by_half_is_done_the_next_time(void **state)
{
    (void)state;
    ufm.puts_half = true;
    assert_true(snapshot(DEFAULT "one5=0x0101 : " A "=full, " B "=full ;"));
    assert_int_equal(put(), -1);
    assert_non_null(strstr(err.text, "500"));
    bring(DEFAULT "one5=0x0101 : " A "=full, " B "=full ;");
    assert_has(0x101, A "=full " B "=full");
}

/* ---- what is wrong with UFM itself ----------------------------------------------------------- */

static void bring_two_clusters(void)
{
    bring(DEFAULT "one5=0x0101 : " A "=full, " B "=limited ;\none6=0x0102 : " C "=full ;");
}

/* Who goes, goes; nobody comes. */
static void nobody_is_added_while(const char *code)
{
    oneib_sm_doubt(sm);
    assert_true(
        snapshot(DEFAULT "one5=0x0101 : " A "=full, " C "=full ;\none7=0x0107 : " A "=full ;"));
    assert_finding(code, ONEIB_VIOLATION);
    assert_int_equal(put(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_has(0x101, A "=full");
    assert_null(ufm_model_key(&ufm, 0x102));
    assert_null(ufm_model_key(&ufm, 0x107));
}

static void nobody_is_added_while_the_default_partition_has_full_members(void **state)
{
    (void)state;
    ufm.default_full[0] = OPEN_GUID; /* meant: UFM's own port */
    ufm.default_count = 1;
    bring_two_clusters();
    assert_int_equal(findings.count, 0);
    ufm.default_full[1] = OPEN_GUID + 1;
    ufm.default_count = 2;
    nobody_is_added_while("ufm-default-full");
}

static void nobody_is_added_while_the_default_partition_cannot_be_read(void **state)
{
    (void)state;
    bring_two_clusters();
    ufm.minor = 18;
    nobody_is_added_while("ufm-default-unknown");
}

static void the_operator_can_vouch_for_what_cannot_be_read(void **state)
{
    (void)state;
    ufm.minor = 18;
    config.ufm.default_limited = true;
    bring(DEFAULT "one5=0x0101 : " A "=full ;");
    assert_int_equal(findings.count, 0);
    assert_has(0x101, A "=full");
}

static void nobody_is_added_while_the_sa_key_is_known_to_all(void **state)
{
    (void)state;
    bring_two_clusters();
    ufm.sa_key = 1;
    nobody_is_added_while("ufm-sa-key");
}

static void one_m_key_for_all_is_a_warning(void **state)
{
    (void)state;
    ufm.one_m_key = true;
    bring(DEFAULT "one5=0x0101 : " A "=full ;");
    assert_finding("ufm-m-key", ONEIB_WARNING);
    assert_has(0x101, A "=full");
}

/* ---- releases -------------------------------------------------------------------------------- */

static void limited_members_are_not_for_releases_that_make_them_full(void **state)
{
    (void)state;
    config.ufm.default_limited = true;
    ufm.minor = 14;
    bring(DEFAULT);
    assert_true(oneib_sm_limits(sm).no_limited);
    assert_true(oneib_sm_limits(sm).only_range);
    assert_true(snapshot(DEFAULT "one5=0x0101 : " A "=full, " B "=limited ;"));
    assert_int_equal(put(), -1); /* whoever wants them all the same */
    assert_null(ufm_model_key(&ufm, 0x101));
    ufm.minor = 15;
    oneib_sm_doubt(sm);
    bring(DEFAULT);
    assert_false(oneib_sm_limits(sm).no_limited);
}

static void the_release_can_be_told_instead(void **state)
{
    (void)state;
    static char release[] = "6.14";
    config.ufm.release = release;
    config.ufm.default_limited = true;
    bring(DEFAULT);
    assert_true(oneib_sm_limits(sm).no_limited);
}

static void every_shape_of_an_answer_is_read(void **state)
{
    (void)state;
    for (unsigned shapes = 0; shapes < 16; shapes++) {
        ufm.wraps = shapes & 1;
        ufm.pads = shapes & 2;
        ufm.lists = shapes & 4;
        ufm.says_404 = shapes & 8;
        bring(DEFAULT "one5=0x0101 : " A "=full, " B "=limited ;");
        assert_has(0x101, A "=full " B "=limited");
        bring(DEFAULT);
        assert_null(ufm_model_key(&ufm, 0x101));
    }
}

static void every_release_is_served(void **state)
{
    (void)state;
    const unsigned releases[] = {14, 15, 19, 22};
    config.ufm.default_limited = true;
    for (size_t i = 0; i < sizeof releases / sizeof releases[0]; i++) {
        ufm.minor = releases[i];
        oneib_sm_doubt(sm);
        bring(DEFAULT "one5=0x0101 : " A "=full ;");
        assert_has(0x101, A "=full");
        bring(DEFAULT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_put_there_is_what_is_seen_then),
        TEST(the_order_of_members_makes_no_difference),
        TEST(names_are_those_that_oneib_gave),
        TEST(each_key_has_its_own_name_whatever_keys_come_and_go),
        TEST(a_key_that_is_another_clusters_now_is_seen_as_the_first_ones),
        TEST(the_record_is_written_when_a_name_changes_or_it_has_gone),
        TEST(a_partition_of_nobody_is_deleted),
        TEST(one_more_member_costs_five_calls_and_one_put),
        TEST(a_poll_without_change_costs_one_call),
        TEST(a_strangers_change_is_seen_and_undone),
        TEST(what_is_outside_of_the_range_is_left_alone),
        TEST(a_change_that_last_updated_hides_is_found_when_everything_is_read),
        TEST(a_release_without_last_updated_is_read_when_it_is_doubted),
        TEST(what_was_changed_since_it_was_seen_is_not_overwritten),
        TEST(keys_that_oneib_has_not_put_there_are_somebodys),
        TEST(a_damaged_record_is_an_error_that_names_it),
        TEST(a_record_that_cannot_be_looked_at_is_no_lost_one),
        TEST(keys_whose_record_is_lost_are_somebodys),
        TEST(names_that_another_oneib_has_given_meanwhile_are_seen),
        TEST(a_ufm_that_is_away_is_an_error_and_news_once_it_is_back),
        TEST(news_stay_news_until_somebody_has_looked),
        TEST(a_change_whose_answer_was_cut_is_one_when_it_was_done),
        TEST(a_change_that_was_done_by_half_is_done_the_next_time),
        TEST(nobody_is_added_while_the_default_partition_has_full_members),
        TEST(nobody_is_added_while_the_default_partition_cannot_be_read),
        TEST(the_operator_can_vouch_for_what_cannot_be_read),
        TEST(nobody_is_added_while_the_sa_key_is_known_to_all),
        TEST(one_m_key_for_all_is_a_warning),
        TEST(limited_members_are_not_for_releases_that_make_them_full),
        TEST(the_release_can_be_told_instead),
        TEST(every_shape_of_an_answer_is_read),
        TEST(every_release_is_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
