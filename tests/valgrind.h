// SPDX-License-Identifier: Apache-2.0
/* What takes valgrind minutes, twenty times as long as the processor, is tried less often there. */
#ifndef ONEIB_TEST_VALGRIND_H
#define ONEIB_TEST_VALGRIND_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool on_valgrind(void)
{
    const char *preloaded = getenv("LD_PRELOAD");
    return preloaded && strstr(preloaded, "vgpreload");
}

#endif
