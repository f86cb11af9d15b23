// SPDX-License-Identifier: Apache-2.0
/*
 * What an operator sees of `oneib list`, `show`, `plan`, `topology` and `check`, end to end, and
 * that looking changes nothing.
 */
#include "base/cleanup.h"
#include "cluster/ledger.h"
#include "command_scene.h"
#include <inttypes.h>
#include <libxml/parser.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LCM_MIGRATE 4

/* The line of a table or a diff that contains the words; fails when there is none. */
static const char *line_with(const char *text, const char *words)
{
    static char line[512];
    const char *at = strstr(text, words);
    if (!at)
        fail_msg("\"%s\" is not said: %s", words, text);
    while (at > text && at[-1] != '\n')
        at--;
    snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
    return line;
}

static void list_tells_each_clusters_state_on_the_fabric(void **state)
{
    (void)state;
    scene();
    struct oneib_error err = {0};
    const uint32_t red = scene_network("red", "257", NULL);
    scene_network("unused", "258", NULL);
    MUST(lab_give_keys(scene(), &err));
    lab_let_keys_wait(scene());
    scene_network("keyless", "", NULL);
    scene_network("nonsense", "abc", NULL);
    scene_network("twin", "257", NULL);
    scene_vm(red, 0);

    const char *before = ONEIB(0, "list")->out;
    must_say(line_with(before, "red"),
             "oneadmin:oneadmin  0x0101    1        0      1  not in force");
    must_say(line_with(before, "unused"), "empty");
    must_say(line_with(before, "keyless"), "no key");
    must_say(line_with(before, "nonsense"), "invalid key");
    must_say(line_with(before, "twin"), "conflict");
    must_not_say(before, "0x8101");
    ONEIB(0, "sync");
    const struct lab_output *after = ONEIB(0, "list");
    must_say(line_with(after->out, "red"), "in force");
    must_not_say(after->out, "not in force");
    must_say(after->error, "[pkey-conflict]");
}

static void list_without_the_fabric_compares_with_the_file(void **state)
{
    (void)state;
    scene();
    scene_vm(scene_network("red", "257", NULL), 0);
    must_say(ONEIB(0, "list", "--no-fabric")->out, "not in file");
    ONEIB(0, "sync");
    const char *listed = ONEIB(0, "list", "--no-fabric")->out;
    must_say(line_with(listed, "red"), "in file");
    must_not_say(listed, "not in file");

    json_t *fabric = json_field(ONEIB_JSON(0, "list", "--no-fabric"), "fabric");
    assert_false(json_yes(fabric, "known"));
    assert_null(json_text(fabric, "error"));
}

/* What the ports hold is not known: that the file is right proves nothing. */
static void without_a_subnet_manager_list_and_show_verify_nothing_and_say_so(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    scene_vm(scene_network("red", "257", NULL), 0);
    ONEIB(0, "sync");
    MUST(lab_opensm_stop(lab, LAB_SM.name, true, &err));
    const struct lab_output *listed = ONEIB(1, "list");
    must_say(listed->error,
             "no subnet manager is master: LID 1 does not answer; start opensm here or on");
    must_say(listed->error, "; with --no-fabric it is not asked, and the exit status is 0");
    must_say(line_with(listed->out, "red"), "not verified");
    must_say(ONEIB(1, "show", "1")->out, "state       not verified");
    assert_string_equal(
        json_text(json_array_get(json_field(ONEIB_JSON(1, "list"), "clusters"), 0), "state"),
        "not verified");
    must_say(ONEIB(0, "list", "--no-fabric")->out, "in file");
}

static void a_member_that_is_unplugged_is_off_the_fabric(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    scene_vm(scene_network("red", "257", NULL), 0);
    ONEIB(0, "sync");
    MUST(lab_fabric_link(lab, 0, false, &err));
    for (unsigned i = 0; i < 200 && !strstr(ONEIB(0, "list")->out, "off fabric"); i++) {
        MUST(lab_opensm_signal(lab, LAB_SM.name, 1, &err)); /* SIGHUP: sweep now */
        lab_sleep_ms(50);
    }
    must_say(ONEIB(0, "list")->out, "off fabric");
    assert_int_equal(
        json_number(json_field(ONEIB_JSON(0, "verify"), "verification"), "members_off_fabric"), 1);
}

static void show_tells_a_clusters_attributes_and_its_attachments(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    char extra[128];
    snprintf(extra, sizeof extra, "PHYDEV=mlx4_0:1\nIB_STATIC_GUIDS=0x%016" PRIx64 "=limited\n",
             lab_host_port_guid(lab, SCENE_EXTRA));
    const uint32_t red = scene_network("red", "257", extra);
    const uint32_t vm = scene_vm(red, 0);
    MUST(lab_vm_set_nic(lab, vm, 1, "IB_MEMBERSHIP=limited", &err));
    ONEIB(0, "sync");

    const char *shown = ONEIB(0, "show", "1")->out;
    must_say(shown, "virtual cluster 1 \"red\"");
    must_say(shown, "P_Key       0x0101 (VLAN_ID 257)");
    must_say(shown, "HCA         mlx4_0 port 1");
    must_say(shown, "static      0x000000000010000b limited");
    must_say(shown, "1 VM on 1 host");
    must_say(line_with(shown, "RUNNING"), "H1    0x0000000000100003  10.20.0.10  limited     yes");
    must_say(ONEIB(3, "show", "77")->error, "there is no InfiniBand network 77");
}

static void show_of_a_sharing_reservation_shows_the_cluster_it_is_in(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    const uint32_t parent = scene_network("parent", "300", "IB_RESERVATION=shared\n");
    const uint32_t reservation = scene_reservation(parent);
    MUST(lab_network_update(lab, reservation, "IB_MEMBERSHIP=limited", &err));
    scene_vm(parent, 0);
    scene_vm(reservation, 1);
    ONEIB(0, "sync");
    assert_true(port_holds(0, FULL(300)));
    assert_true(port_holds(1, LIMITED(300)));

    const struct lab_output *shown = ONEIB(0, "show", "2");
    must_say(shown->error,
             "network 2 \"reservation\" shares the partition of network 1 \"parent\"");
    must_say(shown->out, "virtual cluster 1 \"parent\"");
    must_say(line_with(shown->out, "H1 "), "full");
    must_say(line_with(shown->out, "H2 "), "limited");
}

static void show_says_why_a_vm_on_the_subnet_managers_host_is_no_member(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    char guid[32];
    uint32_t host;
    snprintf(guid, sizeof guid, "0x%016" PRIx64, LAB_SM_PORT_GUID);
    MUST(lab_host_create(scene(), "SM", "mlx4_0", "mlx4", guid, 63, 7, &host, &err));
    scene_vm(scene_network("red", "257", NULL), host);
    ONEIB(1, "sync"); /* the finding is a violation */
    const struct lab_output *shown = ONEIB(0, "show", "1");
    must_say(line_with(shown->out, "RUNNING"), "no: port-refused");
    must_say(shown->out, "the host's port must not serve it: see the findings");
    must_say(shown->error, "[port-full-member]");
}

static void show_takes_a_name_that_is_one_networks_alone(void **state)
{
    (void)state;
    scene();
    scene_network("red", "257", NULL);
    scene_network("twin", "258", NULL);
    scene_network("twin", "259", NULL);
    scene_network("2", "260", NULL);
    must_say(ONEIB(0, "show", "red")->out, "virtual cluster 1 \"red\"\n  owner       oneadmin:");
    must_say(ONEIB(3, "show", "twin")->error,
             "2 networks are called \"twin\": 2 (oneadmin:oneadmin), 3 (oneadmin:oneadmin); say by "
             "its id which one");
    must_say(ONEIB(0, "show", "2")->out, "virtual cluster 2 \"twin\"");
    must_say(ONEIB(0, "show", "4")->out, "virtual cluster 4 \"2\"");
    must_say(ONEIB(3, "show", "Red")->error, "no InfiniBand network is called \"Red\"");
    must_say(ONEIB(3, "show", "0x1")->error, "no InfiniBand network is called \"0x1\"");
    json_t *error = json_field(ONEIB_JSON(3, "show", "twin"), "error");
    assert_string_equal(json_text(error, "code"), "input");
}

static void show_shows_its_own_findings_alone(void **state)
{
    (void)state;
    scene();
    scene_network("red", "257", NULL);
    scene_network("nonsense", "abc", NULL);
    scene_network("twin", "257", NULL);
    const char *red = ONEIB(0, "show", "red")->error;
    must_say(
        red,
        "network 3 \"twin\" is to have P_Key 0x0101 (VLAN_ID 257), which network 1 \"red\" has");
    must_not_say(red, "nonsense");
    const char *nonsense = ONEIB(0, "show", "nonsense")->error;
    must_say(nonsense, "[pkey-invalid]");
    must_not_say(nonsense, "[pkey-conflict]");
    json_t *findings = json_field(ONEIB_JSON(0, "show", "nonsense"), "findings");
    json_t *about = json_field(json_find(findings, "code", "pkey-invalid"), "about");
    assert_int_equal(json_number(json_array_get(about, 0), "network"), 2);
}

static void show_says_which_vm_is_not_in_force_and_why(void **state)
{
    (void)state;
    scene();
    const uint32_t red = scene_network("red", "257", NULL);
    scene_vm(red, 0);
    must_say(ONEIB(0, "show", "red", "--no-fabric")->out, "not asked");
    const char *before = ONEIB(0, "show", "red")->out;
    must_say(line_with(before, " H1 "), "no: key-lacking");
    must_say(before, "\nkey-lacking: the port's table lacks the key");
    ONEIB(0, "sync");
    scene_vm(red, 1);
    const char *after = ONEIB(0, "show", "red")->out;
    must_say(line_with(after, " H1 "), "yes");
    must_say(line_with(after, " H2 "), "no: key-lacking");
}

static void a_long_name_is_cut_so_that_the_list_fits(void **state)
{
    (void)state;
    scene();
    scene_network("a-network-whose-owner-had-a-lot-to-say-about-what-it-is-for", "257", NULL);
    const char *listed = ONEIB(0, "list")->out;
    must_say(line_with(listed, "a-network"), "...");
    for (size_t length; *listed; listed += length + 1) {
        length = strcspn(listed, "\n");
        assert_true(length <= 80);
    }
}

static void hosts_tells_ports_vfs_keys_and_what_is_wrong(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    uint32_t bare;
    scene_vm(scene_network("red", "257", NULL), 0);
    ONEIB(0, "sync");
    must_say(ONEIB(0, "hosts")->out, "\nhost \"H1\": the key of its oneib-node is not accepted");
    MUST(lab_accept_waiting(lab, &err));
    const char *well = ONEIB(0, "hosts")->out;
    must_say(line_with(well, "H1 "), "mlx4_0/1  0x0000000000100003  L1");
    must_say(line_with(well, "H1 "), "1    63   64    1/63");
    must_say(line_with(well, "H2 "), "0    64   64    1/63");
    must_not_say(well, "host \"");
    must_say(line_with(ONEIB(0, "hosts", "--no-fabric")->out, "H1 "), "1    63   64       -");

    MUST(lab_host_create_bare(lab, "bare", &bare, &err));
    MUST(lab_host_monitor(lab, 2, "IB_PROBLEM=\"mlx4_0: VFs are bound to nobody\"", &err));
    MUST(lab_fabric_link(lab, 1, false, &err));
    for (unsigned i = 0; i < 200 && !strstr(ONEIB(0, "hosts")->out, "off the fabric"); i++) {
        MUST(lab_opensm_signal(lab, LAB_SM.name, 1, &err)); /* SIGHUP: sweep now */
        lab_sleep_ms(50);
    }
    const char *wrong = ONEIB(0, "hosts")->out;
    must_say(wrong, "\nhost \"H2\" port mlx4_0/1 is off the fabric");
    must_say(wrong, "\nhost \"H3\": its probe says: mlx4_0: VFs are bound to nobody\n");
    must_say(wrong, "\nhost \"bare\": its probe is silent");
    json_t *hosts = json_field(ONEIB_JSON(0, "hosts"), "hosts");
    assert_int_equal(json_array_size(json_field(json_find(hosts, "name", "H2"), "problems")), 1);
}

static void show_names_both_hosts_of_a_migration(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    const uint32_t vm = scene_vm(scene_network("red", "257", NULL), 0);
    ONEIB(0, "sync");
    MUST(lab_vm_migrate(lab, vm, 1, LCM_MIGRATE, &err));
    must_say(line_with(ONEIB(0, "show", "1")->out, "MIGRATE"), "H1 -> H2");
    json_t *attachments = json_field(ONEIB_JSON(0, "show", "1"), "attachments");
    assert_string_equal(json_text(json_array_get(attachments, 0), "source_host"), "H1");
    must_say(ONEIB(0, "plan")->out, "+ 0x0000000000100005  full     H2 mlx4_0/1 (VM 0)");
}

static void a_network_that_is_infiniband_no_more_is_shown_with_its_members(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    const uint32_t red = scene_network("red", "257", NULL);
    scene_vm(red, 0);
    ONEIB(0, "sync");
    MUST(lab_network_update(lab, red, "VN_MAD=bridge\nBRIDGE_TYPE=linux", &err));
    scene_vm(red, 1); /* by the bridge's driver */

    must_say(ONEIB(0, "plan", "--exit-code")->out, "plan: nothing to do");
    const struct lab_output *list = ONEIB(0, "list");
    must_say(line_with(list->out, "red"), "0x0101");
    must_say(list->error, "[network-switched]");
    must_say(list->error, "onevnet update 1 --append");
    const struct lab_output *show = ONEIB(0, "show", "red");
    must_say(show->out, "driver      \"bridge\": InfiniBand only for VMs that run with it");
    must_say(show->out, "size        1 VM on 1 host");
    must_say(show->error, "[network-switched]");
    json_t *cluster = ONEIB_JSON(0, "show", "1");
    assert_string_equal(json_text(cluster, "other_driver"), "bridge");
    assert_string_equal(json_text(cluster, "state"), "in force");
    assert_int_equal(json_array_size(json_field(cluster, "attachments")), 1);
    ONEIB(0, "verify");

    MUST(lab_network_update(lab, red, "VN_MAD=infiniband\nBRIDGE_TYPE=none", &err));
    must_not_say(ONEIB(0, "list")->error, "[network-switched]");
}

static void plan_of_a_new_installation_writes_the_file(void **state)
{
    (void)state;
    struct lab *lab = scene();
    const struct lab_output *plan = ONEIB(1, "plan", "--exit-code");
    must_say(plan->out, "+ Default  0x7fff  new default partition");
    must_say(plan->out, "is absent and will be written");
    assert_int_not_equal(access(lab_partitions(lab), F_OK), 0);
    ONEIB(0, "sync"); /* nothing is lost: no --force needed */
    ONEIB(0, "plan", "--exit-code");
}

static void plan_is_a_diff_of_partitions_members_and_keys(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    const uint32_t red = scene_network("red", "257", NULL), blue = scene_network("blue", "258", "");
    const uint32_t red_vm = scene_vm(red, 0);
    const uint32_t blue_vm = scene_vm(blue, 1);
    scene_vm(blue, 2);
    ONEIB(0, "sync");
    must_say(ONEIB(0, "plan", "--exit-code")->out, "plan: nothing to do");

    scene_end_vm(red_vm);
    scene_end_vm(blue_vm);
    MUST(lab_network_update(lab, blue, "IB_MEMBERSHIP=limited", &err));
    MUST(lab_network_update(lab, blue, "MTU=1020", &err));
    scene_vm(scene_network("green", "259", NULL), 3);
    MUST(lab_give_keys(lab, &err));
    lab_let_keys_wait(lab);
    scene_network("keyless", "", NULL);

    const char *plan = ONEIB(1, "plan", "--exit-code")->out;
    must_say(plan, "* network 4 \"keyless\" gets P_Key 0x0100");
    must_say(plan, "- one1  0x0101  end of virtual cluster \"red\"\n"
                   "  - 0x0000000000100003  full     H1 mlx4_0/1\n");
    must_say(plan, "~ one2  0x0102  virtual cluster \"blue\": mtu 2048 -> 1024\n"
                   "  - 0x0000000000100005  full     H2 mlx4_0/1\n"
                   "  ~ 0x0000000000100007  limited (was full)  H3 mlx4_0/1 (VM 2)\n");
    must_say(plan, "+ one3  0x0103  new virtual cluster \"green\"\n"
                   "  + 0x0000000000100009  full     H4 mlx4_0/1 (VM 3)\n");
    must_say(plan, "plan: 1 partition and 1 member to add, 1 partition and 2 members to remove, "
                   "1 partition and 1 member to change, 1 P_Key to give\n");
    ONEIB(0, "plan");
}

static void a_vm_with_two_nics_in_a_network_is_named_once(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    const uint32_t red = scene_network("red", "257", NULL);
    uint32_t vm;
    MUST(lab_vm_start(lab, "vm", (const uint32_t[]){red, red}, 2, 0, &vm, &err));
    must_say(ONEIB(0, "plan")->out, "(VM 0)\n");
    json_t *changes = json_field(ONEIB_JSON(0, "plan"), "changes");
    json_t *member = json_find(changes, "member", "0x0000000000100003");
    assert_int_equal(json_array_size(json_field(member, "vms")), 1);
}

static void looking_changes_nothing(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    scene_network("blue", "258", NULL);
    scene_vm(scene_network("red", "257", NULL), 0);
    MUST(lab_give_keys(lab, &err));
    lab_let_keys_wait(lab);
    const uint32_t keyless = scene_network("keyless", "", NULL);
    struct stat before, after;
    assert_int_equal(stat(lab_partitions(lab), &before), 0);
    oneib_autofree char *tables = scene_tables();

    ONEIB(0, "list");
    ONEIB(0, "show", "2");
    ONEIB(0, "plan");
    ONEIB(0, "topology");
    ONEIB(0, "check");
    ONEIB(1, "verify");

    assert_int_equal(stat(lab_partitions(lab), &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(scene_key_of(keyless), 0);
    oneib_autofree char *tables_after = scene_tables();
    assert_string_equal(tables_after, tables);
}

/* A file that is not oneib's is shown, left alone, and replaced only with --force. */
static void take_over(const char *content, const char *file_state, const char *why)
{
    struct lab *lab = scene();
    struct oneib_error err = {0};
    const uint32_t keyless = scene_network("keyless", "", NULL);
    MUST(lab_write(lab, "partitions.conf", 0644, content, &err));
    const struct lab_output *plan = ONEIB(1, "plan", "--exit-code");
    must_say(plan->out, why);
    must_say(plan->out, "\n  | keep=0x20 : ");
    must_say(plan->out, "only 'oneib sync --force' replaces it");
    const bool is_foreign = strcmp(file_state, "foreign") == 0;
    const char *lost = "full membership of partition \"Default\" (0x7fff) ends for ";
    if (is_foreign)
        must_say(plan->error, lost);
    json_t *file = json_field(ONEIB_JSON(0, "plan"), "file");
    assert_string_equal(json_text(file, "state"), file_state);
    assert_true(json_yes(file, "needs_force"));
    assert_string_equal(json_text(file, "content"), content);

    must_say(ONEIB(3, "sync")->error, "oneib sync --force");
    assert_int_equal(scene_key_of(keyless), 0);
    oneib_autofree char *untouched = scene_file();
    assert_string_equal(untouched, content);

    const struct lab_output *taken_over = ONEIB(0, "sync", "--force");
    if (is_foreign)
        must_say(taken_over->error, lost);
    must_not_say(ONEIB(0, "plan", "--exit-code")->error, "access-removed");
    assert_int_equal(scene_key_of(keyless), 256);
    oneib_autofree char *taken = scene_file();
    must_not_say(taken, "keep");
}

static void somebody_elses_file_is_shown_and_taken_over_with_force_alone(void **state)
{
    (void)state;
    take_over("Default=0x7fff : ALL=full;\nkeep=0x20 : 0x100003=full;\n", "foreign",
              "- keep  0x0020  end of partition");
}

static void an_unreadable_file_is_shown_and_taken_over_with_force_alone(void **state)
{
    (void)state;
    take_over("keep=0x20 : 0x100003=ful;\n", "unreadable",
              "where opensm cannot parse it either, every port is a full member");
}

static void topology_shows_where_clusters_are(void **state)
{
    (void)state;
    scene();
    const uint32_t red = scene_network("red", "257", NULL), blue = scene_network("blue", "258", "");
    scene_vm(red, 0);
    scene_vm(red, 1);
    scene_vm(blue, 1);
    ONEIB(0, "sync");

    const char *text = ONEIB(0, "topology")->out;
    must_say(line_with(text, "\"H1\""), "  network 1 \"red\"");
    must_not_say(line_with(text, "\"H1\""), "blue");
    must_say(line_with(text, "\"H2\""), "networks 1 \"red\", 2 \"blue\"");
    must_not_say(line_with(text, "\"H3\""), "network");
    must_say(text, "\nnetwork 2 \"blue\"  P_Key 0x0102  1 port\n");
    must_say(text, "hosts 7, switches 1, links 7");

    const char *dot = ONEIB(0, "topology", "--format", "dot")->out;
    assert_int_equal(strncmp(dot, "graph fabric {\n", 15), 0);
    must_say(line_with(dot, "label=\"H1\""), "fillcolor");
    must_not_say(line_with(dot, "label=\"H3\""), "fillcolor");
    must_say(dot, ">blue</td><td align=\"left\">network 2, 0x0102<");

    const struct lab_output *svg = ONEIB(0, "topology", "--format", "svg");
    xmlDoc *document = xmlReadMemory(svg->out, (int)svg->out_length, "fabric.svg", NULL,
                                     XML_PARSE_NONET | XML_PARSE_NOERROR);
    assert_non_null(document);
    assert_string_equal((const char *)xmlDocGetRootElement(document)->name, "svg");
    xmlFreeDoc(document);
    must_say(svg->out, "port 1 0x0000000000100005: red, blue</title>");

    const char *chosen = ONEIB(0, "topology", "--format", "dot", "--cluster", "blue")->out;
    must_say(chosen, ">network 2, 0x0102<");
    must_say(chosen, ">1 other<");
    must_say(ONEIB(0, "topology", "--format", "dot", "--cluster", "1")->out, ">network 1, 0x0101<");
    must_say(ONEIB(3, "topology", "--format", "dot", "--cluster", "77")->error,
             "network 77 has no virtual cluster");
}

static void topology_falls_back_to_the_file_when_oned_is_silent(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    scene_vm(scene_network("red", "257", NULL), 0);
    ONEIB(0, "sync");
    MUST(lab_standin_stop(lab, &err));
    const struct lab_output *drawn = ONEIB(0, "topology");
    must_say(line_with(drawn->out, "\"H1\""), "  network 1");
    must_say(drawn->error, "virtual clusters are from ");
    assert_string_equal(json_text(ONEIB_JSON(0, "topology"), "partitions_from"), "file");
}

static void check_of_a_whole_installation_is_ok_and_names_oneds_version(void **state)
{
    (void)state;
    scene();
    const char *checked = ONEIB(0, "check")->out;
    must_say(checked, "ok    oned: OpenNebula 7.4.0\n");
    must_say(checked, "ok    subnet-manager: master");
    must_say(checked, "ok    hosts: 4 of 4 report InfiniBand ports");
    must_not_say(checked, "fail");
    /* The lab's opensm has no keys, and that is all. */
    static const char *const warnings[] = {"warn  m-key: ", "warn  sa-key: ", "warn  sm-key: "};
    const char *rest = checked;
    for (size_t i = 0; i < sizeof warnings / sizeof *warnings; i++) {
        must_say(rest, warnings[i]);
        rest = strstr(rest, warnings[i]) + strlen(warnings[i]);
    }
    must_not_say(rest, "warn");
}

/* The line of `oneib check` about the subnet manager, and the next: what to do. */
static const char *what_check_says_of_the_sm(int status)
{
    static char lines[1024];
    const char *checked = ONEIB(status, "check")->out;
    const char *at = strstr(checked, "subnet-manager: ");
    if (!at)
        fail_msg("nothing is said of the subnet manager: %s", checked);
    const char *end = strchr(strchr(at, '\n') + 1, '\n');
    snprintf(lines, sizeof lines, "%.*s", (int)(end - at) + 6, at - 6);
    return lines;
}

static void check_tells_a_standby_that_took_over_from_no_subnet_manager(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    const struct lab_sm standby = {
        .name = "standby", .hca = LAB_SECOND_SM_HCA, .priority = 3, .partitions = NULL};
    MUST(lab_opensm_start(lab, &standby, &err));
    must_say(what_check_says_of_the_sm(0), "ok    subnet-manager: master, on this port");

    MUST(lab_opensm_stop(lab, LAB_SM.name, false, &err));
    MUST(lab_opensm_await_master(lab, standby.name, SCENE_TIMEOUT_MS, &err));
    const char *said = what_check_says_of_the_sm(1);
    must_say(said, "warn  subnet-manager: none on this port; the master is 0x000000000010000b: ");
    must_say(said, "\n      start opensm here, as the standby, or run oneib where ");

    MUST(lab_opensm_stop(lab, standby.name, false, &err));
    said = what_check_says_of_the_sm(1);
    must_say(said, "fail  subnet-manager: no subnet manager is master: LID ");
    const char *fix = strstr(said, "start opensm");
    assert_non_null(fix);
    assert_null(strstr(fix + 1, "start opensm")); /* it is said once */
}

/* oneib is another user of OpenNebula from now on. */
static void become(const char *session, const char *settings)
{
    struct oneib_error err = {0};
    char line[128];
    const struct lab_config more = {.one = settings};
    snprintf(line, sizeof line, "%s\n", session);
    MUST(lab_config_write(scene(), &more, &err));
    MUST(lab_write(scene(), "one_auth", 0600, line, &err));
}

static void check_says_whether_oneibs_user_sees_everything(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    must_say(ONEIB(0, "check")->out, "ok    user: a member of OpenNebula's group oneadmin");
    MUST(lab_acl_rights(lab, "VM HOST NET", &err));
    become(lab_acl_session(lab), NULL);
    const char *checked = ONEIB(1, "check")->out;
    must_say(checked, "fail  user: no member of OpenNebula's group oneadmin");
    must_say(checked, "one.acl_user = true");
    must_say(checked, "ok    restrictions: ");
    must_say(checked, "ok    placement: OpenNebula's scheduler asks the placer \"rank\"");
    become(lab_acl_session(lab), "acl_user = true;");
    checked = ONEIB(0, "check")->out;
    must_say(checked, "ok    user: no member of OpenNebula's group oneadmin; one.acl_user says");
    must_say(checked, "ok    restrictions: ");
}

static void check_warns_of_a_placer_that_stands_behind_another(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    MUST(lab_fault(scene(), "late-placer", 1, 0, &err));
    const char *checked = ONEIB(0, "check")->out;
    must_say(checked, "warn  placement: OpenNebula's scheduler asks the placer \"rank\": a "
                      "SCHED_MAD that names \"ib\" stands behind another in oned.conf");
    must_say(checked, "run install.sh --frontend --scheduler");
    must_not_say(ONEIB(0, "check")->out, "warn  placement");
}

static void check_says_that_opennebula_6_10_places_by_itself(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    MUST(lab_fault(scene(), "no-placer", 1, 0, &err));
    must_say(ONEIB(0, "check")->out, "ok    placement: OpenNebula places VMs by itself");
}

static void check_warns_of_mlx5_adapters_that_opensm_does_not_serve(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    uint32_t id;
    MUST(lab_host_create(scene(), "X1", "mlx5_0", "mlx5", "0x000000000010000b", 63, 7, &id, &err));
    must_say(ONEIB(0, "check")->out, "warn  virtual-ports: 1 host");
}

static void check_fails_and_tells_the_mend_when_parts_are_missing(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    MUST(lab_write(lab, "static-partitions.conf", 0644, "storage=0x0010 : ALL=ful;\n", &err));
    MUST(lab_opensm_stop(lab, LAB_SM.name, true, &err));
    MUST(lab_standin_stop(lab, &err));
    json_t *document = ONEIB_JSON(1, "check");
    assert_false(json_yes(document, "ok"));
    static const char *const failing[] = {"oned", "opensm", "static_partitions"};
    for (size_t i = 0; i < sizeof failing / sizeof *failing; i++) {
        json_t *check = json_find(json_field(document, "checks"), "check", failing[i]);
        assert_non_null(check);
        assert_string_equal(json_text(check, "status"), "fail");
        assert_non_null(json_text(check, "fix"));
    }
}

#define A_KEY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define ANOTHER_KEY "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

/* One daemon has entered itself. */
static void make_ledger(void)
{
    struct lab *lab = scene();
    struct oneib_error err = {0};
    uint32_t id;
    MUST(lab_document_make(lab, lab_session(lab), ONEIB_LEDGER_TYPE,
                           "NAME = \"oneib\"\nVERSION = \"1\"\nSERIAL = \"1\"\nNEXT = \"0x0100\"\n"
                           "DAEMON = [ ADDRESS = \"tcp://127.0.0.1:1\", CURVE = \"" A_KEY
                           "\", SIGN = \"" ANOTHER_KEY "\", SINCE = \"1795223384\" ]",
                           &id, &err));
}

static void daemons_are_those_of_the_ledger(void **state)
{
    (void)state;
    scene();
    must_say(ONEIB(3, "daemons")->error, "no oneibd has entered itself into the ledger yet");
    make_ledger();
    const char *lines = ONEIB(0, "daemons")->out;
    must_say(lines, "tcp://127.0.0.1:1 " A_KEY " " ANOTHER_KEY "\n");
    json_t *daemons = json_field(ONEIB_JSON(0, "daemons"), "daemons");
    json_t *daemon = json_find(daemons, "address", "tcp://127.0.0.1:1");
    assert_string_equal(json_text(daemon, "curve"), A_KEY);
    assert_string_equal(json_text(daemon, "sign"), ANOTHER_KEY);
}

#define REMOTES "one/var/remotes"
#define THE_LINE "tcp://127.0.0.1:1 " A_KEY " " ANOTHER_KEY "\n"

/* A front-end whose remotes have that in etc/oneib/daemons; NULL: no such file. */
static const char *check_with_remotes(int status, const char *daemons)
{
    static const char *const directories[] = {"one", "one/var", REMOTES, REMOTES "/etc",
                                              REMOTES "/etc/oneib"};
    struct oneib_error err = {0};
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
        mkdir(lab_path(scene(), directories[i]), 0755);
    if (daemons)
        MUST(lab_write(scene(), REMOTES "/etc/oneib/daemons", 0644, daemons, &err));
    setenv("ONE_LOCATION", lab_path(scene(), "one"), 1);
    const char *said = ONEIB(status, "check")->out;
    unsetenv("ONE_LOCATION");
    return said;
}

static void check_says_when_no_daemon_has_entered_itself(void **state)
{
    (void)state;
    scene();
    must_say(check_with_remotes(0, NULL), "warn  daemons: no oneibd has entered itself");
}

static void check_fails_where_remotes_lack_the_ledgers_daemons(void **state)
{
    (void)state;
    scene();
    make_ledger();
    static const char command[] = "      oneib daemons | su - oneadmin -c 'cat "
                                  ">~/remotes/etc/oneib/daemons && onehost sync -f'\n";
    static const char *const wrong[] = {
        NULL,
        "# none\n",
        "nonsense\n",
        "tcp://10.0.0.2:9678 " A_KEY " " ANOTHER_KEY "\n",
        "tcp://127.0.0.1:1 " ANOTHER_KEY " " A_KEY "\n",
        THE_LINE "tcp://10.0.0.2:9678 " ANOTHER_KEY " " A_KEY "\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *said = check_with_remotes(1, wrong[i]);
        must_say(said, "fail  daemons: ");
        must_say(said, command);
    }
}

static void check_is_content_with_the_ledgers_daemons_in_the_remotes(void **state)
{
    (void)state;
    scene();
    make_ledger();
    const char *said = check_with_remotes(0, "# from the ledger\n" THE_LINE);
    must_say(said, "ok    daemons: ");
    must_say(said, "/one/var/remotes/etc/oneib/daemons has the 1 of the ledger\n");
}

static void check_warns_of_a_daemon_of_the_ledger_that_does_not_answer(void **state)
{
    (void)state;
    scene();
    make_ledger();
    const char *said = check_with_remotes(0, THE_LINE);
    must_say(said, "warn  daemon-silent: the ledger has an oneibd at tcp://127.0.0.1:1,");
    must_say(said, "oneib daemons forget tcp://127.0.0.1:1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_CASE(scene_raise, list_tells_each_clusters_state_on_the_fabric),
        SCENE_CASE(scene_raise, list_without_the_fabric_compares_with_the_file),
        SCENE_CASE(scene_raise, without_a_subnet_manager_list_and_show_verify_nothing_and_say_so),
        SCENE_CASE(scene_raise, check_tells_a_standby_that_took_over_from_no_subnet_manager),
        SCENE_CASE(scene_raise, a_member_that_is_unplugged_is_off_the_fabric),
        SCENE_CASE(scene_raise, show_tells_a_clusters_attributes_and_its_attachments),
        SCENE_CASE(scene_raise, show_of_a_sharing_reservation_shows_the_cluster_it_is_in),
        SCENE_CASE(scene_raise, show_says_why_a_vm_on_the_subnet_managers_host_is_no_member),
        SCENE_CASE(scene_raise, show_takes_a_name_that_is_one_networks_alone),
        SCENE_CASE(scene_raise, show_shows_its_own_findings_alone),
        SCENE_CASE(scene_raise, show_says_which_vm_is_not_in_force_and_why),
        SCENE_CASE(scene_raise, a_long_name_is_cut_so_that_the_list_fits),
        SCENE_CASE(scene_raise_with_vfs, hosts_tells_ports_vfs_keys_and_what_is_wrong),
        SCENE_CASE(scene_raise_with_vfs, daemons_are_those_of_the_ledger),
        SCENE_CASE(scene_raise_with_vfs, check_says_when_no_daemon_has_entered_itself),
        SCENE_CASE(scene_raise_with_vfs, check_fails_where_remotes_lack_the_ledgers_daemons),
        SCENE_CASE(scene_raise_with_vfs, check_is_content_with_the_ledgers_daemons_in_the_remotes),
        SCENE_CASE(scene_raise_with_vfs,
                   check_warns_of_a_daemon_of_the_ledger_that_does_not_answer),
        SCENE_CASE(scene_raise, show_names_both_hosts_of_a_migration),
        SCENE_CASE(scene_raise, a_network_that_is_infiniband_no_more_is_shown_with_its_members),
        SCENE_CASE(scene_raise_new, plan_of_a_new_installation_writes_the_file),
        SCENE_CASE(scene_raise, plan_is_a_diff_of_partitions_members_and_keys),
        SCENE_CASE(scene_raise, a_vm_with_two_nics_in_a_network_is_named_once),
        SCENE_CASE(scene_raise, looking_changes_nothing),
        SCENE_CASE(scene_raise_new, somebody_elses_file_is_shown_and_taken_over_with_force_alone),
        SCENE_CASE(scene_raise_new, an_unreadable_file_is_shown_and_taken_over_with_force_alone),
        SCENE_CASE(scene_raise, topology_shows_where_clusters_are),
        SCENE_CASE(scene_raise, topology_falls_back_to_the_file_when_oned_is_silent),
        SCENE_CASE(scene_raise, check_of_a_whole_installation_is_ok_and_names_oneds_version),
        SCENE_CASE(scene_raise, check_says_whether_oneibs_user_sees_everything),
        SCENE_CASE(scene_raise, check_warns_of_a_placer_that_stands_behind_another),
        SCENE_CASE(scene_raise, check_says_that_opennebula_6_10_places_by_itself),
        SCENE_CASE(scene_raise, check_warns_of_mlx5_adapters_that_opensm_does_not_serve),
        SCENE_CASE(scene_raise, check_fails_and_tells_the_mend_when_parts_are_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
