// SPDX-License-Identifier: Apache-2.0
/* standin.*: how a script moves the cloud. Answers have the form of oned's: an id, or [false, text,
 * code, ...]. */
#include "base/cleanup.h"
#include "standin_methods.h"
#include "standin_publisher.h"
#include "standin_server.h"
#include <stdlib.h>
#include <string.h>

static xmlrpc_value *answer(struct standin_call *call, int result, uint32_t id,
                            const struct oneib_error *err)
{
    return result == 0 ? standin_answer_id(call, id) : standin_refuse_error(call, id, err);
}

/* An unsigned parameter: what takes the place of a count. */
static bool take_count(struct standin_call *call, unsigned index, unsigned *count)
{
    int value;
    if (!standin_take_int(call, index, &value))
        return false;
    *count = value > 0 ? (unsigned)value : 0;
    return true;
}

static xmlrpc_value *host_create(struct standin_call *call)
{
    oneib_autofree char *name = NULL, *device = NULL, *driver = NULL, *guid = NULL;
    struct standin_hca hca;
    if (!standin_take_string(call, 1, &name) || !standin_take_string(call, 2, &device) ||
        !standin_take_string(call, 3, &driver) || !standin_take_string(call, 4, &guid) ||
        !take_count(call, 5, &hca.pkeys_max) || !take_count(call, 6, &hca.vfs_total))
        return NULL;
    hca.name = device;
    hca.driver = driver;
    hca.port_guid = guid;
    struct oneib_error err = {0};
    uint32_t id = 0;
    standin_host_create(call->state, name, &hca, &id);
    return answer(call, 0, id, &err);
}

static xmlrpc_value *host_bare(struct standin_call *call)
{
    oneib_autofree char *name = NULL;
    if (!standin_take_string(call, 1, &name))
        return NULL;
    struct oneib_error err = {0};
    uint32_t id = 0;
    standin_host_create(call->state, name, NULL, &id);
    return answer(call, 0, id, &err);
}

static xmlrpc_value *host_monitor(struct standin_call *call)
{
    uint32_t id;
    oneib_autofree char *text = NULL;
    if (!standin_take_id(call, 1, &id) || !standin_take_string(call, 2, &text))
        return NULL;
    struct oneib_error err = {0};
    int result = standin_host_monitor(call->state, id, text, &err);
    return answer(call, result, id, &err);
}

static xmlrpc_value *network_create(struct standin_call *call)
{
    oneib_autofree char *name = NULL, *vlan_id = NULL, *extra = NULL;
    if (!standin_take_string(call, 1, &name) || !standin_take_string(call, 2, &vlan_id) ||
        !standin_take_string(call, 3, &extra))
        return NULL;
    struct oneib_error err = {0};
    uint32_t id = 0;
    int result = standin_network_create(call->state, name, vlan_id, extra, &id, &err);
    return answer(call, result, id, &err);
}

static xmlrpc_value *network_reserve(struct standin_call *call)
{
    uint32_t parent;
    oneib_autofree char *name = NULL;
    if (!standin_take_id(call, 1, &parent) || !standin_take_string(call, 2, &name))
        return NULL;
    struct oneib_error err = {0};
    uint32_t id = parent;
    int result = standin_network_reserve(call->state, parent, name, &id, &err);
    return answer(call, result, id, &err);
}

/* As one.vn.chown. */
static xmlrpc_value *network_give(struct standin_call *call)
{
    uint32_t id;
    struct standin_owner owner;
    if (!standin_take_id(call, 1, &id) || !standin_take_int(call, 2, &owner.uid) ||
        !standin_take_int(call, 3, &owner.gid))
        return NULL;
    struct oneib_error err = {0};
    struct standin_network *network = standin_network_find(call->state, id, &err);
    if (network)
        network->owner = owner;
    return answer(call, network ? 0 : -1, id, &err);
}

static xmlrpc_value *network_delete(struct standin_call *call)
{
    uint32_t id;
    if (!standin_take_id(call, 1, &id))
        return NULL;
    struct oneib_error err = {0};
    return answer(call, standin_network_delete(call->state, id, &err), id, &err);
}

static xmlrpc_value *host_fail(struct standin_call *call)
{
    uint32_t id;
    if (!standin_take_id(call, 1, &id))
        return NULL;
    struct oneib_error err = {0};
    return answer(call, standin_host_fail(call->state, id, &err), id, &err);
}

static xmlrpc_value *network_fail(struct standin_call *call)
{
    uint32_t id;
    if (!standin_take_id(call, 1, &id))
        return NULL;
    struct oneib_error err = {0};
    return answer(call, standin_network_fail(call->state, id, &err), id, &err);
}

static xmlrpc_value *network_propagate(struct standin_call *call)
{
    struct oneib_error err = {0};
    standin_networks_propagate(call->state);
    return answer(call, 0, 0, &err);
}

/* An array of ids; NULL with a fault set. At most as many as a VM of oned's can sensibly have. */
static bool take_ids(struct standin_call *call, unsigned index, uint32_t *ids, size_t room,
                     size_t *count)
{
    xmlrpc_value *array = NULL;
    xmlrpc_array_read_item(call->env, call->parameters, index, &array);
    if (call->env->fault_occurred)
        return false;
    int size = xmlrpc_array_size(call->env, array);
    for (int i = 0; i < size && !call->env->fault_occurred; i++) {
        xmlrpc_value *item = NULL;
        int id = 0;
        if ((size_t)i == room) {
            xmlrpc_env_set_fault(call->env, XMLRPC_TYPE_ERROR, "Too many networks");
            break;
        }
        xmlrpc_array_read_item(call->env, array, (unsigned)i, &item);
        if (item) {
            xmlrpc_read_int(call->env, item, &id);
            xmlrpc_DECREF(item);
        }
        ids[i] = (uint32_t)id;
    }
    xmlrpc_DECREF(array);
    *count = size > 0 ? (size_t)size : 0;
    return !call->env->fault_occurred;
}

static xmlrpc_value *vm_create(struct standin_call *call)
{
    oneib_autofree char *name = NULL;
    uint32_t networks[512], id = 0;
    size_t count;
    if (!standin_take_string(call, 1, &name) ||
        !take_ids(call, 2, networks, sizeof networks / sizeof *networks, &count))
        return NULL;
    struct oneib_error err = {0};
    int result = standin_vm_create(call->state, name, networks, count, &id, &err);
    return answer(call, result, id, &err);
}

static xmlrpc_value *vm_state(struct standin_call *call)
{
    uint32_t id;
    int state, lcm_state;
    if (!standin_take_id(call, 1, &id) || !standin_take_int(call, 2, &state) ||
        !standin_take_int(call, 3, &lcm_state))
        return NULL;
    struct oneib_error err = {0};
    return answer(call, standin_vm_set_state(call->state, id, state, lcm_state, &err), id, &err);
}

static xmlrpc_value *vm_deploy(struct standin_call *call)
{
    uint32_t id, host;
    if (!standin_take_id(call, 1, &id) || !standin_take_id(call, 2, &host))
        return NULL;
    struct oneib_error err = {0};
    return answer(call, standin_vm_deploy(call->state, id, host, &err), id, &err);
}

/* A scheduler's cycle: several at once, with each one's events. */
static xmlrpc_value *vms_deploy(struct standin_call *call)
{
    uint32_t ids[512], hosts[512];
    size_t count, host_count;
    if (!take_ids(call, 1, ids, sizeof ids / sizeof *ids, &count) ||
        !take_ids(call, 2, hosts, sizeof hosts / sizeof *hosts, &host_count))
        return NULL;
    struct oneib_error err = {0};
    int result = 0;
    for (size_t i = 0; i < count && i < host_count && result == 0; i++)
        result = standin_vm_deploy(call->state, ids[i], hosts[i], &err);
    return answer(call, result, 0, &err);
}

static xmlrpc_value *vm_migrate(struct standin_call *call)
{
    uint32_t id, host;
    int lcm_state;
    if (!standin_take_id(call, 1, &id) || !standin_take_id(call, 2, &host) ||
        !standin_take_int(call, 3, &lcm_state))
        return NULL;
    struct oneib_error err = {0};
    return answer(call, standin_vm_migrate(call->state, id, host, lcm_state, &err), id, &err);
}

static xmlrpc_value *vm_attach(struct standin_call *call)
{
    uint32_t id, network, nic = 0;
    if (!standin_take_id(call, 1, &id) || !standin_take_id(call, 2, &network))
        return NULL;
    struct oneib_error err = {0};
    int result = standin_vm_attach(call->state, id, network, &nic, &err);
    return answer(call, result, nic, &err);
}

static xmlrpc_value *vm_detach(struct standin_call *call)
{
    uint32_t id, nic;
    if (!standin_take_id(call, 1, &id) || !standin_take_id(call, 2, &nic))
        return NULL;
    struct oneib_error err = {0};
    return answer(call, standin_vm_detach(call->state, id, nic, &err), id, &err);
}

static xmlrpc_value *vm_set_nic(struct standin_call *call)
{
    uint32_t id, nic;
    oneib_autofree char *attributes = NULL;
    if (!standin_take_id(call, 1, &id) || !standin_take_id(call, 2, &nic) ||
        !standin_take_string(call, 3, &attributes))
        return NULL;
    struct oneib_error err = {0};
    return answer(call, standin_vm_set_nic(call->state, id, nic, attributes, &err), id, &err);
}

static xmlrpc_value *vm_delete(struct standin_call *call)
{
    uint32_t id;
    if (!standin_take_id(call, 1, &id))
        return NULL;
    struct oneib_error err = {0};
    return answer(call, standin_vm_set_state(call->state, id, VM_DONE, LCM_INIT, &err), id, &err);
}

static xmlrpc_value *set_fault(struct standin_call *call)
{
    oneib_autofree char *kind = NULL;
    unsigned calls, seconds;
    if (!standin_take_string(call, 1, &kind) || !take_count(call, 2, &calls) ||
        !take_count(call, 3, &seconds))
        return NULL;
    struct oneib_error err = {0};
    return answer(call, standin_fault_set(call->state, kind, calls, seconds, &err), 0, &err);
}

static xmlrpc_value *vm_write(struct standin_call *call)
{
    uint32_t id;
    oneib_autofree char *text = NULL;
    if (!standin_take_id(call, 1, &id) || !standin_take_string(call, 2, &text))
        return NULL;
    struct oneib_error err = {0};
    return answer(call, standin_vm_write(call->state, id, text, &err), id, &err);
}

/* "VM HOST NET DOCUMENT GROUP", or some of them: what the user with rights by ACL sees. */
static xmlrpc_value *set_acl(struct standin_call *call)
{
    oneib_autofree char *kinds = NULL;
    if (!standin_take_string(call, 1, &kinds))
        return NULL;
    call->state->acl_rights = (strstr(kinds, "VM") ? RIGHT_VMS : 0u) |
                              (strstr(kinds, "HOST") ? RIGHT_HOSTS : 0u) |
                              (strstr(kinds, "NET") ? RIGHT_NETWORKS : 0u) |
                              (strstr(kinds, "DOCUMENT") ? RIGHT_DOCUMENTS : 0u) |
                              (strstr(kinds, "GROUP") ? RIGHT_GROUPS : 0u);
    return standin_answer_id(call, 0);
}

static xmlrpc_value *set_events_fault(struct standin_call *call)
{
    oneib_autofree char *kind = NULL;
    unsigned count;
    if (!standin_take_string(call, 1, &kind) || !take_count(call, 2, &count))
        return NULL;
    struct oneib_error err = {0};
    int result = standin_publisher_fault(call->state->publisher, kind, count, &err);
    return answer(call, result, 0, &err);
}

/* An oned that is killed, and started again with its database. */
static xmlrpc_value *set_down(struct standin_call *call)
{
    int down;
    if (!standin_take_int(call, 1, &down))
        return NULL;
    struct oneib_error err = {0};
    int result = standin_publisher_down(call->state->publisher, down != 0, &err);
    if (result == 0)
        result = standin_server_down(call->standin->server, down != 0, &err);
    return answer(call, result, 0, &err);
}

/* "METHOD COUNT" lines. */
static xmlrpc_value *stats(struct standin_call *call)
{
    struct oneib_text text = {0};
    for (size_t i = 0; i < call->state->call_count; i++)
        oneib_text_printf(&text, "%s %u\n", call->state->calls[i].method,
                          call->state->calls[i].count);
    return standin_answer_text(call, &text);
}

const struct standin_method standin_control_methods[] = {
    {"standin.host.create", host_create},
    {"standin.host.bare", host_bare},
    {"standin.host.monitor", host_monitor},
    {"standin.net.create", network_create},
    {"standin.net.reserve", network_reserve},
    {"standin.net.give", network_give},
    {"standin.net.delete", network_delete},
    {"standin.host.fail", host_fail},
    {"standin.net.fail", network_fail},
    {"standin.vn.propagate", network_propagate},
    {"standin.vm.create", vm_create},
    {"standin.vm.state", vm_state},
    {"standin.vm.deploy", vm_deploy},
    {"standin.vms.deploy", vms_deploy},
    {"standin.vm.migrate", vm_migrate},
    {"standin.vm.attach", vm_attach},
    {"standin.vm.detach", vm_detach},
    {"standin.vm.set_nic", vm_set_nic},
    {"standin.vm.write", vm_write},
    {"standin.vm.delete", vm_delete},
    {"standin.acl", set_acl},
    {"standin.fault", set_fault},
    {"standin.events.fault", set_events_fault},
    {"standin.down", set_down},
    {"standin.stats", stats},
    {NULL, NULL},
};
