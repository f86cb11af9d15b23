// SPDX-License-Identifier: Apache-2.0
/* `oneib-vf show`. */
#ifndef ONEIB_VF_SHOW_H
#define ONEIB_VF_SHOW_H

#include "base/error.h"
#include "base/text.h"

/* Appends the records of all VFs that are given, one a line. Anybody may. */
int oneib_vf_show(struct oneib_text *text, struct oneib_error *err);

#endif
