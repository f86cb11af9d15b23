// SPDX-License-Identifier: Apache-2.0
/*
 * A virtual port: what a VF of mlx5 has of its own, with a GUID and a P_Key table that the subnet
 * manager fills. Here is what was read of one, and what that means for the NIC that has the VF.
 * Pure; host byte order.
 */
#ifndef ONEIB_HOST_VIRTUAL_PORT_H
#define ONEIB_HOST_VIRTUAL_PORT_H

#include "base/error.h"
#include "ib/guid.h"
#include "ib/pkey.h"
#include <stddef.h>
#include <stdint.h>

#define ONEIB_VIRTUAL_PKEYS_MAX 128 /* no mlx5 shows more (MLX5_MAX_PKEYS, mlx5_ifc.h's 0x80) */

/* Who told. */
enum oneib_virtual_port_way {
    ONEIB_VIRTUAL_PORT_UNSEEN, /* nobody: this host cannot read it now */
    ONEIB_VIRTUAL_PORT_SYSFS,  /* the host's own driver, which has the VF */
    ONEIB_VIRTUAL_PORT_FWCTL,  /* the adapter's firmware */
};

struct oneib_virtual_port {
    enum oneib_virtual_port_way way;
    struct oneib_error why; /* UNSEEN: why */
    oneib_guid guid;        /* that it answers to; 0: none */
    uint16_t pkey_count;
    uint16_t pkeys[ONEIB_VIRTUAL_PKEYS_MAX]; /* raw, by index; 0: empty */
};

/* What a NIC's virtual port is to be like. */
struct oneib_virtual_port_wanted {
    oneib_guid guid; /* 0: whatever it is */
    oneib_pkey pkey;
    bool limited; /* a full entry would widen it; else a full or a limited one will do */
};

enum oneib_virtual_port_result {
    ONEIB_VIRTUAL_PORT_RIGHT, /* the GUID, the key at index 0, and nothing more than the limited
                                 default partition */
    ONEIB_VIRTUAL_PORT_LACKS, /* nothing more than that, but the GUID or the key is not there: it
                                 reaches none of the tenants that it must not reach */
    ONEIB_VIRTUAL_PORT_HARMS, /* it holds another key, or a full one that is to be limited: who has
                                 it reaches others than his own cluster */
};

/*
 * The port was seen. Whatever is not the NIC's own key, the default partition limited, or empty is
 * harm, a key of the operator's too: a NIC has one key. *why says what is not right, without whose
 * VF it is; untouched when all is.
 */
enum oneib_virtual_port_result
oneib_virtual_port_judge(const struct oneib_virtual_port *port,
                         const struct oneib_virtual_port_wanted *wanted, struct oneib_error *why);

/* "sysfs", "fwctl"; "none" of UNSEEN. */
const char *oneib_virtual_port_way_name(enum oneib_virtual_port_way way);

#endif
