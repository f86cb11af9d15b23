// SPDX-License-Identifier: Apache-2.0
#include "verbs_standin.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICES_MAX 8

struct standin_device {
    struct ibv_device device; /* first: what the program is given points here */
    int forbidden;
    int pipe[2]; /* of the open context; -1: not open */
    struct ibv_context context;
};

static struct standin_device devices[DEVICES_MAX];
static size_t device_count;
static int unacknowledged;

static struct standin_device *find(const char *name)
{
    for (size_t i = 0; i < device_count; i++)
        if (strcmp(devices[i].device.name, name) == 0)
            return &devices[i];
    abort();
}

void standin_add_device(const char *name)
{
    struct standin_device *device = &devices[device_count++];
    *device = (struct standin_device){.pipe = {-1, -1}};
    strncpy(device->device.name, name, sizeof device->device.name - 1);
}

void standin_forbid_device(const char *name, int error)
{
    find(name)->forbidden = error;
}

void standin_send_event(const char *name, enum ibv_event_type type)
{
    struct ibv_async_event event = {.event_type = type};
    if (write(find(name)->pipe[1], &event, sizeof event) != (ssize_t)sizeof event)
        abort();
}

void standin_remove_device(const char *name)
{
    struct standin_device *device = find(name);
    if (device->pipe[1] >= 0)
        close(device->pipe[1]);
    device->pipe[1] = -1;
    device->device.name[0] = '\0';
}

unsigned standin_open_count(void)
{
    unsigned count = 0;
    for (size_t i = 0; i < device_count; i++)
        count += devices[i].pipe[0] >= 0;
    return count;
}

int standin_unacknowledged(void)
{
    return unacknowledged;
}

void standin_reset(void)
{
    for (size_t i = 0; i < device_count; i++) {
        if (devices[i].pipe[0] >= 0)
            close(devices[i].pipe[0]);
        if (devices[i].pipe[1] >= 0)
            close(devices[i].pipe[1]);
    }
    device_count = 0;
    unacknowledged = 0;
}

/* ---- what libibverbs offers ------------------------------------------------------------------ */

#undef ibv_get_device_list
struct ibv_device **ibv_get_device_list(int *num_devices)
{
    struct ibv_device **list = calloc(device_count + 1, sizeof(struct ibv_device *));
    int count = 0;
    for (size_t i = 0; list && i < device_count; i++)
        if (devices[i].device.name[0] != '\0')
            list[count++] = &devices[i].device;
    *num_devices = count;
    return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
    free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    struct standin_device *standin = find(device->name);
    if (standin->forbidden) {
        errno = standin->forbidden;
        return NULL;
    }
    if (pipe(standin->pipe) < 0)
        abort();
    standin->context.device = device;
    standin->context.async_fd = standin->pipe[0];
    return &standin->context;
}

int ibv_close_device(struct ibv_context *context)
{
    for (size_t i = 0; i < device_count; i++) {
        if (&devices[i].context != context)
            continue;
        close(devices[i].pipe[0]);
        if (devices[i].pipe[1] >= 0)
            close(devices[i].pipe[1]);
        devices[i].pipe[0] = devices[i].pipe[1] = -1;
    }
    return 0;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
    const ssize_t got = read(context->async_fd, event, sizeof *event);
    if (got == (ssize_t)sizeof *event) {
        unacknowledged++;
        return 0;
    }
    if (got == 0)
        errno = EIO; /* as the kernel says of a device that is gone */
    return -1;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
    (void)event;
    unacknowledged--;
}
