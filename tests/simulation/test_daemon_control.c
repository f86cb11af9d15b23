// SPDX-License-Identifier: Apache-2.0
/*
 * What oneibd answers to `oneib list`, `show`, `hosts`, `plan`, `verify` and `qos --links` at its control
 * socket is what the command would find by itself. On ibsim with a real opensm; the hosts' nodes are played.
 */
#include "base/clock.h"
#include "daemon_scene.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HOST 0u
/* Of a node that never connects. */
#define A_KEY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static struct oneib_error err;

/* Without the line that begins so, and the end of the one before. */
static void cut_line(char *text, const char *mark)
{
    char *line = text ? strstr(text, mark) : NULL;
    char *line_end = line ? strchr(line + 1, '\n') : NULL;
    if (line_end)
        memmove(line, line_end + 1, strlen(line_end));
}

/* How old is what nodes have reported oneibd does not say: it knows as of now. It asks more than one port
 * at a time of the same fabric. */
static void cut_age(struct lab_output *output)
{
    cut_line(output->out, "\n  \"mads_sent\": ");
    cut_line(output->out, "\nNODE, USED and FREE: as nodes had reported when");
    cut_line(output->out, "\n  \"reports_age\": ");
}

/* A configuration that names no control socket: with it the command reads by itself beside oneibd. */
static const char *without_control(void)
{
    static const char *const argv[] = {
        "sh", "-c", "sed 's/control = .*;/control = \"none\";/' oneib.conf >alone.conf", NULL};
    struct lab_output output = {0};
    MUST(lab_run(scene(), NULL, argv, SCENE_TIMEOUT_MS, &output, &err));
    assert_int_equal(output.status, 0);
    lab_output_clear(&output);
    return lab_path(scene(), "alone.conf");
}

/* Asked of oneibd and read by the command; what is under way may change between the two. */
static void must_agree(const char *const *words)
{
    const char *alone[9] = {ONEIB_BINARY, "--config", without_control()};
    char process[64];
    const double until = oneib_now_ms() + DAEMON_PATIENCE_MS;
    for (size_t i = 0; words[i]; i++)
        alone[i + 3] = words[i];
    snprintf(process, sizeof process, "answered by oneibd %d: oned read ", (int)daemon_pid());
    for (bool is_so = false; !is_so;) {
        struct lab_output asked = {0}, read = {0};
        MUST(lab_oneib(scene(), words, SCENE_TIMEOUT_MS, &asked, &err));
        MUST(lab_run(scene(), LAB_SM_HCA, alone, SCENE_TIMEOUT_MS, &read, &err));
        must_say(asked.error, process);
        must_not_say(read.error, "answered by");
        cut_age(&asked);
        cut_age(&read);
        is_so = asked.status == read.status && strcmp(asked.out, read.out) == 0;
        if (!is_so && oneib_now_ms() > until)
            fail_msg("%s: oneibd says %d, %s\nand alone it is %d, %s%s", words[0], asked.status,
                     asked.out, read.status, read.out, read.error);
        lab_output_clear(&asked);
        lab_output_clear(&read);
    }
}

static void oneibd_answers_what_the_command_would_find(void **state)
{
    (void)state;
    scene();
    scene_vm(red_network(), HOST);
    await_holds(HOST, FULL(RED));
    must_agree((const char *[]){"list", NULL});
    must_agree((const char *[]){"list", "--json", NULL});
    must_agree((const char *[]){"show", "red", "--json", NULL});
    must_agree((const char *[]){"show", "red", "--no-fabric", NULL});
    must_agree((const char *[]){"hosts", NULL});
    must_agree((const char *[]){"hosts", "--json", NULL});
    must_agree((const char *[]){"plan", "--exit-code", NULL});
    must_agree((const char *[]){"plan", "--force", "--json", NULL});
    must_agree((const char *[]){"verify", NULL});
    must_agree((const char *[]){"verify", "--json", NULL});
    must_agree((const char *[]){"qos", "--links", NULL});
    must_say(ONEIB(3, "show", "nonsense")->error, "no InfiniBand network is called \"nonsense\"");
    char refusal[64];
    snprintf(refusal, sizeof refusal, "oneibd (process %d) keeps ", (int)daemon_pid());
    must_say(ONEIB(3, "verify", "--no-daemon")->error, refusal);
    daemon_end();
    must_not_say(ONEIB(0, "list")->error, "answered by");
    must_not_say(ONEIB(0, "verify", "--no-daemon")->error, "answered by");
}

/* A key was accepted for the host with which no node connects; oneibd is not started. */
static int raise_unheard(void **state)
{
    if (daemon_raise(state) < 0)
        return -1;
    if (!lab_missing())
        MUST(lab_host_accept(scene(), HOST, A_KEY, &err));
    return 0;
}

/* Nobody knows what the host's VFs have: the key waits, and not for `oneib sync`. */
static void a_member_whose_node_is_not_heard_is_judged_alike(void **state)
{
    (void)state;
    scene();
    const uint32_t red = red_network();
    daemon_start();
    scene_vm(red, HOST);
    const double until = oneib_now_ms() + DAEMON_PATIENCE_MS;
    while (!strstr(ONEIB(0, "show", "red")->out, "oneibd adds the key when") &&
           oneib_now_ms() < until)
        lab_sleep_ms(100);
    must_say(ONEIB(0, "show", "red")->out, "oneibd adds the key when");
    must_not_say(ONEIB(0, "show", "red")->out, "'oneib sync' puts it there");
    must_say(ONEIB(0, "list")->out, "not in force");
    must_agree((const char *[]){"list", NULL});
    must_agree((const char *[]){"show", "red", NULL});
    must_agree((const char *[]){"hosts", NULL});
    must_say(ONEIB(0, "plan")->out, "1 member left to oneibd");
    must_agree((const char *[]){"plan", "--exit-code", NULL});
    must_agree((const char *[]){"plan", "--json", NULL});
    must_agree((const char *[]){"verify", NULL});
}

#define FOREIGN "Default=0x7fff : ALL=limited, SELF=full;\nkeep=0x20 : 0x100003=full;\n"

/* oneibd replaces nothing then, and with a lost ledger it computes nothing. */
static void what_oneibd_does_not_do_by_itself_is_planned(void **state)
{
    (void)state;
    scene();
    MUST(lab_write(scene(), "partitions.conf", 0644, FOREIGN, &err));
    scene_vm(red_network(), HOST);
    daemon_start();
    must_say(ONEIB(1, "plan", "--exit-code")->out, "was not written by oneib");
    must_agree((const char *[]){"plan", NULL});
    must_agree((const char *[]){"plan", "--force", "--json", NULL});
    struct oneib_kept_ledger kept = scene_ledger();
    MUST(lab_document_replace(scene(), kept.document_id, "VERSION=\"1\"\nCOLOR=\"red\"", &err));
    oneib_kept_ledger_clear(&kept);
    await_said("is not as oneib writes it");
    must_agree((const char *[]){"plan", "--adopt", NULL});
    assert_true(json_is_true(json_field(ONEIB_JSON(0, "plan", "--adopt"), "ledger_lost")));
    must_say(ONEIB(3, "plan")->error, "see 'oneib plan --adopt'");
}

static void command_fabric(const char *command)
{
    MUST(lab_fabric_command(scene(), command, &err));
}

/* oneibd itself would read the ports again in two minutes (daemon.verify). */
static void verify_is_answered_by_a_reading_that_begins_after_the_request(void **state)
{
    (void)state;
    scene();
    scene_vm(red_network(), HOST);
    await_holds(HOST, FULL(RED));
    await_health(200, NULL);
    must_say(ONEIB(0, "verify")->error, "answered by oneibd ");
    command_fabric("Error \"H1\" 100 22"); /* of P_KeyTable, attribute 0x16 */
    const struct lab_output *verify = ONEIB(1, "verify");
    must_say(verify->out, "port-silent");
    must_say(verify->error, "answered by oneibd ");
    command_fabric("Error \"H1\" 0");
    must_not_say(ONEIB(0, "verify")->out, "port-silent");
}

static void verify_fails_when_oneibd_cannot_read_opennebula(void **state)
{
    (void)state;
    scene();
    daemon_forget_log();
    MUST(lab_standin_down(scene(), true, &err));
    await_said("looking at OpenNebula");
    must_say(ONEIB(3, "verify")->error, "oneib: looking at OpenNebula");
    MUST(lab_standin_down(scene(), false, &err));
    await_said("recovered from");
    ONEIB(0, "verify");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DAEMON_CASE(daemon_raise_watching, oneibd_answers_what_the_command_would_find),
        DAEMON_CASE(daemon_raise_watching,
                    verify_is_answered_by_a_reading_that_begins_after_the_request),
        DAEMON_CASE(daemon_raise_watching, verify_fails_when_oneibd_cannot_read_opennebula),
        DAEMON_CASE(daemon_raise_new, what_oneibd_does_not_do_by_itself_is_planned),
        DAEMON_CASE(raise_unheard, a_member_whose_node_is_not_heard_is_judged_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
