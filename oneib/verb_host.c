// SPDX-License-Identifier: Apache-2.0
/* What only people can decide about a host: which key its service has, and that it is gone for good. */
#include "base/cleanup.h"
#include "base/memory.h"
#include "cluster/names.h"
#include "command/json.h"
#include "grants/node_key.h"
#include "grants/seal.h"
#include "oneib/host_pick.h"
#include "oneib/open.h"
#include "oneib/options.h"
#include "oneib/print.h"
#include "sync/ledger_change.h"
#include "sync/lock.h"
#include <inttypes.h>
#include <string.h>
#include <time.h>

struct work {
    const struct oneib_run *run;
    struct oneib_session session;
    struct oneib_host_pick pick;
    oneib_guid port;                    /* to accept; 0: none was given */
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE]; /* to accept, of one host */
};

static int change_ledger(struct work *work, oneib_ledger_edit edit, void *context,
                         struct oneib_error *err)
{
    bool written;
    int process;
    if (oneib_ledger_change(work->session.one, work->session.config.one.acl_user, &work->pick.kept,
                            edit, context, &written, err) < 0)
        return -1;
    return written ? oneib_daemon_call(oneib_config_state(&work->session.config), &process, err)
                   : 0;
}

static int forget_in(struct oneib_ledger *next, void *context, struct oneib_error *err)
{
    const struct work *work = context;
    (void)err;
    oneib_ledger_forget_host(next, work->pick.host_id, (int64_t)time(NULL));
    return 0;
}

/* What it holds nobody asks any more: a host that runs would be believed to hold nothing. */
static int forget(struct work *work, struct oneib_error *err)
{
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
    return change_ledger(work, forget_in, work, err);
}

static int refuse_shared_key(const struct work *work, uint32_t host_id, const char *whose,
                             uint32_t other_id, struct oneib_error *err)
{
    const struct oneib_cloud *cloud = &work->pick.cloud;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "the key of %s is %s's%s: if one machine was cloned from the other, remove "
                      "/var/lib/oneib-node/key there and restart oneib-node",
                      oneib_host_id_shown(cloud, host_id).text,
                      oneib_host_id_shown(cloud, other_id).text, whose);
}

/* One key is one host's. Monitoring's reports of other hosts' keys are not compared: any machine may
 * have sent them, and they must keep no host from being accepted. */
static int check_is_unique(const struct work *work, const struct oneib_ledger *ledger,
                           uint32_t host_id, const uint8_t key[ONEIB_PUBLIC_KEY_SIZE],
                           struct oneib_error *err)
{
    const struct oneib_cloud *cloud = &work->pick.cloud;
    for (size_t i = 0; i < ledger->host_count; i++) {
        const struct oneib_ledger_host *other = &ledger->hosts[i];
        if (other->host_id != host_id && oneib_cloud_host(cloud, other->host_id) &&
            memcmp(other->key, key, sizeof other->key) == 0)
            return refuse_shared_key(work, host_id, " in the ledger", other->host_id, err);
    }
    return 0;
}

static int accept_key(const struct work *work, struct oneib_ledger *ledger, uint32_t host_id,
                      const uint8_t key[ONEIB_PUBLIC_KEY_SIZE], struct oneib_error *err)
{
    struct oneib_ledger_host entry = {.host_id = host_id, .since = (int64_t)time(NULL)};
    memcpy(entry.key, key, sizeof entry.key);
    if (check_is_unique(work, ledger, host_id, key, err) < 0)
        return -1;
    const struct oneib_ledger_host *known = oneib_ledger_host(ledger, host_id);
    if (!known || memcmp(known->key, key, sizeof entry.key) != 0)
        oneib_ledger_pin(ledger, &entry);
    oneib_ledger_renew_ports(ledger, host_id);
    return 0;
}

/* The operator has seen which host the adapter is in. Its name and driver the host's oneib-node
 * reports. */
static int accept_port_in(struct oneib_ledger *next, void *context, struct oneib_error *err)
{
    const struct work *work = context;
    struct oneib_ledger_port port = {.guid = work->port,
                                     .host_id = work->pick.host_id,
                                     .hca = {.port_guid = work->port},
                                     .since = (int64_t)time(NULL)};
    const struct oneib_ledger_port *known = oneib_ledger_port(next, work->port);
    if (known && known->host_id == port.host_id && known->state != ONEIB_LEDGER_PORT_ABSENT)
        port = *known; /* its VMs have it until its oneib-node reports it otherwise */
    port.state = ONEIB_LEDGER_PORT_RENEWED;
    port.is_accepted = true;
    oneib_ledger_forget_port(next, work->port);
    return oneib_ledger_set_port(next, &port, err);
}

/* ---- one host -------------------------------------------------------------------------------- */

/* Without the lock: oneibd must not wait for SSH. */
static int read_hosts(struct work *work, struct oneib_error *err)
{
    if (!work->session.config.one.writer)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "one.writer is false here: say it where it is true");
    return oneib_session_open_one(&work->session, err) < 0
               ? -1
               : oneib_host_pick_read(&work->session, &work->pick, err);
}

/* Reads it again: oneibd may have written it since. */
static int lock_ledger(struct work *work, struct oneib_error *err)
{
    return oneib_session_lock(&work->session, err) < 0
               ? -1
               : oneib_host_pick_read_ledger(&work->session, &work->pick, err);
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

/* The operator's word, or what the host itself shows: never what monitoring reports. */
static int find_key(const struct work *work, uint8_t key[ONEIB_PUBLIC_KEY_SIZE],
                    struct oneib_error *err)
{
    const char *given = work->run->values[ONEIB_OPTION_KEY];
    struct oneib_node_key fetched = {.host = work->pick.host};
    if (given)
        return oneib_key_parse(given, key)
                   ? 0
                   : oneib_fail(err, ONEIB_ERROR_INPUT,
                                "invalid --key '%s': not 64 hexadecimal digits", given);
    if (!work->pick.host)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "host %" PRIu32 " is not in OpenNebula",
                          work->pick.host_id);
    oneib_node_keys_fetch(&fetched, 1);
    memcpy(key, fetched.key, sizeof fetched.key);
    if (!fetched.has_key)
        *err = fetched.err;
    return fetched.has_key ? 0 : -1;
}

static int accept_in(struct oneib_ledger *next, void *context, struct oneib_error *err)
{
    const struct work *work = context;
    return accept_key(work, next, work->pick.host_id, work->key, err);
}

static int accept_host(struct work *work, struct oneib_error *err)
{
    if (find_key(work, work->key, err) < 0 || lock_ledger(work, err) < 0)
        return -1;
    return change_ledger(work, accept_in, work, err);
}

static int do_one(struct work *work, bool forgets, struct oneib_error *err)
{
    if (read_hosts(work, err) < 0 ||
        oneib_host_pick_find(&work->pick, work->run->words[1], err) < 0)
        return -1;
    if ((forgets || work->port) && lock_ledger(work, err) < 0)
        return -1;
    const int status = forgets      ? forget(work, err)
                       : work->port ? change_ledger(work, accept_port_in, work, err)
                                    : accept_host(work, err);
    return status < 0 ? -1 : print(work, forgets ? "forgotten" : "accepted", err);
}

/* ---- all hosts that wait --------------------------------------------------------------------- */

/* Behind those whose keys were read, those that were forgotten: they are not asked. */
static struct oneib_node_key *fetch_waiting(const struct work *work, size_t *count)
{
    const struct oneib_cloud *cloud = &work->pick.cloud;
    const struct oneib_ledger *ledger = &work->pick.kept.ledger;
    struct oneib_node_key *all = oneib_alloc(cloud->host_count + 1, sizeof *all);
    *count = 0;
    for (size_t i = 0; i < cloud->host_count; i++)
        if (oneib_ledger_awaits_acceptance(ledger, &cloud->hosts[i]))
            all[(*count)++] = (struct oneib_node_key){.host = &cloud->hosts[i]};
    oneib_node_keys_fetch(all, *count);
    for (size_t i = 0; i < cloud->host_count; i++)
        if (cloud->hosts[i].node_key[0] && oneib_ledger_forgotten(ledger, cloud->hosts[i].id))
            all[(*count)++] = (struct oneib_node_key){.host = &cloud->hosts[i]};
    return all;
}

/* Also one that was refused since. */
static bool has_shown_key(const struct oneib_node_key *one)
{
    return one->has_key || one->err.code == ONEIB_ERROR_REFUSED;
}

/* Of two hosts that show one key, one is a clone or lies: neither is accepted. */
static void refuse_shared_keys(const struct work *work, struct oneib_node_key *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count && all[i].has_key; j++)
            if (i != j && has_shown_key(&all[j]) &&
                memcmp(all[i].key, all[j].key, sizeof all[i].key) == 0) {
                refuse_shared_key(work, all[i].host->id, ", too", all[j].host->id, &all[i].err);
                all[i].has_key = false;
            }
}

/* Also one that was forgotten since its key was read. */
static void refuse_forgotten(const struct oneib_ledger *ledger, struct oneib_node_key *one)
{
    if (!oneib_ledger_forgotten(ledger, one->host->id))
        return;
    one->has_key = false;
    oneib_fail(&one->err, ONEIB_ERROR_REFUSED,
               "an operator has forgotten it; if it is to be used again: oneib host accept %s",
               one->host->name ? one->host->name : "HOST");
}

struct accepting {
    struct work *work;
    struct oneib_node_key *all;
    size_t count;
};

/* Called again after another writer's change: a host that was refused before stays refused. */
static int accept_all_in(struct oneib_ledger *next, void *context, struct oneib_error *err)
{
    const struct accepting *accepting = context;
    (void)err;
    for (size_t i = 0; i < accepting->count; i++) {
        struct oneib_node_key *one = &accepting->all[i];
        refuse_forgotten(next, one);
        one->has_key = one->has_key &&
                       accept_key(accepting->work, next, one->host->id, one->key, &one->err) == 0;
    }
    return 0;
}

static int write_accepted(struct work *work, struct oneib_node_key *all, size_t count,
                          struct oneib_error *err)
{
    struct accepting accepting = {.work = work, .all = all, .count = count};
    if (lock_ledger(work, err) < 0)
        return -1;
    refuse_shared_keys(work, all, count);
    return change_ledger(work, accept_all_in, &accepting, err);
}

static int print_all(const struct work *work, const struct oneib_node_key *all, size_t count,
                     struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    json_t *hosts = json_array();
    for (size_t i = 0; i < count; i++) {
        const struct oneib_node_key *one = &all[i];
        oneib_json_append(&hosts,
                          json_pack("{s:I, s:b, s:o}", "host", (json_int_t)one->host->id,
                                    "accepted", (int)one->has_key, "error",
                                    one->has_key ? json_null() : json_string(one->err.text)));
        oneib_text_printf(
            &text, "%s %s%s\n", oneib_host_called(one->host->id, one->host->name).text,
            one->has_key ? "accepted" : "not accepted: ", one->has_key ? "" : one->err.text);
    }
    if (work->run->json)
        return oneib_json_write(json_pack("{s:o}", "hosts", hosts), err);
    json_decref(hosts);
    if (count == 0)
        oneib_text_append(&text, "no host waits to be accepted\n");
    return oneib_write_out(&text, err);
}

static enum oneib_exit accept_all(struct work *work, struct oneib_error *err)
{
    size_t count, accepted = 0;
    if (read_hosts(work, err) < 0)
        return ONEIB_EXIT_FAILURE;
    oneib_autofree struct oneib_node_key *all = fetch_waiting(work, &count);
    if (write_accepted(work, all, count, err) < 0 || print_all(work, all, count, err) < 0)
        return ONEIB_EXIT_FAILURE;
    for (size_t i = 0; i < count; i++)
        accepted += all[i].has_key;
    return accepted == count ? ONEIB_EXIT_DONE : ONEIB_EXIT_DIFFERENCE;
}

/* ---- the verb -------------------------------------------------------------------------------- */

static enum oneib_exit check_words(const struct oneib_run *run, struct oneib_error *err)
{
    const bool all = oneib_given(run, ONEIB_OPTION_ALL);
    const bool has_key = oneib_given(run, ONEIB_OPTION_KEY);
    const bool has_port = oneib_given(run, ONEIB_OPTION_PORT);
    if (strcmp(run->words[0], "forget") == 0) {
        if (all || has_key || has_port)
            return oneib_usage(run->verb, err, "option '--%s' is valid only with 'host accept'",
                               has_port ? "port"
                               : all    ? "all"
                                        : "key");
    } else if (strcmp(run->words[0], "accept") != 0) {
        return oneib_usage_invalid(run, 0, "forget or accept", err);
    }
    if (has_key + has_port + all > 1)
        return oneib_usage(run->verb, err, "only one of --all, --key and --port");
    if (all && run->word_count > 1)
        return oneib_usage_unexpected(run, 1, err);
    return all || run->word_count > 1 ? ONEIB_EXIT_DONE
                                      : oneib_usage(run->verb, err, "missing argument HOST");
}

static enum oneib_exit run_host(const struct oneib_run *run, struct oneib_error *err)
{
    struct work work = {.run = run};
    const char *port = run->values[ONEIB_OPTION_PORT];
    const enum oneib_exit usage = check_words(run, err);
    if (usage != ONEIB_EXIT_DONE)
        return usage;
    if (port && (!oneib_guid_parse(port, &work.port) || work.port == 0))
        return oneib_usage(run->verb, err, "invalid --port '%s': not a port GUID", port);
    if (oneib_session_begin(run, &work.session, err) < 0)
        return ONEIB_EXIT_FAILURE;
    enum oneib_exit status = ONEIB_EXIT_DONE;
    if (oneib_given(run, ONEIB_OPTION_ALL))
        status = accept_all(&work, err);
    else if (do_one(&work, strcmp(run->words[0], "forget") == 0, err) < 0)
        status = ONEIB_EXIT_FAILURE;
    oneib_host_pick_clear(&work.pick);
    oneib_session_end(&work.session);
    return status;
}

const struct oneib_verb oneib_verb_host = {
    .name = "host",
    .summary = "accept a host's key, or forget a host that is gone for good",
    .help =
        "usage: oneib host accept [--key KEY] [--json] HOST\n"
        "       oneib host accept --all [--json]\n"
        "       oneib host accept --port GUID [--json] HOST\n"
        "       oneib host forget [--force] [--json] HOST\n"
        "\n"
        "accept: HOST's oneib-node is the one with the key that is read on HOST by oneadmin's\n"
        "        SSH. Nothing is granted to a host before. A machine that was installed anew\n"
        "        has another key. Drivers and names of its adapters may have changed; it keeps\n"
        "        their ports.\n"
        "        With --port: the InfiniBand port with that GUID is in HOST, whichever host\n"
        "        owned it before: the adapter was moved.\n"
        "forget: HOST will never return: the P_Keys reserved for it are released, and its\n"
        "        service's key is forgotten. --all does not accept it again.\n"
        "\n"
        "HOST is a name or an id; of a host that OpenNebula does not have any more, the id.\n"
        "\n"
        "  --all        accept all hosts that report a key and were not accepted yet, but\n"
        "               those that were forgotten: name these\n"
        "  --key KEY    accept this key (64 hexadecimal digits, /run/oneib/node-key on HOST)\n"
        "  --port GUID  accept the port, not the key\n"
        "  --force      forget a host that OpenNebula still hears of\n"
        "\n"
        "example:\n"
        "  $ oneib host accept node1\n",
    .options = ONEIB_TAKES(ONEIB_OPTION_FORCE) | ONEIB_TAKES(ONEIB_OPTION_PORT) |
               ONEIB_TAKES(ONEIB_OPTION_KEY) | ONEIB_TAKES(ONEIB_OPTION_ALL),
    .required = {"forget or accept"},
    .words_max = 2,
    .run = run_host,
};
