// SPDX-License-Identifier: Apache-2.0
#include "placement/message.h"
#include "base/array.h"
#include "base/finding.h"
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

/* Behind it are numbers alone: what a user writes is in front of the last one. */
static const char *find_last(const struct piece *piece, const char *word)
{
    const size_t length = strlen(word);
    if ((size_t)(piece->end - piece->at) < length)
        return NULL;
    for (const char *at = piece->end - length; at >= piece->at; at--)
        if (*at == *word && memcmp(at, word, length) == 0)
            return at;
    return NULL;
}

/* Where the VMs end must be beyond doubt: a user can write that down, too. */
static int split(const struct piece *head, struct piece *vms, struct piece *hosts,
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

static bool is_ascending(const uint32_t *ids, size_t count, uint32_t next)
{
    return count == 0 || ids[count - 1] < next;
}

static int read_hosts(struct piece *piece, struct oneib_requirement *requirement,
                      struct oneib_error *err)
{
    uint32_t id;
    while (skip_id(piece, &id)) {
        if (!is_ascending(requirement->hosts, requirement->host_count, id))
            return refuse(err, "has hosts that are not in order");
        if (oneib_reserve(&requirement->hosts, &requirement->host_capacity,
                          requirement->host_count + 1, sizeof id, err) < 0)
            return -1;
        requirement->hosts[requirement->host_count++] = id;
    }
    return 0;
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
    requirement->rest_length = (size_t)(end - requirement->rest);
    piece->at = end;
    return skip(piece, "</VM>");
}

static int read_requirement(struct piece *piece, struct oneib_sched_message *message,
                            struct oneib_error *err)
{
    if (oneib_reserve(&message->requirements, &message->requirement_capacity,
                      message->requirement_count + 1, sizeof *message->requirements, err) < 0)
        return -1;
    struct oneib_requirement *requirement = &message->requirements[message->requirement_count++];
    *requirement = (struct oneib_requirement){0};
    if (!skip_id(piece, &requirement->vm_id) || !skip(piece, "<HOSTS>"))
        return refuse(err, "has a requirement that is no VM's");
    if (message->requirement_count > 1 && requirement[-1].vm_id >= requirement->vm_id)
        return refuse(err, "has requirements that are not in order");
    if (read_hosts(piece, requirement, err) < 0)
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

static int read_vm_child(struct oneib_reader *reader, struct oneib_asking_vm *vm, bool *has_id,
                         struct oneib_error *err)
{
    struct oneib_value value = {0};
    if (oneib_reader_at(reader, ONEIB_NAME_HISTORY_RECORDS))
        return read_histories(reader, vm, err);
    if (oneib_reader_at(reader, ONEIB_NAME_TEMPLATE))
        return read_template(reader, vm, err);
    const bool is_id = oneib_reader_at(reader, ONEIB_NAME_ID);
    if (!is_id && !oneib_reader_at(reader, ONEIB_NAME_STIME))
        return 0;
    if (oneib_reader_value(reader, ONEIB_NUMBER_LENGTH, &value, err) < 0)
        return -1;
    if (is_id)
        *has_id = oneib_value_id(&value, &vm->id);
    else
        vm->since = later(vm->since, &value);
    return 0;
}

static int read_vm(struct oneib_reader *reader, struct oneib_sched_message *message,
                   struct oneib_error *err)
{
    struct oneib_asking_vm vm = {0};
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
    if (!has_id || (message->vm_count > 0 && message->vms[message->vm_count - 1].id >= vm.id))
        return refuse(err, "has VMs that are not in order");
    if (oneib_reserve(&message->vms, &message->vm_capacity, message->vm_count + 1,
                      sizeof *message->vms, err) < 0)
        return -1;
    message->vms[message->vm_count++] = vm;
    return 0;
}

static int read_vm_pool(struct oneib_reader *reader, struct oneib_sched_message *message,
                        struct oneib_error *err)
{
    oneib_reader_guard(reader, ONEIB_NAME_VM, 1);
    if (oneib_reader_root(reader, err) < 0)
        return -1;
    struct oneib_element pool = oneib_reader_enter(reader);
    int outcome;
    while ((outcome = oneib_reader_child(reader, &pool, err)) > 0)
        if (oneib_reader_at(reader, ONEIB_NAME_VM) && read_vm(reader, message, err) < 0)
            return -1;
    return outcome < 0 ? -1 : oneib_reader_finish(reader, err);
}

static int read_vms(const struct piece *piece, struct oneib_sched_message *message,
                    struct oneib_error *err)
{
    struct oneib_reader *reader =
        oneib_reader_open(piece->at, (size_t)(piece->end - piece->at), err);
    if (!reader)
        return -1;
    const int status = read_vm_pool(reader, message, err);
    oneib_reader_close(reader);
    return status;
}

/* What is odd in a document is oneibd's to say, not ours. */
static int read_cloud(const struct piece *vms, const struct piece *hosts, const char *vn_mad,
                      struct oneib_sched_message *message, struct oneib_error *err)
{
    struct oneib_findings findings = {0};
    struct oneib_documents documents = {
        .cloud = &message->cloud, .findings = &findings, .vn_mad = vn_mad};
    int status = oneib_documents_read_vms(&documents, vms->at, (size_t)(vms->end - vms->at), err);
    if (status == 0)
        status = oneib_documents_read_hosts(&documents, hosts->at, (size_t)(hosts->end - hosts->at),
                                            err);
    oneib_documents_clear(&documents);
    oneib_findings_clear(&findings);
    oneib_cloud_sort(&message->cloud);
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int read_all(struct piece whole, const char *vn_mad, struct oneib_sched_message *message,
                    struct oneib_error *err)
{
    struct piece vms = {0}, hosts = {0}, head = whole;
    const char *requirements = find_last(&whole, REQUIREMENTS);
    if (!requirements || !skip(&head, ROOT))
        return refuse(err, "is none");
    head.end = requirements;
    whole.at = requirements + strlen(REQUIREMENTS);
    message->head = (size_t)(requirements - message->xml);
    if (split(&head, &vms, &hosts, err) < 0 || read_requirements(&whole, message, err) < 0)
        return -1;
    while (whole.at < whole.end && memchr(" \t\r\n", *whole.at, 4))
        whole.at++;
    if (whole.at != whole.end)
        return refuse(err, "goes on behind its end");
    return read_vms(&vms, message, err) < 0 ? -1 : read_cloud(&vms, &hosts, vn_mad, message, err);
}

int oneib_sched_message_read(const char *xml, size_t length, const char *vn_mad,
                             struct oneib_sched_message *message, struct oneib_error *err)
{
    *message = (struct oneib_sched_message){.xml = xml};
    if (read_all((struct piece){xml, xml + length}, vn_mad, message, err) == 0)
        return 0;
    oneib_sched_message_clear(message);
    return -1;
}

static int compare_vm(const void *id, const void *vm)
{
    const uint32_t left = *(const uint32_t *)id, right = ((const struct oneib_asking_vm *)vm)->id;
    return (left > right) - (left < right);
}

const struct oneib_asking_vm *oneib_sched_vm(const struct oneib_sched_message *message,
                                             uint32_t vm_id)
{
    return message->vm_count == 0
               ? NULL
               : bsearch(&vm_id, message->vms, message->vm_count, sizeof *message->vms, compare_vm);
}

static const struct oneib_waiting_vm *window_vm(const struct oneib_window *window, uint32_t vm_id)
{
    for (size_t i = 0; i < window->vm_count; i++)
        if (window->vms[i].id == vm_id)
            return &window->vms[i];
    return NULL;
}

static void write_hosts(const struct oneib_window *window, const struct oneib_requirement *from,
                        struct oneib_text *text)
{
    const struct oneib_waiting_vm *vm = window_vm(window, from->vm_id);
    const size_t count = vm ? vm->offered_count : from->host_count;
    for (size_t i = 0; i < count; i++)
        oneib_text_printf(text, "<ID>%" PRIu32 "</ID>",
                          vm ? window->hosts[vm->offered[i]].id : from->hosts[i]);
}

int oneib_sched_message_write(const struct oneib_sched_message *message,
                              const struct oneib_window *window, struct oneib_text *text,
                              struct oneib_error *err)
{
    oneib_text_append_bytes(text, message->xml, message->head);
    oneib_text_append(text, REQUIREMENTS);
    for (size_t i = 0; i < message->requirement_count; i++) {
        const struct oneib_requirement *requirement = &message->requirements[i];
        oneib_text_printf(text, "<VM><ID>%" PRIu32 "</ID><HOSTS>", requirement->vm_id);
        write_hosts(window, requirement, text);
        oneib_text_append_bytes(text, requirement->rest, requirement->rest_length);
        oneib_text_append(text, "</VM>");
    }
    oneib_text_append(text, "</REQUIREMENTS>" ROOT_END);
    return oneib_text_failed(text) ? oneib_fail_memory(err) : 0;
}

void oneib_sched_message_clear(struct oneib_sched_message *message)
{
    for (size_t i = 0; i < message->requirement_count; i++)
        free(message->requirements[i].hosts);
    free(message->requirements);
    free(message->vms);
    oneib_cloud_clear(&message->cloud);
    *message = (struct oneib_sched_message){0};
}
