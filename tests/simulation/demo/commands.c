// SPDX-License-Identifier: Apache-2.0
/*
 * What a second terminal asks of the demo's cloud: `vm-standin` does what a user of OpenNebula
 * would, through the same steps as the demo's own, and `on-host` runs oneib's programs on a host.
 */
#include "../lab_internal.h"
#include "../lab_node.h"
#include "base/number.h"
#include <inttypes.h>
#include <string.h>

#include "stage.h"

#define DONE 0
#define REFUSED 1
#define USAGE 2
#define BROKEN (-1)

struct call {
    struct demo_stage *stage;
    char *const *argv;
    size_t argc;
    struct oneib_text *out, *error;
    struct oneib_error *err;
};

static const char vm_help[] =
    "usage: vm-standin list                    the VMs, and where they run\n"
    "       vm-standin networks                the networks, each a virtual cluster\n"
    "       vm-standin start NETWORK [HOST]    a new VM, on the first host that has a VF left\n"
    "       vm-standin stop VM\n"
    "       vm-standin migrate VM HOST         live\n"
    "\n"
    "It stands in for OpenNebula: there, onevm and Sunstone do this. NETWORK is a name or a "
    "number,\n"
    "VM a number, HOST H1 to H8.\n";

static const char host_help[] =
    "usage: on-host HOST PROGRAM [ARGUMENT...]\n"
    "\n"
    "Runs oneib or probe on a simulated host, H1 to H8: on-host H3 oneib hca\n";

static int misused(const struct call *call, const char *help)
{
    oneib_text_append(call->error, help);
    return USAGE;
}

static int refuse(const struct call *call, const char *what, const char *which, const char *fix)
{
    oneib_text_printf(call->error, "%s: %s\"%.40s\"%s\n", call->argv[0], what, which, fix);
    return REFUSED;
}

/* ---- what arguments name --------------------------------------------------------------------- */

static bool find_host(const struct demo_stage *stage, const char *name, size_t *host)
{
    for (*host = 0; *host < DEMO_HOSTS; ++*host)
        if (strcmp(name, demo_host_name(stage, *host)) == 0)
            return true;
    return false;
}

static bool find_tenant(const struct demo_stage *stage, const char *text, size_t *tenant)
{
    uint64_t id = UINT64_MAX;
    if (!oneib_parse_decimal(text, UINT32_MAX, &id))
        id = UINT64_MAX;
    for (*tenant = 0; *tenant < stage->tenant_count; ++*tenant)
        if (strcmp(text, stage->tenants[*tenant].name) == 0 ||
            id == stage->tenants[*tenant].network)
            return true;
    return false;
}

static struct demo_vm *find_vm(struct demo_stage *stage, const char *text)
{
    uint64_t id;
    if (!oneib_parse_decimal(text, UINT32_MAX, &id))
        return NULL;
    for (size_t i = 0; i < stage->vm_count; i++)
        if (stage->vms[i].id == id)
            return &stage->vms[i];
    return NULL;
}

static int refuse_fenced(const struct call *call, const char *host)
{
    return refuse(call, "host ", host, " is fenced: 'oneib unfence' lets it back");
}

static bool is_full(const struct demo_stage *stage, size_t host)
{
    return demo_vfs_used(stage, host) == DEMO_VFS_PER_HOST;
}

/* ---- vm-standin ------------------------------------------------------------------------------ */

static int list(const struct call *call)
{
    const struct demo_stage *stage = call->stage;
    oneib_text_append(call->out, "  VM  NETWORK  HOST\n");
    for (size_t i = 0; i < stage->vm_count; i++)
        oneib_text_printf(call->out, "%4" PRIu32 "  %-7s  %s%s\n", stage->vms[i].id,
                          stage->tenants[stage->vms[i].tenant].name,
                          demo_host_name(stage, stage->vms[i].host),
                          stage->vms[i].has_failed ? "    failed" : "");
    return DONE;
}

static int networks(const struct call *call)
{
    const struct demo_stage *stage = call->stage;
    oneib_text_append(call->out, "ID  NAME     P_KEY   VMS\n");
    for (size_t i = 0; i < stage->tenant_count; i++)
        oneib_text_printf(call->out, "%2" PRIu32 "  %-7s  0x%04x  %3zu\n",
                          stage->tenants[i].network, stage->tenants[i].name, stage->tenants[i].pkey,
                          stage->tenants[i].vms);
    return DONE;
}

static void tell_start(const struct call *call, const struct demo_vm *vm)
{
    oneib_text_printf(call->out,
                      "VM %" PRIu32 " of network \"%s\" runs on %s; its VF was open to it after "
                      "%.0f ms\n",
                      vm->id, call->stage->tenants[vm->tenant].name,
                      demo_host_name(call->stage, vm->host), call->stage->last_ms);
}

static int start(const struct call *call)
{
    struct demo_stage *stage = call->stage;
    size_t tenant, host;
    if (call->argc != 3 && call->argc != 4)
        return misused(call, vm_help);
    if (!find_tenant(stage, call->argv[2], &tenant))
        return refuse(call, "there is no network ", call->argv[2],
                      ": 'vm-standin networks' lists them");
    if (call->argc == 4 && !find_host(stage, call->argv[3], &host))
        return refuse(call, "there is no host ", call->argv[3], ": they are H1 to H8");
    if (call->argc == 3 && !demo_find_room(stage, &host))
        return refuse(call, "no host has a VF left for ", call->argv[2],
                      ": stop a VM first ('vm-standin list')");
    if (stage->is_fenced[host])
        return refuse_fenced(call, call->argv[3]);
    if (is_full(stage, host))
        return refuse(call, "no VF is left on host ", call->argv[3],
                      ": stop one of its VMs first ('vm-standin list')");
    if (demo_vm_add(stage, tenant, host, call->err) < 0)
        return BROKEN;
    tell_start(call, demo_vm_newest(stage, tenant));
    return DONE;
}

static int stop(const struct call *call)
{
    if (call->argc != 3)
        return misused(call, vm_help);
    struct demo_vm *vm = find_vm(call->stage, call->argv[2]);
    if (!vm)
        return refuse(call, "there is no VM ", call->argv[2], ": 'vm-standin list' lists them");
    const uint32_t id = vm->id;
    if (demo_vm_remove(call->stage, vm, call->err) < 0)
        return BROKEN;
    if (call->stage->last_wrong > 0)
        oneib_text_printf(call->out, "VM %" PRIu32 " is gone\n", id);
    else
        oneib_text_printf(call->out,
                          "VM %" PRIu32 " is gone; after %.0f ms nothing of it was open\n", id,
                          call->stage->last_ms);
    return DONE;
}

static int migrate(const struct call *call)
{
    struct demo_stage *stage = call->stage;
    size_t host;
    if (call->argc != 4)
        return misused(call, vm_help);
    struct demo_vm *vm = find_vm(stage, call->argv[2]);
    if (!vm)
        return refuse(call, "there is no VM ", call->argv[2], ": 'vm-standin list' lists them");
    if (!find_host(stage, call->argv[3], &host))
        return refuse(call, "there is no host ", call->argv[3], ": they are H1 to H8");
    if (host == vm->host)
        return refuse(call, "the VM is already on host ", call->argv[3], "");
    if (vm->has_failed || stage->is_fenced[vm->host])
        return refuse(call, "not running: VM ", call->argv[2], ": it can only be stopped");
    if (stage->is_fenced[host])
        return refuse_fenced(call, call->argv[3]);
    if (is_full(stage, host))
        return refuse(call, "no VF is left on host ", call->argv[3],
                      ": stop one of its VMs first ('vm-standin list')");
    if (demo_vm_migrate(stage, vm, host, call->err) < 0)
        return BROKEN;
    oneib_text_printf(call->out, "VM %" PRIu32 " runs on %s\n", vm->id,
                      demo_host_name(stage, host));
    return DONE;
}

#define START_AGAIN ": end the demo, and start it again"

/* Whatever has failed, no tenant may reach another. */
static int change(const struct call *call, int (*act)(const struct call *call))
{
    struct oneib_error unheard;
    struct lab *lab = call->stage->lab;
    const size_t steps = call->stage->steps;
    if (!lab_is_running(lab, lab->ibsim))
        return refuse(call, "", "ibsim", " has ended, and with it the fabric" START_AGAIN);
    if (!lab_is_running(lab, lab_child_pid(lab, "node-standin")))
        return refuse(call, "", "node-standin",
                      " has ended, and with it the hosts' adapters" START_AGAIN);
    if (demo_follow_fences(call->stage, call->err) < 0)
        return BROKEN;
    const int status = act(call);
    if (status == BROKEN && call->stage->steps == steps)
        demo_measure(call->stage, &unheard);
    return status;
}

static int vm_standin(const struct call *call)
{
    static const struct {
        const char *verb;
        int (*act)(const struct call *call);
        bool changes;
    } verbs[] = {{"list", list, false},
                 {"networks", networks, false},
                 {"start", start, true},
                 {"stop", stop, true},
                 {"migrate", migrate, true}};
    const char *verb = call->argc > 1 ? call->argv[1] : "";
    if (strcmp(verb, "--help") == 0) {
        oneib_text_append(call->out, vm_help);
        return DONE;
    }
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(verb, verbs[i].verb) == 0)
            return verbs[i].changes ? change(call, verbs[i].act) : verbs[i].act(call);
    return misused(call, vm_help);
}

/* ---- on-host --------------------------------------------------------------------------------- */

#define ARGUMENTS_MAX 30 /* of lab_node_run() */

static bool is_program(const char *name)
{
    return strcmp(name, "oneib") == 0 || strcmp(name, "probe") == 0;
}

static int on_host(const struct call *call)
{
    size_t host;
    if (call->argc < 3 || call->argc - 2 > ARGUMENTS_MAX)
        return misused(call, host_help);
    if (!find_host(call->stage, call->argv[1], &host))
        return refuse(call, "there is no host ", call->argv[1], ": they are H1 to H8");
    if (!is_program(call->argv[2]))
        return refuse(call, "a host has oneib and probe, not ", call->argv[2], "");
    struct lab_output output = {0};
    if (lab_node_run(call->stage->lab, host, (const char *const *)call->argv + 2, NULL, &output,
                     call->err) < 0)
        return BROKEN;
    oneib_text_append_bytes(call->out, output.out, output.out_length);
    oneib_text_append_bytes(call->error, output.error, output.error_length);
    const int status = output.status;
    lab_output_clear(&output);
    return status;
}

int demo_command(struct demo_stage *stage, char *const *argv, struct oneib_text *out,
                 struct oneib_text *error, struct oneib_error *err)
{
    struct call call = {.stage = stage, .argv = argv, .out = out, .error = error, .err = err};
    while (argv[call.argc])
        call.argc++;
    if (call.argc > 0 && strcmp(argv[0], "vm-standin") == 0)
        return vm_standin(&call);
    return call.argc > 0 && strcmp(argv[0], "on-host") == 0 ? on_host(&call)
                                                            : misused(&call, vm_help);
}
