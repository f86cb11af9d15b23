// SPDX-License-Identifier: Apache-2.0
#include "host/vf_record.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define LINE                                                                                       \
    "vf=0000:81:00.1 device=mlx4_0 index=0 port=1 vm=42 nic=1 network=0 site=7 pkey=0x0005 "       \
    "membership=limited stage=open guid=set domain=no since=1795223384"

static struct oneib_vf_record sample(uint8_t function, uint32_t vm_id, uint8_t nic_id)
{
    return (struct oneib_vf_record){
        .vf = {.bus = 0x81, .slot = (uint8_t)(function / 8), .function = function % 8},
        .device = "mlx4_0",
        .index = function,
        .port = 1,
        .vm_id = vm_id,
        .nic_id = nic_id,
        .pkey = 5,
    };
}

static struct oneib_vf_record read_line(const char *line)
{
    struct oneib_vf_record record;
    struct oneib_error err = {0};
    if (oneib_vf_record_parse(line, strlen(line), &record, &err) < 0)
        fail_msg("%s", err.text);
    return record;
}

static void assert_line_refused(const char *line, size_t length, const char *why)
{
    struct oneib_vf_record record = {.vm_id = 4711};
    struct oneib_error err = {0};
    if (oneib_vf_record_parse(line, length, &record, &err) == 0)
        fail_msg("this was taken for a record: %s", line);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    if (!strstr(err.text, why))
        fail_msg("\"%s\" does not tell of \"%s\"", err.text, why);
    assert_int_equal(record.vm_id, 4711);
}

/* LINE with one of its fields written otherwise. */
static void assert_field_refused(const char *field, const char *instead, const char *why)
{
    char line[512];
    const char *at = strstr(LINE, field);
    assert_non_null(at);
    snprintf(line, sizeof line, "%.*s%s%s", (int)(at - LINE), LINE, instead, at + strlen(field));
    assert_line_refused(line, strlen(line), why);
}

static void add(struct oneib_vf_table *table, const struct oneib_vf_record *record)
{
    struct oneib_error err = {0};
    if (oneib_vf_table_add(table, record, &err) < 0)
        fail_msg("%s", err.text);
}

static void a_line_says_all_of_a_record(void **state)
{
    (void)state;
    const struct oneib_vf_record record = read_line(LINE);
    assert_int_equal(record.vf.domain, 0);
    assert_int_equal(record.vf.bus, 0x81);
    assert_int_equal(record.vf.slot, 0);
    assert_int_equal(record.vf.function, 1);
    assert_string_equal(record.device, "mlx4_0");
    assert_int_equal(record.index, 0);
    assert_int_equal(record.port, 1);
    assert_int_equal(record.vm_id, 42);
    assert_int_equal(record.nic_id, 1);
    assert_int_equal(record.site, 7);
    assert_int_equal(record.pkey, 5);
    assert_true(record.limited);
    assert_int_equal(record.stage, ONEIB_VF_OPEN);
    assert_int_equal(record.guid, ONEIB_VF_GUID_SET);
    assert_int_equal(record.since, 1795223384);
    assert_int_equal(oneib_vf_record_guid(&record), 0x0200070000002a01);
}

static void a_record_is_written_as_it_is_read(void **state)
{
    (void)state;
    struct oneib_text text = {0};
    const struct oneib_vf_record record = read_line(LINE);
    oneib_vf_record_render(&record, &text);
    assert_string_equal(text.data, LINE);
    oneib_text_clear(&text);
}

static void every_stage_guid_and_membership_comes_back(void **state)
{
    (void)state;
    for (unsigned stage = ONEIB_VF_PREPARING; stage <= ONEIB_VF_RELEASING; stage++)
        for (unsigned guid = ONEIB_VF_GUID_NONE; guid <= ONEIB_VF_GUID_SET; guid++)
            for (int limited = 0; limited < 2; limited++) {
                struct oneib_text text = {0};
                struct oneib_vf_record record = sample(1, 2, 3);
                record.stage = (enum oneib_vf_stage)stage;
                record.guid = (enum oneib_vf_guid)guid;
                record.limited = limited;
                oneib_vf_record_render(&record, &text);
                const struct oneib_vf_record back = read_line(text.data);
                assert_int_equal(back.stage, stage);
                assert_int_equal(back.guid, guid);
                assert_int_equal(back.limited, limited);
                oneib_text_clear(&text);
            }
}

static void the_widest_record_comes_back(void **state)
{
    (void)state;
    struct oneib_text text = {0};
    struct oneib_vf_record record = {
        .vf = {.domain = UINT32_MAX, .bus = 255, .slot = 31, .function = 7},
        .index = UINT16_MAX,
        .port = 254,
        .vm_id = UINT32_MAX,
        .nic_id = 255,
        .site = UINT16_MAX,
        .pkey = ONEIB_PKEY_LAST,
        .since = INT64_MAX,
    };
    memset(record.device, 'x', sizeof record.device - 1);
    oneib_vf_record_render(&record, &text);
    const struct oneib_vf_record back = read_line(text.data);
    assert_int_equal(oneib_pci_compare(&back.vf, &record.vf), 0);
    assert_string_equal(back.device, record.device);
    assert_int_equal(back.vm_id, UINT32_MAX);
    assert_true(back.since == INT64_MAX);
    oneib_text_clear(&text);
}

static void a_field_that_is_wrong_is_named(void **state)
{
    (void)state;
    assert_field_refused("0000:81:00.1", "0000:81:00:1", "\"vf=\"");
    assert_field_refused("mlx4_0", "../mlx4_0", "\"device=\"");
    assert_field_refused("mlx4_0", "", "\"device=\"");
    assert_field_refused("index=0", "index=65536", "\"index=\"");
    assert_field_refused("port=1", "port=0", "\"port=\"");
    assert_field_refused("port=1", "port=255", "\"port=\"");
    assert_field_refused("vm=42", "vm=-1", "\"vm=\"");
    assert_field_refused("vm=42", "vm=4294967296", "\"vm=\"");
    assert_field_refused("nic=1", "nic=256", "\"nic=\"");
    assert_field_refused("site=7", "site=65536", "\"site=\"");
    assert_field_refused("pkey=0x0005", "pkey=0x8005", "\"pkey=\"");
    assert_field_refused("pkey=0x0005", "pkey=0x7fff", "\"pkey=\"");
    assert_field_refused("=limited", "=both", "\"membership=\"");
    assert_field_refused("=open", "=opened", "\"stage=\"");
    assert_field_refused("guid=set", "guid=1", "\"guid=\"");
    assert_field_refused("domain=no", "domain=0", "\"domain=\"");
    assert_field_refused("=1795223384", "=-1", "\"since=\"");
    assert_field_refused("=1795223384", "=9223372036854775808", "\"since=\"");
}

static void a_record_is_written_in_one_way_only(void **state)
{
    (void)state;
    assert_field_refused("0000:81", "00000:81", "as oneib does");
    assert_field_refused("0x0005", "0x5", "as oneib does");
    assert_field_refused("0x0005", "0X0005", "as oneib does");
    assert_field_refused("vm=42", "vm=042", "\"vm=\"");
    assert_field_refused(" port=1", "  port=1", "\"port=\"");
    assert_field_refused("vf=", " vf=", "\"vf=\"");
    assert_field_refused("vm=42 nic=1", "nic=1 vm=42", "\"vm=\"");
    assert_field_refused(" site=7", "", "\"site=\"");
    assert_field_refused("1795223384", "1795223384 ", "follows");
    assert_field_refused("1795223384", "1795223384 x=1", "follows");
}

static void what_is_open_has_a_key(void **state)
{
    (void)state;
    assert_field_refused("0x0005", "0x0000", "to no key");
    const struct oneib_vf_record closed = read_line(
        "vf=0000:81:00.1 device=mlx4_0 index=0 port=1 vm=42 nic=1 network=0 site=0 pkey=0x0000 "
        "membership=full stage=closed guid=none domain=no since=0");
    assert_int_equal(closed.pkey, 0);
}

static void a_line_that_was_cut_anywhere_is_refused(void **state)
{
    (void)state;
    /* A number at the end that lost digits is a number still. */
    for (size_t length = 0; length < strlen(LINE) - strlen("1795223384") + 1; length++)
        assert_line_refused(LINE, length, "");
}

static void a_line_with_nul_bytes_is_refused(void **state)
{
    (void)state;
    char line[] = LINE;
    for (size_t i = 0; i < sizeof line - 1; i++) {
        const char was = line[i];
        line[i] = '\0';
        assert_line_refused(line, sizeof line - 1, "");
        line[i] = was;
    }
}

static void records_are_kept_in_the_order_of_their_addresses(void **state)
{
    (void)state;
    static const uint8_t order[] = {9, 3, 200, 1, 17, 0, 255, 2};
    struct oneib_vf_table table = {0};
    for (size_t i = 0; i < sizeof order; i++) {
        const struct oneib_vf_record record = sample(order[i], order[i], 0);
        add(&table, &record);
    }
    assert_int_equal(table.count, sizeof order);
    for (size_t i = 1; i < table.count; i++)
        assert_true(oneib_pci_compare(&table.items[i - 1].vf, &table.items[i].vf) < 0);
    for (size_t i = 0; i < sizeof order; i++) {
        const struct oneib_vf_record wanted = sample(order[i], order[i], 0);
        assert_int_equal(oneib_vf_table_of_vf(&table, &wanted.vf)->vm_id, order[i]);
    }
    oneib_vf_table_clear(&table);
}

static void a_vf_is_given_once(void **state)
{
    (void)state;
    struct oneib_vf_table table = {0};
    struct oneib_error err = {0};
    const struct oneib_vf_record first = sample(1, 42, 0), second = sample(1, 43, 0);
    add(&table, &first);
    assert_int_equal(oneib_vf_table_add(&table, &second, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_string_equal(err.text, "virtual function 0000:81:00.1 is taken already, by VM 42 NIC 0");
    assert_int_equal(table.count, 1);
    oneib_vf_table_clear(&table);
}

static void a_nic_has_one_vf(void **state)
{
    (void)state;
    struct oneib_vf_table table = {0};
    struct oneib_error err = {0};
    const struct oneib_vf_record first = sample(1, 42, 3), second = sample(2, 42, 3),
                                 other = sample(3, 42, 4);
    add(&table, &first);
    assert_int_equal(oneib_vf_table_add(&table, &second, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_string_equal(err.text, "VM 42 NIC 3 has a virtual function already, 0000:81:00.1");
    add(&table, &other);
    assert_int_equal(oneib_vf_table_of_nic(&table, 42, 4)->vf.function, 3);
    assert_null(oneib_vf_table_of_nic(&table, 43, 4));
    oneib_vf_table_clear(&table);
}

static void a_record_of_the_table_itself_can_be_added_anew(void **state)
{
    (void)state;
    struct oneib_vf_table table = {0};
    for (uint8_t i = 0; i < 8; i++) {
        const struct oneib_vf_record record = sample(i, i, 0);
        add(&table, &record);
    }
    table.items[7].vm_id = 99;
    table.items[7].vf.function = 0;
    table.items[7].vf.slot = 5;
    struct oneib_error err = {0};
    assert_int_equal(oneib_vf_table_add(&table, &table.items[7], &err), -1);
    assert_int_equal(table.count, 8);
    oneib_vf_table_clear(&table);
}

static void what_is_removed_is_gone_and_nothing_else(void **state)
{
    (void)state;
    struct oneib_vf_table table = {0};
    for (uint8_t i = 0; i < 5; i++) {
        const struct oneib_vf_record record = sample(i, i, 0);
        add(&table, &record);
    }
    const struct oneib_vf_record third = sample(2, 2, 0);
    assert_true(oneib_vf_table_remove(&table, &third.vf));
    assert_false(oneib_vf_table_remove(&table, &third.vf));
    assert_null(oneib_vf_table_of_vf(&table, &third.vf));
    assert_int_equal(table.count, 4);
    for (uint8_t i = 0; i < 5; i++)
        assert_true((oneib_vf_table_of_nic(&table, i, 0) != NULL) == (i != 2));
    oneib_vf_table_clear(&table);
}

static void a_full_table_takes_no_more(void **state)
{
    (void)state;
    struct oneib_vf_table table = {0};
    struct oneib_error err = {0};
    struct oneib_vf_record record = sample(0, 0, 0);
    for (uint32_t i = 0; i < ONEIB_VF_RECORDS_MAX; i++) {
        record.vf.domain = i;
        record.vm_id = i;
        add(&table, &record);
    }
    record.vf.domain = record.vm_id = ONEIB_VF_RECORDS_MAX;
    assert_int_equal(oneib_vf_table_add(&table, &record, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_int_equal(table.count, ONEIB_VF_RECORDS_MAX);
    oneib_vf_table_clear(&table);
}

static void a_table_comes_back_from_its_text(void **state)
{
    (void)state;
    struct oneib_vf_table table = {0}, back;
    struct oneib_text text = {0}, again = {0};
    struct oneib_error err = {0};
    for (uint8_t i = 0; i < 63; i++) {
        const struct oneib_vf_record record = sample(i, 1000u + i, i);
        add(&table, &record);
    }
    oneib_vf_table_render(&table, &text);
    assert_int_equal(oneib_vf_table_parse(text.data, text.length, &back, &err), 0);
    oneib_vf_table_render(&back, &again);
    assert_string_equal(again.data, text.data);
    oneib_text_clear(&text);
    oneib_text_clear(&again);
    oneib_vf_table_clear(&table);
    oneib_vf_table_clear(&back);
}

static void assert_table_refused(const char *text, const char *why)
{
    struct oneib_vf_table table;
    struct oneib_error err = {0};
    assert_int_equal(oneib_vf_table_parse(text, strlen(text), &table, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    if (!strstr(err.text, why))
        fail_msg("\"%s\" does not tell of \"%s\"", err.text, why);
    assert_int_equal(table.count, 0);
    assert_null(table.items);
}

static void an_empty_text_is_an_empty_table(void **state)
{
    (void)state;
    struct oneib_vf_table table;
    struct oneib_error err = {0};
    assert_int_equal(oneib_vf_table_parse(NULL, 0, &table, &err), 0);
    assert_int_equal(table.count, 0);
    oneib_vf_table_clear(&table);
}

static void a_damaged_table_is_refused_whole_and_names_the_line(void **state)
{
    (void)state;
    static const char second[] =
        "vf=0000:81:00.2 device=mlx4_0 index=1 port=1 vm=42 nic=2 network=0 site=0 pkey=0x0000 "
        "membership=full stage=closed guid=none domain=no since=0\n";
    char text[1024];
    assert_table_refused("\n", "line 1: ");
    assert_table_refused(LINE, "line 1: it has no end");
    snprintf(text, sizeof text, LINE "\n%.*s", (int)strlen(second) - 1, second);
    assert_table_refused(text, "line 2: it has no end");
    snprintf(text, sizeof text, LINE "\n%s\n", second);
    assert_table_refused(text, "line 3: \"vf=\"");
    snprintf(text, sizeof text, LINE "\n%s" LINE "\n", second);
    assert_table_refused(text, "line 3: virtual function 0000:81:00.1 is taken already");
    snprintf(text, sizeof text, "%svf=0000:81:00.3%s", second, strchr(second, ' '));
    assert_table_refused(text, "line 2: VM 42 NIC 2 has a virtual function already");
}

static void stages_have_names(void **state)
{
    (void)state;
    assert_string_equal(oneib_vf_stage_name(ONEIB_VF_PREPARING), "preparing");
    assert_string_equal(oneib_vf_stage_name(ONEIB_VF_CLOSED), "closed");
    assert_string_equal(oneib_vf_stage_name(ONEIB_VF_OPEN), "open");
    assert_string_equal(oneib_vf_stage_name(ONEIB_VF_RELEASING), "releasing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_says_all_of_a_record),
        cmocka_unit_test(a_record_is_written_as_it_is_read),
        cmocka_unit_test(every_stage_guid_and_membership_comes_back),
        cmocka_unit_test(the_widest_record_comes_back),
        cmocka_unit_test(a_field_that_is_wrong_is_named),
        cmocka_unit_test(a_record_is_written_in_one_way_only),
        cmocka_unit_test(what_is_open_has_a_key),
        cmocka_unit_test(a_line_that_was_cut_anywhere_is_refused),
        cmocka_unit_test(a_line_with_nul_bytes_is_refused),
        cmocka_unit_test(records_are_kept_in_the_order_of_their_addresses),
        cmocka_unit_test(a_vf_is_given_once),
        cmocka_unit_test(a_nic_has_one_vf),
        cmocka_unit_test(a_record_of_the_table_itself_can_be_added_anew),
        cmocka_unit_test(what_is_removed_is_gone_and_nothing_else),
        cmocka_unit_test(a_full_table_takes_no_more),
        cmocka_unit_test(a_table_comes_back_from_its_text),
        cmocka_unit_test(an_empty_text_is_an_empty_table),
        cmocka_unit_test(a_damaged_table_is_refused_whole_and_names_the_line),
        cmocka_unit_test(stages_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
