// SPDX-License-Identifier: Apache-2.0
/*
 * live-standin ACTION ARGUMENT...: what virsh is to OpenNebula's upstream actions, for the stand-in
 * of libvirt that live_standin.h describes. Exit status 0, 1 failure, 2 usage.
 */
#include "../live_standin.h"
#include "base/file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOCUMENT_MAX ((size_t)64 * 1024 * 1024)

/* Starts the domain and says its UUID. */
static int start(const char *path, const char *unused, struct oneib_error *err)
{
    (void)unused;
    char *xml;
    size_t length;
    struct oneib_text uuid = {0};
    if (oneib_file_read(path, DOCUMENT_MAX, &xml, &length, err) < 0)
        return -1;
    const int status = live_standin_start(xml, length, &uuid, err);
    if (status == 0)
        puts(uuid.data);
    oneib_text_clear(&uuid);
    free(xml);
    return status;
}

static int stop(const char *domain, const char *unused, struct oneib_error *err)
{
    (void)unused;
    return live_standin_stop(domain, err);
}

static int restore(const char *path, const char *unused, struct oneib_error *err)
{
    (void)unused;
    return live_standin_restore(path, err);
}

static const struct {
    const char *name;
    int arguments;
    int (*run)(const char *first, const char *second, struct oneib_error *err);
} actions[] = {
    {"start", 1, start},
    {"stop", 1, stop},
    {"save", 2, live_standin_save},
    {"restore", 1, restore},
    {"migrate", 2, live_standin_migrate},
    {"snapshot", 2, live_standin_snapshot},
    {"revert", 2, live_standin_revert},
    {"plug", 2, live_standin_plug},
    {"unplug-mac", 2, live_standin_unplug_mac},
};

int main(int argc, char **argv)
{
    struct oneib_error err = {0};
    for (size_t i = 0; argc > 1 && i < sizeof actions / sizeof *actions; i++) {
        if (strcmp(argv[1], actions[i].name) != 0 || argc != actions[i].arguments + 2)
            continue;
        if (actions[i].run(argv[2], argc > 3 ? argv[3] : NULL, &err) == 0)
            return 0;
        fprintf(stderr, "error: %s\n", err.text);
        return 1;
    }
    fputs("usage: live-standin ACTION ARGUMENT...\n", stderr);
    return 2;
}
