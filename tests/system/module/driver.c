// SPDX-License-Identifier: GPL-2.0
/*
 * The PCI driver, which is called as a real one is: by that name oneib tells adapters apart. It
 * takes an igb card, because that is what QEMU emulates with SR-IOV. Of its registers it uses only
 * the memory that each VF shares with the PF: there the driver in a VM finds the VF's GUID.
 */
#include "hca.h"
#include <linux/if_link.h>
#include <linux/module.h>

#define IGB_PF 0x10c9
#define IGB_VF 0x10ca
#define REGISTERS 0
#define MAILBOX(vf) (0x800 + 0x40 * (vf)) /* VMBMEM in the data sheet of the 82576 */

static char *driver = "mlx5_core";
module_param(driver, charp, 0444);
MODULE_PARM_DESC(driver, "what it is called: mlx5_core or mlx4_core");

static char *name = "mlx5_0";
module_param(name, charp, 0444);
MODULE_PARM_DESC(name, "the ib_device's name");

static char *interface = "ib0";
module_param(interface, charp, 0444);
MODULE_PARM_DESC(interface, "mlx5's network interface; empty: none");

static bool vf_interfaces;
module_param(vf_interfaces, bool, 0644);
MODULE_PARM_DESC(vf_interfaces, "a VF that this driver takes gets a network interface");

unsigned long hca_guid = 0x0002c90300112233UL;
module_param_named(guid, hca_guid, ulong, 0444);
MODULE_PARM_DESC(guid, "of node and port");

int hca_port_state = IB_PORT_ACTIVE;
module_param_named(port_state, hca_port_state, int, 0644);
MODULE_PARM_DESC(port_state, "1 down, 2 initializing, 3 armed, 4 active");

int hca_guid_error;
module_param_named(guid_error, hca_guid_error, int, 0644);
MODULE_PARM_DESC(guid_error, "errno that setting a GUID over netlink fails with; 0: it does not");

bool hca_has_sriov_files = true;
module_param_named(sriov_files, hca_has_sriov_files, bool, 0444);
MODULE_PARM_DESC(sriov_files, "mlx5's sriov/N is there, as in NVIDIA's driver");

bool hca_guid_pending;
module_param_named(guid_pending, hca_guid_pending, bool, 0644);
MODULE_PARM_DESC(guid_pending, "mlx4: no subnet manager accepts GUIDs for now");

bool hca_has_firmware;
module_param_named(firmware, hca_has_firmware, bool, 0444);
MODULE_PARM_DESC(firmware, "mlx5's firmware can be asked through fwctl");

bool hca_firmware_refuses;
module_param_named(firmware_refuses, hca_firmware_refuses, bool, 0644);
MODULE_PARM_DESC(firmware_refuses, "and does not tell");

bool hca_sm_is_unaware;
module_param_named(sm_is_unaware, hca_sm_is_unaware, bool, 0644);
MODULE_PARM_DESC(sm_is_unaware, "and says that the subnet manager does not know virtual ports");

/* The port's. It is there as long as the adapter: a reset of the VF does not clear it. */
void hca_give_guid(struct hca *hca, int vf, u64 guid)
{
	writel(upper_32_bits(guid), hca->registers + MAILBOX(vf));
	writel(lower_32_bits(guid), hca->registers + MAILBOX(vf) + 4);
}

/* mlx5 starts VFs with their links down; mlx4 maps each one's first key to the port's. */
static void reset_vfs(struct hca *hca)
{
	int vf, i;

	memset(hca->vfs, 0, sizeof(hca->vfs));
	for (vf = 0; vf < HCA_MAX_VFS; vf++) {
		hca->vfs[vf].link = IFLA_VF_LINK_STATE_DISABLE;
		hca_give_guid(hca, vf, 0);
		for (i = 1; i < HCA_PKEYS; i++)
			hca->vfs[vf].map[i] = -1;
	}
}

static void disable_vfs(struct hca *hca)
{
	pci_disable_sriov(hca->pf);
	hca_drop_files(&hca->vfs_tree);
}

static int sriov_configure(struct pci_dev *pf, int count)
{
	struct hca *hca = pci_get_drvdata(pf);
	int error;

	if (count == 0) {
		disable_vfs(hca);
		return 0;
	}
	if (count > HCA_MAX_VFS)
		return -EINVAL;
	reset_vfs(hca);
	error = pci_enable_sriov(pf, count);
	if (error)
		return error;
	error = hca_add_vf_files(hca);
	if (error) {
		disable_vfs(hca);
		return error;
	}
	return count;
}

static void init_tree(struct hca_tree *tree)
{
	INIT_LIST_HEAD(&tree->files);
	INIT_LIST_HEAD(&tree->directories);
}

static void remove_pf(struct pci_dev *pf)
{
	struct hca *hca = pci_get_drvdata(pf);

	hca_drop_firmware(hca);
	disable_vfs(hca);
	hca_drop_interface(&hca->interface);
	hca_drop_files(&hca->tree);
	pci_iounmap(pf, hca->registers);
	hca_unregister(hca);
	pci_disable_device(pf);
}

static int probe_pf(struct pci_dev *pf)
{
	struct hca *hca;
	int error;

	error = pci_enable_device(pf);
	if (error)
		return error;
	pci_set_master(pf);
	hca = hca_register(pf, name);
	if (IS_ERR(hca)) {
		pci_disable_device(pf);
		return PTR_ERR(hca);
	}
	hca->registers = pci_iomap(pf, REGISTERS, 0);
	if (!hca->registers) {
		hca_unregister(hca);
		pci_disable_device(pf);
		return -ENOMEM;
	}
	pci_set_drvdata(pf, hca);
	hca->is_mlx4 = strcmp(driver, "mlx4_core") == 0;
	init_tree(&hca->tree);
	init_tree(&hca->vfs_tree);
	error = hca_add_files(hca);
	if (!error && !hca->is_mlx4 && *interface) {
		struct net_device *made = hca_make_interface(hca, interface, pf, hca_guid);

		if (IS_ERR(made))
			error = PTR_ERR(made);
		else
			hca->interface = made;
	}
	if (!error && !hca->is_mlx4 && hca_has_firmware)
		error = hca_add_firmware(hca);
	if (error)
		remove_pf(pf);
	return error;
}

static struct hca_vf *vf_of(struct pci_dev *device)
{
	struct hca *hca = pci_get_drvdata(pci_physfn(device));

	return &hca->vfs[pci_iov_vf_id(device)];
}

static int probe_vf(struct pci_dev *device)
{
	struct hca_vf *vf = vf_of(device);
	struct net_device *made;

	if (!vf_interfaces)
		return 0;
	made = hca_make_interface(pci_get_drvdata(pci_physfn(device)), "ib%d", device,
				  vf->port_guid);
	if (IS_ERR(made))
		return PTR_ERR(made);
	vf->interface = made;
	return 0;
}

static int probe(struct pci_dev *device, const struct pci_device_id *id)
{
	return device->is_virtfn ? probe_vf(device) : probe_pf(device);
}

static void remove(struct pci_dev *device)
{
	if (device->is_virtfn)
		hca_drop_interface(&vf_of(device)->interface);
	else
		remove_pf(device);
}

static const struct pci_device_id cards[] = { { PCI_DEVICE(PCI_VENDOR_ID_INTEL, IGB_PF) },
					      { PCI_DEVICE(PCI_VENDOR_ID_INTEL, IGB_VF) },
					      {} };

static struct pci_driver pci_driver = {
	.id_table = cards,
	.probe = probe,
	.remove = remove,
	.sriov_configure = sriov_configure,
};

static int __init start(void)
{
	pci_driver.name = driver;
	return pci_register_driver(&pci_driver);
}

static void __exit stop(void)
{
	pci_unregister_driver(&pci_driver);
}

module_init(start);
module_exit(stop);
MODULE_DESCRIPTION("Make-believe InfiniBand HCA for oneib's tests");
MODULE_LICENSE("GPL");
