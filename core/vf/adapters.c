// SPDX-License-Identifier: Apache-2.0
/*
 * The adapters as they were read. Reading all of them with their VFs costs thousands of system
 * calls, so that it is done only when something about them has changed; what matters and may change
 * besides is read again where it matters.
 */
#include "base/cleanup.h"
#include "hca/attribute.h"
#include "hca/firmware.h"
#include "hca/place.h"
#include "vf/vf_internal.h"
#include <string.h>
#include <sys/stat.h>

#define CLASS "/sys/class/infiniband"
#define PATH_SIZE 1024

/* FNV-1a, 64 bits (Fowler, Noll, Vo). */
#define MARK_START 0xcbf29ce484222325u
#define MARK_PRIME 0x100000001b3u

static void mix(uint64_t *mark, const void *data, size_t length)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < length; i++)
        *mark = (*mark ^ bytes[i]) * MARK_PRIME;
}

/* A device that was registered again has another directory; how many VFs it has can change without.
 */
static int mix_adapter(uint64_t *mark, const char *name, struct oneib_error *err)
{
    char path[PATH_SIZE], vfs[ONEIB_ATTRIBUTE_SIZE] = "";
    struct stat status = {0};
    struct oneib_error ignored;
    if (oneib_node_path(path, sizeof path, err, CLASS "/%s", name) < 0)
        return -1;
    if (stat(path, &status) < 0)
        status.st_ino = 0;
    if (oneib_node_path(path, sizeof path, err, CLASS "/%s/device/sriov_numvfs", name) < 0)
        return -1;
    if (oneib_attribute_read(path, vfs, sizeof vfs, &ignored) < 0)
        vfs[0] = '\0';
    mix(mark, name, strlen(name));
    mix(mark, &status.st_ino, sizeof status.st_ino);
    mix(mark, vfs, strlen(vfs));
    return 0;
}

/* The way to its firmware may come later than an adapter, or anew. */
static int mix_firmware(uint64_t *mark, const char *name, struct oneib_error *err)
{
    char path[PATH_SIZE];
    struct stat status = {0};
    if (oneib_node_path(path, sizeof path, err, ONEIB_FWCTL_CLASS "/%s", name) < 0)
        return -1;
    if (stat(path, &status) < 0)
        status.st_ino = 0;
    mix(mark, &status.st_ino, sizeof status.st_ino);
    return 0;
}

static int mix_class(uint64_t *mark, const char *class,
                     int (*mix_device)(uint64_t *mark, const char *name, struct oneib_error *err),
                     struct oneib_error *err)
{
    char path[PATH_SIZE];
    oneib_autofree char **names = NULL;
    size_t count;
    if (oneib_node_path(path, sizeof path, err, "%s", class) < 0 ||
        oneib_attribute_list(path, &names, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (mix_device(mark, names[i], err) < 0)
            return -1;
    return 0;
}

static int take_mark(uint64_t *mark, struct oneib_error *err)
{
    *mark = MARK_START;
    return mix_class(mark, CLASS, mix_adapter, err) < 0
               ? -1
               : mix_class(mark, ONEIB_FWCTL_CLASS, mix_firmware, err);
}

/* What could not be read may be readable now. */
static bool has_fault(const struct oneib_hcas *hcas)
{
    for (size_t i = 0; i < hcas->count; i++)
        if (hcas->items[i].fault.code != ONEIB_ERROR_NONE)
            return true;
    return false;
}

/* What the adapters that are still there have shown of themselves. */
static void inherit(struct oneib_hcas *hcas, const struct oneib_hcas *older)
{
    for (size_t i = 0; i < hcas->count; i++)
        for (size_t n = 0; n < older->count; n++)
            oneib_firmware_inherit(hcas->items[i].firmware, older->items[n].firmware);
}

int oneib_vfs_follow_adapters(struct oneib_vfs *vfs, struct oneib_error *err)
{
    struct oneib_hcas hcas;
    uint64_t mark;
    /* The mark first: what changes in between is read once more. */
    if (take_mark(&mark, err) < 0)
        return -1;
    if (vfs->hcas_known && mark == vfs->hcas_mark && !has_fault(&vfs->hcas))
        return 0;
    if (oneib_hcas_read(ONEIB_HCA_VFS | ONEIB_HCA_FIRMWARE, &hcas, err) < 0)
        return -1;
    inherit(&hcas, &vfs->hcas);
    oneib_hcas_clear(&vfs->hcas);
    vfs->hcas = hcas;
    vfs->hcas_mark = mark;
    vfs->hcas_known = true;
    vfs->hcas_are_new = true;
    return 0;
}
