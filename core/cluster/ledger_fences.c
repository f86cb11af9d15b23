// SPDX-License-Identifier: Apache-2.0
/* The ledger's entries of fenced hosts and their ports. */
#include "base/array.h"
#include "base/order.h"
#include "cluster/ledger.h"
#include <inttypes.h>
#include <string.h>

static const char *const wishes[] = {
    [ONEIB_FENCE_CLOSED] = "closed",
    [ONEIB_FENCE_LIFT] = "lift",
    [ONEIB_FENCE_FORCED] = "forced",
};

static const char *const states[] = {
    [ONEIB_FENCE_ASKED] = "asked",       [ONEIB_FENCE_DOWN] = "down",
    [ONEIB_FENCE_GONE] = "gone",         [ONEIB_FENCE_UP] = "up",
    [ONEIB_FENCE_SILENT] = "silent",     [ONEIB_FENCE_SHARED] = "shared",
    [ONEIB_FENCE_DOUBLED] = "doubled",   [ONEIB_FENCE_BARRED] = "barred",
    [ONEIB_FENCE_UNPROVEN] = "unproven",
};

const char *oneib_fence_wish_name(enum oneib_fence_wish wish)
{
    return wishes[wish];
}

bool oneib_fence_wish_parse(const char *name, enum oneib_fence_wish *wish)
{
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++)
        if (strcmp(wishes[i], name) == 0) {
            *wish = (enum oneib_fence_wish)i;
            return true;
        }
    return false;
}

const char *oneib_fence_state_name(enum oneib_fence_state state)
{
    return states[state];
}

bool oneib_fence_state_parse(const char *name, enum oneib_fence_state *state)
{
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strcmp(states[i], name) == 0) {
            *state = (enum oneib_fence_state)i;
            return true;
        }
    return false;
}

/* There are few of either: hosts that have failed. */
static size_t fence_place(const struct oneib_ledger *ledger, uint32_t host_id)
{
    size_t place = 0;
    while (place < ledger->fence_count && ledger->fences[place].host_id < host_id)
        place++;
    return place;
}

static size_t port_place(const struct oneib_ledger *ledger, uint32_t host_id, oneib_guid guid)
{
    size_t place = 0;
    while (place < ledger->fenced_port_count && (ledger->fenced_ports[place].host_id < host_id ||
                                                 (ledger->fenced_ports[place].host_id == host_id &&
                                                  ledger->fenced_ports[place].guid < guid)))
        place++;
    return place;
}

struct oneib_ledger_fence *oneib_ledger_fence(const struct oneib_ledger *ledger, uint32_t host_id)
{
    const size_t place = fence_place(ledger, host_id);
    return place < ledger->fence_count && ledger->fences[place].host_id == host_id
               ? &ledger->fences[place]
               : NULL;
}

struct oneib_ledger_fenced_port *oneib_ledger_fenced_port(const struct oneib_ledger *ledger,
                                                          uint32_t host_id, oneib_guid guid)
{
    const size_t place = port_place(ledger, host_id, guid);
    if (place == ledger->fenced_port_count)
        return NULL;
    struct oneib_ledger_fenced_port *port = &ledger->fenced_ports[place];
    return port->host_id == host_id && port->guid == guid ? port : NULL;
}

void oneib_ledger_set_fence(struct oneib_ledger *ledger, const struct oneib_ledger_fence *fence)
{
    const size_t place = fence_place(ledger, fence->host_id);
    if (!oneib_ledger_fence(ledger, fence->host_id))
        ONEIB_INSERT(ledger->fences, ledger->fence_count, ledger->fence_capacity, place);
    ledger->fences[place] = *fence;
}

static int check_port(const struct oneib_ledger *ledger,
                      const struct oneib_ledger_fenced_port *port, struct oneib_error *err)
{
    if (port->guid == 0 || (port->switch_guid == 0) != (port->switch_port == 0))
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "host %" PRIu32 ": 0x%016" PRIx64 " at port %u of switch 0x%016" PRIx64
                          " is no port",
                          port->host_id, port->guid, port->switch_port, port->switch_guid);
    if (!oneib_ledger_fence(ledger, port->host_id))
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "host %" PRIu32 " is not fenced",
                          port->host_id);
    return 0;
}

int oneib_ledger_set_fenced_port(struct oneib_ledger *ledger,
                                 const struct oneib_ledger_fenced_port *port,
                                 struct oneib_error *err)
{
    const size_t place = port_place(ledger, port->host_id, port->guid);
    if (check_port(ledger, port, err) < 0)
        return -1;
    if (!oneib_ledger_fenced_port(ledger, port->host_id, port->guid))
        ONEIB_INSERT(ledger->fenced_ports, ledger->fenced_port_count, ledger->fenced_port_capacity,
                     place);
    ledger->fenced_ports[place] = *port;
    return 0;
}

void oneib_ledger_lift_fence(struct oneib_ledger *ledger, uint32_t host_id)
{
    size_t kept = 0;
    for (size_t i = 0; i < ledger->fence_count; i++)
        if (ledger->fences[i].host_id != host_id)
            ledger->fences[kept++] = ledger->fences[i];
    ledger->fence_count = kept;
    kept = 0;
    for (size_t i = 0; i < ledger->fenced_port_count; i++)
        if (ledger->fenced_ports[i].host_id != host_id)
            ledger->fenced_ports[kept++] = ledger->fenced_ports[i];
    ledger->fenced_port_count = kept;
}

ONEIB_ORDER_BY(compare_fences, struct oneib_ledger_fence, host_id, asked, wish, since);
ONEIB_ORDER(compare_ports, struct oneib_ledger_fenced_port,
            ONEIB_BY(host_id, guid, switch_guid, switch_port) ?: ONEIB_BY(state, answer, since));

bool oneib_ledger_fences_equal(const struct oneib_ledger *a, const struct oneib_ledger *b)
{
    return ONEIB_ALIKE(a->fences, a->fence_count, b->fences, b->fence_count, compare_fences) &&
           ONEIB_ALIKE(a->fenced_ports, a->fenced_port_count, b->fenced_ports, b->fenced_port_count,
                       compare_ports);
}

void oneib_ledger_fences_render(const struct oneib_ledger *ledger, struct oneib_text *text)
{
    for (size_t i = 0; i < ledger->fence_count; i++) {
        const struct oneib_ledger_fence *fence = &ledger->fences[i];
        oneib_text_printf(text,
                          "FENCE = [ HOST = \"%" PRIu32 "\", WISH = \"%s\", ASKED = \"%" PRIu32
                          "\", SINCE = \"%" PRId64 "\" ]\n",
                          fence->host_id, oneib_fence_wish_name(fence->wish), fence->asked,
                          fence->since);
    }
    for (size_t i = 0; i < ledger->fenced_port_count; i++) {
        const struct oneib_ledger_fenced_port *port = &ledger->fenced_ports[i];
        oneib_text_printf(text,
                          "FENCED_PORT = [ HOST = \"%" PRIu32 "\", GUID = \"0x%016" PRIx64
                          "\", SWITCH = \"0x%016" PRIx64 "\", PORT = \"%u\", STATE = \"%s\", "
                          "ANSWER = \"%" PRIu32 "\", SINCE = \"%" PRId64 "\" ]\n",
                          port->host_id, port->guid, port->switch_guid, port->switch_port,
                          oneib_fence_state_name(port->state), port->answer, port->since);
    }
}
