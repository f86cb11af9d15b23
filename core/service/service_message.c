// SPDX-License-Identifier: Apache-2.0
#include "service/service_message.h"
#include <string.h>

/* Bytes of one member, so that padding stays what it was: 0. */
#define TAKE(to, from, member) memcpy(&(to)->member, &(from)->member, sizeof(to)->member)

static void take_pci(struct oneib_pci *to, const struct oneib_pci *from)
{
    TAKE(to, from, domain);
    TAKE(to, from, bus);
    TAKE(to, from, slot);
    TAKE(to, from, function);
}

/* Up to the text's end: what is behind it does not count. Both have `size` bytes. */
static void take_text(char *to, const char *from, size_t size)
{
    memcpy(to, from, strnlen(from, size - 1));
}

static int fail(struct oneib_error *err, const char *what)
{
    return oneib_fail(err, ONEIB_ERROR_INPUT, "%s is invalid", what);
}

static bool ends(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

static bool is_device(const char name[ONEIB_DEVICE_NAME_SIZE])
{
    return ends(name, ONEIB_DEVICE_NAME_SIZE) && oneib_device_name_is_valid(name, strlen(name));
}

/* oned's ids are C ints. */
static bool is_id(uint32_t id)
{
    return id <= INT32_MAX;
}

static int check_frame(size_t length, size_t expected, uint32_t magic, struct oneib_error *err)
{
    if (length != expected)
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "a message of %zu bytes, and not %zu: is it of another version?", length,
                          expected);
    if (magic != ONEIB_MESSAGE_MAGIC)
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "a message without oneib's header: is it of another version?");
    return 0;
}

static int check_rest(const void *bytes, const void *packed, size_t length, struct oneib_error *err)
{
    if (memcmp(bytes, packed, length) == 0)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_INPUT, "unused bytes of the message are not zero");
}

/* ---- requests -------------------------------------------------------------------------------- */

struct oneib_request oneib_request_new(enum oneib_request_kind kind)
{
    return (struct oneib_request){.magic = ONEIB_MESSAGE_MAGIC, .kind = (uint16_t)kind};
}

static uint16_t flags_of(uint16_t kind)
{
    switch (kind) {
    case ONEIB_REQUEST_HAVE:
        return ONEIB_HAVE_DEFER_GUID | ONEIB_HAVE_ATTACH;
    case ONEIB_REQUEST_RELEASE:
        return ONEIB_RELEASE_NIC_GONE;
    case ONEIB_REQUEST_ANNOUNCE:
        return ONEIB_ANNOUNCE_TRUSTED;
    default:
        return 0;
    }
}

static void pack_have(const struct oneib_request *request, struct oneib_request *packed)
{
    TAKE(packed, request, vm_id);
    TAKE(packed, request, nic_id);
    TAKE(packed, request, network_id);
    TAKE(packed, request, numa_node);
}

/* But since when it is in the ledger. */
static void take_daemons(struct oneib_ledger_daemon *to, const struct oneib_ledger_daemon *from,
                         size_t count)
{
    for (size_t i = 0; i < count && i < ONEIB_DAEMONS_MAX; i++) {
        take_text(to[i].address, from[i].address, sizeof to->address);
        TAKE(&to[i], &from[i], curve);
        TAKE(&to[i], &from[i], sign);
    }
}

void oneib_request_pack(const struct oneib_request *request, struct oneib_request *packed)
{
    memset(packed, 0, sizeof *packed);
    TAKE(packed, request, magic);
    TAKE(packed, request, kind);
    TAKE(packed, request, flags);
    switch (request->kind) {
    case ONEIB_REQUEST_HAVE:
        pack_have(request, packed);
        break;
    case ONEIB_REQUEST_RELEASE:
        TAKE(packed, request, vm_id);
        TAKE(packed, request, nic_id);
        break;
    case ONEIB_REQUEST_RELEASE_VF:
        TAKE(packed, request, vm_id);
        take_pci(&packed->vf, &request->vf);
        break;
    case ONEIB_REQUEST_ANNOUNCE:
        TAKE(packed, request, daemon_count);
        take_daemons(packed->daemons, request->daemons, request->daemon_count);
        break;
    default:
        break;
    }
}

static int check_have(const struct oneib_request *request, struct oneib_error *err)
{
    if (request->nic_id < 0 || request->nic_id > ONEIB_NIC_ID_MAX)
        return fail(err, "the NIC");
    if (!is_id(request->network_id))
        return fail(err, "the network");
    if (request->numa_node < -1 || request->numa_node > INT16_MAX)
        return fail(err, "the NUMA node");
    return 0;
}

static int check_release(const struct oneib_request *request, struct oneib_error *err)
{
    return request->nic_id < -1 || request->nic_id > ONEIB_NIC_ID_MAX ? fail(err, "the NIC") : 0;
}

/* Addresses and keys are for the service to judge, which knows what it believes already. */
static int check_daemons(const struct oneib_request *request, struct oneib_error *err)
{
    if (request->daemon_count == 0 || request->daemon_count > ONEIB_DAEMONS_MAX)
        return fail(err, "the number of daemons");
    for (size_t i = 0; i < request->daemon_count; i++)
        if (!ends(request->daemons[i].address, ONEIB_ADDRESS_SIZE))
            return fail(err, "a daemon's address");
    return 0;
}

static int check_request(const struct oneib_request *request, struct oneib_error *err)
{
    if (request->kind < ONEIB_REQUEST_HAVE || request->kind > ONEIB_REQUEST_ANNOUNCE)
        return fail(err, "the request's kind");
    if ((request->flags & ~flags_of(request->kind)) != 0)
        return fail(err, "a flag of the request");
    if (!is_id(request->vm_id))
        return fail(err, "the VM");
    if (request->kind == ONEIB_REQUEST_HAVE)
        return check_have(request, err);
    if (request->kind == ONEIB_REQUEST_RELEASE)
        return check_release(request, err);
    if (request->kind == ONEIB_REQUEST_ANNOUNCE)
        return check_daemons(request, err);
    return oneib_pci_is_valid(&request->vf) ? 0 : fail(err, "the virtual function's address");
}

int oneib_request_check(const void *bytes, size_t length, struct oneib_request *request,
                        struct oneib_error *err)
{
    struct oneib_request taken = {0}, packed;
    memcpy(&taken, bytes, length < sizeof taken ? length : sizeof taken);
    if (check_frame(length, sizeof taken, taken.magic, err) < 0 || check_request(&taken, err) < 0)
        return -1;
    oneib_request_pack(&taken, &packed);
    if (check_rest(bytes, &packed, length, err) < 0)
        return -1;
    *request = taken;
    return 0;
}

struct oneib_request oneib_request_announcing(const struct oneib_daemons *daemons)
{
    struct oneib_request request = oneib_request_new(ONEIB_REQUEST_ANNOUNCE);
    request.daemon_count = (uint32_t)daemons->count;
    take_daemons(request.daemons, daemons->items, daemons->count);
    return request;
}

void oneib_request_daemons(const struct oneib_request *request, struct oneib_daemons *daemons)
{
    *daemons = (struct oneib_daemons){.count = request->daemon_count};
    take_daemons(daemons->items, request->daemons, daemons->count);
}

/* ---- answers --------------------------------------------------------------------------------- */

struct oneib_answer oneib_answer_new(enum oneib_answer_kind kind)
{
    return (struct oneib_answer){.magic = ONEIB_MESSAGE_MAGIC, .kind = (uint16_t)kind};
}

struct oneib_answer oneib_answer_with(enum oneib_answer_kind kind, const struct oneib_error *why)
{
    struct oneib_answer answer = oneib_answer_new(kind);
    answer.code = (uint16_t)why->code;
    take_text(answer.text, why->text, sizeof answer.text);
    return answer;
}

void oneib_answer_error(const struct oneib_answer *answer, struct oneib_error *why)
{
    *why = (struct oneib_error){.code = (enum oneib_error_code)answer->code};
    memcpy(why->text, answer->text, sizeof answer->text);
}

static void pack_record(const struct oneib_vf_record *record, struct oneib_vf_record *packed)
{
    take_pci(&packed->vf, &record->vf);
    take_text(packed->device, record->device, sizeof packed->device);
    TAKE(packed, record, index);
    TAKE(packed, record, port);
    TAKE(packed, record, vm_id);
    TAKE(packed, record, nic_id);
    TAKE(packed, record, network_id);
    TAKE(packed, record, site);
    TAKE(packed, record, pkey);
    TAKE(packed, record, limited);
    TAKE(packed, record, stage);
    TAKE(packed, record, guid);
    TAKE(packed, record, in_domain);
    TAKE(packed, record, since);
}

static void pack_domain(const struct oneib_domain_entry *domain, struct oneib_domain_entry *packed)
{
    TAKE(packed, domain, vm_id);
    TAKE(packed, domain, running);
    TAKE(packed, domain, has_vf);
    if (domain->has_vf)
        take_pci(&packed->vf, &domain->vf);
    take_text(packed->name, domain->name, sizeof packed->name);
}

static void pack_released(const struct oneib_released *released, struct oneib_released *packed)
{
    TAKE(packed, released, freed);
    TAKE(packed, released, lingering);
    TAKE(packed, released, left);
}

static void pack_grant(const struct oneib_grant *grant, struct oneib_grant *packed)
{
    TAKE(packed, grant, vm_id);
    TAKE(packed, grant, network_id);
    TAKE(packed, grant, nic_id);
    TAKE(packed, grant, port);
    TAKE(packed, grant, pkey);
    TAKE(packed, grant, limited);
    TAKE(packed, grant, has_vf);
    TAKE(packed, grant, may_set_guid);
    take_text(packed->device, grant->device, sizeof packed->device);
    if (grant->has_vf)
        take_pci(&packed->vf, &grant->vf);
    TAKE(packed, grant, guid);
}

static void pack_follows(const struct oneib_follows *follows, struct oneib_follows *packed)
{
    TAKE(packed, follows, has_list);
    TAKE(packed, follows, fresh);
    TAKE(packed, follows, unseen);
}

void oneib_answer_pack(const struct oneib_answer *answer, struct oneib_answer *packed)
{
    memset(packed, 0, sizeof *packed);
    TAKE(packed, answer, magic);
    TAKE(packed, answer, kind);
    switch (answer->kind) {
    case ONEIB_ANSWER_RECORD:
        pack_record(&answer->record, &packed->record);
        break;
    case ONEIB_ANSWER_RELEASED:
        pack_released(&answer->released, &packed->released);
        break;
    case ONEIB_ANSWER_DOMAIN:
        pack_domain(&answer->domain, &packed->domain);
        break;
    case ONEIB_ANSWER_GRANT:
        pack_grant(&answer->grant, &packed->grant);
        break;
    case ONEIB_ANSWER_FOLLOWS:
        pack_follows(&answer->follows, &packed->follows);
        TAKE(packed, answer, code);
        take_text(packed->text, answer->text, sizeof packed->text);
        break;
    case ONEIB_ANSWER_FAILED:
    case ONEIB_ANSWER_END:
        TAKE(packed, answer, code);
        take_text(packed->text, answer->text, sizeof packed->text);
        break;
    default:
        break;
    }
}

/* Before anybody reads them as such: a bool that is neither is no bool. */
static bool are_bools(const void *bytes)
{
    static const size_t places[] = {
        offsetof(struct oneib_answer, record.limited),
        offsetof(struct oneib_answer, record.in_domain),
        offsetof(struct oneib_answer, domain.running),
        offsetof(struct oneib_answer, domain.has_vf),
        offsetof(struct oneib_answer, grant.limited),
        offsetof(struct oneib_answer, grant.has_vf),
        offsetof(struct oneib_answer, grant.may_set_guid),
        offsetof(struct oneib_answer, follows.has_list),
        offsetof(struct oneib_answer, follows.fresh),
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (((const unsigned char *)bytes)[places[i]] > 1)
            return false;
    return true;
}

static int check_record(const struct oneib_vf_record *record, struct oneib_error *err)
{
    if (!oneib_pci_is_valid(&record->vf))
        return fail(err, "the virtual function's address");
    if (!is_device(record->device))
        return fail(err, "the adapter's name");
    if (record->port == 0 || record->port == UINT8_MAX)
        return fail(err, "the port");
    if (record->pkey > ONEIB_PKEY_LAST)
        return fail(err, "the P_Key");
    if (record->stage > ONEIB_VF_RELEASING || (record->stage == ONEIB_VF_OPEN && record->pkey == 0))
        return fail(err, "the stage");
    if (record->guid > ONEIB_VF_GUID_SET)
        return fail(err, "the GUID's state");
    if (record->since < 0)
        return fail(err, "the time of the last change");
    return 0;
}

static int check_domain(const struct oneib_domain_entry *domain, struct oneib_error *err)
{
    if (domain->vm_id < -1 || domain->vm_id > INT32_MAX)
        return fail(err, "the domain's VM");
    if (!oneib_pci_is_valid(&domain->vf))
        return fail(err, "the virtual function's address");
    if (!ends(domain->name, sizeof domain->name))
        return fail(err, "the domain's name");
    return 0;
}

static int check_grant(const struct oneib_grant *grant, struct oneib_error *err)
{
    if (!is_id(grant->vm_id) || !is_id(grant->network_id))
        return fail(err, "the grant's VM or network");
    if (!is_device(grant->device))
        return fail(err, "the adapter's name");
    if (grant->port == 0 || grant->port == UINT8_MAX)
        return fail(err, "the port");
    if (grant->pkey == 0 || grant->pkey > ONEIB_PKEY_LAST)
        return fail(err, "the P_Key");
    return oneib_pci_is_valid(&grant->vf) ? 0 : fail(err, "the virtual function's address");
}

static int check_words(const struct oneib_answer *answer, struct oneib_error *err)
{
    if (answer->code > ONEIB_ERROR_REFUSED ||
        (answer->kind == ONEIB_ANSWER_FAILED && answer->code == ONEIB_ERROR_NONE))
        return fail(err, "the failure's code");
    return ends(answer->text, sizeof answer->text) ? 0 : fail(err, "the failure's text");
}

static int check_answer(const struct oneib_answer *answer, struct oneib_error *err)
{
    switch (answer->kind) {
    case ONEIB_ANSWER_RECORD:
        return check_record(&answer->record, err);
    case ONEIB_ANSWER_RELEASED:
        return 0;
    case ONEIB_ANSWER_DOMAIN:
        return check_domain(&answer->domain, err);
    case ONEIB_ANSWER_GRANT:
        return check_grant(&answer->grant, err);
    case ONEIB_ANSWER_FAILED:
    case ONEIB_ANSWER_END:
    case ONEIB_ANSWER_FOLLOWS:
        return check_words(answer, err);
    default:
        return fail(err, "the answer's kind");
    }
}

int oneib_answer_check(const void *bytes, size_t length, struct oneib_answer *answer,
                       struct oneib_error *err)
{
    struct oneib_answer taken, packed;
    uint32_t magic = 0;
    memcpy(&magic, bytes, length < sizeof magic ? length : sizeof magic);
    if (check_frame(length, sizeof taken, magic, err) < 0)
        return -1;
    if (!are_bools(bytes))
        return fail(err, "a boolean");
    memcpy(&taken, bytes, sizeof taken);
    if (check_answer(&taken, err) < 0)
        return -1;
    oneib_answer_pack(&taken, &packed);
    if (check_rest(bytes, &packed, length, err) < 0)
        return -1;
    *answer = taken;
    return 0;
}
