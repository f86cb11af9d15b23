// SPDX-License-Identifier: Apache-2.0
/*
 * oneib's mark in a domain's document, <oneib:tuning> in its <metadata>: which parts of the tuning
 * are oneib's. Private to core/domain.
 */
#ifndef ONEIB_DOMAIN_TUNING_INTERNAL_H
#define ONEIB_DOMAIN_TUNING_INTERNAL_H

#include <libxml/tree.h>
#include <stdbool.h>

#define ONEIB_TUNING_MARK "tuning"
#define ONEIB_TUNING_PREFIX "oneib"

/* Each is an attribute of the mark, "yes" where it holds. */
enum oneib_tuning_part {
    ONEIB_TUNING_PINS,     /* all <vcpupin> */
    ONEIB_TUNING_EMULATOR, /* <emulatorpin> */
    ONEIB_TUNING_MEMORY,   /* <memory> of <numatune> */
    ONEIB_TUNING_PAGES,    /* <hugepages> */
    ONEIB_TUNING_LOCKED,   /* <locked> */
    ONEIB_TUNING_PARTS
};

/* Where each part is: <PARENT><CHILD/></PARENT>, below <domain>. */
struct oneib_tuning_place {
    const char *attribute, *parent, *child;
};
extern const struct oneib_tuning_place oneib_tuning_places[ONEIB_TUNING_PARTS];

struct oneib_tuning_mark {
    bool is_there;
    bool has[ONEIB_TUNING_PARTS];
};

bool oneib_tuning_is_mark(const xmlNode *node);
struct oneib_tuning_mark oneib_tuning_mark_read(const xmlNode *domain);

/* Any <domain> / <parent> / <child>, of whomever. libvirt, too, looks into each of several parents.
 */
bool oneib_tuning_has(const xmlNode *domain, const char *parent, const char *child);

#endif
