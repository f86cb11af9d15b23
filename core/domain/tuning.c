// SPDX-License-Identifier: Apache-2.0
#include "domain/tuning.h"
#include "base/memory.h"
#include "domain/tuning_internal.h"
#include "domain/xml_tree.h"
#include <inttypes.h>
#include <stdio.h>

#define NUMBER_SIZE 24

/* ---- taking away ----------------------------------------------------------------------------- */

static void remove_children(xmlNode *parent, const char *name)
{
    for (xmlNode *child = oneib_tree_child(parent, name); child;) {
        xmlNode *next = oneib_tree_next(child, name);
        oneib_tree_remove(child);
        child = next;
    }
}

/* What was made for that part alone goes with it. */
static void remove_part(xmlNode *domain, const struct oneib_tuning_place *place)
{
    for (xmlNode *parent = oneib_tree_child(domain, place->parent); parent;) {
        xmlNode *next = oneib_tree_next(parent, place->parent);
        remove_children(parent, place->child);
        if (!parent->children && !parent->properties)
            oneib_tree_remove(parent);
        parent = next;
    }
}

static void remove_marks(xmlNode *metadata)
{
    for (xmlNode *node = metadata->children; node;) {
        xmlNode *next = node->next;
        if (oneib_tuning_is_mark(node))
            oneib_tree_remove(node);
        node = next;
    }
    if (!metadata->children)
        oneib_tree_remove(metadata);
}

/* As if oneib had given nothing, but for the CPU's model: a guest that was saved needs the one it
 * had. */
static void take_back(xmlNode *domain)
{
    const struct oneib_tuning_mark mark = oneib_tuning_mark_read(domain);
    for (size_t i = 0; i < ONEIB_TUNING_PARTS; i++)
        if (mark.has[i])
            remove_part(domain, &oneib_tuning_places[i]);
    for (xmlNode *metadata = oneib_tree_child(domain, "metadata"); metadata;) {
        xmlNode *next = oneib_tree_next(metadata, "metadata");
        remove_marks(metadata);
        metadata = next;
    }
}

/* ---- giving ---------------------------------------------------------------------------------- */

/* Of several libvirt reads the first. */
static void set_number(xmlNode *node, const char *attribute, uint64_t number)
{
    char text[NUMBER_SIZE];
    snprintf(text, sizeof text, "%" PRIu64, number);
    oneib_tree_set(node, attribute, text);
}

static void set_cpus(xmlNode *node, const char *attribute, const struct oneib_cpu_set *cpus)
{
    oneib_autotext struct oneib_text text = {0};
    oneib_cpu_set_render(cpus, &text);
    oneib_tree_set(node, attribute, text.data ? text.data : "");
}

static void pin_vcpus(xmlNode *cputune, const struct oneib_cores *cores)
{
    for (size_t i = 0; i < cores->count; i++) {
        xmlNode *pin = oneib_tree_add(cputune, "vcpupin");
        set_number(pin, "vcpu", i);
        set_number(pin, "cpuset", cores->vcpus[i]);
    }
}

static void pin(xmlNode *domain, const struct oneib_cores *cores, struct oneib_tuning_mark *mark)
{
    xmlNode *cputune = oneib_tree_have(domain, "cputune");
    mark->has[ONEIB_TUNING_PINS] = true;
    pin_vcpus(cputune, cores);
    /* oned writes one where the host has CPUs set aside for emulators (EMULATOR_CPUS). */
    if (oneib_tuning_has(domain, "cputune", "emulatorpin"))
        return;
    mark->has[ONEIB_TUNING_EMULATOR] = true;
    set_cpus(oneib_tree_add(cputune, "emulatorpin"), "cpuset", &cores->threads);
}

static void bind_memory(xmlNode *domain, uint32_t node, struct oneib_tuning_mark *mark)
{
    xmlNode *memory = oneib_tree_add(oneib_tree_have(domain, "numatune"), "memory");
    mark->has[ONEIB_TUNING_MEMORY] = true;
    oneib_tree_set(memory, "mode", "strict");
    set_number(memory, "nodeset", node);
}

static void use_pages(xmlNode *domain, uint64_t page_kib, struct oneib_tuning_mark *mark)
{
    xmlNode *backing = oneib_tree_have(domain, "memoryBacking");
    xmlNode *page = oneib_tree_add(oneib_tree_add(backing, "hugepages"), "page");
    mark->has[ONEIB_TUNING_PAGES] = true;
    set_number(page, "size", page_kib);
    oneib_tree_set(page, "unit", "KiB");
}

static void lock_memory(xmlNode *domain, struct oneib_tuning_mark *mark)
{
    if (oneib_tuning_has(domain, "memoryBacking", "locked"))
        return;
    mark->has[ONEIB_TUNING_LOCKED] = true;
    oneib_tree_add(oneib_tree_have(domain, "memoryBacking"), "locked");
}

static void use_host_cpu(xmlNode *domain)
{
    oneib_tree_set(oneib_tree_have(domain, "cpu"), "mode", "host-passthrough");
}

static void write_mark(xmlNode *domain, const struct oneib_tuning_mark *mark)
{
    xmlNode *node = oneib_tree_add(oneib_tree_have(domain, "metadata"), ONEIB_TUNING_MARK);
    xmlSetNs(node, oneib_allocated(xmlNewNs(node, (const xmlChar *)ONEIB_TUNING_NAMESPACE,
                                            (const xmlChar *)ONEIB_TUNING_PREFIX)));
    oneib_tree_set(node, ONEIB_TUNING_HPC, "yes");
    for (size_t i = 0; i < ONEIB_TUNING_PARTS; i++)
        if (mark->has[i])
            oneib_tree_set(node, oneib_tuning_places[i].attribute, "yes");
}

/* The CPU comes first: it stays when the rest is taken back, and a second tuning is to have the
 * order of the first. */
static void give(xmlNode *domain, const struct oneib_tuning *tuning)
{
    struct oneib_tuning_mark mark = {0};
    if (tuning->host_cpu)
        use_host_cpu(domain);
    if (tuning->pin)
        pin(domain, &tuning->cores, &mark);
    if (tuning->bind_memory)
        bind_memory(domain, tuning->node, &mark);
    if (tuning->page_kib)
        use_pages(domain, tuning->page_kib, &mark);
    if (tuning->lock)
        lock_memory(domain, &mark);
    if (tuning->mark)
        write_mark(domain, &mark);
}

int oneib_domain_tune(const char *xml, size_t length, const struct oneib_tuning *tuning,
                      struct oneib_text *tuned, struct oneib_error *err)
{
    oneib_autotree xmlDoc *document = NULL;
    if (oneib_tree_parse(xml, length, &document, err) < 0)
        return -1;
    xmlNode *domain = xmlDocGetRootElement(document);
    take_back(domain);
    give(domain, tuning);
    return oneib_tree_render(document, tuned, err);
}
