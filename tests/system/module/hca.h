/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A make-believe InfiniBand HCA on an emulated network card with SR-IOV: what the host sees of one,
 * and no data path.
 */
#ifndef ONEIB_HCA_H
#define ONEIB_HCA_H

#include <linux/netdevice.h>
#include <linux/pci.h>
#include <rdma/ib_verbs.h>

#define HCA_MAX_VFS 16
#define HCA_PKEYS 128

struct hca_vf {
	/* mlx5: what netlink or the files of sriov/N said. */
	u64 node_guid;
	u64 port_guid;
	int link; /* IFLA_VF_LINK_STATE_... */
	/* mlx5: the table of its own port. */
	u16 pkeys[HCA_PKEYS];
	/* mlx4: the alias GUID that was asked for, and the one that the subnet manager has
	 * accepted. */
	u64 asked;
	u64 accepted;
	/* mlx4: index in the port's table for each of the VF's own, or -1. */
	int map[HCA_PKEYS];
	struct net_device *interface;
};

/* Files and directories that go together. Once something has failed, nothing more is added. */
struct hca_tree {
	struct list_head files;
	struct list_head directories;
	int error;
};

struct hca {
	struct ib_device ib; /* first, for ib_alloc_device */
	struct pci_dev *pf;
	void __iomem *registers;
	struct net_device *interface;
	bool is_mlx4;
	u16 pkeys[HCA_PKEYS];
	struct hca_vf vfs[HCA_MAX_VFS];
	struct kobject *iov;
	struct hca_tree tree;	  /* stays as long as the adapter */
	struct hca_tree vfs_tree; /* of the VFs that there are now */
};

extern unsigned long hca_guid;
extern int hca_port_state;
extern int hca_guid_error;
extern bool hca_has_sriov_files;
extern bool hca_guid_pending;
extern bool hca_has_firmware;
extern bool hca_firmware_refuses;
extern bool hca_sm_is_unaware;

/* device.c */
struct hca *hca_register(struct pci_dev *pf, const char *name);
void hca_unregister(struct hca *hca);
void hca_event(struct hca *hca, int type);

/* driver.c */
void hca_give_guid(struct hca *hca, int vf, u64 guid);

/* interface.c */
struct net_device *hca_make_interface(struct hca *hca, const char *name, struct pci_dev *owner,
				      u64 guid);
void hca_drop_interface(struct net_device **interface);

/* firmware.c */
int hca_add_firmware(struct hca *hca);
void hca_drop_firmware(struct hca *hca);

/* files.c */
int hca_add_files(struct hca *hca);
int hca_add_vf_files(struct hca *hca);
void hca_drop_files(struct hca_tree *tree);

#endif
