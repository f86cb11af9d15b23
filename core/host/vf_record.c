// SPDX-License-Identifier: Apache-2.0
#include "host/vf_record.h"
#include "base/array.h"
#include "base/number.h"
#include "base/order.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_SIZE 48 /* the longest is a device's name, 31 */

static const char *const stage_names[] = {
    [ONEIB_VF_PREPARING] = "preparing", [ONEIB_VF_CLOSED] = "closed",
    [ONEIB_VF_OPEN] = "open",           [ONEIB_VF_ENDED] = "ended",
    [ONEIB_VF_RELEASING] = "releasing",
};

static const char *const guid_names[] = {
    [ONEIB_VF_GUID_NONE] = "none",
    [ONEIB_VF_GUID_DEFERRED] = "deferred",
    [ONEIB_VF_GUID_SET] = "set",
};

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

const char *oneib_vf_stage_name(enum oneib_vf_stage stage)
{
    return stage_names[stage];
}

oneib_guid oneib_vf_record_guid(const struct oneib_vf_record *record)
{
    return oneib_guid_encode(record->site, record->vm_id, record->nic_id);
}

bool oneib_vf_record_is_same(const struct oneib_vf_record *a, const struct oneib_vf_record *b)
{
    return oneib_pci_compare(&a->vf, &b->vf) == 0 && strcmp(a->device, b->device) == 0 &&
           a->port == b->port && a->vm_id == b->vm_id && a->nic_id == b->nic_id &&
           a->network_id == b->network_id && a->site == b->site && a->pkey == b->pkey &&
           a->limited == b->limited && a->stage == b->stage && a->guid == b->guid &&
           a->in_domain == b->in_domain && a->index == b->index;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Where the VF's record is, or would be. */
static size_t position_of(const struct oneib_vf_table *table, const struct oneib_pci *vf)
{
    return ONEIB_LOWER_BOUND(i, table->count, oneib_pci_compare(&table->items[i].vf, vf) < 0);
}

struct oneib_vf_record *oneib_vf_table_of_vf(const struct oneib_vf_table *table,
                                             const struct oneib_pci *vf)
{
    const size_t at = position_of(table, vf);
    if (at == table->count || oneib_pci_compare(&table->items[at].vf, vf) != 0)
        return NULL;
    return &table->items[at];
}

struct oneib_vf_record *oneib_vf_table_of_nic(const struct oneib_vf_table *table, uint32_t vm_id,
                                              uint8_t nic_id)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->items[i].vm_id == vm_id && table->items[i].nic_id == nic_id)
            return &table->items[i];
    return NULL;
}

/* REFUSED unless neither the VF nor the NIC is there. */
static int check_new(const struct oneib_vf_table *table, const struct oneib_vf_record *record,
                     struct oneib_error *err)
{
    char vf[ONEIB_PCI_TEXT_SIZE];
    const struct oneib_vf_record *other = oneib_vf_table_of_vf(table, &record->vf);
    oneib_pci_format(&record->vf, vf);
    if (other)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "virtual function %s is taken already, by VM %" PRIu32 " NIC %u", vf,
                          other->vm_id, other->nic_id);

    other = oneib_vf_table_of_nic(table, record->vm_id, record->nic_id);
    if (!other)
        return 0;
    oneib_pci_format(&other->vf, vf);
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "VM %" PRIu32 " NIC %u has a virtual function already, %s", record->vm_id,
                      record->nic_id, vf);
}

int oneib_vf_table_add(struct oneib_vf_table *table, const struct oneib_vf_record *record,
                       struct oneib_error *err)
{
    /* A copy: the record may be one of the table's own, which are about to move. */
    const struct oneib_vf_record added = *record;
    if (check_new(table, &added, err) < 0)
        return -1;
    if (table->count == ONEIB_VF_RECORDS_MAX)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "the table of virtual functions is full: %d records",
                          ONEIB_VF_RECORDS_MAX);
    const size_t place = position_of(table, &added.vf);
    ONEIB_INSERT(table->items, table->count, table->capacity, place);
    table->items[place] = added;
    return 0;
}

bool oneib_vf_table_remove(struct oneib_vf_table *table, const struct oneib_pci *vf)
{
    struct oneib_vf_record *record = oneib_vf_table_of_vf(table, vf);
    if (!record)
        return false;
    ONEIB_REMOVE(table->items, table->count, (size_t)(record - table->items));
    return true;
}

void oneib_vf_table_clear(struct oneib_vf_table *table)
{
    free(table->items);
    *table = (struct oneib_vf_table){0};
}

/* ---- rendering ------------------------------------------------------------------------------- */

void oneib_vf_record_render(const struct oneib_vf_record *record, struct oneib_text *text)
{
    char vf[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&record->vf, vf);
    oneib_text_printf(text, "vf=%s device=%s index=%u port=%u", vf, record->device, record->index,
                      record->port);
    oneib_text_printf(
        text, " vm=%" PRIu32 " nic=%u network=%" PRIu32 " site=%u pkey=0x%04x membership=%s",
        record->vm_id, record->nic_id, record->network_id, record->site, record->pkey,
        oneib_membership_name(record->limited ? ONEIB_LIMITED : ONEIB_FULL));
    oneib_text_printf(text, " stage=%s guid=%s domain=%s since=%" PRId64,
                      stage_names[record->stage], guid_names[record->guid],
                      record->in_domain ? "yes" : "no", record->since);
}

void oneib_vf_table_render(const struct oneib_vf_table *table, struct oneib_text *text)
{
    for (size_t i = 0; i < table->count; i++) {
        oneib_vf_record_render(&table->items[i], text);
        oneib_text_append(text, "\n");
    }
}

/* ---- parsing --------------------------------------------------------------------------------- */

enum field {
    FIELD_VF,
    FIELD_DEVICE,
    FIELD_INDEX,
    FIELD_PORT,
    FIELD_VM,
    FIELD_NIC,
    FIELD_NETWORK,
    FIELD_SITE,
    FIELD_PKEY,
    FIELD_MEMBERSHIP,
    FIELD_STAGE,
    FIELD_GUID,
    FIELD_DOMAIN,
    FIELD_SINCE,
    FIELD_COUNT
};

static const char *const field_names[FIELD_COUNT] = {
    "vf",   "device", "index",      "port",  "vm",   "nic",    "network",
    "site", "pkey",   "membership", "stage", "guid", "domain", "since",
};

struct values {
    char of[FIELD_COUNT][VALUE_SIZE];
};

/* Takes "NAME=VALUE" from the front of *rest, up to a blank or the end. */
static bool take_value(const char **rest, const char *end, const char *name, char *value)
{
    const size_t prefix = strlen(name) + 1;
    const char *at = *rest;
    if ((size_t)(end - at) < prefix || memcmp(at, name, prefix - 1) != 0 || at[prefix - 1] != '=')
        return false;
    at += prefix;

    const char *blank = memchr(at, ' ', (size_t)(end - at));
    const char *value_end = blank ? blank : end;
    const size_t length = (size_t)(value_end - at);
    if (length >= VALUE_SIZE || memchr(at, '\0', length))
        return false;
    memcpy(value, at, length);
    value[length] = '\0';
    *rest = value_end;
    return true;
}

static int fail_field(enum field field, struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_INPUT, "\"%s=\" is missing, misplaced or wrong",
                      field_names[field]);
}

static int split_line(const char *line, size_t length, struct values *values,
                      struct oneib_error *err)
{
    const char *rest = line, *end = line + length;
    for (enum field field = 0; field < FIELD_COUNT; field++) {
        if (field > 0 && (rest == end || *rest++ != ' '))
            return fail_field(field, err);
        if (!take_value(&rest, end, field_names[field], values->of[field]))
            return fail_field(field, err);
    }
    if (rest != end)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "something follows \"since=\"");
    return 0;
}

static int read_number(const struct values *values, enum field field, uint64_t least, uint64_t most,
                       uint64_t *number, struct oneib_error *err)
{
    if (!oneib_parse_decimal(values->of[field], most, number) || *number < least)
        return fail_field(field, err);
    return 0;
}

/* Which of the names it is; -1: none. */
static int find_name(const char *value, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(value, names[i]) == 0)
            return i;
    return -1;
}

static int read_function(const struct values *values, struct oneib_vf_record *record,
                         struct oneib_error *err)
{
    uint64_t index, port;
    const char *device = values->of[FIELD_DEVICE];
    if (!oneib_pci_parse(values->of[FIELD_VF], &record->vf))
        return fail_field(FIELD_VF, err);
    if (!oneib_device_name_is_valid(device, strlen(device)))
        return fail_field(FIELD_DEVICE, err);
    if (read_number(values, FIELD_INDEX, 0, UINT16_MAX, &index, err) < 0 ||
        read_number(values, FIELD_PORT, 1, 254, &port, err) < 0)
        return -1;
    strcpy(record->device, device);
    record->index = (uint16_t)index;
    record->port = (uint8_t)port;
    return 0;
}

static int read_holder(const struct values *values, struct oneib_vf_record *record,
                       struct oneib_error *err)
{
    uint64_t vm, nic, network, site;
    if (read_number(values, FIELD_VM, 0, UINT32_MAX, &vm, err) < 0 ||
        read_number(values, FIELD_NIC, 0, ONEIB_NIC_ID_MAX, &nic, err) < 0 ||
        read_number(values, FIELD_NETWORK, 0, UINT32_MAX, &network, err) < 0 ||
        read_number(values, FIELD_SITE, 0, UINT16_MAX, &site, err) < 0)
        return -1;
    record->vm_id = (uint32_t)vm;
    record->nic_id = (uint8_t)nic;
    record->network_id = (uint32_t)network;
    record->site = (uint16_t)site;
    return 0;
}

static int read_state(const struct values *values, struct oneib_vf_record *record,
                      struct oneib_error *err)
{
    static const char *const memberships[] = {"limited", "full"};
    uint64_t pkey;
    const int full = find_name(values->of[FIELD_MEMBERSHIP], memberships, COUNT(memberships));
    const int stage = find_name(values->of[FIELD_STAGE], stage_names, COUNT(stage_names));
    const int guid = find_name(values->of[FIELD_GUID], guid_names, COUNT(guid_names));
    if (!oneib_parse_hex(values->of[FIELD_PKEY], ONEIB_PKEY_LAST, &pkey))
        return fail_field(FIELD_PKEY, err);
    if (full < 0)
        return fail_field(FIELD_MEMBERSHIP, err);
    if (stage < 0)
        return fail_field(FIELD_STAGE, err);
    if (guid < 0)
        return fail_field(FIELD_GUID, err);
    if (stage == ONEIB_VF_OPEN && pkey == 0)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "it is open, and to no key");
    record->pkey = (oneib_pkey)pkey;
    record->limited = full == 0;
    record->stage = (enum oneib_vf_stage)stage;
    record->guid = (enum oneib_vf_guid)guid;
    return 0;
}

static int read_domain(const struct values *values, struct oneib_vf_record *record,
                       struct oneib_error *err)
{
    static const char *const answers[] = {"no", "yes"};
    const int answer = find_name(values->of[FIELD_DOMAIN], answers, COUNT(answers));
    if (answer < 0)
        return fail_field(FIELD_DOMAIN, err);
    record->in_domain = answer == 1;
    return 0;
}

static int read_since(const struct values *values, struct oneib_vf_record *record,
                      struct oneib_error *err)
{
    uint64_t since;
    if (read_number(values, FIELD_SINCE, 0, INT64_MAX, &since, err) < 0)
        return -1;
    record->since = (int64_t)since;
    return 0;
}

/* There is one way to write a record: what is written in another one was not written by oneib. */
static int check_rendering(const struct oneib_vf_record *record, const char *line, size_t length,
                           struct oneib_error *err)
{
    oneib_autotext struct oneib_text again = {0};
    oneib_vf_record_render(record, &again);
    if (again.length != length || memcmp(again.data, line, length) != 0)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "a number in it is not written as oneib does");
    return 0;
}

int oneib_vf_record_parse(const char *line, size_t length, struct oneib_vf_record *record,
                          struct oneib_error *err)
{
    struct values values;
    struct oneib_vf_record parsed = {0};
    if (split_line(line, length, &values, err) < 0 || read_function(&values, &parsed, err) < 0 ||
        read_holder(&values, &parsed, err) < 0 || read_state(&values, &parsed, err) < 0 ||
        read_since(&values, &parsed, err) < 0 || read_domain(&values, &parsed, err) < 0 ||
        check_rendering(&parsed, line, length, err) < 0)
        return -1;
    *record = parsed;
    return 0;
}

static int add_line(struct oneib_vf_table *table, const char *line, size_t length,
                    struct oneib_error *err)
{
    struct oneib_vf_record record;
    if (oneib_vf_record_parse(line, length, &record, err) < 0)
        return -1;
    if (oneib_vf_table_add(table, &record, err) == 0)
        return 0;
    /* Two lines that contradict each other are damage like any other. */
    if (err->code == ONEIB_ERROR_REFUSED)
        err->code = ONEIB_ERROR_INPUT;
    return -1;
}

static int add_lines(struct oneib_vf_table *table, const char *text, size_t length,
                     struct oneib_error *err)
{
    const char *line = text, *end = text + length;
    for (size_t number = 1; line < end; number++) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        if (!newline)
            return oneib_fail(err, ONEIB_ERROR_INPUT, "line %zu: it has no end", number);
        if (add_line(table, line, (size_t)(newline - line), err) < 0)
            return oneib_wrap(err, "line %zu", number);
        line = newline + 1;
    }
    return 0;
}

int oneib_vf_table_parse(const char *text, size_t length, struct oneib_vf_table *table,
                         struct oneib_error *err)
{
    *table = (struct oneib_vf_table){0};
    if (length == 0)
        return 0;
    if (add_lines(table, text, length, err) < 0) {
        oneib_vf_table_clear(table);
        return -1;
    }
    return 0;
}
