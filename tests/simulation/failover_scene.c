// SPDX-License-Identifier: Apache-2.0
#include "failover_scene.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define PROGRAM_MS 60000u
#define STANDBY_DAEMON "oneibd-standby"

static struct oneib_error err;

struct lab_sm standby_sm(const char *partitions)
{
    return (struct lab_sm){
        .name = STANDBY, .hca = LAB_SECOND_SM_HCA, .priority = 3, .partitions = partitions};
}

/* The extra host follows the compute hosts. */
uint64_t standby_port_guid(struct lab *lab)
{
    return lab_host_port_guid(lab, lab_host_count(lab));
}

int open_fabric(void **state)
{
    struct lab_options options = LAB_DEFAULTS;
    options.extra_hosts = 1;
    struct lab *lab = lab_open(&options, &err);
    *state = lab;
    if (lab && lab_fabric_start(lab, &err) == 0)
        return 0;
    print_error("%s\n", err.text);
    return -1;
}

int close_fabric(void **state)
{
    lab_close(*state);
    return 0;
}

bool has_pkey(struct lab *lab, size_t host, uint16_t wanted)
{
    uint16_t pkeys[128];
    size_t count = 0;
    ok(lab_host_pkeys(lab, host, pkeys, 128, &count, &err));
    for (size_t i = 0; i < count; i++)
        if (pkeys[i] == wanted)
            return true;
    return false;
}

bool comes_to_have(struct lab *lab, size_t host, uint16_t pkey, bool wanted)
{
    for (unsigned waited = 0; waited < CHANGE_MS; waited += 50) {
        if (has_pkey(lab, host, pkey) == wanted)
            return true;
        lab_sleep_ms(50);
    }
    return false;
}

void run_oneib(struct lab *lab, const char *hca, const char *config, const char *verb,
               const char *option)
{
    struct lab_output output;
    const char *argv[] = {ONEIB_BINARY, verb, "--config", config, option, NULL};
    ok(lab_run(lab, hca, argv, PROGRAM_MS, &output, &err));
    if (output.status != 0)
        fail_msg("oneib %s on %s: status %d: %s%s", verb, hca, output.status, output.out,
                 output.error);
    lab_output_clear(&output);
}

static void configure(struct site *site)
{
    char full_members[128];
    snprintf(full_members, sizeof full_members,
             "default_partition: { full_members = [\"0x%" PRIx64 "\", \"0x%" PRIx64 "\"]; };",
             LAB_SM_PORT_GUID, standby_port_guid(site->lab));
    /* A daemon asks its SM whether it is still master when it polls. */
    const struct lab_config more = {.daemon = "poll_idle = 1000;", .other = full_members};
    ok(lab_config_write(site->lab, &more, &err));
    ok(lab_config_write_named(site->lab, STANDBY, STANDBY, &more, &site->instance, &err));
}

static void learn_key(struct site *site)
{
    char text[16];
    ok(lab_network_vlan_id(site->lab, site->network, text, sizeof text, &err));
    site->pkey = (uint16_t)(strtoul(text, NULL, 10) | 0x8000);
}

/* A VM on host 0, both files taken over, both daemons watching. */
void open_site(struct site *site, struct lab *lab)
{
    *site = (struct site){.lab = lab};
    ok(lab_standin_start(lab, NULL, &err));
    ok(lab_add_hosts(lab, 7, &err));
    configure(site);
    site->standby = standby_sm(site->instance.partitions);
    site->daemon = (struct lab_daemon){
        .name = STANDBY_DAEMON, .hca = LAB_SECOND_SM_HCA, .config = site->instance.config};
    ok(lab_opensm_start(lab, &LAB_SM, &err));
    ok(lab_opensm_start(lab, &site->standby, &err));
    ok(lab_network_create(lab, "blue", "", NULL, &site->network, &err));
    ok(lab_vm_start(lab, "first", &site->network, 1, 0, &site->vm, &err));
    ok(lab_give_keys(lab, &err));
    run_oneib(lab, LAB_SM_HCA, lab_config_path(lab), "sync", "--force");
    run_oneib(lab, LAB_SECOND_SM_HCA, site->instance.config, "sync", "--force");
    learn_key(site);
    ok(lab_oneibd_start(lab, &LAB_DAEMON, &err));
    ok(lab_oneibd_start(lab, &site->daemon, &err));
}

void the_host_of_the_master_dies(struct site *site)
{
    ok(lab_oneibd_stop(site->lab, LAB_DAEMON.name, SIGKILL, &err));
    ok(lab_opensm_stop(site->lab, LAB_SM.name, false, &err));
    ok(lab_opensm_await_master(site->lab, STANDBY, CHANGE_MS, &err));
    ok(lab_await_metric(site->instance.metrics_address, "oneib_sm_master", 1, CHANGE_MS, &err));
}

void the_host_of_the_master_returns(struct site *site)
{
    ok(lab_opensm_start(site->lab, &LAB_SM, &err));
    ok(lab_oneibd_start(site->lab, &LAB_DAEMON, &err));
    ok(lab_opensm_await_master(site->lab, LAB_SM.name, CHANGE_MS, &err));
    ok(lab_await_metric(lab_metrics_address(site->lab), "oneib_sm_master", 1, CHANGE_MS, &err));
    ok(lab_await_metric(site->instance.metrics_address, "oneib_sm_master", 0, CHANGE_MS, &err));
}

void assert_same_files(struct site *site)
{
    struct lab_output output;
    const char *argv[] = {"cmp", lab_partitions(site->lab), site->instance.partitions, NULL};
    for (unsigned waited = 0;; waited += 100) {
        ok(lab_run(site->lab, NULL, argv, PROGRAM_MS, &output, &err));
        const int status = output.status;
        if (status != 0 && waited >= CHANGE_MS)
            fail_msg("%s", output.out);
        lab_output_clear(&output);
        if (status == 0)
            return;
        lab_sleep_ms(100);
    }
}

bool is_off_the_fabric(struct lab *lab, size_t host)
{
    uint16_t pkeys[128];
    size_t count;
    struct oneib_error ignored;
    return lab_host_pkeys(lab, host, pkeys, 128, &count, &ignored) < 0;
}

void await_off_the_fabric(struct lab *lab, size_t host)
{
    for (unsigned waited = 0; !is_off_the_fabric(lab, host); waited += 100) {
        if (waited >= CHANGE_MS)
            fail_msg("host %zu is on the fabric", host);
        lab_sleep_ms(100);
    }
}
