// SPDX-License-Identifier: Apache-2.0
/*
 * What one NIC costs a node: CPU time of the network driver's `pre` and `clean`, and of oneib-node
 * with all that it has started, against that of a Ruby script which does nothing but load REXML and
 * parse the same document, twice: the least that a driver in Ruby can cost. On a simulated node
 * (mlx4, 7 VFs) where the key is there and GUIDs are accepted within a few milliseconds.
 *
 * Goal: 1/25.
 */
#include "../unit/hca/tree.h"
#include "base/base64.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "bench_process.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 20
#define VFS 7
#define KEY 5
#define GOAL 25.0

static const struct tree_hca hca = {.driver = ONEIB_HCA_MLX4, .vfs = VFS};

/* The median of many runs. */
static double cost_of_many(const char *const *argv, const char *input_file)
{
    struct bench_cost costs[ROUNDS];
    for (size_t i = 0; i < ROUNDS; i++)
        costs[i] = bench_run(argv, input_file);
    return bench_median_cost(costs, ROUNDS).cpu_ms;
}

/* ---- the simulated node ---------------------------------------------------------------------- */

static atomic_bool ending;

static uint64_t wish_of(unsigned vf)
{
    char text[64];
    tree_read(text, sizeof text, "/sys/class/infiniband/mlx4_0/iov/ports/1/admin_guids/%u", vf + 1);
    return text[0] == '\0' ? UINT64_MAX : strtoull(text, NULL, 16);
}

/* Replaced as a whole: nobody must read half of it. */
static void show_gid(unsigned vf, uint64_t guid)
{
    char *next = tree_path("/next-gid");
    char *gid = tree_path("/sys/class/infiniband/mlx4_0/iov/ports/1/gids/%u", vf + 1);
    FILE *file = fopen(next, "w");
    if (!file)
        bench_give_up(next);
    fprintf(file, "fe80:0000:0000:0000:%04x:%04x:%04x:%04x\n", (unsigned)(guid >> 48),
            (unsigned)(guid >> 32) & 0xffff, (unsigned)(guid >> 16) & 0xffff,
            (unsigned)guid & 0xffff);
    if (fclose(file) != 0 || rename(next, gid) < 0)
        bench_give_up(gid);
    free(next);
    free(gid);
}

/* The adapter and the SM: what the driver wishes for is accepted. */
static void *accept_guids(void *unused)
{
    uint64_t shown[VFS] = {0};
    (void)unused;
    while (!ending) {
        for (unsigned vf = 0; vf < VFS; vf++) {
            const uint64_t wish = wish_of(vf), now = wish == UINT64_MAX ? 0 : wish;
            if (now == shown[vf])
                continue;
            show_gid(vf, now);
            shown[vf] = now;
        }
        usleep(5000);
    }
    return NULL;
}

static void write_configuration(void)
{
    char text[1024];
    snprintf(text, sizeof text,
             "one = { vn_mad = \"ibrec\"; };\n"
             "node = { libvirt = \"test://%s/node.xml\"; };",
             tree_root());
    tree_write(text, "/etc/oneib/oneib.conf");
    tree_write("<node></node>", "/node.xml");
}

/* ---- the document ---------------------------------------------------------------------------- */

static char *replace_once(const char *text, const char *old, const char *new)
{
    const char *at = strstr(text, old);
    struct oneib_text result = {0};
    if (!at)
        bench_give_up("the recorded document is not as it was");
    oneib_text_append_bytes(&result, text, (size_t)(at - text));
    oneib_text_append(&result, new);
    oneib_text_append(&result, at + strlen(old));
    return result.data;
}

/* As recorded, but on a network that has a P_Key and no bridge. */
static char *read_document(void)
{
    static const char bridge[] = "<BRIDGE><![CDATA[onebr0]]></BRIDGE>";
    static const char driver[] = "<VN_MAD><![CDATA[ibrec]]></VN_MAD>";
    struct oneib_error err;
    char *recorded;
    size_t length;
    if (oneib_file_read(ONEIB_RECORDED "/0048-vnm.ibrec.pre.vm2/stdin.decoded", 1 << 20, &recorded,
                        &length, &err) < 0)
        bench_give_up(err.text);
    char *begin = strstr(recorded, "<VM>");
    char *once = replace_once(begin, bridge, ""), *twice = replace_once(once, bridge, "");
    char *document = replace_once(
        twice, driver, "<VLAN_ID><![CDATA[5]]></VLAN_ID><VN_MAD><![CDATA[ibrec]]></VN_MAD>");
    free(recorded);
    free(once);
    free(twice);
    return document;
}

static char *encode(const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct oneib_text line = {0};
    const size_t length = strlen(text);
    for (size_t i = 0; i < length; i += 3) {
        const size_t rest = length - i;
        const unsigned char *at = (const unsigned char *)text + i;
        const uint32_t bits =
            (uint32_t)at[0] << 16 | (rest > 1 ? (uint32_t)at[1] << 8 : 0) | (rest > 2 ? at[2] : 0);
        const char four[4] = {digits[bits >> 18], digits[bits >> 12 & 63],
                              rest > 1 ? digits[bits >> 6 & 63] : '=',
                              rest > 2 ? digits[bits & 63] : '='};
        oneib_text_append_bytes(&line, four, 4);
    }
    return line.data;
}

/* Longer than an attribute of sysfs. */
static char *write_file(const char *name, const char *text)
{
    char *path = tree_path("/%s", name);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        bench_give_up(path);
    return path;
}

/* ---- measuring ------------------------------------------------------------------------------- */

int main(void)
{
    tree_open();
    tree_reset(NULL);
    tree_add_hca(&hca);
    tree_set_pkey(&hca, 1, 1, 0x8000 | KEY);
    write_configuration();
    char *document = read_document(), *base64 = encode(document);
    char *xml = write_file("document.xml", document);
    char *input = write_file("document.base64", base64);
    char *minimal = write_file(
        "minimal.rb", "require 'rexml/document'\nREXML::Document.new(File.read(ARGV[0]))\n");

    pthread_t fabric;
    pthread_create(&fabric, NULL, accept_guids, NULL);
    bench_oneibd_start();
    bench_node_start();
    const char *const pre[] = {ONEIB_VNM_PROGRAM, "pre", NULL};
    const char *const clean[] = {ONEIB_VNM_PROGRAM, "clean", "localhost", NULL};
    struct bench_cost giving[ROUNDS], cleaning[ROUNDS];
    const double before = bench_node_cpu_ms();
    for (size_t i = 0; i < ROUNDS; i++) {
        giving[i] = bench_run(pre, input);
        cleaning[i] = bench_run(clean, input);
    }
    const double service = (bench_node_cpu_ms() - before) / ROUNDS;
    bench_node_stop();
    ending = true;
    pthread_join(fabric, NULL);

    const double ruby =
        2 * cost_of_many((const char *const[]){"/usr/bin/ruby", minimal, xml, NULL}, "/dev/null");
    const struct bench_cost given = bench_median_cost(giving, ROUNDS),
                            cleaned = bench_median_cost(cleaning, ROUNDS);
    const double ours = given.cpu_ms + cleaned.cpu_ms + service;
    const bool reached = ours * GOAL <= ruby;
    printf("CPU: pre %.2f ms, clean %.2f ms, oneib-node for both %.2f ms; wall: %.1f ms, %.1f ms\n",
           given.cpu_ms, cleaned.cpu_ms, service, given.wall_ms, cleaned.wall_ms);
    printf("pre and clean of one NIC: %.2f ms, Ruby %.1f ms: 1/%.1f (goal 1/%.0f) %s\n", ours, ruby,
           ruby / ours, GOAL, reached ? "PASS" : "FAIL");

    free(document);
    free(base64);
    free(xml);
    free(input);
    free(minimal);
    return tree_close(reached ? EXIT_SUCCESS : EXIT_FAILURE);
}
