// SPDX-License-Identifier: Apache-2.0
/* Whether opensm.conf says what the classes need: pure. */
#ifndef ONEIB_PARTITIONS_QOS_OPTIONS_H
#define ONEIB_PARTITIONS_QOS_OPTIONS_H

#include "partitions/qos.h"

/*
 * Appends to *names those options of oneib_qos_render() that the file does not have, or has with
 * another value, with ", " between them: how many. An absent sm_sl is 0 (opensm's default).
 */
size_t oneib_qos_options_differ(const struct oneib_qos *qos, const char *text, size_t length,
                                struct oneib_text *names);

#endif
