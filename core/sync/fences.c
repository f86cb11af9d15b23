// SPDX-License-Identifier: Apache-2.0
#include "sync/fences.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "opennebula/ledger_document.h"
#include <string.h>
#include <unistd.h>

#define SUFFIX "fences"
#define MODE 0640
#define SIZE_MAX_READ ((size_t)16 << 20)

/* As oned would show the document, so that what reads the one reads the other. */
#define BEGIN                                                                                      \
    "<DOCUMENT><ID>0</ID><UID>0</UID><GID>0</GID><NAME>" ONEIB_LEDGER_NAME "</NAME><TYPE>6231"     \
    "</TYPE><PERMISSIONS><OTHER_U>0</OTHER_U><OTHER_M>0</OTHER_M><OTHER_A>0</OTHER_A>"             \
    "</PERMISSIONS><TEMPLATE>\n"
#define END "</TEMPLATE></DOCUMENT>\n"

/* NAME = "VALUE"; what follows it. No value of a ledger has a character that means something in XML. */
static const char *append_value(const char *line, struct oneib_text *text)
{
    const int name = (int)strcspn(line, " ");
    const char *value = line + name + strlen(" = \"");
    const int length = (int)strcspn(value, "\"");
    oneib_text_printf(text, "<%.*s>%.*s</%.*s>", name, line, length, value, name, line);
    return value + length + 1;
}

/* NAME = [ NAME = "VALUE", ... ], or one value. */
static void append_line(const char *line, struct oneib_text *text)
{
    const int name = (int)strcspn(line, " ");
    const char *rest = line + name + strlen(" = ");
    if (*rest != '[') {
        append_value(line, text);
        return;
    }
    oneib_text_printf(text, "<%.*s>", name, line);
    for (rest += strlen("[ "); *rest != ' '; rest += *rest == ',' ? strlen(", ") : 0)
        rest = append_value(rest, text);
    oneib_text_printf(text, "</%.*s>", name, line);
}

static void render(const struct oneib_ledger *ledger, struct oneib_text *text)
{
    oneib_autotext struct oneib_text lines = {0};
    const struct oneib_ledger part = {.serial = 1,
                                      .hosts = ledger->hosts,
                                      .host_count = ledger->host_count,
                                      .forgotten = ledger->forgotten,
                                      .forgotten_count = ledger->forgotten_count,
                                      .ports = ledger->ports,
                                      .port_count = ledger->port_count,
                                      .daemons = ledger->daemons,
                                      .daemon_count = ledger->daemon_count,
                                      .fences = ledger->fences,
                                      .fence_count = ledger->fence_count,
                                      .fenced_ports = ledger->fenced_ports,
                                      .fenced_port_count = ledger->fenced_port_count};
    char *rest = NULL;
    oneib_ledger_render(&part, &lines);
    oneib_text_append(text, BEGIN);
    for (char *line = strtok_r(lines.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        append_line(line, text);
        oneib_text_append(text, "\n");
    }
    oneib_text_append(text, END);
}

int oneib_fences_write(const char *state, const struct oneib_ledger *ledger,
                       struct oneib_error *err)
{
    oneib_autofree char *path = oneib_path_beside(state, SUFFIX);
    oneib_autotext struct oneib_text text = {0};
    render(ledger, &text);
    return oneib_file_replace(path, text.data, text.length, MODE, NULL, NULL, err);
}

bool oneib_fences_are_there(const char *state)
{
    oneib_autofree char *path = oneib_path_beside(state, SUFFIX);
    return access(path, F_OK) == 0;
}

static int parse(const char *path, const char *data, size_t length, struct oneib_ledger *ledger,
                 struct oneib_error *err)
{
    oneib_autokept struct oneib_kept_ledger kept = {0};
    size_t count;
    if (oneib_ledger_parse(data, length, &kept, &count, err) < 0)
        return -1;
    if (kept.state != ONEIB_LEDGER_READ)
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "%s is damaged: remove it, and fence again the hosts that were fenced",
                          path);
    *ledger = kept.ledger;
    kept.ledger = (struct oneib_ledger){0};
    return 0;
}

int oneib_fences_read(const char *state, struct oneib_ledger *ledger, struct oneib_error *err)
{
    oneib_autofree char *path = oneib_path_beside(state, SUFFIX);
    oneib_autofree char *data = NULL;
    size_t length;
    *ledger = (struct oneib_ledger){0};
    return oneib_file_read(path, SIZE_MAX_READ, &data, &length, err) < 0
               ? -1
               : parse(path, data, length, ledger, err);
}
