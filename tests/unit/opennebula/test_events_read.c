// SPDX-License-Identifier: Apache-2.0
/* What messages say: the recorded ones, and hostile ones. */
#include "base/cleanup.h"
#include "event_messages.h"
#include "opennebula/events_internal.h"
#include "recorded.h"

static struct oneib_event read_bytes(const char *key, size_t key_length, const char *payload,
                                     size_t payload_length)
{
    /* Copies of their own, so that reading beyond their ends is seen. */
    char *key_copy = malloc(key_length + 1), *payload_copy = malloc(payload_length + 1);
    assert_non_null(key_copy);
    assert_non_null(payload_copy);
    memcpy(key_copy + 1, key, key_length);
    memcpy(payload_copy + 1, payload, payload_length);
    struct oneib_event event =
        oneib_event_read(key_copy + 1, key_length, payload_copy + 1, payload_length);
    free(key_copy);
    free(payload_copy);
    return event;
}

static struct oneib_event read_message(const char *key, const char *payload)
{
    return read_bytes(key, strlen(key), payload, strlen(payload));
}

static void assert_event_of(const char *key, const char *payload, enum oneib_event_kind kind,
                            uint32_t id)
{
    struct oneib_event event = read_message(key, payload);
    if (event.kind != kind || event.id != id)
        fail_msg("\"%s\": kind %d id %u, expected kind %d id %u", key, event.kind, event.id, kind,
                 id);
}

static void assert_gap(const char *key, const char *payload)
{
    assert_event_of(key, payload, ONEIB_EVENT_GAP, 0);
}

/* ---- recorded -------------------------------------------------------------------------------- */

/* What a recorded key must mean, by its beginning alone. */
static struct oneib_event meaning(const char *key, bool *is_call)
{
    static const struct {
        const char *begin;
        enum oneib_event_kind kind;
        bool is_call;
    } kinds[] = {{"EVENT STATE VM/", ONEIB_EVENT_VM, false},
                 {"EVENT STATE NET/", ONEIB_EVENT_NETWORK, false},
                 {"EVENT STATE HOST/", ONEIB_EVENT_HOST, false},
                 {"EVENT API one.vn.", ONEIB_EVENT_NETWORK, true},
                 {"EVENT API one.host.", ONEIB_EVENT_HOST, true},
                 {"EVENT API one.document.update ", ONEIB_EVENT_DOCUMENT, true},
                 {"EVENT API one.vm.attachnic ", ONEIB_EVENT_VM, true},
                 {"EVENT API one.vm.detachnic ", ONEIB_EVENT_VM, true},
                 {"EVENT API one.vm.updatenic ", ONEIB_EVENT_VM, true},
                 {"EVENT API one.vm.recover ", ONEIB_EVENT_VM, true}};
    *is_call = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strncmp(key, kinds[i].begin, strlen(kinds[i].begin)) != 0)
            continue;
        *is_call = kinds[i].is_call;
        if (!*is_call)
            return (struct oneib_event){.kind = kinds[i].kind,
                                        .id = (uint32_t)strtoul(strrchr(key, '/') + 1, NULL, 10)};
        if (key[strlen(key) - 1] == '1')
            return (struct oneib_event){.kind = kinds[i].kind, .id = 42};
    }
    return (struct oneib_event){.kind = ONEIB_EVENT_NOTHING};
}

static void check_recorded_key(const char *key, unsigned counts[])
{
    bool is_call;
    struct oneib_event expected = meaning(key, &is_call);
    bool makes = strstr(key, ".allocate ") || strstr(key, ".reserve ");
    oneib_autofree char *payload = is_call ? call_payload(makes ? "OUT" : "IN", "42") : strdup("");
    assert_event_of(key, payload, expected.kind, expected.id);
    counts[expected.kind]++;
}

static void every_recorded_key_is_understood(void **state)
{
    unsigned counts[ONEIB_EVENT_GAP + 1] = {0};
    char line[512], key[256];
    (void)state;
    FILE *log = fopen(ONEIB_TEST_DATA "/opennebula-7.4/zmq/events.log", "r");
    assert_non_null(log);
    while (fgets(line, sizeof line, log)) {
        char *begin = strstr(line, "key=\"") + 5;
        snprintf(key, sizeof key, "%.*s", (int)strcspn(begin, "\""), begin);
        check_recorded_key(key, counts);
    }
    fclose(log);
    /* As many as grep counts. */
    assert_int_equal(counts[ONEIB_EVENT_HOST], 9);
    assert_int_equal(counts[ONEIB_EVENT_NETWORK], 27);
    assert_true(counts[ONEIB_EVENT_VM] > 150);
    assert_int_equal(counts[ONEIB_EVENT_GAP], 0);
}

static void recorded_calls_name_what_they_made(void **state)
{
    (void)state;
    oneib_autofree char *first = recorded("zmq/00001");
    oneib_autofree char *second = recorded("zmq/00004");
    oneib_autofree char *first_payload = encoded(first);
    oneib_autofree char *second_payload = encoded(second);
    assert_event_of("EVENT API one.vn.allocate 1", first_payload, ONEIB_EVENT_NETWORK, 0);
    assert_event_of("EVENT API one.vn.allocate 1", second_payload, ONEIB_EVENT_NETWORK, 1);
}

static void a_reservation_is_the_network_made_not_the_one_reserved_from(void **state)
{
    (void)state;
    oneib_autofree char *answered = call_payload("OUT", "6");
    oneib_autofree char *given = call_payload("IN", "5");
    assert_event_of("EVENT API one.vn.reserve 1", answered, ONEIB_EVENT_NETWORK, 6);
    assert_gap("EVENT API one.vn.reserve 1", given);
}

static void a_failed_call_is_nothing_whatever_it_carries(void **state)
{
    (void)state;
    assert_event_of("EVENT API one.vn.update 0", "!", ONEIB_EVENT_NOTHING, 0);
    assert_event_of("EVENT API one.vm.attachnic 0", "", ONEIB_EVENT_NOTHING, 0);
}

static void what_was_not_subscribed_to_is_nothing(void **state)
{
    static const char *const keys[] = {
        "",
        "EVENT",
        "EVENT STATE IMAGE/READY//0 ",
        "EVENT VM 1/ACTIVE/BOOT ",
        "EVENT API one.vm.action 1",
        "EVENT API one.vmpool.monitoring 1",
        "EVENT API one.vntemplate.instantiate 1",
        "event state vm/ACTIVE/BOOT/1 ",
        " EVENT STATE VM/ACTIVE/BOOT/1 ",
    };
    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_event_of(keys[i], "!", ONEIB_EVENT_NOTHING, 0);
}

static void monitoring_a_host_is_nothing(void **state)
{
    (void)state;
    oneib_autofree char *payload = call_payload("IN", "1");
    assert_event_of("EVENT API one.host.monitoring 1", payload, ONEIB_EVENT_NOTHING, 0);
}

static void states_of_later_releases_are_understood(void **state)
{
    (void)state;
    assert_event_of("EVENT STATE VM/NEW_STATE_2/OTHER/7 ", "", ONEIB_EVENT_VM, 7);
    assert_event_of("EVENT STATE VM///7 ", "", ONEIB_EVENT_VM, 7);
}

/* ---- hostile --------------------------------------------------------------------------------- */

static void a_broken_state_is_a_gap(void **state)
{
    static const char *const keys[] = {
        "EVENT STATE VM/",
        "EVENT STATE VM/ACTIVE",
        "EVENT STATE VM/ACTIVE/BOOT",
        "EVENT STATE VM/ACTIVE/BOOT/",
        "EVENT STATE VM/ACTIVE/BOOT/ ",
        "EVENT STATE VM/ACTIVE/BOOT/1",   /* no trailing blank: cut? */
        "EVENT STATE VM/ACTIVE/BOOT/1  ", /* more than one */
        "EVENT STATE VM/ACTIVE/BOOT/1 2 ",
        "EVENT STATE VM/ACTIVE/BOOT/ 1 ",
        "EVENT STATE VM/ACTIVE/BOOT/-1 ",
        "EVENT STATE VM/ACTIVE/BOOT/+1 ",
        "EVENT STATE VM/ACTIVE/BOOT/0x1 ",
        "EVENT STATE VM/ACTIVE/BOOT/01 ",
        "EVENT STATE VM/ACTIVE/BOOT/2147483648 ",
        "EVENT STATE VM/ACTIVE/BOOT/99999999999999999999999 ",
        "EVENT STATE VM/ACTIVE/BOOT/4294967297 ",
        "EVENT STATE VM/ACTIVE/BOOT/1\n",
        "EVENT STATE VM/ACTIVE/1 ",
        "EVENT STATE VM/ACTIVE/BOOT/BOOT/1 ",
        "EVENT STATE VM/act ive/BOOT/1 ",
        "EVENT STATE NET/READY/0 ",
        "EVENT STATE HOST/INIT///1 ",
    };
    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_gap(keys[i], "");
}

static void the_highest_id_is_an_id(void **state)
{
    (void)state;
    assert_event_of("EVENT STATE VM/ACTIVE/BOOT/2147483647 ", "", ONEIB_EVENT_VM, INT32_MAX);
}

static void a_nul_byte_ends_no_key(void **state)
{
    static const char key[] = "EVENT STATE VM/ACTIVE/BOOT/1 \0001";
    (void)state;
    assert_int_equal(read_bytes(key, sizeof key - 1, "", 0).kind, ONEIB_EVENT_GAP);
}

static void a_broken_call_is_a_gap(void **state)
{
    static const char *const keys[] = {
        "EVENT API one.vn.",          "EVENT API one.vn.update",     "EVENT API one.vn.update ",
        "EVENT API one.vn.update 2",  "EVENT API one.vn.update -1",  "EVENT API one.vn.update 11",
        "EVENT API one.vn.update 1 ", "EVENT API one.vn.update  1",  "EVENT API one.vn.UPDATE 1",
        "EVENT API one.host.u;x 1",   "EVENT API one.vm.attachnic ",
    };
    (void)state;
    oneib_autofree char *payload = call_payload("IN", "5");
    assert_event_of("EVENT API one.vn.update 1", payload, ONEIB_EVENT_NETWORK, 5);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_gap(keys[i], payload);
}

static void an_id_that_is_none_is_a_gap(void **state)
{
    static const char *const ids[] = {"",           "-1", "2147483648", "18446744073709551617",
                                      " 5",         "5 ", "5.0",        "0x5",
                                      "<ID>5</ID>", "05", "five",       "5</VALUE><VALUE>6"};
    (void)state;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        oneib_autofree char *payload = call_payload("IN", ids[i]);
        assert_gap("EVENT API one.vn.update 1", payload);
    }
}

static void of_two_second_parameters_given_the_first_counts(void **state)
{
    (void)state;
    oneib_autofree char *payload = call_payload(
        "IN", "5</VALUE></PARAMETER><PARAMETER><POSITION>2</POSITION><TYPE>IN</TYPE><VALUE>6");
    assert_event_of("EVENT API one.vn.update 1", payload, ONEIB_EVENT_NETWORK, 5);
}

static void two_second_answers_are_a_gap(void **state)
{
    (void)state;
    oneib_autofree char *payload = call_payload(
        "OUT", "5</VALUE></PARAMETER><PARAMETER><POSITION>2</POSITION><TYPE>OUT</TYPE><VALUE>6");
    assert_gap("EVENT API one.vn.reserve 1", payload);
}

/* An ordinary user's one.vn.update(4, ...) with a '<' that closes nothing, and with a forged
 * parameter. */
static void markup_that_a_user_wrote_into_a_parameter_changes_nothing(void **state)
{
    static const char *const names[] = {"zmq/vn.update-unbalanced", "zmq/vn.update-forged"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        oneib_autofree char *xml = recorded(names[i]);
        oneib_autofree char *payload = encoded(xml);
        assert_event_of("EVENT API one.vn.update 1", payload, ONEIB_EVENT_NETWORK, 4);
    }
}

static void what_is_not_base64_is_a_gap(void **state)
{
    static const char *const payloads[] = {"",        "=",    "A",    "AA",
                                           "AAA",     "====", "A===", "AA=A",
                                           "PEE+\n",  "PE E", "PEE-", "<HOOK_MESSAGE/>",
                                           "AAA=AAAA"};
    (void)state;
    for (size_t i = 0; i < sizeof payloads / sizeof *payloads; i++)
        assert_gap("EVENT API one.vn.update 1", payloads[i]);
}

static void what_is_not_the_document_is_a_gap(void **state)
{
    static const char *const documents[] = {
        "x",
        "<HOOK_MESSAGE/>",
        "<HOOK_MESSAGE>",
        "<HOOK_MESSAGE></HOOK_MESSAGE><HOOK_MESSAGE/>",
        "<VM><ID>5</ID></VM>",
        "<?xml version=\"1.0\"?><HOOK_MESSAGE/>",
        "<!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]><HOOK_MESSAGE>&b;</HOOK_MESSAGE>",
        "<HOOK_MESSAGE><CALL_INFO><PARAMETERS></PARAMETERS></CALL_INFO></HOOK_MESSAGE>",
        "<HOOK_MESSAGE><CALL_INFO><EXTRA><PARAMETERS><PARAMETER><POSITION>2</POSITION>"
        "<TYPE>IN</TYPE><VALUE>5</VALUE></PARAMETER></PARAMETERS></EXTRA></CALL_INFO>"
        "</HOOK_MESSAGE>",
    };
    (void)state;
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        oneib_autofree char *payload = encoded(documents[i]);
        assert_gap("EVENT API one.vn.update 1", payload);
    }
}

static void a_document_cut_in_front_of_its_id_is_a_gap(void **state)
{
    (void)state;
    oneib_autofree char *xml = call_document("IN", "5");
    const size_t id_end = (size_t)(strstr(xml, "<VALUE>5</VALUE>") - xml) + strlen("<VALUE>5");
    for (size_t length = 0; length <= id_end; length++) {
        oneib_autofree char *payload = encoded_n(xml, length);
        assert_gap("EVENT API one.vn.update 1", payload);
    }
}

static void an_answer_cut_anywhere_is_a_gap(void **state)
{
    (void)state;
    oneib_autofree char *xml = call_document("OUT", "5");
    for (size_t length = 0; length < strlen(xml); length++) {
        oneib_autofree char *payload = encoded_n(xml, length);
        assert_gap("EVENT API one.vn.allocate 1", payload);
    }
}

static void what_users_wrote_is_passed_over(void **state)
{
    struct oneib_text text = {0};
    (void)state;
    oneib_autofree char *xml = call_document("IN", "5");
    char *rest = strstr(xml, "</EXTRA>");
    oneib_text_printf(&text, "%.*s<VNET><TEMPLATE><A><![CDATA[", (int)(rest - xml), xml);
    for (size_t i = 0; i < 100000; i++)
        oneib_text_append(&text, "<PARAMETER>0123456789&&");
    oneib_text_printf(&text, "]]></A></TEMPLATE></VNET>%s", rest);
    oneib_autofree char *payload = encoded_n(text.data, text.length);
    assert_event_of("EVENT API one.vn.update 1", payload, ONEIB_EVENT_NETWORK, 5);
    oneib_text_clear(&text);
}

/* As long as the stream lets through: base64, one long text, deep nesting. */
static void long_payloads_are_gaps(void **state)
{
    (void)state;
    size_t length = ONEIB_EVENT_SIZE_MAX / 4 * 3;
    char *xml = malloc(length);
    assert_non_null(xml);
    memset(xml, 'a', length);
    memcpy(xml, "<HOOK_MESSAGE>", 14);
    oneib_autofree char *text = encoded_n(xml, length);
    assert_gap("EVENT API one.vn.update 1", text);
    for (size_t i = 0; i + 14 <= length; i += 14)
        memcpy(xml + i, "<HOOK_MESSAGE>", 14);
    oneib_autofree char *nested = encoded_n(xml, length);
    assert_gap("EVENT API one.vn.update 1", nested);
    free(xml);
}

static void a_payload_over_the_limit_is_not_even_decoded(void **state)
{
    (void)state;
    size_t length = ONEIB_EVENT_SIZE_MAX + 4;
    char *payload = malloc(length);
    assert_non_null(payload);
    memset(payload, 'A', length);
    assert_int_equal(oneib_event_read("EVENT API one.vn.update 1", 25, payload, length).kind,
                     ONEIB_EVENT_GAP);
    free(payload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_recorded_key_is_understood),
        cmocka_unit_test(recorded_calls_name_what_they_made),
        cmocka_unit_test(a_reservation_is_the_network_made_not_the_one_reserved_from),
        cmocka_unit_test(a_failed_call_is_nothing_whatever_it_carries),
        cmocka_unit_test(what_was_not_subscribed_to_is_nothing),
        cmocka_unit_test(monitoring_a_host_is_nothing),
        cmocka_unit_test(states_of_later_releases_are_understood),
        cmocka_unit_test(a_broken_state_is_a_gap),
        cmocka_unit_test(the_highest_id_is_an_id),
        cmocka_unit_test(a_nul_byte_ends_no_key),
        cmocka_unit_test(a_broken_call_is_a_gap),
        cmocka_unit_test(an_id_that_is_none_is_a_gap),
        cmocka_unit_test(of_two_second_parameters_given_the_first_counts),
        cmocka_unit_test(two_second_answers_are_a_gap),
        cmocka_unit_test(markup_that_a_user_wrote_into_a_parameter_changes_nothing),
        cmocka_unit_test(what_is_not_base64_is_a_gap),
        cmocka_unit_test(what_is_not_the_document_is_a_gap),
        cmocka_unit_test(a_document_cut_in_front_of_its_id_is_a_gap),
        cmocka_unit_test(an_answer_cut_anywhere_is_a_gap),
        cmocka_unit_test(what_users_wrote_is_passed_over),
        cmocka_unit_test(long_payloads_are_gaps),
        cmocka_unit_test(a_payload_over_the_limit_is_not_even_decoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
