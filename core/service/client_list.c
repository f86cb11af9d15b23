// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"
#include "base/memory.h"
#include "service/client_internal.h"
#include <stdlib.h>
#include <string.h>

void oneib_service_list_clear(struct oneib_service_list *list)
{
    oneib_vf_table_clear(&list->table);
    oneib_domains_clear(&list->domains);
    free(list->grants);
    *list = (struct oneib_service_list){0};
}

static void begin_list(void *context)
{
    oneib_service_list_clear(context);
}

/* ---- domains --------------------------------------------------------------------------------- */

/* A domain's entries come one after the other. NULL: this is the first. */
static struct oneib_domain *find_domain(struct oneib_domains *domains,
                                        const struct oneib_domain_entry *entry)
{
    if (domains->count == 0)
        return NULL;
    struct oneib_domain *last = &domains->items[domains->count - 1];
    return last->vm_id == entry->vm_id && last->running == entry->running &&
                   strcmp(last->name, entry->name) == 0
               ? last
               : NULL;
}

static struct oneib_domain *add_domain(struct oneib_domains *domains,
                                       const struct oneib_domain_entry *entry)
{
    struct oneib_domain *domain = ONEIB_ADD(domains->items, domains->count, domains->capacity);
    *domain =
        (struct oneib_domain){oneib_strdup(entry->name), entry->vm_id, entry->running, NULL, 0};
    return domain;
}

static void add_device(struct oneib_domain *domain, const struct oneib_pci *vf)
{
    domain->devices =
        oneib_realloc(domain->devices, domain->device_count + 1, sizeof *domain->devices);
    domain->devices[domain->device_count++] = *vf;
}

static void take_domain(struct oneib_domains *domains, const struct oneib_domain_entry *entry)
{
    struct oneib_domain *domain = find_domain(domains, entry);
    if (!domain)
        domain = add_domain(domains, entry);
    if (entry->has_vf)
        add_device(domain, &entry->vf);
}

/* ---- the list -------------------------------------------------------------------------------- */

static int take_record(struct oneib_vf_table *table, const struct oneib_vf_record *record,
                       struct oneib_error *err)
{
    if (oneib_vf_table_add(table, record, err) == 0)
        return 0;
    if (err->code == ONEIB_ERROR_REFUSED)
        err->code = ONEIB_ERROR_PROTOCOL;
    return oneib_wrap(err, "reading what oneib-node has");
}

/* What comes after ONEIB_GRANTS_MAX of them is no list of oneibd's. */
static int take_grant(struct oneib_service_list *list, const struct oneib_grant *grant,
                      struct oneib_error *err)
{
    if (!list->grants)
        list->grants = oneib_alloc(1, sizeof *list->grants);
    if (list->grants->count == ONEIB_GRANTS_MAX)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                          "reading what oneib-node has: more than %d grants", ONEIB_GRANTS_MAX);
    list->grants->items[list->grants->count++] = *grant;
    return 0;
}

static int take_entry(void *context, const struct oneib_answer *answer, struct oneib_error *err)
{
    struct oneib_service_list *list = context;
    switch (answer->kind) {
    case ONEIB_ANSWER_RECORD:
        return take_record(&list->table, &answer->record, err);
    case ONEIB_ANSWER_DOMAIN:
        take_domain(&list->domains, &answer->domain);
        return 0;
    case ONEIB_ANSWER_GRANT:
        return take_grant(list, &answer->grant, err);
    case ONEIB_ANSWER_FOLLOWS:
        list->follows = answer->follows;
        oneib_answer_error(answer, &list->stale);
        return 0;
    case ONEIB_ANSWER_FAILED:
        oneib_answer_error(answer, err);
        return -1;
    case ONEIB_ANSWER_END:
        oneib_answer_error(answer, &list->why);
        list->domains_known = list->why.code == ONEIB_ERROR_NONE;
        return 0;
    default:
        return oneib_client_unexpected(answer, err);
    }
}

/* Whoever may not do everything may look. */
static int open_for_looking(struct oneib_client **client, struct oneib_error *err)
{
    struct oneib_error denied;
    const enum oneib_connection_outcome outcome =
        oneib_client_open_at(ONEIB_SERVICE_SOCKET, client, &denied);
    if (outcome == ONEIB_CONNECTION_FINE)
        return 0;
    if (outcome == ONEIB_CONNECTION_DENIED)
        return oneib_client_open_at(ONEIB_SERVICE_READ_SOCKET, client, err) == ONEIB_CONNECTION_FINE
                   ? 0
                   : -1;
    *err = denied;
    return -1;
}

int oneib_client_list(struct oneib_service_list *list, struct oneib_error *err)
{
    struct oneib_client *client;
    const struct oneib_request request = oneib_request_new(ONEIB_REQUEST_LIST);
    const struct oneib_taker taker = {begin_list, take_entry, list};
    *list = (struct oneib_service_list){0};
    if (open_for_looking(&client, err) < 0)
        return -1;
    const int outcome = oneib_client_ask(client, &request, ONEIB_CLIENT_PATIENCE_MS, &taker, err);
    oneib_client_close(client);
    if (outcome < 0)
        oneib_service_list_clear(list);
    return outcome;
}
