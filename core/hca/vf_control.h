// SPDX-License-Identifier: Apache-2.0
/*
 * What can be done to a virtual function: close it, open it, give it a GUID, take it away; each
 * read back. Needs root. Which way depends on the adapter: mlx4 (iov/ files), mlx5 (netlink to the
 * PF's IPoIB interface, or NVIDIA's sriov/ files where only they exist).
 *
 * Closed means: reaches nobody.
 *   mlx4: every entry of every port's pkey_idx is 0, where the port's table has the default
 *         partition; none is `none`, which stands for the last physical slot (mlx4/sysfs.c).
 *   mlx5: link down. Its P_Keys are the SM's (virtual ports, NVIDIA's SM only).
 * Without GUID means: it is told to have none, and shows none. mlx4: both admin_guids (all ones is
 * deleted, 0 never set) and the low half of gids are 0 or all ones, on every InfiniBand port; any
 * other GUID is somebody's, also the one that the driver makes up for each VF at its start. mlx5:
 * both GUIDs are all ones, or 0, never set.
 */
#ifndef ONEIB_HCA_VF_CONTROL_H
#define ONEIB_HCA_VF_CONTROL_H

#include "base/error.h"
#include "hca/hca.h"
#include <stdbool.h>
#include <stdint.h>

/* What a VF is like now. */
struct oneib_vf_state {
    bool closed; /* see above */
    bool fresh;  /* mlx4: not closed, but only because entries are `none`, as the driver leaves
                    them at its start; all others are 0 */
    bool has_ethernet; /* a port of it is Ethernet */
    bool may_manage;   /* mlx4: on a port of it the VM may send management packets
                          (enable_smi_admin), and so change what others are members of */
    uint16_t ports;    /* bit n: it has port n (1-15) */
    int32_t index; /* mlx4: the physical index that entry 0 of the open port points to; -1: closed,
                      or not only entry 0 of one port points elsewhere than to 0 */
    uint8_t open_port;  /* the port that `index` is of; 0: none */
    oneib_guid guid;    /* that it is told to have; 0: none, or deleted */
    bool guid_accepted; /* mlx4: the port's GID table shows it (the SM has acknowledged); mlx5: the
                           same as having one */
    bool guid_shown;    /* a port of it answers to a GUID. If not, `guid` is but a wish: mlx4's
                           driver makes up a wish for every VF at its start */
    bool guid_gone;     /* without GUID: nothing is left of an old one, no wish either */
};

/*
 * Whether nobody is in it: it reaches nobody and answers to no GUID. One that is as the driver left
 * it at its start is as good as closed, and a GUID that no port shows is but the driver's wish:
 * both are put right before anything else is done with it.
 */
bool oneib_vf_state_is_free(const struct oneib_vf_state *state);

/* Reads everything: for mlx4 that is every entry of its maps. */
int oneib_vf_state_read(const struct oneib_hca *hca, const struct oneib_vf *vf,
                        struct oneib_vf_state *state, struct oneib_error *err);

/* Reads only what concerns the GUID (guid...), with few files: for whoever waits for the SM. The
 * rest of *state stays as it was. Of several ports' GUIDs it is `port`'s that counts; 0: the first
 * one that there is. */
int oneib_vf_guid_read(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                       struct oneib_vf_state *state, struct oneib_error *err);

/*
 * What two files tell of a VF: enough to see that nothing has happened to it since all was read,
 * and not more. A reset of the adapter is seen by it.
 */
struct oneib_vf_glance {
    bool is_known;   /* mlx5: never. The state costs no more there */
    int32_t index;   /* that entry 0 of the port points to; 0: closed; -1: `none` */
    oneib_guid guid; /* that it has there: told to, and the SM agrees; 0: none, or deleted */
};
int oneib_vf_glance(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                    struct oneib_vf_glance *glance, struct oneib_error *err);

/* Closes all ports, entry 0 first, whatever the state was. Succeeds only when all was read back
 * closed. Goes on to the end although a step fails, and reports the first failure. */
int oneib_vf_close(const struct oneib_hca *hca, const struct oneib_vf *vf, struct oneib_error *err);

/* Closes only what is `none` and leaves all other entries alone, which may be somebody's: for VFs
 * that are nobody's. *closed: whether there was any. mlx5: there never is. */
int oneib_vf_close_unassigned(const struct oneib_hca *hca, const struct oneib_vf *vf, bool *closed,
                              struct oneib_error *err);

/*
 * Opens a closed VF on one port. mlx4: entry 0 of the port points to `index`, read back; all others
 * stay 0. mlx5: link follows the port's ("auto"); index is not used. The caller has checked
 * oneib_port_is_safe().
 */
int oneib_vf_open(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                  uint16_t index, struct oneib_error *err);

/*
 * Node and port GUID (the same), read back. mlx4: the alias of `port`; whether the SM accepts it
 * shows later (state.guid_accepted). mlx5: both GUIDs, before the link comes up; a VF that a host
 * driver holds is unbound and bound again, because the driver reads it once.
 */
int oneib_vf_set_guid(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                      oneib_guid guid, struct oneib_error *err);

/* Takes the GUID away on all ports. The SM may refuse, and be asked again by the driver: whether it
 * is gone shows in state.guid_gone. */
int oneib_vf_clear_guid(const struct oneib_hca *hca, const struct oneib_vf *vf,
                        struct oneib_error *err);

#endif
