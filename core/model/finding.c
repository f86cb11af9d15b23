// SPDX-License-Identifier: Apache-2.0
#include "model/finding.h"
#include "base/array.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void clear_finding(struct oneib_finding *finding)
{
    free(finding->text);
    free(finding->remedy);
}

int oneib_findings_add(struct oneib_findings *findings, enum oneib_severity severity,
                       const char *code, const char *remedy, struct oneib_error *err,
                       const char *format, ...)
{
    if (oneib_reserve(&findings->items, &findings->capacity, findings->count + 1,
                      sizeof *findings->items, err) < 0)
        return -1;

    struct oneib_finding finding = {.severity = severity, .code = code};
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&finding.text, format, arguments);
    va_end(arguments);
    if (length < 0)
        return oneib_fail_memory(err);

    if (remedy && !(finding.remedy = strdup(remedy))) {
        clear_finding(&finding);
        return oneib_fail_memory(err);
    }
    findings->items[findings->count++] = finding;
    return 0;
}

static int compare_remedies(const char *a, const char *b)
{
    if (!a || !b)
        return (a != NULL) - (b != NULL);
    return strcmp(a, b);
}

static int compare_findings(const void *left, const void *right)
{
    const struct oneib_finding *a = left;
    const struct oneib_finding *b = right;
    if (a->severity != b->severity)
        return a->severity > b->severity ? -1 : 1;

    int order = strcmp(a->code, b->code);
    if (order == 0)
        order = strcmp(a->text, b->text);
    if (order == 0)
        order = compare_remedies(a->remedy, b->remedy);
    return order;
}

static void drop_repetitions(struct oneib_findings *findings)
{
    size_t kept = 0;
    for (size_t i = 0; i < findings->count; i++) {
        if (kept > 0 && compare_findings(&findings->items[kept - 1], &findings->items[i]) == 0)
            clear_finding(&findings->items[i]);
        else
            findings->items[kept++] = findings->items[i];
    }
    findings->count = kept;
}

void oneib_findings_sort(struct oneib_findings *findings)
{
    if (findings->count < 2)
        return;
    qsort(findings->items, findings->count, sizeof *findings->items, compare_findings);
    drop_repetitions(findings);
}

size_t oneib_findings_count(const struct oneib_findings *findings, enum oneib_severity at_least)
{
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++)
        count += findings->items[i].severity >= at_least;
    return count;
}

const char *oneib_severity_name(enum oneib_severity severity)
{
    switch (severity) {
    case ONEIB_NOTICE:
        return "notice";
    case ONEIB_WARNING:
        return "warning";
    case ONEIB_VIOLATION:
        return "violation";
    }
    return "unknown";
}

void oneib_findings_clear(struct oneib_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        clear_finding(&findings->items[i]);
    free(findings->items);
    *findings = (struct oneib_findings){0};
}
