// SPDX-License-Identifier: Apache-2.0
/* MTU and rate of a partition's broadcast group, and how many such groups the switches can hold. */
#include "cluster/desired_internal.h"
#include "ib/ipoib.h"

/* What all adapters' ports support. Adapters that are faster than every switch do not count for
 * more than the fastest link has: nobody could join such a group. */
static void measure_fabric(const struct oneib_subnet *subnet, uint8_t *mtu, uint8_t *rate)
{
    const uint8_t fastest = oneib_fastest_link(subnet);
    *mtu = 0;
    *rate = fastest;
    for (size_t i = 0; i < subnet->port_count; i++) {
        const struct oneib_subnet_port *port = &subnet->ports[i];
        if (port->node_type != ONEIB_NODE_CA)
            continue;
        if (oneib_mtu_bytes(port->mtu_cap) && (*mtu == 0 || port->mtu_cap < *mtu))
            *mtu = port->mtu_cap;
        if (oneib_rate_gbps(port->rate) &&
            (*rate == 0 || oneib_rate_compare(port->rate, *rate) < 0))
            *rate = port->rate;
    }
}

/* Of codes that it does not know the subnet manager makes no group. */
static uint8_t known_rate(const struct oneib_policy *policy, uint8_t rate)
{
    return policy->rate_max && rate > policy->rate_max ? policy->rate_max : rate;
}

/* Measured once: a port that comes, goes or runs slowly changes nobody's partition. */
static void know_site(struct oneib_work *work)
{
    struct oneib_desired *desired = work->desired;
    uint8_t mtu = 0, rate = 0;
    if (work->subnet)
        measure_fabric(work->subnet, &mtu, &rate);
    desired->mtu = work->ledger->mtu ? work->ledger->mtu : mtu;
    desired->rate = work->ledger->rate ? work->ledger->rate : rate;
}

static bool exceeds_mtu(uint8_t mtu, const struct oneib_ipoib_limits *limits)
{
    return limits->most_mtu && mtu > limits->most_mtu;
}

static bool exceeds_rate(uint8_t rate, const struct oneib_ipoib_limits *limits)
{
    return limits->most_rate && oneib_rate_compare(rate, limits->most_rate) > 0;
}

static void say_mtu(struct oneib_work *work, const char *who, uint8_t mtu,
                    const struct oneib_ipoib_limits *limits)
{
    oneib_findings_note(work->findings, ONEIB_FINDING_MTU_CAPPED,
                        "%s asks for an InfiniBand MTU of %u bytes, and the site's is %u: it "
                        "gets %u",
                        who, oneib_mtu_bytes(mtu), oneib_mtu_bytes(limits->most_mtu),
                        oneib_mtu_bytes(limits->most_mtu));
}

static void say_rate(struct oneib_work *work, const char *who, uint8_t rate,
                     const struct oneib_ipoib_limits *limits)
{
    oneib_findings_note(work->findings, ONEIB_FINDING_RATE_CAPPED,
                        "%s asks for a rate of %u Gb/s, and the site's is %u: it gets %u", who,
                        oneib_rate_gbps(rate), oneib_rate_gbps(limits->most_rate),
                        oneib_rate_gbps(limits->most_rate));
}

/* The operator's word stands, whatever was measured. */
void oneib_ipoib_limits(struct oneib_work *work, struct oneib_ipoib_limits *limits)
{
    const struct oneib_policy *policy = work->policy;
    know_site(work);
    const uint8_t mtu = work->desired->mtu, rate = known_rate(policy, work->desired->rate);
    const uint8_t set = known_rate(policy, policy->rate);
    *limits = (struct oneib_ipoib_limits){
        .mtu = policy->mtu ? policy->mtu : mtu,
        .rate = set ? set : rate,
        .most_mtu = mtu,
        .most_rate = rate ? rate : policy->rate_max,
    };
    if (exceeds_mtu(policy->mtu, limits))
        limits->most_mtu = policy->mtu;
    if (exceeds_rate(set, limits))
        limits->most_rate = set;
    oneib_name_slow_ports(work, limits);
}

static void say_invalid_rate(struct oneib_work *work, const struct oneib_network *network)
{
    oneib_findings_note(work->findings, ONEIB_FINDING_RATE_INVALID,
                        "%s has an IB_RATE of %u, which is no InfiniBand rate: it is ignored",
                        oneib_name_network(work, network->id).text, network->rate_gbps);
}

void oneib_ipoib_of_network(struct oneib_work *work, const struct oneib_ipoib_limits *limits,
                            const struct oneib_network *network, struct oneib_partition *partition)
{
    uint8_t mtu = oneib_mtu_code_for_ip(network->mtu_bytes);
    const struct oneib_network *rules = oneib_network_rules(work->cloud, network);
    const uint16_t wanted = rules ? rules->rate_gbps : 0;
    uint8_t rate = wanted ? oneib_rate_code(wanted) : 0;

    if (wanted && !rate)
        say_invalid_rate(work, rules);
    if (exceeds_mtu(mtu, limits)) {
        say_mtu(work, oneib_name_network(work, network->id).text, mtu, limits);
        mtu = limits->most_mtu;
    }
    if (exceeds_rate(rate, limits)) {
        say_rate(work, oneib_name_network(work, network->id).text, rate, limits);
        rate = limits->most_rate;
    }
    partition->ipoib = true;
    partition->mtu = mtu ? mtu : limits->mtu;
    partition->rate = rate ? rate : limits->rate;
}

void oneib_count_multicast(struct oneib_work *work)
{
    size_t groups = 0;
    for (size_t i = 0; i < work->desired->table.count; i++)
        groups += work->desired->table.items[i].ipoib;
    if (!work->subnet || work->subnet->multicast_cap == 0 || groups <= work->subnet->multicast_cap)
        return;
    oneib_findings_note(work->findings, ONEIB_FINDING_MULTICAST_FULL,
                        "%zu partitions need a multicast group and a switch holds %u: IPoIB "
                        "will not work in %zu of them, though their P_Keys do",
                        groups, work->subnet->multicast_cap, groups - work->subnet->multicast_cap);
}
