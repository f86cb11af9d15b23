// SPDX-License-Identifier: Apache-2.0
/* What `oneib check` finds out from oned. */
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/number.h"
#include "cluster/names.h"
#include "fabric/opensm_process.h"
#include "oneib/host_pick.h"
#include "oneib/print.h"
#include "oneib/verb_check.h"
#include "opennebula/placer.h"
#include "opennebula/restrictions.h"
#include "sm/kind.h"
#include <string.h>

static const char placement[] = "placement";

/* Releases whose documents and calls are known: 6.10 and all of 7. */
static bool is_known_version(const char *version)
{
    uint64_t major, minor;
    const size_t major_length = strcspn(version, ".");
    if (!oneib_parse_decimal_n(version, major_length, 99, &major) || version[major_length] != '.')
        return false;
    const char *rest = version + major_length + 1;
    if (!oneib_parse_decimal_n(rest, strcspn(rest, "."), 99, &minor))
        return false;
    return major == 7 || (major == 6 && minor >= 10);
}

static bool check_credentials(struct oneib_session *session, struct oneib_checks *checks)
{
    struct oneib_error err;
    if (oneib_session_open_one(session, &err) == 0) {
        oneib_check_add(checks, ONEIB_CHECK_OK, "credentials", NULL, "found, for %s",
                        session->credentials.endpoint);
        return true;
    }
    oneib_check_add(checks, ONEIB_CHECK_FAIL, "credentials", NULL, "%s", err.text);
    return false;
}

static bool check_version(struct oneib_session *session, struct oneib_checks *checks)
{
    struct oneib_error err;
    oneib_autofree char *version = NULL;
    if (oneib_one_system_version(session->one, &version, &err) < 0) {
        if (err.code == ONEIB_ERROR_AUTH)
            oneib_check_add(checks, ONEIB_CHECK_FAIL, "oned",
                            "put the password that oned knows into the session file", "%s",
                            err.text);
        else
            oneib_check_add_error(checks, ONEIB_CHECK_FAIL, "oned", NULL, &err);
        return false;
    }
    if (is_known_version(version))
        oneib_check_add(checks, ONEIB_CHECK_OK, "oned", NULL, "OpenNebula %s", version);
    else
        oneib_check_add(checks, ONEIB_CHECK_WARN, "oned",
                        "oneib knows OpenNebula 6.10 and 7; try others on a test system first",
                        "OpenNebula %s", version);
    return true;
}

/* oned leaves out of its answers what a user may not see. */
static void check_visibility(struct oneib_session *session, struct oneib_checks *checks)
{
    static const char name[] = "user";
    struct oneib_error err;
    bool sees_all = false;
    if (oneib_one_is_administrator(session->one, &sees_all, &err) < 0)
        oneib_check_add(checks, ONEIB_CHECK_FAIL, name, NULL, "%s", err.text);
    else if (sees_all)
        oneib_check_add(checks, ONEIB_CHECK_OK, name, NULL,
                        "a member of OpenNebula's group oneadmin, who sees every VM");
    else if (session->config.one.acl_user)
        oneib_check_add(checks, ONEIB_CHECK_OK, name, NULL,
                        "no member of OpenNebula's group oneadmin; one.acl_user says that it has "
                        "USE rights on all VMs, hosts and networks");
    else
        oneib_check_add(checks, ONEIB_CHECK_FAIL, name,
                        "make it a member of the group oneadmin, or give it USE rights on all VMs, "
                        "hosts and networks by ACL and set one.acl_user = true",
                        "no member of OpenNebula's group oneadmin: oned may hide VMs from it");
}

static void check_restrictions(const char *xml, size_t length, struct oneib_checks *checks)
{
    static const char name[] = "restrictions";
    struct oneib_error err;
    size_t missing;
    oneib_autotext struct oneib_text fix = {0};

    oneib_text_append(&fix, "add to /etc/one/oned.conf and restart oned:\n");
    if (oneib_restrictions_missing(xml, length, &fix, &missing, &err) < 0)
        oneib_check_add(checks, ONEIB_CHECK_WARN, name, NULL, "%s", err.text);
    else if (missing > 0)
        oneib_check_add(
            checks, ONEIB_CHECK_WARN, name, fix.data,
            "%zu attributes by which tenants could choose whom they share a partition with "
            "are not restricted",
            missing);
    else
        oneib_check_add(checks, ONEIB_CHECK_OK, name, NULL,
                        "tenants cannot set P_Keys or IB_* attributes");
}

/* shown: the placer that the first SCHED_MAD names. */
static void tell_late_ib(const struct oneib_text *shown, struct oneib_checks *checks)
{
    oneib_check_add(checks, ONEIB_CHECK_WARN, placement,
                    "take that SCHED_MAD out of oned.conf, run install.sh --frontend --scheduler "
                    "or put it in front of all others, and restart oned",
                    "OpenNebula's scheduler asks the placer \"%s\": a SCHED_MAD that names \"ib\" "
                    "stands behind another in oned.conf, and oned takes the first one",
                    shown->data ? shown->data : "");
}

/* ---- OpenNebula 7's placer -------------------------------------------------------------------- */

/* Either will do: an operator is told which it is. */
static void check_placer(const char *xml, size_t length, struct oneib_checks *checks)
{
    struct oneib_error err;
    struct oneib_placer placer;
    oneib_autotext struct oneib_text shown = {0};
    if (oneib_placer_of(xml, length, &placer, &err) < 0)
        oneib_check_add(checks, ONEIB_CHECK_WARN, placement, NULL, "%s", err.text);
    else if (strcmp(placer.name, "ib") == 0)
        oneib_check_add(checks, ONEIB_CHECK_OK, placement, NULL,
                        "OpenNebula's scheduler asks the placer \"ib\": VMs of a cluster come near "
                        "each other");
    else if (placer.name[0]) {
        oneib_text_append_escaped(&shown, placer.name, ONEIB_PLACER_SIZE);
        if (placer.has_late_ib) {
            tell_late_ib(&shown, checks);
            return;
        }
        oneib_check_add(checks, ONEIB_CHECK_OK, placement, NULL,
                        "OpenNebula's scheduler asks the placer \"%s\", which does not look where "
                        "a cluster is (docs/operator-placement.md)",
                        shown.data ? shown.data : "");
    } else {
        oneib_check_add(checks, ONEIB_CHECK_OK, placement, NULL,
                        "OpenNebula places VMs by itself: the placer \"ib\" needs OpenNebula 7");
    }
}

static void check_configuration(struct oneib_session *session, struct oneib_checks *checks)
{
    struct oneib_error err;
    oneib_autofree char *xml = NULL;
    size_t length;
    if (oneib_one_system_config(session->one, &xml, &length, &err) < 0) {
        oneib_check_add(checks, ONEIB_CHECK_WARN, "restrictions", NULL, "%s", err.text);
        oneib_check_add(checks, ONEIB_CHECK_WARN, placement, NULL, "%s", err.text);
        return;
    }
    check_restrictions(xml, length, checks);
    check_placer(xml, length, checks);
}

static bool has_mlx5(const struct oneib_host *host)
{
    for (size_t i = 0; i < host->port_count; i++)
        if (host->ports[i].driver == ONEIB_HCA_MLX5)
            return true;
    return false;
}

static bool fabric_has_virtual_ports(const struct oneib_config *config)
{
    oneib_autosetup struct oneib_opensm_setup setup;
    return oneib_opensm_setup_find(config, &setup) && setup.virtual_ports;
}

static const char *words_on_reading(const struct oneib_config *config)
{
    return config->fabric.virtual_ports == ONEIB_VPORTS_TRY
               ? "'oneib verify' says whether what their VFs hold can be read"
               : "what their VFs hold is not verified";
}

/* What the configuration says the SM is, and what it is. */
static void tell_virtual_ports(const struct oneib_config *config, size_t count, const char *first,
                               struct oneib_checks *checks)
{
    static const char name[] = "virtual-ports";
    if (oneib_sm_traits(config->sm.kind)->is_elsewhere) {
        oneib_check_add(checks, ONEIB_CHECK_OK, name, NULL, "%zu mlx5 hosts, by sm.kind \"%s\"; %s",
                        count, oneib_sm_traits(config->sm.kind)->name, words_on_reading(config));
        return;
    }
    const bool has = fabric_has_virtual_ports(config);
    if (oneib_sm_traits(config->sm.kind)->virtual_ports)
        oneib_check_add(checks, has ? ONEIB_CHECK_OK : ONEIB_CHECK_WARN, name,
                        has ? NULL : "run this as root where opensm runs; virt_enabled must be 2",
                        "%zu mlx5 hosts, by sm.kind \"%s\"%s; %s", count,
                        oneib_sm_traits(config->sm.kind)->name,
                        has ? "" : ", of which it cannot be seen that it has them on",
                        words_on_reading(config));
    else if (has)
        oneib_check_add(checks, ONEIB_CHECK_WARN, name, "set sm.kind = \"nvidia-opensm\"",
                        "the subnet manager has virtual ports on, for %zu mlx5 hosts, and sm.kind "
                        "says that it has none",
                        count);
    else
        oneib_check_add(
            checks, ONEIB_CHECK_WARN, name,
            "upstream opensm has no virtual ports: VFs of ConnectX-4 and later get no P_Key "
            "from it; use NVIDIA's subnet manager: docs/operator-nvidia.md",
            "%zu hosts report mlx5 adapters (%s first)", count, first);
}

static void check_virtual_ports(const struct oneib_session *session,
                                const struct oneib_cloud *cloud, struct oneib_checks *checks)
{
    size_t count = 0;
    oneib_autotext struct oneib_text first = {0};
    for (size_t i = 0; i < cloud->host_count; i++) {
        if (!has_mlx5(&cloud->hosts[i]))
            continue;
        if (count++ == 0)
            oneib_append_quoted(&first, cloud->hosts[i].name);
    }
    if (count > 0)
        tell_virtual_ports(&session->config, count, first.data ? first.data : "", checks);
}

/* Hosts that report a key of their oneib-node, and have no accepted key. */
static void check_accepted(struct oneib_session *session, const struct oneib_cloud *cloud,
                           struct oneib_checks *checks)
{
    oneib_autokept struct oneib_kept_ledger kept = {0};
    struct oneib_error unread;
    size_t count = 0;
    uint32_t first = 0;
    if (oneib_ledger_read(session->one, session->config.one.acl_user, &kept, &unread) < 0 ||
        kept.state == ONEIB_LEDGER_BROKEN)
        return;
    for (size_t i = cloud->host_count; i-- > 0;)
        if (oneib_ledger_awaits_acceptance(&kept.ledger, &cloud->hosts[i])) {
            first = cloud->hosts[i].id;
            count++;
        }
    if (count > 0)
        oneib_check_add(checks, ONEIB_CHECK_WARN, "accepted",
                        "where one.writer is true: oneib host accept --all",
                        "%zu %s no accepted key of oneib-node, so nothing is granted there: %s%s",
                        count, count == 1 ? "host has" : "hosts have",
                        oneib_host_id_shown(cloud, first).text, count == 1 ? "" : " and others");
}

static void check_hosts(struct oneib_session *session, struct oneib_checks *checks)
{
    static const char name[] = "hosts";
    oneib_autocloud struct oneib_cloud cloud = {0};
    struct oneib_error err;
    size_t with_ports = 0;

    if (oneib_read_hosts(session, &cloud, &err) < 0) {
        oneib_check_add(checks, ONEIB_CHECK_FAIL, name,
                        "oneib's user must be allowed to see all hosts", "%s", err.text);
        return;
    }
    for (size_t i = 0; i < cloud.host_count; i++)
        with_ports += cloud.hosts[i].port_count > 0;
    if (with_ports > 0)
        oneib_check_add(checks, ONEIB_CHECK_OK, name, NULL, "%zu of %zu report InfiniBand ports",
                        with_ports, cloud.host_count);
    else
        oneib_check_add(checks, ONEIB_CHECK_WARN, name,
                        "describe their ports in IB_HCA vectors of the hosts (onehost update)",
                        "none of %zu reports an InfiniBand port (IB_HCA)", cloud.host_count);
    check_accepted(session, &cloud, checks);
    check_virtual_ports(session, &cloud, checks);
}

void oneib_check_cloud(struct oneib_session *session, struct oneib_checks *checks)
{
    if (!check_credentials(session, checks) || !check_version(session, checks))
        return;
    check_visibility(session, checks);
    check_configuration(session, checks);
    check_hosts(session, checks);
}
