// SPDX-License-Identifier: Apache-2.0
/*
 * Service levels: which one a network gets with its key, and the copies that networks show. One
 * that a network has stays until the operator moves it: its IPoIB group keeps the level that it was
 * made with.
 */
#include "base/array.h"
#include "cluster/desired_internal.h"
#include "partitions/qos.h"
#include <string.h>

struct levels {
    size_t used[ONEIB_QOS_SLS]; /* networks that have each, or get it now */
};

const char *oneib_network_class(const struct oneib_cloud *cloud, const char *default_class,
                                const struct oneib_network *network)
{
    const struct oneib_network *rules = oneib_network_rules(cloud, network);
    if (rules && (rules->qos_class[0] || rules->class_invalid))
        return rules->qos_class;
    return default_class;
}

static const char *class_name_of(const struct oneib_work *work, const struct oneib_network *network)
{
    return oneib_network_class(work->cloud, work->policy->default_class, network);
}

/* NULL: it has none, or one that there is not. */
static const struct oneib_qos_class *class_of(const struct oneib_work *work,
                                              const struct oneib_network *network)
{
    const char *name = class_name_of(work, network);
    return name ? oneib_qos_find(work->policy->classes, work->policy->class_count, name) : NULL;
}

uint8_t oneib_service_level_of(const struct oneib_work *work, const struct oneib_network *network)
{
    const struct oneib_ledger_network *entry = oneib_ledger_network(work->ledger, network->id);
    return entry ? entry->sl : 0;
}

static bool is_of(const struct oneib_qos_class *qos_class, uint8_t sl)
{
    return (qos_class->sls & 1u << sl) != 0;
}

/* A network that gets another key keeps its level. */
static uint8_t level_for(struct levels *levels, const struct oneib_qos_class *qos_class, uint8_t sl)
{
    if (!qos_class || is_of(qos_class, sl))
        return qos_class ? sl : 0;
    sl = oneib_qos_choose(qos_class, levels->used);
    levels->used[sl]++;
    return sl;
}

static void say_unknown(struct oneib_work *work, const struct oneib_network *network)
{
    const struct oneib_network *rules = oneib_network_rules(work->cloud, network);
    oneib_findings_note(
        work->findings, ONEIB_FINDING_CLASS_UNKNOWN,
        "%s asks for a class%s%s%s that qos.classes do not define: it gets no service level",
        oneib_name_network(work, network->id).text, rules->class_invalid ? "" : " \"",
        rules->class_invalid ? "" : rules->qos_class, rules->class_invalid ? "" : "\"");
}

/* A tenant's word: whoever could choose the class would choose the best. */
static void say_ignored(struct oneib_work *work, const struct oneib_network *network)
{
    const struct oneib_network *rules = oneib_network_rules(work->cloud, network);
    if (!network->qos_class[0] || (rules && strcmp(network->qos_class, rules->qos_class) == 0))
        return;
    oneib_findings_note(work->findings, ONEIB_FINDING_ATTRIBUTE_IGNORED,
                        "%s: IB_CLASS is ignored: %s", oneib_name_network(work, network->id).text,
                        rules ? "a reservation has its parent's value"
                              : "the network is not oneadmin's");
}

/* Its partition may have members, and its group the level that it was made with. */
static bool is_in_force(const struct oneib_work *work, oneib_pkey pkey)
{
    return !work->in_force || oneib_partition_table_find(work->in_force, pkey);
}

static void say_waits(struct oneib_work *work, const struct oneib_network *network,
                      const struct oneib_qos_class *qos_class, uint8_t sl)
{
    oneib_findings_note(
        work->findings, ONEIB_FINDING_CLASS_WAITS,
        "%s is of class \"%s\", and has SL %u, which is not that class's: it changes when the "
        "network is moved, for its multicast group keeps the SL that it was made with",
        oneib_name_network(work, network->id).text, qos_class->name, sl);
}

static void request_level(struct oneib_work *work, uint32_t network_id, uint8_t sl)
{
    struct oneib_desired *desired = work->desired;
    ONEIB_APPEND(desired->sl_requests, desired->sl_request_count, desired->sl_request_capacity,
                 (struct oneib_sl_request){.network_id = network_id, .sl = sl});
}

static struct oneib_key_request *key_request_of(const struct oneib_work *work, uint32_t network_id)
{
    for (size_t i = 0; i < work->desired->request_count; i++)
        if (work->desired->requests[i].network_id == network_id)
            return &work->desired->requests[i];
    return NULL;
}

static void plan_network(struct oneib_work *work, const struct oneib_network *network,
                         struct levels *levels)
{
    const struct oneib_ledger_network *entry = oneib_ledger_network(work->ledger, network->id);
    const struct oneib_qos_class *qos_class = class_of(work, network);
    struct oneib_key_request *request = key_request_of(work, network->id);
    say_ignored(work, network);
    if (class_name_of(work, network) && !qos_class)
        say_unknown(work, network);
    if (request) {
        request->sl = level_for(levels, qos_class, entry ? entry->sl : 0);
        return;
    }
    if (!entry || !qos_class || is_of(qos_class, entry->sl))
        return;
    if (entry->sl != 0 || is_in_force(work, entry->pkey)) {
        say_waits(work, network, qos_class, entry->sl);
        return;
    }
    request_level(work, network->id, level_for(levels, qos_class, 0));
}

static bool is_planned(const struct oneib_work *work, const struct oneib_network *network)
{
    return !network->other_driver && !oneib_network_is_doubtful(network) &&
           !network->being_created && !oneib_shares_its_parents(work, network);
}

static void plan_all(struct oneib_work *work, struct levels *levels)
{
    for (size_t i = 0; i < work->cloud->network_count; i++)
        if (is_planned(work, &work->cloud->networks[i]))
            plan_network(work, &work->cloud->networks[i], levels);
}

static bool is_copied(const struct oneib_network *network)
{
    return !network->other_driver && !oneib_network_is_doubtful(network) && !network->being_created;
}

static void list_copies(struct oneib_work *work)
{
    struct oneib_desired *desired = work->desired;
    for (size_t i = 0; i < work->cloud->network_count; i++) {
        const struct oneib_network *network = &work->cloud->networks[i];
        const uint8_t sl = oneib_service_level_of(work, oneib_key_giver(work, network));
        if (!is_copied(network) || sl == network->shown_sl)
            continue;
        ONEIB_APPEND(desired->sl_copies, desired->sl_copy_count, desired->sl_copy_capacity,
                     (struct oneib_sl_copy){.network_id = network->id, .sl = sl});
    }
}

void oneib_plan_service_levels(struct oneib_work *work)
{
    struct levels levels = {0};
    if (work->keys_stay || work->policy->class_count == 0)
        return;
    for (size_t i = 0; i < work->ledger->network_count; i++)
        levels.used[work->ledger->networks[i].sl & (ONEIB_QOS_SLS - 1)]++;
    plan_all(work, &levels);
    list_copies(work);
}
