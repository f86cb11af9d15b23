// SPDX-License-Identifier: Apache-2.0
/* Started by root: what the supervisor and oneib-domains are then. Skipped for all others. */
#include "../../skip.h"
#include "../../valgrind.h"
#include "../base/scratch.h"
#include "../hca/reach.h"
#include "base/clock.h"
#include "family.h"
#include "oneib-node/domains_feed.h"
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <stdbool.h>

#define WAIT_MS 60000
#define SOMEBODY "games" /* of every Debian, with no process: their number is bounded */

static struct oneib_domain_feed *feed;
static struct oneib_error err;

static void need_root(void)
{
    if (geteuid() != 0)
        skip_because("only root can become somebody else");
    if (on_valgrind())
        skip_because("valgrind lets nobody lower limits");
}

static int open_as(const char *user)
{
    const struct oneib_domain_feed_options options = {
        .uri = "lives", .program = DOMAINS_STANDIN, .user = user};
    err = (struct oneib_error){0};
    return oneib_domain_feed_open(&options, &feed, &err);
}

static int end(void **state)
{
    (void)state;
    oneib_domain_feed_close(feed);
    feed = NULL;
    return 0;
}

/* The stand-in's process: its first domain is named so. */
static pid_t wait_for_standin(void)
{
    const struct oneib_domain_list *list = oneib_domain_feed_list(feed);
    const double began = oneib_now_ms();
    while (!list->known && oneib_now_ms() - began < WAIT_MS) {
        bool changed;
        struct pollfd file = {.fd = oneib_domain_feed_fd(feed), .events = POLLIN};
        poll(&file, 1, (int)oneib_domain_feed_due_ms(feed));
        assert_int_equal(oneib_domain_feed_take(feed, &changed, &err), 0);
    }
    if (!list->known)
        fail_msg("%s", list->why.text);
    return atoi(list->items[0].name);
}

static void assert_powerless(pid_t pid)
{
    static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};
    const struct passwd *user = getpwnam(SOMEBODY);
    char ids[128];
    snprintf(ids, sizeof ids, "%u\t%u\t%u\t%u", user->pw_uid, user->pw_uid, user->pw_uid,
             user->pw_uid);
    assert_status(pid, "Uid", ids);
    snprintf(ids, sizeof ids, "%u\t%u\t%u\t%u", user->pw_gid, user->pw_gid, user->pw_gid,
             user->pw_gid);
    assert_status(pid, "Gid", ids);
    assert_status(pid, "Groups", "");
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        assert_status(pid, sets[i], "0000000000000000");
    assert_status(pid, "NoNewPrivs", "1");
    assert_status(pid, "Seccomp", "2"); /* no sockets of the internet */
}

static void both_are_the_user_for_good_and_have_no_capability(void **state)
{
    (void)state;
    need_root();
    const gid_t groups[] = {0, 4, 27};
    assert_int_equal(setgroups(3, groups), 0);
    if (open_as(SOMEBODY) < 0)
        fail_msg("%s", err.text);
    const pid_t child = wait_for_standin();
    assert_powerless(child);
    assert_powerless(parent_of(child));
    assert_int_equal(parent_of(parent_of(child)), getpid());
}

/* A line of /proc/PID/limits. */
static void assert_limit(pid_t pid, const char *name, const char *most)
{
    char path[64], line[256];
    bool is_there = false;
    snprintf(path, sizeof path, "/proc/%d/limits", (int)pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0) {
            is_there = true;
            assert_contains(line + strlen(name), most);
        }
    fclose(file);
    assert_true(is_there);
}

static void what_it_may_use_up_is_bounded(void **state)
{
    (void)state;
    need_root();
    if (open_as(SOMEBODY) < 0)
        fail_msg("%s", err.text);
    const pid_t child = wait_for_standin();
    assert_limit(child, "Max open files", " 1024 ");
    assert_limit(child, "Max processes", " 16 ");
    assert_limit(child, "Max core file size", " 0 ");
}

/* Who is not root any more, as oneib-node, need not be able to end it: it dies all the same. */
static void closing_ends_them(void **state)
{
    (void)state;
    need_root();
    if (open_as(SOMEBODY) < 0)
        fail_msg("%s", err.text);
    const pid_t child = wait_for_standin(), supervisor = parent_of(child);
    end(NULL);
    wait_until_gone(child);
    wait_until_gone(supervisor);
}

static void a_user_that_is_missing_is_told_with_who_makes_it(void **state)
{
    (void)state;
    need_root();
    assert_int_equal(open_as("no-such-user-here"), -1);
    assert_int_equal(err.code, ONEIB_ERROR_NOT_FOUND);
    assert_contains(err.text, "there is no user \"no-such-user-here\"");
    assert_contains(err.text, "install.sh --node");
    assert_null(feed);
}

static void root_is_nobody_to_become(void **state)
{
    (void)state;
    need_root();
    assert_int_equal(open_as("root"), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_null(feed);
}

#define each(test) cmocka_unit_test_teardown(test, end)

int main(void)
{
    if (geteuid() == 0)
        reach_project();
    const struct CMUnitTest tests[] = {
        each(both_are_the_user_for_good_and_have_no_capability),
        each(what_it_may_use_up_is_bounded),
        each(closing_ends_them),
        each(a_user_that_is_missing_is_told_with_who_makes_it),
        each(root_is_nobody_to_become),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
