// SPDX-License-Identifier: Apache-2.0
/*
 * Decodes the MACs on standard input, one a line, as `oneib mac decode` does each: "10.20.0.10
 * index 0", or "-" for what is no dummy MAC. Starting the command for each of thousands would take
 * minutes.
 */
#include "ib/dummy_mac.h"
#include <stdio.h>
#include <string.h>

int main(void)
{
    char line[256];
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        uint32_t ipv4;
        unsigned index;
        if (!oneib_dummy_mac_decode(line, &ipv4, &index)) {
            puts("-");
            continue;
        }
        char address[ONEIB_IPV4_TEXT_SIZE];
        oneib_ipv4_format(ipv4, address);
        printf("%s index %u\n", address, index);
    }
    return 0;
}
