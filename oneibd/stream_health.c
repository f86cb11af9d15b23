// SPDX-License-Identifier: Apache-2.0
#include "oneibd/stream_health.h"
#include "base/hash.h"
#include <stddef.h>

#define NEVER (-1.0)

void oneib_stream_health_begin(struct oneib_stream_health *health)
{
    *health = (struct oneib_stream_health){.trusted = true, .suspect_at = NEVER};
}

void oneib_stream_health_read(struct oneib_stream_health *health, double now, uint64_t messages,
                              bool vms_changed)
{
    const bool untold = vms_changed && messages == health->messages_at_reading;
    if (health->trusted && untold && health->suspect_at < 0) {
        health->suspect_at = now;
        health->messages_at_doubt = messages;
    }
    health->messages_at_reading = messages;
}

enum oneib_stream_health_change oneib_stream_health_judge(struct oneib_stream_health *health,
                                                          double now, uint64_t messages)
{
    const bool told = messages != health->messages_at_doubt;
    if (!health->trusted) {
        if (!told)
            return ONEIB_STREAM_HEALTH_SAME;
        health->trusted = true;
        return ONEIB_STREAM_HEALTH_REGAINED;
    }
    if (health->suspect_at < 0)
        return ONEIB_STREAM_HEALTH_SAME;
    if (told) {
        health->suspect_at = NEVER;
        return ONEIB_STREAM_HEALTH_SAME;
    }
    if (now - health->suspect_at < ONEIB_STREAM_HEALTH_PATIENCE_MS)
        return ONEIB_STREAM_HEALTH_SAME;
    health->suspect_at = NEVER;
    health->trusted = false;
    return ONEIB_STREAM_HEALTH_LOST;
}

uint64_t oneib_stream_health_fingerprint(const struct oneib_cloud *cloud)
{
    uint64_t hash = oneib_hash_mix(ONEIB_HASH_BEGIN, cloud->vm_end);
    for (size_t i = 0; i < cloud->attachment_count; i++) {
        const struct oneib_attachment *attachment = &cloud->attachments[i];
        if (attachment->phase == ONEIB_ABSENT)
            continue;
        hash = oneib_hash_mix(hash, attachment->vm_id);
        hash = oneib_hash_mix(hash, attachment->nic_id);
        hash = oneib_hash_mix(hash, attachment->network_id);
        hash = oneib_hash_mix(hash, attachment->host_id);
        hash = oneib_hash_mix(hash, attachment->phase);
    }
    return hash;
}
