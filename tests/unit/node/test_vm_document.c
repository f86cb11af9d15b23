// SPDX-License-Identifier: Apache-2.0
#include "../../base64.h"
#include "documents.h"
#include "node/vm_document.h"
#include <string.h>

static struct oneib_node_vm vm;
static struct oneib_error err;

static int clear(void **state)
{
    (void)state;
    oneib_node_vm_clear(&vm);
    return 0;
}

/* A copy without a NUL behind it, so that reading beyond the end is seen. */
static int parse_bytes(const char *xml, size_t length, const char *vn_mad)
{
    char *copy = malloc(length > 0 ? length : 1);
    assert_non_null(copy);
    memcpy(copy, xml, length);
    err = (struct oneib_error){0};
    oneib_node_vm_clear(&vm);
    const int outcome = oneib_node_vm_parse(copy, length, vn_mad, &vm, &err);
    free(copy);
    assert_int_equal(outcome < 0, err.code != ONEIB_ERROR_NONE);
    return outcome;
}

static int parse(const char *xml)
{
    return parse_bytes(xml, strlen(xml), "infiniband");
}

static void parse_recorded(const char *action)
{
    size_t length;
    char *xml = recorded_action(action, &length);
    if (parse_bytes(xml, length, "ibrec") < 0)
        fail_msg("%s: %s", action, err.text);
    free(xml);
}

static void assert_refused(const char *xml, enum oneib_error_code code, const char *words)
{
    assert_int_equal(parse(xml), -1);
    assert_int_equal(err.code, code);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" is not in: %s", words, err.text);
}

static void assert_pci(const struct oneib_pci *pci, const char *expected)
{
    char text[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(pci, text);
    assert_string_equal(text, expected);
}

/* ---- recorded -------------------------------------------------------------------------------- */

static void the_first_pre_has_two_nics_of_ours(void **state)
{
    (void)state;
    parse_recorded("0001-vnm.ibrec.pre.vm1");
    assert_int_equal(vm.id, 1);
    assert_false(vm.deployed);
    assert_false(vm.attaching);
    assert_string_equal(vm.hostname, "localhost");
    assert_int_equal(vm.nic_count, 2);
    assert_int_equal(vm.nics[0].nic_id, 1);
    assert_int_equal(vm.nics[0].network_id, 1);
    assert_false(vm.nics[0].is_pci);
    assert_true(vm.nics[0].bridged);
    assert_int_equal(vm.nics[1].nic_id, 2);
    assert_true(vm.nics[1].is_pci);
    assert_true(vm.nics[1].has_address);
    assert_false(vm.nics[1].has_previous);
    assert_pci(&vm.nics[1].address, "0000:81:00.1");
}

static void only_the_attached_device_has_attach(void **state)
{
    (void)state;
    parse_recorded("0009-vnm.ibrec.pre.vm1");
    assert_true(vm.attaching);
    assert_true(vm.deployed);
    assert_int_equal(vm.nic_count, 4);
    for (size_t i = 0; i < vm.nic_count; i++)
        assert_int_equal(vm.nics[i].attach, vm.nics[i].nic_id == 4);
}

static void an_alias_that_is_attached_makes_it_an_attach(void **state)
{
    (void)state;
    parse_recorded("0116-vnm.ibrec.pre.vm6");
    assert_true(vm.attaching);
    for (size_t i = 0; i < vm.nic_count; i++)
        assert_false(vm.nics[i].attach);
}

static void the_full_document_of_update_nic_is_read_too(void **state)
{
    (void)state;
    parse_recorded("0022-vnm.ibrec.update_nic.vm1");
    assert_int_equal(vm.id, 1);
    assert_true(vm.deployed);
    assert_int_equal(vm.nic_count, 2);
}

static void a_moved_pci_nic_has_its_previous_address(void **state)
{
    (void)state;
    parse_recorded("0044-vnm.ibrec.clean.vm1");
    size_t moved = 0;
    for (size_t i = 0; i < vm.nic_count; i++) {
        if (!vm.nics[i].is_pci)
            continue;
        assert_true(vm.nics[i].has_previous);
        assert_pci(&vm.nics[i].previous, "0000:81:00.1");
        moved++;
    }
    assert_int_equal(moved, 1);
}

/* ---- NICs ------------------------------------------------------------------------------------ */

static void nics_are_sorted_by_id(void **state)
{
    (void)state;
    assert_int_equal(parse(VM("42", NIC("9", "") PCI("3", "") NIC("255", ""))), 0);
    assert_int_equal(vm.nics[0].nic_id, 3);
    assert_int_equal(vm.nics[1].nic_id, 9);
    assert_int_equal(vm.nics[2].nic_id, 255);
}

static void nics_of_other_drivers_and_other_devices_are_not_ours(void **state)
{
    (void)state;
    assert_int_equal(
        parse(VM("42", "<TEMPLATE><NIC><NIC_ID>x</NIC_ID><VN_MAD>bridge</VN_MAD></NIC></TEMPLATE>"
                       "<TEMPLATE><PCI><VN_MAD>infiniband</VN_MAD></PCI></TEMPLATE>"
                       "<TEMPLATE><NIC_ALIAS><NIC_ID>2</NIC_ID><VN_MAD>infiniband</VN_MAD>"
                       "</NIC_ALIAS></TEMPLATE>")),
        0);
    assert_int_equal(vm.nic_count, 0);
    assert_false(vm.attaching);
}

static void another_drivers_attach_counts(void **state)
{
    (void)state;
    assert_int_equal(parse(VM("42", NIC("1", "") "<TEMPLATE><NIC><VN_MAD>bridge</VN_MAD>" ATTACH
                                                 "</NIC></TEMPLATE>")),
                     0);
    assert_true(vm.attaching);
    assert_false(vm.nics[0].attach);
}

static void the_last_history_record_names_the_host(void **state)
{
    (void)state;
    assert_int_equal(parse(VM("42", HOSTNAME("old") HOSTNAME("new"))), 0);
    assert_string_equal(vm.hostname, "new");
}

/* ---- forged ---------------------------------------------------------------------------------- */

static void nics_in_what_users_write_do_not_count(void **state)
{
    (void)state;
    static const char nic[] =
        VM("42",
           "<TEMPLATE><CONTEXT>" NIC(
               "1", "") "<NIC><NIC_ID>2</NIC_ID>"
                        "<VN_MAD>infiniband</VN_MAD>" ATTACH "</NIC></CONTEXT></TEMPLATE>"
                        "<USER_TEMPLATE><NIC><NIC_ID>3</NIC_ID><VN_MAD>infiniband</VN_MAD>" ATTACH
                        "</NIC>"
                        "<ID>7</ID>" NIC("4", ATTACH) HOSTNAME("forged") "</USER_TEMPLATE>");
    assert_int_equal(parse(nic), 0);
    assert_int_equal(vm.id, 42);
    assert_int_equal(vm.nic_count, 0);
    assert_false(vm.attaching);
    assert_null(vm.hostname);
}

static void markup_in_text_stays_text(void **state)
{
    (void)state;
    assert_int_equal(parse(VM("42", "<USER_TEMPLATE><NAME><![CDATA[</NAME></USER_TEMPLATE>" NIC(
                                        "1", "") "]]></NAME></USER_TEMPLATE>")),
                     0);
    assert_int_equal(vm.nic_count, 0);
}

/* ---- refused NICs ---------------------------------------------------------------------------- */

static void a_nic_id_of_256_is_refused(void **state)
{
    (void)state;
    assert_refused(VM("42", NIC("256", "")), ONEIB_ERROR_INPUT,
                   "VM 42 a NIC: NIC_ID \"256\" is more than 255");
    assert_int_equal(vm.id, 42);
    assert_int_equal(vm.nic_count, 0);
}

static void a_nic_id_that_is_no_number_is_refused(void **state)
{
    (void)state;
    assert_refused(VM("42", NIC("-1", "")), ONEIB_ERROR_INPUT, "NIC_ID \"-1\" is not an id");
    assert_refused(VM("42", NIC("1 ", "")), ONEIB_ERROR_INPUT, "NIC_ID \"1 \" is not an id");
    assert_refused(VM("42", NIC("", "")), ONEIB_ERROR_INPUT, "NIC_ID \"\" is not an id");
}

static void two_nics_with_one_id_are_refused(void **state)
{
    (void)state;
    assert_refused(VM("42", NIC("1", "") PCI("1", "")), ONEIB_ERROR_INPUT,
                   "VM 42 NIC 1: NIC_ID \"1\" is another NIC's too");
    assert_int_equal(vm.nic_count, 1);
    assert_true(vm.nics[0].faulty);
}

static void a_malformed_network_is_refused_and_the_nic_is_still_known(void **state)
{
    (void)state;
    assert_refused(VM("42", NIC("1", MALFORMED) NIC("2", "")), ONEIB_ERROR_INPUT,
                   "VM 42 NIC 1: NETWORK_ID");
    assert_int_equal(vm.nic_count, 2);
    assert_true(vm.nics[0].faulty);
    assert_false(vm.nics[1].faulty);
}

static void a_malformed_address_is_refused(void **state)
{
    (void)state;
    assert_refused(VM("42", PCI("1", "<ADDRESS>0000:81:00.1</ADDRESS>")), ONEIB_ERROR_INPUT,
                   "ADDRESS \"0000:81:00.1\" is not a PCI address");
    assert_refused(VM("42", PCI("1", "<PREV_ADDRESS>x</PREV_ADDRESS>")), ONEIB_ERROR_INPUT,
                   "PREV_ADDRESS \"x\"");
}

static void a_nic_with_two_drivers_is_refused(void **state)
{
    (void)state;
    assert_refused(VM("42", NIC("1", "<VN_MAD>bridge</VN_MAD>")), ONEIB_ERROR_INPUT,
                   "VM 42 NIC 1: VN_MAD");
}

static void a_nic_without_a_network_is_refused(void **state)
{
    (void)state;
    assert_refused(VM("42", "<TEMPLATE><NIC><NIC_ID>1</NIC_ID><VN_MAD>infiniband</VN_MAD></NIC>"
                            "</TEMPLATE>"),
                   ONEIB_ERROR_INPUT, "NETWORK_ID \"\" is not an id");
}

static void newlines_and_shell_characters_are_shown_escaped(void **state)
{
    (void)state;
    assert_refused(VM("42", PCI("1", "<ADDRESS>a\n`rm -rf /`;\"$(x)\"\x1b[2J</ADDRESS>")),
                   ONEIB_ERROR_PROTOCOL, "not well-formed");
    assert_refused(VM("42", PCI("1", "<ADDRESS>a\n`rm -rf /`;\"$(x)\"</ADDRESS>")),
                   ONEIB_ERROR_INPUT, "\"a\\x0a`rm -rf /`;\\x22$(x)\\x22\"");
    assert_null(strchr(err.text, '\n'));
}

/* ---- no such document ------------------------------------------------------------------------ */

static void what_is_no_document_is_refused(void **state)
{
    (void)state;
    assert_refused("", ONEIB_ERROR_PROTOCOL, "does not begin with an element");
    assert_refused("<VM>", ONEIB_ERROR_PROTOCOL, "not well-formed");
    assert_refused("<VNET><ID>1</ID></VNET>", ONEIB_ERROR_PROTOCOL, "is not of a VM");
    assert_refused("<VM></VM>", ONEIB_ERROR_PROTOCOL, "has no ID");
    assert_refused("<VM><ID>4294967295</ID></VM>", ONEIB_ERROR_PROTOCOL, "no single ID");
    assert_refused("<VM><ID>1</ID><ID>2</ID></VM>", ONEIB_ERROR_PROTOCOL, "no single ID");
    assert_int_equal(vm.id, ONEIB_NO_ID);
    assert_refused("<VM>" NIC("1", "") "<ID>1</ID></VM>", ONEIB_ERROR_PROTOCOL, "in front of");
}

static void entities_are_refused(void **state)
{
    (void)state;
    assert_refused("<!DOCTYPE VM [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]>"
                   "<VM><ID>1</ID><NAME>&b;</NAME></VM>",
                   ONEIB_ERROR_PROTOCOL, "does not begin with an element");
    assert_refused("<VM><ID>1</ID><NAME>&b;</NAME></VM>", ONEIB_ERROR_PROTOCOL, "not well-formed");
}

static void the_id_of_a_spoiled_document_is_known(void **state)
{
    (void)state;
    assert_refused("<VM><ID>42</ID>" NIC("1", "") "<USER_TEMPLATE><!-- x --></USER_TEMPLATE></VM>",
                   ONEIB_ERROR_PROTOCOL, "comment");
    assert_int_equal(vm.id, 42);
    assert_int_equal(vm.nic_count, 0);
}

static void deep_nesting_is_refused(void **state)
{
    (void)state;
    struct oneib_text text = {0};
    oneib_text_append(&text, "<VM><ID>1</ID><USER_TEMPLATE>");
    for (int i = 0; i < 100000; i++)
        oneib_text_append(&text, "<A>");
    assert_refused(text.data, ONEIB_ERROR_PROTOCOL, "deep");
    oneib_text_clear(&text);
}

static void an_attribute_of_10_mib_hinders_nobody(void **state)
{
    (void)state;
    struct oneib_text text = {0};
    oneib_text_append(&text, "<VM><ID>42</ID><USER_TEMPLATE><NAME><![CDATA[");
    for (int i = 0; i < 10 * 1024; i++)
        oneib_text_printf(&text, "%01024d", i);
    oneib_text_append(&text, "]]></NAME></USER_TEMPLATE>" NIC("1", "") "</VM>");
    assert_int_equal(parse(text.data), 0);
    assert_int_equal(vm.nic_count, 1);
    oneib_text_clear(&text);
}

/* ---- base64 ---------------------------------------------------------------------------------- */

static int decode(const char *text)
{
    err = (struct oneib_error){0};
    oneib_node_vm_clear(&vm);
    return oneib_node_vm_decode(text, strlen(text), "infiniband", &vm, &err);
}

/* line > 0: with a break after so many characters. */
static char *encode(const char *xml, size_t line)
{
    const size_t length = base64_length(strlen(xml));
    char *plain = malloc(length), *broken = calloc(1, 2 * length + 2);
    assert_non_null(plain);
    assert_non_null(broken);
    base64_encode(xml, strlen(xml), plain);
    size_t at = 0;
    for (size_t i = 0; i < length; i++) {
        broken[at++] = plain[i];
        if (line > 0 && i % line == line - 1)
            broken[at++] = '\n';
    }
    broken[at] = '\n';
    free(plain);
    return broken;
}

static void base64_is_read_with_and_without_line_breaks(void **state)
{
    (void)state;
    for (size_t line = 0; line <= 60; line += 60) {
        char *text = encode(VM("42", NIC("1", "")), line);
        assert_int_equal(decode(text), 0);
        assert_int_equal(vm.nic_count, 1);
        free(text);
    }
}

static void what_is_no_base64_is_refused(void **state)
{
    (void)state;
    const char *const texts[] = {"", "\n", "<VM/>", "PFZN!", "PFZNPg=", "====", "PFZNP"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(decode(texts[i]), -1);
        assert_int_equal(err.code, ONEIB_ERROR_PROTOCOL);
        assert_int_equal(vm.id, ONEIB_NO_ID);
    }
}

static void more_than_16_mib_is_refused(void **state)
{
    (void)state;
    const size_t length = base64_length(ONEIB_VM_DOCUMENT_MAX + 3);
    char *text = malloc(length + 1);
    assert_non_null(text);
    memset(text, 'A', length);
    text[length] = '\0';
    assert_int_equal(decode(text), -1);
    assert_non_null(strstr(err.text, "more than 16777216 bytes"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_first_pre_has_two_nics_of_ours, clear),
        cmocka_unit_test_teardown(only_the_attached_device_has_attach, clear),
        cmocka_unit_test_teardown(an_alias_that_is_attached_makes_it_an_attach, clear),
        cmocka_unit_test_teardown(the_full_document_of_update_nic_is_read_too, clear),
        cmocka_unit_test_teardown(a_moved_pci_nic_has_its_previous_address, clear),
        cmocka_unit_test_teardown(nics_are_sorted_by_id, clear),
        cmocka_unit_test_teardown(nics_of_other_drivers_and_other_devices_are_not_ours, clear),
        cmocka_unit_test_teardown(another_drivers_attach_counts, clear),
        cmocka_unit_test_teardown(the_last_history_record_names_the_host, clear),
        cmocka_unit_test_teardown(nics_in_what_users_write_do_not_count, clear),
        cmocka_unit_test_teardown(markup_in_text_stays_text, clear),
        cmocka_unit_test_teardown(a_nic_id_of_256_is_refused, clear),
        cmocka_unit_test_teardown(a_nic_id_that_is_no_number_is_refused, clear),
        cmocka_unit_test_teardown(two_nics_with_one_id_are_refused, clear),
        cmocka_unit_test_teardown(a_malformed_network_is_refused_and_the_nic_is_still_known, clear),
        cmocka_unit_test_teardown(a_malformed_address_is_refused, clear),
        cmocka_unit_test_teardown(a_nic_with_two_drivers_is_refused, clear),
        cmocka_unit_test_teardown(a_nic_without_a_network_is_refused, clear),
        cmocka_unit_test_teardown(newlines_and_shell_characters_are_shown_escaped, clear),
        cmocka_unit_test_teardown(what_is_no_document_is_refused, clear),
        cmocka_unit_test_teardown(entities_are_refused, clear),
        cmocka_unit_test_teardown(the_id_of_a_spoiled_document_is_known, clear),
        cmocka_unit_test_teardown(deep_nesting_is_refused, clear),
        cmocka_unit_test_teardown(an_attribute_of_10_mib_hinders_nobody, clear),
        cmocka_unit_test_teardown(base64_is_read_with_and_without_line_breaks, clear),
        cmocka_unit_test_teardown(what_is_no_base64_is_refused, clear),
        cmocka_unit_test_teardown(more_than_16_mib_is_refused, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
