// SPDX-License-Identifier: Apache-2.0
/*
 * The fabric and the nodes of the suite: ibsim, opensm, the trees of eight compute hosts with the
 * oneib-node of each, and oneibd once it is asked for. Stays until its standard input ends. It is
 * told what to do there, a line each; it answers with lines and then one that is "ok", or begins
 * with "error".
 *
 *     opennebula-fabric ENDPOINT EVENTS AUTH_FILE
 *
 * roots: "HOST ROOT" for each host.
 *
 * port HOST: the port's P_Key table as smpquery reads it, hexadecimal, a line each.
 *
 * oneib ARGUMENT...: its output, then "status N".
 *
 * log NAME: all of a log.
 *
 * opensm restart: the new one begins with the ports' tables as they are.
 *
 * forget HOST: oneib-node has no records any more, and what is nobody's now is closed.
 *
 * oneibd start, oneibd stop SIGNAL, service HOST start, service HOST stop SIGNAL, link HOST up,
 * link HOST down, hold-guids HOST yes, hold-guids HOST no.
 */
#include "base/cleanup.h"
#include "base/text.h"
#include "grants/daemons.h"
#include "lab.h"
#include "lab_internal.h"
#include "lab_node.h"
#include "service/service_message.h"
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORDS_MAX 32
#define ONEIB_MS 60000u
#define PKEYS_MAX 128
#define DOMAINS "/var/lib/live-standin/node.xml"

static int write_configuration(struct lab *lab, char **argv, struct oneib_error *err)
{
    oneib_autotext struct oneib_text config = {0};
    oneib_text_printf(&config,
                      "one: {\n  endpoint = \"%s\";\n  events = \"%s\";\n  auth_file = \"%s\";\n"
                      "  timeout = 10000;\n};\n",
                      argv[1], argv[2], argv[3]);
    oneib_text_printf(
        &config,
        "opensm: {\n  partitions = \"%s/partitions.conf\";\n"
        "  static_partitions = \"%s/static-partitions.conf\";\n  reload = \"pid_file\";\n"
        "  pid_file = \"%s/%s.pid\";\n};\ndaemon: {\n  metrics = \"%s\";\n"
        "  grants = \"tcp://%s\";\n  address = \"tcp://%s\";\n"
        "  key = \"%s/daemon.key\";\n};\n",
        lab_directory(lab), lab_directory(lab), lab_directory(lab), LAB_SM.name,
        lab_metrics_address(lab), lab->grants_address, lab->grants_address, lab_directory(lab));
    return lab_write(lab, "oneib.conf", 0600, config.data, err);
}

/* Those above a file of the lab's directory. */
static int make_directories(struct lab *lab, const char *file, struct oneib_error *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", lab_directory(lab), file);
    for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
            return oneib_fail_errno(err, errno, "making %s", path);
        *slash = '/';
    }
    return 0;
}

/* Nodes learn of oneibd as they do on a site: from OpenNebula's remotes, by the probe. */
static int forget_daemons(struct lab *lab, size_t host, struct oneib_error *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s" ONEIB_DAEMONS_FILE, lab_node_root(lab, host));
    return unlink(path) < 0 ? oneib_fail_errno(err, errno, "removing %s", path) : 0;
}

/* What oneib looks for is beside the programs that are installed, and libvirt is its stand-in. */
static int configure_node(struct lab *lab, size_t host, struct oneib_error *err)
{
    char name[128];
    oneib_autotext struct oneib_text config = {0};
    snprintf(name, sizeof name, LAB_NODES "/%s/etc/oneib/oneib.conf", lab_host_hca(lab, host));
    oneib_text_printf(&config,
                      "node: {\n  libvirt = \"test://%s" DOMAINS "\";\n"
                      "  pkey_wait = 10000;\n  guid_wait = 5000;\n  watch = 10000;\n"
                      "  unplug_wait = 1000;\n};\n",
                      lab_node_root(lab, host));
    if (lab_write(lab, name, 0644, config.data, err) < 0)
        return -1;
    if (forget_daemons(lab, host, err) < 0)
        return -1;
    snprintf(name, sizeof name, LAB_NODES "/%s" DOMAINS, lab_host_hca(lab, host));
    return make_directories(lab, name, err) < 0 ? -1 : lab_write(lab, name, 0644, "<node/>\n", err);
}

/* Drivers are oneadmin's, and the service has no privilege to give its socket to that group. */
static int open_to_oneadmin(struct lab *lab, size_t host, struct oneib_error *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s" ONEIB_SERVICE_SOCKET, lab_node_root(lab, host));
    return chmod(path, 0666) < 0 ? oneib_fail_errno(err, errno, "opening %s to oneadmin", path) : 0;
}

static int start_service(struct lab *lab, size_t host, struct oneib_error *err)
{
    return lab_node_service_start(lab, host, err) < 0 ? -1 : open_to_oneadmin(lab, host, err);
}

/* With a configuration of its own. */
static int restart_service(struct lab *lab, size_t host, struct oneib_error *err)
{
    return lab_node_service_stop(lab, host, SIGTERM, err) < 0 ? -1 : start_service(lab, host, err);
}

static int start(struct lab *lab, char **argv, struct oneib_error *err)
{
    const struct lab_node_options options = LAB_NODES_DEFAULTS;
    if (lab_fabric_start(lab, err) < 0 || lab_opensm_start(lab, &LAB_SM, err) < 0 ||
        write_configuration(lab, argv, err) < 0 || lab_nodes_start(lab, &options, err) < 0)
        return -1;
    for (size_t host = 0; host < lab_host_count(lab); host++)
        if (configure_node(lab, host, err) < 0 || restart_service(lab, host, err) < 0)
            return -1;
    return 0;
}

/* ---- what it is told ------------------------------------------------------------------------- */

static int find_host(struct lab *lab, const char *name, size_t *host, struct oneib_error *err)
{
    for (*host = 0; *host < lab_host_count(lab); ++*host) {
        if (strcmp(lab_host_hca(lab, *host), name) == 0)
            return 0;
    }
    return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "there is no host %s", name);
}

static int signal_called(const char *name)
{
    return strcmp(name, "KILL") == 0 ? SIGKILL : SIGTERM;
}

static void say_roots(struct lab *lab)
{
    for (size_t host = 0; host < lab_host_count(lab); host++)
        printf("%s %s\n", lab_host_hca(lab, host), lab_node_root(lab, host));
}

static int say_port(struct lab *lab, size_t host, struct oneib_error *err)
{
    uint16_t pkeys[PKEYS_MAX];
    size_t count;
    if (lab_host_pkeys(lab, host, pkeys, PKEYS_MAX, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        printf("%04x\n", pkeys[i]);
    return 0;
}

static void say_log(struct lab *lab, const char *name)
{
    char file[128];
    snprintf(file, sizeof file, "%s.log", name);
    oneib_autofree char *text = lab_read(lab, file);
    printf("%s%s", text, *text && text[strlen(text) - 1] != '\n' ? "\n" : "");
}

static int run_oneib(struct lab *lab, char **words, struct oneib_error *err)
{
    struct lab_output output;
    if (lab_oneib(lab, (const char *const *)words, ONEIB_MS, &output, err) < 0)
        return -1;
    printf("%s%s\nstatus %d\n", output.out, output.error, output.status);
    lab_output_clear(&output);
    return 0;
}

static int run_oneibd(struct lab *lab, char **words, struct oneib_error *err)
{
    const struct lab_daemon daemon = LAB_DAEMON;
    return strcmp(words[1], "start") == 0
               ? lab_oneibd_start(lab, &daemon, err)
               : lab_oneibd_stop(lab, daemon.name, signal_called(words[2] ? words[2] : ""), err);
}

static int restart_opensm(struct lab *lab, struct oneib_error *err)
{
    return lab_opensm_stop(lab, LAB_SM.name, true, err) < 0 ? -1
                                                            : lab_opensm_start(lab, &LAB_SM, err);
}

static int forget(struct lab *lab, size_t host, struct oneib_error *err)
{
    char path[PATH_MAX];
    struct lab_output output = {0};
    snprintf(path, sizeof path, "%s/run/oneib/vfs", lab_node_root(lab, host));
    if (lab_node_service_stop(lab, host, SIGTERM, err) < 0)
        return -1;
    if (truncate(path, 0) < 0 && errno != ENOENT)
        return oneib_fail_errno(err, errno, "emptying %s", path);
    if (start_service(lab, host, err) < 0 ||
        lab_node_run(lab, host, (const char *[]){"oneib", "hca", "--repair", NULL}, NULL, &output,
                     err) < 0)
        return -1;
    lab_output_clear(&output);
    return 0;
}

static int change_host(struct lab *lab, char **words, size_t host, struct oneib_error *err)
{
    if (strcmp(words[0], "link") == 0)
        return lab_fabric_link(lab, host, strcmp(words[2], "up") == 0, err);
    if (strcmp(words[0], "hold-guids") == 0)
        return lab_node_hold_guids(lab, host, strcmp(words[2], "yes") == 0, err);
    if (strcmp(words[0], "service") == 0 && strcmp(words[2], "start") == 0)
        return start_service(lab, host, err);
    if (strcmp(words[0], "service") == 0)
        return lab_node_service_stop(lab, host, signal_called(words[3] ? words[3] : ""), err);
    return oneib_fail(err, ONEIB_ERROR_INPUT, "unknown: %s", words[0]);
}

static int obey(struct lab *lab, char **words, size_t count, struct oneib_error *err)
{
    size_t host;
    if (strcmp(words[0], "roots") == 0) {
        say_roots(lab);
        return 0;
    }
    if (strcmp(words[0], "oneib") == 0)
        return run_oneib(lab, words + 1, err);
    if (count < 2)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "unknown, or too short: %s", words[0]);
    if (strcmp(words[0], "oneibd") == 0)
        return run_oneibd(lab, words, err);
    if (strcmp(words[0], "opensm") == 0)
        return restart_opensm(lab, err);
    if (strcmp(words[0], "log") == 0) {
        say_log(lab, words[1]);
        return 0;
    }
    if (find_host(lab, words[1], &host, err) < 0)
        return -1;
    if (strcmp(words[0], "port") == 0)
        return say_port(lab, host, err);
    if (strcmp(words[0], "forget") == 0)
        return forget(lab, host, err);
    return count < 3 ? oneib_fail(err, ONEIB_ERROR_INPUT, "too short: %s", words[0])
                     : change_host(lab, words, host, err);
}

static size_t split(char *line, char *words[WORDS_MAX + 1])
{
    size_t count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(line, " \n", &rest); word && count < WORDS_MAX;
         word = strtok_r(NULL, " \n", &rest))
        words[count++] = word;
    words[count] = NULL;
    return count;
}

static void serve(struct lab *lab)
{
    char line[4096], *words[WORDS_MAX + 1];
    puts("ok");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        struct oneib_error err = {0};
        const size_t count = split(line, words);
        if (count > 0 && obey(lab, words, count, &err) < 0)
            printf("error %s\n", err.text);
        else
            puts("ok");
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    struct oneib_error err = {0};
    const struct lab_options options = {.leaves = 4, .hosts_per_leaf = 2, .spines = 2};
    if (argc != 4) {
        fprintf(stderr, "usage: %s ENDPOINT EVENTS AUTH_FILE\n", argv[0]);
        return 2;
    }
    const char *missing = lab_missing();
    if (missing) {
        printf("error there is no %s on this machine\n", missing);
        return 1;
    }
    struct lab *lab = lab_open(&options, &err);
    if (!lab || start(lab, argv, &err) < 0) {
        printf("error %s\n", err.text);
        lab_close(lab);
        return 1;
    }
    serve(lab);
    lab_close(lab);
    return 0;
}
