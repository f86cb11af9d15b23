// SPDX-License-Identifier: Apache-2.0
/*
 * Keeps one user's huge attribute from stopping everybody; for the reader alone.
 *
 * oned writes attributes as CDATA sections of whatever length a user stored. libxml2's reader takes
 * quadratic time for one long section (half a minute for 12 MB) and refuses one over 10 MB, with
 * all the VMs around it. No attribute that oneib reads is longer than ONEIB_SECTION_MAX, so the
 * rest of such a section can go.
 */
#ifndef ONEIB_XML_SHORTEN_H
#define ONEIB_XML_SHORTEN_H

#include "base/text.h"
#include <stddef.h>

#define ONEIB_SECTION_MAX ((size_t)128 * 1024)

/*
 * When the document has CDATA sections far longer than ONEIB_SECTION_MAX, *copy becomes the
 * document with each cut to that length; else *copy stays empty. Looks at few of the bytes of a
 * document that has none. From a comment or a processing instruction on nothing is cut: what it
 * hides is not known, and the reader refuses the document there.
 */
void oneib_shorten_sections(const char *xml, size_t length, struct oneib_text *copy);

#endif
