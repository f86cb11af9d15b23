// SPDX-License-Identifier: Apache-2.0
/*
 * The virtualization driver, one program for all of its actions but the usual `deploy` (deploy.c),
 * which leaves to this one what needs libvirt.
 */
#include "deployment.h"
#include "hpc_cores.h"
#include "vmm_action.h"
#include <stdlib.h>
#include <string.h>

/* Starts a VM that gets cores of its own, for which libvirt is asked who else has some. */
static int deploy(struct action *action, int *status, struct oneib_error *err)
{
    return deployment_read_vm(action, err) < 0 ? -1 : oneib_vmm_deploy(&action->vmm, status, err);
}

/* Gives a running VM a NIC. */
static int attach_nic(struct action *action, int *status, struct oneib_error *err)
{
    return action_read_input(action, err) < 0
               ? -1
               : oneib_vmm_attach_nic(&action->vmm, action->arguments[1], status, err);
}

static bool knows_the_nic(const struct oneib_node_vm *vm)
{
    for (size_t i = 0; i < vm->nic_count; i++)
        if (vm->nics[i].attach)
            return true;
    return false;
}

/* Detaching is what mends a malformed NIC. But one that cannot be told from the others would be
 * taken for another driver's, which finds nothing to detach and says that all is well. */
static int read_nic(struct action *action, struct oneib_error *err)
{
    struct oneib_error fault = {0};
    if (action_read_input(action, &fault) == 0 ||
        (fault.code == ONEIB_ERROR_INPUT && knows_the_nic(&action->vm)))
        return 0;
    *err = fault;
    return -1;
}

/* Takes a NIC from a running VM. */
static int detach_nic(struct action *action, int *status, struct oneib_error *err)
{
    return read_nic(action, err) < 0
               ? -1
               : oneib_vmm_detach_nic(&action->vmm, action->arguments[1], status, err);
}

/* Stops a VM and keeps its state in a file: suspend, stop, cold migration. */
static int save(struct action *action, int *status, struct oneib_error *err)
{
    return action_read_input_leniently(action, err) < 0
               ? -1
               : oneib_vmm_leave(&action->vmm, false, status, err);
}

/* Starts a VM from its state in a file. */
static int restore(struct action *action, int *status, struct oneib_error *err)
{
    return action_read_input(action, err) < 0
               ? -1
               : oneib_vmm_restore(&action->vmm, action->arguments[0], status, err);
}

static bool stays_here(char *const *arguments)
{
    return strcmp(arguments[1], arguments[2]) == 0;
}

/* Moves a running VM to another host, or its disks to another datastore of this host, which is
 * nothing that a VF could hinder. */
static int migrate(struct action *action, int *status, struct oneib_error *err)
{
    const struct oneib_upstream *upstream = &action->vmm.upstream;
    if (!stays_here(action->arguments))
        return action_read_input_leniently(action, err) < 0
                   ? -1
                   : oneib_vmm_leave(&action->vmm, true, status, err);
    return oneib_upstream_check(upstream, err) < 0
               ? -1
               : oneib_upstream_run(upstream, NULL, 0, status, err);
}

/* Keeps a running VM's state in its disks, or puts it back to one that it had. */
static int snapshot(struct action *action, int *status, struct oneib_error *err)
{
    return action_read_input_leniently(action, err) < 0
               ? -1
               : oneib_vmm_snapshot(&action->vmm, status, err);
}

static int read_vm(struct action *action, struct oneib_error *err)
{
    if (action->input_length > 0)
        return action_read_input_leniently(action, err);
    action->vm.id = action->vm_id;
    return 0;
}

/*
 * No action of OpenNebula's: gives a running VM the VFs that it lacks. 'post' calls it where a VM
 * arrives, and 'oneib hca --repair' (node/start_reattach.h). Standard input is the VM's document,
 * the reduced or the full one, or nothing: without it only guest addresses are not known.
 */
static int reattach(struct action *action, int *status, struct oneib_error *err)
{
    *status = EXIT_SUCCESS;
    return read_vm(action, err) < 0 ? -1 : oneib_vmm_reattach(&action->vmm, err);
}

int main(int argc, char **argv)
{
    static const struct action_form forms[] = {
        {"deploy", DEPLOYMENT_ARGUMENTS, deploy, false},
        {"attach_nic", "DEPLOY_ID MAC BRIDGE MODEL VN_MAD TARGET VMID HOST", attach_nic, false},
        {"detach_nic", "DEPLOY_ID MAC VMID HOST", detach_nic, false},
        {"save", "DEPLOY_ID CHECKPOINT HOST VMID HOST", save, false},
        {"restore", "CHECKPOINT HOST DEPLOY_ID VMID HOST", restore, false},
        {"migrate", "DEPLOY_ID DESTINATION SOURCE VMID HOST", migrate, false},
        {"snapshot_create", "DEPLOY_ID SNAPSHOT_ID VMID HOST", snapshot, false},
        {"snapshot_revert", "DEPLOY_ID SNAPSHOT VMID HOST", snapshot, false},
        {"reattach", "VMID", reattach, true},
    };
    if (argc > 1 && strcmp(argv[1], HPC_CORES) == 0)
        return hpc_cores_main(argc - 1, argv + 1);
    return action_main(argc, argv, forms, sizeof forms / sizeof *forms);
}
