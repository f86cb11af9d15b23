// SPDX-License-Identifier: Apache-2.0
/* Printing: what the command writes to its standard output and standard error. */
#ifndef ONEIB_ONEIB_PRINT_H
#define ONEIB_ONEIB_PRINT_H

#include "base/error.h"
#include "base/finding.h"
#include "base/text.h"
#include "command/output.h"
#include "oneib/verb.h"
#include <jansson.h>

/* Writes a text and checks that it got there. */
int oneib_write_out(const struct oneib_text *text, struct oneib_error *err);

/* One document on standard output. Takes ownership. */
int oneib_json_write(json_t *document, struct oneib_error *err);
/* {"error": {"code", "text"}} */
void oneib_json_write_error(const char *code, const char *text);

/* "oneib: TEXT" on standard error. */
void oneib_print_error(const char *text);
/* "oneib: note: ...": something about this run that is neither data nor an error. */
void oneib_print_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* On standard error: severity, text and code, the fix below. */
void oneib_print_findings(const struct oneib_run *run, const struct oneib_findings *findings);

#endif
