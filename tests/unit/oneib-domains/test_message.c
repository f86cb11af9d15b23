// SPDX-License-Identifier: Apache-2.0
/* What oneib-domains says is taken whole or not at all. */
#include "../base/scratch.h"
#include "oneib-node/oneib-domains/domains_message.h"

static struct oneib_domain_news taken;
static struct oneib_error err;

static int check(const struct oneib_domain_news *news)
{
    err = (struct oneib_error){0};
    return oneib_domain_news_check(news, sizeof *news, &taken, &err);
}

static void assert_taken(const struct oneib_domain_news *news)
{
    if (check(news) < 0)
        fail_msg("%s", err.text);
    assert_memory_equal(&taken, news, sizeof taken);
}

static void assert_refused(const struct oneib_domain_news *news, const char *word)
{
    assert_int_equal(check(news), -1);
    assert_int_equal(err.code, ONEIB_ERROR_PROTOCOL);
    assert_contains(err.text, word);
}

static struct oneib_domain_news entry(void)
{
    const struct oneib_pci device = {0x10000, 0x81, 31, 7};
    return oneib_domain_news_entry("one-42", true, &device);
}

static void what_is_made_is_taken(void **state)
{
    (void)state;
    static const enum oneib_domain_news_kind kinds[] = {
        ONEIB_DOMAIN_NEWS_BEGIN, ONEIB_DOMAIN_NEWS_END, ONEIB_DOMAIN_NEWS_ALIVE};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct oneib_domain_news news = oneib_domain_news_new(kinds[i]);
        assert_taken(&news);
    }
    struct oneib_domain_news news = entry();
    assert_taken(&news);
    assert_int_equal(taken.entry.vm_id, 42);
    assert_int_equal(taken.entry.vf.domain, 0x10000);
    news = oneib_domain_news_entry("x", false, NULL);
    assert_taken(&news);
    assert_false(taken.entry.has_vf || taken.entry.running);
    news = oneib_domain_news_unknown("it is out");
    assert_taken(&news);
    assert_string_equal(taken.text, "it is out");
}

/* Where a kind has nothing, there is nothing: each byte of it is looked at. */
static void nothing_is_where_a_message_has_nothing(void **state)
{
    (void)state;
    const size_t begin = offsetof(struct oneib_domain_news, entry);
    for (size_t at = begin; at < sizeof(struct oneib_domain_news); at++) {
        struct oneib_domain_news news = oneib_domain_news_new(ONEIB_DOMAIN_NEWS_END);
        ((unsigned char *)&news)[at] = 1;
        assert_refused(&news, "unused bytes of the message are not zero");
    }
    struct oneib_domain_news news = entry();
    news.entry.name[10] = 'x';
    assert_refused(&news, "unused bytes of the message are not zero");
    news = entry();
    news.text[0] = 'x';
    assert_refused(&news, "unused bytes of the message are not zero");
    news = oneib_domain_news_entry("x", true, NULL);
    news.entry.vf.bus = 1;
    assert_refused(&news, "unused bytes of the message are not zero");
    news = oneib_domain_news_unknown("out");
    news.text[ONEIB_MESSAGE_TEXT - 1] = 'x';
    assert_refused(&news, "unused bytes of the message are not zero");
}

static void another_size_or_kind_is_refused(void **state)
{
    (void)state;
    char bytes[2 * sizeof(struct oneib_domain_news)] = {0};
    struct oneib_domain_news news = oneib_domain_news_new(ONEIB_DOMAIN_NEWS_BEGIN);
    memcpy(bytes, &news, sizeof news);
    assert_int_equal(oneib_domain_news_check(bytes, sizeof news - 1, &taken, &err), -1);
    assert_int_equal(oneib_domain_news_check(bytes, sizeof news + 1, &taken, &err), -1);
    assert_int_equal(oneib_domain_news_check(bytes, 0, &taken, &err), -1);
    news.kind = 0;
    assert_refused(&news, "of an unknown kind");
    news.kind = ONEIB_DOMAIN_NEWS_ALIVE + 1;
    assert_refused(&news, "of an unknown kind");
    news = oneib_domain_news_new(ONEIB_DOMAIN_NEWS_BEGIN);
    news.magic++;
    assert_refused(&news, "without oneib's header");
}

static void an_entry_that_cannot_be_is_refused(void **state)
{
    (void)state;
    struct oneib_domain_news news = entry();
    memset(&news.entry.running, 2, 1);
    assert_refused(&news, "state is invalid");
    news = entry();
    memset(&news.entry.has_vf, 0xff, 1);
    assert_refused(&news, "state is invalid");
    news = entry();
    memset(news.entry.name, 0, sizeof news.entry.name);
    assert_refused(&news, "name is invalid");
    news = entry();
    memset(news.entry.name, 'x', sizeof news.entry.name);
    assert_refused(&news, "name is invalid");
    news = entry();
    news.entry.vf.slot = 32;
    assert_refused(&news, "address is invalid");
    news = entry();
    news.entry.vf.function = 8;
    assert_refused(&news, "address is invalid");
}

/* A domain's VM is its name's, and nothing that is said besides. */
static void a_vm_that_is_not_of_the_name_is_refused(void **state)
{
    (void)state;
    struct oneib_domain_news news = entry();
    news.entry.vm_id = 43;
    assert_refused(&news, "VM is not that of its name");
    news = oneib_domain_news_entry("one-042", true, NULL);
    assert_int_equal(news.entry.vm_id, -1);
    news.entry.vm_id = 42;
    assert_refused(&news, "VM is not that of its name");
    news = oneib_domain_news_entry("other", true, NULL);
    news.entry.vm_id = -2;
    assert_refused(&news, "VM is not that of its name");
}

static void a_reason_that_cannot_be_printed_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"two\nlines", "\x1b[2J", "\xff", "\xc3", "\xe2\x80\xae"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct oneib_domain_news news = oneib_domain_news_new(ONEIB_DOMAIN_NEWS_UNKNOWN);
        strcpy(news.text, texts[i]);
        assert_refused(&news, "cannot be printed");
        /* Such a text is made into one that can. */
        news = oneib_domain_news_unknown(texts[i]);
        assert_taken(&news);
    }
    struct oneib_domain_news news = oneib_domain_news_new(ONEIB_DOMAIN_NEWS_UNKNOWN);
    assert_refused(&news, "a reason is invalid");
    memset(news.text, 'x', sizeof news.text);
    assert_refused(&news, "a reason is invalid");
    news = oneib_domain_news_unknown("");
    assert_taken(&news);
}

static void what_is_too_long_is_cut_between_characters(void **state)
{
    (void)state;
    char name[512], text[2048];
    for (size_t length = 40; length < 90; length++) {
        memset(name, 'a', length);
        strcpy(name + length, "\xe2\x82\xac\xe2\x82\xac");
        const struct oneib_domain_news news = oneib_domain_news_entry(name, true, NULL);
        assert_taken(&news);
        const size_t kept = strlen(taken.entry.name);
        assert_memory_equal(taken.entry.name, name, kept);
        assert_true(kept == length + 6 || kept > ONEIB_MESSAGE_NAME - 4);
        /* Whole characters: "a" or three bytes. */
        assert_true(kept <= length || (kept - length) % 3 == 0);
    }
    for (size_t length = 500; length < 520; length++) {
        memset(text, 'a', length);
        strcpy(text + length, "\xe2\x82\xac\xe2\x82\xac");
        const struct oneib_domain_news news = oneib_domain_news_unknown(text);
        assert_taken(&news);
        assert_true(strlen(taken.text) > ONEIB_MESSAGE_TEXT - 4 ||
                    strlen(taken.text) == length + 6);
    }
}

static void an_order_is_the_one_that_there_is(void **state)
{
    (void)state;
    struct oneib_domain_order order = oneib_domain_order_new();
    assert_true(oneib_domain_order_check(&order, sizeof order));
    assert_false(oneib_domain_order_check(&order, sizeof order - 1));
    order.unused = 1;
    assert_false(oneib_domain_order_check(&order, sizeof order));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_made_is_taken),
        cmocka_unit_test(nothing_is_where_a_message_has_nothing),
        cmocka_unit_test(another_size_or_kind_is_refused),
        cmocka_unit_test(an_entry_that_cannot_be_is_refused),
        cmocka_unit_test(a_vm_that_is_not_of_the_name_is_refused),
        cmocka_unit_test(a_reason_that_cannot_be_printed_is_refused),
        cmocka_unit_test(what_is_too_long_is_cut_between_characters),
        cmocka_unit_test(an_order_is_the_one_that_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
