// SPDX-License-Identifier: Apache-2.0
/* A file of M_Keys, and opensm's configuration: what is taken gives every port keys to try, its own
 * first; and no text brings the reader of opensm.conf down. */
#include "partitions/opensm_keys.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

static void check_port(const struct oneib_m_keys *keys, oneib_guid port)
{
    const size_t count = oneib_m_keys_for(keys, port);
    require(count >= 1 && count <= ONEIB_M_KEYS_TRIED + 1);
    for (size_t i = 0; i < count; i++)
        require(oneib_m_key_to_try(keys, port, i) == oneib_m_key_to_try(keys, port, i + count));
}

static void check_taken(const struct oneib_m_keys *keys)
{
    check_port(keys, 0);
    for (size_t i = 0; i < keys->port_count; i++) {
        check_port(keys, keys->ports[i].port);
        require(oneib_m_key_to_try(keys, keys->ports[i].port, 0) == keys->ports[i].key);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct oneib_m_keys keys;
    struct oneib_opensm_keys options;
    struct oneib_error err = {0};
    if (oneib_m_keys_parse((const char *)data, size, &keys, &err) == 0)
        check_taken(&keys);
    else
        require(err.code != ONEIB_ERROR_NONE && keys.ports == NULL);
    oneib_m_keys_clear(&keys);
    oneib_opensm_keys_defaults(&options);
    oneib_opensm_keys_read((const char *)data, size, &options);
    oneib_opensm_key_traps(&options, 120);
    return 0;
}
