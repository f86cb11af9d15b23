// SPDX-License-Identifier: Apache-2.0
#include "command/view.h"
#include "command/json.h"

bool oneib_deviates(const struct oneib_view *view, const struct oneib_verification *verification)
{
    return verification->count > 0 || view->snapshot->desired.held_count > 0 ||
           oneib_findings_count(view->findings, ONEIB_VIOLATION) > 0;
}

enum oneib_exit oneib_exit_of_view(const struct oneib_view *view)
{
    return oneib_fabric_failed(view->snapshot) ? ONEIB_EXIT_DIFFERENCE : ONEIB_EXIT_DONE;
}

bool oneib_fabric_failed(const struct oneib_snapshot *snapshot)
{
    return !snapshot->subnet_known && snapshot->subnet_error.code != ONEIB_ERROR_NONE;
}

void oneib_append_reports_age(const struct oneib_view *view, const char *columns,
                              struct oneib_text *text)
{
    if (view->heard_error->code == ONEIB_ERROR_NONE && !view->is_live)
        oneib_text_printf(text,
                          "\n%s: as nodes had reported when oneibd wrote it down, %.1f s ago\n",
                          columns, view->heard->age_s);
}

json_t *oneib_reports_age_json(const struct oneib_view *view)
{
    return view->heard_error->code == ONEIB_ERROR_NONE ? json_real(view->heard->age_s)
                                                       : json_null();
}

json_t *oneib_fabric_json(const struct oneib_snapshot *snapshot)
{
    return json_pack(
        "{s:b, s:o}", "known", (int)snapshot->subnet_known, "error",
        oneib_json_text(oneib_fabric_failed(snapshot) ? snapshot->subnet_error.text : NULL));
}
