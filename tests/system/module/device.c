// SPDX-License-Identifier: GPL-2.0
/* The ib_device: as much of one as programs on the host ask for. */
#include "hca.h"
#include <rdma/ib_mad.h>
#include <rdma/uverbs_ioctl.h>

#define FIRMWARE "20.31.1014"
#define GIDS 8

static int query_device(struct ib_device *ib, struct ib_device_attr *attr, struct ib_udata *udata)
{
	memset(attr, 0, sizeof(*attr));
	attr->fw_ver = 20ULL << 32 | 31 << 16 | 1014;
	attr->sys_image_guid = cpu_to_be64(hca_guid);
	attr->vendor_id = 0x2c9;
	attr->vendor_part_id = 4123;
	attr->max_pkeys = HCA_PKEYS;
	attr->max_qp = 1024;
	return 0;
}

static int query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr)
{
	attr->state = hca_port_state;
	attr->phys_state = hca_port_state >= IB_PORT_INIT ? IB_PORT_PHYS_STATE_LINK_UP
							  : IB_PORT_PHYS_STATE_POLLING;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_4096;
	attr->gid_tbl_len = GIDS;
	attr->pkey_tbl_len = HCA_PKEYS;
	attr->lid = 7;
	attr->sm_lid = 1;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_HDR;
	attr->max_msg_sz = 1 << 30;
	return 0;
}

static enum rdma_link_layer get_link_layer(struct ib_device *ib, u32 port)
{
	return IB_LINK_LAYER_INFINIBAND;
}

static int query_gid(struct ib_device *ib, u32 port, int index, union ib_gid *gid)
{
	gid->global.subnet_prefix = cpu_to_be64(0xfe80000000000000ULL);
	gid->global.interface_id = index == 0 ? cpu_to_be64(hca_guid) : 0;
	return 0;
}

static int query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
	if (index >= HCA_PKEYS)
		return -EINVAL;
	*pkey = container_of(ib, struct hca, ib)->pkeys[index];
	return 0;
}

static int get_port_immutable(struct ib_device *ib, u32 port, struct ib_port_immutable *immutable)
{
	immutable->pkey_tbl_len = HCA_PKEYS;
	immutable->gid_tbl_len = GIDS;
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_IB;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

static int alloc_ucontext(struct ib_ucontext *context, struct ib_udata *udata)
{
	return 0;
}

/* Without these two a program that has the device open would keep the driver from being removed. */
static void dealloc_ucontext(struct ib_ucontext *context)
{
}

static void disassociate_ucontext(struct ib_ucontext *context)
{
}

static void get_dev_fw_str(struct ib_device *ib, char *text)
{
	snprintf(text, IB_FW_VERSION_NAME_MAX, FIRMWARE);
}

static ssize_t hca_type_show(struct device *dev, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "MT4123\n");
}
static DEVICE_ATTR_RO(hca_type);

static struct attribute *attributes[] = { &dev_attr_hca_type.attr, NULL };
static const struct attribute_group group = { .attrs = attributes };

/* libibverbs opens it with its provider for rxe, which asks a device for nothing special when it is
 * only listened to. */
static const struct ib_device_ops ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_RXE,
	.uverbs_abi_ver = 2,
	.device_group = &group,
	.query_device = query_device,
	.query_port = query_port,
	.get_link_layer = get_link_layer,
	.query_gid = query_gid,
	.query_pkey = query_pkey,
	.get_port_immutable = get_port_immutable,
	.alloc_ucontext = alloc_ucontext,
	.dealloc_ucontext = dealloc_ucontext,
	.disassociate_ucontext = disassociate_ucontext,
	.get_dev_fw_str = get_dev_fw_str,
	.size_ib_ucontext = sizeof(struct ib_ucontext),
};

struct hca *hca_register(struct pci_dev *pf, const char *name)
{
	struct hca *hca = ib_alloc_device(hca, ib);
	int error;

	if (!hca)
		return ERR_PTR(-ENOMEM);
	hca->pf = pf;
	hca->pkeys[0] = 0x7fff; /* a limited member of the default partition, as oneib wants it */
	hca->ib.node_type = RDMA_NODE_IB_CA;
	hca->ib.node_guid = cpu_to_be64(hca_guid);
	hca->ib.phys_port_cnt = 1;
	hca->ib.num_comp_vectors = 1;
	hca->ib.dev.parent = &pf->dev;
	strscpy(hca->ib.node_desc, "make-believe HCA", sizeof(hca->ib.node_desc));
	ib_set_device_ops(&hca->ib, &ops);
	error = ib_register_device(&hca->ib, name, NULL);
	if (error) {
		ib_dealloc_device(&hca->ib);
		return ERR_PTR(error);
	}
	return hca;
}

void hca_unregister(struct hca *hca)
{
	ib_unregister_device(&hca->ib);
	ib_dealloc_device(&hca->ib);
}

void hca_event(struct hca *hca, int type)
{
	struct ib_event event = { .device = &hca->ib, .element.port_num = 1, .event = type };

	ib_dispatch_event(&event);
}
