// SPDX-License-Identifier: Apache-2.0
/* Service levels on the fabric, for `oneib verify`. */
#ifndef ONEIB_ONEIB_COMMAND_QOS_VERIFY_H
#define ONEIB_ONEIB_COMMAND_QOS_VERIFY_H

#include "oneib/command_look.h"

struct oneib_qos_verdict {
    bool is_configured; /* else nothing was asked, and nothing follows */
    size_t ports, paths;
    size_t port_drift, path_drift;
};

/*
 * Where there are classes: reads what the ports do with service levels, asks the SA for a path of
 * each cluster, and adds findings to looked->findings. Costs no packet where there are none.
 */
int oneib_qos_verify(struct oneib_looked *looked, struct oneib_qos_verdict *verdict,
                     struct oneib_error *err);

#endif
