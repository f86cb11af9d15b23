// SPDX-License-Identifier: Apache-2.0
/* In place of core/live, for `deploy`, which asks libvirt nothing. */
#include "live/live.h"

static int refuse(struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "this program knows no libvirt");
}

int oneib_live_open(const char *uri, struct oneib_live **live, struct oneib_error *err)
{
    (void)uri;
    *live = NULL;
    return refuse(err);
}

void oneib_live_close(struct oneib_live *live)
{
    (void)live;
}

int oneib_live_each(struct oneib_live *live,
                    int (*each)(const char *xml, size_t length, void *context,
                                struct oneib_error *err),
                    void *context, struct oneib_error *err)
{
    (void)live;
    (void)each;
    (void)context;
    return refuse(err);
}

int oneib_live_set_metadata(struct oneib_live *live, const char *domain, const char *element,
                            const char *prefix, const char *namespace, struct oneib_error *err)
{
    (void)live;
    (void)domain;
    (void)element;
    (void)prefix;
    (void)namespace;
    return refuse(err);
}

int oneib_live_pin(struct oneib_live *live, const char *domain, enum oneib_live_thread kind,
                   uint32_t id, const struct oneib_cpu_set *cpus, struct oneib_error *err)
{
    (void)live;
    (void)domain;
    (void)kind;
    (void)id;
    (void)cpus;
    return refuse(err);
}
