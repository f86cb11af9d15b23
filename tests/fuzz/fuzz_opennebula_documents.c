// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as a document of oned. The first byte selects the reader. What was read must be sound
 * whatever the document: a broken promise of cluster/cloud.h aborts.
 */
#include "opennebula/documents.h"
#include "opennebula/documents_internal.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool promise)
{
    if (!promise)
        abort();
}

static void check_networks(const struct oneib_cloud *cloud)
{
    for (size_t i = 0; i < cloud->network_count; i++) {
        const struct oneib_network *network = &cloud->networks[i];
        require(network->name != NULL);
        require(network->id <= ONEIB_ID_MAX);
        require(memchr(network->device, '\0', sizeof network->device) != NULL);
        require(network->membership == ONEIB_FULL || network->membership == ONEIB_LIMITED);
        require(network->key_state != ONEIB_KEY_VALID ||
                (network->pkey >= ONEIB_PKEY_FIRST && network->pkey <= ONEIB_PKEY_LAST));
        for (size_t k = 0; k < network->static_count; k++)
            require(network->static_members[k].guid != 0);
    }
}

static void check_hosts(const struct oneib_cloud *cloud)
{
    for (size_t i = 0; i < cloud->host_count; i++) {
        require(cloud->hosts[i].name != NULL);
        for (size_t k = 0; k < cloud->hosts[i].port_count; k++) {
            const struct oneib_hca_port *port = &cloud->hosts[i].ports[k];
            require(port->port_guid != 0);
            require(port->port >= 1 && port->port <= 254);
            require(strlen(port->device) >= 1 && strlen(port->device) < sizeof port->device);
        }
    }
}

static void check_attachments(const struct oneib_cloud *cloud)
{
    for (size_t i = 0; i < cloud->attachment_count; i++) {
        const struct oneib_attachment *attachment = &cloud->attachments[i];
        require(attachment->vm_id <= ONEIB_ID_MAX);
        require(attachment->phase <= ONEIB_PHASE_UNKNOWN);
        require(attachment->source_host_id == ONEIB_NO_ID || attachment->phase == ONEIB_MIGRATING);
        for (size_t k = 0; k < i; k++)
            require(cloud->attachments[k].vm_id != attachment->vm_id ||
                    cloud->attachments[k].nic_id != attachment->nic_id);
    }
}

static void read_document(struct oneib_documents *documents, unsigned reader, const char *xml,
                          size_t length)
{
    struct oneib_error err = {0};
    enum oneib_key_state state;
    oneib_pkey pkey;
    int outcome;
    switch (reader % 4) {
    case 0:
        outcome = oneib_documents_read_vms(documents, xml, length, &err);
        break;
    case 1:
        outcome = oneib_documents_read_networks(documents, xml, length, &err);
        break;
    case 2:
        outcome = oneib_documents_read_hosts(documents, xml, length, &err);
        break;
    default:
        outcome = oneib_document_network_key(xml, length, &state, &pkey, &err);
        break;
    }
    require((outcome < 0) == (err.code != ONEIB_ERROR_NONE));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct oneib_cloud cloud = {0};
    struct oneib_findings findings = {0};
    struct oneib_documents documents = {.cloud = &cloud, .findings = &findings, .vn_mad = "ibrec"};
    if (size == 0)
        return 0;

    /* A copy of its own, so that reading beyond its end is seen. */
    size_t length = size - 1;
    char *xml = malloc(length > 0 ? length : 1);
    if (!xml)
        return 0;
    memcpy(xml, data + 1, length);
    read_document(&documents, data[0], xml, length);
    free(xml);

    oneib_cloud_sort(&cloud);
    check_networks(&cloud);
    check_hosts(&cloud);
    check_attachments(&cloud);
    oneib_documents_clear(&documents);
    oneib_cloud_clear(&cloud);
    oneib_findings_clear(&findings);
    return 0;
}
