// SPDX-License-Identifier: Apache-2.0
/* Those who call oneib-node: many, slow, silent, malicious, killed. */
#include "node_scene.h"

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

#define SERVED(test) cmocka_unit_test_setup_teardown(test, make_served_node, remove_node)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVED(a_nic_has_a_vf_and_gives_it_back),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
