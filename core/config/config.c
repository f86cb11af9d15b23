// SPDX-License-Identifier: Apache-2.0
#include "config/config.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/memory.h"
#include "config/config_keys.h"
#include "config/config_qos.h"
#include "config/config_source.h"
#include <libconfig.h>
#include <stdlib.h>
#include <string.h>

#define FILE_SIZE_MAX ((size_t)1024 * 1024)

/* ---- defaults -------------------------------------------------------------------------------- */

static void set_string(struct oneib_config *config, const struct oneib_config_key *key,
                       const char *string)
{
    char *copy = oneib_strdup(string);
    oneib_config_key_set_string(config, key, copy);
}

static void set_default(struct oneib_config *config, const struct oneib_config_key *key)
{
    switch (key->kind) {
    case ONEIB_CONFIG_BOOLEAN:
    case ONEIB_CONFIG_NUMBER:
    case ONEIB_CONFIG_CHOICE:
        oneib_config_key_set_number(config, key, key->default_number);
        break;
    case ONEIB_CONFIG_SHARE:
        oneib_config_key_set_share(config, key, key->default_share);
        break;
    case ONEIB_CONFIG_STRING:
        if (key->default_string)
            set_string(config, key, key->default_string);
        return;
    case ONEIB_CONFIG_STRINGS:
        break;
    }
}

void oneib_config_defaults(struct oneib_config *config)
{
    memset(config, 0, sizeof *config);
    for (const struct oneib_config_key *key = oneib_config_keys; key->name; key++)
        set_default(config, key);
}

void oneib_config_clear(struct oneib_config *config)
{
    for (const struct oneib_config_key *key = oneib_config_keys; key->name; key++) {
        if (key->kind == ONEIB_CONFIG_STRING)
            oneib_config_key_set_string(config, key, NULL);
        if (key->kind == ONEIB_CONFIG_STRINGS)
            oneib_config_key_set_strings(config, key, NULL);
    }
    free(config->default_partition.full_guids);
    free(config->node.host_pcis);
    memset(config, 0, sizeof *config);
}

/* ---- one setting ----------------------------------------------------------------------------- */

/* A file that is being loaded. */
struct load {
    const char *path;
    config_t *file;
    struct oneib_config *config;
    struct oneib_error *err;
};

/* "FILE:LINE: GROUP.KEY WHAT" */
static int refuse(const struct load *load, const config_setting_t *setting,
                  const struct oneib_config_key *key, const char *what)
{
    return oneib_fail(load->err, ONEIB_ERROR_CONFIG, "%s:%u: %s%s%s %s", load->path,
                      config_setting_source_line(setting), key->group ? key->group : "",
                      key->group ? "." : "", key->name, what);
}

static int load_boolean(const struct load *load, const config_setting_t *setting,
                        const struct oneib_config_key *key)
{
    if (config_setting_type(setting) != CONFIG_TYPE_BOOL)
        return refuse(load, setting, key, "must be true or false");
    oneib_config_key_set_number(load->config, key, config_setting_get_bool(setting) != 0);
    return 0;
}

static bool is_allowed(const uint16_t *allowed, uint32_t value)
{
    while (*allowed && *allowed != value)
        allowed++;
    return *allowed == value;
}

static int refuse_number(const struct load *load, const config_setting_t *setting,
                         const struct oneib_config_key *key)
{
    oneib_autotext struct oneib_text what = {0};
    if (key->allowed) {
        oneib_text_append(&what, "must be one of");
        for (const uint16_t *value = key->allowed; *value; value++)
            oneib_text_printf(&what, "%s %u", value == key->allowed ? "" : ",", *value);
        oneib_text_append(&what, key->minimum == 0 ? ", or 0" : "");
    } else {
        oneib_text_printf(&what, "must be a whole number from %u to %u", key->minimum,
                          key->maximum);
    }
    return refuse(load, setting, key, what.data);
}

static int load_number(const struct load *load, const config_setting_t *setting,
                       const struct oneib_config_key *key)
{
    if (config_setting_type(setting) != CONFIG_TYPE_INT)
        return refuse_number(load, setting, key);

    /* oneib_config_check_source() has seen that the number fits an int. */
    int value = config_setting_get_int(setting);
    if (value < 0 || (uint32_t)value < key->minimum || (uint32_t)value > key->maximum ||
        (key->allowed && !is_allowed(key->allowed, (uint32_t)value)))
        return refuse_number(load, setting, key);
    oneib_config_key_set_number(load->config, key, (uint32_t)value);
    return 0;
}

static int load_share(const struct load *load, const config_setting_t *setting,
                      const struct oneib_config_key *key)
{
    int type = config_setting_type(setting);
    double value = -1;
    if (type == CONFIG_TYPE_FLOAT)
        value = config_setting_get_float(setting);
    else if (type == CONFIG_TYPE_INT)
        value = config_setting_get_int(setting);

    if (!(value >= 0 && value <= 1))
        return refuse(load, setting, key, "must be a number from 0 to 1");
    oneib_config_key_set_share(load->config, key, value);
    return 0;
}

static int refuse_choice(const struct load *load, const config_setting_t *setting,
                         const struct oneib_config_key *key)
{
    oneib_autotext struct oneib_text what = {0};
    oneib_text_append(&what, "must be one of");
    for (const struct oneib_config_key_choice *choice = key->choices; choice->word; choice++)
        oneib_text_printf(&what, "%s \"%s\"", choice == key->choices ? "" : ",", choice->word);
    return refuse(load, setting, key, what.data);
}

static int load_choice(const struct load *load, const config_setting_t *setting,
                       const struct oneib_config_key *key)
{
    const char *word = config_setting_get_string(setting);
    for (const struct oneib_config_key_choice *choice = key->choices; word && choice->word;
         choice++)
        if (strcmp(choice->word, word) == 0) {
            oneib_config_key_set_number(load->config, key, choice->value);
            return 0;
        }
    return refuse_choice(load, setting, key);
}

static int load_string(const struct load *load, const config_setting_t *setting,
                       const struct oneib_config_key *key)
{
    const char *string = config_setting_get_string(setting);
    if (!string)
        return refuse(load, setting, key, "must be a string");
    const char *fault = key->check(string);
    if (fault)
        return refuse(load, setting, key, fault);
    set_string(load->config, key, string);
    return 0;
}

static int check_strings(const struct load *load, const config_setting_t *setting,
                         const struct oneib_config_key *key)
{
    if (config_setting_type(setting) != CONFIG_TYPE_ARRAY)
        return refuse(load, setting, key, "must be an array of strings: [\"...\", \"...\"]");

    for (int i = 0; i < config_setting_length(setting); i++) {
        const config_setting_t *element = config_setting_get_elem(setting, (unsigned)i);
        const char *string = config_setting_get_string(element);
        if (!string)
            return refuse(load, element, key, "must hold strings only");
        const char *fault = key->is_command && i > 0 ? NULL : key->check(string);
        if (fault)
            return refuse(load, element, key, fault);
    }
    return 0;
}

static int load_strings(const struct load *load, const config_setting_t *setting,
                        const struct oneib_config_key *key)
{
    if (check_strings(load, setting, key) < 0)
        return -1;
    size_t count = (size_t)config_setting_length(setting);
    if (count == 0) {
        oneib_config_key_set_strings(load->config, key, NULL);
        return 0;
    }

    char **strings = oneib_alloc(count + 1, sizeof *strings);
    oneib_config_key_set_strings(load->config, key, strings);
    for (size_t i = 0; i < count; i++)
        strings[i] = oneib_strdup(config_setting_get_string_elem(setting, (int)i));
    return 0;
}

static int load_value(const struct load *load, const config_setting_t *setting,
                      const struct oneib_config_key *key)
{
    static int (*const loaders[])(const struct load *load, const config_setting_t *setting,
                                  const struct oneib_config_key *key) = {
        [ONEIB_CONFIG_BOOLEAN] = load_boolean, [ONEIB_CONFIG_NUMBER] = load_number,
        [ONEIB_CONFIG_SHARE] = load_share,     [ONEIB_CONFIG_CHOICE] = load_choice,
        [ONEIB_CONFIG_STRING] = load_string,   [ONEIB_CONFIG_STRINGS] = load_strings,
    };
    return loaders[key->kind](load, setting, key);
}

/* ---- the whole file -------------------------------------------------------------------------- */

static const struct oneib_config_key *find_key(const char *group, const char *name)
{
    for (const struct oneib_config_key *key = oneib_config_keys; key->name; key++)
        if (oneib_config_key_in_group(key, group) && strcmp(key->name, name) == 0)
            return key;
    return NULL;
}

static bool is_group(const char *name)
{
    for (const struct oneib_config_key *key = oneib_config_keys; key->name; key++)
        if (oneib_config_key_in_group(key, name))
            return true;
    return false;
}

/* Appends ", NAME" for every key of a group, and for the top of the file the groups too. */
static void list_names(struct oneib_text *names, const char *group)
{
    const char *last_group = NULL;
    for (const struct oneib_config_key *key = oneib_config_keys; key->name; key++) {
        const char *separator = names->length > 0 ? ", " : "";
        if (oneib_config_key_in_group(key, group))
            oneib_text_printf(names, "%s%s", separator, key->name);
        else if (!group && !oneib_config_key_in_group(key, last_group))
            oneib_text_printf(names, "%s%s", separator, key->group);
        last_group = key->group;
    }
}

static int refuse_unknown(const struct load *load, const config_setting_t *setting,
                          const char *group)
{
    oneib_autotext struct oneib_text names = {0};
    list_names(&names, group);
    return oneib_fail(load->err, ONEIB_ERROR_CONFIG,
                      "%s:%u: %s%s%s is not a key of this version; there are: %s", load->path,
                      config_setting_source_line(setting), group ? group : "", group ? "." : "",
                      config_setting_name(setting), names.data);
}

static int load_key(const struct load *load, const config_setting_t *setting, const char *group)
{
    const struct oneib_config_key *key = find_key(group, config_setting_name(setting));
    return key ? load_value(load, setting, key) : refuse_unknown(load, setting, group);
}

static int load_group(const struct load *load, const config_setting_t *group)
{
    const char *name = config_setting_name(group);
    if (!config_setting_is_group(group))
        return oneib_fail(load->err, ONEIB_ERROR_CONFIG, "%s:%u: %s must be a group: %s = { ... };",
                          load->path, config_setting_source_line(group), name, name);
    for (int i = 0; i < config_setting_length(group); i++)
        if (load_key(load, config_setting_get_elem(group, (unsigned)i), name) < 0)
            return -1;
    return 0;
}

/* path: "GROUP.KEY". Of a default that is at fault the line is its group's. */
static int refuse_at(const struct load *load, const char *path, const char *what)
{
    const char *name = strchr(path, '.') + 1;
    oneib_autofree char *group = oneib_strndup(path, (size_t)(name - path - 1));
    const config_setting_t *setting = config_lookup(load->file, path);
    return refuse(load, setting ? setting : config_lookup(load->file, group), find_key(group, name),
                  what);
}

static int check_qos(const struct load *load)
{
    oneib_autotext struct oneib_text what = {0};
    const char *fault = oneib_config_qos_check(load->config, &what);
    return fault ? refuse_at(load, fault, what.data) : 0;
}

static int check_ufm(const struct load *load)
{
    const struct oneib_config *config = load->config;
    if (config->sm.kind != ONEIB_SM_UFM)
        return 0;
    if (!config->ufm.url)
        return refuse_at(load, "sm.kind", "needs ufm.url: https://HOST of UFM");
    if (!config->one.writer)
        return refuse_at(
            load, "one.writer",
            "must be true with sm.kind \"ufm\": one oneibd alone tells UFM; start another "
            "one when the first is gone");
    if (config->ufm.auth == ONEIB_CONFIG_UFM_CERTIFICATE && !config->ufm.certificate)
        return refuse_at(load, "ufm.auth", "needs ufm.certificate, the client's");
    return 0;
}

/* What no key can know alone. The defaults agree with everything that a key may be: the fault has a
 * line. */
static int check_together(const struct load *load)
{
    const struct oneib_config *config = load->config;
    if (config->pkeys.first > config->pkeys.last)
        return refuse_at(load, "pkeys.last", "must not be less than pkeys.first");
    if (config->opensm.method == ONEIB_RELOAD_COMMAND && !config->opensm.reload_command)
        return refuse_at(load, "opensm.reload", "needs opensm.reload_command");
    return check_ufm(load) < 0 ? -1 : check_qos(load);
}

static size_t count_of(char *const *strings)
{
    size_t count = 0;
    while (strings && strings[count])
        count++;
    return count;
}

/* What is used otherwise than as text; each one was checked. */
static void parse_lists(struct oneib_config *config)
{
    const size_t guids = count_of(config->default_partition.full_members);
    const size_t vfs = count_of(config->node.host_vfs);
    config->default_partition.full_guids = oneib_alloc(guids + 1, sizeof(oneib_guid));
    config->node.host_pcis = oneib_alloc(vfs + 1, sizeof(struct oneib_pci));
    for (size_t *i = &config->default_partition.full_count; *i < guids; ++*i)
        oneib_guid_parse(config->default_partition.full_members[*i],
                         &config->default_partition.full_guids[*i]);
    for (size_t *i = &config->node.host_vf_count; *i < vfs; ++*i)
        oneib_pci_parse(config->node.host_vfs[*i], &config->node.host_pcis[*i]);
}

static int load_settings(const struct load *load)
{
    const config_setting_t *root = config_root_setting(load->file);
    for (int i = 0; i < config_setting_length(root); i++) {
        const config_setting_t *setting = config_setting_get_elem(root, (unsigned)i);
        int result = is_group(config_setting_name(setting)) ? load_group(load, setting)
                                                            : load_key(load, setting, NULL);
        if (result < 0)
            return -1;
    }
    if (check_together(load) < 0)
        return -1;
    parse_lists(load->config);
    return 0;
}

static int load_source(const char *path, const char *bytes, size_t length,
                       struct oneib_config *config, struct oneib_error *err)
{
    if (oneib_config_check_source(path, bytes, length, err) < 0)
        return -1;

    /* libconfig takes a comment in a last line without an end for a syntax error. */
    oneib_autotext struct oneib_text source = {0};
    oneib_text_append_bytes(&source, bytes, length);
    if (length > 0 && bytes[length - 1] != '\n')
        oneib_text_append(&source, "\n");

    config_t file;
    config_init(&file);
    struct load load = {.path = path, .file = &file, .config = config, .err = err};
    int result = config_read_string(&file, source.data)
                     ? load_settings(&load)
                     : oneib_fail(err, ONEIB_ERROR_CONFIG, "%s:%d: %s", path,
                                  config_error_line(&file), config_error_text(&file));
    config_destroy(&file);
    return result;
}

const char *oneib_config_state(const struct oneib_config *config)
{
    return config->sm.kind == ONEIB_SM_UFM ? config->ufm.record : config->opensm.partitions;
}

int oneib_config_load(const char *path, struct oneib_config *config, struct oneib_error *err)
{
    oneib_config_defaults(config);

    oneib_autofree char *source = NULL;
    size_t length = 0;
    const char *named = path ? path : ONEIB_CONFIG_DEFAULT_PATH;
    struct oneib_error failure;
    int result = oneib_file_read(named, FILE_SIZE_MAX, &source, &length, &failure);
    if (result < 0 && !path && failure.code == ONEIB_ERROR_NOT_FOUND)
        return 0;
    if (result < 0) {
        *err = failure;
        oneib_wrap(err, "cannot load the configuration");
    } else {
        result = load_source(named, source, length, config, err);
    }
    if (result < 0)
        oneib_config_clear(config);
    return result;
}
