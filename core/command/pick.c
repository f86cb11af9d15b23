// SPDX-License-Identifier: Apache-2.0
#include "command/pick.h"
#include "command/command_owner.h"
#include "command/output.h"
#include <string.h>

/* Of several networks with one name. */
#define NETWORKS_NAMED 8

/* ---- which one ------------------------------------------------------------------------------- */

static int refuse_ambiguous(const struct oneib_cloud *cloud, const char *name, size_t count,
                            struct oneib_error *err)
{
    oneib_autotext struct oneib_text shown = {0}, list = {0};
    size_t listed = 0;
    oneib_append_quoted(&shown, name);
    for (size_t i = 0; i < cloud->network_count && listed < NETWORKS_NAMED; i++) {
        if (strcmp(cloud->networks[i].name, name) != 0)
            continue;
        oneib_text_printf(&list, "%s%u (", listed++ ? ", " : "", cloud->networks[i].id);
        oneib_append_owner(&list, &cloud->networks[i]);
        oneib_text_append(&list, ")");
    }
    if (count > listed)
        oneib_text_printf(&list, " and %zu more", count - listed);
    return oneib_fail(err, ONEIB_ERROR_INPUT,
                      "%zu networks are called %s: %s; say by its id which one", count, shown.data,
                      list.data);
}

static int refuse_unknown(const char *name, struct oneib_error *err)
{
    oneib_autotext struct oneib_text shown = {0};
    oneib_append_quoted(&shown, name);
    return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                      "no InfiniBand network is called %s; 'oneib list' shows those there are",
                      shown.data);
}

int oneib_pick_network(const struct oneib_cloud *cloud, const char *name, uint32_t *id,
                       struct oneib_error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < cloud->network_count; i++) {
        if (strcmp(cloud->networks[i].name, name) != 0)
            continue;
        *id = cloud->networks[i].id;
        count++;
    }
    if (count > 1)
        return refuse_ambiguous(cloud, name, count, err);
    return count == 1 ? 0 : refuse_unknown(name, err);
}

/* ---- its own findings ------------------------------------------------------------------------ */

bool oneib_finding_names_any(const struct oneib_finding *finding, enum oneib_subject subject)
{
    for (size_t i = 0; i < finding->mention_count; i++)
        if (finding->mentions[i].subject == subject)
            return true;
    return finding->subject == subject;
}

static bool is_about_a_network_of(const struct oneib_finding *finding,
                                  const struct oneib_desired *desired,
                                  const struct oneib_cluster *cluster)
{
    if (oneib_finding_is_about(finding, ONEIB_SUBJECT_NETWORK, cluster->network_id))
        return true;
    for (size_t i = 0; i < desired->sharer_count; i++)
        if (desired->sharers[i].cluster_id == cluster->network_id &&
            oneib_finding_is_about(finding, ONEIB_SUBJECT_NETWORK, desired->sharers[i].network_id))
            return true;
    return false;
}

static bool is_about_a_vm_of(const struct oneib_finding *finding,
                             const struct oneib_snapshot *snapshot,
                             const struct oneib_cluster *cluster)
{
    for (size_t i = 0; i < cluster->attachment_count; i++)
        if (oneib_finding_is_about(finding, ONEIB_SUBJECT_VM,
                                   snapshot->cloud.attachments[cluster->attachments[i]].vm_id))
            return true;
    return false;
}

/* A host's own trouble is a cluster's where its VMs get nothing there. */
static bool is_about_a_host_of(const struct oneib_finding *finding,
                               const struct oneib_snapshot *snapshot,
                               const struct oneib_cluster *cluster)
{
    for (size_t i = 0; i < cluster->attachment_count; i++) {
        const size_t index = cluster->attachments[i];
        if (oneib_member_status_is_refusal(
                (enum oneib_member_status)snapshot->desired.member_statuses[index]) &&
            oneib_finding_is_about(finding, ONEIB_SUBJECT_HOST,
                                   snapshot->cloud.attachments[index].host_id))
            return true;
    }
    return false;
}

struct subject {
    const struct oneib_snapshot *snapshot;
    const struct oneib_cluster *cluster;
};

/* A finding that names networks is theirs, one that names VMs and no network theirs, else the
 * hosts'. */
static bool is_its_own(const struct oneib_finding *finding, const void *context)
{
    const struct subject *subject = context;
    const struct oneib_snapshot *snapshot = subject->snapshot;
    const struct oneib_cluster *cluster = subject->cluster;
    if (oneib_finding_names_any(finding, ONEIB_SUBJECT_NETWORK))
        return is_about_a_network_of(finding, &snapshot->desired, cluster);
    if (oneib_finding_names_any(finding, ONEIB_SUBJECT_VM))
        return is_about_a_vm_of(finding, snapshot, cluster);
    return is_about_a_host_of(finding, snapshot, cluster);
}

void oneib_keep_findings_of(const struct oneib_snapshot *snapshot,
                            const struct oneib_cluster *cluster, struct oneib_findings *findings)
{
    const struct subject subject = {snapshot, cluster};
    oneib_findings_keep(findings, is_its_own, &subject);
}
