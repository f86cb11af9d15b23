// SPDX-License-Identifier: Apache-2.0
#include "fence_scene.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fenced fenced;
static struct oneib_error err;

/* The ledger says whose it is, and where. */
static bool is_pinned(uint64_t guid)
{
    struct oneib_kept_ledger kept = scene_ledger();
    const struct oneib_ledger_port *port = oneib_ledger_port(&kept.ledger, guid);
    const bool is = port && port->switch_guid;
    oneib_kept_ledger_clear(&kept);
    return is;
}

void await_pinned(uint64_t guid)
{
    unsigned waited = 0;
    while (!is_pinned(guid)) {
        if (waited > DAEMON_PATIENCE_MS)
            fail_msg("port 0x%016" PRIx64 " is not in the ledger", guid);
        lab_sleep_ms(50);
        waited += 50;
    }
}

/* A cluster with a VM on both hosts, in force. */
void begin_fence(void)
{
    scene();
    fenced.network = scene_network("blue", "300", NULL);
    fenced.vm = scene_vm(fenced.network, FAILED);
    scene_vm(fenced.network, OTHER);
    await_holds(FAILED, FULL(KEY));
    await_holds(OTHER, FULL(KEY));
    await_pinned(lab_host_port_guid(scene(), FAILED));
    await_pinned(lab_host_port_guid(scene(), OTHER));
}

/* ---- what the switch says -------------------------------------------------------------------- */

/* PortPhysicalState of the switch's port that JSON names, by its name. */
bool is_physically(json_t *port, const char *wanted)
{
    char number[8];
    struct lab_output output = {0};
    snprintf(number, sizeof number, "%d", (int)json_number(port, "switch_port"));
    const char *const argv[] = {"smpquery", "-G", "portinfo", json_text(port, "switch"),
                                number,     NULL};
    MUST(lab_run(scene(), LAB_SM_HCA, argv, SCENE_TIMEOUT_MS, &output, &err));
    const char *line = strstr(output.out, "PhysLinkState:");
    if (!line)
        fail_msg("smpquery: %s%s", output.out, output.error);
    const char *end = strchr(line, '\n'), *at = strstr(line, wanted);
    const bool is = at && at < end;
    lab_output_clear(&output);
    return is;
}

void await_physically(json_t *port, const char *wanted)
{
    unsigned waited = 0;
    while (!is_physically(port, wanted)) {
        if (waited > DAEMON_PATIENCE_MS)
            fail_msg("the port does not become %s", wanted);
        lab_sleep_ms(100);
        waited += 100;
    }
}

/* A switch does so by itself, ibsim does not: a link that was disabled comes up again. */
void bring_up(size_t host)
{
    MUST(lab_fabric_link(scene(), host, false, &err));
    MUST(lab_fabric_link(scene(), host, true, &err));
}

/* What the probe of the host printed, or whoever speaks for it to monitord: an adapter's port, and
 * another one's unless it is 0. */
void probe_says(uint32_t host, uint64_t first, uint64_t second)
{
    char text[512];
    size_t length = 0;
    const uint64_t ports[] = {first, second};
    for (size_t i = 0; i < 2 && ports[i]; i++)
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "IB_HCA = [ NAME = \"mlx4_%zu\", DRIVER = \"mlx4\", PORT = "
                                   "\"1\", PORT_GUID = \"0x%016" PRIx64
                                   "\", PKEYS_MAX = \"63\", VFS_TOTAL = \"7\" ]\n",
                                   i, ports[i]);
    MUST(lab_host_monitor(scene(), host, text, &err));
}

/* Fences the host, and gives what was said of its only port; borrowed from the last document. */
json_t *fence_failed(void)
{
    json_t *said = ONEIB_JSON(0, "fence", FAILED_NAME);
    assert_true(json_yes(said, "fenced"));
    assert_true(json_yes(said, "closed"));
    json_t *ports = json_field(said, "ports");
    assert_int_equal(json_array_size(ports), 1);
    return json_deep_copy(json_array_get(ports, 0)); /* the next run takes the document away */
}
