// SPDX-License-Identifier: Apache-2.0
#include "partitions/qos_verify.h"
#include "base/cleanup.h"
#include <inttypes.h>
#include <stdlib.h>

#define PORTS_NAMED 8
struct judged {
    const struct oneib_qos *qos;
    uint8_t entries;
};

typedef bool (*fault)(const struct judged *judged, const struct oneib_qos_port *port);

uint8_t oneib_qos_vls(unsigned code)
{
    static const uint8_t lanes[] = {0, 1, 2, 4, 8, 15};
    return code < sizeof lanes ? lanes[code] : 0;
}

/* Whether the port's low table is the classes': the entries that are not theirs have no weight. */
static bool is_table(const struct oneib_qos *qos, const struct oneib_qos_port *port)
{
    for (size_t i = 0; i < ONEIB_QOS_ENTRIES_MAX; i++) {
        const struct oneib_qos_entry *found = &port->low[i];
        if (i >= qos->entry_count ? found->weight != 0
                                  : found->vl != qos->arbitration[i].vl ||
                                        found->weight != qos->arbitration[i].weight)
            return false;
    }
    return port->high_is_empty;
}

static bool is_silent(const struct judged *judged, const struct oneib_qos_port *port)
{
    (void)judged;
    return !port->answered;
}

static bool is_narrow(const struct judged *judged, const struct oneib_qos_port *port)
{
    return port->answered && (port->vls < judged->qos->vls || port->entries < judged->entries);
}

static bool maps_otherwise(const struct judged *judged, const struct oneib_qos_port *port)
{
    (void)judged;
    return port->answered && port->wrong_sls != 0;
}

static bool arbitrates_otherwise(const struct judged *judged, const struct oneib_qos_port *port)
{
    return port->answered && !is_table(judged->qos, port);
}

static const struct kind {
    fault has;
    enum oneib_finding_id finding;
    const char *what;
} kinds[] = {
    {is_silent, ONEIB_FINDING_QOS_SILENT,
     "did not say which tables they have: nothing is known of shares there"},
    {is_narrow, ONEIB_FINDING_QOS_LANES,
     "have fewer lanes in use, or shorter arbitration tables, than oneib.conf says (qos.vls, "
     "qos.entries): shares are not guaranteed there"},
    {maps_otherwise, ONEIB_FINDING_QOS_NOT_APPLIED, "map SLs to other lanes than the classes say"},
    {arbitrates_otherwise, ONEIB_FINDING_QOS_NOT_APPLIED,
     "have another arbitration table than the classes say: shares are not guaranteed there"},
};

static void name_port(const struct oneib_qos_port *port, size_t named, struct oneib_text *text)
{
    if (named >= PORTS_NAMED)
        return;
    oneib_text_printf(text, "%s0x%016" PRIx64, named ? ", " : "", port->guid);
    if (port->is_switch)
        oneib_text_printf(text, " port %u", port->number);
}

static void judge_kind(const struct judged *judged, const struct kind *kind,
                       const struct oneib_qos_reading *reading, struct oneib_findings *findings)
{
    oneib_autotext struct oneib_text names = {0};
    size_t count = 0;
    for (size_t i = 0; i < reading->count; i++)
        if (kind->has(judged, &reading->items[i]))
            name_port(&reading->items[i], count++, &names);
    if (count == 0)
        return;
    oneib_findings_note(findings, kind->finding, "%zu of %zu ports %s: %s%s", count, reading->count,
                        kind->what, names.data, count > PORTS_NAMED ? ", ..." : "");
}

static bool deviates(const struct judged *judged, const struct oneib_qos_port *port)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].has(judged, port))
            return true;
    return false;
}

void oneib_qos_judge_ports(const struct oneib_qos *qos, uint8_t entries,
                           const struct oneib_qos_reading *reading, struct oneib_findings *findings,
                           size_t *drift)
{
    const struct judged judged = {.qos = qos, .entries = entries};
    *drift = 0;
    for (size_t i = 0; i < reading->count; i++)
        *drift += deviates(&judged, &reading->items[i]);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        judge_kind(&judged, &kinds[i], reading, findings);
}

bool oneib_qos_path_deviates(const struct oneib_qos_path *path)
{
    return path->answered && path->found != path->wanted;
}

/* Of each that has another SL. */
static void judge_levels(enum oneib_finding_id id, const char *what,
                         const struct oneib_qos_path *paths, size_t count,
                         struct oneib_findings *findings)
{
    for (size_t i = 0; i < count; i++) {
        const struct oneib_qos_path *path = &paths[i];
        if (!oneib_qos_path_deviates(path))
            continue;
        oneib_findings_mention(findings, ONEIB_SUBJECT_NETWORK, path->network_id);
        oneib_findings_note(findings, id, "%s network %" PRIu32 " SL %u, and it has SL %u", what,
                            path->network_id, path->found, path->wanted);
    }
}

void oneib_qos_judge_paths(const struct oneib_qos_path *paths, size_t count,
                           struct oneib_findings *findings)
{
    judge_levels(ONEIB_FINDING_QOS_NOT_APPLIED, "the subnet manager gives paths of", paths, count,
                 findings);
}

void oneib_qos_judge_groups(const struct oneib_qos_path *groups, size_t count,
                            struct oneib_findings *findings)
{
    judge_levels(ONEIB_FINDING_QOS_GROUP, "the subnet manager gives the multicast group (IPoIB) of",
                 groups, count, findings);
}

void oneib_qos_reading_clear(struct oneib_qos_reading *reading)
{
    free(reading->items);
    *reading = (struct oneib_qos_reading){0};
}
