// SPDX-License-Identifier: Apache-2.0
/* An older ledger, as a database of oned's that was put back has it, and what is adopted of it, or of
 * one that is lost. */
#include "../base/scratch.h"
#include "base/file.h"
#include "sync/fences.h"
#include "sync/ledger_mark.h"
#include "sync/sync.h"
#include <stdio.h>

static char state[PATH_MAX];
static struct oneib_error err;

static void write_mark(uint32_t document_id, uint64_t serial, oneib_pkey next)
{
    const struct oneib_kept_ledger kept = {.state = ONEIB_LEDGER_READ,
                                           .document_id = document_id,
                                           .ledger = {.serial = serial, .next = next}};
    assert_int_equal(oneib_ledger_mark_write(state, &kept, &err), 0);
}

static void assert_mark(uint32_t document_id, uint64_t serial, oneib_pkey next)
{
    struct oneib_ledger_mark mark;
    oneib_ledger_mark_read(state, &mark);
    assert_int_equal(mark.document_id, document_id);
    assert_int_equal(mark.serial, serial);
    assert_int_equal(mark.next, next);
}

static void the_mark_only_rises_but_for_another_document(void **unused)
{
    (void)unused;
    assert_mark(0, 0, 0);
    write_mark(4, 7, 0x105);
    assert_mark(4, 7, 0x105);
    write_mark(4, 6, 0x104);
    assert_mark(4, 7, 0x105);
    write_mark(4, UINT64_MAX, 0x7ffe);
    assert_mark(4, UINT64_MAX, 0x7ffe);
    write_mark(5, 1, 0);
    assert_mark(5, 1, 0);
    const struct oneib_kept_ledger broken = {.state = ONEIB_LEDGER_BROKEN, .document_id = 6};
    assert_int_equal(oneib_ledger_mark_write(state, &broken, &err), 0);
    assert_mark(5, 1, 0);
}

static void a_damaged_mark_says_nothing(void **unused)
{
    (void)unused;
    static const char *const damaged[] = {"", "x", "document 4",
                                          "document 4 serial 7 next 0x8000\n",
                                          "document 4 serial x next 0x0101\n"};
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", in_scratch(".partitions.conf.ledger"));
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        assert_int_equal(
            oneib_file_replace(path, damaged[i], strlen(damaged[i]), 0644, NULL, NULL, &err), 0);
        assert_mark(0, 0, 0);
    }
}

static void a_ledger_is_older_by_its_serial_in_the_same_document(void **unused)
{
    (void)unused;
    static const struct {
        enum oneib_ledger_state state;
        uint32_t document_id;
        uint64_t serial;
        bool is_older;
    } rows[] = {
        {ONEIB_LEDGER_READ, 4, 6, true},    {ONEIB_LEDGER_READ, 4, 7, false},
        {ONEIB_LEDGER_READ, 4, 8, false},   {ONEIB_LEDGER_READ, 5, 6, false},
        {ONEIB_LEDGER_BROKEN, 4, 6, false}, {ONEIB_LEDGER_ABSENT, 4, 0, false},
    };
    const struct oneib_ledger_mark mark = {.document_id = 4, .serial = 7};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct oneib_kept_ledger kept = {.state = rows[i].state,
                                               .document_id = rows[i].document_id,
                                               .ledger.serial = rows[i].serial};
        assert_int_equal(oneib_ledger_is_older(&mark, &kept), rows[i].is_older);
    }
}

static void add_in_force(struct oneib_snapshot *snapshot, const char *name, oneib_pkey pkey)
{
    struct oneib_partition *partition = oneib_partition_table_add(&snapshot->seen.table);
    snprintf(partition->name, sizeof partition->name, "%s", name);
    partition->pkey = pkey;
}

static void give(struct oneib_ledger *ledger, uint32_t network_id, oneib_pkey pkey)
{
    const struct oneib_ledger_network entry = {
        .network_id = network_id, .owner = 3, .pkey = pkey, .since = 1};
    assert_int_equal(oneib_ledger_give(ledger, &entry, &err), 0);
}

static oneib_pkey key_of(const struct oneib_ledger *ledger, uint32_t network_id)
{
    const struct oneib_ledger_network *network = oneib_ledger_network(ledger, network_id);
    return network ? network->pkey : 0;
}

/* Since the backup 6 got another key, 7 got what 6 had, 8 got what rested, and 9 is new. */
static void of_an_older_ledger_what_was_given_since_is_nobodys_but_its_own(void **unused)
{
    (void)unused;
    struct oneib_snapshot snapshot = {
        .kept = {.state = ONEIB_LEDGER_READ, .ledger = {.serial = 10, .next = 0x105}},
        .mark = {.serial = 20, .next = 0x110},
        .seen.state = ONEIB_SEEN_OURS};
    const struct oneib_ledger_host host = {.host_id = 1, .keys_serial = 7};
    const struct oneib_ledger_resting rests = {.pkey = 0x104, .network_id = ONEIB_NO_ID};
    oneib_autoledger struct oneib_ledger fences = {0}, adopted = {0};
    give(&snapshot.kept.ledger, 5, 0x101);
    give(&snapshot.kept.ledger, 6, 0x102);
    give(&snapshot.kept.ledger, 7, 0x103);
    give(&snapshot.kept.ledger, 8, 0x109);
    assert_int_equal(oneib_ledger_add_resting(&snapshot.kept.ledger, &rests, &err), 0);
    oneib_ledger_pin(&snapshot.kept.ledger, &host);
    add_in_force(&snapshot, "one5", 0x101);
    add_in_force(&snapshot, "one6", 0x106);
    add_in_force(&snapshot, "one7", 0x102);
    add_in_force(&snapshot, "one8", 0x104);
    add_in_force(&snapshot, "one9", 0x107);
    add_in_force(&snapshot, "mine", 0x108);
    assert_int_equal(oneib_ledger_adopt(&snapshot, &fences, &adopted, &err), 0);

    assert_int_equal(key_of(&adopted, 5), 0x101);
    assert_int_equal(key_of(&adopted, 6), 0x106);
    assert_int_equal(key_of(&adopted, 7), 0x102);
    assert_int_equal(key_of(&adopted, 8), 0x104);
    assert_int_equal(key_of(&adopted, 9), 0);
    assert_non_null(oneib_ledger_resting(&adopted, 0x107));
    assert_non_null(oneib_ledger_resting(&adopted, 0x103));
    assert_non_null(oneib_ledger_resting(&adopted, 0x109));
    assert_null(oneib_ledger_resting(&adopted, 0x108));
    assert_int_equal(adopted.next, 0x110);
    assert_true(adopted.serial > 20);
    /* IB_KEYS of that time are older than what the ledger says. */
    assert_true(oneib_ledger_host(&adopted, 1)->keys_serial > UINT32_MAX);
    oneib_ledger_clear(&snapshot.kept.ledger);
    oneib_partition_table_clear(&snapshot.seen.table);
}

/* Two hosts, of which one has two ports and is fenced, and a daemon. */
static void make_kept(struct oneib_ledger *kept)
{
    const struct oneib_ledger_host hosts[] = {
        {.host_id = 1, .key = {1}, .keys_serial = 9, .since = 5},
        {.host_id = 2, .key = {2}, .since = 6}};
    const struct oneib_ledger_port ports[] = {
        {.guid = 0x11,
         .host_id = 1,
         .hca = {.device = "mlx4_0", .port = 2, .port_guid = 0x11, .vfs_total = 8},
         .state = ONEIB_LEDGER_PORT_ABSENT,
         .switch_guid = 0x77,
         .switch_port = 3,
         .since = 7},
        {.guid = 0x12, .host_id = 1, .hca.port_guid = 0x12, .is_accepted = true, .since = 8}};
    const struct oneib_ledger_daemon daemon = {
        .address = "tcp://[fe80::1%ib0]:4147", .curve = {3}, .sign = {4}, .since = 9};
    const struct oneib_ledger_fence fence = {.host_id = 1, .asked = 2, .since = 10};
    const struct oneib_ledger_fenced_port fenced = {
        .host_id = 1, .guid = 0x11, .switch_guid = 0x77, .switch_port = 3, .since = 10};
    for (size_t i = 0; i < 2; i++)
        oneib_ledger_pin(kept, &hosts[i]);
    oneib_ledger_pin(kept, &(struct oneib_ledger_host){.host_id = 5, .keys_serial = 4});
    oneib_ledger_forget_host(kept, 5, 7);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(oneib_ledger_set_port(kept, &ports[i], &err), 0);
    assert_int_equal(oneib_ledger_set_daemon(kept, &daemon, &err), 0);
    oneib_ledger_set_fence(kept, &fence);
    assert_int_equal(oneib_ledger_set_fenced_port(kept, &fenced, &err), 0);
}

static void of_a_lost_ledger_hosts_and_ports_are_whose_they_were(void **unused)
{
    (void)unused;
    struct oneib_snapshot snapshot = {
        .kept.state = ONEIB_LEDGER_ABSENT, .mark.serial = 20, .mark.next = 0x104};
    oneib_autoledger struct oneib_ledger kept = {0}, read = {0}, adopted = {0};
    make_kept(&kept);
    assert_int_equal(oneib_fences_write(state, &kept, &err), 0);
    assert_int_equal(oneib_fences_read(state, &read, &err), 0);
    kept.serial = 1;
    assert_true(oneib_ledger_equal(&kept, &read));

    assert_int_equal(oneib_ledger_adopt(&snapshot, &read, &adopted, &err), 0);
    assert_true(adopted.serial > 20);
    assert_int_equal(adopted.next, 0x104); /* as late as possible comes what hosts do not name */
    adopted.serial = 1;
    adopted.next = 0;
    assert_true(oneib_ledger_equal(&kept, &adopted));
}

/* An older ledger's host ids are those of its database. */
static void of_an_older_ledger_hosts_are_its_own(void **unused)
{
    (void)unused;
    struct oneib_snapshot snapshot = {.kept.state = ONEIB_LEDGER_READ, .mark.serial = 20};
    oneib_autoledger struct oneib_ledger kept = {0}, adopted = {0};
    make_kept(&kept);
    assert_int_equal(oneib_ledger_adopt(&snapshot, &kept, &adopted, &err), 0);
    assert_int_equal(adopted.host_count, 0);
    assert_int_equal(adopted.port_count, 0);
    assert_non_null(oneib_ledger_fence(&adopted, 1));
}

static int set_up(void **unused)
{
    if (make_scratch(unused) < 0)
        return -1;
    snprintf(state, sizeof state, "%s", in_scratch("partitions.conf"));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_mark_only_rises_but_for_another_document, set_up,
                                        remove_scratch),
        cmocka_unit_test_setup_teardown(a_damaged_mark_says_nothing, set_up, remove_scratch),
        cmocka_unit_test(a_ledger_is_older_by_its_serial_in_the_same_document),
        cmocka_unit_test(of_an_older_ledger_what_was_given_since_is_nobodys_but_its_own),
        cmocka_unit_test_setup_teardown(of_a_lost_ledger_hosts_and_ports_are_whose_they_were,
                                        set_up, remove_scratch),
        cmocka_unit_test(of_an_older_ledger_hosts_are_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
