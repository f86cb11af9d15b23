// SPDX-License-Identifier: Apache-2.0
/*
 * Programs under their units' restrictions. systemd's filter cannot be had without systemd, so a
 * program is watched at work (strace), and what it did is held against what its unit allows: system
 * calls, families of sockets, memory that is writable and executable. Include it after cmocka.h.
 */
#ifndef ONEIB_TEST_UNIT_FILTER_H
#define ONEIB_TEST_UNIT_FILTER_H

#include "base/array.h"
#include "skip.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Refused with EPERM, and good for nothing else: the owner of the file that is replaced is kept
 * where the process may; libzmq's keys are kept from swapping where it may. */
static const char *const may_be_refused[] = {"fchown", "mlock", "munlock", NULL};

/* ---- sets of names --------------------------------------------------------------------------- */

struct names {
    char **items;
    size_t count, capacity;
};

static inline bool has_name(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return true;
    return false;
}

static inline void add_name(struct names *names, const char *name)
{
    if (has_name(names, name))
        return;
    ONEIB_APPEND(names->items, names->count, names->capacity, strdup(name));
}

static inline void remove_name(struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0) {
            free(names->items[i]);
            names->items[i] = names->items[--names->count];
            return;
        }
}

static inline void clear_names(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
    *names = (struct names){0};
}

/* ---- what the unit allows -------------------------------------------------------------------- */

/* A call, or a group with those in it, which systemd names. */
static inline void expand(const char *name, struct names *calls)
{
    if (name[0] != '@') {
        add_name(calls, name);
        return;
    }
    char line[256];
    snprintf(line, sizeof line, "systemd-analyze syscall-filter %s", name);
    FILE *pipe = popen(line, "r");
    assert_non_null(pipe);
    while (fgets(line, sizeof line, pipe)) {
        char word[128];
        if (line[0] == ' ' && sscanf(line, "%127s", word) == 1 && word[0] != '#')
            expand(word, calls);
    }
    if (pclose(pipe) != 0)
        fail_msg("systemd-analyze does not know %s", name);
}

/* "a b" allows, "~a b" takes away. */
static inline void apply_filter(char *value, struct names *allowed)
{
    const bool removes = value[0] == '~';
    char *rest = NULL;
    for (char *word = strtok_r(value + removes, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        struct names calls = {0};
        expand(word, &calls);
        for (size_t i = 0; i < calls.count; i++)
            (removes ? remove_name : add_name)(allowed, calls.items[i]);
        clear_names(&calls);
    }
}

struct unit {
    struct names calls, families;
};

/* The unit's file, as it is installed. */
static inline void read_unit(const char *path, struct unit *unit)
{
    static const char filter[] = "SystemCallFilter=", families[] = "RestrictAddressFamilies=";
    char line[512];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, filter, strlen(filter)) == 0)
            apply_filter(line + strlen(filter), &unit->calls);
        if (strncmp(line, families, strlen(families)) == 0)
            apply_filter(line + strlen(families), &unit->families);
    }
    fclose(file);
    assert_true(unit->calls.count > 100);
    assert_true(unit->families.count > 0);
    for (size_t i = 0; may_be_refused[i]; i++)
        add_name(&unit->calls, may_be_refused[i]);
}

static inline void clear_unit(struct unit *unit)
{
    clear_names(&unit->calls);
    clear_names(&unit->families);
}

/* ---- what was done --------------------------------------------------------------------------- */

/* "1234  socket(AF_UNIX, ..." gives socket; false for signals, ends, and calls that go on. */
static inline bool call_of(const char *line, char name[64], const char **arguments)
{
    return sscanf(line, "%*d %63[a-z0-9_](", name) == 1 && (*arguments = strchr(line, '(')) != NULL;
}

static inline bool is_allowed(const struct unit *unit, const char *name, const char *arguments)
{
    char family[32];
    if (!has_name(&unit->calls, name))
        return false;
    if (strcmp(name, "socket") == 0 && sscanf(arguments, "(%31[A-Z0-9_]", family) == 1)
        return has_name(&unit->families, family);
    return !strstr(arguments, "PROT_WRITE|PROT_EXEC");
}

static inline void must_be_allowed(const struct unit *unit, const char *trace)
{
    char line[4096], name[64];
    const char *arguments;
    size_t count = 0, wrong = 0;
    FILE *file = fopen(trace, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (!call_of(line, name, &arguments))
            continue;
        count++;
        if (!is_allowed(unit, name, arguments) && wrong++ < 20)
            print_error("the unit does not allow: %s", line);
    }
    fclose(file);
    assert_true(count > 50);
    assert_int_equal(wrong, 0);
}

/* ---- tools ----------------------------------------------------------------------------------- */

static inline void need(const char *tool)
{
    char line[128];
    snprintf(line, sizeof line, "command -v %s >/dev/null", tool);
    if (system(line) == 0)
        return;
    skip_because("there is no %s here", tool);
}

static inline void need_permission_to_trace(void)
{
    if (system("strace -qq -o /dev/null true 2>/dev/null") == 0)
        return;
    skip_because("processes cannot be traced here");
}

#endif
