// SPDX-License-Identifier: Apache-2.0
/*
 * What a port does about its M_Key: InfiniBand Architecture Specification 1.2.1, 14.2.4 (the key,
 * its levels of protection, its lease) and 14.2.5.6 (where PortInfo has them).
 */
#ifndef M_KEY_STANDIN_RULES_H
#define M_KEY_STANDIN_RULES_H

#include <stdbool.h>
#include <stdint.h>

struct m_key_port {
    uint64_t guid; /* of a switch: its port 0, which has the key for all its ports */
    uint64_t key;  /* 0: none, everybody may do everything */
    uint8_t
        level; /* M_KeyProtectBits: 0 the key can be read; 1 it reads as 0; 2 and 3: nothing can */
    uint16_t lease_s;    /* M_KeyLeasePeriod; 0: for ever */
    uint16_t violations; /* M_KeyViolations */
    int64_t expires_ms;  /* when the running lease is over; 0: it does not run */
};

/*
 * Whether the port answers a Get or obeys a Set with this key, at this time. A refusal counts as a
 * violation and starts the lease; the right key stops it; when it is over, the level falls to 0.
 */
bool m_key_admits(struct m_key_port *port, bool is_set, uint64_t key, int64_t now_ms);
/* Puts what the port keeps into a PortInfo that answers a question with this key. */
void m_key_show(const struct m_key_port *port, bool is_set, uint64_t key, uint8_t *port_info);
/* What a Set of PortInfo changes. */
void m_key_take(struct m_key_port *port, uint8_t *port_info);

#endif
