// SPDX-License-Identifier: Apache-2.0
/* What the parser takes must come back from its own rendering, and differ from itself in nothing.
 */
#include "partitions/partition.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

static void check_taken(const struct oneib_partition_table *table)
{
    struct oneib_text text = {0};
    struct oneib_partition_table back = {0};
    struct oneib_changes changes = {0};
    struct oneib_error err;

    oneib_partitions_render(table, &text);
    require(oneib_partitions_is_ours(text.data, text.length));
    require(oneib_partitions_parse(text.data, text.length, "again", &back, &err) == 0);
    require(oneib_partition_table_equal(table, &back));

    oneib_partition_table_sort(&back);
    require(back.count == table->count);
    oneib_partitions_diff(table, table, &changes);
    require(changes.count == 0);

    oneib_changes_clear(&changes);
    oneib_partition_table_clear(&back);
    oneib_text_clear(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct oneib_partition_table table = {0};
    struct oneib_error err = {0};
    if (oneib_partitions_parse((const char *)data, size, "fuzz", &table, &err) == 0)
        check_taken(&table);
    else
        require(err.code == ONEIB_ERROR_INPUT && err.text[0] != '\0');
    oneib_partition_table_clear(&table);
    return 0;
}
