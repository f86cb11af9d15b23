// SPDX-License-Identifier: Apache-2.0
#ifndef ONEIB_UNIT_REACH_H
#define ONEIB_UNIT_REACH_H

/*
 * For a test that root started and that is about to become nobody: lets nobody reach this project's
 * sources and build, also where a directory above them is closed to others, as root's home is. The
 * way there is made in a mount namespace of this process: nothing changes for anybody else, and of
 * what the closed directory holds only the project is seen. The program is started anew there, from
 * the beginning of its main(), so that it finds others beside itself. Where that cannot be, the
 * program ends with status 77, which ctest takes as skipped, and says why.
 */
void reach_project(void);

#endif
