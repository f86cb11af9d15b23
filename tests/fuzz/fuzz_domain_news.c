// SPDX-License-Identifier: Apache-2.0
/* What oneib-domains says: what is taken is exactly what came, and can be shown and compared. */
#include "oneib-node/oneib-domains/domains_message.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

static void look_at_entry(const struct oneib_domain_entry *entry)
{
    const struct oneib_domain_news again =
        oneib_domain_news_entry(entry->name, entry->running, entry->has_vf ? &entry->vf : NULL);
    require(strlen(entry->name) < sizeof entry->name && entry->vm_id >= -1);
    require(memcmp(&again.entry, entry, sizeof *entry) == 0);
}

static void look_at_text(const char *text)
{
    const struct oneib_domain_news again = oneib_domain_news_unknown(text);
    require(strlen(text) < ONEIB_MESSAGE_TEXT && strcmp(again.text, text) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct oneib_domain_news news;
    struct oneib_error err = {0};
    if (oneib_domain_news_check(data, size, &news, &err) < 0) {
        require(err.code == ONEIB_ERROR_PROTOCOL && err.text[0] != '\0');
        return 0;
    }
    require(size == sizeof news && memcmp(&news, data, size) == 0);
    if (news.kind == ONEIB_DOMAIN_NEWS_ENTRY)
        look_at_entry(&news.entry);
    else if (news.kind == ONEIB_DOMAIN_NEWS_UNKNOWN)
        look_at_text(news.text);
    return 0;
}
