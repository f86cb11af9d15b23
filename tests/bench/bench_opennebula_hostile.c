// SPDX-License-Identifier: Apache-2.0
/*
 * Reading a pool of 100,000 VMs with and without 2,000 hostile ones among them, evenly spread, from
 * a stand-in: time, calls of oned's and memory. Prints what was seen; exits 1 when an honest VM was
 * not read or a hostile one was not named. Arguments: VMs, and of how many one is hostile.
 */
#include "../unit/opennebula/hostile_pool.h"
#include "base/clock.h"
#include "base/number.h"
#include <sys/resource.h>

#define WINDOW 1000
#define TIMEOUT_MS 120000

static void stop(const char *what)
{
    fprintf(stderr, "bench_opennebula_hostile: %s\n", what);
    exit(3);
}

static unsigned number(const char *text, unsigned otherwise)
{
    uint64_t value;
    return text && oneib_parse_decimal(text, INT32_MAX, &value) && value > 0 ? (unsigned)value
                                                                             : otherwise;
}

static double peak_mib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

static double cpu_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static bool measure(unsigned vms, unsigned every, const char *what)
{
    char session[] = "oneadmin:open-sesame";
    struct stand_in server;
    struct oneib_cloud cloud = {0};
    struct oneib_findings findings = {0};
    struct oneib_error err = {0};
    const struct oneib_pools_options options = {.vn_mad = "ibrec", .window = WINDOW};
    if (hostile_pool_make(vms, every) < 0 || stand_in_start(&server, hostile_pool_answer) < 0)
        stop("cannot start the stand-in");
    const struct oneib_credentials credentials = {.endpoint = server.endpoint, .session = session};
    struct oneib_one *one = oneib_one_open(&credentials, TIMEOUT_MS, &err);
    const double began = oneib_now_ms(), used = cpu_s();
    if (!one || oneib_pools_read(one, &options, &cloud, &findings, &err) < 0)
        stop(err.text);
    const double took_s = (oneib_now_ms() - began) / 1e3;
    const bool right = hostile_pool_wrong(&cloud, &findings) == vms;
    printf("%u VMs, %s: %.1f s, %.1f s of CPU, %u calls, %zu named, at most %.0f MiB %s\n", vms,
           what, took_s, cpu_s() - used, *hostile_pool.calls, findings.count, peak_mib(),
           right ? "PASS" : "FAIL");
    oneib_cloud_clear(&cloud);
    oneib_findings_clear(&findings);
    oneib_one_close(one);
    stand_in_stop(&server);
    hostile_pool_end();
    return right;
}

int main(int argc, char **argv)
{
    const unsigned vms = number(argc > 1 ? argv[1] : NULL, 100000);
    const unsigned every = number(argc > 2 ? argv[2] : NULL, 50);
    char what[64];
    snprintf(what, sizeof what, "one of %u hostile", every);
    const bool honest = measure(vms, INT32_MAX, "none hostile");
    return measure(vms, every, what) && honest ? 0 : 1;
}
