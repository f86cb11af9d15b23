// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "hca/assign_internal.h"
#include <time.h>

#define FIRST_MS 20
#define LONGEST_MS 250

struct oneib_pause oneib_pause_for(uint32_t ms)
{
    return (struct oneib_pause){.until = oneib_now_ms() + ms, .next_ms = FIRST_MS};
}

bool oneib_pause_is_over(const struct oneib_pause *pause)
{
    return oneib_now_ms() >= pause->until;
}

static void sleep_ms(double ms)
{
    const long long ns = (long long)(ms * 1e6) + 1;
    nanosleep(
        &(struct timespec){.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)},
        NULL);
}

bool oneib_pause(struct oneib_pause *pause)
{
    const double left = pause->until - oneib_now_ms();
    if (left <= 0)
        return false;
    sleep_ms(left < pause->next_ms ? left : pause->next_ms);
    const uint32_t longer = pause->next_ms + pause->next_ms / 2;
    pause->next_ms = longer < LONGEST_MS ? longer : LONGEST_MS;
    return true;
}
