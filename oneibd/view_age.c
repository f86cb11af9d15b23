// SPDX-License-Identifier: Apache-2.0
#include "oneibd/view_age.h"

void oneib_view_age_looked(struct oneib_view_age *age, double asked_ms)
{
    age->looked_ms = asked_ms;
}

void oneib_view_age_changed(struct oneib_view_age *age)
{
    if (!age->is_behind)
        age->listed_ms = age->looked_ms;
    age->is_behind = true;
}

void oneib_view_age_listed(struct oneib_view_age *age)
{
    age->is_behind = false;
}

double oneib_view_age_of_lists(const struct oneib_view_age *age)
{
    return age->is_behind ? age->listed_ms : age->looked_ms;
}
