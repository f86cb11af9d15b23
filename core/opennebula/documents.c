// SPDX-License-Identifier: Apache-2.0
#include "base/escape.h"
#include "base/memory.h"
#include "base/text.h"
#include "opennebula/documents_internal.h"
#include <string.h>

/* Of a value that is shown in a finding. */
#define SHOWN_LENGTH 64

void oneib_documents_clear(struct oneib_documents *documents)
{
    oneib_id_set_clear(&documents->vms_named);
    oneib_id_set_clear(&documents->vms_seen);
    oneib_id_set_clear(&documents->vms_migrating);
    oneib_id_set_clear(&documents->vms_odd);
    oneib_id_set_clear(&documents->networks_listed);
}

struct oneib_documents_mark oneib_documents_mark(const struct oneib_documents *documents)
{
    return (struct oneib_documents_mark){
        .networks = documents->cloud->network_count,
        .hosts = documents->cloud->host_count,
        .attachments = documents->cloud->attachment_count,
        .vms = documents->cloud->vm_count,
        .findings = documents->findings->count,
        .named = documents->vms_named.count,
        .seen = documents->vms_seen.count,
        .migrating = documents->vms_migrating.count,
        .odd = documents->vms_odd.count,
        .listed = documents->networks_listed.count,
    };
}

void oneib_documents_take_back(struct oneib_documents *documents,
                               const struct oneib_documents_mark *mark)
{
    struct oneib_cloud *cloud = documents->cloud;
    while (cloud->network_count > mark->networks)
        oneib_network_clear(&cloud->networks[--cloud->network_count]);
    while (cloud->host_count > mark->hosts)
        oneib_host_clear(&cloud->hosts[--cloud->host_count]);
    cloud->attachment_count = mark->attachments;
    cloud->vm_count = mark->vms;
    oneib_findings_truncate(documents->findings, mark->findings);
    documents->vms_named.count = mark->named;
    documents->vms_seen.count = mark->seen;
    documents->vms_migrating.count = mark->migrating;
    documents->vms_odd.count = mark->odd;
    documents->networks_listed.count = mark->listed;
}

static const char *reason(const struct oneib_value *value, const char *why)
{
    switch (value->state) {
    case ONEIB_VALUE_ABSENT:
        return "is missing";
    case ONEIB_VALUE_REPEATED:
        return "is given more than once";
    case ONEIB_VALUE_TOO_LONG:
        return "is too long";
    case ONEIB_VALUE_NESTED:
        return "is not plain text";
    case ONEIB_VALUE_TEXT:
        break;
    }
    return why;
}

void oneib_documents_note_value(struct oneib_documents *documents, enum oneib_finding_id id,
                                const char *object, const char *attribute,
                                const struct oneib_value *value, const char *why)
{
    oneib_autotext struct oneib_text shown = {0};
    if (value->state != ONEIB_VALUE_ABSENT) {
        oneib_text_append(&shown, " \"");
        oneib_text_append_escaped(&shown, value->text, SHOWN_LENGTH);
        oneib_text_append(&shown, "\"");
    }
    oneib_findings_note(documents->findings, id, "%s: %s%s %s", object, attribute,
                        shown.data ? shown.data : "", reason(value, why));
}

void oneib_documents_keep_text(const struct oneib_value *value, char **copy)
{
    if (oneib_value_is_set(value))
        *copy = oneib_strdup(value->text);
}

char *oneib_documents_copy_name(struct oneib_documents *documents, const char *object,
                                const struct oneib_value *value)
{
    bool is_plain = value->state == ONEIB_VALUE_TEXT;
    if (!is_plain)
        oneib_documents_note_value(documents, ONEIB_FINDING_NAME_INVALID, object, "NAME", value,
                                   "");
    return oneib_strdup(is_plain ? value->text : "");
}

int oneib_documents_read_ids(struct oneib_reader *reader, struct oneib_id_set *ids, size_t *invalid,
                             struct oneib_error *err)
{
    struct oneib_element list = oneib_reader_enter(reader);
    size_t mark = oneib_reader_mark(reader);
    int outcome;
    while ((outcome = oneib_reader_child(reader, &list, err)) > 0) {
        if (!oneib_reader_at(reader, ONEIB_NAME_ID))
            continue;
        struct oneib_value value = {0};
        uint32_t id;
        if (oneib_reader_value(reader, ONEIB_NUMBER_LENGTH, &value, err) < 0)
            return -1;
        if (!oneib_value_id(&value, &id))
            ++*invalid;
        else
            oneib_id_set_add(ids, id);
        oneib_reader_forget(reader, mark);
    }
    return outcome;
}

/* An object without an id is nobody's: what is said about it stays until all is read again. */
static int read_object(struct oneib_reader *reader, struct oneib_documents *documents,
                       const struct oneib_object_kind *kind, struct oneib_error *err)
{
    const size_t first_finding = documents->findings->count;
    uint32_t id = ONEIB_NO_ID;
    if (kind->read(reader, documents, &id, err) < 0)
        return -1;
    if (id != ONEIB_NO_ID)
        oneib_findings_attribute(documents->findings, first_finding, kind->subject, id);
    return 0;
}

/* The objects of a pool; values of one are forgotten before the next. */
static int read_pool(struct oneib_reader *reader, struct oneib_documents *documents,
                     const struct oneib_object_kind *kind, struct oneib_error *err)
{
    struct oneib_element pool = oneib_reader_enter(reader);
    int outcome;
    while ((outcome = oneib_reader_child(reader, &pool, err)) > 0) {
        if (!oneib_reader_at(reader, kind->single))
            continue;
        if (read_object(reader, documents, kind, err) < 0)
            return -1;
        oneib_reader_forget(reader, 0);
    }
    return outcome;
}

static int wrong_root(struct oneib_reader *reader, struct oneib_error *err)
{
    oneib_autotext struct oneib_text shown = {0};
    oneib_text_append_escaped(&shown, oneib_reader_name(reader), SHOWN_LENGTH);
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "document of another kind: it begins with <%s>",
                      shown.data ? shown.data : "");
}

static int read_root(struct oneib_reader *reader, struct oneib_documents *documents,
                     const struct oneib_object_kind *kind, struct oneib_error *err)
{
    if (oneib_reader_root(reader, err) < 0)
        return -1;
    oneib_reader_guard(reader, kind->single, oneib_reader_at(reader, kind->pool) ? 1 : 0);
    if (oneib_reader_at(reader, kind->pool))
        return read_pool(reader, documents, kind, err);
    if (oneib_reader_at(reader, kind->single))
        return read_object(reader, documents, kind, err);
    return wrong_root(reader, err);
}

int oneib_documents_read(struct oneib_documents *documents, const char *xml, size_t length,
                         const struct oneib_object_kind *kind, struct oneib_error *err)
{
    const struct oneib_documents_mark mark = oneib_documents_mark(documents);
    documents->malformed = documents->odd = false;
    oneib_autoreader struct oneib_reader *reader = oneib_reader_open(xml, length, err);
    if (!reader)
        return -1;
    if (read_root(reader, documents, kind, err) == 0 && oneib_reader_finish(reader, err) == 0)
        return 0;
    documents->malformed = oneib_reader_is_malformed(reader);
    oneib_documents_take_back(documents, &mark);
    return -1;
}
