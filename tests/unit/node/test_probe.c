// SPDX-License-Identifier: Apache-2.0
/* What the probe prints. */
#include "node/host_probe.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NODE_KEY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define KEY_LINE "IB_NODE_KEY = \"" NODE_KEY "\"\n"

static const struct oneib_config no_host_vfs;

static char *print(const struct oneib_hcas *hcas, const struct oneib_config *config,
                   const char *problem)
{
    struct oneib_text text = {0};
    oneib_probe_render(hcas, config ? config : &no_host_vfs, true, NODE_KEY, problem, &text);
    return text.data;
}

static void prints(const struct oneib_hcas *hcas, const struct oneib_config *config,
                   const char *problem, const char *wanted)
{
    char *printed = print(hcas, config, problem);
    assert_string_equal(printed, wanted);
    free(printed);
}

/* One adapter with two ports and three VFs. */
struct sample {
    uint16_t pkeys[128];
    struct oneib_port ports[2];
    struct oneib_vf vfs[3];
    struct oneib_hca hca;
    struct oneib_hcas hcas;
};

static struct sample *make_sample(struct sample *sample)
{
    *sample = (struct sample){
        .ports = {{.number = 1,
                   .state = 4,
                   .guid = 0x0002c90300a1b2c1,
                   .lid = 7,
                   .rate_gbps = 56,
                   .pkey_count = 127},
                  {.number = 2, .state = 1, .guid = 0x0002c90300a1b2c2, .pkey_count = 127}},
        .vfs = {{.pci = {0, 0x81, 0, 1}}, {.pci = {0, 0x81, 0, 2}}, {.pci = {0, 0x81, 0, 3}}},
        .hca = {.name = "mlx4_0",
                .driver = ONEIB_HCA_MLX4,
                .pci = {0, 0x81, 0, 0},
                .node_guid = 0x0002c90300a1b2c0,
                .port_count = 2,
                .vf_count = 3},
    };
    sample->ports[0].pkeys = sample->ports[1].pkeys = sample->pkeys;
    sample->hca.ports = sample->ports;
    sample->hca.vfs = sample->vfs;
    sample->hcas = (struct oneib_hcas){.items = &sample->hca, .count = 1};
    return sample;
}

static void a_host_without_an_adapter_says_so(void **state)
{
    (void)state;
    const struct oneib_hcas none = {0};
    prints(&none, NULL, NULL,
           "IB_VFS_TOTAL = \"0\"\nIB_PORTS_ACTIVE = \"0\"\n" KEY_LINE "IB_PROBLEM = \"\"\n");
}

static void each_port_is_a_vector_and_each_adapter_counts_once(void **state)
{
    (void)state;
    struct sample sample;
    prints(&make_sample(&sample)->hcas, NULL, "",
           "IB_HCA = [ NAME = \"mlx4_0\", DRIVER = \"mlx4\", PCI = \"0000:81:00.0\", NODE_GUID = "
           "\"0x0002c90300a1b2c0\", PORT = \"1\", PORT_GUID = \"0x0002c90300a1b2c1\", LID = \"7\", "
           "STATE = \"ACTIVE\", RATE = \"56\", PKEYS_MAX = \"127\", VFS_TOTAL = \"3\", NUMA_NODE = "
           "\"0\" ]\n"
           "IB_HCA = [ NAME = \"mlx4_0\", DRIVER = \"mlx4\", PCI = \"0000:81:00.0\", NODE_GUID = "
           "\"0x0002c90300a1b2c0\", PORT = \"2\", PORT_GUID = \"0x0002c90300a1b2c2\", LID = \"0\", "
           "STATE = \"DOWN\", RATE = \"0\", PKEYS_MAX = \"127\", VFS_TOTAL = \"3\", NUMA_NODE = "
           "\"0\" ]\n"
           "IB_VFS_TOTAL = \"3\"\nIB_PORTS_ACTIVE = \"1\"\n" KEY_LINE "IB_PROBLEM = \"\"\n");
}

static size_t count_lines(const char *text, const char *beginning)
{
    size_t count = 0;
    for (const char *line = text; *line; line = strchr(line, '\n') + 1)
        count += strncmp(line, beginning, strlen(beginning)) == 0;
    return count;
}

static void has(const struct sample *sample, const struct oneib_config *config, const char *part)
{
    char *printed = print(&sample->hcas, config, NULL);
    if (!strstr(printed, part))
        fail_msg("\"%s\" is not in: %s", part, printed);
    free(printed);
}

static void ethernet_ports_and_ports_without_a_guid_are_left_out(void **state)
{
    (void)state;
    struct sample sample;
    make_sample(&sample)->ports[1].link_layer = ONEIB_LINK_ETHERNET;
    char *printed = print(&sample.hcas, NULL, NULL);
    assert_int_equal(count_lines(printed, "IB_HCA"), 1);
    free(printed);
    sample.ports[0].guid = 0;
    prints(&sample.hcas, NULL, NULL,
           "IB_VFS_TOTAL = \"0\"\nIB_PORTS_ACTIVE = \"0\"\n" KEY_LINE "IB_PROBLEM = \"\"\n");
}

static void vfs_that_no_vm_can_get_do_not_count(void **state)
{
    (void)state;
    struct sample sample;
    struct oneib_pci host_vfs[] = {{.bus = 0x81, .function = 1}, {.bus = 0x99, .function = 1}};
    const struct oneib_config config = {.node = {.host_pcis = host_vfs, .host_vf_count = 2}};
    has(make_sample(&sample), &config, "\nIB_VFS_TOTAL = \"2\"\n");
    sample.vfs[2].interface_up = true;
    has(&sample, &config, "\nIB_VFS_TOTAL = \"1\"\n");
    has(&sample, NULL, "\nIB_VFS_TOTAL = \"2\"\n");
    sample.vfs[0].off_bus = true;
    has(&sample, NULL, "\nIB_VFS_TOTAL = \"1\"\n");
}

static void an_adapter_that_cannot_be_read_has_no_vfs_to_give(void **state)
{
    (void)state;
    struct sample sample;
    make_sample(&sample)->hca.fault.code = ONEIB_ERROR_SYSTEM;
    /* Which adapter a network means does not depend on that. */
    has(&sample, NULL, "VFS_TOTAL = \"3\", NUMA_NODE");
    has(&sample, NULL, "\nIB_VFS_TOTAL = \"0\"\n");
}

static void the_last_slot_of_a_whole_mlx4_table_does_not_count(void **state)
{
    (void)state;
    struct sample sample;
    make_sample(&sample)->ports[0].pkey_count = 128;
    has(&sample, NULL,
        "PORT = \"1\", PORT_GUID = \"0x0002c90300a1b2c1\", LID = \"7\", STATE = "
        "\"ACTIVE\", RATE = \"56\", PKEYS_MAX = \"127\"");
    sample.hca.driver = ONEIB_HCA_MLX5;
    has(&sample, NULL, "PKEYS_MAX = \"128\"");
}

/* Each of these would be a line of its own, or an attribute of its own, or end the vector. */
static void no_text_forges_a_line_or_an_attribute(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "x\"\nIB_VFS_TOTAL = \"63",    "x\nIB_VFS_TOTAL = \"63\"", "\", VFS_TOTAL = \"63", "x\\",
        "\" ]\nIB_HCA = [ NAME = \"y", "\r\nIB_VFS_TOTAL=9",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct sample sample;
        snprintf(make_sample(&sample)->hca.name, sizeof sample.hca.name, "%s", texts[i]);
        char *printed = print(&sample.hcas, NULL, texts[i]);
        assert_int_equal(count_lines(printed, "IB_HCA = [ NAME = \""), 2);
        assert_int_equal(count_lines(printed, "IB_VFS_TOTAL = \"3\""), 1);
        assert_int_equal(count_lines(printed, "IB_VFS_TOTAL"), 1);
        assert_int_equal(count_lines(printed, "IB_PROBLEM = \""), 1);
        assert_int_equal(count_lines(printed, ""), 6);
        for (const char *mark = printed; (mark = strchr(mark, '\\')); mark++)
            assert_int_equal(mark[1], 'x');
        size_t quotes = 0;
        for (const char *mark = printed; (mark = strchr(mark, '"')); mark++)
            quotes++;
        assert_int_equal(quotes, 2 * 12 * 2 + 4 * 2);
        free(printed);
    }
}

static void a_long_problem_is_cut(void **state)
{
    (void)state;
    const struct oneib_hcas none = {0};
    char problem[20000];
    memset(problem, 'x', sizeof problem - 1);
    problem[sizeof problem - 1] = '\0';
    char *printed = print(&none, NULL, problem);
    assert_true(strlen(printed) < 1200);
    assert_non_null(strstr(printed, "xxx...\"\n"));
    free(printed);
}

/* The adapter is as before: VMs that run keep what they have. */
static void a_host_that_gives_none_has_none(void **state)
{
    (void)state;
    struct sample sample;
    struct oneib_text text = {0};
    oneib_probe_render(&make_sample(&sample)->hcas, &no_host_vfs, false, NULL, "", &text);
    assert_non_null(text.data);
    assert_non_null(strstr(text.data, "VFS_TOTAL = \"3\""));
    assert_non_null(strstr(text.data, "\nIB_VFS_TOTAL = \"0\"\n"));
    oneib_text_clear(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_without_an_adapter_says_so),
        cmocka_unit_test(each_port_is_a_vector_and_each_adapter_counts_once),
        cmocka_unit_test(ethernet_ports_and_ports_without_a_guid_are_left_out),
        cmocka_unit_test(vfs_that_no_vm_can_get_do_not_count),
        cmocka_unit_test(an_adapter_that_cannot_be_read_has_no_vfs_to_give),
        cmocka_unit_test(the_last_slot_of_a_whole_mlx4_table_does_not_count),
        cmocka_unit_test(no_text_forges_a_line_or_an_attribute),
        cmocka_unit_test(a_long_problem_is_cut),
        cmocka_unit_test(a_host_that_gives_none_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
