// SPDX-License-Identifier: Apache-2.0
/* The stand-in's documents and its directory. Private to it. */
#ifndef ONEIB_UNIT_LIVE_STANDIN_STORE_H
#define ONEIB_UNIT_LIVE_STANDIN_STORE_H

#include "base/error.h"
#include "base/text.h"
#include <libxml/tree.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STANDIN_PATH_SIZE 1024
#define STANDIN_NODE "node.xml"

/* ---- documents ------------------------------------------------------------------------------- */

/* NULL with *err set. Freed with xmlFreeDoc(). */
xmlDoc *standin_parse(const char *xml, size_t length, const char *root, struct oneib_error *err);
int standin_render(xmlDoc *document, struct oneib_text *xml, struct oneib_error *err);

/* What libvirt adds to a document of a domain that starts. */
int standin_complete(xmlDoc *domain, struct oneib_error *err);
/* Text of an element of <domain>: "name", "uuid"; freed with xmlFree(). NULL: it has none. */
xmlChar *standin_value(const xmlDoc *domain, const char *element);
bool standin_has_host_device(const xmlDoc *domain);
/* A host's device that both have, "0000:81:00.1"; false: none. */
bool standin_shared_device(const xmlDoc *one, const xmlDoc *other, char shown[32]);

/* Copies the device into the domain, with what libvirt adds; on failure that stays as it is. */
int standin_insert(xmlDoc *domain, xmlDoc *device, struct oneib_error *err);
/* NULL: it has none. */
xmlNode *standin_device_of_alias(const xmlDoc *domain, const char *alias);
xmlNode *standin_interface_of_mac(const xmlDoc *domain, const char *mac);
/* "" when it has none. */
void standin_alias_of(const xmlNode *device, char alias[64]);

/* <NAME ATTRIBUTE='id' cpuset='cpus'/> in <cputune>, in the place of one for the same; attribute
 * NULL: there is one alone. Stores it. */
int standin_pin(xmlDoc *domain, const char *name, const char *attribute, uint32_t id,
                const char *cpus, struct oneib_error *err);
/* Likewise in <metadata>. */
int standin_set_metadata(xmlDoc *domain, const char *element, const char *prefix,
                         const char *namespace, struct oneib_error *err);

/* The domain as libvirt's test driver has it. */
int standin_append_for_test_driver(const xmlDoc *domain, struct oneib_text *xml,
                                   struct oneib_error *err);

/* ---- the directory --------------------------------------------------------------------------- */

/* A path below the stand-in's directory, which is made when it is not there; "" is the directory.
 */
int standin_path(char path[STANDIN_PATH_SIZE], const char *below, struct oneib_error *err);
/* One process at a time changes anything: a lock, -1 with *err set; ends with close(). */
int standin_lock(struct oneib_error *err);

/* By name or UUID; NOT_FOUND. Freed with xmlFreeDoc(). */
int standin_load(const char *domain, xmlDoc **document, struct oneib_error *err);
/* All domains' documents, in no order. */
int standin_each(int (*each)(xmlDoc *document, void *context, struct oneib_error *err),
                 void *context, struct oneib_error *err);
/* A new or changed one; a host's device that another one has is refused. */
int standin_store(xmlDoc *document, struct oneib_error *err);
int standin_drop(const xmlDoc *document, struct oneib_error *err);
/* Writes node.xml anew. */
int standin_refresh(struct oneib_error *err);

/* "" when there is no such file; freed with free(). NULL: no memory. */
char *standin_read_file(const char *below);
int standin_append_line(const char *below, const char *line, struct oneib_error *err);

#endif
