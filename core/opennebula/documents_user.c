// SPDX-License-Identifier: Apache-2.0
#include "opennebula/documents_internal.h"

/* UserPool::ONEADMIN_ID and GroupPool::ONEADMIN_ID: to them PoolSQL::acl_filter gives all objects.
 */
#define ADMINISTRATOR 0
#define ADMINISTRATORS 0

/* A user or a group: who it is, and a list of ids of the other kind. */
struct user {
    enum oneib_name kind, list;
    struct oneib_value id;
    struct oneib_id_set others;
    size_t lists, invalid;
};

static int read_child(struct oneib_reader *reader, struct user *user, struct oneib_error *err)
{
    if (oneib_reader_at(reader, ONEIB_NAME_ID))
        return oneib_reader_value(reader, ONEIB_NUMBER_LENGTH, &user->id, err);
    if (oneib_reader_at(reader, user->list) && user->lists++ == 0)
        return oneib_documents_read_ids(reader, &user->others, &user->invalid, err);
    return 0;
}

static int read_user(struct oneib_reader *reader, struct user *user, struct oneib_error *err)
{
    if (oneib_reader_root(reader, err) < 0)
        return -1;
    if (!oneib_reader_at(reader, user->kind))
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "document is not a user's or a group's");

    struct oneib_element element = oneib_reader_enter(reader);
    int outcome;
    while ((outcome = oneib_reader_child(reader, &element, err)) > 0)
        if (read_child(reader, user, err) < 0)
            return -1;
    return outcome < 0 ? -1 : oneib_reader_finish(reader, err);
}

/* oned writes ID and the list once: where there are two, somebody else wrote one of them. */
static int judge(struct user *user, uint32_t *id, struct oneib_error *err)
{
    if (!oneib_value_id(&user->id, id) || user->lists > 1)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                          "document without an id, or with GROUPS or USERS more than once");
    oneib_id_set_sort(&user->others);
    return 0;
}

static int read_document(const char *xml, size_t length, struct user *user, uint32_t *id,
                         struct oneib_error *err)
{
    oneib_autoreader struct oneib_reader *reader = oneib_reader_open(xml, length, err);
    if (!reader || read_user(reader, user, err) < 0)
        return -1;
    return judge(user, id, err);
}

int oneib_document_is_administrators(const char *xml, size_t length, bool *is,
                                     struct oneib_error *err)
{
    struct user user = {.kind = ONEIB_NAME_USER, .list = ONEIB_NAME_GROUPS};
    uint32_t id;
    const int outcome = read_document(xml, length, &user, &id, err);
    if (outcome == 0)
        *is = id == ADMINISTRATOR || oneib_id_set_has(&user.others, ADMINISTRATORS);
    oneib_id_set_clear(&user.others);
    return outcome;
}

int oneib_document_group_users(const char *xml, size_t length, struct oneib_id_set *users,
                               struct oneib_error *err)
{
    struct user group = {.kind = ONEIB_NAME_GROUP, .list = ONEIB_NAME_USERS};
    uint32_t id;
    const int outcome = read_document(xml, length, &group, &id, err);
    if (outcome == 0)
        *users = group.others;
    else
        oneib_id_set_clear(&group.others);
    return outcome;
}
