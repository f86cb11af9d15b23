// SPDX-License-Identifier: Apache-2.0
#include "ufm_orders.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void refuse(const char *line)
{
    fprintf(stderr, "ufm-standin: \"%s\" is no order\n", line);
    exit(2);
}

static bool is_on(const char *word)
{
    return strcmp(word, "on") == 0;
}

static bool take_shape(struct ufm_model *model, const char *shape, const char *value)
{
    bool *const field = strcmp(shape, "wraps") == 0   ? &model->wraps
                        : strcmp(shape, "pads") == 0  ? &model->pads
                        : strcmp(shape, "lists") == 0 ? &model->lists
                        : strcmp(shape, "404") == 0   ? &model->says_404
                                                      : NULL;
    if (field)
        *field = is_on(value);
    return field != NULL;
}

static void take_default(struct ufm_model *model, const char *guid)
{
    model->has_changed = true;
    if (strcmp(guid, "none") == 0)
        model->default_count = 0;
    else if (model->default_count < sizeof model->default_full / sizeof model->default_full[0])
        model->default_full[model->default_count++] = strtoull(guid, NULL, 16);
}

static bool take_vport(struct ufm_model *model, const char *guid, const char *port, bool is_down)
{
    if (model->vport_count == sizeof model->vports / sizeof model->vports[0])
        return false;
    model->vports[model->vport_count++] = (struct ufm_vport){
        .guid = strtoull(guid, NULL, 16), .port = strtoull(port, NULL, 16), .is_down = is_down};
    return true;
}

static bool take_release(struct ufm_model *model, const char *text)
{
    model->patch = 0;
    return sscanf(text, "%u.%u.%u", &model->major, &model->minor, &model->patch) >= 2;
}

/* What UFM is from now on. */
static bool take_state(struct ufm_model *model, const char *name, const char *first,
                       const char *second)
{
    if (strcmp(name, "release") == 0)
        return take_release(model, first);
    if (strcmp(name, "shape") == 0)
        return take_shape(model, first, second);
    if (strcmp(name, "default") == 0)
        take_default(model, first);
    else if (strcmp(name, "sa_key") == 0)
        model->sa_key = strtoull(first, NULL, 16);
    else if (strcmp(name, "m_key_per_port") == 0)
        model->one_m_key = !is_on(first);
    else if (strcmp(name, "vports") == 0)
        model->has_no_vports = !is_on(first);
    else if (strcmp(name, "vport") == 0 || strcmp(name, "vport_down") == 0)
        return take_vport(model, first, second, strcmp(name, "vport") != 0);
    else if (strcmp(name, "stamp") == 0)
        model->has_no_stamp = !is_on(first);
    else
        return false;
    return true;
}

static enum ufm_fault fault_named(const char *name)
{
    static const char *const names[] = {
        [UFM_REFUSE] = "refuse", [UFM_CUT] = "cut",   [UFM_LOSE] = "lose",
        [UFM_HALF] = "half",     [UFM_SLOW] = "slow", [UFM_RESTART] = "restart"};
    for (size_t i = UFM_REFUSE; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return (enum ufm_fault)i;
    return UFM_NONE;
}

static bool take_fault(struct ufm_orders *orders, const char *name, const char *method,
                       const char *count, unsigned milliseconds)
{
    struct ufm_order order = {.fault = fault_named(name),
                              .count = (unsigned)strtoul(count, NULL, 10),
                              .milliseconds = milliseconds};
    if (order.fault == UFM_NONE || order.count == 0 ||
        orders->count == sizeof orders->items / sizeof orders->items[0])
        return false;
    snprintf(order.method, sizeof order.method, "%.*s", (int)sizeof order.method - 1, method);
    orders->items[orders->count++] = order;
    return true;
}

static void take_line(struct ufm_orders *orders, struct ufm_model *model, const char *line)
{
    char name[32] = "", first[32] = "", second[32] = "";
    unsigned milliseconds = 0;
    if (sscanf(line, "%31s %31s %31s %u", name, first, second, &milliseconds) < 2 ||
        (!take_state(model, name, first, second) &&
         !take_fault(orders, name, first, second, milliseconds)))
        refuse(line);
}

void ufm_orders_take(struct ufm_orders *orders, const char *path, struct ufm_model *model)
{
    char line[256];
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    unlink(path);
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        take_line(orders, model, line);
    }
    fclose(file);
}

struct ufm_order ufm_orders_for(struct ufm_orders *orders, const char *method)
{
    for (unsigned i = 0; i < orders->count; i++) {
        struct ufm_order *order = &orders->items[i];
        if (strcmp(order->method, "any") != 0 && strcmp(order->method, method) != 0)
            continue;
        const struct ufm_order now = *order;
        if (--order->count == 0) {
            memmove(order, order + 1, (orders->count - i - 1) * sizeof *order);
            orders->count--;
        }
        return now;
    }
    return (struct ufm_order){.fault = UFM_NONE};
}
