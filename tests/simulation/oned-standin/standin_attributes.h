// SPDX-License-Identifier: Apache-2.0
/* OpenNebula templates: attributes sorted by name, as oned prints them, and the KEY=VALUE text they
 * are made of. */
#ifndef STANDIN_ATTRIBUTES_H
#define STANDIN_ATTRIBUTES_H

#include "base/error.h"
#include "base/text.h"
#include <stddef.h>

struct standin_attribute {
    char *name, *value; /* owned */
};

struct standin_attributes {
    struct standin_attribute *items; /* sorted by name; a name occurs once */
    size_t count, capacity;
};

void standin_attributes_set(struct standin_attributes *attributes, const char *name,
                            const char *value);
void standin_attributes_printf(struct standin_attributes *attributes, const char *name,
                               const char *format, ...) __attribute__((format(printf, 3, 4)));
/* "" when absent. */
const char *standin_attributes_get(const struct standin_attributes *attributes, const char *name);
void standin_attributes_remove(struct standin_attributes *attributes, const char *name);
/* Lines of KEY=VALUE or KEY="VALUE". Nothing is set when one of them does not parse. */
int standin_attributes_parse(struct standin_attributes *attributes, const char *text,
                             struct oneib_error *err);
void standin_attributes_merge(struct standin_attributes *attributes,
                              const struct standin_attributes *more);
/* <NAME><![CDATA[VALUE]]></NAME> for each. */
/* NAME = "VALUE", ... between the brackets of a vector. */
int standin_attributes_parse_vector(struct standin_attributes *attributes, const char *text,
                                    size_t length, struct oneib_error *err);
void standin_attributes_render(const struct standin_attributes *attributes,
                               struct oneib_text *text);
void standin_attributes_clear(struct standin_attributes *attributes);

#endif
