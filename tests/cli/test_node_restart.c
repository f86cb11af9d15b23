// SPDX-License-Identifier: Apache-2.0
/* oneib-node ends, is killed, is started again, twice, or without its directory; and its signals.
 */
#include "../node_socket.h"
#include "node_scene.h"

#define CALLERS 20

static const struct tree_hca with_many = {.driver = ONEIB_HCA_MLX4, .vfs = CALLERS + 4, .pkeys = 7};

/* ---- systemd's part -------------------------------------------------------------------------- */

struct given {
    int sockets[2];
    const char *names;
    char notify[108];
};

/* Descriptors 3 and 4, which sd_listen_fds(3) has them be. */
static void give(void *context)
{
    const struct given *given = context;
    char pid[16];
    int moved[2];
    for (int i = 0; i < 2; i++)
        moved[i] = fcntl(given->sockets[i], F_DUPFD, 20);
    for (int i = 0; i < 2; i++)
        if (dup2(moved[i], 3 + i) < 0)
            _exit(126);
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    setenv("LISTEN_PID", pid, 1);
    setenv("LISTEN_FDS", "2", 1);
    setenv("LISTEN_FDNAMES", given->names, 1);
    if (given->notify[0])
        setenv("NOTIFY_SOCKET", given->notify, 1);
}

static struct given open_given(void)
{
    struct given given = {.names = "node:read"};
    given.sockets[0] = listen_on_node(tree_root(), "node.sock");
    given.sockets[1] = listen_on_node(tree_root(), "node-read.sock");
    assert_true(given.sockets[0] >= 0 && given.sockets[1] >= 0);
    return given;
}

static void close_given(const struct given *given)
{
    close(given->sockets[0]);
    close(given->sockets[1]);
}

/* ---- its end --------------------------------------------------------------------------------- */

static void it_ends_at_a_signal_and_nothing_on_the_node_changes(void **state)
{
    (void)state;
    static const int numbers[] = {SIGTERM, SIGINT};
    struct oneib_client *client = open_client();
    const struct oneib_vf_record record = must_have(client, 42, 1, KEY);
    must_wait(client);
    oneib_client_close(client);
    char *before = strdup(table());
    assert_non_null(before);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(end_node(numbers[i]), 0);
        assert_string_equal(table(), before);
        assert_true(entry_reads(record.index, "3"));
        assert_int_equal(oneib_client_open(&client, &err), -1);
        assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
        start_node();
        assert_string_equal(table(), before);
        assert_true(entry_reads(record.index, "3"));
    }
    free(before);
    assert_int_equal(must_release(42).freed, 1);
}

/* Callers that wait for a key which has not come yet. */
static void start_callers(pid_t callers[CALLERS])
{
    for (uint32_t i = 0; i < CALLERS; i++) {
        callers[i] = fork();
        assert_true(callers[i] >= 0);
        if (callers[i] != 0)
            continue;
        struct oneib_client *client;
        struct oneib_vf_record record;
        const struct oneib_request request = have_of(1000 + i, 0, KEY);
        pause_ms(15 * i);
        if (oneib_client_open(&client, &err) < 0 ||
            oneib_client_have(client, &request, DEADLINE_MS, &record, &err) < 0 ||
            oneib_client_wait(client, DEADLINE_MS, &err) < 0) {
            fprintf(stderr, "%s\n", err.text);
            _exit(1);
        }
        _exit(0);
    }
}

static int make_large_node(void **state)
{
    make_node(state);
    tree_remove_hca(&mlx4);
    tree_add_hca(&with_many);
    return 0;
}

static void callers_do_not_notice_that_it_is_killed_and_started_again(void **state)
{
    (void)state;
    pid_t callers[CALLERS];
    unsigned seed = (unsigned)getpid();
    struct given given = open_given();
    print_message("seed %u\n", seed);
    start_node_with(give, &given);
    start_callers(callers);
    for (int i = 0; i < 12; i++) {
        pause_ms(rand_r(&seed) % 60);
        end_node(SIGKILL);
        start_node_with(give, &given);
    }
    tree_set_pkey(&with_many, 1, KEY_INDEX, 0x8000 | KEY);
    for (size_t i = 0; i < CALLERS; i++)
        assert_int_equal(status_of(callers[i]), 0);
    struct oneib_vf_table records;
    assert_int_equal(oneib_vf_table_parse(table(), strlen(table()), &records, &err), 0);
    assert_int_equal(records.count, CALLERS);
    for (size_t i = 0; i < records.count; i++) {
        char entry[16];
        assert_int_equal(records.items[i].stage, ONEIB_VF_OPEN);
        tree_get_vf_pkey(&with_many, records.items[i].index, 1, 0, entry, sizeof entry);
        assert_string_equal(entry, "3");
    }
    oneib_vf_table_clear(&records);
    close_given(&given);
}

/* Nobody listens for a moment then, and nobody is refused for that. */
static void nor_when_it_has_made_its_sockets_by_itself(void **state)
{
    (void)state;
    const pid_t caller = fork();
    if (caller == 0) {
        for (uint32_t vm_id = 1; vm_id < 100; vm_id++) {
            struct oneib_client *client = open_client();
            must_have(client, vm_id, 0, KEY);
            must_wait(client);
            oneib_client_close(client);
            must_release(vm_id);
        }
        _exit(0);
    }
    for (int i = 0; i < 5; i++) {
        pause_ms(20);
        restart_node();
    }
    assert_int_equal(status_of(caller), 0);
    assert_string_equal(table(), "");
}

/* ---- with systemd's sockets ------------------------------------------------------------------ */

/* Nobody is told that nobody listens: systemd does. */
static void with_systemds_sockets_a_caller_may_come_before_it(void **state)
{
    (void)state;
    struct given given = open_given();
    for (int i = 0; i < 2; i++) {
        const pid_t caller = fork();
        if (caller == 0) {
            struct oneib_client *client = open_client();
            must_have(client, 42, 1, KEY);
            must_wait(client);
            _exit(0);
        }
        pause_ms(50);
        start_node_with(give, &given);
        assert_int_equal(status_of(caller), 0);
        struct oneib_service_list list;
        assert_int_equal(oneib_client_list(&list, &err), 0);
        assert_int_equal(list.table.count, 1);
        oneib_service_list_clear(&list);
        assert_int_equal(end_node(SIGTERM), 0);
    }
    close_given(&given);
}

static void it_tells_systemd_that_it_is_ready_once_it_has_looked(void **state)
{
    (void)state;
    char said[64] = "", entry[16];
    struct given given = open_given();
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(given.notify, sizeof given.notify, "@oneib-test-%d", (int)getpid());
    strcpy(address.sun_path, given.notify);
    address.sun_path[0] = '\0';
    const int notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const socklen_t length =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(given.notify));
    assert_int_equal(bind(notify, (struct sockaddr *)&address, length), 0);
    tree_set_vf_pkey(&mlx4, 1, 1, 2, "none");
    node = start_another(give, &given);
    assert_true(recv(notify, said, sizeof said - 1, 0) > 0);
    assert_string_equal(said, "READY=1");
    tree_get_vf_pkey(&mlx4, 1, 1, 2, entry, sizeof entry);
    assert_string_equal(entry, "0");
    close(notify);
    close_given(&given);
}

static void assert_refuses_to_start(preparation prepare, void *context, const char *why)
{
    tree_remove("/log");
    assert_int_equal(status_of(start_another(prepare, context)), 3);
    if (!strstr(content("log"), why))
        fail_msg("\"%s\" is not in: %s", why, content("log"));
    assert_int_equal(count_of(content("log"), "\n"), 1);
}

static void sockets_that_are_not_its_own_are_refused(void **state)
{
    (void)state;
    struct given given = open_given();
    given.names = "node:other";
    assert_refuses_to_start(give, &given, "neither FileDescriptorName=node nor");
    given.names = "node:read";
    close(given.sockets[1]);
    given.sockets[1] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_refuses_to_start(give, &given, "ListenSequentialPacket=/run/oneib/node-read.sock");
    close_given(&given);
}

/* ---- two, and none --------------------------------------------------------------------------- */

static void a_second_one_does_not_start_and_the_first_one_serves_on(void **state)
{
    (void)state;
    assert_int_equal(status_of(start_another(NULL, NULL)), 3);
    await_log("another oneib-node is at work on this host");
    assert_serves();
}

static void a_socket_that_is_removed_is_made_anew(void **state)
{
    (void)state;
    tree_remove("/run/oneib/node.sock");
    tree_remove("/run/oneib/node-read.sock");
    kill(node, SIGHUP);
    const double until = oneib_now_ms() + DEADLINE_MS;
    while (!tree_exists("/run/oneib/node.sock") && oneib_now_ms() < until)
        pause_ms(2);
    assert_serves();
}

static void a_directory_that_is_removed_is_made_anew(void **state)
{
    (void)state;
    struct oneib_client *client = open_client();
    must_have(client, 42, 1, KEY);
    must_wait(client);
    oneib_client_close(client);
    tree_remove("/run/oneib");
    kill(node, SIGHUP);
    const double until = oneib_now_ms() + DEADLINE_MS;
    while (!tree_exists("/run/oneib/node-read.sock") && oneib_now_ms() < until)
        pause_ms(2);
    assert_serves();
    /* What the service knows is written again. */
    assert_int_equal(count_of(table(), "vm=42 nic=1 "), 1);
}

/* Only systemd can make them: the log says how to have it do so, and VFs are looked after all the
 * same. */
static void systemds_sockets_that_are_removed_are_told_of(void **state)
{
    (void)state;
    struct given given = open_given();
    start_node_with(give, &given);
    struct oneib_client *client = open_client();
    const struct oneib_vf_record record = must_have(client, 42, 1, KEY);
    must_wait(client);
    oneib_client_close(client);
    tree_remove("/run/oneib/node.sock");
    kill(node, SIGHUP);
    await_log("systemctl restart oneib-node.socket");
    put_key(KEY_INDEX, 0x8000 | (KEY + 1));
    kill(node, SIGHUP);
    await_entry(record.index, "0");
    assert_int_equal(count_of(content("log"), "systemctl restart oneib-node.socket"), 1);
    /* Started again it is no better, and no worse. */
    end_node(SIGTERM);
    start_node_with(give, &given);
    put_key(KEY_INDEX, 0x8000 | KEY);
    kill(node, SIGHUP);
    await_entry(record.index, "3");
    await_log("systemctl restart oneib-node.socket");
    close_given(&given);
}

static void a_directory_that_others_may_write_to_is_refused(void **state)
{
    (void)state;
    tree_make_directory("/run/oneib");
    tree_set_mode(0777, "/run/oneib");
    assert_refuses_to_start(NULL, NULL, "writable by no other user");
}

/* ---- signals, and what happens --------------------------------------------------------------- */

/* The next look without an event is a minute away. */
static void sighup_has_it_look_at_everything(void **state)
{
    (void)state;
    char entry[16];
    struct oneib_client *client = open_client();
    const struct oneib_vf_record record = must_have(client, 42, 1, KEY);
    must_wait(client);
    oneib_client_close(client);
    put_key(KEY_INDEX, 0x8000 | (KEY + 1));
    tree_set_vf_pkey(&mlx4, 3, 1, 2, "none");
    kill(node, SIGHUP);
    await_entry(record.index, "0");
    /* What is somebody's was first. */
    const double until = oneib_now_ms() + DEADLINE_MS;
    do
        tree_get_vf_pkey(&mlx4, 3, 1, 2, entry, sizeof entry);
    while (strcmp(entry, "0") != 0 && oneib_now_ms() < until);
    assert_string_equal(entry, "0");
    put_key(KEY_INDEX + 1, 0x8000 | KEY);
    kill(node, SIGHUP);
    await_entry(record.index, "4");
}

static void it_looks_by_itself_now_and_then(void **state)
{
    (void)state;
    configure(60000, 100);
    restart_node();
    struct oneib_client *client = open_client();
    const struct oneib_vf_record record = must_have(client, 42, 1, KEY);
    must_wait(client);
    oneib_client_close(client);
    put_key(KEY_INDEX, 0x8000 | (KEY + 1));
    await_entry(record.index, "0");
}

static bool lists_a_domain(void)
{
    struct oneib_service_list list;
    assert_int_equal(oneib_client_list(&list, &err), 0);
    const bool listed = list.domains_known && list.domains.count == 1 &&
                        list.domains.items[0].vm_id == 42 && list.domains.items[0].running;
    oneib_service_list_clear(&list);
    return listed;
}

static void sigusr1_has_it_ask_for_all_domains(void **state)
{
    (void)state;
    assert_false(lists_a_domain());
    tell_of_domains(DOMAIN("one-42", HOSTDEV("1")));
    const double until = oneib_now_ms() + DEADLINE_MS;
    while (!lists_a_domain() && oneib_now_ms() < until)
        pause_ms(5);
    assert_true(lists_a_domain());
}

static void the_vf_of_a_domain_that_has_ended_is_closed(void **state)
{
    (void)state;
    struct oneib_client *client = open_client();
    const struct oneib_request request = have_of(42, 1, KEY);
    struct oneib_vf_record record;
    grant_nic(42, 1, "network=7 pkey=0x0005 " AT_MLX4 " vf=0000:81:00.1");
    assert_int_equal(oneib_client_have(client, &request, DEADLINE_MS, &record, &err), 0);
    must_wait(client);
    tell_of_domains(DOMAIN("one-42", HOSTDEV("1")));
    await_content("run/oneib/vfs", " domain=yes ", true);
    tell_of_domains("");
    await_content("run/oneib/vfs", " stage=ended ", true);
    assert_true(entry_reads(0, "0"));
    must_have(client, 42, 1, KEY);
    must_wait(client);
    assert_true(entry_reads(0, "3"));
    oneib_client_close(client);
}

/* A service that has only just been started does not say what it does not know yet. */
static void a_new_vf_waits_for_the_first_list_of_domains(void **state)
{
    (void)state;
    tree_write("this is no document", "/node.xml");
    start_node();
    const pid_t caller = fork();
    if (caller == 0) {
        struct oneib_client *client = open_client();
        must_have(client, 42, 1, KEY);
        _exit(0);
    }
    pause_ms(300);
    assert_string_equal(table(), "");
    /* What one has can be given back whatever libvirt says. */
    assert_int_equal(must_release(41).freed, 0);
    tell_of_domains("");
    assert_int_equal(status_of(caller), 0);
}

static void while_nobody_knows_the_domains_none_is_given(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct oneib_service_list list;
    const struct oneib_request request = have_of(42, 1, KEY);
    tree_write("this is no document", "/node.xml");
    start_node();
    struct oneib_client *client = open_client();
    assert_int_equal(oneib_client_have(client, &request, DEADLINE_MS, &record, &err), -1);
    oneib_client_close(client);
    assert_int_equal(oneib_client_list(&list, &err), 0);
    assert_false(list.domains_known);
    assert_true(strlen(list.why.text) > 0);
    oneib_service_list_clear(&list);
    assert_string_equal(table(), "");
    assert_int_equal(count_of(content("log"), "libvirt unavailable"), 1);
}

static void a_damaged_table_keeps_it_from_giving_and_not_from_starting(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct oneib_request request = have_of(42, 1, KEY);
    tree_write("vf?", "/run/oneib/vfs");
    start_node();
    await_log("is damaged: line 1");
    struct oneib_client *client = open_client();
    assert_int_equal(oneib_client_have(client, &request, DEADLINE_MS, &record, &err), -1);
    assert_told("is damaged: line 1");
    assert_string_equal(table(), "vf?\n");
    tree_remove("/run/oneib/vfs");
    kill(node, SIGHUP);
    await_log("all VFs are as recorded again");
    must_have(client, 42, 1, KEY);
    oneib_client_close(client);
}

#define SERVED(test) cmocka_unit_test_setup_teardown(test, make_served_node, remove_node)
#define MADE(test) cmocka_unit_test_setup_teardown(test, make_node, remove_node)
#define LARGE(test) cmocka_unit_test_setup_teardown(test, make_large_node, remove_node)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVED(it_ends_at_a_signal_and_nothing_on_the_node_changes),
        LARGE(callers_do_not_notice_that_it_is_killed_and_started_again),
        SERVED(nor_when_it_has_made_its_sockets_by_itself),
        MADE(with_systemds_sockets_a_caller_may_come_before_it),
        MADE(it_tells_systemd_that_it_is_ready_once_it_has_looked),
        MADE(sockets_that_are_not_its_own_are_refused),
        SERVED(a_second_one_does_not_start_and_the_first_one_serves_on),
        SERVED(a_socket_that_is_removed_is_made_anew),
        SERVED(a_directory_that_is_removed_is_made_anew),
        MADE(systemds_sockets_that_are_removed_are_told_of),
        MADE(a_directory_that_others_may_write_to_is_refused),
        SERVED(sighup_has_it_look_at_everything),
        SERVED(it_looks_by_itself_now_and_then),
        SERVED(sigusr1_has_it_ask_for_all_domains),
        SERVED(the_vf_of_a_domain_that_has_ended_is_closed),
        MADE(a_new_vf_waits_for_the_first_list_of_domains),
        MADE(while_nobody_knows_the_domains_none_is_given),
        MADE(a_damaged_table_keeps_it_from_giving_and_not_from_starting),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
