// SPDX-License-Identifier: Apache-2.0
/*
 * Reading a VF's virtual port (host/virtual_port.h) where the kernel lets this host do it:
 *   fwctl: the adapter's firmware, whoever has the VF (hca/firmware.h), else
 *   sysfs: while the host's own driver has the VF, it shows the VF as a device with one port, as
 *          before a domain takes it, or kept for the host.
 * What only passes the VF through (vfio-pci) shows nothing there.
 */
#ifndef ONEIB_HCA_VF_PORT_H
#define ONEIB_HCA_VF_PORT_H

#include "hca/hca.h"
#include "host/virtual_port.h"

/*
 * Of mlx5 alone; any other adapter's VFs have no port of their own, and are UNSEEN. UNSEEN is no
 * failure: *port says why. -1: there is a way, and it did not answer as it should: nothing is known
 * of the port, and the caller fails closed.
 */
int oneib_vf_port_read(const struct oneib_hca *hca, const struct oneib_vf *vf,
                       struct oneib_virtual_port *port, struct oneib_error *err);

#endif
