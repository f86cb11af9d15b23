// SPDX-License-Identifier: Apache-2.0
/*
 * What oneib-node knows of libvirt's domains: with the real oneib-domains and libvirt's test
 * driver, and with a stand-in that says what the real one never would.
 */
#include "../hca/tree.h"
#include "../oneib-domains/node_file.h"
#include "base/clock.h"
#include "oneib-node/domains.h"
#include <poll.h>
#include <signal.h>
#include <stdbool.h>

#define WAIT_MS 60000

static struct oneib_domain_feed *feed;
static const struct oneib_domain_list *list;
static struct oneib_error err;

static void begin(const char *program, const char *uri, uint32_t silence_ms)
{
    const struct oneib_domain_feed_options options = {
        .uri = uri, .program = program, .user = "nobody", .silence_ms = silence_ms};
    err = (struct oneib_error){0};
    if (oneib_domain_feed_open(&options, &feed, &err) < 0)
        fail_msg("%s", err.text);
    list = oneib_domain_feed_list(feed);
}

static int end(void **state)
{
    (void)state;
    oneib_domain_feed_close(feed);
    feed = NULL;
    return 0;
}

/* One turn of a loop, as oneib-node's. Whether the list has changed. */
static bool turn(void)
{
    bool changed = false;
    struct pollfd file = {.fd = oneib_domain_feed_fd(feed), .events = POLLIN};
    poll(&file, 1, (int)oneib_domain_feed_due_ms(feed));
    if (oneib_domain_feed_take(feed, &changed, &err) < 0)
        fail_msg("%s", err.text);
    return changed;
}

static void wait_for_change(void)
{
    const double began = oneib_now_ms();
    while (!turn())
        if (oneib_now_ms() - began > WAIT_MS)
            fail_msg("nothing changes: %s", list->why.text);
}

static void wait_for_list(void)
{
    do
        wait_for_change();
    while (!list->known);
}

static void the_domains_are_not_known_until_a_whole_list_has_arrived(void **state)
{
    (void)state;
    put_node(NODE(DOMAIN("one-42", RUNNING, HOSTDEV("0x1")) DOMAIN("x", SHUT_OFF, "")));
    begin(NULL, node_uri(), 0);
    assert_false(list->known);
    assert_contains(list->why.text, "for its domains: it has not answered yet");
    wait_for_list();
    assert_int_equal(list->count, 2);
}

int main(void)
{
    tree_open();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_domains_are_not_known_until_a_whole_list_has_arrived, end),
    };
    return tree_close(cmocka_run_group_tests(tests, make_scratch, remove_scratch));
}
