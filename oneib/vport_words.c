// SPDX-License-Identifier: Apache-2.0
#include "oneib/vport_words.h"

void oneib_vports_note_unproven(const struct oneib_vports *vports, struct oneib_findings *findings)
{
    const struct oneib_vport_result *result = &vports->result;
    const bool is_proven = result->proof == ONEIB_VPORTS_PROVEN;
    const size_t believed = is_proven ? result->believed : 0;
    if (!vports->was_tried || (is_proven && believed == result->owners))
        return;
    oneib_findings_note(findings, ONEIB_NOTICE, "virtual-ports-unproven",
                        "ask the subnet manager what they hold, and tell oneib's developers what "
                        "the adapters are",
                        "virtual ports of %zu of %zu adapters are not verified: %s",
                        result->owners - believed, result->owners,
                        oneib_vport_proof_words(is_proven ? ONEIB_VPORTS_NO_GUIDS : result->proof));
    oneib_findings_sort(findings);
}

void oneib_vports_append(const struct oneib_vports *vports, struct oneib_text *text)
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

json_t *oneib_vports_json(const struct oneib_vports *vports)
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

bool oneib_has_virtual_members(const struct oneib_desired *desired)
{
    for (size_t i = 0; i < desired->binding_count; i++)
        if (oneib_is_virtual_member(&desired->bindings[i]))
            return true;
    return false;
}

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
                         size_t binding, struct oneib_said_members *members)
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

struct oneib_said_members oneib_said_members_of(const struct oneib_said_vports *said,
                                                const struct oneib_desired *desired)
{
    struct oneib_said_members members = {.is_known = said->is_known,
                                         .not_understood = said->not_understood};
    for (size_t i = 0; said->is_known && i < desired->binding_count; i++)
        if (oneib_is_virtual_member(&desired->bindings[i]) && !is_counted(desired, i))
            count_member(said, desired, i, &members);
    return members;
}

void oneib_said_members_append(const struct oneib_said_members *said, struct oneib_text *text)
{
    if (!said->is_known)
        return;
    oneib_text_printf(text, "UFM says, and nobody has verified: %zu of %zu virtual ports active",
                      said->active, said->members);
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

json_t *oneib_said_members_json(const struct oneib_said_members *said)
{
    return said->is_known
               ? json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "members", (json_int_t)said->members,
                           "active", (json_int_t)said->active, "inactive",
                           (json_int_t)said->inactive, "elsewhere", (json_int_t)said->elsewhere,
                           "unnamed", (json_int_t)said->unnamed, "not_understood",
                           (json_int_t)said->not_understood)
               : json_null();
}
