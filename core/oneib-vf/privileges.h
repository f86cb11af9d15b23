// SPDX-License-Identifier: Apache-2.0
/* What oneib-vf makes of what it inherits from its caller, who is not trusted, and of being root.
 */
#ifndef ONEIB_VF_PRIVILEGES_H
#define ONEIB_VF_PRIVILEGES_H

#include "base/error.h"

/*
 * The first thing in main(): leaves no descriptor but 0, 1 and 2 (which are open afterwards), no
 * environment, no ignored or blocked signals, no working folder and no umask of the caller's, no
 * dumps of memory, no way to more privileges, and as root no capability but CAP_NET_ADMIN. What a
 * terminal stops programs with is ignored.
 * REFUSED when real and effective user or group differ: oneib-vf is not a setuid program.
 */
int oneib_vf_drop_privileges(struct oneib_error *err);

/* REFUSED unless the configuration that a privileged run reads, and its folder, are root's and
 * writable for nobody else: it says which site's GUIDs are made and which VFs are the host's. */
int oneib_vf_check_config(struct oneib_error *err);

#endif
