// SPDX-License-Identifier: Apache-2.0
/*
 * What oned holds, reduced to what partitions depend on: InfiniBand networks (and those that were
 * ones, while NICs are left of that time), hosts with their adapters, and one attachment for each
 * NIC (plain or PCI) of an InfiniBand network. core/opennebula fills
 * it from documents; everything in it has been parsed strictly, and nothing in it is trusted beyond
 * its type.
 */
#ifndef ONEIB_CLUSTER_CLOUD_H
#define ONEIB_CLUSTER_CLOUD_H

#include "base/error.h"
#include "cluster/lifecycle.h"
#include "ib/device.h"
#include "ib/guid.h"
#include "ib/pci.h"
#include "ib/pkey.h"
#include "ib/qos_class.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONEIB_NO_ID UINT32_MAX
#define ONEIB_SL_INVALID UINT8_MAX
#define ONEIB_HOST_KEYS_MAX 4096      /* of IB_KEYS */
#define ONEIB_KEYS_SEAL_TEXT_SIZE 145 /* of IB_KEYS_SEAL: serial, signature and a 0 */
#define ONEIB_NODE_KEY_TEXT_SIZE 65   /* with its 0 */

enum oneib_hca_driver { ONEIB_HCA_OTHER, ONEIB_HCA_MLX4, ONEIB_HCA_MLX5 };

/* "mlx4", "mlx5", "other". */
const char *oneib_hca_driver_name(enum oneib_hca_driver driver);
/* OTHER for any other name. */
enum oneib_hca_driver oneib_hca_driver_of(const char *name);

/* One port of one adapter of a host: an IB_HCA vector, or as its oneib-node reports it. */
struct oneib_hca_port {
    char device[ONEIB_DEVICE_NAME_SIZE]; /* "mlx4_0" */
    uint8_t port;                        /* 1-254 */
    enum oneib_hca_driver driver;
    oneib_guid port_guid; /* never 0 */
    uint16_t vfs_total;
    uint16_t rate_gbps; /* IB_HCA's, for display; 0: not said */
    bool is_proven; /* the host owns it by the ledger (port_owner.h): its oneib-node reported it,
                           or an operator accepted it. Else IB_HCA alone names it */
    bool
        is_reserved; /* no host's: an operator lists it, or the fabric shows what it is, and no operator
                         has accepted it (port_owner.h) */
};

/* By device, port, driver, GUID, VFs and rate: all that is said of it. <0, 0, >0. */
int oneib_hca_port_compare(const void *a, const void *b);

/* A PCI device of a host that oned has given to a VM (PCI_DEVICES). */
struct oneib_given_device {
    struct oneib_pci address;
    uint32_t vm_id;
};

struct oneib_host {
    uint32_t id;
    char *name;                   /* owned; untrusted text: print it escaped */
    struct oneib_hca_port *ports; /* owned; as IB_HCA names them; once settled, those that are the
                                     host's */
    size_t port_count, port_capacity;
    struct oneib_hca_port *probed; /* owned; of a settled host: as IB_HCA names them */
    size_t probed_count;
    bool ports_settled;               /* by oneib_cloud_settle_ports() */
    struct oneib_given_device *given; /* owned; no address twice */
    size_t given_count, given_capacity;
    int32_t vfs_limit; /* IB_VFS_TOTAL, what the probe counts now; oned keeps IB_HCA of adapters
                          that are gone. -1: not said */
    int32_t vfs_free;  /* IB_VFS_FREE as oned has it, which only the writer sets; -1: none, or no
                          number */
    char *switches;    /* owned: IB_SWITCH as oned has it; NULL: none */
    int8_t state;      /* oned's HOST_STATES; -1: not said */
    char *problem;     /* owned, untrusted: what its probe says is wrong; NULL: nothing */
    oneib_pkey *keys;  /* owned, ascending, each once: IB_KEYS as oned has it, "0x0101,0x0102":
                          what the host may hold, which only the writer sets */
    size_t key_count;
    bool keys_invalid; /* IB_KEYS is something else: nobody knows what the host may hold */
    bool keys_written; /* IB_KEYS is there, even if it is empty */
    char keys_seal[ONEIB_KEYS_SEAL_TEXT_SIZE]; /* IB_KEYS_SEAL, a serial and oneibd's signature of
                                                  it and IB_KEYS: lower case hexadecimal digits; "":
                                                  none */
    bool keys_settled; /* oneibd's (host_keys.h): it is known what of this counts */
    bool keys_stale;   /* ... and oned has something else, or without the signature */
    char node_key[ONEIB_NODE_KEY_TEXT_SIZE]; /* IB_NODE_KEY, its service's public key as its probe
                                                says it: 64 lower case hexadecimal digits; "":
                                                none. Monitoring is not authenticated */
};

/* "on", "off", "disabled", "error", "init", as OpenNebula's own commands call them; "unknown". */
const char *oneib_host_state_name(int8_t state);
/* Whether oned hears of the host at all: what is known of one in error may be old. */
bool oneib_host_is_heard(int8_t state);

/* A key as a document states it. */
enum oneib_key_state { ONEIB_KEY_MISSING, ONEIB_KEY_VALID, ONEIB_KEY_INVALID };

struct oneib_static_member {
    oneib_guid guid;
    enum oneib_membership membership; /* full or limited */
};

/* An address that a network has leased to a VM. */
struct oneib_lease {
    uint64_t mac; /* never 0 */
    uint32_t vm_id;
};

/* Where the VMs of a network are to be, seen from each other: IB_PLACEMENT. */
enum oneib_placement {
    ONEIB_PLACEMENT_PACK, /* on few leaf switches */
    ONEIB_PLACEMENT_SPREAD,
    ONEIB_PLACEMENT_ANY,
};

struct oneib_network {
    uint32_t id;
    uint32_t parent_id; /* ONEIB_NO_ID unless it is a reservation */
    char *name;         /* owned, untrusted: shown escaped, never written to a file of opensm's */
    char *other_driver; /* owned, untrusted: its VN_MAD, which is not ours: it is here because a NIC
                           of ours or a reservation names it. NULL: an InfiniBand network */
    uint32_t uid, gid;  /* its owner and group; ONEIB_NO_ID: not said. Who they are decides
                           whether its IB_* attributes count: oneib_network_rules() */
    char *owner, *group; /* owned, untrusted: their names; NULL: not said */
    enum oneib_key_state key_state;
    oneib_pkey pkey;         /* when VALID */
    bool reservations_share; /* IB_RESERVATION = "shared" */
    bool being_created;      /* the network driver's vnet_create is at work on it, and gives it its
                                key: nobody else does meanwhile */
    enum oneib_membership
        membership; /* IB_MEMBERSHIP; a value that is neither is LIMITED, and a finding */
    char device[ONEIB_DEVICE_NAME_SIZE]; /* PHYDEV's device; "" : the host's only HCA */
    uint8_t device_port;                 /* PHYDEV's ":2"; 0: not said */
    bool unreadable;     /* its document is malformed: id, name, parent, key and VMs are what oned
                            wrote in front of what users write, all else is not known. It has no
                            members, and keeps its key from others */
    bool device_invalid; /* PHYDEV is not of the form DEVICE[:PORT]: no member gets a port */
    uint16_t mtu_bytes;  /* MTU; 0: not said */
    uint16_t rate_gbps;  /* IB_RATE; 0: not said */
    char qos_class[ONEIB_QOS_NAME_SIZE]; /* IB_CLASS; "": not said */
    bool class_invalid;                  /* IB_CLASS is no class's name */
    enum oneib_placement placement;      /* IB_PLACEMENT; a value that is none is PACK */
    uint8_t shown_sl; /* IB_SL, a copy for display: 1-15; 0: not said; ONEIB_SL_INVALID: something
                         else */
    struct oneib_static_member *static_members; /* owned */
    size_t static_count, static_capacity;
    uint32_t *vms; /* owned, sorted: the VMs that the document names, which are to be looked for */
    size_t vm_count, vm_capacity;
    struct oneib_lease *leases; /* owned; by VM and MAC: these vouch for NICs */
    size_t lease_count, lease_capacity;
    uint32_t *reservations; /* owned, sorted: the networks to which it leases addresses */
    size_t reservation_count, reservation_capacity;
    bool parent_unproven; /* a user's, and no operator's network is proven to be its parent:
                             oneib_cloud_prove_parents(). It has no members, and keeps its key from
                             others */
};

/* One InfiniBand NIC of one VM. 100,000 of them: keep it small. */
struct oneib_attachment {
    int64_t since; /* start of the last history record, Unix seconds; orders a full port's keys */
    uint64_t mac;  /* its address; 0: none, or one that another NIC of the VM in that network has
                      too: then it is neither's */
    uint32_t vm_id;
    uint32_t network_id;     /* NETWORK_ID of the NIC; the network may be gone */
    uint32_t host_id;        /* of the last history record; ONEIB_NO_ID: none */
    uint32_t source_host_id; /* of the record before, when MIGRATING; else ONEIB_NO_ID */
    uint32_t ipv4;           /* host byte order, 0: none */
    int16_t state, lcm_state;
    oneib_pkey shown_pkey; /* the NIC's VLAN_ID, a copy for display; 0: none, or no P_Key */
    uint8_t nic_id;
    uint8_t phase;    /* enum oneib_phase */
    bool narrowed;    /* the NIC says IB_MEMBERSHIP = limited */
    bool attaching;   /* ATTACH = YES: hot-plug under way */
    bool is_pci;      /* a PCI of TYPE=NIC */
    bool has_address; /* ... that says which device it is, on the host of the last record */
    struct oneib_pci address;
    bool unleased; /* its network has not leased its address to the VM: the NIC is forged */
};

struct oneib_cloud {
    struct oneib_network *networks; /* those whose VN_MAD is ours, and what these and NICs name */
    size_t network_count, network_capacity;
    struct oneib_host *hosts;
    size_t host_count, host_capacity;
    struct oneib_attachment *attachments;
    size_t attachment_count, attachment_capacity;
    size_t vm_count;  /* VMs read, with and without InfiniBand */
    uint32_t *vm_ids; /* owned, sorted: those VMs; NULL while a cloud is being read */
    uint32_t vm_end;  /* one beyond the highest VM id that was read and is known to be a VM's */
};

/* Each returns the new, zeroed element at the end (valid until the next add), never NULL. */
struct oneib_network *oneib_cloud_add_network(struct oneib_cloud *cloud);
struct oneib_host *oneib_cloud_add_host(struct oneib_cloud *cloud);
struct oneib_attachment *oneib_cloud_add_attachment(struct oneib_cloud *cloud);
struct oneib_hca_port *oneib_host_add_port(struct oneib_host *host);
/* Of two VMs with one address neither is believed: the device is nobody's then (ONEIB_NO_ID). */
void oneib_host_give(struct oneib_host *host, const struct oneib_pci *address, uint32_t vm_id);
/* The VM that oned has given the device to; ONEIB_NO_ID: none. */
uint32_t oneib_host_given_to(const struct oneib_host *host, const struct oneib_pci *address);
void oneib_network_add_static(struct oneib_network *network, oneib_guid guid,
                              enum oneib_membership membership);
/* Copies the ids of the VMs that the network's document names, in any order, with repetitions. */
void oneib_network_set_vms(struct oneib_network *network, const uint32_t *ids, size_t count);
/* Copies the ids of the networks to which it leases addresses, in any order, with repetitions. */
void oneib_network_set_reservations(struct oneib_network *network, const uint32_t *ids,
                                    size_t count);
/* Whether it leases addresses to that network. */
bool oneib_network_has_reservation(const struct oneib_network *network, uint32_t id);
/* Likewise, or, where it is unreadable, nobody knows. */
bool oneib_network_may_have_reservation(const struct oneib_network *network, uint32_t id);
/* Whether the document names the VM at all. */
bool oneib_network_names_vm(const struct oneib_network *network, uint32_t vm_id);
/* Takes the array over, in any order, with repetitions: *leases is NULL then. */
void oneib_network_take_leases(struct oneib_network *network, struct oneib_lease **leases,
                               size_t count);
/* Whether the network has leased this address to this VM; never that of 0. */
bool oneib_network_leases_to(const struct oneib_network *network, uint32_t vm_id, uint64_t mac);

/*
 * Sorts networks and hosts by id, attachments by (VM, NIC), drops exact repetitions of an id (the
 * later one of networks and hosts added wins: it was read later; of attachments likewise). Call it
 * before the look-ups below and before cluster/desired.h.
 */
void oneib_cloud_sort(struct oneib_cloud *cloud);
/*
 * Decides parent_unproven of each network of a sorted cloud: it is an operator's, or the operator's
 * network that it names as its parent leases it addresses. An owner can talk OpenNebula (7.4.0) into
 * another PARENT_NETWORK_ID of his reservation, or into none; he cannot write into the parent, whose
 * leases name each of its reservations (AddressRange::to_xml()). Where the parent is unreadable
 * nobody knows whom it leases to, and what the reservation says counts. Whether any of them has
 * changed.
 */
bool oneib_cloud_prove_parents(struct oneib_cloud *cloud);
/* Binary search; NULL when absent. */
const struct oneib_network *oneib_cloud_network(const struct oneib_cloud *cloud, uint32_t id);
const struct oneib_host *oneib_cloud_host(const struct oneib_cloud *cloud, uint32_t id);
/* The VM's NICs, one behind the other; *count: how many. NULL: it has none. */
const struct oneib_attachment *oneib_cloud_nics(const struct oneib_cloud *cloud, uint32_t vm_id,
                                                size_t *count);
/* The VM's NIC of that id, NULL: it has none. */
const struct oneib_attachment *oneib_cloud_nic(const struct oneib_cloud *cloud, uint32_t vm_id,
                                               uint32_t nic_id);
/* OpenNebula has that VM, whatever NICs it has. */
bool oneib_cloud_has_vm(const struct oneib_cloud *cloud, uint32_t vm_id);
/* Its document is malformed, or its parent unproven: it has no members, and keeps its key. */
bool oneib_network_is_doubtful(const struct oneib_network *network);
/* Of the group oneadmin: what it says of InfiniBand is an operator's word. One of another group is
 * that group's administrators' to write into, by rules that OpenNebula makes, whoever owns it. */
bool oneib_network_is_operators(const struct oneib_network *network);
/*
 * The network whose IB_* attributes count for this one: itself when it is an operator's; of a
 * reservation those of its parent, whoever owns it, and of a reservation of that likewise. NULL:
 * nobody's, for a user wrote them.
 */
const struct oneib_network *oneib_network_rules(const struct oneib_cloud *cloud,
                                                const struct oneib_network *network);
/* What its members may be at most: by those rules, and narrowed by what it says itself. */
enum oneib_membership oneib_network_membership(const struct oneib_cloud *cloud,
                                               const struct oneib_network *network);
/* Likewise by operators' words alone: without what a user's network, which it may be, says itself.
 */
enum oneib_membership oneib_network_given(const struct oneib_cloud *cloud,
                                          const struct oneib_network *network);
/* How many networks are InfiniBand ones. */
size_t oneib_cloud_count_infiniband(const struct oneib_cloud *cloud);

/* Whether the host may hold the key, or nobody knows (keys_invalid). */
bool oneib_host_may_hold(const struct oneib_host *host, oneib_pkey pkey);
/* IB_KEYS: INPUT unless it is as above; "" are no keys. *keys is the caller's to free. */
int oneib_host_keys_parse(const char *text, size_t length, oneib_pkey **keys, size_t *count,
                          struct oneib_error *err);
/* Frees what a network or a host owns. */
void oneib_network_clear(struct oneib_network *network);
void oneib_host_clear(struct oneib_host *host);
void oneib_cloud_clear(struct oneib_cloud *cloud);
#define oneib_autocloud __attribute__((cleanup(oneib_cloud_clear)))

#endif
