// SPDX-License-Identifier: Apache-2.0
/*
 * `oneib qos --measured` with a real opensm, on ibsim: its counters are a stand-in's. They
 * count management packets alone; its console sets them, which is what moves them here.
 */
#include "daemon_scene.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define CLASSES                                                                                    \
    "qos = { classes = [\"gold: weight 64, SL 1-2\", \"silver: weight 32, SL 3\"]; vls = 8; };"

static struct oneib_error err;
static uint32_t gold, silver;

static void two_vms(uint32_t network, size_t host, size_t other)
{
    scene_vm(network, host);
    scene_vm(network, other);
    await_holds(host, 0x8000u | await_key_of(network));
    await_holds(other, 0x8000u | await_key_of(network));
}

/* Gold on H1 and H2, silver on H2 and H3: the links of H2 carry both. */
static void begin(void)
{
    daemon_start_with(NULL, NULL, CLASSES);
    gold = scene_network("gold", "", "IB_CLASS=gold");
    silver = scene_network("silver", "", "IB_CLASS=silver");
    two_vms(gold, 0, 1);
    two_vms(silver, 1, 2);
}

/* What is shown of the link that begins with these words. */
static const char *row(const char *out, const char *ends)
{
    static char line[256];
    const char *start = strstr(out, ends);
    if (!start)
        fail_msg("\"%s\" is not shown: %s", ends, out);
    snprintf(line, sizeof line, "%.*s", (int)strcspn(start, "\n"), start);
    return line;
}

/* The link of the document in that direction; fails when there is none. */
static json_t *link_of(json_t *document, json_int_t port, bool from_host)
{
    json_t *links = json_field(document, "links");
    for (size_t i = 0; i < json_array_size(links); i++) {
        json_t *link = json_array_get(links, i);
        if (json_number(link, "port") == port && json_yes(link, "from_host") == from_host)
            return link;
    }
    fail_msg("there is no link at port %d", (int)port);
    return NULL;
}

static double real(json_t *object, const char *name)
{
    return json_real_value(json_field(object, name));
}

static atomic_bool sends;

/* Until that ends, what H1 has sent grows fifty times a second by a hundredth of what 8 Gb/s of
 * data are in a second, and its waits by 10. */
static void *make_h1_send(void *nothing)
{
    static const char *const fields[] = {"PortCounters.PortXmitData",
                                         "PortCountersExtended.PortXmitData",
                                         "PortCounters.PortXmitWait"};
    for (unsigned long n = 1; sends; n++) {
        for (size_t i = 0; i < 3; i++) {
            char command[128];
            struct oneib_error failure;
            snprintf(command, sizeof command, "PerformanceSet \"H1\"[1] %s=%lu", fields[i],
                     n * (i == 2 ? 10 : 2500000));
            if (lab_fabric_command(scene(), command, &failure) < 0)
                return nothing;
        }
        lab_sleep_ms(20);
    }
    return nothing;
}

/* What is measured while H1 sends. */
static json_t *measure_sending(void)
{
    pthread_t thread;
    sends = true;
    assert_int_equal(pthread_create(&thread, NULL, make_h1_send, NULL), 0);
    json_t *document = ONEIB_JSON(0, "qos", "--measured", "--seconds", "2");
    sends = false;
    pthread_join(thread, NULL);
    return document;
}

static void use_and_waits_stand_beside_what_is_promised(void **state)
{
    (void)state;
    begin();
    const char *out = ONEIB(0, "qos", "--measured", "--seconds", "1")->out;
    must_say(row(out, "H1         L1 port 2  "), "  1  gold    36.4 %");
    must_say(row(out, "L1 port 4  H3  "), "  3  silver  18.2 %");
    must_say(out, "2 of 6 carry several SLs");
    must_say(out, "are of all lanes of the\nlink together");
    must_not_say(out, "not read");
    must_say(out, "This fabric is simulated: the counters are a stand-in's");
    assert_true(json_yes(ONEIB_JSON(0, "qos", "--measured", "--seconds", "1"), "simulated"));
    assert_true(real(link_of(ONEIB_JSON(0, "qos", "--measured", "--seconds", "1"), 2, true),
                     "used") < 0.001);

    json_t *document = measure_sending();
    json_t *busy = link_of(document, 2, true), *quiet = link_of(document, 4, true);
    assert_true(real(busy, "used") > 0.01);
    assert_true(real(busy, "waited_ticks_per_second") > 0);
    assert_true(real(busy, "seconds") > 1.9);
    assert_true(real(quiet, "used") < 0.001);
    daemon_end();
}

static void only_the_links_of_networks_that_are_named_are_read(void **state)
{
    (void)state;
    begin();
    const char *out = ONEIB(0, "qos", "--measured", "--seconds", "1", "silver")->out;
    must_not_say(out, "H1");
    must_say(out, "H3");
    must_say(row(out, "H2         L1 port 3"), "gold"); /* who else has that link */
    must_say(ONEIB(3, "qos", "--measured", "nobody")->error, "nobody");
    scene_network("plain", "", NULL);
    must_say(ONEIB(3, "qos", "--measured", "plain")->error, "has no SL of a class");
    daemon_end();
}

/* H3 answers everything but PortCounters. */
static void a_port_that_does_not_answer_is_named_and_spoils_no_other(void **state)
{
    (void)state;
    begin();
    MUST(lab_fabric_command(scene(), "Error \"H3\"[1] 100 18", &err));
    const struct lab_output *run = ONEIB(0, "qos", "--measured", "--seconds", "1");
    must_say(row(run->out, "H3         L1 port 4  "), "not read");
    must_say(run->out, "\nnot read:\n  H3  L1 port 4  no answer to PortCounters\n");
    must_say(row(run->out, "H1         L1 port 2  "), " %");
    json_t *link = link_of(ONEIB_JSON(0, "qos", "--measured", "--seconds", "1"), 4, true);
    assert_string_equal(json_text(link, "not_read"), "no answer to PortCounters");
    assert_true(json_is_null(json_field(link, "used")));
    daemon_end();
}

/* Nor does it take the time. */
static void a_lone_member_uses_no_link(void **state)
{
    (void)state;
    daemon_start_with(NULL, NULL, CLASSES);
    gold = scene_network("gold", "", "IB_CLASS=gold");
    scene_vm(gold, 0);
    await_holds(0, 0x8000u | await_key_of(gold));
    must_say(ONEIB(0, "qos", "--measured", "--seconds", "3600", "gold")->out,
             "no cluster with an SL of a class uses a link");
    daemon_end();
}

static void without_classes_nothing_was_promised(void **state)
{
    (void)state;
    daemon_start_with(NULL, NULL, NULL);
    must_say(ONEIB(3, "qos", "--measured")->error, "set qos.classes in oneib.conf");
    daemon_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DAEMON_CASE(daemon_raise, use_and_waits_stand_beside_what_is_promised),
        DAEMON_CASE(daemon_raise, only_the_links_of_networks_that_are_named_are_read),
        DAEMON_CASE(daemon_raise, a_port_that_does_not_answer_is_named_and_spoils_no_other),
        DAEMON_CASE(daemon_raise, a_lone_member_uses_no_link),
        DAEMON_CASE(daemon_raise, without_classes_nothing_was_promised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
