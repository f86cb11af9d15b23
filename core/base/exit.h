// SPDX-License-Identifier: Apache-2.0
/* How programs end. What OpenNebula calls on nodes ends with 1 where it fails, as its own does. */
#ifndef ONEIB_BASE_EXIT_H
#define ONEIB_BASE_EXIT_H

enum oneib_exit {
    ONEIB_EXIT_DONE = 0,
    ONEIB_EXIT_DIFFERENCE = 1, /* a difference or a violation was found */
    ONEIB_EXIT_USAGE = 2,      /* the command line is wrong */
    ONEIB_EXIT_FAILURE = 3,
    ONEIB_EXIT_REFUSED =
        4, /* a daemon: again is of no use before an operator has changed something */
};

#endif
