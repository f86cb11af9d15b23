// SPDX-License-Identifier: Apache-2.0
/* What oneib-node leaves behind of what it inherits. */
#include "../skip.h"
#include "node_scene.h"
#include <sys/resource.h>

#define INHERITED 9

/* Whoever starts it leaves everything as it must not be. */
static void spoil(void *context)
{
    const int *inherited = context;
    sigset_t all;
    umask(0);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (int number = 1; number <= SIGRTMAX; number++)
        signal(number, SIG_IGN);
    setrlimit(RLIMIT_CORE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    if (dup2(*inherited, INHERITED) < 0 || chdir(tree_root()) < 0)
        _exit(126);
}

static int listener; /* the other end of what is inherited */

static int make_spoilt_node(void **state)
{
    int ends[2];
    make_node(state);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    start_node_with(spoil, &ends[1]);
    close(ends[1]);
    listener = ends[0];
    return 0;
}

static int remove_spoilt_node(void **state)
{
    close(listener);
    return remove_node(state);
}

static void assert_proc_tells(const char *file, const char *what)
{
    char path[64], text[8192];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)node, file);
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    text[fread(text, 1, sizeof text - 1, stream)] = '\0';
    fclose(stream);
    if (!strstr(text, what))
        fail_msg("%s does not tell of \"%s\": %s", path, what, text);
}

static void nothing_of_the_callers_process_stays(void **state)
{
    (void)state;
    assert_proc_tells("status", "\nUmask:\t0022\n");
    assert_proc_tells("status", "\nNoNewPrivs:\t1\n");
    /* SIGHUP, SIGINT, SIGUSR1 and SIGTERM arrive as something to read. */
    assert_proc_tells("status", "\nSigBlk:\t0000000000004203\n");
    /* SIGPIPE, 13, SIGTSTP, SIGTTIN and SIGTTOU, 20 to 22, by its own will. */
    assert_proc_tells("status", "\nSigIgn:\t0000000000381000\n");
    assert_proc_tells("status", "\nThreads:\t1\n");
    assert_proc_tells("limits", "\nMax core file size        0                    0 ");
    assert_serves();
}

/* Nor does what it has started. */
static void descriptors_are_closed(void **state)
{
    (void)state;
    char byte;
    assert_int_equal(fcntl(listener, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(read(listener, &byte, 1), 0);
}

static void its_memory_is_nobody_elses(void **state)
{
    (void)state;
    char path[64], target[512];
    snprintf(path, sizeof path, "/proc/%d/cwd", (int)node);
    assert_int_equal(readlink(path, target, sizeof target), -1);
    assert_int_equal(errno, EACCES);
}

/* While it is stopped no key is followed. */
static void a_terminal_cannot_stop_it(void **state)
{
    (void)state;
    kill(node, SIGTSTP);
    kill(node, SIGTTIN);
    kill(node, SIGTTOU);
    assert_serves();
}

/* Kilobytes of what it has asked the kernel for, its stack and its own data. */
static long memory_of_node(void)
{
    char path[64], line[256];
    long size = -1;
    snprintf(path, sizeof path, "/proc/%d/status", (int)node);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        sscanf(line, "VmData: %ld kB", &size);
    fclose(file);
    return size;
}

static void ask_all_kinds_of_things(unsigned times)
{
    struct oneib_answer answer;
    const struct oneib_request list = oneib_request_new(ONEIB_REQUEST_LIST);
    for (unsigned i = 0; i < times; i++) {
        int fd = connect_raw("node.sock");
        assert_int_equal(send(fd, "nonsense", 8, 0), 8);
        close(fd);
        fd = connect_raw("node-read.sock");
        send_raw(fd, &list);
        assert_int_equal(receive_but_grants(fd, &answer), ONEIB_ANSWER_END);
        close(fd);
        assert_serves();
    }
}

static void its_memory_does_not_grow_with_what_it_is_asked(void **state)
{
    (void)state;
    if (IS_SANITIZED) {
        skip_because("AddressSanitizer keeps what is freed");
    }
    ask_all_kinds_of_things(20);
    const long before = memory_of_node();
    ask_all_kinds_of_things(300);
    assert_int_equal(memory_of_node(), before);
}

static void close_standard_files(void *context)
{
    (void)context;
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
}

/* Nothing that is logged lands in a file that was opened in their place. */
static void standard_files_that_are_missing_are_opened(void **state)
{
    (void)state;
    node = start_another(close_standard_files, NULL);
    const double until = oneib_now_ms() + DEADLINE_MS;
    int fd;
    while ((fd = connect_raw("node.sock")) < 0 && oneib_now_ms() < until)
        pause_ms(5);
    close(fd);
    struct oneib_client *client = open_client();
    must_have(client, 42, 1, KEY);
    must_wait(client);
    oneib_client_close(client);
    assert_int_equal(count_of(table(), "\n"), 1);
    assert_int_equal(count_of(table(), "vf=0000:81:00."), 1);
}

#define SPOILT(test) cmocka_unit_test_setup_teardown(test, make_spoilt_node, remove_spoilt_node)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPOILT(nothing_of_the_callers_process_stays),
        SPOILT(descriptors_are_closed),
        SPOILT(its_memory_is_nobody_elses),
        SPOILT(a_terminal_cannot_stop_it),
        SPOILT(its_memory_does_not_grow_with_what_it_is_asked),
        cmocka_unit_test_setup_teardown(standard_files_that_are_missing_are_opened, make_node,
                                        remove_node),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
