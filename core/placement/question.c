// SPDX-License-Identifier: Apache-2.0
#include "placement/question.h"
#include "base/array.h"
#include "base/order.h"
#include "xml/values.h"
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

/* One VM: as many ids as 100,000 hosts have. What jansson makes of it takes some twenty times as
 * much, and is gone before the next one. */
#define VM_LENGTH_MAX ((size_t)1 << 20)

#define BEGIN "{\"VMS\":["
#define END "]}"

/* What is not read yet. */
struct rest {
    const char *at, *end;
};

struct reading {
    struct rest rest;
    struct oneib_sched_message *message;
    size_t id_count, id_capacity;
};

static int refuse(struct oneib_error *err, const char *what)
{
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "the scheduler's question %s", what);
}

static bool skip(struct rest *rest, const char *word)
{
    const size_t length = strlen(word);
    if ((size_t)(rest->end - rest->at) < length || memcmp(rest->at, word, length) != 0)
        return false;
    rest->at += length;
    return true;
}

/* ---- a VM ------------------------------------------------------------------------------------ */

static bool is_id(const json_t *value, uint32_t *id)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > (json_int_t)ONEIB_ID_MAX)
        return false;
    *id = (uint32_t)json_integer_value(value);
    return true;
}

/* It lists them by its own rank. */
static int take_hosts(struct reading *reading, const json_t *hosts, struct oneib_error *err)
{
    struct oneib_sched_message *message = reading->message;
    const size_t count = json_array_size(hosts), first = reading->id_count;
    ONEIB_RESERVE(message->host_ids, reading->id_capacity, first + count + 1);
    for (size_t i = 0; i < count; i++)
        if (!is_id(json_array_get(hosts, i), &message->host_ids[reading->id_count++]))
            return refuse(err, "has a host that is none");
    ONEIB_SORT_FROM(message->host_ids, first, first + count, oneib_compare_u32);
    return 0;
}

static int take_vm(struct reading *reading, uint32_t id, const json_t *hosts,
                   struct oneib_error *err)
{
    struct oneib_sched_message *message = reading->message;
    const size_t count = message->requirement_count;
    if (count > 0 && message->requirements[count - 1].vm_id >= id)
        return refuse(err, "has VMs that are not in order");
    if (take_hosts(reading, hosts, err) < 0)
        return -1;
    ONEIB_APPEND(message->requirements, message->requirement_count, message->requirement_capacity,
                 (struct oneib_requirement){.vm_id = id, .id_count = json_array_size(hosts)});
    return 0;
}

/* One that runs has a host in it. */
static int read_object(struct reading *reading, const json_t *vm, struct oneib_error *err)
{
    uint32_t id;
    const char *state = json_string_value(json_object_get(vm, "STATE"));
    const json_t *hosts = json_object_get(vm, "HOST_IDS");
    if (!is_id(json_object_get(vm, "ID"), &id) || !state || !json_is_array(hosts))
        return refuse(err, "has a VM that is none");
    if (strcmp(state, "PENDING") != 0 || json_object_get(vm, "HOST_ID"))
        return 0;
    return take_vm(reading, id, hosts, err);
}

static int read_vm(struct reading *reading, struct oneib_error *err)
{
    json_error_t where;
    struct rest *rest = &reading->rest;
    const size_t left = (size_t)(rest->end - rest->at);
    json_auto_t *vm = json_loadb(rest->at, left < VM_LENGTH_MAX ? left : VM_LENGTH_MAX,
                                 JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &where);
    if (!vm)
        return refuse(err, "is not JSON, or was cut, or has a VM without an end");
    rest->at += where.position;
    return read_object(reading, vm, err);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int read_vms(struct reading *reading, struct oneib_error *err)
{
    struct rest *rest = &reading->rest;
    if (skip(rest, "null"))
        return 0;
    if (!skip(rest, BEGIN))
        return refuse(err, "is none");
    do {
        if (read_vm(reading, err) < 0)
            return -1;
    } while (skip(rest, ","));
    return skip(rest, END) ? 0 : refuse(err, "has no end");
}

static void find_hosts(struct oneib_sched_message *message)
{
    const uint32_t *next = message->host_ids;
    for (size_t i = 0; i < message->requirement_count; i++) {
        message->requirements[i].ids = next;
        next += message->requirements[i].id_count;
    }
}

int oneib_question_read(const char *json, size_t length, struct oneib_sched_message *message,
                        struct oneib_error *err)
{
    struct reading reading = {.rest = {json, json + length}, .message = message};
    *message = (struct oneib_sched_message){0};
    int status = read_vms(&reading, err);
    if (status == 0 && reading.rest.at != reading.rest.end)
        status = refuse(err, "goes on behind its end");
    if (status < 0)
        oneib_sched_message_clear(message);
    else
        find_hosts(message);
    return status;
}

/* ---- the answer ------------------------------------------------------------------------------ */

void oneib_answer_write(const struct oneib_window *window, struct oneib_text *text)
{
    const char *before = "";
    oneib_text_append(text, BEGIN);
    for (size_t i = 0; i < window->vm_count; i++) {
        const struct oneib_waiting_vm *vm = &window->vms[i];
        if (vm->meant == ONEIB_NO_HOST || vm->has_waited)
            continue;
        char entry[64];
        const int length =
            snprintf(entry, sizeof entry, "%s{\"ID\":%" PRIu32 ",\"HOST_ID\":%" PRIu32 "}", before,
                     vm->id, window->hosts[vm->meant].id);
        if (text->length + (size_t)length + strlen(END) > ONEIB_ANSWER_MAX)
            break;
        oneib_text_append(text, entry);
        before = ",";
    }
    oneib_text_append(text, END);
}
