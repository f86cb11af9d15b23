// SPDX-License-Identifier: Apache-2.0
#include "cluster/names.h"
#include "base/escape.h"
#include <inttypes.h>
#include <stdio.h>

static struct oneib_shown with_number(const char *kind, uint32_t id, const char *name)
{
    struct oneib_shown shown;
    if (id == ONEIB_NO_ID)
        snprintf(shown.text, sizeof shown.text, "an unknown %s", kind);
    else if (name)
        snprintf(shown.text, sizeof shown.text, "%s %" PRIu32 " \"%s\"", kind, id, name);
    else
        snprintf(shown.text, sizeof shown.text, "%s %" PRIu32, kind, id);
    return shown;
}

/* NULL when there is nothing to show. */
static const char *escape(struct oneib_text *text, const char *name)
{
    oneib_text_append_escaped(text, name, ONEIB_NAME_SHOWN);
    return text->length == 0 ? NULL : text->data;
}

struct oneib_shown oneib_network_called(uint32_t id, const char *name)
{
    oneib_autotext struct oneib_text escaped = {0};
    return with_number("network", id, escape(&escaped, name));
}

struct oneib_shown oneib_network_shown(const struct oneib_network *network)
{
    return oneib_network_called(network->id, network->name);
}

struct oneib_shown oneib_network_id_shown(const struct oneib_cloud *cloud, uint32_t id)
{
    const struct oneib_network *network = oneib_cloud_network(cloud, id);
    return oneib_network_called(id, network ? network->name : NULL);
}

struct oneib_shown oneib_host_called(uint32_t id, const char *name)
{
    oneib_autotext struct oneib_text escaped = {0};
    const char *shown_name = escape(&escaped, name);
    if (!shown_name || id == ONEIB_NO_ID)
        return with_number("host", id, NULL);
    struct oneib_shown shown;
    snprintf(shown.text, sizeof shown.text, "host \"%s\"", shown_name);
    return shown;
}

struct oneib_shown oneib_host_id_shown(const struct oneib_cloud *cloud, uint32_t id)
{
    const struct oneib_host *host = oneib_cloud_host(cloud, id);
    return oneib_host_called(id, host ? host->name : NULL);
}
