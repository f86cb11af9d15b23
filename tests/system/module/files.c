// SPDX-License-Identifier: GPL-2.0
/*
 * Files in sysfs.
 *   mlx5, below the PF:        sriov/N/{node,port,policy}
 *   mlx4, below the ib_device: iov/ports/1/{admin_guids,gids,pkeys}/N,
 * iov/VF/ports/1/{gid_idx,pkey_idx}/N for tests, below the PF:   fake/pkey takes "INDEX KEY" for
 * the port's table and raises the event, fake/event takes the number of an event, fake/vfs shows
 * what VFs were told, fake/vf_pkey takes "VF INDEX KEY" for the table of a VF's own port (mlx5)
 */
#include "hca.h"
#include <linux/if_link.h>

struct entry;
typedef ssize_t (*show_fn)(struct hca *hca, const struct entry *file, char *text);
typedef int (*store_fn)(struct hca *hca, const struct entry *file, const char *text);

struct entry {
	struct kobj_attribute attribute;
	char name[8];
	struct hca *hca;
	int vf;
	int index;
	show_fn show;
	store_fn store;
	struct kobject *directory;
	struct list_head list;
};

struct directory {
	struct kobject *kobject;
	struct list_head list;
};

/* ---- what files hold ------------------------------------------------------------------------- */

static const char *const policies[] = {
	[IFLA_VF_LINK_STATE_AUTO] = "Follow",
	[IFLA_VF_LINK_STATE_ENABLE] = "Up",
	[IFLA_VF_LINK_STATE_DISABLE] = "Down",
};

static ssize_t show_guid(char *text, u64 guid)
{
	__be64 big_endian = cpu_to_be64(guid);

	return sysfs_emit(text, "%8phC\n", &big_endian);
}

static int store_guid(const char *text, u64 *guid)
{
	u8 byte[8];
	__be64 big_endian;

	if (sscanf(text, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx", &byte[0], &byte[1],
		   &byte[2], &byte[3], &byte[4], &byte[5], &byte[6], &byte[7]) != 8)
		return -EINVAL;
	memcpy(&big_endian, byte, sizeof(big_endian));
	*guid = be64_to_cpu(big_endian);
	return 0;
}

static ssize_t show_node(struct hca *hca, const struct entry *file, char *text)
{
	return show_guid(text, hca->vfs[file->vf].node_guid);
}

static int store_node(struct hca *hca, const struct entry *file, const char *text)
{
	return store_guid(text, &hca->vfs[file->vf].node_guid);
}

static ssize_t show_port(struct hca *hca, const struct entry *file, char *text)
{
	return show_guid(text, hca->vfs[file->vf].port_guid);
}

static int store_port(struct hca *hca, const struct entry *file, const char *text)
{
	int error = store_guid(text, &hca->vfs[file->vf].port_guid);

	if (!error)
		hca_give_guid(hca, file->vf, hca->vfs[file->vf].port_guid);
	return error;
}

static ssize_t show_policy(struct hca *hca, const struct entry *file, char *text)
{
	return sysfs_emit(text, "%s\n", policies[hca->vfs[file->vf].link]);
}

static int store_policy(struct hca *hca, const struct entry *file, const char *text)
{
	int policy = sysfs_match_string(policies, text);

	if (policy < 0)
		return policy;
	hca->vfs[file->vf].link = policy;
	return 0;
}

/* Index 0 of mlx4's GUID files is the host's, N + 1 is VF N's. */
static ssize_t show_admin_guid(struct hca *hca, const struct entry *file, char *text)
{
	return sysfs_emit(text, "%llx\n",
			  file->index ? hca->vfs[file->index - 1].asked : (u64)hca_guid);
}

static int store_admin_guid(struct hca *hca, const struct entry *file, const char *text)
{
	struct hca_vf *vf = &hca->vfs[file->index - 1];
	u64 guid;

	if (file->index == 0 || kstrtou64(text, 16, &guid))
		return -EINVAL;
	vf->asked = guid;
	if (hca_guid_pending)
		return 0;
	vf->accepted = guid == ~0ULL ? 0 : guid; /* all ones: the driver's word for deleting it */
	hca_give_guid(hca, file->index - 1, vf->accepted);
	return 0;
}

static ssize_t show_gid(struct hca *hca, const struct entry *file, char *text)
{
	u64 guid = file->index ? hca->vfs[file->index - 1].accepted : hca_guid;

	return sysfs_emit(text, "fe80:0000:0000:0000:%04x:%04x:%04x:%04x\n", (u16)(guid >> 48),
			  (u16)(guid >> 32), (u16)(guid >> 16), (u16)guid);
}

static ssize_t show_pkey(struct hca *hca, const struct entry *file, char *text)
{
	return sysfs_emit(text, "0x%04x\n", hca->pkeys[file->index]);
}

static ssize_t show_gid_index(struct hca *hca, const struct entry *file, char *text)
{
	return sysfs_emit(text, "%d\n", file->vf + 1);
}

static ssize_t show_pkey_index(struct hca *hca, const struct entry *file, char *text)
{
	int index = hca->vfs[file->vf].map[file->index];

	return index < 0 ? sysfs_emit(text, "none\n") : sysfs_emit(text, "%d\n", index);
}

static int store_pkey_index(struct hca *hca, const struct entry *file, const char *text)
{
	int index;

	if (strncasecmp(text, "no", 2) == 0)
		index = -1;
	else if (kstrtoint(text, 0, &index) || index < 0 || index >= HCA_PKEYS)
		return -EINVAL;
	hca->vfs[file->vf].map[file->index] = index;
	return 0;
}

static int store_fake_pkey(struct hca *hca, const struct entry *file, const char *text)
{
	int index, pkey;

	if (sscanf(text, "%i %i", &index, &pkey) != 2 || index < 0 || index >= HCA_PKEYS)
		return -EINVAL;
	hca->pkeys[index] = pkey;
	hca_event(hca, IB_EVENT_PKEY_CHANGE);
	return 0;
}

static int store_fake_vf_pkey(struct hca *hca, const struct entry *file, const char *text)
{
	int vf, index, pkey;

	if (sscanf(text, "%i %i %i", &vf, &index, &pkey) != 3 || vf < 0 || vf >= HCA_MAX_VFS ||
	    index < 0 || index >= HCA_PKEYS)
		return -EINVAL;
	hca->vfs[vf].pkeys[index] = pkey;
	return 0;
}

static int store_fake_event(struct hca *hca, const struct entry *file, const char *text)
{
	int event;

	if (kstrtoint(text, 0, &event))
		return -EINVAL;
	hca_event(hca, event);
	return 0;
}

static ssize_t show_fake_vfs(struct hca *hca, const struct entry *file, char *text)
{
	int length = 0;
	int i;

	for (i = 0; i < pci_num_vf(hca->pf); i++) {
		const struct hca_vf *vf = &hca->vfs[i];

		length += sysfs_emit_at(
			text, length,
			"%d node %016llx port %016llx link %s admin %016llx map %d,%d,%d\n", i,
			vf->node_guid, vf->port_guid, policies[vf->link], vf->asked, vf->map[0],
			vf->map[1], vf->map[2]);
	}
	return length;
}

/* ---- trees of them --------------------------------------------------------------------------- */

static ssize_t show(struct kobject *kobject, struct kobj_attribute *attribute, char *text)
{
	struct entry *file = container_of(attribute, struct entry, attribute);

	return file->show ? file->show(file->hca, file, text) : -EIO;
}

static ssize_t store(struct kobject *kobject, struct kobj_attribute *attribute, const char *text,
		     size_t length)
{
	struct entry *file = container_of(attribute, struct entry, attribute);
	int error = file->store ? file->store(file->hca, file, text) : -EIO;

	return error ? error : (ssize_t)length;
}

static struct kobject *add_directory(struct hca_tree *tree, struct kobject *parent,
				     const char *name)
{
	struct directory *directory;

	if (tree->error)
		return NULL;
	directory = kzalloc(sizeof(*directory), GFP_KERNEL);
	if (directory)
		directory->kobject = kobject_create_and_add(name, parent);
	if (!directory || !directory->kobject) {
		kfree(directory);
		tree->error = -ENOMEM;
		return NULL;
	}
	list_add(&directory->list, &tree->directories);
	return directory->kobject;
}

static void add_file(struct hca_tree *tree, struct kobject *directory, const struct entry *like,
		     const char *name)
{
	struct entry *file;

	if (tree->error)
		return;
	file = kmemdup(like, sizeof(*like), GFP_KERNEL);
	if (!file) {
		tree->error = -ENOMEM;
		return;
	}
	strscpy(file->name, name, sizeof(file->name));
	sysfs_attr_init(&file->attribute.attr);
	file->attribute.attr.name = file->name;
	file->attribute.attr.mode = (file->show ? 0444 : 0) | (file->store ? 0200 : 0);
	file->attribute.show = show;
	file->attribute.store = store;
	file->directory = directory;
	tree->error = sysfs_create_file(directory, &file->attribute.attr);
	if (tree->error)
		kfree(file);
	else
		list_add(&file->list, &tree->files);
}

/* A directory of files that are called 0, 1, ... */
static void add_numbered(struct hca_tree *tree, struct kobject *parent, const char *name,
			 struct entry like, int count)
{
	struct kobject *directory = add_directory(tree, parent, name);
	char number[8];

	for (like.index = 0; like.index < count; like.index++) {
		snprintf(number, sizeof(number), "%d", like.index);
		add_file(tree, directory, &like, number);
	}
}

void hca_drop_files(struct hca_tree *tree)
{
	struct entry *file, *next_file;
	struct directory *directory, *next_directory;

	list_for_each_entry_safe(file, next_file, &tree->files, list)
	{
		sysfs_remove_file(file->directory, &file->attribute.attr);
		kfree(file);
	}
	list_for_each_entry_safe(directory, next_directory, &tree->directories, list)
	{
		kobject_put(directory->kobject);
		kfree(directory);
	}
	INIT_LIST_HEAD(&tree->files);
	INIT_LIST_HEAD(&tree->directories);
	tree->error = 0;
}

/* ---- which there are ------------------------------------------------------------------------- */

static void add_fake(struct hca *hca)
{
	struct hca_tree *tree = &hca->tree;
	struct kobject *directory = add_directory(tree, &hca->pf->dev.kobj, "fake");
	struct entry pkey = { .hca = hca, .store = store_fake_pkey };
	struct entry event = { .hca = hca, .store = store_fake_event };
	struct entry vfs = { .hca = hca, .show = show_fake_vfs };
	struct entry vf_pkey = { .hca = hca, .store = store_fake_vf_pkey };

	add_file(tree, directory, &pkey, "pkey");
	add_file(tree, directory, &event, "event");
	add_file(tree, directory, &vfs, "vfs");
	add_file(tree, directory, &vf_pkey, "vf_pkey");
}

/* mlx5 has a directory for each VF that there could be. */
static void add_sriov(struct hca *hca)
{
	struct hca_tree *tree = &hca->tree;
	struct kobject *sriov = add_directory(tree, &hca->pf->dev.kobj, "sriov");
	int i;

	for (i = 0; i < min(pci_sriov_get_totalvfs(hca->pf), HCA_MAX_VFS); i++) {
		struct entry node = { .hca = hca, .vf = i, .show = show_node, .store = store_node };
		struct entry port = { .hca = hca, .vf = i, .show = show_port, .store = store_port };
		struct entry policy = {
			.hca = hca, .vf = i, .show = show_policy, .store = store_policy
		};
		struct kobject *directory;
		char number[8];

		snprintf(number, sizeof(number), "%d", i);
		directory = add_directory(tree, sriov, number);
		add_file(tree, directory, &node, "node");
		add_file(tree, directory, &port, "port");
		add_file(tree, directory, &policy, "policy");
	}
}

static void add_iov(struct hca *hca)
{
	struct hca_tree *tree = &hca->tree;
	struct entry admin_guid = { .hca = hca,
				    .show = show_admin_guid,
				    .store = store_admin_guid };
	struct entry gid = { .hca = hca, .show = show_gid };
	struct entry pkey = { .hca = hca, .show = show_pkey };
	struct kobject *port;

	hca->iov = add_directory(tree, &hca->ib.dev.kobj, "iov");
	port = add_directory(tree, add_directory(tree, hca->iov, "ports"), "1");
	add_numbered(tree, port, "admin_guids", admin_guid, HCA_MAX_VFS + 1);
	add_numbered(tree, port, "gids", gid, HCA_MAX_VFS + 1);
	add_numbered(tree, port, "pkeys", pkey, HCA_PKEYS);
}

int hca_add_files(struct hca *hca)
{
	add_fake(hca);
	if (hca->is_mlx4)
		add_iov(hca);
	else if (hca_has_sriov_files)
		add_sriov(hca);
	return hca->tree.error;
}

static void add_vf(struct hca *hca, struct pci_dev *device)
{
	struct hca_tree *tree = &hca->vfs_tree;
	int vf = pci_iov_vf_id(device);
	struct entry gid_index = { .hca = hca, .vf = vf, .show = show_gid_index };
	struct entry pkey_index = {
		.hca = hca, .vf = vf, .show = show_pkey_index, .store = store_pkey_index
	};
	struct kobject *port;

	port = add_directory(tree, hca->iov, pci_name(device));
	port = add_directory(tree, add_directory(tree, port, "ports"), "1");
	add_numbered(tree, port, "gid_idx", gid_index, 1);
	add_numbered(tree, port, "pkey_idx", pkey_index, HCA_PKEYS);
}

int hca_add_vf_files(struct hca *hca)
{
	struct pci_dev *device = NULL;

	if (!hca->is_mlx4)
		return 0;
	while ((device = pci_get_device(PCI_ANY_ID, PCI_ANY_ID, device)) != NULL) {
		if (device->is_virtfn && pci_physfn(device) == hca->pf)
			add_vf(hca, device);
	}
	return hca->vfs_tree.error;
}
