// SPDX-License-Identifier: Apache-2.0
#include "standin_papers.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct standin_paper *standin_paper_find(const struct standin_papers *papers, uint32_t id,
                                         struct oneib_error *err)
{
    if (id < papers->count && !papers->items[id]->gone)
        return papers->items[id];
    oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "Error getting document [%" PRIu32 "].", id);
    return NULL;
}

static void clear_lines(struct standin_paper *paper)
{
    for (size_t i = 0; i < paper->line_count; i++) {
        free(paper->lines[i].name);
        free(paper->lines[i].value);
        standin_attributes_clear(&paper->lines[i].vector);
    }
    paper->line_count = 0;
}

static struct standin_paper_line *add_line(struct standin_paper *paper, const char *name,
                                           size_t length)
{
    ONEIB_RESERVE(paper->lines, paper->line_capacity, paper->line_count + 1);
    struct standin_paper_line *line = &paper->lines[paper->line_count];
    *line = (struct standin_paper_line){.name = oneib_strndup(name, length)};
    paper->line_count++;
    return line;
}

/* Of one name there is one value, the last, but any number of vectors. */
static void drop_values(struct standin_paper *paper, const char *name, size_t length)
{
    size_t kept = 0;
    for (size_t i = 0; i < paper->line_count; i++) {
        struct standin_paper_line *line = &paper->lines[i];
        if (line->value && strlen(line->name) == length && strncmp(line->name, name, length) == 0) {
            free(line->name);
            free(line->value);
        } else {
            paper->lines[kept++] = *line;
        }
    }
    paper->line_count = kept;
}

static int fail_parsing(struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_INPUT, "Parse error: syntax error");
}

static const char *skip_blanks(const char *text, const char *end)
{
    while (text < end && strchr(" \t\n", *text))
        text++;
    return text;
}

static void take_value(struct standin_paper *paper, const char *name, size_t name_length,
                       const char *value, size_t length)
{
    if (length >= 2 && value[0] == '"' && value[length - 1] == '"') {
        value++;
        length -= 2;
    }
    drop_values(paper, name, name_length);
    struct standin_paper_line *line = add_line(paper, name, name_length);
    line->value = oneib_strndup(value, length);
}

static int take_line(struct standin_paper *paper, const char *begin, const char *end,
                     struct oneib_error *err)
{
    begin = skip_blanks(begin, end);
    while (end > begin && strchr(" \t", end[-1]))
        end--;
    if (begin == end)
        return 0;
    const char *equal = memchr(begin, '=', (size_t)(end - begin));
    if (!equal)
        return fail_parsing(err);
    size_t name_length = (size_t)(equal - begin);
    while (name_length > 0 && begin[name_length - 1] == ' ')
        name_length--;
    const char *value = skip_blanks(equal + 1, end);
    if (value == end || *value != '[') {
        take_value(paper, begin, name_length, value, (size_t)(end - value));
        return 0;
    }
    if (end[-1] != ']')
        return fail_parsing(err);
    struct standin_paper_line *line = add_line(paper, begin, name_length);
    return standin_attributes_parse_vector(&line->vector, value + 1, (size_t)(end - value) - 2,
                                           err);
}

int standin_paper_write(struct standin_paper *paper, const char *text, bool append,
                        struct oneib_error *err)
{
    if (!append)
        clear_lines(paper);
    while (*text) {
        const size_t length = strcspn(text, "\n");
        if (take_line(paper, text, text + length, err) < 0)
            return -1;
        text += length + (text[length] != '\0');
    }
    return 0;
}

/* oned takes NAME out of the template. */
static void take_name(struct standin_paper *paper)
{
    char unnamed[32];
    const char *name = NULL;
    snprintf(unnamed, sizeof unnamed, "document-%" PRIu32, paper->id);
    for (size_t i = 0; i < paper->line_count; i++)
        if (paper->lines[i].value && strcmp(paper->lines[i].name, "NAME") == 0)
            name = paper->lines[i].value;
    paper->name = oneib_strdup(name ? name : unnamed);
    drop_values(paper, "NAME", 4);
}

static void free_paper(struct standin_paper *paper)
{
    clear_lines(paper);
    free(paper->lines);
    free(paper->name);
    free(paper);
}

int standin_paper_make(struct standin_papers *papers, uint32_t type, int uid, int gid,
                       const char *text, uint32_t *id, struct oneib_error *err)
{
    ONEIB_RESERVE(papers->items, papers->capacity, papers->count + 1);
    struct standin_paper *paper = oneib_alloc(1, sizeof *paper);
    *paper = (struct standin_paper){.id = (uint32_t)papers->count,
                                    .type = type,
                                    .uid = uid,
                                    .gid = gid,
                                    .rights = {true, true}};
    if (standin_paper_write(paper, text, true, err) < 0) {
        free_paper(paper);
        return -1;
    }
    take_name(paper);
    papers->items[papers->count++] = paper;
    *id = paper->id;
    return 0;
}

static void render_rights(const struct standin_paper *paper, struct oneib_text *text)
{
    static const char *const names[] = {"OWNER_U", "OWNER_M", "OWNER_A", "GROUP_U", "GROUP_M",
                                        "GROUP_A", "OTHER_U", "OTHER_M", "OTHER_A"};
    oneib_text_append(text, "<PERMISSIONS>");
    for (size_t i = 0; i < 9; i++)
        oneib_text_printf(text, "<%s>%d</%s>", names[i], (int)paper->rights[i], names[i]);
    oneib_text_append(text, "</PERMISSIONS>");
}

static int by_name(const void *a, const void *b)
{
    const struct standin_paper_line *const *left = a, *const *right = b;
    const int order = strcmp((*left)->name, (*right)->name);
    return order != 0 ? order : (*left > *right) - (*left < *right);
}

static void render_line(const struct standin_paper_line *line, struct oneib_text *text)
{
    oneib_text_printf(text, "<%s>", line->name);
    if (line->value)
        oneib_text_printf(text, "<![CDATA[%s]]>", line->value);
    else
        standin_attributes_render(&line->vector, text);
    oneib_text_printf(text, "</%s>", line->name);
}

static void render_template(const struct standin_paper *paper, struct oneib_text *text)
{
    const struct standin_paper_line **sorted = oneib_alloc(paper->line_count + 1, sizeof *sorted);
    for (size_t i = 0; i < paper->line_count; i++)
        sorted[i] = &paper->lines[i];
    qsort(sorted, paper->line_count, sizeof *sorted, by_name);
    oneib_text_append(text, "<TEMPLATE>");
    for (size_t i = 0; i < paper->line_count; i++)
        render_line(sorted[i], text);
    oneib_text_append(text, "</TEMPLATE>");
    free(sorted);
}

void standin_paper_render(const struct standin_paper *paper, struct oneib_text *text)
{
    oneib_text_printf(text,
                      "<DOCUMENT><ID>%" PRIu32 "</ID><UID>%d</UID><GID>%d</GID>"
                      "<UNAME>%s</UNAME><GNAME>%s</GNAME><NAME>%s</NAME><TYPE>%" PRIu32 "</TYPE>",
                      paper->id, paper->uid, paper->gid, paper->uid == 0 ? "oneadmin" : "user",
                      paper->gid == 0 ? "oneadmin" : "users", paper->name, paper->type);
    render_rights(paper, text);
    render_template(paper, text);
    oneib_text_append(text, "</DOCUMENT>");
}

void standin_papers_clear(struct standin_papers *papers)
{
    for (size_t i = 0; i < papers->count; i++)
        free_paper(papers->items[i]);
    free(papers->items);
    *papers = (struct standin_papers){0};
}
