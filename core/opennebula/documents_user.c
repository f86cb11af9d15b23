// SPDX-License-Identifier: Apache-2.0
#include "opennebula/documents_internal.h"

/* UserPool::ONEADMIN_ID and GroupPool::ONEADMIN_ID: to them PoolSQL::acl_filter gives all objects.
 */
#define ADMINISTRATOR 0
#define ADMINISTRATORS 0

struct user {
    struct oneib_value id;
    struct oneib_id_set groups;
    size_t group_lists, invalid_groups;
};

static int read_child(struct oneib_reader *reader, struct user *user, struct oneib_error *err)
{
    if (oneib_reader_at(reader, ONEIB_NAME_ID))
        return oneib_reader_value(reader, ONEIB_NUMBER_LENGTH, &user->id, err);
    if (oneib_reader_at(reader, ONEIB_NAME_GROUPS) && user->group_lists++ == 0)
        return oneib_documents_read_ids(reader, &user->groups, &user->invalid_groups, err);
    return 0;
}

static int read_user(struct oneib_reader *reader, struct user *user, struct oneib_error *err)
{
    if (oneib_reader_root(reader, err) < 0)
        return -1;
    if (!oneib_reader_at(reader, ONEIB_NAME_USER))
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "document is not a user's");

    struct oneib_element element = oneib_reader_enter(reader);
    int outcome;
    while ((outcome = oneib_reader_child(reader, &element, err)) > 0)
        if (read_child(reader, user, err) < 0)
            return -1;
    return outcome < 0 ? -1 : oneib_reader_finish(reader, err);
}

/* oned writes ID and GROUPS once: where there are two, somebody else wrote one of them. */
static int judge(struct user *user, bool *is, struct oneib_error *err)
{
    uint32_t id;
    if (!oneib_value_id(&user->id, &id) || user->group_lists > 1)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                          "document of a user without an id, or with GROUPS more than once");
    oneib_id_set_sort(&user->groups);
    *is = id == ADMINISTRATOR || oneib_id_set_has(&user->groups, ADMINISTRATORS);
    return 0;
}

int oneib_document_is_administrators(const char *xml, size_t length, bool *is,
                                     struct oneib_error *err)
{
    struct user user = {0};
    struct oneib_reader *reader = oneib_reader_open(xml, length, err);
    if (!reader)
        return -1;
    int outcome = read_user(reader, &user, err);
    if (outcome == 0)
        outcome = judge(&user, is, err);
    oneib_id_set_clear(&user.groups);
    oneib_reader_close(reader);
    return outcome;
}
