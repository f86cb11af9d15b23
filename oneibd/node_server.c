// SPDX-License-Identifier: Apache-2.0
#include "oneibd/node_server.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/thread.h"
#include "grants/seal.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A node that was left unread for a while wakes no poll(2). */
#define CHECK_MS 200
/* A list that a node does not follow is sent again, at most so often. */
#define RESEND_MS 500.0
/* Lists that are signed and sent before challenges are looked at again. */
#define LISTS_AT_ONCE 16
/* After a failure of ZeroMQ's. */
#define PAUSE_MS 200

/* A node that is admitted. */
struct peer {
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
    struct oneib_grant_list *list; /* owned, as long as its items are; NULL: none */
    uint64_t serial;               /* its; 0: none */
    bool is_due;                   /* the list is to be sent now */
    bool missed;                   /* it was not connected when the list was sent */
    double sent_at;
    struct oneib_report_message *report; /* owned; not taken yet; NULL: none */
    struct oneib_want_message wants[ONEIB_POST_WANTS];
    size_t want_count;
};

struct oneib_node_server {
    struct oneib_grants_server *transport; /* the thread's */
    struct oneib_grants_message message;   /* the thread's: what it sends */
    bool is_open;                          /* the thread's: it knows the admitted keys */
    bool goes_on;                          /* the thread's: something is to be sent at once */
    struct oneib_error failure;            /* the thread's: logged last */
    struct oneib_sign_pair sign;
    struct oneib_curve_pair curve;
    uint64_t instance;
    int wake, ready; /* eventfds: to the thread, and from it */
    pthread_t thread;
    pthread_mutex_t mutex; /* over all that follows */
    bool ends, admits;     /* the thread is to end; the peers are others */
    struct peer *peers;    /* owned; by key */
    size_t count;
    size_t next_taken; /* where taking goes on */
    struct oneib_grants_counts counts;
    bool has_role;
    struct oneib_daemon_role role;
    double read_ms;
};

static void raise_event(int fd)
{
    const uint64_t one = 1;
    /* It can fail only when it was raised very often already. */
    (void)!write(fd, &one, sizeof one);
}

static void clear_event(int fd)
{
    uint64_t rung;
    (void)!read(fd, &rung, sizeof rung);
}

/* ---- peers ----------------------------------------------------------------------------------- */

ONEIB_ORDER(compare_peers, struct peer, memcmp(left->key, right->key, sizeof left->key));

static struct peer *find_peer(const struct oneib_node_server *server,
                              const uint8_t key[ONEIB_PUBLIC_KEY_SIZE])
{
    struct peer wanted;
    if (server->count == 0)
        return NULL;
    memcpy(wanted.key, key, sizeof wanted.key);
    return ONEIB_FIND(&wanted, server->peers, server->count, compare_peers);
}

static void clear_peer(struct peer *peer)
{
    free(peer->list);
    free(peer->report);
    *peer = (struct peer){0};
}

/* ---- in the thread: sending ------------------------------------------------------------------ */

static struct oneib_daemon_role role_now(const struct oneib_node_server *server)
{
    struct oneib_daemon_role role = server->role;
    const double age = oneib_now_ms() - server->read_ms;
    role.snapshot_age_ms = age < 0 ? 0 : age < UINT32_MAX ? (uint32_t)age : UINT32_MAX;
    return role;
}

/* Each failure once, as long as it stays the same. */
static void log_failure(struct oneib_node_server *server, const struct oneib_error *failure)
{
    if (failure->code != ONEIB_ERROR_NONE && strcmp(failure->text, server->failure.text) != 0)
        oneib_log(ONEIB_LOG_ERROR, "grants not delivered to the nodes: %s", failure->text);
    server->failure = *failure;
}

/* Puts the list of a peer that waits for it into the message. */
static bool prepare_list(struct oneib_node_server *server, size_t *from,
                         uint8_t key[ONEIB_PUBLIC_KEY_SIZE])
{
    struct oneib_grants_message *message = &server->message;
    bool found = false;
    pthread_mutex_lock(&server->mutex);
    for (; !found && server->has_role && *from < server->count; ++*from) {
        struct peer *peer = &server->peers[*from];
        if (!peer->is_due || !peer->list)
            continue;
        found = true;
        peer->is_due = peer->missed = false;
        peer->sent_at = oneib_now_ms();
        memcpy(key, peer->key, ONEIB_PUBLIC_KEY_SIZE);
        message->kind = ONEIB_GRANTS_LIST;
        message->list.name = (struct oneib_list_name){server->instance, peer->serial};
        message->list.role = role_now(server);
        message->list.grants.count = peer->list->count;
        memcpy(message->list.grants.items, peer->list->items,
               peer->list->count * sizeof *peer->list->items);
    }
    pthread_mutex_unlock(&server->mutex);
    return found;
}

/* One that is not connected gets it when it says something. */
static void note_missed(struct oneib_node_server *server, const uint8_t key[ONEIB_PUBLIC_KEY_SIZE])
{
    pthread_mutex_lock(&server->mutex);
    struct peer *peer = find_peer(server, key);
    if (peer)
        peer->missed = true;
    pthread_mutex_unlock(&server->mutex);
}

/* Some of the lists that wait. */
static int send_lists(struct oneib_node_server *server, struct oneib_error *err)
{
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
    size_t from = 0;
    server->goes_on = false;
    for (size_t i = 0; i < LISTS_AT_ONCE; i++) {
        bool sent;
        if (!prepare_list(server, &from, key))
            return 0;
        if (oneib_grants_server_send(server->transport, key, &server->message, &sent, err) < 0)
            return -1;
        if (!sent)
            note_missed(server, key);
    }
    server->goes_on = true;
    return 0;
}

static void make_due(struct oneib_node_server *server, struct peer *peer)
{
    peer->is_due = server->goes_on = true;
}

static int answer(struct oneib_node_server *server, const uint8_t key[ONEIB_PUBLIC_KEY_SIZE],
                  const uint8_t nonce[ONEIB_NONCE_SIZE], struct oneib_error *err)
{
    struct oneib_grants_message *message = &server->message;
    bool sent;
    pthread_mutex_lock(&server->mutex);
    struct peer *peer = find_peer(server, key);
    const bool answers = peer && server->has_role;
    if (peer && peer->missed)
        make_due(server, peer);
    if (answers) {
        message->kind = ONEIB_GRANTS_LIFE;
        message->life = (struct oneib_life_message){
            .name = {server->instance, peer->serial},
            .role = role_now(server),
        };
        memcpy(message->life.nonce, nonce, ONEIB_NONCE_SIZE);
    }
    pthread_mutex_unlock(&server->mutex);
    return answers ? oneib_grants_server_send(server->transport, key, message, &sent, err) : 0;
}

/* ---- in the thread: receiving ---------------------------------------------------------------- */

/* Of its own length: with its records alone. */
static struct oneib_report_message *copy_report(const struct oneib_report_message *report)
{
    const size_t size =
        offsetof(struct oneib_report_message, records) + report->count * sizeof *report->records;
    struct oneib_report_message *copy = oneib_alloc(size, 1);
    memcpy(copy, report, size);
    return copy;
}

static void keep_report(struct oneib_node_server *server, struct peer *peer,
                        const struct oneib_report_message *report)
{
    struct oneib_report_message *copy = copy_report(report);
    const bool follows =
        report->follows.instance == server->instance && report->follows.serial == peer->serial;
    if (peer->list && !follows && (peer->missed || oneib_now_ms() - peer->sent_at > RESEND_MS))
        make_due(server, peer);
    free(peer->report);
    peer->report = copy;
    raise_event(server->ready);
}

static void keep_want(struct oneib_node_server *server, struct peer *peer,
                      const struct oneib_want_message *want)
{
    for (size_t i = 0; i < peer->want_count; i++)
        if (oneib_want_equal(&peer->wants[i], want))
            return;
    if (peer->want_count == ONEIB_POST_WANTS)
        return;
    peer->wants[peer->want_count++] = *want;
    raise_event(server->ready);
}

static int receive(struct oneib_node_server *server, const uint8_t key[ONEIB_PUBLIC_KEY_SIZE],
                   const struct oneib_grants_message *message, struct oneib_error *err)
{
    if (message->kind == ONEIB_GRANTS_CHALLENGE)
        return answer(server, key, message->challenge.nonce, err);
    pthread_mutex_lock(&server->mutex);
    struct peer *peer = find_peer(server, key);
    if (peer && message->kind == ONEIB_GRANTS_REPORT)
        keep_report(server, peer, &message->report);
    if (peer && message->kind == ONEIB_GRANTS_WANT)
        keep_want(server, peer, &message->want);
    pthread_mutex_unlock(&server->mutex);
    return 0;
}

/* ZeroMQ's descriptor shows edges, and sending may consume one: this comes last before waiting. */
static int receive_all(struct oneib_node_server *server, struct oneib_error *err)
{
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
    const struct oneib_grants_message *message;
    int outcome;
    while ((outcome = oneib_grants_server_next(server->transport, key, &message, err)) > 0)
        if (receive(server, key, message, err) < 0)
            return -1;
    return outcome;
}

/* ---- in the thread: the loop ----------------------------------------------------------------- */

static void admit_peers(struct oneib_node_server *server)
{
    pthread_mutex_lock(&server->mutex);
    const size_t count = server->count;
    uint8_t(*keys)[ONEIB_PUBLIC_KEY_SIZE] = oneib_alloc(count + 1, sizeof *keys);
    for (size_t i = 0; i < count; i++)
        memcpy(keys[i], server->peers[i].key, sizeof keys[i]);
    server->admits = false;
    pthread_mutex_unlock(&server->mutex);
    oneib_grants_server_admit(server->transport, keys, count);
    free(keys);
}

static void read_orders(struct oneib_node_server *server, bool *ends, bool *admits)
{
    pthread_mutex_lock(&server->mutex);
    *ends = server->ends;
    *admits = server->admits;
    pthread_mutex_unlock(&server->mutex);
}

static void copy_counts(struct oneib_node_server *server)
{
    pthread_mutex_lock(&server->mutex);
    server->counts = *oneib_grants_server_counts(server->transport);
    pthread_mutex_unlock(&server->mutex);
}

static int send_and_receive(struct oneib_node_server *server, bool admits, struct oneib_error *err)
{
    if (admits)
        admit_peers(server);
    server->is_open |= admits;
    if (!server->is_open)
        return 0;
    return send_lists(server, err) < 0 || receive_all(server, err) < 0 ? -1 : 0;
}

/* Handshakes wait until the admitted keys are known: a node that was refused does not connect again
 * soon. */
static void wait_for_work(const struct oneib_node_server *server)
{
    struct pollfd descriptors[] = {
        {.fd = server->wake, .events = POLLIN},
        {.fd = oneib_grants_server_fd(server->transport), .events = POLLIN}};
    poll(descriptors, server->is_open ? 2 : 1, server->goes_on ? 0 : CHECK_MS);
    clear_event(server->wake);
}

static void *serve(void *context)
{
    struct oneib_node_server *server = context;
    bool ends, admits;
    for (;;) {
        struct oneib_error failure = {0};
        wait_for_work(server);
        read_orders(server, &ends, &admits);
        if (ends)
            return NULL;
        const int status = send_and_receive(server, admits, &failure);
        log_failure(server, &failure);
        copy_counts(server);
        if (status < 0)
            poll(NULL, 0, PAUSE_MS);
    }
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void make_instance(struct oneib_node_server *server)
{
    do
        oneib_random(&server->instance, sizeof server->instance);
    while (server->instance == 0);
}

static int open_server(struct oneib_node_server *server, const char *address, const char *key_file,
                       struct oneib_error *err)
{
    bool made;
    const struct oneib_grants_server_options options = {
        .listen = address, .curve = &server->curve, .sign = &server->sign};
    if (oneib_daemon_pairs(key_file, &server->curve, &server->sign, &made, err) < 0)
        return oneib_wrap(err, "daemon.key");
    if (oneib_grants_server_open(&options, &server->transport, err) < 0)
        return oneib_wrap(err, "daemon.grants");
    server->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    server->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (server->wake < 0 || server->ready < 0)
        return oneib_fail_errno(err, errno, "daemon.grants: making an eventfd");
    const int failure = oneib_thread_start(&server->thread, serve, server);
    return failure ? oneib_fail_errno(err, failure, "daemon.grants: making a thread") : 0;
}

static void free_server(struct oneib_node_server *server)
{
    for (size_t i = 0; i < server->count; i++)
        clear_peer(&server->peers[i]);
    free(server->peers);
    oneib_grants_server_close(server->transport);
    if (server->wake >= 0)
        close(server->wake);
    if (server->ready >= 0)
        close(server->ready);
    pthread_mutex_destroy(&server->mutex);
    explicit_bzero(server, sizeof *server);
    free(server);
}

struct oneib_node_server *oneib_node_server_open(const char *address, const char *key_file,
                                                 struct oneib_error *err)
{
    struct oneib_node_server *server = oneib_alloc(1, sizeof *server);
    pthread_mutex_init(&server->mutex, NULL);
    server->wake = server->ready = -1;
    make_instance(server);
    if (open_server(server, address, key_file, err) == 0)
        return server;
    free_server(server);
    return NULL;
}

void oneib_node_server_close(struct oneib_node_server *server)
{
    if (!server)
        return;
    pthread_mutex_lock(&server->mutex);
    server->ends = true;
    pthread_mutex_unlock(&server->mutex);
    raise_event(server->wake);
    pthread_join(server->thread, NULL);
    free_server(server);
}

uint64_t oneib_node_server_instance(const struct oneib_node_server *server)
{
    return server->instance;
}

void oneib_node_server_keys(const struct oneib_node_server *server,
                            struct oneib_ledger_daemon *daemon)
{
    *daemon = (struct oneib_ledger_daemon){0};
    memcpy(daemon->curve, server->curve.public, sizeof daemon->curve);
    memcpy(daemon->sign, server->sign.public, sizeof daemon->sign);
}

void oneib_node_server_seal_keys(const struct oneib_node_server *server, uint32_t host_id,
                                 uint64_t serial, const oneib_pkey *keys, size_t count,
                                 char text[ONEIB_KEYS_SEAL_TEXT_SIZE])
{
    oneib_seal_keys(&server->sign, host_id, serial, keys, count, text);
}

struct oneib_grants_counts oneib_node_server_counts(struct oneib_node_server *server)
{
    pthread_mutex_lock(&server->mutex);
    const struct oneib_grants_counts counts = server->counts;
    pthread_mutex_unlock(&server->mutex);
    return counts;
}

int oneib_node_server_fd(const struct oneib_node_server *server)
{
    return server->ready;
}

/* ---- in the daemon's thread ------------------------------------------------------------------ */

/* Of a peer that stays, the list and the report stay. */
static void move_peers(struct oneib_node_server *server, struct peer *peers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct peer *known = find_peer(server, peers[i].key);
        if (!known)
            continue;
        peers[i] = *known;
        known->list = NULL;
        known->report = NULL;
    }
    for (size_t i = 0; i < server->count; i++)
        clear_peer(&server->peers[i]);
    free(server->peers);
    server->peers = peers;
    server->count = count;
    server->next_taken = 0;
    server->admits = true;
}

void oneib_node_server_admit(struct oneib_node_server *server,
                             const struct oneib_identities *identities)
{
    struct peer *peers = oneib_alloc(identities->count + 1, sizeof *peers);
    for (size_t i = 0; i < identities->count; i++)
        memcpy(peers[i].key, identities->items[i].key, sizeof peers[i].key);
    ONEIB_SORT(peers, identities->count, compare_peers);
    pthread_mutex_lock(&server->mutex);
    move_peers(server, peers, identities->count);
    pthread_mutex_unlock(&server->mutex);
    raise_event(server->wake);
}

void oneib_node_server_send(struct oneib_node_server *server,
                            const uint8_t key[ONEIB_PUBLIC_KEY_SIZE], uint64_t serial,
                            const struct oneib_grant_list *list)
{
    const size_t size =
        offsetof(struct oneib_grant_list, items) + list->count * sizeof *list->items;
    struct oneib_grant_list *copy = oneib_alloc(size, 1);
    memcpy(copy, list, size);
    pthread_mutex_lock(&server->mutex);
    struct peer *peer = find_peer(server, key);
    struct oneib_grant_list *old = peer ? peer->list : copy;
    if (peer) {
        peer->list = copy;
        peer->serial = serial;
        peer->is_due = true;
    }
    pthread_mutex_unlock(&server->mutex);
    free(old);
    raise_event(server->wake);
}

void oneib_node_server_set_role(struct oneib_node_server *server,
                                const struct oneib_daemon_role *role, double read_ms)
{
    pthread_mutex_lock(&server->mutex);
    const bool first = !server->has_role;
    server->role = *role;
    server->read_ms = read_ms;
    server->has_role = true;
    pthread_mutex_unlock(&server->mutex);
    if (first)
        raise_event(server->wake);
}

static bool take_item(struct peer *peer, struct oneib_node_server_item *item)
{
    *item = (struct oneib_node_server_item){0};
    memcpy(item->key, peer->key, sizeof item->key);
    if (peer->report) {
        item->report = peer->report;
        peer->report = NULL;
        return true;
    }
    if (peer->want_count == 0)
        return false;
    item->want = peer->wants[0];
    peer->want_count--;
    memmove(peer->wants, peer->wants + 1, peer->want_count * sizeof *peer->wants);
    return true;
}

bool oneib_node_server_take(struct oneib_node_server *server, struct oneib_node_server_item *item)
{
    bool found = false;
    pthread_mutex_lock(&server->mutex);
    if (server->next_taken == 0)
        clear_event(server->ready);
    while (!found && server->next_taken < server->count) {
        found = take_item(&server->peers[server->next_taken], item);
        server->next_taken += !found;
    }
    if (!found)
        server->next_taken = 0;
    pthread_mutex_unlock(&server->mutex);
    return found;
}
