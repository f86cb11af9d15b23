// SPDX-License-Identifier: Apache-2.0
#include "domain/xml_tree.h"
#include "base/memory.h"
#include "base/number.h"
#include "domain/document.h"
#include <libxml/parser.h>
#include <libxml/xmlsave.h>
#include <string.h>

#define OPTIONS (XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING)

/* ---- parsing --------------------------------------------------------------------------------- */

/* libxml2 calls this at the beginning of a document type, before anything in it is declared. */
static void refuse_document_type(void *context, const xmlChar *name, const xmlChar *external_id,
                                 const xmlChar *system_id)
{
    (void)name;
    (void)external_id;
    (void)system_id;
    xmlParserCtxt *parser = context;
    bool *has_document_type = parser->_private;
    *has_document_type = true;
    xmlStopParser(parser);
}

static int fail_parsing(const xmlParserCtxt *parser, struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_INPUT, "the domain's document is malformed near line %d",
                      parser->lastError.line);
}

static int parse_with(xmlParserCtxt *parser, const char *xml, size_t length, xmlDoc **document,
                      struct oneib_error *err)
{
    bool has_document_type = false;
    parser->_private = &has_document_type;
    parser->sax->internalSubset = refuse_document_type;
    *document = xmlCtxtReadMemory(parser, xml, (int)length, NULL, "UTF-8", OPTIONS);
    if (has_document_type)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "the domain's document has a document type");
    /* Without memory libxml2 stops, and may return what it has as if that were all. That it was memory
     * nothing says: XML_ERR_NO_MEMORY is also what a text is refused with that is too long. */
    return *document && !parser->disableSAX ? 0 : fail_parsing(parser, err);
}

/* What was read before an error may be there all the same; it is the caller's to free. */
static int parse(const char *xml, size_t length, xmlDoc **document, struct oneib_error *err)
{
    xmlParserCtxt *parser = oneib_allocated(xmlNewParserCtxt());
    const int status = parse_with(parser, xml, length, document, err);
    xmlFreeParserCtxt(parser);
    if (status < 0 || oneib_tree_is(xmlDocGetRootElement(*document), "domain"))
        return status;
    return oneib_fail(err, ONEIB_ERROR_INPUT, "the domain's document is not a <domain>");
}

int oneib_tree_parse(const char *xml, size_t length, xmlDoc **document, struct oneib_error *err)
{
    *document = NULL;
    if (length > ONEIB_DOMAIN_DOCUMENT_MAX)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "the domain's document is larger than %zu MiB",
                          ONEIB_DOMAIN_DOCUMENT_MAX / (1024 * 1024));
    if (parse(xml, length, document, err) == 0)
        return 0;
    xmlFreeDoc(*document);
    *document = NULL;
    return -1;
}

void oneib_tree_free(xmlDoc *const *document)
{
    xmlFreeDoc(*document);
}

/* ---- looking --------------------------------------------------------------------------------- */

bool oneib_tree_is(const xmlNode *node, const char *name)
{
    return node && node->type == XML_ELEMENT_NODE && !node->ns &&
           strcmp((const char *)node->name, name) == 0;
}

static xmlNode *first_from(xmlNode *node, const char *name)
{
    while (node && !oneib_tree_is(node, name))
        node = node->next;
    return node;
}

xmlNode *oneib_tree_child(const xmlNode *parent, const char *name)
{
    return parent ? first_from(parent->children, name) : NULL;
}

xmlNode *oneib_tree_next(const xmlNode *node, const char *name)
{
    return first_from(node->next, name);
}

size_t oneib_tree_count(const xmlNode *parent, const char *name)
{
    size_t count = 0;
    for (const xmlNode *child = oneib_tree_child(parent, name); child;
         child = oneib_tree_next(child, name))
        count++;
    return count;
}

/* Without entities the value of an attribute is one piece of text, or nothing. */
const char *oneib_tree_attribute(const xmlNode *node, const char *name)
{
    for (const xmlAttr *attribute = node ? node->properties : NULL; attribute;
         attribute = attribute->next)
        if (!attribute->ns && strcmp((const char *)attribute->name, name) == 0)
            return attribute->children ? (const char *)attribute->children->content : "";
    return NULL;
}

bool oneib_tree_has(const xmlNode *node, const char *attribute, const char *value)
{
    const char *found = oneib_tree_attribute(node, attribute);
    return found && strcmp(found, value) == 0;
}

char *oneib_tree_text(const xmlNode *node)
{
    xmlChar *content = oneib_allocated(xmlNodeGetContent(node));
    char *text = oneib_strdup((const char *)content);
    xmlFree(content);
    return text;
}

static bool parse_octal(const char *digits, uint64_t max, uint64_t *number)
{
    uint64_t value = 0;
    if (*digits == '\0' || strlen(digits) > 20)
        return false;
    for (; *digits >= '0' && *digits <= '7'; digits++)
        value = value << 3 | (uint64_t)(*digits - '0');
    if (*digits != '\0' || value > max)
        return false;
    *number = value;
    return true;
}

/* As libvirt reads numbers in addresses: decimal, "0x..." or octal "0...", but no blanks or signs. */
static bool parse_number(const char *string, uint64_t max, uint64_t *number)
{
    return oneib_parse_decimal(string, max, number) ||
           (string && (oneib_parse_hex_n(string, strlen(string), max, number) ||
                       (string[0] == '0' && parse_octal(string + 1, max, number))));
}

static bool read_number(const xmlNode *node, const char *attribute, uint64_t max, uint64_t *number)
{
    const char *value = oneib_tree_attribute(node, attribute);
    *number = 0;
    return !value || parse_number(value, max, number);
}

bool oneib_tree_pci(const xmlNode *address, struct oneib_pci *pci)
{
    uint64_t domain, bus, slot, function;
    if (!read_number(address, "domain", UINT32_MAX, &domain) ||
        !read_number(address, "bus", UINT8_MAX, &bus) || !read_number(address, "slot", 31, &slot) ||
        !read_number(address, "function", 7, &function))
        return false;
    *pci = (struct oneib_pci){(uint32_t)domain, (uint8_t)bus, (uint8_t)slot, (uint8_t)function};
    return true;
}

static bool has_plain_attributes(const xmlNode *node)
{
    for (const xmlAttr *attribute = node->properties; attribute; attribute = attribute->next)
        if (attribute->ns)
            return false;
    return true;
}

bool oneib_tree_is_plain(const xmlNode *node)
{
    if (node->type != XML_ELEMENT_NODE)
        return true;
    if (node->ns || !has_plain_attributes(node))
        return false;
    for (const xmlNode *child = node->children; child; child = child->next)
        if (!oneib_tree_is_plain(child))
            return false;
    return true;
}

/* ---- writing --------------------------------------------------------------------------------- */

xmlNode *oneib_tree_add(xmlNode *parent, const char *name)
{
    return oneib_allocated(xmlNewChild(parent, NULL, (const xmlChar *)name, NULL));
}

xmlNode *oneib_tree_have(xmlNode *parent, const char *name)
{
    xmlNode *child = oneib_tree_child(parent, name);
    return child ? child : oneib_tree_add(parent, name);
}

void oneib_tree_remove(xmlNode *node)
{
    xmlUnlinkNode(node);
    xmlFreeNode(node);
}

void oneib_tree_set(xmlNode *node, const char *attribute, const char *value)
{
    oneib_allocated(xmlSetProp(node, (const xmlChar *)attribute, (const xmlChar *)value));
}

/* The length of the comment, CDATA section or processing instruction that begins here, where quotes
 * are text; 0: none does. */
static size_t literal_length(const char *xml)
{
    static const char *const ends[][2] = {{"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<?", "?>"}};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (strncmp(xml, ends[i][0], strlen(ends[i][0])) != 0)
            continue;
        const char *end = strstr(xml + strlen(ends[i][0]), ends[i][1]);
        return end ? (size_t)(end - xml) + strlen(ends[i][1]) : strlen(xml);
    }
    return 0;
}

/* The value that begins here, with its quotes; in single ones if it has none itself. Returns how
 * much of xml it was. */
static size_t append_value(struct oneib_text *text, const char *xml)
{
    const char own[] = {*xml, '\0'};
    const size_t length = strcspn(xml + 1, own);
    const char *quote = memchr(xml + 1, '\'', length) ? "\"" : "'";
    oneib_text_append(text, quote);
    oneib_text_append_bytes(text, xml + 1, length);
    oneib_text_append(text, quote);
    return length + (xml[1 + length] == *own ? 2 : 1);
}

/*
 * libxml2 writes attributes in double quotes, but for a namespace that has one. oned and libvirt write them in single ones, and
 * OpenNebula's action deploy goes by that: it looks for the disks' links as text.
 */
static void append_single_quoted(struct oneib_text *text, const char *xml)
{
    bool is_in_tag = false;
    while (*xml != '\0') {
        size_t length = strcspn(xml, is_in_tag ? "\"'>" : "<");
        if (length == 0 && (*xml == '"' || *xml == '\'')) {
            xml += append_value(text, xml);
            continue;
        }
        if (length == 0 && (*xml == '>' || (length = literal_length(xml)) == 0)) {
            is_in_tag = *xml == '<';
            length = 1;
        }
        oneib_text_append_bytes(text, xml, length);
        xml += length;
    }
}

/* A document can be taken for a node: all begin alike (libxml/tree.h). */
static int render(xmlNode *node, struct oneib_text *text, struct oneib_error *err)
{
    xmlBuffer *buffer = oneib_allocated(xmlBufferCreate());
    xmlSaveCtxt *save =
        oneib_allocated(xmlSaveToBuffer(buffer, "UTF-8", XML_SAVE_NO_DECL | XML_SAVE_AS_XML));
    const bool is_written = xmlSaveTree(save, node) >= 0;
    const bool is_saved = xmlSaveClose(save) >= 0 && is_written;
    if (is_saved)
        append_single_quoted(text, (const char *)xmlBufferContent(buffer));
    xmlBufferFree(buffer);
    return is_saved ? 0
                    : oneib_fail(err, ONEIB_ERROR_INPUT, "the domain's document cannot be written");
}

int oneib_tree_render(xmlDoc *document, struct oneib_text *text, struct oneib_error *err)
{
    return render((xmlNode *)document, text, err);
}

int oneib_tree_render_element(xmlNode *element, struct oneib_text *text, struct oneib_error *err)
{
    return render(element, text, err);
}
