// SPDX-License-Identifier: Apache-2.0
/*
 * The firmware of an mlx5 adapter, asked through Linux's fwctl (drivers/fwctl/main.c and
 * drivers/fwctl/mlx5/main.c, 6.15 and later): a device of the adapter's physical function, root's.
 * Commands that read are let through in the scope FWCTL_RPC_DEBUG_READ_ONLY, which changes nothing
 * and needs no capability. Whether firmware answers what oneib asks was never tried.
 *
 * It is opened with the adapters (hca/hca.h, ONEIB_HCA_FIRMWARE), and stays open as long as what
 * was read of them. Where there is none the adapter's VFs are given all the same.
 */
#ifndef ONEIB_HCA_FIRMWARE_H
#define ONEIB_HCA_FIRMWARE_H

#include "base/error.h"
#include "base/finding.h"
#include "hca/hca.h"
#include "host/virtual_port.h"

#define ONEIB_FWCTL_CLASS "/sys/class/fwctl" /* below oneib_node_root() */

/* Freed by oneib_firmware_close(). */
struct oneib_firmware *oneib_firmware_open(const struct oneib_hca *hca);
/* What was known of the same device, when the adapters are read again: whether it has told. Either
 * may be NULL. */
void oneib_firmware_inherit(struct oneib_firmware *firmware, const struct oneib_firmware *older);
/* NULL is fine. */
void oneib_firmware_close(struct oneib_firmware *firmware);

/*
 * What a VF's virtual port holds: UNSEEN, with *port saying why, where kernel or firmware have no
 * way to it. Firmware that has told once is to tell always: from then on a refusal is a failure.
 * -1: there is a way, and the answer is not as it should be.
 */
int oneib_firmware_read_port(const struct oneib_hca *hca, const struct oneib_vf *vf,
                             struct oneib_virtual_port *port, struct oneib_error *err);

/* What firmware says of the subnet manager of the adapter's link: whether it knows virtual ports. */
enum oneib_sm_awareness {
    ONEIB_SM_UNKNOWN, /* there is no way to firmware, it does not tell, or the link is not active */
    ONEIB_SM_AWARE,
    ONEIB_SM_UNAWARE,
};
/* Nothing follows from it but words: whether firmware sets that bit was never tried. */
enum oneib_sm_awareness oneib_firmware_ask_sm(const struct oneib_hca *hca);
/* The finding virtual-ports-unserved, of each adapter with VFs whose subnet manager is UNAWARE. */
void oneib_firmware_note_sm(const struct oneib_hcas *hcas, struct oneib_findings *findings);

#endif
