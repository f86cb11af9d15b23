// SPDX-License-Identifier: Apache-2.0
/*
 * mlx5 with NVIDIA's driver (MLNX_OFED): node, port and policy of each virtual function below
 * DEVICE/device/sriov/N/. GUIDs are eight colon-separated bytes, the policy is Up, Down or Follow.
 */
#include "hca/vf_ops.h"

#include "base/number.h"
#include "hca/attribute.h"
#include "hca/place.h"
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

#define GUID_BYTES 8

static const char *const policies[] = {
    [ONEIB_VF_LINK_AUTO] = "Follow",
    [ONEIB_VF_LINK_ENABLE] = "Up",
    [ONEIB_VF_LINK_DISABLE] = "Down",
};
#define POLICY_COUNT (sizeof policies / sizeof *policies)

static int file_path(char path[ONEIB_NODE_PATH_SIZE], const struct oneib_hca *hca,
                     const struct oneib_vf *vf, const char *name, struct oneib_error *err)
{
    return oneib_node_path(path, ONEIB_NODE_PATH_SIZE, err,
                           ONEIB_CLASS_PATH "/%s/device/sriov/%u/%s", hca->name, vf->index, name);
}

bool oneib_vf_nvidia_has_files(const struct oneib_hca *hca, const struct oneib_vf *vf)
{
    char path[ONEIB_NODE_PATH_SIZE];
    struct oneib_error ignored;
    return file_path(path, hca, vf, "policy", &ignored) == 0 && access(path, F_OK) == 0;
}

static bool parse_guid(const char *text, oneib_guid *guid)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < GUID_BYTES * 3 - 1; i++) {
        const unsigned digit = oneib_hex_digit(text[i]);
        const bool is_gap = i % 3 == 2;
        if (is_gap ? text[i] != ':' : digit > 15)
            return false;
        if (!is_gap)
            value = value << 4 | digit;
    }
    *guid = value;
    return text[GUID_BYTES * 3 - 1] == '\0';
}

static int read_guid(const struct oneib_hca *hca, const struct oneib_vf *vf, const char *name,
                     oneib_guid *guid, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE], text[ONEIB_ATTRIBUTE_SIZE];
    if (file_path(path, hca, vf, name, err) < 0 ||
        oneib_attribute_read(path, text, sizeof text, err) < 0)
        return -1;
    if (parse_guid(text, guid))
        return 0;
    return oneib_vf_is_not(path, text, "the eight colon-separated bytes of a GUID", err);
}

static int read_policy(const struct oneib_hca *hca, const struct oneib_vf *vf,
                       enum oneib_vf_link *link, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE], text[ONEIB_ATTRIBUTE_SIZE];
    if (file_path(path, hca, vf, "policy", err) < 0 ||
        oneib_attribute_read(path, text, sizeof text, err) < 0)
        return -1;
    for (unsigned i = 0; i < POLICY_COUNT; i++)
        if (strcasecmp(text, policies[i]) == 0) {
            *link = (enum oneib_vf_link)i;
            return 0;
        }
    return oneib_vf_is_not(path, text, "Up, Down or Follow", err);
}

int oneib_vf_nvidia_read(const struct oneib_hca *hca, const struct oneib_vf *vf,
                         struct oneib_netlink_vf *state, struct oneib_error *err)
{
    if (read_guid(hca, vf, "node", &state->node_guid, err) < 0 ||
        read_guid(hca, vf, "port", &state->port_guid, err) < 0)
        return -1;
    return read_policy(hca, vf, &state->link, err);
}

static void format_guid(oneib_guid guid, char text[GUID_BYTES * 3])
{
    for (unsigned i = 0; i < GUID_BYTES; i++)
        snprintf(text + (size_t)i * 3, 4, "%02x:", (unsigned)(guid >> (56 - 8 * i) & 0xff));
    text[GUID_BYTES * 3 - 1] = '\0';
}

int oneib_vf_nvidia_set_guid(const struct oneib_hca *hca, const struct oneib_vf *vf,
                             enum oneib_vf_guid_kind kind, oneib_guid guid, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE], text[GUID_BYTES * 3 + 1];
    format_guid(guid, text);
    if (file_path(path, hca, vf, kind == ONEIB_VF_NODE_GUID ? "node" : "port", err) < 0)
        return -1;
    return oneib_attribute_write(path, text, err);
}

int oneib_vf_nvidia_set_link(const struct oneib_hca *hca, const struct oneib_vf *vf,
                             enum oneib_vf_link link, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE];
    if (file_path(path, hca, vf, "policy", err) < 0)
        return -1;
    return oneib_attribute_write(path, policies[link], err);
}
