// SPDX-License-Identifier: Apache-2.0
#include "command_scene.h"
#include "../skip.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)1 << 20)
#define ADAPTER_PKEYS 63
#define VFS 64
#define RELOADS 200
#define RELOAD_PAUSE_MS 50

static struct {
    struct lab *lab;
    struct lab_output output;
    json_t *document;
} stage;

struct lab *scene(void)
{
    if (lab_missing()) {
        skip_because("%s is not installed", lab_missing());
    }
    return stage.lab;
}

static int start_fabric(const struct lab_options *options, struct oneib_error *err)
{
    if (lab_fabric_start(stage.lab, err) < 0)
        return -1;
    const size_t last = lab_host_count(stage.lab) + options->extra_hosts - 1;
    return options->last_is_unlinked ? lab_fabric_link(stage.lab, last, false, err) : 0;
}

static int raise_on(const struct lab_options *options, const char *const *standin, unsigned vfs)
{
    struct oneib_error err = {0};
    if (lab_missing())
        return 0;
    stage.lab = lab_open(options, &err);
    if (!stage.lab || start_fabric(options, &err) < 0 ||
        lab_opensm_start(stage.lab, &LAB_SM, &err) < 0 ||
        lab_standin_start(stage.lab, standin, &err) < 0 ||
        lab_add_hosts(stage.lab, vfs, &err) < 0 || lab_config_write(stage.lab, NULL, &err) < 0) {
        print_error("%s\n", err.text);
        lab_close(stage.lab);
        stage.lab = NULL;
        return -1;
    }
    return 0;
}

int scene_raise_on(const struct lab_options *options, const char *const *standin)
{
    return raise_on(options, standin, VFS);
}

static int raise_stage(const char *const *standin, unsigned vfs)
{
    const struct lab_options options = {
        .leaves = 1, .hosts_per_leaf = SCENE_HOSTS, .extra_hosts = 2};
    return raise_on(&options, standin, vfs);
}

int scene_raise_new(void **state)
{
    (void)state;
    return raise_stage(NULL, 0);
}

int scene_raise_new_with_vfs(void **state)
{
    (void)state;
    return raise_stage(NULL, VFS);
}

static int take_over(void)
{
    if (!lab_missing())
        ONEIB(0, "sync", "--force");
    return 0;
}

int scene_raise(void **state)
{
    return scene_raise_new(state) < 0 ? -1 : take_over();
}

int scene_raise_with_vfs(void **state)
{
    return scene_raise_new_with_vfs(state) < 0 ? -1 : take_over();
}

int scene_raise_lazy(void **state)
{
    (void)state;
    return raise_stage((const char *[]){"--lazy-nics", NULL}, 0) < 0 ? -1 : take_over();
}

static void forget_last_run(void)
{
    lab_output_clear(&stage.output);
    json_decref(stage.document);
    stage.document = NULL;
}

int scene_end(void **state)
{
    (void)state;
    forget_last_run();
    lab_close(stage.lab);
    stage.lab = NULL;
    return 0;
}

const struct lab_output *scene_run(int status, const char *const *arguments)
{
    struct oneib_error err = {0};
    forget_last_run();
    MUST(lab_oneib(stage.lab, arguments, SCENE_TIMEOUT_MS, &stage.output, &err));
    if (stage.output.timed_out || stage.output.status != status)
        fail_msg("oneib %s %s %d, not %d: %s%s", arguments[0],
                 stage.output.timed_out ? "did not end by itself:" : "ended with",
                 stage.output.status, status, stage.output.out, stage.output.error);
    return &stage.output;
}

json_t *scene_run_json(int status, const char *const *arguments)
{
    const char *with_json[16] = {NULL};
    size_t count = 0;
    while (arguments[count]) {
        with_json[count] = arguments[count];
        count++;
    }
    with_json[count] = "--json";
    const struct lab_output *output = scene_run(status, with_json);

    json_error_t why;
    stage.document = json_loads(output->out, JSON_REJECT_DUPLICATES, &why);
    if (!stage.document)
        fail_msg("oneib %s --json: line %d: %s: %s", arguments[0], why.line, why.text, output->out);
    return stage.document;
}

void must_say(const char *text, const char *words)
{
    if (!strstr(text, words))
        fail_msg("\"%s\" is not said: %s", words, text);
}

void must_not_say(const char *text, const char *words)
{
    if (strstr(text, words))
        fail_msg("\"%s\" is said: %s", words, text);
}

json_t *json_field(json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);
    if (!value)
        fail_msg("there is no \"%s\": %s", name, stage.output.out);
    return value;
}

const char *json_text(json_t *object, const char *name)
{
    return json_string_value(json_field(object, name));
}

json_int_t json_number(json_t *object, const char *name)
{
    json_t *value = json_field(object, name);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

bool json_yes(json_t *object, const char *name)
{
    json_t *value = json_field(object, name);
    assert_true(json_is_boolean(value));
    return json_is_true(value);
}

json_t *json_find(json_t *array, const char *name, const char *string)
{
    size_t i;
    json_t *item;
    json_array_foreach(array, i, item)
    {
        const char *value = json_string_value(json_object_get(item, name));
        if (value && strcmp(value, string) == 0)
            return item;
    }
    return NULL;
}

const char *json_finding(json_t *document, const char *code)
{
    json_t *finding = json_find(json_field(document, "findings"), "code", code);
    if (!finding)
        fail_msg("no finding \"%s\": %s", code, stage.output.out);
    return json_text(finding, "text");
}

uint32_t scene_network(const char *name, const char *vlan_id, const char *extra)
{
    struct oneib_error err = {0};
    uint32_t id;
    MUST(lab_network_create(stage.lab, name, vlan_id, extra, &id, &err));
    return id;
}

uint32_t scene_reservation(uint32_t network)
{
    struct oneib_error err = {0};
    uint32_t reservation;
    MUST(lab_network_reserve(scene(), network, "reservation", &reservation, &err));
    return reservation;
}

struct oneib_kept_ledger scene_ledger(void)
{
    struct oneib_error err = {0};
    struct oneib_kept_ledger kept = {0};
    const struct oneib_credentials credentials = {
        .endpoint = (char *)(uintptr_t)lab_endpoint(scene()),
        .session = (char *)(uintptr_t)lab_session(scene())};
    struct oneib_one *one = oneib_one_open(&credentials, 20000, &err);
    if (!one || oneib_ledger_read(one, false, &kept, &err) < 0)
        fail_msg("%s", err.text);
    oneib_one_close(one);
    return kept;
}

uint32_t scene_vm(uint32_t network, uint32_t host)
{
    struct oneib_error err = {0};
    uint32_t id;
    MUST(lab_vm_start(stage.lab, "vm", &network, 1, host, &id, &err));
    return id;
}

unsigned scene_key_of(uint32_t network)
{
    struct oneib_error err = {0};
    char text[16];
    MUST(lab_network_vlan_id(stage.lab, network, text, sizeof text, &err));
    return (unsigned)strtoul(text, NULL, 10);
}

void scene_end_vm(uint32_t vm)
{
    struct oneib_error err = {0};
    MUST(lab_vm_delete(stage.lab, vm, &err));
}

bool port_holds(size_t host, unsigned raw)
{
    struct oneib_error err = {0};
    uint16_t keys[128];
    size_t count;
    MUST(lab_host_pkeys(stage.lab, host, keys, sizeof keys / sizeof *keys, &count, &err));
    for (size_t i = 0; i < count; i++)
        if (keys[i] == raw)
            return true;
    return false;
}

/* What a program on the SM's host prints; it must succeed. */
static char *ask_fabric(const char *const *argv)
{
    struct oneib_error err = {0};
    struct lab_output output = {0};
    MUST(lab_run(stage.lab, LAB_SM_HCA, argv, SCENE_TIMEOUT_MS, &output, &err));
    if (output.status != 0)
        fail_msg("%s ended with %d: %s", argv[0], output.status, output.error);
    char *out = oneib_steal(&output.out);
    lab_output_clear(&output);
    return out;
}

char *scene_tables(void)
{
    return ask_fabric((const char *[]){FABRIC_TABLES_BINARY, NULL});
}

char *scene_file(void)
{
    struct oneib_error err = {0};
    char *data;
    size_t length;
    MUST(oneib_file_read(lab_partitions(stage.lab), FILE_MAX, &data, &length, &err));
    return data;
}

/* opensm can sleep through a SIGHUP, so it is sent more than once. */
void scene_foreign_reload(const char *file, size_t host, unsigned raw)
{
    struct oneib_error err = {0};
    MUST(oneib_file_replace(lab_partitions(stage.lab), file, strlen(file), 0644, NULL, NULL, &err));
    for (unsigned i = 0; i < RELOADS && !port_holds(host, raw); i++) {
        MUST(lab_opensm_signal(stage.lab, LAB_SM.name, SIGHUP, &err));
        lab_sleep_ms(RELOAD_PAUSE_MS);
    }
    assert_true(port_holds(host, raw));
}

bool scene_reach(struct scene_vf a, struct scene_vf b)
{
    struct oneib_error err = {0};
    oneib_autotext struct oneib_text question = {0};
    const struct scene_vf *const vfs[] = {&a, &b};
    for (size_t i = 0; i < 2; i++)
        oneib_text_printf(&question, "%zu 0x%016" PRIx64 " key 0x%04x\n", i,
                          lab_host_port_guid(stage.lab, vfs[i]->host), vfs[i]->key);
    MUST(lab_write(stage.lab, "reach.vms", 0600, question.data, &err));
    oneib_autofree char *answer =
        ask_fabric((const char *[]){FABRIC_REACH_BINARY, lab_path(stage.lab, "reach.vms"), NULL});

    assert_null(strstr(answer, "absent"));
    const char *row = strstr(answer, "row 0 ");
    char tables[3], sa[3];
    assert_non_null(row);
    assert_int_equal(sscanf(row, "row 0 %2s %2s", tables, sa), 2);
    if (tables[1] != sa[1])
        fail_msg("tables and the SA disagree: %s", answer);
    must_say(answer, " 0\n"); /* no path query contradicts the tables */
    return tables[1] == '1';
}
