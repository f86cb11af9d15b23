// SPDX-License-Identifier: Apache-2.0
/* What `oneib check` finds out from the fabric and from the files. */
#include "base/cleanup.h"
#include "base/file.h"
#include "base/memory.h"
#include "ib/m_key.h"
#include "oneib/verb_check.h"
#include "sm/kind.h"
#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <string.h>
#include <unistd.h>

static const char sm_check[] = "subnet-manager";

#define KEYS_MAX_SIZE ((size_t)4 << 20)
#define PARTITIONS_MAX_SIZE ((size_t)256 << 20)

/* What the SM of this port is, where it does not lead, and which one does. */
static void tell_master(enum oneib_sm_state here, oneib_guid master, struct oneib_checks *checks)
{
    if (here == ONEIB_SM_STANDBY)
        oneib_check_add(checks, ONEIB_CHECK_OK, sm_check, NULL,
                        "standby, on this port: what oneib writes here counts once it is master; "
                        "the master is 0x%016" PRIx64,
                        master);
    else if (here == ONEIB_SM_NONE)
        oneib_check_add(checks, ONEIB_CHECK_WARN, sm_check,
                        "start opensm here, as the standby, or run oneib where the master is, and "
                        "name its port in fabric.ca and fabric.port",
                        "none on this port; the master is 0x%016" PRIx64
                        ": what oneib writes here does not reach the fabric",
                        master);
    else
        oneib_check_add(checks, ONEIB_CHECK_WARN, sm_check, "wait until it is master or standby",
                        "on this port, but not ready yet; the master is 0x%016" PRIx64, master);
}

static void check_subnet_manager(struct oneib_session *session, struct oneib_checks *checks)
{
    struct oneib_error err;
    enum oneib_sm_state here;
    oneib_guid master;

    if (oneib_sm_traits(session->config.sm.kind)->is_elsewhere)
        return; /* check_ufm.c */
    if (oneib_fabric_local_sm(session->fabric, &here, &err) < 0)
        oneib_check_add(checks, ONEIB_CHECK_FAIL, sm_check, "look at the port with ibstat(8)", "%s",
                        err.text);
    else if (here == ONEIB_SM_MASTER)
        oneib_check_add(checks, ONEIB_CHECK_OK, sm_check, NULL, "master, on this port");
    else if (oneib_fabric_find_master(session->fabric, &master, &err) == 0)
        tell_master(here, master, checks);
    else
        oneib_check_add_error(
            checks, ONEIB_CHECK_FAIL, sm_check,
            here == ONEIB_SM_NONE ? NULL : "look into opensm's log when this stays", &err);
}

static bool has_bad_key_file(const struct oneib_session *session)
{
    const char *path = session->config.fabric.m_key_file;
    oneib_autofree char *text = NULL;
    oneib_auto(oneib_m_keys_clear) struct oneib_m_keys keys = {0};
    struct oneib_error ignored;
    size_t length;
    if (!path)
        return false;
    if (oneib_file_read(path, KEYS_MAX_SIZE, &text, &length, &ignored) < 0)
        return true;
    const bool is_bad = oneib_m_keys_parse(text, length, &keys, &ignored) < 0;
    explicit_bzero(text, length);
    return is_bad;
}

void oneib_check_fabric(struct oneib_session *session, struct oneib_checks *checks)
{
    struct oneib_error err;
    if (oneib_session_open_fabric(session, &err) < 0) {
        oneib_check_add(
            checks, ONEIB_CHECK_FAIL, "port",
            has_bad_key_file(session)
                ? "have it readable, with one M_Key or opensm's guid2mkey in it ('oneib keys' "
                  "makes them)"
                : "load ib_umad, run as root, and name an active InfiniBand port in fabric.ca and "
                  "fabric.port",
            "%s", err.text);
        return;
    }
    char guid[ONEIB_GUID_TEXT_SIZE];
    oneib_guid_format(oneib_fabric_port_guid(session->fabric), guid);
    oneib_check_add(checks, ONEIB_CHECK_OK, "port", NULL, "%s", guid);
    check_subnet_manager(session, checks);
}

/* The file is replaced by renaming: its directory must be writable. */
static void check_directory(const char *path, struct oneib_checks *checks)
{
    oneib_autofree char *copy = oneib_strdup(path);
    const char *directory = dirname(copy);
    if (access(directory, F_OK) < 0)
        oneib_check_add(checks, ONEIB_CHECK_WARN, "partitions",
                        "make the directory, for opensm to read and for root to write", "%s: %s",
                        directory, strerror(errno));
    else if (access(directory, W_OK | X_OK) < 0)
        oneib_check_add(checks, ONEIB_CHECK_WARN, "partitions",
                        "run 'oneib sync' as a user who may write there",
                        "%s cannot be written by this user", directory);
}

static void check_content(const char *path, const char *data, size_t length,
                          struct oneib_checks *checks)
{
    static const char name[] = "partitions";
    struct oneib_error err;
    oneib_autopartitions struct oneib_partition_table table = {0};

    if (oneib_partitions_parse(data, length, path, &table, &err) < 0)
        oneib_check_add(
            checks, ONEIB_CHECK_FAIL, name,
            "where opensm cannot parse it either, every port is a full member of the default "
            "partition: repair it, or replace it with 'oneib sync --force'",
            "%s", err.text);
    else if (oneib_partitions_is_ours(data, length))
        oneib_check_add(checks, ONEIB_CHECK_OK, name, NULL, "%s, written by oneib", path);
    else
        oneib_check_add(checks, ONEIB_CHECK_WARN, name,
                        "look at 'oneib plan', move what must stay to the static partitions, then "
                        "take the file over with 'oneib sync --force'",
                        "%s was not written by oneib", path);
}

static void check_partitions(const char *path, struct oneib_checks *checks)
{
    struct oneib_error err;
    oneib_autofree char *data = NULL;
    size_t length;
    if (oneib_file_read(path, PARTITIONS_MAX_SIZE, &data, &length, &err) == 0)
        check_content(path, data, length, checks);
    else if (err.code == ONEIB_ERROR_NOT_FOUND)
        oneib_check_add(
            checks, ONEIB_CHECK_WARN, "partitions",
            "without it opensm makes everybody a full member of the default partition: run "
            "'oneib sync'",
            "%s is absent", path);
    else
        oneib_check_add(checks, ONEIB_CHECK_FAIL, "partitions", NULL, "%s", err.text);
    check_directory(path, checks);
}

static void check_static_partitions(const struct oneib_config *config, struct oneib_checks *checks)
{
    const char *path = config->opensm.static_partitions;
    static const char name[] = "static_partitions";
    struct oneib_error err;
    oneib_autofree char *data = NULL;
    size_t length;
    oneib_autopartitions struct oneib_partition_table table = {0};

    if (oneib_file_read(path, PARTITIONS_MAX_SIZE, &data, &length, &err) < 0) {
        if (err.code == ONEIB_ERROR_NOT_FOUND)
            oneib_check_add(checks, ONEIB_CHECK_OK, name, NULL, "%s is absent: none", path);
        else
            oneib_check_add(checks, ONEIB_CHECK_FAIL, name, NULL, "%s", err.text);
        return;
    }
    if (oneib_partitions_parse(data, length, path, &table, &err) < 0 ||
        oneib_static_partitions_judge(&table, config->site,
                                      oneib_sm_traits(config->sm.kind)->rate_max, &err) < 0)
        oneib_check_add(
            checks, ONEIB_CHECK_FAIL, name,
            "correct it: until then plan, sync and oneibd refuse it, and change nothing", "%s",
            err.text);
    else
        oneib_check_add(checks, ONEIB_CHECK_OK, name, NULL, "%s, %zu partition%s", path,
                        table.count, table.count == 1 ? "" : "s");
}

void oneib_check_files(const struct oneib_config *config, struct oneib_checks *checks)
{
    if (!oneib_sm_traits(config->sm.kind)->is_elsewhere)
        check_partitions(config->opensm.partitions, checks);
    check_static_partitions(config, checks);
}
