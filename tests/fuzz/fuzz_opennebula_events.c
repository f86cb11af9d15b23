// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as a message of oned's event stream: a key, a newline, a payload. Where the key begins
 * with '!' (not part of it), the payload is encoded as base64 first, which gets further in.
 */
#include "../base64.h"
#include "opennebula/events_internal.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool promise)
{
    if (!promise)
        abort();
}

static void check(const struct oneib_event *event)
{
    require(event->kind <= ONEIB_EVENT_GAP);
    require(event->id <= INT32_MAX);
    require(event->id == 0 ||
            (event->kind != ONEIB_EVENT_NOTHING && event->kind != ONEIB_EVENT_GAP));
}

/* Copies of their own, so that reading beyond their ends is seen. */
static void read_message(const uint8_t *key, size_t key_length, const uint8_t *payload,
                         size_t payload_length, bool encode)
{
    size_t length = encode ? base64_length(payload_length) : payload_length;
    char *key_copy = malloc(key_length ? key_length : 1);
    char *payload_copy = malloc(length ? length : 1);
    if (key_copy && payload_copy) {
        memcpy(key_copy, key, key_length);
        if (encode)
            base64_encode(payload, payload_length, payload_copy);
        else
            memcpy(payload_copy, payload, payload_length);
        struct oneib_event event = oneib_event_read(key_copy, key_length, payload_copy, length);
        check(&event);
    }
    free(key_copy);
    free(payload_copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
    if (!end)
        return 0;
    bool encode = *data == '!';
    const uint8_t *key = encode ? data + 1 : data;
    read_message(key, (size_t)(end - key), end + 1, size - (size_t)(end + 1 - data), encode);
    return 0;
}
