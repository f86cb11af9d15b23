// SPDX-License-Identifier: Apache-2.0
/* The site's daemons, as nodes are to know them: what goes into OpenNebula's remotes. */
#include "grants/daemons.h"
#include "grants/seal.h"
#include "oneib/json.h"
#include "oneib/open.h"
#include "opennebula/ledger_document.h"
#include <stdio.h>

static int check_ledger(const struct oneib_kept_ledger *kept, struct oneib_error *err)
{
    if (kept->state == ONEIB_LEDGER_BROKEN)
        return oneib_fail(err, kept->why.code, "%s", kept->why.text);
    if (kept->state == ONEIB_LEDGER_ABSENT || kept->ledger.daemon_count == 0)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                          "no oneibd has entered itself into the ledger yet: start it "
                          "(systemctl start oneibd), then try again");
    if (kept->ledger.daemon_count > ONEIB_DAEMONS_MAX)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "the ledger has %zu daemons, and nodes know %d at most: remove those "
                          "that are gone ('oneib sync --adopt')",
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

static enum oneib_exit run_daemons(const struct oneib_run *run, struct oneib_error *err)
{
    oneib_autosession struct oneib_session session;
    oneib_autokept struct oneib_kept_ledger kept = {0};
    if (oneib_session_begin(run, &session, err) < 0 || oneib_session_open_one(&session, err) < 0 ||
        oneib_ledger_read(session.one, session.config.one.acl_user, &kept, err) < 0 ||
        check_ledger(&kept, err) < 0)
        return ONEIB_EXIT_FAILURE;
    if (run->json)
        return print_json(&kept.ledger, err) < 0 ? ONEIB_EXIT_FAILURE : ONEIB_EXIT_DONE;
    print_lines(&kept.ledger);
    return ONEIB_EXIT_DONE;
}

const struct oneib_verb oneib_verb_daemons = {
    .name = "daemons",
    .summary = "the daemons of the site, as its nodes are to know them",
    .help = "usage: oneib daemons [--json]\n"
            "\n"
            "A line for each oneibd that has entered itself into the ledger: where nodes reach\n"
            "it, and its two public keys. The front-end's remotes bring it to nodes, as the file\n"
            "etc/oneib/daemons there; install.sh --frontend writes that.\n"
            "\n"
            "example:\n"
            "  $ oneib daemons\n",
    .run = run_daemons,
};
