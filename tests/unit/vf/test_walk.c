// SPDX-License-Identifier: Apache-2.0
/*
 * Whatever is asked of the engine, in whatever order, while keys move, the SM takes its time,
 * domains come and go or are not known, the table cannot be written, no adapter can be found, and
 * the service is killed; while grants come, change and go, oneibd is not heard, and forged requests
 * name what is not granted. After each step: what is open is open for the key of its record, the
 * list that was followed last grants it, and no domain of anybody else's runs with it; while the
 * list is old nothing is open that was not before; something is under way for whoever waits, and
 * ends with what is his. ONEIB_WALK_SEED chooses the walk, ONEIB_WALK_STEPS its length.
 */
#include "../../valgrind.h"
#include "scene.h"

#define STEPS 1500
#define VMS 4
#define NICS 2
#define ASKED 8
#define WAIT_MS 60

static unsigned seed;

/* One who has asked. */
static struct asked {
    oneib_vfs_ticket ticket;
    uint32_t vm_id;
    int32_t nic_id;
    bool is_have;
} asked[ASKED];

static unsigned any(unsigned count)
{
    return (unsigned)rand_r(&seed) % count;
}

/* ---- who has what ---------------------------------------------------------------------------- */

#define SETTLED_S 120

/* Who has a VF, by what was asked and told, and not by what the engine remembers. */
static struct holding {
    bool is_recorded;
    struct oneib_vf_record record; /* as it was after the last step */
    bool is_had;       /* by the NIC, to its end; else it is on its way there, or back */
    bool may_go;       /* it was given back, wholly or not, and not asked for since */
    bool is_asked_for; /* in this step: then anything may become of it */
    bool has_run;      /* a running domain of its VM's has named it, or it was ENDED */
} holdings[8];

static bool is_unknown_to_domains(const struct oneib_vf_record *record)
{
    return domains.known && !oneib_domain_list_has(&domains, record->vm_id) &&
           !oneib_domain_list_names(&domains, &record->vf);
}

static bool is_stale(const struct oneib_vf_record *record)
{
    return is_unknown_to_domains(record) &&
           (record->stage == ONEIB_VF_ENDED ||
            oneib_seconds_since_boot() - record->since >= SETTLED_S);
}

static bool runs_with_other(const struct oneib_vf_record *record)
{
    for (size_t i = 0; domains.known && i < domains.count; i++)
        if (domains.items[i].running && domains.items[i].vm_id != (int64_t)record->vm_id &&
            oneib_pci_compare(&domains.items[i].vf, &record->vf) == 0)
            return true;
    return false;
}

static bool is_being_released(const struct oneib_pci *vf)
{
    const struct oneib_vf_work *work = oneib_vfs_work_of(vfs, vf);
    return work && work->task == ONEIB_VF_RELEASE;
}

static bool is_the_nics_own(const struct oneib_vf_record *record)
{
    return record->stage == ONEIB_VF_OPEN || record->stage == ONEIB_VF_CLOSED ||
           record->stage == ONEIB_VF_ENDED;
}

static bool is_same_nics(const struct holding *holding, const struct oneib_vf_record *record)
{
    return record && holding->is_recorded && record->vm_id == holding->record.vm_id &&
           record->nic_id == holding->record.nic_id;
}

/* A release that could not be written yet is one all the same. */
static bool is_had(const struct oneib_vf_record *record)
{
    return is_the_nics_own(record) && !is_being_released(&record->vf);
}

static void assert_is_kept(const struct holding *holding, const struct oneib_vf_record *record)
{
    const struct oneib_vf_record *before = &holding->record;
    if (!holding->is_had || holding->is_asked_for)
        return;
    if (!is_same_nics(holding, record) || !is_had(record)) {
        if (!holding->may_go && !is_stale(before))
            fail_msg("VF %u was VM %u NIC %u's, and was taken away without a reason", before->index,
                     before->vm_id, before->nic_id);
    } else if (record->stage == ONEIB_VF_ENDED && !holding->has_run && !runs_with_other(record)) {
        fail_msg("VF %u of VM %u NIC %u has ended, and no domain had run with it", before->index,
                 before->vm_id, before->nic_id);
    }
}

static void note_had(struct holding *holding, const struct oneib_vf_record *record)
{
    if (!is_same_nics(holding, record))
        *holding = (struct holding){0};
    holding->is_asked_for = holding->is_had = false;
    holding->is_recorded = record != NULL;
    if (!record)
        return;
    holding->record = *record;
    holding->is_had = is_had(record);
    if (!is_the_nics_own(record))
        holding->has_run = false;
    if (record->stage == ONEIB_VF_ENDED ||
        (domains.known && oneib_domain_list_runs_with(&domains, record->vm_id, &record->vf)))
        holding->has_run = true;
}

static void assert_all_is_kept(void)
{
    for (unsigned vf = 0; vf < hca.vfs; vf++) {
        const struct oneib_pci pci = tree_vf_pci(&hca, vf);
        const struct oneib_vf_record *record = oneib_vf_table_of_vf(&vfs->table, &pci);
        assert_is_kept(&holdings[vf], record);
        note_had(&holdings[vf], record);
    }
}

static bool is_of(const struct holding *holding, const struct oneib_request *request)
{
    return holding->is_recorded && holding->record.vm_id == request->vm_id &&
           (request->kind == ONEIB_REQUEST_RELEASE_VF
                ? oneib_pci_compare(&holding->record.vf, &request->vf) == 0
                : request->nic_id < 0 || holding->record.nic_id == request->nic_id);
}

static void note_asked_for(const struct oneib_request *request, bool is_granted)
{
    for (unsigned vf = 0; vf < hca.vfs; vf++)
        if (is_of(&holdings[vf], request)) {
            holdings[vf].is_asked_for = true;
            holdings[vf].may_go &= !is_granted;
        }
}

static void note_given_back(const struct oneib_request *request)
{
    for (unsigned vf = 0; vf < hca.vfs; vf++)
        holdings[vf].may_go |= is_of(&holdings[vf], request);
}

/* ---- what happens ---------------------------------------------------------------------------- */

static bool fresh;

/* What each VF was open for when the list was fresh last; key 0: nothing. */
static struct oneib_vf_record was_open[8];

static bool is_granted(const struct oneib_vf_record *record)
{
    const struct oneib_grant *grant = oneib_grant_list_find(&grants, record->vm_id, record->nic_id);
    return grant && oneib_grant_allows(grant, record);
}

/* What only its key, or its port, has gone from is open again when that comes back: it is CLOSED by
 * its record, or OPEN as long as that could not be written. */
static bool lacks_its_key_alone(const struct oneib_vf_record *record,
                                const struct oneib_vf_record *before)
{
    return (record->stage == ONEIB_VF_CLOSED || record->stage == ONEIB_VF_OPEN) &&
           record->vm_id == before->vm_id && record->nic_id == before->nic_id &&
           record->pkey == before->pkey && is_granted(record);
}

/* oneibd is told so, and keeps its key for it; it may be closed, as long as that could not be
 * written. */
static bool is_open_by_record(const struct oneib_vf_record *record)
{
    return record->stage == ONEIB_VF_OPEN && is_granted(record);
}

static void note_open(void)
{
    for (unsigned vf = 0; vf < hca.vfs; vf++) {
        const struct oneib_pci pci = tree_vf_pci(&hca, vf);
        const struct oneib_vf_record *record = oneib_vf_table_of_vf(&vfs->table, &pci);
        if (record && is_open_by_record(record))
            was_open[vf] = *record;
        else if (!record || !lacks_its_key_alone(record, &was_open[vf]))
            was_open[vf].pkey = 0;
    }
}

static void tell(bool is_fresh)
{
    struct oneib_error err = {0};
    fresh = is_fresh;
    try_to_tell_grants(fresh, &err);
}

static struct oneib_grant any_grant(uint32_t vm_id, uint8_t nic_id)
{
    struct oneib_grant grant = grant_of(vm_id, nic_id, (oneib_pkey)(KEY + any(2)));
    grant.network_id = NETWORK + (any(4) == 0);
    grant.limited = any(4) == 0;
    grant.may_set_guid = any(4) != 0;
    grant.has_vf = any(4) == 0;
    if (grant.has_vf)
        grant.vf = tree_vf_pci(&hca, any(hca.vfs));
    return grant;
}

static void change_grants(void)
{
    for (unsigned i = any(3); i > 0; i--) {
        const struct oneib_grant grant = any_grant(any(VMS), (uint8_t)any(NICS));
        if (any(3) == 0)
            drop_grant(grant.vm_id, grant.nic_id);
        else
            put_grant(&grant);
    }
    tell(any(4) != 0);
}

/* Most ask for what is granted. */
static void grant_what_is_asked(const struct oneib_request *request)
{
    struct oneib_grant grant = any_grant(request->vm_id, (uint8_t)request->nic_id);
    if (any(4) == 0)
        return;
    grant.network_id = request->network_id;
    put_grant(&grant);
    tell(any(6) != 0);
}

static struct oneib_request any_have(void)
{
    static const uint16_t flags[] = {
        0, 0, ONEIB_HAVE_ATTACH, ONEIB_HAVE_ATTACH | ONEIB_HAVE_DEFER_GUID, ONEIB_HAVE_DEFER_GUID};
    struct wanted wanted = wanted_of(any(VMS), (uint8_t)any(NICS), KEY);
    wanted.request.flags = flags[any(sizeof flags / sizeof *flags)];
    wanted.request.network_id = NETWORK + any(2);
    grant_what_is_asked(&wanted.request);
    return wanted.request;
}

static struct asked *place_for_ticket(void)
{
    struct asked *place = &asked[any(ASKED)];
    if (place->ticket)
        oneib_vfs_forget(vfs, place->ticket);
    *place = (struct asked){0};
    return place;
}

static void assert_is_of(const struct oneib_vf_record *record, const struct asked *by)
{
    if (record->vm_id != by->vm_id || record->nic_id != by->nic_id)
        fail_msg("VM %u NIC %d is told of what VM %u NIC %u has", by->vm_id, by->nic_id,
                 record->vm_id, record->nic_id);
}

static void ask_to_have(void)
{
    struct oneib_error err = {0};
    struct oneib_vf_record record = {0};
    struct asked *by = place_for_ticket();
    const struct oneib_request request = any_have();
    by->vm_id = request.vm_id;
    by->nic_id = request.nic_id;
    by->is_have = true;
    const bool is_fine = oneib_vfs_have(vfs, &request, &record, &by->ticket, &err) == 0;
    note_asked_for(&request, is_fine);
    if (is_fine)
        assert_is_of(&record, by);
}

/* Most give back what they have. */
static void choose_what_is_had(struct oneib_request *request)
{
    const struct oneib_vf_table *table = &vfs->table;
    if (table->count == 0 || any(4) == 0)
        return;
    const struct oneib_vf_record *record = &table->items[any((unsigned)table->count)];
    request->vm_id = record->vm_id;
    request->nic_id = any(2) ? record->nic_id : -1;
}

static struct oneib_released release_now(struct oneib_request *request, struct asked *by)
{
    struct oneib_error err = {0};
    struct oneib_released released = {0};
    note_given_back(request);
    oneib_vfs_release(vfs, request, &released, &by->ticket, &err);
    return released;
}

/* Whoever is told that a domain still has it may say that the NIC is gone. Often that domain ends. */
static void ask_to_release(void)
{
    struct oneib_error err = {0};
    struct oneib_released released;
    struct asked *by = place_for_ticket();
    struct oneib_request request = request_of(
        any(4) ? ONEIB_REQUEST_RELEASE : ONEIB_REQUEST_RELEASE_VF, any(VMS), (int)any(3) - 1);
    if (request.kind == ONEIB_REQUEST_RELEASE_VF) {
        request.vf = tree_vf_pci(&hca, any(hca.vfs));
        note_given_back(&request);
        oneib_vfs_release_vf(vfs, &request, &released, &by->ticket, &err);
        return;
    }
    choose_what_is_had(&request);
    request.flags = any(3) ? 0 : ONEIB_RELEASE_NIC_GONE;
    if (release_now(&request, by).left == 0 || any(2))
        return;
    oneib_vfs_forget(vfs, by->ticket);
    request.flags = ONEIB_RELEASE_NIC_GONE;
    release_now(&request, by);
    if (any(2))
        tell_of_no_domains();
}

static void read_tickets(void)
{
    for (size_t i = 0; i < ASKED; i++) {
        struct oneib_error err = {0};
        struct oneib_vf_record record;
        if (!asked[i].ticket)
            continue;
        const enum oneib_vfs_progress progress =
            oneib_vfs_progress(vfs, asked[i].ticket, &record, &err);
        if (progress == ONEIB_VFS_BUSY)
            continue;
        if (progress == ONEIB_VFS_DONE && asked[i].is_have)
            assert_is_of(&record, &asked[i]);
        oneib_vfs_forget(vfs, asked[i].ticket);
        asked[i].ticket = 0;
    }
}

/* What cannot be written, or read, for a while. */
static struct {
    bool table, adapters;
} spoiled;

static void spoil(void)
{
    spoiled.table = any(3) == 0;
    spoiled.adapters = any(3) == 0;
    tree_set_mode(spoiled.table ? 0555 : 0755, "/run/oneib");
    tree_set_mode(spoiled.adapters ? 0311 : 0755, "/sys/class/infiniband");
}

static void mend(void)
{
    spoiled.table = spoiled.adapters = false;
    tree_set_mode(0755, "/run/oneib");
    tree_set_mode(0755, "/sys/class/infiniband");
}

/* At once what has happened in the port's table is looked at, as after its event. */
static void move_keys(void)
{
    struct oneib_error err = {0};
    struct oneib_vfs_changes changes;
    tree_set_pkey(&hca, 1, KEY_INDEX + any(2),
                  (uint16_t)(any(4) ? (any(4) ? FULL : 0) | (KEY + any(2)) : 0));
    oneib_vfs_step(vfs, ONEIB_VFS_EVERYTHING, &changes, &err);
}

/* A VF is in one running domain. */
static void change_domains(void)
{
    domains.known = any(6) != 0;
    domains.count = 0;
    const bool is_all_over = any(3) == 0;
    oneib_fail(&domains.why, ONEIB_ERROR_UNREACHABLE, "libvirtd is down");
    for (unsigned i = 0; domains.known && !is_all_over && i < hca.vfs; i++) {
        const struct oneib_pci vf = tree_vf_pci(&hca, i);
        const struct oneib_vf_record *record = oneib_vf_table_of_vf(&vfs->table, &vf);
        if (record && any(2))
            add_domain(record->vm_id, any(5) != 0, &vf);
        else if (any(10) == 0)
            add_domain(any(2) ? -1 : (int64_t)any(VMS), any(2), &vf);
    }
    for (size_t i = 0; i < vfs->timer_count; i++)
        if (any(4) == 0)
            vfs->timers[i].until = 0;
    tell_domains();
}

/* As if it had gone on for so long. */
static void let_time_pass(void)
{
    const int64_t seconds = any(8) ? 6 : 200;
    for (size_t i = 0; i < vfs->table.count; i++)
        vfs->table.items[i].since -= seconds;
}

static void step(void)
{
    static const enum oneib_vfs_read looks[] = {ONEIB_VFS_DUE, ONEIB_VFS_DUE, ONEIB_VFS_GLANCE,
                                                ONEIB_VFS_EVERYTHING};
    struct oneib_error err = {0};
    struct oneib_vfs_changes changes;
    sleep_ms(any(20));
    oneib_vfs_step(vfs, looks[any(4)], &changes, &err);
}

static void kill_engine(void)
{
    memset(asked, 0, sizeof asked);
    fresh = false;
    stop_engine();
    start_engine_alone();
    if (any(2))
        tell(any(2));
    vfs->pkey_wait_ms = vfs->guid_wait_ms = WAIT_MS;
}

static void happen_seldom(void)
{
    switch (any(8)) {
    case 0:
        if (!spoiled.adapters)
            move_keys();
        break;
    case 5:
        spoil();
        break;
    case 6:
    case 7:
        mend();
        break;
    case 1:
        sm_let_guids_go(any(2));
        break;
    case 2:
        sm_accept_guids(any(4) != 0);
        break;
    case 3:
        place_for_ticket();
        break;
    default:
        /* Without having read an adapter nothing can be closed. */
        if (any(6) == 0 && !spoiled.table && !spoiled.adapters)
            kill_engine();
    }
}

static void happen(void)
{
    switch (any(16)) {
    case 0:
    case 1:
        happen_seldom();
        break;
    case 2:
    case 3:
    case 4:
        change_domains();
        break;
    case 5:
        let_time_pass();
        break;
    case 6:
    case 7:
        ask_to_release();
        break;
    case 8:
    case 9:
        step();
        break;
    case 10:
    case 11:
        change_grants();
        break;
    default:
        ask_to_have();
    }
}

/* ---- what must be so ------------------------------------------------------------------------- */

static void assert_is_recorded(unsigned vf)
{
    const struct oneib_pci pci = tree_vf_pci(&hca, vf);
    const struct oneib_vf_record *record = oneib_vf_table_of_vf(&vfs->table, &pci);
    if (open_index(&hca, vf, 1) <= 0)
        return;
    assert_isolated_vf(&hca, vf);
    assert_non_null(record);
    if (record->stage != ONEIB_VF_OPEN)
        fail_msg("VF %u is open, and %s", vf, oneib_vf_stage_name(record->stage));
}

static void assert_is_granted(unsigned vf)
{
    const struct oneib_pci pci = tree_vf_pci(&hca, vf);
    const struct oneib_vf_record *record = oneib_vf_table_of_vf(&vfs->table, &pci);
    if (open_index(&hca, vf, 1) <= 0)
        return;
    if (!is_granted(record))
        fail_msg("VF %u is open for VM %u NIC %u, and that is not granted", vf, record->vm_id,
                 record->nic_id);
    if (!fresh && (was_open[vf].vm_id != record->vm_id || was_open[vf].nic_id != record->nic_id ||
                   was_open[vf].pkey != record->pkey))
        fail_msg("VF %u was opened for VM %u NIC %u by an old list", vf, record->vm_id,
                 record->nic_id);
}

static void assert_nobody_elses(unsigned vf)
{
    const struct oneib_pci pci = tree_vf_pci(&hca, vf);
    const struct oneib_vf_record *record = oneib_vf_table_of_vf(&vfs->table, &pci);
    if (open_index(&hca, vf, 1) > 0 && runs_with_other(record))
        fail_msg("VF %u is open, and another domain runs with it", vf);
}

static void assert_each_nic_has_one(void)
{
    for (size_t i = 0; i < vfs->table.count; i++)
        for (size_t n = i + 1; n < vfs->table.count; n++)
            assert_false(vfs->table.items[i].vm_id == vfs->table.items[n].vm_id &&
                         vfs->table.items[i].nic_id == vfs->table.items[n].nic_id);
}

static bool is_worked_for(uint32_t wish)
{
    for (size_t i = 0; i < vfs->work_count; i++)
        if (vfs->works[i].wish == wish)
            return true;
    return false;
}

static void assert_nobody_waits_for_nothing(void)
{
    for (size_t i = 0; i < vfs->ticket_end; i++) {
        const struct oneib_vf_ticket *ticket = &vfs->tickets[i];
        if (ticket->used && ticket->kind == ONEIB_REQUEST_HAVE &&
            ticket->progress == ONEIB_VFS_BUSY && !is_worked_for(ticket->wish))
            fail_msg("ticket %zu waits for ever", i);
    }
}

static void assert_works_are_sound(void)
{
    for (size_t i = 0; i < vfs->work_count; i++) {
        const struct oneib_vf_work *work = &vfs->works[i];
        const struct oneib_vf_record *record = oneib_vf_table_of_vf(&vfs->table, &work->vf);
        if (work->task == ONEIB_VF_RELEASE) {
            assert_true(!work->has_next || oneib_vfs_is_waited_for(vfs, work->wish));
            continue;
        }
        assert_false(work->has_next);
        assert_true(oneib_vfs_is_waited_for(vfs, work->wish));
        assert_non_null(record);
        assert_true(record->stage == ONEIB_VF_PREPARING || record->stage == ONEIB_VF_CLOSED);
    }
}

static void assert_all_is_right(void)
{
    for (unsigned vf = 0; vf < hca.vfs; vf++) {
        assert_is_recorded(vf);
        assert_is_granted(vf);
        assert_nobody_elses(vf);
    }
    if (fresh)
        note_open();
    assert_all_is_kept();
    assert_each_nic_has_one();
    assert_nobody_waits_for_nothing();
    assert_works_are_sound();
    read_tickets();
}

static void give_all_back(void)
{
    for (size_t i = 0; i < ASKED; i++)
        if (asked[i].ticket)
            oneib_vfs_forget(vfs, asked[i].ticket);
    memset(asked, 0, sizeof asked);
    mend();
    sm_let_guids_go(true);
    tell_of_no_domains();
    for (unsigned vm_id = 0; vm_id < VMS; vm_id++)
        release(vm_id, -1);
    settle();
}

static void nothing_that_happens_opens_a_vf_for_another(void **state)
{
    (void)state;
    const char *wanted = getenv("ONEIB_WALK_SEED");
    seed = wanted ? (unsigned)strtoul(wanted, NULL, 10) : 1;
    const char *count = getenv("ONEIB_WALK_STEPS");
    const unsigned steps = count           ? (unsigned)strtoul(count, NULL, 10)
                           : on_valgrind() ? STEPS / 5
                                           : STEPS;
    kill_engine();
    for (unsigned i = 0; i < steps; i++) {
        happen();
        assert_all_is_right();
    }
    give_all_back();
    assert_nothing_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_that_happens_opens_a_vf_for_another, open_scene,
                                        close_scene),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
