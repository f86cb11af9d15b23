// SPDX-License-Identifier: Apache-2.0
/*
 * Whatever is asked of oneib-node, in whatever order, by callers that come, go and are cut off in
 * the middle, while keys move, grants change, domains come and go, oneibd is restarted and the
 * service is killed: in the end all can be given back, and every VF is closed. And a VM that nobody
 * else asks for anything keeps what it was given until it gives that back. ONEIB_WALK_SEED chooses
 * the walk.
 */
#include "hca/sm_stand_in.h"
#include "node_scene.h"

#define STEPS 3000
#define CONNECTIONS 6
#define VMS 4
#define NICS 3

static unsigned seed;
static int fds[CONNECTIONS];

static unsigned any(unsigned count)
{
    return (unsigned)rand_r(&seed) % count;
}

static struct oneib_request any_request(void)
{
    static const uint16_t flags[] = {0, 0, ONEIB_HAVE_ATTACH, ONEIB_HAVE_DEFER_GUID};
    struct oneib_request request = oneib_request_new(1 + any(5));
    if (request.kind == ONEIB_REQUEST_WAIT || request.kind == ONEIB_REQUEST_LIST)
        return request;
    request.vm_id = any(VMS);
    request.vf = tree_vf_pci(&mlx4, any(mlx4.vfs + 1));
    if (request.kind == ONEIB_REQUEST_RELEASE) {
        request.nic_id = (int32_t)any(NICS + 1) - 1;
        request.flags = any(2) ? ONEIB_RELEASE_NIC_GONE : 0;
    }
    if (request.kind != ONEIB_REQUEST_HAVE)
        return request;
    request.nic_id = (int32_t)any(NICS);
    request.network_id = NETWORK + any(2);
    request.numa_node = (int32_t)any(3) - 1;
    request.flags = flags[any(sizeof flags / sizeof *flags)];
    return request;
}

/* Most are whole; one in a few has a wrong bit, or is cut. */
static void ask(int *fd)
{
    struct oneib_request packed;
    const struct oneib_request request = any_request();
    size_t length = sizeof packed;
    if (*fd < 0)
        *fd = connect_raw(any(5) ? "node.sock" : "node-read.sock");
    oneib_request_pack(&request, &packed);
    if (any(10) == 0)
        ((unsigned char *)&packed)[any(sizeof packed)] ^= (unsigned char)(1 << any(8));
    if (any(20) == 0)
        length = any(sizeof packed);
    if (send(*fd, &packed, length, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
        return;
    close(*fd);
    *fd = -1;
}

/* What has arrived so far is an answer. */
static void read_some(int *fd)
{
    char bytes[sizeof(struct oneib_answer) + 1];
    struct oneib_answer answer;
    for (unsigned i = any(8); *fd >= 0 && i > 0; i--) {
        const ssize_t length = recv(*fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (length > 0 && oneib_answer_check(bytes, (size_t)length, &answer, &err) < 0)
            fail_msg("%s", err.text);
        if (length >= 0 || errno == EAGAIN)
            continue;
        close(*fd);
        *fd = -1;
    }
}

static void hang_up(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static bool is_told(const char *domains, uint32_t vm_id)
{
    char name[32];
    snprintf(name, sizeof name, ">one-%u<", vm_id);
    return strstr(domains, name) != NULL;
}

/* VMs that run with what they have: two, each with one VF. */
static void tell_of_those_that_run(void)
{
    struct oneib_vf_table have;
    oneib_autotext struct oneib_text domains = {0};
    const char *text = table();
    oneib_text_append(&domains, "");
    if (oneib_vf_table_parse(text, strlen(text), &have, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0, told = 0; i < have.count && told < 2; i++) {
        const struct oneib_vf_record *record = &have.items[i];
        if (any(3) == 0 || record->vm_id >= VMS || is_told(domains.data, record->vm_id))
            continue;
        oneib_text_printf(&domains, DOMAIN("one-%u", HOSTDEV("%u")), record->vm_id,
                          record->vf.function);
        told++;
    }
    oneib_vf_table_clear(&have);
    tell_of_domains(domains.data);
}

static void change_domains(void)
{
    static const char *const all[] = {"", DOMAIN("one-1", HOSTDEV("1")),
                                      DOMAIN("one-2", HOSTDEV("2") HOSTDEV("3")),
                                      DOMAIN("one-1", HOSTDEV("2")) DOMAIN("other", HOSTDEV("4"))};
    if (any(3))
        tell_of_those_that_run();
    else
        tell_of_domains(all[any(sizeof all / sizeof *all)]);
}

static void change_grants(void)
{
    static const char *const all[] = {
        WANTED_BY_NETWORK,
        "network=7 pkey=0x0006 " AT_MLX4 "\n",
        "network=7 pkey=0x0005 limited " AT_MLX4 "\nnetwork=8 pkey=0x0005 " AT_MLX4 "\n",
        "network=7 pkey=0x0005 device=mlx4_9 port=1\nnetwork=8 pkey=0x0006 device=mlx4_0 port=1\n",
    };
    if (any(4))
        grant_by_network(all[any(sizeof all / sizeof *all)]);
    else
        spawn_grants_standin_again();
}

/* ---- one whom nobody else minds -------------------------------------------------------------- */

#define OWN_VM 901

static struct {
    int fd;         /* -1: it has asked for nothing */
    bool has_asked; /* for a VF; else it gives one back */
    bool has_failed;
    bool has_vf;
} own = {.fd = -1};

static void ask_for_own(const struct oneib_request *request)
{
    const struct oneib_request end = oneib_request_new(ONEIB_REQUEST_WAIT);
    own.fd = connect_raw("node.sock");
    own.has_failed = false;
    if (own.fd < 0)
        return;
    send_raw(own.fd, request);
    send_raw(own.fd, &end);
}

static void go_on_with_own(void)
{
    struct oneib_request request = have_of(OWN_VM, 0, KEY);
    if (own.fd >= 0)
        return;
    own.has_asked = !own.has_vf;
    if (own.has_vf) {
        request = oneib_request_new(ONEIB_REQUEST_RELEASE);
        request.vm_id = OWN_VM;
        request.nic_id = -1;
    }
    own.has_vf = false;
    ask_for_own(&request);
}

/* The service has been killed, or has no place for it: nothing is known. */
static void end_own(void)
{
    close(own.fd);
    own.fd = -1;
}

static void read_own(void)
{
    struct oneib_answer answer = {.kind = 0};
    char bytes[sizeof answer + 1];
    while (own.fd >= 0 && answer.kind != ONEIB_ANSWER_END) {
        const ssize_t length = recv(own.fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (length < 0 && errno == EAGAIN)
            return;
        if (length <= 0) {
            end_own();
            return;
        }
        if (oneib_answer_check(bytes, (size_t)length, &answer, &err) < 0)
            fail_msg("%s", err.text);
        own.has_failed |= answer.kind == ONEIB_ANSWER_FAILED;
    }
    if (own.fd < 0)
        return;
    own.has_vf = own.has_asked && !own.has_failed;
    end_own();
}

/* It may be closed, for the time being, or because a domain of somebody else's has it: then another
 * one may get it. */
static void assert_own_is_kept(void)
{
    char *line = own.has_vf ? strstr(table(), " vm=901 ") : NULL;
    if (!own.has_vf)
        return;
    if (!line)
        fail_msg("VM 901 has lost its VF; the end of the log:\n%s", log_end());
    line[strcspn(line, "\n")] = '\0';
    if (strstr(line, "stage=ended"))
        own.has_vf = false;
    else if (!strstr(line, "stage=open") && !strstr(line, "stage=closed"))
        fail_msg("VM 901 loses its VF (%s); the end of the log:\n%s", line, log_end());
}

static void take_step(void)
{
    int *fd = &fds[any(CONNECTIONS)];
    switch (any(20)) {
    case 0:
        hang_up(fd);
        break;
    case 1:
        put_key(KEY_INDEX + any(2), (uint16_t)((any(3) ? 0x8000 : 0) | (KEY + any(2))));
        kill(node, SIGHUP);
        break;
    case 2:
        change_domains();
        break;
    case 3:
        if (any(6) == 0)
            restart_node();
        break;
    case 4:
        pause_ms((long)any(30));
        break;
    case 5:
        if (any(4) == 0)
            change_grants();
        break;
    case 6:
        if (any(4) == 0)
            go_on_with_own();
        break;
    default:
        ask(fd);
        break;
    }
    read_some(fd);
    read_own();
    assert_own_is_kept();
}

static bool is_all_closed(void)
{
    for (unsigned vf = 0; vf < mlx4.vfs; vf++)
        if (!entry_reads(vf, "0"))
            return false;
    return table()[0] == '\0';
}

static void release_as_recorded(void)
{
    struct oneib_service_list list;
    if (oneib_client_list(&list, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < list.table.count; i++) {
        struct oneib_released released;
        struct oneib_client *client = open_client();
        struct oneib_request request = oneib_request_new(ONEIB_REQUEST_RELEASE);
        request.vm_id = list.table.items[i].vm_id;
        request.nic_id = -1;
        if (oneib_client_release(client, &request, &released, &err) < 0)
            fail_msg("%s", err.text);
        oneib_client_close(client);
    }
    oneib_service_list_clear(&list);
}

/* Every VM, also those that a wrong bit has made. */
static void give_all_back(void)
{
    for (size_t i = 0; i < CONNECTIONS; i++)
        hang_up(&fds[i]);
    hang_up(&own.fd);
    tell_of_domains("");
    const double until = oneib_now_ms() + DEADLINE_MS;
    do {
        release_as_recorded();
        pause_ms(20);
    } while (!is_all_closed() && oneib_now_ms() < until);
    if (!is_all_closed())
        fail_msg("this is left:\n%s", table());
}

static void whatever_is_asked_all_can_be_given_back(void **state)
{
    (void)state;
    const char *wanted = getenv("ONEIB_WALK_SEED");
    const unsigned first = wanted ? (unsigned)strtoul(wanted, NULL, 10) : (unsigned)getpid();
    seed = first;
    print_message("seed %u\n", first);
    for (size_t i = 0; i < CONNECTIONS; i++)
        fds[i] = -1;
    for (unsigned step = 0; step < STEPS; step++)
        take_step();
    give_all_back();
    put_key(KEY_INDEX, 0x8000 | KEY);
    put_key(KEY_INDEX + 1, 0);
    grant_by_network(WANTED_BY_NETWORK);
    kill(node, SIGHUP);
    assert_serves();
}

static int begin(void **state)
{
    make_served_node(state);
    sm_start(&mlx4);
    return 0;
}

static int end(void **state)
{
    sm_stop();
    return remove_node(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(whatever_is_asked_all_can_be_given_back, begin, end),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
