// SPDX-License-Identifier: Apache-2.0
/*
 * `oneib hca` and the probe on a simulated node, with the real oneib-node and oneib-domains, as a
 * user without privileges.
 */
#include "../grants_standin.h"
#include "node_process.h"
#include "node_root.h"
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct tree_hca mlx4 = {
    .name = "mlx4_0", .driver = ONEIB_HCA_MLX4, .pci = "0000:81:00.0", .vfs = 4};
static const struct tree_hca mlx5 = {
    .name = "mlx5_0", .driver = ONEIB_HCA_MLX5, .pci = "0000:41:00.0", .vfs = 2};

/* ---- the node -------------------------------------------------------------------------------- */

static void put(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(const char *name, const char *format, ...)
{
    va_list arguments;
    char *path = tree_path("%s", name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    va_start(arguments, format);
    assert_true(vfprintf(file, format, arguments) >= 0);
    va_end(arguments);
    assert_int_equal(fclose(file), 0);
    free(path);
}

#define HOSTDEV(function)                                                                          \
    "<hostdev mode='subsystem' type='pci'><source><address domain='0x0000' bus='0x81' "            \
    "slot='0x00' function='" function "'/></source></hostdev>"
#define DOMAIN(name, devices)                                                                      \
    "<domain type='test'><name>" name "</name><memory>1024</memory><os><type>hvm</type></os>"      \
    "<devices>" devices "</devices></domain>"

static void put_domains(const char *domains)
{
    put("/run/node.xml", "<node>%s</node>", domains);
    if (node > 0)
        restart_node();
}

static int make_node(void **state)
{
    tree_reset(state);
    put("/etc/oneib/oneib.conf",
        "node = { libvirt = \"test://%s/run/node.xml\"; pkey_wait = 1000; guid_wait = 1000; };\n",
        tree_root());
    put_domains("");
    set_program(ONEIB_BINARY);
    return 0;
}

static int make_node_with_adapter(void **state)
{
    make_node(state);
    tree_add_hca(&mlx4);
    tree_set_pkey(&mlx4, 1, 3, 0x8005);
    start_grants_standin();
    start_node();
    return 0;
}

static int end_node(void **state)
{
    (void)state;
    stop_node(SIGKILL);
    stop_grants_standin();
    return 0;
}

/* VF 0 is VM 42's, open to 0x0005 full, its GUID deferred. */
static void assign(void)
{
    set_program(ONEIB_ASK_BINARY);
    const struct outcome *outcome = RUN("have", "--vm", "42", "--nic", "1", "--defer-guid");
    if (outcome->status != 0)
        fail_msg("%s", outcome->err);
    set_program(ONEIB_BINARY);
}

/* SR-IOV was switched off; the service sees that when it looks next. */
static void take_vfs_away(void)
{
    static const struct tree_hca without = {
        .name = "mlx4_0", .driver = ONEIB_HCA_MLX4, .pci = "0000:81:00.0", .vfs_supported = 4};
    tree_remove_hca(&mlx4);
    tree_add_hca(&without);
    restart_node();
}

static bool has_record(void)
{
    struct stat status;
    char *path = tree_path("/run/oneib/vfs");
    const bool found = stat(path, &status) == 0 && status.st_size > 0;
    free(path);
    return found;
}

static void map_vf(unsigned vf, unsigned index)
{
    char value[8];
    for (unsigned entry = 0; entry < 127; entry++) {
        snprintf(value, sizeof value, "%u", entry == 0 ? index : 0);
        tree_set_vf_pkey(&mlx4, vf, 1, entry, value);
    }
}

/* ---- what it says ---------------------------------------------------------------------------- */

/* The words of the line that begins so, blanks made one. */
static const char *line_of(const char *text, const char *beginning)
{
    static char words[512];
    size_t length = 0;
    const char *at = text;
    while (at && strncmp(at, beginning, strlen(beginning)) != 0) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    if (!at)
        fail_msg("no line begins with \"%s\": %s", beginning, text);
    for (; *at && *at != '\n' && length < sizeof words - 1; at++)
        if (*at != ' ' || (length > 0 && words[length - 1] != ' '))
            words[length++] = *at;
    words[length] = '\0';
    return words;
}

static json_t *hca_json(int status)
{
    const struct outcome *outcome = RUN("hca", "--json");
    if (outcome->status != status)
        fail_msg("exit status %d: %s%s", outcome->status, outcome->out, outcome->err);
    return parse_json(outcome->out);
}

static json_t *get(json_t *value, const char *key)
{
    json_t *inner = json_object_get(value, key);
    if (!inner)
        fail_msg("there is no \"%s\"", key);
    return inner;
}

static json_t *adapter(json_t *document, size_t index)
{
    return json_array_get(get(document, "adapters"), index);
}

static json_t *vf(json_t *document, size_t index)
{
    return json_array_get(get(adapter(document, 0), "vfs"), index);
}

static const char *text_of(json_t *value, const char *key)
{
    return json_string_value(get(value, key));
}

static bool has_finding(json_t *document, const char *code)
{
    json_t *findings = get(document, "findings");
    for (size_t i = 0; i < json_array_size(findings); i++)
        if (strcmp(text_of(json_array_get(findings, i), "code"), code) == 0)
            return true;
    return false;
}

/* ---- looking --------------------------------------------------------------------------------- */

static void a_host_without_an_adapter_is_told_of(void **state)
{
    (void)state;
    const struct outcome *outcome = RUN("hca");
    assert_int_equal(outcome->status, 0);
    assert_string_equal(outcome->out, "");
    assert_string_equal(outcome->err, "oneib: note: this host has no InfiniBand adapter\n");
    json_t *document = hca_json(0);
    assert_int_equal(json_array_size(get(document, "adapters")), 0);
    assert_true(json_is_null(get(document, "repaired")));
    json_decref(document);
}

static void fits_a_terminal(const char *text)
{
    for (size_t length; *text; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        if (length > 80)
            fail_msg("%zu columns: %.*s", length, (int)length, text);
    }
}

static void the_tables_show_ports_and_vfs(void **state)
{
    (void)state;
    char guid[32];
    assign();
    put_domains(DOMAIN("one-42", HOSTDEV("0x1")) DOMAIN("other", HOSTDEV("0x3")));
    const struct outcome *outcome = RUN("hca");
    assert_int_equal(outcome->status, 0);
    assert_string_equal(outcome->err, "");
    snprintf(guid, sizeof guid, "0x%016" PRIx64, tree_port_guid(&mlx4, 1));
    assert_contains(outcome->out, "  P_KEYS  ");
    const char *port = line_of(outcome->out, "mlx4_0");
    assert_contains(port, "mlx4_0/1 active 56 0x");
    assert_contains(port, guid);
    assert_contains(port, " 2/127 4/4 0 0000:81:00.0");
    assert_string_equal(line_of(outcome->out, "0000:81:00.1"),
                        "0000:81:00.1 mlx4_0 0 in use: VM 42 NIC 1 0x0005 full, no GUID vfio-pci");
    assert_string_equal(line_of(outcome->out, "0000:81:00.2"),
                        "0000:81:00.2 mlx4_0 1 free closed vfio-pci");
    assert_contains(line_of(outcome->out, "0000:81:00.3"), " domain: other ");
    fits_a_terminal(outcome->out);
}

static void the_document_has_the_same(void **state)
{
    (void)state;
    assign();
    tree_add_hca(&mlx5);
    put_domains(DOMAIN("one-42", HOSTDEV("0x1")));
    json_t *document = hca_json(0);
    assert_int_equal(json_array_size(get(document, "adapters")), 2);
    assert_int_equal(json_array_size(get(document, "findings")), 0);
    assert_string_equal(text_of(adapter(document, 1), "driver"), "mlx5");
    assert_true(json_is_true(get(get(document, "libvirt"), "known")));
    json_t *first = vf(document, 0);
    assert_string_equal(text_of(first, "use"), "in use");
    assert_int_equal(json_integer_value(get(get(first, "record"), "vm")), 42);
    assert_string_equal(text_of(get(first, "record"), "pkey"), "0x0005");
    assert_string_equal(text_of(get(first, "record"), "guid"), "0x0200000000002a01");
    assert_string_equal(text_of(get(first, "record"), "guid_state"), "deferred");
    assert_string_equal(text_of(get(first, "domain"), "name"), "one-42");
    assert_string_equal(text_of(get(first, "state"), "pkey"), "0x0005");
    assert_string_equal(text_of(get(first, "state"), "membership"), "full");
    json_t *keys = get(json_array_get(get(adapter(document, 0), "ports"), 0), "pkeys");
    assert_string_equal(text_of(json_array_get(keys, 1), "pkey"), "0x0005");
    assert_string_equal(text_of(json_array_get(keys, 1), "membership"), "full");
    json_t *second = vf(document, 1);
    assert_string_equal(text_of(second, "use"), "free");
    assert_true(json_is_null(get(second, "record")));
    assert_true(json_is_null(get(second, "domain")));
    json_decref(document);
}

/* In a running VM and open; a VM's that does not run; nobody's and open; nobody's. */
static void what_is_in_use_is_not_what_is_reserved_leaked_or_free(void **state)
{
    (void)state;
    assign();
    map_vf(2, 3);
    const struct outcome *outcome = RUN("hca");
    assert_contains(line_of(outcome->out, "0000:81:00.1"), " reserved: VM 42 NIC 1 0x0005 full");
    assert_contains(line_of(outcome->out, "0000:81:00.2"), " free closed ");
    assert_contains(line_of(outcome->out, "0000:81:00.3"), " leaked 0x0005 full ");
    fits_a_terminal(outcome->out);
    put_domains(DOMAIN("one-42", HOSTDEV("0x1")));
    assert_contains(line_of(RUN("hca")->out, "0000:81:00.1"), " in use: VM 42 NIC 1 ");
    map_vf(0, 0);
    assert_contains(line_of(RUN("hca")->out, "0000:81:00.1"), " closed: VM 42 NIC 1 closed ");
}

/* As udev names them by their GUIDs. */
static void adapters_with_long_names_are_told_apart(void **state)
{
    (void)state;
    const struct tree_hca first = {
        .name = "ibx506b4b030043fa5e", .driver = ONEIB_HCA_MLX5, .vfs = 1};
    const struct tree_hca second = {
        .name = "ibx506b4b030043fa5f", .driver = ONEIB_HCA_MLX5, .pci = "0000:82:00.0", .vfs = 1};
    tree_add_hca(&first);
    tree_add_hca(&second);
    const struct outcome *outcome = RUN("hca");
    assert_contains(outcome->out, "\nibx506b4b030043fa5e/1 ");
    assert_contains(outcome->out, "\nibx506b4b030043fa5f/1 ");
    assert_contains(line_of(outcome->out, "0000:82:00.1"), " ibx506b4b030043fa5f 0 ");
}

/* ---- virtual ports --------------------------------------------------------------------------- */

static int make_node_with_mlx5(void **state)
{
    make_node(state);
    tree_add_hca(&mlx5);
    start_grants_standin();
    grant_nic(42, 1, "network=0 pkey=0x0005 device=mlx5_0 port=1 setguid vf=0000:41:00.1");
    start_node();
    return 0;
}

static void what_a_virtual_port_holds_is_shown_or_said_not_to_be_read(void **state)
{
    (void)state;
    tree_bind_vf(&mlx5, 0, "mlx5_core");
    tree_add_vf_device(&mlx5, 0, "mlx5_1");
    tree_write("0x8005", "/sys/class/infiniband/mlx5_1/ports/1/pkeys/0");
    tree_write("fe80:0000:0000:0000:0200:0000:0000:2a01",
               "/sys/class/infiniband/mlx5_1/ports/1/gids/0");
    assign();
    assert_contains(line_of(RUN("hca")->out, "0000:41:00.1"), " 0x0005 full");
    json_t *document = hca_json(0);
    json_t *port = get(vf(document, 0), "virtual_port");
    assert_string_equal(text_of(port, "read_by"), "sysfs");
    assert_string_equal(text_of(port, "guid"), "0x0200000000002a01");
    assert_string_equal(text_of(json_array_get(get(port, "pkeys"), 0), "pkey"), "0x0005");
    assert_false(has_finding(document, "virtual-ports-unread"));
    assert_true(json_is_null(get(vf(document, 0), "virtual_port_unread")));
    json_decref(document);

    tree_bind_vf(&mlx5, 0, "vfio-pci");
    tree_remove("/sys/class/infiniband/mlx5_1");
    tree_remove("/sys/bus/pci/devices/0000:41:00.1/infiniband");
    restart_node();
    const struct outcome *outcome = RUN("hca");
    assert_contains(line_of(outcome->out, "0000:41:00.1"), " open, no GUID vfio-pci");
    assert_contains(outcome->err, "what 1 open virtual function of mlx5 holds cannot be read");
    document = hca_json(0);
    assert_true(json_is_null(get(vf(document, 0), "virtual_port")));
    assert_contains(text_of(vf(document, 0), "virtual_port_unread"),
                    "no fwctl device of mlx5_0 (Linux 6.15, module mlx5_fwctl), and no driver of "
                    "the host's shows it as a device");
    assert_true(has_finding(document, "virtual-ports-unread"));
    json_t *adapter = json_array_get(get(document, "adapters"), 0);
    assert_true(json_is_null(get(adapter, "sm_knows_virtual_ports")));
    json_decref(document);
}

static void an_adapter_without_vfs_has_one_table(void **state)
{
    (void)state;
    const struct tree_hca plain = {.name = "mlx4_0", .driver = ONEIB_HCA_MLX4, .vfs_supported = 16};
    tree_add_hca(&plain);
    const struct outcome *outcome = RUN("hca");
    assert_int_equal(outcome->status, 0);
    assert_contains(line_of(outcome->out, "mlx4_0"), " 0/16 ");
    assert_lacks(outcome->out, "DRIVER");
}

static void a_broken_adapter_is_a_finding_beside_the_others(void **state)
{
    (void)state;
    tree_add_hca(&mlx5);
    tree_write("nonsense", "/sys/class/infiniband/mlx4_0/node_guid");
    json_t *document = hca_json(0);
    assert_true(has_finding(document, "hca-unreadable"));
    assert_int_equal(json_array_size(get(document, "adapters")), 2);
    assert_string_equal(text_of(vf(document, 0), "use"), "unknown");
    json_decref(document);
    const struct outcome *outcome = RUN("hca");
    assert_int_equal(outcome->status, 0);
    assert_contains(outcome->err, "[hca-unreadable]");
    line_of(outcome->out, "mlx5_0");
}

static void lose_libvirt(void)
{
    tree_remove("/run/node.xml");
    stop_node(SIGTERM);
    spawn_node();
    await_node("up");
}

static void without_libvirt_no_vf_is_called_free(void **state)
{
    (void)state;
    lose_libvirt();
    json_t *document = hca_json(0);
    assert_true(has_finding(document, "libvirt-unreachable"));
    assert_false(json_is_true(get(get(document, "libvirt"), "known")));
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(text_of(vf(document, i), "use"), "unknown");
    json_decref(document);
}

/* What lies on disk is shown all the same. */
static void without_the_service_the_use_of_a_vf_is_unknown(void **state)
{
    (void)state;
    assign();
    stop_node(SIGKILL);
    json_t *document = hca_json(0);
    assert_true(has_finding(document, "node-service-unreachable"));
    assert_false(json_is_true(get(get(document, "libvirt"), "known")));
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(text_of(vf(document, i), "use"), "unknown");
    json_decref(document);
    const struct outcome *outcome = RUN("hca");
    assert_int_equal(outcome->status, 0);
    assert_contains(outcome->err, "systemctl start oneib-node");
    assert_contains(line_of(outcome->out, "0000:81:00.1"), " unknown: VM 42 NIC 1 0x0005 full");
}

static void a_vf_of_two_domains_is_a_violation(void **state)
{
    (void)state;
    put_domains(DOMAIN("one-1", HOSTDEV("0x1")) DOMAIN("one-2", HOSTDEV("0x1")));
    json_t *document = hca_json(1);
    assert_true(has_finding(document, "vf-claimed-twice"));
    json_decref(document);
    assert_int_equal(RUN("hca")->status, 1);
}

static void a_hostile_domain_cannot_steer_the_terminal(void **state)
{
    (void)state;
    put_domains(DOMAIN("x&#9;\xe2\x80\xae 0000:81:00.9\\", HOSTDEV("0x1")));
    const struct outcome *outcome = RUN("hca");
    assert_int_equal(outcome->status, 0);
    assert_lacks(outcome->out, "\t");
    assert_lacks(outcome->out, "\xe2\x80\xae");
    assert_contains(line_of(outcome->out, "0000:81:00.1"), "x\\x09");
}

static void the_configuration_is_the_nodes(void **state)
{
    (void)state;
    put("/etc/oneib/oneib.conf", "node = { nonsense = 1; };\n");
    const struct outcome *outcome = RUN("hca");
    assert_int_equal(outcome->status, 3);
    assert_contains(outcome->err, "/etc/oneib/oneib.conf");
    char *path = tree_path("/run/other.conf");
    put("/run/other.conf", "node = { libvirt = \"test://%s/run/node.xml\"; };\n", tree_root());
    assert_int_equal(RUN("hca", "--config", path)->status, 0);
    free(path);
}

static void other_words_are_usage_errors(void **state)
{
    (void)state;
    assert_int_equal(RUN("hca", "mlx4_0")->status, 2);
    assert_int_equal(RUN("hca", "--force")->status, 2);
    assert_int_equal(RUN("list", "--repair")->status, 2);
}

/* ---- repairing ------------------------------------------------------------------------------- */

static void repair_forgets_what_the_adapter_has_no_more(void **state)
{
    (void)state;
    assign();
    take_vfs_away();
    json_t *document = hca_json(0);
    assert_true(has_finding(document, "vf-gone"));
    json_decref(document);

    const struct outcome *outcome = RUN("hca", "--repair");
    if (outcome->status != 0)
        fail_msg("%s", outcome->err);
    assert_contains(outcome->err, "oneib: note: 1 virtual function was repaired\n");
    assert_false(has_record());
    outcome = RUN("hca", "--repair", "--json");
    document = parse_json(outcome->out);
    assert_int_equal(json_integer_value(get(document, "repaired")), 0);
    json_decref(document);
}

static void repair_closes_what_is_nobodys(void **state)
{
    (void)state;
    map_vf(2, 3);
    assert_int_equal(RUN("hca")->status, 1);
    const struct outcome *outcome = RUN("hca", "--repair");
    if (outcome->status != 0)
        fail_msg("%s", outcome->err);
    assert_contains(line_of(outcome->out, "0000:81:00.3"), " free closed ");
}

static void repair_leaves_running_vms_alone(void **state)
{
    (void)state;
    assign();
    put_domains(DOMAIN("one-42", HOSTDEV("0x1")) DOMAIN("other", HOSTDEV("0x3")));
    map_vf(2, 3);
    const struct outcome *outcome = RUN("hca", "--repair");
    assert_int_equal(outcome->status, 0);
    assert_contains(outcome->err, "0 virtual functions were repaired");
    assert_contains(line_of(outcome->out, "0000:81:00.1"), " 0x0005 full, no GUID ");
    assert_contains(line_of(outcome->out, "0000:81:00.3"), " 0x0005 full ");
    assert_true(has_record());
}

static void a_repair_that_fails_is_told_and_is_a_difference(void **state)
{
    (void)state;
    assign();
    take_vfs_away();
    stop_node(SIGKILL);
    const struct outcome *outcome = RUN("hca", "--repair");
    assert_int_equal(outcome->status, 1);
    assert_contains(outcome->err, "[repair-failed]");
    assert_contains(outcome->err, "systemctl start oneib-node");
    assert_true(has_record());
}

/* ---- the probe ------------------------------------------------------------------------------- */

static const struct outcome *probe(void)
{
    set_program(ONEIB_PROBE_BINARY);
    const struct outcome *outcome = run_words((const char *const[]){NULL});
    if (outcome->status != 0)
        fail_msg("exit status %d: %s", outcome->status, outcome->err);
    assert_string_equal(outcome->err, "");
    return outcome;
}

/* As root's part: the service's own user, here. */
static void other_daemons_are_trusted_when_root_says_so(void **state)
{
    (void)state;
    put("/others", "tcp://10.0.0.9:9678 %064d %064d\n", 1, 2);
    char *path = tree_path("/others");
    const struct outcome *outcome = RUN("hca", "--trust", path);
    assert_int_equal(outcome->status, 0);
    char text[256];
    tree_read(text, sizeof text, "/var/lib/oneib-node/daemons");
    assert_contains(text, "tcp://10.0.0.9:9678 ");
    put("/others", "nothing\n%s", "");
    outcome = RUN("hca", "--trust", path);
    assert_int_equal(outcome->status, 3);
    assert_contains(outcome->err, "line 1");
    free(path);
}

static void the_probe_tells_of_a_host_without_adapters(void **state)
{
    (void)state;
    const struct outcome *outcome = probe();
    assert_contains(outcome->out,
                    "IB_VFS_TOTAL = \"0\"\nIB_PORTS_ACTIVE = \"0\"\nIB_NODE_KEY = \"");
    assert_contains(outcome->out, "\"\nIB_PROBLEM = \"\"\n");
}

static void the_probe_tells_of_each_port(void **state)
{
    (void)state;
    tree_add_hca(&mlx5);
    const struct outcome *outcome = probe();
    assert_contains(outcome->out, "IB_HCA = [ NAME = \"mlx4_0\", DRIVER = \"mlx4\"");
    assert_contains(outcome->out, "IB_HCA = [ NAME = \"mlx5_0\", DRIVER = \"mlx5\"");
    assert_contains(outcome->out, "\nIB_VFS_TOTAL = \"6\"\nIB_PORTS_ACTIVE = \"2\"\n"
                                  "IB_NODE_KEY = \"");
    assert_contains(outcome->out, node_key);
    assert_contains(outcome->out, "\nIB_PROBLEM = \"\"\n");
}

static void a_broken_adapter_does_not_break_the_probe(void **state)
{
    (void)state;
    tree_add_hca(&mlx5);
    tree_write("nonsense\"\nIB_VFS_TOTAL = \"99", "/sys/class/infiniband/mlx4_0/node_guid");
    const struct outcome *outcome = probe();
    assert_contains(outcome->out, "\nIB_VFS_TOTAL = \"2\"\n");
    assert_lacks(outcome->out, "\nIB_VFS_TOTAL = \"99\"");
    assert_contains(outcome->out, "\nIB_PROBLEM = \"");
    assert_lacks(outcome->out, "IB_PROBLEM = \"\"");
}

static void a_broken_libvirt_is_a_problem(void **state)
{
    (void)state;
    assign();
    lose_libvirt();
    const struct outcome *outcome = probe();
    assert_contains(outcome->out, "\nIB_VFS_TOTAL = \"4\"\nIB_PORTS_ACTIVE = \"1\"\n");
    assert_contains(outcome->out, "\nIB_PROBLEM = \"");
    assert_contains(outcome->out, "test:///");
    assert_true(has_record());
}

/* oneibd knows it at once; what the probe says stands in OpenNebula until it runs again. */
static void whether_oneibd_is_connected_the_probe_does_not_say(void **state)
{
    (void)state;
    tree_add_hca(&mlx4);
    start_node();
    /* Of a service that was just started nobody is to notice that it was. */
    for (int tries = 0; tries < 200 && !strstr(RUN("hca")->err, "no VF is opened"); tries++)
        usleep(100000);
    assert_contains(RUN("hca")->err, "no VF is opened: this host");
    assert_contains(probe()->out, "\nIB_VFS_TOTAL = \"4\"\n");
    assert_contains(probe()->out, "\nIB_PROBLEM = \"\"\n");
}

/* Nobody is to be sent here; the adapter is as before. */
static void without_the_service_the_host_has_no_vfs(void **state)
{
    (void)state;
    assign();
    stop_node(SIGKILL);
    const struct outcome *outcome = probe();
    assert_contains(outcome->out, "VFS_TOTAL = \"4\", NUMA_NODE");
    assert_contains(outcome->out, "\nIB_VFS_TOTAL = \"0\"\nIB_PORTS_ACTIVE = \"1\"\n");
    assert_contains(outcome->out, "\nIB_PROBLEM = \"");
    assert_contains(outcome->out, "systemctl start oneib-node");
}

static void a_broken_configuration_is_a_problem(void **state)
{
    (void)state;
    assign();
    put("/etc/oneib/oneib.conf", "node = { nonsense = 1; };\n");
    const struct outcome *outcome = probe();
    assert_contains(outcome->out, "\nIB_VFS_TOTAL = \"4\"\n");
    assert_contains(outcome->out, "oneib.conf");
    assert_true(has_record());
}

/* The script that OpenNebula runs, with another program in its place. */
static const struct outcome *run_script(const char *program)
{
    char command[2 * PATH_MAX];
    snprintf(command, sizeof command, "sed 's|^program=.*|program=\"%s\"|' '%s' | sh", program,
             ONEIB_PROBE_SCRIPT);
    set_program("/bin/sh");
    return RUN("-c", command);
}

static void the_script_runs_the_probe_and_never_fails(void **state)
{
    (void)state;
    static const char nothing[] = "IB_VFS_TOTAL=\"0\"\nIB_PORTS_ACTIVE=\"0\"\n";
    assert_contains(run_script(ONEIB_PROBE_BINARY)->out, "\nIB_VFS_TOTAL = \"4\"\n");
    const struct outcome *outcome = run_script("/nonexistent/probe");
    assert_int_equal(outcome->status, 0);
    assert_string_equal(outcome->out, nothing);
    outcome = run_script("/bin/false");
    assert_int_equal(outcome->status, 0);
    assert_string_equal(outcome->out, nothing);
}

int main(void)
{
    open_node_root();
#define BARE(function) cmocka_unit_test_setup(function, make_node)
#define WITH_ADAPTER(function)                                                                     \
    cmocka_unit_test_setup_teardown(function, make_node_with_adapter, end_node)
    const struct CMUnitTest tests[] = {
        BARE(a_host_without_an_adapter_is_told_of),
        WITH_ADAPTER(the_tables_show_ports_and_vfs),
        WITH_ADAPTER(the_document_has_the_same),
        WITH_ADAPTER(what_is_in_use_is_not_what_is_reserved_leaked_or_free),
        BARE(adapters_with_long_names_are_told_apart),
        BARE(an_adapter_without_vfs_has_one_table),
        cmocka_unit_test_setup_teardown(what_a_virtual_port_holds_is_shown_or_said_not_to_be_read,
                                        make_node_with_mlx5, end_node),
        WITH_ADAPTER(a_broken_adapter_is_a_finding_beside_the_others),
        WITH_ADAPTER(without_libvirt_no_vf_is_called_free),
        WITH_ADAPTER(without_the_service_the_use_of_a_vf_is_unknown),
        WITH_ADAPTER(a_vf_of_two_domains_is_a_violation),
        WITH_ADAPTER(a_hostile_domain_cannot_steer_the_terminal),
        WITH_ADAPTER(the_configuration_is_the_nodes),
        BARE(other_words_are_usage_errors),
        WITH_ADAPTER(repair_forgets_what_the_adapter_has_no_more),
        WITH_ADAPTER(repair_closes_what_is_nobodys),
        WITH_ADAPTER(repair_leaves_running_vms_alone),
        WITH_ADAPTER(a_repair_that_fails_is_told_and_is_a_difference),
        BARE(the_probe_tells_of_a_host_without_adapters),
        WITH_ADAPTER(other_daemons_are_trusted_when_root_says_so),
        WITH_ADAPTER(the_probe_tells_of_each_port),
        WITH_ADAPTER(a_broken_adapter_does_not_break_the_probe),
        WITH_ADAPTER(a_broken_libvirt_is_a_problem),
        cmocka_unit_test_setup_teardown(whether_oneibd_is_connected_the_probe_does_not_say,
                                        make_node, end_node),
        WITH_ADAPTER(without_the_service_the_host_has_no_vfs),
        WITH_ADAPTER(a_broken_configuration_is_a_problem),
        WITH_ADAPTER(the_script_runs_the_probe_and_never_fails),
    };
    return close_node_root(cmocka_run_group_tests(tests, NULL, NULL));
}
