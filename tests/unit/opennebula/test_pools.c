// SPDX-License-Identifier: Apache-2.0
/*
 * Reading the pools of a stand-in for oned, which holds a small cloud as data and writes one line
 * for each call it gets, so that a test can tell what was asked for.
 */
#include "../../valgrind.h"
#include "oned_stand_in.h"
#include "opennebula/pools.h"
#include "recorded.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <xmlrpc-c/base.h>

#define MAX_VMS 16

#define RUNNING "<STATE>3</STATE><LCM_STATE>3</LCM_STATE>"
/* What a user writes to end the attribute, and the document's structure with it. */
#define BROKEN_VM(id) "<VM><ID>" id "</ID>" RUNNING "<TEMPLATE/><USER_TEMPLATE></VM>"

/* A VM of the stand-in. With both documents NULL it is only named: it is gone. */
struct standing_vm {
    int id;
    const char *pool_document; /* in windows; NULL: no window shows it */
    const char *document;      /* of one.vm.info; NULL: the pool's */
    bool gone;                 /* one.vm.info: no such VM, and it has ended then */
    bool unreadable;           /* one.vm.info: no such VM, though it is stored */
    bool hidden;               /* one.vm.info: no permission */
};

/* What the stand-in answers; set before it is started. */
static struct {
    const char *hosts, *networks; /* NULL: the pool is refused */
    /* one.vn.info of a network that the pool does not show, or that is asked for again; NULL: no
     * such network. The pool's document else. */
    const char *network_alone;
    const char *host_alone; /* one.host.info; NULL: no such host */
    struct standing_vm vms[MAX_VMS];
    const char *network_8_alone; /* one.vn.info of network 8; NULL: as for any */
    bool network_2_is_made_up;   /* one.vn.info: no such network */
    const char *user;
    bool cut_off;              /* all windows are truncated */
    int refused;               /* the window that begins with this VM; 0: none */
    const char *refused_again; /* this call, its second time; NULL: none */
    /* VMs from one id to another, this one excluded, that users have broken. */
    int broken_from, broken_to;
} cloud_of_oned;

/* Calls, one a line: shared with the stand-in's process. */
static char *calls;
#define CALLS_SIZE (1u << 20)

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

/* Refuses the call that was noted last, if it is the second of its kind and to be refused. */
static bool refuse_again(int connection)
{
    const char *call = cloud_of_oned.refused_again;
    const char *first = call ? strstr(calls, call) : NULL;
    if (!first || strlen(calls) < strlen(call) ||
        strcmp(calls + strlen(calls) - strlen(call), call) != 0 || !strstr(first + 1, call))
        return false;
    stand_in_refuse(connection, 8192, "out of order");
    return true;
}

/* It has, by the time that it is asked for by itself. */
static bool has_ended(const struct standing_vm *vm)
{
    char call[32];
    snprintf(call, sizeof call, "vm %d\n", vm->id);
    return vm->gone && strstr(calls, call);
}

static void answer_window(int connection, int first, int last)
{
    struct oneib_text pool = {0};
    note_call("window %d %d\n", first, last);
    if (cloud_of_oned.refused > 0 && first == cloud_of_oned.refused) {
        stand_in_refuse(connection, 8192, "out of order");
        return;
    }
    oneib_text_append(&pool, "<VM_POOL>");
    for (int i = 0; i < MAX_VMS; i++) {
        const struct standing_vm *vm = &cloud_of_oned.vms[i];
        if (vm->pool_document && !has_ended(vm) && vm->id >= first &&
            (last == -1 || vm->id <= last))
            oneib_text_append(&pool, vm->pool_document);
    }
    for (int id = cloud_of_oned.broken_from; id < cloud_of_oned.broken_to; id++)
        if (id >= first && (last == -1 || id <= last))
            oneib_text_printf(&pool, BROKEN_VM("%d"), id);
    if (!cloud_of_oned.cut_off)
        oneib_text_append(&pool, "</VM_POOL>");
    stand_in_document(connection, pool.data);
    oneib_text_clear(&pool);
}

static void answer_vm(int connection, int id)
{
    note_call("vm %d\n", id);
    if (refuse_again(connection))
        return;
    if (id >= cloud_of_oned.broken_from && id < cloud_of_oned.broken_to) {
        stand_in_document(connection, "<VM><ID>");
        return;
    }
    for (int i = 0; i < MAX_VMS; i++) {
        const struct standing_vm *vm = &cloud_of_oned.vms[i];
        const char *document = vm->document ? vm->document : vm->pool_document;
        if (vm->id != id || vm->gone || vm->unreadable || (!document && !vm->hidden))
            continue;
        if (vm->hidden)
            stand_in_refuse(connection, 512, "Not authorized to perform USE VM.");
        else
            stand_in_document(connection, document);
        return;
    }
    stand_in_refuse(connection, 1024, "Error getting virtual machine.");
}

static void answer_alone(int connection, const char *kind, int id, const char *document)
{
    note_call("%s %d\n", kind, id);
    if (refuse_again(connection))
        return;
    if (document)
        stand_in_document(connection, document);
    else
        stand_in_refuse(connection, 1024, "Error getting it.");
}

static void answer_user(int connection, int id)
{
    note_call("user\n");
    assert_int_equal(id, -1);
    stand_in_document(connection, cloud_of_oned.user);
}

/* The network's element in the pool; NULL: it is not there. To be freed. */
static char *pooled_network(int id)
{
    char begin[32];
    snprintf(begin, sizeof begin, "<VNET><ID>%d</ID>", id);
    const char *element = strstr(cloud_of_oned.networks, begin);
    const char *end = element ? strstr(element, "</VNET>") : NULL;
    return end ? strndup(element, (size_t)(end - element) + strlen("</VNET>")) : NULL;
}

static void answer_pool(int connection, const char *document)
{
    if (document)
        stand_in_document(connection, document);
    else
        stand_in_refuse(connection, 8192, "out of order");
}

/* The whole pool, or those of its elements that begin with an id of the range. */
static void answer_networks(int connection, int first, int last)
{
    if (first == 0 && last == -1) {
        answer_pool(connection, cloud_of_oned.networks);
        return;
    }
    struct oneib_text pool = {0};
    note_call("networks %d %d\n", first, last);
    oneib_text_append(&pool, "<VNET_POOL>");
    for (int id = 0; id < 16; id++) {
        char *element = id >= first && (last == -1 || id <= last) ? pooled_network(id) : NULL;
        oneib_text_append(&pool, element ? element : "");
        free(element);
    }
    oneib_text_append(&pool, "</VNET_POOL>");
    stand_in_document(connection, pool.data);
    oneib_text_clear(&pool);
}

static void answer_network(int connection, int id)
{
    char line[32];
    snprintf(line, sizeof line, "network %d\n", id);
    if (id == 8 && cloud_of_oned.network_8_alone) {
        answer_alone(connection, "network", id, cloud_of_oned.network_8_alone);
        return;
    }
    const bool is_made_up = id == 2 && cloud_of_oned.network_2_is_made_up;
    char *pooled = is_made_up || strstr(calls, line) ? NULL : pooled_network(id);
    answer_alone(connection, "network", id, pooled ? pooled : cloud_of_oned.network_alone);
    free(pooled);
}

static void answer(int connection, const char *request)
{
    if (strstr(request, ">one.user.info<"))
        answer_user(connection, argument(request, 0));
    else if (strstr(request, ">one.hostpool.info<"))
        answer_pool(connection, cloud_of_oned.hosts);
    else if (strstr(request, ">one.vnpool.info<"))
        answer_networks(connection, argument(request, 1), argument(request, 2));
    else if (strstr(request, ">one.vmpool.infoextended<"))
        answer_window(connection, argument(request, 1), argument(request, 2));
    else if (strstr(request, ">one.vm.info<"))
        answer_vm(connection, argument(request, 0));
    else if (strstr(request, ">one.vn.info<"))
        answer_network(connection, argument(request, 0));
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
    bool acl_user;
    uint32_t window; /* ids a call */
    size_t largest;  /* answer that is read; 0: as it is */
    size_t progress_calls, done, total;
};

/* As oned has it: with a password and a token, which must never be seen. */
#define SECRET "3bc15c8aae3e4124dd409035f32ea2fd"
#define USER(id, groups)                                                                           \
    "<USER><ID>" id "</ID><GID>1</GID><GROUPS>" groups                                             \
    "</GROUPS><NAME>oneib</NAME><PASSWORD>" SECRET "</PASSWORD><TEMPLATE><TOKEN>" SECRET           \
    "</TOKEN></TEMPLATE></USER>"
#define NETWORK_OF(id, vms)                                                                        \
    "<VNET><ID>" id "</ID><NAME>ib</NAME><VN_MAD>ibrec</VN_MAD>" vms "</VNET>"
/* VM 3 is the one that most tests have. */
#define LEASE(vm, nic) "<LEASE><MAC>02:00:00:00:00:0" nic "</MAC><VM>" vm "</VM></LEASE>"
#define LEASES(leases) "<AR_POOL><AR><LEASES>" leases "</LEASES></AR></AR_POOL>"
#define NETWORK(id) NETWORK_OF(id, LEASES(LEASE("3", "0") LEASE("3", "1")))
#define HOST(id, vms) "<HOST><ID>" id "</ID><NAME>node</NAME><VMS>" vms "</VMS></HOST>"
#define MIGRATING "<STATE>3</STATE><LCM_STATE>4</LCM_STATE>"
#define NIC(network, id)                                                                           \
    "<NIC><NETWORK_ID>" network "</NETWORK_ID><NIC_ID>" id "</NIC_ID><MAC>02:00:00:00:00:0" id     \
    "</MAC><VN_MAD>ibrec</VN_MAD></NIC>"
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
    fixture->window = 10;
    memset(&cloud_of_oned, 0, sizeof cloud_of_oned);
    cloud_of_oned.user = USER("0", "<ID>0</ID>");
    cloud_of_oned.hosts = "<HOST_POOL>" HOST("1", "") HOST("2", "") "</HOST_POOL>";
    cloud_of_oned.networks = "<VNET_POOL>" NETWORK("7") "</VNET_POOL>";
    *state = fixture;
    return 0;
}

/* For another reading in the same test. */
static void disconnect(struct fixture *fixture)
{
    oneib_cloud_clear(&fixture->cloud);
    oneib_findings_clear(&fixture->findings);
    oneib_one_close(fixture->one);
    stand_in_stop(&fixture->server);
    fixture->one = NULL;
    calls[0] = '\0';
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    disconnect(fixture);
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

/* Starts the stand-in with cloud_of_oned as it is and reads its pools, by windows of ten in most
 * tests. */
static int read_pools(struct fixture *fixture)
{
    char session[] = "oneadmin:open-sesame";
    const struct oneib_pools_options options = {
        .vn_mad = "ibrec",
        .window = fixture->window,
        .acl_user = fixture->acl_user,
        .progress = count_progress,
        .progress_context = fixture,
    };
    assert_int_equal(stand_in_start(&fixture->server, answer), 0);
    struct oneib_credentials credentials = {.endpoint = fixture->server.endpoint,
                                            .session = session};
    fixture->one = oneib_one_open(&credentials, 20000, &fixture->err);
    assert_non_null(fixture->one);
    if (fixture->largest > 0)
        xmlrpc_limit_set(XMLRPC_XML_SIZE_LIMIT_ID, fixture->largest);
    return oneib_pools_read(fixture->one, &options, &fixture->cloud, &fixture->findings,
                            &fixture->err);
}

static void must_read_pools(struct fixture *fixture)
{
    if (read_pools(fixture) < 0)
        fail_msg("%s", fixture->err.text);
}

static void must_fail(struct fixture *fixture, enum oneib_error_code code, const char *words)
{
    assert_int_equal(read_pools(fixture), -1);
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
    struct fixture *fixture = *state;
    must_read_pools(fixture);
    assert_calls("user\nwindow 0 -1\n");
    assert_int_equal(fixture->progress_calls, 0); /* "0/0 VMs" tells nothing */
}

static void windows_cover_named_vms_skip_gaps_and_end_open(void **state)
{
    struct fixture *fixture = *state;
    cloud_of_oned.hosts = "<HOST_POOL>" HOST("1", "<ID>3</ID><ID>12</ID><ID>13</ID>")
        HOST("2", "<ID>5000</ID>") "</HOST_POOL>";
    cloud_of_oned.networks = "<VNET_POOL>" NETWORK_OF(
        "7", "<OUTDATED_VMS><ID>3</ID><ID>12</ID><ID>13</ID><ID>5000</ID>"
             "</OUTDATED_VMS><UPDATED_VMS><ID>900</ID><ID>909</ID>"
             "</UPDATED_VMS>" LEASES(LEASE("3", "0") LEASE("12", "0") LEASE("13", "0") LEASE(
                 "900", "0") LEASE("909", "0") LEASE("5000", "0"))) "</VNET_POOL>";
    static const int ids[] = {3, 12, 13, 900, 909, 5000};
    static char documents[6][320];
    for (int i = 0; i < 6; i++) {
        snprintf(documents[i], sizeof documents[i],
                 "<VM><ID>%d</ID>" RUNNING "<TEMPLATE>" NIC(
                     "7", "0") "</TEMPLATE>"
                               "<HISTORY_RECORDS>" RECORD("0", "1") "</HISTORY_RECORDS></VM>",
                 ids[i]);
        cloud_of_oned.vms[i] = (struct standing_vm){.id = ids[i], .pool_document = documents[i]};
    }
    must_read_pools(fixture);
    assert_calls("user\nnetwork 7\nwindow 3 12\nwindow 13 22\nwindow 900 909\nwindow 5000 5009\n"
                 "window 5010 -1\nvm 5000\n");
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
    must_read_pools(fixture);
    assert_calls("user\nnetwork 7\nwindow 3 12\nwindow 0 -1\nvm 3\n");
    assert_int_equal(fixture->cloud.attachment_count, 1);
    assert_int_equal(fixture->cloud.attachments[0].vm_id, 3);
}

static void a_named_vm_that_is_gone_is_fine(void **state)
{
    struct fixture *fixture = *state;
    cloud_of_oned.hosts = "<HOST_POOL>" HOST("1", "<ID>3</ID>") "</HOST_POOL>";
    must_read_pools(fixture);
    assert_calls("user\nnetwork 7\nwindow 3 12\nwindow 0 -1\nvm 3\nwindow 3 3\n");
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
    struct fixture *fixture = *state;
    cloud_of_oned.hosts = "<HOST_POOL></HOST_POOL>";
    cloud_of_oned.networks = "<VNET_POOL></VNET_POOL>";
    cloud_of_oned.user = USER("10", "<ID>1</ID><ID>100</ID>");
    must_fail(fixture, ONEIB_ERROR_PERMISSION, "one.acl_user = true");
    assert_non_null(strstr(fixture->err.text, "group oneadmin"));
    assert_calls("user\n");
}

static void a_member_of_oneadmin_by_a_further_group_is_an_administrator(void **state)
{
    cloud_of_oned.user = USER("5", "<ID>1</ID><ID>0</ID>");
    must_read_pools(*state);
}

static void a_user_with_rights_by_acl_is_not_asked_who_it_is(void **state)
{
    struct fixture *fixture = *state;
    fixture->acl_user = true;
    cloud_of_oned.networks = "<VNET_POOL></VNET_POOL>";
    must_read_pools(fixture);
    assert_calls("window 0 -1\n");
}

static void what_is_wrong_with_our_user_never_shows_its_password(void **state)
{
    static const char *const documents[] = {
        "<USER><PASSWORD>" SECRET "</PASSWORD></USER>",
        "<USER><ID>" SECRET "</ID><GROUPS><ID>0</ID></GROUPS></USER>",
        "<USER><ID>5</ID><GROUPS><ID>1</ID></GROUPS><PASSWORD>" SECRET "</USER>",
        "<USER><ID>5</ID><GROUPS></GROUPS><PASSWORD>" SECRET
        "</PASSWORD><GROUPS><ID>0</ID></GROUPS>"
        "</USER>",
        "<S" SECRET "/>",
        SECRET,
    };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        cloud_of_oned.user = documents[i];
        must_fail(fixture, ONEIB_ERROR_PROTOCOL, "may see all VMs");
        if (strstr(fixture->err.text, SECRET))
            fail_msg("%s", fixture->err.text);
        disconnect(fixture);
    }
}

/* Who read half a cloud would take the other half's keys away. */
static void a_window_that_oned_does_not_give_is_an_error(void **state)
{
    static const int windows[] = {3, 25, 35}; /* the last one is open */
    struct fixture *fixture = *state;
    cloud_of_oned.networks =
        "<VNET_POOL>" NETWORK_OF("7", LEASES(LEASE("3", "0") LEASE("25", "0"))) "</VNET_POOL>";
    cloud_of_oned.vms[0] =
        (struct standing_vm){.id = 3, .pool_document = "<VM><ID>3</ID>" RUNNING "</VM>"};
    cloud_of_oned.vms[1] =
        (struct standing_vm){.id = 25, .pool_document = "<VM><ID>25</ID>" RUNNING "</VM>"};
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        cloud_of_oned.refused = windows[i];
        must_fail(fixture, ONEIB_ERROR_PROTOCOL, "out of order");
        disconnect(fixture);
    }
    cloud_of_oned.refused = 0;
    must_read_pools(fixture);
    assert_int_equal(fixture->cloud.vm_count, 2);
}

/* ---- malformed documents --------------------------------------------------------------------- */

static const struct oneib_finding *only_finding(const struct fixture *fixture, const char *code)
{
    assert_int_equal(fixture->findings.count, 1);
    assert_string_equal(fixture->findings.items[0].code, code);
    assert_int_equal(fixture->findings.items[0].severity, ONEIB_VIOLATION);
    return &fixture->findings.items[0];
}

/* VMs 3 to 6 run in network 7; the document of VM 5 is `document`. */
static void stand_four(const char *document)
{
    static char documents[4][512];
    cloud_of_oned.hosts =
        "<HOST_POOL>" HOST("1", "<ID>3</ID><ID>4</ID><ID>5</ID><ID>6</ID>") "</HOST_POOL>";
    cloud_of_oned.networks =
        "<VNET_POOL>" NETWORK_OF("7", LEASES(LEASE("3", "0") LEASE("4", "0") LEASE("5", "0")
                                                 LEASE("6", "0"))) "</VNET_POOL>";
    for (int i = 0; i < 4; i++) {
        snprintf(documents[i], sizeof documents[i],
                 "<VM><ID>%d</ID>" RUNNING "<TEMPLATE>" NIC(
                     "7", "0") "</TEMPLATE><HISTORY_RECORDS>" RECORD("0", "1") "</HISTORY_RECORDS>"
                                                                               "</VM>",
                 3 + i);
        cloud_of_oned.vms[i] =
            (struct standing_vm){.id = 3 + i, .pool_document = i == 2 ? document : documents[i]};
    }
}

static void must_leave_vm_5_out(struct fixture *fixture)
{
    must_read_pools(fixture);
    assert_int_equal(fixture->cloud.attachment_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_not_equal(fixture->cloud.attachments[i].vm_id, 5);
    assert_int_equal(fixture->cloud.vm_count, 4);
    assert_int_equal(fixture->cloud.vm_end, 7);
    const struct oneib_finding *finding = only_finding(fixture, "vm-malformed");
    assert_non_null(strstr(finding->text, "VM 5:"));
    assert_int_equal(finding->subject, ONEIB_SUBJECT_VM);
    assert_int_equal(finding->subject_id, 5);
}

static void a_malformed_vm_is_found_by_halves_and_left_out_alone(void **state)
{
    stand_four(BROKEN_VM("5"));
    must_leave_vm_5_out(*state);
    assert_calls("user\nnetwork 7\nwindow 3 12\nwindow 3 7\nwindow 3 5\nwindow 3 4\nwindow 5 5\n"
                 "window 6 7\nwindow 8 12\nwindow 13 -1\nvm 5\nvm 6\n");
}

/* All of these are well-formed in a pool, where two VMs or more can hold them together. */
static void a_vm_that_breaks_out_of_its_element_is_left_out_alone(void **state)
{
#define OWN                                                                                        \
    "<VM><ID>5</ID>" RUNNING "<TEMPLATE>" NIC("7", "0") "</TEMPLATE><HISTORY_RECORDS>" RECORD(     \
        "0", "1") "</HISTORY_RECORDS></VM>"
    static const char *const documents[] = {
        OWN "<VM><ID>4</ID></VM>",               /* a neighbour, twice */
        OWN "<VM><ID>5</ID></VM>",               /* itself */
        OWN "<VM><ID>70</ID></VM>",              /* not asked for */
        OWN "<VM></VM>",                         /* nobody */
        OWN "<!-- ",                             /* hides what follows */
        OWN "<?x ",                              /* likewise */
        "<VM><ID>5</ID><TEMPLATE/>" OWN "</VM>", /* in itself */
        "<VM><ID>5</ID>" RUNNING "<TEMPLATE/><TEMPLATE>" NIC("7", "0") "</TEMPLATE></VM>",
        "<VM><ID>5</ID>" RUNNING "<TEMPLATE>" NIC("7", "0") "</TEMPLATE><HISTORY_RECORDS>" RECORD(
            "0", "2") "</HISTORY_RECORDS><HISTORY_RECORDS>" RECORD("0",
                                                                   "1") "</HISTORY_RECORDS></VM>",
    };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        stand_four(documents[i]);
        must_leave_vm_5_out(fixture);
        disconnect(fixture);
    }
}

static void markup_beside_a_huge_attribute_leaves_its_vm_out_alone(void **state)
{
    oneib_autotext struct oneib_text document = {0};
    oneib_text_append(&document, "<VM><ID>5</ID>" RUNNING "<TEMPLATE/><A><![CDATA[");
    for (size_t i = 0; i < 1u << 16; i++)
        oneib_text_append(&document, "attack");
    oneib_text_append(&document, "]]></A><!-- x --></VM>");
    stand_four(document.data);
    must_leave_vm_5_out(*state);
}

static void a_vm_that_is_too_large_to_be_read_is_left_out_alone(void **state)
{
    struct fixture *fixture = *state;
    oneib_autotext struct oneib_text document = {0};
    oneib_text_append(&document, "<VM><ID>5</ID>" RUNNING "<TEMPLATE/><A>");
    for (size_t i = 0; i < 1u << 14; i++)
        oneib_text_append(&document, "attack");
    oneib_text_append(&document, "</A></VM>");
    fixture->largest = 1u << 15;
    stand_four(document.data);
    must_leave_vm_5_out(fixture);
}

/* How many answers with VMs were asked for before oned was asked for nobody's; all, when it never
 * was. */
static size_t windows_before_nobodys(bool *nobodys)
{
    const char *end = strstr(calls, "window 2147483647 2147483647\n");
    size_t count = 0;
    *nobodys = end != NULL;
    for (const char *at = calls; (at = strstr(at, "window ")) && (!end || at < end); at++)
        count++;
    return count;
}

static size_t body_of_four(const char *document)
{
    struct oneib_text pool = {0};
    oneib_text_append(&pool, "<VM_POOL>");
    for (int i = 0; i < 4; i++)
        oneib_text_append(&pool, i == 2 ? document : cloud_of_oned.vms[i].pool_document);
    oneib_text_append(&pool, "</VM_POOL>");
    const size_t length = stand_in_document_length(pool.data);
    oneib_text_clear(&pool);
    return length;
}

static void an_answer_is_halved_from_one_byte_above_the_limit_on(void **state)
{
    struct fixture *fixture = *state;
    oneib_autotext struct oneib_text document = {0};
    oneib_text_append(&document, "<VM><ID>5</ID>" RUNNING "<TEMPLATE>" NIC("7", "0") "<A>");
    for (size_t i = 0; i < 1u << 10; i++)
        oneib_text_append(&document, "much");
    oneib_text_append(
        &document, "</A></TEMPLATE><HISTORY_RECORDS>" RECORD("0", "1") "</HISTORY_RECORDS></VM>");
    for (size_t above = 0; above < 2; above++) {
        stand_four(document.data);
        fixture->largest = body_of_four(document.data) - above;
        must_read_pools(fixture);
        assert_int_equal(fixture->cloud.attachment_count, 4);
        assert_int_equal(fixture->findings.count, 0);
        assert_int_equal(strstr(calls, "window 3 7\n") != NULL, above);
        disconnect(fixture);
    }
}

static void no_more_than_512_mib_of_an_answer_are_read(void **state)
{
    struct fixture *fixture = *state;
    must_read_pools(fixture);
    assert_int_equal(xmlrpc_limit_get(XMLRPC_XML_SIZE_LIMIT_ID), 512u << 20);
}

/* What a user wrote is stored as it is, and oned escapes it when it reads that and writes it anew;
 * or it was stored escaped, and comes out so. */
static void must_have_vm_5(struct fixture *fixture)
{
    must_read_pools(fixture);
    assert_int_equal(fixture->cloud.attachment_count, 4);
    assert_int_equal(fixture->cloud.attachments[2].vm_id, 5);
    assert_int_equal(fixture->cloud.attachments[2].host_id, 1);
    assert_int_equal(fixture->findings.count, 0);
    assert_int_equal(fixture->cloud.vm_count, 4);
    disconnect(fixture);
}

static void a_vm_that_is_odd_in_one_of_its_documents_is_as_the_other_says(void **state)
{
#define FORGED(elements)                                                                           \
    "<VM><ID>5</ID>" RUNNING                                                                       \
    "<TEMPLATE>" NIC("7", "0") "</TEMPLATE>" elements                                              \
                               "<HISTORY_RECORDS>" RECORD("0", "1") "</HISTORY_RECORDS></VM>"
    static const char *const odd[] = {
        FORGED("<HISTORY_RECORDS>" RECORD("9", "2") "</HISTORY_RECORDS>"),
        FORGED("<TEMPLATE>" NIC("7", "1") "</TEMPLATE>"),
        FORGED("<STATE>6</STATE>"),
        FORGED("<LCM_STATE>0</LCM_STATE>"),
        FORGED("<ID>4</ID>"),
        FORGED("<!-- "),
        "<VM><ID>5</ID>" RUNNING "<TEMPLATE><A></VM>",
    };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        stand_four(odd[i]);
        cloud_of_oned.vms[2].document = FORGED("");
        must_have_vm_5(fixture);

        stand_four(FORGED(""));
        cloud_of_oned.vms[2].document = odd[i];
        cloud_of_oned.networks =
            "<VNET_POOL>" NETWORK_OF("7", LEASES(LEASE("3", "0") LEASE("4", "0") LEASE("5", "0")
                                                     LEASE("6", "0"))) "</VNET_POOL>";
        cloud_of_oned.vms[3].pool_document = NULL; /* so that VM 5, the highest, is asked */
        must_read_pools(fixture);
        assert_int_equal(fixture->cloud.attachment_count, 3);
        assert_int_equal(fixture->cloud.attachments[2].vm_id, 5);
        assert_int_equal(fixture->cloud.attachments[2].host_id, 1);
        assert_int_equal(fixture->findings.count, 0);
        assert_non_null(strstr(calls, "vm 5\nwindow 5 5\n"));
        disconnect(fixture);
    }
}

/* oned takes what a user has written into a VM and cannot read it afterwards. */
static void a_vm_that_oned_stores_and_cannot_read_is_as_it_is_stored(void **state)
{
    struct fixture *fixture = *state;
    stand_four(FORGED(""));
    cloud_of_oned.vms[2].unreadable = true;
    cloud_of_oned.vms[3].unreadable = true;
    must_read_pools(fixture);
    assert_int_equal(fixture->cloud.attachment_count, 4);
    assert_int_equal(fixture->cloud.vm_end, 7);
    assert_int_equal(fixture->findings.count, 0);
}

static void a_vm_that_is_odd_in_both_of_its_documents_is_left_out(void **state)
{
    struct fixture *fixture = *state;
    stand_four(FORGED("<TEMPLATE/>"));
    cloud_of_oned.vms[2].document = FORGED("<HISTORY_RECORDS/>");
    must_leave_vm_5_out(fixture);
    assert_calls("user\nnetwork 7\nwindow 3 12\nwindow 13 -1\nvm 5\nvm 6\n");
}

static void more_malformed_vms_than_anybody_counts_are_no_reason_to_stop(void **state)
{
    struct fixture *fixture = *state;
    bool asked;
    stand_four(VM("5", RUNNING, NIC("7", "0"), RECORD("0", "1")));
    cloud_of_oned.broken_from = 100;
    cloud_of_oned.broken_to = on_valgrind() ? 200 : 2200;
    must_read_pools(fixture);
    assert_int_equal(fixture->cloud.attachment_count, 4);
    assert_int_equal(fixture->findings.count, cloud_of_oned.broken_to - 100);
    assert_int_equal(fixture->cloud.vm_end, cloud_of_oned.broken_to);
    windows_before_nobodys(&asked);
    assert_int_equal(asked, !on_valgrind());
}

static void vms_inside_of_an_element_of_anothers_are_found(void **state)
{
    struct fixture *fixture = *state;
    /* Pools come in any order: VM 5 is in front of VM 6 here. */
    stand_four("<VM><ID>5</ID></VM><A>");
    cloud_of_oned.vms[3].pool_document = "<VM><ID>6</ID>" RUNNING "</VM></A>";
    cloud_of_oned.vms[3].document = VM("6", RUNNING, NIC("7", "0"), RECORD("0", "1"));
    must_read_pools(fixture);
    assert_int_equal(fixture->cloud.attachment_count, 3);
    assert_int_equal(fixture->cloud.attachments[2].vm_id, 6);
    only_finding(fixture, "vm-malformed");
}

static void a_malformed_vm_that_nobody_names_is_found_in_the_open_window(void **state)
{
    struct fixture *fixture = *state;
    cloud_of_oned.networks = "<VNET_POOL></VNET_POOL>";
    cloud_of_oned.vms[0] = (struct standing_vm){.id = 25, .pool_document = BROKEN_VM("25")};
    cloud_of_oned.vms[1] =
        (struct standing_vm){.id = 40, .pool_document = "<VM><ID>40</ID>" RUNNING "</VM>"};
    must_read_pools(fixture);
    assert_non_null(strstr(calls, "window 0 -1\nwindow 0 9\nwindow 10 -1\nwindow 10 29\n"));
    assert_non_null(strstr(calls, "window 25 25\n"));
    assert_non_null(strstr(calls, "window 30 -1\nvm 40\nvm 25\n"));
    assert_int_equal(fixture->cloud.vm_count, 2);
    assert_int_equal(fixture->cloud.vm_end, 41);
    only_finding(fixture, "vm-malformed");
}

static void a_made_up_vm_with_a_huge_id_hides_no_new_ones(void **state)
{
    struct fixture *fixture = *state;
    cloud_of_oned.networks = "<VNET_POOL></VNET_POOL>";
    cloud_of_oned.vms[0] = (struct standing_vm){
        .id = 25,
        .pool_document = "<VM><ID>25</ID>" RUNNING "</VM><VM><ID>2147483647</ID></VM>",
        .document = "<VM><ID>25</ID>" RUNNING "</VM>"};
    must_read_pools(fixture);
    assert_non_null(strstr(calls, "window 0 -1\nvm 2147483647\nwindow 0 9\nwindow 10 -1\n"));
    assert_non_null(strstr(calls, "window 25 25\n"));
    assert_int_equal(fixture->cloud.vm_count, 1);
    assert_int_equal(fixture->cloud.vm_end, 26);
}

static void many_made_up_vms_do_not_move_the_end_either(void **state)
{
    struct fixture *fixture = *state;
    struct oneib_text document = {0};
    oneib_text_append(&document, "<VM><ID>25</ID>" RUNNING "</VM>");
    for (int i = 0; i < 100; i++)
        oneib_text_printf(&document, "<VM><ID>%d</ID></VM>", 26 + i);
    cloud_of_oned.networks = "<VNET_POOL></VNET_POOL>";
    cloud_of_oned.vms[0] = (struct standing_vm){
        .id = 25, .pool_document = document.data, .document = "<VM><ID>25</ID>" RUNNING "</VM>"};
    must_read_pools(fixture);
    oneib_text_clear(&document);
    assert_int_equal(fixture->cloud.vm_end, 26);
    assert_int_equal(fixture->cloud.vm_count, 1);
}

static void ids_that_a_network_makes_up_do_not_move_the_open_window(void **state)
{
    cloud_of_oned.networks = "<VNET_POOL>" NETWORK_OF(
        "7", "<UPDATED_VMS><ID>3</ID><ID>2147483647</ID></UPDATED_VMS>") "</VNET_POOL>";
    cloud_of_oned.vms[0] =
        (struct standing_vm){.id = 3, .pool_document = "<VM><ID>3</ID>" RUNNING "</VM>"};
    must_read_pools(*state);
    assert_calls("user\nnetwork 7\nwindow 3 12\nwindow 2147483647 2147483647\nwindow 13 -1\n"
                 "vm 2147483647\nwindow 2147483647 2147483647\nvm 3\n");
}

static void a_pool_that_is_malformed_throughout_is_an_error_after_4096_answers(void **state)
{
    bool asked;
    cloud_of_oned.cut_off = true;
    must_fail(*state, ONEIB_ERROR_PROTOCOL, "reading VMs from ");
    assert_int_equal(windows_before_nobodys(&asked), 4096);
    assert_true(asked);
}

/* A network's owner may be a tenant, by reserving it. */
#define BROKEN_NETWORK(id)                                                                         \
    "<VNET><ID>" id "</ID><NAME>ib</NAME><PARENT_NETWORK_ID>7</PARENT_NETWORK_ID><VN_MAD>ibrec"    \
    "</VN_MAD><VLAN_ID>300</VLAN_ID><UPDATED_VMS><ID>3</ID></UPDATED_VMS><TEMPLATE><A></VNET>"

static void must_keep_network_8_unreadable(struct fixture *fixture)
{
    must_read_pools(fixture);
    const struct oneib_network *network = oneib_cloud_network(&fixture->cloud, 8);
    assert_non_null(network);
    assert_true(network->unreadable);
    assert_int_equal(network->key_state, ONEIB_KEY_VALID);
    assert_int_equal(network->pkey, 300);
    assert_int_equal(network->static_count, 0);
    const struct oneib_finding *finding = only_finding(fixture, "network-malformed");
    assert_int_equal(finding->subject, ONEIB_SUBJECT_NETWORK);
    assert_int_equal(finding->subject_id, 8);
    assert_false(oneib_cloud_network(&fixture->cloud, 7)->unreadable);
    assert_false(oneib_cloud_network(&fixture->cloud, 9)->unreadable);
}

static void a_malformed_network_keeps_its_key_and_everybody_else_is_read(void **state)
{
    struct fixture *fixture = *state;
    cloud_of_oned.networks =
        "<VNET_POOL>" NETWORK("7") BROKEN_NETWORK("8") NETWORK("9") "</VNET_POOL>";
    must_keep_network_8_unreadable(fixture);
    assert_int_equal(oneib_cloud_network(&fixture->cloud, 8)->parent_id, 7);
    assert_non_null(strstr(calls, "networks 0 9\n"));
}

static void a_network_that_breaks_out_of_its_element_is_unreadable(void **state)
{
    static const char *const templates[] = {
        "<TEMPLATE></TEMPLATE><TEMPLATE><IB_RATE>40</IB_RATE></TEMPLATE></VNET>",
        "<TEMPLATE></TEMPLATE><AR_POOL/><AR_POOL/></VNET>",
        "<TEMPLATE></TEMPLATE></VNET><VNET><ID>9</ID><VLAN_ID>1</VLAN_ID></VNET>",
        "<TEMPLATE><VNET><ID>9</ID></VNET></TEMPLATE></VNET>",
        "<TEMPLATE></TEMPLATE><!-- --></VNET>",
    };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++) {
        char pool[2048];
        snprintf(pool, sizeof pool,
                 "<VNET_POOL>" NETWORK("7") NETWORK("8") NETWORK("9") "</VNET_POOL>");
        char alone[1024];
        snprintf(alone, sizeof alone,
                 "<VNET><ID>8</ID><NAME>ib</NAME><VN_MAD>ibrec</VN_MAD><VLAN_ID>300</VLAN_ID>%s",
                 templates[i]);
        cloud_of_oned.networks = pool;
        cloud_of_oned.network_8_alone = alone;
        must_keep_network_8_unreadable(fixture);
        disconnect(fixture);
    }
}

/* With two owners it would be nobody's, and beside its owner's limits; with two parents none's, and
 * its own PHYDEV and rules counted. */
static void a_network_that_says_twice_whose_it_is_is_unreadable(void **state)
{
    static const char *const forged[] = {
        "<UID>0</UID>",
        "<UID>12</UID>",
        "<GID>0</GID>",
        "<PARENT_NETWORK_ID>9</PARENT_NETWORK_ID>",
        "<PARENT_NETWORK_ID></PARENT_NETWORK_ID>",
    };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
        char pool[2048], alone[1024];
        snprintf(pool, sizeof pool,
                 "<VNET_POOL>" NETWORK("7") NETWORK("8") NETWORK("9") "</VNET_POOL>");
        snprintf(alone, sizeof alone,
                 "<VNET><ID>8</ID><UID>12</UID><GID>1</GID><NAME>ib</NAME><BRIDGE></BRIDGE>%s"
                 "<BRIDGE></BRIDGE><PARENT_NETWORK_ID>7</PARENT_NETWORK_ID><VN_MAD>ibrec</VN_MAD>"
                 "<VLAN_ID>300</VLAN_ID><TEMPLATE></TEMPLATE></VNET>",
                 forged[i]);
        cloud_of_oned.networks = pool;
        cloud_of_oned.network_8_alone = alone;
        must_keep_network_8_unreadable(fixture);
        disconnect(fixture);
    }
}

static void a_network_that_only_a_pool_shows_is_nobodys(void **state)
{
    struct fixture *fixture = *state;
    /* Network 2 was deleted long ago; the owner of 7 makes it up, with a neighbour's key. */
    cloud_of_oned.networks = "<VNET_POOL>" NETWORK(
        "7") "<VNET><ID>2</ID><VN_MAD>ibrec</VN_MAD><VLAN_ID>300</VLAN_ID></VNET></VNET_POOL>";
    cloud_of_oned.network_2_is_made_up = true;
    must_read_pools(fixture);
    assert_null(oneib_cloud_network(&fixture->cloud, 2));
    assert_non_null(oneib_cloud_network(&fixture->cloud, 7));
}

static void a_malformed_network_of_another_driver_is_no_matter(void **state)
{
    struct fixture *fixture = *state;
    cloud_of_oned.networks = "<VNET_POOL>" NETWORK(
        "7") "<VNET><ID>8</ID><VN_MAD>802.1Q</VN_MAD><TEMPLATE><A></VNET></VNET_POOL>";
    must_read_pools(fixture);
    assert_int_equal(fixture->cloud.network_count, 1);
    assert_int_equal(fixture->findings.count, 0);
}

static void a_malformed_host_is_an_error(void **state)
{
    cloud_of_oned.hosts = "<HOST_POOL><HOST><ID>1</ID><A></HOST></HOST_POOL>";
    must_fail(*state, ONEIB_ERROR_PROTOCOL, "reading all hosts");
}

static void a_migrating_vm_gets_its_source_host(void **state)
{
    struct fixture *fixture = *state;
    cloud_of_oned.vms[0] = (struct standing_vm){
        .id = 3,
        .pool_document = VM("3", MIGRATING, NIC("7", "0") NIC("7", "1"), RECORD("4", "2")),
        .document = VM("3", MIGRATING, NIC("7", "0"), RECORD("3", "1") RECORD("4", "2"))};
    must_read_pools(fixture);
    assert_calls("user\nnetwork 7\nwindow 3 12\nwindow 13 -1\nvm 3\n");
    assert_int_equal(fixture->cloud.vm_count, 1);
    assert_int_equal(fixture->cloud.attachment_count, 1);
    assert_int_equal(fixture->cloud.attachments[0].host_id, 2);
    assert_int_equal(fixture->cloud.attachments[0].source_host_id, 1);
}

static void a_migrating_vm_that_ended_meanwhile_leaves_nothing(void **state)
{
    struct fixture *fixture = *state;
    cloud_of_oned.vms[0] =
        (struct standing_vm){.id = 3,
                             .pool_document = VM("3", MIGRATING, NIC("7", "0"), RECORD("4", "2")),
                             .gone = true};
    must_read_pools(fixture);
    assert_calls("user\nnetwork 7\nwindow 3 12\nwindow 13 -1\nvm 3\nwindow 3 3\n");
    assert_int_equal(fixture->cloud.attachment_count, 0);
}

static void a_network_that_the_pool_did_not_show_is_asked_for_alone(void **state)
{
    struct fixture *fixture = *state;
    cloud_of_oned.network_alone = NETWORK("8");
    cloud_of_oned.vms[0] = (struct standing_vm){
        .id = 3, .pool_document = VM("3", RUNNING, NIC("8", "0"), RECORD("0", "1"))};
    must_read_pools(fixture);
    assert_calls("user\nnetwork 7\nwindow 3 12\nwindow 13 -1\nnetwork 8\nvm 3\n");
    assert_int_equal(fixture->cloud.network_count, 2);
    assert_non_null(oneib_cloud_network(&fixture->cloud, 8));
}

static void a_vanished_network_is_asked_for_once(void **state)
{
    struct fixture *fixture = *state;
    cloud_of_oned.vms[0] = (struct standing_vm){
        .id = 3, .pool_document = VM("3", RUNNING, NIC("8", "0") NIC("8", "1"), RECORD("0", "1"))};
    must_read_pools(fixture);
    assert_calls("user\nnetwork 7\nwindow 3 12\nwindow 13 -1\nnetwork 8\nvm 3\n");
    assert_int_equal(fixture->cloud.attachment_count, 2);
    assert_null(oneib_cloud_network(&fixture->cloud, 8));
}

/* VM 3 was attached to network 8 when that was InfiniBand. */
static void a_network_that_another_driver_serves_now_is_known_by_its_nics(void **state)
{
    struct fixture *fixture = *state;
    cloud_of_oned.network_alone = "<VNET><ID>8</ID><NAME>new</NAME><VN_MAD>bridge</VN_MAD>" LEASES(
        LEASE("3", "0") LEASE("4", "0")) "</VNET>";
    cloud_of_oned.vms[0] = (struct standing_vm){
        .id = 3, .pool_document = VM("3", RUNNING, NIC("8", "0"), RECORD("0", "1"))};
    must_read_pools(fixture);
    assert_calls("user\nnetwork 7\nwindow 3 12\nwindow 13 -1\nnetwork 8\nvm 3\n");
    assert_string_equal(oneib_cloud_network(&fixture->cloud, 8)->other_driver, "bridge");
    assert_false(fixture->cloud.attachments[0].unleased);
}

static void a_nic_that_the_other_drivers_network_does_not_know_of_is_marked(void **state)
{
    struct fixture *fixture = *state;
    cloud_of_oned.network_alone = "<VNET><ID>8</ID><NAME>new</NAME><VN_MAD>bridge</VN_MAD></VNET>";
    cloud_of_oned.vms[0] = (struct standing_vm){
        .id = 3, .pool_document = VM("3", RUNNING, NIC("8", "0"), RECORD("0", "1"))};
    must_read_pools(fixture);
    assert_true(fixture->cloud.attachments[0].unleased);
}

/* Whose it is stays in doubt, and asking by itself would say the same. */
static void a_parent_that_was_just_read_is_not_asked_for_again(void **state)
{
    struct fixture *fixture = *state;
    cloud_of_oned.networks = "<VNET_POOL>" NETWORK_OF("7", "")
        NETWORK_OF("8", "<PARENT_NETWORK_ID>7</PARENT_NETWORK_ID>") "</VNET_POOL>";
    must_read_pools(fixture);
    assert_calls("user\nnetwork 7\nnetwork 8\nwindow 0 -1\n");
    assert_true(oneib_cloud_network(&fixture->cloud, 8)->parent_unproven);
}

static void a_vm_that_a_new_network_names_is_asked_for_too(void **state)
{
    struct fixture *fixture = *state;
    cloud_of_oned.network_alone = "<VNET><ID>8</ID><NAME>new</NAME><VN_MAD>ibrec</VN_MAD>" LEASES(
        LEASE("3", "0") LEASE("4", "0")) "</VNET>";
    cloud_of_oned.vms[0] = (struct standing_vm){
        .id = 3, .pool_document = VM("3", RUNNING, NIC("8", "0"), RECORD("0", "1"))};
    cloud_of_oned.vms[1] = (struct standing_vm){
        .id = 4, .document = VM("4", RUNNING, NIC("8", "0"), RECORD("0", "2"))};
    must_read_pools(fixture);
    assert_calls("user\nnetwork 7\nwindow 3 12\nwindow 13 -1\nnetwork 8\nvm 4\n");
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
    must_read_pools(fixture);
    assert_calls("user\nnetwork 7\nwindow 0 -1\nvm 3\nnetwork 7\n");
    assert_int_equal(fixture->cloud.attachment_count, 1);
    assert_false(fixture->cloud.attachments[0].unleased);
}

static void a_list_that_names_the_vm_does_not_vouch_for_its_nic(void **state)
{
    struct fixture *fixture = *state;
    stand_in_doubt(NETWORK_OF("7", "<UPDATED_VMS><ID>3</ID></UPDATED_VMS>"),
                   VM("3", RUNNING, NIC("7", "0"), RECORD("0", "1")));
    must_read_pools(fixture);
    assert_true(fixture->cloud.attachments[0].unleased);
}

/* A lease of the VM's other NIC, of another VM, of nobody, and of something that is no address. */
static void a_lease_of_anything_else_does_not_vouch_for_a_nic(void **state)
{
    struct fixture *fixture = *state;
    stand_in_doubt(NETWORK_OF("7", LEASES(LEASE("3", "1") LEASE(
                                       "4", "0") "<LEASE><VNET>9</VNET></LEASE><LEASE><VM>3</VM>"
                                                 "</LEASE>") "<UPDATED_VMS><ID>3</ID>"
                                                             "</UPDATED_VMS>"),
                   VM("3", RUNNING, NIC("7", "0"), RECORD("0", "1")));
    must_read_pools(fixture);
    assert_true(fixture->cloud.attachments[0].unleased);
}

/* A NIC that a user wrote beside oned's own, with its address. */
static void a_lease_is_for_one_nic(void **state)
{
    struct fixture *fixture = *state;
    static const char vm[] = VM("3", RUNNING,
                                NIC("7", "0") "<NIC><NETWORK_ID>7</NETWORK_ID><NIC_ID>9</NIC_ID>"
                                              "<MAC>02:00:00:00:00:00</MAC><VN_MAD>ibrec</VN_MAD>"
                                              "</NIC>" NIC("7", "1"),
                                RECORD("0", "1"));
    stand_in_doubt(NETWORK("7"), vm);
    cloud_of_oned.vms[0].pool_document = vm;
    must_read_pools(fixture);
    assert_int_equal(fixture->cloud.attachment_count, 3);
    assert_true(fixture->cloud.attachments[0].unleased);
    assert_false(fixture->cloud.attachments[1].unleased);
    assert_true(fixture->cloud.attachments[2].unleased);
    assert_string_equal(fixture->findings.items[0].code, "nic-invalid");
}

static void a_nic_that_went_meanwhile_leaves_nothing(void **state)
{
    struct fixture *fixture = *state;
    stand_in_doubt(NETWORK_OF("7", ""), VM("3", RUNNING, "", RECORD("0", "1")));
    must_read_pools(fixture);
    assert_calls("user\nnetwork 7\nwindow 0 -1\nvm 3\nnetwork 7\nvm 3\n");
    assert_int_equal(fixture->cloud.attachment_count, 0);
}

static void a_nic_that_its_network_does_not_know_of_is_marked(void **state)
{
    struct fixture *fixture = *state;
    stand_in_doubt(NETWORK_OF("7", ""), VM("3", RUNNING, NIC("7", "0"), RECORD("0", "1")));
    must_read_pools(fixture);
    assert_calls("user\nnetwork 7\nwindow 0 -1\nvm 3\nnetwork 7\nvm 3\n");
    assert_int_equal(fixture->cloud.attachment_count, 1);
    assert_true(fixture->cloud.attachments[0].unleased);
}

static void a_host_that_the_pool_did_not_show_is_asked_for_alone(void **state)
{
    struct fixture *fixture = *state;
    cloud_of_oned.host_alone = HOST("9", "");
    cloud_of_oned.vms[0] = (struct standing_vm){
        .id = 3, .pool_document = VM("3", RUNNING, NIC("7", "0"), RECORD("0", "9"))};
    must_read_pools(fixture);
    assert_calls("user\nnetwork 7\nwindow 3 12\nwindow 13 -1\nhost 9\nvm 3\n");
    assert_non_null(oneib_cloud_host(&fixture->cloud, 9));
}

static void the_last_host_of_a_stored_vm_is_not_asked_for(void **state)
{
    cloud_of_oned.vms[0] =
        (struct standing_vm){.id = 3,
                             .pool_document = VM("3", "<STATE>8</STATE><LCM_STATE>0</LCM_STATE>",
                                                 NIC("7", "0"), RECORD("0", "9"))};
    must_read_pools(*state);
    assert_calls("user\nnetwork 7\nwindow 3 12\nwindow 13 -1\nvm 3\n");
}

static void the_recorded_cloud_is_read(void **state)
{
    struct fixture *fixture = *state;
    char *hosts = recorded("hostpool.info.doc");
    char *first = recorded("vn.info-1.doc"), *second = recorded("vn.info-2.doc");
    char *pool = recorded("vmpool.infoextended.doc");
    oneib_autotext struct oneib_text networks = {0};
    oneib_text_printf(&networks, "<VNET_POOL>%s%s</VNET_POOL>", strstr(first, "<VNET>"),
                      strstr(second, "<VNET>"));
    *strstr(pool, "</VM_POOL>") = '\0';
    cloud_of_oned.hosts = hosts;
    cloud_of_oned.networks = networks.data;
    cloud_of_oned.vms[0] = (struct standing_vm){.id = 5, .pool_document = strstr(pool, "<VM>")};
    must_read_pools(fixture);
    assert_calls("user\nnetwork 1\nnetwork 2\nwindow 5 14\nwindow 15 -1\nvm 5\n");
    assert_int_equal(fixture->cloud.network_count, 2);
    assert_int_equal(fixture->cloud.host_count, 2);
    assert_int_equal(fixture->cloud.attachment_count, 2);
    assert_int_equal(fixture->cloud.attachments[0].host_id, 1);
    assert_int_equal(fixture->findings.count, 0);
    /* Its leases vouch for the NIC and for the PCI NIC, and its host gives it that VF. */
    for (size_t i = 0; i < 2; i++)
        assert_false(fixture->cloud.attachments[i].unleased);
    assert_true(fixture->cloud.attachments[1].is_pci);
    assert_int_equal(
        oneib_host_given_to(&fixture->cloud.hosts[1], &fixture->cloud.attachments[1].address), 5);
    free(hosts);
    free(first);
    free(second);
    free(pool);
}

/* ---- what is asked, and how often ------------------------------------------------------------ */

#define PLAIN_VM(id) "<VM><ID>" id "</ID>" RUNNING "</VM>"

static void who_is_read_alone_makes_nobody_else_be_asked(void **state)
{
    cloud_of_oned.networks = "<VNET_POOL>" NETWORK_OF(
        "7", "<UPDATED_VMS><ID>3</ID><ID>5</ID><ID>6</ID><ID>7</ID><ID>12</ID><ID>20</ID>"
             "</UPDATED_VMS>") "</VNET_POOL>";
    cloud_of_oned.vms[0] = (struct standing_vm){.id = 12, .pool_document = PLAIN_VM("12")};
    cloud_of_oned.vms[1] = (struct standing_vm){.id = 3, .pool_document = PLAIN_VM("3")};
    cloud_of_oned.vms[2] = (struct standing_vm){.id = 20, .pool_document = PLAIN_VM("20")};
    cloud_of_oned.vms[3] = (struct standing_vm){.id = 5, .document = PLAIN_VM("5")};
    cloud_of_oned.vms[4] = (struct standing_vm){.id = 6, .document = PLAIN_VM("6")};
    cloud_of_oned.vms[5] = (struct standing_vm){.id = 7, .document = PLAIN_VM("7")};
    must_read_pools(*state);
    assert_calls("user\nnetwork 7\nwindow 3 12\nwindow 20 29\nwindow 30 -1\nvm 5\nvm 6\nvm 7\n"
                 "vm 20\n");
}

static void a_network_that_many_nics_doubt_is_asked_again_once(void **state)
{
    struct fixture *fixture = *state;
    stand_in_doubt(NETWORK_OF("7", LEASES(LEASE("3", "0") LEASE("4", "0"))), NULL);
    cloud_of_oned.vms[1] = (struct standing_vm){
        .id = 4, .pool_document = VM("4", RUNNING, NIC("7", "0"), RECORD("0", "1"))};
    must_read_pools(fixture);
    assert_calls("user\nnetwork 7\nwindow 0 -1\nvm 4\nnetwork 7\n");
    for (size_t i = 0; i < 2; i++)
        assert_false(fixture->cloud.attachments[i].unleased);
}

static void a_network_that_is_gone_when_it_is_asked_for_again_is_known_no_more(void **state)
{
    struct fixture *fixture = *state;
    stand_in_doubt(NULL, NULL);
    must_read_pools(fixture);
    assert_calls("user\nnetwork 7\nwindow 0 -1\nvm 3\nnetwork 7\n");
    assert_null(oneib_cloud_network(&fixture->cloud, 7));
}

static void windows_of_no_ids_are_windows_of_one(void **state)
{
    struct fixture *fixture = *state;
    fixture->window = 0;
    cloud_of_oned.networks =
        "<VNET_POOL>" NETWORK_OF("7", "<UPDATED_VMS><ID>25</ID></UPDATED_VMS>") "</VNET_POOL>";
    cloud_of_oned.vms[0] = (struct standing_vm){.id = 25, .pool_document = PLAIN_VM("25")};
    cloud_of_oned.vms[1] = (struct standing_vm){.id = 29, .pool_document = BROKEN_VM("29")};
    must_read_pools(fixture);
    assert_calls("user\nnetwork 7\nwindow 25 25\nwindow 26 -1\nwindow 26 26\nwindow 27 -1\n"
                 "window 27 28\nwindow 29 -1\nwindow 29 32\nwindow 29 30\nwindow 29 29\n"
                 "window 30 30\nwindow 31 32\nwindow 33 -1\nvm 29\n");
    assert_int_equal(fixture->cloud.vm_count, 2);
}

static void the_window_of_vm_0_shows_vm_0_alone(void **state)
{
    struct fixture *fixture = *state;
    fixture->window = 1;
    cloud_of_oned.networks =
        "<VNET_POOL>" NETWORK_OF("7", "<UPDATED_VMS><ID>0</ID></UPDATED_VMS>") "</VNET_POOL>";
    cloud_of_oned.vms[0] = (struct standing_vm){
        .id = 0, .pool_document = PLAIN_VM("0") "<VM><ID>70</ID></VM>", .document = PLAIN_VM("0")};
    must_read_pools(fixture);
    assert_calls("user\nnetwork 7\nwindow 0 0\nwindow 1 -1\nvm 0\n");
    assert_int_equal(fixture->cloud.vm_count, 1);
}

static void a_highest_vm_that_is_confirmed_is_not_asked_for_twice(void **state)
{
    struct fixture *fixture = *state;
    cloud_of_oned.vms[0] = (struct standing_vm){.id = 0, .pool_document = PLAIN_VM("0")};
    cloud_of_oned.networks = "<VNET_POOL></VNET_POOL>";
    must_read_pools(fixture);
    assert_calls("user\nwindow 0 -1\nvm 0\n");
    assert_int_equal(fixture->cloud.vm_end, 1);
}

static void a_new_vm_that_may_not_be_seen_alone_is_an_error_at_once(void **state)
{
    cloud_of_oned.networks = "<VNET_POOL></VNET_POOL>";
    cloud_of_oned.vms[0] =
        (struct standing_vm){.id = 40, .pool_document = PLAIN_VM("40"), .hidden = true};
    must_fail(*state, ONEIB_ERROR_PERMISSION, "USE VM");
    assert_calls("user\nwindow 0 -1\nvm 40\n");
}

static void the_highest_vm_that_may_not_be_seen_alone_is_an_error(void **state)
{
    cloud_of_oned.vms[0] =
        (struct standing_vm){.id = 3, .pool_document = PLAIN_VM("3"), .hidden = true};
    must_fail(*state, ONEIB_ERROR_PERMISSION, "VM 3");
}

static void a_pool_that_oned_does_not_give_is_an_error(void **state)
{
    struct fixture *fixture = *state;
    const char *hosts = cloud_of_oned.hosts;
    cloud_of_oned.hosts = NULL;
    must_fail(fixture, ONEIB_ERROR_PROTOCOL, "out of order");
    disconnect(fixture);
    cloud_of_oned.hosts = hosts;
    cloud_of_oned.networks = NULL;
    must_fail(fixture, ONEIB_ERROR_PROTOCOL, "reading networks");
}

static void a_host_that_is_malformed_by_itself_is_an_error(void **state)
{
    cloud_of_oned.host_alone = "<HOST><ID>9</ID><A></HOST>";
    cloud_of_oned.vms[0] = (struct standing_vm){
        .id = 3, .pool_document = VM("3", RUNNING, NIC("7", "0"), RECORD("0", "9"))};
    must_fail(*state, ONEIB_ERROR_PROTOCOL, "host 9");
}

/* Who left it there would take the key from whom the answer was about. */
static void a_doubt_that_oned_does_not_settle_is_an_error(void **state)
{
    struct fixture *fixture = *state;
    stand_in_doubt(NETWORK("7"), NULL);
    cloud_of_oned.refused_again = "network 7\n";
    must_fail(fixture, ONEIB_ERROR_PROTOCOL, "out of order");
    disconnect(fixture);
    stand_in_doubt(NETWORK_OF("7", ""), NULL);
    cloud_of_oned.refused_again = "vm 3\n";
    must_fail(fixture, ONEIB_ERROR_PROTOCOL, "out of order");
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
        TEST(a_member_of_oneadmin_by_a_further_group_is_an_administrator),
        TEST(a_user_with_rights_by_acl_is_not_asked_who_it_is),
        TEST(what_is_wrong_with_our_user_never_shows_its_password),
        TEST(a_window_that_oned_does_not_give_is_an_error),
        TEST(a_malformed_vm_is_found_by_halves_and_left_out_alone),
        TEST(a_vm_that_breaks_out_of_its_element_is_left_out_alone),
        TEST(markup_beside_a_huge_attribute_leaves_its_vm_out_alone),
        TEST(a_vm_that_is_too_large_to_be_read_is_left_out_alone),
        TEST(an_answer_is_halved_from_one_byte_above_the_limit_on),
        TEST(no_more_than_512_mib_of_an_answer_are_read),
        TEST(a_vm_that_is_odd_in_one_of_its_documents_is_as_the_other_says),
        TEST(a_vm_that_oned_stores_and_cannot_read_is_as_it_is_stored),
        TEST(a_vm_that_is_odd_in_both_of_its_documents_is_left_out),
        TEST(more_malformed_vms_than_anybody_counts_are_no_reason_to_stop),
        TEST(vms_inside_of_an_element_of_anothers_are_found),
        TEST(a_malformed_vm_that_nobody_names_is_found_in_the_open_window),
        TEST(a_made_up_vm_with_a_huge_id_hides_no_new_ones),
        TEST(many_made_up_vms_do_not_move_the_end_either),
        TEST(ids_that_a_network_makes_up_do_not_move_the_open_window),
        TEST(a_pool_that_is_malformed_throughout_is_an_error_after_4096_answers),
        TEST(a_malformed_network_keeps_its_key_and_everybody_else_is_read),
        TEST(a_network_that_says_twice_whose_it_is_is_unreadable),
        TEST(a_network_that_breaks_out_of_its_element_is_unreadable),
        TEST(a_network_that_only_a_pool_shows_is_nobodys),
        TEST(a_malformed_network_of_another_driver_is_no_matter),
        TEST(a_malformed_host_is_an_error),
        TEST(a_migrating_vm_gets_its_source_host),
        TEST(a_migrating_vm_that_ended_meanwhile_leaves_nothing),
        TEST(a_network_that_the_pool_did_not_show_is_asked_for_alone),
        TEST(a_vanished_network_is_asked_for_once),
        TEST(a_network_that_another_driver_serves_now_is_known_by_its_nics),
        TEST(a_nic_that_the_other_drivers_network_does_not_know_of_is_marked),
        TEST(a_parent_that_was_just_read_is_not_asked_for_again),
        TEST(a_vm_that_a_new_network_names_is_asked_for_too),
        TEST(a_nic_younger_than_its_networks_document_is_believed),
        TEST(a_list_that_names_the_vm_does_not_vouch_for_its_nic),
        TEST(a_lease_of_anything_else_does_not_vouch_for_a_nic),
        TEST(a_lease_is_for_one_nic),
        TEST(a_nic_that_went_meanwhile_leaves_nothing),
        TEST(a_nic_that_its_network_does_not_know_of_is_marked),
        TEST(a_host_that_the_pool_did_not_show_is_asked_for_alone),
        TEST(the_last_host_of_a_stored_vm_is_not_asked_for),
        TEST(the_recorded_cloud_is_read),
        TEST(who_is_read_alone_makes_nobody_else_be_asked),
        TEST(a_network_that_many_nics_doubt_is_asked_again_once),
        TEST(a_network_that_is_gone_when_it_is_asked_for_again_is_known_no_more),
        TEST(windows_of_no_ids_are_windows_of_one),
        TEST(the_window_of_vm_0_shows_vm_0_alone),
        TEST(a_highest_vm_that_is_confirmed_is_not_asked_for_twice),
        TEST(a_new_vm_that_may_not_be_seen_alone_is_an_error_at_once),
        TEST(the_highest_vm_that_may_not_be_seen_alone_is_an_error),
        TEST(a_pool_that_oned_does_not_give_is_an_error),
        TEST(a_host_that_is_malformed_by_itself_is_an_error),
        TEST(a_doubt_that_oned_does_not_settle_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
