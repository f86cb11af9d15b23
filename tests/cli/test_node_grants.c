// SPDX-License-Identifier: Apache-2.0
/* What oneib-node opens, and closes, by the word of oneibd alone: one that is honest, gone, or not.
 */
#include "grants/grants_message.h"
#include "node_scene.h"
#include <inttypes.h>

#define GRANTED "network=7 pkey=0x0005 " AT_MLX4
#define SHORT_WAIT 700

static const char *report(void)
{
    char name[128];
    snprintf(name, sizeof name, "oneibd/%s.report", node_key);
    return content(name);
}

static void await_report(const char *words)
{
    const double until = oneib_now_ms() + DEADLINE_MS;
    while (!strstr(report(), words) && oneib_now_ms() < until)
        pause_ms(5);
    if (!strstr(report(), words))
        fail_msg("\"%s\" is not in the report: %s", words, report());
}

static void give(void)
{
    struct oneib_client *client = open_client();
    must_have(client, 42, 1, KEY);
    must_wait(client);
    oneib_client_close(client);
    assert_true(entry_reads(0, "3"));
}

static void assert_not_given(uint32_t vm_id, const char *words)
{
    struct oneib_vf_record record;
    struct oneib_client *client = open_client();
    const struct oneib_request request = have_of(vm_id, 1, KEY);
    assert_int_equal(oneib_client_have(client, &request, DEADLINE_MS, &record, &err), -1);
    assert_told(words);
    oneib_client_close(client);
    for (unsigned vf = 0; vf < mlx4.vfs; vf++)
        assert_false(entry_reads(vf, "3"));
}

static void what_is_wanted_is_told_and_what_is_had_is_reported(void **state)
{
    (void)state;
    give();
    assert_non_null(strstr(content("oneibd/wants"), " vm=42 nic=1 network=7\n"));
    await_report("vm=42 nic=1 network=7 site=0 pkey=0x0005 membership=full stage=open");
    await_report("follows=current");
    assert_non_null(strstr(report(), "believes=yes complete=yes"));
}

/* By what is in the machine, and no probe: a fence closes these. */
static void a_node_reports_the_ports_of_its_adapters(void **state)
{
    (void)state;
    char line[64];
    snprintf(line, sizeof line, "\nport 0x%016" PRIx64 "\n", tree_port_guid(&mlx4, 1));
    give();
    await_report(line);
}

static void what_is_taken_back_is_closed_before_its_list_is_reported(void **state)
{
    (void)state;
    give();
    await_report("stage=open");
    const unsigned long before = settled_serial();
    grant_by_network("");
    await_list_after(before);
    assert_true(entry_reads(0, "0"));
    assert_null(strstr(report(), "stage=open"));
}

static void another_key_comes_with_the_list(void **state)
{
    (void)state;
    give();
    put_key(KEY_INDEX + 1, 0x8000 | (KEY + 1));
    grant_by_network("network=7 pkey=0x0006 " AT_MLX4 "\n");
    await_entry(0, "4");
    await_report("pkey=0x0006 membership=full stage=open");
}

static void a_daemon_that_is_started_anew_changes_nothing(void **state)
{
    (void)state;
    grant_nic(42, 1, GRANTED);
    give();
    await_report("follows=current");
    char *path = tree_path("/oneibd/%s.report", node_key);
    assert_int_equal(unlink(path), 0);
    free(path);
    spawn_grants_standin_again();
    await_report("follows=current");
    await_report("stage=open");
    assert_true(entry_reads(0, "3"));
    assert_int_equal(count_of(content("log"), "closed 1"), 0);
}

static void while_oneibd_is_gone_nothing_new_is_opened_and_the_rest_goes_on(void **state)
{
    (void)state;
    configure(SHORT_WAIT, 60000);
    restart_node();
    give();
    stop_grants_standin();
    pause_ms(ONEIB_LIST_AGE_MS + 500);
    put_key(KEY_INDEX, 0);
    put_key(KEY_INDEX + 1, 0x8000 | KEY);
    kill(node, SIGHUP);
    await_entry(0, "4");
    assert_not_given(43, "not connected to oneibd");
    assert_true(entry_reads(0, "4"));
    spawn_grants_standin();
    grant_nic(43, 1, GRANTED);
    await_log("connected to oneibd");
}

/* None of them is believed, and nothing is opened. */
static void who_is_no_oneibd_is_not_believed(void **state)
{
    (void)state;
    static const char *const behaviours[] = {"no-life",           "no-lists",        "wrong-nonce",
                                             "wrong-node",        "wrong-signature", "no-writer",
                                             "snapshot-age=60000"};
    configure(SHORT_WAIT, 60000);
    grant_nic(42, 1, GRANTED);
    for (size_t i = 0; i < sizeof behaviours / sizeof *behaviours; i++) {
        behave(behaviours[i]);
        spawn_grants_standin_again();
        restart_node();
        assert_not_given(42, "oneibd");
    }
    behave("");
    spawn_grants_standin_again();
    restart_node();
    give();
}

static void assert_no_challenge_was_made_twice(void)
{
    char *path = tree_path(GRANTS_DIRECTORY "/%s.repeated", node_key);
    assert_int_equal(access(path, F_OK), -1);
    free(path);
}

static void an_old_list_that_is_said_again_opens_nothing(void **state)
{
    (void)state;
    grant_nic(42, 1, GRANTED);
    spawn_grants_standin_again();
    restart_node();
    give();
    behave("replay");
    const unsigned long before = settled_serial();
    forget_granted(42, 1);
    tell_granted();
    grant_by_network("");
    await_list_after(before);
    for (int i = 0; i < 50; i++) {
        assert_true(entry_reads(0, "0"));
        pause_ms(2 * ONEIB_CHALLENGE_MS / 50);
    }
    assert_no_challenge_was_made_twice();
}

static struct oneib_daemons read_daemons(const char *name)
{
    struct oneib_daemons daemons;
    const char *text = content(name);
    if (oneib_daemons_parse(text, strlen(text), name, &daemons, &err) < 0)
        fail_msg("%s", err.text);
    return daemons;
}

static int announce(const struct oneib_daemons *daemons, uint16_t flags)
{
    struct oneib_request request = oneib_request_announcing(daemons);
    request.flags = flags;
    return oneib_client_announce(&request, &err);
}

static void the_first_daemon_that_is_announced_is_kept_and_no_other(void **state)
{
    (void)state;
    configure(SHORT_WAIT, 60000);
    end_node(SIGTERM);
    tree_remove("/var/lib/oneib-node/daemons");
    start_node();
    assert_not_given(42, "knows no oneibd yet");
    struct oneib_daemons daemons = read_daemons("oneibd/daemons");
    assert_int_equal(announce(&daemons, 0), 0);
    await_log("connected to oneibd");
    give();
    assert_int_equal(announce(&daemons, 0), 0);
    daemons.items[0].sign[0] ^= 1;
    assert_int_equal(announce(&daemons, 0), -1);
    assert_told("trusts another oneibd already");
    assert_int_equal(read_daemons("var/lib/oneib-node/daemons").items[0].sign[0],
                     daemons.items[0].sign[0] ^ 1);
    restart_node();
    await_log("connected to oneibd");
    /* Its own user is root's part here. */
    assert_int_equal(announce(&daemons, ONEIB_ANNOUNCE_TRUSTED), 0);
    assert_int_equal(read_daemons("var/lib/oneib-node/daemons").items[0].sign[0],
                     daemons.items[0].sign[0]);
}

/* By the probe, from OpenNebula's remotes, after `oneib daemons forget`. */
static void a_list_without_one_of_the_known_daemons_is_taken_and_no_other_change(void **state)
{
    (void)state;
    configure(SHORT_WAIT, 60000);
    struct oneib_daemons both = read_daemons("oneibd/daemons"), stranger;
    both.items[1] = both.items[0];
    both.items[1].address[strlen(both.items[1].address) - 1] ^= 1;
    both.items[1].curve[0] ^= 1;
    both.items[1].sign[0] ^= 1;
    both.count = 2;
    assert_int_equal(announce(&both, ONEIB_ANNOUNCE_TRUSTED), 0);

    stranger = both;
    stranger.items[1].sign[0] ^= 2;
    assert_int_equal(announce(&stranger, 0), -1);
    assert_told("trusts another oneibd already");
    stranger.count = 0;
    assert_int_equal(announce(&stranger, 0), -1);
    assert_int_equal(read_daemons("var/lib/oneib-node/daemons").count, 2);

    const struct oneib_daemons one = {.count = 1, .items = {both.items[0]}};
    assert_int_equal(announce(&one, 0), 0);
    assert_int_equal(read_daemons("var/lib/oneib-node/daemons").count, 1);
    await_log("no longer trusts oneibd at tcp://");
    assert_int_equal(announce(&both, 0), -1);
    give();
}

#define SERVED(test) cmocka_unit_test_setup_teardown(test, make_served_node, remove_node)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVED(what_is_wanted_is_told_and_what_is_had_is_reported),
        SERVED(a_node_reports_the_ports_of_its_adapters),
        SERVED(what_is_taken_back_is_closed_before_its_list_is_reported),
        SERVED(another_key_comes_with_the_list),
        SERVED(a_daemon_that_is_started_anew_changes_nothing),
        SERVED(while_oneibd_is_gone_nothing_new_is_opened_and_the_rest_goes_on),
        SERVED(who_is_no_oneibd_is_not_believed),
        SERVED(an_old_list_that_is_said_again_opens_nothing),
        SERVED(the_first_daemon_that_is_announced_is_kept_and_no_other),
        SERVED(a_list_without_one_of_the_known_daemons_is_taken_and_no_other_change),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
