// SPDX-License-Identifier: Apache-2.0
/*
 * Sysfs trees for unit tests: a directory that stands for a node's root (ONEIB_NODE_ROOT), with the
 * adapters that a test wants, linked with each other as the kernel does it. Nothing plays the
 * kernel's part: a file holds what was written to it last. A call that fails ends the program with
 * its words on stderr: a test that has no tree proves nothing.
 *
 * root/sys/class/infiniband/DEVICE -> ../../devices/pci.../PF/infiniband/DEVICE
 * root/sys/bus/pci/devices/PCI     -> ../../../devices/pci.../PCI
 * root/sys/bus/pci/drivers/DRIVER/ bind, unbind
 * root/proc, root/run, root/etc/oneib: empty
 */
#ifndef ONEIB_UNIT_TREE_H
#define ONEIB_UNIT_TREE_H

#include "cluster/cloud.h"
#include "ib/pci.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The first call of a test's main(): makes the root below $ONEIB_TREES, $TMPDIR, /dev/shm or /tmp,
 * and names it in the environment. The code under test ignores that name when root runs it, so that
 * a test which root started becomes nobody (65534), for good.
 */
void tree_open(void);
/* Instead, for who has several trees: the root is from here on this directory, which must be there.
 * The caller removes it. */
void tree_at(const char *directory);
/* The last one: removes the root that tree_open() made. Returns `status`, so that main() can end
 * with `return tree_close(cmocka_run_group_tests(...))`. */
int tree_close(int status);
/* Without a slash at its end. */
const char *tree_root(void);
/* Empties the root, and makes the directories above. A setup for cmocka (state may be NULL): 0. */
int tree_reset(void **state);

/* An adapter. Fields that are 0 or NULL mean what stands first. */
struct tree_hca {
    const char *name;             /* "mlx4_0" */
    enum oneib_hca_driver driver; /* OTHER: driver "hfi1"; MLX4, MLX5: mlx4_core, mlx5_core */
    const char *pci;              /* "0000:81:00.0" */
    unsigned ports;               /* 1; or 2 */
    unsigned pkeys;         /* entries of each port's table as the host sees it: 127 with VFs on
                               mlx4 (shortened by one), 128 otherwise */
    unsigned vfs;           /* sriov_numvfs; 0: SR-IOV is off */
    unsigned vfs_supported; /* sriov_totalvfs: as many as vfs */
    bool without_sriov;     /* it has no sriov_ files at all */
    int numa_node;
    unsigned ethernet_ports; /* bit n: port n is Ethernet */
    bool odd_directories;    /* mlx4: the directory of VF n below iov/ has VF n+1's PCI address for
                            its name, and the last one that of VF 0 */
    bool without_sriov_directory; /* mlx5: NVIDIA's device/sriov/N is not there */
};

/*
 * Makes it: ports active with LID 4 x n, 56 Gb/s, port n's GUID tree_port_guid(n), entry 0 of the
 * table 0x7fff and all others empty, one IPoIB interface a port; VFs on vfio-pci, closed.
 * mlx4: for each VF an alias GUID of 0 (never set) in admin_guids and in gids; pkey_idx of a VF as
 * after the adapter's start: entry 0 is 0, all others "none". mlx5: GUIDs 0, policy "Down".
 */
void tree_add_hca(const struct tree_hca *hca);
/* All of it is gone, its VFs too. */
void tree_remove_hca(const struct tree_hca *hca);

uint64_t tree_node_guid(const struct tree_hca *hca);
uint64_t tree_port_guid(const struct tree_hca *hca, unsigned port);
/* PCI address of VF n: function by function, behind the PF. */
struct oneib_pci tree_vf_pci(const struct tree_hca *hca, unsigned vf);
/* Name of VF n's directory below iov/. */
void tree_vf_directory(const struct tree_hca *hca, unsigned vf,
                       char directory[ONEIB_PCI_TEXT_SIZE]);

/* Entry of a port's table, where the host reads it and below iov/ports. */
void tree_set_pkey(const struct tree_hca *hca, unsigned port, unsigned index, uint16_t raw);
/* Entry of a VF's map: "none" or a decimal. */
void tree_set_vf_pkey(const struct tree_hca *hca, unsigned vf, unsigned port, unsigned entry,
                      const char *value);
void tree_get_vf_pkey(const struct tree_hca *hca, unsigned vf, unsigned port, unsigned entry,
                      char *value, size_t size);
/* The SM accepts it, or lets go of it (0): gids of that alias shows it. */
void tree_set_alias(const struct tree_hca *hca, unsigned vf, unsigned port, uint64_t guid);

/* Binds VF n to another driver; NULL: none. */
void tree_bind_vf(const struct tree_hca *hca, unsigned vf, const char *driver);
/* What a host driver makes of a VF: an RDMA device of its own, with one port ... */
void tree_add_vf_device(const struct tree_hca *hca, unsigned vf, const char *device);
/* ... and a network interface. */
void tree_add_vf_interface(const struct tree_hca *hca, unsigned vf, const char *interface, bool up);

/* Paths are formatted and begin with a slash below the root: "/sys/class/infiniband/%s/...". */
#define TREE_FORMAT(n) __attribute__((format(printf, n, (n) + 1)))
/* The whole path; freed with free(). */
char *tree_path(const char *format, ...) TREE_FORMAT(1);
bool tree_exists(const char *format, ...) TREE_FORMAT(1);
/* A plain file, directories above it included; `value` gets a newline. An old file keeps its inode.
 */
void tree_write(const char *value, const char *format, ...) TREE_FORMAT(2);
/* Nobody reads half of it, as of a file of the kernel's. */
void tree_replace(const char *value, const char *format, ...) TREE_FORMAT(2);
/* Its first line. */
void tree_read(char *text, size_t size, const char *format, ...) TREE_FORMAT(3);
void tree_make_directory(const char *format, ...) TREE_FORMAT(1);
/* A relative link, as sysfs has them, to `target`, a path below the root. */
void tree_link(const char *target, const char *format, ...) TREE_FORMAT(2);
void tree_set_mode(mode_t mode, const char *format, ...) TREE_FORMAT(2);
/* A file, a link, or a directory with all that is in it; nothing there is fine. */
void tree_remove(const char *format, ...) TREE_FORMAT(1);

#endif
