// SPDX-License-Identifier: Apache-2.0
/*
 * The events of the stand-in for oned against those recorded from oned 7.4.0: keys, their order,
 * the elements of payloads; and each fault of the stream, seen through core/opennebula/events.h.
 * Needs no fabric.
 */
#include "../base64.h"
#include "base/clock.h"
#include "lab.h"
#include "opennebula/events.h"
#include "structure.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#define WAIT_MS 10000
#define QUIET_MS 200

static struct oneib_error err;

#define ok(expression)                                                                             \
    do {                                                                                           \
        if ((expression) < 0)                                                                      \
            fail_msg("%s: %s", #expression, err.text);                                             \
    } while (0)

/* A cloud with a host and a network, a listener that takes everything, and oneib's subscription. */
struct scene {
    struct lab *lab;
    void *context, *listener;
    struct oneib_events *events;
    char keys[4096]; /* heard, one a line in [] */
    char *payload;   /* decoded, of the key looked for */
};

enum { HOST = 0, ETHNET = 0, BLUE = 1 };

/* ---- everything that is published ------------------------------------------------------------ */

/* Takes one message, of two frames; false when none comes in time. */
static bool hear(struct scene *scene, long timeout_ms, const char *wanted)
{
    zmq_pollitem_t item = {.socket = scene->listener, .events = ZMQ_POLLIN};
    if (zmq_poll(&item, 1, timeout_ms) <= 0)
        return false;
    char key[128];
    int length = zmq_recv(scene->listener, key, sizeof key - 1, 0), more;
    size_t size = sizeof more;
    assert_true(length > 0 && length < (int)sizeof key);
    key[length] = '\0';
    zmq_getsockopt(scene->listener, ZMQ_RCVMORE, &more, &size);
    assert_true(more);
    zmq_msg_t payload;
    zmq_msg_init(&payload);
    zmq_msg_recv(&payload, scene->listener, 0);
    assert_false(zmq_msg_more(&payload));
    if (wanted && strcmp(key, wanted) == 0) {
        free(scene->payload);
        scene->payload = base64_decode(zmq_msg_data(&payload), zmq_msg_size(&payload));
        assert_non_null(scene->payload);
    }
    zmq_msg_close(&payload);
    size_t used = strlen(scene->keys);
    snprintf(scene->keys + used, sizeof scene->keys - used, "[%s]\n", key);
    return true;
}

/* Forgets what has been heard until now. */
static void begin(struct scene *scene)
{
    while (hear(scene, QUIET_MS, NULL))
        ;
    *scene->keys = '\0';
}

static void assert_heard(struct scene *scene, const char *keys)
{
    while (strlen(scene->keys) < strlen(keys) && hear(scene, WAIT_MS, NULL))
        ;
    hear(scene, QUIET_MS, NULL);
    assert_string_equal(scene->keys, keys);
}

/* The payload under that key, which comes soon. */
static const char *heard(struct scene *scene, const char *key)
{
    free(scene->payload);
    scene->payload = NULL;
    while (!scene->payload && hear(scene, WAIT_MS, key))
        ;
    if (!scene->payload)
        fail_msg("[%s] was not heard", key);
    return scene->payload;
}

/* Subscriptions take a moment, and nobody says when they are there. */
static void await_hearing(struct scene *scene)
{
    do
        ok(lab_host_update(scene->lab, HOST, "NOTE=1", &err));
    while (!hear(scene, 20, NULL));
    begin(scene);
}

static void listen_to(struct scene *scene)
{
    int no_linger = 0;
    scene->context = zmq_ctx_new();
    scene->listener = zmq_socket(scene->context, ZMQ_SUB);
    zmq_setsockopt(scene->listener, ZMQ_LINGER, &no_linger, sizeof no_linger);
    zmq_setsockopt(scene->listener, ZMQ_SUBSCRIBE, "", 0);
    assert_int_equal(zmq_connect(scene->listener, lab_events_endpoint(scene->lab)), 0);
    await_hearing(scene);
}

static int open_cloud(void **state)
{
    static const struct lab_options options = LAB_DEFAULTS;
    struct scene *scene = calloc(1, sizeof *scene);
    uint32_t id;
    *state = scene;
    scene->lab = lab_open(&options, &err);
    if (scene->lab && lab_standin_start(scene->lab, NULL, &err) == 0 &&
        lab_host_create(scene->lab, "H1", "mlx4_0", "mlx4", "0x0000000000100003", 63, 7, &id,
                        &err) == 0 &&
        lab_network_create(scene->lab, "blue", "5", NULL, &id, &err) == 0)
        return 0;
    print_error("%s\n", err.text);
    return -1;
}

static int open_listening(void **state)
{
    if (open_cloud(state) < 0)
        return -1;
    listen_to(*state);
    return 0;
}

static int close_scene(void **state)
{
    struct scene *scene = *state;
    if (scene->listener)
        zmq_close(scene->listener);
    if (scene->context)
        zmq_ctx_term(scene->context);
    oneib_events_close(scene->events);
    lab_close(scene->lab);
    free(scene->payload);
    free(scene);
    return 0;
}

/* ---- keys and their order -------------------------------------------------------------------- */

static void a_vm_comes_and_goes_as_recorded(void **state)
{
    struct scene *scene = *state;
    uint32_t vm, network = BLUE;
    ok(lab_vm_create(scene->lab, "vm", &network, 1, &vm, &err));
    ok(lab_vm_deploy(scene->lab, vm, HOST, &err));
    ok(lab_vm_state(scene->lab, vm, 3, 2, &err));
    ok(lab_vm_running(scene->lab, vm, &err));
    ok(lab_vm_state(scene->lab, vm, 3, 12, &err));
    ok(lab_vm_delete(scene->lab, vm, &err));
    assert_heard(scene, "[EVENT VM 0/PENDING/LCM_INIT ]\n[EVENT STATE VM/PENDING/LCM_INIT/0 ]\n"
                        "[EVENT API one.template.instantiate 1]\n"
                        "[EVENT VM 0/ACTIVE/LCM_INIT ]\n[EVENT STATE VM/ACTIVE/LCM_INIT/0 ]\n"
                        "[EVENT VM 0/ACTIVE/PROLOG ]\n[EVENT STATE VM/ACTIVE/PROLOG/0 ]\n"
                        "[EVENT VM 0/ACTIVE/BOOT ]\n[EVENT STATE VM/ACTIVE/BOOT/0 ]\n"
                        "[EVENT VM 0/ACTIVE/RUNNING ]\n[EVENT STATE VM/ACTIVE/RUNNING/0 ]\n"
                        "[EVENT VM 0/ACTIVE/SHUTDOWN ]\n[EVENT STATE VM/ACTIVE/SHUTDOWN/0 ]\n"
                        "[EVENT VM 0/DONE/LCM_INIT ]\n[EVENT STATE VM/DONE/LCM_INIT/0 ]\n");
}

static void nics_come_and_go_as_recorded(void **state)
{
    struct scene *scene = *state;
    uint32_t vm, nic, network = BLUE;
    ok(lab_vm_start(scene->lab, "vm", &network, 1, HOST, &vm, &err));
    begin(scene);
    ok(lab_vm_attach(scene->lab, vm, BLUE, &nic, &err));
    ok(lab_vm_running(scene->lab, vm, &err));
    ok(lab_vm_detach(scene->lab, vm, nic, &err));
    ok(lab_vm_running(scene->lab, vm, &err));
    ok(lab_vm_state(scene->lab, vm, 8, 0, &err));
    ok(lab_vm_attach(scene->lab, vm, BLUE, &nic, &err));
    ok(lab_vm_detach(scene->lab, vm, nic, &err));
    ok(lab_vm_set_nic(scene->lab, vm, 1, "VLAN_ID=6", &err));
    assert_heard(scene, "[EVENT VM 0/ACTIVE/HOTPLUG_NIC ]\n[EVENT STATE VM/ACTIVE/HOTPLUG_NIC/0 ]\n"
                        "[EVENT API one.vm.attachnic 1]\n"
                        "[EVENT VM 0/ACTIVE/RUNNING ]\n[EVENT STATE VM/ACTIVE/RUNNING/0 ]\n"
                        "[EVENT VM 0/ACTIVE/HOTPLUG_NIC ]\n[EVENT STATE VM/ACTIVE/HOTPLUG_NIC/0 ]\n"
                        "[EVENT API one.vm.detachnic 1]\n"
                        "[EVENT VM 0/ACTIVE/RUNNING ]\n[EVENT STATE VM/ACTIVE/RUNNING/0 ]\n"
                        "[EVENT VM 0/POWEROFF/LCM_INIT ]\n[EVENT STATE VM/POWEROFF/LCM_INIT/0 ]\n"
                        "[EVENT API one.vm.attachnic 1]\n"
                        "[EVENT API one.vm.detachnic 1]\n"
                        "[EVENT API one.vm.updatenic 1]\n");
}

static void a_migration_is_a_call_and_then_a_state(void **state)
{
    struct scene *scene = *state;
    uint32_t vm, host, network = BLUE;
    ok(lab_host_create_bare(scene->lab, "H2", &host, &err));
    ok(lab_vm_start(scene->lab, "vm", &network, 1, HOST, &vm, &err));
    begin(scene);
    ok(lab_vm_migrate(scene->lab, vm, host, 4, &err));
    ok(lab_vm_running(scene->lab, vm, &err));
    assert_heard(scene, "[EVENT API one.vm.migrate 1]\n"
                        "[EVENT VM 0/ACTIVE/MIGRATE ]\n[EVENT STATE VM/ACTIVE/MIGRATE/0 ]\n"
                        "[EVENT VM 0/ACTIVE/RUNNING ]\n[EVENT STATE VM/ACTIVE/RUNNING/0 ]\n");
}

static void networks_and_hosts_come_and_go_as_recorded(void **state)
{
    struct scene *scene = *state;
    uint32_t id;
    ok(lab_network_create(scene->lab, "red", "6", NULL, &id, &err));
    ok(lab_network_reserve(scene->lab, id, "share", &id, &err));
    ok(lab_network_delete(scene->lab, id, &err));
    ok(lab_host_create_bare(scene->lab, "H2", &id, &err));
    ok(lab_host_update(scene->lab, id, "IB_VFS_FREE=6", &err));
    assert_heard(scene, "[EVENT API one.vn.allocate 1]\n"
                        "[EVENT NET 2/READY/ ]\n[EVENT STATE NET/READY//2 ]\n"
                        "[EVENT NET 3/LOCK_CREATE/ ]\n[EVENT STATE NET/LOCK_CREATE//3 ]\n"
                        "[EVENT API one.vn.reserve 1]\n"
                        "[EVENT NET 3/READY/ ]\n[EVENT STATE NET/READY//3 ]\n"
                        "[EVENT NET 3/LOCK_DELETE/ ]\n[EVENT STATE NET/LOCK_DELETE//3 ]\n"
                        "[EVENT API one.vn.delete 1]\n"
                        "[EVENT NET 3/DONE/ ]\n[EVENT STATE NET/DONE//3 ]\n"
                        "[EVENT HOST 1/INIT/ ]\n[EVENT STATE HOST/INIT//1 ]\n"
                        "[EVENT API one.host.allocate 1]\n"
                        "[EVENT HOST 1/MONITORED/ ]\n[EVENT STATE HOST/MONITORED//1 ]\n"
                        "[EVENT API one.host.update 1]\n");
}

static void a_networks_update_passes_through_running_vms(void **state)
{
    struct scene *scene = *state;
    uint32_t vm, network = BLUE;
    ok(lab_vm_start(scene->lab, "running", &network, 1, HOST, &vm, &err));
    ok(lab_vm_create(scene->lab, "pending", &network, 1, &vm, &err));
    begin(scene);
    ok(lab_network_update(scene->lab, BLUE, "VLAN_ID=300", &err));
    ok(lab_network_update(scene->lab, BLUE, "NOTE=nothing of the NICs", &err));
    assert_heard(scene, "[EVENT API one.vn.update 1]\n"
                        "[EVENT VM 0/ACTIVE/HOTPLUG_NIC ]\n[EVENT STATE VM/ACTIVE/HOTPLUG_NIC/0 ]\n"
                        "[EVENT VM 0/ACTIVE/RUNNING ]\n[EVENT STATE VM/ACTIVE/RUNNING/0 ]\n"
                        "[EVENT API one.vn.update 1]\n");
}

static void a_refused_call_changes_and_tells_nothing(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(lab_network_update(scene->lab, BLUE, "nonsense", &err), -1);
    assert_int_equal(lab_network_update(scene->lab, 99, "VLAN_ID=5", &err), -1);
    assert_heard(scene, "");
}

/* ---- payloads -------------------------------------------------------------------------------- */

static void vms_have_the_recorded_elements(void **state)
{
    /* The recorded one was made on hold. */
    static const char *const without[] = {"SUBMIT_ON_HOLD", NULL};
    struct scene *scene = *state;
    uint32_t vm;
    ok(lab_vm_create(scene->lab, "vm", NULL, 0, &vm, &err));
    ok(lab_vm_deploy(scene->lab, vm, HOST, &err));
    const char *placed = heard(scene, "EVENT STATE VM/ACTIVE/LCM_INIT/0 ");
    assert_same_structure(placed, "zmq/00023.xml", without);
    assert_non_null(strstr(placed, "<HOOK_MESSAGE><HOOK_TYPE>STATE</HOOK_TYPE>"
                                   "<HOOK_OBJECT>VM</HOOK_OBJECT><STATE>ACTIVE</STATE>"
                                   "<LCM_STATE>LCM_INIT</LCM_STATE><RESOURCE_ID>0</RESOURCE_ID>"
                                   "<REMOTE_HOST>H1</REMOTE_HOST><VM><ID>0</ID>"));
    assert_non_null(strstr(placed, "<STATE>3</STATE><LCM_STATE>0</LCM_STATE>"));
}

static void networks_have_the_recorded_elements(void **state)
{
    static const char *const without[] = {NULL};
    struct scene *scene = *state;
    uint32_t id;
    ok(lab_network_create(scene->lab, "eth", "", "VN_MAD=dummy", &id, &err));
    const char *call = heard(scene, "EVENT API one.vn.allocate 1");
    /* Ours has more attributes than it was given. */
    static const char *const particulars[] = {"OUTER_VLAN_ID", "VLAN_ID", NULL};
    assert_same_structure(call, "zmq/00001.xml", particulars);
    assert_non_null(strstr(call, "<POSITION>2</POSITION><TYPE>OUT</TYPE><VALUE>2</VALUE>"));
    const char *ready = heard(scene, "EVENT STATE NET/READY//2 ");
    assert_same_structure(ready, "zmq/00003.xml", without);
    assert_non_null(strstr(ready, "<STATE><![CDATA[1]]></STATE>"));
    ok(lab_network_delete(scene->lab, id, &err));
    /* The recorded one never had an address range. */
    static const char *const range[] = {"AR", NULL};
    assert_same_structure(heard(scene, "EVENT STATE NET/LOCK_DELETE//2 "), "zmq/00393.xml", range);
    assert_same_structure(heard(scene, "EVENT STATE NET/DONE//2 "), "zmq/00396.xml", range);
}

static void a_network_that_is_being_made_has_the_recorded_elements(void **state)
{
    /* The recorded one had been given its key by its driver. */
    static const char *const without[] = {"VNET_UPDATE", NULL};
    struct scene *scene = *state;
    uint32_t id;
    ok(lab_network_reserve(scene->lab, BLUE, "share", &id, &err));
    const char *made = heard(scene, "EVENT STATE NET/LOCK_CREATE//2 ");
    assert_same_structure(made, "zmq/00458.xml", without);
    assert_non_null(strstr(made, "<PARENT_NETWORK_ID>1</PARENT_NETWORK_ID>"));
}

static void hosts_have_the_recorded_elements(void **state)
{
    static const char *const without[] = {"PCI", NULL};
    struct scene *scene = *state;
    uint32_t id;
    ok(lab_host_create_bare(scene->lab, "H2", &id, &err));
    assert_same_structure(heard(scene, "EVENT STATE HOST/INIT//1 "), "zmq/00109.xml", without);
    static const char *const particulars[] = {"PCI", "IB_HCA", "IB_VFS_TOTAL", NULL};
    assert_same_structure(heard(scene, "EVENT STATE HOST/MONITORED//1 "), "zmq/00116.xml",
                          particulars);
}

/* ---- as oneib hears it ----------------------------------------------------------------------- */

static struct oneib_event next(struct scene *scene, double timeout_ms)
{
    struct oneib_event event = {.kind = ONEIB_EVENT_NOTHING};
    double end = oneib_now_ms() + timeout_ms;
    while (oneib_now_ms() < end) {
        int outcome = oneib_events_next(scene->events, &event, &err);
        if (outcome < 0)
            fail_msg("%s", err.text);
        if (outcome > 0)
            return event;
        lab_sleep_ms(1);
    }
    return (struct oneib_event){.kind = ONEIB_EVENT_NOTHING};
}

static void expect(struct scene *scene, enum oneib_event_kind kind, uint32_t id)
{
    struct oneib_event event = next(scene, WAIT_MS);
    assert_int_equal(event.kind, kind);
    assert_int_equal(event.id, id);
}

static void expect_silence(struct scene *scene)
{
    assert_int_equal(next(scene, QUIET_MS).kind, ONEIB_EVENT_NOTHING);
}

/* Until the host's update is heard, and all of those. */
static void subscribed(struct scene *scene)
{
    struct oneib_event event;
    do {
        ok(lab_host_update(scene->lab, HOST, "NOTE=1", &err));
        event = next(scene, 50);
    } while (event.kind != ONEIB_EVENT_HOST);
    while (next(scene, QUIET_MS).kind != ONEIB_EVENT_NOTHING)
        ;
}

static int open_subscribed(void **state)
{
    if (open_cloud(state) < 0)
        return -1;
    struct scene *scene = *state;
    uint32_t vm, network = BLUE;
    scene->events = oneib_events_open(lab_events_endpoint(scene->lab), &err);
    if (!scene->events || lab_vm_create(scene->lab, "0", &network, 1, &vm, &err) < 0 ||
        lab_vm_create(scene->lab, "1", &network, 1, &vm, &err) < 0 ||
        lab_vm_create(scene->lab, "2", &network, 1, &vm, &err) < 0)
        return -1;
    expect(scene, ONEIB_EVENT_GAP, 0);
    subscribed(scene);
    return 0;
}

/* One change of each VM, heard or not. */
static void change_vms(struct scene *scene)
{
    static int lcm_state = 1;
    lcm_state = lcm_state == 1 ? 2 : 1;
    for (uint32_t vm = 0; vm < 3; vm++)
        ok(lab_vm_state(scene->lab, vm, 3, lcm_state, &err));
}

static void calls_and_states_are_heard(void **state)
{
    struct scene *scene = *state;
    uint32_t id, nic;
    ok(lab_network_update(scene->lab, BLUE, "NOTE=<&>", &err));
    expect(scene, ONEIB_EVENT_NETWORK, BLUE);
    ok(lab_vm_attach(scene->lab, 1, BLUE, &nic, &err));
    expect(scene, ONEIB_EVENT_VM, 1);
    ok(lab_host_update(scene->lab, HOST, "IB_VFS_FREE=6", &err));
    expect(scene, ONEIB_EVENT_HOST, HOST);
    ok(lab_network_reserve(scene->lab, BLUE, "share", &id, &err));
    for (int i = 0; i < 3; i++)
        expect(scene, ONEIB_EVENT_NETWORK, id);
    expect_silence(scene);
    assert_int_equal(oneib_events_stream(scene->events)->unreadable, 0);
}

static void lost_messages_are_not_heard(void **state)
{
    struct scene *scene = *state;
    ok(lab_events_fault(scene->lab, "lose", 2, &err));
    change_vms(scene);
    expect(scene, ONEIB_EVENT_VM, 2);
    expect_silence(scene);
}

static void repeated_messages_are_heard_three_times(void **state)
{
    struct scene *scene = *state;
    ok(lab_events_fault(scene->lab, "repeat", 1, &err));
    change_vms(scene);
    for (int i = 0; i < 3; i++)
        expect(scene, ONEIB_EVENT_VM, 0);
    expect(scene, ONEIB_EVENT_VM, 1);
}

static void messages_out_of_order_are_heard_in_reverse(void **state)
{
    struct scene *scene = *state;
    ok(lab_events_fault(scene->lab, "reorder", 2, &err));
    change_vms(scene);
    expect(scene, ONEIB_EVENT_VM, 1);
    expect(scene, ONEIB_EVENT_VM, 0);
    expect(scene, ONEIB_EVENT_VM, 2);
    ok(lab_events_fault(scene->lab, "reorder", 99, &err));
    change_vms(scene);
    expect_silence(scene);
    ok(lab_events_fault(scene->lab, "reorder", 0, &err));
    for (uint32_t vm = 3; vm-- > 0;)
        expect(scene, ONEIB_EVENT_VM, vm);
}

static void a_spoiled_call_is_a_gap_and_a_spoiled_state_is_not_looked_at(void **state)
{
    static const char *const kinds[] = {"no-base64", "no-xml"};
    struct scene *scene = *state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        ok(lab_events_fault(scene->lab, kinds[i], 2, &err));
        ok(lab_network_update(scene->lab, BLUE, "NOTE=1", &err));
        expect(scene, ONEIB_EVENT_GAP, 0);
        change_vms(scene);
        for (uint32_t vm = 0; vm < 3; vm++)
            expect(scene, ONEIB_EVENT_VM, vm);
        assert_int_equal(oneib_events_stream(scene->events)->unreadable, i + 1);
    }
}

static void a_huge_message_ends_the_connection_for_a_while(void **state)
{
    struct scene *scene = *state;
    ok(lab_events_fault(scene->lab, "huge", 1, &err));
    ok(lab_vm_state(scene->lab, 0, 3, 2, &err));
    expect(scene, ONEIB_EVENT_GAP, 0);
    expect(scene, ONEIB_EVENT_GAP, 0);
    assert_int_equal(oneib_events_stream(scene->events)->gaps, 1);
    subscribed(scene);
}

static void a_silent_publisher_stays_connected(void **state)
{
    struct scene *scene = *state;
    ok(lab_events_fault(scene->lab, "silent", 1, &err));
    change_vms(scene);
    expect_silence(scene);
    assert_true(oneib_events_stream(scene->events)->connected);
    ok(lab_events_fault(scene->lab, "silent", 0, &err));
    change_vms(scene);
    expect(scene, ONEIB_EVENT_VM, 0);
}

static void a_publisher_that_is_down_is_a_gap_each_way(void **state)
{
    struct scene *scene = *state;
    ok(lab_events_fault(scene->lab, "down", 1, &err));
    expect(scene, ONEIB_EVENT_GAP, 0);
    assert_false(oneib_events_stream(scene->events)->connected);
    change_vms(scene);
    ok(lab_events_fault(scene->lab, "down", 0, &err));
    expect(scene, ONEIB_EVENT_GAP, 0);
    assert_true(oneib_events_stream(scene->events)->connected);
    subscribed(scene);
}

static void a_fault_that_is_none_is_refused(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(lab_events_fault(scene->lab, "nonsense", 1, &err), -1);
    assert_non_null(strstr(err.text, "No such kind of fault"));
}

/* ---- oned down ------------------------------------------------------------------------------- */

/* A connection to oned's own port, as any program's; -1: refused. */
static int connect_to_oned(struct lab *lab)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    unsigned port;
    assert_int_equal(sscanf(lab_endpoint(lab), "http://127.0.0.1:%u/", &port), 1);
    address.sin_port = htons((uint16_t)port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    assert_int_equal(errno, ECONNREFUSED);
    close(fd);
    return -1;
}

static void an_oned_that_is_down_refuses_and_comes_back_with_its_cloud(void **state)
{
    struct scene *scene = *state;
    for (int round = 0; round < 3; round++) {
        char byte;
        oneib_autoclose int fd = connect_to_oned(scene->lab);
        assert_true(fd >= 0);
        ok(lab_standin_down(scene->lab, true, &err));
        assert_int_equal(recv(fd, &byte, 1, 0), 0);
        assert_int_equal(connect_to_oned(scene->lab), -1);
        expect(scene, ONEIB_EVENT_GAP, 0);
        assert_false(oneib_events_stream(scene->events)->connected);
        change_vms(scene);
        ok(lab_standin_down(scene->lab, false, &err));
        expect(scene, ONEIB_EVENT_GAP, 0);
        subscribed(scene);
    }
    oneib_autoclose int fd = connect_to_oned(scene->lab);
    assert_true(fd >= 0);
}

static void down_twice_is_down_once(void **state)
{
    struct scene *scene = *state;
    ok(lab_standin_down(scene->lab, true, &err));
    ok(lab_standin_down(scene->lab, true, &err));
    assert_int_equal(connect_to_oned(scene->lab), -1);
    ok(lab_standin_down(scene->lab, false, &err));
    oneib_autoclose int fd = connect_to_oned(scene->lab);
    assert_true(fd >= 0);
}

#define listening(test) cmocka_unit_test_setup_teardown(test, open_listening, close_scene)
#define subscribing(test) cmocka_unit_test_setup_teardown(test, open_subscribed, close_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        listening(a_vm_comes_and_goes_as_recorded),
        listening(nics_come_and_go_as_recorded),
        listening(a_migration_is_a_call_and_then_a_state),
        listening(networks_and_hosts_come_and_go_as_recorded),
        listening(a_networks_update_passes_through_running_vms),
        listening(a_refused_call_changes_and_tells_nothing),
        listening(vms_have_the_recorded_elements),
        listening(networks_have_the_recorded_elements),
        listening(a_network_that_is_being_made_has_the_recorded_elements),
        listening(hosts_have_the_recorded_elements),
        subscribing(calls_and_states_are_heard),
        subscribing(lost_messages_are_not_heard),
        subscribing(repeated_messages_are_heard_three_times),
        subscribing(messages_out_of_order_are_heard_in_reverse),
        subscribing(a_spoiled_call_is_a_gap_and_a_spoiled_state_is_not_looked_at),
        subscribing(a_huge_message_ends_the_connection_for_a_while),
        subscribing(a_silent_publisher_stays_connected),
        subscribing(a_publisher_that_is_down_is_a_gap_each_way),
        subscribing(a_fault_that_is_none_is_refused),
        subscribing(an_oned_that_is_down_refuses_and_comes_back_with_its_cloud),
        subscribing(down_twice_is_down_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
