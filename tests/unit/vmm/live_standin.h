// SPDX-License-Identifier: Apache-2.0
/*
 * A stand-in for libvirt: link `live_standin` instead of `oneib_live`, and live/live.h works on
 * files below ONEIB_NODE_ROOT, so that whole programs can be tried without a hypervisor. Without
 * a simulated node (hca/place.h) nothing can be opened.
 *
 * /var/lib/live-standin/
 *   NAME.xml       the document of each domain; all of them run
 *   node.xml       the same domains, with their PCI devices, for libvirt's test driver: with
 *                  node.libvirt = "test:///ROOT/var/lib/live-standin/node.xml" the real
 *                  oneib-domains sees them
 *   faults         what goes wrong, one a line (below)
 *   log            what was called, one a line, of all processes
 *   peers/HOST     a link to the root of another node: where `migrate` moves domains to
 *   snapshots/     their documents
 *
 * A domain gets what libvirt would give it: a UUID, one <devices>, aliases, and guest PCI addresses
 * for its interfaces and host devices (the lowest free slot of `pc`, the first free root port of
 * `q35`). Refused, with a domain left as it was: an alias, a MAC or a guest address that the domain
 * has already, a host's device that any domain has, a guest address on a bus that no controller
 * makes, no free address. A device goes at once when it is asked for.
 *
 * Saved images are documents in files, at the path that is named, which is not below the root.
 *
 * Calls of live.h are counted from 1 in each process, oneib_live_open() among them, and again from
 * 1 after live_standin_reset() and live_standin_heal(). Faults:
 *
 *   refuse-open              nobody answers at oneib_live_open()
 *   lost N                   the connection is lost at call N, which does nothing
 *   lost-amid N              a detach of several: after the first one is gone
 *   lost-after N             when call N is done, but nobody is told
 *   die N, die-amid N, die-after N   the same with SIGKILL for this process
 *   term N, term-amid N, term-after N   SIGTERM, and the call is done
 *   table-lost N             the table of VFs is gone
 *   table-next N             the table of VFs becomes the file vfs.next beside it
 *   attach-fails ALIAS       libvirt does not plug it in
 *   keeps ALIAS              the guest does not let go of it: TIMEOUT, at once
 *   slow ALIAS MS            it takes that long, without anybody waiting: when the time-out is
 *                            shorter, TIMEOUT, and the device goes before the next call
 *   rejects ALIAS            REFUSED by the guest
 *   pin-fails DOMAIN         libvirt pins no thread of it; DOMAIN as it is called: its UUID
 *   upstream ACTION fail [STATUS]   the upstream action does nothing but complain; 1
 *   upstream ACTION lose            save, migrate: it fails, and the domain is gone
 *   upstream ACTION kill-before     SIGKILL for the program that called it, before it does anything
 *   upstream ACTION kill-after      ... and after it has done all
 *
 * upstream-standin/ has OpenNebula's upstream actions for it: scripts that call the program
 * live-standin, which the environment names in LIVE_STANDIN (here, tests/unit/vmm,
 * LIVE_STANDIN_PROGRAM is its path and UPSTREAM_STANDIN the directory of the scripts). They log
 * "upstream ACTION ARGUMENTS... stdin=CKSUM", CKSUM being the first number that cksum(1) prints.
 *
 * All functions here but those that return a status end the program when they fail: a test that has
 * no stage proves nothing.
 */
#ifndef ONEIB_UNIT_LIVE_STANDIN_H
#define ONEIB_UNIT_LIVE_STANDIN_H

#include "base/error.h"
#include "base/text.h"
#include <stdbool.h>
#include <stddef.h>

/* ---- for tests ------------------------------------------------------------------------------- */

/* No domains, no faults, an empty log, calls counted from 1. After tree_reset(). */
void live_standin_reset(void);
/* Adds a fault: "keeps ua-oneib-1". */
void live_standin_fault(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* No faults any more. */
void live_standin_heal(void);
/* Calls of live.h so far. */
unsigned live_standin_calls(void);
/* The log; "" at first. Valid until the next call. */
const char *live_standin_log(void);
void live_standin_forget_log(void);
bool live_standin_runs(const char *domain);
/* Its document, without a call of live.h. Valid until the next call. NULL: it does not run. */
const char *live_standin_document(const char *domain);
/* Starts it; must work. */
void live_standin_run(const char *xml);
/* `migrate` to this host moves domains to that root. */
void live_standin_add_peer(const char *host, const char *root);
/* "test:///.../node.xml". Valid until the next call. */
const char *live_standin_uri(void);

/* ---- what the upstream actions do ------------------------------------------------------------ */

/* uuid: of the new domain, may be NULL. */
int live_standin_start(const char *xml, size_t length, struct oneib_text *uuid,
                       struct oneib_error *err);
/* shutdown and cancel. */
int live_standin_stop(const char *domain, struct oneib_error *err);
/* Refused while it has a host's device, as libvirt does. */
int live_standin_save(const char *domain, const char *path, struct oneib_error *err);
/* The file is removed. */
int live_standin_restore(const char *path, struct oneib_error *err);
/* The same as for save. */
int live_standin_migrate(const char *domain, const char *host, struct oneib_error *err);
int live_standin_snapshot(const char *domain, const char *name, struct oneib_error *err);
int live_standin_revert(const char *domain, const char *name, struct oneib_error *err);
int live_standin_plug(const char *domain, const char *device_xml, struct oneib_error *err);
/* An <interface>. */
int live_standin_unplug_mac(const char *domain, const char *mac, struct oneib_error *err);

#endif
