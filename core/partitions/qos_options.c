// SPDX-License-Identifier: Apache-2.0
#include "partitions/qos_options.h"
#include "partitions/opensm_options.h"
#include <string.h>

struct comparison {
    const char *text; /* the file */
    size_t length;
    struct oneib_text *names;
    size_t count;
};

/* One option that is wanted; the last of its name in the file counts. */
struct search {
    const char *name, *value;
    bool is_equal;
};

static void look_at_one(void *context, const char *name, const char *value)
{
    struct search *search = context;
    if (strcmp(name, search->name) == 0)
        search->is_equal = strcmp(value, search->value) == 0;
}

static bool is_opensms_default(const char *name)
{
    return strcmp(name, "sm_sl") == 0;
}

static void look_for_one(void *context, const char *name, const char *value)
{
    struct comparison *comparison = context;
    struct search search = {name, value, is_opensms_default(name)};
    oneib_opensm_options_read(comparison->text, comparison->length, look_at_one, &search);
    if (!search.is_equal)
        oneib_text_printf(comparison->names, "%s%s", comparison->count++ ? ", " : "", name);
}

size_t oneib_qos_options_differ(const struct oneib_qos *qos, const char *text, size_t length,
                                struct oneib_text *names)
{
    struct comparison comparison = {.text = text, .length = length, .names = names};
    oneib_autotext struct oneib_text wanted = {0};
    oneib_qos_render(qos, &wanted);
    if (wanted.data)
        oneib_opensm_options_read(wanted.data, wanted.length, look_for_one, &comparison);
    return comparison.count;
}
