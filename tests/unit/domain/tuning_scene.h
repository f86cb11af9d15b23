// SPDX-License-Identifier: Apache-2.0
/* Documents for tests of tuning, and what they ask for. */
#ifndef ONEIB_UNIT_TUNING_SCENE_H
#define ONEIB_UNIT_TUNING_SCENE_H

#include "documents.h"
#include "domain/tuning.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define RECORDED "0002-vmm.kvm.deploy.vm1"

/* What oned writes from TOPOLOGY = [PIN_POLICY = "CORE", SOCKETS = 1, HUGEPAGE_SIZE = 2] for two
 * virtual cores (LibVirtDriverKVM.cc, pin_cpu and vtopol). */
#define TOPOLOGY_PINS                                                                              \
    "\t\t<vcpupin vcpu='0' cpuset='4'/>\n\t\t<vcpupin vcpu='1' cpuset='5'/>\n"                     \
    "\t\t<emulatorpin cpuset='4,5'/>\n"
#define TOPOLOGY_CPU                                                                               \
    "\t<cpu>\n\t\t<topology sockets='1' cores='2' threads='1'/>\n\t\t<numa>\n"                     \
    "\t\t\t<cell id='0' memory='98304' cpus='0-1'/>\n\t\t</numa>\n\t</cpu>\n"
#define TOPOLOGY_MEMORY                                                                            \
    "\t<numatune>\n\t\t<memnode cellid='0' mode='strict' nodeset='1'/>\n"                          \
    "\t\t<memory mode='strict' nodeset='1'/>\n\t</numatune>\n"
#define TOPOLOGY_PAGES                                                                             \
    "\t<memoryBacking>\n\t\t<hugepages>\n\t\t\t<page size='2048'/>\n\t\t</hugepages>\n"            \
    "\t</memoryBacking>\n"

static struct oneib_error err;
static struct oneib_domain_demand demand;

/* The recorded one with these elements more, and in <cputune>. */
static inline char *recorded_with(const char *elements, const char *in_cputune)
{
    char *text = recorded_deploy(RECORDED), replaced[4096];
    snprintf(replaced, sizeof replaced, "<shares>103</shares>\n%s", in_cputune);
    text = with_replaced(text, "<shares>103</shares>\n", replaced);
    snprintf(replaced, sizeof replaced, "%s\t<os>", elements);
    return with_replaced(text, "\t<os>", replaced);
}

static inline char *with_topology(void)
{
    char *text = recorded_with(TOPOLOGY_CPU TOPOLOGY_MEMORY TOPOLOGY_PAGES, TOPOLOGY_PINS);
    return with_replaced(text, "<![CDATA[1]]></vcpu>", "<![CDATA[2]]></vcpu>");
}

/* A document of these elements alone. */
static inline char *domain_of(const char *elements)
{
    char *text;
    assert_true(asprintf(&text, "<domain type='kvm'><name>one-7</name>%s</domain>", elements) > 0);
    return text;
}

/* Frees the document. */
static inline void read_demand(char *xml)
{
    if (oneib_domain_demand_read(xml, strlen(xml), &demand, &err) < 0)
        fail_msg("%s", err.text);
    free(xml);
}

#endif
