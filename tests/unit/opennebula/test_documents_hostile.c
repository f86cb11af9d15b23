// SPDX-License-Identifier: Apache-2.0
/* Documents that no oned would write. */
#include "reading.h"
#include <time.h>

static void a_document_type_is_refused(void **state)
{
    (void)state;
    must_refuse(oneib_documents_read_vms, "<!DOCTYPE VM_POOL><VM_POOL></VM_POOL>",
                "does not begin with an element");
    must_refuse(oneib_documents_read_vms,
                "<?xml version=\"1.0\"?><!DOCTYPE VM_POOL SYSTEM \"file:///etc/passwd\">"
                "<VM_POOL></VM_POOL>",
                "does not begin with an element");
    must_refuse(oneib_documents_read_vms, "<VM_POOL><!DOCTYPE VM_POOL></VM_POOL>",
                "not well-formed");
}

static void an_entity_bomb_is_refused_before_it_goes_off(void **state)
{
    oneib_autotext struct oneib_text xml = {0};
    (void)state;
    oneib_text_append(&xml, "<!DOCTYPE b [<!ENTITY e0 \"ha\">");
    for (int i = 1; i < 100; i++)
        oneib_text_printf(&xml, "<!ENTITY e%d \"&e%d;&e%d;\">", i, i - 1, i - 1);
    oneib_text_append(&xml, "]><VM_POOL>&e99;</VM_POOL>");
    must_refuse(oneib_documents_read_vms, xml.data, "does not begin with an element");
}

static void an_entity_that_nobody_declared_is_refused(void **state)
{
    (void)state;
    must_refuse(oneib_documents_read_networks,
                "<VNET><ID>7</ID><NAME>&ha;</NAME><VN_MAD>ibrec</VN_MAD></VNET>",
                "not well-formed");
}

static void the_five_entities_of_xml_are_text(void **state)
{
    struct reading reading;
    (void)state;
    reading_begin(&reading);
    must_read(&reading, oneib_documents_read_networks,
              "<VNET><ID>7</ID><NAME>&lt;&gt;&amp;&quot;&apos;</NAME><VN_MAD>ibrec</VN_MAD>"
              "</VNET>");
    assert_string_equal(reading.cloud.networks[0].name, "<>&\"'");
    reading_end(&reading);
}

static void every_prefix_of_a_recorded_document_is_refused(void **state)
{
    char *xml = recorded("vmpool.infoextended.doc");
    size_t length = strlen(xml);
    (void)state;
    for (size_t cut = 0; cut < length; cut++) {
        struct reading reading;
        reading_begin(&reading);
        assert_int_equal(oneib_documents_read_vms(&reading.documents, xml, cut, &reading.err), -1);
        assert_int_equal(reading.err.code, ONEIB_ERROR_PROTOCOL);
        reading_end(&reading);
    }
    free(xml);
}

static void a_document_of_another_kind_is_refused(void **state)
{
    (void)state;
    must_refuse(oneib_documents_read_vms, "<HOST_POOL></HOST_POOL>", "<HOST_POOL>");
    must_refuse(oneib_documents_read_hosts, "<VM_POOL></VM_POOL>", "<VM_POOL>");
    must_refuse(oneib_documents_read_networks, "<html><body></body></html>", "<html>");
    must_refuse(oneib_documents_read_vms, "<x:VM_POOL></x:VM_POOL>", "<x:VM_POOL>");
    must_refuse(oneib_documents_read_vms, "", "does not begin with an element");
    must_refuse(oneib_documents_read_vms, "no", "does not begin with an element");
}

static void a_second_root_is_refused(void **state)
{
    (void)state;
    must_refuse(oneib_documents_read_vms, "<VM_POOL></VM_POOL><VM_POOL></VM_POOL>",
                "not well-formed");
}

static void a_document_that_is_too_deep_is_refused(void **state)
{
    oneib_autotext struct oneib_text xml = {0};
    (void)state;
    oneib_text_append(&xml, "<VM_POOL>");
    for (int i = 0; i < 100; i++)
        oneib_text_append(&xml, "<A>");
    for (int i = 0; i < 100; i++)
        oneib_text_append(&xml, "</A>");
    oneib_text_append(&xml, "</VM_POOL>");
    must_refuse(oneib_documents_read_vms, xml.data, "64 elements deep");
}

static void bytes_that_are_not_utf8_are_refused(void **state)
{
    (void)state;
    must_refuse(oneib_documents_read_hosts, "<HOST><ID>1</ID><NAME>\xff\xfe</NAME></HOST>",
                "not well-formed");
}

/* In whole pieces, until it is `size` bytes or more. */
static void append_repeated(struct oneib_text *text, const char *piece, size_t size)
{
    char block[4096];
    const size_t length = strlen(piece);
    size_t filled = 0, at = 0;
    for (; filled + length <= sizeof block; filled += length)
        memcpy(block + filled, piece, length);
    for (; at + filled <= size; at += filled)
        oneib_text_append_bytes(text, block, filled);
    for (; at < size; at += length)
        oneib_text_append(text, piece);
}

static void an_escaped_name_of_ten_megabytes_is_refused(void **state)
{
    oneib_autotext struct oneib_text xml = {0};
    (void)state;
    oneib_text_append(&xml, "<VNET><ID>7</ID><NAME>");
    append_repeated(&xml, "namename", 10u << 20);
    oneib_text_append(&xml, "</NAME><VN_MAD>ibrec</VN_MAD></VNET>");
    must_refuse(oneib_documents_read_networks, xml.data, "not well-formed");
}

/* A user's attribute of `size` bytes between two VMs with a NIC each; `piece` is what it consists
 * of. */
static void read_around_attribute(const char *piece, size_t size)
{
    static const char vm[] = "<VM><ID>%u</ID><STATE>3</STATE><LCM_STATE>3</LCM_STATE><TEMPLATE>"
                             "<NIC><NETWORK_ID>1</NETWORK_ID><NIC_ID>0</NIC_ID>"
                             "<VN_MAD>ibrec</VN_MAD></NIC></TEMPLATE><USER_TEMPLATE><NOTE>"
                             "<![CDATA[";
    struct reading reading;
    oneib_autotext struct oneib_text xml = {0};
    oneib_text_append(&xml, "<VM_POOL>");
    for (unsigned id = 1; id <= 2; id++) {
        oneib_text_printf(&xml, vm, id);
        append_repeated(&xml, piece, size);
        oneib_text_append(&xml, "]]></NOTE></USER_TEMPLATE></VM>");
    }
    oneib_text_append(&xml, "</VM_POOL>");

    reading_begin(&reading);
    must_read(&reading, oneib_documents_read_vms, xml.data);
    assert_int_equal(reading.cloud.vm_count, 2);
    assert_int_equal(reading.cloud.attachment_count, 2);
    reading_end(&reading);
}

static clock_t time_around_attribute(const char *piece, size_t size)
{
    const clock_t before = clock();
    read_around_attribute(piece, size);
    return clock() - before;
}

/* Ten times the size may take ten times as long, not a hundred times. */
static void must_take_linear_time(const char *piece)
{
    const clock_t small = time_around_attribute(piece, 1u << 20);
    const clock_t large = time_around_attribute(piece, 10u << 20);
    assert_true(large < 40 * (small + CLOCKS_PER_SEC / 100));
}

static void a_huge_attribute_of_a_user_stops_nobody_and_takes_linear_time(void **state)
{
    (void)state;
    must_take_linear_time("a");
    must_take_linear_time("<VM><ID>3</ID></VM>");
    must_take_linear_time("<![CDATA[");
    must_take_linear_time("<!-- <? &");
}

static void a_huge_attribute_is_not_cut_within_a_character(void **state)
{
    (void)state;
    read_around_attribute("€", 1u << 20);
    read_around_attribute("\xf0\x9f\x90\x8d", 1u << 20);
}

static void attributes_around_the_longest_that_is_kept_are_read(void **state)
{
    (void)state;
    for (size_t size = (128u << 10) - 3; size < (128u << 10) + 3; size++)
        read_around_attribute("a", size);
    for (size_t size = (192u << 10) - 60; size < (192u << 10) + 60; size++)
        read_around_attribute("a", size);
}

static void a_comment_cannot_hide_what_follows_a_huge_attribute(void **state)
{
    oneib_autotext struct oneib_text xml = {0};
    (void)state;
    oneib_text_append(&xml, "<VM_POOL><!-- <![CDATA[ -->");
    append_repeated(&xml, " ", 1u << 20);
    oneib_text_append(&xml, "<VM><ID>1</ID></VM><A><![CDATA[x]]></A></VM_POOL>");
    must_refuse(oneib_documents_read_vms, xml.data, "comment");
}

/* Users can have written both: then fewer VMs are asked for, until it is known whose it is. */
static void markup_that_oned_never_writes_is_its_objects_fault_beside_a_huge_attribute(void **state)
{
    static const char *const markups[] = {"<!-- x -->", "<?x y?>", "<!-- ", "<?x "};
    (void)state;
    for (size_t i = 0; i < sizeof markups / sizeof *markups; i++)
        for (int before = 0; before < 2; before++) {
            oneib_autotext struct oneib_text xml = {0};
            struct reading reading;
            oneib_text_printf(&xml, "<VM_POOL><VM><ID>1</ID>%s<A><![CDATA[",
                              before ? markups[i] : "");
            append_repeated(&xml, "a", 1u << 20);
            oneib_text_printf(&xml, "]]></A>%s</VM></VM_POOL>", before ? "" : markups[i]);
            reading_begin(&reading);
            assert_int_equal(
                oneib_documents_read_vms(&reading.documents, xml.data, xml.length, &reading.err),
                -1);
            assert_true(reading.documents.malformed);
            reading_end(&reading);
        }
}

static void unknown_elements_change_nothing(void **state)
{
    struct reading reading;
    (void)state;
    reading_begin(&reading);
    must_read(&reading, oneib_documents_read_vms,
              "<VM_POOL><NEW><A><ID>1</ID></A></NEW><VM><NEW><ID>4</ID></NEW><ID>2</ID>"
              "<NEW><TEMPLATE/><STATE>6</STATE></NEW></VM></VM_POOL>");
    assert_int_equal(reading.cloud.vm_count, 1);
    assert_int_equal(reading.documents.vms_seen.count, 1);
    assert_int_equal(reading.documents.vms_seen.items[0], 2);
    reading_end(&reading);
}

static void ids_are_a_set_once_sorted(void **state)
{
    struct oneib_id_set set = {0};
    static const uint32_t ids[] = {7, 3, UINT32_MAX, 3, 0, 7};
    (void)state;
    oneib_id_set_sort(&set);
    assert_false(oneib_id_set_has(&set, 0));
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        oneib_id_set_add(&set, ids[i]);
    oneib_id_set_sort(&set);
    assert_int_equal(set.count, 4);
    assert_true(oneib_id_set_has(&set, UINT32_MAX));
    assert_true(oneib_id_set_has(&set, 0));
    assert_false(oneib_id_set_has(&set, 5));
    oneib_id_set_clear(&set);
    assert_int_equal(set.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_type_is_refused),
        cmocka_unit_test(an_entity_bomb_is_refused_before_it_goes_off),
        cmocka_unit_test(an_entity_that_nobody_declared_is_refused),
        cmocka_unit_test(the_five_entities_of_xml_are_text),
        cmocka_unit_test(every_prefix_of_a_recorded_document_is_refused),
        cmocka_unit_test(a_document_of_another_kind_is_refused),
        cmocka_unit_test(a_second_root_is_refused),
        cmocka_unit_test(a_document_that_is_too_deep_is_refused),
        cmocka_unit_test(bytes_that_are_not_utf8_are_refused),
        cmocka_unit_test(an_escaped_name_of_ten_megabytes_is_refused),
        cmocka_unit_test(a_huge_attribute_of_a_user_stops_nobody_and_takes_linear_time),
        cmocka_unit_test(a_huge_attribute_is_not_cut_within_a_character),
        cmocka_unit_test(attributes_around_the_longest_that_is_kept_are_read),
        cmocka_unit_test(a_comment_cannot_hide_what_follows_a_huge_attribute),
        cmocka_unit_test(
            markup_that_oned_never_writes_is_its_objects_fault_beside_a_huge_attribute),
        cmocka_unit_test(unknown_elements_change_nothing),
        cmocka_unit_test(ids_are_a_set_once_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
