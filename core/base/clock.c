// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

double oneib_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}
