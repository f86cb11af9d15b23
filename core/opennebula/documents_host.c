// SPDX-License-Identifier: Apache-2.0
#include "base/escape.h"
#include "base/memory.h"
#include "cluster/names.h"
#include "opennebula/documents_internal.h"
#include <string.h>

/* oned's own limit for a name is 128 characters of up to four bytes. */
#define NAME_LENGTH 512
/* A line of the probe's. */
#define PROBLEM_LENGTH 1024

/* Devices of a host that VMs have: more than any machine has, see ONEIB_HOST_PORTS_MAX. */
#define DEVICES_MAX 4096

enum { DEVICE_NAME, PORT, DRIVER, PORT_GUID, VFS_TOTAL, RATE, HCA_FIELDS };

static const struct oneib_field hca_fields[HCA_FIELDS] = {
    [DEVICE_NAME] = {ONEIB_NAME_NAME, 31},
    [PORT] = {ONEIB_NAME_PORT, ONEIB_NUMBER_LENGTH},
    [DRIVER] = {ONEIB_NAME_DRIVER, 64},
    [PORT_GUID] = {ONEIB_NAME_PORT_GUID, ONEIB_NUMBER_LENGTH},
    [VFS_TOTAL] = {ONEIB_NAME_VFS_TOTAL, ONEIB_NUMBER_LENGTH},
    [RATE] = {ONEIB_NAME_RATE, ONEIB_NUMBER_LENGTH},
};

/* One host while it is read. */
struct host {
    struct oneib_host result;
    struct oneib_shown object; /* `host "node3"`, for findings */
    struct oneib_value id, name, state, vfs_total, vfs_free, switches, problem, node_key, keys,
        keys_seal;
    bool has_share; /* a HOST_SHARE was seen */
    bool is_forged; /* an element came twice that oned writes once */
    size_t vectors; /* IB_HCA seen */
    size_t invalid_vms;
};

/* An optional number of an IB_HCA vector; one that is no number counts as not said, and is noted.
 */
static void read_amount(struct oneib_documents *documents, const struct host *host,
                        const char *attribute, const struct oneib_value *value, uint16_t *amount)
{
    uint64_t number;
    if (oneib_value_is_empty(value))
        return;
    if (!oneib_value_number(value, UINT16_MAX, &number)) {
        oneib_documents_note_value(documents, ONEIB_FINDING_HCA_INVALID, host->object.text,
                                   attribute, value, "is not a number from 0 to 65535");
        return;
    }
    *amount = (uint16_t)number;
}

/* Device, port and GUID say which port it is: without them there is none. */
static bool identify_port(const struct oneib_value *values, struct oneib_hca_port *port)
{
    uint64_t number;
    const struct oneib_value *device = &values[DEVICE_NAME];
    if (device->state != ONEIB_VALUE_TEXT ||
        !oneib_device_name_is_valid(device->text, device->length) ||
        !oneib_value_number(&values[PORT], 254, &number) || number == 0 ||
        values[PORT_GUID].state != ONEIB_VALUE_TEXT ||
        !oneib_guid_parse(values[PORT_GUID].text, &port->port_guid))
        return false;
    memcpy(port->device, device->text, device->length + 1);
    port->port = (uint8_t)number;
    return true;
}

static void note_bad_port(struct oneib_documents *documents, const struct host *host,
                          const struct oneib_value *values)
{
    oneib_autotext struct oneib_text shown = {0};
    oneib_text_append(&shown, "NAME \"");
    oneib_text_append_escaped(&shown, values[DEVICE_NAME].text, 64);
    oneib_text_append(&shown, "\", PORT \"");
    oneib_text_append_escaped(&shown, values[PORT].text, 64);
    oneib_text_append(&shown, "\", PORT_GUID \"");
    oneib_text_append_escaped(&shown, values[PORT_GUID].text, 64);
    oneib_text_append(&shown, "\"");
    oneib_findings_note(documents->findings, ONEIB_FINDING_HCA_INVALID,
                        "%s: an IB_HCA does not name a port, it is left out: %s", host->object.text,
                        shown.data);
}

static bool is_same_port(const struct oneib_hca_port *a, const struct oneib_hca_port *b)
{
    return a->port == b->port && strcmp(a->device, b->device) == 0;
}

/* Two vectors for one port: nobody can say which GUID is its own. GUID 0 marks it until the host is
 * complete. */
static void note_repeated_port(struct oneib_documents *documents, const struct host *host,
                               struct oneib_hca_port *port)
{
    if (port->port_guid == 0)
        return;
    port->port_guid = 0;
    oneib_findings_note(documents->findings, ONEIB_FINDING_HCA_INVALID,
                        "%s: there are two IB_HCA for %s port %u, both are left out",
                        host->object.text, port->device, port->port);
}

static void add_port(struct oneib_documents *documents, struct host *host,
                     const struct oneib_hca_port *port)
{
    for (size_t i = 0; i < host->result.port_count; i++)
        if (is_same_port(&host->result.ports[i], port)) {
            note_repeated_port(documents, host, &host->result.ports[i]);
            return;
        }

    *oneib_host_add_port(&host->result) = *port;
}

static int read_hca(struct oneib_reader *reader, struct oneib_documents *documents,
                    struct host *host, struct oneib_error *err)
{
    struct oneib_value values[HCA_FIELDS];
    struct oneib_hca_port port = {0};
    if (++host->vectors > ONEIB_HOST_PORTS_MAX)
        return 0;
    if (oneib_reader_fields(reader, hca_fields, HCA_FIELDS, values, err) < 0)
        return -1;
    if (!identify_port(values, &port)) {
        note_bad_port(documents, host, values);
        return 0;
    }

    port.driver =
        oneib_hca_driver_of(values[DRIVER].state == ONEIB_VALUE_TEXT ? values[DRIVER].text : "");
    read_amount(documents, host, "VFS_TOTAL", &values[VFS_TOTAL], &port.vfs_total);
    read_amount(documents, host, "RATE", &values[RATE], &port.rate_gbps);

    add_port(documents, host, &port);
    return 0;
}

/* What the probe counts, and what the writer has told oned's scheduler. */
static int read_scalar(struct oneib_reader *reader, struct host *host, struct oneib_error *err)
{
    if (oneib_reader_at(reader, ONEIB_NAME_IB_VFS_TOTAL))
        return oneib_reader_value(reader, ONEIB_NUMBER_LENGTH, &host->vfs_total, err);
    if (oneib_reader_at(reader, ONEIB_NAME_IB_VFS_FREE))
        return oneib_reader_value(reader, ONEIB_NUMBER_LENGTH, &host->vfs_free, err);
    if (oneib_reader_at(reader, ONEIB_NAME_IB_SWITCH))
        return oneib_reader_value(reader, ONEIB_SWITCHES_LENGTH, &host->switches, err);
    if (oneib_reader_at(reader, ONEIB_NAME_IB_NODE_KEY))
        return oneib_reader_value(reader, ONEIB_NODE_KEY_TEXT_SIZE, &host->node_key, err);
    if (oneib_reader_at(reader, ONEIB_NAME_IB_KEYS))
        return oneib_reader_value(reader, ONEIB_KEYS_LENGTH, &host->keys, err);
    if (oneib_reader_at(reader, ONEIB_NAME_IB_KEYS_SEAL))
        return oneib_reader_value(reader, ONEIB_KEYS_SEAL_TEXT_SIZE, &host->keys_seal, err);
    if (oneib_reader_at(reader, ONEIB_NAME_IB_PROBLEM))
        return oneib_reader_value(reader, PROBLEM_LENGTH, &host->problem, err);
    return 0;
}

static int read_template(struct oneib_reader *reader, struct oneib_documents *documents,
                         struct host *host, struct oneib_error *err)
{
    struct oneib_element template = oneib_reader_enter(reader);
    size_t mark = oneib_reader_mark(reader);
    int outcome;
    while ((outcome = oneib_reader_child(reader, &template, err)) > 0) {
        if (oneib_reader_at(reader, ONEIB_NAME_IB_HCA)) {
            if (read_hca(reader, documents, host, err) < 0)
                return -1;
            oneib_reader_forget(reader, mark);
        } else {
            /* They are kept until the host is complete. */
            if (read_scalar(reader, host, err) < 0)
                return -1;
            mark = oneib_reader_mark(reader);
        }
    }
    return outcome;
}

/* Without a VM (VMID is -1) it is nobody's; one that cannot be read likewise. */
static int read_device(struct oneib_reader *reader, struct host *host, struct oneib_error *err)
{
    enum { ADDRESS, VMID, FIELDS };
    static const struct oneib_field fields[FIELDS] = {
        [ADDRESS] = {ONEIB_NAME_ADDRESS, 64},
        [VMID] = {ONEIB_NAME_VMID, ONEIB_NUMBER_LENGTH},
    };
    const size_t mark = oneib_reader_mark(reader);
    struct oneib_value values[FIELDS];
    struct oneib_pci address;
    uint32_t vm_id;
    if (oneib_reader_fields(reader, fields, FIELDS, values, err) < 0)
        return -1;
    const bool is_given = values[ADDRESS].state == ONEIB_VALUE_TEXT &&
                          oneib_pci_parse_one(values[ADDRESS].text, &address) &&
                          oneib_value_id(&values[VMID], &vm_id);
    oneib_reader_forget(reader, mark);
    if (!is_given || host->result.given_count == DEVICES_MAX)
        return 0;
    oneib_host_give(&host->result, &address, vm_id);
    return 0;
}

static int read_devices(struct oneib_reader *reader, struct host *host, struct oneib_error *err)
{
    struct oneib_element devices = oneib_reader_enter(reader);
    int outcome;
    while ((outcome = oneib_reader_child(reader, &devices, err)) > 0)
        if (oneib_reader_at(reader, ONEIB_NAME_PCI) && read_device(reader, host, err) < 0)
            return -1;
    return outcome;
}

static int read_share(struct oneib_reader *reader, struct host *host, struct oneib_error *err)
{
    struct oneib_element share = oneib_reader_enter(reader);
    int outcome;
    while ((outcome = oneib_reader_child(reader, &share, err)) > 0)
        if (oneib_reader_at(reader, ONEIB_NAME_PCI_DEVICES) && read_devices(reader, host, err) < 0)
            return -1;
    return outcome;
}

/* Sets the host's id; false when the document has none, or not in the place where oned writes it.
 */
static bool identify_host(struct host *host)
{
    if (!oneib_value_id(&host->id, &host->result.id))
        return false;
    host->object = oneib_host_called(host->result.id,
                                     host->name.state == ONEIB_VALUE_TEXT ? host->name.text : NULL);
    return true;
}

/* oned writes it once, and before what monitoring reports: the first counts. */
static int read_once(struct oneib_reader *reader, struct host *host, size_t length,
                     struct oneib_value *value, struct oneib_error *err)
{
    if (value->state == ONEIB_VALUE_ABSENT)
        return oneib_reader_value(reader, length, value, err);
    host->is_forged = true;
    return 0;
}

static int read_share_once(struct oneib_reader *reader, struct host *host, struct oneib_error *err)
{
    host->is_forged |= host->has_share;
    if (host->has_share)
        return 0;
    host->has_share = true;
    return read_share(reader, host, err);
}

static int read_child(struct oneib_reader *reader, struct oneib_documents *documents,
                      struct host *host, struct oneib_error *err)
{
    if (oneib_reader_at(reader, ONEIB_NAME_ID))
        return read_once(reader, host, ONEIB_NUMBER_LENGTH, &host->id, err);
    if (oneib_reader_at(reader, ONEIB_NAME_NAME))
        return read_once(reader, host, NAME_LENGTH, &host->name, err);
    if (oneib_reader_at(reader, ONEIB_NAME_STATE))
        return read_once(reader, host, ONEIB_NUMBER_LENGTH, &host->state, err);
    if (oneib_reader_at(reader, ONEIB_NAME_HOST_SHARE))
        return read_share_once(reader, host, err);
    if (oneib_reader_at(reader, ONEIB_NAME_VMS))
        return oneib_documents_read_ids(reader, &documents->vms_named, &host->invalid_vms, err);
    if (oneib_reader_at(reader, ONEIB_NAME_TEMPLATE) && identify_host(host))
        return read_template(reader, documents, host, err);
    return 0;
}

static void drop_ambiguous_ports(struct oneib_host *host)
{
    size_t kept = 0;
    for (size_t i = 0; i < host->port_count; i++)
        if (host->ports[i].port_guid != 0)
            host->ports[kept++] = host->ports[i];
    host->port_count = kept;
}

/* A host of which too much is wrong is none that is well. */
static void keep_problem(const struct oneib_value *value, char **copy)
{
    if (value->state != ONEIB_VALUE_TOO_LONG)
        oneib_documents_keep_text(value, copy);
    else
        *copy = oneib_strdup("more than fits here: onehost show");
}

/* size - 1 lower case digits, or nothing. */
static void keep_hexadecimal(const struct oneib_value *value, char *text, size_t size)
{
    if (value->state == ONEIB_VALUE_TEXT && value->length == size - 1 &&
        strspn(value->text, "0123456789abcdef") == value->length)
        memcpy(text, value->text, size);
}

static void note_keys(struct oneib_documents *documents, const struct host *host)
{
    oneib_documents_note_value(documents, ONEIB_FINDING_HOST_KEYS_INVALID, host->object.text,
                               "IB_KEYS", &host->keys,
                               "is not a list of P_Keys: no quarantined P_Key is released");
}

/* What it may hold. Of a list that is none nobody knows, and no key is believed to be nobody's. */
static void keep_keys(struct oneib_documents *documents, struct host *host)
{
    struct oneib_host *result = &host->result;
    struct oneib_error ignored;
    result->keys_written = host->keys.state != ONEIB_VALUE_ABSENT;
    keep_hexadecimal(&host->keys_seal, result->keys_seal, sizeof result->keys_seal);
    if (oneib_value_is_empty(&host->keys))
        return;
    if (host->keys.state == ONEIB_VALUE_TEXT &&
        oneib_host_keys_parse(host->keys.text, host->keys.length, &result->keys, &result->key_count,
                              &ignored) == 0)
        return;
    result->keys_invalid = true;
    note_keys(documents, host);
}

/* Anything but what the probe would print, or the writer write, counts as nothing. */
static void keep_scalars(struct host *host)
{
    uint64_t number;
    host->result.vfs_limit =
        oneib_value_number(&host->vfs_total, ONEIB_VFS_FREE_MAX, &number) ? (int32_t)number : -1;
    host->result.vfs_free =
        oneib_value_number(&host->vfs_free, ONEIB_VFS_FREE_MAX, &number) ? (int32_t)number : -1;
    host->result.state = oneib_value_number(&host->state, INT8_MAX, &number) ? (int8_t)number : -1;
    keep_hexadecimal(&host->node_key, host->result.node_key, sizeof host->result.node_key);
    oneib_documents_keep_text(&host->switches, &host->result.switches);
    keep_problem(&host->problem, &host->result.problem);
}

/* Puts what was read into the cloud, which then owns it. */
static void keep_host(struct oneib_documents *documents, struct host *host)
{
    if (!identify_host(host)) {
        oneib_documents_note_value(documents, ONEIB_FINDING_DOCUMENT_INVALID,
                                   "a host without an id is left out", "ID", &host->id,
                                   "is not an id");
        return;
    }
    if (host->invalid_vms > 0)
        oneib_findings_note(documents->findings, ONEIB_FINDING_DOCUMENT_INVALID,
                            "%s: %zu entries of its VMS are not ids", host->object.text,
                            host->invalid_vms);
    if (host->is_forged) {
        oneib_findings_mention(documents->findings, ONEIB_SUBJECT_HOST, host->result.id);
        oneib_findings_note(documents->findings, ONEIB_FINDING_MONITORING_FORGED,
                            "%s: its document has two of ID, NAME, STATE or HOST_SHARE, as oned "
                            "never writes it: the first counts",
                            host->object.text);
    }
    if (host->vectors > ONEIB_HOST_PORTS_MAX)
        oneib_findings_note(documents->findings, ONEIB_FINDING_HCA_INVALID,
                            "%s: %zu IB_HCA, all after the first %d are left out",
                            host->object.text, host->vectors, ONEIB_HOST_PORTS_MAX);
    drop_ambiguous_ports(&host->result);
    keep_scalars(host);
    keep_keys(documents, host);
    host->result.name = oneib_documents_copy_name(documents, host->object.text, &host->name);
    *oneib_cloud_add_host(documents->cloud) = host->result;
    host->result = (struct oneib_host){0};
}

static int read_host(struct oneib_reader *reader, struct oneib_documents *documents, uint32_t *id,
                     struct oneib_error *err)
{
    struct host host = {0};
    struct oneib_element element = oneib_reader_enter(reader);
    int outcome;
    while ((outcome = oneib_reader_child(reader, &element, err)) > 0)
        if ((outcome = read_child(reader, documents, &host, err)) < 0)
            break;
    if (outcome == 0 && identify_host(&host))
        *id = host.result.id;
    if (outcome == 0)
        keep_host(documents, &host);
    oneib_host_clear(&host.result);
    return outcome;
}

int oneib_documents_read_hosts(struct oneib_documents *documents, const char *xml, size_t length,
                               struct oneib_error *err)
{
    static const struct oneib_object_kind kind = {ONEIB_NAME_HOST_POOL, ONEIB_NAME_HOST,
                                                  ONEIB_SUBJECT_HOST, read_host};
    return oneib_documents_read(documents, xml, length, &kind, err);
}
