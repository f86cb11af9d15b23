// SPDX-License-Identifier: Apache-2.0
/* What `oneib check` finds out on a front-end: nodes learn from OpenNebula's remotes which daemons
 * there are, so the remotes must have what the ledger has. */
#include "base/cleanup.h"
#include "base/file.h"
#include "base/finding.h"
#include "base/listen.h"
#include "grants/daemons.h"
#include "oneib/verb_check.h"
#include "opennebula/ledger_document.h"
#include "sync/lock.h"
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX 65536
#define ANSWER_MS 2000

static const char check_name[] = "daemons";
const char oneib_daemons_to_remotes[] =
    "oneib daemons | su - oneadmin -c 'cat >~/remotes/etc/oneib/daemons && onehost sync -f'";

/* Both have no daemon twice. */
static bool are_the_ledgers(const struct oneib_daemons *daemons, const struct oneib_ledger *ledger)
{
    for (size_t i = 0; i < ledger->daemon_count; i++)
        if (!oneib_daemons_have(daemons, &ledger->daemons[i]))
            return false;
    return daemons->count == ledger->daemon_count;
}

static void compare(const char *path, const struct oneib_ledger *ledger,
                    struct oneib_checks *checks)
{
    struct oneib_error err;
    struct oneib_daemons daemons;
    oneib_autofree char *text = NULL;
    size_t length;
    if (oneib_file_read(path, FILE_MAX, &text, &length, &err) < 0 &&
        err.code != ONEIB_ERROR_NOT_FOUND)
        oneib_check_add(checks, ONEIB_CHECK_WARN, check_name, "run this as root, or as oneadmin",
                        "%s", err.text);
    else if (!text)
        oneib_check_add(checks, ONEIB_CHECK_FAIL, check_name, oneib_daemons_to_remotes,
                        "nodes learn of no oneibd, and open nothing: %s is absent", path);
    else if (oneib_daemons_parse(text, length, path, &daemons, &err) < 0)
        oneib_check_add(checks, ONEIB_CHECK_FAIL, check_name, oneib_daemons_to_remotes, "%s",
                        err.text);
    else if (!are_the_ledgers(&daemons, ledger))
        oneib_check_add(checks, ONEIB_CHECK_FAIL, check_name, oneib_daemons_to_remotes,
                        "%s differs from the ledger: new nodes will not know all daemons", path);
    else
        oneib_check_add(checks, ONEIB_CHECK_OK, check_name, NULL, "%s has the %zu of the ledger",
                        path, daemons.count);
}

int oneib_check_daemon_answers(const char *address, struct oneib_error *err)
{
    static const char scheme[] = "tcp://";
    return oneib_try_connect(address + strlen(scheme), ANSWER_MS, err);
}

/* Nodes believe it as long as it is listed: whoever has its keys, too. */
static void check_answers(const struct oneib_ledger *ledger, struct oneib_checks *checks)
{
    for (size_t i = 0; i < ledger->daemon_count; i++) {
        struct oneib_error err;
        oneib_autotext struct oneib_text forget = {0};
        const char *address = ledger->daemons[i].address;
        if (oneib_check_daemon_answers(address, &err) == 0)
            continue;
        oneib_text_printf(&forget,
                          "start oneibd there, or, when that host is retired: oneib daemons forget "
                          "%s",
                          address);
        oneib_check_add(checks, ONEIB_CHECK_WARN, oneib_finding_code(ONEIB_FINDING_DAEMON_SILENT),
                        forget.data,
                        "the ledger has an oneibd at %s, which does not answer from here: %s",
                        address, err.text);
    }
}

static void check_remotes(const char *path, const struct oneib_kept_ledger *kept,
                          struct oneib_checks *checks)
{
    if (kept->state == ONEIB_LEDGER_BROKEN)
        oneib_check_add(checks, ONEIB_CHECK_FAIL, check_name, NULL, "%s", kept->why.text);
    else if (kept->ledger.daemon_count == 0)
        oneib_check_add(checks, ONEIB_CHECK_WARN, check_name, "systemctl start oneibd",
                        "no oneibd has entered itself into the ledger yet");
    else {
        compare(path, &kept->ledger, checks);
        check_answers(&kept->ledger, checks);
    }
}

/* Of a machine without remotes: a subnet manager's host. */
static void check_runs_here(const struct oneib_session *session, const struct oneib_ledger *ledger,
                            struct oneib_checks *checks)
{
    static const char name[] = "oneibd";
    const char *state = oneib_config_state(&session->config);
    struct oneib_error err;
    int process;
    if (ledger->daemon_count == 0 || !session->config.one.writer)
        return;
    if (oneib_daemon_find(state, &process, &err) < 0)
        oneib_check_add(checks, ONEIB_CHECK_WARN, name, "run this as root", "%s", err.text);
    else if (process == 0)
        oneib_check_add(checks, ONEIB_CHECK_WARN, name,
                        "systemctl start oneibd, where this is a subnet manager's host",
                        "none keeps %s here, and the ledger has %zu: no VM on a host that follows "
                        "this one gets a virtual function",
                        state, ledger->daemon_count);
    else
        oneib_check_add(checks, ONEIB_CHECK_OK, name, NULL, "process %d", process);
}

void oneib_check_daemons(struct oneib_session *session, struct oneib_checks *checks)
{
    struct oneib_error err;
    oneib_autokept struct oneib_kept_ledger kept = {0};
    struct stat remotes;
    oneib_autotext struct oneib_text path = {0};
    oneib_check_append_front_end("/var/remotes", "/var/lib/one/remotes", &path);
    const bool has_remotes = stat(path.data, &remotes) == 0 && S_ISDIR(remotes.st_mode);
    if (!session->one) /* why oned does not answer has been said */
        return;
    oneib_text_append(&path, "/etc/oneib/daemons");
    const bool is_read =
        oneib_ledger_read(session->one, session->config.one.acl_user, &kept, &err) == 0;
    if (is_read && has_remotes)
        check_remotes(path.data, &kept, checks);
    else if (is_read)
        check_runs_here(session, &kept.ledger, checks);
    else if (has_remotes)
        oneib_check_add(checks, ONEIB_CHECK_WARN, check_name, NULL, "%s", err.text);
}
