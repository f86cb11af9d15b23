// SPDX-License-Identifier: Apache-2.0
#include "opennebula/ledger_document.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"
#include "ib/ipoib.h"
#include "ib/qos_class.h"
#include "xml/values.h"
#include <inttypes.h>
#include <poll.h>
#include <string.h>

#define VERSION "1"
/* Writing takes three calls. */
#define LOCK_PATIENCE_MS 10000.0
#define LOCK_PAUSE_MS 20
/* UserPool::ONEADMIN_ID and GroupPool::ONEADMIN_ID. */
#define ADMINISTRATOR 0
#define ADMINISTRATORS 0

static const char fix[] = "find who changed it, then see 'oneib plan --adopt'";

void oneib_kept_ledger_clear(struct oneib_kept_ledger *kept)
{
    oneib_ledger_clear(&kept->ledger);
    *kept = (struct oneib_kept_ledger){0};
}

/* One document while it is read. Of its entries each has been seen once: twice is no ledger. */
struct reading {
    struct oneib_value id, uid, gid, type;
    struct oneib_value rights[3]; /* of others */
    struct oneib_value version, serial, next, mtu, rate;
    struct oneib_ledger ledger;
    struct oneib_error wrong; /* the first thing that is; code NONE: nothing */
};

static void find_wrong(struct reading *reading, const char *what)
{
    if (reading->wrong.code == ONEIB_ERROR_NONE)
        oneib_fail(&reading->wrong, ONEIB_ERROR_INPUT, "%s is not as oneib writes it", what);
}

static bool take_key(const struct oneib_value *value, oneib_pkey *pkey)
{
    uint64_t number;
    if (value->state != ONEIB_VALUE_TEXT ||
        !oneib_parse_hex_n(value->text, value->length, ONEIB_PKEY_LAST, &number))
        return false;
    *pkey = (oneib_pkey)number;
    return true;
}

static bool take_time(const struct oneib_value *value, int64_t *since)
{
    uint64_t number;
    if (!oneib_value_number(value, INT64_MAX, &number))
        return false;
    *since = (int64_t)number;
    return true;
}

/* A count; an id, or, where it was not known, ONEIB_NO_ID. */
static bool take_word(const struct oneib_value *value, uint32_t *word)
{
    uint64_t number;
    if (!oneib_value_number(value, UINT32_MAX, &number))
        return false;
    *word = (uint32_t)number;
    return true;
}

static bool take_public_key(const struct oneib_value *value, uint8_t key[ONEIB_PUBLIC_KEY_SIZE])
{
    if (value->state != ONEIB_VALUE_TEXT || value->length != 2 * ONEIB_PUBLIC_KEY_SIZE)
        return false;
    for (size_t i = 0; i < ONEIB_PUBLIC_KEY_SIZE; i++) {
        const unsigned high = oneib_hex_digit(value->text[2 * i]);
        const unsigned low = oneib_hex_digit(value->text[2 * i + 1]);
        if (high > 15 || low > 15)
            return false;
        key[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* Absent: none. */
static bool take_sl(const struct oneib_value *value, uint8_t *sl)
{
    uint64_t number = 0;
    if (value->state != ONEIB_VALUE_ABSENT &&
        (!oneib_value_number(value, ONEIB_QOS_SLS - 1, &number) || number == 0))
        return false;
    *sl = (uint8_t)number;
    return true;
}

static void take_network(struct reading *reading, const struct oneib_value *values)
{
    struct oneib_ledger_network entry;
    struct oneib_error ignored;
    if (!oneib_value_id(&values[0], &entry.network_id) || !take_key(&values[1], &entry.pkey) ||
        !take_word(&values[2], &entry.owner) || !take_time(&values[3], &entry.since) ||
        !take_sl(&values[4], &entry.sl) ||
        oneib_ledger_network(&reading->ledger, entry.network_id) ||
        oneib_ledger_give(&reading->ledger, &entry, &ignored) < 0)
        find_wrong(reading, "a NETWORK");
}

static void take_resting(struct reading *reading, const struct oneib_value *values)
{
    struct oneib_ledger_resting entry;
    struct oneib_error ignored;
    if (!take_key(&values[0], &entry.pkey) || !take_word(&values[1], &entry.network_id) ||
        !take_word(&values[2], &entry.owner) || !take_time(&values[3], &entry.since) ||
        oneib_ledger_add_resting(&reading->ledger, &entry, &ignored) < 0)
        find_wrong(reading, "a RESTING");
}

/* Absent: 0. */
static bool take_keys_serial(const struct oneib_value *value, uint64_t *serial)
{
    *serial = 0;
    return value->state == ONEIB_VALUE_ABSENT || oneib_value_number(value, UINT64_MAX, serial);
}

static void take_host(struct reading *reading, const struct oneib_value *values)
{
    struct oneib_ledger_host host = {0};
    if (!oneib_value_id(&values[0], &host.host_id) || !take_public_key(&values[1], host.key) ||
        !take_time(&values[2], &host.since) || !take_keys_serial(&values[3], &host.keys_serial) ||
        oneib_ledger_host(&reading->ledger, host.host_id) ||
        oneib_ledger_forgotten(&reading->ledger, host.host_id))
        find_wrong(reading, "a HOST");
    else
        oneib_ledger_pin(&reading->ledger, &host);
}

/* oned shows it before HOST. */
static void take_forgotten(struct reading *reading, const struct oneib_value *values)
{
    struct oneib_ledger_forgotten entry = {0};
    struct oneib_error ignored;
    if (!oneib_value_id(&values[0], &entry.host_id) || !take_time(&values[1], &entry.since) ||
        !take_keys_serial(&values[2], &entry.keys_serial) ||
        oneib_ledger_add_forgotten(&reading->ledger, &entry, &ignored) < 0)
        find_wrong(reading, "a FORGOTTEN");
}

static void take_daemon(struct reading *reading, const struct oneib_value *values)
{
    struct oneib_ledger_daemon daemon = {0};
    struct oneib_error ignored;
    const size_t before = reading->ledger.daemon_count;
    const bool fits = values[0].state == ONEIB_VALUE_TEXT &&
                      values[0].length < sizeof daemon.address &&
                      strlen(values[0].text) == values[0].length;
    if (fits)
        memcpy(daemon.address, values[0].text, values[0].length);
    if (!fits || !take_public_key(&values[1], daemon.curve) ||
        !take_public_key(&values[2], daemon.sign) || !take_time(&values[3], &daemon.since) ||
        oneib_ledger_set_daemon(&reading->ledger, &daemon, &ignored) < 0 ||
        reading->ledger.daemon_count == before)
        find_wrong(reading, "a DAEMON");
}

/* A name of ours: lower case letters. */
static const char *word_of(const struct oneib_value *value)
{
    return value->state == ONEIB_VALUE_TEXT ? value->text : "";
}

static bool take_guid(const struct oneib_value *value, oneib_guid *guid)
{
    return value->state == ONEIB_VALUE_TEXT &&
           oneib_parse_hex_n(value->text, value->length, UINT64_MAX, guid);
}

/* A switch's; 0: none. */
static bool take_port(const struct oneib_value *value, uint8_t *port)
{
    uint64_t number;
    if (!oneib_value_number(value, UINT8_MAX, &number))
        return false;
    *port = (uint8_t)number;
    return true;
}

static void take_fence(struct reading *reading, const struct oneib_value *values)
{
    struct oneib_ledger_fence fence;
    if (!oneib_value_id(&values[0], &fence.host_id) ||
        !oneib_fence_wish_parse(word_of(&values[1]), &fence.wish) ||
        !take_word(&values[2], &fence.asked) || !take_time(&values[3], &fence.since) ||
        oneib_ledger_fence(&reading->ledger, fence.host_id))
        find_wrong(reading, "a FENCE");
    else
        oneib_ledger_set_fence(&reading->ledger, &fence);
}

/* Behind its host's FENCE, as they are written. */
static void take_fenced_port(struct reading *reading, const struct oneib_value *values)
{
    struct oneib_ledger_fenced_port port;
    struct oneib_error ignored;
    if (!oneib_value_id(&values[0], &port.host_id) || !take_guid(&values[1], &port.guid) ||
        !take_guid(&values[2], &port.switch_guid) || !take_port(&values[3], &port.switch_port) ||
        !oneib_fence_state_parse(word_of(&values[4]), &port.state) ||
        !take_word(&values[5], &port.answer) || !take_time(&values[6], &port.since) ||
        oneib_ledger_fenced_port(&reading->ledger, port.host_id, port.guid) ||
        oneib_ledger_set_fenced_port(&reading->ledger, &port, &ignored) < 0)
        find_wrong(reading, "a FENCED_PORT");
}

/* NAME, DRIVER and VFS; none of them: the host reports no such port now. */
static bool take_hca(const struct oneib_value *values, oneib_guid guid, struct oneib_hca_port *hca)
{
    uint64_t vfs;
    *hca = (struct oneib_hca_port){.port_guid = guid};
    if (values[0].state == ONEIB_VALUE_ABSENT)
        return true;
    if (values[0].state != ONEIB_VALUE_TEXT ||
        !oneib_phydev_parse(values[0].text, values[0].length, hca->device, &hca->port) ||
        hca->port == 0 || !oneib_value_number(&values[2], UINT16_MAX, &vfs))
        return false;
    hca->vfs_total = (uint16_t)vfs;
    hca->driver = oneib_hca_driver_of(word_of(&values[1]));
    return true;
}

static bool take_port_state(const struct oneib_value *value, enum oneib_ledger_port_state *state)
{
    *state = ONEIB_LEDGER_PORT_PRESENT;
    return value->state == ONEIB_VALUE_ABSENT ||
           oneib_ledger_port_state_parse(word_of(value), state);
}

static bool take_accepted(const struct oneib_value *value, bool *is_accepted)
{
    *is_accepted = value->state != ONEIB_VALUE_ABSENT;
    return !*is_accepted || strcmp(word_of(value), "YES") == 0;
}

/* Behind its HOST, as they are written. */
static void take_host_port(struct reading *reading, const struct oneib_value *values)
{
    struct oneib_ledger_port port = {0};
    struct oneib_error ignored;
    if (!oneib_value_id(&values[0], &port.host_id) || !take_guid(&values[1], &port.guid) ||
        !take_guid(&values[2], &port.switch_guid) || !take_port(&values[3], &port.switch_port) ||
        !take_time(&values[4], &port.since) || !take_hca(&values[5], port.guid, &port.hca) ||
        !take_port_state(&values[8], &port.state) ||
        !take_accepted(&values[9], &port.is_accepted) ||
        oneib_ledger_port(&reading->ledger, port.guid) ||
        oneib_ledger_set_port(&reading->ledger, &port, &ignored) < 0)
        find_wrong(reading, "a HOST_PORT");
}

#define VECTOR_FIELDS 10

/* The entries, and who takes them. */
static const struct vector {
    enum oneib_name name;
    size_t count;
    enum oneib_name fields[VECTOR_FIELDS];
    void (*take)(struct reading *reading, const struct oneib_value *values);
} vectors[] = {
    {ONEIB_NAME_NETWORK,
     5,
     {ONEIB_NAME_ID, ONEIB_NAME_PKEY, ONEIB_NAME_OWNER, ONEIB_NAME_SINCE, ONEIB_NAME_SL},
     take_network},
    {ONEIB_NAME_RESTING,
     4,
     {ONEIB_NAME_PKEY, ONEIB_NAME_NETWORK, ONEIB_NAME_OWNER, ONEIB_NAME_SINCE},
     take_resting},
    {ONEIB_NAME_HOST,
     4,
     {ONEIB_NAME_ID, ONEIB_NAME_KEY, ONEIB_NAME_SINCE, ONEIB_NAME_SERIAL},
     take_host},
    {ONEIB_NAME_FORGOTTEN, 3, {ONEIB_NAME_ID, ONEIB_NAME_SINCE, ONEIB_NAME_SERIAL}, take_forgotten},
    {ONEIB_NAME_HOST_PORT,
     10,
     {ONEIB_NAME_HOST, ONEIB_NAME_GUID, ONEIB_NAME_SWITCH, ONEIB_NAME_PORT, ONEIB_NAME_SINCE,
      ONEIB_NAME_NAME, ONEIB_NAME_DRIVER, ONEIB_NAME_VFS, ONEIB_NAME_STATE, ONEIB_NAME_ACCEPTED},
     take_host_port},
    {ONEIB_NAME_DAEMON,
     4,
     {ONEIB_NAME_ADDRESS, ONEIB_NAME_CURVE, ONEIB_NAME_SIGN, ONEIB_NAME_SINCE},
     take_daemon},
    {ONEIB_NAME_FENCE,
     4,
     {ONEIB_NAME_HOST, ONEIB_NAME_WISH, ONEIB_NAME_ASKED, ONEIB_NAME_SINCE},
     take_fence},
    {ONEIB_NAME_FENCED_PORT,
     7,
     {ONEIB_NAME_HOST, ONEIB_NAME_GUID, ONEIB_NAME_SWITCH, ONEIB_NAME_PORT, ONEIB_NAME_STATE,
      ONEIB_NAME_ANSWER, ONEIB_NAME_SINCE},
     take_fenced_port},
};

static size_t length_of(enum oneib_name field)
{
    switch (field) {
    case ONEIB_NAME_ADDRESS:
        return ONEIB_ADDRESS_SIZE;
    case ONEIB_NAME_NAME:
        return ONEIB_DEVICE_NAME_SIZE + ONEIB_NUMBER_LENGTH;
    case ONEIB_NAME_KEY:
    case ONEIB_NAME_CURVE:
    case ONEIB_NAME_SIGN:
        return (size_t)2 * ONEIB_PUBLIC_KEY_SIZE;
    default:
        return ONEIB_NUMBER_LENGTH;
    }
}

static const struct vector *vector_at(const struct oneib_reader *reader)
{
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        if (oneib_reader_at(reader, vectors[i].name))
            return &vectors[i];
    return NULL;
}

static int read_vector(struct oneib_reader *reader, const struct vector *vector,
                       struct reading *reading, struct oneib_error *err)
{
    struct oneib_field fields[VECTOR_FIELDS];
    struct oneib_value values[VECTOR_FIELDS];
    const size_t mark = oneib_reader_mark(reader);
    for (size_t i = 0; i < vector->count; i++)
        fields[i] = (struct oneib_field){vector->fields[i], length_of(vector->fields[i])};
    if (oneib_reader_fields(reader, fields, vector->count, values, err) < 0)
        return -1;
    vector->take(reading, values);
    oneib_reader_forget(reader, mark);
    return 0;
}

/* What is not known here is of a newer oneib, or of somebody's hand. */
static int read_attribute(struct oneib_reader *reader, struct reading *reading,
                          struct oneib_error *err)
{
    const struct vector *vector = vector_at(reader);
    if (vector)
        return read_vector(reader, vector, reading, err);
    if (oneib_reader_at(reader, ONEIB_NAME_VERSION))
        return oneib_reader_value(reader, ONEIB_NUMBER_LENGTH, &reading->version, err);
    if (oneib_reader_at(reader, ONEIB_NAME_SERIAL))
        return oneib_reader_value(reader, ONEIB_NUMBER_LENGTH, &reading->serial, err);
    if (oneib_reader_at(reader, ONEIB_NAME_NEXT))
        return oneib_reader_value(reader, ONEIB_NUMBER_LENGTH, &reading->next, err);
    if (oneib_reader_at(reader, ONEIB_NAME_MTU))
        return oneib_reader_value(reader, ONEIB_NUMBER_LENGTH, &reading->mtu, err);
    if (oneib_reader_at(reader, ONEIB_NAME_RATE))
        return oneib_reader_value(reader, ONEIB_NUMBER_LENGTH, &reading->rate, err);
    find_wrong(reading, "an attribute");
    return 0;
}

static int read_template(struct oneib_reader *reader, struct reading *reading,
                         struct oneib_error *err)
{
    struct oneib_element element = oneib_reader_enter(reader);
    int outcome;
    while ((outcome = oneib_reader_child(reader, &element, err)) > 0)
        if (read_attribute(reader, reading, err) < 0)
            return -1;
    return outcome;
}

static int read_rights(struct oneib_reader *reader, struct reading *reading,
                       struct oneib_error *err)
{
    static const struct oneib_field fields[] = {{ONEIB_NAME_OTHER_U, ONEIB_NUMBER_LENGTH},
                                                {ONEIB_NAME_OTHER_M, ONEIB_NUMBER_LENGTH},
                                                {ONEIB_NAME_OTHER_A, ONEIB_NUMBER_LENGTH}};
    return oneib_reader_fields(reader, fields, 3, reading->rights, err);
}

static int read_child(struct oneib_reader *reader, struct reading *reading, struct oneib_error *err)
{
    if (oneib_reader_at(reader, ONEIB_NAME_ID))
        return oneib_reader_value(reader, ONEIB_NUMBER_LENGTH, &reading->id, err);
    if (oneib_reader_at(reader, ONEIB_NAME_UID))
        return oneib_reader_value(reader, ONEIB_NUMBER_LENGTH, &reading->uid, err);
    if (oneib_reader_at(reader, ONEIB_NAME_GID))
        return oneib_reader_value(reader, ONEIB_NUMBER_LENGTH, &reading->gid, err);
    if (oneib_reader_at(reader, ONEIB_NAME_TYPE))
        return oneib_reader_value(reader, ONEIB_NUMBER_LENGTH, &reading->type, err);
    if (oneib_reader_at(reader, ONEIB_NAME_PERMISSIONS))
        return read_rights(reader, reading, err);
    if (oneib_reader_at(reader, ONEIB_NAME_TEMPLATE))
        return read_template(reader, reading, err);
    return 0;
}

static bool is_number(const struct oneib_value *value, uint64_t wanted)
{
    uint64_t number;
    return oneib_value_number(value, UINT32_MAX, &number) && number == wanted;
}

/* Users can make documents of this type too. */
static bool is_administrators(const struct reading *reading)
{
    return is_number(&reading->type, ONEIB_LEDGER_TYPE) &&
           (is_number(&reading->uid, ADMINISTRATOR) || is_number(&reading->gid, ADMINISTRATORS));
}

/* Absent: 0, not measured yet. */
static uint8_t take_code(struct reading *reading, const struct oneib_value *value,
                         uint8_t (*code_of)(unsigned number), const char *what)
{
    uint64_t number;
    if (value->state == ONEIB_VALUE_ABSENT)
        return 0;
    const uint8_t code =
        oneib_value_number(value, UINT16_MAX, &number) ? code_of((unsigned)number) : 0;
    if (code == 0)
        find_wrong(reading, what);
    return code;
}

static void judge(struct reading *reading)
{
    uint64_t next;
    for (size_t i = 0; i < 3; i++)
        if (!is_number(&reading->rights[i], 0) && reading->wrong.code == ONEIB_ERROR_NONE)
            oneib_fail(&reading->wrong, ONEIB_ERROR_INPUT, "others have rights to it");
    if (!oneib_value_equals(&reading->version, VERSION))
        find_wrong(reading, "its VERSION");
    if (!oneib_value_number(&reading->serial, UINT64_MAX, &reading->ledger.serial))
        find_wrong(reading, "its SERIAL");
    if (reading->next.state != ONEIB_VALUE_TEXT ||
        !oneib_parse_hex_n(reading->next.text, reading->next.length, ONEIB_PKEY_DEFAULT, &next))
        find_wrong(reading, "its NEXT");
    else
        reading->ledger.next = (oneib_pkey)next;
    reading->ledger.mtu = take_code(reading, &reading->mtu, oneib_mtu_code, "its MTU");
    reading->ledger.rate = take_code(reading, &reading->rate, oneib_rate_code, "its RATE");
}

static void keep_broken(struct oneib_kept_ledger *kept, const struct oneib_error *why)
{
    oneib_ledger_clear(&kept->ledger);
    kept->state = ONEIB_LEDGER_BROKEN;
    oneib_fail(&kept->why, ONEIB_ERROR_INPUT, "the ledger, document %" PRIu32 ": %s; %s",
               kept->document_id, why->text, fix);
}

static void keep(struct oneib_kept_ledger *kept, uint32_t id, struct reading *reading)
{
    kept->document_id = kept->highest_id = id;
    if (reading->wrong.code != ONEIB_ERROR_NONE) {
        keep_broken(kept, &reading->wrong);
        return;
    }
    kept->state = ONEIB_LEDGER_READ;
    kept->ledger = reading->ledger;
    reading->ledger = (struct oneib_ledger){0};
}

static void keep_several(struct oneib_kept_ledger *kept, uint32_t id)
{
    struct oneib_error why;
    if (id < kept->document_id)
        kept->document_id = id;
    if (id > kept->highest_id)
        kept->highest_id = id;
    oneib_fail(&why, ONEIB_ERROR_INPUT,
               "there is another one, document %" PRIu32 ", and which one counts is unknown",
               kept->highest_id);
    keep_broken(kept, &why);
}

static int read_document(struct oneib_reader *reader, struct oneib_kept_ledger *kept, size_t *count,
                         struct oneib_error *err)
{
    struct reading reading = {0};
    struct oneib_element element = oneib_reader_enter(reader);
    uint32_t id;
    int outcome;
    while ((outcome = oneib_reader_child(reader, &element, err)) > 0)
        if ((outcome = read_child(reader, &reading, err)) < 0)
            break;
    if (outcome == 0 && is_administrators(&reading) && oneib_value_id(&reading.id, &id)) {
        judge(&reading);
        if (++*count == 1)
            keep(kept, id, &reading);
        else
            keep_several(kept, id);
    }
    oneib_ledger_clear(&reading.ledger);
    return outcome;
}

static int read_pool(struct oneib_reader *reader, struct oneib_kept_ledger *kept, size_t *count,
                     struct oneib_error *err)
{
    struct oneib_element pool = oneib_reader_enter(reader);
    int outcome;
    while ((outcome = oneib_reader_child(reader, &pool, err)) > 0) {
        if (oneib_reader_at(reader, ONEIB_NAME_DOCUMENT) &&
            read_document(reader, kept, count, err) < 0)
            return -1;
        oneib_reader_forget(reader, 0);
    }
    return outcome;
}

static int read_root(struct oneib_reader *reader, struct oneib_kept_ledger *kept, size_t *count,
                     struct oneib_error *err)
{
    if (oneib_reader_root(reader, err) < 0)
        return -1;
    oneib_reader_guard(reader, ONEIB_NAME_DOCUMENT,
                       oneib_reader_at(reader, ONEIB_NAME_DOCUMENT_POOL) ? 1 : 0);
    if (oneib_reader_at(reader, ONEIB_NAME_DOCUMENT_POOL))
        return read_pool(reader, kept, count, err);
    if (oneib_reader_at(reader, ONEIB_NAME_DOCUMENT))
        return read_document(reader, kept, count, err);
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "the document is of another kind");
}

int oneib_ledger_parse(const char *xml, size_t length, struct oneib_kept_ledger *kept,
                       size_t *count, struct oneib_error *err)
{
    *kept = (struct oneib_kept_ledger){0};
    *count = 0;
    oneib_autoreader struct oneib_reader *reader = oneib_reader_open(xml, length, err);
    if (!reader)
        return -1;
    if (read_root(reader, kept, count, err) == 0 && oneib_reader_finish(reader, err) == 0)
        return 0;
    oneib_kept_ledger_clear(kept);
    return -1;
}

static int look_among(struct oneib_one *one, int64_t owner, struct oneib_kept_ledger *found,
                      size_t *count, struct oneib_error *err)
{
    oneib_autofree char *xml = NULL;
    size_t length;
    if (oneib_one_documents(one, ONEIB_LEDGER_TYPE, owner, &xml, &length, err) < 0)
        return -1;
    return oneib_ledger_parse(xml, length, found, count, err);
}

/* Takes `more`. */
static void join(struct oneib_kept_ledger *found, struct oneib_kept_ledger *more)
{
    if (found->state == ONEIB_LEDGER_ABSENT) {
        *found = *more;
        return;
    }
    if (more->state != ONEIB_LEDGER_ABSENT) {
        keep_several(found, more->document_id);
        keep_several(found, more->highest_id);
    }
    oneib_kept_ledger_clear(more);
}

static int look_among_each(struct oneib_one *one, const struct oneib_id_set *owners,
                           struct oneib_kept_ledger *found, struct oneib_error *err)
{
    for (size_t i = 0; i < owners->count; i++) {
        struct oneib_kept_ledger more = {0};
        size_t count;
        if (look_among(one, owners->items[i], &more, &count, err) < 0) {
            oneib_kept_ledger_clear(found);
            return -1;
        }
        join(found, &more);
    }
    return 0;
}

/* A user with rights by ACL would be shown everybody's documents, in one answer that everybody
 * writes into. Asked owner by owner, oned shows none but administrators'. */
static int look_among_administrators(struct oneib_one *one, struct oneib_kept_ledger *found,
                                     struct oneib_error *err)
{
    oneib_autoids struct oneib_id_set owners;
    if (oneib_one_administrators(one, &owners, err) < 0)
        return err->code == ONEIB_ERROR_PERMISSION
                   ? oneib_wrap(err, "to find it oneib's user needs USE on the group oneadmin, by "
                                     "oneacl, as on documents")
                   : -1;
    return look_among_each(one, &owners, found, err);
}

static int look_for_it(struct oneib_one *one, bool by_acl, struct oneib_kept_ledger *found,
                       struct oneib_error *err)
{
    size_t count;
    return by_acl ? look_among_administrators(one, found, err)
                  : look_among(one, ONEIB_OWN_AND_GROUPS, found, &count, err);
}

/* One that has become somebody else's is none. */
static int look_at_it(struct oneib_one *one, uint32_t id, struct oneib_kept_ledger *found,
                      struct oneib_error *err)
{
    oneib_autofree char *xml = NULL;
    size_t length, count;
    if (oneib_one_document(one, id, &xml, &length, err) < 0)
        return -1;
    return oneib_ledger_parse(xml, length, found, &count, err);
}

static int read_again(struct oneib_one *one, bool by_acl, const struct oneib_kept_ledger *kept,
                      struct oneib_kept_ledger *found, struct oneib_error *err)
{
    *found = (struct oneib_kept_ledger){0};
    if (kept->state != ONEIB_LEDGER_READ)
        return look_for_it(one, by_acl, found, err);
    struct oneib_error failure;
    if (look_at_it(one, kept->document_id, found, &failure) == 0)
        return 0;
    if (failure.code == ONEIB_ERROR_NOT_FOUND)
        return look_for_it(one, by_acl, found, err);
    *err = failure;
    return -1;
}

int oneib_ledger_read(struct oneib_one *one, bool by_acl, struct oneib_kept_ledger *kept,
                      struct oneib_error *err)
{
    struct oneib_kept_ledger found;
    if (read_again(one, by_acl, kept, &found, err) < 0)
        return oneib_wrap(err, "reading the ledger");
    oneib_kept_ledger_clear(kept);
    *kept = found;
    return 0;
}

int oneib_ledger_read_usable(struct oneib_one *one, bool by_acl, struct oneib_kept_ledger *kept,
                             struct oneib_error *err)
{
    if (oneib_ledger_read(one, by_acl, kept, err) < 0)
        return -1;
    if (kept->state != ONEIB_LEDGER_BROKEN)
        return 0;
    *err = kept->why;
    return -1;
}

static int check_unchanged(struct oneib_one *one, const struct oneib_kept_ledger *kept,
                           struct oneib_error *err)
{
    oneib_autokept struct oneib_kept_ledger now;
    if (read_again(one, false, kept, &now, err) < 0)
        return -1;
    if (now.state == kept->state &&
        (kept->state == ONEIB_LEDGER_ABSENT ||
         (now.document_id == kept->document_id && oneib_ledger_equal(&now.ledger, &kept->ledger))))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "another writer has changed the ledger since it was read, as 'oneib fence', "
                      "'oneib host' and the oneibd beside another subnet manager do; if this goes "
                      "on, is more than one oneibd the writer (one.writer)?");
}

static int make_document(struct oneib_one *one, const struct oneib_ledger *ledger, uint32_t *id,
                         struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    oneib_text_append(&text, "NAME = \"" ONEIB_LEDGER_NAME "\"\n");
    oneib_ledger_render(ledger, &text);
    if (oneib_one_make_document(one, ONEIB_LEDGER_TYPE, text.data, id, err) < 0)
        return -1;
    return oneib_one_close_document(one, *id, err);
}

static int replace_document(struct oneib_one *one, const struct oneib_ledger *ledger, uint32_t id,
                            struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    oneib_ledger_render(ledger, &text);
    return oneib_one_replace_document(one, id, text.data, err);
}

/* Until it is read back as what is wanted, *kept stays. */
static int read_back(struct oneib_one *one, uint32_t id, const struct oneib_ledger *wanted,
                     struct oneib_kept_ledger *kept, struct oneib_error *err)
{
    oneib_autokept struct oneib_kept_ledger now = {0};
    if (look_at_it(one, id, &now, err) < 0)
        return -1;
    if (now.state == ONEIB_LEDGER_BROKEN) {
        *err = now.why;
        return -1;
    }
    if (now.state != ONEIB_LEDGER_READ || !oneib_ledger_equal(&now.ledger, wanted))
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "the ledger, document %" PRIu32
                          ", is not what was just written: is more than one oneibd allowed to "
                          "write (one.writer)?",
                          id);
    oneib_kept_ledger_clear(kept);
    *kept = now;
    now.ledger = (struct oneib_ledger){0};
    return 0;
}

static int put(struct oneib_one *one, struct oneib_kept_ledger *kept, uint64_t serial,
               const struct oneib_ledger *next, struct oneib_error *err)
{
    oneib_autoledger struct oneib_ledger wanted;
    uint32_t id = kept->document_id;
    oneib_ledger_copy(next, &wanted);
    wanted.serial = serial;
    const int outcome = kept->state == ONEIB_LEDGER_ABSENT
                            ? make_document(one, &wanted, &id, err)
                            : replace_document(one, &wanted, id, err);
    return outcome < 0 ? -1 : read_back(one, id, &wanted, kept, err);
}

/* Whoever writes has oned's lock of the document: between looking whether it is unchanged and
 * having read it back nobody else writes. Who has ended with the lock in hand loses it. */
static int lock(struct oneib_one *one, const struct oneib_kept_ledger *kept,
                struct oneib_error *err)
{
    const double end = oneib_now_ms() + LOCK_PATIENCE_MS;
    bool taken = false, broken = false;
    while (!taken) {
        if (oneib_one_lock_document(one, kept->document_id, &taken, err) < 0)
            return -1;
        if (taken || oneib_now_ms() < end) {
            if (!taken)
                poll(NULL, 0, LOCK_PAUSE_MS);
            continue;
        }
        if (broken)
            return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                              "document %" PRIu32 " stays locked: onedocument unlock does not help",
                              kept->document_id);
        broken = true;
        if (oneib_one_unlock_document(one, kept->document_id, err) < 0)
            return -1;
    }
    return 0;
}

/* A lock that cannot be given back is taken from us in a while. */
static void unlock(struct oneib_one *one, uint32_t id)
{
    struct oneib_error ignored;
    (void)oneib_one_unlock_document(one, id, &ignored);
}

static int write_unchanged(struct oneib_one *one, struct oneib_kept_ledger *kept,
                           const struct oneib_ledger *next, struct oneib_error *err)
{
    return check_unchanged(one, kept, err) < 0 ? -1
                                               : put(one, kept, kept->ledger.serial + 1, next, err);
}

/* One that is not there has no lock: two that make it are two documents, which nobody believes. */
static int write_locked(struct oneib_one *one, struct oneib_kept_ledger *kept,
                        const struct oneib_ledger *next, struct oneib_error *err)
{
    const uint32_t id = kept->document_id;
    if (kept->state == ONEIB_LEDGER_ABSENT)
        return write_unchanged(one, kept, next, err);
    if (lock(one, kept, err) < 0)
        return -1;
    const int outcome = write_unchanged(one, kept, next, err);
    unlock(one, id);
    return outcome;
}

int oneib_ledger_write(struct oneib_one *one, struct oneib_kept_ledger *kept,
                       const struct oneib_ledger *next, struct oneib_error *err)
{
    if (kept->state == ONEIB_LEDGER_BROKEN) {
        *err = kept->why;
        return oneib_wrap(err, "writing the ledger");
    }
    return write_locked(one, kept, next, err) < 0 ? oneib_wrap(err, "writing the ledger") : 0;
}

/* Until there is one, the lowest. */
static int remove_others(struct oneib_one *one, struct oneib_error *err)
{
    for (;;) {
        size_t count;
        struct oneib_kept_ledger found;
        if (look_among(one, ONEIB_OWN_AND_GROUPS, &found, &count, err) < 0)
            return -1;
        const uint32_t highest = found.highest_id;
        oneib_kept_ledger_clear(&found);
        if (count < 2)
            return 0;
        if (oneib_one_delete_document(one, highest, err) < 0)
            return -1;
    }
}

int oneib_ledger_overwrite(struct oneib_one *one, struct oneib_kept_ledger *kept,
                           const struct oneib_ledger *next, struct oneib_error *err)
{
    if (oneib_ledger_read(one, false, kept, err) < 0)
        return -1;
    const uint64_t before = kept->state == ONEIB_LEDGER_READ ? kept->ledger.serial : 0;
    const uint64_t serial = (before > next->serial ? before : next->serial) + 1;
    if (kept->state == ONEIB_LEDGER_BROKEN &&
        (remove_others(one, err) < 0 || oneib_one_close_document(one, kept->document_id, err) < 0))
        return oneib_wrap(err, "writing the ledger");
    return put(one, kept, serial, next, err) < 0 ? oneib_wrap(err, "writing the ledger") : 0;
}
