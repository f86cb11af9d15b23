// SPDX-License-Identifier: Apache-2.0
#include "partitions/qos_verify.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct oneib_error err;

struct scene {
    struct oneib_qos qos;
    struct oneib_qos_port ports[12];
    struct oneib_findings findings;
    size_t drift;
};

/* Ports as the classes say. */
static struct scene begin(void)
{
    static const struct oneib_qos_class gold = {.name = "gold", .weight = 64, .sls = 1 << 1};
    const struct oneib_qos_wish wish = {
        .classes = &gold, .class_count = 1, .others = 16, .vls = 8, .entries = 8};
    struct scene scene = {0};
    assert_int_equal(oneib_qos_make(&wish, &scene.qos, &err), 0);
    for (size_t i = 0; i < 12; i++) {
        struct oneib_qos_port *port = &scene.ports[i];
        *port = (struct oneib_qos_port){
            .guid = 0x100 + i, .answered = true, .vls = 8, .entries = 8, .high_is_empty = true};
        memcpy(port->low, scene.qos.arbitration, sizeof port->low);
    }
    return scene;
}

static void judge(struct scene *scene)
{
    const struct oneib_qos_reading reading = {.items = scene->ports, .count = 12};
    oneib_qos_judge_ports(&scene->qos, 8, &reading, &scene->findings, &scene->drift);
}

static void must_find(struct scene *scene, const char *code, const char *words, size_t drift)
{
    judge(scene);
    assert_int_equal(scene->findings.count, 1);
    assert_string_equal(scene->findings.items[0].code, code);
    if (!strstr(scene->findings.items[0].text, words))
        fail_msg("\"%s\" is not in: %s", words, scene->findings.items[0].text);
    assert_int_equal(scene->drift, drift);
    oneib_findings_clear(&scene->findings);
}

static void ports_as_the_classes_say_are_no_finding(void **state)
{
    (void)state;
    struct scene scene = begin();
    judge(&scene);
    assert_int_equal(scene.findings.count, 0);
    assert_int_equal(scene.drift, 0);
}

static void two_ports_with_fewer_lanes_than_the_rest_are_named(void **state)
{
    (void)state;
    struct scene scene = begin();
    scene.ports[3].vls = 4;
    scene.ports[7].vls = 4;
    must_find(&scene, "qos-lanes", "2 of 12 ports", 2);
    scene = begin();
    scene.ports[3].entries = 4;
    must_find(&scene, "qos-lanes", "0x0000000000000103", 1);
}

static void another_weight_lane_or_entry_is_drift(void **state)
{
    (void)state;
    struct scene scene = begin();
    scene.ports[0].low[2].weight++;
    must_find(&scene, "qos-not-applied", "1 of 12", 1);
    scene = begin();
    scene.ports[0].low[2].vl ^= 1;
    must_find(&scene, "qos-not-applied", "1 of 12", 1);
    scene = begin();
    scene.ports[0].low[63].weight = 1;
    must_find(&scene, "qos-not-applied", "1 of 12", 1);
    scene = begin();
    scene.ports[0].low[63].vl = 1; /* without weight it is skipped */
    scene.ports[0].low[scene.qos.entry_count].vl = 1;
    judge(&scene);
    assert_int_equal(scene.findings.count, 0);
    scene.ports[0].high_is_empty = false;
    must_find(&scene, "qos-not-applied", "1 of 12", 1);
}

static void a_level_on_another_lane_is_drift_with_the_switchs_port(void **state)
{
    (void)state;
    struct scene scene = begin();
    scene.ports[5].wrong_sls = 1 << 1;
    scene.ports[5].is_switch = true;
    scene.ports[5].number = 17;
    must_find(&scene, "qos-not-applied", "0x0000000000000105 port 17", 1);
}

static void a_port_that_is_silent_is_nothing_else(void **state)
{
    (void)state;
    struct scene scene = begin();
    scene.ports[1] = (struct oneib_qos_port){.guid = 0x77};
    must_find(&scene, "qos-silent", "0x0000000000000077", 1);
}

static void a_port_counts_once_and_eight_are_named(void **state)
{
    (void)state;
    struct scene scene = begin();
    for (size_t i = 0; i < 12; i++)
        scene.ports[i].vls = scene.ports[i].low[0].weight = 1;
    judge(&scene);
    assert_int_equal(scene.drift, 12);
    assert_int_equal(scene.findings.count, 2);
    assert_non_null(strstr(scene.findings.items[0].text, "0x0000000000000107, ..."));
    assert_null(strstr(scene.findings.items[0].text, "0x0000000000000108"));
    oneib_findings_clear(&scene.findings);
    scene = begin();
    for (size_t i = 0; i < 8; i++)
        scene.ports[i].vls = 1;
    judge(&scene);
    assert_null(strstr(scene.findings.items[0].text, "..."));
    oneib_findings_clear(&scene.findings);
}

static void a_path_of_another_level_is_named_and_none_that_nobody_gave(void **state)
{
    (void)state;
    const struct oneib_qos_path paths[] = {
        {.network_id = 5, .wanted = 1, .found = 1, .answered = true},
        {.network_id = 6, .wanted = 2, .found = 0, .answered = true},
        {.network_id = 7, .wanted = 3, .found = 0},
    };
    struct oneib_findings findings = {0};
    assert_false(oneib_qos_path_deviates(&paths[0]));
    assert_true(oneib_qos_path_deviates(&paths[1]));
    assert_false(oneib_qos_path_deviates(&paths[2]));
    oneib_qos_judge_paths(paths, 3, &findings);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].code, "qos-not-applied");
    assert_non_null(strstr(findings.items[0].text, "network 6"));
    assert_true(oneib_finding_is_about(&findings.items[0], ONEIB_SUBJECT_NETWORK, 6));
    oneib_findings_clear(&findings);
}

static void a_group_of_another_level_is_named_and_none_that_is_not_there(void **state)
{
    (void)state;
    const struct oneib_qos_path groups[] = {
        {.network_id = 5, .wanted = 1, .found = 1, .answered = true},
        {.network_id = 6, .wanted = 3, .found = 1, .answered = true},
        {.network_id = 7, .wanted = 3, .found = 0},
    };
    struct oneib_findings findings = {0};
    oneib_qos_judge_groups(groups, 3, &findings);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].code, "qos-group");
    assert_non_null(strstr(findings.items[0].text, "network 6 SL 1, and it has SL 3"));
    oneib_findings_clear(&findings);
}

static void lanes_are_counted_by_their_code(void **state)
{
    (void)state;
    static const uint8_t lanes[] = {0, 1, 2, 4, 8, 15, 0, 0};
    for (unsigned code = 0; code < 8; code++)
        assert_int_equal(oneib_qos_vls(code), lanes[code]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ports_as_the_classes_say_are_no_finding),
        cmocka_unit_test(two_ports_with_fewer_lanes_than_the_rest_are_named),
        cmocka_unit_test(another_weight_lane_or_entry_is_drift),
        cmocka_unit_test(a_level_on_another_lane_is_drift_with_the_switchs_port),
        cmocka_unit_test(a_port_that_is_silent_is_nothing_else),
        cmocka_unit_test(a_port_counts_once_and_eight_are_named),
        cmocka_unit_test(a_path_of_another_level_is_named_and_none_that_nobody_gave),
        cmocka_unit_test(a_group_of_another_level_is_named_and_none_that_is_not_there),
        cmocka_unit_test(lanes_are_counted_by_their_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
