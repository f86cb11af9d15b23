// SPDX-License-Identifier: Apache-2.0
/* What OpenNebula 6.10's scheduler asks, and what it is answered. The texts are written from its
 * sources (VirtualMachineXML::to_json, nlohmann's dump). */
#include "placement/question.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CAPACITY "{\"CAPACITY\":{\"CPU\":1.0,\"DISK_SIZE\":2252,\"MEMORY\":131072}"
#define ATTRIBUTES "\"VM_ATTRIBUTES\":{\"NAME\":\"a \\\"]}\"}}"
#define PENDING(id, hosts)                                                                         \
    CAPACITY ",\"HOST_IDS\":[" hosts "],\"ID\":" id ",\"STATE\":\"PENDING\"," ATTRIBUTES
#define RUNNING(id, hosts)                                                                         \
    CAPACITY ",\"HOST_ID\":3,\"HOST_IDS\":[" hosts "],\"ID\":" id                                  \
             ",\"STATE\":\"ACTIVE\"," ATTRIBUTES
#define QUESTION(vms) "{\"VMS\":[" vms "]}"

static struct oneib_error err;

static struct oneib_sched_message read_question(const char *json)
{
    struct oneib_sched_message message;
    if (oneib_question_read(json, strlen(json), &message, &err) < 0)
        fail_msg("%s", err.text);
    return message;
}

static void must_have(const struct oneib_sched_message *message, size_t index, uint32_t vm,
                      const uint32_t *hosts, size_t count)
{
    uint32_t id;
    size_t at = 0;
    assert_true(index < message->requirement_count);
    assert_int_equal(message->requirements[index].vm_id, vm);
    for (size_t i = 0; i < count; i++) {
        assert_true(oneib_requirement_next(&message->requirements[index], &at, &id));
        assert_int_equal(id, hosts[i]);
    }
    assert_false(oneib_requirement_next(&message->requirements[index], &at, &id));
}

static void who_waits_may_go_to_these_hosts(void **state)
{
    (void)state;
    struct oneib_sched_message message =
        read_question(QUESTION(PENDING("7", "4,0,11") "," PENDING("8", "") "," PENDING("9", "0")));
    assert_int_equal(message.requirement_count, 3);
    must_have(&message, 0, 7, (const uint32_t[]){0, 4, 11}, 3);
    must_have(&message, 1, 8, NULL, 0);
    must_have(&message, 2, 9, (const uint32_t[]){0}, 1);
    oneib_sched_message_clear(&message);
}

static void who_runs_and_is_to_be_moved_is_opennebulas(void **state)
{
    (void)state;
    struct oneib_sched_message message =
        read_question(QUESTION(RUNNING("7", "4") "," PENDING("8", "4")));
    assert_int_equal(message.requirement_count, 1);
    must_have(&message, 0, 8, (const uint32_t[]){4}, 1);
    oneib_sched_message_clear(&message);
}

static void nobody_waits_where_it_asks_nothing(void **state)
{
    (void)state;
    struct oneib_sched_message message = read_question("null");
    assert_int_equal(message.requirement_count, 0);
    oneib_sched_message_clear(&message);
}

static void must_be_refused(const char *json, size_t length)
{
    struct oneib_sched_message message;
    char *copy = malloc(length + 1);
    assert_non_null(copy);
    memcpy(copy, json, length);
    if (oneib_question_read(copy, length, &message, &err) == 0)
        fail_msg("taken: %.*s", (int)length, json);
    assert_int_equal(err.code, ONEIB_ERROR_PROTOCOL);
    assert_null(message.requirements);
    free(copy);
}

static void a_question_that_is_cut_anywhere_is_refused(void **state)
{
    (void)state;
    const char *json = QUESTION(PENDING("7", "4,0") "," RUNNING("8", "0"));
    for (size_t length = 0; length < strlen(json); length++)
        must_be_refused(json, length);
}

static void what_is_not_as_it_asks_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "nonsense",
        "[]",
        "{}",
        "nulls",
        "null ",
        QUESTION(""),
        QUESTION(PENDING("7", "4")) "x",
        QUESTION(PENDING("7", "4") ","),
        QUESTION(PENDING("7", "4") PENDING("8", "4")),
        QUESTION(PENDING("8", "4") "," PENDING("7", "4")),
        QUESTION(PENDING("7", "4") "," PENDING("7", "4")),
        QUESTION(PENDING("-7", "4")),
        QUESTION(PENDING("2147483648", "4")),
        QUESTION(PENDING("99999999999999999999", "4")),
        QUESTION(PENDING("7.0", "4")),
        QUESTION(PENDING("\"7\"", "4")),
        QUESTION(PENDING("7", "-1")),
        QUESTION(PENDING("7", "4.0")),
        QUESTION(PENDING("7", "\"4\"")),
        QUESTION(PENDING("7", "[4]")),
        QUESTION("7"),
        QUESTION("[]"),
        QUESTION("{\"ID\":7,\"HOST_IDS\":[4]}"),
        QUESTION("{\"ID\":7,\"STATE\":\"PENDING\"}"),
        QUESTION("{\"ID\":7,\"STATE\":\"PENDING\",\"HOST_IDS\":{}}"),
        QUESTION("{\"ID\":7,\"ID\":8,\"STATE\":\"PENDING\",\"HOST_IDS\":[4]}"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        must_be_refused(cases[i], strlen(cases[i]));
}

/* jansson takes much more memory than the text. */
static void a_vm_of_more_than_a_mebibyte_is_refused(void **state)
{
    (void)state;
    struct oneib_text text = {0};
    oneib_text_append(&text, "{\"VMS\":[{\"ID\":7,\"STATE\":\"PENDING\",\"HOST_IDS\":[1");
    while (text.length < (size_t)2 << 20)
        oneib_text_append(&text, ",1");
    oneib_text_append(&text, "]}]}");
    must_be_refused(text.data, text.length);
    oneib_text_clear(&text);
}

/* ---- answers --------------------------------------------------------------------------------- */

static struct oneib_open_host hosts[] = {{.id = 4}, {.id = 11}};

static void must_be_answered(struct oneib_waiting_vm *vms, size_t count, const char *wanted)
{
    const struct oneib_window window = {
        .hosts = hosts, .host_count = 2, .vms = vms, .vm_count = count};
    struct oneib_text text = {0};
    oneib_answer_write(&window, &text);
    assert_string_equal(text.data, wanted);
    oneib_text_clear(&text);
}

static void each_vm_gets_the_host_that_is_meant_for_it(void **state)
{
    (void)state;
    struct oneib_waiting_vm vms[] = {{.id = 7, .meant = 1}, {.id = 9, .meant = 0}};
    must_be_answered(vms, 2, "{\"VMS\":[{\"ID\":7,\"HOST_ID\":11},{\"ID\":9,\"HOST_ID\":4}]}");
    must_be_answered(NULL, 0, "{\"VMS\":[]}");
}

static void whom_nothing_is_meant_for_or_who_may_go_anywhere_is_left_out(void **state)
{
    (void)state;
    struct oneib_waiting_vm vms[] = {{.id = 7, .meant = ONEIB_NO_HOST},
                                     {.id = 8, .meant = 0, .has_waited = true},
                                     {.id = 9, .meant = 0}};
    must_be_answered(vms, 3, "{\"VMS\":[{\"ID\":9,\"HOST_ID\":4}]}");
    must_be_answered(vms, 2, "{\"VMS\":[]}");
}

/* OpenNebula's client keeps the last piece of a longer one. */
static void a_long_answer_is_cut_to_whole_vms(void **state)
{
    (void)state;
    static struct oneib_waiting_vm vms[2000];
    struct oneib_text text = {0};
    for (uint32_t i = 0; i < 2000; i++)
        vms[i] = (struct oneib_waiting_vm){.id = 1000000 + i, .meant = i % 2};
    const struct oneib_window window = {
        .hosts = hosts, .host_count = 2, .vms = vms, .vm_count = 2000};
    oneib_answer_write(&window, &text);
    assert_true(text.length <= ONEIB_ANSWER_MAX);
    assert_true(text.length > ONEIB_ANSWER_MAX - 64);
    assert_string_equal(text.data + text.length - 3, "}]}");
    oneib_text_clear(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_may_go_to_these_hosts),
        cmocka_unit_test(who_runs_and_is_to_be_moved_is_opennebulas),
        cmocka_unit_test(nobody_waits_where_it_asks_nothing),
        cmocka_unit_test(a_question_that_is_cut_anywhere_is_refused),
        cmocka_unit_test(what_is_not_as_it_asks_is_refused),
        cmocka_unit_test(a_vm_of_more_than_a_mebibyte_is_refused),
        cmocka_unit_test(each_vm_gets_the_host_that_is_meant_for_it),
        cmocka_unit_test(whom_nothing_is_meant_for_or_who_may_go_anywhere_is_left_out),
        cmocka_unit_test(a_long_answer_is_cut_to_whole_vms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
