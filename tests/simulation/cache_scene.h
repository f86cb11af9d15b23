// SPDX-License-Identifier: Apache-2.0
/*
 * A kept cloud beside the truth, for the tests of opennebula/cache.h: what a refresh leaves has to
 * equal what a whole reading gives, field by field. The one exception are the networks' lists of
 * VMs, which are as old as the last NIC that needed them; what depends on them (`unleased`) is
 * compared.
 */
#ifndef ONEIB_TESTS_CACHE_SCENE_H
#define ONEIB_TESTS_CACHE_SCENE_H

#include "lab.h"
#include "opennebula/cache.h"
#include "opennebula/cache_merge.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOSTS 8
#define NETWORKS_MAX 64
#define VMS_MAX 4096
#define TIMEOUT_MS 60000

static const struct oneib_pools_options options = {.vn_mad = "infiniband", .window = 40};
/* A whole reading by small windows overlooks VMs that nobody names: on no host, on no network of
 * ours. One window from VM 0 on, which a host names, shows them all. */
static const struct oneib_pools_options thorough = {.vn_mad = "infiniband", .window = 100000};

/* What oned holds in truth, and what is kept of it. */
struct scene {
    struct lab *lab;
    struct oneib_one *one;
    unsigned random; /* rand_r() state */
    uint32_t networks[NETWORKS_MAX];
    size_t network_count;
    uint32_t vms[VMS_MAX];
    size_t vm_count;
    struct oneib_work_queue queue;
    struct oneib_cloud kept, truth;
    struct oneib_findings kept_findings, true_findings;
    char action[160];
};

static inline void must(int outcome, const struct scene *scene, const struct oneib_error *err)
{
    if (outcome < 0)
        fail_msg("%s: %s", scene->action, err->text);
}

static inline struct oneib_one *open_client(const struct scene *scene, const char *session)
{
    struct oneib_error err = {0};
    char *endpoint = strdup(lab_endpoint(scene->lab)), *secret = strdup(session);
    assert_non_null(endpoint);
    assert_non_null(secret);
    const struct oneib_credentials credentials = {.endpoint = endpoint, .session = secret};
    struct oneib_one *one = oneib_one_open(&credentials, TIMEOUT_MS, &err);
    assert_non_null(one);
    free(endpoint);
    free(secret);
    return one;
}

static inline void read_cloud(struct oneib_one *one, struct oneib_cloud *cloud,
                              struct oneib_findings *findings)
{
    struct oneib_error err = {0};
    if (oneib_pools_read(one, &thorough, cloud, findings, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void read_truth(struct scene *scene)
{
    oneib_cloud_clear(&scene->truth);
    oneib_findings_clear(&scene->true_findings);
    read_cloud(scene->one, &scene->truth, &scene->true_findings);
}

static inline int set_up(void **state)
{
    struct oneib_error err = {0};
    const struct lab_options plan = {.leaves = 1, .hosts_per_leaf = HOSTS};
    static const char *const arguments[] = {"--lazy-nics", NULL};
    struct scene *scene = calloc(1, sizeof *scene);
    if (!scene || !(scene->lab = lab_open(&plan, &err)) ||
        lab_standin_start(scene->lab, arguments, &err) < 0 ||
        lab_add_hosts(scene->lab, 7, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    scene->one = open_client(scene, lab_session(scene->lab));
    read_cloud(scene->one, &scene->kept, &scene->kept_findings);
    *state = scene;
    return 0;
}

static inline int tear_down(void **state)
{
    struct scene *scene = *state;
    oneib_work_queue_clear(&scene->queue);
    oneib_cloud_clear(&scene->kept);
    oneib_cloud_clear(&scene->truth);
    oneib_findings_clear(&scene->kept_findings);
    oneib_findings_clear(&scene->true_findings);
    oneib_one_close(scene->one);
    lab_close(scene->lab);
    free(scene);
    return 0;
}

static inline size_t dice(struct scene *scene, size_t sides)
{
    return (size_t)rand_r(&scene->random) % sides;
}

/* ---- comparison ------------------------------------------------------------------------------ */

static inline bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static inline void compare_networks(const struct scene *scene)
{
    assert_int_equal(scene->kept.network_count, scene->truth.network_count);
    for (size_t i = 0; i < scene->truth.network_count; i++) {
        const struct oneib_network *kept = &scene->kept.networks[i];
        const struct oneib_network *truth = &scene->truth.networks[i];
        if (!oneib_cache_same_network(kept, truth) || !same_text(kept->name, truth->name))
            fail_msg("%s: network %u differs", scene->action, truth->id);
    }
}

static inline void compare_hosts(const struct scene *scene)
{
    assert_int_equal(scene->kept.host_count, scene->truth.host_count);
    for (size_t i = 0; i < scene->truth.host_count; i++) {
        const struct oneib_host *kept = &scene->kept.hosts[i], *truth = &scene->truth.hosts[i];
        if (!oneib_cache_same_host(kept, truth) || !same_text(kept->name, truth->name))
            fail_msg("%s: host %u differs", scene->action, truth->id);
    }
}

static inline void compare_attachments(const struct scene *scene)
{
    for (size_t i = 0; i < scene->kept.attachment_count && i < scene->truth.attachment_count; i++) {
        const struct oneib_attachment *kept = &scene->kept.attachments[i];
        const struct oneib_attachment *truth = &scene->truth.attachments[i];
        if (!oneib_cache_same_attachment(kept, truth) || kept->state != truth->state ||
            kept->lcm_state != truth->lcm_state || kept->ipv4 != truth->ipv4)
            fail_msg("%s: VM %u NIC %u (network %u, state %d/%d, unleased %d) is VM %u NIC %u "
                     "(network %u, state %d/%d, unleased %d) in truth",
                     scene->action, kept->vm_id, kept->nic_id, kept->network_id, kept->state,
                     kept->lcm_state, kept->unleased, truth->vm_id, truth->nic_id,
                     truth->network_id, truth->state, truth->lcm_state, truth->unleased);
    }
    assert_int_equal(scene->kept.attachment_count, scene->truth.attachment_count);
}

static inline void compare_vms(const struct scene *scene)
{
    assert_int_equal(scene->kept.vm_count, scene->truth.vm_count);
    assert_int_equal(scene->kept.vm_end, scene->truth.vm_end);
    if (scene->truth.vm_count)
        assert_memory_equal(scene->kept.vm_ids, scene->truth.vm_ids,
                            scene->truth.vm_count * sizeof *scene->truth.vm_ids);
}

static inline void compare_findings(struct scene *scene)
{
    oneib_findings_sort(&scene->kept_findings);
    oneib_findings_sort(&scene->true_findings);
    for (size_t i = 0; i < scene->kept_findings.count && i < scene->true_findings.count; i++) {
        const struct oneib_finding *kept = &scene->kept_findings.items[i];
        const struct oneib_finding *truth = &scene->true_findings.items[i];
        if (!same_text(kept->text, truth->text) || !same_text(kept->code, truth->code) ||
            kept->subject != truth->subject || kept->subject_id != truth->subject_id)
            fail_msg("%s: finding \"%s\" is \"%s\" in truth", scene->action, kept->text,
                     truth->text);
    }
    assert_int_equal(scene->kept_findings.count, scene->true_findings.count);
}

static inline void compare(struct scene *scene)
{
    compare_networks(scene);
    compare_hosts(scene);
    compare_attachments(scene);
    compare_vms(scene);
    compare_findings(scene);
}

/* The kept cloud follows, and says rightly whether something changed. */
static inline void refresh(struct scene *scene)
{
    struct oneib_error err = {0};
    bool changed = false;
    must(oneib_cache_refresh(scene->one, &options, &scene->queue, &scene->kept,
                             &scene->kept_findings, &changed, &err),
         scene, &err);
    oneib_work_queue_clear(&scene->queue);

    struct oneib_cloud before = scene->truth;
    scene->truth = (struct oneib_cloud){0};
    read_truth(scene);
    compare(scene);
    if (changed != oneib_cache_differs(&before, &scene->truth))
        fail_msg("%s: said to have %s", scene->action, changed ? "changed" : "not changed");
    oneib_cloud_clear(&before);
}

#endif
