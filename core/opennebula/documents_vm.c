// SPDX-License-Identifier: Apache-2.0
#include "base/order.h"
#include "ib/dummy_mac.h"
#include "opennebula/documents_internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WORD_LENGTH 64

/* The state of a VM that has ended; its document keeps its NICs (VirtualMachine.h). */
#define STATE_DONE 6

/* Findings about the NICs of one VM, so that a user cannot flood the report; more are counted. */
#define NIC_FINDINGS_MAX 8

/* As many InfiniBand NICs as its driver gives a VM (ONEIB_DOMAIN_NICS_MAX). oned lets users write
 * more, and each would have a place in its host's list of grants while the VM starts. */
#define NICS_MAX 16

enum {
    NIC_ID,
    NETWORK_ID,
    VN_MAD,
    TYPE,
    VLAN_ID,
    IB_MEMBERSHIP,
    IP,
    MAC,
    ADDRESS,
    ATTACH,
    NIC_FIELDS
};

static const struct oneib_field nic_fields[NIC_FIELDS] = {
    [NIC_ID] = {ONEIB_NAME_NIC_ID, ONEIB_NUMBER_LENGTH},
    [NETWORK_ID] = {ONEIB_NAME_NETWORK_ID, ONEIB_NUMBER_LENGTH},
    [VN_MAD] = {ONEIB_NAME_VN_MAD, WORD_LENGTH},
    [TYPE] = {ONEIB_NAME_TYPE, WORD_LENGTH},
    [VLAN_ID] = {ONEIB_NAME_VLAN_ID, WORD_LENGTH},
    [IB_MEMBERSHIP] = {ONEIB_NAME_IB_MEMBERSHIP, WORD_LENGTH},
    [IP] = {ONEIB_NAME_IP, WORD_LENGTH},
    [MAC] = {ONEIB_NAME_MAC, WORD_LENGTH},
    [ADDRESS] = {ONEIB_NAME_ADDRESS, WORD_LENGTH},
    [ATTACH] = {ONEIB_NAME_ATTACH, WORD_LENGTH},
};

enum { SEQ, HID, STIME, HISTORY_FIELDS };

static const struct oneib_field history_fields[HISTORY_FIELDS] = {
    [SEQ] = {ONEIB_NAME_SEQ, ONEIB_NUMBER_LENGTH},
    [HID] = {ONEIB_NAME_HID, ONEIB_NUMBER_LENGTH},
    [STIME] = {ONEIB_NAME_STIME, ONEIB_NUMBER_LENGTH},
};

/* One history record; host_id is ONEIB_NO_ID while there is none. */
struct record {
    uint64_t seq;
    uint32_t host_id;
    int64_t since;
};

/* A set of NIC ids. */
struct nic_set {
    uint64_t words[(ONEIB_NIC_ID_MAX + 1) / 64];
};

/* One VM while it is read. Its attachments are in the cloud already, from `first` on. */
struct vm {
    struct oneib_value id_value, state, lcm_state;
    uint32_t id;
    char object[32]; /* "VM 42" */
    size_t first;
    size_t first_finding;
    size_t templates, histories; /* elements of that name */
    struct record last, before;  /* the two records of highest SEQ */
    bool history_invalid;
    struct nic_set seen, repeated;
    size_t nic_findings;
};

static bool nic_set_has(const struct nic_set *set, uint8_t id)
{
    return set->words[id / 64] >> (id % 64) & 1;
}

static void nic_set_add(struct nic_set *set, uint8_t id)
{
    set->words[id / 64] |= UINT64_C(1) << (id % 64);
}

/* A finding about a NIC, while their number is small. */
static void note_nic(struct oneib_documents *documents, struct vm *vm, enum oneib_finding_id id,
                     const char *nic, const char *attribute, const struct oneib_value *value,
                     const char *why)
{
    char object[64];
    if (vm->nic_findings++ >= NIC_FINDINGS_MAX)
        return;
    snprintf(object, sizeof object, "%s %s", vm->object, nic);
    oneib_documents_note_value(documents, id, object, attribute, value, why);
}

/* The NIC's id; false when it has none that a GUID can hold, or two drivers. */
static bool identify_nic(const struct oneib_value *values, uint8_t *nic_id)
{
    uint64_t number;
    if (!oneib_value_number(&values[NIC_ID], ONEIB_NIC_ID_MAX, &number) ||
        values[VN_MAD].state != ONEIB_VALUE_TEXT)
        return false;
    *nic_id = (uint8_t)number;
    return true;
}

static void refuse_nic(struct oneib_documents *documents, struct vm *vm,
                       const struct oneib_value *values)
{
    uint64_t number;
    if (values[VN_MAD].state != ONEIB_VALUE_TEXT) {
        note_nic(documents, vm, ONEIB_FINDING_NIC_INVALID, "NIC", "VN_MAD", &values[VN_MAD], "");
        return;
    }
    if (oneib_value_number(&values[NIC_ID], UINT64_MAX, &number)) {
        note_nic(documents, vm, ONEIB_FINDING_NIC_ID_RANGE, "NIC", "NIC_ID", &values[NIC_ID],
                 "is more than 255, it gets no InfiniBand");
        return;
    }
    note_nic(documents, vm, ONEIB_FINDING_NIC_INVALID, "NIC", "NIC_ID", &values[NIC_ID],
             "is not an id, it gets no InfiniBand");
}

/* A NIC may narrow its network's membership, never widen it: "full" says nothing. */
static void judge_membership(struct oneib_documents *documents, struct vm *vm, const char *nic,
                             const struct oneib_value *value, struct oneib_attachment *attachment)
{
    attachment->narrowed = !oneib_value_is_empty(value) && !oneib_value_equals(value, "full");
    if (!attachment->narrowed || oneib_value_equals(value, "limited"))
        return;
    note_nic(documents, vm, ONEIB_FINDING_MEMBERSHIP_INVALID, nic, "IB_MEMBERSHIP", value,
             "is neither full nor limited, it counts as limited");
}

static void judge_network(struct oneib_documents *documents, struct vm *vm, const char *nic,
                          const struct oneib_value *value, struct oneib_attachment *attachment)
{
    if (oneib_value_id(value, &attachment->network_id))
        return;
    attachment->network_id = ONEIB_NO_ID;
    note_nic(documents, vm, ONEIB_FINDING_NIC_INVALID, nic, "NETWORK_ID", value,
             "is not an id, it belongs to no network");
}

/* By it its network vouches for the NIC: one that cannot be read is nobody's. */
static uint64_t parse_mac(const struct oneib_value *value)
{
    uint64_t mac;
    return value->state == ONEIB_VALUE_TEXT && oneib_mac_parse(value->text, &mac) ? mac : 0;
}

static void keep_nic(struct oneib_documents *documents, struct vm *vm,
                     const struct oneib_value *values, uint8_t nic_id, bool is_pci)
{
    struct oneib_attachment attachment = {
        .vm_id = vm->id,
        .nic_id = nic_id,
        .is_pci = is_pci,
        .ipv4 = oneib_value_ipv4(&values[IP]),
        .mac = parse_mac(&values[MAC]),
        .attaching = oneib_value_equals(&values[ATTACH], "YES"),
    };
    char nic[16];
    oneib_pkey shown;
    if (oneib_value_key(&values[VLAN_ID], &shown) == ONEIB_KEY_VALID)
        attachment.shown_pkey = shown;
    attachment.has_address = is_pci && values[ADDRESS].state == ONEIB_VALUE_TEXT &&
                             oneib_pci_parse_one(values[ADDRESS].text, &attachment.address);
    snprintf(nic, sizeof nic, "NIC %u", nic_id);
    judge_network(documents, vm, nic, &values[NETWORK_ID], &attachment);
    judge_membership(documents, vm, nic, &values[IB_MEMBERSHIP], &attachment);
    *oneib_cloud_add_attachment(documents->cloud) = attachment;
}

/* Those that come first in the document count. */
static bool has_room(struct oneib_documents *documents, struct vm *vm,
                     const struct oneib_value *values)
{
    if (documents->cloud->attachment_count - vm->first < NICS_MAX)
        return true;
    note_nic(documents, vm, ONEIB_FINDING_NICS_MANY, "NIC", "NIC_ID", &values[NIC_ID],
             "is beyond the 16 that a VM can have: it gets no InfiniBand");
    return false;
}

static int read_nic(struct oneib_reader *reader, struct oneib_documents *documents, struct vm *vm,
                    bool is_pci, struct oneib_error *err)
{
    struct oneib_value values[NIC_FIELDS];
    uint8_t nic_id;
    if (oneib_reader_fields(reader, nic_fields, NIC_FIELDS, values, err) < 0)
        return -1;
    if (!oneib_value_is_nic_of(&values[VN_MAD], &values[TYPE], is_pci, documents->vn_mad))
        return 0;
    if (!identify_nic(values, &nic_id)) {
        refuse_nic(documents, vm, values);
        return 0;
    }
    if (nic_set_has(&vm->seen, nic_id)) {
        nic_set_add(&vm->repeated, nic_id);
        return 0;
    }
    nic_set_add(&vm->seen, nic_id);
    if (has_room(documents, vm, values))
        keep_nic(documents, vm, values, nic_id, is_pci);
    return 0;
}

static int read_template(struct oneib_reader *reader, struct oneib_documents *documents,
                         struct vm *vm, struct oneib_error *err)
{
    struct oneib_element template = oneib_reader_enter(reader);
    size_t mark = oneib_reader_mark(reader);
    int outcome;
    while ((outcome = oneib_reader_child(reader, &template, err)) > 0) {
        bool is_pci = oneib_reader_at(reader, ONEIB_NAME_PCI);
        if (!is_pci && !oneib_reader_at(reader, ONEIB_NAME_NIC))
            continue;
        if (read_nic(reader, documents, vm, is_pci, err) < 0)
            return -1;
        oneib_reader_forget(reader, mark);
    }
    return outcome;
}

static void keep_record(struct vm *vm, const struct record *record)
{
    if (vm->last.host_id == ONEIB_NO_ID || record->seq > vm->last.seq) {
        vm->before = vm->last;
        vm->last = *record;
    } else if (record->seq == vm->last.seq) {
        vm->history_invalid = true;
    } else if (vm->before.host_id == ONEIB_NO_ID || record->seq > vm->before.seq) {
        vm->before = *record;
    }
}

static int read_history(struct oneib_reader *reader, struct vm *vm, struct oneib_error *err)
{
    struct oneib_value values[HISTORY_FIELDS];
    struct record record = {.host_id = ONEIB_NO_ID};
    uint64_t number;
    if (oneib_reader_fields(reader, history_fields, HISTORY_FIELDS, values, err) < 0)
        return -1;
    if (!oneib_value_number(&values[SEQ], ONEIB_ID_MAX, &record.seq) ||
        !oneib_value_id(&values[HID], &record.host_id)) {
        vm->history_invalid = true;
        return 0;
    }
    /* Without a start it counts as the latest: it takes no place from those that were there before.
     */
    record.since =
        oneib_value_number(&values[STIME], INT64_MAX, &number) ? (int64_t)number : INT64_MAX;
    keep_record(vm, &record);
    return 0;
}

static int read_histories(struct oneib_reader *reader, struct vm *vm, struct oneib_error *err)
{
    struct oneib_element records = oneib_reader_enter(reader);
    size_t mark = oneib_reader_mark(reader);
    int outcome;
    while ((outcome = oneib_reader_child(reader, &records, err)) > 0) {
        if (!oneib_reader_at(reader, ONEIB_NAME_HISTORY))
            continue;
        if (read_history(reader, vm, err) < 0)
            return -1;
        oneib_reader_forget(reader, mark);
    }
    return outcome;
}

/* Sets the VM's id; false when the document has none, or not in the place where oned writes it. */
static bool identify_vm(struct vm *vm)
{
    if (!oneib_value_id(&vm->id_value, &vm->id))
        return false;
    snprintf(vm->object, sizeof vm->object, "VM %" PRIu32, vm->id);
    return true;
}

static int read_child(struct oneib_reader *reader, struct oneib_documents *documents, struct vm *vm,
                      struct oneib_error *err)
{
    if (oneib_reader_at(reader, ONEIB_NAME_ID))
        return oneib_reader_value(reader, ONEIB_NUMBER_LENGTH, &vm->id_value, err);
    if (oneib_reader_at(reader, ONEIB_NAME_STATE))
        return oneib_reader_value(reader, ONEIB_NUMBER_LENGTH, &vm->state, err);
    if (oneib_reader_at(reader, ONEIB_NAME_LCM_STATE))
        return oneib_reader_value(reader, ONEIB_NUMBER_LENGTH, &vm->lcm_state, err);
    if (oneib_reader_at(reader, ONEIB_NAME_HISTORY_RECORDS) && vm->histories++ == 0)
        return read_histories(reader, vm, err);
    if (oneib_reader_at(reader, ONEIB_NAME_TEMPLATE) && vm->templates++ == 0 && identify_vm(vm))
        return read_template(reader, documents, vm, err);
    return 0;
}

static void note_malformed(struct oneib_documents *documents, uint32_t id, const char *why)
{
    oneib_findings_note(documents->findings, ONEIB_FINDING_VM_MALFORMED,
                        "VM %" PRIu32 ": %s: it gets no membership", id, why);
}

static void drop_repeated_nics(struct oneib_cloud *cloud, const struct vm *vm)
{
    size_t kept = vm->first;
    for (size_t i = vm->first; i < cloud->attachment_count; i++)
        if (!nic_set_has(&vm->repeated, cloud->attachments[i].nic_id))
            cloud->attachments[kept++] = cloud->attachments[i];
    cloud->attachment_count = kept;
}

/* Two NICs with one id would be two ports with one GUID: neither is used. */
static void judge_repeated_nics(struct oneib_documents *documents, const struct vm *vm)
{
    for (unsigned id = 0; id <= ONEIB_NIC_ID_MAX; id++)
        if (nic_set_has(&vm->repeated, (uint8_t)id))
            oneib_findings_note(documents->findings, ONEIB_FINDING_NIC_INVALID,
                                "%s: there are several NICs with NIC_ID %u, they get no InfiniBand",
                                vm->object, id);
    drop_repeated_nics(documents->cloud, vm);
}

/* Whether it shares its address with another NIC of the VM in its network. */
static bool has_twin(const struct oneib_cloud *cloud, const struct vm *vm, size_t index)
{
    const struct oneib_attachment *one = &cloud->attachments[index];
    for (size_t i = vm->first; i < cloud->attachment_count; i++) {
        const struct oneib_attachment *other = &cloud->attachments[i];
        if (i != index && other->network_id == one->network_id && other->mac == one->mac)
            return true;
    }
    return false;
}

static void note_twins(struct oneib_documents *documents, const struct vm *vm)
{
    oneib_findings_note(documents->findings, ONEIB_FINDING_NIC_INVALID,
                        "%s: there are several NICs with one address in one network: they "
                        "get no InfiniBand",
                        vm->object);
}

/* One lease is for one NIC. Which of several is oned's nobody can tell. */
static void judge_twins(struct oneib_documents *documents, const struct vm *vm)
{
    struct oneib_cloud *cloud = documents->cloud;
    struct nic_set twins = {0};
    bool found = false;
    for (size_t i = vm->first; i < cloud->attachment_count; i++)
        if (cloud->attachments[i].mac != 0 && has_twin(cloud, vm, i)) {
            nic_set_add(&twins, cloud->attachments[i].nic_id);
            found = true;
        }
    for (size_t i = vm->first; found && i < cloud->attachment_count; i++)
        if (nic_set_has(&twins, cloud->attachments[i].nic_id))
            cloud->attachments[i].mac = 0;
    if (found)
        note_twins(documents, vm);
}

static void note_more_nics(struct oneib_documents *documents, const struct vm *vm)
{
    if (vm->nic_findings <= NIC_FINDINGS_MAX)
        return;
    oneib_findings_note(documents->findings, ONEIB_FINDING_NIC_INVALID,
                        "%s: %zu more findings about its NICs are not shown", vm->object,
                        vm->nic_findings - NIC_FINDINGS_MAX);
}

struct vm_state {
    int state, lcm_state;
    enum oneib_phase phase;
};

/* A state that cannot be read is as good as one that nobody knows. */
static void judge_state(struct oneib_documents *documents, const struct vm *vm,
                        struct vm_state *state)
{
    uint64_t number, lcm_number;
    if (oneib_value_number(&vm->state, INT16_MAX, &number) &&
        oneib_value_number(&vm->lcm_state, INT16_MAX, &lcm_number)) {
        state->state = (int)number;
        state->lcm_state = (int)lcm_number;
        state->phase = oneib_vm_phase(state->state, state->lcm_state);
        return;
    }

    *state = (struct vm_state){-1, -1, ONEIB_PHASE_UNKNOWN};
    bool is_state = !oneib_value_number(&vm->state, INT16_MAX, &number);
    oneib_documents_note_value(documents, ONEIB_FINDING_DOCUMENT_INVALID, vm->object,
                               is_state ? "STATE" : "LCM_STATE",
                               is_state ? &vm->state : &vm->lcm_state, "is not a number");
}

static void judge_history(struct oneib_documents *documents, struct vm *vm)
{
    if (!vm->history_invalid)
        return;
    vm->last = vm->before = (struct record){.host_id = ONEIB_NO_ID};
    oneib_findings_note(documents->findings, ONEIB_FINDING_DOCUMENT_INVALID,
                        "%s: a history record has no valid SEQ or HID, or a SEQ of another, "
                        "its host is unknown",
                        vm->object);
}

/* Pool documents hold the last record alone: then the source is to be asked for. */
static bool lacks_source(const struct vm *vm)
{
    return vm->last.host_id != ONEIB_NO_ID && vm->last.seq > 0 &&
           (vm->before.host_id == ONEIB_NO_ID || vm->before.seq + 1 != vm->last.seq);
}

/* What the VM as a whole says, for each of its attachments. */
static void complete_attachments(struct oneib_documents *documents, struct vm *vm)
{
    struct vm_state state;
    judge_state(documents, vm, &state);
    judge_history(documents, vm);

    bool is_migrating = state.phase == ONEIB_MIGRATING;
    struct oneib_cloud *cloud = documents->cloud;
    for (size_t i = vm->first; i < cloud->attachment_count; i++) {
        struct oneib_attachment *attachment = &cloud->attachments[i];
        attachment->state = (int16_t)state.state;
        attachment->lcm_state = (int16_t)state.lcm_state;
        attachment->phase = (uint8_t)state.phase;
        attachment->since = vm->last.since;
        attachment->host_id = vm->last.host_id;
        attachment->source_host_id =
            is_migrating && !lacks_source(vm) ? vm->before.host_id : ONEIB_NO_ID;
    }
    if (is_migrating && lacks_source(vm))
        oneib_id_set_add(&documents->vms_migrating, vm->id);
}

/* What NICs and history say is worth nothing when there are two of them. */
static bool is_ambiguous(const struct vm *vm)
{
    return vm->id_value.state != ONEIB_VALUE_TEXT || vm->templates > 1 || vm->histories > 1;
}

static bool is_odd(const struct vm *vm)
{
    return is_ambiguous(vm) || vm->history_invalid || vm->state.state == ONEIB_VALUE_REPEATED ||
           vm->lcm_state.state == ONEIB_VALUE_REPEATED;
}

static void leave_for_another_document(struct oneib_documents *documents, const struct vm *vm)
{
    documents->cloud->attachment_count = vm->first;
    documents->odd = true;
    oneib_id_set_add(&documents->vms_odd, vm->id);
}

static void keep_vm(struct oneib_documents *documents, struct vm *vm)
{
    struct oneib_cloud *cloud = documents->cloud;
    if (is_odd(vm) && !documents->decides) {
        leave_for_another_document(documents, vm);
        return;
    }
    if (is_ambiguous(vm)) {
        cloud->attachment_count = vm->first;
        note_malformed(documents, vm->id,
                       "ID, TEMPLATE or HISTORY_RECORDS is given more than once");
        return;
    }
    judge_repeated_nics(documents, vm);
    judge_twins(documents, vm);
    note_more_nics(documents, vm);
    if (cloud->attachment_count == vm->first)
        return;
    complete_attachments(documents, vm);
}

static int read_children(struct oneib_reader *reader, struct oneib_documents *documents,
                         struct vm *vm, struct oneib_error *err)
{
    struct oneib_element element = oneib_reader_enter(reader);
    int outcome;
    while ((outcome = oneib_reader_child(reader, &element, err)) > 0)
        if (read_child(reader, documents, vm, err) < 0)
            return -1;
    return outcome;
}

/* What is left of a VM that has ended. */
static bool is_done(const struct vm *vm)
{
    uint64_t state;
    return oneib_value_number(&vm->state, INT16_MAX, &state) && state == STATE_DONE;
}

/* A user can write elements into his VM that look like another one in a pool. */
static bool is_uninvited(const struct oneib_documents *documents, const struct vm *vm)
{
    return documents->vms_wanted.bounded &&
           (vm->id < documents->vms_wanted.first || vm->id > documents->vms_wanted.last);
}

static void forget_vm(struct oneib_documents *documents, const struct vm *vm)
{
    documents->cloud->attachment_count = vm->first;
    oneib_findings_truncate(documents->findings, vm->first_finding);
}

static int read_vm(struct oneib_reader *reader, struct oneib_documents *documents, uint32_t *id,
                   struct oneib_error *err)
{
    struct vm vm = {
        .first = documents->cloud->attachment_count,
        .first_finding = documents->findings->count,
        .last = {.host_id = ONEIB_NO_ID},
        .before = {.host_id = ONEIB_NO_ID},
    };
    if (read_children(reader, documents, &vm, err) < 0) {
        documents->cloud->attachment_count = vm.first;
        return -1;
    }

    if (vm.templates == 0)
        identify_vm(&vm);
    if (vm.object[0] == '\0')
        return oneib_reader_refuse(reader, "has a VM without an id in front of its TEMPLATE", err);
    if (is_uninvited(documents, &vm))
        return oneib_reader_refuse(reader, "shows a VM that was not asked for", err);
    *id = vm.id;
    if (is_done(&vm)) {
        forget_vm(documents, &vm);
        return 0;
    }

    documents->cloud->vm_count++;
    oneib_id_set_add(&documents->vms_seen, vm.id);
    keep_vm(documents, &vm);
    return 0;
}

/* One of two VMs with one id is forged. */
static int refuse_repetitions(struct oneib_documents *documents,
                              const struct oneib_documents_mark *mark, struct oneib_error *err)
{
    const struct oneib_id_set *seen = &documents->vms_seen;
    ONEIB_SORT_FROM(seen->items, mark->seen, seen->count, oneib_compare_u32);
    for (size_t i = mark->seen + 1; i < seen->count; i++) {
        if (seen->items[i] != seen->items[i - 1])
            continue;
        oneib_fail(err, ONEIB_ERROR_PROTOCOL, "document shows VM %" PRIu32 " twice",
                   seen->items[i]);
        oneib_documents_take_back(documents, mark);
        documents->malformed = true;
        return -1;
    }
    return 0;
}

int oneib_documents_read_vms(struct oneib_documents *documents, const char *xml, size_t length,
                             struct oneib_error *err)
{
    static const struct oneib_object_kind kind = {ONEIB_NAME_VM_POOL, ONEIB_NAME_VM,
                                                  ONEIB_SUBJECT_VM, read_vm};
    const struct oneib_documents_mark mark = oneib_documents_mark(documents);
    if (oneib_documents_read(documents, xml, length, &kind, err) < 0)
        return -1;
    return refuse_repetitions(documents, &mark, err);
}

void oneib_documents_keep_unreadable_vm(struct oneib_documents *documents, uint32_t id)
{
    const size_t first_finding = documents->findings->count;
    oneib_id_set_add(&documents->vms_seen, id);
    note_malformed(documents, id, "its document is malformed, or too large");
    documents->cloud->vm_count++;
    oneib_findings_attribute(documents->findings, first_finding, ONEIB_SUBJECT_VM, id);
}
