// SPDX-License-Identifier: Apache-2.0
#include "oneib-node/domains_feed.h"
#include "base/clock.h"
#include "base/memory.h"
#include "hca/place.h"
#include "oneib-node/child.h"
#include "oneib-node/oneib-domains/domains_message.h"
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define PROGRAM "oneib-domains"
#define BUILT "oneib-node/oneib-domains/" PROGRAM
/* Messages that are taken at once: two whole lists. Others want to be heard too. */
#define TAKEN_MAX (2 * (ONEIB_DOMAIN_ENTRIES_MAX + 2))

struct oneib_domain_feed {
    struct oneib_child child;
    char *uri;          /* for errors */
    bool has_explained; /* since it was started: why nobody knows */
    bool is_arriving;   /* a list has begun, and not ended */
    bool has_changed;   /* `list`, since it was taken last */
    struct oneib_domain_list list;
    struct oneib_domain_list arriving;
};

/* ---- what is known --------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void
forget(struct oneib_domain_feed *feed, enum oneib_error_code code, const char *format, ...)
{
    struct oneib_error why = {0};
    char words[sizeof why.text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    oneib_fail(&why, code, "asking libvirt (%s) for its domains: %s", feed->uri, words);
    feed->is_arriving = false;
    if (!feed->list.known && strcmp(feed->list.why.text, why.text) == 0)
        return;
    feed->list.known = false;
    feed->list.count = 0;
    feed->list.why = why;
    feed->has_changed = true;
}

static void accept_list(struct oneib_domain_feed *feed)
{
    const size_t size = feed->arriving.count * sizeof *feed->arriving.items;
    feed->is_arriving = false;
    oneib_child_is_well(&feed->child);
    if (feed->list.known && feed->list.count == feed->arriving.count &&
        memcmp(feed->list.items, feed->arriving.items, size) == 0)
        return;
    memcpy(feed->list.items, feed->arriving.items, size);
    feed->list.count = feed->arriving.count;
    feed->list.known = true;
    feed->list.why = (struct oneib_error){0};
    feed->has_changed = true;
}

/* ---- oneib-domains runs, or does not --------------------------------------------------------- */

static void start(struct oneib_domain_feed *feed)
{
    struct oneib_error err = {0};
    feed->has_explained = feed->is_arriving = false;
    if (oneib_child_start(&feed->child, 0, &err) == 0)
        return;
    forget(feed, err.code, "%s", err.text);
    oneib_child_start_later(&feed->child);
}

/* ---- what it says ---------------------------------------------------------------------------- */

static int fail_out_of_turn(struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "a message out of sequence");
}

static int take_entry(struct oneib_domain_feed *feed, const struct oneib_domain_entry *entry,
                      struct oneib_error *err)
{
    struct oneib_domain_list *list = &feed->arriving;
    if (list->count == ONEIB_DOMAIN_ENTRIES_MAX)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "a list of more than %d",
                          ONEIB_DOMAIN_ENTRIES_MAX);
    /* Its padding, which is 0, too: lists are compared as they are. */
    memcpy(&list->items[list->count++], entry, sizeof *entry);
    return 0;
}

static int take_alone(struct oneib_domain_feed *feed, const struct oneib_domain_news *news,
                      struct oneib_error *err)
{
    switch (news->kind) {
    case ONEIB_DOMAIN_NEWS_BEGIN:
        feed->is_arriving = true;
        feed->arriving.count = 0;
        return 0;
    case ONEIB_DOMAIN_NEWS_UNKNOWN:
        feed->has_explained = true;
        forget(feed, ONEIB_ERROR_UNREACHABLE, "%s", news->text);
        return 0;
    case ONEIB_DOMAIN_NEWS_ALIVE:
        return feed->list.known ? 0 : fail_out_of_turn(err);
    default:
        return fail_out_of_turn(err);
    }
}

static int take_of_list(struct oneib_domain_feed *feed, const struct oneib_domain_news *news,
                        struct oneib_error *err)
{
    if (news->kind == ONEIB_DOMAIN_NEWS_ENTRY)
        return take_entry(feed, &news->entry, err);
    if (news->kind != ONEIB_DOMAIN_NEWS_END)
        return fail_out_of_turn(err);
    accept_list(feed);
    return 0;
}

static int take_news(struct oneib_domain_feed *feed, const void *bytes, size_t length,
                     struct oneib_error *err)
{
    struct oneib_domain_news news;
    if (oneib_domain_news_check(bytes, length, &news, err) < 0)
        return -1;
    return feed->is_arriving ? take_of_list(feed, &news, err) : take_alone(feed, &news, err);
}

static void take_message(struct oneib_domain_feed *feed, const void *bytes, size_t length)
{
    struct oneib_error err = {0};
    oneib_child_heard(&feed->child);
    if (take_news(feed, bytes, length, &err) == 0)
        return;
    forget(feed, ONEIB_ERROR_PROTOCOL, PROGRAM " has sent an invalid message: %s", err.text);
    oneib_child_start_later(&feed->child);
}

/* What is known is its own, so nothing is any more. */
static void take_end(struct oneib_domain_feed *feed)
{
    if (feed->list.known || !feed->has_explained)
        forget(feed, ONEIB_ERROR_UNREACHABLE, PROGRAM " has ended, and is restarted");
    oneib_child_start_later(&feed->child);
}

/* False: nothing more has arrived. */
static bool take_one(struct oneib_domain_feed *feed)
{
    char bytes[sizeof(struct oneib_domain_news) + 1]; /* more is too long */
    if (feed->child.socket < 0)
        return false;
    const ssize_t length = recv(feed->child.socket, bytes, sizeof bytes, MSG_DONTWAIT);
    /* A reset is told once, where it has left an order unread: what it has said comes next. */
    if (length < 0 && (errno == EINTR || errno == ECONNRESET))
        return true;
    if (length < 0 && errno == EAGAIN)
        return false;
    if (length > 0)
        take_message(feed, bytes, (size_t)length);
    else
        take_end(feed);
    return true;
}

/* ---- the loop's ------------------------------------------------------------------------------ */

static void do_what_is_due(struct oneib_domain_feed *feed)
{
    if (!oneib_child_is_due(&feed->child))
        return;
    if (feed->child.socket < 0) {
        start(feed);
        return;
    }
    forget(feed, ONEIB_ERROR_TIMEOUT,
           "it has not answered for %u s: see whether libvirtd hangs, or " PROGRAM,
           (feed->child.silence_ms + 999) / 1000);
    oneib_child_start_later(&feed->child);
}

int oneib_domain_feed_take(struct oneib_domain_feed *feed, bool *changed, struct oneib_error *err)
{
    if (oneib_child_check_supervisor(&feed->child, err) < 0)
        return -1;
    for (int taken = 0; taken < TAKEN_MAX && take_one(feed); taken++)
        ;
    do_what_is_due(feed);
    *changed = feed->has_changed;
    feed->has_changed = false;
    return 0;
}

const struct oneib_domain_list *oneib_domain_feed_list(const struct oneib_domain_feed *feed)
{
    return &feed->list;
}

int oneib_domain_feed_fd(const struct oneib_domain_feed *feed)
{
    return feed->child.poll_fd;
}

uint32_t oneib_domain_feed_due_ms(const struct oneib_domain_feed *feed)
{
    return oneib_ms_until(feed->child.due);
}

/* One that does not run, or does not listen, says everything anew without being told. */
void oneib_domain_feed_refresh(struct oneib_domain_feed *feed)
{
    const struct oneib_domain_order order = oneib_domain_order_new();
    if (feed->child.socket >= 0)
        send(feed->child.socket, &order, sizeof order, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static void tell_failure(int socket, const struct oneib_error *why)
{
    const struct oneib_domain_news news = oneib_domain_news_unknown(why->text);
    send(socket, &news, sizeof news, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static int begin(struct oneib_domain_feed *feed, const struct oneib_domain_feed_options *options,
                 struct oneib_error *err)
{
    char program[PATH_MAX];
    oneib_node_program(PROGRAM, BUILT, program);
    const struct oneib_supervisor_options supervisor = {
        .name = PROGRAM,
        .program = options->program ? options->program : program,
        .argument = options->uri,
        .user = options->user ? options->user : ONEIB_DOMAINS_USER,
        .without_internet = true,
        .tell_failure = tell_failure,
    };
    const uint32_t silence_ms =
        options->silence_ms ? options->silence_ms : ONEIB_DOMAINS_SILENCE_MS;
    feed->uri = oneib_strdup(options->uri);
    if (oneib_child_open(&supervisor, silence_ms, &feed->child, err) < 0)
        return -1;
    forget(feed, ONEIB_ERROR_UNREACHABLE, "it has not answered yet");
    start(feed);
    return 0;
}

int oneib_domain_feed_open(const struct oneib_domain_feed_options *options,
                           struct oneib_domain_feed **feed, struct oneib_error *err)
{
    *feed = oneib_alloc(1, sizeof **feed);
    (*feed)->child = ONEIB_CHILD_NONE;
    if (begin(*feed, options, err) == 0)
        return 0;
    oneib_domain_feed_close(*feed);
    *feed = NULL;
    return -1;
}

void oneib_domain_feed_close(struct oneib_domain_feed *feed)
{
    if (!feed)
        return;
    oneib_child_close(&feed->child);
    free(feed->uri);
    free(feed);
}
