// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/memory.h"
#include "cluster/names.h"
#include "ib/dummy_mac.h"
#include "opennebula/documents_internal.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* oned's own limit for a name is 128 characters of up to four bytes. */
#define NAME_LENGTH 512
/* Room for some 2,000 static members. */
#define STATIC_LENGTH 65535
#define WORD_LENGTH 64
/* LOCK_CREATE of oned's VirtualNetworkState. */
#define BEING_CREATED "2"

/* One <VNET>, as text: what counts is known only when all of it was read. */
struct network_values {
    struct oneib_value id, name, uid, gid, owner, group, state, parent, vn_mad;
    struct oneib_value vlan_id, phydev;                   /* of the element itself */
    struct oneib_value template_vlan_id, template_phydev; /* of its TEMPLATE */
    struct oneib_value membership, reservation, static_guids, mtu, rate, qos_class, placement, sl;
    struct oneib_lease *leases; /* owned */
    size_t lease_count, lease_capacity;
    size_t invalid_vms, invalid_leases;
    struct oneib_id_set reservations; /* owned: to whom addresses are leased */
    size_t templates, range_pools;    /* elements of that name */
};

static int read_template_child(struct oneib_reader *reader, struct network_values *values,
                               struct oneib_error *err)
{
    if (oneib_reader_at(reader, ONEIB_NAME_VLAN_ID))
        return oneib_reader_value(reader, WORD_LENGTH, &values->template_vlan_id, err);
    if (oneib_reader_at(reader, ONEIB_NAME_PHYDEV))
        return oneib_reader_value(reader, WORD_LENGTH, &values->template_phydev, err);
    if (oneib_reader_at(reader, ONEIB_NAME_IB_MEMBERSHIP))
        return oneib_reader_value(reader, WORD_LENGTH, &values->membership, err);
    if (oneib_reader_at(reader, ONEIB_NAME_IB_RESERVATION))
        return oneib_reader_value(reader, WORD_LENGTH, &values->reservation, err);
    if (oneib_reader_at(reader, ONEIB_NAME_IB_STATIC_GUIDS))
        return oneib_reader_value(reader, STATIC_LENGTH, &values->static_guids, err);
    if (oneib_reader_at(reader, ONEIB_NAME_MTU))
        return oneib_reader_value(reader, WORD_LENGTH, &values->mtu, err);
    if (oneib_reader_at(reader, ONEIB_NAME_IB_RATE))
        return oneib_reader_value(reader, WORD_LENGTH, &values->rate, err);
    if (oneib_reader_at(reader, ONEIB_NAME_IB_CLASS))
        return oneib_reader_value(reader, WORD_LENGTH, &values->qos_class, err);
    if (oneib_reader_at(reader, ONEIB_NAME_IB_PLACEMENT))
        return oneib_reader_value(reader, WORD_LENGTH, &values->placement, err);
    if (oneib_reader_at(reader, ONEIB_NAME_IB_SL))
        return oneib_reader_value(reader, WORD_LENGTH, &values->sl, err);
    return 0;
}

static int read_template(struct oneib_reader *reader, struct network_values *values,
                         struct oneib_error *err)
{
    struct oneib_element template = oneib_reader_enter(reader);
    int outcome;
    while ((outcome = oneib_reader_child(reader, &template, err)) > 0)
        if (read_template_child(reader, values, err) < 0)
            return -1;
    return outcome;
}

static bool at_vm_list(const struct oneib_reader *reader)
{
    return oneib_reader_at(reader, ONEIB_NAME_UPDATED_VMS) ||
           oneib_reader_at(reader, ONEIB_NAME_OUTDATED_VMS) ||
           oneib_reader_at(reader, ONEIB_NAME_UPDATING_VMS) ||
           oneib_reader_at(reader, ONEIB_NAME_ERROR_VMS);
}

static void clear_values(struct network_values *values)
{
    free(values->leases);
    oneib_id_set_clear(&values->reservations);
}

/* A lease that says no address is nobody's. */
static void keep_lease(struct network_values *values, uint32_t vm_id,
                       const struct oneib_value *address)
{
    struct oneib_lease lease = {.vm_id = vm_id};
    if (address->state != ONEIB_VALUE_TEXT || !oneib_mac_parse(address->text, &lease.mac) ||
        lease.mac == 0) {
        values->invalid_leases++;
        return;
    }
    ONEIB_APPEND(values->leases, values->lease_count, values->lease_capacity, lease);
}

/* Who has the address: a VM or a reservation; a virtual router is nobody of ours. */
static int read_lease(struct oneib_reader *reader, struct network_values *values,
                      struct oneib_id_set *vms, struct oneib_error *err)
{
    enum { VM, VNET, MAC, FIELDS };
    static const struct oneib_field fields[FIELDS] = {
        [VM] = {ONEIB_NAME_VM, ONEIB_NUMBER_LENGTH},
        [VNET] = {ONEIB_NAME_VNET, ONEIB_NUMBER_LENGTH},
        [MAC] = {ONEIB_NAME_MAC, WORD_LENGTH},
    };
    const size_t mark = oneib_reader_mark(reader);
    struct oneib_value lease[FIELDS];
    uint32_t id;
    if (oneib_reader_fields(reader, fields, FIELDS, lease, err) < 0)
        return -1;
    if (oneib_value_id(&lease[VM], &id)) {
        oneib_id_set_add(vms, id);
        keep_lease(values, id, &lease[MAC]);
    } else if (lease[VM].state != ONEIB_VALUE_ABSENT) {
        values->invalid_vms++;
    } else if (oneib_value_id(&lease[VNET], &id)) {
        oneib_id_set_add(&values->reservations, id);
    }
    oneib_reader_forget(reader, mark);
    return 0;
}

typedef int (*child_reader)(struct oneib_reader *reader, struct network_values *values,
                            struct oneib_id_set *vms, struct oneib_error *err);

/* Every child of that name of the element that the reader stands on. */
static int read_children(struct oneib_reader *reader, enum oneib_name name, child_reader read,
                         struct network_values *values, struct oneib_id_set *vms,
                         struct oneib_error *err)
{
    struct oneib_element parent = oneib_reader_enter(reader);
    int outcome;
    while ((outcome = oneib_reader_child(reader, &parent, err)) > 0)
        if (oneib_reader_at(reader, name) && read(reader, values, vms, err) < 0)
            return -1;
    return outcome;
}

static int read_leases(struct oneib_reader *reader, struct network_values *values,
                       struct oneib_id_set *vms, struct oneib_error *err)
{
    return read_children(reader, ONEIB_NAME_LEASE, read_lease, values, vms, err);
}

static int read_address_range(struct oneib_reader *reader, struct network_values *values,
                              struct oneib_id_set *vms, struct oneib_error *err)
{
    return read_children(reader, ONEIB_NAME_LEASES, read_leases, values, vms, err);
}

static int read_child(struct oneib_reader *reader, struct network_values *values,
                      struct oneib_id_set *vms, struct oneib_error *err)
{
    if (oneib_reader_at(reader, ONEIB_NAME_ID))
        return oneib_reader_value(reader, ONEIB_NUMBER_LENGTH, &values->id, err);
    if (oneib_reader_at(reader, ONEIB_NAME_NAME))
        return oneib_reader_value(reader, NAME_LENGTH, &values->name, err);
    if (oneib_reader_at(reader, ONEIB_NAME_UID))
        return oneib_reader_value(reader, ONEIB_NUMBER_LENGTH, &values->uid, err);
    if (oneib_reader_at(reader, ONEIB_NAME_GID))
        return oneib_reader_value(reader, ONEIB_NUMBER_LENGTH, &values->gid, err);
    if (oneib_reader_at(reader, ONEIB_NAME_UNAME))
        return oneib_reader_value(reader, NAME_LENGTH, &values->owner, err);
    if (oneib_reader_at(reader, ONEIB_NAME_GNAME))
        return oneib_reader_value(reader, NAME_LENGTH, &values->group, err);
    if (oneib_reader_at(reader, ONEIB_NAME_STATE))
        return oneib_reader_value(reader, ONEIB_NUMBER_LENGTH, &values->state, err);
    if (oneib_reader_at(reader, ONEIB_NAME_PARENT_NETWORK_ID))
        return oneib_reader_value(reader, ONEIB_NUMBER_LENGTH, &values->parent, err);
    if (oneib_reader_at(reader, ONEIB_NAME_VN_MAD))
        return oneib_reader_value(reader, WORD_LENGTH, &values->vn_mad, err);
    if (oneib_reader_at(reader, ONEIB_NAME_VLAN_ID))
        return oneib_reader_value(reader, WORD_LENGTH, &values->vlan_id, err);
    if (oneib_reader_at(reader, ONEIB_NAME_PHYDEV))
        return oneib_reader_value(reader, WORD_LENGTH, &values->phydev, err);
    if (at_vm_list(reader))
        return oneib_documents_read_ids(reader, vms, &values->invalid_vms, err);
    /* Users' attributes are in these two: whoever ends one of them has to begin another. */
    if ((oneib_reader_at(reader, ONEIB_NAME_TEMPLATE) && values->templates++ > 0) ||
        (oneib_reader_at(reader, ONEIB_NAME_AR_POOL) && values->range_pools++ > 0))
        return oneib_reader_refuse(reader, "has a network with two TEMPLATEs or AR_POOLs", err);
    if (oneib_reader_at(reader, ONEIB_NAME_TEMPLATE))
        return read_template(reader, values, err);
    if (oneib_reader_at(reader, ONEIB_NAME_AR_POOL))
        return read_children(reader, ONEIB_NAME_AR, read_address_range, values, vms, err);
    return 0;
}

/* Reads the <VNET> that the reader stands on; the VMs that it names are added to vms. */
static int read_values(struct oneib_reader *reader, struct network_values *values,
                       struct oneib_id_set *vms, struct oneib_error *err)
{
    memset(values, 0, sizeof *values);
    struct oneib_element element = oneib_reader_enter(reader);
    int outcome;
    while ((outcome = oneib_reader_child(reader, &element, err)) > 0)
        if (read_child(reader, values, vms, err) < 0)
            return -1;
    return outcome;
}

static struct oneib_shown network_called(uint32_t id, const struct network_values *values)
{
    return oneib_network_called(id,
                                values->name.state == ONEIB_VALUE_TEXT ? values->name.text : NULL);
}

/* Whose network it is, for those who look at it: nothing is decided by it. */
static void keep_owner(const struct network_values *values, struct oneib_network *network)
{
    if (!oneib_value_id(&values->uid, &network->uid))
        network->uid = ONEIB_NO_ID;
    if (!oneib_value_id(&values->gid, &network->gid))
        network->gid = ONEIB_NO_ID;
    oneib_documents_keep_text(&values->owner, &network->owner);
    oneib_documents_keep_text(&values->group, &network->group);
}

/* oned keeps the attribute in the element; older documents have it in TEMPLATE alone. */
static const struct oneib_value *chosen(const struct oneib_value *element,
                                        const struct oneib_value *template)
{
    return element->state != ONEIB_VALUE_ABSENT ? element : template;
}

/* A network of ours while it is judged. */
struct judged {
    struct oneib_documents *documents;
    const struct network_values *values;
    struct oneib_network *network;
    struct oneib_shown object; /* `network 7 "red"` */
};

static void note(const struct judged *judged, enum oneib_finding_id id, const char *attribute,
                 const struct oneib_value *value, const char *why)
{
    oneib_documents_note_value(judged->documents, id, judged->object.text, attribute, value, why);
}

/* Without a parent it needs a key of its own: a copy of the parent's is then a conflict, never a
 * share. */
static void judge_parent(const struct judged *judged)
{
    const struct oneib_value *value = &judged->values->parent;
    judged->network->parent_id = ONEIB_NO_ID;
    if (oneib_value_is_empty(value) || oneib_value_id(value, &judged->network->parent_id))
        return;
    note(judged, ONEIB_FINDING_DOCUMENT_INVALID, "PARENT_NETWORK_ID", value,
         "is not an id, it counts as no reservation");
}

static void judge_key(const struct judged *judged)
{
    const struct oneib_value *value =
        chosen(&judged->values->vlan_id, &judged->values->template_vlan_id);
    judged->network->key_state = oneib_value_key(value, &judged->network->pkey);
    if (judged->network->key_state == ONEIB_KEY_INVALID)
        oneib_documents_note_value(judged->documents, ONEIB_FINDING_PKEY_TEXT, judged->object.text,
                                   "VLAN_ID", value, "is not a P_Key in decimal, from 1 to 32766");
}

static void judge_phydev(const struct judged *judged)
{
    const struct oneib_value *value =
        chosen(&judged->values->phydev, &judged->values->template_phydev);
    if (oneib_value_is_empty(value) ||
        oneib_value_phydev(value, judged->network->device, &judged->network->device_port))
        return;
    judged->network->device_invalid = true;
    oneib_documents_note_value(judged->documents, ONEIB_FINDING_PHYDEV_TEXT, judged->object.text,
                               "PHYDEV", value, "is not of the form DEVICE[:PORT]");
}

static void judge_membership(const struct judged *judged)
{
    const struct oneib_value *value = &judged->values->membership;
    judged->network->membership = ONEIB_FULL;
    if (value->state == ONEIB_VALUE_ABSENT ||
        (value->state == ONEIB_VALUE_TEXT &&
         oneib_membership_parse(value->text, &judged->network->membership)))
        return;
    judged->network->membership = ONEIB_LIMITED;
    note(judged, ONEIB_FINDING_MEMBERSHIP_INVALID, "IB_MEMBERSHIP", value,
         "is neither full nor limited, it counts as limited");
}

static void judge_reservation(const struct judged *judged)
{
    const struct oneib_value *value = &judged->values->reservation;
    judged->network->reservations_share = oneib_value_equals(value, "shared");
    if (oneib_value_is_empty(value) || judged->network->reservations_share)
        return;
    note(judged, ONEIB_FINDING_RESERVATION_INVALID, "IB_RESERVATION", value,
         "is not \"shared\": reservations get partitions of their own");
}

/* MTU and IB_RATE: one that is no number counts as not said. */
static void judge_amount(const struct judged *judged, enum oneib_finding_id id,
                         const char *attribute, const struct oneib_value *value, uint16_t *amount)
{
    uint64_t number;
    if (oneib_value_is_empty(value))
        return;
    if (!oneib_value_number(value, UINT16_MAX, &number)) {
        note(judged, id, attribute, value, "is not a number up to 65535, the fabric's own is used");
        return;
    }
    *amount = (uint16_t)number;
}

/* Whether there is such a class the operator's configuration decides. */
static void judge_class(const struct judged *judged)
{
    const struct oneib_value *value = &judged->values->qos_class;
    struct oneib_network *network = judged->network;
    if (oneib_value_is_empty(value))
        return;
    network->class_invalid = value->state != ONEIB_VALUE_TEXT ||
                             strlen(value->text) != value->length ||
                             !oneib_qos_name_valid(value->text);
    if (!network->class_invalid)
        memcpy(network->qos_class, value->text, value->length + 1);
}

/* Whose VMs they are may say so: it moves nobody else's. */
static void judge_placement(const struct judged *judged)
{
    static const char *const names[] = {
        [ONEIB_PLACEMENT_PACK] = "pack",
        [ONEIB_PLACEMENT_SPREAD] = "spread",
        [ONEIB_PLACEMENT_ANY] = "any",
    };
    const struct oneib_value *value = &judged->values->placement;
    if (oneib_value_is_empty(value))
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (oneib_value_equals(value, names[i])) {
            judged->network->placement = (enum oneib_placement)i;
            return;
        }
    note(judged, ONEIB_FINDING_PLACEMENT_INVALID, "IB_PLACEMENT", value,
         "is not pack, spread or any, it counts as pack");
}

/* A copy: whatever somebody wrote there counts for nothing. */
static void judge_sl(const struct judged *judged)
{
    const struct oneib_value *value = &judged->values->sl;
    uint64_t number;
    if (oneib_value_is_empty(value))
        return;
    judged->network->shown_sl = oneib_value_number(value, ONEIB_QOS_SLS - 1, &number) && number != 0
                                    ? (uint8_t)number
                                    : ONEIB_SL_INVALID;
}

static void trim(const char **bytes, size_t *length)
{
    while (*length > 0 && memchr(" \t\r\n", **bytes, 4)) {
        ++*bytes;
        --*length;
    }
    while (*length > 0 && memchr(" \t\r\n", (*bytes)[*length - 1], 4))
        --*length;
}

static bool is_word(const char *bytes, size_t length, const char *word)
{
    return length == strlen(word) && strncasecmp(bytes, word, length) == 0;
}

/* "0x0002c90300112233", "0x0002c90300112233=full" or "...=limited" */
static bool parse_static(const char *item, size_t length, struct oneib_static_member *member)
{
    const char *equals = memchr(item, '=', length);
    size_t guid_length = equals ? (size_t)(equals - item) : length;
    const char *suffix = equals ? equals + 1 : "limited";
    size_t suffix_length = equals ? length - guid_length - 1 : strlen(suffix);

    trim(&item, &guid_length);
    trim(&suffix, &suffix_length);
    if (!oneib_guid_parse_n(item, guid_length, &member->guid))
        return false;
    member->membership = is_word(suffix, suffix_length, "full") ? ONEIB_FULL : ONEIB_LIMITED;
    return member->membership == ONEIB_FULL || is_word(suffix, suffix_length, "limited");
}

/* One finding for all bad items of a list, which shows the first: a hostile list cannot flood the
 * report. */
static void note_bad_statics(const struct judged *judged, const char *first, size_t length,
                             size_t count)
{
    oneib_autotext struct oneib_text item = {0};
    oneib_autotext struct oneib_text shown = {0};
    oneib_text_append_bytes(&item, first, length);
    oneib_text_append_escaped(&shown, item.data, 64);
    oneib_findings_note(judged->documents->findings, ONEIB_FINDING_STATIC_GUID_INVALID,
                        "%s: IB_STATIC_GUIDS has %zu items that are no GUIDs, they are left "
                        "out; the first is \"%s\"",
                        judged->object.text, count, shown.data ? shown.data : "");
}

static void judge_static_items(const struct judged *judged, const char *list)
{
    const char *first_bad = NULL;
    size_t first_bad_length = 0, bad = 0;
    for (const char *item = list; item;) {
        const char *comma = strchr(item, ',');
        const char *bytes = item;
        size_t length = comma ? (size_t)(comma - item) : strlen(item);
        struct oneib_static_member member;
        trim(&bytes, &length);
        if (!parse_static(bytes, length, &member)) {
            if (bad++ == 0) {
                first_bad = bytes;
                first_bad_length = length;
            }
        } else
            oneib_network_add_static(judged->network, member.guid, member.membership);
        item = comma ? comma + 1 : NULL;
    }
    if (bad > 0)
        note_bad_statics(judged, first_bad, first_bad_length, bad);
}

static void judge_statics(const struct judged *judged)
{
    const struct oneib_value *value = &judged->values->static_guids;
    if (oneib_value_is_empty(value))
        return;
    if (value->state != ONEIB_VALUE_TEXT) {
        note(judged, ONEIB_FINDING_STATIC_GUID_INVALID, "IB_STATIC_GUIDS", value, "");
        return;
    }
    judge_static_items(judged, value->text);
}

static void judge_leases(const struct judged *judged)
{
    if (judged->values->invalid_leases == 0)
        return;
    oneib_findings_note(judged->documents->findings, ONEIB_FINDING_LEASE_INVALID,
                        "%s: %zu of its leases have no address: their VMs get no InfiniBand",
                        judged->object.text, judged->values->invalid_leases);
}

static void judge_vm_lists(const struct judged *judged)
{
    judge_leases(judged);
    if (judged->values->invalid_vms == 0)
        return;
    oneib_findings_note(judged->documents->findings, ONEIB_FINDING_DOCUMENT_INVALID,
                        "%s: %zu entries of its lists of VMs are not ids", judged->object.text,
                        judged->values->invalid_vms);
}

static void judge(const struct judged *judged)
{
    const struct network_values *values = judged->values;
    struct oneib_network *network = judged->network;
    network->name =
        oneib_documents_copy_name(judged->documents, judged->object.text, &values->name);
    judge_parent(judged);
    judge_key(judged);
    judge_phydev(judged);
    judge_membership(judged);
    judge_reservation(judged);
    judge_statics(judged);
    judge_vm_lists(judged);
    judge_amount(judged, ONEIB_FINDING_MTU_INVALID, "MTU", &values->mtu, &network->mtu_bytes);
    judge_amount(judged, ONEIB_FINDING_RATE_INVALID, "IB_RATE", &values->rate, &network->rate_gbps);
    judge_class(judged);
    judge_sl(judged);
    judge_placement(judged);
}

/* vms: the ids that the document names. */
static void keep_network(struct oneib_documents *documents, struct network_values *values,
                         const uint32_t *vms, size_t vm_count)
{
    uint32_t id;
    if (!oneib_value_id(&values->id, &id)) {
        oneib_documents_note_value(documents, ONEIB_FINDING_DOCUMENT_INVALID,
                                   "a network without an id is left out", "ID", &values->id,
                                   "is not an id");
        return;
    }

    struct judged judged = {.documents = documents, .values = values};
    judged.object = network_called(id, values);
    judged.network = oneib_cloud_add_network(documents->cloud);
    judged.network->id = id;
    judged.network->being_created = oneib_value_equals(&values->state, BEING_CREATED);
    keep_owner(values, judged.network);
    oneib_network_set_vms(judged.network, vms, vm_count);
    oneib_network_set_reservations(judged.network, values->reservations.items,
                                   values->reservations.count);
    oneib_network_take_leases(judged.network, &values->leases, values->lease_count);
    judge(&judged);
}

/*
 * A network of another driver may have been InfiniBand. Its VMs are not looked for, and what is odd
 * about it is no finding: it may be anything. One with two drivers is nobody's.
 */
static void keep_others(struct oneib_documents *documents, struct network_values *values,
                        const uint32_t *vms, size_t vm_count)
{
    uint32_t id;
    const size_t first_finding = documents->findings->count;
    const bool is_plain =
        oneib_value_is_set(&values->vn_mad) || oneib_value_is_empty(&values->vn_mad);
    if (!is_plain || !oneib_value_id(&values->id, &id))
        return;
    keep_network(documents, values, vms, vm_count);
    oneib_findings_truncate(documents->findings, first_finding);
    struct oneib_cloud *cloud = documents->cloud;
    struct oneib_network *network = &cloud->networks[cloud->network_count - 1];
    network->other_driver = oneib_strdup(values->vn_mad.text ? values->vn_mad.text : "");
}

/* named_before: how many VMs documents had named before this one. */
static void keep(struct oneib_documents *documents, struct network_values *values,
                 size_t named_before)
{
    const bool ours = oneib_value_equals(&values->vn_mad, documents->vn_mad);
    const struct oneib_id_set *named = &documents->vms_named;
    const size_t count = named->count - named_before;
    const uint32_t *vms = count ? named->items + named_before : NULL;
    if (ours) {
        keep_network(documents, values, vms, count);
        return;
    }
    documents->vms_named.count = named_before;
    keep_others(documents, values, vms, count);
}

/* oned writes each once. An owner who has written one more, between elements whose text is his
 * (BRIDGE is), would have no owner, or no parent: neither the limits of the one nor the rules of
 * the other were his. */
static bool says_twice_whose_it_is(const struct network_values *values)
{
    return values->uid.state == ONEIB_VALUE_REPEATED || values->gid.state == ONEIB_VALUE_REPEATED ||
           values->parent.state == ONEIB_VALUE_REPEATED;
}

static int read_network(struct oneib_reader *reader, struct oneib_documents *documents,
                        uint32_t *id, struct oneib_error *err)
{
    oneib_auto(clear_values) struct network_values values;
    const size_t named_before = documents->vms_named.count;
    if (read_values(reader, &values, &documents->vms_named, err) < 0)
        return -1;
    if (says_twice_whose_it_is(&values))
        return oneib_reader_refuse(reader,
                                   "has a network with two UIDs, GIDs or PARENT_NETWORK_IDs", err);
    oneib_value_id(&values.id, id);
    keep(documents, &values, named_before);
    return 0;
}

int oneib_documents_read_networks(struct oneib_documents *documents, const char *xml, size_t length,
                                  struct oneib_error *err)
{
    static const struct oneib_object_kind kind = {ONEIB_NAME_VNET_POOL, ONEIB_NAME_VNET,
                                                  ONEIB_SUBJECT_NETWORK, read_network};
    return oneib_documents_read(documents, xml, length, &kind, err);
}

static int list_network(struct oneib_reader *reader, struct oneib_documents *documents,
                        uint32_t *id, struct oneib_error *err)
{
    enum { ID, VN_MAD, FIELDS };
    static const struct oneib_field fields[FIELDS] = {
        [ID] = {ONEIB_NAME_ID, ONEIB_NUMBER_LENGTH},
        [VN_MAD] = {ONEIB_NAME_VN_MAD, WORD_LENGTH},
    };
    struct oneib_value values[FIELDS];
    if (oneib_reader_fields(reader, fields, FIELDS, values, err) < 0)
        return -1;
    /* Where there are two drivers one is forged: the network's own document says which. */
    if ((values[VN_MAD].state == ONEIB_VALUE_TEXT &&
         !oneib_value_equals(&values[VN_MAD], documents->vn_mad)) ||
        !oneib_value_id(&values[ID], id))
        return 0;
    oneib_id_set_add(&documents->networks_listed, *id);
    return 0;
}

int oneib_documents_list_networks(struct oneib_documents *documents, const char *xml, size_t length,
                                  struct oneib_error *err)
{
    static const struct oneib_object_kind kind = {ONEIB_NAME_VNET_POOL, ONEIB_NAME_VNET,
                                                  ONEIB_SUBJECT_NETWORK, list_network};
    return oneib_documents_read(documents, xml, length, &kind, err);
}

/*
 * Up to the first attribute of users: a document of its own, of oned's making. The reader is ahead
 * of what it hands out, so the malformed part must not be there.
 */
static void cut_head(const char *xml, size_t length, struct oneib_text *head)
{
    static const char begin[] = "<TEMPLATE>", end[] = "</VNET>";
    const char *users = memmem(xml, length, begin, sizeof begin - 1);
    if (users) {
        oneib_text_append_bytes(head, xml, (size_t)(users - xml));
        oneib_text_append(head, end);
    }
}

/* What cannot be read in it is not known. */
static void read_head(struct oneib_reader *reader, struct network_values *values,
                      struct oneib_id_set *vms)
{
    struct oneib_error expected;
    if (oneib_reader_root(reader, &expected) < 0 || !oneib_reader_at(reader, ONEIB_NAME_VNET) ||
        read_values(reader, values, vms, &expected) < 0 ||
        oneib_reader_finish(reader, &expected) < 0) {
        clear_values(values);
        memset(values, 0, sizeof *values);
        vms->count = 0;
    }
}

static void keep_head(struct oneib_documents *documents, uint32_t id,
                      const struct network_values *values, const struct oneib_id_set *vms)
{
    struct oneib_network *network = oneib_cloud_add_network(documents->cloud);
    network->id = id;
    network->unreadable = true;
    network->membership = ONEIB_LIMITED;
    network->key_state = oneib_value_key(&values->vlan_id, &network->pkey);
    if (!oneib_value_id(&values->parent, &network->parent_id))
        network->parent_id = ONEIB_NO_ID;
    network->name = oneib_strdup(values->name.state == ONEIB_VALUE_TEXT ? values->name.text : "");
    keep_owner(values, network);
    for (size_t i = 0; i < vms->count; i++)
        oneib_id_set_add(&documents->vms_named, vms->items[i]);
    oneib_network_set_vms(network, vms->items, vms->count);
}

static void note_unreadable(struct oneib_documents *documents, uint32_t id,
                            const struct network_values *values)
{
    const size_t first_finding = documents->findings->count;
    oneib_findings_note(documents->findings, ONEIB_FINDING_NETWORK_MALFORMED,
                        "%s: its document is malformed, or too large: it gets no members, and its "
                        "P_Key is given to no other network",
                        network_called(id, values).text);
    oneib_findings_attribute(documents->findings, first_finding, ONEIB_SUBJECT_NETWORK, id);
}

static void keep_unreadable(struct oneib_documents *documents, uint32_t id,
                            const struct network_values *values, const struct oneib_id_set *vms)
{
    /* Nobody but administrators can have made even the driver unreadable. */
    if (oneib_value_is_set(&values->vn_mad) &&
        !oneib_value_equals(&values->vn_mad, documents->vn_mad))
        return;
    keep_head(documents, id, values, vms);
    note_unreadable(documents, id, values);
}

void oneib_documents_keep_unreadable_network(struct oneib_documents *documents, uint32_t id,
                                             const char *xml, size_t length)
{
    oneib_autotext struct oneib_text head = {0};
    struct oneib_error expected;
    oneib_auto(clear_values) struct network_values values = {0};
    oneib_autoids struct oneib_id_set vms = {0};
    cut_head(xml, length, &head);
    oneib_autoreader struct oneib_reader *reader =
        head.length ? oneib_reader_open(head.data, head.length, &expected) : NULL;
    if (reader)
        read_head(reader, &values, &vms);
    keep_unreadable(documents, id, &values, &vms);
}

int oneib_document_network_key(const char *xml, size_t length, enum oneib_key_state *state,
                               oneib_pkey *pkey, struct oneib_error *err)
{
    oneib_auto(clear_values) struct network_values values = {0};
    oneib_autoids struct oneib_id_set vms = {0};
    oneib_autoreader struct oneib_reader *reader = oneib_reader_open(xml, length, err);
    if (!reader || oneib_reader_root(reader, err) < 0)
        return -1;
    if (!oneib_reader_at(reader, ONEIB_NAME_VNET))
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "document is not a network's");
    if (read_values(reader, &values, &vms, err) < 0 || oneib_reader_finish(reader, err) < 0)
        return -1;
    *state = oneib_value_key(chosen(&values.vlan_id, &values.template_vlan_id), pkey);
    return 0;
}
