// SPDX-License-Identifier: Apache-2.0
#include "oneib-vf/watch.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "hca/assign.h"
#include "hca/hca.h"
#include "oneib-vf/adapter_events.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

/* To the next look while somebody works on a VF. Whoever does looks at the key too, but lets go of
 * the VF a moment later, and no event comes again for what changed in between. */
#define BUSY_MS 250

/* What was last said to be wrong with one kind of thing: the same is not said again. */
struct complaint {
    char text[sizeof((struct oneib_error *)NULL)->text];
};

struct watch {
    int signals; /* a signalfd */
    struct oneib_adapter_events events;
    struct complaint of_looking, of_events;
    bool is_somebody_at_work;
};

static void complain(struct complaint *complaint, const char *what, const struct oneib_error *err)
{
    if (strcmp(complaint->text, err->text) == 0)
        return;
    memcpy(complaint->text, err->text, sizeof complaint->text);
    oneib_log(ONEIB_LOG_WARNING, "%s: %s", what, err->text);
}

static void settle(struct complaint *complaint, const char *what)
{
    if (complaint->text[0] != '\0')
        oneib_log(ONEIB_LOG_INFO, "%s", what);
    complaint->text[0] = '\0';
}

static void tell(const struct oneib_vf_repairs *repairs)
{
    if (repairs->closed)
        oneib_log(ONEIB_LOG_WARNING,
                  "closed %zu: they, their key or their port were not as they must be",
                  repairs->closed);
    if (repairs->opened)
        oneib_log(ONEIB_LOG_INFO, "opened %zu where their key is", repairs->opened);
    if (repairs->reapplied)
        oneib_log(ONEIB_LOG_INFO, "set the GUID of %zu again", repairs->reapplied);
    if (repairs->fresh)
        oneib_log(ONEIB_LOG_INFO, "closed %zu of nobody that had never been closed",
                  repairs->fresh);
}

static void look(struct watch *watch)
{
    struct oneib_vf_repairs repairs = {0};
    struct oneib_error err = {0};
    const bool sound = oneib_vfs_reconcile(&repairs, &err) == 0;
    watch->is_somebody_at_work = repairs.busy > 0;
    tell(&repairs);
    if (sound)
        settle(&watch->of_looking, "all virtual functions are as they should be again");
    else
        complain(&watch->of_looking, "a virtual function is not as it should be", &err);
}

/* An adapter whose driver was loaded again is a new device. */
static void follow_adapters(struct watch *watch)
{
    struct oneib_hcas hcas = {0};
    struct oneib_error err = {0};
    if (oneib_hcas_read(0, &hcas, &err) < 0 ||
        oneib_adapter_events_follow(&watch->events, &hcas, &err) < 0)
        complain(&watch->of_events,
                 "an adapter's events do not arrive, so it is only looked at now "
                 "and then",
                 &err);
    else
        settle(&watch->of_events, "the events of all adapters arrive again");
    oneib_hcas_clear(&hcas);
}

enum wish { NOTHING, TO_LOOK, TO_END };

static enum wish take_signals(int signals)
{
    struct signalfd_siginfo signal;
    enum wish wish = NOTHING;
    while (read(signals, &signal, sizeof signal) == (ssize_t)sizeof signal) {
        if (signal.ssi_signo != SIGHUP)
            return TO_END;
        wish = TO_LOOK;
    }
    return wish;
}

static uint32_t patience(const struct watch *watch, const struct oneib_config *config)
{
    const uint32_t longest = config->node.watch_ms;
    return watch->is_somebody_at_work && longest > BUSY_MS ? BUSY_MS : longest;
}

/* Sleeps until something happens, or the time is over. */
static enum wish wait_for_something(struct watch *watch, uint32_t timeout_ms)
{
    struct pollfd files[1 + ONEIB_ADAPTERS_MAX] = {{.fd = watch->signals, .events = POLLIN}};
    const size_t count = oneib_adapter_events_poll(&watch->events, files + 1);
    if (poll(files, 1 + count, (int)timeout_ms) < 0 && errno != EINTR)
        return TO_LOOK;
    const enum wish wish = take_signals(watch->signals);
    if (wish == TO_END)
        return TO_END;
    oneib_adapter_events_take(&watch->events);
    return TO_LOOK;
}

static int begin(struct watch *watch, struct oneib_error *err)
{
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGHUP);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGINT);
    if (sigprocmask(SIG_BLOCK, &ours, NULL) < 0)
        return oneib_fail_errno(err, errno, "blocking signals");
    watch->signals = signalfd(-1, &ours, SFD_NONBLOCK | SFD_CLOEXEC);
    if (watch->signals < 0)
        return oneib_fail_errno(err, errno, "waiting for signals");
    return 0;
}

int oneib_vf_look_once(const struct oneib_config *config, struct oneib_error *err)
{
    struct oneib_vf_repairs repairs = {0};
    oneib_log_setup(config->log.level, config->log.format);
    const int outcome = oneib_vfs_reconcile(&repairs, err);
    tell(&repairs);
    return outcome;
}

int oneib_vf_watch(const struct oneib_config *config, struct oneib_error *err)
{
    struct watch watch = {.signals = -1};
    if (begin(&watch, err) < 0)
        return -1;
    oneib_log_setup(config->log.level, config->log.format);
    do {
        /* Events first: what happens between the two is looked at in the next round. */
        follow_adapters(&watch);
        look(&watch);
    } while (wait_for_something(&watch, patience(&watch, config)) != TO_END);
    oneib_adapter_events_close(&watch.events);
    close(watch.signals);
    return 0;
}
