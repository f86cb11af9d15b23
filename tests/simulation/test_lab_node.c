// SPDX-License-Identifier: Apache-2.0
/* Simulated nodes: their trees follow the fabric, and their programs are called as OpenNebula calls
 * them. */
#include "structure.h"

#include "base/base64.h"
#include "node_scene.h"

#define DELETED "ffffffffffffffff"

/* ---- trees ----------------------------------------------------------------------------------- */

static void a_tree_shows_its_port_without_the_last_entry_of_the_table(void **state)
{
    char value[64], wanted[64];
    const uint64_t guid = lab_host_port_guid(lab, 1);
    (void)state;
    snprintf(wanted, sizeof wanted, "fe80:0000:0000:0000:0000:0000:%04x:%04x",
             (unsigned)(guid >> 16), (unsigned)(guid & 0xffff));
    read_attribute(1, "mlx4_0/ports/1/gids/0", value, sizeof value);
    assert_string_equal(value, wanted);
    await_attribute(1, "mlx4_0/ports/1/state", "4: ACTIVE");
    await_attribute(1, "mlx4_0/ports/1/rate", "10 Gb/sec (4X)"); /* all links of ibsim */
    assert_int_equal(index_in_tree(1, CLOSED), 0);
    assert_true(has_attribute(1, "mlx4_0/ports/1/pkeys/62"));
    assert_false(has_attribute(1, "mlx4_0/ports/1/pkeys/63"));
}

static void keys_that_come_and_go_are_seen_in_the_tree(void **state)
{
    (void)state;
    set_partitions((const uint16_t[]){5, 6, 0});
    await_key(5, true);
    await_key(6, true);
    set_partitions((const uint16_t[]){6, 0});
    await_key(5, false);
    await_key(6, true);
}

static void a_link_that_goes_down_is_seen_in_the_tree(void **state)
{
    (void)state;
    await_attribute(0, "mlx4_0/ports/1/state", "4: ACTIVE");
    ok(lab_fabric_link(lab, 0, false, &err));
    await_attribute(0, "mlx4_0/ports/1/state", "1: DOWN");
    assert_int_equal(index_in_tree(0, CLOSED), 0);
    ok(lab_fabric_link(lab, 0, true, &err));
    sweep_until(0, "mlx4_0/ports/1/state", "4: ACTIVE");
}

#define ADMIN(n) "mlx4_0/iov/ports/1/admin_guids/" #n
#define GID(n) "mlx4_0/iov/ports/1/gids/" #n
#define GID_PREFIX "fe80:0000:0000:0000:"

static void a_guid_is_accepted_at_one_port_at_a_time(void **state)
{
    (void)state;
    await_attribute(0, "mlx4_0/ports/1/state", "4: ACTIVE");
    write_attribute(0, ADMIN(1), "200000000002a01");
    await_attribute(0, GID(1), GID_PREFIX "0200:0000:0000:2a01");
    write_attribute(1, ADMIN(3), "0x0200000000002a01");
    lab_sleep_ms(100);
    await_attribute(1, GID(3), GID_PREFIX "0000:0000:0000:0000");
    write_attribute(0, ADMIN(1), DELETED);
    await_attribute(0, GID(1), GID_PREFIX "0000:0000:0000:0000");
    await_attribute(1, GID(3), GID_PREFIX "0200:0000:0000:2a01");
}

static void a_guid_whose_deletion_is_refused_stays_until_it_is_not(void **state)
{
    (void)state;
    write_attribute(0, ADMIN(1), "200000000002a01");
    await_attribute(0, GID(1), GID_PREFIX "0200:0000:0000:2a01");
    ok(lab_node_hold_guids(lab, 0, true, &err));
    write_attribute(0, ADMIN(1), DELETED);
    lab_sleep_ms(100);
    await_attribute(0, GID(1), GID_PREFIX "0200:0000:0000:2a01");
    ok(lab_node_hold_guids(lab, 0, false, &err));
    await_attribute(0, GID(1), GID_PREFIX "0000:0000:0000:0000");
}

/* ---- calls of the network driver ------------------------------------------------------------- */

/* In place of the driver: keeps what it is given. */
static void record_action(void)
{
    ok(lab_write(lab, "programs/driver", 0755,
                 "#!/bin/sh\nprintf '%s\\n' \"$@\" >\"$ONEIB_NODE_ROOT/run/argv\"\n"
                 "cat >\"$ONEIB_NODE_ROOT/run/stdin\"\n",
                 &err));
}

static char *read_recorded(size_t host, const char *name)
{
    char path[256], *data = NULL;
    size_t length;
    snprintf(path, sizeof path, "%s/run/%s", lab_node_root(lab, host), name);
    ok(oneib_file_read(path, (size_t)1 << 20, &data, &length, &err));
    return data;
}

static void assert_recorded(size_t host, const char *argv, const char *document)
{
    /* What differs between the recorded networks and the stand-in's. */
    static const char *const without[] = {"GATEWAY", "IB_LIMITED", "MTU", "VLAN_ID", NULL};
    oneib_autofree char *our_argv = read_recorded(host, "argv");
    oneib_autofree char *input = read_recorded(host, "stdin");
    size_t decoded;
    oneib_autofree char *ours = oneib_base64_decode(input, strlen(input), &decoded);
    assert_string_equal(our_argv, argv);
    assert_int_equal(strchr(input, '\n') - input, strlen(input) - 1);
    assert_non_null(ours);
    assert_same_structure(ours, document, without);
}

static void the_driver_gets_arguments_and_documents_as_recorded_from_a_migration(void **state)
{
    uint32_t host, network, vm;
    (void)state;
    ok(lab_host_create_bare(lab, "H1", &host, &err));
    ok(lab_host_create_bare(lab, "H2", &host, &err));
    ok(lab_network_create(lab, "blue", "5", NULL, &network, &err));
    ok(lab_vm_start(lab, "vm", &network, 1, 0, &vm, &err));
    ok(lab_vm_migrate(lab, vm, 1, LCM_MIGRATE, &err));
    record_action();
    ok(lab_node_driver(lab, 0, "clean", vm, &err));
    assert_recorded(0, "clean\nH1\n", "actions/0053-vnm.ibrec.clean.vm2/stdin.decoded");
    ok(lab_node_driver(lab, 1, "post", vm, &err));
    assert_recorded(1, "post\n5dec61fb-6338-452b-9e09-000000000000\nH1\n",
                    "actions/0054-vnm.ibrec.post.vm2/stdin.decoded");
}

static void the_host_shows_what_its_probe_found(void **state)
{
    const int id = 1;
    char guid[64];
    oneib_autofree char *document = NULL;
    (void)state;
    await_attribute(1, "mlx4_0/ports/1/state", "4: ACTIVE");
    ok(lab_add_nodes(lab, &err));
    ok(lab_call_document(lab, "one.host.info", lab_session(lab), &id, 1, &document, &err));
    snprintf(guid, sizeof guid, "<PORT_GUID><![CDATA[0x%016" PRIx64 "]]>",
             lab_host_port_guid(lab, 1));
    assert_non_null(strstr(document, guid));
    assert_non_null(strstr(document, "<IB_VFS_TOTAL><![CDATA[7]]>"));
    assert_non_null(strstr(document, "<IB_PORTS_ACTIVE><![CDATA[1]]>"));
    assert_non_null(strstr(document, "<PKEYS_MAX><![CDATA[63]]>"));
}

int main(void)
{
    if (lab_missing()) {
        fprintf(stderr, "%s is not installed\n", lab_missing());
        return LAB_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        hasty(a_tree_shows_its_port_without_the_last_entry_of_the_table),
        hasty(keys_that_come_and_go_are_seen_in_the_tree),
        hasty(a_link_that_goes_down_is_seen_in_the_tree),
        hasty(a_guid_is_accepted_at_one_port_at_a_time),
        hasty(a_guid_whose_deletion_is_refused_stays_until_it_is_not),
        hasty(the_driver_gets_arguments_and_documents_as_recorded_from_a_migration),
        hasty(the_host_shows_what_its_probe_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
