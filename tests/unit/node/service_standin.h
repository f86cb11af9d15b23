// SPDX-License-Identifier: Apache-2.0
/*
 * A stand-in for oneib-node, seen through its client, which this file defines instead of the
 * library: for one source of a program. It notes what it is asked in the file /calls of the tree, a
 * line each (waits are not noted), keeps the table as the service would, with no adapter behind it,
 * and refuses calls in whose words those of the file /refuse are. It gives no VF to who has none.
 */
#ifndef ONEIB_UNIT_NODE_SERVICE_STANDIN_H
#define ONEIB_UNIT_NODE_SERVICE_STANDIN_H

#include "../hca/tree.h"
#include "base/file.h"
#include "hca/reservations.h"
#include "service/service_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct oneib_client {
    int unused;
};

static bool service_is_silent;
static int given_away = -1; /* this NIC's VF is VM 99's when it is refused; -1: none */

static inline bool standin_refuses(const char *call)
{
    char words[256] = "", *path = tree_path("/refuse");
    FILE *file = fopen(path, "r");
    free(path);
    if (!file)
        return false;
    if (!fgets(words, sizeof words, file))
        words[0] = '\0';
    fclose(file);
    words[strcspn(words, "\n")] = '\0';
    return strstr(call, words) != NULL;
}

static inline int standin_note(const struct oneib_text *call, struct oneib_error *error)
{
    char *path = tree_path("/calls");
    FILE *file = fopen(path, "a");
    free(path);
    assert_non_null(file);
    assert_non_null(call->data);
    fprintf(file, "%s\n", call->data);
    assert_int_equal(fclose(file), 0);
    return standin_refuses(call->data)
               ? oneib_fail(error, ONEIB_ERROR_REFUSED, "the stand-in refuses")
               : 0;
}

static inline void standin_write(const struct oneib_vf_table *of)
{
    struct oneib_text text = {0};
    struct oneib_error error;
    char *path = tree_path("/run/oneib/vfs");
    oneib_vf_table_render(of, &text);
    tree_make_directory("/run/oneib");
    assert_int_equal(
        oneib_file_replace(path, text.data ? text.data : "", text.length, 0644, NULL, NULL, &error),
        0);
    free(path);
    oneib_text_clear(&text);
}

static inline int standin_give(const struct oneib_request *request, struct oneib_vf_record *given,
                               struct oneib_error *error)
{
    struct oneib_vf_table now = {0};
    assert_int_equal(oneib_reservations_read(&now, error), 0);
    struct oneib_vf_record *record =
        oneib_vf_table_of_nic(&now, request->vm_id, (uint8_t)request->nic_id);
    if (!record) {
        oneib_vf_table_clear(&now);
        return oneib_fail(error, ONEIB_ERROR_REFUSED, "the stand-in gives no new VF");
    }
    record->pkey = 5;
    record->network_id = request->network_id;
    record->stage = ONEIB_VF_OPEN;
    record->guid = request->flags & ONEIB_HAVE_DEFER_GUID ? record->guid : ONEIB_VF_GUID_SET;
    *given = *record;
    standin_write(&now);
    oneib_vf_table_clear(&now);
    return 0;
}

int oneib_client_open(struct oneib_client **client, struct oneib_error *error)
{
    static struct oneib_client the_client;
    *client = service_is_silent ? NULL : &the_client;
    return service_is_silent
               ? oneib_fail(error, ONEIB_ERROR_UNREACHABLE, "oneib-node does not answer")
               : 0;
}

void oneib_client_close(struct oneib_client *client)
{
    (void)client;
}

static inline void standin_give_away(const struct oneib_request *request)
{
    struct oneib_error error;
    struct oneib_vf_table now = {0};
    assert_int_equal(oneib_reservations_read(&now, &error), 0);
    oneib_vf_table_of_nic(&now, request->vm_id, (uint8_t)request->nic_id)->vm_id = 99;
    standin_write(&now);
    oneib_vf_table_clear(&now);
}

int oneib_client_have(struct oneib_client *client, const struct oneib_request *request,
                      uint64_t wait_ms, struct oneib_vf_record *given, struct oneib_error *error)
{
    struct oneib_text call = {0};
    (void)client;
    (void)wait_ms;
    oneib_text_printf(&call, "have %u/%d net %u%s", request->vm_id, request->nic_id,
                      request->network_id,
                      request->flags & ONEIB_HAVE_DEFER_GUID ? " deferred" : "");
    const int outcome = standin_note(&call, error);
    oneib_text_clear(&call);
    if (outcome < 0 && request->nic_id == given_away)
        standin_give_away(request);
    return outcome < 0 ? -1 : standin_give(request, given, error);
}

int oneib_client_release(struct oneib_client *client, const struct oneib_request *request,
                         struct oneib_released *released, struct oneib_error *error)
{
    struct oneib_vf_table now = {0};
    struct oneib_text call = {0};
    (void)client;
    *released = (struct oneib_released){0};
    assert_int_equal(request->kind, ONEIB_REQUEST_RELEASE);
    oneib_text_printf(&call, "release %u/%d%s", request->vm_id, request->nic_id,
                      request->flags & ONEIB_RELEASE_NIC_GONE ? " gone" : "");
    const int outcome = standin_note(&call, error);
    oneib_text_clear(&call);
    if (outcome < 0)
        return -1;
    assert_int_equal(oneib_reservations_read(&now, error), 0);
    for (size_t i = now.count; i-- > 0;)
        if (now.items[i].vm_id == request->vm_id &&
            (request->nic_id < 0 || now.items[i].nic_id == request->nic_id)) {
            const struct oneib_pci vf = now.items[i].vf;
            released->freed += oneib_vf_table_remove(&now, &vf);
        }
    standin_write(&now);
    oneib_vf_table_clear(&now);
    return 0;
}

int oneib_client_wait(struct oneib_client *client, uint64_t wait_ms, struct oneib_error *error)
{
    (void)client;
    (void)wait_ms;
    (void)error;
    return 0;
}

/* As many lines as the service was called with these words. */
static inline unsigned service_calls(const char *words)
{
    unsigned count = 0;
    char line[1024];
    char *path = tree_path("/calls");
    FILE *file = fopen(path, "r");
    free(path);
    while (file && fgets(line, sizeof line, file))
        count += strstr(line, words) != NULL;
    if (file)
        fclose(file);
    return count;
}

#endif
