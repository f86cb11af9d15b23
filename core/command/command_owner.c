// SPDX-License-Identifier: Apache-2.0
#include "command/command_owner.h"
#include "command/json.h"
#include "command/output.h"

static void append_one(struct oneib_text *text, const char *name, uint32_t id)
{
    if (name)
        oneib_append_untrusted(text, name, 0);
    else if (id != ONEIB_NO_ID)
        oneib_text_printf(text, "%u", id);
    else
        oneib_text_append(text, "-");
}

void oneib_append_owner(struct oneib_text *text, const struct oneib_network *network)
{
    append_one(text, network ? network->owner : NULL, network ? network->uid : ONEIB_NO_ID);
    if (!network || (!network->group && network->gid == ONEIB_NO_ID))
        return;
    oneib_text_append(text, ":");
    append_one(text, network->group, network->gid);
}

static json_t *id_json(uint32_t id)
{
    return id == ONEIB_NO_ID ? json_null() : json_integer(id);
}

json_t *oneib_json_owner(const struct oneib_network *network)
{
    if (!network)
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:o}", "user", oneib_json_text(network->owner), "uid",
                     id_json(network->uid), "group", oneib_json_text(network->group), "gid",
                     id_json(network->gid));
}
