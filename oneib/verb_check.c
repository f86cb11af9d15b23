// SPDX-License-Identifier: Apache-2.0
#include "oneib/verb_check.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "command/json.h"
#include "oneib/options.h"
#include "oneib/print.h"
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void oneib_check_add(struct oneib_checks *checks, enum oneib_check_status status, const char *name,
                     const char *fix, const char *format, ...)
{
    struct oneib_check check = {.status = status, .name = name};
    struct oneib_text text = {0};
    va_list arguments;
    va_start(arguments, format);
    oneib_text_vprintf(&text, format, arguments);
    va_end(arguments);
    check.text = text.data;
    check.fix = fix ? oneib_strdup(fix) : NULL;
    ONEIB_APPEND(checks->items, checks->count, checks->capacity, check);
}

void oneib_check_add_error(struct oneib_checks *checks, enum oneib_check_status status,
                           const char *name, const char *fix, const struct oneib_error *err)
{
    const char *end = NULL;
    for (const char *next = err->text; (next = strstr(next, "; ")); next += 2)
        end = next;
    oneib_check_add(checks, status, name, fix || !end ? fix : end + 2, "%.*s",
                    (int)(end ? end - err->text : (ptrdiff_t)strlen(err->text)), err->text);
}

void oneib_check_append_front_end(const char *self_contained, const char *packaged,
                                  struct oneib_text *path)
{
    const char *location = getenv("ONE_LOCATION");
    if (location && *location)
        oneib_text_printf(path, "%s%s", location, self_contained);
    else
        oneib_text_append(path, packaged);
}

static void clear_checks(struct oneib_checks *checks)
{
    for (size_t i = 0; i < checks->count; i++) {
        free(checks->items[i].text);
        free(checks->items[i].fix);
    }
    free(checks->items);
    *checks = (struct oneib_checks){0};
}

static const struct {
    const char *name;
    enum oneib_style style;
} statuses[] = {
    [ONEIB_CHECK_OK] = {"ok", ONEIB_GOOD},
    [ONEIB_CHECK_WARN] = {"warn", ONEIB_CHANGED},
    [ONEIB_CHECK_FAIL] = {"fail", ONEIB_BAD},
};

static void append_fix(const char *fix, struct oneib_text *text)
{
    const char *line = fix;
    while (line && *line) {
        const size_t length = strcspn(line, "\n");
        oneib_autotext struct oneib_text copy = {0};
        oneib_text_append_bytes(&copy, line, length);
        oneib_text_append(text, "      ");
        oneib_append_message(text, copy.data ? copy.data : "");
        oneib_text_append(text, "\n");
        line += length + (line[length] == '\n');
    }
}

static int print_text(const struct oneib_run *run, const struct oneib_checks *checks,
                      struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    for (size_t i = 0; i < checks->count; i++) {
        const struct oneib_check *check = &checks->items[i];
        const char *name = statuses[check->status].name;
        oneib_paint(&text, run->color_out, statuses[check->status].style, "%s", name);
        oneib_text_printf(&text, "%*s%s: ", (int)(6 - strlen(name)), "", check->name);
        oneib_append_message(&text, check->text);
        oneib_text_append(&text, "\n");
        append_fix(check->fix, &text);
    }
    return oneib_write_out(&text, err);
}

static bool any_failed(const struct oneib_checks *checks)
{
    for (size_t i = 0; i < checks->count; i++)
        if (checks->items[i].status == ONEIB_CHECK_FAIL)
            return true;
    return false;
}

static int print_json(const struct oneib_checks *checks, struct oneib_error *err)
{
    json_t *array = json_array();
    for (size_t i = 0; i < checks->count; i++) {
        const struct oneib_check *check = &checks->items[i];
        oneib_json_append(&array,
                          json_pack("{s:s, s:s, s:o, s:o}", "status", statuses[check->status].name,
                                    "check", check->name, "text", oneib_json_text(check->text),
                                    "fix", oneib_json_text(check->fix)));
    }
    return oneib_json_write(
        json_pack("{s:b, s:o}", "ok", (int)!any_failed(checks), "checks", array), err);
}

/* Without a configuration nobody knows where to look further. */
static void check_everything(const struct oneib_run *run, struct oneib_checks *checks)
{
    static const char name[] = "configuration";
    const char *path = run->values[ONEIB_OPTION_CONFIG];
    oneib_autosession struct oneib_session session;
    struct oneib_error err;

    if (oneib_session_begin(run, &session, &err) < 0) {
        oneib_check_add(checks, ONEIB_CHECK_FAIL, name,
                        "oneib.conf(5) has every key with its range and default", "%s", err.text);
        return;
    }
    const bool absent = !path && access(ONEIB_CONFIG_DEFAULT_PATH, F_OK) < 0;
    oneib_check_add(checks, ONEIB_CHECK_OK, name, NULL, "%s%s",
                    path ? path : ONEIB_CONFIG_DEFAULT_PATH, absent ? " is absent: defaults" : "");
    oneib_check_cloud(&session, checks);
    oneib_check_sunstone(checks);
    oneib_check_monitoring(checks);
    oneib_check_daemons(&session, checks);
    oneib_check_node(checks);
    oneib_check_fabric(&session, checks);
    oneib_check_ufm(&session, checks);
    oneib_check_opensm(&session.config, checks);
    oneib_check_keys(&session, checks);
    oneib_check_qos(&session.config, checks);
    oneib_check_links(&session.config, checks);
    oneib_check_files(&session.config, checks);
}

static enum oneib_exit print_config(const struct oneib_run *run, struct oneib_error *err)
{
    if (run->json)
        return oneib_usage(run->verb, err, "option '--json' is not valid with 'check --config'");

    oneib_autosession struct oneib_session session;
    oneib_autotext struct oneib_text text = {0};
    if (oneib_session_begin(run, &session, err) < 0)
        return ONEIB_EXIT_FAILURE;
    oneib_config_render(&session.config, &text);
    return oneib_write_out(&text, err) < 0 ? ONEIB_EXIT_FAILURE : ONEIB_EXIT_DONE;
}

static enum oneib_exit run_check(const struct oneib_run *run, struct oneib_error *err)
{
    if (run->shows_config)
        return print_config(run, err);

    oneib_auto(clear_checks) struct oneib_checks checks = {0};
    check_everything(run, &checks);
    if ((run->json ? print_json(&checks, err) : print_text(run, &checks, err)) < 0)
        return ONEIB_EXIT_FAILURE;
    return any_failed(&checks) ? ONEIB_EXIT_DIFFERENCE : ONEIB_EXIT_DONE;
}

const struct oneib_verb oneib_verb_check = {
    .name = "check",
    .summary = "diagnose this installation",
    .help = "usage: oneib check [--json]\n"
            "       oneib [--config FILE] check --config\n"
            "\n"
            "Looks at the configuration, OpenNebula, this host's virtual functions, the\n"
            "fabric, opensm and its files.\n"
            "Changes nothing. Exits 1 when something fails.\n"
            "\n"
            "  --config  as the last word: print the effective configuration and nothing else\n"
            "\n"
            "example:\n"
            "  $ oneib check --config | less\n",
    .lone_config = true,
    .run = run_check,
};
