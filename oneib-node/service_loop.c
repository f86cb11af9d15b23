// SPDX-License-Identifier: Apache-2.0
#include "oneib-node/service_loop.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "oneib-node/adapter_events.h"
#include "oneib-node/domains_feed.h"
#include "oneib-node/grants_feed.h"
#include "oneib-node/peers.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* So long after its start callers are not told that nobody knows the domains yet. */
#define HOLD_MS 10000

/* So long are callers served before adapters and domains are asked after again. */
#define ROUND_MS 25

#define FILES_MAX (3 + ONEIB_SOCKET_KINDS + ONEIB_ADAPTERS_MAX + ONEIB_PEERS_MAX)

struct complaint {
    char text[sizeof((struct oneib_error *)0)->text]; /* "": nothing is */
};

/* Logs it as a warning, unless that was the last thing that was said. */
static void complain(struct complaint *complaint, const char *what, const struct oneib_error *err)
{
    if (strcmp(complaint->text, err->text) == 0)
        return;
    memcpy(complaint->text, err->text, sizeof complaint->text);
    oneib_log(ONEIB_LOG_WARNING, "%s: %s", what, err->text);
}

/* Logs that it is over, if something was wrong. */
static void settle(struct complaint *complaint, const char *what)
{
    if (complaint->text[0] != '\0')
        oneib_log(ONEIB_LOG_INFO, "%s", what);
    complaint->text[0] = '\0';
}

struct service {
    const struct oneib_config *config;
    int signals; /* a signalfd */
    struct oneib_sockets sockets;
    struct oneib_vfs *vfs;
    struct oneib_domain_feed *feed;
    struct oneib_grant_feed *grants;
    struct oneib_adapter_events events;
    struct complaint of_reading, of_events, of_sockets, of_domains, of_grants;
    size_t turn;      /* whose it is to be served first */
    double next_look; /* oneib_now_ms(); 0: something has happened */
    bool is_to_end;
};

/* They are large. */
static struct oneib_requests requests;
static struct oneib_peers peers;

/* ---- looking --------------------------------------------------------------------------------- */

static void tell(const struct oneib_vfs_changes *changes)
{
    if (changes->closed)
        oneib_log(ONEIB_LOG_WARNING, "closed %zu VFs: VF, P_Key, port or domain not as required",
                  changes->closed);
    if (changes->opened)
        oneib_log(ONEIB_LOG_INFO, "opened %zu VFs at the index of their P_Key", changes->opened);
    if (changes->reapplied)
        oneib_log(ONEIB_LOG_INFO, "restored the GUID of %zu VFs", changes->reapplied);
    if (changes->fresh)
        oneib_log(ONEIB_LOG_INFO, "closed %zu unassigned VFs for the first time", changes->fresh);
    if (changes->freed)
        oneib_log(ONEIB_LOG_INFO, "freed %zu leaked VFs", changes->freed);
}

static void step(struct service *service, enum oneib_vfs_read how)
{
    struct oneib_vfs_changes changes = {0};
    struct oneib_error err = {0};
    const bool sound = oneib_vfs_step(service->vfs, how, &changes, &err) == 0;
    oneib_grant_feed_set_unseen(service->grants, oneib_vfs_unseen(service->vfs));
    oneib_requests_moved(&requests);
    tell(&changes);
    if (!sound)
        complain(&service->of_reading, "a VF is not as recorded", &err);
    else if (how != ONEIB_VFS_DUE)
        settle(&service->of_reading, "all VFs are as recorded again");
}

/* An adapter whose driver was loaded again is a new device. */
static void follow_adapters(struct service *service)
{
    struct oneib_hcas hcas = {0};
    struct oneib_error err = {0};
    const int status = oneib_hcas_read(0, &hcas, &err);
    if (status == 0)
        oneib_grant_feed_set_ports(service->grants, &hcas);
    if (status < 0 || oneib_adapter_events_follow(&service->events, &hcas, &err) < 0)
        complain(&service->of_events, "no events from an adapter: it is polled", &err);
    else
        settle(&service->of_events, "the events of all adapters arrive again");
    oneib_hcas_clear(&hcas);
}

static void check_sockets(struct service *service)
{
    struct oneib_error err = {0};
    if (oneib_sockets_check(&service->sockets, &err) < 0)
        complain(&service->of_sockets, "clients cannot reach this service", &err);
    else
        settle(&service->of_sockets, "clients reach this service again");
}

/* Events are followed first: what happens between the two is looked at in the next round. */
static void look_at_everything(struct service *service)
{
    follow_adapters(service);
    check_sockets(service);
    step(service, service->next_look > 0 ? ONEIB_VFS_GLANCE : ONEIB_VFS_EVERYTHING);
    service->next_look = oneib_now_ms() + service->config->node.watch_ms;
}

/* ---- domains --------------------------------------------------------------------------------- */

static int take_domains(struct service *service, struct oneib_error *err)
{
    bool changed = false;
    if (oneib_domain_feed_take(service->feed, &changed, err) < 0)
        return -1;
    if (!changed)
        return 0;
    oneib_vfs_set_domains(service->vfs, oneib_domain_feed_list(service->feed));
    oneib_requests_moved(&requests);
    return 0;
}

/* The first list may take its time. */
static void tell_of_domains(struct service *service)
{
    const struct oneib_domain_list *list = oneib_domain_feed_list(service->feed);
    if (list->known)
        settle(&service->of_domains, "libvirt available again");
    else if (oneib_now_ms() >= requests.hold_until)
        complain(&service->of_domains, "libvirt unavailable: no new VF is assigned", &list->why);
}

/* ---- grants ---------------------------------------------------------------------------------- */

/* What is not granted any more is closed before anything else is done, and oneibd is told that. */
static void follow_grants(struct service *service)
{
    struct oneib_error err = {0};
    bool fresh;
    const struct oneib_grant_list *list = oneib_grant_feed_list(service->grants, &fresh);
    if (oneib_vfs_set_grants(service->vfs, list, fresh, &err) < 0)
        complain(&service->of_reading, "a VF is not as recorded", &err);
    oneib_grant_feed_report(service->grants);
    oneib_requests_moved(&requests);
}

static int take_grants(struct service *service, struct oneib_error *err)
{
    bool changed = false, known;
    const struct oneib_vf_table *table = oneib_vfs_table(service->vfs);
    known = oneib_vfs_knows_table(service->vfs);
    if (oneib_grant_feed_take(service->grants, table, known, &changed, err) < 0)
        return -1;
    if (changed)
        follow_grants(service);
    return 0;
}

/* The first connection may take its time. */
static void tell_of_grants(struct service *service)
{
    struct oneib_error why;
    oneib_grant_feed_why(service->grants, &why);
    if (why.code == ONEIB_ERROR_NONE)
        settle(&service->of_grants, "messages of oneibd arrive again");
    else if (oneib_now_ms() >= requests.hold_until)
        complain(&service->of_grants, "no VF is opened", &why);
}

/* ---- signals --------------------------------------------------------------------------------- */

static int open_signals(int *signals, struct oneib_error *err)
{
    static const int ours[] = {SIGHUP, SIGUSR1, SIGTERM, SIGINT};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        sigaddset(&set, ours[i]);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return oneib_fail_errno(err, errno, "blocking signals");
    *signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return *signals < 0 ? oneib_fail_errno(err, errno, "waiting for signals") : 0;
}

static void take_signals(struct service *service)
{
    struct signalfd_siginfo signal;
    while (read(service->signals, &signal, sizeof signal) == (ssize_t)sizeof signal)
        if (signal.ssi_signo == SIGHUP)
            service->next_look = 0;
        else if (signal.ssi_signo == SIGUSR1)
            oneib_domain_feed_refresh(service->feed);
        else
            service->is_to_end = true;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static int patience(const struct service *service)
{
    uint32_t due = oneib_ms_until(service->next_look);
    due = least(due, oneib_vfs_due_ms(service->vfs));
    due = least(due, oneib_domain_feed_due_ms(service->feed));
    due = least(due, oneib_grant_feed_due_ms(service->grants));
    due = least(due, oneib_peers_due_ms(&peers));
    return (int)least(due, INT32_MAX);
}

/* The files that are waited for, in this order. */
struct files {
    struct pollfd of[FILES_MAX];
    size_t adapters, peers; /* where they begin */
    size_t count;
    uint16_t which[ONEIB_PEERS_MAX];
};

enum { SIGNALS, FEED, GRANTS, LISTENERS };

static void collect(const struct service *service, struct files *files)
{
    files->of[SIGNALS] = (struct pollfd){.fd = service->signals, .events = POLLIN};
    files->of[FEED] = (struct pollfd){.fd = oneib_domain_feed_fd(service->feed), .events = POLLIN};
    files->of[GRANTS] =
        (struct pollfd){.fd = oneib_grant_feed_fd(service->grants), .events = POLLIN};
    for (int kind = 0; kind < ONEIB_SOCKET_KINDS; kind++)
        files->of[LISTENERS + kind] =
            (struct pollfd){.fd = service->sockets.of[kind].fd, .events = POLLIN};
    files->adapters = LISTENERS + ONEIB_SOCKET_KINDS;
    files->peers =
        files->adapters + oneib_adapter_events_poll(&service->events, files->of + files->adapters);
    files->count = files->peers + oneib_peers_poll(&peers, files->of + files->peers, files->which);
}

/* Those for whom there is no time are the first of the next round. */
static void serve_peers(struct service *service, const struct files *files)
{
    const size_t count = files->count - files->peers;
    const double end = oneib_now_ms() + ROUND_MS;
    const size_t first = service->turn;
    for (size_t i = 0; i < count && oneib_now_ms() < end; i++) {
        const size_t at = (first + i) % count;
        oneib_peers_serve(&peers, files->which[at], files->of[files->peers + at].revents);
        service->turn = at + 1;
    }
    oneib_peers_go_on(&peers);
}

/* What happens to adapters and domains comes before what callers want. */
static int serve(struct service *service, const struct files *files, struct oneib_error *err)
{
    take_signals(service);
    if (oneib_adapter_events_take(&service->events))
        service->next_look = 0;
    if (take_domains(service, err) < 0 || take_grants(service, err) < 0)
        return -1;
    tell_of_domains(service);
    tell_of_grants(service);
    if (oneib_ms_until(service->next_look) == 0)
        look_at_everything(service);
    else if (oneib_vfs_due_ms(service->vfs) == 0)
        step(service, ONEIB_VFS_DUE);
    serve_peers(service, files);
    for (int kind = 0; kind < ONEIB_SOCKET_KINDS; kind++)
        if (files->of[LISTENERS + kind].revents)
            oneib_peers_let_in(&peers, service->sockets.of[kind].fd, kind);
    return 0;
}

static int loop(struct service *service, struct oneib_error *err)
{
    static struct files files;
    while (!service->is_to_end) {
        collect(service, &files);
        if (poll(files.of, files.count, patience(service)) < 0) {
            if (errno != EINTR)
                return oneib_fail_errno(err, errno, "waiting for callers");
            continue;
        }
        if (serve(service, &files, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- beginning and ending -------------------------------------------------------------------- */

/* A table that is damaged keeps the service from giving anything, not from closing what is open:
 * it is told of in every look. */
static int open_engine(struct service *service, struct oneib_error *err)
{
    const struct oneib_config *config = service->config;
    const struct oneib_vfs_options options = {
        .host_vfs = config->node.host_pcis,
        .host_vf_count = config->node.host_vf_count,
        .pkey_wait_ms = config->node.pkey_wait_ms,
        .guid_wait_ms = config->node.guid_wait_ms,
        .virtual_ports = config->node.virtual_ports,
    };
    struct oneib_error why;
    if (oneib_vfs_open(&options, &service->vfs, &why) == 0)
        return 0;
    if (!service->vfs) {
        *err = why;
        return -1;
    }
    complain(&service->of_reading, "no VF is assigned", &why);
    return 0;
}

static int open_all(struct service *service, const struct oneib_inherited *inherited,
                    struct oneib_error *err)
{
    const struct oneib_domain_feed_options domains = {.uri = service->config->node.libvirt};
    const struct oneib_grant_feed_options grants = {0};
    if (open_engine(service, err) < 0 ||
        oneib_sockets_open(inherited, &service->sockets, err) < 0 ||
        oneib_domain_feed_open(&domains, &service->feed, err) < 0 ||
        oneib_grant_feed_open(&grants, &service->grants, err) < 0 || oneib_drop_privileges(err) < 0)
        return -1;
    return open_signals(&service->signals, err);
}

static void close_all(struct service *service)
{
    oneib_peers_end(&peers);
    oneib_adapter_events_close(&service->events);
    oneib_vfs_close(service->vfs);
    oneib_grant_feed_close(service->grants);
    oneib_domain_feed_close(service->feed);
    oneib_sockets_close(&service->sockets);
    if (service->signals >= 0)
        close(service->signals);
}

int oneib_service_run(const struct oneib_config *config, const struct oneib_inherited *inherited,
                      struct oneib_error *err)
{
    struct service service = {
        .config = config, .signals = -1, .sockets = {.of = {{.fd = -1}, {.fd = -1}}}};
    oneib_peers_begin(&peers, &requests);
    int outcome = open_all(&service, inherited, err);
    if (outcome == 0) {
        requests.vfs = service.vfs;
        requests.domains = oneib_domain_feed_list(service.feed);
        requests.feed = service.grants;
        requests.grant_wait_ms = config->node.pkey_wait_ms;
        requests.hold_until = oneib_now_ms() + HOLD_MS;
        look_at_everything(&service);
        oneib_tell_ready(inherited);
        oneib_log(ONEIB_LOG_INFO, "oneib-node " ONEIB_VERSION " serves");
        outcome = loop(&service, err);
    }
    close_all(&service);
    return outcome;
}
