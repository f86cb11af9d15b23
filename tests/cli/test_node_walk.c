// SPDX-License-Identifier: Apache-2.0
/*
 * Whatever is asked of oneib-node, in whatever order, by callers that come, go and are cut off in
 * the middle, while keys move, grants change, domains come and go, oneibd is restarted and the
 * service is killed: in the end all can be
 * given back, and every VF is closed. ONEIB_WALK_SEED chooses the walk.
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

static void change_domains(void)
{
    static const char *const all[] = {"", DOMAIN("one-1", HOSTDEV("1")),
                                      DOMAIN("one-2", HOSTDEV("2") HOSTDEV("3")),
                                      DOMAIN("one-1", HOSTDEV("2")) DOMAIN("other", HOSTDEV("4"))};
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
    default:
        ask(fd);
        break;
    }
    read_some(fd);
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
