// SPDX-License-Identifier: Apache-2.0
#include "hca/vport_query.h"
#include <endian.h>
#include <string.h>

/* mlx5_ifc.h, MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT, _GID and _PKEY */
#define QUERY_CONTEXT 0x762
#define QUERY_GID 0x764
#define QUERY_PKEYS 0x765

/* All requests: opcode 0-15, op_mod 48-63 (0), other_vport 64, port_num 76-79 (0), vport_number
 * 80-95, gid_index or pkey_index 112-127; bits, of which the first is a byte's highest. */
#define OPCODE 0
#define OTHER_VPORT 8
#define VPORT_NUMBER 10
#define INDEX 14
#define IS_OTHER_VPORT 0x80

#define GID_0 0
#define ALL_PKEYS 0xffff /* vport.c, mlx5_query_hca_vport_pkey() */

/* Every answer begins with status 0-7 and syndrome 32-63; what was asked for is at 128. */
#define STATUS 0
#define SYNDROME 4
#define PAYLOAD 16

#define INTERFACE_ID (PAYLOAD + 8) /* of a GID, behind its subnet prefix: the port's GUID */
#define PKEY_SIZE 4                /* struct mlx5_ifc_pkey_bits: 16 bits reserved, 16 of the key */
#define PKEY_IN_IT 2

/* struct mlx5_ifc_hca_vport_context_bits: sm_virt_aware is bit 0x100. */
#define SM_AWARE_BYTE (PAYLOAD + 0x100 / 8)
#define SM_IS_AWARE 0x80

static void put16(uint8_t *at, uint16_t value)
{
    const uint16_t big = htobe16(value);
    memcpy(at, &big, sizeof big);
}

static void ask(uint8_t request[ONEIB_VPORT_REQUEST_SIZE], uint16_t opcode, uint16_t vf,
                uint16_t index)
{
    memset(request, 0, ONEIB_VPORT_REQUEST_SIZE);
    put16(request + OPCODE, opcode);
    request[OTHER_VPORT] = IS_OTHER_VPORT;
    put16(request + VPORT_NUMBER, (uint16_t)(vf + 1));
    put16(request + INDEX, index);
}

void oneib_vport_ask_gid(uint8_t request[ONEIB_VPORT_REQUEST_SIZE], uint16_t vf)
{
    ask(request, QUERY_GID, vf, GID_0);
}

void oneib_vport_ask_pkeys(uint8_t request[ONEIB_VPORT_REQUEST_SIZE], uint16_t vf)
{
    ask(request, QUERY_PKEYS, vf, ALL_PKEYS);
}

/* vport.c, mlx5_query_hca_vport_context() with other_vport 0: all else is 0. */
void oneib_vport_ask_context(uint8_t request[ONEIB_VPORT_REQUEST_SIZE])
{
    memset(request, 0, ONEIB_VPORT_REQUEST_SIZE);
    put16(request + OPCODE, QUERY_CONTEXT);
}

static uint32_t take32(const uint8_t *at)
{
    uint32_t big;
    memcpy(&big, at, sizeof big);
    return be32toh(big);
}

/* What is refused has no more than a header. */
static int check(const uint8_t *answer, size_t length, size_t wanted, struct oneib_error *err)
{
    if (length >= PAYLOAD && answer[STATUS] != 0)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "the adapter's firmware does not tell (status 0x%02x, syndrome 0x%08x)",
                          answer[STATUS], take32(answer + SYNDROME));
    if (length < wanted)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                          "the adapter's firmware answers with %zu bytes instead of %zu", length,
                          wanted);
    return 0;
}

int oneib_vport_read_gid(const uint8_t *answer, size_t length, oneib_guid *guid,
                         struct oneib_error *err)
{
    uint64_t big;
    if (check(answer, length, ONEIB_VPORT_GID_ANSWER_SIZE, err) < 0)
        return -1;
    memcpy(&big, answer + INTERFACE_ID, sizeof big);
    *guid = be64toh(big);
    return 0;
}

int oneib_vport_read_pkeys(const uint8_t *answer, size_t length, uint16_t *pkeys, uint16_t count,
                           struct oneib_error *err)
{
    if (check(answer, length, ONEIB_VPORT_PKEYS_ANSWER_SIZE(count), err) < 0)
        return -1;
    for (unsigned i = 0; i < count; i++) {
        uint16_t big;
        memcpy(&big, answer + PAYLOAD + i * PKEY_SIZE + PKEY_IN_IT, sizeof big);
        pkeys[i] = be16toh(big);
    }
    return 0;
}

int oneib_vport_read_context(const uint8_t *answer, size_t length, bool *sm_is_aware,
                             struct oneib_error *err)
{
    if (check(answer, length, ONEIB_VPORT_CONTEXT_ANSWER_SIZE, err) < 0)
        return -1;
    *sm_is_aware = answer[SM_AWARE_BYTE] & SM_IS_AWARE;
    return 0;
}
