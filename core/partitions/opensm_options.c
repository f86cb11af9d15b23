// SPDX-License-Identifier: Apache-2.0
#include "partitions/opensm_options.h"
#include <ctype.h>
#include <string.h>

#define LINE_MAX_SIZE 1022 /* opensm's fgets(line, 1023, file) */

/* Without blanks around it and, inside of them, quotes. */
static char *trim(char *value)
{
    while (isspace((unsigned char)*value))
        value++;
    size_t length = strlen(value);
    while (length > 0 && isspace((unsigned char)value[length - 1]))
        value[--length] = '\0';
    if (length >= 2 && (value[0] == '"' || value[0] == '\'') && value[length - 1] == value[0]) {
        value[length - 1] = '\0';
        value++;
    }
    return value;
}

static void take_line(char *line, oneib_opensm_option take, void *context)
{
    char *rest = NULL;
    line[strcspn(line, "#")] = '\0';
    const char *name = strtok_r(line, " \t\n", &rest);
    if (name)
        take(context, name, trim(rest));
}

void oneib_opensm_options_read(const char *text, size_t length, oneib_opensm_option take,
                               void *context)
{
    char line[LINE_MAX_SIZE + 1];
    for (size_t begin = 0; begin < length;) {
        const size_t left = length - begin;
        const char *end = memchr(text + begin, '\n', left);
        size_t size = end ? (size_t)(end - (text + begin)) + 1 : left;
        if (size > LINE_MAX_SIZE)
            size = LINE_MAX_SIZE;
        memcpy(line, text + begin, size);
        line[size] = '\0';
        take_line(line, take, context);
        begin += size;
    }
    explicit_bzero(line, sizeof line);
}
