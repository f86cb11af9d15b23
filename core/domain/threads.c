// SPDX-License-Identifier: Apache-2.0
#include "domain/threads.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/number.h"
#include "domain/tuning_internal.h"
#include "domain/xml_tree.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define IDS_MAX ONEIB_CPUS_MAX /* of virtual cores, of I/O threads */

/* ---- pins ------------------------------------------------------------------------------------ */

struct reading {
    const xmlNode *domain;
    struct oneib_kept_mark kept;
    struct oneib_domain_threads *threads;
};

static const xmlNode *find_pin(const xmlNode *domain, const char *name, const char *attribute,
                               const char *id)
{
    for (const xmlNode *tuning = oneib_tree_child(domain, "cputune"); tuning;
         tuning = oneib_tree_next(tuning, "cputune"))
        for (const xmlNode *pin = oneib_tree_child(tuning, name); pin;
             pin = oneib_tree_next(pin, name))
            if (!attribute || oneib_tree_has(pin, attribute, id))
                return pin;
    return NULL;
}

static const xmlNode *pin_of(const xmlNode *domain, enum oneib_thread_kind kind, uint32_t id)
{
    char text[16];
    snprintf(text, sizeof text, "%" PRIu32, id);
    switch (kind) {
    case ONEIB_THREAD_VCPU:
        return find_pin(domain, "vcpupin", "vcpu", text);
    case ONEIB_THREAD_IO:
        return find_pin(domain, "iothreadpin", "iothread", text);
    case ONEIB_THREAD_EMULATOR:
        break;
    }
    return find_pin(domain, "emulatorpin", NULL, NULL);
}

static bool is_kept(const struct oneib_kept_mark *kept, enum oneib_thread_kind kind, uint32_t id)
{
    if (kind == ONEIB_THREAD_EMULATOR)
        return kept->emulator;
    return oneib_cpu_set_has(kind == ONEIB_THREAD_VCPU ? &kept->vcpus : &kept->iothreads, id);
}

static int fail_list(struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_INPUT,
                      "the domain's document has a cpuset that is no list of CPUs below %d",
                      ONEIB_CPUS_MAX);
}

static int add_pins(const xmlNode *pin, struct oneib_cpu_set *pins, struct oneib_error *err)
{
    struct oneib_cpu_set cpus;
    const char *list = oneib_tree_attribute(pin, "cpuset");
    if (!list || !oneib_cpu_set_parse(list, &cpus))
        return fail_list(err);
    oneib_cpu_set_add_all(pins, &cpus);
    return 0;
}

static int add_loose(struct oneib_domain_threads *threads, struct oneib_loose_thread thread,
                     const char *list, struct oneib_error *err)
{
    struct oneib_cpu_set cpus;
    if (list && !oneib_cpu_set_parse(list, &cpus))
        return fail_list(err);
    thread.cpus = list ? oneib_strdup(list) : NULL;
    ONEIB_APPEND(threads->items, threads->count, threads->capacity, thread);
    return 0;
}

/* Of others' pins those of virtual cores count: they say whose cores are whose. */
static int add_thread(const struct reading *reading, enum oneib_thread_kind kind, uint32_t id,
                      struct oneib_error *err)
{
    const struct oneib_loose_thread thread = {
        .kind = kind, .id = id, .is_kept = is_kept(&reading->kept, kind, id)};
    const xmlNode *pin = pin_of(reading->domain, kind, id);
    if (!pin || thread.is_kept)
        return add_loose(reading->threads, thread, oneib_tree_attribute(pin, "cpuset"), err);
    return kind == ONEIB_THREAD_VCPU ? add_pins(pin, &reading->threads->pins, err) : 0;
}

/* ---- which threads there are ----------------------------------------------------------------- */

static bool parse_id(const char *text, uint32_t *id)
{
    uint64_t value;
    if (!oneib_parse_decimal(text, IDS_MAX - 1, &value))
        return false;
    *id = (uint32_t)value;
    return true;
}

static int fail_ids(struct oneib_error *err, const char *what)
{
    return oneib_fail(err, ONEIB_ERROR_INPUT,
                      "the domain's document does not say which %s it has, or has more than %d",
                      what, IDS_MAX);
}

/* "4", or "" where there is no such element, which is none of its own. */
static bool parse_count(const xmlNode *node, uint32_t *count)
{
    oneib_autofree char *text = oneib_tree_text(node);
    uint64_t value;
    if (!text || !oneib_parse_decimal(text, IDS_MAX, &value))
        return false;
    *count = (uint32_t)value;
    return true;
}

/* <vcpus><vcpu id='0' enabled='yes'/>: libvirt writes it where some can be plugged. */
static int add_enabled_vcpus(const struct reading *reading, const xmlNode *vcpus,
                             struct oneib_error *err)
{
    uint32_t id;
    for (const xmlNode *vcpu = oneib_tree_child(vcpus, "vcpu"); vcpu;
         vcpu = oneib_tree_next(vcpu, "vcpu")) {
        if (!oneib_tree_has(vcpu, "enabled", "yes"))
            continue;
        if (!parse_id(oneib_tree_attribute(vcpu, "id"), &id))
            return fail_ids(err, "virtual cores");
        if (add_thread(reading, ONEIB_THREAD_VCPU, id, err) < 0)
            return -1;
    }
    return 0;
}

static int add_vcpus(const struct reading *reading, struct oneib_error *err)
{
    uint32_t count = 1;
    const xmlNode *vcpu = oneib_tree_child(reading->domain, "vcpu");
    const xmlNode *vcpus = oneib_tree_child(reading->domain, "vcpus");
    const char *current = oneib_tree_attribute(vcpu, "current");
    if (oneib_tree_attribute(vcpu, "cpuset")) /* where all run that have no pin of their own */
        return add_pins(vcpu, &reading->threads->pins, err);
    if (vcpus)
        return add_enabled_vcpus(reading, vcpus, err);
    if (vcpu && !parse_count(vcpu, &count))
        return fail_ids(err, "virtual cores");
    if (current && !parse_id(current, &count))
        return fail_ids(err, "virtual cores");
    for (uint32_t id = 0; id < count; id++)
        if (add_thread(reading, ONEIB_THREAD_VCPU, id, err) < 0)
            return -1;
    return 0;
}

static int add_listed_io(const struct reading *reading, const xmlNode *ids, struct oneib_error *err)
{
    uint32_t id;
    for (const xmlNode *thread = oneib_tree_child(ids, "iothread"); thread;
         thread = oneib_tree_next(thread, "iothread")) {
        if (!parse_id(oneib_tree_attribute(thread, "id"), &id))
            return fail_ids(err, "I/O threads");
        if (add_thread(reading, ONEIB_THREAD_IO, id, err) < 0)
            return -1;
    }
    return 0;
}

/* Numbered from 1 where their ids are not listed. */
static int add_io(const struct reading *reading, struct oneib_error *err)
{
    uint32_t count = 0;
    const xmlNode *node = oneib_tree_child(reading->domain, "iothreads");
    const xmlNode *ids = oneib_tree_child(reading->domain, "iothreadids");
    if (oneib_tree_child(ids, "iothread"))
        return add_listed_io(reading, ids, err);
    if (node && !parse_count(node, &count))
        return fail_ids(err, "I/O threads");
    for (uint32_t id = 1; id <= count; id++)
        if (add_thread(reading, ONEIB_THREAD_IO, id, err) < 0)
            return -1;
    return 0;
}

static void read_text(const xmlNode *domain, const char *element, char **text)
{
    const xmlNode *node = oneib_tree_child(domain, element);
    if (node)
        *text = oneib_tree_text(node);
}

static int read_all(const struct reading *reading, struct oneib_error *err)
{
    const xmlNode *domain = reading->domain;
    reading->threads->kept_vcpus = reading->kept.vcpus;
    reading->threads->kept_io = reading->kept.iothreads;
    reading->threads->has_hpc = oneib_tuning_mark_read(domain).is_hpc;
    read_text(domain, "name", &reading->threads->name);
    read_text(domain, "uuid", &reading->threads->uuid);
    if (add_vcpus(reading, err) < 0)
        return -1;
    /* Who has said where virtual cores run has said it of the emulator, too. */
    if (!oneib_tree_attribute(oneib_tree_child(domain, "vcpu"), "cpuset") &&
        add_thread(reading, ONEIB_THREAD_EMULATOR, 0, err) < 0)
        return -1;
    return add_io(reading, err);
}

int oneib_domain_threads_read(const char *xml, size_t length, struct oneib_domain_threads *threads,
                              struct oneib_error *err)
{
    oneib_autotree xmlDoc *document = NULL;
    *threads = (struct oneib_domain_threads){0};
    if (oneib_tree_parse(xml, length, &document, err) < 0)
        return -1;
    const xmlNode *domain = xmlDocGetRootElement(document);
    const struct reading reading = {domain, oneib_kept_mark_read(domain), threads};
    if (read_all(&reading, err) == 0)
        return 0;
    oneib_domain_threads_clear(threads);
    return -1;
}

void oneib_domain_threads_clear(struct oneib_domain_threads *threads)
{
    for (size_t i = 0; i < threads->count; i++)
        free(threads->items[i].cpus);
    free(threads->items);
    free(threads->name);
    free(threads->uuid);
    *threads = (struct oneib_domain_threads){0};
}

/* ---- where they run -------------------------------------------------------------------------- */

static struct oneib_cpu_set reach_of(const struct oneib_loose_thread *thread,
                                     const struct oneib_cpu_set *floating)
{
    struct oneib_cpu_set cpus;
    if (!thread->cpus || !oneib_cpu_set_parse(thread->cpus, &cpus))
        return *floating;
    return cpus;
}

struct oneib_cpu_set oneib_domain_reach(const struct oneib_domain_threads *threads,
                                        const struct oneib_cpu_set *floating)
{
    struct oneib_cpu_set reach = {0};
    for (size_t i = 0; i < threads->count; i++) {
        const struct oneib_cpu_set cpus = reach_of(&threads->items[i], floating);
        if (threads->items[i].kind == ONEIB_THREAD_VCPU)
            oneib_cpu_set_add_all(&reach, &cpus);
    }
    return reach;
}

bool oneib_thread_must_move(const struct oneib_loose_thread *thread, const struct oneib_cpu_set *to,
                            const struct oneib_cpu_set *floating)
{
    const struct oneib_cpu_set now = reach_of(thread, floating);
    return !oneib_cpu_set_is_equal(&now, to);
}

/* ---- the mark -------------------------------------------------------------------------------- */

bool oneib_domain_is_marked(const struct oneib_domain_threads *threads)
{
    for (size_t i = 0; i < threads->count; i++)
        if (!threads->items[i].is_kept)
            return false;
    return true;
}

/* A virtual core that is unplugged keeps its pin in the document. */
static void render_ids(const struct oneib_domain_threads *threads, enum oneib_thread_kind kind,
                       const char *attribute, struct oneib_text *text)
{
    struct oneib_cpu_set ids = kind == ONEIB_THREAD_VCPU ? threads->kept_vcpus : threads->kept_io;
    for (size_t i = 0; i < threads->count; i++)
        if (threads->items[i].kind == kind)
            oneib_cpu_set_add(&ids, threads->items[i].id);
    if (oneib_cpu_set_is_empty(&ids))
        return;
    oneib_text_printf(text, " %s='", attribute);
    oneib_cpu_set_render(&ids, text);
    oneib_text_append(text, "'");
}

void oneib_domain_mark_render(const struct oneib_domain_threads *threads, struct oneib_text *text)
{
    bool has_emulator = false;
    for (size_t i = 0; i < threads->count; i++)
        has_emulator |= threads->items[i].kind == ONEIB_THREAD_EMULATOR;
    oneib_text_append(text, "<" ONEIB_KEPT_MARK);
    render_ids(threads, ONEIB_THREAD_VCPU, "vcpus", text);
    render_ids(threads, ONEIB_THREAD_IO, "iothreads", text);
    oneib_text_append(text, has_emulator ? " emulator='yes'/>" : "/>");
}

/* ---- taking it back -------------------------------------------------------------------------- */

static bool names_one_of(const xmlNode *pin, const char *attribute, const struct oneib_cpu_set *ids)
{
    uint32_t id;
    return parse_id(oneib_tree_attribute(pin, attribute), &id) && oneib_cpu_set_has(ids, id);
}

static bool is_kept_pin(const xmlNode *node, const struct oneib_kept_mark *kept)
{
    return (oneib_tree_is(node, "vcpupin") && names_one_of(node, "vcpu", &kept->vcpus)) ||
           (oneib_tree_is(node, "iothreadpin") &&
            names_one_of(node, "iothread", &kept->iothreads)) ||
           (oneib_tree_is(node, "emulatorpin") && kept->emulator);
}

static void remove_pins(xmlNode *cputune, const struct oneib_kept_mark *kept)
{
    for (xmlNode *node = cputune->children; node;) {
        xmlNode *next = node->next;
        if (is_kept_pin(node, kept))
            oneib_tree_remove(node);
        node = next;
    }
}

static void remove_marks(xmlNode *metadata)
{
    for (xmlNode *node = metadata->children; node;) {
        xmlNode *next = node->next;
        if (oneib_is_kept_mark(node))
            oneib_tree_remove(node);
        node = next;
    }
}

int oneib_domain_free_threads(const char *xml, size_t length, struct oneib_text *freed,
                              struct oneib_error *err)
{
    oneib_autotree xmlDoc *document = NULL;
    if (oneib_tree_parse(xml, length, &document, err) < 0)
        return -1;
    xmlNode *domain = xmlDocGetRootElement(document);
    const struct oneib_kept_mark kept = oneib_kept_mark_read(domain);
    if (!kept.is_there)
        return 0;
    for (xmlNode *node = oneib_tree_child(domain, "cputune"); node;
         node = oneib_tree_next(node, "cputune"))
        remove_pins(node, &kept);
    for (xmlNode *node = oneib_tree_child(domain, "metadata"); node;
         node = oneib_tree_next(node, "metadata"))
        remove_marks(node);
    return oneib_tree_render(document, freed, err);
}
