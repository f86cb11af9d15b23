// SPDX-License-Identifier: Apache-2.0
/*
 * What the firmware of an mlx5 adapter is asked about a VF's virtual port, and how it answers:
 * commands and answers as Linux has them in include/linux/mlx5/mlx5_ifc.h, whose structures are
 * named below, and as drivers/net/ethernet/mellanox/mlx5/core/vport.c uses them. All big-endian.
 * Pure. For core/hca alone.
 *
 * A virtual port's number is its VF's plus 1 (drivers/infiniband/hw/mlx5/ib_virt.c); port_num stays
 * 0 where the function has one port (vport.c).
 */
#ifndef ONEIB_HCA_VPORT_QUERY_H
#define ONEIB_HCA_VPORT_QUERY_H

#include "base/error.h"
#include "ib/guid.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* query_hca_vport_gid_in, _pkey_in, _context_in: 16 bytes each. */
#define ONEIB_VPORT_REQUEST_SIZE 16
/* query_hca_vport_gid_out with one array128_auto; query_hca_vport_pkey_out with `count` pkey. */
#define ONEIB_VPORT_GID_ANSWER_SIZE 32
#define ONEIB_VPORT_PKEYS_ANSWER_SIZE(count) (16 + (size_t)4 * (count))
/* query_hca_vport_context_out */
#define ONEIB_VPORT_CONTEXT_ANSWER_SIZE 528

/* GID 0 of a VF's virtual port. */
void oneib_vport_ask_gid(uint8_t request[ONEIB_VPORT_REQUEST_SIZE], uint16_t vf);
/* All entries of its P_Key table. */
void oneib_vport_ask_pkeys(uint8_t request[ONEIB_VPORT_REQUEST_SIZE], uint16_t vf);
/* The context of the physical function's own port. */
void oneib_vport_ask_context(uint8_t request[ONEIB_VPORT_REQUEST_SIZE]);

/*
 * The answers, of `length` bytes as they came. -1: REFUSED when firmware says that it does not do
 * it (its status and syndrome are in the words); PROTOCOL when the answer is too short.
 */
int oneib_vport_read_gid(const uint8_t *answer, size_t length, oneib_guid *guid,
                         struct oneib_error *err);
/* pkeys: `count` of them, raw. */
int oneib_vport_read_pkeys(const uint8_t *answer, size_t length, uint16_t *pkeys, uint16_t count,
                           struct oneib_error *err);
/* *sm_is_aware: sm_virt_aware, by its name whether the subnet manager knows virtual ports. */
int oneib_vport_read_context(const uint8_t *answer, size_t length, bool *sm_is_aware,
                             struct oneib_error *err);

#endif
