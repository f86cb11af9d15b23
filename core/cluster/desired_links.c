// SPDX-License-Identifier: Apache-2.0
/* Ports of adapters that are slower than they could be, or than partitions ask for. */
#include "cluster/desired_internal.h"
#include "ib/ipoib.h"

uint8_t oneib_fastest_link(const struct oneib_subnet *subnet)
{
    uint8_t fastest = 0;
    for (size_t i = 0; i < subnet->port_count; i++) {
        const struct oneib_subnet_port *port = &subnet->ports[i];
        if (port->node_type == ONEIB_NODE_CA && oneib_rate_compare(port->active_rate, fastest) > 0)
            fastest = port->active_rate;
    }
    return fastest;
}

/* Of a rate that is not known nothing is said. */
static bool is_below(uint8_t rate, uint8_t wanted)
{
    return oneib_rate_gbps(rate) && oneib_rate_compare(rate, wanted) < 0;
}

/* What its link should run at: not more than any link of the fabric does, for adapters can be
 * faster than their switches. */
static uint8_t possible_rate(const struct oneib_subnet_port *port, uint8_t fastest)
{
    return is_below(port->rate, fastest) ? port->rate : fastest;
}

static void say_link(struct oneib_work *work, const struct oneib_subnet_port *port,
                     uint8_t possible, const struct oneib_ipoib_limits *limits)
{
    oneib_findings_note(
        work->findings, ONEIB_FINDING_LINK_SLOW,
        "the link of %s runs at %u Gb/s, and could at %u%s", oneib_name_port(work, port->guid).text,
        oneib_rate_gbps(port->active_rate), oneib_rate_gbps(possible),
        is_below(port->active_rate, limits->rate)
            ? ": meanwhile it cannot join multicast groups of partitions that have more"
            : "");
}

static void say_port(struct oneib_work *work, const struct oneib_subnet_port *port,
                     const struct oneib_ipoib_limits *limits)
{
    oneib_findings_note(
        work->findings, ONEIB_FINDING_PORT_BELOW,
        "%s supports an MTU of %u bytes and %u Gb/s, and partitions have %u and %u: IPoIB does not "
        "come up there",
        oneib_name_port(work, port->guid).text, oneib_mtu_bytes(port->mtu_cap),
        oneib_rate_gbps(port->rate), oneib_mtu_bytes(limits->mtu), oneib_rate_gbps(limits->rate));
}

static void judge_port(struct oneib_work *work, const struct oneib_subnet_port *port,
                       uint8_t fastest, const struct oneib_ipoib_limits *limits)
{
    const uint8_t possible = possible_rate(port, fastest);
    const bool has_small_mtu = oneib_mtu_bytes(port->mtu_cap) && port->mtu_cap < limits->mtu;
    if (is_below(port->active_rate, possible))
        say_link(work, port, possible, limits);
    if (!has_small_mtu && !is_below(port->rate, limits->rate))
        return;
    say_port(work, port, limits);
}

void oneib_name_slow_ports(struct oneib_work *work, const struct oneib_ipoib_limits *limits)
{
    const size_t count = work->subnet ? work->subnet->port_count : 0;
    const uint8_t fastest = work->subnet ? oneib_fastest_link(work->subnet) : 0;
    for (size_t i = 0; i < count; i++)
        if (work->subnet->ports[i].node_type == ONEIB_NODE_CA)
            judge_port(work, &work->subnet->ports[i], fastest, limits);
}
