// SPDX-License-Identifier: Apache-2.0
/*
 * oneib-demo [FOLDER]: two tenants' virtual clusters grow, shrink and move on a simulated fabric
 * with a real opensm, and a third takes the places that become free. After each step it is measured
 * who reaches whom. Pictures go to FOLDER. Exit 0 only if every check held.
 */
#include "base/file.h"
#include "model/guid.h"
#include "stage.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HOSTS 8
#define VMS_PER_TENANT 28
#define VMS_LEFT 3
#define LCM_MIGRATE 4

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

/* A live migration, as the drivers see it: both hosts are members while it lasts; the guest's VF is
 * closed on the source before the other is opened on the destination. */
static int migrate_one(struct demo_stage *stage, struct oneib_error *err)
{
    struct demo_vm *vm = &stage->vms[0];
    const size_t destination = HOSTS - 1;
    if (lab_vm_migrate(stage->lab, vm->id, (uint32_t)destination, LCM_MIGRATE, err) < 0 ||
        demo_sync(stage, err) < 0 ||
        demo_measure(stage, "a VM of red is migrating: both hosts are members", err) < 0)
        return -1;

    vm->vf = DEMO_VF_CLOSED;
    if (demo_measure(stage, "its VF on the source is closed", err) < 0)
        return -1;
    vm->host = destination;
    vm->vf = DEMO_VF_OPENING;
    if (lab_vm_running(stage->lab, vm->id, err) < 0 || demo_sync(stage, err) < 0)
        return -1;
    return demo_measure(stage, "the VM has moved: the source host is no member any more", err);
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
    if (demo_tenant_add(stage, "green", err) < 0 || demo_sync(stage, err) < 0 ||
        demo_learn_keys(stage, err) < 0)
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

/* Runs a verb of oneib that must end with 0 and shows what it says. */
static int show(struct demo_stage *stage, const char *const *arguments, struct oneib_error *err)
{
    struct lab_output output = {0};
    if (lab_oneib(stage->lab, arguments, 60000, &output, err) < 0)
        return -1;
    printf("\n$ oneib");
    for (size_t i = 0; arguments[i]; i++)
        printf(" %s", arguments[i]);
    printf("\n%s%s", output.out, output.error);
    int status = 0;
    if (output.status != 0)
        status = oneib_fail(err, ONEIB_ERROR_PROTOCOL, "'oneib %s' ended with %d", arguments[0],
                            output.status);
    lab_output_clear(&output);
    stage->drawn_lines = 0;
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

static int set_the_stage(struct demo_stage *stage, struct oneib_error *err)
{
    printf(
        "oneib demo\n"
        "  simulated: the fabric (ibsim: 8 hosts, 2 leaf and 2 spine switches, a host for the "
        "SM),\n"
        "             the hosts' virtual functions, the VMs, and OpenNebula (oned-standin)\n"
        "  real:      opensm with its subnet administrator, every port's P_Key table, oneib\n\n");
    if (lab_fabric_start(stage->lab, err) < 0 || lab_opensm_start(stage->lab, &LAB_SM, err) < 0 ||
        lab_standin_start(stage->lab, NULL, err) < 0 ||
        lab_add_hosts(stage->lab, DEMO_VFS_PER_HOST, err) < 0 ||
        lab_config_write(stage->lab, NULL, err) < 0)
        return -1;
    if (demo_tenant_add(stage, "red", err) < 0 || demo_tenant_add(stage, "blue", err) < 0)
        return -1;
    if (show(stage, (const char *[]){"plan", "--force", NULL}, err) < 0 ||
        show(stage, (const char *[]){"sync", "--force", NULL}, err) < 0)
        return -1;
    return demo_learn_keys(stage, err);
}

static int play(struct demo_stage *stage, const char *folder, struct oneib_error *err)
{
    if (set_the_stage(stage, err) < 0)
        return -1;
    printf("\nWho reaches whom: rows and columns are VMs, two rows a line; █ ▀ ▄ reach, · does "
           "not.\n\n");
    if (grow_together(stage, err) < 0 || draw_fabric(stage, folder, "fabric-full.svg", err) < 0 ||
        show(stage, (const char *[]){"list", NULL}, err) < 0 || shrink(stage, err) < 0 ||
        migrate_one(stage, err) < 0 || newcomer(stage, err) < 0)
        return -1;
    if (show(stage, (const char *[]){"list", NULL}, err) < 0 ||
        show(stage, (const char *[]){"plan", "--exit-code", NULL}, err) < 0 ||
        show(stage, (const char *[]){"verify", NULL}, err) < 0)
        return -1;
    return draw_fabric(stage, folder, "fabric.svg", err);
}

static int compare_times(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void summarize(struct demo_stage *stage, double seconds)
{
    qsort(stage->in_force_ms, stage->in_force_count, sizeof *stage->in_force_ms, compare_times);
    printf("\n%zu steps in %.1f s. Measured: %zu ordered pairs of VMs by P_Key tables and VF maps, "
           "%zu path queries by P_Key.\n",
           stage->steps, seconds, stage->pairs, stage->queries);
    if (stage->in_force_count > 0)
        printf(
            "From writing the file to keys in force on the ports: median %.0f ms, longest %.0f ms "
            "(%zu changes).\n",
            stage->in_force_ms[stage->in_force_count / 2],
            stage->in_force_ms[stage->in_force_count - 1], stage->in_force_count);
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
    const struct lab_options options = LAB_DEFAULTS;
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
