// SPDX-License-Identifier: Apache-2.0
/* Domains as a test writes them: "running one-42 0000:81:00.1 ..." or "defined ...", one a line. */
#ifndef ONEIB_UNIT_DOMAIN_LINES_H
#define ONEIB_UNIT_DOMAIN_LINES_H

#include "domain/domains.h"
#include <stdlib.h>
#include <string.h>

static inline struct oneib_domain domain_of_line(char *line)
{
    char *rest = NULL;
    struct oneib_domain domain = {.running = strcmp(strtok_r(line, " ", &rest), "running") == 0};
    const char *name = strtok_r(NULL, " ", &rest);
    domain.name = strdup(name ? name : "");
    domain.vm_id = oneib_domain_vm_id(domain.name);
    domain.devices = calloc(strlen(rest) + 1, sizeof *domain.devices);
    for (const char *word; (word = strtok_r(NULL, " ", &rest));)
        if (!oneib_pci_parse(word, &domain.devices[domain.device_count++]))
            abort();
    return domain;
}

static inline struct oneib_domains domains_of_lines(const char *lines)
{
    char *copy = strdup(lines), *rest = NULL;
    struct oneib_domains domains = {.capacity = strlen(lines) + 1};
    domains.items = calloc(domains.capacity, sizeof *domains.items);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        domains.items[domains.count++] = domain_of_line(line);
    free(copy);
    return domains;
}

#endif
