// SPDX-License-Identifier: Apache-2.0
#include "hca/vf_control.h"

#include "base/escape.h"
#include "hca/vf_ops.h"

#define SHOWN 64 /* bytes of a wrong value in an error */

bool oneib_guid_is_set(oneib_guid guid)
{
    return guid != 0 && guid != ONEIB_GUID_ALL_ONES;
}

void oneib_vf_attempt(struct oneib_vf_attempts *attempts, int result, const struct oneib_error *err)
{
    if (result == 0 || attempts->failed)
        return;
    attempts->failed = true;
    attempts->first = *err;
}

int oneib_vf_attempted(const struct oneib_vf_attempts *attempts, struct oneib_error *err)
{
    if (!attempts->failed)
        return 0;
    *err = attempts->first;
    return -1;
}

int oneib_vf_is_not(const char *path, const char *text, const char *expected,
                    struct oneib_error *err)
{
    oneib_autotext struct oneib_text shown = {0};
    oneib_text_append_escaped(&shown, text, SHOWN);
    oneib_fail(err, ONEIB_ERROR_PROTOCOL, "%s reads \"%s\", not %s", path,
               shown.data ? shown.data : "", expected);
    return -1;
}

static const struct oneib_vf_driver *driver_of(const struct oneib_hca *hca, struct oneib_error *err)
{
    switch (hca->driver) {
    case ONEIB_HCA_MLX4:
        return &oneib_vf_mlx4;
    case ONEIB_HCA_MLX5:
        return &oneib_vf_mlx5;
    default:
        oneib_fail(err, ONEIB_ERROR_REFUSED,
                   "%s is neither an mlx4 nor an mlx5 adapter: oneib does not know how its virtual "
                   "functions are closed",
                   hca->name);
        return NULL;
    }
}

/* Whatever failed below: which VF it was about. */
static int about(const struct oneib_hca *hca, const struct oneib_vf *vf, const char *deed,
                 int result, struct oneib_error *err)
{
    char pci[ONEIB_PCI_TEXT_SIZE];
    if (result == 0)
        return 0;
    oneib_pci_format(&vf->pci, pci);
    return oneib_wrap(err, "%s virtual function %u (%s) of %s", deed, vf->index, pci, hca->name);
}

bool oneib_vf_state_is_free(const struct oneib_vf_state *state)
{
    return (state->closed || state->fresh) && !state->guid_shown;
}

int oneib_vf_state_read(const struct oneib_hca *hca, const struct oneib_vf *vf,
                        struct oneib_vf_state *state, struct oneib_error *err)
{
    const struct oneib_vf_driver *driver = driver_of(hca, err);
    struct oneib_vf_state read = {.index = -1};
    if (!driver || driver->read(hca, vf, &read, err) < 0)
        return about(hca, vf, "reading", -1, err);
    *state = read;
    return 0;
}

static void take_guid(struct oneib_vf_state *state, const struct oneib_vf_state *read)
{
    state->guid = read->guid;
    state->guid_accepted = read->guid_accepted;
    state->guid_shown = read->guid_shown;
    state->guid_gone = read->guid_gone;
}

int oneib_vf_guid_read(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                       struct oneib_vf_state *state, struct oneib_error *err)
{
    const struct oneib_vf_driver *driver = driver_of(hca, err);
    struct oneib_vf_state read = {.index = -1};
    int result = -1;
    if (driver)
        result = driver->read_guid ? driver->read_guid(hca, vf, port, &read, err)
                                   : driver->read(hca, vf, &read, err);
    if (result == 0)
        take_guid(state, &read);
    return about(hca, vf, "reading the GUID of", result, err);
}

int oneib_vf_glance(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                    struct oneib_vf_glance *glance, struct oneib_error *err)
{
    const struct oneib_vf_driver *driver = driver_of(hca, err);
    *glance = (struct oneib_vf_glance){0};
    if (driver && !driver->glance)
        return 0;
    return about(hca, vf, "glancing at", driver ? driver->glance(hca, vf, port, glance, err) : -1,
                 err);
}

int oneib_vf_close(const struct oneib_hca *hca, const struct oneib_vf *vf, struct oneib_error *err)
{
    const struct oneib_vf_driver *driver = driver_of(hca, err);
    return about(hca, vf, "closing", driver ? driver->close(hca, vf, err) : -1, err);
}

int oneib_vf_close_unassigned(const struct oneib_hca *hca, const struct oneib_vf *vf, bool *closed,
                              struct oneib_error *err)
{
    const struct oneib_vf_driver *driver = driver_of(hca, err);
    *closed = false;
    if (driver && !driver->close_unassigned)
        return 0;
    return about(hca, vf, "closing what is not mapped in",
                 driver ? driver->close_unassigned(hca, vf, closed, err) : -1, err);
}

int oneib_vf_open(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                  uint16_t index, struct oneib_error *err)
{
    const struct oneib_vf_driver *driver = driver_of(hca, err);
    return about(hca, vf, "opening", driver ? driver->open(hca, vf, port, index, err) : -1, err);
}

static int check_guid(oneib_guid guid, struct oneib_error *err)
{
    if (oneib_guid_is_set(guid))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_INPUT, "0x%016llx is no GUID", (unsigned long long)guid);
}

int oneib_vf_set_guid(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                      oneib_guid guid, struct oneib_error *err)
{
    const struct oneib_vf_driver *driver = driver_of(hca, err);
    int result = driver ? check_guid(guid, err) : -1;
    if (result == 0)
        result = driver->set_guid(hca, vf, port, guid, err);
    return about(hca, vf, "setting the GUID of", result, err);
}

int oneib_vf_clear_guid(const struct oneib_hca *hca, const struct oneib_vf *vf,
                        struct oneib_error *err)
{
    const struct oneib_vf_driver *driver = driver_of(hca, err);
    return about(hca, vf, "taking away the GUID of", driver ? driver->clear_guid(hca, vf, err) : -1,
                 err);
}
