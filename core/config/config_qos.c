// SPDX-License-Identifier: Apache-2.0
#include "config/config_qos.h"
#include "ib/qos_class.h"
#include <string.h>

static bool is_in(char *const *classes, size_t count, const char *name)
{
    struct oneib_qos_class qos_class;
    for (size_t i = 0; i < count; i++)
        if (!oneib_qos_class_parse(classes[i], &qos_class) && strcmp(qos_class.name, name) == 0)
            return true;
    return false;
}

/* Each class has been parsed once already. */
static bool check_classes(char *const *classes, size_t *count, unsigned *sls,
                          struct oneib_text *what)
{
    for (*count = 0; classes[*count]; ++*count) {
        struct oneib_qos_class qos_class;
        (void)oneib_qos_class_parse(classes[*count], &qos_class);
        if (is_in(classes, *count, qos_class.name)) {
            oneib_text_printf(what, "must define class %s once", qos_class.name);
            return false;
        }
        if (*sls & qos_class.sls) {
            oneib_text_printf(what, "must give each SL to one class: SL %d is %s's and another's",
                              __builtin_ctz(*sls & qos_class.sls), qos_class.name);
            return false;
        }
        *sls |= qos_class.sls;
    }
    return true;
}

static const char *check_default(const struct oneib_config *config, size_t count,
                                 struct oneib_text *what)
{
    const char *name = config->qos.default_class;
    if (!name || is_in(config->qos.classes, count, name))
        return NULL;
    oneib_text_append(what, "must be one of qos.classes, and none of these has that name");
    return "qos.default_class";
}

static bool check_policy(const struct oneib_config *config, size_t classes, struct oneib_text *what)
{
    const char *path = config->opensm.qos_policy;
    if (classes == 0)
        oneib_text_append(what, "is for clusters with service levels: define qos.classes, too");
    else if (config->sm.kind == ONEIB_SM_UFM)
        oneib_text_append(what, "is a file of opensm's, and UFM reads none: remove it, or set "
                                "sm.kind to \"opensm\" or \"nvidia-opensm\"");
    else if (strcmp(path, config->opensm.partitions) == 0 ||
             strcmp(path, config->opensm.static_partitions) == 0)
        oneib_text_append(what, "must be a file of its own, neither opensm.partitions nor "
                                "opensm.static_partitions");
    else
        return true;
    return false;
}

static bool is_opensms(const struct oneib_config *config, const char *path)
{
    return strcmp(path, config->opensm.partitions) == 0 ||
           strcmp(path, config->opensm.static_partitions) == 0 ||
           (config->opensm.qos_policy && strcmp(path, config->opensm.qos_policy) == 0);
}

static const char *check_links(const struct oneib_config *config, size_t classes,
                               struct oneib_text *what)
{
    const char *path = config->qos.links_file;
    if (path && classes == 0) {
        oneib_text_append(what, "is of clusters with service levels: define qos.classes, too");
        return "qos.links_file";
    }
    if (path && is_opensms(config, path)) {
        oneib_text_append(what, "must be a file of its own, none of opensm's");
        return "qos.links_file";
    }
    if (config->qos.exclusive && !path) {
        oneib_text_append(what, "needs qos.links_file, from which the placer knows of links");
        return "qos.exclusive";
    }
    return NULL;
}

const char *oneib_config_qos_check(const struct oneib_config *config, struct oneib_text *what)
{
    char *none[] = {NULL};
    size_t count;
    unsigned sls = 0;
    if (!check_classes(config->qos.classes ? config->qos.classes : none, &count, &sls, what))
        return "qos.classes";

    /* SL 0 has one too. */
    const unsigned lanes = 1 + (unsigned)__builtin_popcount(sls);
    if (lanes > config->qos.vls) {
        oneib_text_printf(what,
                          "have %u SLs, with SL 0, and each needs a lane of its own: there are %u "
                          "(qos.vls)",
                          lanes, config->qos.vls);
        return "qos.classes";
    }
    if (lanes > config->qos.entries) {
        oneib_text_printf(what, "must be at least %u, one for each lane", lanes);
        return "qos.entries";
    }
    if (config->opensm.qos_policy && !check_policy(config, count, what))
        return "opensm.qos_policy";
    const char *fault = check_links(config, count, what);
    return fault ? fault : check_default(config, count, what);
}
