// SPDX-License-Identifier: Apache-2.0
#include "oneibd/registration.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "grants/daemons.h"
#include "oneibd/daemon.h"
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct oneib_registration {
    char host_name[ONEIB_ADDRESS_SIZE]; /* of this host, unless daemon.address is set; else "" */
    struct oneib_error error;           /* why the entry is not in the ledger; code NONE: it is */
};

/* None, or one that each host has for itself. */
static bool is_local_name(const char *name)
{
    static const char local[] = "localhost";
    return name[0] == '\0' || strcmp(name, local) == 0 ||
           strncmp(name, "localhost.", sizeof local) == 0;
}

static void find_canonical_name(char name[ONEIB_ADDRESS_SIZE])
{
    const struct addrinfo hints = {.ai_flags = AI_CANONNAME, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    if (getaddrinfo(name, NULL, &hints, &found) != 0)
        return;
    const char *canonical = found->ai_canonname;
    if (canonical && strlen(canonical) < ONEIB_ADDRESS_SIZE && !is_local_name(canonical))
        snprintf(name, ONEIB_ADDRESS_SIZE, "%s", canonical);
    freeaddrinfo(found);
}

void oneib_registration_host_name(char name[ONEIB_ADDRESS_SIZE])
{
    if (gethostname(name, ONEIB_ADDRESS_SIZE) < 0)
        name[0] = '\0';
    name[ONEIB_ADDRESS_SIZE - 1] = '\0';
    if (name[0])
        find_canonical_name(name);
}

struct oneib_registration *oneib_registration_new(const struct oneib_config *config)
{
    struct oneib_registration *registration = oneib_alloc(1, sizeof *registration);
    if (!config->daemon.address)
        oneib_registration_host_name(registration->host_name);
    return registration;
}

void oneib_registration_free(struct oneib_registration *registration)
{
    free(registration);
}

/* As nodes read it. */
static int check_line(const struct oneib_ledger_daemon *entry, struct oneib_error *err)
{
    oneib_autotext struct oneib_text line = {0};
    struct oneib_daemons daemons = {.count = 1, .items = {*entry}};
    oneib_daemons_render(&daemons, &line);
    if (oneib_daemons_parse(line.data, line.length, entry->address, &daemons, err) == 0)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_INPUT,
                      "\"%s\" is no address for nodes: set daemon.address to tcp://HOST:PORT",
                      entry->address);
}

int oneib_registration_set_address(const struct oneib_config *config, const char *host_name,
                                   struct oneib_ledger_daemon *entry, struct oneib_error *err)
{
    const char *given = config->daemon.address;
    const char *port = strrchr(config->daemon.grants, ':');
    if (!given && is_local_name(host_name))
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "this host's name is \"%s\", by which no node reaches it: set "
                          "daemon.address",
                          host_name);
    const int length = given ? snprintf(entry->address, sizeof entry->address, "%s", given)
                             : snprintf(entry->address, sizeof entry->address, "tcp://%s%s",
                                        host_name, port ? port : "");
    if (length < 0 || (size_t)length >= sizeof entry->address)
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "the address by which nodes are to reach oneibd has more than %d bytes: "
                          "set daemon.address",
                          ONEIB_ADDRESS_SIZE - 1);
    return check_line(entry, err);
}

static bool is_same(const struct oneib_ledger_daemon *a, const struct oneib_ledger_daemon *b)
{
    return strcmp(a->address, b->address) == 0 &&
           memcmp(a->curve, b->curve, sizeof a->curve) == 0 &&
           memcmp(a->sign, b->sign, sizeof a->sign) == 0;
}

bool oneib_registration_stands(const struct oneib_ledger *ledger,
                               const struct oneib_ledger_daemon *entry)
{
    for (size_t i = 0; i < ledger->daemon_count; i++)
        if (is_same(&ledger->daemons[i], entry))
            return true;
    return false;
}

/* Of the others the one that was entered first; one that is still at work enters itself again. */
static void remove_oldest(struct oneib_ledger *ledger, const struct oneib_ledger_daemon *entry)
{
    const struct oneib_ledger_daemon *oldest = NULL;
    for (size_t i = 0; i < ledger->daemon_count; i++)
        if (!is_same(&ledger->daemons[i], entry) &&
            (!oldest || ledger->daemons[i].since < oldest->since))
            oldest = &ledger->daemons[i];
    char address[ONEIB_ADDRESS_SIZE]; /* not the one that goes */
    snprintf(address, sizeof address, "%s", oldest ? oldest->address : "");
    oneib_ledger_remove_daemon(ledger, address);
}

int oneib_registration_put(struct oneib_ledger *ledger, const struct oneib_ledger_daemon *entry,
                           struct oneib_error *err)
{
    if (oneib_ledger_set_daemon(ledger, entry, err) < 0)
        return -1;
    while (ledger->daemon_count > ONEIB_DAEMONS_MAX)
        remove_oldest(ledger, entry);
    return 0;
}

bool oneib_registration_update(struct oneib_daemon *daemon)
{
    struct oneib_registration *registration = daemon->registration;
    const struct oneib_ledger *ledger = &daemon->snapshot.kept.ledger;
    struct oneib_error *error = &registration->error;
    /* A ledger that is lost is made by an operator alone, and a missing one by the writer: a second
     * document would make both invalid. */
    const bool may_write =
        !daemon->snapshot.ledger_lost &&
        (daemon->config.one.writer || daemon->snapshot.kept.state == ONEIB_LEDGER_READ);
    struct oneib_ledger_daemon entry;
    oneib_autoledger struct oneib_ledger next = {0};
    *error = (struct oneib_error){0};
    oneib_node_server_keys(oneib_node_grants_server(daemon->node_grants), &entry);
    if (oneib_registration_set_address(&daemon->config, registration->host_name, &entry, error) <
            0 ||
        !may_write || oneib_registration_stands(ledger, &entry))
        return false;
    entry.since = time(NULL);
    oneib_ledger_copy(ledger, &next);
    if (oneib_registration_put(&next, &entry, error) < 0)
        return false;
    if (oneib_oned_put_ledger(daemon, &next, error) < 0)
        return true;
    oneib_log(ONEIB_LOG_INFO, "nodes reach this oneibd at %s, the ledger says now", entry.address);
    return false;
}

bool oneib_registration_failed(const struct oneib_registration *registration)
{
    return registration->error.code != ONEIB_ERROR_NONE;
}

void oneib_registration_add_findings(const struct oneib_registration *registration,
                                     struct oneib_findings *findings)
{
    if (oneib_registration_failed(registration))
        oneib_findings_note(findings, ONEIB_FINDING_DAEMON_UNKNOWN,
                            "nodes cannot learn of this oneibd: %s", registration->error.text);
}
