// SPDX-License-Identifier: Apache-2.0
/*
 * A stand-in for ssh: `ssh [OPTION...] [USER@]HOST COMMAND...` runs the command on a host of the
 * suite, which is a mount and host name of its own on this machine. Installed set-uid root in the
 * suite's own mount namespace, where nobody else finds it: entering another namespace takes root,
 * the command is then run as the caller.
 *
 * SSH_STANDIN_HOSTS/HOST/
 *   pid           a process whose namespaces are the host's
 *   environment   what its programs find there, NAME=VALUE a line
 *   cut           while it is there, the host does not answer: 255, as ssh says it
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNREACHED 255
#define PATH_SIZE 512
#define FLAGS "46AaCfGgKkMNnqsTtVvXxYy"
#define VALUES "B:b:c:D:E:e:F:I:i:J:L:l:m:O:o:p:Q:R:S:W:w:"

static int give_up(const char *host, const char *why)
{
    fprintf(stderr, "ssh: connect to host %s port 22: %s\n", host, why);
    return UNREACHED;
}

static void name_file(const char *host, const char *file, char path[PATH_SIZE])
{
    snprintf(path, PATH_SIZE, SSH_STANDIN_HOSTS "/%s/%s", host, file);
}

static int enter(const char *pid, const char *space, int kind)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "/proc/%s/ns/%s", pid, space);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const int status = fd < 0 ? -1 : setns(fd, kind);
    if (fd >= 0)
        close(fd);
    return status;
}

static int read_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    const char *got = fgets(line, (int)size, file);
    fclose(file);
    if (!got)
        return -1;
    line[strcspn(line, "\n")] = '\0';
    return 0;
}

/* As sshd does: nothing of the caller's environment but the language. */
static int take_environment(const char *host)
{
    char path[PATH_SIZE], line[1024];
    name_file(host, "environment", path);
    FILE *file = fopen(path, "re");
    if (!file || clearenv() != 0)
        return -1;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *copy = strdup(line);
        if (!copy || putenv(copy) != 0)
            return -1;
    }
    fclose(file);
    return setenv("SSH_CLIENT", "127.0.0.1 50000 22", 1);
}

/* The words with blanks between them, as ssh sends them to the host's shell. */
static char *join(char *const *words)
{
    size_t length = 1;
    for (char *const *word = words; *word; word++)
        length += strlen(*word) + 1;
    char *text = calloc(1, length);
    for (char *const *word = words; text && *word; word++) {
        strcat(text, *word);
        if (word[1])
            strcat(text, " ");
    }
    return text;
}

static int run_on(const char *host, const char *command)
{
    char path[PATH_SIZE], pid[32];
    name_file(host, "cut", path);
    if (access(path, F_OK) == 0)
        return give_up(host, "Connection timed out");
    name_file(host, "pid", path);
    if (read_line(path, pid, sizeof pid) < 0)
        return give_up(host, "No such host in the suite");
    if (take_environment(host) < 0 || enter(pid, "uts", CLONE_NEWUTS) < 0 ||
        enter(pid, "mnt", CLONE_NEWNS) < 0)
        return give_up(host, strerror(errno));
    const gid_t group = getgid();
    const uid_t user = getuid();
    if (setresgid(group, group, group) < 0 || setresuid(user, user, user) < 0)
        return give_up(host, strerror(errno));
    const char *home = getenv("HOME");
    if (!home || chdir(home) < 0)
        return give_up(host, "no home");
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    return give_up(host, strerror(errno));
}

int main(int argc, char **argv)
{
    int option;
    while ((option = getopt(argc, argv, "+" FLAGS VALUES)) != -1) {
        if (option == '?')
            return UNREACHED;
        if (option == 'O') /* about a connection that others share: there is none */
            return 0;
        if (option == 'n' && !freopen("/dev/null", "re", stdin))
            return UNREACHED;
    }
    if (optind + 1 >= argc) {
        fprintf(stderr, "ssh: a host and a command are needed\n");
        return UNREACHED;
    }
    const char *at = strrchr(argv[optind], '@');
    const char *host = at ? at + 1 : argv[optind];
    if (strchr(host, '/') || host[0] == '.')
        return give_up("?", "not a name");
    char *command = join(argv + optind + 1);
    return command ? run_on(host, command) : UNREACHED;
}
