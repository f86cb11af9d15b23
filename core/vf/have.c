// SPDX-License-Identifier: Apache-2.0
/* Giving a VF to a NIC of a VM. */
#include "base/clock.h"
#include "hca/reservations.h"
#include "vf/vf_internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct have {
    struct oneib_vf_giving giving;
    const struct oneib_request *wanted;
    const struct oneib_grant *grant;
    uint32_t wish;
    bool waits;
    bool anew; /* what the NIC has is of an attach that failed */
};

static bool has_flag(const struct oneib_request *request, unsigned flag)
{
    return request->flags & flag;
}

/* Whose VF it was is said once. */
static int about(const struct oneib_request *wanted, struct oneib_error *err)
{
    char whose[64];
    const int length =
        snprintf(whose, sizeof whose, "VM %" PRIu32 " NIC %" PRId32, wanted->vm_id, wanted->nic_id);
    if (strncmp(err->text, whose, (size_t)length) == 0)
        return -1;
    return oneib_wrap(err, "%s", whose);
}

static int check_wanted(const struct oneib_request *wanted, struct oneib_error *err)
{
    if (wanted->nic_id < 0 || wanted->nic_id > UINT8_MAX)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "which NIC?");
    return 0;
}

/* The site is oneibd's. */
static uint16_t site_of(const struct oneib_grant *grant)
{
    struct oneib_guid_parts parts = {0};
    oneib_guid_decode(grant->guid, &parts);
    return parts.site;
}

/* The GUID is to be set, unless it is deferred. */
static enum oneib_vf_guid guid_to_come(const struct oneib_request *wanted)
{
    return has_flag(wanted, ONEIB_HAVE_DEFER_GUID) ? ONEIB_VF_GUID_DEFERRED : ONEIB_VF_GUID_NONE;
}

/* ---- a VF that is new to the NIC ------------------------------------------------------------- */

static int check_adapter_of_vf(const struct oneib_vfs *vfs, const struct oneib_grant *grant,
                               struct oneib_error *err)
{
    const struct oneib_vf *vf;
    char address[ONEIB_PCI_TEXT_SIZE];
    const struct oneib_hca *hca = oneib_hcas_of_vf(&vfs->hcas, &grant->vf, &vf);
    oneib_pci_format(&grant->vf, address);
    if (!hca)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "%s is not a virtual function of an InfiniBand adapter of this host",
                          address);
    if (strcmp(grant->device, hca->name) != 0)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "%s is a virtual function of %s, but the network is on %s", address,
                          hca->name, grant->device);
    return 0;
}

static int find_new_place(struct have *have, struct oneib_error *err)
{
    const struct oneib_grant *grant = have->grant;
    const struct oneib_vfs *vfs = have->giving.vfs;
    struct oneib_vf_place *place = &have->giving.place;
    const struct oneib_port *port;
    int32_t index;
    if (grant->has_vf && check_adapter_of_vf(vfs, grant, err) < 0)
        return -1;
    if (oneib_hcas_find_port(&vfs->hcas, grant->device, grant->port, &place->hca, &port, err) < 0)
        return -1;
    if (place->hca->fault.code != ONEIB_ERROR_NONE)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "no virtual function of %s can be assigned: %s",
                          place->hca->name, place->hca->fault.text);
    place->port = &place->hca->ports[port - place->hca->ports];
    return oneib_vfs_key_index(place, grant->pkey, grant->limited, &index, err);
}

static struct oneib_vf_record new_record(const struct have *have)
{
    const struct oneib_request *wanted = have->wanted;
    const struct oneib_grant *grant = have->grant;
    const struct oneib_vf_place *place = &have->giving.place;
    struct oneib_vf_record record = {
        .vf = place->vf->pci,
        .index = place->vf->index,
        .port = place->port->number,
        .vm_id = wanted->vm_id,
        .nic_id = (uint8_t)wanted->nic_id,
        .network_id = grant->network_id,
        .site = site_of(grant),
        .pkey = grant->pkey,
        .limited = grant->limited,
        .stage = ONEIB_VF_PREPARING,
        .guid = guid_to_come(wanted),
        .since = oneib_seconds_since_boot(),
    };
    strcpy(record.device, place->hca->name);
    return record;
}

static int make_closed(struct oneib_vf_giving *giving, struct oneib_error *err)
{
    if (giving->state.closed)
        return 0;
    if (oneib_vf_close(giving->place.hca, giving->place.vf, err) < 0)
        return -1;
    giving->state.closed = true;
    return 0;
}

/* One NIC is next for a VF: another one that waits for it would never be told how that ends, or be
 * given it in the middle of what comes now. */
static void end_waiting(struct oneib_vfs *vfs, struct oneib_vf_work *work)
{
    if (work && work->has_next)
        oneib_vfs_refuse_next(vfs, work, ONEIB_ERROR_REFUSED,
                              "the virtual function that it was to get was requested anew "
                              "meanwhile, for the NIC that had it");
}

/* Releases that VF first; `wanted` follows once it is free. *waits: not yet. */
static int begin_exchange(struct have *have, const struct oneib_pci *vf, bool *waits,
                          struct oneib_error *err)
{
    struct oneib_vfs *vfs = have->giving.vfs;
    end_waiting(vfs, oneib_vfs_work_of(vfs, vf));
    if (oneib_vfs_begin_release(vfs, vf, err) < 0)
        return -1;
    struct oneib_vf_work *work = oneib_vfs_work_of(vfs, vf);
    *waits = work != NULL;
    if (!work)
        return 0;
    work->wish = have->wish;
    work->has_next = true;
    work->next = *have->wanted;
    work->next_until = oneib_now_ms() + vfs->guid_wait_ms;
    have->waits = true;
    return 0;
}

static int choose(struct have *have, struct oneib_error *err)
{
    struct oneib_vf_giving *giving = &have->giving;
    return oneib_vfs_choose(giving->vfs, have->grant, (int16_t)have->wanted->numa_node,
                            &giving->place, &giving->state, err);
}

/* None is free: one of a VM whose domain has ended is closed, and kept only for the case that it
 * starts again. *waits: its old GUID has to go first. */
static int choose_or_take_over(struct have *have, bool *waits, struct oneib_error *err)
{
    struct oneib_vf_giving *giving = &have->giving;
    const struct oneib_pci *chosen = have->grant->has_vf ? &have->grant->vf : NULL;
    *waits = false;
    if (choose(have, err) == 0)
        return 0;
    const struct oneib_vf_record *ended =
        err->code == ONEIB_ERROR_REFUSED
            ? oneib_vfs_find_ended(giving->vfs, giving->place.hca, chosen)
            : NULL;
    if (!ended)
        return -1;
    const struct oneib_pci vf = ended->vf;
    giving->place.vf = oneib_hca_find_vf(giving->place.hca, &vf);
    if (begin_exchange(have, &vf, waits, err) < 0)
        return -1;
    return *waits ? 0 : choose(have, err);
}

static int have_new(struct have *have, struct oneib_error *err)
{
    struct oneib_vf_giving *giving = &have->giving;
    bool waits;
    giving->had = false;
    if (oneib_vfs_check_domains(giving->vfs, err) < 0 || find_new_place(have, err) < 0 ||
        choose_or_take_over(have, &waits, err) < 0)
        return -1;
    giving->record = new_record(have);
    giving->noted = giving->record;
    if (waits)
        return 0;
    if (oneib_vfs_put(giving->vfs, &giving->record, err) < 0)
        return -1;
    if (make_closed(giving, err) == 0 &&
        oneib_vfs_prepare(giving, have->wish, &have->waits, err) == 0)
        return 0;
    return oneib_vfs_undo(giving, err);
}

/* ---- the VF that the NIC has ----------------------------------------------------------------- */

static bool is_same_place(const struct have *have)
{
    const struct oneib_grant *grant = have->grant;
    const struct oneib_vf_giving *giving = &have->giving;
    return strcmp(grant->device, giving->place.hca->name) == 0 &&
           grant->port == giving->record.port &&
           (!grant->has_vf || oneib_pci_compare(&grant->vf, &giving->record.vf) == 0);
}

static bool is_same_network(const struct have *have)
{
    const struct oneib_grant *grant = have->grant;
    const struct oneib_vf_record *record = &have->giving.record;
    return record->network_id == grant->network_id && record->pkey == grant->pkey &&
           record->limited == grant->limited && record->site == site_of(grant);
}

/* The NIC's VF is another one than it should be now: it must not be opened with a key that is meant
 * for another adapter, whose fabric may be another. */
static int check_same_place(struct have *have, struct oneib_error *err)
{
    if (is_same_place(have))
        return 0;
    have->giving.noted.pkey = 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "it has a virtual function of %s port %u already, and another one is wanted "
                      "now: detach the NIC and attach it again",
                      have->giving.place.hca->name, have->giving.record.port);
}

/* What a call left that has given up may have been taken by a domain since, as its record was about
 * to go. A VF that the NIC had before is named by its own VM's domain; by another one's it must
 * not be. */
static int check_not_taken(const struct have *have, struct oneib_error *err)
{
    const struct oneib_vf_giving *giving = &have->giving;
    if (!giving->had && oneib_vfs_is_named(giving->vfs, &giving->record.vf))
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "a libvirt domain names the VF that an earlier call left behind: it is "
                          "released, try again");
    if (oneib_vfs_may_be_others(giving->vfs, &giving->record))
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "a libvirt domain that is not this VM's names its virtual function: it "
                          "stays closed until that is corrected");
    return 0;
}

static bool has_guid_that_is_wanted(const struct have *have)
{
    const struct oneib_vf_giving *giving = &have->giving;
    if (giving->record.guid != ONEIB_VF_GUID_SET)
        return has_flag(have->wanted, ONEIB_HAVE_DEFER_GUID);
    return oneib_vfs_was_given_guid(&giving->place, &giving->state, &giving->record);
}

/* Nothing is seen that is not so. */
static bool has_right_port(const struct oneib_vf_giving *giving)
{
    struct oneib_error unseen;
    enum oneib_vf_sight sight;
    return oneib_vfs_see_port(giving->vfs, &giving->place, &giving->record, &sight, &unseen,
                              &unseen) == 0 &&
           (sight == ONEIB_VF_UNSEEN || sight == ONEIB_VF_RIGHT);
}

static bool is_open_as_wanted(const struct oneib_vf_giving *giving)
{
    const struct oneib_vf_record *record = &giving->record;
    struct oneib_error unsafe;
    int32_t index;
    return record->stage == ONEIB_VF_OPEN &&
           oneib_vfs_key_index(&giving->place, record->pkey, record->limited, &index, &unsafe) ==
               0 &&
           oneib_vfs_is_open_at(&giving->place, &giving->state, index) && has_right_port(giving);
}

static bool is_as_wanted(const struct have *have)
{
    const struct oneib_vf_giving *giving = &have->giving;
    if (have->anew || !is_same_network(have) || !has_guid_that_is_wanted(have))
        return false;
    return is_open_as_wanted(giving);
}

static int write_record(struct oneib_vf_giving *giving, struct oneib_vf_record *after,
                        struct oneib_error *err)
{
    after->since = oneib_seconds_since_boot();
    oneib_vfs_hold_domain(giving->vfs, after);
    if (oneib_vfs_put(giving->vfs, after, err) < 0)
        return -1;
    giving->record = *after;
    return 0;
}

/* Only now that it is closed may the record name another key. */
static int claim(struct have *have, struct oneib_error *err)
{
    struct oneib_vf_giving *giving = &have->giving;
    const struct oneib_request *wanted = have->wanted;
    const struct oneib_grant *grant = have->grant;
    struct oneib_vf_record claimed = giving->record;
    const uint16_t site = site_of(grant);
    const bool keeps_guid = claimed.guid == ONEIB_VF_GUID_SET && claimed.site == site;
    strcpy(claimed.device, giving->place.hca->name);
    claimed.index = giving->place.vf->index;
    claimed.site = site;
    claimed.network_id = grant->network_id;
    claimed.pkey = grant->pkey;
    claimed.limited = grant->limited;
    /* Deferring is for a GUID that may be elsewhere: this one is here. */
    claimed.guid = keeps_guid && has_flag(wanted, ONEIB_HAVE_DEFER_GUID) ? ONEIB_VF_GUID_SET
                                                                         : guid_to_come(wanted);
    claimed.stage = giving->had ? ONEIB_VF_CLOSED : ONEIB_VF_PREPARING;
    oneib_vfs_forget_memory(giving->vfs, &claimed.vf, ONEIB_VF_WAS_OPEN);
    return write_record(giving, &claimed, err);
}

/* Nothing is to be done, but somebody wants it now: a VM that died and is started again has the old
 * record until its domain is there, and must not be taken for one that is left over. */
static int renew(struct oneib_vf_giving *giving, struct oneib_error *err)
{
    struct oneib_vf_record renewed = giving->record;
    return write_record(giving, &renewed, err);
}

static int fulfil(struct have *have, struct oneib_error *err)
{
    struct oneib_vf_giving *giving = &have->giving;
    const struct oneib_vf_place *place = &giving->place;
    if (check_same_place(have, err) < 0 || check_not_taken(have, err) < 0 ||
        oneib_vf_state_read(place->hca, place->vf, &giving->state, err) < 0 ||
        oneib_vfs_check_unprivileged(&giving->state, err) < 0)
        return -1;
    if (is_as_wanted(have))
        return renew(giving, err);
    if (make_closed(giving, err) < 0 || claim(have, err) < 0)
        return -1;
    giving->noted = giving->record;
    return oneib_vfs_prepare(giving, have->wish, &have->waits, err);
}

/* What the record says when the NIC keeps its VF, and this fails. */
static struct oneib_vf_record note_wanted(const struct have *have)
{
    struct oneib_vf_record noted = have->giving.record;
    noted.network_id = have->grant->network_id;
    noted.pkey = have->grant->pkey;
    noted.limited = have->grant->limited;
    return noted;
}

/* What was under way for the record's VF is for somebody who wanted something else. */
static void end_work(struct oneib_vfs *vfs, const struct oneib_vf_record *record)
{
    struct oneib_vf_work *work = oneib_vfs_work_of(vfs, &record->vf);
    if (!work)
        return;
    if (work->has_next)
        end_waiting(vfs, work);
    else
        oneib_vfs_wish_refused(vfs, work->wish, record, "a newer request replaced it");
    oneib_vfs_drop(vfs, &record->vf);
}

static bool is_the_nics_own(enum oneib_vf_stage stage)
{
    return stage == ONEIB_VF_OPEN || stage == ONEIB_VF_CLOSED || stage == ONEIB_VF_ENDED;
}

/* Before it was asked for, now or by whoever still waits for it. */
static bool has_ended(const struct oneib_vf_giving *giving)
{
    const struct oneib_vf_work *work = oneib_vfs_work_of(giving->vfs, &giving->record.vf);
    return giving->record.stage == ONEIB_VF_ENDED || (work && work->ended);
}

static int have_own(struct have *have, struct oneib_error *err)
{
    struct oneib_vf_giving *giving = &have->giving;
    giving->ended = has_ended(giving);
    giving->had = !have->anew && is_the_nics_own(giving->record.stage);
    giving->noted = note_wanted(have);
    end_work(giving->vfs, &giving->record);
    return fulfil(have, err) == 0 ? 0 : oneib_vfs_undo(giving, err);
}

/* ---- what is under way for the NIC ----------------------------------------------------------- */

static bool waits_for_same_guid(const struct have *have)
{
    const bool defers = has_flag(have->wanted, ONEIB_HAVE_DEFER_GUID);
    const enum oneib_vf_guid guid = have->giving.record.guid;
    return guid == ONEIB_VF_GUID_SET ? defers : (guid == ONEIB_VF_GUID_DEFERRED) == defers;
}

static bool is_same_request(const struct oneib_request *a, const struct oneib_request *b)
{
    return a->vm_id == b->vm_id && a->nic_id == b->nic_id && a->flags == b->flags &&
           a->network_id == b->network_id;
}

/* Whether what is under way is just what is wanted: then both end alike. What nobody waits for has
 * no wish that could be told of its end. */
static bool joins(const struct have *have)
{
    const struct oneib_vf_giving *giving = &have->giving;
    const struct oneib_vf_work *work = oneib_vfs_work_of(giving->vfs, &giving->record.vf);
    if (!work || work->wish == 0)
        return false;
    if (work->task == ONEIB_VF_RELEASE)
        return work->has_next && is_same_request(&work->next, have->wanted);
    return is_same_network(have) && is_same_place(have) && waits_for_same_guid(have);
}

/* ---- attaching ------------------------------------------------------------------------------- */

/* The old one cannot be taken again, and a NIC has one VF: it gets another when that one is free.
 */
static int exchange(struct have *have, struct oneib_error *err)
{
    struct oneib_vf_giving *giving = &have->giving;
    const struct oneib_pci vf = giving->record.vf;
    bool waits;
    if (begin_exchange(have, &vf, &waits, err) < 0)
        return -1;
    if (!waits)
        return have_new(have, err);
    const struct oneib_vf_record *record = oneib_vf_table_of_vf(&giving->vfs->table, &vf);
    if (record)
        giving->record = *record;
    return 0;
}

static int attach(struct have *have, struct oneib_error *err)
{
    const struct oneib_vf_giving *giving = &have->giving;
    if (oneib_vfs_check_domains(giving->vfs, err) < 0)
        return -1;
    if (oneib_vfs_is_named(giving->vfs, &giving->record.vf))
        return have_own(have, err);
    have->anew = true;
    return is_same_place(have) ? have_own(have, err) : exchange(have, err);
}

/* ---- a NIC that waits for its first ---------------------------------------------------------- */

struct oneib_vf_work *oneib_vfs_find_next(const struct oneib_vfs *vfs, uint32_t vm_id, int nic_id)
{
    for (size_t i = 0; i < vfs->work_count; i++) {
        struct oneib_vf_work *work = &vfs->works[i];
        if (work->has_next && work->next.vm_id == vm_id &&
            (nic_id < 0 || work->next.nic_id == nic_id))
            return work;
    }
    return NULL;
}

void oneib_vfs_refuse_next(struct oneib_vfs *vfs, struct oneib_vf_work *work,
                           enum oneib_error_code code, const char *words)
{
    struct oneib_error err = {0};
    oneib_fail(&err, code, "%s", words);
    about(&work->next, &err);
    oneib_vfs_wish_failed(vfs, work->wish, &err);
    work->has_next = false;
    work->wish = 0;
    vfs->has_news = true;
}

static bool finds_next_place(struct have *have, const struct oneib_vf_work *work)
{
    struct oneib_vf_place *place = &have->giving.place;
    struct oneib_error unfound;
    if (find_new_place(have, &unfound) < 0)
        return false;
    place->vf = oneib_hca_find_vf(place->hca, &work->vf);
    return place->vf != NULL;
}

/* It has no record yet: the VF that it is to get is still another NIC's, and so is its record. */
static int have_first(struct have *have, struct oneib_error *err)
{
    const struct oneib_request *wanted = have->wanted;
    struct oneib_vfs *vfs = have->giving.vfs;
    struct oneib_vf_work *work = oneib_vfs_find_next(vfs, wanted->vm_id, wanted->nic_id);
    if (work && is_same_request(&work->next, wanted) && finds_next_place(have, work)) {
        have->giving.record = new_record(have);
        have->wish = work->wish;
        have->waits = true;
        return 0;
    }
    if (work)
        oneib_vfs_refuse_next(vfs, work, ONEIB_ERROR_REFUSED, "a newer request replaced it");
    return have_new(have, err);
}

/* ---- either ---------------------------------------------------------------------------------- */

/* A VF that is gone from the host is nothing to be closed or kept. */
static int drop_lost(struct oneib_vfs *vfs, const struct oneib_vf_record *record,
                     struct oneib_error *err)
{
    const struct oneib_pci vf = record->vf;
    end_work(vfs, record);
    return oneib_vfs_remove(vfs, &vf, err);
}

/* No domain that starts can be given it. */
static bool has_left_bus(const struct oneib_vf_giving *giving)
{
    struct oneib_vf now = *giving->place.vf;
    struct oneib_error unread;
    return oneib_hca_reread_vf(giving->place.hca, &now, &unread) == 0 && now.off_bus;
}

/* By a list that is not fresh nothing is opened: what is not as it should be waits for a fresh one,
 * and stays what it is. */
static int check_fresh(struct have *have, struct oneib_error *err)
{
    struct oneib_vf_giving *giving = &have->giving;
    const struct oneib_vf_place *place = &giving->place;
    struct oneib_error unread;
    if (giving->vfs->grants_are_fresh ||
        (place->hca && !has_flag(have->wanted, ONEIB_HAVE_ATTACH) && is_same_place(have) &&
         oneib_vf_state_read(place->hca, place->vf, &giving->state, &unread) == 0 &&
         is_as_wanted(have)))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "no message from oneibd for too long: no VF is opened by its earlier grants; "
                      "'oneib check' here says what is missing");
}

/* A VM that starts finds its VF in a domain that has its id and runs, and that was of another
 * network: OpenNebula has given the id again, as it does when its database was put back to what it
 * was some time ago. Whoever is in that domain must not come into the new one's network. */
static int check_not_anothers_of_its_id(const struct have *have,
                                        const struct oneib_vf_record *record,
                                        struct oneib_error *err)
{
    if (record->network_id == have->grant->network_id ||
        has_flag(have->wanted, ONEIB_HAVE_ATTACH) ||
        !(record->in_domain || oneib_vfs_is_running_with(have->giving.vfs, record)))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "a domain of that id runs with its virtual function, of network %" PRIu32
                      ": it is another VM's, of before the id was given again; end it (virsh "
                      "destroy), then start this one",
                      record->network_id);
}

static int have_either(struct have *have, struct oneib_error *err)
{
    struct oneib_vf_giving *giving = &have->giving;
    struct oneib_vfs *vfs = giving->vfs;
    bool exists;
    const struct oneib_vf_record *own =
        oneib_vf_table_of_nic(&vfs->table, have->wanted->vm_id, (uint8_t)have->wanted->nic_id);
    if (!own)
        return check_fresh(have, err) < 0 ? -1 : have_first(have, err);
    /* It may have been closed because another domain has it. */
    if (own->stage == ONEIB_VF_ENDED && oneib_vfs_check_domains(vfs, err) < 0)
        return -1;
    giving->record = *own;
    if (oneib_vfs_find_place(vfs, own, &giving->place, &exists, err) < 0)
        return -1;
    if (check_fresh(have, err) < 0)
        return -1;
    if (!exists)
        return drop_lost(vfs, &giving->record, err) < 0 ? -1 : have_new(have, err);
    if (check_not_anothers_of_its_id(have, &giving->record, err) < 0)
        return -1;
    if (has_left_bus(giving))
        return exchange(have, err);
    if (joins(have)) {
        oneib_vfs_forget_memory(vfs, &own->vf, ONEIB_VF_LEAVING);
        have->wish = oneib_vfs_work_of(vfs, &own->vf)->wish;
        have->waits = true;
        return 0;
    }
    return has_flag(have->wanted, ONEIB_HAVE_ATTACH) ? attach(have, err) : have_own(have, err);
}

static int check_and_have(struct have *have, struct oneib_error *err)
{
    struct oneib_vfs *vfs = have->giving.vfs;
    if (check_wanted(have->wanted, err) < 0 || oneib_vfs_check_table(vfs, err) < 0 ||
        oneib_vfs_find_grant(vfs, have->wanted, &have->grant, err) < 0 ||
        oneib_vfs_check_tickets(vfs, err) < 0 || oneib_vfs_follow_adapters(vfs, err) < 0)
        return -1;
    return have_either(have, err);
}

static uint32_t new_wish(struct oneib_vfs *vfs)
{
    if (++vfs->last_wish == 0)
        vfs->last_wish = 1;
    return vfs->last_wish;
}

int oneib_vfs_have(struct oneib_vfs *vfs, const struct oneib_request *request,
                   struct oneib_vf_record *record, oneib_vfs_ticket *ticket,
                   struct oneib_error *err)
{
    struct have have = {.giving.vfs = vfs, .wanted = request, .wish = new_wish(vfs)};
    *ticket = 0;
    if (check_and_have(&have, err) < 0)
        return about(request, err);
    *record = have.giving.record;
    if (have.waits)
        *ticket = oneib_vfs_ticket_of_wish(vfs, have.wish);
    return 0;
}

void oneib_vfs_have_next(struct oneib_vfs *vfs, const struct oneib_request *request, uint32_t wish)
{
    struct have have = {.giving.vfs = vfs, .wanted = request, .wish = wish};
    struct oneib_error err = {0};
    if (oneib_vfs_find_grant(vfs, request, &have.grant, &err) < 0 || check_fresh(&have, &err) < 0 ||
        have_new(&have, &err) < 0) {
        about(request, &err);
        oneib_vfs_wish_failed(vfs, wish, &err);
    } else if (!have.waits) {
        oneib_vfs_wish_done(vfs, wish, &have.giving.record);
    }
}
