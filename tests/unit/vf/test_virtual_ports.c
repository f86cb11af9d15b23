// SPDX-License-Identifier: Apache-2.0
/* VFs of mlx5 whose own ports this host can read. The test is the subnet manager: it writes what a
 * port holds, where a driver of the host's would show it, or firmware through fwctl, which a
 * stand-in plays. */
#include "../hca/fwctl_standin.h"
#include "base/clock.h"
#include "hca/vf_port.h"
#include "scene.h"
#include <errno.h>

#define PORT "/sys/class/infiniband/mlx5_1/ports/1/%s"
#define POLICY "/sys/class/infiniband/mlx5_0/device/sriov/0/policy"
#define GIVEN 0x0200070000002a01 /* VM 42 NIC 1 at site 7 */
#define DEFAULT 0x7fff

static const struct tree_hca mlx5 = {
    .name = "mlx5_0", .driver = ONEIB_HCA_MLX5, .pci = "0000:04:00.0", .vfs = 2};

/* ---- the stage ------------------------------------------------------------------------------- */

static bool by_firmware;
static uint64_t guid_now;
static uint16_t entries[2];

static void write_gid(uint64_t guid)
{
    char text[64];
    snprintf(text, sizeof text, "fe80:0000:0000:0000:%04x:%04x:%04x:%04x", (unsigned)(guid >> 48),
             (unsigned)(guid >> 32 & 0xffff), (unsigned)(guid >> 16 & 0xffff),
             (unsigned)(guid & 0xffff));
    tree_write(text, PORT, "gids/0");
}

static void write_entry(unsigned index)
{
    char text[16];
    snprintf(text, sizeof text, "0x%04x", entries[index]);
    tree_write(text, PORT "/%u", "pkeys", index);
}

static void write_port(void)
{
    if (by_firmware) {
        fwctl_set_port(0, 0, guid_now, entries[0], entries[1]);
        return;
    }
    write_gid(guid_now);
    write_entry(0);
    write_entry(1);
}

static void set_entry(unsigned index, uint16_t raw)
{
    entries[index] = raw;
    write_port();
}

static void set_port(uint64_t guid, uint16_t first, uint16_t second)
{
    guid_now = guid;
    entries[0] = first;
    entries[1] = second;
    write_port();
}

static bool is_link_up(void)
{
    char text[16];
    tree_read(text, sizeof text, POLICY);
    return strcmp(text, "Follow") == 0;
}

static int open_ports(void **state)
{
    by_firmware = false;
    open_scene(state);
    tree_add_hca(&mlx5);
    tree_bind_vf(&mlx5, 0, "mlx5_core");
    tree_add_vf_device(&mlx5, 0, "mlx5_1");
    set_port(0, 0, 0);
    return 0;
}

/* No driver of the host's has the VF, from the beginning. */
static int open_ports_of_firmware(void **state)
{
    by_firmware = true;
    open_scene(state);
    tree_add_hca(&mlx5);
    fwctl_add(&mlx5, 0);
    set_port(0, 0, 0);
    return 0;
}

static struct wanted wanted_port(void)
{
    struct wanted wanted = wanted_of(42, 1, KEY);
    strcpy(wanted.grant.device, "mlx5_0");
    want_vf(&wanted, tree_vf_pci(&mlx5, 0));
    wanted.pkey_wait_ms = 30000;
    return wanted;
}

static void let_go(void)
{
    tree_bind_vf(&mlx5, 0, "vfio-pci");
    tree_remove("/sys/class/infiniband/mlx5_1");
    char pci[ONEIB_PCI_TEXT_SIZE];
    const struct oneib_pci vf = tree_vf_pci(&mlx5, 0);
    oneib_pci_format(&vf, pci);
    tree_remove("/sys/bus/pci/devices/%s/infiniband", pci);
}

static void give_right(struct oneib_vf_record *record)
{
    const struct wanted wanted = wanted_port();
    set_port(GIVEN, FULL | KEY, DEFAULT);
    give(&wanted, record);
    assert_int_equal(record->stage, ONEIB_VF_OPEN);
    assert_true(is_link_up());
}

/* As if the moment were over for which a link stays down at least. */
static struct oneib_vfs_changes glance_later(void)
{
    const struct oneib_pci vf = tree_vf_pci(&mlx5, 0);
    oneib_vfs_forget_memory(vfs, &vf, ONEIB_VF_RESTS);
    return glance();
}

/* A few looks at what is under way. */
static void wait_a_moment(void)
{
    for (int i = 0; i < 4; i++)
        assert_true(take_step());
}

static bool is_busy(oneib_vfs_ticket ticket)
{
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    return oneib_vfs_progress(vfs, ticket, &record, &err) == ONEIB_VFS_BUSY;
}

static void finish_open(oneib_vfs_ticket ticket)
{
    struct oneib_error err = {0};
    struct oneib_vf_record record = {0};
    if (finish(ticket, &record, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(record.stage, ONEIB_VF_OPEN);
    assert_true(is_link_up());
}

/* ---- giving ---------------------------------------------------------------------------------- */

static void the_link_comes_up_and_the_key_at_index_0_is_waited_for(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_port();
    const oneib_vfs_ticket ticket = begin(&wanted);
    assert_true(is_link_up());
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_PREPARING);
    set_port(GIVEN, DEFAULT, FULL | KEY);
    wait_a_moment();
    assert_true(is_busy(ticket) && is_link_up());
    set_port(GIVEN, FULL | KEY, DEFAULT);
    finish_open(ticket);
}

static void the_port_must_answer_to_the_guid_that_was_set(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_port();
    set_port(GIVEN + 1, FULL | KEY, DEFAULT);
    const oneib_vfs_ticket ticket = begin(&wanted);
    wait_a_moment();
    assert_true(is_busy(ticket));
    set_port(GIVEN, FULL | KEY, DEFAULT);
    finish_open(ticket);
}

static void without_its_key_it_is_closed_and_free_again(void **state)
{
    (void)state;
    struct wanted wanted = wanted_port();
    wanted.pkey_wait_ms = 100;
    set_port(GIVEN, DEFAULT, 0);
    assert_give_fails(&wanted, ONEIB_ERROR_TIMEOUT,
                      "P_Key 0x0005 (full or limited) is not at index 0 of its own table");
    assert_false(is_link_up());
    assert_int_equal(count_records(), 0);
}

/* Who could not see what a link leads to, or whether it is up, calls nothing open. */
static void a_link_that_cannot_be_read_is_not_called_open(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_port();
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    const oneib_vfs_ticket ticket = begin(&wanted);
    set_port(GIVEN, FULL | KEY, DEFAULT);
    tree_set_mode(0200, POLICY);
    const int result = finish(ticket, &record, &err);
    tree_set_mode(0644, POLICY);
    assert_int_equal(result, -1);
    assert_false(is_link_up());
}

static void a_link_that_cannot_be_read_is_taken_down_when_the_list_is_old(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_port();
    begin(&wanted);
    tell_grants(false);
    assert_true(is_link_up());
    tree_set_mode(0200, POLICY);
    assert_true(take_step());
    tree_set_mode(0644, POLICY);
    assert_false(is_link_up());
}

static void
a_link_that_cannot_be_read_is_taken_down_when_its_port_holds_what_is_others(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_port();
    begin(&wanted);
    set_port(GIVEN, FULL | KEY, FULL | OTHER_KEY);
    assert_true(is_link_up());
    tree_set_mode(0200, POLICY);
    assert_true(take_step());
    tree_set_mode(0644, POLICY);
    assert_false(is_link_up());
}

/* The attacker: whoever had the VF, or an SM that makes everybody a full member. */
static void while_the_port_holds_what_is_others_its_link_is_down(void **state)
{
    (void)state;
    static const uint16_t others[] = {FULL | OTHER_KEY, OTHER_KEY, FULL | DEFAULT};
    struct wanted wanted = wanted_port();
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        set_port(GIVEN, FULL | KEY, others[i]);
        /* Not for a moment is it up: whoever would set it now fails. */
        tree_set_mode(0444, POLICY);
        const oneib_vfs_ticket ticket = begin(&wanted);
        assert_false(is_link_up());
        wait_a_moment();
        assert_true(is_busy(ticket) && !is_link_up());
        tree_set_mode(0644, POLICY);
        set_port(GIVEN, FULL | KEY, DEFAULT);
        finish_open(ticket);
        assert_int_equal(release(42, 1), 1);
        settle();
        assert_false(is_link_up());
    }
}

static void a_limited_nic_is_not_widened_by_a_full_entry(void **state)
{
    (void)state;
    struct wanted wanted = wanted_port();
    wanted.grant.limited = true;
    wanted.pkey_wait_ms = 100;
    set_port(GIVEN, KEY, FULL | KEY);
    assert_give_fails(&wanted, ONEIB_ERROR_TIMEOUT, "has 0x0005 full at index 1");
    assert_false(is_link_up());
    set_port(GIVEN, KEY, DEFAULT);
    struct oneib_vf_record record;
    give(&wanted, &record);
    assert_true(is_link_up());
}

static void with_the_key_first_the_link_stays_down_until_it_is_there(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_port();
    vfs->virtual_ports = ONEIB_VIRTUAL_PORTS_KEY_FIRST;
    set_port(GIVEN, DEFAULT, 0);
    const oneib_vfs_ticket ticket = begin(&wanted);
    wait_a_moment();
    assert_true(is_busy(ticket) && !is_link_up());
    set_port(GIVEN, FULL | KEY, DEFAULT);
    finish_open(ticket);
}

/* While its GUID is deferred no SM can know which key it is to have. */
static void a_deferred_guid_is_not_waited_for_but_harm_is_seen(void **state)
{
    (void)state;
    struct wanted wanted = wanted_port();
    struct oneib_vf_record record;
    defer_guid(&wanted, true);
    give(&wanted, &record);
    assert_int_equal(record.guid, ONEIB_VF_GUID_DEFERRED);
    assert_true(is_link_up());
    set_port(GIVEN, FULL | OTHER_KEY, 0);
    look();
    assert_false(is_link_up());
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_CLOSED);
}

static void a_second_call_sees_that_the_key_has_gone(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_port();
    give_right(&record);
    set_entry(0, 0);
    wanted.pkey_wait_ms = 100;
    assert_give_fails(&wanted, ONEIB_ERROR_TIMEOUT, "begins with 0x0000");
    assert_false(is_link_up());
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_CLOSED);
}

/* As the pre of a VM that goes on here: nobody had waited for what it finds under way. */
static void whoever_asks_for_what_is_tried_again_is_told_how_that_ends(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct wanted wanted = wanted_port();
    give_right(&record);
    set_entry(0, 0);
    glance();
    glance_later();
    assert_int_equal(vfs->work_count, 1);
    defer_guid(&wanted, true);
    const oneib_vfs_ticket ticket = begin(&wanted);
    set_entry(0, FULL | KEY);
    finish_open(ticket);
}

/* ---- where it cannot be read ----------------------------------------------------------------- */

static void what_the_host_cannot_read_is_opened_by_its_grant_and_stays_so(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_port();
    let_go();
    give(&wanted, &record);
    assert_true(is_link_up());
    look();
    glance();
    assert_true(is_link_up());
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
}

static void what_a_domain_takes_from_the_hosts_driver_stays_open(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    give_right(&record);
    assert_int_equal(oneib_vfs_unseen(vfs), 0);
    let_go();
    look();
    assert_int_equal(oneib_vfs_unseen(vfs), 1);
    assert_true(is_link_up());
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
}

static void a_port_that_should_be_readable_and_is_not_is_closed(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    give_right(&record);
    tree_write("spoiled", PORT, "pkeys/1");
    look_fails(ONEIB_ERROR_INPUT, "reading the port of virtual function 0 of mlx5_0");
    assert_false(is_link_up());
}

/* ---- firmware -------------------------------------------------------------------------------- */

static void firmware_tells_of_a_vf_that_a_domain_has(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    give_right(&record);
    assert_int_equal(oneib_vfs_unseen(vfs), 0);
    look();
    assert_int_equal(oneib_vfs_unseen(vfs), 0);
    set_port(GIVEN, FULL | KEY, FULL | OTHER_KEY);
    assert_int_equal(glance().closed, 1);
    assert_false(is_link_up());
}

/* As it was before: whether firmware answers at all was never tried. */
static void where_firmware_does_not_tell_a_vf_is_opened_by_its_grant(void **state)
{
    (void)state;
    static const char *const faults[] = {"errno 95", "errno 1", "status 0x02 0", "no-keys"};
    const struct wanted wanted = wanted_port();
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct oneib_vf_record record;
        fwctl_set_fault(0, faults[i]);
        give(&wanted, &record);
        assert_true(is_link_up());
        look();
        assert_true(is_link_up());
        assert_int_equal(oneib_vfs_unseen(vfs), 1);
        assert_int_equal(release(42, 1), 1);
        settle();
    }
}

static void firmware_that_told_and_does_not_tell_any_more_closes_the_vf(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    give_right(&record);
    fwctl_set_fault(0, "status 0x04 0x77");
    look_fails(ONEIB_ERROR_REFUSED, "status 0x04, syndrome 0x00000077");
    assert_false(is_link_up());
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_CLOSED);
    fwctl_set_fault(0, "");
    look();
    assert_true(is_link_up());
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
}

/* Adapters are read again when one of them has come, gone, or cannot be read. */
static void what_firmware_told_is_known_however_often_adapters_are_read(void **state)
{
    (void)state;
    static const struct tree_hca second = {
        .name = "mlx4_1", .driver = ONEIB_HCA_MLX4, .pci = "0000:91:00.0", .vfs = 1, .pkeys = 7};
    struct oneib_vf_record record;
    give_right(&record);
    tree_add_hca(&second);
    fwctl_set_fault(0, "status 0x04 0x77");
    look_fails(ONEIB_ERROR_REFUSED, "status 0x04, syndrome 0x00000077");
    assert_false(is_link_up());
}

/* The port lacks its key, and its link is up: the next look is two commands, and so is the one after
 * its link was found up. */
static oneib_vfs_ticket begin_with_one_look_left(int error)
{
    char fault[64];
    const struct wanted wanted = wanted_port();
    const oneib_vfs_ticket ticket = begin(&wanted);
    assert_true(is_link_up());
    snprintf(fault, sizeof fault, "errno %d %zu", error, fwctl_commands() + 2);
    fwctl_set_fault(0, fault);
    assert_true(take_step());
    return ticket;
}

static void what_is_seen_no_more_after_its_link_came_up_is_not_proved(void **state)
{
    (void)state;
    const oneib_vfs_ticket ticket = begin_with_one_look_left(ENODEV);
    assert_true(is_busy(ticket));
    assert_false(is_link_up());
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_PREPARING);
    oneib_vfs_forget(vfs, ticket);
    settle();
}

static void firmware_that_fails_after_the_link_came_up_closes_the_vf(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    const oneib_vfs_ticket ticket = begin_with_one_look_left(EIO);
    assert_false(is_link_up());
    assert_int_equal(oneib_vfs_progress(vfs, ticket, &record, &err), ONEIB_VFS_FAILED);
    oneib_vfs_forget(vfs, ticket);
    settle();
}

static void by_an_answer_that_is_cut_nothing_is_opened(void **state)
{
    (void)state;
    struct wanted wanted = wanted_port();
    set_port(GIVEN, FULL | KEY, DEFAULT);
    fwctl_set_fault(0, "short 4");
    assert_give_fails(&wanted, ONEIB_ERROR_PROTOCOL, "bytes instead of");
    assert_false(is_link_up());
    assert_int_equal(count_records(), 0);
}

/* The module that makes the device may be loaded later than the service is started, or anew. */
static void a_device_that_comes_later_is_used(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    fwctl_remove(0);
    const struct wanted wanted = wanted_port();
    give(&wanted, &record);
    assert_int_equal(oneib_vfs_unseen(vfs), 1);
    fwctl_add(&mlx5, 0);
    set_port(GIVEN, FULL | KEY, DEFAULT);
    look();
    assert_int_equal(oneib_vfs_unseen(vfs), 0);
    assert_true(is_link_up());
    fwctl_set_fault(0, "errno 19");
    look();
    assert_true(is_link_up());
    assert_int_equal(oneib_vfs_unseen(vfs), 1);
}

/* The module was loaded anew: whoever had the old one would hear what was. */
static void a_device_that_is_made_anew_is_opened_anew(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    char *of = tree_path("/sys/class/fwctl/fwctl0"), *kept = tree_path("/run/kept");
    give_right(&record);
    assert_int_equal(rename(of, kept), 0); /* so that the new one has another directory */
    fwctl_remove(0);
    fwctl_add(&mlx5, 0);
    set_port(GIVEN, FULL | KEY, FULL | OTHER_KEY);
    look();
    assert_false(is_link_up());
    free(of);
    free(kept);
}

/* Later the service has fewer rights. */
static void its_device_is_opened_with_the_engine(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    const struct wanted wanted = wanted_port();
    const struct oneib_vfs_options options = {.pkey_wait_ms = PKEY_WAIT_MS,
                                              .guid_wait_ms = GUID_WAIT_MS};
    set_port(GIVEN, FULL | KEY, DEFAULT);
    stop_engine();
    assert_int_equal(oneib_vfs_open(&options, &vfs, &err), 0);
    tree_set_mode(0, "/dev/fwctl/fwctl0");
    oneib_vfs_set_domains(vfs, &domains);
    tell_grants(true);
    give(&wanted, &record);
    assert_int_equal(oneib_vfs_unseen(vfs), 0);
}

/* ---- watching -------------------------------------------------------------------------------- */

static void the_link_is_taken_down_when_the_key_goes_and_comes_up_with_it(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    vfs->virtual_ports = ONEIB_VIRTUAL_PORTS_KEY_FIRST;
    give_right(&record);
    set_entry(0, DEFAULT);
    assert_int_equal(glance().closed, 1);
    assert_false(is_link_up());
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_CLOSED);
    glance();
    assert_false(is_link_up());
    set_entry(0, FULL | KEY);
    assert_int_equal(glance().opened, 1);
    assert_true(is_link_up());
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
}

/* It was open, and its key went: the link is up, and it is waited for. */
static void wait_with_the_link_up(void)
{
    struct oneib_vf_record record;
    give_right(&record);
    set_entry(0, DEFAULT);
    glance();
    glance_later();
    assert_true(is_link_up());
}

/* The service was killed while it watched that. */
static void a_link_that_was_left_up_before_its_key_is_not_called_open(void **state)
{
    (void)state;
    wait_with_the_link_up();
    restart_engine();
    look();
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_CLOSED);
    set_entry(0, FULL | KEY);
    settle();
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
}

static void with_the_link_first_it_is_tried_again_and_watched(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    give_right(&record);
    set_entry(0, DEFAULT);
    glance();
    assert_false(is_link_up());
    glance();
    assert_false(is_link_up());
    glance_later();
    assert_true(is_link_up());
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_CLOSED);
    set_entry(1, FULL | OTHER_KEY);
    wait_a_moment();
    assert_false(is_link_up());
    set_port(GIVEN, FULL | KEY, DEFAULT);
    settle();
    assert_true(is_link_up());
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_OPEN);
}

static void one_that_is_tried_in_vain_is_closed_in_the_end(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    give_right(&record);
    set_entry(0, DEFAULT);
    glance();
    vfs->pkey_wait_ms = 1000; /* on a machine that is busy, too */
    glance_later();
    assert_true(is_link_up());
    settle();
    assert_false(is_link_up());
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_CLOSED);
    assert_int_equal(record_of(42, 1).pkey, KEY);
}

/* A service that was killed meanwhile leaves the link up and the record CLOSED. */
static void a_link_that_is_up_without_its_key_is_not_taken_for_open(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    give_right(&record);
    set_entry(0, DEFAULT);
    leave_record(42, 1, ONEIB_VF_CLOSED, 0);
    assert_true(is_link_up());
    vfs->pkey_wait_ms = 100;
    look();
    assert_int_equal(record_of(42, 1).stage, ONEIB_VF_CLOSED);
    settle();
    assert_false(is_link_up());
}

static void what_is_not_granted_any_more_is_closed_while_its_key_is_waited_for(void **state)
{
    (void)state;
    wait_with_the_link_up();
    drop_grant(42, 1);
    tell_grants(true);
    assert_false(is_link_up());
    settle();
    assert_false(is_link_up());
    assert_int_equal(record_of(42, 1).pkey, 0);
}

static void by_a_list_that_is_old_no_link_is_up_without_its_key(void **state)
{
    (void)state;
    const struct wanted wanted = wanted_port();
    const oneib_vfs_ticket ticket = begin(&wanted);
    assert_true(is_link_up());
    tell_grants(false);
    wait_a_moment();
    assert_false(is_link_up());
    assert_true(is_busy(ticket));
    set_port(GIVEN, FULL | KEY, DEFAULT);
    tell_grants(true);
    finish_open(ticket);
}

/* The same, whoever tells. */
int main(void)
{
#define BY_SYSFS(test) cmocka_unit_test_setup_teardown(test, open_ports, close_scene)
#define BY_FIRMWARE(test) cmocka_unit_test_setup_teardown(test, open_ports_of_firmware, close_scene)
#define IN_PORTS(test) BY_SYSFS(test), BY_FIRMWARE(test)
    const struct CMUnitTest tests[] = {
        IN_PORTS(the_link_comes_up_and_the_key_at_index_0_is_waited_for),
        IN_PORTS(the_port_must_answer_to_the_guid_that_was_set),
        IN_PORTS(without_its_key_it_is_closed_and_free_again),
        IN_PORTS(while_the_port_holds_what_is_others_its_link_is_down),
        BY_SYSFS(a_link_that_cannot_be_read_is_not_called_open),
        BY_SYSFS(a_link_that_cannot_be_read_is_taken_down_when_the_list_is_old),
        BY_SYSFS(a_link_that_cannot_be_read_is_taken_down_when_its_port_holds_what_is_others),
        IN_PORTS(a_limited_nic_is_not_widened_by_a_full_entry),
        IN_PORTS(with_the_key_first_the_link_stays_down_until_it_is_there),
        IN_PORTS(a_deferred_guid_is_not_waited_for_but_harm_is_seen),
        IN_PORTS(a_second_call_sees_that_the_key_has_gone),
        IN_PORTS(the_link_is_taken_down_when_the_key_goes_and_comes_up_with_it),
        IN_PORTS(a_link_that_was_left_up_before_its_key_is_not_called_open),
        IN_PORTS(with_the_link_first_it_is_tried_again_and_watched),
        IN_PORTS(whoever_asks_for_what_is_tried_again_is_told_how_that_ends),
        IN_PORTS(one_that_is_tried_in_vain_is_closed_in_the_end),
        IN_PORTS(a_link_that_is_up_without_its_key_is_not_taken_for_open),
        IN_PORTS(what_is_not_granted_any_more_is_closed_while_its_key_is_waited_for),
        IN_PORTS(by_a_list_that_is_old_no_link_is_up_without_its_key),
        BY_SYSFS(what_the_host_cannot_read_is_opened_by_its_grant_and_stays_so),
        BY_SYSFS(what_a_domain_takes_from_the_hosts_driver_stays_open),
        BY_SYSFS(a_port_that_should_be_readable_and_is_not_is_closed),
        BY_FIRMWARE(firmware_tells_of_a_vf_that_a_domain_has),
        BY_FIRMWARE(where_firmware_does_not_tell_a_vf_is_opened_by_its_grant),
        BY_FIRMWARE(firmware_that_told_and_does_not_tell_any_more_closes_the_vf),
        BY_FIRMWARE(what_firmware_told_is_known_however_often_adapters_are_read),
        BY_FIRMWARE(what_is_seen_no_more_after_its_link_came_up_is_not_proved),
        BY_FIRMWARE(firmware_that_fails_after_the_link_came_up_closes_the_vf),
        BY_FIRMWARE(by_an_answer_that_is_cut_nothing_is_opened),
        BY_FIRMWARE(a_device_that_comes_later_is_used),
        BY_FIRMWARE(a_device_that_is_made_anew_is_opened_anew),
        BY_FIRMWARE(its_device_is_opened_with_the_engine),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
