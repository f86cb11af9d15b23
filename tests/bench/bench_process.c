// SPDX-License-Identifier: Apache-2.0
#include "bench_process.h"
#include "../grants_standin.h"
#include "../unit/hca/tree.h"
#include "base/clock.h"
#include "hca/reservations.h"
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

void bench_give_up(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    exit(tree_close(EXIT_FAILURE));
}

static double ms_of(const struct timeval *time)
{
    return (double)time->tv_sec * 1e3 + (double)time->tv_usec / 1e3;
}

struct bench_cost bench_run(const char *const *argv, const char *input_file)
{
    struct rusage usage;
    posix_spawn_file_actions_t files;
    char *const *arguments;
    int status = 0;
    pid_t pid;
    memcpy(&arguments, &argv, sizeof arguments);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, input_file, O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    const double start = oneib_now_ms();
    const int failure = posix_spawn(&pid, argv[0], &files, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    if (failure || wait4(pid, &status, 0, &usage) != pid)
        bench_give_up("a process could not be started");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        bench_give_up(argv[0]);
    return (struct bench_cost){ms_of(&usage.ru_utime) + ms_of(&usage.ru_stime),
                               oneib_now_ms() - start};
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

struct bench_cost bench_median_cost(const struct bench_cost *costs, size_t count)
{
    double *values = malloc(2 * count * sizeof *values);
    if (!values)
        bench_give_up("out of memory");
    for (size_t i = 0; i < count; i++) {
        values[i] = costs[i].cpu_ms;
        values[count + i] = costs[i].wall_ms;
    }
    qsort(values, count, sizeof *values, compare);
    qsort(values + count, count, sizeof *values, compare);
    const struct bench_cost median = {values[count / 2], values[count + count / 2]};
    free(values);
    return median;
}

/* ---- the node's service ---------------------------------------------------------------------- */

static pid_t node;

static void write_table(const struct tree_hca *hca, unsigned given)
{
    struct oneib_text table = {0};
    for (unsigned i = 0; i < given; i++) {
        const struct oneib_vf_record record = {
            .vf = tree_vf_pci(hca, i),
            .device = "mlx4_0",
            .index = (uint16_t)i,
            .port = 1,
            .vm_id = 100 + i,
            .stage = ONEIB_VF_CLOSED,
            .guid = ONEIB_VF_GUID_DEFERRED,
            .since = oneib_seconds_since_boot(),
        };
        oneib_vf_record_render(&record, &table);
        oneib_text_append(&table, "\n");
    }
    tree_make_directory("/run/oneib");
    char *path = tree_path("/run/oneib/vfs");
    FILE *file = fopen(path, "w");
    if (!file || fputs(table.data, file) < 0 || fclose(file) != 0)
        bench_give_up(path);
    free(path);
    oneib_text_clear(&table);
}

void bench_oneibd_start(void)
{
    start_grants_standin();
}

void bench_node_make(unsigned vfs, unsigned given)
{
    const struct tree_hca first = {.driver = ONEIB_HCA_MLX4, .vfs = vfs};
    const struct tree_hca second = {
        .name = "mlx4_1", .driver = ONEIB_HCA_MLX4, .pci = "0000:c1:00.0", .vfs = vfs};
    char text[512];
    tree_reset(NULL);
    tree_add_hca(&first);
    tree_add_hca(&second);
    snprintf(text, sizeof text, "node = { libvirt = \"test://%s/node.xml\"; };", tree_root());
    tree_write(text, "/etc/oneib/oneib.conf");
    tree_write("<node></node>", "/node.xml");
    write_table(&first, given);
    bench_oneibd_start();
    bench_node_start();
}

void bench_node_start(void)
{
    node = fork();
    if (node < 0)
        bench_give_up("oneib-node could not be started");
    if (node == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const int fd = open("/dev/null", O_WRONLY);
        if (dup2(fd, STDERR_FILENO) >= 0)
            execl(ONEIB_NODE_PROGRAM, "oneib-node", (char *)NULL);
        _exit(127);
    }
    bench_run((const char *const[]){ONEIB_ASK_PROGRAM, "await", "known", NULL}, "/dev/null");
}

void bench_node_stop(void)
{
    if (node > 0) {
        kill(node, SIGTERM);
        waitpid(node, NULL, 0);
    }
    node = 0;
}

/* Nanoseconds that one thread has run. */
static uint64_t runtime_of(const char *process, const char *thread)
{
    char path[600];
    uint64_t runtime = 0;
    snprintf(path, sizeof path, "/proc/%s/task/%s/schedstat", process, thread);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%" SCNu64, &runtime) != 1)
        bench_give_up(path);
    fclose(file);
    return runtime;
}

/* The number behind a word of its status; threads share the rest. */
static unsigned long long status_of(const char *process, const char *thread, const char *word)
{
    char path[600], line[256];
    unsigned long long number = 0;
    snprintf(path, sizeof path, "/proc/%s/task/%s/status", process, thread);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, word, strlen(word)) == 0)
            number = strtoull(line + strlen(word), NULL, 10);
    if (file)
        fclose(file);
    return number;
}

/* With its children's, and theirs. */
static uint64_t runtime_of_family(pid_t pid)
{
    char process[16], path[64];
    uint64_t runtime = 0;
    int child;
    snprintf(process, sizeof process, "%d", (int)pid);
    snprintf(path, sizeof path, "/proc/%s/task", process);
    DIR *threads = opendir(path);
    if (!threads)
        bench_give_up(path);
    for (struct dirent *thread; (thread = readdir(threads));)
        if (thread->d_name[0] != '.')
            runtime += runtime_of(process, thread->d_name);
    closedir(threads);
    snprintf(path, sizeof path, "/proc/%s/task/%s/children", process, process);
    FILE *children = fopen(path, "r");
    while (children && fscanf(children, "%d", &child) == 1)
        runtime += runtime_of_family(child);
    if (children)
        fclose(children);
    return runtime;
}

double bench_node_cpu_ms(void)
{
    return (double)runtime_of_family(node) / 1e6;
}

static void add_rest_of_family(pid_t pid, struct bench_rest *rest)
{
    char process[16], path[64];
    int child;
    snprintf(process, sizeof process, "%d", (int)pid);
    snprintf(path, sizeof path, "/proc/%s/task", process);
    DIR *threads = opendir(path);
    for (struct dirent *thread; threads && (thread = readdir(threads));)
        if (thread->d_name[0] != '.')
            rest->sleeps += status_of(process, thread->d_name, "voluntary_ctxt_switches:");
    if (threads)
        closedir(threads);
    rest->own_kib += status_of(process, process, "RssAnon:");
    rest->used_kib += status_of(process, process, "VmRSS:");
    snprintf(path, sizeof path, "/proc/%s/task/%s/children", process, process);
    FILE *children = fopen(path, "r");
    while (children && fscanf(children, "%d", &child) == 1)
        add_rest_of_family(child, rest);
    if (children)
        fclose(children);
}

struct bench_rest bench_node_rest(void)
{
    struct bench_rest rest = {0};
    add_rest_of_family(node, &rest);
    return rest;
}
