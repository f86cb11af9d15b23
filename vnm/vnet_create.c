// SPDX-License-Identifier: Apache-2.0
/*
 * vnet_create, run by oned on the front-end while a network is being created: checks it, and takes
 * the parent's P_Key away from a reservation; oneibd gives it one of its own. Standard output stays
 * empty, because oned would add to the network what is there.
 */
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/number.h"
#include "base/program.h"
#include "opennebula/credentials.h"
#include "sync/keys.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A network's document with all its attributes; real ones have a few KiB. */
#define INPUT_MAX ((size_t)16 << 20)

static const char help[] = "usage: vnet_create [--config FILE] NETWORK-ID <BASE64-DOCUMENT\n"
                           "Run by oned while it creates a network.\n";

static int read_network(const struct oneib_config *config, uint64_t id,
                        struct oneib_new_network *network, struct oneib_error *err)
{
    oneib_autofree char *input = NULL;
    size_t input_length, length;
    if (oneib_stream_read(STDIN_FILENO, "the network's document on standard input", INPUT_MAX,
                          &input, &input_length, err) < 0)
        return -1;
    oneib_autofree char *xml = oneib_base64_decode(input, input_length, &length);
    if (!xml)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "the network's document is not base64");
    if (oneib_new_network_parse(xml, length, config->one.vn_mad, network, err) < 0)
        return -1;
    if (network->id != id)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                          "oned asks for network %u and gives the document of network %u",
                          (unsigned)id, network->id);
    return 0;
}

static int take_parents_key(const struct oneib_config *config,
                            const struct oneib_new_network *network, struct oneib_error *err)
{
    oneib_auto(oneib_credentials_clear) struct oneib_credentials credentials = {0};
    if (oneib_credentials_find(config, &credentials, err) < 0)
        return -1;
    struct oneib_one *one = oneib_one_open(&credentials, config->one.timeout_ms, err);
    const int outcome = one ? oneib_take_parents_key(one, network, config->one.vn_mad, err) : -1;
    oneib_one_close(one);
    return outcome;
}

/* The configured session is oneibd's, whose file oneadmin may be unable to read: oneadmin has its
 * own. */
static void use_own_session(struct oneib_config *config)
{
    free(config->one.auth_file);
    config->one.auth_file = NULL;
}

static int create(const char *config_path, uint64_t id, struct oneib_error *err)
{
    oneib_autoconfig struct oneib_config config;
    struct oneib_new_network network;
    if (oneib_config_load(config_path, &config, err) < 0)
        return -1;
    use_own_session(&config);
    if (read_network(&config, id, &network, err) < 0)
        return -1;
    return network.ours ? take_parents_key(&config, &network, err) : 0;
}

int main(int argc, char **argv)
{
    static const struct oneib_program program = {"vnet_create", help, true, "NETWORK-ID"};
    struct oneib_given given;
    struct oneib_error err;
    uint64_t id;
    const int status = oneib_program_begin(&program, argc, argv, &given);
    if (status >= 0)
        return status;
    if (!oneib_parse_decimal(given.word, INT32_MAX, &id)) {
        fputs(help, stderr);
        return ONEIB_EXIT_USAGE;
    }
    if (create(given.config, id, &err) == 0)
        return ONEIB_EXIT_DONE;
    fprintf(stderr, "oneib: %s\n", err.text);
    return ONEIB_EXIT_FAILURE;
}
