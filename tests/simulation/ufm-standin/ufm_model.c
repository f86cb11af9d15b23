// SPDX-License-Identifier: Apache-2.0
#include "ufm_model.h"
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KEYS "/resources/pkeys"
#define DEFAULT_KEY 0x7fff

void ufm_model_begin(struct ufm_model *model)
{
    *model = (struct ufm_model){
        .major = 6, .minor = 22, .patch = 1, .sa_key = UINT64_C(0x5cade7a1f00dfeed)};
}

static void clear_key(struct ufm_key *key)
{
    free(key->members);
    *key = (struct ufm_key){0};
}

void ufm_model_clear(struct ufm_model *model)
{
    for (size_t i = 0; i < model->count; i++)
        clear_key(&model->keys[i]);
    free(model->keys);
    free(model->mapping);
    *model = (struct ufm_model){0};
}

static bool is_from(const struct ufm_model *model, unsigned minor, unsigned patch)
{
    return model->major > 6 ||
           (model->major == 6 &&
            (model->minor > minor || (model->minor == minor && model->patch >= patch)));
}

/* ---- what it has ----------------------------------------------------------------------------- */

static void note_change(struct ufm_model *model)
{
    model->changed = model->now ? model->now : time(NULL);
    model->has_changed = true;
}

static struct ufm_key *find_key(const struct ufm_model *model, uint16_t pkey)
{
    for (size_t i = 0; i < model->count; i++)
        if (model->keys[i].pkey == pkey)
            return &model->keys[i];
    return NULL;
}

const struct ufm_key *ufm_model_key(const struct ufm_model *model, uint16_t pkey)
{
    return find_key(model, pkey);
}

static struct ufm_key *make_key(struct ufm_model *model, uint16_t pkey)
{
    struct ufm_key *keys = realloc(model->keys, (model->count + 1) * sizeof *keys);
    size_t place = 0;
    if (!keys)
        abort();
    model->keys = keys;
    while (place < model->count && keys[place].pkey < pkey)
        place++;
    memmove(&keys[place + 1], &keys[place], (model->count - place) * sizeof *keys);
    model->count++;
    keys[place] = (struct ufm_key){.pkey = pkey, .ipoib = true};
    snprintf(keys[place].name, sizeof keys[place].name, "api_pkey_0x%x", pkey);
    return &keys[place];
}

static void drop_key(struct ufm_model *model, struct ufm_key *key)
{
    const size_t place = (size_t)(key - model->keys);
    clear_key(key);
    memmove(key, key + 1, (model->count - place - 1) * sizeof *key);
    model->count--;
    note_change(model);
}

static void set_member(struct ufm_key *key, struct ufm_member member)
{
    size_t place = 0;
    while (place < key->count && key->members[place].guid < member.guid)
        place++;
    if (place == key->count || key->members[place].guid != member.guid) {
        struct ufm_member *members = realloc(key->members, (key->count + 1) * sizeof *members);
        if (!members)
            abort();
        key->members = members;
        memmove(&members[place + 1], &members[place], (key->count - place) * sizeof *members);
        key->count++;
    }
    key->members[place] = member;
}

static void drop_member(struct ufm_key *key, uint64_t guid)
{
    for (size_t i = 0; i < key->count; i++)
        if (key->members[i].guid == guid) {
            memmove(&key->members[i], &key->members[i + 1],
                    (key->count - i - 1) * sizeof *key->members);
            key->count--;
            return;
        }
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Gives the document up. */
static long say(long status, json_t *document, char **answer)
{
    *answer = document ? json_dumps(document, JSON_COMPACT | JSON_ENCODE_ANY) : strdup("");
    json_decref(document);
    return status;
}

static json_t *member_json(const struct ufm_member *member)
{
    char guid[17];
    snprintf(guid, sizeof guid, "%016" PRIx64, member->guid);
    return json_pack("{s:s, s:b, s:s}", "guid", guid, "index0", (int)member->index0, "membership",
                     member->is_full ? "full" : "limited");
}

static json_t *key_json(const struct ufm_key *key)
{
    json_t *guids = json_array();
    for (size_t i = 0; i < key->count; i++)
        json_array_append_new(guids, member_json(&key->members[i]));
    return json_pack("{s:s, s:b, s:o}", "partition", key->name, "ip_over_ib", (int)key->ipoib,
                     "guids", guids);
}

/* Before 6.19 nobody learns who is what there. */
static json_t *default_json(const struct ufm_model *model)
{
    json_t *guids = json_array();
    for (size_t i = 0; is_from(model, 19, 0) && i < model->default_count; i++)
        json_array_append_new(
            guids, member_json(&(struct ufm_member){model->default_full[i], true, true}));
    return json_pack("{s:s, s:b, s:o}", "partition", "management", "ip_over_ib", 1, "guids", guids);
}

static long get_all(const struct ufm_model *model, bool with_guids, char **answer)
{
    json_t *all = json_object();
    char name[16];
    for (size_t i = 0; i < model->count; i++) {
        snprintf(name, sizeof name, "0x%x", model->keys[i].pkey);
        json_object_set_new(
            all, name, with_guids ? key_json(&model->keys[i]) : json_string(model->keys[i].name));
    }
    json_object_set_new(all, "0x7fff",
                        with_guids ? default_json(model) : json_string("management"));
    return say(200, all, answer);
}

static json_t *in_its_shape(const struct ufm_model *model, uint16_t pkey, json_t *flat)
{
    char name[16];
    snprintf(name, sizeof name, model->pads ? "0x%04x" : "0x%x", pkey);
    json_t *shaped = model->wraps ? json_pack("{s:o}", name, flat) : flat;
    return model->lists ? json_pack("[o]", shaped) : shaped;
}

static long get_one(const struct ufm_model *model, uint16_t pkey, char **answer)
{
    const struct ufm_key *key = find_key(model, pkey);
    if (pkey == DEFAULT_KEY)
        return say(200, in_its_shape(model, pkey, default_json(model)), answer);
    if (!key)
        return say(model->says_404 ? 404 : 200, json_object(), answer);
    return say(200, in_its_shape(model, pkey, key_json(key)), answer);
}

static long get_stamp(const struct ufm_model *model, char **answer)
{
    char text[64];
    struct tm fields;
    const time_t changed = (time_t)model->changed;
    if (model->has_no_stamp)
        return say(404, NULL, answer);
    if (model->changed == 0)
        return say(200, json_pack("{s:n}", "last_updated"), answer);
    gmtime_r(&changed, &fields);
    strftime(text, sizeof text, "%a %b %e %H:%M:%S UTC %Y", &fields);
    return say(200, json_pack("{s:s}", "last_updated", text), answer);
}

static long get_release(const struct ufm_model *model, char **answer)
{
    char text[32];
    snprintf(text, sizeof text, "%u.%u.%u-2", model->major, model->minor, model->patch);
    return say(200, json_pack("{s:s}", "ufm_release_version", text), answer);
}

static long get_sm_keys(const struct ufm_model *model, char **answer)
{
    char sa_key[24];
    snprintf(sa_key, sizeof sa_key, "0x%016" PRIx64, model->sa_key);
    return say(200,
               json_pack("{s:s, s:s, s:s, s:s, s:b}", "subnet_prefix", "0xfe80000000000000",
                         "m_key", "0x0000000000000000", "sm_key", "0x1234567890abcdef", "sa_key",
                         sa_key, "m_key_per_port", (int)!model->one_m_key),
               answer);
}

/* ---- changes --------------------------------------------------------------------------------- */

static bool parse_pkey(const char *text, uint16_t *pkey)
{
    char *end;
    if (!text)
        return false;
    const unsigned long value = strtoul(text, &end, 16);
    *pkey = (uint16_t)value;
    return end != text && (*end == '\0' || *end == '/' || *end == '?') && value > 0 &&
           value <= DEFAULT_KEY;
}

/* 16 to 20 hexadecimal digits, say the pages; here 16, with "0x" or without. */
static bool parse_guid(const char *text, uint64_t *guid, const char **end)
{
    char *stop;
    if (!text)
        return false;
    const char *digits = strncmp(text, "0x", 2) == 0 ? text + 2 : text;
    *guid = strtoull(digits, &stop, 16);
    *end = stop;
    return stop - digits == 16;
}

/* A PUT takes a list of memberships from 6.15 on; a POST ignores it, with 200. */
static bool is_full_member(const json_t *body, size_t index, bool honours_lists)
{
    const char *all = json_string_value(json_object_get(body, "membership"));
    const json_t *each = json_object_get(body, "memberships");
    if (honours_lists && each)
        return strcmp(json_string_value(json_array_get(each, index)), "full") == 0;
    return !all || strcmp(all, "limited") != 0;
}

static bool is_list_of_words(const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!json_is_string(json_array_get(list, i)))
            return false;
    return json_is_array(list);
}

/* What is the matter with the body of a PUT or POST; NULL: nothing. */
static const char *fault_of(const json_t *body, bool honours_lists, uint16_t *pkey)
{
    const json_t *guids = json_object_get(body, "guids");
    const json_t *each = json_object_get(body, "memberships");
    const json_t *all = json_object_get(body, "membership");
    uint64_t guid;
    const char *end;
    if (!parse_pkey(json_string_value(json_object_get(body, "pkey")), pkey) || *pkey == DEFAULT_KEY)
        return "Invalid pkey";
    if (!is_list_of_words(guids) || json_array_size(guids) == 0)
        return "Invalid guids";
    for (size_t i = 0; i < json_array_size(guids); i++)
        if (!parse_guid(json_string_value(json_array_get(guids, i)), &guid, &end) || *end)
            return "Invalid guid";
    if (all && !json_is_string(all))
        return "Invalid membership";
    if (honours_lists && each &&
        (!is_list_of_words(each) || json_array_size(each) != json_array_size(guids)))
        return "memberships and guids differ in length";
    return NULL;
}

static void set_members(struct ufm_key *key, const json_t *body, size_t count, bool honours_lists)
{
    const json_t *guids = json_object_get(body, "guids");
    const bool index0 = json_is_true(json_object_get(body, "index0"));
    const json_t *ipoib = json_object_get(body, "ip_over_ib");
    key->ipoib = !ipoib || json_is_true(ipoib);
    for (size_t i = 0; i < count; i++) {
        struct ufm_member member = {.is_full = is_full_member(body, i, honours_lists),
                                    .index0 = index0};
        const char *end;
        parse_guid(json_string_value(json_array_get(guids, i)), &member.guid, &end);
        set_member(key, member);
    }
}

/* is_whole: PUT, which sets the list; else POST, which adds to it. */
static long set_key(struct ufm_model *model, const json_t *body, bool is_whole, char **answer)
{
    uint16_t pkey = 0;
    const bool honours_lists = is_whole && is_from(model, 15, 0);
    const char *fault = fault_of(body, honours_lists, &pkey);
    if (fault)
        return say(400, json_string(fault), answer);
    size_t count = json_array_size(json_object_get(body, "guids"));
    struct ufm_key *key = find_key(model, pkey);
    if (!key)
        key = make_key(model, pkey);
    if (is_whole)
        key->count = 0;
    const bool half = is_whole && model->puts_half;
    model->puts_half &= !half;
    if (half)
        count = (count + 1) / 2;
    set_members(key, body, count, honours_lists);
    note_change(model);
    return half ? say(500, json_string("Internal error"), answer) : say(200, json_object(), answer);
}

/* An empty key, with a name from 6.22 on. */
static long add_key(struct ufm_model *model, const json_t *body, char **answer)
{
    uint16_t pkey;
    const char *name = json_string_value(json_object_get(body, "partition_name"));
    if (!is_from(model, 15, 0))
        return say(404, NULL, answer);
    if (!parse_pkey(json_string_value(json_object_get(body, "pkey")), &pkey) || pkey == DEFAULT_KEY)
        return say(400, json_string("Invalid pkey"), answer);
    if (find_key(model, pkey))
        return say(400, json_string("pkey exists"), answer);
    struct ufm_key *key = make_key(model, pkey);
    if (name && is_from(model, 22, 0))
        snprintf(key->name, sizeof key->name, "%s", name);
    note_change(model);
    return say(200, json_object(), answer);
}

/* The last one takes the key with him. */
static long drop_members(struct ufm_model *model, uint16_t pkey, const uint64_t *guids,
                         size_t count, char **answer)
{
    struct ufm_key *key = find_key(model, pkey);
    for (size_t i = 0; key && i < count; i++)
        drop_member(key, guids[i]);
    if (key)
        note_change(model);
    if (key && key->count == 0)
        drop_key(model, key);
    return say(200, json_object(), answer);
}

static long drop_listed(struct ufm_model *model, uint16_t pkey, const char *list, char **answer)
{
    uint64_t guids[4096];
    size_t count = 0;
    const char *end = list;
    while (count < sizeof guids / sizeof guids[0] && parse_guid(list, &guids[count], &end)) {
        count++;
        list = *end == ',' ? end + 1 : end;
        if (!*end)
            break;
    }
    return *end ? say(400, json_string("Invalid guid"), answer)
                : drop_members(model, pkey, guids, count, answer);
}

static long drop_posted(struct ufm_model *model, const json_t *body, char **answer)
{
    uint16_t pkey = 0;
    uint64_t guid;
    const char *end;
    const json_t *guids = json_object_get(body, "guids");
    if (fault_of(body, false, &pkey))
        return say(400, json_string("Invalid request"), answer);
    for (size_t i = 0; i < json_array_size(guids); i++) {
        free(*answer);
        parse_guid(json_string_value(json_array_get(guids, i)), &guid, &end);
        drop_members(model, pkey, &guid, 1, answer);
    }
    return 200;
}

static long delete_at(struct ufm_model *model, const char *rest, char **answer)
{
    uint16_t pkey;
    const char *guids = strstr(rest, "/guids/");
    if (!parse_pkey(rest, &pkey) || pkey == DEFAULT_KEY)
        return say(400, json_string("Invalid pkey"), answer);
    if (guids)
        return drop_listed(model, pkey, guids + strlen("/guids/"), answer);
    struct ufm_key *key = find_key(model, pkey);
    if (!key)
        return say(404, NULL, answer);
    drop_key(model, key);
    return say(200, json_object(), answer);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool is_path(const char *path, const char *wanted)
{
    const size_t length = strlen(wanted);
    return strncmp(path, wanted, length) == 0 && (path[length] == '\0' || path[length] == '?');
}

static long get_mapping(const struct ufm_model *model, char **answer)
{
    if (!is_from(model, 19, 3))
        return say(404, NULL, answer);
    *answer = strdup(model->mapping ? model->mapping : "{}");
    return 200;
}

static json_t *vport_json(const struct ufm_vport *vport)
{
    char guid[20], port[20];
    snprintf(guid, sizeof guid, "%016" PRIx64, vport->guid);
    snprintf(port, sizeof port, "%016" PRIx64, vport->port);
    json_t *item =
        json_pack("{s:s, s:i, s:s, s:s, s:i}", "virtual_port_state",
                  vport->is_down ? "Down" : "Active", "virtual_port_lid", 0, "system_name",
                  "a host", "virtual_port_guid", guid, "physical_port_number", 1);
    if (item && vport->port)
        json_object_set_new(item, "port_guid", json_string(port));
    return item;
}

static long get_vports(const struct ufm_model *model, char **answer)
{
    if (model->has_no_vports)
        return say(404, NULL, answer);
    json_t *list = json_array();
    for (size_t i = 0; i < model->vport_count; i++)
        json_array_append_new(list, vport_json(&model->vports[i]));
    return say(200, list, answer);
}

static long get_at(struct ufm_model *model, const char *path, char **answer)
{
    uint16_t pkey;
    if (is_path(path, "/app/ufm_version"))
        return get_release(model, answer);
    if (is_path(path, "/app/smconf"))
        return get_sm_keys(model, answer);
    if (is_path(path, "/app/smconf/physical_virtual_mapping"))
        return get_mapping(model, answer);
    if (is_path(path, KEYS "/last_updated"))
        return get_stamp(model, answer);
    if (is_path(path, KEYS) || is_path(path, KEYS "/"))
        return get_all(model, strstr(path, "guids_data=true") != NULL, answer);
    if (strncmp(path, KEYS "/", strlen(KEYS "/")) == 0 &&
        parse_pkey(path + strlen(KEYS "/"), &pkey))
        return get_one(model, pkey, answer);
    if (is_path(path, "/resources/ports"))
        return say(200, json_array(), answer);
    if (is_path(path, "/resources/vports"))
        return get_vports(model, answer);
    return say(404, NULL, answer);
}

static long post_at(struct ufm_model *model, const char *path, const json_t *body, char **answer)
{
    if (is_path(path, KEYS "/add"))
        return add_key(model, body, answer);
    if (is_path(path, KEYS "/") || is_path(path, KEYS))
        return set_key(model, body, false, answer);
    if (is_path(path, "/actions/remove_guids_from_pkey"))
        return drop_posted(model, body, answer);
    if (is_path(path, "/app/tokens"))
        return say(200,
                   json_pack("{s:s, s:b, s:i, s:i, s:s}", "access_token", "standin-token",
                             "revoked", 0, "issued_at", 0, "expires_in", 315360000, "username",
                             "admin"),
                   answer);
    if (is_path(path, "/app/smconf/physical_virtual_mapping") && is_from(model, 19, 3)) {
        free(model->mapping);
        model->mapping = json_dumps(body, JSON_COMPACT);
        return say(200, json_object(), answer);
    }
    return say(404, NULL, answer);
}

static long change_at(struct ufm_model *model, const char *method, const char *path,
                      const char *body, size_t length, char **answer)
{
    json_t *document = json_loadb(body ? body : "", length, 0, NULL);
    long status = 400;
    *answer = NULL;
    if (!document)
        return say(400, json_string("Invalid JSON"), answer);
    if (strcmp(method, "POST") == 0)
        status = post_at(model, path, document, answer);
    else if (is_path(path, KEYS "/qos_conf"))
        status = say(200, json_object(), answer);
    else if (is_path(path, KEYS "/") || is_path(path, KEYS))
        status = set_key(model, document, true, answer);
    else
        status = say(404, NULL, answer);
    json_decref(document);
    return status;
}

long ufm_model_answer(struct ufm_model *model, const char *method, const char *path,
                      const char *body, size_t length, char **answer)
{
    *answer = NULL;
    if (strcmp(method, "GET") == 0)
        return get_at(model, path, answer);
    if (strcmp(method, "DELETE") == 0)
        return strncmp(path, KEYS "/", strlen(KEYS "/")) == 0
                   ? delete_at(model, path + strlen(KEYS "/"), answer)
                   : say(404, NULL, answer);
    if (strcmp(method, "PUT") == 0 || strcmp(method, "POST") == 0)
        return change_at(model, method, path, body, length, answer);
    return say(405, NULL, answer);
}
