// SPDX-License-Identifier: Apache-2.0
#include "vmm/tune.h"
#include "base/cleanup.h"
#include "domain/tuning.h"
#include "host/cores.h"
#include "node/host_cpus.h"
#include "vmm/cores_lock.h"
#include <inttypes.h>

void oneib_vmm_tune_unlock(int lock)
{
    if (lock >= 0)
        close(lock);
}

/* ---- where the VFs are ----------------------------------------------------------------------- */

static int fail_nodes(const struct oneib_pci *one, uint32_t its_node, const struct oneib_pci *other,
                      uint32_t others_node, struct oneib_error *err)
{
    char address[ONEIB_PCI_TEXT_SIZE], others_address[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(one, address);
    oneib_pci_format(other, others_address);
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "the VM's virtual functions are on two NUMA nodes, %s on node %" PRIu32
                      " and %s on node %" PRIu32 ", and its cores cannot be near both",
                      address, its_node, others_address, others_node);
}

static int find_node(const struct oneib_host_cpus *host, const struct oneib_pci *vfs,
                     size_t vf_count, uint32_t *node, struct oneib_error *err)
{
    uint32_t others;
    if (oneib_pci_numa_node(host, &vfs[0], node, err) < 0)
        return -1;
    for (size_t i = 1; i < vf_count; i++) {
        if (oneib_pci_numa_node(host, &vfs[i], &others, err) < 0)
            return -1;
        if (others != *node)
            return fail_nodes(&vfs[0], *node, &vfs[i], others, err);
    }
    return 0;
}

/* ---- pins of others -------------------------------------------------------------------------- */

/* A core of another node that has one of these CPUs; NULL: none has. */
static const struct oneib_core *core_elsewhere(const struct oneib_host_cpus *host, uint32_t node,
                                               const struct oneib_cpu_set *cpus)
{
    for (size_t i = 0; i < host->core_count; i++)
        if (host->cores[i].node != node && oneib_cpu_set_overlaps(&host->cores[i].threads, cpus))
            return &host->cores[i];
    return NULL;
}

static int check_pins(const struct oneib_host_cpus *host, const struct oneib_cpu_set *pins,
                      uint32_t node, const struct oneib_pci *vf, struct oneib_error *err)
{
    char address[ONEIB_PCI_TEXT_SIZE];
    oneib_autotext struct oneib_text list = {0};
    const struct oneib_core *elsewhere = core_elsewhere(host, node, pins);
    if (!elsewhere)
        return 0;
    oneib_pci_format(vf, address);
    oneib_cpu_set_render(pins, &list);
    return oneib_fail(
        err, ONEIB_ERROR_REFUSED,
        "TOPOLOGY has the VM on CPUs %s of the host, CPU %" PRIu32
        " among them is on NUMA node %" PRIu32 ", and its virtual function %s is on "
        "node %" PRIu32 ": have NODE_AFFINITY = \"%" PRIu32 "\" in TOPOLOGY, or no pinning",
        list.data ? list.data : "", elsewhere->first, elsewhere->node, address, node, node);
}

/* What the running domains have. */
struct taken {
    const char *own_name; /* the VM's own domain's; NULL: it has none */
    struct oneib_cpu_set cpus;
};

static int add_pins(const char *xml, size_t length, void *context, struct oneib_error *err)
{
    struct taken *taken = context;
    struct oneib_cpu_set pins;
    char *name = NULL;
    const int outcome = oneib_domain_pins_read(xml, length, &name, &pins, err);
    if (outcome == 0 && !(name && taken->own_name && strcmp(name, taken->own_name) == 0))
        oneib_cpu_set_add_all(&taken->cpus, &pins);
    free(name);
    return outcome;
}

/* ---- what the VM gets ------------------------------------------------------------------------ */

/* A VM while it is tuned. Borrowed pointers. */
struct vm {
    struct oneib_live *live; /* NULL unless hpc */
    const char *xml;
    size_t length;
    const struct oneib_pci *vfs;
    size_t vf_count;
    struct oneib_domain_demand demand;
};

static int choose_cores(const struct vm *vm, const struct oneib_host_cpus *host,
                        struct oneib_tuning *tuning, struct oneib_error *err)
{
    struct taken taken = {0};
    struct oneib_cpu_set own_pins;
    oneib_autofree char *own_name = NULL;
    if (oneib_domain_pins_read(vm->xml, vm->length, &own_name, &own_pins, err) < 0)
        return -1;
    taken.own_name = own_name;
    if (oneib_live_each(vm->live, add_pins, &taken, err) < 0)
        return oneib_wrap(err, "looking which cores are taken");
    tuning->pin = true;
    return oneib_cores_choose(host, tuning->node, vm->demand.vcpus, &taken.cpus, &tuning->cores,
                              err);
}

/* What oned has bound somewhere, or given huge pages, it has also counted. */
static int choose_memory(const struct vm *vm, const struct oneib_host_cpus *host,
                         struct oneib_tuning *tuning, struct oneib_error *err)
{
    const struct oneib_domain_demand *demand = &vm->demand;
    tuning->bind_memory = !demand->has_numatune;
    if (demand->has_numatune || demand->has_hugepages)
        return 0;
    return oneib_memory_choose(host, tuning->node, demand->memory_kib, demand->part_kib,
                               &tuning->page_kib, err);
}

static int choose(const struct vm *vm, const struct oneib_host_cpus *host,
                  struct oneib_tuning *tuning, struct oneib_error *err)
{
    const struct oneib_domain_demand *demand = &vm->demand;
    if (find_node(host, vm->vfs, vm->vf_count, &tuning->node, err) < 0)
        return -1;
    const int outcome = demand->pinned
                            ? check_pins(host, &demand->pins, tuning->node, &vm->vfs[0], err)
                            : choose_cores(vm, host, tuning, err);
    if (outcome < 0 || choose_memory(vm, host, tuning, err) < 0)
        return -1;
    tuning->host_cpu = demand->has_kvm && !demand->has_cpu_model;
    tuning->lock = !demand->locked;
    tuning->mark = true;
    return 0;
}

static int choose_here(const struct vm *vm, struct oneib_tuning *tuning, struct oneib_error *err)
{
    oneib_autocpus struct oneib_host_cpus host;
    if (oneib_host_cpus_read(&host, err) < 0)
        return -1;
    return choose(vm, &host, tuning, err);
}

static int tune(const struct vm *vm, struct oneib_text *tuned, struct oneib_error *err)
{
    struct oneib_tuning tuning = {0};
    if (choose_here(vm, &tuning, err) < 0)
        return oneib_wrap(err, "IB_HPC");
    return oneib_domain_tune(vm->xml, vm->length, &tuning, tuned, err);
}

/* The lock is there before anything is looked at. */
static int tune_for_hpc(const struct vm *vm, struct oneib_text *tuned, int *lock,
                        struct oneib_error *err)
{
    if (vm->demand.pinned)
        return tune(vm, tuned, err);
    oneib_autoclose int taken = -1;
    if (oneib_cores_lock(&taken, err) < 0)
        return oneib_wrap(err, "waiting for other VMs that are given cores");
    if (tune(vm, tuned, err) < 0)
        return -1;
    *lock = taken;
    taken = -1;
    return 0;
}

/* ---- VMs that have not asked ----------------------------------------------------------------- */

static int is_pinned_near(const struct vm *vm, bool *is_near, struct oneib_error *err)
{
    uint32_t node;
    oneib_autocpus struct oneib_host_cpus host;
    struct oneib_error why = {0};
    if (oneib_host_cpus_read(&host, err) < 0)
        return -1;
    *is_near = find_node(&host, vm->vfs, vm->vf_count, &node, &why) == 0 &&
               check_pins(&host, &vm->demand.pins, node, &vm->vfs[0], &why) == 0;
    return 0;
}

/* Nothing is refused here. What oneib gave while IB_HPC was there goes: those cores may be
 * somebody's. */
static int tune_for_topology(const struct vm *vm, struct oneib_text *tuned, struct oneib_error *err)
{
    struct oneib_tuning tuning = {0};
    if (vm->demand.pinned && !vm->demand.locked && is_pinned_near(vm, &tuning.lock, err) < 0)
        return -1;
    if (!tuning.lock && !vm->demand.tuned)
        return 0;
    return oneib_domain_tune(vm->xml, vm->length, &tuning, tuned, err);
}

int oneib_vmm_tune(struct oneib_live *live, const char *xml, size_t length, bool hpc,
                   const struct oneib_pci *vfs, size_t vf_count, struct oneib_text *tuned,
                   int *lock, struct oneib_error *err)
{
    struct vm vm = {.live = live, .xml = xml, .length = length, .vfs = vfs, .vf_count = vf_count};
    *lock = -1;
    if (oneib_domain_demand_read(xml, length, &vm.demand, err) < 0)
        return -1;
    return hpc ? tune_for_hpc(&vm, tuned, lock, err) : tune_for_topology(&vm, tuned, err);
}
