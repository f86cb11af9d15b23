// SPDX-License-Identifier: Apache-2.0
/*
 * What a daemon asks of oneib_apply() besides what the command does: to give up waiting, to live
 * with a subnet that was read some time ago, and not to wait for ports that were wrong before. On
 * ibsim with a real opensm: this program runs once more on the SM's host, with the name of a role.
 * The partitions that are wanted stand in the operator's static partitions.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "lab.h"
#include "sync/sync.h"
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#define ROLE_MS 100000u
#define RED 0x0101
#define BLUE 0x0102
#define APPLY_TIMEOUT_MS 20000

static struct oneib_error err;

#define ok(expression)                                                                             \
    do {                                                                                           \
        if ((expression) < 0)                                                                      \
            fail_msg("%s: %s", #expression, err.text);                                             \
    } while (0)

/* ---- roles: on the SM's host ----------------------------------------------------------------- */

static char partitions[] = "partitions.conf", static_partitions[] = "static-partitions.conf",
            pid_file[] = "opensm.pid";

static struct {
    struct oneib_config config;
    struct oneib_sm *sm;
    struct oneib_fabric *fabric;
    struct oneib_snapshot snapshot;
    struct oneib_apply_result result;
} kept;

static oneib_guid host_guid(unsigned host) /* 0 is H1 */
{
    return LAB_SM_PORT_GUID + 2 * (host + 1);
}

static void hear(void)
{
    kept.config.opensm.method = ONEIB_RELOAD_PID_FILE;
}

/* Reloads that do nothing. */
static void be_deaf(void)
{
    static char program[] = "/bin/true";
    static char *command[] = {program, NULL};
    kept.config.opensm.method = ONEIB_RELOAD_COMMAND;
    kept.config.opensm.reload_command = command;
}

/* The signal is refused, as without CAP_KILL. */
static void refuse_reloads(void)
{
    static char program[] = "/bin/false";
    static char *command[] = {program, NULL};
    kept.config.opensm.method = ONEIB_RELOAD_COMMAND;
    kept.config.opensm.reload_command = command;
}

/* As a process that comes after this one. */
static void come_anew(void)
{
    oneib_sm_close(kept.sm);
    kept.sm = oneib_sm_open(&kept.config, &err);
    assert_non_null(kept.sm);
}

static void want(const char *text)
{
    ok(oneib_file_replace(static_partitions, text, strlen(text), 0644, NULL, NULL, &err));
    ok(oneib_snapshot_update(&kept.config, kept.sm, true, &kept.snapshot, &err));
}

static void look(void)
{
    oneib_snapshot_read_subnet(&kept.config, kept.fabric, &kept.snapshot);
    if (!kept.snapshot.subnet_known)
        fail_msg("%s", kept.snapshot.subnet_error.text);
}

static int try_to_apply(const struct oneib_apply_options *options)
{
    oneib_apply_result_clear(&kept.result);
    return oneib_apply(&kept.config, kept.sm, kept.fabric, &kept.snapshot, options, &kept.result,
                       &err);
}

static void apply(void)
{
    ok(try_to_apply(&(struct oneib_apply_options){0}));
}

static bool holds(unsigned host, oneib_pkey pkey)
{
    const struct oneib_subnet_port *port =
        oneib_subnet_find(&kept.snapshot.subnet, host_guid(host));
    assert_non_null(port);
    assert_true(port->answered);
    for (unsigned i = 0; i < port->partition_cap; i++)
        if (oneib_pkey_base(port->pkeys[i]) == pkey)
            return true;
    return false;
}

/* One member: "red" with its key on a host. */
static const char *cluster(const char *name, oneib_pkey pkey, unsigned host)
{
    static char texts[4][128];
    static unsigned next;
    char *text = texts[next++ % 4];
    snprintf(text, sizeof texts[0], "%s=0x%04x : 0x%" PRIx64 "=full;\n", name, pkey,
             host_guid(host));
    return text;
}

static void want_two(const char *first, const char *second)
{
    oneib_autotext struct oneib_text text = {0};
    oneib_text_append(&text, first);
    oneib_text_append(&text, second);
    want(text.data);
}

static char *file_in_place(void)
{
    char *data;
    size_t length;
    ok(oneib_file_read(partitions, (size_t)1 << 20, &data, &length, &err));
    return data;
}

static int begin(void **state)
{
    (void)state;
    static const struct oneib_fabric_options options = {
        .window = 16, .timeout_ms = 200, .retries = 2};
    kept.config.opensm.partitions = partitions;
    kept.config.opensm.static_partitions = static_partitions;
    kept.config.opensm.pid_file = pid_file;
    kept.config.opensm.apply_timeout_ms = APPLY_TIMEOUT_MS;
    kept.config.pkeys.first = 256;
    kept.config.pkeys.last = 32766;
    hear();
    kept.fabric = oneib_fabric_open(&options, &err);
    if (!kept.fabric)
        fail_msg("%s", err.text);
    kept.sm = oneib_sm_open(&kept.config, &err);
    if (!kept.sm)
        fail_msg("%s", err.text);
    look();
    want("# nothing\n");
    ok(try_to_apply(&(struct oneib_apply_options){.force = true}));
    assert_int_equal(kept.result.verification.count, 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    oneib_apply_result_clear(&kept.result);
    oneib_snapshot_clear(&kept.snapshot);
    oneib_fabric_close(kept.fabric);
    oneib_sm_close(kept.sm);
    return 0;
}

struct patience {
    double limit_ms, last_ms;
    unsigned questions;
};

static bool has_waited_enough(void *context, double waited_ms)
{
    struct patience *patience = context;
    assert_true(waited_ms >= patience->last_ms);
    patience->last_ms = waited_ms;
    patience->questions++;
    return waited_ms >= patience->limit_ms;
}

static void who_gives_up_leaves_what_was_written(void **state)
{
    (void)state;
    struct patience patience = {.limit_ms = 100};
    be_deaf();
    want(cluster("red", RED, 0));
    const double began = oneib_now_ms();
    ok(try_to_apply(
        &(struct oneib_apply_options){.give_up = has_waited_enough, .context = &patience}));
    assert_true(oneib_now_ms() - began < APPLY_TIMEOUT_MS / 2);
    assert_true(patience.questions > 1);
    assert_int_equal(kept.result.outcome, ONEIB_APPLIED);
    assert_true(kept.result.gave_up);
    assert_int_equal(kept.result.late, 1);
    assert_int_equal(kept.result.verification.count, 1);
    assert_false(holds(0, RED));
    assert_false(kept.snapshot.changed);
    char *file = file_in_place();
    assert_string_equal(file, kept.snapshot.seen.data);
    assert_non_null(strstr(file, "red=0x0101"));
    free(file);

    hear();
    apply();
    assert_false(kept.result.gave_up);
    assert_int_equal(kept.result.late, 0);
    assert_true(kept.result.in_force_at_ms > began);
    assert_true(holds(0, RED));
}

/* Writes the file while ports are waited for; what was known before and after it. */
struct editor {
    bool news_before, news_after;
};

static bool edit_and_give_up(void *context, double waited_ms)
{
    struct editor *editor = context;
    (void)waited_ms;
    editor->news_before = oneib_sm_has_news(kept.sm);
    char *file = file_in_place();
    ok(oneib_file_replace(partitions, file, strlen(file), 0644, NULL, NULL, &err));
    free(file);
    editor->news_after = oneib_sm_has_news(kept.sm);
    return true;
}

/* ... be it the same bytes: whoever wrote them has looked later. */
static void what_somebody_writes_while_ports_are_waited_for_is_news(void **state)
{
    (void)state;
    struct editor editor = {0};
    be_deaf();
    want(cluster("red", RED, 0));
    ok(try_to_apply(
        &(struct oneib_apply_options){.give_up = edit_and_give_up, .context = &editor}));
    assert_false(editor.news_before);
    assert_true(editor.news_after);
    assert_true(oneib_sm_has_news(kept.sm));
    hear();
}

static void who_never_gives_up_is_asked_and_waits(void **state)
{
    (void)state;
    struct patience patience = {.limit_ms = 1e9};
    want(cluster("red", RED, 0));
    ok(try_to_apply(
        &(struct oneib_apply_options){.give_up = has_waited_enough, .context = &patience}));
    assert_true(patience.questions > 0);
    assert_false(kept.result.gave_up);
    assert_true(holds(0, RED));
}

static void giving_up_while_keys_change_hands_keeps_them_from_both(void **state)
{
    (void)state;
    struct patience patience = {.limit_ms = 100};
    want_two(cluster("red", RED, 0), cluster("blue", BLUE, 1));
    apply();
    be_deaf();
    want_two(cluster("red", BLUE, 0), cluster("blue", RED, 1));
    assert_int_equal(try_to_apply(&(struct oneib_apply_options){.give_up = has_waited_enough,
                                                                .context = &patience}),
                     -1);
    assert_int_equal(err.code, ONEIB_ERROR_TIMEOUT);
    assert_non_null(strstr(err.text, "interrupted"));
    char *file = file_in_place();
    assert_null(strstr(file, "0x0101"));
    assert_null(strstr(file, "0x0102"));
    assert_string_equal(file, kept.snapshot.seen.data);
    free(file);

    hear();
    want_two(cluster("red", BLUE, 0), cluster("blue", RED, 1));
    apply();
    assert_true(holds(0, BLUE));
    assert_false(holds(0, RED));
    assert_true(holds(1, RED));
    assert_false(holds(1, BLUE));
}

/* What was read before red had its key must not decide that blue can have it at once. */
static void a_key_is_not_given_out_by_what_was_read_long_ago(void **state)
{
    (void)state;
    struct oneib_subnet long_ago = kept.snapshot.subnet;
    kept.snapshot.subnet = (struct oneib_subnet){0};
    look();
    want(cluster("red", RED, 0));
    apply();
    assert_true(holds(0, RED));
    oneib_subnet_clear(&kept.snapshot.subnet);
    kept.snapshot.subnet = long_ago;
    assert_false(holds(0, RED));

    want(cluster("blue", RED, 1));
    apply();
    assert_true(kept.result.reloads >= 2);
    assert_false(holds(0, RED));
    assert_true(holds(1, RED));
    assert_int_equal(kept.result.verification.count, 0);
}

static void a_subnet_of_long_ago_does_for_members_of_a_cluster(void **state)
{
    (void)state;
    want(cluster("red", RED, 0));
    apply();
    struct oneib_text grown = {0};
    oneib_text_printf(&grown, "red=0x0101 : 0x%" PRIx64 "=full, 0x%" PRIx64 "=full;\n",
                      host_guid(0), host_guid(1));
    want(grown.data);
    oneib_text_clear(&grown);
    apply();
    assert_int_equal(kept.result.late, 0);
    assert_true(holds(1, RED));
    apply();
    assert_int_equal(kept.result.outcome, ONEIB_UNCHANGED);
}

/* More keys than host 3's port has room for, and what else is wanted. */
static void overfill(const char *more)
{
    oneib_autotext struct oneib_text text = {0};
    for (unsigned i = 0; i < 70; i++)
        oneib_text_printf(&text, "storage%u=0x%04x : 0x%" PRIx64 "=full;\n", i, 0x1000 + i,
                          host_guid(3));
    oneib_text_append(&text, more);
    want(text.data);
}

static void a_port_that_never_comes_right_delays_no_later_change(void **state)
{
    (void)state;
    struct patience patience = {.limit_ms = 2000};
    overfill("");
    ok(try_to_apply(
        &(struct oneib_apply_options){.give_up = has_waited_enough, .context = &patience}));
    assert_true(kept.result.gave_up);
    assert_int_equal(kept.result.late, 1);
    const size_t owed = kept.result.verification.count;
    assert_true(owed > 0);

    overfill(cluster("red", RED, 0));
    const double began = oneib_now_ms();
    apply();
    assert_true(oneib_now_ms() - began < APPLY_TIMEOUT_MS / 2);
    assert_int_equal(kept.result.late, 0);
    assert_true(kept.result.in_force_ms < oneib_now_ms() - began);
    assert_true(holds(0, RED));
    assert_int_equal(kept.result.verification.count, owed);
}

static bool has_group(oneib_pkey pkey)
{
    struct oneib_group_query query = {.pkey = pkey};
    ok(oneib_fabric_groups(kept.fabric, &query, 1, &err));
    return query.exists;
}

/* A flag of a partition: no port shows whether opensm has read the file. */
static void opensm_is_told_later_of_what_it_could_not_be_told(void **state)
{
    (void)state;
    char ipoib[128];
    snprintf(ipoib, sizeof ipoib, "red=0x%04x,ipoib : 0x%" PRIx64 "=full;\n", RED, host_guid(0));
    want(cluster("red", RED, 0));
    apply();
    assert_false(has_group(RED));
    refuse_reloads();
    want(ipoib);
    assert_int_equal(try_to_apply(&(struct oneib_apply_options){0}), -1);
    for (unsigned i = 0; i < 2; i++) {
        come_anew();
        want(ipoib);
        assert_false(kept.snapshot.changed);
        assert_int_equal(try_to_apply(&(struct oneib_apply_options){0}), -1);
    }
    hear();
    apply();
    assert_int_equal(kept.result.reloads, 1);
    for (const double until = oneib_now_ms() + APPLY_TIMEOUT_MS; !has_group(RED);)
        assert_true(oneib_now_ms() < until);
    apply();
    assert_int_equal(kept.result.outcome, ONEIB_UNCHANGED);
}

/* As one that root has made, and a daemon without privileges cannot open. */
static void a_sign_of_others_that_opensm_is_not_told_is_no_obstacle(void **state)
{
    (void)state;
    oneib_autofree char *untold = oneib_path_beside(kept.config.opensm.partitions, "untold");
    assert_int_equal(symlink("/", untold), 0);
    want(cluster("red", RED, 0));
    apply();
    assert_true(access(untold, F_OK) < 0);
}

#define role(test)                                                                                 \
    {                                                                                              \
#test, test, begin, end, NULL                                                              \
    }

static const struct CMUnitTest roles[] = {
    role(who_gives_up_leaves_what_was_written),
    role(what_somebody_writes_while_ports_are_waited_for_is_news),
    role(who_never_gives_up_is_asked_and_waits),
    role(giving_up_while_keys_change_hands_keeps_them_from_both),
    role(a_key_is_not_given_out_by_what_was_read_long_ago),
    role(a_subnet_of_long_ago_does_for_members_of_a_cluster),
    role(a_port_that_never_comes_right_delays_no_later_change),
    role(opensm_is_told_later_of_what_it_could_not_be_told),
    role(a_sign_of_others_that_opensm_is_not_told_is_no_obstacle),
};

#define ROLES (sizeof roles / sizeof roles[0])

static int play(const char *name)
{
    for (size_t i = 0; i < ROLES; i++) {
        if (strcmp(roles[i].name, name) != 0)
            continue;
        const struct CMUnitTest chosen[] = {roles[i]};
        return cmocka_run_group_tests_name(name, chosen, NULL, NULL);
    }
    return 2;
}

/* ---- the laboratory -------------------------------------------------------------------------- */

static char self[4096];

static void on_the_sm_host(void **state)
{
    const char *name = *state;
    const struct lab_options options = {.leaves = 1, .hosts_per_leaf = 4};
    struct lab *lab = lab_open(&options, &err);
    if (!lab)
        fail_msg("%s", err.text);
    ok(lab_fabric_start(lab, &err));
    ok(lab_opensm_start(lab, &LAB_SM, &err));

    struct lab_output output = {0};
    const char *const argv[] = {self, "--role", name, NULL};
    ok(lab_run(lab, LAB_SM_HCA, argv, ROLE_MS, &output, &err));
    if (output.status != 0 || output.timed_out)
        fail_msg("%s: status %d\n%s%s", name, output.status, output.out, output.error);
    lab_output_clear(&output);
    lab_close(lab);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--role") == 0)
        return play(argv[2]);
    const char *missing = lab_missing();
    if (missing) {
        print_message("%s is not installed\n", missing);
        return LAB_SKIPPED;
    }
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0)
        return 1;
    struct CMUnitTest tests[ROLES];
    char names[ROLES][128];
    for (size_t i = 0; i < ROLES; i++) {
        snprintf(names[i], sizeof names[i], "%s", roles[i].name);
        tests[i] = (struct CMUnitTest){roles[i].name, on_the_sm_host, NULL, NULL, names[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
