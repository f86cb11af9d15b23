// SPDX-License-Identifier: Apache-2.0
/* The steps in their order, and from the lines of ports to partitions, clusters and member
 * statuses. */
#include "cluster/desired.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"
#include "cluster/desired_internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ATTACHMENTS_NAMED 8

enum oneib_membership oneib_narrower(enum oneib_membership a, enum oneib_membership b)
{
    return a == ONEIB_FULL && b == ONEIB_FULL ? ONEIB_FULL : ONEIB_LIMITED;
}

bool oneib_guid_is_foreign(const struct oneib_work *work, oneib_guid guid)
{
    return guid != 0 && guid != UINT64_MAX && !oneib_guid_in_site(guid, work->policy->site);
}

struct oneib_shown oneib_name_network(struct oneib_work *work, uint32_t id)
{
    oneib_findings_mention(work->findings, ONEIB_SUBJECT_NETWORK, id);
    return oneib_network_id_shown(work->cloud, id);
}

struct oneib_shown oneib_name_host(struct oneib_work *work, uint32_t id)
{
    oneib_findings_mention(work->findings, ONEIB_SUBJECT_HOST, id);
    return oneib_host_id_shown(work->cloud, id);
}

struct oneib_shown oneib_name_port(struct oneib_work *work, oneib_guid guid)
{
    const struct oneib_port_owner *owner = oneib_port_owner(work, guid);
    struct oneib_shown shown;
    snprintf(shown.text, sizeof shown.text, "port 0x%016" PRIx64 "%s%.210s", guid,
             owner ? " of " : "", owner ? oneib_name_host(work, owner->host_id).text : "");
    return shown;
}

static void mention_nic(struct oneib_work *work, const struct oneib_attachment *attachment)
{
    oneib_findings_mention(work->findings, ONEIB_SUBJECT_VM, attachment->vm_id);
    oneib_findings_mention(work->findings, ONEIB_SUBJECT_NETWORK, attachment->network_id);
}

struct oneib_shown oneib_name_nic(struct oneib_work *work,
                                  const struct oneib_attachment *attachment)
{
    struct oneib_shown shown;
    mention_nic(work, attachment);
    snprintf(shown.text, sizeof shown.text, "VM %" PRIu32 " NIC %u", attachment->vm_id,
             attachment->nic_id);
    return shown;
}

void oneib_name_attachment(struct oneib_work *work, struct oneib_text *text,
                           const struct oneib_attachment *attachment, size_t already_named)
{
    mention_nic(work, attachment);
    if (already_named < ATTACHMENTS_NAMED)
        oneib_text_printf(text, "%sVM %" PRIu32 " NIC %u", already_named ? ", " : "",
                          attachment->vm_id, attachment->nic_id);
}

void oneib_close_names(struct oneib_text *text, size_t count)
{
    if (count > ATTACHMENTS_NAMED)
        oneib_text_printf(text, " and %zu more", count - ATTACHMENTS_NAMED);
}

static void add_full_member(struct oneib_work *work, struct oneib_partition *partition,
                            oneib_guid guid)
{
    if (!oneib_guid_is_foreign(work, guid)) {
        oneib_findings_note(work->findings, ONEIB_FINDING_DEFAULT_GUID_SITE,
                            "0x%016" PRIx64 " is to be a full member of the default "
                            "partition, and is no adapter's GUID but one of those that oneib "
                            "gives to VFs: it is refused",
                            guid);
        return;
    }
    oneib_partition_add_member(
        partition,
        (struct oneib_member){.guid = guid, .kind = ONEIB_MEMBER_GUID, .membership = ONEIB_FULL});
}

static void add_full_members(struct oneib_work *work, struct oneib_partition *partition)
{
    size_t count = work->policy->default_full_count;
    if (count == 0)
        return;
    oneib_guid *guids = oneib_alloc(count, sizeof *guids);
    memcpy(guids, work->policy->default_full_members, count * sizeof *guids);
    ONEIB_SORT(guids, count, oneib_guid_compare);

    for (size_t i = 0; i < count; i++)
        if (i == 0 || guids[i] != guids[i - 1])
            add_full_member(work, partition, guids[i]);
    free(guids);
}

/* Written in every case: without a rule of its own opensm makes one that ignores the configured
 * full members. */
static void add_default(struct oneib_work *work, const struct oneib_ipoib_limits *limits)
{
    struct oneib_partition *partition = oneib_partition_table_add(&work->desired->table);
    snprintf(partition->name, sizeof partition->name, "Default");
    partition->pkey = ONEIB_PKEY_DEFAULT;
    if (work->policy->default_ipoib) {
        partition->ipoib = true;
        partition->mtu = limits->mtu;
        partition->rate = limits->rate;
    }
    oneib_partition_add_member(
        partition, (struct oneib_member){.kind = ONEIB_MEMBER_ALL, .membership = ONEIB_LIMITED});
    oneib_partition_add_member(
        partition, (struct oneib_member){.kind = ONEIB_MEMBER_SELF, .membership = ONEIB_FULL});
    add_full_members(work, partition);
}

/* The partition of the cluster whose lines begin at `first`; returns where they end. */
static size_t add_cluster_partition(struct oneib_work *work,
                                    const struct oneib_ipoib_limits *limits, size_t first)
{
    const struct oneib_line *line = &work->lines[first];
    const struct oneib_network *network = &work->cloud->networks[line->cluster];
    struct oneib_partition *partition = oneib_partition_table_add(&work->desired->table);
    snprintf(partition->name, sizeof partition->name, "one%" PRIu32, network->id);
    partition->pkey = line->pkey;
    partition->indx0 = work->first_index[line->cluster];
    partition->sl = oneib_service_level_of(work, network);
    partition->has_sl = partition->sl != 0;
    oneib_ipoib_of_network(work, limits, network, partition);

    size_t end = first;
    for (; end < work->line_count && work->lines[end].pkey == line->pkey; end++)
        oneib_partition_add_member(
            partition, (struct oneib_member){.guid = work->lines[end].guid,
                                             .kind = ONEIB_MEMBER_GUID,
                                             .membership = work->lines[end].membership});
    return end;
}

ONEIB_ORDER(compare_partitions, struct oneib_partition *const,
            ONEIB_COMPARE((*left)->pkey, (*right)->pkey));

static void append_static(struct oneib_work *work, const struct oneib_partition *partition)
{
    bool waits, refused;
    oneib_static_is_refused(work, partition, &refused);
    if (refused)
        return;
    oneib_static_must_wait(work, partition, &waits);
    if (!waits)
        oneib_static_append(work, partition);
}

/* The static partitions and the clusters' in one row, by key: no key is in both. */
static void merge_partitions(struct oneib_work *work, const struct oneib_ipoib_limits *limits,
                             const struct oneib_partition **static_partitions)
{
    size_t line = 0, next = 0;
    while (line < work->line_count || next < work->static_partitions->count) {
        bool static_first =
            line == work->line_count || (next < work->static_partitions->count &&
                                         static_partitions[next]->pkey < work->lines[line].pkey);
        if (static_first)
            append_static(work, static_partitions[next++]);
        else
            line = add_cluster_partition(work, limits, line);
    }
}

static void make_partitions(struct oneib_work *work)
{
    struct oneib_ipoib_limits limits;
    oneib_ipoib_limits(work, &limits);
    add_default(work, &limits);

    size_t count = work->static_partitions->count;
    const struct oneib_partition **static_partitions =
        oneib_alloc(count ? count : 1, sizeof *static_partitions);
    for (size_t i = 0; i < count; i++)
        static_partitions[i] = &work->static_partitions->items[i];
    ONEIB_SORT(static_partitions, count, compare_partitions);
    merge_partitions(work, &limits, static_partitions);
    free(static_partitions);
}

/* A migrating attachment has two bindings: the one on its new host decides. */
static void set_member_statuses(struct oneib_work *work)
{
    size_t count = work->cloud->attachment_count;
    work->desired->member_statuses =
        oneib_alloc(count ? count : 1, sizeof *work->desired->member_statuses);
    for (size_t i = 0; i < work->binding_count; i++)
        if (!work->bindings[i].is_source)
            work->desired->member_statuses[work->bindings[i].attachment] =
                work->bindings[i].member_status;
}

/* begins: zeroed; where the bindings of each attachment begin among all, by attachment. */
static void find_places(const struct oneib_work *work, uint32_t *begins)
{
    uint32_t place = 0;
    for (size_t i = 0; i < work->binding_count; i++)
        begins[work->bindings[i].attachment]++;
    for (size_t i = 0; i < work->cloud->attachment_count; i++) {
        const uint32_t count = begins[i];
        begins[i] = place;
        place += count;
    }
}

static struct oneib_desired_binding binding_of(const struct oneib_binding *binding)
{
    return (struct oneib_desired_binding){.port = binding->port,
                                          .member = binding->member,
                                          .attachment = binding->attachment,
                                          .host_id = binding->host_id,
                                          .pkey = binding->pkey,
                                          .membership = binding->membership,
                                          .member_status = binding->member_status,
                                          .is_source = binding->is_source,
                                          .is_proven = binding->is_proven};
}

/* Bindings lie by host: each goes to its attachment's place, without a sort. */
static void place_bindings(struct oneib_work *work, const uint32_t *begins)
{
    struct oneib_desired *desired = work->desired;
    for (size_t i = 0; i < work->binding_count; i++) {
        const struct oneib_binding *binding = &work->bindings[i];
        desired->bindings[begins[binding->attachment] + binding->is_source] = binding_of(binding);
    }
    desired->binding_count = work->binding_count;
}

static void keep_bindings(struct oneib_work *work)
{
    const size_t count = work->cloud->attachment_count;
    uint32_t *begins = oneib_alloc(count + 1, sizeof *begins);
    work->desired->bindings = oneib_alloc(work->binding_count + 1, sizeof *work->desired->bindings);
    find_places(work, begins);
    place_bindings(work, begins);
    free(begins);
}

/* clusters: for each network the index of the cluster that it is the network of. */
static void add_clusters(struct oneib_work *work, uint32_t *clusters)
{
    struct oneib_desired *desired = work->desired;
    size_t count = work->cloud->network_count;
    ONEIB_RESERVE(desired->clusters, desired->cluster_capacity, count);
    for (size_t i = 0; i < count; i++) {
        const struct oneib_entitlement *entitlement = &work->entitlements[i];
        if (entitlement->cluster != i)
            continue;
        clusters[i] = (uint32_t)desired->cluster_count;
        desired->clusters[desired->cluster_count++] =
            (struct oneib_cluster){.network_id = work->cloud->networks[i].id,
                                   .pkey = entitlement->pkey,
                                   .membership = entitlement->membership};
    }
}

/* The VMs of a cluster that were counted last. */
struct last_vms {
    uint32_t member, refused;
};

/* Attachments come by VM: a VM is new when it is not that of the last member. */
static void count_attachment(struct oneib_work *work, struct oneib_cluster *cluster, size_t index,
                             struct last_vms *last)
{
    const uint32_t vm_id = work->cloud->attachments[index].vm_id;
    const enum oneib_member_status member_status =
        (enum oneib_member_status)work->desired->member_statuses[index];
    if (member_status == ONEIB_MEMBER_STATUS_MEMBER) {
        cluster->vms += cluster->members == 0 || last->member != vm_id;
        cluster->members++;
        last->member = vm_id;
    } else if (oneib_member_status_is_refusal(member_status)) {
        cluster->refused_vms += cluster->refused == 0 || last->refused != vm_id;
        cluster->refused++;
        last->refused = vm_id;
    }
}

static void fill_clusters(struct oneib_work *work, const uint32_t *clusters,
                          struct last_vms *last_vms)
{
    for (size_t i = 0; i < work->cloud->attachment_count; i++) {
        const struct oneib_network *network =
            oneib_cloud_network(work->cloud, work->cloud->attachments[i].network_id);
        if (!network)
            continue;
        uint32_t owner = work->entitlements[network - work->cloud->networks].cluster;
        if (owner == ONEIB_NO_INDEX)
            continue;
        struct oneib_cluster *cluster = &work->desired->clusters[clusters[owner]];
        ONEIB_APPEND(cluster->attachments, cluster->attachment_count, cluster->attachment_capacity,
                     i);
        count_attachment(work, cluster, i, &last_vms[clusters[owner]]);
    }
}

/* Bindings lie by host and then by network, so a cluster meets each of its hosts in one stretch. */
static void count_hosts(struct oneib_work *work, const uint32_t *clusters, uint32_t *last_hosts)
{
    for (size_t i = 0; i < work->binding_count; i++) {
        const struct oneib_binding *binding = &work->bindings[i];
        if (binding->member_status != ONEIB_MEMBER_STATUS_MEMBER ||
            work->desired->member_statuses[binding->attachment] != ONEIB_MEMBER_STATUS_MEMBER)
            continue;
        uint32_t index = clusters[work->entitlements[binding->network].cluster];
        struct oneib_cluster *cluster = &work->desired->clusters[index];
        if (cluster->hosts == 0 || last_hosts[index] != binding->host_id)
            cluster->hosts++;
        last_hosts[index] = binding->host_id;
    }
}

static void make_clusters(struct oneib_work *work)
{
    size_t count = work->cloud->network_count ? work->cloud->network_count : 1;
    uint32_t *clusters = oneib_alloc(count, sizeof *clusters);
    uint32_t *last_hosts = oneib_alloc(count, sizeof *last_hosts);
    struct last_vms *last_vms = oneib_alloc(count, sizeof *last_vms);
    add_clusters(work, clusters);
    fill_clusters(work, clusters, last_vms);
    count_hosts(work, clusters, last_hosts);
    free(clusters);
    free(last_hosts);
    free(last_vms);
}

static int compute(struct oneib_work *work, struct oneib_error *err)
{
    if (oneib_static_examine(work, err) < 0)
        return -1;
    oneib_entitle(work);
    oneib_plan_keys(work);
    oneib_plan_service_levels(work);
    oneib_examine_attachments(work);
    oneib_collect_statics(work);
    oneib_index_ports(work);
    oneib_make_bindings(work);
    oneib_judge_fenced(work);
    oneib_judge_bindings(work);
    oneib_fill_tables(work);
    oneib_compare_shown_keys(work);
    make_partitions(work);
    set_member_statuses(work);
    keep_bindings(work);
    make_clusters(work);
    oneib_count_multicast(work);
    oneib_findings_sort(work->findings);
    return 0;
}

static void work_clear(struct oneib_work *work)
{
    free(work->static_use.guids);
    free(work->kept);
    free(work->entitlements);
    free(work->statics);
    free(work->ports);
    free(work->bindings);
    free(work->first_index);
    free(work->lines);
    free(work);
}

int oneib_desired_compute(const struct oneib_desired_input *input, struct oneib_desired *desired,
                          struct oneib_error *err)
{
    static const struct oneib_partition_table no_static_partitions;
    *desired = (struct oneib_desired){0};
    struct oneib_work *work = oneib_alloc(1, sizeof *work);
    work->cloud = input->cloud;
    work->policy = input->policy;
    work->static_partitions =
        input->static_partitions ? input->static_partitions : &no_static_partitions;
    work->subnet = input->subnet;
    work->in_force = input->in_force;
    work->ledger = input->ledger;
    work->keys_stay = input->keys_stay;
    work->desired = desired;
    work->findings = &desired->findings;

    int outcome = compute(work, err);
    work_clear(work);
    if (outcome < 0)
        oneib_desired_clear(desired);
    return outcome;
}

const char *oneib_member_status_name(enum oneib_member_status member_status)
{
    static const char *const names[] = {
        [ONEIB_MEMBER_STATUS_ABSENT] = "absent",
        [ONEIB_MEMBER_STATUS_MEMBER] = "member",
        [ONEIB_MEMBER_STATUS_NO_NETWORK] = "no-network",
        [ONEIB_MEMBER_STATUS_NO_LEASE] = "no-lease",
        [ONEIB_MEMBER_STATUS_NO_KEY] = "no-key",
        [ONEIB_MEMBER_STATUS_KEY_CONFLICT] = "key-conflict",
        [ONEIB_MEMBER_STATUS_HCA_MISSING] = "hca-missing",
        [ONEIB_MEMBER_STATUS_HCA_AMBIGUOUS] = "hca-ambiguous",
        [ONEIB_MEMBER_STATUS_HCA_UNSUPPORTED] = "hca-unsupported",
        [ONEIB_MEMBER_STATUS_PHYDEV_INVALID] = "phydev-invalid",
        [ONEIB_MEMBER_STATUS_PORT_REFUSED] = "port-refused",
        [ONEIB_MEMBER_STATUS_PORT_FULL] = "port-full",
        [ONEIB_MEMBER_STATUS_OWNER_LIMIT] = "owner-limit",
        [ONEIB_MEMBER_STATUS_GIVES_WAY] = "gives-way",
        [ONEIB_MEMBER_STATUS_UNKNOWN_STATE] = "unknown-state",
        [ONEIB_MEMBER_STATUS_START_FAILED] = "start-failed",
        [ONEIB_MEMBER_STATUS_FENCED] = "fenced",
        [ONEIB_MEMBER_STATUS_SWITCHED] = "switched",
    };
    return names[member_status];
}

bool oneib_member_status_is_refusal(enum oneib_member_status member_status)
{
    return member_status != ONEIB_MEMBER_STATUS_MEMBER &&
           member_status != ONEIB_MEMBER_STATUS_ABSENT;
}

bool oneib_member_status_is_lack(enum oneib_member_status member_status)
{
    return member_status == ONEIB_MEMBER_STATUS_NO_NETWORK ||
           member_status == ONEIB_MEMBER_STATUS_NO_KEY ||
           member_status == ONEIB_MEMBER_STATUS_HCA_MISSING;
}

const struct oneib_desired_binding *oneib_desired_bindings(const struct oneib_desired *desired,
                                                           size_t attachment, size_t *count)
{
    const size_t first =
        ONEIB_LOWER_BOUND(i, desired->binding_count, desired->bindings[i].attachment < attachment);
    *count =
        ONEIB_RUN(i, first, desired->binding_count, desired->bindings[i].attachment == attachment);
    return *count ? &desired->bindings[first] : NULL;
}

ONEIB_ORDER_BY(compare_sharers, struct oneib_sharer, network_id);

ONEIB_ORDER_BY(compare_clusters, struct oneib_cluster, network_id);

const struct oneib_cluster *oneib_desired_cluster(const struct oneib_desired *desired,
                                                  uint32_t network_id)
{
    const struct oneib_sharer wanted_sharer = {.network_id = network_id};
    const struct oneib_sharer *sharer =
        ONEIB_FIND(&wanted_sharer, desired->sharers, desired->sharer_count, compare_sharers);
    const struct oneib_cluster wanted = {.network_id = sharer ? sharer->cluster_id : network_id};
    return ONEIB_FIND(&wanted, desired->clusters, desired->cluster_count, compare_clusters);
}

void oneib_desired_clear(struct oneib_desired *desired)
{
    for (size_t i = 0; i < desired->cluster_count; i++)
        free(desired->clusters[i].attachments);
    oneib_partition_table_clear(&desired->table);
    oneib_findings_clear(&desired->findings);
    free(desired->member_statuses);
    free(desired->bindings);
    free(desired->clusters);
    free(desired->sl_requests);
    free(desired->sl_copies);
    free(desired->requests);
    free(desired->copies);
    free(desired->unused);
    free(desired->idle);
    free(desired->sharers);
    free(desired->waiting);
    free(desired->rooms);
    free(desired->fenced);
    free(desired->held);
    *desired = (struct oneib_desired){0};
}
