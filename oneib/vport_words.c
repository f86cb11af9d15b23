// SPDX-License-Identifier: Apache-2.0
#include "oneib/vport_words.h"

int oneib_vports_note_unproven(const struct oneib_vports *vports, struct oneib_findings *findings,
                               struct oneib_error *err)
{
    const struct oneib_vport_result *result = &vports->result;
    const bool is_proven = result->proof == ONEIB_VPORTS_PROVEN;
    const size_t believed = is_proven ? result->believed : 0;
    if (!vports->was_tried || (is_proven && believed == result->owners))
        return 0;
    if (oneib_findings_add(
            findings, ONEIB_NOTICE, "virtual-ports-unproven",
            "ask the subnet manager what they hold, and tell oneib's developers what "
            "the adapters are",
            err, "virtual ports of %zu of %zu adapters are not verified: %s",
            result->owners - believed, result->owners,
            oneib_vport_proof_words(is_proven ? ONEIB_VPORTS_NO_GUIDS : result->proof)) < 0)
        return -1;
    oneib_findings_sort(findings);
    return 0;
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
