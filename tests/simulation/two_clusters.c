// SPDX-License-Identifier: Apache-2.0
#include "two_clusters.h"
#include <string.h>

struct two_clusters clusters;

int clusters_raise(void **state)
{
    if (scene_raise_new(state) < 0)
        return -1;
    if (lab_missing())
        return 0;
    clusters.red = scene_network("red", "257", NULL);
    clusters.blue = scene_network("blue", "258", NULL);
    for (uint32_t i = 0; i < 2; i++) {
        clusters.red_vms[i] = scene_vm(clusters.red, i);
        clusters.blue_vms[i] = scene_vm(clusters.blue, i + 1);
    }
    ONEIB(0, "sync", "--force");
    return 0;
}

void sync_must_end(int status, const char *word)
{
    const struct lab_output *output = ONEIB(status, "sync");
    if (word && !strstr(output->error, word) && !strstr(output->out, word))
        fail_msg("sync does not say \"%s\": %s%s", word, output->out, output->error);
}
