// SPDX-License-Identifier: Apache-2.0
/* Apart from clock.c: tests have a clock of their own. */
#include "base/clock.h"

struct timespec oneib_in_ms(uint32_t milliseconds)
{
    struct timespec then;
    clock_gettime(CLOCK_MONOTONIC, &then);
    then.tv_sec += milliseconds / 1000;
    then.tv_nsec += (long)(milliseconds % 1000) * 1000000;
    if (then.tv_nsec >= 1000000000) {
        then.tv_sec++;
        then.tv_nsec -= 1000000000;
    }
    return then;
}

void oneib_sleep_ms(double milliseconds)
{
    const int64_t nanoseconds = (int64_t)(milliseconds * 1e6);
    nanosleep(&(struct timespec){nanoseconds / 1000000000, nanoseconds % 1000000000}, NULL);
}
