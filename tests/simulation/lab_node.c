// SPDX-License-Identifier: Apache-2.0
/* Simulated nodes: their directories, their programs, their service. */
#include "lab_node.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "grants/daemons.h"
#include "lab_node_internal.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <signal.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>

#define VMM_DIRECTORY "vmm" /* below the directory of programs */
#define READY_MS 30000u
#define PROGRAM_MS 60000u
#define END_MS 20000u

const char *lab_node_root(const struct lab *lab, size_t host)
{
    return lab->nodes->roots[host];
}

/* As node-standin makes them: functions behind the adapter's 0000:81:00.0. */
struct oneib_pci lab_node_vf_pci(unsigned vf)
{
    return (struct oneib_pci){
        .bus = 0x81, .slot = (uint8_t)((vf + 1) / 8), .function = (uint8_t)((vf + 1) % 8)};
}

void lab_node_file(const struct lab *lab, size_t host, const char *suffix, char *name, size_t size)
{
    snprintf(name, size, LAB_NODES "/%s%s", strrchr(lab->nodes->roots[host], '/') + 1, suffix);
}

/* ---- making them ----------------------------------------------------------------------------- */

static int make_programs_directory(struct lab *lab, const char *path, struct oneib_error *err)
{
    char below[256];
    snprintf(below, sizeof below, "%s/" VMM_DIRECTORY, path);
    if (mkdir(path, 0755) < 0 || chmod(path, 0755) < 0 || mkdir(below, 0755) < 0 ||
        chmod(below, 0755) < 0 || (geteuid() == 0 && chmod(lab->directory, 0711) < 0))
        return oneib_fail_errno(err, errno, "making %s", path);
    return 0;
}

/* With room to spare: an attribute of sysfs is a file of one page here. */
static bool has_room(const struct lab *lab, const char *directory)
{
    struct statfs status;
    const uint64_t files = lab_host_count(lab) * (lab->nodes->options.vfs + 16u) * 72u;
    return statfs(directory, &status) == 0 && status.f_type == TMPFS_MAGIC &&
           status.f_bavail * (uint64_t)status.f_bsize > 2 * files * 4096;
}

/* Every write to such a tree is one to a disk otherwise, and a call of the network driver makes
 * hundreds. The link comes first: what removes the lab's directory finds the other one by it. */
static bool make_memory_directory(struct lab *lab, const char *path)
{
    char directory[sizeof LAB_MEMORY + sizeof lab->directory];
    if (lab->options.keep || !has_room(lab, LAB_MEMORY))
        return false;
    snprintf(directory, sizeof directory, LAB_MEMORY "%s", strrchr(lab->directory, '/'));
    if (symlink(directory, path) == 0 && mkdir(directory, 0700) == 0)
        return true;
    unlink(path);
    return false;
}

static int make_nodes_directory(struct lab *lab, struct oneib_error *err)
{
    const char *path = lab_path(lab, LAB_NODES);
    if ((!make_memory_directory(lab, path) && mkdir(path, 0755) < 0) || chmod(path, 0755) < 0 ||
        (geteuid() == 0 && chown(path, LAB_NODE_USER, LAB_NODE_USER) < 0))
        return oneib_fail_errno(err, errno, "making %s", path);
    return 0;
}

/* As it is called where it is installed: "driver", which was built as vnm-driver, and "vmm/driver",
 * which other programs look for there. */
static void installed_path(const char *from, const char *directory, char to[256])
{
    static const struct {
        const char *built, *installed;
    } prefixes[] = {{"vnm-", ""}, {"vmm-", VMM_DIRECTORY "/"}};
    const char *name = strrchr(from, '/') + 1, *below = "";
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(name, prefixes[i].built, strlen(prefixes[i].built)) == 0) {
            name += strlen(prefixes[i].built);
            below = prefixes[i].installed;
        }
    snprintf(to, 256, "%s/%s%s", directory, below, name);
}

static int copy_program(const char *from, const char *directory, struct oneib_error *err)
{
    char to[256];
    struct stat status;
    installed_path(from, directory, to);
    oneib_autoclose int in = open(from, O_RDONLY | O_CLOEXEC);
    oneib_autoclose int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    if (in < 0 || out < 0 || fstat(in, &status) < 0 || fchmod(out, 0755) < 0)
        return oneib_fail_errno(err, errno, "copying %s to %s", from, directory);
    for (off_t left = status.st_size; left > 0;) {
        const ssize_t copied = sendfile(out, in, NULL, (size_t)left);
        if (copied <= 0)
            return oneib_fail_errno(err, errno, "copying %s to %s", from, directory);
        left -= copied;
    }
    return 0;
}

static int copy_programs(struct lab *lab, struct oneib_error *err)
{
    static const char *const binaries[] = {LAB_NODE_BINARIES};
    const char *directory = lab_path(lab, LAB_NODE_PROGRAMS);
    if (make_programs_directory(lab, directory, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
        if (copy_program(binaries[i], directory, err) < 0)
            return -1;
    return 0;
}

static int write_plan(struct lab *lab, struct oneib_error *err)
{
    oneib_autotext struct oneib_text plan = {0};
    for (size_t host = 0; host < lab_host_count(lab); host++) {
        char route[64];
        lab_direct_route(lab, host, route, sizeof route);
        oneib_text_printf(&plan, "%s %s %" PRIx64 "\n", lab_node_root(lab, host), route,
                          lab_host_port_guid(lab, host));
    }
    return lab_write(lab, LAB_NODES "/plan", 0644, plan.data, err);
}

static const char *find_program(struct lab *lab, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, LAB_NODE_PROGRAMS "/%s", name);
    return lab_path(lab, path);
}

static int start_standin(struct lab *lab, struct oneib_error *err)
{
    char vfs[16];
    pid_t pid;
    snprintf(vfs, sizeof vfs, "%u", lab->nodes->options.vfs);
    const char *plan = lab_path(lab, LAB_NODES "/plan");
    const bool is_mlx4 = lab->nodes->options.driver == ONEIB_HCA_MLX4;
    const char *program_path = find_program(lab, "node-standin");
    const char *argv[] = {program_path, plan, is_mlx4 ? "mlx4" : "mlx5", vfs, NULL};
    const struct lab_program program = {.name = "node-standin",
                                        .hca = LAB_SM_HCA,
                                        .argv = argv,
                                        .in = -1,
                                        .out = -1,
                                        .error = -1,
                                        .as_node_user = true};
    if (lab_start(lab, &program, &pid, err) < 0)
        return -1;
    return lab_await_text(lab, "node-standin.log", 0, "ready", pid, READY_MS, err);
}

/* A directory of the node's, whose programs write there. */
static int make_node_directory(struct lab *lab, size_t host, const char *suffix,
                               struct oneib_error *err)
{
    char name[64];
    lab_node_file(lab, host, suffix, name, sizeof name);
    const char *path = lab_path(lab, name);
    if ((mkdir(path, 0755) < 0 && errno != EEXIST) ||
        (geteuid() == 0 && chown(path, LAB_NODE_USER, LAB_NODE_USER) < 0))
        return oneib_fail_errno(err, errno, "making %s", path);
    return 0;
}

/* As root would: the daemons that the node is to believe. */
static int tell_daemons(struct lab *lab, size_t host, struct oneib_error *err)
{
    struct oneib_daemons daemons = {.count = 1};
    oneib_autotext struct oneib_text text = {0};
    char name[64];
    if (lab_daemon_known_as(lab, &daemons.items[0], err) < 0)
        return -1;
    if (lab->nodes->options.second)
        daemons.items[daemons.count++] = *lab->nodes->options.second;
    oneib_daemons_render(&daemons, &text);
    static const char *const directories[] = {"/var", "/var/lib", "/var/lib/oneib-node"};
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
        if (make_node_directory(lab, host, directories[i], err) < 0)
            return -1;
    lab_node_file(lab, host, ONEIB_DAEMONS_FILE, name, sizeof name);
    return lab_write(lab, name, 0644, text.data, err);
}

static int configure(struct lab *lab, size_t host, struct oneib_error *err)
{
    const struct lab_node_options *options = &lab->nodes->options;
    char name[64], domains[64];
    oneib_autotext struct oneib_text config = {0};
    lab_node_file(lab, host, "/etc/oneib/oneib.conf", name, sizeof name);
    lab_node_file(lab, host, ".xml", domains, sizeof domains);
    oneib_text_printf(&config,
                      "node: {\n  libvirt = \"test://%s/%s\";\n  pkey_wait = %u;\n"
                      "  guid_wait = %u;\n  watch = %u;\n};\n",
                      lab->directory, domains, options->pkey_wait_ms, options->guid_wait_ms,
                      options->watch_ms);
    return lab_write(lab, name, 0644, config.data, err) < 0 ||
                   lab_node_write_domains(lab, host, err) < 0 || tell_daemons(lab, host, err) < 0
               ? -1
               : 0;
}

static void plan_roots(struct lab *lab, const struct lab_node_options *options)
{
    lab->nodes = oneib_alloc(1, sizeof *lab->nodes);
    lab->nodes->options = *options;
    lab->nodes->roots = oneib_alloc(lab_host_count(lab), sizeof *lab->nodes->roots);
    for (size_t host = 0; host < lab_host_count(lab); host++) {
        char name[64];
        snprintf(name, sizeof name, LAB_NODES "/%s", lab_host_hca(lab, host));
        lab->nodes->roots[host] = lab_path(lab, name);
    }
}

void lab_nodes_clear(struct lab *lab)
{
    if (!lab->nodes)
        return;
    lab_node_domains_clear(lab->nodes);
    free(lab->nodes->roots);
    free(lab->nodes);
    lab->nodes = NULL;
}

/* ---- their programs -------------------------------------------------------------------------- */

#define ROOT_VARIABLE_SIZE 256
static void name_root(const struct lab *lab, size_t host, char variable[ROOT_VARIABLE_SIZE])
{
    snprintf(variable, ROOT_VARIABLE_SIZE, "ONEIB_NODE_ROOT=%s", lab_node_root(lab, host));
}

int lab_node_run(struct lab *lab, size_t host, const char *const *argv, const char *input,
                 struct lab_output *output, struct oneib_error *err)
{
    char root[ROOT_VARIABLE_SIZE];
    const char *environment[] = {root, NULL}, *arguments[32] = {find_program(lab, argv[0])};
    name_root(lab, host, root);
    for (size_t i = 1; argv[i] && i < sizeof arguments / sizeof *arguments - 1; i++)
        arguments[i] = argv[i];
    struct lab_program program = {.name = "run",
                                  .argv = arguments,
                                  .environment = environment,
                                  .as_node_user = true,
                                  .meanwhile = lab->nodes->meanwhile};
    lab->nodes->meanwhile = NULL;
    return arguments[0] ? lab_run_program(lab, &program, input, PROGRAM_MS, output, err) : -1;
}

void lab_node_meanwhile(struct lab *lab, void (*meanwhile)(void))
{
    lab->nodes->meanwhile = meanwhile;
}

/* ---- their service --------------------------------------------------------------------------- */

static void name_service(const struct lab *lab, size_t host, char *name, size_t size)
{
    snprintf(name, size, "node-%s", strrchr(lab_node_root(lab, host), '/') + 1);
}

pid_t lab_node_service_pid(const struct lab *lab, size_t host)
{
    char name[64];
    name_service(lab, host, name, sizeof name);
    return lab_child_pid(lab, name);
}

int lab_node_await(struct lab *lab, size_t host, const char *first, const char *second,
                   struct oneib_error *err)
{
    struct lab_output output;
    char name[64], log[80];
    if (lab_node_run(lab, host, (const char *[]){"oneib-node-ask", "await", first, second, NULL},
                     NULL, &output, err) < 0)
        return -1;
    const bool done = output.status == 0;
    if (!done) {
        name_service(lab, host, name, sizeof name);
        snprintf(log, sizeof log, "%s.log", name);
        oneib_autofree char *said = lab_log_end(lab, log);
        oneib_fail(err, ONEIB_ERROR_TIMEOUT, "%s%s", output.error, said ? said : "");
    }
    lab_output_clear(&output);
    return done ? 0 : -1;
}

static int spawn_service(struct lab *lab, size_t host, struct oneib_error *err)
{
    char name[64], root[ROOT_VARIABLE_SIZE];
    const char *environment[] = {root, NULL};
    const char *argv[] = {find_program(lab, "oneib-node"), NULL};
    name_service(lab, host, name, sizeof name);
    name_root(lab, host, root);
    const struct lab_program program = {.name = name,
                                        .argv = argv,
                                        .environment = environment,
                                        .in = -1,
                                        .out = -1,
                                        .error = -1,
                                        .as_node_user = true};
    pid_t pid;
    return argv[0] ? lab_start(lab, &program, &pid, err) : -1;
}

/* Until it listens, and knows the domains. */
static int await_service(struct lab *lab, size_t host, struct oneib_error *err)
{
    char file[64], text[16];
    if (lab_node_await(lab, host, "known", NULL, err) < 0)
        return -1;
    const pid_t pid = lab_node_service_pid(lab, host);
    lab_node_file(lab, host, LAB_NODE_SERVICE, file, sizeof file);
    snprintf(text, sizeof text, "%d\n", pid);
    if (lab_write(lab, file, 0644, text, err) < 0)
        return -1;
    /* node-standin may have changed the table before it knew whom to tell. */
    return pid <= 0 || kill(pid, SIGHUP) < 0 ? oneib_fail_errno(err, errno, "signalling oneib-node")
                                             : 0;
}

int lab_node_service_start(struct lab *lab, size_t host, struct oneib_error *err)
{
    return spawn_service(lab, host, err) < 0 ? -1 : await_service(lab, host, err);
}

int lab_node_service_stop(struct lab *lab, size_t host, int signal, struct oneib_error *err)
{
    char file[64];
    lab_node_file(lab, host, LAB_NODE_SERVICE, file, sizeof file);
    const char *path = lab_path(lab, file);
    if (unlink(path) < 0 && errno != ENOENT)
        return oneib_fail_errno(err, errno, "stopping oneib-node");
    return lab_end(lab, lab_node_service_pid(lab, host), signal, END_MS, err);
}

static bool read_process(pid_t pid, char name[32], pid_t *parent)
{
    char path[64];
    oneib_autofree char *stat = NULL;
    struct oneib_error gone;
    size_t length;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    return oneib_file_read(path, 4096, &stat, &length, &gone) == 0 &&
           sscanf(stat, "%*d (%31[^)]) %*c %d", name, parent) == 2;
}

/* The service starts a process that starts its program, and ends it. */
static bool is_connected_child(pid_t pid, pid_t service)
{
    char name[32];
    pid_t parent, grandparent;
    return read_process(pid, name, &parent) && strcmp(name, "oneib-grants") == 0 &&
           read_process(parent, name, &grandparent) && grandparent == service;
}

/* Of the service: the process that has the network. 0: none. */
static pid_t connected_child(pid_t service)
{
    pid_t child = 0;
    DIR *processes = opendir("/proc");
    for (const struct dirent *entry = NULL; processes && (entry = readdir(processes));) {
        const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && is_connected_child(pid, service))
            child = pid;
    }
    if (processes)
        closedir(processes);
    return child;
}

int lab_node_cut(struct lab *lab, size_t host, bool cut, struct oneib_error *err)
{
    const pid_t child = connected_child(lab_node_service_pid(lab, host));
    /* One that was stopped for too long has been replaced. */
    if (child <= 0 && !cut)
        return 0;
    if (child <= 0 || kill(child, cut ? SIGSTOP : SIGCONT) < 0)
        return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "%s: no connection to be %s",
                          lab_node_root(lab, host), cut ? "cut" : "mended");
    return 0;
}

int lab_nodes_await_grants(struct lab *lab, struct oneib_error *err)
{
    for (size_t host = 0; host < lab_host_count(lab); host++)
        if (lab_node_service_pid(lab, host) > 0 &&
            lab_node_await(lab, host, "fresh", NULL, err) < 0)
            return -1;
    return 0;
}

int lab_nodes_start(struct lab *lab, const struct lab_node_options *options,
                    struct oneib_error *err)
{
    plan_roots(lab, options);
    if (make_nodes_directory(lab, err) < 0 || copy_programs(lab, err) < 0 ||
        write_plan(lab, err) < 0 || start_standin(lab, err) < 0)
        return -1;
    for (size_t host = 0; host < lab_host_count(lab); host++)
        if (configure(lab, host, err) < 0 || spawn_service(lab, host, err) < 0)
            return -1;
    for (size_t host = 0; host < lab_host_count(lab); host++)
        if (await_service(lab, host, err) < 0)
            return -1;
    return 0;
}

/* ---- the subnet manager's part --------------------------------------------------------------- */

int lab_node_hold_guids(struct lab *lab, size_t host, bool hold, struct oneib_error *err)
{
    char file[64];
    lab_node_file(lab, host, ".hold", file, sizeof file);
    const char *path = lab_path(lab, file);
    if (hold)
        return lab_write(lab, file, 0644, "", err);
    return unlink(path) < 0 ? oneib_fail_errno(err, errno, "removing %s", path) : 0;
}

/* ---- the probe ------------------------------------------------------------------------------- */

/* An operator accepts the key that the probe has printed, if it has one. */
static void accept_printed(struct lab *lab, uint32_t id, const char *printed)
{
    static const char name[] = "IB_NODE_KEY = \"";
    char key[65];
    const char *line = strstr(printed, name);
    if (line && sscanf(line + sizeof name - 1, "%64[0-9a-f]", key) == 1)
        lab_accept_later(lab, id, key);
}

static int probe(struct lab *lab, size_t host, uint32_t id, struct oneib_error *err)
{
    struct lab_output output;
    if (lab_node_run(lab, host, (const char *[]){"probe", NULL}, NULL, &output, err) < 0)
        return -1;
    int result = output.status == 0
                     ? lab_host_monitor(lab, id, output.out, err)
                     : oneib_fail(err, ONEIB_ERROR_PROTOCOL, "the probe of %s ended with %d: %s",
                                  lab_node_root(lab, host), output.status, output.error);
    if (result == 0)
        accept_printed(lab, id, output.out);
    lab_output_clear(&output);
    return result;
}

int lab_node_probe(struct lab *lab, size_t host, uint32_t id, struct oneib_error *err)
{
    return probe(lab, host, id, err) < 0 ? -1 : lab_accept_now(lab, err);
}

int lab_add_nodes(struct lab *lab, struct oneib_error *err)
{
    for (size_t host = 0; host < lab_host_count(lab); host++) {
        uint32_t id;
        const char *name = lab_host_hca(lab, host);
        if (lab_host_create_bare(lab, name, &id, err) < 0 || probe(lab, host, id, err) < 0)
            return -1;
    }
    return lab_accept_now(lab, err);
}
