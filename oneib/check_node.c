// SPDX-License-Identifier: Apache-2.0
/* What `oneib check` finds out on a node: whether oneib-node, which gives VFs to VMs, is there. */
#include "base/cleanup.h"
#include "base/finding.h"
#include "hca/firmware.h"
#include "hca/hca.h"
#include "hca/place.h"
#include "node/start_cores.h"
#include "oneib/verb_check.h"
#include "service/service_client.h"
#include <inttypes.h>
#include <string.h>

static const char check_name[] = "node";

/* What firmware says of the subnet manager is a finding. */
static bool has_vfs(struct oneib_findings *findings)
{
    oneib_auto(oneib_hcas_clear) struct oneib_hcas hcas = {0};
    struct oneib_error unread;
    bool any = false;
    if (oneib_hcas_read(ONEIB_HCA_VFS | ONEIB_HCA_FIRMWARE, &hcas, &unread) < 0)
        return false;
    for (size_t i = 0; i < hcas.count; i++)
        any = any || hcas.items[i].vf_count > 0;
    oneib_firmware_note_sm(&hcas, findings);
    return any;
}

static void check_virtual_ports(const struct oneib_findings *unserved, uint32_t unseen,
                                struct oneib_checks *checks)
{
    for (size_t i = 0; i < unserved->count; i++)
        oneib_check_add(checks, ONEIB_CHECK_WARN, unserved->items[i].code, unserved->items[i].fix,
                        "%s", unserved->items[i].text);
    if (unserved->count == 0 && unseen > 0)
        oneib_check_add(
            checks, ONEIB_CHECK_WARN, oneib_finding_code(ONEIB_FINDING_VIRTUAL_PORTS_UNREAD),
            "ask the subnet manager what these virtual ports hold",
            "what %" PRIu32 " open virtual functions of mlx5 hold cannot be read here", unseen);
}

/* Whoever cannot ask libvirt is told of that only where the operator wants cores to be kept. */
static void check_cores(struct oneib_checks *checks)
{
    oneib_autoconfig struct oneib_config config;
    struct oneib_error err = {0};
    oneib_autotext struct oneib_text lines = {0};
    const bool are_kept =
        oneib_node_config(&config, &err) == 0 && config.node.hpc_cores != ONEIB_HPC_CORES_SHARED;
    if (oneib_cores_look(&lines, &err) < 0) {
        if (are_kept)
            oneib_check_add(checks, ONEIB_CHECK_WARN, oneib_finding_code(ONEIB_FINDING_HPC_CORES),
                            "run it as root or oneadmin",
                            "which VMs run on cores of VMs with IB_HPC is unknown: %s", err.text);
        return;
    }
    if (lines.length == 0)
        return;
    lines.data[strcspn(lines.data, "\n")] = '\0';
    oneib_check_add(checks, ONEIB_CHECK_WARN, oneib_finding_code(ONEIB_FINDING_HPC_CORES),
                    "see node.hpc_cores in oneib.conf(5): such VMs can be kept off, or refused",
                    "VMs with IB_HPC share cores: %s", lines.data);
}

void oneib_check_node(struct oneib_checks *checks)
{
    oneib_autoservicelist struct oneib_service_list list = {0};
    oneib_autofindings struct oneib_findings unserved = {0};
    struct oneib_error err = {0};
    if (!has_vfs(&unserved))
        return;
    const bool is_known = oneib_client_list(&list, &err) == 0;
    if (!is_known && err.code == ONEIB_ERROR_REFUSED)
        oneib_check_add(checks, ONEIB_CHECK_WARN, check_name,
                        "try again; 'ss -xp' as root says who holds connections to its sockets in "
                        "/run/oneib",
                        "what oneib-node does here is unknown: %s", err.text);
    else if (!is_known)
        oneib_check_add(checks, ONEIB_CHECK_FAIL, check_name,
                        "as root: systemctl start oneib-node; journalctl -u oneib-node says why "
                        "it ended",
                        "no VM gets a virtual function here: %s", err.text);
    else if (!list.domains_known)
        oneib_check_add(checks, ONEIB_CHECK_FAIL, check_name,
                        "see that libvirtd runs, and that node.libvirt in the configuration names "
                        "it",
                        "no VM gets a new virtual function here: %s", list.why.text);
    else if (list.stale.code != ONEIB_ERROR_NONE)
        oneib_check_add(checks, ONEIB_CHECK_FAIL, check_name,
                        "see that oneibd runs, and that this host reaches its port",
                        "no VM gets a new virtual function here: %s", list.stale.text);
    else
        oneib_check_add(checks, ONEIB_CHECK_OK, check_name, NULL,
                        "oneib-node answers: %zu virtual functions are given, %zu domains",
                        list.table.count, list.domains.count);
    check_virtual_ports(&unserved, list.follows.unseen, checks);
    check_cores(checks);
}
