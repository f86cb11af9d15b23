// SPDX-License-Identifier: Apache-2.0
/* oneib-grants-standin is what its tests take it for, honest and not. */
#include "base/clock.h"
#include "base/file.h"
#include "grants/daemons.h"
#include "played_node.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SOON_MS 10000
#define LONG_MS 300
#define GRANT(vm) "vm=" vm " nic=1 network=7 device=mlx4_0 port=1 pkey=0x0005 "

static char directory[64], key[ONEIB_KEY_TEXT_SIZE];
static struct oneib_curve_pair pair;
static struct oneib_daemons daemons;
static struct played_node node;
static struct oneib_grants_message message;
static pid_t standin;
static struct oneib_error err;

/* ---- the scene ------------------------------------------------------------------------------- */

static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void put(const char *name, const char *text)
{
    assert_int_equal(oneib_file_replace(path_of(name), text, strlen(text), 0644, NULL, NULL, &err),
                     0);
}

static void put_of_node(const char *end, const char *text)
{
    char name[128];
    snprintf(name, sizeof name, "%s%s", key, end);
    put(name, text);
}

static char *text_of(const char *name)
{
    char *text;
    size_t length;
    return oneib_file_read(path_of(name), 65536, &text, &length, &err) == 0 ? text : NULL;
}

static void start(void)
{
    char word[8];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    standin = fork();
    assert_true(standin >= 0);
    if (standin == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(GRANTS_STANDIN, "oneib-grants-standin", directory, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    assert_true(read(ends[0], word, sizeof word) > 0);
    close(ends[0]);
    char *text = text_of("daemons");
    assert_non_null(text);
    assert_int_equal(oneib_daemons_parse(text, strlen(text), "daemons", &daemons, &err), 0);
    free(text);
}

static void stop(void)
{
    kill(standin, SIGKILL);
    waitpid(standin, NULL, 0);
}

static void connect_node(void)
{
    played_node_connect(&node, daemons.items[0].address, &pair, daemons.items[0].curve);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/oneib-grants-XXXXXX");
    assert_non_null(mkdtemp(directory));
    pair = played_curve_pair();
    oneib_key_format(pair.public, key);
    put_of_node(".grants", GRANT("42") "guid=0x0200000000002a01 setguid\n");
    start();
    connect_node();
    return 0;
}

static int tear_down(void **state)
{
    char line[128];
    (void)state;
    played_node_close(&node);
    stop();
    snprintf(line, sizeof line, "rm -r %s", directory);
    return system(line);
}

static void challenge(uint8_t number)
{
    static struct oneib_grants_message said;
    said = (struct oneib_grants_message){.kind = ONEIB_GRANTS_CHALLENGE};
    memset(said.challenge.nonce, number, sizeof said.challenge.nonce);
    assert_true(played_node_say(&node, &said));
}

static void report(const struct oneib_list_name *follows)
{
    static struct oneib_grants_message said;
    said = (struct oneib_grants_message){.kind = ONEIB_GRANTS_REPORT};
    said.report = (struct oneib_report_message){.follows = *follows, .complete = true, .count = 1};
    said.report.records[0] = (struct oneib_vf_record){
        .vf = {0, 0x81, 0, 1}, .device = "mlx4_0", .port = 1, .vm_id = 42, .nic_id = 1};
    assert_true(played_node_say(&node, &said));
}

static bool hears(int timeout_ms)
{
    return played_node_hear(&node, daemons.items[0].sign, &message, timeout_ms);
}

static void expect(enum oneib_grants_kind kind)
{
    assert_true(hears(SOON_MS));
    assert_int_equal(message.kind, kind);
}

/* Until the other file is there, and has these words. */
static void wait_for_words(const char *name, const char *words)
{
    const double end = oneib_now_ms() + SOON_MS;
    while (oneib_now_ms() < end) {
        char *text = text_of(name);
        const bool found = text && strstr(text, words);
        free(text);
        if (found)
            return;
        usleep(5000);
    }
    fail_msg("%s does not say \"%s\"", name, words);
}

static void wait_for_report(const char *words)
{
    char name[128];
    snprintf(name, sizeof name, "%s.report", key);
    wait_for_words(name, words);
}

/* It looks several times in this time. */
static void behave(const char *words)
{
    put("behaviour", words);
    usleep(200000);
}

/* ---- honest ---------------------------------------------------------------------------------- */

static void it_grants_what_the_file_says(void **state)
{
    (void)state;
    challenge(1);
    expect(ONEIB_GRANTS_LIFE);
    assert_int_equal(message.life.nonce[0], 1);
    assert_int_equal(message.life.name.serial, 1);
    assert_true(message.life.role.is_writer);
    expect(ONEIB_GRANTS_LIST);
    assert_int_equal(message.list.grants.count, 1);
    const struct oneib_grant *grant = message.list.grants.items;
    assert_int_equal(grant->vm_id, 42);
    assert_int_equal(grant->pkey, 5);
    assert_true(grant->may_set_guid && !grant->limited && !grant->has_vf);
}

static void another_file_is_another_list(void **state)
{
    (void)state;
    challenge(1);
    expect(ONEIB_GRANTS_LIFE);
    expect(ONEIB_GRANTS_LIST);
    put_of_node(".grants", GRANT("43") "guid=0x0200000000002b01 limited vf=0000:81:00.2\n" GRANT(
                               "41") "guid=0x0200000000002901\n");
    expect(ONEIB_GRANTS_LIST);
    assert_int_equal(message.list.name.serial, 2);
    assert_int_equal(message.list.grants.count, 2);
    assert_int_equal(message.list.grants.items[0].vm_id, 41);
    assert_true(message.list.grants.items[1].limited && message.list.grants.items[1].has_vf);
    put_of_node(".grants", "nonsense\n");
    assert_false(hears(LONG_MS));
    put_of_node(".grants", "");
    expect(ONEIB_GRANTS_LIST);
    assert_int_equal(message.list.grants.count, 0);
}

static void it_keeps_what_the_node_says(void **state)
{
    (void)state;
    static struct oneib_grants_message want = {.kind = ONEIB_GRANTS_WANT,
                                               .want = {.vm_id = 7, .network_id = 8, .nic_id = 9}};
    char line[128];
    report(&(struct oneib_list_name){0, 0});
    wait_for_report("follows=none serial=0 believes=no complete=yes");
    wait_for_report("\nvf=0000:81:00.1 device=mlx4_0");
    challenge(1);
    expect(ONEIB_GRANTS_LIFE);
    expect(ONEIB_GRANTS_LIST);
    const struct oneib_list_name first = message.list.name;
    report(&first);
    wait_for_report("follows=current serial=1");
    challenge(2); /* it follows: no list comes again */
    expect(ONEIB_GRANTS_LIFE);
    assert_false(hears(LONG_MS));
    put_of_node(".grants", "");
    expect(ONEIB_GRANTS_LIST);
    report(&first);
    wait_for_report("follows=older serial=1");
    report(&(struct oneib_list_name){first.instance ^ 1, 1});
    wait_for_report("follows=other serial=1");
    assert_true(played_node_say(&node, &want));
    snprintf(line, sizeof line, "%s vm=7 nic=9 network=8\n", key);
    wait_for_words("wants", line);
}

static void a_node_without_a_file_is_heard_no_more(void **state)
{
    (void)state;
    challenge(1);
    expect(ONEIB_GRANTS_LIFE);
    expect(ONEIB_GRANTS_LIST);
    char name[128];
    snprintf(name, sizeof name, "%s.grants", key);
    assert_int_equal(unlink(path_of(name)), 0);
    bool is_heard = true;
    for (int i = 0; i < 50 && is_heard; i++) {
        challenge(2);
        is_heard = hears(LONG_MS);
    }
    assert_false(is_heard);
}

/* ---- not honest ------------------------------------------------------------------------------ */

static void its_role_is_what_it_is_told(void **state)
{
    (void)state;
    behave("no-writer sm-lid=4\nsnapshot-age=61000 no-lists");
    challenge(1);
    expect(ONEIB_GRANTS_LIFE);
    assert_false(message.life.role.is_writer);
    assert_true(message.life.role.has_sm);
    assert_int_equal(message.life.role.sm_lid, 4);
    assert_int_equal(message.life.role.snapshot_age_ms, 61000);
    assert_false(hears(LONG_MS));
}

static void challenges_are_left_without_an_answer_or_with_a_wrong_one(void **state)
{
    (void)state;
    behave("no-life");
    challenge(1);
    expect(ONEIB_GRANTS_LIST);
    behave("wrong-nonce no-lists");
    challenge(2);
    expect(ONEIB_GRANTS_LIFE);
    assert_int_not_equal(message.life.nonce[0], 2);
}

static void what_it_says_is_for_another_node_or_of_another_signer(void **state)
{
    (void)state;
    static uint8_t bytes[ONEIB_GRANTS_MESSAGE_MAX];
    size_t inner;
    behave("wrong-node");
    challenge(1);
    expect(ONEIB_GRANTS_LIFE);
    assert_memory_not_equal(message.life.node, pair.public, sizeof pair.public);
    expect(ONEIB_GRANTS_LIST);
    assert_memory_not_equal(message.list.node, pair.public, sizeof pair.public);
    behave("wrong-signature");
    challenge(2);
    const size_t length = played_node_hear_bytes(&node, bytes, SOON_MS);
    assert_true(length > 0);
    assert_false(oneib_unseal(daemons.items[0].sign, bytes, length, &inner));
}

static void an_old_list_is_played_again_also_after_a_new_start(void **state)
{
    (void)state;
    challenge(1);
    expect(ONEIB_GRANTS_LIFE);
    expect(ONEIB_GRANTS_LIST);
    const struct oneib_list_name first = message.list.name;
    behave("replay no-lists");
    put_of_node(".grants", "");
    for (int starts = 0; starts < 2; starts++) {
        challenge(2);
        expect(ONEIB_GRANTS_LIFE);
        assert_true((message.life.name.instance == first.instance) == (starts == 0));
        expect(ONEIB_GRANTS_LIST);
        assert_memory_equal(&message.list.name, &first, sizeof first);
        assert_int_equal(message.list.grants.count, 1);
        played_node_close(&node);
        stop();
        start();
        connect_node();
    }
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(it_grants_what_the_file_says),
        EACH(another_file_is_another_list),
        EACH(it_keeps_what_the_node_says),
        EACH(a_node_without_a_file_is_heard_no_more),
        EACH(its_role_is_what_it_is_told),
        EACH(challenges_are_left_without_an_answer_or_with_a_wrong_one),
        EACH(what_it_says_is_for_another_node_or_of_another_signer),
        EACH(an_old_list_is_played_again_also_after_a_new_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
