// SPDX-License-Identifier: Apache-2.0
/* Names of RDMA devices, and the PHYDEV of networks and NICs that chooses one. */
#ifndef ONEIB_IB_DEVICE_H
#define ONEIB_IB_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONEIB_DEVICE_NAME_SIZE                                                                     \
    32 /* with the NUL; the kernel's own limit is 64, IB_DEVICE_NAME_MAX */

/* "mlx4_0", of letters, digits, '_', '.', '-'; 1 to 31 bytes; neither "." nor "..". */
bool oneib_device_name_is_valid(const char *name, size_t length);

/* "DEVICE" or "DEVICE:PORT", port 1-254; *port is 0 when it is not said. On false both are as they
 * were. */
bool oneib_phydev_parse(const char *text, size_t length, char device[ONEIB_DEVICE_NAME_SIZE],
                        uint8_t *port);

#endif
