// SPDX-License-Identifier: Apache-2.0
#include "host/cores.h"
#include "base/number.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BITS 64
#define WORDS (ONEIB_CPUS_MAX / WORD_BITS)

/* ---- sets of CPUs ---------------------------------------------------------------------------- */

static uint64_t bit_of(uint32_t cpu)
{
    return UINT64_C(1) << cpu % WORD_BITS;
}

bool oneib_cpu_set_has(const struct oneib_cpu_set *set, uint32_t cpu)
{
    return cpu < ONEIB_CPUS_MAX && (set->words[cpu / WORD_BITS] & bit_of(cpu)) != 0;
}

void oneib_cpu_set_add(struct oneib_cpu_set *set, uint32_t cpu)
{
    if (cpu < ONEIB_CPUS_MAX)
        set->words[cpu / WORD_BITS] |= bit_of(cpu);
}

static void remove_cpu(struct oneib_cpu_set *set, uint32_t cpu)
{
    set->words[cpu / WORD_BITS] &= ~bit_of(cpu);
}

void oneib_cpu_set_add_all(struct oneib_cpu_set *set, const struct oneib_cpu_set *other)
{
    for (size_t i = 0; i < WORDS; i++)
        set->words[i] |= other->words[i];
}

void oneib_cpu_set_remove_all(struct oneib_cpu_set *set, const struct oneib_cpu_set *other)
{
    for (size_t i = 0; i < WORDS; i++)
        set->words[i] &= ~other->words[i];
}

bool oneib_cpu_set_is_empty(const struct oneib_cpu_set *set)
{
    uint64_t any = 0;
    for (size_t i = 0; i < WORDS; i++)
        any |= set->words[i];
    return any == 0;
}

bool oneib_cpu_set_is_equal(const struct oneib_cpu_set *set, const struct oneib_cpu_set *other)
{
    return memcmp(set->words, other->words, sizeof set->words) == 0;
}

bool oneib_cpu_set_overlaps(const struct oneib_cpu_set *set, const struct oneib_cpu_set *other)
{
    uint64_t both = 0;
    for (size_t i = 0; i < WORDS; i++)
        both |= set->words[i] & other->words[i];
    return both != 0;
}

/* ---- their text ------------------------------------------------------------------------------ */

static bool parse_cpu(const char *text, size_t length, uint32_t *cpu)
{
    uint64_t value;
    if (!oneib_parse_decimal_n(text, length, ONEIB_CPUS_MAX - 1, &value))
        return false;
    *cpu = (uint32_t)value;
    return true;
}

/* "8" or "0-3". */
static bool parse_range(const char *text, size_t length, struct oneib_cpu_set *set)
{
    uint32_t first, last;
    const char *dash = memchr(text, '-', length);
    const size_t first_length = dash ? (size_t)(dash - text) : length;
    if (!parse_cpu(text, first_length, &first))
        return false;
    last = first;
    if (dash && (!parse_cpu(dash + 1, length - first_length - 1, &last) || last < first))
        return false;
    for (uint32_t cpu = first; cpu <= last; cpu++)
        oneib_cpu_set_add(set, cpu);
    return true;
}

static bool parse_item(const char *text, size_t length, struct oneib_cpu_set *set)
{
    uint32_t excluded;
    if (length == 0 || text[0] != '^')
        return parse_range(text, length, set);
    if (!parse_cpu(text + 1, length - 1, &excluded))
        return false;
    remove_cpu(set, excluded);
    return true;
}

bool oneib_cpu_set_parse(const char *text, struct oneib_cpu_set *set)
{
    *set = (struct oneib_cpu_set){0};
    if (*text == '\0')
        return true;
    for (;;) {
        const size_t length = strcspn(text, ",");
        if (!parse_item(text, length, set))
            return false;
        if (text[length] == '\0')
            return true;
        text += length + 1;
    }
}

static uint32_t next_in(const struct oneib_cpu_set *set, uint32_t cpu)
{
    while (cpu < ONEIB_CPUS_MAX && !oneib_cpu_set_has(set, cpu))
        cpu++;
    return cpu;
}

void oneib_cpu_set_render(const struct oneib_cpu_set *set, struct oneib_text *text)
{
    const char *comma = "";
    for (uint32_t cpu = next_in(set, 0); cpu < ONEIB_CPUS_MAX; cpu = next_in(set, cpu)) {
        const uint32_t first = cpu;
        while (oneib_cpu_set_has(set, cpu))
            cpu++;
        oneib_text_printf(text, "%s%" PRIu32, comma, first);
        if (cpu - first > 1)
            oneib_text_printf(text, "-%" PRIu32, cpu - 1);
        comma = ",";
    }
}

/* ---- a host ---------------------------------------------------------------------------------- */

void oneib_host_cpus_clear(struct oneib_host_cpus *host)
{
    free(host->cores);
    free(host->nodes);
    *host = (struct oneib_host_cpus){0};
}

const struct oneib_numa_node *oneib_numa_node_of(const struct oneib_host_cpus *host, uint32_t id)
{
    for (size_t i = 0; i < host->node_count; i++)
        if (host->nodes[i].id == id)
            return &host->nodes[i];
    return NULL;
}

static int fail_node(uint32_t node, struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_REFUSED, "this host has no NUMA node %" PRIu32, node);
}

/* ---- cores ----------------------------------------------------------------------------------- */

/* The one where the kernel's own work gathers; NULL: the host has none. */
static const struct oneib_core *first_core(const struct oneib_host_cpus *host)
{
    const struct oneib_core *first = NULL;
    for (size_t i = 0; i < host->core_count; i++)
        if (!first || host->cores[i].first < first->first)
            first = &host->cores[i];
    return first;
}

struct supply {
    uint32_t all, free;
};

static struct supply count_cores(const struct oneib_host_cpus *host, uint32_t node,
                                 const struct oneib_cpu_set *taken)
{
    struct supply supply = {0};
    for (size_t i = 0; i < host->core_count; i++) {
        const struct oneib_core *core = &host->cores[i];
        if (core->node != node)
            continue;
        supply.all++;
        supply.free += oneib_cpu_set_overlaps(&core->threads, taken) ? 0 : 1;
    }
    return supply;
}

static void take_core(const struct oneib_core *core, struct oneib_cores *cores)
{
    cores->vcpus[cores->count++] = core->first;
    oneib_cpu_set_add_all(&cores->threads, &core->threads);
}

int oneib_cores_choose(const struct oneib_host_cpus *host, uint32_t node, uint32_t count,
                       const struct oneib_cpu_set *taken, struct oneib_cores *cores,
                       struct oneib_error *err)
{
    const struct oneib_core *last_choice = first_core(host);
    *cores = (struct oneib_cores){0};
    if (!oneib_numa_node_of(host, node))
        return fail_node(node, err);
    const struct supply supply = count_cores(host, node, taken);
    if (supply.free < count || count > ONEIB_VCPUS_MAX)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "node %" PRIu32 " has %" PRIu32 " cores, %" PRIu32
                          " of them free, and the VM wants %" PRIu32,
                          node, supply.all, supply.free, count);
    for (size_t i = 0; i < host->core_count && cores->count < count; i++) {
        const struct oneib_core *core = &host->cores[i];
        if (core->node == node && core != last_choice &&
            !oneib_cpu_set_overlaps(&core->threads, taken))
            take_core(core, cores);
    }
    /* There are enough: what is still missing is that one. */
    if (cores->count < count)
        take_core(last_choice, cores);
    return 0;
}

void oneib_cores_whole(const struct oneib_host_cpus *host, const struct oneib_cpu_set *cpus,
                       struct oneib_cpu_set *cores)
{
    for (size_t i = 0; i < host->core_count; i++)
        if (oneib_cpu_set_overlaps(&host->cores[i].threads, cpus))
            oneib_cpu_set_add_all(cores, &host->cores[i].threads);
}

/* ---- memory ---------------------------------------------------------------------------------- */

int oneib_memory_choose(const struct oneib_host_cpus *host, uint32_t node, uint64_t memory_kib,
                        uint64_t part_kib, uint64_t *page_kib, struct oneib_error *err)
{
    const struct oneib_numa_node *place = oneib_numa_node_of(host, node);
    *page_kib = 0;
    if (!place)
        return fail_node(node, err);
    for (size_t i = 0; i < place->page_sizes && part_kib > 0; i++) {
        const struct oneib_host_pages *pages = &place->pages[i];
        if (pages->page_kib > 0 && part_kib % pages->page_kib == 0 &&
            memory_kib / pages->page_kib <= pages->free)
            *page_kib = pages->page_kib;
    }
    if (*page_kib > 0 || memory_kib <= place->available_kib)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "node %" PRIu32 " has %" PRIu64 " KiB of memory, %" PRIu64
                      " KiB of them available, and the VM wants %" PRIu64 " KiB",
                      node, place->memory_kib, place->available_kib, memory_kib);
}
