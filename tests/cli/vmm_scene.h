// SPDX-License-Identifier: Apache-2.0
/*
 * A VM's life on simulated nodes, called as OpenNebula 7.4 calls it: arguments and messages are
 * recorded ones. The recorded network had a bridge and no P_Key; it gets a key instead. All
 * programs are the real ones, oneib-node too; only libvirt and OpenNebula's own actions are
 * stand-ins (tests/unit/vmm/live_standin.h).
 */
#ifndef ONEIB_TESTS_CLI_VMM_SCENE_H
#define ONEIB_TESTS_CLI_VMM_SCENE_H

#include "base/text.h"
#include "domain/document.h"
#include "fault_scene.h"
#include "host/vf_record.h"
#include "vmm/live_standin.h"

#define DEPLOY_1 "0002-vmm.kvm.deploy.vm1"
#define ATTACH_1 "0005-vmm.kvm.attach_nic.vm1"
#define DETACH_1 "0014-vmm.kvm.detach_nic.vm1"
#define SAVE_1 "0038-vmm.kvm.save.vm1"
#define RESTORE_1 "0041-vmm.kvm.restore.vm1"
#define DEPLOY_2 "0049-vmm.kvm.deploy.vm2"
#define ATTACH_2 "0077-vmm.kvm.attach_nic.vm2"
#define DETACH_2 "0079-vmm.kvm.detach_nic.vm2"
#define SAVE_2 "0063-vmm.kvm.save.vm2"
#define RESTORE_2 "0066-vmm.kvm.restore.vm2"
#define MIGRATE_2 "0052-vmm.kvm.migrate.vm2"
#define UUID_1 UUID
#define UUID_2 "33174448-2e50-4543-96cf-208c62187c4f"
#define HOST_1 "localhost"
#define HOST_2 "vm"

#define ARGUMENTS_MAX 16
#define UNPLUG_WAIT_MS 1000
#define RECORDED_BRIDGE                                                                            \
    "<BRIDGE><![CDATA[onebr0]]></BRIDGE><BRIDGE_TYPE><![CDATA[linux]]></BRIDGE_TYPE>"
#define KEY_5 "<VLAN_ID><![CDATA[5]]></VLAN_ID>"
#define RECORDED_INTERFACE                                                                         \
    "<interface type='bridge'>\n\t\t\t<source bridge='onebr0'/>\n\t\t\t<mac address='02:00:0a:14"
#define OUR_INTERFACE "<interface type='ethernet'>\n\t\t\t<mac address='02:00:0a:14"

/* ---- texts ----------------------------------------------------------------------------------- */

/* Frees `text`. */
static inline char *replaced(char *text, const char *from, const char *to)
{
    struct oneib_text changed = {0};
    const char *rest = text;
    for (const char *at; (at = strstr(rest, from)); rest = at + strlen(from)) {
        oneib_text_append_bytes(&changed, rest, (size_t)(at - rest));
        oneib_text_append(&changed, to);
    }
    oneib_text_append(&changed, rest);
    free(text);
    return changed.data;
}

static inline char *recorded_file(const char *action, const char *name)
{
    char path[512], buffer[4096];
    struct oneib_text text = {0};
    size_t length;
    snprintf(path, sizeof path, ONEIB_TEST_DATA "/opennebula-7.4/actions/%s/%s", action, name);
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("cannot open %s", path);
    while ((length = fread(buffer, 1, sizeof buffer, file)) > 0)
        oneib_text_append_bytes(&text, buffer, length);
    fclose(file);
    return text.data;
}

/* What an action was given on standard input, with a network of ours; freed with free(). */
static inline char *message_of(const char *action)
{
    char *text = replaced(recorded_file(action, "stdin.decoded"), RECORDED_BRIDGE, KEY_5);
    return replaced(text, RECORDED_INTERFACE, OUR_INTERFACE);
}

/* Between two words that must be there, these included. */
static inline void append_span(struct oneib_text *text, const char *from, const char *first,
                               const char *last)
{
    const char *begin = strstr(from, first);
    const char *end = begin ? strstr(begin, last) : NULL;
    if (!end)
        fail_msg("no %s ... %s", first, last);
    oneib_text_append_bytes(text, begin, (size_t)(end - begin) + strlen(last));
}

/* The <VM> of a message: what oned writes to vm.xml. */
static inline char *vm_of(const char *message)
{
    struct oneib_text text = {0};
    append_span(&text, message, "<VM>", "</VM>");
    return text.data;
}

/* The first of this name, which may be empty. */
static inline void append_element(struct oneib_text *text, const char *from, const char *name)
{
    char empty[64], first[64], last[64];
    snprintf(empty, sizeof empty, "<%s/>", name);
    snprintf(first, sizeof first, "<%s>", name);
    snprintf(last, sizeof last, "</%s>", name);
    if (strstr(from, empty))
        oneib_text_append(text, empty);
    else
        append_span(text, from, first, last);
}

static inline void append_each(struct oneib_text *text, const char *vm, const char *first,
                               const char *last)
{
    for (const char *at = vm; (at = strstr(at, first)); at++) {
        oneib_text_append(text, "<TEMPLATE>");
        append_span(text, at, first, last);
        oneib_text_append(text, "</TEMPLATE>");
    }
}

/* What network drivers get of a VM (get_vnm_drivers, in OpenNebula's one_vmm_exec.rb). */
static inline char *reduced(const char *vm)
{
    struct oneib_text text = {0};
    oneib_text_append(&text, "<VM>");
    append_element(&text, vm, "ID");
    append_element(&text, vm, "DEPLOY_ID");
    append_each(&text, vm, "<CONTEXT>", "</CONTEXT>");
    append_element(&text, vm, "USER_TEMPLATE");
    append_element(&text, vm, "HISTORY_RECORDS");
    append_each(&text, vm, "<NIC>", "</NIC>");
    append_each(&text, vm, "<PCI>", "</PCI>");
    oneib_text_append(&text, "</VM>");
    return text.data;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static char home[512], away[640];

static inline void configure_node(void)
{
    char *text;
    assert_true(asprintf(&text,
                         "one: { vn_mad = \"ibrec\"; };\n"
                         "node: { libvirt = \"test://%s/var/lib/live-standin/node.xml\";\n"
                         "pkey_wait = %u; guid_wait = %u; unplug_wait = %u; };",
                         tree_root(), LONG, LONG, UNPLUG_WAIT_MS) > 0);
    waits_long = true;
    tree_write(text, "/etc/oneib/oneib.conf");
    free(text);
}

/* The VM may have all its NICs on either host. */
static inline void begin_grants(void)
{
    start_grants_standin();
    for (unsigned nic = 0; nic < 10; nic++)
        grant_nic(2, nic, "network=1 pkey=0x0005 " AT_MLX4);
}

/* One node is tried at a time: the other's service does not run meanwhile. */
static inline void go_to(const char *root)
{
    stop_node(SIGTERM);
    sm_stop();
    tree_at(root);
    assert_int_equal(setenv("ONEIB_NODE_ROOT", root, 1), 0);
    sm_start(hca);
    begin_grants();
    start_node();
}

/* Two hosts, "localhost", where the VM is deployed, and "vm". */
static inline int begin_life(void **state)
{
    (void)state;
    hca = &four_vfs;
    tree_reset(NULL);
    tree_remove("/away");
    tree_remove("/var");
    live_standin_reset();
    add_adapter();
    configure_node();
    snprintf(home, sizeof home, "%s", tree_root());
    snprintf(away, sizeof away, "%s/away", home);
    assert_int_equal(mkdir(away, 0755), 0);
    live_standin_add_peer("vm", away);
    assert_int_equal(setenv("LIVE_STANDIN", LIVE_STANDIN_PROGRAM, 1), 0);
    tree_at(away);
    tree_reset(NULL);
    add_adapter();
    configure_node();
    tree_write("<node></node>", "/var/lib/live-standin/node.xml");
    tree_at(home);
    tree_write("<node></node>", "/var/lib/live-standin/node.xml");
    sm_start(hca);
    begin_grants();
    start_node();
    return 0;
}

static inline int end_life(void **state)
{
    (void)state;
    stop_node(SIGKILL);
    sm_stop();
    tree_at(home);
    return setenv("ONEIB_NODE_ROOT", home, 1);
}

/* ---- calls ----------------------------------------------------------------------------------- */

struct call {
    char *text; /* owned: the recorded arguments */
    const char *argv[ARGUMENTS_MAX];
    int count;
};

static inline void add_argument(struct call *call, const char *argument)
{
    assert_true(call->count < ARGUMENTS_MAX - 1);
    call->argv[call->count++] = argument;
    call->argv[call->count] = NULL;
}

static inline char *upstream_path(const char *name)
{
    char *path;
    assert_true(asprintf(&path, UPSTREAM_STANDIN "/%s", name) > 0);
    return path;
}

/* Below the home node: datastores are shared, and only one node is tried at a time. */
static inline char *recorded_arguments(const char *action)
{
    char *place;
    assert_true(asprintf(&place, "%s/var/lib/one/", home) > 0);
    char *text = replaced(recorded_file(action, "argv"), "/var/lib/one//", place);
    free(place);
    return text;
}

/* With the arguments of a recorded action. */
static inline void add_recorded(struct call *call, const char *action)
{
    call->text = recorded_arguments(action);
    char *rest = call->text;
    for (char *line; (line = strsep(&rest, "\n"));) {
        const char *value = strstr(line, "]: ");
        if (value && strncmp(line, "argv[0]", 7) != 0)
            add_argument(call, strcmp(value + 3, "onebr0") == 0 ? "" : value + 3);
    }
}

/* Ours, on the stand-in for libvirt. */
static inline const char *program_for(const char *action)
{
    return strcmp(action, "deploy") == 0 ? VMM_STANDINS "/deploy" : VMM_STANDINS "/driver";
}

/* Ours, with the stand-in for OpenNebula's own. Exit status; what it said is in `said`. */
static inline int act_on(const char *name, const char *action, const char *input)
{
    struct call call = {0};
    char *upstream = upstream_path(name);
    add_argument(&call, program_for(name));
    add_argument(&call, name);
    add_argument(&call, "--upstream");
    add_argument(&call, upstream);
    add_recorded(&call, action);
    const int status = run_on(call.argv, input, strlen(input));
    free(call.text);
    free(upstream);
    return status;
}

/* The name in "0005-vmm.kvm.attach_nic.vm1". */
static inline const char *name_of(const char *action)
{
    static char name[64];
    assert_int_equal(sscanf(action, "%*d-vmm.kvm.%63[a-z_].", name), 1);
    return name;
}

static inline int act(const char *action)
{
    char *message = message_of(action);
    const int status = act_on(name_of(action), action, message);
    free(message);
    return status;
}

static inline void must_act(const char *action)
{
    if (act(action) != 0 || *said)
        fail_msg("%s: %s", action, said);
}

/* With a reason in one line. */
static inline void assert_told(int status, const char *reason)
{
    if (status != 1)
        fail_msg("status %d: %s", status, said);
    assert_contains(said, reason);
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
}

/* The network driver's, for the VM of this document. */
static inline void must_net(const char *const *argv, const char *vm)
{
    char *document = reduced(vm);
    if (run(argv, document) != 0 || *said)
        fail_msg("%s: %s", argv[0], said);
    free(document);
}

#define NET_PRE WORDS(VNM_DRIVER, "pre")
#define NET_POST(domain, host) WORDS(VNM_DRIVER, "post", domain, host)
#define NET_CLEAN(host) WORDS(VNM_DRIVER, "clean", host)

/* ---- what is there --------------------------------------------------------------------------- */

/* Of the node that is being tried. */
static inline void read_domain(unsigned vm_id, struct oneib_domain_description *description)
{
    static char text[65536];
    struct oneib_error err = {0};
    char *path = tree_path("/var/lib/live-standin/one-%u.xml", vm_id);
    FILE *file = fopen(path, "r");
    free(path);
    assert_non_null(file);
    const size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    *description = (struct oneib_domain_description){0};
    if (oneib_domain_description_read(text, length, description, &err) < 0)
        fail_msg("%s", err.text);
}

static inline bool runs_here(unsigned vm_id)
{
    return tree_exists("/var/lib/live-standin/one-%u.xml", vm_id);
}

static inline bool find_record(unsigned vm_id, unsigned nic_id, struct oneib_vf_record *record)
{
    struct oneib_vf_table records;
    struct oneib_error err = {0};
    const char *text = table();
    if (oneib_vf_table_parse(text, strlen(text), &records, &err) < 0)
        fail_msg("%s", err.text);
    const struct oneib_vf_record *found = oneib_vf_table_of_nic(&records, vm_id, (uint8_t)nic_id);
    if (found)
        *record = *found;
    oneib_vf_table_clear(&records);
    return found;
}

/* As the port shows it. */
static inline uint64_t guid_of(const struct oneib_vf_record *record)
{
    char text[64];
    unsigned part[4];
    tree_read(text, sizeof text, "/sys/class/infiniband/%s/iov/ports/1/gids/%u", hca->name,
              record->index + 1);
    assert_int_equal(
        sscanf(text, "%*x:%*x:%*x:%*x:%x:%x:%x:%x", &part[0], &part[1], &part[2], &part[3]), 4);
    return (uint64_t)part[0] << 48 | (uint64_t)part[1] << 32 | (uint64_t)part[2] << 16 | part[3];
}

/* Its VF is open, has its GUID, and is recorded so. */
static inline struct oneib_vf_record assert_reserved(unsigned vm_id, unsigned nic_id)
{
    struct oneib_vf_record record;
    if (!find_record(vm_id, nic_id, &record))
        fail_msg("VM %u NIC %u has no VF in:\n%s", vm_id, nic_id, table());
    assert_int_equal(record.stage, ONEIB_VF_OPEN);
    assert_int_equal(record.guid, ONEIB_VF_GUID_SET);
    assert_int_equal(record.pkey, 5);
    assert_int_equal(key_of(record.index), 0x8005);
    assert_true(guid_of(&record) == oneib_vf_record_guid(&record));
    return record;
}

/* And the domain has it, or not, behind its dummy interface with this index and last byte of the
 * address. */
static inline void assert_nic(unsigned vm_id, unsigned nic_id, unsigned index, unsigned last,
                              bool plugged)
{
    struct oneib_domain_description description;
    const struct oneib_vf_record record = assert_reserved(vm_id, nic_id);
    read_domain(vm_id, &description);
    const struct oneib_domain_device *device =
        oneib_domain_device_of(&description, (uint8_t)nic_id);
    assert_non_null(device);
    assert_int_equal(device->has_vf, plugged);
    assert_true(!plugged || oneib_pci_compare(&device->vf, &record.vf) == 0);
    assert_true(device->has_dummy);
    assert_int_equal(device->index, index);
    assert_int_equal(device->ipv4, 0x0a140000 + last);
    oneib_domain_description_clear(&description);
}

static inline void assert_plugged(unsigned vm_id, unsigned nic_id, unsigned index, unsigned last)
{
    assert_nic(vm_id, nic_id, index, last, true);
}

/* Neither the domain nor the node has anything of it. */
static inline void assert_no_nic(unsigned vm_id, unsigned nic_id)
{
    struct oneib_domain_description description;
    struct oneib_vf_record record;
    assert_false(find_record(vm_id, nic_id, &record));
    read_domain(vm_id, &description);
    assert_null(oneib_domain_device_of(&description, (uint8_t)nic_id));
    oneib_domain_description_clear(&description);
}

static inline void assert_nothing_runs_and_nothing_is_left(unsigned vm_id)
{
    assert_false(runs_here(vm_id));
    assert_nothing_is_left();
}

/* ---- OpenNebula's part ----------------------------------------------------------------------- */

/* The document that oned has of a VM before it has ever run: that of a later message without the
 * NIC that is attached there. */
static inline char *document_to_deploy(const char *later, const char *uuid)
{
    char id[128], *message = message_of(later), *vm = vm_of(message);
    free(message);
    char *nic = strstr(vm, "<ATTACH>");
    if (nic) {
        char *end = strstr(nic, "</NIC>") + strlen("</NIC>");
        while (strncmp(nic, "<NIC>", 5) != 0)
            nic--;
        memmove(nic, end, strlen(end) + 1);
    }
    snprintf(id, sizeof id, "<DEPLOY_ID>%s</DEPLOY_ID>", uuid);
    return replaced(vm, id, "<DEPLOY_ID/>");
}

static inline void write_vm_xml(unsigned vm_id, const char *vm)
{
    char path[700];
    snprintf(path, sizeof path, "%s/var/lib/one/datastores/0/%u", home, vm_id);
    FILE *file = NULL;
    char *command, file_name[720];
    assert_true(asprintf(&command, "mkdir -p %s", path) > 0);
    assert_int_equal(system(command), 0);
    free(command);
    snprintf(file_name, sizeof file_name, "%s/vm.xml", path);
    file = fopen(file_name, "w");
    assert_non_null(file);
    assert_true(fputs(vm, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static inline void deploy(unsigned vm_id, const char *action, const char *later, const char *uuid)
{
    char expected[64], *vm = document_to_deploy(later, uuid);
    must_net(NET_PRE, vm);
    write_vm_xml(vm_id, vm);
    snprintf(expected, sizeof expected, "%s\n", uuid);
    const int status = act(action);
    assert_string_equal(said, expected);
    assert_int_equal(status, 0);
    must_net(NET_POST(uuid, HOST_1), vm);
    free(vm);
}

static inline void deploy_vm_1(void)
{
    deploy(1, DEPLOY_1, ATTACH_1, UUID_1);
}

static inline void deploy_vm_2(void)
{
    deploy(2, DEPLOY_2, MIGRATE_2, UUID_2);
}

static inline char *vm_in(const char *action)
{
    char *message = message_of(action), *vm = vm_of(message);
    free(message);
    return vm;
}

static inline void attach(const char *action, const char *uuid)
{
    char *vm = vm_in(action);
    must_net(NET_PRE, vm);
    must_act(action);
    must_net(NET_POST(uuid, HOST_1), vm);
    free(vm);
}

static inline void detach(const char *action)
{
    char *vm = vm_in(action);
    must_act(action);
    must_net(NET_CLEAN(HOST_1), vm);
    free(vm);
}

static inline void save(const char *action)
{
    char *vm = vm_in(action);
    must_act(action);
    must_net(NET_CLEAN(HOST_1), vm);
    free(vm);
}

static inline void restore(const char *action, const char *uuid)
{
    char *vm = vm_in(action);
    must_net(NET_PRE, vm);
    must_act(action);
    must_net(NET_POST(uuid, HOST_1), vm);
    free(vm);
}

/* OpenNebula's own action, which kvm-ib hands over to. */
static inline void stop(const char *action, unsigned vm_id, const char *uuid, const char *host)
{
    char id[16], *vm = vm_in(action), *upstream = upstream_path("shutdown");
    snprintf(id, sizeof id, "%u", vm_id);
    if (run_on(WORDS(upstream, uuid, host, id, host), "", 0) != 0)
        fail_msg("%s", said);
    must_net(NET_CLEAN(host), vm);
    free(upstream);
    free(vm);
}

/* Nothing is left of it on that host. */
static inline void stop_vm_2(const char *host)
{
    stop(SAVE_2, 2, UUID_2, host);
    assert_nothing_runs_and_nothing_is_left(2);
}

/* `post` at the destination is given the source's name. */
static inline void migrate_to_the_other_host(void)
{
    char *vm = vm_in(MIGRATE_2);
    go_to(away);
    must_net(NET_PRE, vm);
    go_to(home);
    must_act(MIGRATE_2);
    must_net(NET_CLEAN(HOST_1), vm);
    assert_nothing_runs_and_nothing_is_left(2);
    go_to(away);
    assert_true(runs_here(2));
    must_net(NET_POST(UUID_2, HOST_1), vm);
    free(vm);
}

static inline int run_standin(const char *name, const char *const *words, const char *input)
{
    struct call call = {0};
    add_argument(&call, program_for(name));
    add_argument(&call, name);
    for (; *words; words++)
        add_argument(&call, *words);
    return run_on(call.argv, input, strlen(input));
}

#define LIFE(name) cmocka_unit_test_setup_teardown(name, begin_life, end_life)

#endif
