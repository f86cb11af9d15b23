// SPDX-License-Identifier: Apache-2.0
/*
 * Who can send OpenNebula's monitoring messages, by the vector NETWORK of monitord.conf. They
 * name their host and are not signed. PUBKEY is on each host, and with PRIKEY set monitord
 * takes messages that are not encrypted, too (read in its sources, 6.10.0 to 7.4.0): these keys
 * hide messages and prove no sender. So what counts is who reaches the port.
 */
#ifndef ONEIB_OPENNEBULA_MONITORD_CONF_H
#define ONEIB_OPENNEBULA_MONITORD_CONF_H

#include <stdbool.h>
#include <stddef.h>

#define ONEIB_MONITORD_TEXT_SIZE 256 /* with its 0 */

struct oneib_monitord_conf {
    char address
        [ONEIB_MONITORD_TEXT_SIZE]; /* where it listens, UDP and TCP; "": the file has none */
    char port[ONEIB_MONITORD_TEXT_SIZE];
    bool is_on_all_addresses; /* also when the file has no address, or one that is too long */
    bool encrypts;            /* both keys are set */
};

void oneib_monitord_conf_read(const char *text, size_t length, struct oneib_monitord_conf *conf);

#endif
