// SPDX-License-Identifier: Apache-2.0
/* The ledger in a document of oned's, against the stand-in. Needs no fabric. */
#include "lab.h"
#include "opennebula/ledger_document.h"
#include "sync/ledger_change.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static struct oneib_error err;

#define ok(expression)                                                                             \
    do {                                                                                           \
        if ((expression) < 0)                                                                      \
            fail_msg("%s: %s", #expression, err.text);                                             \
    } while (0)

struct scene {
    struct lab *lab;
    struct oneib_one *one;
    struct oneib_kept_ledger kept;
};

static struct oneib_one *open_as(struct lab *lab, const char *session)
{
    const struct oneib_credentials credentials = {.endpoint = (char *)(uintptr_t)lab_endpoint(lab),
                                                  .session = (char *)(uintptr_t)session};
    return oneib_one_open(&credentials, 20000, &err);
}

static int open_scene(void **state)
{
    static struct scene scene;
    static const struct lab_options options = LAB_DEFAULTS;
    scene = (struct scene){.lab = lab_open(&options, &err)};
    *state = &scene;
    if (!scene.lab || lab_standin_start(scene.lab, NULL, &err) < 0)
        return -1;
    scene.one = open_as(scene.lab, lab_session(scene.lab));
    return scene.one ? 0 : -1;
}

static int close_scene(void **state)
{
    struct scene *scene = *state;
    oneib_kept_ledger_clear(&scene->kept);
    oneib_one_close(scene->one);
    lab_close(scene->lab);
    return 0;
}

static int read_it(struct scene *scene)
{
    return oneib_ledger_read(scene->one, false, &scene->kept, &err);
}

static int write_with(struct scene *scene, struct oneib_kept_ledger *kept, uint32_t network_id,
                      oneib_pkey pkey)
{
    struct oneib_ledger next;
    const struct oneib_ledger_network entry = {
        .network_id = network_id, .pkey = pkey, .owner = 12, .since = 1795223384};
    oneib_ledger_copy(&kept->ledger, &next);
    ok(oneib_ledger_give(&next, &entry, &err));
    const int outcome = oneib_ledger_write(scene->one, kept, &next, &err);
    oneib_ledger_clear(&next);
    return outcome;
}

static void write_first(struct scene *scene)
{
    ok(read_it(scene));
    ok(write_with(scene, &scene->kept, 7, 0x101));
}

static void must_be_broken(struct scene *scene, const char *words)
{
    ok(read_it(scene));
    assert_int_equal(scene->kept.state, ONEIB_LEDGER_BROKEN);
    assert_int_equal(scene->kept.ledger.network_count, 0);
    if (!strstr(scene->kept.why.text, words))
        fail_msg("\"%s\" is not in: %s", words, scene->kept.why.text);
    assert_non_null(strstr(scene->kept.why.text, "oneib plan --adopt"));
}

static void where_there_is_none_it_is_absent(void **state)
{
    struct scene *scene = *state;
    ok(read_it(scene));
    assert_int_equal(scene->kept.state, ONEIB_LEDGER_ABSENT);
}

static void what_is_written_is_read_by_others(void **state)
{
    struct scene *scene = *state;
    struct oneib_kept_ledger other = {0};
    write_first(scene);
    assert_int_equal(scene->kept.ledger.serial, 1);
    ok(write_with(scene, &scene->kept, 9, 0x102));
    ok(oneib_ledger_read(scene->one, false, &other, &err));
    assert_int_equal(other.state, ONEIB_LEDGER_READ);
    assert_int_equal(other.ledger.serial, 2);
    assert_true(oneib_ledger_equal(&other.ledger, &scene->kept.ledger));
    assert_int_equal(oneib_ledger_network(&other.ledger, 9)->pkey, 0x102);
    oneib_kept_ledger_clear(&other);
}

static void a_service_level_comes_back_and_one_that_is_none_is_no_ledger(void **state)
{
    struct scene *scene = *state;
    struct oneib_ledger next;
    write_first(scene);
    oneib_ledger_copy(&scene->kept.ledger, &next);
    ok(oneib_ledger_set_sl(&next, 7, 15, &err));
    ok(oneib_ledger_write(scene->one, &scene->kept, &next, &err));
    ok(read_it(scene));
    assert_int_equal(oneib_ledger_network(&scene->kept.ledger, 7)->sl, 15);
    for (const char *const *sl = (const char *const[]){"0", "16", "x", NULL}; *sl; sl++) {
        char text[256];
        snprintf(text, sizeof text,
                 "VERSION=\"1\"\nSERIAL=\"3\"\nNEXT=\"0x0000\"\nNETWORK=[ID=\"7\",PKEY=\"0x0101\","
                 "OWNER=\"12\",SINCE=\"5\",SL=\"%s\"]",
                 *sl);
        ok(lab_document_replace(scene->lab, scene->kept.document_id, text, &err));
        must_be_broken(scene, "a NETWORK is not as oneib writes it");
    }
    oneib_ledger_clear(&next);
}

static void every_kind_of_entry_comes_back(void **state)
{
    struct scene *scene = *state;
    struct oneib_ledger next = {.next = 0x104};
    struct oneib_ledger_host host = {.host_id = 3, .since = 5};
    struct oneib_ledger_daemon daemon = {.address = "tcp://10.0.0.1:9678", .since = 6};
    memset(host.key, 0xa5, sizeof host.key);
    memset(daemon.curve, 0x5a, sizeof daemon.curve);
    memset(daemon.sign, 0x3c, sizeof daemon.sign);
    ok(read_it(scene));
    for (uint32_t id = 0; id < 40; id++)
        ok(oneib_ledger_give(&next,
                             &(struct oneib_ledger_network){.network_id = id,
                                                            .pkey = (oneib_pkey)(0x101 + id),
                                                            .owner = UINT32_MAX},
                             &err));
    oneib_ledger_rest(&next, 17, 8);
    oneib_ledger_pin(&next, &host);
    ok(oneib_ledger_set_daemon(&next, &daemon, &err));
    ok(oneib_ledger_write(scene->one, &scene->kept, &next, &err));
    next.serial = 1;
    assert_true(oneib_ledger_equal(&scene->kept.ledger, &next));
    oneib_ledger_clear(&next);
}

/* Gives network 9 its P_Key, and lets `meanwhile` others write before that. */
struct rivalry {
    struct scene *scene;
    unsigned meanwhile, edits;
};

static int edit_among_others(struct oneib_ledger *next, void *context, struct oneib_error *failure)
{
    struct rivalry *rivalry = context;
    struct oneib_kept_ledger other = {0};
    const struct oneib_ledger_network entry = {.network_id = 9, .pkey = 0x109, .owner = 12};
    if (++rivalry->edits <= rivalry->meanwhile) {
        ok(oneib_ledger_read(rivalry->scene->one, false, &other, &err));
        ok(write_with(rivalry->scene, &other, 20 + rivalry->edits,
                      (oneib_pkey)(0x120 + rivalry->edits)));
        oneib_kept_ledger_clear(&other);
    }
    return oneib_ledger_give(next, &entry, failure);
}

static int change_among_others(struct scene *scene, unsigned meanwhile, bool *written,
                               unsigned *edits)
{
    struct rivalry rivalry = {.scene = scene, .meanwhile = meanwhile};
    const int outcome = oneib_ledger_change(scene->one, false, &scene->kept, edit_among_others,
                                            &rivalry, written, &err);
    *edits = rivalry.edits;
    return outcome;
}

static void a_commands_change_is_made_again_when_others_write_meanwhile(void **state)
{
    struct scene *scene = *state;
    bool written;
    unsigned edits;
    write_first(scene);
    ok(change_among_others(scene, 2, &written, &edits));
    assert_true(written);
    assert_int_equal(edits, 3);
    ok(read_it(scene));
    assert_int_equal(oneib_ledger_network(&scene->kept.ledger, 9)->pkey, 0x109);
    assert_int_equal(oneib_ledger_network(&scene->kept.ledger, 22)->pkey, 0x122);

    ok(change_among_others(scene, 0, &written, &edits));
    assert_false(written); /* it is so already */
    assert_int_equal(edits, 1);
}

static void a_command_gives_up_when_others_go_on_writing(void **state)
{
    struct scene *scene = *state;
    bool written;
    unsigned edits;
    write_first(scene);
    assert_int_equal(change_among_others(scene, 100, &written, &edits), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_non_null(strstr(err.text, "try again"));
    assert_int_equal(edits, 10);
    assert_false(written);
    ok(read_it(scene));
    assert_int_equal(scene->kept.ledger.network_count, 11);
    assert_null(oneib_ledger_network(&scene->kept.ledger, 9));

    /* What the change itself refuses is not tried again. */
    ok(write_with(scene, &scene->kept, 40, 0x109));
    assert_int_equal(change_among_others(scene, 0, &written, &edits), -1);
    assert_int_equal(edits, 1);
}

static void another_writer_is_an_error(void **state)
{
    struct scene *scene = *state;
    struct oneib_kept_ledger other = {0};
    write_first(scene);
    ok(oneib_ledger_read(scene->one, false, &other, &err));
    ok(write_with(scene, &other, 8, 0x102));

    assert_int_equal(write_with(scene, &scene->kept, 9, 0x102), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_non_null(strstr(err.text, "one.writer"));
    ok(read_it(scene));
    assert_int_equal(oneib_ledger_holder(&scene->kept.ledger, 0x102)->network_id, 8);
    oneib_kept_ledger_clear(&other);
}

#define WRITERS 4
#define WRITINGS 20

/* One of several: each change of its own, however often somebody else was first. */
static int write_often(struct scene *scene, unsigned writer)
{
    struct oneib_one *one = open_as(scene->lab, lab_session(scene->lab));
    struct scene own = {.lab = scene->lab, .one = one};
    for (unsigned i = 0; one && i < WRITINGS; i++) {
        const uint32_t id = 100 + writer * WRITINGS + i;
        do
            if (oneib_ledger_read(one, false, &own.kept, &err) < 0)
                return 1;
        while (write_with(&own, &own.kept, id, (oneib_pkey)(0x200 + id)) < 0);
    }
    return 0;
}

static void of_several_that_write_at_once_nobody_loses_a_change(void **state)
{
    struct scene *scene = *state;
    pid_t writers[WRITERS];
    write_first(scene);
    for (unsigned i = 0; i < WRITERS; i++) {
        writers[i] = fork();
        assert_true(writers[i] >= 0);
        if (writers[i] == 0)
            _exit(write_often(scene, i));
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        int status;
        assert_int_equal(waitpid(writers[i], &status, 0), writers[i]);
        assert_int_equal(status, 0);
    }
    ok(read_it(scene));
    assert_int_equal(scene->kept.ledger.network_count, 1 + WRITERS * WRITINGS);
}

/* It has ended in between. */
static void a_lock_that_somebody_left_is_taken(void **state)
{
    struct scene *scene = *state;
    bool taken;
    write_first(scene);
    ok(oneib_one_lock_document(scene->one, scene->kept.document_id, &taken, &err));
    assert_true(taken);
    ok(oneib_one_lock_document(scene->one, scene->kept.document_id, &taken, &err));
    assert_false(taken);
    ok(write_with(scene, &scene->kept, 8, 0x102));
    ok(oneib_one_lock_document(scene->one, scene->kept.document_id, &taken, &err));
    assert_true(taken); /* it was given back */
}

static void two_that_make_it_are_noticed(void **state)
{
    struct scene *scene = *state;
    struct oneib_kept_ledger other = {0};
    ok(read_it(scene));
    ok(oneib_ledger_read(scene->one, false, &other, &err));
    ok(write_with(scene, &other, 8, 0x102));
    assert_int_equal(write_with(scene, &scene->kept, 9, 0x102), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    oneib_kept_ledger_clear(&other);
}

#define FORGED                                                                                     \
    "NAME = \"oneib\"\nVERSION = \"1\"\nSERIAL = \"99\"\nNEXT = \"0x0000\"\n"                      \
    "NETWORK = [ ID = \"7\", PKEY = \"0x0666\", OWNER = \"2\", SINCE = \"1\" ]"

static void a_tenants_document_is_not_believed(void **state)
{
    struct scene *scene = *state;
    struct oneib_kept_ledger all = {0};
    uint32_t id;
    ok(lab_document_make(scene->lab, lab_limited_session(scene->lab), ONEIB_LEDGER_TYPE, FORGED,
                         &id, &err));
    ok(read_it(scene));
    assert_int_equal(scene->kept.state, ONEIB_LEDGER_ABSENT);
    ok(oneib_ledger_read(scene->one, true, &all, &err));
    assert_int_equal(all.state, ONEIB_LEDGER_ABSENT);
    write_first(scene);
    ok(oneib_ledger_read(scene->one, true, &all, &err));
    assert_int_equal(all.state, ONEIB_LEDGER_READ);
    assert_null(oneib_ledger_holder(&all.ledger, 0x666));
    oneib_kept_ledger_clear(&all);
}

/* What stands in NAME is rendered as it is: each of these is one that oned might show. */
static void no_document_of_a_tenant_hides_it_from_who_has_rights_by_acl(void **state)
{
    static const char *const hostile[] = {
        "<A>",
        "<!--",
        "-->",
        "</NAME></DOCUMENT><DOCUMENT><ID>0</ID><UID>0</UID><GID>0</GID><NAME>",
        "</NAME></DOCUMENT><DOCUMENT><ID>99</ID><UID>0</UID><GID>0</GID><TYPE>6231</TYPE><NAME>",
    };
    struct scene *scene = *state;
    struct oneib_one *by_acl = open_as(scene->lab, lab_acl_session(scene->lab));
    struct oneib_kept_ledger kept = {0};
    write_first(scene);
    ok(lab_acl_rights(scene->lab, "DOCUMENT GROUP", &err));
    assert_non_null(by_acl);
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        char template[256];
        uint32_t id;
        snprintf(template, sizeof template, "NAME = \"%s\"\n", hostile[i]);
        ok(lab_document_make(scene->lab, lab_limited_session(scene->lab), ONEIB_LEDGER_TYPE,
                             template, &id, &err));
        oneib_kept_ledger_clear(&kept);
        ok(oneib_ledger_read(by_acl, true, &kept, &err));
        assert_int_equal(kept.state, ONEIB_LEDGER_READ);
        assert_int_equal(kept.document_id, scene->kept.document_id);
        assert_true(oneib_ledger_equal(&kept.ledger, &scene->kept.ledger));
    }
    oneib_kept_ledger_clear(&kept);
    oneib_one_close(by_acl);
}

static void two_of_operators_are_none_for_who_has_rights_by_acl_either(void **state)
{
    struct scene *scene = *state;
    struct oneib_one *by_acl = open_as(scene->lab, lab_acl_session(scene->lab));
    struct oneib_kept_ledger kept = {0};
    uint32_t id;
    write_first(scene);
    ok(lab_acl_rights(scene->lab, "DOCUMENT GROUP", &err));
    ok(lab_document_make(scene->lab, lab_session(scene->lab), ONEIB_LEDGER_TYPE, FORGED, &id,
                         &err));
    ok(lab_document_give(scene->lab, id, 1, 0, &err));
    ok(oneib_ledger_read(by_acl, true, &kept, &err));
    assert_int_equal(kept.state, ONEIB_LEDGER_BROKEN);
    assert_int_equal(kept.document_id, scene->kept.document_id);
    assert_int_equal(kept.highest_id, id);
    oneib_kept_ledger_clear(&kept);
    oneib_one_close(by_acl);
}

static void who_may_not_know_the_operators_is_told_what_to_give(void **state)
{
    struct scene *scene = *state;
    struct oneib_one *by_acl = open_as(scene->lab, lab_acl_session(scene->lab));
    struct oneib_kept_ledger kept = {0};
    write_first(scene);
    ok(lab_acl_rights(scene->lab, "DOCUMENT", &err));
    assert_int_equal(oneib_ledger_read(by_acl, true, &kept, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_PERMISSION);
    assert_non_null(strstr(err.text, "needs USE on the group oneadmin"));
    oneib_one_close(by_acl);
}

static void tenants_can_neither_see_nor_change_it(void **state)
{
    struct scene *scene = *state;
    char *document = NULL;
    write_first(scene);
    const int id = (int)scene->kept.document_id;
    assert_int_equal(lab_call_document(scene->lab, "one.document.info",
                                       lab_limited_session(scene->lab), &id, 1, &document, &err),
                     -1);
    assert_non_null(strstr(err.text, "Not authorized"));
}

static void rights_for_others_make_it_nobodys_word(void **state)
{
    struct scene *scene = *state;
    write_first(scene);
    ok(lab_document_share(scene->lab, scene->kept.document_id, true, &err));
    must_be_broken(scene, "others have rights");
    assert_int_equal(write_with(scene, &scene->kept, 9, 0x102), -1);
}

static void two_of_them_are_none(void **state)
{
    struct scene *scene = *state;
    uint32_t id;
    write_first(scene);
    ok(lab_document_make(scene->lab, lab_session(scene->lab), ONEIB_LEDGER_TYPE, FORGED, &id,
                         &err));
    oneib_kept_ledger_clear(&scene->kept);
    must_be_broken(scene, "there is another one");
}

static void one_that_was_removed_is_absent(void **state)
{
    struct scene *scene = *state;
    write_first(scene);
    ok(lab_document_delete(scene->lab, scene->kept.document_id, &err));
    assert_int_equal(write_with(scene, &scene->kept, 9, 0x102), -1);
    ok(read_it(scene));
    assert_int_equal(scene->kept.state, ONEIB_LEDGER_ABSENT);
}

static void overwriting_puts_everything_right(void **state)
{
    struct scene *scene = *state;
    struct oneib_ledger next = {0};
    uint32_t id;
    write_first(scene);
    ok(lab_document_make(scene->lab, lab_session(scene->lab), ONEIB_LEDGER_TYPE, FORGED, &id,
                         &err));
    ok(lab_document_replace(scene->lab, scene->kept.document_id, "VERSION = \"2\"", &err));
    ok(lab_document_share(scene->lab, scene->kept.document_id, true, &err));
    ok(oneib_ledger_give(&next, &(struct oneib_ledger_network){.network_id = 7, .pkey = 0x105},
                         &err));
    ok(oneib_ledger_overwrite(scene->one, &scene->kept, &next, &err));
    oneib_ledger_clear(&next);
    oneib_kept_ledger_clear(&scene->kept);
    ok(read_it(scene));
    assert_int_equal(scene->kept.state, ONEIB_LEDGER_READ);
    assert_int_equal(oneib_ledger_network(&scene->kept.ledger, 7)->pkey, 0x105);
}

static void an_oned_that_does_not_answer_is_no_absent_ledger(void **state)
{
    struct scene *scene = *state;
    write_first(scene);
    ok(lab_standin_down(scene->lab, true, &err));
    assert_int_equal(read_it(scene), -1);
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
    assert_int_equal(scene->kept.state, ONEIB_LEDGER_READ);
    ok(lab_standin_down(scene->lab, false, &err));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_scene, close_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(where_there_is_none_it_is_absent),
        TEST(what_is_written_is_read_by_others),
        TEST(a_service_level_comes_back_and_one_that_is_none_is_no_ledger),
        TEST(every_kind_of_entry_comes_back),
        TEST(a_commands_change_is_made_again_when_others_write_meanwhile),
        TEST(a_command_gives_up_when_others_go_on_writing),
        TEST(another_writer_is_an_error),
        TEST(of_several_that_write_at_once_nobody_loses_a_change),
        TEST(a_lock_that_somebody_left_is_taken),
        TEST(two_that_make_it_are_noticed),
        TEST(a_tenants_document_is_not_believed),
        TEST(no_document_of_a_tenant_hides_it_from_who_has_rights_by_acl),
        TEST(two_of_operators_are_none_for_who_has_rights_by_acl_either),
        TEST(who_may_not_know_the_operators_is_told_what_to_give),
        TEST(tenants_can_neither_see_nor_change_it),
        TEST(rights_for_others_make_it_nobodys_word),
        TEST(two_of_them_are_none),
        TEST(one_that_was_removed_is_absent),
        TEST(overwriting_puts_everything_right),
        TEST(an_oned_that_does_not_answer_is_no_absent_ledger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
