// SPDX-License-Identifier: Apache-2.0
#include "sm/sm.h"
#include "base/memory.h"
#include "sm/sm_internal.h"
#include <stdlib.h>

static struct oneib_sm *make(const struct oneib_config *config, const struct oneib_sm_way *way)
{
    struct oneib_sm *sm = oneib_alloc(1, sizeof *sm);
    *sm = (struct oneib_sm){.config = config, .way = way};
    return sm;
}

struct oneib_sm *oneib_sm_open_over(const struct oneib_config *config,
                                    const struct oneib_ufm_link *link, struct oneib_error *err)
{
    struct oneib_sm *sm = make(config, &oneib_sm_ufm);
    if (oneib_ufm_open(sm, link, err) == 0)
        return sm;
    oneib_sm_close(sm);
    return NULL;
}

struct oneib_sm *oneib_sm_open(const struct oneib_config *config, struct oneib_error *err)
{
    if (config->sm.kind == ONEIB_SM_UFM)
        return oneib_sm_open_over(config, NULL, err);
    return make(config, &oneib_sm_opensm);
}

void oneib_sm_follow(struct oneib_sm *sm, const struct oneib_config *config)
{
    sm->config = config;
}

void oneib_sm_close(struct oneib_sm *sm)
{
    if (sm && sm->way->close)
        sm->way->close(sm);
    free(sm);
}

void oneib_seen_clear(struct oneib_seen *seen)
{
    oneib_partition_table_clear(&seen->table);
    free(seen->data);
    *seen = (struct oneib_seen){0};
}

bool oneib_seen_has_table(const struct oneib_seen *seen)
{
    return seen->state == ONEIB_SEEN_OURS || seen->state == ONEIB_SEEN_FOREIGN;
}

bool oneib_sm_is_put(const struct oneib_sm *sm, const struct oneib_seen *seen,
                     const struct oneib_sm_put *what)
{
    return sm->way->is_put(sm, seen, what);
}

int oneib_sm_read(struct oneib_sm *sm, struct oneib_seen *seen, struct oneib_error *err)
{
    oneib_seen_clear(seen);
    if (sm->way->look(sm, seen, err) == 0)
        return 0;
    oneib_seen_clear(seen);
    return -1;
}

bool oneib_sm_has_news(struct oneib_sm *sm)
{
    return sm->way->has_news(sm);
}

void oneib_sm_doubt(struct oneib_sm *sm)
{
    if (sm->way->doubt)
        sm->way->doubt(sm);
}

struct oneib_sm_limits oneib_sm_limits(const struct oneib_sm *sm)
{
    return sm->way->limits ? sm->way->limits(sm) : (struct oneib_sm_limits){0};
}

void oneib_sm_settle(struct oneib_sm *sm, struct oneib_seen *seen,
                     struct oneib_partition_table *wanted, struct oneib_findings *findings)
{
    if (sm->way->settle)
        sm->way->settle(sm, seen, wanted, findings);
}

void oneib_sm_render(const struct oneib_sm *sm, const struct oneib_partition_table *wanted,
                     struct oneib_text *text)
{
    oneib_text_clear(text);
    if (sm->way->render)
        sm->way->render(sm, wanted, text);
}

bool oneib_sm_is_told(const struct oneib_sm *sm)
{
    return !sm->way->is_told || sm->way->is_told(sm);
}

int oneib_sm_put(struct oneib_sm *sm, const struct oneib_sm_put *put, struct oneib_seen *seen,
                 unsigned *nudges, struct oneib_error *err)
{
    return sm->way->put(sm, put, seen, nudges, err);
}

int oneib_sm_nudge(struct oneib_sm *sm, unsigned *nudges, struct oneib_error *err)
{
    return sm->way->nudge ? sm->way->nudge(sm, nudges, err) : 0;
}

int oneib_sm_leads(struct oneib_sm *sm, struct oneib_fabric *fabric, bool *leads,
                   struct oneib_error *err)
{
    *leads = true;
    return sm->way->leads ? sm->way->leads(sm, fabric, leads, err) : 0;
}

int oneib_sm_refuse(const struct oneib_sm *sm, const struct oneib_seen *seen,
                    struct oneib_error *err)
{
    return sm->way->refuse(sm, seen, err);
}

int oneib_sm_ask_vports(struct oneib_sm *sm, struct oneib_said_vports *said,
                        struct oneib_error *err)
{
    if (sm->way->ask_vports)
        return sm->way->ask_vports(sm, said, err);
    oneib_said_vports_clear(said);
    return 0;
}

const char *oneib_sm_place(const struct oneib_sm *sm)
{
    return sm->way->place(sm);
}
