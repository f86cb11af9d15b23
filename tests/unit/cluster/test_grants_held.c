// SPDX-License-Identifier: Apache-2.0
/* Which grants stay because their removal is held, one condition after the other. */
#include "grant_scene.h"

#define KEY 0x101
#define OTHER_PORT UINT64_C(0xabc)

/* What is otherwise than in the case in which the grant stays. */
enum change {
    NOTHING,
    /* of the held removal: VM 4 NIC 0 of network 7, on host 1's mlx4_0 port 1, at KEY */
    HELD_OTHER_PORT = 1 << 0, /* another port of the host */
    HELD_VF = 1 << 1,         /* the VF's own GUID */
    HELD_ON_HOST_2 = 1 << 2,
    HELD_ON_NO_HOST = 1 << 3,
    HELD_OTHER_KEY = 1 << 4,
    HELD_FOR_PORT = 1 << 5, /* the host reports no port for it */
    /* of its partition */
    NO_PARTITION = 1 << 6,
    PARTITION_OF_9 = 1 << 7,
    STATIC_PARTITION = 1 << 8,
    LIMITED_IN_PARTITION = 1 << 9,
    /* of the cloud */
    NO_HOST = 1 << 10,
    NO_PORT = 1 << 11,
    NETWORK_7 = 1 << 12,
    NETWORK_9 = 1 << 13,
    NO_VM = 1 << 14,
    NO_NIC = 1 << 15,
    NIC_ON_HOST_2 = 1 << 16,
    NIC_CAME_FROM_HOST_1 = 1 << 17, /* as a migration that is over leaves it */
    NIC_COMES_FROM_HOST_1 = 1 << 18,
    NIC_COMES_FROM_HOST_3 = 1 << 19,
    NIC_ABSENT = 1 << 20,
    NIC_OF_8 = 1 << 21,
    NIC_IS_MEMBER = 1 << 22,
    /* of the grant */
    KEY_0 = 1 << 23, /* with the held removal and the partition */
    KEY_DEFAULT = 1 << 24,
    LIMITED_GRANT = 1 << 25,
    NO_DEVICE = 1 << 26,
};

static const struct row {
    const char *what;
    unsigned changes;
    char stays; /* 'f', 'l': as a full or limited member; '-': it does not */
} rows[] = {
    {"as it was", NOTHING, 'f'},
    /* What is held is the grant's. */
    {"another port of the host is held", HELD_OTHER_PORT, '-'},
    {"the VF's own GUID is held", HELD_VF | HELD_ON_NO_HOST, 'f'},
    {"another port, of no host", HELD_OTHER_PORT | HELD_ON_NO_HOST, '-'},
    {"the host has no such port", HELD_OTHER_PORT | NO_PORT, 'f'},
    {"... and another host's is held", HELD_OTHER_PORT | NO_PORT | HELD_ON_HOST_2, '-'},
    {"... and no host's", HELD_OTHER_PORT | NO_PORT | HELD_ON_NO_HOST, '-'},
    {"the host is missing", HELD_OTHER_PORT | NO_HOST | HELD_ON_NO_HOST, 'f'},
    {"... and another host's is held", HELD_OTHER_PORT | NO_HOST | HELD_ON_HOST_2, '-'},
    {"another key is held", HELD_OTHER_KEY, '-'},
    /* Its partition is still its. */
    {"its partition is gone", NO_PARTITION, '-'},
    {"network 9's, and neither network is there", PARTITION_OF_9, 'f'},
    {"network 9's, and network 7 is there", PARTITION_OF_9 | NETWORK_7, '-'},
    {"network 9's, and it is there", PARTITION_OF_9 | NETWORK_9, '-'},
    {"a static one's", STATIC_PARTITION, '-'},
    {"it is limited there", LIMITED_IN_PARTITION, 'l'},
    {"it was granted limited", LIMITED_GRANT, 'l'},
    /* Nothing says that it has ended. */
    {"the VM lacks the NIC", NO_NIC, '-'},
    {"the VM lacks the NIC, and the host is missing",
     NO_NIC | NO_HOST | HELD_OTHER_PORT | HELD_ON_NO_HOST, '-'},
    {"the VM was not read, and its host was", NO_NIC | NO_VM, '-'},
    {"neither was read", NO_NIC | NO_VM | NO_HOST | HELD_OTHER_PORT | HELD_ON_NO_HOST, 'f'},
    {"neither was read, and the port is missing",
     NO_NIC | NO_VM | NO_HOST | HELD_FOR_PORT | HELD_OTHER_PORT | HELD_ON_NO_HOST, '-'},
    {"the NIC is on another host", NIC_ON_HOST_2, '-'},
    {"... and was here", NIC_ON_HOST_2 | NIC_CAME_FROM_HOST_1, '-'},
    {"... and comes from here", NIC_ON_HOST_2 | NIC_COMES_FROM_HOST_1, 'f'},
    {"... and comes from a third one", NIC_ON_HOST_2 | NIC_COMES_FROM_HOST_3, '-'},
    {"the NIC has no place", NIC_ABSENT, '-'},
    {"the NIC is another network's", NIC_OF_8, '-'},
    {"the NIC is refused for another reason", NIC_IS_MEMBER, '-'},
    /* The grant is one. */
    {"without a key", KEY_0, '-'},
    {"at the default key", KEY_DEFAULT, '-'},
    {"on no adapter", NO_DEVICE | NO_PORT | HELD_OTHER_PORT, '-'},
};

static oneib_pkey key_of(unsigned changes)
{
    return changes & KEY_0 ? 0 : changes & KEY_DEFAULT ? ONEIB_PKEY_DEFAULT : KEY;
}

static void make_cloud(struct grant_scene *played, unsigned changes)
{
    struct scene *scene = &played->scene;
    if (changes & NETWORK_7)
        add_network(scene, 7, KEY);
    if (changes & NETWORK_9)
        add_network(scene, 9, 0x109);
    if (!(changes & NO_HOST)) {
        struct oneib_host *host = add_empty_host(scene, 1);
        add_port(scene, host, "mlx4_0", 2, UINT64_C(0x12));
        add_port(scene, host, "mlx4_1", 1, UINT64_C(0x21));
        if (!(changes & NO_PORT))
            add_port(scene, host, "mlx4_0", 1, port_of(1));
    }
    add_host(scene, 2);
    if (!(changes & NO_NIC)) {
        struct oneib_attachment *nic =
            add_nic(scene, 4, 0, changes & NIC_OF_8 ? 8 : 7, changes & NIC_ON_HOST_2 ? 2 : 1);
        if (changes & NIC_CAME_FROM_HOST_1)
            nic->source_host_id = 1;
        if (changes & (NIC_COMES_FROM_HOST_1 | NIC_COMES_FROM_HOST_3))
            migrate(nic, changes & NIC_COMES_FROM_HOST_1 ? 1 : 3);
        if (changes & NIC_ABSENT)
            nic->phase = ONEIB_ABSENT;
    }
    know_vms(played, (const uint32_t[]){4}, changes & NO_NIC && !(changes & NO_VM));
}

static struct oneib_held_removal held_of(unsigned changes, oneib_guid vf)
{
    return (struct oneib_held_removal){
        .member = changes & HELD_OTHER_PORT ? OTHER_PORT
                  : changes & HELD_VF       ? vf
                                            : port_of(1),
        .host_id = changes & HELD_ON_HOST_2    ? 2
                   : changes & HELD_ON_NO_HOST ? ONEIB_NO_ID
                                               : 1,
        .pkey = changes & HELD_OTHER_KEY ? KEY + 1 : key_of(changes),
        .reason = changes & HELD_FOR_PORT ? ONEIB_HOLD_PORT_MISSING : ONEIB_HOLD_NETWORK_MISSING};
}

/* Other members come first, limited: they are nothing to it. */
static void make_partition(struct grant_scene *played, unsigned changes, oneib_guid member)
{
    struct oneib_partition *partition =
        add_partition(&played->scene, &played->scene.desired.table,
                      changes & STATIC_PARTITION ? "mine"
                      : changes & PARTITION_OF_9 ? "one9"
                                                 : "one7",
                      changes & NO_PARTITION ? KEY + 2 : key_of(changes));
    add_wildcard(&played->scene, partition, ONEIB_MEMBER_ALL, ONEIB_LIMITED);
    add_guid(&played->scene, partition, UINT64_C(0x1), ONEIB_LIMITED);
    add_guid(&played->scene, partition, member,
             changes & LIMITED_IN_PARTITION ? ONEIB_LIMITED : ONEIB_FULL);
}

static char try_row(struct grant_scene *played, const struct row *row)
{
    static uint8_t status;
    const oneib_guid vf = oneib_guid_encode(SITE, 4, 0);
    struct oneib_held_removal held = held_of(row->changes, vf);
    struct oneib_desired *desired = &played->scene.desired;
    make_cloud(played, row->changes);
    make_partition(played, row->changes, held.member);
    status =
        row->changes & NIC_IS_MEMBER ? ONEIB_MEMBER_STATUS_MEMBER : ONEIB_MEMBER_STATUS_NO_NETWORK;
    desired->member_statuses = &status;
    desired->held = &held;
    desired->held_count = 1;
    static struct oneib_grant_list sent;
    sent = (struct oneib_grant_list){.count = 1};
    sent.items[0] = (struct oneib_grant){.vm_id = 4,
                                         .network_id = 7,
                                         .port = 1,
                                         .pkey = key_of(row->changes),
                                         .limited = row->changes & LIMITED_GRANT,
                                         .guid = vf};
    if (!(row->changes & NO_DEVICE))
        strcpy(sent.items[0].device, "mlx4_0");
    const struct oneib_node_snapshot node = {
        .host_id = 1, .state = ONEIB_NODE_FOLLOWS, .table_known = true, .sent = &sent};
    const struct oneib_grants_input input = {.cloud = &played->scene.cloud,
                                             .policy = &played->scene.policy,
                                             .desired = desired,
                                             .nodes = &node,
                                             .node_count = 1};
    oneib_grants_compute(&input, &played->grants, &played->findings);
    desired->held = NULL;
    desired->held_count = 0;
    desired->member_statuses = NULL;
    const struct oneib_grant *grant = granted(played, 1, 4, 0);
    return !grant ? '-' : grant->limited ? 'l' : 'f';
}

static void
a_grant_stays_while_its_own_removal_is_held_and_nothing_says_that_it_has_ended(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *played = NULL;
        assert_int_equal(grant_scene_make(&played), 0);
        const char stays = try_row(played, &rows[i]);
        if (stays != rows[i].stays)
            fail_msg("%s: '%c', not '%c'", rows[i].what, stays, rows[i].stays);
        assert_int_equal(grant_scene_free(&played), 0);
    }
}

/* A new daemon has sent nothing: what is held is the node's own VF, as it was. */
static void of_a_node_that_was_sent_nothing_the_vf_that_is_open_is_granted_as_it_is(void **state)
{
    struct grant_scene *played = *state;
    add_network_7(played, 1);
    add_nic(&played->scene, 4, 3, 7, 1);
    PUT_IN_FORCE(played, "one7", KEY, port_of(1));
    know_vms(played, NULL, 0);
    oneib_ledger_clear(&played->scene.ledger);
    oneib_network_clear(&played->scene.cloud.networks[--played->scene.cloud.network_count]);
    struct oneib_vf_record *record = report(played, 1, 4, 7, KEY);
    record->nic_id = 3;
    record->limited = true;
    record->vf = (struct oneib_pci){.bus = 0x17, .function = 5};
    grant_all(played);
    const struct oneib_grant *grant = granted(played, 1, 4, 3);
    assert_non_null(grant);
    assert_true(grant->limited);
    assert_int_equal(oneib_pci_compare(&grant->vf, &record->vf), 0);
    /* Once it was sent something, that alone counts. */
    static struct oneib_grant_list nothing;
    node_of(played, 1)->sent = &nothing;
    grant_all(played);
    assert_true(played->held > 0);
    assert_null(granted(played, 1, 4, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_grant_stays_while_its_own_removal_is_held_and_nothing_says_that_it_has_ended),
        GRANT_TEST(of_a_node_that_was_sent_nothing_the_vf_that_is_open_is_granted_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
