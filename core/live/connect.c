// SPDX-License-Identifier: Apache-2.0
/*
 * Connecting, with a limit to it. A libvirtd that hangs takes connections and never says a word,
 * and libvirt waits for it for good, as OpenNebula would for this program. So a thread connects,
 * which is left behind when that takes too long.
 *
 * Calls on a connection have no limit: pinning a big guest's memory takes minutes, and whoever
 * stops waiting for that does not know what became of it.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/memory.h"
#include "base/thread.h"
#include "live/live_internal.h"
#include <libvirt/virterror.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SHOWN 400

/* Freed by whoever of the two comes last. */
struct opening {
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    bool is_over, is_given_up;
    char *uri;
    virConnectPtr libvirt;
    char *words; /* why there is none */
};

static void free_opening(struct opening *opening)
{
    pthread_mutex_destroy(&opening->mutex);
    pthread_cond_destroy(&opening->ended);
    free(opening->words);
    free(opening->uri);
    free(opening);
}

static struct opening *make_opening(const char *uri)
{
    struct opening *opening = oneib_alloc(1, sizeof *opening);
    pthread_condattr_t steady;
    opening->uri = oneib_strdup(uri);
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_mutex_init(&opening->mutex, NULL);
    pthread_cond_init(&opening->ended, &steady);
    pthread_condattr_destroy(&steady);
    return opening;
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* libvirt's last error is the thread's. Without asking anybody for a password: standard input is
 * OpenNebula's. */
static void *open_connection(void *context)
{
    struct opening *opening = context;
    virConnectPtr libvirt = virConnectOpen(opening->uri);
    char *words = libvirt ? NULL : oneib_strdup(virGetLastErrorMessage());
    pthread_mutex_lock(&opening->mutex);
    opening->libvirt = libvirt;
    opening->words = words;
    opening->is_over = true;
    const bool is_given_up = opening->is_given_up;
    pthread_cond_signal(&opening->ended);
    pthread_mutex_unlock(&opening->mutex);
    if (!is_given_up)
        return NULL;
    if (libvirt)
        virConnectClose(libvirt);
    free_opening(opening);
    return NULL;
}

/* ---- waiting for it -------------------------------------------------------------------------- */

/* Whether it came to its end. If not, it is the thread's to free. */
static bool wait_for(struct opening *opening, uint32_t timeout_ms)
{
    const struct timespec deadline = oneib_in_ms(timeout_ms);
    pthread_mutex_lock(&opening->mutex);
    while (!opening->is_over &&
           pthread_cond_timedwait(&opening->ended, &opening->mutex, &deadline) == 0)
        ;
    const bool is_over = opening->is_over;
    opening->is_given_up = !is_over;
    pthread_mutex_unlock(&opening->mutex);
    return is_over;
}

static virConnectPtr take_result(struct opening *opening, struct oneib_error *err)
{
    virConnectPtr libvirt = opening->libvirt;
    oneib_autotext struct oneib_text words = {0};
    oneib_text_append_escaped(&words, opening->words ? opening->words : "", SHOWN);
    if (!libvirt)
        oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "libvirt: %s",
                   words.length ? words.data : "no reason given");
    free_opening(opening);
    return libvirt;
}

static virConnectPtr connect_within(const char *uri, uint32_t timeout_ms, struct oneib_error *err)
{
    struct opening *opening = make_opening(uri);
    pthread_t thread;
    const int error = oneib_thread_start(&thread, open_connection, opening);
    if (error) {
        free_opening(opening);
        oneib_fail_errno(err, error, "starting a thread for it");
        return NULL;
    }
    if (wait_for(opening, timeout_ms)) {
        /* libvirt frees what it keeps for a thread when that ends. */
        pthread_join(thread, NULL);
        return take_result(opening, err);
    }
    pthread_detach(thread);
    oneib_fail(err, ONEIB_ERROR_UNREACHABLE,
               "libvirt has not answered in %u s: see whether libvirtd hangs",
               (timeout_ms + 999) / 1000);
    return NULL;
}

/* ---- the connection -------------------------------------------------------------------------- */

/* libvirt would print them: what it has to say comes back as errors. */
static void silence_libvirt(void *context, virErrorPtr error)
{
    (void)context;
    (void)error;
}

virConnectPtr oneib_live_connect(const char *uri, uint32_t timeout_ms, struct oneib_error *err)
{
    virSetErrorFunc(NULL, silence_libvirt);
    /* libvirt writes to its socket as to a file. */
    signal(SIGPIPE, SIG_IGN);
    virConnectPtr libvirt = connect_within(uri, timeout_ms, err);
    if (libvirt)
        return libvirt;
    oneib_autotext struct oneib_text shown = {0};
    oneib_text_append_escaped(&shown, uri, SHOWN);
    oneib_wrap(err, "connecting to %s", shown.length ? shown.data : "libvirt");
    return NULL;
}
