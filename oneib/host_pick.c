// SPDX-License-Identifier: Apache-2.0
#include "oneib/host_pick.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "opennebula/documents.h"
#include <inttypes.h>
#include <string.h>

int oneib_read_hosts(const struct oneib_session *session, struct oneib_cloud *cloud,
                     struct oneib_error *err)
{
    oneib_autofree char *xml = NULL;
    size_t length;
    oneib_autofindings struct oneib_findings unsaid = {0};
    oneib_autodocuments struct oneib_documents documents = {
        .cloud = cloud, .findings = &unsaid, .vn_mad = ""};
    if (oneib_one_host_pool(session->one, &xml, &length, err) < 0 ||
        oneib_documents_read_hosts(&documents, xml, length, err) < 0)
        return -1;
    oneib_cloud_sort(cloud);
    return 0;
}

int oneib_host_pick_read(const struct oneib_session *session, struct oneib_host_pick *pick,
                         struct oneib_error *err)
{
    return oneib_read_hosts(session, &pick->cloud, err) < 0
               ? -1
               : oneib_host_pick_read_ledger(session, pick, err);
}

int oneib_host_pick_read_ledger(const struct oneib_session *session, struct oneib_host_pick *pick,
                                struct oneib_error *err)
{
    return oneib_ledger_read_usable(session->one, session->config.one.acl_user, &pick->kept, err);
}

int oneib_host_pick_find(struct oneib_host_pick *pick, const char *word, struct oneib_error *err)
{
    uint64_t id;
    for (size_t i = 0; i < pick->cloud.host_count; i++)
        if (pick->cloud.hosts[i].name && strcmp(pick->cloud.hosts[i].name, word) == 0) {
            pick->host = &pick->cloud.hosts[i];
            pick->host_id = pick->host->id;
            return 0;
        }
    if (!oneib_parse_decimal(word, INT32_MAX, &id))
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                          "there is no host \"%s\": 'oneib hosts' lists them; name a host that "
                          "was deleted by its id",
                          word);
    pick->host_id = (uint32_t)id;
    pick->host = oneib_cloud_host(&pick->cloud, pick->host_id);
    if (!pick->host && !oneib_ledger_host(&pick->kept.ledger, pick->host_id) &&
        !oneib_ledger_fence(&pick->kept.ledger, pick->host_id))
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                          "host %" PRIu32 " is neither in OpenNebula nor in the ledger",
                          pick->host_id);
    return 0;
}

void oneib_host_pick_clear(struct oneib_host_pick *pick)
{
    oneib_kept_ledger_clear(&pick->kept);
    oneib_cloud_clear(&pick->cloud);
    *pick = (struct oneib_host_pick){0};
}
