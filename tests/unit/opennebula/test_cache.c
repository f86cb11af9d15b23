// SPDX-License-Identifier: Apache-2.0
/*
 * Refreshing a kept cloud, against a stand-in for oned that holds documents as they were and as
 * they are, and writes one line for each call it gets.
 */
#include "oned_stand_in.h"
#include "opennebula/cache.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

#define OBJECTS_MAX 64
#define GONE NULL

enum kind { VM_OBJECT, NETWORK_OBJECT, HOST_OBJECT };

/* An object of the stand-in: its document first, and now; GONE: there is none. */
struct standing {
    enum kind kind;
    int id;
    const char *first, *now;
    bool hidden; /* now: no permission, and no pool shows it */
};

static struct standing objects[OBJECTS_MAX];
static size_t object_count;
static const char *configuration;

/* Shared with the stand-in's process. */
static struct {
    bool is_now;
    char calls[16384];
} * shared;

static void stands(enum kind kind, int id, const char *first, const char *now)
{
    objects[object_count++] = (struct standing){.kind = kind, .id = id, .first = first, .now = now};
}

static const char *document_of(const struct standing *object)
{
    return shared->is_now ? object->now : object->first;
}

static void note_call(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note_call(const char *format, ...)
{
    va_list arguments;
    const size_t length = strlen(shared->calls);
    va_start(arguments, format);
    vsnprintf(shared->calls + length, sizeof shared->calls - length, format, arguments);
    va_end(arguments);
}

/* The n-th <i4> of a request. */
static int argument(const char *request, int n)
{
    for (int i = 0; i <= n && request; i++)
        request = strstr(i == 0 ? request : request + 4, "<i4>");
    return request ? (int)strtol(request + 4, NULL, 10) : -99;
}

static void answer_pool(int connection, enum kind kind, const char *name, int first, int last)
{
    struct oneib_text pool = {0};
    oneib_text_printf(&pool, "<%s>", name);
    for (size_t i = 0; i < object_count; i++) {
        const struct standing *object = &objects[i];
        const char *document = document_of(object);
        if (object->kind == kind && document && !strstr(document, "<STATE>6<") &&
            !(object->hidden && shared->is_now) && object->id >= first &&
            (last == -1 || object->id <= last))
            oneib_text_append(&pool, document);
    }
    oneib_text_printf(&pool, "</%s>", name);
    stand_in_document(connection, pool.data);
    oneib_text_clear(&pool);
}

static void answer_alone(int connection, enum kind kind, const char *name, int id)
{
    note_call("%s %d\n", name, id);
    for (size_t i = 0; i < object_count; i++) {
        const struct standing *object = &objects[i];
        if (object->kind != kind || object->id != id || !document_of(object))
            continue;
        if (object->hidden && shared->is_now)
            stand_in_refuse(connection, 512, "Not authorized.");
        else
            stand_in_document(connection, document_of(object));
        return;
    }
    stand_in_refuse(connection, 1024, "Error getting it.");
}

static void answer(int connection, const char *request)
{
    const int first = argument(request, 1), last = argument(request, 2);
    if (strstr(request, ">one.user.info<")) {
        stand_in_document(connection, "<USER><ID>0</ID><GROUPS><ID>0</ID></GROUPS></USER>");
    } else if (strstr(request, ">one.system.config<")) {
        stand_in_document(connection, configuration);
    } else if (strstr(request, ">one.hostpool.info<")) {
        note_call("hosts\n");
        answer_pool(connection, HOST_OBJECT, "HOST_POOL", 0, -1);
    } else if (strstr(request, ">one.vnpool.info<")) {
        note_call("networks\n");
        answer_pool(connection, NETWORK_OBJECT, "VNET_POOL", first, last);
    } else if (strstr(request, ">one.vmpool.infoextended<")) {
        note_call("window %d %d\n", first, last);
        answer_pool(connection, VM_OBJECT, "VM_POOL", first, last);
    } else if (strstr(request, ">one.vm.info<")) {
        answer_alone(connection, VM_OBJECT, "vm", argument(request, 0));
    } else if (strstr(request, ">one.vn.info<")) {
        answer_alone(connection, NETWORK_OBJECT, "network", argument(request, 0));
    } else {
        answer_alone(connection, HOST_OBJECT, "host", argument(request, 0));
    }
}

struct fixture {
    struct stand_in server;
    struct oneib_one *one;
    struct oneib_pools_options options;
    struct oneib_work_queue queue;
    struct oneib_cloud cloud;
    struct oneib_findings findings;
    struct oneib_error err;
    bool changed;
};

#define NETWORK(id, more)                                                                          \
    "<VNET><ID>" id "</ID><NAME>ib</NAME><VN_MAD>ibrec</VN_MAD><VLAN_ID>300</VLAN_ID>" more        \
    "</VNET>"
#define LESSEE(vm) "<LEASE><MAC>02:00:00:00:00:00</MAC><VM>" vm "</VM></LEASE>"
#define LEASES(lessees) "<AR_POOL><AR><LEASES>" lessees "</LEASES></AR></AR_POOL>"
#define HOST(id, vms) "<HOST><ID>" id "</ID><NAME>node</NAME><VMS>" vms "</VMS></HOST>"
#define ACTIVE(lcm) "<STATE>3</STATE><LCM_STATE>" lcm "</LCM_STATE>"
#define RUNNING ACTIVE("3")
#define NIC(network, id)                                                                           \
    "<NIC><NETWORK_ID>" network "</NETWORK_ID><NIC_ID>" id "</NIC_ID><MAC>02:00:00:00:00:0" id     \
    "</MAC><VN_MAD>ibrec</VN_MAD></NIC>"
#define VM(id, state, nics)                                                                        \
    "<VM><ID>" id "</ID>" state "<TEMPLATE>" nics "</TEMPLATE><HISTORY_RECORDS><HISTORY><SEQ>0</"  \
    "SEQ><HID>1</HID><STIME>1</STIME></HISTORY></HISTORY_RECORDS></VM>"

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!fixture || shared == MAP_FAILED)
        return -1;
    object_count = 0;
    configuration = "<OPENNEBULA_CONFIGURATION/>";
    fixture->options = (struct oneib_pools_options){.vn_mad = "ibrec", .window = 100};
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    oneib_work_queue_clear(&fixture->queue);
    oneib_cloud_clear(&fixture->cloud);
    oneib_findings_clear(&fixture->findings);
    oneib_one_close(fixture->one);
    stand_in_stop(&fixture->server);
    munmap(shared, sizeof *shared);
    free(fixture);
    return 0;
}

static void connect_to_oned(struct fixture *fixture)
{
    char session[] = "oneadmin:open-sesame";
    assert_int_equal(stand_in_start(&fixture->server, answer), 0);
    const struct oneib_credentials credentials = {.endpoint = fixture->server.endpoint,
                                                  .session = session};
    fixture->one = oneib_one_open(&credentials, 20000, &fixture->err);
    assert_non_null(fixture->one);
}

/* The cloud as it was first; from then on documents are as they are now. */
static void read_pools_first(struct fixture *fixture)
{
    connect_to_oned(fixture);
    if (oneib_pools_read(fixture->one, &fixture->options, &fixture->cloud, &fixture->findings,
                         &fixture->err) < 0)
        fail_msg("%s", fixture->err.text);
    shared->is_now = true;
    shared->calls[0] = '\0';
}

static int refresh(struct fixture *fixture)
{
    return oneib_cache_refresh(fixture->one, &fixture->options, &fixture->queue, &fixture->cloud,
                               &fixture->findings, &fixture->changed, &fixture->err);
}

static void must_refresh(struct fixture *fixture, const char *expected_calls)
{
    if (refresh(fixture) < 0)
        fail_msg("%s", fixture->err.text);
    assert_string_equal(shared->calls, expected_calls);
}

static void name_vm(struct fixture *fixture, uint32_t id)
{
    oneib_work_queue_vm(&fixture->queue, id);
}

static void name_network(struct fixture *fixture, uint32_t id)
{
    oneib_work_queue_network(&fixture->queue, id);
}

static void name_host(struct fixture *fixture, uint32_t id)
{
    oneib_work_queue_host(&fixture->queue, id);
}

/* VM 3 runs on host 1 with a NIC of network 7. */
static void stand_one_vm(const char *now)
{
    stands(HOST_OBJECT, 1, HOST("1", "<ID>3</ID>"), HOST("1", "<ID>3</ID>"));
    stands(NETWORK_OBJECT, 7, NETWORK("7", LEASES(LESSEE("3"))), NETWORK("7", LEASES(LESSEE("3"))));
    stands(VM_OBJECT, 3, VM("3", RUNNING, NIC("7", "0")), now);
}

static void an_empty_work_queue_asks_for_nothing(void **state)
{
    struct fixture *fixture = *state;
    stand_one_vm(GONE);
    read_pools_first(fixture);
    must_refresh(fixture, "");
    assert_false(fixture->changed);
    assert_int_equal(fixture->cloud.attachment_count, 1);
}

static void a_vm_that_is_gone_loses_its_attachments(void **state)
{
    struct fixture *fixture = *state;
    stand_one_vm(GONE);
    read_pools_first(fixture);
    assert_int_equal(fixture->cloud.vm_count, 1);
    name_vm(fixture, 3);
    must_refresh(fixture, "vm 3\nwindow 3 3\n");
    assert_true(fixture->changed);
    assert_int_equal(fixture->cloud.attachment_count, 0);
    assert_int_equal(fixture->cloud.vm_count, 0);
}

static void a_vm_that_is_done_loses_its_attachments(void **state)
{
    struct fixture *fixture = *state;
    stand_one_vm(VM("3", "<STATE>6</STATE><LCM_STATE>0</LCM_STATE>", NIC("7", "0")));
    read_pools_first(fixture);
    name_vm(fixture, 3);
    must_refresh(fixture, "vm 3\n");
    assert_true(fixture->changed);
    assert_int_equal(fixture->cloud.attachment_count, 0);
}

static void a_vm_that_may_not_be_seen_is_an_error_that_changes_nothing(void **state)
{
    struct fixture *fixture = *state;
    stand_one_vm(VM("3", RUNNING, ""));
    objects[2].hidden = true;
    read_pools_first(fixture);
    name_vm(fixture, 3);
    assert_int_equal(refresh(fixture), -1);
    assert_int_equal(fixture->err.code, ONEIB_ERROR_PERMISSION);
    assert_int_equal(fixture->cloud.attachment_count, 1);
    assert_int_equal(fixture->cloud.vm_count, 1);
}

static void a_state_of_the_same_phase_is_kept_and_changes_nothing(void **state)
{
    struct fixture *fixture = *state;
    stand_one_vm(VM("3", ACTIVE("16"), NIC("7", "0")));
    read_pools_first(fixture);
    name_vm(fixture, 3);
    must_refresh(fixture, "vm 3\nnetwork 7\n");
    assert_false(fixture->changed);
    assert_int_equal(fixture->cloud.attachments[0].lcm_state, 16);
}

static void a_phase_that_changes_is_a_change(void **state)
{
    struct fixture *fixture = *state;
    stand_one_vm(VM("3", ACTIVE("12"), NIC("7", "0")));
    read_pools_first(fixture);
    name_vm(fixture, 3);
    must_refresh(fixture, "vm 3\nnetwork 7\n");
    assert_true(fixture->changed);
    assert_int_equal(fixture->cloud.attachments[0].phase, ONEIB_LEAVING);
}

/* What its owner may have depends on who that is. */
static void a_network_that_is_given_to_somebody_else_is_a_change(void **state)
{
    struct fixture *fixture = *state;
    stands(NETWORK_OBJECT, 7, NETWORK("7", "<UID>4</UID><GID>100</GID>"),
           NETWORK("7", "<UID>5</UID><GID>100</GID>"));
    read_pools_first(fixture);
    name_network(fixture, 7);
    must_refresh(fixture, "network 7\n");
    assert_true(fixture->changed);
}

/* Its VMs start elsewhere then, with their GUIDs. */
static void a_host_that_oned_gives_up_is_a_change(void **state)
{
    struct fixture *fixture = *state;
    stands(HOST_OBJECT, 1, "<HOST><ID>1</ID><STATE>2</STATE></HOST>",
           "<HOST><ID>1</ID><STATE>3</STATE></HOST>");
    read_pools_first(fixture);
    name_host(fixture, 1);
    must_refresh(fixture, "host 1\n");
    assert_true(fixture->changed);
}

static void the_host_of_an_arriving_vm_is_read_again(void **state)
{
    struct fixture *fixture = *state;
    stand_one_vm(VM("3", ACTIVE("2"), NIC("7", "0")));
    read_pools_first(fixture);
    name_vm(fixture, 3);
    must_refresh(fixture, "vm 3\nnetwork 7\nhost 1\n");
}

/* Whoever says where to put it off to may have it later, and nobody else. */
static void a_host_with_ports_is_read_again_later_where_that_is_wanted(void **state)
{
#define HOST_WITH_PORT                                                                             \
    "<HOST><ID>1</ID><NAME>node</NAME><VMS><ID>3</ID></VMS><TEMPLATE><IB_HCA><NAME>mlx4_0</NAME>"  \
    "<PORT>1</PORT><DRIVER>mlx4</DRIVER><PORT_GUID>0x0002c90300112233</PORT_GUID></IB_HCA>"        \
    "</TEMPLATE></HOST>"
    struct fixture *fixture = *state;
    struct oneib_id_set later = {0};
    stands(HOST_OBJECT, 1, HOST_WITH_PORT, HOST_WITH_PORT);
    stands(NETWORK_OBJECT, 7, NETWORK("7", LEASES(LESSEE("3"))), NETWORK("7", LEASES(LESSEE("3"))));
    stands(VM_OBJECT, 3, VM("3", RUNNING, NIC("7", "0")), VM("3", ACTIVE("2"), NIC("7", "0")));
    read_pools_first(fixture);
    name_vm(fixture, 3);
    must_refresh(fixture, "vm 3\nnetwork 7\nhost 1\n");
    fixture->options.hosts_later = &later;
    shared->calls[0] = '\0';
    name_vm(fixture, 3);
    must_refresh(fixture, "vm 3\nnetwork 7\n");
    oneib_id_set_sort(&later);
    assert_int_equal(later.count, 1);
    assert_int_equal(later.items[0], 1);
    oneib_id_set_clear(&later);
}

static void an_id_that_is_named_often_is_asked_for_once(void **state)
{
    struct fixture *fixture = *state;
    stand_one_vm(VM("3", RUNNING, NIC("7", "0")));
    read_pools_first(fixture);
    for (int i = 0; i < 100; i++) {
        name_vm(fixture, 3);
        name_network(fixture, 7);
        name_host(fixture, 1);
    }
    must_refresh(fixture, "host 1\nnetwork 7\nvm 3\n");
    assert_false(fixture->changed);
}

static void a_host_that_is_gone_is_removed_with_what_was_said_of_it(void **state)
{
    struct fixture *fixture = *state;
    stands(HOST_OBJECT, 1, "<HOST><ID>1</ID></HOST>", GONE);
    read_pools_first(fixture);
    assert_int_equal(fixture->cloud.host_count, 1);
    assert_int_equal(fixture->findings.count, 1);
    name_host(fixture, 1);
    must_refresh(fixture, "host 1\n");
    assert_true(fixture->changed);
    assert_int_equal(fixture->cloud.host_count, 0);
    assert_int_equal(fixture->findings.count, 0);
}

static void a_network_of_another_driver_now_is_removed_with_what_was_said_of_it(void **state)
{
    struct fixture *fixture = *state;
    stands(NETWORK_OBJECT, 7, NETWORK("7", "<TEMPLATE><MTU>x</MTU></TEMPLATE>"),
           "<VNET><ID>7</ID><VN_MAD>802.1Q</VN_MAD></VNET>");
    stands(NETWORK_OBJECT, 8, NETWORK("8", ""), NETWORK("8", ""));
    read_pools_first(fixture);
    assert_int_equal(fixture->cloud.network_count, 2);
    assert_int_equal(fixture->findings.count, 1);
    name_network(fixture, 7);
    must_refresh(fixture, "network 7\n");
    assert_true(fixture->changed);
    assert_int_equal(fixture->cloud.network_count, 1);
    assert_null(oneib_cloud_network(&fixture->cloud, 7));
    assert_int_equal(fixture->findings.count, 0);
}

#define SWITCHED(id)                                                                               \
    "<VNET><ID>" id                                                                                \
    "</ID><VN_MAD>bridge</VN_MAD><VLAN_ID>300</VLAN_ID>" LEASES(LESSEE("3")) "</VNET>"

static void a_network_that_another_driver_serves_now_stays_while_a_nic_names_it(void **state)
{
    struct fixture *fixture = *state;
    stands(HOST_OBJECT, 1, HOST("1", "<ID>3</ID>"), HOST("1", "<ID>3</ID>"));
    stands(NETWORK_OBJECT, 7, NETWORK("7", LEASES(LESSEE("3"))), SWITCHED("7"));
    stands(VM_OBJECT, 3, VM("3", RUNNING, NIC("7", "0")), GONE);
    read_pools_first(fixture);
    name_network(fixture, 7);
    must_refresh(fixture, "network 7\n");
    assert_true(fixture->changed);
    assert_string_equal(oneib_cloud_network(&fixture->cloud, 7)->other_driver, "bridge");

    name_vm(fixture, 3);
    assert_int_equal(refresh(fixture), 0);
    assert_true(fixture->changed);
    assert_int_equal(fixture->cloud.attachment_count, 0);
    assert_int_equal(fixture->cloud.network_count, 0);
}

static void a_network_that_another_driver_serves_stays_while_a_reservation_names_it(void **state)
{
    static const char reservation[] = "<VNET><ID>8</ID><VN_MAD>ibrec</VN_MAD>"
                                      "<PARENT_NETWORK_ID>7</PARENT_NETWORK_ID></VNET>";
    struct fixture *fixture = *state;
    stands(NETWORK_OBJECT, 7, NETWORK("7", ""), "<VNET><ID>7</ID><VN_MAD>bridge</VN_MAD></VNET>");
    stands(NETWORK_OBJECT, 8, reservation, GONE);
    read_pools_first(fixture);
    name_network(fixture, 7);
    must_refresh(fixture, "network 7\n");
    assert_string_equal(oneib_cloud_network(&fixture->cloud, 7)->other_driver, "bridge");

    name_network(fixture, 8);
    assert_int_equal(refresh(fixture), 0);
    assert_int_equal(fixture->cloud.network_count, 0);
}

static void an_event_of_another_drivers_network_changes_nothing(void **state)
{
    struct fixture *fixture = *state;
    stands(NETWORK_OBJECT, 7, NETWORK("7", ""), NETWORK("7", ""));
    stands(NETWORK_OBJECT, 9, GONE, "<VNET><ID>9</ID><VN_MAD>802.1Q</VN_MAD></VNET>");
    read_pools_first(fixture);
    name_network(fixture, 9);
    must_refresh(fixture, "network 9\n");
    assert_false(fixture->changed);
    assert_int_equal(fixture->cloud.network_count, 1);
}

#define PARENT(leases) "<VNET><ID>7</ID><GID>0</GID><VN_MAD>ibrec</VN_MAD>" LEASES(leases) "</VNET>"
#define CHILD                                                                                      \
    "<VNET><ID>8</ID><VN_MAD>ibrec</VN_MAD><PARENT_NETWORK_ID>7</PARENT_NETWORK_ID></VNET>"

static void stand_parent_that_leases_later(void)
{
    stands(NETWORK_OBJECT, 7, PARENT(""),
           PARENT("<LEASE><MAC>02:00:0a:00:00:01</MAC><VNET>8</VNET></LEASE>"));
}

/* Its parent may have been read before it was made. */
static void the_parent_of_a_new_reservation_is_read_again(void **state)
{
    struct fixture *fixture = *state;
    stand_parent_that_leases_later();
    stands(NETWORK_OBJECT, 8, GONE, CHILD);
    read_pools_first(fixture);
    name_network(fixture, 8);
    must_refresh(fixture, "network 8\nnetwork 7\n");
    assert_false(oneib_cloud_network(&fixture->cloud, 8)->parent_unproven);
}

static void a_reservation_whose_parent_leases_it_nothing_is_unproven(void **state)
{
    struct fixture *fixture = *state;
    stands(NETWORK_OBJECT, 7, PARENT(""), PARENT(""));
    stands(NETWORK_OBJECT, 8, CHILD, CHILD);
    read_pools_first(fixture);
    assert_true(oneib_cloud_network(&fixture->cloud, 8)->parent_unproven);
    name_network(fixture, 8);
    must_refresh(fixture, "network 8\nnetwork 7\n");
    assert_true(oneib_cloud_network(&fixture->cloud, 8)->parent_unproven);
    assert_false(fixture->changed);
}

static void a_parent_that_leases_to_its_reservation_by_now_is_news(void **state)
{
    struct fixture *fixture = *state;
    stand_parent_that_leases_later();
    stands(NETWORK_OBJECT, 8, CHILD, CHILD);
    read_pools_first(fixture);
    name_network(fixture, 7);
    must_refresh(fixture, "network 7\n");
    assert_true(fixture->changed);
    assert_false(oneib_cloud_network(&fixture->cloud, 8)->parent_unproven);
}

/* The reservation's NICs have the key of the network whose partition they are in. */
static void the_parent_of_a_switched_reservation_is_known_when_it_is_switched_too(void **state)
{
    struct fixture *fixture = *state;
    static const char reservation[] =
        "<VNET><ID>8</ID><PARENT_NETWORK_ID>7</PARENT_NETWORK_ID>"
        "<VN_MAD>bridge</VN_MAD><VLAN_ID>300</VLAN_ID>" LEASES(LESSEE("3")) "</VNET>";
    stands(HOST_OBJECT, 1, HOST("1", "<ID>3</ID>"), HOST("1", "<ID>3</ID>"));
    stands(NETWORK_OBJECT, 7, SWITCHED("7"), SWITCHED("7"));
    stands(NETWORK_OBJECT, 8, reservation, reservation);
    stands(VM_OBJECT, 3, VM("3", RUNNING, NIC("8", "0")), VM("3", RUNNING, ""));
    read_pools_first(fixture);
    assert_int_equal(fixture->cloud.network_count, 2);
    name_network(fixture, 7);
    name_network(fixture, 8);
    must_refresh(fixture, "network 7\nnetwork 8\n");
    assert_int_equal(fixture->cloud.network_count, 2);
    /* With the NIC both go. */
    name_vm(fixture, 3);
    assert_int_equal(refresh(fixture), 0);
    assert_int_equal(fixture->cloud.network_count, 0);
}

/* VMs name reservations in another order than that of their ids. */
static void the_parents_of_all_switched_reservations_are_known(void **state)
{
    struct fixture *fixture = *state;
    static char reservations[3][256];
    static const char *const parents[] = {SWITCHED("10"), SWITCHED("11"), SWITCHED("12")};
    static const char *const vms[] = {VM("3", RUNNING, NIC("22", "0")),
                                      VM("4", RUNNING, NIC("21", "0")),
                                      VM("5", RUNNING, NIC("20", "0"))};
    stands(HOST_OBJECT, 1, HOST("1", "<ID>3</ID><ID>4</ID><ID>5</ID>"),
           HOST("1", "<ID>3</ID><ID>4</ID><ID>5</ID>"));
    for (int i = 0; i < 3; i++) {
        snprintf(reservations[i], sizeof reservations[i],
                 "<VNET><ID>%d</ID><PARENT_NETWORK_ID>%d</PARENT_NETWORK_ID><VN_MAD>bridge</VN_MAD>"
                 "<VLAN_ID>300</VLAN_ID>" LEASES(LESSEE("%d")) "</VNET>",
                 20 + i, 10 + i, 5 - i);
        stands(NETWORK_OBJECT, 10 + i, parents[i], parents[i]);
        stands(NETWORK_OBJECT, 20 + i, reservations[i], reservations[i]);
        stands(VM_OBJECT, 3 + i, vms[i], vms[i]);
    }
    read_pools_first(fixture);
    assert_int_equal(fixture->cloud.network_count, 6);
}

static void the_vms_of_another_drivers_network_are_not_asked_for(void **state)
{
    struct fixture *fixture = *state;
    stand_one_vm(VM("3", RUNNING, NIC("7", "0") NIC("9", "1")));
    stands(NETWORK_OBJECT, 9, GONE,
           "<VNET><ID>9</ID><VN_MAD>802.1Q</VN_MAD>" LEASES(
               "<LEASE><MAC>02:00:00:00:00:01</MAC><VM>3</VM></LEASE>" LESSEE("50")) "</VNET>");
    read_pools_first(fixture);
    name_vm(fixture, 3);
    must_refresh(fixture, "vm 3\nnetwork 7\nnetwork 9\n");
    assert_string_equal(oneib_cloud_network(&fixture->cloud, 9)->other_driver, "802.1Q");
}

static void a_switched_network_that_is_set_back_is_a_change(void **state)
{
    struct fixture *fixture = *state;
    stands(HOST_OBJECT, 1, HOST("1", "<ID>3</ID>"), HOST("1", "<ID>3</ID>"));
    stands(NETWORK_OBJECT, 7, SWITCHED("7"), NETWORK("7", LEASES(LESSEE("3"))));
    stands(VM_OBJECT, 3, VM("3", RUNNING, NIC("7", "0")), VM("3", RUNNING, NIC("7", "0")));
    read_pools_first(fixture);
    assert_non_null(oneib_cloud_network(&fixture->cloud, 7)->other_driver);
    name_network(fixture, 7);
    must_refresh(fixture, "network 7\n");
    assert_true(fixture->changed);
    assert_null(oneib_cloud_network(&fixture->cloud, 7)->other_driver);
}

static void findings_of_an_object_read_again_are_replaced(void **state)
{
    struct fixture *fixture = *state;
    stands(NETWORK_OBJECT, 7, "<VNET><ID>7</ID><VN_MAD>ibrec</VN_MAD></VNET>",
           NETWORK("7", "<TEMPLATE><MTU>x</MTU></TEMPLATE>"));
    stands(NETWORK_OBJECT, 8, "<VNET><ID>8</ID><VN_MAD>ibrec</VN_MAD></VNET>", GONE);
    read_pools_first(fixture);
    assert_int_equal(fixture->findings.count, 2);
    name_network(fixture, 7);
    must_refresh(fixture, "network 7\n");
    assert_int_equal(fixture->findings.count, 2);
    assert_string_equal(fixture->findings.items[0].code, "mtu-invalid");
    assert_int_equal(fixture->findings.items[1].subject_id, 8);
}

static void a_vm_that_a_network_leases_to_now_is_read(void **state)
{
    struct fixture *fixture = *state;
    stands(NETWORK_OBJECT, 7, NETWORK("7", LEASES(LESSEE("3"))),
           NETWORK("7", LEASES(LESSEE("3") LESSEE("4"))));
    stands(VM_OBJECT, 3, VM("3", RUNNING, NIC("7", "0")), VM("3", RUNNING, NIC("7", "0")));
    stands(VM_OBJECT, 4, VM("4", RUNNING, ""), VM("4", RUNNING, NIC("7", "0")));
    stands(HOST_OBJECT, 1, HOST("1", ""), HOST("1", ""));
    read_pools_first(fixture);
    name_network(fixture, 7);
    must_refresh(fixture, "network 7\nvm 4\n");
    assert_int_equal(fixture->cloud.attachment_count, 2);
}

#define NETWORK_WITH_KEY(key)                                                                      \
    "<VNET><ID>7</ID><NAME>ib</NAME><VN_MAD>ibrec</VN_MAD><VLAN_ID>" key                           \
    "</VLAN_ID>" LEASES(LESSEE("3")) "</VNET>"
/* oned copies the key into their NICs, where nobody looks. */
static void the_vms_of_a_network_that_has_another_key_are_not_read_again(void **state)
{
    struct fixture *fixture = *state;
    stands(HOST_OBJECT, 1, HOST("1", "<ID>3</ID>"), HOST("1", "<ID>3</ID>"));
    stands(NETWORK_OBJECT, 7, NETWORK_WITH_KEY("300"), NETWORK_WITH_KEY("301"));
    stands(VM_OBJECT, 3, VM("3", RUNNING, NIC("7", "0")), VM("3", RUNNING, NIC("7", "0")));
    read_pools_first(fixture);
    name_network(fixture, 7);
    must_refresh(fixture, "network 7\n");
    assert_true(fixture->changed);
    assert_int_equal(oneib_cloud_network(&fixture->cloud, 7)->pkey, 301);
}

#define DEVICE(vm)                                                                                 \
    "<HOST_SHARE><PCI_DEVICES><PCI><ADDRESS>0000:81:00:1</ADDRESS><VMID>" vm                       \
    "</VMID></PCI></PCI_DEVICES></HOST_SHARE>"

/* It came while the VM ran: no event says that the host has given it its device. */
static void the_host_of_a_pci_nic_is_read_until_it_gives_it_its_device(void **state)
{
    struct fixture *fixture = *state;
    static const char pci_nic[] =
        "<PCI><TYPE>NIC</TYPE><ADDRESS>0000:81:00:1</ADDRESS><NETWORK_ID>7</NETWORK_ID>"
        "<NIC_ID>0</NIC_ID><MAC>02:00:00:00:00:00</MAC><VN_MAD>ibrec</VN_MAD></PCI>";
    static char vm[512];
    snprintf(vm, sizeof vm, VM("3", RUNNING, "%s"), pci_nic);
    stands(HOST_OBJECT, 1, "<HOST><ID>1</ID>" DEVICE("-1") "<VMS><ID>3</ID></VMS></HOST>",
           "<HOST><ID>1</ID>" DEVICE("3") "<VMS><ID>3</ID></VMS></HOST>");
    stands(NETWORK_OBJECT, 7, NETWORK("7", ""), NETWORK("7", LEASES(LESSEE("3"))));
    stands(VM_OBJECT, 3, VM("3", RUNNING, ""), vm);
    read_pools_first(fixture);
    name_vm(fixture, 3);
    must_refresh(fixture, "vm 3\nnetwork 7\nhost 1\n");
    assert_true(fixture->changed);
    assert_false(fixture->cloud.attachments[0].unleased);
    assert_int_equal(
        oneib_host_given_to(&fixture->cloud.hosts[0], &fixture->cloud.attachments[0].address), 3);
    must_refresh(fixture, "vm 3\nnetwork 7\nhost 1\nvm 3\nnetwork 7\n");
    assert_false(fixture->changed);
}

/* Whether what it says of InfiniBand counts. */
static void a_network_that_comes_to_be_an_operators_is_a_change(void **state)
{
    struct fixture *fixture = *state;
    stands(NETWORK_OBJECT, 7, NETWORK("7", "<UID>5</UID><GID>1</GID>"),
           NETWORK("7", "<UID>5</UID><GID>0</GID>"));
    read_pools_first(fixture);
    name_network(fixture, 7);
    must_refresh(fixture, "network 7\n");
    assert_true(fixture->changed);
}

static void a_vm_that_was_not_known_and_is_on_a_host_is_read(void **state)
{
    struct fixture *fixture = *state;
    stands(HOST_OBJECT, 1, HOST("1", ""), HOST("1", "<ID>5</ID>"));
    stands(VM_OBJECT, 5, GONE, VM("5", RUNNING, ""));
    read_pools_first(fixture);
    name_host(fixture, 1);
    must_refresh(fixture, "host 1\nvm 5\n");
    assert_int_equal(fixture->cloud.vm_count, 1);
    assert_int_equal(fixture->cloud.vm_end, 6);
    assert_false(fixture->changed);
}

static void a_vm_that_is_named_in_vain_is_not_asked_for_again_and_again(void **state)
{
    struct fixture *fixture = *state;
    stands(NETWORK_OBJECT, 7, NETWORK("7", LEASES(LESSEE("9"))), NETWORK("7", LEASES(LESSEE("9"))));
    read_pools_first(fixture);
    name_network(fixture, 7);
    must_refresh(fixture, "network 7\n");
}

static void new_vms_are_found_beyond_the_highest_known(void **state)
{
    struct fixture *fixture = *state;
    stand_one_vm(VM("3", RUNNING, NIC("7", "0")));
    stands(VM_OBJECT, 8, GONE, VM("8", RUNNING, ""));
    read_pools_first(fixture);
    fixture->queue.new_vms = true;
    must_refresh(fixture, "window 4 -1\nvm 8\n");
    assert_int_equal(fixture->cloud.vm_count, 2);
    assert_int_equal(fixture->cloud.vm_end, 9);
}

static void a_new_vm_that_a_network_names_is_the_highest_known(void **state)
{
    struct fixture *fixture = *state;
    stands(NETWORK_OBJECT, 7, NETWORK("7", LEASES(LESSEE("3"))),
           NETWORK("7", LEASES(LESSEE("3") LESSEE("4"))));
    stands(VM_OBJECT, 3, VM("3", RUNNING, NIC("7", "0")), VM("3", RUNNING, NIC("7", "0")));
    stands(VM_OBJECT, 4, GONE, VM("4", RUNNING, NIC("7", "0")));
    stands(HOST_OBJECT, 1, HOST("1", ""), HOST("1", ""));
    read_pools_first(fixture);
    assert_int_equal(fixture->cloud.vm_end, 4);
    name_network(fixture, 7);
    must_refresh(fixture, "network 7\nvm 4\n");
    assert_int_equal(fixture->cloud.vm_end, 5);
}

static void a_nic_whose_lease_ended_with_its_network_read_again_is_looked_into(void **state)
{
    struct fixture *fixture = *state;
    stand_one_vm(VM("3", RUNNING, NIC("7", "0")));
    objects[1].now = NETWORK("7", "");
    read_pools_first(fixture);
    assert_false(fixture->cloud.attachments[0].unleased);
    name_network(fixture, 7);
    must_refresh(fixture, "network 7\nnetwork 7\nvm 3\n");
    assert_true(fixture->changed);
    assert_true(fixture->cloud.attachments[0].unleased);
}

/* 17 VMs are named, so a window over them is read. Now VM 30's owner has written elements into it
 * that look like another VM. */
static void stand_forger(struct fixture *fixture, const char *forged)
{
    static char documents[17][128];
    stand_one_vm(VM("3", RUNNING, NIC("7", "0")));
    for (int i = 0; i < 17; i++) {
        snprintf(documents[i], sizeof documents[i], "<VM><ID>%d</ID>" RUNNING "</VM>", 30 + i);
        stands(VM_OBJECT, 30 + i, documents[i], i == 0 ? forged : documents[i]);
        name_vm(fixture, (uint32_t)(30 + i));
    }
    read_pools_first(fixture);
}

static void a_vm_that_a_window_was_not_asked_for_stays_as_it_was(void **state)
{
    struct fixture *fixture = *state;
    stand_forger(fixture, "<VM><ID>30</ID>" RUNNING "</VM><VM><ID>3</ID>" RUNNING "</VM>");
    must_refresh(fixture, "window 30 46\nwindow 30 38\nwindow 30 34\nwindow 30 32\nwindow 30 31\n"
                          "window 30 30\nwindow 31 31\nwindow 32 32\nwindow 33 34\n"
                          "window 35 38\nwindow 39 46\nvm 30\n");
    assert_false(fixture->changed);
    assert_int_equal(fixture->cloud.attachment_count, 1);
    assert_int_equal(fixture->cloud.attachments[0].vm_id, 3);
    assert_int_equal(fixture->findings.count, 1);
    assert_string_equal(fixture->findings.items[0].code, "vm-malformed");
    assert_int_equal(fixture->findings.items[0].subject_id, 30);
}

static void a_vm_that_a_window_shows_twice_is_not_changed_by_it(void **state)
{
    struct fixture *fixture = *state;
    stand_forger(fixture, "<VM><ID>30</ID>" RUNNING "</VM>" VM("31", RUNNING, NIC("7", "0")));
    assert_int_equal(refresh(fixture), 0);
    assert_int_equal(fixture->cloud.vm_count, 18);
    assert_false(fixture->changed);
    assert_int_equal(fixture->cloud.attachment_count, 1);
    assert_int_equal(fixture->cloud.attachments[0].vm_id, 3);
}

static void everything_is_a_whole_reading(void **state)
{
    struct fixture *fixture = *state;
    stand_one_vm(VM("3", RUNNING, NIC("7", "0")));
    read_pools_first(fixture);
    fixture->queue.everything = true;
    must_refresh(fixture, "hosts\nnetworks\nnetwork 7\nwindow 3 102\nwindow 103 -1\nvm 3\n");
    assert_false(fixture->changed);
    assert_int_equal(fixture->cloud.attachment_count, 1);
}

static void missing_restrictions_are_refused_when_they_are_required(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.require_restrictions = true;
    connect_to_oned(fixture);
    assert_int_equal(oneib_pools_read(fixture->one, &fixture->options, &fixture->cloud,
                                      &fixture->findings, &fixture->err),
                     -1);
    assert_int_equal(fixture->err.code, ONEIB_ERROR_REFUSED);
    static const char *const words[] = {
        "36 attributes", "VNET_RESTRICTED_ATTR = \"VLAN_ID\"", "oneib check",
        "VNET_RESTRICTED_ATTR = \"IB_MEMBERSHIP\"; ..., and restart oned"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(fixture->err.text, words[i]))
            fail_msg("\"%s\" is not in: %s", words[i], fixture->err.text);
    assert_int_equal(strlen(shared->calls), 0);
}

static void restrictions_that_are_there_are_no_hindrance(void **state)
{
    struct fixture *fixture = *state;
#define EACH(element, prefix)                                                                      \
    "<" element ">" prefix "VLAN_ID</" element "><" element ">" prefix "IB_CLASS</" element        \
    "><" element ">" prefix "IB_MEMBERSHIP</" element "><" element ">" prefix "IB_RATE</" element  \
    "><" element ">" prefix "IB_RESERVATION</" element "><" element ">" prefix                     \
    "IB_STATIC_GUIDS</" element ">"
    configuration = "<OPENNEBULA_CONFIGURATION>" EACH("VNET_RESTRICTED_ATTR", "")
        EACH("VNET_RESTRICTED_ATTR", "AR/") EACH("VM_RESTRICTED_ATTR", "NIC/")
            EACH("VM_RESTRICTED_ATTR", "NIC_DEFAULT/") EACH("VM_RESTRICTED_ATTR", "NIC_ALIAS/")
                EACH("VM_RESTRICTED_ATTR", "PCI/") "</OPENNEBULA_CONFIGURATION>";
    fixture->options.require_restrictions = true;
    read_pools_first(fixture);
}

/* ---- what is not asked ----------------------------------------------------------------------- */

/* It does not matter where it is, so nothing needs to vouch for its NICs. */
static void the_networks_of_a_stored_vm_are_not_read_again(void **state)
{
    struct fixture *fixture = *state;
    stand_one_vm(VM("3", "<STATE>9</STATE><LCM_STATE>0</LCM_STATE>", NIC("7", "0")));
    read_pools_first(fixture);
    name_vm(fixture, 3);
    must_refresh(fixture, "vm 3\n");
    assert_int_equal(fixture->cloud.attachments[0].phase, ONEIB_ABSENT);
}

static void an_old_doubt_is_looked_into_only_with_its_network(void **state)
{
    struct fixture *fixture = *state;
    stand_one_vm(VM("3", RUNNING, NIC("7", "0")));
    objects[1].first = objects[1].now = NETWORK("7", "");
    read_pools_first(fixture);
    assert_true(fixture->cloud.attachments[0].unleased);
    name_host(fixture, 1);
    must_refresh(fixture, "host 1\n");
}

static void the_parent_of_a_switched_reservation_without_nics_is_no_matter(void **state)
{
    struct fixture *fixture = *state;
    stands(NETWORK_OBJECT, 8, GONE,
           "<VNET><ID>8</ID><PARENT_NETWORK_ID>7</PARENT_NETWORK_ID><VN_MAD>bridge</VN_MAD>"
           "</VNET>");
    read_pools_first(fixture);
    name_network(fixture, 8);
    must_refresh(fixture, "network 8\n");
    assert_int_equal(fixture->cloud.network_count, 0);
}

/* ---- what is --------------------------------------------------------------------------------- */

static void a_vm_that_was_not_known_beside_others_is_read(void **state)
{
    struct fixture *fixture = *state;
    stand_one_vm(VM("3", RUNNING, NIC("7", "0")));
    objects[0].now = HOST("1", "<ID>3</ID><ID>5</ID>");
    stands(VM_OBJECT, 5, GONE, VM("5", RUNNING, ""));
    read_pools_first(fixture);
    name_host(fixture, 1);
    must_refresh(fixture, "host 1\nvm 5\n");
    assert_int_equal(fixture->cloud.vm_count, 2);
}

/* Its NIC was there before anything was known of the network. */
static void the_vms_with_a_nic_of_a_switched_network_that_appears_are_read_again(void **state)
{
    struct fixture *fixture = *state;
    stand_one_vm(VM("3", RUNNING, NIC("7", "0") NIC("9", "1")));
    objects[1].first = objects[1].now = NETWORK("7", LEASES(LESSEE("3") LESSEE("4")));
    objects[2].first = objects[2].now;
    stands(VM_OBJECT, 4, VM("4", RUNNING, NIC("7", "0")), VM("4", RUNNING, NIC("7", "0")));
    stands(NETWORK_OBJECT, 9, GONE, "<VNET><ID>9</ID><VN_MAD>802.1Q</VN_MAD></VNET>");
    read_pools_first(fixture);
    name_network(fixture, 9);
    assert_int_equal(refresh(fixture), 0);
    const char *expected = "network 9\nvm 3\n";
    assert_memory_equal(shared->calls, expected, strlen(expected));
    assert_null(strstr(shared->calls, "vm 4\n"));
}

static void a_switched_network_is_known_while_a_reservation_of_a_known_nic_names_it(void **state)
{
    struct fixture *fixture = *state;
    static const char reservation[] =
        "<VNET><ID>8</ID><PARENT_NETWORK_ID>7</PARENT_NETWORK_ID>"
        "<VN_MAD>bridge</VN_MAD><VLAN_ID>300</VLAN_ID>" LEASES(LESSEE("3")) "</VNET>";
    stands(HOST_OBJECT, 1, HOST("1", "<ID>3</ID>"), HOST("1", "<ID>3</ID>"));
    stands(NETWORK_OBJECT, 7, SWITCHED("7"), SWITCHED("7"));
    stands(NETWORK_OBJECT, 8, reservation, reservation);
    stands(VM_OBJECT, 3, VM("3", RUNNING, NIC("8", "0")), VM("3", RUNNING, NIC("8", "0")));
    read_pools_first(fixture);
    name_network(fixture, 7);
    must_refresh(fixture, "network 7\n");
    assert_int_equal(fixture->cloud.network_count, 2);
}

/* ---- hosts ----------------------------------------------------------------------------------- */

#define ARRIVES(first_host)                                                                        \
    do {                                                                                           \
        stands(HOST_OBJECT, 1, first_host, first_host);                                            \
        stands(NETWORK_OBJECT, 7, NETWORK("7", LEASES(LESSEE("3"))),                               \
               NETWORK("7", LEASES(LESSEE("3"))));                                                 \
        stands(VM_OBJECT, 3, VM("3", RUNNING, NIC("7", "0")),                                      \
               VM("3", ACTIVE("2"), NIC("7", "0")));                                               \
    } while (0)

static void a_host_without_ports_is_not_put_off(void **state)
{
    struct fixture *fixture = *state;
    struct oneib_id_set later = {0};
    ARRIVES(HOST("1", "<ID>3</ID>"));
    read_pools_first(fixture);
    fixture->options.hosts_later = &later;
    name_vm(fixture, 3);
    must_refresh(fixture, "vm 3\nnetwork 7\nhost 1\n");
    assert_int_equal(later.count, 0);
    oneib_id_set_clear(&later);
}

static void a_host_that_is_found_to_be_gone_is_not_put_off(void **state)
{
    struct fixture *fixture = *state;
    struct oneib_id_set later = {0};
    ARRIVES(HOST_WITH_PORT);
    objects[0].now = GONE;
    read_pools_first(fixture);
    fixture->options.hosts_later = &later;
    name_vm(fixture, 3);
    name_host(fixture, 1);
    must_refresh(fixture, "host 1\nvm 3\nnetwork 7\n");
    assert_int_equal(later.count, 0);
    oneib_id_set_clear(&later);
}

/* Hosts 1 to count, all of them named. */
static void name_hosts(struct fixture *fixture, uint32_t count)
{
    static char documents[32][64];
    for (uint32_t id = 1; id <= count; id++) {
        snprintf(documents[id], sizeof documents[id], "<HOST><ID>%u</ID><NAME>node</NAME></HOST>",
                 id);
        stands(HOST_OBJECT, (int)id, documents[id], documents[id]);
        name_host(fixture, id);
    }
}

static void up_to_16_hosts_are_asked_one_by_one(void **state)
{
    struct fixture *fixture = *state;
    name_hosts(fixture, 16);
    read_pools_first(fixture);
    assert_int_equal(refresh(fixture), 0);
    assert_null(strstr(shared->calls, "hosts\n"));
    assert_non_null(strstr(shared->calls, "host 16\n"));
    assert_false(fixture->changed);
}

static void more_are_read_by_their_pool_and_whom_it_does_not_show_is_asked_for(void **state)
{
    struct fixture *fixture = *state;
    name_hosts(fixture, 17);
    objects[4].now = GONE;
    read_pools_first(fixture);
    must_refresh(fixture, "hosts\nhost 5\n");
    assert_int_equal(fixture->cloud.host_count, 16);
    assert_null(oneib_cloud_host(&fixture->cloud, 5));
}

static void a_known_host_that_the_pool_hides_is_an_error(void **state)
{
    struct fixture *fixture = *state;
    name_hosts(fixture, 17);
    objects[4].hidden = true;
    read_pools_first(fixture);
    assert_int_equal(refresh(fixture), -1);
    assert_int_equal(fixture->err.code, ONEIB_ERROR_PERMISSION);
    assert_int_equal(fixture->cloud.host_count, 17);
}

static void must_be_refused(struct fixture *fixture, const char *words)
{
    assert_int_equal(oneib_pools_read(fixture->one, &fixture->options, &fixture->cloud,
                                      &fixture->findings, &fixture->err),
                     -1);
    assert_int_equal(fixture->err.code, ONEIB_ERROR_REFUSED);
    if (!strstr(fixture->err.text, words))
        fail_msg("\"%s\" is not in: %s", words, fixture->err.text);
}

static void of_missing_restrictions_three_are_shown(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.require_restrictions = true;
    configuration = "<OPENNEBULA_CONFIGURATION>" EACH("VNET_RESTRICTED_ATTR", "AR/")
        EACH("VM_RESTRICTED_ATTR", "NIC/") EACH("VM_RESTRICTED_ATTR", "NIC_DEFAULT/")
            EACH("VM_RESTRICTED_ATTR", "NIC_ALIAS/")
                EACH("VM_RESTRICTED_ATTR",
                     "PCI/") "<VNET_RESTRICTED_ATTR>IB_CLASS</VNET_RESTRICTED_ATTR>"
                             "<VNET_RESTRICTED_ATTR>IB_RATE</VNET_RESTRICTED_ATTR>"
                             "<VNET_RESTRICTED_ATTR>IB_RESERVATION</VNET_RESTRICTED_ATTR>"
                             "</OPENNEBULA_CONFIGURATION>";
    connect_to_oned(fixture);
    must_be_refused(fixture, "3 attributes that decide about partitions: add to oned.conf "
                             "VNET_RESTRICTED_ATTR = \"VLAN_ID\"; "
                             "VNET_RESTRICTED_ATTR = \"IB_MEMBERSHIP\"; "
                             "VNET_RESTRICTED_ATTR = \"IB_STATIC_GUIDS\", and restart oned");
}

static void restrictions_that_cannot_be_read_are_an_error(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.require_restrictions = true;
    configuration = "<OPENNEBULA_CONFIGURATION><A>";
    connect_to_oned(fixture);
    assert_int_equal(oneib_pools_read(fixture->one, &fixture->options, &fixture->cloud,
                                      &fixture->findings, &fixture->err),
                     -1);
    assert_int_equal(fixture->err.code, ONEIB_ERROR_PROTOCOL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_empty_work_queue_asks_for_nothing),
        TEST(a_vm_that_is_gone_loses_its_attachments),
        TEST(a_vm_that_is_done_loses_its_attachments),
        TEST(a_vm_that_may_not_be_seen_is_an_error_that_changes_nothing),
        TEST(a_state_of_the_same_phase_is_kept_and_changes_nothing),
        TEST(a_phase_that_changes_is_a_change),
        TEST(a_network_that_is_given_to_somebody_else_is_a_change),
        TEST(a_host_that_oned_gives_up_is_a_change),
        TEST(the_host_of_an_arriving_vm_is_read_again),
        TEST(a_host_with_ports_is_read_again_later_where_that_is_wanted),
        TEST(an_id_that_is_named_often_is_asked_for_once),
        TEST(a_host_that_is_gone_is_removed_with_what_was_said_of_it),
        TEST(a_network_of_another_driver_now_is_removed_with_what_was_said_of_it),
        TEST(a_network_that_another_driver_serves_now_stays_while_a_nic_names_it),
        TEST(a_network_that_another_driver_serves_stays_while_a_reservation_names_it),
        TEST(an_event_of_another_drivers_network_changes_nothing),
        TEST(the_parent_of_a_new_reservation_is_read_again),
        TEST(a_reservation_whose_parent_leases_it_nothing_is_unproven),
        TEST(a_parent_that_leases_to_its_reservation_by_now_is_news),
        TEST(the_parent_of_a_switched_reservation_is_known_when_it_is_switched_too),
        TEST(the_parents_of_all_switched_reservations_are_known),
        TEST(the_vms_of_another_drivers_network_are_not_asked_for),
        TEST(a_switched_network_that_is_set_back_is_a_change),
        TEST(findings_of_an_object_read_again_are_replaced),
        TEST(a_vm_that_a_network_leases_to_now_is_read),
        TEST(the_vms_of_a_network_that_has_another_key_are_not_read_again),
        TEST(the_host_of_a_pci_nic_is_read_until_it_gives_it_its_device),
        TEST(a_network_that_comes_to_be_an_operators_is_a_change),
        TEST(a_vm_that_was_not_known_and_is_on_a_host_is_read),
        TEST(a_vm_that_is_named_in_vain_is_not_asked_for_again_and_again),
        TEST(new_vms_are_found_beyond_the_highest_known),
        TEST(a_new_vm_that_a_network_names_is_the_highest_known),
        TEST(a_nic_whose_lease_ended_with_its_network_read_again_is_looked_into),
        TEST(a_vm_that_a_window_was_not_asked_for_stays_as_it_was),
        TEST(a_vm_that_a_window_shows_twice_is_not_changed_by_it),
        TEST(everything_is_a_whole_reading),
        TEST(missing_restrictions_are_refused_when_they_are_required),
        TEST(restrictions_that_are_there_are_no_hindrance),
        TEST(the_networks_of_a_stored_vm_are_not_read_again),
        TEST(an_old_doubt_is_looked_into_only_with_its_network),
        TEST(the_parent_of_a_switched_reservation_without_nics_is_no_matter),
        TEST(a_vm_that_was_not_known_beside_others_is_read),
        TEST(the_vms_with_a_nic_of_a_switched_network_that_appears_are_read_again),
        TEST(a_switched_network_is_known_while_a_reservation_of_a_known_nic_names_it),
        TEST(a_host_without_ports_is_not_put_off),
        TEST(a_host_that_is_found_to_be_gone_is_not_put_off),
        TEST(up_to_16_hosts_are_asked_one_by_one),
        TEST(more_are_read_by_their_pool_and_whom_it_does_not_show_is_asked_for),
        TEST(a_known_host_that_the_pool_hides_is_an_error),
        TEST(of_missing_restrictions_three_are_shown),
        TEST(restrictions_that_cannot_be_read_are_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
