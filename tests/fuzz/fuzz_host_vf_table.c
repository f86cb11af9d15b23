// SPDX-License-Identifier: Apache-2.0
/* A table that is taken is written exactly as it was, sorted, and has no VF and no NIC twice. */
#include "host/vf_record.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

static void check_order(const struct oneib_vf_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct oneib_vf_record *record = &table->items[i];
        require(i == 0 || oneib_pci_compare(&table->items[i - 1].vf, &record->vf) < 0);
        require(oneib_vf_table_of_vf(table, &record->vf) == record);
        require(oneib_vf_table_of_nic(table, record->vm_id, record->nic_id) == record);
        require(oneib_device_name_is_valid(record->device, strlen(record->device)));
        require(record->port >= 1 && record->port <= 254 && record->pkey <= ONEIB_PKEY_LAST);
        require(record->stage != ONEIB_VF_OPEN || record->pkey != 0);
    }
}

/* The lines may have been in another order: sorted once, they stay as they are. */
static void check_taken(const struct oneib_vf_table *table, size_t size)
{
    struct oneib_text text = {0}, again = {0};
    struct oneib_vf_table back;
    struct oneib_error err;
    check_order(table);
    oneib_vf_table_render(table, &text);
    require(text.length == size);
    require(oneib_vf_table_parse(text.data, text.length, &back, &err) == 0);
    require(back.count == table->count);
    oneib_vf_table_render(&back, &again);
    require(again.length == size);
    require(size == 0 || memcmp(again.data, text.data, size) == 0);
    oneib_vf_table_clear(&back);
    oneib_text_clear(&text);
    oneib_text_clear(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct oneib_vf_table table;
    struct oneib_error err = {0};
    if (oneib_vf_table_parse((const char *)data, size, &table, &err) == 0)
        check_taken(&table, size);
    else
        require(err.code == ONEIB_ERROR_INPUT && err.text[0] != '\0' && table.count == 0);
    oneib_vf_table_clear(&table);
    return 0;
}
