// SPDX-License-Identifier: Apache-2.0
/* The stand-in for oneib-node, as callers of oneib-node see it: they are tested with it. */
#include "../hca/tree.h"
#include "service/service_client.h"
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../node_standin.h"

static struct oneib_error err;
static struct oneib_client *client;

static int begin(void **state)
{
    tree_reset(state);
    tree_remove("/calls");
    tree_remove("/refuse");
    tree_remove("/domains");
    start_node_standin();
    return oneib_client_open(&client, &err);
}

static int end(void **state)
{
    (void)state;
    oneib_client_close(client);
    stop_node_standin();
    return 0;
}

static struct oneib_request have(uint8_t nic_id)
{
    struct oneib_request request = oneib_request_new(ONEIB_REQUEST_HAVE);
    request.vm_id = 42;
    request.nic_id = nic_id;
    request.network_id = 7;
    request.numa_node = -1;
    return request;
}

static struct oneib_request release_of(int32_t nic_id)
{
    struct oneib_request request = oneib_request_new(ONEIB_REQUEST_RELEASE);
    request.vm_id = 42;
    request.nic_id = nic_id;
    return request;
}

static struct oneib_vf_record must_have(const struct oneib_request *request)
{
    struct oneib_vf_record record = {0};
    if (oneib_client_have(client, request, 0, &record, &err) < 0)
        fail_msg("%s", err.text);
    return record;
}

static struct oneib_released must_release(const struct oneib_request *request)
{
    struct oneib_released released = {0};
    if (oneib_client_release(client, request, &released, &err) < 0)
        fail_msg("%s", err.text);
    return released;
}

static void assert_calls(const char *expected)
{
    char text[1024];
    char *path = tree_path("/calls");
    FILE *file = fopen(path, "r");
    free(path);
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, expected);
}

static void it_gives_and_takes_and_notes_what_it_was_asked(void **state)
{
    (void)state;
    struct oneib_request request = have(1);
    assert_int_equal(must_have(&request).stage, ONEIB_VF_OPEN);
    request = have(2);
    request.flags = ONEIB_HAVE_DEFER_GUID | ONEIB_HAVE_ATTACH;
    tree_write("42 2 0x0006 0000:82:00.3", "/grants");
    const struct oneib_vf_record record = must_have(&request);
    assert_int_equal(record.pkey, 6);
    assert_int_equal(record.guid, ONEIB_VF_GUID_DEFERRED);
    assert_int_equal(record.vf.bus, 0x82);
    assert_int_equal(oneib_client_wait(client, 0, &err), 0);
    request = release_of(1);
    request.flags = ONEIB_RELEASE_NIC_GONE;
    assert_int_equal(must_release(&request).freed, 1);
    struct oneib_service_list list;
    assert_int_equal(oneib_client_list(&list, &err), 0);
    assert_int_equal(list.table.count, 1);
    assert_true(list.domains_known);
    oneib_service_list_clear(&list);
    assert_calls("have --vm 42 --nic 1 --network 7\n"
                 "have --vm 42 --nic 2 --defer-guid --attach --network 7\n"
                 "wait\n"
                 "release --vm 42 --nic 1 --nic-gone\n"
                 "list\n");
}

static void it_refuses_what_it_is_told_to(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    struct oneib_request request = have(1);
    tree_write("--nic 1 ", "/refuse");
    assert_int_equal(oneib_client_have(client, &request, 0, &record, &err), -1);
    assert_string_equal(err.text, "the stand-in refuses");
    request = have(2);
    must_have(&request);
    tree_write("wait", "/refuse");
    assert_int_equal(oneib_client_wait(client, 0, &err), -1);
    assert_string_equal(err.text, "the stand-in refuses");
}

static void it_tells_of_the_domains_that_a_file_has(void **state)
{
    (void)state;
    struct oneib_service_list list;
    const struct oneib_request request = have(1), release = release_of(-1);
    must_have(&request);
    tree_write("running one-42 0000:81:00.3 0000:81:00.4\ndefined mine", "/domains");
    assert_int_equal(oneib_client_list(&list, &err), 0);
    assert_int_equal(list.domains.count, 2);
    assert_int_equal(list.domains.items[0].device_count, 2);
    assert_int_equal(list.domains.items[0].vm_id, 42);
    assert_false(list.domains.items[1].running);
    oneib_service_list_clear(&list);
    assert_int_equal(must_release(&release).left, 1);
    tree_write("unknown libvirt is down", "/domains");
    assert_int_equal(oneib_client_list(&list, &err), 0);
    assert_false(list.domains_known);
    assert_string_equal(list.why.text, "libvirt is down");
    oneib_service_list_clear(&list);
}

static void nobody_answers_when_it_has_ended(void **state)
{
    (void)state;
    struct oneib_client *other;
    stop_node_standin();
    assert_int_equal(oneib_client_open(&other, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
}

#define CALL(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CALL(it_gives_and_takes_and_notes_what_it_was_asked),
        CALL(it_refuses_what_it_is_told_to),
        CALL(it_tells_of_the_domains_that_a_file_has),
        CALL(nobody_answers_when_it_has_ended),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
