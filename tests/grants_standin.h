// SPDX-License-Identifier: Apache-2.0
/*
 * Starting oneib-grants-standin (tests/grants-standin.c, whose program GRANTS_STANDIN names) for
 * the node that is below tree_root(), and saying what that node is granted. To be started before
 * the node's service, which finds its key and the daemon. Include it after cmocka.h and hca/tree.h.
 *
 * Whatever the node wants is granted, by its network: 0, 1 and 7 have P_Key 5, 8 has 6; full
 * members at mlx4_0 port 1. grant_nic() says otherwise of one NIC.
 */
#ifndef ONEIB_TEST_GRANTS_STANDIN_H
#define ONEIB_TEST_GRANTS_STANDIN_H

#include "grants/seal.h"
#include "hca/tree.h"
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define GRANTS_DIRECTORY "/oneibd"
#define MACHINE_ID "11111111111111111111111111111111"
#define AT_MLX4 "device=mlx4_0 port=1 setguid"
#define WANTED_BY_NETWORK                                                                          \
    "network=0 pkey=0x0005 " AT_MLX4 "\nnetwork=1 pkey=0x0005 " AT_MLX4                            \
    "\nnetwork=7 pkey=0x0005 " AT_MLX4 "\nnetwork=8 pkey=0x0006 " AT_MLX4 "\n"

static pid_t grants_standin;
static char node_key[ONEIB_KEY_TEXT_SIZE];
static char granted[65536]; /* lines of KEY.grants */

/* A reader sees the old or the new one. */
static inline void replace_below(const char *directory, const char *name, const char *text)
{
    char *path = tree_path("%s/%s", directory, name), *next = tree_path("%s/next", directory);
    FILE *file = fopen(next, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(next, path), 0);
    free(path);
    free(next);
}

static inline void tell_granted(void)
{
    char name[ONEIB_KEY_TEXT_SIZE + 8];
    snprintf(name, sizeof name, "%s.grants", node_key);
    replace_below(GRANTS_DIRECTORY, name, granted);
}

/* The NIC's line, if it has one, goes. */
static inline void forget_granted(unsigned vm_id, unsigned nic_id)
{
    char begin[64];
    snprintf(begin, sizeof begin, "vm=%u nic=%u ", vm_id, nic_id);
    char *line = strncmp(granted, begin, strlen(begin)) == 0 ? granted : NULL;
    if (!line) {
        char after[80];
        snprintf(after, sizeof after, "\n%s", begin);
        line = strstr(granted, after);
        line = line ? line + 1 : NULL;
    }
    if (!line)
        return;
    char *rest = strchr(line, '\n') + 1;
    memmove(line, rest, strlen(rest) + 1);
}

/* "network=7 pkey=0x0005 device=mlx4_0 port=1 setguid": from now on, whatever it wants. The GUID is
 * its own, of site 0. */
static inline void grant_nic(unsigned vm_id, unsigned nic_id, const char *what)
{
    forget_granted(vm_id, nic_id);
    const size_t length = strlen(granted);
    snprintf(granted + length, sizeof granted - length, "vm=%u nic=%u %s guid=0x02%04x%08x%02x\n",
             vm_id, nic_id, what, 0, vm_id, nic_id);
    tell_granted();
}

/* Of the list that the node has reported last that it follows; 0: none yet. */
static inline unsigned long followed_serial(void)
{
    char text[128] = "", *path = tree_path(GRANTS_DIRECTORY "/%s.report", node_key);
    FILE *file = fopen(path, "r");
    free(path);
    if (!file)
        return 0;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    const char *serial = strstr(text, " serial=");
    return serial ? strtoul(serial + strlen(" serial="), NULL, 10) : 0;
}

/* The same, once what is on its way has been reported too. */
static inline unsigned long settled_serial(void)
{
    unsigned long serial = followed_serial();
    for (int same = 0; same < 50; usleep(10000)) {
        const unsigned long now = followed_serial();
        same = now == serial ? same + 1 : 0;
        serial = now;
    }
    return serial;
}

/* Until the service has followed another list than that one. */
static inline void await_list_after(unsigned long serial)
{
    for (int i = 0; followed_serial() <= serial && i < 5000; i++)
        usleep(2000);
    assert_true(followed_serial() > serial);
}

/* The same, where the service runs: it follows that when this returns. */
static inline void regrant_nic(unsigned vm_id, unsigned nic_id, const char *what)
{
    const unsigned long before = settled_serial();
    grant_nic(vm_id, nic_id, what);
    await_list_after(before);
}

/* What the node wants by network, instead of the above. "" is nothing. */
static inline void grant_by_network(const char *lines)
{
    char name[ONEIB_KEY_TEXT_SIZE + 8];
    snprintf(name, sizeof name, "%s.wanted", node_key);
    replace_below(GRANTS_DIRECTORY, name, lines);
}

static inline void behave(const char *words)
{
    replace_below(GRANTS_DIRECTORY, "behaviour", words);
}

/* The key that the service finds when it starts. */
static inline void make_node_key(void)
{
    struct oneib_curve_pair pair;
    struct oneib_error err;
    bool made;
    char *directory = tree_path("/var/lib/oneib-node"),
         *path = tree_path("/var/lib/oneib-node/key");
    tree_make_directory("/var/lib");
    if (mkdir(directory, 0700) < 0)
        assert_true(access(directory, F_OK) == 0);
    if (oneib_node_pair(path, MACHINE_ID, &pair, &made, &err) < 0)
        fail_msg("%s", err.text);
    oneib_key_format(pair.public, node_key);
    free(directory);
    free(path);
}

/* What it wrote of itself, where root's service finds it. */
static inline void introduce_daemon(void)
{
    char text[1024], *path = tree_path(GRANTS_DIRECTORY "/daemons");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    free(path);
    replace_below("/var/lib/oneib-node", "daemons", text);
}

/* At the address that it had, if it had one. */
static inline const char *known_address(void)
{
    static char address[160];
    char *path = tree_path(GRANTS_DIRECTORY "/daemons");
    FILE *file = fopen(path, "r");
    free(path);
    if (!file)
        return NULL;
    const int found = fscanf(file, "%159s", address);
    fclose(file);
    return found == 1 ? address : NULL;
}

static inline void forget_address(void)
{
    char *path = tree_path(GRANTS_DIRECTORY "/daemons");
    assert_true(unlink(path) == 0 || access(path, F_OK) < 0);
    free(path);
}

static inline void spawn_grants_standin(void)
{
    char word[8];
    int ends[2];
    char *directory = tree_path(GRANTS_DIRECTORY);
    const char *address = known_address();
    assert_int_equal(pipe(ends), 0);
    grants_standin = fork();
    assert_true(grants_standin >= 0);
    if (grants_standin == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(GRANTS_STANDIN, "oneib-grants-standin", directory, address, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    assert_true(read(ends[0], word, sizeof word) > 0);
    close(ends[0]);
    free(directory);
}

/* Nobody is connected any more. Without one it does nothing. */
static inline void stop_grants_standin(void)
{
    if (grants_standin > 0) {
        kill(grants_standin, SIGKILL);
        waitpid(grants_standin, NULL, 0);
    }
    grants_standin = 0;
}

/* oneibd, started anew: another instance, with the same keys and at the same address. */
static inline void spawn_grants_standin_again(void)
{
    stop_grants_standin();
    spawn_grants_standin();
}

static inline void start_grants_standin(void)
{
    stop_grants_standin();
    granted[0] = '\0';
    tree_make_directory(GRANTS_DIRECTORY);
    forget_address();
    make_node_key();
    tell_granted();
    grant_by_network(WANTED_BY_NETWORK);
    spawn_grants_standin();
    introduce_daemon();
}

#endif
