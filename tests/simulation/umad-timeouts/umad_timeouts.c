// SPDX-License-Identifier: Apache-2.0
/*
 * The time-outs that the kernel's ib_umad gives to every MAD and ibsim's stand-in for it does not:
 * there, a request whose answer is lost stays open for ever, and opensm, which waits for all open
 * requests between the steps of a sweep, with it. An answer is lost when the SM that was asked dies
 * with the request in its queue, and whenever a trap is repressed (ibsim drops TrapRepress).
 *
 * Loaded into opensm with LD_PRELOAD, in front of libibumad. A request is not sent again, as the
 * kernel would: ibsim loses none on its way.
 */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/umad.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define MAD_SIZE 256
#define OPEN_MAX 1024 /* opensm has a handful */
#define LOOK_MS 10

/* Places in the common MAD header, IBTA volume 1, 13.4.2. */
#define MGMT_CLASS 1
#define METHOD 3
#define TRANSACTION_LOW 12 /* the upper half is the kernel's */
#define METHOD_RESPONSE 0x80
#define METHOD_TRAP_REPRESS 0x07

/* What is told apart by the kernel when an answer comes in. */
struct key {
    int agent;
    uint8_t mgmt_class;
    uint8_t transaction[4];
};

struct open_request {
    bool is_open;
    struct key key;
    int64_t deadline_ms;
    uint8_t mad[MAD_SIZE];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct open_request requests[OPEN_MAX];

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct key key_of(int agent, const uint8_t *mad)
{
    struct key key = {.agent = agent, .mgmt_class = mad[MGMT_CLASS]};
    memcpy(key.transaction, mad + TRANSACTION_LOW, sizeof key.transaction);
    return key;
}

static bool is_same(const struct key *a, const struct key *b)
{
    return a->agent == b->agent && a->mgmt_class == b->mgmt_class &&
           memcmp(a->transaction, b->transaction, sizeof a->transaction) == 0;
}

static void open_request(int agent, const uint8_t *mad, int length, int64_t patience_ms)
{
    pthread_mutex_lock(&lock);
    struct open_request *request = requests;
    while (request < requests + OPEN_MAX && request->is_open)
        request++;
    if (request < requests + OPEN_MAX) {
        *request = (struct open_request){
            .is_open = true, .key = key_of(agent, mad), .deadline_ms = now_ms() + patience_ms};
        memcpy(request->mad, mad, length < MAD_SIZE ? (size_t)length : MAD_SIZE);
    }
    pthread_mutex_unlock(&lock);
}

/* False: nobody waits for it (any more). */
static bool close_request(const struct key *key)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < OPEN_MAX && !found; i++) {
        found = requests[i].is_open && is_same(&requests[i].key, key);
        if (found)
            requests[i].is_open = false;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* A request whose time is over comes back as it was sent, with a status. */
static bool take_overdue(void *umad, int *length, int *agent)
{
    bool found = false;
    int64_t now = now_ms();
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < OPEN_MAX && !found; i++) {
        found = requests[i].is_open && requests[i].deadline_ms <= now;
        if (!found)
            continue;
        requests[i].is_open = false;
        *agent = requests[i].key.agent;
        *length = *length < MAD_SIZE ? *length : MAD_SIZE;
        memset(umad, 0, umad_size());
        memcpy(umad_get_mad(umad), requests[i].mad, (size_t)*length);
        ((ib_user_mad_t *)umad)->agent_id = (uint32_t)*agent;
        ((ib_user_mad_t *)umad)->status = ETIMEDOUT;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* What comes in answer to something, or is something that came back. */
static bool ends_a_request(void *umad, const uint8_t *mad)
{
    return umad_status(umad) != 0 || (mad[METHOD] & METHOD_RESPONSE) ||
           mad[METHOD] == METHOD_TRAP_REPRESS;
}

int umad_send(int portid, int agentid, void *umad, int length, int timeout_ms, int retries)
{
    static int (*real_send)(int, int, void *, int, int, int);
    if (!real_send)
        *(void **)&real_send = dlsym(RTLD_NEXT, "umad_send");
    if (timeout_ms > 0)
        open_request(agentid, umad_get_mad(umad), length, (int64_t)timeout_ms * (retries + 1));
    int result = real_send(portid, agentid, umad, length, timeout_ms, retries);
    if (result < 0 && timeout_ms > 0) {
        struct key key = key_of(agentid, umad_get_mad(umad));
        close_request(&key);
    }
    return result;
}

int umad_recv(int portid, void *umad, int *length, int timeout_ms)
{
    static int (*real_receive)(int, void *, int *, int);
    if (!real_receive)
        *(void **)&real_receive = dlsym(RTLD_NEXT, "umad_recv");
    int64_t end = now_ms() + timeout_ms;
    for (;;) {
        int agent, room = *length;
        if (take_overdue(umad, length, &agent))
            return agent;
        agent = real_receive(portid, umad, &room, LOOK_MS);
        if (agent == -ETIMEDOUT && (timeout_ms < 0 || now_ms() < end))
            continue;
        if (agent >= 0) {
            const uint8_t *mad = umad_get_mad(umad);
            struct key key = key_of(agent, mad);
            if (ends_a_request(umad, mad) && !close_request(&key))
                continue;
        }
        *length = room;
        return agent;
    }
}
