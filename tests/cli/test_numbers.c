// SPDX-License-Identifier: Apache-2.0
/* mac and guid: the command's only verbs that need nothing but their words. */
#include "run.h"
#include <string.h>

static void says(const struct outcome *outcome, const char *line)
{
    assert_int_equal(outcome->status, 0);
    assert_string_equal(outcome->err, "");
    assert_string_equal(outcome->out, line);
}

static void refused(const struct outcome *outcome, const char *part)
{
    assert_int_equal(outcome->status, 2);
    assert_string_equal(outcome->out, "");
    assert_contains(outcome->err, part);
}

static void a_mac_is_encoded_and_decoded(void **state)
{
    (void)state;
    says(RUN("mac", "encode", "10.20.0.10"), "aa:00:0a:14:00:0a\n");
    says(RUN("mac", "encode", "10.20.0.10", "--index", "15"), "aa:0f:0a:14:00:0a\n");
    says(RUN("mac", "encode", "--index=1", "10.20.0.10"), "aa:01:0a:14:00:0a\n");
    says(RUN("mac", "decode", "aa:00:0a:14:00:0a"), "10.20.0.10 index 0\n");
    says(RUN("mac", "decode", "AA:0F:0A:14:00:0A"), "10.20.0.10 index 15\n");
    says(RUN("mac", "encode", "255.255.255.255"), "aa:00:ff:ff:ff:ff\n");
}

static void a_guid_is_encoded_and_decoded(void **state)
{
    (void)state;
    says(RUN("guid", "encode", "42", "1"), "0x0200000000002a01\n");
    says(RUN("guid", "encode", "42", "1", "--site", "258"), "0x0201020000002a01\n");
    says(RUN("guid", "encode", "4294967295", "255", "--site=65535"), "0x02ffffffffffffff\n");
    says(RUN("guid", "encode", "0", "0"), "0x0200000000000000\n");
    says(RUN("guid", "decode", "0x0200000000002a01"), "site 0 vm 42 nic 1\n");
    says(RUN("guid", "decode", "0x02ffffffffffffff"), "site 65535 vm 4294967295 nic 255\n");
}

static void numbers_are_strict(void **state)
{
    (void)state;
    static const char *const indices[] = {"16", "-1", "+1", "01", " 1", "1x", "0x1", "1.0"};
    static const char *const sites[] = {"65536", "-1", "007", "0xff", "1 "};
    static const char *const vms[] = {"4294967296", "042", "42 ", "0x2a", "1e3"};
    static const char *const nics[] = {"256", "00", "1.5", "99999999999999999999"};

    for (size_t i = 0; i < sizeof indices / sizeof *indices; i++)
        refused(RUN("mac", "encode", "10.0.0.1", "--index", indices[i]),
                "': expected a number from 0 to 15");
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++)
        refused(RUN("guid", "encode", "1", "1", "--site", sites[i]),
                "': expected a number from 0 to 65535");
    for (size_t i = 0; i < sizeof vms / sizeof *vms; i++)
        refused(RUN("guid", "encode", vms[i], "1"), "': expected a number from 0 to 4294967295");
    for (size_t i = 0; i < sizeof nics / sizeof *nics; i++)
        refused(RUN("guid", "encode", "1", nics[i]), "': expected a number from 0 to 255");
}

static void addresses_macs_and_guids_are_strict(void **state)
{
    (void)state;
    static const char *const addresses[] = {
        "10.20.0", "10.20.0.256", "10.20.0.010", "10.20.0.10 ", "10.20.0.10.", "::1", "host", ""};
    static const char *const macs[] = {"52:54:00:00:00:01", "aa:10:0a:14:00:0a", "aa:00:0a:14:00",
                                       "aa-00-0a-14-00-0a", "aa:0:0a:14:00:0a",  ""};
    static const char *const guids[] = {"0200000000002a01",    "0x", "0x0", "0xffffffffffffffff",
                                        "0x0200000000002a011", "42", ""};

    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
        refused(RUN("mac", "encode", addresses[i]), "invalid IPv4 address '");
    for (size_t i = 0; i < sizeof macs / sizeof *macs; i++)
        refused(RUN("mac", "decode", macs[i]), "invalid dummy MAC '");
    for (size_t i = 0; i < sizeof guids / sizeof *guids; i++)
        refused(RUN("guid", "decode", guids[i]), "invalid GUID '");
    refused(RUN("guid", "decode", "0x0002c90300112233"), "foreign GUID '0x0002c90300112233'");
}

static void options_go_with_their_direction(void **state)
{
    (void)state;
    refused(RUN("mac", "decode", "aa:00:0a:14:00:0a", "--index", "1"),
            "option '--index' is valid only with 'mac encode'");
    refused(RUN("guid", "decode", "0x0200000000002a01", "--site", "1"),
            "option '--site' is valid only with 'guid encode'");
    refused(RUN("mac", "recode", "1"), "invalid argument 'recode': expected encode or decode");
    refused(RUN("guid", "ENCODE", "1", "1"),
            "invalid argument 'ENCODE': expected encode or decode");
    refused(RUN("mac", "encode", "10.0.0.1", "--site", "1"), "unknown option '--site'");
}

static json_int_t number(const json_t *document, const char *key)
{
    json_t *value = json_object_get(document, key);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static void both_directions_have_the_same_json(void **state)
{
    (void)state;
    char first[4096];
    const struct outcome *outcome = RUN("mac", "encode", "10.20.0.10", "--index", "2", "--json");
    json_t *document = parse_json(outcome->out);
    assert_int_equal(json_object_size(document), 3);
    assert_string_equal(json_string_value(json_object_get(document, "address")), "10.20.0.10");
    assert_string_equal(json_string_value(json_object_get(document, "mac")), "aa:02:0a:14:00:0a");
    assert_int_equal(number(document, "index"), 2);
    json_decref(document);
    strcpy(first, outcome->out);
    assert_string_equal(RUN("--json", "mac", "decode", "AA:02:0A:14:00:0A")->out, first);

    outcome = RUN("guid", "encode", "4294967295", "7", "--site", "3", "--json");
    document = parse_json(outcome->out);
    assert_int_equal(json_object_size(document), 4);
    assert_string_equal(json_string_value(json_object_get(document, "guid")), "0x020003ffffffff07");
    assert_int_equal(number(document, "vm"), 4294967295);
    assert_int_equal(number(document, "nic"), 7);
    assert_int_equal(number(document, "site"), 3);
    json_decref(document);
    strcpy(first, outcome->out);
    assert_string_equal(RUN("guid", "--json", "decode", "0x020003ffffffff07")->out, first);
}

static void json_is_indented_with_sorted_keys(void **state)
{
    (void)state;
    assert_string_equal(RUN("guid", "decode", "0x0200000000002a01", "--json")->out,
                        "{\n"
                        "  \"guid\": \"0x0200000000002a01\",\n"
                        "  \"nic\": 1,\n"
                        "  \"site\": 0,\n"
                        "  \"vm\": 42\n"
                        "}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mac_is_encoded_and_decoded),
        cmocka_unit_test(a_guid_is_encoded_and_decoded),
        cmocka_unit_test(numbers_are_strict),
        cmocka_unit_test(addresses_macs_and_guids_are_strict),
        cmocka_unit_test(options_go_with_their_direction),
        cmocka_unit_test(both_directions_have_the_same_json),
        cmocka_unit_test(json_is_indented_with_sorted_keys),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
