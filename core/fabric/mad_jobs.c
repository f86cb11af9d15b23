// SPDX-License-Identifier: Apache-2.0
#include "fabric/mad_jobs.h"
#include "base/array.h"
#include <stdlib.h>

void oneib_mad_jobs_add(struct oneib_mad_jobs *jobs, const struct oneib_mad_job *job)
{
    ONEIB_APPEND(jobs->items, jobs->count, jobs->capacity, *job);
}

static void advance(struct oneib_mad_jobs *jobs, unsigned blocks)
{
    if (++jobs->block < blocks)
        return;
    jobs->block = 0;
    jobs->next++;
}

bool oneib_mad_jobs_next(struct oneib_mad_jobs *jobs, struct oneib_mad_request *request)
{
    if (jobs->next == jobs->count)
        return false;
    const struct oneib_mad_job *job = &jobs->items[jobs->next];
    *request = (struct oneib_mad_request){
        .mgmt_class = job->mgmt_class ? job->mgmt_class : IB_SMI_CLASS,
        .method = IB_MAD_METHOD_GET,
        .attribute = job->attribute,
        .modifier = job->modifier + jobs->block,
        .lid = job->lid,
        .to = job->to,
        .tag = job->tag,
        .subtag = jobs->block,
    };
    advance(jobs, job->blocks);
    return true;
}

void oneib_mad_jobs_clear(struct oneib_mad_jobs *jobs)
{
    free(jobs->items);
    *jobs = (struct oneib_mad_jobs){0};
}
