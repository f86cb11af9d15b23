// SPDX-License-Identifier: Apache-2.0
/* What a message of oned's event stream says. */
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "base/text.h"
#include "opennebula/documents_internal.h"
#include "opennebula/events_internal.h"
#include "xml/reader.h"
#include <string.h>

#define CALL_BEGIN "EVENT API "

/*
 * Of the calls for VMs only those that change a VM's NICs, or whether it is there at all, while its
 * state may stay what it was: a NIC of a VM that is powered off comes and goes without a change of
 * state (recorded), and `recover` can delete a VM from the database. All others (deploy, action,
 * migrate, ...) change a state, which is told by itself, or nothing that partitions depend on.
 */
const struct oneib_event_topic oneib_event_topics[] = {
    {"EVENT STATE VM/", ONEIB_EVENT_VM, false},
    {"EVENT STATE NET/", ONEIB_EVENT_NETWORK, false},
    {"EVENT STATE HOST/", ONEIB_EVENT_HOST, false},
    {CALL_BEGIN "one.vn.", ONEIB_EVENT_NETWORK, true},
    {CALL_BEGIN "one.host.", ONEIB_EVENT_HOST, true},
    {CALL_BEGIN "one.document.update ", ONEIB_EVENT_DOCUMENT, true},
    {CALL_BEGIN "one.vm.attachnic ", ONEIB_EVENT_VM, true},
    {CALL_BEGIN "one.vm.detachnic ", ONEIB_EVENT_VM, true},
    {CALL_BEGIN "one.vm.updatenic ", ONEIB_EVENT_VM, true},
    {CALL_BEGIN "one.vm.attachpci ", ONEIB_EVENT_VM, true},
    {CALL_BEGIN "one.vm.detachpci ", ONEIB_EVENT_VM, true},
    {CALL_BEGIN "one.vm.recover ", ONEIB_EVENT_VM, true},
    {NULL, ONEIB_EVENT_NOTHING, false},
};

static struct oneib_event nothing(void)
{
    return (struct oneib_event){.kind = ONEIB_EVENT_NOTHING};
}

static struct oneib_event gap(void)
{
    return (struct oneib_event){.kind = ONEIB_EVENT_GAP};
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* What of a key has not been read yet. */
struct rest {
    const char *at;
    size_t length;
};

static void advance(struct rest *rest, size_t length)
{
    rest->at += length;
    rest->length -= length;
}

static bool skip(struct rest *rest, const char *text)
{
    size_t length = strlen(text);
    if (rest->length < length || memcmp(rest->at, text, length) != 0)
        return false;
    advance(rest, length);
    return true;
}

/* Takes the bytes at the beginning that are in `set`. */
static struct rest take(struct rest *rest, const char *set)
{
    struct rest taken = {.at = rest->at};
    while (taken.length < rest->length && memchr(set, rest->at[taken.length], strlen(set)))
        taken.length++;
    advance(rest, taken.length);
    return taken;
}

static bool equals(const struct rest *word, const char *text)
{
    return word->length == strlen(text) && memcmp(word->at, text, word->length) == 0;
}

/* "ACTIVE/BOOT/1 ". States that later releases add are as good as any; one that oned has no name
 * for is empty (recorded: "EVENT STATE NET///1 "). */
static struct oneib_event read_state(struct rest rest, enum oneib_event_kind kind)
{
    static const char name[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    take(&rest, name);
    if (!skip(&rest, "/"))
        return gap();
    take(&rest, name);
    if (!skip(&rest, "/"))
        return gap();
    struct rest digits = take(&rest, "0123456789");
    uint64_t id;
    if (!skip(&rest, " ") || rest.length > 0 ||
        !oneib_parse_decimal_n(digits.at, digits.length, ONEIB_ID_MAX, &id))
        return gap();
    return (struct oneib_event){.kind = kind, .id = (uint32_t)id};
}

/* ---- payloads of calls ----------------------------------------------------------------------- */

/* The parameter of a call that is its object's number. */
struct wanted {
    const char *type; /* "IN" or "OUT" */
    unsigned found;
    uint32_t id;
};

/* IN 1 is the session, OUT 1 whether it succeeded. */
static bool read_parameter(struct oneib_reader *reader, struct wanted *wanted,
                           struct oneib_error *err)
{
    enum { POSITION, TYPE, VALUE, FIELDS };
    static const struct oneib_field fields[FIELDS] = {
        [POSITION] = {ONEIB_NAME_POSITION, ONEIB_NUMBER_LENGTH},
        [TYPE] = {ONEIB_NAME_TYPE, sizeof "OUT" - 1},
        [VALUE] = {ONEIB_NAME_VALUE, ONEIB_NUMBER_LENGTH},
    };
    struct oneib_value values[FIELDS];
    size_t mark = oneib_reader_mark(reader);
    bool sound = oneib_reader_fields(reader, fields, FIELDS, values, err) == 0;
    if (sound && oneib_value_equals(&values[POSITION], "2") &&
        oneib_value_equals(&values[TYPE], wanted->type)) {
        wanted->found++;
        sound = oneib_value_id(&values[VALUE], &wanted->id);
    }
    oneib_reader_forget(reader, mark);
    return sound;
}

/* Goes down the path to the parameters. Whatever else is in the document is passed over, above all
 * EXTRA: a whole object, with all that users wrote into it. */
static bool read_children(struct oneib_reader *reader, const enum oneib_name *path,
                          struct wanted *wanted, struct oneib_error *err)
{
    struct oneib_element element = oneib_reader_enter(reader);
    int outcome;
    while ((outcome = oneib_reader_child(reader, &element, err)) > 0) {
        if (!oneib_reader_at(reader, *path))
            continue;
        bool sound = *path == ONEIB_NAME_PARAMETER ? read_parameter(reader, wanted, err)
                                                   : read_children(reader, path + 1, wanted, err);
        if (!sound)
            return false;
    }
    return outcome == 0;
}

static bool read_document(const char *xml, size_t length, struct wanted *wanted)
{
    static const enum oneib_name path[] = {ONEIB_NAME_CALL_INFO, ONEIB_NAME_PARAMETERS,
                                           ONEIB_NAME_PARAMETER};
    struct oneib_error err = {0};
    oneib_autoreader struct oneib_reader *reader = oneib_reader_open(xml, length, &err);
    return reader && oneib_reader_root(reader, &err) == 0 &&
           oneib_reader_at(reader, ONEIB_NAME_HOOK_MESSAGE) &&
           read_children(reader, path, wanted, &err) && oneib_reader_finish(reader, &err) == 0 &&
           wanted->found == 1;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool is_any(const struct rest *call, const char *const *names)
{
    while (*names && !equals(call, *names))
        names++;
    return *names != NULL;
}

/* What a call answers names the object, where the call made it. (`reserve` takes the number of the
 * network reserved from.) All others are told the number right after the session. */
static bool answers_id(const struct rest *call)
{
    static const char *const making[] = {"one.vn.allocate", "one.vn.reserve", "one.host.allocate",
                                         NULL};
    return is_any(call, making);
}

/* Behind the second parameter; NULL: there is none. */
static const char *after_second_parameter(const char *xml, size_t length)
{
    static const char end[] = "</PARAMETER>";
    const char *at = xml;
    for (unsigned i = 0; at && i < 2; i++) {
        at = memmem(at, length - (size_t)(at - xml), end, sizeof end - 1);
        at = at ? at + sizeof end - 1 : NULL;
    }
    return at;
}

/* oned does not escape the values of parameters (recorded), so the document is read as if it ended
 * with the number that oned wrote, in front of what users did. */
static bool read_given(const char *xml, size_t length, uint32_t *id)
{
    oneib_autotext struct oneib_text head = {0};
    const char *end = after_second_parameter(xml, length);
    struct wanted wanted = {.type = "IN"};
    if (!end)
        return false;
    oneib_text_append_bytes(&head, xml, (size_t)(end - xml));
    oneib_text_append(&head, "</PARAMETERS></CALL_INFO></HOOK_MESSAGE>");
    if (!read_document(head.data, head.length, &wanted))
        return false;
    *id = wanted.id;
    return true;
}

static bool read_answered(const char *xml, size_t length, uint32_t *id)
{
    struct wanted wanted = {.type = "OUT"};
    if (!read_document(xml, length, &wanted))
        return false;
    *id = wanted.id;
    return true;
}

/* Monitoring is published although it only reads, and is called by every page of Sunstone. */
static bool only_reads(const struct rest *call)
{
    static const char *const reading[] = {"one.host.monitoring", NULL};
    return is_any(call, reading);
}

/* "one.vn.update 1": the call and whether it succeeded. Unlike with states no blank follows
 * (recorded). */
static struct oneib_event read_call(struct rest rest, enum oneib_event_kind kind,
                                    const char *payload, size_t payload_length)
{
    struct rest call = take(&rest, "abcdefghijklmnopqrstuvwxyz0123456789._");
    if (equals(&rest, " 0"))
        return nothing();
    if (!equals(&rest, " 1") || payload_length > ONEIB_EVENT_SIZE_MAX)
        return gap();
    if (only_reads(&call))
        return nothing();
    size_t length;
    oneib_autofree char *xml = oneib_base64_decode(payload, payload_length, &length);
    struct oneib_event event = {.kind = kind};
    if (!xml || !(answers_id(&call) ? read_answered(xml, length, &event.id)
                                    : read_given(xml, length, &event.id)))
        return gap();
    return event;
}

struct oneib_event oneib_event_read(const char *key, size_t key_length, const char *payload,
                                    size_t payload_length)
{
    for (const struct oneib_event_topic *topic = oneib_event_topics; topic->prefix; topic++) {
        struct rest rest = {.at = key, .length = key_length};
        if (!skip(&rest, topic->prefix))
            continue;
        if (!topic->is_call)
            return read_state(rest, topic->kind);
        rest = (struct rest){.at = key, .length = key_length};
        skip(&rest, CALL_BEGIN);
        return read_call(rest, topic->kind, payload, payload_length);
    }
    return nothing();
}
