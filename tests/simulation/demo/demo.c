// SPDX-License-Identifier: Apache-2.0
/*
 * oneib-demo [FOLDER]: two tenants' virtual clusters grow, shrink and move on a simulated fabric
 * with a real opensm, and a third takes the places that become free; oneibd keeps the fabric equal
 * to that, and on the hosts the real network driver opens and closes VFs. Then the subnet manager
 * and its oneibd are killed, and their standby goes on. After each step it is measured who reaches
 * whom. Pictures go to FOLDER. Exit 0 only if every check held.
 */
#include "../lab_node.h"
#include "base/clock.h"
#include "base/file.h"
#include "model/guid.h"
#include "stage.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HOSTS DEMO_HOSTS
#define VMS_PER_TENANT 28
#define VMS_LEFT 3
#define TAKE_OVER_MS 20000u
#define PROGRAM_MS 60000u

#define STANDBY "standby"
#define STANDBY_DAEMON "oneibd-standby"

enum { RED, BLUE, GREEN };

static const char *host_name(struct demo_stage *stage, size_t host)
{
    struct oneib_error ignored;
    const char *name = lab_host_hca(stage->lab, host, &ignored);
    return name ? name : "?";
}

static int grow_together(struct demo_stage *stage, struct oneib_error *err)
{
    for (size_t i = 0; i < VMS_PER_TENANT; i++)
        for (size_t tenant = RED; tenant <= BLUE; tenant++) {
            /* Every host carries both tenants: 4 + 3 of its 7 VFs. */
            const size_t host = (i + tenant * HOSTS / 2) % HOSTS;
            char title[96];
            snprintf(title, sizeof title, "%s grows to %zu VM%s (a new one on host %s)",
                     stage->tenants[tenant].name, i + 1, i ? "s" : "", host_name(stage, host));
            if (demo_vm_add(stage, tenant, host, err) < 0 || demo_measure(stage, title, err) < 0)
                return -1;
        }
    return 0;
}

static int shrink(struct demo_stage *stage, struct oneib_error *err)
{
    while (stage->tenants[RED].vms > VMS_LEFT) {
        char title[96];
        snprintf(title, sizeof title, "%s shrinks to %zu VMs", stage->tenants[RED].name,
                 stage->tenants[RED].vms - 1);
        if (demo_vm_remove(stage, RED, err) < 0 || demo_measure(stage, title, err) < 0)
            return -1;
    }
    return 0;
}

static int first_host_with_room(const struct demo_stage *stage, size_t *host)
{
    for (*host = 0; *host < HOSTS; ++*host)
        if (demo_vfs_used(stage, *host) < DEMO_VFS_PER_HOST)
            return 0;
    return -1;
}

static int newcomer(struct demo_stage *stage, struct oneib_error *err)
{
    if (demo_tenant_add(stage, "green", err) < 0 || demo_learn_keys(stage, err) < 0)
        return -1;
    size_t host;
    while (first_host_with_room(stage, &host) == 0) {
        char title[96];
        snprintf(title, sizeof title, "green takes a freed place on host %s (its VM number %zu)",
                 host_name(stage, host), stage->tenants[GREEN].vms + 1);
        if (demo_vm_add(stage, GREEN, host, err) < 0 || demo_measure(stage, title, err) < 0)
            return -1;
    }
    return 0;
}

static int show_output(const char *const *arguments, struct lab_output *output,
                       struct oneib_error *err)
{
    printf("\n$ oneib");
    for (size_t i = 0; arguments[i]; i++)
        printf(" %s", arguments[i]);
    printf("\n%s%s", output->out, output->error);
    int status = 0;
    if (output->status != 0)
        status = oneib_fail(err, ONEIB_ERROR_PROTOCOL, "'oneib %s' ended with %d", arguments[0],
                            output->status);
    lab_output_clear(output);
    return status;
}

/* Runs a verb of oneib that must end with 0 and shows what it says. */
static int show(struct demo_stage *stage, const char *const *arguments, struct oneib_error *err)
{
    struct lab_output output = {0};
    if (lab_oneib(stage->lab, arguments, PROGRAM_MS, &output, err) < 0)
        return -1;
    stage->drawn_lines = 0;
    return show_output(arguments, &output, err);
}

/* Likewise, on the host of the standby. */
static int show_standby(struct demo_stage *stage, const struct lab_instance *standby,
                        const char *verb, const char *option, struct oneib_error *err)
{
    struct lab_output output = {0};
    const char *argv[] = {ONEIB_BINARY, verb, "--config", standby->config, option, NULL};
    if (lab_run(stage->lab, LAB_SECOND_SM_HCA, argv, PROGRAM_MS, &output, err) < 0)
        return -1;
    stage->drawn_lines = 0;
    return show_output((const char *[]){verb, option, NULL}, &output, err);
}

/* What a host's own administrator sees of all this. */
static int show_host(struct demo_stage *stage, size_t host, struct oneib_error *err)
{
    struct lab_output output = {0};
    if (lab_node_run(stage->lab, host, (const char *[]){"oneib", "hca", NULL}, NULL, &output, err) <
        0)
        return -1;
    printf("\nOn host %s:", host_name(stage, host));
    stage->drawn_lines = 0;
    const int status = show_output((const char *[]){"hca", NULL}, &output, err);
    putchar('\n');
    return status;
}

static int draw_fabric(struct demo_stage *stage, const char *folder, const char *name,
                       struct oneib_error *err)
{
    struct lab_output output = {0};
    if (lab_oneib(stage->lab, (const char *[]){"topology", "--format", "svg", NULL}, 60000, &output,
                  err) < 0)
        return -1;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int status =
        output.status == 0
            ? oneib_file_replace(path, output.out, output.out_length, 0644, NULL, NULL, err)
            : oneib_fail(err, ONEIB_ERROR_PROTOCOL, "'oneib topology' ended with %d: %s",
                         output.status, output.error);
    lab_output_clear(&output);
    if (status == 0)
        printf("\nA picture of the fabric, ports coloured by virtual cluster: %s\n", path);
    stage->drawn_lines = 0;
    return status;
}

static uint64_t standby_port_guid(const struct demo_stage *stage)
{
    return lab_host_port_guid(stage->lab, HOSTS);
}

static int configure(struct demo_stage *stage, struct lab_instance *standby,
                     struct oneib_error *err)
{
    char full_members[128];
    snprintf(full_members, sizeof full_members,
             "default_partition: { full_members = [\"0x%" PRIx64 "\", \"0x%" PRIx64 "\"]; };",
             LAB_SM_PORT_GUID, standby_port_guid(stage));
    const struct lab_config more = {.other = full_members};
    return lab_config_write(stage->lab, &more, err) < 0 ||
                   lab_config_write_named(stage->lab, STANDBY, STANDBY, &more, standby, err) < 0
               ? -1
               : 0;
}

static int start_subnet_managers(struct demo_stage *stage, const struct lab_instance *standby,
                                 struct oneib_error *err)
{
    const struct lab_sm second = {.name = STANDBY,
                                  .hca = LAB_SECOND_SM_HCA,
                                  .priority = LAB_SM.priority - 1,
                                  .partitions = standby->partitions};
    return lab_opensm_start(stage->lab, &LAB_SM, err) < 0 ||
                   lab_opensm_start(stage->lab, &second, err) < 0
               ? -1
               : 0;
}

static int start_daemons(struct demo_stage *stage, const struct lab_instance *standby,
                         struct oneib_error *err)
{
    const struct lab_daemon second = {
        .name = STANDBY_DAEMON, .hca = LAB_SECOND_SM_HCA, .config = standby->config};
    printf("\nFrom here on nobody runs 'oneib sync': oneibd follows OpenNebula, one beside each "
           "subnet manager.\n");
    return lab_oneibd_start(stage->lab, &LAB_DAEMON, err) < 0 ||
                   lab_oneibd_start(stage->lab, &second, err) < 0
               ? -1
               : 0;
}

static int set_the_stage(struct demo_stage *stage, struct lab_instance *standby,
                         struct oneib_error *err)
{
    printf("oneib demo\n"
           "  simulated: the fabric (ibsim: 8 hosts, 2 leaf and 2 spine switches, two hosts for "
           "SMs),\n"
           "             the hosts' adapters (files as in sysfs that follow the fabric's ports), "
           "their domains\n"
           "             (libvirt's test driver), and OpenNebula (oned-standin)\n"
           "  real:      two opensm with their subnet administrators, every port's P_Key table,\n"
           "             oneibd and oneib; on each host the probe, the network driver, "
           "oneib-vf\n\n");
    const struct lab_node_options nodes = LAB_NODES_DEFAULTS;
    if (lab_fabric_start(stage->lab, err) < 0 || lab_standin_start(stage->lab, NULL, err) < 0 ||
        configure(stage, standby, err) < 0 || start_subnet_managers(stage, standby, err) < 0 ||
        lab_nodes_start(stage->lab, &nodes, err) < 0 || lab_add_nodes(stage->lab, err) < 0)
        return -1;
    if (demo_tenant_add(stage, "red", err) < 0 || demo_tenant_add(stage, "blue", err) < 0)
        return -1;
    /* Taking over the file that opensm reads is asked for once, on each host of an SM. */
    if (show(stage, (const char *[]){"plan", "--force", NULL}, err) < 0 ||
        show(stage, (const char *[]){"sync", "--force", NULL}, err) < 0 ||
        show_standby(stage, standby, "sync", "--force", err) < 0)
        return -1;
    return start_daemons(stage, standby, err) < 0 ? -1 : demo_learn_keys(stage, err);
}

/* Its programs end without a word; its port is no SM's any more. */
static int kill_the_master(struct demo_stage *stage, struct oneib_error *err)
{
    printf("\nThe subnet manager and the oneibd beside it are killed.\n");
    const double began_ms = oneib_now_ms();
    if (lab_opensm_stop(stage->lab, LAB_SM.name, false, err) < 0 ||
        lab_oneibd_stop(stage->lab, LAB_DAEMON.name, SIGKILL, err) < 0 ||
        lab_opensm_await_master(stage->lab, STANDBY, TAKE_OVER_MS, err) < 0)
        return -1;
    printf("The standby is master, with its own partitions file in force, %.0f ms later.\n\n",
           oneib_now_ms() - began_ms);
    stage->drawn_lines = 0;
    return 0;
}

static int fail_over(struct demo_stage *stage, const struct lab_instance *standby,
                     struct oneib_error *err)
{
    if (kill_the_master(stage, err) < 0 ||
        demo_measure(stage, "under the standby everybody reaches whom they reached", err) < 0 ||
        demo_vm_remove(stage, GREEN, err) < 0 ||
        demo_measure(stage, "a VM of green ends, under the standby", err) < 0)
        return -1;
    size_t host;
    if (first_host_with_room(stage, &host) < 0)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "no host has room for another VM");
    if (demo_vm_add(stage, RED, host, err) < 0 ||
        demo_measure(stage, "a VM of red starts in its place, under the standby", err) < 0)
        return -1;
    return show_standby(stage, standby, "verify", NULL, err) < 0
               ? -1
               : lab_oneibd_stop(stage->lab, STANDBY_DAEMON, SIGTERM, err);
}

static int play(struct demo_stage *stage, const char *folder, struct oneib_error *err)
{
    struct lab_instance standby;
    if (set_the_stage(stage, &standby, err) < 0)
        return -1;
    printf("\nWho reaches whom: rows and columns are VMs, two rows a line; █ ▀ ▄ reach, · does "
           "not.\n\n");
    if (grow_together(stage, err) < 0 || draw_fabric(stage, folder, "fabric-full.svg", err) < 0 ||
        show(stage, (const char *[]){"list", NULL}, err) < 0 || show_host(stage, 0, err) < 0 ||
        shrink(stage, err) < 0 || demo_vm_migrate(stage, &stage->vms[0], HOSTS - 2, err) < 0 ||
        newcomer(stage, err) < 0)
        return -1;
    if (show(stage, (const char *[]){"list", NULL}, err) < 0 ||
        show(stage, (const char *[]){"plan", "--exit-code", NULL}, err) < 0 ||
        show(stage, (const char *[]){"verify", NULL}, err) < 0 ||
        draw_fabric(stage, folder, "fabric.svg", err) < 0)
        return -1;
    return fail_over(stage, &standby, err);
}

static int compare_times(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void show_times(const char *what, struct demo_times *times)
{
    qsort(times->items, times->count, sizeof *times->items, compare_times);
    if (times->count > 0)
        printf("%s: median %.0f ms, longest %.0f ms (%zu).\n", what, times->items[times->count / 2],
               times->items[times->count - 1], times->count);
}

static void summarize(struct demo_stage *stage, double seconds)
{
    printf(
        "\n%zu steps in %.1f s. Measured: %zu ordered pairs of VFs, free ones too, by P_Key tables "
        "and the maps on the hosts, %zu path queries by P_Key.\n",
        stage->steps, seconds, stage->pairs, stage->queries);
    show_times("From a VM's deployment in OpenNebula to its open VF", &stage->opened);
    show_times("From a VM's end in OpenNebula to its key being off the port", &stage->gone);
    printf("Wrong: %zu\n", stage->wrong);
}

/* Matrices are drawn over each other where they fit: the largest has a title, a row for two VMs and
 * a legend. */
static bool can_animate(void)
{
    struct winsize size;
    return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
           size.ws_row > DEMO_VMS_MAX / 2 + 4 && size.ws_col > DEMO_VMS_MAX + 8;
}

int main(int argc, char **argv)
{
    const char *missing = lab_missing();
    if (argc > 2 || missing) {
        fprintf(stderr, "oneib-demo: %s%s\n", missing ? missing : "usage: oneib-demo [FOLDER]",
                missing ? " is not installed: run tests/packages" : "");
        return 2;
    }
    const char *folder = argc == 2 ? argv[1] : ".";
    mkdir(folder, 0755);

    struct oneib_error err = {0};
    struct lab_options options = LAB_DEFAULTS;
    options.extra_hosts = 1;
    struct demo_stage stage = {.animate = can_animate()};
    stage.color = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
    stage.lab = lab_open(&options, &err);

    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    int status = stage.lab ? play(&stage, folder, &err) : -1;
    clock_gettime(CLOCK_MONOTONIC, &end);

    summarize(&stage,
              (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
    if (status < 0)
        fprintf(stderr, "oneib-demo: %s\n", err.text);
    lab_close(stage.lab);
    if (status < 0 || stage.wrong > 0) {
        printf("The demo FAILED.\n");
        return 1;
    }
    printf("Every check held.\n");
    return 0;
}
