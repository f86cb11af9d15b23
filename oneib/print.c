// SPDX-License-Identifier: Apache-2.0
#include "oneib/print.h"
#include "command/json.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int oneib_write_out(const struct oneib_text *text, struct oneib_error *err)
{
    if (fwrite(text->data, 1, text->length, stdout) != text->length || fflush(stdout) != 0)
        return oneib_fail_errno(err, errno, "writing to standard output");
    return 0;
}

int oneib_json_write(json_t *document, struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    return oneib_json_render(document, &text, err) < 0 ? -1 : oneib_write_out(&text, err);
}

void oneib_json_write_error(const char *code, const char *text)
{
    struct oneib_error ignored;
    oneib_json_write(
        json_pack("{s:{s:s, s:o}}", "error", "code", code, "text", oneib_json_text(text)),
        &ignored);
}

static void print_text(const struct oneib_text *text)
{
    fputs(text->data ? text->data : "", stderr);
}

void oneib_print_error(const char *text)
{
    oneib_autotext struct oneib_text line = {0};
    oneib_text_append(&line, "oneib: ");
    oneib_append_message(&line, text);
    oneib_text_append(&line, "\n");
    print_text(&line);
}

void oneib_print_note(const char *format, ...)
{
    oneib_autotext struct oneib_text text = {0}, line = {0};
    va_list arguments;
    va_start(arguments, format);
    oneib_text_vprintf(&text, format, arguments);
    va_end(arguments);
    oneib_append_note(&line, "%s", text.data ? text.data : "");
    print_text(&line);
}

void oneib_print_findings(const struct oneib_run *run, const struct oneib_findings *findings)
{
    oneib_autotext struct oneib_text text = {0};
    oneib_append_findings(&text, run->color_err, findings);
    print_text(&text);
}
