// SPDX-License-Identifier: Apache-2.0
/*
 * What oneib-node knows of libvirt's domains: with the real oneib-domains and libvirt's test
 * driver, and with a stand-in that says what the real one never would.
 */
#include "../../skip.h"
#include "../../valgrind.h"
#include "../hca/tree.h"
#include "../oneib-domains/node_file.h"
#include "base/clock.h"
#include "family.h"
#include "oneib-node/domains_feed.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#define WAIT_MS 60000 /* a machine may be busy */
#define SILENCE_MS 1000

static struct oneib_domain_feed *feed;
static const struct oneib_domain_list *list;
static struct oneib_error err;

static void begin(const char *program, const char *uri, uint32_t silence_ms)
{
    const struct oneib_domain_feed_options options = {
        .uri = uri, .program = program, .silence_ms = silence_ms};
    err = (struct oneib_error){0};
    if (oneib_domain_feed_open(&options, &feed, &err) < 0)
        fail_msg("%s", err.text);
    list = oneib_domain_feed_list(feed);
}

static void begin_standin(const char *part)
{
    begin(DOMAINS_STANDIN, part, 0);
}

static int end(void **state)
{
    (void)state;
    oneib_domain_feed_close(feed);
    feed = NULL;
    return 0;
}

/* ---- a loop, as oneib-node's ----------------------------------------------------------------- */

static void sleep_until_due(uint32_t most_ms)
{
    struct pollfd file = {.fd = oneib_domain_feed_fd(feed), .events = POLLIN};
    const uint32_t due_ms = oneib_domain_feed_due_ms(feed);
    poll(&file, 1, (int)(due_ms < most_ms ? due_ms : most_ms));
}

/* Whether the list has changed. */
static bool turn_within(uint32_t most_ms)
{
    bool changed = false;
    sleep_until_due(most_ms);
    if (oneib_domain_feed_take(feed, &changed, &err) < 0)
        fail_msg("%s", err.text);
    return changed;
}

static bool turn(void)
{
    return turn_within(WAIT_MS);
}

static void wait_for_change(void)
{
    const double began = oneib_now_ms();
    while (!turn())
        if (oneib_now_ms() - began > WAIT_MS)
            fail_msg("nothing changes: %s", list->why.text);
}

static void wait_for_list(void)
{
    do
        wait_for_change();
    while (!list->known);
}

/* The next that is known is that nobody knows. */
static void wait_for_unknown(enum oneib_error_code code, const char *word)
{
    do
        wait_for_change();
    while (list->known || strstr(list->why.text, "not answered yet"));
    assert_int_equal(list->count, 0);
    assert_contains(list->why.text, word);
    assert_contains(list->why.text, "asking libvirt (");
    assert_int_equal(list->why.code, code);
}

static void turn_for(double ms)
{
    const double began = oneib_now_ms();
    while (oneib_now_ms() - began < ms)
        turn_within(10);
}

/* The stand-in's process: its first domain is named so. */
static pid_t standin(void)
{
    assert_true(list->known && list->count > 0);
    return atoi(list->items[0].name);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void the_domains_are_not_known_until_a_whole_list_has_arrived(void **state)
{
    (void)state;
    const struct oneib_pci first = {0, 0x81, 0, 1}, other = {0, 0x81, 0, 2};
    put_node(NODE(DOMAIN("one-42", RUNNING, HOSTDEV("0x1")) DOMAIN("x", SHUT_OFF, "")));
    begin(NULL, node_uri(), 0);
    assert_false(list->known);
    assert_contains(list->why.text, "for its domains: it has not answered yet");
    wait_for_list();
    assert_int_equal(list->count, 2);
    assert_int_equal(list->why.code, ONEIB_ERROR_NONE);
    assert_true(oneib_domain_list_runs_with(list, 42, &first));
    assert_false(oneib_domain_list_names(list, &other));
}

static void asking_anew_gives_what_there_is_now(void **state)
{
    (void)state;
    put_node(NODE(DOMAIN("one-1", RUNNING, "")));
    begin(NULL, node_uri(), 0);
    wait_for_list();
    put_node(NODE(DOMAIN("one-2", RUNNING, "")));
    oneib_domain_feed_refresh(feed);
    assert_true(list->known);
    wait_for_change();
    assert_true(list->known);
    assert_false(oneib_domain_list_has(list, 1));
    assert_true(oneib_domain_list_runs(list, 2));
}

static void a_list_that_says_the_same_again_is_no_change(void **state)
{
    (void)state;
    begin_standin("endless");
    wait_for_list();
    for (int i = 0; i < 20; i++)
        assert_false(turn());
}

static void the_longest_list_is_taken(void **state)
{
    (void)state;
    begin_standin("the-most");
    wait_for_list();
    assert_int_equal(list->count, ONEIB_DOMAIN_ENTRIES_MAX);
}

static void a_list_that_is_under_way_changes_nothing(void **state)
{
    (void)state;
    begin(DOMAINS_STANDIN, "begins-another", 2000);
    wait_for_list();
    turn_for(300);
    assert_true(list->known);
    assert_int_equal(list->count, 1);
    wait_for_unknown(ONEIB_ERROR_TIMEOUT, "it has not answered for 2 s");
}

/* ---- not known ------------------------------------------------------------------------------- */

static void its_own_reason_is_told(void **state)
{
    (void)state;
    begin_standin("unknown");
    wait_for_unknown(ONEIB_ERROR_UNREACHABLE, "asking libvirt (unknown) for its domains: libvirt "
                                              "is out");
}

static void its_reason_is_kept_when_it_ends(void **state)
{
    (void)state;
    begin_standin("unknown-ends");
    wait_for_unknown(ONEIB_ERROR_UNREACHABLE, "libvirt is out");
    turn_for(500);
    assert_contains(list->why.text, "libvirt is out");
}

static void its_reason_is_heard_though_it_left_an_order_unread(void **state)
{
    (void)state;
    begin_standin("unknown-ends");
    oneib_domain_feed_refresh(feed);
    usleep(100000); /* it has ended by then, on a machine that is not busy */
    wait_for_unknown(ONEIB_ERROR_UNREACHABLE, "libvirt is out");
}

static void half_a_list_is_none(void **state)
{
    (void)state;
    begin_standin("half");
    wait_for_unknown(ONEIB_ERROR_UNREACHABLE, "oneib-domains has ended");
    /* Nor is it the beginning of what the next one says. */
    turn_for(1000);
    assert_contains(list->why.text, "oneib-domains has ended");
}

static void what_cannot_be_believed_is_not(void **state)
{
    static const struct {
        const char *part, *word;
    } cases[] = {
        {"alive-first", "a message out of sequence"},
        {"entry-first", "a message out of sequence"},
        {"end-first", "a message out of sequence"},
        {"begin-twice", "a message out of sequence"},
        {"alive-in-list", "a message out of sequence"},
        {"gives-up", "a message out of sequence"},
        {"garbage", "without oneib's header"},
        {"one-too-many", "a list of more than 4096"},
        {"half-message", "bytes, and not"},
        {"long-message", "bytes, and not"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin_standin(cases[i].part);
        wait_for_unknown(ONEIB_ERROR_PROTOCOL, cases[i].word);
        assert_contains(list->why.text, "oneib-domains has sent an invalid message: ");
        end(NULL);
    }
}

static void being_alive_does_not_make_known_what_is_not(void **state)
{
    (void)state;
    begin_standin("unknown-alive");
    do
        wait_for_change();
    while (list->why.code != ONEIB_ERROR_PROTOCOL);
    assert_contains(list->why.text, "a message out of sequence");
}

static void an_empty_message_is_its_end(void **state)
{
    (void)state;
    begin_standin("empty-message");
    wait_for_unknown(ONEIB_ERROR_UNREACHABLE, "oneib-domains has ended");
}

static void a_program_that_is_not_there_is_named(void **state)
{
    (void)state;
    begin("/nonexistent/oneib-domains", "x:///", 0);
    wait_for_unknown(ONEIB_ERROR_UNREACHABLE, "running /nonexistent/oneib-domains: No such file");
}

/* ---- ending and starting again --------------------------------------------------------------- */

static void one_that_is_killed_is_started_again(void **state)
{
    (void)state;
    begin_standin("lives");
    wait_for_list();
    const pid_t before = standin();
    assert_int_equal(kill(before, SIGKILL), 0);
    wait_for_unknown(ONEIB_ERROR_UNREACHABLE, "oneib-domains has ended");
    wait_for_list();
    assert_int_not_equal(standin(), before);
    wait_until_gone(before);
}

static void one_that_is_stopped_is_given_up_and_another_started(void **state)
{
    (void)state;
    begin(DOMAINS_STANDIN, "lives", SILENCE_MS);
    wait_for_list();
    const pid_t before = standin();
    assert_int_equal(kill(before, SIGSTOP), 0);
    wait_for_unknown(ONEIB_ERROR_TIMEOUT, "has not answered for 1 s");
    wait_for_list();
    assert_int_not_equal(standin(), before);
    wait_until_gone(before);
}

static void signs_of_life_keep_it(void **state)
{
    (void)state;
    begin(DOMAINS_STANDIN, "lives", SILENCE_MS);
    wait_for_list();
    const pid_t before = standin();
    turn_for(3 * SILENCE_MS);
    assert_true(list->known);
    assert_int_equal(standin(), before);
}

/* It takes connections, and then says nothing. */
static int open_mute_libvirt(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 16), 0);
    return fd;
}

static void a_libvirt_that_hangs_is_given_up_and_tried_again(void **state)
{
    (void)state;
    char uri[PATH_MAX + 64];
    const int mute = open_mute_libvirt(in_scratch("libvirt-sock"));
    snprintf(uri, sizeof uri, "qemu+unix:///system?socket=%s", in_scratch("libvirt-sock"));
    begin(NULL, uri, SILENCE_MS);
    wait_for_unknown(ONEIB_ERROR_TIMEOUT, "has not answered for 1 s: see whether libvirtd hangs");
    for (int i = 0; i < 2; i++) {
        struct pollfd next = {.fd = mute, .events = POLLIN};
        while (poll(&next, 1, 0) == 0)
            turn_within(10);
        close(accept(mute, NULL, NULL));
    }
    close(mute);
}

static void one_that_always_ends_is_not_started_all_the_time(void **state)
{
    (void)state;
    put_text(in_scratch("count"), "#!/bin/sh\necho >> \"$1\"\n");
    assert_int_equal(chmod(in_scratch("count"), 0755), 0);
    put_text(in_scratch("starts"), "");
    begin(in_scratch("count"), in_scratch("starts"), 0);
    turn_for(2000);
    struct stat status;
    assert_int_equal(stat(in_scratch("starts"), &status), 0);
    /* At 0, 0.2, 0.6 and 1.4 s. */
    assert_in_range(status.st_size, 2, 4);
}

static void without_the_supervisor_nothing_goes_on(void **state)
{
    (void)state;
    bool changed;
    begin_standin("lives");
    wait_for_list();
    const pid_t child = standin(), supervisor = parent_of(child);
    assert_int_equal(parent_of(supervisor), getpid());
    assert_int_equal(kill(supervisor, SIGKILL), 0);
    const double began = oneib_now_ms();
    int status;
    do {
        sleep_until_due(WAIT_MS);
        status = oneib_domain_feed_take(feed, &changed, &err);
    } while (status == 0 && oneib_now_ms() - began < WAIT_MS);
    assert_int_equal(status, -1);
    assert_contains(err.text, "the supervisor of oneib-domains has ended");
    wait_until_gone(child);
}

/* ---- who they are ---------------------------------------------------------------------------- */

static void closing_ends_both_processes(void **state)
{
    (void)state;
    begin_standin("lives");
    wait_for_list();
    const pid_t child = standin(), supervisor = parent_of(child);
    assert_int_equal(kill(child, SIGSTOP), 0);
    end(NULL);
    wait_until_gone(child);
    wait_until_gone(supervisor);
}

/* Signals that go to all of a service's processes. */
static void they_do_not_end_before_oneib_node_does(void **state)
{
    (void)state;
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
    begin(DOMAINS_STANDIN, "lives", 0);
    wait_for_list();
    const pid_t child = standin(), supervisor = parent_of(child);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        kill(child, signals[i]);
        kill(supervisor, signals[i]);
    }
    turn_for(200);
    assert_true(list->known);
    assert_int_equal(standin(), child);
    assert_int_equal(kill(child, 0), 0);
}

static void they_have_no_descriptor_of_oneib_nodes(void **state)
{
    (void)state;
    char path[64];
    if (on_valgrind())
        skip_because("valgrind has descriptors of its own");
    const int mine = open("/dev/null", O_RDONLY);
    assert_true(mine >= 0);
    begin_standin("lives");
    wait_for_list();
    snprintf(path, sizeof path, "/proc/%d/fd", (int)standin());
    assert_int_equal(count_entries(path), 3);
    snprintf(path, sizeof path, "/proc/%d/fd", (int)parent_of(standin()));
    assert_int_equal(count_entries(path), 4);
    close(mine);
}

static void they_can_get_no_privileges(void **state)
{
    (void)state;
    begin_standin("lives");
    wait_for_list();
    assert_status(standin(), "NoNewPrivs", "1");
    assert_status(parent_of(standin()), "NoNewPrivs", "1");
    assert_status(standin(), "CapEff", "0000000000000000");
}

static void both_end_when_oneib_node_is_killed(void **state)
{
    (void)state;
    int pipes[2];
    pid_t pids[2];
    assert_int_equal(pipe(pipes), 0);
    const pid_t node = fork();
    if (node == 0) {
        begin_standin("lives");
        wait_for_list();
        pids[0] = standin();
        pids[1] = parent_of(pids[0]);
        _exit(write(pipes[1], pids, sizeof pids) != sizeof pids || pause());
    }
    assert_int_equal(read(pipes[0], pids, sizeof pids), sizeof pids);
    assert_int_equal(kill(node, SIGKILL), 0);
    wait_until_gone(pids[0]);
    wait_until_gone(pids[1]);
    close(pipes[0]);
    close(pipes[1]);
}

#define each(test) cmocka_unit_test_teardown(test, end)

int main(void)
{
    tree_open();
    const struct CMUnitTest tests[] = {
        each(the_domains_are_not_known_until_a_whole_list_has_arrived),
        each(asking_anew_gives_what_there_is_now),
        each(a_list_that_says_the_same_again_is_no_change),
        each(the_longest_list_is_taken),
        each(a_list_that_is_under_way_changes_nothing),
        each(its_own_reason_is_told),
        each(its_reason_is_kept_when_it_ends),
        each(its_reason_is_heard_though_it_left_an_order_unread),
        each(half_a_list_is_none),
        each(what_cannot_be_believed_is_not),
        each(being_alive_does_not_make_known_what_is_not),
        each(an_empty_message_is_its_end),
        each(a_program_that_is_not_there_is_named),
        each(one_that_is_killed_is_started_again),
        each(one_that_is_stopped_is_given_up_and_another_started),
        each(signs_of_life_keep_it),
        each(a_libvirt_that_hangs_is_given_up_and_tried_again),
        each(one_that_always_ends_is_not_started_all_the_time),
        each(without_the_supervisor_nothing_goes_on),
        each(closing_ends_both_processes),
        each(they_do_not_end_before_oneib_node_does),
        each(they_have_no_descriptor_of_oneib_nodes),
        each(they_can_get_no_privileges),
        each(both_end_when_oneib_node_is_killed),
    };
    return tree_close(cmocka_run_group_tests(tests, make_scratch, remove_scratch));
}
