// SPDX-License-Identifier: Apache-2.0
/* Virtual ports, asked on the fabric: fabric.virtual_ports. */
#ifndef ONEIB_ONEIB_VPORTS_H
#define ONEIB_ONEIB_VPORTS_H

#include "oneib/command_look.h"
#include "partitions/virtual_ports.h"

struct oneib_vports {
    bool was_tried;
    struct oneib_vport_result result; /* of what was tried */
};

/* Where it is to be tried: reads them, and puts those that can be believed into the view's subnet,
 * so that whatever compares that compares them too. What cannot be believed is a finding. */
int oneib_vports_look(struct oneib_looked *looked, struct oneib_vports *vports,
                      struct oneib_error *err);
/* "virtual ports: ..." with a newline; nothing when it was not tried. */
void oneib_vports_append(const struct oneib_vports *vports, struct oneib_text *text);
/* {proven, why, adapters, believed, read}; null when it was not tried. */
json_t *oneib_vports_json(const struct oneib_vports *vports);

#endif
