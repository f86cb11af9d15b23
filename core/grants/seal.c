// SPDX-License-Identifier: Apache-2.0
#include "grants/seal.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/number.h"
#include "base/secret.h"
#include "base/text.h"
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define KEY_FILE_MAX 1024 /* bytes */
#define MACHINE_ID_DIGITS 32

_Static_assert(ONEIB_SEAL_SIZE == crypto_sign_BYTES, "the size of a signature");
_Static_assert(ONEIB_SIGN_SECRET_SIZE == crypto_sign_SECRETKEYBYTES, "the size of a key");
_Static_assert(ONEIB_CURVE_SECRET_SIZE == crypto_box_SECRETKEYBYTES, "the size of a key");
_Static_assert(ONEIB_PUBLIC_KEY_SIZE == crypto_sign_PUBLICKEYBYTES &&
                   ONEIB_PUBLIC_KEY_SIZE == crypto_box_PUBLICKEYBYTES,
               "the size of a key");

/* A machine without randomness makes no keys. */
static void start_sodium(void)
{
    if (sodium_init() < 0)
        abort();
}

void oneib_random(void *bytes, size_t size)
{
    start_sodium();
    randombytes_buf(bytes, size);
}

/* ---- signatures ------------------------------------------------------------------------------ */

size_t oneib_seal(const struct oneib_sign_pair *pair, uint8_t *bytes, size_t length)
{
    start_sodium();
    crypto_sign_detached(bytes + length, NULL, bytes, length, pair->secret);
    return length + ONEIB_SEAL_SIZE;
}

bool oneib_unseal(const uint8_t sign[ONEIB_PUBLIC_KEY_SIZE], const void *bytes, size_t length,
                  size_t *inner)
{
    const uint8_t *message = bytes;
    if (length < ONEIB_SEAL_SIZE)
        return false;
    start_sodium();
    *inner = length - ONEIB_SEAL_SIZE;
    return crypto_sign_verify_detached(message + *inner, message, *inner, sign) == 0;
}

/* ---- digits ---------------------------------------------------------------------------------- */

static void format_hex(const uint8_t *bytes, size_t size, char *text)
{
    sodium_bin2hex(text, 2 * size + 1, bytes, size);
}

/* `length` digits, and all of them; of either case. */
static bool parse_hex(const char *text, size_t length, uint8_t *bytes)
{
    for (size_t i = 0; i < length; i++)
        if (oneib_hex_digit(text[i]) > 15)
            return false;
    for (size_t i = 0; i < length / 2; i++)
        bytes[i] = (uint8_t)(oneib_hex_digit(text[2 * i]) << 4 | oneib_hex_digit(text[2 * i + 1]));
    return true;
}

/* ---- what hosts may hold --------------------------------------------------------------------- */

/* No message between a daemon and nodes begins like this: they begin with their version. */
static const char keys_context[] = "oneib IB_KEYS 2";

#define SERIAL_SIZE 8

_Static_assert(ONEIB_KEYS_SEAL_TEXT_SIZE == 2 * (SERIAL_SIZE + ONEIB_SEAL_SIZE) + 1,
               "serial and signature");

struct host_keys {
    uint8_t
        bytes[sizeof keys_context + 4 + SERIAL_SIZE + 2 * ONEIB_HOST_KEYS_MAX + ONEIB_SEAL_SIZE];
    size_t length; /* without the seal */
};

static void put(struct host_keys *text, uint64_t number, unsigned size)
{
    while (size-- > 0)
        text->bytes[text->length++] = (uint8_t)(number >> 8 * size);
}

static void render_keys(uint32_t host_id, uint64_t serial, const oneib_pkey *keys, size_t count,
                        struct host_keys *text)
{
    memcpy(text->bytes, keys_context, sizeof keys_context);
    text->length = sizeof keys_context;
    put(text, host_id, 4);
    put(text, serial, SERIAL_SIZE);
    for (size_t i = 0; i < count && i < ONEIB_HOST_KEYS_MAX; i++)
        put(text, keys[i], 2);
}

void oneib_seal_keys(const struct oneib_sign_pair *pair, uint32_t host_id, uint64_t serial,
                     const oneib_pkey *keys, size_t count, char text[ONEIB_KEYS_SEAL_TEXT_SIZE])
{
    struct host_keys sealed;
    render_keys(host_id, serial, keys, count, &sealed);
    oneib_seal(pair, sealed.bytes, sealed.length);
    snprintf(text, ONEIB_KEYS_SEAL_TEXT_SIZE, "%016" PRIx64, serial);
    format_hex(sealed.bytes + sealed.length, ONEIB_SEAL_SIZE, text + (size_t)2 * SERIAL_SIZE);
}

static bool parse_serial(const char *text, uint64_t *serial)
{
    uint8_t bytes[SERIAL_SIZE];
    *serial = 0;
    if (!parse_hex(text, (size_t)2 * SERIAL_SIZE, bytes))
        return false;
    for (size_t i = 0; i < SERIAL_SIZE; i++)
        *serial = *serial << 8 | bytes[i];
    return true;
}

bool oneib_keys_are_sealed(const uint8_t sign[ONEIB_PUBLIC_KEY_SIZE], uint32_t host_id,
                           const oneib_pkey *keys, size_t count, const char *text, uint64_t *serial)
{
    struct host_keys sealed;
    size_t inner;
    if (strlen(text) != ONEIB_KEYS_SEAL_TEXT_SIZE - 1 || !parse_serial(text, serial))
        return false;
    render_keys(host_id, *serial, keys, count, &sealed);
    return parse_hex(text + (size_t)2 * SERIAL_SIZE, (size_t)2 * ONEIB_SEAL_SIZE,
                     sealed.bytes + sealed.length) &&
           oneib_unseal(sign, sealed.bytes, sealed.length + ONEIB_SEAL_SIZE, &inner);
}

/* ---- keys as text ---------------------------------------------------------------------------- */

void oneib_key_format(const uint8_t key[ONEIB_PUBLIC_KEY_SIZE], char text[ONEIB_KEY_TEXT_SIZE])
{
    format_hex(key, ONEIB_PUBLIC_KEY_SIZE, text);
}

bool oneib_key_parse(const char *text, uint8_t key[ONEIB_PUBLIC_KEY_SIZE])
{
    uint8_t parsed[ONEIB_PUBLIC_KEY_SIZE];
    if (strlen(text) != ONEIB_KEY_TEXT_SIZE - 1 ||
        !parse_hex(text, ONEIB_KEY_TEXT_SIZE - 1, parsed) || sodium_is_zero(parsed, sizeof parsed))
        return false;
    memcpy(key, parsed, sizeof parsed);
    return true;
}

/* ---- files of keys --------------------------------------------------------------------------- */

/*
 * Lines "NAME=VALUE", in an order, with nothing else. The public halves follow from the secret
 * ones: they are not kept, so that they cannot be another's.
 */
struct key_file {
    const char *at, *end;
};

/* The value of the next line; NULL: it is not `name`'s, or not of `length` bytes. */
static const char *take_value(struct key_file *file, const char *name, size_t length)
{
    const size_t head = strlen(name);
    const char *value = file->at + head;
    if ((size_t)(file->end - file->at) < head + length + 1 || memcmp(file->at, name, head) != 0 ||
        value[length] != '\n')
        return NULL;
    file->at = value + length + 1;
    return value;
}

static bool take_secret(struct key_file *file, const char *name, uint8_t secret[32])
{
    const char *value = take_value(file, name, 64);
    return value && parse_hex(value, 64, secret) && !sodium_is_zero(secret, 32);
}

static void append_secret(struct oneib_text *text, const char *name, const uint8_t secret[32])
{
    char digits[65];
    format_hex(secret, 32, digits);
    oneib_text_printf(text, "%s%s\n", name, digits);
    sodium_memzero(digits, sizeof digits);
}

static void forget_text(struct oneib_text *text)
{
    if (text->data)
        sodium_memzero(text->data, text->capacity);
    oneib_text_clear(text);
}

static int write_secrets(const char *path, struct oneib_text *text, struct oneib_error *err)
{
    const int status =
        oneib_file_replace(path, text->data, text->length, S_IRUSR | S_IWUSR, NULL, NULL, err);
    forget_text(text);
    return status < 0 ? oneib_wrap(err, "writing a new key") : 0;
}

/* What others may read is no secret, and what others own is not one's own. */
static bool is_secret(const struct oneib_secret *file)
{
    return file->is_closed && file->owner == geteuid();
}

/* ---- a node's -------------------------------------------------------------------------------- */

static bool take_node(const char *data, size_t length, const char *machine_id,
                      struct oneib_curve_pair *pair)
{
    struct key_file file = {data, data + length};
    const char *machine = take_value(&file, "machine=", MACHINE_ID_DIGITS);
    return machine && memcmp(machine, machine_id, MACHINE_ID_DIGITS) == 0 &&
           take_secret(&file, "curve=", pair->secret) && file.at == file.end;
}

static int make_node(const char *path, const char *machine_id, struct oneib_curve_pair *pair,
                     struct oneib_error *err)
{
    struct oneib_text text = {0};
    oneib_random(pair->secret, sizeof pair->secret);
    oneib_text_printf(&text, "machine=%s\n", machine_id);
    append_secret(&text, "curve=", pair->secret);
    return write_secrets(path, &text, err);
}

static int check_machine_id(const char *machine_id, struct oneib_error *err)
{
    uint8_t bytes[MACHINE_ID_DIGITS / 2];
    if (strlen(machine_id) == MACHINE_ID_DIGITS &&
        parse_hex(machine_id, MACHINE_ID_DIGITS, bytes) && !sodium_is_zero(bytes, sizeof bytes))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_INPUT,
                      "the machine id is not 32 hexadecimal digits: see machine-id(5), and "
                      "'systemd-machine-id-setup'");
}

int oneib_node_pair(const char *path, const char *machine_id, struct oneib_curve_pair *pair,
                    bool *made, struct oneib_error *err)
{
    oneib_auto(oneib_secret_forget) struct oneib_secret file = {0};
    struct oneib_error failure;
    start_sodium();
    if (check_machine_id(machine_id, err) < 0)
        return -1;
    /* INPUT: it is no file of keys, and is replaced by one. */
    if (oneib_secret_read(path, KEY_FILE_MAX, &file, &failure) < 0 &&
        failure.code != ONEIB_ERROR_INPUT) {
        *err = failure;
        return -1;
    }
    *made = !file.data || !is_secret(&file) || !take_node(file.data, file.length, machine_id, pair);
    if (*made && make_node(path, machine_id, pair, err) < 0)
        return -1;
    crypto_scalarmult_base(pair->public, pair->secret);
    return 0;
}

/* ---- a daemon's ------------------------------------------------------------------------------ */

struct daemon_secrets {
    uint8_t curve[32], sign[crypto_sign_SEEDBYTES];
};

static int take_daemon(const char *path, const struct oneib_secret *kept,
                       struct daemon_secrets *secrets, struct oneib_error *err)
{
    struct key_file file = {kept->data, kept->data + kept->length};
    if (!is_secret(kept))
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "%s holds oneibd's keys, and others may read it: if no one has, chown it "
                          "to oneibd's user and chmod 0600, else remove it",
                          path);
    if (take_secret(&file, "curve=", secrets->curve) &&
        take_secret(&file, "sign=", secrets->sign) && file.at == file.end)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_INPUT,
                      "%s does not hold oneibd's keys: restore it, or remove it and announce the "
                      "new ones to nodes",
                      path);
}

static int make_daemon(const char *path, struct daemon_secrets *secrets, struct oneib_error *err)
{
    struct oneib_text text = {0};
    oneib_random(secrets, sizeof *secrets);
    append_secret(&text, "curve=", secrets->curve);
    append_secret(&text, "sign=", secrets->sign);
    return write_secrets(path, &text, err);
}

static int daemon_secrets(const char *path, struct daemon_secrets *secrets, bool *made,
                          struct oneib_error *err)
{
    oneib_auto(oneib_secret_forget) struct oneib_secret file;
    if (oneib_secret_read(path, KEY_FILE_MAX, &file, err) < 0)
        return -1;
    *made = !file.data;
    return file.data ? take_daemon(path, &file, secrets, err) : make_daemon(path, secrets, err);
}

int oneib_daemon_pairs(const char *path, struct oneib_curve_pair *curve,
                       struct oneib_sign_pair *sign, bool *made, struct oneib_error *err)
{
    struct daemon_secrets secrets;
    start_sodium();
    if (daemon_secrets(path, &secrets, made, err) < 0)
        return -1;
    memcpy(curve->secret, secrets.curve, sizeof curve->secret);
    crypto_scalarmult_base(curve->public, curve->secret);
    crypto_sign_seed_keypair(sign->public, sign->secret, secrets.sign);
    sodium_memzero(&secrets, sizeof secrets);
    return 0;
}
