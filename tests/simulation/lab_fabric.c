// SPDX-License-Identifier: Apache-2.0
/* ibsim: its net file, its process, and its console. */
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/text.h"
#include "lab_internal.h"
#include "lab_ufm.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define READY_MS 10000u
#define PLACE_MS 60000u
#define COMMAND_MS 5000u

size_t lab_host_count(const struct lab *lab)
{
    return lab->plan.hosts;
}

size_t lab_all_hosts(const struct lab *lab)
{
    return lab->plan.hosts + lab->plan.extra_hosts;
}

/* The SM's HCA comes before host 0. */
static const struct plan_node *hca_of(const struct lab *lab, size_t host)
{
    return &lab->plan.nodes[1 + host];
}

uint64_t lab_host_port_guid(const struct lab *lab, size_t host)
{
    return lab_host_guid_of_port(lab, host, 1);
}

uint64_t lab_host_guid_of_port(const struct lab *lab, size_t host, unsigned port)
{
    return hca_of(lab, host)->guid + port;
}

unsigned lab_host_ports(const struct lab *lab)
{
    return lab->plan.ports_per_host;
}

const char *lab_host_hca(struct lab *lab, size_t host)
{
    return lab_keep(lab, oneib_strdup(hca_of(lab, host)->name));
}

void lab_direct_route(const struct lab *lab, size_t host, char *route, size_t size)
{
    lab_plan_route(&lab->plan, host, 1, route, size);
}

static int write_net_file(struct lab *lab, struct oneib_error *err)
{
    oneib_autotext struct oneib_text net = {0};
    lab_plan_render(&lab->plan, &net);
    return lab_write(lab, "net", 0600, net.data, err);
}

/* ibsim's control socket has a name in the abstract namespace: "\0NAME:ctl\0". */
static bool is_listening(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s:ctl", name);
    oneib_autoclose int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length + 2);
    return fd >= 0 && connect(fd, (struct sockaddr *)&address, size) == 0;
}

int lab_await_listening(struct lab *lab, const char *name, pid_t pid, const char *log,
                        struct oneib_error *err)
{
    long end = lab_clock_ms() + READY_MS;
    while (!is_listening(name)) {
        if (!lab_is_running(lab, pid) || lab_clock_ms() > end) {
            oneib_autofree char *said = lab_log_end(lab, log);
            return oneib_fail(err, ONEIB_ERROR_UNREACHABLE,
                              "starting the fabric: nobody listens as %s; %s", name, said);
        }
        lab_sleep_ms(2);
    }
    return 0;
}

static int start_ibsim(struct lab *lab, struct oneib_error *err)
{
    char node_limit[32], switch_limit[32], port_limit[32];
    snprintf(node_limit, sizeof node_limit, "%zu", lab->plan.node_count);
    snprintf(switch_limit, sizeof switch_limit, "%zu", lab->plan.switches);
    snprintf(port_limit, sizeof port_limit, "%zu", lab_plan_ports(&lab->plan) + 16);
    const char *argv[] = {"ibsim",      "-s", "-N",       node_limit, "-S",
                          switch_limit, "-P", port_limit, "net",      NULL};
    int console[2];
    if (pipe2(console, O_CLOEXEC) < 0)
        return oneib_fail_errno(err, errno, "starting ibsim");
    char name[80], place[100];
    lab_behind(lab, name);
    snprintf(place, sizeof place, "IBSIM_SOCKNAME=%s", name);
    const char *environment[] = {place, NULL};
    struct lab_program program = {.name = "ibsim",
                                  .argv = argv,
                                  .environment = environment,
                                  .in = console[0],
                                  .out = -1,
                                  .error = -1};
    int result = lab_start(lab, &program, &lab->ibsim, err);
    close(console[0]);
    lab->ibsim_stdin = console[1];
    return result;
}

/* Whoever runs the lab wants to see all of it on the stand-in for UFM. */
static int start_what_leads_it(struct lab *lab, struct oneib_error *err)
{
    const char *wanted = getenv("ONEIB_LAB_SM");
    return wanted && strcmp(wanted, "ufm") == 0 ? lab_ufm_start(lab, NULL, err) : 0;
}

int lab_fabric_start(struct lab *lab, struct oneib_error *err)
{
    if (lab_missing())
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "starting the fabric: %s is not installed",
                          lab_missing());
    if (start_what_leads_it(lab, err) < 0)
        return -1;
    char name[80];
    lab_behind(lab, name);
    if (write_net_file(lab, err) < 0 || start_ibsim(lab, err) < 0 ||
        lab_await_listening(lab, name, lab->ibsim, "ibsim.log", err) < 0)
        return -1;
    return lab_has_behind(lab) ? lab_m_keys_start(lab, err) : 0;
}

/* ibsim echoes comments: one after the command tells that the command has been carried out. */
int lab_fabric_command(struct lab *lab, const char *command, struct oneib_error *err)
{
    char mark[32];
    long start = lab_size(lab, "ibsim.log");
    snprintf(mark, sizeof mark, "# done %u.", ++lab->ibsim_commands);
    if (lab->ibsim_stdin < 0 || dprintf(lab->ibsim_stdin, "%s\n%s\n", command, mark) < 0)
        return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "ibsim's console: not running");
    return lab_await_text(lab, "ibsim.log", start, mark, lab->ibsim, COMMAND_MS, err);
}

static void disconnect_the_dead(struct lab *lab, const char *attached, struct oneib_error *err)
{
    int client, pid;
    for (const char *line = attached; (line = strstr(line, "Client ")); line++) {
        if (sscanf(line, "Client %d: pid %d connected", &client, &pid) != 2 || kill(pid, 0) == 0 ||
            errno != ESRCH)
            continue;
        char command[32];
        snprintf(command, sizeof command, "X %d", client);
        lab_fabric_command(lab, command, err);
    }
}

/*
 * The kernel closes what a dead program had open, so that its port is no SM's any more and its
 * agents are gone. ibsim is not told of an end, and has 10 places.
 */
void lab_fabric_reclaim(struct lab *lab)
{
    struct oneib_error err;
    long start = lab_size(lab, "ibsim.log");
    if (!lab_is_running(lab, lab->ibsim) || lab_fabric_command(lab, "Attached", &err) < 0)
        return;
    oneib_autofree char *attached = lab_read_from(lab, "ibsim.log", start);
    if (attached)
        disconnect_the_dead(lab, attached, &err);
}

static bool has_place(struct lab *lab, pid_t pid, struct oneib_error *err)
{
    char client[48];
    const long start = lab_size(lab, "ibsim.log");
    snprintf(client, sizeof client, ": pid %d connected", pid);
    if (lab_fabric_command(lab, "Attached", err) < 0)
        return false;
    oneib_autofree char *attached = lab_read_from(lab, "ibsim.log", start);
    return attached && strstr(attached, client);
}

int lab_fabric_await_place(struct lab *lab, pid_t pid, struct oneib_error *err)
{
    const long end = lab_clock_ms() + PLACE_MS;
    while (lab_is_running(lab, pid) && !has_place(lab, pid, err)) {
        if (!lab_is_running(lab, lab->ibsim))
            return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "ibsim has ended");
        if (lab_clock_ms() > end)
            return oneib_fail(err, ONEIB_ERROR_TIMEOUT, "process %d takes no place in ibsim", pid);
        lab_sleep_ms(1);
    }
    return 0;
}

int lab_fabric_link(struct lab *lab, size_t host, bool up, struct oneib_error *err)
{
    char command[64];
    snprintf(command, sizeof command, "%s \"%s\"[1]", up ? "ReLink" : "Unlink",
             hca_of(lab, host)->name);
    return lab_fabric_command(lab, command, err);
}

size_t lab_switch_count(const struct lab *lab)
{
    return lab->plan.switches;
}

int lab_fabric_switch(struct lab *lab, size_t number, bool up, struct oneib_error *err)
{
    char command[64];
    const size_t node = lab->plan.node_count - lab->plan.switches + number;
    snprintf(command, sizeof command, "%s \"%s\"", up ? "ReLink" : "Unlink",
             lab->plan.nodes[node].name);
    return lab_fabric_command(lab, command, err);
}
