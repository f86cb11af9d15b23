// SPDX-License-Identifier: Apache-2.0
/* Keys, where they are kept, and signatures. */
#include "base/file.h"
#include "grants/seal.h"
#include "played_node.h"
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MACHINE "0123456789abcdef0123456789abcdef"
#define OTHER_MACHINE "0123456789abcdef0123456789abcdee"

static char directory[64], path[96];
static struct oneib_curve_pair pair, again;
static struct oneib_sign_pair sign, sign_again;
static bool made;
static struct oneib_error err;

static int make_directory(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/oneib-seal-XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/key", directory);
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(directory);
}

static void write_file(const char *text, mode_t mode)
{
    assert_int_equal(oneib_file_replace(path, text, strlen(text), mode, NULL, NULL, &err), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static char *read_file(void)
{
    char *text;
    size_t length;
    assert_int_equal(oneib_file_read(path, 4096, &text, &length, &err), 0);
    return text;
}

static mode_t mode_of_file(void)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 07777;
}

/* ---- signatures ------------------------------------------------------------------------------ */

static void what_was_signed_is_told_from_all_else(void **state)
{
    (void)state;
    uint8_t bytes[100 + ONEIB_SEAL_SIZE + 1];
    size_t inner = 0;
    sign = played_sign_pair();
    sign_again = played_sign_pair();
    memset(bytes, 7, sizeof bytes);
    const size_t length = oneib_seal(&sign, bytes, 100);
    assert_int_equal(length, 100 + ONEIB_SEAL_SIZE);
    assert_true(oneib_unseal(sign.public, bytes, length, &inner));
    assert_int_equal(inner, 100);
    assert_false(oneib_unseal(sign_again.public, bytes, length, &inner));
    for (size_t i = 0; i < length; i++) {
        bytes[i] ^= 1;
        assert_false(oneib_unseal(sign.public, bytes, length, &inner));
        bytes[i] ^= 1;
    }
    for (size_t shorter = 0; shorter < length; shorter++)
        assert_false(oneib_unseal(sign.public, bytes, shorter, &inner));
    assert_false(oneib_unseal(sign.public, bytes, length + 1, &inner));
    assert_true(oneib_unseal(sign.public, bytes, oneib_seal(&sign, bytes, 0), &inner));
    assert_int_equal(inner, 0);
}

/* So that it is no message's: those begin with their version. */
static void the_seal_of_a_hosts_keys_is_of_its_purpose_the_host_and_each_key(void **state)
{
    (void)state;
    static const char signed_bytes[] = "oneib IB_KEYS 2\0\x01\x02\x03\x04"
                                       "\0\0\0\0\0\0\x01\x02\x01\x00\x7f\xfe";
    static const oneib_pkey keys[] = {0x100, 0x7ffe};
    uint8_t bytes[sizeof signed_bytes - 1 + ONEIB_SEAL_SIZE];
    char text[ONEIB_KEYS_SEAL_TEXT_SIZE];
    size_t inner;
    uint64_t serial;
    sign = played_sign_pair();
    oneib_seal_keys(&sign, 0x01020304, 0x102, keys, 2, text);
    assert_memory_equal(text, "0000000000000102", 16);
    memcpy(bytes, signed_bytes, sizeof signed_bytes - 1);
    assert_int_equal(sodium_hex2bin(bytes + sizeof signed_bytes - 1, ONEIB_SEAL_SIZE, text + 16,
                                    strlen(text) - 16, NULL, &inner, NULL),
                     0);
    assert_int_equal(inner, ONEIB_SEAL_SIZE);
    assert_true(oneib_unseal(sign.public, bytes, sizeof bytes, &inner));
    assert_true(oneib_keys_are_sealed(sign.public, 0x01020304, keys, 2, text, &serial));
    assert_int_equal(serial, 0x102);
    assert_false(oneib_keys_are_sealed(sign.public, 0x01020304, keys, 1, text, &serial));
    text[15] = '3'; /* another serial */
    assert_false(oneib_keys_are_sealed(sign.public, 0x01020304, keys, 2, text, &serial));
    text[15] = '2';
    text[strlen(text) - 1] = '\0';
    assert_false(oneib_keys_are_sealed(sign.public, 0x01020304, keys, 2, text, &serial));
}

/* ---- text ------------------------------------------------------------------------------------ */

static void keys_are_64_digits(void **state)
{
    (void)state;
    char text[ONEIB_KEY_TEXT_SIZE];
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE], parsed[ONEIB_PUBLIC_KEY_SIZE] = {0};
    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (uint8_t)(i * 8 + 7);
    oneib_key_format(key, text);
    assert_string_equal(text, "070f171f272f373f474f575f676f777f878f979fa7afb7bfc7cfd7dfe7eff7ff");
    assert_true(oneib_key_parse(text, parsed));
    assert_memory_equal(parsed, key, sizeof key);
    text[63] = 'F';
    assert_true(oneib_key_parse(text, parsed));
    text[63] = 'g';
    assert_false(oneib_key_parse(text, parsed));
    text[63] = '\0';
    assert_false(oneib_key_parse(text, parsed));
    assert_false(oneib_key_parse("", parsed));
    memset(text, '0', 64);
    text[64] = '\0';
    assert_false(oneib_key_parse(text, parsed));
    assert_memory_equal(parsed, key, sizeof key);
}

/* ---- a node's -------------------------------------------------------------------------------- */

static void assert_pair_fits(const struct oneib_curve_pair *fitting)
{
    uint8_t public[ONEIB_PUBLIC_KEY_SIZE];
    assert_int_equal(crypto_scalarmult_base(public, fitting->secret), 0);
    assert_memory_equal(public, fitting->public, sizeof public);
}

static void node_pair(const char *machine, struct oneib_curve_pair *into)
{
    if (oneib_node_pair(path, machine, into, &made, &err) < 0)
        fail_msg("%s", err.text);
}

static void a_nodes_pair_is_made_once(void **state)
{
    (void)state;
    node_pair(MACHINE, &pair);
    assert_true(made);
    assert_pair_fits(&pair);
    assert_int_equal(mode_of_file(), 0600);
    node_pair(MACHINE, &again);
    assert_false(made);
    assert_memory_equal(&again, &pair, sizeof pair);
}

static void a_cloned_machine_makes_its_own(void **state)
{
    (void)state;
    node_pair(MACHINE, &pair);
    node_pair(OTHER_MACHINE, &again);
    assert_true(made);
    assert_memory_not_equal(again.public, pair.public, sizeof pair.public);
    node_pair(OTHER_MACHINE, &pair);
    assert_false(made);
    assert_memory_equal(&again, &pair, sizeof pair);
}

static void assert_replaced(const char *text, mode_t mode)
{
    write_file(text, mode);
    node_pair(MACHINE, &again);
    assert_true(made);
    assert_int_equal(mode_of_file(), 0600);
    assert_memory_not_equal(again.public, pair.public, sizeof pair.public);
}

static void a_nodes_file_that_is_damaged_or_no_secret_is_replaced(void **state)
{
    (void)state;
    node_pair(MACHINE, &pair);
    char *text = read_file(), longer[4096];
    write_file(text, 0600);
    node_pair(MACHINE, &again);
    assert_false(made);
    assert_replaced(text, 0640);
    assert_replaced(text, 0604);
    snprintf(longer, sizeof longer, "%s\n", text);
    assert_replaced(longer, 0600);
    snprintf(longer, sizeof longer, "%s%2000d\n", text, 0);
    assert_replaced(longer, 0600);
    assert_replaced("", 0600);
    snprintf(longer, sizeof longer, "%s", text);
    *strstr(longer, "curve=") = 'C';
    assert_replaced(longer, 0600);
    for (size_t length = strlen(text); length-- > 0; length -= length % 7) {
        snprintf(longer, sizeof longer, "%.*s", (int)length, text);
        assert_replaced(longer, 0600);
    }
    free(text);
}

static void without_a_machine_id_there_is_no_pair(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "0123",
                                        MACHINE "0",
                                        "uninitialized",
                                        "00000000000000000000000000000000",
                                        "0123456789abcdef0123456789abcdeg"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(oneib_node_pair(path, wrong[i], &pair, &made, &err), -1);
        assert_int_equal(err.code, ONEIB_ERROR_INPUT);
        assert_int_equal(access(path, F_OK), -1);
    }
}

static void a_pair_that_cannot_be_kept_is_none(void **state)
{
    (void)state;
    char nowhere[128];
    snprintf(nowhere, sizeof nowhere, "%s/nowhere/key", directory);
    assert_int_equal(oneib_node_pair(nowhere, MACHINE, &pair, &made, &err), -1);
    assert_non_null(strstr(err.text, nowhere));
    assert_int_equal(oneib_daemon_pairs(nowhere, &pair, &sign, &made, &err), -1);
}

/* Its path is one through a file. */
static void a_pair_that_cannot_be_looked_for_is_none(void **state)
{
    (void)state;
    char behind[128];
    write_file("", 0600);
    snprintf(behind, sizeof behind, "%s/key", path);
    assert_int_equal(oneib_node_pair(behind, MACHINE, &pair, &made, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_SYSTEM);
    assert_int_equal(oneib_daemon_pairs(behind, &pair, &sign, &made, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_SYSTEM);
}

/* ---- a daemon's ------------------------------------------------------------------------------ */

static void a_daemons_pairs_are_made_once(void **state)
{
    (void)state;
    uint8_t bytes[10 + ONEIB_SEAL_SIZE] = {0};
    size_t inner;
    assert_int_equal(oneib_daemon_pairs(path, &pair, &sign, &made, &err), 0);
    assert_true(made);
    assert_int_equal(mode_of_file(), 0600);
    assert_pair_fits(&pair);
    assert_true(oneib_unseal(sign.public, bytes, oneib_seal(&sign, bytes, 10), &inner));
    assert_int_equal(oneib_daemon_pairs(path, &again, &sign_again, &made, &err), 0);
    assert_false(made);
    assert_memory_equal(&again, &pair, sizeof pair);
    assert_memory_equal(&sign_again, &sign, sizeof sign);
    unlink(path);
    assert_int_equal(oneib_daemon_pairs(path, &again, &sign_again, &made, &err), 0);
    assert_memory_not_equal(&again, &pair, sizeof pair);
    assert_memory_not_equal(&sign_again, &sign, sizeof sign);
}

static void assert_daemon_refused(const char *text, mode_t mode, enum oneib_error_code code)
{
    write_file(text, mode);
    assert_int_equal(oneib_daemon_pairs(path, &again, &sign_again, &made, &err), -1);
    assert_int_equal(err.code, code);
    assert_non_null(strstr(err.text, path));
    char *kept = read_file();
    assert_string_equal(kept, text);
    free(kept);
}

/* All nodes know the old ones: new ones are nothing to be made by the way. */
static void a_daemons_file_that_is_damaged_or_no_secret_is_refused_and_kept(void **state)
{
    (void)state;
    char longer[4096];
    assert_int_equal(oneib_daemon_pairs(path, &pair, &sign, &made, &err), 0);
    char *text = read_file();
    assert_daemon_refused(text, 0640, ONEIB_ERROR_REFUSED);
    assert_daemon_refused(text, 0604, ONEIB_ERROR_REFUSED);
    assert_daemon_refused("", 0600, ONEIB_ERROR_INPUT);
    snprintf(longer, sizeof longer, "%.*s", (int)strlen(text) - 1, text);
    assert_daemon_refused(longer, 0600, ONEIB_ERROR_INPUT);
    snprintf(longer, sizeof longer, "%s", text);
    *strstr(longer, "sign=") = 'S';
    assert_daemon_refused(longer, 0600, ONEIB_ERROR_INPUT);
    snprintf(longer, sizeof longer, "%s#\n", text);
    assert_daemon_refused(longer, 0600, ONEIB_ERROR_INPUT);
    free(text);
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_signed_is_told_from_all_else),
        cmocka_unit_test(the_seal_of_a_hosts_keys_is_of_its_purpose_the_host_and_each_key),
        cmocka_unit_test(keys_are_64_digits),
        IN_DIRECTORY(a_nodes_pair_is_made_once),
        IN_DIRECTORY(a_cloned_machine_makes_its_own),
        IN_DIRECTORY(a_nodes_file_that_is_damaged_or_no_secret_is_replaced),
        IN_DIRECTORY(without_a_machine_id_there_is_no_pair),
        IN_DIRECTORY(a_pair_that_cannot_be_kept_is_none),
        IN_DIRECTORY(a_pair_that_cannot_be_looked_for_is_none),
        IN_DIRECTORY(a_daemons_pairs_are_made_once),
        IN_DIRECTORY(a_daemons_file_that_is_damaged_or_no_secret_is_refused_and_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
