// SPDX-License-Identifier: Apache-2.0
#include "command/json.h"
#include "ib/dummy_mac.h"
#include "oneib/options.h"
#include "oneib/print.h"
#include <stdio.h>
#include <string.h>

struct dummy_mac {
    uint32_t ipv4;
    unsigned index;
    char text[ONEIB_MAC_TEXT_SIZE];
};

static enum oneib_exit encode(const struct oneib_run *run, struct dummy_mac *mac,
                              struct oneib_error *err)
{
    uint64_t index = 0;
    if (oneib_given(run, ONEIB_OPTION_INDEX) &&
        oneib_usage_number(run->verb, "--index", run->values[ONEIB_OPTION_INDEX],
                           ONEIB_DUMMY_MAC_INDEX_MAX, &index, err) != ONEIB_EXIT_DONE)
        return ONEIB_EXIT_USAGE;
    if (!oneib_ipv4_parse(run->words[1], &mac->ipv4))
        return oneib_usage(run->verb, err, "invalid IPv4 address '%s': expected such as 10.20.0.10",
                           run->words[1]);
    mac->index = (unsigned)index;
    oneib_dummy_mac_encode(mac->ipv4, mac->index, mac->text);
    return ONEIB_EXIT_DONE;
}

static enum oneib_exit decode(const struct oneib_run *run, struct dummy_mac *mac,
                              struct oneib_error *err)
{
    if (oneib_given(run, ONEIB_OPTION_INDEX))
        return oneib_usage(run->verb, err, "option '--index' is valid only with 'mac encode'");
    if (!oneib_dummy_mac_decode(run->words[1], &mac->ipv4, &mac->index))
        return oneib_usage(run->verb, err,
                           "invalid dummy MAC '%s': expected such as aa:00:0a:14:00:0a",
                           run->words[1]);
    /* Both directions print the MAC in the one spelling. */
    oneib_dummy_mac_encode(mac->ipv4, mac->index, mac->text);
    return ONEIB_EXIT_DONE;
}

static enum oneib_exit print_json(const struct dummy_mac *mac, struct oneib_error *err)
{
    char address[ONEIB_IPV4_TEXT_SIZE];
    oneib_ipv4_format(mac->ipv4, address);
    json_t *document = json_pack("{s:s, s:i, s:s}", "address", address, "index", (int)mac->index,
                                 "mac", mac->text);
    return oneib_json_write(document, err) < 0 ? ONEIB_EXIT_FAILURE : ONEIB_EXIT_DONE;
}

static enum oneib_exit run_mac(const struct oneib_run *run, struct oneib_error *err)
{
    struct dummy_mac mac = {0};
    const bool encoding = strcmp(run->words[0], "encode") == 0;
    if (!encoding && strcmp(run->words[0], "decode") != 0)
        return oneib_usage_invalid(run, 0, "encode or decode", err);
    if (run->word_count < 2)
        return oneib_usage(run->verb, err, "missing argument %s", encoding ? "IPV4" : "MAC");

    if ((encoding ? encode : decode)(run, &mac, err) != ONEIB_EXIT_DONE)
        return ONEIB_EXIT_USAGE;
    if (run->json)
        return print_json(&mac, err);
    if (encoding) {
        puts(mac.text);
    } else {
        char address[ONEIB_IPV4_TEXT_SIZE];
        oneib_ipv4_format(mac.ipv4, address);
        printf("%s index %u\n", address, mac.index);
    }
    return ONEIB_EXIT_DONE;
}

const struct oneib_verb oneib_verb_mac = {
    .name = "mac",
    .summary = "dummy MACs: the IPoIB address of an interface, to and from a MAC",
    .help = "usage: oneib mac encode IPV4 [--index N]\n"
            "       oneib mac decode MAC\n"
            "\n"
            "A dummy MAC tells a guest the address of its N-th InfiniBand interface.\n"
            "\n"
            "  --index N   the interface's index in the VM, 0-15 (default 0)\n"
            "\n"
            "example:\n"
            "  $ oneib mac encode 10.20.0.10\n"
            "  aa:00:0a:14:00:0a\n",
    .options = ONEIB_TAKES(ONEIB_OPTION_INDEX),
    .required = {"encode or decode"},
    .words_max = 2,
    .run = run_mac,
};
