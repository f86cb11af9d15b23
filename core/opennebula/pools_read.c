// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "opennebula/documents_internal.h"
#include "opennebula/pools_internal.h"
#include "opennebula/restrictions.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Of the lines that oned.conf lacks, how many an error shows. */
#define LINES_SHOWN 3

/* A kind of object that can be asked for by itself. */
struct kind {
    const char *name;
    enum oneib_subject subject;
    int (*fetch)(struct oneib_one *one, uint32_t id, char **xml, size_t *length,
                 struct oneib_error *err);
    int (*read)(struct oneib_documents *documents, const char *xml, size_t length,
                struct oneib_error *err);
};

static const struct kind vm_kind = {"VM", ONEIB_SUBJECT_VM, oneib_one_vm, oneib_documents_read_vms};
static const struct kind network_kind = {"network", ONEIB_SUBJECT_NETWORK, oneib_one_network,
                                         oneib_documents_read_networks};
static const struct kind host_kind = {"host", ONEIB_SUBJECT_HOST, oneib_one_host,
                                      oneib_documents_read_hosts};

void oneib_pools_clear(struct oneib_pools *pools)
{
    oneib_documents_clear(&pools->documents);
    oneib_id_set_clear(&pools->vms_asked);
    oneib_id_set_clear(&pools->networks_asked);
    oneib_id_set_clear(&pools->hosts_asked);
    oneib_id_set_clear(&pools->vms_alone);
    oneib_id_set_clear(&pools->vms_stored_odd);
}

/* "a; b; c" of the first lines. */
static void append_lines(struct oneib_text *shown, const char *lines)
{
    for (size_t i = 0; i < LINES_SHOWN && *lines; i++) {
        const size_t length = strcspn(lines, "\n");
        oneib_text_append(shown, i ? "; " : "");
        oneib_text_append_bytes(shown, lines, length);
        lines += length + (lines[length] == '\n');
    }
}

static int check_restrictions(const char *xml, size_t length, struct oneib_error *err)
{
    oneib_autotext struct oneib_text lines = {0};
    oneib_autotext struct oneib_text shown = {0};
    size_t missing = 0;
    if (oneib_restrictions_missing(xml, length, &lines, &missing, err) < 0)
        return -1;
    if (missing == 0)
        return 0;
    append_lines(&shown, lines.data);
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "oned lets ordinary users set %zu attributes that decide about partitions: "
                      "add to oned.conf %s%s, and restart oned ('oneib check' lists all lines)",
                      missing, shown.data, missing > LINES_SHOWN ? "; ..." : "");
}

/* Pools show a user what the user may see, without a word about the rest. */
static int check_visibility(const struct oneib_pools *pools, struct oneib_error *err)
{
    bool sees_all = false;
    if (pools->options->acl_user)
        return 0;
    if (oneib_one_is_administrator(pools->one, &sees_all, err) < 0)
        return oneib_wrap(err, "finding out whether oneib may see all VMs");
    if (sees_all)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_PERMISSION,
                      "oneib's user is no member of OpenNebula's group oneadmin, so oned may hide "
                      "VMs from it: make it one, or give it USE rights on all VMs, hosts and "
                      "networks by ACL and set one.acl_user = true");
}

static int check_configuration(const struct oneib_pools *pools, struct oneib_error *err)
{
    oneib_autofree char *xml = NULL;
    size_t length;
    if (!pools->options->require_restrictions)
        return 0;
    if (oneib_one_system_config(pools->one, &xml, &length, err) < 0)
        return oneib_wrap(err, "finding out what users may write");
    return check_restrictions(xml, length, err);
}

int oneib_pools_check_oned(const struct oneib_pools *pools, struct oneib_error *err)
{
    return check_visibility(pools, err) < 0 || check_configuration(pools, err) < 0 ? -1 : 0;
}

void oneib_pools_drop_networks(struct oneib_cloud *cloud, const struct oneib_id_set *ids)
{
    size_t kept = 0;
    for (size_t i = 0; i < cloud->network_count; i++)
        if (oneib_id_set_has(ids, cloud->networks[i].id))
            oneib_network_clear(&cloud->networks[i]);
        else
            cloud->networks[kept++] = cloud->networks[i];
    cloud->network_count = kept;
}

void oneib_pools_drop_hosts(struct oneib_cloud *cloud, const struct oneib_id_set *ids)
{
    size_t kept = 0;
    for (size_t i = 0; i < cloud->host_count; i++)
        if (oneib_id_set_has(ids, cloud->hosts[i].id))
            oneib_host_clear(&cloud->hosts[i]);
        else
            cloud->hosts[kept++] = cloud->hosts[i];
    cloud->host_count = kept;
}

/* A VM that is read again may have lost NICs, or be gone. */
static void forget_vms(struct oneib_documents *documents, const struct oneib_id_set *ids)
{
    struct oneib_cloud *cloud = documents->cloud;
    size_t kept = 0;
    for (size_t i = 0; i < cloud->attachment_count; i++)
        if (!oneib_id_set_has(ids, cloud->attachments[i].vm_id))
            cloud->attachments[kept++] = cloud->attachments[i];
    cloud->attachment_count = kept;

    struct oneib_id_set *seen = &documents->vms_seen;
    kept = 0;
    for (size_t i = 0; i < seen->count; i++)
        if (!oneib_id_set_has(ids, seen->items[i]))
            seen->items[kept++] = seen->items[i];
    seen->count = kept;
}

/* What was read about these objects in this run goes: they are read again. */
static void forget(struct oneib_documents *documents, enum oneib_subject subject,
                   const struct oneib_id_set *ids)
{
    if (ids->count == 0)
        return;
    oneib_findings_forget(documents->findings, subject, ids->items, ids->count);
    if (subject == ONEIB_SUBJECT_NETWORK)
        oneib_pools_drop_networks(documents->cloud, ids);
    else if (subject == ONEIB_SUBJECT_HOST)
        oneib_pools_drop_hosts(documents->cloud, ids);
    else
        forget_vms(documents, ids);
}

int oneib_pools_read_hosts(struct oneib_pools *pools, struct oneib_error *err)
{
    oneib_autofree char *xml = NULL;
    size_t length;
    if (oneib_one_host_pool(pools->one, &xml, &length, err) < 0)
        return -1;
    forget(&pools->documents, ONEIB_SUBJECT_HOST, &pools->hosts_asked);
    int outcome = oneib_documents_read_hosts(&pools->documents, xml, length, err);
    pools->all_hosts = true;
    oneib_cloud_sort(pools->documents.cloud);
    return outcome < 0 ? oneib_wrap(err, "reading all hosts") : 0;
}

void oneib_pools_report_progress(const struct oneib_pools *pools)
{
    const size_t done = pools->documents.vms_seen.count;
    if (!pools->options->progress || (done == 0 && pools->total == 0))
        return;
    pools->options->progress(done, done > pools->total ? done : pools->total,
                             pools->options->progress_context);
}

/*
 * As its pool shows it: that is what oned has stored, and a VM by itself is what oned has read of
 * that and written anew. What a user wrote to look like oned's own is plain text in one of the two,
 * or else it is in both. One that oned cannot read any more it calls absent, and is stored all the
 * same.
 */
static int read_vm_as_stored(struct oneib_pools *pools, uint32_t id, struct oneib_error *err)
{
    struct oneib_documents *documents = &pools->documents;
    oneib_autofree char *xml = NULL;
    size_t length;
    const struct oneib_id_set itself = {.items = &id, .count = 1};
    forget(documents, ONEIB_SUBJECT_VM, &itself);
    if (oneib_one_vm_window(pools->one, id, id, &xml, &length, err) < 0) {
        if (err->code == ONEIB_ERROR_TOO_LARGE) {
            oneib_documents_keep_unreadable_vm(documents, id);
            return 0;
        }
        return -1;
    }
    oneib_pools_want_vms(documents, id, id);
    documents->decides = true;
    int outcome = oneib_documents_read_vms(documents, xml, length, err);
    documents->decides = false;
    if (outcome < 0 && documents->malformed) {
        oneib_documents_keep_unreadable_vm(documents, id);
        return 0;
    }
    return outcome;
}

/* Users can write what makes a document malformed into a VM or a network, not into a host. */
static int read_otherwise(struct oneib_pools *pools, const struct kind *kind, uint32_t id,
                          const char *xml, size_t length, struct oneib_error *err)
{
    switch (kind->subject) {
    case ONEIB_SUBJECT_VM:
        if (oneib_id_set_has(&pools->vms_stored_odd, id)) {
            oneib_documents_keep_unreadable_vm(&pools->documents, id);
            return 0;
        }
        return read_vm_as_stored(pools, id, err);
    case ONEIB_SUBJECT_NETWORK:
        oneib_documents_keep_unreadable_network(&pools->documents, id, xml, length);
        return 0;
    default:
        return -1;
    }
}

static int read_alone(struct oneib_pools *pools, const struct kind *kind, uint32_t id,
                      const char *xml, size_t length, struct oneib_error *err)
{
    struct oneib_documents *documents = &pools->documents;
    oneib_pools_want_vms(documents, id, id);
    documents->decides = oneib_id_set_has(&pools->vms_stored_odd, id);
    int outcome = kind->read(documents, xml, length, err);
    documents->decides = false;
    if (outcome == 0 && !documents->odd)
        return 0;
    return documents->malformed || documents->odd
               ? read_otherwise(pools, kind, id, xml, length, err)
               : -1;
}

/* Asks for one object by itself; one that is gone is fine. */
static int ask_one(struct oneib_pools *pools, const struct kind *kind, uint32_t id,
                   struct oneib_error *err)
{
    oneib_autofree char *xml = NULL;
    size_t length;
    struct oneib_error refusal = {0};
    if (kind->fetch(pools->one, id, &xml, &length, &refusal) < 0) {
        if (refusal.code == ONEIB_ERROR_NOT_FOUND)
            return kind->subject == ONEIB_SUBJECT_VM ? read_vm_as_stored(pools, id, err) : 0;
        if (refusal.code == ONEIB_ERROR_TOO_LARGE && kind->subject != ONEIB_SUBJECT_HOST)
            return read_otherwise(pools, kind, id, "", 0, err);
        *err = refusal;
        return -1;
    }
    return read_alone(pools, kind, id, xml, length, err) < 0
               ? oneib_wrap(err, "reading %s %" PRIu32, kind->name, id)
               : 0;
}

void oneib_id_set_join(struct oneib_id_set *set, const struct oneib_id_set *more)
{
    for (size_t i = 0; i < more->count; i++)
        oneib_id_set_add(set, more->items[i]);
    oneib_id_set_sort(set);
}

void oneib_id_set_drop(struct oneib_id_set *set, const struct oneib_id_set *others)
{
    size_t kept = 0;
    oneib_id_set_sort(set);
    for (size_t i = 0; i < set->count; i++)
        if (!oneib_id_set_has(others, set->items[i]))
            set->items[kept++] = set->items[i];
    set->count = kept;
}

/* Asks for each of `wanted`, which is sorted, asked for before or not. */
static int ask_each(struct oneib_pools *pools, const struct kind *kind,
                    const struct oneib_id_set *wanted, struct oneib_id_set *asked,
                    struct oneib_error *err)
{
    oneib_id_set_join(asked, wanted);
    forget(&pools->documents, kind->subject, wanted);
    for (size_t i = 0; i < wanted->count; i++) {
        if (ask_one(pools, kind, wanted->items[i], err) < 0)
            return -1;
        oneib_pools_report_progress(pools);
    }
    oneib_cloud_sort(pools->documents.cloud);
    return 0;
}

int oneib_pools_ask_vms(struct oneib_pools *pools, struct oneib_id_set *wanted, bool *asked,
                        struct oneib_error *err)
{
    oneib_id_set_drop(wanted, &pools->vms_asked);
    *asked = *asked || wanted->count > 0;
    return ask_each(pools, &vm_kind, wanted, &pools->vms_asked, err);
}

/*
 * Their pool, then one by one those that are known and that it did not show: they are gone, or our
 * user may not see them any more, which is an error.
 */
static int read_many_hosts(struct oneib_pools *pools, struct oneib_error *err)
{
    const struct oneib_cloud *base = pools->base;
    oneib_autoids struct oneib_id_set missing = {0};
    if (oneib_pools_read_hosts(pools, err) < 0)
        return -1;
    for (size_t i = 0; i < base->host_count; i++)
        if (!oneib_cloud_host(pools->documents.cloud, base->hosts[i].id))
            oneib_id_set_add(&missing, base->hosts[i].id);
    return ask_each(pools, &host_kind, &missing, &pools->hosts_asked, err);
}

int oneib_pools_ask_networks(struct oneib_pools *pools, struct oneib_id_set *wanted, bool *asked,
                             struct oneib_error *err)
{
    oneib_id_set_drop(wanted, &pools->networks_asked);
    *asked = *asked || wanted->count > 0;
    return ask_each(pools, &network_kind, wanted, &pools->networks_asked, err);
}

int oneib_pools_ask_hosts(struct oneib_pools *pools, struct oneib_id_set *wanted, bool *asked,
                          struct oneib_error *err)
{
    oneib_id_set_drop(wanted, &pools->hosts_asked);
    *asked = *asked || wanted->count > 0;
    return wanted->count > ONEIB_MANY && !pools->all_hosts
               ? read_many_hosts(pools, err)
               : ask_each(pools, &host_kind, wanted, &pools->hosts_asked, err);
}

int oneib_pools_ask_vms_again(struct oneib_pools *pools, const struct oneib_id_set *wanted,
                              struct oneib_error *err)
{
    return ask_each(pools, &vm_kind, wanted, &pools->vms_asked, err);
}

int oneib_pools_ask_networks_again(struct oneib_pools *pools, const struct oneib_id_set *wanted,
                                   struct oneib_error *err)
{
    return ask_each(pools, &network_kind, wanted, &pools->networks_asked, err);
}
