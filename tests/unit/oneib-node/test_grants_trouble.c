// SPDX-License-Identifier: Apache-2.0
/* What a node's service does when oneib-grants, or a file, is not well, and whom it believes then. */
#include "grants_feed_scene.h"
#include <errno.h>

/* As in grants_feed.c, and child.c. */
#define SILENCE_MS 15000
#define RESTART_FIRST_MS 200

/* ---- oneib-grants is not well ---------------------------------------------------------------- */

static void assert_started_after(double ms)
{
    const unsigned before = supervisor_standin.starts;
    now += ms - 1;
    turn();
    assert_int_equal(supervisor_standin.starts, before);
    assert_int_equal(oneib_grant_feed_due_ms(feed), 2);
    now += 1;
    turn();
    assert_int_equal(supervisor_standin.starts, before + 1);
}

static void oneib_grants_is_started_again_when_it_ends_and_later_each_time(void **state)
{
    (void)state;
    turn();
    for (double pause = RESTART_FIRST_MS; pause <= 4 * RESTART_FIRST_MS; pause *= 2) {
        end_played_program();
        turn();
        assert_why("oneib-grants");
        assert_started_after(pause);
    }
    assert_true(hear_one());
    assert_int_equal(packet.kind, ONEIB_RELAY_SETUP);
    connect_daemon(0);
    end_played_program();
    turn();
    assert_started_after(RESTART_FIRST_MS);
}

static void nobody_is_connected_when_it_has_ended(void **state)
{
    (void)state;
    connect_daemon(0);
    end_played_program();
    turn();
    now += RESTART_FIRST_MS;
    turn();
    hear_all();
    now += ONEIB_REPORT_MS;
    turn_and_hear();
    assert_int_equal(heard[0].challenges + heard[0].reports, 0);
}

static void oneib_grants_is_started_again_when_it_is_silent(void **state)
{
    (void)state;
    turn();
    now += SILENCE_MS - 1;
    say_news(ONEIB_RELAY_ALIVE, 0, NULL);
    turn();
    now += SILENCE_MS - 1;
    turn();
    assert_why("not connected to oneibd");
    now += 1;
    turn();
    assert_why("oneib-grants has sent nothing for 15 s");
    assert_started_after(RESTART_FIRST_MS);
}

static void oneib_grants_is_started_again_when_it_says_what_it_may_not(void **state)
{
    (void)state;
    turn();
    assert_int_equal(send(supervisor_standin.program, "nonsense", 8, 0), 8);
    turn();
    assert_why("oneib-grants");
    assert_why("a packet in which");
    assert_started_after(RESTART_FIRST_MS);
}

/* By its supervisor's word, or its own. */
static void fail_to_run(void)
{
    struct oneib_error why;
    oneib_fail(&why, ONEIB_ERROR_SYSTEM, "its user is none");
    supervisor_standin.tell_failure(supervisor_standin.program, &why);
    end_played_program();
}

/* It left unread what it was told: the kernel tells that first. */
static void what_it_said_last_is_heard_though_it_left_something_unread(void **state)
{
    (void)state;
    fail_to_run();
    turn();
    assert_why("oneib-grants cannot work: its user is none");
}

static size_t count_logged(const char *words)
{
    size_t count = 0;
    for (const char *line = logged; (line = strstr(line, words)); line++)
        count++;
    return count;
}

static void fail_and_be_started_again(double pause)
{
    fail_to_run();
    turn();
    assert_why("oneib-grants cannot work: its user is none");
    now += pause;
    turn();
    assert_why("oneib-grants cannot work: its user is none");
}

static void why_it_cannot_work_is_told_once_until_it_works(void **state)
{
    (void)state;
    begin_log();
    fail_and_be_started_again(RESTART_FIRST_MS);
    fail_and_be_started_again(2 * RESTART_FIRST_MS);
    say_news(ONEIB_RELAY_DISCONNECTED, 0, "out of reach");
    turn();
    assert_why("not connected to oneibd at tcp://front1:7777: out of reach");
    fail_and_be_started_again(4 * RESTART_FIRST_MS);
    end_log();
    assert_int_equal(count_logged("cannot work"), 2);
}

static void what_keeps_it_from_being_started_is_told(void **state)
{
    (void)state;
    supervisor_standin.refuses_orders = true;
    end_played_program();
    turn();
    now += RESTART_FIRST_MS;
    turn();
    assert_why("oneib-grants is not started");
    supervisor_standin.refuses_orders = false;
    assert_started_after(2 * RESTART_FIRST_MS);
}

static void without_its_supervisor_the_service_ends(void **state)
{
    (void)state;
    bool changed;
    end_played_supervisor();
    assert_int_equal(oneib_grant_feed_take(feed, &table, true, &changed, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
}

static void oneib_grants_is_started_from_where_it_was_built_and_ends_with_the_service(void **state)
{
    (void)state;
    const struct oneib_grant_feed_options options = {0};
    close_feed();
    assert_int_equal(oneib_grant_feed_open(&options, &feed, &err), 0);
    assert_non_null(strstr(supervisor_standin.path, "/oneib-grants"));
    assert_true(supervisor_standin.program >= 0);
    close_feed();
    assert_int_equal(supervisor_standin.program, -1);
    assert_int_equal(supervisor_standin.control, -1);
}

static void without_a_supervisor_it_does_not_begin(void **state)
{
    (void)state;
    const struct oneib_grant_feed_options options = {0};
    struct oneib_grant_feed *none;
    supervisor_standin.refuses_start = true;
    const int status = oneib_grant_feed_open(&options, &none, &err);
    supervisor_standin.refuses_start = false;
    assert_int_equal(status, -1);
    assert_null(none);
}

/* ---- connections ----------------------------------------------------------------------------- */

static void each_reason_not_to_be_connected_is_logged_once(void **state)
{
    (void)state;
    begin_log();
    say_news(ONEIB_RELAY_DISCONNECTED, 0, "out of reach");
    say_news(ONEIB_RELAY_DISCONNECTED, 0, "out of reach");
    say_news(ONEIB_RELAY_DISCONNECTED, 0, "refused");
    for (int i = 0; i < 3; i++)
        say_news(ONEIB_RELAY_CONNECTED, 0, NULL);
    say_news(ONEIB_RELAY_DISCONNECTED, 0, "refused");
    turn();
    end_log();
    assert_int_equal(count_logged(": out of reach"), 1);
    assert_int_equal(count_logged(": refused"), 2);
    assert_int_equal(count_logged("connected to oneibd at tcp://front1:7777\n"), 1);
}

static void why_the_believed_one_is_not_heard_is_told_before_anothers(void **state)
{
    (void)state;
    follow_daemon(1);
    connect_daemon(0);
    say_news(ONEIB_RELAY_DISCONNECTED, 1, "out of reach");
    now += ONEIB_LIST_AGE_MS;
    turn();
    assert_why("not connected to oneibd at tcp://front2:7777: out of reach");
    say_news(ONEIB_RELAY_DISCONNECTED, 0, "refused");
    turn();
    assert_why("not connected to oneibd at tcp://front2:7777: out of reach");
}

static void who_is_connected_and_says_nothing_is_not_believed(void **state)
{
    (void)state;
    assert_why("not connected to oneibd at tcp://front1:7777: no answer yet");
    connect_daemon(1);
    assert_why("no oneibd that this host is connected to is the writer");
}

/* ---- daemons --------------------------------------------------------------------------------- */

static int announce(bool by_root)
{
    err = (struct oneib_error){0};
    return oneib_grant_feed_announce(feed, &daemons, by_root, &err);
}

static void assert_kept(const char *address)
{
    struct oneib_daemons kept;
    assert_int_equal(oneib_grants_read_daemons(&kept, &err), 0);
    assert_true(kept.count > 0);
    assert_string_equal(kept.items[0].address, address);
}

static void change_daemons(void)
{
    strcpy(daemons.items[0].address, "tcp://other:7777");
}

static void without_daemons_nothing_is_started_until_one_is_announced(void **state)
{
    (void)state;
    assert_false(turn());
    assert_int_equal(supervisor_standin.starts, 0);
    assert_true(oneib_grant_feed_due_ms(feed) == UINT32_MAX || oneib_grant_feed_due_ms(feed) <= 26);
    assert_why("knows no oneibd yet");
    assert_int_equal(announce(false), 0);
    assert_kept("tcp://front1:7777");
    assert_int_equal(oneib_grant_feed_due_ms(feed), 0);
    turn();
    assert_int_equal(supervisor_standin.starts, 1);
    follow_daemon(0);
}

static void the_same_daemons_again_change_nothing(void **state)
{
    (void)state;
    follow_daemon(0);
    assert_int_equal(announce(false), 0);
    assert_true(is_fresh());
    assert_int_equal(supervisor_standin.starts, 1);
}

static void other_daemons_are_believed_by_roots_word_alone(void **state)
{
    (void)state;
    follow_daemon(0);
    change_daemons();
    assert_int_equal(announce(false), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_kept("tcp://front1:7777");
    assert_true(is_fresh());
    begin_log();
    const int status = announce(true);
    end_log();
    assert_int_equal(status, 0);
    assert_logged("trusts oneibd at tcp://other:7777 from now on");
    assert_kept("tcp://other:7777");
    assert_true(has_list());
    assert_false(is_fresh());
    assert_why("not connected to oneibd at tcp://other:7777: no answer yet");
    assert_true(turn());
    assert_int_equal(supervisor_standin.starts, 2);
    assert_true(hear_one());
    assert_string_equal(packet.setup.peers[0].address, "tcp://other:7777");
}

static void daemons_that_are_none_are_refused(void **state)
{
    (void)state;
    strcpy(daemons.items[0].address, daemons.items[1].address);
    assert_int_equal(announce(true), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    assert_kept("tcp://front1:7777");
}

static void daemons_that_cannot_be_kept_are_not_believed(void **state)
{
    (void)state;
    change_daemons();
    tree_set_mode(0500, "/var/lib/oneib-node");
    const int status = announce(true);
    tree_set_mode(0700, "/var/lib/oneib-node");
    assert_int_equal(status, -1);
    turn();
    assert_why("tcp://front1:7777");
    assert_int_equal(supervisor_standin.starts, 1);
}

/* Whom root has named there, nobody can say: the next one that comes is not let in for that. */
static void a_damaged_file_of_daemons_is_mended_by_root_alone(void **state)
{
    (void)state;
    tree_write("tcp://front1:7777 and no keys", ONEIB_DAEMONS_FILE);
    reopen_feed();
    turn();
    assert_why("/var/lib/oneib-node/daemons, line 1");
    assert_int_equal(announce(false), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_int_equal(announce(true), 0);
    assert_kept("tcp://front1:7777");
    turn();
    assert_why("not connected to oneibd at tcp://front1:7777");
    reopen_feed();
    assert_why("not connected to oneibd at tcp://front1:7777");
}

/* As little can be said where it cannot be read. */
static void a_file_of_daemons_that_cannot_be_read_lets_nobody_in(void **state)
{
    (void)state;
    tree_set_mode(0, ONEIB_DAEMONS_FILE);
    reopen_feed();
    change_daemons();
    const int status = announce(false);
    tree_set_mode(0600, ONEIB_DAEMONS_FILE);
    assert_int_equal(status, -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_kept("tcp://front1:7777");
}

static void the_directory_of_daemons_is_made(void **state)
{
    (void)state;
    tree_remove("/var/lib/oneib-node");
    change_daemons();
    errno = 0;
    assert_int_equal(announce(true), 0);
    assert_kept("tcp://other:7777");
}

static void without_a_key_nothing_is_started_and_the_daemons_stay(void **state)
{
    (void)state;
    close_feed();
    supervisor_standin.starts = 0;
    tree_write("short", "/etc/machine-id");
    const struct oneib_grant_feed_options options = {0};
    assert_int_equal(oneib_grant_feed_open(&options, &feed, &err), 0);
    turn();
    assert_why("this host's key: ");
    assert_int_equal(supervisor_standin.starts, 0);
    change_daemons();
    assert_int_equal(announce(false), -1);
    assert_kept("tcp://front1:7777");
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(oneib_grants_is_started_again_when_it_ends_and_later_each_time),
        WITH(nobody_is_connected_when_it_has_ended),
        WITH(oneib_grants_is_started_again_when_it_is_silent),
        WITH(oneib_grants_is_started_again_when_it_says_what_it_may_not),
        WITH(what_it_said_last_is_heard_though_it_left_something_unread),
        WITH(why_it_cannot_work_is_told_once_until_it_works),
        WITH(what_keeps_it_from_being_started_is_told),
        WITH(without_its_supervisor_the_service_ends),
        WITH(oneib_grants_is_started_from_where_it_was_built_and_ends_with_the_service),
        WITH(without_a_supervisor_it_does_not_begin),
        WITH(each_reason_not_to_be_connected_is_logged_once),
        WITH(why_the_believed_one_is_not_heard_is_told_before_anothers),
        WITH(who_is_connected_and_says_nothing_is_not_believed),
        cmocka_unit_test_setup_teardown(without_daemons_nothing_is_started_until_one_is_announced,
                                        begin_alone, end),
        WITH(the_same_daemons_again_change_nothing),
        WITH(other_daemons_are_believed_by_roots_word_alone),
        WITH(daemons_that_are_none_are_refused),
        WITH(daemons_that_cannot_be_kept_are_not_believed),
        WITH(a_damaged_file_of_daemons_is_mended_by_root_alone),
        WITH(a_file_of_daemons_that_cannot_be_read_lets_nobody_in),
        WITH(the_directory_of_daemons_is_made),
        WITH(without_a_key_nothing_is_started_and_the_daemons_stay),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
