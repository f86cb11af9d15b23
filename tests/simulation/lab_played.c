// SPDX-License-Identifier: Apache-2.0
/* The services of hosts that have no simulated node: see played-hosts/main.c. */
#include "base/cleanup.h"
#include "base/text.h"
#include "grants/daemons.h"
#include "grants/seal.h"
#include "lab_internal.h"
#include "played_node.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define KEYS "played.keys"
#define DAEMONS "played.daemons"
#define MOODS "played.moods"

static int append(struct lab *lab, const char *name, const char *text, struct oneib_error *err)
{
    const char *path = lab_path(lab, name);
    oneib_autofclose FILE *file = fopen(path, "ae");
    if (!file || fputs(text, file) < 0 || fflush(file) < 0)
        return oneib_fail_errno(err, errno, "writing %s", path);
    return 0;
}

int lab_played_daemon(struct lab *lab, const struct oneib_ledger_daemon *daemon,
                      struct oneib_error *err)
{
    const struct oneib_daemons daemons = {.count = 1, .items = {*daemon}};
    oneib_autotext struct oneib_text text = {0};
    oneib_daemons_render(&daemons, &text);
    return append(lab, DAEMONS, text.data, err);
}

static int start(struct lab *lab, struct oneib_error *err)
{
    struct oneib_ledger_daemon daemon;
    const char *argv[] = {LAB_PLAYED_HOSTS, lab_path(lab, KEYS), lab_path(lab, DAEMONS),
                          lab_path(lab, MOODS), NULL};
    pid_t pid;
    if (!argv[1] || !argv[2] || !argv[3] || lab_daemon_known_as(lab, &daemon, err) < 0 ||
        lab_played_daemon(lab, &daemon, err) < 0)
        return -1;
    return lab_spawn(lab, "played-hosts", NULL, argv, &pid, err);
}

int lab_play_host(struct lab *lab, uint32_t id, const char *device, const char *driver,
                  unsigned vfs, uint64_t first_port, uint64_t second_port, struct oneib_error *err)
{
    const struct oneib_curve_pair pair = played_curve_pair();
    char public[ONEIB_KEY_TEXT_SIZE], secret[ONEIB_KEY_TEXT_SIZE], text[240];
    oneib_key_format(pair.public, public);
    oneib_key_format(pair.secret, secret);
    snprintf(text, sizeof text, "%s %s %.31s %.15s %u %" PRIx64 " %" PRIx64 "\n", public, secret,
             device, driver, vfs, first_port, second_port);
    if (append(lab, KEYS, text, err) < 0 ||
        (lab_child_pid(lab, "played-hosts") == 0 && start(lab, err) < 0))
        return -1;
    lab_accept_later(lab, id, public);
    if (vfs == 0 && first_port)
        lab_accept_port(lab, id, device, driver, 1, first_port);
    if (vfs == 0 && second_port)
        lab_accept_port(lab, id, device, driver, 2, second_port);
    snprintf(text, sizeof text, "IB_NODE_KEY=\"%s\"\n", public);
    return lab_host_monitor(lab, id, text, err);
}

int lab_host_mood(struct lab *lab, uint64_t first_port, const char *mood, struct oneib_error *err)
{
    char text[64];
    snprintf(text, sizeof text, "%" PRIx64 " %s\n", first_port, mood);
    return append(lab, MOODS, text, err);
}
