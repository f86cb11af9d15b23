// SPDX-License-Identifier: Apache-2.0
#include "sm/ufm_record.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/order.h"
#include "base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_MAX_READ ((size_t)16 << 20)
#define MODE 0640

int oneib_ufm_record_read(const char *path, struct oneib_partition_table *record, bool *is_there,
                          struct oneib_error *err)
{
    oneib_autofree char *data = NULL;
    size_t length;
    struct oneib_error failure;
    *record = (struct oneib_partition_table){0};
    *is_there = oneib_file_read(path, SIZE_MAX_READ, &data, &length, &failure) == 0;
    if (!*is_there && failure.code == ONEIB_ERROR_NOT_FOUND)
        return 0;
    if (*is_there && oneib_partitions_parse(data, length, path, record, &failure) == 0) {
        oneib_partition_table_sort(record);
        return 0;
    }
    *is_there = false;
    return oneib_fail(err, failure.code,
                      "%s: it is the record of what oneib has put into UFM; where it is lost, move "
                      "it away, look at 'oneib plan' and take UFM's keys over with 'oneib sync "
                      "--force'",
                      failure.text);
}

ONEIB_ORDER_BY(compare_keys, struct oneib_partition, pkey);

/* Sorted tables without 0x7fff. */
static const struct oneib_partition *find(const struct oneib_partition_table *table,
                                          oneib_pkey pkey)
{
    const struct oneib_partition wanted = {.pkey = pkey};
    return ONEIB_FIND(&wanted, table->items, table->count, compare_keys);
}

void oneib_ufm_record_name(const struct oneib_partition_table *record,
                           struct oneib_partition_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        struct oneib_partition *partition = &table->items[i];
        const struct oneib_partition *known = find(record, partition->pkey);
        if (known)
            memcpy(partition->name, known->name, sizeof partition->name);
        else
            snprintf(partition->name, sizeof partition->name, "ufm-0x%04x", partition->pkey);
    }
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
    for (size_t i = 0; i < from->count; i++) {
        const struct oneib_partition *partition = &from->items[i];
        if (except && (find(except, partition->pkey) || has_name(except, partition->name)))
            continue;
        struct oneib_partition *head = oneib_partition_table_add(to);
        head->pkey = partition->pkey;
        memcpy(head->name, partition->name, sizeof head->name);
    }
}

static bool is_there_already(const char *path, const struct oneib_text *text)
{
    oneib_autofree char *data = NULL;
    size_t length;
    struct oneib_error ignored;
    return oneib_file_read(path, SIZE_MAX_READ, &data, &length, &ignored) == 0 &&
           length == text->length && memcmp(data, text->data, length) == 0;
}

static int write_heads(const char *path, struct oneib_partition_table *heads,
                       struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    oneib_partition_table_sort(heads);
    oneib_partitions_render(heads, &text);
    return is_there_already(path, &text)
               ? 0
               : oneib_file_replace(path, text.data, text.length, MODE, NULL, NULL, err);
}

int oneib_ufm_record_write(const char *path, const struct oneib_partition_table *first,
                           const struct oneib_partition_table *second, struct oneib_error *err)
{
    struct oneib_partition_table heads = {0};
    add_heads(first, NULL, &heads);
    add_heads(second, first, &heads);
    const int status = write_heads(path, &heads, err);
    oneib_partition_table_clear(&heads);
    return status < 0 ? oneib_wrap(err, "noting what is put into UFM") : 0;
}
