// SPDX-License-Identifier: Apache-2.0
/*
 * What is rendered is held against the text format itself, version 0.0.4, by a checker that is
 * stricter than Prometheus: families whole and once, no series twice, histograms that add up.
 */
#include "oneibd/metrics.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- the checker ----------------------------------------------------------------------------- */

#define SERIES_MAX 4096
#define NAME_SIZE 96

struct exposition {
    const char *at; /* the line that is looked at */
    char family[NAME_SIZE], type[NAME_SIZE];
    char families[256][NAME_SIZE];
    size_t family_count;
    char *series[SERIES_MAX];
    size_t series_count;
    double last_bound, infinity; /* of the histogram that is being read; -1: none */
    uint64_t last_bucket;
    bool has_sum, has_count;
};

static void wrong(const struct exposition *exposition, const char *what)
{
    fail_msg("%s: %.*s", what, (int)strcspn(exposition->at, "\n"), exposition->at);
}

/* A metric's or a label's name at *at; steps over it. */
static void read_name(struct exposition *exposition, const char **at, char *name)
{
    size_t length = 0;
    while (isalnum((unsigned char)(*at)[length]) || (*at)[length] == '_')
        length++;
    if (length == 0 || length >= NAME_SIZE || isdigit((unsigned char)**at))
        wrong(exposition, "no name");
    memcpy(name, *at, length);
    name[length] = '\0';
    *at += length;
}

static void read_char(struct exposition *exposition, const char **at, char c)
{
    if (**at != c)
        wrong(exposition, "another character is due");
    (*at)++;
}

static void read_escape(struct exposition *exposition, const char **at)
{
    (*at)++;
    if (**at != '\\' && **at != '"' && **at != 'n')
        wrong(exposition, "an unknown escape");
    (*at)++;
}

/* A sequence of bytes as RFC 3629 has them. */
static void read_utf8(struct exposition *exposition, const char **at)
{
    const unsigned char *bytes = (const unsigned char *)*at;
    const size_t more = bytes[0] >= 0xf0 ? 3 : bytes[0] >= 0xe0 ? 2 : 1;
    if (bytes[0] < 0xc2 || bytes[0] > 0xf4)
        wrong(exposition, "not UTF-8");
    for (size_t i = 1; i <= more; i++)
        if ((bytes[i] & 0xc0) != 0x80)
            wrong(exposition, "not UTF-8");
    *at += more + 1;
}

static void read_label_value(struct exposition *exposition, const char **at)
{
    read_char(exposition, at, '"');
    while (**at != '"') {
        if (**at == '\\')
            read_escape(exposition, at);
        else if ((unsigned char)**at >= 0x80)
            read_utf8(exposition, at);
        else if ((unsigned char)**at < ' ' || **at == 0x7f)
            wrong(exposition, "a control character");
        else
            (*at)++;
    }
    (*at)++;
}

static void read_labels(struct exposition *exposition, const char **at)
{
    char name[NAME_SIZE];
    if (**at != '{')
        return;
    do {
        (*at)++;
        read_name(exposition, at, name);
        read_char(exposition, at, '=');
        read_label_value(exposition, at);
    } while (**at == ',');
    read_char(exposition, at, '}');
}

/* Digits, and a fraction behind a point: nothing of a locale's. */
static double read_value(struct exposition *exposition, const char **at)
{
    char *end;
    const char *digits = *at;
    if (!isdigit((unsigned char)*digits))
        wrong(exposition, "no number");
    digits += strspn(digits, "0123456789");
    if (*digits == '.' && isdigit((unsigned char)digits[1]))
        digits += 1 + strspn(digits + 1, "0123456789");
    const double value = strtod(*at, &end);
    *at = digits;
    return value;
}

static bool ends_in(const char *name, const char *end)
{
    const size_t length = strlen(name), other = strlen(end);
    return length > other && strcmp(name + length - other, end) == 0;
}

/* A histogram is whole when the next family begins. */
static void end_family(struct exposition *exposition)
{
    if (strcmp(exposition->type, "histogram") != 0)
        return;
    if (exposition->infinity < 0 || !exposition->has_sum || !exposition->has_count)
        fail_msg("%s lacks +Inf, _sum or _count", exposition->family);
}

static void begin_family(struct exposition *exposition, const char *name)
{
    end_family(exposition);
    for (size_t i = 0; i < exposition->family_count; i++)
        if (strcmp(exposition->families[i], name) == 0)
            wrong(exposition, "a family twice");
    snprintf(exposition->families[exposition->family_count++], NAME_SIZE, "%s", name);
    snprintf(exposition->family, NAME_SIZE, "%s", name);
    exposition->type[0] = '\0';
    exposition->last_bound = exposition->infinity = -1;
    exposition->last_bucket = 0;
    exposition->has_sum = exposition->has_count = false;
}

static void read_type(struct exposition *exposition, const char **at)
{
    char name[NAME_SIZE];
    read_name(exposition, at, name);
    read_char(exposition, at, ' ');
    if (strcmp(name, exposition->family) != 0 || exposition->type[0])
        wrong(exposition, "TYPE does not follow its HELP");
    read_name(exposition, at, name);
    snprintf(exposition->type, sizeof exposition->type, "%s", name);
    const bool counter = strcmp(name, "counter") == 0;
    if (!counter && strcmp(name, "gauge") != 0 && strcmp(name, "histogram") != 0)
        wrong(exposition, "an unknown type");
    if (counter != ends_in(exposition->family, "_total"))
        wrong(exposition, "counters and nothing else end in _total");
}

static void read_help(struct exposition *exposition, const char **at)
{
    char name[NAME_SIZE];
    read_name(exposition, at, name);
    read_char(exposition, at, ' ');
    begin_family(exposition, name);
    const size_t length = strcspn(*at, "\n");
    if (length < 5 || memchr(*at, '\\', length))
        wrong(exposition, "no help, or one with an escape");
    *at += length;
}

static void read_comment(struct exposition *exposition, const char **at)
{
    if (strncmp(*at, "# HELP ", 7) == 0) {
        *at += 7;
        read_help(exposition, at);
    } else if (strncmp(*at, "# TYPE ", 7) == 0) {
        *at += 7;
        read_type(exposition, at);
    } else {
        wrong(exposition, "a comment");
    }
}

static void check_bucket(struct exposition *exposition, double value)
{
    const char *le = strstr(exposition->at, "{le=\"");
    assert_non_null(le);
    if (value < (double)exposition->last_bucket || exposition->infinity >= 0)
        wrong(exposition, "buckets are not cumulative, or one comes after +Inf");
    exposition->last_bucket = (uint64_t)value;
    if (strncmp(le + 5, "+Inf\"", 5) == 0) {
        exposition->infinity = value;
        return;
    }
    char *end;
    const double bound = strtod(le + 5, &end);
    if (bound <= exposition->last_bound || *end != '"')
        wrong(exposition, "bounds do not rise");
    exposition->last_bound = bound;
}

static void check_part_of_histogram(struct exposition *exposition, const char *part, double value)
{
    if (strcmp(part, "_bucket") == 0) {
        check_bucket(exposition, value);
    } else if (strcmp(part, "_sum") == 0) {
        exposition->has_sum = true;
    } else if (strcmp(part, "_count") == 0) {
        exposition->has_count = true;
        if (value < exposition->infinity || value > exposition->infinity)
            wrong(exposition, "_count is not the bucket +Inf");
    } else {
        wrong(exposition, "no part of a histogram");
    }
}

static void remember_series(struct exposition *exposition, size_t length)
{
    char *series = strndup(exposition->at, length);
    for (size_t i = 0; i < exposition->series_count; i++)
        if (strcmp(exposition->series[i], series) == 0)
            wrong(exposition, "a series twice");
    assert_true(exposition->series_count < SERIES_MAX);
    exposition->series[exposition->series_count++] = series;
}

static void read_sample(struct exposition *exposition, const char **at)
{
    char name[NAME_SIZE];
    const size_t family = strlen(exposition->family);
    read_name(exposition, at, name);
    if (strncmp(name, exposition->family, family) != 0 || !exposition->type[0])
        wrong(exposition, "a sample outside its family");
    read_labels(exposition, at);
    remember_series(exposition, (size_t)(*at - exposition->at));
    read_char(exposition, at, ' ');
    const double value = read_value(exposition, at);
    if (strcmp(exposition->type, "histogram") == 0)
        check_part_of_histogram(exposition, name + family, value);
    else if (name[family])
        wrong(exposition, "a sample outside its family");
}

static void check_exposition(const char *text)
{
    struct exposition *exposition = calloc(1, sizeof *exposition);
    assert_non_null(exposition);
    for (const char *at = text; *at;) {
        exposition->at = at;
        if (*at == '#')
            read_comment(exposition, &at);
        else
            read_sample(exposition, &at);
        read_char(exposition, &at, '\n');
    }
    end_family(exposition);
    assert_true(exposition->family_count > 30);
    for (size_t i = 0; i < exposition->series_count; i++)
        free(exposition->series[i]);
    free(exposition);
}

/* ---- what is said ---------------------------------------------------------------------------- */

static char *render(const struct oneib_metrics *metrics)
{
    struct oneib_text text = {0};
    oneib_metrics_render(metrics, &text);
    check_exposition(text.data);
    return text.data;
}

/* The text has this whole line. */
static void assert_line(const char *text, const char *line)
{
    const size_t length = strlen(line);
    for (const char *at = strstr(text, line); at; at = strstr(at + 1, line))
        if ((at == text || at[-1] == '\n') && at[length] == '\n')
            return;
    fail_msg("there is no line \"%s\" in:\n%s", line, text);
}

static void assert_says(const struct oneib_metrics *metrics, const char *const *lines)
{
    char *text = render(metrics);
    for (; *lines; lines++)
        assert_line(text, *lines);
    free(text);
}
#define ASSERT_SAYS(metrics, ...) assert_says(metrics, (const char *const[]){__VA_ARGS__, NULL})

static void a_daemon_that_has_done_nothing_tells_zeros(void **state)
{
    (void)state;
    const struct oneib_metrics metrics = {0};
    ASSERT_SAYS(&metrics, "oneib_build_info{version=\"" ONEIB_VERSION "\"} 1", "oneib_clusters 0",
                "oneib_in_force 0", "oneib_violations 0", "oneib_sync_last_timestamp_seconds 0",
                "oneib_event_to_in_force_seconds_bucket{le=\"+Inf\"} 0",
                "oneib_event_to_in_force_seconds_sum 0", "oneib_errors_total{kind=\"refused\"} 0",
                "# TYPE oneib_vfs_free gauge");
}

static void every_value_has_its_own_line(void **state)
{
    (void)state;
    const struct oneib_metrics metrics = {.clusters = 1,
                                          .members = 2,
                                          .members_held = 3,
                                          .members_unverified = 2,
                                          .members_unserved = 77,
                                          .virtual_ports_verified = 10,
                                          .virtual_ports_unread = 9,
                                          .vms = 4,
                                          .networks = 5,
                                          .ports = 6,
                                          .in_force = true,
                                          .master = true,
                                          .stream_connected = true,
                                          .stream_trusted = true,
                                          .events = 7,
                                          .events_unreadable = 8,
                                          .events_delayed = 23,
                                          .stream_gaps = 9,
                                          .looks = 10,
                                          .full_readings = 11,
                                          .writes = 12,
                                          .reloads = 13,
                                          .retries = 14,
                                          .keys_given = 15,
                                          .host_updates = UINT64_MAX,
                                          .node_keys_refused = 16,
                                          .node_messages_malformed = 17,
                                          .node_messages_flooding = 18};
    ASSERT_SAYS(&metrics, "oneib_clusters 1", "oneib_members 2", "oneib_members_unverified 2",
                "oneib_members_unserved 77", "oneib_virtual_ports_verified 10",
                "oneib_virtual_ports_unread 9", "oneib_members_held 3", "oneib_vms 4",
                "oneib_networks 5", "oneib_ports 6", "oneib_in_force 1", "oneib_sm_master 1",
                "oneib_event_stream_connected 1", "oneib_event_stream_trusted 1",
                "oneib_events_total 7", "oneib_events_unreadable_total 8",
                "oneib_events_delayed_total 23", "oneib_event_stream_gaps_total 9",
                "oneib_looks_total 10", "oneib_full_readings_total 11", "oneib_writes_total 12",
                "oneib_reloads_total 13", "oneib_retries_total 14", "oneib_keys_given_total 15",
                "oneib_host_updates_total 18446744073709551615", "oneib_node_keys_refused_total 16",
                "oneib_node_messages_malformed_total 17", "oneib_node_messages_flooding_total 18");
}

static void violations_are_those_of_ports_and_of_findings(void **state)
{
    (void)state;
    struct oneib_metrics metrics = {.findings = {100, 200, 3}};
    metrics.deviations[ONEIB_KEY_EXCESS] = 10;
    metrics.deviations[ONEIB_PORT_SILENT] = 20;
    metrics.deviations[ONEIB_KEY_ABSENT] = 400;
    metrics.deviations[ONEIB_KEY_NARROWED] = 500;
    ASSERT_SAYS(
        &metrics, "oneib_violations 33", "oneib_findings{severity=\"notice\"} 100",
        "oneib_findings{severity=\"warning\"} 200", "oneib_findings{severity=\"violation\"} 3",
        "oneib_deviations{kind=\"key-excess\"} 10", "oneib_deviations{kind=\"key-absent\"} 400",
        "oneib_deviations{kind=\"port-silent\"} 20");
}

static void refused_attachments_are_counted_by_why(void **state)
{
    (void)state;
    static const uint8_t statuses[] = {
        ONEIB_MEMBER_STATUS_OWNER_LIMIT, ONEIB_MEMBER_STATUS_MEMBER,
        ONEIB_MEMBER_STATUS_OWNER_LIMIT, ONEIB_MEMBER_STATUS_ABSENT,
        ONEIB_MEMBER_STATUS_SWITCHED,    UINT8_MAX,
    };
    struct oneib_metrics metrics = {.refused = {[ONEIB_MEMBER_STATUS_PORT_FULL] = 7}};
    oneib_metrics_count_refused(&metrics, statuses, sizeof statuses);
    ASSERT_SAYS(&metrics, "oneib_members_refused{why=\"owner-limit\"} 2",
                "oneib_members_refused{why=\"switched\"} 1",
                "oneib_members_refused{why=\"port-full\"} 0");
    struct oneib_text text = {0};
    oneib_metrics_render(&metrics, &text);
    assert_null(strstr(text.data, "why=\"member\""));
    assert_null(strstr(text.data, "why=\"absent\""));
    oneib_text_clear(&text);
}

static void errors_are_counted_by_kind(void **state)
{
    (void)state;
    struct oneib_metrics metrics = {0};
    metrics.errors[ONEIB_ERROR_INPUT] = 1;
    metrics.errors[ONEIB_ERROR_TIMEOUT] = 2;
    metrics.errors[ONEIB_ERROR_REFUSED] = 3;
    ASSERT_SAYS(&metrics, "oneib_errors_total{kind=\"input\"} 1",
                "oneib_errors_total{kind=\"timeout\"} 2", "oneib_errors_total{kind=\"refused\"} 3",
                "oneib_errors_total{kind=\"unreachable\"} 0");
}

static void times_are_unix_seconds_to_the_microsecond(void **state)
{
    (void)state;
    const struct oneib_metrics metrics = {.started = 1795000000.25,
                                          .last_look = 1795000001,
                                          .last_sync = 1795000002.999999,
                                          .last_write = 1795000002.9999999};
    ASSERT_SAYS(&metrics, "process_start_time_seconds 1795000000.25",
                "oneib_look_last_timestamp_seconds 1795000001",
                "oneib_sync_last_timestamp_seconds 1795000002.999999",
                "oneib_write_last_timestamp_seconds 1795000003");
}

static void a_histogram_adds_up(void **state)
{
    (void)state;
    struct oneib_metrics metrics = {0};
    const double times[] = {0.004, 0.01, 0.0101, 0.3, 60, 61, -5};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        oneib_histogram_add(&metrics.event_to_in_force, times[i]);
    ASSERT_SAYS(&metrics, "oneib_event_to_in_force_seconds_bucket{le=\"0.01\"} 3",
                "oneib_event_to_in_force_seconds_bucket{le=\"0.025\"} 4",
                "oneib_event_to_in_force_seconds_bucket{le=\"0.25\"} 4",
                "oneib_event_to_in_force_seconds_bucket{le=\"0.5\"} 5",
                "oneib_event_to_in_force_seconds_bucket{le=\"60\"} 6",
                "oneib_event_to_in_force_seconds_bucket{le=\"+Inf\"} 7",
                "oneib_event_to_in_force_seconds_sum 121.3241",
                "oneib_event_to_in_force_seconds_count 7");
}

static void times_that_are_none_do_no_harm(void **state)
{
    (void)state;
    struct oneib_metrics metrics = {.started = -1, .last_look = 1e300};
    oneib_histogram_add(&metrics.event_to_in_force, strtod("nan", NULL));
    oneib_histogram_add(&metrics.event_to_in_force, strtod("inf", NULL));
    ASSERT_SAYS(&metrics, "process_start_time_seconds 0",
                "oneib_look_last_timestamp_seconds 1000000000000",
                "oneib_event_to_in_force_seconds_count 2");
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static struct oneib_metrics with_hosts(const char *const *names, size_t count)
{
    struct oneib_metrics metrics = {.host_count = count, .host_capacity = count};
    metrics.hosts = calloc(count, sizeof *metrics.hosts);
    assert_non_null(metrics.hosts);
    for (size_t i = 0; i < count; i++) {
        metrics.hosts[i].id = (uint32_t)i;
        metrics.hosts[i].name = strdup(names[i]);
        metrics.hosts[i].vfs_total = 8;
        metrics.hosts[i].vfs_free = (uint32_t)(5 - i % 5);
    }
    return metrics;
}

static void hosts_have_their_virtual_functions(void **state)
{
    (void)state;
    const char *const names[] = {"kvm-a", "kvm-b"};
    struct oneib_metrics metrics = with_hosts(names, 2);
    ASSERT_SAYS(&metrics, "oneib_vfs{host=\"kvm-a\",host_id=\"0\"} 8",
                "oneib_vfs_free{host=\"kvm-a\",host_id=\"0\"} 5",
                "oneib_vfs_free{host=\"kvm-b\",host_id=\"1\"} 4");
    oneib_metrics_clear(&metrics);
}

static void a_hostile_name_of_a_host_stays_inside_its_quotes(void **state)
{
    (void)state;
    const char *const names[] = {"a\"} 1\noneib_violations 0\n",
                                 "back\\slash\\",
                                 "\x1b[31m\r\t",
                                 "\xff\xc0\xaf\xed\xa0\x80",
                                 "\xe2\x80\xae xyz",
                                 "k\xc3\xb6ln",
                                 "",
                                 "cut\xc3"};
    struct oneib_metrics metrics = with_hosts(names, sizeof names / sizeof *names);
    ASSERT_SAYS(&metrics, "oneib_vfs{host=\"a\\\"} 1\\noneib_violations 0\\n\",host_id=\"0\"} 8",
                "oneib_vfs{host=\"back\\\\slash\\\\\",host_id=\"1\"} 8",
                "oneib_vfs{host=\"\xef\xbf\xbd[31m\xef\xbf\xbd\xef\xbf\xbd\",host_id=\"2\"} 8",
                "oneib_vfs{host=\"k\xc3\xb6ln\",host_id=\"5\"} 8",
                "oneib_vfs{host=\"\",host_id=\"6\"} 8",
                "oneib_vfs{host=\"cut\xef\xbf\xbd\",host_id=\"7\"} 8");
    oneib_metrics_clear(&metrics);
}

static void any_bytes_may_be_the_name_of_a_host(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (int round = 0; round < 500; round++) {
        char name[300] = "";
        for (size_t i = 0; i < sizeof name - 1; i++) {
            seed = seed * 1664525 + 1013904223;
            name[i] = (char)((seed >> 24) % 255 + 1);
        }
        const char *const names[] = {name};
        struct oneib_metrics metrics = with_hosts(names, 1);
        free(render(&metrics));
        oneib_metrics_clear(&metrics);
    }
}

static void a_long_name_is_cut(void **state)
{
    (void)state;
    char name[5000];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    const char *const names[] = {name};
    struct oneib_metrics metrics = with_hosts(names, 1);
    char *text = render(&metrics);
    assert_non_null(strstr(text, "xxx...\",host_id=\"0\"} 8\n"));
    assert_true(strlen(text) < 12000);
    free(text);
    oneib_metrics_clear(&metrics);
}

static void hosts_without_a_name_have_an_empty_one(void **state)
{
    (void)state;
    struct oneib_metrics_host host = {.id = 7};
    const struct oneib_metrics metrics = {.hosts = &host, .host_count = 1};
    ASSERT_SAYS(&metrics, "oneib_vfs{host=\"\",host_id=\"7\"} 0");
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void the_process_tells_what_it_uses(void **state)
{
    (void)state;
    const struct oneib_metrics metrics = {0};
    char *text = render(&metrics);
    const char *memory = strstr(text, "\nprocess_resident_memory_bytes ");
    const char *files = strstr(text, "\nprocess_open_fds ");
    const char *cpu = strstr(text, "\nprocess_cpu_seconds_total ");
    assert_true(memory && files && cpu);
    assert_true(atof(strchr(memory, ' ')) > 100000);
    assert_true(atof(strchr(files, ' ')) >= 3);
    assert_true(atof(strchr(cpu, ' ')) > 0);
    free(text);
}

static void the_manual_tells_of_every_metric(void **state)
{
    (void)state;
    static const char type[] = "\n# TYPE ";
    static char page[65536];
    FILE *file = fopen(ONEIB_TEST_DATA "/../../share/man/oneibd.8", "r");
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    fclose(file);

    const struct oneib_metrics metrics = {0};
    char *text = render(&metrics);
    for (const char *at = strstr(text, type); at; at = strstr(at + 1, type)) {
        char name[NAME_SIZE];
        const char *begin = at + strlen(type);
        snprintf(name, sizeof name, " %.*s", (int)strcspn(begin, " "), begin);
        const char *found = strstr(page, name);
        while (found && !strchr(" \n", found[strlen(name)]))
            found = strstr(found + 1, name);
        if (!found)
            fail_msg("oneibd.8 does not tell of%s", name);
    }
    free(text);
}

static void clearing_twice_is_harmless(void **state)
{
    (void)state;
    const char *const names[] = {"a", "b"};
    struct oneib_metrics metrics = with_hosts(names, 2);
    oneib_metrics_clear(&metrics);
    oneib_metrics_clear(&metrics);
    assert_null(metrics.hosts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_daemon_that_has_done_nothing_tells_zeros),
        cmocka_unit_test(every_value_has_its_own_line),
        cmocka_unit_test(violations_are_those_of_ports_and_of_findings),
        cmocka_unit_test(refused_attachments_are_counted_by_why),
        cmocka_unit_test(errors_are_counted_by_kind),
        cmocka_unit_test(times_are_unix_seconds_to_the_microsecond),
        cmocka_unit_test(a_histogram_adds_up),
        cmocka_unit_test(times_that_are_none_do_no_harm),
        cmocka_unit_test(hosts_have_their_virtual_functions),
        cmocka_unit_test(a_hostile_name_of_a_host_stays_inside_its_quotes),
        cmocka_unit_test(any_bytes_may_be_the_name_of_a_host),
        cmocka_unit_test(a_long_name_is_cut),
        cmocka_unit_test(hosts_without_a_name_have_an_empty_one),
        cmocka_unit_test(the_process_tells_what_it_uses),
        cmocka_unit_test(the_manual_tells_of_every_metric),
        cmocka_unit_test(clearing_twice_is_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
