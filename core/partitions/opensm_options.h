// SPDX-License-Identifier: Apache-2.0
/* The lines of opensm.conf, read as opensm 3.3.23 reads them (osm_subnet.c): pure. */
#ifndef ONEIB_PARTITIONS_OPENSM_OPTIONS_H
#define ONEIB_PARTITIONS_OPENSM_OPTIONS_H

#include <stddef.h>

/* One option; value: without blanks around it and, inside of them, quotes; "" where there is none.
 * Both are forgotten, and wiped, when it returns. */
typedef void (*oneib_opensm_option)(void *context, const char *name, const char *value);

/* In the order of the file: of those with one name opensm takes the last. What follows '#' is a
 * comment, and what is beyond 1,023 bytes is a line of its own. */
void oneib_opensm_options_read(const char *text, size_t length, oneib_opensm_option take,
                               void *context);

#endif
