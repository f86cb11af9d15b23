// SPDX-License-Identifier: Apache-2.0
#include "hpc_cores.h"
#include "base/cleanup.h"
#include "base/exit.h"
#include "hca/place.h"
#include "node/host_cpus.h"
#include "vmm/cores_lock.h"
#include "vmm/keep_off.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int look(struct oneib_live *live, const struct oneib_host_cpus *host,
                struct oneib_error *err)
{
    oneib_autotext struct oneib_text lines = {0};
    if (oneib_tell_sharing(live, host, &lines, err) < 0)
        return -1;
    fputs(lines.data ? lines.data : "", stdout);
    return 0;
}

/* Whoever has the lock starts a VM, and does it when that is done. */
static int keep(struct oneib_live *live, const struct oneib_host_cpus *host,
                struct oneib_error *err)
{
    oneib_autotext struct oneib_text warnings = {0};
    oneib_autoclose int lock = -1;
    if (oneib_cores_lock(&lock, err) < 0)
        return -1;
    const int outcome = oneib_keep_off(live, host, &warnings, err);
    fputs(warnings.data ? warnings.data : "", stderr);
    return outcome;
}

static int act(const struct oneib_config *config, bool looks, struct oneib_error *err)
{
    oneib_autolive struct oneib_live *live = NULL;
    oneib_autocpus struct oneib_host_cpus host = {0};
    if (!looks && config->node.hpc_cores != ONEIB_HPC_CORES_KEEP_OFF)
        return 0;
    if (oneib_live_open(config->node.libvirt, &live, err) < 0 ||
        oneib_host_cpus_read(&host, err) < 0)
        return -1;
    return looks ? look(live, &host, err) : keep(live, &host, err);
}

int hpc_cores_main(int argc, char **argv)
{
    oneib_autoconfig struct oneib_config config = {0};
    struct oneib_error err = {0};
    const bool looks = argc == 2 && strcmp(argv[1], "--look") == 0;
    if (argc > 2 || (argc == 2 && !looks)) {
        fprintf(stderr, "usage: %s [--look]\n", argv[0]);
        return ONEIB_EXIT_USAGE;
    }
    if (oneib_node_config(&config, &err) == 0 && act(&config, looks, &err) == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, "%s\n", err.text);
    return EXIT_FAILURE;
}
