// SPDX-License-Identifier: Apache-2.0
#include "placement/message.h"
#include "base/array.h"
#include "base/finding.h"
#include "base/order.h"
#include "opennebula/documents.h"
#include "xml/reader.h"
#include "xml/values.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ROOT "<SCHEDULER_DRIVER_ACTION>"
#define ROOT_END "</SCHEDULER_DRIVER_ACTION>"
#define VMS_TO_HOSTS "</VM_POOL><HOST_POOL>"
#define HOSTS_TO_STORES "</HOST_POOL><DATASTORE_POOL"
#define REQUIREMENTS "<REQUIREMENTS>"

static int refuse(struct oneib_error *err, const char *what)
{
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "the scheduler's message %s", what);
}

/* ---- its parts ------------------------------------------------------------------------------- */

/* A piece of the message that has not been read yet. */
struct piece {
    const char *at, *end;
};

static bool skip(struct piece *piece, const char *word)
{
    const size_t length = strlen(word);
    if ((size_t)(piece->end - piece->at) < length || memcmp(piece->at, word, length) != 0)
        return false;
    piece->at += length;
    return true;
}

static const char *find(const struct piece *piece, const char *word)
{
    return memmem(piece->at, (size_t)(piece->end - piece->at), word, strlen(word));
}

/* How far a word may be moved to the front over a text in which `c` is under its first character:
 * to where it has that one itself. */
static size_t shift_of(const char *word, size_t length, char c)
{
    for (size_t i = 1; i < length; i++)
        if (word[i] == c)
            return i;
    return length;
}

/* Behind it are numbers alone: what a user writes is in front of the last one. They are most of a
 * message, so they are searched by Horspool's way. */
static const char *find_last(const struct piece *piece, const char *word)
{
    const size_t length = strlen(word);
    size_t shifts[UINT8_MAX + 1], left = (size_t)(piece->end - piece->at);
    for (size_t i = 0; i <= UINT8_MAX; i++)
        shifts[i] = shift_of(word, length, (char)i);
    while (left >= length) {
        const char *at = piece->at + left - length;
        if (memcmp(at, word, length) == 0)
            return at;
        const size_t shift = shifts[(uint8_t)*at];
        left -= shift < left ? shift : left;
    }
    return NULL;
}

/* Where the VMs end must be beyond doubt: a user can write that down, too. */
static int find_pools(const struct piece *head, struct piece *vms, struct piece *hosts,
                      struct oneib_error *err)
{
    const char *seam = find(head, VMS_TO_HOSTS);
    if (!seam)
        return refuse(err, "has no pool of VMs and of hosts");
    const char *after = seam + strlen(VMS_TO_HOSTS) - strlen("<HOST_POOL>");
    const struct piece rest = {after, head->end};
    if (find(&rest, VMS_TO_HOSTS))
        return refuse(err, "has the end of its pool of VMs twice: a VM's text says it");
    const char *end = find(&rest, HOSTS_TO_STORES);
    if (!end)
        return refuse(err, "has a pool of hosts without an end");
    *vms = (struct piece){head->at, seam + strlen("</VM_POOL>")};
    *hosts = (struct piece){after, end + strlen("</HOST_POOL>")};
    return 0;
}

/* ---- the requirements ------------------------------------------------------------------------ */

static bool skip_id(struct piece *piece, uint32_t *id)
{
    uint64_t number = 0;
    if (!skip(piece, "<ID>"))
        return false;
    const char *first = piece->at;
    while (piece->at < piece->end && *piece->at >= '0' && *piece->at <= '9' &&
           number <= ONEIB_ID_MAX)
        number = number * 10 + (uint64_t)(*piece->at++ - '0');
    *id = (uint32_t)number;
    return piece->at > first && number <= ONEIB_ID_MAX && skip(piece, "</ID>");
}

static int check_hosts(struct piece *piece, struct oneib_error *err)
{
    uint32_t id;
    for (int64_t last = -1; skip_id(piece, &id); last = id)
        if (last >= id)
            return refuse(err, "has hosts that are not in order");
    return 0;
}

bool oneib_requirement_next(const struct oneib_requirement *requirement, size_t *at, uint32_t *id)
{
    struct piece piece = {requirement->hosts + *at, requirement->rest};
    const bool is_there = skip_id(&piece, id);
    *at = (size_t)(piece.at - requirement->hosts);
    return is_there;
}

/* Datastores and networks: tags and numbers, which are passed on. */
static bool skip_rest(struct piece *piece, struct oneib_requirement *requirement)
{
    requirement->rest = piece->at;
    const char *end = find(piece, "</VM>");
    if (!end || !skip(piece, "</HOSTS><DATASTORES>"))
        return false;
    for (const char *at = piece->at; at < end; at++)
        if (!memchr("<>/_", *at, 4) && !(*at >= '0' && *at <= '9') && !(*at >= 'A' && *at <= 'Z'))
            return false;
    piece->at = end + strlen("</VM>");
    requirement->length = (size_t)(piece->at - requirement->text);
    return true;
}

static int read_requirement(struct piece *piece, struct oneib_sched_message *message,
                            struct oneib_error *err)
{
    struct oneib_requirement *requirement =
        ONEIB_ADD(message->requirements, message->requirement_count, message->requirement_capacity);
    *requirement = (struct oneib_requirement){.text = piece->at - strlen("<VM>")};
    if (!skip_id(piece, &requirement->vm_id) || !skip(piece, "<HOSTS>"))
        return refuse(err, "has a requirement that is no VM's");
    if (message->requirement_count > 1 && requirement[-1].vm_id >= requirement->vm_id)
        return refuse(err, "has requirements that are not in order");
    requirement->hosts = piece->at;
    if (check_hosts(piece, err) < 0)
        return -1;
    return skip_rest(piece, requirement) ? 0 : refuse(err, "has a requirement without an end");
}

static int read_requirements(struct piece *piece, struct oneib_sched_message *message,
                             struct oneib_error *err)
{
    while (skip(piece, "<VM>"))
        if (read_requirement(piece, message, err) < 0)
            return -1;
    return skip(piece, "</REQUIREMENTS>" ROOT_END) ? 0 : refuse(err, "has no end");
}

/* ---- its VMs --------------------------------------------------------------------------------- */

static int64_t later(int64_t before, const struct oneib_value *value)
{
    uint64_t number;
    if (!oneib_value_number(value, INT64_MAX, &number) || (int64_t)number < before)
        return before;
    return (int64_t)number;
}

static int read_histories(struct oneib_reader *reader, struct oneib_asking_vm *vm,
                          struct oneib_error *err)
{
    static const struct oneib_field end = {ONEIB_NAME_ETIME, ONEIB_NUMBER_LENGTH};
    struct oneib_element records = oneib_reader_enter(reader);
    const size_t mark = oneib_reader_mark(reader);
    int outcome;
    while ((outcome = oneib_reader_child(reader, &records, err)) > 0) {
        struct oneib_value value;
        if (!oneib_reader_at(reader, ONEIB_NAME_HISTORY))
            continue;
        if (oneib_reader_fields(reader, &end, 1, &value, err) < 0)
            return -1;
        vm->since = later(vm->since, &value);
        oneib_reader_forget(reader, mark);
    }
    return outcome;
}

static int read_template(struct oneib_reader *reader, struct oneib_asking_vm *vm,
                         struct oneib_error *err)
{
    struct oneib_element template = oneib_reader_enter(reader);
    int outcome;
    while ((outcome = oneib_reader_child(reader, &template, err)) > 0)
        vm->is_grouped |= oneib_reader_at(reader, ONEIB_NAME_VMGROUP);
    return outcome;
}

/* The first one is oned's: what users write comes behind it. */
static void take_owner(const struct oneib_value *value, struct oneib_asking_vm *vm)
{
    uint32_t owner;
    if (vm->owner == ONEIB_NO_ID && oneib_value_id(value, &owner))
        vm->owner = owner;
}

static int read_vm_child(struct oneib_reader *reader, struct oneib_asking_vm *vm, bool *has_id,
                         struct oneib_error *err)
{
    struct oneib_value value = {0};
    if (oneib_reader_at(reader, ONEIB_NAME_HISTORY_RECORDS))
        return read_histories(reader, vm, err);
    if (oneib_reader_at(reader, ONEIB_NAME_TEMPLATE))
        return read_template(reader, vm, err);
    const bool is_id = oneib_reader_at(reader, ONEIB_NAME_ID);
    const bool is_owner = oneib_reader_at(reader, ONEIB_NAME_UID);
    if (!is_id && !is_owner && !oneib_reader_at(reader, ONEIB_NAME_STIME))
        return 0;
    if (oneib_reader_value(reader, ONEIB_NUMBER_LENGTH, &value, err) < 0)
        return -1;
    if (is_id)
        *has_id = oneib_value_id(&value, &vm->id);
    else if (is_owner)
        take_owner(&value, vm);
    else
        vm->since = later(vm->since, &value);
    return 0;
}

static int read_vm(struct oneib_reader *reader, struct oneib_sched_message *message,
                   struct oneib_error *err)
{
    struct oneib_asking_vm vm = {.owner = ONEIB_NO_ID};
    struct oneib_element element = oneib_reader_enter(reader);
    const size_t mark = oneib_reader_mark(reader);
    bool has_id = false;
    int outcome;
    while ((outcome = oneib_reader_child(reader, &element, err)) > 0) {
        if (read_vm_child(reader, &vm, &has_id, err) < 0)
            return -1;
        oneib_reader_forget(reader, mark);
    }
    if (outcome < 0)
        return -1;
    if (!has_id)
        return refuse(err, "has a VM without an id");
    ONEIB_APPEND(message->vms, message->vm_count, message->vm_capacity, vm);
    return 0;
}

static int read_vm_pool(struct oneib_reader *reader, struct oneib_sched_message *message,
                        struct oneib_error *err)
{
    struct oneib_element pool = oneib_reader_enter(reader);
    int outcome;
    while ((outcome = oneib_reader_child(reader, &pool, err)) > 0)
        if (oneib_reader_at(reader, ONEIB_NAME_VM) && read_vm(reader, message, err) < 0)
            return -1;
    return outcome;
}

static int read_vm_document(struct oneib_reader *reader, struct oneib_sched_message *message,
                            struct oneib_error *err)
{
    if (oneib_reader_root(reader, err) < 0)
        return -1;
    const bool is_alone = oneib_reader_at(reader, ONEIB_NAME_VM);
    oneib_reader_guard(reader, ONEIB_NAME_VM, is_alone ? 0 : 1);
    const int outcome =
        is_alone ? read_vm(reader, message, err) : read_vm_pool(reader, message, err);
    return outcome < 0 ? -1 : oneib_reader_finish(reader, err);
}

/* Since when they wait, and whether they are in groups. */
static int read_asking(const char *xml, size_t length, struct oneib_sched_message *message,
                       struct oneib_error *err)
{
    oneib_autoreader struct oneib_reader *reader = oneib_reader_open(xml, length, err);
    return reader ? read_vm_document(reader, message, err) : -1;
}

/* What is odd in a document is oneibd's to say, not ours. */
static int read_nics(const char *xml, size_t length, struct oneib_documents *documents,
                     struct oneib_error *err)
{
    oneib_autofindings struct oneib_findings findings = {0};
    documents->findings = &findings;
    const int status = oneib_documents_read_vms(documents, xml, length, err);
    oneib_documents_clear(documents);
    return status;
}

ONEIB_ORDER_BY(compare_vms, struct oneib_asking_vm, id);

/* Of two with one id nobody can tell which is oned's. */
static int sort_asking(struct oneib_sched_message *message, size_t first, struct oneib_error *err)
{
    const size_t count = message->vm_count - first;
    if (count == 0)
        return 0;
    struct oneib_asking_vm *vms = message->vms + first;
    ONEIB_SORT(vms, count, compare_vms);
    for (size_t i = 1; i < count; i++)
        if (vms[i].id == vms[i - 1].id)
            return refuse(err, "has a VM twice");
    return 0;
}

static int add_vms(struct oneib_sched_message *message, const char *xml, size_t length,
                   struct oneib_documents *documents, struct oneib_error *err)
{
    const size_t before = message->vm_count;
    documents->cloud = &message->cloud;
    if (read_asking(xml, length, message, err) == 0 && sort_asking(message, before, err) == 0 &&
        read_nics(xml, length, documents, err) == 0)
        return 0;
    message->vm_count = before;
    return -1;
}

int oneib_sched_message_add_vms(struct oneib_sched_message *message, const char *xml, size_t length,
                                uint32_t first, uint32_t last, const char *vn_mad,
                                struct oneib_error *err)
{
    struct oneib_documents documents = {.vn_mad = vn_mad, .vms_wanted = {true, first, last}};
    if (add_vms(message, xml, length, &documents, err) < 0)
        return -1;
    oneib_cloud_sort(&message->cloud);
    return 0;
}

int oneib_sched_message_add_hosts(struct oneib_sched_message *message, const char *xml,
                                  size_t length, struct oneib_error *err)
{
    oneib_autofindings struct oneib_findings findings = {0};
    oneib_autodocuments struct oneib_documents documents = {.cloud = &message->cloud,
                                                            .findings = &findings};
    const int status = oneib_documents_read_hosts(&documents, xml, length, err);
    oneib_cloud_sort(&message->cloud);
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int read_all(struct piece whole, struct oneib_sched_message *message,
                    struct oneib_error *err)
{
    struct piece head = whole;
    const char *requirements = find_last(&whole, REQUIREMENTS);
    if (!requirements || !skip(&head, ROOT))
        return refuse(err, "is none");
    whole.at = requirements + strlen(REQUIREMENTS);
    message->head = (size_t)(requirements - message->xml);
    if (read_requirements(&whole, message, err) < 0)
        return -1;
    while (whole.at < whole.end && memchr(" \t\r\n", *whole.at, 4))
        whole.at++;
    return whole.at == whole.end ? 0 : refuse(err, "goes on behind its end");
}

int oneib_sched_message_read(const char *xml, size_t length, struct oneib_sched_message *message,
                             struct oneib_error *err)
{
    *message = (struct oneib_sched_message){.xml = xml};
    if (read_all((struct piece){xml, xml + length}, message, err) == 0)
        return 0;
    oneib_sched_message_clear(message);
    return -1;
}

static int read_pools(struct oneib_sched_message *message, const char *vn_mad,
                      struct oneib_error *err)
{
    struct piece vms = {0}, hosts = {0};
    struct oneib_documents documents = {.vn_mad = vn_mad};
    const struct piece head = {message->xml + strlen(ROOT), message->xml + message->head};
    if (find_pools(&head, &vms, &hosts, err) < 0 ||
        add_vms(message, vms.at, (size_t)(vms.end - vms.at), &documents, err) < 0)
        return -1;
    return oneib_sched_message_add_hosts(message, hosts.at, (size_t)(hosts.end - hosts.at), err);
}

int oneib_sched_message_read_pools(struct oneib_sched_message *message, const char *vn_mad,
                                   struct oneib_error *err)
{
    if (read_pools(message, vn_mad, err) == 0)
        return 0;
    message->vm_count = 0;
    oneib_cloud_clear(&message->cloud);
    return -1;
}

const struct oneib_asking_vm *oneib_sched_vm(const struct oneib_sched_message *message,
                                             uint32_t vm_id)
{
    const struct oneib_asking_vm wanted = {.id = vm_id};
    return ONEIB_FIND(&wanted, message->vms, message->vm_count, compare_vms);
}

static const struct oneib_waiting_vm *window_vm(const struct oneib_window *window, uint32_t vm_id)
{
    for (size_t i = 0; i < window->vm_count; i++)
        if (window->vms[i].id == vm_id)
            return &window->vms[i];
    return NULL;
}

/* ---- writing --------------------------------------------------------------------------------- */

static struct oneib_sched_piece *add_piece(struct oneib_sched_pieces *pieces, const char *bytes)
{
    struct oneib_sched_piece *piece = ONEIB_ADD(pieces->items, pieces->count, pieces->capacity);
    *piece = (struct oneib_sched_piece){.bytes = bytes};
    return piece;
}

/* What follows the piece before it in the message is one with it. */
static void borrow(struct oneib_sched_pieces *pieces, const char *bytes, size_t length)
{
    struct oneib_sched_piece *last = pieces->count ? &pieces->items[pieces->count - 1] : NULL;
    if (!last || !last->bytes || last->bytes + last->length != bytes)
        last = add_piece(pieces, bytes);
    last->length += length;
}

/* A piece of words has no address until all of them are there: they move as they become more. */
static void write_vm(const struct oneib_window *window, const struct oneib_waiting_vm *vm,
                     struct oneib_sched_pieces *pieces)
{
    struct oneib_text *words = &pieces->words;
    const size_t before = words->length;
    struct oneib_sched_piece *piece = add_piece(pieces, NULL);
    oneib_text_printf(words, "<VM><ID>%" PRIu32 "</ID><HOSTS>", vm->id);
    for (size_t i = 0; i < vm->offered_count; i++)
        oneib_text_printf(words, "<ID>%" PRIu32 "</ID>", window->hosts[vm->offered[i]].id);
    piece->length = words->length - before;
}

static void write_requirement(const struct oneib_requirement *requirement,
                              const struct oneib_window *window, struct oneib_sched_pieces *pieces)
{
    const struct oneib_waiting_vm *vm = window_vm(window, requirement->vm_id);
    const char *as_it_was = vm ? requirement->rest : requirement->text;
    if (vm)
        write_vm(window, vm, pieces);
    borrow(pieces, as_it_was, (size_t)(requirement->text + requirement->length - as_it_was));
}

static void find_words(struct oneib_sched_pieces *pieces)
{
    const char *next = pieces->words.data;
    for (size_t i = 0; i < pieces->count; i++)
        if (!pieces->items[i].bytes) {
            pieces->items[i].bytes = next;
            next += pieces->items[i].length;
        }
}

static void write_pieces(const struct oneib_sched_message *message,
                         const struct oneib_window *window, struct oneib_sched_pieces *pieces)
{
    static const char end[] = "</REQUIREMENTS>" ROOT_END;
    borrow(pieces, message->xml, message->head + strlen(REQUIREMENTS));
    for (size_t i = 0; i < message->requirement_count; i++)
        write_requirement(&message->requirements[i], window, pieces);
    borrow(pieces, end, strlen(end));
}

void oneib_sched_message_write(const struct oneib_sched_message *message,
                               const struct oneib_window *window, struct oneib_sched_pieces *pieces)
{
    *pieces = (struct oneib_sched_pieces){0};
    write_pieces(message, window, pieces);
    find_words(pieces);
}

void oneib_sched_pieces_clear(struct oneib_sched_pieces *pieces)
{
    free(pieces->items);
    oneib_text_clear(&pieces->words);
    *pieces = (struct oneib_sched_pieces){0};
}

void oneib_sched_message_clear(struct oneib_sched_message *message)
{
    free(message->requirements);
    free(message->vms);
    oneib_cloud_clear(&message->cloud);
    *message = (struct oneib_sched_message){0};
}
