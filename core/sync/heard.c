// SPDX-License-Identifier: Apache-2.0
#include "sync/heard.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/stamp.h"
#include "sync/lock.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SUFFIX "nodes"
#define MODE 0640
#define SIZE_MAX_READ (64u << 20) /* 4,000 nodes with 63 VFs have 50 MB */

static const char *const state_names[] = {
    [ONEIB_NODE_UNHEARD] = "unheard",
    [ONEIB_NODE_FOLLOWS] = "follows",
    [ONEIB_NODE_AWAITED] = "awaited",
    [ONEIB_NODE_SILENT] = "silent",
};
#define STATES (sizeof state_names / sizeof *state_names)

const char *oneib_node_state_name(enum oneib_node_state state)
{
    return state_names[state];
}

/* ---- writing --------------------------------------------------------------------------------- */

/* A value that could not be made is NULL, and so is all that it was to be part of. */
static void append(json_t **array, json_t *item)
{
    if (*array && item && json_array_append_new(*array, item) == 0)
        return;
    if (!*array)
        json_decref(item);
    json_decref(*array);
    *array = NULL;
}

/* A name in it may be no UTF-8. */
static json_t *text_json(const char *text)
{
    if (!text)
        return json_null();
    json_t *value = json_string(text);
    oneib_autofree char *plain = value ? NULL : oneib_strdup(text);
    for (char *c = plain; c && *c; c++)
        if (*c & 0x80)
            *c = '?';
    return value || !plain ? value : json_string(plain);
}

static json_t *record_json(const struct oneib_vf_record *record)
{
    oneib_autotext struct oneib_text line = {0};
    struct oneib_vf_record timeless = *record;
    timeless.since = 0;
    oneib_vf_record_render(&timeless, &line);
    return json_string(line.data);
}

static json_t *node_json(const struct oneib_node_snapshot *node)
{
    json_t *records = json_array();
    for (size_t i = 0; i < node->record_count; i++)
        append(&records, record_json(&node->records[i]));
    return json_pack("{s:I, s:s, s:o}", "host", (json_int_t)node->host_id, "state",
                     oneib_node_state_name(node->state), "vfs", records);
}

static json_t *about_json(const struct oneib_finding *finding)
{
    json_t *about = json_array();
    for (size_t i = 0; i < finding->mention_count; i++)
        append(&about, json_pack("[i, I]", (int)finding->mentions[i].subject,
                                 (json_int_t)finding->mentions[i].id));
    return about;
}

static json_t *finding_json(const struct oneib_finding *finding)
{
    return json_pack("{s:i, s:s, s:o, s:o, s:o}", "severity", (int)finding->severity, "code",
                     finding->code, "text", text_json(finding->text), "fix",
                     text_json(finding->fix), "about", about_json(finding));
}

static json_t *heard_json(const struct oneib_node_snapshot *nodes, size_t node_count,
                          const struct oneib_findings *findings)
{
    json_t *array = json_array(), *found = json_array();
    for (size_t i = 0; i < node_count; i++)
        append(&array, node_json(&nodes[i]));
    for (size_t i = 0; i < findings->count; i++)
        append(&found, finding_json(&findings->items[i]));
    return json_pack("{s:i, s:o, s:o}", "process", (int)getpid(), "nodes", array, "findings",
                     found);
}

int oneib_heard_write(const char *state, const struct oneib_node_snapshot *nodes, size_t node_count,
                      const struct oneib_findings *findings, struct oneib_error *err)
{
    oneib_autofree char *path = oneib_path_beside(state, SUFFIX);
    json_t *document = heard_json(nodes, node_count, findings);
    oneib_autofree char *text = document ? json_dumps(document, JSON_COMPACT) : NULL;
    json_decref(document);
    if (!text)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "%s: what nodes say is no JSON", path);
    return oneib_file_replace(path, text, strlen(text), MODE, NULL, NULL, err);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int damaged(const char *path, struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                      "%s is none of this version's: oneibd writes it again when a node reports",
                      path);
}

static bool read_state(const json_t *value, enum oneib_node_state *state)
{
    const char *name = json_string_value(value);
    for (size_t i = 0; name && i < STATES; i++)
        if (strcmp(name, state_names[i]) == 0) {
            *state = (enum oneib_node_state)i;
            return true;
        }
    return false;
}

static bool read_id(const json_t *value, uint32_t *id)
{
    const json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;
    *id = (uint32_t)number;
    return number >= 0 && number <= INT32_MAX;
}

/* *node owns what was read, whatever comes of it. */
static bool read_node(const json_t *value, struct oneib_heard_node *node)
{
    struct oneib_error unread;
    const json_t *vfs = json_object_get(value, "vfs");
    const size_t count = json_array_size(vfs);
    if (!read_id(json_object_get(value, "host"), &node->host_id) ||
        !read_state(json_object_get(value, "state"), &node->state) || !json_is_array(vfs))
        return false;
    node->records = oneib_alloc(count + 1, sizeof *node->records);
    for (; node->record_count < count; node->record_count++) {
        const char *line = json_string_value(json_array_get(vfs, node->record_count));
        if (!line || oneib_vf_record_parse(line, strlen(line), &node->records[node->record_count],
                                           &unread) < 0)
            return false;
    }
    return true;
}

static bool read_nodes(const json_t *nodes, struct oneib_heard *heard)
{
    if (!json_is_array(nodes) ||
        !(heard->nodes = oneib_alloc(json_array_size(nodes) + 1, sizeof *heard->nodes)))
        return false;
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        heard->count++;
        if (!read_node(json_array_get(nodes, i), &heard->nodes[i]) ||
            (i > 0 && heard->nodes[i].host_id <= heard->nodes[i - 1].host_id))
            return false;
    }
    return true;
}

static bool read_mentions(const json_t *about, struct oneib_findings *findings)
{
    for (size_t i = 0; i < json_array_size(about); i++) {
        const json_t *mention = json_array_get(about, i);
        const json_int_t subject = json_integer_value(json_array_get(mention, 0));
        uint32_t id;
        if (subject < ONEIB_SUBJECT_VM || subject > ONEIB_SUBJECT_HOST ||
            !read_id(json_array_get(mention, 1), &id))
            return false;
        oneib_findings_mention(findings, (enum oneib_subject)subject, id);
    }
    return true;
}

static bool read_finding(const json_t *value, struct oneib_heard *heard)
{
    const json_int_t severity = json_integer_value(json_object_get(value, "severity"));
    const char *code = json_string_value(json_object_get(value, "code"));
    const char *text = json_string_value(json_object_get(value, "text"));
    const char *fix = json_string_value(json_object_get(value, "fix"));
    if (severity < ONEIB_NOTICE || severity > ONEIB_VIOLATION || !code || !text)
        return false;
    const enum oneib_finding_id id = oneib_finding_of_code(code);
    if (id == ONEIB_FINDING_IDS ||
        !read_mentions(json_object_get(value, "about"), &heard->findings))
        return false;
    oneib_findings_note_with(&heard->findings, id, (enum oneib_severity)severity, fix, "%s", text);
    return true;
}

static bool read_findings(const json_t *findings, struct oneib_heard *heard)
{
    if (!json_is_array(findings))
        return false;
    for (size_t i = 0; i < json_array_size(findings); i++)
        if (!read_finding(json_array_get(findings, i), heard))
            return false;
    return true;
}

static int not_heard(struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                      "what nodes have is not known here: no oneibd keeps these partitions, or it "
                      "has just begun");
}

static int take(const json_t *document, const char *path, pid_t daemon, struct oneib_heard *heard,
                struct oneib_error *err)
{
    if (!json_is_integer(json_object_get(document, "process")))
        return damaged(path, err);
    if (json_integer_value(json_object_get(document, "process")) != daemon)
        return not_heard(err);
    if (read_nodes(json_object_get(document, "nodes"), heard) &&
        read_findings(json_object_get(document, "findings"), heard))
        return 0;
    oneib_heard_clear(heard);
    return damaged(path, err);
}

/* A clock that was set back makes nothing younger than now. */
static double age_of(const char *path)
{
    struct timespec now;
    const struct oneib_stamp stamp = oneib_stamp_of(path);
    clock_gettime(CLOCK_REALTIME, &now);
    const double age = (double)(now.tv_sec - stamp.modified.tv_sec) +
                       (double)(now.tv_nsec - stamp.modified.tv_nsec) / 1e9;
    return age > 0 ? age : 0;
}

int oneib_heard_read(const char *state, struct oneib_heard *heard, struct oneib_error *err)
{
    oneib_autofree char *path = oneib_path_beside(state, SUFFIX), *text = NULL;
    size_t length;
    int daemon;
    *heard = (struct oneib_heard){0};
    if (oneib_daemon_find(state, &daemon, err) < 0)
        return -1;
    if (daemon == 0 || access(path, F_OK) < 0)
        return not_heard(err);
    const double age = age_of(path);
    if (oneib_file_read(path, SIZE_MAX_READ, &text, &length, err) < 0)
        return -1;
    json_t *document = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    const int status = take(document, path, daemon, heard, err);
    json_decref(document);
    heard->age_s = age;
    return status;
}

ONEIB_ORDER_BY(compare_hosts, struct oneib_heard_node, host_id);

const struct oneib_heard_node *oneib_heard_host(const struct oneib_heard *heard, uint32_t host_id)
{
    const struct oneib_heard_node wanted = {.host_id = host_id};
    return ONEIB_FIND(&wanted, heard->nodes, heard->count, compare_hosts);
}

void oneib_heard_clear(struct oneib_heard *heard)
{
    for (size_t i = 0; i < heard->count; i++)
        free(heard->nodes[i].records);
    free(heard->nodes);
    oneib_findings_clear(&heard->findings);
    *heard = (struct oneib_heard){0};
}
