// SPDX-License-Identifier: Apache-2.0
/* A record of an hour ago needs a machine that has been up for as long: here each has been up for
 * two hours more. */
#include "hca/reservations.h"

#define TWO_HOURS_S 7200

int64_t __real_oneib_seconds_since_boot(void);
int64_t __wrap_oneib_seconds_since_boot(void);

int64_t __wrap_oneib_seconds_since_boot(void)
{
    return __real_oneib_seconds_since_boot() + TWO_HOURS_S;
}
