// SPDX-License-Identifier: Apache-2.0
/* What an mlx5 adapter's firmware tells of a VF's port through fwctl, which a stand-in plays. */
#include "fwctl_standin.h"
#include "hca/firmware.h"
#include "hca/vf_port.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define GUID 0x0200070000002a01
#define VF 1

static const struct tree_hca mlx5 = {
    .name = "mlx5_0", .driver = ONEIB_HCA_MLX5, .pci = "0000:41:00.0", .vfs = 3};
static const struct tree_hca other = {
    .name = "mlx5_1", .driver = ONEIB_HCA_MLX5, .pci = "0000:42:00.0", .vfs = 3};

static struct oneib_hcas hcas;
static struct oneib_virtual_port port;
static struct oneib_error err;

static void read_adapters(void)
{
    oneib_hcas_clear(&hcas);
    assert_int_equal(oneib_hcas_read(ONEIB_HCA_VFS | ONEIB_HCA_FIRMWARE, &hcas, &err), 0);
    assert_int_equal(hcas.items[0].fault.code, ONEIB_ERROR_NONE);
}

static int open_adapter(void **state)
{
    tree_reset(state);
    tree_add_hca(&mlx5);
    fwctl_add(&mlx5, 0);
    fwctl_set_port(0, VF, GUID, 0x8005, 0x7fff);
    read_adapters();
    return 0;
}

static int close_adapter(void **state)
{
    (void)state;
    oneib_hcas_clear(&hcas);
    return 0;
}

static int read_port_of(const char *name)
{
    const struct oneib_hca *hca = oneib_hcas_find(&hcas, name);
    assert_non_null(hca);
    memset(&port, 0xa5, sizeof port);
    err = (struct oneib_error){0};
    return oneib_vf_port_read(hca, &hca->vfs[VF], &port, &err);
}

static int read_port(void)
{
    return read_port_of("mlx5_0");
}

static void assert_seen(void)
{
    if (read_port() < 0)
        fail_msg("%s", err.text);
    if (port.way != ONEIB_VIRTUAL_PORT_FWCTL)
        fail_msg("unseen: %s", port.why.text);
}

static void assert_says(const char *text, const char *words)
{
    if (!strstr(text, words))
        fail_msg("\"%s\" does not say \"%s\"", text, words);
}

/* As if there were no such device: the VF is given all the same. */
static void assert_unseen(const char *words)
{
    if (read_port() < 0)
        fail_msg("%s", err.text);
    assert_int_equal(port.way, ONEIB_VIRTUAL_PORT_UNSEEN);
    assert_says(port.why.text, words);
}

static void assert_fails(const char *words)
{
    assert_int_equal(read_port(), -1);
    assert_says(err.text, "reading the port of virtual function 1 of mlx5_0: ");
    assert_says(err.text, words);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void a_vf_that_no_host_driver_has_is_read(void **state)
{
    (void)state;
    assert_seen();
    assert_true(port.guid == GUID);
    assert_int_equal(port.pkey_count, 128);
    assert_int_equal(port.pkeys[0], 0x8005);
    assert_int_equal(port.pkeys[1], 0x7fff);
    for (unsigned i = 2; i < port.pkey_count; i++)
        assert_int_equal(port.pkeys[i], 0);
}

/* Two commands, and neither the table nor the adapter is changed by looking. */
static void each_look_asks_anew_and_costs_two_commands(void **state)
{
    (void)state;
    const size_t before = fwctl_commands();
    assert_seen();
    fwctl_set_port(0, VF, GUID + 1, 0x7fff, 0x0006);
    assert_seen();
    assert_true(port.guid == GUID + 1);
    assert_int_equal(port.pkeys[0], 0x7fff);
    assert_int_equal(port.pkeys[1], 0x0006);
    assert_int_equal(fwctl_commands() - before, 4);
}

/* A driver of the host's may show what it read when it took the VF. */
static void firmware_is_asked_before_files_are_read(void **state)
{
    (void)state;
    tree_bind_vf(&mlx5, VF, "mlx5_core");
    tree_add_vf_device(&mlx5, VF, "mlx5_2");
    tree_write("0x8006", "/sys/class/infiniband/mlx5_2/ports/1/pkeys/0");
    assert_seen();
    assert_int_equal(port.pkeys[0], 0x8005);
    fwctl_set_fault(0, "errno 95");
    read_adapters();
    assert_int_equal(read_port(), 0);
    assert_int_equal(port.way, ONEIB_VIRTUAL_PORT_SYSFS);
    assert_int_equal(port.pkeys[0], 0x8006);
}

static void each_adapter_has_its_own_device(void **state)
{
    (void)state;
    tree_add_hca(&other);
    fwctl_remove(0);
    fwctl_add(&other, 3);
    fwctl_set_port(3, VF, GUID + 5, 0x8007, 0);
    fwctl_add(&mlx5, 11);
    fwctl_set_port(11, VF, GUID, 0x8005, 0);
    read_adapters();
    assert_seen();
    assert_int_equal(port.pkeys[0], 0x8005);
    assert_int_equal(read_port_of("mlx5_1"), 0);
    assert_int_equal(port.pkeys[0], 0x8007);
}

/* ---- where there is no way ------------------------------------------------------------------- */

static void without_a_device_nothing_is_seen(void **state)
{
    (void)state;
    fwctl_remove(0);
    read_adapters();
    assert_unseen("no fwctl device of mlx5_0 (Linux 6.15, module mlx5_fwctl), and no driver of the "
                  "host's shows it as a device");
    fwctl_add(&other, 1);
    read_adapters();
    assert_unseen("no fwctl device of mlx5_0");
}

static void a_device_that_cannot_be_opened_is_none(void **state)
{
    (void)state;
    tree_set_mode(0, "/dev/fwctl/fwctl0");
    read_adapters();
    assert_unseen("Permission denied");
}

static void a_device_of_another_kind_is_none(void **state)
{
    (void)state;
    fwctl_set_fault(0, "type 2"); /* FWCTL_DEVICE_TYPE_CXL */
    read_adapters();
    assert_unseen("is of another kind (2) than mlx5");
}

/* The driver's, and the kernel's, words for "not this one, not you". */
static void what_the_kernel_does_not_let_through_is_not_seen(void **state)
{
    (void)state;
    static const int errors[] = {EOPNOTSUPP, EPERM, EACCES, ENOTTY, EBADMSG, EINVAL};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        char fault[32];
        snprintf(fault, sizeof fault, "errno %d", errors[i]);
        fwctl_set_fault(0, fault);
        assert_unseen("does not let firmware be asked");
        assert_says(port.why.text, strerror(errors[i]));
    }
}

static void firmware_that_does_not_tell_is_not_seen(void **state)
{
    (void)state;
    fwctl_set_fault(0, "status 0x02 0x001b2c3d");
    assert_unseen("status 0x02, syndrome 0x001b2c3d");
    fwctl_set_fault(0, "no-keys");
    assert_unseen("status 0x02, syndrome 0x00000000");
}

static void a_function_with_two_ports_is_not_asked(void **state)
{
    (void)state;
    static const struct tree_hca two = {
        .name = "mlx5_0", .driver = ONEIB_HCA_MLX5, .pci = "0000:41:00.0", .vfs = 3, .ports = 2};
    tree_remove_hca(&mlx5);
    tree_add_hca(&two);
    read_adapters();
    assert_unseen("mlx5_0 has not one port but 2");
}

/* ---- where there is one, and it fails -------------------------------------------------------- */

/* Nobody may be believed to be hidden because he makes firmware refuse. */
static void firmware_that_has_told_once_is_to_tell_always(void **state)
{
    (void)state;
    assert_seen();
    fwctl_set_fault(0, "status 0x04 0");
    assert_fails("does not tell (status 0x04");
    fwctl_set_fault(0, "errno 1");
    assert_fails("does not let firmware be asked");
    fwctl_set_fault(0, "");
    assert_seen();
}

static void a_short_answer_is_a_failure(void **state)
{
    (void)state;
    fwctl_set_fault(0, "short 1");
    assert_fails("31 bytes instead of 32");
    fwctl_set_fault(0, "short 32");
    assert_fails("0 bytes instead of 32");
}

static void an_adapter_that_is_broken_is_a_failure(void **state)
{
    (void)state;
    fwctl_set_fault(0, "errno 5");
    assert_fails("asking firmware through fwctl: Input/output error");
    fwctl_set_fault(0, "errno 110");
    assert_fails("timed out");
}

/* Its driver is reloaded, say; the adapter comes back with another device. */
static void a_device_that_has_gone_is_no_failure(void **state)
{
    (void)state;
    assert_seen();
    fwctl_set_fault(0, "errno 19");
    assert_unseen("has just gone");
}

/* ---- what it says of the subnet manager ------------------------------------------------------ */

static enum oneib_sm_awareness asked_of(const char *name)
{
    return oneib_firmware_ask_sm(oneib_hcas_find(&hcas, name));
}

static void whether_the_subnet_manager_knows_virtual_ports_is_told(void **state)
{
    (void)state;
    fwctl_set_sm(0, true);
    assert_int_equal(asked_of("mlx5_0"), ONEIB_SM_AWARE);
    fwctl_set_sm(0, false);
    assert_int_equal(asked_of("mlx5_0"), ONEIB_SM_UNAWARE);
}

static void what_firmware_does_not_say_of_it_stays_unknown(void **state)
{
    (void)state;
    assert_int_equal(asked_of("mlx5_0"), ONEIB_SM_UNKNOWN); /* it does not know the command */
    fwctl_set_sm(0, false);
    static const char *const faults[] = {"errno 74", "errno 5", "status 0x02 0", "short 1"};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        fwctl_set_fault(0, faults[i]);
        assert_int_equal(asked_of("mlx5_0"), ONEIB_SM_UNKNOWN);
    }
    fwctl_remove(0);
    read_adapters();
    assert_int_equal(asked_of("mlx5_0"), ONEIB_SM_UNKNOWN);
}

/* Firmware that no subnet manager has talked to has been told nothing. */
static void of_a_link_that_is_not_active_it_stays_unknown(void **state)
{
    (void)state;
    fwctl_set_sm(0, false);
    tree_write("2: INIT", "/sys/class/infiniband/mlx5_0/ports/1/state");
    read_adapters();
    assert_int_equal(asked_of("mlx5_0"), ONEIB_SM_UNKNOWN);
}

/* Nobody's VF is closed for it. */
static void whoever_tells_of_the_subnet_manager_need_not_tell_of_ports(void **state)
{
    (void)state;
    fwctl_set_fault(0, "no-keys");
    fwctl_set_sm(0, true);
    assert_int_equal(asked_of("mlx5_0"), ONEIB_SM_AWARE);
    assert_unseen("status 0x02");
}

static void assert_findings(size_t count)
{
    struct oneib_findings findings = {0};
    oneib_firmware_note_sm(&hcas, &findings);
    assert_int_equal(findings.count, count);
    if (count > 0) {
        assert_string_equal(findings.items[0].code, "virtual-ports-unserved");
        assert_says(findings.items[0].text, "mlx5_0");
    }
    oneib_findings_clear(&findings);
}

static void it_is_a_finding_where_vfs_get_no_key(void **state)
{
    (void)state;
    assert_findings(0);
    fwctl_set_sm(0, true);
    assert_findings(0);
    fwctl_set_sm(0, false);
    assert_findings(1);
    static const struct tree_hca without_vfs = {
        .name = "mlx5_0", .driver = ONEIB_HCA_MLX5, .pci = "0000:41:00.0", .vfs_supported = 3};
    tree_remove_hca(&mlx5);
    tree_add_hca(&without_vfs);
    read_adapters();
    assert_int_equal(asked_of("mlx5_0"), ONEIB_SM_UNAWARE);
    assert_findings(0);
}

int main(void)
{
#define ON_ADAPTER(test) cmocka_unit_test_setup_teardown(test, open_adapter, close_adapter)
    const struct CMUnitTest tests[] = {
        ON_ADAPTER(a_vf_that_no_host_driver_has_is_read),
        ON_ADAPTER(each_look_asks_anew_and_costs_two_commands),
        ON_ADAPTER(firmware_is_asked_before_files_are_read),
        ON_ADAPTER(each_adapter_has_its_own_device),
        ON_ADAPTER(without_a_device_nothing_is_seen),
        ON_ADAPTER(a_device_that_cannot_be_opened_is_none),
        ON_ADAPTER(a_device_of_another_kind_is_none),
        ON_ADAPTER(what_the_kernel_does_not_let_through_is_not_seen),
        ON_ADAPTER(firmware_that_does_not_tell_is_not_seen),
        ON_ADAPTER(a_function_with_two_ports_is_not_asked),
        ON_ADAPTER(firmware_that_has_told_once_is_to_tell_always),
        ON_ADAPTER(a_short_answer_is_a_failure),
        ON_ADAPTER(an_adapter_that_is_broken_is_a_failure),
        ON_ADAPTER(a_device_that_has_gone_is_no_failure),
        ON_ADAPTER(whether_the_subnet_manager_knows_virtual_ports_is_told),
        ON_ADAPTER(what_firmware_does_not_say_of_it_stays_unknown),
        ON_ADAPTER(of_a_link_that_is_not_active_it_stays_unknown),
        ON_ADAPTER(whoever_tells_of_the_subnet_manager_need_not_tell_of_ports),
        ON_ADAPTER(it_is_a_finding_where_vfs_get_no_key),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
