// SPDX-License-Identifier: Apache-2.0
/* What `oneib check` finds out about the opensm process. */
#include "base/cleanup.h"
#include "base/memory.h"
#include "fabric/opensm_process.h"
#include "oneib/verb_check.h"
#include "sm/kind.h"
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* opensm(8); the key is one of opensm.conf. */
#define DEFAULT_CONFIG "/etc/opensm/opensm.conf"
#define DEFAULT_PARTITIONS "/etc/opensm/partitions.conf"
#define DEFAULT_CACHE "/var/cache/opensm"
#define CACHE_VARIABLE "OSM_CACHE_DIR="
#define PARTITIONS_KEY "partition_config_file"
/* A key of NVIDIA's subnet manager: 2 on. */
#define VIRTUAL_PORTS_KEY "virt_enabled"

#define COMMAND_LINE_MAX 65536

/* ---- its command line and configuration ------------------------------------------------------ */

static int open_proc(pid_t pid, const char *name, FILE **file, struct oneib_error *err)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    *file = fopen(path, "re");
    return *file ? 0 : oneib_fail_errno(err, errno, "looking at opensm, process %d: %s", pid, path);
}

/* NUL-separated words, ended by an empty one: "cmdline" or "environ". */
static int read_words(pid_t pid, const char *name, char **words, struct oneib_error *err)
{
    oneib_autofclose FILE *file = NULL;
    if (open_proc(pid, name, &file, err) < 0)
        return -1;
    *words = oneib_alloc(1, COMMAND_LINE_MAX + 2);
    if (fread(*words, 1, COMMAND_LINE_MAX, file) == 0 && ferror(file))
        return oneib_fail_errno(err, errno, "reading %s of process %d", name, pid);
    return 0;
}

static const char *next_word(const char *word)
{
    return word + strlen(word) + 1;
}

/*
 * The value of an option with a value: "-P FILE", "-PFILE", and the long name with one dash or two
 * (opensm uses getopt_long_only), as "NAME FILE" or "NAME=FILE". NULL when `word` is another one.
 */
static const char *option_value(const char *word, char short_name, const char *long_name)
{
    if (word[0] != '-' || word[1] == '\0')
        return NULL;
    const char *name = word + (word[1] == '-' ? 2 : 1);
    const size_t length = strlen(long_name);
    if (strncmp(name, long_name, length) == 0) {
        if (name[length] == '=')
            return name + length + 1;
        if (name[length] == '\0')
            return next_word(word);
    }
    if (word[1] != short_name)
        return NULL;
    return word[2] ? word + 2 : next_word(word);
}

/* The last one counts. NULL when the option is not there. */
static const char *find_option(const char *words, char short_name, const char *long_name)
{
    const char *found = NULL;
    for (const char *word = words; *word; word = next_word(word)) {
        const char *value = option_value(word, short_name, long_name);
        if (value && *value)
            found = value;
    }
    return found;
}

/* A path of the process as seen from here; allocated. */
static char *path_of_process(pid_t pid, const char *path)
{
    char directory_link[64], directory[PATH_MAX];
    if (path[0] == '/')
        return oneib_strdup(path);
    snprintf(directory_link, sizeof directory_link, "/proc/%d/cwd", pid);
    const ssize_t length = readlink(directory_link, directory, sizeof directory - 1);
    if (length < 0)
        return oneib_strdup(path);
    directory[length] = '\0';
    return oneib_asprintf("%s/%s", directory, path);
}

/* "KEY VALUE", the way opensm.conf has it. NULL when the line is not of that key. */
static char *value_of_line(char *line, const char *key)
{
    char *start = line + strspn(line, " \t");
    const size_t length = strlen(key);
    if (strncmp(start, key, length) != 0 || !isspace((unsigned char)start[length]))
        return NULL;
    char *value = start + length + strspn(start + length, " \t");
    value[strcspn(value, " \t\r\n")] = '\0';
    return *value ? value : NULL;
}

/* What the configuration file says; one that is absent or unreadable says nothing. */
static void read_opensm_config(const char *path, struct oneib_opensm_setup *setup)
{
    oneib_autofclose FILE *file = fopen(path, "re");
    oneib_autofree char *line = NULL;
    size_t size = 0;
    while (file && getline(&line, &size, file) > 0) {
        oneib_autofree char *copy = oneib_strdup(line);
        const char *partitions = value_of_line(line, PARTITIONS_KEY);
        const char *virtual_ports = value_of_line(copy, VIRTUAL_PORTS_KEY);
        if (partitions) {
            free(setup->partitions);
            setup->partitions = oneib_strdup(partitions);
        }
        if (virtual_ports)
            setup->virtual_ports = strcmp(virtual_ports, "2") == 0;
    }
}

/* Another user's environment is closed to those without privileges: then it counts as empty. */
static char *cache_of_process(pid_t pid)
{
    struct oneib_error ignored;
    oneib_autofree char *words = NULL;
    if (read_words(pid, "environ", &words, &ignored) == 0)
        for (const char *word = words; *word; word = next_word(word))
            if (strncmp(word, CACHE_VARIABLE, strlen(CACHE_VARIABLE)) == 0 &&
                word[strlen(CACHE_VARIABLE)])
                return path_of_process(pid, word + strlen(CACHE_VARIABLE));
    return oneib_strdup(DEFAULT_CACHE);
}

static int read_setup(pid_t pid, struct oneib_opensm_setup *setup, struct oneib_error *err)
{
    *setup = (struct oneib_opensm_setup){0};
    oneib_autofree char *words = NULL;
    if (read_words(pid, "cmdline", &words, err) < 0)
        return -1;

    const char *config = find_option(words, 'F', "config");
    const char *sm_key = find_option(words, 'k', "smkey");
    setup->config = path_of_process(pid, config ? config : DEFAULT_CONFIG);
    setup->cache = cache_of_process(pid);
    setup->sm_key = sm_key ? oneib_strdup(sm_key) : NULL;
    read_opensm_config(setup->config, setup);

    const char *named = find_option(words, 'P', "Pconfig");
    const char *chosen = named ? named : setup->partitions ? setup->partitions : DEFAULT_PARTITIONS;
    char *path = path_of_process(pid, chosen);
    free(setup->partitions);
    setup->partitions = path;
    return 0;
}

bool oneib_opensm_setup_find(const struct oneib_config *config, struct oneib_opensm_setup *setup)
{
    struct oneib_error ignored;
    pid_t pid;
    *setup = (struct oneib_opensm_setup){0};
    return oneib_opensm_find(config, &pid, &ignored) == 0 && pid != 0 &&
           read_setup(pid, setup, &ignored) == 0;
}

void oneib_opensm_setup_clear(struct oneib_opensm_setup *setup)
{
    free(setup->partitions);
    free(setup->config);
    free(setup->cache);
    free(setup->sm_key);
    *setup = (struct oneib_opensm_setup){0};
}

/* ---- the checks ------------------------------------------------------------------------------ */

/* -1 when it cannot be found out. */
static int ignores_sighup(pid_t pid)
{
    static const char field[] = "SigIgn:";
    struct oneib_error ignored;
    oneib_autofclose FILE *file = NULL;
    char line[256];
    if (open_proc(pid, "status", &file, &ignored) < 0)
        return -1;
    while (fgets(line, sizeof line, file))
        if (strncmp(line, field, strlen(field)) == 0)
            return strtoull(line + strlen(field), NULL, 16) >> (SIGHUP - 1) & 1;
    return -1;
}

static void check_sighup(pid_t pid, struct oneib_checks *checks)
{
    static const char name[] = "opensm-sighup";
    switch (ignores_sighup(pid)) {
    case 0:
        oneib_check_add(checks, ONEIB_CHECK_OK, name, NULL, "is not ignored");
        break;
    case 1:
        oneib_check_add(checks, ONEIB_CHECK_FAIL, name,
                        "start opensm by its service, not under nohup",
                        "process %d ignores SIGHUP, so it never reads its partitions again", pid);
        break;
    default:
        oneib_check_add(checks, ONEIB_CHECK_WARN, name, "run this as root",
                        "it cannot be seen whether process %d ignores it", pid);
    }
}

/* What a symbolic link names, seen from its own directory; NULL: it is none. */
static char *link_target(const char *path)
{
    char target[PATH_MAX];
    const ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0)
        return NULL;
    target[length] = '\0';
    const char *slash = strrchr(path, '/');
    const int directory = target[0] == '/' || !slash ? 0 : (int)(slash - path) + 1;
    return oneib_asprintf("%.*s%s", directory, path, target);
}

/* Before the first sync the file is not there, and a link to it leads nowhere yet. */
static char *place_of(const char *path)
{
    char *real = realpath(path, NULL);
    if (real || errno != ENOENT)
        return real;
    oneib_autofree char *target = link_target(path);
    return target ? place_of(target) : oneib_strdup(path);
}

static bool is_same_file(const char *a, const char *b)
{
    oneib_autofree char *place_a = place_of(a);
    oneib_autofree char *place_b = place_of(b);
    return strcmp(place_a ? place_a : a, place_b ? place_b : b) == 0;
}

static void check_its_file(const struct oneib_config *config, pid_t pid,
                           struct oneib_checks *checks)
{
    static const char name[] = "opensm-file";
    struct oneib_error err;
    oneib_autosetup struct oneib_opensm_setup setup = {0};
    if (read_setup(pid, &setup, &err) < 0) {
        oneib_check_add(checks, ONEIB_CHECK_WARN, name, "run this as root", "%s", err.text);
        return;
    }
    if (is_same_file(setup.partitions, config->opensm.partitions))
        oneib_check_add(checks, ONEIB_CHECK_OK, name, NULL, "it reads %s", setup.partitions);
    else
        oneib_check_add(checks, ONEIB_CHECK_FAIL, name,
                        "set opensm.partitions to the file that opensm reads, or start opensm with "
                        "--Pconfig",
                        "opensm reads %s, oneib writes %s", setup.partitions,
                        config->opensm.partitions);
}

static void check_command(const struct oneib_config *config, struct oneib_checks *checks)
{
    char *const *command = config->opensm.reload_command;
    if (!command || !command[0])
        oneib_check_add(checks, ONEIB_CHECK_FAIL, "opensm", "set opensm.reload_command",
                        "opensm.reload is \"command\", and no command is set");
    else if (access(command[0], X_OK) < 0)
        oneib_check_add(checks, ONEIB_CHECK_FAIL, "opensm",
                        "correct opensm.reload_command, or make the program executable",
                        "%s cannot be run: %s", command[0], strerror(errno));
    else
        oneib_check_add(checks, ONEIB_CHECK_OK, "opensm", NULL,
                        "is reloaded by %s; nothing more is known about it", command[0]);
}

static const char *fix_for_absence(const struct oneib_config *config)
{
    return config->opensm.method == ONEIB_RELOAD_SYSTEMD
               ? "opensm.unit must name the unit whose main process opensm is, and it must run"
               : "opensm must run, and write its process id (--pidfile) to the file that "
                 "opensm.pid_file names";
}

void oneib_check_opensm(const struct oneib_config *config, struct oneib_checks *checks)
{
    struct oneib_error err;
    pid_t pid;
    if (oneib_sm_traits(config->sm.kind)->is_elsewhere)
        return;
    if (config->opensm.method == ONEIB_RELOAD_COMMAND) {
        check_command(config, checks);
        return;
    }
    if (oneib_opensm_find(config, &pid, &err) < 0) {
        oneib_check_add(checks, ONEIB_CHECK_FAIL, "opensm", fix_for_absence(config), "%s",
                        err.text);
        return;
    }
    oneib_check_add(checks, ONEIB_CHECK_OK, "opensm", NULL, "process %d", pid);
    check_sighup(pid, checks);
    check_its_file(config, pid, checks);
}
