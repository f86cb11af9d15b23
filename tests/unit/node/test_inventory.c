// SPDX-License-Identifier: Apache-2.0
/*
 * A simulated node with an adapter of four VFs, oneib's table, and a stand-in for oneib-node, which
 * this file defines in place of its client: it has the table, and notes what it is asked in a file.
 */
#include "../domain/domain_lines.h"
#include "../hca/fwctl_standin.h"
#include "hca/reservations.h"
#include "node/inventory.h"
#include "node/start_reattach.h"
#include "service/service_client.h"
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

static struct oneib_config config = {.node = {.pkey_wait_ms = 1000, .guid_wait_ms = 1000}};

/* ---- stand-ins ------------------------------------------------------------------------------- */

static bool reattach_fails, service_is_silent, service_is_busy, libvirt_is_silent;
static uint32_t unseen;
static const char *refused; /* calls with these words; NULL: none */
static struct oneib_text domains_here;

static int note_call(struct oneib_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int note_call(struct oneib_error *err, const char *format, ...)
{
    char line[256], *path = tree_path("/run/calls");
    FILE *file = fopen(path, "a");
    va_list arguments;
    free(path);
    assert_non_null(file);
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(file, "%s\n", line);
    assert_int_equal(fclose(file), 0);
    return refused && strstr(line, refused) ? oneib_fail(err, ONEIB_ERROR_REFUSED, "the SM says no")
                                            : 0;
}

/* The program that plugs VFs in. */
int oneib_reattach(uint32_t vm_id, const char *document, size_t length, struct oneib_error *err)
{
    assert_null(document);
    assert_int_equal(length, 0);
    note_call(err, "reattach %" PRIu32, vm_id);
    return reattach_fails ? oneib_fail(err, ONEIB_ERROR_REFUSED, "QEMU says no") : 0;
}

struct oneib_client {
    int unused;
};

int oneib_client_open(struct oneib_client **client, struct oneib_error *err)
{
    static struct oneib_client the_client;
    *client = service_is_silent ? NULL : &the_client;
    return service_is_silent
               ? oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "oneib-node does not answer")
               : 0;
}

void oneib_client_close(struct oneib_client *client)
{
    (void)client;
}

int oneib_client_have(struct oneib_client *client, const struct oneib_request *request,
                      uint64_t wait_ms, struct oneib_vf_record *record, struct oneib_error *err)
{
    (void)client;
    *record = (struct oneib_vf_record){0};
    assert_int_equal(wait_ms, config.node.pkey_wait_ms);
    return note_call(err, "have %" PRIu32 "/%d net %" PRIu32, request->vm_id, request->nic_id,
                     request->network_id);
}

int oneib_client_release(struct oneib_client *client, const struct oneib_request *request,
                         struct oneib_released *released, struct oneib_error *err)
{
    char vf[ONEIB_PCI_TEXT_SIZE];
    (void)client;
    *released = (struct oneib_released){0};
    oneib_pci_format(&request->vf, vf);
    if (request->kind == ONEIB_REQUEST_RELEASE_VF)
        return note_call(err, "release %" PRIu32 " vf %s", request->vm_id, vf);
    return note_call(err, "release %" PRIu32 "/%d%s", request->vm_id, request->nic_id,
                     request->flags & ONEIB_RELEASE_NIC_GONE ? " gone" : "");
}

int oneib_client_wait(struct oneib_client *client, uint64_t wait_ms, struct oneib_error *err)
{
    (void)client;
    assert_int_equal(wait_ms, 2000);
    return note_call(err, "wait");
}

/* The table that it has is the one that lies on disk; one that it cannot read it does not have. */
int oneib_client_list(struct oneib_service_list *list, struct oneib_error *err)
{
    struct oneib_error damaged;
    *list =
        (struct oneib_service_list){.domains_known = !libvirt_is_silent, .follows.unseen = unseen};
    if (service_is_silent)
        return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "oneib-node does not answer");
    if (service_is_busy)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "oneib-node serves 64 callers already");
    oneib_reservations_read(&list->table, &damaged);
    if (libvirt_is_silent)
        oneib_fail(&list->why, ONEIB_ERROR_UNREACHABLE, "libvirt does not answer");
    else if (domains_here.length > 0)
        list->domains = domains_of_lines(domains_here.data);
    return 0;
}

void oneib_service_list_clear(struct oneib_service_list *list)
{
    oneib_vf_table_clear(&list->table);
    oneib_domains_clear(&list->domains);
}

/* ---- the node -------------------------------------------------------------------------------- */

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

struct domain {
    const char *name; /* NULL: end */
    int vf;           /* -1: none */
    bool defined;
};

static void put_domains(const struct domain *domains)
{
    oneib_text_clear(&domains_here);
    for (; domains->name; domains++) {
        const struct oneib_pci vf =
            tree_vf_pci(&adapter, domains->vf < 0 ? 0 : (unsigned)domains->vf);
        char address[ONEIB_PCI_TEXT_SIZE] = "";
        if (domains->vf >= 0)
            oneib_pci_format(&vf, address);
        oneib_text_printf(&domains_here, "%s %s %s\n", domains->defined ? "defined" : "running",
                          domains->name, address);
    }
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
        .network_id = 3,
        .pkey = 5,
        .stage = stage,
        .guid = ONEIB_VF_GUID_SET,
        .since = oneib_seconds_since_boot() - 2 * ONEIB_SETTLED_AFTER,
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
    tree_make_directory("/run/oneib");
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

static int make_node(void **state)
{
    tree_reset(state);
    config.node.host_vf_count = 0;
    reattach_fails = service_is_silent = libvirt_is_silent = false;
    refused = NULL;
    unseen = 0;
    tree_add_hca(&adapter);
    tree_set_pkey(&adapter, 1, 3, 0x8005);
    put_domains(&(const struct domain){NULL, -1, false});
    return 0;
}

/* ---- what is seen ---------------------------------------------------------------------------- */

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

static size_t repair(struct oneib_inventory *inventory)
{
    size_t done;
    oneib_inventory_repair(&config, inventory, &done);
    return done;
}

static size_t looked_and_repaired(void)
{
    struct oneib_inventory inventory = look(true);
    const size_t done = repair(&inventory);
    oneib_inventory_clear(&inventory);
    return done;
}

/* ---- looking --------------------------------------------------------------------------------- */

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

static void each_vf_says_who_has_it(void **state)
{
    (void)state;
    struct oneib_pci third = tree_vf_pci(&adapter, 2);
    config.node.host_pcis = &third;
    config.node.host_vf_count = 1;
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
    config.node.host_vf_count = 0;
}

static void a_vf_that_left_the_bus_is_not_free(void **state)
{
    (void)state;
    tree_remove("/sys/bus/pci/devices/0000:81:00.1");
    tree_remove("/sys/bus/pci/devices/0000:81:00.2");
    map_vf(1, 3);
    struct oneib_inventory inventory = look(false);
    assert_int_equal(inventory.vfs[0].use, ONEIB_VF_ABSENT);
    oneib_inventory_clear(&inventory);
    inventory = look(true);
    assert_int_equal(inventory.vfs[0].use, ONEIB_VF_ABSENT);
    /* It would be open again when it comes back. */
    assert_int_equal(inventory.vfs[1].use, ONEIB_VF_NOT_CLOSED);
    assert_int_equal(inventory.vfs[2].use, ONEIB_VF_FREE);
    oneib_inventory_clear(&inventory);
}

static void without_an_adapter_the_service_is_not_missed(void **state)
{
    (void)state;
    tree_remove_hca(&adapter);
    service_is_silent = true;
    struct oneib_inventory inventory = look(true);
    assert_no_findings(&inventory);
    assert_int_equal(inventory.hcas.count, 0);
    assert_int_equal(inventory.vf_count, 0);
    oneib_inventory_clear(&inventory);
}

/* The table still says who has what. */
static void a_service_that_is_down_is_found_and_no_vf_is_free(void **state)
{
    (void)state;
    service_is_silent = true;
    RECORDS(record_of(0, 7, ONEIB_VF_OPEN));
    struct oneib_inventory inventory = look(false);
    assert_false(inventory.service_known);
    assert_false(inventory.domains_known);
    assert_int_equal(find(&inventory, "node-service-unreachable")->severity, ONEIB_WARNING);
    assert_contains(find(&inventory, "node-service-unreachable")->text,
                    "oneib-node does not answer");
    assert_int_equal(inventory.findings.count, 1);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(inventory.vfs[i].use, ONEIB_VF_UNKNOWN);
    oneib_inventory_clear(&inventory);
}

/* Other readers are no reason to say that VMs get nothing. */
static void a_service_that_is_busy_is_not_called_unreachable(void **state)
{
    (void)state;
    service_is_busy = true;
    RECORDS(record_of(0, 7, ONEIB_VF_OPEN));
    struct oneib_inventory inventory = look(false);
    service_is_busy = false;
    assert_true(inventory.service_known);
    assert_false(inventory.domains_known);
    assert_int_equal(find(&inventory, "node-service-busy")->severity, ONEIB_WARNING);
    assert_int_equal(inventory.findings.count, 1);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(inventory.vfs[i].use, ONEIB_VF_UNKNOWN);
    oneib_inventory_clear(&inventory);
}

static void a_libvirt_that_is_down_is_found_and_no_vf_is_free(void **state)
{
    (void)state;
    libvirt_is_silent = true;
    RECORDS(record_of(0, 7, ONEIB_VF_CLOSED));
    struct oneib_inventory inventory = look(true);
    assert_true(inventory.service_known);
    assert_false(inventory.domains_known);
    assert_int_equal(inventory.domains_error.code, ONEIB_ERROR_UNREACHABLE);
    assert_int_equal(find(&inventory, "libvirt-unreachable")->severity, ONEIB_WARNING);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(inventory.vfs[i].use, ONEIB_VF_UNKNOWN);
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
        assert_int_equal(inventory.vfs[i].use, ONEIB_VF_UNKNOWN);
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
    found(true, "vf-not-closed", ONEIB_VIOLATION, "belongs to no VM, but open");
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
        assert_int_equal(inventory.vfs[i].use, ONEIB_VF_UNKNOWN);
    oneib_inventory_clear(&inventory);
}

static void a_map_that_cannot_be_read_is_found_once(void **state)
{
    (void)state;
    char directory[ONEIB_PCI_TEXT_SIZE];
    for (unsigned vf = 0; vf < 2; vf++) {
        tree_vf_directory(&adapter, vf, directory);
        tree_write("nonsense", "/sys/class/infiniband/mlx4_0/iov/%s/ports/1/pkey_idx/5", directory);
    }
    struct oneib_inventory inventory = look(true);
    assert_int_equal(inventory.vfs[1].use, ONEIB_VF_UNKNOWN);
    assert_int_equal(inventory.vfs[2].use, ONEIB_VF_FREE);
    oneib_inventory_clear(&inventory);
    found(true, "vf-unreadable", ONEIB_WARNING, "2 of its 4 virtual functions");
    found(true, "vf-unreadable", ONEIB_WARNING, "pkey_idx/5 reads \"nonsense\"");
}

/* ---- repairing ------------------------------------------------------------------------------- */

/* The VM came back to its VF after the look. */
/* Whom nobody gives keys is not told to ask him for them. */
static void
a_subnet_manager_without_virtual_ports_is_named_instead_of_what_cannot_be_read(void **state)
{
    static const struct tree_hca mlx5 = {
        .name = "mlx5_0", .driver = ONEIB_HCA_MLX5, .pci = "0000:41:00.0", .vfs = 1};
    (void)state;
    tree_add_hca(&mlx5);
    fwctl_add(&mlx5, 0);
    unseen = 2;
    found(true, "virtual-ports-unread", ONEIB_NOTICE, "what 2 open virtual functions of mlx5");
    fwctl_set_sm(0, true);
    found(true, "virtual-ports-unread", ONEIB_NOTICE, "what 2 open virtual functions of mlx5");
    fwctl_set_sm(0, false);
    found(true, "virtual-ports-unserved", ONEIB_WARNING, "firmware of mlx5_0 says");
    unseen = 0;
    found(true, "virtual-ports-unserved", ONEIB_WARNING, "firmware of mlx5_0 says");
    unseen = 2;
    struct oneib_inventory without = look(false);
    assert_no_findings(&without);
    oneib_inventory_clear(&without);
}

static void a_record_that_has_changed_since_is_left_alone(void **state)
{
    (void)state;
    struct oneib_vf_record record = record_of(0, 7, ONEIB_VF_OPEN);
    DOMAINS({"one-7", -1, false});
    RECORDS(record);
    struct oneib_inventory inventory = look(false);
    record.since = oneib_seconds_since_boot();
    RECORDS(record);
    assert_int_equal(repair(&inventory), 0);
    assert_called("");
    oneib_inventory_clear(&inventory);
}

static void repair_closes_what_is_nobodys_and_open(void **state)
{
    (void)state;
    char vf[ONEIB_PCI_TEXT_SIZE], calls[256];
    const struct oneib_pci second = tree_vf_pci(&adapter, 1);
    oneib_pci_format(&second, vf);
    DOMAINS({"one-8", 0, false});
    map_vf(1, 3);
    assert_int_equal(looked_and_repaired(), 1);
    snprintf(calls, sizeof calls, "release 2147483647 vf %s\nwait\n", vf);
    assert_called(calls);
}

static void repair_drops_records_whose_vf_is_gone(void **state)
{
    (void)state;
    struct oneib_vf_record gone = record_of(0, 7, ONEIB_VF_OPEN);
    gone.vf.bus = 0x99;
    DOMAINS({"one-7", -1, false});
    RECORDS(gone);
    assert_int_equal(looked_and_repaired(), 1);
    assert_called("release 7/0 gone\nwait\n");
}

static void repair_finishes_what_post_could_not(void **state)
{
    (void)state;
    struct oneib_vf_record deferred = record_of(0, 7, ONEIB_VF_OPEN);
    deferred.guid = ONEIB_VF_GUID_DEFERRED;
    DOMAINS({"one-7", -1, false});
    RECORDS(deferred);
    map_vf(0, 3);
    found(true, "vf-unfinished", ONEIB_WARNING, "VM 7 NIC 0 runs without InfiniBand");
    assert_int_equal(looked_and_repaired(), 1);
    assert_called("have 7/0 net 3\nwait\nreattach 7\n");
}

/* It had its VF, but not its GUID: there is nothing to plug. */
static void what_is_plugged_is_only_finished(void **state)
{
    (void)state;
    struct oneib_vf_record unfinished = record_of(0, 7, ONEIB_VF_OPEN);
    unfinished.guid = ONEIB_VF_GUID_NONE;
    DOMAINS({"one-7", 0, false});
    RECORDS(unfinished);
    assert_int_equal(looked_and_repaired(), 1);
    assert_null(strstr(seen_calls(), "reattach"));
}

static void what_ended_and_runs_again_is_asked_for_again(void **state)
{
    (void)state;
    DOMAINS({"one-7", 0, false});
    RECORDS(record_of(0, 7, ONEIB_VF_ENDED));
    map_vf(0, 0);
    found(true, "vf-unfinished", ONEIB_WARNING, "was closed when its domain ended");
    assert_int_equal(looked_and_repaired(), 1);
    assert_contains(seen_calls(), "have 7/0 net 3");
}

static void repair_plugs_in_what_a_running_vm_lacks(void **state)
{
    (void)state;
    DOMAINS({"one-7", -1, false}, {"one-8", 1, false});
    RECORDS(record_of(0, 7, ONEIB_VF_OPEN), record_of(1, 8, ONEIB_VF_OPEN));
    assert_int_equal(looked_and_repaired(), 1);
    assert_called("reattach 7\n");
}

static void one_that_another_domain_has_is_not_plugged(void **state)
{
    (void)state;
    DOMAINS({"one-1", 0, false}, {"one-2", -1, false});
    RECORDS(record_of(0, 2, ONEIB_VF_OPEN));
    assert_int_equal(looked_and_repaired(), 0);
    assert_called("");
}

static void what_cannot_be_plugged_in_is_a_finding(void **state)
{
    (void)state;
    DOMAINS({"one-7", -1, false});
    RECORDS(record_of(0, 7, ONEIB_VF_OPEN));
    reattach_fails = true;
    struct oneib_inventory inventory = look(false);
    assert_int_equal(repair(&inventory), 0);
    assert_contains(find(&inventory, "repair-failed")->text, "QEMU says no");
    oneib_inventory_clear(&inventory);
}

static void what_the_service_refuses_is_a_finding_and_the_rest_goes_on(void **state)
{
    (void)state;
    struct oneib_vf_record first = record_of(0, 7, ONEIB_VF_OPEN),
                           second = record_of(1, 8, ONEIB_VF_OPEN);
    first.vf.bus = second.vf.bus = 0x99;
    refused = "release 7/0";
    RECORDS(first, second);
    struct oneib_inventory inventory = look(false);
    assert_int_equal(repair(&inventory), 1);
    const struct oneib_finding *finding = find(&inventory, "repair-failed");
    assert_contains(finding->text, "the SM says no");
    oneib_inventory_clear(&inventory);
    assert_called("release 7/0 gone\nrelease 8/0 gone\nwait\n");
}

static void nothing_is_repaired_without_the_service(void **state)
{
    (void)state;
    struct oneib_vf_record gone = record_of(0, 7, ONEIB_VF_OPEN);
    gone.vf.bus = 0x99;
    RECORDS(gone);
    map_vf(1, 3);
    service_is_silent = true;
    struct oneib_inventory inventory = look(true);
    assert_int_equal(repair(&inventory), 0);
    assert_contains(find(&inventory, "repair-failed")->text, "oneib-node does not answer");
    oneib_inventory_clear(&inventory);
    assert_called("");
}

int main(void)
{
    tree_open();
#define TEST(function) cmocka_unit_test_setup(function, make_node)
    const struct CMUnitTest tests[] = {
        TEST(vfs_of_nobody_are_free),
        TEST(each_vf_says_who_has_it),
        TEST(a_vf_that_left_the_bus_is_not_free),
        TEST(without_an_adapter_the_service_is_not_missed),
        TEST(a_service_that_is_down_is_found_and_no_vf_is_free),
        TEST(a_service_that_is_busy_is_not_called_unreachable),
        TEST(a_libvirt_that_is_down_is_found_and_no_vf_is_free),
        TEST(a_damaged_table_is_found_and_no_vf_is_free),
        TEST(a_vf_of_two_domains_is_found),
        TEST(a_vf_that_is_recorded_for_another_vm_is_found),
        TEST(an_open_vf_of_nobody_is_found),
        TEST(a_left_over_guid_is_found),
        TEST(an_open_vf_with_another_key_than_recorded_is_found),
        TEST(an_open_vf_of_a_vm_without_a_record_is_found),
        TEST(a_record_without_its_vf_is_found),
        TEST(a_running_vm_without_its_vf_is_found),
        TEST(a_full_member_of_the_default_partition_is_found),
        TEST(an_adapter_that_cannot_be_read_is_found_and_has_no_free_vf),
        TEST(a_map_that_cannot_be_read_is_found_once),
        TEST(a_subnet_manager_without_virtual_ports_is_named_instead_of_what_cannot_be_read),
        TEST(a_record_that_has_changed_since_is_left_alone),
        TEST(repair_closes_what_is_nobodys_and_open),
        TEST(repair_drops_records_whose_vf_is_gone),
        TEST(repair_finishes_what_post_could_not),
        TEST(what_is_plugged_is_only_finished),
        TEST(what_ended_and_runs_again_is_asked_for_again),
        TEST(repair_plugs_in_what_a_running_vm_lacks),
        TEST(one_that_another_domain_has_is_not_plugged),
        TEST(what_cannot_be_plugged_in_is_a_finding),
        TEST(what_the_service_refuses_is_a_finding_and_the_rest_goes_on),
        TEST(nothing_is_repaired_without_the_service),
    };
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
