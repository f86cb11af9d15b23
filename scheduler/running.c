// SPDX-License-Identifier: Apache-2.0
#include "scheduler/running.h"
#include "base/cleanup.h"
#include "base/finding.h"
#include "opennebula/documents.h"
#include "scheduler/vm_sets.h"
#include <inttypes.h>
#include <stdio.h>

struct work {
    struct oneib_one *one;
    const struct oneib_sched_message *message;
    struct oneib_documents documents;
    struct oneib_findings findings; /* oneibd says what is odd: here they are dropped */
    struct oneib_id_set hosts;      /* asked for */
};

/* Its owner's text has spoilt it: nobody is known to run there. */
static void leave_out(uint32_t id, const struct oneib_error *err)
{
    fprintf(stderr, "oneib: network %" PRIu32 " cannot be read, and keeps nobody near: %s\n", id,
            err->text);
}

static int read_network(struct work *work, uint32_t id, struct oneib_error *err)
{
    oneib_autofree char *xml = NULL;
    size_t length;
    if (oneib_one_network(work->one, id, &xml, &length, err) < 0)
        return err->code == ONEIB_ERROR_NOT_FOUND ? 0 : -1;
    if (oneib_documents_read_networks(&work->documents, xml, length, err) == 0)
        return 0;
    if (!work->documents.malformed)
        return -1;
    leave_out(id, err);
    return 0;
}

static int take_vms(void *context, const char *xml, size_t length, uint32_t first, uint32_t last,
                    struct oneib_error *err)
{
    struct oneib_documents *documents = context;
    documents->vms_wanted.bounded = true;
    documents->vms_wanted.first = first;
    documents->vms_wanted.last = last;
    return oneib_documents_read_vms(documents, xml, length, err);
}

static int read_vms(struct work *work, struct oneib_error *err)
{
    struct oneib_id_set *named = &work->documents.vms_named;
    oneib_id_set_sort(named);
    return oneib_vm_sets_read(work->one, named->items, named->count, take_vms, &work->documents,
                              err);
}

static int read_host(struct work *work, uint32_t id, struct oneib_error *err)
{
    oneib_autofree char *xml = NULL;
    size_t length;
    if (oneib_one_host(work->one, id, &xml, &length, err) == 0)
        return oneib_documents_read_hosts(&work->documents, xml, length, err);
    return err->code == ONEIB_ERROR_NOT_FOUND ? 0 : -1;
}

/* A full one is in no message: nobody fits there. */
static int read_hosts(struct work *work, struct oneib_error *err)
{
    const struct oneib_cloud *cloud = work->documents.cloud;
    for (size_t i = 0; i < cloud->attachment_count; i++) {
        const struct oneib_attachment *nic = &cloud->attachments[i];
        if (oneib_phase_has_place(nic->phase) && nic->host_id != ONEIB_NO_ID &&
            !oneib_cloud_host(&work->message->cloud, nic->host_id))
            oneib_id_set_add(&work->hosts, nic->host_id);
    }
    oneib_id_set_sort(&work->hosts);
    for (size_t i = 0; i < work->hosts.count; i++)
        if (read_host(work, work->hosts.items[i], err) < 0)
            return -1;
    return 0;
}

static int read_all(struct work *work, const struct oneib_id_set *networks, struct oneib_error *err)
{
    for (size_t i = 0; i < networks->count; i++)
        if (networks->items[i] != ONEIB_NO_ID && read_network(work, networks->items[i], err) < 0)
            return -1;
    return read_vms(work, err) < 0 ? -1 : read_hosts(work, err);
}

int oneib_read_running(struct oneib_one *one, const char *vn_mad,
                       const struct oneib_sched_message *message,
                       const struct oneib_id_set *networks, struct oneib_cloud *cloud,
                       struct oneib_error *err)
{
    struct work work = {.one = one, .message = message};
    work.documents =
        (struct oneib_documents){.cloud = cloud, .findings = &work.findings, .vn_mad = vn_mad};
    *cloud = (struct oneib_cloud){0};
    const int status = read_all(&work, networks, err);
    oneib_id_set_clear(&work.hosts);
    oneib_documents_clear(&work.documents);
    oneib_findings_clear(&work.findings);
    oneib_cloud_sort(cloud);
    if (status < 0)
        oneib_cloud_clear(cloud);
    return status;
}
