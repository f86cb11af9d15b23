// SPDX-License-Identifier: Apache-2.0
/*
 * What programs read: every verb's --json has exactly the fields that oneib(8) documents, in a
 * cloud where each of them has something to say.
 */
#include "base/cleanup.h"
#include "base/file.h"
#include "command_scene.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX 40

static char *man_page; /* its section JSON */

static int read_man_page(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    size_t length;
    if (oneib_file_read(ONEIB_MAN_PAGE, (size_t)1 << 20, &man_page, &length, &err) < 0) {
        print_error("%s\n", err.text);
        return -1;
    }
    char *section = strstr(man_page, "\n.Sh JSON\n");
    char *end = section ? strstr(section + 1, "\n.Sh ") : NULL;
    if (!end)
        return -1;
    *end = '\0';
    memmove(man_page, section, (size_t)(end - section) + 1);
    return 0;
}

static int forget_man_page(void **state)
{
    (void)state;
    free(man_page);
    return 0;
}

static bool is_one_of(const char *word, const char *words)
{
    const size_t length = strlen(word);
    for (const char *at = strstr(words, word); at; at = strstr(at + 1, word))
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

/* As an argument of .Fa, on a line of its own or behind .Pq, commas between them. */
static bool is_documented(const char *field)
{
    char word[WORD_MAX];
    snprintf(word, sizeof word, " %s", field);
    for (const char *at = strstr(man_page, word); at; at = strstr(at + 1, word)) {
        const char *line = at;
        while (line[-1] != '\n')
            line--;
        const bool is_field = strncmp(line, ".Fa ", 4) == 0 || strncmp(line, ".Pq Fa ", 7) == 0;
        if (is_field && strchr(" ,\n", at[strlen(word)]))
            return true;
    }
    return false;
}

/* The object has these fields and no others, and the manual names each of them. */
static void has_fields(json_t *object, const char *fields)
{
    const char *name;
    json_t *value;
    size_t blanks = 0;
    if (!json_is_object(object))
        fail_msg("there is no object with the fields %s", fields);
    for (const char *c = fields; *c; c++)
        blanks += *c == ' ';
    json_object_foreach(object, name, value)
    {
        if (!is_one_of(name, fields))
            fail_msg("field \"%s\" is not one of: %s", name, fields);
        if (!is_documented(name))
            fail_msg("oneib(8) does not tell of the field \"%s\"", name);
    }
    if (json_object_size(object) != blanks + 1)
        fail_msg("%zu fields and not: %s", json_object_size(object), fields);
}

static json_t *first(json_t *array)
{
    assert_true(json_array_size(array) > 0);
    return json_array_get(array, 0);
}

static void has_findings(json_t *document)
{
    has_fields(first(json_field(document, "findings")), "severity code text fix about");
}

static void has_verification(json_t *document)
{
    json_t *verification = json_field(document, "verification");
    has_fields(
        verification,
        "ports keys violations differences members_off_fabric members_unverified deviations");
    has_fields(first(json_field(verification, "deviations")),
               "kind violation port_guid node host network network_name lid index found expected "
               "fix");
}

static const char partition_fields[] = "kind partition pkey network flags";
static const char member_fields[] = "kind partition pkey network flags member membership "
                                    "old_membership host vms";

static void has_changes(json_t *document)
{
    json_t *changes = json_field(document, "changes");
    has_fields(json_find(changes, "kind", "partition-added"), partition_fields);
    has_fields(json_find(changes, "kind", "member-added"), member_fields);
}

/* A cluster with a static member and a reservation, a network without a key, and two that want the
 * same. */
static void populate_and(bool wait)
{
    struct oneib_error err = {0};
    const uint32_t red = scene_network("red", "257", "IB_STATIC_GUIDS=0x000000000010000b=full\n");
    if (wait) {
        MUST(lab_give_keys(scene(), &err));
        lab_let_keys_wait(scene());
    }
    scene_network("keyless", "", NULL);
    scene_network("twin", "257", NULL);
    const uint32_t reservation = scene_reservation(red);
    scene_vm(red, 0);
    scene_vm(reservation, 1);
}

static void populate(void)
{
    populate_and(false);
}

static const char cluster_fields[] =
    "id name owner pkey membership other_driver members vms refused refused_vms hosts state";

static void list_has_its_fields(void **state)
{
    (void)state;
    scene();
    populate_and(true); /* for what comes after the first network */
    json_t *document = ONEIB_JSON(0, "list");
    has_fields(document, "clusters fabric findings");
    has_fields(json_field(document, "fabric"), "known error");
    has_findings(document);
    json_t *clusters = json_field(document, "clusters");
    assert_int_equal(json_array_size(clusters), 4);
    has_fields(first(clusters), cluster_fields);
    assert_string_equal(json_text(first(clusters), "pkey"), "0x0101");
    has_fields(json_field(first(clusters), "owner"), "user uid group gid");
    assert_string_equal(json_text(json_field(first(clusters), "owner"), "user"), "oneadmin");
    assert_null(json_text(json_find(clusters, "name", "keyless"), "pkey"));
    assert_true(json_is_null(json_field(first(clusters), "other_driver")));
}

static void show_has_its_fields(void **state)
{
    (void)state;
    scene();
    populate();
    ONEIB(0, "sync");
    json_t *document = ONEIB_JSON(0, "show", "1");
    char fields[256];
    snprintf(fields, sizeof fields, "%s parent sl fabric static_members attachments findings",
             cluster_fields);
    has_fields(document, fields);
    assert_true(json_is_null(json_field(document, "parent")));
    has_fields(first(json_field(document, "static_members")), "guid membership");
    json_t *attachment = first(json_field(document, "attachments"));
    has_fields(attachment,
               "vm nic network state phase host source_host device port_guid member_guid guid ip "
               "membership member_status in_force standing reason vf");
    assert_true(json_yes(attachment, "in_force"));
    assert_string_equal(json_text(attachment, "standing"), "in-force");
    assert_string_equal(json_text(attachment, "member_guid"), "0x0000000000100003");
    assert_string_equal(json_text(attachment, "device"), "mlx4_0");
    assert_string_equal(json_text(attachment, "ip"), "10.20.0.10");
    assert_null(json_text(attachment, "reason"));
    assert_true(json_is_null(json_field(attachment, "vf"))); /* no oneibd listens */
    has_findings(document);
    assert_int_equal(json_number(ONEIB_JSON(0, "show", "4"), "parent"), 1);
}

static void hosts_has_its_fields(void **state)
{
    (void)state;
    scene();
    populate();
    ONEIB(0, "sync");
    struct oneib_error err = {0};
    MUST(lab_accept_waiting(scene(), &err));
    json_t *document = ONEIB_JSON(0, "hosts");
    has_fields(document, "hosts reports_age fabric findings");
    assert_true(json_is_null(json_field(document, "reports_age"))); /* no oneibd listens */
    json_t *host = json_find(json_field(document, "hosts"), "name", "H1");
    has_fields(host,
               "id name state node vfs ports vfs_used vfs_free vfs_total probe_says problems");
    assert_int_equal(json_number(host, "vfs_used"), 1);
    assert_int_equal(json_number(host, "vfs_free"), json_number(host, "vfs_total") - 1);
    assert_int_equal(json_array_size(json_field(host, "problems")), 0);
    json_t *port = first(json_field(host, "ports"));
    has_fields(port, "device port guid switch_guid switch pkeys pkeys_max on_fabric");
    assert_int_equal(json_number(port, "pkeys"), 1);
    assert_int_equal(json_number(port, "pkeys_max"), 63);
    assert_string_equal(json_text(port, "switch"), "L1");
}

static void plan_has_its_fields(void **state)
{
    (void)state;
    scene();
    populate_and(true); /* for what comes after the first network */
    json_t *document = ONEIB_JSON(1, "plan", "--exit-code");
    has_fields(document, "ledger_lost adopted keys allocates changes file fabric held left "
                         "ports_to_reload to_do findings");
    json_t *keys = json_field(document, "keys");
    assert_int_equal(json_array_size(keys), 2);
    has_fields(first(keys), "network name pkey");
    has_fields(json_field(document, "file"), "path state changed needs_force error content");
    has_fields(json_field(document, "fabric"), "known error");
    has_changes(document);
    has_findings(document);
    assert_true(json_yes(document, "to_do"));
}

/* X2 is given a key that it should not have, so that there is a deviation to tell of. */
static void spoil_the_fabric(void)
{
    oneib_autofree char *file = scene_file();
    oneib_autofree char *spoiled = NULL;
    if (asprintf(&spoiled, "%sguests=0x0333 : 0x%016" PRIx64 "=full;\n", file,
                 lab_host_port_guid(scene(), SCENE_EXTRA + 1)) < 0)
        fail();
    scene_foreign_reload(spoiled, SCENE_EXTRA + 1, FULL(0x333));
}

static void verify_has_its_fields(void **state)
{
    (void)state;
    scene();
    populate();
    ONEIB(0, "sync");
    spoil_the_fabric();
    json_t *document = ONEIB_JSON(1, "verify");
    has_fields(document, "in_force held mads_sent nodes verification findings");
    assert_false(json_yes(document, "in_force"));
    has_verification(document);
    has_findings(document);
    json_t *deviation = first(json_field(json_field(document, "verification"), "deviations"));
    assert_string_equal(json_text(deviation, "kind"), "key-excess");
    assert_true(json_yes(deviation, "violation"));
    assert_string_equal(json_text(deviation, "port_guid"), "0x000000000010000d");
    assert_string_equal(json_text(deviation, "node"), "X2");
    assert_string_equal(json_text(json_field(deviation, "found"), "pkey"), "0x0333");
    assert_string_equal(json_text(json_field(deviation, "found"), "membership"), "full");
    assert_true(json_is_null(json_field(deviation, "expected")));
}

static void sync_has_its_fields(void **state)
{
    (void)state;
    scene();
    populate();
    json_t *document = ONEIB_JSON(0, "sync");
    static const char fields[] =
        "outcome adopted written keys_given keys_waiting reloads "
        "mads_sent in_force_ms held left in_force changes members verification findings";
    has_fields(document, fields);
    assert_string_equal(json_text(document, "outcome"), "applied");
    assert_true(json_is_real(json_field(document, "in_force_ms")));
    has_fields(
        json_field(document, "verification"),
        "ports keys violations differences members_off_fabric members_unverified deviations");
    has_changes(document);
    has_findings(document);
    json_t *member = json_find(json_field(document, "members"), "host", "H1");
    has_fields(member,
               "change network partition pkey membership vm nic host port_guid reason proof");
    assert_string_equal(json_text(member, "change"), "added");
    assert_string_equal(json_text(member, "proof"), "in-force");
    assert_string_equal(json_text(member, "reason"), "VM is on the host (RUNNING)");

    document = ONEIB_JSON(0, "sync");
    has_fields(document, fields);
    assert_string_equal(json_text(document, "outcome"), "unchanged");
    assert_int_equal(json_array_size(json_field(document, "members")), 0);
    assert_true(json_is_null(json_field(document, "in_force_ms")));
}

static void topology_has_its_fields(void **state)
{
    (void)state;
    scene();
    populate();
    ONEIB(0, "sync");
    json_t *document = ONEIB_JSON(0, "topology");
    has_fields(document, "nodes links partitions partitions_from");
    assert_string_equal(json_text(document, "partitions_from"), "one");
    has_fields(first(json_field(document, "nodes")), "guid type ports description");
    json_t *link = first(json_field(document, "links"));
    has_fields(link, "a b rate_gbps");
    has_fields(json_field(link, "a"), "node port port_guid");
    json_t *red = json_find(json_field(document, "partitions"), "name", "one1");
    has_fields(red, "name pkey network port_guids");
    has_fields(json_field(red, "network"), "id name");
    assert_int_equal(json_array_size(json_field(red, "port_guids")), 2);
}

static void check_has_its_fields(void **state)
{
    (void)state;
    scene();
    json_t *document = ONEIB_JSON(0, "check");
    has_fields(document, "ok checks");
    has_fields(first(json_field(document, "checks")), "status check text fix");
    assert_true(json_yes(document, "ok"));
}

static void mac_and_guid_have_their_fields(void **state)
{
    (void)state;
    scene();
    has_fields(ONEIB_JSON(0, "mac", "encode", "10.20.0.10"), "address index mac");
    has_fields(ONEIB_JSON(0, "mac", "decode", "aa:00:0a:14:00:0a"), "address index mac");
    has_fields(ONEIB_JSON(0, "guid", "encode", "42", "1"), "guid nic site vm");
    has_fields(ONEIB_JSON(0, "guid", "decode", "0x0200000000002a01"), "guid nic site vm");
}

static void a_failure_is_a_document_too(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    json_t *document = ONEIB_JSON(3, "show", "77");
    has_fields(document, "error");
    has_fields(json_field(document, "error"), "code text");
    assert_string_equal(json_text(json_field(document, "error"), "code"), "not-found");

    MUST(lab_standin_stop(lab, &err));
    static const char *const verbs[] = {"list", "plan", "sync", "verify"};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        assert_string_equal(json_text(json_field(ONEIB_JSON(3, verbs[i]), "error"), "code"),
                            "unreachable");
}

/* A network's name may be anything, and so may be what a document says of it. */
static void a_hostile_name_is_data_in_every_document(void **state)
{
    (void)state;
    scene();
    static const char hostile[] = "\"},{\"pkey\":\"0x7fff\" \\u0000 \xe2\x82\xac <b>";
    scene_vm(scene_network(hostile, "257", NULL), 0);
    json_t *cluster = first(json_field(ONEIB_JSON(0, "list"), "clusters"));
    assert_string_equal(json_text(cluster, "name"), hostile);
    assert_string_equal(json_text(ONEIB_JSON(0, "show", "1"), "name"), hostile);
    ONEIB_JSON(0, "plan");
    ONEIB_JSON(0, "sync");
    ONEIB_JSON(0, "verify");
    ONEIB_JSON(0, "topology");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_CASE(scene_raise, list_has_its_fields),
        SCENE_CASE(scene_raise, show_has_its_fields),
        SCENE_CASE(scene_raise_with_vfs, hosts_has_its_fields),
        SCENE_CASE(scene_raise, plan_has_its_fields),
        SCENE_CASE(scene_raise, verify_has_its_fields),
        SCENE_CASE(scene_raise, sync_has_its_fields),
        SCENE_CASE(scene_raise, topology_has_its_fields),
        SCENE_CASE(scene_raise, check_has_its_fields),
        SCENE_CASE(scene_raise, mac_and_guid_have_their_fields),
        SCENE_CASE(scene_raise, a_failure_is_a_document_too),
        SCENE_CASE(scene_raise, a_hostile_name_is_data_in_every_document),
    };
    return cmocka_run_group_tests(tests, read_man_page, forget_man_page);
}
