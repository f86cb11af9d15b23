// SPDX-License-Identifier: Apache-2.0
/* `oneib qos --links`: which service levels each link carries, and whose. */
#ifndef ONEIB_ONEIB_QOS_LINKS_H
#define ONEIB_ONEIB_QOS_LINKS_H

#include "oneib/verb.h"

enum oneib_exit oneib_qos_links(const struct oneib_run *run, struct oneib_error *err);

#endif
