// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/order.h"
#include "command/answer.h"
#include "command/deviations.h"
#include "command/fabric_checks.h"
#include "command/places.h"
#include <inttypes.h>

/* What a subnet manager that is elsewhere says of the members that are virtual ports: asked where
 * there are such members. */
struct said_members {
    bool is_known;         /* else nothing below is */
    size_t members;        /* that are virtual ports */
    size_t active;         /* of these: they are, at the adapter of their host */
    size_t inactive;       /* likewise, and not active */
    size_t elsewhere;      /* at another adapter */
    size_t unnamed;        /* it knows of none */
    size_t not_understood; /* of what it said */
};

/* The finding virtual-ports-unproven, when something was tried and not proved. */
static void note_unproven(const struct oneib_vports *vports, struct oneib_findings *findings)
{
    const struct oneib_vport_result *result = &vports->result;
    const bool is_proven = result->proof == ONEIB_VPORTS_PROVEN;
    const size_t believed = is_proven ? result->believed : 0;
    if (!vports->was_tried || (is_proven && believed == result->owners))
        return;
    oneib_findings_note(findings, ONEIB_FINDING_VIRTUAL_PORTS_UNPROVEN,
                        "virtual ports of %zu of %zu adapters are not verified: %s",
                        result->owners - believed, result->owners,
                        oneib_vport_proof_words(is_proven ? ONEIB_VPORTS_NO_GUIDS : result->proof));
    oneib_findings_sort(findings);
}

/* "virtual ports: ..." with a newline; nothing when it was not tried. */
static void append_vports(const struct oneib_vports *vports, struct oneib_text *text)
{
    const struct oneib_vport_result *result = &vports->result;
    if (!vports->was_tried)
        return;
    if (result->proof == ONEIB_VPORTS_PROVEN)
        oneib_text_printf(text, "virtual ports: %zu read, of %zu of %zu adapters\n", result->added,
                          result->believed, result->owners);
    else
        oneib_text_printf(text, "virtual ports: not verified: %s\n",
                          oneib_vport_proof_words(result->proof));
}

/* {proven, why, adapters, believed, read}; null when it was not tried. */
static json_t *vports_json(const struct oneib_vports *vports)
{
    const struct oneib_vport_result *result = &vports->result;
    const bool is_proven = result->proof == ONEIB_VPORTS_PROVEN;
    if (!vports->was_tried)
        return json_null();
    return json_pack("{s:b, s:o, s:I, s:I, s:I}", "proven", (int)is_proven, "why",
                     is_proven ? json_null() : json_string(oneib_vport_proof_words(result->proof)),
                     "adapters", (json_int_t)result->owners, "believed",
                     (json_int_t)result->believed, "read", (json_int_t)result->added);
}

/* ---- what a subnet manager says -------------------------------------------------------------- */

/* The two of a VM that migrates are neighbours: it may be at either host. */
static bool is_at_its_host(const struct oneib_desired *desired, size_t binding,
                           const struct oneib_said_vport *vport)
{
    for (size_t i = binding; i < desired->binding_count && i < binding + 2; i++)
        if (desired->bindings[i].member == vport->guid &&
            desired->bindings[i].port == vport->port_guid)
            return true;
    return vport->port_guid == 0;
}

static bool is_counted(const struct oneib_desired *desired, size_t binding)
{
    return binding > 0 && oneib_is_virtual_member(&desired->bindings[binding - 1]) &&
           desired->bindings[binding - 1].member == desired->bindings[binding].member;
}

static void count_member(const struct oneib_said_vports *said, const struct oneib_desired *desired,
                         size_t binding, struct said_members *members)
{
    const struct oneib_said_vport *vport =
        oneib_said_vport_find(said, desired->bindings[binding].member);
    members->members++;
    if (!vport)
        members->unnamed++;
    else if (!is_at_its_host(desired, binding, vport))
        members->elsewhere++;
    else if (vport->is_active)
        members->active++;
    else
        members->inactive++;
}

static struct said_members count_said_members(const struct oneib_said_vports *said,
                                              const struct oneib_desired *desired)
{
    struct said_members members = {.is_known = said->is_known,
                                   .not_understood = said->not_understood};
    for (size_t i = 0; said->is_known && i < desired->binding_count; i++)
        if (oneib_is_virtual_member(&desired->bindings[i]) && !is_counted(desired, i))
            count_member(said, desired, i, &members);
    return members;
}

/* "UFM says, ...: ..." with a newline; nothing where it is not known. */
static void append_said_members(const struct said_members *said, struct oneib_text *text)
{
    if (!said->is_known)
        return;
    oneib_text_printf(text, "virtual ports by UFM, not verified: %zu of %zu active", said->active,
                      said->members);
    if (said->inactive > 0)
        oneib_text_printf(text, ", %zu not active", said->inactive);
    if (said->elsewhere > 0)
        oneib_text_printf(text, ", %zu at another adapter than their host's", said->elsewhere);
    if (said->unnamed > 0)
        oneib_text_printf(text, ", %zu unknown to it", said->unnamed);
    if (said->not_understood > 0)
        oneib_text_printf(text, " (%zu of its entries not understood)", said->not_understood);
    oneib_text_append(text, "\n");
}

/* Its fields but the first; null where it is not known. */
static json_t *said_members_json(const struct said_members *said)
{
    return said->is_known
               ? json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "members", (json_int_t)said->members,
                           "active", (json_int_t)said->active, "inactive",
                           (json_int_t)said->inactive, "elsewhere", (json_int_t)said->elsewhere,
                           "unnamed", (json_int_t)said->unnamed, "not_understood",
                           (json_int_t)said->not_understood)
               : json_null();
}

struct comparison {
    const struct oneib_command_request *request;
    struct oneib_command_answer *answer;
    struct oneib_view *view;
    struct oneib_places places;
    struct oneib_verification verification;
    const struct oneib_fabric_checks *checks;
    struct said_members said;
};

static bool has_drift(const struct oneib_levels_result *qos)
{
    return qos->port_drift > 0 || qos->cluster_drift > 0;
}

static void append_qos(const struct oneib_levels_result *qos, struct oneib_text *text)
{
    if (!qos->is_configured)
        return;
    oneib_text_printf(text, "classes: %zu of ", qos->ports - qos->port_drift);
    oneib_append_count(text, qos->ports, "port");
    oneib_text_printf(text, " and %zu of ", qos->clusters - qos->cluster_drift);
    oneib_append_count(text, qos->clusters, "cluster");
    oneib_text_append(text, " as oneib.conf says\n");
}

static json_t *qos_json(const struct oneib_levels_result *qos)
{
    return json_pack("{s:I, s:I, s:I, s:I}", "ports", (json_int_t)qos->ports, "port_drift",
                     (json_int_t)qos->port_drift, "clusters", (json_int_t)qos->clusters,
                     "cluster_drift", (json_int_t)qos->cluster_drift);
}

static void write_text(const struct comparison *comparison)
{
    const size_t held = comparison->view->snapshot->desired.held_count;
    struct oneib_text *text = &comparison->answer->out;

    oneib_deviations_append(comparison->request->color_out, &comparison->places,
                            &comparison->verification, 0, text);
    oneib_text_append(text, "verify: ");
    oneib_verification_append(&comparison->verification, text);
    if (held > 0) {
        oneib_text_append(text, "; ");
        oneib_append_count(text, held, "removal");
        oneib_text_append(text, " held (see 'oneib plan')");
    }
    oneib_text_append(text, "\n");
    append_vports(&comparison->view->snapshot->vports, text);
    append_said_members(&comparison->said, text);
    append_qos(&comparison->checks->levels, text);
    oneib_append_findings(&comparison->answer->err, comparison->request->color_err,
                          comparison->view->findings);
    if (comparison->view->heard_error->code)
        oneib_append_note(&comparison->answer->err, "only ports were verified: %s",
                          comparison->view->heard_error->text);
    if (comparison->checks->said_error.code)
        oneib_append_note(&comparison->answer->err, "UFM's virtual ports are unknown: %s",
                          comparison->checks->said_error.text);
}

/* null: not known. */
static json_t *nodes_json(const struct oneib_view *view)
{
    return view->heard_error->code ? json_null() : json_integer((json_int_t)view->heard->count);
}

static int write_json(const struct comparison *comparison, struct oneib_error *err)
{
    json_t *document =
        json_pack("{s:b, s:I, s:I, s:o, s:o, s:o}", "in_force",
                  (int)!oneib_deviates(comparison->view, &comparison->verification), "mads_sent",
                  (json_int_t)(oneib_fabric_mads_sent(comparison->view->fabric) -
                               comparison->view->mads_before),
                  "held", (json_int_t)comparison->view->snapshot->desired.held_count, "nodes",
                  nodes_json(comparison->view), "verification",
                  oneib_verification_json(&comparison->places, &comparison->verification),
                  "findings", oneib_json_findings(comparison->view->findings));
    if (document && comparison->checks->levels.is_configured)
        json_object_set_new(document, "qos", qos_json(&comparison->checks->levels));
    if (document && comparison->view->snapshot->vports.was_tried)
        json_object_set_new(document, "virtual_ports",
                            vports_json(&comparison->view->snapshot->vports));
    if (document && comparison->checks->sm_was_asked)
        json_object_set_new(document, "ufm_virtual_ports", said_members_json(&comparison->said));
    return oneib_json_render(document, &comparison->answer->out, err);
}

/* The fabric may be right as it is, and everybody a full member at opensm's next look. */
static void judge_file(struct oneib_view *view)
{
    const struct oneib_snapshot *snapshot = view->snapshot;
    const char *path = oneib_sm_place(view->sm);
    if (snapshot->seen.state != ONEIB_SEEN_NOTHING && snapshot->seen.state != ONEIB_SEEN_UNREADABLE)
        return;
    oneib_findings_note(
        view->findings, ONEIB_FINDING_PARTITIONS_UNREADABLE,
        "%s %s: when opensm reads it next, it makes every port a full member of the default "
        "partition",
        path, snapshot->seen.state == ONEIB_SEEN_NOTHING ? "is not there" : "does not parse");
    oneib_findings_sort(view->findings);
}

/* All of one switch's port. */
static void note_stale_keys(struct comparison *comparison, const struct oneib_stale_key *keys,
                            size_t count)
{
    const struct oneib_subnet *subnet = &comparison->view->snapshot->subnet;
    oneib_autotext struct oneib_text text = {0};
    oneib_places_append_port(&comparison->places, keys->port_guid, &text);
    oneib_text_printf(&text, " (0x%016" PRIx64 "): port %u of switch ", keys->port_guid,
                      keys->switch_port);
    oneib_append_quoted(&text, oneib_subnet_find(subnet, keys->switch_guid)->description);
    oneib_text_printf(&text, " (0x%016" PRIx64 ") still has ", keys->switch_guid);
    oneib_append_count(&text, count, "P_Key");
    oneib_text_append(&text, " that this host's port does not have");
    for (size_t i = 0; i < count; i++)
        oneib_text_printf(&text, "%s%s", i ? ", " : ": ", oneib_pkey_raw_shown(keys[i].pkey).text);
    oneib_findings_note(comparison->view->findings, ONEIB_FINDING_SWITCH_KEY_STALE, "%s",
                        text.data);
}

/* A guest cannot send with such a key: no violation. */
static void note_switches(struct comparison *comparison)
{
    const struct oneib_stale_keys *keys = &comparison->checks->stale_keys;
    size_t end;
    for (size_t i = 0; i < keys->count; i = end) {
        end = i +
              ONEIB_RUN(at, i, keys->count, keys->items[at].port_guid == keys->items[i].port_guid);
        note_stale_keys(comparison, &keys->items[i], end - i);
    }
    if (keys->unanswered > 0)
        oneib_append_note(
            &comparison->answer->err,
            "%zu queries to switch ports were not answered: their P_Keys are known in part",
            keys->unanswered);
}

static int compare(struct comparison *comparison, struct oneib_error *err)
{
    struct oneib_view *view = comparison->view;
    const struct oneib_snapshot *snapshot = view->snapshot;
    judge_file(view);
    oneib_vports_note_unserved(view->config, &snapshot->desired, view->findings);
    note_unproven(&snapshot->vports, view->findings);
    oneib_places_make(snapshot, view->config->site, view->has_daemon, &comparison->places);
    oneib_snapshot_verify(snapshot, view->may_be_written, &comparison->verification);
    note_switches(comparison);
    oneib_findings_copy(&comparison->checks->findings, 0, view->findings);
    oneib_findings_sort(view->findings);
    comparison->said = count_said_members(&comparison->checks->said, &snapshot->desired);
    if (comparison->request->json)
        return write_json(comparison, err);
    write_text(comparison);
    return 0;
}

int oneib_answer_verify(const struct oneib_command_request *request, struct oneib_view *view,
                        struct oneib_command_answer *answer, enum oneib_exit *outcome,
                        struct oneib_error *err)
{
    struct comparison comparison = {
        .request = request, .view = view, .answer = answer, .checks = view->checks};
    const int status = compare(&comparison, err);
    if (oneib_deviates(view, &comparison.verification) || has_drift(&comparison.checks->levels))
        *outcome = ONEIB_EXIT_DIFFERENCE;
    oneib_verification_clear(&comparison.verification);
    oneib_places_clear(&comparison.places);
    return status;
}
