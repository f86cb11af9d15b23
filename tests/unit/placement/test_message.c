// SPDX-License-Identifier: Apache-2.0
/* The scheduler's message, read and written with fewer hosts; and what is done with one that is
 * not as oned writes it. */
#include "placement/arrange.h"
#include "placement/message.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NIC(id, network)                                                                           \
    "<NIC><NIC_ID>" id "</NIC_ID><NETWORK_ID>" network "</NETWORK_ID><VN_MAD>infiniband</VN_MAD>"  \
    "<MAC>02:00:0a:00:00:0" id "</MAC></NIC>"
#define VM(id, made, text) VM_OF("2", id, made, text)
#define VM_OF(owner, id, made, text)                                                               \
    "<VM><ID>" id "</ID><UID>" owner "</UID><NAME>vm</NAME><STATE>1</STATE><LCM_STATE>0"           \
    "</LCM_STATE>"                                                                                 \
    "<STIME>" made "</STIME><TEMPLATE>" text "</TEMPLATE><USER_TEMPLATE/><HISTORY_RECORDS/></VM>"
#define HOST(id, text)                                                                             \
    "<HOST><ID>" id "</ID><NAME>n" id "</NAME><STATE>2</STATE><TEMPLATE>" text                     \
    "</TEMPLATE><MONITORING/></HOST>"
#define AT(leaf, vfs)                                                                              \
    "<IB_SWITCH><![CDATA[" leaf "]]></IB_SWITCH><IB_VFS_FREE><![CDATA[" vfs "]]></IB_VFS_FREE>"
#define MAY(vm, hosts)                                                                             \
    "<VM><ID>" vm "</ID><HOSTS>" hosts "</HOSTS><DATASTORES><ID>0</ID></DATASTORES></VM>"
#define ID(id) "<ID>" id "</ID>"
#define MESSAGE(vms, hosts, requirements)                                                          \
    "<SCHEDULER_DRIVER_ACTION><VM_POOL>" vms "</VM_POOL><HOST_POOL>" hosts                         \
    "</HOST_POOL><DATASTORE_POOL><DATASTORE><ID>0</ID></DATASTORE></DATASTORE_POOL><VNET_POOL>"    \
    "</VNET_POOL><VM_GROUP_POOL/><CLUSTER_POOL></CLUSTER_POOL><REQUIREMENTS>" requirements         \
    "</REQUIREMENTS></SCHEDULER_DRIVER_ACTION>"

#define BEFORE "<CLUSTER_POOL></CLUSTER_POOL><REQUIREMENTS>"
#define HOSTS HOST("0", AT("0x1", "2")) HOST("1", AT("0x1,0x9", "1")) HOST("4", AT("0x2", "7"))
#define ALL ID("0") ID("1") ID("4")
#define PLAIN                                                                                      \
    MESSAGE(VM("7", "900", NIC("0", "3")) VM("8", "900", "") VM("9", "900", NIC("0", "3")), HOSTS, \
            MAY("7", ALL) MAY("8", ALL) MAY("9", ALL))
#define NOW 910

static struct oneib_error err;

/* ---- reading and writing --------------------------------------------------------------------- */

static struct oneib_sched_message read_message(const char *xml)
{
    struct oneib_sched_message message;
    if (oneib_sched_message_read(xml, strlen(xml), &message, &err) < 0 ||
        oneib_sched_message_read_pools(&message, "infiniband", &err) < 0)
        fail_msg("%s", err.text);
    return message;
}

/* Members of network 3: how many there are on host 0, and on a host of leaf 0x2 that is full. */
static void put_members(struct oneib_cloud *running, unsigned here, unsigned there)
{
    struct oneib_network *network = oneib_cloud_add_network(running);
    network->id = 3;
    struct oneib_host *host = oneib_cloud_add_host(running);
    host->id = 11;
    host->switches = strdup("0x2");
    for (unsigned i = 0; i < here + there; i++) {
        struct oneib_attachment *nic = oneib_cloud_add_attachment(running);
        *nic = (struct oneib_attachment){
            .vm_id = 20 + i, .network_id = 3, .host_id = i < here ? 0 : 11, .phase = ONEIB_SETTLED};
    }
    oneib_cloud_sort(running);
}

static struct oneib_window arrange(const struct oneib_sched_message *message,
                                   const struct oneib_cloud *running, int64_t now)
{
    struct oneib_window window;
    if (oneib_window_arrange(message, running, now, &window, &err) < 0)
        fail_msg("%s", err.text);
    oneib_window_offer(&window);
    return window;
}

/* Freed by the caller. */
static char *written(const struct oneib_sched_message *message, const struct oneib_window *window)
{
    struct oneib_text text = {0};
    struct oneib_sched_pieces pieces;
    oneib_sched_message_write(message, window, &pieces);
    for (size_t i = 0; i < pieces.count; i++)
        oneib_text_append_bytes(&text, pieces.items[i].bytes, pieces.items[i].length);
    oneib_sched_pieces_clear(&pieces);
    return text.data;
}

/* The message as the placer gets it; freed by the caller. */
static char *narrowed(const char *xml, const struct oneib_cloud *running, int64_t now)
{
    struct oneib_sched_message message = read_message(xml);
    struct oneib_window window = arrange(&message, running, now);
    char *text = written(&message, &window);
    oneib_window_clear(&window);
    oneib_sched_message_clear(&message);
    return text;
}

static void must_become(const char *xml, const struct oneib_cloud *running, int64_t now,
                        const char *wanted)
{
    char *seen = narrowed(xml, running, now);
    assert_string_equal(strstr(seen, BEFORE), strstr(wanted, BEFORE));
    assert_memory_equal(seen, xml, (size_t)(strstr(xml, BEFORE) - xml));
    free(seen);
}

/* ---- what is understood ---------------------------------------------------------------------- */

static void a_message_that_nobody_changes_is_written_as_it_was(void **state)
{
    (void)state;
    struct oneib_sched_message message = read_message(PLAIN);
    struct oneib_window window = {0};
    char *text = written(&message, &window);
    assert_string_equal(text, PLAIN);
    free(text);
    oneib_sched_message_clear(&message);
}

static void only_vms_with_infiniband_have_fewer_hosts(void **state)
{
    (void)state;
    struct oneib_cloud running = {0};
    put_members(&running, 2, 1);
    must_become(PLAIN, &running, NOW,
                MESSAGE("", "", MAY("7", ID("0") ID("1")) MAY("8", ALL) MAY("9", ID("0"))));
    oneib_cloud_clear(&running);
}

/* A full host is in no message: where it is is asked of oned. */
static void members_on_hosts_that_the_message_lacks_count(void **state)
{
    (void)state;
    struct oneib_cloud running = {0};
    put_members(&running, 1, 2);
    must_become(PLAIN, &running, NOW,
                MESSAGE("", "", MAY("7", ID("4")) MAY("8", ALL) MAY("9", ID("4"))));
    oneib_cloud_clear(&running);
}

static void who_has_waited_for_a_minute_may_go_anywhere(void **state)
{
    (void)state;
    struct oneib_cloud running = {0};
    put_members(&running, 2, 1);
    const char *xml = MESSAGE(VM("7", "900", NIC("0", "3")), HOSTS, MAY("7", ALL));
    must_become(xml, &running, 959, MESSAGE("", "", MAY("7", ID("0") ID("1"))));
    must_become(xml, &running, 960, MESSAGE("", "", MAY("7", ALL)));
    oneib_cloud_clear(&running);
}

/* Windows follow each other as VMs run: the last ones of a large cluster wait while others come. */
static void nobody_has_waited_while_others_of_the_cluster_were_given_hosts(void **state)
{
    (void)state;
    struct oneib_cloud running = {0};
    put_members(&running, 2, 1);
    running.attachments[1].since = 930;
    running.attachments[2].since = 999999; /* a forged one */
    const char *xml = MESSAGE(VM("7", "900", NIC("0", "3")), HOSTS, MAY("7", ALL));
    must_become(xml, &running, 989, MESSAGE("", "", MAY("7", ID("0") ID("1"))));
    must_become(xml, &running, 990, MESSAGE("", "", MAY("7", ALL)));
    oneib_cloud_clear(&running);
}

/* A small cluster that has its turn after a large one on the same leaf. */
static void nobody_has_waited_while_others_who_wait_were_given_hosts_but_not_for_long(void **state)
{
    (void)state;
    struct oneib_cloud running = {0};
    put_members(&running, 2, 1);
    struct oneib_network *other = oneib_cloud_add_network(&running);
    other->id = 4;
    struct oneib_attachment *nic = oneib_cloud_add_attachment(&running);
    *nic = (struct oneib_attachment){
        .vm_id = 90, .network_id = 4, .host_id = 0, .phase = ONEIB_SETTLED, .since = 1440};
    oneib_cloud_sort(&running);
    const char *xml = MESSAGE(VM("7", "900", NIC("0", "3")), HOSTS, MAY("7", ALL));
    must_become(xml, &running, 1499, MESSAGE("", "", MAY("7", ID("0") ID("1"))));
    must_become(xml, &running, 1500, MESSAGE("", "", MAY("7", ALL))); /* a minute, and ten */
    running.attachments[3].since = 1490;
    must_become(xml, &running, 1499, MESSAGE("", "", MAY("7", ID("0") ID("1"))));
    must_become(xml, &running, 1500, MESSAGE("", "", MAY("7", ALL))); /* ten */
    running.attachments[3].since = 950;
    must_become(xml, &running, 1009, MESSAGE("", "", MAY("7", ID("0") ID("1"))));
    must_become(xml, &running, 1010, MESSAGE("", "", MAY("7", ALL))); /* a minute */
    oneib_cloud_clear(&running);
}

/* It was made long ago, and has left its last host just now. */
static void a_vm_waits_since_it_left_its_last_host(void **state)
{
    (void)state;
    struct oneib_cloud running = {0};
    put_members(&running, 2, 1);
    const char *xml = MESSAGE(
        "<VM><ID>7</ID><STATE>1</STATE><LCM_STATE>0</LCM_STATE><STIME>5</STIME><TEMPLATE>" NIC(
            "0", "3") "</TEMPLATE><HISTORY_RECORDS><HISTORY><OID>7</OID><SEQ>0</SEQ><HID>4</HID>"
                      "<STIME>6</STIME><ETIME>900</ETIME></HISTORY></HISTORY_RECORDS></VM>",
        HOSTS, MAY("7", ALL));
    must_become(xml, &running, NOW, MESSAGE("", "", MAY("7", ID("0") ID("1"))));
    oneib_cloud_clear(&running);
}

static void a_vm_of_a_group_is_left_all_hosts_with_room(void **state)
{
    (void)state;
    struct oneib_cloud running = {0};
    put_members(&running, 2, 1);
    const char *xml = MESSAGE(VM("7", "900", NIC("0", "3") "<VMGROUP><ROLE>a</ROLE></VMGROUP>"),
                              HOSTS HOST("5", AT("0x2", "0")), MAY("7", ALL ID("5")));
    must_become(xml, &running, NOW, MESSAGE("", "", MAY("7", ALL)));
    oneib_cloud_clear(&running);
}

static void a_vm_for_which_there_is_no_function_waits(void **state)
{
    (void)state;
    struct oneib_cloud running = {0};
    const char *xml = MESSAGE(VM("7", "900", NIC("0", "3") NIC("1", "3")),
                              HOST("0", AT("0x1", "1")), MAY("7", ID("0")));
    must_become(xml, &running, NOW, MESSAGE("", "", MAY("7", "")));
    oneib_cloud_clear(&running);
}

static void networks_and_datastores_are_passed_on(void **state)
{
    (void)state;
    struct oneib_cloud running = {0};
    put_members(&running, 2, 1);
    const char *rest = "</HOSTS><DATASTORES><ID>0</ID><ID>100</ID></DATASTORES><NIC><ID>0</ID>"
                       "<VNETS><ID>3</ID></VNETS></NIC></VM></REQUIREMENTS>";
    char xml[4096];
    snprintf(xml, sizeof xml, "%s", MESSAGE(VM("7", "900", NIC("0", "3")), HOSTS, ""));
    snprintf(strstr(xml, "</REQUIREMENTS>"), 512, "<VM><ID>7</ID><HOSTS>" ALL "%s%s", rest,
             "</SCHEDULER_DRIVER_ACTION>");
    char *seen = narrowed(xml, &running, NOW);
    assert_non_null(strstr(seen, rest));
    assert_null(strstr(seen, "<ID>4</ID></HOSTS>"));
    free(seen);
    oneib_cloud_clear(&running);
}

/* ---- whose turn it is ------------------------------------------------------------------------ */

/* Which VM is served in that place. */
static uint32_t served(const char *xml, int64_t now, size_t place)
{
    struct oneib_cloud running = {0};
    struct oneib_sched_message message = read_message(xml);
    struct oneib_window window = arrange(&message, &running, now);
    const uint32_t id = window.vms[place].id;
    oneib_window_clear(&window);
    oneib_sched_message_clear(&message);
    return id;
}

/* Of a hundred windows, how often VM 9 is before VM 7. */
static unsigned turns_of_the_later(const char *xml, int64_t from, int64_t apart)
{
    unsigned turns = 0;
    for (int64_t i = 0; i < 100; i++)
        turns += served(xml, from + i * apart, 0) == 9;
    return turns;
}

#define TWO_OWNERS(behind)                                                                         \
    MESSAGE(VM_OF("2", "7", "900",                                                                 \
                  NIC("0", "3")) "<VM><ID>9</ID><UID>3</UID><STATE>1</STATE>"                      \
                                 "<LCM_STATE>0</LCM_STATE><STIME>900</STIME><TEMPLATE>" NIC(       \
                                     "0", "4") "</TEMPLATE>"                                       \
                                               "<HISTORY_RECORDS/>" behind "</VM>",                \
            HOST("0", AT("0x1", "1")), MAY("7", ID("0")) MAY("9", ID("0")))

/* VM 7 may wait for what is never there, as more memory than any host has. */
static void who_waits_for_ever_keeps_others_from_half_of_the_windows_at_most(void **state)
{
    (void)state;
    const char *xml = TWO_OWNERS("");
    assert_int_equal(turns_of_the_later(xml, 859, 1), 0); /* until 958 */
    assert_int_equal(served(xml, 959, 0), 7);
    for (int64_t apart = 1; apart <= 64; apart++)
        assert_in_range(turns_of_the_later(xml, 960, apart), 30, 70);
}

static void vms_of_one_owner_are_served_together_and_in_their_order(void **state)
{
    (void)state;
    const char *xml =
        MESSAGE(VM_OF("2", "7", "900", NIC("0", "3")) VM_OF("3", "8", "900", NIC("0", "4"))
                    VM_OF("2", "9", "900", NIC("0", "3")),
                HOSTS, MAY("7", ALL) MAY("8", ALL) MAY("9", ALL));
    unsigned before = 0;
    for (int64_t now = 960; now < 1060; now++) {
        const bool is_before = served(xml, now, 0) == 7;
        assert_int_equal(served(xml, now, is_before ? 1 : 2), 9);
        assert_int_equal(served(xml, now, is_before ? 0 : 1), 7);
        before += is_before;
    }
    assert_in_range(before, 30, 70);
}

/* Whose a VM is oned says before anything that its user writes. */
static void nobody_has_another_owners_turn(void **state)
{
    (void)state;
    for (int64_t now = 960; now < 1060; now++)
        assert_int_equal(served(TWO_OWNERS(""), now, 0),
                         served(TWO_OWNERS("<UID>1</UID>"), now, 0));
}

static void the_networks_that_are_waited_for_are_each_named_once(void **state)
{
    (void)state;
    struct oneib_id_set networks = {0};
    struct oneib_sched_message message = read_message(MESSAGE(
        VM("7", "900", NIC("0", "9")) VM("8", "900", NIC("0", "3")) VM("9", "9", NIC("0", "9")),
        HOSTS, MAY("7", ALL) MAY("8", ALL) MAY("9", ALL)));
    oneib_waiting_networks(&message, &networks);
    assert_int_equal(networks.count, 2);
    assert_int_equal(networks.items[0], 3);
    assert_int_equal(networks.items[1], 9);
    oneib_id_set_clear(&networks);
    oneib_sched_message_clear(&message);
}

/* ---- what is left alone ---------------------------------------------------------------------- */

static void must_be_left(const char *xml, size_t length, const char *why)
{
    struct oneib_sched_message message;
    assert_int_equal(oneib_sched_message_read(xml, length, &message, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_PROTOCOL);
    if (!strstr(err.text, why))
        fail_msg("\"%s\" does not say \"%s\"", err.text, why);
}

static void a_message_that_is_cut_anywhere_is_left_alone(void **state)
{
    (void)state;
    const char *xml = PLAIN;
    for (size_t length = 0; length < strlen(xml); length++) {
        struct oneib_sched_message message;
        char *cut = malloc(length + 1);
        assert_non_null(cut);
        memcpy(cut, xml, length);
        assert_int_equal(oneib_sched_message_read(cut, length, &message, &err), -1);
        free(cut);
    }
}

static void one_that_is_not_as_oned_writes_it_is_left_alone(void **state)
{
    (void)state;
    static const struct {
        const char *xml, *why;
    } cases[] = {
        {"nonsense", "is none"},
        {"<PLAN><REQUIREMENTS></REQUIREMENTS></PLAN>", "is none"},
        {MESSAGE("", "", MAY("8", ALL) MAY("7", ALL)), "not in order"},
        {MESSAGE("", "", MAY("7", ID("4") ID("1"))), "not in order"},
        {MESSAGE("", "", MAY("7", ID("99999999999"))), "without an end"},
        {MESSAGE("", "", MAY("x", ALL)), "no VM's"},
        {MESSAGE("", "", "<VM><ID>7</ID><HOSTS></HOSTS><DATASTORES>a</DATASTORES></VM>"),
         "without an end"},
        {MESSAGE("", "", "") "<REQUIREMENTS></REQUIREMENTS></SCHEDULER_DRIVER_ACTION>x",
         "behind its end"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        must_be_left(cases[i].xml, strlen(cases[i].xml), cases[i].why);
}

/* ---- pools that a user has spoilt ------------------------------------------------------------ */

/* The requirements are known all the same. */
static void must_be_spoilt(const char *xml, const char *why)
{
    struct oneib_sched_message message;
    assert_int_equal(oneib_sched_message_read(xml, strlen(xml), &message, &err), 0);
    assert_int_equal(oneib_sched_message_read_pools(&message, "infiniband", &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_PROTOCOL);
    if (!strstr(err.text, why))
        fail_msg("\"%s\" does not say \"%s\"", err.text, why);
    assert_int_equal(message.requirement_count, 2);
    assert_int_equal(message.vm_count, 0);
    assert_null(message.cloud.attachments);
    assert_null(message.cloud.hosts);
    oneib_sched_message_clear(&message);
}

#define BROKEN VM("7", "900", NIC("0", "3") "<A>]]></A>")
#define BOTH MAY("7", ALL) MAY("9", ALL)

static void vms_whose_text_is_broken_leave_the_requirements(void **state)
{
    (void)state;
    must_be_spoilt(MESSAGE(BROKEN "</X>", HOSTS, BOTH), "");
    must_be_spoilt(MESSAGE(VM("7", "900", "<A><![CDATA[</VM_POOL><HOST_POOL>]]></A>"), HOSTS, BOTH),
                   "twice");
    must_be_spoilt(
        MESSAGE(VM("7", "900", "<A/></TEMPLATE></VM><VM><ID>9</ID><TEMPLATE>" NIC("0", "3"))
                    VM("9", "900", ""),
                HOSTS, BOTH),
        "a VM twice");
}

/* As oned gives them when it is asked. */
static void documents_that_oned_gave_take_the_place_of_spoilt_pools(void **state)
{
    (void)state;
    struct oneib_cloud running = {0};
    struct oneib_sched_message message;
    const char *xml = MESSAGE(BROKEN "</X>", HOSTS, BOTH), *alone = VM("9", "900", NIC("0", "3")),
               *hosts = "<HOST_POOL>" HOSTS "</HOST_POOL>", *broken = "<VM_POOL>" BROKEN "</X>";
    put_members(&running, 2, 1);
    assert_int_equal(oneib_sched_message_read(xml, strlen(xml), &message, &err), 0);
    assert_int_equal(
        oneib_sched_message_add_vms(&message, broken, strlen(broken), 7, 7, "infiniband", &err),
        -1);
    assert_int_equal(err.code, ONEIB_ERROR_PROTOCOL);
    assert_int_equal(
        oneib_sched_message_add_vms(&message, alone, strlen(alone), 7, 8, "infiniband", &err), -1);
    assert_int_equal(message.vm_count, 0);
    assert_int_equal(
        oneib_sched_message_add_vms(&message, alone, strlen(alone), 9, 9, "infiniband", &err), 0);
    assert_int_equal(oneib_sched_message_add_hosts(&message, hosts, strlen(hosts), &err), 0);
    struct oneib_window window = arrange(&message, &running, NOW);
    char *seen = written(&message, &window);
    assert_non_null(strstr(seen, BEFORE MAY("7", ALL) MAY("9", ID("0") ID("1")) "</REQ"));
    free(seen);
    oneib_window_clear(&window);
    oneib_sched_message_clear(&message);
    oneib_cloud_clear(&running);
}

/* It lists them in whichever order its API_LIST_ORDER says. */
static void vms_that_oned_gave_are_found_in_any_order(void **state)
{
    (void)state;
    struct oneib_sched_message message = {0};
    const char *xml = "<VM_POOL>" VM("12", "1", "") VM("10", "1", "") VM("9", "1", "") "</VM_POOL>",
               *more = VM("13", "1", "");
    assert_int_equal(
        oneib_sched_message_add_vms(&message, xml, strlen(xml), 9, 12, "infiniband", &err), 0);
    assert_int_equal(
        oneib_sched_message_add_vms(&message, more, strlen(more), 13, 13, "infiniband", &err), 0);
    for (uint32_t id = 9; id <= 13; id++)
        assert_int_equal(oneib_sched_vm(&message, id) != NULL, id != 11);
    oneib_sched_message_clear(&message);
}

/* What a user writes into his VM stands there as he wrote it. */
static void what_a_user_writes_moves_nobody_elses_vm(void **state)
{
    (void)state;
    struct oneib_cloud running = {0};
    put_members(&running, 2, 1);
    must_become(MESSAGE(VM("7", "900",
                           NIC("0", "3") "<A><![CDATA[<REQUIREMENTS><VM><ID>9</ID>"
                                         "<HOSTS></HOSTS></VM>]]></A>"),
                        HOSTS, MAY("7", ALL)),
                &running, NOW, MESSAGE("", "", MAY("7", ID("0") ID("1"))));
    oneib_cloud_clear(&running);
}

static void without_oneibd_nobody_is_kept_from_any_host(void **state)
{
    (void)state;
    struct oneib_cloud running = {0};
    struct oneib_window window;
    struct oneib_sched_message message = read_message(MESSAGE(
        VM("7", "900", NIC("0", "3")), HOST("0", "") HOST("1", ""), MAY("7", ID("0") ID("1"))));
    assert_int_equal(oneib_window_arrange(&message, &running, NOW, &window, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    oneib_sched_message_clear(&message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_that_nobody_changes_is_written_as_it_was),
        cmocka_unit_test(only_vms_with_infiniband_have_fewer_hosts),
        cmocka_unit_test(members_on_hosts_that_the_message_lacks_count),
        cmocka_unit_test(who_has_waited_for_a_minute_may_go_anywhere),
        cmocka_unit_test(nobody_has_waited_while_others_of_the_cluster_were_given_hosts),
        cmocka_unit_test(nobody_has_waited_while_others_who_wait_were_given_hosts_but_not_for_long),
        cmocka_unit_test(a_vm_waits_since_it_left_its_last_host),
        cmocka_unit_test(a_vm_of_a_group_is_left_all_hosts_with_room),
        cmocka_unit_test(a_vm_for_which_there_is_no_function_waits),
        cmocka_unit_test(networks_and_datastores_are_passed_on),
        cmocka_unit_test(who_waits_for_ever_keeps_others_from_half_of_the_windows_at_most),
        cmocka_unit_test(vms_of_one_owner_are_served_together_and_in_their_order),
        cmocka_unit_test(nobody_has_another_owners_turn),
        cmocka_unit_test(the_networks_that_are_waited_for_are_each_named_once),
        cmocka_unit_test(a_message_that_is_cut_anywhere_is_left_alone),
        cmocka_unit_test(one_that_is_not_as_oned_writes_it_is_left_alone),
        cmocka_unit_test(vms_whose_text_is_broken_leave_the_requirements),
        cmocka_unit_test(documents_that_oned_gave_take_the_place_of_spoilt_pools),
        cmocka_unit_test(vms_that_oned_gave_are_found_in_any_order),
        cmocka_unit_test(what_a_user_writes_moves_nobody_elses_vm),
        cmocka_unit_test(without_oneibd_nobody_is_kept_from_any_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
