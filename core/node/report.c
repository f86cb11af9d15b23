// SPDX-License-Identifier: Apache-2.0
#include "node/report.h"
#include "base/escape.h"
#include <stdbool.h>
#include <string.h>

/* Whether OpenNebula would take the beginning for something else than words. */
static bool needs_beginning(const char *words)
{
    static const char *const severities[] = {"ERROR", "INFO", "WARN", "WARNING", "DEBUG"};
    const size_t first = strcspn(words, ": ");
    for (size_t i = 0; i < sizeof severities / sizeof *severities; i++)
        if (strncmp(words, severities[i], first) == 0 && severities[i][first] == '\0' &&
            words[first] == ':')
            return true;
    return words[0] == '\0' || (words[0] >= '0' && words[0] <= '9');
}

/* Errors quote with care already: only what is no text at all is replaced. */
static void append_line(struct oneib_text *text, const char *words)
{
    while (*words) {
        const size_t length = oneib_printable_length(words);
        if (length > 0)
            oneib_text_append_bytes(text, words, length);
        else
            oneib_text_append(text, " ");
        words += length > 0 ? length : 1;
    }
}

void oneib_report_failure(const struct oneib_error *failure, struct oneib_text *text)
{
    const char *words = failure->text;
    while (*words == ' ' || oneib_printable_length(words) == 0) {
        if (*words == '\0')
            break;
        words++;
    }
    if (needs_beginning(words))
        oneib_text_append(text, "infiniband: ");
    append_line(text, words);
    oneib_text_append(text, "\n");
}

void oneib_report_warning(const struct oneib_error *left, struct oneib_text *text)
{
    oneib_text_append(text, "WARN: ");
    oneib_report_failure(left, text);
}
