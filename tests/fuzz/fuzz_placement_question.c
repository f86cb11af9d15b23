// SPDX-License-Identifier: Apache-2.0
/* What OpenNebula 6.10's scheduler asks: VMs are in order, each once, and their hosts in order; and an
 * answer is short enough for its client. */
#include "base/memory.h"
#include "placement/question.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

static void check_ascending(const struct oneib_requirement *requirement)
{
    uint32_t id, last = 0;
    for (size_t at = 0; oneib_requirement_next(requirement, &at, &id); last = id)
        require(id >= last && id <= INT32_MAX);
}

/* As if each VM had all that it asks for. */
static void check_answer(const struct oneib_sched_message *message)
{
    struct oneib_text text = {0};
    struct oneib_open_host host = {.id = INT32_MAX};
    struct oneib_window window = {.hosts = &host, .host_count = 1};
    window.vms = oneib_alloc(message->requirement_count + 1, sizeof *window.vms);
    for (size_t i = 0; i < message->requirement_count; i++)
        window.vms[window.vm_count++].id = message->requirements[i].vm_id;
    oneib_answer_write(&window, &text);
    require(text.data && text.length <= ONEIB_ANSWER_MAX);
    oneib_text_clear(&text);
    free(window.vms);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct oneib_error err;
    struct oneib_sched_message message;
    if (oneib_question_read((const char *)data, size, &message, &err) < 0)
        return 0;
    for (size_t i = 0; i < message.requirement_count; i++) {
        require(i == 0 || message.requirements[i - 1].vm_id < message.requirements[i].vm_id);
        check_ascending(&message.requirements[i]);
    }
    check_answer(&message);
    oneib_sched_message_clear(&message);
    return 0;
}
