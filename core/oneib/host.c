// SPDX-License-Identifier: Apache-2.0
/* What only people can decide about a host: that it is gone for good, and that the key that its
 * service is heard with now is its own. */
#include "base/cleanup.h"
#include "base/number.h"
#include "model/names.h"
#include "one/documents.h"
#include "one/ledger.h"
#include "oneib/json.h"
#include "oneib/open.h"
#include "oneib/options.h"
#include "oneib/output.h"
#include "sync/lock.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct work {
    const struct oneib_run *run;
    struct oneib_session session;
    struct oneib_cloud cloud; /* its hosts alone */
    struct oneib_findings findings;
    struct oneib_kept_ledger kept;
    uint32_t host_id;
    const struct oneib_host *host; /* NULL: oned does not have it any more */
};

static int read_hosts(struct work *work, struct oneib_error *err)
{
    oneib_autofree char *xml = NULL;
    size_t length;
    struct oneib_documents documents = {
        .cloud = &work->cloud, .findings = &work->findings, .vn_mad = ""};
    if (oneib_one_host_pool(work->session.one, &xml, &length, err) < 0)
        return -1;
    const int outcome = oneib_documents_read_hosts(&documents, xml, length, err);
    oneib_documents_clear(&documents);
    oneib_cloud_sort(&work->cloud);
    return outcome;
}

/* By its name, or its id: of one that is gone there is only the id. */
static int find_host(struct work *work, const char *word, struct oneib_error *err)
{
    uint64_t id;
    for (size_t i = 0; i < work->cloud.host_count; i++)
        if (work->cloud.hosts[i].name && strcmp(work->cloud.hosts[i].name, word) == 0) {
            work->host = &work->cloud.hosts[i];
            work->host_id = work->host->id;
            return 0;
        }
    if (!oneib_parse_decimal(word, INT32_MAX, &id))
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                          "there is no host \"%s\": see 'oneib hosts'; of one that is gone say "
                          "the id",
                          word);
    work->host_id = (uint32_t)id;
    work->host = oneib_cloud_host(&work->cloud, work->host_id);
    if (!work->host && !oneib_ledger_host(&work->kept.ledger, work->host_id))
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                          "host %" PRIu32 " is neither in OpenNebula nor in the ledger",
                          work->host_id);
    return 0;
}

static int write_ledger(struct work *work, const struct oneib_ledger *next, struct oneib_error *err)
{
    int process;
    if (oneib_ledger_equal(next, &work->kept.ledger))
        return 0;
    if (oneib_ledger_write(work->session.one, &work->kept, next, err) < 0)
        return -1;
    return oneib_daemon_call(work->session.config.opensm.partitions, &process, err);
}

/* What it holds nobody asks any more: a host that runs would be believed to hold nothing. */
static int forget(struct work *work, struct oneib_error *err)
{
    struct oneib_ledger next;
    if (work->host && oneib_host_is_heard(work->host->state) &&
        !oneib_given(work->run, ONEIB_OPTION_FORCE))
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "host %" PRIu32
                          " is in OpenNebula, and heard of: only a host that is off "
                          "for good is to be forgotten (--force, when you know that it is)",
                          work->host_id);
    if (work->host && (work->host->key_count > 0 || work->host->keys_invalid) &&
        oneib_one_set_host_keys(work->session.one, work->host_id, NULL, 0, "", -1, err) < 0)
        return -1;
    if (oneib_ledger_copy(&work->kept.ledger, &next, err) < 0)
        return -1;
    oneib_ledger_unpin(&next, work->host_id);
    const int outcome = write_ledger(work, &next, err);
    oneib_ledger_clear(&next);
    return outcome;
}

static bool decode_key(const char *text, uint8_t key[ONEIB_PUBLIC_KEY_SIZE])
{
    if (strlen(text) != 2 * ONEIB_PUBLIC_KEY_SIZE)
        return false;
    for (size_t i = 0; i < ONEIB_PUBLIC_KEY_SIZE; i++)
        key[i] = (uint8_t)(oneib_hex_digit(text[2 * i]) << 4 | oneib_hex_digit(text[2 * i + 1]));
    return true;
}

static int check_is_alone(const struct work *work, struct oneib_error *err)
{
    for (size_t i = 0; i < work->cloud.host_count; i++) {
        const struct oneib_host *other = &work->cloud.hosts[i];
        if (other != work->host && strcmp(other->node_key, work->host->node_key) == 0)
            return oneib_fail(err, ONEIB_ERROR_REFUSED,
                              "host %" PRIu32 " reports the same key: of a cloned machine remove "
                              "/var/lib/oneib-node/key on one of the two and restart oneib-node",
                              other->id);
    }
    return 0;
}

static int accept_key(struct work *work, struct oneib_error *err)
{
    struct oneib_ledger_host entry = {.host_id = work->host_id, .since = (int64_t)time(NULL)};
    struct oneib_ledger next;
    if (!work->host || !decode_key(work->host->node_key, entry.key))
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                          "host %" PRIu32 " reports no key of oneib-node: does it run there, and "
                          "has the host been monitored since?",
                          work->host_id);
    if (check_is_alone(work, err) < 0 || oneib_ledger_copy(&work->kept.ledger, &next, err) < 0)
        return -1;
    const struct oneib_ledger_host *known = oneib_ledger_host(&next, work->host_id);
    int outcome = 0;
    if (!known || memcmp(known->key, entry.key, sizeof entry.key) != 0)
        outcome = oneib_ledger_pin(&next, &entry, err);
    if (outcome == 0)
        outcome = write_ledger(work, &next, err);
    oneib_ledger_clear(&next);
    return outcome;
}

static int look(struct work *work, struct oneib_error *err)
{
    const struct oneib_config *config = &work->session.config;
    if (!config->one.writer)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "one.writer is false here: say it where it is true");
    if (oneib_session_lock(&work->session, err) < 0 ||
        oneib_session_open_one(&work->session, err) < 0 || read_hosts(work, err) < 0 ||
        oneib_ledger_read(work->session.one, config->one.acl_user, &work->kept, err) < 0)
        return -1;
    if (work->kept.state != ONEIB_LEDGER_BROKEN)
        return 0;
    *err = work->kept.why;
    return -1;
}

static int print(const struct work *work, const char *done, struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    if (work->run->json)
        return oneib_json_write(
            json_pack("{s:I, s:s}", "host", (json_int_t)work->host_id, "done", done), err);
    oneib_text_printf(&text, "%s %s\n",
                      oneib_host_called(work->host_id, work->host ? work->host->name : NULL).text,
                      done);
    return oneib_write_out(&text, err);
}

static int do_it(struct work *work, bool forgets, struct oneib_error *err)
{
    if (look(work, err) < 0 || find_host(work, work->run->words[1], err) < 0)
        return -1;
    if ((forgets ? forget(work, err) : accept_key(work, err)) < 0)
        return -1;
    return print(work, forgets ? "forgotten" : "accepted", err);
}

static enum oneib_exit run_host(const struct oneib_run *run, struct oneib_error *err)
{
    const bool forgets = strcmp(run->words[0], "forget") == 0;
    if (!forgets && strcmp(run->words[0], "accept") != 0)
        return oneib_usage(run->verb, err, "'host %s': forget or accept", run->words[0]);
    struct work work = {.run = run};
    if (oneib_session_begin(run, &work.session, err) < 0)
        return ONEIB_EXIT_FAILURE;
    const int status = do_it(&work, forgets, err);
    oneib_kept_ledger_clear(&work.kept);
    oneib_findings_clear(&work.findings);
    oneib_cloud_clear(&work.cloud);
    oneib_session_end(&work.session);
    return status < 0 ? ONEIB_EXIT_FAILURE : ONEIB_EXIT_DONE;
}

const struct oneib_verb oneib_verb_host = {
    .name = "host",
    .summary = "forget a host that is gone for good, or accept its new key",
    .help = "usage: oneib host forget|accept [--force] [--json] HOST\n"
            "\n"
            "forget: HOST is off for good. What it may hold nobody waits for any more, and its\n"
            "        service's key is forgotten.\n"
            "accept: the key that HOST's service reports now is its own, and no longer the one\n"
            "        that it was first heard with: the machine was installed anew.\n"
            "\n"
            "HOST is a name or an id; of a host that OpenNebula does not have any more, the id.\n"
            "\n"
            "  --force  forget a host that OpenNebula still hears of\n"
            "\n"
            "example:\n"
            "  $ oneib host forget 3\n",
    .options = ONEIB_TAKES(ONEIB_OPTION_FORCE),
    .words_min = 2,
    .words_max = 2,
    .run = run_host,
};
