// SPDX-License-Identifier: Apache-2.0
/*
 * This host's InfiniBand adapters, as sysfs shows them (Documentation/ABI/stable/
 * sysfs-class-infiniband, testing/sysfs-bus-pci, and for mlx4's iov directory
 * testing/sysfs-class-infiniband). Needs no privileges, no umad, no verbs: libibverbs leaves out
 * what it has no provider for, and loads all providers to tell names; only the adapter's events
 * need it (oneib-node).
 *
 * GUIDs and keys are in host byte order. Nothing here changes anything.
 */
#ifndef ONEIB_HCA_HCA_H
#define ONEIB_HCA_HCA_H

#include "base/error.h"
#include "cluster/cloud.h"
#include "ib/device.h"
#include "ib/guid.h"
#include "ib/pci.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONEIB_PKEY_TABLE_MAX 1024 /* no adapter has more than 128; the kernel's tables are u16 */

enum oneib_link_layer { ONEIB_LINK_INFINIBAND, ONEIB_LINK_ETHERNET, ONEIB_LINK_UNKNOWN };

struct oneib_port {
    uint8_t number; /* 1-254 */
    enum oneib_link_layer link_layer;
    uint8_t state;      /* IBA PortInfo.PortState: 1 down, 2 init, 3 armed, 4 active; 0: not read */
    uint16_t rate_gbps; /* 0: not read, which is no fault */
    /* Of InfiniBand ports only. */
    oneib_guid guid; /* the low half of GID 0; 0: not set yet */
    uint16_t lid;    /* 0: none */
    uint16_t *pkeys; /* owned: raw entries by index, 0: empty slot; as the host sees the table */
    uint16_t pkey_count;
};

struct oneib_vf {
    struct oneib_pci pci;
    uint16_t index;    /* virtfnN of the adapter */
    char driver[32];   /* "vfio-pci", "mlx4_core", "mlx5_core", ...; "": none */
    int16_t numa_node; /* -1: not known */
    bool interface_up; /* a network interface of it is up: the host uses it */
    bool off_bus; /* its PCI device is gone, or is no function of the adapter: no VM can get it */
    char iov_directory[ONEIB_PCI_TEXT_SIZE]; /* mlx4: its directory below iov/, found by gid_idx; ""
                                             : none */
};

struct oneib_hca {
    char name[ONEIB_DEVICE_NAME_SIZE]; /* "mlx4_0" */
    enum oneib_hca_driver driver;      /* by the kernel driver: mlx4_core, mlx5_core, another */
    struct oneib_pci pci;
    oneib_guid node_guid;
    int16_t numa_node;        /* -1: not known */
    struct oneib_port *ports; /* owned, by number */
    size_t port_count;
    struct oneib_vf *vfs; /* owned, by index; empty when SR-IOV is off */
    size_t vf_count;
    uint16_t vfs_supported;          /* sriov_totalvfs; 0: no SR-IOV */
    uint16_t vfs_enabled;            /* sriov_numvfs */
    struct oneib_firmware *firmware; /* owned: hca/firmware.h; NULL: it was not asked for */
    struct oneib_error fault; /* code NONE, or the first thing about it that could not be read: it
                                 is shown, and no VF of it is handed out */
};

struct oneib_hcas {
    struct oneib_hca *items; /* owned, by name */
    size_t count, capacity;
    struct oneib_error refused; /* code NONE, or the first device that is left out because its name
                                   is none of ours (ib/device.h) */
};

/* What to read: each costs system calls. */
#define ONEIB_HCA_PKEYS 1u /* tables of the ports */
#define ONEIB_HCA_VFS 2u   /* virtual functions */
/* Of mlx5: the way to its firmware, which is root's. That there is none is no fault. */
#define ONEIB_HCA_FIRMWARE 4u

/*
 * All adapters that are physical functions or have no SR-IOV at all (a VF that the host's own
 * driver holds is a device of its own in sysfs, and is left out: it is its adapter's), and that
 * have at least one port. A host without any is an empty list. What is wrong with one adapter is
 * its `fault`; -1 only when nothing could be listed.
 */
int oneib_hcas_read(unsigned what, struct oneib_hcas *hcas, struct oneib_error *err);
void oneib_hcas_clear(struct oneib_hcas *hcas);

/* NULL when there is none. */
const struct oneib_hca *oneib_hcas_find(const struct oneib_hcas *hcas, const char *name);
const struct oneib_port *oneib_hca_find_port(const struct oneib_hca *hca, uint8_t number);
const struct oneib_vf *oneib_hca_find_vf(const struct oneib_hca *hca, const struct oneib_pci *vf);
bool oneib_hca_has_infiniband(const struct oneib_hca *hca); /* a port that is */
/* The adapter that a VF belongs to, in *vf the VF; NULL: no adapter has it. */
const struct oneib_hca *oneib_hcas_of_vf(const struct oneib_hcas *hcas, const struct oneib_pci *pci,
                                         const struct oneib_vf **vf);

/*
 * The adapter and port that a grant names, which must be InfiniBand: which one a network means is
 * for oneibd to say (cluster/host_port.h). INPUT or NOT_FOUND says what there is instead.
 */
int oneib_hcas_find_port(const struct oneib_hcas *hcas, const char *device, uint8_t number,
                         const struct oneib_hca **hca, const struct oneib_port **port,
                         struct oneib_error *err);

/* Reads again what may have changed of a VF since the adapter was read: whether it is on the bus,
 * its host driver, and whether a network interface of it is up. NOT_FOUND when it is another PCI device now. */
int oneib_hca_reread_vf(const struct oneib_hca *hca, struct oneib_vf *vf, struct oneib_error *err);

/* Reads only the table of one port again, into *port. */
int oneib_hca_reread_pkeys(const struct oneib_hca *hca, struct oneib_port *port,
                           struct oneib_error *err);
/* Only as much of it as oneib_port_is_safe() looks at, and oneib_port_pkey_index() for this key:
 * the rest counts as empty. A table has 128 entries, each a file. */
int oneib_hca_seek_pkey(const struct oneib_hca *hca, struct oneib_port *port, oneib_pkey pkey,
                        bool limited, struct oneib_error *err);

/*
 * The index at which a port's table holds a key that suits: a limited NIC takes the limited entry
 * only (a full one would widen it), any other the full entry before the limited one. -1: none;
 * always so for what is no virtual network's key.
 */
int oneib_port_pkey_index(const struct oneib_port *port, oneib_pkey pkey, bool limited);

/*
 * Whether VFs of this port may be open at all: entry 0 must be the default partition, limited
 * (0x7fff), because every other entry of a VF points there: a full one reaches every tenant, and
 * any other key is somebody's. Besides, where the host sees the whole physical table of an mlx4
 * (its length is a power of two: under SR-IOV the driver shows one entry less, main.c
 * mlx4_parav_master_pf_caps), its last slot must be empty: VFs that were never closed are mapped to
 * it. REFUSED with the fix.
 */
int oneib_port_is_safe(const struct oneib_hca *hca, const struct oneib_port *port,
                       struct oneib_error *err);

/* Whether the host sees the slot for which an mlx4's entries without a key stand, see above: no key
 * may be there. */
bool oneib_port_shows_last_slot(const struct oneib_hca *hca, const struct oneib_port *port);

/* "down", "init", "armed", "active", "unknown". */
const char *oneib_port_state_name(uint8_t state);

#endif
