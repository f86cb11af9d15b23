// SPDX-License-Identifier: Apache-2.0
/*
 * The information driver's probe: what this host has, as lines of an OpenNebula template
 * (node/host_probe.h). Whatever is wrong with adapters, libvirt or oneib itself is told in
 * IB_PROBLEM; the exit status is 0 always, because another would make OpenNebula drop all that is
 * known of the host.
 */
#include "base/cleanup.h"
#include "base/file.h"
#include "grants/daemons.h"
#include "grants/seal.h"
#include "hca/attribute.h"
#include "hca/place.h"
#include "node/host_probe.h"
#include "node/inventory.h"
#include "node/start_cores.h"
#include "service/service_client.h"
#include <stdio.h>
#include <string.h>

#define PATH_SIZE 1024
#define DAEMONS_MAX 16384

static void add_problem(struct oneib_text *problem, const char *what)
{
    oneib_text_append(problem, problem->length ? "; " : "");
    oneib_text_append(problem, what);
}

/* What is merely worth knowing is for `oneib hca`. Whether this host is connected to oneibd changes
 * within seconds, the probe runs every ten minutes, and oneibd itself knows it at any time (`oneib
 * hosts`). */
static bool is_reported(const struct oneib_finding *finding)
{
    return finding->severity >= ONEIB_WARNING && strcmp(finding->code, "grants-stale") != 0;
}

static void add_findings(struct oneib_text *problem, const struct oneib_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (is_reported(&findings->items[i]))
            add_problem(problem, findings->items[i].text);
}

/* What oneib-node has written of itself; "" while it has not. */
static void read_node_key(char key[ONEIB_ATTRIBUTE_SIZE])
{
    char path[PATH_SIZE];
    struct oneib_error unread;
    uint8_t parsed[ONEIB_PUBLIC_KEY_SIZE];
    if (oneib_node_path(path, sizeof path, &unread, ONEIB_NODE_PUBLIC_FILE) < 0 ||
        oneib_attribute_read(path, key, ONEIB_ATTRIBUTE_SIZE, &unread) < 0 ||
        !oneib_key_parse(key, parsed))
        key[0] = '\0';
}

/* The daemons that oneibd has written into OpenNebula's remotes, for a service that knows none. One
 * that believes others refuses them, which is no fault of this host: root has said so. */
static void pass_daemons_on(const char *path, struct oneib_text *problem)
{
    oneib_autofree char *data = NULL;
    size_t length = 0;
    struct oneib_daemons daemons;
    struct oneib_error err = {0};
    if (oneib_file_read(path, DAEMONS_MAX, &data, &length, &err) < 0) {
        if (err.code != ONEIB_ERROR_NOT_FOUND)
            add_problem(problem, err.text);
        return;
    }
    if (oneib_daemons_parse(data, length, path, &daemons, &err) < 0) {
        add_problem(problem, err.text);
        return;
    }
    const struct oneib_request request = oneib_request_announcing(&daemons);
    if (daemons.count > 0 && oneib_client_announce(&request, &err) < 0)
        add_problem(problem, err.text);
}

/* What could not be looked at is left out, and said to be so. */
static void look(const struct oneib_config *config, struct oneib_text *problem,
                 struct oneib_text *text)
{
    oneib_auto(oneib_inventory_clear) struct oneib_inventory inventory;
    struct oneib_error err = {0};
    char node_key[ONEIB_ATTRIBUTE_SIZE];
    read_node_key(node_key);
    if (oneib_inventory_read(config, false, &inventory, &err) < 0) {
        inventory = (struct oneib_inventory){0};
        add_problem(problem, err.text);
    }
    add_findings(problem, &inventory.findings);
    oneib_probe_render(&inventory.hcas, config, inventory.service_known, node_key, problem->data,
                       text);
}

/* FILE: etc/oneib/daemons of OpenNebula's remotes. */
int main(int argc, char **argv)
{
    oneib_autoconfig struct oneib_config config = {0};
    struct oneib_error err;
    oneib_autotext struct oneib_text problem = {0}, text = {0};
    const bool is_configured = oneib_node_config(&config, &err) == 0;
    if (!is_configured)
        add_problem(&problem, err.text);
    if (argc == 2)
        pass_daemons_on(argv[1], &problem);
    if (!is_configured)
        oneib_config_defaults(&config);
    look(&config, &problem, &text);
    if (text.data)
        fputs(text.data, stdout);
    if (is_configured && config.node.hpc_cores == ONEIB_HPC_CORES_KEEP_OFF)
        oneib_cores_start_keeping();
    return 0;
}
