// SPDX-License-Identifier: Apache-2.0
#include "one/gather.h"
#include "one/documents.h"
#include "one/documents_internal.h"
#include <inttypes.h>
#include <stdlib.h>

/* What is asked for by itself, each id once: an oned that names the same id again and again cannot
 * hold us. */
struct gather {
    struct oneib_one *one;
    const struct oneib_gather_options *options;
    struct oneib_documents documents;
    struct oneib_id_set vms_asked, networks_asked, hosts_asked; /* sorted */
    size_t total;                                               /* VMs known of, for progress */
};

/* A kind of object that can be asked for by itself. */
struct kind {
    const char *name;
    int (*fetch)(struct oneib_one *one, uint32_t id, char **xml, size_t *length,
                 struct oneib_error *err);
    int (*read)(struct oneib_documents *documents, const char *xml, size_t length,
                struct oneib_error *err);
};

static const struct kind vm_kind = {"VM", oneib_one_vm, oneib_documents_read_vms};
static const struct kind network_kind = {"network", oneib_one_network,
                                         oneib_documents_read_networks};
static const struct kind host_kind = {"host", oneib_one_host, oneib_documents_read_hosts};

static void report_progress(const struct gather *gather)
{
    if (!gather->options->progress)
        return;
    size_t done = gather->documents.vms_seen.count;
    gather->options->progress(done, done > gather->total ? done : gather->total,
                              gather->options->progress_context);
}

/*
 * Pools show a user what the user may see, without a word about the rest. Only an administrator,
 * who sees everything, may read oned's configuration.
 */
static int check_administrator(struct oneib_one *one, struct oneib_error *err)
{
    char *xml = NULL;
    size_t length;
    if (oneib_one_system_config(one, &xml, &length, err) < 0)
        return oneib_wrap(err, "finding out whether oneib may see all VMs");
    free(xml);
    return 0;
}

static int read_hosts(struct gather *gather, struct oneib_error *err)
{
    char *xml = NULL;
    size_t length;
    if (oneib_one_host_pool(gather->one, &xml, &length, err) < 0)
        return -1;
    int outcome = oneib_documents_read_hosts(&gather->documents, xml, length, err);
    free(xml);
    return outcome < 0 ? oneib_wrap(err, "reading all hosts") : 0;
}

static int read_networks(struct gather *gather, struct oneib_error *err)
{
    char *xml = NULL;
    size_t length;
    if (oneib_one_network_pool(gather->one, &xml, &length, err) < 0)
        return -1;
    int outcome = oneib_documents_read_networks(&gather->documents, xml, length, err);
    free(xml);
    return outcome < 0 ? oneib_wrap(err, "reading all networks") : 0;
}

static int read_window(struct gather *gather, int64_t first, int64_t last, struct oneib_error *err)
{
    char *xml = NULL;
    size_t length;
    if (oneib_one_vm_window(gather->one, first, last, &xml, &length, err) < 0)
        return -1;
    int outcome = oneib_documents_read_vms(&gather->documents, xml, length, err);
    free(xml);
    if (outcome < 0)
        return oneib_wrap(err, "reading VMs from %" PRId64 " on", first);
    report_progress(gather);
    return 0;
}

/* Windows over the ids that are named, none over a gap that is longer than a window; then all
 * beyond. */
static int read_windows(struct gather *gather, struct oneib_error *err)
{
    const struct oneib_id_set *named = &gather->documents.vms_named;
    int64_t width = gather->options->window > 0 ? gather->options->window : 1;
    int64_t next = 0;
    for (size_t i = 0; i < named->count; i++) {
        if (named->items[i] < next)
            continue;
        int64_t first = named->items[i];
        int64_t last = first + width - 1 < ONEIB_ID_MAX ? first + width - 1 : ONEIB_ID_MAX;
        if (read_window(gather, first, last, err) < 0)
            return -1;
        next = last + 1;
    }
    return next <= ONEIB_ID_MAX ? read_window(gather, next, -1, err) : 0;
}

/* Asks for one object by itself; one that is gone is fine. */
static int ask(struct gather *gather, const struct kind *kind, uint32_t id, struct oneib_error *err)
{
    char *xml = NULL;
    size_t length;
    struct oneib_error refusal = {0};
    if (kind->fetch(gather->one, id, &xml, &length, &refusal) < 0) {
        if (refusal.code == ONEIB_ERROR_NOT_FOUND)
            return 0;
        *err = refusal;
        return -1;
    }
    int outcome = kind->read(&gather->documents, xml, length, err);
    free(xml);
    return outcome < 0 ? oneib_wrap(err, "reading %s %" PRIu32, kind->name, id) : 0;
}

/* Leaves in `wanted` what was not asked for yet, and counts it as asked. */
static int only_new(struct oneib_id_set *wanted, struct oneib_id_set *asked,
                    struct oneib_error *err)
{
    oneib_id_set_sort(wanted);
    size_t kept = 0;
    for (size_t i = 0; i < wanted->count; i++)
        if (!oneib_id_set_has(asked, wanted->items[i]))
            wanted->items[kept++] = wanted->items[i];
    wanted->count = kept;
    for (size_t i = 0; i < wanted->count; i++)
        if (oneib_id_set_add(asked, wanted->items[i], err) < 0)
            return -1;
    oneib_id_set_sort(asked);
    return 0;
}

/* *asked_any is set when there was something to ask for. */
static int ask_all(struct gather *gather, const struct kind *kind,
                   const struct oneib_id_set *wanted, bool *asked_any, struct oneib_error *err)
{
    for (size_t i = 0; i < wanted->count; i++) {
        *asked_any = true;
        if (ask(gather, kind, wanted->items[i], err) < 0)
            return -1;
    }
    return 0;
}

/* Asks for what is wanted and was not asked for yet. Takes the memory of `wanted`. */
static int ask_new(struct gather *gather, const struct kind *kind, struct oneib_id_set *wanted,
                   struct oneib_id_set *asked, bool *asked_any, struct oneib_error *err)
{
    int outcome = only_new(wanted, asked, err);
    if (outcome == 0)
        outcome = ask_all(gather, kind, wanted, asked_any, err);
    oneib_id_set_clear(wanted);
    return outcome;
}

/* A VM that is read again may have lost NICs: what was known of it goes. */
static void forget_attachments(struct oneib_cloud *cloud, const struct oneib_id_set *vms)
{
    size_t kept = 0;
    for (size_t i = 0; i < cloud->attachment_count; i++)
        if (!oneib_id_set_has(vms, cloud->attachments[i].vm_id))
            cloud->attachments[kept++] = cloud->attachments[i];
    cloud->attachment_count = kept;
}

static int ask_migrating(struct gather *gather, bool *asked_any, struct oneib_error *err)
{
    struct oneib_id_set wanted = gather->documents.vms_migrating;
    gather->documents.vms_migrating = (struct oneib_id_set){0};
    int outcome = only_new(&wanted, &gather->vms_asked, err);
    if (outcome == 0) {
        forget_attachments(gather->documents.cloud, &wanted);
        outcome = ask_all(gather, &vm_kind, &wanted, asked_any, err);
    }
    oneib_id_set_clear(&wanted);
    return outcome;
}

static int ask_unseen(struct gather *gather, bool *asked_any, struct oneib_error *err)
{
    struct oneib_id_set wanted = {0};
    struct oneib_documents *documents = &gather->documents;
    oneib_id_set_sort(&documents->vms_seen);
    for (size_t i = 0; i < documents->vms_named.count; i++) {
        uint32_t id = documents->vms_named.items[i];
        if (!oneib_id_set_has(&documents->vms_seen, id) && oneib_id_set_add(&wanted, id, err) < 0) {
            oneib_id_set_clear(&wanted);
            return -1;
        }
    }
    return ask_new(gather, &vm_kind, &wanted, &gather->vms_asked, asked_any, err);
}

static int ask_networks(struct gather *gather, bool *asked_any, struct oneib_error *err)
{
    struct oneib_id_set wanted = {0};
    const struct oneib_cloud *cloud = gather->documents.cloud;
    for (size_t i = 0; i < cloud->attachment_count; i++) {
        uint32_t id = cloud->attachments[i].network_id;
        if (id != ONEIB_NO_ID && !oneib_cloud_network(cloud, id) &&
            oneib_id_set_add(&wanted, id, err) < 0) {
            oneib_id_set_clear(&wanted);
            return -1;
        }
    }
    return ask_new(gather, &network_kind, &wanted, &gather->networks_asked, asked_any, err);
}

static int want_host(const struct oneib_cloud *cloud, uint32_t id, struct oneib_id_set *wanted,
                     struct oneib_error *err)
{
    if (id == ONEIB_NO_ID || oneib_cloud_host(cloud, id))
        return 0;
    return oneib_id_set_add(wanted, id, err);
}

static int ask_hosts(struct gather *gather, bool *asked_any, struct oneib_error *err)
{
    struct oneib_id_set wanted = {0};
    const struct oneib_cloud *cloud = gather->documents.cloud;
    for (size_t i = 0; i < cloud->attachment_count; i++) {
        const struct oneib_attachment *attachment = &cloud->attachments[i];
        /* A stored VM's last host may be long gone, and does not matter. */
        if (attachment->presence == ONEIB_ABSENT)
            continue;
        if (want_host(cloud, attachment->host_id, &wanted, err) < 0 ||
            want_host(cloud, attachment->source_host_id, &wanted, err) < 0) {
            oneib_id_set_clear(&wanted);
            return -1;
        }
    }
    return ask_new(gather, &host_kind, &wanted, &gather->hosts_asked, asked_any, err);
}

/* Of a NIC on a host, the network that does not know of its VM; NULL: all is well, or it is gone.
 */
static const struct oneib_network *doubtful_network(const struct oneib_cloud *cloud,
                                                    const struct oneib_attachment *attachment)
{
    const struct oneib_network *network = oneib_cloud_network(cloud, attachment->network_id);
    if (!network || attachment->presence == ONEIB_ABSENT ||
        oneib_network_leases_to(network, attachment->vm_id))
        return NULL;
    return network;
}

/* What leads from a doubtful attachment to the object to be asked again. */
typedef uint32_t (*culprit)(const struct oneib_attachment *attachment);

static uint32_t its_network(const struct oneib_attachment *attachment)
{
    return attachment->network_id;
}

static uint32_t its_vm(const struct oneib_attachment *attachment)
{
    return attachment->vm_id;
}

static int collect_doubts(const struct oneib_cloud *cloud, culprit culprit_of,
                          struct oneib_id_set *wanted, struct oneib_error *err)
{
    for (size_t i = 0; i < cloud->attachment_count; i++)
        if (doubtful_network(cloud, &cloud->attachments[i]) &&
            oneib_id_set_add(wanted, culprit_of(&cloud->attachments[i]), err) < 0)
            return -1;
    oneib_id_set_sort(wanted);
    return 0;
}

/*
 * A NIC whose network leases it nothing is either younger than the network's document that was
 * read, or gone since the VM's, or forged: oned does not escape what users write into their VMs
 * (docs/security.md). So first the network is asked again, then the VM: what is doubtful still was
 * never oned's.
 */
static int ask_doubtful(struct gather *gather, struct oneib_error *err)
{
    struct oneib_cloud *cloud = gather->documents.cloud;
    struct oneib_id_set wanted = {0};
    bool asked_any = false;
    int outcome = collect_doubts(cloud, its_network, &wanted, err);
    /* One that was asked by itself was asked after the windows: its word is young enough. */
    if (outcome == 0)
        outcome = ask_new(gather, &network_kind, &wanted, &gather->networks_asked, &asked_any, err);
    oneib_id_set_clear(&wanted);
    oneib_cloud_sort(cloud);

    if (outcome == 0)
        outcome = collect_doubts(cloud, its_vm, &wanted, err);
    if (outcome == 0) {
        forget_attachments(cloud, &wanted);
        outcome = ask_all(gather, &vm_kind, &wanted, &asked_any, err);
    }
    oneib_id_set_clear(&wanted);
    oneib_cloud_sort(cloud);
    return outcome;
}

static void mark_unleased(struct oneib_cloud *cloud)
{
    for (size_t i = 0; i < cloud->attachment_count; i++)
        cloud->attachments[i].unleased = doubtful_network(cloud, &cloud->attachments[i]) != NULL;
}

/* Until nothing new is named: a network that was asked for may name VMs, those may name hosts. */
static int ask_leftovers(struct gather *gather, struct oneib_error *err)
{
    bool asked_any = true;
    while (asked_any) {
        asked_any = false;
        if (ask_unseen(gather, &asked_any, err) < 0 || ask_migrating(gather, &asked_any, err) < 0)
            return -1;
        oneib_cloud_sort(gather->documents.cloud);
        if (ask_networks(gather, &asked_any, err) < 0 || ask_hosts(gather, &asked_any, err) < 0)
            return -1;
        oneib_cloud_sort(gather->documents.cloud);
        oneib_id_set_sort(&gather->documents.vms_named);
    }
    return 0;
}

/* Hosts and networks first: a VM that appears later is beyond the highest id, or is named by nobody
 * yet. */
static int gather_all(struct gather *gather, struct oneib_error *err)
{
    if (check_administrator(gather->one, err) < 0 || read_hosts(gather, err) < 0 ||
        read_networks(gather, err) < 0)
        return -1;

    oneib_id_set_sort(&gather->documents.vms_named);
    gather->total = gather->documents.vms_named.count;
    if (read_windows(gather, err) < 0 || ask_leftovers(gather, err) < 0 ||
        ask_doubtful(gather, err) < 0 || ask_leftovers(gather, err) < 0)
        return -1;
    mark_unleased(gather->documents.cloud);

    oneib_id_set_sort(&gather->documents.vms_seen);
    gather->documents.cloud->vm_count = gather->documents.vms_seen.count;
    report_progress(gather);
    return 0;
}

int oneib_gather(struct oneib_one *one, const struct oneib_gather_options *options,
                 struct oneib_cloud *cloud, struct oneib_findings *findings,
                 struct oneib_error *err)
{
    *cloud = (struct oneib_cloud){0};
    *findings = (struct oneib_findings){0};
    struct gather gather = {
        .one = one,
        .options = options,
        .documents = {.cloud = cloud, .findings = findings, .vn_mad = options->vn_mad},
    };
    int outcome = gather_all(&gather, err);
    oneib_documents_clear(&gather.documents);
    oneib_id_set_clear(&gather.vms_asked);
    oneib_id_set_clear(&gather.networks_asked);
    oneib_id_set_clear(&gather.hosts_asked);
    if (outcome < 0) {
        oneib_cloud_clear(cloud);
        oneib_findings_clear(findings);
    }
    return outcome;
}
