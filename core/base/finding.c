// SPDX-License-Identifier: Apache-2.0
#include "base/finding.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A difference is a port that is not as it should be, without harm to others. */
#define ONEIB_DIFFERENCE ONEIB_WARNING

static const struct {
    const char *code;
    enum oneib_severity severity;
    const char *fix;
} table[] = {
#define GROUP(heading, introduction)
#define FINDING(symbol, code, severity, fix, text)                                                 \
    [ONEIB_FINDING_##symbol] = {code, ONEIB_##severity, fix},
#include "base/findings.def"
#undef GROUP
#undef FINDING
};

const char *oneib_finding_code(enum oneib_finding_id id)
{
    return table[id].code;
}

enum oneib_severity oneib_finding_severity(enum oneib_finding_id id)
{
    return table[id].severity;
}

const char *oneib_finding_fix(enum oneib_finding_id id)
{
    return table[id].fix;
}

enum oneib_finding_id oneib_finding_of_code(const char *code)
{
    int id = 0;
    while (id < ONEIB_FINDING_IDS && strcmp(table[id].code, code) != 0)
        id++;
    return (enum oneib_finding_id)id;
}

static void clear_finding(struct oneib_finding *finding)
{
    free(finding->text);
    free(finding->fix);
    free(finding->mentions);
}

void oneib_findings_mention(struct oneib_findings *findings, enum oneib_subject subject,
                            uint32_t id)
{
    ONEIB_APPEND(findings->pending, findings->pending_count, findings->pending_capacity,
                 (struct oneib_mention){subject, id});
}

static bool mentions(const struct oneib_finding *finding, enum oneib_subject subject, uint32_t id)
{
    for (size_t i = 0; i < finding->mention_count; i++)
        if (finding->mentions[i].subject == subject && finding->mentions[i].id == id)
            return true;
    return false;
}

bool oneib_finding_is_about(const struct oneib_finding *finding, enum oneib_subject subject,
                            uint32_t id)
{
    return (finding->subject == subject && finding->subject_id == id) ||
           mentions(finding, subject, id);
}

/* Gives the finding a copy of so many mentions. */
static void set_mentions(struct oneib_finding *finding, const struct oneib_mention *mentions,
                         size_t count)
{
    if (count == 0)
        return;
    finding->mentions = oneib_alloc(count, sizeof *mentions);
    memcpy(finding->mentions, mentions, count * sizeof *mentions);
    finding->mention_count = count;
}

/* What was mentioned belongs to one finding. */
static void take_pending(struct oneib_findings *findings, struct oneib_finding *finding)
{
    set_mentions(finding, findings->pending, findings->pending_count);
    findings->pending_count = 0;
}

__attribute__((format(printf, 5, 0))) static void add(struct oneib_findings *findings,
                                                      enum oneib_severity severity,
                                                      const char *code, const char *fix,
                                                      const char *format, va_list arguments)
{
    oneib_autotext struct oneib_text text = {0};
    oneib_text_vprintf(&text, format, arguments);
    struct oneib_finding finding = {.severity = severity,
                                    .code = code,
                                    .text = oneib_steal(&text.data),
                                    .fix = fix ? oneib_strdup(fix) : NULL};
    take_pending(findings, &finding);
    ONEIB_APPEND(findings->items, findings->count, findings->capacity, finding);
}

void oneib_findings_note(struct oneib_findings *findings, enum oneib_finding_id id,
                         const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(findings, table[id].severity, table[id].code, table[id].fix, format, arguments);
    va_end(arguments);
}

void oneib_findings_note_with(struct oneib_findings *findings, enum oneib_finding_id id,
                              enum oneib_severity severity, const char *fix, const char *format,
                              ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(findings, severity, table[id].code, fix ? fix : table[id].fix, format, arguments);
    va_end(arguments);
}

void oneib_findings_attribute(struct oneib_findings *findings, size_t from,
                              enum oneib_subject subject, uint32_t id)
{
    for (size_t i = from; i < findings->count; i++) {
        findings->items[i].subject = subject;
        findings->items[i].subject_id = id;
    }
}

void oneib_findings_forget(struct oneib_findings *findings, enum oneib_subject subject,
                           const uint32_t *ids, size_t count)
{
    size_t kept = 0;
    if (count == 0)
        return;
    for (size_t i = 0; i < findings->count; i++) {
        struct oneib_finding *finding = &findings->items[i];
        if (finding->subject == subject &&
            ONEIB_FIND(&finding->subject_id, ids, count, oneib_compare_u32))
            clear_finding(finding);
        else
            findings->items[kept++] = *finding;
    }
    findings->count = kept;
}

void oneib_findings_copy(const struct oneib_findings *findings, size_t from,
                         struct oneib_findings *to)
{
    for (size_t i = from; i < findings->count; i++) {
        const struct oneib_finding *finding = &findings->items[i];
        struct oneib_finding copy = *finding;
        copy.text = oneib_strdup(finding->text);
        copy.fix = finding->fix ? oneib_strdup(finding->fix) : NULL;
        set_mentions(&copy, finding->mentions, finding->mention_count);
        ONEIB_APPEND(to->items, to->count, to->capacity, copy);
    }
}

void oneib_findings_truncate(struct oneib_findings *findings, size_t count)
{
    while (findings->count > count)
        clear_finding(&findings->items[--findings->count]);
}

void oneib_findings_keep(struct oneib_findings *findings,
                         bool (*keeps)(const struct oneib_finding *finding, const void *context),
                         const void *context)
{
    size_t kept = 0;
    for (size_t i = 0; i < findings->count; i++)
        if (keeps(&findings->items[i], context))
            findings->items[kept++] = findings->items[i];
        else
            clear_finding(&findings->items[i]);
    findings->count = kept;
}

static int compare_fixes(const char *a, const char *b)
{
    if (!a || !b)
        return (a != NULL) - (b != NULL);
    return strcmp(a, b);
}

int oneib_finding_compare(const struct oneib_finding *a, const struct oneib_finding *b)
{
    if (a->severity != b->severity)
        return a->severity > b->severity ? -1 : 1;

    const int order = strcmp(a->code, b->code) ?: strcmp(a->text, b->text);
    return order ? order : compare_fixes(a->fix, b->fix);
}

/* Whoever puts a name into a text puts it in quotes, and has those that are in it escaped. */
static const char *skip_quoted(const char *text)
{
    while (*text == '"') {
        const char *end = strchr(text + 1, '"');
        text = end ? end + 1 : text + strlen(text);
    }
    return text;
}

static int compare_unquoted(const char *a, const char *b)
{
    for (;; a++, b++) {
        a = skip_quoted(a);
        b = skip_quoted(b);
        if (*a != *b || !*a)
            return (unsigned char)*a - (unsigned char)*b;
    }
}

static int compare_mentions(const struct oneib_finding *a, const struct oneib_finding *b)
{
    int order = ONEIB_COMPARE(a->mention_count, b->mention_count);
    for (size_t i = 0; order == 0 && i < a->mention_count; i++) {
        const struct oneib_mention *left = &a->mentions[i], *right = &b->mentions[i];
        order = ONEIB_BY(subject, id);
    }
    return order;
}

int oneib_finding_compare_unnamed(const struct oneib_finding *a, const struct oneib_finding *b)
{
    if (a->severity != b->severity)
        return a->severity > b->severity ? -1 : 1;

    int order = strcmp(a->code, b->code);
    if (order == 0)
        order = ONEIB_COMPARE(a->subject, b->subject);
    if (order == 0)
        order = ONEIB_COMPARE(a->subject_id, b->subject_id);
    if (order == 0)
        order = compare_mentions(a, b);
    if (order == 0)
        order = compare_unquoted(a->text, b->text);
    if (order == 0)
        order = compare_unquoted(a->fix ? a->fix : "", b->fix ? b->fix : "");
    return order;
}

ONEIB_ORDER(compare_unnamed, struct oneib_finding, oneib_finding_compare_unnamed(left, right));

ONEIB_ORDER(compare_findings, struct oneib_finding, oneib_finding_compare(left, right));

static void drop_repetitions(struct oneib_findings *findings)
{
    size_t kept = 0;
    for (size_t i = 0; i < findings->count; i++)
        if (kept > 0 && compare_findings(&findings->items[kept - 1], &findings->items[i]) == 0)
            clear_finding(&findings->items[i]);
        else
            findings->items[kept++] = findings->items[i];
    findings->count = kept;
}

void oneib_findings_sort(struct oneib_findings *findings)
{
    if (findings->count < 2)
        return;
    ONEIB_SORT(findings->items, findings->count, compare_findings);
    drop_repetitions(findings);
}

void oneib_findings_sort_unnamed(struct oneib_findings *findings)
{
    ONEIB_SORT(findings->items, findings->count, compare_unnamed);
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
    static const char *const names[] = {
        [ONEIB_NOTICE] = "notice",
        [ONEIB_WARNING] = "warning",
        [ONEIB_VIOLATION] = "violation",
    };
    return names[severity];
}

void oneib_findings_clear(struct oneib_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        clear_finding(&findings->items[i]);
    free(findings->items);
    free(findings->pending);
    *findings = (struct oneib_findings){0};
}
