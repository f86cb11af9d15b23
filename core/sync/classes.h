// SPDX-License-Identifier: Apache-2.0
/* The operator's classes, from the configuration to the model. */
#ifndef ONEIB_SYNC_CLASSES_H
#define ONEIB_SYNC_CLASSES_H

#include "config/config.h"
#include "opennebula/one_client.h"
#include "partitions/partition.h"
#include "partitions/qos.h"

struct oneib_classes {
    struct oneib_qos_class items[ONEIB_QOS_SLS - 1]; /* each has an SL of its own, and SL 0 is
                                                        nobody's */
    size_t count;                                    /* 0: there is no quality of service */
};

/* CONFIG: the configuration was not checked (config/config.h does that when it is loaded). */
int oneib_classes_read(const struct oneib_config *config, struct oneib_classes *classes,
                       struct oneib_error *err);
/* Borrows the classes. No SL is kept: that is known to who has looked. */
struct oneib_qos_wish oneib_classes_wish(const struct oneib_config *config,
                                         const struct oneib_classes *classes);

/* Lanes and tables of the classes. With qos.drop_unused the file in force is read: its SLs are
 * kept. */
int oneib_classes_plan(const struct oneib_config *config, const struct oneib_classes *classes,
                       struct oneib_qos *qos, struct oneib_error *err);

/* The SLs of partitions, bit n: SL n. Those of the file in force are groups' already. */
uint16_t oneib_levels_in(const struct oneib_partition_table *table);
/* What oned shows of a network now as IB_SL: 1-15, 0: nothing, ONEIB_SL_INVALID. NOT_FOUND: it is
 * no InfiniBand network. */
int oneib_shown_level(struct oneib_one *one, uint32_t network_id, const char *vn_mad, uint8_t *sl,
                      struct oneib_error *err);

#endif
