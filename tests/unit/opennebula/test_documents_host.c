// SPDX-License-Identifier: Apache-2.0
#include "reading.h"

#define HCA(device, port, guid, more)                                                              \
    "<IB_HCA><NAME><![CDATA[" device "]]></NAME><PORT><![CDATA[" port                              \
    "]]></PORT><PORT_GUID><![CDATA[" guid "]]></PORT_GUID>" more "</IB_HCA>"

/* Host 3 with this TEMPLATE. */
static const struct oneib_host *host_saying(struct reading *reading, const char *template)
{
    oneib_autotext struct oneib_text xml = {0};
    oneib_text_printf(&xml,
                      "<HOST_POOL><HOST><ID>3</ID><NAME>node3</NAME><VMS><ID>11</ID><ID>12</ID>"
                      "</VMS><TEMPLATE>%s</TEMPLATE></HOST></HOST_POOL>",
                      template);
    reading_begin(reading);
    must_read(reading, oneib_documents_read_hosts, xml.data);
    assert_int_equal(reading->cloud.host_count, 1);
    return &reading->cloud.hosts[0];
}

static void the_recorded_pool_has_two_hosts_without_adapters(void **state)
{
    struct reading reading;
    (void)state;
    reading_begin(&reading);
    must_read_recorded(&reading, oneib_documents_read_hosts, "hostpool.info-busy.doc");
    oneib_cloud_sort(&reading.cloud);
    assert_int_equal(reading.cloud.host_count, 2);
    assert_int_equal(reading.cloud.hosts[0].id, 0);
    assert_string_equal(reading.cloud.hosts[0].name, "localhost");
    assert_int_equal(reading.cloud.hosts[0].port_count, 0);
    assert_int_equal(reading.cloud.hosts[1].id, 1);
    assert_string_equal(reading.cloud.hosts[1].name, "vm");
    assert_int_equal(reading.documents.vms_named.count, 1);
    assert_int_equal(reading.documents.vms_named.items[0], 4);
    assert_int_equal(reading.findings.count, 0);
    reading_end(&reading);
}

/* What is monitored comes behind it, and may end its element. */
static void the_first_id_name_state_and_devices_count(void **state)
{
    struct reading reading;
    (void)state;
    const struct oneib_host *host = host_saying(
        &reading,
        "</TEMPLATE><ID>4</ID><NAME>node4</NAME><STATE>8</STATE><HOST_SHARE></HOST_SHARE>"
        "<HOST_SHARE><PCI_DEVICES><PCI><ADDRESS>0000:81:00:1</ADDRESS><VMID>5</VMID></PCI>"
        "</PCI_DEVICES></HOST_SHARE><TEMPLATE>");
    assert_int_equal(host->id, 3);
    assert_string_equal(host->name, "node3");
    assert_int_equal(host->given_count, 0);
    assert_int_equal(reading.findings.count, 1);
    assert_string_equal(reading.findings.items[0].code, "monitoring-forged");
    assert_non_null(strstr(reading.findings.items[0].text, "host \"node3\""));
    assert_true(oneib_finding_is_about(&reading.findings.items[0], ONEIB_SUBJECT_HOST, 3));
    reading_end(&reading);
}

static void a_pool_without_hosts_is_fine(void **state)
{
    struct reading reading;
    (void)state;
    reading_begin(&reading);
    must_read_recorded(&reading, oneib_documents_read_hosts, "noperm-hostpool.info.doc");
    assert_int_equal(reading.cloud.host_count, 0);
    reading_end(&reading);
}

static void an_adapter_is_read_with_all_it_says(void **state)
{
    struct reading reading;
    (void)state;
    const struct oneib_host *host = host_saying(
        &reading, HCA("mlx4_0", "1", "0x0002c90300112233",
                      "<DRIVER>mlx4</DRIVER><PKEYS_MAX>127</PKEYS_MAX><VFS_TOTAL>7</VFS_TOTAL>"
                      "<RATE>40</RATE>") HCA("mlx5_1", "2", "0x1", "<DRIVER>mlx5</DRIVER>")
                      HCA("hfi1_0", "1", "0x2", ""));
    assert_int_equal(host->port_count, 3);
    assert_string_equal(host->ports[0].device, "mlx4_0");
    assert_int_equal(host->ports[0].port, 1);
    assert_int_equal(host->ports[0].driver, ONEIB_HCA_MLX4);
    assert_true(host->ports[0].port_guid == 0x0002c90300112233);
    assert_int_equal(host->ports[0].vfs_total, 7);
    assert_int_equal(host->ports[0].rate_gbps, 40);
    assert_int_equal(host->ports[1].driver, ONEIB_HCA_MLX5);
    assert_int_equal(host->ports[1].port, 2);
    assert_int_equal(host->ports[2].driver, ONEIB_HCA_OTHER);
    assert_int_equal(reading.documents.vms_named.count, 2);
    assert_int_equal(reading.findings.count, 0);
    reading_end(&reading);
}

#define DEVICE(address, vm) "<PCI><ADDRESS>" address "</ADDRESS><VMID>" vm "</VMID></PCI>"
#define SHARE(devices) "<HOST_SHARE><PCI_DEVICES>" devices "</PCI_DEVICES></HOST_SHARE>"

static uint32_t given_to(const struct reading *reading, const char *address)
{
    struct oneib_pci pci;
    assert_int_equal(reading->cloud.host_count, 1);
    assert_true(oneib_pci_parse_one(address, &pci));
    return oneib_host_given_to(&reading->cloud.hosts[0], &pci);
}

static void read_devices(struct reading *reading, const char *xml)
{
    reading_begin(reading);
    must_read(reading, oneib_documents_read_hosts, xml);
}

static void devices_are_those_that_oned_gave_to_vms(void **state)
{
    struct reading reading;
    (void)state;
    read_devices(&reading, "<HOST><ID>1</ID>" SHARE(DEVICE("0000:81:00:1", "5") DEVICE(
                               "0000:81:00:2", "-1") DEVICE("0000:81:00:3", "x")) "</HOST>");
    assert_int_equal(given_to(&reading, "0000:81:00:1"), 5);
    assert_int_equal(given_to(&reading, "0000:81:00:2"), ONEIB_NO_ID);
    assert_int_equal(given_to(&reading, "0000:81:00:3"), ONEIB_NO_ID);
    assert_int_equal(reading.cloud.hosts[0].given_count, 1);
    reading_end(&reading);
}

static void a_device_that_two_vms_have_is_neithers(void **state)
{
    struct reading reading;
    (void)state;
    read_devices(&reading, "<HOST><ID>1</ID>" SHARE(DEVICE("0000:81:00:1", "5") DEVICE(
                               "0000:81:00:1", "6") DEVICE("0000:81:00:1", "5")) "</HOST>");
    assert_int_equal(given_to(&reading, "0000:81:00:1"), ONEIB_NO_ID);
    reading_end(&reading);
}

/* What monitoring says beside of oned's own list is not believed. */
static void devices_elsewhere_in_the_document_count_for_nothing(void **state)
{
    struct reading reading;
    (void)state;
    read_devices(
        &reading,
        "<HOST><ID>1</ID><TEMPLATE>" SHARE(DEVICE(
            "0000:81:00:1", "5")) "</TEMPLATE><PCI_DEVICES>" DEVICE("0000:81:00:1",
                                                                    "5") "</PCI_DEVICES></HOST>");
    assert_int_equal(given_to(&reading, "0000:81:00:1"), ONEIB_NO_ID);
    reading_end(&reading);
}

static void a_recorded_host_says_which_vm_has_a_device(void **state)
{
    struct reading reading;
    (void)state;
    char *pool = recorded("hostpool.info.doc");
    read_devices(&reading, pool);
    struct oneib_pci pci;
    assert_true(oneib_pci_parse_one("0000:81:00:1", &pci));
    oneib_cloud_sort(&reading.cloud);
    assert_int_equal(oneib_host_given_to(oneib_cloud_host(&reading.cloud, 1), &pci), 5);
    assert_int_equal(oneib_host_given_to(oneib_cloud_host(&reading.cloud, 0), &pci), ONEIB_NO_ID);
    free(pool);
    reading_end(&reading);
}

static void an_adapter_that_names_no_port_is_left_out(void **state)
{
    static const char *const bad[] = {
        "<IB_HCA/>",
        HCA("", "1", "0x1", ""),
        HCA("mlx4 0", "1", "0x1", ""),
        HCA("mlx4_0", "0", "0x1", ""),
        HCA("mlx4_0", "255", "0x1", ""),
        HCA("mlx4_0", "x", "0x1", ""),
        HCA("mlx4_0", "1", "0x0", ""),
        HCA("mlx4_0", "1", "0xffffffffffffffff", ""),
        HCA("mlx4_0", "1", "0002c90300112233", ""),
        HCA("mlx4_0", "1", "0x1", "<PORT_GUID>0x1</PORT_GUID>"),
        HCA("mlx4_0", "1", "0x1", "<NAME>mlx4_1</NAME>"),
        HCA("a2345678901234567890123456789012", "1", "0x1", ""),
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct reading reading;
        assert_int_equal(host_saying(&reading, bad[i])->port_count, 0);
        must_find(&reading, "hca-invalid", "host \"node3\": an IB_HCA does not name a port");
        reading_end(&reading);
    }
}

static void a_bad_amount_counts_as_not_said(void **state)
{
    struct reading reading;
    (void)state;
    const struct oneib_host *host =
        host_saying(&reading, HCA("mlx4_0", "1", "0x1", "<VFS_TOTAL>70000</VFS_TOTAL>"));
    assert_int_equal(host->port_count, 1);
    must_find(&reading, "hca-invalid", "host \"node3\": VFS_TOTAL \"70000\"");
    reading_end(&reading);
}

static void two_vectors_for_one_port_are_both_left_out(void **state)
{
    struct reading reading;
    (void)state;
    const struct oneib_host *host =
        host_saying(&reading, HCA("mlx4_0", "1", "0x1", "") HCA("mlx4_0", "2", "0x2", "")
                                  HCA("mlx4_0", "1", "0x3", "") HCA("mlx4_0", "1", "0x4", ""));
    assert_int_equal(host->port_count, 1);
    assert_int_equal(host->ports[0].port, 2);
    must_find(&reading, "hca-invalid", "host \"node3\": there are two IB_HCA for mlx4_0 port 1");
    reading_end(&reading);
}

static void more_adapters_than_a_machine_holds_are_left_out(void **state)
{
    struct reading reading;
    oneib_autotext struct oneib_text template = {0};
    (void)state;
    for (unsigned i = 0; i < 1000; i++)
        oneib_text_printf(&template,
                          "<IB_HCA><NAME>mlx5_%u</NAME><PORT>1</PORT>"
                          "<PORT_GUID>0x%x</PORT_GUID></IB_HCA>",
                          i, i + 1);
    assert_int_equal(host_saying(&reading, template.data)->port_count, 64);
    must_find(&reading, "hca-invalid", "1000 IB_HCA");
    reading_end(&reading);
}

static void a_host_without_an_id_is_left_out_and_its_vms_are_known(void **state)
{
    struct reading reading;
    (void)state;
    reading_begin(&reading);
    must_read(&reading, oneib_documents_read_hosts,
              "<HOST><NAME>x</NAME><VMS><ID>4</ID></VMS></HOST>");
    assert_int_equal(reading.cloud.host_count, 0);
    assert_int_equal(reading.documents.vms_named.count, 1);
    must_find(&reading, "document-invalid", "left out");
    reading_end(&reading);
}

static void an_entry_of_vms_that_is_no_id_is_told(void **state)
{
    struct reading reading;
    (void)state;
    reading_begin(&reading);
    must_read(&reading, oneib_documents_read_hosts,
              "<HOST><ID>3</ID><NAME>x</NAME><VMS><ID>4</ID><ID>five</ID></VMS></HOST>");
    assert_int_equal(reading.documents.vms_named.count, 1);
    must_find(&reading, "document-invalid", "host \"x\": 1 entries");
    reading_end(&reading);
}

static void what_the_scheduler_is_told_is_read_back(void **state)
{
    struct reading reading;
    (void)state;
    const struct oneib_host *host = host_saying(
        &reading, "<IB_SWITCH><![CDATA[0x20,0x22]]></IB_SWITCH>" HCA(
                      "mlx4_0", "1", "0x1",
                      "") "<IB_VFS_FREE><![CDATA[6]]></IB_VFS_FREE>" HCA("mlx4_0", "2", "0x2", ""));
    assert_int_equal(host->vfs_free, 6);
    assert_string_equal(host->switches, "0x20,0x22");
    assert_int_equal(host->port_count, 2);
    assert_int_equal(reading.findings.count, 0);
    reading_end(&reading);
}

static void what_the_probe_counts_is_read_when_it_is_a_number(void **state)
{
    struct reading reading;
    (void)state;
    assert_int_equal(host_saying(&reading, "<IB_VFS_TOTAL><![CDATA[0]]></IB_VFS_TOTAL>")->vfs_limit,
                     0);
    reading_end(&reading);
    assert_int_equal(host_saying(&reading, "")->vfs_limit, -1);
    reading_end(&reading);
    assert_int_equal(host_saying(&reading, "<IB_VFS_TOTAL>many</IB_VFS_TOTAL>")->vfs_limit, -1);
    reading_end(&reading);
}

static void a_host_that_was_told_of_nothing_says_so(void **state)
{
    static const char *const templates[] = {
        "",
        "<IB_VFS_FREE></IB_VFS_FREE><IB_SWITCH></IB_SWITCH>",
        "<IB_VFS_FREE>-1</IB_VFS_FREE>",
        "<IB_VFS_FREE>6 </IB_VFS_FREE>",
        "<IB_VFS_FREE>4194241</IB_VFS_FREE>",
        "<IB_VFS_FREE>6</IB_VFS_FREE><IB_VFS_FREE>6</IB_VFS_FREE>",
        "<IB_SWITCH>0x20</IB_SWITCH><IB_SWITCH>0x22</IB_SWITCH>",
        "<IB_SWITCH><GUID>0x20</GUID></IB_SWITCH>",
    };
    (void)state;
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++) {
        struct reading reading;
        const struct oneib_host *host = host_saying(&reading, templates[i]);
        assert_int_equal(host->vfs_free, -1);
        assert_null(host->switches);
        reading_end(&reading);
    }
}

static void a_list_of_switches_longer_than_any_is_none(void **state)
{
    oneib_autotext struct oneib_text template = {0};
    struct reading reading;
    (void)state;
    oneib_text_append(&template, "<IB_SWITCH>");
    for (int i = 0; i < 64; i++)
        oneib_text_append(&template, "0x0002c90300112233,");
    oneib_text_append(&template, "</IB_SWITCH>");
    assert_null(host_saying(&reading, template.data)->switches);
    reading_end(&reading);
}

static void findings_about_a_host_are_attributed_to_it(void **state)
{
    struct reading reading;
    (void)state;
    host_saying(&reading, HCA("mlx4_0", "0", "0x1", ""));
    assert_int_equal(reading.findings.count, 1);
    assert_int_equal(reading.findings.items[0].subject, ONEIB_SUBJECT_HOST);
    assert_int_equal(reading.findings.items[0].subject_id, 3);
    reading_end(&reading);
}

static void a_finding_about_a_host_without_an_id_is_nobodys(void **state)
{
    struct reading reading;
    (void)state;
    reading_begin(&reading);
    must_read(&reading, oneib_documents_read_hosts, "<HOST><NAME>x</NAME></HOST>");
    assert_int_equal(reading.findings.count, 1);
    assert_int_equal(reading.findings.items[0].subject, ONEIB_SUBJECT_NONE);
    reading_end(&reading);
}

static void a_hosts_state_and_its_probes_problem_are_read(void **state)
{
    (void)state;
    struct reading reading;
    reading_begin(&reading);
    must_read(&reading, oneib_documents_read_hosts,
              "<HOST><ID>3</ID><NAME>node3</NAME><STATE>3</STATE><TEMPLATE>"
              "<IB_PROBLEM><![CDATA[mlx4_0: no\tVFs]]></IB_PROBLEM></TEMPLATE></HOST>");
    assert_int_equal(reading.cloud.hosts[0].state, 3);
    assert_string_equal(oneib_host_state_name(3), "error");
    assert_false(oneib_host_is_heard(3));
    assert_true(oneib_host_is_heard(2));
    assert_string_equal(oneib_host_state_name(99), "unknown");
    assert_string_equal(reading.cloud.hosts[0].problem, "mlx4_0: no\tVFs");
    reading_end(&reading);

    const struct oneib_host *host = host_saying(&reading, "<IB_PROBLEM></IB_PROBLEM>");
    assert_int_equal(host->state, -1);
    assert_null(host->problem);
    reading_end(&reading);

    char long_problem[3000];
    memset(long_problem, 'x', sizeof long_problem);
    memcpy(long_problem, "<IB_PROBLEM>", strlen("<IB_PROBLEM>"));
    strcpy(long_problem + sizeof long_problem - sizeof "</IB_PROBLEM>", "</IB_PROBLEM>");
    host = host_saying(&reading, long_problem);
    assert_string_equal(host->problem, "more than fits here: onehost show");
    reading_end(&reading);
}

static void a_hosts_node_key_is_64_lower_case_hexadecimal_digits(void **state)
{
    (void)state;
    static const char key[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    static const char *const bad[] = {
        "",
        "00112233445566778899aabbccddeeff00112233445566778899aabbccddeef",
        "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff0",
        "00112233445566778899AABBCCDDEEFF00112233445566778899aabbccddeeff",
        "00112233445566778899aabbccddeeff00112233445566778899aabbccddeefg",
    };
    char text[256];
    struct reading reading;
    snprintf(text, sizeof text, "<IB_NODE_KEY>%s</IB_NODE_KEY>", key);
    assert_string_equal(host_saying(&reading, text)->node_key, key);
    reading_end(&reading);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, "<IB_NODE_KEY>%s</IB_NODE_KEY>", bad[i]);
        assert_string_equal(host_saying(&reading, text)->node_key, "");
        reading_end(&reading);
    }
}

static void what_a_host_may_hold_is_read(void **state)
{
    struct reading reading;
    (void)state;
    const struct oneib_host *host =
        host_saying(&reading, "<IB_KEYS><![CDATA[0x0101,0x0102,0x7ffe]]></IB_KEYS>");
    assert_int_equal(host->key_count, 3);
    assert_int_equal(host->keys[0], 0x101);
    assert_false(host->keys_invalid);
    assert_true(oneib_host_may_hold(host, 0x7ffe));
    assert_false(oneib_host_may_hold(host, 0x103));
    reading_end(&reading);
    host = host_saying(&reading, "<IB_KEYS></IB_KEYS>");
    assert_int_equal(host->key_count, 0);
    assert_false(host->keys_invalid);
    reading_end(&reading);
}

static void of_keys_that_cannot_be_read_nobody_knows(void **state)
{
    (void)state;
    static const char *const bad[] = {"257",           "0x0000",        "0x7fff",  "0x0102,0x0101",
                                      "0x0101,0x0101", "0x0101,",       ",0x0101", "0x0101 0x0102",
                                      "0x0101,0x8102", "<A>0x0101</A>", " "};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[256];
        struct reading reading;
        snprintf(text, sizeof text, "<IB_KEYS>%s</IB_KEYS>", bad[i]);
        const struct oneib_host *host = host_saying(&reading, text);
        assert_true(host->keys_invalid);
        assert_int_equal(host->key_count, 0);
        assert_true(oneib_host_may_hold(host, 0x555));
        assert_int_equal(reading.findings.count, 1);
        assert_string_equal(reading.findings.items[0].code, "host-keys-invalid");
        reading_end(&reading);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_recorded_pool_has_two_hosts_without_adapters),
        cmocka_unit_test(a_pool_without_hosts_is_fine),
        cmocka_unit_test(the_first_id_name_state_and_devices_count),
        cmocka_unit_test(an_adapter_is_read_with_all_it_says),
        cmocka_unit_test(devices_are_those_that_oned_gave_to_vms),
        cmocka_unit_test(a_device_that_two_vms_have_is_neithers),
        cmocka_unit_test(devices_elsewhere_in_the_document_count_for_nothing),
        cmocka_unit_test(a_recorded_host_says_which_vm_has_a_device),
        cmocka_unit_test(an_adapter_that_names_no_port_is_left_out),
        cmocka_unit_test(a_bad_amount_counts_as_not_said),
        cmocka_unit_test(two_vectors_for_one_port_are_both_left_out),
        cmocka_unit_test(more_adapters_than_a_machine_holds_are_left_out),
        cmocka_unit_test(a_host_without_an_id_is_left_out_and_its_vms_are_known),
        cmocka_unit_test(an_entry_of_vms_that_is_no_id_is_told),
        cmocka_unit_test(what_the_scheduler_is_told_is_read_back),
        cmocka_unit_test(what_the_probe_counts_is_read_when_it_is_a_number),
        cmocka_unit_test(a_host_that_was_told_of_nothing_says_so),
        cmocka_unit_test(a_hosts_state_and_its_probes_problem_are_read),
        cmocka_unit_test(a_hosts_node_key_is_64_lower_case_hexadecimal_digits),
        cmocka_unit_test(what_a_host_may_hold_is_read),
        cmocka_unit_test(of_keys_that_cannot_be_read_nobody_knows),
        cmocka_unit_test(a_list_of_switches_longer_than_any_is_none),
        cmocka_unit_test(findings_about_a_host_are_attributed_to_it),
        cmocka_unit_test(a_finding_about_a_host_without_an_id_is_nobodys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
