// SPDX-License-Identifier: Apache-2.0
/*
 * A node with an adapter, a stand-in for libvirt (live_standin.h) and one for oneib-node, and VM 42
 * with InfiniBand NICs: for tests of the actions that give NICs to domains.
 */
#ifndef ONEIB_UNIT_VMM_NIC_SCENE_H
#define ONEIB_UNIT_VMM_NIC_SCENE_H

#include "../hca/tree.h"
#include "../node/service_standin.h"
#include "base/file.h"
#include "domain/document.h"
#include "host/vf_record.h"
#include "live_standin.h"
#include "vmm/actions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define VM_ID 42
#define DOMAIN "one-42"
#define KEY 5
#define OTHER_MAC "02:00:0a:14:00:63"
#define NICS 17

static const struct tree_hca hca = {.driver = ONEIB_HCA_MLX4, .vfs = NICS + 3, .pkeys = 7};

static struct oneib_config config;
static struct oneib_node_vm vm;
static struct oneib_node_nic nics[NICS];
static struct oneib_vf_table table;
static struct oneib_text warnings;
static struct oneib_error err;
static struct oneib_domain_description description;
static char deployment[1024], host[] = "node1", id[] = "42";
static char *arguments[] = {deployment, host, id, host, NULL};

/* ---- the scene ------------------------------------------------------------------------------- */

static inline int open_scene(void **state)
{
    tree_reset(state);
    tree_remove("/calls");
    tree_remove("/refuse");
    tree_add_hca(&hca);
    live_standin_reset();
    oneib_config_defaults(&config);
    service_is_silent = false;
    config.node.unplug_wait_ms = 1000;
    vm = (struct oneib_node_vm){.id = VM_ID, .nics = nics, .nic_capacity = NICS};
    memset(nics, 0, sizeof nics);
    err = (struct oneib_error){0};
    snprintf(deployment, sizeof deployment, "%s/var/lib/one/datastores/0/42/deployment.0",
             tree_root());
    setenv("LIVE_STANDIN", LIVE_STANDIN_PROGRAM, 1);
    return 0;
}

static inline int close_scene(void **state)
{
    (void)state;
    oneib_config_clear(&config);
    oneib_vf_table_clear(&table);
    oneib_text_clear(&warnings);
    oneib_domain_description_clear(&description);
    return 0;
}

/* ---- what OpenNebula says -------------------------------------------------------------------- */

/* 10.20.0.10 + NIC id. */
static inline uint32_t address_of(unsigned nic_id)
{
    return 0x0a14000a + nic_id;
}

/* In order of their ids; with what oned always says of one. */
static inline struct oneib_node_nic *add_nic(uint8_t nic_id)
{
    struct oneib_node_nic *nic = &nics[vm.nic_count++];
    *nic = (struct oneib_node_nic){
        .nic_id = nic_id,
        .network_id = 7,
        .ipv4 = address_of(nic_id),
    };
    snprintf(nic->mac, sizeof nic->mac, "02:00:0a:14:00:%02x", (10U + nic_id) & 0xff);
    snprintf(nic->target, sizeof nic->target, "one-42-%u", nic_id);
    return nic;
}

/* The scheduler chose VF `index` for it, and bus `bus` of the guest. */
static inline struct oneib_node_nic *add_pci_nic(uint8_t nic_id, unsigned index, uint8_t bus)
{
    struct oneib_node_nic *nic = add_nic(nic_id);
    nic->is_pci = nic->has_address = nic->has_guest_address = true;
    nic->address = tree_vf_pci(&hca, index);
    nic->guest_address = (struct oneib_pci){.bus = bus};
    return nic;
}

static inline struct oneib_node_nic *add_attached(uint8_t nic_id)
{
    struct oneib_node_nic *nic = add_nic(nic_id);
    nic->attach = vm.attaching = true;
    return nic;
}

static inline void append_interface(struct oneib_text *xml, const struct oneib_node_nic *nic)
{
    char address[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&nic->address, address);
    if (!nic->is_pci)
        oneib_text_printf(xml,
                          "<interface type='ethernet'><mac address='%s'/><target dev='%s'/>"
                          "<model type='virtio'/></interface>",
                          nic->mac, nic->target);
    else
        oneib_text_printf(xml,
                          "<hostdev mode='subsystem' type='pci' managed='yes'><source><address "
                          "domain='0x0000' bus='0x%.2s' slot='0x%.2s' function='0x%.1s'/></source>"
                          "<address type='pci' domain='0x0000' bus='0x%02x' slot='0000' "
                          "function='0'/></hostdev>",
                          address + 5, address + 8, address + 11, nic->guest_address.bus);
}

/* oned's document of the VM; `more` goes into its <devices>. Valid until the next call. */
static inline const struct oneib_text *domain_document(const char *more)
{
    static struct oneib_text xml;
    oneib_text_clear(&xml);
    oneib_text_append(&xml, "<domain type='kvm'><name>" DOMAIN "</name>"
                            "<title>&lt;b&gt; \"it's\" &amp;amp; more</title>"
                            "<uuid>5dec61fb-6338-452b-9e09-76372ec01406</uuid>"
                            "<vcpu>2</vcpu><memory>98304</memory>"
                            "<os><type arch='x86_64' machine='q35'>hvm</type></os><devices>"
                            "<controller index='0' type='pci' model='pcie-root'/>");
    for (int port = 1; port <= 34; port++)
        oneib_text_printf(&xml, "<controller type='pci' index='%d' model='pcie-root-port'/>", port);
    for (size_t i = 0; i < vm.nic_count; i++)
        append_interface(&xml, &vm.nics[i]);
    oneib_text_append(&xml, more);
    oneib_text_append(&xml, "</devices></domain>");
    return &xml;
}

/* ---- what the node has ----------------------------------------------------------------------- */

static inline void write_table_to(const char *file)
{
    struct oneib_text text = {0};
    char *path = tree_path("%s", file);
    oneib_vf_table_render(&table, &text);
    tree_make_directory("/run/oneib");
    if (oneib_file_replace(path, text.data ? text.data : "", text.length, 0644, NULL, NULL, &err) <
        0)
        fail_msg("%s", err.text);
    free(path);
    oneib_text_clear(&text);
}

static inline void write_table(void)
{
    write_table_to("/run/oneib/vfs");
}

static inline void record_as(uint8_t nic_id, unsigned index, enum oneib_vf_stage stage,
                             enum oneib_vf_guid guid)
{
    const struct oneib_vf_record added = {
        .vf = tree_vf_pci(&hca, index),
        .device = "mlx4_0",
        .index = (uint16_t)index,
        .port = 1,
        .vm_id = VM_ID,
        .nic_id = nic_id,
        .network_id = 7,
        .pkey = stage == ONEIB_VF_PREPARING ? 0 : KEY,
        .stage = stage,
        .guid = guid,
    };
    assert_int_equal(oneib_vf_table_add(&table, &added, &err), 0);
    write_table();
}

static inline void record_open(uint8_t nic_id, unsigned index)
{
    record_as(nic_id, index, ONEIB_VF_OPEN, ONEIB_VF_GUID_SET);
}

/* ---- looking --------------------------------------------------------------------------------- */

/* What the running domain has of a NIC; has_vf and has_dummy are false: nothing. */
static inline struct oneib_domain_device device_of(uint8_t nic_id)
{
    const char *xml = live_standin_document(DOMAIN);
    struct oneib_error unread = {0};
    assert_non_null(xml);
    oneib_domain_description_clear(&description);
    description = (struct oneib_domain_description){0};
    if (oneib_domain_description_read(xml, strlen(xml), &description, &unread) < 0)
        fail_msg("%s", unread.text);
    const struct oneib_domain_device *device = oneib_domain_device_of(&description, nic_id);
    return device ? *device : (struct oneib_domain_device){0};
}

static inline void assert_has_both(uint8_t nic_id, unsigned vf, unsigned index)
{
    const struct oneib_pci expected = tree_vf_pci(&hca, vf);
    const struct oneib_domain_device device = device_of(nic_id);
    assert_true(device.has_vf);
    assert_int_equal(oneib_pci_compare(&device.vf, &expected), 0);
    assert_true(device.has_dummy);
    assert_int_equal(device.index, index);
    assert_int_equal(device.ipv4, address_of(nic_id));
}

static inline void assert_has_neither(uint8_t nic_id)
{
    const struct oneib_domain_device device = device_of(nic_id);
    assert_false(device.has_vf);
    assert_false(device.has_dummy);
}

static inline void assert_told(const char *words)
{
    if (!strstr(err.text, words))
        fail_msg("\"%s\" is not in: %s", words, err.text);
}

static inline void assert_logged(const char *words, bool expected)
{
    const bool found = strstr(live_standin_log(), words) != NULL;
    if (found != expected)
        fail_msg("\"%s\" is %sin the log:\n%s", words, found ? "" : "not ", live_standin_log());
}

/* ---- acting ---------------------------------------------------------------------------------- */

static inline struct oneib_vmm with_upstream(const char *path, const struct oneib_text *input)
{
    return (struct oneib_vmm){
        .config = &config,
        .upstream = {path, arguments, input ? input->data : "", input ? input->length : 0, NULL},
        .vm = &vm,
        .domain = input ? NULL : DOMAIN,
        .warnings = &warnings,
    };
}

/* Whether the action was killed, in a process of its own. */
static inline bool is_killed(int (*act)(void))
{
    int status;
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(act() == 0 ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status);
}

#endif
