// SPDX-License-Identifier: Apache-2.0
#include "sync/classes.h"
#include "base/cleanup.h"
#include "opennebula/documents.h"
#include <inttypes.h>

int oneib_classes_read(const struct oneib_config *config, struct oneib_classes *classes,
                       struct oneib_error *err)
{
    classes->count = 0;
    for (char *const *text = config->qos.classes; text && *text; text++) {
        if (classes->count == sizeof classes->items / sizeof *classes->items)
            return oneib_fail(err, ONEIB_ERROR_CONFIG, "qos.classes are too many");
        const char *fault = oneib_qos_class_parse(*text, &classes->items[classes->count]);
        if (fault)
            return oneib_fail(err, ONEIB_ERROR_CONFIG, "qos.classes %s", fault);
        classes->count++;
    }
    return 0;
}

struct oneib_qos_wish oneib_classes_wish(const struct oneib_config *config,
                                         const struct oneib_classes *classes)
{
    return (struct oneib_qos_wish){
        .classes = classes->items,
        .class_count = classes->count,
        .others = config->qos.others,
        .vls = config->qos.vls,
        .entries = config->qos.entries,
        .drop_unused = config->qos.drop_unused,
    };
}

uint16_t oneib_levels_in(const struct oneib_partition_table *table)
{
    unsigned levels = 0;
    for (size_t i = 0; i < table->count; i++)
        levels |= 1u << (table->items[i].sl & (ONEIB_QOS_SLS - 1));
    return (uint16_t)levels;
}

int oneib_shown_level(struct oneib_one *one, uint32_t network_id, const char *vn_mad, uint8_t *sl,
                      struct oneib_error *err)
{
    oneib_autofree char *xml = NULL;
    size_t length;
    struct oneib_cloud cloud = {0};
    struct oneib_findings findings = {0};
    struct oneib_documents documents = {.cloud = &cloud, .findings = &findings, .vn_mad = vn_mad};
    if (oneib_one_network(one, network_id, &xml, &length, err) < 0)
        return -1;
    int outcome = oneib_documents_read_networks(&documents, xml, length, err);
    const struct oneib_network *network =
        outcome == 0 ? oneib_cloud_network(&cloud, network_id) : NULL;
    if (outcome == 0 && !network)
        outcome = oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                             "network %" PRIu32 " is no InfiniBand network", network_id);
    *sl = network ? network->shown_sl : 0;
    oneib_documents_clear(&documents);
    oneib_findings_clear(&findings);
    oneib_cloud_clear(&cloud);
    return outcome;
}
