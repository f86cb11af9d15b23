// SPDX-License-Identifier: Apache-2.0
/* oneib-node's end of the socket: what oneib-domains has said. */
#ifndef ONEIB_UNIT_LISTENER_H
#define ONEIB_UNIT_LISTENER_H

#include "../base/scratch.h"
#include "oneib-node/oneib-domains/domains_message.h"
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>

#define HEARD_MAX 64
#define HEARING_MS 60000 /* a machine may be busy */

struct heard {
    struct oneib_domain_entry entries[HEARD_MAX];
    size_t count;
};

static inline bool has_more(int socket, int timeout_ms)
{
    struct pollfd file = {.fd = socket, .events = POLLIN};
    return poll(&file, 1, timeout_ms) == 1;
}

static inline struct oneib_domain_news hear(int socket)
{
    struct oneib_domain_news news;
    struct oneib_error err;
    char bytes[sizeof news + 1];
    if (!has_more(socket, HEARING_MS))
        fail_msg("nothing is said");
    const ssize_t length = recv(socket, bytes, sizeof bytes, 0);
    assert_true(length > 0);
    if (oneib_domain_news_check(bytes, (size_t)length, &news, &err) < 0)
        fail_msg("%s", err.text);
    return news;
}

/* The rest of a list that has begun. */
static inline struct heard hear_rest(int socket)
{
    struct heard heard = {.count = 0};
    for (;;) {
        const struct oneib_domain_news news = hear(socket);
        if (news.kind == ONEIB_DOMAIN_NEWS_END)
            return heard;
        assert_int_equal(news.kind, ONEIB_DOMAIN_NEWS_ENTRY);
        assert_true(heard.count < HEARD_MAX);
        heard.entries[heard.count++] = news.entry;
    }
}

/* A list is the next that is said. */
static inline struct heard hear_list(int socket)
{
    const struct oneib_domain_news news = hear(socket);
    if (news.kind != ONEIB_DOMAIN_NEWS_BEGIN)
        fail_msg("no list, but %u: %s", news.kind, news.text);
    return hear_rest(socket);
}

/* That nobody knows the domains is the next that is said; its reason, until the next call. */
static inline const char *hear_unknown(int socket)
{
    static struct oneib_domain_news news;
    news = hear(socket);
    assert_int_equal(news.kind, ONEIB_DOMAIN_NEWS_UNKNOWN);
    return news.text;
}

/* How many devices the domain names. */
static inline size_t devices_of(const struct heard *heard, const char *name)
{
    size_t count = 0;
    bool is_there = false;
    for (size_t i = 0; i < heard->count; i++)
        if (strcmp(heard->entries[i].name, name) == 0) {
            is_there = true;
            count += heard->entries[i].has_vf;
        }
    if (!is_there)
        fail_msg("there is no domain \"%s\"", name);
    return count;
}

/* The domain that names the device; NULL: none. */
static inline const struct oneib_domain_entry *entry_of(const struct heard *heard, uint8_t slot,
                                                        uint8_t function)
{
    const struct oneib_pci device = {0, 0x81, slot, function};
    for (size_t i = 0; i < heard->count; i++)
        if (heard->entries[i].has_vf && oneib_pci_compare(&heard->entries[i].vf, &device) == 0)
            return &heard->entries[i];
    return NULL;
}

#endif
