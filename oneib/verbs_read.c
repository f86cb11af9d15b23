// SPDX-License-Identifier: Apache-2.0
/* The verbs that only read: list, show, hosts, plan, verify, qos --links. Their answers are core/command's. */
#include "base/cleanup.h"
#include "command/answer.h"
#include "oneib/command_read.h"
#include "oneib/control_client.h"
#include "oneib/options.h"
#include "oneib/print.h"
#include "sync/lock.h"
#include <langinfo.h>
#include <stdio.h>
#include <string.h>

static struct oneib_command_request request_of(const struct oneib_run *run,
                                               enum oneib_question question)
{
    return (struct oneib_command_request){
        .question = question,
        .json = run->json,
        .color_out = run->color_out,
        .color_err = run->color_err,
        .adopt = oneib_given(run, ONEIB_OPTION_ADOPT),
        .exit_code = oneib_given(run, ONEIB_OPTION_EXIT_CODE),
        .force = oneib_given(run, ONEIB_OPTION_FORCE),
        .no_fabric = oneib_given(run, ONEIB_OPTION_NO_FABRIC),
        .utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
    };
}

/* A daemon that reads the fabric for the answer takes its time. */
static void show_waiting(const struct oneib_run *run, const char *text)
{
    if (run->interactive)
        fprintf(stderr, "\r%s\033[K", text);
}

/* False: --no-daemon is given, or no daemon listens. */
static bool ask_daemon(const struct oneib_run *run, const struct oneib_config *config,
                       const struct oneib_command_request *request,
                       struct oneib_command_answer *answer, enum oneib_exit *outcome,
                       struct oneib_error *err)
{
    const bool waits = oneib_question_needs_reading(request->question);
    *outcome = ONEIB_EXIT_FAILURE;
    if (oneib_given(run, ONEIB_OPTION_NO_DAEMON))
        return false;
    if (waits)
        show_waiting(run, "waiting until oneibd has read the fabric");
    const enum oneib_control_outcome asked =
        oneib_control_ask(config, request, answer, outcome, err);
    if (waits)
        show_waiting(run, "");
    return asked != ONEIB_CONTROL_NO_DAEMON;
}

static enum oneib_exit print_answer(const struct oneib_command_answer *answer,
                                    enum oneib_exit outcome, struct oneib_error *err)
{
    fputs(answer->err.data ? answer->err.data : "", stderr);
    if (outcome != ONEIB_EXIT_FAILURE && oneib_write_out(&answer->out, err) < 0)
        return ONEIB_EXIT_FAILURE;
    fputs(answer->end.data ? answer->end.data : "", stderr);
    return outcome;
}

/* A second judge beside oneibd could come to another conclusion. */
static int check_alone(const struct oneib_run *run, const struct oneib_config *config,
                       struct oneib_error *err)
{
    const char *state = oneib_config_state(config);
    struct oneib_error ignored;
    int process = 0;
    if (!oneib_given(run, ONEIB_OPTION_NO_DAEMON) ||
        oneib_daemon_find(state, &process, &ignored) < 0 || process == 0)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "oneibd (process %d) keeps %s: leave out --no-daemon to ask it, or stop it "
                      "first",
                      process, state);
}

/* Answers from a reading of its own. */
static enum oneib_exit answer_here(const struct oneib_run *run,
                                   const struct oneib_command_request *request,
                                   enum oneib_read_fabric fabric, struct oneib_reading *reading,
                                   struct oneib_command_answer *answer, struct oneib_error *err)
{
    const struct oneib_session *session = &reading->session;
    if (check_alone(run, &session->config, err) < 0 ||
        oneib_read_configured(run, fabric, request->force, reading, err) < 0)
        return ONEIB_EXIT_FAILURE;
    reading->view.checks = &reading->checks;
    if (oneib_fabric_checks_read(request->question, &session->config, session->sm, session->fabric,
                                 &reading->snapshot, &reading->checks, err) < 0)
        return ONEIB_EXIT_FAILURE;
    const enum oneib_exit outcome = oneib_command_answer(request, &reading->view, answer, err);
    if (outcome == ONEIB_EXIT_FAILURE)
        oneib_text_clear(&answer->out);
    return outcome;
}

static enum oneib_exit print_answer_of(const struct oneib_run *run,
                                       const struct oneib_command_request *request,
                                       enum oneib_read_fabric fabric, struct oneib_error *err)
{
    oneib_auto(oneib_command_answer_clear) struct oneib_command_answer answer = {0};
    oneib_autoreading struct oneib_reading reading = {0};
    enum oneib_exit outcome;
    if (oneib_session_configure(run, &reading.session, err) < 0)
        return ONEIB_EXIT_FAILURE;
    if (!ask_daemon(run, &reading.session.config, request, &answer, &outcome, err))
        outcome = answer_here(run, request, fabric, &reading, &answer, err);
    return print_answer(&answer, outcome, err);
}

static enum oneib_exit run_list(const struct oneib_run *run, struct oneib_error *err)
{
    const struct oneib_command_request request = request_of(run, ONEIB_ASK_LIST);
    return print_answer_of(run, &request, ONEIB_FABRIC_IF_POSSIBLE, err);
}

/* A word of digits is an id, whatever networks are called. */
static bool is_number(const char *word)
{
    return *word && strspn(word, "0123456789") == strlen(word);
}

static enum oneib_exit run_show(const struct oneib_run *run, struct oneib_error *err)
{
    struct oneib_command_request request = request_of(run, ONEIB_ASK_SHOW);
    const char *word = run->words[0];
    uint64_t id = 0;
    if (*word == '\0')
        return oneib_usage(run->verb, err, "missing argument ID or NAME");
    if (strlen(word) >= sizeof request.network)
        return oneib_usage(run->verb, err, "NAME is longer than any network's");
    if (!is_number(word))
        memcpy(request.network, word, strlen(word) + 1);
    else if (oneib_usage_number(run->verb, "ID", word, INT32_MAX, &id, err))
        return ONEIB_EXIT_USAGE;
    request.network_id = (uint32_t)id;
    return print_answer_of(run, &request, ONEIB_FABRIC_IF_POSSIBLE, err);
}

static enum oneib_exit run_hosts(const struct oneib_run *run, struct oneib_error *err)
{
    const struct oneib_command_request request = request_of(run, ONEIB_ASK_HOSTS);
    return print_answer_of(run, &request, ONEIB_FABRIC_IF_POSSIBLE, err);
}

static enum oneib_exit run_plan(const struct oneib_run *run, struct oneib_error *err)
{
    const struct oneib_command_request request = request_of(run, ONEIB_ASK_PLAN);
    return print_answer_of(run, &request, ONEIB_FABRIC_IF_POSSIBLE, err);
}

static enum oneib_exit run_verify(const struct oneib_run *run, struct oneib_error *err)
{
    const struct oneib_command_request request = request_of(run, ONEIB_ASK_VERIFY);
    return print_answer_of(run, &request, ONEIB_FABRIC_NEEDED, err);
}

enum oneib_exit oneib_qos_links(const struct oneib_run *run, struct oneib_error *err)
{
    const struct oneib_command_request request = request_of(run, ONEIB_ASK_LINKS);
    return print_answer_of(run, &request, ONEIB_FABRIC_NEEDED, err);
}

const struct oneib_verb oneib_verb_list = {
    .name = "list",
    .summary = "virtual clusters: P_Key, VMs, hosts, state on the fabric",
    .help = "usage: oneib list [--no-daemon] [--no-fabric] [--json]\n"
            "\n"
            "One line for each virtual cluster. OWNER is user:group, VMS those that are\n"
            "members, REFUSED those that are on a host and get nothing there ('oneib show'\n"
            "says why). STATE is the fabric's word: what the ports hold. Exits 1 when they\n"
            "cannot be read.\n"
            "\n"
            "  --no-daemon  read oned and the fabric here; refused while oneibd runs\n"
            "  --no-fabric  do not ask the fabric; STATE then compares with opensm's file\n"
            "\n"
            "example:\n"
            "  $ oneib list --no-fabric\n",
    .options = ONEIB_TAKES(ONEIB_OPTION_NO_DAEMON) | ONEIB_TAKES(ONEIB_OPTION_NO_FABRIC),
    .run = run_list,
};

const struct oneib_verb oneib_verb_show = {
    .name = "show",
    .summary = "one virtual cluster: its VMs, which are in force, and why not",
    .help = "usage: oneib show ID|NAME [--no-daemon] [--no-fabric] [--json]\n"
            "\n"
            "The virtual network, by its id or its name; a number is an id. IN FORCE says of\n"
            "each VM whether its port holds the key, or why not; VF what its host's node\n"
            "reports: 'none' where it reports no virtual function, 'unknown' where it does\n"
            "not report. Only findings about this cluster are shown.\n"
            "\n"
            "  --no-daemon  read oned and the fabric here; refused while oneibd runs\n"
            "  --no-fabric  do not ask the fabric\n"
            "\n"
            "example:\n"
            "  $ oneib show 12\n"
            "  $ oneib show red\n",
    .options = ONEIB_TAKES(ONEIB_OPTION_NO_DAEMON) | ONEIB_TAKES(ONEIB_OPTION_NO_FABRIC),
    .required = {"ID or NAME"},
    .words_max = 1,
    .run = run_show,
};

const struct oneib_verb oneib_verb_hosts = {
    .name = "hosts",
    .summary = "hosts: adapter ports, virtual functions, switch, and what is wrong",
    .help = "usage: oneib hosts [--no-daemon] [--no-fabric] [--json]\n"
            "\n"
            "A line for each port of each host. USED, FREE and VFS count the host's virtual\n"
            "functions; FREE is what the scheduler is told (IB_VFS_FREE). P_KEYS: entries of\n"
            "the port's table in use, and how many it holds. NODE: whether its service reports\n"
            "to oneibd; --json has the VFs that it reports. What is wrong stands below.\n"
            "\n"
            "  --no-daemon  read oned and the fabric here; refused while oneibd runs\n"
            "  --no-fabric  do not ask the fabric: no SWITCH, no P_KEYS\n"
            "\n"
            "example:\n"
            "  $ oneib hosts\n",
    .options = ONEIB_TAKES(ONEIB_OPTION_NO_DAEMON) | ONEIB_TAKES(ONEIB_OPTION_NO_FABRIC),
    .run = run_hosts,
};

const struct oneib_verb oneib_verb_plan = {
    .name = "plan",
    .summary = "what sync would change, as a diff; changes nothing",
    .help = "usage: oneib plan [--adopt] [--exit-code] [--force] [--no-daemon] [--json]\n"
            "\n"
            "+ is added, - removed, ~ changed, * gets a P_Key, ! needs your attention.\n"
            "\n"
            "  --adopt      what sync --adopt would put into a lost ledger of P_Keys (=)\n"
            "  --exit-code  exit 1 when there is something to do\n"
            "  --force      what sync --force would change: removals are not held\n"
            "  --no-daemon  read oned and the fabric here; refused while oneibd runs\n"
            "\n"
            "example:\n"
            "  $ oneib plan --exit-code || oneib sync\n",
    .options = ONEIB_TAKES(ONEIB_OPTION_EXIT_CODE) | ONEIB_TAKES(ONEIB_OPTION_FORCE) |
               ONEIB_TAKES(ONEIB_OPTION_ADOPT) | ONEIB_TAKES(ONEIB_OPTION_NO_DAEMON),
    .run = run_plan,
};

const struct oneib_verb oneib_verb_verify = {
    .name = "verify",
    .summary = "every port of the fabric against what OpenNebula wants",
    .help = "usage: oneib verify [--no-daemon] [--json]\n"
            "\n"
            "Reads the P_Key table of every port and compares it with the desired partitions.\n"
            "Where oneibd runs it does so, and has what nodes report: a virtual function that\n"
            "is open and not granted is a violation. Writes nothing. Exits 1 when a port\n"
            "deviates, removals are held, or a finding is a violation; where there are\n"
            "traffic classes, also when lanes or service levels are not as they say.\n"
            "\n"
            "  --no-daemon  read oned and the fabric here; refused while oneibd runs\n"
            "\n"
            "example:\n"
            "  $ oneib verify && echo isolated\n",
    .options = ONEIB_TAKES(ONEIB_OPTION_NO_DAEMON),
    .run = run_verify,
};
