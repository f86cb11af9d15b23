// SPDX-License-Identifier: Apache-2.0
/*
 * Virtual ports end to end: VFs of mlx5 on simulated nodes, given by the real programs, whose
 * adapters are asked about them over the fabric. Adapters and the subnet manager's part in this are
 * a stand-in's (m-key-standin/vports.h), of which each guess is a switch: where an adapter does
 * otherwise nothing may be called verified.
 */
#include "../skip.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "node_scene.h"

#define BLUE 258
#define VFS 2 /* all of them are used: who misses the last one misses something */
#define TRY "sm: { kind = \"nvidia-opensm\"; }; fabric: { virtual_ports = \"try\"; };"
#define CLASSES " qos: { classes = [\"gold: weight 64, SL 1-2\"]; vls = 8; };"
#define OFF "sm: { kind = \"nvidia-opensm\"; };"

/* ---- the scene ------------------------------------------------------------------------------- */

static uint32_t red, blue;
static uint32_t vms[3]; /* of red and blue on host 0, of red on host 1 */

static int raise_nodes(void **state)
{
    const struct lab_options fabric = {.leaves = 1, .hosts_per_leaf = 2, .virtual_ports = true};
    struct lab_node_options options = LAB_NODES_DEFAULTS;
    (void)state;
    options.driver = ONEIB_HCA_MLX5;
    options.vfs = VFS;
    return lab_missing() ? 0 : start_on(&fabric, &options);
}

static int end_nodes(void **state)
{
    (void)state;
    lab_close(lab);
    lab = NULL;
    return 0;
}

static void run(int status, struct lab_output *output, const char *const *arguments)
{
    lab_output_clear(output);
    ok(lab_oneib(lab, arguments, CHANGE_MS, output, &err));
    if (output->status != status)
        fail_msg("oneib %s ended with %d, not %d: %s%s", arguments[0], output->status, status,
                 output->out, output->error);
}
#define ONEIB(status, output, ...) run(status, output, (const char *[]){__VA_ARGS__, NULL})

static void boot(uint32_t network, size_t host, uint32_t *vm)
{
    ok(lab_vm_create(lab, "vm", &network, 1, vm, &err));
    ok(lab_vm_deploy(lab, *vm, (uint32_t)host, &err));
    ok(lab_node_boot(lab, host, *vm, &err));
}

/* What oneib-node has reported is known a moment later. */
static void await_words(const char *words, int status, const char *const *arguments)
{
    struct lab_output output = {0};
    for (unsigned waited = 0;; waited += 100) {
        lab_output_clear(&output);
        ok(lab_oneib(lab, arguments, CHANGE_MS, &output, &err));
        if (output.status == status && strstr(output.out, words))
            break;
        if (waited > CHANGE_MS)
            fail_msg("oneib %s ended with %d and does not say \"%s\": %s%s", arguments[0],
                     output.status, words, output.out, output.error);
        lab_sleep_ms(100);
    }
    lab_output_clear(&output);
}
#define AWAIT(words, status, ...) await_words(words, status, (const char *[]){__VA_ARGS__, NULL})

static void begin_with(const char *settings, const char *daemon)
{
    char polls[96];
    snprintf(polls, sizeof polls, "poll_preparing = 300; poll_idle = 1000; %s", daemon);
    const struct lab_config config = {.daemon = polls, .other = settings};
    struct lab_output output = {0};
    if (lab_missing())
        skip_because("%s is not installed", lab_missing());
    ok(lab_add_nodes(lab, &err));
    ok(lab_network_create(lab, "red", "257", NULL, &red, &err));
    ok(lab_network_create(lab, "blue", "258", NULL, &blue, &err));
    ok(lab_config_write(lab, &config, &err));
    ONEIB(0, &output, "sync", "--force");
    lab_output_clear(&output);
    ok(lab_oneibd_start(lab, &LAB_DAEMON, &err));
    ok(lab_nodes_await_grants(lab, &err));
    boot(red, 0, &vms[0]);
    boot(blue, 0, &vms[1]);
    boot(red, 1, &vms[2]);
}

static void begin(const char *settings)
{
    begin_with(settings, "");
}

/* Lines of the stand-in's own file. */
static void set_adapters(const char *text)
{
    ok(lab_write(lab, "virtual-ports", 0644, text, &err));
}

static oneib_guid guid_of(size_t host, uint32_t vm)
{
    return oneib_guid_encode(0, vm, (uint8_t)claim_of(host, vm).nic);
}

/* In the table of the third VM's virtual port. */
static void set_entry(unsigned index, unsigned raw)
{
    char line[96];
    snprintf(line, sizeof line, "key 0x%016" PRIx64 " %u 0x%04x\n", guid_of(1, vms[2]), index, raw);
    set_adapters(line);
}

static void must_say(const char *text, const char *words)
{
    if (!strstr(text, words))
        fail_msg("\"%s\" is not in: %s", words, text);
}

static void must_not_say(const char *text, const char *words)
{
    if (strstr(text, words))
        fail_msg("\"%s\" is in: %s", words, text);
}

static void drop_blanks(char *text)
{
    char *to = text;
    for (; *text; text++)
        if (*text != ' ' && *text != '\n')
            *to++ = *text;
    *to = '\0';
}

static size_t count_words(const char *text, const char *words)
{
    size_t count = 0;
    for (; (text = strstr(text, words)); text++)
        count++;
    return count;
}

/* ---- verify ---------------------------------------------------------------------------------- */

#define PROVEN "virtual ports: 3 read, of 2 of 2 adapters\n"

static void virtual_ports_that_answer_as_guessed_are_verified(void **state)
{
    struct lab_output output = {0};
    (void)state;
    begin(TRY);
    AWAIT(PROVEN, 0, "verify");
    ONEIB(0, &output, "verify");
    must_say(output.out, "no deviation\n");
    must_not_say(output.error, "virtual-ports-unproven");
    lab_output_clear(&output);
}

static void a_wrong_key_in_a_virtual_ports_table_is_named_as_any_ports(void **state)
{
    struct lab_output output = {0};
    char guid[ONEIB_GUID_TEXT_SIZE], network[32];
    (void)state;
    begin(TRY);
    AWAIT(PROVEN, 0, "verify");
    set_entry(9, 0x8000 | BLUE);
    oneib_guid_format(guid_of(1, vms[2]), guid);
    ONEIB(1, &output, "verify");
    must_say(output.out, PROVEN);
    must_say(output.out, "1 violation");
    const char *line = strstr(output.out, "key-excess");
    assert_non_null(line);
    must_say(line, guid);
    snprintf(network, sizeof network, "%" PRIu32 " \"blue\"", blue);
    must_say(line, network);
    lab_output_clear(&output);
}

static void a_key_that_a_virtual_port_lacks_is_named(void **state)
{
    struct lab_output output = {0};
    (void)state;
    begin(TRY);
    AWAIT(PROVEN, 0, "verify");
    set_entry(0, 0);
    ONEIB(1, &output, "verify");
    must_say(output.out, "key-absent");
    must_say(output.out, PROVEN);
    lab_output_clear(&output);
}

static void with_each_wrong_layout_nothing_is_verified(void **state)
{
    static const struct {
        const char *layout, *why;
    } wrong[] = {
        {"number-low", "no two virtual ports of one adapter"},
        {"number-high", "no port shows the GUIDs"},
        {"numbers-from-1", "no two virtual ports of one adapter"}, /* at host 0 one is missed */
        {"one-table", "no two virtual ports of one adapter"},
        {"top-elsewhere", "no port shows the GUIDs"},
        {"enabled-elsewhere", "no port of theirs says"},
        {"state-elsewhere", "no port shows the GUIDs"},
        {"guid-elsewhere", "no port shows the GUIDs"},
        {"capacity-elsewhere", "no two virtual ports of one adapter"},
        {"bytes-swapped", "no two virtual ports of one adapter"},
        {"unsupported", "no port of theirs says"},
        {"silent", "no port of theirs says"},
        {"switched-off", "no port of theirs says"},
    };
    struct lab_output output = {0};
    (void)state;
    begin(TRY);
    AWAIT(PROVEN, 0, "verify");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[64];
        snprintf(text, sizeof text, "layout %s\n", wrong[i].layout);
        set_adapters(text);
        ONEIB(0, &output, "verify");
        if (!strstr(output.out, "virtual ports: not verified: ") ||
            !strstr(output.out, wrong[i].why))
            fail_msg("%s: %s", wrong[i].layout, output.out);
        must_say(output.out, "(3 of the members virtual ports, not verified)");
        must_say(output.error, "virtual-ports-unproven");
    }
    lab_output_clear(&output);
}

static void switched_off_nobody_is_asked(void **state)
{
    struct lab_output output = {0};
    (void)state;
    begin(OFF);
    AWAIT("(3 of the members virtual ports, not verified)\n", 0, "verify");
    ONEIB(0, &output, "verify");
    must_not_say(output.out, "virtual ports: ");
    must_not_say(output.error, "virtual-ports-unproven");
    lab_output_clear(&output);
}

/* ---- everybody else -------------------------------------------------------------------------- */

static void list_and_show_say_what_virtual_ports_hold(void **state)
{
    struct lab_output output = {0};
    char id[16];
    (void)state;
    begin(TRY);
    AWAIT(PROVEN, 0, "verify");
    ONEIB(0, &output, "list");
    assert_int_equal(count_words(output.out, "in force"), 2);
    snprintf(id, sizeof id, "%" PRIu32, red);
    ONEIB(0, &output, "show", id);
    must_say(output.out, "state       in force");
    assert_int_equal(count_words(output.out, " yes "), 2);
    set_entry(9, 0x8000 | BLUE);
    ONEIB(1, &output, "verify"); /* which makes oneibd read the ports */
    ONEIB(0, &output, "list");
    must_say(output.out, "violated");
    lab_output_clear(&output);
}

static void topology_shows_where_virtual_ports_were_seen(void **state)
{
    struct lab_output output = {0};
    char guid[ONEIB_GUID_TEXT_SIZE], seen[128];
    (void)state;
    begin(TRY);
    AWAIT(PROVEN, 0, "verify");
    AWAIT("\"virtual_ports\": [\n", 0, "topology",
          "--json"); /* as soon as oneibd has written reports down */
    ONEIB(0, &output, "topology");
    must_say(output.out, "red");
    must_say(output.out, "blue");
    oneib_guid_format(guid_of(1, vms[2]), guid);
    snprintf(seen, sizeof seen, "\"guid\":\"%s\",\"port_guid\":\"0x%016" PRIx64 "\"", guid,
             lab_host_port_guid(lab, 1));
    ONEIB(0, &output, "topology", "--json");
    drop_blanks(output.out);
    must_say(output.out, seen);
    set_adapters("layout one-table\n");
    ONEIB(0, &output, "topology", "--json");
    drop_blanks(output.out);
    must_say(output.out, "\"virtual_ports\":[]");
    must_not_say(output.error, "virtual");
    lab_output_clear(&output);
}

/* Said once, in verify: elsewhere the word stands for itself. */
static void what_is_not_verified_is_a_word_in_a_list_and_no_alarm(void **state)
{
    struct lab_output output = {0};
    (void)state;
    begin(TRY);
    AWAIT(PROVEN, 0, "verify");
    /* opensm here has no virtual ports, which is a failure of its own. */
    AWAIT("'oneib verify' says whether what their VFs hold can be read", 1, "check");
    set_adapters("layout one-table\n");
    ONEIB(0, &output, "verify"); /* which makes oneibd read the ports */
    ONEIB(0, &output, "list");
    assert_int_equal(count_words(output.out, "not verified"), 2);
    must_not_say(output.error, "virtual");
    ONEIB(0, &output, "sync");
    must_not_say(output.error, "virtual");
    ONEIB(0, &output, "plan");
    must_not_say(output.error, "virtual");
    lab_output_clear(&output);
}

static void await(const char *sample, double wanted)
{
    ok(lab_await_metric(lab_metrics_address(lab), sample, wanted, CHANGE_MS, &err));
}

static void oneibd_counts_and_compares_virtual_ports(void **state)
{
    (void)state;
    begin_with(TRY, "verify = 1000;");
    await("oneib_virtual_ports_verified", 3);
    await("oneib_members_unverified", 0);
    await("oneib_in_force", 1);
    set_entry(9, 0x8000 | BLUE);
    await("oneib_deviations{kind=\"key-excess\"}", 1);
    await("oneib_in_force", 0);
    set_adapters("");
    await("oneib_in_force", 1);
    set_adapters("layout number-low\n");
    await("oneib_virtual_ports_verified", 0);
    await("oneib_members_unverified", 3);
    await("oneib_in_force", 1);
}

/* What was read of a port that is gone is nobody's, and holds up nobody. */
static void a_virtual_port_that_goes_and_one_that_comes_hold_up_nobody(void **state)
{
    uint32_t next;
    (void)state;
    begin_with(TRY, "verify = 1000;");
    await("oneib_virtual_ports_verified", 3);
    ok(lab_vm_state(lab, vms[2], 3, LCM_SHUTDOWN, &err));
    ok(lab_node_domain(lab, 1, vms[2], false, &err));
    ok(lab_node_driver(lab, 1, "clean", vms[2], &err));
    ok(lab_vm_delete(lab, vms[2], &err));
    await("oneib_virtual_ports_verified", 2);
    await("oneib_in_force", 1);
    boot(blue, 1, &next);
    await("oneib_virtual_ports_verified", 3);
    await("oneib_members_unverified", 0);
    await("oneib_in_force", 1);
}

#define NO_VERIFY "verify = 3600000;"

/* Putting a VM into its partition reads all ports, but then its host has not opened its VF yet. */
static void what_a_vm_opens_is_read_without_waiting_for_the_reading_of_all_ports(void **state)
{
    uint32_t next;
    (void)state;
    begin_with(TRY, NO_VERIFY);
    await("oneib_virtual_ports_verified", 3);
    await("oneib_members_unverified", 0);
    boot(blue, 1, &next);
    await("oneib_virtual_ports_verified", 4);
    await("oneib_members_unverified", 0);
    await("oneib_in_force", 1);
}

/* What is not shown at first is asked for again, and a port that proves how all are read has all
 * read. */
static void an_adapter_that_does_not_answer_at_first_is_asked_again(void **state)
{
    uint32_t next;
    (void)state;
    begin_with(TRY, NO_VERIFY);
    await("oneib_virtual_ports_verified", 3);
    set_adapters("layout silent\n");
    boot(blue, 1, &next);
    await("oneib_virtual_ports_verified", 0);
    await("oneib_members_unverified", 4);
    lab_sleep_ms(2500); /* until nothing else happens */
    set_adapters("");
    await("oneib_virtual_ports_verified", 4);
    await("oneib_members_unverified", 0);
}

static char *classes_line(struct lab_output *output, int status)
{
    ONEIB(status, output, "verify");
    const char *line = strstr(output->out, "classes: ");
    assert_non_null(line);
    char *copy = strndup(line, strcspn(line, "\n"));
    assert_non_null(copy);
    return copy;
}

/* Virtual ports have no lanes of their own, and what the SA says of paths to them is not known. */
static void lanes_and_paths_are_those_of_physical_ports(void **state)
{
    struct lab_output output = {0};
    (void)state;
    begin(TRY CLASSES);
    AWAIT(PROVEN, 1, "verify"); /* opensm has not been told of classes */
    oneib_autofree char *with = classes_line(&output, 1);
    set_adapters("layout silent\n");
    oneib_autofree char *without = classes_line(&output, 1);
    assert_string_equal(with, without);
    lab_output_clear(&output);
}

/* For the placer, which reads them once they are written. */
static void await_links_of(uint32_t network)
{
    char line[96];
    snprintf(line, sizeof line, "cluster %" PRIu32 " 1 0x%016" PRIx64 " 0x%016" PRIx64 "\n",
             network, lab_host_port_guid(lab, 0), lab_host_port_guid(lab, 1));
    for (unsigned waited = 0;; waited += 100) {
        oneib_autofree char *text = NULL;
        size_t length;
        if (oneib_file_read(lab_path(lab, "links"), 65536, &text, &length, &err) == 0 &&
            strstr(text, line))
            break;
        if (waited > CHANGE_MS)
            fail_msg("\"%s\" is not in: %s", line, text ? text : "(no file)");
        lab_sleep_ms(100);
    }
}

/* Red has a VM on each host, blue at first one on host 0 alone. No forwarding table leads to a
 * virtual port by a LID of its own. */
static void links_of_virtual_ports_are_those_of_their_hosts(void **state)
{
    char settings[1024];
    uint32_t next;
    struct lab_output output = {0};
    (void)state;
    snprintf(settings, sizeof settings,
             OFF
             " qos: { classes = [\"gold: weight 64, SL 1\"]; default_class = \"gold\"; vls = 8; "
             "links_file = \"%s\"; };",
             lab_path(lab, "links"));
    begin_with(settings, "verify = 1000;");
    AWAIT("red", 0, "qos", "--links");
    ONEIB(0, &output, "qos", "--links");
    must_not_say(output.out, "blue");
    boot(blue, 1, &next);
    AWAIT("red, blue", 0, "qos", "--links");
    ONEIB(0, &output, "qos", "--links");
    must_say(output.error, "both have SL 1, and meet on 4 links");
    await_links_of(red);
    await_links_of(blue);
    lab_output_clear(&output);
}

/* The subnet manager takes its time. */
static void mend_in(unsigned seconds)
{
    char command[64];
    const char *argv[] = {"sh", "-c", command, NULL};
    pid_t pid;
    snprintf(command, sizeof command, "sleep %u; : > virtual-ports", seconds);
    ok(lab_spawn(lab, "mend", NULL, argv, &pid, &err));
}

/* 0: it was mended before sync has begun to look. */
static double sync_took(unsigned seconds)
{
    struct lab_output output = {0};
    double took = 0;
    set_entry(9, 0x8000 | BLUE);
    mend_in(seconds);
    ONEIB(0, &output, "sync");
    const char *line = strstr(output.out, "in force after ");
    if (line)
        assert_int_equal(sscanf(line, "in force after %lf", &took), 1);
    must_not_say(output.out, "violation");
    lab_output_clear(&output);
    return took;
}

/* Who waits for a change waits for virtual ports too, and a key that one still has is not another's
 * before it has gone. */
static void sync_waits_for_virtual_ports(void **state)
{
    (void)state;
    begin(TRY);
    AWAIT(PROVEN, 0, "verify");
    AWAIT("7 ports verified", 0, "sync"); /* as soon as oneibd has written reports down */
    for (unsigned seconds = 1; sync_took(seconds) < 300; seconds *= 2)
        if (seconds > 8)
            fail_msg("sync does not wait for a virtual port");
}

int main(void)
{
#define ON_NODES(test) cmocka_unit_test_setup_teardown(test, raise_nodes, end_nodes)
    const struct CMUnitTest tests[] = {
        ON_NODES(virtual_ports_that_answer_as_guessed_are_verified),
        ON_NODES(a_wrong_key_in_a_virtual_ports_table_is_named_as_any_ports),
        ON_NODES(a_key_that_a_virtual_port_lacks_is_named),
        ON_NODES(with_each_wrong_layout_nothing_is_verified),
        ON_NODES(switched_off_nobody_is_asked),
        ON_NODES(list_and_show_say_what_virtual_ports_hold),
        ON_NODES(topology_shows_where_virtual_ports_were_seen),
        ON_NODES(what_is_not_verified_is_a_word_in_a_list_and_no_alarm),
        ON_NODES(oneibd_counts_and_compares_virtual_ports),
        ON_NODES(a_virtual_port_that_goes_and_one_that_comes_hold_up_nobody),
        ON_NODES(what_a_vm_opens_is_read_without_waiting_for_the_reading_of_all_ports),
        ON_NODES(an_adapter_that_does_not_answer_at_first_is_asked_again),
        ON_NODES(lanes_and_paths_are_those_of_physical_ports),
        ON_NODES(links_of_virtual_ports_are_those_of_their_hosts),
        ON_NODES(sync_waits_for_virtual_ports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
