// SPDX-License-Identifier: Apache-2.0
#include "oneib-node/oneib-domains/domains_message.h"
#include "base/escape.h"
#include "domain/domains.h"
#include <string.h>

/* ---- making ---------------------------------------------------------------------------------- */

/* Padding too is 0. */
static void clear(struct oneib_domain_news *news, uint32_t kind)
{
    memset(news, 0, sizeof *news);
    news->magic = ONEIB_DOMAIN_NEWS_MAGIC;
    news->kind = kind;
}

struct oneib_domain_news oneib_domain_news_new(enum oneib_domain_news_kind kind)
{
    struct oneib_domain_news news;
    clear(&news, kind);
    return news;
}

static bool goes_on(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* The bytes of the name that fit before a 0, no character of UTF-8 cut in two. */
static size_t fitting_length(const char *name)
{
    size_t length = strnlen(name, ONEIB_MESSAGE_NAME);
    if (length < ONEIB_MESSAGE_NAME)
        return length;
    length--;
    while (length > 1 && goes_on(name[length]))
        length--;
    return length;
}

static void set_device(struct oneib_domain_entry *entry, const struct oneib_pci *device)
{
    entry->has_vf = true;
    entry->vf.domain = device->domain;
    entry->vf.bus = device->bus;
    entry->vf.slot = device->slot;
    entry->vf.function = device->function;
}

struct oneib_domain_news oneib_domain_news_entry(const char *name, bool running,
                                                 const struct oneib_pci *device)
{
    struct oneib_domain_news news;
    clear(&news, ONEIB_DOMAIN_NEWS_ENTRY);
    news.entry.vm_id = oneib_domain_vm_id(name);
    news.entry.running = running;
    memcpy(news.entry.name, name, fitting_length(name));
    if (device)
        set_device(&news.entry, device);
    return news;
}

/* What acts on something is shown as a question mark: whoever made the text has escaped names. */
struct oneib_domain_news oneib_domain_news_unknown(const char *why)
{
    struct oneib_domain_news news;
    size_t used = 0;
    clear(&news, ONEIB_DOMAIN_NEWS_UNKNOWN);
    while (*why) {
        const size_t printable = oneib_printable_length(why);
        const size_t length = printable ? printable : 1;
        if (used + length >= sizeof news.text)
            break;
        memcpy(news.text + used, printable ? why : "?", length);
        used += length;
        why += length;
    }
    if (used == 0)
        strcpy(news.text, "no reason given");
    return news;
}

struct oneib_domain_order oneib_domain_order_new(void)
{
    return (struct oneib_domain_order){.magic = ONEIB_DOMAIN_ORDERS_MAGIC};
}

/* ---- checking -------------------------------------------------------------------------------- */

static int refuse(struct oneib_error *err, const char *what)
{
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "%s", what);
}

/* A bool that is neither 0 nor 1 must not even be read as one. */
static bool is_flag(const bool *flag)
{
    unsigned char byte;
    memcpy(&byte, flag, sizeof byte);
    return byte <= 1;
}

static int check_entry(const struct oneib_domain_entry *entry, struct oneib_error *err)
{
    if (!is_flag(&entry->running) || !is_flag(&entry->has_vf))
        return refuse(err, "a domain's state is invalid");
    if (entry->name[0] == '\0' || !memchr(entry->name, '\0', sizeof entry->name))
        return refuse(err, "a domain's name is invalid");
    /* "one-" and a number are never too long. */
    if (entry->vm_id != oneib_domain_vm_id(entry->name))
        return refuse(err, "a domain's VM is not that of its name");
    if (!oneib_pci_is_valid(&entry->vf))
        return refuse(err, "a device's address is invalid");
    return 0;
}

/* One line that can be printed. */
static int check_text(const char text[ONEIB_MESSAGE_TEXT], struct oneib_error *err)
{
    if (text[0] == '\0' || !memchr(text, '\0', ONEIB_MESSAGE_TEXT))
        return refuse(err, "a reason is invalid");
    while (*text) {
        const size_t length = oneib_printable_length(text);
        if (length == 0)
            return refuse(err, "a reason cannot be printed");
        text += length;
    }
    return 0;
}

static int check_content(const struct oneib_domain_news *news, struct oneib_error *err)
{
    switch (news->kind) {
    case ONEIB_DOMAIN_NEWS_BEGIN:
    case ONEIB_DOMAIN_NEWS_END:
    case ONEIB_DOMAIN_NEWS_ALIVE:
        return 0;
    case ONEIB_DOMAIN_NEWS_ENTRY:
        return check_entry(&news->entry, err);
    case ONEIB_DOMAIN_NEWS_UNKNOWN:
        return check_text(news->text, err);
    default:
        return refuse(err, "a message of an unknown kind");
    }
}

/* The same message, made of what counts of it. */
static void make_again(const struct oneib_domain_news *news, struct oneib_domain_news *again)
{
    const struct oneib_domain_entry *entry = &news->entry;
    clear(again, news->kind);
    if (news->kind == ONEIB_DOMAIN_NEWS_UNKNOWN)
        memcpy(again->text, news->text, strlen(news->text));
    if (news->kind != ONEIB_DOMAIN_NEWS_ENTRY)
        return;
    again->entry.vm_id = entry->vm_id;
    again->entry.running = entry->running;
    memcpy(again->entry.name, entry->name, strlen(entry->name));
    if (entry->has_vf)
        set_device(&again->entry, &entry->vf);
}

int oneib_domain_news_check(const void *bytes, size_t length, struct oneib_domain_news *news,
                            struct oneib_error *err)
{
    struct oneib_domain_news again;
    if (length != sizeof *news)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "a message of %zu bytes, and not %zu", length,
                          sizeof *news);
    memcpy(news, bytes, sizeof *news);
    if (news->magic != ONEIB_DOMAIN_NEWS_MAGIC)
        return refuse(err, "a message without oneib's header");
    if (check_content(news, err) < 0)
        return -1;
    make_again(news, &again);
    if (memcmp(bytes, &again, sizeof again) != 0)
        return refuse(err, "unused bytes of the message are not zero");
    return 0;
}

bool oneib_domain_order_check(const void *bytes, size_t length)
{
    const struct oneib_domain_order expected = oneib_domain_order_new();
    return length == sizeof expected && memcmp(bytes, &expected, length) == 0;
}
