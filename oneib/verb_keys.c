// SPDX-License-Identifier: Apache-2.0
/* `oneib keys`: fresh keys of the management plane, and the order in which they are put in force.
 */
#include "base/cleanup.h"
#include "command/json.h"
#include "fabric/m_key_file.h"
#include "oneib/key_files.h"
#include "oneib/open.h"
#include "oneib/print.h"
#include <limits.h>
#include <stdlib.h>

#define DEFAULT_FILE "/etc/oneib/m_key"
#define STEPS_MAX 10

struct steps {
    struct oneib_text items[STEPS_MAX];
    size_t count;
};

static struct oneib_text *next_step(struct steps *steps)
{
    return &steps->items[steps->count++];
}

static void clear_steps(struct steps *steps)
{
    for (size_t i = 0; i < steps->count; i++)
        oneib_text_clear(&steps->items[i]);
}

/* ---- the order ------------------------------------------------------------------------------- */

/* Each step leaves a subnet manager and oneib that know the keys of all ports. Two subnet managers
 * with different sm_keys take no notice of each other: so the standby is stopped first. */

static void bring_files(struct steps *steps, const char *directory)
{
    oneib_text_printf(next_step(steps),
                      "Both hosts: copy %s there, readable by root alone (scp -pr).", directory);
}

static void install_key(struct steps *steps, const char *directory, const char *name,
                        const char *place, const char *then)
{
    oneib_text_printf(next_step(steps), "Both hosts: install -o oneib -g oneib -m 0400 %s/%s %s%s",
                      directory, name, place, then);
}

static void change_opensms(struct steps *steps, const char *directory, const char *unit)
{
    oneib_text_append(next_step(steps), "Standby: stop opensm.");
    oneib_text_printf(next_step(steps),
                      "Master: put the lines of %s/" ONEIB_KEY_FILE_OPENSM
                      " into opensm.conf, in place of those with the same names; chmod 600 "
                      "opensm.conf; systemctl kill --signal=HUP '%s'. If 'oneib check' said that "
                      "opensm has no configuration, restart opensm instead.",
                      directory, unit);
    oneib_text_append(
        next_step(steps),
        "Master: wait until 'oneib check' says at m-key-ports that all ports have "
        "the first M_Key. If that takes longer than a minute, send the signal again.");
    oneib_text_append(next_step(steps),
                      "Standby: the same lines into its opensm.conf, chmod 600; remove guid2mkey "
                      "from opensm's cache directory (/var/cache/opensm); start opensm.");
}

static void end_steps(struct steps *steps, const char *directory)
{
    oneib_text_printf(next_step(steps),
                      "Both hosts: 'oneib check' and 'oneib verify' find nothing; then remove %s.",
                      directory);
}

static void plan_first(struct steps *steps, const char *directory, const char *unit)
{
    bring_files(steps, directory);
    oneib_text_append(next_step(steps),
                      "Both hosts: chmod 700 /var/cache/opensm, where opensm keeps the ports' "
                      "M_Keys in a file that all may read.");
    install_key(steps, directory, ONEIB_KEY_FILE, DEFAULT_FILE,
                "; fabric = { m_key_file = \"" DEFAULT_FILE
                "\"; }; in oneib.conf; systemctl restart oneibd; 'oneib verify' finds nothing.");
    change_opensms(steps, directory, unit);
    end_steps(steps, directory);
}

static void plan_change(struct steps *steps, const char *directory, const char *place,
                        const char *unit)
{
    bring_files(steps, directory);
    install_key(steps, directory, ONEIB_KEY_FILE_BOTH, place, "; 'oneib verify' finds nothing.");
    change_opensms(steps, directory, unit);
    install_key(steps, directory, ONEIB_KEY_FILE, place, ".");
    end_steps(steps, directory);
}

/* ---- saying it ------------------------------------------------------------------------------- */

static int print_text(const char *directory, bool is_change, const struct steps *steps,
                      struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    oneib_text_printf(&text, "%s has fresh keys. Nothing uses them yet. To %s:\n\n", directory,
                      is_change ? "change to them" : "set them for the first time");
    for (size_t i = 0; i < steps->count; i++)
        oneib_text_printf(&text, "%2zu. %s\n", i + 1,
                          steps->items[i].data ? steps->items[i].data : "");
    oneib_text_append(&text, "\nWith one subnet manager its host is the master's, and the steps of "
                             "the standby fall away.\n");
    return oneib_write_out(&text, err);
}

static int print_json(const char *directory, bool is_change, const struct steps *steps,
                      struct oneib_error *err)
{
    json_t *array = json_array();
    for (size_t i = 0; i < steps->count; i++)
        oneib_json_append(&array, oneib_json_text(steps->items[i].data));
    return oneib_json_write(json_pack("{s:o, s:b, s:o}", "directory", oneib_json_text(directory),
                                      "change", (int)is_change, "steps", array),
                            err);
}

static int print_steps(const struct oneib_run *run, const char *directory,
                       const struct oneib_config *config, struct oneib_error *err)
{
    oneib_auto(clear_steps) struct steps steps = {0};
    const char *place = config->fabric.m_key_file;
    if (place)
        plan_change(&steps, directory, place, config->opensm.unit);
    else
        plan_first(&steps, directory, config->opensm.unit);
    return (run->json ? print_json : print_text)(directory, place, &steps, err);
}

/* ---- the verb -------------------------------------------------------------------------------- */

/* The old keys are needed while ports have them still. */
static int make_files(const char *directory, const char *old_file, struct oneib_error *err)
{
    oneib_auto(oneib_m_key_file_close) struct oneib_m_key_file old;
    if (oneib_m_key_file_open(old_file, &old, err) < 0)
        return -1;
    return oneib_key_files_make(directory, old_file ? &old.keys : NULL, err);
}

static enum oneib_exit run_keys(const struct oneib_run *run, struct oneib_error *err)
{
    oneib_autosession struct oneib_session session;
    if (oneib_session_begin(run, &session, err) < 0 ||
        make_files(run->words[0], session.config.fabric.m_key_file, err) < 0)
        return ONEIB_EXIT_FAILURE;
    oneib_autofree char *directory = realpath(run->words[0], NULL);
    const int result =
        print_steps(run, directory ? directory : run->words[0], &session.config, err);
    return result < 0 ? ONEIB_EXIT_FAILURE : ONEIB_EXIT_DONE;
}

const struct oneib_verb oneib_verb_keys = {
    .name = "keys",
    .summary = "fresh keys for the subnet managers, and how to put them in force",
    .help = "usage: oneib keys DIRECTORY [--json]\n"
            "\n"
            "Writes random keys (M_Key, sa_key, sm_key) into new files in DIRECTORY, which\n"
            "their owner alone can read, and prints the steps by which they are set for the\n"
            "first time, or, where fabric.m_key_file is set, changed. Prints no key, replaces\n"
            "no file, and touches neither opensm nor oneib's configuration.\n"
            "\n"
            "example:\n"
            "  # oneib keys /root/keys-2026-11\n",
    .required = {"DIRECTORY"},
    .words_max = 1,
    .run = run_keys,
};
