// SPDX-License-Identifier: Apache-2.0
/* Which keys and ports of hosts an operator has accepted: in the ledger, without starting a program
 * for each host. Keys are not written before there is an oneibd. */
#include "base/array.h"
#include "grants/seal.h"
#include "lab_internal.h"
#include "opennebula/ledger_document.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL_MS 60000
#define TRIES 20 /* oneibd may be writing it, too */

void lab_accept_later(struct lab *lab, uint32_t id, const char *key)
{
    struct lab_accepted accepted = {.id = id};
    snprintf(accepted.key, sizeof accepted.key, "%s", key);
    ONEIB_APPEND(lab->accepted, lab->accepted_count, lab->accepted_capacity, accepted);
}

void lab_accept_port(struct lab *lab, uint32_t id, const char *device, const char *driver,
                     uint8_t number, uint64_t guid)
{
    const bool is_mlx5 = strcmp(driver, "mlx5") == 0;
    struct oneib_ledger_port port = {
        .guid = guid,
        .host_id = id,
        .is_accepted = true,
        .since = 1,
        .hca = {.port = number,
                .driver = is_mlx5 ? ONEIB_HCA_MLX5 : ONEIB_HCA_MLX4,
                .port_guid = guid},
    };
    snprintf(port.hca.device, sizeof port.hca.device, "%s", device);
    ONEIB_APPEND(lab->ports, lab->port_count, lab->port_capacity, port);
}

static int set_ports(const struct lab *lab, struct oneib_ledger *ledger, struct oneib_error *err)
{
    for (size_t i = 0; i < lab->port_count; i++)
        if (oneib_ledger_set_port(ledger, &lab->ports[i], err) < 0)
            return -1;
    return 0;
}

static bool has_port(const struct lab *lab, uint32_t host_id)
{
    for (size_t i = 0; i < lab->port_count; i++)
        if (lab->ports[i].host_id == host_id)
            return true;
    return false;
}

static int pin_all(const struct lab *lab, struct oneib_ledger *ledger, struct oneib_error *err)
{
    for (size_t i = 0; i < lab->accepted_count; i++) {
        struct oneib_ledger_host host = {.host_id = lab->accepted[i].id, .since = 1};
        if (!lab->has_begun_oneibd && !has_port(lab, host.host_id))
            continue;
        if (!oneib_key_parse(lab->accepted[i].key, host.key))
            return oneib_fail(err, ONEIB_ERROR_INPUT, "no key: %s", lab->accepted[i].key);
        oneib_ledger_pin(ledger, &host);
    }
    return 0;
}

static int write_pins(const struct lab *lab, struct oneib_one *one, struct oneib_error *err)
{
    oneib_autokept struct oneib_kept_ledger kept = {0};
    oneib_autoledger struct oneib_ledger next = {0};
    if (oneib_ledger_read(one, false, &kept, err) < 0)
        return -1;
    if (kept.state == ONEIB_LEDGER_BROKEN) /* a test has damaged it */
        return 0;
    oneib_ledger_copy(&kept.ledger, &next);
    if (pin_all(lab, &next, err) < 0 || set_ports(lab, &next, err) < 0)
        return -1;
    return oneib_ledger_equal(&kept.ledger, &next) ? 0 : oneib_ledger_write(one, &kept, &next, err);
}

int lab_accept_now(struct lab *lab, struct oneib_error *err)
{
    const struct oneib_credentials credentials = {.endpoint = lab->control_endpoint,
                                                  .session = lab->session};
    if (lab->port_count == 0 && (lab->accepted_count == 0 || !lab->has_begun_oneibd))
        return 0;
    struct oneib_one *one = oneib_one_open(&credentials, CALL_MS, err);
    int status = one ? write_pins(lab, one, err) : -1;
    for (size_t i = 0; one && status < 0 && err->code == ONEIB_ERROR_REFUSED && i < TRIES; i++)
        status = write_pins(lab, one, err);
    oneib_one_close(one);
    lab->port_count = 0;
    if (lab->has_begun_oneibd)
        lab->accepted_count = 0;
    return status;
}

int lab_accept_waiting(struct lab *lab, struct oneib_error *err)
{
    lab->has_begun_oneibd = true;
    return lab->client ? lab_accept_now(lab, err) : 0;
}

int lab_host_accept(struct lab *lab, uint32_t id, const char *key, struct oneib_error *err)
{
    lab_accept_later(lab, id, key);
    return lab_accept_now(lab, err);
}

int lab_host_accept_port(struct lab *lab, uint32_t id, const char *device, const char *driver,
                         uint8_t number, uint64_t guid, struct oneib_error *err)
{
    lab_accept_port(lab, id, device, driver, number, guid);
    return lab_accept_now(lab, err);
}
