// SPDX-License-Identifier: Apache-2.0
#include "oneibd/unexpected_vfs.h"
#include "base/array.h"
#include "cluster/names.h"
#include <inttypes.h>
#include <stdlib.h>

/* ---- which VFs are unexpected ---------------------------------------------------------------- */

static bool is_granted(const struct oneib_node_snapshot *node, const struct oneib_vf_record *record)
{
    const struct oneib_grant *grant =
        node->sent ? oneib_grant_list_find(node->sent, record->vm_id, record->nic_id) : NULL;
    return grant && oneib_grant_allows(grant, record);
}

static bool is_at(const struct oneib_attachment *attachment, uint32_t host_id)
{
    return oneib_phase_has_place(attachment->phase) &&
           (attachment->host_id == host_id || attachment->source_host_id == host_id);
}

/* What OpenNebula says of a VF that a domain has: false, it knows of it. A VM all of whose NICs are
 * elsewhere is elsewhere; one that has none left is taken to be where it was. */
static bool is_unknown(const struct oneib_cloud *cloud, uint32_t host_id,
                       const struct oneib_vf_record *record, enum oneib_unexpected_vf_kind *kind)
{
    bool here = false, elsewhere = false;
    size_t count;
    const struct oneib_attachment *nics = oneib_cloud_nics(cloud, record->vm_id, &count);
    for (size_t i = 0; i < count; i++) {
        const struct oneib_attachment *attachment = &nics[i];
        if (is_at(attachment, host_id) && attachment->nic_id == record->nic_id)
            return false;
        here |= is_at(attachment, host_id);
        elsewhere |= !is_at(attachment, host_id);
    }
    *kind = oneib_cloud_has_vm(cloud, record->vm_id) && (here || !elsewhere)
                ? ONEIB_UNEXPECTED_VF_ORPHAN
                : ONEIB_UNEXPECTED_VF_ZOMBIE;
    return true;
}

/* Whatever the VM does, its NIC is that host's. */
static bool is_of_host(const struct oneib_cloud *cloud, uint32_t host_id,
                       const struct oneib_vf_record *record)
{
    size_t count;
    const struct oneib_attachment *nics = oneib_cloud_nics(cloud, record->vm_id, &count);
    for (size_t i = 0; i < count; i++)
        if (nics[i].nic_id == record->nic_id &&
            (nics[i].host_id == host_id || nics[i].source_host_id == host_id))
            return true;
    return false;
}

static bool is_unexpected(const struct oneib_cloud *cloud, const struct oneib_node_snapshot *node,
                          const struct oneib_vf_record *record, enum oneib_unexpected_vf_kind *kind)
{
    /* A node that does not confirm its list is not believed to follow it. */
    if (record->stage == ONEIB_VF_OPEN && node->state != ONEIB_NODE_AWAITED && node->sent &&
        !is_granted(node, record)) {
        *kind = ONEIB_UNEXPECTED_VF_OPEN;
        return true;
    }
    if (record->in_domain && is_unknown(cloud, node->host_id, record, kind))
        return true;
    *kind = ONEIB_UNEXPECTED_VF_UNTOLD;
    return node->state == ONEIB_NODE_FOLLOWS && node->sent && !oneib_node_was_told(node, record) &&
           (record->guid == ONEIB_VF_GUID_SET || oneib_record_may_be_open(record)) &&
           !is_of_host(cloud, node->host_id, record);
}

/* ---- following ------------------------------------------------------------------------------- */

static bool is_same(const struct oneib_unexpected_vf *a, const struct oneib_unexpected_vf *b)
{
    return a->host_id == b->host_id && a->kind == b->kind && a->record.vm_id == b->record.vm_id &&
           a->record.nic_id == b->record.nic_id &&
           oneib_pci_compare(&a->record.vf, &b->record.vf) == 0;
}

static double since(const struct oneib_unexpected_vfs *before,
                    const struct oneib_unexpected_vf *item, double now)
{
    for (size_t i = 0; i < before->count; i++)
        if (is_same(&before->items[i], item))
            return before->items[i].since;
    return now;
}

static void add(struct oneib_unexpected_vfs *vfs, const struct oneib_unexpected_vfs *before,
                struct oneib_unexpected_vf item, double now)
{
    item.since = since(before, &item, now);
    ONEIB_APPEND(vfs->items, vfs->count, vfs->capacity, item);
}

void oneib_unexpected_vfs_follow(struct oneib_unexpected_vfs *vfs, const struct oneib_cloud *cloud,
                                 const struct oneib_node_snapshot *nodes, size_t node_count,
                                 double now)
{
    struct oneib_unexpected_vfs found = {0};
    for (size_t i = 0; i < node_count; i++)
        for (size_t j = 0; j < nodes[i].record_count; j++) {
            struct oneib_unexpected_vf item = {.host_id = nodes[i].host_id,
                                               .record = nodes[i].records[j]};
            if (is_unexpected(cloud, &nodes[i], &item.record, &item.kind))
                add(&found, vfs, item, now);
        }
    oneib_unexpected_vfs_clear(vfs);
    *vfs = found;
}

/* ---- telling --------------------------------------------------------------------------------- */

size_t oneib_unexpected_vfs_of_host(const struct oneib_unexpected_vfs *vfs, uint32_t host_id)
{
    size_t count = 0;
    for (size_t i = 0; i < vfs->count; i++)
        count +=
            vfs->items[i].host_id == host_id && (vfs->items[i].kind == ONEIB_UNEXPECTED_VF_ORPHAN ||
                                                 vfs->items[i].kind == ONEIB_UNEXPECTED_VF_ZOMBIE);
    return count;
}

static bool lasts(const struct oneib_unexpected_vf *item, double now)
{
    return now - item->since >= ONEIB_UNEXPECTED_VF_MS;
}

size_t oneib_unexpected_vfs_lasting(const struct oneib_unexpected_vfs *vfs, double now)
{
    size_t count = 0;
    for (size_t i = 0; i < vfs->count; i++)
        count += lasts(&vfs->items[i], now);
    return count;
}

static void report(const struct oneib_unexpected_vf *item, const struct oneib_cloud *cloud,
                   struct oneib_findings *findings)
{
    const struct oneib_shown host = oneib_host_id_shown(cloud, item->host_id);
    const struct oneib_vf_record *record = &item->record;
    char vf[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&record->vf, vf);
    switch (item->kind) {
    case ONEIB_UNEXPECTED_VF_OPEN:
        oneib_findings_note(findings, ONEIB_FINDING_VF_NOT_GRANTED,
                            "%s: by its oneib-node's last report VF %s of VM %" PRIu32
                            " NIC %u is open at 0x%04x, which is not granted",
                            host.text, vf, record->vm_id, record->nic_id, record->pkey);
        return;
    case ONEIB_UNEXPECTED_VF_UNTOLD:
        oneib_findings_note(findings, ONEIB_FINDING_VF_UNTOLD,
                            "%s: its oneib-node reports VF %s of VM %" PRIu32
                            " NIC %u, which was never granted to this host: ignored",
                            host.text, vf, record->vm_id, record->nic_id);
        return;
    case ONEIB_UNEXPECTED_VF_ORPHAN:
        oneib_findings_note(findings, ONEIB_FINDING_VF_ORPHAN,
                            "%s: the domain of VM %" PRIu32
                            " has VF %s of NIC %u, which OpenNebula does not know; by its "
                            "oneib-node's last report the VF is %s",
                            host.text, record->vm_id, vf, record->nic_id,
                            oneib_vf_stage_name(record->stage));
        return;
    case ONEIB_UNEXPECTED_VF_ZOMBIE:
        oneib_findings_note(findings, ONEIB_FINDING_VF_ZOMBIE,
                            "%s: a domain of VM %" PRIu32
                            " runs with VF %s, and OpenNebula has no such VM there; by its "
                            "oneib-node's last report the VF is %s",
                            host.text, record->vm_id, vf, oneib_vf_stage_name(record->stage));
        return;
    }
}

void oneib_unexpected_vfs_report(const struct oneib_unexpected_vfs *vfs,
                                 const struct oneib_cloud *cloud, double now,
                                 struct oneib_findings *findings)
{
    for (size_t i = 0; i < vfs->count; i++)
        if (lasts(&vfs->items[i], now))
            report(&vfs->items[i], cloud, findings);
}

void oneib_unexpected_vfs_clear(struct oneib_unexpected_vfs *vfs)
{
    free(vfs->items);
    *vfs = (struct oneib_unexpected_vfs){0};
}
