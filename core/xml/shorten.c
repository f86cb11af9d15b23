// SPDX-License-Identifier: Apache-2.0
#include "xml/shorten.h"
#include <string.h>

#define OPENING "<![CDATA["
#define CLOSING "]]>"

static const char *find(const char *bytes, size_t length, const char *what)
{
    return memmem(bytes, length, what, strlen(what));
}

/*
 * A section holds no "]]>", so one of 1.5 ONEIB_SECTION_MAX or more is a stretch without any.
 * Probing for one in the second half of each stretch of ONEIB_SECTION_MAX cannot jump over it.
 */
static bool may_have_long_section(const char *xml, size_t length)
{
    const size_t half = ONEIB_SECTION_MAX / 2;
    size_t at = 0;
    while (length - at > ONEIB_SECTION_MAX) {
        const char *closing = find(xml + at + half, half, CLOSING);
        if (!closing)
            return true;
        at = (size_t)(closing - xml) + strlen(CLOSING);
    }
    return false;
}

/* The length to keep of a section's content: not the first bytes of a UTF-8 sequence without the
 * rest. */
static size_t kept_length(const char *content, size_t length)
{
    if (length <= ONEIB_SECTION_MAX)
        return length;
    size_t kept = ONEIB_SECTION_MAX;
    while (kept > 0 && (content[kept] & 0xc0) == 0x80)
        kept--;
    return kept;
}

/* Within a comment or a processing instruction "<![CDATA[" would mean nothing. oned writes neither.
 */
static bool has_other_markup(const char *bytes, size_t length)
{
    return find(bytes, length, "<!--") || find(bytes, length, "<?");
}

static void copy_shortened(const char *xml, size_t length, struct oneib_text *copy)
{
    const char *at = xml;
    const char *const end = xml + length;
    for (;;) {
        const char *opening = find(at, (size_t)(end - at), OPENING);
        const char *content = opening ? opening + strlen(OPENING) : end;
        const char *closing = find(content, (size_t)(end - content), CLOSING);
        const size_t before = (size_t)((opening ? opening : end) - at);
        if (!closing || has_other_markup(at, before)) {
            oneib_text_append_bytes(copy, at, (size_t)(end - at));
            return;
        }
        size_t kept = kept_length(content, (size_t)(closing - content));
        oneib_text_append_bytes(copy, at, (size_t)(content - at) + kept);
        oneib_text_append(copy, CLOSING);
        at = closing + strlen(CLOSING);
    }
}

void oneib_shorten_sections(const char *xml, size_t length, struct oneib_text *copy)
{
    if (!may_have_long_section(xml, length))
        return;
    copy_shortened(xml, length, copy);
}
