// SPDX-License-Identifier: Apache-2.0
#include "stage.h"
#include <stdio.h>

/* Colours that differ for colour-blind eyes too (256-colour codes of blue, orange, green). */
static const int tenant_colors[DEMO_TENANTS] = {33, 208, 35};

/* Two rows of the matrix share one line of text. */
static const char *half_blocks(bool upper, bool lower)
{
    if (upper)
        return lower ? "█" : "▀";
    return lower ? "▄" : "·";
}

static void draw_cell(const struct demo_stage *stage, size_t column, bool upper, bool lower)
{
    if (stage->color && (upper || lower))
        printf("\033[38;5;%dm%s\033[0m", tenant_colors[stage->vfs[column].vm->tenant],
               half_blocks(upper, lower));
    else
        fputs(half_blocks(upper, lower), stdout);
}

static void draw_legend(const struct demo_stage *stage)
{
    fputs("   ", stdout);
    for (size_t t = 0; t < stage->tenant_count; t++) {
        const struct demo_tenant *tenant = &stage->tenants[t];
        if (stage->color)
            printf(" \033[38;5;%dm█\033[0m", tenant_colors[t]);
        printf(" %s: %zu VM%s, P_Key 0x%04x  ", tenant->name, tenant->vms,
               tenant->vms == 1 ? "" : "s", tenant->pkey);
    }
    putchar('\n');
}

/* On a terminal the next matrix takes the place of the last. */
static void go_back(struct demo_stage *stage)
{
    if (stage->animate && stage->drawn_lines > 0)
        printf("\033[%uA\033[J", stage->drawn_lines);
    stage->drawn_lines = 0;
}

void demo_matrix_draw(struct demo_stage *stage, const char *title, const bool *reach)
{
    const size_t count = stage->used_count;
    go_back(stage);
    printf("%s\n", title);
    for (size_t row = 0; row < count; row += 2) {
        fputs("    ", stdout);
        for (size_t column = 0; column < count; column++)
            draw_cell(stage, column, reach[row * DEMO_VFS + column],
                      row + 1 < count && reach[(row + 1) * DEMO_VFS + column]);
        putchar('\n');
    }
    draw_legend(stage);
    fflush(stdout);
    stage->drawn_lines = (unsigned)(2 + (count + 1) / 2);
}
