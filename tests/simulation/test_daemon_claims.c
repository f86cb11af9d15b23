// SPDX-License-Identifier: Apache-2.0
/*
 * Ports that a host claims and does not have: in IB_HCA, which anybody may send in any host's name
 * (OpenNebula's monitoring is not authenticated), and by its oneib-node, when the host is
 * compromised. With a running oneibd, a real opensm on ibsim and played nodes: no other host loses a
 * P_Key, or waits for one.
 */
#include "base/cleanup.h"
#include "daemon_scene.h"
#include "ib/guid.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VICTIM 1u
#define BLUE 258u
#define STORAGE SCENE_EXTRA /* a port on the fabric that is no host of OpenNebula's */

static struct oneib_error err;

/* A port of IB_HCA. */
struct claim {
    const char *device, *driver;
    uint64_t guid;
};

/* What somebody sends to monitord in the host's name. */
static void forge_probe(uint32_t host, const struct claim *claims, size_t count)
{
    char text[2048];
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "IB_HCA = [ NAME = \"%s\", DRIVER = \"%s\", PORT = \"1\", "
                                   "PORT_GUID = \"0x%016" PRIx64 "\", VFS_TOTAL = \"7\" ]\n",
                                   claims[i].device, claims[i].driver, claims[i].guid);
    MUST(lab_host_monitor(scene(), host, text, &err));
}

static void await_owned(uint64_t guid)
{
    bool is_owned = false;
    for (unsigned waited = 0; !is_owned; waited += 50) {
        struct oneib_kept_ledger kept = scene_ledger();
        is_owned = oneib_ledger_port(&kept.ledger, guid) != NULL;
        oneib_kept_ledger_clear(&kept);
        if (waited > DAEMON_PATIENCE_MS)
            fail_msg("port 0x%016" PRIx64 " is not in the ledger", guid);
        lab_sleep_ms(50);
    }
}

/* A VM of "red" on the victim, in force. */
static uint32_t start_victim(uint32_t *network)
{
    *network = red_network();
    for (size_t host = 0; host < SCENE_HOSTS; host++)
        await_owned(lab_host_port_guid(scene(), host));
    const uint32_t vm = scene_vm(*network, VICTIM);
    await_holds(VICTIM, FULL(RED));
    return vm;
}

/* A host whose node, with a key of its own, reports that port as its own, and its probe too. */
static uint32_t add_liar(uint64_t guid)
{
    char text[32];
    uint32_t id;
    snprintf(text, sizeof text, "0x%016" PRIx64, guid);
    MUST(lab_host_create(scene(), "liar", "mlx4_0", "mlx4", text, 63, 7, &id, &err));
    return id;
}

/* What the victim has stays, and what it is to get comes. */
static void the_victim_loses_nothing_and_waits_for_nothing(void)
{
    stays_holding(VICTIM, FULL(RED), 1500);
    scene_vm(scene_network("blue", "258", NULL), VICTIM);
    await_holds(VICTIM, FULL(BLUE));
    assert_true(port_holds(VICTIM, FULL(RED)));
}

/* The node still reports the VF open when its VM has ended: the key must stay until it does not. */
static void another_driver_in_a_hosts_probe_takes_no_key_from_under_an_open_vf(void **state)
{
    (void)state;
    uint32_t red;
    const uint32_t vm = start_victim(&red);
    const uint64_t guid = lab_host_port_guid(scene(), VICTIM);
    MUST(lab_host_mood(scene(), guid, "keeps", &err));
    lab_sleep_ms(500);
    forge_probe(VICTIM,
                (const struct claim[]){{"mlx5_0", "mlx5", guid}, {"mlx4_9", "mlx4", guid + 0x1000}},
                2);
    scene_end_vm(vm);
    stays_holding(VICTIM, FULL(RED), 700);
    MUST(lab_host_mood(scene(), guid, "well", &err));
    await_lacks(VICTIM, FULL(RED));
}

/* It has the oldest VM of a shared network. An operator's word takes what it reports. */
static void a_node_that_reports_another_driver_takes_no_key_from_other_hosts(void **state)
{
    (void)state;
    const uint64_t liar = lab_host_port_guid(scene(), 0);
    const uint32_t red = red_network();
    await_owned(liar);
    await_owned(lab_host_port_guid(scene(), VICTIM));
    scene_vm(red, 0);
    await_holds(0, FULL(RED));
    scene_vm(red, VICTIM);
    await_holds(VICTIM, FULL(RED));
    MUST(lab_host_mood(scene(), liar, "turned", &err));
    await_said("port-changed: host \"H1\": its oneib-node reports port");
    scene_vm(red, 2);
    await_holds(2, FULL(RED));
    stays_holding(VICTIM, FULL(RED), 1000);
    assert_true(port_holds(0, FULL(RED)));
}

static void a_host_whose_probe_claims_all_ports_costs_no_other_host_a_key(void **state)
{
    (void)state;
    uint32_t red, id;
    start_victim(&red);
    MUST(lab_host_create_bare(scene(), "liar", &id, &err)); /* the highest id, and no node */
    static const char *const devices[SCENE_HOSTS] = {"mlx4_0", "mlx4_1", "mlx4_2", "mlx4_3"};
    struct claim claims[SCENE_HOSTS];
    for (size_t i = 0; i < SCENE_HOSTS; i++)
        claims[i] = (struct claim){devices[i], "mlx4", lab_host_port_guid(scene(), i)};
    forge_probe(id, claims, SCENE_HOSTS);
    await_said("port-conflict");
    the_victim_loses_nothing_and_waits_for_nothing();
}

static void the_lowest_host_id_takes_no_port_from_another_host(void **state)
{
    (void)state;
    uint32_t red;
    start_victim(&red);
    forge_probe(0,
                (const struct claim[]){{"mlx4_0", "mlx4", lab_host_port_guid(scene(), 0)},
                                       {"mlx4_1", "mlx4", lab_host_port_guid(scene(), VICTIM)}},
                2);
    await_said("port-conflict: host \"H1\" names port");
    the_victim_loses_nothing_and_waits_for_nothing();
}

static void a_node_that_reports_all_hosts_ports_costs_no_other_host_a_key(void **state)
{
    (void)state;
    uint32_t red;
    start_victim(&red);
    const uint64_t own = lab_host_port_guid(scene(), SCENE_EXTRA);
    add_liar(own);
    await_owned(own);
    MUST(lab_host_mood(scene(), own, "lies", &err));
    await_said("port-anothers: host \"liar\": its oneib-node reports port");
    the_victim_loses_nothing_and_waits_for_nothing();
}

static void a_forged_port_with_a_vfs_guid_takes_no_key_from_the_vf(void **state)
{
    (void)state;
    char guid[32], member[32];
    uint32_t host, liar;
    const uint32_t red = red_network();
    snprintf(guid, sizeof guid, "0x%016" PRIx64, lab_host_port_guid(scene(), SCENE_EXTRA));
    MUST(lab_host_create(scene(), "X1", "mlx5_0", "mlx5", guid, 63, 7, &host, &err));
    await_owned(lab_host_port_guid(scene(), SCENE_EXTRA));
    const uint32_t vm = scene_vm(red, host);
    snprintf(member, sizeof member, "0x02000000000%03x01", vm);
    for (unsigned waited = 0;; waited += 100) {
        oneib_autofree char *file = scene_file();
        if (strstr(file, member))
            break;
        assert_true(waited < DAEMON_PATIENCE_MS);
        lab_sleep_ms(100);
    }
    MUST(lab_host_create_bare(scene(), "liar", &liar, &err));
    forge_probe(liar, &(const struct claim){"mlx4_0", "mlx4", strtoull(member, NULL, 16)}, 1);
    await_said("port-guid-site");
    lab_sleep_ms(DAEMON_DOUBT_MS);
    oneib_autofree char *file = scene_file();
    assert_non_null(strstr(file, member));
}

/* The ledger has the port as its own, and then nothing is heard of it. */
static void a_silent_node_that_reported_a_storage_servers_port_keeps_no_key_from_it(void **state)
{
    (void)state;
    char member[64];
    const uint64_t storage = lab_host_port_guid(scene(), STORAGE);
    add_liar(storage);
    await_owned(storage);
    MUST(lab_host_mood(scene(), storage, "silent", &err));
    lab_sleep_ms(1500);
    snprintf(member, sizeof member, "IB_STATIC_GUIDS=0x%016" PRIx64 "=full\n", storage);
    scene_network("storage", "259", member);
    await_holds(STORAGE, FULL(259));
    await_said("of host \"liar\" serves no virtual cluster: it is a static member");
}

/* Whose ports are whose is as oneibd has read it last, also when the ledger is made again. */
static void a_probe_that_claims_a_port_takes_it_from_no_host_while_the_ledger_is_lost(void **state)
{
    (void)state;
    uint32_t red, liar;
    start_victim(&red);
    MUST(lab_host_create_bare(scene(), "liar", &liar, &err));
    struct oneib_kept_ledger kept = scene_ledger();
    MUST(lab_document_delete(scene(), kept.document_id, &err));
    oneib_kept_ledger_clear(&kept);
    await_said("ledger-lost");
    const uint64_t port = lab_host_port_guid(scene(), VICTIM);
    forge_probe(liar, &(const struct claim){"mlx4_0", "mlx4", port}, 1);
    await_said("port-conflict: host \"liar\" names port");
    stays_holding(VICTIM, FULL(RED), 1500);
    assert_false(daemon_said("is not used for host \"H2\""));
    struct lab_output output = adopt_ledger();
    must_say(output.out, "the ledger has 1 P_Key again");
    lab_output_clear(&output);
    kept = scene_ledger();
    const struct oneib_ledger_port *owned = oneib_ledger_port(&kept.ledger, port);
    assert_true(owned && owned->host_id == VICTIM && owned->hca.device[0]);
    oneib_kept_ledger_clear(&kept);
}

/* The adapter was moved: the operator says so, and the new host's node names it. */
static void a_port_that_an_operator_accepts_is_that_hosts(void **state)
{
    (void)state;
    char guid[32];
    uint32_t red;
    start_victim(&red);
    const uint64_t storage = lab_host_port_guid(scene(), STORAGE);
    const uint32_t host = add_liar(storage);
    await_owned(storage);
    snprintf(guid, sizeof guid, "0x%016" PRIx64, storage);
    must_say(ONEIB(0, "host", "accept", "--port", guid, "H1")->out, "accepted");
    await_said("port-anothers: host \"liar\": its oneib-node reports port");
    scene_vm(red, host);
    stays_lacking(STORAGE, FULL(RED), 1000);
    must_say(ONEIB(0, "host", "accept", "--port", guid, "liar")->out, "accepted");
    await_holds(STORAGE, FULL(RED));
    must_say(ONEIB(2, "host", "accept", "--port", "x", "liar")->error, "not a port GUID");
    must_say(ONEIB(2, "host", "forget", "--port", guid, "liar")->error,
             "valid only with 'host accept'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DAEMON_CASE(daemon_raise_watching,
                    another_driver_in_a_hosts_probe_takes_no_key_from_under_an_open_vf),
        DAEMON_CASE(daemon_raise_watching,
                    a_node_that_reports_another_driver_takes_no_key_from_other_hosts),
        DAEMON_CASE(daemon_raise_watching,
                    a_host_whose_probe_claims_all_ports_costs_no_other_host_a_key),
        DAEMON_CASE(daemon_raise_watching, the_lowest_host_id_takes_no_port_from_another_host),
        DAEMON_CASE(daemon_raise_watching,
                    a_node_that_reports_all_hosts_ports_costs_no_other_host_a_key),
        DAEMON_CASE(daemon_raise_watching, a_forged_port_with_a_vfs_guid_takes_no_key_from_the_vf),
        DAEMON_CASE(daemon_raise_watching,
                    a_silent_node_that_reported_a_storage_servers_port_keeps_no_key_from_it),
        DAEMON_CASE(daemon_raise_watching,
                    a_probe_that_claims_a_port_takes_it_from_no_host_while_the_ledger_is_lost),
        DAEMON_CASE(daemon_raise_watching, a_port_that_an_operator_accepts_is_that_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
