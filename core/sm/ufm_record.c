// SPDX-License-Identifier: Apache-2.0
#include "sm/ufm_record.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/order.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>

#define SIZE_MAX_READ ((size_t)16 << 20)
#define MODE 0640

void oneib_ufm_record_clear(struct oneib_ufm_record *record)
{
    oneib_partition_table_clear(&record->heads);
    *record = (struct oneib_ufm_record){0};
}

/* ---- reading --------------------------------------------------------------------------------- */

static int parse(struct oneib_ufm_record *record, const char *path, struct oneib_error *err)
{
    oneib_autofree char *data = NULL;
    size_t length;
    record->is_there = oneib_file_read(path, SIZE_MAX_READ, &data, &length, err) == 0;
    if (!record->is_there)
        return err->code == ONEIB_ERROR_NOT_FOUND ? 0 : -1;
    if (oneib_partitions_parse(data, length, path, &record->heads, err) < 0)
        return -1;
    oneib_partition_table_sort(&record->heads);
    return 0;
}

static bool is_as_it_was(const struct oneib_ufm_record *record, const char *path)
{
    const struct oneib_stamp now = oneib_stamp_of(path);
    return record->is_known && oneib_stamp_equal(&now, &record->stamp);
}

/* The stamp first: what is written meanwhile is then read once too often. */
int oneib_ufm_record_read(struct oneib_ufm_record *record, const char *path,
                          struct oneib_error *err)
{
    struct oneib_error failure = {0};
    if (is_as_it_was(record, path))
        return 0;
    oneib_ufm_record_clear(record);
    record->stamp = oneib_stamp_of(path);
    if (parse(record, path, &failure) == 0) {
        record->is_known = true;
        return 0;
    }
    oneib_ufm_record_clear(record);
    return oneib_fail(err, failure.code,
                      "%s: it is the record of what oneib has put into UFM; where it is lost, move "
                      "it away, look at 'oneib plan' and take UFM's keys over with 'oneib sync "
                      "--force'",
                      failure.text);
}

void oneib_ufm_record_name(const struct oneib_ufm_record *record,
                           struct oneib_partition_table *table)
{
    const struct oneib_partition_table *heads = &record->heads;
    size_t known = 0;
    for (size_t i = 0; i < table->count; i++) {
        struct oneib_partition *partition = &table->items[i];
        while (known < heads->count && heads->items[known].pkey < partition->pkey)
            known++;
        if (known < heads->count && heads->items[known].pkey == partition->pkey)
            memcpy(partition->name, heads->items[known].name, sizeof partition->name);
        else
            snprintf(partition->name, sizeof partition->name, "ufm-0x%04x", partition->pkey);
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

ONEIB_ORDER_BY(compare_keys, struct oneib_partition, pkey);

static bool has_key(const struct oneib_partition_table *table, oneib_pkey pkey)
{
    const struct oneib_partition wanted = {.pkey = pkey};
    return ONEIB_FIND(&wanted, table->items, table->count, compare_keys) != NULL;
}

static bool has_name(const struct oneib_partition_table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->items[i].name, name) == 0)
            return true;
    return false;
}

static void add_heads(const struct oneib_partition_table *from,
                      const struct oneib_partition_table *except, struct oneib_partition_table *to)
{
    for (size_t i = 0; from && i < from->count; i++) {
        const struct oneib_partition *partition = &from->items[i];
        if (except && (has_key(except, partition->pkey) || has_name(except, partition->name)))
            continue;
        struct oneib_partition *head = oneib_partition_table_add(to);
        head->pkey = partition->pkey;
        memcpy(head->name, partition->name, sizeof head->name);
    }
}

/* *heads is empty then, or the caller's still. */
static int write_heads(struct oneib_ufm_record *record, const char *path,
                       struct oneib_partition_table *heads, struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    oneib_partitions_render(heads, &text);
    oneib_ufm_record_clear(record);
    if (oneib_file_replace(path, text.data, text.length, MODE, NULL, NULL, err) < 0)
        return oneib_wrap(err, "recording what is put into UFM");
    *record = (struct oneib_ufm_record){
        .is_known = true, .is_there = true, .stamp = oneib_stamp_of(path), .heads = *heads};
    *heads = (struct oneib_partition_table){0};
    return 0;
}

int oneib_ufm_record_write(struct oneib_ufm_record *record, const char *path,
                           const struct oneib_partition_table *first,
                           const struct oneib_partition_table *second, struct oneib_error *err)
{
    oneib_autopartitions struct oneib_partition_table heads = {0};
    add_heads(first, NULL, &heads);
    add_heads(second, first, &heads);
    oneib_partition_table_sort(&heads);
    const bool is_there =
        is_as_it_was(record, path) && oneib_partition_table_equal(&heads, &record->heads);
    return is_there ? 0 : write_heads(record, path, &heads, err);
}
