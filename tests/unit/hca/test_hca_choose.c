// SPDX-License-Identifier: Apache-2.0
#include "hca/hca.h"
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define INFINIBAND ONEIB_LINK_INFINIBAND
#define ETHERNET ONEIB_LINK_ETHERNET

/* A host of at most two adapters of at most two ports. */
struct host {
    struct oneib_port ports[2][2];
    struct oneib_hca items[2];
    struct oneib_hcas hcas;
};

static void add(struct host *host, const char *name, uint8_t first, enum oneib_link_layer layer,
                uint8_t then, enum oneib_link_layer then_layer)
{
    struct oneib_hca *hca = &host->items[host->hcas.count];
    struct oneib_port *ports = host->ports[host->hcas.count++];
    ports[0] = (struct oneib_port){.number = first, .link_layer = layer};
    ports[1] = (struct oneib_port){.number = then, .link_layer = then_layer};
    *hca = (struct oneib_hca){.driver = ONEIB_HCA_MLX5,
                              .ports = ports,
                              .port_count = then    ? 2
                                            : first ? 1
                                                    : 0,
                              .vf_count = 1};
    strcpy(hca->name, name);
    host->hcas.items = host->items;
}

static void assert_found(const struct host *host, const char *device, uint8_t number)
{
    const struct oneib_hca *hca;
    const struct oneib_port *port;
    struct oneib_error err;
    if (oneib_hcas_find_port(&host->hcas, device, number, &hca, &port, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(hca->name, device);
    assert_int_equal(port->number, number);
}

static void assert_not_found(const struct host *host, const char *device, uint8_t number,
                             enum oneib_error_code code, const char *words)
{
    const struct oneib_hca *hca;
    const struct oneib_port *port;
    struct oneib_error err = {0};
    assert_int_equal(oneib_hcas_find_port(&host->hcas, device, number, &hca, &port, &err), -1);
    assert_int_equal(err.code, code);
    assert_null(port);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void the_port_that_is_named_is_found(void **state)
{
    struct host host = {0};
    (void)state;
    add(&host, "mlx4_0", 1, INFINIBAND, 2, INFINIBAND);
    add(&host, "mlx5_0", 1, INFINIBAND, 0, 0);
    assert_found(&host, "mlx4_0", 1);
    assert_found(&host, "mlx4_0", 2);
    assert_found(&host, "mlx5_0", 1);
}

static void an_adapter_that_is_not_there_is_named_with_those_that_are(void **state)
{
    struct host host = {0};
    (void)state;
    add(&host, "mlx4_0", 1, INFINIBAND, 0, 0);
    add(&host, "mlx5_0", 1, INFINIBAND, 0, 0);
    assert_not_found(&host, "mlx4_7", 1, ONEIB_ERROR_NOT_FOUND, "mlx4_7");
    assert_not_found(&host, "mlx4_7", 1, ONEIB_ERROR_NOT_FOUND, "mlx4_0, mlx5_0");
}

/* As oneibd takes none of these for a network that names none. */
static void what_cannot_serve_vms_is_not_offered(void **state)
{
    struct host host = {0};
    (void)state;
    add(&host, "hfi1_0", 1, INFINIBAND, 0, 0);
    add(&host, "mlx5_0", 1, INFINIBAND, 0, 0);
    host.items[0].driver = ONEIB_HCA_OTHER;
    assert_not_found(&host, "mlx4_7", 1, ONEIB_ERROR_NOT_FOUND, "virtual functions: mlx5_0");
    host.items[1].vf_count = 0;
    assert_not_found(&host, "mlx4_7", 1, ONEIB_ERROR_NOT_FOUND, "virtual functions: none");
}

static void a_host_without_infiniband_says_so(void **state)
{
    struct host host = {0};
    (void)state;
    assert_not_found(&host, "mlx4_0", 1, ONEIB_ERROR_NOT_FOUND, "virtual functions: none");
    add(&host, "mlx5_0", 1, ETHERNET, 0, 0);
    assert_not_found(&host, "mlx4_0", 1, ONEIB_ERROR_NOT_FOUND, "virtual functions: none");
    assert_not_found(&host, "mlx5_0", 1, ONEIB_ERROR_INPUT, "port 1 Ethernet");
}

/* A grant names both; what does not is not guessed about. */
static void what_names_no_adapter_or_no_port_means_none(void **state)
{
    struct host host = {0};
    (void)state;
    add(&host, "mlx4_0", 1, INFINIBAND, 0, 0);
    assert_not_found(&host, "", 1, ONEIB_ERROR_NOT_FOUND, "no adapter");
    assert_not_found(&host, "mlx4_0", 0, ONEIB_ERROR_NOT_FOUND, "no port 0");
}

static void a_port_that_is_named_must_be_infiniband(void **state)
{
    struct host host = {0};
    (void)state;
    add(&host, "mlx4_0", 1, INFINIBAND, 2, ETHERNET);
    assert_not_found(&host, "mlx4_0", 2, ONEIB_ERROR_INPUT, "port 1 InfiniBand, port 2 Ethernet");
    assert_not_found(&host, "mlx4_0", 3, ONEIB_ERROR_NOT_FOUND, "no port 3");
    host.ports[0][0].link_layer = ONEIB_LINK_UNKNOWN;
    assert_not_found(&host, "mlx4_0", 1, ONEIB_ERROR_INPUT, "port 1 unknown");
}

static struct oneib_port port_with(uint16_t *pkeys, uint16_t count)
{
    return (struct oneib_port){
        .number = 1, .link_layer = INFINIBAND, .pkeys = pkeys, .pkey_count = count};
}

static void a_key_is_found_as_full_or_as_limited_member(void **state)
{
    uint16_t pkeys[] = {0x7fff, 0x0005, 0x8005, 0x0006, 0, 0x8007, 0};
    const struct oneib_port port = port_with(pkeys, 7);
    (void)state;
    assert_int_equal(oneib_port_pkey_index(&port, 5, false), 2);
    assert_int_equal(oneib_port_pkey_index(&port, 6, false), 3);
    assert_int_equal(oneib_port_pkey_index(&port, 7, false), 5);
    assert_int_equal(oneib_port_pkey_index(&port, 8, false), -1);
}

static void a_limited_member_is_never_given_a_full_entry(void **state)
{
    uint16_t pkeys[] = {0x7fff, 0x0005, 0x8005, 0x0006, 0, 0x8007, 0};
    const struct oneib_port port = port_with(pkeys, 7);
    (void)state;
    assert_int_equal(oneib_port_pkey_index(&port, 5, true), 1);
    assert_int_equal(oneib_port_pkey_index(&port, 6, true), 3);
    assert_int_equal(oneib_port_pkey_index(&port, 7, true), -1);
}

static void what_is_no_networks_key_has_no_index(void **state)
{
    uint16_t pkeys[] = {0x7fff, 0, 0xffff, 0x8000};
    const struct oneib_port port = port_with(pkeys, 4), empty = port_with(NULL, 0);
    (void)state;
    for (int limited = 0; limited < 2; limited++) {
        assert_int_equal(oneib_port_pkey_index(&port, 0, limited), -1);
        assert_int_equal(oneib_port_pkey_index(&port, 0x7fff, limited), -1);
        assert_int_equal(oneib_port_pkey_index(&port, 0x8000, limited), -1);
        assert_int_equal(oneib_port_pkey_index(&port, 0xffff, limited), -1);
        assert_int_equal(oneib_port_pkey_index(&empty, 5, limited), -1);
    }
}

static const struct oneib_hca mlx4 = {.name = "mlx4_0", .driver = ONEIB_HCA_MLX4};
static const struct oneib_hca mlx5 = {.name = "mlx5_0", .driver = ONEIB_HCA_MLX5};

static void assert_safe(const struct oneib_hca *hca, const struct oneib_port *port)
{
    struct oneib_error err;
    if (oneib_port_is_safe(hca, port, &err) < 0)
        fail_msg("%s", err.text);
}

static void assert_unsafe(const struct oneib_hca *hca, const struct oneib_port *port,
                          const char *words)
{
    struct oneib_error err = {0};
    assert_int_equal(oneib_port_is_safe(hca, port, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void a_limited_member_of_the_default_partition_is_safe(void **state)
{
    uint16_t pkeys[127] = {0x7fff, 0x8005};
    const struct oneib_port port = port_with(pkeys, 127);
    (void)state;
    assert_safe(&mlx4, &port);
    assert_safe(&mlx5, &port);
    pkeys[126] = 0x8006;
    assert_safe(&mlx4, &port);
}

static void a_full_member_of_the_default_partition_is_not(void **state)
{
    uint16_t pkeys[127] = {0xffff};
    const struct oneib_port port = port_with(pkeys, 127);
    (void)state;
    assert_unsafe(&mlx4, &port, "full member");
    assert_unsafe(&mlx5, &port, "full member");
}

static void an_entry_0_that_is_somebodys_is_not_safe(void **state)
{
    uint16_t pkeys[127] = {0x8005, 0x7fff};
    struct oneib_port port = port_with(pkeys, 127);
    (void)state;
    assert_unsafe(&mlx4, &port, " 0x0005 full,");
    pkeys[0] = 0x0005;
    assert_unsafe(&mlx4, &port, " 0x0005 limited,");
    pkeys[0] = 0;
    assert_unsafe(&mlx4, &port, "empty");
}

static void a_key_in_the_last_slot_of_a_whole_table_is_not_safe(void **state)
{
    uint16_t pkeys[128] = {0x7fff};
    const struct oneib_port port = port_with(pkeys, 128), small = port_with(pkeys, 64);
    (void)state;
    assert_safe(&mlx4, &port);
    pkeys[127] = 0x0005;
    assert_unsafe(&mlx4, &port, "last slot");
    assert_safe(&mlx4, &small);
    pkeys[63] = 0x8006;
    assert_unsafe(&mlx4, &small, "last slot");
}

static void only_mlx4_has_a_slot_that_stands_for_none(void **state)
{
    uint16_t pkeys[128] = {0x7fff};
    const struct oneib_port port = port_with(pkeys, 128);
    (void)state;
    pkeys[127] = 0x8005;
    assert_safe(&mlx5, &port);
}

static void a_port_whose_table_is_not_known_is_not_safe(void **state)
{
    uint16_t pkeys[127] = {0x7fff};
    struct oneib_port port = port_with(NULL, 0);
    (void)state;
    assert_unsafe(&mlx4, &port, "could not be read");
    port = port_with(pkeys, 127);
    port.link_layer = ETHERNET;
    assert_unsafe(&mlx4, &port, "not InfiniBand");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_port_that_is_named_is_found),
        cmocka_unit_test(an_adapter_that_is_not_there_is_named_with_those_that_are),
        cmocka_unit_test(what_cannot_serve_vms_is_not_offered),
        cmocka_unit_test(a_host_without_infiniband_says_so),
        cmocka_unit_test(what_names_no_adapter_or_no_port_means_none),
        cmocka_unit_test(a_port_that_is_named_must_be_infiniband),
        cmocka_unit_test(a_key_is_found_as_full_or_as_limited_member),
        cmocka_unit_test(a_limited_member_is_never_given_a_full_entry),
        cmocka_unit_test(what_is_no_networks_key_has_no_index),
        cmocka_unit_test(a_limited_member_of_the_default_partition_is_safe),
        cmocka_unit_test(a_full_member_of_the_default_partition_is_not),
        cmocka_unit_test(an_entry_0_that_is_somebodys_is_not_safe),
        cmocka_unit_test(a_key_in_the_last_slot_of_a_whole_table_is_not_safe),
        cmocka_unit_test(only_mlx4_has_a_slot_that_stands_for_none),
        cmocka_unit_test(a_port_whose_table_is_not_known_is_not_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
