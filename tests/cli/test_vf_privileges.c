// SPDX-License-Identifier: Apache-2.0
/* What root keeps. Each test is a process of its own, which loses the rest. */
#include "oneib-vf/privileges.h"
#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
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

static bool drop(void)
{
    struct oneib_error err;
    return oneib_vf_drop_privileges(&err) == 0;
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
    return setresuid(65534, 0, 0) == 0 && oneib_vf_drop_privileges(&err) < 0 &&
           err.code == ONEIB_ERROR_REFUSED && strstr(err.text, "setuid");
}

static bool refuses_to_be_setgid(void)
{
    struct oneib_error err;
    return setresgid(65534, 0, 0) == 0 && oneib_vf_drop_privileges(&err) < 0 &&
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(root_keeps_one_capability_at_most),
        cmocka_unit_test(root_without_capabilities_writes_the_files_of_root),
        cmocka_unit_test(a_setuid_or_setgid_program_is_refused),
        cmocka_unit_test(the_environment_is_emptied_but_for_what_the_log_goes_by),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
