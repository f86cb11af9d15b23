// SPDX-License-Identifier: Apache-2.0
/* UFM's answers: what is taken has each key of the range once and each member once, and needs no
 * request to be what it is; no text brings the readers down. */
#include "sm/ufm_answer.h"
#include "sm/ufm_plan.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

static const struct oneib_ufm_range range = {256, 32766};

static void check_partition(const struct oneib_partition *partition)
{
    for (size_t i = 0; i < partition->member_count; i++) {
        require(partition->members[i].kind == ONEIB_MEMBER_GUID);
        require(partition->members[i].membership != ONEIB_BOTH);
        require(i == 0 || partition->members[i].guid > partition->members[i - 1].guid);
    }
}

static void check_table(const struct oneib_partition_table *table)
{
    struct oneib_ufm_wanted wanted;
    struct oneib_ufm_plan plan;
    for (size_t i = 0; i < table->count; i++) {
        require(table->items[i].pkey >= range.first && table->items[i].pkey <= range.last);
        require(i == 0 || table->items[i].pkey > table->items[i - 1].pkey);
        check_partition(&table->items[i]);
    }
    const struct oneib_ufm_abilities able = {.memberships = true};
    oneib_ufm_want(table, range, able, &wanted);
    require(wanted.refused_count == 0);
    oneib_ufm_plan(&wanted.table, table, &plan);
    for (size_t i = 0; i < plan.count; i++)
        require(plan.items[i].step == ONEIB_UFM_DELETE && plan.items[i].seen->member_count == 0);
    oneib_ufm_plan_clear(&plan);
    oneib_ufm_wanted_clear(&wanted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct oneib_error err;
    struct oneib_partition_table table = {0};
    struct oneib_ufm_default management = {0};
    struct oneib_partition partition;
    struct oneib_ufm_release release;
    struct oneib_ufm_sm_keys keys;
    struct oneib_said_vports said = {0};
    bool is_there;
    if (oneib_ufm_read_all(text, size, range, &table, &management, &err) == 0)
        check_table(&table);
    oneib_partition_table_clear(&table);
    oneib_ufm_default_clear(&management);
    if (oneib_ufm_read_vports(text, size, 200, &said, &err) == 0)
        for (size_t i = 1; i < said.count; i++)
            require(said.items[i].guid >= said.items[i - 1].guid);
    oneib_said_vports_clear(&said);
    if (oneib_ufm_read_one(text, size, 200, 0x31a, &partition, &is_there, &err) == 0)
        check_partition(&partition);
    oneib_ufm_partition_clear(&partition);
    (void)oneib_ufm_read_release(text, size, &release, &err);
    (void)oneib_ufm_read_sm_keys(text, size, &keys, &err);
    return 0;
}
