// SPDX-License-Identifier: Apache-2.0
/*
 * Gathering from a stand-in for oned, which holds a small cloud as data and writes one line for
 * each call it gets, so that a test can tell what was asked for.
 */
#include "one/gather.h"
#include "oned_stand_in.h"
#include "recorded.h"
#include <fcntl.h>
#include <sys/mman.h>

#define MAX_VMS 16

/* A VM of the stand-in. With document NULL it is only named: it is gone. */
struct standing_vm {
    int id;
    const char *pool_document; /* in windows; NULL: no window shows it */
    const char *document;      /* of one.vm.info; NULL: no such VM */
    bool hidden;               /* one.vm.info: no permission */
};

/* What the stand-in answers; set before it is started. */
static struct {
    const char *hosts, *networks;
    const char *network_alone; /* one.vn.info; NULL: no such network */
    const char *host_alone;    /* one.host.info; NULL: no such host */
    struct standing_vm vms[MAX_VMS];
    bool is_administrator;
    bool cut_off; /* the first window is truncated */
} cloud_of_oned;

/* Calls, one a line: shared with the stand-in's process. */
static char *calls;
#define CALLS_SIZE 65536

static void note_call(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note_call(const char *format, ...)
{
    va_list arguments;
    size_t length = strlen(calls);
    va_start(arguments, format);
    vsnprintf(calls + length, CALLS_SIZE - length, format, arguments);
    va_end(arguments);
}

/* The n-th <i4> of a request. */
static int argument(const char *request, int n)
{
    for (int i = 0; i <= n && request; i++)
        request = strstr(i == 0 ? request : request + 4, "<i4>");
    return request ? (int)strtol(request + 4, NULL, 10) : -99;
}

static void answer_window(int connection, int first, int last)
{
    struct oneib_text pool = {0};
    note_call("window %d %d\n", first, last);
    oneib_text_append(&pool, "<VM_POOL>");
    for (int i = 0; i < MAX_VMS; i++) {
        const struct standing_vm *vm = &cloud_of_oned.vms[i];
        if (vm->pool_document && vm->id >= first && (last == -1 || vm->id <= last))
            oneib_text_append(&pool, vm->pool_document);
    }
    if (!cloud_of_oned.cut_off)
        oneib_text_append(&pool, "</VM_POOL>");
    stand_in_document(connection, pool.data);
    oneib_text_clear(&pool);
}

static void answer_vm(int connection, int id)
{
    note_call("vm %d\n", id);
    for (int i = 0; i < MAX_VMS; i++) {
        const struct standing_vm *vm = &cloud_of_oned.vms[i];
        if (vm->id != id || (!vm->document && !vm->hidden))
            continue;
        if (vm->hidden)
            stand_in_refuse(connection, 512, "Not authorized to perform USE VM.");
        else
            stand_in_document(connection, vm->document);
        return;
    }
    stand_in_refuse(connection, 1024, "Error getting virtual machine.");
}

static void answer_alone(int connection, const char *kind, int id, const char *document)
{
    note_call("%s %d\n", kind, id);
    if (document)
        stand_in_document(connection, document);
    else
        stand_in_refuse(connection, 1024, "Error getting it.");
}

static void answer_config(int connection)
{
    note_call("config\n");
    if (cloud_of_oned.is_administrator)
        stand_in_document(connection, "<OPENNEBULA_CONFIGURATION/>");
    else
        stand_in_refuse(connection, 512, "The oned configuration can only be retrieved by admins");
}

static void answer(int connection, const char *request)
{
    if (strstr(request, ">one.system.config<"))
        answer_config(connection);
    else if (strstr(request, ">one.hostpool.info<"))
        stand_in_document(connection, cloud_of_oned.hosts);
    else if (strstr(request, ">one.vnpool.info<"))
        stand_in_document(connection, cloud_of_oned.networks);
    else if (strstr(request, ">one.vmpool.infoextended<"))
        answer_window(connection, argument(request, 1), argument(request, 2));
    else if (strstr(request, ">one.vm.info<"))
        answer_vm(connection, argument(request, 0));
    else if (strstr(request, ">one.vn.info<"))
        answer_alone(connection, "network", argument(request, 0), cloud_of_oned.network_alone);
    else if (strstr(request, ">one.host.info<"))
        answer_alone(connection, "host", argument(request, 0), cloud_of_oned.host_alone);
    else
        stand_in_http(connection, "404 Not Found", "");
}

struct fixture {
    struct stand_in server;
    struct oneib_one *one;
    struct oneib_cloud cloud;
    struct oneib_findings findings;
    struct oneib_error err;
    size_t progress_calls, done, total;
};

#define NETWORK_OF(id, vms)                                                                        \
    "<VNET><ID>" id "</ID><NAME>ib</NAME><VN_MAD>ibrec</VN_MAD>" vms "</VNET>"
/* VM 3 is the one that most tests have. */
#define NETWORK(id) NETWORK_OF(id, "<UPDATED_VMS><ID>3</ID></UPDATED_VMS>")
#define HOST(id, vms) "<HOST><ID>" id "</ID><NAME>node</NAME><VMS>" vms "</VMS></HOST>"
#define RUNNING "<STATE>3</STATE><LCM_STATE>3</LCM_STATE>"
#define MIGRATING "<STATE>3</STATE><LCM_STATE>4</LCM_STATE>"
#define NIC(network, id)                                                                           \
    "<NIC><NETWORK_ID>" network "</NETWORK_ID><NIC_ID>" id "</NIC_ID><VN_MAD>ibrec</VN_MAD></NIC>"
#define RECORD(seq, host) "<HISTORY><SEQ>" seq "</SEQ><HID>" host "</HID><STIME>1</STIME></HISTORY>"
#define VM(id, state, nics, records)                                                               \
    "<VM><ID>" id "</ID>" state "<TEMPLATE>" nics "</TEMPLATE><HISTORY_RECORDS>" records           \
    "</HISTORY_RECORDS></VM>"

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    calls = mmap(NULL, CALLS_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!fixture || calls == MAP_FAILED)
        return -1;
    memset(&cloud_of_oned, 0, sizeof cloud_of_oned);
    cloud_of_oned.is_administrator = true;
    cloud_of_oned.hosts = "<HOST_POOL>" HOST("1", "") HOST("2", "") "</HOST_POOL>";
    cloud_of_oned.networks = "<VNET_POOL>" NETWORK("7") "</VNET_POOL>";
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    oneib_cloud_clear(&fixture->cloud);
    oneib_findings_clear(&fixture->findings);
    oneib_one_close(fixture->one);
    stand_in_stop(&fixture->server);
    munmap(calls, CALLS_SIZE);
    free(fixture);
    return 0;
}

static void count_progress(size_t done, size_t total, void *context)
{
    struct fixture *fixture = context;
    fixture->progress_calls++;
    fixture->done = done;
    fixture->total = total;
}

/* Starts the stand-in with cloud_of_oned as it is and gathers by windows of ten. */
static int gather(struct fixture *fixture)
{
    char session[] = "oneadmin:open-sesame";
    const struct oneib_gather_options options = {
        .vn_mad = "ibrec",
        .window = 10,
        .progress = count_progress,
        .progress_context = fixture,
    };
    assert_int_equal(stand_in_start(&fixture->server, answer), 0);
    struct oneib_credentials credentials = {.endpoint = fixture->server.endpoint,
                                            .session = session};
    fixture->one = oneib_one_open(&credentials, 20000, &fixture->err);
    assert_non_null(fixture->one);
    return oneib_gather(fixture->one, &options, &fixture->cloud, &fixture->findings, &fixture->err);
}

static void must_gather(struct fixture *fixture)
{
    if (gather(fixture) < 0)
        fail_msg("%s", fixture->err.text);
}

static void must_fail(struct fixture *fixture, enum oneib_error_code code, const char *words)
{
    assert_int_equal(gather(fixture), -1);
    assert_string_equal(oneib_error_code_name(fixture->err.code), oneib_error_code_name(code));
    if (!strstr(fixture->err.text, words))
        fail_msg("\"%s\" is not in: %s", words, fixture->err.text);
    assert_null(fixture->cloud.networks);
    assert_null(fixture->cloud.hosts);
    assert_null(fixture->cloud.attachments);
    assert_null(fixture->findings.items);
}

static void assert_calls(const char *expected)
{
    assert_string_equal(calls, expected);
}

static void an_empty_cloud_is_one_open_window(void **state)
{
    cloud_of_oned.hosts = "<HOST_POOL></HOST_POOL>";
    cloud_of_oned.networks = "<VNET_POOL></VNET_POOL>";
    must_gather(*state);
    assert_calls("config\nwindow 0 -1\n");
}

static void windows_cover_named_vms_skip_gaps_and_end_open(void **state)
{
    struct fixture *fixture = *state;
    cloud_of_oned.hosts = "<HOST_POOL>" HOST("1", "<ID>3</ID><ID>12</ID><ID>13</ID>")
        HOST("2", "<ID>5000</ID>") "</HOST_POOL>";
    cloud_of_oned.networks =
        "<VNET_POOL>" NETWORK_OF("7", "<OUTDATED_VMS><ID>3</ID><ID>12</ID><ID>13</ID><ID>5000</ID>"
                                      "</OUTDATED_VMS><UPDATED_VMS><ID>900</ID><ID>909</ID>"
                                      "</UPDATED_VMS>") "</VNET_POOL>";
    static const int ids[] = {3, 12, 13, 900, 909, 5000};
    static char documents[6][256];
    for (int i = 0; i < 6; i++) {
        snprintf(documents[i], sizeof documents[i],
                 "<VM><ID>%d</ID>" RUNNING "<TEMPLATE>" NIC(
                     "7", "0") "</TEMPLATE>"
                               "<HISTORY_RECORDS>" RECORD("0", "1") "</HISTORY_RECORDS></VM>",
                 ids[i]);
        cloud_of_oned.vms[i] = (struct standing_vm){.id = ids[i], .pool_document = documents[i]};
    }
    must_gather(fixture);
    assert_calls("config\nwindow 3 12\nwindow 13 22\nwindow 900 909\nwindow 5000 5009\n"
                 "window 5010 -1\n");
    assert_int_equal(fixture->cloud.vm_count, 6);
    assert_int_equal(fixture->cloud.attachment_count, 6);
    assert_int_equal(fixture->done, 6);
    assert_int_equal(fixture->total, 6);
    assert_true(fixture->progress_calls > 1);
}

static void a_named_vm_that_no_window_shows_is_asked_for_alone(void **state)
{
    struct fixture *fixture = *state;
    cloud_of_oned.hosts = "<HOST_POOL>" HOST("1", "<ID>3</ID>") "</HOST_POOL>";
    cloud_of_oned.vms[0] = (struct standing_vm){
        .id = 3, .document = VM("3", RUNNING, NIC("7", "0"), RECORD("0", "1"))};
    must_gather(fixture);
    assert_calls("config\nwindow 3 12\nwindow 13 -1\nvm 3\n");
    assert_int_equal(fixture->cloud.attachment_count, 1);
    assert_int_equal(fixture->cloud.attachments[0].vm_id, 3);
}

static void a_named_vm_that_is_gone_is_fine(void **state)
{
    struct fixture *fixture = *state;
    cloud_of_oned.hosts = "<HOST_POOL>" HOST("1", "<ID>3</ID>") "</HOST_POOL>";
    must_gather(fixture);
    assert_calls("config\nwindow 3 12\nwindow 13 -1\nvm 3\n");
    assert_int_equal(fixture->cloud.vm_count, 0);
}

static void a_named_vm_that_may_not_be_seen_is_an_error(void **state)
{
    cloud_of_oned.hosts = "<HOST_POOL>" HOST("1", "<ID>3</ID>") "</HOST_POOL>";
    cloud_of_oned.vms[0] = (struct standing_vm){.id = 3, .hidden = true};
    must_fail(*state, ONEIB_ERROR_PERMISSION, "VM 3");
}

static void a_user_who_is_no_administrator_is_an_error_even_when_all_is_hidden(void **state)
{
    cloud_of_oned.hosts = "<HOST_POOL></HOST_POOL>";
    cloud_of_oned.networks = "<VNET_POOL></VNET_POOL>";
    cloud_of_oned.is_administrator = false;
    must_fail(*state, ONEIB_ERROR_PERMISSION, "oneadmin");
    assert_calls("config\n");
}

static void a_truncated_window_is_an_error(void **state)
{
    cloud_of_oned.vms[0] = (struct standing_vm){
        .id = 3, .pool_document = VM("3", RUNNING, NIC("7", "0"), RECORD("0", "1"))};
    cloud_of_oned.cut_off = true;
    must_fail(*state, ONEIB_ERROR_PROTOCOL, "VMs from 3 on");
}

static void a_migrating_vm_gets_its_source_host(void **state)
{
    struct fixture *fixture = *state;
    cloud_of_oned.vms[0] = (struct standing_vm){
        .id = 3,
        .pool_document = VM("3", MIGRATING, NIC("7", "0") NIC("7", "1"), RECORD("4", "2")),
        .document = VM("3", MIGRATING, NIC("7", "0"), RECORD("3", "1") RECORD("4", "2"))};
    must_gather(fixture);
    assert_calls("config\nwindow 3 12\nwindow 13 -1\nvm 3\n");
    assert_int_equal(fixture->cloud.vm_count, 1);
    assert_int_equal(fixture->cloud.attachment_count, 1);
    assert_int_equal(fixture->cloud.attachments[0].host_id, 2);
    assert_int_equal(fixture->cloud.attachments[0].source_host_id, 1);
}

static void a_migrating_vm_that_ended_meanwhile_leaves_nothing(void **state)
{
    struct fixture *fixture = *state;
    cloud_of_oned.vms[0] = (struct standing_vm){
        .id = 3, .pool_document = VM("3", MIGRATING, NIC("7", "0"), RECORD("4", "2"))};
    must_gather(fixture);
    assert_calls("config\nwindow 3 12\nwindow 13 -1\nvm 3\n");
    assert_int_equal(fixture->cloud.attachment_count, 0);
}

static void a_network_that_the_pool_did_not_show_is_asked_for_alone(void **state)
{
    struct fixture *fixture = *state;
    cloud_of_oned.network_alone = NETWORK("8");
    cloud_of_oned.vms[0] = (struct standing_vm){
        .id = 3, .pool_document = VM("3", RUNNING, NIC("8", "0"), RECORD("0", "1"))};
    must_gather(fixture);
    assert_calls("config\nwindow 3 12\nwindow 13 -1\nnetwork 8\n");
    assert_int_equal(fixture->cloud.network_count, 2);
    assert_non_null(oneib_cloud_network(&fixture->cloud, 8));
}

static void a_vanished_network_is_asked_for_once(void **state)
{
    struct fixture *fixture = *state;
    cloud_of_oned.vms[0] = (struct standing_vm){
        .id = 3, .pool_document = VM("3", RUNNING, NIC("8", "0") NIC("8", "1"), RECORD("0", "1"))};
    must_gather(fixture);
    assert_calls("config\nwindow 3 12\nwindow 13 -1\nnetwork 8\n");
    assert_int_equal(fixture->cloud.attachment_count, 2);
    assert_null(oneib_cloud_network(&fixture->cloud, 8));
}

static void a_vm_that_a_new_network_names_is_asked_for_too(void **state)
{
    struct fixture *fixture = *state;
    cloud_of_oned.network_alone =
        "<VNET><ID>8</ID><NAME>new</NAME><VN_MAD>ibrec</VN_MAD><UPDATED_VMS><ID>3</ID>"
        "<ID>4</ID></UPDATED_VMS></VNET>";
    cloud_of_oned.vms[0] = (struct standing_vm){
        .id = 3, .pool_document = VM("3", RUNNING, NIC("8", "0"), RECORD("0", "1"))};
    cloud_of_oned.vms[1] = (struct standing_vm){
        .id = 4, .document = VM("4", RUNNING, NIC("8", "0"), RECORD("0", "2"))};
    must_gather(fixture);
    assert_calls("config\nwindow 3 12\nwindow 13 -1\nnetwork 8\nvm 4\n");
    assert_int_equal(fixture->cloud.attachment_count, 2);
    assert_int_equal(fixture->cloud.vm_count, 2);
}

/* A NIC of VM 3 on network 7, whose document in the pool does not know of it. */
static void stand_in_doubt(const char *network_alone, const char *vm_alone)
{
    cloud_of_oned.networks = "<VNET_POOL>" NETWORK_OF("7", "") "</VNET_POOL>";
    cloud_of_oned.network_alone = network_alone;
    cloud_of_oned.vms[0] =
        (struct standing_vm){.id = 3,
                             .pool_document = VM("3", RUNNING, NIC("7", "0"), RECORD("0", "1")),
                             .document = vm_alone};
}

static void a_nic_younger_than_its_networks_document_is_believed(void **state)
{
    struct fixture *fixture = *state;
    stand_in_doubt(NETWORK("7"), NULL);
    must_gather(fixture);
    assert_calls("config\nwindow 0 -1\nnetwork 7\n");
    assert_int_equal(fixture->cloud.attachment_count, 1);
    assert_false(fixture->cloud.attachments[0].unleased);
}

static void a_lease_vouches_for_a_nic_that_no_list_names(void **state)
{
    struct fixture *fixture = *state;
    stand_in_doubt(NETWORK_OF("7", "<AR_POOL><AR><LEASES><LEASE><VNET>9</VNET></LEASE><LEASE>"
                                   "<VM>3</VM></LEASE></LEASES></AR></AR_POOL>"),
                   NULL);
    must_gather(fixture);
    assert_int_equal(fixture->cloud.attachment_count, 1);
    assert_false(fixture->cloud.attachments[0].unleased);
}

static void a_nic_that_went_meanwhile_leaves_nothing(void **state)
{
    struct fixture *fixture = *state;
    stand_in_doubt(NETWORK_OF("7", ""), VM("3", RUNNING, "", RECORD("0", "1")));
    must_gather(fixture);
    assert_calls("config\nwindow 0 -1\nnetwork 7\nvm 3\n");
    assert_int_equal(fixture->cloud.attachment_count, 0);
}

static void a_nic_that_its_network_does_not_know_of_is_marked(void **state)
{
    struct fixture *fixture = *state;
    stand_in_doubt(NETWORK_OF("7", ""), VM("3", RUNNING, NIC("7", "0"), RECORD("0", "1")));
    must_gather(fixture);
    assert_calls("config\nwindow 0 -1\nnetwork 7\nvm 3\n");
    assert_int_equal(fixture->cloud.attachment_count, 1);
    assert_true(fixture->cloud.attachments[0].unleased);
}

static void a_host_that_the_pool_did_not_show_is_asked_for_alone(void **state)
{
    struct fixture *fixture = *state;
    cloud_of_oned.host_alone = HOST("9", "");
    cloud_of_oned.vms[0] = (struct standing_vm){
        .id = 3, .pool_document = VM("3", RUNNING, NIC("7", "0"), RECORD("0", "9"))};
    must_gather(fixture);
    assert_calls("config\nwindow 3 12\nwindow 13 -1\nhost 9\n");
    assert_non_null(oneib_cloud_host(&fixture->cloud, 9));
}

static void the_last_host_of_a_stored_vm_is_not_asked_for(void **state)
{
    cloud_of_oned.vms[0] =
        (struct standing_vm){.id = 3,
                             .pool_document = VM("3", "<STATE>8</STATE><LCM_STATE>0</LCM_STATE>",
                                                 NIC("7", "0"), RECORD("0", "9"))};
    must_gather(*state);
    assert_calls("config\nwindow 3 12\nwindow 13 -1\n");
}

static void the_recorded_cloud_is_gathered(void **state)
{
    struct fixture *fixture = *state;
    char *hosts = recorded("hostpool.info.doc");
    char *networks = recorded("vnpool.info.doc");
    char *pool = recorded("vmpool.infoextended.doc");
    *strstr(pool, "</VM_POOL>") = '\0';
    cloud_of_oned.hosts = hosts;
    cloud_of_oned.networks = networks;
    cloud_of_oned.vms[0] = (struct standing_vm){.id = 5, .pool_document = strstr(pool, "<VM>")};
    must_gather(fixture);
    assert_calls("config\nwindow 5 14\nwindow 15 -1\n");
    assert_int_equal(fixture->cloud.network_count, 2);
    assert_int_equal(fixture->cloud.host_count, 2);
    assert_int_equal(fixture->cloud.attachment_count, 2);
    assert_int_equal(fixture->cloud.attachments[0].host_id, 1);
    assert_int_equal(fixture->findings.count, 0);
    free(hosts);
    free(networks);
    free(pool);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_empty_cloud_is_one_open_window),
        TEST(windows_cover_named_vms_skip_gaps_and_end_open),
        TEST(a_named_vm_that_no_window_shows_is_asked_for_alone),
        TEST(a_named_vm_that_is_gone_is_fine),
        TEST(a_named_vm_that_may_not_be_seen_is_an_error),
        TEST(a_user_who_is_no_administrator_is_an_error_even_when_all_is_hidden),
        TEST(a_truncated_window_is_an_error),
        TEST(a_migrating_vm_gets_its_source_host),
        TEST(a_migrating_vm_that_ended_meanwhile_leaves_nothing),
        TEST(a_network_that_the_pool_did_not_show_is_asked_for_alone),
        TEST(a_vanished_network_is_asked_for_once),
        TEST(a_vm_that_a_new_network_names_is_asked_for_too),
        TEST(a_nic_younger_than_its_networks_document_is_believed),
        TEST(a_lease_vouches_for_a_nic_that_no_list_names),
        TEST(a_nic_that_went_meanwhile_leaves_nothing),
        TEST(a_nic_that_its_network_does_not_know_of_is_marked),
        TEST(a_host_that_the_pool_did_not_show_is_asked_for_alone),
        TEST(the_last_host_of_a_stored_vm_is_not_asked_for),
        TEST(the_recorded_cloud_is_gathered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
