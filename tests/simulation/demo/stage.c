// SPDX-License-Identifier: Apache-2.0
#include "stage.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "model/guid.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PROGRAM_TIMEOUT_MS 60000
#define SETTLE_MS 20000u
#define KEY_MS 20000u
#define LCM_SHUTDOWN 12

static bool holds(const struct demo_vm *vm, size_t host)
{
    return vm->host == host || vm->moving_to == host;
}

static unsigned wanted_on(const struct demo_stage *stage, size_t host)
{
    unsigned tenants = 0;
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

static void note_time(struct demo_stage *stage, double ms)
{
    if (stage->in_force_count < sizeof stage->in_force_ms / sizeof *stage->in_force_ms)
        stage->in_force_ms[stage->in_force_count++] = ms;
}

int demo_settle(struct demo_stage *stage, size_t host, double began_ms, struct oneib_error *err)
{
    const unsigned wanted = wanted_on(stage, host);
    if (wanted == stage->held[host])
        return 0;
    for (;;) {
        bool foreign;
        if (read_port(stage, host, &stage->held[host], &foreign, err) < 0)
            return -1;
        if (stage->held[host] == wanted && !foreign)
            break;
        if (oneib_now_ms() > began_ms + SETTLE_MS)
            return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                              "the port of host %zu does not hold what it should after %u ms", host,
                              SETTLE_MS);
    }
    note_time(stage, oneib_now_ms() - began_ms);
    return 0;
}

/* The question for fabric-reach: where VMs are and how their VFs are mapped. */
static int write_question(struct demo_stage *stage, struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    for (size_t i = 0; i < stage->vm_count; i++) {
        const struct demo_vm *vm = &stage->vms[i];
        if (vm->vf == DEMO_VF_CLOSED)
            continue;
        oneib_text_printf(&text, "%u 0x%016" PRIx64 " 0x%04x ", vm->id,
                          lab_host_port_guid(stage->lab, vm->host),
                          stage->tenants[vm->tenant].pkey);
        if (vm->vf == DEMO_VF_OPENING)
            oneib_text_append(&text, "-\n");
        else
            oneib_text_printf(&text, "%u\n", vm->index);
    }
    if (oneib_text_failed(&text))
        return oneib_fail_memory(err);
    return lab_write(stage->lab, "reach.vms", 0600, text.data ? text.data : "", err);
}

static struct demo_vm *find_vm(struct demo_stage *stage, unsigned id)
{
    for (size_t i = 0; i < stage->vm_count; i++)
        if (stage->vms[i].id == id)
            return &stage->vms[i];
    return NULL;
}

static void take_vf_map(struct demo_stage *stage, const char *line)
{
    unsigned id, index, raw;
    if (sscanf(line, "vm %u %u %x", &id, &index, &raw) != 3)
        return;
    struct demo_vm *vm = find_vm(stage, id);
    if (vm && vm->vf == DEMO_VF_OPENING) {
        vm->vf = DEMO_VF_OPEN;
        vm->index = index;
    }
}

/* The owner of each row: the VM's tenant. Rows come in the order of the question. */
static bool should_reach(const struct demo_vm *a, const struct demo_vm *b)
{
    return a->tenant == b->tenant;
}

static const struct demo_vm *nth_open(const struct demo_stage *stage, size_t n)
{
    for (size_t i = 0; i < stage->vm_count; i++)
        if (stage->vms[i].vf == DEMO_VF_OPEN && n-- == 0)
            return &stage->vms[i];
    return NULL;
}

static size_t count_open(const struct demo_stage *stage)
{
    size_t count = 0;
    while (nth_open(stage, count))
        count++;
    return count;
}

/* One row of the answer: a cell counts as reachable only when tables and SA both say so, and as
 * closed only when neither does. Anything else, and anything that is not as it should be, is wrong.
 */
static void check_row(struct demo_stage *stage, size_t row, const char *tables, const char *sa,
                      size_t count, bool *reach)
{
    const struct demo_vm *a = nth_open(stage, row);
    for (size_t column = 0; column < count; column++) {
        const struct demo_vm *b = nth_open(stage, column);
        const bool by_tables = tables[column] == '1', by_sa = sa[column] == '1';
        reach[row * count + column] = by_tables || by_sa;
        stage->pairs++;
        if (by_tables == should_reach(a, b) && by_sa == by_tables)
            continue;
        stage->wrong++;
        printf("WRONG: VM %u (%s) and VM %u (%s): tables say %s, SA says %s\n", a->id,
               stage->tenants[a->tenant].name, b->id, stage->tenants[b->tenant].name,
               by_tables ? "reachable" : "closed", by_sa ? "reachable" : "closed");
    }
}

static int take_answer(struct demo_stage *stage, char *answer, size_t count, bool *reach,
                       struct oneib_error *err)
{
    size_t rows = 0, asked = 0, disagreed = 0;
    char *rest = NULL;
    for (char *line = strtok_r(answer, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char tables[DEMO_VMS_MAX + 1], sa[DEMO_VMS_MAX + 1];
        take_vf_map(stage, line);
        if (sscanf(line, "row %*u %64[01] %64[01]", tables, sa) == 2 && strlen(tables) == count &&
            strlen(sa) == count && rows < count)
            check_row(stage, rows++, tables, sa, count, reach);
        else if (sscanf(line, "sa %zu %zu", &asked, &disagreed) == 2) {
            stage->queries += asked;
            stage->wrong += disagreed;
        }
    }
    if (rows != count || asked == 0)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "fabric-reach answered %zu rows of %zu", rows,
                          count);
    return 0;
}

static size_t count_mapped(const struct demo_stage *stage)
{
    size_t count = 0;
    for (size_t i = 0; i < stage->vm_count; i++)
        count += stage->vms[i].vf != DEMO_VF_CLOSED;
    return count;
}

int demo_measure(struct demo_stage *stage, const char *title, struct oneib_error *err)
{
    const char *file = lab_path(stage->lab, "reach.vms", err);
    if (!file || write_question(stage, err) < 0)
        return -1;
    const size_t count = count_mapped(stage);
    if (count == 0)
        return 0;

    struct lab_output output = {0};
    if (lab_run(stage->lab, LAB_SM_HCA, (const char *[]){FABRIC_REACH_BINARY, file, NULL},
                PROGRAM_TIMEOUT_MS, &output, err) < 0)
        return -1;
    bool reach[DEMO_VMS_MAX * DEMO_VMS_MAX] = {0};
    int status = 0;
    if (output.status != 0)
        status = oneib_fail(err, ONEIB_ERROR_PROTOCOL, "fabric-reach ended with %d: %s",
                            output.status, output.error);
    else
        status = take_answer(stage, output.out, count, reach, err);
    lab_output_clear(&output);
    if (status == 0 && count_open(stage) == count) {
        stage->steps++;
        demo_matrix_draw(stage, title, reach, count);
    }
    return status;
}

int demo_tenant_add(struct demo_stage *stage, const char *name, struct oneib_error *err)
{
    struct demo_tenant *tenant = &stage->tenants[stage->tenant_count];
    *tenant = (struct demo_tenant){.name = name};
    if (lab_network_create(stage->lab, name, "", NULL, &tenant->network, err) < 0)
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

int demo_vm_add(struct demo_stage *stage, size_t tenant, size_t host, struct oneib_error *err)
{
    if (demo_vfs_used(stage, host) == DEMO_VFS_PER_HOST || stage->vm_count == DEMO_VMS_MAX)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "host %zu has no VF left", host);

    struct demo_vm *vm = insert_vm(stage, tenant);
    vm->host = host;
    if (lab_vm_create(stage->lab, stage->tenants[tenant].name, &stage->tenants[tenant].network, 1,
                      &vm->id, err) < 0)
        return -1;
    const double began_ms = oneib_now_ms();
    if (lab_vm_deploy(stage->lab, vm->id, (uint32_t)host, err) < 0 ||
        demo_settle(stage, host, began_ms, err) < 0)
        return -1;
    vm->vf = DEMO_VF_OPENING;
    return lab_vm_running(stage->lab, vm->id, err);
}

static struct demo_vm *newest_vm(struct demo_stage *stage, size_t tenant)
{
    struct demo_vm *newest = NULL;
    for (size_t i = 0; i < stage->vm_count; i++)
        if (stage->vms[i].tenant == tenant)
            newest = &stage->vms[i];
    return newest;
}

int demo_vm_remove(struct demo_stage *stage, size_t tenant, struct oneib_error *err)
{
    struct demo_vm *vm = newest_vm(stage, tenant);
    if (!vm)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "tenant %zu has no VM", tenant);
    const size_t host = vm->host;
    if (lab_vm_state(stage->lab, vm->id, 3, LCM_SHUTDOWN, err) < 0)
        return -1;
    const double began_ms = oneib_now_ms();
    if (lab_vm_delete(stage->lab, vm->id, err) < 0)
        return -1;

    const size_t at = (size_t)(vm - stage->vms);
    stage->vm_count--;
    memmove(vm, vm + 1, (stage->vm_count - at) * sizeof *vm);
    stage->tenants[tenant].vms--;
    return demo_settle(stage, host, began_ms, err);
}
