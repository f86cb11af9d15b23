// SPDX-License-Identifier: Apache-2.0
/*
 * The scheduler's placer "ib" as OpenNebula 7's one_sched runs it, with a stand-in for OpenNebula's
 * own placer "rank", which keeps what it is given.
 */
#include "base/base64.h"
#include "base/clock.h"
#include "cluster/cloud.h"
#include "scheduler_scene.h"
#include <fcntl.h>
#include <time.h>

#define ALL "<ID>0</ID><ID>1</ID><ID>2</ID>"
#define PLAN "<PLAN><ID>-1</ID></PLAN>"

static struct lab_output output;

/* ---- the front-end --------------------------------------------------------------------------- */

static void write_placer(const char *script)
{
    MUST(lab_write(lab, "rank-standin", 0700, script, &err));
}

static int raise_lab(void **state)
{
    (void)state;
    raise_front_end();
    write_placer("#!/bin/sh\ncat >given\necho 'rank was here' >&2\nprintf '" PLAN "'\n");
    return 0;
}

static int end_lab(void **state)
{
    (void)state;
    lab_output_clear(&output);
    return end_front_end();
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, raise_lab, end_lab)

/* ---- what oned sends ------------------------------------------------------------------------- */

static void append_object(const char *method, uint32_t id, struct oneib_text *text)
{
    const int integers[] = {(int)id, 0};
    oneib_autofree char *document = NULL;
    MUST(lab_call_document(lab, method, lab_session(lab), integers, 2, &document, &err));
    oneib_text_append(text, strstr(document, "<"));
}

/* Of which a message shows the text that its owner has broken; ONEIB_NO_ID: none. */
static uint32_t broken = ONEIB_NO_ID;

static void append_vm(uint32_t id, struct oneib_text *text)
{
    if (id == broken)
        oneib_text_append(text, "<A>");
    append_object("one.vm.info", id, text);
}

/* In base64, freed by the caller: these VMs may go to all hosts. */
static char *message_for(const uint32_t *vms, size_t count)
{
    oneib_autotext struct oneib_text text = {0};
    oneib_text_append(&text, "<SCHEDULER_DRIVER_ACTION><VM_POOL>");
    for (size_t i = 0; i < count; i++)
        append_vm(vms[i], &text);
    oneib_text_append(&text, "</VM_POOL><HOST_POOL>");
    for (uint32_t i = 0; i < HOSTS; i++)
        append_object("one.host.info", i, &text);
    oneib_text_append(&text, "</HOST_POOL><DATASTORE_POOL></DATASTORE_POOL><VNET_POOL></VNET_POOL>"
                             "<VM_GROUP_POOL/><CLUSTER_POOL></CLUSTER_POOL><REQUIREMENTS>");
    for (size_t i = 0; i < count; i++)
        oneib_text_printf(&text,
                          "<VM><ID>%" PRIu32 "</ID><HOSTS>" ALL
                          "</HOSTS><DATASTORES><ID>0</ID></DATASTORES></VM>",
                          vms[i]);
    oneib_text_append(&text, "</REQUIREMENTS></SCHEDULER_DRIVER_ACTION>");
    size_t length;
    char *encoded = oneib_base64_encode(text.data, text.length, &length);
    assert_non_null(encoded);
    return encoded;
}

/* ---- the placer ------------------------------------------------------------------------------ */

static void place_with(const char *placer, const char *message, int status)
{
    MUST(lab_write(lab, "message", 0600, message, &err));
    const char *const argv[] = {"/bin/sh",
                                "-c",
                                "exec \"$0\" --config \"$1\" \"$2\" <message",
                                SCHEDULER_PLACE,
                                lab_config_path(lab),
                                placer,
                                NULL};
    lab_output_clear(&output);
    MUST(lab_run(lab, NULL, argv, TIMEOUT_MS, &output, &err));
    if (output.status != status)
        fail_msg("status %d: %s%s", output.status, output.out, output.error);
}

static void place(const char *message, int status)
{
    place_with("./rank-standin", message, status);
}

/* What OpenNebula's own placer was given, decoded; to be freed. */
static char *given(void)
{
    oneib_autofree char *text = lab_read_from(lab, "given", 0);
    size_t length;
    char *decoded = oneib_base64_decode(text, strlen(text), &length);
    assert_non_null(decoded);
    return decoded;
}

static void must_be_given(const char *message)
{
    oneib_autofree char *text = lab_read_from(lab, "given", 0);
    assert_string_equal(text, message);
}

/* The hosts that the VM may have by what the placer was given. */
static void must_have(uint32_t vm, const char *hosts)
{
    oneib_autofree char *text = given();
    char wanted[160];
    snprintf(wanted, sizeof wanted, "<VM><ID>%" PRIu32 "</ID><HOSTS>%s</HOSTS>", vm, hosts);
    if (!strstr(strstr(text, "<REQUIREMENTS>"), wanted))
        fail_msg("%s is not in %s", wanted, strstr(text, "<REQUIREMENTS>"));
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void a_vm_comes_to_the_leaf_where_its_cluster_runs(void **state)
{
    (void)state;
    uint32_t member;
    MUST(lab_vm_start(lab, "runs", &red, 1, 2, &member, &err));
    const uint32_t vms[] = {pending(&red), pending(NULL)};
    oneib_autofree char *message = message_for(vms, 2);
    place(message, 0);
    must_have(vms[0], "<ID>2</ID>");
    must_have(vms[1], ALL);
    assert_string_equal(output.out, PLAN);
    assert_string_equal(output.error, "rank was here\n");
}

/* The leaf of a full host is asked of oned: nobody fits there, so no message has it. */
static void the_leaf_of_a_full_host_counts(void **state)
{
    (void)state;
    uint32_t member, full;
    MUST(lab_host_create_bare(lab, "full", &full, &err));
    place_host(full, "0x0000000000200002", 0);
    MUST(lab_vm_start(lab, "runs", &red, 1, full, &member, &err));
    const uint32_t vm = pending(&red);
    oneib_autofree char *message = message_for(&vm, 1);
    place(message, 0);
    must_have(vm, "<ID>2</ID>");
}

static void two_vms_do_not_meet_at_the_last_function(void **state)
{
    (void)state;
    place_host(0, "0x0000000000200001", 1);
    place_host(1, "0x0000000000200001", 0);
    place_host(2, "0x0000000000200002", 0);
    const uint32_t vms[] = {pending(&red), pending(&red)};
    oneib_autofree char *message = message_for(vms, 2);
    place(message, 0);
    must_have(vms[0], "<ID>0</ID>");
    must_have(vms[1], "");
}

static void a_network_that_is_to_be_anywhere_is(void **state)
{
    (void)state;
    uint32_t member;
    MUST(lab_network_update(lab, red, "IB_PLACEMENT=any", &err));
    MUST(lab_vm_start(lab, "runs", &red, 1, 2, &member, &err));
    const uint32_t vm = pending(&red);
    oneib_autofree char *message = message_for(&vm, 1);
    place(message, 0);
    must_have(vm, ALL);
}

static void without_infiniband_oned_is_not_asked(void **state)
{
    (void)state;
    unsigned before, after;
    const uint32_t vm = pending(NULL);
    oneib_autofree char *message = message_for(&vm, 1);
    MUST(lab_calls(lab, "", &before, &err));
    place(message, 0);
    MUST(lab_calls(lab, "", &after, &err));
    assert_int_equal(after, before);
    must_be_given(message);
    assert_string_equal(output.error, "rank was here\n");
}

/* ---- texts that their owners have broken ------------------------------------------------------ */

static void a_vm_that_cannot_be_read_costs_its_neighbours_nothing(void **state)
{
    (void)state;
    uint32_t member;
    char words[64];
    MUST(lab_vm_start(lab, "runs", &red, 1, 2, &member, &err));
    const uint32_t vms[] = {pending(&red), pending(&red), pending(NULL)};
    broken = vms[0];
    oneib_autofree char *message = message_for(vms, 3);
    broken = ONEIB_NO_ID;
    MUST(lab_vm_write(lab, vms[0], NO_END, &err));
    place(message, 0);
    must_have(vms[0], ALL);
    must_have(vms[1], "<ID>2</ID>");
    must_have(vms[2], ALL);
    snprintf(words, sizeof words, "VM %" PRIu32 " cannot be read", vms[0]);
    assert_non_null(strstr(output.error, words));
}

/* It asks for VMs of its network, too: members, and who waits in others. */
static void members_and_networks_that_cannot_be_read_cost_nobody_anything(void **state)
{
    (void)state;
    uint32_t member, spoilt, blue;
    MUST(lab_network_create(lab, "blue", "258", NULL, &blue, &err));
    MUST(lab_vm_start(lab, "runs", &red, 1, 2, &member, &err));
    MUST(lab_vm_start(lab, "spoilt", &red, 1, 1, &spoilt, &err));
    MUST(lab_vm_write(lab, spoilt, NO_END, &err));
    MUST(lab_network_update(lab, blue, "NOTE=" NO_END, &err));
    const uint32_t vms[] = {pending(&red), pending(&blue)};
    oneib_autofree char *message = message_for(vms, 2);
    place(message, 0);
    must_have(vms[0], "<ID>2</ID>");
    assert_non_null(strstr(output.error, "cannot be read, and keeps nobody near"));
    assert_null(strstr(output.error, "alone this time"));
}

/* ---- doubt ----------------------------------------------------------------------------------- */

static void must_be_left(const char *message, const char *why)
{
    place(message, 0);
    must_be_given(message);
    if (!strstr(output.error, why) || !strstr(output.error, "OpenNebula's alone this time"))
        fail_msg("\"%s\" does not say \"%s\"", output.error, why);
    assert_string_equal(output.out, PLAN);
}

static void a_message_that_is_none_is_passed_on_as_it_came(void **state)
{
    (void)state;
    const uint32_t vm = pending(&red);
    oneib_autofree char *message = message_for(&vm, 1);
    must_be_left("?", "is not base64");
    must_be_left("bm9uc2Vuc2U=", "is none");
    message[strlen(message) / 8 * 4] = '\0';
    must_be_left(message, "the scheduler's message");
}

static void without_oned_the_message_is_passed_on_as_it_came(void **state)
{
    (void)state;
    const uint32_t vm = pending(&red);
    oneib_autofree char *message = message_for(&vm, 1);
    MUST(lab_standin_stop(lab, &err));
    must_be_left(message, "one.vn.info");
}

static void an_oned_that_hangs_costs_five_seconds(void **state)
{
    (void)state;
    const uint32_t vm = pending(&red);
    oneib_autofree char *message = message_for(&vm, 1);
    MUST(lab_fault(lab, "hang", 1000, 60, &err));
    const double began = oneib_now_ms();
    must_be_left(message, "");
    assert_true(oneib_now_ms() - began >= 4000);
    assert_true(oneib_now_ms() - began < 30000);
    MUST(lab_fault(lab, "hang", 0, 0, &err));
}

static void without_oneibd_the_message_is_passed_on_as_it_came(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < HOSTS; i++)
        MUST(lab_host_update(lab, i, "IB_VFS_FREE=\"\"", &err));
    const uint32_t vm = pending(&red);
    oneib_autofree char *message = message_for(&vm, 1);
    must_be_left(message, "oneibd is not at work");
}

static void what_the_placer_says_and_ends_with_is_passed_on(void **state)
{
    (void)state;
    const uint32_t vm = pending(&red);
    oneib_autofree char *message = message_for(&vm, 1);
    write_placer("#!/bin/sh\ncat >given\necho nonsense\necho 'no licence' >&2\nexit 7\n");
    place(message, 7);
    assert_string_equal(output.out, "nonsense\n");
    assert_string_equal(output.error, "no licence\n");
}

static void without_a_placer_nobody_is_placed_and_it_is_named(void **state)
{
    (void)state;
    const uint32_t vm = pending(&red);
    oneib_autofree char *message = message_for(&vm, 1);
    place_with("./no-such-placer", message, 3);
    assert_string_equal(output.out, "");
    assert_non_null(strstr(output.error, "no-such-placer"));
}

/* ---- links ----------------------------------------------------------------------------------- */

#define SWITCH(n) "0x000000000020000" n
#define PORT(n) "0x000000000000000" n
#define CABLE(leaf, at, port) "link " SWITCH(leaf) " " at " 1 " PORT(port) "\n"
/* Another cluster of SL 3 has a member on host 0. */
static const char links[] =
    "oneib-links 1\n"
    "port " PORT("1") " 1\nport " PORT("2") " 2\nport " PORT("3") " 3\n" CABLE("1", "1", "1")
        CABLE("1", "2", "2") CABLE("2", "1", "3") "exits " SWITCH("1") " ff0102ff\nexits " SWITCH(
            "2") " ffffff01\n"
                 "host 0 " PORT("1") "\nhost 1 " PORT("2") "\nhost 2 " PORT(
                     "3") "\n"
                          "cluster 99 3 " PORT("1") "\nend\n";

static const char *links_path(void)
{
    return lab_path(lab, "links");
}

static void know_links(const char *text, const char *more)
{
    char qos[512];
    const struct lab_config config = {.other = qos};
    snprintf(qos, sizeof qos,
             "qos = { classes = [\"silver: weight 32, SL 3\"]; links_file = \"%s\"; %s };",
             links_path(), more);
    MUST(lab_config_write(lab, &config, &err));
    MUST(lab_network_update(lab, red, "IB_SL=3", &err));
    if (text)
        MUST(lab_write(lab, "links", 0644, text, &err));
}

/* A VM that waits beside its cluster's member on host 1; freed by the caller. */
static char *message_beside_a_member(uint32_t *vm)
{
    uint32_t member;
    MUST(lab_vm_start(lab, "runs", &red, 1, 1, &member, &err));
    *vm = pending(&red);
    return message_for(vm, 1);
}

static void a_host_where_it_would_share_a_link_with_another_of_its_level_comes_last(void **state)
{
    (void)state;
    uint32_t vm;
    oneib_autofree char *message = message_beside_a_member(&vm);
    place(message, 0);
    must_have(vm, "<ID>0</ID><ID>1</ID>");
    know_links(links, "");
    place(message, 0);
    must_have(vm, "<ID>1</ID>");
}

static void only_with_exclusive_it_waits_where_there_is_no_other_one(void **state)
{
    (void)state;
    uint32_t vm;
    place_host(1, "0x0000000000200001", 0);
    place_host(2, "0x0000000000200002", 0);
    oneib_autofree char *message = message_beside_a_member(&vm);
    know_links(links, "");
    place(message, 0);
    must_have(vm, "<ID>0</ID>");
    know_links(links, "exclusive = true;");
    place(message, 0);
    must_have(vm, "");
}

static void links_that_are_old_missing_or_nonsense_leave_the_message_as_it_came(void **state)
{
    (void)state;
    uint32_t vm;
    oneib_autofree char *message = message_beside_a_member(&vm);
    know_links(NULL, "");
    must_be_left(message, "does not exist");
    know_links("oneib-links 1\n", "");
    must_be_left(message, "line 2 is not as oneibd writes it");
    know_links(links, "");
    const struct timespec times[] = {{.tv_sec = time(NULL) - 31}, {.tv_sec = time(NULL) - 31}};
    assert_int_equal(utimensat(AT_FDCWD, links_path(), times, 0), 0);
    must_be_left(message, "is not of the last 30 seconds");
    know_links(links, "");
    place(message, 0);
    must_have(vm, "<ID>1</ID>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_vm_comes_to_the_leaf_where_its_cluster_runs),
        CASE(the_leaf_of_a_full_host_counts),
        CASE(two_vms_do_not_meet_at_the_last_function),
        CASE(a_network_that_is_to_be_anywhere_is),
        CASE(without_infiniband_oned_is_not_asked),
        CASE(a_vm_that_cannot_be_read_costs_its_neighbours_nothing),
        CASE(members_and_networks_that_cannot_be_read_cost_nobody_anything),
        CASE(a_message_that_is_none_is_passed_on_as_it_came),
        CASE(without_oned_the_message_is_passed_on_as_it_came),
        CASE(an_oned_that_hangs_costs_five_seconds),
        CASE(without_oneibd_the_message_is_passed_on_as_it_came),
        CASE(what_the_placer_says_and_ends_with_is_passed_on),
        CASE(a_host_where_it_would_share_a_link_with_another_of_its_level_comes_last),
        CASE(only_with_exclusive_it_waits_where_there_is_no_other_one),
        CASE(links_that_are_old_missing_or_nonsense_leave_the_message_as_it_came),
        CASE(without_a_placer_nobody_is_placed_and_it_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
