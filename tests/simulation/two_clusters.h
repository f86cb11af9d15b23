// SPDX-License-Identifier: Apache-2.0
/*
 * Two clusters that run on the scene's fabric: red on hosts 0 and 1, blue on hosts 1 and 2, both in
 * force. For tests that break something around them.
 */
#ifndef ONEIB_TWO_CLUSTERS_H
#define ONEIB_TWO_CLUSTERS_H

#include "command_scene.h"

#define KEY_RED 257
#define KEY_BLUE 258

struct two_clusters {
    uint32_t red, blue; /* networks */
    uint32_t red_vms[2], blue_vms[2];
};

extern struct two_clusters clusters;

/* Fixtures of cmocka; each test has clusters of its own. */
int clusters_raise(void **state);
#define CLUSTERS_CASE(test) SCENE_CASE(clusters_raise, test)

/* Runs `oneib sync` and requires this exit status and, in what it says, this word (NULL: any). */
void sync_must_end(int status, const char *word);

#endif
