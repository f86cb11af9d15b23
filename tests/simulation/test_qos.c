// SPDX-License-Identifier: Apache-2.0
/*
 * Classes on a fabric: oneibd gives service levels, a real opensm has them in its answers and, by
 * the lines that `oneib qos` prints, in the ports' tables. On ibsim: no packet is sent by these
 * tables.
 */
#include "base/cleanup.h"
#include "base/file.h"
#include "daemon_scene.h"
#include "partitions/qos_policy.h"
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define CLASSES                                                                                    \
    "qos = { classes = [\"gold: weight 64, SL 1-2\", \"silver: weight 32, SL 3\"]; vls = 8; };"

static struct oneib_error err;

/* Until what is read, which the caller of `read` owns and which is NULL when there is none, has
 * these words. */
static void await_words(char *(*read)(void), const char *words)
{
    for (unsigned waited = 0;; waited += 50) {
        oneib_autofree char *file = read();
        if (file && strstr(file, words))
            return;
        if (waited > DAEMON_PATIENCE_MS)
            fail_msg("\"%s\" is not in: %s", words, file ? file : "(no file)");
        lab_sleep_ms(50);
    }
}

/* Until the file in force has these words. */
static void await_in_file(const char *words)
{
    await_words(scene_file, words);
}

/* Until oned shows that as the network's IB_SL. */
static void await_shown_level(uint32_t network, const char *wanted)
{
    for (unsigned waited = 0;; waited += 50) {
        char shown[16];
        MUST(lab_network_says(scene(), network, "IB_SL", shown, sizeof shown, &err));
        if (strcmp(shown, wanted) == 0)
            return;
        if (waited > DAEMON_PATIENCE_MS)
            fail_msg("IB_SL is %s, not %s", shown, wanted);
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
    await_holds(2, 0x8000u | await_key_of(plain));
    oneib_autofree char *file = scene_file();
    assert_null(strstr(file, ",sl=0"));
    must_say(ONEIB(0, "show", "gold")->out, "SL          1");
    assert_int_equal((int)json_number(ONEIB_JSON(0, "show", "gold"), "sl"), 1);
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

    const unsigned key = 0x8000u | await_key_of(network);
    scene_end_vm(vm);
    await_lacks(0, key);
    must_say(ONEIB(0, "qos", "move", "metal")->out, "has SL 3 now, it had 1");
    must_say(ONEIB(0, "qos", "move", "metal")->out, "nothing to do");
    scene_vm(network, 0);
    await_in_file(",sl=3 :");
    daemon_end();
}

/* opensm anew, with the lines that `oneib qos` prints, as somebody changed them. */
static void restart_opensm_with(const char *lines)
{
    struct lab_sm sm = LAB_SM;
    sm.options = lines;
    MUST(lab_opensm_stop(scene(), sm.name, true, &err));
    MUST(lab_opensm_start(scene(), &sm, &err));
}

static char *printed_lines(void)
{
    const char *start = strstr(ONEIB(0, "qos")->out, "qos TRUE\n");
    assert_non_null(start);
    return strdup(start);
}

/* Without `qos TRUE` opensm makes each group with SL 0. */
static void whoever_forces_a_move_is_told_what_breaks(void **state)
{
    (void)state;
    daemon_start_with(NULL, NULL, CLASSES);
    oneib_autofree char *lines = printed_lines();
    restart_opensm_with(lines);
    const uint32_t network = scene_network("metal", "", "IB_CLASS=gold");
    const uint32_t vm = scene_vm(network, 0);
    await_in_file(",sl=1 :");
    MUST(lab_network_update(scene(), network, "IB_CLASS=silver", &err));
    await_said("class-waits");
    must_say(ONEIB(1, "qos", "move", "metal", "--force")->out, "IPoIB goes on with the old one");
    await_in_file(",sl=3 :");
    must_say(ONEIB(1, "verify")->error, "(IPoIB) of network 1 SL 1, and it has SL 3");
    must_say(ONEIB(1, "qos", "move", "metal")->out, "Its multicast group has SL 1");

    scene_end_vm(vm);
    await_lacks(0, 0x8000u | await_key_of(network));
    must_not_say(ONEIB(0, "qos", "move", "metal")->out, "multicast group");
    scene_vm(network, 0);
    await_in_file(",sl=3 :");
    await_holds(0, 0x8000u | await_key_of(network));
    must_not_say(ONEIB(0, "verify")->error, "qos-group");
    must_not_say(ONEIB(0, "qos", "move", "metal")->out, "multicast group");
    daemon_end();
}

static void a_class_that_is_none_moves_nobody(void **state)
{
    (void)state;
    daemon_start_with(NULL, NULL, CLASSES);
    const uint32_t network = scene_network("metal", "", "IB_CLASS=lead");
    scene_vm(network, 0);
    await_holds(0, 0x8000u | 256);
    must_say(ONEIB(3, "qos", "move", "metal")->error, "is not one of qos.classes");
    ONEIB(3, "qos", "move", "nobody");
    ONEIB(2, "qos", "metal");
    ONEIB(2, "qos", "--force");
    daemon_end();
}

/* SL 1 of adapters has lane 0. */
static void put_on_another_lane(char *lines)
{
    char *map = strstr(lines, "qos_ca_sl2vl 0,1");
    assert_non_null(map);
    map[strlen("qos_ca_sl2vl 0,")] = '0';
}

/* What the SA says of a path from host 0 to host 2 within the partition, with that level: whether
 * there is one. A refusal is an answer without a record, for which saquery has no words. */
static bool has_path(unsigned pkey, unsigned level)
{
    char from[64], to[64], key[16], sl[16];
    struct lab_output output = {0};
    snprintf(from, sizeof from, "fe80::%" PRIx64 ":%" PRIx64,
             lab_host_port_guid(scene(), 0) >> 16 & 0xffff,
             lab_host_port_guid(scene(), 0) & 0xffff);
    snprintf(to, sizeof to, "fe80::%" PRIx64 ":%" PRIx64,
             lab_host_port_guid(scene(), 2) >> 16 & 0xffff,
             lab_host_port_guid(scene(), 2) & 0xffff);
    snprintf(key, sizeof key, "0x%04x", pkey);
    snprintf(sl, sizeof sl, "%u", level);
    const char *argv[] = {"saquery", "-p", "--sgid", from, "--dgid", to,
                          "--pkey",  key,  "--sl",   sl,   NULL};
    MUST(lab_run(scene(), LAB_SM_HCA, argv, SCENE_TIMEOUT_MS, &output, &err));
    const bool has = output.status == 0 && strstr(output.out, "PathRecord dump");
    if (!has && (output.status != 0 || *output.out || *output.error))
        fail_msg("saquery ends with %d: %s%s", output.status, output.out, output.error);
    lab_output_clear(&output);
    return has;
}

static void tables_and_paths_are_as_printed(void **state)
{
    (void)state;
    scene();
    daemon_start_with(NULL, NULL, CLASSES);
    oneib_autofree char *lines = printed_lines();
    restart_opensm_with(lines);
    const uint32_t gold = scene_network("gold", "", "IB_CLASS=gold");
    const uint32_t silver = scene_network("silver", "", "IB_CLASS=silver");
    scene_vm(gold, 0);
    scene_vm(gold, 2);
    scene_vm(silver, 1);
    scene_vm(silver, 3);
    await_in_file(",sl=1 :");
    await_in_file(",sl=3 :");
    await_holds(3, 0x8000u | await_key_of(silver));
    await_holds(2, 0x8000u | await_key_of(gold));
    must_say(ONEIB(0, "verify")->out, " and 2 of 2 clusters as oneib.conf says");
    must_not_say(ONEIB(0, "verify")->error, "qos-");
    must_say(ONEIB(0, "check")->out, "has the lines of 'oneib qos'");
    /* Whoever asks for another level gets it: opensm.qos_policy is not set. */
    assert_true(has_path(0x8000u | await_key_of(gold), 1));
    assert_true(has_path(0x8000u | await_key_of(gold), 3));
    daemon_end();
}

/* ---- who asks for another level -------------------------------------------------------------- */

static void await_path(unsigned pkey, unsigned level, bool wanted)
{
    for (unsigned waited = 0; has_path(pkey, level) != wanted; waited += 200) {
        if (waited > DAEMON_PATIENCE_MS)
            fail_msg("a path with SL %u is %s", level, wanted ? "refused" : "granted");
        lab_sleep_ms(200);
    }
}

static const char *policy_path(void)
{
    return lab_path(scene(), "qos-policy.conf");
}

static char *read_policy(void)
{
    char *file;
    size_t length;
    return oneib_file_read(policy_path(), 65536, &file, &length, &err) == 0 ? file : NULL;
}

/* Until the policy has these words. */
static void await_in_policy(const char *words)
{
    await_words(read_policy, words);
}

/* oneibd with a policy, and opensm by the lines of `oneib qos`. */
static void begin_with_policy(void)
{
    char more[512];
    snprintf(more, sizeof more, "qos_policy = \"%s\";", policy_path());
    daemon_configure(&(struct lab_config){.opensm = more, .other = CLASSES});
    daemon_start();
    oneib_autofree char *lines = printed_lines();
    assert_non_null(strstr(lines, "qos_policy_file "));
    restart_opensm_with(lines);
}

/* Two VMs of gold, which has SL 1 then; its key. there: the policy that is there before, NULL:
 * none.
 */
static unsigned raise_gold_with_policy(const char *there)
{
    if (there)
        MUST(lab_write(scene(), "qos-policy.conf", 0644, there, &err));
    begin_with_policy();
    const uint32_t gold = scene_network("gold", "", "IB_CLASS=gold");
    scene_vm(gold, 0);
    scene_vm(gold, 2);
    await_in_file(",sl=1 :");
    const unsigned key = 0x8000u | await_key_of(gold);
    await_holds(0, key);
    await_holds(2, key);
    return key;
}

static void who_asks_for_another_level_than_the_clusters_is_refused(void **state)
{
    (void)state;
    scene();
    const unsigned key = raise_gold_with_policy(NULL);
    await_path(key, 1, true);
    await_path(key, 3, false);
    assert_true(has_path(key, 1));
    must_say(ONEIB(0, "plan")->out, "nothing to do");
    must_say(ONEIB(0, "check")->out, "has the lines of 'oneib qos'");
    daemon_end();
}

/* It is written again by the next look. */
static void a_policy_that_somebody_took_away_is_written_again(void **state)
{
    (void)state;
    scene();
    const unsigned key = raise_gold_with_policy(NULL);
    await_path(key, 3, false);
    assert_int_equal(unlink(policy_path()), 0);
    for (unsigned waited = 0; access(policy_path(), F_OK) != 0; waited += 100) {
        assert_true(waited < DAEMON_PATIENCE_MS);
        lab_sleep_ms(100);
    }
    daemon_end();
}

/* An edit is none of oned's events: it is noticed by itself, within a second or two. */
static void a_policy_that_somebody_edited_is_written_again(void **state)
{
    (void)state;
    scene();
    const unsigned key = raise_gold_with_policy(NULL);
    char rule[64];
    snprintf(rule, sizeof rule, "any, pkey 0x%04x : 1\n", key & 0x7fff);
    await_in_policy(rule);
    MUST(lab_write(scene(), "qos-policy.conf", 0644,
                   ONEIB_QOS_POLICY_MARK "\nqos-ulps\n    default : 3\nend-qos-ulps\n", &err));
    await_in_policy(rule);
    await_path(key, 3, false);
    daemon_end();
}

static void a_cluster_that_moves_has_its_new_level_refused_to_nobody(void **state)
{
    (void)state;
    scene();
    begin_with_policy();
    const uint32_t gold = scene_network("gold", "", "IB_CLASS=gold");
    const uint32_t vm = scene_vm(gold, 0);
    await_in_file(",sl=1 :");
    const unsigned key = 0x8000u | await_key_of(gold);
    await_holds(0, key);
    scene_end_vm(vm);
    await_lacks(0, key);
    MUST(lab_network_update(scene(), gold, "IB_CLASS=silver", &err));
    must_say(ONEIB(0, "qos", "move", "gold")->out, "has SL 3 now, it had 1");
    scene_vm(gold, 0);
    scene_vm(gold, 2);
    await_holds(0, key);
    await_holds(2, key);
    await_path(key, 3, true);
    await_path(key, 1, false);
    daemon_end();
}

static void a_policy_of_the_operators_stays_and_is_named(void **state)
{
    (void)state;
    static const char own[] = "qos-ulps\n    default : 0\nend-qos-ulps\n";
    scene();
    raise_gold_with_policy(own);
    await_said("qos-policy-foreign");
    oneib_autofree char *file = NULL;
    size_t length;
    MUST(oneib_file_read(policy_path(), 4096, &file, &length, &err));
    assert_string_equal(file, own);
    daemon_end();
}

static void a_policy_that_cannot_be_written_keeps_nobody_out(void **state)
{
    (void)state;
    scene();
    daemon_configure(
        &(struct lab_config){.opensm = "qos_policy = \"/nonexistent/policy\";", .other = CLASSES});
    daemon_start();
    const uint32_t gold = scene_network("gold", "", "IB_CLASS=gold");
    scene_vm(gold, 0);
    await_holds(0, 0x8000u | await_key_of(gold));
    await_said("qos-policy-not-written");
    daemon_end();
}

static void opensm_without_qos_is_found(void **state)
{
    (void)state;
    scene();
    daemon_start_with(NULL, NULL, CLASSES);
    const uint32_t gold = scene_network("gold", "", "IB_CLASS=gold");
    scene_vm(gold, 0);
    scene_vm(gold, 2);
    await_in_file(",sl=1 :");
    await_holds(2, 0x8000u | await_key_of(gold));
    const struct lab_output *verify = ONEIB(1, "verify");
    must_say(verify->error, "another arbitration table");
    must_say(verify->error, "gives paths of");
    must_say(verify->out, "classes: 0 of ");
    daemon_end();
}

static void a_table_of_another_kind_of_port_is_found_and_counted(void **state)
{
    (void)state;
    scene();
    daemon_start_with(NULL, NULL, CLASSES);
    oneib_autofree char *lines = printed_lines();
    put_on_another_lane(lines);
    restart_opensm_with(lines);
    must_say(ONEIB(0, "check")->out, "is not as the classes need it: qos_ca_sl2vl");
    const struct lab_output *verify = ONEIB(1, "verify");
    must_say(verify->error, "map SLs to other lanes");
    must_not_say(verify->error, "another arbitration table");
    must_say(verify->error, "7 of 14 ports map");
    daemon_end();
}

/* opensm is told other tables than `oneib qos` prints, behind oneibd's back, and the right ones. */
static void oneibd_finds_tables_that_were_changed_and_says_when_they_are_right_again(void **state)
{
    (void)state;
    scene();
    daemon_start_with(NULL, "verify = 1000;", CLASSES);
    oneib_autofree char *lines = printed_lines();
    restart_opensm_with(lines);
    const uint32_t gold = scene_network("gold", "", "IB_CLASS=gold");
    scene_vm(gold, 0);
    scene_vm(gold, 2);
    await_in_file(",sl=1 :");
    await_holds(2, 0x8000u | await_key_of(gold));
    await_metric("oneib_qos_ports_deviating", 0);
    await_metric("oneib_qos_clusters_deviating", 0);

    oneib_autofree char *others = strdup(lines);
    put_on_another_lane(others);
    restart_opensm_with(others);
    await_metric_at_least("oneib_qos_ports_deviating", 7);
    await_said("7 of 14 ports map");
    restart_opensm_with(lines);
    await_metric("oneib_qos_ports_deviating", 0);
    await_metric("oneib_qos_clusters_deviating", 0);
    daemon_end();
}

static void an_edited_copy_of_the_level_moves_nobody_and_is_put_right(void **state)
{
    (void)state;
    daemon_start_with(NULL, NULL, CLASSES);
    const uint32_t network = scene_network("metal", "", "IB_CLASS=gold");
    scene_vm(network, 0);
    await_shown_level(network, "1");
    MUST(lab_network_update(scene(), network, "IB_SL=3", &err));
    await_shown_level(network, "1");
    oneib_autofree char *file = scene_file();
    assert_non_null(strstr(file, ",sl=1 :"));
    assert_null(strstr(file, ",sl=3 :"));
    daemon_end();
}

/* One class with one SL, so that two clusters have the same one. */
static void two_clusters_of_one_level_are_named_while_they_meet_on_a_link(void **state)
{
    (void)state;
    daemon_start_with(NULL, "verify = 1000;", CLASSES);
    const uint32_t metal = scene_network("metal", "", "IB_CLASS=silver");
    const uint32_t copper = scene_network("copper", "", "IB_CLASS=silver");
    const size_t hosts[] = {0, 1, 2, 3};
    scene_vm(metal, hosts[0]);
    scene_vm(metal, hosts[1]);
    scene_vm(copper, hosts[2]);
    scene_vm(copper, hosts[3]);
    const unsigned key = await_key_of(copper);
    await_holds(3, 0x8000u | key);
    await_holds(1, 0x8000u | await_key_of(metal));
    must_not_say(ONEIB(0, "qos", "--links")->out, "metal, copper");
    must_not_say(ONEIB(1, "verify")->error, "sl-shared");

    const uint32_t joiner = scene_vm(copper, hosts[0]);
    await_said("sl-shared: network 1 \"metal\" and network 2");
    await_holds(0, 0x8000u | key);
    const struct lab_output *links = ONEIB(0, "qos", "--links");
    must_say(links->out, "H1");
    must_say(links->out, "3  metal, copper");
    must_say(links->error, "\"metal\" and network 2 \"copper\" both have SL 3");
    must_say(links->error, "answered by oneibd ");
    must_say(ONEIB(1, "verify")->error, "sl-shared");

    scene_end_vm(joiner);
    await_said("no more sl-shared");
    daemon_end();
}

static char *read_links(void)
{
    struct oneib_error ignored;
    char *text = NULL;
    size_t length;
    const char *path = lab_path(scene(), "links");
    return oneib_file_read(path, SIZE_MAX, &text, &length, &ignored) == 0 ? text : NULL;
}

static bool read_links_has(const char *words)
{
    oneib_autofree char *text = read_links();
    return text && strstr(text, words);
}

static struct stat links_stat(void)
{
    struct stat file;
    assert_int_equal(stat(lab_path(scene(), "links"), &file), 0);
    return file;
}

static void await_no_links(const char *words)
{
    for (unsigned waited = 0; read_links_has(words); waited += 50, lab_sleep_ms(50))
        assert_true(waited < DAEMON_PATIENCE_MS);
}

static void the_placers_file_has_links_and_clusters_and_is_never_old(void **state)
{
    (void)state;
    char qos[512], line[64];
    snprintf(qos, sizeof qos,
             "qos = { classes = [\"gold: weight 64, SL 1-2\", \"silver: weight 32, SL 3\"]; "
             "vls = 8; links_file = \"%s\"; };",
             lab_path(scene(), "links"));
    daemon_start_with(NULL, "verify = 1000;", qos);
    const uint32_t silver = scene_network("silver", "", "IB_CLASS=silver");
    const uint32_t vm = scene_vm(silver, 1);
    snprintf(line, sizeof line, "\ncluster %" PRIu32 " 3 0x", silver);
    await_words(read_links, line);
    oneib_autofree char *text = read_links();
    must_say(text, "\nexits 0x");
    must_say(text, "\nhost 1 0x");
    assert_string_equal(text + strlen(text) - 5, "\nend\n");

    scene_end_vm(vm);
    await_no_links(line);
    const struct stat before = links_stat();
    for (unsigned waited = 0; links_stat().st_mtime == before.st_mtime; waited += 50) {
        assert_true(waited < 15000);
        lab_sleep_ms(50);
    }
    assert_int_equal(links_stat().st_ino, before.st_ino); /* nothing was new: nothing was written */
    MUST(lab_write(scene(), "links", 0644, "spoilt\nend\n", &err));
    await_no_links("spoilt");
    daemon_end();
}

/* Partitions do not depend on it. */
static void a_placers_file_that_cannot_be_written_is_told_of_and_no_ill_health(void **state)
{
    (void)state;
    char qos[512];
    snprintf(qos, sizeof qos,
             "qos = { classes = [\"silver: weight 32, SL 3\"]; links_file = \"%s\"; };",
             lab_path(scene(), "missing/links"));
    daemon_start_with(NULL, DAEMON_QUICK " verify = 1000;", qos);
    scene_vm(scene_network("silver", "", "IB_CLASS=silver"), 1);
    await_said("links-unwritten: links not written for the scheduler's placer: ");
    await_health(200, "ok");
    assert_false(daemon_said("recovered from"));
    assert_int_equal(mkdir(lab_path(scene(), "missing"), 0755), 0);
    await_said("no more links-unwritten");
    daemon_end();
}

/* The line of the text that has these words. */
static const char *line_with(const char *text, const char *words)
{
    static char line[256];
    const char *found = strstr(text, words);
    if (!found)
        fail_msg("\"%s\" is not in: %s", words, text);
    snprintf(line, sizeof line, "%.*s", (int)strcspn(found, "\n"), found);
    return line;
}

static void two_vms(uint32_t network, size_t host, size_t other)
{
    scene_vm(network, host);
    scene_vm(network, other);
    await_holds(host, 0x8000u | await_key_of(network));
    await_holds(other, 0x8000u | await_key_of(network));
}

static void the_topology_shows_classes_of_clusters_and_what_links_carry(void **state)
{
    (void)state;
    daemon_start_with(NULL, NULL, CLASSES);
    two_vms(scene_network("metal", "", "IB_CLASS=gold"), 0, 1);
    two_vms(scene_network("copper", "", "IB_CLASS=silver"), 1, 2);
    const char *text = ONEIB(0, "topology")->out;
    must_say(line_with(text, "host \"H1\""), "carries gold SL 1");
    must_say(line_with(text, "host \"H2\""), "carries gold SL 1, silver SL 3");
    must_not_say(line_with(text, "host \"H4\""), "carries");
    must_say(line_with(text, "network 1 \"metal\"  P_Key"), "ports  gold SL 1");
    must_say(line_with(text, "network 2 \"copper\"  P_Key"), "ports  silver SL 3");
    const char *svg = ONEIB(0, "topology", "--format", "svg")->out;
    must_say(svg, "<title>carries gold SL 1, silver SL 3</title>");
    must_say(svg, ">silver SL 3</tspan>");
    json_t *document = ONEIB_JSON(0, "topology");
    json_t *cluster = json_array_get(json_field(document, "partitions"), 1);
    assert_string_equal(json_text(json_field(cluster, "level"), "class"), "gold");
    daemon_configure(NULL);
    must_not_say(ONEIB(0, "topology")->out, " SL ");
    daemon_end();
}

/* Two leaves and the one spine between them, which has both clusters' packets. Hosts 0 and 1 are on
 * the first leaf, with the subnet manager. */
#define SPINE 2

static int raise_leaves(void **state)
{
    const struct lab_options options = {
        .leaves = 2, .hosts_per_leaf = 2, .spines = 1, .extra_hosts = 2};
    (void)state;
    if (daemon_raise_on(&options, NULL) < 0)
        return -1;
    if (!lab_missing())
        ONEIB(0, "sync", "--force");
    return 0;
}

static void sharing_ends_with_the_switch_that_carried_both_and_comes_back_with_it(void **state)
{
    (void)state;
    scene();
    daemon_start_with(NULL, "verify = 1000;", CLASSES);
    const uint32_t metal = scene_network("metal", "", "IB_CLASS=silver");
    const uint32_t copper = scene_network("copper", "", "IB_CLASS=silver");
    two_vms(metal, 0, 2);
    two_vms(copper, 1, 3);
    await_said("sl-shared: network 1 \"metal\" and network 2");
    must_say(ONEIB(0, "qos", "--links")->out, "3  metal, copper");

    daemon_forget_log();
    MUST(lab_fabric_switch(scene(), SPINE, false, &err));
    await_said("no more sl-shared");
    const struct lab_output *parted = ONEIB(0, "qos", "--links");
    must_not_say(parted->out, "metal, copper");
    must_not_say(parted->error, "sl-shared");

    daemon_forget_log();
    MUST(lab_fabric_switch(scene(), SPINE, true, &err));
    await_said("sl-shared: network 1 \"metal\" and network 2");
    const struct lab_output *met = ONEIB(0, "qos", "--links");
    must_say(met->out, "3  metal, copper");
    must_say(met->error, "both have SL 3, and meet on ");
    daemon_end();
}

/* Of gold's two levels the third network is given the first one with its key, as the first has. */
static void a_cluster_comes_into_force_with_the_level_on_which_it_meets_nobody(void **state)
{
    (void)state;
    daemon_start_with(NULL, "verify = 1000;", CLASSES);
    const uint32_t first = scene_network("first", "", "IB_CLASS=gold");
    two_vms(first, 0, 1);
    const uint32_t second = scene_network("second", "", "IB_CLASS=gold");
    two_vms(second, 2, 3);
    await_shown_level(first, "1");
    await_shown_level(second, "2");
    await_metric("oneib_qos_clusters_deviating", 2); /* oneibd has read tables and routes */

    const uint32_t third = scene_network("third", "", "IB_CLASS=gold");
    await_shown_level(third, "1");
    two_vms(third, 0, 1);
    await_shown_level(third, "2");
    must_not_say(ONEIB(0, "qos", "--links")->error, "sl-shared");
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
        DAEMON_CASE(daemon_raise, tables_and_paths_are_as_printed),
        DAEMON_CASE(daemon_raise, who_asks_for_another_level_than_the_clusters_is_refused),
        DAEMON_CASE(daemon_raise, a_policy_that_somebody_took_away_is_written_again),
        DAEMON_CASE(daemon_raise, a_policy_that_somebody_edited_is_written_again),
        DAEMON_CASE(daemon_raise, a_cluster_that_moves_has_its_new_level_refused_to_nobody),
        DAEMON_CASE(daemon_raise, a_policy_of_the_operators_stays_and_is_named),
        DAEMON_CASE(daemon_raise, a_policy_that_cannot_be_written_keeps_nobody_out),
        DAEMON_CASE(daemon_raise, opensm_without_qos_is_found),
        DAEMON_CASE(daemon_raise, a_table_of_another_kind_of_port_is_found_and_counted),
        DAEMON_CASE(daemon_raise,
                    oneibd_finds_tables_that_were_changed_and_says_when_they_are_right_again),
        DAEMON_CASE(daemon_raise, an_edited_copy_of_the_level_moves_nobody_and_is_put_right),
        DAEMON_CASE(daemon_raise, the_placers_file_has_links_and_clusters_and_is_never_old),
        DAEMON_CASE(daemon_raise,
                    a_placers_file_that_cannot_be_written_is_told_of_and_no_ill_health),
        DAEMON_CASE(daemon_raise, two_clusters_of_one_level_are_named_while_they_meet_on_a_link),
        DAEMON_CASE(daemon_raise,
                    a_cluster_comes_into_force_with_the_level_on_which_it_meets_nobody),
        DAEMON_CASE(daemon_raise, the_topology_shows_classes_of_clusters_and_what_links_carry),
        DAEMON_CASE(raise_leaves,
                    sharing_ends_with_the_switch_that_carried_both_and_comes_back_with_it),
        DAEMON_CASE(daemon_raise, without_classes_no_level_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
