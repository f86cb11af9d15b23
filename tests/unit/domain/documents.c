// SPDX-License-Identifier: Apache-2.0
#include "documents.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include <libxml/c14n.h>
#include <libxml/parser.h>
#include <libxml/xpath.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const char *const recorded_deploys[] = {"0002-vmm.kvm.deploy.vm1", "0027-vmm.kvm.deploy.vm1",
                                        "0049-vmm.kvm.deploy.vm2", "0100-vmm.kvm.deploy.vm4", NULL};

/* ---- texts ----------------------------------------------------------------------------------- */

char *recorded_deploy(const char *action)
{
    struct oneib_error err = {0};
    char path[512], *text = NULL;
    size_t length;
    snprintf(path, sizeof path, "%s/opennebula-7.4/actions/%s/stdin.decoded", ONEIB_TEST_DATA,
             action);
    if (oneib_file_read(path, ONEIB_DOMAIN_DOCUMENT_MAX, &text, &length, &err) < 0)
        fail_msg("%s", err.text);
    return text;
}

char *with_replaced(char *text, const char *from, const char *to)
{
    char *at = strstr(text, from);
    if (!at || strstr(at + 1, from))
        fail_msg("not exactly one \"%s\"", from);
    struct oneib_text replaced = {0};
    oneib_text_append_bytes(&replaced, text, (size_t)(at - text));
    oneib_text_append(&replaced, to);
    oneib_text_append(&replaced, at + strlen(from));
    free(text);
    return replaced.data;
}

char *without_bridge(char *text, const char *mac)
{
    char bridged[256], plain[256];
    snprintf(
        bridged, sizeof bridged,
        "<interface type='bridge'>\n\t\t\t<source bridge='onebr0'/>\n\t\t\t<mac address='%s'/>",
        mac);
    snprintf(plain, sizeof plain, "<interface type='ethernet'>\n\t\t\t<mac address='%s'/>", mac);
    return with_replaced(text, bridged, plain);
}

/* ---- made ones ------------------------------------------------------------------------------- */

struct oneib_domain_nic example_nic(unsigned index)
{
    struct oneib_domain_nic nic = {
        .nic_id = (uint8_t)(index + 1),
        .vf = {0, 0x81, (uint8_t)((index + 1) / 8), (uint8_t)((index + 1) % 8)},
        .index = index,
        .ipv4 = 0x0a140000 + index + 1,
    };
    snprintf(nic.mac, sizeof nic.mac, "02:00:0a:14:00:%02x", (index + 1) & 0xff);
    snprintf(nic.target, sizeof nic.target, "one-7-%u", (index + 1) & 0xff);
    return nic;
}

static void append_interface(struct oneib_text *text, const struct oneib_domain_nic *nic)
{
    oneib_text_printf(text,
                      "\t\t<interface type='ethernet'>\n"
                      "\t\t\t<mac address='%s'/>\n\t\t\t<target dev='%s'/>\n"
                      "\t\t\t<model type='virtio'/>\n"
                      "\t\t\t<driver name='vhost' queues='1'/>\n"
                      "\t\t</interface>\n",
                      nic->mac, nic->target);
}

char *made_document(const char *machine, size_t count, unsigned root_ports)
{
    struct oneib_text text = {0};
    oneib_text_printf(
        &text,
        "<domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>\n"
        "\t<name>one-7</name>\n\t<vcpu><![CDATA[1]]></vcpu>\n"
        "\t<memory>98304</memory>\n"
        "\t<os>\n\t\t<type arch='x86_64' machine='%s'>hvm</type>\n\t</os>\n"
        "\t<devices>\n"
        "\t\t<interface type='bridge'>\n\t\t\t<source bridge='onebr0'/>\n"
        "\t\t\t<mac address='02:00:0a:0a:00:01'/>\n"
        "\t\t\t<target dev='one-7-0'/>\n\t\t</interface>\n",
        machine);
    for (unsigned i = 0; i < count; i++) {
        const struct oneib_domain_nic nic = example_nic(i);
        append_interface(&text, &nic);
    }
    if (root_ports > 0)
        oneib_text_append(&text, "\t\t<controller index='0' type='pci' model='pcie-root'/>\n");
    for (unsigned i = 1; i <= root_ports; i++)
        oneib_text_printf(&text, "\t\t<controller type='pci' index='%u' model='pcie-root-port'/>\n",
                          i);
    oneib_text_append(&text, "\t</devices>\n\t<features>\n\t\t<acpi/>\n\t</features>\n</domain>\n");
    return text.data;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static xmlDoc *parse(const char *xml, size_t length)
{
    xmlDoc *document = xmlReadMemory(xml, (int)length, NULL, NULL, XML_PARSE_NONET);
    assert_non_null(document);
    return document;
}

static char *canonical_of(xmlDoc *document)
{
    xmlChar *bytes = NULL;
    assert_true(xmlC14NDocDumpMemory(document, NULL, XML_C14N_1_0, NULL, 1, &bytes) >= 0);
    char *text = strdup((const char *)bytes);
    xmlFree(bytes);
    assert_non_null(text);
    return text;
}

char *canonical(const char *xml, size_t length)
{
    xmlDoc *document = parse(xml, length);
    char *text = canonical_of(document);
    xmlFreeDoc(document);
    return text;
}

/* The one element; NULL: there is none. */
static xmlNode *find(xmlDoc *document, const char *expression)
{
    xmlXPathContext *context = xmlXPathNewContext(document);
    xmlXPathObject *found = xmlXPathEval((const xmlChar *)expression, context);
    assert_non_null(found);
    const int count = found->nodesetval ? found->nodesetval->nodeNr : 0;
    xmlNode *node = count > 0 ? found->nodesetval->nodeTab[0] : NULL;
    assert_in_range(count, 0, 1);
    xmlXPathFreeObject(found);
    xmlXPathFreeContext(context);
    return node;
}

static void take_away(xmlNode *node)
{
    assert_non_null(node);
    xmlUnlinkNode(node);
    xmlFreeNode(node);
}

/* What is at BEFORE, NIC id, AFTER below <devices>. */
static xmlNode *find_of(xmlDoc *document, const char *before, uint8_t nic_id, const char *after)
{
    char expression[128];
    snprintf(expression, sizeof expression, "/domain/devices/%s%u%s", before, nic_id, after);
    return find(document, expression);
}

#define VF "hostdev[alias/@name='ua-oneib-"
#define DUMMY "interface[alias/@name='ua-oneib-dummy-"

static void revert_interface(xmlDoc *document, const struct oneib_domain_nic *nic)
{
    take_away(find_of(document, VF, nic->nic_id, "']"));
    xmlNode *mac = find_of(document, DUMMY, nic->nic_id, "']/mac");
    assert_non_null(mac);
    xmlSetProp(mac, (const xmlChar *)"address", (const xmlChar *)nic->mac);
    take_away(find_of(document, DUMMY, nic->nic_id, "']/link"));
    take_away(find_of(document, DUMMY, nic->nic_id, "']/alias"));
}

/* oned writes managed='yes', and a guest address. */
static void revert_hostdev(xmlDoc *document, const struct oneib_domain_nic *nic)
{
    take_away(find_of(document, DUMMY, nic->nic_id, "']"));
    xmlNode *hostdev = find_of(document, VF, nic->nic_id, "']");
    assert_non_null(hostdev);
    xmlSetProp(hostdev, (const xmlChar *)"managed", (const xmlChar *)"yes");
    take_away(find_of(document, VF, nic->nic_id, "']/alias"));
}

char *canonical_without(const char *xml, size_t length, const struct oneib_domain_nic *nics,
                        size_t count)
{
    xmlDoc *document = parse(xml, length);
    for (size_t i = 0; i < count; i++)
        if (nics[i].is_pci)
            revert_hostdev(document, &nics[i]);
        else
            revert_interface(document, &nics[i]);
    char *text = canonical_of(document);
    xmlFreeDoc(document);
    return text;
}
