// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/number.h"
#include "domain/tuning.h"
#include "domain/tuning_internal.h"
#include "domain/xml_tree.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

#define VCPUS_MAX UINT16_MAX /* libvirt's */

const struct oneib_tuning_place oneib_tuning_places[ONEIB_TUNING_PARTS] = {
    [ONEIB_TUNING_PINS] = {"pins", "cputune", "vcpupin"},
    [ONEIB_TUNING_EMULATOR] = {"emulator", "cputune", "emulatorpin"},
    [ONEIB_TUNING_MEMORY] = {"memory", "numatune", "memory"},
    [ONEIB_TUNING_PAGES] = {"pages", "memoryBacking", "hugepages"},
    [ONEIB_TUNING_LOCKED] = {"locked", "memoryBacking", "locked"},
};

/* ---- the mark -------------------------------------------------------------------------------- */

bool oneib_tuning_is_mark(const xmlNode *node)
{
    return node->type == XML_ELEMENT_NODE && node->ns &&
           strcmp((const char *)node->ns->href, ONEIB_TUNING_NAMESPACE) == 0 &&
           strcmp((const char *)node->name, ONEIB_TUNING_MARK) == 0;
}

static void read_mark(const xmlNode *node, struct oneib_tuning_mark *mark)
{
    for (size_t i = 0; i < ONEIB_TUNING_PARTS; i++)
        mark->has[i] |= oneib_tree_has(node, oneib_tuning_places[i].attribute, "yes");
    mark->is_hpc |= oneib_tree_has(node, ONEIB_TUNING_HPC, "yes");
    mark->is_there =
        !mark->is_hpc || mark->has[ONEIB_TUNING_PINS] || mark->has[ONEIB_TUNING_MEMORY];
}

struct oneib_tuning_mark oneib_tuning_mark_read(const xmlNode *domain)
{
    struct oneib_tuning_mark mark = {0};
    for (const xmlNode *metadata = oneib_tree_child(domain, "metadata"); metadata;
         metadata = oneib_tree_next(metadata, "metadata"))
        for (const xmlNode *node = metadata->children; node; node = node->next)
            if (oneib_tuning_is_mark(node))
                read_mark(node, &mark);
    return mark;
}

bool oneib_is_kept_mark(const xmlNode *node)
{
    return node->type == XML_ELEMENT_NODE && node->ns &&
           strcmp((const char *)node->ns->href, ONEIB_KEPT_NAMESPACE) == 0 &&
           strcmp((const char *)node->name, ONEIB_KEPT_MARK) == 0;
}

static void read_ids(const xmlNode *node, const char *attribute, struct oneib_cpu_set *ids)
{
    struct oneib_cpu_set these;
    const char *list = oneib_tree_attribute(node, attribute);
    if (list && oneib_cpu_set_parse(list, &these))
        oneib_cpu_set_add_all(ids, &these);
}

struct oneib_kept_mark oneib_kept_mark_read(const xmlNode *domain)
{
    struct oneib_kept_mark mark = {0};
    for (const xmlNode *metadata = oneib_tree_child(domain, "metadata"); metadata;
         metadata = oneib_tree_next(metadata, "metadata"))
        for (const xmlNode *node = metadata->children; node; node = node->next) {
            if (!oneib_is_kept_mark(node))
                continue;
            mark.is_there = true;
            mark.emulator |= oneib_tree_has(node, "emulator", "yes");
            read_ids(node, "vcpus", &mark.vcpus);
            read_ids(node, "iothreads", &mark.iothreads);
        }
    return mark;
}

bool oneib_tuning_has(const xmlNode *domain, const char *parent, const char *child)
{
    for (const xmlNode *node = oneib_tree_child(domain, parent); node;
         node = oneib_tree_next(node, parent))
        if (oneib_tree_child(node, child))
            return true;
    return false;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Without the blanks around it. */
static char *trimmed(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text + strspn(text, " \t\r\n");
}

/* Bytes in one of libvirt's units (formatdomain, memory allocation); 0: there is no such unit. */
static uint64_t bytes_of_unit(const char *unit)
{
    static const char letters[] = "kmgtpe";
    if (strcasecmp(unit, "b") == 0 || strcasecmp(unit, "bytes") == 0)
        return 1;
    const char *letter = *unit ? strchr(letters, tolower((unsigned char)*unit)) : NULL;
    const bool is_binary = letter && (unit[1] == '\0' || strcasecmp(unit + 1, "iB") == 0);
    if (!letter || (!is_binary && strcasecmp(unit + 1, "B") != 0))
        return 0;
    uint64_t bytes = 1;
    for (const char *step = letters; step <= letter; step++)
        bytes *= is_binary ? 1024 : 1000;
    return bytes;
}

/* Rounded up to KiB, as libvirt does. */
static bool parse_size(const char *digits, const char *unit, uint64_t *kib)
{
    uint64_t number;
    const uint64_t scale = bytes_of_unit(unit ? unit : "KiB");
    if (scale == 0 || !oneib_parse_decimal(digits, (UINT64_MAX - 1023) / scale, &number))
        return false;
    *kib = (number * scale + 1023) / 1024;
    return true;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b > 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int fail_size(const xmlNode *node, struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_INPUT, "the domain's document has an invalid size in <%s>",
                      (const char *)node->name);
}

/* <NAME unit='KiB'>1024</NAME> */
static int read_size(const xmlNode *node, uint64_t *kib, struct oneib_error *err)
{
    oneib_autofree char *text = oneib_tree_text(node);
    return parse_size(trimmed(text), oneib_tree_attribute(node, "unit"), kib)
               ? 0
               : fail_size(node, err);
}

static void add_piece(struct oneib_domain_demand *demand, uint64_t kib)
{
    demand->part_kib = common_divisor(demand->part_kib, kib);
}

static void add_total(struct oneib_domain_demand *demand, uint64_t kib)
{
    add_piece(demand, kib);
    if (kib > demand->memory_kib)
        demand->memory_kib = kib;
}

static int read_total(const xmlNode *domain, const char *name, struct oneib_domain_demand *demand,
                      struct oneib_error *err)
{
    uint64_t kib;
    const xmlNode *node = oneib_tree_child(domain, name);
    if (oneib_tree_count(domain, name) > 1)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "the domain's document has two <%s>", name);
    if (!node)
        return 0;
    if (read_size(node, &kib, err) < 0)
        return -1;
    add_total(demand, kib);
    return 0;
}

/* With virtual NUMA nodes their sum is the memory, whatever <memory> says. */
static int read_cells(const xmlNode *domain, struct oneib_domain_demand *demand,
                      struct oneib_error *err)
{
    uint64_t sum = 0, kib;
    const xmlNode *numa = oneib_tree_child(oneib_tree_child(domain, "cpu"), "numa");
    for (const xmlNode *cell = oneib_tree_child(numa, "cell"); cell;
         cell = oneib_tree_next(cell, "cell")) {
        if (!parse_size(oneib_tree_attribute(cell, "memory"), oneib_tree_attribute(cell, "unit"),
                        &kib) ||
            kib > UINT64_MAX / 1024 - sum)
            return fail_size(cell, err);
        sum += kib;
        add_piece(demand, kib);
    }
    if (sum > 0)
        add_total(demand, sum);
    return 0;
}

/* Memory that was plugged in: <maxMemory> has room for it. */
static int read_modules(const xmlNode *domain, struct oneib_domain_demand *demand,
                        struct oneib_error *err)
{
    uint64_t kib;
    for (const xmlNode *devices = oneib_tree_child(domain, "devices"); devices;
         devices = oneib_tree_next(devices, "devices"))
        for (const xmlNode *module = oneib_tree_child(devices, "memory"); module;
             module = oneib_tree_next(module, "memory")) {
            const xmlNode *size = oneib_tree_child(oneib_tree_child(module, "target"), "size");
            if (size && read_size(size, &kib, err) < 0)
                return -1;
            if (size)
                add_piece(demand, kib);
        }
    return 0;
}

static int read_memory(const xmlNode *domain, struct oneib_domain_demand *demand,
                       struct oneib_error *err)
{
    if (read_total(domain, "memory", demand, err) < 0 ||
        read_total(domain, "maxMemory", demand, err) < 0 || read_cells(domain, demand, err) < 0 ||
        read_modules(domain, demand, err) < 0)
        return -1;
    if (demand->memory_kib == 0)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "the domain's document does not say its memory");
    return 0;
}

/* ---- virtual cores --------------------------------------------------------------------------- */

static int read_vcpus(const xmlNode *domain, uint32_t *vcpus, struct oneib_error *err)
{
    uint64_t count;
    const xmlNode *node = oneib_tree_child(domain, "vcpu");
    *vcpus = 1;
    if (!node)
        return 0;
    oneib_autofree char *text = oneib_tree_text(node);
    if (oneib_tree_count(domain, "vcpu") > 1 ||
        !oneib_parse_decimal(trimmed(text), VCPUS_MAX, &count) || count == 0)
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "the domain's document does not say in one <vcpu> how many it has");
    *vcpus = (uint32_t)count;
    return 0;
}

/* ---- pins ------------------------------------------------------------------------------------ */

static int add_cpus(const char *list, struct oneib_cpu_set *cpus, struct oneib_error *err)
{
    struct oneib_cpu_set these;
    if (!list || !oneib_cpu_set_parse(list, &these))
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "the domain's document has a cpuset that is no list of CPUs below %d",
                          ONEIB_CPUS_MAX);
    oneib_cpu_set_add_all(cpus, &these);
    return 0;
}

/* One that keeps a virtual core off others' is none of its own. */
static bool is_kept(const struct oneib_kept_mark *kept, const xmlNode *pin)
{
    uint64_t vcpu;
    const char *text = oneib_tree_attribute(pin, "vcpu");
    return kept->is_there && text && oneib_parse_decimal(text, ONEIB_CPUS_MAX - 1, &vcpu) &&
           oneib_cpu_set_has(&kept->vcpus, (uint32_t)vcpu);
}

static int read_pins(const xmlNode *domain, struct oneib_cpu_set *pins, struct oneib_error *err)
{
    const struct oneib_kept_mark kept = oneib_kept_mark_read(domain);
    for (const xmlNode *tuning = oneib_tree_child(domain, "cputune"); tuning;
         tuning = oneib_tree_next(tuning, "cputune"))
        for (const xmlNode *pin = oneib_tree_child(tuning, "vcpupin"); pin;
             pin = oneib_tree_next(pin, "vcpupin"))
            if (!is_kept(&kept, pin) &&
                add_cpus(oneib_tree_attribute(pin, "cpuset"), pins, err) < 0)
                return -1;
    return 0;
}

/* <vcpu cpuset=''> is where all those virtual cores run that have no <vcpupin>. */
static int read_pins_of_any(const xmlNode *domain, struct oneib_cpu_set *pins,
                            struct oneib_error *err)
{
    const char *common = oneib_tree_attribute(oneib_tree_child(domain, "vcpu"), "cpuset");
    if (common && add_cpus(common, pins, err) < 0)
        return -1;
    return read_pins(domain, pins, err);
}

static void read_name(const xmlNode *domain, char **name)
{
    const xmlNode *node = oneib_tree_child(domain, "name");
    if (!node)
        return;
    *name = oneib_tree_text(node);
}

int oneib_domain_pins_read(const char *xml, size_t length, char **name, struct oneib_cpu_set *pins,
                           struct oneib_error *err)
{
    oneib_autotree xmlDoc *document = NULL;
    *name = NULL;
    *pins = (struct oneib_cpu_set){0};
    if (oneib_tree_parse(xml, length, &document, err) < 0)
        return -1;
    const xmlNode *domain = xmlDocGetRootElement(document);
    if (read_pins_of_any(domain, pins, err) < 0)
        return -1;
    read_name(domain, name);
    return 0;
}

static int read_pin(const xmlNode *pin, uint32_t *vcpu, struct oneib_cpu_set *cpus,
                    struct oneib_error *err)
{
    uint64_t number;
    const char *text = oneib_tree_attribute(pin, "vcpu");
    *cpus = (struct oneib_cpu_set){0};
    if (!text || !oneib_parse_decimal(text, VCPUS_MAX - 1, &number))
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "the domain's document has a <vcpupin> without a virtual core");
    *vcpu = (uint32_t)number;
    return add_cpus(oneib_tree_attribute(pin, "cpuset"), cpus, err);
}

int oneib_domain_each_pin(const char *xml, size_t length,
                          int (*each)(uint32_t vcpu, const struct oneib_cpu_set *cpus,
                                      void *context, struct oneib_error *err),
                          void *context, struct oneib_error *err)
{
    oneib_autotree xmlDoc *document = NULL;
    struct oneib_cpu_set cpus;
    uint32_t vcpu = 0;
    if (oneib_tree_parse(xml, length, &document, err) < 0)
        return -1;
    const xmlNode *tuning = oneib_tree_child(xmlDocGetRootElement(document), "cputune");
    for (const xmlNode *pin = oneib_tree_child(tuning, "vcpupin"); pin;
         pin = oneib_tree_next(pin, "vcpupin"))
        if (read_pin(pin, &vcpu, &cpus, err) < 0 || each(vcpu, &cpus, context, err) < 0)
            return -1;
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool has_of_others(const xmlNode *domain, const struct oneib_tuning_mark *mark,
                          enum oneib_tuning_part part)
{
    return !mark->has[part] && oneib_tuning_has(domain, oneib_tuning_places[part].parent,
                                                oneib_tuning_places[part].child);
}

static bool has_cpu_model(const xmlNode *domain)
{
    const xmlNode *cpu = oneib_tree_child(domain, "cpu");
    return oneib_tree_attribute(cpu, "mode") || oneib_tree_child(cpu, "model");
}

static int read_demand(const xmlNode *domain, struct oneib_domain_demand *demand,
                       struct oneib_error *err)
{
    const struct oneib_tuning_mark mark = oneib_tuning_mark_read(domain);
    demand->tuned = mark.is_there;
    demand->pinned = has_of_others(domain, &mark, ONEIB_TUNING_PINS);
    demand->has_numatune = has_of_others(domain, &mark, ONEIB_TUNING_MEMORY) ||
                           oneib_tuning_has(domain, "numatune", "memnode");
    demand->has_hugepages = has_of_others(domain, &mark, ONEIB_TUNING_PAGES);
    demand->locked = has_of_others(domain, &mark, ONEIB_TUNING_LOCKED);
    demand->has_cpu_model = has_cpu_model(domain);
    demand->has_kvm = oneib_tree_has(domain, "type", "kvm");
    if (demand->pinned && read_pins(domain, &demand->pins, err) < 0)
        return -1;
    if (read_vcpus(domain, &demand->vcpus, err) < 0)
        return -1;
    return read_memory(domain, demand, err);
}

int oneib_domain_demand_read(const char *xml, size_t length, struct oneib_domain_demand *demand,
                             struct oneib_error *err)
{
    oneib_autotree xmlDoc *document = NULL;
    *demand = (struct oneib_domain_demand){0};
    if (oneib_tree_parse(xml, length, &document, err) < 0)
        return -1;
    return read_demand(xmlDocGetRootElement(document), demand, err);
}
