// SPDX-License-Identifier: Apache-2.0
#include "partitions/link_use.h"

#define UNIT_BITS 32.0 /* PortXmitData counts 4 bytes as one */
#define TURN ((uint64_t)1 << 32)
#define NOT_KNOWN (-1.0)

static bool is_full(const struct oneib_counters *counters)
{
    return !counters->is_wide && counters->data == UINT32_MAX;
}

/* The difference, over the end of 32 bits; false: a reset, or nobody can tell. */
static bool wraps_to(const struct oneib_counters *before, const struct oneib_counters *after,
                     double units_at_most, uint64_t *units)
{
    *units = TURN - before->data + after->data;
    return !before->is_wide && units_at_most < (double)TURN && (double)*units <= units_at_most;
}

static enum oneib_use_kind count(const struct oneib_counters *before,
                                 const struct oneib_counters *after, double units_at_most,
                                 uint64_t *units)
{
    if (is_full(before) || is_full(after))
        return ONEIB_USE_SATURATED;
    if (before->is_wide != after->is_wide)
        return ONEIB_USE_RESET;
    *units = after->data - before->data;
    if (after->data < before->data && !wraps_to(before, after, units_at_most, units))
        return ONEIB_USE_RESET;
    return ONEIB_USE_KNOWN;
}

/* A tick has no length that were known, so a wrap cannot be told from a reset. */
static double waits(const struct oneib_counters *before, const struct oneib_counters *after,
                    double seconds)
{
    if (!before->has_wait || !after->has_wait || after->wait == UINT32_MAX ||
        after->wait < before->wait)
        return NOT_KNOWN;
    return (after->wait - before->wait) / seconds;
}

struct oneib_link_use oneib_link_use(const struct oneib_counters *before,
                                     const struct oneib_counters *after, double link_gbps)
{
    struct oneib_link_use use = {
        .kind = ONEIB_USE_TOO_SHORT, .share = NOT_KNOWN, .wait_per_second = NOT_KNOWN};
    uint64_t units = 0;
    if (!(after->at_ms > before->at_ms))
        return use;
    use.seconds = (after->at_ms - before->at_ms) / 1000;
    use.wait_per_second = waits(before, after, use.seconds);
    use.kind = count(before, after, link_gbps * 1e9 * use.seconds / UNIT_BITS, &units);
    if (use.kind != ONEIB_USE_KNOWN)
        return use;
    use.gbps = (double)units * UNIT_BITS / (use.seconds * 1e9);
    if (link_gbps > 0)
        use.share = use.gbps / link_gbps;
    if (units == 0 && !(use.wait_per_second > 0))
        use.kind = ONEIB_USE_STILL;
    return use;
}
