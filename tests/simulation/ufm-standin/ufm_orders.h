// SPDX-License-Identifier: Apache-2.0
/*
 * What a test orders the stand-in for UFM to do: lines of a file that is taken away once it was
 * read.
 *
 *   release 6.14          another release, from now on
 *   shape wraps|pads|lists|404 on|off
 *   default GUID|none     one more full member of 0x7fff; none at all
 *   sa_key 0x1
 *   m_key_per_port on|off
 *   vport GUID PORT       one more virtual port that UFM has seen, active; PORT 0: it does not say
 *                         where
 *   vport_down GUID PORT  the same, down
 *   vports on|off         /resources/vports is there
 *   stamp on|off          last_updated is there
 *   refuse METHOD N       the next N calls are answered 503, and not done; METHOD "any": all
 *   cut METHOD N          done, and the answer breaks off in the middle
 *   lose METHOD N         not done, and the connection is closed
 *   half METHOD N         half of a PUT's list is set, and the answer is 500
 *   slow METHOD N MS      done, and answered so much later
 *   restart METHOD N MS   done; the answer is lost, and nobody is there for so long
 */
#ifndef ONEIB_SIMULATION_UFM_ORDERS_H
#define ONEIB_SIMULATION_UFM_ORDERS_H

#include "ufm_model.h"
#include <stdbool.h>

enum ufm_fault { UFM_NONE, UFM_REFUSE, UFM_CUT, UFM_LOSE, UFM_HALF, UFM_SLOW, UFM_RESTART };

struct ufm_orders {
    struct ufm_order {
        enum ufm_fault fault;
        char method[8];
        unsigned count, milliseconds;
    } items[64];
    unsigned count;
};

/* Reads and removes the file, if it is there. An order that is none ends the program. */
void ufm_orders_take(struct ufm_orders *orders, const char *path, struct ufm_model *model);
/* The fault of a call of that method, which is counted. */
struct ufm_order ufm_orders_for(struct ufm_orders *orders, const char *method);

#endif
