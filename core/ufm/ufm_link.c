// SPDX-License-Identifier: Apache-2.0
#include "ufm/ufm_link.h"
#include <stdlib.h>

void oneib_ufm_reply_clear(struct oneib_ufm_reply *reply)
{
    free(reply->data);
    *reply = (struct oneib_ufm_reply){0};
}
