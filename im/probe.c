// SPDX-License-Identifier: Apache-2.0
/*
 * The information driver's probe: what this host has, as lines of an OpenNebula template
 * (node/probe.h). Whatever is wrong with adapters, libvirt or oneib itself is told in IB_PROBLEM;
 * the exit status is 0 always, because another would make OpenNebula drop all that is known of the
 * host.
 */
#include "node/probe.h"
#include "hca/place.h"
#include "node/inventory.h"
#include <stdio.h>

static void add_problem(struct oneib_text *problem, const char *what)
{
    oneib_text_append(problem, problem->length ? "; " : "");
    oneib_text_append(problem, what);
}

/* What is merely worth knowing is for `oneib hca`. */
static void add_findings(struct oneib_text *problem, const struct oneib_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].severity >= ONEIB_WARNING)
            add_problem(problem, findings->items[i].text);
}

/* What could not be looked at is left out, and said to be so. */
static void look(const struct oneib_config *config, struct oneib_text *problem,
                 struct oneib_text *text)
{
    struct oneib_inventory inventory;
    struct oneib_error err = {0};
    if (oneib_inventory_read(config, false, &inventory, &err) < 0) {
        inventory = (struct oneib_inventory){0};
        add_problem(problem, err.text);
    }
    add_findings(problem, &inventory.findings);
    oneib_probe_render(&inventory.hcas, config->node.host_vfs, inventory.service_known,
                       problem->data, text);
    oneib_inventory_clear(&inventory);
}

int main(void)
{
    struct oneib_config config = {0};
    struct oneib_error err;
    oneib_autotext struct oneib_text problem = {0}, text = {0};
    const bool is_configured = oneib_node_config(&config, &err) == 0;
    if (!is_configured)
        add_problem(&problem, err.text);
    if (is_configured || oneib_config_defaults(&config, &err) == 0)
        look(&config, &problem, &text);
    if (text.data && !oneib_text_failed(&text))
        fputs(text.data, stdout);
    oneib_config_clear(&config);
    return 0;
}
