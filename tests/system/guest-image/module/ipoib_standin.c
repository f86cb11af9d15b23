// SPDX-License-Identifier: GPL-2.0
/*
 * A stand-in for an HCA's driver and ib_ipoib, in a VM: it takes the VF of the node's make-believe
 * HCA, which is an igb VF, and gives it a network interface that looks like IPoIB's. The GUID is
 * the one that the adapter has given to the VF: ../../module/ leaves it in the memory that an igb
 * card's VF shares with its PF. There is no data path.
 */
#include <linux/if_arp.h>
#include <linux/if_infiniband.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/rtnetlink.h>

#define IGB_VF 0x10ca
#define REGISTERS 0
#define MAILBOX 0x800 /* VMBMEM in the data sheet of the 82576 */

#define IPOIB_HEADER 4
#define CONNECTED_MTU 65520

static bool enhanced;
module_param(enhanced, bool, 0444);
MODULE_PARM_DESC(enhanced, "there is no connected mode, as with mlx5's own IPoIB");

static int datagram_mtu = 2044;
module_param(datagram_mtu, int, 0444);
MODULE_PARM_DESC(datagram_mtu, "what the InfiniBand MTU leaves to a packet: 2044 or 4092");

struct interface {
	bool connected;
};

static netdev_tx_t start_xmit(struct sk_buff *packet, struct net_device *device)
{
	dev_kfree_skb(packet);
	return NETDEV_TX_OK;
}

static int change_mtu(struct net_device *device, int mtu)
{
	struct interface *interface = netdev_priv(device);

	if (mtu > (interface->connected ? CONNECTED_MTU : datagram_mtu))
		return -EINVAL;
	device->mtu = mtu;
	return 0;
}

static const struct net_device_ops operations = {
	.ndo_start_xmit = start_xmit,
	.ndo_change_mtu = change_mtu,
};

static ssize_t mode_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	struct interface *interface = netdev_priv(to_net_dev(dev));

	return sysfs_emit(text, "%s\n", interface->connected ? "connected" : "datagram");
}

static ssize_t mode_store(struct device *dev, struct device_attribute *attribute, const char *text,
			  size_t length)
{
	struct net_device *device = to_net_dev(dev);
	struct interface *interface = netdev_priv(device);

	if (sysfs_streq(text, "connected") && !enhanced) {
		interface->connected = true;
		return length;
	}
	if (!sysfs_streq(text, "datagram"))
		return -EINVAL;
	rtnl_lock();
	interface->connected = false;
	dev_set_mtu(device, min_t(int, device->mtu, datagram_mtu));
	rtnl_unlock();
	return length;
}
static DEVICE_ATTR_RW(mode);

static struct attribute *attributes[] = { &dev_attr_mode.attr, NULL };
static const struct attribute_group group = { .attrs = attributes };

static void setup(struct net_device *device)
{
	device->netdev_ops = &operations;
	device->type = ARPHRD_INFINIBAND;
	device->addr_len = INFINIBAND_ALEN;
	device->hard_header_len = IPOIB_HEADER;
	device->mtu = datagram_mtu;
	device->min_mtu = ETH_MIN_MTU;
	device->max_mtu = CONNECTED_MTU;
	device->tx_queue_len = 256;
	device->flags = IFF_BROADCAST | IFF_MULTICAST;
	device->sysfs_groups[0] = &group;
	memset(device->broadcast, 0xff, INFINIBAND_ALEN);
}

/* A queue pair's number, then the GID: prefix and GUID. */
static void set_address(struct net_device *device, const __be32 guid[2])
{
	u8 address[INFINIBAND_ALEN] = { 0x80, 0x00, 0x02, 0x08, 0xfe, 0x80 };

	memcpy(address + 12, guid, 8);
	dev_addr_set(device, address);
}

static int read_guid(struct pci_dev *vf, __be32 guid[2])
{
	void __iomem *registers = pci_iomap(vf, REGISTERS, 0);

	if (!registers)
		return -ENOMEM;
	guid[0] = cpu_to_be32(readl(registers + MAILBOX));
	guid[1] = cpu_to_be32(readl(registers + MAILBOX + 4));
	pci_iounmap(vf, registers);
	return 0;
}

static int probe(struct pci_dev *vf, const struct pci_device_id *id)
{
	struct net_device *device;
	__be32 guid[2];
	int error;

	error = pcim_enable_device(vf);
	if (!error)
		error = read_guid(vf, guid);
	if (error)
		return error;
	device = alloc_netdev(sizeof(struct interface), "ib%d", NET_NAME_ENUM, setup);
	if (!device)
		return -ENOMEM;
	set_address(device, guid);
	SET_NETDEV_DEV(device, &vf->dev);
	error = register_netdev(device);
	if (error) {
		free_netdev(device);
		return error;
	}
	pci_set_drvdata(vf, device);
	return 0;
}

static void remove(struct pci_dev *vf)
{
	struct net_device *device = pci_get_drvdata(vf);

	unregister_netdev(device);
	free_netdev(device);
}

static const struct pci_device_id cards[] = { { PCI_DEVICE(PCI_VENDOR_ID_INTEL, IGB_VF) }, {} };
MODULE_DEVICE_TABLE(pci, cards);

static struct pci_driver standin = {
	.name = "ipoib_standin",
	.id_table = cards,
	.probe = probe,
	.remove = remove,
};
module_pci_driver(standin);

MODULE_DESCRIPTION("Stand-in for an InfiniBand VF's drivers, for oneib's tests");
MODULE_LICENSE("GPL");
