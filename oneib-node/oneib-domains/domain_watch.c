// SPDX-License-Identifier: Apache-2.0
/*
 * libvirt's callbacks only note what is to be done, and each turn of the loop does it: so nothing
 * is asked from within a callback, and what comes ten times is done once.
 */
#include "oneib-node/oneib-domains/domain_watch.h"
#include "base/memory.h"
#include "oneib-node/oneib-domains/domain_table.h"
#include "oneib-node/oneib-domains/domains_message.h"
#include "oneib-node/oneib-domains/libvirt_events.h"
#include "oneib-node/oneib-domains/process.h"
#include "oneib-node/oneib-domains/tell.h"
#include <errno.h>
#include <libvirt/virterror.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define BEAT_MS 4000
/* Definitions change without an event when a device is attached to what a domain will have at its
 * next start; OpenNebula's domains are not defined. In beats. */
#define BEATS_TO_DEFINITIONS 15
#define RETRY_FIRST_MS 200
#define RETRY_LAST_MS 5000
/* libvirt is asked whether it is there when it has said nothing for so long. */
#define KEEPALIVE_S 5
#define KEEPALIVE_COUNT 1
#define CHANGED_MAX 64 /* domains that are read one by one; more: all are */

static const int events[] = {VIR_DOMAIN_EVENT_ID_LIFECYCLE, VIR_DOMAIN_EVENT_ID_DEVICE_ADDED,
                             VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED};

#define EVENTS (sizeof events / sizeof *events)

struct oneib_domain_watch {
    const char *uri;
    int socket;
    uint32_t beat_ms, retry_ms;
    const char *processes;
    int handle, ends, timer; /* of the event loop; -1: none */
    virConnectPtr libvirt;
    int callbacks[EVENTS]; /* -1: none */
    struct oneib_domain_table table;
    bool is_listed; /* the table was told as a list, and is what it was then */
    unsigned beats; /* since the definitions were read */

    /* To be done. */
    bool is_time;  /* the timer's: a beat, or to connect */
    bool is_asked; /* for everything anew */
    bool is_over;
    bool has_all_changed;
    size_t changed_count;
    unsigned char changed[CHANGED_MAX][VIR_UUID_BUFLEN];
};

/* ---- what happens ---------------------------------------------------------------------------- */

static void note_changed(struct oneib_domain_watch *watch, const unsigned char *uuid)
{
    for (size_t i = 0; i < watch->changed_count; i++)
        if (memcmp(watch->changed[i], uuid, VIR_UUID_BUFLEN) == 0)
            return;
    if (watch->changed_count == CHANGED_MAX)
        watch->has_all_changed = true;
    else
        memcpy(watch->changed[watch->changed_count++], uuid, VIR_UUID_BUFLEN);
}

static void note_domain(virDomainPtr domain, struct oneib_domain_watch *watch)
{
    unsigned char uuid[VIR_UUID_BUFLEN];
    if (virDomainGetUUID(domain, uuid) == 0)
        note_changed(watch, uuid);
    else
        watch->has_all_changed = true;
}

static int on_lifecycle(virConnectPtr libvirt, virDomainPtr domain, int event, int detail,
                        void *watch)
{
    (void)libvirt;
    (void)event;
    (void)detail;
    note_domain(domain, watch);
    return 0;
}

static void on_device(virConnectPtr libvirt, virDomainPtr domain, const char *alias, void *watch)
{
    (void)libvirt;
    (void)alias;
    note_domain(domain, watch);
}

static void on_time(int timer, void *context)
{
    struct oneib_domain_watch *watch = context;
    (void)timer;
    watch->is_time = true;
}

static void on_socket(int handle, int socket, int what, void *context)
{
    struct oneib_domain_watch *watch = context;
    char bytes[sizeof(struct oneib_domain_order) + 1];
    (void)handle;
    (void)what;
    const ssize_t length = recv(socket, bytes, sizeof bytes, MSG_DONTWAIT);
    if (length > 0 && oneib_domain_order_check(bytes, (size_t)length))
        watch->is_asked = true;
    else
        watch->is_over = true;
}

/* It need only wake the loop: each turn looks at the processes. */
static void on_end(int handle, int ends, int what, void *watch)
{
    (void)handle;
    (void)ends;
    (void)what;
    (void)watch;
}

/* ---- telling --------------------------------------------------------------------------------- */

/* Nobody listens any more: that is the end. */
static void note_told(struct oneib_domain_watch *watch, int status)
{
    if (status < 0)
        watch->is_over = true;
}

static void tell_unknown(struct oneib_domain_watch *watch, const char *why)
{
    struct oneib_error unheard;
    watch->is_listed = false;
    note_told(watch, oneib_tell_unknown(watch->socket, why, &unheard));
}

static void tell_table(struct oneib_domain_watch *watch)
{
    struct oneib_error unheard;
    note_told(watch, oneib_domain_table_tell(&watch->table, watch->socket, &unheard));
    watch->is_listed = oneib_domain_table_is_sound(&watch->table);
}

static void tell_alive(struct oneib_domain_watch *watch)
{
    struct oneib_error unheard;
    note_told(watch, oneib_tell_kind(watch->socket, ONEIB_DOMAIN_NEWS_ALIVE, &unheard));
}

/* ---- the connection -------------------------------------------------------------------------- */

static void disconnect(struct oneib_domain_watch *watch)
{
    for (size_t i = 0; i < EVENTS; i++) {
        if (watch->callbacks[i] >= 0)
            virConnectDomainEventDeregisterAny(watch->libvirt, watch->callbacks[i]);
        watch->callbacks[i] = -1;
    }
    if (watch->libvirt)
        virConnectClose(watch->libvirt);
    watch->libvirt = NULL;
    oneib_domain_table_clear(&watch->table);
}

/* libvirt has one type for all callbacks of events, and calls each with what its event has. A cast to it goes by way
 * of void (*)(void), for else clang 19 warns of it. */
static virConnectDomainEventGenericCallback generic(int event)
{
    void (*const callback)(void) = event == VIR_DOMAIN_EVENT_ID_LIFECYCLE
                                       ? (void (*)(void))on_lifecycle
                                       : (void (*)(void))on_device;
    return VIR_DOMAIN_EVENT_CALLBACK(callback);
}

static int follow_events(struct oneib_domain_watch *watch, struct oneib_error *err)
{
    for (size_t i = 0; i < EVENTS; i++) {
        watch->callbacks[i] = virConnectDomainEventRegisterAny(watch->libvirt, NULL, events[i],
                                                               generic(events[i]), watch, NULL);
        if (watch->callbacks[i] < 0)
            return oneib_libvirt_fail(err, "following its events");
    }
    return 0;
}

/* Events first: what happens while the domains are read is read again. */
static int connect_and_read(struct oneib_domain_watch *watch, struct oneib_error *err)
{
    watch->libvirt = virConnectOpenReadOnly(watch->uri);
    if (!watch->libvirt)
        return oneib_libvirt_fail(err, "connecting");
    /* A driver without a connection (the test driver) has nothing that could be lost. */
    virConnectSetKeepAlive(watch->libvirt, KEEPALIVE_S, KEEPALIVE_COUNT);
    watch->has_all_changed = false;
    watch->changed_count = 0;
    if (follow_events(watch, err) < 0)
        return -1;
    return oneib_domain_table_fill(watch->libvirt, &watch->table, err);
}

static int check_alive(struct oneib_domain_watch *watch, struct oneib_error *err)
{
    if (virConnectIsAlive(watch->libvirt) == 1)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "libvirt has ended the connection");
}

static void set_timer(struct oneib_domain_watch *watch, uint32_t ms)
{
    virEventUpdateTimeout(watch->timer, (int)ms);
}

static void try_later(struct oneib_domain_watch *watch, const struct oneib_error *err)
{
    disconnect(watch);
    tell_unknown(watch, err->text);
    set_timer(watch, watch->retry_ms);
    watch->retry_ms = watch->retry_ms * 2 < RETRY_LAST_MS ? watch->retry_ms * 2 : RETRY_LAST_MS;
}

static void begin(struct oneib_domain_watch *watch)
{
    struct oneib_error err = {0};
    watch->is_time = false;
    if (connect_and_read(watch, &err) < 0 || check_alive(watch, &err) < 0) {
        try_later(watch, &err);
        return;
    }
    bool ended = false; /* told below in any case */
    oneib_domain_table_follow(&watch->table, watch->processes, &ended);
    watch->retry_ms = RETRY_FIRST_MS;
    watch->beats = 0;
    set_timer(watch, watch->beat_ms);
    tell_table(watch);
}

/* ---- a turn ---------------------------------------------------------------------------------- */

static void note_definitions(struct oneib_domain_watch *watch)
{
    watch->beats = 0;
    for (size_t i = 0; i < watch->table.count; i++)
        if (watch->table.items[i].persistent)
            note_changed(watch, watch->table.items[i].uuid);
}

/* What could not be read may be readable now. */
static void note_wrong(struct oneib_domain_watch *watch)
{
    for (size_t i = 0; i < watch->table.count; i++)
        if (watch->table.items[i].wrong.code != ONEIB_ERROR_NONE)
            note_changed(watch, watch->table.items[i].uuid);
}

/* A small question: connections are kept alive by threads of libvirtd's that work even when all
 * those hang that answer. A domain that starts has its devices long before libvirt tells by an event
 * that it has started, since the memory of a big guest takes minutes; one whose start fails then
 * is never told of. */
static int beat(struct oneib_domain_watch *watch, struct oneib_error *err)
{
    const int running = virConnectNumOfDomains(watch->libvirt);
    if (running < 0)
        return oneib_libvirt_fail(err, "asking whether it is there");
    if ((size_t)running != oneib_domain_table_running(&watch->table))
        watch->has_all_changed = true;
    if (++watch->beats >= BEATS_TO_DEFINITIONS)
        note_definitions(watch);
    note_wrong(watch);
    return 0;
}

static int read_changed(struct oneib_domain_watch *watch, bool *changed, struct oneib_error *err)
{
    const size_t count = watch->changed_count;
    const bool all = watch->has_all_changed;
    watch->changed_count = 0;
    watch->has_all_changed = false;
    if (all) {
        *changed = true;
        return oneib_domain_table_fill(watch->libvirt, &watch->table, err);
    }
    for (size_t i = 0; i < count; i++)
        oneib_domain_table_update(watch->libvirt, watch->changed[i], &watch->table, changed);
    return 0;
}

static int look(struct oneib_domain_watch *watch, bool is_beat, bool *changed,
                struct oneib_error *err)
{
    if (is_beat && beat(watch, err) < 0)
        return -1;
    if (read_changed(watch, changed, err) < 0)
        return -1;
    oneib_domain_table_follow(&watch->table, watch->processes, changed);
    /* Only now: what fails on a lost connection is not the domain's fault. */
    return check_alive(watch, err);
}

static void go_on(struct oneib_domain_watch *watch)
{
    struct oneib_error err = {0};
    bool changed = false;
    const bool is_beat = watch->is_time;
    watch->is_time = false;
    if (look(watch, is_beat, &changed, &err) < 0)
        try_later(watch, &err);
    else if (changed || (is_beat && !watch->is_listed))
        tell_table(watch);
    else if (is_beat)
        tell_alive(watch);
}

bool oneib_domain_watch_turn(struct oneib_domain_watch *watch)
{
    if (virEventRunDefaultImpl() < 0 || watch->is_over)
        return false;
    if (watch->is_asked)
        disconnect(watch);
    if (watch->is_asked || (!watch->libvirt && watch->is_time)) {
        watch->is_asked = false;
        begin(watch);
    } else if (watch->libvirt) {
        go_on(watch);
    }
    return !watch->is_over;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static int add_to_loop(struct oneib_domain_watch *watch, struct oneib_error *err)
{
    const int what = VIR_EVENT_HANDLE_READABLE | VIR_EVENT_HANDLE_HANGUP | VIR_EVENT_HANDLE_ERROR;
    if (virEventRegisterDefaultImpl() < 0)
        return oneib_libvirt_fail(err, "libvirt's event loop");
    watch->table.ends = epoll_create1(EPOLL_CLOEXEC);
    if (watch->table.ends < 0)
        return oneib_fail_errno(err, errno, "waiting for processes");
    watch->ends =
        virEventAddHandle(watch->table.ends, VIR_EVENT_HANDLE_READABLE, on_end, watch, NULL);
    watch->handle = virEventAddHandle(watch->socket, what, on_socket, watch, NULL);
    watch->timer = virEventAddTimeout(0, on_time, watch, NULL);
    return watch->handle < 0 || watch->ends < 0 || watch->timer < 0
               ? oneib_libvirt_fail(err, "libvirt's event loop takes no more")
               : 0;
}

int oneib_domain_watch_open(const struct oneib_domain_watch_options *options,
                            struct oneib_domain_watch **watch, struct oneib_error *err)
{
    *watch = oneib_alloc(1, sizeof **watch);
    **watch = (struct oneib_domain_watch){
        .uri = options->uri,
        .socket = options->socket,
        .beat_ms = options->beat_ms ? options->beat_ms : BEAT_MS,
        .retry_ms = RETRY_FIRST_MS,
        .processes = options->processes ? options->processes : ONEIB_DOMAIN_PROCESSES,
        .table = {.ends = -1},
        .handle = -1,
        .ends = -1,
        .timer = -1,
        .callbacks = {-1, -1, -1},
    };
    /* libvirt writes to its socket as to a file. */
    signal(SIGPIPE, SIG_IGN);
    oneib_libvirt_silence();
    if (add_to_loop(*watch, err) == 0)
        return 0;
    oneib_domain_watch_close(*watch);
    *watch = NULL;
    return -1;
}

void oneib_domain_watch_close(struct oneib_domain_watch *watch)
{
    if (!watch)
        return;
    disconnect(watch);
    if (watch->handle >= 0)
        virEventRemoveHandle(watch->handle);
    if (watch->ends >= 0)
        virEventRemoveHandle(watch->ends);
    if (watch->table.ends >= 0)
        close(watch->table.ends);
    if (watch->timer >= 0)
        virEventRemoveTimeout(watch->timer);
    free(watch);
}
