// SPDX-License-Identifier: Apache-2.0
/* What the probes of a host print, and what becomes of it in the host's document. */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "standin_events.h"
#include "standin_state.h"
#include <stdlib.h>
#include <string.h>

#define VECTOR "IB_HCA"

struct standin_attributes *standin_host_add_hca(struct standin_host *host)
{
    struct standin_attributes *vector = ONEIB_ADD(host->hcas, host->hca_count, host->hca_capacity);
    *vector = (struct standin_attributes){0};
    return vector;
}

void standin_host_clear_hcas(struct standin_host *host)
{
    for (size_t i = 0; i < host->hca_count; i++)
        standin_attributes_clear(&host->hcas[i]);
    host->hca_count = 0;
}

/* The text between the brackets of "IB_HCA = [ ... ]"; NULL: the line is no such vector. */
static const char *find_vector(const char *line, size_t *length)
{
    const char *value = line + strspn(line, " ");
    if (strncmp(value, VECTOR, sizeof VECTOR - 1) != 0)
        return NULL;
    value += sizeof VECTOR - 1;
    value += strspn(value, " =");
    const char *end = strrchr(value, ']');
    if (*value != '[' || !end)
        return NULL;
    *length = (size_t)(end - value - 1);
    return value + 1;
}

static int take_line(struct standin_host *host, const char *line, bool *had_vector,
                     struct oneib_error *err)
{
    size_t length;
    const char *vector = find_vector(line, &length);
    if (!vector)
        return standin_attributes_parse(&host->attributes, line, err);
    if (!*had_vector)
        standin_host_clear_hcas(host);
    *had_vector = true;
    struct standin_attributes *added = standin_host_add_hca(host);
    return added ? standin_attributes_parse_vector(added, vector, length, err) : -1;
}

int standin_host_monitor(struct standin_state *state, uint32_t id, const char *text,
                         struct oneib_error *err)
{
    struct standin_host *host = standin_host_find(state, id, err);
    if (!host)
        return -1;
    oneib_autofree char *copy = oneib_strdup(text);
    bool had_vector = false;
    char *next = copy;
    while (next)
        if (take_line(host, strsep(&next, "\n"), &had_vector, err) < 0)
            return -1;
    return 0;
}
