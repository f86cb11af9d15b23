// SPDX-License-Identifier: Apache-2.0
/* The driver's actions with stand-ins for oneib-node, seen through its client, and for the table,
 * which this file defines instead of the libraries: for one source of a program. What was asked of
 * the service is told as text, a line a call. */
#ifndef ONEIB_UNIT_NODE_DRIVER_SCENE_H
#define ONEIB_UNIT_NODE_DRIVER_SCENE_H

#include "../domain/domain_lines.h"
#include "documents.h"
#include "domain/domains.h"
#include "hca/reservations.h"
#include "node/driver.h"
#include "service/service_client.h"
#include <inttypes.h>
#include <string.h>

static struct oneib_config config;
static struct oneib_node_vm vm;
static struct oneib_error err;
static struct oneib_text calls;
static struct oneib_vf_table table;
static int fails_at; /* the call of the service that fails, from 1; 0: none */
static int call_count;
static enum oneib_error_code failure_code;
static bool service_is_silent, libvirt_is_silent, table_is_damaged;
static int connections, open_connections;
static const char *domains_here;       /* what libvirt says */
static const char *domains_here_later; /* and after it was asked once; NULL: the same */

/* ---- stand-ins ------------------------------------------------------------------------------- */

struct oneib_client {
    int unused;
};

static struct oneib_client the_client;

static int end_call(struct oneib_error *error)
{
    const bool fails = ++call_count == fails_at;
    oneib_text_append(&calls, fails ? " fails\n" : "\n");
    return fails ? oneib_fail(error, failure_code, "no") : 0;
}

static void tell_pci(const char *what, const struct oneib_pci *pci)
{
    char text[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(pci, text);
    oneib_text_printf(&calls, " %s %s", what, text);
}

int oneib_client_open(struct oneib_client **client, struct oneib_error *error)
{
    *client = NULL;
    if (service_is_silent)
        return oneib_fail(error, ONEIB_ERROR_UNREACHABLE, "oneib-node does not answer");
    connections++;
    open_connections++;
    *client = &the_client;
    return 0;
}

void oneib_client_close(struct oneib_client *client)
{
    open_connections -= client != NULL;
}

int oneib_client_have(struct oneib_client *client, const struct oneib_request *request,
                      uint64_t wait_ms, struct oneib_vf_record *got, struct oneib_error *error)
{
    assert_int_equal(wait_ms, config.node.pkey_wait_ms);
    assert_ptr_equal(client, &the_client);
    assert_int_equal(request->kind, ONEIB_REQUEST_HAVE);
    assert_int_equal(request->numa_node, -1);
    *got = (struct oneib_vf_record){0};
    oneib_text_printf(&calls, "have %" PRIu32 "/%d net %" PRIu32, request->vm_id, request->nic_id,
                      request->network_id);
    if (request->flags & ONEIB_HAVE_DEFER_GUID)
        oneib_text_append(&calls, " deferred");
    if (request->flags & ONEIB_HAVE_ATTACH)
        oneib_text_append(&calls, " attach");
    return end_call(error);
}

int oneib_client_release(struct oneib_client *client, const struct oneib_request *request,
                         struct oneib_released *released, struct oneib_error *error)
{
    assert_ptr_equal(client, &the_client);
    *released = (struct oneib_released){0};
    oneib_text_printf(&calls, "release %" PRIu32, request->vm_id);
    if (request->kind == ONEIB_REQUEST_RELEASE_VF)
        tell_pci("vf", &request->vf);
    else if (request->nic_id >= 0)
        oneib_text_printf(&calls, "/%d", request->nic_id);
    if (request->flags & ONEIB_RELEASE_NIC_GONE)
        oneib_text_append(&calls, " gone");
    return end_call(error);
}

int oneib_client_wait(struct oneib_client *client, uint64_t wait_ms, struct oneib_error *error)
{
    assert_ptr_equal(client, &the_client);
    assert_int_equal(wait_ms, config.node.pkey_wait_ms + config.node.guid_wait_ms);
    oneib_text_append(&calls, "wait");
    return end_call(error);
}

int oneib_client_list(struct oneib_service_list *list, struct oneib_error *error)
{
    *list = (struct oneib_service_list){.domains_known = !libvirt_is_silent};
    if (service_is_silent)
        return oneib_fail(error, ONEIB_ERROR_UNREACHABLE, "oneib-node does not answer");
    if (!libvirt_is_silent)
        list->domains = domains_of_lines(domains_here);
    if (domains_here_later)
        domains_here = domains_here_later;
    return 0;
}

void oneib_service_list_clear(struct oneib_service_list *list)
{
    oneib_domains_clear(&list->domains);
}

int oneib_reservations_read(struct oneib_vf_table *copy, struct oneib_error *error)
{
    *copy = (struct oneib_vf_table){0};
    if (table_is_damaged)
        return oneib_fail(error, ONEIB_ERROR_INPUT, "damaged");
    for (size_t i = 0; i < table.count; i++)
        assert_int_equal(oneib_vf_table_add(copy, &table.items[i], error), 0);
    return 0;
}

/* ---- scenes ---------------------------------------------------------------------------------- */

static inline int begin(void **state)
{
    (void)state;
    config = (struct oneib_config){.node = {.pkey_wait_ms = 3000, .guid_wait_ms = 500}};
    failure_code = ONEIB_ERROR_REFUSED;
    fails_at = call_count = connections = open_connections = 0;
    service_is_silent = libvirt_is_silent = table_is_damaged = false;
    domains_here_later = NULL;
    domains_here = "running other 0000:81:00.7 0000:81:01.0\n";
    err = (struct oneib_error){0};
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    oneib_node_vm_clear(&vm);
    oneib_text_clear(&calls);
    oneib_vf_table_clear(&table);
    return open_connections;
}

/* VF 0000:81:00.<index> is the NIC's. */
static inline void record(uint32_t vm_id, uint8_t nic_id, unsigned index, oneib_pkey pkey,
                          enum oneib_vf_stage stage, enum oneib_vf_guid guid)
{
    const struct oneib_vf_record added = {
        .vf = {.bus = 0x81, .function = (uint8_t)index},
        .device = "mlx4_0",
        .index = (uint16_t)(index - 1),
        .port = 1,
        .vm_id = vm_id,
        .nic_id = nic_id,
        .network_id = 7,
        .pkey = pkey,
        .stage = stage,
        .guid = guid,
    };
    assert_int_equal(oneib_vf_table_add(&table, &added, &err), 0);
}

static inline void record_open(uint32_t vm_id, uint8_t nic_id, unsigned index)
{
    record(vm_id, nic_id, index, 5, ONEIB_VF_OPEN, ONEIB_VF_GUID_SET);
}

static inline void read_document(const char *xml)
{
    struct oneib_error unread = {0};
    oneib_node_vm_clear(&vm);
    if (oneib_node_vm_parse(xml, strlen(xml), "infiniband", &vm, &unread) < 0 &&
        unread.code != ONEIB_ERROR_INPUT && unread.code != ONEIB_ERROR_PROTOCOL)
        fail_msg("%s", unread.text);
}

static inline void assert_calls(const char *expected)
{
    assert_string_equal(calls.data ? calls.data : "", expected);
}

static inline void assert_told(const char *words)
{
    if (!strstr(err.text, words))
        fail_msg("\"%s\" is not in: %s", words, err.text);
}

#define DEPLOYED(id, content) "<VM><ID>" id "</ID><DEPLOY_ID>5dec61fb</DEPLOY_ID>" content "</VM>"
#define OTHER_NIC "<TEMPLATE><NIC><NIC_ID>0</NIC_ID><VN_MAD>bridge</VN_MAD></NIC></TEMPLATE>"
#define OTHER_ATTACHED                                                                             \
    "<TEMPLATE><NIC><NIC_ID>0</NIC_ID><VN_MAD>bridge</VN_MAD>" ATTACH "</NIC></TEMPLATE>"
#define ALIAS_ATTACHED "<TEMPLATE><NIC_ALIAS><NIC_ID>9</NIC_ID>" ATTACH "</NIC_ALIAS></TEMPLATE>"

#endif
