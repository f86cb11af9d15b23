// SPDX-License-Identifier: Apache-2.0
#include "opennebula/one_client.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/text.h"
#include "opennebula/documents_internal.h"
#include "opennebula/transport.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* oned's error codes (Request.h, ErrorCode), seen in its replies. */
#define ONED_AUTHENTICATION 256
#define ONED_AUTHORIZATION 512
#define ONED_NO_EXISTS 1024

/* one.user.info: the caller (RequestManagerInfo::request_execute, SharedAPI::info). */
#define MYSELF (-1)
/* Filter of pool calls: objects of all users (RequestManagerPoolInfoFilter.h). */
#define ALL_USERS (-2)
/* States of one.vmpool.infoextended: all but DONE. */
#define NOT_DONE (-1)
/* An end of a range of ids: none. */
#define OPEN_END (-1)
/* GroupPool::ONEADMIN_ID. */
#define ADMINISTRATORS 0
/* one.*.update: put in the place of what is there, merge with it. */
#define REPLACE 0
#define APPEND 1
/* one.*.lock: a level that keeps nobody from reading or writing (ST_ADMIN). */
#define LOCK_ADMIN 3

struct oneib_one {
    struct oneib_transport *transport;
    char *endpoint;
    char *session;
};

struct oneib_one *oneib_one_open(const struct oneib_credentials *credentials, uint32_t timeout_ms,
                                 struct oneib_error *err)
{
    struct oneib_one *one = oneib_alloc(1, sizeof *one);
    one->endpoint = oneib_strdup(credentials->endpoint);
    one->session = oneib_strdup(credentials->session);
    one->transport = oneib_transport_open(one->endpoint, timeout_ms, err);
    if (!one->transport) {
        oneib_one_close(one);
        return NULL;
    }
    return one;
}

void oneib_one_set_interrupt(struct oneib_one *one, int *flag)
{
    oneib_transport_set_interrupt(one->transport, flag);
}

void oneib_one_set_meanwhile(struct oneib_one *one, const struct oneib_meanwhile *meanwhile)
{
    oneib_transport_set_meanwhile(one->transport, meanwhile);
}

void oneib_one_close(struct oneib_one *one)
{
    if (!one)
        return;
    oneib_transport_close(one->transport);
    if (one->session)
        explicit_bzero(one->session, strlen(one->session));
    free(one->session);
    free(one->endpoint);
    free(one);
}

/* One call: what is called, about what (for errors), and what oned answered. */
struct call {
    const char *method;
    char object[64];
    xmlrpc_env env;
    xmlrpc_value *result; /* owned */
};

__attribute__((format(printf, 3, 4))) static void call_begin(struct call *call, const char *method,
                                                             const char *object, ...)
{
    va_list arguments;
    *call = (struct call){.method = method};
    va_start(arguments, object);
    vsnprintf(call->object, sizeof call->object, object, arguments);
    va_end(arguments);
    xmlrpc_env_init(&call->env);
}

static void call_end(struct call *call)
{
    if (call->result)
        xmlrpc_DECREF(call->result);
    xmlrpc_env_clean(&call->env);
}

static int wrap_call(const struct oneib_one *one, const struct call *call, struct oneib_error *err)
{
    return oneib_wrap(err, "%s of %s at %s", call->method, call->object, one->endpoint);
}

static int not_oned(struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                      "the answer is XML-RPC but not oned's: is the endpoint right?");
}

static enum oneib_error_code code_of(int oned_code)
{
    switch (oned_code) {
    case ONED_AUTHENTICATION:
        return ONEIB_ERROR_AUTH;
    case ONED_AUTHORIZATION:
        return ONEIB_ERROR_PERMISSION;
    case ONED_NO_EXISTS:
        return ONEIB_ERROR_NOT_FOUND;
    default:
        return ONEIB_ERROR_PROTOCOL;
    }
}

static const char *fix_of(enum oneib_error_code code)
{
    switch (code) {
    case ONEIB_ERROR_AUTH:
        return "; check USER:PASSWORD in the file that one.auth_file or ONE_AUTH names";
    case ONEIB_ERROR_PERMISSION:
        return "; oneib's user needs the right to it: make it a member of the group oneadmin, or "
               "add an ACL rule";
    default:
        return "";
    }
}

/* [false, text, code, ...] */
static int refused(const struct oneib_one *one, struct call *call, struct oneib_error *err)
{
    const char *text = NULL;
    xmlrpc_int32 oned_code = 0;
    xmlrpc_decompose_value(&call->env, call->result, "(bsi*)", &(xmlrpc_bool){0}, &text,
                           &oned_code);
    if (call->env.fault_occurred)
        return not_oned(err);

    enum oneib_error_code code = code_of(oned_code);
    char shown[512];
    oneib_transport_show(text, one->session, shown, sizeof shown);
    oneib_fail(err, code, "oned refuses (code %d): %s%s", (int)oned_code, shown, fix_of(code));
    oneib_transport_free_text(text);
    return -1;
}

/* Takes `parameters`; a result stays in `call`. */
static int perform(struct oneib_one *one, struct call *call, xmlrpc_value *parameters,
                   struct oneib_error *err)
{
    xmlrpc_bool accepted = 0;
    /* What oneib says itself is digits and names that were checked: it is the session's bytes, so
     * that nothing can be asked. */
    if (call->env.fault_occurred)
        return oneib_fail(err, ONEIB_ERROR_AUTH, "asking oned (%s): %s", call->method,
                          call->env.fault_string);

    call->result =
        oneib_transport_call(one->transport, call->method, parameters, one->session, err);
    xmlrpc_DECREF(parameters);
    if (!call->result)
        return -1;
    xmlrpc_decompose_value(&call->env, call->result, "(b*)", &accepted);
    if (call->env.fault_occurred)
        return not_oned(err);
    return accepted ? 0 : refused(one, call, err);
}

/* The document of an accepted call: [true, text, ...]. */
static int take_document(struct call *call, char **xml, size_t *length, struct oneib_error *err)
{
    const char *text = NULL;
    size_t text_length = 0;
    xmlrpc_value *item = NULL;
    xmlrpc_array_read_item(&call->env, call->result, 1, &item);
    if (!call->env.fault_occurred)
        xmlrpc_read_string_lp(&call->env, item, &text_length, &text);
    if (item)
        xmlrpc_DECREF(item);
    if (call->env.fault_occurred)
        return not_oned(err);

    /* xmlrpc-c allocates it with malloc() for the caller; only its type says const. */
    memcpy(xml, &text, sizeof text);
    *length = text_length;
    return 0;
}

/* xml: NULL where the answer is of no interest, once the call is accepted. */
static int finish(struct oneib_one *one, struct call *call, xmlrpc_value *parameters, char **xml,
                  size_t *length, struct oneib_error *err)
{
    int outcome = perform(one, call, parameters, err);
    if (outcome == 0 && xml)
        outcome = take_document(call, xml, length, err);
    if (outcome < 0)
        wrap_call(one, call, err);
    call_end(call);
    return outcome;
}

/* A call that takes nothing but the session. */
static int ask(struct oneib_one *one, const char *method, const char *object, char **xml,
               size_t *length, struct oneib_error *err)
{
    struct call call;
    call_begin(&call, method, "%s", object);
    return finish(one, &call, xmlrpc_build_value(&call.env, "(s)", one->session), xml, length, err);
}

int oneib_one_system_version(struct oneib_one *one, char **version, struct oneib_error *err)
{
    size_t length;
    return ask(one, "one.system.version", "oned", version, &length, err);
}

int oneib_one_system_config(struct oneib_one *one, char **xml, size_t *length,
                            struct oneib_error *err)
{
    return ask(one, "one.system.config", "oned", xml, length, err);
}

int oneib_one_host_pool(struct oneib_one *one, char **xml, size_t *length, struct oneib_error *err)
{
    return ask(one, "one.hostpool.info", "all hosts", xml, length, err);
}

/* oned's ids are C ints: a larger bound would become another id on the way. */
static bool is_window(int64_t first, int64_t last)
{
    return first >= 0 && first <= ONEIB_ID_MAX &&
           (last == OPEN_END || (last >= first && last <= ONEIB_ID_MAX));
}

static int begin_window(struct call *call, const char *method, const char *kind, int64_t first,
                        int64_t last, struct oneib_error *err)
{
    if (!is_window(first, last))
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "%s ids %" PRId64 " to %" PRId64 " are no window of ids", kind, first,
                          last);
    if (last == OPEN_END)
        call_begin(call, method, "%ss from %" PRId64 " on", kind, first);
    else
        call_begin(call, method, "%ss %" PRId64 " to %" PRId64, kind, first, last);
    return 0;
}

int oneib_one_network_window(struct oneib_one *one, int64_t first, int64_t last, char **xml,
                             size_t *length, struct oneib_error *err)
{
    struct call call;
    if (begin_window(&call, "one.vnpool.info", "network", first, last, err) < 0)
        return -1;
    xmlrpc_value *parameters = xmlrpc_build_value(&call.env, "(siii)", one->session, ALL_USERS,
                                                  (xmlrpc_int32)first, (xmlrpc_int32)last);
    return finish(one, &call, parameters, xml, length, err);
}

int oneib_one_vm_window(struct oneib_one *one, int64_t first, int64_t last, char **xml,
                        size_t *length, struct oneib_error *err)
{
    struct call call;
    if (begin_window(&call, "one.vmpool.infoextended", "VM", first, last, err) < 0)
        return -1;
    xmlrpc_value *parameters =
        xmlrpc_build_value(&call.env, "(siiii)", one->session, ALL_USERS, (xmlrpc_int32)first,
                           (xmlrpc_int32)last, NOT_DONE);
    return finish(one, &call, parameters, xml, length, err);
}

/* "3,5,8" */
static void name_vms(const uint32_t *ids, size_t count, struct oneib_text *text)
{
    for (size_t i = 0; i < count; i++)
        oneib_text_printf(text, "%s%" PRIu32, i ? "," : "", ids[i]);
}

int oneib_one_vms(struct oneib_one *one, const uint32_t *ids, size_t count, char **xml,
                  size_t *length, struct oneib_error *err)
{
    struct call call;
    oneib_autotext struct oneib_text names = {0};
    name_vms(ids, count, &names);
    call_begin(&call, "one.vmpool.infoset", "%zu VMs", count);
    xmlrpc_value *parameters = xmlrpc_build_value(&call.env, "(ssb)", one->session,
                                                  names.data ? names.data : "", (xmlrpc_bool)1);
    return finish(one, &call, parameters, xml, length, err);
}

static int check_id(const char *kind, uint32_t id, struct oneib_error *err)
{
    if (id > ONEIB_ID_MAX)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "%s %" PRIu32 ": oned has no such ids", kind, id);
    return 0;
}

static int begin_object(struct call *call, const char *method, const char *kind, uint32_t id,
                        struct oneib_error *err)
{
    if (check_id(kind, id, err) < 0)
        return -1;
    call_begin(call, method, "%s %" PRIu32, kind, id);
    return 0;
}

/* one.KIND.info of one object, secrets left encrypted. */
static int object_info(struct oneib_one *one, const char *method, const char *kind, uint32_t id,
                       char **xml, size_t *length, struct oneib_error *err)
{
    struct call call;
    if (begin_object(&call, method, kind, id, err) < 0)
        return -1;
    xmlrpc_value *parameters =
        xmlrpc_build_value(&call.env, "(sib)", one->session, (xmlrpc_int32)id, (xmlrpc_bool)0);
    return finish(one, &call, parameters, xml, length, err);
}

int oneib_one_vm(struct oneib_one *one, uint32_t id, char **xml, size_t *length,
                 struct oneib_error *err)
{
    return object_info(one, "one.vm.info", "VM", id, xml, length, err);
}

int oneib_one_network(struct oneib_one *one, uint32_t id, char **xml, size_t *length,
                      struct oneib_error *err)
{
    return object_info(one, "one.vn.info", "network", id, xml, length, err);
}

int oneib_one_host(struct oneib_one *one, uint32_t id, char **xml, size_t *length,
                   struct oneib_error *err)
{
    return object_info(one, "one.host.info", "host", id, xml, length, err);
}

int oneib_one_is_administrator(struct oneib_one *one, bool *is, struct oneib_error *err)
{
    struct call call;
    char *xml = NULL;
    size_t length;
    call_begin(&call, "one.user.info", "oneib's own user");
    xmlrpc_value *parameters =
        xmlrpc_build_value(&call.env, "(sib)", one->session, (xmlrpc_int32)MYSELF, (xmlrpc_bool)0);
    if (finish(one, &call, parameters, &xml, &length, err) < 0)
        return -1;
    int outcome = oneib_document_is_administrators(xml, length, is, err);
    explicit_bzero(xml, length);
    free(xml);
    return outcome < 0 ? oneib_wrap(err, "reading who oneib is at %s", one->endpoint) : 0;
}

static int change_template(struct oneib_one *one, const char *method, const char *kind, uint32_t id,
                           const char *attributes, int mode, struct oneib_error *err)
{
    struct call call;
    if (begin_object(&call, method, kind, id, err) < 0)
        return -1;
    xmlrpc_value *parameters =
        xmlrpc_build_value(&call.env, "(sisi)", one->session, (xmlrpc_int32)id, attributes, mode);
    return finish(one, &call, parameters, NULL, NULL, err);
}

/* Merges attributes into the template of one object. */
static int object_update(struct oneib_one *one, const char *method, const char *kind, uint32_t id,
                         const char *attributes, struct oneib_error *err)
{
    return change_template(one, method, kind, id, attributes, APPEND, err);
}

int oneib_one_network_key(struct oneib_one *one, uint32_t id, enum oneib_key_state *state,
                          oneib_pkey *pkey, struct oneib_error *err)
{
    oneib_autofree char *xml = NULL;
    size_t length;
    if (oneib_one_network(one, id, &xml, &length, err) < 0)
        return -1;
    return oneib_document_network_key(xml, length, state, pkey, err);
}

/* oned may accept an update and keep the old value: restricted attributes are put back silently. */
static int check_pkey(struct oneib_one *one, uint32_t network_id, uint16_t pkey,
                      struct oneib_error *err)
{
    enum oneib_key_state state = ONEIB_KEY_MISSING;
    oneib_pkey found = 0;
    if (oneib_one_network_key(one, network_id, &state, &found, err) < 0)
        return -1;
    if (state != ONEIB_KEY_VALID || found != pkey)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                          "oned accepted VLAN_ID=\"%u\" and did not keep it: may oneib's user "
                          "change restricted attributes?",
                          pkey);
    return 0;
}

int oneib_one_set_pkey(struct oneib_one *one, uint32_t network_id, uint16_t pkey,
                       struct oneib_error *err)
{
    char attribute[32];
    if (pkey < ONEIB_PKEY_FIRST || pkey > ONEIB_PKEY_LAST)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "%u is not a P_Key for network %" PRIu32, pkey,
                          network_id);
    snprintf(attribute, sizeof attribute, "VLAN_ID=\"%u\"", pkey);
    if (object_update(one, "one.vn.update", "network", network_id, attribute, err) < 0)
        return -1;
    if (check_pkey(one, network_id, pkey, err) < 0)
        return oneib_wrap(err, "reading back the P_Key of network %" PRIu32, network_id);
    return 0;
}

int oneib_one_set_sl(struct oneib_one *one, uint32_t network_id, uint8_t sl,
                     struct oneib_error *err)
{
    char attribute[32] = "IB_SL=\"\"";
    if (sl >= ONEIB_QOS_SLS)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "%u is no service level", sl);
    if (sl)
        snprintf(attribute, sizeof attribute, "IB_SL=\"%u\"", sl);
    return object_update(one, "one.vn.update", "network", network_id, attribute, err);
}

int oneib_one_remove_pkey(struct oneib_one *one, uint32_t network_id, struct oneib_error *err)
{
    enum oneib_key_state state = ONEIB_KEY_VALID;
    oneib_pkey found = 0;
    if (object_update(one, "one.vn.update", "network", network_id, "VLAN_ID=\"\"", err) < 0 ||
        oneib_one_network_key(one, network_id, &state, &found, err) < 0)
        return -1;
    if (state != ONEIB_KEY_MISSING)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                          "oned accepted VLAN_ID=\"\" of network %" PRIu32 " and did not keep it",
                          network_id);
    return 0;
}

/* Nothing but GUIDs and commas gets into a template of oned's. */
static bool are_guids(const char *list)
{
    for (const char *item = list; item;) {
        const char *comma = strchr(item, ',');
        oneib_guid guid;
        if (!oneib_guid_parse_n(item, comma ? (size_t)(comma - item) : strlen(item), &guid))
            return false;
        item = comma ? comma + 1 : NULL;
    }
    return true;
}

static int update_host(struct oneib_one *one, uint32_t host_id, int32_t vfs_free,
                       const char *switches, struct oneib_error *err)
{
    oneib_autotext struct oneib_text attributes = {0};
    if (vfs_free >= 0)
        oneib_text_printf(&attributes, "IB_VFS_FREE=\"%" PRId32 "\"\n", vfs_free);
    if (switches)
        oneib_text_printf(&attributes, "IB_SWITCH=\"%s\"\n", switches);
    return object_update(one, "one.host.update", "host", host_id, attributes.data, err);
}

static int compare_host(const struct oneib_host *host, int32_t vfs_free, const char *switches,
                        struct oneib_error *err)
{
    if (!host)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "the document is not this host's");
    if (vfs_free >= 0 && host->vfs_free != vfs_free)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                          "oned accepted IB_VFS_FREE=\"%" PRId32 "\" and did not keep it: does the "
                          "host's template have it twice?",
                          vfs_free);
    if (switches && (!host->switches || strcmp(host->switches, switches) != 0))
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                          "oned accepted IB_SWITCH=\"%s\" and did not keep it: does the host's "
                          "template have it twice?",
                          switches);
    return 0;
}

static int read_host(struct oneib_one *one, uint32_t host_id, struct oneib_cloud *cloud,
                     struct oneib_error *err)
{
    oneib_autofree char *xml = NULL;
    size_t length;
    oneib_autofindings struct oneib_findings findings = {0};
    oneib_autodocuments struct oneib_documents documents = {
        .cloud = cloud, .findings = &findings, .vn_mad = ""};
    if (oneib_one_host(one, host_id, &xml, &length, err) < 0)
        return -1;
    return oneib_documents_read_hosts(&documents, xml, length, err);
}

static int check_host(struct oneib_one *one, uint32_t host_id, int32_t vfs_free,
                      const char *switches, struct oneib_error *err)
{
    oneib_autocloud struct oneib_cloud cloud = {0};
    if (read_host(one, host_id, &cloud, err) < 0)
        return -1;
    return compare_host(oneib_cloud_host(&cloud, host_id), vfs_free, switches, err);
}

/* What is read back as something else may be the work of the host's probe in between: then once
 * more. */
static int write_host(struct oneib_one *one, uint32_t host_id, int32_t vfs_free,
                      const char *switches, struct oneib_error *err)
{
    for (bool again = false;; again = true) {
        struct oneib_error why = {0};
        if (update_host(one, host_id, vfs_free, switches, err) < 0)
            return -1;
        if (check_host(one, host_id, vfs_free, switches, &why) == 0)
            return 0;
        if (why.code == ONEIB_ERROR_PROTOCOL && !again)
            continue;
        *err = why;
        return oneib_wrap(err, "reading back IB_VFS_FREE and IB_SWITCH of host %" PRIu32, host_id);
    }
}

int oneib_one_set_host(struct oneib_one *one, uint32_t host_id, int32_t vfs_free,
                       const char *switches, struct oneib_error *err)
{
    if (vfs_free < 0 && !switches)
        return 0;
    if (vfs_free > ONEIB_VFS_FREE_MAX)
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "host %" PRIu32 ": no host has %" PRId32 " virtual functions", host_id,
                          vfs_free);
    if (switches && (strlen(switches) > ONEIB_SWITCHES_LENGTH || !are_guids(switches)))
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "host %" PRIu32 ": IB_SWITCH is to be at most %d GUIDs with commas "
                          "between them",
                          host_id, ONEIB_HOST_PORTS_MAX);
    return write_host(one, host_id, vfs_free, switches, err);
}

static int check_keys(struct oneib_one *one, uint32_t host_id, const oneib_pkey *keys, size_t count,
                      const char *seal, struct oneib_error *err)
{
    oneib_autocloud struct oneib_cloud cloud = {0};
    if (read_host(one, host_id, &cloud, err) < 0)
        return -1;
    const struct oneib_host *host = oneib_cloud_host(&cloud, host_id);
    if (host && !host->keys_invalid && host->key_count == count &&
        strcmp(host->keys_seal, seal) == 0 &&
        (count == 0 || memcmp(host->keys, keys, count * sizeof *keys) == 0))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                      "oned accepted IB_KEYS and did not keep it: does the host's template "
                      "have it twice?");
}

int oneib_one_set_host_keys(struct oneib_one *one, uint32_t host_id, const oneib_pkey *keys,
                            size_t count, const char *seal, int32_t vfs_free,
                            struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    if (count > ONEIB_HOST_KEYS_MAX)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "host %" PRIu32 ": no host holds %zu P_Keys",
                          host_id, count);
    oneib_text_append(&text, "IB_KEYS=\"");
    for (size_t i = 0; i < count; i++)
        oneib_text_printf(&text, "%s0x%04x", i > 0 ? "," : "", keys[i]);
    oneib_text_printf(&text, "\"\nIB_KEYS_SEAL=\"%s\"", seal);
    if (vfs_free >= 0)
        oneib_text_printf(&text, "\nIB_VFS_FREE=\"%" PRId32 "\"", vfs_free);
    if (object_update(one, "one.host.update", "host", host_id, text.data, err) < 0)
        return -1;
    if (check_keys(one, host_id, keys, count, seal, err) < 0)
        return oneib_wrap(err, "reading back IB_KEYS of host %" PRIu32, host_id);
    return 0;
}

int oneib_one_administrators(struct oneib_one *one, struct oneib_id_set *users,
                             struct oneib_error *err)
{
    oneib_autofree char *xml = NULL;
    size_t length;
    *users = (struct oneib_id_set){0};
    if (object_info(one, "one.group.info", "group", ADMINISTRATORS, &xml, &length, err) < 0)
        return -1;
    if (oneib_document_group_users(xml, length, users, err) == 0)
        return 0;
    oneib_id_set_clear(users);
    return oneib_wrap(err, "reading who is in the group oneadmin at %s", one->endpoint);
}

int oneib_one_documents(struct oneib_one *one, uint32_t type, int64_t owner, char **xml,
                        size_t *length, struct oneib_error *err)
{
    struct call call;
    call_begin(&call, "one.documentpool.info", "documents of type %" PRIu32, type);
    xmlrpc_value *parameters =
        xmlrpc_build_value(&call.env, "(siiii)", one->session, (xmlrpc_int32)owner, OPEN_END,
                           OPEN_END, (xmlrpc_int32)type);
    return finish(one, &call, parameters, xml, length, err);
}

int oneib_one_document(struct oneib_one *one, uint32_t id, char **xml, size_t *length,
                       struct oneib_error *err)
{
    return object_info(one, "one.document.info", "document", id, xml, length, err);
}

int oneib_one_make_document(struct oneib_one *one, uint32_t type, const char *template,
                            uint32_t *id, struct oneib_error *err)
{
    struct call call;
    xmlrpc_int32 given = -1;
    call_begin(&call, "one.document.allocate", "a document of type %" PRIu32, type);
    xmlrpc_value *parameters =
        xmlrpc_build_value(&call.env, "(ssi)", one->session, template, (xmlrpc_int32)type);
    int outcome = perform(one, &call, parameters, err);
    if (outcome == 0) {
        xmlrpc_decompose_value(&call.env, call.result, "(bi*)", &(xmlrpc_bool){0}, &given);
        outcome = call.env.fault_occurred || given < 0 ? not_oned(err) : 0;
    }
    if (outcome < 0)
        wrap_call(one, &call, err);
    call_end(&call);
    *id = (uint32_t)given;
    return outcome;
}

int oneib_one_replace_document(struct oneib_one *one, uint32_t id, const char *template,
                               struct oneib_error *err)
{
    return change_template(one, "one.document.update", "document", id, template, REPLACE, err);
}

int oneib_one_close_document(struct oneib_one *one, uint32_t id, struct oneib_error *err)
{
    struct call call;
    if (begin_object(&call, "one.document.chmod", "document", id, err) < 0)
        return -1;
    xmlrpc_value *parameters = xmlrpc_build_value(&call.env, "(siiiiiiiiii)", one->session,
                                                  (xmlrpc_int32)id, 1, 1, 0, 1, 1, 0, 0, 0, 0);
    return finish(one, &call, parameters, NULL, NULL, err);
}

/* SharedAPI::lock: "Object is already locked" is refused as an action that cannot be done now. */
int oneib_one_lock_document(struct oneib_one *one, uint32_t id, bool *taken,
                            struct oneib_error *err)
{
    struct call call;
    struct oneib_error failure;
    *taken = false;
    if (begin_object(&call, "one.document.lock", "document", id, err) < 0)
        return -1;
    xmlrpc_value *parameters = xmlrpc_build_value(&call.env, "(siib)", one->session,
                                                  (xmlrpc_int32)id, LOCK_ADMIN, (xmlrpc_bool) true);
    if (finish(one, &call, parameters, NULL, NULL, &failure) == 0)
        *taken = true;
    else if (failure.code != ONEIB_ERROR_PROTOCOL) {
        *err = failure;
        return -1;
    }
    return 0;
}

/* A method that takes nothing but the document's id. */
static int change_document(struct oneib_one *one, const char *method, uint32_t id,
                           struct oneib_error *err)
{
    struct call call;
    if (begin_object(&call, method, "document", id, err) < 0)
        return -1;
    xmlrpc_value *parameters =
        xmlrpc_build_value(&call.env, "(si)", one->session, (xmlrpc_int32)id);
    return finish(one, &call, parameters, NULL, NULL, err);
}

int oneib_one_unlock_document(struct oneib_one *one, uint32_t id, struct oneib_error *err)
{
    return change_document(one, "one.document.unlock", id, err);
}

int oneib_one_delete_document(struct oneib_one *one, uint32_t id, struct oneib_error *err)
{
    return change_document(one, "one.document.delete", id, err);
}

bool oneib_one_error_is_general(enum oneib_error_code code)
{
    return code == ONEIB_ERROR_UNREACHABLE || code == ONEIB_ERROR_AUTH ||
           code == ONEIB_ERROR_TIMEOUT;
}
