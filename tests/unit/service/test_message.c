// SPDX-License-Identifier: Apache-2.0
#include "service/service_message.h"
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct oneib_error err;

/* ---- requests -------------------------------------------------------------------------------- */

static struct oneib_request have(void)
{
    struct oneib_request request = oneib_request_new(ONEIB_REQUEST_HAVE);
    request.flags = ONEIB_HAVE_DEFER_GUID;
    request.vm_id = 42;
    request.nic_id = 1;
    request.network_id = 7;
    request.numa_node = -1;
    return request;
}

static struct oneib_request announce(void)
{
    struct oneib_daemons daemons = {.count = 2};
    strcpy(daemons.items[0].address, "tcp://10.0.0.1:2633");
    strcpy(daemons.items[1].address, "tcp://10.0.0.2:2633");
    for (size_t i = 0; i < daemons.count; i++) {
        memset(daemons.items[i].curve, (int)(3 * i + 1), ONEIB_PUBLIC_KEY_SIZE);
        memset(daemons.items[i].sign, (int)(3 * i + 2), ONEIB_PUBLIC_KEY_SIZE);
    }
    return oneib_request_announcing(&daemons);
}

static struct oneib_request release(void)
{
    struct oneib_request request = oneib_request_new(ONEIB_REQUEST_RELEASE);
    request.vm_id = 42;
    request.nic_id = -1;
    return request;
}

static struct oneib_request release_vf(void)
{
    struct oneib_request request = oneib_request_new(ONEIB_REQUEST_RELEASE_VF);
    request.vm_id = 42;
    request.vf = (struct oneib_pci){0x10, 0x81, 3, 1};
    return request;
}

static void assert_same_request(const struct oneib_request *taken,
                                const struct oneib_request *request)
{
    assert_int_equal(taken->kind, request->kind);
    assert_int_equal(taken->flags, request->flags);
    assert_int_equal(taken->vm_id, request->vm_id);
    assert_int_equal(taken->nic_id, request->nic_id);
    assert_int_equal(taken->network_id, request->network_id);
    assert_int_equal(taken->numa_node, request->numa_node);
    assert_int_equal(oneib_pci_compare(&taken->vf, &request->vf), 0);
    assert_int_equal(taken->daemon_count, request->daemon_count);
    assert_memory_equal(taken->daemons, request->daemons, sizeof request->daemons);
}

static void assert_request_taken(const struct oneib_request *request)
{
    struct oneib_request packed, taken, again;
    oneib_request_pack(request, &packed);
    if (oneib_request_check(&packed, sizeof packed, &taken, &err) < 0)
        fail_msg("%s", err.text);
    assert_same_request(&taken, request);
    oneib_request_pack(&taken, &again);
    assert_memory_equal(&packed, &again, sizeof packed);
}

static void assert_bytes_refused(const void *bytes, size_t length, const char *why)
{
    struct oneib_request taken = {.vm_id = 4711};
    err = (struct oneib_error){0};
    if (oneib_request_check(bytes, length, &taken, &err) == 0)
        fail_msg("this was taken for a request, instead of: %s", why);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    if (!strstr(err.text, why))
        fail_msg("\"%s\" does not tell of \"%s\"", err.text, why);
    assert_int_equal(taken.vm_id, 4711);
}

/* Packed by hand: what packing would leave out is to be there. */
static void assert_request_refused(const struct oneib_request *request, const char *why)
{
    struct oneib_request bytes;
    oneib_request_pack(request, &bytes);
    memcpy(bytes.daemons, request->daemons, sizeof bytes.daemons);
    bytes.daemon_count = request->daemon_count;
    bytes.nic_id = request->nic_id;
    bytes.vm_id = request->vm_id;
    bytes.vf.slot = request->vf.slot;
    bytes.vf.function = request->vf.function;
    assert_bytes_refused(&bytes, sizeof bytes, why);
}

static void every_kind_of_request_is_taken_as_it_was_made(void **state)
{
    (void)state;
    struct oneib_request request = have();
    assert_request_taken(&request);
    request.vm_id = request.network_id = INT32_MAX;
    request.nic_id = 0;
    assert_request_taken(&request);
    request.nic_id = 255;
    request.numa_node = INT16_MAX;
    request.flags = ONEIB_HAVE_ATTACH | ONEIB_HAVE_DEFER_GUID;
    assert_request_taken(&request);
    request = announce();
    assert_request_taken(&request);
    request.flags = ONEIB_ANNOUNCE_TRUSTED;
    assert_request_taken(&request);
    request.daemon_count = ONEIB_DAEMONS_MAX;
    request.daemons[ONEIB_DAEMONS_MAX - 1] = request.daemons[0];
    assert_request_taken(&request);
    request = release();
    assert_request_taken(&request);
    request.nic_id = 255;
    request.flags = ONEIB_RELEASE_NIC_GONE;
    assert_request_taken(&request);
    request = release_vf();
    assert_request_taken(&request);
    request = oneib_request_new(ONEIB_REQUEST_WAIT);
    assert_request_taken(&request);
    request = oneib_request_new(ONEIB_REQUEST_LIST);
    assert_request_taken(&request);
}

static void a_message_of_another_size_or_version_is_refused(void **state)
{
    (void)state;
    struct oneib_request request = have(), bytes;
    char long_one[sizeof bytes + 1] = {0};
    oneib_request_pack(&request, &bytes);
    memcpy(long_one, &bytes, sizeof bytes);
    assert_bytes_refused(&bytes, 0, "0 bytes");
    assert_bytes_refused(&bytes, sizeof bytes / 2, "bytes, and not");
    assert_bytes_refused(long_one, sizeof long_one, "bytes, and not");
    bytes.magic++;
    assert_bytes_refused(&bytes, sizeof bytes, "without oneib's header");
}

static void a_request_of_no_known_kind_is_refused(void **state)
{
    (void)state;
    struct oneib_request request = have();
    request.kind = 0;
    assert_request_refused(&request, "kind");
    request.kind = ONEIB_REQUEST_ANNOUNCE + 1;
    assert_request_refused(&request, "kind");
    request.kind = UINT16_MAX;
    assert_request_refused(&request, "kind");
}

static void a_flag_that_the_kind_does_not_have_is_refused(void **state)
{
    (void)state;
    struct oneib_request request = have();
    request.flags |= ONEIB_RELEASE_NIC_GONE;
    assert_request_refused(&request, "flag");
    request.flags = 0x8000;
    assert_request_refused(&request, "flag");
    request = release();
    request.flags = ONEIB_HAVE_ATTACH;
    assert_request_refused(&request, "flag");
    request = oneib_request_new(ONEIB_REQUEST_WAIT);
    request.flags = ONEIB_RELEASE_NIC_GONE;
    assert_request_refused(&request, "flag");
    request = have();
    request.flags = ONEIB_ANNOUNCE_TRUSTED;
    assert_request_refused(&request, "flag");
}

#define REFUSED(made, member, value, why)                                                          \
    do {                                                                                           \
        struct oneib_request wrong = made;                                                         \
        wrong.member = value;                                                                      \
        assert_request_refused(&wrong, why);                                                       \
    } while (0)

static void a_number_out_of_its_range_is_refused(void **state)
{
    (void)state;
    REFUSED(have(), vm_id, 0x80000000u, "VM");
    REFUSED(release(), vm_id, UINT32_MAX, "VM");
    REFUSED(have(), nic_id, -1, "NIC");
    REFUSED(have(), nic_id, 256, "NIC");
    REFUSED(release(), nic_id, -2, "NIC");
    REFUSED(release(), nic_id, 256, "NIC");
    REFUSED(have(), network_id, 0x80000000u, "network");
    REFUSED(have(), numa_node, -2, "NUMA");
    REFUSED(have(), numa_node, 32768, "NUMA");
    REFUSED(release_vf(), vf.slot, 32, "address");
    REFUSED(release_vf(), vf.function, 8, "address");
    REFUSED(announce(), daemon_count, 0, "number of daemons");
    REFUSED(announce(), daemon_count, ONEIB_DAEMONS_MAX + 1, "number of daemons");
}

static void an_address_ends(void **state)
{
    (void)state;
    struct oneib_request request = announce();
    memset(request.daemons[1].address, 'x', sizeof request.daemons[1].address);
    assert_request_refused(&request, "address");
}

static void what_is_announced_is_what_was_to_be(void **state)
{
    (void)state;
    const struct oneib_request request = announce();
    struct oneib_daemons daemons;
    oneib_request_daemons(&request, &daemons);
    assert_int_equal(daemons.count, 2);
    assert_string_equal(daemons.items[1].address, "tcp://10.0.0.2:2633");
    assert_int_equal(daemons.items[0].curve[31], 1);
    assert_int_equal(daemons.items[1].sign[0], 5);
}

/* Wherever it is: a byte that means nothing to the kind is 0, padding too. */
static void a_byte_that_the_kind_does_not_use_is_0(void **state)
{
    (void)state;
    struct oneib_request made[] = {have(),
                                   release(),
                                   release_vf(),
                                   announce(),
                                   oneib_request_new(ONEIB_REQUEST_WAIT),
                                   oneib_request_new(ONEIB_REQUEST_LIST)};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        struct oneib_request packed, taken, again;
        oneib_request_pack(&made[i], &packed);
        for (size_t at = 0; at < sizeof packed; at++) {
            unsigned char bytes[sizeof packed];
            memcpy(bytes, &packed, sizeof packed);
            bytes[at] ^= 0x01;
            if (oneib_request_check(bytes, sizeof bytes, &taken, &err) < 0)
                continue;
            oneib_request_pack(&taken, &again);
            assert_memory_equal(&again, bytes, sizeof bytes);
        }
    }
    struct oneib_request packed, request = have();
    oneib_request_pack(&request, &packed);
    packed.vf.bus = 0x81;
    assert_bytes_refused(&packed, sizeof packed, "unused bytes");
    request = announce();
    oneib_request_pack(&request, &packed);
    packed.daemons[2].address[0] = 'x';
    assert_bytes_refused(&packed, sizeof packed, "unused bytes");
    oneib_request_pack(&request, &packed);
    packed.daemons[0].address[100] = 'x';
    assert_bytes_refused(&packed, sizeof packed, "unused bytes");
    request = release();
    oneib_request_pack(&request, &packed);
    packed.network_id = 5;
    assert_bytes_refused(&packed, sizeof packed, "unused bytes");
    request = oneib_request_new(ONEIB_REQUEST_WAIT);
    oneib_request_pack(&request, &packed);
    packed.vm_id = 42;
    assert_bytes_refused(&packed, sizeof packed, "unused bytes");
}

static void packing_leaves_nothing_of_the_sender_s_memory(void **state)
{
    (void)state;
    struct oneib_request request, packed;
    memset(&request, 0xa5, sizeof request);
    request.magic = ONEIB_MESSAGE_MAGIC;
    request.kind = ONEIB_REQUEST_WAIT;
    request.flags = 0;
    oneib_request_pack(&request, &packed);
    for (size_t at = 0; at < sizeof packed; at++)
        assert_int_not_equal(((unsigned char *)&packed)[at], 0xa5);
    struct oneib_answer answer, sent;
    memset(&answer, 0xa5, sizeof answer);
    answer.magic = ONEIB_MESSAGE_MAGIC;
    answer.kind = ONEIB_ANSWER_FAILED;
    answer.code = ONEIB_ERROR_REFUSED;
    strcpy(answer.text, "no");
    oneib_answer_pack(&answer, &sent);
    for (size_t at = 0; at < sizeof sent; at++)
        assert_int_not_equal(((unsigned char *)&sent)[at], 0xa5);
}

/* ---- answers --------------------------------------------------------------------------------- */

static struct oneib_answer record(void)
{
    struct oneib_answer answer = oneib_answer_new(ONEIB_ANSWER_RECORD);
    answer.record = (struct oneib_vf_record){
        .vf = {0x10, 0x81, 3, 1},
        .device = "mlx4_0",
        .index = 2,
        .port = 1,
        .vm_id = 42,
        .nic_id = 1,
        .network_id = 7,
        .site = 3,
        .pkey = 5,
        .limited = true,
        .stage = ONEIB_VF_OPEN,
        .guid = ONEIB_VF_GUID_SET,
        .in_domain = true,
        .since = 123456,
    };
    return answer;
}

static struct oneib_answer domain(void)
{
    struct oneib_answer answer = oneib_answer_new(ONEIB_ANSWER_DOMAIN);
    answer.domain = (struct oneib_domain_entry){42, true, true, {0, 0x81, 0, 1}, "one-42"};
    return answer;
}

static struct oneib_answer grant(void)
{
    struct oneib_answer answer = oneib_answer_new(ONEIB_ANSWER_GRANT);
    answer.grant = (struct oneib_grant){
        .vm_id = 42,
        .network_id = 7,
        .nic_id = 1,
        .device = "mlx4_0",
        .port = 1,
        .pkey = 5,
        .limited = true,
        .has_vf = true,
        .vf = {0, 0x81, 0, 1},
        .guid = 0x0200030000002a01,
        .may_set_guid = true,
    };
    return answer;
}

static struct oneib_answer follows(void)
{
    const struct oneib_error why = {.code = ONEIB_ERROR_TIMEOUT, .text = "not heard"};
    struct oneib_answer answer = oneib_answer_with(ONEIB_ANSWER_FOLLOWS, &why);
    answer.follows = (struct oneib_follows){true, true, 3};
    return answer;
}

static struct oneib_answer failed(void)
{
    const struct oneib_error why = {.code = ONEIB_ERROR_REFUSED, .text = "no"};
    return oneib_answer_with(ONEIB_ANSWER_FAILED, &why);
}

static void assert_same_record(const struct oneib_vf_record *a, const struct oneib_vf_record *b)
{
    assert_int_equal(oneib_pci_compare(&a->vf, &b->vf), 0);
    assert_string_equal(a->device, b->device);
    assert_int_equal(a->index, b->index);
    assert_int_equal(a->port, b->port);
    assert_int_equal(a->vm_id, b->vm_id);
    assert_int_equal(a->nic_id, b->nic_id);
    assert_int_equal(a->network_id, b->network_id);
    assert_int_equal(a->site, b->site);
    assert_int_equal(a->pkey, b->pkey);
    assert_int_equal(a->limited, b->limited);
    assert_int_equal(a->stage, b->stage);
    assert_int_equal(a->guid, b->guid);
    assert_int_equal(a->in_domain, b->in_domain);
    assert_int_equal(a->since, b->since);
}

static void assert_same_grant(const struct oneib_grant *a, const struct oneib_grant *b)
{
    assert_int_equal(a->vm_id, b->vm_id);
    assert_int_equal(a->network_id, b->network_id);
    assert_int_equal(a->nic_id, b->nic_id);
    assert_string_equal(a->device, b->device);
    assert_int_equal(a->port, b->port);
    assert_int_equal(a->pkey, b->pkey);
    assert_int_equal(a->limited, b->limited);
    assert_int_equal(a->has_vf, b->has_vf);
    assert_true(!a->has_vf || oneib_pci_compare(&a->vf, &b->vf) == 0);
    assert_int_equal(a->guid, b->guid);
    assert_int_equal(a->may_set_guid, b->may_set_guid);
}

static void assert_same_domain(const struct oneib_domain_entry *a,
                               const struct oneib_domain_entry *b)
{
    assert_int_equal(a->vm_id, b->vm_id);
    assert_int_equal(a->running, b->running);
    assert_int_equal(a->has_vf, b->has_vf);
    assert_true(!a->has_vf || oneib_pci_compare(&a->vf, &b->vf) == 0);
    assert_string_equal(a->name, b->name);
}

static void assert_same_answer(const struct oneib_answer *taken, const struct oneib_answer *answer)
{
    assert_int_equal(taken->kind, answer->kind);
    assert_int_equal(taken->code, answer->code);
    assert_string_equal(taken->text, answer->text);
    assert_same_record(&taken->record, &answer->record);
    assert_same_grant(&taken->grant, &answer->grant);
    assert_same_domain(&taken->domain, &answer->domain);
    assert_memory_equal(&taken->released, &answer->released, sizeof taken->released);
    assert_int_equal(taken->follows.has_list, answer->follows.has_list);
    assert_int_equal(taken->follows.fresh, answer->follows.fresh);
    assert_int_equal(taken->follows.unseen, answer->follows.unseen);
}

static void assert_answer_taken(const struct oneib_answer *answer)
{
    struct oneib_answer packed, taken, again;
    oneib_answer_pack(answer, &packed);
    if (oneib_answer_check(&packed, sizeof packed, &taken, &err) < 0)
        fail_msg("%s", err.text);
    assert_same_answer(&taken, answer);
    oneib_answer_pack(&taken, &again);
    assert_memory_equal(&packed, &again, sizeof packed);
}

static void assert_answer_bytes_refused(const void *bytes, size_t length, const char *why)
{
    struct oneib_answer taken = {.code = 4711};
    err = (struct oneib_error){0};
    if (oneib_answer_check(bytes, length, &taken, &err) == 0)
        fail_msg("this was taken for an answer, instead of: %s", why);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    if (!strstr(err.text, why))
        fail_msg("\"%s\" does not tell of \"%s\"", err.text, why);
    assert_int_equal(taken.code, 4711);
}

static void every_kind_of_answer_is_taken_as_it_was_made(void **state)
{
    (void)state;
    struct oneib_answer answer = record();
    assert_answer_taken(&answer);
    answer.record.stage = ONEIB_VF_RELEASING;
    answer.record.pkey = 0;
    assert_answer_taken(&answer);
    answer.record.pkey = ONEIB_PKEY_LAST;
    assert_answer_taken(&answer);
    answer = domain();
    assert_answer_taken(&answer);
    answer.domain.vm_id = INT32_MAX;
    assert_answer_taken(&answer);
    answer.domain.has_vf = false;
    answer.domain.vm_id = -1;
    assert_answer_taken(&answer);
    answer = grant();
    assert_answer_taken(&answer);
    answer.grant.has_vf = false;
    answer.grant.pkey = ONEIB_PKEY_LAST;
    assert_answer_taken(&answer);
    answer = follows();
    assert_answer_taken(&answer);
    answer = failed();
    assert_answer_taken(&answer);
    answer = oneib_answer_new(ONEIB_ANSWER_END);
    assert_answer_taken(&answer);
    answer = oneib_answer_new(ONEIB_ANSWER_RELEASED);
    answer.released = (struct oneib_released){1, 2, 3};
    assert_answer_taken(&answer);
}

#define ANSWER_REFUSED(made, member, value, why)                                                   \
    do {                                                                                           \
        struct oneib_answer wrong = made, packed;                                                  \
        oneib_answer_pack(&wrong, &packed);                                                        \
        packed.member = value;                                                                     \
        assert_answer_bytes_refused(&packed, sizeof packed, why);                                  \
    } while (0)

static void what_cannot_be_of_an_answer_is_refused(void **state)
{
    (void)state;
    ANSWER_REFUSED(record(), magic, 1, "header");
    ANSWER_REFUSED(record(), kind, 0, "kind");
    ANSWER_REFUSED(record(), kind, ONEIB_ANSWER_FOLLOWS + 1, "kind");
    ANSWER_REFUSED(record(), record.vf.slot, 32, "address");
    ANSWER_REFUSED(record(), record.device[0], '\0', "name");
    ANSWER_REFUSED(record(), record.device[0], '/', "name");
    ANSWER_REFUSED(record(), record.port, 0, "port");
    ANSWER_REFUSED(record(), record.port, 255, "port");
    ANSWER_REFUSED(record(), record.pkey, 0x7fff, "P_Key");
    ANSWER_REFUSED(record(), record.pkey, 0, "stage");
    ANSWER_REFUSED(record(), record.stage, ONEIB_VF_RELEASING + 1, "stage");
    ANSWER_REFUSED(record(), record.guid, ONEIB_VF_GUID_SET + 1, "GUID");
    ANSWER_REFUSED(record(), record.since, -1, "time");
    ANSWER_REFUSED(record(), code, 1, "unused bytes");
    ANSWER_REFUSED(record(), released.freed, 1, "unused bytes");
    ANSWER_REFUSED(record(), text[0], 'x', "unused bytes");
    ANSWER_REFUSED(domain(), domain.vm_id, -2, "VM");
    ANSWER_REFUSED(domain(), domain.vm_id, (int64_t)INT32_MAX + 1, "VM");
    ANSWER_REFUSED(domain(), domain.vf.function, 8, "address");
    ANSWER_REFUSED(domain(), domain.name[20], 'x', "unused bytes");
    ANSWER_REFUSED(grant(), grant.vm_id, 0x80000000u, "VM");
    ANSWER_REFUSED(grant(), grant.network_id, 0x80000000u, "network");
    ANSWER_REFUSED(grant(), grant.device[0], '/', "name");
    ANSWER_REFUSED(grant(), grant.port, 255, "port");
    ANSWER_REFUSED(grant(), grant.pkey, 0, "P_Key");
    ANSWER_REFUSED(grant(), grant.pkey, 0x7fff, "P_Key");
    ANSWER_REFUSED(grant(), grant.vf.slot, 32, "address");
    ANSWER_REFUSED(follows(), grant.pkey, 5, "unused bytes");
    ANSWER_REFUSED(failed(), code, 0, "code");
    ANSWER_REFUSED(failed(), code, ONEIB_ERROR_REFUSED + 1, "code");
    ANSWER_REFUSED(failed(), text[ONEIB_MESSAGE_TEXT - 1], 'x', "unused bytes");
}

static void a_text_that_does_not_end_is_refused(void **state)
{
    (void)state;
    struct oneib_answer answer = failed();
    memset(answer.text, 'x', sizeof answer.text);
    assert_answer_bytes_refused(&answer, sizeof answer, "text");
    struct oneib_answer packed, made = domain();
    oneib_answer_pack(&made, &packed);
    memset(packed.domain.name, 'x', sizeof packed.domain.name);
    assert_answer_bytes_refused(&packed, sizeof packed, "name");
}

/* Nobody reads them as such before. */
static void a_bool_that_is_neither_is_refused(void **state)
{
    (void)state;
    static const size_t places[] = {offsetof(struct oneib_answer, record.limited),
                                    offsetof(struct oneib_answer, record.in_domain),
                                    offsetof(struct oneib_answer, domain.running),
                                    offsetof(struct oneib_answer, domain.has_vf),
                                    offsetof(struct oneib_answer, grant.limited),
                                    offsetof(struct oneib_answer, grant.has_vf),
                                    offsetof(struct oneib_answer, grant.may_set_guid),
                                    offsetof(struct oneib_answer, follows.has_list),
                                    offsetof(struct oneib_answer, follows.fresh)};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct oneib_answer packed;
        struct oneib_answer made = i < 2   ? record()
                                   : i < 4 ? domain()
                                   : i < 7 ? grant()
                                           : follows();
        oneib_answer_pack(&made, &packed);
        ((unsigned char *)&packed)[places[i]] = 2;
        assert_answer_bytes_refused(&packed, sizeof packed, "boolean");
    }
}

static void an_error_is_the_same_on_the_other_side_and_a_long_one_is_cut(void **state)
{
    (void)state;
    struct oneib_error why = {.code = ONEIB_ERROR_TIMEOUT, .text = "mlx4_0 port 1: too late"};
    struct oneib_error told;
    struct oneib_answer answer = oneib_answer_with(ONEIB_ANSWER_FAILED, &why);
    oneib_answer_error(&answer, &told);
    assert_int_equal(told.code, ONEIB_ERROR_TIMEOUT);
    assert_string_equal(told.text, why.text);
    memset(why.text, 'x', sizeof why.text - 1);
    answer = oneib_answer_with(ONEIB_ANSWER_FAILED, &why);
    assert_answer_taken(&answer);
    oneib_answer_error(&answer, &told);
    assert_int_equal(strlen(told.text), ONEIB_MESSAGE_TEXT - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_request_is_taken_as_it_was_made),
        cmocka_unit_test(a_message_of_another_size_or_version_is_refused),
        cmocka_unit_test(a_request_of_no_known_kind_is_refused),
        cmocka_unit_test(a_flag_that_the_kind_does_not_have_is_refused),
        cmocka_unit_test(a_number_out_of_its_range_is_refused),
        cmocka_unit_test(an_address_ends),
        cmocka_unit_test(what_is_announced_is_what_was_to_be),
        cmocka_unit_test(a_byte_that_the_kind_does_not_use_is_0),
        cmocka_unit_test(packing_leaves_nothing_of_the_sender_s_memory),
        cmocka_unit_test(every_kind_of_answer_is_taken_as_it_was_made),
        cmocka_unit_test(what_cannot_be_of_an_answer_is_refused),
        cmocka_unit_test(a_text_that_does_not_end_is_refused),
        cmocka_unit_test(a_bool_that_is_neither_is_refused),
        cmocka_unit_test(an_error_is_the_same_on_the_other_side_and_a_long_one_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
