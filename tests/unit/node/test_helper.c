// SPDX-License-Identifier: Apache-2.0
/* A script stands in for oneib-vf: it notes its arguments, one in brackets after another. */
#include "node/helper.h"
#include "scratch.h"

static struct oneib_config config;
static struct oneib_error err;
static char script_path[512];
static char *helper[3];

static const struct oneib_pci vfs[] = {{.bus = 0x81, .function = 1}, {.bus = 0x81, .slot = 31}};

#define RECORD(vm, nic)                                                                            \
    "vf=0000:81:00.1 device=mlx4_0 index=0 port=1 vm=" vm " nic=" nic " network=0 site=0 pkey=0x0005 "       \
    "membership=full stage=open guid=set owner=0:0 domain=no since=7"

static int begin(void **state)
{
    if (make_scratch(state) < 0)
        return -1;
    snprintf(script_path, sizeof script_path, "%s", in_scratch("stand-in"));
    helper[0] = script_path;
    helper[1] = helper[2] = NULL;
    err = (struct oneib_error){0};
    config = (struct oneib_config){0};
    config.node.helper = helper;
    config.node.pkey_wait_ms = config.node.guid_wait_ms = 1000;
    return 0;
}

static void answer(const char *commands)
{
    char script[2048];
    snprintf(script, sizeof script, "#!/bin/sh\nprintf '[%%s]' \"$@\" >>'%s'\n%s\n",
             in_scratch("calls"), commands);
    write_scratch("stand-in", script, 0755);
}

static struct oneib_assignment assignment_of_nic_1(void)
{
    return (struct oneib_assignment){.vm_id = 42, .nic_id = 1, .pkey = 5, .numa_node = -1};
}

static int assign(const struct oneib_assignment *assignment, struct oneib_vf_record *record)
{
    return oneib_helper_assign(&config, assignment, record, &err);
}

static void assert_told(const char *words)
{
    if (!strstr(err.text, words))
        fail_msg("\"%s\" is not in: %s", words, err.text);
}

static void an_assignment_becomes_arguments(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct oneib_assignment assignment = assignment_of_nic_1();
    answer("echo '" RECORD("42", "1") "'");
    assert_int_equal(assign(&assignment, &record), 0);
    assert_string_equal(read_scratch("calls"), "[assign][--vm][42][--nic][1][--pkey][0x0005]");
    assert_int_equal(record.stage, ONEIB_VF_OPEN);
    assert_int_equal(record.pkey, 5);
}

static void all_that_an_assignment_can_say_is_said(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct oneib_assignment assignment = assignment_of_nic_1();
    assignment.pkey = 0;
    assignment.limited = assignment.has_vf = assignment.defer_guid = true;
    strcpy(assignment.device, "mlx4_0");
    assignment.port = 2;
    assignment.vf = vfs[0];
    assignment.numa_node = 3;
    assignment.in_use = vfs;
    assignment.in_use_count = 2;
    answer("echo '" RECORD("42", "1") "'");
    assert_int_equal(assign(&assignment, &record), 0);
    assert_string_equal(read_scratch("calls"),
                        "[assign][--vm][42][--nic][1][--no-pkey][--limited][--device][mlx4_0:2]"
                        "[--vf][0000:81:00.1][--numa][3][--defer-guid][--in-use][0000:81:00.1]"
                        "[--in-use][0000:81:1f.0]");
}

static void a_device_without_a_port_is_said_without_one(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct oneib_assignment assignment = assignment_of_nic_1();
    strcpy(assignment.device, "mlx5_1");
    answer("echo '" RECORD("42", "1") "'");
    assert_int_equal(assign(&assignment, &record), 0);
    assert_non_null(strstr(read_scratch("calls"), "[--device][mlx5_1]"));
}

static void words_of_the_configuration_come_first(void **state)
{
    (void)state;
    char word[] = "a b;c";
    helper[1] = word;
    answer("");
    assert_int_equal(oneib_helper_release(&config, 42, -1, &err), 0);
    assert_string_equal(read_scratch("calls"), "[a b;c][release][--vm][42]");
}

static void releases_become_arguments(void **state)
{
    (void)state;
    answer("echo released 1");
    assert_int_equal(oneib_helper_release(&config, 42, 0, &err), 0);
    assert_int_equal(oneib_helper_release_vf(&config, &vfs[0], 42, &vfs[1], 1, &err), 0);
    assert_string_equal(read_scratch("calls"),
                        "[release][--vm][42][--nic][0]"
                        "[release][--vm][42][--vf][0000:81:00.1][--in-use][0000:81:1f.0]");
}

static void a_refusal_keeps_its_words(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct oneib_assignment assignment = assignment_of_nic_1();
    answer("echo 'oneib-vf: mlx4_0 has no free \"virtual\" function' >&2; exit 3");
    assert_int_equal(assign(&assignment, &record), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_string_equal(err.text, "mlx4_0 has no free \"virtual\" function");
}

static void what_stands_around_its_words_is_left_out(void **state)
{
    (void)state;
    answer("echo 'some library: hm' >&2; echo 'oneib-vf: no' >&2; echo more >&2; exit 3");
    assert_int_equal(oneib_helper_release(&config, 42, -1, &err), -1);
    assert_string_equal(err.text, "no");
}

static void when_it_cannot_be_called_the_remedy_is_told(void **state)
{
    (void)state;
    answer("echo 'sudo: a password is required' >&2; exit 1");
    assert_int_equal(oneib_helper_release(&config, 42, -1, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
    assert_told("exit status 1, \"sudo: a password is required");
    assert_told("install.sh --node");
}

static void a_missing_helper_is_told(void **state)
{
    (void)state;
    assert_int_equal(oneib_helper_release(&config, 42, -1, &err), -1);
    assert_told("calling oneib-vf: running ");
    assert_told("No such file");
}

static void an_answer_that_is_no_record_is_an_error(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct oneib_assignment assignment = assignment_of_nic_1();
    answer("echo hello");
    assert_int_equal(assign(&assignment, &record), -1);
    assert_told("reading what oneib-vf printed");
    answer("");
    err = (struct oneib_error){0};
    assert_int_equal(assign(&assignment, &record), -1);
    assert_told("reading what oneib-vf printed");
}

static void an_answer_for_another_nic_is_an_error(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct oneib_assignment assignment = assignment_of_nic_1();
    answer("echo '" RECORD("43", "1") "'");
    assert_int_equal(assign(&assignment, &record), -1);
    assert_int_equal(err.code, ONEIB_ERROR_PROTOCOL);
    assert_told("answered for VM 43 NIC 1 instead of VM 42 NIC 1");
}

static void four_thousand_vfs_in_use_are_passed_on(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct oneib_assignment assignment = assignment_of_nic_1();
    struct oneib_pci *many = calloc(ONEIB_VF_RECORDS_MAX, sizeof *many);
    assert_non_null(many);
    for (unsigned i = 0; i < ONEIB_VF_RECORDS_MAX; i++)
        many[i] =
            (struct oneib_pci){.bus = (uint8_t)(i >> 8), .slot = i >> 3 & 31, .function = i & 7};
    assignment.in_use = many;
    assignment.in_use_count = ONEIB_VF_RECORDS_MAX;
    answer("[ $# = 8199 ] && echo '" RECORD("42", "1") "'");
    assert_int_equal(assign(&assignment, &record), 0);
    free(many);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, remove_scratch)
    const struct CMUnitTest tests[] = {
        TEST(an_assignment_becomes_arguments),
        TEST(all_that_an_assignment_can_say_is_said),
        TEST(a_device_without_a_port_is_said_without_one),
        TEST(words_of_the_configuration_come_first),
        TEST(releases_become_arguments),
        TEST(a_refusal_keeps_its_words),
        TEST(what_stands_around_its_words_is_left_out),
        TEST(when_it_cannot_be_called_the_remedy_is_told),
        TEST(a_missing_helper_is_told),
        TEST(an_answer_that_is_no_record_is_an_error),
        TEST(an_answer_for_another_nic_is_an_error),
        TEST(four_thousand_vfs_in_use_are_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
