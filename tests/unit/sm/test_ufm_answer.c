// SPDX-License-Identifier: Apache-2.0
/* UFM's answers, in the shapes in which others have published them. */
#include "sm/ufm_answer.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define KEY 0x31a
#define GUID_A "946dae03005985c8"
#define GUID_B "946dae03005985c9"
#define MEMBER(guid, membership)                                                                   \
    "{\"guid\":\"" guid "\",\"index0\":true,\"membership\":\"" membership "\"}"
#define BODY(members)                                                                              \
    "{\"partition\":\"api_pkey_0x31a\",\"ip_over_ib\":true,\"guids\":[" members "]}"
#define TWO MEMBER(GUID_B, "limited") "," MEMBER(GUID_A, "full")

static const struct oneib_ufm_range range = {256, 32766};
static struct oneib_partition_table table;
static struct oneib_ufm_default management;
static struct oneib_error err;

static int end(void **state)
{
    (void)state;
    oneib_partition_table_clear(&table);
    oneib_ufm_default_clear(&management);
    return 0;
}

static int read_all(const char *text)
{
    return oneib_ufm_read_all(text, strlen(text), range, &table, &management, &err);
}

static void all_is(const char *text)
{
    if (read_all(text) < 0)
        fail_msg("%s", err.text);
}

static void all_is_refused(const char *text, const char *why)
{
    if (read_all(text) == 0)
        fail_msg("%s was taken", text);
    assert_int_equal(err.code, ONEIB_ERROR_PROTOCOL);
    if (!strstr(err.text, why))
        fail_msg("\"%s\" does not say \"%s\"", err.text, why);
}

/* ---- one key --------------------------------------------------------------------------------- */

static void one_is_there(const char *text)
{
    struct oneib_partition partition;
    bool is_there;
    if (oneib_ufm_read_one(text, strlen(text), 200, KEY, &partition, &is_there, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    assert_true(is_there);
    assert_int_equal(partition.pkey, KEY);
    assert_true(partition.ipoib);
    assert_true(partition.indx0);
    assert_int_equal(partition.member_count, 2);
    assert_true(partition.members[0].guid == 0x946dae03005985c8);
    assert_int_equal(partition.members[0].membership, ONEIB_FULL);
    assert_true(partition.members[1].guid == 0x946dae03005985c9);
    assert_int_equal(partition.members[1].membership, ONEIB_LIMITED);
    oneib_ufm_partition_clear(&partition);
}

static void a_key_is_read_in_each_shape(void **state)
{
    (void)state;
    one_is_there(BODY(TWO));
    one_is_there("{\"0x31a\":" BODY(TWO) "}");
    one_is_there("{\"0x031a\":" BODY(TWO) "}");
    one_is_there("[" BODY(TWO) "]");
    one_is_there("{\"pkey\":\"0x31a\",\"ip_over_ib\":true,\"guids\":[" TWO "]}");
    one_is_there(BODY(MEMBER("0x" GUID_B, "limited") "," MEMBER(GUID_A, "full")));
}

static void is_not_there(const char *text, long status)
{
    struct oneib_partition partition;
    bool is_there = true;
    assert_int_equal(
        oneib_ufm_read_one(text, strlen(text), status, KEY, &partition, &is_there, &err), 0);
    assert_false(is_there);
    assert_null(partition.members);
}

static void a_key_that_is_not_there_is_an_empty_answer_or_a_404(void **state)
{
    (void)state;
    is_not_there("{}", 200);
    is_not_there("[]", 200);
    is_not_there("not found", 404);
    is_not_there("", 404);
}

static void one_is_refused(const char *text, long status)
{
    struct oneib_partition partition;
    bool is_there = true;
    if (oneib_ufm_read_one(text, strlen(text), status, KEY, &partition, &is_there, &err) == 0)
        fail_msg("%ld %s was taken", status, text);
    assert_false(is_there);
    assert_null(partition.members);
}

/* Not there would be a reason to think that everybody has gone. */
static void what_is_no_answer_about_the_key_does_not_count_as_not_there(void **state)
{
    (void)state;
    one_is_refused("", 200);
    one_is_refused("null", 200);
    one_is_refused("{", 200);
    one_is_refused(BODY(TWO), 503);
    one_is_refused("{}", 500);
    one_is_refused("{}", 401);
    one_is_refused("{\"0x31b\":" BODY(TWO) "}", 200);
    one_is_refused("{\"0x31a\":" BODY(TWO) ",\"0x31b\":" BODY(TWO) "}", 200);
    one_is_refused("[" BODY(TWO) "," BODY(TWO) "]", 200);
    one_is_refused("{\"pkey\":\"0x31b\",\"ip_over_ib\":true,\"guids\":[]}", 200);
    one_is_refused("{\"0x31a\":{}}", 200);
}

static void members_are_believed_all_or_none(void **state)
{
    (void)state;
    one_is_refused(BODY(TWO "," MEMBER(GUID_A, "limited")), 200);
    one_is_refused(BODY(MEMBER(GUID_A, "both")), 200);
    one_is_refused(BODY(MEMBER("946dae03005985c", "full")), 200);
    one_is_refused(BODY(MEMBER("946dae03005985c8\\u0000", "full")), 200);
    one_is_refused(BODY(MEMBER("0000000000000000", "full")), 200);
    one_is_refused(BODY("{\"guid\":\"" GUID_A "\",\"index0\":true}"), 200);
    one_is_refused(BODY("{\"guid\":\"" GUID_A "\",\"membership\":\"full\"}"), 200);
    one_is_refused(BODY("{\"guid\":\"" GUID_A
                        "\",\"membership\":\"limited\",\"membership\":\"full\""
                        ",\"index0\":true}"),
                   200);
    one_is_refused(BODY(MEMBER(GUID_A, "full") ",{\"guid\":\"" GUID_B
                                               "\",\"index0\":false,\"membership\":\"full\"}"),
                   200);
    one_is_refused("{\"ip_over_ib\":true,\"guids\":\"" GUID_A "\"}", 200);
    one_is_refused("{\"guids\":[]}", 200);
}

/* ---- all keys -------------------------------------------------------------------------------- */

static void of_all_keys_those_in_the_range_are_read(void **state)
{
    (void)state;
    all_is("{\"0x31b\":" BODY(TWO) ",\"0x10\":{\"guids\":7},\"0x031a\":" BODY(
        MEMBER(GUID_A, "full")) ",\"0x7fff\":{}}");
    assert_int_equal(table.count, 2);
    assert_int_equal(table.items[0].pkey, 0x31a);
    assert_int_equal(table.items[0].member_count, 1);
    assert_int_equal(table.items[1].pkey, 0x31b);
    all_is("{}");
    assert_int_equal(table.count, 0);
}

/* Whoever may write to UFM must not be able to say whose cluster a key is. */
static void ufms_names_are_not_believed(void **state)
{
    (void)state;
    all_is("{\"0x31a\":{\"partition\":\"one7\",\"ip_over_ib\":false,\"guids\":[]}}");
    assert_string_equal(table.items[0].name, "");
}

static void an_answer_that_is_refused_changes_nothing(void **state)
{
    (void)state;
    all_is("{\"0x31a\":" BODY(TWO) "}");
    all_is_refused("{\"0x31a\":" BODY(TWO) ",\"0x031a\":" BODY(TWO) "}", "twice");
    all_is_refused("{\"0x31a\":" BODY(TWO) ",\"0x31a\":" BODY(TWO) "}", "JSON");
    all_is_refused("{\"0x31b\":" BODY(MEMBER(GUID_A, "none")) "}", "0x031b");
    all_is_refused("{\"31a\":" BODY(TWO) "}", "P_Key");
    all_is_refused("{\"0x0\":" BODY(TWO) "}", "P_Key");
    all_is_refused("{\"0x831a\":" BODY(TWO) "}", "P_Key");
    all_is_refused("[]", "no object");
    all_is_refused("<html>", "JSON");
    all_is_refused("{\"0x31a\":" BODY(TWO), "JSON");
    assert_int_equal(table.count, 1);
    assert_int_equal(table.items[0].member_count, 2);
}

static void the_default_partition_is_known_when_each_member_says_its_membership(void **state)
{
    (void)state;
    all_is("{\"0x7fff\":" BODY(TWO) "}");
    assert_true(management.is_known);
    assert_int_equal(management.full, 1);
    all_is("{\"0x7fff\":" BODY("{\"guid\":\"" GUID_A "\",\"index0\":true}") "}");
    assert_false(management.is_known);
    all_is("{}");
    assert_false(management.is_known);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void the_release_is_read(void **state)
{
    static const char good[] = "{\"ufm_release_version\":\"6.19.1-3\"}";
    static const char *const wrong[] = {"{}", "{\"ufm_release_version\":6}",
                                        "{\"ufm_release_version\":\"\"}", "\"6.19.1\""};
    struct oneib_ufm_release release;
    (void)state;
    assert_int_equal(oneib_ufm_read_release(good, strlen(good), &release, &err), 0);
    assert_int_equal(release.minor, 19);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(oneib_ufm_read_release(wrong[i], strlen(wrong[i]), &release, &err), -1);
}

static struct oneib_ufm_sm_keys sm_keys(const char *text)
{
    struct oneib_ufm_sm_keys keys;
    if (oneib_ufm_read_sm_keys(text, strlen(text), &keys, &err) < 0)
        fail_msg("%s", err.text);
    return keys;
}

static void an_sa_key_that_everybody_knows_is_noticed(void **state)
{
    (void)state;
    assert_true(sm_keys("{\"sa_key\":\"0x1\"}").sa_key_is_known_to_all);
    assert_true(sm_keys("{\"sa_key\":\"0x0000000000000001\"}").sa_key_is_known_to_all);
    assert_true(sm_keys("{\"sa_key\":\"0x0\"}").sa_key_is_known_to_all);
    assert_false(sm_keys("{\"sa_key\":\"0x5ec2e7\"}").sa_key_is_known_to_all);
    assert_false(sm_keys("{\"sa_key\":\"0x5ec2e7\"}").m_key_per_port);
    assert_true(sm_keys("{\"sa_key\":\"0x5ec2e7\",\"m_key_per_port\":true}").m_key_per_port);
    assert_false(sm_keys("{\"sa_key\":\"0x5ec2e7\",\"m_key_per_port\":\"true\"}").m_key_per_port);
}

/* ---- virtual ports --------------------------------------------------------------------------- */

#define VPORT(guid, state, port)                                                                   \
    "{\"virtual_port_state\":\"" state "\",\"virtual_port_lid\":3434,\"system_name\":\"a\","       \
    "\"port_guid\":\"" port "\",\"physical_port_number\":1,\"virtual_port_guid\":\"" guid "\"}"
#define PORT "248a0703008a850a"

static struct oneib_said_vports said;

static void vports_are(const char *text, long status)
{
    if (oneib_ufm_read_vports(text, strlen(text), status, &said, &err) < 0)
        fail_msg("%s", err.text);
}

static void virtual_ports_are_read_as_published(void **state)
{
    (void)state;
    vports_are("[" VPORT(GUID_B, "Active", PORT) "," VPORT(GUID_A, "Down", PORT) "]", 200);
    assert_true(said.is_known);
    assert_int_equal(said.count, 2);
    assert_int_equal(said.not_understood, 0);
    assert_false(said.items[0].is_active);
    const struct oneib_said_vport *found =
        oneib_said_vport_find(&said, UINT64_C(0x946dae03005985c9));
    assert_non_null(found);
    assert_true(found->is_active);
    assert_true(found->port_guid == UINT64_C(0x248a0703008a850a));
    assert_null(oneib_said_vport_find(&said, 1));
    vports_are("[]", 200);
    assert_true(said.is_known);
    assert_int_equal(said.count, 0);
    oneib_said_vports_clear(&said);
}

/* An active one is the one that counts. */
static void of_two_virtual_ports_with_one_guid_the_active_one_is_found(void **state)
{
    (void)state;
    vports_are("[" VPORT(GUID_A, "Down", PORT) "," VPORT(GUID_A, "ACTIVE",
                                                         PORT) "," VPORT(GUID_A, "Down", PORT) "]",
               200);
    assert_true(oneib_said_vport_find(&said, UINT64_C(0x946dae03005985c8))->is_active);
    oneib_said_vports_clear(&said);
}

static void odd_shapes_of_virtual_ports_are_taken_as_far_as_they_go(void **state)
{
    (void)state;
    /* By name; with 0x; without a port; a state that is a number, or missing. */
    vports_are("{\"x\":{\"virtual_port_guid\":\"0x" GUID_A "\",\"virtual_port_state\":4}}", 200);
    assert_int_equal(said.count, 1);
    assert_true(said.items[0].port_guid == 0 && !said.items[0].is_active);
    vports_are("[{\"virtual_port_guid\":\"" GUID_A "\",\"port_guid\":7}]", 200);
    assert_int_equal(said.count, 1);
    assert_true(said.items[0].port_guid == 0);
    /* What has no GUID is counted. */
    vports_are("[1,null,[],{},{\"virtual_port_guid\":12},{\"virtual_port_guid\":\"12\"},"
               "{\"virtual_port_guid\":\"" GUID_B "\"}]",
               200);
    assert_int_equal(said.count, 1);
    assert_int_equal(said.not_understood, 6);
    oneib_said_vports_clear(&said);
}

static void a_ufm_without_virtual_ports_does_not_say(void **state)
{
    (void)state;
    vports_are("not JSON", 404);
    assert_false(said.is_known);
}

static void what_is_no_answer_about_virtual_ports_leaves_what_was(void **state)
{
    static const struct {
        const char *text;
        long status;
    } bad[] = {{"", 200}, {"[", 200}, {"7", 200}, {"\"x\"", 200}, {"[]", 500}, {"[]", 401}};
    (void)state;
    vports_are("[" VPORT(GUID_B, "Active", PORT) "]", 200);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(
            oneib_ufm_read_vports(bad[i].text, strlen(bad[i].text), bad[i].status, &said, &err),
            -1);
        assert_int_equal(said.count, 1);
    }
    oneib_said_vports_clear(&said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_read_in_each_shape),
        cmocka_unit_test(a_key_that_is_not_there_is_an_empty_answer_or_a_404),
        cmocka_unit_test(what_is_no_answer_about_the_key_does_not_count_as_not_there),
        cmocka_unit_test(members_are_believed_all_or_none),
        cmocka_unit_test_teardown(of_all_keys_those_in_the_range_are_read, end),
        cmocka_unit_test_teardown(ufms_names_are_not_believed, end),
        cmocka_unit_test_teardown(an_answer_that_is_refused_changes_nothing, end),
        cmocka_unit_test_teardown(
            the_default_partition_is_known_when_each_member_says_its_membership, end),
        cmocka_unit_test(the_release_is_read),
        cmocka_unit_test(an_sa_key_that_everybody_knows_is_noticed),
        cmocka_unit_test(virtual_ports_are_read_as_published),
        cmocka_unit_test(of_two_virtual_ports_with_one_guid_the_active_one_is_found),
        cmocka_unit_test(odd_shapes_of_virtual_ports_are_taken_as_far_as_they_go),
        cmocka_unit_test(a_ufm_without_virtual_ports_does_not_say),
        cmocka_unit_test(what_is_no_answer_about_virtual_ports_leaves_what_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
