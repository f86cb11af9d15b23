// SPDX-License-Identifier: Apache-2.0
/* What nodes have said, as the daemon writes it down and the command reads it. */
#include "../base/scratch.h"
#include "base/file.h"
#include "base/text.h"
#include "sync/heard.h"
#include "sync/lock.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct oneib_error err;
static struct oneib_heard heard;
static struct oneib_vf_record records[2];
static struct oneib_node_snapshot nodes[2];
static struct oneib_findings findings;
static pid_t daemon_process; /* 0: none */

static const char *partitions(void)
{
    return in_scratch("partitions.conf");
}

static void make_nodes(void)
{
    for (size_t i = 0; i < 2; i++)
        records[i] =
            (struct oneib_vf_record){.vf = {.bus = 0x81, .slot = 1, .function = (uint8_t)i},
                                     .device = "mlx5_0",
                                     .index = (uint16_t)i,
                                     .port = 1,
                                     .vm_id = 42,
                                     .nic_id = (uint8_t)i,
                                     .network_id = 7,
                                     .pkey = 0x101,
                                     .stage = i ? ONEIB_VF_CLOSED : ONEIB_VF_OPEN,
                                     .in_domain = true,
                                     .since = 99};
    nodes[0] = (struct oneib_node_snapshot){.host_id = 3, .state = ONEIB_NODE_SILENT};
    nodes[1] = (struct oneib_node_snapshot){
        .host_id = 5, .state = ONEIB_NODE_FOLLOWS, .records = records, .record_count = 2};
}

static int find(const char *name)
{
    oneib_findings_clear(&findings);
    oneib_findings_mention(&findings, ONEIB_SUBJECT_HOST, 5);
    oneib_findings_note(&findings, ONEIB_FINDING_VF_NOT_GRANTED,
                        "host \"%s\": VF 0000:81:01.0 is open", name);
    return 0;
}

static int begin(void **state)
{
    make_nodes();
    return make_scratch(state) < 0 || find("H5") < 0 ? -1 : 0;
}

static void end_daemon(void)
{
    if (daemon_process > 0) {
        kill(daemon_process, SIGKILL);
        waitpid(daemon_process, NULL, 0);
    }
    daemon_process = 0;
}

static int end(void **state)
{
    end_daemon();
    oneib_heard_clear(&heard);
    oneib_findings_clear(&findings);
    return remove_scratch(state);
}

/* The daemon is a child, for nobody sees its own lock. Until it is killed. */
static void start_daemon(bool writes)
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    daemon_process = fork();
    assert_true(daemon_process >= 0);
    if (daemon_process == 0) {
        int lock;
        if (oneib_daemon_lock(partitions(), &lock, &err) < 0 ||
            (writes && oneib_heard_write(partitions(), nodes, 2, &findings, &err) < 0) ||
            write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
}

static void what_nodes_have_said_is_read_as_it_was_written(void **state)
{
    (void)state;
    struct stat status;
    start_daemon(true);
    assert_int_equal(oneib_heard_read(partitions(), &heard, &err), 0);
    assert_int_equal(heard.count, 2);
    assert_int_equal(oneib_heard_host(&heard, 3)->state, ONEIB_NODE_SILENT);
    assert_int_equal(oneib_heard_host(&heard, 3)->record_count, 0);
    assert_null(oneib_heard_host(&heard, 4));
    const struct oneib_heard_node *node = oneib_heard_host(&heard, 5);
    assert_int_equal(node->state, ONEIB_NODE_FOLLOWS);
    assert_int_equal(node->record_count, 2);
    for (size_t i = 0; i < 2; i++) {
        oneib_autotext struct oneib_text told = {0}, read = {0};
        records[i].since = 0;
        oneib_vf_record_render(&records[i], &told);
        oneib_vf_record_render(&node->records[i], &read);
        assert_string_equal(read.data, told.data);
    }
    assert_int_equal(heard.findings.count, 1);
    assert_int_equal(heard.findings.items[0].severity, ONEIB_VIOLATION);
    assert_string_equal(heard.findings.items[0].code, "vf-not-granted");
    assert_string_equal(heard.findings.items[0].text, findings.items[0].text);
    assert_string_equal(heard.findings.items[0].fix, findings.items[0].fix);
    assert_true(oneib_finding_is_about(&heard.findings.items[0], ONEIB_SUBJECT_HOST, 5));
    assert_int_equal(stat(in_scratch(".partitions.conf.nodes"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640);
    end_daemon();
}

static void assert_nothing_is_known(enum oneib_error_code code)
{
    assert_int_equal(oneib_heard_read(partitions(), &heard, &err), -1);
    assert_int_equal(err.code, code);
    assert_int_equal(heard.count, 0);
    assert_int_equal(heard.findings.count, 0);
}

static void it_counts_while_the_daemon_lives_that_wrote_it(void **state)
{
    (void)state;
    assert_nothing_is_known(ONEIB_ERROR_NOT_FOUND);
    start_daemon(true);
    assert_int_equal(oneib_heard_read(partitions(), &heard, &err), 0);
    oneib_heard_clear(&heard);
    end_daemon();
    assert_nothing_is_known(ONEIB_ERROR_NOT_FOUND);
    start_daemon(false);
    assert_nothing_is_known(ONEIB_ERROR_NOT_FOUND);
    end_daemon();
}

static void a_name_that_is_no_text_is_told_all_the_same(void **state)
{
    (void)state;
    assert_int_equal(find("H\xff"), 0);
    start_daemon(true);
    assert_int_equal(oneib_heard_read(partitions(), &heard, &err), 0);
    assert_non_null(strstr(heard.findings.items[0].text, "VF 0000:81:01.0 is open"));
    end_daemon();
}

/* Cut off anywhere, or with any byte changed: it is an error, or another document, and no crash. */
static void a_damaged_file_says_nothing(void **state)
{
    (void)state;
    char *text;
    size_t length;
    char path[PATH_MAX];
    strcpy(path, in_scratch(".partitions.conf.nodes"));
    start_daemon(true);
    assert_int_equal(oneib_file_read(path, 1 << 20, &text, &length, &err), 0);
    for (size_t i = 0; i < length; i++) {
        assert_int_equal(truncate(path, 0), 0);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(text, 1, i, file), i);
        assert_int_equal(fclose(file), 0);
        assert_nothing_is_known(ONEIB_ERROR_PROTOCOL);
    }
    for (size_t i = 0; i < length; i++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        text[i] ^= 1;
        assert_int_equal(fwrite(text, 1, length, file), length);
        assert_int_equal(fclose(file), 0);
        text[i] ^= 1;
        if (oneib_heard_read(partitions(), &heard, &err) < 0)
            assert_int_equal(heard.count, 0);
        oneib_heard_clear(&heard);
    }
    free(text);
    end_daemon();
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_nodes_have_said_is_read_as_it_was_written),
        CASE(it_counts_while_the_daemon_lives_that_wrote_it),
        CASE(a_name_that_is_no_text_is_told_all_the_same),
        CASE(a_damaged_file_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
