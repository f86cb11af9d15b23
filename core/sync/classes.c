// SPDX-License-Identifier: Apache-2.0
#include "sync/classes.h"

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
