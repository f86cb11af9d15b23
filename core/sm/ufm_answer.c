// SPDX-License-Identifier: Apache-2.0
#include "sm/ufm_answer.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/order.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define GUID_DIGITS 16

/* NULL: not JSON, or a name twice in one object, of which nobody knows which one counts. What
 * stands there is not repeated: UFM's keys are in some answers. */
static json_t *load(const char *data, size_t length, struct oneib_error *err)
{
    json_error_t why;
    json_t *document = json_loadb(data, length, JSON_REJECT_DUPLICATES, &why);
    if (!document)
        oneib_fail(err, ONEIB_ERROR_PROTOCOL, "UFM's answer is not JSON (byte %d of %zu)",
                   why.position, length);
    return document;
}

/* "0x31a", "0x031a"; never 0, which is no key. */
static bool parse_key(const char *text, oneib_pkey *pkey)
{
    uint64_t value;
    if (!oneib_parse_hex(text, ONEIB_PKEY_DEFAULT, &value) || value == 0)
        return false;
    *pkey = (oneib_pkey)value;
    return true;
}

/* 16 hexadecimal digits, with "0x" before them or without. */
static bool parse_guid(const json_t *value, oneib_guid *guid)
{
    const char *text = json_string_value(value);
    char whole[2 + GUID_DIGITS + 1] = "0x";
    if (!text)
        return false;
    if (strncmp(text, "0x", 2) == 0)
        text += 2;
    if (json_string_length(value) > sizeof whole - 1 || strlen(text) != GUID_DIGITS)
        return false;
    memcpy(whole + 2, text, GUID_DIGITS + 1);
    return oneib_guid_parse(whole, guid);
}

static bool parse_membership(const json_t *value, enum oneib_membership *membership)
{
    const char *text = json_string_value(value);
    if (!text)
        return false;
    *membership = strcmp(text, "full") == 0 ? ONEIB_FULL : ONEIB_LIMITED;
    return *membership == ONEIB_FULL || strcmp(text, "limited") == 0;
}

/* ---- one key --------------------------------------------------------------------------------- */

static int fail_key(oneib_pkey pkey, const char *what, struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "UFM's answer about P_Key 0x%04x: %s", pkey, what);
}

static int add_member(const json_t *item, struct oneib_partition *partition,
                      struct oneib_error *err)
{
    struct oneib_member member = {.kind = ONEIB_MEMBER_GUID};
    enum oneib_membership membership;
    const json_t *index0 = json_object_get(item, "index0");
    if (!parse_guid(json_object_get(item, "guid"), &member.guid))
        return fail_key(partition->pkey, "a member without a GUID of 16 digits", err);
    if (!parse_membership(json_object_get(item, "membership"), &membership))
        return fail_key(partition->pkey, "a member that is neither \"full\" nor \"limited\"", err);
    if (!json_is_boolean(index0))
        return fail_key(partition->pkey, "a member without index0", err);
    if (partition->member_count > 0 && json_is_true(index0) != partition->indx0)
        return fail_key(partition->pkey,
                        "its members differ in index0: set them alike in UFM, or delete the key",
                        err);
    partition->indx0 = json_is_true(index0);
    member.membership = (uint8_t)membership;
    oneib_partition_add_member(partition, member);
    return 0;
}

ONEIB_ORDER_BY(compare_guids, struct oneib_member, guid);

static int sort_members(struct oneib_partition *partition, struct oneib_error *err)
{
    ONEIB_SORT(partition->members, partition->member_count, compare_guids);
    for (size_t i = 1; i < partition->member_count; i++)
        if (partition->members[i].guid == partition->members[i - 1].guid)
            return fail_key(partition->pkey, "a GUID twice", err);
    return 0;
}

/* {"partition": ..., "ip_over_ib": ..., "guids": [...]} */
static int read_key(const json_t *object, oneib_pkey pkey, struct oneib_partition *partition,
                    struct oneib_error *err)
{
    const json_t *guids = json_object_get(object, "guids");
    const json_t *ipoib = json_object_get(object, "ip_over_ib");
    partition->pkey = pkey;
    if (!json_is_array(guids) || !json_is_boolean(ipoib))
        return fail_key(pkey, "no list of guids, or no ip_over_ib", err);
    partition->ipoib = json_is_true(ipoib);
    for (size_t i = 0; i < json_array_size(guids); i++)
        if (add_member(json_array_get(guids, i), partition, err) < 0)
            return -1;
    return sort_members(partition, err);
}

/* The object of a key: the document itself, what it has under that key, or its only item. */
static const json_t *find_key(json_t *document, oneib_pkey pkey)
{
    const char *name;
    json_t *value;
    oneib_pkey named;
    if (json_is_array(document))
        return json_array_size(document) == 1 ? find_key(json_array_get(document, 0), pkey) : NULL;
    if (json_object_get(document, "guids"))
        return document;
    if (json_object_size(document) != 1)
        return NULL;
    json_object_foreach(document, name,
                        value) if (parse_key(name, &named) && named == pkey) return value;
    return NULL;
}

/* A flat object may say which key it is about: another one is no answer. */
static bool is_about(const json_t *object, oneib_pkey pkey)
{
    oneib_pkey named;
    const json_t *value = json_object_get(object, "pkey");
    return !value ||
           (json_is_string(value) && parse_key(json_string_value(value), &named) && named == pkey);
}

static bool is_empty(const json_t *document)
{
    return (json_is_object(document) && json_object_size(document) == 0) ||
           (json_is_array(document) && json_array_size(document) == 0);
}

void oneib_ufm_partition_clear(struct oneib_partition *partition)
{
    free(partition->members);
    *partition = (struct oneib_partition){0};
}

int oneib_ufm_read_one(const char *data, size_t length, long status, oneib_pkey pkey,
                       struct oneib_partition *partition, bool *is_there, struct oneib_error *err)
{
    *partition = (struct oneib_partition){0};
    *is_there = false;
    if (status == 404)
        return 0;
    if (status != 200)
        return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "UFM answers %ld about P_Key 0x%04x",
                          status, pkey);
    json_auto_t *document = load(data, length, err);
    if (!document)
        return -1;
    if (is_empty(document))
        return 0;
    const json_t *object = find_key(document, pkey);
    if (!object || !is_about(object, pkey))
        return fail_key(pkey, "it is about something else, or of an unknown shape", err);
    if (read_key(object, pkey, partition, err) < 0) {
        oneib_ufm_partition_clear(partition);
        return -1;
    }
    *is_there = true;
    return 0;
}

/* ---- all keys -------------------------------------------------------------------------------- */

void oneib_ufm_default_clear(struct oneib_ufm_default *management)
{
    free(management->guids);
    *management = (struct oneib_ufm_default){0};
}

static void take_full(const struct oneib_partition *partition, struct oneib_ufm_default *management)
{
    management->guids = oneib_alloc(partition->member_count + 1, sizeof *management->guids);
    management->is_known = true;
    for (size_t i = 0; i < partition->member_count; i++)
        if (partition->members[i].membership == ONEIB_FULL)
            management->guids[management->full++] = partition->members[i].guid;
}

/* What cannot be read of it is not known: that is no failure of the whole. */
static void read_management(const json_t *object, struct oneib_ufm_default *management)
{
    struct oneib_error ignored;
    oneib_auto(oneib_ufm_partition_clear) struct oneib_partition partition = {0};
    oneib_ufm_default_clear(management);
    if (read_key(object, ONEIB_PKEY_DEFAULT, &partition, &ignored) == 0)
        take_full(&partition, management);
}

static int read_keys(json_t *document, struct oneib_ufm_range range,
                     struct oneib_partition_table *table, struct oneib_ufm_default *management,
                     struct oneib_error *err)
{
    const char *name;
    json_t *value;
    oneib_pkey pkey;
    json_object_foreach(document, name, value)
    {
        if (!parse_key(name, &pkey))
            return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                              "UFM's answer has an invalid P_Key of %zu characters", strlen(name));
        if (pkey == ONEIB_PKEY_DEFAULT)
            read_management(value, management);
        if (pkey < range.first || pkey > range.last)
            continue;
        struct oneib_partition *partition = oneib_partition_table_add(table);
        if (read_key(value, pkey, partition, err) < 0)
            return -1;
    }
    oneib_partition_table_sort(table);
    for (size_t i = 1; i < table->count; i++)
        if (table->items[i].pkey == table->items[i - 1].pkey)
            return fail_key(table->items[i].pkey, "it is there twice", err);
    return 0;
}

int oneib_ufm_read_all(const char *data, size_t length, struct oneib_ufm_range range,
                       struct oneib_partition_table *table, struct oneib_ufm_default *management,
                       struct oneib_error *err)
{
    struct oneib_partition_table read = {0};
    struct oneib_ufm_default seen = {0};
    json_auto_t *document = load(data, length, err);
    if (!document)
        return -1;
    if (!json_is_object(document))
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "UFM's answer about all P_Keys is no object");
    if (read_keys(document, range, &read, &seen, err) < 0) {
        oneib_partition_table_clear(&read);
        oneib_ufm_default_clear(&seen);
        return -1;
    }
    oneib_partition_table_clear(table);
    oneib_ufm_default_clear(management);
    *table = read;
    *management = seen;
    return 0;
}

/* ---- what else is asked ---------------------------------------------------------------------- */

int oneib_ufm_read_release(const char *data, size_t length, struct oneib_ufm_release *release,
                           struct oneib_error *err)
{
    json_auto_t *document = load(data, length, err);
    if (!document)
        return -1;
    const char *text = json_string_value(json_object_get(document, "ufm_release_version"));
    if (text && oneib_ufm_release_parse(text, release))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "UFM does not say which release it is");
}

int oneib_ufm_read_sm_keys(const char *data, size_t length, struct oneib_ufm_sm_keys *keys,
                           struct oneib_error *err)
{
    uint64_t sa_key;
    json_auto_t *document = load(data, length, err);
    if (!document)
        return -1;
    const char *text = json_string_value(json_object_get(document, "sa_key"));
    const json_t *per_port = json_object_get(document, "m_key_per_port");
    if (!text || !oneib_parse_hex(text, UINT64_MAX, &sa_key))
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "UFM does not say what its sa_key is");
    *keys = (struct oneib_ufm_sm_keys){.sa_key_is_known_to_all = sa_key <= 1,
                                       .m_key_per_port = json_is_true(per_port)};
    return 0;
}

/* ---- virtual ports --------------------------------------------------------------------------- */

static void add_vport(const json_t *item, struct oneib_said_vports *said)
{
    struct oneib_said_vport vport = {0};
    const char *state = json_string_value(json_object_get(item, "virtual_port_state"));
    if (!parse_guid(json_object_get(item, "virtual_port_guid"), &vport.guid)) {
        said->not_understood++;
        return;
    }
    vport.is_active = state && strcasecmp(state, "active") == 0;
    if (!parse_guid(json_object_get(item, "port_guid"), &vport.port_guid))
        vport.port_guid = 0;
    ONEIB_APPEND(said->items, said->count, said->capacity, vport);
}

ONEIB_ORDER_BY(compare_vports, struct oneib_said_vport, guid);

static void read_vport_items(json_t *document, struct oneib_said_vports *said)
{
    const char *name;
    json_t *value;
    for (size_t i = 0; i < json_array_size(document); i++)
        add_vport(json_array_get(document, i), said);
    json_object_foreach(document, name, value) add_vport(value, said);
    ONEIB_SORT(said->items, said->count, compare_vports);
}

static int read_vports(const char *data, size_t length, struct oneib_said_vports *said,
                       struct oneib_error *err)
{
    json_auto_t *document = load(data, length, err);
    if (!document)
        return -1;
    if (!json_is_array(document) && !json_is_object(document))
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "UFM's answer about virtual ports is no list");
    read_vport_items(document, said);
    return 0;
}

int oneib_ufm_read_vports(const char *data, size_t length, long status,
                          struct oneib_said_vports *said, struct oneib_error *err)
{
    struct oneib_said_vports read = {.is_known = status == 200};
    if (status != 200 && status != 404)
        return oneib_fail(err, ONEIB_ERROR_UNREACHABLE,
                          "UFM answers %ld when it is asked for its virtual ports", status);
    if (read.is_known && read_vports(data, length, &read, err) < 0) {
        oneib_said_vports_clear(&read);
        return -1;
    }
    oneib_said_vports_clear(said);
    *said = read;
    return 0;
}
