// SPDX-License-Identifier: Apache-2.0
/*
 * How a driver tells OpenNebula why it failed. Up to 6.10 all of standard error is the reason; from
 * 7.0 lines that begin with "ERROR:", "INFO:", "WARN:" or "DEBUG:" are taken out of it and logged
 * (mad/ruby/DriverExecHelper.rb, get_info_from_execution), and lines are joined without anything in
 * between. So the reason is one line that begins with none of those, and not with a number, which
 * may be taken for a VM's id. Pure.
 */
#ifndef ONEIB_NODE_REPORT_H
#define ONEIB_NODE_REPORT_H

#include "base/error.h"
#include "base/text.h"

/* Appends the line, with its newline. */
void oneib_report_failure(const struct oneib_error *failure, struct oneib_text *text);
/* The same for what went wrong without being a failure: it becomes a line of the VM's log. */
void oneib_report_warning(const struct oneib_error *left, struct oneib_text *text);

#endif
