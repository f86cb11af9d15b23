// SPDX-License-Identifier: Apache-2.0
#include "fabric/mad.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include <errno.h>
#include <time.h>

/* Byte offsets in a MAD. */
enum {
    BASE_VERSION = 0,
    MGMT_CLASS = 1,
    CLASS_VERSION = 2,
    METHOD = 3,
    STATUS = 4,
    HOP_COUNT = 7, /* directed route */
    TRANSACTION = 8,
    ATTRIBUTE = 16,
    MODIFIER = 20,
    M_KEY = 24, /* SMP */
    DIRECTED_SLID = 32,
    DIRECTED_DLID = 34,
    COMPONENT_MASK = 48, /* SA */
    INITIAL_PATH = 128,  /* directed route */
};

#define MAD_HEADER_SIZE 24
#define PERMISSIVE_LID 0xffff
#define SMI_CLASS_VERSION 1
#define SA_CLASS_VERSION 2
#define SA_RMPP_VERSION 1
#define GENERAL_QP 1                /* of the SA */
#define DIRECTED_STATUS_MASK 0x7fff /* the top bit is the direction (14.2.1.2) */

/* More than the NodeRecords of all 49,151 unicast LIDs. */
#define ANSWER_SIZE_MAX ((size_t)16 << 20)

/* The SA answers out of the subnet manager, which may be in the middle of a sweep. */
#define SA_PATIENCE 4

/* What the kernel may add to a time-out before it reports it; then the MAD counts as lost. */
#define GRACE_MS 250

struct oneib_mad_slot {
    bool busy;
    uint32_t transaction;
    int64_t deadline_ms;
    unsigned tries_left;
    size_t attempt; /* which of the M_Keys is next */
    struct oneib_mad_request request;
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int refuse_open(const char *ca, uint8_t number, int result, struct oneib_error *err)
{
    int error = errno;
    if (result == -EIO && (error == EACCES || error == EPERM))
        return oneib_fail(
            err, ONEIB_ERROR_UNREACHABLE,
            "no permission to open the umad device of %s port %u: run as root or as a "
            "user who may read and write /dev/infiniband/umad*",
            ca, number);
    if (result == -EIO)
        return oneib_fail_errno(err, error, "opening the umad device of %s port %u", ca, number);
    return oneib_fail(err, ONEIB_ERROR_UNREACHABLE,
                      "%s port %u has no umad device: load the kernel module ib_umad "
                      "(modprobe ib_umad)",
                      ca, number);
}

static int register_agent(struct oneib_mad_port *port, int mgmt_class, int class_version,
                          uint8_t rmpp_version, int *agent, struct oneib_error *err)
{
    *agent = umad_register(port->fd, mgmt_class, class_version, rmpp_version, NULL);
    if (*agent >= 0)
        return 0;
    return oneib_fail(
        err, ONEIB_ERROR_UNREACHABLE,
        "the kernel refused a MAD agent of class 0x%02x on %s port %u: the port must be "
        "an InfiniBand port whose subnet management is not disabled",
        (unsigned)mgmt_class, port->ca, port->number);
}

static void allocate(struct oneib_mad_port *port)
{
    port->slots = oneib_alloc(port->window, sizeof(*port->slots));
    port->out = oneib_alloc(1, umad_size() + IB_MAD_SIZE);
    port->in = oneib_alloc(1, umad_size() + IB_MAD_SIZE);
    port->in_room = IB_MAD_SIZE;
}

static int prepare(struct oneib_mad_port *port, struct oneib_error *err)
{
    allocate(port);
    if (register_agent(port, IB_SMI_CLASS, SMI_CLASS_VERSION, 0, &port->lid_agent, err) < 0)
        return -1;
    if (register_agent(port, IB_SMI_DIRECT_CLASS, SMI_CLASS_VERSION, 0, &port->directed_agent,
                       err) < 0)
        return -1;
    return register_agent(port, IB_SA_CLASS, SA_CLASS_VERSION, SA_RMPP_VERSION, &port->sa_agent,
                          err);
}

int oneib_mad_open(struct oneib_mad_port *port, const struct oneib_fabric_options *options,
                   const char *ca, uint8_t number, struct oneib_error *err)
{
    uint16_t window = options->window ? options->window : 1;
    *port = (struct oneib_mad_port){
        .number = number,
        .lid_agent = -1,
        .directed_agent = -1,
        .sa_agent = -1,
        .window = window < ONEIB_SLOTS_MAX ? window : ONEIB_SLOTS_MAX,
        .timeout_ms = options->timeout_ms,
        .interrupted = options->interrupted,
        .retries = options->retries,
        /* Answers to a predecessor with our number must not fit: start anywhere. */
        .generation = (uint32_t)now_ms(),
    };
    snprintf(port->ca, sizeof(port->ca), "%s", ca);
    if (oneib_m_key_file_open(options->m_key_file, &port->m_keys, err) < 0)
        return -1;
    errno = 0;
    port->fd = umad_open_port(port->ca, number);
    if (port->fd < 0) {
        oneib_m_key_file_close(&port->m_keys);
        return refuse_open(ca, number, port->fd, err);
    }
    if (prepare(port, err) < 0) {
        oneib_mad_close(port);
        return -1;
    }
    return 0;
}

/* The kernel unregisters them with the port, ibsim's stand-in for it does not, and has few. */
static void unregister_agent(const struct oneib_mad_port *port, int agent)
{
    if (agent >= 0)
        umad_unregister(port->fd, agent);
}

void oneib_mad_close(struct oneib_mad_port *port)
{
    unregister_agent(port, port->lid_agent);
    unregister_agent(port, port->directed_agent);
    unregister_agent(port, port->sa_agent);
    umad_close_port(port->fd);
    oneib_m_key_file_close(&port->m_keys);
    free(port->slots);
    free(port->out);
    free(port->in);
    port->slots = NULL;
    port->out = port->in = NULL;
}

/* ---- sending --------------------------------------------------------------------------------- */

static int agent_of(const struct oneib_mad_port *port, uint8_t mgmt_class)
{
    if (mgmt_class == IB_SA_CLASS)
        return port->sa_agent;
    return mgmt_class == IB_SMI_DIRECT_CLASS ? port->directed_agent : port->lid_agent;
}

static void write_header(uint8_t *mad, const struct oneib_mad_request *request,
                         uint32_t transaction)
{
    memset(mad, 0, IB_MAD_SIZE);
    mad[BASE_VERSION] = 1;
    mad[MGMT_CLASS] = request->mgmt_class;
    mad[CLASS_VERSION] = request->mgmt_class == IB_SA_CLASS ? SA_CLASS_VERSION : SMI_CLASS_VERSION;
    mad[METHOD] = request->method;
    oneib_put32(mad + TRANSACTION + 4, transaction); /* the upper half is the kernel's */
    oneib_put16(mad + ATTRIBUTE, request->attribute);
    oneib_put32(mad + MODIFIER, request->modifier);
}

static bool is_smp(const struct oneib_mad_request *request)
{
    return request->mgmt_class == IB_SMI_CLASS || request->mgmt_class == IB_SMI_DIRECT_CLASS;
}

static void write_body(uint8_t *mad, const struct oneib_mad_request *request, oneib_m_key key)
{
    if (request->mgmt_class == IB_SA_CLASS) {
        oneib_put64(mad + COMPONENT_MASK, request->component_mask);
        memcpy(mad + IB_SA_DATA_OFFS, request->record, sizeof(request->record));
        return;
    }
    oneib_put64(mad + M_KEY, key);
    memcpy(mad + IB_SMP_DATA_OFFS, request->record, IB_SMP_DATA_SIZE);
    if (request->mgmt_class == IB_SMI_DIRECT_CLASS) {
        mad[HOP_COUNT] = request->hops;
        oneib_put16(mad + DIRECTED_SLID, PERMISSIVE_LID);
        oneib_put16(mad + DIRECTED_DLID, PERMISSIVE_LID);
        memcpy(mad + INITIAL_PATH, request->path, sizeof(request->path));
    }
}

static void address(void *umad, const struct oneib_mad_request *request)
{
    bool directed = request->mgmt_class == IB_SMI_DIRECT_CLASS;
    bool general = !is_smp(request);
    umad_set_addr(umad, directed ? PERMISSIVE_LID : request->lid, general ? GENERAL_QP : 0,
                  general ? request->sl : 0, general ? (int)IB_DEFAULT_QP1_QKEY : 0);
    umad_set_pkey(umad, 0);
}

static uint32_t timeout_of(const struct oneib_mad_port *port,
                           const struct oneib_mad_request *request)
{
    return request->mgmt_class == IB_SA_CLASS ? SA_PATIENCE * port->timeout_ms : port->timeout_ms;
}

static void renew_transaction(struct oneib_mad_port *port, struct oneib_mad_slot *slot)
{
    slot->transaction = ++port->generation << 8 | (uint32_t)(slot - port->slots);
}

/*
 * The kernel watches the time-out of each MAD, but the repetitions are sent from here: so that they
 * are counted, and so that a MAD whose end the kernel never reports is repeated as well.
 */
static int send_slot(struct oneib_mad_port *port, struct oneib_mad_slot *slot,
                     struct oneib_error *err)
{
    const struct oneib_mad_request *request = &slot->request;
    uint32_t timeout_ms = timeout_of(port, request);
    uint8_t *mad = umad_get_mad(port->out);

    slot->busy = true;
    renew_transaction(port, slot);
    slot->deadline_ms = now_ms() + timeout_ms + GRACE_MS;
    slot->tries_left--;
    memset(port->out, 0, umad_size());
    write_header(mad, request, slot->transaction);
    write_body(mad, request, oneib_m_key_to_try(&port->m_keys.keys, request->to, slot->attempt++));
    address(port->out, request);
    if (umad_send(port->fd, agent_of(port, request->mgmt_class), port->out, IB_MAD_SIZE,
                  (int)timeout_ms, 0) < 0)
        return oneib_fail_errno(err, errno, "sending a MAD on %s port %u", port->ca, port->number);
    port->sent++;
    return 0;
}

/* ---- receiving ------------------------------------------------------------------------------- */

static int grow_input(struct oneib_mad_port *port, size_t needed, struct oneib_error *err)
{
    if (needed <= port->in_room || needed > ANSWER_SIZE_MAX)
        return oneib_fail(
            err, ONEIB_ERROR_PROTOCOL,
            "an answer of %zu bytes arrived on %s port %u: more than any subnet needs", needed,
            port->ca, port->number);
    port->in = oneib_realloc(port->in, umad_size() + needed, 1);
    port->in_room = needed;
    return 0;
}

/* *agent: whose MAD is in port->in, with *length bytes; negative when none came in time. */
static int receive(struct oneib_mad_port *port, int wait_ms, int *agent, size_t *length,
                   struct oneib_error *err)
{
    for (;;) {
        int room = (int)port->in_room;
        *agent = umad_recv(port->fd, port->in, &room, wait_ms);
        *length = *agent >= 0 && room > 0 ? (size_t)room : 0;
        if (*length > port->in_room)
            *length = port->in_room;
        if (*agent >= 0 || *agent == -ETIMEDOUT || *agent == -EWOULDBLOCK || errno == EINTR)
            return 0;
        if (errno != ENOSPC)
            return oneib_fail_errno(err, errno, "receiving MADs on %s port %u", port->ca,
                                    port->number);
        if (grow_input(port, room > 0 ? (size_t)room : 0, err) < 0)
            return -1;
    }
}

/* The slot that the received MAD belongs to; NULL for a stray one. */
static struct oneib_mad_slot *slot_of(struct oneib_mad_port *port, int agent, const uint8_t *mad,
                                      size_t length)
{
    if (length < MAD_HEADER_SIZE)
        return NULL;
    uint32_t transaction = oneib_get32(mad + TRANSACTION + 4);
    size_t index = transaction & (ONEIB_SLOTS_MAX - 1);
    if (index >= port->window)
        return NULL;
    struct oneib_mad_slot *slot = &port->slots[index];
    if (!slot->busy || slot->transaction != transaction ||
        agent_of(port, slot->request.mgmt_class) != agent)
        return NULL;
    return slot;
}

/* A whole header with what every answer of the class holds. SA records come on top, as `length`
 * says. */
static size_t answer_size(uint8_t mgmt_class)
{
    return mgmt_class == IB_SA_CLASS ? IB_SA_DATA_OFFS : IB_SMP_DATA_OFFS + IB_SMP_DATA_SIZE;
}

/* What was set is answered as what was got is (13.4.5). */
static uint8_t answering(uint8_t method)
{
    return method == IB_MAD_METHOD_SET ? IB_MAD_METHOD_GET_RESPONSE : method | IB_MAD_RESPONSE;
}

static bool answers(const struct oneib_mad_request *request, const uint8_t *mad, size_t length)
{
    return length >= answer_size(request->mgmt_class) && mad[BASE_VERSION] == 1 &&
           mad[MGMT_CLASS] == request->mgmt_class && mad[METHOD] == answering(request->method) &&
           oneib_get16(mad + ATTRIBUTE) == request->attribute &&
           oneib_get32(mad + MODIFIER) == request->modifier;
}

static uint16_t status_of(const uint8_t *mad)
{
    uint16_t status = oneib_get16(mad + STATUS);
    return mad[MGMT_CLASS] == IB_SMI_DIRECT_CLASS ? status & DIRECTED_STATUS_MASK : status;
}

static void judge(struct oneib_mad_port *port, const struct oneib_mad_request *request,
                  size_t length, struct oneib_mad_answer *answer)
{
    uint8_t *mad = umad_get_mad(port->in);
    *answer = (struct oneib_mad_answer){.request = request};
    if (umad_status(port->in))
        answer->error = ETIMEDOUT;
    else if (!answers(request, mad, length))
        answer->error = EPROTO;
    else {
        answer->status = status_of(mad);
        answer->mad = mad;
        answer->length = length;
    }
}

static bool is_busy(const struct oneib_mad_answer *answer)
{
    return !answer->error && (answer->status & IB_MAD_STS_BUSY);
}

/* ---- the exchange ---------------------------------------------------------------------------- */

struct run {
    struct oneib_mad_port *port;
    const struct oneib_mad_exchange *exchange;
    size_t in_flight;
};

/* A port that is asked with a wrong key says nothing (14.2.4.1): each key has its try. */
static unsigned tries(const struct oneib_mad_port *port, const struct oneib_mad_request *request)
{
    const unsigned keys = (unsigned)oneib_m_keys_for(&port->m_keys.keys, request->to);
    const unsigned wanted = port->retries + 1u;
    return is_smp(request) && keys > wanted ? keys : wanted;
}

static int fill_window(struct run *run, struct oneib_error *err)
{
    for (size_t i = 0; i < run->port->window && run->in_flight < run->port->window; i++) {
        struct oneib_mad_slot *slot = &run->port->slots[i];
        if (slot->busy)
            continue;
        if (!run->exchange->next(run->exchange->context, &slot->request))
            return 0;
        slot->tries_left = tries(run->port, &slot->request);
        slot->attempt = 0;
        run->in_flight++;
        if (send_slot(run->port, slot, err) < 0)
            return -1;
    }
    return 0;
}

static int finish(struct run *run, struct oneib_mad_slot *slot,
                  const struct oneib_mad_answer *answer, struct oneib_error *err)
{
    if (is_busy(answer)) {
        /* Asked again when the time of this one is over; a second answer to it would be a stray. */
        renew_transaction(run->port, slot);
        slot->attempt--; /* its key was the right one */
        return 0;
    }
    if (answer->error == ETIMEDOUT && run->port->interrupted && run->port->interrupted())
        return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                          "stopped waiting for the fabric: oneib is ending");
    if (answer->error == ETIMEDOUT && slot->tries_left > 0)
        return send_slot(run->port, slot, err);
    slot->busy = false;
    run->in_flight--;
    return run->exchange->take(run->exchange->context, answer, err);
}

static int expire(struct run *run, struct oneib_error *err)
{
    int64_t now = now_ms();
    for (size_t i = 0; i < run->port->window; i++) {
        struct oneib_mad_slot *slot = &run->port->slots[i];
        struct oneib_mad_answer lost = {.request = &slot->request, .error = ETIMEDOUT};
        if (slot->busy && slot->deadline_ms <= now && finish(run, slot, &lost, err) < 0)
            return -1;
    }
    return 0;
}

static int64_t nearest_deadline(const struct oneib_mad_port *port)
{
    int64_t nearest = INT64_MAX;
    for (size_t i = 0; i < port->window; i++)
        if (port->slots[i].busy && port->slots[i].deadline_ms < nearest)
            nearest = port->slots[i].deadline_ms;
    return nearest;
}

static int receive_one(struct run *run, struct oneib_error *err)
{
    struct oneib_mad_port *port = run->port;
    int64_t wait_ms = nearest_deadline(port) - now_ms();
    if (wait_ms <= 0)
        return expire(run, err);

    int agent;
    size_t length;
    if (receive(port, (int)wait_ms, &agent, &length, err) < 0)
        return -1;
    struct oneib_mad_slot *slot =
        agent < 0 ? NULL : slot_of(port, agent, umad_get_mad(port->in), length);
    if (!slot)
        return 0;
    struct oneib_mad_answer answer;
    judge(port, &slot->request, length, &answer);
    return finish(run, slot, &answer, err);
}

static int run_to_the_end(struct run *run, struct oneib_error *err)
{
    for (;;) {
        if (fill_window(run, err) < 0)
            return -1;
        if (run->in_flight == 0)
            return 0;
        if (receive_one(run, err) < 0)
            return -1;
    }
}

int oneib_mad_run(struct oneib_mad_port *port, const struct oneib_mad_exchange *exchange,
                  struct oneib_error *err)
{
    struct run run = {.port = port, .exchange = exchange};
    int result = run_to_the_end(&run, err);
    for (size_t i = 0; i < port->window; i++) /* what a failed run left: late answers are strays */
        port->slots[i].busy = false;
    return result;
}

struct single {
    const struct oneib_mad_request *request; /* NULL once sent */
    struct oneib_mad_answer *answer;
};

static bool next_single(void *context, struct oneib_mad_request *request)
{
    struct single *single = context;
    if (!single->request)
        return false;
    *request = *single->request;
    single->request = NULL;
    return true;
}

static int take_single(void *context, const struct oneib_mad_answer *answer,
                       struct oneib_error *err)
{
    struct single *single = context;
    (void)err;
    *single->answer = *answer;
    return 0;
}

int oneib_mad_ask(struct oneib_mad_port *port, const struct oneib_mad_request *request,
                  struct oneib_mad_answer *answer, struct oneib_error *err)
{
    struct single single = {.request = request, .answer = answer};
    const struct oneib_mad_exchange exchange = {next_single, take_single, &single};
    if (oneib_mad_run(port, &exchange, err) < 0)
        return -1;
    answer->request = request;
    return 0;
}
