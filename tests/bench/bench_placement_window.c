// SPDX-License-Identifier: Apache-2.0
/*
 * A window of 1,000 VMs of 50 clusters that all fit on each of 10,000 hosts: the scheduler's
 * message is decoded, read, arranged, narrowed, and written in base64, in less than a second and
 * 200 MiB, with the file in memory that `rank` is given. Without what oned is asked, and without
 * `rank`. One PASS or FAIL line for each goal;
 * exits 1 when one is missed.
 */
#include "base/base64.h"
#include "base/clock.h"
#include "base/memory_file.h"
#include "placement/arrange.h"
#include "placement/wire.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    VMS = 1000,
    HOSTS = 10000,
    CLUSTERS = 50,
    HOSTS_PER_LEAF = 32,
    PADDING = 1500, /* bytes of what else there is of a host and a VM */
};
#define NOW 1000
#define TIME_LIMIT_MS 1000.0
#define MEMORY_LIMIT_MIB 200.0

static struct oneib_error err;

static void stop(const char *what)
{
    fprintf(stderr, "bench_placement_window: %s\n", what);
    exit(3);
}

/* ---- the message ----------------------------------------------------------------------------- */

static void append_padding(struct oneib_text *text)
{
    for (unsigned i = 0; i < PADDING / 50; i++)
        oneib_text_append(text, "<ATTRIBUTE_X><![CDATA[some value]]></ATTRIBUTE_X>\n");
}

static void append_vms(struct oneib_text *text)
{
    for (unsigned i = 0; i < VMS; i++) {
        oneib_text_printf(text,
                          "<VM><ID>%u</ID><STATE>1</STATE><LCM_STATE>0</LCM_STATE><STIME>%u"
                          "</STIME><TEMPLATE>",
                          i, NOW);
        append_padding(text);
        oneib_text_printf(text,
                          "<NIC><NIC_ID>0</NIC_ID><NETWORK_ID>%u</NETWORK_ID>"
                          "<VN_MAD>infiniband</VN_MAD></NIC></TEMPLATE></VM>",
                          i % CLUSTERS);
    }
}

static void append_hosts(struct oneib_text *text)
{
    for (unsigned i = 0; i < HOSTS; i++) {
        oneib_text_printf(text, "<HOST><ID>%u</ID><NAME>n%u</NAME><STATE>2</STATE><TEMPLATE>", i,
                          i);
        append_padding(text);
        oneib_text_printf(text,
                          "<IB_SWITCH>0x%016x</IB_SWITCH><IB_VFS_FREE>7</IB_VFS_FREE></TEMPLATE>"
                          "</HOST>",
                          0x200000 + i / HOSTS_PER_LEAF);
    }
}

static void append_requirements(struct oneib_text *text)
{
    oneib_text_append(text, "<REQUIREMENTS>");
    for (unsigned i = 0; i < VMS; i++) {
        oneib_text_printf(text, "<VM><ID>%u</ID><HOSTS>", i);
        for (unsigned host = 0; host < HOSTS; host++)
            oneib_text_printf(text, "<ID>%u</ID>", host);
        oneib_text_append(text, "</HOSTS><DATASTORES><ID>0</ID></DATASTORES></VM>");
    }
    oneib_text_append(text, "</REQUIREMENTS>");
}

/* In base64, to a file, which another process reads. */
static void write_message(FILE *file)
{
    struct oneib_text text = {0};
    size_t length;
    oneib_text_append(&text, "<SCHEDULER_DRIVER_ACTION><VM_POOL>");
    append_vms(&text);
    oneib_text_append(&text, "</VM_POOL><HOST_POOL>");
    append_hosts(&text);
    oneib_text_append(&text, "</HOST_POOL><DATASTORE_POOL></DATASTORE_POOL>");
    append_requirements(&text);
    oneib_text_append(&text, "</SCHEDULER_DRIVER_ACTION>");
    char *encoded = oneib_base64_encode(text.data, text.length, &length);
    if (!encoded || fwrite(encoded, 1, length, file) != length || fflush(file) != 0)
        stop("the message cannot be made");
    printf("%zu MiB in base64\n", length >> 20);
    free(encoded);
    oneib_text_clear(&text);
}

/* ---- what `place` does with it --------------------------------------------------------------- */

/* To `given`, as `place` writes it for `rank`. */
static void narrow(int input, int given)
{
    struct oneib_wire wire;
    struct oneib_sched_message message;
    struct oneib_window window;
    struct oneib_sched_pieces changed;
    const struct oneib_cloud running = {0};
    if (oneib_wire_read(input, SIZE_MAX, &wire, &err) < 0 || oneib_wire_decode(&wire, &err) < 0 ||
        oneib_sched_message_read(wire.xml.data, wire.xml.length, &message, &err) < 0 ||
        oneib_sched_message_read_pools(&message, "infiniband", &err) < 0 ||
        oneib_window_arrange(&message, &running, NOW, &window, &err) < 0)
        stop(err.text);
    oneib_window_offer(&window);
    oneib_sched_message_write(&message, &window, &changed);
    if (oneib_wire_write(&changed, given, &err) < 0)
        stop(err.text);
    for (size_t i = 0; i < window.vm_count; i++)
        if (window.vms[i].offered_count == 0)
            stop("a VM is offered nothing");
}

static int fails;

static void goal(bool is_met, const char *what)
{
    printf("%s %s\n", is_met ? "PASS" : "FAIL", what);
    fails += !is_met;
}

static double processor_ms(const struct rusage *usage)
{
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000 +
           (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1000;
}

/* What `rank` is given lies in memory, too. */
static double memory_mib(const struct rusage *usage, int given)
{
    struct stat file;
    if (fstat(given, &file) < 0)
        stop("what was written cannot be measured");
    return (double)usage->ru_maxrss / 1024 + (double)file.st_size / (1 << 20);
}

static int measure(FILE *file)
{
    struct rusage usage;
    const int given = oneib_memory_file("", 0);
    if (given < 0)
        stop("no file in memory can be made");
    rewind(file);
    const double began = oneib_now_ms();
    narrow(fileno(file), given);
    const double took = oneib_now_ms() - began;
    getrusage(RUSAGE_SELF, &usage);
    const double memory = memory_mib(&usage, given);
    printf("%.0f ms (%.0f ms of a processor), %.0f MiB\n", took, processor_ms(&usage), memory);
    goal(took < TIME_LIMIT_MS, "less than a second");
    goal(memory < MEMORY_LIMIT_MIB, "less than 200 MiB");
    return fails ? 1 : 0;
}

/* The message is made by a process of its own, whose memory does not count. */
int main(void)
{
    FILE *file = tmpfile();
    int status;
    if (!file)
        stop("no temporary file can be made");
    const pid_t child = fork();
    if (child == 0) {
        write_message(file);
        fflush(stdout);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        stop("the message was not made");
    return measure(file);
}
