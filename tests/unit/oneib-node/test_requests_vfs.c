// SPDX-License-Identifier: Apache-2.0
/* What a connection is given, told and what is logged of it, on a node with an adapter. */
#include "../hca/sm_stand_in.h"
#include "log_scene.h"
#include "requests_scene.h"
#include <math.h>
#include <stdio.h>
#include <time.h>

#define KEY 5
#define KEY_INDEX 3
#define FULL 0x8000

static const struct tree_hca hca = {.driver = ONEIB_HCA_MLX4, .vfs = 4, .pkeys = 7};

static int begin(void **state)
{
    const struct oneib_vfs_options options = {.pkey_wait_ms = 150, .guid_wait_ms = 5000};
    (void)state;
    tree_reset(NULL);
    tree_add_hca(&hca);
    tree_set_pkey(&hca, 1, KEY_INDEX, FULL | KEY);
    sm_start(&hca);
    open_service(&options);
    domains.count = 0;
    oneib_vfs_set_domains(requests.vfs, &domains);
    for (size_t i = 0; i < 3; i++)
        peers[i].who = (struct ucred){.pid = 4711, .uid = 77};
    return 0;
}

static int end_with_adapter(void **state)
{
    end(state);
    sm_stop();
    return 0;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static struct oneib_answer tell(struct oneib_peer *peer)
{
    assert_int_equal(peer->state, ONEIB_PEER_SAYING);
    const struct oneib_answer answer = oneib_requests_answer(&requests, peer);
    oneib_requests_answered(&requests, peer);
    return answer;
}

/* The one answer, after which the connection may ask on. */
static struct oneib_answer answer_to(struct oneib_peer *peer, const struct oneib_request *request)
{
    oneib_requests_take(&requests, peer, request);
    const struct oneib_answer answer = tell(peer);
    assert_int_equal(peer->state, ONEIB_PEER_HEARING);
    return answer;
}

static struct oneib_answer ask_to_have(struct oneib_peer *peer, uint8_t nic_id)
{
    const struct oneib_request request = have(nic_id, 0);
    return answer_to(peer, &request);
}

static struct oneib_answer ask_to_release(struct oneib_peer *peer, uint32_t vm_id, int32_t nic_id)
{
    const struct oneib_request request = release_of(vm_id, nic_id, 0);
    return answer_to(peer, &request);
}

static void step(void)
{
    struct oneib_error err;
    struct oneib_vfs_changes changes;
    const uint32_t due = oneib_vfs_due_ms(requests.vfs);
    const long wait = due < 50 ? due : 50;
    nanosleep(&(struct timespec){.tv_nsec = wait * 1000000}, NULL);
    oneib_vfs_step(requests.vfs, ONEIB_VFS_DUE, &changes, &err);
}

/* WAIT, until it is answered. */
static void wait_for_all(struct oneib_peer *peer)
{
    ask(peer, ONEIB_REQUEST_WAIT);
    for (unsigned i = 0; i < 500 && peer->state == ONEIB_PEER_WAITING; i++) {
        step();
        oneib_requests_go_on(&requests, peer);
    }
    assert_int_equal(peer->state, ONEIB_PEER_SAYING);
}

static void assert_end(struct oneib_peer *peer)
{
    assert_int_equal(tell(peer).kind, ONEIB_ANSWER_END);
    assert_int_equal(peer->state, ONEIB_PEER_HEARING);
    assert_int_equal(peer->asked_count, 0);
}

static void assert_told_of(struct oneib_peer *peer, uint8_t nic_id, enum oneib_vf_stage stage)
{
    const struct oneib_answer answer = tell(peer);
    assert_int_equal(answer.kind, ONEIB_ANSWER_RECORD);
    assert_int_equal(answer.record.vm_id, 42);
    assert_int_equal(answer.record.nic_id, nic_id);
    assert_int_equal(answer.record.stage, stage);
}

static void give(uint8_t nic_id)
{
    assert_int_equal(ask_to_have(&peers[0], nic_id).kind, ONEIB_ANSWER_RECORD);
    wait_for_all(&peers[0]);
    assert_told_of(&peers[0], nic_id, ONEIB_VF_OPEN);
    assert_end(&peers[0]);
}

static void wait_until_nothing_is_left(void)
{
    for (unsigned i = 0; i < 500 && oneib_vfs_table(requests.vfs)->count > 0; i++)
        step();
    assert_int_equal(oneib_vfs_table(requests.vfs)->count, 0);
}

static void refuse_to_open(unsigned vf, mode_t mode)
{
    char directory[ONEIB_PCI_TEXT_SIZE];
    tree_vf_directory(&hca, vf, directory);
    tree_set_mode(mode, "/sys/class/infiniband/mlx4_0/iov/%s/ports/1/pkey_idx/0", directory);
}

/* ---- having ---------------------------------------------------------------------------------- */

static void a_have_is_answered_at_once_and_its_wait_when_the_vf_is_open(void **state)
{
    (void)state;
    sm_accept_guids(false);
    begin_log();
    const struct oneib_answer first = ask_to_have(&peers[0], 1);
    ask(&peers[0], ONEIB_REQUEST_WAIT);
    const enum oneib_peer_state then = peers[0].state;
    oneib_requests_go_on(&requests, &peers[0]);
    const enum oneib_peer_state still = peers[0].state;
    sm_accept_guids(true);
    wait_for_all(&peers[0]);
    end_log();
    assert_int_equal(first.kind, ONEIB_ANSWER_RECORD);
    assert_int_not_equal(first.record.stage, ONEIB_VF_OPEN);
    assert_int_equal(then, ONEIB_PEER_WAITING);
    assert_int_equal(still, ONEIB_PEER_WAITING);
    assert_told_of(&peers[0], 1, ONEIB_VF_OPEN);
    assert_end(&peers[0]);
    assert_logged("VM 42 NIC 1 has 0000:81:00.1 of mlx4_0, preparing, P_Key 0x0005 "
                  "(asked by process 4711 of uid 77)\n");
    assert_logged("VM 42 NIC 1 has 0000:81:00.1 of mlx4_0, open, P_Key 0x0005 "
                  "(asked by process 4711 of uid 77)\n");
}

static void what_is_had_already_is_told_and_not_logged(void **state)
{
    (void)state;
    ask_to_have(&peers[0], 1);
    ask_to_have(&peers[0], 2);
    wait_for_all(&peers[0]);
    assert_told_of(&peers[0], 1, ONEIB_VF_OPEN);
    assert_told_of(&peers[0], 2, ONEIB_VF_OPEN);
    assert_end(&peers[0]);
    begin_log();
    const struct oneib_answer again = ask_to_have(&peers[0], 1);
    wait_for_all(&peers[0]);
    end_log();
    assert_int_equal(again.record.stage, ONEIB_VF_OPEN);
    assert_told_of(&peers[0], 1, ONEIB_VF_OPEN);
    assert_end(&peers[0]);
    assert_string_equal(logged, "");
}

static void what_is_opened_again_is_logged(void **state)
{
    (void)state;
    struct oneib_error err;
    struct oneib_vfs_changes changes;
    give(1);
    tree_set_pkey(&hca, 1, KEY_INDEX, 0);
    oneib_vfs_step(requests.vfs, ONEIB_VFS_EVERYTHING, &changes, &err);
    assert_int_equal(oneib_vfs_table(requests.vfs)->items[0].stage, ONEIB_VF_CLOSED);
    tree_set_pkey(&hca, 1, KEY_INDEX, FULL | KEY);
    begin_log();
    const struct oneib_answer again = ask_to_have(&peers[0], 1);
    end_log();
    assert_int_equal(again.record.stage, ONEIB_VF_OPEN);
    assert_logged("VM 42 NIC 1 has 0000:81:00.1 of mlx4_0, open, ");
}

static void a_have_that_fails_is_told_and_logged(void **state)
{
    (void)state;
    feed.list.items[0].pkey = 6;
    tell_grants();
    begin_log();
    ask_to_have(&peers[0], 1);
    wait_for_all(&peers[0]);
    end_log();
    const struct oneib_answer answer = tell(&peers[0]);
    assert_int_equal(answer.kind, ONEIB_ANSWER_FAILED);
    assert_non_null(strstr(answer.text, "P_Key 0x0006"));
    assert_end(&peers[0]);
    assert_logged("warning: failed: VM 42 NIC 1");
    assert_logged("P_Key 0x0006");
    assert_null(strstr(logged, "NIC 1 has 0000:81:00.1 of mlx4_0, open"));
}

static void what_is_refused_is_logged_with_who_asked(void **state)
{
    (void)state;
    requests.grant_wait_ms = 0;
    begin_log();
    const struct oneib_answer answer = ask_to_have(&peers[0], 4);
    end_log();
    assert_int_equal(answer.kind, ONEIB_ANSWER_FAILED);
    assert_logged("warning: refused: VM 42 NIC 4: oneibd has not granted it");
    assert_logged("(asked by process 4711 of uid 77)\n");
}

static void who_goes_has_what_he_began_undone(void **state)
{
    (void)state;
    sm_accept_guids(false);
    ask_to_have(&peers[0], 1);
    ask(&peers[1], ONEIB_REQUEST_LIST);
    assert_int_equal(peers[1].state, ONEIB_PEER_SAYING);
    oneib_requests_forget(&requests, &peers[0]);
    assert_int_equal(peers[0].asked_count, 0);
    ask(&peers[2], ONEIB_REQUEST_LIST); /* it is to see what was undone */
    assert_int_equal(peers[2].state, ONEIB_PEER_HELD);
    wait_until_nothing_is_left();
}

/* ---- giving back ----------------------------------------------------------------------------- */

static void a_release_is_waited_for_until_its_vf_is_free(void **state)
{
    (void)state;
    give(1);
    sm_let_guids_go(false);
    begin_log();
    const struct oneib_answer answer = ask_to_release(&peers[0], 42, -1);
    ask(&peers[0], ONEIB_REQUEST_WAIT);
    const enum oneib_peer_state then = peers[0].state;
    end_log();
    sm_let_guids_go(true);
    assert_int_equal(answer.kind, ONEIB_ANSWER_RELEASED);
    assert_int_equal(answer.released.lingering, 1);
    assert_int_equal(then, ONEIB_PEER_WAITING);
    assert_string_equal(logged,
                        "info: VM 42 gives back: 0 freed, 1 closed and not free yet, 0 left to its "
                        "running domain (asked by process 4711 of uid 77)\n");
    begin_log();
    wait_for_all(&peers[0]);
    end_log();
    assert_end(&peers[0]);
    assert_string_equal(logged, "");
    assert_int_equal(oneib_vfs_table(requests.vfs)->count, 0);
}

static void a_release_that_finds_nothing_is_not_logged(void **state)
{
    (void)state;
    begin_log();
    const struct oneib_answer answer = ask_to_release(&peers[0], 41, -1);
    end_log();
    assert_int_equal(answer.kind, ONEIB_ANSWER_RELEASED);
    assert_string_equal(logged, "");
    wait_for_all(&peers[0]);
    assert_end(&peers[0]);
}

static void a_release_that_fails_is_told_and_waited_for_by_nobody(void **state)
{
    (void)state;
    give(1);
    refuse_to_open(0, 0444);
    begin_log();
    const struct oneib_answer answer = ask_to_release(&peers[0], 42, -1);
    end_log();
    assert_int_equal(answer.kind, ONEIB_ANSWER_FAILED);
    assert_logged("warning: refused: ");
    ask(&peers[0], ONEIB_REQUEST_WAIT);
    assert_end(&peers[0]);
    refuse_to_open(0, 0644);
}

/* ---- many at once ---------------------------------------------------------------------------- */

static void of_what_was_asked_haves_alone_are_told_in_their_order(void **state)
{
    (void)state;
    ask_to_release(&peers[0], 42, 2);
    ask_to_have(&peers[0], 2);
    ask_to_release(&peers[0], 42, 1);
    ask_to_have(&peers[0], 1);
    ask_to_release(&peers[0], 41, -1);
    wait_for_all(&peers[0]);
    assert_told_of(&peers[0], 2, ONEIB_VF_OPEN);
    assert_told_of(&peers[0], 1, ONEIB_VF_OPEN);
    assert_end(&peers[0]);
}

static void what_was_released_meanwhile_is_not_told_of(void **state)
{
    (void)state;
    give(1);
    give(2);
    ask_to_have(&peers[0], 1);
    ask_to_have(&peers[0], 2);
    ask_to_release(&peers[1], 42, 1);
    wait_for_all(&peers[1]);
    assert_end(&peers[1]);
    wait_for_all(&peers[0]);
    assert_told_of(&peers[0], 2, ONEIB_VF_OPEN);
    assert_end(&peers[0]);
}

static void who_has_asked_for_64_things_may_only_wait_for_them(void **state)
{
    (void)state;
    give(1);
    for (unsigned i = 0; i < ONEIB_SERVICE_ASKED_MAX; i++)
        assert_int_equal(ask_to_have(&peers[0], 1).kind, ONEIB_ANSWER_RECORD);
    const struct oneib_answer answer = ask_to_have(&peers[0], 1);
    assert_int_equal(answer.kind, ONEIB_ANSWER_FAILED);
    assert_non_null(strstr(answer.text, "64 requests in progress"));
    wait_for_all(&peers[0]);
    for (unsigned i = 0; i < ONEIB_SERVICE_ASKED_MAX; i++)
        assert_told_of(&peers[0], 1, ONEIB_VF_OPEN);
    assert_end(&peers[0]);
    assert_int_equal(ask_to_have(&peers[0], 1).kind, ONEIB_ANSWER_RECORD);
}

/* ---- who reads meanwhile --------------------------------------------------------------------- */

static struct oneib_request announcement(void)
{
    const struct oneib_daemons announced = {.count = 1, .items[0].address = "tcp://10.0.0.1:2633"};
    return oneib_request_announcing(&announced);
}

/* Whoever asks for a list after it is shown what it has changed, and waits for who still reads. */
static void each_request_that_may_change_something_makes_a_new_list(void **state)
{
    (void)state;
    const struct oneib_request changing[] = {have(1, 0), release_of(42, -1, 0), announcement()};
    for (size_t i = 0; i < sizeof changing / sizeof changing[0]; i++) {
        ask(&peers[1], ONEIB_REQUEST_LIST);
        assert_int_equal(peers[1].state, ONEIB_PEER_SAYING);
        answer_to(&peers[0], &changing[i]);
        ask(&peers[2], ONEIB_REQUEST_LIST);
        assert_int_equal(peers[2].state, ONEIB_PEER_HELD);
        oneib_requests_forget(&requests, &peers[1]);
        oneib_requests_forget(&requests, &peers[2]);
        peers[1].state = peers[2].state = ONEIB_PEER_HEARING;
    }
}

/* Nothing but their end lets it go on. */
static void a_list_that_waits_for_readers_is_due_at_no_time(void **state)
{
    (void)state;
    ask(&peers[1], ONEIB_REQUEST_LIST);
    oneib_requests_moved(&requests);
    ask(&peers[2], ONEIB_REQUEST_LIST);
    assert_true(oneib_requests_due(&requests, &peers[2]) == HUGE_VAL);
    requests.hold_until = oneib_now_ms() + 1000000;
    assert_true(oneib_requests_due(&requests, &peers[2]) == requests.hold_until);
}

static struct oneib_answer what_the_node_follows(void)
{
    struct oneib_answer answer = {0};
    ask(&peers[2], ONEIB_REQUEST_LIST);
    while (answer.kind != ONEIB_ANSWER_FOLLOWS)
        answer = tell(&peers[2]);
    assert_int_equal(next_answer(&peers[2]), ONEIB_ANSWER_END);
    return answer;
}

static void a_service_that_has_just_begun_does_not_say_that_it_hears_no_oneibd(void **state)
{
    (void)state;
    feed.fresh = false;
    requests.hold_until = oneib_now_ms() + 1000000;
    assert_string_equal(what_the_node_follows().text, "");
    requests.hold_until = 0;
    assert_string_equal(what_the_node_follows().text, "oneibd is asleep");
}

#define NODE(test) cmocka_unit_test_setup_teardown(test, begin, end_with_adapter)

int main(void)
{
    const struct CMUnitTest tests[] = {
        NODE(a_have_is_answered_at_once_and_its_wait_when_the_vf_is_open),
        NODE(what_is_had_already_is_told_and_not_logged),
        NODE(what_is_opened_again_is_logged),
        NODE(a_have_that_fails_is_told_and_logged),
        NODE(what_is_refused_is_logged_with_who_asked),
        NODE(who_goes_has_what_he_began_undone),
        NODE(a_release_is_waited_for_until_its_vf_is_free),
        NODE(a_release_that_finds_nothing_is_not_logged),
        NODE(a_release_that_fails_is_told_and_waited_for_by_nobody),
        NODE(of_what_was_asked_haves_alone_are_told_in_their_order),
        NODE(what_was_released_meanwhile_is_not_told_of),
        NODE(who_has_asked_for_64_things_may_only_wait_for_them),
        NODE(each_request_that_may_change_something_makes_a_new_list),
        NODE(a_list_that_waits_for_readers_is_due_at_no_time),
        NODE(a_service_that_has_just_begun_does_not_say_that_it_hears_no_oneibd),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
