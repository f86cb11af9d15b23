// SPDX-License-Identifier: Apache-2.0
#include "partitions/opensm_keys.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define VERIFY_S 120
#define GOOD                                                                                       \
    "m_key 0x5ec2e70000000001\nsa_key 0x5ec2e70000000002\nsm_key 0x5ec2e70000000003\n"             \
    "m_key_protection_level 2\nm_key_lease_period 600\n"

static struct oneib_opensm_keys read_keys(const char *text)
{
    struct oneib_opensm_keys keys;
    oneib_opensm_keys_defaults(&keys);
    oneib_opensm_keys_read(text, strlen(text), &keys);
    return keys;
}

static unsigned traps_of(const char *text)
{
    const struct oneib_opensm_keys keys = read_keys(text);
    return oneib_opensm_key_traps(&keys, VERIFY_S);
}

static void without_a_configuration_nothing_is_secret(void **state)
{
    (void)state;
    assert_int_equal(traps_of(""), ONEIB_TRAP_NO_M_KEY | ONEIB_TRAP_SA_KEY | ONEIB_TRAP_SM_KEY);
}

static void what_oneib_keys_recommends_has_no_trap(void **state)
{
    (void)state;
    assert_int_equal(traps_of(GOOD), 0);
}

static void each_trap_is_found_alone(void **state)
{
    (void)state;
    assert_int_equal(traps_of(GOOD "m_key 0\n"), ONEIB_TRAP_NO_M_KEY);
    assert_int_equal(traps_of(GOOD "sa_key 0x1\n"), ONEIB_TRAP_SA_KEY);
    assert_int_equal(traps_of(GOOD "sa_key 0\n"), ONEIB_TRAP_SA_KEY);
    assert_int_equal(traps_of(GOOD "sm_key 1\n"), ONEIB_TRAP_SM_KEY);
    assert_int_equal(traps_of(GOOD "m_key_protection_level 0\n"), ONEIB_TRAP_LEVEL);
    assert_int_equal(traps_of(GOOD "m_key_lease_period 0\n"), ONEIB_TRAP_NO_LEASE);
    assert_int_equal(traps_of(GOOD "sweep_interval 600\n"), ONEIB_TRAP_LEASE_SWEEP);
    assert_int_equal(traps_of(GOOD "m_key_lease_period 120\n"), ONEIB_TRAP_LEASE_VERIFY);
    assert_int_equal(traps_of(GOOD "m_key_lease_period 121\n"), 0);
    assert_int_equal(traps_of(GOOD "m_key_per_port FALSE\n"), ONEIB_TRAP_ONE_KEY);
}

static void a_key_for_each_port_needs_none_for_all(void **state)
{
    (void)state;
    assert_int_equal(traps_of(GOOD "m_key 0\nm_key_per_port TRUE\n"), 0);
}

static void lines_are_read_as_opensm_reads_them(void **state)
{
    (void)state;
    assert_int_equal(read_keys("m_key 0x10\nm_key 0x11\n").m_key, 0x11);
    assert_int_equal(read_keys("  m_key\t  \"0x10\"  # ours\n").m_key, 0x10);
    assert_int_equal(read_keys("m_key '16'").m_key, 16);
    assert_int_equal(read_keys("m_key \"0x10\n").m_key, 0);
    assert_int_equal(read_keys("# m_key 0x10\n").m_key, 0);
    assert_int_equal(read_keys("m_key # 0x10\n").m_key, 0);
    assert_int_equal(read_keys("m_key_lookup 0x10\n").m_key, 0);
    /* Without 0x it is no number: opensm keeps what it has, and so has none. */
    assert_int_equal(read_keys("m_key 5ec2e70000000001\n").m_key, 0);
    assert_int_equal(read_keys("m_key 0x12345678901234567\n").m_key, 0);
    assert_int_equal(read_keys("m_key_lease_period 65535\n").lease_s, 65535);
    assert_int_equal(read_keys("m_key_lease_period 65536\n").lease_s, 0);
}

/* So many bytes of a comment, and a key behind them on the same line. */
static uint64_t key_behind(size_t bytes)
{
    char text[2048];
    memset(text, '#', bytes);
    strcpy(text + bytes, "m_key 0x10\n");
    return read_keys(text).m_key;
}

/* It reads 1,022 bytes of a line at a time, and takes what follows for another line. */
static void a_line_is_cut_where_opensm_cuts_it(void **state)
{
    (void)state;
    assert_int_equal(key_behind(1021), 0);
    assert_int_equal(key_behind(1022), 0x10);
    assert_int_equal(key_behind(1023), 0);
}

static unsigned apart_traps_of(const char *text)
{
    const struct oneib_opensm_keys keys = read_keys(text);
    return oneib_opensm_apart_traps(&keys);
}

/* Their defaults are safe. */
static void what_lets_one_cluster_disturb_another_is_found_where_it_is_said(void **state)
{
    (void)state;
    assert_int_equal(apart_traps_of(""), 0);
    assert_int_equal(apart_traps_of("ipoib_mcgroup_creation_validation TRUE\npart_enforce both\n"
                                    "no_partition_enforcement FALSE\n"),
                     0);
    assert_int_equal(apart_traps_of("ipoib_mcgroup_creation_validation no\n"), ONEIB_TRAP_GROUPS);
    assert_int_equal(apart_traps_of("part_enforce in\n"), 0);
    assert_int_equal(apart_traps_of("part_enforce out\n"), ONEIB_TRAP_UNENFORCED);
    assert_int_equal(apart_traps_of("part_enforce off\n"), ONEIB_TRAP_UNENFORCED);
    assert_int_equal(apart_traps_of("part_enforce OFF\n"), 0); /* no word of opensm's: both */
    assert_int_equal(apart_traps_of("no_partition_enforcement TRUE\npart_enforce both\n"),
                     ONEIB_TRAP_UNENFORCED);
}

static bool differs(const char *list, oneib_m_key key)
{
    struct oneib_m_keys keys;
    struct oneib_error err;
    assert_int_equal(oneib_m_keys_parse(list, strlen(list), &keys, &err), 0);
    const bool differ = oneib_m_keys_differ(&keys, key);
    oneib_m_keys_clear(&keys);
    return differ;
}

static void a_list_from_before_a_change_is_told_from_one_of_now(void **state)
{
    (void)state;
    assert_false(differs("", 0x11));
    assert_false(differs("0x1 0x11\n\n0x2 0x11\n", 0x11));
    assert_true(differs("0x1 0x11\n\n0x2 0x10\n", 0x11));
    assert_true(differs("0x1 0x11\n\n0x2 0x0\n", 0x11));
}

static unsigned virtual_traps_of(const char *text)
{
    const struct oneib_opensm_keys keys = read_keys(text);
    return oneib_opensm_virtual_traps(&keys);
}

#define VIRTUAL                                                                                    \
    "virt_enabled 2\nsa_enhanced_trust_model TRUE\nsa_etm_allow_guidinfo_rec_by_vf FALSE\n"

/* The attacker: root in a guest, who gives its VF another guest's GUID. */
static void virtual_ports_must_be_on_and_their_guids_out_of_guests_reach(void **state)
{
    (void)state;
    assert_int_equal(virtual_traps_of(VIRTUAL), 0);
    assert_int_equal(virtual_traps_of(VIRTUAL "virt_enabled 1\n"), ONEIB_TRAP_VIRT_OFF);
    assert_int_equal(virtual_traps_of(VIRTUAL "virt_enabled 0\n"), ONEIB_TRAP_VIRT_OFF);
    assert_int_equal(virtual_traps_of(VIRTUAL "sa_enhanced_trust_model FALSE\n"),
                     ONEIB_TRAP_NO_TRUST);
    assert_int_equal(virtual_traps_of(VIRTUAL "sa_etm_allow_guidinfo_rec_by_vf TRUE\n"),
                     ONEIB_TRAP_GUIDS_BY_VF);
}

/* Their defaults are published, and safe. */
static void what_else_guests_may_ask_of_the_sa_is_found_where_it_is_said(void **state)
{
    (void)state;
    assert_int_equal(virtual_traps_of(VIRTUAL "sa_etm_allow_untrusted_proxy_requests FALSE\n"
                                              "sa_check_sgid_spoofing TRUE\n"),
                     0);
    assert_int_equal(virtual_traps_of(VIRTUAL "sa_etm_allow_untrusted_proxy_requests TRUE\n"),
                     ONEIB_TRAP_PROXIES);
    assert_int_equal(virtual_traps_of(VIRTUAL "sa_check_sgid_spoofing FALSE\n"),
                     ONEIB_TRAP_SPOOFED);
}

static void a_signal_that_opensm_may_sleep_through_is_found(void **state)
{
    (void)state;
    assert_int_equal(virtual_traps_of(VIRTUAL "sweep_every_hup_signal TRUE\n"), 0);
    assert_int_equal(virtual_traps_of(VIRTUAL "sweep_every_hup_signal FALSE\n"), ONEIB_TRAP_HUP);
}

static void what_is_not_said_of_virtual_ports_is_taken_for_the_worse(void **state)
{
    (void)state;
    assert_int_equal(virtual_traps_of(""),
                     ONEIB_TRAP_VIRT_OFF | ONEIB_TRAP_NO_TRUST | ONEIB_TRAP_GUIDS_BY_VF);
    assert_int_equal(virtual_traps_of("# virt_enabled 2\nsa_enhanced_trust_model yes\n"
                                      "sa_etm_allow_guidinfo_rec_by_vf no\n"),
                     ONEIB_TRAP_VIRT_OFF | ONEIB_TRAP_NO_TRUST | ONEIB_TRAP_GUIDS_BY_VF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_configuration_nothing_is_secret),
        cmocka_unit_test(what_oneib_keys_recommends_has_no_trap),
        cmocka_unit_test(each_trap_is_found_alone),
        cmocka_unit_test(a_key_for_each_port_needs_none_for_all),
        cmocka_unit_test(lines_are_read_as_opensm_reads_them),
        cmocka_unit_test(a_line_is_cut_where_opensm_cuts_it),
        cmocka_unit_test(virtual_ports_must_be_on_and_their_guids_out_of_guests_reach),
        cmocka_unit_test(what_else_guests_may_ask_of_the_sa_is_found_where_it_is_said),
        cmocka_unit_test(a_signal_that_opensm_may_sleep_through_is_found),
        cmocka_unit_test(what_is_not_said_of_virtual_ports_is_taken_for_the_worse),
        cmocka_unit_test(what_lets_one_cluster_disturb_another_is_found_where_it_is_said),
        cmocka_unit_test(a_list_from_before_a_change_is_told_from_one_of_now),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
