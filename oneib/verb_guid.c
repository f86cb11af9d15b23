// SPDX-License-Identifier: Apache-2.0
#include "command/json.h"
#include "ib/guid.h"
#include "oneib/options.h"
#include "oneib/print.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static enum oneib_exit encode(const struct oneib_run *run, struct oneib_guid_parts *parts,
                              struct oneib_error *err)
{
    if (run->word_count < 3)
        return oneib_usage(run->verb, err, "missing argument %s",
                           run->word_count < 2 ? "VMID" : "NICID");

    uint64_t vm_id, nic_id, site = 0;
    const char *site_word = run->values[ONEIB_OPTION_SITE];
    if (oneib_usage_number(run->verb, "VMID", run->words[1], UINT32_MAX, &vm_id, err) ||
        oneib_usage_number(run->verb, "NICID", run->words[2], ONEIB_NIC_ID_MAX, &nic_id, err) ||
        (site_word && oneib_usage_number(run->verb, "--site", site_word, UINT16_MAX, &site, err)))
        return ONEIB_EXIT_USAGE;

    *parts = (struct oneib_guid_parts){
        .site = (uint16_t)site,
        .vm_id = (uint32_t)vm_id,
        .nic_id = (uint8_t)nic_id,
    };
    return ONEIB_EXIT_DONE;
}

static enum oneib_exit decode(const struct oneib_run *run, struct oneib_guid_parts *parts,
                              struct oneib_error *err)
{
    const char *word = run->words[1];
    oneib_guid guid;

    if (run->word_count < 2)
        return oneib_usage(run->verb, err, "missing argument GUID");
    if (run->word_count > 2)
        return oneib_usage_unexpected(run, 2, err);
    if (oneib_given(run, ONEIB_OPTION_SITE))
        return oneib_usage(run->verb, err, "option '--site' is valid only with 'guid encode'");
    if (!oneib_guid_parse(word, &guid))
        return oneib_usage(run->verb, err, "invalid GUID '%s': expected such as 0x0200000000002a01",
                           word);
    if (!oneib_guid_decode(guid, parts))
        return oneib_usage(run->verb, err, "foreign GUID '%s': oneib's GUIDs begin with 0x02",
                           word);
    return ONEIB_EXIT_DONE;
}

static enum oneib_exit print_json(const struct oneib_guid_parts *parts, oneib_guid guid,
                                  struct oneib_error *err)
{
    json_t *document =
        json_pack("{s:o, s:i, s:i, s:I}", "guid", oneib_json_guid(guid), "nic", (int)parts->nic_id,
                  "site", (int)parts->site, "vm", (json_int_t)parts->vm_id);
    return oneib_json_write(document, err) < 0 ? ONEIB_EXIT_FAILURE : ONEIB_EXIT_DONE;
}

static enum oneib_exit run_guid(const struct oneib_run *run, struct oneib_error *err)
{
    const bool encoding = strcmp(run->words[0], "encode") == 0;
    if (!encoding && strcmp(run->words[0], "decode") != 0)
        return oneib_usage_invalid(run, 0, "encode or decode", err);

    struct oneib_guid_parts parts;
    if ((encoding ? encode : decode)(run, &parts, err) != ONEIB_EXIT_DONE)
        return ONEIB_EXIT_USAGE;

    const oneib_guid guid = oneib_guid_encode(parts.site, parts.vm_id, parts.nic_id);
    if (run->json)
        return print_json(&parts, guid, err);
    if (encoding)
        printf("0x%016" PRIx64 "\n", guid);
    else
        printf("site %u vm %u nic %u\n", parts.site, parts.vm_id, parts.nic_id);
    return ONEIB_EXIT_DONE;
}

const struct oneib_verb oneib_verb_guid = {
    .name = "guid",
    .summary = "GUIDs: site, VM and NIC, to and from a GUID",
    .help = "usage: oneib guid encode VMID NICID [--site N]\n"
            "       oneib guid decode GUID\n"
            "\n"
            "The GUID of an attachment is 02 SS SS VV VV VV VV NN: site, VM id, NIC id.\n"
            "\n"
            "  --site N    the site's number, 0-65535 (default 0)\n"
            "\n"
            "example:\n"
            "  $ oneib guid decode 0x0200000000002a01\n"
            "  site 0 vm 42 nic 1\n",
    .options = ONEIB_TAKES(ONEIB_OPTION_SITE),
    .required = {"encode or decode"},
    .words_max = 3,
    .run = run_guid,
};
