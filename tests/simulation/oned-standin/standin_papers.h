// SPDX-License-Identifier: Apache-2.0
/* oned's documents (one.document.*), here "papers", for standin_documents.c has documents of
 * another kind: a type, an owner, rights, and a template that keeps vectors of one name apart. */
#ifndef STANDIN_PAPERS_H
#define STANDIN_PAPERS_H

#include "base/error.h"
#include "base/text.h"
#include "standin_attributes.h"
#include <stdbool.h>
#include <stdint.h>

struct standin_paper_line {
    char *name;
    char *value; /* NULL: it is a vector */
    struct standin_attributes vector;
};

struct standin_paper {
    uint32_t id, type;
    int uid, gid;
    bool gone;
    bool locked;
    bool rights[9]; /* owner's, group's, others': use, manage, admin */
    char *name;
    struct standin_paper_line *lines;
    size_t line_count, line_capacity;
};

struct standin_papers {
    struct standin_paper **items;
    size_t count, capacity;
};

/* NULL with NOT_FOUND and oned's words. */
struct standin_paper *standin_paper_find(const struct standin_papers *papers, uint32_t id,
                                         struct oneib_error *err);
/* text: lines NAME = VALUE and NAME = [ NAME = "VALUE", ... ]. */
int standin_paper_make(struct standin_papers *papers, uint32_t type, int uid, int gid,
                       const char *text, uint32_t *id, struct oneib_error *err);
int standin_paper_write(struct standin_paper *paper, const char *text, bool append,
                        struct oneib_error *err);
void standin_paper_render(const struct standin_paper *paper, struct oneib_text *text);
void standin_papers_clear(struct standin_papers *papers);

#endif
