// SPDX-License-Identifier: Apache-2.0
/* Where threads of a running domain may run, and what its metadata says. */
#include "live/live.h"
#include "live/live_internal.h"
#include <string.h>

/* ---- metadata -------------------------------------------------------------------------------- */

int oneib_live_set_metadata(struct oneib_live *live, const char *domain, const char *element,
                            const char *prefix, const char *namespace, struct oneib_error *err)
{
    virDomainPtr found = oneib_live_find(live->libvirt, domain, err);
    if (!found)
        return oneib_live_wrap(err, domain);
    int status = virDomainSetMetadata(found, VIR_DOMAIN_METADATA_ELEMENT, element, prefix,
                                      namespace, VIR_DOMAIN_AFFECT_LIVE);
    if (status < 0)
        status = oneib_live_fail(live->libvirt, err, "writing into its metadata");
    virDomainFree(found);
    return status < 0 ? oneib_live_wrap(err, domain) : 0;
}

/* ---- pins ------------------------------------------------------------------------------------ */

/* As libvirt takes them: bit n % 8 of byte n / 8. */
struct map {
    unsigned char bytes[VIR_CPU_MAPLEN(ONEIB_CPUS_MAX)];
    int length; /* up to the last CPU */
};

static struct map map_of(const struct oneib_cpu_set *cpus)
{
    struct map map = {.length = 0};
    for (uint32_t cpu = 0; cpu < ONEIB_CPUS_MAX; cpu++)
        if (oneib_cpu_set_has(cpus, cpu)) {
            VIR_USE_CPU(map.bytes, cpu);
            map.length = VIR_CPU_MAPLEN((int)cpu + 1);
        }
    return map;
}

static int pin(virDomainPtr domain, enum oneib_live_thread kind, uint32_t id, struct map *map)
{
    switch (kind) {
    case ONEIB_LIVE_VCPU:
        return virDomainPinVcpu(domain, id, map->bytes, map->length);
    case ONEIB_LIVE_IO:
        return virDomainPinIOThread(domain, id, map->bytes, map->length, VIR_DOMAIN_AFFECT_LIVE);
    case ONEIB_LIVE_EMULATOR:
        break;
    }
    return virDomainPinEmulator(domain, map->bytes, map->length, VIR_DOMAIN_AFFECT_LIVE);
}

static const char *thread_name(enum oneib_live_thread kind)
{
    return kind == ONEIB_LIVE_VCPU ? "virtual core"
           : kind == ONEIB_LIVE_IO ? "I/O thread"
                                   : "emulator";
}

int oneib_live_pin(struct oneib_live *live, const char *domain, enum oneib_live_thread kind,
                   uint32_t id, const struct oneib_cpu_set *cpus, struct oneib_error *err)
{
    struct map map = map_of(cpus);
    virDomainPtr found = oneib_live_find(live->libvirt, domain, err);
    if (!found)
        return oneib_live_wrap(err, domain);
    int status = pin(found, kind, id, &map);
    if (status < 0)
        status = oneib_live_fail(live->libvirt, err, "pinning its %s %u", thread_name(kind), id);
    virDomainFree(found);
    return status < 0 ? oneib_live_wrap(err, domain) : 0;
}
