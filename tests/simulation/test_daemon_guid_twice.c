// SPDX-License-Identifier: Apache-2.0
/*
 * One GUID at two places, where an adapter's functions are ports of their own (mlx5): with a
 * running oneibd, on ibsim with a real opensm.
 *
 * The virtual machine is recreated on another host, as by host_error.rb, while its old one may
 * still run it. Whether opensm, which has no virtual ports, puts anything into force does not
 * matter: what is in the partitions file, and what a host may set, is what counts.
 */
#include "base/cleanup.h"
#include "fence_scene.h"
#include "lab_internal.h"
#include "oneibd/nodes.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct oneib_error err;
static uint32_t vm;

#define OLD SCENE_HOSTS /* X1 and X2 */
#define NEW (SCENE_HOSTS + 1)

struct move {
    uint32_t old_host, new_host;
    char guid[ONEIB_GUID_TEXT_SIZE]; /* the function's */
};

static uint32_t add_mlx5_host(const char *name, size_t place)
{
    char guid[32];
    uint32_t id;
    snprintf(guid, sizeof guid, "0x%016" PRIx64, lab_host_port_guid(scene(), place));
    MUST(lab_host_create(scene(), name, "mlx5_0", "mlx5", guid, 63, 7, &id, &err));
    await_pinned(lab_host_port_guid(scene(), place));
    return id;
}

static bool hosts_said(const char *words)
{
    oneib_autofree char *log = lab_read_from(scene(), "played-hosts.log", 0);
    return strstr(log, words) != NULL;
}

/* A host's service says so: the function may have its GUID there. */
static bool is_set_at(const struct move *move, size_t place)
{
    char words[96];
    snprintf(words, sizeof words, "%s at 0x%016" PRIx64, move->guid,
             lab_host_port_guid(scene(), place));
    return hosts_said(words);
}

/* Until its service is so. */
static void make(size_t place, const char *mood)
{
    char words[64];
    snprintf(words, sizeof words, "0x%016" PRIx64 " is %s", lab_host_port_guid(scene(), place),
             mood);
    MUST(lab_host_mood(scene(), lab_host_port_guid(scene(), place), mood, &err));
    const long end = lab_clock_ms() + DAEMON_PATIENCE_MS;
    while (!hosts_said(words)) {
        if (lab_clock_ms() > end)
            fail_msg("host %zu does not become %s", place, mood);
        lab_sleep_ms(50);
    }
}

static bool is_member(const struct move *move)
{
    oneib_autofree char *file = scene_file();
    return strstr(file, move->guid) != NULL;
}

/* Is a member, and may have its GUID there. */
static void await_works_at(const struct move *move, size_t place)
{
    unsigned waited = 0;
    while (!is_member(move) || !is_set_at(move, place)) {
        if (waited > DAEMON_PATIENCE_MS)
            fail_msg("the virtual machine has nothing at host %zu", place);
        lab_sleep_ms(100);
        waited += 100;
    }
}

/* From when it has left its old place: that it has to wait is said before that. */
static void waits(const struct move *move, size_t place, unsigned milliseconds)
{
    const long end = lab_clock_ms() + DAEMON_PATIENCE_MS;
    for (; is_member(move); lab_sleep_ms(50))
        if (lab_clock_ms() > end)
            fail_msg("the virtual machine is still a member");
    for (unsigned waited = 0; waited < milliseconds; waited += 100) {
        assert_false(is_member(move));
        assert_false(is_set_at(move, place));
        lab_sleep_ms(100);
    }
}

static struct move begin_on_mlx5(void)
{
    struct move move = {0};
    scene();
    const uint32_t network = scene_network("blue", "300", NULL);
    move.old_host = add_mlx5_host("old", OLD);
    move.new_host = add_mlx5_host("new", NEW);
    vm = scene_vm(network, move.old_host);
    snprintf(move.guid, sizeof move.guid, "0x02000000000%03x01", vm);
    await_works_at(&move, OLD);
    return move;
}

static void recreate_elsewhere(const struct move *move)
{
    MUST(lab_vm_state(scene(), vm, 1, 0, &err)); /* PENDING */
    MUST(lab_vm_deploy(scene(), vm, move->new_host, &err));
    MUST(lab_vm_running(scene(), vm, &err));
    await_said("guid-twice");
}

static void a_guid_that_another_host_still_has_is_nobodys_until_it_is_given_back(void **state)
{
    (void)state;
    const struct move move = begin_on_mlx5();
    make(OLD, "keeps");
    recreate_elsewhere(&move);
    waits(&move, NEW, 4000);
    make(OLD, "well");
    await_works_at(&move, NEW);
}

static void a_guid_of_a_host_that_is_silent_is_nobodys_until_it_is_fenced(void **state)
{
    (void)state;
    const struct move move = begin_on_mlx5();
    make(OLD, "silent");
    lab_sleep_ms(ONEIB_NODE_SILENT_MS + 500);
    recreate_elsewhere(&move);
    waits(&move, NEW, 4000);
    json_t *said = ONEIB_JSON(0, "fence", "old");
    assert_true(is_physically(json_array_get(json_field(said, "ports"), 0), "Disabled"));
    await_works_at(&move, NEW);
}

/* Its ports are closed: what it says that it has reaches nobody. */
static void a_guid_that_a_fenced_host_says_it_has_is_free(void **state)
{
    (void)state;
    const struct move move = begin_on_mlx5();
    make(OLD, "keeps");
    recreate_elsewhere(&move);
    waits(&move, NEW, 2000);
    ONEIB(0, "fence", "old");
    await_works_at(&move, NEW);
}

/* ---- on the fabric ---------------------------------------------------------------------------
 *
 * A port that no host reports has the GUID of the first VM's function: X3's, whose link is down at
 * first. It is a port of its own here, a virtual port at a host there.
 */

#define STRANGER (SCENE_HOSTS + 2)
#define VERIFY_MS 1000
#define FIRST_FUNCTIONS UINT64_C(0x0200000000000001)

static int raise_with_stranger(void **state)
{
    (void)state;
    const struct lab_options options = {.leaves = 1,
                                        .hosts_per_leaf = SCENE_HOSTS,
                                        .extra_hosts = 3,
                                        .last_guid = FIRST_FUNCTIONS - 1};
    if (daemon_raise_on(&options, NULL) < 0)
        return -1;
    if (!lab_missing()) {
        MUST(lab_fabric_link(scene(), STRANGER, false, &err));
        ONEIB(0, "sync", "--force");
        daemon_start_with(NULL, DAEMON_QUICK " verify = 1000;", NULL);
    }
    return 0;
}

static void a_guid_that_a_port_of_the_fabric_still_has_is_nobodys_until_it_is_gone(void **state)
{
    (void)state;
    const struct move move = begin_on_mlx5();
    assert_int_equal(strtoull(move.guid, NULL, 16), FIRST_FUNCTIONS);
    assert_int_equal(lab_host_port_guid(scene(), STRANGER), FIRST_FUNCTIONS);
    MUST(lab_fabric_link(scene(), STRANGER, true, &err));
    await_holds(STRANGER, FULL(KEY)); /* for opensm it is the function */
    lab_sleep_ms(3 * VERIFY_MS);      /* oneibd has seen it */
    recreate_elsewhere(&move);
    await_said("another port of the fabric still has its GUID");
    waits(&move, NEW, 4000);
    MUST(lab_fabric_link(scene(), STRANGER, false, &err));
    await_works_at(&move, NEW);
    await_said("no more guid-twice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DAEMON_CASE(daemon_raise_watching,
                    a_guid_that_another_host_still_has_is_nobodys_until_it_is_given_back),
        DAEMON_CASE(daemon_raise_watching,
                    a_guid_of_a_host_that_is_silent_is_nobodys_until_it_is_fenced),
        DAEMON_CASE(daemon_raise_watching, a_guid_that_a_fenced_host_says_it_has_is_free),
        DAEMON_CASE(raise_with_stranger,
                    a_guid_that_a_port_of_the_fabric_still_has_is_nobodys_until_it_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
