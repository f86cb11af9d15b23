// SPDX-License-Identifier: Apache-2.0
/*
 * The subnet as seen from one umad port of this machine: SMPs and SA queries over libibumad,
 * decoded with libibmad, several in flight. Byte order: everything in and out is host order.
 */
#ifndef ONEIB_FABRIC_FABRIC_H
#define ONEIB_FABRIC_FABRIC_H

#include "base/error.h"
#include "cluster/fence.h"
#include "config/config.h"
#include "partitions/subnet.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oneib_fabric; /* an open port; belongs to one thread */

struct oneib_fabric_options {
    const char *ca;      /* NULL: the first active InfiniBand port */
    uint8_t port;        /* 0: any */
    uint16_t window;     /* MADs in flight, >= 1 */
    uint32_t timeout_ms; /* of one MAD */
    uint8_t retries;
    const char *m_key_file; /* ib/m_key.h; NULL: none, SMPs carry the M_Key 0 */
    /* Asked whenever a MAD was not answered in time; true: what is under way fails. NULL: never. */
    bool (*interrupted)(void);
};

/* As the configuration has them; borrows its strings. Never interrupted. */
struct oneib_fabric_options oneib_fabric_options_of(const struct oneib_config *config);
struct oneib_fabric *oneib_fabric_open(const struct oneib_fabric_options *options,
                                       struct oneib_error *err);
void oneib_fabric_close(struct oneib_fabric *fabric); /* NULL: nothing */
/* MADs sent since it was opened: the bench and the tests count them. */
uint64_t oneib_fabric_mads_sent(const struct oneib_fabric *fabric);

/*
 * Reads the whole subnet: which ports there are from the SA (NodeRecords, one RMPP answer), then
 * from every end port itself NodeInfo (its port GUID must be the one that the SA named, else the
 * port counts as silent), PortInfo and its P_Key table, block by block (32 entries each; SMP
 * attribute 0x16); SwitchInfo of every switch for MulticastFDBCap. Where the SA's answer arrives
 * cut (ibsim carries no RMPP), the LIDs come from the forwarding table of the nearest switch, the
 * names from the ports, and the SA is asked about the silent ones only. A port that does not answer
 * stays in *subnet with answered = false; two ports with one GUID do too. Refused where the SA does
 * not show all ports: this port must be a full member of the default partition. On failure *subnet
 * holds nothing.
 */
int oneib_fabric_read(struct oneib_fabric *fabric, struct oneib_subnet *subnet,
                      struct oneib_error *err);

/*
 * Reads again the P_Key tables of some ports of *subnet (indices into subnet->ports), in place; for
 * waiting until a change is in force without reading everything. A port that had answered costs its
 * blocks alone: that its LID is still its own is what oneib_fabric_read() checks. One that had not
 * is asked who it is first, and a virtual one, by VPortInfo, whether it is still what it was: else
 * it has not answered. After a failure no table is left half read.
 */
int oneib_fabric_read_tables(struct oneib_fabric *fabric, struct oneib_subnet *subnet,
                             const size_t *ports, size_t count, struct oneib_error *err);

/* Which path the SA gives from one port GUID to another under one raw P_Key (PathRecord with P_Key in
 * its component mask). A refusal (no records, invalid GUID, ...) is no error. */
struct oneib_path_query {
    oneib_guid from, to;
    uint16_t pkey;  /* raw */
    bool reachable; /* answer */
    uint8_t sl;     /* answer, of a path that there is: its service level */
};
int oneib_fabric_paths(struct oneib_fabric *fabric, struct oneib_path_query *queries, size_t count,
                       struct oneib_error *err);

/*
 * The broadcast group of IPoIB in a partition, ff12:401b:<P_Key>::ffff:ffff with the P_Key's
 * membership bit set (RFC 4391, section 4). Asked for as a path to it: opensm shows a group's
 * MCMemberRecord only to ports that have its P_Key, and its path to anybody.
 */
struct oneib_group_query {
    uint16_t pkey; /* with or without membership bit */
    bool exists;   /* answer */
    uint8_t sl;    /* answer, of one that exists: the SL that it was made with */
};
int oneib_fabric_groups(struct oneib_fabric *fabric, struct oneib_group_query *queries,
                        size_t count, struct oneib_error *err);

/* SMInfo.SMState of the SM on this port itself (SMP attribute 0x20; PortInfo's IsSM says first
 * whether there is one): 0 not active, 1 discovering, 2 standby, 3 master. */
enum oneib_sm_state {
    ONEIB_SM_NOT_ACTIVE = 0,
    ONEIB_SM_DISCOVERING = 1,
    ONEIB_SM_STANDBY = 2,
    ONEIB_SM_MASTER = 3,
    ONEIB_SM_NONE = 0xff, /* no SM answers on this port */
};
int oneib_fabric_local_sm(struct oneib_fabric *fabric, enum oneib_sm_state *state,
                          struct oneib_error *err);
/*
 * Who leads the subnet: *master is the port GUID of the SM at the LID that this port was told of
 * (PortInfo.MasterSMLID), when it says that it is master (SMInfo). Else it fails, and *err says
 * what to do.
 */
int oneib_fabric_find_master(struct oneib_fabric *fabric, oneib_guid *master,
                             struct oneib_error *err);
/* GUID and LID of this port. */
oneib_guid oneib_fabric_port_guid(const struct oneib_fabric *fabric);

/*
 * The switches that end ports are linked to: for each port GUID of `ports` the switch's node GUID,
 * 0 where none was found (linked to no switch, link down, no answer). Found by walking the links
 * along directed routes, several queries in flight, two for each linked port of a switch. The SA
 * is not asked: opensm gives the switch's end of a link the P_Keys of the other end, and then shows
 * no link between two that are limited members of everything. No more switches are believed in than
 * *subnet has ports.
 */
int oneib_fabric_switches(struct oneib_fabric *fabric, const struct oneib_subnet *subnet,
                          const oneib_guid *ports, oneib_guid *switches, size_t count,
                          struct oneib_error *err);

/* A directed route from the own port to a node: 0 hops is the own node, path[1] the port to leave
 * it by. */
#define ONEIB_PATH_SIZE 64 /* IBA 1.2.1, 14.2.1.2; its first byte is not used */
struct oneib_route {
    uint8_t hops, path[ONEIB_PATH_SIZE];
    oneib_guid to; /* the port that it leads to, of a switch its port 0; 0: not known */
};

/* Every port of every switch that answered (but port 0), with who is linked to it. */
struct oneib_fabric_links {
    struct oneib_switch_link *items; /* owned */
    struct oneib_route *routes;      /* owned; to each one's switch */
    size_t count;
    size_t unanswered; /* questions of the walk; 0: these are all ports of all switches */
};

/* By the same walk as oneib_fabric_switches(). On failure *links is empty. */
int oneib_fabric_read_links(struct oneib_fabric *fabric, const struct oneib_subnet *subnet,
                            struct oneib_fabric_links *links, struct oneib_error *err);
/*
 * Disables or enables links->items[index] at its switch (Set of PortInfo: PortPhysicalState
 * Disabled, or Polling), and reads back what it is then: *physical. The switch is asked first
 * whether it is the one, and, where a link is up, who is behind it whether he is `who` (port GUID).
 * UNREACHABLE: it does not answer, or somebody else is linked there.
 */
int oneib_fabric_enable_link(struct oneib_fabric *fabric, const struct oneib_fabric_links *links,
                             size_t index, oneib_guid who, bool enabled, uint8_t *physical,
                             struct oneib_error *err);
void oneib_fabric_links_clear(struct oneib_fabric_links *links);
#define oneib_autofabriclinks __attribute__((cleanup(oneib_fabric_links_clear)))

#endif
