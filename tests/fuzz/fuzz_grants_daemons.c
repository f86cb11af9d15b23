// SPDX-License-Identifier: Apache-2.0
/* What is taken of a file of daemons is rendered, and that is taken as the same. */
#include "grants/daemons.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    oneib_autotext struct oneib_text text = {0};
    struct oneib_daemons daemons, again;
    struct oneib_error err = {0};
    char *exact = malloc(size + (size == 0));
    require(exact != NULL);
    if (size > 0)
        memcpy(exact, data, size);
    if (oneib_daemons_parse(exact, size, "daemons", &daemons, &err) < 0) {
        require(err.code == ONEIB_ERROR_INPUT && daemons.count == 0);
    } else {
        require(daemons.count <= ONEIB_DAEMONS_MAX);
        oneib_daemons_render(&daemons, &text);
        require(oneib_daemons_parse(text.data ? text.data : "", text.length, "daemons", &again,
                                    &err) == 0);
        require(memcmp(&again, &daemons, sizeof again) == 0);
    }
    free(exact);
    return 0;
}
