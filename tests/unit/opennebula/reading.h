// SPDX-License-Identifier: Apache-2.0
/* Reading documents into a cloud, for the tests of core/opennebula/documents*.c. */
#ifndef ONEIB_TEST_OPENNEBULA_READING_H
#define ONEIB_TEST_OPENNEBULA_READING_H

#include "opennebula/documents.h"
#include "recorded.h"
#include <string.h>

struct reading {
    struct oneib_cloud cloud;
    struct oneib_findings findings;
    struct oneib_documents documents;
    struct oneib_error err;
};

typedef int (*read_function)(struct oneib_documents *documents, const char *xml, size_t length,
                             struct oneib_error *err);

/* "ibrec" is the driver in the recorded documents. *reading must stay where it is. */
static inline void reading_begin(struct reading *reading)
{
    *reading = (struct reading){0};
    reading->documents.cloud = &reading->cloud;
    reading->documents.findings = &reading->findings;
    reading->documents.vn_mad = "ibrec";
    reading->documents.decides = true;
}

static inline void reading_end(struct reading *reading)
{
    oneib_documents_clear(&reading->documents);
    oneib_cloud_clear(&reading->cloud);
    oneib_findings_clear(&reading->findings);
}

static inline int try_read(struct reading *reading, read_function read, const char *xml)
{
    return read(&reading->documents, xml, strlen(xml), &reading->err);
}

static inline void must_read(struct reading *reading, read_function read, const char *xml)
{
    if (try_read(reading, read, xml) < 0)
        fail_msg("%s", reading->err.text);
}

static inline void must_read_recorded(struct reading *reading, read_function read, const char *name)
{
    char *xml = recorded(name);
    must_read(reading, read, xml);
    free(xml);
}

/* The document is refused as nonsense, and the error has these words. */
static inline void must_refuse(read_function read, const char *xml, const char *words)
{
    struct reading reading;
    reading_begin(&reading);
    assert_int_equal(try_read(&reading, read, xml), -1);
    assert_int_equal(reading.err.code, ONEIB_ERROR_PROTOCOL);
    if (!strstr(reading.err.text, words))
        fail_msg("\"%s\" is not in: %s", words, reading.err.text);
    reading_end(&reading);
}

static inline size_t findings_with(const struct reading *reading, const char *code)
{
    size_t count = 0;
    for (size_t i = 0; i < reading->findings.count; i++)
        count += strcmp(reading->findings.items[i].code, code) == 0;
    return count;
}

/* There is one finding of this code, and its text has these words. */
static inline void must_find(const struct reading *reading, const char *code, const char *words)
{
    assert_int_equal(findings_with(reading, code), 1);
    for (size_t i = 0; i < reading->findings.count; i++)
        if (strcmp(reading->findings.items[i].code, code) == 0 &&
            !strstr(reading->findings.items[i].text, words))
            fail_msg("\"%s\" is not in: %s", words, reading->findings.items[i].text);
}

#endif
