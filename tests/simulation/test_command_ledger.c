// SPDX-License-Identifier: Apache-2.0
/* The ledger by the command: one that is lost, and hosts that only people can tell about. */
#include "base/cleanup.h"
#include "base/listen.h"
#include "base/memory.h"
#include "command_scene.h"
#include "opennebula/ledger_document.h"
#include "two_clusters.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static void lose_ledger(void)
{
    struct oneib_error err = {0};
    struct oneib_kept_ledger kept = scene_ledger();
    assert_int_equal(kept.state, ONEIB_LEDGER_READ);
    MUST(lab_document_delete(scene(), kept.document_id, &err));
    oneib_kept_ledger_clear(&kept);
}

static void without_its_ledger_everything_stays_and_nothing_is_given(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    oneib_autofree char *tables = scene_tables();
    lose_ledger();
    const uint32_t green = scene_network("green", "", NULL);
    scene_vm(green, 3);
    MUST(lab_network_update(scene(), clusters.red, "VLAN_ID=300", &err));

    must_say(ONEIB(1, "sync")->error, "[ledger-lost]");
    must_say(ONEIB(1, "verify")->error, "oneib sync --adopt");
    oneib_autofree char *after = scene_tables();
    assert_string_equal(after, tables);
    assert_int_equal(scene_key_of(green), 0);
    assert_int_equal(scene_key_of(clusters.red), 300);
    struct oneib_kept_ledger kept = scene_ledger();
    assert_int_equal(kept.state, ONEIB_LEDGER_ABSENT);
}

static void a_lost_ledger_is_shown_and_adopted_from_what_is_in_force(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    MUST(lab_host_update(scene(), 3, "IB_KEYS=0x0155", &err));
    lose_ledger();
    const char *plan = ONEIB(1, "plan", "--adopt", "--exit-code")->out;
    must_say(plan, "= network 1 \"red\" has P_Key 0x0101 in the ledger\n");
    must_say(plan, "= network 2 \"blue\" has P_Key 0x0102 in the ledger\n");
    must_say(plan, "= P_Key 0x0155 is quarantined");

    must_say(ONEIB(0, "sync", "--adopt")->out, "the ledger has 3 P_Keys again\n");
    struct oneib_kept_ledger kept = scene_ledger();
    assert_int_equal(kept.state, ONEIB_LEDGER_READ);
    assert_int_equal(oneib_ledger_network(&kept.ledger, clusters.red)->pkey, KEY_RED);
    assert_int_equal(oneib_ledger_network(&kept.ledger, clusters.blue)->pkey, KEY_BLUE);
    assert_non_null(oneib_ledger_resting(&kept.ledger, 0x155));
    oneib_kept_ledger_clear(&kept);
    must_not_say(ONEIB(0, "sync")->error, "ledger-lost");
    assert_true(port_holds(0, FULL(KEY_RED)));
}

static void an_edited_ledger_is_none(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_kept_ledger kept = scene_ledger();
    MUST(lab_document_replace(scene(), kept.document_id, "VERSION=\"1\"\nCOLOR=\"red\"", &err));
    oneib_kept_ledger_clear(&kept);
    must_say(ONEIB(1, "sync")->error, "is not as oneib writes it");
    ONEIB(0, "sync", "--adopt");
    ONEIB(0, "verify");
}

/* oneibd has read a later one: the key that it saw as the next one is not given by what was put back. */
static void a_ledger_that_was_put_back_gives_nothing_until_it_is_adopted(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_kept_ledger kept = scene_ledger();
    char mark[128];
    const uint64_t serial = kept.ledger.serial + 5;
    snprintf(mark, sizeof mark, "document %u serial %u next 0x0110\n", kept.document_id,
             (unsigned)serial);
    oneib_kept_ledger_clear(&kept);
    MUST(lab_write(scene(), ".partitions.conf.ledger", 0644, mark, &err));
    oneib_autofree char *tables = scene_tables();
    const uint32_t green = scene_network("green", "", NULL);
    scene_vm(green, 3);
    must_say(ONEIB(1, "sync")->error, "OpenNebula's database was restored");
    oneib_autofree char *after = scene_tables();
    assert_string_equal(after, tables);
    assert_int_equal(scene_key_of(green), 0);
    ONEIB(0, "sync", "--adopt");
    must_not_say(ONEIB(0, "sync")->error, "ledger-lost");
    kept = scene_ledger();
    assert_int_equal(kept.ledger.next, 0x110);
    assert_true(kept.ledger.serial > serial);
    assert_int_equal(oneib_ledger_network(&kept.ledger, clusters.red)->pkey, KEY_RED);
    oneib_kept_ledger_clear(&kept);
    assert_true(port_holds(0, FULL(KEY_RED)));
    ONEIB(0, "verify");
}

static void a_ledger_that_is_there_is_not_adopted(void **state)
{
    (void)state;
    must_say(ONEIB(3, "sync", "--adopt")->error, "nothing to adopt");
    must_say(ONEIB(0, "plan", "--adopt")->out, "nothing to adopt");
}

static void only_the_writer_adopts(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    lose_ledger();
    MUST(lab_config_write(scene(), &(struct lab_config){.one = "writer = false;"}, &err));
    must_say(ONEIB(3, "sync", "--adopt")->error, "one.writer");
}

#define KEY_TEXT "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define OTHER_KEY "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define THIRD_KEY "ee112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static void assert_key_begins(uint32_t host, uint8_t first)
{
    struct oneib_kept_ledger kept = scene_ledger();
    assert_int_equal(oneib_ledger_host(&kept.ledger, host)->key[0], first);
    oneib_kept_ledger_clear(&kept);
}

static void a_hosts_key_is_accepted_and_forgotten(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    must_say(ONEIB(0, "host", "accept", "--key", KEY_TEXT, "H1")->out, "accepted");
    struct oneib_kept_ledger kept = scene_ledger();
    assert_int_equal(oneib_ledger_host(&kept.ledger, 0)->key[15], 0xff);
    oneib_kept_ledger_clear(&kept);

    must_say(ONEIB(3, "host", "forget", "H1")->error, "--force");
    MUST(lab_host_update(scene(), 0, "IB_KEYS=0x0155", &err));
    must_say(ONEIB(0, "host", "forget", "0", "--force")->out, "forgotten");
    kept = scene_ledger();
    assert_null(oneib_ledger_host(&kept.ledger, 0));
    oneib_kept_ledger_clear(&kept);
    must_say(ONEIB(3, "host", "forget", "77")->error, "neither in OpenNebula nor in the ledger");
    must_say(ONEIB(2, "host", "remember", "H1")->error, "expected forget or accept");
    must_say(ONEIB(2, "host", "accept")->error, "missing argument HOST");
    must_say(ONEIB(2, "host", "accept", "--all", "H1")->error, "unexpected argument 'H1'");
    must_say(ONEIB(2, "host", "accept", "--all", "--key", KEY_TEXT)->error, "only one of");
    must_say(ONEIB(2, "host", "forget", "--key", KEY_TEXT, "H2")->error, "only with 'host accept'");
    must_say(ONEIB(2, "host", "accept", "--key", KEY_TEXT, "--port", "0x1", "H2")->error,
             "only one of");
}

/* What is monitored, any machine may have sent. */
static void a_forged_report_of_a_key_keeps_no_host_from_being_accepted(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    MUST(lab_host_monitor(scene(), 0, "IB_NODE_KEY = \"" KEY_TEXT "\"", &err));
    MUST(lab_host_monitor(scene(), 1, "IB_NODE_KEY = \"" KEY_TEXT "\"", &err));
    ONEIB(0, "host", "accept", "--key", KEY_TEXT, "H1");
    assert_key_begins(0, 0x00);
    must_say(ONEIB(3, "host", "accept", "--key", KEY_TEXT, "H2")->error,
             "the key of host \"H2\" is host \"H1\"'s in the ledger");
    ONEIB(0, "host", "accept", "--key", OTHER_KEY, "H2"); /* whatever is reported */
    assert_key_begins(1, 0xff);
    must_say(ONEIB(3, "host", "accept", "--key", KEY_TEXT "0", "H2")->error, "invalid --key");
}

/* `oneib host accept`, with a stand-in for ssh and runuser before the system's. */
static struct lab_output accept_by_ssh(int status, const char *word)
{
    struct oneib_error err = {0};
    struct lab_output output;
    oneib_autofree char *path =
        oneib_asprintf("PATH=%s:/usr/sbin:/usr/bin:/sbin:/bin", lab_path(scene(), "programs"));
    const char *argv[] = {"env",    path, ONEIB_BINARY, "host",
                          "accept", word, "--config",   lab_config_path(scene()),
                          NULL};
    MUST(lab_run(scene(), NULL, argv, SCENE_TIMEOUT_MS, &output, &err));
    if (output.status != status)
        fail_msg("oneib host accept %s ended with %d: %s%s", word, output.status, output.out,
                 output.error);
    return output;
}

static void write_program(const char *name, const char *script)
{
    struct oneib_error err = {0};
    MUST(lab_write(scene(), name, 0755, script, &err));
}

/* H1 and H2 show one key, and H3 refuses. All but "spare" report one. */
static void let_hosts_show_keys(void)
{
    struct oneib_error err = {0};
    if (mkdir(lab_path(scene(), "programs"), 0755) < 0)
        fail_msg("%s", strerror(errno));
    write_program("programs/runuser", "#!/bin/sh\nshift 3\nexec \"$@\"\n");
    write_program("programs/ssh", "#!/bin/sh\ncase $6 in\nH1|H2) echo " OTHER_KEY ";;\n"
                                  "H4) echo " KEY_TEXT ";;\nspare) echo " THIRD_KEY
                                  ";;\n*) echo no >&2; exit 255;;\nesac\n");
    for (uint32_t host = 0; host < SCENE_HOSTS; host++) /* which key they report does not count */
        MUST(lab_host_monitor(scene(), host, "IB_NODE_KEY = \"" THIRD_KEY "\"", &err));
}

/* "spare" is asked by its name alone. */
static void all_hosts_that_wait_are_accepted_by_the_keys_that_they_show(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    let_hosts_show_keys();
    uint32_t spare;
    MUST(lab_host_create_bare(scene(), "spare", &spare, &err));
    struct lab_output output = accept_by_ssh(1, "--all");
    must_say(output.out, "host \"H1\" not accepted: the key of host \"H1\" is host \"H2\"'s, too");
    must_say(output.out, "host \"H2\" not accepted: the key of host \"H2\" is host \"H1\"'s, too");
    must_say(output.out,
             "host \"H3\" not accepted: reading the key of host \"H3\" by oneadmin's SSH");
    must_say(output.out, "host \"H4\" accepted\n");
    must_not_say(output.out, "spare");
    lab_output_clear(&output);
    struct oneib_kept_ledger kept = scene_ledger();
    assert_int_equal(kept.ledger.host_count, 1);
    oneib_kept_ledger_clear(&kept);
    assert_key_begins(3, 0x00);

    output = accept_by_ssh(0, "H1");
    lab_output_clear(&output);
    assert_key_begins(0, 0xff);
    output = accept_by_ssh(3, "H2");
    must_say(output.error, "the key of host \"H2\" is host \"H1\"'s in the ledger");
    lab_output_clear(&output);
    output = accept_by_ssh(0, "spare");
    lab_output_clear(&output);
    assert_key_begins(spare, 0xee);
    output = accept_by_ssh(3, "H3");
    must_say(output.error, "ssh exited with status 255: no");
    lab_output_clear(&output);
}

static void a_host_that_was_forgotten_is_accepted_by_its_name_alone(void **state)
{
    (void)state;
    let_hosts_show_keys();
    ONEIB(0, "host", "accept", "--key", KEY_TEXT, "H4");
    ONEIB(0, "host", "forget", "--force", "H4");
    struct lab_output output = accept_by_ssh(1, "--all");
    must_say(output.out, "host \"H4\" not accepted: an operator has forgotten it; if it is to be "
                         "used again: oneib host accept H4\n");
    lab_output_clear(&output);
    struct oneib_kept_ledger kept = scene_ledger();
    assert_int_equal(kept.ledger.host_count, 0);
    oneib_kept_ledger_clear(&kept);

    output = accept_by_ssh(0, "H4");
    lab_output_clear(&output);
    assert_key_begins(3, 0x00);
    output = accept_by_ssh(1, "--all");
    must_not_say(output.out, "H4");
    lab_output_clear(&output);
}

static void enter(struct oneib_ledger *ledger, const char *address, uint8_t number)
{
    struct oneib_error err = {0};
    struct oneib_ledger_daemon daemon = {.curve = {number}, .sign = {number}, .since = number};
    snprintf(daemon.address, sizeof daemon.address, "%s", address);
    if (oneib_ledger_set_daemon(ledger, &daemon, &err) < 0)
        fail_msg("%s", err.text);
}

/* One that listens, and one that does not. Returns the socket. */
static int enter_two(char running[64], const char *gone)
{
    struct oneib_error err = {0};
    uint16_t port;
    oneib_autotext struct oneib_text text = {0};
    const int fd = oneib_listen("127.0.0.1:0", "test", &port, &err);
    assert_true(fd >= 0);
    snprintf(running, 64, "tcp://127.0.0.1:%u", port);
    oneib_autokept struct oneib_kept_ledger kept = scene_ledger();
    enter(&kept.ledger, running, 1);
    enter(&kept.ledger, gone, 2);
    oneib_ledger_render(&kept.ledger, &text);
    MUST(lab_document_replace(scene(), kept.document_id, text.data, &err));
    return fd;
}

static void a_daemon_that_is_gone_is_forgotten_and_one_stays(void **state)
{
    (void)state;
    static const char gone[] = "tcp://localhost:1";
    char running[64];
    oneib_autoclose int fd = enter_two(running, gone);
    assert_true(fd >= 0);
    must_say(ONEIB(3, "daemons", "forget", "tcp://localhost:2")->error, "has that address");
    must_say(ONEIB(3, "daemons", "forget", running)->error, "stop it there first");
    must_say(ONEIB(2, "daemons", "forget")->error, "missing argument ADDRESS");
    must_say(ONEIB(2, "daemons", "--force")->error, "daemons forget");

    must_say(ONEIB(0, "check")->out, "\nwarn  oneibd: none keeps ");
    const char *said = ONEIB(0, "daemons", "forget", gone)->out;
    must_say(said, "tcp://localhost:1 forgotten");
    must_say(said, "onehost sync -f");
    must_not_say(ONEIB(0, "daemons")->out, gone);
    must_say(ONEIB(0, "daemons")->out, running);
    must_say(ONEIB(3, "daemons", "forget", "--force", running)->error, "is the only oneibd");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTERS_CASE(without_its_ledger_everything_stays_and_nothing_is_given),
        CLUSTERS_CASE(a_lost_ledger_is_shown_and_adopted_from_what_is_in_force),
        CLUSTERS_CASE(an_edited_ledger_is_none),
        CLUSTERS_CASE(a_ledger_that_was_put_back_gives_nothing_until_it_is_adopted),
        CLUSTERS_CASE(a_ledger_that_is_there_is_not_adopted),
        CLUSTERS_CASE(only_the_writer_adopts),
        CLUSTERS_CASE(a_hosts_key_is_accepted_and_forgotten),
        CLUSTERS_CASE(a_forged_report_of_a_key_keeps_no_host_from_being_accepted),
        SCENE_CASE(scene_raise_with_vfs,
                   all_hosts_that_wait_are_accepted_by_the_keys_that_they_show),
        SCENE_CASE(scene_raise_with_vfs, a_host_that_was_forgotten_is_accepted_by_its_name_alone),
        CLUSTERS_CASE(a_daemon_that_is_gone_is_forgotten_and_one_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
