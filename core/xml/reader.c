// SPDX-License-Identifier: Apache-2.0
#include "xml/reader.h"
#include "base/memory.h"
#include "base/text.h"
#include "xml/shorten.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* oned's documents are five levels deep; templates add none. */
#define DEPTH_MAX 64
#define TEXT_OF(number) #number
#define TOO_DEEP(max) "is more than " TEXT_OF(max) " elements deep"

/* Room for the values of one object: the longest, a list of static members, is 64 KiB. */
#define STORE_SIZE (96 * 1024)

struct oneib_reader {
    xmlTextReaderPtr xml;
    struct oneib_text shortened; /* the document that is read, when it is not the caller's */
    const xmlChar
        *names[ONEIB_NAME_COUNT]; /* libxml2's own copies: equal names are equal pointers */
    const xmlChar *guarded;       /* oneib_reader_guard(); NULL: nothing */
    int guarded_depth;
    int misplaced_depth; /* the last element was the guarded one in a wrong place; 0: it was not */
    bool is_malformed;
    size_t used; /* of store */
    char store[STORE_SIZE];
};

static const char *const NAMES[] = {
#define X(name) #name,
    ONEIB_READER_NAMES(X)
#undef X
};

bool oneib_value_is_set(const struct oneib_value *value)
{
    return value->state == ONEIB_VALUE_TEXT && value->length > 0;
}

bool oneib_value_is_empty(const struct oneib_value *value)
{
    return value->state == ONEIB_VALUE_ABSENT ||
           (value->state == ONEIB_VALUE_TEXT && value->length == 0);
}

bool oneib_value_equals(const struct oneib_value *value, const char *string)
{
    return value->state == ONEIB_VALUE_TEXT && strcasecmp(value->text, string) == 0;
}

/* "<" and a letter, perhaps after blanks: then libxml2 itself refuses a document type further on.
 */
static bool begins_with_root(const char *xml, size_t length)
{
    size_t at = 0;
    while (at < length && memchr(" \t\r\n", xml[at], 4))
        at++;
    if (length - at < 2 || xml[at] != '<')
        return false;
    char first = xml[at + 1];
    return (first >= 'A' && first <= 'Z') || (first >= 'a' && first <= 'z') || first == '_';
}

static const xmlChar *intern(struct oneib_reader *reader, const char *name)
{
    const xmlChar *own = xmlTextReaderConstString(reader->xml, (const xmlChar *)name);
    if (!own)
        oneib_out_of_memory();
    return own;
}

static int check_document(const char *xml, size_t length, struct oneib_error *err)
{
    if (length > INT_MAX)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "document of %zu bytes: too long", length);
    if (!begins_with_root(xml, length))
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "document does not begin with an element");
    return 0;
}

/* What is wrong comes back as the outcome of a step; without this libxml2 prints some of it. */
static void ignore_message(void *context, const char *message, xmlParserSeverities severity,
                           xmlTextReaderLocatorPtr locator)
{
    (void)context;
    (void)message;
    (void)severity;
    (void)locator;
}

static void start(struct oneib_reader *reader, const char *xml, size_t length)
{
    struct oneib_text *shortened = &reader->shortened;
    oneib_shorten_sections(xml, length, shortened);
    if (shortened->data) {
        xml = shortened->data;
        length = shortened->length;
    }
    reader->xml =
        oneib_allocated(xmlReaderForMemory(xml, (int)length, NULL, NULL, ONEIB_READER_OPTIONS));
    for (size_t i = 0; i < ONEIB_NAME_COUNT; i++)
        reader->names[i] = intern(reader, NAMES[i]);
    xmlTextReaderSetErrorHandler(reader->xml, ignore_message, NULL);
}

struct oneib_reader *oneib_reader_open(const char *xml, size_t length, struct oneib_error *err)
{
    if (check_document(xml, length, err) < 0)
        return NULL;

    struct oneib_reader *reader = oneib_alloc(1, sizeof *reader);
    start(reader, xml, length);
    return reader;
}

void oneib_reader_close(struct oneib_reader *reader)
{
    if (!reader)
        return;
    xmlFreeTextReader(reader->xml);
    oneib_text_clear(&reader->shortened);
    free(reader);
}

bool oneib_reader_is_malformed(const struct oneib_reader *reader)
{
    return reader->is_malformed;
}

int oneib_reader_refuse(struct oneib_reader *reader, const char *why, struct oneib_error *err)
{
    reader->is_malformed = true;
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "document %s, near line %d column %d", why,
                      xmlTextReaderGetParserLineNumber(reader->xml),
                      xmlTextReaderGetParserColumnNumber(reader->xml));
}

/* Lack of memory is among it: libxml2 says XML_ERR_NO_MEMORY of a text that is too long, too, and no
 * document may end the process. */
static int malformed(struct oneib_reader *reader, struct oneib_error *err)
{
    return oneib_reader_refuse(reader, "is not well-formed XML, or was cut off", err);
}

void oneib_reader_guard(struct oneib_reader *reader, enum oneib_name name, int depth)
{
    reader->guarded = reader->names[name];
    reader->guarded_depth = depth;
}

/* At an element's beginning, and at its end, where it does no harm: no child follows there. */
static int check_element(struct oneib_reader *reader, const xmlChar *name, int depth,
                         struct oneib_error *err)
{
    if (reader->misplaced_depth > 0 && depth == reader->misplaced_depth + 1 &&
        xmlStrEqual(name, reader->names[ONEIB_NAME_ID]))
        return oneib_reader_refuse(reader, "has an object inside of another", err);
    reader->misplaced_depth =
        depth != reader->guarded_depth && reader->guarded && xmlStrEqual(name, reader->guarded)
            ? depth
            : 0;
    return 1;
}

/* For every node there is: looks at libxml2's own, which is cheaper than asking for its parts. */
static int check_node(struct oneib_reader *reader, struct oneib_error *err)
{
    const xmlNode *node = xmlTextReaderCurrentNode(reader->xml);
    const int depth = xmlTextReaderDepth(reader->xml);
    if (depth > DEPTH_MAX)
        return oneib_reader_refuse(reader, TOO_DEEP(DEPTH_MAX), err);
    switch (node->type) {
    case XML_ELEMENT_NODE:
        return check_element(reader, node->name, depth, err);
    case XML_COMMENT_NODE:
    case XML_PI_NODE:
        return oneib_reader_refuse(reader, "has a comment or processing instruction", err);
    default:
        return 1;
    }
}

/* To the next node. 1: there is one, 0: the document ended, -1: it is malformed. */
static int step(struct oneib_reader *reader, struct oneib_error *err)
{
    int outcome = xmlTextReaderRead(reader->xml);
    if (outcome < 0)
        return malformed(reader, err);
    return outcome > 0 ? check_node(reader, err) : 0;
}

int oneib_reader_root(struct oneib_reader *reader, struct oneib_error *err)
{
    int outcome = step(reader, err);
    if (outcome == 0)
        return malformed(reader, err);
    return outcome < 0 ? -1 : 0;
}

int oneib_reader_finish(struct oneib_reader *reader, struct oneib_error *err)
{
    int outcome;
    do
        outcome = step(reader, err);
    while (outcome > 0);
    return outcome;
}

bool oneib_reader_at(const struct oneib_reader *reader, enum oneib_name name)
{
    return xmlTextReaderConstName(reader->xml) == reader->names[name];
}

const char *oneib_reader_name(const struct oneib_reader *reader)
{
    return (const char *)xmlTextReaderConstName(reader->xml);
}

struct oneib_element oneib_reader_enter(struct oneib_reader *reader)
{
    return (struct oneib_element){.depth = xmlTextReaderDepth(reader->xml),
                                  .ended = xmlTextReaderIsEmptyElement(reader->xml) == 1};
}

int oneib_reader_child(struct oneib_reader *reader, struct oneib_element *parent,
                       struct oneib_error *err)
{
    while (!parent->ended) {
        int outcome = step(reader, err);
        if (outcome < 0)
            return -1;
        if (outcome == 0)
            return malformed(reader, err);
        int depth = xmlTextReaderDepth(reader->xml);
        if (depth <= parent->depth)
            parent->ended = true;
        else if (depth == parent->depth + 1 &&
                 xmlTextReaderNodeType(reader->xml) == XML_READER_TYPE_ELEMENT)
            return 1;
    }
    return 0;
}

/* Adds a piece of text to a value: libxml2 hands out long ones in several. */
static void append(struct oneib_reader *reader, size_t begin, size_t max, struct oneib_value *value)
{
    const char *piece = (const char *)xmlTextReaderConstValue(reader->xml);
    size_t length = piece ? strlen(piece) : 0;
    size_t room = max - value->length;
    if (room > STORE_SIZE - 1 - begin - value->length)
        room = STORE_SIZE - 1 - begin - value->length;
    if (length > room) {
        value->state = ONEIB_VALUE_TOO_LONG;
        length = room;
    }
    if (length > 0)
        memcpy(reader->store + begin + value->length, piece, length);
    value->length += length;
}

static bool is_text(int type)
{
    return type == XML_READER_TYPE_TEXT || type == XML_READER_TYPE_CDATA ||
           type == XML_READER_TYPE_WHITESPACE || type == XML_READER_TYPE_SIGNIFICANT_WHITESPACE;
}

/* Reads on to the end of `element` and collects the text directly in it. */
static int collect(struct oneib_reader *reader, struct oneib_element *element, size_t begin,
                   size_t max, struct oneib_value *value, struct oneib_error *err)
{
    while (!element->ended) {
        int outcome = step(reader, err);
        if (outcome < 0)
            return -1;
        if (outcome == 0)
            return malformed(reader, err);
        int type = xmlTextReaderNodeType(reader->xml);
        if (xmlTextReaderDepth(reader->xml) <= element->depth)
            element->ended = true;
        else if (type == XML_READER_TYPE_ELEMENT)
            value->state = ONEIB_VALUE_NESTED;
        else if (is_text(type) && value->state == ONEIB_VALUE_TEXT)
            append(reader, begin, max, value);
    }
    return 0;
}

int oneib_reader_value(struct oneib_reader *reader, size_t max, struct oneib_value *value,
                       struct oneib_error *err)
{
    if (value->state != ONEIB_VALUE_ABSENT) {
        value->state = ONEIB_VALUE_REPEATED;
        return 0;
    }

    size_t begin = reader->used;
    struct oneib_element element = oneib_reader_enter(reader);
    *value = (struct oneib_value){.state = ONEIB_VALUE_TEXT, .text = reader->store + begin};
    if (begin == STORE_SIZE) {
        *value = (struct oneib_value){.state = ONEIB_VALUE_TOO_LONG, .text = ""};
        return 0;
    }
    if (collect(reader, &element, begin, max, value, err) < 0)
        return -1;
    reader->store[begin + value->length] = '\0';
    reader->used = begin + value->length + 1;
    return 0;
}

int oneib_reader_fields(struct oneib_reader *reader, const struct oneib_field *fields, size_t count,
                        struct oneib_value *values, struct oneib_error *err)
{
    memset(values, 0, count * sizeof *values);
    struct oneib_element element = oneib_reader_enter(reader);
    int outcome;
    while ((outcome = oneib_reader_child(reader, &element, err)) > 0) {
        const xmlChar *name = xmlTextReaderConstName(reader->xml);
        size_t i = 0;
        while (i < count && name != reader->names[fields[i].name])
            i++;
        if (i < count && oneib_reader_value(reader, fields[i].max, &values[i], err) < 0)
            return -1;
    }
    return outcome;
}

size_t oneib_reader_mark(const struct oneib_reader *reader)
{
    return reader->used;
}

void oneib_reader_forget(struct oneib_reader *reader, size_t mark)
{
    reader->used = mark;
}
