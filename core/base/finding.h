// SPDX-License-Identifier: Apache-2.0
/*
 * Findings: what is wrong with one VM, network, host, port or file without stopping the rest.
 * Whoever finds something names the object and the fix, adds it here, goes on, and fails closed
 * for that object alone.
 */
#ifndef ONEIB_BASE_FINDING_H
#define ONEIB_BASE_FINDING_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum oneib_severity {
    ONEIB_NOTICE,    /* worth knowing */
    ONEIB_WARNING,   /* somebody does not get what they asked for */
    ONEIB_VIOLATION, /* isolation is, or could be, broken */
};

/* The object of oned's whose document a finding is about, so that it can be dropped when that is
 * read again. */
enum oneib_subject {
    ONEIB_SUBJECT_NONE,
    ONEIB_SUBJECT_VM,
    ONEIB_SUBJECT_NETWORK,
    ONEIB_SUBJECT_HOST
};

/* An object that a finding names. */
struct oneib_mention {
    enum oneib_subject subject;
    uint32_t id;
};

/* ONEIB_FINDING_PKEY_CONFLICT, ...: of core/base/findings.def, which has the words for each. */
enum oneib_finding_id {
#define GROUP(heading, introduction)
#define FINDING(symbol, code, severity, fix, text) ONEIB_FINDING_##symbol,
#include "base/findings.def"
#undef GROUP
#undef FINDING
    ONEIB_FINDING_IDS
};

struct oneib_finding {
    enum oneib_severity severity;
    const char *code;           /* static: oneib_finding_code() */
    char *text;                 /* owned: object, place and what is wrong */
    char *fix;                  /* owned, may be NULL */
    enum oneib_subject subject; /* NONE until oneib_findings_attribute() */
    uint32_t subject_id;
    struct oneib_mention *mentions; /* owned; what it names besides its subject */
    size_t mention_count;
};

struct oneib_findings {
    struct oneib_finding *items;
    size_t count;
    size_t capacity;
    struct oneib_mention *pending; /* owned; of the finding that is added next */
    size_t pending_count, pending_capacity;
};

/* "pkey-conflict" */
const char *oneib_finding_code(enum oneib_finding_id id);
enum oneib_severity oneib_finding_severity(enum oneib_finding_id id);
const char *oneib_finding_fix(enum oneib_finding_id id); /* NULL: the fix depends on the case */
/* ONEIB_FINDING_IDS: no finding has this code. */
enum oneib_finding_id oneib_finding_of_code(const char *code);

/* Adds one, with its severity and fix of findings.def; text is printf-formatted. */
void oneib_findings_note(struct oneib_findings *findings, enum oneib_finding_id id,
                         const char *format, ...) __attribute__((format(printf, 3, 4)));
/* With another severity, and a fix of its own, which is copied; NULL: that of findings.def. */
void oneib_findings_note_with(struct oneib_findings *findings, enum oneib_finding_id id,
                              enum oneib_severity severity, const char *fix, const char *format,
                              ...) __attribute__((format(printf, 5, 6)));
/*
 * The next finding names this object. Written so that it can be called while the arguments of
 * oneib_findings_note() are made: whoever names an object in a text says by that what the finding is
 * about.
 */
void oneib_findings_mention(struct oneib_findings *findings, enum oneib_subject subject,
                            uint32_t id);
/* Whether the finding's document is that object's, or the finding names it. */
bool oneib_finding_is_about(const struct oneib_finding *finding, enum oneib_subject subject,
                            uint32_t id);

/* Says of all findings from index `from` on what they are about. */
void oneib_findings_attribute(struct oneib_findings *findings, size_t from,
                              enum oneib_subject subject, uint32_t id);
/* Drops those about the objects of a kind whose ids are in ids (sorted). */
void oneib_findings_forget(struct oneib_findings *findings, enum oneib_subject subject,
                           const uint32_t *ids, size_t count);

/* Drops all from index `count` on. */
void oneib_findings_truncate(struct oneib_findings *findings, size_t count);

/* Drops all others than those that `keeps` says; their order stays. */
void oneib_findings_keep(struct oneib_findings *findings,
                         bool (*keeps)(const struct oneib_finding *finding, const void *context),
                         const void *context);

/* Copies those from index `from` on, with what they are about. */
void oneib_findings_copy(const struct oneib_findings *findings, size_t from,
                         struct oneib_findings *to);
/* By severity (worst first), code, text, fix. */
int oneib_finding_compare(const struct oneib_finding *a, const struct oneib_finding *b);
/* 0 when both are the same finding about the same objects, whatever these are called now: as
 * oneib_finding_compare(), but by subject and mentions, and without what stands in quotes. */
int oneib_finding_compare_unnamed(const struct oneib_finding *a, const struct oneib_finding *b);
/* Sorts by severity (worst first), code, text; removes exact repetitions. */
void oneib_findings_sort(struct oneib_findings *findings);
/* Sorts by oneib_finding_compare_unnamed(). */
void oneib_findings_sort_unnamed(struct oneib_findings *findings);
/* How many are at least this severe. */
size_t oneib_findings_count(const struct oneib_findings *findings, enum oneib_severity at_least);
const char *oneib_severity_name(enum oneib_severity severity);
void oneib_findings_clear(struct oneib_findings *findings);
#define oneib_autofindings __attribute__((cleanup(oneib_findings_clear)))

#endif
