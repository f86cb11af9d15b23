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
#include "grant_scene.h"
#include "ib/ipoib.h"
#include <glob.h>
#include <inttypes.h>

#define FILE_SIZE_MAX (1u << 20)
#define WORDS_MAX 64
#define CLASSES_MAX 8
#define FULL_MEMBERS_MAX 8
#define PORT_PREFIX UINT64_C(0x0002c903)

/* One statement: its first word, and the others. */
struct statement {
    const char *text; /* behind the first word */
    char *copy;       /* owned: the words */
    char *words[WORDS_MAX];
    bool used[WORDS_MAX];
    size_t count;
    int line;
};

struct expectation {
    char *text; /* owned: "partition one4=0x0100: ..." */
    int line;
};

struct scenario {
    const char *file;
    struct oneib_text name, text; /* the lines behind its name */
    int line;
};

struct story {
    const struct scenario *scenario;
    struct grant_scene *played;
    struct oneib_text reports; /* what is wrong with the scenario */
    char must_fail[256];       /* what must be reported; "": nothing */
    char driver[64], default_class[ONEIB_QOS_NAME_SIZE];
    struct oneib_qos_class classes[CLASSES_MAX];
    oneib_guid full_members[FULL_MEMBERS_MAX];
    uint32_t other_vms[8]; /* VMs of oned without a NIC of InfiniBand */
    size_t other_vm_count;
    bool vms_are_unread, hears_no_nodes, is_refused;
    struct expectation *expected; /* owned */
    size_t expected_count, expected_capacity;
    int expect_line; /* 0: no expectations are being read */
};

static bool prints;

__attribute__((format(printf, 3, 4))) static void complain(struct story *story, int line,
                                                           const char *format, ...)
{
    va_list arguments;
    oneib_text_printf(&story->reports, "%s:%d: ", story->scenario->file, line);
    va_start(arguments, format);
    oneib_text_vprintf(&story->reports, format, arguments);
    va_end(arguments);
    oneib_text_append(&story->reports, "\n");
}

/* ---- words of a statement --------------------------------------------------------------------- */

static void split_statement(struct statement *statement)
{
    char *rest = NULL;
    for (char *word = strtok_r(statement->copy, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        assert_true(statement->count < WORDS_MAX);
        statement->words[statement->count++] = word;
    }
    statement->used[0] = true;
}

static const char *plain_word(struct statement *statement, size_t place)
{
    if (place >= statement->count)
        return "";
    statement->used[place] = true;
    return statement->words[place];
}

/* The value of KEY=VALUE, each once; NULL: not, or no more. */
static const char *take_value(struct statement *statement, const char *key)
{
    const size_t length = strlen(key);
    for (size_t i = 1; i < statement->count; i++)
        if (!statement->used[i] && strncmp(statement->words[i], key, length) == 0 &&
            statement->words[i][length] == '=') {
            statement->used[i] = true;
            return statement->words[i] + length + 1;
        }
    return NULL;
}

static bool take_word(struct statement *statement, const char *word)
{
    for (size_t i = 1; i < statement->count; i++)
        if (!statement->used[i] && strcmp(statement->words[i], word) == 0)
            return statement->used[i] = true;
    return false;
}

/* WORD, or WORD=no. */
static void take_flag(struct statement *statement, const char *word, bool *flag)
{
    const char *value = take_value(statement, word);
    if (take_word(statement, word) || value)
        *flag = !value || strcmp(value, "no") != 0;
}

static uint64_t number_of(struct story *story, int line, const char *text)
{
    char *end;
    const uint64_t number = strtoull(text, &end, 0);
    if (!*text || *end)
        complain(story, line, "'%s' is not a number", text);
    return number;
}

static bool take_number(struct story *story, struct statement *statement, const char *key,
                        uint64_t *number)
{
    const char *value = take_value(statement, key);
    if (value)
        *number = number_of(story, statement->line, value);
    return value;
}

#define TAKE_NUMBER(story, statement, key, field)                                                  \
    do {                                                                                           \
        uint64_t taken;                                                                            \
        if (take_number(story, statement, key, &taken))                                            \
            (field) = (__typeof__(field))taken;                                                    \
    } while (0)

/* "port3": port 1 of host 3's adapter; "vm10.0": the VF of VM 10 NIC 0; "0x99". */
static oneib_guid guid_of(struct story *story, int line, const char *text)
{
    unsigned id, nic;
    int length = 0;
    if (sscanf(text, "port%u%n", &id, &length) == 1 && !text[length])
        return port_of(id);
    if (sscanf(text, "vm%u.%u%n", &id, &nic, &length) == 2 && !text[length])
        return oneib_guid_encode(SITE, id, (uint8_t)nic);
    return number_of(story, line, text);
}

static void print_guid(oneib_guid guid, struct oneib_text *text)
{
    struct oneib_guid_parts parts;
    if (oneib_guid_in_site(guid, SITE) && oneib_guid_decode(guid, &parts))
        oneib_text_printf(text, "vm%u.%u", parts.vm_id, parts.nic_id);
    else if (guid >> 32 == PORT_PREFIX)
        oneib_text_printf(text, "port%u", (unsigned)guid);
    else
        oneib_text_printf(text, "0x%" PRIx64, guid);
}

static unsigned choice_of(struct story *story, int line, const char *text,
                          const char *const *choices)
{
    unsigned i = 0;
    while (choices[i] && strcmp(text, choices[i]) != 0)
        i++;
    if (!choices[i])
        complain(story, line, "'%s' is not one of %s, ...", text, choices[0]);
    return choices[i] ? i : 0;
}

/* "10.0" */
static void nic_of(struct story *story, int line, const char *text, uint32_t *vm_id, unsigned *nic)
{
    int length = 0;
    if (sscanf(text, "%u.%u%n", vm_id, nic, &length) != 2 || text[length])
        complain(story, line, "'%s' is not VM.NIC", text);
}

/* ---- partitions ------------------------------------------------------------------------------- */

/* Reads one, in the syntax of partitions.conf, with names of GUIDs. */
static void read_partition(struct story *story, const struct statement *statement,
                           struct oneib_partition_table *table)
{
    oneib_autotext struct oneib_text text = {0};
    struct oneib_partition_table read = {0};
    struct oneib_error err;
    for (const char *at = statement->text; *at;) {
        const size_t other = strcspn(at, " ,:=");
        char word[64];
        snprintf(word, sizeof word, "%.*s", (int)other, at);
        if (strncmp(word, "port", 4) == 0 || strncmp(word, "vm", 2) == 0)
            oneib_text_printf(&text, "0x%016" PRIx64, guid_of(story, statement->line, word));
        else
            oneib_text_append(&text, word);
        at += other;
        if (*at)
            oneib_text_append_bytes(&text, at++, 1);
    }
    oneib_text_append(&text, " ;\n");
    if (oneib_partitions_parse(text.data, text.length, "partition", &read, &err) < 0) {
        complain(story, statement->line, "%s", err.text);
        return;
    }
    for (size_t i = 0; i < table->count; i++)
        if (table->items[i].pkey == read.items[0].pkey) {
            free(table->items[i].members);
            table->items[i] = read.items[0];
            free(read.items);
            return;
        }
    *oneib_partition_table_add(table) = read.items[0];
    free(read.items);
}

static void print_partition(const struct oneib_partition *partition, struct oneib_text *text)
{
    oneib_autotext struct oneib_text file = {0};
    struct oneib_partition head = *partition;
    head.member_count = 0;
    oneib_partition_render(&head, &file);
    oneib_text_append_bytes(text, file.data, file.length - strlen(" : ;\n"));
    for (size_t i = 0; i < partition->member_count; i++) {
        const struct oneib_member *member = &partition->members[i];
        const char *wildcard = oneib_member_kind_name(member->kind);
        oneib_text_append(text, i == 0 ? ": " : ", ");
        if (wildcard)
            oneib_text_append(text, wildcard);
        else
            print_guid(member->guid, text);
        oneib_text_printf(text, "=%s", oneib_membership_name(member->membership));
    }
}

static void print_table(const char *keyword, const struct oneib_partition_table *table,
                        struct oneib_text *text)
{
    for (size_t i = 0; i < table->count; i++) {
        const bool is_default = table->items[i].pkey == ONEIB_PKEY_DEFAULT;
        if (is_default && strcmp(keyword, "file") == 0)
            continue;
        oneib_text_printf(text, "%s ", is_default ? "default" : keyword);
        print_partition(&table->items[i], text);
        oneib_text_append(text, "\n");
    }
}

/* ---- the scene -------------------------------------------------------------------------------- */

static struct oneib_network *find_network(struct scene *scene, uint32_t id)
{
    for (size_t i = 0; i < scene->cloud.network_count; i++)
        if (scene->cloud.networks[i].id == id)
            return &scene->cloud.networks[i];
    return NULL;
}

static struct oneib_host *find_host(struct scene *scene, uint32_t id)
{
    for (size_t i = 0; i < scene->cloud.host_count; i++)
        if (scene->cloud.hosts[i].id == id)
            return &scene->cloud.hosts[i];
    return NULL;
}

/* "none": NULL; "\\xHH" is a byte. */
static void set_text(const char *value, char **text)
{
    if (!value)
        return;
    free(*text);
    *text = NULL;
    if (strcmp(value, "none") == 0)
        return;
    *text = strdup(value);
    assert_non_null(*text);
    char *to = *text;
    unsigned byte;
    for (const char *from = value; *from; to++)
        if (sscanf(from, "\\x%2x", &byte) == 1) {
            *to = (char)byte;
            from += strlen("\\xHH");
        } else
            *to = *from++;
    *to = '\0';
}

static void set_device(const char *value, struct oneib_network *network)
{
    if (!value)
        return;
    network->device_invalid = strcmp(value, "invalid") == 0;
    unsigned port = 0;
    network->device[0] = '\0';
    if (!network->device_invalid)
        sscanf(value, "%31[^:]:%u", network->device, &port);
    network->device_port = (uint8_t)port;
}

/* The key that the ledger has for the network, whatever it had before. */
static void set_key(struct story *story, int line, uint32_t network_id, const char *value)
{
    struct scene *scene = &story->played->scene;
    const struct oneib_ledger_network *before = oneib_ledger_network(&scene->ledger, network_id);
    struct oneib_ledger_network entry = {.network_id = network_id};
    if (before) {
        entry = *before;
        oneib_ledger_rest(&scene->ledger, network_id, 0);
        oneib_ledger_free_key(&scene->ledger, entry.pkey);
    }
    if (strcmp(value, "none") == 0)
        return;
    entry.pkey = (oneib_pkey)number_of(story, line, value);
    if (oneib_ledger_give(&scene->ledger, &entry, &scene->err) < 0)
        complain(story, line, "%s", scene->err.text);
}

static void set_vlan(struct story *story, int line, const char *value,
                     struct oneib_network *network)
{
    if (!value)
        return;
    network->pkey = 0;
    network->key_state = strcmp(value, "invalid") == 0 ? ONEIB_KEY_INVALID
                         : strcmp(value, "none") == 0  ? ONEIB_KEY_MISSING
                                                       : ONEIB_KEY_VALID;
    if (network->key_state == ONEIB_KEY_VALID)
        network->pkey = (oneib_pkey)number_of(story, line, value);
}

static void set_class(const char *value, struct oneib_network *network)
{
    if (!value)
        return;
    network->class_invalid = strcmp(value, "invalid") == 0;
    snprintf(network->qos_class, sizeof network->qos_class, "%s",
             network->class_invalid || strcmp(value, "none") == 0 ? "" : value);
}

static void state_network(struct story *story, struct statement *statement)
{
    struct scene *scene = &story->played->scene;
    const uint32_t id = (uint32_t)number_of(story, statement->line, plain_word(statement, 1));
    struct oneib_network *network = find_network(scene, id);
    if (take_word(statement, "gone")) {
        if (network) {
            oneib_network_clear(network);
            *network = scene->cloud.networks[--scene->cloud.network_count];
        }
        return;
    }
    if (!network)
        network = add_network(scene, id, 0);
    const char *value = take_value(statement, "pkey");
    if (value) {
        set_vlan(story, statement->line, value, network);
        set_key(story, statement->line, id, value);
    }
    set_vlan(story, statement->line, take_value(statement, "vlan"), network);
    value = take_value(statement, "parent");
    if (value)
        network->parent_id = strcmp(value, "none") == 0
                                 ? ONEIB_NO_ID
                                 : (uint32_t)number_of(story, statement->line, value);
    uint64_t owner;
    if (take_number(story, statement, "owner", &owner))
        network->uid = network->gid = (uint32_t)owner;
    TAKE_NUMBER(story, statement, "uid", network->uid);
    TAKE_NUMBER(story, statement, "gid", network->gid);
    TAKE_NUMBER(story, statement, "mtu", network->mtu_bytes);
    TAKE_NUMBER(story, statement, "rate", network->rate_gbps);
    TAKE_NUMBER(story, statement, "shown-sl", network->shown_sl);
    value = take_value(statement, "membership");
    if (value)
        network->membership = strcmp(value, "limited") == 0 ? ONEIB_LIMITED
                              : strcmp(value, "both") == 0  ? ONEIB_BOTH
                                                            : ONEIB_FULL;
    take_flag(statement, "share", &network->reservations_share);
    take_flag(statement, "unreadable", &network->unreadable);
    take_flag(statement, "unproven", &network->parent_unproven);
    take_flag(statement, "being-created", &network->being_created);
    set_text(take_value(statement, "name"), &network->name);
    set_text(take_value(statement, "driver"), &network->other_driver);
    set_device(take_value(statement, "device"), network);
    set_class(take_value(statement, "class"), network);
    uint64_t sl;
    if (take_number(story, statement, "sl", &sl) &&
        oneib_ledger_set_sl(&scene->ledger, id, (uint8_t)sl, &scene->err) < 0)
        complain(story, statement->line, "%s", scene->err.text);
    for (;;) {
        value = take_value(statement, "static");
        if (!value)
            break;
        char guid[32];
        const bool is_limited = strstr(value, ":limited");
        snprintf(guid, sizeof guid, "%.*s", (int)strcspn(value, ":"), value);
        oneib_network_add_static(network, guid_of(story, statement->line, guid),
                                 is_limited ? ONEIB_LIMITED : ONEIB_FULL);
    }
}

static enum oneib_hca_driver driver_of(const char *device)
{
    return strncmp(device, "mlx4", 4) == 0   ? ONEIB_HCA_MLX4
           : strncmp(device, "mlx5", 4) == 0 ? ONEIB_HCA_MLX5
                                             : ONEIB_HCA_OTHER;
}

/* DEVICE:NUMBER@GUID, or ...:DRIVER, if that is not the one that the device is named after */
static void add_stated_port(struct story *story, int line, struct oneib_host *host,
                            const char *value)
{
    char device[ONEIB_DEVICE_NAME_SIZE], guid[32], driver[32] = "";
    unsigned number;
    if (sscanf(value, "%31[^:]:%u@%31[^:]:%31s", device, &number, guid, driver) < 3) {
        complain(story, line, "'%s' is not DEVICE:PORT@GUID", value);
        return;
    }
    struct oneib_hca_port *port =
        add_port(&story->played->scene, host, device, number, guid_of(story, line, guid));
    if (*driver)
        port->driver = driver_of(driver);
}

static void set_keys(struct story *story, int line, const char *value, struct oneib_host *host)
{
    if (!value)
        return;
    free(host->keys);
    host->keys = NULL;
    host->key_count = 0;
    host->keys_invalid = strcmp(value, "unknown") == 0;
    if (host->keys_invalid || strcmp(value, "none") == 0)
        return;
    if (oneib_host_keys_parse(value, strlen(value), &host->keys, &host->key_count,
                              &story->played->scene.err) < 0)
        complain(story, line, "%s", story->played->scene.err.text);
}

static void state_host(struct story *story, struct statement *statement)
{
    struct scene *scene = &story->played->scene;
    const uint32_t id = (uint32_t)number_of(story, statement->line, plain_word(statement, 1));
    struct oneib_host *host = find_host(scene, id);
    if (take_word(statement, "gone")) {
        if (host) {
            oneib_host_clear(host);
            *host = scene->cloud.hosts[--scene->cloud.host_count];
        }
        return;
    }
    if (!host)
        host = add_host(scene, id);
    if (take_word(statement, "no-ports"))
        host->port_count = 0;
    const char *value = take_value(statement, "device");
    if (value) {
        snprintf(host->ports[0].device, sizeof host->ports[0].device, "%s", value);
        host->ports[0].driver = driver_of(value);
    }
    value = take_value(statement, "guid");
    if (value)
        host->ports[0].port_guid = guid_of(story, statement->line, value);
    for (;;) {
        value = take_value(statement, "port");
        if (!value)
            break;
        add_stated_port(story, statement->line, host, value);
    }
    uint64_t vfs;
    if (take_number(story, statement, "vfs", &vfs))
        for (size_t i = 0; i < host->port_count; i++)
            host->ports[i].vfs_total = (uint16_t)vfs;
    TAKE_NUMBER(story, statement, "vfs-limit", host->vfs_limit);
    TAKE_NUMBER(story, statement, "state", host->state);
    set_keys(story, statement->line, take_value(statement, "keys"), host);
    value = take_value(statement, "gives"); /* ADDRESS/VM */
    if (value) {
        char address[32];
        struct oneib_pci pci;
        const size_t length = strcspn(value, "/");
        snprintf(address, sizeof address, "%.*s", (int)length, value);
        if (!value[length] || !oneib_pci_parse(address, &pci))
            complain(story, statement->line, "'%s' is not ADDRESS/VM", value);
        else
            oneib_host_give(host, &pci,
                            (uint32_t)number_of(story, statement->line, value + length + 1));
    }
}

static struct oneib_attachment *find_nic(struct scene *scene, uint32_t vm_id, unsigned nic_id)
{
    for (size_t i = 0; i < scene->cloud.attachment_count; i++)
        if (scene->cloud.attachments[i].vm_id == vm_id &&
            scene->cloud.attachments[i].nic_id == nic_id)
            return &scene->cloud.attachments[i];
    return NULL;
}

static const char *const phases[] = {"absent",    "arriving", "settled", "leaving",
                                     "migrating", "failed",   "unknown", NULL};

static void state_vm(struct story *story, struct statement *statement)
{
    struct scene *scene = &story->played->scene;
    uint32_t vm_id = 0;
    unsigned nic_id = 0;
    const char *name = plain_word(statement, 1);
    if (strcmp(name, "unread") == 0) { /* the list of VMs is not complete yet */
        story->vms_are_unread = true;
        return;
    }
    if (!strchr(name, '.')) { /* a VM of which no NIC was read */
        assert_true(story->other_vm_count < 8);
        story->other_vms[story->other_vm_count++] =
            (uint32_t)number_of(story, statement->line, name);
        return;
    }
    nic_of(story, statement->line, name, &vm_id, &nic_id);
    struct oneib_attachment *nic = find_nic(scene, vm_id, nic_id);
    if (take_word(statement, "gone")) {
        if (nic)
            *nic = scene->cloud.attachments[--scene->cloud.attachment_count];
        return;
    }
    if (!nic)
        nic = add_nic(scene, vm_id, nic_id, ONEIB_NO_ID, ONEIB_NO_ID);
    TAKE_NUMBER(story, statement, "network", nic->network_id);
    TAKE_NUMBER(story, statement, "host", nic->host_id);
    uint64_t source;
    if (take_number(story, statement, "from", &source))
        migrate(nic, (uint32_t)source);
    const char *phase = take_value(statement, "phase");
    if (phase)
        nic->phase = (uint8_t)choice_of(story, statement->line, phase, phases);
    TAKE_NUMBER(story, statement, "lcm-state", nic->lcm_state);
    TAKE_NUMBER(story, statement, "since", nic->since);
    TAKE_NUMBER(story, statement, "shows", nic->shown_pkey);
    take_flag(statement, "limited", &nic->narrowed);
    take_flag(statement, "unleased", &nic->unleased);
    take_flag(statement, "attaching", &nic->attaching);
    const char *address = take_value(statement, "pci");
    if (address) {
        nic->is_pci = true;
        nic->has_address = oneib_pci_parse(address, &nic->address);
    }
}

static void add_full_members(struct story *story, int line, const char *value)
{
    struct oneib_policy *policy = &story->played->scene.policy;
    char list[256], *rest = NULL;
    snprintf(list, sizeof list, "%s", value);
    policy->default_full_members = story->full_members;
    policy->default_full_count = 0;
    for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        assert_true(policy->default_full_count < FULL_MEMBERS_MAX);
        story->full_members[policy->default_full_count++] = guid_of(story, line, word);
    }
}

static void state_policy(struct story *story, struct statement *statement)
{
    struct oneib_policy *policy = &story->played->scene.policy;
    TAKE_NUMBER(story, statement, "pkey-first", policy->pkey_first);
    TAKE_NUMBER(story, statement, "pkey-last", policy->pkey_last);
    TAKE_NUMBER(story, statement, "quarantined-max", policy->resting_max);
    TAKE_NUMBER(story, statement, "owned-max", policy->owned_max);
    TAKE_NUMBER(story, statement, "per-owner-max", policy->per_owner_max);
    TAKE_NUMBER(story, statement, "hold-minimum", policy->hold_minimum);
    uint64_t number;
    if (take_number(story, statement, "mtu", &number))
        policy->mtu = oneib_mtu_code((unsigned)number);
    if (take_number(story, statement, "rate", &number))
        policy->rate = oneib_rate_code((unsigned)number);
    if (take_number(story, statement, "rate-max", &number))
        policy->rate_max = oneib_rate_code((unsigned)number);
    take_flag(statement, "default-ipoib", &policy->default_ipoib);
    take_flag(statement, "only-range", &policy->only_range);
    take_flag(statement, "no-limited", &policy->no_limited);
    const char *value = take_value(statement, "default-full");
    if (value)
        add_full_members(story, statement->line, value);
    value = take_value(statement, "driver");
    if (value) {
        snprintf(story->driver, sizeof story->driver, "%s", value);
        policy->vn_mad = story->driver;
    }
    value = take_value(statement, "default-class");
    if (value) {
        snprintf(story->default_class, sizeof story->default_class, "%s", value);
        policy->default_class = story->default_class;
    }
    while ((value = take_value(statement, "class"))) { /* NAME:SL,SL */
        assert_true(policy->class_count < CLASSES_MAX);
        struct oneib_qos_class *class = &story->classes[policy->class_count++];
        const size_t length = strcspn(value, ":");
        snprintf(class->name, sizeof class->name, "%.*s", (int)length, value);
        class->weight = 1;
        for (const char *at = value + length; *at; at += 1 + strcspn(at + 1, ","))
            class->sls |= (uint16_t)(1u << atoi(at + 1));
        policy->classes = story->classes;
    }
}

/* ---- the ledger ------------------------------------------------------------------------------- */

static void state_ledger(struct story *story, struct statement *statement)
{
    struct scene *scene = &story->played->scene;
    struct oneib_ledger *ledger = &scene->ledger;
    const char *what = plain_word(statement, 1);
    uint64_t number = 0, host = 0;
    if (strcmp(what, "lost") == 0)
        scene->keys_stay = true;
    else if (strcmp(what, "next") == 0)
        ledger->next = (oneib_pkey)number_of(story, statement->line, plain_word(statement, 2));
    else if (strcmp(what, "network") == 0) {
        const char *id = plain_word(statement, 2), *key = take_value(statement, "pkey");
        set_key(story, statement->line, (uint32_t)number_of(story, statement->line, id),
                key ? key : "");
    } else if (strcmp(what, "deleted") == 0)
        oneib_ledger_rest(ledger,
                          (uint32_t)number_of(story, statement->line, plain_word(statement, 2)), 0);
    else if (strcmp(what, "quarantined") == 0) {
        struct oneib_ledger_resting entry = {
            .pkey = (oneib_pkey)number_of(story, statement->line, plain_word(statement, 2))};
        TAKE_NUMBER(story, statement, "network", entry.network_id);
        TAKE_NUMBER(story, statement, "owner", entry.owner);
        if (oneib_ledger_add_resting(ledger, &entry, &scene->err) < 0)
            complain(story, statement->line, "%s", scene->err.text);
    } else if (strcmp(what, "host") == 0) {
        number = number_of(story, statement->line, plain_word(statement, 2));
        const struct oneib_ledger_host pinned = {.host_id = (uint32_t)number};
        struct oneib_ledger_port port = {.host_id = (uint32_t)number};
        if (take_word(statement, "forgotten"))
            oneib_ledger_unpin(ledger, (uint32_t)number);
        else
            oneib_ledger_pin(ledger, &pinned);
        const char *value;
        while ((value = take_value(statement, "port"))) {
            port.guid = guid_of(story, statement->line, value);
            if (oneib_ledger_set_port(ledger, &port, &scene->err) < 0)
                complain(story, statement->line, "%s", scene->err.text);
        }
    } else if (strcmp(what, "fabric") == 0) {
        if (take_number(story, statement, "mtu", &number))
            ledger->mtu = oneib_mtu_code((unsigned)number);
        if (take_number(story, statement, "rate", &host))
            ledger->rate = oneib_rate_code((unsigned)host);
    } else
        complain(story, statement->line, "unknown part of the ledger '%s'", what);
}

/* fence HOST [lifted] [port=GUID:STATE] */
static void state_fence(struct story *story, struct statement *statement)
{
    struct scene *scene = &story->played->scene;
    struct oneib_ledger_fence fence = {.asked = 1};
    fence.host_id = (uint32_t)number_of(story, statement->line, plain_word(statement, 1));
    if (take_word(statement, "lifted")) {
        oneib_ledger_lift_fence(&scene->ledger, fence.host_id);
        return;
    }
    oneib_ledger_set_fence(&scene->ledger, &fence);
    for (const char *value; (value = take_value(statement, "port"));) {
        struct oneib_ledger_fenced_port port = {.host_id = fence.host_id};
        char guid[32];
        const size_t length = strcspn(value, ":");
        snprintf(guid, sizeof guid, "%.*s", (int)length, value);
        port.guid = guid_of(story, statement->line, guid);
        if (!value[length] || !oneib_fence_state_parse(value + length + 1, &port.state) ||
            oneib_ledger_set_fenced_port(&scene->ledger, &port, &scene->err) < 0)
            complain(story, statement->line, "'%s' is not GUID:STATE", value);
    }
}

/* ---- the fabric ------------------------------------------------------------------------------- */

static void set_table(struct story *story, int line, const char *value,
                      struct oneib_subnet_port *port)
{
    free(port->pkeys);
    port->pkeys = calloc(port->partition_cap ? port->partition_cap : 1, sizeof *port->pkeys);
    assert_non_null(port->pkeys);
    port->answered = strcmp(value, "unanswered") != 0;
    char list[256], *rest = NULL;
    snprintf(list, sizeof list, "%s", port->answered && strcmp(value, "empty") != 0 ? value : "");
    size_t i = 0;
    for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        assert_true(i < port->partition_cap);
        port->pkeys[i++] = (uint16_t)number_of(story, line, word);
    }
}

static void state_fabric(struct story *story, struct statement *statement)
{
    struct scene *scene = &story->played->scene;
    const char *what = plain_word(statement, 1);
    uint64_t number;
    scene->has_subnet = true;
    if (strcmp(what, "unknown") == 0)
        scene->has_subnet = false;
    else if (strcmp(what, "empty") == 0)
        oneib_subnet_clear(&scene->subnet);
    else if (strcmp(what, "led-elsewhere") == 0)
        story->played->is_led_elsewhere = true;
    else if (strcmp(what, "led-here") == 0)
        story->played->is_led_elsewhere = false;
    else if (strncmp(what, "multicast=", 10) == 0)
        scene->subnet.multicast_cap = (uint16_t)number_of(story, statement->line, what + 10);
    else {
        const oneib_guid guid = guid_of(story, statement->line, what);
        struct oneib_subnet_port *port = take_word(statement, "again")
                                             ? add_subnet_port(scene, guid, 64)
                                             : subnet_port(scene, guid);
        /* Places for the default partition and `room` others; the last one stays free. */
        if (take_number(story, statement, "room", &number))
            port->partition_cap = (uint16_t)(number + 2);
        TAKE_NUMBER(story, statement, "table-size", port->partition_cap);
        if (take_number(story, statement, "mtu", &number))
            port->mtu_cap = oneib_mtu_code((unsigned)number);
        if (take_number(story, statement, "rate", &number))
            port->rate = oneib_rate_code((unsigned)number);
        if (take_number(story, statement, "runs-at", &number))
            port->active_rate = oneib_rate_code((unsigned)number);
        const char *value = take_value(statement, "pkeys");
        if (value)
            set_table(story, statement->line, value, port);
        value = take_value(statement, "owner");
        if (value)
            port->owner = guid_of(story, statement->line, value);
        if (take_word(statement, "switch"))
            port->node_type = ONEIB_NODE_SWITCH;
        if (take_word(statement, "sm"))
            scene->subnet.sm_port_guid = guid;
    }
}

/* ---- nodes ------------------------------------------------------------------------------------ */

static const char *const node_states[] = {"unheard", "follows", "awaited", "silent", NULL};

static struct oneib_node_snapshot *find_node(struct grant_scene *played, uint32_t host_id)
{
    for (size_t i = 0; i < played->node_count; i++)
        if (played->snapshots[i].host_id == host_id)
            return &played->snapshots[i];
    return NULL;
}

/* The node of a host with VFs, which is added if it is not there; hosts of nodes come by id. */
static struct oneib_node_snapshot *stated_node(struct story *story, struct statement *statement)
{
    struct grant_scene *played = story->played;
    const uint32_t id = (uint32_t)number_of(story, statement->line, plain_word(statement, 1));
    struct oneib_node_snapshot *node = find_node(played, id);
    if (node)
        return node;
    if (played->node_count && played->snapshots[played->node_count - 1].host_id > id)
        complain(story, statement->line, "nodes are stated by host id");
    struct oneib_host *host = find_host(&played->scene, id);
    if (!host) {
        host = add_host(&played->scene, id);
        host->ports[0].vfs_total = 8;
    }
    assert_true(played->node_count < NODES);
    const size_t i = played->node_count++;
    played->snapshots[i] = (struct oneib_node_snapshot){.host_id = id,
                                                        .state = ONEIB_NODE_FOLLOWS,
                                                        .table_known = true,
                                                        .records = played->nodes[i].records,
                                                        .told = played->nodes[i].told};
    return &played->snapshots[i];
}

static void state_node(struct story *story, struct statement *statement)
{
    struct grant_scene *played = story->played;
    if (strcmp(plain_word(statement, 1), "none") == 0) {
        played->node_count = 0;
        return;
    }
    struct oneib_node_snapshot *node = stated_node(story, statement);
    struct played_node *has = &played->nodes[node - played->snapshots];
    const char *value = take_value(statement, "state");
    if (value)
        node->state = (enum oneib_node_state)choice_of(story, statement->line, value, node_states);
    take_flag(statement, "table-known", &node->table_known);
    if (take_word(statement, "fenced"))
        *node = oneib_node_of_fenced_host(node->host_id);
    if (take_word(statement, "reports-nothing"))
        node->record_count = 0;
    if (take_word(statement, "sent-nothing-yet"))
        node->sent = NULL;
    if (take_word(statement, "sent-empty-list")) {
        has->sent.count = 0;
        node->sent = &has->sent;
    }
    while ((value = take_value(statement, "sent-before"))) {
        if (strcmp(value, "none") == 0) {
            node->told_count = 0;
            continue;
        }
        uint32_t vm_id = 0;
        unsigned nic_id = 0;
        nic_of(story, statement->line, value, &vm_id, &nic_id);
        tell(played, node->host_id, vm_id, (uint8_t)nic_id);
    }
    if (take_word(statement, "assumed"))
        for (size_t i = 0; i < node->told_count; i++)
            has->told[i].is_assumed = true;
}

/* report HOST VM.NIC network= pkey= ... */
static void state_report(struct story *story, struct statement *statement)
{
    static const char *const stages[] = {"preparing", "closed", "open", "ended", "releasing", NULL};
    static const char *const guids[] = {"none", "deferred", "set", NULL};
    struct grant_scene *played = story->played;
    struct oneib_node_snapshot *node = stated_node(story, statement);
    struct played_node *has = &played->nodes[node - played->snapshots];
    uint32_t vm_id = 0;
    unsigned nic_id = 0;
    nic_of(story, statement->line, plain_word(statement, 2), &vm_id, &nic_id);
    struct oneib_vf_record *record = NULL;
    for (size_t i = 0; i < node->record_count && !record; i++)
        if (has->records[i].vm_id == vm_id && has->records[i].nic_id == nic_id)
            record = &has->records[i];
    if (!record || take_word(statement, "again")) {
        record = report(played, node->host_id, vm_id, 0, 0);
        record->nic_id = (uint8_t)nic_id;
    }
    TAKE_NUMBER(story, statement, "network", record->network_id);
    TAKE_NUMBER(story, statement, "pkey", record->pkey);
    TAKE_NUMBER(story, statement, "port", record->port);
    take_flag(statement, "limited", &record->limited);
    const char *value = take_value(statement, "stage");
    if (value)
        record->stage = (enum oneib_vf_stage)choice_of(story, statement->line, value, stages);
    value = take_value(statement, "guid");
    if (value)
        record->guid = (enum oneib_vf_guid)choice_of(story, statement->line, value, guids);
    value = take_value(statement, "device");
    if (value)
        snprintf(record->device, sizeof record->device, "%s", value);
    value = take_value(statement, "vf");
    if (value && !oneib_pci_parse(value, &record->vf))
        complain(story, statement->line, "'%s' is not a PCI address", value);
}

/* ---- what follows from the scene -------------------------------------------------------------- */

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

static void print_scene(const struct story *story, struct oneib_text *text)
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
    print_scene(story, &text);
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
    {"deferred", false},  {"keys", false},     {"refused", false}};

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

static void state_must_fail(struct story *story, struct statement *statement)
{
    snprintf(story->must_fail, sizeof story->must_fail, "%s", statement->text);
    memset(statement->used, true, sizeof statement->used);
}

static const struct {
    const char *word;
    void (*state)(struct story *story, struct statement *statement);
} statements[] = {
    {"network", state_network},   {"host", state_host},     {"vm", state_vm},
    {"policy", state_policy},     {"ledger", state_ledger}, {"fence", state_fence},
    {"fabric", state_fabric},     {"node", state_node},     {"report", state_report},
    {"in-force", state_in_force}, {"static", state_static}, {"apply", state_apply},
    {"send", state_send},         {"expect", state_expect}, {"must-fail", state_must_fail}};

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
