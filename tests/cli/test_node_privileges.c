// SPDX-License-Identifier: Apache-2.0
/* What root keeps. Each test is a process of its own, which loses the rest. */
#include "oneib-node/privileges.h"
#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "../skip.h"
#include <cmocka.h>

static void need_root(void)
{
    if (geteuid() == 0)
        return;
    skip_because("only root has privileges to lose");
}

static void assert_holds_in_child(bool (*holds)(void))
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(holds() ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static struct oneib_inherited inherited;

static bool drop(void)
{
    struct oneib_error err;
    return oneib_inherit(&inherited, &err) == 0 && oneib_drop_privileges(&err) == 0;
}

static bool keeps_net_admin_at_most(void)
{
    if (!drop() || capng_get_caps_process() < 0)
        return false;
    for (unsigned capability = 0; capability <= CAP_LAST_CAP; capability++)
        if (capability != CAP_NET_ADMIN && (capng_have_capability(CAPNG_PERMITTED, capability) ||
                                            capng_have_capability(CAPNG_EFFECTIVE, capability) ||
                                            capng_have_capability(CAPNG_INHERITABLE, capability)))
            return false;
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 && prctl(PR_GET_DUMPABLE) == 0;
}

static void root_keeps_one_capability_at_most(void **state)
{
    (void)state;
    need_root();
    assert_holds_in_child(keeps_net_admin_at_most);
}

/* ---- sockets --------------------------------------------------------------------------------- */

static bool makes(int family)
{
    const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int raw = family == AF_NETLINK ? socket(family, SOCK_RAW | SOCK_CLOEXEC, 0) : fd;
    return raw >= 0;
}

static bool makes_no_sockets_of_the_internet(void)
{
    static const int others[] = {AF_INET, AF_INET6, AF_PACKET, AF_BLUETOOTH, AF_VSOCK, AF_IB};
    if (!makes(AF_INET) || !drop() || !makes(AF_UNIX) || !makes(AF_NETLINK))
        return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (makes(others[i]) || errno != EAFNOSUPPORT)
            return false;
    return true;
}

static bool has_no_other_way_to_one(void)
{
    char nothing[256] = {0};
    return drop() && syscall(__NR_io_uring_setup, 8, nothing) < 0 && errno == EPERM;
}

static bool has_none_by_other_numbers(void)
{
#ifdef __x86_64__
    return drop() && syscall(__NR_socket | 0x40000000, AF_INET, SOCK_STREAM, 0) < 0 &&
           errno == EPERM;
#else
    return true;
#endif
}

static bool leaves_it_so_to_whom_it_starts(void)
{
    if (!drop())
        return false;
    const pid_t child = fork();
    int status = 0;
    if (child == 0)
        _exit(makes(AF_INET) ? 1 : 0);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* In any run, privileged or not. */
static void the_service_makes_no_sockets_of_the_internet(void **state)
{
    (void)state;
    assert_holds_in_child(makes_no_sockets_of_the_internet);
    assert_holds_in_child(has_no_other_way_to_one);
    assert_holds_in_child(has_none_by_other_numbers);
    assert_holds_in_child(leaves_it_so_to_whom_it_starts);
}

/* A file of root's with the mode that sysfs gives to what may be written, and one of another user.
 */
static char own_file[64], others_file[64];

static void make_file(char *path, uid_t owner)
{
    strcpy(path, "/tmp/oneib-privileges-XXXXXX");
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, 0200), 0);
    assert_int_equal(fchown(fd, owner, (gid_t)-1), 0);
    close(fd);
}

static bool writes_its_own_files_only(void)
{
    return drop() && open(own_file, O_WRONLY | O_CLOEXEC) >= 0 &&
           open(others_file, O_WRONLY | O_CLOEXEC) < 0 && errno == EACCES;
}

static void root_without_capabilities_writes_the_files_of_root(void **state)
{
    (void)state;
    need_root();
    make_file(own_file, 0);
    make_file(others_file, 65534);
    assert_holds_in_child(writes_its_own_files_only);
    unlink(own_file);
    unlink(others_file);
}

static bool refuses_to_be_setuid(void)
{
    struct oneib_error err;
    return setresuid(65534, 0, 0) == 0 && oneib_inherit(&inherited, &err) < 0 &&
           err.code == ONEIB_ERROR_REFUSED && strstr(err.text, "setuid");
}

static bool refuses_to_be_setgid(void)
{
    struct oneib_error err;
    return setresgid(65534, 0, 0) == 0 && oneib_inherit(&inherited, &err) < 0 &&
           err.code == ONEIB_ERROR_REFUSED;
}

static void a_setuid_or_setgid_program_is_refused(void **state)
{
    (void)state;
    need_root();
    assert_holds_in_child(refuses_to_be_setuid);
    assert_holds_in_child(refuses_to_be_setgid);
}

static bool has_no_environment(void)
{
    setenv("LD_PRELOAD", "/tmp/x.so", 1);
    setenv("JOURNAL_STREAM", "8:1234", 1);
    return drop() && environ && environ[0] && !environ[1] &&
           strcmp(environ[0], "JOURNAL_STREAM=8:1234") == 0;
}

static bool drops_an_endless_stream_name(void)
{
    char name[1000];
    memset(name, '8', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    setenv("JOURNAL_STREAM", name, 1);
    return drop() && (!environ || !environ[0]);
}

static void the_environment_is_emptied_but_for_what_the_log_goes_by(void **state)
{
    (void)state;
    assert_holds_in_child(has_no_environment);
    assert_holds_in_child(drops_an_endless_stream_name);
}

/* systemd's, as descriptors 3 and 4; those behind them are closed. */
static bool keeps_the_sockets_that_are_its_own(void)
{
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    setenv("LISTEN_PID", pid, 1);
    setenv("LISTEN_FDS", "2", 1);
    setenv("LISTEN_FDNAMES", "read:node", 1);
    setenv("NOTIFY_SOCKET", "/run/notify", 1);
    for (int fd = 3; fd < 6; fd++)
        if (dup2(STDIN_FILENO, fd) < 0)
            return false;
    return drop() && inherited.socket_count == 2 && inherited.sockets[0].fd == 3 &&
           strcmp(inherited.sockets[0].name, "read") == 0 &&
           strcmp(inherited.sockets[1].name, "node") == 0 && fcntl(3, F_GETFD) == FD_CLOEXEC &&
           fcntl(4, F_GETFD) == FD_CLOEXEC && fcntl(5, F_GETFD) < 0 &&
           strcmp(inherited.notify, "/run/notify") == 0;
}

static bool leaves_sockets_of_another_process(void)
{
    setenv("LISTEN_PID", "1", 1);
    setenv("LISTEN_FDS", "1", 1);
    setenv("LISTEN_FDNAMES", "node", 1);
    return dup2(STDIN_FILENO, 3) == 3 && drop() && inherited.socket_count == 0 &&
           fcntl(3, F_GETFD) < 0;
}

static bool is_refused_with(const char *count, const char *names)
{
    struct oneib_error err;
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    setenv("LISTEN_PID", pid, 1);
    setenv("LISTEN_FDS", count, 1);
    setenv("LISTEN_FDNAMES", names, 1);
    for (int fd = 3; fd < 6; fd++)
        if (dup2(STDIN_FILENO, fd) < 0)
            return false;
    return oneib_inherit(&inherited, &err) < 0 && err.code == ONEIB_ERROR_REFUSED;
}

static bool refuses_too_many(void)
{
    return is_refused_with("3", "node:read:more");
}

static bool refuses_no_number(void)
{
    return is_refused_with("-1", "node");
}

static bool refuses_a_long_name(void)
{
    return is_refused_with("1", "node-of-another-service");
}

static void systemds_sockets_are_kept_and_nothing_else(void **state)
{
    (void)state;
    assert_holds_in_child(keeps_the_sockets_that_are_its_own);
    assert_holds_in_child(leaves_sockets_of_another_process);
    assert_holds_in_child(refuses_too_many);
    assert_holds_in_child(refuses_no_number);
    assert_holds_in_child(refuses_a_long_name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(root_keeps_one_capability_at_most),
        cmocka_unit_test(the_service_makes_no_sockets_of_the_internet),
        cmocka_unit_test(root_without_capabilities_writes_the_files_of_root),
        cmocka_unit_test(a_setuid_or_setgid_program_is_refused),
        cmocka_unit_test(the_environment_is_emptied_but_for_what_the_log_goes_by),
        cmocka_unit_test(systemds_sockets_are_kept_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
