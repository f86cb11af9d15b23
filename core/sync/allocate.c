// SPDX-License-Identifier: Apache-2.0
#include "model/names.h"
#include "sync/keys.h"
#include "sync/sync.h"
#include <string.h>

/* Somebody may have set a key since the view was made: theirs counts. */
static bool still_needs_it(const struct oneib_view *view, uint32_t network_id,
                           enum oneib_key_state state, oneib_pkey pkey)
{
    const struct oneib_network *network = oneib_cloud_network(&view->cloud, network_id);
    return network && network->key_state == state &&
           (state != ONEIB_KEY_VALID || network->pkey == pkey);
}

/* A request that somebody else has met is none any more. */
static int give_key(struct oneib_one *one, const struct oneib_view *view,
                    struct oneib_key_request *request, struct oneib_error *err)
{
    enum oneib_key_state state = ONEIB_KEY_MISSING;
    oneib_pkey pkey = 0;
    if (oneib_one_network_key(one, request->network_id, &state, &pkey, err) < 0)
        return -1;
    if (!still_needs_it(view, request->network_id, state, pkey)) {
        request->pkey = 0;
        return 0;
    }
    return oneib_one_set_pkey(one, request->network_id, request->pkey, err);
}

static bool is_noted(const struct oneib_findings *findings, uint32_t network_id)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct oneib_finding *finding = &findings->items[i];
        if (finding->subject == ONEIB_SUBJECT_NETWORK && finding->subject_id == network_id &&
            strcmp(finding->code, "pkey-not-written") == 0)
            return true;
    }
    return false;
}

/* Once for a network, until it is read again: a daemon keeps its view. */
static int note_failure(struct oneib_view *view, uint32_t network_id,
                        const struct oneib_error *failure, struct oneib_error *err)
{
    if (is_noted(&view->findings, network_id))
        return 0;
    if (oneib_findings_add(
            &view->findings, ONEIB_WARNING, "pkey-not-written",
            "make oneib's OpenNebula user a member of the group oneadmin (others may not write "
            "a restricted attribute, whatever their rights), or set its VLAN_ID by hand",
            err, "%s has no P_Key and could not be given one: %s",
            oneib_network_id_shown(&view->cloud, network_id).text, failure->text) < 0)
        return -1;
    oneib_findings_attribute(&view->findings, view->findings.count - 1, ONEIB_SUBJECT_NETWORK,
                             network_id);
    return 0;
}

static int give_keys(struct oneib_one *one, struct oneib_view *view, size_t *given,
                     struct oneib_error *err)
{
    for (size_t i = 0; i < view->desired.request_count; i++) {
        struct oneib_key_request *request = &view->desired.requests[i];
        if (request->pkey == 0)
            continue; /* the range is used up: desired.findings says so */

        struct oneib_error failure;
        if (give_key(one, view, request, &failure) == 0) {
            ++*given;
            continue;
        }
        if (oneib_one_error_is_general(failure.code)) {
            *err = failure;
            return oneib_wrap(err, "giving %s a P_Key",
                              oneib_network_id_shown(&view->cloud, request->network_id).text);
        }
        if (note_failure(view, request->network_id, &failure, err) < 0)
            return -1;
    }
    return 0;
}

/* The next run looks first, and chooses another. */
static int take_back(struct oneib_one *one, const struct oneib_cloud *now,
                     const struct oneib_key_request *request, struct oneib_error *err)
{
    const struct oneib_network *network = oneib_cloud_network(now, request->network_id);
    if (!network || network->key_state != ONEIB_KEY_VALID || network->pkey != request->pkey ||
        !oneib_key_holder(now, request->network_id, request->pkey))
        return 0;
    return oneib_one_remove_pkey(one, request->network_id, err);
}

static int take_back_what_others_took(const struct oneib_config *config, struct oneib_one *one,
                                      const struct oneib_view *view, struct oneib_error *err)
{
    struct oneib_cloud now = {0};
    int outcome = oneib_read_networks(config, one, &now, err);
    for (size_t i = 0; outcome == 0 && i < view->desired.request_count; i++)
        if (view->desired.requests[i].pkey != 0)
            outcome = take_back(one, &now, &view->desired.requests[i], err);
    oneib_cloud_clear(&now);
    return outcome;
}

int oneib_allocate(const struct oneib_config *config, struct oneib_one *one,
                   struct oneib_view *view, size_t *given, struct oneib_error *err)
{
    *given = 0;
    if (give_keys(one, view, given, err) < 0)
        return -1;
    return *given > 0 ? take_back_what_others_took(config, one, view, err) : 0;
}
