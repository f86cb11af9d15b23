// SPDX-License-Identifier: Apache-2.0
#include "oneibd/daemon_report.h"
#include "base/escape.h"
#include "base/log.h"
#include "base/text.h"
#include "cluster/names.h"
#include "cluster/port_index.h"
#include <inttypes.h>
#include <string.h>

#define LINES_MAX 100
#define NOTHING_FOUND 0xffff
#define DESCRIPTION_SHOWN 64

static const enum oneib_log_level level_of[] = {
    [ONEIB_NOTICE] = ONEIB_LOG_INFO,
    [ONEIB_WARNING] = ONEIB_LOG_WARNING,
    [ONEIB_VIOLATION] = ONEIB_LOG_ERROR,
};

static void say_new(const struct oneib_finding *finding)
{
    oneib_log(level_of[finding->severity], "%s: %s%s%s", finding->code, finding->text,
              finding->fix ? "; " : "", finding->fix ? finding->fix : "");
}

static void say_gone(const struct oneib_finding *finding)
{
    oneib_log(ONEIB_LOG_INFO, "no more %s: %s", finding->code, finding->text);
}

/* Logs what `these` has and `others` has not; both are sorted. One of which only a name has changed
 * is no other: renaming a network does not make a violation look as if it had ended. */
static void say_difference(const struct oneib_findings *these, const struct oneib_findings *others,
                           void (*say)(const struct oneib_finding *finding), const char *rest)
{
    size_t other = 0, said = 0;
    for (size_t i = 0; i < these->count; i++) {
        while (other < others->count &&
               oneib_finding_compare_unnamed(&others->items[other], &these->items[i]) < 0)
            other++;
        if (other < others->count &&
            oneib_finding_compare_unnamed(&others->items[other], &these->items[i]) == 0)
            continue;
        if (++said <= LINES_MAX)
            say(&these->items[i]);
    }
    if (said > LINES_MAX)
        oneib_log(ONEIB_LOG_WARNING, "%zu more findings %s: see 'oneib plan'", said - LINES_MAX,
                  rest);
}

void oneib_report_findings(struct oneib_report *report, struct oneib_findings *now)
{
    oneib_findings_sort(now);
    oneib_findings_sort_unnamed(now);
    say_difference(now, &report->known, say_new, "are new");
    say_difference(&report->known, now, say_gone, "are gone");
    oneib_findings_clear(&report->known);
    report->known = *now;
    *now = (struct oneib_findings){0};
}

static void append_key(struct oneib_text *text, const char *word, uint16_t key)
{
    if (key)
        oneib_text_printf(text, ", %s %s", word, oneib_pkey_raw_shown(key).text);
}

/* ` of host "node3" "H1"`: the host that reports the port, and what the fabric calls it. */
static void append_place(const struct oneib_report_names *names,
                         const struct oneib_port_index *ports, oneib_guid guid,
                         struct oneib_findings *findings, struct oneib_text *text)
{
    const struct oneib_known_port *known = oneib_port_index_find(ports, guid);
    const struct oneib_subnet_port *port = oneib_subnet_find(names->subnet, guid);
    if (known) {
        oneib_findings_mention(findings, ONEIB_SUBJECT_HOST, known->host->id);
        oneib_text_printf(text, " of %s",
                          oneib_host_called(known->host->id, known->host->name).text);
    }
    oneib_text_append(text, " \"");
    oneib_text_append_escaped(text, port ? port->description : "", DESCRIPTION_SHOWN);
    oneib_text_append(text, "\"");
}

static void append_network(const struct oneib_report_names *names, uint16_t raw,
                           struct oneib_findings *findings, struct oneib_text *text)
{
    const struct oneib_network *network =
        raw ? oneib_network_of_key(names->cloud, names->table, oneib_pkey_base(raw)) : NULL;
    if (!network)
        return;
    oneib_findings_mention(findings, ONEIB_SUBJECT_NETWORK, network->id);
    oneib_text_printf(text, ", key of %s", oneib_network_shown(network).text);
}

static void add_deviation(const struct oneib_report_names *names,
                          const struct oneib_port_index *ports,
                          const struct oneib_deviation *deviation, struct oneib_findings *findings)
{
    oneib_autotext struct oneib_text text = {0};
    oneib_text_printf(&text, "port 0x%016" PRIx64, deviation->port_guid);
    append_place(names, ports, deviation->port_guid, findings, &text);
    append_network(names, deviation->found ? deviation->found : deviation->expected, findings,
                   &text);
    append_key(&text, "wanted", deviation->expected);
    append_key(&text, "found", deviation->found);
    if (deviation->index != NOTHING_FOUND)
        oneib_text_printf(&text, " at index %u", deviation->index);
    const enum oneib_finding_id id = oneib_deviation_finding(deviation->kind);
    oneib_findings_note_with(findings, id, oneib_finding_severity(id),
                             oneib_deviation_fix(deviation, true), "%s", text.data);
}

void oneib_report_add_deviations(const struct oneib_report_names *names,
                                 const struct oneib_verification *verification,
                                 struct oneib_findings *findings)
{
    struct oneib_port_index ports;
    if (verification->count == 0)
        return;
    oneib_port_index_make(names->cloud, &ports);
    for (size_t i = 0; i < verification->count; i++)
        add_deviation(names, &ports, &verification->items[i], findings);
    oneib_port_index_clear(&ports);
}

void oneib_report_clear(struct oneib_report *report)
{
    oneib_findings_clear(&report->known);
}
