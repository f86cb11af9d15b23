// SPDX-License-Identifier: Apache-2.0
/* What the ledger says of fenced hosts: for people. */
#include "cluster/fence.h"
#include "cluster/names.h"
#include <inttypes.h>

/* What is wrong with a port, in findings and on the command line alike. */
struct trouble {
    enum oneib_severity severity;
    const char *code, *fix, *why;
};

static const struct trouble troubles[] = {
    [ONEIB_FENCE_ASKED] = {ONEIB_WARNING, "fence-waits",
                           "see that oneibd runs beside the master subnet manager",
                           "nobody has looked at it yet"},
    [ONEIB_FENCE_GONE] = {ONEIB_WARNING, "fence-port-gone",
                          "see that the host has no power, or pull its cable, before you start its "
                          "VMs elsewhere by hand; is it back on the fabric, it is closed by itself",
                          "it is not on the fabric, and where it would be linked nobody knows"},
    [ONEIB_FENCE_UP] = {ONEIB_VIOLATION, "fence-open",
                        "look at the switch, and pull the cable; only then start the host's VMs "
                        "elsewhere",
                        "its switch's port does not stay disabled"},
    [ONEIB_FENCE_SILENT] = {ONEIB_VIOLATION, "fence-open",
                            "look at the switch, and pull the cable; only then start the host's "
                            "VMs elsewhere",
                            "its switch's port does not answer"},
    [ONEIB_FENCE_SHARED] =
        {ONEIB_WARNING, "fence-port-shared",
         "see which of the hosts has the adapter, have the ports of the other one "
         "asked for anew (oneib host accept), and fence again",
         "another host reports it too, and must not be cut off"},
    [ONEIB_FENCE_DOUBLED] = {ONEIB_WARNING, "fence-port-doubled",
                             "see which of the two is the host's, pull the other's cable, and "
                             "fence again",
                             "it is seen at two places of the fabric"},
    [ONEIB_FENCE_BARRED] =
        {ONEIB_WARNING, "fence-port-barred",
         "see whether the port is the host's at all; if so, pull its cable",
         "it is the master subnet manager's, a static member's, a full member of the default "
         "partition, or in a partition of the operator's and in no cluster"},
    [ONEIB_FENCE_UNPROVEN] = {ONEIB_WARNING, "fence-port-unproven",
                              "see whether the host has such a port at all; if so, pull its cable, "
                              "if not, remove IB_HCA from the host",
                              "only IB_HCA of the host names it, which monitoring may have been "
                              "told by anybody; its oneib-node has never reported it"},
};

static void report_port(const struct oneib_cloud *cloud,
                        const struct oneib_ledger_fenced_port *port,
                        struct oneib_findings *findings)
{
    if (oneib_fence_is_closed(port->state))
        return;
    const struct trouble *trouble = &troubles[port->state];
    oneib_findings_mention(findings, ONEIB_SUBJECT_HOST, port->host_id);
    oneib_findings_note(findings, trouble->severity, trouble->code, trouble->fix,
                        "%s is fenced, and its port 0x%016" PRIx64 " is not closed: %s",
                        oneib_host_id_shown(cloud, port->host_id).text, port->guid, trouble->why);
}

static void report_host(const struct oneib_cloud *cloud, const struct oneib_ledger_fence *fence,
                        struct oneib_findings *findings)
{
    oneib_findings_mention(findings, ONEIB_SUBJECT_HOST, fence->host_id);
    oneib_findings_note(findings, ONEIB_NOTICE, "host-fenced",
                        "when it is well again: oneib unfence, on the front-end as oneadmin",
                        "%s is fenced: no VM on it is a member of any cluster%s",
                        oneib_host_id_shown(cloud, fence->host_id).text,
                        fence->wish == ONEIB_FENCE_LIFT
                            ? "; that is lifted once its oneib-node has reported an empty table"
                            : "");
}

void oneib_fence_report(const struct oneib_cloud *cloud, const struct oneib_ledger *ledger,
                        struct oneib_findings *findings)
{
    for (size_t i = 0; i < ledger->fence_count; i++)
        report_host(cloud, &ledger->fences[i], findings);
    for (size_t i = 0; i < ledger->fenced_port_count; i++)
        report_port(cloud, &ledger->fenced_ports[i], findings);
}
