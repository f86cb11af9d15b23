// SPDX-License-Identifier: Apache-2.0
/*
 * played-hosts KEYS DAEMONS MOODS: plays the services of a lab's hosts that have no simulated node:
 * each does at once what it is told. KEYS has a line a host, "PUBLIC SECRET DEVICE DRIVER VFS PORT PORT",
 * with the port GUIDs of its adapter, ascending, 0: it has no such port; DAEMONS is as grants/daemons.h
 * says. Both are read again when they grow. What a host is granted it reports as open, with its
 * GUID where it may be set; it believes the daemon whose host has the subnet manager, else the
 * writer. MOODS has a line for each host that is not well, "PORT MOOD", of which the last counts:
 * "keeps", it gives back nothing that it has; "silent", it says nothing; "lies", it reports all
 * hosts' ports as its own, and a VF open there in a network that is not there; "turned", it reports
 * its ports as an mlx5 adapter's; "well".
 *
 * On its output: which GUID was set at which host, by the GUID of its first port, and which mood it
 * was seen to be in.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "grants/daemons.h"
#include "played_node.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <zmq.h>

/* Of a larger lab the others stay silent: ibsim's library takes descriptors from 1,024 on for its
 * own, in oneibd, too, where each host has one, and two while it connects anew. */
#define HOSTS_MAX 480
#define FILE_MAX ((size_t)1 << 20)
#define LOOK_MS 100
#define REPORT_MS 1000.0
/* Of a connection on which nothing comes: libzmq does not come back to who has refused it. */
#define ANEW_MS 2000.0

/* A host's connection to one daemon. */
struct link {
    struct played_node node;
    struct oneib_list_name list;     /* that came last */
    struct oneib_grant_list *told;   /* by it, and not done yet; NULL: nothing */
    struct oneib_grant_list *grants; /* what it has */
    bool has_sm, is_writer;
    double heard_at;
};

enum mood {
    WELL,
    KEEPS,
    SILENT,
    LIES,
    TURNED,
};

struct host {
    struct oneib_curve_pair pair;
    enum mood mood, last_mood;      /* as it is; as the file says */
    struct oneib_hca_port ports[2]; /* of one adapter; GUID 0: it has no such port */
    struct link links[ONEIB_DAEMONS_MAX];
    double challenged_at;
};

static struct oneib_daemons daemons;
static struct host hosts[HOSTS_MAX];
static size_t host_count;
static struct oneib_grants_message message; /* large */

/* ---- files ----------------------------------------------------------------------------------- */

static void read_daemons(const char *path)
{
    oneib_autofree char *data = NULL;
    size_t length;
    struct oneib_error err;
    struct oneib_daemons read;
    if (oneib_file_read(path, FILE_MAX, &data, &length, &err) == 0 &&
        oneib_daemons_parse(data, length, path, &read, &err) == 0 && read.count > daemons.count)
        daemons = read;
}

static void read_keys(const char *path)
{
    char public[ONEIB_KEY_TEXT_SIZE], secret[ONEIB_KEY_TEXT_SIZE];
    char device[ONEIB_DEVICE_NAME_SIZE], driver[16];
    size_t count = 0;
    uint16_t vfs;
    oneib_guid ports[2];
    oneib_autofclose FILE *file = fopen(path, "re");
    while (file && count < HOSTS_MAX &&
           fscanf(file, "%64s %64s %31s %15s %" SCNu16 " %" SCNx64 " %" SCNx64, public, secret,
                  device, driver, &vfs, &ports[0], &ports[1]) == 7) {
        struct oneib_curve_pair pair;
        if (!oneib_key_parse(public, pair.public) || !oneib_key_parse(secret, pair.secret))
            return;
        if (count++ == host_count) {
            for (uint8_t i = 0; i < 2; i++) {
                struct oneib_hca_port *port = &hosts[host_count].ports[i];
                port->port_guid = ports[i];
                port->port = (uint8_t)(i + 1);
                port->driver = oneib_hca_driver_of(driver);
                port->vfs_total = vfs;
                strcpy(port->device, device);
            }
            hosts[host_count++].pair = pair;
        }
    }
}

static struct host *host_at(oneib_guid port)
{
    for (size_t i = 0; i < host_count; i++)
        if (hosts[i].ports[0].port_guid == port)
            return &hosts[i];
    return NULL;
}

static enum mood mood_named(const char *name)
{
    if (strcmp(name, "keeps") == 0)
        return KEEPS;
    if (strcmp(name, "lies") == 0)
        return LIES;
    if (strcmp(name, "turned") == 0)
        return TURNED;
    return strcmp(name, "silent") == 0 ? SILENT : WELL;
}

static const char *mood_name(enum mood mood)
{
    static const char *const names[] = {
        [WELL] = "well", [KEEPS] = "keeps",   [SILENT] = "silent",
        [LIES] = "lies", [TURNED] = "turned",
    };
    return names[mood];
}

static void read_moods(const char *path)
{
    oneib_guid port;
    char mood[16];
    oneib_autofclose FILE *file = fopen(path, "re");
    while (file && fscanf(file, "%" SCNx64 " %15s", &port, mood) == 2) {
        struct host *host = host_at(port);
        if (host)
            host->last_mood = mood_named(mood);
    }
    for (size_t i = 0; i < host_count; i++) {
        if (hosts[i].mood == hosts[i].last_mood)
            continue;
        hosts[i].mood = hosts[i].last_mood;
        printf("0x%016" PRIx64 " is %s\n", hosts[i].ports[0].port_guid, mood_name(hosts[i].mood));
        fflush(stdout);
    }
}

/* ---- a host ---------------------------------------------------------------------------------- */

static void connect_link(struct host *host, size_t daemon)
{
    struct link *link = &host->links[daemon];
    played_node_close(&link->node);
    played_node_connect(&link->node, daemons.items[daemon].address, &host->pair,
                        daemons.items[daemon].curve);
    link->heard_at = oneib_now_ms();
}

static size_t believed(const struct host *host)
{
    size_t best = 0;
    for (size_t i = 1; i < daemons.count; i++) {
        const struct link *link = &host->links[i], *other = &host->links[best];
        if (link->has_sm != other->has_sm ? link->has_sm : link->is_writer && !other->is_writer)
            best = i;
    }
    return best;
}

static void add_records(const struct oneib_grant_list *grants, struct oneib_report_message *report)
{
    for (size_t i = 0; grants && i < grants->count; i++) {
        const struct oneib_grant *grant = &grants->items[i];
        struct oneib_vf_record *record = &report->records[report->count++];
        *record = (struct oneib_vf_record){
            .vf = {.bus = (uint8_t)(1 + i / 256),
                   .slot = (uint8_t)(i / 8 % 32),
                   .function = (uint8_t)(i % 8)},
            .index = (uint16_t)i,
            .port = grant->port,
            .vm_id = grant->vm_id,
            .nic_id = grant->nic_id,
            .network_id = grant->network_id,
            .pkey = grant->pkey,
            .limited = grant->limited,
            .stage = ONEIB_VF_OPEN,
            .guid = grant->may_set_guid ? ONEIB_VF_GUID_SET : ONEIB_VF_GUID_DEFERRED,
            .in_domain = true,
        };
        memcpy(record->device, grant->device, sizeof record->device);
    }
}

/* By VF: behind all others. */
static void add_lie(const struct host *host, struct oneib_report_message *report)
{
    struct oneib_vf_record *record = &report->records[report->count++];
    *record = (struct oneib_vf_record){.vf = {.bus = 0xff},
                                       .port = 1,
                                       .vm_id = 7777,
                                       .network_id = 777,
                                       .pkey = 0x777,
                                       .stage = ONEIB_VF_OPEN,
                                       .in_domain = true};
    memcpy(record->device, host->ports[0].device, sizeof record->device);
}

static void add_all_ports(struct oneib_report_message *report)
{
    for (size_t i = 0; i < host_count && report->port_count < ONEIB_HOST_PORTS_MAX; i++) {
        if (hosts[i].ports[0].port_guid == 0)
            continue;
        size_t place = report->port_count++;
        for (; place > 0 && report->ports[place - 1].port_guid > hosts[i].ports[0].port_guid;
             place--)
            report->ports[place] = report->ports[place - 1];
        report->ports[place] = hosts[i].ports[0];
    }
}

static void add_ports(const struct host *host, struct oneib_report_message *report)
{
    if (host->mood == LIES) {
        add_all_ports(report);
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        if (!host->ports[i].port_guid)
            continue;
        struct oneib_hca_port *port = &report->ports[report->port_count++];
        *port = host->ports[i];
        if (host->mood == TURNED)
            port->driver = ONEIB_HCA_MLX5;
    }
}

static void report(struct host *host)
{
    const size_t best = believed(host);
    for (size_t i = 0; i < daemons.count; i++) {
        message = (struct oneib_grants_message){.kind = ONEIB_GRANTS_REPORT};
        message.report.believes = i == best;
        if (i == best)
            message.report.follows = host->links[i].list;
        message.report.boot[0] = 1;
        message.report.complete = true;
        add_ports(host, &message.report);
        add_records(host->links[best].grants, &message.report);
        if (host->mood == LIES)
            add_lie(host, &message.report);
        played_node_say(&host->links[i].node, &message);
    }
}

static void say_guids(const struct host *host, const struct oneib_grant_list *grants)
{
    for (size_t i = 0; i < grants->count; i++)
        if (grants->items[i].may_set_guid)
            printf("0x%016" PRIx64 " at 0x%016" PRIx64 "\n", grants->items[i].guid,
                   host->ports[0].port_guid);
    fflush(stdout);
}

static void keep_list(struct link *link, const struct oneib_list_message *list)
{
    link->list = list->name;
    if (!link->told)
        link->told = malloc(sizeof *link->told);
    if (!link->told)
        abort();
    *link->told = list->grants;
}

static void do_as_told(struct host *host)
{
    for (size_t i = 0; i < daemons.count; i++) {
        struct link *link = &host->links[i];
        if (!link->told || (host->mood == KEEPS && link->grants))
            continue;
        free(link->grants);
        link->grants = link->told;
        link->told = NULL;
        say_guids(host, link->grants);
    }
}

/* Whether its list, or whom the host believes, is another. */
static bool hear(struct link *link, const struct oneib_ledger_daemon *daemon)
{
    bool changed = false;
    while (played_node_hear(&link->node, daemon->sign, &message, 0)) {
        const struct oneib_daemon_role *role =
            message.kind == ONEIB_GRANTS_LIST ? &message.list.role : &message.life.role;
        changed |= link->has_sm != role->has_sm || link->is_writer != role->is_writer;
        link->has_sm = role->has_sm;
        link->is_writer = role->is_writer;
        link->heard_at = oneib_now_ms();
        if (message.kind != ONEIB_GRANTS_LIST)
            continue;
        keep_list(link, &message.list);
        changed = true;
    }
    return changed;
}

static void challenge(struct host *host)
{
    for (size_t i = 0; i < daemons.count; i++) {
        struct link *link = &host->links[i];
        if (!link->node.socket || oneib_now_ms() - link->heard_at > ANEW_MS) {
            link->has_sm = link->is_writer = false;
            connect_link(host, i);
        }
        message = (struct oneib_grants_message){.kind = ONEIB_GRANTS_CHALLENGE};
        message.challenge.nonce[0] = 1;
        played_node_say(&link->node, &message);
    }
}

static void go_on(struct host *host)
{
    bool due = false;
    if (host->mood == SILENT)
        return;
    for (size_t i = 0; i < daemons.count; i++)
        if (host->links[i].node.socket)
            due |= hear(&host->links[i], &daemons.items[i]);
    do_as_told(host);
    if (oneib_now_ms() - host->challenged_at >= REPORT_MS) {
        host->challenged_at = oneib_now_ms();
        challenge(host);
        due = true;
    }
    if (due)
        report(host);
}

static void await_something(void)
{
    static zmq_pollitem_t items[HOSTS_MAX * ONEIB_DAEMONS_MAX];
    int count = 0;
    for (size_t i = 0; i < host_count; i++)
        for (size_t j = 0; j < daemons.count; j++)
            if (hosts[i].links[j].node.socket)
                items[count++] =
                    (zmq_pollitem_t){.socket = hosts[i].links[j].node.socket, .events = ZMQ_POLLIN};
    zmq_poll(items, count, LOOK_MS);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        read_daemons(argv[2]);
        read_keys(argv[1]);
        read_moods(argv[3]);
        for (size_t i = 0; i < host_count; i++)
            go_on(&hosts[i]);
        await_something();
    }
}
