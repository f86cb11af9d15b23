// SPDX-License-Identifier: Apache-2.0
#include "oneibd/snapshot_age.h"

void oneib_snapshot_age_cloud(struct oneib_snapshot_age *age, double asked_ms)
{
    age->asked_ms = asked_ms;
}

void oneib_snapshot_age_ledger(struct oneib_snapshot_age *age)
{
    age->read_ms = age->asked_ms;
}

void oneib_snapshot_age_changed(struct oneib_snapshot_age *age)
{
    if (!age->is_behind)
        age->listed_ms = age->read_ms;
    age->is_behind = true;
}

void oneib_snapshot_age_listed(struct oneib_snapshot_age *age)
{
    age->is_behind = false;
}

double oneib_snapshot_age_of_lists(const struct oneib_snapshot_age *age)
{
    return age->is_behind ? age->listed_ms : age->read_ms;
}
