// SPDX-License-Identifier: Apache-2.0
/* Which daemon a node believes, and which of its lists it follows. */
#include "oneib-node/follow.h"
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct oneib_follow follow;
static struct oneib_list_message list;
static double now;
static uint8_t last_nonce;

static int begin(void **state)
{
    (void)state;
    memset(&follow, 0, sizeof follow);
    oneib_follow_begin(&follow, 2);
    now = 100000;
    return 0;
}

static bool choose(void)
{
    static const uint16_t lids[] = {4, 9};
    return oneib_follow_choose(&follow, lids, 2, now);
}

/* A list of one grant, whose VM's id is its serial. */
static void hear_list(size_t daemon, uint64_t instance, uint64_t serial)
{
    memset(&list, 0, sizeof list);
    list.name = (struct oneib_list_name){instance, serial};
    list.grants.count = 1;
    list.grants.items[0].vm_id = (uint32_t)serial;
    oneib_follow_take_list(&follow, daemon, &list);
}

static uint8_t challenge(size_t daemon)
{
    const uint8_t nonce[ONEIB_NONCE_SIZE] = {++last_nonce};
    oneib_follow_challenge(&follow, daemon, nonce, now);
    return last_nonce;
}

static struct oneib_daemon_role writer(void)
{
    return (struct oneib_daemon_role){.is_writer = true};
}

static void answer(size_t daemon, uint8_t nonce, uint64_t instance, uint64_t serial,
                   struct oneib_daemon_role role)
{
    const struct oneib_life_message life = {
        .nonce = {nonce}, .name = {instance, serial}, .role = role};
    oneib_follow_take_life(&follow, daemon, &life);
}

static void hear_life(size_t daemon, uint64_t instance, uint64_t serial)
{
    answer(daemon, challenge(daemon), instance, serial, writer());
}

static uint64_t followed(void)
{
    choose();
    return follow.has_list ? follow.list.name.serial : 0;
}

static bool is_fresh(void)
{
    choose();
    return oneib_follow_is_fresh(&follow, now);
}

static void a_list_is_followed_once_its_daemon_has_proved_to_be_there(void **state)
{
    (void)state;
    hear_list(0, 7, 3);
    assert_int_equal(followed(), 0);
    hear_life(0, 7, 3);
    assert_true(choose());
    assert_int_equal(follow.list.grants.items[0].vm_id, 3);
    assert_true(is_fresh());
    assert_false(choose());
    assert_int_equal(oneib_follow_name(&follow, 0).serial, 3);
    assert_int_equal(oneib_follow_name(&follow, 1).serial, 0);
}

static void an_answer_to_nobodys_challenge_proves_nothing(void **state)
{
    (void)state;
    hear_list(0, 7, 3);
    answer(0, 200, 7, 3, writer());
    assert_int_equal(followed(), 0);
    const uint8_t of_other = challenge(1);
    answer(0, of_other, 7, 3, writer());
    assert_int_equal(followed(), 0);
}

static void an_answer_counts_once(void **state)
{
    (void)state;
    const uint8_t nonce = challenge(0);
    hear_list(0, 7, 3);
    answer(0, nonce, 7, 3, writer());
    assert_true(is_fresh());
    now += ONEIB_LIST_AGE_MS;
    answer(0, nonce, 7, 3, writer());
    assert_false(is_fresh());
}

/* It was on its way for long, or somebody has kept it back: what a newer one says stays. */
static void a_late_answer_to_an_older_challenge_changes_nothing(void **state)
{
    (void)state;
    const uint8_t older = challenge(0);
    now += ONEIB_CHALLENGE_MS;
    hear_list(0, 7, 4);
    hear_life(0, 7, 4);
    assert_int_equal(followed(), 4);
    const double until = oneib_follow_fresh_until(&follow, now);
    answer(0, older, 8, 1, (struct oneib_daemon_role){.is_writer = false});
    hear_list(0, 8, 1);
    assert_int_equal(followed(), 4);
    assert_true(is_fresh());
    assert_true(oneib_follow_fresh_until(&follow, now) == until);
    now += ONEIB_LIST_AGE_MS; /* and one that is older than a list may be says nothing */
    const uint8_t late = challenge(0);
    now += ONEIB_LIST_AGE_MS;
    answer(0, late, 7, 4, writer());
    assert_false(is_fresh());
}

static void an_older_list_is_never_followed_again(void **state)
{
    (void)state;
    hear_list(0, 7, 3);
    hear_life(0, 7, 3);
    hear_list(0, 7, 4);
    assert_int_equal(followed(), 4);
    hear_list(0, 7, 3);
    assert_int_equal(followed(), 4);
    hear_list(0, 7, 4);
    assert_false(choose());
}

static void the_first_list_of_an_instance_is_none_that_is_over(void **state)
{
    (void)state;
    hear_life(0, 7, 9);
    hear_list(0, 7, 3);
    assert_int_equal(followed(), 0);
    hear_list(0, 7, 9);
    assert_int_equal(followed(), 9);
}

static void a_list_of_an_instance_that_is_gone_is_not_followed(void **state)
{
    (void)state;
    hear_list(0, 7, 3);
    hear_life(0, 7, 3);
    assert_int_equal(followed(), 3);
    hear_life(0, 8, 1);
    assert_false(is_fresh());
    hear_list(0, 7, 4);
    assert_int_equal(followed(), 4 - 1);
    hear_list(0, 8, 1);
    assert_int_equal(followed(), 1);
    assert_true(is_fresh());
}

static void a_daemon_without_a_list_for_this_node_makes_none_fresh(void **state)
{
    (void)state;
    hear_life(0, 7, 0);
    assert_false(is_fresh());
    hear_list(0, 7, 1);
    assert_int_equal(followed(), 0);
    hear_life(0, 7, 1);
    assert_int_equal(followed(), 1);
    assert_true(is_fresh());
}

static void a_list_is_fresh_for_ten_seconds_from_the_challenge_on(void **state)
{
    (void)state;
    const uint8_t nonce = challenge(0);
    hear_list(0, 7, 3);
    now += ONEIB_LIST_AGE_MS - 1;
    answer(0, nonce, 7, 3, writer());
    assert_true(is_fresh());
    assert_true(oneib_follow_fresh_until(&follow, now) <= now + 1);
    now += 1;
    assert_false(is_fresh());
    assert_int_equal(followed(), 3);
}

static void a_list_that_is_not_the_current_one_grows_old(void **state)
{
    (void)state;
    hear_list(0, 7, 3);
    hear_life(0, 7, 3);
    assert_true(is_fresh());
    for (int i = 0; i < 5; i++) {
        now += ONEIB_CHALLENGE_MS;
        hear_life(0, 7, 4);
    }
    assert_false(is_fresh());
    hear_list(0, 7, 4);
    assert_true(is_fresh());
}

static void a_daemon_whose_snapshot_is_old_makes_nothing_fresh(void **state)
{
    (void)state;
    struct oneib_daemon_role role = writer();
    hear_list(0, 7, 3);
    role.snapshot_age_ms = ONEIB_SNAPSHOT_AGE_MS - 1000;
    answer(0, challenge(0), 7, 3, role);
    assert_true(is_fresh());
    now += 1000;
    assert_false(is_fresh());
    role.snapshot_age_ms = ONEIB_SNAPSHOT_AGE_MS;
    answer(0, challenge(0), 7, 3, role);
    assert_false(is_fresh());
}

static void hear_both(struct oneib_daemon_role first, struct oneib_daemon_role second)
{
    hear_list(0, 7, 3);
    hear_list(1, 8, 5);
    answer(0, challenge(0), 7, 3, first);
    answer(1, challenge(1), 8, 5, second);
}

static void the_one_with_our_subnet_manager_is_believed_before_the_writer(void **state)
{
    (void)state;
    hear_both(writer(), (struct oneib_daemon_role){.has_sm = true, .sm_lid = 9});
    assert_int_equal(followed(), 5);
    assert_true(follow.believed == 1);
}

static void a_subnet_manager_of_another_fabric_counts_nothing(void **state)
{
    (void)state;
    hear_both(writer(), (struct oneib_daemon_role){.has_sm = true, .sm_lid = 77});
    assert_int_equal(followed(), 3);
}

static void who_is_neither_is_not_believed(void **state)
{
    (void)state;
    hear_both((struct oneib_daemon_role){0},
              (struct oneib_daemon_role){.has_sm = true, .sm_lid = 77});
    assert_int_equal(followed(), 0);
    assert_false(follow.believes);
}

static void of_two_that_say_the_same_the_one_before_stays(void **state)
{
    (void)state;
    hear_both((struct oneib_daemon_role){0}, writer());
    assert_int_equal(followed(), 5);
    hear_both(writer(), writer());
    assert_int_equal(followed(), 5);
}

/* From its first sign of life that names one; until then the other's, which is not fresh. What it
 * said before it began anew lacks all that started since. */
static void another_that_comes_to_be_believed_is_followed_by_its_own_list(void **state)
{
    (void)state;
    hear_both(writer(), (struct oneib_daemon_role){0});
    assert_int_equal(followed(), 3);
    answer(1, challenge(1), 9, 0, (struct oneib_daemon_role){.has_sm = true, .sm_lid = 4});
    assert_int_equal(followed(), 3);
    assert_false(is_fresh());
    hear_list(1, 9, 1);
    assert_int_equal(followed(), 3);
    answer(1, challenge(1), 9, 1, (struct oneib_daemon_role){.has_sm = true, .sm_lid = 4});
    assert_int_equal(followed(), 1);
    assert_true(is_fresh());
    assert_int_equal(oneib_follow_name(&follow, 0).serial, 0);
}

static void who_is_silent_is_believed_until_another_is_heard(void **state)
{
    (void)state;
    hear_both((struct oneib_daemon_role){.has_sm = true, .sm_lid = 4},
              (struct oneib_daemon_role){0});
    assert_int_equal(followed(), 3);
    now += ONEIB_LIST_AGE_MS;
    assert_int_equal(followed(), 3);
    assert_false(is_fresh());
    answer(1, challenge(1), 8, 5, writer());
    assert_int_equal(followed(), 5);
}

static void other_daemons_leave_the_list_and_make_it_old(void **state)
{
    (void)state;
    hear_list(0, 7, 3);
    hear_life(0, 7, 3);
    assert_true(is_fresh());
    oneib_follow_begin(&follow, 1);
    assert_false(is_fresh());
    assert_int_equal(followed(), 3);
    assert_int_equal(oneib_follow_name(&follow, 0).serial, 0);
    hear_list(0, 7, 3);
    hear_life(0, 7, 3);
    assert_true(choose());
    assert_true(is_fresh());
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup(test, begin)
    const struct CMUnitTest tests[] = {
        TEST(a_list_is_followed_once_its_daemon_has_proved_to_be_there),
        TEST(an_answer_to_nobodys_challenge_proves_nothing),
        TEST(an_answer_counts_once),
        TEST(a_late_answer_to_an_older_challenge_changes_nothing),
        TEST(an_older_list_is_never_followed_again),
        TEST(the_first_list_of_an_instance_is_none_that_is_over),
        TEST(a_list_of_an_instance_that_is_gone_is_not_followed),
        TEST(a_daemon_without_a_list_for_this_node_makes_none_fresh),
        TEST(a_list_is_fresh_for_ten_seconds_from_the_challenge_on),
        TEST(a_list_that_is_not_the_current_one_grows_old),
        TEST(a_daemon_whose_snapshot_is_old_makes_nothing_fresh),
        TEST(the_one_with_our_subnet_manager_is_believed_before_the_writer),
        TEST(a_subnet_manager_of_another_fabric_counts_nothing),
        TEST(who_is_neither_is_not_believed),
        TEST(of_two_that_say_the_same_the_one_before_stays),
        TEST(another_that_comes_to_be_believed_is_followed_by_its_own_list),
        TEST(who_is_silent_is_believed_until_another_is_heard),
        TEST(other_daemons_leave_the_list_and_make_it_old),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
