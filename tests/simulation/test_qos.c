// SPDX-License-Identifier: Apache-2.0
/*
 * Classes on a fabric: oneibd gives service levels, a real opensm has them in its answers and, by
 * the lines that `oneib qos` prints, in the ports' tables. On ibsim: no packet is sent by these
 * tables.
 */
#include "base/cleanup.h"
#include "daemon_scene.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define CLASSES                                                                                    \
    "qos = { classes = [\"gold: weight 64, SL 1-2\", \"silver: weight 32, SL 3\"]; vls = 8; };"

static struct oneib_error err;

/* Until the file in force has these words. */
static void await_in_file(const char *words)
{
    for (unsigned waited = 0;; waited += 50) {
        oneib_autofree char *file = scene_file();
        if (file && strstr(file, words))
            return;
        if (waited > DAEMON_PATIENCE_MS)
            fail_msg("\"%s\" is not in: %s", words, file ? file : "(no file)");
        lab_sleep_ms(50);
    }
}

static void a_cluster_has_the_level_of_its_class_from_its_first_member_on(void **state)
{
    (void)state;
    daemon_start_with(NULL, NULL, CLASSES);
    const uint32_t gold = scene_network("gold", "", "IB_CLASS=gold");
    const uint32_t silver = scene_network("silver", "", "IB_CLASS=silver");
    const uint32_t plain = scene_network("plain", "", NULL);
    scene_vm(gold, 0);
    scene_vm(silver, 1);
    scene_vm(plain, 2);
    await_in_file(",sl=1 :");
    await_in_file(",sl=3 :");
    await_holds(2, 0x8000u | scene_key_of(plain));
    oneib_autofree char *file = scene_file();
    assert_null(strstr(file, ",sl=0"));
    daemon_end();
}

static void another_class_waits_until_nobody_is_in_the_cluster(void **state)
{
    (void)state;
    daemon_start_with(NULL, NULL, CLASSES);
    const uint32_t network = scene_network("gold", "", "IB_CLASS=gold");
    scene_vm(network, 0);
    await_in_file(",sl=1 :");
    MUST(lab_network_update(scene(), network, "IB_CLASS=silver", &err));
    await_said("class-waits");
    oneib_autofree char *file = scene_file();
    assert_non_null(strstr(file, ",sl=1 :"));
    assert_null(strstr(file, ",sl=3 :"));
    daemon_end();
}

static void a_network_is_moved_when_nobody_is_in_it(void **state)
{
    (void)state;
    daemon_start_with(NULL, NULL, CLASSES);
    const uint32_t network = scene_network("metal", "", "IB_CLASS=gold");
    const uint32_t vm = scene_vm(network, 0);
    await_in_file(",sl=1 :");
    MUST(lab_network_update(scene(), network, "IB_CLASS=silver", &err));
    await_said("class-waits");
    must_say(ONEIB(3, "qos", "move", "metal")->error, "its multicast group keeps SL 1");

    const unsigned key = 0x8000u | scene_key_of(network);
    scene_end_vm(vm);
    await_lacks(0, key);
    must_say(ONEIB(0, "qos", "move", "metal")->out, "has SL 3 now, it had 1");
    must_say(ONEIB(0, "qos", "move", "metal")->out, "nothing to do");
    scene_vm(network, 0);
    await_in_file(",sl=3 :");
    daemon_end();
}

static void whoever_forces_a_move_is_told_what_breaks(void **state)
{
    (void)state;
    daemon_start_with(NULL, NULL, CLASSES);
    const uint32_t network = scene_network("metal", "", "IB_CLASS=gold");
    scene_vm(network, 0);
    await_in_file(",sl=1 :");
    MUST(lab_network_update(scene(), network, "IB_CLASS=silver", &err));
    await_said("class-waits");
    must_say(ONEIB(0, "qos", "move", "metal", "--force")->out, "IPoIB goes on with the old one");
    await_in_file(",sl=3 :");
    daemon_end();
}

static void a_class_that_is_none_moves_nobody(void **state)
{
    (void)state;
    daemon_start_with(NULL, NULL, CLASSES);
    const uint32_t network = scene_network("metal", "", "IB_CLASS=lead");
    scene_vm(network, 0);
    await_holds(0, 0x8000u | 256);
    must_say(ONEIB(3, "qos", "move", "metal")->error, "is none of qos.classes");
    ONEIB(3, "qos", "move", "nobody");
    ONEIB(2, "qos", "metal");
    ONEIB(2, "qos", "--force");
    daemon_end();
}

static void without_classes_no_level_is_written(void **state)
{
    (void)state;
    daemon_start_with(NULL, NULL, NULL);
    const uint32_t network = scene_network("gold", "", "IB_CLASS=gold");
    scene_vm(network, 0);
    await_holds(0, 0x8000u | 256);
    oneib_autofree char *file = scene_file();
    assert_null(strstr(file, "sl="));
    daemon_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DAEMON_CASE(daemon_raise, a_cluster_has_the_level_of_its_class_from_its_first_member_on),
        DAEMON_CASE(daemon_raise, another_class_waits_until_nobody_is_in_the_cluster),
        DAEMON_CASE(daemon_raise, a_network_is_moved_when_nobody_is_in_it),
        DAEMON_CASE(daemon_raise, whoever_forces_a_move_is_told_what_breaks),
        DAEMON_CASE(daemon_raise, a_class_that_is_none_moves_nobody),
        DAEMON_CASE(daemon_raise, without_classes_no_level_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
