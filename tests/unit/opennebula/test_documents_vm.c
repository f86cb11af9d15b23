// SPDX-License-Identifier: Apache-2.0
#include "opennebula/cache_merge.h"
#include "reading.h"

#define RUNNING "<STATE>3</STATE><LCM_STATE>3</LCM_STATE>"
#define MIGRATING "<STATE>3</STATE><LCM_STATE>4</LCM_STATE>"
#define ON_HOST_7                                                                                  \
    "<HISTORY_RECORDS><HISTORY><SEQ>0</SEQ><HID>7</HID><STIME>1000</STIME></HISTORY>"              \
    "</HISTORY_RECORDS>"
#define NIC(nic_id, more)                                                                          \
    "<NIC>" more "<NETWORK_ID>1</NETWORK_ID><NIC_ID>" nic_id "</NIC_ID><VN_MAD>ibrec</VN_MAD></"   \
    "NIC>"

static void begin_with(struct reading *reading, const char *xml)
{
    reading_begin(reading);
    must_read(reading, oneib_documents_read_vms, xml);
}

static void begin_recorded(struct reading *reading, const char *name)
{
    reading_begin(reading);
    must_read_recorded(reading, oneib_documents_read_vms, name);
}

#define ALIAS(nic_id, more)                                                                        \
    "<NIC_ALIAS>" more "<NETWORK_ID>1</NETWORK_ID><NIC_ID>" nic_id                                 \
    "</NIC_ID><PARENT>NIC0</PARENT>"                                                               \
    "<VN_MAD>ibrec</VN_MAD></NIC_ALIAS>"

/* An address more on an interface is no port in that network's partition, wherever the interface
 * is. */
static void an_alias_in_an_infiniband_network_is_no_member_of_it(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(
        &reading,
        "<VM><ID>4</ID>" RUNNING "<TEMPLATE>"
        "<NIC><NETWORK_ID>9</NETWORK_ID><NIC_ID>0</NIC_ID><VN_MAD>bridge</VN_MAD></NIC>" ALIAS(
            "2", "") ALIAS("3", "<EXTERNAL>YES</EXTERNAL>") NIC("1", "")
            ALIAS("4", "<TYPE>NIC</TYPE><ATTACH>YES</ATTACH>") "</TEMPLATE>" ON_HOST_7 "</VM>");
    assert_int_equal(reading.cloud.attachment_count, 1);
    assert_int_equal(reading.cloud.attachments[0].nic_id, 1);
    assert_false(reading.cloud.attachments[0].attaching);
    assert_int_equal(reading.findings.count, 0);
    reading_end(&reading);
}

static void the_recorded_running_vm_has_a_nic_and_a_pci_nic(void **state)
{
    struct reading reading;
    (void)state;
    begin_recorded(&reading, "vm.info-1-running.doc");
    assert_int_equal(reading.cloud.vm_count, 1);
    assert_int_equal(reading.cloud.attachment_count, 2);
    assert_int_equal(reading.findings.count, 0);

    const struct oneib_attachment *nic = &reading.cloud.attachments[0];
    assert_int_equal(nic->vm_id, 1);
    assert_int_equal(nic->nic_id, 1);
    assert_int_equal(nic->network_id, 1);
    assert_int_equal(nic->host_id, 0);
    assert_int_equal(nic->source_host_id, ONEIB_NO_ID);
    assert_int_equal(nic->since, 1795223383);
    assert_int_equal(nic->ipv4, 0x0a14000a);
    assert_int_equal(nic->state, 3);
    assert_int_equal(nic->lcm_state, 3);
    assert_int_equal(nic->phase, ONEIB_SETTLED);
    assert_false(nic->narrowed);
    assert_false(nic->attaching);
    assert_false(nic->is_pci);

    const struct oneib_attachment *pci = &reading.cloud.attachments[1];
    assert_int_equal(pci->nic_id, 2);
    assert_int_equal(pci->network_id, 1);
    assert_int_equal(pci->ipv4, 0x0a14000b);
    assert_true(pci->is_pci);

    assert_int_equal(reading.documents.vms_seen.count, 1);
    assert_int_equal(reading.documents.vms_seen.items[0], 1);
    reading_end(&reading);
}

static void the_recorded_pool_reads_like_the_vm_alone(void **state)
{
    struct reading reading;
    (void)state;
    begin_recorded(&reading, "vmpool.infoextended.doc");
    assert_int_equal(reading.cloud.vm_count, 1);
    assert_int_equal(reading.cloud.attachment_count, 2);
    assert_int_equal(reading.cloud.attachments[0].vm_id, 5);
    assert_int_equal(reading.cloud.attachments[0].host_id, 1);
    assert_int_equal(reading.cloud.attachments[0].ipv4, 0x0a140017);
    assert_true(reading.cloud.attachments[1].is_pci);
    reading_end(&reading);
}

static void a_vm_after_a_live_migration_is_on_its_last_host_alone(void **state)
{
    struct reading reading;
    (void)state;
    begin_recorded(&reading, "vm.info-2-after-livemigrate.doc");
    assert_int_equal(reading.cloud.attachment_count, 1);
    assert_int_equal(reading.cloud.attachments[0].host_id, 1);
    assert_int_equal(reading.cloud.attachments[0].source_host_id, ONEIB_NO_ID);
    assert_int_equal(reading.cloud.attachments[0].since, 1795224161);
    assert_int_equal(reading.documents.vms_migrating.count, 0);
    reading_end(&reading);
}

static void the_host_of_record_is_that_of_the_highest_seq(void **state)
{
    struct reading reading;
    (void)state;
    begin_recorded(&reading, "vm.info-1-after-poffmigrate.doc");
    assert_int_equal(reading.cloud.attachment_count, 3);
    assert_int_equal(reading.cloud.attachments[0].host_id, 1);
    assert_int_equal(reading.cloud.attachments[0].since, 1795224144);
    reading_end(&reading);
}

static void the_order_of_history_records_does_not_matter(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading,
               "<VM><ID>9</ID>" MIGRATING "<TEMPLATE>" NIC(
                   "0", "") "</TEMPLATE>"
                            "<HISTORY_RECORDS>"
                            "<HISTORY><SEQ>2</SEQ><HID>12</HID><STIME>30</STIME></HISTORY>"
                            "<HISTORY><SEQ>0</SEQ><HID>10</HID><STIME>10</STIME></HISTORY>"
                            "<HISTORY><SEQ>1</SEQ><HID>11</HID><STIME>20</STIME></HISTORY>"
                            "</HISTORY_RECORDS></VM>");
    assert_int_equal(reading.cloud.attachments[0].host_id, 12);
    assert_int_equal(reading.cloud.attachments[0].source_host_id, 11);
    assert_int_equal(reading.cloud.attachments[0].since, 30);
    assert_int_equal(reading.documents.vms_migrating.count, 0);
    reading_end(&reading);
}

static void a_migrating_vm_with_its_last_record_alone_is_to_be_asked_for(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading,
               "<VM_POOL><VM><ID>9</ID>" MIGRATING "<TEMPLATE>" NIC(
                   "0", "") "</TEMPLATE><HISTORY_RECORDS>"
                            "<HISTORY><SEQ>2</SEQ><HID>12</HID><STIME>30</STIME></HISTORY>"
                            "</HISTORY_RECORDS></VM></VM_POOL>");
    assert_int_equal(reading.cloud.attachments[0].phase, ONEIB_MIGRATING);
    assert_int_equal(reading.cloud.attachments[0].host_id, 12);
    assert_int_equal(reading.cloud.attachments[0].source_host_id, ONEIB_NO_ID);
    assert_int_equal(reading.documents.vms_migrating.count, 1);
    assert_int_equal(reading.documents.vms_migrating.items[0], 9);
    reading_end(&reading);
}

static void a_migrating_vm_on_its_first_host_has_no_earlier_one(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading, "<VM><ID>9</ID>" MIGRATING
                         "<TEMPLATE>" NIC("0", "") "</TEMPLATE>" ON_HOST_7 "</VM>");
    assert_int_equal(reading.documents.vms_migrating.count, 0);
    assert_int_equal(reading.cloud.attachments[0].source_host_id, ONEIB_NO_ID);
    reading_end(&reading);
}

static void a_migrating_vm_without_our_nics_is_not_asked_for(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading, "<VM><ID>9</ID>" MIGRATING "<TEMPLATE></TEMPLATE><HISTORY_RECORDS>"
                         "<HISTORY><SEQ>2</SEQ><HID>12</HID><STIME>30</STIME></HISTORY>"
                         "</HISTORY_RECORDS></VM>");
    assert_int_equal(reading.documents.vms_migrating.count, 0);
    reading_end(&reading);
}

static void a_vm_on_hold_is_on_no_host(void **state)
{
    struct reading reading;
    (void)state;
    begin_recorded(&reading, "vm.info-1-hold.doc");
    assert_int_equal(reading.cloud.attachment_count, 2);
    assert_int_equal(reading.cloud.attachments[0].host_id, ONEIB_NO_ID);
    assert_int_equal(reading.cloud.attachments[0].phase, ONEIB_ABSENT);
    reading_end(&reading);
}

static void the_recorded_terminated_vm_leaves_nothing(void **state)
{
    struct reading reading;
    (void)state;
    begin_recorded(&reading, "vm.info-1-done.doc");
    assert_int_equal(reading.cloud.attachment_count, 0);
    assert_int_equal(reading.documents.vms_seen.count, 0);
    reading_end(&reading);
}

static void hot_plugged_nics_are_read_with_the_others(void **state)
{
    struct reading reading;
    (void)state;
    begin_recorded(&reading, "vm.info-1-after-attach-pci.doc");
    assert_int_equal(reading.cloud.attachment_count, 4);
    oneib_cloud_sort(&reading.cloud);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(reading.cloud.attachments[i].nic_id, i + 1);
        assert_int_equal(reading.cloud.attachments[i].is_pci, i % 2);
    }
    reading_end(&reading);
}

static void a_nic_that_is_being_attached_says_so(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading,
               "<VM><ID>9</ID>" RUNNING "<TEMPLATE>" NIC("0", "")
                   NIC("1", "<ATTACH><![CDATA[YES]]></ATTACH>") "</TEMPLATE>" ON_HOST_7 "</VM>");
    assert_false(reading.cloud.attachments[0].attaching);
    assert_true(reading.cloud.attachments[1].attaching);
    reading_end(&reading);
}

static void a_pci_that_is_no_nic_is_not_ours(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading,
               "<VM><ID>9</ID>" RUNNING "<TEMPLATE>"
               "<PCI><NIC_ID>0</NIC_ID><VN_MAD>ibrec</VN_MAD><NETWORK_ID>1</NETWORK_ID></PCI>"
               "<PCI><NIC_ID>1</NIC_ID><VN_MAD>ibrec</VN_MAD><TYPE>gpu</TYPE></PCI>"
               "<PCI><NIC_ID>2</NIC_ID><VN_MAD>IBREC</VN_MAD><NETWORK_ID>1</NETWORK_ID>"
               "<TYPE>nic</TYPE></PCI></TEMPLATE>" ON_HOST_7 "</VM>");
    assert_int_equal(reading.cloud.attachment_count, 1);
    assert_int_equal(reading.cloud.attachments[0].nic_id, 2);
    reading_end(&reading);
}

static void a_vm_without_nics_is_counted_and_has_no_attachment(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading, "<VM><ID>9</ID>" RUNNING "<TEMPLATE/>" ON_HOST_7 "</VM>");
    assert_int_equal(reading.cloud.vm_count, 1);
    assert_int_equal(reading.cloud.attachment_count, 0);
    assert_int_equal(reading.findings.count, 0);
    reading_end(&reading);
}

/* A running VM 9 on host 7 with NICs first..last. */
static void append_vm(struct oneib_text *xml, unsigned first, unsigned last)
{
    oneib_text_append(xml, "<VM><ID>9</ID>" RUNNING "<TEMPLATE>");
    for (unsigned i = first; i <= last; i++)
        oneib_text_printf(xml,
                          "<NIC><NETWORK_ID>1</NETWORK_ID><NIC_ID>%u</NIC_ID>"
                          "<VN_MAD>ibrec</VN_MAD></NIC>",
                          i);
    oneib_text_append(xml, "</TEMPLATE>" ON_HOST_7 "</VM>");
}

static void of_a_vm_with_64_nics_the_first_sixteen_count(void **state)
{
    struct reading reading;
    oneib_autotext struct oneib_text xml = {0};
    (void)state;
    append_vm(&xml, 0, 63);
    begin_with(&reading, xml.data);
    assert_int_equal(reading.cloud.attachment_count, 16);
    for (unsigned i = 0; i < 16; i++) {
        assert_int_equal(reading.cloud.attachments[i].nic_id, i);
        assert_int_equal(reading.cloud.attachments[i].host_id, 7);
    }
    assert_int_equal(findings_with(&reading, "nics-many"), 8);
    reading_end(&reading);
}

static void nic_255_is_kept_and_nic_256_is_refused(void **state)
{
    struct reading reading;
    oneib_autotext struct oneib_text xml = {0};
    (void)state;
    append_vm(&xml, 255, 256);
    begin_with(&reading, xml.data);
    assert_int_equal(reading.cloud.attachment_count, 1);
    assert_int_equal(reading.cloud.attachments[0].nic_id, 255);
    must_find(&reading, "nic-id-range", "VM 9 NIC: NIC_ID \"256\"");
    reading_end(&reading);
}

static void many_bad_nics_make_few_findings(void **state)
{
    struct reading reading;
    oneib_autotext struct oneib_text xml = {0};
    (void)state;
    append_vm(&xml, 256, 5000);
    begin_with(&reading, xml.data);
    assert_int_equal(reading.cloud.attachment_count, 0);
    assert_int_equal(findings_with(&reading, "nic-id-range"), 8);
    must_find(&reading, "nic-invalid", "4737 more");
    reading_end(&reading);
}

static void two_nics_with_one_id_are_both_left_out(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading, "<VM><ID>9</ID>" RUNNING "<TEMPLATE>" NIC("3", "") NIC("4", "")
                             NIC("3", "") "</TEMPLATE>" ON_HOST_7 "</VM>");
    assert_int_equal(reading.cloud.attachment_count, 1);
    assert_int_equal(reading.cloud.attachments[0].nic_id, 4);
    must_find(&reading, "nic-invalid", "VM 9: there are several NICs with NIC_ID 3");
    reading_end(&reading);
}

static void a_nic_without_an_id_is_left_out(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading, "<VM><ID>9</ID>" RUNNING "<TEMPLATE>"
                         "<NIC><NETWORK_ID>1</NETWORK_ID><VN_MAD>ibrec</VN_MAD></NIC>"
                         "</TEMPLATE>" ON_HOST_7 "</VM>");
    assert_int_equal(reading.cloud.attachment_count, 0);
    must_find(&reading, "nic-invalid", "NIC_ID is missing");
    reading_end(&reading);
}

static void a_nic_with_two_drivers_is_left_out(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading, "<VM><ID>9</ID>" RUNNING "<TEMPLATE>" NIC(
                             "3", "<VN_MAD>dummy</VN_MAD>") "</TEMPLATE>" ON_HOST_7 "</VM>");
    assert_int_equal(reading.cloud.attachment_count, 0);
    must_find(&reading, "nic-invalid", "VN_MAD \"dummy\" is given more than once");
    reading_end(&reading);
}

static void a_nic_without_a_network_belongs_to_none(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading, "<VM><ID>9</ID>" RUNNING "<TEMPLATE>"
                         "<NIC><NIC_ID>0</NIC_ID><VN_MAD>ibrec</VN_MAD></NIC>"
                         "</TEMPLATE>" ON_HOST_7 "</VM>");
    assert_int_equal(reading.cloud.attachment_count, 1);
    assert_int_equal(reading.cloud.attachments[0].network_id, ONEIB_NO_ID);
    must_find(&reading, "nic-invalid", "VM 9 NIC 0: NETWORK_ID is missing");
    reading_end(&reading);
}

static void the_id_of_a_vanished_network_is_kept(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading, "<VM><ID>9</ID>" RUNNING "<TEMPLATE>"
                         "<NIC><NETWORK_ID>777</NETWORK_ID><NIC_ID>0</NIC_ID>"
                         "<VN_MAD>ibrec</VN_MAD></NIC></TEMPLATE>" ON_HOST_7 "</VM>");
    assert_int_equal(reading.cloud.attachments[0].network_id, 777);
    assert_int_equal(reading.findings.count, 0);
    reading_end(&reading);
}

/* NIC 0 of VM 9 says `more`. */
static struct oneib_attachment nic_saying(struct reading *reading, const char *more)
{
    oneib_autotext struct oneib_text xml = {0};
    oneib_text_printf(&xml,
                      "<VM><ID>9</ID>" RUNNING "<TEMPLATE><NIC>%s<NETWORK_ID>1</NETWORK_ID>"
                      "<NIC_ID>0</NIC_ID><VN_MAD>ibrec</VN_MAD></NIC></TEMPLATE>" ON_HOST_7 "</VM>",
                      more);
    begin_with(reading, xml.data);
    assert_int_equal(reading->cloud.attachment_count, 1);
    return reading->cloud.attachments[0];
}

/* It is text that a user can write: the ledger has the network's key. */
static void a_nics_own_copy_of_the_key_is_shown_and_decides_nothing(void **state)
{
    static const char *const copies[] = {"<VLAN_ID>256</VLAN_ID>", "<VLAN_ID>abc</VLAN_ID>",
                                         "<VLAN_ID>5</VLAN_ID><VLAN_ID>6</VLAN_ID>",
                                         "<VLAN_ID>2<X>5</X>6</VLAN_ID>"};
    struct reading reading;
    (void)state;
    const struct oneib_attachment without = nic_saying(&reading, "");
    reading_end(&reading);
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        struct oneib_attachment with = nic_saying(&reading, copies[i]);
        assert_int_equal(with.shown_pkey, i == 0 ? 256 : 0);
        with.shown_pkey = 0;
        assert_true(oneib_cache_same_attachment(&with, &without));
        assert_int_equal(reading.findings.count, 0);
        reading_end(&reading);
    }
}

static void a_nic_may_narrow_its_membership(void **state)
{
    struct reading reading;
    (void)state;
    assert_true(nic_saying(&reading, "<IB_MEMBERSHIP>LIMITED</IB_MEMBERSHIP>").narrowed);
    assert_int_equal(reading.findings.count, 0);
    reading_end(&reading);
    assert_false(nic_saying(&reading, "<IB_MEMBERSHIP>full</IB_MEMBERSHIP>").narrowed);
    reading_end(&reading);
    assert_false(nic_saying(&reading, "<IB_MEMBERSHIP></IB_MEMBERSHIP>").narrowed);
    reading_end(&reading);
}

static void an_unknown_membership_of_a_nic_narrows_it(void **state)
{
    struct reading reading;
    (void)state;
    assert_true(nic_saying(&reading, "<IB_MEMBERSHIP>both</IB_MEMBERSHIP>").narrowed);
    must_find(&reading, "membership-invalid", "VM 9 NIC 0: IB_MEMBERSHIP \"both\"");
    reading_end(&reading);
    assert_true(nic_saying(&reading, "<IB_MEMBERSHIP>full</IB_MEMBERSHIP>"
                                     "<IB_MEMBERSHIP>full</IB_MEMBERSHIP>")
                    .narrowed);
    reading_end(&reading);
}

static void an_address_that_is_no_ipv4_counts_as_none(void **state)
{
    static const char *const bad[] = {"", "10.0.0", "10.0.0.256", "fe80::1", "10.0.0.1 "};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct reading reading;
        oneib_autotext struct oneib_text more = {0};
        oneib_text_printf(&more, "<IP>%s</IP>", bad[i]);
        assert_int_equal(nic_saying(&reading, more.data).ipv4, 0);
        reading_end(&reading);
    }
}

/* NIC 0 of a VM with these elements between ID and TEMPLATE, and these behind. */
static void vm_saying(struct reading *reading, const char *before, const char *behind)
{
    oneib_autotext struct oneib_text xml = {0};
    oneib_text_printf(&xml, "<VM_POOL><VM>%s<TEMPLATE>" NIC("0", "") "</TEMPLATE>%s</VM></VM_POOL>",
                      before, behind);
    begin_with(reading, xml.data);
}

static void a_state_that_is_no_number_is_an_unknown_phase(void **state)
{
    static const char *const bad[] = {
        "<ID>9</ID><LCM_STATE>3</LCM_STATE>",
        "<ID>9</ID><STATE>3</STATE>",
        "<ID>9</ID><STATE>running</STATE><LCM_STATE>3</LCM_STATE>",
        "<ID>9</ID><STATE>3</STATE><LCM_STATE>-1</LCM_STATE>",
        "<ID>9</ID><STATE>3</STATE><STATE>6</STATE><LCM_STATE>3</LCM_STATE>",
        "<ID>9</ID><STATE>99999</STATE><LCM_STATE>3</LCM_STATE>",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct reading reading;
        vm_saying(&reading, bad[i], ON_HOST_7);
        assert_int_equal(reading.cloud.attachment_count, 1);
        assert_int_equal(reading.cloud.attachments[0].state, -1);
        assert_int_equal(reading.cloud.attachments[0].phase, ONEIB_PHASE_UNKNOWN);
        must_find(&reading, "document-invalid", "VM 9: ");
        reading_end(&reading);
    }
}

static void a_state_of_a_later_release_is_an_unknown_phase(void **state)
{
    struct reading reading;
    (void)state;
    vm_saying(&reading, "<ID>9</ID><STATE>3</STATE><LCM_STATE>999</LCM_STATE>", ON_HOST_7);
    assert_int_equal(reading.cloud.attachments[0].phase, ONEIB_PHASE_UNKNOWN);
    assert_int_equal(reading.cloud.attachments[0].lcm_state, 999);
    reading_end(&reading);
}

/* Nothing of it is kept, and it is said that a user may have done it. */
static void must_be_malformed(const char *xml, const char *words)
{
    struct reading reading;
    reading_begin(&reading);
    assert_int_equal(try_read(&reading, oneib_documents_read_vms, xml), -1);
    assert_int_equal(reading.err.code, ONEIB_ERROR_PROTOCOL);
    if (!strstr(reading.err.text, words))
        fail_msg("\"%s\" is not in: %s", words, reading.err.text);
    assert_true(reading.documents.malformed);
    assert_int_equal(reading.cloud.vm_count, 0);
    assert_int_equal(reading.cloud.attachment_count, 0);
    assert_int_equal(reading.documents.vms_seen.count, 0);
    assert_int_equal(reading.findings.count, 0);
    reading_end(&reading);
}

static void a_vm_without_an_id_makes_the_document_malformed(void **state)
{
    static const char *const bad[] = {
        RUNNING,
        "<ID></ID>" RUNNING,
        "<ID>abc</ID>" RUNNING,
        "<ID>-1</ID>" RUNNING,
        "<ID>2147483648</ID>" RUNNING,
        "<ID>9</ID><ID>9</ID>" RUNNING,
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        oneib_autotext struct oneib_text xml = {0};
        oneib_text_printf(
            &xml,
            "<VM_POOL><VM><ID>8</ID></VM><VM>%s<TEMPLATE>" NIC("0", "") "</TEMPLATE>"
                                                                        "</VM></VM_POOL>",
            bad[i]);
        must_be_malformed(xml.data, "a VM without an id");
    }
}

static void an_object_where_none_belongs_makes_the_document_malformed(void **state)
{
    (void)state;
    must_be_malformed("<VM_POOL><VM><ID>8</ID></VM><VM><ID>8</ID></VM></VM_POOL>", "VM 8 twice");
    must_be_malformed("<VM_POOL><VM><ID>8</ID></VM><A><VM><ID>9</ID></VM></A></VM_POOL>",
                      "inside of another");
    must_be_malformed("<VM><ID>8</ID><TEMPLATE><VM><ID>9</ID></VM></TEMPLATE></VM>",
                      "inside of another");
    must_be_malformed("<VM_POOL><VM><ID>8</ID></VM><?x <VM><ID>9</ID></VM>?></VM_POOL>", "comment");
    must_be_malformed("<VM_POOL><VM><ID>8</ID></VM><!-- <VM><ID>9</ID></VM>--></VM_POOL>",
                      "comment");
    must_be_malformed("<VM_POOL><VM><ID>8</ID></VM>", "well-formed");
    must_be_malformed("<VM><ID>8</ID></VM><VM><ID>9</ID></VM>", "well-formed");
}

static void users_attributes_may_be_called_as_objects_are(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading, "<VM><ID>8</ID><USER_TEMPLATE><VM>x</VM><ID>5</ID><VM><NAME>y</NAME></VM>"
                         "</USER_TEMPLATE></VM>");
    assert_int_equal(reading.cloud.vm_count, 1);
    reading_end(&reading);
}

static void a_document_of_another_kind_is_nobodys_fault(void **state)
{
    struct reading reading;
    (void)state;
    reading_begin(&reading);
    assert_int_equal(try_read(&reading, oneib_documents_read_vms, "<html></html>"), -1);
    assert_false(reading.documents.malformed);
    assert_int_equal(try_read(&reading, oneib_documents_read_vms, "no XML"), -1);
    assert_false(reading.documents.malformed);
    reading_end(&reading);
}

static void a_vm_with_two_templates_is_left_out_and_was_seen(void **state)
{
    struct reading reading;
    (void)state;
    vm_saying(&reading, "<ID>9</ID>" RUNNING, "<TEMPLATE/>" ON_HOST_7);
    assert_int_equal(reading.cloud.attachment_count, 0);
    assert_int_equal(reading.documents.vms_seen.count, 1);
    must_find(&reading, "vm-malformed", "VM 9: ");
    reading_end(&reading);
}

static void a_history_that_cannot_be_read_leaves_the_host_unknown(void **state)
{
    static const char *const bad[] = {
        "<HISTORY_RECORDS><HISTORY><HID>7</HID></HISTORY></HISTORY_RECORDS>",
        "<HISTORY_RECORDS><HISTORY><SEQ>0</SEQ></HISTORY></HISTORY_RECORDS>",
        "<HISTORY_RECORDS><HISTORY><SEQ>0</SEQ><HID>-1</HID></HISTORY></HISTORY_RECORDS>",
        ("<HISTORY_RECORDS><HISTORY><SEQ>0</SEQ><HID>7</HID></HISTORY>"
         "<HISTORY><SEQ>0</SEQ><HID>8</HID></HISTORY></HISTORY_RECORDS>"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct reading reading;
        vm_saying(&reading, "<ID>9</ID>" RUNNING, bad[i]);
        assert_int_equal(reading.cloud.attachments[0].host_id, ONEIB_NO_ID);
        must_find(&reading, "document-invalid", "VM 9: ");
        reading_end(&reading);
    }
}

static void a_record_without_a_start_counts_as_the_latest(void **state)
{
    struct reading reading;
    (void)state;
    vm_saying(&reading, "<ID>9</ID>" RUNNING,
              "<HISTORY_RECORDS><HISTORY><SEQ>0</SEQ><HID>7</HID></HISTORY></HISTORY_RECORDS>");
    assert_int_equal(reading.cloud.attachments[0].host_id, 7);
    assert_true(reading.cloud.attachments[0].since == INT64_MAX);
    reading_end(&reading);
}

static void one_bad_vm_does_not_touch_its_neighbours(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading, "<VM_POOL>"
                         "<VM><ID>1</ID>" RUNNING "<TEMPLATE>" NIC(
                             "0", "") "</TEMPLATE>" ON_HOST_7 "</VM><VM><ID>2</ID>" RUNNING
                                      "<TEMPLATE/><TEMPLATE>" NIC(
                                          "0", "") "</TEMPLATE></VM>"
                                                   "<VM><ID>3</ID>" RUNNING
                                                   "<TEMPLATE>" NIC("0", "") "</TEMPLATE>" ON_HOST_7
                                                                             "</VM></VM_POOL>");
    assert_int_equal(reading.cloud.vm_count, 3);
    assert_int_equal(reading.cloud.attachment_count, 2);
    assert_int_equal(reading.cloud.attachments[0].vm_id, 1);
    assert_int_equal(reading.cloud.attachments[1].vm_id, 3);
    reading_end(&reading);
}

static void text_in_a_finding_cannot_forge_a_line(void **state)
{
    struct reading reading;
    (void)state;
    nic_saying(&reading, "<IB_MEMBERSHIP>5\nVM 1 is fine\" \x7f</IB_MEMBERSHIP>");
    must_find(&reading, "membership-invalid", "5\\x0aVM 1 is fine\\x22 \\x7f");
    reading_end(&reading);
}

static void a_vm_that_has_ended_leaves_neither_attachments_nor_findings(void **state)
{
    struct reading reading;
    (void)state;
    begin_with(&reading,
               "<VM_POOL><VM><ID>8</ID>" RUNNING "<TEMPLATE>" NIC(
                   "1", "<IB_MEMBERSHIP>x</IB_MEMBERSHIP>") "</TEMPLATE>" ON_HOST_7 "</VM>"
                                                            "<VM><ID>9</ID><STATE>6</"
                                                            "STATE><LCM_STATE>0</"
                                                            "LCM_STATE><TEMPLATE>" NIC(
                                                                "1",
                                                                "<IB_MEMBERSHIP>x</"
                                                                "IB_MEMBERSHIP>") "</"
                                                                                  "TEMPLATE"
                                                                                  ">" ON_HOST_7
                                                                                  "</VM>"
                                                                                  "</VM_POOL>");
    assert_int_equal(reading.cloud.attachment_count, 1);
    assert_int_equal(reading.cloud.attachments[0].vm_id, 8);
    assert_int_equal(reading.documents.vms_seen.count, 1);
    assert_int_equal(reading.cloud.vm_count, 1);
    assert_int_equal(reading.findings.count, 1);
    assert_int_equal(reading.findings.items[0].subject, ONEIB_SUBJECT_VM);
    assert_int_equal(reading.findings.items[0].subject_id, 8);
    reading_end(&reading);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_alias_in_an_infiniband_network_is_no_member_of_it),
        cmocka_unit_test(the_recorded_running_vm_has_a_nic_and_a_pci_nic),
        cmocka_unit_test(the_recorded_pool_reads_like_the_vm_alone),
        cmocka_unit_test(a_vm_after_a_live_migration_is_on_its_last_host_alone),
        cmocka_unit_test(the_host_of_record_is_that_of_the_highest_seq),
        cmocka_unit_test(the_order_of_history_records_does_not_matter),
        cmocka_unit_test(a_migrating_vm_with_its_last_record_alone_is_to_be_asked_for),
        cmocka_unit_test(a_migrating_vm_on_its_first_host_has_no_earlier_one),
        cmocka_unit_test(a_migrating_vm_without_our_nics_is_not_asked_for),
        cmocka_unit_test(a_vm_on_hold_is_on_no_host),
        cmocka_unit_test(the_recorded_terminated_vm_leaves_nothing),
        cmocka_unit_test(hot_plugged_nics_are_read_with_the_others),
        cmocka_unit_test(a_nic_that_is_being_attached_says_so),
        cmocka_unit_test(a_pci_that_is_no_nic_is_not_ours),
        cmocka_unit_test(a_vm_without_nics_is_counted_and_has_no_attachment),
        cmocka_unit_test(of_a_vm_with_64_nics_the_first_sixteen_count),
        cmocka_unit_test(nic_255_is_kept_and_nic_256_is_refused),
        cmocka_unit_test(many_bad_nics_make_few_findings),
        cmocka_unit_test(two_nics_with_one_id_are_both_left_out),
        cmocka_unit_test(a_nic_without_an_id_is_left_out),
        cmocka_unit_test(a_nic_with_two_drivers_is_left_out),
        cmocka_unit_test(a_nic_without_a_network_belongs_to_none),
        cmocka_unit_test(the_id_of_a_vanished_network_is_kept),
        cmocka_unit_test(a_nics_own_copy_of_the_key_is_shown_and_decides_nothing),
        cmocka_unit_test(a_nic_may_narrow_its_membership),
        cmocka_unit_test(an_unknown_membership_of_a_nic_narrows_it),
        cmocka_unit_test(an_address_that_is_no_ipv4_counts_as_none),
        cmocka_unit_test(a_state_that_is_no_number_is_an_unknown_phase),
        cmocka_unit_test(a_state_of_a_later_release_is_an_unknown_phase),
        cmocka_unit_test(a_vm_without_an_id_makes_the_document_malformed),
        cmocka_unit_test(an_object_where_none_belongs_makes_the_document_malformed),
        cmocka_unit_test(users_attributes_may_be_called_as_objects_are),
        cmocka_unit_test(a_document_of_another_kind_is_nobodys_fault),
        cmocka_unit_test(a_vm_with_two_templates_is_left_out_and_was_seen),
        cmocka_unit_test(a_history_that_cannot_be_read_leaves_the_host_unknown),
        cmocka_unit_test(a_record_without_a_start_counts_as_the_latest),
        cmocka_unit_test(one_bad_vm_does_not_touch_its_neighbours),
        cmocka_unit_test(text_in_a_finding_cannot_forge_a_line),
        cmocka_unit_test(a_vm_that_has_ended_leaves_neither_attachments_nor_findings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
