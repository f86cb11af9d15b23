// SPDX-License-Identifier: Apache-2.0
/* Who reaches whom, by tenant and host: a block for "all of these VMs reach all of those". */
#include "stage.h"
#include <stdio.h>

/* VFs of one tenant's VMs on one host. */
struct place {
    size_t tenant, host;
    size_t vfs[DEMO_VFS_PER_HOST]; /* indices into stage->vfs */
    size_t count;
};

struct places {
    struct place items[DEMO_TENANTS * DEMO_HOSTS];
    size_t count;
};

static void gather_place(const struct demo_stage *stage, size_t tenant, size_t host,
                         struct places *places)
{
    struct place *place = &places->items[places->count];
    *place = (struct place){.tenant = tenant, .host = host};
    for (size_t i = 0; i < stage->used_count; i++)
        if (stage->vfs[i].vm->tenant == tenant && stage->vfs[i].host == host)
            place->vfs[place->count++] = i;
    places->count += place->count > 0;
}

static void gather(const struct demo_stage *stage, struct places *places)
{
    places->count = 0;
    for (size_t tenant = 0; tenant < stage->tenant_count; tenant++)
        for (size_t host = 0; host < DEMO_HOSTS; host++)
            gather_place(stage, tenant, host, places);
}

static const char *cell(const struct demo_stage *stage, const struct place *from,
                        const struct place *to)
{
    size_t reached = 0;
    for (size_t i = 0; i < from->count; i++)
        for (size_t k = 0; k < to->count; k++)
            reached += stage->reach[from->vfs[i] * DEMO_VFS + to->vfs[k]];
    if (reached == 0)
        return " ·";
    return reached == from->count * to->count ? "██" : "??";
}

static bool begins_tenant(const struct places *places, size_t at)
{
    return at == 0 || places->items[at].tenant != places->items[at - 1].tenant;
}

/* A tenant's name over its columns, cut to them. */
static void draw_tenants(const struct demo_stage *stage, const struct places *places)
{
    printf("%17s", "");
    for (size_t at = 0; at < places->count;) {
        const size_t tenant = places->items[at].tenant;
        int width = 1;
        for (; at < places->count && places->items[at].tenant == tenant; at++)
            width += 2;
        putchar(' ');
        demo_begin_color(stage, tenant);
        if (at < places->count)
            printf("%-*.*s", width, width, stage->tenants[tenant].name);
        else
            fputs(stage->tenants[tenant].name, stdout);
        demo_end_color(stage);
    }
    putchar('\n');
}

/* "H1 2 3" */
static void draw_hosts(const struct demo_stage *stage, const struct places *places)
{
    printf("%17s", "VMs");
    for (size_t at = 0; at < places->count; at++)
        if (begins_tenant(places, at))
            printf("  %s", demo_host_name(stage, places->items[at].host));
        else
            printf(" %s", demo_host_name(stage, places->items[at].host) + 1);
    putchar('\n');
}

static void draw_row(const struct demo_stage *stage, const struct places *places, size_t row)
{
    const struct place *from = &places->items[row];
    demo_begin_color(stage, from->tenant);
    printf("  %-8.8s", begins_tenant(places, row) ? stage->tenants[from->tenant].name : "");
    demo_end_color(stage);
    printf(" %s %3zu", demo_host_name(stage, from->host), from->count);
    demo_begin_color(stage, from->tenant);
    for (size_t at = 0; at < places->count; at++)
        printf("%s%s", begins_tenant(places, at) ? "  " : "",
               cell(stage, from, &places->items[at]));
    demo_end_color(stage);
    putchar('\n');
}

unsigned demo_matrix_draw(const struct demo_stage *stage)
{
    struct places places;
    gather(stage, &places);
    if (places.count == 0)
        return 0;
    draw_tenants(stage, &places);
    draw_hosts(stage, &places);
    for (size_t row = 0; row < places.count; row++)
        draw_row(stage, &places, row);
    return (unsigned)places.count + 2;
}
