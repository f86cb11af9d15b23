// SPDX-License-Identifier: Apache-2.0
#include "command/control_message.h"
#include "base/hash.h"
#include <endian.h>
#include <string.h>

static const char request_mark[8] = "oneibQ1";
static const char answer_mark[8] = "oneibA1";

enum flag {
    FLAG_JSON = 1u << 0,
    FLAG_COLOR_OUT = 1u << 1,
    FLAG_COLOR_ERR = 1u << 2,
    FLAG_ADOPT = 1u << 3,
    FLAG_EXIT_CODE = 1u << 4,
    FLAG_FORCE = 1u << 5,
    FLAG_NO_FABRIC = 1u << 6,
    FLAG_UTF8 = 1u << 7,
    FLAGS = (1u << 8) - 1,
};
#define QUESTION_SHIFT 16

/* Offsets. */
#define AT_PARTITIONS 8
#define AT_QUESTION 16
#define AT_NETWORK_ID 20
#define AT_NETWORK 24

static void put32(uint8_t *bytes, uint32_t value)
{
    value = htole32(value);
    memcpy(bytes, &value, sizeof value);
}

static uint32_t get32(const uint8_t *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return le32toh(value);
}

uint64_t oneib_control_partitions(const struct oneib_config *config)
{
    uint64_t hash = ONEIB_HASH_BEGIN;
    for (const char *c = oneib_config_state(config); *c; c++)
        hash = oneib_hash_mix(hash, (unsigned char)*c);
    return hash;
}

static uint32_t flags_of(const struct oneib_command_request *request)
{
    return (request->json ? FLAG_JSON : 0) | (request->color_out ? FLAG_COLOR_OUT : 0) |
           (request->color_err ? FLAG_COLOR_ERR : 0) | (request->adopt ? FLAG_ADOPT : 0) |
           (request->exit_code ? FLAG_EXIT_CODE : 0) | (request->force ? FLAG_FORCE : 0) |
           (request->no_fabric ? FLAG_NO_FABRIC : 0) | (request->utf8 ? FLAG_UTF8 : 0);
}

void oneib_control_request_encode(const struct oneib_control_request *request,
                                  uint8_t bytes[ONEIB_CONTROL_REQUEST_SIZE])
{
    const uint64_t partitions = htole64(request->partitions);
    memset(bytes, 0, ONEIB_CONTROL_REQUEST_SIZE);
    memcpy(bytes, request_mark, sizeof request_mark);
    memcpy(bytes + AT_PARTITIONS, &partitions, sizeof partitions);
    put32(bytes + AT_QUESTION,
          (uint32_t)request->request.question << QUESTION_SHIFT | flags_of(&request->request));
    put32(bytes + AT_NETWORK_ID, request->request.network_id);
    memcpy(bytes + AT_NETWORK, request->request.network,
           strnlen(request->request.network, ONEIB_NETWORK_NAME_SIZE - 1));
}

int oneib_control_request_decode(const uint8_t bytes[ONEIB_CONTROL_REQUEST_SIZE],
                                 struct oneib_control_request *request, struct oneib_error *err)
{
    const uint32_t word = get32(bytes + AT_QUESTION);
    const uint32_t question = word >> QUESTION_SHIFT, flags = word & ((1u << QUESTION_SHIFT) - 1);
    uint64_t partitions;
    if (memcmp(bytes, request_mark, sizeof request_mark) != 0 || question >= ONEIB_QUESTIONS ||
        (flags & ~FLAGS) || bytes[ONEIB_CONTROL_REQUEST_SIZE - 1] != 0)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                          "oneibd does not understand the request: oneib is of another version; "
                          "restart oneibd after an upgrade");
    memcpy(&partitions, bytes + AT_PARTITIONS, sizeof partitions);
    *request = (struct oneib_control_request){
        .partitions = le64toh(partitions),
        .request =
            {
                .question = (enum oneib_question)question,
                .json = flags & FLAG_JSON,
                .color_out = flags & FLAG_COLOR_OUT,
                .color_err = flags & FLAG_COLOR_ERR,
                .adopt = flags & FLAG_ADOPT,
                .exit_code = flags & FLAG_EXIT_CODE,
                .force = flags & FLAG_FORCE,
                .no_fabric = flags & FLAG_NO_FABRIC,
                .utf8 = flags & FLAG_UTF8,
                .network_id = get32(bytes + AT_NETWORK_ID),
            },
    };
    memcpy(request->request.network, bytes + AT_NETWORK, ONEIB_NETWORK_NAME_SIZE);
    return 0;
}

void oneib_control_answer_encode(enum oneib_exit outcome, const struct oneib_command_answer *answer,
                                 const struct oneib_error *failure, struct oneib_text *bytes)
{
    static const struct oneib_command_answer nothing;
    struct oneib_error too_long;
    uint8_t head[ONEIB_CONTROL_HEAD_SIZE] = {0};
    if (answer->out.length + answer->err.length + answer->end.length > ONEIB_CONTROL_TEXTS_MAX) {
        oneib_fail(&too_long, ONEIB_ERROR_TOO_LARGE,
                   "the answer has more than %u MiB: stop oneibd, and use --no-daemon",
                   ONEIB_CONTROL_TEXTS_MAX >> 20);
        outcome = ONEIB_EXIT_FAILURE;
        failure = &too_long;
        answer = &nothing;
    }
    const size_t failure_length = failure->code != ONEIB_ERROR_NONE ? strlen(failure->text) : 0;
    memcpy(head, answer_mark, sizeof answer_mark);
    put32(head + 8, (uint32_t)outcome);
    put32(head + 12, (uint32_t)failure->code);
    put32(head + 16, (uint32_t)answer->out.length);
    put32(head + 20, (uint32_t)answer->err.length);
    put32(head + 24, (uint32_t)answer->end.length);
    put32(head + 28, (uint32_t)failure_length);
    oneib_text_append_bytes(bytes, (const char *)head, sizeof head);
    if (answer->out.length > 0)
        oneib_text_append_bytes(bytes, answer->out.data, answer->out.length);
    if (answer->err.length > 0)
        oneib_text_append_bytes(bytes, answer->err.data, answer->err.length);
    if (answer->end.length > 0)
        oneib_text_append_bytes(bytes, answer->end.data, answer->end.length);
    oneib_text_append_bytes(bytes, failure->text, failure_length);
}

int oneib_control_head_decode(const uint8_t bytes[ONEIB_CONTROL_HEAD_SIZE],
                              struct oneib_control_head *head, struct oneib_error *err)
{
    *head = (struct oneib_control_head){
        .outcome = (enum oneib_exit)get32(bytes + 8),
        .code = (enum oneib_error_code)get32(bytes + 12),
        .out_length = get32(bytes + 16),
        .err_length = get32(bytes + 20),
        .end_length = get32(bytes + 24),
        .failure_length = get32(bytes + 28),
    };
    const bool failed = head->outcome == ONEIB_EXIT_FAILURE || head->outcome == ONEIB_EXIT_USAGE ||
                        head->outcome == ONEIB_EXIT_REFUSED;
    if (memcmp(bytes, answer_mark, sizeof answer_mark) != 0 || head->outcome > ONEIB_EXIT_REFUSED ||
        head->code > ONEIB_ERROR_REFUSED || failed != (head->code != ONEIB_ERROR_NONE) ||
        head->out_length > ONEIB_CONTROL_TEXTS_MAX || head->err_length > ONEIB_CONTROL_TEXTS_MAX ||
        head->end_length > ONEIB_CONTROL_TEXTS_MAX ||
        head->failure_length >= sizeof((struct oneib_error *)0)->text)
        return oneib_fail(
            err, ONEIB_ERROR_PROTOCOL,
            "oneibd's answer is not valid: oneib and oneibd are of different versions");
    return 0;
}
