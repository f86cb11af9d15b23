// SPDX-License-Identifier: Apache-2.0
#include "../ports.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "grants/seal.h"
#include "lab_internal.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

const char *lab_config_path(struct lab *lab)
{
    return lab_path(lab, "oneib.conf");
}

const char *lab_metrics_address(const struct lab *lab)
{
    return lab->metrics_address;
}

static int find_address(char *text, size_t size, struct oneib_error *err)
{
    const unsigned port = free_port();
    if (port == 0)
        return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "looking for a free port: there is none");
    snprintf(text, size, "127.0.0.1:%u", port);
    return 0;
}

int lab_find_addresses(struct lab *lab, struct oneib_error *err)
{
    return find_address(lab->metrics_address, sizeof lab->metrics_address, err) < 0 ||
                   find_address(lab->grants_address, sizeof lab->grants_address, err) < 0
               ? -1
               : 0;
}

/* Makes the keys, unless they are there. */
static int describe_daemon(struct lab *lab, const char *key_file, const char *address,
                           struct oneib_ledger_daemon *daemon, struct oneib_error *err)
{
    struct oneib_curve_pair curve;
    struct oneib_sign_pair sign;
    bool made;
    const char *path = lab_path(lab, key_file);
    if (oneib_daemon_pairs(path, &curve, &sign, &made, err) < 0)
        return -1;
    *daemon = (struct oneib_ledger_daemon){0};
    snprintf(daemon->address, sizeof daemon->address, "tcp://%s", address);
    memcpy(daemon->curve, curve.public, sizeof daemon->curve);
    memcpy(daemon->sign, sign.public, sizeof daemon->sign);
    return 0;
}

int lab_daemon_known_as(struct lab *lab, struct oneib_ledger_daemon *daemon,
                        struct oneib_error *err)
{
    return describe_daemon(lab, "oneib.key", lab->grants_address, daemon, err);
}

static const char *or_nothing(const char *text)
{
    return text ? text : "";
}

/* Of the lab's own, unless the test gives another. */
static void append_unless_given(struct oneib_text *config, const char *given, const char *name,
                                const char *setting)
{
    if (!given || !strstr(given, name))
        oneib_text_printf(config, "  %s = %s;\n", name, setting);
}

/* What differs between two instances of oneib. */
struct place {
    const char *config, *partitions, *sm, *metrics, *grants, *key, *one;
};

static int write_config(struct lab *lab, const struct place *place, const struct lab_config *more,
                        struct oneib_error *err)
{
    static const struct lab_config nothing;
    more = more ? more : &nothing;
    oneib_autotext struct oneib_text session = {0}, config = {0};
    oneib_text_printf(&session, "%s\n", lab->session);
    char events[80];
    snprintf(events, sizeof events, "\"%s\"", lab->events_endpoint);
    oneib_text_printf(&config, "one: {\n  endpoint = \"%s\";\n  auth_file = \"%s/one_auth\";\n",
                      lab->endpoint, lab->directory);
    append_unless_given(&config, more->one, "timeout", "10000");
    append_unless_given(&config, more->one, "events", events);
    oneib_text_printf(&config, "  %s%s\n};\n", place->one, or_nothing(more->one));
    oneib_text_printf(
        &config,
        "opensm: {\n  partitions = \"%s/%s\";\n"
        "  static_partitions = \"%s/static-partitions.conf\";\n  reload = \"pid_file\";\n"
        "  pid_file = \"%s/%s.pid\";\n  %s\n};\n",
        lab->directory, more->partitions ? more->partitions : place->partitions, lab->directory,
        lab->directory, place->sm, or_nothing(more->opensm));
    char address[64];
    snprintf(address, sizeof address, "\"tcp://%s\"", place->grants);
    oneib_text_printf(&config,
                      "daemon: {\n  metrics = \"%s\";\n  grants = \"tcp://%s\";\n"
                      "  key = \"%s/%s\";\n  control = \"%s/%s.control\";\n",
                      place->metrics, place->grants, lab->directory, place->key, lab->directory,
                      place->key);
    append_unless_given(&config, more->daemon, "address", address);
    oneib_text_printf(&config, "  %s\n};\n%s\n", or_nothing(more->daemon), or_nothing(more->other));
    lab_ufm_settings(lab, &config);
    return lab_write(lab, "one_auth", 0600, session.data, err) < 0 ||
                   lab_write(lab, place->config, 0600, config.data, err) < 0
               ? -1
               : 0;
}

int lab_config_write(struct lab *lab, const struct lab_config *more, struct oneib_error *err)
{
    const struct place place = {.config = "oneib.conf",
                                .partitions = "partitions.conf",
                                .sm = LAB_SM.name,
                                .metrics = lab->metrics_address,
                                .grants = lab->grants_address,
                                .key = "oneib.key",
                                .one = ""};
    return write_config(lab, &place, more, err);
}

int lab_config_write_named(struct lab *lab, const char *name, const char *sm,
                           const struct lab_config *more, struct lab_instance *instance,
                           struct oneib_error *err)
{
    char config[64], partitions[64], key[64], grants[32];
    snprintf(key, sizeof key, "%s.key", name);
    snprintf(config, sizeof config, "%s.conf", name);
    snprintf(partitions, sizeof partitions, "%s.partitions.conf", name);
    instance->config = lab_path(lab, config);
    instance->partitions = lab_path(lab, partitions);
    if (find_address(instance->metrics_address, sizeof instance->metrics_address, err) < 0 ||
        find_address(grants, sizeof grants, err) < 0 ||
        describe_daemon(lab, key, grants, &instance->known_as, err) < 0 ||
        lab_played_daemon(lab, &instance->known_as, err) < 0)
        return -1;
    const struct place place = {.config = config,
                                .partitions = partitions,
                                .sm = sm,
                                .metrics = instance->metrics_address,
                                .grants = grants,
                                .key = key,
                                .one = "writer = false; "};
    return write_config(lab, &place, more, err);
}
