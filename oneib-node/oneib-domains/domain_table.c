// SPDX-License-Identifier: Apache-2.0
#include "oneib-node/oneib-domains/domain_table.h"
#include "base/array.h"
#include "oneib-node/oneib-domains/process.h"
#include "oneib-node/oneib-domains/tell.h"
#include "vf/domain_list.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* ---- what there is --------------------------------------------------------------------------- */

/* table->count: there is none. */
static size_t find(const struct oneib_domain_table *table, const unsigned char *uuid)
{
    size_t at = 0;
    while (at < table->count && memcmp(table->items[at].uuid, uuid, VIR_UUID_BUFLEN) != 0)
        at++;
    return at;
}

static void remove_at(struct oneib_domain_table *table, size_t at)
{
    oneib_domain_state_clear(&table->items[at]);
    table->items[at] = table->items[--table->count];
}

/* The state is the table's from here on. */
static void add(struct oneib_domain_table *table, struct oneib_domain_state *state)
{
    ONEIB_APPEND(table->items, table->count, table->capacity, *state);
}

/* Likewise. */
static void replace_at(struct oneib_domain_table *table, size_t at,
                       struct oneib_domain_state *state)
{
    oneib_domain_state_clear(&table->items[at]);
    table->items[at] = *state;
}

size_t oneib_domain_table_running(const struct oneib_domain_table *table)
{
    size_t running = 0;
    for (size_t i = 0; i < table->count; i++)
        running += table->items[i].running;
    return running;
}

void oneib_domain_table_clear(struct oneib_domain_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        oneib_domain_state_clear(&table->items[i]);
    free(table->items);
    *table = (struct oneib_domain_table){.ends = table->ends};
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Frees what libvirt has listed. */
static void add_listed(virDomainPtr *domains, size_t count, struct oneib_domain_table *table)
{
    for (size_t i = 0; i < count; i++) {
        struct oneib_domain_state state;
        if (oneib_libvirt_read(domains[i], &state) == ONEIB_DOMAIN_FOUND)
            add(table, &state);
        virDomainFree(domains[i]);
    }
    free(domains);
}

/* What is known of processes is known of all that still run. */
static void inherit_all(struct oneib_domain_table *table, struct oneib_domain_table *older)
{
    for (size_t i = 0; i < older->count; i++) {
        const size_t at = find(table, older->items[i].uuid);
        if (at < table->count)
            oneib_domain_state_inherit(&table->items[at], &older->items[i]);
    }
}

int oneib_domain_table_fill(virConnectPtr libvirt, struct oneib_domain_table *table,
                            struct oneib_error *err)
{
    virDomainPtr *domains = NULL;
    const int count = virConnectListAllDomains(libvirt, &domains, 0);
    if (count < 0)
        return oneib_libvirt_fail(err, "listing domains");
    struct oneib_domain_table older = *table;
    *table = (struct oneib_domain_table){.ends = older.ends};
    add_listed(domains, (size_t)count, table);
    inherit_all(table, &older);
    oneib_domain_table_clear(&older);
    return 0;
}

void oneib_domain_table_update(virConnectPtr libvirt, const unsigned char uuid[VIR_UUID_BUFLEN],
                               struct oneib_domain_table *table, bool *changed)
{
    struct oneib_domain_state state;
    const size_t at = find(table, uuid);
    const bool was_there = at < table->count;
    const bool is_there = oneib_libvirt_read_uuid(libvirt, uuid, &state) == ONEIB_DOMAIN_FOUND;
    if (is_there && was_there)
        oneib_domain_state_inherit(&state, &table->items[at]);
    if (was_there != is_there ||
        (is_there && !oneib_domain_states_are_equal(&table->items[at], &state)))
        *changed = true;
    if (is_there && !was_there) {
        add(table, &state);
        return;
    }
    if (is_there)
        replace_at(table, at, &state);
    else if (was_there)
        remove_at(table, at);
}

/* ---- processes ------------------------------------------------------------------------------- */

/* Whoever has no devices has nothing that would have to be closed in time. */
static bool is_to_be_sought(const struct oneib_domain_state *state)
{
    return state->running && !state->is_sought && state->devices.count > 0 &&
           state->wrong.code == ONEIB_ERROR_NONE;
}

/* As libvirt writes it. */
static const char *format_uuid(const struct oneib_domain_state *state,
                               char text[VIR_UUID_STRING_BUFLEN])
{
    char *at = text;
    for (int i = 0; i < VIR_UUID_BUFLEN; i++)
        at += sprintf(at, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", state->uuid[i]);
    return text;
}

static void seek(struct oneib_domain_state *state, int ends, const char *directory)
{
    char uuid[VIR_UUID_STRING_BUFLEN];
    struct epoll_event event = {.events = EPOLLIN};
    state->is_sought = true;
    state->process = oneib_domain_process_open(directory, state->name, format_uuid(state, uuid));
    if (state->process >= 0)
        epoll_ctl(ends, EPOLL_CTL_ADD, state->process, &event);
}

/* What is closed is not waited for any more. */
static bool ends(struct oneib_domain_state *state)
{
    if (state->process < 0 || !oneib_domain_process_has_ended(state->process))
        return false;
    close(state->process);
    state->process = -1;
    state->has_ended = true;
    return true;
}

void oneib_domain_table_follow(struct oneib_domain_table *table, const char *directory,
                               bool *changed)
{
    for (size_t i = 0; i < table->count; i++) {
        if (is_to_be_sought(&table->items[i]))
            seek(&table->items[i], table->ends, directory);
        if (ends(&table->items[i]))
            *changed = true;
    }
}

/* ---- telling --------------------------------------------------------------------------------- */

/* The first reason why there is no list; NULL: there is one. */
static const char *find_wrong(const struct oneib_domain_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->items[i].wrong.code != ONEIB_ERROR_NONE)
            return table->items[i].wrong.text;
    return NULL;
}

/* A domain without devices is an entry too. */
static size_t count_entries(const struct oneib_domain_table *table)
{
    size_t entries = 0;
    for (size_t i = 0; i < table->count; i++)
        entries += table->items[i].devices.count ? table->items[i].devices.count : 1;
    return entries;
}

bool oneib_domain_table_is_sound(const struct oneib_domain_table *table)
{
    return !find_wrong(table) && count_entries(table) <= ONEIB_DOMAIN_ENTRIES_MAX;
}

static int tell_entry(const struct oneib_domain_state *state, const struct oneib_pci *device,
                      int socket, struct oneib_error *err)
{
    const struct oneib_domain_news news =
        oneib_domain_news_entry(state->name, oneib_domain_state_runs(state), device);
    return oneib_tell(socket, &news, err);
}

static int tell_domain(const struct oneib_domain_state *state, int socket, struct oneib_error *err)
{
    if (state->devices.count == 0)
        return tell_entry(state, NULL, socket, err);
    for (size_t i = 0; i < state->devices.count; i++)
        if (tell_entry(state, &state->devices.items[i], socket, err) < 0)
            return -1;
    return 0;
}

static int tell_list(const struct oneib_domain_table *table, int socket, struct oneib_error *err)
{
    if (oneib_tell_kind(socket, ONEIB_DOMAIN_NEWS_BEGIN, err) < 0)
        return -1;
    for (size_t i = 0; i < table->count; i++)
        if (tell_domain(&table->items[i], socket, err) < 0)
            return -1;
    return oneib_tell_kind(socket, ONEIB_DOMAIN_NEWS_END, err);
}

int oneib_domain_table_tell(const struct oneib_domain_table *table, int socket,
                            struct oneib_error *err)
{
    char why[ONEIB_MESSAGE_TEXT];
    const char *wrong = find_wrong(table);
    const size_t entries = count_entries(table);
    if (wrong)
        return oneib_tell_unknown(socket, wrong, err);
    if (entries <= ONEIB_DOMAIN_ENTRIES_MAX)
        return tell_list(table, socket, err);
    snprintf(why, sizeof why, "domains and their PCI devices are %zu together, and more than %d",
             entries, ONEIB_DOMAIN_ENTRIES_MAX);
    return oneib_tell_unknown(socket, why, err);
}
