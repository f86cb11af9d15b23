// SPDX-License-Identifier: Apache-2.0
#include "oneibd/trust.h"
#include "base/hash.h"
#include <stddef.h>

#define NEVER (-1.0)

void oneib_trust_begin(struct oneib_trust *trust)
{
    *trust = (struct oneib_trust){.trusted = true, .suspect_at = NEVER};
}

void oneib_trust_looked(struct oneib_trust *trust, double now, uint64_t messages, bool vms_changed)
{
    const bool untold = vms_changed && messages == trust->messages_at_look;
    if (trust->trusted && untold && trust->suspect_at < 0) {
        trust->suspect_at = now;
        trust->messages_at_doubt = messages;
    }
    trust->messages_at_look = messages;
}

enum oneib_trust_change oneib_trust_judge(struct oneib_trust *trust, double now, uint64_t messages)
{
    const bool told = messages != trust->messages_at_doubt;
    if (!trust->trusted) {
        if (!told)
            return ONEIB_TRUST_SAME;
        trust->trusted = true;
        return ONEIB_TRUST_REGAINED;
    }
    if (trust->suspect_at < 0)
        return ONEIB_TRUST_SAME;
    if (told) {
        trust->suspect_at = NEVER;
        return ONEIB_TRUST_SAME;
    }
    if (now - trust->suspect_at < ONEIB_TRUST_PATIENCE_MS)
        return ONEIB_TRUST_SAME;
    trust->suspect_at = NEVER;
    trust->trusted = false;
    return ONEIB_TRUST_LOST;
}

uint64_t oneib_trust_fingerprint(const struct oneib_cloud *cloud)
{
    uint64_t hash = oneib_hash_mix(ONEIB_HASH_BEGIN, cloud->vm_end);
    for (size_t i = 0; i < cloud->attachment_count; i++) {
        const struct oneib_attachment *attachment = &cloud->attachments[i];
        if (attachment->presence == ONEIB_ABSENT)
            continue;
        hash = oneib_hash_mix(hash, attachment->vm_id);
        hash = oneib_hash_mix(hash, attachment->nic_id);
        hash = oneib_hash_mix(hash, attachment->network_id);
        hash = oneib_hash_mix(hash, attachment->host_id);
        hash = oneib_hash_mix(hash, attachment->presence);
    }
    return hash;
}
