// SPDX-License-Identifier: Apache-2.0
#include "cluster/pkey_status.h"

static bool has_entry(const struct oneib_subnet_port *port, uint16_t raw)
{
    for (unsigned i = 0; i < port->partition_cap; i++)
        if (port->pkeys[i] == raw)
            return true;
    return false;
}

enum oneib_pkey_status oneib_pkey_status_of(const struct oneib_subnet *subnet,
                                            const struct oneib_wanted_key *wanted)
{
    const oneib_pkey pkey = wanted->pkey;
    const bool full = wanted->membership == ONEIB_FULL;
    const struct oneib_subnet_port *port = oneib_subnet_find(subnet, wanted->member);
    if (!port)
        return oneib_is_virtual_port(wanted->port, wanted->member) ? ONEIB_PORT_UNSEEN
                                                                   : ONEIB_PORT_ABSENT;
    if (!port->answered)
        return ONEIB_PORT_MUTE;
    /* The other entry beside the right one is another membership too: limited was meant. */
    if (has_entry(port, oneib_pkey_raw(pkey, full ? ONEIB_LIMITED : ONEIB_FULL)))
        return full && has_entry(port, oneib_pkey_raw(pkey, ONEIB_FULL)) ? ONEIB_IN_FORCE
                                                                         : ONEIB_KEY_OTHERWISE;
    return has_entry(port, oneib_pkey_raw(pkey, wanted->membership)) ? ONEIB_IN_FORCE
                                                                     : ONEIB_KEY_LACKING;
}

static enum oneib_pkey_status pkey_status_of_binding(const struct oneib_subnet *subnet,
                                                     const struct oneib_desired_binding *binding)
{
    const struct oneib_wanted_key wanted = {.port = binding->port,
                                            .member = binding->member,
                                            .pkey = binding->pkey,
                                            .membership =
                                                (enum oneib_membership)binding->membership};
    return oneib_pkey_status_of(subnet, &wanted);
}

/* A VF's GUID goes with the VM: whose it is while it migrates, the reading does not tell. */
static bool share_a_virtual_port(const struct oneib_desired_binding *a,
                                 const struct oneib_desired_binding *b)
{
    return b->member_status == ONEIB_MEMBER_STATUS_MEMBER && a->member == b->member &&
           oneib_is_virtual_port(a->port, a->member);
}

enum oneib_pkey_status oneib_pkey_status_of_bindings(const struct oneib_subnet *subnet,
                                                     const struct oneib_desired_binding *bindings,
                                                     size_t count)
{
    enum oneib_pkey_status pkey_status = pkey_status_of_binding(subnet, &bindings[0]);
    for (size_t i = 1; i < count && pkey_status == ONEIB_IN_FORCE; i++)
        if (share_a_virtual_port(&bindings[0], &bindings[i]))
            pkey_status = ONEIB_PORT_UNSEEN;
        else if (bindings[i].member_status == ONEIB_MEMBER_STATUS_MEMBER)
            pkey_status = pkey_status_of_binding(subnet, &bindings[i]);
    return pkey_status;
}

const char *oneib_pkey_status_name(enum oneib_pkey_status pkey_status)
{
    static const char *const names[] = {
        [ONEIB_IN_FORCE] = "in-force",
        [ONEIB_KEY_LACKING] = "key-lacking",
        [ONEIB_KEY_OTHERWISE] = "other-membership",
        [ONEIB_PORT_ABSENT] = "port-off-fabric",
        [ONEIB_PORT_MUTE] = "port-silent",
        [ONEIB_PORT_UNSEEN] = "not-visible",
    };
    return names[pkey_status];
}
