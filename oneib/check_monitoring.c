// SPDX-License-Identifier: Apache-2.0
/* The part of `oneib check` about monitord.conf, a file of OpenNebula's front-end. */
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/finding.h"
#include "oneib/verb_check.h"
#include "opennebula/monitord_conf.h"

#define MONITORD_CONF_MAX ((size_t)1 << 20)

static void check_address(const struct oneib_monitord_conf *conf, const char *path,
                          struct oneib_checks *checks)
{
    oneib_autotext struct oneib_text fix = {0}, address = {0}, port = {0};
    oneib_text_append_escaped(&address, conf->address, sizeof conf->address);
    oneib_text_append_escaped(&port, conf->port, sizeof conf->port);
    if (!conf->is_on_all_addresses) {
        oneib_check_add(checks, ONEIB_CHECK_OK, oneib_finding_code(ONEIB_FINDING_MONITORING_OPEN),
                        NULL,
                        "monitord listens at %s, port %s; messages are not authenticated, so let "
                        "the hosts alone reach it (docs/security.md)",
                        address.data, port.data);
        return;
    }
    oneib_text_printf(&fix,
                      "let the hosts alone reach UDP and TCP port %s (firewall), set ADDRESS of "
                      "NETWORK in %s to this machine's address in their network, and restart "
                      "opennebula",
                      port.data, path);
    oneib_check_add(checks, ONEIB_CHECK_WARN, oneib_finding_code(ONEIB_FINDING_MONITORING_OPEN),
                    fix.data,
                    "monitord listens on all addresses, port %s, and takes messages in any host's "
                    "name from any sender: they can mark VMs as stopped in OpenNebula",
                    port.data);
}

static void check_keys(const struct oneib_monitord_conf *conf, const char *path,
                       struct oneib_checks *checks)
{
    oneib_autotext struct oneib_text fix = {0};
    if (conf->encrypts) {
        oneib_check_add(checks, ONEIB_CHECK_OK, oneib_finding_code(ONEIB_FINDING_MONITORING_PLAIN),
                        NULL, "hosts encrypt what they send to monitord, which proves no sender");
        return;
    }
    oneib_text_printf(&fix,
                      "set PUBKEY and PRIKEY of NETWORK in %s "
                      "(docs/operator-messages.md#monitoring-plain)",
                      path);
    oneib_check_add(checks, ONEIB_CHECK_WARN, oneib_finding_code(ONEIB_FINDING_MONITORING_PLAIN),
                    fix.data, "monitord has no keys: what hosts send to it can be read on the way");
}

void oneib_check_monitoring(struct oneib_checks *checks)
{
    struct oneib_error err;
    struct oneib_monitord_conf conf;
    size_t length;
    oneib_autofree char *text = NULL;
    oneib_autotext struct oneib_text path = {0};
    oneib_check_append_front_end("/etc/monitord.conf", "/etc/one/monitord.conf", &path);
    if (oneib_file_read(path.data, MONITORD_CONF_MAX, &text, &length, &err) < 0) {
        if (err.code != ONEIB_ERROR_NOT_FOUND)
            oneib_check_add(checks, ONEIB_CHECK_WARN,
                            oneib_finding_code(ONEIB_FINDING_MONITORING_OPEN),
                            "run this as root, or as oneadmin", "%s", err.text);
        return;
    }
    oneib_monitord_conf_read(text, length, &conf);
    check_address(&conf, path.data, checks);
    check_keys(&conf, path.data, checks);
}
