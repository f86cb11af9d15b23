// SPDX-License-Identifier: Apache-2.0
#include "scheduler/patience.h"
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>

static int time_is_up;

static void note_time(int number)
{
    (void)number;
    time_is_up = 1;
}

void oneib_patience_begin(void)
{
    const struct sigaction action = {.sa_handler = note_time};
    const struct itimerval timer = {.it_value = {.tv_sec = ONEIB_PATIENCE_S}};
    time_is_up = 0;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

void oneib_patience_end(void)
{
    const struct itimerval none = {0};
    setitimer(ITIMER_REAL, &none, NULL);
}

int oneib_patience_check(struct oneib_error *err)
{
    return time_is_up
               ? oneib_fail(err, ONEIB_ERROR_TIMEOUT, "it took longer than %d s", ONEIB_PATIENCE_S)
               : 0;
}

int *oneib_patience_flag(void)
{
    return &time_is_up;
}
