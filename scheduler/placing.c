// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placing.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "opennebula/credentials.h"
#include "placement/arrange.h"
#include "placement/links_file.h"
#include "scheduler/patience.h"
#include "scheduler/running.h"
#include "scheduler/vm_sets.h"
#include <stdlib.h>
#include <time.h>

struct placing {
    const struct oneib_config *config;
    struct oneib_sched_message *message;
    struct oneib_one *one; /* NULL: nothing was asked yet */
    struct oneib_window *window;
};

int oneib_placing_config(const char *path, struct oneib_config *config, struct oneib_error *err)
{
    if (oneib_config_load(path, config, err) < 0)
        return -1;
    free(config->one.auth_file);
    config->one.auth_file = NULL;
    return 0;
}

/* ---- what oned is asked ---------------------------------------------------------------------- */

static int reach_oned(struct placing *placing, struct oneib_error *err)
{
    oneib_auto(oneib_credentials_clear) struct oneib_credentials credentials = {0};
    if (placing->one)
        return 0;
    if (oneib_credentials_find(placing->config, &credentials, err) < 0)
        return -1;
    placing->one = oneib_one_open(&credentials, ONEIB_PATIENCE_S * 1000, err);
    if (!placing->one)
        return -1;
    oneib_one_set_interrupt(placing->one, oneib_patience_flag());
    return 0;
}

static int take_vms(void *context, const char *xml, size_t length, uint32_t first, uint32_t last,
                    struct oneib_error *err)
{
    struct placing *placing = context;
    return oneib_sched_message_add_vms(placing->message, xml, length, first, last,
                                       placing->config->one.vn_mad, err);
}

static int ask_vms(struct placing *placing, struct oneib_error *err)
{
    const struct oneib_sched_message *message = placing->message;
    oneib_autofree uint32_t *ids = oneib_alloc(message->requirement_count + 1, sizeof *ids);
    for (size_t i = 0; i < message->requirement_count; i++)
        ids[i] = message->requirements[i].vm_id;
    return oneib_vm_sets_read(placing->one, ids, message->requirement_count, take_vms, placing,
                              err);
}

static int ask_hosts(struct placing *placing, struct oneib_error *err)
{
    oneib_autofree char *xml = NULL;
    size_t length;
    return oneib_one_host_pool(placing->one, &xml, &length, err) < 0
               ? -1
               : oneib_sched_message_add_hosts(placing->message, xml, length, err);
}

/* ---- arranging ------------------------------------------------------------------------------- */

static int arrange(struct placing *placing, const struct oneib_cloud *running,
                   struct oneib_links *links, struct oneib_error *err)
{
    struct oneib_window *window = placing->window;
    if (oneib_window_arrange(placing->message, running, time(NULL), window, err) < 0)
        return -1;
    window->links = links;
    int status = oneib_patience_check(err);
    if (status == 0)
        oneib_window_offer(window);
    window->links = NULL;
    if (status < 0)
        oneib_window_clear(window);
    return status;
}

static int arrange_by_links(struct placing *placing, const struct oneib_cloud *running,
                            struct oneib_error *err)
{
    const struct oneib_config *config = placing->config;
    oneib_autolinks struct oneib_links links = {0};
    if (!config->qos.links_file)
        return arrange(placing, running, NULL, err);
    if (oneib_links_load(config->qos.links_file, time(NULL), &links, err) < 0)
        return -1;
    links.is_exclusive = config->qos.exclusive;
    oneib_links_catch_up(&links, running);
    return arrange(placing, running, &links, err);
}

static int arrange_among(struct placing *placing, const struct oneib_id_set *networks,
                         struct oneib_error *err)
{
    oneib_autocloud struct oneib_cloud running = {0};
    return oneib_read_running(placing->one, placing->config->one.vn_mad, placing->message, networks,
                              &running, err) < 0
               ? -1
               : arrange_by_links(placing, &running, err);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int place_for(struct placing *placing, bool has_pools, const struct oneib_id_set *networks,
                     struct oneib_error *err)
{
    if (networks->count == 0)
        return 0;
    if (reach_oned(placing, err) < 0 || (!has_pools && ask_hosts(placing, err) < 0))
        return -1;
    return arrange_among(placing, networks, err);
}

static int place(struct placing *placing, bool has_pools, struct oneib_error *err)
{
    oneib_autoids struct oneib_id_set networks = {0};
    if (!has_pools && (reach_oned(placing, err) < 0 || ask_vms(placing, err) < 0))
        return -1;
    oneib_waiting_networks(placing->message, &networks);
    return place_for(placing, has_pools, &networks, err);
}

int oneib_place(const struct oneib_config *config, struct oneib_sched_message *message,
                bool has_pools, struct oneib_window *window, struct oneib_error *err)
{
    struct placing placing = {.config = config, .message = message, .window = window};
    *window = (struct oneib_window){0};
    int status = oneib_patience_check(err);
    if (status == 0 && message->requirement_count > 0)
        status = place(&placing, has_pools, err);
    oneib_one_close(placing.one);
    if (status == 0 && (status = oneib_patience_check(err)) < 0)
        oneib_window_clear(window);
    return status;
}
