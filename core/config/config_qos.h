// SPDX-License-Identifier: Apache-2.0
/* What the classes of a configuration must be together; for core/base only. */
#ifndef ONEIB_CONFIG_CONFIG_QOS_H
#define ONEIB_CONFIG_CONFIG_QOS_H

#include "base/text.h"
#include "config/config.h"

/* Whose the fault is, for its line. */
enum oneib_config_qos_fault {
    ONEIB_CONFIG_QOS_GOOD,
    ONEIB_CONFIG_QOS_CLASSES,
    ONEIB_CONFIG_QOS_DEFAULT_CLASS,
    ONEIB_CONFIG_QOS_ENTRIES,
    ONEIB_CONFIG_QOS_POLICY,
    ONEIB_CONFIG_QOS_LINKS_FILE,
    ONEIB_CONFIG_QOS_EXCLUSIVE,
};

/* Appends what is wrong, "must ..." or the like, unless GOOD. */
enum oneib_config_qos_fault oneib_config_qos_check(const struct oneib_config *config,
                                                   struct oneib_text *what);

#endif
