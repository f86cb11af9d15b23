// SPDX-License-Identifier: Apache-2.0
/*
 * Parsing VM pool documents against libxml2's own reader walking the same bytes with the same
 * options: at most 1.5 times its time. The documents are made in memory from the recorded one of a
 * running VM (8.6 KB), by windows of 1,000 VMs as reading the pools asks for them; each pair of
 * measurements takes turns, and the best of several rounds counts. Exits 1 when the ratio is above
 * the limit.
 */
#include "base/text.h"
#include "opennebula/documents.h"
#include "xml/reader.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIMIT 1.5
#define WINDOW 1000
#define ROUNDS 5

static void stop(const char *what)
{
    fprintf(stderr, "bench_opennebula_documents: %s\n", what);
    exit(3);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void load(const char *path, struct oneib_text *text)
{
    char buffer[4096];
    size_t length;
    FILE *file = fopen(path, "r");
    if (!file)
        stop("cannot open the recorded document");
    while ((length = fread(buffer, 1, sizeof buffer, file)) > 0)
        oneib_text_append_bytes(text, buffer, length);
    fclose(file);
}

/* Appends the recorded VM 1 as VM `id`. */
static void append_vm(struct oneib_text *pool, const char *recorded, unsigned id)
{
    static const char own_id[] = "<VM><ID>1</ID>";
    if (strncmp(recorded, own_id, strlen(own_id)) != 0)
        stop("the recorded document does not begin as it should");
    oneib_text_printf(pool, "<VM><ID>%u</ID>", id);
    oneib_text_append(pool, recorded + strlen(own_id));
}

static void make_window(struct oneib_text *pool, const char *recorded, unsigned first,
                        unsigned count)
{
    oneib_text_append(pool, "<VM_POOL>");
    for (unsigned i = 0; i < count; i++)
        append_vm(pool, recorded, first + i);
    oneib_text_append(pool, "</VM_POOL>");
}

static double walk(const struct oneib_text *xml)
{
    double start = now();
    xmlTextReaderPtr reader =
        xmlReaderForMemory(xml->data, (int)xml->length, NULL, NULL, ONEIB_READER_OPTIONS);
    int outcome;
    do
        outcome = xmlTextReaderRead(reader);
    while (outcome == 1);
    xmlFreeTextReader(reader);
    if (outcome != 0)
        stop("the document is malformed");
    return now() - start;
}

static double parse(struct oneib_documents *documents, const struct oneib_text *xml)
{
    struct oneib_error err = {0};
    double start = now();
    if (oneib_documents_read_vms(documents, xml->data, xml->length, &err) < 0)
        stop(err.text);
    return now() - start;
}

struct times {
    double walked, parsed;
};

/* All windows once; what was parsed is checked and dropped. */
static struct times one_round(const char *recorded, unsigned vms)
{
    struct times sum = {0};
    struct oneib_cloud cloud = {0};
    struct oneib_findings findings = {0};
    struct oneib_documents documents = {.cloud = &cloud, .findings = &findings, .vn_mad = "ibrec"};
    for (unsigned first = 0; first < vms; first += WINDOW) {
        oneib_autotext struct oneib_text xml = {0};
        make_window(&xml, recorded, first, vms - first < WINDOW ? vms - first : WINDOW);
        sum.walked += walk(&xml);
        sum.parsed += parse(&documents, &xml);
    }
    if (cloud.vm_count != vms || cloud.attachment_count != 2 * (size_t)vms || findings.count != 0)
        stop("not what was written was read");
    oneib_documents_clear(&documents);
    oneib_cloud_clear(&cloud);
    oneib_findings_clear(&findings);
    return sum;
}

static int measure(const char *recorded, unsigned vms)
{
    struct times best = {1e9, 1e9};
    for (int i = 0; i < ROUNDS; i++) {
        struct times times = one_round(recorded, vms);
        if (times.walked < best.walked)
            best.walked = times.walked;
        if (times.parsed < best.parsed)
            best.parsed = times.parsed;
    }
    double ratio = best.parsed / best.walked;
    printf("%6u VMs: bare walk %8.1f ms, parsed %8.1f ms, ratio %.2f (at most %.2f) %s\n", vms,
           best.walked * 1e3, best.parsed * 1e3, ratio, LIMIT, ratio <= LIMIT ? "PASS" : "FAIL");
    return ratio <= LIMIT ? 0 : 1;
}

int main(int argc, char **argv)
{
    oneib_autotext struct oneib_text recorded = {0};
    load(argc > 1 ? argv[1] : ONEIB_TEST_DATA "/opennebula-7.4/vm.info-1-running.doc.xml",
         &recorded);
    int worst = measure(recorded.data, 1000);
    if (measure(recorded.data, 20000) != 0)
        worst = 1;
    return worst;
}
