// SPDX-License-Identifier: Apache-2.0
/* Writing IB_VFS_FREE and IB_SWITCH of a host, against a stand-in that keeps them, or does not. */
#include "oned_stand_in.h"
#include "opennebula/one_client.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

/* What the host's template holds, shared with the stand-in's process. */
struct standing_host {
    char vfs_free[32], switches[2048], keys[2048], seal[256];
    unsigned updates;
    bool is_stubborn; /* accepts everything and keeps what it has */
    bool is_probed;   /* its probe writes once, right after oneib */
    bool is_gone;
};
static struct standing_host *host;

/* The value of an attribute in a request: NAME="VALUE", quoted as XML does it or not. */
static void take_attribute(const char *request, const char *name, char *value, size_t size)
{
    const char *begin = strstr(request, name);
    if (!begin)
        return;
    begin += strlen(name) + 1;
    begin += strncmp(begin, "&quot;", 6) == 0 ? 6 : 1;
    snprintf(value, size, "%.*s", (int)strcspn(begin, "&\""), begin);
}

static void answer(int connection, const char *request)
{
    if (host->is_gone) {
        stand_in_refuse(connection, 1024, "Error getting host.");
        return;
    }
    if (strstr(request, ">one.host.update<")) {
        host->updates++;
        if (!host->is_stubborn) {
            take_attribute(request, "IB_VFS_FREE", host->vfs_free, sizeof host->vfs_free);
            take_attribute(request, "IB_SWITCH", host->switches, sizeof host->switches);
            take_attribute(request, "IB_KEYS", host->keys, sizeof host->keys);
            take_attribute(request, "IB_KEYS_SEAL", host->seal, sizeof host->seal);
        }
        if (host->is_probed)
            strcpy(host->vfs_free, "7");
        host->is_probed = false;
        stand_in_document(connection, "3");
        return;
    }
    struct oneib_text document = {0};
    oneib_text_printf(&document,
                      "<HOST><ID>3</ID><NAME>node</NAME><TEMPLATE><IB_KEYS>%s</IB_KEYS>"
                      "<IB_KEYS_SEAL>%s</IB_KEYS_SEAL>"
                      "<IB_SWITCH>%s</IB_SWITCH><IB_VFS_FREE>%s</IB_VFS_FREE></TEMPLATE></HOST>",
                      host->keys, host->seal, host->switches, host->vfs_free);
    stand_in_document(connection, document.data);
    oneib_text_clear(&document);
}

struct fixture {
    struct stand_in server;
    struct oneib_one *one;
    struct oneib_error err;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    char session[] = "oneadmin:open-sesame";
    host = mmap(NULL, sizeof *host, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!fixture || host == MAP_FAILED || stand_in_start(&fixture->server, answer) < 0)
        return -1;
    const struct oneib_credentials credentials = {.endpoint = fixture->server.endpoint,
                                                  .session = session};
    fixture->one = oneib_one_open(&credentials, 20000, &fixture->err);
    *state = fixture;
    return fixture->one ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    oneib_one_close(fixture->one);
    stand_in_stop(&fixture->server);
    munmap(host, sizeof *host);
    free(fixture);
    return 0;
}

static void must_fail(struct fixture *fixture, int32_t vfs_free, const char *switches,
                      enum oneib_error_code code, const char *words)
{
    assert_int_equal(oneib_one_set_host(fixture->one, 3, vfs_free, switches, &fixture->err), -1);
    assert_string_equal(oneib_error_code_name(fixture->err.code), oneib_error_code_name(code));
    if (!strstr(fixture->err.text, words))
        fail_msg("\"%s\" is not in: %s", words, fixture->err.text);
    assert_non_null(strstr(fixture->err.text, "host 3"));
}

static void both_values_are_written_in_one_call(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(oneib_one_set_host(fixture->one, 3, 6, "0x0002c903,0x20", &fixture->err), 0);
    assert_string_equal(host->vfs_free, "6");
    assert_string_equal(host->switches, "0x0002c903,0x20");
    assert_int_equal(host->updates, 1);
}

static void a_value_that_is_not_given_stays(void **state)
{
    struct fixture *fixture = *state;
    strcpy(host->vfs_free, "5");
    strcpy(host->switches, "0x20");
    assert_int_equal(oneib_one_set_host(fixture->one, 3, 0, NULL, &fixture->err), 0);
    assert_string_equal(host->vfs_free, "0");
    assert_string_equal(host->switches, "0x20");
    assert_int_equal(oneib_one_set_host(fixture->one, 3, -1, "0x22", &fixture->err), 0);
    assert_string_equal(host->vfs_free, "0");
    assert_string_equal(host->switches, "0x22");
}

static void nothing_to_write_is_no_call(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(oneib_one_set_host(fixture->one, 3, -1, NULL, &fixture->err), 0);
    assert_int_equal(host->updates, 0);
}

static void a_value_that_did_not_take_is_an_error(void **state)
{
    host->is_stubborn = true;
    must_fail(*state, 6, NULL, ONEIB_ERROR_PROTOCOL, "IB_VFS_FREE=\"6\" and did not keep");
    must_fail(*state, -1, "0x20", ONEIB_ERROR_PROTOCOL, "IB_SWITCH=\"0x20\" and did not keep");
}

static void a_value_that_the_probe_writes_over_is_written_again(void **state)
{
    struct fixture *fixture = *state;
    host->is_probed = true;
    assert_int_equal(oneib_one_set_host(fixture->one, 3, 6, "0x20", &fixture->err), 0);
    assert_string_equal(host->vfs_free, "6");
    assert_int_equal(host->updates, 2);
}

static void a_host_that_is_gone_is_not_found(void **state)
{
    host->is_gone = true;
    must_fail(*state, 6, NULL, ONEIB_ERROR_NOT_FOUND, "Error getting host");
}

static void anything_but_guids_and_commas_is_never_sent(void **state)
{
    static const char *const bad[] = {
        "", ",", "0x20,", "0x20,,0x22", "0x20 ", "switch", "0x20\"\nX=\"", "0x0", "32"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        must_fail(*state, -1, bad[i], ONEIB_ERROR_INPUT, "IB_SWITCH");
    assert_int_equal(host->updates, 0);
}

static void more_switches_than_a_host_has_ports_are_never_sent(void **state)
{
    struct fixture *fixture = *state;
    struct oneib_text list = {0};
    for (int i = 1; i <= 64; i++)
        oneib_text_printf(&list, "%s0x%016x", i > 1 ? "," : "", i);
    assert_int_equal(oneib_one_set_host(fixture->one, 3, -1, list.data, &fixture->err), 0);
    oneib_text_append(&list, ",0x1");
    must_fail(fixture, -1, list.data, ONEIB_ERROR_INPUT, "64");
    oneib_text_clear(&list);
}

static void more_functions_than_can_be_read_back_are_never_sent(void **state)
{
    must_fail(*state, 65535 * 64 + 1, NULL, ONEIB_ERROR_INPUT, "virtual functions");
    assert_int_equal(host->updates, 0);
}

#define SIXTEEN "0123456789abcdef"
#define SEAL SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN

static void what_a_host_may_hold_is_written_and_taken_away(void **state)
{
    struct fixture *fixture = *state;
    static const oneib_pkey keys[] = {0x101, 0x7ffe};
    assert_int_equal(oneib_one_set_host_keys(fixture->one, 3, keys, 2, SEAL, 5, &fixture->err), 0);
    assert_string_equal(host->keys, "0x0101,0x7ffe");
    assert_string_equal(host->seal, SEAL);
    assert_string_equal(host->vfs_free, "5");
    assert_int_equal(oneib_one_set_host_keys(fixture->one, 3, NULL, 0, "", -1, &fixture->err), 0);
    assert_string_equal(host->keys, "");
    assert_string_equal(host->seal, "");
    assert_string_equal(host->vfs_free, "5");
}

static void keys_that_did_not_take_are_an_error(void **state)
{
    struct fixture *fixture = *state;
    static const oneib_pkey keys[] = {0x101};
    host->is_stubborn = true;
    assert_int_equal(oneib_one_set_host_keys(fixture->one, 3, keys, 1, SEAL, -1, &fixture->err),
                     -1);
    assert_int_equal(fixture->err.code, ONEIB_ERROR_PROTOCOL);
    assert_non_null(strstr(fixture->err.text, "IB_KEYS of host 3"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(both_values_are_written_in_one_call),
        TEST(a_value_that_is_not_given_stays),
        TEST(nothing_to_write_is_no_call),
        TEST(a_value_that_did_not_take_is_an_error),
        TEST(a_value_that_the_probe_writes_over_is_written_again),
        TEST(a_host_that_is_gone_is_not_found),
        TEST(what_a_host_may_hold_is_written_and_taken_away),
        TEST(keys_that_did_not_take_are_an_error),
        TEST(anything_but_guids_and_commas_is_never_sent),
        TEST(more_switches_than_a_host_has_ports_are_never_sent),
        TEST(more_functions_than_can_be_read_back_are_never_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
