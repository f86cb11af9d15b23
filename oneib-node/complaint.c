// SPDX-License-Identifier: Apache-2.0
#include "oneib-node/complaint.h"
#include "base/log.h"
#include <string.h>

void oneib_complain(struct oneib_complaint *complaint, const char *what,
                    const struct oneib_error *err)
{
    if (strcmp(complaint->text, err->text) == 0)
        return;
    memcpy(complaint->text, err->text, sizeof complaint->text);
    oneib_log(ONEIB_LOG_WARNING, "%s: %s", what, err->text);
}

void oneib_settle(struct oneib_complaint *complaint, const char *what)
{
    if (complaint->text[0] != '\0')
        oneib_log(ONEIB_LOG_INFO, "%s", what);
    complaint->text[0] = '\0';
}
