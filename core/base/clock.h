// SPDX-License-Identifier: Apache-2.0
/* How long something takes, and waiting. */
#ifndef ONEIB_BASE_CLOCK_H
#define ONEIB_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Milliseconds of the monotonic clock: only differences mean anything. */
double oneib_now_ms(void);

/* The same clock in so many milliseconds, for pthread_cond_timedwait() and its like. */
struct timespec oneib_in_ms(uint32_t milliseconds);

/* A signal ends it. */
void oneib_sleep_ms(double milliseconds);

/* Of two times. */
static inline double oneib_sooner(double a, double b)
{
    return a < b ? a : b;
}

/* Milliseconds until then, never too few; 0: it is over; UINT32_MAX: not for weeks, or never
 * (HUGE_VAL). */
static inline uint32_t oneib_ms_until(double time)
{
    const double left = time - oneib_now_ms();
    if (left <= 0)
        return 0;
    return left < UINT32_MAX ? (uint32_t)left + 1 : UINT32_MAX;
}

#endif
