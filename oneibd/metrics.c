// SPDX-License-Identifier: Apache-2.0
#include "oneibd/metrics.h"

#include "base/cleanup.h"
#include "base/escape.h"
#include <dirent.h>
#include <inttypes.h>
#include <time.h>

const double oneib_metrics_bounds[ONEIB_METRICS_BUCKETS] = {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
                                                            2.5,  5,     10,   15,  30,   60};

#define NAME_MAX_SHOWN 200 /* bytes of a host's name */
#define MICROSECONDS UINT64_C(1000000)
#define SECONDS_MAX UINT64_C(1000000000000)

/* ---- the values ------------------------------------------------------------------------------ */

void oneib_histogram_add(struct oneib_histogram *histogram, double seconds)
{
    if (!(seconds > 0))
        seconds = 0;
    size_t bucket = 0;
    while (bucket < ONEIB_METRICS_BUCKETS && seconds > oneib_metrics_bounds[bucket])
        bucket++;
    histogram->counts[bucket]++;
    histogram->sum += seconds;
}

void oneib_metrics_count_refused(struct oneib_metrics *metrics, const uint8_t *member_statuses,
                                 size_t count)
{
    memset(metrics->refused, 0, sizeof metrics->refused);
    for (size_t i = 0; i < count; i++)
        if (member_statuses[i] < ONEIB_MEMBER_STATUSES)
            metrics->refused[member_statuses[i]]++;
}

uint64_t oneib_metrics_violations(const struct oneib_metrics *metrics)
{
    uint64_t sum = metrics->findings[ONEIB_VIOLATION];
    for (size_t kind = 0; kind < ONEIB_DEVIATION_KINDS; kind++)
        if (oneib_deviation_is_violation((enum oneib_deviation_kind)kind))
            sum += metrics->deviations[kind];
    return sum;
}

void oneib_metrics_clear(struct oneib_metrics *metrics)
{
    for (size_t i = 0; i < metrics->host_count; i++)
        free(metrics->hosts[i].name);
    free(metrics->hosts);
    *metrics = (struct oneib_metrics){0};
}

/* ---- the format ------------------------------------------------------------------------------ */

/* Microseconds are exact enough for times, and whole numbers are written alike in every locale. */
static void append_seconds(struct oneib_text *text, double seconds)
{
    if (!(seconds > 0))
        seconds = 0;
    const uint64_t all = seconds < SECONDS_MAX ? (uint64_t)(seconds * MICROSECONDS + 0.5)
                                               : SECONDS_MAX * MICROSECONDS;
    char number[48];
    int length = snprintf(number, sizeof number, "%" PRIu64 ".%06" PRIu64, all / MICROSECONDS,
                          all % MICROSECONDS);
    while (number[length - 1] == '0')
        length--;
    if (number[length - 1] == '.')
        length--;
    oneib_text_append_bytes(text, number, (size_t)length);
}

/* Quote, backslash and newline have escapes of the format. What is not UTF-8 would spoil the whole
 * answer, and control characters are of no use to anybody. */
static void append_label_value(struct oneib_text *text, const char *value)
{
    const char *at = value;
    while (*at && at - value < NAME_MAX_SHOWN) {
        const size_t length = oneib_printable_length(at);
        if (*at == '"' || *at == '\\')
            oneib_text_printf(text, "\\%c", *at);
        else if (*at == '\n')
            oneib_text_append(text, "\\n");
        else if (length == 0)
            oneib_text_append(text, "\xef\xbf\xbd"); /* U+FFFD */
        else
            oneib_text_append_bytes(text, at, length);
        at += length ? length : 1;
    }
    if (*at)
        oneib_text_append(text, "...");
}

static void begin(struct oneib_text *text, const char *name, const char *type, const char *help)
{
    oneib_text_printf(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void append_number(struct oneib_text *text, const char *name, const char *type,
                          const char *help, uint64_t value)
{
    begin(text, name, type, help);
    oneib_text_printf(text, "%s %" PRIu64 "\n", name, value);
}

static void append_time(struct oneib_text *text, const char *name, const char *type,
                        const char *help, double seconds)
{
    begin(text, name, type, help);
    oneib_text_printf(text, "%s ", name);
    append_seconds(text, seconds);
    oneib_text_append(text, "\n");
}

static void append_labelled(struct oneib_text *text, const char *name, const char *label,
                            const char *value, uint64_t number)
{
    oneib_text_printf(text, "%s{%s=\"%s\"} %" PRIu64 "\n", name, label, value, number);
}

static void append_histogram(struct oneib_text *text, const char *name, const char *help,
                             const struct oneib_histogram *histogram)
{
    uint64_t count = 0;
    begin(text, name, "histogram", help);
    for (size_t i = 0; i < ONEIB_METRICS_BUCKETS; i++) {
        count += histogram->counts[i];
        oneib_text_printf(text, "%s_bucket{le=\"", name);
        append_seconds(text, oneib_metrics_bounds[i]);
        oneib_text_printf(text, "\"} %" PRIu64 "\n", count);
    }
    count += histogram->counts[ONEIB_METRICS_BUCKETS];
    oneib_text_printf(text, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n%s_sum ", name, count, name);
    append_seconds(text, histogram->sum);
    oneib_text_printf(text, "\n%s_count %" PRIu64 "\n", name, count);
}

/* ---- all of it ------------------------------------------------------------------------------- */

struct number {
    const char *name;
    size_t offset; /* of a uint64_t */
    const char *help;
};
#define OF(field) offsetof(struct oneib_metrics, field)

static const struct number gauges[] = {
    {"oneib_clusters", OF(clusters), "Virtual clusters."},
    {"oneib_members", OF(members), "Attachments of VMs that are members of their cluster."},
    {"oneib_members_unverified", OF(members_unverified),
     "Members that are virtual ports (VFs on mlx5), whose P_Keys have not been read."},
    {"oneib_members_unserved", OF(members_unserved),
     "Members that are virtual ports, where sm.kind says that the subnet manager has none: they "
     "get no P_Key."},
    {"oneib_virtual_ports_verified", OF(virtual_ports_verified),
     "Virtual ports (VFs on mlx5) that the last reading of the fabric compared with the "
     "partitions."},
    {"oneib_virtual_ports_unread", OF(virtual_ports_unread),
     "VFs on mlx5 that are open, and whose own P_Key tables their hosts cannot read."},
    {"oneib_members_held", OF(members_held),
     "Members whose removal waits for 'oneib sync --force'."},
    {"oneib_vms", OF(vms), "VMs read from oned, with and without InfiniBand."},
    {"oneib_networks", OF(networks), "InfiniBand networks read from oned."},
    {"oneib_ports", OF(ports), "End ports of the fabric."},
    {"oneib_nodes", OF(nodes), "Hosts whose oneib-node is known by its key."},
    {"oneib_nodes_silent", OF(nodes_cut_off), "Of these, not heard for a minute."},
    {"oneib_vfs_stray", OF(strays),
     "VFs that nodes report, and that OpenNebula does not know of or that are not granted."},
    {"oneib_qos_ports_deviating", OF(level_ports),
     "Ports whose lanes or tables are not as qos.classes say."},
    {"oneib_qos_clusters_deviating", OF(level_clusters),
     "Clusters whose paths or multicast group have another SL than theirs."},
};

static const struct number counters[] = {
    {"oneib_events_total", OF(events), "Messages of oned's event stream."},
    {"oneib_events_unreadable_total", OF(events_unreadable),
     "Messages of the event stream that were not understood."},
    {"oneib_events_delayed_total", OF(events_delayed),
     "Events of VMs and networks that change too often to be looked at each time."},
    {"oneib_event_stream_gaps_total", OF(stream_gaps),
     "Times that the connection to the event stream was lost."},
    {"oneib_looks_total", OF(looks), "Times that oned was asked, for everything or a part."},
    {"oneib_full_readings_total", OF(full_readings), "Times that everything was read from oned."},
    {"oneib_writes_total", OF(writes), "Times that the partitions file was replaced."},
    {"oneib_reloads_total", OF(reloads), "Times that opensm was made to read its partitions."},
    {"oneib_retries_total", OF(retries), "Times that something was tried again after a failure."},
    {"oneib_keys_given_total", OF(keys_given), "P_Keys given to networks without one."},
    {"oneib_host_updates_total", OF(host_updates),
     "Times that attributes of a host were written to oned."},
    {"oneib_node_keys_refused_total", OF(node_keys_refused),
     "Handshakes and messages at daemon.grants by keys of no known node."},
    {"oneib_node_messages_malformed_total", OF(node_messages_malformed),
     "Messages of nodes that were not understood."},
    {"oneib_node_messages_flooding_total", OF(node_messages_flooding),
     "Messages of nodes beyond 100 a second, and their handshakes beyond 20 in 10 s."},
};

static uint64_t value_of(const struct oneib_metrics *metrics, const struct number *number)
{
    uint64_t value;
    memcpy(&value, (const char *)metrics + number->offset, sizeof value);
    return value;
}

static void append_all(struct oneib_text *text, const struct oneib_metrics *metrics,
                       const struct number *numbers, size_t count, const char *type)
{
    for (size_t i = 0; i < count; i++)
        append_number(text, numbers[i].name, type, numbers[i].help, value_of(metrics, &numbers[i]));
}

static void append_states(struct oneib_text *text, const struct oneib_metrics *metrics)
{
    append_number(text, "oneib_in_force", "gauge",
                  "1: the last verification showed on all ports what oned wants.",
                  metrics->in_force);
    append_number(text, "oneib_violations", "gauge",
                  "Violating deviations of ports, and findings that are violations: isolation is, "
                  "or could be, broken.",
                  oneib_metrics_violations(metrics));
    append_number(text, "oneib_sm_master", "gauge",
                  "1: the subnet manager of this host's port is the master; 0: not, or unknown.",
                  metrics->master);
    append_number(text, "oneib_event_stream_connected", "gauge",
                  "1: connected to oned's event stream.", metrics->stream_connected);
    append_number(text, "oneib_event_stream_trusted", "gauge",
                  "1: events have told what polls have seen; 0: oned is polled.",
                  metrics->stream_trusted);
}

static void append_refused(struct oneib_text *text, const struct oneib_metrics *metrics)
{
    begin(text, "oneib_members_refused", "gauge",
          "Attachments of VMs on a host that get nothing there, by why.");
    for (size_t i = 0; i < ONEIB_MEMBER_STATUSES; i++)
        if (oneib_member_status_is_refusal((enum oneib_member_status)i))
            append_labelled(text, "oneib_members_refused", "why",
                            oneib_member_status_name((enum oneib_member_status)i),
                            metrics->refused[i]);
}

static void append_findings(struct oneib_text *text, const struct oneib_metrics *metrics)
{
    begin(text, "oneib_findings", "gauge", "What is wrong with single objects, by severity.");
    for (size_t i = 0; i < ONEIB_SEVERITIES; i++)
        append_labelled(text, "oneib_findings", "severity",
                        oneib_severity_name((enum oneib_severity)i), metrics->findings[i]);
    begin(text, "oneib_deviations", "gauge",
          "Keys of ports that are not what they should be, by kind.");
    for (size_t i = 0; i < ONEIB_DEVIATION_KINDS; i++)
        append_labelled(text, "oneib_deviations", "kind",
                        oneib_deviation_name((enum oneib_deviation_kind)i), metrics->deviations[i]);
}

static void append_errors(struct oneib_text *text, const struct oneib_metrics *metrics)
{
    begin(text, "oneib_errors_total", "counter", "Failures, by kind.");
    for (size_t code = ONEIB_ERROR_NONE + 1; code < ONEIB_ERROR_CODES; code++)
        append_labelled(text, "oneib_errors_total", "kind",
                        oneib_error_code_name((enum oneib_error_code)code), metrics->errors[code]);
}

static void append_times(struct oneib_text *text, const struct oneib_metrics *metrics)
{
    append_time(text, "oneib_look_last_timestamp_seconds", "gauge",
                "When oned was last read; 0: never.", metrics->last_look);
    append_time(text, "oneib_sync_last_timestamp_seconds", "gauge",
                "When the ports were last proved to hold what oned wants; 0: never.",
                metrics->last_sync);
    append_time(text, "oneib_write_last_timestamp_seconds", "gauge",
                "When the partitions file was last replaced; 0: never.", metrics->last_write);
}

static void append_vfs_line(struct oneib_text *text, const char *name,
                            const struct oneib_metrics_host *host, uint32_t value)
{
    oneib_text_printf(text, "%s{host=\"", name);
    append_label_value(text, host->name ? host->name : "");
    oneib_text_printf(text, "\",host_id=\"%" PRIu32 "\"} %" PRIu32 "\n", host->id, value);
}

static void append_vfs(struct oneib_text *text, const struct oneib_metrics *metrics)
{
    begin(text, "oneib_vfs", "gauge", "Virtual functions of a host.");
    for (size_t i = 0; i < metrics->host_count; i++)
        append_vfs_line(text, "oneib_vfs", &metrics->hosts[i], metrics->hosts[i].vfs_total);
    begin(text, "oneib_vfs_free", "gauge", "Virtual functions of a host that no VM has.");
    for (size_t i = 0; i < metrics->host_count; i++)
        append_vfs_line(text, "oneib_vfs_free", &metrics->hosts[i], metrics->hosts[i].vfs_free);
}

/* ---- this process, under the names that Prometheus' own client libraries use ----------------- */

static bool resident_memory(uint64_t *bytes)
{
    uint64_t pages;
    oneib_autofclose FILE *file = fopen("/proc/self/statm", "re");
    if (!file || fscanf(file, "%*u %" SCNu64, &pages) != 1)
        return false;
    *bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return true;
}

static bool open_descriptors(uint64_t *count)
{
    DIR *directory = opendir("/proc/self/fd");
    if (!directory)
        return false;
    *count = 0;
    for (struct dirent *entry; (entry = readdir(directory));)
        *count += entry->d_name[0] != '.';
    *count -= *count > 0; /* the directory's own */
    closedir(directory);
    return true;
}

static void append_process(struct oneib_text *text, const struct oneib_metrics *metrics)
{
    uint64_t value;
    struct timespec used;
    if (resident_memory(&value))
        append_number(text, "process_resident_memory_bytes", "gauge", "Resident memory.", value);
    if (open_descriptors(&value))
        append_number(text, "process_open_fds", "gauge", "Open file descriptors.", value);
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0)
        append_time(text, "process_cpu_seconds_total", "counter", "User and system time.",
                    (double)used.tv_sec + (double)used.tv_nsec / 1e9);
    append_time(text, "process_start_time_seconds", "gauge", "Start time, Unix seconds.",
                metrics->started);
}

void oneib_metrics_render(const struct oneib_metrics *metrics, struct oneib_text *text)
{
    begin(text, "oneib_build_info", "gauge", "1; the version is in the label.");
    append_labelled(text, "oneib_build_info", "version", ONEIB_VERSION, 1);
    append_all(text, metrics, gauges, sizeof gauges / sizeof *gauges, "gauge");
    append_states(text, metrics);
    append_refused(text, metrics);
    append_findings(text, metrics);
    append_vfs(text, metrics);
    append_times(text, metrics);
    append_histogram(text, "oneib_event_to_in_force_seconds",
                     "From an event of oned to its P_Keys in force on the ports.",
                     &metrics->event_to_in_force);
    append_all(text, metrics, counters, sizeof counters / sizeof *counters, "counter");
    append_errors(text, metrics);
    append_process(text, metrics);
}
