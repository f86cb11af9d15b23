// SPDX-License-Identifier: Apache-2.0
/*
 * Management datagrams over one umad port, several in flight. Private to core/fabric.
 *
 * Layouts are those of the InfiniBand Architecture Specification 1.2.1: 13.4.3 (MAD header), 14.2.1
 * (SMP), 15.2.1 (SA), 16.1.1 (PerfMgt). Answers come from other nodes: nothing beyond `length` is
 * ever read.
 */
#ifndef ONEIB_FABRIC_MAD_H
#define ONEIB_FABRIC_MAD_H

#include "base/error.h"
#include "fabric/fabric.h"
#include "fabric/m_key_file.h"
#include <infiniband/mad.h>
#include <infiniband/umad.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONEIB_SLOTS_MAX 256 /* the low byte of a transaction id is its slot */

struct oneib_mad_slot;

/* An open umad port with an agent for each management class that oneib speaks. */
struct oneib_mad_port {
    char ca[UMAD_CA_NAME_LEN];
    uint8_t number;
    int fd;
    int lid_agent, directed_agent, sa_agent; /* SMPs by LID, SMPs by directed route, SA */
    uint16_t window;
    uint32_t timeout_ms;
    uint8_t retries;
    bool (*interrupted)(void);
    uint32_t generation; /* counts transactions: no two MADs in flight share an id */
    uint64_t sent;
    struct oneib_m_key_file m_keys; /* what every SMP carries is looked up here */
    struct oneib_mad_slot *slots;   /* `window` of them */
    uint8_t *out, *in;              /* umad buffers: header and MAD */
    size_t in_room;                 /* MAD bytes that fit into `in` */
};

struct oneib_mad_request {
    uint8_t mgmt_class; /* IB_SMI_CLASS, IB_SMI_DIRECT_CLASS, IB_SA_CLASS */
    uint8_t method;
    uint16_t attribute;
    uint32_t modifier;
    uint16_t lid; /* destination; not for directed routes */
    uint8_t sl;   /* SA: SMPs have no service level */
    /* Directed route: 0 hops is this node; path[1] is the port to leave this node by, path[2] the
     * next one, and so on. */
    uint8_t hops, path[ONEIB_PATH_SIZE];
    /* SMPs: the port that it is for, whose M_Key it carries; of a switch its port 0. 0: not known
     * who it is, then the file's keys are tried in turn. */
    oneib_guid to;
    uint64_t component_mask; /* SA */
    /* SA: the record. SMPs: what a Set sets, the first IB_SMP_DATA_SIZE bytes. */
    uint8_t record[IB_SA_DATA_SIZE];
    size_t tag, subtag; /* the caller's; come back with the answer */
};

struct oneib_mad_answer {
    const struct oneib_mad_request *request;
    int error;       /* 0; ETIMEDOUT: nothing came back; EPROTO: what came back was no answer to the
                        request */
    uint16_t status; /* MAD header status; 0: success. Only with error 0. */
    /* The MAD, RMPP segments put together. Only with error 0. At least header and data of an SMP,
     * or the header of an SA answer. */
    uint8_t *mad;
    size_t length;
};

/*
 * One exchange: `next` fills in a request or returns false when there is none at the moment (an
 * answer may create more); `take` gets each answer, or the error that stands for it, exactly once.
 * A take that fails ends the exchange.
 */
struct oneib_mad_exchange {
    bool (*next)(void *context, struct oneib_mad_request *request);
    int (*take)(void *context, const struct oneib_mad_answer *answer, struct oneib_error *err);
    void *context;
};

/* Opens the port that `ca` and `number` name exactly, and reads options->m_key_file. On failure
 * *port holds nothing. */
int oneib_mad_open(struct oneib_mad_port *port, const struct oneib_fabric_options *options,
                   const char *ca, uint8_t number, struct oneib_error *err);
void oneib_mad_close(struct oneib_mad_port *port);

/* Runs until no request is left and none is in flight. -1 only for failures of this machine or of
 * `take`. */
int oneib_mad_run(struct oneib_mad_port *port, const struct oneib_mad_exchange *exchange,
                  struct oneib_error *err);

/*
 * A single request. answer->mad is valid until the next use of the port; answer->request is
 * `request`.
 */
int oneib_mad_ask(struct oneib_mad_port *port, const struct oneib_mad_request *request,
                  struct oneib_mad_answer *answer, struct oneib_error *err);

/* The attribute's data in an SMP's answer: IB_SMP_DATA_SIZE bytes. */
static inline uint8_t *oneib_smp_data(const struct oneib_mad_answer *answer)
{
    return answer->mad + IB_SMP_DATA_OFFS;
}

/* Network byte order in untrusted, unaligned memory. */
static inline uint16_t oneib_get16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static inline uint32_t oneib_get32(const uint8_t *bytes)
{
    return (uint32_t)oneib_get16(bytes) << 16 | oneib_get16(bytes + 2);
}

static inline uint64_t oneib_get64(const uint8_t *bytes)
{
    return (uint64_t)oneib_get32(bytes) << 32 | oneib_get32(bytes + 4);
}

static inline void oneib_put16(uint8_t *bytes, uint16_t value)
{
    bytes[0] = (uint8_t)(value >> 8);
    bytes[1] = (uint8_t)value;
}

static inline void oneib_put32(uint8_t *bytes, uint32_t value)
{
    oneib_put16(bytes, (uint16_t)(value >> 16));
    oneib_put16(bytes + 2, (uint16_t)value);
}

static inline void oneib_put64(uint8_t *bytes, uint64_t value)
{
    oneib_put32(bytes, (uint32_t)(value >> 32));
    oneib_put32(bytes + 4, (uint32_t)value);
}

#endif
