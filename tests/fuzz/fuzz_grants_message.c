// SPDX-License-Identifier: Apache-2.0
/* A message that is taken is packed again exactly as it came: nothing in it is without a meaning,
 * and nothing that it says is beyond what it may say. */
#include "grants/grants_message.h"
#include "grants/seal.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct oneib_grants_message message;
static uint8_t packed[ONEIB_GRANTS_MESSAGE_MAX];

static void require(bool held)
{
    if (!held)
        abort();
}

static void check_grants(const struct oneib_grant_list *grants)
{
    require(grants->count <= ONEIB_GRANTS_MAX);
    for (size_t i = 0; i < grants->count; i++) {
        const struct oneib_grant *grant = &grants->items[i];
        require(grant->pkey >= ONEIB_PKEY_FIRST && grant->pkey <= ONEIB_PKEY_LAST);
        require(oneib_device_name_is_valid(grant->device, strlen(grant->device)));
        require(oneib_grant_list_find(grants, grant->vm_id, grant->nic_id) == grant);
    }
}

static void check_report(const struct oneib_report_message *report)
{
    struct oneib_vf_table table = {0};
    struct oneib_error err = {0};
    require(report->count <= ONEIB_GRANTS_MAX);
    for (size_t i = 0; i < report->count; i++) {
        require(oneib_vf_stage_name(report->records[i].stage) != NULL);
        require(oneib_vf_table_add(&table, &report->records[i], &err) == 0);
    }
    oneib_vf_table_clear(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct oneib_error err = {0};
    uint8_t *exact = malloc(size + (size == 0));
    require(exact != NULL);
    if (size > 0)
        memcpy(exact, data, size);
    if (oneib_grants_unpack(exact, size, &message, &err) < 0) {
        require(err.code == ONEIB_ERROR_INPUT && err.text[0] != '\0');
    } else {
        require(size <= ONEIB_GRANTS_MESSAGE_MAX - ONEIB_SEAL_SIZE);
        require(oneib_grants_pack(&message, packed) == size && memcmp(packed, exact, size) == 0);
        if (message.kind == ONEIB_GRANTS_LIST)
            check_grants(&message.list.grants);
        if (message.kind == ONEIB_GRANTS_REPORT)
            check_report(&message.report);
    }
    free(exact);
    return 0;
}
