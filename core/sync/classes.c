// SPDX-License-Identifier: Apache-2.0
#include "sync/classes.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "sync/keys.h"
#include <inttypes.h>

#define PARTITIONS_MAX_SIZE ((size_t)256 << 20)

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
        .policy_file = config->opensm.qos_policy,
    };
}

uint16_t oneib_levels_in(const struct oneib_partition_table *table)
{
    unsigned levels = 0;
    for (size_t i = 0; i < table->count; i++)
        levels |= 1u << (table->items[i].sl & (ONEIB_QOS_SLS - 1));
    return (uint16_t)levels;
}

/* SLs that groups have must not be dropped. A file that is not there has none. */
static int read_levels(const char *path, uint16_t *levels, struct oneib_error *err)
{
    oneib_autofree char *data = NULL;
    size_t length;
    struct oneib_error failure;
    oneib_autopartitions struct oneib_partition_table table = {0};
    *levels = 0;
    if (oneib_file_read(path, PARTITIONS_MAX_SIZE, &data, &length, &failure) < 0) {
        if (failure.code == ONEIB_ERROR_NOT_FOUND)
            return 0;
        *err = failure;
        return oneib_wrap(err, "finding out which SLs are in use (qos.drop_unused)");
    }
    if (oneib_partitions_parse(data, length, path, &table, err) < 0)
        return oneib_wrap(err, "finding out which SLs are in use (qos.drop_unused)");
    *levels = oneib_levels_in(&table);
    return 0;
}

int oneib_classes_plan(const struct oneib_config *config, const struct oneib_classes *classes,
                       struct oneib_qos *qos, struct oneib_error *err)
{
    struct oneib_qos_wish wish = oneib_classes_wish(config, classes);
    if (wish.drop_unused && read_levels(config->opensm.partitions, &wish.kept, err) < 0)
        return -1;
    return oneib_qos_make(&wish, qos, err);
}

int oneib_shown_level(struct oneib_one *one, uint32_t network_id, const char *vn_mad, uint8_t *sl,
                      struct oneib_error *err)
{
    oneib_autocloud struct oneib_cloud cloud = {0};
    *sl = 0;
    if (oneib_read_network_alone(one, network_id, vn_mad, &cloud, err) < 0)
        return -1;
    const struct oneib_network *network = oneib_cloud_network(&cloud, network_id);
    if (!network)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                          "network %" PRIu32 " is no InfiniBand network", network_id);
    *sl = network->shown_sl;
    return 0;
}
