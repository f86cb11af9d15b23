// SPDX-License-Identifier: Apache-2.0
#include "oneibd/node_server.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/order.h"
#include "grants/seal.h"
#include "oneibd/signals.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A node that was left unread for a while tells no edge. */
#define LOOK_MS 200
/* A list that a node does not follow is sent again, at most so often. */
#define AGAIN_MS 500.0
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
    struct oneib_grants_server *server;  /* the thread's */
    struct oneib_grants_message message; /* the thread's: what it sends */
    bool is_open;                        /* the thread's: it knows who is admitted */
    bool goes_on;                        /* the thread's: something is to be sent at once */
    struct oneib_error failure;          /* the thread's: what it told of last */
    struct oneib_sign_pair sign;
    struct oneib_curve_pair curve;
    uint64_t instance;
    int wake, news; /* eventfds: to the thread, and from it */
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

static void ring(int fd)
{
    const uint64_t one = 1;
    /* It can fail only when it has been rung very often already. */
    (void)!write(fd, &one, sizeof one);
}

static void quiet(int fd)
{
    uint64_t rung;
    (void)!read(fd, &rung, sizeof rung);
}

/* ---- peers ----------------------------------------------------------------------------------- */

ONEIB_ORDER(compare_peers, struct peer, memcmp(left->key, right->key, sizeof left->key));

static struct peer *find_peer(const struct oneib_node_server *post,
                              const uint8_t key[ONEIB_PUBLIC_KEY_SIZE])
{
    struct peer wanted;
    if (post->count == 0)
        return NULL;
    memcpy(wanted.key, key, sizeof wanted.key);
    return ONEIB_FIND(&wanted, post->peers, post->count, compare_peers);
}

static void clear_peer(struct peer *peer)
{
    free(peer->list);
    free(peer->report);
    *peer = (struct peer){0};
}

/* ---- in the thread: sending ------------------------------------------------------------------ */

static struct oneib_daemon_role role_now(const struct oneib_node_server *post)
{
    struct oneib_daemon_role role = post->role;
    const double age = oneib_now_ms() - post->read_ms;
    role.snapshot_age_ms = age < 0 ? 0 : age < UINT32_MAX ? (uint32_t)age : UINT32_MAX;
    return role;
}

/* Once, as long as it stays the same. */
static void tell(struct oneib_node_server *post, const struct oneib_error *failure)
{
    if (failure->code != ONEIB_ERROR_NONE && strcmp(failure->text, post->failure.text) != 0)
        oneib_log(ONEIB_LOG_ERROR, "grants not delivered to the nodes: %s", failure->text);
    post->failure = *failure;
}

/* Puts the list of a peer that waits for it into the message. */
static bool prepare_list(struct oneib_node_server *post, size_t *from,
                         uint8_t key[ONEIB_PUBLIC_KEY_SIZE])
{
    struct oneib_grants_message *message = &post->message;
    bool found = false;
    pthread_mutex_lock(&post->mutex);
    for (; !found && post->has_role && *from < post->count; ++*from) {
        struct peer *peer = &post->peers[*from];
        if (!peer->is_due || !peer->list)
            continue;
        found = true;
        peer->is_due = peer->missed = false;
        peer->sent_at = oneib_now_ms();
        memcpy(key, peer->key, ONEIB_PUBLIC_KEY_SIZE);
        message->kind = ONEIB_GRANTS_LIST;
        message->list.name = (struct oneib_list_name){post->instance, peer->serial};
        message->list.role = role_now(post);
        message->list.grants.count = peer->list->count;
        memcpy(message->list.grants.items, peer->list->items,
               peer->list->count * sizeof *peer->list->items);
    }
    pthread_mutex_unlock(&post->mutex);
    return found;
}

/* One that is not connected gets it when it says something. */
static void note_missed(struct oneib_node_server *post, const uint8_t key[ONEIB_PUBLIC_KEY_SIZE])
{
    pthread_mutex_lock(&post->mutex);
    struct peer *peer = find_peer(post, key);
    if (peer)
        peer->missed = true;
    pthread_mutex_unlock(&post->mutex);
}

/* Some of the lists that wait. */
static int send_lists(struct oneib_node_server *post, struct oneib_error *err)
{
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
    size_t from = 0;
    post->goes_on = false;
    for (size_t i = 0; i < LISTS_AT_ONCE; i++) {
        bool sent;
        if (!prepare_list(post, &from, key))
            return 0;
        if (oneib_grants_server_send(post->server, key, &post->message, &sent, err) < 0)
            return -1;
        if (!sent)
            note_missed(post, key);
    }
    post->goes_on = true;
    return 0;
}

static void make_due(struct oneib_node_server *post, struct peer *peer)
{
    peer->is_due = post->goes_on = true;
}

static int answer(struct oneib_node_server *post, const uint8_t key[ONEIB_PUBLIC_KEY_SIZE],
                  const uint8_t nonce[ONEIB_NONCE_SIZE], struct oneib_error *err)
{
    struct oneib_grants_message *message = &post->message;
    bool sent;
    pthread_mutex_lock(&post->mutex);
    struct peer *peer = find_peer(post, key);
    const bool answers = peer && post->has_role;
    if (peer && peer->missed)
        make_due(post, peer);
    if (answers) {
        message->kind = ONEIB_GRANTS_LIFE;
        message->life = (struct oneib_life_message){
            .name = {post->instance, peer->serial},
            .role = role_now(post),
        };
        memcpy(message->life.nonce, nonce, ONEIB_NONCE_SIZE);
    }
    pthread_mutex_unlock(&post->mutex);
    return answers ? oneib_grants_server_send(post->server, key, message, &sent, err) : 0;
}

/* ---- in the thread: hearing ------------------------------------------------------------------ */

/* As long as its records are. */
static struct oneib_report_message *copy_report(const struct oneib_report_message *report)
{
    const size_t size =
        offsetof(struct oneib_report_message, records) + report->count * sizeof *report->records;
    struct oneib_report_message *copy = oneib_alloc(size, 1);
    memcpy(copy, report, size);
    return copy;
}

static void keep_report(struct oneib_node_server *post, struct peer *peer,
                        const struct oneib_report_message *report)
{
    struct oneib_report_message *copy = copy_report(report);
    const bool follows =
        report->follows.instance == post->instance && report->follows.serial == peer->serial;
    if (peer->list && !follows && (peer->missed || oneib_now_ms() - peer->sent_at > AGAIN_MS))
        make_due(post, peer);
    free(peer->report);
    peer->report = copy;
    ring(post->news);
}

static void keep_want(struct oneib_node_server *post, struct peer *peer,
                      const struct oneib_want_message *want)
{
    for (size_t i = 0; i < peer->want_count; i++)
        if (oneib_want_equal(&peer->wants[i], want))
            return;
    if (peer->want_count == ONEIB_POST_WANTS)
        return;
    peer->wants[peer->want_count++] = *want;
    ring(post->news);
}

static int hear(struct oneib_node_server *post, const uint8_t key[ONEIB_PUBLIC_KEY_SIZE],
                const struct oneib_grants_message *message, struct oneib_error *err)
{
    if (message->kind == ONEIB_GRANTS_CHALLENGE)
        return answer(post, key, message->challenge.nonce, err);
    pthread_mutex_lock(&post->mutex);
    struct peer *peer = find_peer(post, key);
    if (peer && message->kind == ONEIB_GRANTS_REPORT)
        keep_report(post, peer, &message->report);
    if (peer && message->kind == ONEIB_GRANTS_WANT)
        keep_want(post, peer, &message->want);
    pthread_mutex_unlock(&post->mutex);
    return 0;
}

/* The server tells edges, and sending may swallow one: this comes last before waiting. */
static int hear_all(struct oneib_node_server *post, struct oneib_error *err)
{
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
    const struct oneib_grants_message *message;
    int outcome;
    while ((outcome = oneib_grants_server_next(post->server, key, &message, err)) > 0)
        if (hear(post, key, message, err) < 0)
            return -1;
    return outcome;
}

/* ---- in the thread: the loop ----------------------------------------------------------------- */

static void admit_peers(struct oneib_node_server *post)
{
    pthread_mutex_lock(&post->mutex);
    const size_t count = post->count;
    uint8_t(*keys)[ONEIB_PUBLIC_KEY_SIZE] = oneib_alloc(count + 1, sizeof *keys);
    for (size_t i = 0; i < count; i++)
        memcpy(keys[i], post->peers[i].key, sizeof keys[i]);
    post->admits = false;
    pthread_mutex_unlock(&post->mutex);
    oneib_grants_server_admit(post->server, keys, count);
    free(keys);
}

static void read_orders(struct oneib_node_server *post, bool *ends, bool *admits)
{
    pthread_mutex_lock(&post->mutex);
    *ends = post->ends;
    *admits = post->admits;
    pthread_mutex_unlock(&post->mutex);
}

static void keep_counts(struct oneib_node_server *post)
{
    pthread_mutex_lock(&post->mutex);
    post->counts = *oneib_grants_server_counts(post->server);
    pthread_mutex_unlock(&post->mutex);
}

static int take_turn(struct oneib_node_server *post, bool admits, struct oneib_error *err)
{
    if (admits)
        admit_peers(post);
    post->is_open |= admits;
    if (!post->is_open)
        return 0;
    return send_lists(post, err) < 0 || hear_all(post, err) < 0 ? -1 : 0;
}

/* Before it is known who is admitted nobody is turned away: who was turned away does not come again
 * soon. Handshakes wait. */
static void wait_for_work(const struct oneib_node_server *post)
{
    struct pollfd descriptors[] = {{.fd = post->wake, .events = POLLIN},
                                   {.fd = oneib_grants_server_fd(post->server), .events = POLLIN}};
    poll(descriptors, post->is_open ? 2 : 1, post->goes_on ? 0 : LOOK_MS);
    quiet(post->wake);
}

static void *work(void *context)
{
    struct oneib_node_server *post = context;
    bool ends, admits;
    for (;;) {
        struct oneib_error failure = {0};
        wait_for_work(post);
        read_orders(post, &ends, &admits);
        if (ends)
            return NULL;
        const int status = take_turn(post, admits, &failure);
        tell(post, &failure);
        keep_counts(post);
        if (status < 0)
            poll(NULL, 0, PAUSE_MS);
    }
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void make_instance(struct oneib_node_server *post)
{
    do
        oneib_random(&post->instance, sizeof post->instance);
    while (post->instance == 0);
}

static int open_server(struct oneib_node_server *post, const char *address, const char *key_file,
                       struct oneib_error *err)
{
    bool made;
    const struct oneib_grants_server_options options = {
        .listen = address, .curve = &post->curve, .sign = &post->sign};
    if (oneib_daemon_pairs(key_file, &post->curve, &post->sign, &made, err) < 0)
        return oneib_wrap(err, "daemon.key");
    if (oneib_grants_server_open(&options, &post->server, err) < 0)
        return oneib_wrap(err, "daemon.grants");
    post->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    post->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (post->wake < 0 || post->news < 0)
        return oneib_fail_errno(err, errno, "daemon.grants: making an eventfd");
    const int failure = oneib_signals_start_thread(&post->thread, work, post);
    return failure ? oneib_fail_errno(err, failure, "daemon.grants: making a thread") : 0;
}

static void free_post(struct oneib_node_server *post)
{
    for (size_t i = 0; i < post->count; i++)
        clear_peer(&post->peers[i]);
    free(post->peers);
    oneib_grants_server_close(post->server);
    if (post->wake >= 0)
        close(post->wake);
    if (post->news >= 0)
        close(post->news);
    pthread_mutex_destroy(&post->mutex);
    explicit_bzero(post, sizeof *post);
    free(post);
}

struct oneib_node_server *oneib_node_server_open(const char *address, const char *key_file,
                                                 struct oneib_error *err)
{
    struct oneib_node_server *post = oneib_alloc(1, sizeof *post);
    pthread_mutex_init(&post->mutex, NULL);
    post->wake = post->news = -1;
    make_instance(post);
    if (open_server(post, address, key_file, err) == 0)
        return post;
    free_post(post);
    return NULL;
}

void oneib_node_server_close(struct oneib_node_server *post)
{
    if (!post)
        return;
    pthread_mutex_lock(&post->mutex);
    post->ends = true;
    pthread_mutex_unlock(&post->mutex);
    ring(post->wake);
    pthread_join(post->thread, NULL);
    free_post(post);
}

uint64_t oneib_node_server_instance(const struct oneib_node_server *post)
{
    return post->instance;
}

void oneib_node_server_keys(const struct oneib_node_server *post,
                            struct oneib_ledger_daemon *daemon)
{
    *daemon = (struct oneib_ledger_daemon){0};
    memcpy(daemon->curve, post->curve.public, sizeof daemon->curve);
    memcpy(daemon->sign, post->sign.public, sizeof daemon->sign);
}

void oneib_node_server_seal_keys(const struct oneib_node_server *post, uint32_t host_id,
                                 uint64_t serial, const oneib_pkey *keys, size_t count,
                                 char text[ONEIB_KEYS_SEAL_TEXT_SIZE])
{
    oneib_seal_keys(&post->sign, host_id, serial, keys, count, text);
}

struct oneib_grants_counts oneib_node_server_counts(struct oneib_node_server *post)
{
    pthread_mutex_lock(&post->mutex);
    const struct oneib_grants_counts counts = post->counts;
    pthread_mutex_unlock(&post->mutex);
    return counts;
}

int oneib_node_server_fd(const struct oneib_node_server *post)
{
    return post->news;
}

/* ---- in the daemon's thread ------------------------------------------------------------------ */

/* What there is of a peer that stays moves into its new place. */
static void move_peers(struct oneib_node_server *post, struct peer *peers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct peer *known = find_peer(post, peers[i].key);
        if (!known)
            continue;
        peers[i] = *known;
        known->list = NULL;
        known->report = NULL;
    }
    for (size_t i = 0; i < post->count; i++)
        clear_peer(&post->peers[i]);
    free(post->peers);
    post->peers = peers;
    post->count = count;
    post->next_taken = 0;
    post->admits = true;
}

void oneib_node_server_admit(struct oneib_node_server *post,
                             const struct oneib_identities *identities)
{
    struct peer *peers = oneib_alloc(identities->count + 1, sizeof *peers);
    for (size_t i = 0; i < identities->count; i++)
        memcpy(peers[i].key, identities->items[i].key, sizeof peers[i].key);
    ONEIB_SORT(peers, identities->count, compare_peers);
    pthread_mutex_lock(&post->mutex);
    move_peers(post, peers, identities->count);
    pthread_mutex_unlock(&post->mutex);
    ring(post->wake);
}

void oneib_node_server_send(struct oneib_node_server *post,
                            const uint8_t key[ONEIB_PUBLIC_KEY_SIZE], uint64_t serial,
                            const struct oneib_grant_list *list)
{
    const size_t size =
        offsetof(struct oneib_grant_list, items) + list->count * sizeof *list->items;
    struct oneib_grant_list *copy = oneib_alloc(size, 1);
    memcpy(copy, list, size);
    pthread_mutex_lock(&post->mutex);
    struct peer *peer = find_peer(post, key);
    struct oneib_grant_list *old = peer ? peer->list : copy;
    if (peer) {
        peer->list = copy;
        peer->serial = serial;
        peer->is_due = true;
    }
    pthread_mutex_unlock(&post->mutex);
    free(old);
    ring(post->wake);
}

void oneib_node_server_set_role(struct oneib_node_server *post,
                                const struct oneib_daemon_role *role, double read_ms)
{
    pthread_mutex_lock(&post->mutex);
    const bool first = !post->has_role;
    post->role = *role;
    post->read_ms = read_ms;
    post->has_role = true;
    pthread_mutex_unlock(&post->mutex);
    if (first)
        ring(post->wake);
}

static bool take_from(struct peer *peer, struct oneib_node_server_item *item)
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

bool oneib_node_server_take(struct oneib_node_server *post, struct oneib_node_server_item *item)
{
    bool found = false;
    pthread_mutex_lock(&post->mutex);
    if (post->next_taken == 0)
        quiet(post->news);
    while (!found && post->next_taken < post->count) {
        found = take_from(&post->peers[post->next_taken], item);
        post->next_taken += !found;
    }
    if (!found)
        post->next_taken = 0;
    pthread_mutex_unlock(&post->mutex);
    return found;
}
