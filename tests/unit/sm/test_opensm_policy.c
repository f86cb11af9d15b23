// SPDX-License-Identifier: Apache-2.0
/* opensm's partitions and QoS policy, two files that belong together. opensm itself is not there:
 * what tells it is /bin/true. */
#include "base/cleanup.h"
#include "base/file.h"
#include "partitions/qos_policy.h"
#include "sm/sm.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct oneib_error err;
static char directory[64], partitions[96], policy[96];
static char true_path[] = "/bin/true", *tell[] = {true_path, NULL};
static struct oneib_config config;
static struct oneib_sm *sm;
static struct oneib_seen seen;
static struct oneib_findings findings;
static struct oneib_partition_table wanted;

static int begin(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/oneib-policy.XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    snprintf(partitions, sizeof partitions, "%s/partitions.conf", directory);
    snprintf(policy, sizeof policy, "%s/policy.conf", directory);
    config = (struct oneib_config){.opensm = {.partitions = partitions,
                                              .qos_policy = policy,
                                              .method = ONEIB_RELOAD_COMMAND,
                                              .apply_timeout_ms = 10000,
                                              .reload_command = tell}};
    sm = oneib_sm_open(&config, &err);
    return sm ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    oneib_seen_clear(&seen);
    oneib_findings_clear(&findings);
    oneib_partition_table_clear(&wanted);
    oneib_sm_close(sm);
    (void)unlink(partitions);
    (void)unlink(policy);
    return rmdir(directory);
}

/* One cluster, and its service level. */
static void want(uint8_t level)
{
    oneib_partition_table_clear(&wanted);
    struct oneib_partition *partition = oneib_partition_table_add(&wanted);
    assert_non_null(partition);
    snprintf(partition->name, sizeof partition->name, "cluster");
    partition->pkey = 0x0101;
    partition->has_sl = true;
    partition->sl = level;
}

static void look(void)
{
    assert_int_equal(oneib_sm_read(sm, &seen, &err), 0);
    oneib_findings_clear(&findings);
    oneib_sm_settle(sm, &seen, &wanted, &findings);
}

static int put(void)
{
    unsigned nudges = 0;
    oneib_autotext struct oneib_text text = {0};
    oneib_sm_render(sm, &wanted, &text);
    return oneib_sm_put(sm, &(struct oneib_sm_put){&wanted, &text}, &seen, &nudges, &err);
}

static bool is_put(void)
{
    oneib_autotext struct oneib_text text = {0};
    oneib_sm_render(sm, &wanted, &text);
    return oneib_sm_is_put(sm, &seen, &(struct oneib_sm_put){&wanted, &text});
}

static void write_file(const char *path, const char *words)
{
    assert_int_equal(oneib_file_replace(path, words, strlen(words), 0644, NULL, NULL, &err), 0);
}

static void assert_file_says(const char *path, const char *words)
{
    oneib_autofree char *data = NULL;
    size_t length;
    assert_int_equal(oneib_file_read(path, 4096, &data, &length, &err), 0);
    if (!strstr(data, words))
        fail_msg("\"%s\" is not in: %s", words, data);
}

static void the_policy_follows_the_levels(void **state)
{
    (void)state;
    want(1);
    look();
    assert_int_equal(put(), 0);
    assert_file_says(policy, "pkey 0x0101 : 1\n");
    assert_true(is_put());
    want(3);
    assert_false(is_put());
    look();
    assert_int_equal(put(), 0);
    assert_file_says(policy, "pkey 0x0101 : 3\n");
    assert_false(oneib_sm_has_news(sm));
}

static void partitions_that_are_not_put_in_place_keep_their_policy(void **state)
{
    (void)state;
    want(1);
    look();
    assert_int_equal(put(), 0);
    look();
    write_file(partitions, "# somebody else's\n");
    want(3);
    assert_int_equal(put(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_file_says(policy, "pkey 0x0101 : 1\n");
}

static void an_edited_policy_is_news_until_it_was_looked_at(void **state)
{
    (void)state;
    want(1);
    look();
    assert_int_equal(put(), 0);
    assert_false(oneib_sm_has_news(sm));
    write_file(policy, ONEIB_QOS_POLICY_MARK "\nedited\n");
    assert_true(oneib_sm_has_news(sm));
    look();
    assert_false(oneib_sm_has_news(sm));
    assert_false(is_put());
    assert_int_equal(put(), 0);
    assert_file_says(policy, "pkey 0x0101 : 1\n");
}

static void somebody_elses_policy_stays_and_is_said_and_is_no_news_for_ever(void **state)
{
    (void)state;
    write_file(policy, "# the site's own\n");
    want(1);
    look();
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].code, "qos-policy-foreign");
    assert_int_equal(put(), 0);
    assert_file_says(policy, "# the site's own\n");
    assert_true(is_put());
    assert_false(oneib_sm_has_news(sm));
}

/* One that came between looking and writing stays, too. */
static void a_policy_that_became_somebody_elses_meanwhile_stays(void **state)
{
    (void)state;
    want(1);
    look();
    write_file(policy, "# the site's own\n");
    assert_int_equal(put(), 0);
    assert_file_says(policy, "# the site's own\n");
    assert_file_says(partitions, "sl=1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_policy_follows_the_levels, begin, end),
        cmocka_unit_test_setup_teardown(partitions_that_are_not_put_in_place_keep_their_policy,
                                        begin, end),
        cmocka_unit_test_setup_teardown(an_edited_policy_is_news_until_it_was_looked_at, begin,
                                        end),
        cmocka_unit_test_setup_teardown(
            somebody_elses_policy_stays_and_is_said_and_is_no_news_for_ever, begin, end),
        cmocka_unit_test_setup_teardown(a_policy_that_became_somebody_elses_meanwhile_stays, begin,
                                        end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
