// SPDX-License-Identifier: Apache-2.0
/* What the post's thread does by itself: while the daemon's, which is the test's, does nothing. */
#include "../../open_files.h"
#include "../../ports.h"
#include "base/clock.h"
#include "oneibd/node_server.h"
#include "played_node.h"
#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SOON_MS 10000 /* what is awaited comes before; a busy machine is slow */
#define NOTHING_MS 700
#define AGAIN_MS 550 /* a list may be sent again then */

static struct oneib_error err;
static struct oneib_node_server *post;
static struct oneib_ledger_daemon keys;
static struct played_node node;
static struct oneib_curve_pair pair;
static char directory[64], key_file[80], address[64];
static struct oneib_grants_message message; /* large */

/* ---- the scene ------------------------------------------------------------------------------- */

static void open_post(void)
{
    post = oneib_node_server_open(address, key_file, &err);
    if (!post)
        fail_msg("%s", err.text);
    oneib_node_server_keys(post, &keys);
}

static void connect_node(void)
{
    played_node_connect(&node, address, &pair, keys.curve);
}

static int begin(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/oneib-post-XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(key_file, sizeof key_file, "%s/key", directory);
    snprintf(address, sizeof address, "tcp://127.0.0.1:%u", free_port());
    pair = played_curve_pair();
    open_post();
    return 0;
}

static int end(void **state)
{
    (void)state;
    played_node_close(&node);
    memset(&node, 0, sizeof node);
    oneib_node_server_close(post);
    unlink(key_file);
    return rmdir(directory);
}

/* Two others are admitted before it, in no order. */
static void admit(bool admitted)
{
    struct oneib_identity items[] = {{.host_id = 1}, {.host_id = 2}, {.host_id = 3}};
    memset(items[0].key, 0xff, sizeof items[0].key);
    memset(items[1].key, 0xfe, sizeof items[1].key);
    memcpy(items[2].key, pair.public, sizeof items[2].key);
    const struct oneib_identities identities = {.items = items, .count = admitted ? 3 : 2};
    oneib_node_server_admit(post, &identities);
}

static void set_role(double read_ms)
{
    const struct oneib_daemon_role role = {.is_writer = true, .has_sm = true, .sm_lid = 7};
    oneib_node_server_set_role(post, &role, read_ms);
}

static void send_list(uint64_t serial, uint32_t vm)
{
    static struct oneib_grant_list list;
    list.count = 1;
    list.items[0] = (struct oneib_grant){.vm_id = vm,
                                         .network_id = 7,
                                         .nic_id = 1,
                                         .port = 1,
                                         .pkey = 5,
                                         .device = "mlx4_0",
                                         .guid = oneib_guid_encode(0, vm, 1)};
    oneib_node_server_send(post, pair.public, serial, &list);
}

static void challenge(uint8_t number)
{
    memset(&message, 0, sizeof message);
    message.kind = ONEIB_GRANTS_CHALLENGE;
    memset(message.challenge.nonce, number, sizeof message.challenge.nonce);
    assert_true(played_node_say(&node, &message));
}

static void report(struct oneib_list_name follows, size_t count)
{
    memset(&message, 0, sizeof message);
    message.kind = ONEIB_GRANTS_REPORT;
    message.report.follows = follows;
    message.report.boot[0] = 1;
    message.report.complete = true;
    message.report.count = count;
    for (size_t i = 0; i < count; i++)
        message.report.records[i] =
            (struct oneib_vf_record){.vf = {.bus = 0x81, .slot = (uint8_t)(i + 1)},
                                     .device = "mlx4_0",
                                     .index = (uint16_t)i,
                                     .port = 1,
                                     .vm_id = 42,
                                     .nic_id = (uint8_t)i,
                                     .network_id = 7,
                                     .pkey = 5,
                                     .stage = ONEIB_VF_OPEN,
                                     .guid = ONEIB_VF_GUID_SET};
    assert_true(played_node_say(&node, &message));
}

static void want(uint32_t vm)
{
    memset(&message, 0, sizeof message);
    message.kind = ONEIB_GRANTS_WANT;
    message.want = (struct oneib_want_message){.vm_id = vm, .network_id = 7, .nic_id = 1};
    assert_true(played_node_say(&node, &message));
}

/* The next message of that kind; others before it are none of the test's. */
static void await_kind(enum oneib_grants_kind kind)
{
    do
        if (!played_node_hear(&node, keys.sign, &message, SOON_MS))
            fail_msg("nothing has come");
    while (message.kind != kind);
}

static void assert_nothing_comes(void)
{
    assert_false(played_node_hear(&node, keys.sign, &message, NOTHING_MS));
}

static struct oneib_node_server_item take(void)
{
    struct oneib_node_server_item item;
    const double until = oneib_now_ms() + SOON_MS;
    while (!oneib_node_server_take(post, &item)) {
        struct pollfd descriptor = {.fd = oneib_node_server_fd(post), .events = POLLIN};
        if (oneib_now_ms() > until)
            fail_msg("nothing was heard");
        assert_int_equal(poll(&descriptor, 1, SOON_MS), 1); /* it is told of */
    }
    assert_memory_equal(item.key, pair.public, sizeof item.key);
    return item;
}

/* ---- what it does ---------------------------------------------------------------------------- */

static void challenges_are_answered_while_the_daemon_does_nothing(void **state)
{
    (void)state;
    double soonest = SOON_MS;
    admit(true);
    set_role(oneib_now_ms() - 5000);
    connect_node();
    for (uint8_t i = 1; i < 20; i++) {
        const double said = oneib_now_ms();
        challenge(i);
        await_kind(ONEIB_GRANTS_LIFE);
        soonest = oneib_sooner(soonest, oneib_now_ms() - said);
        assert_int_equal(message.life.nonce[0], i);
        assert_memory_equal(message.life.node, pair.public, ONEIB_PUBLIC_KEY_SIZE);
        assert_int_equal(message.life.name.instance, oneib_node_server_instance(post));
        assert_int_equal(message.life.name.serial, 0);
        assert_true(message.life.role.is_writer);
        assert_int_equal(message.life.role.sm_lid, 7);
        assert_true(message.life.role.snapshot_age_ms >= 5000);
        assert_true(message.life.role.snapshot_age_ms < 5000 + 19 * SOON_MS);
    }
    assert_true(soonest < 150); /* it is heard at once, though a busy machine is slow */
}

static double processor_ms(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return 1e3 * (double)used.tv_sec + 1e-6 * (double)used.tv_nsec;
}

static void while_nothing_happens_nothing_is_done(void **state)
{
    (void)state;
    admit(true);
    set_role(oneib_now_ms());
    connect_node();
    challenge(1);
    await_kind(ONEIB_GRANTS_LIFE);
    const double before = processor_ms();
    poll(NULL, 0, 500);
    assert_true(processor_ms() - before < 50);
}

/* Bit n - 1 is signal n. */
static unsigned long long blocked_in(const char *task)
{
    char path[64], line[256];
    unsigned long long blocked = 0;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/status", task);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, "SigBlk:", 7) == 0)
            blocked = strtoull(line + 7, NULL, 16);
    fclose(file);
    return blocked;
}

static void signals_are_the_daemons_own(void **state)
{
    (void)state;
    const unsigned long long end = 1ull << (SIGTERM - 1);
    char own[20];
    const struct dirent *task;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    snprintf(own, sizeof own, "%d", (int)getpid());
    while ((task = readdir(tasks)))
        if (task->d_name[0] != '.')
            assert_true(!(blocked_in(task->d_name) & end) == (strcmp(task->d_name, own) == 0));
    closedir(tasks);
}

static void before_oned_was_read_nothing_is_said(void **state)
{
    (void)state;
    admit(true);
    send_list(1, 42);
    connect_node();
    challenge(1);
    assert_nothing_comes();
    set_role(oneib_now_ms());
    challenge(2);
    await_kind(ONEIB_GRANTS_LIFE);
    assert_int_equal(message.life.nonce[0], 2);
}

static void a_list_reaches_a_node_that_is_connected(void **state)
{
    (void)state;
    admit(true);
    set_role(oneib_now_ms());
    connect_node();
    challenge(1);
    await_kind(ONEIB_GRANTS_LIFE);
    send_list(4, 42);
    await_kind(ONEIB_GRANTS_LIST);
    assert_int_equal(message.list.name.serial, 4);
    assert_int_equal(message.list.grants.count, 1);
    assert_int_equal(message.list.grants.items[0].vm_id, 42);
    challenge(2);
    await_kind(ONEIB_GRANTS_LIFE);
    assert_int_equal(message.life.name.serial, 4);
}

static void a_node_that_connects_later_gets_its_list_with_its_first_word(void **state)
{
    (void)state;
    admit(true);
    set_role(oneib_now_ms());
    send_list(4, 42);
    poll(NULL, 0, 50); /* it cannot have been sent */
    connect_node();
    challenge(1);
    await_kind(ONEIB_GRANTS_LIST);
    assert_int_equal(message.list.name.serial, 4);
}

static void a_node_that_follows_another_list_gets_its_list_again(void **state)
{
    (void)state;
    const struct oneib_list_name ours = {oneib_node_server_instance(post), 4};
    const struct oneib_list_name others[] = {{0}, {ours.instance, 3}, {ours.instance + 1, 4}};
    admit(true);
    set_role(oneib_now_ms());
    connect_node();
    challenge(1);
    await_kind(ONEIB_GRANTS_LIFE);
    send_list(4, 42);
    await_kind(ONEIB_GRANTS_LIST);
    poll(NULL, 0, AGAIN_MS);
    report(ours, 0);
    challenge(2);
    assert_true(played_node_hear(&node, keys.sign, &message, SOON_MS));
    assert_int_equal(message.kind, ONEIB_GRANTS_LIFE);
    assert_nothing_comes();
    for (size_t i = 0; i < 3; i++) { /* the first is a service's that has begun anew */
        report(others[i], 0);
        await_kind(ONEIB_GRANTS_LIST);
        assert_int_equal(message.list.name.serial, 4);
        poll(NULL, 0, AGAIN_MS);
    }
}

static void the_last_report_is_handed_over(void **state)
{
    (void)state;
    admit(true);
    connect_node();
    report((struct oneib_list_name){0}, 0);
    struct oneib_node_server_item item = take();
    assert_non_null(item.report);
    assert_int_equal(item.report->count, 0);
    free(item.report);
    for (size_t count = 1; count <= 20; count++)
        report((struct oneib_list_name){9, 3}, count);
    /* However many of them the thread has heard by now. */
    size_t taken = 0;
    while (taken < 20) {
        item = take();
        assert_true(item.report->count > taken);
        taken = item.report->count;
        assert_int_equal(item.report->follows.serial, 3);
        assert_int_equal(item.report->records[taken - 1].nic_id, taken - 1);
        free(item.report);
    }
    assert_false(oneib_node_server_take(post, &item));
    struct pollfd descriptor = {.fd = oneib_node_server_fd(post), .events = POLLIN};
    assert_int_equal(poll(&descriptor, 1, 0), 0);
}

static void wants_are_handed_over_once_and_are_bounded(void **state)
{
    (void)state;
    admit(true);
    connect_node();
    want(99);
    struct oneib_node_server_item item = take();
    assert_int_equal(item.want.vm_id, 99);
    assert_null(item.report);
    assert_false(oneib_node_server_take(post, &item));
    want(1);
    want(1);
    for (uint32_t vm = 2; vm < 2 + 2 * ONEIB_POST_WANTS; vm++)
        want(vm);
    report((struct oneib_list_name){0}, 0); /* behind them */
    struct pollfd descriptor = {.fd = oneib_node_server_fd(post), .events = POLLIN};
    while (!item.report) {
        assert_true(poll(&descriptor, 1, SOON_MS) > 0);
        poll(NULL, 0, 300);
        assert_true(oneib_node_server_take(post, &item));
    }
    free(item.report);
    uint32_t wants = 0;
    for (; oneib_node_server_take(post, &item); wants++)
        assert_int_equal(item.want.vm_id, wants + 1);
    assert_int_equal(wants, ONEIB_POST_WANTS);
}

static void who_is_not_admitted_any_more_is_heard_no_longer(void **state)
{
    (void)state;
    struct oneib_node_server_item item;
    admit(true);
    set_role(oneib_now_ms());
    connect_node();
    report((struct oneib_list_name){0}, 0);
    item = take();
    free(item.report);
    admit(false);
    poll(NULL, 0, 300);
    report((struct oneib_list_name){0}, 1);
    challenge(1);
    assert_nothing_comes();
    assert_false(oneib_node_server_take(post, &item));
    assert_true(oneib_node_server_counts(post).refused_keys > 0);
}

static void what_is_no_message_is_counted(void **state)
{
    (void)state;
    admit(true);
    set_role(oneib_now_ms());
    connect_node();
    assert_true(played_node_say_bytes(&node, "nothing", 7));
    report((struct oneib_list_name){0}, 0);
    struct oneib_node_server_item item = take();
    free(item.report);
    const double until = oneib_now_ms() + SOON_MS;
    while (oneib_node_server_counts(post).malformed == 0 && oneib_now_ms() < until)
        poll(NULL, 0, 1);
    assert_int_equal(oneib_node_server_counts(post).malformed, 1);
    assert_int_equal(oneib_node_server_counts(post).refused_keys, 0);
}

/* Who is turned away does not come again soon: at the daemon's start nobody is. */
static void who_comes_before_anybody_is_admitted_waits(void **state)
{
    (void)state;
    connect_node();
    report((struct oneib_list_name){0}, 0);
    poll(NULL, 0, 500);
    admit(true);
    struct oneib_node_server_item item = take();
    free(item.report);
}

static void what_hosts_may_hold_is_signed_by_the_key_that_nodes_know(void **state)
{
    (void)state;
    const oneib_pkey held[] = {5, 6};
    char text[ONEIB_KEYS_SEAL_TEXT_SIZE];
    uint64_t serial;
    oneib_node_server_seal_keys(post, 3, 9, held, 2, text);
    assert_true(oneib_keys_are_sealed(keys.sign, 3, held, 2, text, &serial));
    assert_int_equal(serial, 9);
}

static void another_start_is_another_instance_with_the_same_keys(void **state)
{
    (void)state;
    const struct oneib_ledger_daemon before = keys;
    const uint64_t instance = oneib_node_server_instance(post);
    const size_t files = count_open_files();
    assert_int_not_equal(instance, 0);
    oneib_node_server_close(post);
    open_post();
    assert_int_equal(count_open_files(), files);
    assert_memory_equal(keys.curve, before.curve, sizeof keys.curve);
    assert_memory_equal(keys.sign, before.sign, sizeof keys.sign);
    assert_int_not_equal(oneib_node_server_instance(post), instance);
}

static void a_place_that_is_taken_is_an_error_that_names_the_key(void **state)
{
    (void)state;
    const size_t files = count_open_files();
    assert_null(oneib_node_server_open(address, key_file, &err));
    assert_non_null(strstr(err.text, "daemon.grants"));
    assert_null(oneib_node_server_open("tcp://127.0.0.1:1", "/nowhere/key", &err));
    assert_non_null(strstr(err.text, "daemon.key"));
    assert_int_equal(count_open_files(), files);
}

#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(challenges_are_answered_while_the_daemon_does_nothing),
        test(while_nothing_happens_nothing_is_done),
        test(signals_are_the_daemons_own),
        test(before_oned_was_read_nothing_is_said),
        test(a_list_reaches_a_node_that_is_connected),
        test(a_node_that_connects_later_gets_its_list_with_its_first_word),
        test(a_node_that_follows_another_list_gets_its_list_again),
        test(the_last_report_is_handed_over),
        test(wants_are_handed_over_once_and_are_bounded),
        test(who_is_not_admitted_any_more_is_heard_no_longer),
        test(what_is_no_message_is_counted),
        test(who_comes_before_anybody_is_admitted_waits),
        test(what_hosts_may_hold_is_signed_by_the_key_that_nodes_know),
        test(another_start_is_another_instance_with_the_same_keys),
        test(a_place_that_is_taken_is_an_error_that_names_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
