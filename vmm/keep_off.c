// SPDX-License-Identifier: Apache-2.0
#include "vmm/keep_off.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/escape.h"
#include "domain/threads.h"
#include "vmm/plug.h"
#include <stdlib.h>
#include <string.h>

#define NAME_COLUMNS 64
#define REMEDY                                                                                     \
    "pin it (TOPOLOGY), have the two on different hosts, or have oneib keep it off "               \
    "(node.hpc_cores "                                                                             \
    "= \"keep_off\")"

/* Cores of a VM that is about to start. */
struct coming {
    const char *name; /* borrowed: its domain's */
    struct oneib_cpu_set cores;
};

/* ---- what runs ------------------------------------------------------------------------------- */

struct running {
    const struct oneib_host_cpus *host;
    struct oneib_domain_threads *domains; /* owned */
    size_t count, capacity;
};

static int add_domain(const char *xml, size_t length, void *context, struct oneib_error *err)
{
    struct running *running = context;
    ONEIB_RESERVE(running->domains, running->capacity, running->count + 1);
    if (oneib_domain_threads_read(xml, length, &running->domains[running->count], err) < 0)
        return -1;
    running->count++;
    return 0;
}

static void clear(struct running *running)
{
    for (size_t i = 0; i < running->count; i++)
        oneib_domain_threads_clear(&running->domains[i]);
    free(running->domains);
    *running = (struct running){0};
}

static int look(struct oneib_live *live, const struct oneib_host_cpus *host,
                struct running *running, struct oneib_error *err)
{
    *running = (struct running){.host = host};
    if (oneib_live_each(live, add_domain, running, err) == 0)
        return 0;
    clear(running);
    return oneib_wrap(err, "looking which domains are pinned");
}

/* ---- whose cores are whose ------------------------------------------------------------------- */

static bool is_named(const struct oneib_domain_threads *domain, const char *name)
{
    return domain->name && name && strcmp(domain->name, name) == 0;
}

static struct oneib_cpu_set cores_of(const struct running *running,
                                     const struct oneib_domain_threads *domain)
{
    struct oneib_cpu_set cores = {0};
    if (domain->has_hpc)
        oneib_cores_whole(running->host, &domain->pins, &cores);
    return cores;
}

/* The cores of all with IB_HPC but this one. */
static struct oneib_cpu_set cores_of_others(const struct running *running,
                                            const struct coming *coming,
                                            const struct oneib_domain_threads *self)
{
    struct oneib_cpu_set taken = {0};
    for (size_t i = 0; i < running->count; i++) {
        const struct oneib_cpu_set cores = cores_of(running, &running->domains[i]);
        if (&running->domains[i] != self)
            oneib_cpu_set_add_all(&taken, &cores);
    }
    if (coming && !(self && is_named(self, coming->name)))
        oneib_cpu_set_add_all(&taken, &coming->cores);
    return taken;
}

static struct oneib_cpu_set places_of(const struct running *running, const struct coming *coming,
                                      const struct oneib_domain_threads *self)
{
    struct oneib_cpu_set places = running->host->floating;
    const struct oneib_cpu_set taken = cores_of_others(running, coming, self);
    oneib_cpu_set_remove_all(&places, &taken);
    return places;
}

/* Whether a virtual core of it that nobody has pinned may run on these cores. */
static bool floats_over(const struct running *running, const struct oneib_domain_threads *domain,
                        const struct oneib_cpu_set *cores)
{
    const struct oneib_cpu_set reach = oneib_domain_reach(domain, &running->host->floating);
    return oneib_cpu_set_overlaps(&reach, cores);
}

/* ---- moving ---------------------------------------------------------------------------------- */

static const enum oneib_live_thread live_kinds[] = {
    [ONEIB_THREAD_VCPU] = ONEIB_LIVE_VCPU,
    [ONEIB_THREAD_EMULATOR] = ONEIB_LIVE_EMULATOR,
    [ONEIB_THREAD_IO] = ONEIB_LIVE_IO,
};

static bool any_must_move(const struct oneib_domain_threads *domain, const struct oneib_cpu_set *to,
                          const struct oneib_cpu_set *floating)
{
    for (size_t i = 0; i < domain->count; i++)
        if (oneib_thread_must_move(&domain->items[i], to, floating))
            return true;
    return false;
}

/* What is pinned without being in the mark would be somebody's for good: the mark is first. */
static int mark(struct oneib_live *live, const struct oneib_domain_threads *domain,
                struct oneib_error *err)
{
    oneib_autotext struct oneib_text element = {0};
    if (oneib_domain_is_marked(domain))
        return 0;
    oneib_domain_mark_render(domain, &element);
    return oneib_live_set_metadata(live, domain->uuid ? domain->uuid : domain->name, element.data,
                                   ONEIB_KEPT_PREFIX, ONEIB_KEPT_NAMESPACE, err);
}

static int move(struct oneib_live *live, const struct oneib_domain_threads *domain,
                const struct oneib_cpu_set *to, const struct oneib_cpu_set *floating,
                struct oneib_error *err)
{
    if (!any_must_move(domain, to, floating))
        return 0;
    if (mark(live, domain, err) < 0)
        return -1;
    for (size_t i = 0; i < domain->count; i++) {
        const struct oneib_loose_thread *thread = &domain->items[i];
        if (oneib_thread_must_move(thread, to, floating) &&
            oneib_live_pin(live, domain->uuid ? domain->uuid : domain->name,
                           live_kinds[thread->kind], thread->id, to, err) < 0)
            return -1;
    }
    return 0;
}

/* One that has ended meanwhile needs nothing. */
static void move_one(struct oneib_live *live, const struct running *running,
                     const struct coming *coming, const struct oneib_domain_threads *domain,
                     struct oneib_text *warnings)
{
    struct oneib_error failure = {0};
    const struct oneib_cpu_set places = places_of(running, coming, domain);
    if (oneib_cpu_set_is_empty(&places))
        oneib_fail(&failure, ONEIB_ERROR_REFUSED,
                   "VMs with IB_HPC have all cores of this host, and leave none for VMs that are "
                   "not pinned, which run on all of them");
    if (move(live, domain, oneib_cpu_set_is_empty(&places) ? &running->host->floating : &places,
             &running->host->floating, &failure) == 0 &&
        failure.code == ONEIB_ERROR_NONE)
        return;
    if (failure.code != ONEIB_ERROR_NOT_FOUND)
        oneib_plug_warn(warnings, &failure);
}

static int check_some_are_left(const struct running *running, const struct coming *coming,
                               struct oneib_error *err)
{
    const struct oneib_cpu_set places = places_of(running, coming, NULL);
    if (!coming || !oneib_cpu_set_is_empty(&places))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "it would leave no core of this host for VMs that are not pinned, which "
                      "node.hpc_cores = \"keep_off\" keeps off its cores");
}

static int keep_off(struct oneib_live *live, const struct running *running,
                    const struct coming *coming, struct oneib_text *warnings,
                    struct oneib_error *err)
{
    if (check_some_are_left(running, coming, err) < 0)
        return -1;
    for (size_t i = 0; i < running->count; i++)
        move_one(live, running, coming, &running->domains[i], warnings);
    return 0;
}

int oneib_keep_off(struct oneib_live *live, const struct oneib_host_cpus *host,
                   struct oneib_text *warnings, struct oneib_error *err)
{
    oneib_auto(clear) struct running running = {0};
    return look(live, host, &running, err) < 0 ? -1 : keep_off(live, &running, NULL, warnings, err);
}

/* ---- refusing -------------------------------------------------------------------------------- */

static void append_name(const struct oneib_domain_threads *domain, struct oneib_text *text)
{
    oneib_text_append(text, text->length ? ", " : "");
    oneib_text_append_escaped(text, domain->name ? domain->name : "", NAME_COLUMNS);
}

static int fail_floating(const struct running *running, const struct coming *coming,
                         struct oneib_error *err)
{
    oneib_autotext struct oneib_text names = {0};
    for (size_t i = 0; i < running->count; i++)
        if (!is_named(&running->domains[i], coming->name) &&
            floats_over(running, &running->domains[i], &coming->cores))
            append_name(&running->domains[i], &names);
    if (names.length == 0)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "it would share its cores: %s is not pinned; " REMEDY, names.data);
}

static int fail_to_float(const struct running *running, const struct oneib_domain_threads *coming,
                         struct oneib_error *err)
{
    oneib_autotext struct oneib_text names = {0};
    for (size_t i = 0; i < running->count; i++) {
        const struct oneib_cpu_set cores = cores_of(running, &running->domains[i]);
        if (!is_named(&running->domains[i], coming->name) && floats_over(running, coming, &cores))
            append_name(&running->domains[i], &names);
    }
    if (names.length == 0)
        return 0;
    return oneib_fail(
        err, ONEIB_ERROR_REFUSED,
        "it is not pinned, and would run on cores that %s has to itself (IB_HPC); " REMEDY,
        names.data);
}

/* ---- both ------------------------------------------------------------------------------------ */

static int admit_with_cores(struct oneib_live *live, const struct running *running,
                            enum oneib_config_hpc_cores policy,
                            const struct oneib_domain_threads *domain, struct oneib_text *warnings,
                            struct oneib_error *err)
{
    const struct coming coming = {domain->name, cores_of(running, domain)};
    return policy == ONEIB_HPC_CORES_REFUSE ? fail_floating(running, &coming, err)
                                            : keep_off(live, running, &coming, warnings, err);
}

static int admit(struct oneib_live *live, const struct running *running,
                 enum oneib_config_hpc_cores policy, const struct oneib_domain_threads *domain,
                 struct oneib_text *warnings, struct oneib_error *err)
{
    if (domain->has_hpc)
        return admit_with_cores(live, running, policy, domain, warnings, err);
    return policy == ONEIB_HPC_CORES_REFUSE ? fail_to_float(running, domain, err) : 0;
}

int oneib_cores_matter(enum oneib_config_hpc_cores policy, const char *xml, size_t length,
                       bool *matter, struct oneib_error *err)
{
    struct oneib_domain_threads domain;
    *matter = false;
    if (policy == ONEIB_HPC_CORES_SHARED)
        return 0;
    if (oneib_domain_threads_read(xml, length, &domain, err) < 0)
        return -1;
    const struct oneib_cpu_set any = {{1}}, reach = oneib_domain_reach(&domain, &any);
    *matter =
        domain.has_hpc || (policy == ONEIB_HPC_CORES_REFUSE && !oneib_cpu_set_is_empty(&reach));
    oneib_domain_threads_clear(&domain);
    return 0;
}

int oneib_cores_admit(struct oneib_live *live, const struct oneib_host_cpus *host,
                      enum oneib_config_hpc_cores policy, const char *xml, size_t length,
                      struct oneib_text *warnings, struct oneib_error *err)
{
    oneib_auto(clear) struct running running = {0};
    oneib_auto(oneib_domain_threads_clear) struct oneib_domain_threads domain = {0};
    if (policy == ONEIB_HPC_CORES_SHARED)
        return 0;
    if (oneib_domain_threads_read(xml, length, &domain, err) < 0 ||
        look(live, host, &running, err) < 0)
        return -1;
    return admit(live, &running, policy, &domain, warnings, err);
}

/* ---- telling --------------------------------------------------------------------------------- */

static void tell_one(const struct running *running, const struct oneib_domain_threads *domain,
                     struct oneib_text *lines)
{
    for (size_t i = 0; i < running->count; i++) {
        const struct oneib_domain_threads *other = &running->domains[i];
        const struct oneib_cpu_set cores = cores_of(running, other);
        if (other == domain || !floats_over(running, domain, &cores))
            continue;
        oneib_text_append_escaped(lines, domain->name ? domain->name : "", NAME_COLUMNS);
        oneib_text_append(lines, " may run on cores of ");
        oneib_text_append_escaped(lines, other->name ? other->name : "", NAME_COLUMNS);
        oneib_text_append(lines, "\n");
    }
}

int oneib_tell_sharing(struct oneib_live *live, const struct oneib_host_cpus *host,
                       struct oneib_text *lines, struct oneib_error *err)
{
    oneib_auto(clear) struct running running = {0};
    if (look(live, host, &running, err) < 0)
        return -1;
    for (size_t i = 0; i < running.count; i++)
        tell_one(&running, &running.domains[i], lines);
    return 0;
}
