// SPDX-License-Identifier: Apache-2.0
#include "command/state.h"
#include "base/memory.h"
#include "ib/guid.h"
#include <stdlib.h>
#include <string.h>

#define KEYS 0x8000

/* What can be wrong with a key on the fabric. */
enum { KEY_VIOLATED = 1, KEY_MISSING = 2 };

static void note_deviation(uint8_t *keys, const struct oneib_deviation *deviation)
{
    switch (deviation->kind) {
    case ONEIB_KEY_EXCESS:
    case ONEIB_KEY_WIDENED:
    case ONEIB_KEY_LAST_SLOT:
        keys[oneib_pkey_base(deviation->found)] |= KEY_VIOLATED;
        break;
    case ONEIB_KEY_ABSENT:
    case ONEIB_KEY_NARROWED:
        keys[oneib_pkey_base(deviation->expected)] |= KEY_MISSING;
        break;
    case ONEIB_KEY_NOT_FIRST:
    case ONEIB_PORT_SILENT:
        break; /* of the port, not of one key */
    }
}

void oneib_states_make(const struct oneib_view *view, struct oneib_states *states)
{
    const struct oneib_snapshot *snapshot = view->snapshot;
    *states = (struct oneib_states){.snapshot = snapshot};
    states->keys = oneib_alloc(KEYS, sizeof *states->keys);
    if (!snapshot->subnet_known)
        return;
    oneib_snapshot_verify(snapshot, view->may_be_written, &states->verification);
    for (size_t i = 0; i < states->verification.count; i++)
        note_deviation(states->keys, &states->verification.items[i]);
}

void oneib_states_clear(struct oneib_states *states)
{
    oneib_verification_clear(&states->verification);
    free(states->keys);
    *states = (struct oneib_states){0};
}

static enum oneib_cluster_state state_without_key(const struct oneib_snapshot *snapshot,
                                                  const struct oneib_cluster *cluster)
{
    const struct oneib_network *network =
        oneib_cloud_network(&snapshot->cloud, cluster->network_id);
    if (network && network->key_state == ONEIB_KEY_VALID)
        return ONEIB_STATE_CONFLICT;
    if (network && network->key_state == ONEIB_KEY_INVALID)
        return ONEIB_STATE_INVALID_KEY;
    return ONEIB_STATE_NO_KEY;
}

static enum oneib_cluster_state state_of_ports(const struct oneib_subnet *subnet,
                                               const struct oneib_partition *partition)
{
    enum oneib_cluster_state state = ONEIB_STATE_IN_FORCE;
    for (size_t i = 0; i < partition->member_count; i++) {
        if (partition->members[i].kind != ONEIB_MEMBER_GUID)
            continue;
        const struct oneib_subnet_port *port =
            oneib_subnet_find(subnet, partition->members[i].guid);
        if (port && !port->answered)
            return ONEIB_STATE_SILENT;
        if (!port && !oneib_is_virtual_port(0, partition->members[i].guid))
            state = ONEIB_STATE_OFF_FABRIC;
        else if (!port && state == ONEIB_STATE_IN_FORCE)
            state = ONEIB_STATE_UNVERIFIED;
    }
    return state;
}

/* Where the fabric was to be read and was not, what the ports hold is not known: that the file is right
 * proves nothing. */
static enum oneib_cluster_state state_in_file(const struct oneib_snapshot *snapshot,
                                              const struct oneib_partition *partition)
{
    const struct oneib_partition *in_file =
        oneib_partition_table_find(&snapshot->seen.table, partition->pkey);
    if (!in_file || strcmp(in_file->name, partition->name) != 0 ||
        !oneib_partition_members_equal(in_file, partition))
        return ONEIB_STATE_NOT_IN_FILE;
    return oneib_fabric_failed(snapshot) ? ONEIB_STATE_UNVERIFIED : ONEIB_STATE_IN_FILE;
}

enum oneib_cluster_state oneib_state_of(const struct oneib_states *states,
                                        const struct oneib_cluster *cluster)
{
    const struct oneib_snapshot *snapshot = states->snapshot;
    if (cluster->pkey == 0)
        return state_without_key(snapshot, cluster);
    if (states->keys[cluster->pkey] & KEY_VIOLATED)
        return ONEIB_STATE_VIOLATED;
    if (states->keys[cluster->pkey] & KEY_MISSING)
        return ONEIB_STATE_NOT_IN_FORCE;

    const struct oneib_partition *partition =
        oneib_partition_table_find(&snapshot->desired.table, cluster->pkey);
    if (!partition || partition->member_count == 0)
        return cluster->refused > 0 ? ONEIB_STATE_REFUSED : ONEIB_STATE_EMPTY;
    const enum oneib_cluster_state state = snapshot->subnet_known
                                               ? state_of_ports(&snapshot->subnet, partition)
                                               : state_in_file(snapshot, partition);
    const bool is_well = state == ONEIB_STATE_IN_FORCE || state == ONEIB_STATE_IN_FILE;
    return is_well && cluster->refused > 0 ? ONEIB_STATE_PARTLY_REFUSED : state;
}

static const struct {
    const char *name;
    enum oneib_style style;
} shown[] = {
    [ONEIB_STATE_NO_KEY] = {"no key", ONEIB_CHANGED},
    [ONEIB_STATE_INVALID_KEY] = {"invalid key", ONEIB_BAD},
    [ONEIB_STATE_CONFLICT] = {"conflict", ONEIB_BAD},
    [ONEIB_STATE_VIOLATED] = {"violated", ONEIB_BAD},
    [ONEIB_STATE_NOT_IN_FORCE] = {"not in force", ONEIB_CHANGED},
    [ONEIB_STATE_SILENT] = {"port silent", ONEIB_CHANGED},
    [ONEIB_STATE_OFF_FABRIC] = {"off fabric", ONEIB_CHANGED},
    [ONEIB_STATE_UNVERIFIED] = {"not verified", ONEIB_CHANGED},
    [ONEIB_STATE_PARTLY_REFUSED] = {"part refused", ONEIB_BAD},
    [ONEIB_STATE_REFUSED] = {"refused", ONEIB_BAD},
    [ONEIB_STATE_IN_FORCE] = {"in force", ONEIB_GOOD},
    [ONEIB_STATE_NOT_IN_FILE] = {"not in file", ONEIB_CHANGED},
    [ONEIB_STATE_IN_FILE] = {"in file", ONEIB_PLAIN},
    [ONEIB_STATE_EMPTY] = {"empty", ONEIB_FAINT},
};

const char *oneib_state_name(enum oneib_cluster_state state)
{
    return shown[state].name;
}

enum oneib_style oneib_state_style(enum oneib_cluster_state state)
{
    return shown[state].style;
}
