// SPDX-License-Identifier: Apache-2.0
/*
 * 5,000 arrivals and departures of clusters of 2 to 64 VMs on three fabrics, placed by OpenNebula's
 * "rank" as it packs, as it stripes, and as it stripes among what the placer "ib" leaves it: switch
 * hops between members, leaves a cluster, VMs that are refused, and with how many others of its
 * service level a cluster shares a link when it has come. And windows on small fabrics against the
 * best of all placements. One PASS or FAIL line for each goal; exits 1 when one is
 * missed.
 *
 * `rank` is a model: VMs in the order of their ids, each on the host with most (packing) or least
 * (striping) VMs when the window begins, one VM a host in each window (MAX_HOST), as long as hosts
 * have free virtual functions; capacity is these alone.
 */
#include "base/array.h"
#include "placement/window.h"
#include "tests/tree_routes.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HOSTS_MAX = 256,
    LEAVES_MAX = 16,
    VFS = 7,
    EVENTS = 5000,
    VMS_MIN = 2,
    VMS_MAX = 64,
    CLUSTERS_MAX = 1024,
    WINDOWS_MAX = 64,  /* of one arrival; then what is left is refused */
    FULL_PERCENT = 95, /* of the functions: then clusters leave */
    STATES = 300,
    SMALL_LEAVES = 3,
    SMALL_VMS = 8,
    SPINES = 8, /* of each pod */
    SLS = 4,    /* of the class that all clusters have, in turn */
    SET_WORDS = 32,
};

/* APART: near, and by links. */
enum policy { PACKING, STRIPING, NEAR, APART, POLICIES };
static const char *const policy_names[POLICIES] = {"rank, packing", "rank, striping", "ib",
                                                   "ib, by links"};

struct fabric {
    const char *name;
    unsigned hosts, leaves;
    unsigned leaf_of[HOSTS_MAX], pod_of[LEAVES_MAX];
    struct oneib_routes *routes;
};

struct cluster {
    bool is_there;
    unsigned hosts[VMS_MAX], count;
    uint8_t sl;
    uint64_t set[SET_WORDS]; /* what it uses */
};

struct cloud {
    const struct fabric *fabric;
    unsigned used[HOSTS_MAX];
    unsigned used_in_all;
    struct cluster clusters[CLUSTERS_MAX];
};

struct score {
    double hops;          /* between two members, mean over clusters */
    double leaves;        /* of a cluster, likewise */
    double shared;        /* clusters of its level that it shares a link with, likewise */
    unsigned long placed; /* VMs */
    unsigned long refused;
    unsigned long clusters;
};

static void stop(const char *what)
{
    fprintf(stderr, "bench_placement_replay: %s\n", what);
    exit(3);
}

static uint32_t seed;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)(seed >> 8) * below) >> 24);
}

/* ---- fabrics --------------------------------------------------------------------------------- */

static struct fabric fabric_of(const char *name, const unsigned *sizes, unsigned leaves,
                               unsigned leaves_a_pod)
{
    struct fabric fabric = {.name = name, .leaves = leaves};
    for (unsigned leaf = 0; leaf < leaves; leaf++) {
        fabric.pod_of[leaf] = leaf / leaves_a_pod;
        for (unsigned i = 0; i < sizes[leaf]; i++)
            fabric.leaf_of[fabric.hosts++] = leaf;
    }
    const struct tree tree = {fabric.hosts, fabric.leaves,  fabric.pod_of[leaves - 1] + 1,
                              SPINES,       fabric.leaf_of, fabric.pod_of};
    fabric.routes = malloc(sizeof *fabric.routes);
    if (!fabric.routes)
        stop("out of memory");
    *fabric.routes = tree_routes(&tree);
    if (oneib_routes_words(fabric.routes) > SET_WORDS)
        stop("a fabric has more links than were expected");
    return fabric;
}

/* Switches on the way. */
static unsigned hops(const struct fabric *fabric, unsigned a, unsigned b)
{
    if (a == b)
        return 1;
    return fabric->pod_of[a] == fabric->pod_of[b] ? 3 : 5;
}

/* ---- placing --------------------------------------------------------------------------------- */

/* The host that `rank` takes among those with a function that have got no VM in this window. */
static unsigned take(const struct cloud *cloud, enum policy policy, const bool *taken,
                     const unsigned *before, const uint32_t *among, size_t count)
{
    unsigned best = HOSTS_MAX;
    for (size_t i = 0; i < count; i++) {
        const unsigned host = among[i];
        if (taken[host] || cloud->used[host] >= VFS)
            continue;
        if (best == HOSTS_MAX ||
            (policy == PACKING ? before[host] > before[best] : before[host] < before[best]))
            best = host;
    }
    return best;
}

static void put(struct cloud *cloud, struct cluster *cluster, unsigned host)
{
    cluster->hosts[cluster->count++] = host;
    cloud->used[host]++;
    cloud->used_in_all++;
}

static void fill_window(const struct cloud *cloud, const struct cluster *cluster, unsigned wanted,
                        struct oneib_window *window)
{
    const struct fabric *fabric = cloud->fabric;
    unsigned settled[LEAVES_MAX] = {0};
    *window = (struct oneib_window){0};
    ONEIB_RESERVE(window->hosts, window->host_capacity, fabric->hosts);
    ONEIB_RESERVE(window->settled, window->settled_capacity, fabric->leaves);
    ONEIB_RESERVE(window->vms, window->vm_capacity, wanted);
    for (unsigned host = 0; host < fabric->hosts; host++)
        window->hosts[window->host_count++] =
            (struct oneib_open_host){host, fabric->leaf_of[host] + 1, VFS - cloud->used[host]};
    for (unsigned i = 0; i < cluster->count; i++)
        settled[fabric->leaf_of[cluster->hosts[i]]]++;
    for (unsigned leaf = 0; leaf < fabric->leaves; leaf++)
        if (settled[leaf])
            window->settled[window->settled_count++] =
                (struct oneib_settled){1, leaf + 1, settled[leaf]};
    for (unsigned i = 0; i < wanted; i++) {
        struct oneib_waiting_vm *vm = &window->vms[window->vm_count++];
        *vm = (struct oneib_waiting_vm){.id = i, .network_id = 1, .nics = 1};
        for (unsigned host = 0; host < fabric->hosts; host++)
            oneib_waiting_allow(window, vm, host);
    }
}

static void add_links_of(const struct cluster *cluster, uint32_t network_id,
                         struct oneib_links *links)
{
    oneib_guid ports[VMS_MAX];
    for (unsigned i = 0; i < cluster->count; i++)
        ports[i] = cluster->hosts[i] + 1;
    oneib_links_add_cluster(links, network_id, cluster->sl, ports, cluster->count);
}

/* Of others only what they use is needed, and that is known. */
static void add_other(const struct cluster *cluster, uint32_t network_id, struct oneib_links *links)
{
    oneib_links_add_cluster(links, network_id, cluster->sl, NULL, 0);
    memcpy(links->clusters[links->cluster_count - 1].set, cluster->set,
           oneib_routes_words(&links->routes) * sizeof *cluster->set);
}

/* The routes stay the fabric's. */
static void fill_links(const struct cloud *cloud, const struct cluster *cluster,
                       struct oneib_links *links)
{
    *links = (struct oneib_links){.routes = *cloud->fabric->routes};
    ONEIB_RESERVE(links->ports, links->port_capacity, cloud->fabric->hosts);
    for (unsigned host = 0; host < cloud->fabric->hosts; host++)
        links->ports[links->port_count++] = (struct oneib_host_port_guid){host, host + 1};
    add_links_of(cluster, 1, links);
    for (unsigned i = 0; i < CLUSTERS_MAX; i++)
        if (cloud->clusters[i].is_there && &cloud->clusters[i] != cluster)
            add_other(&cloud->clusters[i], 2 + i, links);
}

static void clear_links(const struct cloud *cloud, struct oneib_links *links)
{
    *cloud->fabric->routes = links->routes;
    links->routes = (struct oneib_routes){0};
    oneib_links_clear(links);
}

static void offer(const struct cloud *cloud, enum policy policy, const struct cluster *cluster,
                  unsigned wanted, struct oneib_window *window)
{
    struct oneib_links links;
    fill_window(cloud, cluster, wanted, window);
    if (policy == APART) {
        fill_links(cloud, cluster, &links);
        window->links = &links;
    }
    oneib_window_offer(window);
    if (policy == APART)
        clear_links(cloud, &links);
}

/* How many of `wanted` are placed in one window. */
static unsigned place_window(struct cloud *cloud, enum policy policy, struct cluster *cluster,
                             unsigned wanted)
{
    bool taken[HOSTS_MAX] = {false};
    unsigned before[HOSTS_MAX], placed = 0;
    uint32_t all[HOSTS_MAX];
    struct oneib_window window = {0};
    memcpy(before, cloud->used, sizeof before);
    for (unsigned i = 0; i < cloud->fabric->hosts; i++)
        all[i] = i;
    if (policy >= NEAR)
        offer(cloud, policy, cluster, wanted, &window);
    for (unsigned i = 0; i < wanted; i++) {
        const uint32_t *among = policy >= NEAR ? window.vms[i].offered : all;
        const size_t count = policy >= NEAR ? window.vms[i].offered_count : cloud->fabric->hosts;
        const unsigned host = take(cloud, policy, taken, before, among, count);
        if (host == HOSTS_MAX)
            continue;
        taken[host] = true;
        put(cloud, cluster, host);
        placed++;
    }
    oneib_window_clear(&window);
    return placed;
}

static unsigned place_cluster(struct cloud *cloud, enum policy policy, struct cluster *cluster,
                              uint8_t sl, unsigned wanted)
{
    *cluster = (struct cluster){.is_there = true, .sl = sl};
    for (unsigned i = 0; i < WINDOWS_MAX && cluster->count < wanted; i++)
        if (place_window(cloud, policy, cluster, wanted - cluster->count) == 0)
            break;
    return cluster->count;
}

/* ---- one replay ------------------------------------------------------------------------------ */

static void find_links(const struct fabric *fabric, struct cluster *cluster)
{
    oneib_guid ports[VMS_MAX];
    for (unsigned i = 0; i < cluster->count; i++)
        ports[i] = cluster->hosts[i] + 1;
    oneib_routes_of(fabric->routes, ports, cluster->count, cluster->set);
    oneib_routes_ends_of(fabric->routes, ports, cluster->count, cluster->set);
}

static unsigned count_shared(const struct cloud *cloud, const struct cluster *cluster)
{
    unsigned count = 0;
    for (unsigned i = 0; i < CLUSTERS_MAX; i++) {
        const struct cluster *other = &cloud->clusters[i];
        count += other != cluster && other->is_there && other->sl == cluster->sl &&
                 oneib_routes_meet(other->set, cluster->set, SET_WORDS);
    }
    return count;
}

static void judge(const struct fabric *fabric, const struct cluster *cluster, struct score *score)
{
    unsigned long sum = 0, pairs = 0, leaves = 0;
    bool seen[LEAVES_MAX] = {false};
    if (cluster->count < 2)
        return;
    for (unsigned i = 0; i < cluster->count; i++) {
        const unsigned leaf = fabric->leaf_of[cluster->hosts[i]];
        leaves += !seen[leaf];
        seen[leaf] = true;
        for (unsigned j = 0; j < i; j++, pairs++)
            sum += hops(fabric, leaf, fabric->leaf_of[cluster->hosts[j]]);
    }
    score->hops += (double)sum / (double)pairs;
    score->leaves += (double)leaves;
    score->clusters++;
}

static void leave(struct cloud *cloud, struct cluster *cluster)
{
    for (unsigned i = 0; i < cluster->count; i++)
        cloud->used[cluster->hosts[i]]--;
    cloud->used_in_all -= cluster->count;
    *cluster = (struct cluster){0};
}

/* Any of those that are there, each as likely. */
static void leave_someone(struct cloud *cloud)
{
    unsigned count = 0;
    for (unsigned i = 0; i < CLUSTERS_MAX; i++)
        count += cloud->clusters[i].is_there;
    unsigned chosen = draw(count);
    for (unsigned i = 0; i < CLUSTERS_MAX; i++)
        if (cloud->clusters[i].is_there && chosen-- == 0)
            leave(cloud, &cloud->clusters[i]);
}

static struct cluster *free_cluster(struct cloud *cloud)
{
    for (unsigned i = 0; i < CLUSTERS_MAX; i++)
        if (!cloud->clusters[i].is_there)
            return &cloud->clusters[i];
    stop("more clusters than were expected");
    return NULL;
}

/* The same clusters come and go whatever the policy. */
static struct score replay(const struct fabric *fabric, enum policy policy)
{
    static struct cloud cloud;
    struct score score = {0};
    cloud = (struct cloud){.fabric = fabric};
    seed = 1;
    for (unsigned event = 0; event < EVENTS; event++) {
        const unsigned wanted = VMS_MIN + draw(VMS_MAX - VMS_MIN + 1);
        struct cluster *cluster = free_cluster(&cloud);
        const unsigned placed =
            place_cluster(&cloud, policy, cluster, (uint8_t)(1 + event % SLS), wanted);
        score.placed += placed;
        score.refused += wanted - placed;
        judge(fabric, cluster, &score);
        find_links(fabric, cluster);
        score.shared += count_shared(&cloud, cluster);
        while (cloud.used_in_all > fabric->hosts * VFS * FULL_PERCENT / 100)
            leave_someone(&cloud);
    }
    score.hops /= (double)score.clusters;
    score.leaves /= (double)score.clusters;
    score.shared /= EVENTS;
    return score;
}

/* ---- against the best ------------------------------------------------------------------------ */

static unsigned long cost_of(const struct fabric *fabric, const unsigned *leaves, unsigned count)
{
    unsigned long sum = 0;
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = 0; j < i; j++)
            sum += hops(fabric, leaves[i], leaves[j]);
    return sum;
}

/* All ways to distribute the VMs over leaves with that room. */
static unsigned long best_cost(const struct fabric *fabric, const unsigned *room, unsigned count)
{
    unsigned long best = (unsigned long)-1;
    unsigned ways = 1;
    for (unsigned i = 0; i < count; i++)
        ways *= SMALL_LEAVES;
    for (unsigned way = 0; way < ways; way++) {
        unsigned leaves[SMALL_VMS], used[SMALL_LEAVES] = {0}, rest = way;
        bool fits = true;
        for (unsigned i = 0; i < count; i++, rest /= SMALL_LEAVES) {
            leaves[i] = rest % SMALL_LEAVES;
            fits &= ++used[leaves[i]] <= room[leaves[i]];
        }
        const unsigned long cost = fits ? cost_of(fabric, leaves, count) : best;
        best = cost < best ? cost : best;
    }
    return best;
}

/* Random states: a window of `ib` costs how many times the best. */
static double against_the_best(void)
{
    static const unsigned sizes[SMALL_LEAVES] = {4, 4, 4};
    const struct fabric fabric = fabric_of("small", sizes, SMALL_LEAVES, SMALL_LEAVES);
    unsigned long ours = 0, best = 0;
    seed = 7;
    for (unsigned state = 0; state < STATES; state++) {
        static struct cloud cloud;
        unsigned room[SMALL_LEAVES] = {0}, leaves[SMALL_VMS], all = 0;
        cloud = (struct cloud){.fabric = &fabric};
        for (unsigned host = 0; host < fabric.hosts; host++) {
            cloud.used[host] = VFS - draw(3);
            room[fabric.leaf_of[host]] += VFS - cloud.used[host];
            all += VFS - cloud.used[host];
        }
        unsigned count = 2 + draw(SMALL_VMS - 1);
        count = count > all ? all : count;
        struct cluster cluster;
        if (place_cluster(&cloud, NEAR, &cluster, 1, count) != count)
            stop("a VM found no place though there was one");
        for (unsigned i = 0; i < count; i++)
            leaves[i] = fabric.leaf_of[cluster.hosts[i]];
        ours += cost_of(&fabric, leaves, count);
        best += best_cost(&fabric, room, count);
    }
    return (double)ours / (double)best;
}

/* ---- goals ----------------------------------------------------------------------------------- */

static int fails;

static void goal(bool is_met, const char *what)
{
    printf("%s %s\n", is_met ? "PASS" : "FAIL", what);
    fails += !is_met;
}

static void compare_two(const struct score *ours, const char *our_name, const struct score *other,
                        const char *name)
{
    printf("  %s against %s: hops %.2f, leaves %.2f, clusters that meet %.2f\n", our_name, name,
           ours->hops / other->hops, ours->leaves / other->leaves, ours->shared / other->shared);
    goal(ours->hops <= 0.8 * other->hops && ours->leaves <= 0.8 * other->leaves,
         "hops and leaves are better by a fifth");
    goal(ours->shared <= other->shared, "no more clusters meet");
    goal(ours->refused <= other->refused, "no more VMs are refused");
}

static void compare(const struct fabric *fabric)
{
    struct score scores[POLICIES];
    printf("%s: %u hosts, %u leaves\n", fabric->name, fabric->hosts, fabric->leaves);
    for (unsigned i = 0; i < POLICIES; i++) {
        scores[i] = replay(fabric, (enum policy)i);
        printf("  %-15s %5.2f hops  %5.2f leaves  %5.2f of its level meet it  %6lu of %lu VMs "
               "refused\n",
               policy_names[i], scores[i].hops, scores[i].leaves, scores[i].shared,
               scores[i].refused, scores[i].refused + scores[i].placed);
    }
    for (unsigned i = NEAR; i < POLICIES; i++)
        for (unsigned j = 0; j < NEAR; j++)
            compare_two(&scores[i], policy_names[i], &scores[j], policy_names[j]);
    goal(scores[APART].shared <= scores[NEAR].shared, "by links, no more clusters meet");
}
int main(void)
{
    static const unsigned even[LEAVES_MAX] = {16, 16, 16, 16, 16, 16, 16, 16,
                                              16, 16, 16, 16, 16, 16, 16, 16};
    static const unsigned uneven[LEAVES_MAX] = {4, 28, 8, 24, 12, 20, 16, 16,
                                                4, 28, 8, 24, 12, 20, 16, 16};
    const struct fabric fabrics[] = {
        fabric_of("two levels", even, LEAVES_MAX, LEAVES_MAX),
        fabric_of("three levels", even, LEAVES_MAX, 4),
        fabric_of("uneven leaves", uneven, LEAVES_MAX, LEAVES_MAX),
    };
    for (unsigned i = 0; i < sizeof fabrics / sizeof *fabrics; i++)
        compare(&fabrics[i]);
    const double ratio = against_the_best();
    printf("%d windows on 12 hosts: %.3f times the best\n", STATES, ratio);
    goal(ratio <= 1.1, "at most 1.1 times the best of all placements");
    return fails ? 1 : 0;
}
