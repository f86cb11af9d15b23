// SPDX-License-Identifier: Apache-2.0
/* one.*: the part of oned's API that oneib uses. */
#include "base/cleanup.h"
#include "standin_documents.h"
#include "standin_methods.h"
#include <stdlib.h>
#include <string.h>

/* A fault of documents, used up by this call. */
static bool document_fault(struct standin_state *state, enum standin_fault fault)
{
    if (state->fault != fault)
        return false;
    if (--state->fault_calls == 0)
        state->fault = FAULT_NONE;
    return true;
}

static xmlrpc_value *refuse_right(struct standin_call *call, const char *operation,
                                  const char *kind, uint32_t id)
{
    struct oneib_error err = {0};
    oneib_fail(&err, ONEIB_ERROR_PERMISSION, "User [%d] : Not authorized to perform %s %s [%u].",
               call->user->id, operation, kind, id);
    return standin_refuse_error(call, id, &err);
}

static xmlrpc_value *system_version(struct standin_call *call)
{
    struct oneib_text text = {0};
    oneib_text_append(&text, "7.4.0");
    return standin_answer_text(call, &text);
}

static enum standin_placers placers_of(struct standin_state *state)
{
    if (document_fault(state, FAULT_LATE_PLACER))
        return STANDIN_LATE_PLACER;
    return document_fault(state, FAULT_NO_PLACER) ? STANDIN_NO_PLACER : STANDIN_ONE_PLACER;
}

static xmlrpc_value *system_config(struct standin_call *call)
{
    struct oneib_text text = {0};
    standin_render_config(call->state, document_fault(call->state, FAULT_UNRESTRICTED),
                          placers_of(call->state), &text);
    return standin_answer_text(call, &text);
}

/* Of the caller alone, whose id may be -1. The password is oned's hash of one. */
static xmlrpc_value *user_info(struct standin_call *call)
{
    int id;
    if (!standin_take_int(call, 1, &id))
        return NULL;
    if (id != -1 && id != call->user->id)
        return refuse_right(call, "USE", "USER", (uint32_t)id);
    struct oneib_text text = {0};
    oneib_text_printf(&text,
                      "<USER><ID>%d</ID><GID>%d</GID><GROUPS><ID>%d</ID></GROUPS><GNAME>%s</GNAME>"
                      "<NAME>%s</NAME><PASSWORD><![CDATA[3bc15c8aae3e4124dd409035f32ea2fd]]>"
                      "</PASSWORD><AUTH_DRIVER><![CDATA[core]]></AUTH_DRIVER><ENABLED>1</ENABLED>"
                      "<LOGIN_TOKEN><TOKEN>0123456789abcdef</TOKEN><EXPIRATION_TIME>-1"
                      "</EXPIRATION_TIME><EGID>-1</EGID></LOGIN_TOKEN><TEMPLATE></TEMPLATE></USER>",
                      call->user->id, call->user->group, call->user->group,
                      call->user->group == 0 ? "oneadmin" : "users", call->user->name);
    return standin_answer_text(call, &text);
}

/* Of oneadmin's, in which oneadmin and serveradmin are; there is no other. */
static xmlrpc_value *group_info(struct standin_call *call)
{
    uint32_t id;
    struct oneib_text text = {0};
    if (!standin_take_id(call, 1, &id))
        return NULL;
    if (!(call->rights & (RIGHT_ADMIN | RIGHT_GROUPS)))
        return refuse_right(call, "USE", "GROUP", id);
    oneib_text_append(&text, "<GROUP><ID>0</ID><NAME>oneadmin</NAME><TEMPLATE/><USERS><ID>0</ID>"
                             "<ID>1</ID></USERS><ADMINS/></GROUP>");
    return standin_answer_text(call, &text);
}

/* Renders the object of that id, or fails as NOT_FOUND. */
typedef int (*standin_renderer)(const struct standin_state *state, uint32_t id,
                                struct oneib_text *text, struct oneib_error *err);

static int render_vm(const struct standin_state *state, uint32_t id, struct oneib_text *text,
                     struct oneib_error *err)
{
    const struct standin_vm *vm = standin_vm_find(state, id, err);
    if (vm)
        standin_render_vm(state, vm, STANDIN_WHOLE, text);
    return vm ? 0 : -1;
}

static int render_host(const struct standin_state *state, uint32_t id, struct oneib_text *text,
                       struct oneib_error *err)
{
    const struct standin_host *host = standin_host_find(state, id, err);
    if (host)
        standin_render_host(state, host, STANDIN_WHOLE, text);
    return host ? 0 : -1;
}

static int render_network(const struct standin_state *state, uint32_t id, struct oneib_text *text,
                          struct oneib_error *err)
{
    const struct standin_network *network = standin_network_find(state, id, err);
    if (network)
        standin_render_network(state, network, STANDIN_WHOLE, text);
    return network ? 0 : -1;
}

/* one.KIND.info. */
static const struct kind {
    const char *method;
    const char *name;
    unsigned right; /* to see it */
    standin_renderer render;
} kinds[] = {
    {"one.vm.info", "VM", RIGHT_VMS, render_vm},
    {"one.host.info", "HOST", RIGHT_HOSTS, render_host},
    {"one.vn.info", "NET", RIGHT_NETWORKS, render_network},
};

static xmlrpc_value *info(struct standin_call *call)
{
    const struct kind *kind = kinds;
    while (strcmp(kind->method, call->method) != 0)
        kind++;
    uint32_t id;
    if (!standin_take_id(call, 1, &id))
        return NULL;
    struct oneib_error err = {0};
    struct oneib_text text = {0};
    if (kind->render(call->state, id, &text, &err) < 0)
        return standin_refuse_error(call, id, &err);
    if (call->rights & kind->right)
        return standin_answer_text(call, &text);
    oneib_text_clear(&text);
    return refuse_right(call, "USE", kind->name, id);
}

/* What of a pool is asked for. */
struct range {
    int start, end;
};

/* end >= 0: ids start to end; end -1: ids from start on; start -1: all; end < -1: a page by offset
 * and size. */
static bool is_page(const struct range *range)
{
    return range->start >= 0 && range->end < -1;
}

static bool holds_id(const struct range *range, uint32_t id)
{
    if (range->start < 0 || is_page(range))
        return true;
    return (int64_t)id >= range->start && (range->end < 0 || (int64_t)id <= range->end);
}

/* Whether the object that is number `position` of those that match is on the page. */
static bool holds_position(const struct range *range, size_t position)
{
    if (!is_page(range))
        return true;
    return position >= (size_t)range->start &&
           position < (size_t)range->start + (size_t) - (int64_t)range->end;
}

static bool take_range(struct standin_call *call, unsigned index, struct range *range)
{
    return standin_take_int(call, index, &range->start) &&
           standin_take_int(call, index + 1, &range->end);
}

/* The i-th object in the order that pools are listed in. */
static size_t listed(const struct standin_state *state, size_t count, size_t i)
{
    return state->ascending ? i : count - 1 - i;
}

static bool state_matches(const struct standin_vm *vm, int wanted)
{
    if (wanted == -2)
        return true;
    return wanted == -1 ? vm->state != VM_DONE : vm->state == wanted;
}

static void render_vm_pool(const struct standin_state *state, const struct range *range,
                           int vm_state, bool whole, bool shrunk, struct oneib_text *text)
{
    size_t position = 0;
    for (size_t i = 0; i < state->vm_count; i++) {
        const struct standin_vm *vm = state->vms[listed(state, state->vm_count, i)];
        if (!holds_id(range, vm->id) || !state_matches(vm, vm_state))
            continue;
        bool shown = holds_position(range, position) && !(shrunk && position % 2 == 1);
        position++;
        if (shown && whole)
            standin_render_vm(state, vm, STANDIN_POOL, text);
        else if (shown)
            standin_render_vm_short(state, vm, text);
    }
}

static xmlrpc_value *vm_pool(struct standin_call *call, bool whole)
{
    int filter, vm_state;
    struct range range;
    if (!standin_take_int(call, 1, &filter) || !take_range(call, 2, &range) ||
        !standin_take_int(call, 4, &vm_state))
        return NULL;
    struct oneib_text text = {0};
    oneib_text_append(&text, "<VM_POOL>");
    bool shrunk = document_fault(call->state, FAULT_SHRINK_WINDOW);
    if ((call->rights & RIGHT_VMS) && !document_fault(call->state, FAULT_EMPTY_POOLS))
        render_vm_pool(call->state, &range, vm_state, whole, shrunk, &text);
    oneib_text_append(&text, "</VM_POOL>");
    return standin_answer_text(call, &text);
}

static xmlrpc_value *vm_pool_info(struct standin_call *call)
{
    return vm_pool(call, false);
}

static xmlrpc_value *vm_pool_info_extended(struct standin_call *call)
{
    return vm_pool(call, true);
}

/* Of ids that are none nothing is said. */
static bool is_in_set(uint32_t id, const char *ids)
{
    for (char *end; *ids; ids = *end == ',' ? end + 1 : end) {
        const unsigned long named = strtoul(ids, &end, 10);
        if (end == ids)
            return false;
        if (named == id)
            return true;
    }
    return false;
}

/* In the order of oned's lists, not in that in which they were asked for. */
static void render_vm_set(const struct standin_state *state, const char *ids,
                          struct oneib_text *text)
{
    for (size_t i = 0; i < state->vm_count; i++) {
        const struct standin_vm *vm = state->vms[listed(state, state->vm_count, i)];
        if (is_in_set(vm->id, ids))
            standin_render_vm(state, vm, STANDIN_POOL, text);
    }
}

static xmlrpc_value *vm_pool_info_set(struct standin_call *call)
{
    oneib_autofree char *ids = NULL;
    if (!standin_take_string(call, 1, &ids))
        return NULL;
    struct oneib_text text = {0};
    oneib_text_append(&text, "<VM_POOL>");
    if (call->rights & RIGHT_VMS)
        render_vm_set(call->state, ids, &text);
    oneib_text_append(&text, "</VM_POOL>");
    return standin_answer_text(call, &text);
}

static xmlrpc_value *host_pool_info(struct standin_call *call)
{
    const struct standin_state *state = call->state;
    struct oneib_text text = {0};
    oneib_text_append(&text, "<HOST_POOL>");
    bool empty = !(call->rights & RIGHT_HOSTS) || document_fault(call->state, FAULT_EMPTY_POOLS);
    for (size_t i = 0; !empty && i < state->host_count; i++)
        standin_render_host(state, state->hosts[listed(state, state->host_count, i)], STANDIN_POOL,
                            &text);
    oneib_text_append(&text, "</HOST_POOL>");
    return standin_answer_text(call, &text);
}

/* Somebody else writes it too, at the same moment. */
static int overwrite_keys(struct standin_call *call, uint32_t id, const char *attributes,
                          struct oneib_error *err)
{
    return strstr(attributes, "IB_KEYS=") && document_fault(call->state, FAULT_KEYS_OVERWRITTEN)
               ? standin_host_update(call->state, id, "IB_KEYS=\"\"", true, err)
               : 0;
}

static xmlrpc_value *host_update(struct standin_call *call)
{
    uint32_t id;
    int append;
    oneib_autofree char *attributes = NULL;
    if (!standin_take_id(call, 1, &id) || !standin_take_string(call, 2, &attributes) ||
        !standin_take_int(call, 3, &append))
        return NULL;
    struct oneib_error err = {0};
    if (!standin_host_find(call->state, id, &err))
        return standin_refuse_error(call, id, &err);
    if (!(call->rights & RIGHT_ADMIN))
        return refuse_right(call, "ADMIN", "HOST", id);
    if (standin_host_update(call->state, id, attributes, append != 0, &err) < 0 ||
        overwrite_keys(call, id, attributes, &err) < 0)
        return standin_refuse_error(call, id, &err);
    return standin_answer_id(call, id);
}

static void render_network_pool(const struct standin_state *state, const struct range *range,
                                struct oneib_text *text)
{
    size_t position = 0;
    for (size_t i = 0; i < state->network_count; i++) {
        const struct standin_network *network =
            state->networks[listed(state, state->network_count, i)];
        if (network->state == NETWORK_DONE || !holds_id(range, network->id))
            continue;
        if (holds_position(range, position++))
            standin_render_network(state, network, STANDIN_POOL, text);
    }
}

static xmlrpc_value *network_pool_info(struct standin_call *call)
{
    int filter;
    struct range range;
    if (!standin_take_int(call, 1, &filter) || !take_range(call, 2, &range))
        return NULL;
    struct oneib_text text = {0};
    oneib_text_append(&text, "<VNET_POOL>");
    if ((call->rights & RIGHT_NETWORKS) && !document_fault(call->state, FAULT_EMPTY_POOLS))
        render_network_pool(call->state, &range, &text);
    oneib_text_append(&text, "</VNET_POOL>");
    return standin_answer_text(call, &text);
}

static xmlrpc_value *network_update(struct standin_call *call)
{
    uint32_t id;
    int append;
    oneib_autofree char *attributes = NULL;
    if (!standin_take_id(call, 1, &id) || !standin_take_string(call, 2, &attributes) ||
        !standin_take_int(call, 3, &append))
        return NULL;
    struct oneib_error err = {0};
    if (!standin_network_find(call->state, id, &err))
        return standin_refuse_error(call, id, &err);
    if (!(call->rights & RIGHT_ADMIN) || document_fault(call->state, FAULT_NO_NETWORK_UPDATE))
        return refuse_right(call, "MANAGE", "NET", id);
    if (standin_network_update(call->state, id, attributes, append != 0, &err) < 0)
        return standin_refuse_error(call, id, &err);
    return standin_answer_id(call, id);
}

const struct standin_method standin_one_methods[] = {
    {"one.system.version", system_version},
    {"one.system.config", system_config},
    {"one.user.info", user_info},
    {"one.group.info", group_info},
    {"one.vmpool.info", vm_pool_info},
    {"one.vmpool.infoextended", vm_pool_info_extended},
    {"one.vmpool.infoset", vm_pool_info_set},
    {"one.vm.info", info},
    {"one.hostpool.info", host_pool_info},
    {"one.host.info", info},
    {"one.host.update", host_update},
    {"one.vnpool.info", network_pool_info},
    {"one.vn.info", info},
    {"one.vn.update", network_update},
    {"one.document.info", standin_paper_info},
    {"one.document.allocate", standin_paper_allocate},
    {"one.document.update", standin_paper_update},
    {"one.document.chmod", standin_paper_chmod},
    {"one.document.chown", standin_paper_chown},
    {"one.document.delete", standin_paper_delete},
    {"one.document.lock", standin_paper_lock},
    {"one.document.unlock", standin_paper_unlock},
    {"one.documentpool.info", standin_paper_pool},
    {NULL, NULL},
};
