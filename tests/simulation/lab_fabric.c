// SPDX-License-Identifier: Apache-2.0
/* ibsim: the net file of a fat tree, and its console. */
#include "base/cleanup.h"
#include "base/text.h"
#include "lab_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define READY_MS 10000u
#define COMMAND_MS 5000u
/* ibsim numbers its GUIDs from here: one for each HCA and one for its port, in the order of the
 * file. */
#define FIRST_PORT_GUID UINT64_C(0x100001)
#define HCA_GUIDS 2u
#define SWITCH_PORTS 36u

size_t lab_host_count(const struct lab *lab)
{
    return (size_t)lab->options.leaves * lab->options.hosts_per_leaf;
}

size_t lab_all_hosts(const struct lab *lab)
{
    return lab_host_count(lab) + lab->options.extra_hosts;
}

/* The SM's HCA comes before host 0. */
uint64_t lab_host_port_guid(const struct lab *lab, size_t host)
{
    (void)lab;
    return FIRST_PORT_GUID + HCA_GUIDS * (host + 1);
}

static void name_host(const struct lab *lab, size_t host, char *name, size_t size)
{
    size_t compute = lab_host_count(lab);
    if (host < compute)
        snprintf(name, size, "H%zu", host + 1);
    else
        snprintf(name, size, "X%zu", host - compute + 1);
}

const char *lab_host_hca(struct lab *lab, size_t host, struct oneib_error *err)
{
    char name[32];
    name_host(lab, host, name, sizeof name);
    return lab_keep(lab, strdup(name), err);
}

/* Where a host is plugged in, both counted from 0 and 1: the first leaf has the SM, its compute
 * hosts, the extra hosts; then the spines. */
static size_t leaf_of(const struct lab *lab, size_t host)
{
    return host < lab_host_count(lab) ? host / lab->options.hosts_per_leaf : 0;
}

static unsigned leaf_port_of(const struct lab *lab, size_t host)
{
    unsigned per_leaf = lab->options.hosts_per_leaf;
    if (host >= lab_host_count(lab))
        return (unsigned)(2 + per_leaf + (host - lab_host_count(lab)));
    unsigned first = host < per_leaf ? 2 : 1;
    return first + (unsigned)(host % per_leaf);
}

static unsigned leaf_hosts(const struct lab *lab, size_t leaf)
{
    return lab->options.hosts_per_leaf + (leaf == 0 ? 1 + lab->options.extra_hosts : 0);
}

static unsigned at_least(unsigned ports)
{
    return ports > SWITCH_PORTS ? ports : SWITCH_PORTS;
}

static unsigned leaf_ports(const struct lab *lab, size_t leaf)
{
    return at_least(leaf_hosts(lab, leaf) + lab->options.spines);
}

void lab_direct_route(const struct lab *lab, size_t host, char *route, size_t size)
{
    size_t leaf = leaf_of(lab, host);
    unsigned last = leaf_port_of(lab, host);
    if (leaf == 0)
        snprintf(route, size, "0,1,%u", last);
    else
        snprintf(route, size, "0,1,%u,%zu,%u", leaf_hosts(lab, 0) + 1, leaf + 1, last);
}

static void render_hcas(const struct lab *lab, struct oneib_text *net)
{
    oneib_text_append(net, "Hca 1 \"" LAB_SM_HCA "\"\n[1] \"L1\"[1]\n\n");
    for (size_t host = 0; host < lab_all_hosts(lab); host++) {
        char name[32];
        name_host(lab, host, name, sizeof name);
        oneib_text_printf(net, "Hca 1 \"%s\"\n[1] \"L%zu\"[%u]\n\n", name, leaf_of(lab, host) + 1,
                          leaf_port_of(lab, host));
    }
}

static void render_leaf(const struct lab *lab, size_t leaf, struct oneib_text *net)
{
    oneib_text_printf(net, "Switch %u \"L%zu\"\n", leaf_ports(lab, leaf), leaf + 1);
    if (leaf == 0)
        oneib_text_append(net, "[1] \"" LAB_SM_HCA "\"[1]\n");
    for (size_t host = 0; host < lab_all_hosts(lab); host++) {
        char name[32];
        name_host(lab, host, name, sizeof name);
        if (leaf_of(lab, host) == leaf)
            oneib_text_printf(net, "[%u] \"%s\"[1]\n", leaf_port_of(lab, host), name);
    }
    for (unsigned spine = 0; spine < lab->options.spines; spine++)
        oneib_text_printf(net, "[%u] \"S%u\"[%zu]\n", leaf_hosts(lab, leaf) + spine + 1, spine + 1,
                          leaf + 1);
    oneib_text_append(net, "\n");
}

static void render_spine(const struct lab *lab, unsigned spine, struct oneib_text *net)
{
    oneib_text_printf(net, "Switch %u \"S%u\"\n", at_least(lab->options.leaves), spine + 1);
    for (size_t leaf = 0; leaf < lab->options.leaves; leaf++)
        oneib_text_printf(net, "[%zu] \"L%zu\"[%u]\n", leaf + 1, leaf + 1,
                          leaf_hosts(lab, leaf) + spine + 1);
    oneib_text_append(net, "\n");
}

static int write_net_file(struct lab *lab, struct oneib_error *err)
{
    oneib_autotext struct oneib_text net = {0};
    render_hcas(lab, &net);
    for (size_t leaf = 0; leaf < lab->options.leaves; leaf++)
        render_leaf(lab, leaf, &net);
    for (unsigned spine = 0; spine < lab->options.spines; spine++)
        render_spine(lab, spine, &net);
    if (oneib_text_failed(&net))
        return oneib_fail_memory(err);
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
    unsigned switches = lab->options.leaves + lab->options.spines;
    size_t ports =
        lab_all_hosts(lab) + 1 + (size_t)lab->options.spines * (at_least(lab->options.leaves) + 1);
    for (size_t leaf = 0; leaf < lab->options.leaves; leaf++)
        ports += leaf_ports(lab, leaf) + 1;
    char node_limit[32], switch_limit[32], port_limit[32];
    snprintf(node_limit, sizeof node_limit, "%zu", lab_all_hosts(lab) + 1 + switches);
    snprintf(switch_limit, sizeof switch_limit, "%u", switches);
    snprintf(port_limit, sizeof port_limit, "%zu", ports + 16);
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

int lab_fabric_start(struct lab *lab, struct oneib_error *err)
{
    if (lab_missing())
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "starting the fabric: %s is not installed",
                          lab_missing());
    char name[80];
    lab_behind(lab, name);
    if (write_net_file(lab, err) < 0 || start_ibsim(lab, err) < 0 ||
        lab_await_listening(lab, name, lab->ibsim, "ibsim.log", err) < 0)
        return -1;
    return lab->options.m_keys ? lab_m_keys_start(lab, err) : 0;
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
    oneib_autofree char *attached = lab_read_from(lab, "ibsim.log", start, &err);
    if (attached)
        disconnect_the_dead(lab, attached, &err);
}

int lab_fabric_link(struct lab *lab, size_t host, bool up, struct oneib_error *err)
{
    char name[32], command[64];
    name_host(lab, host, name, sizeof name);
    snprintf(command, sizeof command, "%s \"%s\"[1]", up ? "ReLink" : "Unlink", name);
    return lab_fabric_command(lab, command, err);
}
