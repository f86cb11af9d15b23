// SPDX-License-Identifier: Apache-2.0
#include "partitions/qos_policy.h"
#include <string.h>

void oneib_qos_policy_render(const struct oneib_partition_table *table, struct oneib_text *text)
{
    oneib_text_append(text, ONEIB_QOS_POLICY_MARK "\nqos-ulps\n    default : 0\n");
    for (size_t i = 0; i < table->count; i++)
        if (table->items[i].has_sl)
            oneib_text_printf(text, "    any, pkey 0x%04x : %u\n", table->items[i].pkey,
                              table->items[i].sl);
    oneib_text_append(text, "end-qos-ulps\n");
}

bool oneib_qos_policy_is_ours(const char *data, size_t length)
{
    const size_t mark = sizeof ONEIB_QOS_POLICY_MARK - 1;
    return length > mark && memcmp(data, ONEIB_QOS_POLICY_MARK, mark) == 0 && data[mark] == '\n';
}
