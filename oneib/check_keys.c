// SPDX-License-Identifier: Apache-2.0
/* What `oneib check` finds out about the keys of the management plane (docs/operator-keys.md). No
 * key is ever printed. */
#include "base/cleanup.h"
#include "base/file.h"
#include "base/memory.h"
#include "fabric/opensm_process.h"
#include "oneib/verb_check.h"
#include "partitions/opensm_keys.h"
#include "sm/kind.h"
#include <grp.h>
#include <libgen.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONFIG_MAX ((size_t)1 << 20)
#define LIST_MAX ((size_t)4 << 20)
#define LIST_NAME "guid2mkey"
#define ONEIB_USER "oneib" /* of oneibd (share/systemd/oneibd.service) */
#define PAGE "'oneib keys' makes them, and says in which order"

static const char m_key_check[] = "m-key";
static const char sa_key_check[] = "sa-key";
static const char sm_key_check[] = "sm-key";
static const char lease_check[] = "m-key-lease";
static const char config_check[] = "opensm-config";
static const char own_file_check[] = "m-key-file";
static const char ports_check[] = "m-key-ports";
static const char virtual_check[] = "opensm-virtual-ports";

/* ---- what opensm is told --------------------------------------------------------------------- */

/* What is said of an option: one bit of what is wrong. */
struct warning {
    unsigned trap;
    enum oneib_check_status status;
    const char *name, *text, *fix;
};

static const struct warning key_warnings[] = {
    {ONEIB_TRAP_NO_M_KEY, ONEIB_CHECK_WARN, m_key_check,
     "opensm gives ports no M_Key: anything that can send an SMP can set their P_Keys", PAGE},
    {ONEIB_TRAP_LEVEL, ONEIB_CHECK_WARN, m_key_check,
     "at m_key_protection_level 0 every port shows its M_Key",
     "set m_key_protection_level 2 in opensm.conf, and fabric.m_key_file in oneib.conf before"},
    {ONEIB_TRAP_SA_KEY, ONEIB_CHECK_WARN, sa_key_check,
     "sa_key is opensm's default, or 0: the SA gives every guest the M_Key and all P_Key tables",
     PAGE},
    {ONEIB_TRAP_SM_KEY, ONEIB_CHECK_WARN, sm_key_check,
     "sm_key is opensm's default, or 0: a foreign subnet manager counts as one of yours", PAGE},
    {ONEIB_TRAP_NO_LEASE, ONEIB_CHECK_WARN, lease_check,
     "m_key_lease_period is 0: a subnet manager that lost the M_Key never gets a port back until "
     "the port has lost its power",
     "set m_key_lease_period 600 in opensm.conf"},
    {ONEIB_TRAP_LEASE_SWEEP, ONEIB_CHECK_WARN, lease_check,
     "m_key_lease_period is not longer than sweep_interval: the protection ends between two sweeps",
     "set m_key_lease_period 600 in opensm.conf"},
    {ONEIB_TRAP_LEASE_VERIFY, ONEIB_CHECK_WARN, lease_check,
     "m_key_lease_period is not longer than daemon.verify: opensm's light sweeps ask switches "
     "alone, so it is oneibd that keeps the lease of hosts from ending",
     "set m_key_lease_period 600 in opensm.conf, or daemon.verify lower"},
    {ONEIB_TRAP_ONE_KEY, ONEIB_CHECK_WARN, m_key_check,
     "this subnet manager could give each port an M_Key of its own (m_key_per_port)",
     "set m_key_per_port TRUE, and fabric.m_key_file to its guid2mkey"},
};

static void tell_warnings(const struct warning *warnings, size_t count, unsigned traps,
                          struct oneib_checks *checks)
{
    for (size_t i = 0; i < count; i++)
        if (traps & warnings[i].trap)
            oneib_check_add(checks, warnings[i].status, warnings[i].name, warnings[i].fix, "%s",
                            warnings[i].text);
}

static void tell_traps(const struct oneib_opensm_keys *keys, unsigned traps,
                       struct oneib_checks *checks)
{
    tell_warnings(key_warnings, sizeof key_warnings / sizeof *key_warnings, traps, checks);
    if (traps == 0)
        oneib_check_add(checks, ONEIB_CHECK_OK, m_key_check, NULL,
                        "set, at protection level %u, lease %u s; sa_key and sm_key are secret",
                        keys->level, keys->lease_s);
}

static const struct warning apart_warnings[] = {
    {ONEIB_TRAP_GROUPS, ONEIB_CHECK_WARN, config_check,
     "ipoib_mcgroup_creation_validation is not TRUE: a guest may make IPoIB's multicast groups of "
     "clusters that it is not in, which these cannot join then",
     "set ipoib_mcgroup_creation_validation TRUE in opensm.conf"},
    {ONEIB_TRAP_UNENFORCED, ONEIB_CHECK_WARN, config_check,
     "with this part_enforce switches take packets with any P_Key from a host: root there can send "
     "into every cluster",
     "set part_enforce both and no_partition_enforcement FALSE in opensm.conf"},
};

static void tell_apart_traps(const struct oneib_opensm_keys *keys, struct oneib_checks *checks)
{
    tell_warnings(apart_warnings, sizeof apart_warnings / sizeof *apart_warnings,
                  oneib_opensm_apart_traps(keys), checks);
}

/* What virtual ports need of an SM that has them. */
static const struct warning virtual_warnings[] = {
    {ONEIB_TRAP_VIRT_OFF, ONEIB_CHECK_FAIL, virtual_check,
     "virt_enabled is not 2: VFs of ConnectX-4 and later get no P_Key",
     "set virt_enabled 2 in opensm.conf and start opensm anew"},
    {ONEIB_TRAP_GUIDS_BY_VF, ONEIB_CHECK_WARN, virtual_check,
     "sa_etm_allow_guidinfo_rec_by_vf is not FALSE: a guest may set GUIDs of its VF, and be "
     "another one",
     "set sa_etm_allow_guidinfo_rec_by_vf FALSE in opensm.conf"},
    {ONEIB_TRAP_NO_TRUST, ONEIB_CHECK_WARN, virtual_check,
     "sa_enhanced_trust_model is not TRUE: nothing keeps guests from setting GUIDs of their VFs",
     "set sa_enhanced_trust_model TRUE and sa_etm_allow_guidinfo_rec_by_vf FALSE in opensm.conf"},
    {ONEIB_TRAP_PROXIES, ONEIB_CHECK_WARN, virtual_check,
     "sa_etm_allow_untrusted_proxy_requests is not FALSE: a guest may change what another one has "
     "registered, its multicast groups say",
     "set sa_etm_allow_untrusted_proxy_requests FALSE in opensm.conf"},
    {ONEIB_TRAP_SPOOFED, ONEIB_CHECK_WARN, virtual_check,
     "sa_check_sgid_spoofing is not TRUE: a guest may ask the subnet administrator in another "
     "one's name",
     "set sa_check_sgid_spoofing TRUE in opensm.conf"},
    {ONEIB_TRAP_HUP, ONEIB_CHECK_WARN, virtual_check,
     "sweep_every_hup_signal is not TRUE: opensm may not look at partitions when oneib signals it",
     "set sweep_every_hup_signal TRUE in opensm.conf"},
};

static void tell_virtual_traps(const struct oneib_opensm_keys *keys, struct oneib_checks *checks)
{
    const unsigned traps = oneib_opensm_virtual_traps(keys);
    tell_warnings(virtual_warnings, sizeof virtual_warnings / sizeof *virtual_warnings, traps,
                  checks);
    if (traps == 0)
        oneib_check_add(checks, ONEIB_CHECK_OK, virtual_check, NULL,
                        "opensm has them on, and VFs may not set GUIDs; what ports hold is not "
                        "verified");
}

/* Its configuration is out of reach: it is told by a command, does not run, or is another user's.
 */
static void tell_virtual_unseen(const struct oneib_config *config, struct oneib_checks *checks)
{
    if (oneib_sm_traits(config->sm.kind)->virtual_ports)
        oneib_check_add(checks, ONEIB_CHECK_WARN, virtual_check,
                        "run this as root where opensm runs; where opensm.reload is \"command\", "
                        "look yourself for virt_enabled 2, sa_enhanced_trust_model TRUE and "
                        "sa_etm_allow_guidinfo_rec_by_vf FALSE",
                        "opensm's configuration cannot be seen: whether it has virtual ports on, "
                        "and whether guests may set GUIDs, is not known");
}

/* root's, and oneibd's. */
static bool is_own_group(gid_t group)
{
    const struct group *oneib = getgrnam(ONEIB_USER);
    return group == 0 || (oneib && group == oneib->gr_gid);
}

/* Who, beside its owner, can read the file and should not: by its mode, and that of its directory.
 * NULL: nobody. */
static const char *who_can_read(const char *path, const char *directory)
{
    struct stat file, above;
    if (stat(path, &file) < 0 || (directory && stat(directory, &above) < 0))
        return NULL;
    if ((file.st_mode & S_IROTH) && (!directory || (above.st_mode & S_IXOTH)))
        return "everybody on this machine";
    if ((file.st_mode & S_IRGRP) && (!directory || (above.st_mode & S_IXGRP)) &&
        !is_own_group(file.st_gid))
        return "its group";
    return NULL;
}

/* root's, whoever runs this, and oneibd's: they have the keys anyway. */
static bool is_ones_own(uid_t owner)
{
    const struct passwd *oneib = getpwnam(ONEIB_USER);
    return owner == 0 || owner == geteuid() || (oneib && owner == oneib->pw_uid);
}

/* Who owns the file can read it, and who can write to its directory puts another one in its place.
 */
static void check_owner(const char *check, const char *path, struct oneib_checks *checks)
{
    oneib_autofree char *copy = oneib_strdup(path);
    struct stat file, above;
    if (stat(path, &file) < 0)
        return;
    if (!is_ones_own(file.st_uid))
        oneib_check_add(checks, ONEIB_CHECK_WARN, check,
                        "chown it to who reads it, and make new keys",
                        "another user (uid %u) owns %s", (unsigned)file.st_uid, path);
    if (stat(dirname(copy), &above) < 0)
        return;
    const bool is_open = (above.st_mode & (S_IWGRP | S_IWOTH)) && !(above.st_mode & S_ISVTX);
    if (is_open || !is_ones_own(above.st_uid))
        oneib_check_add(checks, ONEIB_CHECK_WARN, check,
                        "have root own the directory, and chmod go-w it",
                        "others than root can put another file in the place of %s", path);
}

/* False: nothing can be said of what opensm has. */
static bool read_options(const struct oneib_opensm_setup *setup, struct oneib_opensm_keys *keys,
                         struct oneib_checks *checks)
{
    struct oneib_error err;
    oneib_autofree char *text = NULL;
    size_t length;
    oneib_opensm_keys_defaults(keys);
    if (oneib_file_read(setup->config, CONFIG_MAX, &text, &length, &err) == 0) {
        oneib_opensm_keys_read(text, length, keys);
        explicit_bzero(text, length);
    } else if (err.code == ONEIB_ERROR_NOT_FOUND) {
        oneib_check_add(checks, ONEIB_CHECK_WARN, config_check,
                        "make it, readable by root alone, and start opensm anew: one that started "
                        "without reads none at SIGHUP",
                        "opensm has no configuration (%s): it has no secret key", setup->config);
    } else {
        oneib_check_add(checks, ONEIB_CHECK_WARN, config_check, "run this as root", "%s", err.text);
        return false;
    }
    if (setup->sm_key)
        keys->sm_key = strtoull(setup->sm_key, NULL, 16);
    return true;
}

static bool holds_secrets(const struct oneib_opensm_keys *keys)
{
    const unsigned traps = oneib_opensm_key_traps(keys, 0);
    return !(traps & ONEIB_TRAP_NO_M_KEY) || !(traps & ONEIB_TRAP_SA_KEY);
}

static void check_modes(const struct oneib_opensm_setup *setup, const char *list,
                        const struct oneib_opensm_keys *keys, struct oneib_checks *checks)
{
    if (!holds_secrets(keys))
        return;
    const char *who = who_can_read(setup->config, NULL);
    if (who)
        oneib_check_add(checks, ONEIB_CHECK_WARN, config_check, "chmod 600 it",
                        "%s can read the keys in %s", who, setup->config);
    who = who_can_read(list, setup->cache);
    if (who)
        oneib_check_add(
            checks, ONEIB_CHECK_WARN, LIST_NAME,
            "chmod 700 its directory: opensm makes the file anew, for all to read, after "
            "each sweep",
            "%s can read the M_Keys in %s", who, list);
    check_owner(LIST_NAME, list, checks);
}

/* ---- what a standby remembers ---------------------------------------------------------------- */

/* opensm reads its list when it starts, and asks each port with the key that stands there. */
static void check_memory(const char *path, oneib_m_key m_key, struct oneib_checks *checks)
{
    struct oneib_error err;
    oneib_auto(oneib_m_keys_clear) struct oneib_m_keys list = {0};
    oneib_autofree char *text = NULL;
    size_t length;
    if (oneib_file_read(path, LIST_MAX, &text, &length, &err) < 0) {
        if (err.code != ONEIB_ERROR_NOT_FOUND)
            oneib_check_add(checks, ONEIB_CHECK_WARN, LIST_NAME, "run this as root", "%s",
                            err.text);
        return;
    }
    if (oneib_m_keys_parse(text, length, &list, &err) < 0) {
        oneib_check_add(checks, ONEIB_CHECK_WARN, LIST_NAME,
                        "stop this opensm, remove the file, start it", "%s: %s", path, err.text);
        return;
    }
    if (oneib_m_keys_differ(&list, m_key))
        oneib_check_add(checks, ONEIB_CHECK_FAIL, LIST_NAME,
                        "stop this opensm, remove the file, start it",
                        "this opensm, which is not the master, remembers other M_Keys than its "
                        "m_key (%s): it cannot take over",
                        path);
    explicit_bzero(text, length);
}

/* One that cannot reach the ports for its old keys does not come as far as standby. */
static bool is_not_master(struct oneib_session *session)
{
    struct oneib_error ignored;
    enum oneib_sm_state state;
    return session->fabric && oneib_fabric_local_sm(session->fabric, &state, &ignored) == 0 &&
           state != ONEIB_SM_MASTER;
}

static void check_opensms(struct oneib_session *session, const struct oneib_opensm_setup *setup,
                          struct oneib_opensm_keys *keys, struct oneib_checks *checks)
{
    if (!read_options(setup, keys, checks)) {
        tell_virtual_unseen(&session->config, checks);
        return;
    }
    if (oneib_sm_traits(session->config.sm.kind)->virtual_ports)
        tell_virtual_traps(keys, checks);
    tell_traps(keys, oneib_opensm_key_traps(keys, session->config.daemon.verify_ms / 1000), checks);
    tell_apart_traps(keys, checks);
    oneib_autofree char *list = oneib_asprintf("%s/" LIST_NAME, setup->cache);
    check_modes(setup, list, keys, checks);
    if (is_not_master(session) && !keys->per_port)
        check_memory(list, keys->m_key, checks);
}

/* ---- what oneib has, and what ports have ----------------------------------------------------- */

static void check_own_file(const struct oneib_config *config, struct oneib_checks *checks)
{
    const char *path = config->fabric.m_key_file;
    const char *who = who_can_read(path, NULL);
    if (who)
        oneib_check_add(checks, ONEIB_CHECK_WARN, own_file_check,
                        "give it to oneib's user, and chmod 400 it", "%s can read the M_Keys in %s",
                        who, path);
    check_owner(own_file_check, path, checks);
}

static void tell_ports(size_t all, const size_t *counts, struct oneib_checks *checks)
{
    const size_t first = counts[ONEIB_M_KEY_FIRST];
    if (first == all)
        oneib_check_add(checks, ONEIB_CHECK_OK, ports_check, NULL,
                        "all %zu have the first M_Key of fabric.m_key_file", all);
    else
        oneib_check_add(checks, ONEIB_CHECK_WARN, ports_check,
                        "wait for opensm's sweep; if it stays, compare m_key of opensm.conf with "
                        "fabric.m_key_file",
                        "%zu of %zu have the first M_Key of fabric.m_key_file, %zu another, %zu "
                        "none, %zu say nothing",
                        first, all, counts[ONEIB_M_KEY_OTHER], counts[ONEIB_M_KEY_NONE],
                        counts[ONEIB_M_KEY_UNKNOWN]);
}

static void check_ports(struct oneib_session *session, struct oneib_checks *checks)
{
    struct oneib_error err;
    oneib_auto(oneib_subnet_clear) struct oneib_subnet subnet = {0};
    size_t counts[ONEIB_M_KEY_OTHER + 1] = {0};
    if (oneib_fabric_read(session->fabric, &subnet, &err) < 0) {
        oneib_check_add(checks, ONEIB_CHECK_WARN, ports_check, NULL, "%s", err.text);
        return;
    }
    for (size_t i = 0; i < subnet.port_count; i++)
        counts[subnet.ports[i].m_key]++;
    tell_ports(subnet.port_count, counts, checks);
}

static void check_oneibs(struct oneib_session *session, const struct oneib_opensm_keys *keys,
                         struct oneib_checks *checks)
{
    if (session->config.fabric.m_key_file) {
        check_own_file(&session->config, checks);
        if (session->fabric)
            check_ports(session, checks);
    } else if (keys->level > 1 && (keys->m_key || keys->per_port)) {
        oneib_check_add(checks, ONEIB_CHECK_FAIL, own_file_check,
                        "set fabric.m_key_file to a file with the M_Key",
                        "at m_key_protection_level %u no port answers oneib, which has no M_Key",
                        keys->level);
    }
}

void oneib_check_keys(struct oneib_session *session, struct oneib_checks *checks)
{
    oneib_autosetup struct oneib_opensm_setup setup = {0};
    struct oneib_opensm_keys keys;
    oneib_opensm_keys_defaults(&keys);
    if (!oneib_sm_traits(session->config.sm.kind)->is_elsewhere) {
        if (oneib_opensm_setup_find(&session->config, &setup))
            check_opensms(session, &setup, &keys, checks);
        else
            tell_virtual_unseen(&session->config, checks);
    }
    check_oneibs(session, &keys, checks);
    explicit_bzero(&keys, sizeof keys);
}
