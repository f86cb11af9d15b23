// SPDX-License-Identifier: Apache-2.0
/* The table, here and on the disk. */
#include "base/array.h"
#include "hca/place.h"
#include "hca/reservations.h"
#include "vf/vf_internal.h"
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_SIZE 1024

void oneib_vfs_set_stage(struct oneib_vf_record *record, enum oneib_vf_stage stage)
{
    if (record->stage != stage)
        record->since = oneib_seconds_since_boot();
    record->stage = stage;
}

int oneib_vfs_wrap(const struct oneib_vf_record *record, struct oneib_error *err)
{
    char vf[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&record->vf, vf);
    return oneib_wrap(err, "VM %" PRIu32 " NIC %u (%s)", record->vm_id, record->nic_id, vf);
}

void oneib_vfs_also(struct oneib_error *err, const struct oneib_error *second)
{
    const int number = err->system_errno;
    oneib_fail(err, err->code, "%s; besides, %s", err->text, second->text);
    err->system_errno = number;
}

void oneib_vfs_note_failure(struct oneib_vfs *vfs, const struct oneib_error *err)
{
    vfs->noted.failed++;
    if (vfs->has_failed)
        return;
    vfs->has_failed = true;
    vfs->failure = *err;
}

/* ---- the table ------------------------------------------------------------------------------- */

int oneib_vfs_check_table(const struct oneib_vfs *vfs, struct oneib_error *err)
{
    if (vfs->table_known)
        return 0;
    *err = vfs->table_error;
    return -1;
}

int oneib_vfs_read_table(struct oneib_vfs *vfs, struct oneib_error *err)
{
    struct oneib_vf_table table;
    vfs->table_known = oneib_reservations_read(&table, &vfs->table_error) == 0;
    if (!vfs->table_known)
        return oneib_vfs_check_table(vfs, err);
    oneib_vf_table_clear(&vfs->table);
    vfs->table = table;
    return 0;
}

struct oneib_vf_table *oneib_vfs_draft(struct oneib_vfs *vfs)
{
    struct oneib_vf_table *draft = &vfs->draft;
    ONEIB_RESERVE(draft->items, draft->capacity, vfs->table.count + 1);
    if (vfs->table.count > 0)
        memcpy(draft->items, vfs->table.items, vfs->table.count * sizeof *draft->items);
    draft->count = vfs->table.count;
    return draft;
}

/* A failure may come after the new file has the old one's place. */
static bool disk_has(const struct oneib_vf_table *table)
{
    oneib_autovfs struct oneib_vf_table there;
    struct oneib_error ignored;
    oneib_autotext struct oneib_text is = {0}, should = {0};
    if (oneib_reservations_read(&there, &ignored) < 0)
        return false;
    oneib_vf_table_render(&there, &is);
    oneib_vf_table_render(table, &should);
    return is.length == should.length &&
           (is.length == 0 || memcmp(is.data, should.data, is.length) == 0);
}

int oneib_vfs_commit(struct oneib_vfs *vfs, struct oneib_error *err)
{
    const struct oneib_vf_table before = vfs->table;
    struct oneib_error failure;
    if (oneib_reservations_write(&vfs->draft, &failure) < 0 && !disk_has(&vfs->draft)) {
        *err = failure;
        return -1;
    }
    vfs->table = vfs->draft;
    vfs->draft = before;
    vfs->table_inode = 0;
    return 0;
}

/* What was seen once is not read again. */
static bool is_untouched(struct oneib_vfs *vfs)
{
    char path[PATH_SIZE];
    struct stat status;
    struct oneib_error ignored;
    if (oneib_node_path(path, sizeof path, &ignored, ONEIB_RESERVATIONS_PATH) < 0 ||
        stat(path, &status) < 0)
        return false;
    const bool is_same = vfs->table_inode == status.st_ino &&
                         vfs->table_time.tv_sec == status.st_mtim.tv_sec &&
                         vfs->table_time.tv_nsec == status.st_mtim.tv_nsec;
    vfs->table_inode = status.st_ino;
    vfs->table_time = status.st_mtim;
    return is_same;
}

int oneib_vfs_keep_table(struct oneib_vfs *vfs, struct oneib_error *err)
{
    if (is_untouched(vfs) || disk_has(&vfs->table))
        return 0;
    vfs->table_inode = 0;
    oneib_vfs_draft(vfs);
    return oneib_vfs_commit(vfs, err);
}

int oneib_vfs_put(struct oneib_vfs *vfs, const struct oneib_vf_record *record,
                  struct oneib_error *err)
{
    struct oneib_vf_table *draft = oneib_vfs_draft(vfs);
    struct oneib_vf_record *old = oneib_vf_table_of_vf(draft, &record->vf);
    if (old)
        *old = *record;
    else if (oneib_vf_table_add(draft, record, err) < 0)
        return -1;
    return oneib_vfs_commit(vfs, err);
}

int oneib_vfs_remove(struct oneib_vfs *vfs, const struct oneib_pci *vf, struct oneib_error *err)
{
    struct oneib_vf_table *draft = oneib_vfs_draft(vfs);
    oneib_vf_table_remove(draft, vf);
    if (oneib_vfs_commit(vfs, err) < 0)
        return -1;
    /* Of whom it was: not of whoever has it next. */
    oneib_vfs_forget_vf(vfs, vf);
    return 0;
}
