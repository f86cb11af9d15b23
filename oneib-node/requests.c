// SPDX-License-Identifier: Apache-2.0
#include "oneib-node/requests.h"
#include "base/clock.h"
#include "base/log.h"
#include "ib/pkey.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#define WHO_SIZE 64
#define WANT_AGAIN_MS 500 /* what oneibd was told while it was not connected is lost */

/* ---- the log --------------------------------------------------------------------------------- */

struct who {
    char text[WHO_SIZE];
};

static struct who who(const struct oneib_peer *peer)
{
    struct who who;
    snprintf(who.text, sizeof who.text, "asked by process %d of uid %u", (int)peer->who.pid,
             peer->who.uid);
    return who;
}

static void log_record(const struct oneib_vf_record *record, const struct oneib_peer *peer)
{
    char vf[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&record->vf, vf);
    oneib_log(ONEIB_LOG_INFO, "VM %" PRIu32 " NIC %u has %s of %s, %s, P_Key %s (%s)",
              record->vm_id, record->nic_id, vf, record->device, oneib_vf_stage_name(record->stage),
              record->pkey ? oneib_pkey_shown(record->pkey).text : "none", who(peer).text);
}

static void log_released(const struct oneib_peer *peer, const struct oneib_request *request,
                         const struct oneib_released *released)
{
    if (released->freed + released->lingering + released->left == 0)
        return;
    oneib_log(ONEIB_LOG_INFO,
              "VM %" PRIu32 " gives back: %" PRIu32 " freed, %" PRIu32
              " closed and not free yet, %" PRIu32 " left to its running domain (%s)",
              request->vm_id, released->freed, released->lingering, released->left, who(peer).text);
}

void oneib_requests_moved(struct oneib_requests *requests)
{
    requests->moment++;
}

/* ---- answering ------------------------------------------------------------------------------- */

static void say(struct oneib_peer *peer, const struct oneib_answer *answer)
{
    peer->state = ONEIB_PEER_SAYING;
    peer->what = ONEIB_SAYING_ONE;
    peer->answer = *answer;
}

static void refuse(struct oneib_peer *peer, const struct oneib_error *err)
{
    const struct oneib_answer answer = oneib_answer_with(ONEIB_ANSWER_FAILED, err);
    oneib_log(ONEIB_LOG_WARNING, "refused: %s (%s)", err->text, who(peer).text);
    say(peer, &answer);
}

static void remember(struct oneib_peer *peer, const struct oneib_request *request,
                     oneib_vfs_ticket ticket)
{
    peer->asked[peer->asked_count++] = (struct oneib_asked){
        .ticket = ticket,
        .is_have = request->kind == ONEIB_REQUEST_HAVE,
        .nic_id = (uint8_t)request->nic_id,
        .vm_id = request->vm_id,
    };
}

/* Asked for again, as it is: that is told of in the table only. */
static bool is_news(const struct oneib_vf_record *before, const struct oneib_vf_record *record)
{
    return !before || oneib_pci_compare(&before->vf, &record->vf) != 0 ||
           before->stage != record->stage || before->pkey != record->pkey ||
           before->guid != record->guid;
}

/* Why nothing has been granted, as far as this host knows. */
static void tell_why(const struct oneib_requests *requests, struct oneib_error *err)
{
    struct oneib_error why = {0};
    const enum oneib_error_code code = err->code;
    oneib_grant_feed_why(requests->feed, &why);
    if (why.code != ONEIB_ERROR_NONE)
        oneib_fail(err, code, "%.300s; %s", err->text, why.text);
}

static void have(struct oneib_requests *requests, struct oneib_peer *peer,
                 const struct oneib_request *request)
{
    const bool is_granted = oneib_vfs_is_granted(requests->vfs, request);
    struct oneib_answer answer = oneib_answer_new(ONEIB_ANSWER_RECORD);
    oneib_vfs_ticket ticket = 0;
    struct oneib_error err;
    const struct oneib_vf_record *had = oneib_vf_table_of_nic(
        oneib_vfs_table(requests->vfs), request->vm_id, (uint8_t)request->nic_id);
    const struct oneib_vf_record before = had ? *had : (struct oneib_vf_record){0};
    oneib_requests_moved(requests);
    if (oneib_vfs_have(requests->vfs, request, &answer.record, &ticket, &err) < 0) {
        if (!is_granted)
            tell_why(requests, &err);
        refuse(peer, &err);
        return;
    }
    if (is_news(had ? &before : NULL, &answer.record))
        log_record(&answer.record, peer);
    remember(peer, request, ticket);
    say(peer, &answer);
}

static void release(struct oneib_requests *requests, struct oneib_peer *peer,
                    const struct oneib_request *request)
{
    struct oneib_answer answer = oneib_answer_new(ONEIB_ANSWER_RELEASED);
    oneib_vfs_ticket ticket = 0;
    struct oneib_error err;
    oneib_requests_moved(requests);
    const int outcome =
        request->kind == ONEIB_REQUEST_RELEASE
            ? oneib_vfs_release(requests->vfs, request, &answer.released, &ticket, &err)
            : oneib_vfs_release_vf(requests->vfs, request, &answer.released, &ticket, &err);
    if (outcome < 0) { /* what could be released is, and nobody waits for it */
        refuse(peer, &err);
        return;
    }
    log_released(peer, request, &answer.released);
    remember(peer, request, ticket);
    say(peer, &answer);
}

static void announce(struct oneib_requests *requests, struct oneib_peer *peer,
                     const struct oneib_request *request)
{
    const bool by_root = (request->flags & ONEIB_ANNOUNCE_TRUSTED) != 0;
    const struct oneib_answer done = oneib_answer_new(ONEIB_ANSWER_END);
    struct oneib_daemons daemons;
    struct oneib_error err = {0};
    oneib_requests_moved(requests);
    oneib_request_daemons(request, &daemons);
    /* In an unprivileged run the service's own user is its root. */
    if (by_root && peer->who.uid != 0 && peer->who.uid != geteuid())
        oneib_fail(&err, ONEIB_ERROR_PERMISSION,
                   "only root may change which oneibd this host trusts");
    else if (oneib_grant_feed_announce(requests->feed, &daemons, by_root, &err) == 0) {
        say(peer, &done);
        return;
    }
    refuse(peer, &err);
}

/* ---- what is held ---------------------------------------------------------------------------- */

/* Of a service that has only just been started nobody is to notice that it was. */
static bool awaits_domains(const struct oneib_requests *requests)
{
    return !requests->domains->known && oneib_now_ms() < requests->hold_until;
}

/* Whoever has a VF, and is not being attached, may have it again whatever libvirt says; but one
 * that was closed because of a domain. */
static bool asks_for_another(const struct oneib_requests *requests,
                             const struct oneib_request *request)
{
    const struct oneib_vf_record *own = oneib_vf_table_of_nic(
        oneib_vfs_table(requests->vfs), request->vm_id, (uint8_t)request->nic_id);
    return (request->flags & ONEIB_HAVE_ATTACH) != 0 || !own || own->stage == ONEIB_VF_ENDED;
}

/* A running domain of the VM's may still name it, and be left what it has. */
static bool may_be_in_domain(const struct oneib_requests *requests,
                             const struct oneib_request *request)
{
    const struct oneib_vf_table *table = oneib_vfs_table(requests->vfs);
    for (size_t i = 0; i < table->count; i++) {
        const struct oneib_vf_record *record = &table->items[i];
        if (record->in_domain && record->vm_id == request->vm_id &&
            (request->nic_id < 0 || request->nic_id == record->nic_id))
            return true;
    }
    return false;
}

/* Whether the answer depends on which domains there are. */
static bool needs_domains(const struct oneib_requests *requests,
                          const struct oneib_request *request)
{
    switch (request->kind) {
    case ONEIB_REQUEST_HAVE:
        return asks_for_another(requests, request);
    case ONEIB_REQUEST_RELEASE:
        return (request->flags & ONEIB_RELEASE_NIC_GONE) == 0 &&
               may_be_in_domain(requests, request);
    case ONEIB_REQUEST_RELEASE_VF:
        return !oneib_vf_table_of_vf(oneib_vfs_table(requests->vfs), &request->vf);
    case ONEIB_REQUEST_LIST:
        return true;
    default:
        return false;
    }
}

static struct oneib_listing *listing_of(struct oneib_requests *requests,
                                        const struct oneib_peer *peer)
{
    return peer->may_change ? &requests->listing_of_all : &requests->listing_of_read;
}

/* Others still read what is no longer so. */
static bool is_in_use(const struct oneib_requests *requests, const struct oneib_listing *listing)
{
    return listing->readers > 0 && listing->moment != requests->moment;
}

/* oneibd is told, and asks oned for that VM at once. */
static bool awaits_grant(struct oneib_requests *requests, const struct oneib_peer *peer,
                         const struct oneib_request *request)
{
    if (request->kind != ONEIB_REQUEST_HAVE || oneib_now_ms() >= peer->held_until ||
        oneib_vfs_is_granted(requests->vfs, request))
        return false;
    const struct oneib_want_message want = {
        .vm_id = request->vm_id,
        .network_id = request->network_id,
        .nic_id = (uint8_t)request->nic_id,
    };
    oneib_grant_feed_want(requests->feed, &want);
    return true;
}

static bool is_to_be_held(struct oneib_requests *requests, const struct oneib_peer *peer,
                          const struct oneib_request *request)
{
    if (awaits_grant(requests, peer, request))
        return true;
    if (awaits_domains(requests) && needs_domains(requests, request))
        return true;
    return request->kind == ONEIB_REQUEST_LIST && is_in_use(requests, listing_of(requests, peer));
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void list(struct oneib_requests *requests, struct oneib_peer *peer)
{
    struct oneib_listing *listing = listing_of(requests, peer);
    if (listing->readers == 0) {
        oneib_listing_take(listing, oneib_vfs_table(requests->vfs), requests->domains);
        oneib_listing_take_grants(listing, requests->feed, oneib_vfs_unseen(requests->vfs));
        /* Of a service that has only just been started nobody is to notice that it was. */
        if (oneib_now_ms() < requests->hold_until)
            listing->stale = (struct oneib_error){0};
    }
    listing->moment = requests->moment;
    listing->readers++;
    peer->state = ONEIB_PEER_SAYING;
    peer->what = ONEIB_SAYING_LIST;
    peer->at = 0;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static bool is_busy(const struct oneib_requests *requests, const struct oneib_asked *asked)
{
    struct oneib_vf_record record;
    struct oneib_error err;
    return asked->ticket &&
           oneib_vfs_progress(requests->vfs, asked->ticket, &record, &err) == ONEIB_VFS_BUSY;
}

/* False: nothing is to be told of it. */
static bool result_of(const struct oneib_requests *requests, const struct oneib_asked *asked,
                      struct oneib_answer *answer)
{
    struct oneib_error err = {0};
    *answer = oneib_answer_new(ONEIB_ANSWER_RECORD);
    if (asked->ticket && oneib_vfs_progress(requests->vfs, asked->ticket, &answer->record, &err) ==
                             ONEIB_VFS_FAILED) {
        *answer = oneib_answer_with(ONEIB_ANSWER_FAILED, &err);
        return true;
    }
    if (asked->ticket || !asked->is_have)
        return asked->is_have;
    const struct oneib_vf_record *record =
        oneib_vf_table_of_nic(oneib_vfs_table(requests->vfs), asked->vm_id, asked->nic_id);
    if (record)
        answer->record = *record;
    return record != NULL;
}

static void log_results(const struct oneib_requests *requests, const struct oneib_peer *peer)
{
    struct oneib_answer answer;
    for (size_t i = 0; i < peer->asked_count; i++) {
        if (!peer->asked[i].ticket || !result_of(requests, &peer->asked[i], &answer))
            continue;
        if (answer.kind == ONEIB_ANSWER_FAILED)
            oneib_log(ONEIB_LOG_WARNING, "failed: %s (%s)", answer.text, who(peer).text);
        else
            log_record(&answer.record, peer);
    }
}

static void skip_what_is_not_told(const struct oneib_requests *requests, struct oneib_peer *peer)
{
    struct oneib_answer answer;
    while (peer->at < peer->asked_count && !result_of(requests, &peer->asked[peer->at], &answer))
        peer->at++;
}

static void wait(struct oneib_requests *requests, struct oneib_peer *peer)
{
    peer->state = ONEIB_PEER_WAITING;
    for (size_t i = 0; i < peer->asked_count; i++)
        if (is_busy(requests, &peer->asked[i]))
            return;
    log_results(requests, peer);
    peer->state = ONEIB_PEER_SAYING;
    peer->what = ONEIB_SAYING_RESULTS;
    peer->at = 0;
    skip_what_is_not_told(requests, peer);
}

static void forget_asked(struct oneib_requests *requests, struct oneib_peer *peer)
{
    for (size_t i = 0; i < peer->asked_count; i++)
        if (peer->asked[i].ticket) {
            oneib_vfs_forget(requests->vfs, peer->asked[i].ticket);
            oneib_requests_moved(requests);
        }
    peer->asked_count = 0;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Set in *err, and true: it is not for this peer, or not now. */
static bool is_refused(const struct oneib_peer *peer, const struct oneib_request *request,
                       struct oneib_error *err)
{
    if (request->kind == ONEIB_REQUEST_LIST)
        return false;
    if (!peer->may_change)
        oneib_fail(err, ONEIB_ERROR_PERMISSION,
                   "%s takes requests that read only; the socket for others is %s",
                   ONEIB_SERVICE_READ_SOCKET, ONEIB_SERVICE_SOCKET);
    else if (request->kind != ONEIB_REQUEST_WAIT && peer->asked_count == ONEIB_SERVICE_ASKED_MAX)
        oneib_fail(err, ONEIB_ERROR_REFUSED,
                   "a connection may have %d requests in progress: wait for their answers",
                   ONEIB_SERVICE_ASKED_MAX);
    else
        return false;
    return true;
}

static void perform(struct oneib_requests *requests, struct oneib_peer *peer,
                    const struct oneib_request *request)
{
    switch (request->kind) {
    case ONEIB_REQUEST_HAVE:
        have(requests, peer, request);
        break;
    case ONEIB_REQUEST_RELEASE:
    case ONEIB_REQUEST_RELEASE_VF:
        release(requests, peer, request);
        break;
    case ONEIB_REQUEST_WAIT:
        wait(requests, peer);
        break;
    case ONEIB_REQUEST_ANNOUNCE:
        announce(requests, peer, request);
        break;
    default:
        list(requests, peer);
        break;
    }
}

void oneib_requests_take(struct oneib_requests *requests, struct oneib_peer *peer,
                         const struct oneib_request *request)
{
    struct oneib_error err;
    peer->held_until = oneib_now_ms() + requests->grant_wait_ms;
    if (is_refused(peer, request, &err)) {
        const struct oneib_answer answer = oneib_answer_with(ONEIB_ANSWER_FAILED, &err);
        say(peer, &answer);
    } else if (is_to_be_held(requests, peer, request)) {
        peer->request = *request;
        peer->state = ONEIB_PEER_HELD;
    } else {
        perform(requests, peer, request);
    }
}

void oneib_requests_go_on(struct oneib_requests *requests, struct oneib_peer *peer)
{
    if (peer->state == ONEIB_PEER_WAITING)
        wait(requests, peer);
    else if (peer->state == ONEIB_PEER_HELD && !is_to_be_held(requests, peer, &peer->request))
        perform(requests, peer, &peer->request);
}

/* Who waits for others' reading is told of their end. */
double oneib_requests_due(const struct oneib_requests *requests, const struct oneib_peer *peer)
{
    const double now = oneib_now_ms();
    if (peer->request.kind == ONEIB_REQUEST_HAVE && now < peer->held_until)
        return oneib_sooner(peer->held_until, now + WANT_AGAIN_MS);
    return now < requests->hold_until ? requests->hold_until : HUGE_VAL;
}

/* ---- answers --------------------------------------------------------------------------------- */

struct oneib_answer oneib_requests_answer(struct oneib_requests *requests,
                                          const struct oneib_peer *peer)
{
    struct oneib_answer answer;
    switch (peer->what) {
    case ONEIB_SAYING_ONE:
        return peer->answer;
    case ONEIB_SAYING_LIST:
        return oneib_listing_answer(listing_of(requests, peer), peer->at);
    case ONEIB_SAYING_RESULTS:
    default:
        if (peer->at < peer->asked_count && result_of(requests, &peer->asked[peer->at], &answer))
            return answer;
        return oneib_answer_new(ONEIB_ANSWER_END);
    }
}

static bool was_the_last(struct oneib_requests *requests, const struct oneib_peer *peer)
{
    const struct oneib_listing *listing;
    switch (peer->what) {
    case ONEIB_SAYING_LIST:
        listing = listing_of(requests, peer);
        return oneib_listing_is_last(listing, peer->at);
    case ONEIB_SAYING_RESULTS:
        return peer->at == peer->asked_count;
    case ONEIB_SAYING_ONE:
    default:
        return true;
    }
}

static void stop_saying(struct oneib_requests *requests, struct oneib_peer *peer)
{
    if (peer->what == ONEIB_SAYING_LIST)
        listing_of(requests, peer)->readers--;
    if (peer->what == ONEIB_SAYING_RESULTS)
        forget_asked(requests, peer);
    peer->state = ONEIB_PEER_HEARING;
}

void oneib_requests_answered(struct oneib_requests *requests, struct oneib_peer *peer)
{
    if (was_the_last(requests, peer)) {
        stop_saying(requests, peer);
        return;
    }
    peer->at++;
    if (peer->what == ONEIB_SAYING_RESULTS)
        skip_what_is_not_told(requests, peer);
}

void oneib_requests_forget(struct oneib_requests *requests, struct oneib_peer *peer)
{
    if (peer->state == ONEIB_PEER_SAYING)
        stop_saying(requests, peer);
    forget_asked(requests, peer);
}
