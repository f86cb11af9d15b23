// SPDX-License-Identifier: Apache-2.0
/* Which server at the control socket the command sends its request to. The servers are played. */
#include "../skip.h"
#include "command/control_message.h"
#include "run.h"
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534
#define ANOTHER 65533
#define ANSWER "an answer of the server\n"

static pid_t server;

static const char *configuration(void)
{
    char text[2048];
    write_file("auth", "oneadmin:secret-of-the-test\n");
    snprintf(text, sizeof text,
             "one = { endpoint = \"http://127.0.0.1:1/RPC2\"; auth_file = \"%s\"; };\n"
             "opensm = { partitions = \"%s\"; };\n"
             "daemon = { control = \"%s/control\"; };\n",
             in_directory("auth"), in_directory("partitions.conf"), in_directory("run"));
    write_file("oneib.conf", text);
    return in_directory("oneib.conf");
}

static void answer_clients(int listener)
{
    static const struct oneib_error nothing;
    struct oneib_text bytes = {0};
    struct oneib_command_answer answer = {0};
    oneib_text_append(&answer.out, ANSWER);
    oneib_control_answer_encode(ONEIB_EXIT_DONE, &answer, &nothing, &bytes);
    for (;;) {
        uint8_t request[ONEIB_CONTROL_REQUEST_SIZE];
        const int client = accept(listener, NULL, NULL);
        if (recv(client, request, sizeof request, MSG_WAITALL) == sizeof request)
            (void)!send(client, bytes.data, bytes.length, MSG_NOSIGNAL);
        close(client);
    }
}

/* The peer's credentials are those of listen(). */
static void serve(uid_t uid, int ready)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", in_directory("run/control"));
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 || setgroups(0, NULL) < 0 ||
        setgid(uid) < 0 || setuid(uid) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
        listen(listener, 4) < 0 || write(ready, "", 1) != 1)
        _exit(1);
    answer_clients(listener);
}

/* As uid, in a directory of owner's; root alone can become them. */
static void start_server(uid_t uid, uid_t owner)
{
    int ready[2];
    char byte;
    if (geteuid() != 0)
        skip_because("only root can be another user");
    assert_int_equal(mkdir(in_directory("run"), 0755), 0);
    assert_int_equal(chown(in_directory("run"), owner, owner), 0);
    assert_int_equal(pipe(ready), 0);
    server = fork();
    if (server == 0)
        serve(uid, ready[1]);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
}

static int end_server(void **state)
{
    if (server > 0) {
        kill(server, SIGKILL);
        waitpid(server, NULL, 0);
    }
    server = 0;
    return remove_directory(state);
}

static void must_refuse(uid_t uid, uid_t owner)
{
    char words[128];
    start_server(uid, owner);
    const struct outcome *outcome = RUN("list", "--config", configuration());
    assert_int_equal(outcome->status, 3);
    assert_string_equal(outcome->out, "");
    snprintf(words, sizeof words, "oneib: user %u listens at %s", (unsigned)uid,
             in_directory("run/control"));
    assert_contains(outcome->err, words);
    assert_contains(outcome->err, "that is not oneibd");
}

static void must_ask(uid_t uid, uid_t owner)
{
    start_server(uid, owner);
    const struct outcome *outcome = RUN("list", "--config", configuration());
    assert_int_equal(outcome->status, 0);
    assert_string_equal(outcome->out, ANSWER);
}

static void a_server_of_another_user_is_not_asked(void **state)
{
    (void)state;
    must_refuse(NOBODY, 0);
}

static void a_server_of_neither_the_directorys_owner_nor_root_is_not_asked(void **state)
{
    (void)state;
    must_refuse(NOBODY, ANOTHER);
}

static void a_server_of_the_directorys_owner_is_asked(void **state)
{
    (void)state;
    must_ask(NOBODY, NOBODY);
}

static void a_server_of_root_is_asked(void **state)
{
    (void)state;
    must_ask(0, NOBODY);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, make_directory, end_server)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(a_server_of_another_user_is_not_asked),
        WITH_SERVER(a_server_of_neither_the_directorys_owner_nor_root_is_not_asked),
        WITH_SERVER(a_server_of_the_directorys_owner_is_asked),
        WITH_SERVER(a_server_of_root_is_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
