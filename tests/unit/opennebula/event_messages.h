// SPDX-License-Identifier: Apache-2.0
/* Messages of oned's event stream, made by hand, for the tests of core/opennebula/events*.c. */
#ifndef ONEIB_TEST_OPENNEBULA_EVENT_MESSAGES_H
#define ONEIB_TEST_OPENNEBULA_EVENT_MESSAGES_H

#include "../../base64.h"
#include "base/text.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

/* The base64 of xml, NUL terminated; the caller frees it. */
static inline char *encoded_n(const char *xml, size_t length)
{
    char *text = malloc(base64_length(length) + 1);
    assert_non_null(text);
    base64_encode(xml, length, text);
    text[base64_length(length)] = '\0';
    return text;
}

static inline char *encoded(const char *xml)
{
    return encoded_n(xml, strlen(xml));
}

/* A call's document: `id` is its second parameter of that type. */
static inline char *call_document(const char *type, const char *id)
{
    struct oneib_text text = {0};
    oneib_text_printf(
        &text,
        "<HOOK_MESSAGE><HOOK_TYPE>API</HOOK_TYPE><CALL>one.vn.update</CALL><CALL_INFO>"
        "<RESULT>1</RESULT><PARAMETERS>"
        "<PARAMETER><POSITION>1</POSITION><TYPE>IN</TYPE><VALUE>****</VALUE></PARAMETER>"
        "<PARAMETER><POSITION>2</POSITION><TYPE>%s</TYPE><VALUE>%s</VALUE></PARAMETER>"
        "<PARAMETER><POSITION>1</POSITION><TYPE>OUT</TYPE><VALUE>true</VALUE></PARAMETER>"
        "<PARAMETER><POSITION>3</POSITION><TYPE>%s</TYPE><VALUE>77</VALUE></PARAMETER>"
        "</PARAMETERS><EXTRA></EXTRA></CALL_INFO></HOOK_MESSAGE>",
        type, id, type);
    return text.data;
}

static inline char *call_payload(const char *type, const char *id)
{
    char *xml = call_document(type, id);
    char *payload = encoded(xml);
    free(xml);
    return payload;
}

#endif
