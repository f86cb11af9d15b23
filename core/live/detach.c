// SPDX-License-Identifier: Apache-2.0
/*
 * Unplugging. libvirt says by an event that a guest has let go of a device, or that it does not.
 * An event can be lost, and a libvirtd that was restarted sends none: so the domain's document is
 * looked at too, and what it does not have any more is gone.
 *
 * Events need a connection with an event loop, and libvirtd takes a client with one for dead when
 * it does not answer for half a minute: which one does not that waits for an upstream action. So
 * this connection is another one, and lasts no longer than the waiting.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "live/live.h"
#include "live/live_internal.h"
#include <libvirt/virterror.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MS 500 /* between two looks at the document */
/* Between two requests. A guest that still starts does not see the first one. QEMU takes no other
 * for 5 s, lest it be taken for the wish to keep the device (hw/pci/pcie.c). */
#define ASK_MS 6000
#define KEEPALIVE_SECONDS 5 /* libvirtd is gone when it does not answer for some of them */
#define KEEPALIVE_COUNT 3

enum progress {
    WANTED, /* the domain has it */
    GONE,
    REJECTED, /* by the guest or QEMU */
    FAILED,   /* libvirt did not even ask */
};

struct unplugging {
    virConnectPtr libvirt;
    virDomainPtr domain;
    const char *const *aliases;
    size_t count;
    enum progress *progress; /* of each alias */
    bool look;               /* it is time for it */
};

/* ---- what happens ---------------------------------------------------------------------------- */

static void note(struct unplugging *work, const char *alias, enum progress progress)
{
    for (size_t i = 0; alias && i < work->count; i++)
        if (work->progress[i] != GONE && strcmp(work->aliases[i], alias) == 0)
            work->progress[i] = progress;
}

static void note_removed(virConnectPtr libvirt, virDomainPtr domain, const char *alias,
                         void *context)
{
    (void)libvirt;
    (void)domain;
    note(context, alias, GONE);
}

static void note_rejected(virConnectPtr libvirt, virDomainPtr domain, const char *alias,
                          void *context)
{
    (void)libvirt;
    (void)domain;
    note(context, alias, REJECTED);
}

static void note_time_to_look(int timer, void *context)
{
    (void)timer;
    struct unplugging *work = context;
    work->look = true;
}

static bool is_waiting(const struct unplugging *work)
{
    for (size_t i = 0; i < work->count; i++)
        if (work->progress[i] == WANTED)
            return true;
    return false;
}

/* ---- the document ---------------------------------------------------------------------------- */

static const xmlNode *find_child(const xmlNode *node, const char *name)
{
    for (const xmlNode *child = node ? node->children : NULL; child; child = child->next)
        if (child->type == XML_ELEMENT_NODE && strcmp((const char *)child->name, name) == 0)
            return child;
    return NULL;
}

static bool has_alias(const xmlNode *device, const char *alias)
{
    const xmlNode *node = find_child(device, "alias");
    xmlChar *name = node ? xmlGetNoNsProp(node, (const xmlChar *)"name") : NULL;
    const bool same = name && strcmp((const char *)name, alias) == 0;
    xmlFree(name);
    return same;
}

static bool has_device(const xmlNode *devices, const char *alias)
{
    for (const xmlNode *device = devices->children; device; device = device->next)
        if (device->type == XML_ELEMENT_NODE && has_alias(device, alias))
            return true;
    return false;
}

static int note_missing(struct unplugging *work, const char *xml, struct oneib_error *err)
{
    xmlDoc *document = xmlReadMemory(xml, (int)strlen(xml), NULL, NULL,
                                     XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
    const xmlNode *root = document ? xmlDocGetRootElement(document) : NULL;
    const xmlNode *devices = find_child(root, "devices");
    for (size_t i = 0; devices && i < work->count; i++)
        if (!has_device(devices, work->aliases[i]))
            work->progress[i] = GONE;
    xmlFreeDoc(document);
    return devices ? 0 : oneib_fail(err, ONEIB_ERROR_PROTOCOL, "its document is malformed");
}

/* A domain that has ended has no devices. */
static int fail_ended(struct unplugging *work, struct oneib_error *err)
{
    for (size_t i = 0; i < work->count; i++)
        work->progress[i] = GONE;
    return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "it ended while devices were being unplugged");
}

static int look(struct unplugging *work, struct oneib_error *err)
{
    virResetLastError();
    oneib_autofree char *xml = virDomainGetXMLDesc(work->domain, 0);
    if (!xml)
        oneib_live_fail(work->libvirt, err, "reading its document");
    if (xml ? virDomainIsActive(work->domain) == 0 : err->code == ONEIB_ERROR_NOT_FOUND)
        return fail_ended(work, err);
    return xml ? note_missing(work, xml, err) : -1;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Somebody has asked before, and QEMU still waits for the guest: it has no error class of its own
 * for that, but words (softmmu/qdev-monitor.c, hw/pci/pcie.c). */
static bool was_asked_before(void)
{
    const char *words = virGetLastErrorMessage();
    return strstr(words, "in the process of unplug") || strstr(words, "guest is busy");
}

static int ask_for(struct unplugging *work, size_t i, struct oneib_error *err)
{
    virResetLastError();
    if (virDomainDetachDeviceAlias(work->domain, work->aliases[i], VIR_DOMAIN_AFFECT_LIVE) == 0 ||
        was_asked_before())
        return 0;
    if (virGetLastErrorCode() == VIR_ERR_DEVICE_MISSING) {
        work->progress[i] = GONE;
        return 0;
    }
    work->progress[i] = FAILED;
    oneib_live_fail(work->libvirt, err, "unplugging %s", work->aliases[i]);
    /* One that has gone since the last look is no internal error, as libvirt says. */
    struct oneib_error unseen = {0};
    return look(work, &unseen) == 0 && work->progress[i] == GONE ? 0 : -1;
}

/* All are asked for, whatever becomes of one: the first failure is told. */
static int ask_for_all(struct unplugging *work, struct oneib_error *err)
{
    int status = 0;
    for (size_t i = 0; i < work->count; i++) {
        struct oneib_error failure = {0};
        if (work->progress[i] != WANTED || ask_for(work, i, &failure) == 0 || status < 0)
            continue;
        *err = failure;
        status = -1;
    }
    return status;
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* Their first requests were taken, and that counts. */
static void ask_again(struct unplugging *work)
{
    for (size_t i = 0; i < work->count; i++)
        if (work->progress[i] == WANTED)
            virDomainDetachDeviceAlias(work->domain, work->aliases[i], VIR_DOMAIN_AFFECT_LIVE);
}

/* Lets events come until it is time for a look, or for the deadline. */
static int take_events(struct unplugging *work, double left_ms, int timer, struct oneib_error *err)
{
    work->look = false;
    virEventUpdateTimeout(timer, left_ms <= 0 ? 0 : left_ms < LOOK_MS ? (int)left_ms + 1 : LOOK_MS);
    if (virEventRunDefaultImpl() < 0)
        return oneib_live_fail(work->libvirt, err, "waiting for events");
    return work->look && is_waiting(work) ? look(work, err) : 0;
}

static int wait_until(struct unplugging *work, double deadline, int timer, struct oneib_error *err)
{
    double next_request = oneib_now_ms() + ASK_MS;
    while (is_waiting(work)) {
        const double now = oneib_now_ms(), left_ms = deadline - now;
        if (now >= next_request) {
            ask_again(work);
            next_request = now + ASK_MS;
        }
        if (take_events(work, left_ms, timer, err) < 0)
            return -1;
        if (left_ms <= 0)
            return 0;
    }
    return 0;
}

static int fail_unfinished(const struct unplugging *work, uint32_t timeout_ms,
                           struct oneib_error *err)
{
    for (size_t i = 0; i < work->count; i++)
        if (work->progress[i] == REJECTED)
            return oneib_fail(err, ONEIB_ERROR_REFUSED,
                              "its guest, or QEMU, refused to let go of %s", work->aliases[i]);
    for (size_t i = 0; i < work->count; i++)
        if (work->progress[i] == WANTED)
            return oneib_fail(err, ONEIB_ERROR_TIMEOUT, "its guest did not let go of %s in %u s",
                              work->aliases[i], (timeout_ms + 999) / 1000);
    return 0;
}

/* Some may be asked for although others cannot be. */
static int ask_and_wait(struct unplugging *work, double deadline, int timer, uint32_t timeout_ms,
                        struct oneib_error *err)
{
    struct oneib_error later = {0};
    if (look(work, err) < 0)
        return -1;
    const int asked = ask_for_all(work, err);
    const int waited = wait_until(work, deadline, timer, asked < 0 ? &later : err);
    return asked < 0 || waited < 0 ? -1 : fail_unfinished(work, timeout_ms, err);
}

/* ---- with events ----------------------------------------------------------------------------- */

/* Nothing is done about a libvirt that has no such events: the document is looked at as well. libvirt has one type for all
 * callbacks; a cast to it goes by way of void (*)(void), for else clang 19 warns of it. */
static int watch(struct unplugging *work, int event,
                 virConnectDomainEventDeviceRemovedCallback call)
{
    return virConnectDomainEventRegisterAny(work->libvirt, work->domain, event,
                                            VIR_DOMAIN_EVENT_CALLBACK((void (*)(void))call), work,
                                            NULL);
}

static void stop_watching(struct unplugging *work, int callback)
{
    if (callback >= 0)
        virConnectDomainEventDeregisterAny(work->libvirt, callback);
}

static int watch_and_ask(struct unplugging *work, uint32_t timeout_ms, struct oneib_error *err)
{
    const double deadline = oneib_now_ms() + timeout_ms;
    const int timer = virEventAddTimeout(LOOK_MS, note_time_to_look, work, NULL);
    if (timer < 0)
        return oneib_live_fail(work->libvirt, err, "setting a timer");
    const int removed = watch(work, VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED, note_removed);
    const int failed = watch(work, VIR_DOMAIN_EVENT_ID_DEVICE_REMOVAL_FAILED, note_rejected);
    const int status = ask_and_wait(work, deadline, timer, timeout_ms, err);
    stop_watching(work, removed);
    stop_watching(work, failed);
    virEventRemoveTimeout(timer);
    return status;
}

/* The next start shall not have them either. What was never defined with them is no failure. */
static void forget_in_definition(const struct unplugging *work)
{
    for (size_t i = 0; virDomainIsPersistent(work->domain) == 1 && i < work->count; i++)
        if (work->progress[i] == GONE)
            virDomainDetachDeviceAlias(work->domain, work->aliases[i], VIR_DOMAIN_AFFECT_CONFIG);
}

static int unplug(struct unplugging *work, const char *domain, uint32_t timeout_ms,
                  struct oneib_error *err)
{
    work->domain = oneib_live_find(work->libvirt, domain, err);
    if (!work->domain)
        return -1;
    const int status = watch_and_ask(work, timeout_ms, err);
    forget_in_definition(work);
    virDomainFree(work->domain);
    return status;
}

static virConnectPtr connect_with_events(const char *uri, struct oneib_error *err)
{
    if (virEventRegisterDefaultImpl() < 0) {
        oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "libvirt's events cannot be prepared");
        return NULL;
    }
    virConnectPtr libvirt = oneib_live_connect(uri, ONEIB_LIVE_CONNECT_MS, err);
    if (libvirt)
        virConnectSetKeepAlive(libvirt, KEEPALIVE_SECONDS, KEEPALIVE_COUNT);
    return libvirt;
}

int oneib_live_detach(struct oneib_live *live, const char *domain, const char *const *aliases,
                      size_t count, uint32_t timeout_ms, bool *gone, struct oneib_error *err)
{
    struct unplugging work = {.aliases = aliases, .count = count};
    for (size_t i = 0; i < count; i++)
        gone[i] = false;
    work.progress = oneib_alloc(count + 1, sizeof *work.progress);
    work.libvirt = connect_with_events(live->uri, err);
    int status = work.libvirt ? unplug(&work, domain, timeout_ms, err) : -1;
    if (work.libvirt)
        virConnectClose(work.libvirt);
    for (size_t i = 0; i < count; i++)
        gone[i] = work.progress[i] == GONE;
    free(work.progress);
    return status < 0 ? oneib_live_wrap(err, domain) : 0;
}
