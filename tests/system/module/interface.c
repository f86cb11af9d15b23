// SPDX-License-Identifier: GPL-2.0
/* A network interface like IPoIB's. By netlink it takes the GUIDs and link states of VFs, as mlx5's
 * does. */
#include "hca.h"
#include <linux/if_arp.h>
#include <linux/if_infiniband.h>
#include <linux/if_link.h>

#define IPOIB_HEADER 4
#define IPOIB_MTU 2044

/* The interface may be there without an HCA: that of a VF on the host. */
struct interface {
	struct hca *hca;
};

static struct hca_vf *vf_of(struct net_device *device, int vf)
{
	struct hca *hca = ((struct interface *)netdev_priv(device))->hca;

	if (vf < 0 || vf >= min(pci_num_vf(hca->pf), HCA_MAX_VFS))
		return ERR_PTR(-EINVAL);
	return &hca->vfs[vf];
}

static netdev_tx_t start_xmit(struct sk_buff *packet, struct net_device *device)
{
	dev_kfree_skb(packet);
	return NETDEV_TX_OK;
}

static int get_vf_config(struct net_device *device, int index, struct ifla_vf_info *info)
{
	struct hca_vf *vf = vf_of(device, index);

	if (IS_ERR(vf))
		return PTR_ERR(vf);
	memset(info, 0, sizeof(*info));
	info->vf = index;
	info->linkstate = vf->link;
	return 0;
}

static int set_vf_link_state(struct net_device *device, int index, int state)
{
	struct hca_vf *vf = vf_of(device, index);

	if (IS_ERR(vf))
		return PTR_ERR(vf);
	if (state < 0 || state > IFLA_VF_LINK_STATE_DISABLE)
		return -EINVAL;
	vf->link = state;
	return 0;
}

static int set_vf_guid(struct net_device *device, int index, u64 guid, int type)
{
	struct hca_vf *vf = vf_of(device, index);

	if (IS_ERR(vf))
		return PTR_ERR(vf);
	/* All ones take a GUID away, which is never refused. */
	if (hca_guid_error && guid != U64_MAX)
		return -hca_guid_error;
	switch (type) {
	case IFLA_VF_IB_NODE_GUID:
		vf->node_guid = guid;
		return 0;
	case IFLA_VF_IB_PORT_GUID:
		vf->port_guid = guid;
		hca_give_guid(((struct interface *)netdev_priv(device))->hca, index, guid);
		return 0;
	default:
		return -EINVAL;
	}
}

static int get_vf_guid(struct net_device *device, int index, struct ifla_vf_guid *node,
		       struct ifla_vf_guid *port)
{
	struct hca_vf *vf = vf_of(device, index);

	if (IS_ERR(vf))
		return PTR_ERR(vf);
	node->guid = vf->node_guid;
	port->guid = vf->port_guid;
	return 0;
}

static const struct net_device_ops pf_ops = {
	.ndo_start_xmit = start_xmit,
	.ndo_get_vf_config = get_vf_config,
	.ndo_set_vf_link_state = set_vf_link_state,
	.ndo_set_vf_guid = set_vf_guid,
	.ndo_get_vf_guid = get_vf_guid,
};

static const struct net_device_ops vf_ops = {
	.ndo_start_xmit = start_xmit,
};

/* As mlx5's own IPoIB there is no connected mode. Network managers look for the file. */
static ssize_t mode_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	return sysfs_emit(text, "datagram\n");
}

static ssize_t mode_store(struct device *dev, struct device_attribute *attribute, const char *text,
			  size_t length)
{
	return sysfs_streq(text, "datagram") ? (ssize_t)length : -EINVAL;
}
static DEVICE_ATTR_RW(mode);

static struct attribute *attributes[] = { &dev_attr_mode.attr, NULL };
static const struct attribute_group group = { .attrs = attributes };

static void setup(struct net_device *device)
{
	device->type = ARPHRD_INFINIBAND;
	device->addr_len = INFINIBAND_ALEN;
	device->hard_header_len = IPOIB_HEADER;
	device->mtu = IPOIB_MTU;
	device->min_mtu = ETH_MIN_MTU;
	device->max_mtu = IPOIB_MTU;
	device->tx_queue_len = 256;
	device->flags = IFF_BROADCAST | IFF_MULTICAST;
	device->sysfs_groups[0] = &group;
	memset(device->broadcast, 0xff, INFINIBAND_ALEN);
}

static void set_address(struct net_device *device, u64 guid)
{
	/* A queue pair's number, then the GID: prefix and GUID. */
	u8 address[INFINIBAND_ALEN] = { 0x80, 0x00, 0x02, 0x08, 0xfe, 0x80 };
	__be64 big_endian = cpu_to_be64(guid);

	memcpy(address + 12, &big_endian, sizeof(big_endian));
	dev_addr_set(device, address);
}

struct net_device *hca_make_interface(struct hca *hca, const char *name, struct pci_dev *owner,
				      u64 guid)
{
	struct net_device *device =
		alloc_netdev(sizeof(struct interface), name, NET_NAME_ENUM, setup);
	int error;

	if (!device)
		return ERR_PTR(-ENOMEM);
	((struct interface *)netdev_priv(device))->hca = hca;
	device->netdev_ops = owner == hca->pf ? &pf_ops : &vf_ops;
	set_address(device, guid);
	SET_NETDEV_DEV(device, &owner->dev);
	error = register_netdev(device);
	if (error) {
		free_netdev(device);
		return ERR_PTR(error);
	}
	return device;
}

void hca_drop_interface(struct net_device **interface)
{
	if (!*interface)
		return;
	unregister_netdev(*interface);
	free_netdev(*interface);
	*interface = NULL;
}
