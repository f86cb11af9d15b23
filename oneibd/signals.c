// SPDX-License-Identifier: Apache-2.0
#include "oneibd/signals.h"
#include <math.h>
#include <signal.h>
#include <time.h>

/* int, not sig_atomic_t: xmlrpc-c looks at it during a call. One thread alone gets the signals. */
static int end_flag;
static volatile sig_atomic_t reload_flag;
static sigset_t ours, before;

static void on_end(int signal_number)
{
    (void)signal_number;
    __atomic_store_n(&end_flag, 1, __ATOMIC_RELAXED);
}

static void on_reload(int signal_number)
{
    (void)signal_number;
    reload_flag = 1;
}

static void handle(int signal_number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    sigaction(signal_number, &action, NULL);
}

void oneib_signals_begin(void)
{
    sigemptyset(&ours);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ours, &before);
    sigdelset(&before, SIGTERM);
    sigdelset(&before, SIGINT);
    sigdelset(&before, SIGHUP);
    handle(SIGTERM, on_end);
    handle(SIGINT, on_end);
    handle(SIGHUP, on_reload);
    handle(SIGPIPE, SIG_IGN);
}

int *oneib_signals_end_flag(void)
{
    return &end_flag;
}

bool oneib_signals_take_reload(void)
{
    const bool came = reload_flag != 0;
    reload_flag = 0;
    return came;
}

static bool is_pending(int signal_number)
{
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, signal_number) == 1;
}

bool oneib_signals_ending(void)
{
    return __atomic_load_n(&end_flag, __ATOMIC_RELAXED) || is_pending(SIGTERM) ||
           is_pending(SIGINT);
}

bool oneib_signals_waiting(void)
{
    return reload_flag || is_pending(SIGHUP) || oneib_signals_ending();
}

void oneib_signals_allow(void)
{
    pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
}

void oneib_signals_block(void)
{
    pthread_sigmask(SIG_BLOCK, &ours, NULL);
}

void oneib_signals_poll(struct pollfd *descriptors, size_t count, double timeout_ms)
{
    const struct timespec timeout = {
        .tv_sec = (time_t)(timeout_ms / 1000),
        .tv_nsec = (long)(fmod(timeout_ms, 1000) * 1e6),
    };
    ppoll(descriptors, count, &timeout, &before);
}
