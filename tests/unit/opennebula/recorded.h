// SPDX-License-Identifier: Apache-2.0
/* Documents that a running oned 7.4 wrote; see tests/data/opennebula-7.4. */
#ifndef ONEIB_TEST_OPENNEBULA_RECORDED_H
#define ONEIB_TEST_OPENNEBULA_RECORDED_H

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* The whole file, NUL terminated; the caller frees it. */
static inline char *recorded(const char *name)
{
    char path[512], buffer[4096];
    size_t length;
    struct oneib_text text = {0};
    snprintf(path, sizeof path, ONEIB_TEST_DATA "/opennebula-7.4/%s.xml", name);
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("cannot open %s", path);
    while ((length = fread(buffer, 1, sizeof buffer, file)) > 0)
        oneib_text_append_bytes(&text, buffer, length);
    fclose(file);
    return text.data;
}

#endif
