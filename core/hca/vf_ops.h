// SPDX-License-Identifier: Apache-2.0
/* What the files behind hca/vf_control.h share. Private to core/hca. */
#ifndef ONEIB_HCA_VF_OPS_H
#define ONEIB_HCA_VF_OPS_H

#include "hca/hca_internal.h"
#include "hca/vf_control.h"
#include "hca/vf_netlink.h"

/* mlx4: deletes an alias GUID; mlx5: no GUID. */
#define ONEIB_GUID_ALL_ONES UINT64_MAX

/* Neither 0 nor all ones. */
bool oneib_guid_is_set(oneib_guid guid);

/* What each kind of adapter does for the functions of hca/vf_control.h. */
struct oneib_vf_driver {
    int (*read)(const struct oneib_hca *hca, const struct oneib_vf *vf,
                struct oneib_vf_state *state, struct oneib_error *err);
    /* NULL: read() costs no more. */
    int (*read_guid)(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                     struct oneib_vf_state *state, struct oneib_error *err);
    /* NULL: likewise. */
    int (*glance)(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                  struct oneib_vf_glance *glance, struct oneib_error *err);
    int (*close)(const struct oneib_hca *hca, const struct oneib_vf *vf, struct oneib_error *err);
    int (*close_unassigned)(const struct oneib_hca *hca, const struct oneib_vf *vf, bool *closed,
                            struct oneib_error *err); /* NULL: nothing to do */
    int (*open)(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                uint16_t index, struct oneib_error *err);
    int (*set_guid)(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                    oneib_guid guid, struct oneib_error *err);
    int (*clear_guid)(const struct oneib_hca *hca, const struct oneib_vf *vf,
                      struct oneib_error *err);
};

extern const struct oneib_vf_driver oneib_vf_mlx4, oneib_vf_mlx5;

/*
 * The first failure of several steps that are all tried: each step gets an error of its own.
 * Returns -1 once any has failed.
 */
struct oneib_vf_attempts {
    struct oneib_error first;
    bool failed;
};
void oneib_vf_attempt(struct oneib_vf_attempts *attempts, int result,
                      const struct oneib_error *err);
int oneib_vf_attempted(const struct oneib_vf_attempts *attempts, struct oneib_error *err);

/* An attribute holds something else: what it should have been, "an index". */
int oneib_vf_is_not(const char *path, const char *text, const char *expected,
                    struct oneib_error *err);

/* NVIDIA's files of VF N, DEVICE/device/sriov/N/ (MLNX_OFED only). */
bool oneib_vf_nvidia_has_files(const struct oneib_hca *hca, const struct oneib_vf *vf);
int oneib_vf_nvidia_read(const struct oneib_hca *hca, const struct oneib_vf *vf,
                         struct oneib_netlink_vf *state, struct oneib_error *err);
int oneib_vf_nvidia_set_guid(const struct oneib_hca *hca, const struct oneib_vf *vf,
                             enum oneib_vf_guid_kind kind, oneib_guid guid,
                             struct oneib_error *err);
int oneib_vf_nvidia_set_link(const struct oneib_hca *hca, const struct oneib_vf *vf,
                             enum oneib_vf_link link, struct oneib_error *err);

/* The interface index of an IPoIB interface of the adapter's physical function, for netlink; 0:
 * there is none. */
int oneib_vf_find_ipoib(const struct oneib_hca *hca, unsigned *ifindex, struct oneib_error *err);

/*
 * A driver of the host's holds the VF now, one that is not vfio-pci; its name, "" when there is
 * none. Read anew.
 */
int oneib_vf_host_driver(const struct oneib_vf *vf, char *driver, size_t size,
                         struct oneib_error *err);
/* REFUSED when a network interface of the VF is up: the host would lose it. */
int oneib_vf_check_unused(const struct oneib_vf *vf, struct oneib_error *err);
/* Takes the VF away from that driver and gives it back, so that it reads the GUID. */
int oneib_vf_rebind(const struct oneib_vf *vf, const char *driver, struct oneib_error *err);

#endif
