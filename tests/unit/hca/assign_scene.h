// SPDX-License-Identifier: Apache-2.0
/* One mlx4 adapter with a few VFs, and what tests of assigning look at on it. */
#ifndef ONEIB_UNIT_ASSIGN_SCENE_H
#define ONEIB_UNIT_ASSIGN_SCENE_H

#include "hca/assign.h"
#include "hca/reservations.h"
#include "sm_stand_in.h"
#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KEY 5
#define KEY_INDEX 3
#define OTHER_KEY 6
#define OTHER_INDEX 4
#define FULL 0x8000

/* Small tables: every test touches every entry. */
static const struct tree_hca hca = {.driver = ONEIB_HCA_MLX4, .vfs = 4, .pkeys = 7};

static inline int open_scene(void **state)
{
    tree_reset(state);
    tree_add_hca(&hca);
    tree_set_pkey(&hca, 1, KEY_INDEX, FULL | KEY);
    sm_start(&hca);
    return 0;
}

static inline int close_scene(void **state)
{
    (void)state;
    sm_stop();
    return 0;
}

static inline struct oneib_assignment assignment_of(uint32_t vm_id, uint8_t nic_id, oneib_pkey pkey)
{
    return (struct oneib_assignment){
        .vm_id = vm_id,
        .nic_id = nic_id,
        .site = 7,
        .pkey = pkey,
        .numa_node = -1,
        .pkey_wait_ms = 150,
        .guid_wait_ms = 2000,
    };
}

static inline void assign(const struct oneib_assignment *assignment, struct oneib_vf_record *record)
{
    struct oneib_error err = {0};
    if (oneib_assign(assignment, record, &err) < 0)
        fail_msg("assigning: %s", err.text);
}

static inline void assert_assign_fails(const struct oneib_assignment *assignment,
                                       enum oneib_error_code code, const char *words)
{
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    assert_int_equal(oneib_assign(assignment, &record, &err), -1);
    if (err.code != code || !strstr(err.text, words))
        fail_msg("\"%s\" (%s) is not about \"%s\" (%s)", err.text, oneib_error_code_name(err.code),
                 words, oneib_error_code_name(code));
}

static inline size_t release(uint32_t vm_id, int nic_id)
{
    struct oneib_error err = {0};
    size_t released = 0;
    if (oneib_release(vm_id, nic_id, 2000, &released, &err) < 0)
        fail_msg("releasing: %s", err.text);
    return released;
}

/* Where entry 0 of the VF's port points to; every other entry must be closed. -1: `none`. */
static inline int open_index(const struct tree_hca *of, unsigned vf, unsigned port)
{
    char text[16];
    for (unsigned entry = 1; entry < of->pkeys; entry++) {
        tree_get_vf_pkey(of, vf, port, entry, text, sizeof text);
        if (strcmp(text, "0") != 0 && strcmp(text, "none") != 0)
            fail_msg("entry %u of VF %u is %s", entry, vf, text);
    }
    tree_get_vf_pkey(of, vf, port, 0, text, sizeof text);
    return strcmp(text, "none") == 0 ? -1 : atoi(text);
}

/* Not even `none` is left. */
static inline void assert_closed(const struct tree_hca *of, unsigned vf)
{
    for (unsigned entry = 0; entry < of->pkeys; entry++) {
        char text[16];
        tree_get_vf_pkey(of, vf, 1, entry, text, sizeof text);
        assert_string_equal(text, "0");
    }
}

static inline bool find_record(uint32_t vm_id, uint8_t nic_id, struct oneib_vf_record *record)
{
    struct oneib_error err = {0};
    struct oneib_vf_table table;
    if (oneib_reservations_read(&table, &err) < 0)
        fail_msg("%s", err.text);
    const struct oneib_vf_record *found = oneib_vf_table_of_nic(&table, vm_id, nic_id);
    if (found)
        *record = *found;
    oneib_vf_table_clear(&table);
    return found != NULL;
}

static inline struct oneib_vf_record record_of(uint32_t vm_id, uint8_t nic_id)
{
    struct oneib_vf_record record = {0};
    assert_true(find_record(vm_id, nic_id, &record));
    return record;
}

static inline size_t count_records(void)
{
    struct oneib_error err = {0};
    struct oneib_vf_table table;
    if (oneib_reservations_read(&table, &err) < 0)
        fail_msg("%s", err.text);
    const size_t count = table.count;
    oneib_vf_table_clear(&table);
    return count;
}

static inline uint64_t read_guid(const struct tree_hca *of, unsigned vf)
{
    char text[32];
    tree_read(text, sizeof text, "/sys/class/infiniband/mlx4_0/iov/ports/1/admin_guids/%u", vf + 1);
    (void)of;
    return strtoull(text, NULL, 16);
}

static inline bool has_guid(const struct tree_hca *of, unsigned vf)
{
    const uint64_t guid = read_guid(of, vf);
    return guid != 0 && guid != UINT64_MAX;
}

static inline uint16_t key_at(int index)
{
    char text[16];
    tree_read(text, sizeof text, "/sys/class/infiniband/mlx4_0/ports/1/pkeys/%d", index);
    return (uint16_t)strtoul(text, NULL, 16);
}

/* What must be so at every moment: a VF that is open is open for the NIC that its record names,
 * and for that record's key. */
static inline void assert_isolated_vf(const struct tree_hca *of, unsigned vf)
{
    struct oneib_error err = {0};
    struct oneib_vf_table table;
    const struct oneib_pci pci = tree_vf_pci(of, vf);
    const int index = open_index(of, vf, 1);
    if (index <= 0)
        return;
    if (oneib_reservations_read(&table, &err) < 0)
        fail_msg("%s", err.text);
    const struct oneib_vf_record *record = oneib_vf_table_of_vf(&table, &pci);
    if (!record)
        fail_msg("VF %u is open at %d, and nobody's", vf, index);
    else if ((key_at(index) & 0x7fff) != record->pkey)
        fail_msg("VF %u is open at %d (0x%04x), and its record says 0x%04x", vf, index,
                 key_at(index), record->pkey);
    oneib_vf_table_clear(&table);
}

static inline void assert_isolated(const struct tree_hca *of)
{
    for (unsigned vf = 0; vf < of->vfs; vf++)
        assert_isolated_vf(of, vf);
}

#endif
