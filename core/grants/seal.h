// SPDX-License-Identifier: Apache-2.0
/*
 * Keys and signatures, by libsodium. A daemon has two pairs, one for CURVE and one that signs
 * (Ed25519); a node has one, for CURVE. Public keys are 32 bytes and shown as 64 lower case
 * hexadecimal digits.
 */
#ifndef ONEIB_GRANTS_SEAL_H
#define ONEIB_GRANTS_SEAL_H

#include "base/error.h"
#include "cluster/cloud.h"
#include "cluster/ledger.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONEIB_SEAL_SIZE 64         /* crypto_sign_BYTES */
#define ONEIB_SIGN_SECRET_SIZE 64  /* crypto_sign_SECRETKEYBYTES */
#define ONEIB_CURVE_SECRET_SIZE 32 /* crypto_box_SECRETKEYBYTES */
#define ONEIB_KEY_TEXT_SIZE 65

struct oneib_curve_pair {
    uint8_t public[ONEIB_PUBLIC_KEY_SIZE], secret[ONEIB_CURVE_SECRET_SIZE];
};
struct oneib_sign_pair {
    uint8_t public[ONEIB_PUBLIC_KEY_SIZE], secret[ONEIB_SIGN_SECRET_SIZE];
};

/* Appends the signature of bytes[0..length): the buffer must have room. Returns the new length. */
size_t oneib_seal(const struct oneib_sign_pair *pair, uint8_t *bytes, size_t length);
/* Whether the last ONEIB_SEAL_SIZE bytes are the signature of those before; *inner is how many
 * those are. */
bool oneib_unseal(const uint8_t sign[ONEIB_PUBLIC_KEY_SIZE], const void *bytes, size_t length,
                  size_t *inner);

/* The signature of what a host may hold (IB_KEYS, ascending) and its serial, as IB_KEYS_SEAL shows
 * them; whether it is that host's, by that daemon: *serial then says which. */
void oneib_seal_keys(const struct oneib_sign_pair *pair, uint32_t host_id, uint64_t serial,
                     const oneib_pkey *keys, size_t count, char text[ONEIB_KEYS_SEAL_TEXT_SIZE]);
bool oneib_keys_are_sealed(const uint8_t sign[ONEIB_PUBLIC_KEY_SIZE], uint32_t host_id,
                           const oneib_pkey *keys, size_t count, const char *text,
                           uint64_t *serial);

void oneib_key_format(const uint8_t key[ONEIB_PUBLIC_KEY_SIZE], char text[ONEIB_KEY_TEXT_SIZE]);
/* 64 hexadecimal digits and nothing else; all zeros are refused. */
bool oneib_key_parse(const char *text, uint8_t key[ONEIB_PUBLIC_KEY_SIZE]);

/* Random bytes, from the kernel. */
void oneib_random(void *bytes, size_t size);

/*
 * The pair that the node keeps in `path` (root's, 0600), bound to its machine: a file that names
 * another machine id (a cloned image), that others may read, or that does not parse, is replaced by
 * a new pair, and *made is true. machine_id: as in /etc/machine-id, 32 hexadecimal digits; INPUT
 * when it is not.
 */
int oneib_node_pair(const char *path, const char *machine_id, struct oneib_curve_pair *pair,
                    bool *made, struct oneib_error *err);
/* The daemon's two pairs in `path` (0600, its user's); made when the file is absent. One that does
 * not parse, or that others may read, is refused. */
int oneib_daemon_pairs(const char *path, struct oneib_curve_pair *curve,
                       struct oneib_sign_pair *sign, bool *made, struct oneib_error *err);

#endif
