// SPDX-License-Identifier: Apache-2.0
#include "opennebula/call_apart.h"
#include "base/clock.h"
#include <errno.h>
#include <pthread.h>
#include <time.h>

struct call {
    void (*work)(void *context);
    void *context;
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    bool is_done;
};

static void *run(void *data)
{
    struct call *call = data;
    call->work(call->context);
    pthread_mutex_lock(&call->mutex);
    call->is_done = true;
    pthread_cond_signal(&call->ended);
    pthread_mutex_unlock(&call->mutex);
    return NULL;
}

/* false: the time is over. */
static bool await_end(struct call *call, uint32_t milliseconds)
{
    const struct timespec end = oneib_in_ms(milliseconds);
    pthread_mutex_lock(&call->mutex);
    while (!call->is_done && pthread_cond_timedwait(&call->ended, &call->mutex, &end) != ETIMEDOUT)
        continue;
    const bool is_done = call->is_done;
    pthread_mutex_unlock(&call->mutex);
    return is_done;
}

void oneib_call_apart(const struct oneib_meanwhile *meanwhile, void (*work)(void *context),
                      void *context)
{
    struct call call = {.work = work, .context = context, .mutex = PTHREAD_MUTEX_INITIALIZER};
    pthread_condattr_t clock;
    pthread_t thread;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&call.ended, &clock);
    pthread_condattr_destroy(&clock);
    if (pthread_create(&thread, NULL, run, &call) == 0) {
        while (!await_end(&call, meanwhile->every_ms))
            meanwhile->look(meanwhile->context);
        pthread_join(thread, NULL);
    } else {
        work(context);
    }
    pthread_cond_destroy(&call.ended);
    pthread_mutex_destroy(&call.mutex);
}
