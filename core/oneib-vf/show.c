// SPDX-License-Identifier: Apache-2.0
#include "oneib-vf/show.h"
#include "hca/reservations.h"

int oneib_vf_show(struct oneib_text *text, struct oneib_error *err)
{
    struct oneib_vf_table table;
    if (oneib_reservations_read(&table, err) < 0)
        return -1;
    oneib_vf_table_render(&table, text);
    oneib_vf_table_clear(&table);
    return oneib_text_failed(text) ? oneib_fail_memory(err) : 0;
}
