// SPDX-License-Identifier: Apache-2.0
/* Those who call oneib-node: many, slow, silent, malicious, killed. */
#include "node_scene.h"
#include <sys/resource.h>

#define MANY 63
#define CALLERS 200
#define CONNECTIONS 1000
#define PATIENCE_MS 10000 /* of the service, with one who is silent */

/* ---- what is asked --------------------------------------------------------------------------- */

static void a_nic_has_a_vf_and_gives_it_back(void **state)
{
    (void)state;
    struct oneib_client *client = open_client();
    const struct oneib_vf_record record = must_have(client, 42, 1, KEY);
    assert_int_equal(record.network_id, NETWORK);
    must_wait(client);
    oneib_client_close(client);
    assert_true(entry_reads(record.index, "3"));
    struct oneib_service_list list;
    assert_int_equal(oneib_client_list(&list, &err), 0);
    assert_int_equal(list.table.count, 1);
    assert_int_equal(list.table.items[0].stage, ONEIB_VF_OPEN);
    assert_true(list.domains_known);
    oneib_service_list_clear(&list);
    assert_int_equal(must_release(42).freed, 1);
    assert_true(entry_reads(record.index, "0"));
    assert_string_equal(table(), "");
}

static void the_log_has_a_line_for_each_change_and_who_asked_for_it(void **state)
{
    (void)state;
    char wanted[64];
    snprintf(wanted, sizeof wanted, "(asked by process %d of uid %u)", (int)getpid(), getuid());
    struct oneib_client *client = open_client();
    must_have(client, 42, 1, KEY);
    must_wait(client);
    must_have(client, 42, 1, KEY);
    must_wait(client);
    oneib_client_close(client);
    must_release(42);
    must_release(42);
    assert_int_equal(count_of(content("log"), "VM 42 NIC 1 has 0000:81:00."), 1);
    assert_int_equal(count_of(content("log"), " of mlx4_0, open, P_Key 0x0005 ("), 1);
    assert_int_equal(count_of(content("log"), "VM 42 gives back: 1 freed"), 1);
    assert_int_equal(count_of(content("log"), wanted), 2);
}

static void what_fails_while_it_is_waited_for_is_told_in_its_place(void **state)
{
    (void)state;
    struct oneib_answer answer;
    const struct oneib_request wait = oneib_request_new(ONEIB_REQUEST_WAIT);
    configure(2000, 60000);
    restart_node();
    const int fd = connect_raw("node.sock");
    for (uint8_t nic = 1; nic <= 3; nic++) {
        const struct oneib_request request = have_of(42, nic, nic == 2 ? KEY + 1 : KEY);
        send_raw(fd, &request);
        assert_int_equal(receive_raw(fd, &answer), ONEIB_ANSWER_RECORD);
    }
    send_raw(fd, &wait);
    assert_int_equal(receive_raw(fd, &answer), ONEIB_ANSWER_RECORD);
    assert_int_equal(answer.record.nic_id, 1);
    assert_int_equal(answer.record.stage, ONEIB_VF_OPEN);
    assert_int_equal(receive_raw(fd, &answer), ONEIB_ANSWER_FAILED);
    assert_non_null(strstr(answer.text, "NIC 2"));
    assert_int_equal(receive_raw(fd, &answer), ONEIB_ANSWER_RECORD);
    assert_int_equal(answer.record.nic_id, 3);
    assert_int_equal(receive_raw(fd, &answer), ONEIB_ANSWER_END);
    /* All is told: there is nothing to wait for. */
    send_raw(fd, &wait);
    assert_int_equal(receive_raw(fd, &answer), ONEIB_ANSWER_END);
    close(fd);
}

static void a_connection_asks_for_so_much_before_it_waits(void **state)
{
    (void)state;
    struct oneib_released released;
    struct oneib_request request = oneib_request_new(ONEIB_REQUEST_RELEASE);
    request.nic_id = -1;
    struct oneib_client *client = open_client();
    for (uint32_t vm_id = 0; vm_id < ONEIB_SERVICE_ASKED_MAX; vm_id++) {
        request.vm_id = vm_id;
        assert_int_equal(oneib_client_release(client, &request, &released, &err), 0);
    }
    assert_int_equal(oneib_client_release(client, &request, &released, &err), -1);
    assert_told("wait for their answers");
    must_wait(client);
    assert_int_equal(oneib_client_release(client, &request, &released, &err), 0);
    oneib_client_close(client);
}

/* ---- what is not theirs to say --------------------------------------------------------------- */

static void begin_with_host_vf(void)
{
    char *text;
    assert_true(asprintf(&text,
                         "site = 9; node: { libvirt = \"test://%s/node.xml\"; "
                         "host_vfs = [ \"0000:81:00.1\" ]; };",
                         tree_root()) > 0);
    tree_write(text, "/etc/oneib/oneib.conf");
    free(text);
    restart_node();
}

static int release_vf(uint8_t function, struct oneib_released *released)
{
    struct oneib_client *client = open_client();
    struct oneib_request request = oneib_request_new(ONEIB_REQUEST_RELEASE_VF);
    request.vm_id = 42;
    request.vf = (struct oneib_pci){.bus = 0x81, .function = function};
    const int outcome = oneib_client_release(client, &request, released, &err);
    oneib_client_close(client);
    return outcome;
}

/* Until the service follows what has just been granted, it is refused what was granted before. */
static struct oneib_vf_record have_in_the_end(struct oneib_client *client, uint32_t vm_id)
{
    struct oneib_vf_record record = {0};
    const struct oneib_request request = have_of(vm_id, 1, KEY);
    for (int i = 0; oneib_client_have(client, &request, DEADLINE_MS, &record, &err) < 0; i++) {
        if (i == 500)
            fail_msg("%s", err.text);
        usleep(10000);
    }
    return record;
}

static void the_hosts_own_vfs_are_the_configurations_to_say(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct oneib_released released;
    const struct oneib_request request = have_of(42, 1, KEY);
    begin_with_host_vf();
    tree_set_vf_pkey(&mlx4, 0, 1, 0, "4");
    struct oneib_client *client = open_client();
    grant_nic(42, 1, "network=7 pkey=0x0005 " AT_MLX4 " vf=0000:81:00.1");
    assert_int_equal(oneib_client_have(client, &request, DEADLINE_MS, &record, &err), -1);
    assert_told("0000:81:00.1");
    assert_int_equal(release_vf(1, &released), -1);
    assert_told("0000:81:00.1");
    assert_true(entry_reads(0, "4"));
    grant_nic(42, 1, "network=7 pkey=0x0005 " AT_MLX4);
    record = have_in_the_end(client, 42);
    assert_int_equal(record.vf.function, 2);
    oneib_client_close(client);
}

static void a_vf_of_a_lost_table_can_be_released(void **state)
{
    (void)state;
    struct oneib_released released;
    tree_set_vf_pkey(&mlx4, 0, 1, 0, "3");
    if (release_vf(1, &released) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(released.freed + released.lingering, 1);
    assert_true(entry_reads(0, "0"));
}

static void a_node_without_an_adapter_says_so(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct oneib_request request = have_of(42, 1, KEY);
    tree_remove_hca(&mlx4);
    restart_node();
    struct oneib_client *client = open_client();
    assert_int_equal(oneib_client_have(client, &request, DEADLINE_MS, &record, &err), -1);
    assert_told("InfiniBand");
    oneib_client_close(client);
    assert_int_equal(must_release(42).freed, 0);
}

/* ---- many of them ---------------------------------------------------------------------------- */

static const struct tree_hca with_many = {.driver = ONEIB_HCA_MLX4, .vfs = MANY, .pkeys = 7};

static int make_large_node(void **state)
{
    make_node(state);
    tree_remove_hca(&mlx4);
    tree_add_hca(&with_many);
    tree_set_pkey(&with_many, 1, KEY_INDEX, 0x8000 | KEY);
    start_node();
    return 0;
}

enum { GIVEN = 0, NONE_FREE = 3, SOMETHING_ELSE = 4 };

__attribute__((noreturn)) static void call_for(uint32_t vm_id)
{
    struct oneib_client *client;
    struct oneib_vf_record record;
    const struct oneib_request request = have_of(vm_id, 0, KEY);
    if (oneib_client_open(&client, &err) < 0)
        _exit(SOMETHING_ELSE);
    if (oneib_client_have(client, &request, DEADLINE_MS, &record, &err) < 0)
        _exit(strstr(err.text, "no free virtual function") ? NONE_FREE : SOMETHING_ELSE);
    _exit(oneib_client_wait(client, DEADLINE_MS, &err) == 0 ? GIVEN : SOMETHING_ELSE);
}

static void two_hundred_callers_share_63_vfs(void **state)
{
    (void)state;
    pid_t callers[CALLERS];
    size_t given = 0;
    for (uint32_t i = 0; i < CALLERS; i++) {
        callers[i] = fork();
        assert_true(callers[i] >= 0);
        if (callers[i] == 0)
            call_for(1000 + i);
    }
    for (size_t i = 0; i < CALLERS; i++) {
        const int status = status_of(callers[i]);
        assert_true(status == GIVEN || status == NONE_FREE);
        given += status == GIVEN;
    }
    assert_int_equal(given, MANY);
    /* Parsing refuses a VF or a NIC that is there twice. */
    struct oneib_vf_table records;
    assert_int_equal(oneib_vf_table_parse(table(), strlen(table()), &records, &err), 0);
    assert_int_equal(records.count, MANY);
    for (size_t i = 0; i < records.count; i++)
        assert_int_equal(records.items[i].stage, ONEIB_VF_OPEN);
    oneib_vf_table_clear(&records);
}

/* As many as it may have; those beyond are told so at once. */
static void a_thousand_connections_keep_nobody_from_looking(void **state)
{
    (void)state;
    static int fds[CONNECTIONS];
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    size_t count = 0, turned_away = 0;
    while (count < CONNECTIONS && (fds[count] = connect_raw("node.sock")) >= 0)
        count++;
    assert_int_equal(count, CONNECTIONS);
    for (size_t i = 240; i < count; i++) {
        struct oneib_answer answer;
        turned_away += receive_raw(fds[i], &answer) == ONEIB_ANSWER_FAILED &&
                       strstr(answer.text, "has 240 connections to oneib-node already");
    }
    assert_int_equal(turned_away, CONNECTIONS - 240);
    struct oneib_service_list none;
    struct oneib_error busy = {0};
    assert_int_equal(oneib_client_list(&none, &busy), -1);
    assert_int_equal(busy.code, ONEIB_ERROR_REFUSED);

    struct oneib_answer answer;
    const struct oneib_request list = oneib_request_new(ONEIB_REQUEST_LIST);
    const int looking = connect_raw("node-read.sock");
    send_raw(looking, &list);
    assert_int_equal(receive_but_grants(looking, &answer), ONEIB_ANSWER_END);
    close(looking);
    /* The log is not theirs to fill. */
    assert_true(count_of(content("log"), "\n") < 30);

    for (size_t i = 0; i < count; i++)
        close(fds[i]);
    assert_serves();
}

/* ---- who may not ----------------------------------------------------------------------------- */

static mode_t mode_of(const char *name)
{
    struct stat status;
    char *path = tree_path("/run/oneib/%s", name);
    assert_int_equal(stat(path, &status), 0);
    free(path);
    return status.st_mode & 07777;
}

static void at_the_second_socket_nobody_can_do_anything_but_look(void **state)
{
    (void)state;
    struct oneib_answer answer;
    const struct oneib_request have = have_of(42, 1, KEY);
    struct oneib_request others[] = {
        oneib_request_new(ONEIB_REQUEST_RELEASE), oneib_request_new(ONEIB_REQUEST_RELEASE_VF),
        oneib_request_new(ONEIB_REQUEST_WAIT), oneib_request_new(ONEIB_REQUEST_LIST)};
    assert_int_equal(mode_of("node.sock"), 0660);
    assert_int_equal(mode_of("node-read.sock"), 0666);
    const int fd = connect_raw("node-read.sock");
    send_raw(fd, &have);
    assert_int_equal(receive_raw(fd, &answer), ONEIB_ANSWER_FAILED);
    assert_int_equal(answer.code, ONEIB_ERROR_PERMISSION);
    for (size_t i = 0; i < 4; i++) {
        send_raw(fd, &others[i]);
        assert_int_equal(receive_but_grants(fd, &answer), others[i].kind == ONEIB_REQUEST_LIST
                                                              ? ONEIB_ANSWER_END
                                                              : ONEIB_ANSWER_FAILED);
    }
    close(fd);
    assert_string_equal(table(), "");
}

static void who_may_only_look_takes_no_place_of_those_who_may_ask(void **state)
{
    (void)state;
    int fds[100];
    for (size_t i = 0; i < 100; i++)
        assert_true((fds[i] = connect_raw("node-read.sock")) >= 0);
    struct oneib_answer answer;
    assert_int_equal(receive_raw(fds[8], &answer), ONEIB_ANSWER_FAILED);
    assert_non_null(strstr(answer.text, "has 8 connections to oneib-node already"));
    assert_serves();
    for (size_t i = 0; i < 100; i++)
        close(fds[i]);
}

/* ---- who does not speak as it should --------------------------------------------------------- */

/* It is told why, the connection is over, and others are served. */
static void assert_sent_away(int fd, const char *why)
{
    struct oneib_answer answer;
    assert_int_equal(receive_raw(fd, &answer), ONEIB_ANSWER_FAILED);
    if (!strstr(answer.text, why))
        fail_msg("\"%s\" is not in: %s", why, answer.text);
    assert_int_equal(receive_raw(fd, &answer), 0);
    close(fd);
}

static void what_is_no_request_ends_its_connection_alone(void **state)
{
    (void)state;
    struct oneib_request request = have_of(42, 1, KEY), packed;
    char large[4096] = {0};
    struct oneib_client *other = open_client();
    must_have(other, 43, 1, KEY);
    oneib_request_pack(&request, &packed);

    int fd = connect_raw("node.sock");
    assert_int_equal(send(fd, &packed, sizeof packed / 2, 0), sizeof packed / 2);
    assert_sent_away(fd, "bytes, and not");
    fd = connect_raw("node.sock");
    assert_int_equal(send(fd, large, sizeof large, 0), sizeof large);
    assert_sent_away(fd, "bytes, and not");
    fd = connect_raw("node-read.sock");
    packed.kind = 99;
    assert_int_equal(send(fd, &packed, sizeof packed, 0), sizeof packed);
    assert_sent_away(fd, "kind");
    fd = connect_raw("node.sock");
    assert_int_equal(send(fd, "", 0, 0), 0);
    struct oneib_answer answer;
    assert_int_equal(receive_raw(fd, &answer), 0);
    close(fd);

    must_wait(other);
    oneib_client_close(other);
    assert_int_equal(count_of(content("log"), "rejected a connection of "), 3);
    assert_int_equal(count_of(table(), "\n"), 1);
}

/* Nobody has the pipe's other end but the message. */
static void descriptors_that_are_sent_along_are_not_received(void **state)
{
    (void)state;
    int ends[2];
    char byte;
    struct oneib_request request = have_of(42, 1, KEY), packed;
    oneib_request_pack(&request, &packed);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec place = {.iov_base = &packed, .iov_len = sizeof packed};
    struct msghdr message = {.msg_iov = &place,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    control.header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &ends[1], sizeof(int));

    const int fd = connect_raw("node.sock");
    assert_int_equal(sendmsg(fd, &message, 0), sizeof packed);
    close(ends[1]);
    assert_sent_away(fd, "sent along");
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    assert_string_equal(table(), "");
    assert_serves();
}

/* Asks again and again, and reads nothing. */
static int begin_not_to_read(void)
{
    const struct oneib_request request = oneib_request_new(ONEIB_REQUEST_LIST);
    struct oneib_request packed;
    oneib_request_pack(&request, &packed);
    const int fd = connect_raw("node.sock");
    while (send(fd, &packed, sizeof packed, MSG_DONTWAIT) > 0)
        ;
    return fd;
}

/* By itself the service parts from it, on a busy machine later than it could. */
static void assert_parted_from(int fd)
{
    char bytes[2048];
    const double until = oneib_now_ms() + DEADLINE_MS;
    for (;;) {
        const ssize_t length = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (length == 0 || (length < 0 && errno == ECONNRESET))
            return;
        assert_true(length > 0 || oneib_now_ms() < until);
        if (length < 0)
            pause_ms(50);
    }
}

static void who_is_silent_or_does_not_read_is_parted_from(void **state)
{
    (void)state;
    const double began = oneib_now_ms();
    const int silent = connect_raw("node.sock"), deaf = begin_not_to_read();
    const int forgetful = connect_raw("node.sock");
    struct oneib_client *thoughtful = open_client();
    must_have(thoughtful, 43, 1, KEY);
    must_wait(thoughtful);
    struct oneib_answer answer;
    const struct oneib_request request = have_of(42, 1, KEY + 1);
    send_raw(forgetful, &request);
    assert_int_equal(receive_raw(forgetful, &answer), ONEIB_ANSWER_RECORD);
    assert_int_equal(count_of(table(), "vm=42 "), 1);
    while (oneib_now_ms() - began < PATIENCE_MS - 500) {
        assert_serves();
        pause_ms(500);
    }
    /* On a machine that is busy it may be later than that by now. */
    const ssize_t heard = recv(silent, &answer, 1, MSG_DONTWAIT);
    if (oneib_now_ms() - began < PATIENCE_MS)
        assert_int_equal(heard, -1);
    /* Who spoke last, as late as the service has heard it. */
    assert_parted_from(silent);
    assert_parted_from(forgetful);
    assert_parted_from(deaf);
    /* What nobody waits for is nobody's. */
    await_content("run/oneib/vfs", "vm=42 ", false);
    /* Who has nothing to ask for a while is connected again when there is something. */
    must_have(thoughtful, 43, 2, KEY);
    must_wait(thoughtful);
    oneib_client_close(thoughtful);
    assert_int_equal(count_of(table(), "vm=43 "), 2);
    close(silent);
    close(deaf);
    close(forgetful);
}

static void a_caller_that_is_killed_gives_up(void **state)
{
    (void)state;
    const pid_t caller = fork();
    if (caller == 0) {
        struct oneib_client *client = open_client();
        must_have(client, 42, 1, KEY + 1);
        oneib_client_wait(client, DEADLINE_MS, &err);
        _exit(0);
    }
    await_content("run/oneib/vfs", "vm=42 nic=1 ", true);
    kill(caller, SIGKILL);
    assert_int_equal(status_of(caller), -SIGKILL);
    await_content("run/oneib/vfs", "vm=42 ", false);
    assert_true(entry_reads(0, "0"));
}

static void one_that_had_its_vf_before_keeps_it_closed(void **state)
{
    (void)state;
    struct oneib_client *client = open_client();
    const struct oneib_vf_record record = must_have(client, 42, 1, KEY);
    must_wait(client);
    must_have(client, 42, 1, KEY + 1);
    oneib_client_close(client);
    await_content("run/oneib/vfs", "vm=42 nic=1 network=8 site=0 pkey=0x0006", true);
    assert_true(entry_reads(record.index, "0"));
    /* The key comes: nobody needs to ask again. */
    put_key(KEY_INDEX + 1, 0x8000 | (KEY + 1));
    kill(node, SIGHUP);
    await_entry(record.index, "4");
}

#define SERVED(test) cmocka_unit_test_setup_teardown(test, make_served_node, remove_node)
#define LARGE(test) cmocka_unit_test_setup_teardown(test, make_large_node, remove_node)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVED(a_nic_has_a_vf_and_gives_it_back),
        SERVED(the_log_has_a_line_for_each_change_and_who_asked_for_it),
        SERVED(what_fails_while_it_is_waited_for_is_told_in_its_place),
        SERVED(a_connection_asks_for_so_much_before_it_waits),
        SERVED(the_hosts_own_vfs_are_the_configurations_to_say),
        SERVED(a_vf_of_a_lost_table_can_be_released),
        SERVED(a_node_without_an_adapter_says_so),
        LARGE(two_hundred_callers_share_63_vfs),
        SERVED(a_thousand_connections_keep_nobody_from_looking),
        SERVED(at_the_second_socket_nobody_can_do_anything_but_look),
        SERVED(who_may_only_look_takes_no_place_of_those_who_may_ask),
        SERVED(what_is_no_request_ends_its_connection_alone),
        SERVED(descriptors_that_are_sent_along_are_not_received),
        SERVED(who_is_silent_or_does_not_read_is_parted_from),
        SERVED(a_caller_that_is_killed_gives_up),
        SERVED(one_that_had_its_vf_before_keeps_it_closed),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
