// SPDX-License-Identifier: Apache-2.0
/*
 * What kind `ufm` asks of UFM, with 1,000 keys and 20,000 GUIDs: calls for one changed member, and
 * for a poll without change, counted in the log of the stand-in, over HTTPS; and the time of such a
 * change over the time of the same calls made by themselves in the same run, medians both, so that
 * a machine with other work tells as much. Of a real UFM it says how often it is asked, and nothing
 * of how long it takes.
 */
#include "../simulation/lab_ufm.h"
#include "base/clock.h"
#include "base/order.h"
#include "sm/sm.h"
#include "ufm/ufm_client.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS 1000u
#define MEMBERS 20u
#define CHANGES 75u
#define POLLS 20u
#define CALLS_OF_CHANGE 5u
#define GOAL 1.3
#define POLL_MS 2u /* of the daemon that is played: two polls are never one */

struct bench {
    struct lab *lab;
    struct oneib_config config;
    struct oneib_sm *sm;
    struct oneib_seen seen;
    struct oneib_partition_table wanted;
    struct oneib_findings findings;
    struct oneib_text rendered;
    struct oneib_ufm_client *client; /* for the same calls by themselves */
    unsigned most_calls, most_puts, poll_calls;
    double change_ms[CHANGES], calls_ms[CHANGES];
};

/* ---- what is wanted -------------------------------------------------------------------------- */

/* The first key has `extra` members more. */
static void want(struct bench *bench, unsigned extra)
{
    oneib_partition_table_clear(&bench->wanted);
    for (unsigned key = 0; key < KEYS; key++) {
        struct oneib_partition *partition = oneib_partition_table_add(&bench->wanted);
        snprintf(partition->name, sizeof partition->name, "one%u", key);
        partition->pkey = (oneib_pkey)(0x1000 + key);
        partition->ipoib = true;
        for (unsigned i = 0; i < MEMBERS + (key == 0 ? extra : 0); i++)
            oneib_partition_add_member(partition,
                                       (struct oneib_member){.guid = 0x10000 + key * 100 + i,
                                                             .kind = ONEIB_MEMBER_GUID,
                                                             .membership = ONEIB_FULL});
    }
}

/* As a turn of the daemon's does it. */
static int bring(struct bench *bench, struct oneib_error *err)
{
    unsigned nudges = 0;
    oneib_findings_clear(&bench->findings);
    if (oneib_sm_read(bench->sm, &bench->seen, err) < 0)
        return -1;
    oneib_sm_settle(bench->sm, &bench->seen, &bench->wanted, &bench->findings);
    oneib_sm_render(bench->sm, &bench->wanted, &bench->rendered);
    const struct oneib_sm_put what = {.wanted = &bench->wanted, .text = &bench->rendered};
    return oneib_sm_is_put(bench->sm, &bench->seen, &what)
               ? 0
               : oneib_sm_put(bench->sm, &what, &bench->seen, &nudges, err);
}

/* ---- counting -------------------------------------------------------------------------------- */

static void count(struct bench *bench, unsigned *calls, unsigned *puts)
{
    *calls = lab_ufm_calls(bench->lab, "");
    *puts = lab_ufm_calls(bench->lab, "PUT");
}

static int poll(struct bench *bench, struct oneib_error *err)
{
    lab_sleep_ms(2 * POLL_MS);
    if (oneib_sm_has_news(bench->sm))
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "there is news where nobody changed anything");
    return 0;
}

static int change(struct bench *bench, unsigned extra, double *ms, struct oneib_error *err)
{
    unsigned calls[2], puts[2];
    want(bench, extra);
    count(bench, &calls[0], &puts[0]);
    if (poll(bench, err) < 0)
        return -1;
    const double begin = oneib_now_ms();
    if (bring(bench, err) < 0)
        return -1;
    *ms = oneib_now_ms() - begin;
    count(bench, &calls[1], &puts[1]);
    if (calls[1] - calls[0] > bench->most_calls)
        bench->most_calls = calls[1] - calls[0];
    if (puts[1] - puts[0] > bench->most_puts)
        bench->most_puts = puts[1] - puts[0];
    return 0;
}

static int poll_often(struct bench *bench, struct oneib_error *err)
{
    const unsigned before = lab_ufm_calls(bench->lab, "");
    for (unsigned i = 0; i < POLLS; i++)
        if (poll(bench, err) < 0 || bring(bench, err) < 0)
            return -1;
    bench->poll_calls = lab_ufm_calls(bench->lab, "") - before;
    return 0;
}

/* ---- the same calls by themselves ------------------------------------------------------------ */

static int call(struct bench *bench, const char *method, const char *path, const char *body,
                double *ms, struct oneib_error *err)
{
    const struct oneib_ufm_link link = oneib_ufm_client_link(bench->client);
    const struct oneib_ufm_call what = {method, path, body};
    struct oneib_ufm_reply reply = {0};
    const double begin = oneib_now_ms();
    if (link.ask(link.context, &what, &reply, err) < 0)
        return -1;
    *ms += oneib_now_ms() - begin;
    const long status = reply.status;
    oneib_ufm_reply_clear(&reply);
    return status == 200 ? 0 : oneib_fail(err, ONEIB_ERROR_PROTOCOL, "%s: %ld", path, status);
}

static int change_by_hand(struct bench *bench, unsigned extra, double *ms, struct oneib_error *err)
{
    *ms = 0;
    static const char key[] = "/resources/pkeys/0x1fff?guids_data=true";
    oneib_autotext struct oneib_text body = {0};
    oneib_text_append(&body,
                      "{\"pkey\":\"0x1fff\",\"ip_over_ib\":true,\"index0\":false,\"guids\":[");
    for (unsigned i = 0; i < MEMBERS + extra; i++)
        oneib_text_printf(&body, "%s\"%016x\"", i > 0 ? "," : "", 0x900000 + i);
    oneib_text_append(&body, "],\"memberships\":[");
    for (unsigned i = 0; i < MEMBERS + extra; i++)
        oneib_text_printf(&body, "%s\"full\"", i > 0 ? "," : "");
    oneib_text_append(&body, "]}");
    return call(bench, "GET", key, NULL, ms, err) < 0 ||
                   call(bench, "PUT", "/resources/pkeys/", body.data, ms, err) < 0 ||
                   call(bench, "GET", key, NULL, ms, err) < 0 ||
                   call(bench, "GET", "/resources/pkeys/last_updated", NULL, ms, err) < 0
               ? -1
               : 0;
}

/* What was changed by hand is news to the daemon that is played: it has heard of it before the next
 * change, whose calls are counted. */
static int hear_of_it(struct bench *bench, struct oneib_error *err)
{
    lab_sleep_ms(2 * POLL_MS);
    (void)oneib_sm_has_news(bench->sm);
    return bring(bench, err);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int set_up(struct bench *bench, struct oneib_error *err)
{
    if (lab_standin_start(bench->lab, NULL, err) < 0 || lab_ufm_start(bench->lab, NULL, err) < 0 ||
        lab_config_write(bench->lab, NULL, err) < 0 ||
        oneib_config_load(lab_config_path(bench->lab), &bench->config, err) < 0)
        return -1;
    bench->config.daemon.poll_preparing_ms = POLL_MS;
    const struct oneib_ufm_access access = {.url = bench->config.ufm.url,
                                            .ca = bench->config.ufm.ca,
                                            .auth = ONEIB_UFM_TOKEN,
                                            .secret = bench->config.ufm.secret,
                                            .timeout_ms = bench->config.ufm.timeout_ms};
    bench->sm = oneib_sm_open(&bench->config, err);
    bench->client = bench->sm ? oneib_ufm_client_open(&access, err) : NULL;
    if (!bench->client)
        return -1;
    want(bench, 0);
    return bring(bench, err);
}

/* In turn, so that both have the same machine. */
static int run(struct bench *bench, struct oneib_error *err)
{
    if (set_up(bench, err) < 0 || poll_often(bench, err) < 0)
        return -1;
    for (unsigned i = 0; i < CHANGES; i++)
        if (change(bench, (i + 1) % 2, &bench->change_ms[i], err) < 0 ||
            change_by_hand(bench, (i + 1) % 2, &bench->calls_ms[i], err) < 0 ||
            hear_of_it(bench, err) < 0)
            return -1;
    return 0;
}

static void tear_down(struct bench *bench)
{
    oneib_ufm_client_close(bench->client);
    oneib_sm_close(bench->sm);
    oneib_seen_clear(&bench->seen);
    oneib_partition_table_clear(&bench->wanted);
    oneib_findings_clear(&bench->findings);
    oneib_text_clear(&bench->rendered);
    oneib_config_clear(&bench->config);
    lab_close(bench->lab);
}

ONEIB_ORDER(compare_ms, double, ONEIB_COMPARE(*left, *right));

static double median(double *ms)
{
    ONEIB_SORT(ms, CHANGES, compare_ms);
    return ms[CHANGES / 2];
}

static bool judge(const char *what, double value, double most)
{
    printf("%s: %.2f (at most %.2f) %s\n", what, value, most, value <= most ? "PASS" : "FAIL");
    return value <= most;
}

int main(void)
{
    struct oneib_error err = {0};
    const struct lab_options options = LAB_DEFAULTS;
    struct bench bench = {.lab = lab_open(&options, &err)};
    const int status = bench.lab ? run(&bench, &err) : -1;
    tear_down(&bench);
    if (status < 0) {
        fprintf(stderr, "bench_sm_ufm: %s\n", err.text);
        return EXIT_FAILURE;
    }
    const double change_ms = median(bench.change_ms), calls_ms = median(bench.calls_ms);
    printf("%u keys, %u GUIDs; a change: %.2f ms, its calls by themselves: %.2f ms\n", KEYS,
           KEYS * MEMBERS, change_ms, calls_ms);
    const bool calls = judge("calls for one changed member", bench.most_calls, CALLS_OF_CHANGE);
    const bool puts = judge("of which are PUTs", bench.most_puts, 1);
    const bool polls = judge("calls for a poll", (double)bench.poll_calls / POLLS, 1);
    const bool time = judge("time of a change over its calls'", change_ms / calls_ms, GOAL);
    return calls && puts && polls && time ? EXIT_SUCCESS : EXIT_FAILURE;
}
