// SPDX-License-Identifier: Apache-2.0
#include "oneib-vf/options.h"
#include "base/escape.h"
#include "base/number.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX 64 /* of a word that is not understood */

const char oneib_vf_help[] =
    "usage: oneib-vf assign --vm N --nic N (--pkey 0xKEY | --no-pkey) [option ...]\n"
    "       oneib-vf release --vm N [--nic N | --vf PCI [--in-use PCI] ...]\n"
    "       oneib-vf show\n"
    "       oneib-vf watch [--once]\n"
    "\n"
    "Gives InfiniBand virtual functions of this host to NICs of VMs, and takes them back.\n"
    "\n"
    "  assign          a closed virtual function for the NIC: its GUID, then its key;\n"
    "                  prints its record\n"
    "  release         close what the VM or the NIC has, and take its GUID away\n"
    "  show            the records of all that are given\n"
    "  watch           keep open ones where their keys are; SIGHUP: look now\n"
    "\n"
    "  --vm N          the VM\n"
    "  --nic N         its NIC\n"
    "  --pkey 0xKEY    the 15-bit key of its network\n"
    "  --no-pkey       it has none: hold a virtual function, closed\n"
    "  --limited       the NIC may be a limited member only\n"
    "  --device NAME[:PORT]\n"
    "                  the adapter; without it, the only one\n"
    "  --vf PCI        this virtual function, 0000:81:00.1\n"
    "  --numa N        rather one of this NUMA node\n"
    "  --defer-guid    another host's port may still have the GUID: do not set it yet\n"
    "  --in-use PCI    a libvirt domain has this one; may be repeated\n"
    "  --once          look once, and end\n"
    "  --help\n"
    "  --version\n"
    "\n"
    "exit status: 0 done, 2 usage, 3 failure\n"
    "\n"
    "oneib-vf(8) says all.\n";

static int refuse(const char *what, const char *word, struct oneib_error *err)
{
    oneib_autotext struct oneib_text shown = {0};
    oneib_text_append_escaped(&shown, word, SHOWN_MAX);
    return oneib_fail(err, ONEIB_ERROR_INPUT, "%s\"%s\"; see 'oneib-vf --help'", what,
                      shown.data ? shown.data : "");
}

/* ---- values
 * ------------------------------------------------------------------------- */

static bool read_vm(const char *value, struct oneib_vf_options *options)
{
    uint64_t id;
    /* oned's ids are C ints. */
    if (!oneib_parse_decimal(value, INT32_MAX, &id))
        return false;
    options->assignment.vm_id = (uint32_t)id;
    return true;
}

static bool read_nic(const char *value, struct oneib_vf_options *options)
{
    uint64_t id;
    if (!oneib_parse_decimal(value, ONEIB_NIC_ID_MAX, &id))
        return false;
    options->assignment.nic_id = (uint8_t)id;
    options->has_nic = true;
    return true;
}

static bool read_pkey(const char *value, struct oneib_vf_options *options)
{
    uint64_t pkey;
    if (!oneib_parse_hex(value, ONEIB_PKEY_LAST, &pkey) || pkey < ONEIB_PKEY_FIRST)
        return false;
    options->assignment.pkey = (oneib_pkey)pkey;
    return true;
}

static bool read_no_pkey(const char *value, struct oneib_vf_options *options)
{
    (void)value;
    options->assignment.pkey = 0;
    return true;
}

static bool read_limited(const char *value, struct oneib_vf_options *options)
{
    (void)value;
    return options->assignment.limited = true;
}

static bool read_device(const char *value, struct oneib_vf_options *options)
{
    return oneib_phydev_parse(value, strlen(value), options->assignment.device,
                              &options->assignment.port);
}

static bool read_vf(const char *value, struct oneib_vf_options *options)
{
    return options->assignment.has_vf = oneib_pci_parse(value, &options->assignment.vf);
}

static bool read_numa(const char *value, struct oneib_vf_options *options)
{
    uint64_t node;
    if (!oneib_parse_decimal(value, INT16_MAX, &node))
        return false;
    options->assignment.numa_node = (int16_t)node;
    return true;
}

static bool read_defer_guid(const char *value, struct oneib_vf_options *options)
{
    (void)value;
    return options->assignment.defer_guid = true;
}

static bool read_once(const char *value, struct oneib_vf_options *options)
{
    (void)value;
    return options->once = true;
}

/* There is room for as many as there are words. */
static bool read_in_use(const char *value, struct oneib_vf_options *options)
{
    return oneib_pci_parse(value, &options->in_use[options->assignment.in_use_count++]);
}

/* ---- options
 * ------------------------------------------------------------------------- */

enum {
    ASSIGN = 1u << ONEIB_VF_ASSIGN,
    RELEASE = 1u << ONEIB_VF_RELEASE,
    WATCH = 1u << ONEIB_VF_WATCH,
};

enum option_id {
    VM,
    NIC,
    PKEY,
    NO_PKEY,
    LIMITED,
    DEVICE,
    VF,
    NUMA,
    DEFER_GUID,
    IN_USE,
    ONCE,
    OPTIONS,
};

struct option {
    const char *name;
    unsigned verbs;
    bool is_alone, repeats;
    bool (*read)(const char *value, struct oneib_vf_options *options);
};

static const struct option known[OPTIONS] = {
    [VM] = {.name = "--vm", .verbs = ASSIGN | RELEASE, .read = read_vm},
    [NIC] = {.name = "--nic", .verbs = ASSIGN | RELEASE, .read = read_nic},
    [PKEY] = {.name = "--pkey", .verbs = ASSIGN, .read = read_pkey},
    [NO_PKEY] = {.name = "--no-pkey", .verbs = ASSIGN, .is_alone = true, .read = read_no_pkey},
    [LIMITED] = {.name = "--limited", .verbs = ASSIGN, .is_alone = true, .read = read_limited},
    [DEVICE] = {.name = "--device", .verbs = ASSIGN, .read = read_device},
    [VF] = {.name = "--vf", .verbs = ASSIGN | RELEASE, .read = read_vf},
    [NUMA] = {.name = "--numa", .verbs = ASSIGN, .read = read_numa},
    [DEFER_GUID] = {.name = "--defer-guid",
                    .verbs = ASSIGN,
                    .is_alone = true,
                    .read = read_defer_guid},
    [IN_USE] = {.name = "--in-use",
                .verbs = ASSIGN | RELEASE,
                .repeats = true,
                .read = read_in_use},
    [ONCE] = {.name = "--once", .verbs = WATCH, .is_alone = true, .read = read_once},
};

static const struct option *find_option(const char *word, enum oneib_vf_verb verb)
{
    for (size_t i = 0; i < OPTIONS; i++)
        if (strcmp(known[i].name, word) == 0)
            return (known[i].verbs & 1u << verb) != 0 ? &known[i] : NULL;
    return NULL;
}

/* *seen has bit n for option n. */
static int read_options(char **words, struct oneib_vf_options *options, unsigned *seen,
                        struct oneib_error *err)
{
    for (char **word = words; *word; word++) {
        const struct option *option = find_option(*word, options->verb);
        if (!option)
            return refuse("unknown option: ", *word, err);
        const unsigned bit = 1u << (option - known);
        if ((*seen & bit) != 0 && !option->repeats)
            return refuse("given twice: ", *word, err);
        *seen |= bit;
        if (!option->is_alone && !*++word)
            return refuse("a value is missing after ", option->name, err);
        if (!option->read(*word, options)) {
            char what[64];
            stpcpy(stpcpy(what, option->name), " cannot be ");
            return refuse(what, *word, err);
        }
    }
    return 0;
}

static int check_assign(unsigned seen, struct oneib_error *err)
{
    if ((seen & 1u << VM) == 0 || (seen & 1u << NIC) == 0)
        return refuse("--vm and --nic are needed by ", "assign", err);
    if (((seen & 1u << PKEY) != 0) == ((seen & 1u << NO_PKEY) != 0))
        return refuse("one of --pkey and --no-pkey is needed by ", "assign", err);
    return 0;
}

static int check_release(unsigned seen, struct oneib_error *err)
{
    if ((seen & 1u << VM) == 0)
        return refuse("--vm is needed by ", "release", err);
    if ((seen & 1u << NIC) != 0 && (seen & 1u << VF) != 0)
        return refuse("not with --nic: ", "--vf", err);
    if ((seen & 1u << IN_USE) != 0 && (seen & 1u << VF) == 0)
        return refuse("only with --vf: ", "--in-use", err);
    return 0;
}

static int check_words(enum oneib_vf_verb verb, unsigned seen, struct oneib_error *err)
{
    if (verb == ONEIB_VF_ASSIGN)
        return check_assign(seen, err);
    return verb == ONEIB_VF_RELEASE ? check_release(seen, err) : 0;
}

static int read_verb(const char *word, enum oneib_vf_verb *verb, struct oneib_error *err)
{
    static const char *const names[] = {
        [ONEIB_VF_ASSIGN] = "assign", [ONEIB_VF_RELEASE] = "release",
        [ONEIB_VF_SHOW] = "show",     [ONEIB_VF_WATCH] = "watch",
        [ONEIB_VF_HELP] = "--help",   [ONEIB_VF_VERSION] = "--version",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(word, names[i]) == 0) {
            *verb = (enum oneib_vf_verb)i;
            return 0;
        }
    return refuse("unknown verb: ", word, err);
}

int oneib_vf_options_read(int argc, char **argv, struct oneib_vf_options *options,
                          struct oneib_error *err)
{
    unsigned seen = 0;
    *options = (struct oneib_vf_options){.assignment.numa_node = -1};
    if (argc < 2)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "a verb is missing; see 'oneib-vf --help'");
    if (read_verb(argv[1], &options->verb, err) < 0)
        return -1;
    options->in_use = calloc((size_t)argc, sizeof *options->in_use);
    if (!options->in_use)
        return oneib_fail_memory(err);
    options->assignment.in_use = options->in_use;
    if (read_options(argv + 2, options, &seen, err) == 0 &&
        check_words(options->verb, seen, err) == 0)
        return 0;
    oneib_vf_options_clear(options);
    return -1;
}

void oneib_vf_options_clear(struct oneib_vf_options *options)
{
    free(options->in_use);
    *options = (struct oneib_vf_options){0};
}
