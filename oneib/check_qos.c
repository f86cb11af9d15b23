// SPDX-License-Identifier: Apache-2.0
/* What `oneib check` finds out about traffic classes: whether opensm is told of them. What ports do
 * is asked by `oneib verify`. */
#include "base/cleanup.h"
#include "base/file.h"
#include "fabric/opensm_process.h"
#include "oneib/verb_check.h"
#include "partitions/qos_options.h"
#include "placement/links_file.h"
#include "sync/classes.h"
#include <time.h>

#define CONFIG_MAX ((size_t)1 << 20)

static const char name[] = "qos";

static void compare(const struct oneib_qos *qos, const char *path, struct oneib_checks *checks)
{
    struct oneib_error err;
    oneib_autofree char *text = NULL;
    oneib_autotext struct oneib_text names = {0};
    size_t length = 0;
    if (oneib_file_read(path, CONFIG_MAX, &text, &length, &err) < 0 &&
        err.code != ONEIB_ERROR_NOT_FOUND) {
        oneib_check_add(checks, ONEIB_CHECK_WARN, name, "run this as root", "%s", err.text);
        return;
    }
    const size_t count = oneib_qos_options_differ(qos, text ? text : "", length, &names);
    if (count == 0)
        oneib_check_add(checks, ONEIB_CHECK_OK, name, NULL, "%s has the lines of 'oneib qos'",
                        path);
    else
        oneib_check_add(checks, ONEIB_CHECK_WARN, name,
                        "put the lines that 'oneib qos' prints into it, on every subnet manager's "
                        "host, and send opensm SIGHUP",
                        "%s is not as the classes need it: %s", path, names.data ? names.data : "");
}

static void check_classes(const struct oneib_config *config, const struct oneib_classes *classes,
                          const char *path, struct oneib_checks *checks)
{
    struct oneib_error err;
    struct oneib_qos qos;
    if (oneib_classes_plan(config, classes, &qos, &err) < 0)
        oneib_check_add(checks, ONEIB_CHECK_FAIL, name, "see what 'oneib qos' says", "%s",
                        err.text);
    else
        compare(&qos, path, checks);
}

void oneib_check_qos(const struct oneib_config *config, struct oneib_checks *checks)
{
    struct oneib_error ignored;
    struct oneib_classes classes;
    oneib_autosetup struct oneib_opensm_setup setup = {0};
    if (oneib_classes_read(config, &classes, &ignored) == 0 && classes.count > 0 &&
        oneib_opensm_setup_find(config, &setup))
        check_classes(config, &classes, setup.config, checks);
}

void oneib_check_links(const struct oneib_config *config, struct oneib_checks *checks)
{
    static const char check[] = "links";
    struct oneib_error err;
    oneib_autolinks struct oneib_links links = {0};
    const char *path = config->qos.links_file;
    if (!path)
        return;
    if (oneib_links_load(path, time(NULL), &links, &err) < 0)
        oneib_check_add(checks, ONEIB_CHECK_WARN, check,
                        "the oneibd of the master subnet manager writes it every 5 s, for the "
                        "scheduler on the same machine: run both here, with this key; until then "
                        "OpenNebula alone places VMs",
                        "%s", err.text);
    else
        oneib_check_add(checks, ONEIB_CHECK_OK, check, NULL,
                        "%s: links of %zu clusters, for the scheduler", path, links.cluster_count);
}
