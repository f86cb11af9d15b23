// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"
#include "base/stamp.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[] = "/tmp/oneib-test-XXXXXX";
static char path[64];

static int make_directory(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof path, "%s/file", directory);
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(directory);
}

static void put(const char *text)
{
    struct oneib_error err;
    assert_int_equal(oneib_file_replace(path, text, strlen(text), 0644, NULL, NULL, &err), 0);
}

static void a_file_that_nobody_touched_is_the_same(void **state)
{
    (void)state;
    put("one");
    const struct oneib_stamp before = oneib_stamp_of(path), after = oneib_stamp_of(path);
    assert_true(before.exists);
    assert_true(oneib_stamp_equal(&before, &after));
}

static void a_file_replaced_by_equal_bytes_is_another(void **state)
{
    (void)state;
    put("one");
    const struct oneib_stamp before = oneib_stamp_of(path);
    put("one");
    const struct oneib_stamp after = oneib_stamp_of(path);
    assert_false(oneib_stamp_equal(&before, &after));
}

static void a_file_written_in_place_is_another_even_if_its_times_are_set_back(void **state)
{
    (void)state;
    put("one");
    const struct oneib_stamp before = oneib_stamp_of(path);
    const int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "two", 3, 0), 3);
    const struct timespec times[2] = {before.modified, before.modified};
    usleep(20000);
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
    const struct oneib_stamp after = oneib_stamp_of(path);
    assert_false(oneib_stamp_equal(&before, &after));
}

static void a_file_that_is_gone_differs_from_one_that_is_there(void **state)
{
    (void)state;
    put("one");
    const struct oneib_stamp before = oneib_stamp_of(path);
    unlink(path);
    const struct oneib_stamp gone = oneib_stamp_of(path), still = oneib_stamp_of(path);
    assert_false(gone.exists);
    assert_false(oneib_stamp_equal(&before, &gone));
    assert_true(oneib_stamp_equal(&gone, &still));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_nobody_touched_is_the_same),
        cmocka_unit_test(a_file_replaced_by_equal_bytes_is_another),
        cmocka_unit_test(a_file_written_in_place_is_another_even_if_its_times_are_set_back),
        cmocka_unit_test(a_file_that_is_gone_differs_from_one_that_is_there),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
