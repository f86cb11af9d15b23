// SPDX-License-Identifier: Apache-2.0
/* How long something takes. */
#ifndef ONEIB_BASE_CLOCK_H
#define ONEIB_BASE_CLOCK_H

/* Milliseconds of the monotonic clock: only differences mean anything. */
double oneib_now_ms(void);

/* Of two times. */
static inline double oneib_sooner(double a, double b)
{
    return a < b ? a : b;
}

#endif
