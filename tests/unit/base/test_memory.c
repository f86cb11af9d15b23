// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* AddressSanitizer asks for it: here an allocation that fails is what is tested, not a fault. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

/* Reads what is written until the end; NUL terminated. */
static void read_all(int fd, char *text, size_t size)
{
    size_t length = 0;
    for (ssize_t got; (got = read(fd, text + length, size - 1 - length)) > 0;)
        length += (size_t)got;
    text[length] = '\0';
}

/* A process of its own does it: it says so, and goes no further. */
static void assert_ends_the_process(void (*act)(void))
{
    int ends[2], status;
    char said[200];
    assert_return_code(pipe(ends), 0);
    const pid_t pid = fork();
    assert_return_code(pid, 0);
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        act();
        _exit(0);
    }
    close(ends[1]);
    read_all(ends[0], said, sizeof said);
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 3);
    /* A sanitizer may have said before what it refuses. */
    assert_non_null(strstr(said, "oneib: out of memory\n"));
}

static volatile size_t too_much = SIZE_MAX / 4;

static void allocate(void)
{
    free(oneib_alloc(too_much, 2));
}

static void allocate_more_than_a_size_can_say(void)
{
    free(oneib_alloc(too_much, 16));
}

static void reallocate(void)
{
    free(oneib_realloc(NULL, too_much, 2));
}

static void reallocate_more_than_a_size_can_say(void)
{
    free(oneib_realloc(NULL, too_much, 16));
}

static void grow_an_array(void)
{
    char *items = NULL;
    size_t capacity = 0;
    oneib_grow(&items, &capacity, too_much * 2, 8);
}

static void grow_an_array_to_what_doubling_does_not_reach(void)
{
    char *items = NULL;
    size_t capacity = 0;
    oneib_grow(&items, &capacity, SIZE_MAX, 1);
}

static void grow_a_text(void)
{
    struct oneib_text text = {0};
    oneib_text_append(&text, "x");
    oneib_text_append_bytes(&text, "x", SIZE_MAX - 1);
}

static void take_nothing_from_another_library(void)
{
    oneib_allocated(NULL);
}

static void who_has_no_memory_says_so_and_ends(void **state)
{
    (void)state;
    assert_ends_the_process(allocate);
    assert_ends_the_process(allocate_more_than_a_size_can_say);
    assert_ends_the_process(reallocate);
    assert_ends_the_process(reallocate_more_than_a_size_can_say);
    assert_ends_the_process(grow_an_array);
    assert_ends_the_process(grow_an_array_to_what_doubling_does_not_reach);
    assert_ends_the_process(grow_a_text);
    assert_ends_the_process(take_nothing_from_another_library);
}

static void new_memory_is_zero_and_none_is_memory_too(void **state)
{
    (void)state;
    uint64_t *items = oneib_alloc(100, sizeof *items);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(items[i], 0);
    free(items);
    void *nothing = oneib_alloc(0, 8);
    assert_non_null(nothing);
    nothing = oneib_realloc(nothing, 0, 8);
    assert_non_null(nothing);
    free(nothing);
}

static void texts_are_copied_and_made(void **state)
{
    (void)state;
    char *whole = oneib_strdup("partition"), *part = oneib_strndup("partition", 4);
    char *made = oneib_asprintf("%s %d", part, 7);
    assert_string_equal(whole, "partition");
    assert_string_equal(part, "part");
    assert_string_equal(made, "part 7");
    assert_ptr_equal(oneib_allocated(whole), whole);
    free(whole);
    free(part);
    free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_has_no_memory_says_so_and_ends),
        cmocka_unit_test(new_memory_is_zero_and_none_is_memory_too),
        cmocka_unit_test(texts_are_copied_and_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
