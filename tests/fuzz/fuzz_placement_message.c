// SPDX-License-Identifier: Apache-2.0
/* The scheduler's message: what is made of it is such a message again, no VM has a host there that
 * OpenNebula did not give it, and no host is offered to more VMs than it has functions. */
#include "placement/arrange.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

static void check_offers(const struct oneib_window *window)
{
    for (size_t host = 0; host < window->host_count; host++) {
        uint64_t offered = 0;
        for (size_t i = 0; i < window->vm_count; i++)
            for (size_t j = 0; j < window->vms[i].offered_count; j++)
                offered += window->vms[i].offered[j] == host ? window->vms[i].nics : 0;
        require(offered <= window->hosts[host].vfs_free);
    }
}

static bool has(const struct oneib_requirement *requirement, uint32_t host)
{
    uint32_t id;
    for (size_t at = 0; oneib_requirement_next(requirement, &at, &id);)
        if (id == host)
            return true;
    return false;
}

static void check_changed(const struct oneib_sched_message *before,
                          const struct oneib_sched_message *after)
{
    require(after->requirement_count == before->requirement_count);
    for (size_t i = 0; i < after->requirement_count; i++) {
        const struct oneib_requirement *requirement = &after->requirements[i];
        require(requirement->vm_id == before->requirements[i].vm_id);
        uint32_t id;
        for (size_t at = 0; oneib_requirement_next(requirement, &at, &id);)
            require(has(&before->requirements[i], id));
    }
}

static void check(const struct oneib_sched_message *message, struct oneib_window *window)
{
    struct oneib_error err;
    struct oneib_text text = {0};
    struct oneib_sched_pieces pieces;
    struct oneib_sched_message again;
    oneib_window_offer(window);
    check_offers(window);
    oneib_sched_message_write(message, window, &pieces);
    for (size_t i = 0; i < pieces.count; i++)
        oneib_text_append_bytes(&text, pieces.items[i].bytes, pieces.items[i].length);
    oneib_sched_pieces_clear(&pieces);
    require(oneib_sched_message_read(text.data, text.length, &again, &err) == 0);
    check_changed(message, &again);
    oneib_sched_message_clear(&again);
    oneib_text_clear(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct oneib_error err;
    struct oneib_sched_message message;
    struct oneib_window window;
    const struct oneib_cloud nothing = {0};
    if (oneib_sched_message_read((const char *)data, size, &message, &err) < 0)
        return 0;
    if (oneib_sched_message_read_pools(&message, "infiniband", &err) < 0) {
        require(message.vm_count == 0 && message.cloud.host_count == 0);
        require(message.cloud.attachment_count == 0);
    } else if (oneib_window_arrange(&message, &nothing, 1000, &window, &err) == 0) {
        check(&message, &window);
        oneib_window_clear(&window);
    }
    oneib_sched_message_clear(&message);
    return 0;
}
