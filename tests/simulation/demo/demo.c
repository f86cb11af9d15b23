// SPDX-License-Identifier: Apache-2.0
/*
 * oneib-demo [--keep[=MINUTES]] [DIRECTORY]: two tenants' virtual clusters grow, shrink and move on
 * a simulated fabric with a real opensm, and a third takes the places that become free; oneibd
 * keeps the fabric equal to that, and on the hosts the real network driver opens and closes VFs.
 * Then the subnet manager and its oneibd are killed, and their standby goes on. After each step it
 * is measured who reaches whom; the first check that does not hold ends it. Pictures go to
 * DIRECTORY. With --keep the cloud then stays up for a second terminal. Exit 0 only if every check
 * held.
 */
#include "../lab_node.h"
#include "../lab_ufm.h"
#include "base/clock.h"
#include "base/file.h"
#include "options.h"
#include "stage.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define HOSTS DEMO_HOSTS
#define VMS_PER_TENANT 28
#define VMS_LEFT 3
#define TAKE_OVER_MS 20000u
#define PROGRAM_MS 60000u
#define LIMITED_MS 20000u

#define STANDBY "standby"
#define STANDBY_DAEMON "oneibd-standby"

enum { CLIMATE, PHYSICS, BIOLOGY };

/* Some VMs at a time, so that a line tells of a round. */
#define ROUND 4

static int grow_together(struct demo_stage *stage, struct oneib_error *err)
{
    stage->group_size = ROUND;
    for (size_t round = 0; round < VMS_PER_TENANT; round += ROUND)
        for (size_t tenant = CLIMATE; tenant <= PHYSICS; tenant++)
            for (size_t i = round; i < round + ROUND; i++)
                /* Every host carries both tenants: 4 + 3 of its 7 VFs. */
                if (demo_vm_add(stage, tenant, (i + tenant * HOSTS / 2) % HOSTS, err) < 0)
                    return -1;
    return 0;
}

static int shrink(struct demo_stage *stage, struct oneib_error *err)
{
    stage->group_size = DEMO_GROUP;
    while (stage->tenants[CLIMATE].vms > VMS_LEFT)
        if (demo_vm_remove(stage, demo_vm_newest(stage, CLIMATE), err) < 0)
            return -1;
    demo_tell_rest(stage);
    return 0;
}

static int migrate(struct demo_stage *stage, struct oneib_error *err)
{
    stage->group_size = 1;
    return demo_vm_migrate(stage, &stage->vms[0], HOSTS - 2, err);
}

static int newcomer(struct demo_stage *stage, struct oneib_error *err)
{
    size_t host;
    stage->group_size = DEMO_GROUP;
    if (demo_tenant_add(stage, "biology", "silver", err) < 0 || demo_learn_keys(stage, err) < 0)
        return -1;
    while (demo_find_room(stage, &host))
        if (demo_vm_add(stage, BIOLOGY, host, err) < 0)
            return -1;
    demo_tell_rest(stage);
    return 0;
}

static int check_output(const char *verb, const struct lab_output *output, struct oneib_error *err)
{
    return output->status == 0
               ? 0
               : oneib_fail(err, ONEIB_ERROR_PROTOCOL, "'oneib %s' ended with %d: %s%s", verb,
                            output->status, output->out, output->error);
}

/* Runs a verb of oneib that must end with 0. */
static int run(struct demo_stage *stage, const char *const *arguments, bool is_shown,
               struct oneib_error *err)
{
    struct lab_output output = {0};
    if (lab_oneib(stage->lab, arguments, PROGRAM_MS, &output, err) < 0)
        return -1;
    if (is_shown)
        demo_tell(stage, "\n$ oneib %s\n%s%s", arguments[0], output.out, output.error);
    const int status = check_output(arguments[0], &output, err);
    lab_output_clear(&output);
    return status;
}

static int show(struct demo_stage *stage, const char *verb, struct oneib_error *err)
{
    return run(stage, (const char *[]){verb, NULL}, true, err);
}

/* On the host of the standby. */
static int run_on_standby(struct demo_stage *stage, const struct lab_instance *standby,
                          const char *verb, const char *option, struct oneib_error *err)
{
    struct lab_output output = {0};
    const char *argv[] = {ONEIB_BINARY, verb, "--config", standby->config, option, NULL};
    if (lab_run(stage->lab, LAB_SECOND_SM_HCA, argv, PROGRAM_MS, &output, err) < 0)
        return -1;
    const int status = check_output(verb, &output, err);
    if (status == 0 && !option)
        demo_tell(stage, "\n$ oneib %s        (beside the standby)\n%s%s", verb, output.out,
                  output.error);
    lab_output_clear(&output);
    return status;
}

/* What a host's own administrator sees of all this. */
static int show_host(struct demo_stage *stage, size_t host, struct oneib_error *err)
{
    struct lab_output output = {0};
    if (lab_node_run(stage->lab, host, (const char *[]){"oneib", "hca", NULL}, NULL, &output, err) <
        0)
        return -1;
    demo_tell(stage, "\n$ oneib hca        (on host %s)\n%s%s", demo_host_name(stage, host),
              output.out, output.error);
    const int status = check_output("hca", &output, err);
    lab_output_clear(&output);
    return status;
}

static int draw_fabric(struct demo_stage *stage, const char *path, struct oneib_error *err)
{
    struct lab_output output = {0};
    if (lab_oneib(stage->lab, (const char *[]){"topology", "--format", "svg", NULL}, PROGRAM_MS,
                  &output, err) < 0)
        return -1;
    int status = check_output("topology", &output, err);
    if (status == 0)
        status = oneib_file_replace(path, output.out, output.out_length, 0644, NULL, NULL, err);
    lab_output_clear(&output);
    return status;
}

static uint64_t standby_port_guid(const struct demo_stage *stage)
{
    return lab_host_port_guid(stage->lab, HOSTS);
}

/* A stand-in for UFM leads the fabric: both opensm follow it, and one oneibd tells it. */
static bool is_led_by_ufm(void)
{
    const char *wanted = getenv("ONEIB_LAB_SM");
    return wanted && strcmp(wanted, "ufm") == 0;
}

/* Adapters are mlx5: their VFs are virtual ports, which stand-ins answer for, with tables as
 * NVIDIA's subnet manager is said to fill them. */
static bool is_on_mlx5(void)
{
    const char *wanted = getenv("ONEIB_DEMO_ADAPTERS");
    return wanted && strcmp(wanted, "mlx5") == 0;
}

#define NVIDIAS "sm: { kind = \"nvidia-opensm\"; }; fabric: { virtual_ports = \"try\"; };"

/* The oneibd that is started on the other host when the first is lost has all that it had. */
static int configure_successor(struct demo_stage *stage, struct lab_instance *standby,
                               struct oneib_error *err)
{
    char full_members[128];
    snprintf(full_members, sizeof full_members, "default 0x%" PRIx64 "\ndefault 0x%" PRIx64 "\n",
             LAB_SM_PORT_GUID, standby_port_guid(stage));
    standby->config = lab_config_path(stage->lab);
    standby->partitions = lab_partitions(stage->lab);
    snprintf(standby->metrics_address, sizeof standby->metrics_address, "%s",
             lab_metrics_address(stage->lab));
    return standby->config && standby->partitions &&
                   lab_daemon_known_as(stage->lab, &standby->known_as, err) == 0
               ? lab_ufm_order(stage->lab, full_members, err)
               : -1;
}

/* Each tenant has an SL of its own, and so a lane on each link. UFM's opensm is told nothing. */
#define CLASSES                                                                                    \
    "qos: { classes = [\"gold: weight 64, SL 1\", \"silver: weight 32, SL 2-3\"]; vls = 8; };"

/* Of virtual ports nobody can see whether they follow. */
static bool has_classes(const struct demo_stage *stage)
{
    return !is_led_by_ufm() && !stage->is_virtual;
}

/* What opensm is to be told of them. */
static int learn_qos_lines(struct demo_stage *stage, struct oneib_error *err)
{
    struct lab_output output = {0};
    if (lab_oneib(stage->lab, (const char *[]){"qos", NULL}, PROGRAM_MS, &output, err) < 0)
        return -1;
    int status = check_output("qos", &output, err);
    const char *lines = status == 0 ? strstr(output.out, "qos TRUE\n") : NULL;
    if (status == 0 && !lines)
        status = oneib_fail(err, ONEIB_ERROR_PROTOCOL, "'oneib qos' says nothing for opensm.conf");
    snprintf(stage->qos_lines, sizeof stage->qos_lines, "%s", lines ? lines : "");
    lab_output_clear(&output);
    return status;
}

static int configure(struct demo_stage *stage, struct lab_instance *standby,
                     struct oneib_error *err)
{
    char full_members[512];
    snprintf(full_members, sizeof full_members,
             "default_partition: { full_members = [\"0x%" PRIx64 "\", \"0x%" PRIx64 "\"]; };\n%s%s",
             LAB_SM_PORT_GUID, standby_port_guid(stage), has_classes(stage) ? CLASSES : "",
             stage->is_virtual ? NVIDIAS : "");
    const struct lab_config more = {.other = full_members};
    if (is_led_by_ufm())
        return lab_config_write(stage->lab, &more, err) < 0
                   ? -1
                   : configure_successor(stage, standby, err);
    return lab_config_write(stage->lab, &more, err) < 0 ||
                   lab_config_write_named(stage->lab, STANDBY, STANDBY, &more, standby, err) < 0 ||
                   (has_classes(stage) && learn_qos_lines(stage, err) < 0)
               ? -1
               : 0;
}

static struct lab_sm first_sm(const struct demo_stage *stage)
{
    struct lab_sm first = LAB_SM;
    first.options = stage->qos_lines;
    return first;
}

static int start_subnet_managers(struct demo_stage *stage, const struct lab_instance *standby,
                                 struct oneib_error *err)
{
    const struct lab_sm second = {.name = STANDBY,
                                  .hca = LAB_SECOND_SM_HCA,
                                  .priority = LAB_SM.priority - 1,
                                  .partitions = standby->partitions,
                                  .options = stage->qos_lines};
    const struct lab_sm first = first_sm(stage);
    return lab_opensm_start(stage->lab, &first, err) < 0 ||
                   lab_opensm_start(stage->lab, &second, err) < 0
               ? -1
               : 0;
}

static int start_daemons(struct demo_stage *stage, const struct lab_instance *standby,
                         struct oneib_error *err)
{
    const struct lab_daemon second = {
        .name = STANDBY_DAEMON, .hca = LAB_SECOND_SM_HCA, .config = standby->config};
    if (lab_oneibd_start(stage->lab, &LAB_DAEMON, err) < 0)
        return -1;
    return is_led_by_ufm() ? 0 : lab_oneibd_start(stage->lab, &second, err);
}

static void introduce(struct demo_stage *stage)
{
    demo_tell(
        stage,
        "oneib demo: tenants' virtual InfiniBand clusters on one fabric\n\n"
        "Each tenant has a network in OpenNebula. A VM on it gets a virtual function\n"
        "(VF) of its host's adapter, and reaches the tenant's other VMs over InfiniBand\n"
        "and no others: the network has a key (P_Key), and oneib opens a VF to the key\n"
        "of its VM's network alone.\n%s\n"
        "  simulated  the fabric (ibsim): 8 hosts H1 to H8 with 7 VFs each, 2 leaf and\n"
        "             2 spine switches, 2 hosts for subnet managers; the hosts'\n"
        "             adapters; libvirt; OpenNebula (oned-standin)%s\n"
        "  real       %s\n"
        "             on the hosts oneib's probe, network driver and oneib-node\n\n",
        !has_classes(stage) ? ""
                            : "Networks have classes: climate gold, physics and biology silver. "
                              "Each has a\nservice level (SL) of its own, and so a guaranteed "
                              "share of every link.\n",
        stage->is_virtual ? "; the VFs'\n             virtual ports (mlx5), whose tables a "
                            "stand-in fills as NVIDIA's\n             subnet manager is said to"
                          : "",
        is_led_by_ufm() ? "an oneibd, and two opensm that follow a stand-in for UFM;"
                        : "two opensm, one of them standby, with an oneibd beside each;");
}

/* Before there was a partitions file all ports were full members of the default partition: a probe
 * would find that wrong. */
static int await_limited(struct demo_stage *stage, size_t host, struct oneib_error *err)
{
    const double end_ms = oneib_now_ms() + LIMITED_MS;
    struct lab_node_vf vf;
    do {
        if (lab_node_vf(stage->lab, host, 0, &vf, err) < 0)
            return -1;
        if (!oneib_pkey_is_full(vf.key))
            return 0;
        lab_sleep_ms(5);
    } while (oneib_now_ms() < end_ms);
    return oneib_fail(err, ONEIB_ERROR_TIMEOUT, "the adapter of host %s does not follow the fabric",
                      demo_host_name(stage, host));
}

/* OpenNebula learns of the hosts and their adapters from their probes. */
static int add_hosts(struct demo_stage *stage, struct oneib_error *err)
{
    for (size_t host = 0; host < HOSTS && !stage->is_virtual; host++)
        if (await_limited(stage, host, err) < 0)
            return -1;
    return lab_add_nodes(stage->lab, err);
}

static int set_the_stage(struct demo_stage *stage, struct lab_instance *standby,
                         struct oneib_error *err)
{
    struct lab_node_options nodes = LAB_NODES_DEFAULTS;
    nodes.driver = stage->is_virtual ? ONEIB_HCA_MLX5 : ONEIB_HCA_MLX4;
    nodes.second = is_led_by_ufm() ? NULL : &standby->known_as;
    introduce(stage);
    if (lab_fabric_start(stage->lab, err) < 0 || lab_standin_start(stage->lab, NULL, err) < 0 ||
        configure(stage, standby, err) < 0 || start_subnet_managers(stage, standby, err) < 0 ||
        lab_nodes_start(stage->lab, &nodes, err) < 0)
        return -1;
    if (demo_tenant_add(stage, "climate", "gold", err) < 0 ||
        demo_tenant_add(stage, "physics", "silver", err) < 0)
        return -1;
    /* Taking over the file that opensm reads is asked for once, on each host of an SM. */
    if (run(stage, (const char *[]){"sync", "--force", NULL}, false, err) < 0 ||
        (!is_led_by_ufm() && run_on_standby(stage, standby, "sync", "--force", err) < 0) ||
        add_hosts(stage, err) < 0 || start_daemons(stage, standby, err) < 0 ||
        demo_learn_keys(stage, err) < 0)
        return -1;
    demo_tell(stage,
              "The cloud is up after %.1f s. From here on oneibd follows OpenNebula; nobody\n"
              "types anything.\n\n",
              (oneib_now_ms() - stage->began_ms) / 1000);
    return 0;
}

/* Its programs end without a word; its port is no SM's any more. */
static int kill_the_master(struct demo_stage *stage, const struct lab_instance *standby,
                           struct oneib_error *err)
{
    const double killed_ms = oneib_now_ms();
    if (lab_opensm_stop(stage->lab, LAB_SM.name, false, err) < 0 ||
        lab_oneibd_stop(stage->lab, LAB_DAEMON.name, SIGKILL, err) < 0 ||
        lab_opensm_await_master(stage->lab, STANDBY, TAKE_OVER_MS, err) < 0)
        return -1;
    stage->take_over_ms = oneib_now_ms() - killed_ms;
    if (is_led_by_ufm()) {
        const struct lab_daemon successor = {
            .name = STANDBY_DAEMON, .hca = LAB_SECOND_SM_HCA, .config = standby->config};
        demo_tell(stage,
                  "\nThe subnet manager and the oneibd are killed. %.0f ms later the standby is\n"
                  "master, and an oneibd is started on the other host.\n",
                  stage->take_over_ms);
        return lab_oneibd_start(stage->lab, &successor, err);
    }
    demo_tell(stage,
              "\nThe subnet manager and the oneibd beside it are killed. %.0f ms later the\n"
              "standby is master, with its own file of the same partitions in force.\n",
              stage->take_over_ms);
    return 0;
}

/* The stand-in has to be told which of the two files is in force. */
static int lead_virtual_ports(struct demo_stage *stage, const char *partitions,
                              struct oneib_error *err)
{
    char line[512];
    if (!stage->is_virtual)
        return 0;
    snprintf(line, sizeof line, "partitions %s\n", partitions);
    return lab_write(stage->lab, "virtual-ports", 0644, line, err);
}

static int fail_over(struct demo_stage *stage, const struct lab_instance *standby,
                     struct oneib_error *err)
{
    size_t host;
    stage->group_size = 1;
    if (kill_the_master(stage, standby, err) < 0 ||
        lead_virtual_ports(stage, standby->partitions, err) < 0 ||
        demo_step(stage, DEMO_STAYS, NULL, -1, err) < 0 ||
        demo_vm_remove(stage, demo_vm_newest(stage, BIOLOGY), err) < 0)
        return -1;
    if (!demo_find_room(stage, &host))
        return oneib_fail(err, ONEIB_ERROR_INPUT, "no host has room for another VM");
    return demo_vm_add(stage, CLIMATE, host, err) < 0
               ? -1
               : run_on_standby(stage, standby, "verify", NULL, err);
}

static int play(struct demo_stage *stage, const struct demo_options *options,
                struct lab_instance *standby, struct oneib_error *err)
{
    if (set_the_stage(stage, standby, err) < 0)
        return -1;
    demo_tell_legend(stage);
    if (grow_together(stage, err) < 0)
        return -1;
    demo_tell_matrix(stage,
                     "Two clusters have all VFs. Who reaches whom (a block: all these VMs all\n"
                     "those; a dot: none):");
    if (draw_fabric(stage, options->full_picture, err) < 0 || show(stage, "list", err) < 0 ||
        show_host(stage, 0, err) < 0)
        return -1;
    demo_tell(stage, "\nThe first shrinks, one of its VMs migrates, and a third tenant takes the\n"
                     "places.\n");
    if (shrink(stage, err) < 0 || migrate(stage, err) < 0 || newcomer(stage, err) < 0)
        return -1;
    demo_tell_matrix(stage, "Three clusters, again on all VFs. Who reaches whom:");
    if (show(stage, "list", err) < 0 ||
        run(stage, (const char *[]){"plan", "--exit-code", NULL}, true, err) < 0 ||
        show(stage, "verify", err) < 0 || draw_fabric(stage, options->picture, err) < 0)
        return -1;
    return fail_over(stage, standby, err);
}

/* A subnet manager that starts with an old file puts that into force, until the oneibd beside it
 * has written another. */
static int await_all_ports(struct demo_stage *stage, struct oneib_error *err)
{
    for (size_t host = 0; host < DEMO_HOSTS; host++) {
        stage->held[host] = ~0u;
        if (demo_settle(stage, host, oneib_now_ms(), NULL, err) < 0)
            return -1;
    }
    return 0;
}

/* The subnet manager's host is repaired: what a second terminal looks at. Its oneibd comes first:
 * the file there is as old as the host's failure, and opensm would put it into force. */
static int repair_the_master(struct demo_stage *stage, const struct lab_instance *standby,
                             struct oneib_error *err)
{
    const struct lab_sm first = first_sm(stage);
    if (lab_oneibd_start(stage->lab, &LAB_DAEMON, err) < 0 ||
        lab_opensm_start(stage->lab, &first, err) < 0 ||
        lab_opensm_await_master(stage->lab, LAB_SM.name, TAKE_OVER_MS, err) < 0 ||
        lab_await_metric(lab_metrics_address(stage->lab), "oneib_sm_master", 1, TAKE_OVER_MS, err) <
            0 ||
        lab_await_metric(standby->metrics_address, "oneib_sm_master", 0, TAKE_OVER_MS, err) < 0 ||
        await_all_ports(stage, err) < 0)
        return -1;
    demo_tell(stage, "\nThe failed host is repaired, and its subnet manager is master again.\n");
    /* So that there is room to start some. */
    stage->group_size = VMS_LEFT;
    for (size_t i = 0; i < VMS_LEFT; i++)
        if (demo_vm_remove(stage, demo_vm_newest(stage, BIOLOGY), err) < 0)
            return -1;
    return 0;
}

static int perform(struct demo_stage *stage, const struct demo_options *options,
                   struct oneib_error *err)
{
    struct lab_instance standby;
    if (play(stage, options, &standby, err) < 0)
        return -1;
    demo_tell_summary(stage);
    demo_tell(stage, "Pictures of the fabric:\n    %s\n    %s\n", options->full_picture,
              options->picture);
    /* Somebody may have ended any of its programs. */
    if (options->keep_minutes > 0)
        return repair_the_master(stage, &standby, err) < 0
                   ? -1
                   : demo_keep(stage, options->directory, options->keep_minutes, err);
    return lab_oneibd_stop(stage->lab, STANDBY_DAEMON, SIGTERM, err);
}

/* Matrices are drawn over each other where the largest fits, below its title. */
static bool can_animate(void)
{
    struct winsize size;
    return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
           size.ws_row > DEMO_MATRIX_LINES && size.ws_col >= DEMO_COLUMNS;
}

static void conclude(struct demo_stage *stage, const struct demo_options *options, int status,
                     const struct oneib_error *err)
{
    if (status < 0) {
        demo_tell_rest(stage);
        fprintf(stderr, "oneib-demo: %s\n", err->text);
        printf("The demo FAILED.\n");
        lab_preserve(stage ? stage->lab : NULL);
        if (stage && stage->lab)
            printf("Its logs are kept in %s\n", lab_directory(stage->lab));
        return;
    }
    if (stage->wrong > 0)
        printf("Every check of the demo held. In the kept cloud %zu things were not as they should "
               "be; "
               "no tenant reached another.\n",
               stage->wrong);
    else
        printf("Every check held.\n");
    if (options->keep_minutes == 0)
        printf("\nNext: share/demo/run --keep   the cloud stays up, and you look around in it\n"
               "      docs/operator.md        installing oneib, and running it\n"
               "      docs/user.md            for users of such a cloud\n");
}

int main(int argc, char **argv)
{
    struct demo_options options;
    if (!demo_options_parse(argc, argv, &options))
        return 2;
    if (options.help)
        return 0;
    const char *missing = lab_missing();
    if (missing) {
        fprintf(stderr, "oneib-demo: %s is not installed: run tests/packages\n", missing);
        return 2;
    }

    struct oneib_error err = {0};
    struct lab_options lab = LAB_DEFAULTS;
    lab.extra_hosts = 1;
    lab.virtual_ports = is_on_mlx5();
    struct demo_stage *stage = calloc(1, sizeof *stage);
    if (!stage)
        return 1;
    stage->is_virtual = lab.virtual_ports;
    stage->animate = can_animate();
    stage->color = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
    stage->began_ms = oneib_now_ms();
    stage->lab = lab_open(&lab, &err);
    const int status = stage->lab ? perform(stage, &options, &err) : -1;
    conclude(stage, &options, status, &err);
    lab_close(stage->lab);
    free(stage);
    return status < 0 ? 1 : 0;
}
