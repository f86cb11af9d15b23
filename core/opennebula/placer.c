// SPDX-License-Identifier: Apache-2.0
#include "opennebula/placer.h"
#include "xml/reader.h"
#include <stdio.h>
#include <string.h>

#define ARGUMENTS_LENGTH 1024
#define DEFAULT "rank"
#define BLANKS " \t\r\n"

/* The word that begins there; what comes behind it. */
static const char *take_word(const char *text, char *word, size_t size)
{
    text += strspn(text, BLANKS);
    const size_t length = strcspn(text, BLANKS);
    snprintf(word, size, "%.*s", (int)length, text);
    return text + length;
}

static void take_placer(const char *arguments, char name[ONEIB_PLACER_SIZE])
{
    static const char together[] = "--placer=";
    char word[ARGUMENTS_LENGTH + 1];
    for (const char *rest = take_word(arguments, word, sizeof word); word[0];
         rest = take_word(rest, word, sizeof word))
        if (strcmp(word, "-p") == 0 || strcmp(word, "--placer") == 0)
            rest = take_word(rest, name, ONEIB_PLACER_SIZE);
        else if (strncmp(word, together, strlen(together)) == 0)
            snprintf(name, ONEIB_PLACER_SIZE, "%.*s", ONEIB_PLACER_SIZE - 1,
                     word + strlen(together));
}

static int read_setting(struct oneib_reader *reader, char name[ONEIB_PLACER_SIZE],
                        struct oneib_error *err)
{
    static const struct oneib_field field = {ONEIB_NAME_ARGUMENTS, ARGUMENTS_LENGTH};
    struct oneib_value arguments;
    if (oneib_reader_fields(reader, &field, 1, &arguments, err) < 0)
        return -1;
    snprintf(name, ONEIB_PLACER_SIZE, "%s", DEFAULT);
    if (arguments.state == ONEIB_VALUE_TEXT)
        take_placer(arguments.text, name);
    return 0;
}

static int take_setting(struct oneib_reader *reader, struct oneib_placer *placer,
                        struct oneib_error *err)
{
    char name[ONEIB_PLACER_SIZE];
    if (read_setting(reader, name, err) < 0)
        return -1;
    if (!placer->name[0])
        snprintf(placer->name, sizeof placer->name, "%s", name);
    else if (strcmp(name, "ib") == 0 && strcmp(placer->name, "ib") != 0)
        placer->has_late_ib = true;
    return 0;
}

static int read_document(struct oneib_reader *reader, struct oneib_placer *placer,
                         struct oneib_error *err)
{
    if (oneib_reader_root(reader, err) < 0)
        return -1;
    struct oneib_element root = oneib_reader_enter(reader);
    int outcome;
    while ((outcome = oneib_reader_child(reader, &root, err)) > 0)
        if (oneib_reader_at(reader, ONEIB_NAME_SCHED_MAD) && take_setting(reader, placer, err) < 0)
            return -1;
    return outcome < 0 ? -1 : oneib_reader_finish(reader, err);
}

int oneib_placer_of(const char *xml, size_t length, struct oneib_placer *placer,
                    struct oneib_error *err)
{
    oneib_autoreader struct oneib_reader *reader = oneib_reader_open(xml, length, err);
    if (!reader)
        return -1;
    *placer = (struct oneib_placer){0};
    return read_document(reader, placer, err) < 0 ? oneib_wrap(err, "reading oned's configuration")
                                                  : 0;
}
