// SPDX-License-Identifier: Apache-2.0
/*
 * M_Keys (InfiniBand Architecture Specification 1.2.1, 14.2.4): the 64-bit secret by which a port
 * knows its subnet manager. Host byte order. A port whose M_Key is 0 obeys everybody, so 0 is sent
 * where nothing is known.
 */
#ifndef ONEIB_IB_M_KEY_H
#define ONEIB_IB_M_KEY_H

#include "base/error.h"
#include "ib/guid.h"
#include <stddef.h>
#include <stdint.h>

typedef uint64_t oneib_m_key;

/* Different keys that a port is asked with, at most: a key that is being changed is one of two. */
#define ONEIB_M_KEYS_TRIED 4

struct oneib_m_key_of_port {
    oneib_guid port; /* of a switch: its port 0, which has the key of all its ports */
    oneib_m_key key;
};

/* All zero: none, and 0 goes to everybody. */
struct oneib_m_keys {
    struct oneib_m_key_of_port *ports; /* owned; sorted by GUID */
    size_t port_count, port_capacity;
    /* For ports that are not listed, and for those that do not answer to their own: keys without a
     * port in the order of the file, then those of most ports. None is 0. */
    oneib_m_key keys[ONEIB_M_KEYS_TRIED];
    size_t key_count;
};

/*
 * Reads a file of keys: on each line a key ("0x" and up to 16 hexadecimal digits), or a port GUID
 * and its key, as opensm's guid2mkey has them. Empty lines and those that begin with '#' say
 * nothing. An error names the line and never what is in it. On failure *keys holds nothing.
 */
int oneib_m_keys_parse(const char *text, size_t length, struct oneib_m_keys *keys,
                       struct oneib_error *err);
void oneib_m_keys_clear(struct oneib_m_keys *keys);

/* How many different keys there are to try on a port; at least 1. port 0: not known which. */
size_t oneib_m_keys_for(const struct oneib_m_keys *keys, oneib_guid port);
/* The key for the attempt 0, 1, ... at reaching it: its own first, then the others, round and
 * round. */
oneib_m_key oneib_m_key_to_try(const struct oneib_m_keys *keys, oneib_guid port, size_t attempt);

#endif
