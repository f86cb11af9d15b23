// SPDX-License-Identifier: Apache-2.0
/*
 * Runs the scenarios of scenarios/ (scenarios/README.md has the format): a cloud, events, and what is
 * expected of the partitions, the members, the grants and the partitions file. Each scenario is one test.
 * Arguments: the files, else all of them; --print before a file prints what each of its scenes results
 * in, in the form of expectations.
 */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/memory.h"
#include "cluster/port_owner.h"
#include "scenario_scene.h"
#include <glob.h>

#define FILE_SIZE_MAX (1u << 20)

static bool prints;

/* ---- what follows from the scene -------------------------------------------------------------- */

/* As if each host's oneib-node had reported what IB_HCA names. */
static void prove_ports(struct scene *scene)
{
    for (size_t i = 0; i < scene->cloud.host_count; i++)
        for (size_t j = 0; j < scene->cloud.hosts[i].port_count; j++)
            scene->cloud.hosts[i].ports[j].is_proven = true;
}

static void compute_scene(struct story *story)
{
    struct grant_scene *played = story->played;
    struct scene *scene = &played->scene;
    scene->ledger_is_given = true;
    know_vms(played, story->other_vms, story->other_vm_count);
    if (story->vms_are_unread) {
        free(scene->cloud.vm_ids);
        scene->cloud.vm_ids = NULL;
    }
    oneib_findings_clear(&played->findings);
    oneib_grants_clear(&played->grants);
    played->held = 0;
    if (story->settles_ports) {
        const struct oneib_port_evidence evidence = {.ledger = &scene->ledger,
                                                     .policy = &scene->policy,
                                                     .subnet =
                                                         scene->has_subnet ? &scene->subnet : NULL};
        oneib_cloud_sort(&scene->cloud);
        oneib_cloud_settle_ports(&scene->cloud, &evidence, &played->findings);
    } else {
        prove_ports(scene);
    }
    story->is_refused = try_compute(scene) < 0;
    if (story->is_refused)
        return;
    if (scene->has_in_force)
        played->held = hold_removals_of(scene);
    const struct oneib_grants_input input = {.cloud = &scene->cloud,
                                             .policy = &scene->policy,
                                             .desired = &scene->desired,
                                             .nodes = played->snapshots,
                                             .node_count = played->node_count,
                                             .subnet = scene->has_subnet ? &scene->subnet : NULL,
                                             .in_force =
                                                 scene->has_in_force ? &scene->in_force : NULL};
    oneib_grants_compute(&input, &played->grants, &played->findings);
    if (story->hears_no_nodes)
        oneib_grants_clear(&played->grants);
    const struct oneib_gate_input gate_input = {
        .cloud = &scene->cloud,
        .desired = &scene->desired,
        .in_force = scene->has_in_force ? &scene->in_force : NULL,
        .grants = &played->grants,
        .nodes = played->snapshots,
        .node_count = played->node_count,
        .ledger = &scene->ledger,
        .led_elsewhere = played->is_led_elsewhere ? &scene->subnet : NULL,
        .hears_no_nodes = story->hears_no_nodes};
    oneib_gate_clear(&played->gate);
    oneib_gate_compute(&gate_input, &played->gate);
    if (!story->news.is_asked)
        return;
    if (story->news.obeys)
        obey_partitions(&story->news, &scene->desired.table, story->seen, story->seen_count);
    find_news(scene, &story->news);
}

/* The partitions become what is in force. */
static void state_apply(struct story *story, struct statement *statement)
{
    (void)statement;
    struct scene *scene = &story->played->scene;
    compute_scene(story);
    oneib_partition_table_clear(&scene->in_force);
    scene->in_force = scene->desired.table;
    scene->desired.table = (struct oneib_partition_table){0};
    scene->has_in_force = true;
}

static void state_send(struct story *story, struct statement *statement)
{
    const struct oneib_node_snapshot *node = stated_node(story, statement);
    compute_scene(story);
    send_grants(story->played, node->host_id);
}

static void state_in_force(struct story *story, struct statement *statement)
{
    struct scene *scene = &story->played->scene;
    scene->has_in_force = strcmp(statement->text, "unknown") != 0;
    if (strcmp(statement->text, "none") == 0 || !scene->has_in_force)
        oneib_partition_table_clear(&scene->in_force);
    else
        read_partition(story, statement, &scene->in_force);
    memset(statement->used, true, sizeof statement->used);
}

static void state_static(struct story *story, struct statement *statement)
{
    struct scene *scene = &story->played->scene;
    if (strcmp(statement->text, "none") == 0)
        oneib_partition_table_clear(&scene->static_partitions);
    else
        read_partition(story, statement, &scene->static_partitions);
    memset(statement->used, true, sizeof statement->used);
}

/* ---- what is expected ------------------------------------------------------------------------- */

static void print_findings(const struct oneib_findings *findings, struct oneib_text *text)
{
    static const char *const subjects[] = {"", "vm", "network", "host"};
    for (size_t i = 0; i < findings->count; i++) {
        const struct oneib_finding *finding = &findings->items[i];
        oneib_text_printf(
            text, "finding %s %s: %s; fix: %s; about:", oneib_severity_name(finding->severity),
            finding->code, finding->text, finding->fix ? finding->fix : "none");
        for (size_t k = 0; k < finding->mention_count; k++)
            oneib_text_printf(text, " %s %u", subjects[finding->mentions[k].subject],
                              finding->mentions[k].id);
        oneib_text_append(text, "\n");
    }
}

static void print_ledger_changes(const struct oneib_desired *desired, struct oneib_text *text)
{
    for (size_t i = 0; i < desired->request_count; i++) {
        const struct oneib_key_request *request = &desired->requests[i];
        if (request->pkey)
            oneib_text_printf(text, "give network %u pkey=0x%04x", request->network_id,
                              request->pkey);
        else
            oneib_text_printf(text, "give network %u nothing", request->network_id);
        if (request->sl)
            oneib_text_printf(text, " sl=%u", request->sl);
        oneib_text_append(text, "\n");
    }
    for (size_t i = 0; i < desired->sl_request_count; i++)
        oneib_text_printf(text, "give-sl network %u sl=%u\n", desired->sl_requests[i].network_id,
                          desired->sl_requests[i].sl);
    for (size_t i = 0; i < desired->copy_count; i++)
        oneib_text_printf(text, "show network %u vlan=0x%04x\n", desired->copies[i].network_id,
                          desired->copies[i].pkey);
    for (size_t i = 0; i < desired->sl_copy_count; i++)
        oneib_text_printf(text, "show-sl network %u sl=%u\n", desired->sl_copies[i].network_id,
                          desired->sl_copies[i].sl);
    for (size_t i = 0; i < desired->unused_count; i++)
        oneib_text_printf(text, "unused network %u%s\n", desired->unused[i].network_id,
                          desired->unused[i].is_sharer ? " shares" : "");
    for (size_t i = 0; i < desired->idle_count; i++)
        oneib_text_printf(text, "reclaimable 0x%04x\n", desired->idle[i]);
    if (desired->wishes_at_rest)
        oneib_text_printf(text, "delayed %zu\n", desired->wishes_at_rest);
    oneib_text_printf(text, "next 0x%04x\n", desired->next);
    oneib_text_printf(text, "measured mtu=%u rate=%u\n", oneib_mtu_bytes(desired->mtu),
                      oneib_rate_gbps(desired->rate));
}

static void print_members(const struct scene *scene, struct oneib_text *text)
{
    static const char *const reasons[] = {"none", "network-missing", "network-unreadable",
                                          "key-missing", "port-missing"};
    const struct oneib_desired *desired = &scene->desired;
    for (size_t i = 0; i < scene->cloud.attachment_count; i++) {
        const struct oneib_attachment *nic = &scene->cloud.attachments[i];
        oneib_text_printf(text, "status %u.%u %s\n", nic->vm_id, nic->nic_id,
                          oneib_member_status_name(desired->member_statuses[i]));
    }
    for (size_t i = 0; i < desired->cluster_count; i++) {
        const struct oneib_cluster *cluster = &desired->clusters[i];
        oneib_text_printf(text,
                          "cluster %u nics=%zu members=%zu vms=%zu hosts=%zu refused=%zu "
                          "refused-vms=%zu\n",
                          cluster->network_id, cluster->attachment_count, cluster->members,
                          cluster->vms, cluster->hosts, cluster->refused, cluster->refused_vms);
    }
    for (size_t i = 0; i < scene->cloud.attachment_count; i++) {
        const struct oneib_attachment *nic = &scene->cloud.attachments[i];
        size_t count;
        const struct oneib_desired_binding *binding = oneib_desired_bindings(desired, i, &count);
        for (; count > 0; count--, binding++)
            oneib_text_printf(text, "binding %u.%u host %u%s pkey=0x%04x %s\n", nic->vm_id,
                              nic->nic_id, binding->host_id, binding->is_source ? " source" : "",
                              binding->pkey, oneib_membership_name(binding->membership));
    }
    for (size_t i = 0; i < desired->held_count; i++) {
        const struct oneib_held_removal *held = &desired->held[i];
        oneib_text_printf(text, "held 0x%04x ", held->pkey);
        print_guid(held->member, text);
        oneib_text_printf(text, " %s\n", reasons[held->reason]);
    }
    for (size_t i = 0; i < desired->room_count; i++) {
        oneib_text_append(text, "room ");
        print_guid(desired->rooms[i].port_guid, text);
        oneib_text_printf(text, " %u\n", desired->rooms[i].room);
    }
}

static void print_grants(const struct grant_scene *played, struct oneib_text *text)
{
    for (size_t i = 0; i < played->grants.host_count; i++) {
        const struct oneib_host_grants *host = &played->grants.hosts[i];
        for (size_t k = 0; k < host->count; k++) {
            const struct oneib_grant *grant = &host->items[k];
            oneib_text_printf(text, "grant %u: %u.%u network=%u pkey=0x%04x %s:%u%s", host->host_id,
                              grant->vm_id, grant->nic_id, grant->network_id, grant->pkey,
                              grant->device, grant->port, grant->limited ? " limited" : "");
            if (grant->has_vf) {
                char vf[ONEIB_PCI_TEXT_SIZE];
                oneib_pci_format(&grant->vf, vf);
                oneib_text_printf(text, " vf=%s", vf);
            }
            oneib_text_printf(text, "%s\n", grant->may_set_guid ? " guid" : "");
        }
    }
}

static void print_held_keys(const struct grant_scene *played, struct oneib_text *text)
{
    for (size_t i = 0; i < played->node_count; i++) {
        const struct oneib_node_snapshot *node = &played->snapshots[i];
        const struct oneib_host *host = oneib_cloud_host(&played->scene.cloud, node->host_id);
        oneib_pkey keys[ONEIB_PKEY_COUNT];
        if (!host)
            continue;
        const struct oneib_held_keys before = {
            .known = !host->keys_invalid, .keys = host->keys, .count = host->key_count};
        const size_t count = oneib_keys_of_node(
            node, oneib_grants_of_host(&played->grants, node->host_id), &before, keys);
        oneib_text_printf(text, "keys %u:", node->host_id);
        for (size_t k = 0; k < count; k++)
            oneib_text_printf(text, " 0x%04x", keys[k]);
        oneib_text_append(text, count ? "\n" : " none\n");
    }
}

static void print_scene(const struct story *story, struct fence_scene *fence,
                        struct oneib_text *text)
{
    const struct grant_scene *played = story->played;
    if (story->is_refused) {
        oneib_text_printf(text, "refused %s\n", played->scene.err.text);
        return;
    }
    print_table("partition", &played->scene.desired.table, text);
    print_members(&played->scene, text);
    print_findings(&played->scene.desired.findings, text);
    print_findings(&played->findings, text);
    print_ledger_changes(&played->scene.desired, text);
    print_grants(played, text);
    print_table("file", &played->gate.table, text);
    if (played->gate.kept)
        oneib_text_printf(text, "retained %zu\n", played->gate.kept);
    if (played->gate.withheld)
        oneib_text_printf(text, "deferred %zu\n", played->gate.withheld);
    print_held_keys(played, text);
    print_fences(&played->scene, fence, text);
    if (story->news.is_asked)
        print_news(&played->scene, &story->news, text);
}

static bool has_keyword(const char *line, const char *keyword, size_t length)
{
    return strncmp(line, keyword, length) == 0 && line[length] == ' ';
}

/* The words of a finding and of a refusal are a part of the text, " ... " stands for any; all else is as
 * it stands. */
static bool is_met(const char *expected, const char *got)
{
    const bool is_part =
        strncmp(expected, "finding ", 8) == 0 || strncmp(expected, "refused ", 8) == 0;
    if (!is_part)
        return strcmp(expected, got) == 0;
    const char *words = strchr(expected, ':');
    const size_t head = expected[0] == 'r' ? 8
                        : words            ? (size_t)(words - expected) + 1
                                           : strlen(expected);
    if (strncmp(expected, got, head) != 0 || (!words && expected[0] == 'f' && got[head] != ':'))
        return false;
    for (const char *at = expected + head; *at;) {
        const char *end = strstr(at, " ... ");
        char part[512];
        at += strspn(at, " ");
        snprintf(part, sizeof part, "%.*s", end ? (int)(end - at) : (int)strlen(at), at);
        got = strstr(got, part);
        if (!got)
            return false;
        got += strlen(part);
        at = end ? end + 4 : at + strlen(at);
    }
    return true;
}

/* All expectations with the keyword of the first one that was not looked at, against all lines with it. */
static void check_keyword(struct story *story, size_t first, char *const *lines, size_t count)
{
    const char *keyword = story->expected[first].text;
    const size_t length = strcspn(keyword, " ");
    size_t line = 0;
    int last = story->expected[first].line;
    const bool none = strcmp(keyword + length, " none") == 0;
    for (size_t i = none ? first + 1 : first; i < story->expected_count; i++) {
        const struct expectation *expected = &story->expected[i];
        if (!has_keyword(expected->text, keyword, length))
            continue;
        while (line < count && !has_keyword(lines[line], keyword, length))
            line++;
        if (line == count || !is_met(expected->text, lines[line]))
            complain(story, expected->line, "expected: %s; got: %s", expected->text,
                     line < count ? lines[line] : "nothing");
        line += line < count;
        last = expected->line;
    }
    for (; line < count; line++)
        if (has_keyword(lines[line], keyword, length))
            complain(story, last, "expected: no other %.*s; got: %s", (int)length, keyword,
                     lines[line]);
}

static void end_expectations(struct story *story)
{
    if (!story->expect_line)
        return;
    oneib_autotext struct oneib_text text = {0};
    compute_scene(story);
    print_scene(story, &story->fence, &text);
    if (prints)
        printf("%s:%d: %s\n%s\n", story->scenario->file, story->expect_line,
               story->scenario->name.data, text.data);
    char *lines[1024], *rest = NULL;
    size_t count = 0;
    for (char *line = strtok_r(text.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        assert_true(count < 1024);
        lines[count++] = line;
    }
    for (size_t i = 0; i < story->expected_count; i++) {
        const char *keyword = story->expected[i].text;
        const size_t length = strcspn(keyword, " ");
        bool is_first = true;
        for (size_t k = 0; k < i; k++)
            is_first &= !has_keyword(story->expected[k].text, keyword, length);
        if (is_first)
            check_keyword(story, i, lines, count);
    }
    for (size_t i = 0; i < story->expected_count; i++)
        free(story->expected[i].text);
    story->expected_count = 0;
    story->expect_line = 0;
    if (story->news.is_asked)
        turn_over(&story->played->scene, &story->news);
    story->news.is_asked = false;
}

/* The keywords of expectations; of those with `lists` a comma begins another one. */
static const struct {
    const char *keyword;
    bool lists;
} sections[] = {
    {"partition", false}, {"default", false},  {"file", false},       {"status", true},
    {"cluster", false},   {"binding", true},   {"held", true},        {"room", true},
    {"finding", false},   {"give", true},      {"give-sl", true},     {"show", true},
    {"show-sl", true},    {"unused", true},    {"reclaimable", true}, {"delayed", false},
    {"next", false},      {"measured", false}, {"grant", false},      {"retained", false},
    {"deferred", false},  {"keys", false},     {"refused", false},    {"news", false},
    {"step", false},      {"recorded", false}, {"fence-of", true}};

static bool expect_statement(struct story *story, const char *line, int number)
{
    const size_t length = strcspn(line, " ");
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        if (strlen(sections[i].keyword) != length ||
            strncmp(line, sections[i].keyword, length) != 0)
            continue;
        if (!story->expect_line) {
            complain(story, number, "'%.*s' stands before 'expect'", (int)length, line);
            return true;
        }
        for (const char *at = line + length; *at;) {
            at += strspn(at, " ,");
            const size_t end = sections[i].lists ? strcspn(at, ",") : strlen(at);
            oneib_autotext struct oneib_text text = {0};
            oneib_text_printf(&text, "%.*s %.*s", (int)length, line, (int)end, at);
            ONEIB_APPEND(story->expected, story->expected_count, story->expected_capacity,
                         (struct expectation){.text = strdup(text.data), .line = number});
            at += end;
        }
        return true;
    }
    return false;
}

/* ---- statements ------------------------------------------------------------------------------- */

static void state_expect(struct story *story, struct statement *statement)
{
    story->expect_line = statement->line;
    story->hears_no_nodes = take_word(statement, "without-nodes");
}

/* reconcile, then the expected member events: [ports-unchanged] [restarted] [only-changes] */
static void state_reconcile(struct story *story, struct statement *statement)
{
    story->expect_line = statement->line;
    story->news.is_asked = true;
    story->news.obeys = !take_word(statement, "ports-unchanged");
    story->news.restarted = take_word(statement, "restarted");
    story->news.only_changes = take_word(statement, "only-changes");
}

/* seen GUID: the reading of the fabric shows this VF; seen none */
static void state_seen(struct story *story, struct statement *statement)
{
    const char *guid = plain_word(statement, 1);
    assert_true(story->seen_count < sizeof story->seen / sizeof story->seen[0]);
    if (strcmp(guid, "none") == 0)
        story->seen_count = 0;
    else
        story->seen[story->seen_count++] = guid_of(story, statement->line, guid);
}

static void state_must_fail(struct story *story, struct statement *statement)
{
    snprintf(story->must_fail, sizeof story->must_fail, "%s", statement->text);
    memset(statement->used, true, sizeof statement->used);
}

static const struct {
    const char *word;
    void (*state)(struct story *story, struct statement *statement);
} statements[] = {{"network", state_network},
                  {"host", state_host},
                  {"vm", state_vm},
                  {"policy", state_policy},
                  {"ledger", state_ledger},
                  {"fence", state_fence},
                  {"fabric", state_fabric},
                  {"node", state_node},
                  {"report", state_report},
                  {"in-force", state_in_force},
                  {"static", state_static},
                  {"apply", state_apply},
                  {"send", state_send},
                  {"expect", state_expect},
                  {"must-fail", state_must_fail},
                  {"reconcile", state_reconcile},
                  {"seen", state_seen},
                  {"link", state_link},
                  {"links", state_links},
                  {"empty-table", state_empty_table},
                  {"fence-work", state_fence_work}};

static void run_statement(struct story *story, const char *line, int number)
{
    if (expect_statement(story, line, number))
        return;
    end_expectations(story);
    const size_t length = strcspn(line, " ");
    struct statement statement = {
        .line = number, .text = line + length + strspn(line + length, " "), .copy = strdup(line)};
    assert_non_null(statement.copy);
    split_statement(&statement);
    size_t i = 0;
    while (i < sizeof statements / sizeof statements[0] &&
           strcmp(statements[i].word, statement.words[0]) != 0)
        i++;
    if (i == sizeof statements / sizeof statements[0])
        complain(story, number, "unknown statement '%s'", statement.words[0]);
    else {
        statements[i].state(story, &statement);
        for (i = 1; i < statement.count; i++)
            if (!statement.used[i])
                complain(story, number, "unknown word '%s'", statement.words[i]);
    }
    free(statement.copy);
}

/* Without comments, runs of blanks as one; a line that begins with a blank goes on with the one before. */
static void run_lines(struct story *story)
{
    const char *at = story->scenario->text.data ? story->scenario->text.data : "";
    int number = story->scenario->line, begun = 0;
    oneib_autotext struct oneib_text line = {0};
    for (; *at; at += *at == '\n') {
        number++;
        const size_t length = strcspn(at, "\n");
        if (*at != ' ' && line.length) {
            run_statement(story, line.data, begun);
            line.length = 0;
        }
        if (*at != '#')
            for (size_t i = 0; i < length; i++) {
                if (!line.length && at[i] != ' ')
                    begun = number;
                if (at[i] != ' ')
                    oneib_text_append_bytes(&line, &at[i], 1);
                else if (i + 1 < length && at[i + 1] != ' ' && line.length)
                    oneib_text_append(&line, " ");
            }
        at += length;
    }
    if (line.length)
        run_statement(story, line.data, begun);
    end_expectations(story);
}

static void run_scenario(void **state)
{
    void *made = NULL;
    assert_int_equal(grant_scene_make(&made), 0);
    struct story story = {.scenario = *state, .played = made};
    struct scene *scene = &story.played->scene;
    scene->has_in_force = false;
    scene->policy.hold_minimum = 2;
    scene->policy.resting_max = 16;
    run_lines(&story);
    oneib_fence_plan_clear(&story.fence.plan);
    news_scene_clear(&story.news);
    grant_scene_free(&made);
    free(story.expected);
    oneib_autotext struct oneib_text reports = story.reports;
    if (*story.must_fail && reports.length && strstr(reports.data, story.must_fail))
        return;
    if (*story.must_fail)
        fprintf(stderr, "expected to fail with: %s\n", story.must_fail);
    fputs(reports.length ? reports.data : "", stderr); /* cmocka would cut it short */
    if (*story.must_fail || reports.length)
        fail();
}

/* ---- files ------------------------------------------------------------------------------------ */

struct tests {
    struct CMUnitTest *items;
    size_t count, capacity;
};

/* A scenario begins with a line "scenario: NAME". */
static void read_scenarios(const char *path, struct tests *tests)
{
    static const char mark[] = "scenario: ";
    oneib_autofree char *data = NULL;
    size_t length;
    struct oneib_error err;
    if (oneib_file_read(path, FILE_SIZE_MAX, &data, &length, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    const char *slash = strrchr(path, '/');
    struct scenario *scenario = NULL;
    int number = 0;
    for (char *at = data; *at;) {
        const size_t line = strcspn(at, "\n");
        char *next = at + line + (at[line] == '\n');
        number++;
        if (strncmp(at, mark, strlen(mark)) == 0) {
            scenario = oneib_alloc(1, sizeof *scenario);
            scenario->file = slash ? slash + 1 : path;
            scenario->line = number;
            oneib_text_append_bytes(&scenario->name, at + strlen(mark), line - strlen(mark));
            ONEIB_APPEND(tests->items, tests->count, tests->capacity,
                         (struct CMUnitTest){.name = scenario->name.data,
                                             .test_func = run_scenario,
                                             .initial_state = scenario});
        } else if (scenario)
            oneib_text_append_bytes(&scenario->text, at, (size_t)(next - at));
        else if (line && *at != '#') {
            fprintf(stderr, "%s:%d: text before the first scenario\n", path, number);
            exit(1);
        }
        at = next;
    }
}

int main(int argc, char **argv)
{
    struct tests tests = {0};
    glob_t all = {0};
    prints = argc > 1 && strcmp(argv[1], "--print") == 0;
    if (argc > 1 + prints) {
        for (int i = 1 + prints; i < argc; i++)
            read_scenarios(argv[i], &tests);
    } else if (glob(ONEIB_SCENARIOS "/*.txt", 0, NULL, &all) == 0)
        for (size_t i = 0; i < all.gl_pathc; i++)
            read_scenarios(all.gl_pathv[i], &tests);
    const int failed =
        tests.count ? _cmocka_run_group_tests("scenarios", tests.items, tests.count, NULL, NULL)
                    : 1;
    for (size_t i = 0; i < tests.count; i++) {
        struct scenario *scenario = tests.items[i].initial_state;
        oneib_text_clear(&scenario->name);
        oneib_text_clear(&scenario->text);
        free(scenario);
    }
    free(tests.items);
    globfree(&all);
    return failed;
}
