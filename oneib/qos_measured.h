// SPDX-License-Identifier: Apache-2.0
/* `oneib qos --measured`: what the links of clusters carry now, beside what their lanes are
 * promised. */
#ifndef ONEIB_ONEIB_QOS_MEASURED_H
#define ONEIB_ONEIB_QOS_MEASURED_H

#include "oneib/verb.h"

/* Of the networks that run->words name, by name or id; of all when there are none. */
enum oneib_exit oneib_qos_measured(const struct oneib_run *run, struct oneib_error *err);

#endif
