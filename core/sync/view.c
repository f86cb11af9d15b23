// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/file.h"
#include "model/ipoib.h"
#include "model/port_index.h"
#include "sync/classes.h"
#include "sync/fences.h"
#include "sync/sync.h"
#include <stdlib.h>
#include <string.h>

/* 100,000 members take about 3 MB; a file of opensm's that is larger than this is not one. */
#define PARTITIONS_MAX_SIZE ((size_t)256 << 20)

static int read_fragment(const struct oneib_config *config, struct oneib_partition_table *fragment,
                         struct oneib_error *err)
{
    const char *path = config->opensm.fragment;
    oneib_autofree char *data = NULL;
    size_t length;

    if (oneib_file_read(path, PARTITIONS_MAX_SIZE, &data, &length, err) < 0) {
        if (err->code == ONEIB_ERROR_NOT_FOUND)
            return 0;
        return oneib_wrap(err, "reading the operator's partitions");
    }
    return oneib_partitions_parse(data, length, path, fragment, err);
}

/* opensm makes everybody a full member then, as if it could not read the file. */
static int defines_nothing(const char *path, struct oneib_view *view)
{
    view->file_state = ONEIB_FILE_UNREADABLE;
    oneib_fail(&view->file_error, ONEIB_ERROR_INPUT, "%s defines no partition", path);
    return 0;
}

static int read_file_in_force(const struct oneib_config *config, struct oneib_view *view,
                              struct oneib_error *err)
{
    const char *path = config->opensm.partitions;

    view->file_state = ONEIB_FILE_ABSENT;
    if (oneib_file_read(path, PARTITIONS_MAX_SIZE, &view->file_data, &view->file_length, err) < 0) {
        if (err->code == ONEIB_ERROR_NOT_FOUND)
            return 0;
        return oneib_wrap(err, "reading opensm's partitions");
    }
    if (oneib_partitions_parse(view->file_data, view->file_length, path, &view->in_force,
                               &view->file_error) < 0)
        view->file_state = ONEIB_FILE_UNREADABLE;
    else if (oneib_partitions_is_ours(view->file_data, view->file_length))
        view->file_state = ONEIB_FILE_OURS;
    else if (view->in_force.count == 0)
        return defines_nothing(path, view);
    else
        view->file_state = ONEIB_FILE_FOREIGN;
    return 0;
}

static int read_files(const struct oneib_config *config, struct oneib_view *view,
                      struct oneib_error *err)
{
    if (read_fragment(config, &view->fragment, err) < 0)
        return -1;
    return read_file_in_force(config, view, err);
}

/* *guids is allocated; the configuration's strings were checked when it was loaded. */
int oneib_full_members(const struct oneib_config *config, oneib_guid **guids, size_t *count,
                       struct oneib_error *err)
{
    size_t total = 0;
    while (config->default_partition.full_members && config->default_partition.full_members[total])
        total++;

    *count = 0;
    *guids = calloc(total + 1, sizeof **guids);
    if (!*guids)
        return oneib_fail_memory(err);
    for (; *count < total; ++*count) {
        const char *member = config->default_partition.full_members[*count];
        if (!oneib_guid_parse(member, &(*guids)[*count]))
            return oneib_fail(err, ONEIB_ERROR_CONFIG,
                              "default_partition.full_members: \"%s\" is not a GUID", member);
    }
    return 0;
}

static struct oneib_policy policy_of(const struct oneib_config *config, const oneib_guid *full,
                                     size_t full_count, const struct oneib_classes *classes)
{
    return (struct oneib_policy){
        .site = config->site,
        .pkey_first = config->pkeys.first,
        .pkey_last = config->pkeys.last,
        .resting_max = config->pkeys.resting,
        .per_owner_max = config->pkeys.per_owner,
        .default_ipoib = config->default_partition.ipoib,
        .default_full_members = full,
        .default_full_count = full_count,
        .mtu = oneib_mtu_code(config->fabric.mtu),
        .rate = oneib_rate_code(config->fabric.rate),
        .hold_share = config->removal_hold.share,
        .hold_minimum = config->removal_hold.minimum,
        .classes = classes->items,
        .class_count = classes->count,
        .default_class = config->qos.default_class,
        .vn_mad = config->one.vn_mad,
    };
}

static bool file_is_as_rendered(const struct oneib_view *view)
{
    return view->file_data && view->file_length == view->rendered.length &&
           memcmp(view->file_data, view->rendered.data, view->file_length) == 0;
}

static int render(struct oneib_view *view, struct oneib_error *err)
{
    oneib_partitions_render(&view->desired.table, &view->rendered);
    if (oneib_text_failed(&view->rendered))
        return oneib_fail_memory(err);
    view->changed = !file_is_as_rendered(view);
    return 0;
}

static bool has_clusters(const struct oneib_partition_table *table)
{
    uint32_t id;
    for (size_t i = 0; i < table->count; i++)
        if (oneib_cluster_name_parse(table->items[i].name, &id))
            return true;
    return false;
}

static bool hosts_hold_keys(const struct oneib_cloud *cloud)
{
    for (size_t i = 0; i < cloud->host_count; i++)
        if (cloud->hosts[i].key_count > 0 || cloud->hosts[i].keys_invalid)
            return true;
    return false;
}

/* Where keys are in use there has been one. */
static bool is_lost(const struct oneib_view *view)
{
    if (view->kept.state != ONEIB_LEDGER_ABSENT)
        return view->kept.state == ONEIB_LEDGER_BROKEN;
    const bool is_damaged = view->file_state == ONEIB_FILE_UNREADABLE &&
                            oneib_partitions_is_ours(view->file_data, view->file_length);
    const bool has_ours = view->file_state == ONEIB_FILE_OURS && has_clusters(&view->in_force);
    return is_damaged || has_ours || hosts_hold_keys(&view->cloud);
}

static const char *why_lost(const struct oneib_view *view)
{
    return view->kept.state == ONEIB_LEDGER_BROKEN
               ? view->kept.why.text
               : "the ledger of P_Keys is not in OpenNebula, and keys are in use";
}

static int adopt_ledger(const struct oneib_config *config, struct oneib_view *view,
                        struct oneib_error *err)
{
    struct oneib_ledger fences;
    if (oneib_fences_read(oneib_config_state(config), &fences, err) < 0 &&
        err->code != ONEIB_ERROR_NOT_FOUND)
        return -1;
    const int status = oneib_ledger_adopt(view, &fences, &view->adopted, err);
    oneib_ledger_clear(&fences);
    return status;
}

/* Without the ledger the file in force tells which network has which key; without both nobody. */
static int settle_ledger(const struct oneib_config *config, bool adopt, struct oneib_view *view,
                         struct oneib_error *err)
{
    view->ledger_lost = is_lost(view);
    if (!view->ledger_lost)
        return 0;
    if (view->file_state != ONEIB_FILE_OURS && !adopt)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "%s; and %s, which would tell them, is not oneib's: nothing is changed; "
                          "see 'oneib plan --adopt', then 'oneib sync --adopt'",
                          why_lost(view), config->opensm.partitions);
    return adopt_ledger(config, view, err);
}

static int say_lost(struct oneib_view *view, struct oneib_error *err)
{
    if (!view->ledger_lost)
        return 0;
    if (oneib_findings_add(&view->desired.findings, ONEIB_VIOLATION, "ledger-lost",
                           "see 'oneib plan --adopt', then run 'oneib sync --adopt' where "
                           "one.writer is true",
                           err,
                           "%s: no P_Key is given or taken, and networks have those that are in "
                           "force",
                           why_lost(view)) < 0)
        return -1;
    oneib_findings_sort(&view->desired.findings);
    return 0;
}

const struct oneib_ledger *oneib_view_ledger(const struct oneib_view *view)
{
    return view->ledger_lost ? &view->adopted : &view->kept.ledger;
}

static int compute(const struct oneib_config *config, bool force, bool adopt,
                   struct oneib_view *view, struct oneib_error *err)
{
    oneib_autofree oneib_guid *full = NULL;
    size_t full_count;
    struct oneib_classes classes;
    if (oneib_full_members(config, &full, &full_count, err) < 0 ||
        oneib_classes_read(config, &classes, err) < 0 ||
        settle_ledger(config, adopt, view, err) < 0)
        return -1;

    const struct oneib_policy policy = policy_of(config, full, full_count, &classes);
    const bool has_table =
        view->file_state == ONEIB_FILE_OURS || view->file_state == ONEIB_FILE_FOREIGN;
    const struct oneib_desired_input input = {
        .cloud = &view->cloud,
        .ledger = oneib_view_ledger(view),
        .keys_stay = view->ledger_lost,
        .policy = &policy,
        .fragment = &view->fragment,
        .subnet = view->subnet_known ? &view->subnet : NULL,
        .in_force = has_table ? &view->in_force : NULL,
    };
    if (oneib_desired_compute(&input, &view->desired, err) < 0 || say_lost(view, err) < 0)
        return -1;

    if (has_table && !force &&
        oneib_removals_hold(&view->in_force, &policy, &view->desired, &view->held, err) < 0)
        return -1;
    return render(view, err);
}

/* A fragment with a mistake in it is found before oned is asked for everything. */
static int fill_view(const struct oneib_config *config, struct oneib_one *one,
                     struct oneib_fabric *fabric, const struct oneib_view_options *options,
                     struct oneib_view *view, struct oneib_error *err)
{
    if (read_files(config, view, err) < 0)
        return -1;

    const struct oneib_gather_options gathering = {
        .vn_mad = config->one.vn_mad,
        .window = config->one.window,
        .acl_user = config->one.acl_user,
        .progress = options->progress,
        .progress_context = options->progress_context,
    };
    if (oneib_gather(one, &gathering, &view->cloud, &view->findings, err) < 0 ||
        oneib_ledger_read(one, config->one.acl_user, &view->kept, err) < 0)
        return -1;

    if (fabric && options->fabric)
        oneib_view_read_subnet(fabric, view);
    return compute(config, options->force, options->adopt, view, err);
}

int oneib_view_make(const struct oneib_config *config, struct oneib_one *one,
                    struct oneib_fabric *fabric, const struct oneib_view_options *options,
                    struct oneib_view *view, struct oneib_error *err)
{
    *view = (struct oneib_view){0};
    if (fill_view(config, one, fabric, options, view, err) < 0) {
        oneib_view_clear(view);
        return -1;
    }
    return 0;
}

/* All but what was looked at: the cloud, its findings, the ledger and the subnet. */
static void forget_conclusions(struct oneib_view *view)
{
    oneib_partition_table_clear(&view->fragment);
    oneib_partition_table_clear(&view->in_force);
    oneib_desired_clear(&view->desired);
    oneib_text_clear(&view->rendered);
    oneib_ledger_clear(&view->adopted);
    free(view->file_data);
    *view = (struct oneib_view){
        .cloud = view->cloud,
        .findings = view->findings,
        .kept = view->kept,
        .there = view->there,
        .subnet_known = view->subnet_known,
        .subnet = view->subnet,
        .subnet_error = view->subnet_error,
    };
}

int oneib_view_update(const struct oneib_config *config, bool force, struct oneib_view *view,
                      struct oneib_error *err)
{
    forget_conclusions(view);
    if (read_files(config, view, err) < 0 || compute(config, force, false, view, err) < 0) {
        forget_conclusions(view);
        return -1;
    }
    return 0;
}

int oneib_view_write_only(struct oneib_view *view, struct oneib_partition_table *table,
                          struct oneib_error *err)
{
    oneib_partition_table_clear(&view->desired.table);
    view->desired.table = *table;
    *table = (struct oneib_partition_table){0};
    oneib_text_clear(&view->rendered);
    return render(view, err);
}

static bool says_the_same(const struct oneib_kept_ledger *a, const struct oneib_kept_ledger *b)
{
    return a->state == b->state && oneib_ledger_equal(&a->ledger, &b->ledger);
}

int oneib_view_read_ledger(const struct oneib_config *config, struct oneib_one *one,
                           struct oneib_view *view, bool *changed, struct oneib_error *err)
{
    struct oneib_kept_ledger now = {.state = view->kept.state,
                                    .document_id = view->kept.document_id};
    if (oneib_ledger_read(one, config->one.acl_user, &now, err) < 0)
        return -1;
    *changed = !says_the_same(&view->kept, &now);
    oneib_kept_ledger_clear(&view->kept);
    view->kept = now;
    oneib_id_set_clear(&view->there);
    return 0;
}

void oneib_view_read_subnet(struct oneib_fabric *fabric, struct oneib_view *view)
{
    oneib_subnet_clear(&view->subnet);
    view->subnet_error = (struct oneib_error){0};
    view->subnet_known = oneib_fabric_read(fabric, &view->subnet, &view->subnet_error) == 0;
}

void oneib_view_clear(struct oneib_view *view)
{
    forget_conclusions(view);
    oneib_cloud_clear(&view->cloud);
    oneib_findings_clear(&view->findings);
    oneib_kept_ledger_clear(&view->kept);
    oneib_id_set_clear(&view->there);
    oneib_subnet_clear(&view->subnet);
    *view = (struct oneib_view){0};
}
