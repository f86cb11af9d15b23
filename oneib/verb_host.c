// SPDX-License-Identifier: Apache-2.0
/* What only people can decide about a host: that it is gone for good, and that the key that its
 * service is heard with now is its own. */
#include "base/cleanup.h"
#include "cluster/names.h"
#include "command/json.h"
#include "grants/seal.h"
#include "oneib/host_pick.h"
#include "oneib/open.h"
#include "oneib/options.h"
#include "oneib/print.h"
#include "opennebula/ledger_document.h"
#include "sync/lock.h"
#include <inttypes.h>
#include <string.h>
#include <time.h>

struct work {
    const struct oneib_run *run;
    struct oneib_session session;
    struct oneib_host_pick pick;
    oneib_guid port; /* to accept; 0: none was given */
};

static int write_ledger(struct work *work, const struct oneib_ledger *next, struct oneib_error *err)
{
    int process;
    if (oneib_ledger_equal(next, &work->pick.kept.ledger))
        return 0;
    if (oneib_ledger_write(work->session.one, &work->pick.kept, next, err) < 0)
        return -1;
    return oneib_daemon_call(oneib_config_state(&work->session.config), &process, err);
}

/* What it holds nobody asks any more: a host that runs would be believed to hold nothing. */
static int forget(struct work *work, struct oneib_error *err)
{
    oneib_autoledger struct oneib_ledger next = {0};
    if (work->pick.host && oneib_host_is_heard(work->pick.host->state) &&
        !oneib_given(work->run, ONEIB_OPTION_FORCE))
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "host %" PRIu32
                          " is in OpenNebula, and its oneib-node reports: forget only a host that "
                          "will never return (--force, when you know that it will not)",
                          work->pick.host_id);
    if (work->pick.host && (work->pick.host->key_count > 0 || work->pick.host->keys_invalid) &&
        oneib_one_set_host_keys(work->session.one, work->pick.host_id, NULL, 0, "", -1, err) < 0)
        return -1;
    oneib_ledger_copy(&work->pick.kept.ledger, &next);
    oneib_ledger_unpin(&next, work->pick.host_id);
    return write_ledger(work, &next, err);
}

/* One key is one host's. What monitoring says of other hosts is not looked at: anybody may have sent
 * it, and it must keep no host from being accepted. */
static int check_is_alone(const struct work *work, const uint8_t key[ONEIB_PUBLIC_KEY_SIZE],
                          struct oneib_error *err)
{
    const struct oneib_ledger *ledger = &work->pick.kept.ledger;
    for (size_t i = 0; i < ledger->host_count; i++) {
        const struct oneib_ledger_host *other = &ledger->hosts[i];
        if (other->host_id != work->pick.host_id &&
            oneib_cloud_host(&work->pick.cloud, other->host_id) &&
            memcmp(other->key, key, sizeof other->key) == 0)
            return oneib_fail(err, ONEIB_ERROR_REFUSED,
                              "host %" PRIu32
                              " has the same key in the ledger: of a cloned machine "
                              "remove /var/lib/oneib-node/key on one of the two and restart "
                              "oneib-node",
                              other->host_id);
    }
    return 0;
}

/* The one that is given, which an operator has read on the host, or the one that is reported. */
static int find_key(const struct work *work, uint8_t key[ONEIB_PUBLIC_KEY_SIZE],
                    struct oneib_error *err)
{
    const char *given = work->run->values[ONEIB_OPTION_KEY];
    if (given && !oneib_key_parse(given, key))
        return oneib_fail(err, ONEIB_ERROR_INPUT, "invalid --key '%s': not 64 hexadecimal digits",
                          given);
    if (!given && (!work->pick.host || !oneib_key_parse(work->pick.host->node_key, key)))
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                          "host %" PRIu32 " reports no key of oneib-node: does it run there, and "
                          "has the host been monitored since?",
                          work->pick.host_id);
    return 0;
}

static int accept_key(struct work *work, struct oneib_error *err)
{
    struct oneib_ledger_host entry = {.host_id = work->pick.host_id, .since = (int64_t)time(NULL)};
    oneib_autoledger struct oneib_ledger next = {0};
    if (find_key(work, entry.key, err) < 0 || check_is_alone(work, entry.key, err) < 0)
        return -1;
    oneib_ledger_copy(&work->pick.kept.ledger, &next);
    const struct oneib_ledger_host *known = oneib_ledger_host(&next, work->pick.host_id);
    if (!known || memcmp(known->key, entry.key, sizeof entry.key) != 0)
        oneib_ledger_pin(&next, &entry);
    oneib_ledger_renew_ports(&next, work->pick.host_id);
    return write_ledger(work, &next, err);
}

/* The operator has seen which host the adapter is in. Its name and driver the host's oneib-node
 * reports. */
static int accept_port(struct work *work, struct oneib_error *err)
{
    struct oneib_ledger_port port = {.guid = work->port,
                                     .host_id = work->pick.host_id,
                                     .hca = {.port_guid = work->port},
                                     .since = (int64_t)time(NULL)};
    oneib_autoledger struct oneib_ledger next = {0};
    oneib_ledger_copy(&work->pick.kept.ledger, &next);
    const struct oneib_ledger_port *known = oneib_ledger_port(&next, work->port);
    if (known && known->host_id == port.host_id && known->state != ONEIB_LEDGER_PORT_ABSENT)
        port = *known; /* its VMs have it until its oneib-node reports it otherwise */
    port.state = ONEIB_LEDGER_PORT_RENEWED;
    port.is_accepted = true;
    oneib_ledger_forget_port(&next, work->port);
    if (oneib_ledger_set_port(&next, &port, err) < 0)
        return -1;
    return write_ledger(work, &next, err);
}

static int look(struct work *work, struct oneib_error *err)
{
    const struct oneib_config *config = &work->session.config;
    if (!config->one.writer)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "one.writer is false here: say it where it is true");
    if (oneib_session_lock(&work->session, err) < 0 ||
        oneib_session_open_one(&work->session, err) < 0)
        return -1;
    return oneib_host_pick_read(&work->session, &work->pick, err);
}

static int print(const struct work *work, const char *done, struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    if (work->run->json)
        return oneib_json_write(
            json_pack("{s:I, s:s}", "host", (json_int_t)work->pick.host_id, "done", done), err);
    oneib_text_printf(
        &text, "%s %s\n",
        oneib_host_called(work->pick.host_id, work->pick.host ? work->pick.host->name : NULL).text,
        done);
    return oneib_write_out(&text, err);
}

static int do_it(struct work *work, bool forgets, struct oneib_error *err)
{
    if (look(work, err) < 0 || oneib_host_pick_find(&work->pick, work->run->words[1], err) < 0)
        return -1;
    const int status = forgets      ? forget(work, err)
                       : work->port ? accept_port(work, err)
                                    : accept_key(work, err);
    if (status < 0)
        return -1;
    return print(work, forgets ? "forgotten" : "accepted", err);
}

static enum oneib_exit run_host(const struct oneib_run *run, struct oneib_error *err)
{
    const bool forgets = strcmp(run->words[0], "forget") == 0;
    if (!forgets && strcmp(run->words[0], "accept") != 0)
        return oneib_usage(run->verb, err, "invalid argument '%s': expected forget or accept",
                           run->words[0]);
    struct work work = {.run = run};
    const char *port = run->values[ONEIB_OPTION_PORT];
    const bool has_key = oneib_given(run, ONEIB_OPTION_KEY);
    if ((port || has_key) && forgets)
        return oneib_usage(run->verb, err, "option '--%s' is valid only with 'host accept'",
                           port ? "port" : "key");
    if (port && has_key)
        return oneib_usage(run->verb, err, "only one of --key and --port");
    if (port && (!oneib_guid_parse(port, &work.port) || work.port == 0))
        return oneib_usage(run->verb, err, "invalid --port '%s': not a port GUID", port);
    if (oneib_session_begin(run, &work.session, err) < 0)
        return ONEIB_EXIT_FAILURE;
    const int status = do_it(&work, forgets, err);
    oneib_host_pick_clear(&work.pick);
    oneib_session_end(&work.session);
    return status < 0 ? ONEIB_EXIT_FAILURE : ONEIB_EXIT_DONE;
}

const struct oneib_verb oneib_verb_host = {
    .name = "host",
    .summary = "forget a host that is gone for good, or accept its new key",
    .help = "usage: oneib host forget [--force] [--json] HOST\n"
            "       oneib host accept [--key KEY | --port GUID] [--json] HOST\n"
            "\n"
            "forget: HOST is off for good. What it may hold nobody waits for any more, and its\n"
            "        service's key is forgotten.\n"
            "accept: the key that HOST's service reports now is its own, and no longer the one\n"
            "        that it was first heard with: the machine was installed anew. Drivers and\n"
            "        names of its adapters may have changed; it keeps their ports.\n"
            "        What is reported anybody may have sent to OpenNebula's monitoring: with\n"
            "        --key it is KEY, which you have read on HOST in /run/oneib/node-key.\n"
            "        With --port: the InfiniBand port with that GUID is in HOST, whichever host\n"
            "        owned it before: the adapter was moved.\n"
            "\n"
            "HOST is a name or an id; of a host that OpenNebula does not have any more, the id.\n"
            "\n"
            "  --force      forget a host that OpenNebula still hears of\n"
            "  --key KEY    64 hexadecimal digits\n"
            "  --port GUID  accept the port, not the key\n"
            "\n"
            "example:\n"
            "  $ oneib host forget 3\n",
    .options = ONEIB_TAKES(ONEIB_OPTION_FORCE) | ONEIB_TAKES(ONEIB_OPTION_PORT) |
               ONEIB_TAKES(ONEIB_OPTION_KEY),
    .required = {"forget or accept", "HOST"},
    .words_max = 2,
    .run = run_host,
};
