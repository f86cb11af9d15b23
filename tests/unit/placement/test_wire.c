// SPDX-License-Identifier: Apache-2.0
/* The scheduler's message in base64: what comes goes on to the letter, or is written anew. */
#include "base/base64.h"
#include "base/memory_file.h"
#include "placement/wire.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Longer than what is read or encoded at once. */
#define LONG 200001u

static struct oneib_error err;

static struct oneib_wire read_wire(const char *text, size_t length)
{
    struct oneib_wire wire;
    const int fd = oneib_memory_file(text, length);
    assert_true(fd >= 0);
    if (oneib_wire_read(fd, SIZE_MAX, &wire, &err) < 0)
        fail_msg("%s", err.text);
    close(fd);
    return wire;
}

/* Freed by the caller. */
static char *read_back(int fd, size_t *length)
{
    *length = (size_t)lseek(fd, 0, SEEK_END);
    char *text = calloc(*length + 1, 1);
    assert_non_null(text);
    assert_int_equal(pread(fd, text, *length, 0), *length);
    close(fd);
    return text;
}

static void passes_to_the_letter(const struct oneib_wire *wire, const char *text, size_t length)
{
    size_t passed;
    const int fd = oneib_memory_file("", 0);
    assert_int_equal(oneib_wire_pass(wire, fd, &err), 0);
    char *seen = read_back(fd, &passed);
    assert_int_equal(passed, length);
    assert_memory_equal(seen, text, length);
    free(seen);
}

static void must_decode(const char *text, const char *bytes, size_t length)
{
    struct oneib_wire wire = read_wire(text, strlen(text));
    if (oneib_wire_decode(&wire, &err) < 0)
        fail_msg("\"%s\": %s", text, err.text);
    assert_int_equal(wire.xml.length, length);
    assert_memory_equal(wire.xml.data, bytes, length);
    passes_to_the_letter(&wire, text, strlen(text));
    oneib_wire_clear(&wire);
}

static char *pattern(size_t length)
{
    char *bytes = malloc(length + 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < length; i++)
        bytes[i] = (char)(i * 7 + i / 251);
    return bytes;
}

static void what_comes_is_decoded_and_goes_on_to_the_letter(void **state)
{
    (void)state;
    must_decode("Zm9vYmFy", "foobar", 6);
    must_decode("Zm9vYmE=", "fooba", 5);
    must_decode("Zm9vYg==\n", "foob", 4);
    must_decode("Zm9vYmFy\r\n", "foobar", 6);
    must_decode("Zm9v\nYmFy\n", "foobar", 6);
    must_decode("\nZg==", "f", 1);
}

/* The last bits of its last character are no byte's: encoded anew they would be zero. */
static void bits_that_no_byte_has_go_on_too(void **state)
{
    (void)state;
    must_decode("Zm9vYh==", "foob", 4);
}

static void long_messages_of_any_length_are_decoded(void **state)
{
    (void)state;
    for (size_t length = LONG; length < LONG + 3; length++) {
        size_t encoded;
        char *bytes = pattern(length), *text = oneib_base64_encode(bytes, length, &encoded);
        must_decode(text, bytes, length);
        free(bytes);
        free(text);
    }
}

static void what_is_no_base64_is_refused_and_goes_on_to_the_letter(void **state)
{
    (void)state;
    static const char *const cases[] = {"",          "?",        "Zm9",       "Zm9v?",
                                        "Zm9vZg==Z", "Zm9v\xff", "Zm9vZm9vZ", "\n"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oneib_wire wire = read_wire(cases[i], strlen(cases[i]));
        assert_int_equal(oneib_wire_decode(&wire, &err), -1);
        assert_int_equal(err.code, ONEIB_ERROR_INPUT);
        passes_to_the_letter(&wire, cases[i], strlen(cases[i]));
        oneib_wire_clear(&wire);
    }
}

/* A pipe gives what is there: here a byte at a time. */
static void a_message_that_comes_in_drops_is_the_same(void **state)
{
    (void)state;
    static const char text[] = "Zm9vYmFyZm9vYg==\n";
    int ends[2];
    struct oneib_wire wire;
    assert_int_equal(pipe(ends), 0);
    const pid_t writer = fork();
    if (writer == 0) {
        for (size_t i = 0; i < strlen(text); i++) {
            if (write(ends[1], text + i, 1) != 1)
                _exit(1);
            usleep(1000);
        }
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(oneib_wire_read(ends[0], SIZE_MAX, &wire, &err), 0);
    close(ends[0]);
    passes_to_the_letter(&wire, text, strlen(text));
    assert_int_equal(oneib_wire_decode(&wire, &err), 0);
    assert_memory_equal(wire.xml.data, "foobarfoob", 10);
    oneib_wire_clear(&wire);
}

static void what_is_larger_than_allowed_is_refused(void **state)
{
    (void)state;
    struct oneib_wire wire;
    for (size_t max = 7; max < 9; max++) {
        const int fd = oneib_memory_file("Zm9vYmFy", 8);
        assert_int_equal(oneib_wire_read(fd, max, &wire, &err), max < 8 ? -1 : 0);
        oneib_wire_clear(&wire);
        close(fd);
    }
}

/* Pieces meet anywhere, also within a group of three bytes and at the end of what is encoded at
 * once. */
static void pieces_of_any_length_are_written_as_one(void **state)
{
    (void)state;
    char *bytes = pattern(LONG);
    struct oneib_sched_piece items[] = {
        {bytes, 1}, {bytes + 1, 49150}, {bytes + 49151, 0}, {bytes + 49151, LONG - 49151}};
    const struct oneib_sched_pieces pieces = {.items = items, .count = 4};
    size_t encoded, written;
    char *text = oneib_base64_encode(bytes, LONG, &encoded);
    const int fd = oneib_memory_file("", 0);
    assert_int_equal(oneib_wire_write(&pieces, fd, &err), 0);
    char *seen = read_back(fd, &written);
    assert_int_equal(written, encoded);
    assert_memory_equal(seen, text, encoded);
    free(seen);
    free(text);
    free(bytes);
}

static void what_cannot_be_written_is_an_error(void **state)
{
    (void)state;
    struct oneib_wire wire = read_wire("Zm9v", 4);
    assert_int_equal(oneib_wire_pass(&wire, -1, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_SYSTEM);
    oneib_wire_clear(&wire);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_is_decoded_and_goes_on_to_the_letter),
        cmocka_unit_test(bits_that_no_byte_has_go_on_too),
        cmocka_unit_test(long_messages_of_any_length_are_decoded),
        cmocka_unit_test(what_is_no_base64_is_refused_and_goes_on_to_the_letter),
        cmocka_unit_test(a_message_that_comes_in_drops_is_the_same),
        cmocka_unit_test(what_is_larger_than_allowed_is_refused),
        cmocka_unit_test(pieces_of_any_length_are_written_as_one),
        cmocka_unit_test(what_cannot_be_written_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
