// SPDX-License-Identifier: Apache-2.0
#include "stage.h"
#include "../lab_node.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "cluster/ledger.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define SETTLE_MS 20000u
#define KEY_MS 20000u
#define LCM_SHUTDOWN 12
#define LCM_MIGRATE 4
#define LCM_BOOT 2
#define LCM_UNKNOWN 16
#define LCM_BOOT_FAILURE 36

static bool holds(const struct demo_vm *vm, size_t host)
{
    return vm->host == host || vm->moving_to == host;
}

static unsigned wanted_on(const struct demo_stage *stage, size_t host)
{
    unsigned tenants = 0;
    if (stage->is_virtual) /* keys are on virtual ports alone */
        return 0;
    for (size_t i = 0; i < stage->vm_count; i++)
        if (holds(&stage->vms[i], host))
            tenants |= 1u << stage->vms[i].tenant;
    return tenants;
}

/* *foreign: the port holds a key that is no tenant's, besides the default one. */
static int read_port(struct demo_stage *stage, size_t host, unsigned *tenants, bool *foreign,
                     struct oneib_error *err)
{
    uint16_t pkeys[128];
    size_t count = 0;
    if (lab_host_pkeys(stage->lab, host, pkeys, sizeof pkeys / sizeof *pkeys, &count, err) < 0)
        return -1;
    *tenants = 0;
    *foreign = false;
    for (size_t i = 0; i < count; i++) {
        size_t t = 0;
        while (t < stage->tenant_count && oneib_pkey_base(pkeys[i]) != stage->tenants[t].pkey)
            t++;
        if (t < stage->tenant_count)
            *tenants |= 1u << t;
        else
            *foreign = *foreign || oneib_pkey_base(pkeys[i]) != ONEIB_PKEY_DEFAULT;
    }
    return 0;
}

static void note_time(struct demo_times *times, double ms)
{
    if (times && times->count < sizeof times->items / sizeof *times->items)
        times->items[times->count++] = ms;
}

int demo_settle(struct demo_stage *stage, size_t host, double began_ms, struct demo_times *times,
                struct oneib_error *err)
{
    const unsigned wanted = wanted_on(stage, host);
    if (stage->is_fenced[host] || wanted == stage->held[host])
        return 0;
    for (;;) {
        bool foreign = false;
        const bool is_read = read_port(stage, host, &stage->held[host], &foreign, err) == 0;
        if (is_read && stage->held[host] == wanted && !foreign)
            break;
        if (!is_read && (!stage->is_kept || oneib_now_ms() > began_ms + SETTLE_MS))
            return -1;
        if (oneib_now_ms() > began_ms + SETTLE_MS)
            return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                              "the port of host %s does not hold what it should after %u ms",
                              demo_host_name(stage, host), SETTLE_MS);
    }
    note_time(times, oneib_now_ms() - began_ms);
    return 0;
}

/* As its adapter sees it. */
static bool is_down(const struct demo_stage *stage, size_t host)
{
    char path[PATH_MAX], state[16] = "";
    snprintf(path, sizeof path, "%s/sys/class/infiniband/%s/ports/1/state",
             lab_node_root(stage->lab, host), stage->is_virtual ? "mlx5_0" : "mlx4_0");
    oneib_autofclose FILE *file = fopen(path, "re");
    return file && fgets(state, sizeof state, file) && strcmp(state, "1: DOWN\n") == 0;
}

/* A switch does so by itself, ibsim does not: a link that was disabled comes up again. */
static int bring_up(struct demo_stage *stage, size_t host, struct oneib_error *err)
{
    stage->held[host] = ~0u;
    return lab_fabric_link(stage->lab, host, false, err) < 0 ||
                   lab_fabric_link(stage->lab, host, true, err) < 0
               ? -1
               : demo_settle(stage, host, oneib_now_ms(), NULL, err);
}

int demo_follow_fences(struct demo_stage *stage, struct oneib_error *err)
{
    int status = 0;
    struct oneib_ledger ledger = {0};
    if (lab_ledger_read(stage->lab, &ledger, err) < 0)
        return -1;
    for (size_t host = 0; host < DEMO_HOSTS; host++) {
        stage->is_fenced[host] = oneib_ledger_fence(&ledger, (uint32_t)host) != NULL;
        const bool was_down = stage->is_down[host];
        stage->is_down[host] = is_down(stage, host);
        if (!stage->is_fenced[host] && stage->is_down[host] && !was_down &&
            bring_up(stage, host, err) < 0)
            status = -1;
        if (stage->is_fenced[host])
            stage->is_down[host] = false;
    }
    oneib_ledger_clear(&ledger);
    return status;
}

int demo_tenant_add(struct demo_stage *stage, const char *name, const char *qos_class,
                    struct oneib_error *err)
{
    char extra[64];
    struct demo_tenant *tenant = &stage->tenants[stage->tenant_count];
    *tenant = (struct demo_tenant){.name = name};
    snprintf(extra, sizeof extra, "IB_CLASS=%s", qos_class);
    if (lab_network_create(stage->lab, name, "", extra, &tenant->network, err) < 0)
        return -1;
    stage->tenant_count++;
    return 0;
}

static int await_key(struct demo_stage *stage, struct demo_tenant *tenant, struct oneib_error *err)
{
    const double end = oneib_now_ms() + KEY_MS;
    for (;;) {
        char text[16];
        if (lab_network_vlan_id(stage->lab, tenant->network, text, sizeof text, err) < 0)
            return -1;
        if (oneib_pkey_parse(text, &tenant->pkey))
            return 0;
        if (oneib_now_ms() > end)
            return oneib_fail(err, ONEIB_ERROR_TIMEOUT, "network \"%s\" was given no P_Key",
                              tenant->name);
        lab_sleep_ms(5);
    }
}

int demo_learn_keys(struct demo_stage *stage, struct oneib_error *err)
{
    for (size_t t = 0; t < stage->tenant_count; t++)
        if (await_key(stage, &stage->tenants[t], err) < 0)
            return -1;
    return 0;
}

const char *demo_host_name(const struct demo_stage *stage, size_t host)
{
    return lab_host_hca(stage->lab, host);
}

bool demo_find_room(const struct demo_stage *stage, size_t *host)
{
    for (*host = 0; *host < DEMO_HOSTS; ++*host)
        if (!stage->is_fenced[*host] && demo_vfs_used(stage, *host) < DEMO_VFS_PER_HOST)
            return true;
    return false;
}

size_t demo_vfs_used(const struct demo_stage *stage, size_t host)
{
    size_t used = 0;
    for (size_t i = 0; i < stage->vm_count; i++)
        used += stage->vms[i].host == host;
    return used;
}

/* Keeps VMs ordered by tenant, then age, so that clusters are blocks of the matrix. */
static struct demo_vm *insert_vm(struct demo_stage *stage, size_t tenant)
{
    size_t at = stage->vm_count;
    while (at > 0 && stage->vms[at - 1].tenant > tenant)
        at--;
    memmove(&stage->vms[at + 1], &stage->vms[at], (stage->vm_count - at) * sizeof *stage->vms);
    stage->vm_count++;
    stage->tenants[tenant].vms++;
    stage->vms[at] = (struct demo_vm){.tenant = tenant, .moving_to = DEMO_NOWHERE};
    return &stage->vms[at];
}

static void forget_vm(struct demo_stage *stage, struct demo_vm *vm)
{
    const size_t at = (size_t)(vm - stage->vms);
    stage->tenants[vm->tenant].vms--;
    stage->vm_count--;
    memmove(vm, vm + 1, (stage->vm_count - at) * sizeof *vm);
}

/* OpenNebula's state of a VM whose action has failed. */
static int fail_vm(struct demo_stage *stage, struct demo_vm *vm, int lcm_state)
{
    struct oneib_error unheard;
    vm->has_failed = true;
    lab_vm_state(stage->lab, vm->id, 3, lcm_state, &unheard);
    return -1;
}

/* From pre, which waits for the key, until the VM runs. */
static int boot(struct demo_stage *stage, const struct demo_vm *vm, double began_ms,
                double *opened_ms, struct oneib_error *err)
{
    if (lab_vm_deploy(stage->lab, vm->id, (uint32_t)vm->host, err) < 0 ||
        lab_vm_state(stage->lab, vm->id, 3, LCM_BOOT, err) < 0 ||
        lab_node_driver(stage->lab, vm->host, "pre", vm->id, err) < 0)
        return -1;
    *opened_ms = oneib_now_ms() - began_ms;
    note_time(&stage->opened, *opened_ms);
    return lab_node_domain(stage->lab, vm->host, vm->id, true, err) < 0 ||
                   lab_node_driver(stage->lab, vm->host, "post", vm->id, err) < 0
               ? -1
               : lab_vm_running(stage->lab, vm->id, err);
}

int demo_vm_add(struct demo_stage *stage, size_t tenant, size_t host, struct oneib_error *err)
{
    if (demo_vfs_used(stage, host) == DEMO_VFS_PER_HOST || stage->vm_count == DEMO_VMS_MAX)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "host %s has no VF left",
                          demo_host_name(stage, host));

    struct demo_vm *vm = insert_vm(stage, tenant);
    vm->host = host;
    if (lab_vm_create(stage->lab, stage->tenants[tenant].name, &stage->tenants[tenant].network, 1,
                      &vm->id, err) < 0) {
        forget_vm(stage, vm);
        return -1;
    }
    const double began_ms = oneib_now_ms();
    double opened_ms = 0;
    if (boot(stage, vm, began_ms, &opened_ms, err) < 0)
        return fail_vm(stage, vm, LCM_BOOT_FAILURE);
    if (demo_settle(stage, host, began_ms, NULL, err) < 0)
        return -1;
    return demo_step(stage, DEMO_STARTS, vm, opened_ms, err);
}

struct demo_vm *demo_vm_newest(struct demo_stage *stage, size_t tenant)
{
    struct demo_vm *newest = NULL;
    for (size_t i = 0; i < stage->vm_count; i++)
        if (stage->vms[i].tenant == tenant)
            newest = &stage->vms[i];
    return newest;
}

int demo_vm_remove(struct demo_stage *stage, struct demo_vm *vm, struct oneib_error *err)
{
    const struct demo_vm removed = *vm;
    const size_t host = vm->host;
    const bool is_forced = vm->has_failed || stage->is_fenced[host];
    const double shutdown_ms = oneib_now_ms();
    if (lab_vm_state(stage->lab, vm->id, 3, LCM_SHUTDOWN, err) < 0)
        return -1;
    if ((lab_node_domain(stage->lab, host, vm->id, false, err) < 0 ||
         lab_node_driver(stage->lab, host, "clean", vm->id, err) < 0) &&
        !is_forced)
        return fail_vm(stage, vm, LCM_UNKNOWN);
    const double began_ms = oneib_now_ms();
    if (lab_vm_delete(stage->lab, vm->id, err) < 0)
        return fail_vm(stage, vm, LCM_UNKNOWN);

    forget_vm(stage, vm);
    if (demo_settle(stage, host, began_ms, &stage->gone, err) < 0)
        return -1;
    return demo_step(stage, DEMO_STOPS, &removed, oneib_now_ms() - shutdown_ms, err);
}

/* The domain moves without its VF (which oned does not know about): the source's is closed in
 * clean, and the destination's gets the GUID in post. */
static int move_domain(struct demo_stage *stage, const struct demo_vm *vm, struct oneib_error *err)
{
    return lab_node_domain(stage->lab, vm->host, vm->id, false, err) < 0 ||
                   lab_node_domain(stage->lab, vm->moving_to, vm->id, true, err) < 0
               ? -1
               : 0;
}

/* OpenNebula takes a VM whose migration fails before it has moved back to the source. */
static int stay(struct demo_stage *stage, struct demo_vm *vm)
{
    struct oneib_error unheard;
    const size_t destination = vm->moving_to;
    vm->moving_to = DEMO_NOWHERE;
    lab_node_domain(stage->lab, destination, vm->id, false, &unheard);
    lab_node_driver(stage->lab, destination, "clean", vm->id, &unheard);
    lab_node_domain(stage->lab, vm->host, vm->id, true, &unheard);
    lab_vm_migrate(stage->lab, vm->id, (uint32_t)vm->host, LCM_MIGRATE, &unheard);
    lab_vm_running(stage->lab, vm->id, &unheard);
    return -1;
}

/* From the domain's move on; the VM is on its destination, whatever fails. */
static int finish_migration(struct demo_stage *stage, struct demo_vm *vm, struct oneib_error *err)
{
    const size_t source = vm->host;
    int status = lab_node_driver(stage->lab, source, "clean", vm->id, err) < 0 ||
                         demo_step(stage, DEMO_MOVES_OUT, vm, -1, err) < 0
                     ? -1
                     : lab_node_driver(stage->lab, vm->moving_to, "post", vm->id, err);
    vm->host = vm->moving_to;
    vm->moving_to = DEMO_NOWHERE;
    const double began_ms = oneib_now_ms();
    struct oneib_error unheard;
    if (lab_vm_running(stage->lab, vm->id, status < 0 ? &unheard : err) < 0 || status < 0 ||
        demo_settle(stage, source, began_ms, &stage->gone, err) < 0 ||
        demo_await_guid(stage, vm, err) < 0)
        return -1;
    return demo_step(stage, DEMO_HAS_MOVED, vm, oneib_now_ms() - began_ms, err);
}

int demo_vm_migrate(struct demo_stage *stage, struct demo_vm *vm, size_t destination,
                    struct oneib_error *err)
{
    const double pre_ms = oneib_now_ms();
    if (lab_vm_migrate(stage->lab, vm->id, (uint32_t)destination, LCM_MIGRATE, err) < 0)
        return -1;
    vm->moving_to = destination;
    if (lab_node_driver(stage->lab, destination, "pre", vm->id, err) < 0 ||
        demo_step(stage, DEMO_MIGRATES, vm, oneib_now_ms() - pre_ms, err) < 0 ||
        move_domain(stage, vm, err) < 0)
        return stay(stage, vm);
    return finish_migration(stage, vm, err);
}
