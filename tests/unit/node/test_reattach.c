// SPDX-License-Identifier: Apache-2.0
/* Calling the program that plugs VFs in, with scripts that stand in for it. */
#include "base/clock.h"
#include "node/start_reattach.h"
#include "scratch.h"

static struct oneib_error err;

static int call(const char *script, const char *document, uint32_t timeout_ms)
{
    err = (struct oneib_error){0};
    write_scratch("reattach", script, 0755);
    return oneib_reattach_by(in_scratch("reattach"), 42, document, document ? strlen(document) : 0,
                             timeout_ms, &err);
}

static void assert_told(const char *words)
{
    if (!strstr(err.text, words))
        fail_msg("\"%s\" is not in: %s", words, err.text);
}

static void it_is_told_the_vm_and_its_document(void **state)
{
    (void)state;
    char script[1024];
    snprintf(script, sizeof script, "#!/bin/sh\n{ echo \"$*\"; cat; } > '%s'\n",
             in_scratch("seen"));
    assert_int_equal(call(script, "<VM/>", 10000), 0);
    assert_string_equal(read_scratch("seen"), "reattach 42\n<VM/>");
    assert_int_equal(call(script, NULL, 10000), 0);
    assert_string_equal(read_scratch("seen"), "reattach 42\n");
    assert_int_equal(err.code, ONEIB_ERROR_NONE);
}

static void its_refusal_is_told_in_its_own_words(void **state)
{
    (void)state;
    assert_int_equal(
        call("#!/bin/sh\nprintf 'WARN: a\\nVM 42 NIC 1: no\\033[2J\\n' >&2; exit 1\n", NULL, 10000),
        -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_string_equal(err.text, "VM 42 NIC 1: no\\x1b[2J");
}

static void one_that_says_nothing_is_told_by_its_exit_status(void **state)
{
    (void)state;
    assert_int_equal(call("#!/bin/sh\nexit 7\n", NULL, 10000), -1);
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
    assert_told("vmm/driver failed with exit status 7");
}

static void one_that_is_not_there_is_told_with_its_fix(void **state)
{
    (void)state;
    err = (struct oneib_error){0};
    assert_int_equal(oneib_reattach_by(in_scratch("nothing"), 42, NULL, 0, 10000, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
    assert_told("'install.sh --node' installs it");
    assert_told("nothing");
}

static void one_that_hangs_is_ended(void **state)
{
    (void)state;
    const double began = oneib_now_ms();
    assert_int_equal(call("#!/bin/sh\nexec sleep 60\n", NULL, 300), -1);
    assert_int_equal(err.code, ONEIB_ERROR_TIMEOUT);
    assert_true(oneib_now_ms() - began < 30000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_told_the_vm_and_its_document),
        cmocka_unit_test(its_refusal_is_told_in_its_own_words),
        cmocka_unit_test(one_that_says_nothing_is_told_by_its_exit_status),
        cmocka_unit_test(one_that_is_not_there_is_told_with_its_fix),
        cmocka_unit_test(one_that_hangs_is_ended),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
