// SPDX-License-Identifier: Apache-2.0
/* Documents of VMs, recorded and made up, for the tests of core/node. */
#ifndef ONEIB_UNIT_NODE_DOCUMENTS_H
#define ONEIB_UNIT_NODE_DOCUMENTS_H

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* What OpenNebula 7.4 sent to an action; to be freed. */
static inline char *recorded_action(const char *action, size_t *length)
{
    char path[512], buffer[4096];
    size_t got;
    struct oneib_text text = {0};
    snprintf(path, sizeof path, ONEIB_TEST_DATA "/opennebula-7.4/actions/%s/stdin.decoded", action);
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("cannot open %s", path);
    while ((got = fread(buffer, 1, sizeof buffer, file)) > 0)
        oneib_text_append_bytes(&text, buffer, got);
    fclose(file);
    *length = text.length;
    return text.data;
}

/* A VM as the driver gets it. */
#define VM(id, content) "<VM><ID>" id "</ID><DEPLOY_ID/>" content "</VM>"
#define NIC(id, more)                                                                              \
    "<TEMPLATE><NIC><NIC_ID>" id "</NIC_ID><NETWORK_ID>7</NETWORK_ID>"                             \
    "<VN_MAD>infiniband</VN_MAD>" more "</NIC></TEMPLATE>"
#define PCI(id, more)                                                                              \
    "<TEMPLATE><PCI><NIC_ID>" id "</NIC_ID><NETWORK_ID>7</NETWORK_ID><TYPE>NIC</TYPE>"             \
    "<VN_MAD>infiniband</VN_MAD>" more "</PCI></TEMPLATE>"
#define HOSTNAME(name)                                                                             \
    "<HISTORY_RECORDS><HISTORY><HOSTNAME>" name "</HOSTNAME></HISTORY></HISTORY_RECORDS>"
#define ATTACH "<ATTACH>YES</ATTACH>"
#define MALFORMED "<NETWORK_ID>8</NETWORK_ID>" /* another one */

#endif
