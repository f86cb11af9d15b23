// SPDX-License-Identifier: Apache-2.0
/* What a node's service tells oneibd, and what it believes of it. */
#include "grants_feed_scene.h"
#include <stdlib.h>
#include <unistd.h>

/* As in grants_feed.c. */
#define TAKEN_MAX 64
#define REPORT_PAUSE_MS 25
#define WANT_PAUSE_MS 500
#define WANTS_AT_ONCE 20

#define NO_DAEMON_NUMBER DAEMONS /* one more than there are */

/* ---- whom it talks to ------------------------------------------------------------------------ */

static void oneib_grants_is_told_this_hosts_key_and_the_daemons(void **state)
{
    (void)state;
    assert_true(hear_one());
    assert_int_equal(packet.kind, ONEIB_RELAY_SETUP);
    assert_int_equal(packet.setup.count, DAEMONS);
    assert_string_equal(packet.setup.peers[1].address, daemons.items[1].address);
    assert_memory_equal(&packet.setup.pair, &node, sizeof node);
    turn();
    assert_false(hear_one());
    assert_int_equal(supervisor_standin.starts, 1);
}

/* An image that was made of a host has its machine id, and must not have its key. */
static void another_machine_has_another_key(void **state)
{
    (void)state;
    struct oneib_curve_pair pair, again, others;
    char *path = tree_path("/etc/machine-id");
    tree_write("0123456789abcdef0123456789abcdef", "/etc/machine-id");
    assert_int_equal(oneib_grants_read_pair(&pair, &err), 0);
    assert_int_equal(truncate(path, 32), 0); /* nothing behind the last digit */
    free(path);
    assert_int_equal(oneib_grants_read_pair(&again, &err), 0);
    assert_memory_equal(&again, &pair, sizeof pair);
    tree_write("0123456789abcdef0123456789abcdee", "/etc/machine-id");
    assert_int_equal(oneib_grants_read_pair(&others, &err), 0);
    assert_memory_not_equal(others.public, pair.public, sizeof pair.public);
    tree_write("0123456789abcdef", "/etc/machine-id");
    assert_int_equal(oneib_grants_read_pair(&others, &err), -1);
    assert_non_null(strstr(err.text, "/etc/machine-id has no machine id"));
}

static void the_probe_is_told_the_public_half_of_the_key(void **state)
{
    (void)state;
    char told[2 * ONEIB_KEY_TEXT_SIZE], digits[ONEIB_KEY_TEXT_SIZE];
    oneib_key_format(node.public, digits);
    tree_read(told, sizeof told, ONEIB_NODE_PUBLIC_FILE);
    assert_string_equal(told, digits);
}

static void who_connects_is_challenged_and_told_what_there_is(void **state)
{
    (void)state;
    table.count = 1;
    records[0] = (struct oneib_vf_record){.vf.bus = 4, .device = "mlx4_0", .port = 1, .vm_id = 42};
    turn_and_hear();
    connect_daemon(0);
    assert_int_equal(heard[0].challenges, 1);
    assert_int_equal(heard[0].reports, 1);
    assert_int_equal(heard[0].report.count, 1);
    assert_int_equal(heard[0].report.records[0].vm_id, 42);
    assert_true(heard[0].report.complete);
}

/* By that oneibd tells two machines of one key apart. */
static void a_report_says_which_start_of_the_kernel_it_is_of(void **state)
{
    (void)state;
    uint8_t boot[ONEIB_NONCE_SIZE];
    unsigned byte;
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    assert_non_null(file);
    for (size_t i = 0; i < sizeof boot; i++) {
        assert_int_equal(fscanf(file, "%2x%*[-]", &byte), 1);
        boot[i] = (uint8_t)byte;
    }
    fclose(file);
    connect_daemon(0);
    assert_memory_equal(heard[0].report.boot, boot, sizeof boot);
}

static void who_is_not_connected_is_told_nothing(void **state)
{
    (void)state;
    connect_daemon(0);
    assert_int_equal(heard[1].challenges + heard[1].reports, 0);
    say_news(ONEIB_RELAY_DISCONNECTED, 0, "out of reach");
    turn_and_hear();
    now += ONEIB_REPORT_MS;
    turn_and_hear();
    assert_int_equal(heard[0].challenges + heard[0].reports, 0);
}

static void who_is_connected_is_challenged_every_two_seconds(void **state)
{
    (void)state;
    uint8_t first[ONEIB_NONCE_SIZE];
    connect_daemon(0);
    memcpy(first, heard[0].nonce, sizeof first);
    now += ONEIB_CHALLENGE_MS - 1;
    turn_and_hear();
    assert_int_equal(heard[0].challenges, 0);
    assert_int_equal(oneib_grant_feed_due_ms(feed), 2);
    now += 1;
    turn_and_hear();
    assert_int_equal(heard[0].challenges, 1);
    assert_memory_not_equal(heard[0].nonce, first, sizeof first);
}

static void what_has_not_changed_is_reported_every_five_seconds(void **state)
{
    (void)state;
    connect_daemon(0);
    turn_and_hear();
    assert_int_equal(heard[0].reports, 0);
    now += ONEIB_REPORT_MS - 1;
    turn_and_hear();
    assert_int_equal(heard[0].reports, 0);
    now += 1;
    turn_and_hear();
    assert_int_equal(heard[0].reports, 1);
}

/* And what else the service has to do is done in between. */
static void of_much_that_is_said_a_part_is_taken_at_once(void **state)
{
    (void)state;
    for (int i = 0; i < TAKEN_MAX; i++)
        say_news(ONEIB_RELAY_ALIVE, 0, NULL);
    say_news(ONEIB_RELAY_CONNECTED, 0, NULL);
    turn_and_hear();
    assert_int_equal(heard[0].challenges, 0);
    turn_and_hear();
    assert_int_equal(heard[0].challenges, 1);
}

/* oneib-grants cannot make one, whatever it says. */
static void a_daemon_that_there_is_not_is_none(void **state)
{
    (void)state;
    begin_log();
    say_news(ONEIB_RELAY_CONNECTED, NO_DAEMON_NUMBER, NULL);
    turn();
    end_log();
    assert_string_equal(logged, "");
    assert_why("not connected to oneibd at tcp://front1:7777");
}

/* ---- reports --------------------------------------------------------------------------------- */

static unsigned reports_after_the_pause(void)
{
    now += REPORT_PAUSE_MS;
    turn_and_hear();
    return heard[0].reports;
}

enum { FIELDS = 13 };

static void change_field(struct oneib_vf_record *record, int field)
{
    switch (field) {
    case 0:
        record->vf.bus++;
        break;
    case 1:
        strcpy(record->device, "mlx4_1");
        break;
    case 2:
        record->index++;
        break;
    case 3:
        record->port++;
        break;
    case 4:
        record->vm_id++;
        break;
    case 5:
        record->nic_id++;
        break;
    case 6:
        record->network_id++;
        break;
    case 7:
        record->site++;
        break;
    case 8:
        record->pkey++;
        break;
    case 9:
        record->limited = true;
        break;
    case 10:
        record->stage = ONEIB_VF_ENDED;
        break;
    case 11:
        record->guid = ONEIB_VF_GUID_SET;
        break;
    default:
        record->in_domain = true;
    }
}

static void begin_with_record(void)
{
    table.count = 1;
    records[0] = (struct oneib_vf_record){.vf.bus = 4,
                                          .device = "mlx4_0",
                                          .port = 1,
                                          .vm_id = 42,
                                          .nic_id = 1,
                                          .network_id = 7,
                                          .site = 7,
                                          .pkey = 5,
                                          .stage = ONEIB_VF_OPEN};
    connect_daemon(0);
    assert_int_equal(reports_after_the_pause(), 0);
}

static void whatever_changes_of_a_record_is_reported(void **state)
{
    (void)state;
    begin_with_record();
    for (int field = 0; field < FIELDS; field++) {
        change_field(&records[0], field);
        if (reports_after_the_pause() != 1)
            fail_msg("field %d is not reported", field);
        assert_int_equal(reports_after_the_pause(), 0);
    }
}

static void for_how_long_it_has_been_so_is_no_change(void **state)
{
    (void)state;
    begin_with_record();
    records[0].since++;
    assert_int_equal(reports_after_the_pause(), 0);
}

static void a_record_that_comes_or_goes_is_reported(void **state)
{
    (void)state;
    begin_with_record();
    records[1] = records[0];
    records[1].vf.bus++;
    records[1].nic_id++;
    table.count = 2;
    assert_int_equal(reports_after_the_pause(), 1);
    assert_int_equal(heard[0].report.count, 2);
    table.count = 1;
    assert_int_equal(reports_after_the_pause(), 1);
    assert_int_equal(heard[0].report.count, 1);
}

static void what_changes_in_a_moment_is_one_report(void **state)
{
    (void)state;
    begin_with_record();
    records[0].vm_id++;
    turn_and_hear();
    assert_int_equal(heard[0].reports, 1);
    records[0].vm_id++;
    now += REPORT_PAUSE_MS - 1;
    turn_and_hear();
    assert_int_equal(heard[0].reports, 0);
    assert_int_equal(oneib_grant_feed_due_ms(feed), 2);
    now += 1;
    turn_and_hear();
    assert_int_equal(heard[0].reports, 1);
    assert_int_equal(heard[0].report.records[0].vm_id, 44);
}

static void a_list_that_was_followed_is_reported_though_nothing_else_changed(void **state)
{
    (void)state;
    follow_daemon(0);
    assert_int_equal(reports_after_the_pause(), 0);
    oneib_grant_feed_report(feed);
    assert_int_equal(reports_after_the_pause(), 1);
    assert_int_equal(heard[0].report.follows.serial, 1);
    assert_true(heard[0].report.believes);
}

static void who_is_not_believed_is_told_so(void **state)
{
    (void)state;
    follow_daemon(0);
    connect_daemon(1);
    assert_int_equal(heard[1].reports, 1);
    assert_false(heard[1].report.believes);
    assert_int_equal(heard[1].report.follows.serial, 0);
}

static void a_table_that_is_not_known_is_not_complete(void **state)
{
    (void)state;
    begin_with_record();
    table_known = false;
    assert_int_equal(reports_after_the_pause(), 1);
    assert_false(heard[0].report.complete);
    assert_int_equal(reports_after_the_pause(), 0);
    table_known = true;
    assert_int_equal(reports_after_the_pause(), 1);
    assert_true(heard[0].report.complete);
}

static void fill_table(size_t count)
{
    for (size_t i = 0; i < count; i++)
        records[i] = (struct oneib_vf_record){.vf = {.bus = (uint8_t)(i / 256),
                                                     .slot = (uint8_t)(i / 8 % 32),
                                                     .function = (uint8_t)(i % 8)},
                                              .device = "mlx4_0",
                                              .port = 1,
                                              .vm_id = (uint32_t)i};
    table.count = count;
}

static void of_a_table_that_is_too_long_the_beginning_is_reported(void **state)
{
    (void)state;
    connect_daemon(0);
    fill_table(ONEIB_GRANTS_MAX);
    assert_int_equal(reports_after_the_pause(), 1);
    assert_true(heard[0].report.complete);
    fill_table(ONEIB_GRANTS_MAX + 1);
    assert_int_equal(reports_after_the_pause(), 1);
    assert_false(heard[0].report.complete);
    assert_int_equal(heard[0].report.count, ONEIB_GRANTS_MAX);
    assert_int_equal(reports_after_the_pause(), 0);
}

/* ---- ports ----------------------------------------------------------------------------------- */

static struct oneib_port ports[ONEIB_HOST_PORTS_MAX + 1];

/* An adapter with the first of them. */
static void set_ports(size_t count)
{
    struct oneib_hca hca = {.name = "mlx4_0", .ports = ports, .port_count = count};
    for (size_t i = 0; i < count; i++)
        ports[i].number = (uint8_t)(i + 1);
    const struct oneib_hcas hcas = {.items = &hca, .count = 1};
    oneib_grant_feed_set_ports(feed, &hcas);
}

static void own_infiniband_ports_are_reported_in_order_and_once(void **state)
{
    (void)state;
    memset(ports, 0, sizeof ports);
    connect_daemon(0);
    ports[0].guid = 9;
    ports[1].guid = 4;
    ports[2].guid = 9;
    ports[3] = (struct oneib_port){.guid = 5, .link_layer = ONEIB_LINK_ETHERNET};
    set_ports(5);
    assert_int_equal(reports_after_the_pause(), 1);
    assert_int_equal(heard[0].report.port_count, 2);
    assert_int_equal(heard[0].report.ports[0].port_guid, 4);
    assert_int_equal(heard[0].report.ports[1].port_guid, 9);
    set_ports(5);
    assert_int_equal(reports_after_the_pause(), 0);
    ports[1].guid = 3;
    set_ports(5);
    assert_int_equal(reports_after_the_pause(), 1);
    set_ports(1);
    assert_int_equal(reports_after_the_pause(), 1);
    set_ports(0);
    assert_int_equal(reports_after_the_pause(), 1);
    assert_int_equal(heard[0].report.port_count, 0);
    set_ports(0);
    assert_int_equal(reports_after_the_pause(), 0);
}

static void no_more_ports_are_reported_than_fit(void **state)
{
    (void)state;
    memset(ports, 0, sizeof ports);
    connect_daemon(0);
    for (size_t i = 0; i <= ONEIB_HOST_PORTS_MAX; i++)
        ports[i].guid = i + 1;
    set_ports(ONEIB_HOST_PORTS_MAX + 1);
    assert_int_equal(reports_after_the_pause(), 1);
    assert_int_equal(heard[0].report.port_count, ONEIB_HOST_PORTS_MAX);
}

static void how_many_vfs_nobody_can_see_is_reported(void **state)
{
    (void)state;
    connect_daemon(0);
    oneib_grant_feed_set_unseen(feed, 3);
    assert_int_equal(reports_after_the_pause(), 1);
    assert_int_equal(heard[0].report.unseen, 3);
    oneib_grant_feed_set_unseen(feed, 3);
    assert_int_equal(reports_after_the_pause(), 0);
    oneib_grant_feed_set_unseen(feed, UINT16_MAX + 1);
    assert_int_equal(reports_after_the_pause(), 1);
    assert_int_equal(heard[0].report.unseen, UINT16_MAX);
}

/* A change that no room was for is not forgotten. */
static void a_report_that_was_not_taken_is_made_again(void **state)
{
    (void)state;
    unsigned reports = 0;
    connect_daemon(0);
    fill_table(ONEIB_GRANTS_MAX);
    for (unsigned i = 0; i < 64; i++) {
        records[0].index++;
        now += REPORT_PAUSE_MS;
        turn();
    }
    hear_all();
    assert_true(heard[0].reports < 64);
    reports = reports_after_the_pause();
    assert_int_equal(reports, 1);
    assert_int_equal(heard[0].report.records[0].index, records[0].index);
    assert_int_equal(reports_after_the_pause(), 0);
}

/* ---- what is believed ------------------------------------------------------------------------ */

static void a_list_is_followed_and_grows_old(void **state)
{
    (void)state;
    follow_daemon(0);
    assert_why("");
    assert_false(turn());
    now += ONEIB_LIST_AGE_MS - 1;
    say_news(ONEIB_RELAY_ALIVE, 0, NULL);
    assert_false(turn());
    now += 1;
    assert_true(turn());
    assert_true(has_list());
    assert_false(is_fresh());
    assert_why("oneibd at tcp://front1:7777 has sent no grants for too long");
    assert_false(turn());
}

static void until_a_list_is_old_that_is_waited_for(void **state)
{
    (void)state;
    follow_daemon(0);
    say_news(ONEIB_RELAY_DISCONNECTED, 0, "out of reach");
    turn();
    now += ONEIB_LIST_AGE_MS - 100;
    assert_int_equal(oneib_grant_feed_due_ms(feed), 101);
}

static void assert_nothing_is_followed(void)
{
    turn();
    assert_false(has_list() && is_fresh());
}

static void only_what_a_daemon_has_signed_itself_is_believed(void **state)
{
    (void)state;
    connect_daemon(0);
    make_list(1);
    say_signed(0, &signs[1]);
    say_life(0, 1);
    assert_nothing_is_followed();
    say_list(0, 1);
    assert_true(turn());
    now += ONEIB_CHALLENGE_MS;
    turn_and_hear();
    now += ONEIB_LIST_AGE_MS - ONEIB_CHALLENGE_MS;
    make_life(0, 1);
    say_signed(0, &signs[1]);
    turn();
    assert_false(is_fresh());
    say_life(0, 1);
    turn();
    assert_true(is_fresh());
}

static void what_is_for_another_node_is_not_believed(void **state)
{
    (void)state;
    connect_daemon(0);
    make_list(1);
    message.list.node[0] ^= 1;
    say_signed(0, &signs[0]);
    say_life(0, 1);
    assert_nothing_is_followed();
    now += ONEIB_CHALLENGE_MS;
    turn_and_hear();
    say_list(0, 1);
    make_life(0, 1);
    now += ONEIB_LIST_AGE_MS - ONEIB_CHALLENGE_MS;
    message.life.node[0] ^= 1;
    say_signed(0, &signs[0]);
    turn();
    assert_false(is_fresh());
}

/* Not the writer: whoever knows no other oneibd has no less reason to believe it. */
static void the_only_one_that_is_known_is_believed_for_its_subnet_manager_too(void **state)
{
    (void)state;
    const struct tree_hca hca = {.driver = ONEIB_HCA_MLX5, .pci = "0000:04:00.0"};
    tree_add_hca(&hca);
    tree_write("0x8", "/sys/class/infiniband/mlx5_0/ports/1/sm_lid");
    daemons.count = 1;
    write_daemons();
    reopen_feed();
    connect_daemon(0);
    say_list(0, 1);
    make_life(0, 1);
    message.life.role = (struct oneib_daemon_role){.has_sm = true, .sm_lid = 9};
    say_signed(0, &signs[0]);
    assert_nothing_is_followed();
    now += ONEIB_CHALLENGE_MS;
    turn_and_hear();
    tree_write("0x9", "/sys/class/infiniband/mlx5_0/ports/1/sm_lid");
    make_life(0, 1);
    message.life.role = (struct oneib_daemon_role){.has_sm = true, .sm_lid = 9};
    say_signed(0, &signs[0]);
    turn();
    assert_true(has_list() && is_fresh());
}

#define SM_LID "/sys/class/infiniband/mlx5_%d/ports/%d/sm_lid"
#define STATE "/sys/class/infiniband/mlx5_%d/ports/%d/state"

static void assert_lids(const uint16_t *wanted, size_t count)
{
    uint16_t lids[ONEIB_GRANTS_LIDS_MAX];
    assert_int_equal(oneib_grants_read_lids(lids), count);
    assert_memory_equal(lids, wanted, count * sizeof *lids);
}

/* A port that is down, or that no subnet manager has come to, speaks for no daemon. */
static void the_subnet_managers_lid_counts_of_each_active_port_that_has_one(void **state)
{
    (void)state;
    const struct tree_hca first = {.driver = ONEIB_HCA_MLX5, .pci = "0000:04:00.0", .ports = 2};
    const struct tree_hca second = {
        .name = "mlx5_1", .driver = ONEIB_HCA_MLX5, .pci = "0000:05:00.0", .ports = 2};
    tree_add_hca(&first);
    tree_add_hca(&second);
    tree_write("0x8", SM_LID, 0, 1);
    tree_write("0xffff", SM_LID, 0, 2);
    tree_write("0x9", SM_LID, 1, 1);
    tree_write("0xa", SM_LID, 1, 2);
    assert_lids((const uint16_t[]){0x8, 0xffff, 0x9, 0xa}, 4);
    tree_write("2: INIT", STATE, 0, 1);
    tree_write("0x0", SM_LID, 0, 2);
    tree_write("0x10000", SM_LID, 1, 1);
    assert_lids((const uint16_t[]){0xa}, 1);
    tree_remove("/sys/class/infiniband/mlx5_1/ports/2/state");
    assert_lids(NULL, 0);
}

static void what_no_oneibd_says_is_passed_over(void **state)
{
    (void)state;
    connect_daemon(0);
    memset(&message, 0, sizeof message);
    message.kind = ONEIB_GRANTS_CHALLENGE;
    say_signed(0, &signs[0]);
    assert_nothing_is_followed();
    assert_int_equal(supervisor_standin.starts, 1);
}

/* ---- wants ----------------------------------------------------------------------------------- */

static void want(uint32_t vm_id, uint8_t nic_id, uint32_t network_id)
{
    const struct oneib_want_message wanted = {
        .vm_id = vm_id, .nic_id = nic_id, .network_id = network_id};
    oneib_grant_feed_want(feed, &wanted);
}

static void what_is_wanted_is_told_to_all_while_none_is_believed(void **state)
{
    (void)state;
    connect_daemon(0);
    connect_daemon(1);
    want(42, 1, 7);
    hear_all();
    assert_int_equal(heard[0].wants, 1);
    assert_int_equal(heard[1].wants, 1);
    assert_int_equal(heard[1].want.vm_id, 42);
    assert_int_equal(heard[1].want.nic_id, 1);
    assert_int_equal(heard[1].want.network_id, 7);
}

static void what_is_wanted_is_told_to_the_believed_one_alone(void **state)
{
    (void)state;
    follow_daemon(1);
    connect_daemon(0);
    want(42, 1, 7);
    hear_all();
    assert_int_equal(heard[0].wants, 0);
    assert_int_equal(heard[1].wants, 1);
}

static void the_same_is_told_twice_a_second_at_most(void **state)
{
    (void)state;
    connect_daemon(0);
    want(42, 1, 7);
    now += WANT_PAUSE_MS - 1;
    want(42, 1, 7);
    hear_all();
    assert_int_equal(heard[0].wants, 1);
    now += 1;
    want(42, 1, 7);
    want(43, 1, 7);
    want(43, 2, 7);
    want(43, 2, 8);
    hear_all();
    assert_int_equal(heard[0].wants, 4);
}

static void of_many_twenty_are_told_at_once(void **state)
{
    (void)state;
    connect_daemon(0);
    for (uint32_t vm_id = 0; vm_id <= WANTS_AT_ONCE; vm_id++)
        want(vm_id, 1, 7);
    hear_all();
    assert_int_equal(heard[0].wants, WANTS_AT_ONCE);
    now += WANT_PAUSE_MS;
    want(WANTS_AT_ONCE, 1, 7);
    hear_all();
    assert_int_equal(heard[0].wants, 1);
}

static void what_nobody_was_told_is_told_to_who_connects(void **state)
{
    (void)state;
    want(42, 1, 7);
    connect_daemon(0);
    want(42, 1, 7);
    hear_all();
    assert_int_equal(heard[0].wants, 1);
    connect_daemon(1);
    want(42, 1, 7);
    hear_all();
    assert_int_equal(heard[1].wants, 1);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(oneib_grants_is_told_this_hosts_key_and_the_daemons),
        WITH(another_machine_has_another_key),
        WITH(the_probe_is_told_the_public_half_of_the_key),
        WITH(who_connects_is_challenged_and_told_what_there_is),
        WITH(a_report_says_which_start_of_the_kernel_it_is_of),
        WITH(who_is_not_connected_is_told_nothing),
        WITH(who_is_connected_is_challenged_every_two_seconds),
        WITH(what_has_not_changed_is_reported_every_five_seconds),
        WITH(of_much_that_is_said_a_part_is_taken_at_once),
        WITH(a_daemon_that_there_is_not_is_none),
        WITH(whatever_changes_of_a_record_is_reported),
        WITH(for_how_long_it_has_been_so_is_no_change),
        WITH(a_record_that_comes_or_goes_is_reported),
        WITH(what_changes_in_a_moment_is_one_report),
        WITH(a_list_that_was_followed_is_reported_though_nothing_else_changed),
        WITH(who_is_not_believed_is_told_so),
        WITH(a_table_that_is_not_known_is_not_complete),
        WITH(of_a_table_that_is_too_long_the_beginning_is_reported),
        WITH(own_infiniband_ports_are_reported_in_order_and_once),
        WITH(no_more_ports_are_reported_than_fit),
        WITH(how_many_vfs_nobody_can_see_is_reported),
        WITH(a_report_that_was_not_taken_is_made_again),
        WITH(a_list_is_followed_and_grows_old),
        WITH(until_a_list_is_old_that_is_waited_for),
        WITH(only_what_a_daemon_has_signed_itself_is_believed),
        WITH(what_is_for_another_node_is_not_believed),
        WITH(the_only_one_that_is_known_is_believed_for_its_subnet_manager_too),
        WITH(the_subnet_managers_lid_counts_of_each_active_port_that_has_one),
        WITH(what_no_oneibd_says_is_passed_over),
        WITH(what_is_wanted_is_told_to_all_while_none_is_believed),
        WITH(what_is_wanted_is_told_to_the_believed_one_alone),
        WITH(the_same_is_told_twice_a_second_at_most),
        WITH(of_many_twenty_are_told_at_once),
        WITH(what_nobody_was_told_is_told_to_who_connects),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
