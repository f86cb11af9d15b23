// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "hca/vf_control.h"
#include "scripted.h"
#include "tree.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "../../skip.h"
#include <cmocka.h>

#define GUID 0x0200000000002a01
#define OTHER_GUID 0x0200000000002b00
#define DELETED "ffffffffffffffff"
#define IOV "/sys/class/infiniband/mlx4_0/iov"

static const struct tree_hca one_port = {.driver = ONEIB_HCA_MLX4, .pkeys = 15, .vfs = 3};
static const struct tree_hca two_ports = {
    .driver = ONEIB_HCA_MLX4, .ports = 2, .pkeys = 15, .vfs = 3};
static const struct tree_hca with_ethernet = {
    .driver = ONEIB_HCA_MLX4, .ports = 2, .pkeys = 15, .vfs = 3, .ethernet_ports = 1u << 2};

/* The adapter of a test and its virtual function 1; not 0, whose files would be mistaken easily. */
struct scene {
    const struct tree_hca *tree;
    struct oneib_hcas hcas;
    const struct oneib_hca *hca;
    const struct oneib_vf *vf;
};
#define VF 1

static void open_scene(struct scene *scene, const struct tree_hca *tree)
{
    struct oneib_error err = {0};
    *scene = (struct scene){.tree = tree};
    tree_add_hca(tree);
    if (oneib_hcas_read(ONEIB_HCA_PKEYS | ONEIB_HCA_VFS, &scene->hcas, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(scene->hcas.count, 1);
    scene->hca = &scene->hcas.items[0];
    assert_int_equal(scene->hca->fault.code, ONEIB_ERROR_NONE);
    assert_int_equal(scene->hca->vf_count, tree->vfs);
    scene->vf = &scene->hca->vfs[VF];
}

static void close_scene(struct scene *scene)
{
    oneib_hcas_clear(&scene->hcas);
}
#define SCENE(name, tree)                                                                          \
    __attribute__((cleanup(close_scene))) struct scene name;                                       \
    open_scene(&name, tree)

static struct oneib_vf_state state_of(const struct scene *scene)
{
    struct oneib_error err = {0};
    struct oneib_vf_state state;
    if (oneib_vf_state_read(scene->hca, scene->vf, &state, &err) < 0)
        fail_msg("%s", err.text);
    return state;
}

static void must_close(const struct scene *scene)
{
    struct oneib_error err = {0};
    if (oneib_vf_close(scene->hca, scene->vf, &err) < 0)
        fail_msg("%s", err.text);
}

static void must_open(const struct scene *scene, uint8_t port, uint16_t index)
{
    struct oneib_error err = {0};
    if (oneib_vf_open(scene->hca, scene->vf, port, index, &err) < 0)
        fail_msg("%s", err.text);
}

static void must_set_guid(const struct scene *scene, uint8_t port, oneib_guid guid)
{
    struct oneib_error err = {0};
    if (oneib_vf_set_guid(scene->hca, scene->vf, port, guid, &err) < 0)
        fail_msg("%s", err.text);
}

static void must_clear_guid(const struct scene *scene)
{
    struct oneib_error err = {0};
    if (oneib_vf_clear_guid(scene->hca, scene->vf, &err) < 0)
        fail_msg("%s", err.text);
}

static void says(const struct oneib_error *err, const char *words)
{
    if (!strstr(err->text, words))
        fail_msg("\"%s\" does not say \"%s\"", err->text, words);
}

static void map_is(const struct scene *scene, unsigned port, unsigned entry, const char *expected)
{
    char value[16];
    tree_get_vf_pkey(scene->tree, VF, port, entry, value, sizeof value);
    assert_string_equal(value, expected);
}

static void all_but_one_is_closed(const struct scene *scene, unsigned ports, unsigned port,
                                  unsigned entry)
{
    for (unsigned p = 1; p <= ports; p++)
        for (unsigned i = 0; i < scene->tree->pkeys; i++)
            if (p != port || i != entry)
                map_is(scene, p, i, "0");
}

static void all_is_closed(const struct scene *scene, unsigned ports)
{
    all_but_one_is_closed(scene, ports, 0, 0);
}

static char *entry_file(unsigned port, unsigned entry)
{
    char directory[ONEIB_PCI_TEXT_SIZE];
    tree_vf_directory(&two_ports, VF, directory);
    return tree_path(IOV "/%s/ports/%u/pkey_idx/%u", directory, port, entry);
}

static void protect_entry(unsigned port, unsigned entry, mode_t mode)
{
    char directory[ONEIB_PCI_TEXT_SIZE];
    tree_vf_directory(&two_ports, VF, directory);
    tree_set_mode(mode, IOV "/%s/ports/%u/pkey_idx/%u", directory, port, entry);
}

static void remove_entry(unsigned port, unsigned entry)
{
    char directory[ONEIB_PCI_TEXT_SIZE];
    tree_vf_directory(&two_ports, VF, directory);
    tree_remove(IOV "/%s/ports/%u/pkey_idx/%u", directory, port, entry);
}

static void alias_is(unsigned port, const char *expected)
{
    char value[24];
    tree_read(value, sizeof value, IOV "/ports/%u/admin_guids/%u", port, VF + 1);
    assert_string_equal(value, expected);
}

static void need_terminal(bool there)
{
    if (there)
        return;
    skip_because("there are no terminals here");
}

/* ---- what a VF is like ----------------------------------------------------------------------- */

static void a_vf_as_the_driver_leaves_it_is_not_closed_but_fresh(void **state)
{
    (void)state;
    SCENE(scene, &one_port);
    const struct oneib_vf_state fresh = state_of(&scene);
    assert_false(fresh.closed);
    assert_true(fresh.fresh);
    assert_int_equal(fresh.index, -1);
    assert_int_equal(fresh.open_port, 0);
    assert_int_equal(fresh.ports, 1u << 1);
    assert_false(fresh.has_ethernet);
    assert_true(fresh.guid == 0);
    assert_true(fresh.guid_gone);
}

static void a_map_with_an_entry_elsewhere_is_not_fresh(void **state)
{
    (void)state;
    SCENE(scene, &one_port);
    tree_set_vf_pkey(scene.tree, VF, 1, 3, "4");
    const struct oneib_vf_state mapped = state_of(&scene);
    assert_false(mapped.closed);
    assert_false(mapped.fresh);
}

static void an_open_vf_says_where_it_is_open(void **state)
{
    (void)state;
    SCENE(scene, &two_ports);
    must_close(&scene);
    tree_set_vf_pkey(scene.tree, VF, 2, 0, "7");
    const struct oneib_vf_state open = state_of(&scene);
    assert_false(open.closed);
    assert_false(open.fresh);
    assert_int_equal(open.index, 7);
    assert_int_equal(open.open_port, 2);
}

static void a_vf_open_in_two_places_is_open_at_no_index(void **state)
{
    (void)state;
    SCENE(scene, &two_ports);
    must_close(&scene);
    tree_set_vf_pkey(scene.tree, VF, 1, 0, "7");
    tree_set_vf_pkey(scene.tree, VF, 2, 5, "7");
    const struct oneib_vf_state twice = state_of(&scene);
    assert_false(twice.closed);
    assert_int_equal(twice.index, -1);
    assert_int_equal(twice.open_port, 0);
}

static void an_entry_besides_0_is_open_at_no_index(void **state)
{
    (void)state;
    SCENE(scene, &one_port);
    must_close(&scene);
    tree_set_vf_pkey(scene.tree, VF, 1, 5, "7");
    const struct oneib_vf_state mapped = state_of(&scene);
    assert_false(mapped.closed);
    assert_int_equal(mapped.index, -1);
}

static void a_directory_is_told_by_its_alias_and_not_by_its_name(void **state)
{
    (void)state;
    static const struct tree_hca odd = {
        .driver = ONEIB_HCA_MLX4, .pkeys = 15, .vfs = 3, .odd_directories = true};
    SCENE(scene, &odd);
    must_close(&scene);
    must_open(&scene, 1, 4);
    map_is(&scene, 1, 0, "4");
}

static void a_map_that_holds_no_index_is_an_error(void **state)
{
    (void)state;
    static const char *const values[] = {"", "-1", "0x3", "65536", "3 4", "nothing"};
    SCENE(scene, &one_port);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct oneib_error err = {0};
        struct oneib_vf_state after;
        tree_set_vf_pkey(scene.tree, VF, 1, 3, values[i]);
        assert_int_equal(oneib_vf_state_read(scene.hca, scene.vf, &after, &err), -1);
        says(&err, "/ports/1/pkey_idx/3 reads");
        says(&err, "reading virtual function 1 (0000:81:00.2) of mlx4_0");
    }
}

static void a_vf_with_an_ethernet_port_says_so(void **state)
{
    (void)state;
    SCENE(scene, &with_ethernet);
    const struct oneib_vf_state vf = state_of(&scene);
    assert_true(vf.has_ethernet);
    assert_int_equal(vf.ports, 1u << 1 | 1u << 2);
}

static void a_vf_without_its_directory_is_an_error_everywhere(void **state)
{
    (void)state;
    char directory[ONEIB_PCI_TEXT_SIZE];
    SCENE(scene, &one_port);
    tree_vf_directory(scene.tree, VF, directory);
    tree_remove(IOV "/%s", directory);
    oneib_hcas_clear(&scene.hcas);
    struct oneib_error err = {0};
    assert_int_equal(oneib_hcas_read(ONEIB_HCA_VFS, &scene.hcas, &err), 0);
    scene.hca = &scene.hcas.items[0];
    scene.vf = &scene.hca->vfs[VF];
    assert_string_equal(scene.vf->iov_directory, "");

    struct oneib_vf_state after;
    bool closed;
    assert_int_equal(oneib_vf_state_read(scene.hca, scene.vf, &after, &err), -1);
    says(&err, "no directory below");
    assert_int_equal(oneib_vf_close(scene.hca, scene.vf, &err), -1);
    assert_int_equal(oneib_vf_close_unassigned(scene.hca, scene.vf, &closed, &err), -1);
    assert_int_equal(oneib_vf_open(scene.hca, scene.vf, 1, 3, &err), -1);
    assert_int_equal(oneib_vf_set_guid(scene.hca, scene.vf, 1, GUID, &err), -1);
    assert_int_equal(oneib_vf_clear_guid(scene.hca, scene.vf, &err), -1);
}

static void a_directory_that_went_away_is_an_error_and_not_a_vf_without_ports(void **state)
{
    (void)state;
    char directory[ONEIB_PCI_TEXT_SIZE];
    SCENE(scene, &one_port);
    struct oneib_error err = {0};
    tree_vf_directory(scene.tree, VF, directory);
    tree_remove(IOV "/%s", directory);
    assert_int_equal(oneib_vf_close(scene.hca, scene.vf, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_NOT_FOUND);
    says(&err, "there is no port in");
}

static void an_adapter_of_another_kind_is_refused(void **state)
{
    (void)state;
    SCENE(scene, &one_port);
    struct oneib_error err = {0};
    struct oneib_hca other = *scene.hca;
    other.driver = ONEIB_HCA_OTHER;
    assert_int_equal(oneib_vf_close(&other, scene.vf, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    says(&err, "neither an mlx4 nor an mlx5");
}

/* ---- closing --------------------------------------------------------------------------------- */

static void closing_points_every_entry_of_every_port_to_the_default_partition(void **state)
{
    (void)state;
    SCENE(scene, &two_ports);
    tree_set_vf_pkey(scene.tree, VF, 1, 0, "5");
    tree_set_vf_pkey(scene.tree, VF, 2, 14, "6");
    must_close(&scene);
    all_is_closed(&scene, 2);
    const struct oneib_vf_state closed = state_of(&scene);
    assert_true(closed.closed);
    assert_false(closed.fresh);
    assert_int_equal(closed.index, -1);
}

static void closing_one_vf_leaves_the_others_alone(void **state)
{
    (void)state;
    char value[16];
    SCENE(scene, &one_port);
    tree_set_vf_pkey(scene.tree, VF + 1, 1, 0, "9");
    must_close(&scene);
    tree_get_vf_pkey(scene.tree, VF + 1, 1, 0, value, sizeof value);
    assert_string_equal(value, "9");
    tree_get_vf_pkey(scene.tree, VF - 1, 1, 1, value, sizeof value);
    assert_string_equal(value, "none");
}

static int watch_maps(int wd[2])
{
    const int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    assert_true(fd >= 0);
    for (unsigned port = 1; port <= 2; port++) {
        oneib_autofree char *file = entry_file(port, 0);
        *strrchr(file, '/') = '\0';
        wd[port - 1] = inotify_add_watch(fd, file, IN_CLOSE_WRITE);
        assert_true(wd[port - 1] >= 0);
    }
    return fd;
}

static void entry_0_of_every_port_is_closed_before_any_other(void **state)
{
    (void)state;
    _Alignas(struct inotify_event) char events[16384];
    int wd[2];
    SCENE(scene, &two_ports);
    tree_set_vf_pkey(scene.tree, VF, 1, 0, "5");
    tree_set_vf_pkey(scene.tree, VF, 2, 0, "6");
    oneib_autoclose int fd = watch_maps(wd);
    must_close(&scene);
    const ssize_t got = read(fd, events, sizeof events);
    size_t count = 0;
    for (ssize_t at = 0; at < got; count++) {
        const struct inotify_event *event = (const void *)(events + at);
        if (count < 2) {
            assert_string_equal(event->name, "0");
            assert_int_equal(event->wd, wd[count]);
        }
        at += (ssize_t)(sizeof *event + event->len);
    }
    assert_int_equal(count, 2 * 15);
}

static void an_entry_that_is_closed_is_not_written(void **state)
{
    (void)state;
    int wd[2];
    char events[256];
    SCENE(scene, &two_ports);
    must_close(&scene);
    oneib_autoclose int fd = watch_maps(wd);
    must_close(&scene);
    assert_int_equal(read(fd, events, sizeof events), -1);
}

static void a_read_only_entry_is_an_error_and_all_others_are_closed(void **state)
{
    (void)state;
    SCENE(scene, &two_ports);
    struct oneib_error err = {0};
    tree_set_vf_pkey(scene.tree, VF, 1, 0, "5");
    protect_entry(1, 0, 0444);
    assert_int_equal(oneib_vf_close(scene.hca, scene.vf, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_SYSTEM);
    says(&err, "/ports/1/pkey_idx/0");
    says(&err, "closing virtual function 1 (0000:81:00.2) of mlx4_0");
    map_is(&scene, 1, 0, "5");
    all_but_one_is_closed(&scene, 2, 1, 0);
}

static void the_first_of_two_failures_is_reported(void **state)
{
    (void)state;
    SCENE(scene, &two_ports);
    struct oneib_error err = {0};
    protect_entry(2, 3, 0444);
    protect_entry(1, 4, 0444);
    assert_int_equal(oneib_vf_close(scene.hca, scene.vf, &err), -1);
    says(&err, "/ports/1/pkey_idx/4");
}

static void an_unreadable_entry_is_written_all_the_same_and_is_an_error(void **state)
{
    (void)state;
    SCENE(scene, &one_port);
    struct oneib_error err = {0};
    struct oneib_vf_state after;
    tree_set_vf_pkey(scene.tree, VF, 1, 0, "5");
    protect_entry(1, 0, 0200);
    assert_int_equal(oneib_vf_close(scene.hca, scene.vf, &err), -1);
    says(&err, "/ports/1/pkey_idx/0");
    assert_int_equal(oneib_vf_state_read(scene.hca, scene.vf, &after, &err), -1);
    protect_entry(1, 0, 0644);
    all_is_closed(&scene, 1);
}

static void a_missing_entry_is_an_error_and_entry_0_is_closed_all_the_same(void **state)
{
    (void)state;
    SCENE(scene, &one_port);
    struct oneib_error err = {0};
    struct oneib_vf_state after;
    must_close(&scene);
    remove_entry(1, 5);
    assert_int_equal(oneib_vf_state_read(scene.hca, scene.vf, &after, &err), -1);
    says(&err, "has no entry 5");
    tree_set_vf_pkey(scene.tree, VF, 1, 0, "3");
    assert_int_equal(oneib_vf_close(scene.hca, scene.vf, &err), -1);
    map_is(&scene, 1, 0, "0");
}

static void a_map_without_entries_is_an_error(void **state)
{
    (void)state;
    SCENE(scene, &one_port);
    struct oneib_error err = {0};
    struct oneib_vf_state after;
    for (unsigned i = 0; i < one_port.pkeys; i++)
        remove_entry(1, i);
    assert_int_equal(oneib_vf_close(scene.hca, scene.vf, &err), -1);
    assert_int_equal(oneib_vf_state_read(scene.hca, scene.vf, &after, &err), -1);
    says(&err, "has no entries");
}

static void closing_without_effect_is_an_error(void **state)
{
    (void)state;
    struct scripted entry;
    char written[64];
    SCENE(scene, &two_ports);
    struct oneib_error err = {0};
    oneib_autofree char *file = entry_file(1, 0);
    need_terminal(scripted_open(&entry, file, "5\n5\n"));
    assert_int_equal(oneib_vf_close(scene.hca, scene.vf, &err), -1);
    says(&err, "/ports/1/pkey_idx/0 reads \"5\", not 0, which was written");
    scripted_written(&entry, written, sizeof written);
    assert_string_equal(written, "0");
    scripted_close(&entry);
}

static void a_driver_that_answers_nothing_has_not_closed(void **state)
{
    (void)state;
    SCENE(scene, &one_port);
    struct oneib_error err = {0};
    oneib_autofree char *file = entry_file(1, 3);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(symlink("/dev/null", file), 0);
    assert_int_equal(oneib_vf_close(scene.hca, scene.vf, &err), -1);
    says(&err, "/ports/1/pkey_idx/3 reads \"\", not 0");
}

static void the_map_of_an_ethernet_port_is_not_touched(void **state)
{
    (void)state;
    SCENE(scene, &with_ethernet);
    must_close(&scene);
    all_but_one_is_closed(&scene, 1, 0, 0);
    map_is(&scene, 2, 1, "none");
    assert_true(state_of(&scene).closed);
}

static void closing_what_is_unmapped_leaves_what_somebody_mapped(void **state)
{
    (void)state;
    SCENE(scene, &two_ports);
    struct oneib_error err = {0};
    bool closed = false;
    tree_set_vf_pkey(scene.tree, VF, 1, 0, "5");
    tree_set_vf_pkey(scene.tree, VF, 2, 3, "6");
    assert_int_equal(oneib_vf_close_unassigned(scene.hca, scene.vf, &closed, &err), 0);
    assert_true(closed);
    map_is(&scene, 1, 0, "5");
    map_is(&scene, 2, 3, "6");
    for (unsigned i = 1; i < two_ports.pkeys; i++)
        map_is(&scene, 1, i, "0");
    assert_int_equal(oneib_vf_close_unassigned(scene.hca, scene.vf, &closed, &err), 0);
    assert_false(closed);
}

static void unmapped_entries_after_one_that_cannot_be_read_are_closed_too(void **state)
{
    (void)state;
    SCENE(scene, &one_port);
    struct oneib_error err = {0};
    bool closed = false;
    protect_entry(1, 2, 0);
    assert_int_equal(oneib_vf_close_unassigned(scene.hca, scene.vf, &closed, &err), -1);
    assert_true(closed);
    says(&err, "/ports/1/pkey_idx/2");
    protect_entry(1, 2, 0644);
    map_is(&scene, 1, 2, "none");
    all_but_one_is_closed(&scene, 1, 1, 2);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void opening_maps_entry_0_of_one_port_and_nothing_else(void **state)
{
    (void)state;
    SCENE(scene, &two_ports);
    must_close(&scene);
    must_open(&scene, 2, 12);
    map_is(&scene, 2, 0, "12");
    all_but_one_is_closed(&scene, 2, 2, 0);
    const struct oneib_vf_state open = state_of(&scene);
    assert_int_equal(open.index, 12);
    assert_int_equal(open.open_port, 2);
}

static void refused(const struct scene *scene, uint8_t port, uint16_t index, const char *words)
{
    struct oneib_error err = {0};
    assert_int_equal(oneib_vf_open(scene->hca, scene->vf, port, index, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    says(&err, words);
}

static void what_is_not_closed_is_not_opened(void **state)
{
    (void)state;
    SCENE(scene, &one_port);
    refused(&scene, 1, 3, "14 entries of its map are not closed");
    map_is(&scene, 1, 0, "0");
    must_close(&scene);
    tree_set_vf_pkey(scene.tree, VF, 1, 9, "2");
    refused(&scene, 1, 3, "1 entries of its map are not closed");
}

static void the_default_partition_is_not_opened(void **state)
{
    (void)state;
    SCENE(scene, &one_port);
    must_close(&scene);
    refused(&scene, 1, 0, "index 0 is the default partition's");
}

static void a_port_that_the_vf_has_not_is_not_opened(void **state)
{
    (void)state;
    SCENE(scene, &one_port);
    must_close(&scene);
    refused(&scene, 2, 3, "no InfiniBand port 2");
    refused(&scene, 0, 3, "no InfiniBand port 0");
}

static void a_vf_with_an_ethernet_port_is_not_opened(void **state)
{
    (void)state;
    SCENE(scene, &with_ethernet);
    must_close(&scene);
    refused(&scene, 1, 3, "Ethernet");
    refused(&scene, 2, 3, "no InfiniBand port 2");
    all_is_closed(&scene, 1);
}

static void opening_without_effect_is_an_error_and_closes_again(void **state)
{
    (void)state;
    struct scripted entry;
    char written[64];
    SCENE(scene, &one_port);
    struct oneib_error err = {0};
    oneib_autofree char *file = entry_file(1, 0);
    must_close(&scene);
    need_terminal(scripted_open(&entry, file, "0\n0\n9\n"));
    assert_int_equal(oneib_vf_open(scene.hca, scene.vf, 1, 7, &err), -1);
    says(&err, "/ports/1/pkey_idx/0 reads \"9\", not 7, which was written");
    scripted_written(&entry, written, sizeof written);
    assert_string_equal(written, "70");
    scripted_close(&entry);
}

static void an_entry_that_cannot_be_written_is_not_open(void **state)
{
    (void)state;
    SCENE(scene, &one_port);
    struct oneib_error err = {0};
    must_close(&scene);
    protect_entry(1, 0, 0444);
    assert_int_equal(oneib_vf_open(scene.hca, scene.vf, 1, 7, &err), -1);
    says(&err, "opening virtual function 1");
    assert_true(state_of(&scene).closed);
}

/* ---- GUIDs ----------------------------------------------------------------------------------- */

static void a_guid_is_accepted_once_the_port_shows_it(void **state)
{
    (void)state;
    SCENE(scene, &two_ports);
    must_set_guid(&scene, 2, GUID);
    alias_is(2, "0200000000002a01");
    alias_is(1, "0");
    struct oneib_vf_state told = state_of(&scene);
    assert_true(told.guid == GUID);
    assert_false(told.guid_accepted);
    assert_false(told.guid_shown);
    assert_false(told.guid_gone);
    tree_set_alias(scene.tree, VF, 2, OTHER_GUID);
    assert_false(state_of(&scene).guid_accepted);
    tree_set_alias(scene.tree, VF, 2, GUID);
    told = state_of(&scene);
    assert_true(told.guid_accepted);
    assert_true(told.guid_shown);
}

static void the_open_port_says_which_guid_counts(void **state)
{
    (void)state;
    SCENE(scene, &two_ports);
    must_close(&scene);
    must_set_guid(&scene, 1, OTHER_GUID);
    must_set_guid(&scene, 2, GUID);
    tree_set_alias(scene.tree, VF, 2, GUID);
    assert_true(state_of(&scene).guid == OTHER_GUID);
    must_open(&scene, 2, 3);
    const struct oneib_vf_state open = state_of(&scene);
    assert_true(open.guid == GUID);
    assert_true(open.guid_accepted);
}

static void a_guid_that_was_accepted_is_not_written_again(void **state)
{
    (void)state;
    SCENE(scene, &one_port);
    must_set_guid(&scene, 1, GUID);
    tree_set_alias(scene.tree, VF, 1, GUID);
    tree_set_mode(0444, IOV "/ports/1/admin_guids/%u", VF + 1);
    must_set_guid(&scene, 1, GUID);
}

static void a_guid_that_was_not_accepted_is_asked_for_again(void **state)
{
    (void)state;
    SCENE(scene, &one_port);
    struct oneib_error err = {0};
    must_set_guid(&scene, 1, GUID);
    tree_set_mode(0444, IOV "/ports/1/admin_guids/%u", VF + 1);
    assert_int_equal(oneib_vf_set_guid(scene.hca, scene.vf, 1, GUID, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_SYSTEM);
}

static void a_deleted_guid_is_gone_when_the_subnet_manager_lets_go(void **state)
{
    (void)state;
    SCENE(scene, &one_port);
    must_set_guid(&scene, 1, GUID);
    tree_set_alias(scene.tree, VF, 1, GUID);
    must_clear_guid(&scene);
    alias_is(1, DELETED);
    struct oneib_vf_state after = state_of(&scene);
    assert_true(after.guid == 0);
    assert_false(after.guid_accepted);
    assert_true(after.guid_shown);
    assert_false(after.guid_gone);
    tree_set_alias(scene.tree, VF, 1, 0);
    after = state_of(&scene);
    assert_false(after.guid_shown);
    assert_true(after.guid_gone);
}

static void all_ones_in_the_port_is_gone_and_another_guid_is_not(void **state)
{
    (void)state;
    SCENE(scene, &one_port);
    must_set_guid(&scene, 1, GUID);
    must_clear_guid(&scene);
    tree_set_alias(scene.tree, VF, 1, UINT64_MAX);
    assert_true(state_of(&scene).guid_gone);
    tree_set_alias(scene.tree, VF, 1, 0x0002c90300112233);
    assert_false(state_of(&scene).guid_gone);
}

static void a_deletion_is_asked_for_again_while_the_port_shows_the_guid(void **state)
{
    (void)state;
    SCENE(scene, &one_port);
    struct oneib_error err = {0};
    must_set_guid(&scene, 1, GUID);
    tree_set_alias(scene.tree, VF, 1, GUID);
    must_clear_guid(&scene);
    tree_set_mode(0444, IOV "/ports/1/admin_guids/%u", VF + 1);
    assert_int_equal(oneib_vf_clear_guid(scene.hca, scene.vf, &err), -1);
    tree_set_alias(scene.tree, VF, 1, 0);
    must_clear_guid(&scene);
}

static void a_guid_is_taken_away_on_all_ports(void **state)
{
    (void)state;
    SCENE(scene, &two_ports);
    must_set_guid(&scene, 1, OTHER_GUID);
    must_set_guid(&scene, 2, GUID);
    must_clear_guid(&scene);
    alias_is(1, DELETED);
    alias_is(2, DELETED);
    assert_true(state_of(&scene).guid_gone);
}

static void a_failure_on_one_port_does_not_keep_the_guid_of_the_other(void **state)
{
    (void)state;
    SCENE(scene, &two_ports);
    struct oneib_error err = {0};
    must_set_guid(&scene, 1, OTHER_GUID);
    must_set_guid(&scene, 2, GUID);
    tree_set_mode(0444, IOV "/ports/1/admin_guids/%u", VF + 1);
    assert_int_equal(oneib_vf_clear_guid(scene.hca, scene.vf, &err), -1);
    says(&err, "ports/1/admin_guids");
    alias_is(2, DELETED);
    assert_false(state_of(&scene).guid_gone);
}

static void a_vf_that_never_had_a_guid_is_not_asked_to_delete_one(void **state)
{
    (void)state;
    SCENE(scene, &one_port);
    must_clear_guid(&scene);
    alias_is(1, "0");
}

static void a_wish_that_the_driver_made_up_is_no_shown_guid_and_is_taken_away(void **state)
{
    (void)state;
    SCENE(scene, &one_port);
    tree_write("a6f00dc0ffee1234", IOV "/ports/1/admin_guids/%u", VF + 1);
    const struct oneib_vf_state started = state_of(&scene);
    assert_false(started.guid_shown);
    assert_false(started.guid_gone);
    must_clear_guid(&scene);
    assert_true(state_of(&scene).guid_gone);
}

static void a_guid_taken_without_effect_is_an_error(void **state)
{
    (void)state;
    struct scripted alias;
    SCENE(scene, &one_port);
    struct oneib_error err = {0};
    oneib_autofree char *file = tree_path(IOV "/ports/1/admin_guids/%u", VF + 1);
    need_terminal(scripted_open(&alias, file, "0\n0\n"));
    assert_int_equal(oneib_vf_set_guid(scene.hca, scene.vf, 1, GUID, &err), -1);
    says(&err, "reads \"0000000000000000\", not 0200000000002a01, which was written");
    scripted_close(&alias);
}

static void a_deletion_taken_without_effect_is_an_error(void **state)
{
    (void)state;
    struct scripted alias;
    SCENE(scene, &one_port);
    struct oneib_error err = {0};
    oneib_autofree char *file = tree_path(IOV "/ports/1/admin_guids/%u", VF + 1);
    need_terminal(scripted_open(&alias, file, "200000000002a01\n200000000002a01\n"));
    assert_int_equal(oneib_vf_clear_guid(scene.hca, scene.vf, &err), -1);
    says(&err, "not ffffffffffffffff, which was written");
    scripted_close(&alias);
}

static void the_ports_own_guid_is_never_written(void **state)
{
    (void)state;
    char directory[ONEIB_PCI_TEXT_SIZE], before[24], after[24];
    SCENE(scene, &one_port);
    struct oneib_error err = {0};
    tree_vf_directory(scene.tree, VF, directory);
    tree_read(before, sizeof before, IOV "/ports/1/admin_guids/0");
    tree_write("0", IOV "/%s/ports/1/gid_idx/0", directory);
    assert_int_equal(oneib_vf_set_guid(scene.hca, scene.vf, 1, GUID, &err), -1);
    says(&err, "alias GUID is number 0, where 2 was expected");
    assert_int_equal(oneib_vf_clear_guid(scene.hca, scene.vf, &err), -1);
    tree_read(after, sizeof after, IOV "/ports/1/admin_guids/0");
    assert_string_equal(before, after);
}

static void another_vfs_alias_is_never_written(void **state)
{
    (void)state;
    char directory[ONEIB_PCI_TEXT_SIZE], value[24];
    SCENE(scene, &one_port);
    struct oneib_error err = {0};
    tree_vf_directory(scene.tree, VF, directory);
    tree_write("3", IOV "/%s/ports/1/gid_idx/0", directory);
    assert_int_equal(oneib_vf_set_guid(scene.hca, scene.vf, 1, GUID, &err), -1);
    tree_read(value, sizeof value, IOV "/ports/1/admin_guids/3");
    assert_string_equal(value, "0");
}

static void what_is_no_gid_or_no_guid_is_an_error(void **state)
{
    (void)state;
    static const char *const gids[] = {"", "fe80::1", "fe80:0000:0000:0000:0200:0000:0000:2a0g",
                                       "fe80:0000:0000:0000:0200:0000:0000:2a01:"};
    SCENE(scene, &one_port);
    struct oneib_error err = {0};
    struct oneib_vf_state after;
    for (size_t i = 0; i < sizeof gids / sizeof *gids; i++) {
        tree_write(gids[i], IOV "/ports/1/gids/%u", VF + 1);
        assert_int_equal(oneib_vf_state_read(scene.hca, scene.vf, &after, &err), -1);
        says(&err, "not a GID");
    }
    tree_set_alias(scene.tree, VF, 1, 0);
    tree_write("guid", IOV "/ports/1/admin_guids/%u", VF + 1);
    assert_int_equal(oneib_vf_state_read(scene.hca, scene.vf, &after, &err), -1);
    assert_int_equal(oneib_vf_clear_guid(scene.hca, scene.vf, &err), -1);
}

static void a_missing_alias_is_an_error(void **state)
{
    (void)state;
    static const char *const directories[] = {"gids", "admin_guids"};
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        tree_reset(NULL);
        SCENE(scene, &one_port);
        struct oneib_error err = {0};
        struct oneib_vf_state after;
        tree_remove(IOV "/ports/1/%s/%u", directories[i], VF + 1);
        assert_int_equal(oneib_vf_state_read(scene.hca, scene.vf, &after, &err), -1);
        assert_int_equal(err.code, ONEIB_ERROR_NOT_FOUND);
        assert_int_equal(oneib_vf_set_guid(scene.hca, scene.vf, 1, GUID, &err), -1);
        assert_int_equal(oneib_vf_clear_guid(scene.hca, scene.vf, &err), -1);
    }
}

static void no_guid_and_all_ones_are_not_set(void **state)
{
    (void)state;
    SCENE(scene, &one_port);
    struct oneib_error err = {0};
    assert_int_equal(oneib_vf_set_guid(scene.hca, scene.vf, 1, 0, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    assert_int_equal(oneib_vf_set_guid(scene.hca, scene.vf, 1, UINT64_MAX, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    alias_is(1, "0");
}

static void an_ethernet_port_gets_no_guid(void **state)
{
    (void)state;
    SCENE(scene, &with_ethernet);
    struct oneib_error err = {0};
    assert_int_equal(oneib_vf_set_guid(scene.hca, scene.vf, 2, GUID, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    alias_is(2, "0");
}

#define CASE(name) cmocka_unit_test_setup(name, tree_reset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_vf_as_the_driver_leaves_it_is_not_closed_but_fresh),
        CASE(a_map_with_an_entry_elsewhere_is_not_fresh),
        CASE(an_open_vf_says_where_it_is_open),
        CASE(a_vf_open_in_two_places_is_open_at_no_index),
        CASE(an_entry_besides_0_is_open_at_no_index),
        CASE(a_directory_is_told_by_its_alias_and_not_by_its_name),
        CASE(a_map_that_holds_no_index_is_an_error),
        CASE(a_vf_with_an_ethernet_port_says_so),
        CASE(a_vf_without_its_directory_is_an_error_everywhere),
        CASE(a_directory_that_went_away_is_an_error_and_not_a_vf_without_ports),
        CASE(an_adapter_of_another_kind_is_refused),
        CASE(closing_points_every_entry_of_every_port_to_the_default_partition),
        CASE(closing_one_vf_leaves_the_others_alone),
        CASE(entry_0_of_every_port_is_closed_before_any_other),
        CASE(an_entry_that_is_closed_is_not_written),
        CASE(a_read_only_entry_is_an_error_and_all_others_are_closed),
        CASE(the_first_of_two_failures_is_reported),
        CASE(an_unreadable_entry_is_written_all_the_same_and_is_an_error),
        CASE(a_missing_entry_is_an_error_and_entry_0_is_closed_all_the_same),
        CASE(a_map_without_entries_is_an_error),
        CASE(closing_without_effect_is_an_error),
        CASE(a_driver_that_answers_nothing_has_not_closed),
        CASE(the_map_of_an_ethernet_port_is_not_touched),
        CASE(closing_what_is_unmapped_leaves_what_somebody_mapped),
        CASE(unmapped_entries_after_one_that_cannot_be_read_are_closed_too),
        CASE(opening_maps_entry_0_of_one_port_and_nothing_else),
        CASE(what_is_not_closed_is_not_opened),
        CASE(the_default_partition_is_not_opened),
        CASE(a_port_that_the_vf_has_not_is_not_opened),
        CASE(a_vf_with_an_ethernet_port_is_not_opened),
        CASE(opening_without_effect_is_an_error_and_closes_again),
        CASE(an_entry_that_cannot_be_written_is_not_open),
        CASE(a_guid_is_accepted_once_the_port_shows_it),
        CASE(the_open_port_says_which_guid_counts),
        CASE(a_guid_that_was_accepted_is_not_written_again),
        CASE(a_guid_that_was_not_accepted_is_asked_for_again),
        CASE(a_deleted_guid_is_gone_when_the_subnet_manager_lets_go),
        CASE(all_ones_in_the_port_is_gone_and_another_guid_is_not),
        CASE(a_deletion_is_asked_for_again_while_the_port_shows_the_guid),
        CASE(a_guid_is_taken_away_on_all_ports),
        CASE(a_failure_on_one_port_does_not_keep_the_guid_of_the_other),
        CASE(a_vf_that_never_had_a_guid_is_not_asked_to_delete_one),
        CASE(a_wish_that_the_driver_made_up_is_no_shown_guid_and_is_taken_away),
        CASE(a_guid_taken_without_effect_is_an_error),
        CASE(a_deletion_taken_without_effect_is_an_error),
        CASE(the_ports_own_guid_is_never_written),
        CASE(another_vfs_alias_is_never_written),
        CASE(what_is_no_gid_or_no_guid_is_an_error),
        CASE(a_missing_alias_is_an_error),
        CASE(no_guid_and_all_ones_are_not_set),
        CASE(an_ethernet_port_gets_no_guid),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
