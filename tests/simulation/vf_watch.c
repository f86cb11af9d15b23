// SPDX-License-Identifier: Apache-2.0
#include "vf_watch.h"
#include "lab_internal.h"
#include "opennebula/ledger_document.h"
#include "opennebula/one_client.h"
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define FULL 0x8000u
#define NO_KEY 0x7fffu /* the default partition, of no network */
#define LEDGER_MS 10000u
#define PAUSE_MS 2u

/* ---- the test's side ------------------------------------------------------------------------- */

static void lock(struct vf_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
}

static void unlock(struct vf_watch *watch)
{
    pthread_mutex_unlock(&watch->lock);
}

void vf_watch_vm(struct vf_watch *watch, uint32_t vm, uint32_t network)
{
    lock(watch);
    if (vm < VF_WATCH_VMS)
        watch->networks[vm] = network;
    unlock(watch);
}

void vf_watch_guest(struct vf_watch *watch, size_t host, unsigned vf, uint32_t vm)
{
    lock(watch);
    watch->guests[host][vf] = vm;
    unlock(watch);
}

bool vf_watch_complains(struct vf_watch *watch, char *what, size_t size)
{
    lock(watch);
    snprintf(what, size, "%s", watch->violation);
    unlock(watch);
    return *what;
}

void vf_watch_count(struct vf_watch *watch, uint64_t *looks, uint64_t *open)
{
    lock(watch);
    *looks = watch->looks;
    *open = watch->open;
    unlock(watch);
}

/* ---- one look -------------------------------------------------------------------------------- */

/* Who could use it, and with what. Not open: key 0. */
struct sight {
    uint32_t vm;
    unsigned key, map;
};

static uint32_t recorded_vm(struct lab *lab, size_t host, unsigned vf)
{
    struct oneib_error unread;
    struct lab_node_claim claims[LAB_NODE_CLAIMS];
    size_t count = 0;
    if (lab_node_claims(lab, host, claims, &count, &unread) < 0)
        return VF_WATCH_NOBODY;
    for (size_t i = 0; i < count; i++)
        if (claims[i].vf == vf)
            return claims[i].vm;
    return VF_WATCH_NOBODY;
}

static struct sight look_at(struct vf_watch *watch, size_t host, unsigned vf)
{
    struct oneib_error unread;
    struct lab_node_vf state;
    struct sight sight = {.vm = VF_WATCH_NOBODY};
    if (lab_node_vf(watch->lab, host, vf, &state, &unread) < 0 ||
        state.map[0] == LAB_NODE_UNMAPPED || state.map[0] == 0 || (state.key & NO_KEY) == NO_KEY)
        return sight;
    sight.map = state.map[0];
    sight.key = state.key & ~FULL;
    lock(watch);
    sight.vm = watch->guests[host][vf];
    unlock(watch);
    if (sight.vm == VF_WATCH_NOBODY)
        sight.vm = recorded_vm(watch->lab, host, vf);
    return sight;
}

/* The network that has the key; 0: none, or unread. */
static uint32_t owner_of(const struct oneib_kept_ledger *kept, unsigned key)
{
    for (size_t i = 0; i < kept->ledger.network_count; i++)
        if (kept->ledger.networks[i].pkey == key)
            return kept->ledger.networks[i].network_id;
    return 0;
}

static uint32_t network_of(struct vf_watch *watch, uint32_t vm)
{
    lock(watch);
    const uint32_t network = vm < VF_WATCH_VMS ? watch->networks[vm] : 0;
    unlock(watch);
    return network;
}

static void complain(struct vf_watch *watch, size_t host, unsigned vf, const struct sight *sight,
                     uint32_t network, uint32_t owner)
{
    lock(watch);
    if (!watch->violation[0])
        snprintf(watch->violation, sizeof watch->violation,
                 "VF %u of host %zu, of VM %" PRId32 " in network %" PRIu32
                 ", was open at 0x%04x, which is network %" PRIu32 "'s",
                 vf, host, (int32_t)sight->vm, network, sight->key, owner);
    unlock(watch);
}

static bool equal(const struct sight *a, const struct sight *b)
{
    return a->vm == b->vm && a->key == b->key && a->map == b->map;
}

static bool read_ledger(struct oneib_one *one, struct oneib_kept_ledger *kept)
{
    struct oneib_error unread;
    *kept = (struct oneib_kept_ledger){0};
    return oneib_ledger_read(one, false, kept, &unread) == 0;
}

/* A VF is read twice, between two readings of the ledger: what is the same in both was so at one
 * moment. */
static bool judge_all(struct vf_watch *watch, struct oneib_one *one,
                      const struct oneib_kept_ledger *before, struct oneib_kept_ledger *after)
{
    static struct sight sights[VF_WATCH_HOSTS][VF_WATCH_VFS];
    const size_t hosts = lab_host_count(watch->lab);
    uint64_t open = 0;
    for (size_t host = 0; host < hosts; host++)
        for (unsigned vf = 0; vf < watch->vfs; vf++) {
            sights[host][vf] = look_at(watch, host, vf);
            const struct sight again =
                sights[host][vf].key ? look_at(watch, host, vf) : sights[host][vf];
            if (!equal(&again, &sights[host][vf]))
                sights[host][vf].key = 0;
        }
    if (!read_ledger(one, after))
        return false;
    for (size_t host = 0; host < hosts; host++)
        for (unsigned vf = 0; vf < watch->vfs; vf++) {
            const struct sight *sight = &sights[host][vf];
            const uint32_t owner = sight->key ? owner_of(before, sight->key) : 0;
            const uint32_t network = network_of(watch, sight->vm);
            open += sight->key != 0;
            if (owner && owner == owner_of(after, sight->key) && network != owner)
                complain(watch, host, vf, sight, network, owner);
        }
    lock(watch);
    watch->looks++;
    watch->open += open;
    unlock(watch);
    return true;
}

/* ---- the process ----------------------------------------------------------------------------- */

static void watch_on(struct vf_watch *watch)
{
    struct oneib_error err;
    const struct oneib_credentials credentials = {.endpoint = watch->lab->control_endpoint,
                                                  .session = watch->lab->session};
    struct oneib_one *one = oneib_one_open(&credentials, LEDGER_MS, &err);
    struct oneib_kept_ledger before = {0}, after = {0};
    if (!one)
        _exit(1);
    while (!read_ledger(one, &before))
        lab_sleep_ms(PAUSE_MS);
    for (;; lab_sleep_ms(PAUSE_MS)) {
        if (!judge_all(watch, one, &before, &after))
            continue;
        oneib_kept_ledger_clear(&before);
        before = after;
        after = (struct oneib_kept_ledger){0};
    }
}

static void prepare(struct vf_watch *watch, struct lab *lab, unsigned vfs)
{
    pthread_mutexattr_t shared;
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&watch->lock, &shared);
    pthread_mutexattr_destroy(&shared);
    watch->lab = lab;
    watch->vfs = vfs;
    for (size_t host = 0; host < VF_WATCH_HOSTS; host++)
        for (size_t vf = 0; vf < VF_WATCH_VFS; vf++)
            watch->guests[host][vf] = VF_WATCH_NOBODY;
}

struct vf_watch *vf_watch_start(struct lab *lab, unsigned vfs, struct oneib_error *err)
{
    const pid_t test = getpid();
    struct vf_watch *watch =
        mmap(NULL, sizeof *watch, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (watch == MAP_FAILED || lab_host_count(lab) > VF_WATCH_HOSTS || vfs > VF_WATCH_VFS) {
        oneib_fail(err, ONEIB_ERROR_REFUSED, "too many VFs to be watched");
        return NULL;
    }
    prepare(watch, lab, vfs);
    const pid_t child = fork();
    if (child < 0) {
        oneib_fail_errno(err, errno, "starting to watch VFs");
        return NULL;
    }
    if (child > 0)
        return watch;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != test)
        _exit(1);
    watch_on(watch);
    _exit(0);
}
