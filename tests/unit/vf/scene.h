// SPDX-License-Identifier: Apache-2.0
/*
 * The engine on one mlx4 adapter with a few VFs, and what tests look at on it. What is asked is
 * waited for here, as the service does it: step by step, when one is due.
 */
#ifndef ONEIB_UNIT_VF_SCENE_H
#define ONEIB_UNIT_VF_SCENE_H

#include "../hca/sm_stand_in.h"
#include "../hca/tree.h"
#include "base/clock.h"
#include "hca/reservations.h"
#include "vf/vf_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define KEY 5
#define KEY_INDEX 3
#define OTHER_KEY 6
#define OTHER_INDEX 4
#define FULL 0x8000
#define NETWORK 7
#define SITE 7
#define PKEY_WAIT_MS 150
#define GUID_WAIT_MS 5000

/* Small tables: every test touches every entry. */
static const struct tree_hca hca = {.driver = ONEIB_HCA_MLX4, .vfs = 4, .pkeys = 7};

static struct oneib_vfs *vfs;
static struct oneib_domain_list domains;
static struct oneib_grant_list grants; /* as oneibd has sent them */

/* ---- grants ---------------------------------------------------------------------------------- */

static inline struct oneib_grant grant_of(uint32_t vm_id, uint8_t nic_id, oneib_pkey pkey)
{
    return (struct oneib_grant){
        .vm_id = vm_id,
        .nic_id = nic_id,
        .network_id = NETWORK,
        .device = "mlx4_0",
        .port = 1,
        .pkey = pkey,
        .guid = oneib_guid_encode(SITE, vm_id, nic_id),
        .may_set_guid = true,
    };
}

static inline int compare_grants(const void *a, const void *b)
{
    return oneib_grant_compare(a, b);
}

/* In the place of the one that the NIC has. The engine is told by tell_grants(). */
static inline void put_grant(const struct oneib_grant *grant)
{
    for (size_t i = 0; i < grants.count; i++)
        if (oneib_grant_compare(&grants.items[i], grant) == 0) {
            grants.items[i] = *grant;
            return;
        }
    assert_true(grants.count < ONEIB_GRANTS_MAX);
    grants.items[grants.count++] = *grant;
    qsort(grants.items, grants.count, sizeof *grant, compare_grants);
}

static inline void drop_grant(uint32_t vm_id, uint8_t nic_id)
{
    const struct oneib_grant *found = oneib_grant_list_find(&grants, vm_id, nic_id);
    if (!found)
        return;
    const size_t place = (size_t)(found - grants.items);
    memmove(&grants.items[place], &grants.items[place + 1],
            (--grants.count - place) * sizeof *found);
}

static inline int try_to_tell_grants(bool fresh, struct oneib_error *err)
{
    return oneib_vfs_set_grants(vfs, &grants, fresh, err);
}

static inline void tell_grants(bool fresh)
{
    struct oneib_error err = {0};
    if (try_to_tell_grants(fresh, &err) < 0)
        fail_msg("following grants: %s", err.text);
}

/* ---- the engine ------------------------------------------------------------------------------ */

/* Nobody has told it what is granted. */
static inline void start_engine_alone(void)
{
    struct oneib_error err = {0};
    const struct oneib_vfs_options options = {.pkey_wait_ms = PKEY_WAIT_MS,
                                              .guid_wait_ms = GUID_WAIT_MS};
    if (oneib_vfs_open(&options, &vfs, &err) < 0 && !vfs)
        fail_msg("%s", err.text);
    oneib_vfs_set_domains(vfs, &domains);
}

static inline void start_engine(void)
{
    struct oneib_error untold = {0};
    start_engine_alone();
    try_to_tell_grants(true, &untold);
}

static inline void stop_engine(void)
{
    oneib_vfs_close(vfs);
    vfs = NULL;
}

/* As after its end, however that came. */
static inline void restart_engine(void)
{
    stop_engine();
    start_engine();
}

static inline int open_scene_with(const struct tree_hca *of)
{
    tree_reset(NULL);
    tree_add_hca(of);
    tree_set_pkey(of, 1, KEY_INDEX, FULL | KEY);
    sm_start(of);
    domains.known = true;
    domains.count = 0;
    grants.count = 0;
    start_engine();
    return 0;
}

static inline int open_scene(void **state)
{
    (void)state;
    return open_scene_with(&hca);
}

static inline int close_scene(void **state)
{
    (void)state;
    stop_engine();
    sm_stop();
    return 0;
}

/* ---- domains --------------------------------------------------------------------------------- */

/* One that names that VF; vm_id -1: not OpenNebula's. The engine is told by tell_domains(). */
static inline void add_domain(int64_t vm_id, bool running, const struct oneib_pci *vf)
{
    struct oneib_domain_entry entry = {.vm_id = vm_id, .running = running, .has_vf = vf != NULL};
    if (vf)
        entry.vf = *vf;
    snprintf(entry.name, sizeof entry.name, vm_id < 0 ? "other" : "one-%d", (int)vm_id);
    domains.items[domains.count++] = entry;
}

static inline void tell_domains(void)
{
    oneib_vfs_set_domains(vfs, &domains);
}

static inline void tell_of_domain(int64_t vm_id, bool running, const struct oneib_pci *vf)
{
    domains.known = true;
    domains.count = 0;
    add_domain(vm_id, running, vf);
    tell_domains();
}

static inline void tell_of_no_domains(void)
{
    domains.known = true;
    domains.count = 0;
    tell_domains();
}

static inline void tell_of_nothing_known(void)
{
    domains.known = false;
    oneib_fail(&domains.why, ONEIB_ERROR_UNREACHABLE, "libvirtd is down");
    tell_domains();
}

/* ---- steps ----------------------------------------------------------------------------------- */

static inline void sleep_ms(uint32_t ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000},
              NULL);
}

/* The next step, when it is due; false: nothing is. */
static inline bool take_step(void)
{
    struct oneib_error err = {0};
    struct oneib_vfs_changes changes;
    const uint32_t due = oneib_vfs_due_ms(vfs);
    if (due == UINT32_MAX)
        return false;
    sleep_ms(due < 250 ? due : 250);
    oneib_vfs_step(vfs, ONEIB_VFS_DUE, &changes, &err);
    return true;
}

/* Until nothing is under way any more, or the SM does not let it end. */
static inline void settle(void)
{
    const double end = oneib_now_ms() + 2000;
    while (vfs->work_count > 0 && oneib_now_ms() < end)
        take_step();
}

static inline struct oneib_vfs_changes look(void)
{
    struct oneib_error err = {0};
    struct oneib_vfs_changes changes;
    if (oneib_vfs_step(vfs, ONEIB_VFS_EVERYTHING, &changes, &err) < 0)
        fail_msg("looking: %s", err.text);
    assert_int_equal(changes.failed, 0);
    return changes;
}

static inline struct oneib_vfs_changes glance(void)
{
    struct oneib_error err = {0};
    struct oneib_vfs_changes changes;
    if (oneib_vfs_step(vfs, ONEIB_VFS_GLANCE, &changes, &err) < 0)
        fail_msg("glancing: %s", err.text);
    return changes;
}

static inline struct oneib_vfs_changes look_fails(enum oneib_error_code code, const char *words)
{
    struct oneib_error err = {0};
    struct oneib_vfs_changes changes;
    assert_int_equal(oneib_vfs_step(vfs, ONEIB_VFS_EVERYTHING, &changes, &err), -1);
    if (err.code != code || !strstr(err.text, words))
        fail_msg("\"%s\" (%s) is not about \"%s\"", err.text, oneib_error_code_name(err.code),
                 words);
    assert_true(changes.failed > 0);
    return changes;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* What is asked for, and what is granted by then. */
struct wanted {
    struct oneib_request request;
    struct oneib_grant grant;
    uint32_t pkey_wait_ms, guid_wait_ms;
};

static inline struct oneib_request request_of(enum oneib_request_kind kind, uint32_t vm_id,
                                              int nic_id)
{
    return (struct oneib_request){.magic = ONEIB_MESSAGE_MAGIC,
                                  .kind = (uint16_t)kind,
                                  .vm_id = vm_id,
                                  .nic_id = nic_id,
                                  .numa_node = -1};
}

static inline struct wanted wanted_of(uint32_t vm_id, uint8_t nic_id, oneib_pkey pkey)
{
    struct wanted wanted = {.request = request_of(ONEIB_REQUEST_HAVE, vm_id, nic_id),
                            .grant = grant_of(vm_id, nic_id, pkey),
                            .pkey_wait_ms = PKEY_WAIT_MS,
                            .guid_wait_ms = GUID_WAIT_MS};
    wanted.request.network_id = NETWORK;
    return wanted;
}

static inline void defer_guid(struct wanted *wanted, bool defer)
{
    wanted->request.flags &= (uint16_t)~ONEIB_HAVE_DEFER_GUID;
    wanted->request.flags |= defer ? ONEIB_HAVE_DEFER_GUID : 0;
}

static inline void want_vf(struct wanted *wanted, struct oneib_pci vf)
{
    wanted->grant.has_vf = true;
    wanted->grant.vf = vf;
}

static inline void grant(const struct wanted *wanted)
{
    struct oneib_grant granted = wanted->grant;
    struct oneib_error untold = {0};
    granted.network_id = wanted->request.network_id;
    put_grant(&granted);
    try_to_tell_grants(true, &untold);
}

static inline int have(const struct wanted *wanted, struct oneib_vf_record *record,
                       oneib_vfs_ticket *ticket, struct oneib_error *err)
{
    vfs->pkey_wait_ms = wanted->pkey_wait_ms;
    vfs->guid_wait_ms = wanted->guid_wait_ms;
    grant(wanted);
    return oneib_vfs_have(vfs, &wanted->request, record, ticket, err);
}

/* To its end, and forgets it. */
static inline int finish(oneib_vfs_ticket ticket, struct oneib_vf_record *record,
                         struct oneib_error *err)
{
    enum oneib_vfs_progress progress = ONEIB_VFS_DONE;
    if (ticket == 0)
        return 0;
    while ((progress = oneib_vfs_progress(vfs, ticket, record, err)) == ONEIB_VFS_BUSY)
        assert_true(take_step());
    oneib_vfs_forget(vfs, ticket);
    return progress == ONEIB_VFS_DONE ? 0 : -1;
}

static inline int try_to_give(const struct wanted *wanted, struct oneib_vf_record *record,
                              struct oneib_error *err)
{
    oneib_vfs_ticket ticket;
    return have(wanted, record, &ticket, err) < 0 ? -1 : finish(ticket, record, err);
}

static inline void give(const struct wanted *wanted, struct oneib_vf_record *record)
{
    struct oneib_error err = {0};
    if (try_to_give(wanted, record, &err) < 0)
        fail_msg("giving: %s", err.text);
}

/* Its VF was given with its GUID deferred, and the SM will not accept it now. */
static inline void give_before_guid_that_is_refused(struct wanted *wanted)
{
    struct oneib_vf_record record;
    defer_guid(wanted, true);
    give(wanted, &record);
    sm_accept_guids(false);
    defer_guid(wanted, false);
}

/* Begins only. */
static inline oneib_vfs_ticket begin(const struct wanted *wanted)
{
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    oneib_vfs_ticket ticket;
    if (have(wanted, &record, &ticket, &err) < 0)
        fail_msg("beginning: %s", err.text);
    assert_true(ticket != 0);
    return ticket;
}

static inline void assert_is_about(const struct oneib_error *err, enum oneib_error_code code,
                                   const char *words)
{
    if (err->code != code || !strstr(err->text, words))
        fail_msg("\"%s\" (%s) is not about \"%s\" (%s)", err->text,
                 oneib_error_code_name(err->code), words, oneib_error_code_name(code));
}

/* And waits until what was begun is undone. */
static inline void assert_give_fails(const struct wanted *wanted, enum oneib_error_code code,
                                     const char *words)
{
    struct oneib_error err = {0};
    struct oneib_vf_record record;
    assert_int_equal(try_to_give(wanted, &record, &err), -1);
    assert_is_about(&err, code, words);
    settle();
}

static inline int try_to_release(const struct oneib_request *request,
                                 struct oneib_released *released, struct oneib_error *err)
{
    oneib_vfs_ticket ticket;
    struct oneib_vf_record unused;
    const bool by_address = request->kind == ONEIB_REQUEST_RELEASE_VF;
    if ((by_address ? oneib_vfs_release_vf : oneib_vfs_release)(vfs, request, released, &ticket,
                                                                err) < 0)
        return -1;
    return finish(ticket, &unused, err);
}

/* How many are free at its end. */
static inline size_t release(uint32_t vm_id, int nic_id)
{
    struct oneib_error err = {0};
    struct oneib_released released;
    const struct oneib_request request = request_of(ONEIB_REQUEST_RELEASE, vm_id, nic_id);
    vfs->guid_wait_ms = GUID_WAIT_MS;
    if (try_to_release(&request, &released, &err) < 0)
        fail_msg("releasing: %s", err.text);
    return released.freed + released.lingering;
}

/* ---- what is there --------------------------------------------------------------------------- */

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

/* What the disk has. */
static inline struct oneib_vf_table read_table(void)
{
    struct oneib_error err = {0};
    struct oneib_vf_table table;
    if (oneib_reservations_read(&table, &err) < 0)
        fail_msg("%s", err.text);
    return table;
}

static inline bool find_record(uint32_t vm_id, uint8_t nic_id, struct oneib_vf_record *record)
{
    struct oneib_vf_table table = read_table();
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
    struct oneib_vf_table table = read_table();
    const size_t count = table.count;
    oneib_vf_table_clear(&table);
    return count;
}

static inline void write_table(const struct oneib_vf_table *table)
{
    struct oneib_error err = {0};
    if (oneib_reservations_write(table, &err) < 0)
        fail_msg("%s", err.text);
}

/* As a service that was killed left it, or a long time ago; the engine starts with that. */
static inline void leave_record(uint32_t vm_id, uint8_t nic_id, enum oneib_vf_stage stage,
                                int64_t seconds_ago)
{
    struct oneib_vf_table table = read_table();
    struct oneib_vf_record *record = oneib_vf_table_of_nic(&table, vm_id, nic_id);
    assert_non_null(record);
    record->stage = stage;
    record->since = oneib_seconds_since_boot() - seconds_ago;
    write_table(&table);
    oneib_vf_table_clear(&table);
    restart_engine();
}

static inline uint64_t read_guid(unsigned vf)
{
    char text[32];
    tree_read(text, sizeof text, "/sys/class/infiniband/mlx4_0/iov/ports/1/admin_guids/%u", vf + 1);
    return strtoull(text, NULL, 16);
}

static inline bool has_guid(unsigned vf)
{
    const uint64_t guid = read_guid(vf);
    return guid != 0 && guid != UINT64_MAX;
}

static inline uint16_t key_at(int index)
{
    char text[16];
    tree_read(text, sizeof text, "/sys/class/infiniband/mlx4_0/ports/1/pkeys/%d", index);
    return (uint16_t)strtoul(text, NULL, 16);
}

static inline void set_mode_of_entry(unsigned vf, unsigned entry, mode_t mode)
{
    char directory[ONEIB_PCI_TEXT_SIZE];
    tree_vf_directory(&hca, vf, directory);
    tree_set_mode(mode, "/sys/class/infiniband/mlx4_0/iov/%s/ports/1/pkey_idx/%u", directory,
                  entry);
}

/* What must be so at every moment: a VF that is open is open for the NIC that its record names,
 * and for that record's key. */
static inline void assert_isolated_vf(const struct tree_hca *of, unsigned vf)
{
    const struct oneib_pci pci = tree_vf_pci(of, vf);
    const int index = open_index(of, vf, 1);
    if (index <= 0)
        return;
    struct oneib_vf_table table = read_table();
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

static inline void assert_nothing_is_left(void)
{
    assert_int_equal(count_records(), 0);
    for (unsigned vf = 0; vf < hca.vfs; vf++) {
        assert_int_equal(open_index(&hca, vf, 1), 0);
        assert_false(has_guid(vf));
    }
}

#endif
