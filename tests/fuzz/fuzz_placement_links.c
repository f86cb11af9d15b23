// SPDX-License-Identifier: Apache-2.0
/* The file of links: what was taken is written and taken again, and is the same then; hosts can
 * be judged by it for a cluster, and join it. */
#include "base/text.h"
#include "placement/links_text.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOSTS 4

static void require(bool held)
{
    if (!held)
        abort();
}

static struct oneib_text written(const struct oneib_links *links)
{
    struct oneib_text text = {0};
    oneib_links_write(links, &text);
    require(text.data != NULL);
    return text;
}

static void check_twice(const struct oneib_links *links)
{
    struct oneib_error err;
    struct oneib_links again;
    struct oneib_text first = written(links);
    require(oneib_links_read(first.data, first.length, &again, &err) == 0);
    struct oneib_text second = written(&again);
    require(strcmp(first.data, second.data) == 0);
    oneib_text_clear(&second);
    oneib_text_clear(&first);
    oneib_links_clear(&again);
}

static void check_use(struct oneib_links *links, uint32_t network_id)
{
    const uint32_t hosts[HOSTS] = {0, 1, 2, 3};
    bool meets[HOSTS];
    oneib_links_judge(links, network_id, hosts, HOSTS, meets);
    links->is_exclusive = true;
    oneib_links_judge(links, network_id, hosts, HOSTS, meets);
    for (size_t i = 0; i < HOSTS; i++)
        oneib_links_settle(links, network_id, hosts[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct oneib_error err;
    struct oneib_links links;
    if (oneib_links_read((const char *)data, size, &links, &err) < 0)
        return 0;
    check_twice(&links);
    if (links.cluster_count > 0)
        check_use(&links, links.clusters[0].network_id);
    oneib_links_clear(&links);
    return 0;
}
