// SPDX-License-Identifier: Apache-2.0
/* Apart from what plugs: `deploy` does not. */
#include "vmm/plug.h"

void oneib_plug_warn(struct oneib_text *warnings, const struct oneib_error *left)
{
    oneib_text_printf(warnings, "%s\n", left->text);
}
