// SPDX-License-Identifier: Apache-2.0
/*
 * fabric-tables [M_KEYS]: prints the P_Key table of every end port, read from the port itself by
 * SMP. A line a port: GUID and the raw keys that are not empty, in the order of the table. Exit 1
 * when a port does not answer. M_KEYS is the file of the ports' M_Keys, where they have any.
 */
#include "fabric/fabric.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static bool print_port(const struct oneib_subnet_port *port)
{
    printf("0x%016" PRIx64, port->guid);
    for (uint16_t i = 0; port->answered && i < port->partition_cap; i++)
        if (port->pkeys[i])
            printf(" 0x%04x", port->pkeys[i]);
    printf(port->answered ? "\n" : " silent\n");
    return port->answered;
}

int main(int argc, char **argv)
{
    struct oneib_error err = {0};
    const struct oneib_fabric_options options = {
        .window = 16, .timeout_ms = 500, .retries = 3, .m_key_file = argc > 1 ? argv[1] : NULL};
    struct oneib_fabric *fabric = oneib_fabric_open(&options, &err);
    struct oneib_subnet subnet = {0};
    if (!fabric || oneib_fabric_read(fabric, &subnet, &err) < 0) {
        fprintf(stderr, "fabric-tables: %s\n", err.text);
        oneib_fabric_close(fabric);
        return EXIT_FAILURE;
    }

    int status = EXIT_SUCCESS;
    for (size_t i = 0; i < subnet.port_count; i++)
        if (!print_port(&subnet.ports[i]))
            status = EXIT_FAILURE;
    oneib_subnet_clear(&subnet);
    oneib_fabric_close(fabric);
    return status;
}
