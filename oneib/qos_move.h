// SPDX-License-Identifier: Apache-2.0
/* `oneib qos move NETWORK`: an SL of the class that the network is to have now. */
#ifndef ONEIB_ONEIB_QOS_MOVE_H
#define ONEIB_ONEIB_QOS_MOVE_H

#include "oneib/verb.h"

/* word: the network's name or id. */
enum oneib_exit oneib_qos_move(const struct oneib_run *run, const char *word,
                               struct oneib_error *err);

#endif
