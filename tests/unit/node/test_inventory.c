// SPDX-License-Identifier: Apache-2.0
/*
 * A simulated node with an adapter of four VFs, oneib's table, and a libvirt (its test driver,
 * asked through the real oneib-domains). What is released is told to a stand-in for oneib-vf, which
 * notes its arguments in a file.
 */
#include "../hca/tree.h"
#include "hca/reservations.h"
#include "node/inventory.h"
#include "node/reattach.h"
#include <inttypes.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const struct tree_hca adapter = {
    .name = "mlx4_0", .driver = ONEIB_HCA_MLX4, .pci = "0000:81:00.0", .vfs = 4};

static char uri[PATH_MAX], program[PATH_MAX];
static char *helper[] = {program, NULL};
static struct oneib_config config = {
    .node = {.libvirt = uri, .helper = helper, .pkey_wait_ms = 1000, .guid_wait_ms = 1000}};

/* A stand-in for the program that plugs VFs in: noted among the calls of oneib-vf. */
static bool reattach_fails;

int oneib_reattach(uint32_t vm_id, const char *document, size_t length, struct oneib_error *err)
{
    char *path = tree_path("/run/calls");
    FILE *file = fopen(path, "a");
    free(path);
    assert_non_null(file);
    assert_null(document);
    assert_int_equal(length, 0);
    fprintf(file, "reattach %" PRIu32 "\n", vm_id);
    assert_int_equal(fclose(file), 0);
    return reattach_fails ? oneib_fail(err, ONEIB_ERROR_REFUSED, "QEMU says no") : 0;
}

/* ---- the node ------------------------------------------------------------------------------ */

/* A file of any length, as it is. */
static void put(const char *name, const struct oneib_text *text)
{
    char *path = tree_path("%s", name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_non_null(text->data);
    assert_int_equal(fwrite(text->data, 1, text->length, file), text->length);
    assert_int_equal(fclose(file), 0);
    free(path);
}

/* As a line of the domain's devices. */
static void append_hostdev(struct oneib_text *text, unsigned vf)
{
    const struct oneib_pci pci = tree_vf_pci(&adapter, vf);
    oneib_text_printf(text,
                      "<hostdev mode='subsystem' type='pci'><source><address domain='0x%04x' "
                      "bus='0x%02x' slot='0x%02x' function='0x%x'/></source></hostdev>",
                      pci.domain, pci.bus, pci.slot, pci.function);
}

struct domain {
    const char *name; /* NULL: end */
    int vf;           /* -1: none */
    bool defined;
};

static void put_domains(const struct domain *domains)
{
    struct oneib_text text = {0};
    oneib_text_append(&text, "<node>");
    for (; domains->name; domains++) {
        oneib_text_printf(
            &text,
            "<domain type='test' xmlns:test='http://libvirt.org/schemas/domain/test/1.0'>"
            "<name>%s</name><memory>1024</memory><os><type>hvm</type></os><devices>",
            domains->name);
        if (domains->vf >= 0)
            append_hostdev(&text, (unsigned)domains->vf);
        oneib_text_printf(&text, "</devices>%s</domain>",
                          domains->defined ? "<test:runstate>5</test:runstate>" : "");
    }
    oneib_text_append(&text, "</node>");
    put("/node.xml", &text);
    oneib_text_clear(&text);
}
#define DOMAINS(...) put_domains((const struct domain[]){__VA_ARGS__, {NULL, -1, false}})

static struct oneib_vf_record record_of(unsigned vf, uint32_t vm_id, enum oneib_vf_stage stage)
{
    return (struct oneib_vf_record){
        .vf = tree_vf_pci(&adapter, vf),
        .device = "mlx4_0",
        .index = (uint16_t)vf,
        .port = 1,
        .vm_id = vm_id,
        .pkey = 5,
        .stage = stage,
        .guid = ONEIB_VF_GUID_SET,
        .since = oneib_seconds_since_boot() - 2 * ONEIB_STALE_AFTER,
    };
}

static void put_records(const struct oneib_vf_record *records, size_t count)
{
    struct oneib_vf_table table = {0};
    struct oneib_text text = {0};
    struct oneib_error err;
    for (size_t i = 0; i < count; i++)
        assert_int_equal(oneib_vf_table_add(&table, &records[i], &err), 0);
    oneib_vf_table_render(&table, &text);
    tree_make_folder("/run/oneib");
    put("/run/oneib/vfs", &text);
    oneib_text_clear(&text);
    oneib_vf_table_clear(&table);
}
#define RECORDS(...)                                                                               \
    put_records((const struct oneib_vf_record[]){__VA_ARGS__},                                     \
                sizeof((const struct oneib_vf_record[]){__VA_ARGS__}) /                            \
                    sizeof(struct oneib_vf_record))

/* Every entry of the map at 0; entry 0 of port 1 at `index`. */
static void map_vf(unsigned vf, unsigned index)
{
    char value[8];
    for (unsigned entry = 0; entry < 127; entry++) {
        snprintf(value, sizeof value, "%u", entry == 0 ? index : 0);
        tree_set_vf_pkey(&adapter, vf, 1, entry, value);
    }
}

static void put_helper(const char *script)
{
    struct oneib_text text = {0};
    oneib_text_printf(&text, "#!/bin/sh\necho \"$@\" >> '%s/run/calls'\n%s\n", tree_root(), script);
    put("/oneib-vf", &text);
    tree_set_mode(0755, "/oneib-vf");
    oneib_text_clear(&text);
}

static int make_node(void **state)
{
    tree_reset(state);
    snprintf(uri, sizeof uri, "test://%s/node.xml", tree_root());
    snprintf(program, sizeof program, "%s/oneib-vf", tree_root());
    config.node.host_vfs = NULL;
    reattach_fails = false;
    tree_add_hca(&adapter);
    tree_set_pkey(&adapter, 1, 3, 0x8005);
    put_domains(&(const struct domain){NULL, -1, false});
    put_helper("exit 0");
    return 0;
}

/* ---- what is seen -------------------------------------------------------------------------- */

static struct oneib_inventory look(bool with_states)
{
    struct oneib_inventory inventory;
    struct oneib_error err = {0};
    if (oneib_inventory_read(&config, with_states, &inventory, &err) < 0)
        fail_msg("%s", err.text);
    return inventory;
}

static void print_findings(const struct oneib_inventory *inventory)
{
    for (size_t i = 0; i < inventory->findings.count; i++)
        print_error("%s: %s\n", inventory->findings.items[i].code,
                    inventory->findings.items[i].text);
}

static const struct oneib_finding *find(const struct oneib_inventory *inventory, const char *code)
{
    for (size_t i = 0; i < inventory->findings.count; i++)
        if (strcmp(inventory->findings.items[i].code, code) == 0)
            return &inventory->findings.items[i];
    print_findings(inventory);
    fail_msg("there is no finding %s", code);
    return NULL;
}

static void assert_no_findings(const struct oneib_inventory *inventory)
{
    print_findings(inventory);
    assert_int_equal(inventory->findings.count, 0);
}

static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

/* Looks once, and expects exactly this finding. */
static void found(bool with_states, const char *code, enum oneib_severity severity,
                  const char *part)
{
    struct oneib_inventory inventory = look(with_states);
    const struct oneib_finding *finding = find(&inventory, code);
    if (inventory.findings.count != 1)
        print_findings(&inventory);
    assert_int_equal(inventory.findings.count, 1);
    assert_int_equal(finding->severity, severity);
    assert_contains(finding->text, part);
    oneib_inventory_clear(&inventory);
}

static const char *seen_calls(void)
{
    static char seen[1024];
    char *path = tree_path("/run/calls");
    FILE *file = fopen(path, "r");
    seen[0] = '\0';
    if (file) {
        seen[fread(seen, 1, sizeof seen - 1, file)] = '\0';
        fclose(file);
    }
    free(path);
    return seen;
}

static void assert_called(const char *calls)
{
    assert_string_equal(seen_calls(), calls);
}

static size_t repair(bool everything, struct oneib_inventory *inventory)
{
    struct oneib_error err = {0};
    size_t done;
    if (oneib_inventory_repair(&config, inventory, everything, &done, &err) < 0)
        fail_msg("%s", err.text);
    return done;
}

static size_t looked_and_repaired(bool everything)
{
    struct oneib_inventory inventory = look(everything);
    const size_t done = repair(everything, &inventory);
    oneib_inventory_clear(&inventory);
    return done;
}

/* ---- looking ------------------------------------------------------------------------------- */

static void vfs_of_nobody_are_free(void **state)
{
    (void)state;
    struct oneib_inventory inventory = look(true);
    assert_no_findings(&inventory);
    assert_true(inventory.domains_known);
    assert_int_equal(inventory.vf_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(inventory.vfs[i].use, ONEIB_VF_FREE);
        assert_true(inventory.vfs[i].state_known);
        assert_int_equal(inventory.vfs[i].vf->index, i);
    }
    oneib_inventory_clear(&inventory);
}

static void a_probe_that_has_nothing_to_release_does_not_ask_libvirt(void **state)
{
    (void)state;
    tree_remove("/node.xml");
    struct oneib_inventory inventory = look(false);
    assert_no_findings(&inventory);
    assert_false(inventory.domains_known);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(inventory.vfs[i].use, ONEIB_VF_UNREADABLE);
        assert_false(inventory.vfs[i].state_known);
    }
    oneib_inventory_clear(&inventory);
}

static void each_vf_says_who_has_it(void **state)
{
    (void)state;
    char *host_vfs[] = {NULL, NULL};
    char kept[ONEIB_PCI_TEXT_SIZE];
    const struct oneib_pci third = tree_vf_pci(&adapter, 2);
    oneib_pci_format(&third, kept);
    host_vfs[0] = kept;
    config.node.host_vfs = host_vfs;
    DOMAINS({"one-42", 0, false}, {"other", 1, true});
    RECORDS(record_of(0, 42, ONEIB_VF_OPEN));
    struct oneib_inventory inventory = look(false);
    assert_no_findings(&inventory);
    assert_int_equal(inventory.vfs[0].use, ONEIB_VF_RESERVED);
    assert_int_equal(inventory.vfs[0].record->vm_id, 42);
    assert_string_equal(inventory.vfs[0].domain->name, "one-42");
    assert_int_equal(inventory.vfs[1].use, ONEIB_VF_DOMAIN);
    assert_null(inventory.vfs[1].record);
    assert_int_equal(inventory.vfs[2].use, ONEIB_VF_HOST);
    assert_int_equal(inventory.vfs[3].use, ONEIB_VF_FREE);
    oneib_inventory_clear(&inventory);
    config.node.host_vfs = NULL;
}

static void without_an_adapter_libvirt_is_not_asked(void **state)
{
    (void)state;
    tree_remove_hca(&adapter);
    tree_remove("/node.xml");
    struct oneib_inventory inventory = look(true);
    assert_no_findings(&inventory);
    assert_int_equal(inventory.hcas.count, 0);
    assert_int_equal(inventory.vf_count, 0);
    oneib_inventory_clear(&inventory);
}

static void a_libvirt_that_is_down_is_found_and_no_vf_is_free(void **state)
{
    (void)state;
    tree_remove("/node.xml");
    struct oneib_inventory inventory = look(true);
    assert_false(inventory.domains_known);
    assert_int_equal(inventory.domains_error.code, ONEIB_ERROR_UNREACHABLE);
    assert_int_equal(find(&inventory, "libvirt-unreachable")->severity, ONEIB_WARNING);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(inventory.vfs[i].use, ONEIB_VF_UNREADABLE);
    oneib_inventory_clear(&inventory);
}

static void a_damaged_table_is_found_and_no_vf_is_free(void **state)
{
    (void)state;
    tree_write("vf=nonsense", "/run/oneib/vfs");
    struct oneib_inventory inventory = look(true);
    assert_false(inventory.table_known);
    assert_contains(find(&inventory, "vf-table-unreadable")->text, "/run/oneib/vfs");
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(inventory.vfs[i].use, ONEIB_VF_UNREADABLE);
    oneib_inventory_clear(&inventory);
}

static void a_vf_of_two_domains_is_found(void **state)
{
    (void)state;
    DOMAINS({"one-1", 0, false}, {"x\"y", 0, true});
    found(true, "vf-claimed-twice", ONEIB_VIOLATION, "domain \"x\\x22y\"");
}

static void a_vf_that_is_recorded_for_another_vm_is_found(void **state)
{
    (void)state;
    DOMAINS({"one-1", 0, false}, {"one-2", -1, false});
    RECORDS(record_of(0, 2, ONEIB_VF_OPEN));
    found(false, "vf-claimed-twice", ONEIB_VIOLATION, "domain \"one-1\" and the record of VM 2");
}

static void an_open_vf_of_nobody_is_found(void **state)
{
    (void)state;
    map_vf(1, 3);
    struct oneib_inventory inventory = look(true);
    assert_int_equal(inventory.vfs[1].use, ONEIB_VF_NOT_CLOSED);
    oneib_inventory_clear(&inventory);
    found(true, "vf-not-closed", ONEIB_VIOLATION, "is nobody's, but open");
}

static void a_left_over_guid_is_found(void **state)
{
    (void)state;
    map_vf(1, 0);
    tree_set_alias(&adapter, 1, 1, 0x0200000000002a01);
    found(true, "vf-not-closed", ONEIB_WARNING, "GUID");
}

static void an_open_vf_with_another_key_than_recorded_is_found(void **state)
{
    (void)state;
    tree_set_pkey(&adapter, 1, 4, 0x8006);
    DOMAINS({"one-7", 0, false});
    RECORDS(record_of(0, 7, ONEIB_VF_OPEN));
    map_vf(0, 3);
    struct oneib_inventory inventory = look(true);
    assert_no_findings(&inventory);
    oneib_inventory_clear(&inventory);
    map_vf(0, 4);
    found(true, "vf-not-as-recorded", ONEIB_VIOLATION, "open to another key");
    map_vf(0, 9); /* which is empty */
    found(true, "vf-not-as-recorded", ONEIB_VIOLATION, "open elsewhere than to its key");
    map_vf(0, 3);
    tree_set_vf_pkey(&adapter, 0, 1, 1, "4");
    found(true, "vf-not-as-recorded", ONEIB_VIOLATION, "open elsewhere than to its key");
    map_vf(0, 0);
    found(true, "vf-not-as-recorded", ONEIB_WARNING, "is closed");
    RECORDS(record_of(0, 7, ONEIB_VF_CLOSED));
    map_vf(0, 3);
    found(true, "vf-not-as-recorded", ONEIB_VIOLATION, "but the virtual function is open");
}

static void an_open_vf_of_a_vm_without_a_record_is_found(void **state)
{
    (void)state;
    DOMAINS({"one-7", 0, false}, {"other", 1, false});
    map_vf(0, 3);
    map_vf(1, 3);
    found(true, "vf-unrecorded", ONEIB_WARNING, "VM 7, and there is no record of it: it is open");
    map_vf(0, 0);
    found(true, "vf-unrecorded", ONEIB_WARNING, "VM 7, and there is no record of it: it is closed");
}

static void a_record_without_its_vf_is_found(void **state)
{
    (void)state;
    struct oneib_vf_record gone = record_of(0, 7, ONEIB_VF_OPEN);
    gone.vf.bus = 0x99;
    DOMAINS({"one-7", -1, false});
    RECORDS(gone);
    found(false, "vf-gone", ONEIB_WARNING, "VM 7 NIC 0");
}

static void a_stale_record_is_worth_a_notice(void **state)
{
    (void)state;
    RECORDS(record_of(0, 7, ONEIB_VF_OPEN));
    found(false, "vf-stale", ONEIB_NOTICE, "VM 7 NIC 0");
}

static void a_running_vm_without_its_vf_is_found(void **state)
{
    (void)state;
    struct oneib_vf_record young = record_of(0, 7, ONEIB_VF_OPEN);
    DOMAINS({"one-7", -1, false});
    RECORDS(young);
    found(false, "vf-not-plugged", ONEIB_WARNING,
          "VM 7 NIC 0 runs without InfiniBand: its virtual function is not plugged");
    RECORDS(record_of(0, 7, ONEIB_VF_CLOSED));
    found(false, "vf-not-plugged", ONEIB_WARNING, "VM 7 NIC 0");
    /* An attach records it before it is plugged. */
    young.since = oneib_seconds_since_boot();
    RECORDS(young);
    struct oneib_inventory inventory = look(false);
    assert_no_findings(&inventory);
    oneib_inventory_clear(&inventory);
    DOMAINS({"one-7", 0, false});
    RECORDS(record_of(0, 7, ONEIB_VF_OPEN));
    inventory = look(false);
    assert_no_findings(&inventory);
    oneib_inventory_clear(&inventory);
}

static void a_full_member_of_the_default_partition_is_found(void **state)
{
    (void)state;
    tree_set_pkey(&adapter, 1, 0, 0xffff);
    found(false, "port-not-safe", ONEIB_WARNING, "mlx4_0 port 1");
    DOMAINS({"one-7", 0, false});
    RECORDS(record_of(0, 7, ONEIB_VF_OPEN));
    found(false, "port-not-safe", ONEIB_VIOLATION, "mlx4_0 port 1");
}

static void an_adapter_that_cannot_be_read_is_found_and_has_no_free_vf(void **state)
{
    (void)state;
    tree_remove("/sys/class/infiniband/mlx4_0/ports/1/gids");
    tree_write("nonsense", "/sys/class/infiniband/mlx4_0/node_guid");
    struct oneib_inventory inventory = look(true);
    assert_int_equal(find(&inventory, "hca-unreadable")->severity, ONEIB_WARNING);
    for (size_t i = 0; i < inventory.vf_count; i++)
        assert_int_equal(inventory.vfs[i].use, ONEIB_VF_UNREADABLE);
    oneib_inventory_clear(&inventory);
}

static void a_map_that_cannot_be_read_is_found_once(void **state)
{
    (void)state;
    char folder[ONEIB_PCI_TEXT_SIZE];
    for (unsigned vf = 0; vf < 2; vf++) {
        tree_vf_folder(&adapter, vf, folder);
        tree_write("nonsense", "/sys/class/infiniband/mlx4_0/iov/%s/ports/1/pkey_idx/5", folder);
    }
    struct oneib_inventory inventory = look(true);
    assert_int_equal(inventory.vfs[1].use, ONEIB_VF_UNREADABLE);
    assert_int_equal(inventory.vfs[2].use, ONEIB_VF_FREE);
    oneib_inventory_clear(&inventory);
    found(true, "vf-unreadable", ONEIB_WARNING, "2 of its 4 virtual functions");
    found(true, "vf-unreadable", ONEIB_WARNING, "pkey_idx/5 reads \"nonsense\"");
}

/* ---- repairing ----------------------------------------------------------------------------- */

static void the_probe_releases_what_is_stale_and_nothing_else(void **state)
{
    (void)state;
    struct oneib_vf_record young = record_of(2, 9, ONEIB_VF_OPEN);
    young.since = oneib_seconds_since_boot();
    DOMAINS({"one-8", 1, false});
    RECORDS(record_of(0, 7, ONEIB_VF_OPEN), record_of(1, 8, ONEIB_VF_OPEN), young,
            record_of(3, 10, ONEIB_VF_PREPARING));
    assert_int_equal(looked_and_repaired(false), 2);
    assert_called("release --vm 7 --nic 0\nrelease --vm 10 --nic 0\n");
}

/* pre gives a VM its VFs one by one. */
static void a_vm_that_is_being_prepared_keeps_its_other_vfs(void **state)
{
    (void)state;
    struct oneib_vf_record second = record_of(1, 7, ONEIB_VF_PREPARING);
    second.nic_id = 1;
    oneib_vf_record_own(&second);
    RECORDS(record_of(0, 7, ONEIB_VF_OPEN), second);
    assert_int_equal(looked_and_repaired(true), 0);
    assert_called("");
}

static void without_libvirt_only_what_was_left_half_done_is_released(void **state)
{
    (void)state;
    tree_remove("/node.xml");
    RECORDS(record_of(0, 7, ONEIB_VF_OPEN), record_of(1, 8, ONEIB_VF_RELEASING));
    map_vf(2, 3);
    assert_int_equal(looked_and_repaired(true), 1);
    assert_called("release --vm 8 --nic 0\n");
}

/* The VM came back to its VF after the look. */
static void a_record_that_has_changed_since_is_left_alone(void **state)
{
    (void)state;
    struct oneib_vf_record record = record_of(0, 7, ONEIB_VF_OPEN);
    RECORDS(record);
    struct oneib_inventory inventory = look(false);
    record.since = oneib_seconds_since_boot();
    RECORDS(record);
    assert_int_equal(repair(false, &inventory), 0);
    assert_called("");
    oneib_inventory_clear(&inventory);
}

static void the_probe_leaves_open_vfs_of_nobody_to_people(void **state)
{
    (void)state;
    map_vf(1, 3);
    assert_int_equal(looked_and_repaired(false), 0);
    assert_called("");
}

static void repair_closes_what_is_nobodys_and_open(void **state)
{
    (void)state;
    char vf[ONEIB_PCI_TEXT_SIZE], domains[ONEIB_PCI_TEXT_SIZE], calls[256];
    const struct oneib_pci second = tree_vf_pci(&adapter, 1), first = tree_vf_pci(&adapter, 0);
    oneib_pci_format(&second, vf);
    oneib_pci_format(&first, domains);
    DOMAINS({"one-8", 0, false});
    map_vf(1, 3);
    assert_int_equal(looked_and_repaired(true), 1);
    snprintf(calls, sizeof calls, "release --vm 2147483647 --vf %s --in-use %s\n", vf, domains);
    assert_called(calls);
}

static void repair_drops_records_whose_vf_is_gone(void **state)
{
    (void)state;
    struct oneib_vf_record gone = record_of(0, 7, ONEIB_VF_OPEN);
    gone.vf.bus = 0x99;
    DOMAINS({"one-7", -1, false});
    RECORDS(gone);
    assert_int_equal(looked_and_repaired(false), 0);
    assert_int_equal(looked_and_repaired(true), 1);
    assert_called("release --vm 7 --nic 0\n");
}

static void repair_finishes_what_post_could_not(void **state)
{
    (void)state;
    struct oneib_vf_record deferred = record_of(0, 7, ONEIB_VF_OPEN);
    struct oneib_text script = {0};
    char calls[256], vf[ONEIB_PCI_TEXT_SIZE];
    deferred.guid = ONEIB_VF_GUID_DEFERRED;
    deferred.limited = true;
    DOMAINS({"one-7", -1, false});
    RECORDS(deferred);
    map_vf(0, 3);
    found(true, "vf-unfinished", ONEIB_WARNING, "VM 7 NIC 0 runs without InfiniBand");
    oneib_text_append(&script, "echo '");
    oneib_vf_record_render(&deferred, &script);
    oneib_text_append(&script, "'");
    put_helper(script.data);
    oneib_text_clear(&script);
    assert_int_equal(looked_and_repaired(false), 0);
    assert_int_equal(looked_and_repaired(true), 1);
    oneib_pci_format(&deferred.vf, vf);
    snprintf(calls, sizeof calls,
             "assign --vm 7 --nic 0 --pkey 0x0005 --limited --device mlx4_0:1 --vf %s\n"
             "reattach 7\n",
             vf);
    assert_called(calls);
}

/* It had its VF, but not its GUID: there is nothing to plug. */
static void what_is_plugged_is_only_finished(void **state)
{
    (void)state;
    struct oneib_vf_record unfinished = record_of(0, 7, ONEIB_VF_OPEN);
    struct oneib_text script = {0};
    unfinished.guid = ONEIB_VF_GUID_NONE;
    DOMAINS({"one-7", 0, false});
    RECORDS(unfinished);
    oneib_text_append(&script, "echo '");
    oneib_vf_record_render(&unfinished, &script);
    oneib_text_append(&script, "'");
    put_helper(script.data);
    oneib_text_clear(&script);
    assert_int_equal(looked_and_repaired(true), 1);
    assert_null(strstr(seen_calls(), "reattach"));
}

static void repair_plugs_in_what_a_running_vm_lacks(void **state)
{
    (void)state;
    DOMAINS({"one-7", -1, false}, {"one-8", 1, false});
    RECORDS(record_of(0, 7, ONEIB_VF_OPEN), record_of(1, 8, ONEIB_VF_OPEN));
    assert_int_equal(looked_and_repaired(false), 0);
    assert_called("");
    assert_int_equal(looked_and_repaired(true), 1);
    assert_called("reattach 7\n");
}

static void one_that_another_domain_has_is_not_plugged(void **state)
{
    (void)state;
    DOMAINS({"one-1", 0, false}, {"one-2", -1, false});
    RECORDS(record_of(0, 2, ONEIB_VF_OPEN));
    assert_int_equal(looked_and_repaired(true), 0);
    assert_called("");
}

static void what_cannot_be_plugged_in_is_a_finding(void **state)
{
    (void)state;
    DOMAINS({"one-7", -1, false});
    RECORDS(record_of(0, 7, ONEIB_VF_OPEN));
    reattach_fails = true;
    struct oneib_inventory inventory = look(false);
    assert_int_equal(repair(true, &inventory), 0);
    assert_contains(find(&inventory, "repair-failed")->text, "QEMU says no");
    oneib_inventory_clear(&inventory);
}

static void what_oneib_vf_refuses_is_a_finding_and_the_rest_goes_on(void **state)
{
    (void)state;
    put_helper("case \"$*\" in *'--vm 7'*) echo 'oneib-vf: the SM says no' >&2; exit 3;; esac");
    RECORDS(record_of(0, 7, ONEIB_VF_OPEN), record_of(1, 8, ONEIB_VF_OPEN));
    struct oneib_inventory inventory = look(false);
    assert_int_equal(repair(false, &inventory), 1);
    const struct oneib_finding *finding = find(&inventory, "repair-failed");
    assert_contains(finding->text, "the SM says no");
    oneib_inventory_clear(&inventory);
    assert_called("release --vm 7 --nic 0\nrelease --vm 8 --nic 0\n");
}

int main(void)
{
    tree_open();
#define TEST(function) cmocka_unit_test_setup(function, make_node)
    const struct CMUnitTest tests[] = {
        TEST(vfs_of_nobody_are_free),
        TEST(a_probe_that_has_nothing_to_release_does_not_ask_libvirt),
        TEST(each_vf_says_who_has_it),
        TEST(without_an_adapter_libvirt_is_not_asked),
        TEST(a_libvirt_that_is_down_is_found_and_no_vf_is_free),
        TEST(a_damaged_table_is_found_and_no_vf_is_free),
        TEST(a_vf_of_two_domains_is_found),
        TEST(a_vf_that_is_recorded_for_another_vm_is_found),
        TEST(an_open_vf_of_nobody_is_found),
        TEST(a_left_over_guid_is_found),
        TEST(an_open_vf_with_another_key_than_recorded_is_found),
        TEST(an_open_vf_of_a_vm_without_a_record_is_found),
        TEST(a_record_without_its_vf_is_found),
        TEST(a_stale_record_is_worth_a_notice),
        TEST(a_running_vm_without_its_vf_is_found),
        TEST(a_full_member_of_the_default_partition_is_found),
        TEST(an_adapter_that_cannot_be_read_is_found_and_has_no_free_vf),
        TEST(a_map_that_cannot_be_read_is_found_once),
        TEST(the_probe_releases_what_is_stale_and_nothing_else),
        TEST(a_vm_that_is_being_prepared_keeps_its_other_vfs),
        TEST(without_libvirt_only_what_was_left_half_done_is_released),
        TEST(a_record_that_has_changed_since_is_left_alone),
        TEST(the_probe_leaves_open_vfs_of_nobody_to_people),
        TEST(repair_closes_what_is_nobodys_and_open),
        TEST(repair_drops_records_whose_vf_is_gone),
        TEST(repair_finishes_what_post_could_not),
        TEST(what_is_plugged_is_only_finished),
        TEST(repair_plugs_in_what_a_running_vm_lacks),
        TEST(one_that_another_domain_has_is_not_plugged),
        TEST(what_cannot_be_plugged_in_is_a_finding),
        TEST(what_oneib_vf_refuses_is_a_finding_and_the_rest_goes_on),
    };
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
