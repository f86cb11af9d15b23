// SPDX-License-Identifier: Apache-2.0
/*
 * IB codes of MTUs and rates (InfiniBand Architecture Specification 1.2.1, tables of PathRecord;
 * rates beyond 18 as in rdma-core's enum ibv_rate).
 */
#ifndef ONEIB_IB_IPOIB_H
#define ONEIB_IB_IPOIB_H

#include <stdint.h>

/* 256, 512, 1024, 2048, 4096 bytes to 1-5; anything else 0. */
uint8_t oneib_mtu_code(unsigned bytes);
unsigned oneib_mtu_bytes(uint8_t code); /* 0 for no such code */

/*
 * The IB MTU that a network's MTU attribute asks for: the smallest whose IPoIB payload (4 bytes
 * less, RFC 4391) holds `ip_mtu`; above 4092 (connected mode) the largest. ip_mtu 0: 0.
 */
uint8_t oneib_mtu_code_for_ip(unsigned ip_mtu);

#define ONEIB_RATE_CODE_MAX 24
/* 2 (2.5 Gb/s is written 2), 5, 10, 14, 20, 25, 28, 30, 40, 50, 56, 60, 80, 100, 112, 120, 168,
 * 200, 300, 400, 600, 800, 1200 to the IB rate code; anything else 0. */
uint8_t oneib_rate_code(unsigned gbps);
unsigned oneib_rate_gbps(uint8_t code);
/* Compares two rate codes by speed (the codes are not in order of speed): <0, 0, >0. */
int oneib_rate_compare(uint8_t a, uint8_t b);

#endif
