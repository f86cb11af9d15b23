// SPDX-License-Identifier: Apache-2.0
/*
 * The service that OpenNebula 6.10's scheduler asks over HTTP, with a stand-in for that scheduler,
 * which is written from its sources (mm_sched_standin.h).
 */
#include "../ports.h"
#include "base/clock.h"
#include "mm_sched_standin.h"
#include "scheduler_scene.h"
#include <signal.h>

#define ALL "0,1,2"

static unsigned port;
static pid_t service;
static struct mm_sched_answer answer;

static void await_service(void)
{
    for (unsigned waited = 0; waited < 10000; waited += 20, lab_sleep_ms(20)) {
        const int fd = mm_sched_connect(port);
        if (fd >= 0) {
            close(fd);
            return;
        }
    }
    fail_msg("nobody listens");
}

static int raise_lab(void **state)
{
    (void)state;
    char listen[64];
    const struct lab_config config = {.other = listen};
    raise_front_end();
    port = free_port();
    snprintf(listen, sizeof listen, "scheduler = { listen = \"127.0.0.1:%u\"; };", port);
    MUST(lab_config_write(lab, &config, &err));
    const char *const argv[] = {SCHEDULER_SCHEDULE, "--config", lab_config_path(lab), NULL};
    MUST(lab_spawn(lab, "schedule", NULL, argv, &service, &err));
    await_service();
    return 0;
}

static int end_lab(void **state)
{
    (void)state;
    return end_front_end();
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, raise_lab, end_lab)

/* ---- questions ------------------------------------------------------------------------------- */

static void ask(const uint32_t *vms, size_t count, const char *hosts)
{
    oneib_autotext struct oneib_text question = {0};
    for (size_t i = 0; i < count; i++)
        mm_sched_add_vm(&question, vms[i], hosts);
    oneib_text_append(&question, "]}");
    mm_sched_post(port, question.data, question.length, &answer);
}

static void must_answer(const char *body)
{
    assert_string_equal(answer.body, body);
    assert_int_equal(answer.status, 200);
}

static void must_answer_for(uint32_t vm, uint32_t host)
{
    char body[96];
    snprintf(body, sizeof body, "{\"VMS\":[{\"ID\":%" PRIu32 ",\"HOST_ID\":%" PRIu32 "}]}", vm,
             host);
    must_answer(body);
}

/* What leaves 6.10's scheduler as it was: anything but 200. Its log has the words. */
static void must_be_left(const char *why)
{
    assert_int_equal(answer.status, 503);
    if (!strstr(answer.body, why))
        fail_msg("\"%s\" does not say \"%s\"", answer.body, why);
    oneib_autofree char *log = lab_read_from(lab, "schedule.log", 0);
    assert_non_null(log);
    assert_non_null(strstr(log, why));
}

static void runs_on(uint32_t host)
{
    uint32_t member;
    MUST(lab_vm_start(lab, "runs", &red, 1, host, &member, &err));
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void a_vm_comes_to_the_leaf_where_its_cluster_runs_and_others_are_left_out(void **state)
{
    (void)state;
    runs_on(2);
    const uint32_t vms[] = {pending(&red), pending(NULL)};
    ask(vms, 2, ALL);
    must_answer_for(vms[0], 2);
}

/* 6.10 would take any host, and so walk around SCHED_REQUIREMENTS. */
static void no_host_is_answered_that_was_not_asked_about(void **state)
{
    (void)state;
    runs_on(2);
    const uint32_t vm = pending(&red);
    ask(&vm, 1, "0");
    must_answer_for(vm, 0);
    ask(&vm, 1, "7");
    must_answer("{\"VMS\":[]}");
    ask(&vm, 1, "");
    must_answer("{\"VMS\":[]}");
}

static void two_vms_do_not_meet_at_the_last_function(void **state)
{
    (void)state;
    place_host(0, "0x0000000000200001", 1);
    place_host(1, "0x0000000000200001", 0);
    place_host(2, "0x0000000000200002", 0);
    const uint32_t vms[] = {pending(&red), pending(&red)};
    ask(vms, 2, ALL);
    must_answer_for(vms[0], 0);
}

static void without_infiniband_no_host_is_asked_for(void **state)
{
    (void)state;
    unsigned before, after;
    const uint32_t vm = pending(NULL);
    MUST(lab_calls(lab, "one.hostpool.info", &before, &err));
    ask(&vm, 1, ALL);
    must_answer("{\"VMS\":[]}");
    mm_sched_post(port, "null", strlen("null"), &answer);
    must_answer("{\"VMS\":[]}");
    MUST(lab_calls(lab, "one.hostpool.info", &after, &err));
    assert_int_equal(after, before);
}

static void a_vm_that_cannot_be_read_costs_its_neighbours_nothing(void **state)
{
    (void)state;
    runs_on(2);
    const uint32_t vms[] = {pending(&red), pending(&red)};
    MUST(lab_vm_write(lab, vms[0], NO_END, &err));
    ask(vms, 2, ALL);
    must_answer_for(vms[1], 2);
}

/* ---- doubt ----------------------------------------------------------------------------------- */

static void an_oned_that_hangs_costs_five_seconds_and_one_that_is_gone_nothing(void **state)
{
    (void)state;
    runs_on(2);
    const uint32_t vm = pending(&red);
    MUST(lab_fault(lab, "hang", 1000, 60, &err));
    const double began = oneib_now_ms();
    ask(&vm, 1, ALL);
    must_be_left("");
    assert_true(oneib_now_ms() - began >= 4000);
    assert_true(oneib_now_ms() - began < 30000);
    MUST(lab_fault(lab, "hang", 0, 0, &err));
    ask(&vm, 1, ALL);
    must_answer_for(vm, 2);
    MUST(lab_standin_stop(lab, &err));
    ask(&vm, 1, ALL);
    must_be_left("one.vmpool.infoset");
}

static void without_oneibd_or_links_placement_is_opennebulas(void **state)
{
    (void)state;
    const uint32_t vm = pending(&red);
    const struct lab_config links = {.other = "qos = { classes = [\"silver: weight 32, SL 3\"]; "
                                              "links_file = \"/does/not/exist\"; };"};
    MUST(lab_config_write(lab, &links, &err));
    ask(&vm, 1, ALL);
    must_be_left("/does/not/exist");
    MUST(lab_config_write(lab, NULL, &err));
    for (uint32_t i = 0; i < HOSTS; i++)
        MUST(lab_host_update(lab, i, "IB_VFS_FREE=\"\"", &err));
    ask(&vm, 1, ALL);
    must_be_left("oneibd is not at work");
}

static void nonsense_is_left_to_opennebula(void **state)
{
    (void)state;
    const uint32_t vm = pending(&red);
    mm_sched_post(port, "nonsense", strlen("nonsense"), &answer);
    must_be_left("is none");
    mm_sched_post(port, "", 0, &answer);
    must_be_left("is none");
    mm_sched_post(port, "{\"VMS\":[{\"ID\":7", strlen("{\"VMS\":[{\"ID\":7"), &answer);
    must_be_left("was cut");
    const int fd = mm_sched_connect(port);
    assert_true(mm_sched_begin(fd, "GET /", ""));
    mm_sched_receive(fd, &answer);
    assert_int_equal(answer.status, 405);
    close(fd);
    const int other = mm_sched_connect(port);
    assert_true(mm_sched_begin(other, "POST /metrics", "Content-Length: 4\r\n"));
    mm_sched_receive(other, &answer);
    assert_int_equal(answer.status, 404);
    close(other);
    ask(&vm, 1, "1");
    must_answer_for(vm, 1);
}

/* ---- clients that are no scheduler ----------------------------------------------------------- */

#define MANY_BYTES ((size_t)200 << 20)

/* In chunks, so that nobody knows before how long it is. */
static size_t send_without_end(void)
{
    static char chunk[8 + (1 << 20) + 2];
    size_t sent = 0;
    const int fd = mm_sched_connect(port);
    memcpy(chunk, "100000\r\n", 8);
    memset(chunk + 8, '1', 1 << 20);
    memcpy(chunk + sizeof chunk - 2, "\r\n", 2);
    assert_true(mm_sched_begin(fd, "POST /", "Transfer-Encoding: chunked\r\n"));
    while (sent < MANY_BYTES && mm_sched_send(fd, chunk, sizeof chunk))
        sent += 1 << 20;
    close(fd);
    return sent;
}

static void a_question_of_200_mb_is_not_read(void **state)
{
    (void)state;
    char more[64];
    const uint32_t vm = pending(&red);
    const int fd = mm_sched_connect(port);
    snprintf(more, sizeof more, "Content-Length: %zu\r\n", MANY_BYTES);
    assert_true(mm_sched_begin(fd, "POST /", more));
    mm_sched_receive(fd, &answer);
    assert_int_equal(answer.status, 413);
    close(fd);
    assert_true(send_without_end() < MANY_BYTES / 2);
    ask(&vm, 1, "1");
    must_answer_for(vm, 1);
}

static void clients_that_never_end_a_question_keep_nobody_waiting(void **state)
{
    (void)state;
    int slow[10];
    const uint32_t vm = pending(&red);
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
        slow[i] = mm_sched_connect(port);
        assert_true(mm_sched_begin(slow[i], "POST /", "Content-Length: 100\r\n"));
        assert_true(mm_sched_send(slow[i], "{", 1));
    }
    const double began = oneib_now_ms();
    ask(&vm, 1, "1");
    must_answer_for(vm, 1);
    assert_true(oneib_now_ms() - began < 9000); /* none of them was given up */
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++)
        close(slow[i]);
    MUST(lab_end(lab, service, SIGTERM, 10000, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_vm_comes_to_the_leaf_where_its_cluster_runs_and_others_are_left_out),
        CASE(no_host_is_answered_that_was_not_asked_about),
        CASE(two_vms_do_not_meet_at_the_last_function),
        CASE(without_infiniband_no_host_is_asked_for),
        CASE(a_vm_that_cannot_be_read_costs_its_neighbours_nothing),
        CASE(an_oned_that_hangs_costs_five_seconds_and_one_that_is_gone_nothing),
        CASE(without_oneibd_or_links_placement_is_opennebulas),
        CASE(nonsense_is_left_to_opennebula),
        CASE(a_question_of_200_mb_is_not_read),
        CASE(clients_that_never_end_a_question_keep_nobody_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
