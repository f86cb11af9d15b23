// SPDX-License-Identifier: GPL-2.0
/*
 * A stand-in for Linux's fwctl (drivers/fwctl, 6.15) and for the firmware of an mlx5 adapter behind
 * it: /dev/fwctl/fwctl0, whose parent is the PF. It answers what oneib asks of a VF's virtual port
 * and of the subnet manager, as include/uapi/fwctl/fwctl.h and include/linux/mlx5/mlx5_ifc.h of
 * Linux have it, and refuses all else. Nobody has compared it with an adapter.
 */
#include "hca.h"
#include <linux/cdev.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#define FWCTL_TYPE 0x9a
#define FWCTL_INFO _IO(FWCTL_TYPE, 0)
#define FWCTL_RPC _IO(FWCTL_TYPE, 1)
#define DEVICE_TYPE_MLX5 1
#define RPC_DEBUG_READ_ONLY 1

struct fwctl_info {
	__u32 size;
	__u32 flags;
	__u32 out_device_type;
	__u32 device_data_len;
	__aligned_u64 out_device_data;
};

struct fwctl_rpc {
	__u32 size;
	__u32 scope;
	__u32 in_len;
	__u32 out_len;
	__aligned_u64 in;
	__aligned_u64 out;
};

#define QUERY_HCA_VPORT_CONTEXT 0x762
#define QUERY_HCA_VPORT_GID 0x764
#define QUERY_HCA_VPORT_PKEY 0x765
#define ALL_PKEYS 0xffff
#define BAD_OP 0x02
#define BAD_PARAM 0x03
#define BAD_OUTP_LEN 0x51

struct command {
	__be16 opcode;
	__be16 uid;
	__be16 reserved;
	__be16 op_mod;
	__be16 other_vport_and_port;
	__be16 vport_number;
	__be16 reserved_too;
	__be16 index;
};

struct answer {
	u8 status;
	u8 reserved[3];
	__be32 syndrome;
	u8 reserved_too[4];
	__be16 gids_num;
	u8 reserved_at_last[2];
	union {
		__be64 gid[2];
		struct {
			__be16 reserved;
			__be16 pkey;
		} pkeys[HCA_PKEYS];
		struct {
			u8 field_select_and_reserved[0x20];
			u8 sm_virt_aware_in_its_first_bit;
			u8 rest[0x200 - 0x21];
		} context;
	};
};

#define HEAD offsetof(struct answer, gid)

/* The adapter; NULL: it has gone, and whoever has the device open is told so. */
static struct hca *adapter;
static DEFINE_MUTEX(lock);
static struct class *class;
static struct cdev device;
static dev_t number;

static void tell_gid(const struct hca_vf *vf, struct answer *answer)
{
	answer->gids_num = cpu_to_be16(1);
	answer->gid[0] = cpu_to_be64(0xfe80000000000000ULL);
	answer->gid[1] = cpu_to_be64(vf->port_guid);
}

static void tell_pkeys(const struct hca_vf *vf, struct answer *answer)
{
	int i;

	for (i = 0; i < HCA_PKEYS; i++)
		answer->pkeys[i].pkey = cpu_to_be16(vf->pkeys[i]);
}

/* Of the PF's own port. */
static void execute_context(const struct command *command, size_t room, struct answer *answer)
{
	if (hca_firmware_refuses)
		answer->status = BAD_OP;
	else if (command->other_vport_and_port || command->op_mod || command->vport_number ||
		 command->index)
		answer->status = BAD_PARAM;
	else if (room != HEAD + sizeof(answer->context))
		answer->status = BAD_OUTP_LEN;
	else
		answer->context.sm_virt_aware_in_its_first_bit = hca_sm_is_unaware ? 0 : 0x80;
}

/* What firmware makes of a command. */
static void execute(const struct command *command, size_t room, struct answer *answer)
{
	bool wants_gid = be16_to_cpu(command->opcode) == QUERY_HCA_VPORT_GID;
	unsigned int vport = be16_to_cpu(command->vport_number);

	if (hca_firmware_refuses)
		answer->status = BAD_OP;
	else if (be16_to_cpu(command->other_vport_and_port) != 0x8000 || command->op_mod ||
		 vport == 0 || vport > pci_num_vf(adapter->pf) ||
		 be16_to_cpu(command->index) != (wants_gid ? 0 : ALL_PKEYS))
		answer->status = BAD_PARAM;
	else if (room != (wants_gid ? HEAD + sizeof(answer->gid) : sizeof(*answer)))
		answer->status = BAD_OUTP_LEN;
	else if (wants_gid)
		tell_gid(&adapter->vfs[vport - 1], answer);
	else
		tell_pkeys(&adapter->vfs[vport - 1], answer);
}

static long run(struct fwctl_rpc *rpc)
{
	struct command command;
	struct answer *answer;
	long error = 0;

	if (rpc->size != sizeof(*rpc) || rpc->in_len != sizeof(command) || rpc->out_len < HEAD)
		return -EMSGSIZE;
	if (copy_from_user(&command, u64_to_user_ptr(rpc->in), sizeof(command)))
		return -EFAULT;
	if (rpc->scope != RPC_DEBUG_READ_ONLY ||
	    (be16_to_cpu(command.opcode) != QUERY_HCA_VPORT_CONTEXT &&
	     be16_to_cpu(command.opcode) != QUERY_HCA_VPORT_GID &&
	     be16_to_cpu(command.opcode) != QUERY_HCA_VPORT_PKEY))
		return -EBADMSG;
	answer = kzalloc(sizeof(*answer), GFP_KERNEL);
	if (!answer)
		return -ENOMEM;
	if (be16_to_cpu(command.opcode) == QUERY_HCA_VPORT_CONTEXT)
		execute_context(&command, rpc->out_len, answer);
	else
		execute(&command, rpc->out_len, answer);
	if (copy_to_user(u64_to_user_ptr(rpc->out), answer,
			 min_t(size_t, rpc->out_len, sizeof(*answer))))
		error = -EFAULT;
	kfree(answer);
	return error;
}

static long act(unsigned int request, void __user *user)
{
	struct fwctl_info info;
	struct fwctl_rpc rpc;
	long error;

	if (!adapter)
		return -ENODEV;
	if (request == FWCTL_INFO) {
		if (copy_from_user(&info, user, sizeof(info)))
			return -EFAULT;
		info.out_device_type = DEVICE_TYPE_MLX5;
		return copy_to_user(user, &info, sizeof(info)) ? -EFAULT : 0;
	}
	if (request != FWCTL_RPC)
		return -ENOTTY;
	if (copy_from_user(&rpc, user, sizeof(rpc)))
		return -EFAULT;
	error = run(&rpc);
	return error ? error : copy_to_user(user, &rpc, sizeof(rpc)) ? -EFAULT : 0;
}

static long ioctl(struct file *file, unsigned int request, unsigned long user)
{
	long result;

	mutex_lock(&lock);
	result = act(request, (void __user *)user);
	mutex_unlock(&lock);
	return result;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = ioctl,
};

static char *node_name(struct device *of, umode_t *mode)
{
	return kasprintf(GFP_KERNEL, "fwctl/%s", dev_name(of));
}

static int make_device(struct hca *hca)
{
	struct device *made;
	int error;

	cdev_init(&device, &operations);
	error = cdev_add(&device, number, 1);
	if (error)
		return error;
	made = device_create(class, &hca->pf->dev, number, NULL, "fwctl0");
	if (!IS_ERR(made))
		return 0;
	cdev_del(&device);
	return PTR_ERR(made);
}

int hca_add_firmware(struct hca *hca)
{
	int error = alloc_chrdev_region(&number, 0, 1, "fwctl");

	if (error)
		return error;
	class = class_create(THIS_MODULE, "fwctl");
	if (IS_ERR(class)) {
		unregister_chrdev_region(number, 1);
		return PTR_ERR(class);
	}
	class->devnode = node_name;
	adapter = hca;
	error = make_device(hca);
	if (error) {
		adapter = NULL;
		class_destroy(class);
		unregister_chrdev_region(number, 1);
	}
	return error;
}

void hca_drop_firmware(struct hca *hca)
{
	mutex_lock(&lock);
	if (adapter == hca) {
		adapter = NULL;
		mutex_unlock(&lock);
		device_destroy(class, number);
		cdev_del(&device);
		class_destroy(class);
		unregister_chrdev_region(number, 1);
		return;
	}
	mutex_unlock(&lock);
}
