// SPDX-License-Identifier: Apache-2.0
/* Which elements a document of the stand-in has, to be compared with a recorded one. */
#ifndef ONEIB_TESTS_STRUCTURE_H
#define ONEIB_TESTS_STRUCTURE_H

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include <libxml/xmlreader.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

/* Names of elements in the order of their beginnings, one a line; those of `without` (NULL
 * terminated) are left out with all that is in them. */
static inline char *structure(const char *xml, const char *const *without)
{
    xmlTextReaderPtr reader =
        xmlReaderForMemory(xml, (int)strlen(xml), NULL, NULL, XML_PARSE_NONET | XML_PARSE_HUGE);
    struct oneib_text text = {0};
    int status = xmlTextReaderRead(reader);
    while (status == 1) {
        const char *name = (const char *)xmlTextReaderConstName(reader);
        bool left_out = false;
        for (size_t i = 0; without[i]; i++)
            left_out |= strcmp(name, without[i]) == 0;
        if (left_out) {
            status = xmlTextReaderNext(reader);
            continue;
        }
        if (xmlTextReaderNodeType(reader) == XML_READER_TYPE_ELEMENT)
            oneib_text_printf(&text, "%d %s\n", xmlTextReaderDepth(reader), name);
        status = xmlTextReaderRead(reader);
    }
    assert_int_equal(status, 0);
    xmlFreeTextReader(reader);
    return text.data;
}

/* A file of tests/data/opennebula-7.4. */
static inline char *recorded(const char *file)
{
    char path[512], *data = NULL;
    size_t length;
    struct oneib_error err = {0};
    snprintf(path, sizeof path, ONEIB_TEST_DATA "/opennebula-7.4/%s", file);
    if (oneib_file_read(path, (size_t)1 << 24, &data, &length, &err) < 0)
        fail_msg("%s", err.text);
    return data;
}

static inline void assert_same_structure(const char *ours, const char *file,
                                         const char *const *without)
{
    oneib_autofree char *theirs = recorded(file);
    oneib_autofree char *our_structure = structure(ours, without);
    oneib_autofree char *their_structure = structure(theirs, without);
    assert_string_equal(our_structure, their_structure);
}

#endif
