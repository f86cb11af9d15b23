// SPDX-License-Identifier: Apache-2.0
/* Pins and metadata, as libvirt writes them into a running domain's document. */
#include "base/text.h"
#include "live_standin_store.h"
#include <libxml/parser.h>
#include <stdio.h>
#include <string.h>

static xmlNode *child_of(xmlNode *parent, const char *name)
{
    for (xmlNode *child = parent->children; child; child = child->next)
        if (child->type == XML_ELEMENT_NODE && strcmp((const char *)child->name, name) == 0)
            return child;
    return NULL;
}

static xmlNode *child_or_new(xmlNode *parent, const char *name)
{
    xmlNode *child = child_of(parent, name);
    return child ? child : xmlNewChild(parent, NULL, (const xmlChar *)name, NULL);
}

/* ---- pins ------------------------------------------------------------------------------------ */

static bool has_id(const xmlNode *pin, const char *attribute, const char *id)
{
    xmlChar *value = attribute ? xmlGetNoNsProp(pin, (const xmlChar *)attribute) : NULL;
    const bool same = !attribute || (value && strcmp((const char *)value, id) == 0);
    xmlFree(value);
    return same;
}

static xmlNode *pin_of(xmlNode *cputune, const char *name, const char *attribute, const char *id)
{
    for (xmlNode *child = cputune->children; child; child = child->next)
        if (child->type == XML_ELEMENT_NODE && strcmp((const char *)child->name, name) == 0 &&
            has_id(child, attribute, id))
            return child;
    xmlNode *made = xmlNewChild(cputune, NULL, (const xmlChar *)name, NULL);
    if (attribute)
        xmlNewProp(made, (const xmlChar *)attribute, (const xmlChar *)id);
    return made;
}

int standin_pin(xmlDoc *domain, const char *name, const char *attribute, uint32_t id,
                const char *cpus, struct oneib_error *err)
{
    char text[16];
    snprintf(text, sizeof text, "%u", id);
    xmlNode *cputune = child_or_new(xmlDocGetRootElement(domain), "cputune");
    xmlSetProp(pin_of(cputune, name, attribute, text), (const xmlChar *)"cpuset",
               (const xmlChar *)cpus);
    return standin_store(domain, err);
}

/* ---- metadata -------------------------------------------------------------------------------- */

static void remove_of_namespace(xmlNode *metadata, const char *namespace)
{
    for (xmlNode *child = metadata->children; child;) {
        xmlNode *next = child->next;
        if (child->ns && strcmp((const char *)child->ns->href, namespace) == 0) {
            xmlUnlinkNode(child);
            xmlFreeNode(child);
        }
        child = next;
    }
}

int standin_set_metadata(xmlDoc *domain, const char *element, const char *prefix,
                         const char *namespace, struct oneib_error *err)
{
    xmlDoc *parsed = standin_parse(element, strlen(element), NULL, err);
    if (!parsed)
        return -1;
    xmlNode *metadata = child_or_new(xmlDocGetRootElement(domain), "metadata");
    xmlNode *copy = xmlDocCopyNode(xmlDocGetRootElement(parsed), domain, 1);
    remove_of_namespace(metadata, namespace);
    xmlSetNs(copy, xmlNewNs(copy, (const xmlChar *)namespace, (const xmlChar *)prefix));
    xmlAddChild(metadata, copy);
    xmlFreeDoc(parsed);
    return standin_store(domain, err);
}
