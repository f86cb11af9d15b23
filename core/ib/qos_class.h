// SPDX-License-Identifier: Apache-2.0
/*
 * A traffic class as oneib.conf writes it: "gold: weight 64, SL 1-2", or "SL 1, 4-5". What the
 * classes mean together is partitions/qos.h's.
 */
#ifndef ONEIB_IB_QOS_CLASS_H
#define ONEIB_IB_QOS_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#define ONEIB_QOS_NAME_SIZE 32   /* with its 0 */
#define ONEIB_QOS_SLS 16         /* SLs are 4 bits (IBA 1.2.1, 7.6.5) */
#define ONEIB_QOS_WEIGHT_MAX 255 /* an entry's weight is 8 bits (14.2.5.9), and 0 skips it */

struct oneib_qos_class {
    char name[ONEIB_QOS_NAME_SIZE]; /* letters, digits, '-' and '_' */
    uint8_t weight;                 /* 1-255, of each of its lanes, in units of 64 bytes */
    uint16_t sls;                   /* bit n: SL n; never 0, never SL 0 */
};

/* NULL when the text is a class, else what it must be: "must ...". */
const char *oneib_qos_class_parse(const char *text, struct oneib_qos_class *qos_class);
/* 1-31 letters, digits, '-' and '_'. */
bool oneib_qos_name_valid(const char *name);

#endif
