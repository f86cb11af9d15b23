// SPDX-License-Identifier: Apache-2.0
/*
 * A domain's document as a tree of libxml2; private to core/domain. Parsed strictly: users write
 * into it.
 *
 * Elements and attributes are those in no namespace. libvirt looks for some by their local name
 * alone; where that matters, oneib_tree_is_plain() finds what it could take for one of its own.
 */
#ifndef ONEIB_DOMAIN_XML_TREE_H
#define ONEIB_DOMAIN_XML_TREE_H

#include "base/error.h"
#include "base/text.h"
#include "ib/pci.h"
#include <libxml/tree.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * *document has <domain> as its root. Nothing is fetched, and no entity is declared: INPUT when it
 * has a document type, is malformed, no <domain>, or longer than ONEIB_DOMAIN_DOCUMENT_MAX. Depth
 * and length of text are bounded by libxml2 (XML_PARSE_HUGE is not given).
 */
int oneib_tree_parse(const char *xml, size_t length, xmlDoc **document, struct oneib_error *err);
/* For cleanup; *document may be NULL. */
void oneib_tree_free(xmlDoc *const *document);
#define oneib_autotree __attribute__((cleanup(oneib_tree_free)))

/* ---- looking --------------------------------------------------------------------------------- */

bool oneib_tree_is(const xmlNode *node, const char *name);
/* The first child so called; NULL: none. parent may be NULL. */
xmlNode *oneib_tree_child(const xmlNode *parent, const char *name);
/* The next sibling so called; NULL: none. */
xmlNode *oneib_tree_next(const xmlNode *node, const char *name);
size_t oneib_tree_count(const xmlNode *parent, const char *name);

/* Borrowed until the attribute is changed; "" when it is empty; NULL: there is none. node may be
 * NULL. */
const char *oneib_tree_attribute(const xmlNode *node, const char *name);
/* There is such an attribute, with that value. */
bool oneib_tree_has(const xmlNode *node, const char *attribute, const char *value);
/* All text inside, CDATA too, owned by the caller (free()). */
char *oneib_tree_text(const xmlNode *node);

/* domain, bus, slot and function of an <address>; what is not there is 0, as in libvirt. False:
 * malformed. */
bool oneib_tree_pci(const xmlNode *address, struct oneib_pci *pci);

/* Neither the element, nor anything in it, nor an attribute there is in a namespace. */
bool oneib_tree_is_plain(const xmlNode *node);

/* ---- writing --------------------------------------------------------------------------------- */

/* A new last child; never NULL. */
xmlNode *oneib_tree_add(xmlNode *parent, const char *name);
/* The first child so called, a new one where there is none. */
xmlNode *oneib_tree_have(xmlNode *parent, const char *name);
/* With all that is in it. */
void oneib_tree_remove(xmlNode *node);
/* Sets an attribute, or changes it. The value is UTF-8. */
void oneib_tree_set(xmlNode *node, const char *attribute, const char *value);

/* As text, without a prolog. What was parsed and not changed is canonically equal: nothing is
 * reformatted. Attributes are in single quotes, as oned's are. */
int oneib_tree_render(xmlDoc *document, struct oneib_text *text, struct oneib_error *err);
int oneib_tree_render_element(xmlNode *element, struct oneib_text *text, struct oneib_error *err);

#endif
