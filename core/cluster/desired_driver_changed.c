// SPDX-License-Identifier: Apache-2.0
/*
 * Networks that were InfiniBand ones and that another driver serves now: Sunstone's "Update" makes
 * them bridges. Who is a member stays one, nobody becomes one.
 *
 * oned writes the driver into a NIC when it is attached, and never again, so the NIC of a member
 * says what its network was. But a user may have forged it (docs/design/pools.md). So no network
 * of another driver is kept for its NICs' word alone: its partition must be in force, and what is
 * in force was computed while oned said that the network was ours, or from that.
 */
#include "base/escape.h"
#include "base/memory.h"
#include "cluster/desired_internal.h"
#include <inttypes.h>
#include <stdlib.h>

#define DRIVER_SHOWN 64

/* in_force: zeroed; for each network whether its partition is in force with the key that it has. */
static void find_in_force(const struct oneib_work *work, bool *in_force)
{
    const struct oneib_partition_table *table = work->in_force;
    for (size_t i = 0; table && i < table->count; i++) {
        uint32_t id;
        const struct oneib_network *network = oneib_cluster_name_parse(table->items[i].name, &id)
                                                  ? oneib_cloud_network(work->cloud, id)
                                                  : NULL;
        if (network && oneib_key_of(work, network) == table->items[i].pkey)
            in_force[network - work->cloud->networks] = true;
    }
}

/*
 * A NIC on a host keeps its network, and the one that gives the key, as long as that has one. A
 * reservation that is InfiniBand still is no NIC's word: its document says what its parent was.
 */
static void keep_networks_of(struct oneib_work *work, const bool *in_force,
                             const struct oneib_attachment *attachment)
{
    const struct oneib_network *network = oneib_cloud_network(work->cloud, attachment->network_id);
    if (!network || attachment->phase == ONEIB_ABSENT || attachment->unleased)
        return;
    const size_t giver = (size_t)(oneib_key_giver(work, network) - work->cloud->networks);
    if (oneib_key_of(work, &work->cloud->networks[giver]) == 0 ||
        (network->other_driver && !in_force[giver]))
        return;
    work->kept[network - work->cloud->networks] = true;
    work->kept[giver] = true;
}

static bool any_switched(const struct oneib_cloud *cloud)
{
    for (size_t i = 0; i < cloud->network_count; i++)
        if (cloud->networks[i].other_driver)
            return true;
    return false;
}

void oneib_find_switched(struct oneib_work *work)
{
    const size_t count = work->cloud->network_count;
    bool *in_force = oneib_alloc(count + 1, sizeof *in_force);
    work->kept = oneib_alloc(count + 1, sizeof *work->kept);
    if (any_switched(work->cloud)) {
        find_in_force(work, in_force);
        for (size_t i = 0; i < work->cloud->attachment_count; i++)
            keep_networks_of(work, in_force, &work->cloud->attachments[i]);
    }
    free(in_force);
}

/*
 * With something on its standard input onevnet opens no editor; it takes no file that is a pipe.
 * OpenNebula 7.4 sets BRIDGE_TYPE by itself, 6.10 does not.
 */
static void append_command(const struct oneib_work *work, uint32_t network_id,
                           struct oneib_text *text)
{
    oneib_text_printf(text,
                      "run: printf 'VN_MAD=\"%s\"\\nBRIDGE_TYPE=\"none\"\\n' | onevnet update "
                      "%" PRIu32 " --append",
                      work->policy->vn_mad ? work->policy->vn_mad : "infiniband", network_id);
}

static void say_one(struct oneib_work *work, const struct oneib_network *network)
{
    oneib_autotext struct oneib_text driver = {0}, fix = {0};
    oneib_text_append(&driver, "");
    oneib_text_append_escaped(&driver, network->other_driver, DRIVER_SHOWN);
    append_command(work, network->id, &fix);
    oneib_text_append(&fix, "; then attach again what was attached meanwhile, and set MTU if "
                            "the network had one");
    oneib_findings_note_with(
        work->findings, ONEIB_FINDING_NETWORK_SWITCHED, ONEIB_WARNING, fix.data,
        "%s is no longer an InfiniBand network: its VN_MAD is \"%s\". VMs that run with it keep "
        "what they have; others get no InfiniBand from it",
        oneib_name_network(work, network->id).text, driver.data);
}

void oneib_say_switched(struct oneib_work *work)
{
    for (size_t i = 0; i < work->cloud->network_count; i++)
        if (work->cloud->networks[i].other_driver && work->entitlements[i].pkey)
            say_one(work, &work->cloud->networks[i]);
}

void oneib_say_new_on_switched(struct oneib_work *work, const struct oneib_attachment *attachment)
{
    oneib_autotext struct oneib_text fix = {0};
    append_command(work, attachment->network_id, &fix);
    oneib_text_append(&fix, "; then start the VM again");
    oneib_findings_note_with(
        work->findings, ONEIB_FINDING_NETWORK_SWITCHED, ONEIB_WARNING, fix.data,
        "%s is in %s, which is no longer an InfiniBand network, and moves to a host where that "
        "network's P_Key is not in force: it gets no membership",
        oneib_name_nic(work, attachment).text,
        oneib_network_id_shown(work->cloud, attachment->network_id).text);
}
