// SPDX-License-Identifier: Apache-2.0
/* What the demo says: a line for the steps that are alike, or the matrix drawn in place. */
#include "base/clock.h"
#include "stage.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHAT_SIZE 96
#define WHAT "38" /* columns */

/* Colours that differ for colour-blind eyes too, in the order of core/topology/topology_palette.c:
 * blue, orange, green of the 256. */
static const int tenant_colors[DEMO_TENANTS] = {33, 208, 35};

void demo_begin_color(const struct demo_stage *stage, size_t tenant)
{
    if (stage->color)
        printf("\033[38;5;%dm", tenant_colors[tenant]);
}

void demo_end_color(const struct demo_stage *stage)
{
    if (stage->color)
        fputs("\033[0m", stdout);
}

void demo_tell_legend(const struct demo_stage *stage)
{
    if (stage->animate)
        printf("The matrix: a block says that all VMs of a tenant on one host reach those of\n"
               "a tenant on another, a dot that none does. It is measured after each VM,\n"
               "through all %d x %d VFs, free ones too: each VM must reach all VMs of its\n"
               "tenant and no others.\n\n",
               DEMO_VFS, DEMO_VFS);
    else
        printf("A line tells what happens to VMs of a tenant, and how long the slowest took\n"
               "until the fabric had followed. After each VM it is measured who reaches whom,\n"
               "through all %d x %d VFs, free ones too (for a line of four VMs four times):\n"
               "each VM must reach all VMs of its tenant and no others.\n\n"
               "   TIME  TENANT   %-" WHAT "s IN FORCE PAIRS CHECKED\n",
               DEMO_VFS, DEMO_VFS, "WHAT HAPPENS");
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* "12,544" */
struct number {
    char text[32];
};

static struct number with_commas(size_t value)
{
    char digits[24];
    struct number number = {{0}};
    const int length = snprintf(digits, sizeof digits, "%zu", value);
    size_t at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            number.text[at++] = ',';
        number.text[at++] = digits[i];
    }
    return number;
}

struct line {
    char text[WHAT_SIZE];
    size_t length;
};

static void add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length =
        vsnprintf(line->text + line->length, sizeof line->text - line->length, format, arguments);
    va_end(arguments);
    line->length += length > 0 ? (size_t)length : 0;
    if (line->length >= sizeof line->text)
        line->length = sizeof line->text - 1;
}

static int compare_numbers(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* "3 7-9 12", each with the prefix. */
static void add_numbers(uint32_t *numbers, size_t count, const char *prefix, struct line *line)
{
    qsort(numbers, count, sizeof *numbers, compare_numbers);
    for (size_t i = 0, last; i < count; i = last + 1) {
        for (last = i; last + 1 < count && numbers[last + 1] <= numbers[last] + 1;)
            last++;
        add(line, " %s%" PRIu32, prefix, numbers[i]);
        if (numbers[last] != numbers[i])
            add(line, "-%s%" PRIu32, prefix, numbers[last]);
    }
}

static void add_vms(const struct demo_group *group, struct line *line)
{
    uint32_t vms[DEMO_GROUP], hosts[DEMO_GROUP];
    for (size_t i = 0; i < group->count; i++) {
        vms[i] = group->vms[i].id;
        hosts[i] = (uint32_t)group->vms[i].host + 1;
    }
    add(line, group->count == 1 ? " VM" : " VMs");
    add_numbers(vms, group->count, "", line);
    add(line, " on");
    add_numbers(hosts, group->count, "H", line);
}

static void describe(const struct demo_stage *stage, const struct demo_group *group,
                     struct line *line)
{
    const struct demo_vm *vm = &group->vms[0];
    *line = (struct line){0};
    switch (group->event) {
    case DEMO_STARTS:
    case DEMO_STOPS:
        add(line, group->event == DEMO_STARTS ? "starts" : "stops");
        add_vms(group, line);
        break;
    case DEMO_MIGRATES:
        add(line, "VM %" PRIu32 " migrates %s to %s: a VF on both", vm->id,
            demo_host_name(stage, vm->host), demo_host_name(stage, vm->moving_to));
        break;
    case DEMO_MOVES_OUT:
        add(line, "VM %" PRIu32 "'s VF on %s is closed", vm->id, demo_host_name(stage, vm->host));
        break;
    case DEMO_HAS_MOVED:
        add(line, "VM %" PRIu32 " is on %s alone", vm->id, demo_host_name(stage, vm->host));
        break;
    case DEMO_STAYS:
        add(line, "all as before");
        break;
    }
}

static void print_line(struct demo_stage *stage)
{
    const struct demo_group *group = &stage->group;
    const bool is_of_tenant = group->event != DEMO_STAYS;
    struct line what;
    describe(stage, group, &what);
    printf("%5.1f s  ", (oneib_now_ms() - stage->began_ms) / 1000);
    if (is_of_tenant)
        demo_begin_color(stage, group->tenant);
    printf("%-7s  ", is_of_tenant ? stage->tenants[group->tenant].name : "all");
    if (is_of_tenant)
        demo_end_color(stage);
    printf("%-" WHAT "s", what.text);
    if (group->took_time)
        printf("%6.0f ms", group->slowest_ms);
    else
        printf("%9s", "");
    if (stage->last_wrong > 0)
        printf("  %6zu wrong\n", stage->last_wrong);
    else
        printf("  %7s held\n", with_commas(group->count * DEMO_PAIRS).text);
}

void demo_tell_rest(struct demo_stage *stage)
{
    if (stage->group.count > 0 && !stage->animate)
        print_line(stage);
    stage->group.count = 0;
    fflush(stdout);
}

static void join_group(struct demo_stage *stage, enum demo_event event, const struct demo_vm *vm,
                       double ms)
{
    struct demo_group *group = &stage->group;
    const size_t tenant = vm ? vm->tenant : 0;
    if (group->count > 0 && (group->event != event || group->tenant != tenant))
        demo_tell_rest(stage);
    if (group->count == 0)
        *group = (struct demo_group){.event = event, .tenant = tenant};
    group->vms[group->count++] = vm ? *vm : (struct demo_vm){0};
    if (ms >= 0 && (!group->took_time || ms > group->slowest_ms)) {
        group->slowest_ms = ms;
        group->took_time = true;
    }
}

/* ---- the matrix ------------------------------------------------------------------------------ */

/* On a terminal the next one takes the place of the last. */
static void go_back(struct demo_stage *stage)
{
    if (stage->drawn_lines > 0)
        printf("\033[%uA\033[J", stage->drawn_lines);
    stage->drawn_lines = 0;
}

static void redraw(struct demo_stage *stage)
{
    struct line what;
    describe(stage, &stage->group, &what);
    go_back(stage);
    printf("%5.1f s  %s %s", (oneib_now_ms() - stage->began_ms) / 1000,
           stage->group.event == DEMO_STAYS ? "all:" : stage->tenants[stage->group.tenant].name,
           what.text);
    if (stage->group.took_time)
        printf(", in force after %.0f ms", stage->group.slowest_ms);
    putchar('\n');
    stage->drawn_lines = demo_matrix_draw(stage) + 1;
    fflush(stdout);
}

/* After which step it was. */
static int blame(const struct demo_stage *stage, enum demo_event event, const struct demo_vm *vm,
                 struct oneib_error *err)
{
    const struct demo_group group = {
        .event = event, .vms = {vm ? *vm : (struct demo_vm){0}}, .count = 1};
    const struct oneib_error why = *err;
    struct line what;
    describe(stage, &group, &what);
    return oneib_fail(err, why.code, "after \"%s %s\": %s",
                      vm ? stage->tenants[vm->tenant].name : "all", what.text, why.text);
}

int demo_step(struct demo_stage *stage, enum demo_event event, const struct demo_vm *vm, double ms,
              struct oneib_error *err)
{
    if (demo_measure(stage, err) < 0)
        return blame(stage, event, vm, err);
    stage->last_ms = ms;
    join_group(stage, event, vm, ms);
    if (stage->animate)
        redraw(stage);
    if (stage->animate || stage->group.count >= stage->group_size)
        demo_tell_rest(stage);
    return 0;
}

void demo_tell_matrix(struct demo_stage *stage, const char *title)
{
    demo_tell_rest(stage);
    go_back(stage);
    printf("\n%s\n", title);
    demo_matrix_draw(stage);
    fflush(stdout);
}

void demo_tell(struct demo_stage *stage, const char *format, ...)
{
    va_list arguments;
    demo_tell_rest(stage);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    stage->drawn_lines = 0;
    fflush(stdout);
}

/* ---- the summary ----------------------------------------------------------------------------- */

static int compare_times(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void tell_times(const char *what, struct demo_times *times)
{
    if (times->count == 0)
        return;
    qsort(times->items, times->count, sizeof *times->items, compare_times);
    printf("    %-49s %5.0f ms %5.0f ms %4zu\n", what, times->items[times->count - 1],
           times->items[times->count / 2], times->count);
}

void demo_tell_summary(struct demo_stage *stage)
{
    const char *outcome =
        stage->wrong > 0 ? "NOT all were as they should be" : "All were as they should be";
    demo_tell(stage,
              "\nWhat was checked, in %.0f s\n"
              "    %zu times, after every VM that came, went or moved: %s pairs of\n",
              (oneib_now_ms() - stage->began_ms) / 1000, stage->steps,
              with_commas(stage->pairs).text);
    if (stage->is_virtual)
        printf("    VFs, by the P_Key tables and GUIDs of their virtual ports, as the\n"
               "    stand-ins answer. %s.\n",
               outcome);
    else
        printf("    VFs, each by the maps of the hosts' adapters and the ports' P_Key tables,\n"
               "    and %s questions to the subnet administrator for a path.\n"
               "    %s.\n",
               with_commas(stage->queries).text, outcome);
    printf("%-53s %8s %8s %4s\n", "From what happens in OpenNebula until it is in force", "SLOWEST",
           "MEDIAN", "N");
    tell_times("a VM starts: its VF is open to its cluster", &stage->opened);
    tell_times("a host's last VM of a cluster ends: it is closed", &stage->gone);
    if (stage->take_over_ms > 0)
        printf("    %-49s %5.0f ms\n", "the subnet manager is killed: the standby leads",
               stage->take_over_ms);
    fflush(stdout);
}
