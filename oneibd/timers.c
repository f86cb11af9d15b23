// SPDX-License-Identifier: Apache-2.0
#include "oneibd/timers.h"
#include <math.h>

void oneib_timers_begin(struct oneib_timers *timers)
{
    *timers = (struct oneib_timers){
        .at = {[ONEIB_TIMER_EVENT_QUEUE] = HUGE_VAL,
               [ONEIB_TIMER_VIRTUAL_PORTS] = HUGE_VAL,
               [ONEIB_TIMER_NODE_REPORTS] = HUGE_VAL},
        .wakes = {[ONEIB_TIMER_TURN] = true,
                  [ONEIB_TIMER_EVENT_QUEUE] = true,
                  [ONEIB_TIMER_NODES] = true,
                  [ONEIB_TIMER_VIRTUAL_PORTS] = true,
                  [ONEIB_TIMER_NODE_REPORTS] = true},
    };
}

void oneib_timer_set(struct oneib_timers *timers, enum oneib_timer timer, double at)
{
    timers->at[timer] = at;
}

void oneib_timer_cancel(struct oneib_timers *timers, enum oneib_timer timer)
{
    timers->at[timer] = HUGE_VAL;
}

void oneib_timer_wake(struct oneib_timers *timers, enum oneib_timer timer, bool wakes)
{
    timers->wakes[timer] = wakes;
}

bool oneib_timer_is_due(const struct oneib_timers *timers, enum oneib_timer timer, double now)
{
    return now >= timers->at[timer];
}

double oneib_timers_wait(const struct oneib_timers *timers, double now, double longest)
{
    double wait = longest;
    for (int i = 0; i < ONEIB_TIMER_COUNT; i++)
        if (timers->wakes[i] && timers->at[i] - now < wait)
            wait = timers->at[i] - now;
    return wait > 0 ? wait : 0;
}
