// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/file.h"
#include "cluster/port_index.h"
#include "cluster/port_owner.h"
#include "ib/ipoib.h"
#include "sm/kind.h"
#include "sync/classes.h"
#include "sync/fences.h"
#include "sync/sync.h"
#include <inttypes.h>
#include <string.h>

/* 100,000 members take about 3 MB; a file of opensm's that is larger than this is not one. */
#define PARTITIONS_MAX_SIZE ((size_t)256 << 20)

static int read_static_partitions(const struct oneib_config *config,
                                  struct oneib_partition_table *static_partitions,
                                  struct oneib_error *err)
{
    const char *path = config->opensm.static_partitions;
    oneib_autofree char *data = NULL;
    size_t length;

    if (oneib_file_read(path, PARTITIONS_MAX_SIZE, &data, &length, err) < 0) {
        if (err->code == ONEIB_ERROR_NOT_FOUND)
            return 0;
        return oneib_wrap(err, "reading the operator's partitions");
    }
    return oneib_partitions_parse(data, length, path, static_partitions, err);
}

static int read_partitions(const struct oneib_config *config, struct oneib_sm *sm,
                           struct oneib_snapshot *snapshot, struct oneib_error *err)
{
    if (read_static_partitions(config, &snapshot->static_partitions, err) < 0)
        return -1;
    return oneib_sm_read(sm, &snapshot->seen, err);
}

static struct oneib_policy policy_of(const struct oneib_config *config, const struct oneib_sm *sm,
                                     const struct oneib_classes *classes)
{
    const struct oneib_sm_limits limits = oneib_sm_limits(sm);
    return (struct oneib_policy){
        .site = config->site,
        .pkey_first = config->pkeys.first,
        .pkey_last = config->pkeys.last,
        .resting_max = config->pkeys.resting,
        .owned_max = config->pkeys.owned,
        .per_owner_max = config->pkeys.per_owner,
        .default_ipoib = config->default_partition.ipoib,
        .default_full_members = config->default_partition.full_guids,
        .default_full_count = config->default_partition.full_count,
        .mtu = oneib_mtu_code(config->fabric.mtu),
        .rate = oneib_rate_code(config->fabric.rate),
        .rate_max = oneib_sm_traits(config->sm.kind)->rate_max,
        .hold_share = config->removal_hold.share,
        .hold_minimum = config->removal_hold.minimum,
        .classes = classes->items,
        .class_count = classes->count,
        .default_class = config->qos.default_class,
        .only_range = limits.only_range,
        .no_limited = limits.no_limited,
        .vn_mad = config->one.vn_mad,
    };
}

static void render(const struct oneib_sm *sm, struct oneib_snapshot *snapshot)
{
    oneib_sm_render(sm, &snapshot->desired.table, &snapshot->rendered);
    const struct oneib_sm_put what = {.wanted = &snapshot->desired.table,
                                      .text = &snapshot->rendered};
    snapshot->changed = !oneib_sm_is_put(sm, &snapshot->seen, &what);
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

/* Where keys are in use there has been one, and where one was read; with all hosts fenced no key is
 * in use. */
static bool is_lost(const struct oneib_config *config, const struct oneib_snapshot *snapshot)
{
    if (snapshot->kept.state != ONEIB_LEDGER_ABSENT)
        return snapshot->kept.state == ONEIB_LEDGER_BROKEN ||
               oneib_ledger_is_older(&snapshot->mark, &snapshot->kept);
    const bool is_damaged = snapshot->seen.state == ONEIB_SEEN_UNREADABLE &&
                            oneib_partitions_is_ours(snapshot->seen.data, snapshot->seen.length);
    const bool has_ours =
        snapshot->seen.state == ONEIB_SEEN_OURS && has_clusters(&snapshot->seen.table);
    return is_damaged || has_ours || hosts_hold_keys(&snapshot->cloud) ||
           oneib_fences_are_there(oneib_config_state(config));
}

static void append_why_lost(const struct oneib_snapshot *snapshot, struct oneib_text *text)
{
    if (snapshot->kept.state == ONEIB_LEDGER_BROKEN)
        oneib_text_append(text, snapshot->kept.why.text);
    else if (snapshot->kept.state == ONEIB_LEDGER_ABSENT)
        oneib_text_append(text,
                          "the ledger of P_Keys is not in OpenNebula, where there has been one");
    else
        oneib_text_printf(text,
                          "the ledger of P_Keys (document %" PRIu32 ") has serial %" PRIu64
                          ", and oneibd has read %" PRIu64
                          ": OpenNebula's database was restored, and lacks the P_Keys given since",
                          snapshot->kept.document_id, snapshot->kept.ledger.serial,
                          snapshot->mark.serial);
}

static int adopt_ledger(const struct oneib_config *config, struct oneib_snapshot *snapshot,
                        struct oneib_error *err)
{
    oneib_autoledger struct oneib_ledger fences;
    if (oneib_fences_read(oneib_config_state(config), &fences, err) < 0 &&
        err->code != ONEIB_ERROR_NOT_FOUND)
        return -1;
    return oneib_ledger_adopt(snapshot, &fences, &snapshot->adopted, err);
}

/* Without the ledger the file in force tells which network has which key; without both nobody. */
static int settle_ledger(const struct oneib_config *config, const struct oneib_sm *sm, bool adopt,
                         struct oneib_snapshot *snapshot, struct oneib_error *err)
{
    oneib_autotext struct oneib_text why = {0};
    oneib_ledger_mark_read(oneib_config_state(config), &snapshot->mark);
    snapshot->ledger_lost = is_lost(config, snapshot);
    if (!snapshot->ledger_lost)
        return 0;
    append_why_lost(snapshot, &why);
    if (snapshot->seen.state != ONEIB_SEEN_OURS && !adopt)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "%s; and %s, from which they could be read, was not written by oneib: "
                          "nothing is changed; see 'oneib plan --adopt', then 'oneib sync --adopt'",
                          why.data, oneib_sm_place(sm));
    return adopt_ledger(config, snapshot, err);
}

static void say_lost(struct oneib_snapshot *snapshot)
{
    oneib_autotext struct oneib_text why = {0};
    if (!snapshot->ledger_lost)
        return;
    append_why_lost(snapshot, &why);
    oneib_findings_note(&snapshot->desired.findings, ONEIB_FINDING_LEDGER_LOST,
                        "%s: no P_Key is given or taken, and networks have those that are in force",
                        why.data);
    oneib_findings_sort(&snapshot->desired.findings);
}

const struct oneib_ledger *oneib_snapshot_ledger(const struct oneib_snapshot *snapshot)
{
    return snapshot->ledger_lost ? &snapshot->adopted : &snapshot->kept.ledger;
}

/* What the kind of subnet manager makes of it all. */
static void settle(struct oneib_sm *sm, struct oneib_snapshot *snapshot)
{
    oneib_sm_settle(sm, &snapshot->seen, &snapshot->desired.table, &snapshot->desired.findings);
    oneib_findings_sort(&snapshot->desired.findings);
    render(sm, snapshot);
}

static int compute(const struct oneib_config *config, struct oneib_sm *sm, bool force, bool adopt,
                   struct oneib_snapshot *snapshot, struct oneib_error *err)
{
    struct oneib_classes classes;
    if (oneib_classes_read(config, &classes, err) < 0 ||
        settle_ledger(config, sm, adopt, snapshot, err) < 0)
        return -1;

    const struct oneib_policy policy = policy_of(config, sm, &classes);
    const bool has_table = oneib_seen_has_table(&snapshot->seen);
    oneib_autofindings struct oneib_findings claims = {0};
    const struct oneib_port_evidence evidence = {
        .ledger = oneib_snapshot_ledger(snapshot),
        .policy = &policy,
        .subnet = snapshot->subnet_known ? &snapshot->subnet : NULL,
    };
    oneib_cloud_settle_ports(&snapshot->cloud, &evidence, &claims);
    const struct oneib_desired_input input = {
        .cloud = &snapshot->cloud,
        .ledger = oneib_snapshot_ledger(snapshot),
        .keys_stay = snapshot->ledger_lost,
        .policy = &policy,
        .static_partitions = &snapshot->static_partitions,
        .subnet = snapshot->subnet_known ? &snapshot->subnet : NULL,
        .in_force = has_table ? &snapshot->seen.table : NULL,
    };
    if (oneib_desired_compute(&input, &snapshot->desired, err) < 0)
        return -1;
    oneib_findings_copy(&claims, 0, &snapshot->desired.findings);
    oneib_findings_sort(&snapshot->desired.findings);
    say_lost(snapshot);

    if (has_table && !force)
        oneib_removals_hold(&input, &snapshot->desired);
    settle(sm, snapshot);
    return 0;
}

/* A mistake in static partitions is found before oned is asked for everything. */
static int fill_snapshot(const struct oneib_config *config, struct oneib_sm *sm,
                         struct oneib_one *one, struct oneib_fabric *fabric,
                         const struct oneib_snapshot_options *options,
                         struct oneib_snapshot *snapshot, struct oneib_error *err)
{
    if (read_partitions(config, sm, snapshot, err) < 0)
        return -1;

    const struct oneib_pools_options pools = {
        .vn_mad = config->one.vn_mad,
        .window = config->one.window,
        .acl_user = config->one.acl_user,
        .progress = options->progress,
        .progress_context = options->progress_context,
    };
    if (oneib_pools_read(one, &pools, &snapshot->cloud, &snapshot->findings, err) < 0 ||
        oneib_ledger_read(one, config->one.acl_user, &snapshot->kept, err) < 0)
        return -1;

    if (fabric && options->fabric)
        oneib_snapshot_read_subnet(config, fabric, snapshot);
    return compute(config, sm, options->force, options->adopt, snapshot, err);
}

int oneib_snapshot_make(const struct oneib_config *config, struct oneib_sm *sm,
                        struct oneib_one *one, struct oneib_fabric *fabric,
                        const struct oneib_snapshot_options *options,
                        struct oneib_snapshot *snapshot, struct oneib_error *err)
{
    *snapshot = (struct oneib_snapshot){0};
    if (fill_snapshot(config, sm, one, fabric, options, snapshot, err) < 0) {
        oneib_snapshot_clear(snapshot);
        return -1;
    }
    return 0;
}

/* The part that was looked at: the cloud, its findings, the ledger and the subnet with its virtual
 * ports. */
static struct oneib_snapshot readings_of(const struct oneib_snapshot *snapshot)
{
    return (struct oneib_snapshot){
        .cloud = snapshot->cloud,
        .findings = snapshot->findings,
        .kept = snapshot->kept,
        .there = snapshot->there,
        .subnet_known = snapshot->subnet_known,
        .subnet = snapshot->subnet,
        .subnet_error = snapshot->subnet_error,
        .vports = snapshot->vports,
    };
}

static void forget_conclusions(struct oneib_snapshot *snapshot)
{
    oneib_partition_table_clear(&snapshot->static_partitions);
    oneib_seen_clear(&snapshot->seen);
    oneib_desired_clear(&snapshot->desired);
    oneib_text_clear(&snapshot->rendered);
    oneib_ledger_clear(&snapshot->adopted);
    *snapshot = readings_of(snapshot);
}

int oneib_snapshot_derive(const struct oneib_config *config, struct oneib_sm *sm, bool force,
                          bool adopt, const struct oneib_snapshot *from,
                          struct oneib_snapshot *derived, struct oneib_error *err)
{
    *derived = readings_of(from);
    if (read_partitions(config, sm, derived, err) == 0 &&
        compute(config, sm, force, adopt, derived, err) == 0)
        return 0;
    oneib_snapshot_release(derived);
    return -1;
}

void oneib_snapshot_release(struct oneib_snapshot *derived)
{
    forget_conclusions(derived);
    *derived = (struct oneib_snapshot){0};
}

int oneib_snapshot_update(const struct oneib_config *config, struct oneib_sm *sm, bool force,
                          struct oneib_snapshot *snapshot, struct oneib_error *err)
{
    forget_conclusions(snapshot);
    if (read_partitions(config, sm, snapshot, err) < 0 ||
        compute(config, sm, force, false, snapshot, err) < 0) {
        forget_conclusions(snapshot);
        return -1;
    }
    return 0;
}

void oneib_snapshot_write_only(const struct oneib_sm *sm, struct oneib_snapshot *snapshot,
                               struct oneib_partition_table *table)
{
    oneib_partition_table_clear(&snapshot->desired.table);
    snapshot->desired.table = *table;
    *table = (struct oneib_partition_table){0};
    render(sm, snapshot);
}

static bool says_the_same(const struct oneib_kept_ledger *a, const struct oneib_kept_ledger *b)
{
    return a->state == b->state && oneib_ledger_equal(&a->ledger, &b->ledger);
}

int oneib_snapshot_read_ledger(const struct oneib_config *config, struct oneib_one *one,
                               struct oneib_snapshot *snapshot, bool *changed,
                               struct oneib_error *err)
{
    struct oneib_kept_ledger now = {.state = snapshot->kept.state,
                                    .document_id = snapshot->kept.document_id};
    if (oneib_ledger_read(one, config->one.acl_user, &now, err) < 0)
        return -1;
    *changed = !says_the_same(&snapshot->kept, &now);
    oneib_kept_ledger_clear(&snapshot->kept);
    snapshot->kept = now;
    oneib_id_set_clear(&snapshot->there);
    return 0;
}

void oneib_snapshot_read_subnet(const struct oneib_config *config, struct oneib_fabric *fabric,
                                struct oneib_snapshot *snapshot)
{
    oneib_subnet_clear(&snapshot->subnet);
    snapshot->subnet_error = (struct oneib_error){0};
    snapshot->subnet_known =
        oneib_vports_read_subnet(config, fabric, &snapshot->vports, &snapshot->subnet,
                                 &snapshot->subnet_error) == 0;
}

void oneib_snapshot_clear(struct oneib_snapshot *snapshot)
{
    forget_conclusions(snapshot);
    oneib_cloud_clear(&snapshot->cloud);
    oneib_findings_clear(&snapshot->findings);
    oneib_kept_ledger_clear(&snapshot->kept);
    oneib_id_set_clear(&snapshot->there);
    oneib_subnet_clear(&snapshot->subnet);
    oneib_vports_clear(&snapshot->vports);
    *snapshot = (struct oneib_snapshot){0};
}
