// SPDX-License-Identifier: Apache-2.0
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

static int give_key(struct oneib_one *one, const struct oneib_view *view,
                    const struct oneib_key_request *request, struct oneib_error *err)
{
    enum oneib_key_state state = ONEIB_KEY_MISSING;
    oneib_pkey pkey = 0;
    if (oneib_one_network_key(one, request->network_id, &state, &pkey, err) < 0)
        return -1;
    if (!still_needs_it(view, request->network_id, state, pkey))
        return 0;
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
            err, "network %u has no P_Key and could not be given one: %s", network_id,
            failure->text) < 0)
        return -1;
    oneib_findings_attribute(&view->findings, view->findings.count - 1, ONEIB_SUBJECT_NETWORK,
                             network_id);
    return 0;
}

int oneib_allocate(struct oneib_one *one, struct oneib_view *view, size_t *given,
                   struct oneib_error *err)
{
    *given = 0;
    for (size_t i = 0; i < view->desired.request_count; i++) {
        const struct oneib_key_request *request = &view->desired.requests[i];
        if (request->pkey == 0)
            continue; /* the range is used up: desired.findings says so */

        struct oneib_error failure;
        if (give_key(one, view, request, &failure) == 0) {
            ++*given;
            continue;
        }
        if (oneib_one_error_is_general(failure.code)) {
            *err = failure;
            return oneib_wrap(err, "giving network %u a P_Key", request->network_id);
        }
        if (note_failure(view, request->network_id, &failure, err) < 0)
            return -1;
    }
    return 0;
}
