// SPDX-License-Identifier: Apache-2.0
/*
 * No action of OpenNebula's, and of no VM. The probe calls it in each of its rounds where
 * node.hpc_cores is "keep_off": VMs come by live migration, or by others' hands, and go without
 * anybody telling. With --look nothing is changed: who may run on cores of a VM with IB_HPC is said, a
 * line each.
 */
#ifndef ONEIB_VMM_HPC_CORES_H
#define ONEIB_VMM_HPC_CORES_H

#define HPC_CORES "hpc_cores" /* what it is called on the command line */

/* argv[0] is its name; what main() returns. */
int hpc_cores_main(int argc, char **argv);

#endif
