// SPDX-License-Identifier: Apache-2.0
/*
 * A stand-in for oneib-domains: says what the URI names, and then lives on, or not. Its first
 * domain's name is its process id.
 */
#include "oneib-node/oneib-domains/domains_message.h"
#include "vf/domain_list.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LIVES_MS 30 /* between two signs of life */

static void say(const void *bytes, size_t length)
{
    if (send(STDIN_FILENO, bytes, length, MSG_NOSIGNAL) < 0)
        exit(1);
}

static void say_news(struct oneib_domain_news news)
{
    say(&news, sizeof news);
}

static void say_kind(enum oneib_domain_news_kind kind)
{
    say_news(oneib_domain_news_new(kind));
}

static void say_entry(void)
{
    char name[ONEIB_MESSAGE_NAME];
    const struct oneib_pci device = {0, 0x81, 0, 1};
    snprintf(name, sizeof name, "%d", (int)getpid());
    say_news(oneib_domain_news_entry(name, true, &device));
}

static void say_list(size_t entries)
{
    say_kind(ONEIB_DOMAIN_NEWS_BEGIN);
    for (size_t i = 0; i < entries; i++)
        say_entry();
    say_kind(ONEIB_DOMAIN_NEWS_END);
}

static void sleep_on(void)
{
    for (;;)
        pause();
}

/* ---- what is named --------------------------------------------------------------------------- */

static void live(void)
{
    say_list(1);
    for (;;) {
        usleep(LIVES_MS * 1000);
        say_kind(ONEIB_DOMAIN_NEWS_ALIVE);
    }
}

static void end_after_a_list(void)
{
    say_list(1);
}

static void end_at_once(void)
{
}

static void end_after_half(void)
{
    say_kind(ONEIB_DOMAIN_NEWS_BEGIN);
    say_entry();
}

static void begin_another(void)
{
    say_list(1);
    end_after_half();
    sleep_on();
}

static void give_up_in_a_list(void)
{
    say_list(1);
    end_after_half();
    say_news(oneib_domain_news_unknown("in the middle"));
    sleep_on();
}

static void say_unknown(void)
{
    say_news(oneib_domain_news_unknown("libvirt is out"));
    sleep_on();
}

static void say_unknown_and_end(void)
{
    say_news(oneib_domain_news_unknown("libvirt is out"));
}

static void say_unknown_and_alive(void)
{
    say_news(oneib_domain_news_unknown("libvirt is out"));
    say_kind(ONEIB_DOMAIN_NEWS_ALIVE);
    sleep_on();
}

static void say_alive_first(void)
{
    say_kind(ONEIB_DOMAIN_NEWS_ALIVE);
    sleep_on();
}

static void say_entry_first(void)
{
    say_entry();
    sleep_on();
}

static void say_end_first(void)
{
    say_kind(ONEIB_DOMAIN_NEWS_END);
    sleep_on();
}

static void begin_twice(void)
{
    say_kind(ONEIB_DOMAIN_NEWS_BEGIN);
    say_kind(ONEIB_DOMAIN_NEWS_BEGIN);
    sleep_on();
}

static void live_in_a_list(void)
{
    say_kind(ONEIB_DOMAIN_NEWS_BEGIN);
    say_kind(ONEIB_DOMAIN_NEWS_ALIVE);
    sleep_on();
}

static void say_one_too_many(void)
{
    say_list(ONEIB_DOMAIN_ENTRIES_MAX + 1);
    sleep_on();
}

static void say_the_most(void)
{
    say_list(ONEIB_DOMAIN_ENTRIES_MAX);
    sleep_on();
}

static void say_garbage(void)
{
    char bytes[sizeof(struct oneib_domain_news)];
    memset(bytes, 0xa5, sizeof bytes);
    say_list(1);
    say(bytes, sizeof bytes);
    sleep_on();
}

static void say_half_a_message(void)
{
    const struct oneib_domain_news news = oneib_domain_news_new(ONEIB_DOMAIN_NEWS_BEGIN);
    say(&news, sizeof news / 2);
    sleep_on();
}

static void say_a_long_message(void)
{
    char bytes[2 * sizeof(struct oneib_domain_news)] = {0};
    say(bytes, sizeof bytes);
    sleep_on();
}

static void say_nothing_in_a_message(void)
{
    char byte = 0;
    say(&byte, 0);
    sleep_on();
}

static void say_it_again_and_again(void)
{
    for (;;)
        say_list(1);
}

static const struct {
    const char *name;
    void (*play)(void);
} parts[] = {
    {"lives", live},
    {"mute", sleep_on},
    {"ends", end_after_a_list},
    {"ends-at-once", end_at_once},
    {"half", end_after_half},
    {"begins-another", begin_another},
    {"gives-up", give_up_in_a_list},
    {"unknown", say_unknown},
    {"unknown-ends", say_unknown_and_end},
    {"unknown-alive", say_unknown_and_alive},
    {"alive-first", say_alive_first},
    {"entry-first", say_entry_first},
    {"end-first", say_end_first},
    {"begin-twice", begin_twice},
    {"alive-in-list", live_in_a_list},
    {"one-too-many", say_one_too_many},
    {"the-most", say_the_most},
    {"garbage", say_garbage},
    {"half-message", say_half_a_message},
    {"long-message", say_a_long_message},
    {"empty-message", say_nothing_in_a_message},
    {"endless", say_it_again_and_again},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof parts / sizeof *parts; i++)
        if (strcmp(argv[1], parts[i].name) == 0) {
            parts[i].play();
            return 0;
        }
    return 2;
}
