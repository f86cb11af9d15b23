// SPDX-License-Identifier: Apache-2.0
/* What the classes of a configuration must be together; for core/base only. */
#ifndef ONEIB_CONFIG_CONFIG_QOS_H
#define ONEIB_CONFIG_CONFIG_QOS_H

#include "base/text.h"
#include "config/config.h"

/* The key that is at fault, "GROUP.KEY", and appends what is wrong, "must ..." or the like; NULL:
 * nothing is. */
const char *oneib_config_qos_check(const struct oneib_config *config, struct oneib_text *what);

#endif
