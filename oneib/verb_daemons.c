// SPDX-License-Identifier: Apache-2.0
/* The site's daemons, as nodes are to know them: what goes into OpenNebula's remotes; and taking
 * one out that is retired, or whose keys somebody else has. */
#include "base/listen.h"
#include "command/json.h"
#include "grants/daemons.h"
#include "grants/seal.h"
#include "oneib/open.h"
#include "oneib/options.h"
#include "oneib/print.h"
#include "oneib/verb_check.h"
#include "sync/ledger_change.h"
#include <stdio.h>
#include <string.h>

static int check_ledger(const struct oneib_kept_ledger *kept, struct oneib_error *err)
{
    if (kept->state == ONEIB_LEDGER_ABSENT || kept->ledger.daemon_count == 0)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                          "no oneibd has entered itself into the ledger yet: start it "
                          "(systemctl start oneibd), then try again");
    if (kept->ledger.daemon_count > ONEIB_DAEMONS_MAX)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "the ledger has %zu daemons, and nodes know %d at most: remove those "
                          "that are gone ('oneib daemons forget ADDRESS')",
                          kept->ledger.daemon_count, ONEIB_DAEMONS_MAX);
    return 0;
}

static void print_lines(const struct oneib_ledger *ledger)
{
    oneib_autotext struct oneib_text text = {0};
    struct oneib_daemons daemons = {0};
    for (; daemons.count < ledger->daemon_count; daemons.count++)
        daemons.items[daemons.count] = ledger->daemons[daemons.count];
    oneib_daemons_render(&daemons, &text);
    fputs(text.data, stdout);
}

static int print_json(const struct oneib_ledger *ledger, struct oneib_error *err)
{
    json_t *array = json_array();
    for (size_t i = 0; i < ledger->daemon_count; i++) {
        char curve[ONEIB_KEY_TEXT_SIZE], sign[ONEIB_KEY_TEXT_SIZE];
        oneib_key_format(ledger->daemons[i].curve, curve);
        oneib_key_format(ledger->daemons[i].sign, sign);
        oneib_json_append(&array, json_pack("{s:o, s:s, s:s}", "address",
                                            oneib_json_text(ledger->daemons[i].address), "curve",
                                            curve, "sign", sign));
    }
    return oneib_json_write(json_pack("{s:o}", "daemons", array), err);
}

/* ---- listing --------------------------------------------------------------------------------- */

static int list(const struct oneib_run *run, const struct oneib_kept_ledger *kept,
                struct oneib_error *err)
{
    if (check_ledger(kept, err) < 0)
        return -1;
    if (run->json)
        return print_json(&kept->ledger, err);
    print_lines(&kept->ledger);
    return 0;
}

/* ---- forgetting ------------------------------------------------------------------------------ */

static const struct oneib_ledger_daemon *find(const struct oneib_ledger *ledger,
                                              const char *address)
{
    for (size_t i = 0; i < ledger->daemon_count; i++)
        if (strcmp(ledger->daemons[i].address, address) == 0)
            return &ledger->daemons[i];
    return NULL;
}

/* One that runs enters itself again; and nodes that know none open nothing. */
static int check_forget(const struct oneib_run *run, const struct oneib_ledger *ledger,
                        const char *address, struct oneib_error *err)
{
    struct oneib_error silent;
    if (!find(ledger, address))
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                          "no oneibd of the ledger has that address: see 'oneib daemons'");
    if (ledger->daemon_count == 1)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "%s is the only oneibd of the ledger: start the one that replaces it "
                          "first",
                          address);
    if (!oneib_given(run, ONEIB_OPTION_FORCE) && oneib_check_daemon_answers(address, &silent) == 0)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "oneibd answers at %s, and would enter itself again: stop it there first "
                          "(--force, when something else answers)",
                          address);
    return 0;
}

static int forget_in(struct oneib_ledger *next, void *context, struct oneib_error *err)
{
    const struct oneib_run *const *run = context;
    if (check_forget(*run, next, (*run)->words[1], err) < 0)
        return -1;
    oneib_ledger_remove_daemon(next, (*run)->words[1]);
    return 0;
}

static int forget(const struct oneib_run *run, struct oneib_session *session,
                  struct oneib_kept_ledger *kept, struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    const char *address = run->words[1];
    bool written;
    if (oneib_ledger_change(session->one, session->config.one.acl_user, kept, forget_in, &run,
                            &written, err) < 0)
        return -1;
    if (run->json)
        return oneib_json_write(json_pack("{s:s}", "forgotten", address), err);
    oneib_text_printf(&text,
                      "oneibd at %s forgotten. Nodes trust it until the remotes have reached "
                      "them, on the front-end:\n%s\n",
                      address, oneib_daemons_to_remotes);
    return oneib_write_out(&text, err);
}

static int list_or_forget(const struct oneib_run *run, bool forgets, struct oneib_error *err)
{
    oneib_autosession struct oneib_session session;
    oneib_autokept struct oneib_kept_ledger kept = {0};
    if (oneib_session_begin(run, &session, err) < 0 || oneib_session_open_one(&session, err) < 0 ||
        oneib_ledger_read_usable(session.one, session.config.one.acl_user, &kept, err) < 0)
        return -1;
    return forgets ? forget(run, &session, &kept, err) : list(run, &kept, err);
}

static enum oneib_exit run_daemons(const struct oneib_run *run, struct oneib_error *err)
{
    const bool forgets = run->word_count > 0;
    if (forgets && strcmp(run->words[0], "forget") != 0)
        return oneib_usage_invalid(run, 0, "forget", err);
    if (run->word_count == 1)
        return oneib_usage(run->verb, err, "missing argument ADDRESS");
    if (!forgets && oneib_given(run, ONEIB_OPTION_FORCE))
        return oneib_usage(run->verb, err, "'--force' is for 'daemons forget'");
    return list_or_forget(run, forgets, err) < 0 ? ONEIB_EXIT_FAILURE : ONEIB_EXIT_DONE;
}

const struct oneib_verb oneib_verb_daemons = {
    .name = "daemons",
    .summary = "list the site's oneibd daemons for its nodes, or forget one",
    .help =
        "usage: oneib daemons [--json]\n       oneib daemons forget [--force] [--json] "
        "ADDRESS\n\nA line for each oneibd that has entered itself into the ledger: where nodes "
        "reach\nit, and its two public keys. The front-end's remotes bring it to nodes, as the "
        "file\netc/oneib/daemons there; install.sh --frontend writes that.\n\nforget: removes the "
        "oneibd at ADDRESS from the ledger: its host is retired, or\n        its keys were "
        "disclosed. Nodes stop trusting it when the remotes\n        without it have reached "
        "them.\n\n  --force  forget one whose address answers\n\nexample:\n  $ oneib daemons\n",
    .options = ONEIB_TAKES(ONEIB_OPTION_FORCE),
    .words_max = 2,
    .run = run_daemons,
};
