// SPDX-License-Identifier: Apache-2.0
/*
 * Networks that were InfiniBand ones and that another driver serves now: Sunstone's "Update" makes
 * them bridges. A NIC of ours whose network leases to its VM was made by oned while the network was
 * ours, and oned writes the driver of today into those that it makes now: so who is there stays,
 * and nobody comes in.
 */
#include "base/escape.h"
#include "model/desired_internal.h"
#include <inttypes.h>
#include <stdlib.h>

#define DRIVER_SHOWN 64

static void keep(struct oneib_work *work, const struct oneib_network *network)
{
    work->kept[network - work->cloud->networks] = true;
}

/* The network whose key its NICs have: its own, or its parent's when it shares that. */
static const struct oneib_network *key_giver(const struct oneib_work *work,
                                             const struct oneib_network *network)
{
    return oneib_shares_its_parents(work, network) ? oneib_parent_of(work, network) : network;
}

/* A NIC on a host keeps its network, and the one that gives the key, as long as it has that key. */
static void keep_networks_of(struct oneib_work *work, const struct oneib_attachment *attachment)
{
    const struct oneib_network *network = oneib_cloud_network(work->cloud, attachment->network_id);
    if (!network || attachment->presence == ONEIB_ABSENT || attachment->unleased)
        return;
    const struct oneib_network *giver = key_giver(work, network);
    const oneib_pkey claimed = oneib_claimed_key(attachment);
    if (claimed == 0 || claimed != oneib_stated_key(giver))
        return;
    keep(work, network);
    keep(work, giver);
}

static bool any_switched(const struct oneib_cloud *cloud)
{
    for (size_t i = 0; i < cloud->network_count; i++)
        if (cloud->networks[i].other_driver)
            return true;
    return false;
}

int oneib_find_switched(struct oneib_work *work, struct oneib_error *err)
{
    const size_t count = work->cloud->network_count;
    work->kept = calloc(count ? count : 1, sizeof *work->kept);
    if (!work->kept)
        return oneib_fail_memory(err);
    if (!any_switched(work->cloud))
        return 0;
    for (size_t i = 0; i < work->cloud->attachment_count; i++)
        keep_networks_of(work, &work->cloud->attachments[i]);
    return 0;
}

/*
 * The command takes what it appends from a pipe: an editor would open otherwise. OpenNebula 7.4
 * sets BRIDGE_TYPE by itself, 6.10 does not.
 */
static int say_one(struct oneib_work *work, const struct oneib_network *network,
                   struct oneib_error *err)
{
    oneib_autotext struct oneib_text driver = {0}, remedy = {0};
    oneib_text_append(&driver, "");
    oneib_text_append_escaped(&driver, network->other_driver, DRIVER_SHOWN);
    oneib_text_printf(&remedy,
                      "run: printf 'VN_MAD=\"%s\"\\nBRIDGE_TYPE=\"none\"\\n' | onevnet update "
                      "%" PRIu32 " --append /dev/stdin; then attach again what was attached "
                      "meanwhile, and set MTU if the network had one",
                      work->policy->vn_mad ? work->policy->vn_mad : "infiniband", network->id);
    if (oneib_text_failed(&driver) || oneib_text_failed(&remedy))
        return oneib_fail_memory(err);
    return oneib_findings_add(
        work->findings, ONEIB_WARNING, "network-switched", remedy.data, err,
        "%s is no InfiniBand network any more: its VN_MAD is \"%s\". VMs that were attached to it "
        "before keep what they have; those that are attached to it now get no InfiniBand",
        oneib_name_network(work, network->id).text, driver.data);
}

int oneib_say_switched(struct oneib_work *work, struct oneib_error *err)
{
    for (size_t i = 0; i < work->cloud->network_count; i++)
        if (work->cloud->networks[i].other_driver && work->entitlements[i].pkey &&
            say_one(work, &work->cloud->networks[i], err) < 0)
            return -1;
    return 0;
}
