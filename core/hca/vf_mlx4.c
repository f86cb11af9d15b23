// SPDX-License-Identifier: Apache-2.0
/*
 * mlx4: files below the adapter's iov directory (Documentation/ABI/testing/sysfs-class-infiniband).
 * iov/DIRECTORY is a virtual function's, iov/ports the physical ports'. Ethernet ports have no
 * partitions, and their maps cannot be written: they are left out everywhere, and has_ethernet
 * keeps such a VF from being given to anybody.
 */
#include "hca/vf_ops.h"

#include "base/cleanup.h"
#include "base/number.h"
#include "hca/attribute.h"
#include "hca/place.h"
#include <inttypes.h>
#include <string.h>

#define PORTS_MAX 15 /* a bit each in oneib_vf_state.ports; the adapters have one or two */
#define ALIASES_MAX                                                                                \
    127 /* of a port: 16 records of 8 GUIDs (GUIDInfoRecord), 0 is the port's own                  \
         */
#define GID_GROUPS 8
#define CLOSED "0"    /* the index of the default partition */
#define UNMAPPED (-1) /* `none`: the port's last slot, whatever is in it */

/* ---- which ports a VF has -------------------------------------------------------------------- */

struct vf_ports {
    uint8_t infiniband[PORTS_MAX];
    size_t count;
    uint16_t all; /* bit n: port n */
    bool has_ethernet;
};

static bool is_ethernet(const struct oneib_hca *hca, uint8_t number)
{
    const struct oneib_port *port = oneib_hca_find_port(hca, number);
    return port && port->link_layer == ONEIB_LINK_ETHERNET;
}

static int add_port(const struct oneib_hca *hca, const char *path, const char *name,
                    struct vf_ports *ports, struct oneib_error *err)
{
    uint64_t number;
    if (!oneib_parse_decimal(name, PORTS_MAX, &number) || number == 0)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "%s/%s is not named like a port", path, name);
    ports->all |= (uint16_t)(1u << number);
    if (is_ethernet(hca, (uint8_t)number))
        ports->has_ethernet = true;
    else
        ports->infiniband[ports->count++] = (uint8_t)number;
    return 0;
}

static int list_ports(const struct oneib_hca *hca, const struct oneib_vf *vf,
                      struct vf_ports *ports, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE];
    oneib_autofree char **names = NULL;
    size_t count;
    *ports = (struct vf_ports){0};
    if (vf->iov_directory[0] == '\0')
        return oneib_fail(
            err, ONEIB_ERROR_NOT_FOUND,
            "no directory below /sys/class/infiniband/%s/iov/ is that VF's; its map can "
            "be neither read nor closed",
            hca->name);
    if (oneib_node_path(path, sizeof path, err, ONEIB_CLASS_PATH "/%s/iov/%s/ports", hca->name,
                        vf->iov_directory) < 0 ||
        oneib_attribute_list(path, &names, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (add_port(hca, path, names[i], ports, err) < 0)
            return -1;
    if (ports->all == 0)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "there is no port in %s", path);
    return 0;
}

static int check_port(const struct vf_ports *ports, uint8_t port, struct oneib_error *err)
{
    for (size_t i = 0; i < ports->count; i++)
        if (ports->infiniband[i] == port)
            return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED, "it has no InfiniBand port %u", port);
}

/* ---- the map of a port: pkey_idx ------------------------------------------------------------- */

static int open_map(struct oneib_attribute_table *map, const struct oneib_hca *hca,
                    const struct oneib_vf *vf, uint8_t port, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE];
    map->directory = NULL;
    if (oneib_node_path(path, sizeof path, err, ONEIB_CLASS_PATH "/%s/iov/%s/ports/%u/pkey_idx",
                        hca->name, vf->iov_directory, port) < 0)
        return -1;
    return oneib_attribute_table_open(path, map, err);
}

/* *count: its entries; 0 on failure. */
static int open_whole_map(struct oneib_attribute_table *map, const struct oneib_hca *hca,
                          const struct oneib_vf *vf, uint8_t port, size_t *count,
                          struct oneib_error *err)
{
    *count = 0;
    if (open_map(map, hca, vf, port, err) < 0)
        return -1;
    return oneib_attribute_table_count(map, ONEIB_PKEY_TABLE_MAX, count, err);
}

static int parse_entry(const char *path, const char *text, int32_t *index, struct oneib_error *err)
{
    uint64_t value;
    if (strcmp(text, "none") == 0)
        *index = UNMAPPED;
    else if (oneib_parse_decimal(text, UINT16_MAX, &value))
        *index = (int32_t)value;
    else
        return oneib_vf_is_not(path, text, "an index or none", err);
    return 0;
}

static int read_entry(struct oneib_attribute_table *map, size_t entry, int32_t *index,
                      struct oneib_error *err)
{
    char text[ONEIB_ATTRIBUTE_SIZE];
    if (oneib_attribute_table_read(map, entry, text, sizeof text, err) < 0)
        return -1;
    return parse_entry(map->path, text, index, err);
}

static int still(const char *path, const char *found, const char *written, struct oneib_error *err)
{
    char expected[96];
    snprintf(expected, sizeof expected, "%s, which was written: it was taken without effect",
             written);
    return oneib_vf_is_not(path, found, expected, err);
}

/* Only a value that differs is written: each write is an event for the VM that has the VF. */
static int write_entry(struct oneib_attribute_table *map, size_t entry, const char *index,
                       struct oneib_error *err)
{
    struct oneib_error unread;
    char found[ONEIB_ATTRIBUTE_SIZE];
    if (oneib_attribute_table_read(map, entry, found, sizeof found, &unread) == 0 &&
        strcmp(found, index) == 0)
        return 0;
    if (oneib_attribute_table_write(map, entry, index, err) < 0 ||
        oneib_attribute_table_read(map, entry, found, sizeof found, err) < 0)
        return -1;
    return strcmp(found, index) == 0 ? 0 : still(map->path, found, index, err);
}

static int close_first_entry(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                             struct oneib_error *err)
{
    oneib_autoattributes struct oneib_attribute_table map;
    return open_map(&map, hca, vf, port, err) < 0 ? -1 : write_entry(&map, 0, CLOSED, err);
}

static void close_other_entries(const struct oneib_hca *hca, const struct oneib_vf *vf,
                                uint8_t port, struct oneib_vf_attempts *attempts)
{
    oneib_autoattributes struct oneib_attribute_table map;
    struct oneib_error err;
    size_t count;
    oneib_vf_attempt(attempts, open_whole_map(&map, hca, vf, port, &count, &err), &err);
    for (size_t entry = 1; entry < count; entry++)
        oneib_vf_attempt(attempts, write_entry(&map, entry, CLOSED, &err), &err);
}

/* Entry 0 of every port first: it is the one that a VM uses. */
static int close_vf(const struct oneib_hca *hca, const struct oneib_vf *vf, struct oneib_error *err)
{
    struct oneib_vf_attempts attempts = {0};
    struct oneib_error failure;
    struct vf_ports ports;
    if (list_ports(hca, vf, &ports, err) < 0)
        return -1;
    for (size_t i = 0; i < ports.count; i++)
        oneib_vf_attempt(&attempts, close_first_entry(hca, vf, ports.infiniband[i], &failure),
                         &failure);
    for (size_t i = 0; i < ports.count; i++)
        close_other_entries(hca, vf, ports.infiniband[i], &attempts);
    return oneib_vf_attempted(&attempts, err);
}

/* An entry that cannot be read may be somebody's. */
static int close_if_unmapped(struct oneib_attribute_table *map, size_t entry, bool *closed,
                             struct oneib_error *err)
{
    int32_t index = 0;
    if (read_entry(map, entry, &index, err) < 0)
        return -1;
    if (index != UNMAPPED)
        return 0;
    if (write_entry(map, entry, CLOSED, err) < 0)
        return -1;
    *closed = true;
    return 0;
}

static void close_unmapped_entries(const struct oneib_hca *hca, const struct oneib_vf *vf,
                                   uint8_t port, bool *closed, struct oneib_vf_attempts *attempts)
{
    oneib_autoattributes struct oneib_attribute_table map;
    struct oneib_error err;
    size_t count;
    oneib_vf_attempt(attempts, open_whole_map(&map, hca, vf, port, &count, &err), &err);
    for (size_t entry = 0; entry < count; entry++)
        oneib_vf_attempt(attempts, close_if_unmapped(&map, entry, closed, &err), &err);
}

static int close_unassigned(const struct oneib_hca *hca, const struct oneib_vf *vf, bool *closed,
                            struct oneib_error *err)
{
    struct oneib_vf_attempts attempts = {0};
    struct vf_ports ports;
    if (list_ports(hca, vf, &ports, err) < 0)
        return -1;
    for (size_t i = 0; i < ports.count; i++)
        close_unmapped_entries(hca, vf, ports.infiniband[i], closed, &attempts);
    return oneib_vf_attempted(&attempts, err);
}

/* ---- the alias GUID of a port: admin_guids, gids --------------------------------------------- */

struct alias {
    unsigned index;
    oneib_guid wanted; /* that the adapter was told */
    oneib_guid shown;  /* that the port has, because the SM agreed */
};

/* Alias n + 1 is VF n's; 0 is the port's own, which can be written without effect. */
static int find_alias(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                      unsigned *index, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE];
    uint64_t value;
    if (oneib_node_path(path, sizeof path, err, ONEIB_CLASS_PATH "/%s/iov/%s/ports/%u/gid_idx/0",
                        hca->name, vf->iov_directory, port) < 0 ||
        oneib_attribute_decimal(path, ALIASES_MAX, &value, err) < 0)
        return -1;
    if (value != vf->index + 1u)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                          "%s says that its alias GUID is number %u, where %u was expected", path,
                          (unsigned)value, vf->index + 1u);
    *index = (unsigned)value;
    return 0;
}

static int alias_path(char path[ONEIB_NODE_PATH_SIZE], const struct oneib_hca *hca, uint8_t port,
                      const char *directory, unsigned index, struct oneib_error *err)
{
    return oneib_node_path(path, ONEIB_NODE_PATH_SIZE, err,
                           ONEIB_CLASS_PATH "/%s/iov/ports/%u/%s/%u", hca->name, port, directory,
                           index);
}

static int read_gid(const char *path, oneib_guid *guid, struct oneib_error *err)
{
    char text[ONEIB_ATTRIBUTE_SIZE];
    if (oneib_attribute_read(path, text, sizeof text, err) < 0)
        return -1;
    if (oneib_parse_groups(text, GID_GROUPS, guid))
        return 0;
    return oneib_vf_is_not(path, text, "a GID", err);
}

static int read_guids_of(const struct oneib_hca *hca, uint8_t port, struct alias *alias,
                         struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE];
    if (alias_path(path, hca, port, "admin_guids", alias->index, err) < 0 ||
        oneib_attribute_hex(path, UINT64_MAX, &alias->wanted, err) < 0 ||
        alias_path(path, hca, port, "gids", alias->index, err) < 0)
        return -1;
    return read_gid(path, &alias->shown, err);
}

static int read_alias(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                      struct alias *alias, struct oneib_error *err)
{
    return find_alias(hca, vf, port, &alias->index, err) < 0 ? -1
                                                             : read_guids_of(hca, port, alias, err);
}

static int write_alias(const struct oneib_hca *hca, uint8_t port, unsigned index, oneib_guid guid,
                       struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE], value[ONEIB_GUID_TEXT_SIZE], found[ONEIB_GUID_TEXT_SIZE];
    uint64_t after;
    snprintf(value, sizeof value, "%016" PRIx64, guid);
    if (alias_path(path, hca, port, "admin_guids", index, err) < 0 ||
        oneib_attribute_write(path, value, err) < 0 ||
        oneib_attribute_hex(path, UINT64_MAX, &after, err) < 0)
        return -1;
    snprintf(found, sizeof found, "%016" PRIx64, after);
    return after == guid ? 0 : still(path, found, value, err);
}

/*
 * Nothing may be left of an old GUID: neither the wish nor what the port answers to. A GUID that
 * the SM chose (0 was wished for) is one too.
 */
static bool is_gone(const struct alias *alias)
{
    return !oneib_guid_is_set(alias->wanted) && !oneib_guid_is_set(alias->shown);
}

static bool is_accepted(const struct alias *alias)
{
    return oneib_guid_is_set(alias->wanted) && alias->wanted == alias->shown;
}

/* What the SM has not agreed to yet is written again: the driver asks at once, and not only when
 * its pause, up to a minute, is over. */
static int set_guid(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                    oneib_guid guid, struct oneib_error *err)
{
    struct vf_ports ports;
    struct alias alias;
    if (list_ports(hca, vf, &ports, err) < 0 || check_port(&ports, port, err) < 0 ||
        read_alias(hca, vf, port, &alias, err) < 0)
        return -1;
    if (alias.wanted == guid && is_accepted(&alias))
        return 0;
    return write_alias(hca, port, alias.index, guid, err);
}

static int clear_port(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                      struct oneib_error *err)
{
    struct alias alias;
    if (read_alias(hca, vf, port, &alias, err) < 0)
        return -1;
    return is_gone(&alias) ? 0 : write_alias(hca, port, alias.index, ONEIB_GUID_ALL_ONES, err);
}

static int clear_guid(const struct oneib_hca *hca, const struct oneib_vf *vf,
                      struct oneib_error *err)
{
    struct oneib_vf_attempts attempts = {0};
    struct oneib_error failure;
    struct vf_ports ports;
    if (list_ports(hca, vf, &ports, err) < 0)
        return -1;
    for (size_t i = 0; i < ports.count; i++)
        oneib_vf_attempt(&attempts, clear_port(hca, vf, ports.infiniband[i], &failure), &failure);
    return oneib_vf_attempted(&attempts, err);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* What the maps of all ports say together. */
struct mapped {
    size_t elsewhere; /* entries that do not point to 0 */
    size_t unmapped;  /* of these: `none` */
    uint8_t port;     /* 0: no entry 0 has an index other than 0 */
    int32_t index;
};

static int read_map(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                    struct mapped *mapped, struct oneib_error *err)
{
    oneib_autoattributes struct oneib_attribute_table map;
    size_t count;
    if (open_whole_map(&map, hca, vf, port, &count, err) < 0)
        return -1;
    for (size_t entry = 0; entry < count; entry++) {
        int32_t index = UNMAPPED;
        if (read_entry(&map, entry, &index, err) < 0)
            return -1;
        mapped->elsewhere += index != 0;
        mapped->unmapped += index == UNMAPPED;
        if (entry == 0 && index > 0) {
            mapped->port = port;
            mapped->index = index;
        }
    }
    return 0;
}

static void note_maps(const struct mapped *mapped, struct oneib_vf_state *state)
{
    state->closed = mapped->elsewhere == 0;
    state->fresh = !state->closed && mapped->unmapped == mapped->elsewhere;
    if (mapped->elsewhere != 1 || mapped->port == 0)
        return;
    state->open_port = mapped->port;
    state->index = mapped->index;
}

/* The open port's GUID is what counts; of a closed VF the first one that there is. */
static void note_alias(const struct alias *alias, uint8_t port, struct oneib_vf_state *state)
{
    state->guid_gone &= is_gone(alias);
    state->guid_shown |= oneib_guid_is_set(alias->shown);
    if (!oneib_guid_is_set(alias->wanted) || (state->guid != 0 && port != state->open_port))
        return;
    state->guid = alias->wanted;
    state->guid_accepted = is_accepted(alias);
}

static int read_aliases(const struct oneib_hca *hca, const struct oneib_vf *vf,
                        const struct vf_ports *ports, struct oneib_vf_state *state,
                        struct oneib_error *err)
{
    struct alias alias;
    state->guid_gone = true;
    for (size_t i = 0; i < ports->count; i++) {
        if (read_alias(hca, vf, ports->infiniband[i], &alias, err) < 0)
            return -1;
        note_alias(&alias, ports->infiniband[i], state);
    }
    return 0;
}

/* Kernels before 3.16 have no such file, and let no VF do it. */
static int read_management(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                           bool *may_manage, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE];
    uint64_t enabled = 0;
    if (oneib_node_path(path, sizeof path, err,
                        ONEIB_CLASS_PATH "/%s/iov/%s/ports/%u/enable_smi_admin", hca->name,
                        vf->iov_directory, port) < 0)
        return -1;
    if (oneib_attribute_decimal(path, UINT32_MAX, &enabled, err) < 0)
        return err->code == ONEIB_ERROR_NOT_FOUND ? 0 : -1;
    *may_manage |= enabled != 0;
    return 0;
}

static int read_guid(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                     struct oneib_vf_state *state, struct oneib_error *err)
{
    struct vf_ports ports;
    state->open_port = port;
    return list_ports(hca, vf, &ports, err) < 0 ? -1 : read_aliases(hca, vf, &ports, state, err);
}

static int read_state(const struct oneib_hca *hca, const struct oneib_vf *vf,
                      struct oneib_vf_state *state, struct oneib_error *err)
{
    struct mapped mapped = {0};
    struct vf_ports ports;
    if (list_ports(hca, vf, &ports, err) < 0)
        return -1;
    state->ports = ports.all;
    state->has_ethernet = ports.has_ethernet;
    for (size_t i = 0; i < ports.count; i++)
        if (read_map(hca, vf, ports.infiniband[i], &mapped, err) < 0 ||
            read_management(hca, vf, ports.infiniband[i], &state->may_manage, err) < 0)
            return -1;
    note_maps(&mapped, state);
    return read_aliases(hca, vf, &ports, state, err);
}

/* Which alias is the VF's was looked up when its directory was found. */
static int glance_at_guid(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                          oneib_guid *guid, struct oneib_error *err)
{
    struct alias alias = {.index = vf->index + 1u};
    if (read_guids_of(hca, port, &alias, err) < 0)
        return -1;
    *guid = is_accepted(&alias) ? alias.shown : 0;
    return 0;
}

static int glance_at_map(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                         int32_t *index, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE], text[ONEIB_ATTRIBUTE_SIZE];
    if (oneib_node_path(path, sizeof path, err, ONEIB_CLASS_PATH "/%s/iov/%s/ports/%u/pkey_idx/0",
                        hca->name, vf->iov_directory, port) < 0 ||
        oneib_attribute_read(path, text, sizeof text, err) < 0)
        return -1;
    return parse_entry(path, text, index, err);
}

static int glance(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                  struct oneib_vf_glance *seen, struct oneib_error *err)
{
    if (glance_at_map(hca, vf, port, &seen->index, err) < 0 ||
        glance_at_guid(hca, vf, port, &seen->guid, err) < 0)
        return -1;
    seen->is_known = true;
    return 0;
}

static int check_openable(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                          uint16_t index, struct oneib_error *err)
{
    struct mapped mapped = {0};
    struct vf_ports ports;
    if (list_ports(hca, vf, &ports, err) < 0 || check_port(&ports, port, err) < 0)
        return -1;
    if (ports.has_ethernet)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "a port of it is Ethernet");
    if (index == 0)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "index 0 is the default partition's");
    for (size_t i = 0; i < ports.count; i++)
        if (read_map(hca, vf, ports.infiniband[i], &mapped, err) < 0)
            return -1;
    if (mapped.elsewhere > 0)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "%zu entries of its map are not closed",
                          mapped.elsewhere);
    return 0;
}

static int open_vf(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                   uint16_t index, struct oneib_error *err)
{
    oneib_autoattributes struct oneib_attribute_table map = {0};
    char value[8];
    struct oneib_error ignored;
    if (check_openable(hca, vf, port, index, err) < 0 || open_map(&map, hca, vf, port, err) < 0)
        return -1;
    snprintf(value, sizeof value, "%u", index);
    if (write_entry(&map, 0, value, err) == 0)
        return 0;
    /* Wherever it points to now is not where it should. */
    oneib_attribute_table_write(&map, 0, CLOSED, &ignored);
    return -1;
}

const struct oneib_vf_driver oneib_vf_mlx4 = {
    .read = read_state,
    .read_guid = read_guid,
    .glance = glance,
    .close = close_vf,
    .close_unassigned = close_unassigned,
    .open = open_vf,
    .set_guid = set_guid,
    .clear_guid = clear_guid,
};
