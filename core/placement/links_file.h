// SPDX-License-Identifier: Apache-2.0
/* The file in which oneibd says which links clusters use. */
#ifndef ONEIB_PLACEMENT_LINKS_FILE_H
#define ONEIB_PLACEMENT_LINKS_FILE_H

#include "base/error.h"
#include "placement/links_text.h"
#include <stdint.h>

/* REFUSED: it was not written within the last ONEIB_LINKS_AGE_MAX_S seconds before now (Unix
 * seconds). On failure *links is empty. */
int oneib_links_load(const char *path, int64_t now, struct oneib_links *links,
                     struct oneib_error *err);

#endif
