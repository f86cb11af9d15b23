// SPDX-License-Identifier: Apache-2.0
/*
 * What oneib-domains says to oneib-node, and is told by it: one message a packet of a
 * SOCK_SEQPACKET socket, of fixed size, in host byte order, every byte that a kind does not use 0.
 * Both are of one build. Pure.
 *
 *   BEGIN    a whole list follows: nothing but ENTRY until END
 *   ENTRY    a domain, and one of the host's PCI devices that it names, or none
 *   END      that was all: this is what libvirt has
 *   UNKNOWN  nobody knows what libvirt has, with the reason
 *   ALIVE    the last list still stands, and libvirt has answered just now
 *
 * The first message on a socket is BEGIN or UNKNOWN, and so is the first one after UNKNOWN. Longer
 * than ONEIB_DOMAIN_NEWS_PAUSE_MS nothing is said only when something hangs.
 */
#ifndef ONEIB_ONEIB_NODE_ONEIB_DOMAINS_DOMAINS_MESSAGE_H
#define ONEIB_ONEIB_NODE_ONEIB_DOMAINS_DOMAINS_MESSAGE_H

#include "base/error.h"
#include "service/service_message.h"
#include <stddef.h>
#include <stdint.h>

#define ONEIB_DOMAIN_NEWS_MAGIC 0x314e444fu   /* "ODN1" in the bytes of a little endian machine */
#define ONEIB_DOMAIN_ORDERS_MAGIC 0x314f444fu /* "ODO1" */
#define ONEIB_DOMAIN_NEWS_PAUSE_MS 5000

enum oneib_domain_news_kind {
    ONEIB_DOMAIN_NEWS_BEGIN = 1,
    ONEIB_DOMAIN_NEWS_ENTRY,
    ONEIB_DOMAIN_NEWS_END,
    ONEIB_DOMAIN_NEWS_UNKNOWN,
    ONEIB_DOMAIN_NEWS_ALIVE,
};

struct oneib_domain_news {
    uint32_t magic;
    uint32_t kind;                   /* enum oneib_domain_news_kind */
    struct oneib_domain_entry entry; /* ENTRY */
    char text[ONEIB_MESSAGE_TEXT];   /* UNKNOWN: one line that acts on nothing, and ends with a 0 */
};

/* The only thing that is told to it: connect to libvirt anew, and say everything again. */
struct oneib_domain_order {
    uint32_t magic;
    uint32_t unused;
};

struct oneib_domain_news oneib_domain_news_new(enum oneib_domain_news_kind kind);
/* name: libvirt's, whole; what is beyond ONEIB_MESSAGE_NAME is cut. device: NULL: it names none. */
struct oneib_domain_news oneib_domain_news_entry(const char *name, bool running,
                                                 const struct oneib_pci *device);
/* why: cut when it is too long. */
struct oneib_domain_news oneib_domain_news_unknown(const char *why);
struct oneib_domain_order oneib_domain_order_new(void);

/* Whether what has arrived can be taken as it is. PROTOCOL says what is wrong with it. Which kinds
 * may follow each other is the receiver's to know. */
int oneib_domain_news_check(const void *bytes, size_t length, struct oneib_domain_news *news,
                            struct oneib_error *err);
bool oneib_domain_order_check(const void *bytes, size_t length);

#endif
