// SPDX-License-Identifier: Apache-2.0
/* What the ledger says of fenced hosts: for people. */
#include "cluster/fence.h"
#include "cluster/names.h"
#include <inttypes.h>
#include <stdio.h>

/* What is wrong with a port, in findings and on the command line alike. */
struct trouble {
    enum oneib_finding_id finding;
    const char *why;
};

static const struct trouble troubles[] = {
    [ONEIB_FENCE_ASKED] = {ONEIB_FINDING_FENCE_WAITS, "oneibd has not examined it yet"},
    [ONEIB_FENCE_GONE] = {ONEIB_FINDING_FENCE_PORT_GONE,
                          "it is not on the fabric, and its switch port is unknown"},
    [ONEIB_FENCE_UP] = {ONEIB_FINDING_FENCE_OPEN, "its switch's port does not stay disabled"},
    [ONEIB_FENCE_SILENT] = {ONEIB_FINDING_FENCE_OPEN, "its switch's port does not answer"},
    [ONEIB_FENCE_SHARED] = {ONEIB_FINDING_FENCE_PORT_SHARED,
                            "another host reports it too, and must not be cut off"},
    [ONEIB_FENCE_DOUBLED] = {ONEIB_FINDING_FENCE_PORT_DOUBLED,
                             "it is seen at two places of the fabric"},
    [ONEIB_FENCE_BARRED] =
        {ONEIB_FINDING_FENCE_PORT_BARRED,
         "it is the master subnet manager's, a static member's, a full member of "
         "the default partition, or in a partition of the operator's and in no "
         "cluster"},
    [ONEIB_FENCE_UNPROVEN] = {ONEIB_FINDING_FENCE_PORT_UNPROVEN,
                              "only IB_HCA of the host names it, which can be forged; its "
                              "oneib-node has never reported it"},
};

static void report_port(const struct oneib_cloud *cloud,
                        const struct oneib_ledger_fenced_port *port,
                        struct oneib_findings *findings)
{
    if (oneib_fence_is_closed(port->state))
        return;
    const struct trouble *trouble = &troubles[port->state];
    oneib_findings_mention(findings, ONEIB_SUBJECT_HOST, port->host_id);
    oneib_findings_note(findings, trouble->finding,
                        "%s is fenced, and its port 0x%016" PRIx64 " is not closed: %s",
                        oneib_host_id_shown(cloud, port->host_id).text, port->guid, trouble->why);
}

struct oneib_shown oneib_fence_advice(const struct oneib_ledger_fence *fence)
{
    struct oneib_shown shown = {""};
    switch (fence->wish) {
    case ONEIB_FENCE_CLOSED:
        snprintf(shown.text, sizeof shown.text,
                 "when it works again and its earlier VMs have ended: 'oneib unfence %" PRIu32 "'",
                 fence->host_id);
        break;
    case ONEIB_FENCE_LIFT:
        snprintf(shown.text, sizeof shown.text,
                 "'oneib unfence' waits until its oneib-node reports that no VM has a VF: see that "
                 "it runs there, and end the VMs from before the fence ('virsh list')");
        break;
    case ONEIB_FENCE_FORCED:
        snprintf(shown.text, sizeof shown.text,
                 "'oneib unfence --force' waits for oneibd: see that it runs beside the master "
                 "subnet manager");
        break;
    }
    return shown;
}

static void report_host(const struct oneib_cloud *cloud, const struct oneib_ledger_fence *fence,
                        struct oneib_findings *findings)
{
    oneib_findings_mention(findings, ONEIB_SUBJECT_HOST, fence->host_id);
    oneib_findings_note_with(
        findings, ONEIB_FINDING_HOST_FENCED, oneib_finding_severity(ONEIB_FINDING_HOST_FENCED),
        oneib_fence_advice(fence).text, "%s is fenced: no VM on it is a member of any cluster",
        oneib_host_id_shown(cloud, fence->host_id).text);
}

void oneib_fence_report(const struct oneib_cloud *cloud, const struct oneib_ledger *ledger,
                        struct oneib_findings *findings)
{
    for (size_t i = 0; i < ledger->fence_count; i++)
        report_host(cloud, &ledger->fences[i], findings);
    for (size_t i = 0; i < ledger->fenced_port_count; i++)
        report_port(cloud, &ledger->fenced_ports[i], findings);
}
