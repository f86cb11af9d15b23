// SPDX-License-Identifier: Apache-2.0
/* What one connection asks, and which of it waits, on a node without an adapter. */
#include "requests_scene.h"
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* Two VFs of VM 42. */
static void write_table(enum oneib_vf_stage stage, bool in_domain)
{
    struct oneib_vf_table table = {0};
    struct oneib_text text = {0};
    struct oneib_error err;
    for (uint8_t i = 1; i <= 2; i++) {
        const struct oneib_vf_record record = {
            .vf = {.bus = 0x81, .function = i},
            .device = "mlx4_0",
            .port = 1,
            .vm_id = 42,
            .nic_id = i,
            .network_id = 7,
            .pkey = 5,
            .stage = stage,
            .in_domain = in_domain,
        };
        assert_int_equal(oneib_vf_table_add(&table, &record, &err), 0);
    }
    oneib_vf_table_render(&table, &text);
    text.data[text.length - 1] = '\0';
    tree_write(text.data, "/run/oneib/vfs");
    oneib_text_clear(&text);
    oneib_vf_table_clear(&table);
}

static void begin_with(enum oneib_vf_stage stage, bool in_domain)
{
    const struct oneib_vfs_options options = {.pkey_wait_ms = 1000, .guid_wait_ms = 1000};
    tree_reset(NULL);
    write_table(stage, in_domain);
    open_service(&options);
}

static int begin(void **state)
{
    (void)state;
    begin_with(ONEIB_VF_CLOSED, false);
    oneib_vfs_set_domains(requests.vfs, &domains);
    return 0;
}

static void read_list(struct oneib_peer *peer)
{
    assert_int_equal(next_answer(peer), ONEIB_ANSWER_RECORD);
    assert_int_equal(next_answer(peer), ONEIB_ANSWER_RECORD);
    assert_int_equal(next_answer(peer), ONEIB_ANSWER_DOMAIN);
    for (size_t i = 0; i < feed.list.count; i++)
        assert_int_equal(next_answer(peer), ONEIB_ANSWER_GRANT);
    assert_int_equal(next_answer(peer), ONEIB_ANSWER_FOLLOWS);
    assert_int_equal(next_answer(peer), ONEIB_ANSWER_END);
    assert_int_equal(peer->state, ONEIB_PEER_HEARING);
}

static void those_who_ask_at_one_moment_read_together(void **state)
{
    (void)state;
    ask(&peers[0], ONEIB_REQUEST_LIST);
    assert_int_equal(next_answer(&peers[0]), ONEIB_ANSWER_RECORD);
    ask(&peers[1], ONEIB_REQUEST_LIST);
    read_list(&peers[1]);
    assert_int_equal(requests.listing_of_all.readers, 1);
}

/* What is read half is not changed by what happens, and nobody is told what is no longer so. */
static void who_asks_after_a_change_waits_for_those_who_still_read(void **state)
{
    (void)state;
    ask(&peers[0], ONEIB_REQUEST_LIST);
    assert_int_equal(next_answer(&peers[0]), ONEIB_ANSWER_RECORD);
    domains.count = 0;
    feed.list.count = 0;
    oneib_requests_moved(&requests);
    ask(&peers[1], ONEIB_REQUEST_LIST);
    assert_int_equal(peers[1].state, ONEIB_PEER_HELD);
    assert_int_equal(next_answer(&peers[0]), ONEIB_ANSWER_RECORD);
    assert_int_equal(next_answer(&peers[0]), ONEIB_ANSWER_DOMAIN);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(next_answer(&peers[0]), ONEIB_ANSWER_GRANT);
    assert_int_equal(next_answer(&peers[0]), ONEIB_ANSWER_FOLLOWS);
    oneib_requests_go_on(&requests, &peers[1]);
    assert_int_equal(peers[1].state, ONEIB_PEER_HELD);
    assert_int_equal(next_answer(&peers[0]), ONEIB_ANSWER_END);
    oneib_requests_go_on(&requests, &peers[1]);
    assert_int_equal(next_answer(&peers[1]), ONEIB_ANSWER_RECORD);
    assert_int_equal(next_answer(&peers[1]), ONEIB_ANSWER_RECORD);
    assert_int_equal(next_answer(&peers[1]), ONEIB_ANSWER_FOLLOWS);
    assert_int_equal(next_answer(&peers[1]), ONEIB_ANSWER_END);
}

static void a_reader_that_goes_keeps_nobody_waiting(void **state)
{
    (void)state;
    ask(&peers[0], ONEIB_REQUEST_LIST);
    oneib_requests_moved(&requests);
    ask(&peers[1], ONEIB_REQUEST_LIST);
    assert_int_equal(peers[1].state, ONEIB_PEER_HELD);
    oneib_requests_forget(&requests, &peers[0]);
    oneib_requests_go_on(&requests, &peers[1]);
    read_list(&peers[1]);
    assert_int_equal(requests.listing_of_all.readers, 0);
}

/* Whoever may only look does not keep OpenNebula's drivers waiting. */
static void the_two_kinds_of_callers_do_not_wait_for_each_other(void **state)
{
    (void)state;
    peers[0].may_change = false;
    ask(&peers[0], ONEIB_REQUEST_LIST);
    oneib_requests_moved(&requests);
    ask(&peers[1], ONEIB_REQUEST_LIST);
    read_list(&peers[1]);
    read_list(&peers[0]);
}

static void assert_held(const struct oneib_request *request, bool held)
{
    oneib_requests_take(&requests, &peers[2], request);
    assert_int_equal(peers[2].state, held ? ONEIB_PEER_HELD : ONEIB_PEER_SAYING);
}

static void assert_have_held(uint8_t nic_id, uint16_t flags, bool held)
{
    const struct oneib_request request = have(nic_id, flags);
    assert_held(&request, held);
}

static void forget_domains(void)
{
    domains.known = false;
    requests.hold_until = oneib_now_ms() + 1000000;
}

static void what_needs_the_domains_waits_for_the_first_list_of_them(void **state)
{
    (void)state;
    forget_domains();
    assert_have_held(1, 0, false);
    assert_have_held(1, ONEIB_HAVE_ATTACH, true);
    assert_have_held(3, 0, true);
    oneib_requests_go_on(&requests, &peers[2]);
    assert_int_equal(peers[2].state, ONEIB_PEER_HELD);
    domains.known = true;
    oneib_requests_go_on(&requests, &peers[2]);
    assert_int_equal(peers[2].state, ONEIB_PEER_SAYING);
}

/* It may be another's domain that has it. */
static void so_does_what_was_closed_because_of_a_domain(void **state)
{
    (void)state;
    oneib_vfs_close(requests.vfs);
    begin_with(ONEIB_VF_ENDED, false);
    forget_domains();
    assert_have_held(1, 0, true);
    domains.known = true;
    oneib_requests_go_on(&requests, &peers[2]);
    assert_int_equal(peers[2].state, ONEIB_PEER_SAYING);
}

/* What a domain has named it may name still, and then it is left alone. */
static void so_does_a_release_that_may_be_left(void **state)
{
    (void)state;
    oneib_vfs_close(requests.vfs);
    begin_with(ONEIB_VF_CLOSED, true);
    forget_domains();
    struct oneib_request request = release_of(42, 3, 0);
    assert_held(&request, false);
    request = release_of(42, 0, 0);
    assert_held(&request, false);
    request = release_of(41, -1, 0);
    assert_held(&request, false);
    request = release_of(42, 1, 0);
    assert_held(&request, true);
    request = release_of(42, -1, 0);
    assert_held(&request, true);
    request = release_of(42, 1, ONEIB_RELEASE_NIC_GONE);
    assert_held(&request, false);
}

static void a_release_of_what_no_domain_has_named_does_not_wait(void **state)
{
    (void)state;
    forget_domains();
    struct oneib_request request = release_of(42, -1, 0);
    assert_held(&request, false);
    request = oneib_request_new(ONEIB_REQUEST_RELEASE_VF);
    request.vf = (struct oneib_pci){.bus = 0x81, .function = 7};
    assert_held(&request, true);
}

static void who_waits_for_what_he_asked_waits_for_no_domains(void **state)
{
    (void)state;
    forget_domains();
    ask(&peers[0], ONEIB_REQUEST_WAIT);
    assert_int_equal(next_answer(&peers[0]), ONEIB_ANSWER_END);
}

static void and_not_for_ever(void **state)
{
    (void)state;
    domains.known = false;
    oneib_fail(&domains.why, ONEIB_ERROR_UNREACHABLE, "libvirt is down");
    oneib_vfs_set_domains(requests.vfs, &domains);
    requests.hold_until = oneib_now_ms() + 1000000;
    ask(&peers[0], ONEIB_REQUEST_LIST);
    assert_int_equal(peers[0].state, ONEIB_PEER_HELD);
    assert_have_held(3, 0, true);
    requests.hold_until = 0;
    oneib_requests_go_on(&requests, &peers[0]);
    assert_int_equal(next_answer(&peers[0]), ONEIB_ANSWER_RECORD);
    assert_int_equal(next_answer(&peers[0]), ONEIB_ANSWER_RECORD);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(next_answer(&peers[0]), ONEIB_ANSWER_GRANT);
    assert_int_equal(next_answer(&peers[0]), ONEIB_ANSWER_FOLLOWS);
    const struct oneib_answer last = oneib_requests_answer(&requests, &peers[0]);
    assert_int_equal(last.kind, ONEIB_ANSWER_END);
    assert_string_equal(last.text, "libvirt is down");
    oneib_requests_go_on(&requests, &peers[2]);
    assert_int_equal(next_answer(&peers[2]), ONEIB_ANSWER_FAILED);
}

static void who_has_asked_for_nothing_waits_for_nothing(void **state)
{
    (void)state;
    ask(&peers[0], ONEIB_REQUEST_WAIT);
    assert_int_equal(next_answer(&peers[0]), ONEIB_ANSWER_END);
    assert_int_equal(peers[0].state, ONEIB_PEER_HEARING);
}

static void a_release_of_a_nic_gives_back_what_the_nic_has(void **state)
{
    (void)state;
    const struct oneib_request request = release_of(42, 1, 0);
    assert_held(&request, false);
    const struct oneib_answer answer = oneib_requests_answer(&requests, &peers[2]);
    assert_int_equal(answer.kind, ONEIB_ANSWER_RELEASED);
    assert_int_equal(answer.released.freed + answer.released.lingering, 1);
}

/* ---- grants ---------------------------------------------------------------------------------- */

/* Asked for by the third. */
static void a_have_waits_for_its_grant_and_oneibd_is_told(void **state)
{
    (void)state;
    assert_have_held(4, 0, true);
    assert_int_equal(feed.wants, 1);
    assert_int_equal(feed.want.vm_id, 42);
    assert_int_equal(feed.want.nic_id, 4);
    assert_int_equal(feed.want.network_id, 7);
    assert_true(oneib_requests_due(&requests, &peers[2]) <= oneib_now_ms() + 500);
    oneib_requests_go_on(&requests, &peers[2]);
    assert_int_equal(peers[2].state, ONEIB_PEER_HELD);
    assert_int_equal(feed.wants, 2);
    grant(4);
    oneib_requests_go_on(&requests, &peers[2]);
    assert_int_equal(peers[2].state, ONEIB_PEER_SAYING);
    assert_int_equal(feed.wants, 2);
}

static void what_is_granted_for_another_network_is_waited_for_too(void **state)
{
    (void)state;
    struct oneib_request request = have(1, 0);
    request.network_id = 8;
    assert_held(&request, true);
    assert_int_equal(feed.want.network_id, 8);
}

static void an_old_list_is_waited_for_to_be_fresh(void **state)
{
    (void)state;
    struct oneib_error err;
    feed.fresh = false;
    oneib_vfs_set_grants(requests.vfs, &feed.list, false, &err);
    assert_have_held(3, 0, true);
    feed.fresh = true;
    oneib_vfs_set_grants(requests.vfs, &feed.list, true, &err);
    oneib_requests_go_on(&requests, &peers[2]);
    assert_int_equal(peers[2].state, ONEIB_PEER_SAYING);
}

static void who_waits_in_vain_is_told_why(void **state)
{
    (void)state;
    struct oneib_error why;
    feed.fresh = false;
    requests.grant_wait_ms = 0;
    assert_have_held(4, 0, false);
    const struct oneib_answer answer = oneib_requests_answer(&requests, &peers[2]);
    assert_int_equal(answer.kind, ONEIB_ANSWER_FAILED);
    oneib_answer_error(&answer, &why);
    assert_non_null(strstr(why.text, "VM 42 NIC 4: oneibd has not granted it"));
    assert_non_null(strstr(why.text, "oneibd is asleep"));
}

static void a_release_waits_for_no_grant(void **state)
{
    (void)state;
    struct oneib_error err;
    feed.list.count = 0;
    oneib_vfs_set_grants(requests.vfs, &feed.list, false, &err);
    const struct oneib_request request = release_of(42, -1, 0);
    assert_held(&request, false);
    assert_int_equal(feed.wants, 0);
}

static struct oneib_request announcing(uint16_t flags)
{
    struct oneib_daemons daemons = {.count = 1, .items[0].address = "tcp://10.0.0.1:2633"};
    struct oneib_request request = oneib_request_announcing(&daemons);
    request.flags = flags;
    return request;
}

static void root_alone_says_whom_to_trust(void **state)
{
    (void)state;
    struct oneib_request request = announcing(0);
    peers[2].who.uid = geteuid() + 1;
    assert_held(&request, false);
    assert_int_equal(next_answer(&peers[2]), ONEIB_ANSWER_END);
    assert_false(feed.by_root);
    assert_string_equal(feed.announced.items[0].address, "tcp://10.0.0.1:2633");
    feed.announced.count = 0;
    request = announcing(ONEIB_ANNOUNCE_TRUSTED);
    assert_held(&request, false);
    assert_int_equal(next_answer(&peers[2]), ONEIB_ANSWER_FAILED);
    assert_int_equal(feed.announced.count, 0);
    peers[2].who.uid = 0;
    assert_held(&request, false);
    assert_int_equal(next_answer(&peers[2]), ONEIB_ANSWER_END);
    assert_true(feed.by_root);
}

static void who_may_only_look_announces_nothing(void **state)
{
    (void)state;
    const struct oneib_request request = announcing(0);
    peers[2].may_change = false;
    assert_held(&request, false);
    assert_int_equal(next_answer(&peers[2]), ONEIB_ANSWER_FAILED);
    assert_int_equal(feed.announced.count, 0);
}

#define NODE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        NODE(those_who_ask_at_one_moment_read_together),
        NODE(who_asks_after_a_change_waits_for_those_who_still_read),
        NODE(a_reader_that_goes_keeps_nobody_waiting),
        NODE(the_two_kinds_of_callers_do_not_wait_for_each_other),
        NODE(what_needs_the_domains_waits_for_the_first_list_of_them),
        NODE(so_does_what_was_closed_because_of_a_domain),
        NODE(so_does_a_release_that_may_be_left),
        NODE(a_release_of_what_no_domain_has_named_does_not_wait),
        NODE(who_waits_for_what_he_asked_waits_for_no_domains),
        NODE(and_not_for_ever),
        NODE(who_has_asked_for_nothing_waits_for_nothing),
        NODE(a_release_of_a_nic_gives_back_what_the_nic_has),
        NODE(a_have_waits_for_its_grant_and_oneibd_is_told),
        NODE(what_is_granted_for_another_network_is_waited_for_too),
        NODE(an_old_list_is_waited_for_to_be_fresh),
        NODE(who_waits_in_vain_is_told_why),
        NODE(a_release_waits_for_no_grant),
        NODE(root_alone_says_whom_to_trust),
        NODE(who_may_only_look_announces_nothing),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
