// SPDX-License-Identifier: Apache-2.0
#include "config/config_keys.h"
#include "base/number.h"
#include "ib/qos_class.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(field)                                                                               \
    .offset = offsetof(struct oneib_config, field),                                                \
    .size = sizeof(((struct oneib_config *)NULL)->field)

/* Of an address of a daemon's: cluster/ledger.h, which this library does not know. */
#define ADDRESS_SIZE 128

/* ---- what strings must be -------------------------------------------------------------------- */

static const char *check_path(const char *string)
{
    size_t length = strlen(string);
    if (string[0] != '/' || string[length - 1] == '/' || length >= PATH_MAX)
        return "must be the absolute path of a file";
    return NULL;
}

#define LETTERS_AND_DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

static bool consists_of(const char *string, const char *allowed)
{
    const size_t length = strlen(string);
    return length > 0 && length <= NAME_MAX && string[0] != '-' &&
           strspn(string, allowed) == length;
}

static const char *check_name(const char *string)
{
    if (!consists_of(string, LETTERS_AND_DIGITS "_.:@\\-"))
        return "must be a name of letters, digits, '_', '.', ':', '@', '\\' and '-'";
    return NULL;
}

static const char *check_unit(const char *string)
{
    if (!consists_of(string, LETTERS_AND_DIGITS "_.:@\\-*"))
        return "must be a unit's name, or a pattern with '*', of letters, digits, '_', '.', ':', "
               "'@', '\\' and '-'";
    return NULL;
}

static const char *check_endpoint(const char *string)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t length = strlen(schemes[i]);
        if (strncmp(string, schemes[i], length) == 0 && string[length] != '\0')
            return NULL;
    }
    return "must begin with http:// or https://";
}

/* A host and no more, as ufm/ufm_client.h takes it. */
static const char *check_ufm_url(const char *string)
{
    static const char scheme[] = "https://";
    const char *host = string + strlen(scheme);
    if (strncmp(string, scheme, strlen(scheme)) == 0 && *host && !host[strcspn(host, "/?#@ ")])
        return NULL;
    return "must be https://HOST or https://HOST:PORT: its certificate proves that it is UFM";
}

/* As sm/ufm_release.h reads it, which this library does not know. */
static const char *check_ufm_release(const char *string)
{
    uint64_t number;
    for (unsigned i = 0; i < 3; i++) {
        const size_t length = strcspn(string, ".");
        if (!oneib_parse_decimal_n(string, length, 9999, &number))
            break;
        if (!string[length] && i > 0)
            return NULL;
        if (!string[length])
            break;
        string += length + 1;
    }
    return "must be a release of UFM's: two or three numbers, such as 6.15.1";
}

static const char *check_events(const char *string)
{
    if (strcmp(string, "none") == 0 || strncmp(string, "tcp://", 6) == 0 ||
        strncmp(string, "ipc:///", 7) == 0)
        return NULL;
    return "must begin with tcp:// or ipc:///, or be \"none\"";
}

/* The address itself is looked at by whoever listens there. */
static const char *check_listen(const char *string)
{
    uint64_t port;
    const char *colon = strrchr(string, ':');
    if (strcmp(string, "none") == 0 ||
        (colon && colon > string && oneib_parse_decimal(colon + 1, UINT16_MAX, &port) && port > 0))
        return NULL;
    return "must be ADDRESS:PORT, or \"none\"";
}

static const char *check_group(const char *string)
{
    return *string && !string[strcspn(string, ": \t\n,/")] ? NULL : "must be the name of a group";
}

static const char *check_control(const char *string)
{
    return strcmp(string, "none") == 0 || *string == '/' ? NULL
                                                         : "must be an absolute path, or \"none\"";
}

static const char *check_grants(const char *string)
{
    static const char scheme[] = "tcp://";
    if (strncmp(string, scheme, strlen(scheme)) != 0 || strlen(string) >= ADDRESS_SIZE ||
        check_listen(string + strlen(scheme)) || strcmp(string + strlen(scheme), "none") == 0)
        return "must be tcp://ADDRESS:PORT";
    return NULL;
}

/* What is said of it to nodes: a place, not all of them. */
static const char *check_address(const char *string)
{
    static const char anywhere[] = "tcp://*";
    if (check_grants(string) || strncmp(string, anywhere, strlen(anywhere)) == 0)
        return "must be tcp://HOST:PORT, by which nodes reach this host";
    return NULL;
}

static const char *check_command(const char *string)
{
    return check_path(string) ? "must begin with the absolute path of a program" : NULL;
}

static const char *check_libvirt(const char *string)
{
    if (!strstr(string, "://"))
        return "must be a connection of libvirt's, such as qemu:///system";
    return NULL;
}

static const char *check_pci(const char *string)
{
    struct oneib_pci pci;
    return oneib_pci_parse(string, &pci) ? NULL : "must be a PCI address such as 0000:81:00.1";
}

static const char *check_guid(const char *string)
{
    oneib_guid guid;
    return oneib_guid_parse(string, &guid)
               ? NULL
               : "must be a port GUID: 0x and 1 to 16 hexadecimal digits, neither 0 nor all ones";
}

static const char *check_class(const char *string)
{
    struct oneib_qos_class qos_class;
    return oneib_qos_class_parse(string, &qos_class);
}

static const char *check_class_name(const char *string)
{
    return oneib_qos_name_valid(string) ? NULL : "must be the name of one of qos.classes";
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Bytes, as InfiniBand Architecture Specification 1.2.1 has them in PortInfo. */
static const uint16_t mtus[] = {256, 512, 1024, 2048, 4096, 0};

/* Gb/s of the static rates of the same specification and of later speeds; 2 stands for 2.5. */
static const uint16_t rates[] = {2,  5,   10,  14,  20,  25,  28,  30,  40,  50,  56,   60,
                                 80, 100, 112, 120, 168, 200, 300, 400, 600, 800, 1200, 0};

/* Data lanes as PortInfo.OperationalVLs counts them, but for one alone: there nothing is apart. */
static const uint16_t lane_counts[] = {2, 4, 8, 15, 0};

static const struct oneib_config_key_choice sm_kinds[] = {
    {"opensm", ONEIB_SM_OPENSM},
    {"nvidia-opensm", ONEIB_SM_NVIDIA_OPENSM},
    {"ufm", ONEIB_SM_UFM},
    {NULL, 0},
};

static const struct oneib_config_key_choice virtual_ports_orders[] = {
    {"link_first", ONEIB_VIRTUAL_PORTS_LINK_FIRST},
    {"key_first", ONEIB_VIRTUAL_PORTS_KEY_FIRST},
    {NULL, 0},
};

static const struct oneib_config_key_choice hpc_cores_choices[] = {
    {"shared", ONEIB_HPC_CORES_SHARED},
    {"refuse", ONEIB_HPC_CORES_REFUSE},
    {"keep_off", ONEIB_HPC_CORES_KEEP_OFF},
    {NULL, 0},
};

static const struct oneib_config_key_choice vports_choices[] = {
    {"off", ONEIB_VPORTS_OFF},
    {"try", ONEIB_VPORTS_TRY},
    {NULL, 0},
};

static const struct oneib_config_key_choice ufm_auths[] = {
    {"basic", ONEIB_CONFIG_UFM_BASIC},
    {"token", ONEIB_CONFIG_UFM_TOKEN},
    {"certificate", ONEIB_CONFIG_UFM_CERTIFICATE},
    {NULL, 0},
};

static const struct oneib_config_key_choice reload_methods[] = {
    {"pid_file", ONEIB_RELOAD_PID_FILE},
    {"systemd", ONEIB_RELOAD_SYSTEMD},
    {"command", ONEIB_RELOAD_COMMAND},
    {NULL, 0},
};

static const struct oneib_config_key_choice log_levels[] = {
    {"error", ONEIB_LOG_ERROR},
    {"warning", ONEIB_LOG_WARNING},
    {"info", ONEIB_LOG_INFO},
    {"debug", ONEIB_LOG_DEBUG},
    {NULL, 0},
};

static const struct oneib_config_key_choice log_formats[] = {
    {"text", ONEIB_LOG_TEXT},
    {"json", ONEIB_LOG_JSON},
    {NULL, 0},
};

const struct oneib_config_key oneib_config_keys[] = {
    {NULL, "site", ONEIB_CONFIG_NUMBER, FIELD(site), .maximum = 65535},

    {"one", "endpoint", ONEIB_CONFIG_STRING, FIELD(one.endpoint), .check = check_endpoint},
    {"one", "auth_file", ONEIB_CONFIG_STRING, FIELD(one.auth_file), .check = check_path},
    {"one", "vn_mad", ONEIB_CONFIG_STRING, FIELD(one.vn_mad), .check = check_name,
     .default_string = "infiniband"},
    {"one", "timeout", ONEIB_CONFIG_NUMBER, FIELD(one.timeout_ms), .minimum = 100,
     .maximum = 600000, .default_number = 30000},
    {"one", "window", ONEIB_CONFIG_NUMBER, FIELD(one.window), .minimum = 1, .maximum = 100000,
     .default_number = 1000},
    {"one", "writer", ONEIB_CONFIG_BOOLEAN, FIELD(one.writer), .default_number = true},
    {"one", "acl_user", ONEIB_CONFIG_BOOLEAN, FIELD(one.acl_user)},
    {"one", "events", ONEIB_CONFIG_STRING, FIELD(one.events), .check = check_events,
     .default_string = "tcp://127.0.0.1:2101"},

    {"pkeys", "first", ONEIB_CONFIG_NUMBER, FIELD(pkeys.first), .minimum = 1, .maximum = 32766,
     .default_number = 256},
    {"pkeys", "last", ONEIB_CONFIG_NUMBER, FIELD(pkeys.last), .minimum = 1, .maximum = 32766,
     .default_number = 32766},
    {"pkeys", "resting", ONEIB_CONFIG_NUMBER, FIELD(pkeys.resting), .minimum = 1, .maximum = 32766,
     .default_number = 16},
    {"pkeys", "owned", ONEIB_CONFIG_NUMBER, FIELD(pkeys.owned), .maximum = 32766,
     .default_number = 1024},
    {"pkeys", "per_owner", ONEIB_CONFIG_NUMBER, FIELD(pkeys.per_owner), .maximum = 32766,
     .default_number = 16},

    {"sm", "kind", ONEIB_CONFIG_CHOICE, FIELD(sm.kind), .choices = sm_kinds,
     .default_number = ONEIB_SM_OPENSM},

    {"ufm", "url", ONEIB_CONFIG_STRING, FIELD(ufm.url), .check = check_ufm_url},
    {"ufm", "ca", ONEIB_CONFIG_STRING, FIELD(ufm.ca), .check = check_path},
    {"ufm", "auth", ONEIB_CONFIG_CHOICE, FIELD(ufm.auth), .choices = ufm_auths,
     .default_number = ONEIB_CONFIG_UFM_TOKEN},
    {"ufm", "secret", ONEIB_CONFIG_STRING, FIELD(ufm.secret), .check = check_path,
     .default_string = "/etc/oneib/ufm.secret"},
    {"ufm", "certificate", ONEIB_CONFIG_STRING, FIELD(ufm.certificate), .check = check_path},
    {"ufm", "timeout", ONEIB_CONFIG_NUMBER, FIELD(ufm.timeout_ms), .minimum = 1000,
     .maximum = 600000, .default_number = 30000},
    {"ufm", "release", ONEIB_CONFIG_STRING, FIELD(ufm.release), .check = check_ufm_release},
    {"ufm", "default_limited", ONEIB_CONFIG_BOOLEAN, FIELD(ufm.default_limited)},
    {"ufm", "record", ONEIB_CONFIG_STRING, FIELD(ufm.record), .check = check_path,
     .default_string = "/var/lib/oneib/ufm-partitions.conf"},

    {"opensm", "partitions", ONEIB_CONFIG_STRING, FIELD(opensm.partitions), .check = check_path,
     .default_string = "/etc/opensm/partitions.conf"},
    {"opensm", "static_partitions", ONEIB_CONFIG_STRING, FIELD(opensm.static_partitions),
     .check = check_path, .default_string = "/etc/oneib/static-partitions.conf"},
    {"opensm", "qos_policy", ONEIB_CONFIG_STRING, FIELD(opensm.qos_policy), .check = check_path},
    {"opensm", "reload", ONEIB_CONFIG_CHOICE, FIELD(opensm.method), .choices = reload_methods,
     .default_number = ONEIB_RELOAD_SYSTEMD},
    {"opensm", "pid_file", ONEIB_CONFIG_STRING, FIELD(opensm.pid_file), .check = check_path,
     .default_string = "/run/opensm.pid"},
    {"opensm", "unit", ONEIB_CONFIG_STRING, FIELD(opensm.unit), .check = check_unit,
     .default_string = "opensm*.service"},
    {"opensm", "reload_command", ONEIB_CONFIG_STRINGS, FIELD(opensm.reload_command),
     .check = check_command, .is_command = true},
    {"opensm", "apply_timeout", ONEIB_CONFIG_NUMBER, FIELD(opensm.apply_timeout_ms),
     .minimum = 1000, .maximum = 600000, .default_number = 30000},

    {"fabric", "ca", ONEIB_CONFIG_STRING, FIELD(fabric.ca), .check = check_name},
    {"fabric", "port", ONEIB_CONFIG_NUMBER, FIELD(fabric.port), .maximum = 255},
    {"fabric", "window", ONEIB_CONFIG_NUMBER, FIELD(fabric.window), .minimum = 1, .maximum = 256,
     .default_number = 16},
    {"fabric", "timeout", ONEIB_CONFIG_NUMBER, FIELD(fabric.timeout_ms), .minimum = 10,
     .maximum = 60000, .default_number = 500},
    {"fabric", "retries", ONEIB_CONFIG_NUMBER, FIELD(fabric.retries), .maximum = 15,
     .default_number = 3},
    {"fabric", "m_key_file", ONEIB_CONFIG_STRING, FIELD(fabric.m_key_file), .check = check_path},
    {"fabric", "virtual_ports", ONEIB_CONFIG_CHOICE, FIELD(fabric.virtual_ports),
     .choices = vports_choices, .default_number = ONEIB_VPORTS_OFF},
    {"fabric", "mtu", ONEIB_CONFIG_NUMBER, FIELD(fabric.mtu), .maximum = 4096, .allowed = mtus},
    {"fabric", "rate", ONEIB_CONFIG_NUMBER, FIELD(fabric.rate), .maximum = 1200, .allowed = rates},

    {"default_partition", "full_members", ONEIB_CONFIG_STRINGS,
     FIELD(default_partition.full_members), .check = check_guid},
    {"default_partition", "ipoib", ONEIB_CONFIG_BOOLEAN, FIELD(default_partition.ipoib)},

    {"removal_hold", "share", ONEIB_CONFIG_SHARE, FIELD(removal_hold.share), .default_share = 0.5},
    {"removal_hold", "minimum", ONEIB_CONFIG_NUMBER, FIELD(removal_hold.minimum),
     .maximum = INT32_MAX, .default_number = 16},

    {"qos", "classes", ONEIB_CONFIG_STRINGS, FIELD(qos.classes), .check = check_class},
    {"qos", "default_class", ONEIB_CONFIG_STRING, FIELD(qos.default_class),
     .check = check_class_name},
    {"qos", "others", ONEIB_CONFIG_NUMBER, FIELD(qos.others), .minimum = 1,
     .maximum = ONEIB_QOS_WEIGHT_MAX, .default_number = 16},
    {"qos", "vls", ONEIB_CONFIG_NUMBER, FIELD(qos.vls), .minimum = 2, .maximum = 15,
     .allowed = lane_counts, .default_number = 8},
    {"qos", "entries", ONEIB_CONFIG_NUMBER, FIELD(qos.entries), .minimum = 2, .maximum = 64,
     .default_number = 8},
    {"qos", "drop_unused", ONEIB_CONFIG_BOOLEAN, FIELD(qos.drop_unused)},
    {"qos", "links_file", ONEIB_CONFIG_STRING, FIELD(qos.links_file), .check = check_path},
    {"qos", "exclusive", ONEIB_CONFIG_BOOLEAN, FIELD(qos.exclusive)},

    {"daemon", "poll_preparing", ONEIB_CONFIG_NUMBER, FIELD(daemon.poll_preparing_ms),
     .minimum = 100, .maximum = 5000, .default_number = 5000},
    {"daemon", "poll_idle", ONEIB_CONFIG_NUMBER, FIELD(daemon.poll_idle_ms), .minimum = 1000,
     .maximum = 600000, .default_number = 15000},
    {"daemon", "reread", ONEIB_CONFIG_NUMBER, FIELD(daemon.reread_ms), .minimum = 1000,
     .maximum = 86400000, .default_number = 600000},
    {"daemon", "verify", ONEIB_CONFIG_NUMBER, FIELD(daemon.verify_ms), .minimum = 1000,
     .maximum = 86400000, .default_number = 120000},
    {"daemon", "metrics", ONEIB_CONFIG_STRING, FIELD(daemon.metrics), .check = check_listen,
     .default_string = "127.0.0.1:9677"},
    {"daemon", "grants", ONEIB_CONFIG_STRING, FIELD(daemon.grants), .check = check_grants,
     .default_string = "tcp://*:9678"},
    {"daemon", "address", ONEIB_CONFIG_STRING, FIELD(daemon.address), .check = check_address},
    {"daemon", "key", ONEIB_CONFIG_STRING, FIELD(daemon.key), .check = check_path,
     .default_string = "/var/lib/oneib/daemon.key"},
    {"daemon", "control", ONEIB_CONFIG_STRING, FIELD(daemon.control), .check = check_control,
     .default_string = "/run/oneibd/control"},
    {"daemon", "readers", ONEIB_CONFIG_STRING, FIELD(daemon.readers), .check = check_group,
     .default_string = "oneadmin"},

    {"node", "libvirt", ONEIB_CONFIG_STRING, FIELD(node.libvirt), .check = check_libvirt,
     .default_string = "qemu:///system"},
    {"node", "host_vfs", ONEIB_CONFIG_STRINGS, FIELD(node.host_vfs), .check = check_pci},
    {"node", "pkey_wait", ONEIB_CONFIG_NUMBER, FIELD(node.pkey_wait_ms), .minimum = 100,
     .maximum = 300000, .default_number = 30000},
    {"node", "guid_wait", ONEIB_CONFIG_NUMBER, FIELD(node.guid_wait_ms), .minimum = 100,
     .maximum = 300000, .default_number = 15000},
    {"node", "virtual_ports", ONEIB_CONFIG_CHOICE, FIELD(node.virtual_ports),
     .choices = virtual_ports_orders, .default_number = ONEIB_VIRTUAL_PORTS_LINK_FIRST},
    {"node", "unplug_wait", ONEIB_CONFIG_NUMBER, FIELD(node.unplug_wait_ms), .minimum = 1000,
     .maximum = 600000, .default_number = 30000},
    {"node", "hpc_cores", ONEIB_CONFIG_CHOICE, FIELD(node.hpc_cores), .choices = hpc_cores_choices,
     .default_number = ONEIB_HPC_CORES_SHARED},
    {"node", "watch", ONEIB_CONFIG_NUMBER, FIELD(node.watch_ms), .minimum = 100, .maximum = 600000,
     .default_number = 10000},

    {"log", "level", ONEIB_CONFIG_CHOICE, FIELD(log.level), .choices = log_levels,
     .default_number = ONEIB_LOG_INFO},
    {"log", "format", ONEIB_CONFIG_CHOICE, FIELD(log.format), .choices = log_formats,
     .default_number = ONEIB_LOG_TEXT},

    {.name = NULL},
};

bool oneib_config_key_in_group(const struct oneib_config_key *key, const char *group)
{
    if (!key->group || !group)
        return key->group == group;
    return strcmp(key->group, group) == 0;
}

/* ---- fields: read and written as bytes, for their types differ ------------------------------- */

static void *field_of(struct oneib_config *config, const struct oneib_config_key *key)
{
    return (char *)config + key->offset;
}

static const void *const_field_of(const struct oneib_config *config,
                                  const struct oneib_config_key *key)
{
    return (const char *)config + key->offset;
}

uint32_t oneib_config_key_number(const struct oneib_config *config,
                                 const struct oneib_config_key *key)
{
    uint8_t byte;
    uint16_t half;
    uint32_t word;
    switch (key->size) {
    case sizeof byte:
        memcpy(&byte, const_field_of(config, key), sizeof byte);
        return byte;
    case sizeof half:
        memcpy(&half, const_field_of(config, key), sizeof half);
        return half;
    default:
        memcpy(&word, const_field_of(config, key), sizeof word);
        return word;
    }
}

void oneib_config_key_set_number(struct oneib_config *config, const struct oneib_config_key *key,
                                 uint32_t value)
{
    uint8_t byte = (uint8_t)value;
    uint16_t half = (uint16_t)value;
    switch (key->size) {
    case sizeof byte:
        memcpy(field_of(config, key), &byte, sizeof byte);
        break;
    case sizeof half:
        memcpy(field_of(config, key), &half, sizeof half);
        break;
    default:
        memcpy(field_of(config, key), &value, sizeof value);
    }
}

double oneib_config_key_share(const struct oneib_config *config, const struct oneib_config_key *key)
{
    double value;
    memcpy(&value, const_field_of(config, key), sizeof value);
    return value;
}

void oneib_config_key_set_share(struct oneib_config *config, const struct oneib_config_key *key,
                                double value)
{
    memcpy(field_of(config, key), &value, sizeof value);
}

const char *oneib_config_key_string(const struct oneib_config *config,
                                    const struct oneib_config_key *key)
{
    char *value;
    memcpy(&value, const_field_of(config, key), sizeof value);
    return value;
}

void oneib_config_key_set_string(struct oneib_config *config, const struct oneib_config_key *key,
                                 char *value)
{
    char *old;
    memcpy(&old, field_of(config, key), sizeof old);
    free(old);
    memcpy(field_of(config, key), &value, sizeof value);
}

char **oneib_config_key_strings(const struct oneib_config *config,
                                const struct oneib_config_key *key)
{
    char **value;
    memcpy(&value, const_field_of(config, key), sizeof value);
    return value;
}

void oneib_config_key_set_strings(struct oneib_config *config, const struct oneib_config_key *key,
                                  char **value)
{
    char **old = oneib_config_key_strings(config, key);
    for (size_t i = 0; old && old[i]; i++)
        free(old[i]);
    free(old);
    memcpy(field_of(config, key), &value, sizeof value);
}
