// SPDX-License-Identifier: Apache-2.0
#include "service/service_client.h"
#include "base/clock.h"
#include "base/memory.h"
#include "service/client_internal.h"
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

/* A socket at which nobody listens: a service that made it by itself is being started anew. systemd
 * listens all the time. */
#define STARTING_MS 3000

#define PAUSE_FIRST_MS 20
#define PAUSE_MOST_MS 500

/* ---- the connection -------------------------------------------------------------------------- */

static void hang_up(struct oneib_client *client)
{
    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
}

/* Until somebody listens at the socket. */
static enum oneib_connection_outcome call(struct oneib_client *client, double deadline,
                                          struct oneib_error *err)
{
    for (uint32_t wait = PAUSE_FIRST_MS;; wait = wait < PAUSE_MOST_MS ? 2 * wait : PAUSE_MOST_MS) {
        const enum oneib_connection_outcome outcome =
            oneib_connection_open(client->socket, deadline, &client->fd, err);
        if (outcome != ONEIB_CONNECTION_LOST || oneib_now_ms() + wait >= deadline)
            return outcome;
        oneib_sleep_ms(wait);
    }
}

enum oneib_connection_outcome oneib_client_open_at(const char *socket, struct oneib_client **client,
                                                   struct oneib_error *err)
{
    *client = oneib_alloc(1, sizeof **client);
    (*client)->socket = socket;
    (*client)->fd = -1;
    const enum oneib_connection_outcome outcome = call(*client, oneib_now_ms() + STARTING_MS, err);
    if (outcome != ONEIB_CONNECTION_FINE) {
        oneib_client_close(*client);
        *client = NULL;
    }
    return outcome;
}

int oneib_client_open(struct oneib_client **client, struct oneib_error *err)
{
    return oneib_client_open_at(ONEIB_SERVICE_SOCKET, client, err) == ONEIB_CONNECTION_FINE ? 0
                                                                                            : -1;
}

void oneib_client_close(struct oneib_client *client)
{
    if (client)
        hang_up(client);
    free(client);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static bool has_many_answers(const struct oneib_request *request)
{
    return request->kind == ONEIB_REQUEST_WAIT || request->kind == ONEIB_REQUEST_LIST;
}

int oneib_client_unexpected(const struct oneib_answer *answer, struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                      "oneib-node sent another kind of answer than was requested (%u)",
                      answer->kind);
}

/* All answers to what was sent. */
static enum oneib_connection_outcome take_answers(const struct oneib_client *client,
                                                  const struct oneib_request *request,
                                                  double deadline, const struct oneib_taker *taker,
                                                  struct oneib_error *err)
{
    const bool many = has_many_answers(request);
    struct oneib_answer answer;
    do {
        const enum oneib_connection_outcome outcome =
            oneib_connection_receive(client->fd, &answer, deadline, err);
        if (outcome != ONEIB_CONNECTION_FINE)
            return outcome;
        if (taker->take(taker->context, &answer, err) < 0)
            return ONEIB_CONNECTION_FAILED;
    } while (many && answer.kind != ONEIB_ANSWER_END);
    return ONEIB_CONNECTION_FINE;
}

static enum oneib_connection_outcome ask_once(const struct oneib_client *client,
                                              const struct oneib_request *request, double deadline,
                                              const struct oneib_taker *taker,
                                              struct oneib_error *err)
{
    const enum oneib_connection_outcome sent =
        oneib_connection_send(client->fd, request, deadline, err);
    /* Whoever is refused a connection is told why before anything was asked. */
    if (sent == ONEIB_CONNECTION_FAILED)
        return sent;
    taker->begin(taker->context);
    return take_answers(client, request, deadline, taker, err);
}

static void begin_nothing(void *context)
{
    (void)context;
}

static int note_refusal(void *context, const struct oneib_answer *answer, struct oneib_error *err)
{
    struct oneib_client *client = context;
    (void)err;
    if (answer->kind == ONEIB_ANSWER_FAILED && client->refused.code == ONEIB_ERROR_NONE)
        oneib_answer_error(answer, &client->refused);
    return 0;
}

/* What the service that was there before had been asked. */
static enum oneib_connection_outcome ask_again(struct oneib_client *client, double deadline,
                                               struct oneib_error *err)
{
    const struct oneib_taker taker = {begin_nothing, note_refusal, client};
    client->refused = (struct oneib_error){0};
    for (size_t i = 0; i < client->asked_count; i++) {
        const enum oneib_connection_outcome outcome =
            ask_once(client, &client->asked[i], deadline, &taker, err);
        if (outcome != ONEIB_CONNECTION_FINE)
            return outcome;
    }
    return ONEIB_CONNECTION_FINE;
}

static enum oneib_connection_outcome reconnect(struct oneib_client *client, double deadline,
                                               struct oneib_error *err)
{
    if (client->fd >= 0)
        return ONEIB_CONNECTION_FINE;
    const enum oneib_connection_outcome outcome = call(client, deadline, err);
    return outcome == ONEIB_CONNECTION_FINE ? ask_again(client, deadline, err) : outcome;
}

static bool may_come_back(enum oneib_connection_outcome outcome)
{
    return outcome == ONEIB_CONNECTION_LOST || outcome == ONEIB_CONNECTION_ABSENT;
}

int oneib_client_ask(struct oneib_client *client, const struct oneib_request *request,
                     uint64_t timeout_ms, const struct oneib_taker *taker, struct oneib_error *err)
{
    const double deadline = oneib_now_ms() + (double)timeout_ms;
    for (uint32_t wait = PAUSE_FIRST_MS;; wait = wait < PAUSE_MOST_MS ? 2 * wait : PAUSE_MOST_MS) {
        struct oneib_error why;
        enum oneib_connection_outcome outcome = reconnect(client, deadline, &why);
        if (outcome == ONEIB_CONNECTION_FINE)
            outcome = ask_once(client, request, deadline, taker, &why);
        if (outcome == ONEIB_CONNECTION_FINE)
            return 0;
        hang_up(client);
        if (!may_come_back(outcome) || oneib_now_ms() + wait >= deadline) {
            *err = why;
            return -1;
        }
        oneib_sleep_ms(wait);
    }
}

/* ---- having and releasing -------------------------------------------------------------------- */

static void remember(struct oneib_client *client, const struct oneib_request *request)
{
    if (client->asked_count < ONEIB_SERVICE_ASKED_MAX)
        client->asked[client->asked_count++] = *request;
}

/* The one answer to a request: a refusal too, after which the connection is as good as before. */
static int take_answer(void *context, const struct oneib_answer *answer, struct oneib_error *err)
{
    (void)err;
    *(struct oneib_answer *)context = *answer;
    return 0;
}

static int ask_for_one(struct oneib_client *client, const struct oneib_request *request,
                       uint64_t wait_ms, enum oneib_answer_kind kind, struct oneib_answer *answer,
                       struct oneib_error *err)
{
    const struct oneib_taker taker = {begin_nothing, take_answer, answer};
    if (oneib_client_ask(client, request, wait_ms + ONEIB_CLIENT_PATIENCE_MS, &taker, err) < 0)
        return -1;
    if (answer->kind == ONEIB_ANSWER_FAILED) {
        oneib_answer_error(answer, err);
        return -1;
    }
    if (answer->kind != kind)
        return oneib_client_unexpected(answer, err);
    if (request->kind != ONEIB_REQUEST_ANNOUNCE)
        remember(client, request);
    return 0;
}

static int check_record(const struct oneib_request *request, const struct oneib_vf_record *record,
                        struct oneib_error *err)
{
    if (record->vm_id == request->vm_id && record->nic_id == request->nic_id)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                      "oneib-node answered for VM %" PRIu32 " NIC %u instead of VM %" PRIu32
                      " NIC %" PRId32,
                      record->vm_id, record->nic_id, request->vm_id, request->nic_id);
}

int oneib_client_have(struct oneib_client *client, const struct oneib_request *request,
                      uint64_t wait_ms, struct oneib_vf_record *record, struct oneib_error *err)
{
    struct oneib_answer answer;
    if (ask_for_one(client, request, wait_ms, ONEIB_ANSWER_RECORD, &answer, err) < 0 ||
        check_record(request, &answer.record, err) < 0)
        return -1;
    *record = answer.record;
    return 0;
}

int oneib_client_release(struct oneib_client *client, const struct oneib_request *request,
                         struct oneib_released *released, struct oneib_error *err)
{
    struct oneib_answer answer;
    if (ask_for_one(client, request, 0, ONEIB_ANSWER_RELEASED, &answer, err) < 0)
        return -1;
    *released = answer.released;
    return 0;
}

int oneib_client_announce(const struct oneib_request *request, struct oneib_error *err)
{
    struct oneib_client *client;
    struct oneib_answer answer;
    if (oneib_client_open(&client, err) < 0)
        return -1;
    const int outcome = ask_for_one(client, request, 0, ONEIB_ANSWER_END, &answer, err);
    oneib_client_close(client);
    return outcome;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void forget_failure(void *context)
{
    *(struct oneib_error *)context = (struct oneib_error){0};
}

static int take_end(void *context, const struct oneib_answer *answer, struct oneib_error *err)
{
    struct oneib_error *first = context;
    switch (answer->kind) {
    case ONEIB_ANSWER_FAILED:
        if (first->code == ONEIB_ERROR_NONE)
            oneib_answer_error(answer, first);
        return 0;
    case ONEIB_ANSWER_RECORD:
    case ONEIB_ANSWER_END:
        return 0;
    default:
        return oneib_client_unexpected(answer, err);
    }
}

int oneib_client_wait(struct oneib_client *client, uint64_t wait_ms, struct oneib_error *err)
{
    struct oneib_error first = {0};
    const struct oneib_taker taker = {forget_failure, take_end, &first};
    const struct oneib_request request = oneib_request_new(ONEIB_REQUEST_WAIT);
    const int outcome =
        oneib_client_ask(client, &request, wait_ms + ONEIB_CLIENT_PATIENCE_MS, &taker, err);
    if (client->refused.code != ONEIB_ERROR_NONE)
        first = client->refused;
    client->refused = (struct oneib_error){0};
    client->asked_count = 0;
    if (outcome < 0 || first.code == ONEIB_ERROR_NONE)
        return outcome;
    *err = first;
    return -1;
}
