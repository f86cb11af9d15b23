// SPDX-License-Identifier: Apache-2.0
#include "node/vm_document.h"
#include "base/array.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/order.h"
#include "base/text.h"
#include "xml/reader.h"
#include "xml/values.h"
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#define WORD_LENGTH 64
#define HOSTNAME_LENGTH 1024
#define SHOWN_LENGTH 64

enum {
    NIC_ID,
    NETWORK_ID,
    VN_MAD,
    TYPE,
    ATTACH,
    BRIDGE,
    MAC,
    IP,
    TARGET,
    ADDRESS,
    PREV_ADDRESS,
    VM_DOMAIN,
    VM_BUS,
    VM_SLOT,
    VM_FUNCTION,
    DOMAIN,
    BUS,
    SLOT,
    FUNCTION,
    NIC_FIELDS
};

static const struct oneib_field nic_fields[NIC_FIELDS] = {
    [NIC_ID] = {ONEIB_NAME_NIC_ID, ONEIB_NUMBER_LENGTH},
    [NETWORK_ID] = {ONEIB_NAME_NETWORK_ID, ONEIB_NUMBER_LENGTH},
    [VN_MAD] = {ONEIB_NAME_VN_MAD, WORD_LENGTH},
    [TYPE] = {ONEIB_NAME_TYPE, WORD_LENGTH},
    [ATTACH] = {ONEIB_NAME_ATTACH, WORD_LENGTH},
    [BRIDGE] = {ONEIB_NAME_BRIDGE, WORD_LENGTH},
    [MAC] = {ONEIB_NAME_MAC, WORD_LENGTH},
    [IP] = {ONEIB_NAME_IP, WORD_LENGTH},
    [TARGET] = {ONEIB_NAME_TARGET, WORD_LENGTH},
    [ADDRESS] = {ONEIB_NAME_ADDRESS, WORD_LENGTH},
    [PREV_ADDRESS] = {ONEIB_NAME_PREV_ADDRESS, WORD_LENGTH},
    [VM_DOMAIN] = {ONEIB_NAME_VM_DOMAIN, WORD_LENGTH},
    [VM_BUS] = {ONEIB_NAME_VM_BUS, WORD_LENGTH},
    [VM_SLOT] = {ONEIB_NAME_VM_SLOT, WORD_LENGTH},
    [VM_FUNCTION] = {ONEIB_NAME_VM_FUNCTION, WORD_LENGTH},
    [DOMAIN] = {ONEIB_NAME_DOMAIN, WORD_LENGTH},
    [BUS] = {ONEIB_NAME_BUS, WORD_LENGTH},
    [SLOT] = {ONEIB_NAME_SLOT, WORD_LENGTH},
    [FUNCTION] = {ONEIB_NAME_FUNCTION, WORD_LENGTH},
};

/* What is asked for at one place of the document. */
struct wish {
    bool said; /* once more, and nobody can say which one counts */
    bool yes;
};

/* A document while it is read. */
struct reading {
    struct oneib_reader *reader;
    const char *vn_mad;
    struct oneib_node_vm *vm;
    struct oneib_value id, deploy_id;
    struct wish template_hpc, user_hpc;
    struct oneib_error fault; /* the first NIC that has to be refused */
};

/* nic_id < 0: of a NIC whose id is not known. */
static void note_fault(struct reading *reading, int nic_id, const char *attribute,
                       const struct oneib_value *value, const char *why)
{
    oneib_autotext struct oneib_text shown = {0};
    char nic[16] = "a NIC";
    if (reading->fault.code != ONEIB_ERROR_NONE)
        return;
    if (nic_id >= 0)
        snprintf(nic, sizeof nic, "NIC %d", nic_id);
    oneib_text_append_escaped(&shown, value->text, SHOWN_LENGTH);
    oneib_fail(&reading->fault, ONEIB_ERROR_INPUT,
               "VM %" PRIu32 " %s: %s \"%s\"%s %s: detach this NIC and attach it again",
               reading->vm->id, nic, attribute, shown.length ? shown.data : "",
               value->state == ONEIB_VALUE_REPEATED ? " (repeated)" : "", why);
}

static void spoil(struct reading *reading, struct oneib_node_nic *nic, const char *attribute,
                  const struct oneib_value *value, const char *why)
{
    nic->faulty = true;
    note_fault(reading, nic->nic_id, attribute, value, why);
}

static struct oneib_node_nic *find_nic(const struct oneib_node_vm *vm, uint64_t nic_id)
{
    for (size_t i = 0; i < vm->nic_count; i++)
        if (vm->nics[i].nic_id == nic_id)
            return &vm->nics[i];
    return NULL;
}

/* Whether the NIC has an id that is its own and fits into a GUID. */
static bool identify(struct reading *reading, const struct oneib_value *value, uint8_t *nic_id)
{
    uint64_t number;
    if (!oneib_value_number(value, UINT64_MAX, &number)) {
        note_fault(reading, -1, "NIC_ID", value, "is not an id");
        return false;
    }
    if (number > ONEIB_NIC_ID_MAX) {
        note_fault(reading, -1, "NIC_ID", value, "is more than 255, it can have no InfiniBand");
        return false;
    }
    struct oneib_node_nic *other = find_nic(reading->vm, number);
    if (other) {
        spoil(reading, other, "NIC_ID", value, "is another NIC's too");
        return false;
    }
    *nic_id = (uint8_t)number;
    return true;
}

static void read_address(struct reading *reading, struct oneib_node_nic *nic, const char *attribute,
                         const struct oneib_value *value, bool *has, struct oneib_pci *address)
{
    *has = oneib_value_is_set(value) && oneib_pci_parse_one(value->text, address);
    if (!*has && !oneib_value_is_empty(value))
        spoil(reading, nic, attribute, value, "is not a PCI address");
}

static void read_mac(const struct oneib_value *value, char mac[ONEIB_MAC_TEXT_SIZE])
{
    uint64_t number;
    if (value->state != ONEIB_VALUE_TEXT || !oneib_mac_parse(value->text, &number))
        return;
    for (size_t i = 0; i < value->length; i++)
        mac[i] = (char)tolower((unsigned char)value->text[i]);
}

/* What oned makes is "one-42-1"; what else may name an interface is no worse than markup here. */
static void read_target(const struct oneib_value *value, char target[ONEIB_TARGET_SIZE])
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    if (value->state == ONEIB_VALUE_TEXT && value->length < ONEIB_TARGET_SIZE &&
        strspn(value->text, allowed) == value->length)
        memcpy(target, value->text, value->length);
}

/* oned writes "0x01", and "0000" for nothing (HostSharePCI.cc, set_pci_address). Other digits
 * without 0x are refused: libvirt and oned do not agree on what they mean. */
static bool read_part(const struct oneib_value *value, uint64_t max, uint64_t *part)
{
    *part = 0;
    if (!oneib_value_is_set(value))
        return false;
    return strspn(value->text, "0") == value->length ||
           oneib_parse_hex_n(value->text, value->length, max, part);
}

static void read_guest_address(const struct oneib_value *values, struct oneib_node_nic *nic)
{
    uint64_t domain, bus, slot, function;
    nic->has_guest_address = read_part(&values[VM_DOMAIN], UINT16_MAX, &domain) &&
                             read_part(&values[VM_BUS], UINT8_MAX, &bus) &&
                             read_part(&values[VM_SLOT], 31, &slot) &&
                             read_part(&values[VM_FUNCTION], 7, &function);
    if (nic->has_guest_address)
        nic->guest_address = (struct oneib_pci){
            .domain = (uint32_t)domain,
            .bus = (uint8_t)bus,
            .slot = (uint8_t)slot,
            .function = (uint8_t)function,
        };
}

/* What the virtualization driver alone goes by; malformed is as good as not said. */
static void read_device(const struct oneib_value *values, struct oneib_node_nic *nic)
{
    read_mac(&values[MAC], nic->mac);
    nic->ipv4 = oneib_value_ipv4(&values[IP]);
    read_target(&values[TARGET], nic->target);
    if (nic->is_pci)
        read_guest_address(values, nic);
}

static void read_attributes(struct reading *reading, const struct oneib_value *values,
                            struct oneib_node_nic *nic)
{
    if (values[VN_MAD].state != ONEIB_VALUE_TEXT)
        spoil(reading, nic, "VN_MAD", &values[VN_MAD], "is not one driver");
    if (!oneib_value_id(&values[NETWORK_ID], &nic->network_id)) {
        nic->network_id = ONEIB_NO_ID;
        spoil(reading, nic, "NETWORK_ID", &values[NETWORK_ID], "is not an id");
    }
    nic->attach = oneib_value_equals(&values[ATTACH], "YES");
    nic->bridged = !oneib_value_is_empty(&values[BRIDGE]);
    read_device(values, nic);
    if (!nic->is_pci)
        return;
    read_address(reading, nic, "ADDRESS", &values[ADDRESS], &nic->has_address, &nic->address);
    read_address(reading, nic, "PREV_ADDRESS", &values[PREV_ADDRESS], &nic->has_previous,
                 &nic->previous);
}

/* OpenNebula's own action goes by these four and not by ADDRESS, and by the first of several. */
static bool read_device_address(const struct oneib_value *values, struct oneib_pci *address)
{
    char text[4 * WORD_LENGTH];
    if (!oneib_value_is_set(&values[DOMAIN]) || !oneib_value_is_set(&values[BUS]) ||
        !oneib_value_is_set(&values[SLOT]) || !oneib_value_is_set(&values[FUNCTION]))
        return false;
    snprintf(text, sizeof text, "%s:%s:%s.%s", values[DOMAIN].text, values[BUS].text,
             values[SLOT].text, values[FUNCTION].text);
    return oneib_pci_parse(text, address);
}

static void note_device(struct oneib_node_vm *vm, const struct oneib_value *values)
{
    if (!oneib_value_equals(&values[ATTACH], "YES") && values[ATTACH].state != ONEIB_VALUE_REPEATED)
        return;
    const bool is_first = vm->device == ONEIB_DEVICE_NONE;
    vm->device = is_first && read_device_address(values, &vm->device_address)
                     ? ONEIB_DEVICE_TOLD
                     : ONEIB_DEVICE_UNCLEAR;
}

static int read_nic(struct reading *reading, bool is_pci, struct oneib_error *err)
{
    struct oneib_node_vm *vm = reading->vm;
    struct oneib_value values[NIC_FIELDS];
    uint8_t nic_id;
    if (oneib_reader_fields(reading->reader, nic_fields, NIC_FIELDS, values, err) < 0)
        return -1;
    if (oneib_value_equals(&values[ATTACH], "YES"))
        vm->attaching = true;
    if (!oneib_value_is_nic_of(&values[VN_MAD], &values[TYPE], is_pci, reading->vn_mad)) {
        if (is_pci)
            note_device(vm, values);
        return 0;
    }
    if (!identify(reading, &values[NIC_ID], &nic_id))
        return 0;
    struct oneib_node_nic *nic = ONEIB_ADD(vm->nics, vm->nic_count, vm->nic_capacity);
    *nic = (struct oneib_node_nic){.nic_id = nic_id, .is_pci = is_pci};
    read_attributes(reading, values, nic);
    return 0;
}

/* An alias is an address more on another NIC: nothing of ours, but it can be attached. */
static int read_alias(struct reading *reading, struct oneib_error *err)
{
    struct oneib_value attach;
    if (oneib_reader_fields(reading->reader, &nic_fields[ATTACH], 1, &attach, err) < 0)
        return -1;
    if (oneib_value_equals(&attach, "YES"))
        reading->vm->attaching = true;
    return 0;
}

static int read_wish(struct reading *reading, struct wish *wish, struct oneib_error *err)
{
    struct oneib_value value = {0};
    if (oneib_reader_value(reading->reader, WORD_LENGTH, &value, err) < 0)
        return -1;
    wish->yes = !wish->said && oneib_value_equals(&value, "YES");
    wish->said = true;
    return 0;
}

static int read_template_child(struct reading *reading, struct oneib_error *err)
{
    if (oneib_reader_at(reading->reader, ONEIB_NAME_NIC))
        return read_nic(reading, false, err);
    if (oneib_reader_at(reading->reader, ONEIB_NAME_PCI))
        return read_nic(reading, true, err);
    if (oneib_reader_at(reading->reader, ONEIB_NAME_NIC_ALIAS))
        return read_alias(reading, err);
    if (oneib_reader_at(reading->reader, ONEIB_NAME_IB_HPC))
        return read_wish(reading, &reading->template_hpc, err);
    return 0;
}

/* What users write: nothing in it says anything about NICs. */
static int read_user_template_child(struct reading *reading, struct oneib_error *err)
{
    if (oneib_reader_at(reading->reader, ONEIB_NAME_IB_HPC))
        return read_wish(reading, &reading->user_hpc, err);
    return 0;
}

static int read_each_child(struct reading *reading,
                           int (*read)(struct reading *reading, struct oneib_error *err),
                           struct oneib_error *err)
{
    struct oneib_element parent = oneib_reader_enter(reading->reader);
    const size_t mark = oneib_reader_mark(reading->reader);
    int outcome;
    while ((outcome = oneib_reader_child(reading->reader, &parent, err)) > 0) {
        outcome = read(reading, err);
        oneib_reader_forget(reading->reader, mark);
        if (outcome < 0)
            return -1;
    }
    return outcome;
}

static int read_record(struct reading *reading, struct oneib_error *err)
{
    static const struct oneib_field field = {ONEIB_NAME_HOSTNAME, HOSTNAME_LENGTH};
    struct oneib_value hostname;
    if (!oneib_reader_at(reading->reader, ONEIB_NAME_HISTORY))
        return 0;
    if (oneib_reader_fields(reading->reader, &field, 1, &hostname, err) < 0)
        return -1;
    if (hostname.state == ONEIB_VALUE_ABSENT)
        return 0;
    if (hostname.state != ONEIB_VALUE_TEXT)
        return oneib_reader_refuse(reading->reader, "has no plain HOSTNAME", err);
    free(reading->vm->hostname);
    reading->vm->hostname = oneib_strdup(hostname.text);
    return 0;
}

static int read_id(struct reading *reading, struct oneib_error *err)
{
    if (oneib_reader_value(reading->reader, ONEIB_NUMBER_LENGTH, &reading->id, err) < 0)
        return -1;
    if (oneib_value_id(&reading->id, &reading->vm->id))
        return 0;
    reading->vm->id = ONEIB_NO_ID;
    return oneib_reader_refuse(reading->reader, "has no single ID of a VM", err);
}

static int read_child(struct reading *reading, struct oneib_error *err)
{
    struct oneib_reader *reader = reading->reader;
    if (oneib_reader_at(reader, ONEIB_NAME_ID))
        return read_id(reading, err);
    if (oneib_reader_at(reader, ONEIB_NAME_DEPLOY_ID))
        return oneib_reader_value(reader, HOSTNAME_LENGTH, &reading->deploy_id, err);
    if (oneib_reader_at(reader, ONEIB_NAME_HISTORY_RECORDS))
        return read_each_child(reading, read_record, err);
    if (oneib_reader_at(reader, ONEIB_NAME_USER_TEMPLATE))
        return read_each_child(reading, read_user_template_child, err);
    if (!oneib_reader_at(reader, ONEIB_NAME_TEMPLATE))
        return 0;
    if (reading->vm->id == ONEIB_NO_ID)
        return oneib_reader_refuse(reader, "has NICs in front of the VM's ID", err);
    return read_each_child(reading, read_template_child, err);
}

static int read_vm(struct reading *reading, struct oneib_error *err)
{
    struct oneib_element vm = oneib_reader_enter(reading->reader);
    int outcome;
    while ((outcome = oneib_reader_child(reading->reader, &vm, err)) > 0)
        if (read_child(reading, err) < 0)
            return -1;
    if (outcome < 0)
        return -1;
    if (reading->vm->id == ONEIB_NO_ID)
        return oneib_reader_refuse(reading->reader, "has no ID", err);
    reading->vm->deployed = !oneib_value_is_empty(&reading->deploy_id);
    reading->vm->wants_hpc = reading->template_hpc.yes || reading->user_hpc.yes;
    return 0;
}

/* The virtualization driver's: the VM is one of several things in it. */
static int read_action_data(struct reading *reading, struct oneib_error *err)
{
    struct oneib_reader *reader = reading->reader;
    struct oneib_element data = oneib_reader_enter(reader);
    bool found = false;
    int outcome;
    while ((outcome = oneib_reader_child(reader, &data, err)) > 0) {
        if (!oneib_reader_at(reader, ONEIB_NAME_VM))
            continue;
        if (found)
            return oneib_reader_refuse(reader, "has two VMs", err);
        found = true;
        if (read_vm(reading, err) < 0)
            return -1;
    }
    if (outcome == 0 && !found)
        return oneib_reader_refuse(reader, "has no VM", err);
    return outcome;
}

static int read_root(struct reading *reading, struct oneib_error *err)
{
    struct oneib_reader *reader = reading->reader;
    int outcome;
    if (oneib_reader_root(reader, err) < 0)
        return -1;
    if (oneib_reader_at(reader, ONEIB_NAME_VM))
        outcome = read_vm(reading, err);
    else if (oneib_reader_at(reader, ONEIB_NAME_VMM_DRIVER_ACTION_DATA))
        outcome = read_action_data(reading, err);
    else
        return oneib_reader_refuse(reader, "is not of a VM", err);
    return outcome < 0 ? -1 : oneib_reader_finish(reader, err);
}

ONEIB_ORDER_BY(compare_nics, struct oneib_node_nic, nic_id);

/* What is left of a document that is none: whose it is. */
static void forget_all_but_id(struct oneib_node_vm *vm)
{
    const uint32_t id = vm->id;
    oneib_node_vm_clear(vm);
    vm->id = id;
}

int oneib_node_vm_parse(const char *xml, size_t length, const char *vn_mad,
                        struct oneib_node_vm *vm, struct oneib_error *err)
{
    struct reading reading = {.vn_mad = vn_mad, .vm = vm};
    *vm = (struct oneib_node_vm){.id = ONEIB_NO_ID};
    reading.reader = oneib_reader_open(xml, length, err);
    int outcome = reading.reader ? read_root(&reading, err) : -1;
    oneib_reader_close(reading.reader);
    if (outcome < 0) {
        forget_all_but_id(vm);
        return oneib_wrap(err, "reading the VM that OpenNebula sent");
    }
    ONEIB_SORT(vm->nics, vm->nic_count, compare_nics);
    if (reading.fault.code == ONEIB_ERROR_NONE)
        return 0;
    *err = reading.fault;
    return -1;
}

int oneib_node_vm_decode(const char *base64, size_t length, const char *vn_mad,
                         struct oneib_node_vm *vm, struct oneib_error *err)
{
    size_t decoded;
    oneib_autofree char *xml = oneib_base64_decode(base64, length, &decoded);
    *vm = (struct oneib_node_vm){.id = ONEIB_NO_ID};
    if (!xml)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                          "standard input is not a VM's document in base64, which OpenNebula sends "
                          "to network drivers");
    if (decoded > ONEIB_VM_DOCUMENT_MAX)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                          "the VM's document has more than %zu bytes: shorten what its template "
                          "holds",
                          ONEIB_VM_DOCUMENT_MAX);
    return oneib_node_vm_parse(xml, decoded, vn_mad, vm, err);
}

void oneib_node_vm_clear(struct oneib_node_vm *vm)
{
    free(vm->hostname);
    free(vm->nics);
    *vm = (struct oneib_node_vm){.id = ONEIB_NO_ID};
}
