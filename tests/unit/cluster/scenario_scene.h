// SPDX-License-Identifier: Apache-2.0
/* Statements of scenarios (test_scenario.c) about the cloud, the ledger, the fabric and the nodes. */
#ifndef ONEIB_TEST_CLUSTER_SCENARIO_SCENE_H
#define ONEIB_TEST_CLUSTER_SCENARIO_SCENE_H

#include "ib/ipoib.h"
#include "scenario_words.h"

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
    const uint32_t id = id_of(story, statement, 1);
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
    const uint32_t id = id_of(story, statement, 1);
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
    set_text(take_value(statement, "name"), &host->name);
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
    TAKE_NUMBER(story, statement, "state", nic->state);
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

/* DEVICE:NUMBER@GUID: its oneib-node has reported the port so. */
static void own_stated_port(struct story *story, int line, struct oneib_ledger_port port,
                            const char *value)
{
    struct oneib_hca_port *hca = &port.hca;
    char guid[32];
    unsigned number;
    if (sscanf(value, "%31[^:]:%u@%31s", hca->device, &number, guid) != 3) {
        complain(story, line, "'%s' is not DEVICE:PORT@GUID", value);
        return;
    }
    port.guid = hca->port_guid = guid_of(story, line, guid);
    hca->port = (uint8_t)number;
    hca->driver = driver_of(hca->device);
    hca->vfs_total = 8;
    story->settles_ports = true;
    if (oneib_ledger_set_port(&story->played->scene.ledger, &port, &story->played->scene.err) < 0)
        complain(story, line, "%s", story->played->scene.err.text);
}

static void state_ledger(struct story *story, struct statement *statement)
{
    struct scene *scene = &story->played->scene;
    struct oneib_ledger *ledger = &scene->ledger;
    const char *what = plain_word(statement, 1);
    uint64_t number = 0, host = 0;
    if (strcmp(what, "lost") == 0)
        scene->keys_stay = true;
    else if (strcmp(what, "no-ports") == 0)
        story->settles_ports = true;
    else if (strcmp(what, "next") == 0)
        ledger->next = (oneib_pkey)number_of(story, statement->line, plain_word(statement, 2));
    else if (strcmp(what, "network") == 0) {
        const char *id = plain_word(statement, 2), *key = take_value(statement, "pkey");
        set_key(story, statement->line, (uint32_t)number_of(story, statement->line, id),
                key ? key : "");
    } else if (strcmp(what, "deleted") == 0)
        oneib_ledger_rest(ledger, id_of(story, statement, 2), 0);
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
        if (take_word(statement, "forget-ports"))
            oneib_ledger_forget_ports(ledger, (uint32_t)number);
        if (take_word(statement, "forgotten"))
            oneib_ledger_forget_host(ledger, (uint32_t)number, 9);
        else
            oneib_ledger_pin(ledger, &pinned);
        const char *value;
        port.is_accepted = take_word(statement, "accepted");
        if (take_word(statement, "absent"))
            port.state = ONEIB_LEDGER_PORT_ABSENT;
        while ((value = take_value(statement, "owns")))
            own_stated_port(story, statement->line, port, value);
        while ((value = take_value(statement, "port"))) {
            char guid[32];
            unsigned at = 0;
            sscanf(value, "%31[^@]@%u", guid, &at);
            port.guid = guid_of(story, statement->line, guid);
            port.switch_guid = at ? LEAF : 0;
            port.switch_port = (uint8_t)at;
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

/* fence HOST [lifted] [wish=WISH] [port=GUID:STATE[:SWITCHPORT]] */
static void state_fence(struct story *story, struct statement *statement)
{
    struct scene *scene = &story->played->scene;
    struct oneib_ledger_fence fence = {.asked = 1, .since = NOW};
    fence.host_id = id_of(story, statement, 1);
    if (take_word(statement, "lifted")) {
        oneib_ledger_lift_fence(&scene->ledger, fence.host_id);
        return;
    }
    const char *wish = take_value(statement, "wish");
    if (wish && !oneib_fence_wish_parse(wish, &fence.wish))
        complain(story, statement->line, "'%s' is not closed, lift or forced", wish);
    if (wish || !oneib_ledger_fence(&scene->ledger, fence.host_id))
        oneib_ledger_set_fence(&scene->ledger, &fence);
    for (const char *value; (value = take_value(statement, "port"));) {
        char guid[32], state[32];
        unsigned at = 0;
        struct oneib_ledger_fenced_port port = {.host_id = fence.host_id, .since = NOW};
        const int count = sscanf(value, "%31[^:]:%31[^:]:%u", guid, state, &at);
        if (count < 2 || !oneib_fence_state_parse(state, &port.state)) {
            complain(story, statement->line, "'%s' is not GUID:STATE", value);
            continue;
        }
        port.guid = guid_of(story, statement->line, guid);
        port.switch_guid = at ? LEAF : 0;
        port.switch_port = (uint8_t)at;
        port.answer = port.state != ONEIB_FENCE_ASKED;
        if (oneib_ledger_set_fenced_port(&scene->ledger, &port, &scene->err) < 0)
            complain(story, statement->line, "%s", scene->err.text);
    }
}

/* link SWITCHPORT GUID [node=] [switch]; polling, disabled, unanswered in place of the GUID */
static void state_link(struct story *story, struct statement *statement)
{
    struct oneib_switch_link *link = link_at(&story->fence, (uint8_t)id_of(story, statement, 1));
    const char *what = plain_word(statement, 2);
    *link = (struct oneib_switch_link){.switch_guid = LEAF, .switch_port = link->switch_port};
    link->physical = strcmp(what, "polling") == 0    ? ONEIB_PHYSICAL_POLLING
                     : strcmp(what, "disabled") == 0 ? ONEIB_PHYSICAL_DISABLED
                                                     : ONEIB_PHYSICAL_LINK_UP;
    if (link->physical != ONEIB_PHYSICAL_LINK_UP || strcmp(what, "unanswered") == 0)
        return;
    link->port_guid = guid_of(story, statement->line, what);
    link->node_type = take_word(statement, "switch") ? ONEIB_NODE_SWITCH : ONEIB_NODE_CA;
    const char *node = take_value(statement, "node");
    link->node_guid = node ? guid_of(story, statement->line, node) : link->port_guid - 1;
}

/* links none, missing, complete */
static void state_links(struct story *story, struct statement *statement)
{
    if (take_word(statement, "none"))
        story->fence.link_count = 0;
    if (take_word(statement, "missing"))
        story->fence.links_are_missing = true;
    if (take_word(statement, "complete"))
        story->fence.links_are_missing = false;
}

static void state_empty_table(struct story *story, struct statement *statement)
{
    story->fence.empty = id_of(story, statement, 1);
    story->fence.empty_count = 1;
}

/* The daemon beside the subnet manager works: places [states [refused]] are written to the ledger. */
static void state_fence_work(struct story *story, struct statement *statement)
{
    struct scene *scene = &story->played->scene;
    struct fence_scene *fence = &story->fence;
    bool changed;
    oneib_cloud_sort(&scene->cloud);
    plan_fences(scene, fence);
    const bool places = take_word(statement, "places"), states = take_word(statement, "states");
    if (!take_word(statement, "refused"))
        obey_fences(fence);
    if ((places &&
         oneib_fence_note_places(&fence->plan, NOW, &scene->ledger, &changed, &scene->err) < 0) ||
        (states &&
         oneib_fence_note_states(&fence->plan, NOW, &scene->ledger, &changed, &scene->err) < 0))
        complain(story, statement->line, "%s", scene->err.text);
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
    const uint32_t id = id_of(story, statement, 1);
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

#endif
