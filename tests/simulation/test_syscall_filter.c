// SPDX-License-Identifier: Apache-2.0
/*
 * oneibd under its unit's restrictions. systemd's filter cannot be had without systemd, so oneibd
 * is watched at work (strace), and what it did is held against what oneibd.service allows: system
 * calls, families of sockets, memory that is writable and executable.
 */
#include "../skip.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "command_scene.h"
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 30000

/* Refused with EPERM, and good for nothing else: the owner of the file that is replaced is kept
 * where the process may; libzmq's keys are kept from swapping where it may. */
static const char *const may_be_refused[] = {"fchown", "mlock", "munlock", NULL};

/* ---- sets of names ------------------------------------------------------------------------ */

struct names {
    char **items;
    size_t count, capacity;
};

static bool has_name(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return true;
    return false;
}

static void add_name(struct names *names, const char *name)
{
    struct oneib_error err;
    if (has_name(names, name))
        return;
    MUST(oneib_reserve(&names->items, &names->capacity, names->count + 1, sizeof *names->items,
                       &err));
    names->items[names->count++] = strdup(name);
}

static void remove_name(struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0) {
            free(names->items[i]);
            names->items[i] = names->items[--names->count];
            return;
        }
}

static void clear_names(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
    *names = (struct names){0};
}

/* ---- what the unit allows ----------------------------------------------------------------- */

/* A call, or a group with those in it, which systemd names. */
static void expand(const char *name, struct names *calls)
{
    if (name[0] != '@') {
        add_name(calls, name);
        return;
    }
    char line[256];
    snprintf(line, sizeof line, "systemd-analyze syscall-filter %s", name);
    FILE *pipe = popen(line, "r");
    assert_non_null(pipe);
    while (fgets(line, sizeof line, pipe)) {
        char word[128];
        if (line[0] == ' ' && sscanf(line, "%127s", word) == 1 && word[0] != '#')
            expand(word, calls);
    }
    if (pclose(pipe) != 0)
        fail_msg("systemd-analyze does not know %s", name);
}

/* "a b" allows, "~a b" takes away. */
static void apply_filter(char *value, struct names *allowed)
{
    const bool removes = value[0] == '~';
    char *rest = NULL;
    for (char *word = strtok_r(value + removes, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        struct names calls = {0};
        expand(word, &calls);
        for (size_t i = 0; i < calls.count; i++)
            (removes ? remove_name : add_name)(allowed, calls.items[i]);
        clear_names(&calls);
    }
}

struct unit {
    struct names calls, families;
};

static void read_unit(struct unit *unit)
{
    static const char filter[] = "SystemCallFilter=", families[] = "RestrictAddressFamilies=";
    char line[512];
    FILE *file = fopen(ONEIB_UNIT, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, filter, strlen(filter)) == 0)
            apply_filter(line + strlen(filter), &unit->calls);
        if (strncmp(line, families, strlen(families)) == 0)
            apply_filter(line + strlen(families), &unit->families);
    }
    fclose(file);
    assert_true(unit->calls.count > 100);
    assert_int_equal(unit->families.count, 4);
    for (size_t i = 0; may_be_refused[i]; i++)
        add_name(&unit->calls, may_be_refused[i]);
}

static void clear_unit(struct unit *unit)
{
    clear_names(&unit->calls);
    clear_names(&unit->families);
}

/* ---- what was done ------------------------------------------------------------------------ */

/* "1234  socket(AF_UNIX, ..." gives socket; false for signals, ends, and calls that go on. */
static bool call_of(const char *line, char name[64], const char **arguments)
{
    return sscanf(line, "%*d %63[a-z0-9_](", name) == 1 && (*arguments = strchr(line, '(')) != NULL;
}

static bool is_allowed(const struct unit *unit, const char *name, const char *arguments)
{
    char family[32];
    if (!has_name(&unit->calls, name))
        return false;
    if (strcmp(name, "socket") == 0 && sscanf(arguments, "(%31[A-Z0-9_]", family) == 1)
        return has_name(&unit->families, family);
    return !strstr(arguments, "PROT_WRITE|PROT_EXEC");
}

static void must_be_allowed(const struct unit *unit, const char *trace)
{
    char line[4096], name[64];
    const char *arguments;
    size_t count = 0, wrong = 0;
    FILE *file = fopen(trace, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (!call_of(line, name, &arguments))
            continue;
        count++;
        if (!is_allowed(unit, name, arguments) && wrong++ < 20)
            print_error("the unit does not allow: %s", line);
    }
    fclose(file);
    assert_true(count > 50);
    assert_int_equal(wrong, 0);
}

/* ---- at work ------------------------------------------------------------------------------ */

static void wait_for_key(struct lab *lab, size_t host, uint16_t key, bool wanted)
{
    struct oneib_error err;
    for (unsigned waited = 0; waited < PATIENCE_MS; waited += 100) {
        uint16_t keys[128];
        size_t count;
        bool found = false;
        MUST(lab_host_pkeys(lab, host, keys, sizeof keys / sizeof *keys, &count, &err));
        for (size_t i = 0; i < count; i++)
            found |= keys[i] == key;
        if (found == wanted)
            return;
        lab_sleep_ms(100);
    }
    fail_msg("key 0x%04x of host %zu has not %s", key, host, wanted ? "come" : "gone");
}

static bool metrics_answer(const struct lab *lab)
{
    static const char request[] = "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    const char *port = strchr(lab_metrics_address(lab), ':') + 1;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
    } address = {.v4 = {.sin_family = AF_INET,
                        .sin_port = htons((uint16_t)atoi(port)),
                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
    char answer[16] = "";
    oneib_autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return connect(fd, &address.any, sizeof address.v4) == 0 &&
           send(fd, request, sizeof request - 1, MSG_NOSIGNAL) > 0 &&
           recv(fd, answer, sizeof answer - 1, MSG_WAITALL) > 0 &&
           strncmp(answer, "HTTP/1.1 200 OK", 15) == 0;
}

static void wait_for_metrics(struct lab *lab)
{
    struct oneib_error err = {0};
    for (unsigned waited = 0; waited < PATIENCE_MS; waited += 100) {
        if (metrics_answer(lab))
            return;
        lab_sleep_ms(100);
    }
    char log[4096] = "";
    oneib_autofclose FILE *file = fopen(lab_path(lab, "oneibd.log", &err), "r");
    if (file)
        log[fread(log, 1, sizeof log - 1, file)] = '\0';
    fail_msg("oneibd has not come up: %s", log);
}

/* The daemon is strace's child, which alone knows its number. */
static pid_t child_of(pid_t parent)
{
    char path[64];
    int child = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", parent, parent);
    FILE *file = fopen(path, "r");
    if (file) {
        if (fscanf(file, "%d", &child) != 1)
            child = 0;
        fclose(file);
    }
    assert_true(child > 0);
    return child;
}

static void let_it_work(struct lab *lab, pid_t daemon)
{
    struct oneib_error err = {0};
    uint32_t network, vm;
    MUST(lab_network_create(lab, "blue", "300", NULL, &network, &err));
    MUST(lab_vm_start(lab, "vm", &network, 1, 0, &vm, &err));
    wait_for_key(lab, 0, 0x8000 | 300, true);
    assert_true(metrics_answer(lab));
    kill(daemon, SIGHUP);
    MUST(lab_vm_migrate(lab, vm, 1, 4, &err));
    wait_for_key(lab, 1, 0x8000 | 300, true);
    MUST(lab_vm_delete(lab, vm, &err));
    wait_for_key(lab, 1, 0x8000 | 300, false);
}

static void need(const char *tool)
{
    char line[128];
    snprintf(line, sizeof line, "command -v %s >/dev/null", tool);
    if (system(line) == 0)
        return;
    skip_because("there is no %s here", tool);
}

static void need_permission_to_trace(void)
{
    if (system("strace -qq -o /dev/null true 2>/dev/null") == 0)
        return;
    skip_because("processes cannot be traced here");
}

static void oneibd_does_only_what_its_unit_allows(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    struct unit unit = {0};
    need("strace");
    need("systemd-analyze");
    need_permission_to_trace();
    read_unit(&unit);

    const char *trace = lab_path(lab, "trace", &err);
    const char *const argv[] = {"strace",      "-f",       "-qq",
                                "-o",          trace,      "--",
                                ONEIBD_BINARY, "--config", lab_config_path(lab, &err),
                                NULL};
    pid_t strace;
    MUST(lab_spawn(lab, "oneibd", LAB_SM_HCA, argv, &strace, &err));
    wait_for_metrics(lab);
    const pid_t daemon = child_of(strace);
    let_it_work(lab, daemon);
    kill(daemon, SIGTERM);
    MUST(lab_end(lab, strace, SIGCONT, PATIENCE_MS, &err));
    must_be_allowed(&unit, trace);
    clear_unit(&unit);
}

/* For opensm.reload = "systemd"; where systemd does not run it fails, after most of its calls. */
static void systemctl_does_only_what_the_unit_allows(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    struct unit unit = {0};
    need("strace");
    need("systemctl");
    need_permission_to_trace();
    read_unit(&unit);

    const char *trace = lab_path(lab, "trace", &err);
    const char *const argv[] = {"strace",    "-f",   "-qq",
                                "-o",        trace,  "--",
                                "systemctl", "show", "--property=MainPID",
                                "--value",   "--",   "opensm*.service",
                                NULL};
    struct lab_output output;
    MUST(lab_run(lab, NULL, argv, PATIENCE_MS, &output, &err));
    lab_output_clear(&output);
    must_be_allowed(&unit, trace);
    clear_unit(&unit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_CASE(scene_raise, oneibd_does_only_what_its_unit_allows),
        SCENE_CASE(scene_raise, systemctl_does_only_what_the_unit_allows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
