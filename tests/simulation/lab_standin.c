// SPDX-License-Identifier: Apache-2.0
/* The stand-in for oned: its process, and calls of its methods. */
#include "base/cleanup.h"
#include "base/number.h"
#include "lab_internal.h"
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#define READY_MS 10000u
#define CALL_MS 120000u
#define DOCUMENT_MAX ((size_t)1 << 30)

const char *lab_endpoint(const struct lab *lab)
{
    return lab->endpoint;
}

const char *lab_session(const struct lab *lab)
{
    return lab->session;
}

const char *lab_limited_session(const struct lab *lab)
{
    return lab->limited_session;
}

const char *lab_events_endpoint(const struct lab *lab)
{
    return lab->events_endpoint;
}

/* "NAME PORT" on a line of its own. */
static bool find_port(const char *log, const char *name, uint64_t *port)
{
    char begin[16];
    size_t length = (size_t)snprintf(begin, sizeof begin, "%s ", name);
    for (const char *line = log; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, begin, length) == 0)
            return oneib_parse_decimal_n(line + length, strcspn(line + length, "\n"), UINT16_MAX,
                                         port);
    }
    return false;
}

static int read_ports(struct lab *lab, struct oneib_error *err)
{
    oneib_autofree char *log = lab_read(lab, "standin.log");
    uint64_t port, control, events;
    if (!find_port(log, "port", &port) || !find_port(log, "control", &control) ||
        !find_port(log, "events", &events))
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "starting oned-standin: it says: %s", log);
    snprintf(lab->endpoint, sizeof lab->endpoint, "http://127.0.0.1:%" PRIu64 "/RPC2", port);
    snprintf(lab->control_endpoint, sizeof lab->control_endpoint,
             "http://127.0.0.1:%" PRIu64 "/RPC2", control);
    snprintf(lab->events_endpoint, sizeof lab->events_endpoint, "tcp://127.0.0.1:%" PRIu64, events);
    return 0;
}

static int fail_env(struct lab *lab, const char *what, struct oneib_error *err)
{
    oneib_fail(err, ONEIB_ERROR_PROTOCOL, "%s: %s", what, lab->env.fault_string);
    xmlrpc_env_clean(&lab->env);
    xmlrpc_env_init(&lab->env);
    return -1;
}

static int open_client(struct lab *lab, struct oneib_error *err)
{
    struct xmlrpc_curl_xportparms curl = {.timeout = CALL_MS};
    struct xmlrpc_clientparms parameters = {
        .transport = "curl", .transportparmsP = &curl, .transportparm_size = sizeof curl};
    xmlrpc_client_setup_global_const(&lab->env);
    if (lab->env.fault_occurred)
        return fail_env(lab, "starting an XML-RPC client", err);
    lab->client_global = true;
    xmlrpc_limit_set(XMLRPC_XML_SIZE_LIMIT_ID, DOCUMENT_MAX);
    xmlrpc_client_create(&lab->env, XMLRPC_CLIENT_NO_FLAGS, "oneib-lab", "1", &parameters,
                         sizeof parameters, &lab->client);
    return lab->env.fault_occurred ? fail_env(lab, "starting an XML-RPC client", err) : 0;
}

void lab_client_close(struct lab *lab)
{
    if (lab->client)
        xmlrpc_client_destroy(lab->client);
    if (lab->client_global)
        xmlrpc_client_teardown_global_const();
    lab->client = NULL;
    lab->client_global = false;
}

int lab_standin_start(struct lab *lab, const char *const *arguments, struct oneib_error *err)
{
    const char *argv[16] = {LAB_ONED_STANDIN,    "--session",          lab->session,
                            "--limited-session", lab->limited_session, "--acl-session",
                            lab->acl_session};
    size_t count = 7;
    for (; arguments && *arguments && count < sizeof argv / sizeof *argv - 1; arguments++)
        argv[count++] = *arguments;
    snprintf(lab->session, sizeof lab->session, "oneadmin:lab-%d", lab->owner);
    snprintf(lab->limited_session, sizeof lab->limited_session, "guest:lab-%d", lab->owner);
    snprintf(lab->acl_session, sizeof lab->acl_session, "acl:lab-%d", lab->owner);
    const char *log = lab_path(lab, "standin.log");
    /* An earlier one's port must not be taken for this one's. */
    unlink(log);
    if (lab_spawn(lab, "standin", NULL, argv, &lab->standin, err) < 0 ||
        lab_await_text(lab, "standin.log", 0, "events ", lab->standin, READY_MS, err) < 0 ||
        read_ports(lab, err) < 0)
        return -1;
    return lab->client ? 0 : open_client(lab, err);
}

int lab_standin_stop(struct lab *lab, struct oneib_error *err)
{
    return lab_end(lab, lab->standin, SIGTERM, READY_MS, err);
}

/* oned's codes, as core/opennebula turns them into errors. */
static enum oneib_error_code error_code(int code)
{
    switch (code) {
    case 256:
        return ONEIB_ERROR_AUTH;
    case 512:
        return ONEIB_ERROR_PERMISSION;
    case 1024:
        return ONEIB_ERROR_NOT_FOUND;
    default:
        return ONEIB_ERROR_PROTOCOL;
    }
}

static int refused(struct lab *lab, xmlrpc_value *answer, struct oneib_error *err)
{
    const char *text = NULL;
    xmlrpc_bool success;
    int code = 0;
    xmlrpc_decompose_value(&lab->env, answer, "(bsi*)", &success, &text, &code);
    if (lab->env.fault_occurred)
        return fail_env(lab, "an answer of oned-standin", err);
    oneib_fail(err, error_code(code), "%s", text);
    free((void *)(uintptr_t)text);
    return -1;
}

/* Takes parameters. *answer is the array [true, ...], to be released. */
static int call(struct lab *lab, const char *method, xmlrpc_value *parameters,
                xmlrpc_value **answer, struct oneib_error *err)
{
    if (lab->env.fault_occurred)
        return fail_env(lab, method, err);
    xmlrpc_server_info *server = xmlrpc_server_info_new(&lab->env, lab->control_endpoint);
    if (lab->env.fault_occurred) {
        xmlrpc_DECREF(parameters);
        return fail_env(lab, method, err);
    }
    xmlrpc_client_call2(&lab->env, lab->client, server, method, parameters, answer);
    xmlrpc_server_info_free(server);
    xmlrpc_DECREF(parameters);
    if (lab->env.fault_occurred)
        return fail_env(lab, method, err);
    xmlrpc_value *first = NULL;
    xmlrpc_bool success = 0;
    xmlrpc_array_read_item(&lab->env, *answer, 0, &first);
    if (!lab->env.fault_occurred) {
        xmlrpc_read_bool(&lab->env, first, &success);
        xmlrpc_DECREF(first);
    }
    int result = lab->env.fault_occurred ? fail_env(lab, method, err)
                 : success               ? 0
                                         : refused(lab, *answer, err);
    if (result < 0)
        xmlrpc_DECREF(*answer);
    return result;
}

/* Calls a method whose answer is an id; id may be NULL. The format begins with the session. */
static int control(struct lab *lab, uint32_t *id, struct oneib_error *err, const char *method,
                   const char *format, ...)
{
    if (!lab->client)
        return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "%s: the stand-in has not been started",
                          method);
    va_list arguments;
    va_start(arguments, format);
    xmlrpc_value *parameters = NULL, *answer = NULL;
    const char *rest = NULL;
    xmlrpc_build_value_va(&lab->env, format, arguments, &parameters, &rest);
    va_end(arguments);
    if (call(lab, method, parameters, &answer, err) < 0)
        return -1;
    int value = 0;
    xmlrpc_bool success;
    xmlrpc_decompose_value(&lab->env, answer, "(bi*)", &success, &value);
    xmlrpc_DECREF(answer);
    if (lab->env.fault_occurred)
        return fail_env(lab, method, err);
    if (id)
        *id = (uint32_t)value;
    return 0;
}

/* Calls a method whose answer is a text. Takes parameters. */
static int call_for_text(struct lab *lab, const char *method, xmlrpc_value *parameters,
                         char **document, struct oneib_error *err)
{
    xmlrpc_value *answer = NULL;
    if (call(lab, method, parameters, &answer, err) < 0)
        return -1;
    const char *text = NULL;
    xmlrpc_bool success;
    xmlrpc_decompose_value(&lab->env, answer, "(bs*)", &success, &text);
    xmlrpc_DECREF(answer);
    if (lab->env.fault_occurred)
        return fail_env(lab, method, err);
    *document = (char *)(uintptr_t)text;
    return 0;
}

int lab_call_document(struct lab *lab, const char *method, const char *session, const int *integers,
                      size_t integer_count, char **document, struct oneib_error *err)
{
    if (!lab->client)
        return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "%s: the stand-in has not been started",
                          method);
    xmlrpc_value *parameters = xmlrpc_build_value(&lab->env, "(s)", session);
    for (size_t i = 0; i < integer_count && !lab->env.fault_occurred; i++) {
        xmlrpc_value *item = xmlrpc_int_new(&lab->env, integers[i]);
        xmlrpc_array_append_item(&lab->env, parameters, item);
        xmlrpc_DECREF(item);
    }
    return call_for_text(lab, method, parameters, document, err);
}

static int create_host(struct lab *lab, const char *name, const char *hca, const char *driver,
                       const char *port_guid, unsigned pkeys_max, unsigned vfs_total, uint32_t *id,
                       struct oneib_error *err)
{
    return control(lab, id, err, "standin.host.create", "(sssssii)", lab->session, name, hca,
                   driver, port_guid, (int)pkeys_max, (int)vfs_total) < 0
               ? -1
               : lab_play_host(lab, *id, hca, driver, vfs_total, strtoull(port_guid, NULL, 16), 0,
                               err);
}

int lab_host_create(struct lab *lab, const char *name, const char *hca, const char *driver,
                    const char *port_guid, unsigned pkeys_max, unsigned vfs_total, uint32_t *id,
                    struct oneib_error *err)
{
    return create_host(lab, name, hca, driver, port_guid, pkeys_max, vfs_total, id, err) < 0
               ? -1
               : lab_accept_now(lab, err);
}

int lab_host_create_bare(struct lab *lab, const char *name, uint32_t *id, struct oneib_error *err)
{
    return control(lab, id, err, "standin.host.bare", "(ss)", lab->session, name);
}

int lab_host_monitor(struct lab *lab, uint32_t id, const char *text, struct oneib_error *err)
{
    return control(lab, NULL, err, "standin.host.monitor", "(sis)", lab->session, (int)id, text);
}

int lab_host_update(struct lab *lab, uint32_t id, const char *attributes, struct oneib_error *err)
{
    return control(lab, NULL, err, "one.host.update", "(sisi)", lab->session, (int)id, attributes,
                   1);
}

/* What the probe would print of one port. ibsim's tables have 64 entries (PartitionCap); the driver
 * of an mlx4 keeps the last one to itself. */
static void describe_port(const struct lab *lab, size_t host, unsigned port, unsigned vfs_total,
                          struct oneib_text *text)
{
    const uint64_t guid = lab_host_guid_of_port(lab, host, port);
    oneib_text_printf(text,
                      "IB_HCA = [ NAME=\"mlx4_0\", DRIVER=\"mlx4\", PCI=\"0000:81:00.0\", "
                      "NODE_GUID=\"0x%016" PRIx64 "\", PORT=\"%u\", PORT_GUID=\"0x%016" PRIx64
                      "\", PKEYS_MAX=\"63\", VFS_TOTAL=\"%u\" ]\n",
                      guid - port, port, guid, vfs_total);
}

static int add_host_of_two_ports(struct lab *lab, size_t host, unsigned vfs_total,
                                 struct oneib_error *err)
{
    uint32_t id;
    oneib_autotext struct oneib_text text = {0};
    const char *name = lab_host_hca(lab, host);
    for (unsigned port = 1; port <= lab_host_ports(lab); port++)
        describe_port(lab, host, port, vfs_total, &text);
    return lab_host_create_bare(lab, name, &id, err) < 0 ||
                   lab_host_monitor(lab, id, text.data, err) < 0 ||
                   lab_play_host(lab, id, "mlx4_0", "mlx4", vfs_total,
                                 lab_host_guid_of_port(lab, host, 1),
                                 lab_host_guid_of_port(lab, host, 2), err) < 0
               ? -1
               : 0;
}

static int add_host(struct lab *lab, size_t host, unsigned vfs_total, struct oneib_error *err)
{
    char guid[32];
    uint32_t id;
    const char *name = lab_host_hca(lab, host);
    snprintf(guid, sizeof guid, "0x%016" PRIx64, lab_host_port_guid(lab, host));
    return create_host(lab, name, "mlx4_0", "mlx4", guid, 63, vfs_total, &id, err);
}

int lab_add_hosts(struct lab *lab, unsigned vfs_total, struct oneib_error *err)
{
    for (size_t host = 0; host < lab_host_count(lab); host++)
        if (lab_host_ports(lab) == 1 ? add_host(lab, host, vfs_total, err) < 0
                                     : add_host_of_two_ports(lab, host, vfs_total, err) < 0)
            return -1;
    return lab_accept_now(lab, err);
}

int lab_network_create(struct lab *lab, const char *name, const char *vlan_id, const char *extra,
                       uint32_t *id, struct oneib_error *err)
{
    lab->keys_are_given = false;
    return control(lab, id, err, "standin.net.create", "(ssss)", lab->session, name, vlan_id,
                   extra ? extra : "");
}

int lab_network_reserve(struct lab *lab, uint32_t parent, const char *name, uint32_t *id,
                        struct oneib_error *err)
{
    lab->keys_are_given = false;
    return control(lab, id, err, "standin.net.reserve", "(sis)", lab->session, (int)parent, name);
}

int lab_network_give(struct lab *lab, uint32_t id, uint32_t uid, struct oneib_error *err)
{
    return control(lab, NULL, err, "standin.net.give", "(siii)", lab->session, (int)id, (int)uid,
                   1);
}

int lab_host_fail(struct lab *lab, uint32_t id, struct oneib_error *err)
{
    return control(lab, NULL, err, "standin.host.fail", "(si)", lab->session, (int)id);
}

int lab_network_fail(struct lab *lab, uint32_t id, struct oneib_error *err)
{
    return control(lab, NULL, err, "standin.net.fail", "(si)", lab->session, (int)id);
}

int lab_network_delete(struct lab *lab, uint32_t id, struct oneib_error *err)
{
    lab->keys_are_given = false;
    return control(lab, NULL, err, "standin.net.delete", "(si)", lab->session, (int)id);
}

int lab_network_update(struct lab *lab, uint32_t id, const char *attributes,
                       struct oneib_error *err)
{
    lab->keys_are_given = false;
    return control(lab, NULL, err, "one.vn.update", "(sisi)", lab->session, (int)id, attributes, 1);
}

int lab_network_vlan_id(struct lab *lab, uint32_t id, char *vlan_id, size_t size,
                        struct oneib_error *err)
{
    return lab_network_says(lab, id, "VLAN_ID", vlan_id, size, err);
}

int lab_network_says(struct lab *lab, uint32_t id, const char *element, char *said, size_t size,
                     struct oneib_error *err)
{
    char begin[64];
    oneib_autofree char *document = NULL;
    int network = (int)id;
    if (lab_call_document(lab, "one.vn.info", lab->session, &network, 1, &document, err) < 0)
        return -1;
    snprintf(begin, sizeof begin, "<%s><![CDATA[", element);
    const char *value = strstr(document, begin);
    *said = '\0';
    if (value) {
        value += strlen(begin);
        snprintf(said, size, "%.*s", (int)strcspn(value, "]"), value);
    }
    return 0;
}

int lab_networks_propagate(struct lab *lab, struct oneib_error *err)
{
    return control(lab, NULL, err, "standin.vn.propagate", "(s)", lab->session);
}

int lab_vm_create(struct lab *lab, const char *name, const uint32_t *networks, size_t network_count,
                  uint32_t *id, struct oneib_error *err)
{
    xmlrpc_value *list = xmlrpc_array_new(&lab->env);
    for (size_t i = 0; i < network_count && !lab->env.fault_occurred; i++) {
        xmlrpc_value *item = xmlrpc_int_new(&lab->env, (int)networks[i]);
        xmlrpc_array_append_item(&lab->env, list, item);
        xmlrpc_DECREF(item);
    }
    int result = control(lab, id, err, "standin.vm.create", "(ssA)", lab->session, name, list);
    xmlrpc_DECREF(list);
    return result;
}

int lab_vm_deploy(struct lab *lab, uint32_t id, uint32_t host, struct oneib_error *err)
{
    return control(lab, NULL, err, "standin.vm.deploy", "(sii)", lab->session, (int)id, (int)host);
}

static void append_int(xmlrpc_env *env, xmlrpc_value *array, uint32_t value)
{
    xmlrpc_value *item = xmlrpc_int_new(env, (int)value);
    if (env->fault_occurred)
        return;
    xmlrpc_array_append_item(env, array, item);
    xmlrpc_DECREF(item);
}

int lab_vms_deploy(struct lab *lab, const uint32_t *ids, const uint32_t *hosts, size_t count,
                   struct oneib_error *err)
{
    xmlrpc_value *id_array = xmlrpc_array_new(&lab->env);
    xmlrpc_value *host_array = xmlrpc_array_new(&lab->env);
    for (size_t i = 0; i < count && !lab->env.fault_occurred; i++) {
        append_int(&lab->env, id_array, ids[i]);
        append_int(&lab->env, host_array, hosts[i]);
    }
    int result = lab->env.fault_occurred ? fail_env(lab, "standin.vms.deploy", err)
                                         : control(lab, NULL, err, "standin.vms.deploy", "(sAA)",
                                                   lab->session, id_array, host_array);
    xmlrpc_DECREF(id_array);
    xmlrpc_DECREF(host_array);
    return result;
}

int lab_vm_state(struct lab *lab, uint32_t id, int state, int lcm_state, struct oneib_error *err)
{
    return control(lab, NULL, err, "standin.vm.state", "(siii)", lab->session, (int)id, state,
                   lcm_state);
}

int lab_vm_running(struct lab *lab, uint32_t id, struct oneib_error *err)
{
    return lab_vm_state(lab, id, 3, 3, err);
}

int lab_vm_start(struct lab *lab, const char *name, const uint32_t *networks, size_t network_count,
                 uint32_t host, uint32_t *id, struct oneib_error *err)
{
    return lab_vm_create(lab, name, networks, network_count, id, err) < 0 ||
                   lab_vm_deploy(lab, *id, host, err) < 0 || lab_vm_running(lab, *id, err) < 0
               ? -1
               : 0;
}

int lab_vm_migrate(struct lab *lab, uint32_t id, uint32_t host, int lcm_state,
                   struct oneib_error *err)
{
    return control(lab, NULL, err, "standin.vm.migrate", "(siii)", lab->session, (int)id, (int)host,
                   lcm_state);
}

int lab_vm_attach(struct lab *lab, uint32_t id, uint32_t network, uint32_t *nic,
                  struct oneib_error *err)
{
    return control(lab, nic, err, "standin.vm.attach", "(sii)", lab->session, (int)id,
                   (int)network);
}

int lab_vm_detach(struct lab *lab, uint32_t id, uint32_t nic, struct oneib_error *err)
{
    return control(lab, NULL, err, "standin.vm.detach", "(sii)", lab->session, (int)id, (int)nic);
}

int lab_vm_set_nic(struct lab *lab, uint32_t id, uint32_t nic, const char *attributes,
                   struct oneib_error *err)
{
    return control(lab, NULL, err, "standin.vm.set_nic", "(siis)", lab->session, (int)id, (int)nic,
                   attributes);
}

int lab_vm_delete(struct lab *lab, uint32_t id, struct oneib_error *err)
{
    return control(lab, NULL, err, "standin.vm.delete", "(si)", lab->session, (int)id);
}

int lab_vm_write(struct lab *lab, uint32_t id, const char *text, struct oneib_error *err)
{
    return control(lab, NULL, err, "standin.vm.write", "(sis)", lab->session, (int)id, text);
}

int lab_document_make(struct lab *lab, const char *session, uint32_t type, const char *template,
                      uint32_t *id, struct oneib_error *err)
{
    return control(lab, id, err, "one.document.allocate", "(ssi)", session, template, (int)type);
}

int lab_document_replace(struct lab *lab, uint32_t id, const char *template,
                         struct oneib_error *err)
{
    return control(lab, NULL, err, "one.document.update", "(sisi)", lab->session, (int)id, template,
                   0);
}

int lab_document_share(struct lab *lab, uint32_t id, bool manage, struct oneib_error *err)
{
    return control(lab, NULL, err, "one.document.chmod", "(siiiiiiiiii)", lab->session, (int)id, -1,
                   -1, -1, -1, -1, -1, 1, (int)manage, -1);
}

int lab_document_give(struct lab *lab, uint32_t id, int uid, int gid, struct oneib_error *err)
{
    return control(lab, NULL, err, "one.document.chown", "(siii)", lab->session, (int)id, uid, gid);
}

int lab_document_delete(struct lab *lab, uint32_t id, struct oneib_error *err)
{
    return control(lab, NULL, err, "one.document.delete", "(si)", lab->session, (int)id);
}

const char *lab_acl_session(const struct lab *lab)
{
    return lab->acl_session;
}

int lab_acl_rights(struct lab *lab, const char *kinds, struct oneib_error *err)
{
    return control(lab, NULL, err, "standin.acl", "(ss)", lab->session, kinds);
}

int lab_fault(struct lab *lab, const char *kind, unsigned count, unsigned seconds,
              struct oneib_error *err)
{
    lab->is_faulty = count > 0;
    return control(lab, NULL, err, "standin.fault", "(ssii)", lab->session, kind, (int)count,
                   (int)seconds);
}

int lab_events_fault(struct lab *lab, const char *kind, unsigned count, struct oneib_error *err)
{
    return control(lab, NULL, err, "standin.events.fault", "(ssi)", lab->session, kind, (int)count);
}

int lab_standin_down(struct lab *lab, bool down, struct oneib_error *err)
{
    return control(lab, NULL, err, "standin.down", "(si)", lab->session, (int)down);
}

/* "METHOD COUNT" lines. */
static unsigned find_count(const char *stats, const char *method)
{
    size_t length = strlen(method);
    for (const char *line = stats; *line; line += strcspn(line, "\n") + 1) {
        if (strncmp(line, method, length) == 0 && line[length] == ' ')
            return (unsigned)strtoul(line + length + 1, NULL, 10);
        if (!strchr(line, '\n'))
            break;
    }
    return 0;
}

int lab_calls(struct lab *lab, const char *method, unsigned *count, struct oneib_error *err)
{
    oneib_autofree char *stats = NULL;
    if (lab_call_document(lab, "standin.stats", lab->session, NULL, 0, &stats, err) < 0)
        return -1;
    *count = find_count(stats, method);
    return 0;
}
