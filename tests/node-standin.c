// SPDX-License-Identifier: Apache-2.0
/*
 * oneib-node-standin: stands in for oneib-node where its callers are tested. There is no adapter
 * behind it: a VF is given at once, and is open. Below $ONEIB_NODE_ROOT it has
 *
 *   run/oneib/node.sock, run/oneib/node-read.sock
 *   run/oneib/vfs  the table, kept as oneib-node would; a test may write it before or meanwhile
 *   calls          a line for each request:
 *                    have --vm 42 --nic 1 [--numa 0] [--defer-guid] [--attach] --network 7
 *                    release --vm 42 [--nic 1] [--nic-gone]
 *                    release --vm 42 --vf 0000:81:00.1
 *                    wait
 *                    list
 *                    announce tcp://ADDRESS:PORT... [--trusted]
 *   grants         what oneibd has granted, a line a NIC: VM NIC PKEY [PCI]; a NIC without one has
 *                  0x0005. It is a full member at mlx4_0 port 1
 *   refuse         a request in whose line the words of its first line are fails
 *   domains        libvirt's, a line each: running|defined NAME [PCI...]; absent: there are none.
 *                  Its first line "unknown WHY": nobody knows them
 *
 * It takes no arguments, says "ready" on standard output when it listens, and ends with whoever
 * started it. tests/node_standin.h starts it.
 */
#include "base/cleanup.h"
#include "base/file.h"
#include "cluster/grant.h"
#include "domain/domains.h"
#include "node_socket.h"
#include "service/service_message.h"
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>

#define TEXT_MAX 1048576
#define ASKED_MAX 256

static const char *root;
static struct oneib_request asked[ASKED_MAX]; /* of this connection, for its WAIT */
static size_t asked_count;

__attribute__((noreturn)) static void give_up(const char *what)
{
    fprintf(stderr, "oneib-node-standin: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* Below the root. Valid until the next call but one. */
static const char *path_of(const char *name)
{
    static char paths[2][4096];
    static unsigned next;
    char *path = paths[next++ % 2];
    snprintf(path, sizeof paths[0], "%s/%s", root, name);
    return path;
}

/* A whole file, "" when it is absent; owned by the caller. */
static char *read_text(const char *name)
{
    char *text;
    size_t length;
    struct oneib_error err;
    return oneib_file_read(path_of(name), TEXT_MAX, &text, &length, &err) == 0 ? text : strdup("");
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void describe_have(const struct oneib_request *request, struct oneib_text *line)
{
    oneib_text_printf(line, " --nic %" PRId32, request->nic_id);
    if (request->numa_node >= 0)
        oneib_text_printf(line, " --numa %" PRId32, request->numa_node);
    if (request->flags & ONEIB_HAVE_DEFER_GUID)
        oneib_text_append(line, " --defer-guid");
    if (request->flags & ONEIB_HAVE_ATTACH)
        oneib_text_append(line, " --attach");
    oneib_text_printf(line, " --network %" PRIu32, request->network_id);
}

static void describe_announce(const struct oneib_request *request, struct oneib_text *line)
{
    for (size_t i = 0; i < request->daemon_count; i++)
        oneib_text_printf(line, " %s", request->daemons[i].address);
    if (request->flags & ONEIB_ANNOUNCE_TRUSTED)
        oneib_text_append(line, " --trusted");
}

static void describe(const struct oneib_request *request, struct oneib_text *line)
{
    static const char *const verbs[] = {"",     "have", "release", "release",
                                        "wait", "list", "announce"};
    char vf[ONEIB_PCI_TEXT_SIZE];
    oneib_text_append(line, verbs[request->kind]);
    if (request->kind == ONEIB_REQUEST_ANNOUNCE)
        describe_announce(request, line);
    if (request->kind >= ONEIB_REQUEST_WAIT)
        return;
    oneib_text_printf(line, " --vm %" PRIu32, request->vm_id);
    if (request->kind == ONEIB_REQUEST_HAVE)
        describe_have(request, line);
    if (request->kind == ONEIB_REQUEST_RELEASE && request->nic_id >= 0)
        oneib_text_printf(line, " --nic %" PRId32, request->nic_id);
    if (request->flags & ONEIB_RELEASE_NIC_GONE)
        oneib_text_append(line, " --nic-gone");
    oneib_pci_format(&request->vf, vf);
    if (request->kind == ONEIB_REQUEST_RELEASE_VF)
        oneib_text_printf(line, " --vf %s", vf);
}

static void note(const char *line)
{
    oneib_autofclose FILE *calls = fopen(path_of("calls"), "a");
    if (!calls || fprintf(calls, "%s\n", line) < 0)
        give_up("noting a call");
}

static bool is_refused(const char *line)
{
    oneib_autofree char *words = read_text("refuse");
    words[strcspn(words, "\n")] = '\0';
    return access(path_of("refuse"), F_OK) == 0 && strstr(line, words);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void say(int fd, const struct oneib_answer *answer)
{
    struct oneib_answer packed;
    oneib_answer_pack(answer, &packed);
    if (send(fd, &packed, sizeof packed, MSG_NOSIGNAL) < 0)
        exit(0);
}

static void say_words(int fd, enum oneib_answer_kind kind, enum oneib_error_code code,
                      const char *words)
{
    struct oneib_error why = {.code = code};
    snprintf(why.text, sizeof why.text, "%s", words);
    const struct oneib_answer answer = oneib_answer_with(kind, &why);
    say(fd, &answer);
}

static void say_end(int fd)
{
    say_words(fd, ONEIB_ANSWER_END, ONEIB_ERROR_NONE, "");
}

static void say_record(int fd, const struct oneib_vf_record *record)
{
    struct oneib_answer answer = oneib_answer_new(ONEIB_ANSWER_RECORD);
    answer.record = *record;
    say(fd, &answer);
}

/* ---- the table ------------------------------------------------------------------------------- */

static int read_table(struct oneib_vf_table *table, struct oneib_error *err)
{
    oneib_autofree char *text = read_text("run/oneib/vfs");
    return oneib_vf_table_parse(text, strlen(text), table, err);
}

static void write_table(const struct oneib_vf_table *table)
{
    oneib_autotext struct oneib_text text = {0};
    struct oneib_error err;
    oneib_vf_table_render(table, &text);
    if (oneib_file_replace(path_of("run/oneib/vfs"), text.data ? text.data : "", text.length, 0644,
                           NULL, NULL, &err) < 0)
        give_up(err.text);
}

/* Further on than those that tests ask for. */
static struct oneib_pci next_vf(const struct oneib_vf_table *table)
{
    struct oneib_pci vf = {.bus = 0x81};
    for (size_t number = table->count + 3;; number++) {
        vf.slot = (uint8_t)(number / 8);
        vf.function = number % 8;
        if (!oneib_vf_table_of_vf(table, &vf))
            return vf;
    }
}

/* The next line, without its end; NULL: there is none. */
static char *next_line(char **rest)
{
    char *line = strsep(rest, "\n");
    return line && *line ? line : NULL;
}

/* What the NIC is granted. */
static struct oneib_grant grant_of(const struct oneib_request *request)
{
    struct oneib_grant grant = {.pkey = 5};
    oneib_autofree char *grants = read_text("grants");
    char *rest = grants;
    for (char *line; (line = next_line(&rest));) {
        unsigned vm, nic, pkey;
        char vf[ONEIB_PCI_TEXT_SIZE] = "";
        if (sscanf(line, "%u %u 0x%x %16s", &vm, &nic, &pkey, vf) < 3)
            give_up("a line of \"grants\"");
        if (vm != request->vm_id || nic != (unsigned)request->nic_id)
            continue;
        grant.pkey = (oneib_pkey)pkey;
        grant.has_vf = oneib_pci_parse(vf, &grant.vf);
    }
    return grant;
}

static struct oneib_vf_record made_for(const struct oneib_request *request, struct oneib_pci vf,
                                       oneib_pkey pkey)
{
    return (struct oneib_vf_record){
        .vf = vf,
        .device = "mlx4_0",
        .index = (uint16_t)(vf.slot * 8 + vf.function - 1),
        .port = 1,
        .vm_id = request->vm_id,
        .nic_id = (uint8_t)request->nic_id,
        .network_id = request->network_id,
        .pkey = pkey,
        .stage = ONEIB_VF_OPEN,
        .guid = request->flags & ONEIB_HAVE_DEFER_GUID ? ONEIB_VF_GUID_DEFERRED : ONEIB_VF_GUID_SET,
        .since = 1,
    };
}

static void have(int fd, const struct oneib_request *request, struct oneib_vf_table *table)
{
    struct oneib_error err;
    const struct oneib_vf_record *had =
        oneib_vf_table_of_nic(table, request->vm_id, (uint8_t)request->nic_id);
    const struct oneib_grant grant = grant_of(request);
    struct oneib_pci vf;
    if (had)
        vf = had->vf;
    else
        vf = grant.has_vf ? grant.vf : next_vf(table);
    if (had)
        oneib_vf_table_remove(table, &vf);
    const struct oneib_vf_record record = made_for(request, vf, grant.pkey);
    if (oneib_vf_table_add(table, &record, &err) < 0) {
        say_words(fd, ONEIB_ANSWER_FAILED, err.code, err.text);
        return;
    }
    write_table(table);
    say_record(fd, &record);
}

/* ---- domains --------------------------------------------------------------------------------- */

static void say_domain(int fd, char *line)
{
    struct oneib_answer answer = oneib_answer_new(ONEIB_ANSWER_DOMAIN);
    struct oneib_domain_entry *domain = &answer.domain;
    const char *state = strsep(&line, " "), *name = strsep(&line, " ");
    if (!state || !name)
        give_up("a line of \"domains\" has no name");
    domain->running = strcmp(state, "running") == 0;
    domain->vm_id = oneib_domain_vm_id(name);
    snprintf(domain->name, sizeof domain->name, "%s", name);
    if (!line)
        say(fd, &answer);
    for (const char *word; (word = strsep(&line, " "));) {
        domain->has_vf = oneib_pci_parse(word, &domain->vf);
        say(fd, &answer);
    }
}

static void list(int fd, const struct oneib_vf_table *table)
{
    static const char unknown[] = "unknown ";
    oneib_autofree char *domains = read_text("domains");
    char *rest = domains;
    for (size_t i = 0; i < table->count; i++)
        say_record(fd, &table->items[i]);
    for (char *line; (line = next_line(&rest));) {
        if (strncmp(line, unknown, strlen(unknown)) == 0) {
            say_words(fd, ONEIB_ANSWER_END, ONEIB_ERROR_UNREACHABLE, line + strlen(unknown));
            return;
        }
        say_domain(fd, line);
    }
    say_end(fd);
}

/* A running domain of the VM's names the VF. */
static bool is_left(const struct oneib_vf_record *record)
{
    char wanted[64], vf[ONEIB_PCI_TEXT_SIZE];
    oneib_autofree char *domains = read_text("domains");
    char *rest = domains;
    snprintf(wanted, sizeof wanted, "running one-%" PRIu32 " ", record->vm_id);
    oneib_pci_format(&record->vf, vf);
    for (char *line; (line = next_line(&rest));)
        if (strncmp(line, wanted, strlen(wanted)) == 0 && strstr(line, vf))
            return true;
    return false;
}

static bool is_meant(const struct oneib_request *request, const struct oneib_vf_record *record)
{
    if (request->kind == ONEIB_REQUEST_RELEASE_VF)
        return oneib_pci_compare(&request->vf, &record->vf) == 0;
    return request->vm_id == record->vm_id &&
           (request->nic_id < 0 || request->nic_id == record->nic_id);
}

static void release(int fd, const struct oneib_request *request, struct oneib_vf_table *table)
{
    struct oneib_answer answer = oneib_answer_new(ONEIB_ANSWER_RELEASED);
    const bool gone = (request->flags & ONEIB_RELEASE_NIC_GONE) != 0;
    for (size_t i = table->count; i-- > 0;) {
        const struct oneib_vf_record record = table->items[i];
        if (!is_meant(request, &record))
            continue;
        if (!gone && is_left(&record)) {
            answer.released.left++;
        } else {
            oneib_vf_table_remove(table, &record.vf);
            answer.released.freed++;
        }
    }
    write_table(table);
    say(fd, &answer);
}

/* ---- connections ----------------------------------------------------------------------------- */

static void wait_for_all(int fd, const struct oneib_vf_table *table)
{
    for (size_t i = 0; i < asked_count; i++) {
        const struct oneib_vf_record *record =
            asked[i].kind == ONEIB_REQUEST_HAVE
                ? oneib_vf_table_of_nic(table, asked[i].vm_id, (uint8_t)asked[i].nic_id)
                : NULL;
        if (record)
            say_record(fd, record);
    }
    asked_count = 0;
    say_end(fd);
}

static void perform(int fd, const struct oneib_request *request, struct oneib_vf_table *table)
{
    switch (request->kind) {
    case ONEIB_REQUEST_HAVE:
        have(fd, request, table);
        break;
    case ONEIB_REQUEST_WAIT:
        wait_for_all(fd, table);
        break;
    case ONEIB_REQUEST_LIST:
        list(fd, table);
        break;
    case ONEIB_REQUEST_ANNOUNCE:
        say_end(fd);
        break;
    default:
        release(fd, request, table);
        break;
    }
    if (request->kind < ONEIB_REQUEST_WAIT && asked_count < ASKED_MAX)
        asked[asked_count++] = *request;
}

static void refuse(int fd, const struct oneib_request *request, const char *why)
{
    say_words(fd, ONEIB_ANSWER_FAILED, ONEIB_ERROR_REFUSED, why);
    if (request->kind == ONEIB_REQUEST_WAIT)
        say_end(fd);
}

/* One request at a time, whoever asks. */
static void take(int fd, const struct oneib_request *request)
{
    oneib_autotext struct oneib_text line = {0};
    oneib_autoclose int lock = open(path_of("run/oneib"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct oneib_vf_table table = {0};
    struct oneib_error err;
    flock(lock, LOCK_EX);
    describe(request, &line);
    note(line.data);
    if (is_refused(line.data))
        refuse(fd, request, "the stand-in refuses");
    else if (read_table(&table, &err) < 0)
        refuse(fd, request, err.text);
    else
        perform(fd, request, &table);
    oneib_vf_table_clear(&table);
}

__attribute__((noreturn)) static void serve(int fd, bool may_change)
{
    char bytes[sizeof(struct oneib_request) + 1];
    struct oneib_request request;
    struct oneib_error err;
    for (ssize_t length; (length = recv(fd, bytes, sizeof bytes, 0)) > 0;) {
        if (oneib_request_check(bytes, (size_t)length, &request, &err) < 0)
            give_up(err.text);
        if (may_change || request.kind == ONEIB_REQUEST_LIST)
            take(fd, &request);
        else
            refuse(fd, &request, "this is not for everybody");
    }
    exit(0);
}

/* Who serves one caller has the sockets open for a moment: whoever wants to know that nobody
 * listens any more reads standard output to its end, which comes after that moment. */
static void let_in(const struct pollfd listeners[2], size_t which)
{
    const int fd = accept(listeners[which].fd, NULL, NULL);
    if (fd < 0)
        return;
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(listeners[0].fd);
        close(listeners[1].fd);
        close(STDOUT_FILENO);
        serve(fd, which == 0);
    }
    close(fd);
}

int main(void)
{
    root = getenv("ONEIB_NODE_ROOT");
    if (!root)
        give_up("ONEIB_NODE_ROOT is not set");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGCHLD, SIG_IGN);
    struct pollfd files[] = {
        {.fd = listen_on_node(root, "node.sock"), .events = POLLIN},
        {.fd = listen_on_node(root, "node-read.sock"), .events = POLLIN},
    };
    if (files[0].fd < 0 || files[1].fd < 0)
        give_up("listening");
    if (puts("ready") < 0 || fflush(stdout) != 0)
        give_up("standard output");
    for (;;) {
        poll(files, 2, -1);
        for (size_t i = 0; i < 2; i++)
            if (files[i].revents)
                let_in(files, i);
    }
}
