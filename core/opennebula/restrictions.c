// SPDX-License-Identifier: Apache-2.0
#include "opennebula/restrictions.h"
#include "xml/reader.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define ATTRIBUTE_LENGTH 128

static const char *const attributes[] = {
    "VLAN_ID", "IB_CLASS", "IB_MEMBERSHIP", "IB_RATE", "IB_RESERVATION", "IB_STATIC_GUIDS",
};
#define ATTRIBUTES (sizeof attributes / sizeof *attributes)

/* Where each of them must be restricted. */
static const struct {
    const char *setting; /* of oned.conf */
    const char *vector;  /* NULL: the attribute by itself */
} places[] = {
    {"VNET_RESTRICTED_ATTR", NULL},      {"VNET_RESTRICTED_ATTR", "AR"},
    {"VM_RESTRICTED_ATTR", "NIC"},       {"VM_RESTRICTED_ATTR", "NIC_DEFAULT"},
    {"VM_RESTRICTED_ATTR", "NIC_ALIAS"}, {"VM_RESTRICTED_ATTR", "PCI"},
};
#define PLACES (sizeof places / sizeof *places)

struct restrictions {
    bool found[PLACES][ATTRIBUTES];
};

static void restricted_name(size_t place, size_t attribute, char name[ATTRIBUTE_LENGTH])
{
    const char *vector = places[place].vector;
    snprintf(name, ATTRIBUTE_LENGTH, "%s%s%s", vector ? vector : "", vector ? "/" : "",
             attributes[attribute]);
}

static bool covers(const char *value, size_t place, size_t attribute)
{
    char name[ATTRIBUTE_LENGTH];
    restricted_name(place, attribute, name);
    const char *vector = places[place].vector;
    return strcasecmp(value, name) == 0 || (vector && strcasecmp(value, vector) == 0);
}

static void take_setting(struct restrictions *restrictions, const char *setting, const char *value)
{
    for (size_t place = 0; place < PLACES; place++) {
        if (strcmp(places[place].setting, setting) != 0)
            continue;
        for (size_t attribute = 0; attribute < ATTRIBUTES; attribute++)
            if (covers(value, place, attribute))
                restrictions->found[place][attribute] = true;
    }
}

/* The setting's name outlives the reader's next step, which oneib_reader_name() does not. */
static const char *known_setting(const char *name)
{
    for (size_t place = 0; place < PLACES; place++)
        if (strcmp(places[place].setting, name) == 0)
            return places[place].setting;
    return NULL;
}

static int read_setting(struct oneib_reader *reader, struct restrictions *restrictions,
                        struct oneib_error *err)
{
    const char *setting = known_setting(oneib_reader_name(reader));
    if (!setting)
        return 0;

    const size_t mark = oneib_reader_mark(reader);
    struct oneib_value value = {0};
    if (oneib_reader_value(reader, ATTRIBUTE_LENGTH, &value, err) < 0)
        return -1;
    if (value.state == ONEIB_VALUE_TEXT)
        take_setting(restrictions, setting, value.text);
    oneib_reader_forget(reader, mark);
    return 0;
}

static int read_document(struct oneib_reader *reader, struct restrictions *restrictions,
                         struct oneib_error *err)
{
    if (oneib_reader_root(reader, err) < 0)
        return -1;
    struct oneib_element root = oneib_reader_enter(reader);
    int outcome;
    while ((outcome = oneib_reader_child(reader, &root, err)) > 0)
        if (read_setting(reader, restrictions, err) < 0)
            return -1;
    return outcome < 0 ? -1 : oneib_reader_finish(reader, err);
}

static void list_missing(const struct restrictions *restrictions, struct oneib_text *lines,
                         size_t *missing)
{
    *missing = 0;
    for (size_t place = 0; place < PLACES; place++) {
        for (size_t attribute = 0; attribute < ATTRIBUTES; attribute++) {
            if (restrictions->found[place][attribute])
                continue;
            char name[ATTRIBUTE_LENGTH];
            restricted_name(place, attribute, name);
            oneib_text_printf(lines, "%s = \"%s\"\n", places[place].setting, name);
            ++*missing;
        }
    }
}

int oneib_restrictions_missing(const char *xml, size_t length, struct oneib_text *lines,
                               size_t *missing, struct oneib_error *err)
{
    oneib_autoreader struct oneib_reader *reader = oneib_reader_open(xml, length, err);
    if (!reader)
        return -1;
    struct restrictions restrictions = {0};
    if (read_document(reader, &restrictions, err) < 0)
        return oneib_wrap(err, "reading oned's configuration");
    list_missing(&restrictions, lines, missing);
    return 0;
}
