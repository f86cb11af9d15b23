// SPDX-License-Identifier: Apache-2.0
/*
 * Domain documents for tests: recorded ones, made ones, and whether two say the same. What fails
 * here fails the test that called. Texts are the caller's (free()).
 */
#ifndef ONEIB_UNIT_DOCUMENTS_H
#define ONEIB_UNIT_DOCUMENTS_H

#include "domain/edit.h"
#include <stddef.h>

/* What oned sent at one deploy of the recording: "0002-vmm.kvm.deploy.vm1". */
char *recorded_deploy(const char *action);
/* All recorded ones, NULL at the end. */
extern const char *const recorded_deploys[];

/* The text with one occurrence of `from` as `to`; frees `text`. There must be exactly one. */
char *with_replaced(char *text, const char *from, const char *to);
/* A recorded document as oned writes it when the network of that MAC has no BRIDGE. */
char *without_bridge(char *text, const char *mac);

/* A small document with that machine: an Ethernet NIC, `count` interfaces for example_nic(0...),
 * and, in q35, `root_ports` root ports. */
char *made_document(const char *machine, size_t count, unsigned root_ports);
/* The NIC of that index: id index + 1, VF 0000:81:00.(index + 1)... */
struct oneib_domain_nic example_nic(unsigned index);

/* Canonical XML (C14N 1.0). */
char *canonical(const char *xml, size_t length);
/* Canonical XML of the document without what equipping it with these NICs is to have done. */
char *canonical_without(const char *xml, size_t length, const struct oneib_domain_nic *nics,
                        size_t count);

#endif
