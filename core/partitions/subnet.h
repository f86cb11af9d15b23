// SPDX-License-Identifier: Apache-2.0
/*
 * The subnet as it was read back from the fabric (core/fabric fills it), and the comparison with
 * what the partitions say it should be.
 */
#ifndef ONEIB_PARTITIONS_SUBNET_H
#define ONEIB_PARTITIONS_SUBNET_H

#include "base/finding.h"
#include "ib/guid.h"
#include "partitions/partition.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum oneib_node_type {
    ONEIB_NODE_CA = 1,
    ONEIB_NODE_SWITCH = 2,
    ONEIB_NODE_ROUTER = 3
}; /* NodeInfo.NodeType */

/* Which M_Key a port showed to whoever asked with a key of oneib's. */
enum oneib_port_m_key {
    ONEIB_M_KEY_UNKNOWN, /* it gave no PortInfo */
    ONEIB_M_KEY_NONE,
    ONEIB_M_KEY_FIRST, /* that which oneib tries first on it */
    ONEIB_M_KEY_OTHER,
};

/* One end port: a port of a CA or router, or port 0 of a switch; or a virtual port of such a CA's
 * port, which has no LID and no link of its own, and was asked through it. */
struct oneib_subnet_port {
    oneib_guid guid; /* port GUID */
    oneib_guid node_guid;
    oneib_guid
        owner;      /* of a virtual port: the physical one, whose LID it has here; 0: it is none */
    uint16_t vport; /* likewise its number there (fabric/virtual_ports_read.h) */
    uint16_t lid;
    uint8_t port_number;      /* 0 for a switch */
    uint8_t node_type;        /* enum oneib_node_type */
    uint16_t partition_cap;   /* NodeInfo.PartitionCap: size of its table */
    uint16_t enforcement_cap; /* of a switch, SwitchInfo.PartitionEnforcementCap: size of the tables
                                 of its other ports */
    uint8_t mtu_cap;          /* PortInfo.MTUCap, IB code; 0: not known */
    uint8_t rate;             /* fastest enabled width x speed, IB rate code; 0: not known */
    uint8_t active_rate;      /* of its link as it runs, IB rate code; 0: not known */
    enum oneib_port_m_key m_key;
    uint8_t m_key_level; /* PortInfo.M_KeyProtectBits */
    uint32_t vendor_id;  /* NodeInfo.VendorID, DeviceID: the adapter's; 0: not known */
    uint16_t device_id;
    bool answered;        /* its whole P_Key table was read */
    uint16_t *pkeys;      /* owned; partition_cap raw entries in table order, 0 = empty; NULL unless
                             answered */
    char description[65]; /* NodeDescription, untrusted: print it escaped */
};

struct oneib_subnet {
    struct oneib_subnet_port *ports; /* sorted by guid */
    size_t port_count, port_capacity;
    oneib_guid sm_port_guid; /* the master SM's port; 0: not known */
    uint16_t multicast_cap;  /* smallest SwitchInfo.MulticastFDBCap; 0: no switch */
};

const struct oneib_subnet_port *oneib_subnet_find(const struct oneib_subnet *subnet,
                                                  oneib_guid guid); /* NULL when absent */
/* Mixes who has which LID into the hash (base/hash.h): a virtual port is linked where its owner is,
 * and says nothing new. */
uint64_t oneib_subnet_mix_links(uint64_t hash, const struct oneib_subnet *subnet);
/* Sorts by guid. */
void oneib_subnet_sort(struct oneib_subnet *subnet);
void oneib_subnet_clear(struct oneib_subnet *subnet);

enum oneib_deviation_kind {
    ONEIB_KEY_EXCESS,    /* the port holds a key that it should not: a violation */
    ONEIB_KEY_WIDENED,   /* limited was meant, full is in the table: a violation */
    ONEIB_KEY_LAST_SLOT, /* a key in the last slot of the table of an HCA that may be mlx4's, whose
                            "unassigned" VFs would get it: a violation */
    ONEIB_KEY_ABSENT,    /* a member's key is not in force */
    ONEIB_KEY_NARROWED,  /* full was meant, limited is in the table */
    ONEIB_KEY_NOT_FIRST, /* index 0 is not the default partition (indx0 aside): every closed VF of
                            mlx4 points there, so what stands there is everybody's: a violation */
    ONEIB_PORT_SILENT, /* the port's table could not be read: nothing is proved about it; counts as
                          a violation */
};
#define ONEIB_DEVIATION_KINDS (ONEIB_PORT_SILENT + 1)

struct oneib_deviation {
    enum oneib_deviation_kind kind;
    oneib_guid port_guid;
    uint16_t expected; /* raw; 0: none */
    uint16_t found;    /* raw; 0: none */
    uint16_t index;    /* table index of `found`, 0xffff when nothing was found */
    bool is_daemons;   /* only oneibd may put it right: see oneib_snapshot_verify() */
};

struct oneib_verification {
    struct oneib_deviation *items; /* by port GUID, then kind */
    size_t count, capacity;
    size_t ports;              /* end ports compared */
    size_t keys;               /* table entries compared */
    size_t violations;         /* EXCESS, WIDENED, LAST_SLOT, NOT_FIRST, SILENT */
    size_t differences;        /* all others */
    size_t members_off_fabric; /* GUID members whose port is not on the fabric: powered off */
    size_t members_unverified; /* ... which are virtual ports, of which the reading shows nothing */
};

/*
 * Compares every end port's table with `table`, wildcards and SELF (subnet->sm_port_guid) expanded
 * the way opensm does (a later entry overrides an earlier one). Switch port 0 is compared like any
 * end port.
 */
void oneib_subnet_verify(const struct oneib_subnet *subnet,
                         const struct oneib_partition_table *table,
                         struct oneib_verification *verification);
/* "key-excess", "key-absent", ... */
enum oneib_finding_id oneib_deviation_finding(enum oneib_deviation_kind kind);
const char *oneib_deviation_name(enum oneib_deviation_kind kind);
/* Whether a reload of opensm can put it right; a silent port or a key in the last slot it cannot.
 */
bool oneib_deviation_is_opensms(enum oneib_deviation_kind kind);
bool oneib_verification_is_opensms(const struct oneib_verification *verification); /* any of it */
/* What to do about it. daemon_runs: an oneibd keeps these partitions. It tries again by itself, and
 * `oneib sync` writes nothing that it has not written. */
const char *oneib_deviation_fix(const struct oneib_deviation *deviation, bool daemon_runs);
/* The port lacks a key, or full membership of it. */
bool oneib_deviation_is_lack(enum oneib_deviation_kind kind);
bool oneib_deviation_is_violation(enum oneib_deviation_kind kind);
void oneib_verification_clear(struct oneib_verification *verification);
#define oneib_autoverification __attribute__((cleanup(oneib_verification_clear)))

#endif
