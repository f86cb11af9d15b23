// SPDX-License-Identifier: Apache-2.0
/* oneibd under its unit's restrictions, and systemctl, which runs under the same. */
#include "base/cleanup.h"
#include "base/text.h"
#include "command_scene.h"
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* After cmocka.h, which the scene brings. */
#include "../unit_filter.h"

#define PATIENCE_MS 30000

/* ---- at work --------------------------------------------------------------------------------- */

static void wait_for_key(struct lab *lab, size_t host, uint16_t key, bool wanted)
{
    struct oneib_error err;
    for (unsigned waited = 0; waited < PATIENCE_MS; waited += 100) {
        uint16_t keys[128];
        size_t count;
        bool found = false;
        MUST(lab_host_pkeys(lab, host, keys, sizeof keys / sizeof *keys, &count, &err));
        for (size_t i = 0; i < count; i++)
            found |= keys[i] == key;
        if (found == wanted)
            return;
        lab_sleep_ms(100);
    }
    fail_msg("key 0x%04x of host %zu has not %s", key, host, wanted ? "come" : "gone");
}

static bool metrics_answer(const struct lab *lab)
{
    static const char request[] = "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    const char *port = strchr(lab_metrics_address(lab), ':') + 1;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
    } address = {.v4 = {.sin_family = AF_INET,
                        .sin_port = htons((uint16_t)atoi(port)),
                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
    char answer[16] = "";
    oneib_autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return connect(fd, &address.any, sizeof address.v4) == 0 &&
           send(fd, request, sizeof request - 1, MSG_NOSIGNAL) > 0 &&
           recv(fd, answer, sizeof answer - 1, MSG_WAITALL) > 0 &&
           strncmp(answer, "HTTP/1.1 200 OK", 15) == 0;
}

static void wait_for_metrics(struct lab *lab)
{
    for (unsigned waited = 0; waited < PATIENCE_MS; waited += 100) {
        if (metrics_answer(lab))
            return;
        lab_sleep_ms(100);
    }
    char log[4096] = "";
    oneib_autofclose FILE *file = fopen(lab_path(lab, "oneibd.log"), "r");
    if (file)
        log[fread(log, 1, sizeof log - 1, file)] = '\0';
    fail_msg("oneibd has not come up: %s", log);
}

/* The daemon is strace's child, which alone knows its number. */
static pid_t child_of(pid_t parent)
{
    char path[64];
    int child = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", parent, parent);
    FILE *file = fopen(path, "r");
    if (file) {
        if (fscanf(file, "%d", &child) != 1)
            child = 0;
        fclose(file);
    }
    assert_true(child > 0);
    return child;
}

static void let_it_work(struct lab *lab, pid_t daemon)
{
    struct oneib_error err = {0};
    uint32_t network, vm;
    MUST(lab_network_create(lab, "blue", "300", NULL, &network, &err));
    MUST(lab_vm_start(lab, "vm", &network, 1, 0, &vm, &err));
    wait_for_key(lab, 0, 0x8000 | 300, true);
    assert_true(metrics_answer(lab));
    kill(daemon, SIGHUP);
    MUST(lab_vm_migrate(lab, vm, 1, 4, &err));
    wait_for_key(lab, 1, 0x8000 | 300, true);
    MUST(lab_vm_delete(lab, vm, &err));
    wait_for_key(lab, 1, 0x8000 | 300, false);
}

static void oneibd_does_only_what_its_unit_allows(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    struct unit unit = {0};
    need("strace");
    need("systemd-analyze");
    need_permission_to_trace();
    read_unit(ONEIB_UNIT, &unit);

    const char *trace = lab_path(lab, "trace");
    const char *const argv[] = {
        "strace", "-f", "-qq", "-o", trace, "--", ONEIBD_BINARY, "--config", lab_config_path(lab),
        NULL};
    pid_t strace;
    MUST(lab_spawn(lab, "oneibd", LAB_SM_HCA, argv, &strace, &err));
    wait_for_metrics(lab);
    const pid_t daemon = child_of(strace);
    let_it_work(lab, daemon);
    kill(daemon, SIGTERM);
    MUST(lab_end(lab, strace, SIGCONT, PATIENCE_MS, &err));
    must_be_allowed(&unit, trace);
    clear_unit(&unit);
}

/* For opensm.reload = "systemd"; where systemd does not run it fails, after most of its calls. */
static void systemctl_does_only_what_the_unit_allows(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    struct unit unit = {0};
    need("strace");
    need("systemctl");
    need_permission_to_trace();
    read_unit(ONEIB_UNIT, &unit);

    const char *trace = lab_path(lab, "trace");
    const char *const argv[] = {"strace",    "-f",   "-qq",
                                "-o",        trace,  "--",
                                "systemctl", "show", "--property=MainPID",
                                "--value",   "--",   "opensm*.service",
                                NULL};
    struct lab_output output;
    MUST(lab_run(lab, NULL, argv, PATIENCE_MS, &output, &err));
    lab_output_clear(&output);
    must_be_allowed(&unit, trace);
    clear_unit(&unit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_CASE(scene_raise, oneibd_does_only_what_its_unit_allows),
        SCENE_CASE(scene_raise, systemctl_does_only_what_the_unit_allows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
