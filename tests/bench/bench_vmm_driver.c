// SPDX-License-Identifier: Apache-2.0
/*
 * What the virtualization driver adds to OpenNebula's own. On a simulated node (mlx4), with
 * recorded documents:
 *
 * - deploy and save around a stand-in for the upstream action, against that stand-in alone: CPU and
 *   wall time. The stand-in is the least that an upstream action can be: a shell that keeps what it
 * was given, and one client of libvirt (bench-libvirt-client for virsh; the real actions call virsh
 *   several times, and QEMU starts). The guest's part, letting go of a VF, is not in it.
 * - editing a document for 1 and for 16 NICs, in this process, against libxml2 parsing it alone.
 *
 * Goals: less than twice the stand-in's CPU time; less than four times the parsing.
 */
#include "../unit/hca/tree.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "bench_process.h"
#include "domain/edit.h"
#include "host/vf_record.h"
#include <libxml/parser.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define ROUNDS 20
#define EDITS 200
#define VM_ID 2
#define NIC_ID 1
#define NETWORK_ID 1
#define KEY 5
#define PROCESS_GOAL 2.0
#define EDIT_GOAL 4.0
#define INTERFACE                                                                                  \
    "<interface type='bridge'>\n\t\t\t<source bridge='onebr0'/>\n\t\t\t"                           \
    "<mac address='02:00:0a:14:00:0f'/>"
#define OUR_INTERFACE "<interface type='ethernet'><mac address='02:00:0a:14:00:0f'/>"

static const struct tree_hca hca = {.driver = ONEIB_HCA_MLX4, .vfs = 20};

/* ---- documents ------------------------------------------------------------------------------- */

static char *recorded(const char *action)
{
    struct oneib_error err;
    char path[512], *text;
    size_t length;
    snprintf(path, sizeof path, ONEIB_RECORDED "/%s/stdin.decoded", action);
    if (oneib_file_read(path, 1 << 20, &text, &length, &err) < 0)
        bench_give_up(err.text);
    return text;
}

/* Each occurrence; frees `text`. */
static char *replaced(char *text, const char *from, const char *to)
{
    struct oneib_text result = {0};
    const char *rest = text;
    for (const char *at; (at = strstr(rest, from)); rest = at + strlen(from)) {
        oneib_text_append_bytes(&result, rest, (size_t)(at - rest));
        oneib_text_append(&result, to);
    }
    if (rest == text)
        bench_give_up("a recorded document is not as it was");
    oneib_text_append(&result, rest);
    free(text);
    return result.data;
}

/* As recorded, but on a network that has a P_Key and no bridge. */
static char *vm_message(void)
{
    char *message = replaced(recorded("0063-vmm.kvm.save.vm2"),
                             "<BRIDGE><![CDATA[onebr0]]></BRIDGE><BRIDGE_TYPE><![CDATA[linux]]>"
                             "</BRIDGE_TYPE>",
                             "");
    return replaced(message, "<VN_MAD><![CDATA[ibrec]]></VN_MAD>",
                    "<VLAN_ID><![CDATA[5]]></VLAN_ID><VN_MAD><![CDATA[ibrec]]></VN_MAD>");
}

/* What oned writes beside the deployment file. */
static char *vm_of(const char *message)
{
    const char *begin = strstr(message, "<VM>"), *end = begin ? strstr(begin, "</VM>") : NULL;
    if (!end)
        bench_give_up("a recorded message has no <VM>");
    return strndup(begin, (size_t)(end - begin) + strlen("</VM>"));
}

static char *domain_of_vm(void)
{
    return replaced(recorded("0049-vmm.kvm.deploy.vm2"), INTERFACE, OUR_INTERFACE);
}

/* ---- the simulated node ---------------------------------------------------------------------- */

/* Longer than an attribute of sysfs. */
static char *write_file(const char *name, const char *text)
{
    char *path = tree_path("/%s", name);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        bench_give_up(path);
    return path;
}

static void write_configuration(void)
{
    char text[1024];
    snprintf(text, sizeof text,
             "one = { vn_mad = \"ibrec\"; };\n"
             "node = { libvirt = \"test://%s/node.xml\"; };",
             tree_root());
    tree_write(text, "/etc/oneib/oneib.conf");
}

/* The VM runs, without a VF: libvirt's test driver cannot unplug one. */
static void write_libvirt(const char *domain)
{
    char *running = replaced(strdup(domain), "<domain type='kvm'", "<domain type='test'");
    char *path = write_file("domain.xml", running);
    free(write_file("node.xml", "<node><domain file='domain.xml'/></node>"));
    free(running);
    free(path);
}

static void write_table(void)
{
    const struct oneib_vf_record record = {
        .vf = tree_vf_pci(&hca, 0),
        .device = "mlx4_0",
        .port = 1,
        .vm_id = VM_ID,
        .nic_id = NIC_ID,
        .network_id = NETWORK_ID,
        .pkey = KEY,
        .stage = ONEIB_VF_OPEN,
        .guid = ONEIB_VF_GUID_SET,
    };
    struct oneib_vf_table table = {0};
    struct oneib_error err;
    struct oneib_text text = {0};
    if (oneib_vf_table_add(&table, &record, &err) < 0)
        bench_give_up(err.text);
    oneib_vf_table_render(&table, &text);
    tree_make_directory("/run/oneib");
    free(write_file("run/oneib/vfs", text.data));
    oneib_text_clear(&text);
    oneib_vf_table_clear(&table);
}

static char *write_upstream(void)
{
    char script[1024];
    snprintf(script, sizeof script, "#!/bin/sh\ncat > %s/given\nexec '%s' test://%s/node.xml\n",
             tree_root(), LIBVIRT_CLIENT, tree_root());
    char *path = write_file("upstream", script);
    if (chmod(path, 0755) < 0)
        bench_give_up(path);
    return path;
}

/* ---- around an upstream action --------------------------------------------------------------- */

static bool compare(const char *what, const char *const *ours, const char *const *upstream,
                    const char *input)
{
    struct bench_cost with[ROUNDS], without[ROUNDS];
    for (size_t i = 0; i < ROUNDS; i++) {
        without[i] = bench_run(upstream, input);
        with[i] = bench_run(ours, input);
    }
    const struct bench_cost around = bench_median_cost(with, ROUNDS),
                            alone = bench_median_cost(without, ROUNDS);
    const bool reached = around.cpu_ms < PROCESS_GOAL * alone.cpu_ms;
    printf(
        "%s: CPU %.1f ms, the upstream stand-in alone %.1f ms: %.2f (goal %.1f) %s; wall %.1f ms, "
        "%.1f ms: %.2f\n",
        what, around.cpu_ms, alone.cpu_ms, around.cpu_ms / alone.cpu_ms, PROCESS_GOAL,
        reached ? "PASS" : "FAIL", around.wall_ms, alone.wall_ms, around.wall_ms / alone.wall_ms);
    return reached;
}

static bool compare_deploy(const char *upstream, const char *deployment, const char *input)
{
    const char *const ours[] = {ONEIB_DEPLOY_PROGRAM,
                                "deploy",
                                "--upstream",
                                upstream,
                                deployment,
                                "host",
                                "2",
                                "host",
                                NULL};
    const char *const theirs[] = {upstream, deployment, "host", "2", "host", NULL};
    return compare("deploy, one NIC", ours, theirs, input);
}

static bool compare_save(const char *upstream, const char *input)
{
    const char *const ours[] = {ONEIB_VMM_PROGRAM, "save", "--upstream", upstream, "one-2",
                                "/checkpoint",     "host", "2",          "host",   NULL};
    const char *const theirs[] = {upstream, "one-2", "/checkpoint", "host", "2", "host", NULL};
    return compare("save, nothing to unplug", ours, theirs, input);
}

/* ---- documents ------------------------------------------------------------------------------- */

static struct oneib_domain_nic nic_of(unsigned index)
{
    struct oneib_domain_nic nic = {
        .nic_id = (uint8_t)(index + 1),
        .vf = tree_vf_pci(&hca, index),
        .index = index,
        .ipv4 = 0x0a140010 + index,
    };
    snprintf(nic.mac, sizeof nic.mac, "02:00:0a:14:00:%02x", (0x10 + index) & 0xff);
    snprintf(nic.target, sizeof nic.target, "one-2-%u", (index + 1) & 0xff);
    return nic;
}

/* The recorded document with these NICs as oned writes them. */
static char *document_with(const struct oneib_domain_nic *nics, size_t count)
{
    struct oneib_text interfaces = {0};
    oneib_text_append(&interfaces, "<interface type='ethernet'>");
    for (size_t i = 0; i < count; i++)
        oneib_text_printf(&interfaces,
                          "<mac address='%s'/><target dev='%s'/><model type='virtio'/></interface>"
                          "<interface type='ethernet'>",
                          nics[i].mac, nics[i].target);
    char *document = replaced(domain_of_vm(), "<interface type='ethernet'>", interfaces.data);
    oneib_text_clear(&interfaces);
    return document;
}

static double cpu_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void parse(const char *document, size_t length)
{
    xmlDoc *tree = xmlReadMemory(document, (int)length, NULL, NULL, XML_PARSE_NONET);
    if (!tree)
        bench_give_up("a document is malformed");
    xmlFreeDoc(tree);
}

static void edit(const char *document, size_t length, const struct oneib_domain_nic *nics,
                 size_t count)
{
    struct oneib_error err;
    oneib_autotext struct oneib_text equipped = {0};
    if (oneib_domain_equip(document, length, nics, count, &equipped, &err) < 0)
        bench_give_up(err.text);
}

static bool compare_edit(size_t count)
{
    struct oneib_domain_nic nics[ONEIB_DOMAIN_NICS_MAX];
    for (unsigned i = 0; i < count; i++)
        nics[i] = nic_of(i);
    char *document = document_with(nics, count);
    const size_t length = strlen(document);
    double parsing = 0, editing = 0;
    for (size_t i = 0; i < EDITS; i++) {
        const double start = cpu_ms();
        parse(document, length);
        const double middle = cpu_ms();
        edit(document, length, nics, count);
        parsing += middle - start;
        editing += cpu_ms() - middle;
    }
    free(document);
    const bool reached = editing < EDIT_GOAL * parsing;
    printf("document of %zu KiB for %zu NICs: %.3f ms, parsing alone %.3f ms: %.2f (goal %.1f) "
           "%s\n",
           length / 1024, count, editing / EDITS, parsing / EDITS, editing / parsing, EDIT_GOAL,
           reached ? "PASS" : "FAIL");
    return reached;
}

int main(void)
{
    tree_open();
    tree_reset(NULL);
    tree_add_hca(&hca);
    tree_set_pkey(&hca, 1, 1, 0x8000 | KEY);
    write_configuration();
    write_table();
    char *message = vm_message(), *vm = vm_of(message), *domain = domain_of_vm();
    char *message_file = write_file("message", message), *domain_file = write_file("in", domain);
    char *vm_file = write_file("vm.xml", vm), *upstream = write_upstream();
    char *deployment = tree_path("/deployment.0");
    write_libvirt(domain);

    bool reached = compare_deploy(upstream, deployment, domain_file);
    reached = compare_save(upstream, message_file) && reached;
    reached = compare_edit(1) && reached;
    reached = compare_edit(ONEIB_DOMAIN_NICS_MAX) && reached;

    char *const owned[] = {message,     vm,      domain,   message_file,
                           domain_file, vm_file, upstream, deployment};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    xmlCleanupParser();
    return tree_close(reached ? EXIT_SUCCESS : EXIT_FAILURE);
}
