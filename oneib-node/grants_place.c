// SPDX-License-Identifier: Apache-2.0
#include "oneib-node/grants_place.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/number.h"
#include "hca/attribute.h"
#include "hca/place.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_SIZE 1024
#define FILE_MAX 16384
#define MACHINE_ID_LENGTH 32
#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"

/* ---- directories and files ------------------------------------------------------------------- */

/* systemd makes the directory (StateDirectory=) before the service gives up its privileges. */
static int make_directory(const char *of, struct oneib_error *err)
{
    char path[PATH_SIZE];
    if (oneib_node_path(path, sizeof path, err, "%s", of) < 0)
        return -1;
    *strrchr(path, '/') = '\0';
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return oneib_fail_errno(err, errno, "making the directory %s", path);
    return 0;
}

static int write_file(const char *of, const char *data, size_t length, mode_t mode,
                      struct oneib_error *err)
{
    char path[PATH_SIZE];
    if (oneib_node_path(path, sizeof path, err, "%s", of) < 0)
        return -1;
    return oneib_file_replace(path, data, length, mode, NULL, NULL, err);
}

/* ---- the node's key -------------------------------------------------------------------------- */

static int read_machine_id(char id[MACHINE_ID_LENGTH + 1], struct oneib_error *err)
{
    char path[PATH_SIZE];
    oneib_autofree char *data = NULL;
    size_t length = 0;
    if (oneib_node_path(path, sizeof path, err, "/etc/machine-id") < 0 ||
        oneib_file_read(path, FILE_MAX, &data, &length, err) < 0)
        return -1;
    if (length < MACHINE_ID_LENGTH)
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "%s has no machine id: 'systemd-machine-id-setup' makes one", path);
    memcpy(id, data, MACHINE_ID_LENGTH);
    id[MACHINE_ID_LENGTH] = '\0';
    return 0;
}

/* A simulated node need not have one: it is on no image that could be cloned. */
static int find_machine_id(char id[MACHINE_ID_LENGTH + 1], struct oneib_error *err)
{
    if (read_machine_id(id, err) == 0)
        return 0;
    if (err->code != ONEIB_ERROR_NOT_FOUND || !oneib_node_is_simulated())
        return -1;
    memset(id, '1', MACHINE_ID_LENGTH);
    id[MACHINE_ID_LENGTH] = '\0';
    return 0;
}

static int write_public(const struct oneib_curve_pair *pair, struct oneib_error *err)
{
    char text[ONEIB_KEY_TEXT_SIZE + 1];
    oneib_key_format(pair->public, text);
    strcat(text, "\n");
    return write_file(ONEIB_NODE_PUBLIC_FILE, text, strlen(text), 0644, err);
}

int oneib_grants_read_pair(struct oneib_curve_pair *pair, struct oneib_error *err)
{
    char path[PATH_SIZE], id[MACHINE_ID_LENGTH + 1];
    bool made;
    if (make_directory(ONEIB_NODE_KEY_FILE, err) < 0 || find_machine_id(id, err) < 0 ||
        oneib_node_path(path, sizeof path, err, ONEIB_NODE_KEY_FILE) < 0 ||
        oneib_node_pair(path, id, pair, &made, err) < 0 || write_public(pair, err) < 0)
        return oneib_wrap(err, "this host's key");
    return 0;
}

/* ---- daemons --------------------------------------------------------------------------------- */

int oneib_grants_read_daemons(struct oneib_daemons *daemons, struct oneib_error *err)
{
    char path[PATH_SIZE];
    oneib_autofree char *data = NULL;
    size_t length = 0;
    struct oneib_error why = {0};
    *daemons = (struct oneib_daemons){0};
    if (oneib_node_path(path, sizeof path, err, ONEIB_DAEMONS_FILE) < 0)
        return -1;
    if (oneib_file_read(path, FILE_MAX, &data, &length, &why) == 0)
        return oneib_daemons_parse(data, length, path, daemons, err);
    if (why.code == ONEIB_ERROR_NOT_FOUND)
        return 0;
    *err = why;
    return -1;
}

int oneib_grants_write_daemons(const struct oneib_daemons *daemons, struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    oneib_daemons_render(daemons, &text);
    return make_directory(ONEIB_DAEMONS_FILE, err) < 0
               ? -1
               : write_file(ONEIB_DAEMONS_FILE, text.data, text.length, 0600, err);
}

/* ---- the kernel's ---------------------------------------------------------------------------- */

/* "xxxxxxxx-xxxx-..." */
void oneib_grants_read_boot(uint8_t boot[ONEIB_NONCE_SIZE])
{
    char text[ONEIB_ATTRIBUTE_SIZE] = "";
    struct oneib_error unread;
    size_t digits = 0;
    memset(boot, 0, ONEIB_NONCE_SIZE);
    if (oneib_attribute_read(BOOT_ID_PATH, text, sizeof text, &unread) < 0)
        return;
    for (const char *at = text; *at && digits < 2 * ONEIB_NONCE_SIZE; at++) {
        const unsigned digit = oneib_hex_digit(*at);
        if (digit > 15)
            continue;
        boot[digits / 2] = (uint8_t)(boot[digits / 2] << 4 | digit);
        digits++;
    }
}

/* "4: ACTIVE"; "0x1". */
static bool read_lid(const char *hca, const char *port, uint16_t *lid)
{
    char path[PATH_SIZE], state[ONEIB_ATTRIBUTE_SIZE];
    struct oneib_error unread;
    uint64_t value;
    if (oneib_node_path(path, sizeof path, &unread, "/sys/class/infiniband/%s/ports/%s/state", hca,
                        port) < 0 ||
        oneib_attribute_read(path, state, sizeof state, &unread) < 0 ||
        strncmp(state, "4:", 2) != 0 ||
        oneib_node_path(path, sizeof path, &unread, "/sys/class/infiniband/%s/ports/%s/sm_lid", hca,
                        port) < 0 ||
        oneib_attribute_hex(path, UINT16_MAX, &value, &unread) < 0 || value == 0)
        return false;
    *lid = (uint16_t)value;
    return true;
}

static void add_lids_of(const char *hca, uint16_t lids[ONEIB_GRANTS_LIDS_MAX], size_t *count)
{
    char path[PATH_SIZE];
    struct oneib_error unread;
    oneib_autofree char **ports = NULL;
    size_t port_count = 0;
    if (oneib_node_path(path, sizeof path, &unread, "/sys/class/infiniband/%s/ports", hca) < 0 ||
        oneib_attribute_list(path, &ports, &port_count, &unread) < 0)
        return;
    for (size_t i = 0; i < port_count && *count < ONEIB_GRANTS_LIDS_MAX; i++)
        *count += read_lid(hca, ports[i], &lids[*count]);
}

size_t oneib_grants_read_lids(uint16_t lids[ONEIB_GRANTS_LIDS_MAX])
{
    char path[PATH_SIZE];
    struct oneib_error unread;
    oneib_autofree char **names = NULL;
    size_t name_count = 0, count = 0;
    if (oneib_node_path(path, sizeof path, &unread, "/sys/class/infiniband") < 0 ||
        oneib_attribute_list(path, &names, &name_count, &unread) < 0)
        return 0;
    for (size_t i = 0; i < name_count; i++)
        add_lids_of(names[i], lids, &count);
    return count;
}
