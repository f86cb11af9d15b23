// SPDX-License-Identifier: Apache-2.0
/*
 * The keys of the management plane as opensm's configuration has them, what else there keeps guests
 * and hosts apart, and what is wrong with it: pure. Options and defaults are those of opensm 3.3.23
 * (opensm.conf; osm_base.h).
 */
#ifndef ONEIB_PARTITIONS_OPENSM_KEYS_H
#define ONEIB_PARTITIONS_OPENSM_KEYS_H

#include "ib/m_key.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oneib_opensm_keys {
    oneib_m_key m_key;       /* m_key: of all ports; 0, the default: none */
    uint64_t sa_key, sm_key; /* sa_key, sm_key; default 1 */
    uint32_t level;          /* m_key_protection_level; default 0 */
    uint32_t lease_s;        /* m_key_lease_period, seconds; 0, the default: for ever */
    uint32_t sweep_s;        /* sweep_interval, seconds; default 10 */
    bool knows_per_port;     /* m_key_per_port is there: NVIDIA's subnet manager */
    bool per_port;           /* and TRUE: it gives each port a key of its own */
    bool open_groups; /* ipoib_mcgroup_creation_validation is there and not TRUE, its default */
    bool unenforced;  /* part_enforce is out or off; its default is both, and so are other words */
    bool no_enforcement; /* no_partition_enforcement TRUE: as part_enforce off, whatever it says */
    /* Of NVIDIA's subnet manager alone: */
    uint32_t virt_enabled; /* virt_enabled: 2 on; all else, and the default: off */
    bool enhanced_trust;   /* sa_enhanced_trust_model TRUE; default FALSE */
    bool guids_by_vf; /* sa_etm_allow_guidinfo_rec_by_vf is not FALSE: guests may set GUIDs; its
                         default is not published, and TRUE here */
    bool untrusted_proxies;  /* sa_etm_allow_untrusted_proxy_requests is there and not FALSE: one
                                port may change what another one has registered */
    bool spoofed_sgids;      /* sa_check_sgid_spoofing is there and not TRUE, its default: requests
                                in another port's name are answered */
    bool sleeps_through_hup; /* sweep_every_hup_signal is there and not TRUE */
};

void oneib_opensm_keys_defaults(struct oneib_opensm_keys *keys);
/*
 * What the file says over what *keys has. As opensm reads it: a later line replaces an earlier one,
 * what follows '#' is a comment, a value that is no number is as if it were not there.
 */
void oneib_opensm_keys_read(const char *text, size_t length, struct oneib_opensm_keys *keys);

/* Bits: what of it is a trap. */
enum oneib_key_trap {
    ONEIB_TRAP_NO_M_KEY = 1 << 0,     /* everybody may set everything */
    ONEIB_TRAP_SA_KEY = 1 << 1,       /* 0 or 1: the SA gives everybody the M_Key */
    ONEIB_TRAP_SM_KEY = 1 << 2,       /* 0 or 1: anybody's subnet manager counts as one of ours */
    ONEIB_TRAP_LEVEL = 1 << 3,        /* 0: ports show their M_Key */
    ONEIB_TRAP_NO_LEASE = 1 << 4,     /* a lost M_Key is lost until the port is without power */
    ONEIB_TRAP_LEASE_SWEEP = 1 << 5,  /* not longer than a sweep's interval */
    ONEIB_TRAP_LEASE_VERIFY = 1 << 6, /* not longer than oneib's: opensm asks hosts seldom */
    ONEIB_TRAP_ONE_KEY = 1 << 7,      /* one key for all ports, though this SM has one for each */
};

/* verify_s: how often oneibd reads all ports (daemon.verify), in seconds. */
unsigned oneib_opensm_key_traps(const struct oneib_opensm_keys *keys, uint32_t verify_s);

/* Bits: what of it lets one cluster disturb another. */
enum oneib_apart_trap {
    ONEIB_TRAP_GROUPS = 1 << 0,     /* a guest makes IPoIB's groups in partitions of others */
    ONEIB_TRAP_UNENFORCED = 1 << 1, /* switches take any P_Key from a host */
};
unsigned oneib_opensm_apart_traps(const struct oneib_opensm_keys *keys);

/* Bits: what of it is in the way of virtual ports, or lets a guest be another one. */
enum oneib_virtual_trap {
    ONEIB_TRAP_VIRT_OFF = 1 << 0,    /* no VF of mlx5 gets a P_Key */
    ONEIB_TRAP_NO_TRUST = 1 << 1,    /* the SA does not ask who may set GUIDs of virtual ports */
    ONEIB_TRAP_GUIDS_BY_VF = 1 << 2, /* it lets VFs do that, which are guests */
    ONEIB_TRAP_PROXIES = 1 << 3,     /* a guest takes another one out of its multicast groups */
    ONEIB_TRAP_SPOOFED = 1 << 4,     /* a guest asks in another one's name */
    ONEIB_TRAP_HUP = 1 << 5,         /* SIGHUP, by which it learns of partitions, may do nothing */
};
unsigned oneib_opensm_virtual_traps(const struct oneib_opensm_keys *keys);

/* Whether a list of opensm's (guid2mkey) has a port with another key than `m_key`: who starts with
 * it cannot reach that port. */
bool oneib_m_keys_differ(const struct oneib_m_keys *list, oneib_m_key m_key);

#endif
