// SPDX-License-Identifier: Apache-2.0
#include "grants/grants_message.h"
#include "base/order.h"
#include "grants/seal.h"
#include <string.h>

/* Bytes of what there are many of: what does not fit cannot be sent at all. */
#define HEAD_SIZE 4u
#define GRANT_SIZE 64u
#define RECORD_SIZE 72u
#define FIXED_MAX 64u /* of a kind's own, beside its items, and the head */
#define PORT_SIZE 44u

_Static_assert(HEAD_SIZE + FIXED_MAX + ONEIB_HOST_PORTS_MAX * PORT_SIZE +
                       ONEIB_GRANTS_MAX * RECORD_SIZE + ONEIB_SEAL_SIZE <=
                   ONEIB_GRANTS_MESSAGE_MAX,
               "a whole table is one message");

#define LID_UNICAST_LAST 0xbfff
#define PORT_LAST 254

enum role_flag { ROLE_WRITER = 1, ROLE_SM = 2 };
enum grant_flag { GRANT_LIMITED = 1, GRANT_VF = 2, GRANT_SET_GUID = 4 };
enum record_flag { RECORD_LIMITED = 1, RECORD_IN_DOMAIN = 2 };
enum report_flag { REPORT_BELIEVES = 1, REPORT_COMPLETE = 2 };

bool oneib_grants_is_from_daemon(enum oneib_grants_kind kind)
{
    return kind == ONEIB_GRANTS_LIST || kind == ONEIB_GRANTS_LIFE;
}

bool oneib_want_equal(const struct oneib_want_message *a, const struct oneib_want_message *b)
{
    return a->vm_id == b->vm_id && a->nic_id == b->nic_id && a->network_id == b->network_id;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct writer {
    uint8_t *at;
};

static void put(struct writer *writer, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        writer->at[i] = (uint8_t)(value >> (8 * (size - 1 - i)));
    writer->at += size;
}

static void put_zeros(struct writer *writer, size_t size)
{
    memset(writer->at, 0, size);
    writer->at += size;
}

static void put_bytes(struct writer *writer, const uint8_t *bytes, size_t size)
{
    memcpy(writer->at, bytes, size);
    writer->at += size;
}

/* What is behind the name's end stays here. */
static void put_device(struct writer *writer, const char name[ONEIB_DEVICE_NAME_SIZE])
{
    const size_t length = strnlen(name, ONEIB_DEVICE_NAME_SIZE);
    memcpy(writer->at, name, length);
    writer->at += length;
    put_zeros(writer, ONEIB_DEVICE_NAME_SIZE - length);
}

static void put_pci(struct writer *writer, const struct oneib_pci *pci)
{
    put(writer, pci->domain, 4);
    put(writer, pci->bus, 1);
    put(writer, pci->slot, 1);
    put(writer, pci->function, 1);
    put_zeros(writer, 1);
}

static void put_name(struct writer *writer, const struct oneib_list_name *name)
{
    put(writer, name->instance, 8);
    put(writer, name->serial, 8);
}

static unsigned flag_if(bool is_set, unsigned flag)
{
    return is_set ? flag : 0;
}

static void put_role(struct writer *writer, const struct oneib_daemon_role *role)
{
    put(writer, flag_if(role->is_writer, ROLE_WRITER) | flag_if(role->has_sm, ROLE_SM), 1);
    put_zeros(writer, 1);
    put(writer, role->sm_lid, 2);
    put(writer, role->snapshot_age_ms, 4);
}

static void put_grant(struct writer *writer, const struct oneib_grant *grant)
{
    static const struct oneib_pci none;
    put(writer, grant->vm_id, 4);
    put(writer, grant->network_id, 4);
    put(writer, grant->nic_id, 1);
    put(writer, grant->port, 1);
    put(writer, grant->pkey, 2);
    put(writer,
        flag_if(grant->limited, GRANT_LIMITED) | flag_if(grant->has_vf, GRANT_VF) |
            flag_if(grant->may_set_guid, GRANT_SET_GUID),
        1);
    put_zeros(writer, 3);
    put_pci(writer, grant->has_vf ? &grant->vf : &none);
    put(writer, grant->guid, 8);
    put_device(writer, grant->device);
}

static void put_list(struct writer *writer, const struct oneib_list_message *list)
{
    put_bytes(writer, list->node, sizeof list->node);
    put_name(writer, &list->name);
    put_role(writer, &list->role);
    put(writer, list->grants.count, 4);
    for (size_t i = 0; i < list->grants.count; i++)
        put_grant(writer, &list->grants.items[i]);
}

static void put_life(struct writer *writer, const struct oneib_life_message *life)
{
    put_bytes(writer, life->node, sizeof life->node);
    put_bytes(writer, life->nonce, sizeof life->nonce);
    put_name(writer, &life->name);
    put_role(writer, &life->role);
}

static void put_record(struct writer *writer, const struct oneib_vf_record *record)
{
    put_pci(writer, &record->vf);
    put_device(writer, record->device);
    put(writer, record->index, 2);
    put(writer, record->port, 1);
    put(writer, record->nic_id, 1);
    put(writer, record->vm_id, 4);
    put(writer, record->network_id, 4);
    put(writer, record->site, 2);
    put(writer, record->pkey, 2);
    put(writer,
        flag_if(record->limited, RECORD_LIMITED) | flag_if(record->in_domain, RECORD_IN_DOMAIN), 1);
    put(writer, record->stage, 1);
    put(writer, record->guid, 1);
    put_zeros(writer, 5);
    put(writer, (uint64_t)record->since, 8);
}

static void put_port(struct writer *writer, const struct oneib_hca_port *port)
{
    put(writer, port->port_guid, 8);
    put_device(writer, port->device);
    put(writer, port->port, 1);
    put(writer, port->driver, 1);
    put(writer, port->vfs_total, 2);
}

static void put_report(struct writer *writer, const struct oneib_report_message *report)
{
    put_name(writer, &report->follows);
    put_bytes(writer, report->boot, sizeof report->boot);
    put(writer,
        flag_if(report->believes, REPORT_BELIEVES) | flag_if(report->complete, REPORT_COMPLETE), 1);
    put(writer, report->port_count, 1);
    put(writer, report->unseen, 2);
    for (size_t i = 0; i < report->port_count; i++)
        put_port(writer, &report->ports[i]);
    put(writer, report->count, 4);
    for (size_t i = 0; i < report->count; i++)
        put_record(writer, &report->records[i]);
}

static void put_want(struct writer *writer, const struct oneib_want_message *want)
{
    put(writer, want->vm_id, 4);
    put(writer, want->network_id, 4);
    put(writer, want->nic_id, 1);
    put_zeros(writer, 3);
}

size_t oneib_grants_pack(const struct oneib_grants_message *message,
                         uint8_t bytes[ONEIB_GRANTS_MESSAGE_MAX])
{
    struct writer writer = {.at = bytes};
    put(&writer, ONEIB_GRANTS_VERSION, 1);
    put(&writer, message->kind, 1);
    put_zeros(&writer, 2);
    switch (message->kind) {
    case ONEIB_GRANTS_LIST:
        put_list(&writer, &message->list);
        break;
    case ONEIB_GRANTS_LIFE:
        put_life(&writer, &message->life);
        break;
    case ONEIB_GRANTS_REPORT:
        put_report(&writer, &message->report);
        break;
    case ONEIB_GRANTS_CHALLENGE:
        put_bytes(&writer, message->challenge.nonce, sizeof message->challenge.nonce);
        break;
    case ONEIB_GRANTS_WANT:
        put_want(&writer, &message->want);
        break;
    }
    return (size_t)(writer.at - bytes);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* What is wrong stays wrong, and all that is taken afterwards is 0: a reader reads to its end, and
 * then asks once. */
struct reader {
    const uint8_t *at;
    size_t left;
    const char *wrong; /* the first that was; NULL: nothing */
};

static void refuse(struct reader *reader, const char *what)
{
    if (!reader->wrong)
        reader->wrong = what;
}

static void require(struct reader *reader, bool held, const char *what)
{
    if (!held)
        refuse(reader, what);
}

/* NULL: there are not so many. */
static const uint8_t *take_part(struct reader *reader, size_t size)
{
    if (reader->left < size) {
        refuse(reader, "its length");
        reader->left = 0;
        return NULL;
    }
    const uint8_t *part = reader->at;
    reader->at += size;
    reader->left -= size;
    return part;
}

static uint64_t take(struct reader *reader, size_t size)
{
    const uint8_t *part = take_part(reader, size);
    uint64_t value = 0;
    for (size_t i = 0; part && i < size; i++)
        value = value << 8 | part[i];
    return value;
}

static void take_zeros(struct reader *reader, size_t size)
{
    require(reader, take(reader, size) == 0, "a byte that is not used");
}

static void take_bytes(struct reader *reader, uint8_t *bytes, size_t size)
{
    const uint8_t *part = take_part(reader, size);
    if (part)
        memcpy(bytes, part, size);
    else
        memset(bytes, 0, size);
}

static unsigned take_flags(struct reader *reader, unsigned known)
{
    const unsigned flags = (unsigned)take(reader, 1);
    require(reader, (flags & ~known) == 0, "a flag");
    return flags;
}

/* oned's ids are C ints. */
static uint32_t take_id(struct reader *reader, const char *what)
{
    const uint32_t id = (uint32_t)take(reader, 4);
    require(reader, id <= INT32_MAX, what);
    return id;
}

static uint8_t take_port(struct reader *reader)
{
    const uint8_t port = (uint8_t)take(reader, 1);
    require(reader, port >= 1 && port <= PORT_LAST, "a port");
    return port;
}

static oneib_pkey take_pkey(struct reader *reader, oneib_pkey first)
{
    const oneib_pkey pkey = (oneib_pkey)take(reader, 2);
    require(reader, pkey >= first && pkey <= ONEIB_PKEY_LAST, "a P_Key");
    return pkey;
}

static bool all_zeros(const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != '\0')
            return false;
    return true;
}

static void take_device(struct reader *reader, char name[ONEIB_DEVICE_NAME_SIZE])
{
    uint8_t bytes[ONEIB_DEVICE_NAME_SIZE];
    take_bytes(reader, bytes, sizeof bytes);
    memcpy(name, bytes, sizeof bytes);
    const size_t length = strnlen(name, ONEIB_DEVICE_NAME_SIZE);
    require(reader,
            oneib_device_name_is_valid(name, length) &&
                all_zeros(name + length, ONEIB_DEVICE_NAME_SIZE - length),
            "an adapter's name");
}

static void take_pci(struct reader *reader, struct oneib_pci *pci)
{
    *pci = (struct oneib_pci){0};
    pci->domain = (uint32_t)take(reader, 4);
    pci->bus = (uint8_t)take(reader, 1);
    pci->slot = (uint8_t)take(reader, 1);
    pci->function = (uint8_t)take(reader, 1);
    take_zeros(reader, 1);
    require(reader, oneib_pci_is_valid(pci), "a virtual function's address");
}

static struct oneib_list_name take_name(struct reader *reader)
{
    struct oneib_list_name name;
    name.instance = take(reader, 8);
    name.serial = take(reader, 8);
    return name;
}

static void take_role(struct reader *reader, struct oneib_daemon_role *role)
{
    const unsigned flags = take_flags(reader, ROLE_WRITER | ROLE_SM);
    *role = (struct oneib_daemon_role){.is_writer = (flags & ROLE_WRITER) != 0,
                                       .has_sm = (flags & ROLE_SM) != 0};
    take_zeros(reader, 1);
    role->sm_lid = (uint16_t)take(reader, 2);
    role->snapshot_age_ms = (uint32_t)take(reader, 4);
    require(reader,
            role->has_sm ? role->sm_lid >= 1 && role->sm_lid <= LID_UNICAST_LAST
                         : role->sm_lid == 0,
            "the subnet manager's LID");
}

static size_t take_count(struct reader *reader, size_t item_size)
{
    const size_t count = (size_t)take(reader, 4);
    require(reader, count <= ONEIB_GRANTS_MAX && reader->left == count * item_size, "its length");
    return reader->wrong ? 0 : count;
}

/* Orders as (VM, NIC) does. */
static uint64_t nic_rank(uint32_t vm_id, uint8_t nic_id)
{
    return (uint64_t)vm_id << 8 | nic_id;
}

static bool is_guid_of(oneib_guid guid, uint32_t vm_id, uint8_t nic_id)
{
    struct oneib_guid_parts parts;
    return oneib_guid_decode(guid, &parts) && parts.vm_id == vm_id && parts.nic_id == nic_id;
}

static bool is_no_pci(const struct oneib_pci *pci)
{
    static const struct oneib_pci none;
    return oneib_pci_compare(pci, &none) == 0;
}

static void take_grant(struct reader *reader, struct oneib_grant *grant)
{
    *grant = (struct oneib_grant){0};
    grant->vm_id = take_id(reader, "a VM");
    grant->network_id = take_id(reader, "a network");
    grant->nic_id = (uint8_t)take(reader, 1);
    grant->port = take_port(reader);
    grant->pkey = take_pkey(reader, ONEIB_PKEY_FIRST);
    const unsigned flags = take_flags(reader, GRANT_LIMITED | GRANT_VF | GRANT_SET_GUID);
    grant->limited = (flags & GRANT_LIMITED) != 0;
    grant->has_vf = (flags & GRANT_VF) != 0;
    grant->may_set_guid = (flags & GRANT_SET_GUID) != 0;
    take_zeros(reader, 3);
    take_pci(reader, &grant->vf);
    require(reader, grant->has_vf || is_no_pci(&grant->vf), "a virtual function's address");
    grant->guid = take(reader, 8);
    require(reader, is_guid_of(grant->guid, grant->vm_id, grant->nic_id), "a GUID");
    take_device(reader, grant->device);
}

static void take_grants(struct reader *reader, struct oneib_grant_list *grants)
{
    grants->count = take_count(reader, GRANT_SIZE);
    for (size_t i = 0; i < grants->count; i++) {
        struct oneib_grant *items = grants->items;
        take_grant(reader, &items[i]);
        require(reader,
                i == 0 || nic_rank(items[i - 1].vm_id, items[i - 1].nic_id) <
                              nic_rank(items[i].vm_id, items[i].nic_id),
                "the order of its grants");
    }
}

static void take_list(struct reader *reader, struct oneib_list_message *list)
{
    take_bytes(reader, list->node, sizeof list->node);
    list->name = take_name(reader);
    require(reader, list->name.instance != 0 && list->name.serial != 0, "the list's name");
    take_role(reader, &list->role);
    take_grants(reader, &list->grants);
}

static void take_life(struct reader *reader, struct oneib_life_message *life)
{
    take_bytes(reader, life->node, sizeof life->node);
    take_bytes(reader, life->nonce, sizeof life->nonce);
    life->name = take_name(reader);
    require(reader, life->name.instance != 0, "the list's name");
    take_role(reader, &life->role);
}

static void take_record(struct reader *reader, struct oneib_vf_record *record)
{
    *record = (struct oneib_vf_record){0};
    take_pci(reader, &record->vf);
    take_device(reader, record->device);
    record->index = (uint16_t)take(reader, 2);
    record->port = take_port(reader);
    record->nic_id = (uint8_t)take(reader, 1);
    record->vm_id = take_id(reader, "a VM");
    record->network_id = take_id(reader, "a network");
    record->site = (uint16_t)take(reader, 2);
    record->pkey = take_pkey(reader, 0);
    const unsigned flags = take_flags(reader, RECORD_LIMITED | RECORD_IN_DOMAIN);
    record->limited = (flags & RECORD_LIMITED) != 0;
    record->in_domain = (flags & RECORD_IN_DOMAIN) != 0;
    const unsigned stage = (unsigned)take(reader, 1), guid = (unsigned)take(reader, 1);
    require(reader, stage <= ONEIB_VF_RELEASING && (stage != ONEIB_VF_OPEN || record->pkey != 0),
            "a stage");
    require(reader, guid <= ONEIB_VF_GUID_SET, "a GUID's state");
    record->stage = (enum oneib_vf_stage)stage;
    record->guid = (enum oneib_vf_guid)guid;
    take_zeros(reader, 5);
    const uint64_t since = take(reader, 8);
    require(reader, since <= INT64_MAX, "a time");
    record->since = (int64_t)(since & INT64_MAX);
}

/* A table has no NIC twice either, whatever its order. */
static void require_nics_once(struct reader *reader, const struct oneib_report_message *report)
{
    uint64_t ranks[ONEIB_GRANTS_MAX];
    for (size_t i = 0; i < report->count; i++)
        ranks[i] = nic_rank(report->records[i].vm_id, report->records[i].nic_id);
    ONEIB_SORT(ranks, report->count, oneib_compare_u64);
    for (size_t i = 1; i < report->count; i++)
        require(reader, ranks[i - 1] != ranks[i], "a NIC that it has twice");
}

static void take_records(struct reader *reader, struct oneib_report_message *report)
{
    report->count = take_count(reader, RECORD_SIZE);
    for (size_t i = 0; i < report->count; i++) {
        take_record(reader, &report->records[i]);
        require(reader,
                i == 0 || oneib_pci_compare(&report->records[i - 1].vf, &report->records[i].vf) < 0,
                "the order of its records");
    }
    require_nics_once(reader, report);
}

static void take_hca_port(struct reader *reader, struct oneib_hca_port *port)
{
    *port = (struct oneib_hca_port){.port_guid = take(reader, 8)};
    take_device(reader, port->device);
    port->port = take_port(reader);
    const unsigned driver = (unsigned)take(reader, 1);
    require(reader, driver <= ONEIB_HCA_MLX5, "an adapter's driver");
    port->driver = (enum oneib_hca_driver)driver;
    port->vfs_total = (uint16_t)take(reader, 2);
}

static void take_ports(struct reader *reader, struct oneib_report_message *report)
{
    const size_t count = (size_t)take(reader, 1);
    report->unseen = (uint16_t)take(reader, 2);
    require(reader, count <= ONEIB_HOST_PORTS_MAX, "how many ports it has");
    report->port_count = reader->wrong ? 0 : count;
    for (size_t i = 0; i < report->port_count; i++) {
        take_hca_port(reader, &report->ports[i]);
        require(reader, report->ports[i].port_guid > (i == 0 ? 0 : report->ports[i - 1].port_guid),
                "the order of its ports");
    }
}

static void take_report(struct reader *reader, struct oneib_report_message *report)
{
    report->follows = take_name(reader);
    require(reader, (report->follows.instance != 0) == (report->follows.serial != 0),
            "the list's name");
    take_bytes(reader, report->boot, sizeof report->boot);
    const unsigned flags = take_flags(reader, REPORT_BELIEVES | REPORT_COMPLETE);
    report->believes = (flags & REPORT_BELIEVES) != 0;
    report->complete = (flags & REPORT_COMPLETE) != 0;
    take_ports(reader, report);
    take_records(reader, report);
}

static void take_want(struct reader *reader, struct oneib_want_message *want)
{
    want->vm_id = take_id(reader, "the VM");
    want->network_id = take_id(reader, "the network");
    want->nic_id = (uint8_t)take(reader, 1);
    take_zeros(reader, 3);
}

static void take_content(struct reader *reader, unsigned kind, struct oneib_grants_message *message)
{
    switch (kind) {
    case ONEIB_GRANTS_LIST:
        take_list(reader, &message->list);
        break;
    case ONEIB_GRANTS_LIFE:
        take_life(reader, &message->life);
        break;
    case ONEIB_GRANTS_REPORT:
        take_report(reader, &message->report);
        break;
    case ONEIB_GRANTS_CHALLENGE:
        take_bytes(reader, message->challenge.nonce, sizeof message->challenge.nonce);
        break;
    case ONEIB_GRANTS_WANT:
        take_want(reader, &message->want);
        break;
    default:
        refuse(reader, "its kind");
        return;
    }
    message->kind = (enum oneib_grants_kind)kind;
    require(reader, reader->left == 0, "its length");
}

int oneib_grants_unpack(const void *bytes, size_t length, struct oneib_grants_message *message,
                        struct oneib_error *err)
{
    struct reader reader = {.at = bytes, .left = length};
    const unsigned version = (unsigned)take(&reader, 1);
    if (version != ONEIB_GRANTS_VERSION)
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "message version %u instead of %d: install one version of oneib beside "
                          "oneibd and on nodes",
                          version, ONEIB_GRANTS_VERSION);
    const unsigned kind = (unsigned)take(&reader, 1);
    take_zeros(&reader, 2);
    take_content(&reader, kind, message);
    if (!reader.wrong)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_INPUT, "message of kind %u: invalid: %s", kind,
                      reader.wrong);
}
