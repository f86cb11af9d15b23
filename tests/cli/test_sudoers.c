// SPDX-License-Identifier: Apache-2.0
/* The line for sudo lets OpenNebula's drivers do what they need, and nothing else. */
#include "../skip.h"
#include "run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Where visudo is, whatever the caller's PATH. */
#define PATH "PATH=/usr/sbin:/usr/bin:/sbin:/bin "

static int run_shell(const char *line, char *said, size_t size)
{
    FILE *pipe = popen(line, "r");
    assert_non_null(pipe);
    said[fread(said, 1, size - 1, pipe)] = '\0';
    const int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void read_line(char *line, size_t size)
{
    FILE *file = fopen(ONEIB_SUDOERS, "r");
    assert_non_null(file);
    do
        assert_non_null(fgets(line, (int)size, file));
    while (line[0] == '#');
    char more[8];
    assert_null(fgets(more, sizeof more, file));
    fclose(file);
}

static void visudo_takes_the_line(void **state)
{
    (void)state;
    char said[4096];
    if (run_shell(PATH "command -v visudo", said, sizeof said) != 0) {
        skip_because("there is no visudo here");
    }
    /* A copy, because what was made by a build need not have the mode that it asks for. */
    if (run_shell(PATH "t=$(mktemp) && cp '" ONEIB_SUDOERS "' $t && chmod 0440 $t && "
                       "visudo -c -s -f $t 2>&1; s=$?; rm -f $t; exit $s",
                  said, sizeof said) != 0)
        fail_msg("%s", said);
}

static void one_line_names_the_verbs_that_drivers_need(void **state)
{
    (void)state;
    char line[1024];
    read_line(line, sizeof line);
    assert_string_equal(line, "oneadmin ALL=(root:root) NOPASSWD: " ONEIB_LIBEXEC
                              "/oneib-vf assign *, " ONEIB_LIBEXEC
                              "/oneib-vf release *, " ONEIB_LIBEXEC "/oneib-vf show\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(visudo_takes_the_line),
        cmocka_unit_test(one_line_names_the_verbs_that_drivers_need),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
