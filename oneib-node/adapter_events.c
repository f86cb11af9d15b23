// SPDX-License-Identifier: Apache-2.0
#include "oneib-node/adapter_events.h"
#include "hca/place.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <string.h>

/*
 * What is used of libibverbs. It is loaded where there is an adapter to follow: a node whose
 * adapters come later starts without it, and a process of root's has no code that it does not use.
 */
static struct verbs {
    struct ibv_device **(*get_device_list)(int *count);
    void (*free_device_list)(struct ibv_device **list);
    const char *(*get_device_name)(struct ibv_device *device);
    struct ibv_context *(*open_device)(struct ibv_device *device);
    int (*close_device)(struct ibv_context *context);
    int (*get_async_event)(struct ibv_context *context, struct ibv_async_event *event);
    void (*ack_async_event)(struct ibv_async_event *event);
} verbs;

static int find_function(void *library, const char *name, void *function, struct oneib_error *err)
{
    void *address = dlsym(library, name);
    if (!address)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "libibverbs has no %s", name);
    memcpy(function, &address, sizeof address);
    return 0;
}

static int load_verbs(struct oneib_error *err)
{
    if (verbs.ack_async_event)
        return 0;
    void *library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                          "loading libibverbs, for the events of adapters: %s: install libibverbs1 "
                          "and ibverbs-providers",
                          dlerror());
    /* The last one says that all are known. */
    if (find_function(library, "ibv_get_device_list", &verbs.get_device_list, err) < 0 ||
        find_function(library, "ibv_free_device_list", &verbs.free_device_list, err) < 0 ||
        find_function(library, "ibv_get_device_name", &verbs.get_device_name, err) < 0 ||
        find_function(library, "ibv_open_device", &verbs.open_device, err) < 0 ||
        find_function(library, "ibv_close_device", &verbs.close_device, err) < 0 ||
        find_function(library, "ibv_get_async_event", &verbs.get_async_event, err) < 0 ||
        find_function(library, "ibv_ack_async_event", &verbs.ack_async_event, err) < 0) {
        dlclose(library);
        verbs = (struct verbs){0};
        return -1;
    }
    return 0;
}

static bool is_open(const struct oneib_adapter_events *events, const char *name)
{
    for (size_t i = 0; i < events->count; i++)
        if (strcmp(events->items[i].name, name) == 0)
            return true;
    return false;
}

static void close_adapter(struct oneib_adapter_events *events, size_t at)
{
    verbs.close_device(events->items[at].context);
    events->items[at] = events->items[--events->count];
}

static void close_those_that_are_gone(struct oneib_adapter_events *events,
                                      const struct oneib_hcas *hcas)
{
    for (size_t i = events->count; i-- > 0;)
        if (!oneib_hcas_find(hcas, events->items[i].name))
            close_adapter(events, i);
}

static int open_adapter(struct oneib_adapter_events *events, struct ibv_device *device,
                        struct oneib_error *err)
{
    const char *name = verbs.get_device_name(device);
    struct ibv_context *context = verbs.open_device(device);
    if (!context)
        return oneib_fail_errno(err, errno, "opening %s for its events", name);

    /* Events are taken until there are none: reading must not wait. */
    const int flags = fcntl(context->async_fd, F_GETFL);
    if (flags < 0 || fcntl(context->async_fd, F_SETFL, flags | O_NONBLOCK) < 0) {
        const int error = errno;
        verbs.close_device(context);
        return oneib_fail_errno(err, error, "preparing the events of %s", name);
    }

    struct oneib_adapter *adapter = &events->items[events->count++];
    memcpy(adapter->name, name, strlen(name) + 1);
    adapter->context = context;
    return 0;
}

/* Whether the device is one of the adapters and not yet open. */
static bool is_wanted(const struct oneib_adapter_events *events, const struct oneib_hcas *hcas,
                      const char *name)
{
    return strlen(name) < ONEIB_DEVICE_NAME_SIZE && oneib_hcas_find(hcas, name) &&
           !is_open(events, name) && events->count < ONEIB_ADAPTERS_MAX;
}

static int open_those_that_came(struct oneib_adapter_events *events, const struct oneib_hcas *hcas,
                                struct oneib_error *err)
{
    struct oneib_error failure;
    int outcome = 0, count = 0;
    struct ibv_device **devices = verbs.get_device_list(&count);
    if (!devices)
        return oneib_fail_errno(err, errno, "listing devices through libibverbs");
    for (int i = 0; i < count; i++) {
        if (is_wanted(events, hcas, verbs.get_device_name(devices[i])) &&
            open_adapter(events, devices[i], &failure) < 0) {
            *err = failure;
            outcome = -1;
        }
    }
    verbs.free_device_list(devices);
    return outcome;
}

/* libibverbs lists nothing that it has no provider for. */
static int name_one_that_is_not_open(const struct oneib_adapter_events *events,
                                     const struct oneib_hcas *hcas, struct oneib_error *err)
{
    for (size_t i = 0; i < hcas->count; i++)
        if (!is_open(events, hcas->items[i].name))
            return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                              "libibverbs does not know %s: install ibverbs-providers, load "
                              "ib_uverbs, and restart the service oneib-node",
                              hcas->items[i].name);
    return 0;
}

int oneib_adapter_events_follow(struct oneib_adapter_events *events, const struct oneib_hcas *hcas,
                                struct oneib_error *err)
{
    close_those_that_are_gone(events, hcas);
    /* The devices that libibverbs knows are another machine's than those of a simulated node. */
    if (oneib_node_is_simulated() || events->count == hcas->count)
        return 0;
    if (load_verbs(err) < 0 || open_those_that_came(events, hcas, err) < 0)
        return -1;
    return name_one_that_is_not_open(events, hcas, err);
}

size_t oneib_adapter_events_poll(const struct oneib_adapter_events *events, struct pollfd *files)
{
    for (size_t i = 0; i < events->count; i++) {
        const struct ibv_context *context = events->items[i].context;
        files[i] = (struct pollfd){.fd = context->async_fd, .events = POLLIN};
    }
    return events->count;
}

/* After either the context is of no use: the device comes back, if at all, as a new one. */
static bool is_the_end(enum ibv_event_type type)
{
    return type == IBV_EVENT_DEVICE_FATAL;
}

bool oneib_adapter_events_take(struct oneib_adapter_events *events)
{
    bool any = false;
    for (size_t i = events->count; i-- > 0;) {
        struct ibv_async_event event;
        bool ended = false;
        while (!ended && verbs.get_async_event(events->items[i].context, &event) == 0) {
            any = true;
            ended = is_the_end(event.event_type);
            verbs.ack_async_event(&event);
        }
        if (ended || (errno != EAGAIN && errno != EINTR))
            close_adapter(events, i);
    }
    return any;
}

void oneib_adapter_events_close(struct oneib_adapter_events *events)
{
    while (events->count > 0)
        close_adapter(events, events->count - 1);
}
