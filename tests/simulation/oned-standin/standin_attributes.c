// SPDX-License-Identifier: Apache-2.0
#include "standin_attributes.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where name is, or would have to be inserted. */
static size_t position_of(const struct standin_attributes *attributes, const char *name)
{
    size_t position = 0;
    while (position < attributes->count && strcmp(attributes->items[position].name, name) < 0)
        position++;
    return position;
}

static bool is_at(const struct standin_attributes *attributes, size_t position, const char *name)
{
    return position < attributes->count && strcmp(attributes->items[position].name, name) == 0;
}

static void insert_at(struct standin_attributes *attributes, size_t position, const char *name,
                      const char *value)
{
    oneib_autofree char *own_name = oneib_strdup(name);
    oneib_autofree char *own_value = oneib_strdup(value);
    ONEIB_RESERVE(attributes->items, attributes->capacity, attributes->count + 1);
    memmove(attributes->items + position + 1, attributes->items + position,
            (attributes->count - position) * sizeof *attributes->items);
    attributes->items[position] = (struct standin_attribute){.name = oneib_steal(&own_name),
                                                             .value = oneib_steal(&own_value)};
    attributes->count++;
}

void standin_attributes_set(struct standin_attributes *attributes, const char *name,
                            const char *value)
{
    size_t position = position_of(attributes, name);
    if (!is_at(attributes, position, name)) {
        insert_at(attributes, position, name, value);
        return;
    }
    char *own_value = oneib_strdup(value);
    free(attributes->items[position].value);
    attributes->items[position].value = own_value;
}

void standin_attributes_printf(struct standin_attributes *attributes, const char *name,
                               const char *format, ...)
{
    oneib_autotext struct oneib_text value = {0};
    va_list arguments;
    va_start(arguments, format);
    oneib_text_vprintf(&value, format, arguments);
    va_end(arguments);
    standin_attributes_set(attributes, name, value.data);
}

const char *standin_attributes_get(const struct standin_attributes *attributes, const char *name)
{
    size_t position = position_of(attributes, name);
    return is_at(attributes, position, name) ? attributes->items[position].value : "";
}

void standin_attributes_remove(struct standin_attributes *attributes, const char *name)
{
    size_t position = position_of(attributes, name);
    if (!is_at(attributes, position, name))
        return;
    free(attributes->items[position].name);
    free(attributes->items[position].value);
    attributes->count--;
    memmove(attributes->items + position, attributes->items + position + 1,
            (attributes->count - position) * sizeof *attributes->items);
}

void standin_attributes_merge(struct standin_attributes *attributes,
                              const struct standin_attributes *more)
{
    for (size_t i = 0; i < more->count; i++)
        standin_attributes_set(attributes, more->items[i].name, more->items[i].value);
}

static int parse_error(struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_INPUT,
                      "Parse error: syntax error, unexpected $end, expecting EQUAL at line 1, "
                      "columns 1:1");
}

static bool is_name(const char *name)
{
    if (!*name)
        return false;
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_')
            return false;
    return true;
}

/* Cuts the quotes off a quoted value. False when the closing quote is missing. */
static bool unquote(char **value)
{
    if (**value != '"')
        return true;
    size_t length = strlen(*value);
    if (length < 2 || (*value)[length - 1] != '"')
        return false;
    (*value)[length - 1] = '\0';
    (*value)++;
    return true;
}

static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text;
}

static int parse_line(struct standin_attributes *attributes, char *line, struct oneib_error *err)
{
    line = trim(line);
    if (!*line)
        return 0;
    char *equal = strchr(line, '=');
    if (!equal)
        return parse_error(err);
    *equal = '\0';
    char *name = trim(line);
    char *value = trim(equal + 1);
    if (!is_name(name) || !unquote(&value))
        return parse_error(err);
    for (char *c = name; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    standin_attributes_set(attributes, name, value);
    return 0;
}

static int parse_lines(struct standin_attributes *attributes, char *text, struct oneib_error *err)
{
    char *next = text;
    while (next) {
        char *line = strsep(&next, "\n");
        if (parse_line(attributes, line, err) < 0)
            return -1;
    }
    return 0;
}

int standin_attributes_parse(struct standin_attributes *attributes, const char *text,
                             struct oneib_error *err)
{
    oneib_autofree char *copy = oneib_strdup(text);
    struct standin_attributes parsed = {0};
    int result = parse_lines(&parsed, copy, err);
    if (result == 0)
        standin_attributes_merge(attributes, &parsed);
    standin_attributes_clear(&parsed);
    return result;
}

/* The first comma that is not quoted, or the end. */
static size_t length_of_field(const char *text, size_t length)
{
    bool quoted = false;
    size_t i = 0;
    for (; i < length && (quoted || text[i] != ','); i++)
        quoted = quoted != (text[i] == '"');
    return i;
}

int standin_attributes_parse_vector(struct standin_attributes *attributes, const char *text,
                                    size_t length, struct oneib_error *err)
{
    for (size_t start = 0; start < length;) {
        const size_t field = length_of_field(text + start, length - start);
        oneib_autofree char *line = oneib_strndup(text + start, field);
        if (parse_line(attributes, line, err) < 0)
            return -1;
        start += field + 1;
    }
    return 0;
}

void standin_attributes_render(const struct standin_attributes *attributes, struct oneib_text *text)
{
    for (size_t i = 0; i < attributes->count; i++)
        oneib_text_printf(text, "<%s><![CDATA[%s]]></%s>", attributes->items[i].name,
                          attributes->items[i].value, attributes->items[i].name);
}

void standin_attributes_clear(struct standin_attributes *attributes)
{
    for (size_t i = 0; i < attributes->count; i++) {
        free(attributes->items[i].name);
        free(attributes->items[i].value);
    }
    free(attributes->items);
    *attributes = (struct standin_attributes){0};
}
