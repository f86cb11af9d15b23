// SPDX-License-Identifier: Apache-2.0
/*
 * What the probe prints: lines of an OpenNebula template. Pure. Attributes that a probe stops
 * printing stay in oned (they are merged), so the scalars are always printed:
 * IB_HCA = [ NAME = "mlx4_0", DRIVER = "mlx4", PCI = "0000:81:00.0", NODE_GUID = "0x...", PORT =
 * "1", PORT_GUID = "0x...", LID = "7", STATE = "ACTIVE", RATE = "56", PKEYS_MAX = "127", VFS_TOTAL
 * = "7", NUMA_NODE = "0" ], one for each InfiniBand port, IB_VFS_TOTAL = "7" (each adapter once),
 * IB_PORTS_ACTIVE = "1", IB_NODE_KEY = "<64 digits>" by which oneibd knows this host's service ("":
 * it has none yet), IB_PROBLEM = "" or what is wrong, in one line.
 */
#ifndef ONEIB_NODE_HOST_PROBE_H
#define ONEIB_NODE_HOST_PROBE_H

#include "base/text.h"
#include "config/config.h"
#include "hca/hca.h"
#include <stdbool.h>

/*
 * VFs are those that a VM could get: of an adapter that could be read, not among those that are
 * kept for the host (node.host_vfs), and without a network interface that is up. PKEYS_MAX leaves out
 * the last slot of an mlx4 table that the host sees whole: it has to stay empty
 * (oneib_port_is_safe()). given: whether this host gives VFs at all; without, IB_VFS_TOTAL is 0.
 * problem and node_key may be NULL.
 */
void oneib_probe_render(const struct oneib_hcas *hcas, const struct oneib_config *config,
                        bool given, const char *node_key, const char *problem,
                        struct oneib_text *text);

#endif
