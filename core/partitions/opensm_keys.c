// SPDX-License-Identifier: Apache-2.0
#include "partitions/opensm_keys.h"
#include "partitions/opensm_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_KEY 1
#define DEFAULT_SWEEP_S 10
#define VIRTUAL_PORTS_ON 2

void oneib_opensm_keys_defaults(struct oneib_opensm_keys *keys)
{
    *keys = (struct oneib_opensm_keys){.sa_key = DEFAULT_KEY,
                                       .sm_key = DEFAULT_KEY,
                                       .sweep_s = DEFAULT_SWEEP_S,
                                       .guids_by_vf = true};
}

/* ---- reading --------------------------------------------------------------------------------- */

static void take_number(const char *value, uint64_t max, uint64_t *number)
{
    char *end;
    errno = 0;
    const uint64_t read = strtoull(value, &end, 0);
    if (*value && !*end && errno == 0 && read <= max)
        *number = read;
}

static void take_small(const char *value, uint32_t max, uint32_t *number)
{
    uint64_t wide = *number;
    take_number(value, max, &wide);
    *number = (uint32_t)wide;
}

static void take_setting(void *context, const char *name, const char *value)
{
    struct oneib_opensm_keys *keys = context;
    if (strcmp(name, "m_key") == 0)
        take_number(value, UINT64_MAX, &keys->m_key);
    else if (strcmp(name, "sa_key") == 0)
        take_number(value, UINT64_MAX, &keys->sa_key);
    else if (strcmp(name, "sm_key") == 0)
        take_number(value, UINT64_MAX, &keys->sm_key);
    else if (strcmp(name, "m_key_protection_level") == 0)
        take_small(value, UINT8_MAX, &keys->level);
    else if (strcmp(name, "m_key_lease_period") == 0)
        take_small(value, UINT16_MAX, &keys->lease_s);
    else if (strcmp(name, "sweep_interval") == 0)
        take_small(value, UINT32_MAX, &keys->sweep_s);
    else if (strcmp(name, "ipoib_mcgroup_creation_validation") == 0)
        keys->open_groups = strcmp(value, "TRUE") != 0;
    else if (strcmp(name, "part_enforce") == 0)
        keys->unenforced = strcmp(value, "out") == 0 || strcmp(value, "off") == 0;
    else if (strcmp(name, "no_partition_enforcement") == 0)
        keys->no_enforcement = strcmp(value, "TRUE") == 0;
    else if (strcmp(name, "virt_enabled") == 0)
        take_small(value, UINT32_MAX, &keys->virt_enabled);
    else if (strcmp(name, "sa_enhanced_trust_model") == 0)
        keys->enhanced_trust = strcmp(value, "TRUE") == 0;
    else if (strcmp(name, "sa_etm_allow_guidinfo_rec_by_vf") == 0)
        keys->guids_by_vf = strcmp(value, "FALSE") != 0;
    else if (strcmp(name, "sa_etm_allow_untrusted_proxy_requests") == 0)
        keys->untrusted_proxies = strcmp(value, "FALSE") != 0;
    else if (strcmp(name, "sa_check_sgid_spoofing") == 0)
        keys->spoofed_sgids = strcmp(value, "TRUE") != 0;
    else if (strcmp(name, "sweep_every_hup_signal") == 0)
        keys->sleeps_through_hup = strcmp(value, "TRUE") != 0;
    else if (strcmp(name, "m_key_per_port") == 0) {
        keys->knows_per_port = true;
        keys->per_port = strcmp(value, "TRUE") == 0;
    }
}

void oneib_opensm_keys_read(const char *text, size_t length, struct oneib_opensm_keys *keys)
{
    oneib_opensm_options_read(text, length, take_setting, keys);
}

/* ---- traps ----------------------------------------------------------------------------------- */

static bool is_known_to_all(uint64_t key)
{
    return key == 0 || key == DEFAULT_KEY;
}

static unsigned lease_traps(const struct oneib_opensm_keys *keys, uint32_t verify_s)
{
    if (keys->lease_s == 0)
        return ONEIB_TRAP_NO_LEASE;
    return (keys->lease_s <= keys->sweep_s ? (unsigned)ONEIB_TRAP_LEASE_SWEEP : 0) |
           (keys->lease_s <= verify_s ? (unsigned)ONEIB_TRAP_LEASE_VERIFY : 0);
}

unsigned oneib_opensm_apart_traps(const struct oneib_opensm_keys *keys)
{
    return (keys->open_groups ? (unsigned)ONEIB_TRAP_GROUPS : 0) |
           (keys->unenforced || keys->no_enforcement ? (unsigned)ONEIB_TRAP_UNENFORCED : 0);
}

unsigned oneib_opensm_virtual_traps(const struct oneib_opensm_keys *keys)
{
    return (keys->virt_enabled != VIRTUAL_PORTS_ON ? (unsigned)ONEIB_TRAP_VIRT_OFF : 0) |
           (!keys->enhanced_trust ? (unsigned)ONEIB_TRAP_NO_TRUST : 0) |
           (keys->guids_by_vf ? (unsigned)ONEIB_TRAP_GUIDS_BY_VF : 0) |
           (keys->untrusted_proxies ? (unsigned)ONEIB_TRAP_PROXIES : 0) |
           (keys->spoofed_sgids ? (unsigned)ONEIB_TRAP_SPOOFED : 0) |
           (keys->sleeps_through_hup ? (unsigned)ONEIB_TRAP_HUP : 0);
}

unsigned oneib_opensm_key_traps(const struct oneib_opensm_keys *keys, uint32_t verify_s)
{
    unsigned traps = (is_known_to_all(keys->sa_key) ? (unsigned)ONEIB_TRAP_SA_KEY : 0) |
                     (is_known_to_all(keys->sm_key) ? (unsigned)ONEIB_TRAP_SM_KEY : 0) |
                     (keys->knows_per_port && !keys->per_port ? (unsigned)ONEIB_TRAP_ONE_KEY : 0);
    if (keys->m_key == 0 && !keys->per_port)
        return traps | ONEIB_TRAP_NO_M_KEY;
    return traps | (keys->level == 0 ? (unsigned)ONEIB_TRAP_LEVEL : 0) |
           lease_traps(keys, verify_s);
}

bool oneib_m_keys_differ(const struct oneib_m_keys *list, oneib_m_key m_key)
{
    for (size_t i = 0; i < list->port_count; i++)
        if (list->ports[i].key != m_key)
            return true;
    return false;
}
