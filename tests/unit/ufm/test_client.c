// SPDX-License-Identifier: Apache-2.0
/* Calls over HTTPS, to a server that shows what it was asked. Its certificates are made here, by
 * openssl. */
#include "../../ports.h"
#include "../base/scratch.h"
#include "base/command.h"
#include "base/file.h"
#include "ufm/ufm_client.h"
#include <fcntl.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "../../skip.h"

#define TIMEOUT_MS 2000
#define PASSWORD "oneib:secret-of-the-test"
#define TOKEN "t0kenofthetest"
#define LONG_MAX_TEXT 256

/* ---- the server ------------------------------------------------------------------------------ */

enum behaviour { ANSWERS, REDIRECTS, IS_CUT, IS_SLOW, IS_ENDLESS };

static struct {
    struct MHD_Daemon *daemon;
    unsigned port;
    enum behaviour behaviour;
    unsigned requests, connections;
    char method[16], url[LONG_MAX_TEXT], authorization[LONG_MAX_TEXT], body[LONG_MAX_TEXT];
} server;
static struct oneib_error err;

static ssize_t endless(void *context, uint64_t position, char *buffer, size_t size)
{
    (void)position;
    memset(buffer, 'a', size);
    if (context && position > 0)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    return (ssize_t)size;
}

static struct MHD_Response *make_answer(unsigned *status)
{
    static char text[] = "{\"it\":\"answers\"}";
    *status = server.behaviour == REDIRECTS ? MHD_HTTP_FOUND : MHD_HTTP_OK;
    if (server.behaviour == IS_SLOW)
        usleep(1000 * (TIMEOUT_MS + 500));
    if (server.behaviour == IS_CUT)
        return MHD_create_response_from_callback(100000, 1024, endless, &server, NULL);
    if (server.behaviour == IS_ENDLESS)
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 1 << 20, endless, NULL, NULL);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_PERSISTENT);
    char place[64];
    snprintf(place, sizeof place, "https://127.0.0.1:%u/elsewhere", server.port);
    if (server.behaviour == REDIRECTS)
        MHD_add_response_header(response, "Location", place);
    return response;
}

static void note(char *field, const char *value)
{
    snprintf(field, LONG_MAX_TEXT, "%s", value ? value : "");
}

static enum MHD_Result serve(void *context, struct MHD_Connection *connection, const char *url,
                             const char *method, const char *version, const char *data,
                             size_t *size, void **request)
{
    static int begun;
    (void)context;
    (void)version;
    if (!*request) {
        *request = &begun;
        server.body[0] = '\0';
        return MHD_YES;
    }
    if (*size > 0) {
        snprintf(server.body + strlen(server.body), LONG_MAX_TEXT - strlen(server.body), "%.*s",
                 (int)*size, data);
        *size = 0;
        return MHD_YES;
    }
    server.requests++;
    snprintf(server.method, sizeof server.method, "%s", method);
    note(server.url, url);
    note(server.authorization,
         MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization"));
    unsigned status;
    struct MHD_Response *response = make_answer(&status);
    const enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static void count_connection(void *context, struct MHD_Connection *connection,
                             void **socket_context, enum MHD_ConnectionNotificationCode code)
{
    (void)context;
    (void)connection;
    (void)socket_context;
    server.connections += code == MHD_CONNECTION_NOTIFY_STARTED;
}

static char *read_text(const char *name)
{
    char *data;
    size_t length;
    if (oneib_file_read(in_scratch(name), 65536, &data, &length, &err) < 0)
        fail_msg("%s", err.text);
    return data;
}

static void start_server(const char *certificate)
{
    char *cert = read_text(certificate), *key = read_text("key.pem");
    server.port = free_port();
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)server.port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    server.daemon =
        MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_TLS, (uint16_t)server.port, NULL,
                         NULL, serve, NULL, MHD_OPTION_SOCK_ADDR, &address,
                         MHD_OPTION_HTTPS_MEM_CERT, cert, MHD_OPTION_HTTPS_MEM_KEY, key,
                         MHD_OPTION_NOTIFY_CONNECTION, count_connection, NULL, MHD_OPTION_END);
    assert_non_null(server.daemon);
    free(cert);
    free(key);
}

static void stop_server(void)
{
    if (server.daemon)
        MHD_stop_daemon(server.daemon);
    memset(&server, 0, sizeof server);
}

/* ---- certificates ---------------------------------------------------------------------------- */

static int make_certificate(const char *name, const char *alternative)
{
    char subject[128];
    snprintf(subject, sizeof subject, "subjectAltName=%s", alternative);
    const char *argv[] = {"openssl",
                          "req",
                          "-x509",
                          "-newkey",
                          "ec",
                          "-pkeyopt",
                          "ec_paramgen_curve:P-256",
                          "-nodes",
                          "-days",
                          "2",
                          "-subj",
                          "/CN=ufm",
                          "-addext",
                          subject,
                          "-keyout",
                          in_scratch("key.pem"),
                          "-out",
                          in_scratch(name),
                          NULL};
    char output[4096];
    return oneib_command_run(argv, 20000, output, sizeof output, &err);
}

static void write_closed(const char *name, const char *text)
{
    if (oneib_file_replace(in_scratch(name), text, strlen(text), 0600, NULL, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

static bool has_openssl;

static int begin_all(void **state)
{
    if (make_scratch(state) < 0)
        return -1;
    has_openssl = make_certificate("other.pem", "IP:127.0.0.2") == 0 &&
                  rename(in_scratch("key.pem"), in_scratch("other-key.pem")) == 0 &&
                  make_certificate("cert.pem", "IP:127.0.0.1") == 0;
    return 0;
}

static int begin(void **state)
{
    (void)state;
    err = (struct oneib_error){0};
    if (!has_openssl)
        skip_because("openssl, which makes the server's certificate, does not run here");
    write_closed("password", PASSWORD "\n");
    write_closed("token", TOKEN "\n");
    start_server("cert.pem");
    return 0;
}

static int end(void **state)
{
    (void)state;
    stop_server();
    return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

/* ---- the client ------------------------------------------------------------------------------ */

static char url[64], ca[PATH_MAX], secret[PATH_MAX];

static struct oneib_ufm_access access_by(enum oneib_ufm_auth auth, const char *file)
{
    snprintf(url, sizeof url, "https://127.0.0.1:%u", server.port);
    snprintf(ca, sizeof ca, "%s", in_scratch("cert.pem"));
    snprintf(secret, sizeof secret, "%s", in_scratch(file));
    return (struct oneib_ufm_access){
        .url = url, .ca = ca, .auth = auth, .secret = secret, .timeout_ms = TIMEOUT_MS};
}

static const struct oneib_ufm_call get = {"GET", "/resources/pkeys?guids_data=true", NULL};

static int ask_once(const struct oneib_ufm_access *access, const struct oneib_ufm_call *call,
                    struct oneib_ufm_reply *reply)
{
    struct oneib_ufm_client *client = oneib_ufm_client_open(access, &err);
    if (!client)
        return -1;
    const struct oneib_ufm_link link = oneib_ufm_client_link(client);
    const int status = link.ask(link.context, call, reply, &err);
    oneib_ufm_client_close(client);
    return status;
}

static void fails(const struct oneib_ufm_access *access, enum oneib_error_code code)
{
    struct oneib_ufm_reply reply;
    if (ask_once(access, &get, &reply) == 0)
        fail_msg("it was answered: %s", reply.data);
    if (err.code != code)
        fail_msg("%s", err.text);
    assert_null(strstr(err.text, "secret-of-the-test"));
    assert_null(strstr(err.text, TOKEN));
}

static void answers(const struct oneib_ufm_access *access, const struct oneib_ufm_call *call,
                    long status)
{
    struct oneib_ufm_reply reply;
    if (ask_once(access, call, &reply) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(reply.status, status);
    assert_string_equal(reply.data, "{\"it\":\"answers\"}");
    assert_int_equal(reply.length, strlen(reply.data));
    oneib_ufm_reply_clear(&reply);
}

static void a_password_is_shown_under_ufms_first_prefix(void **state)
{
    (void)state;
    const struct oneib_ufm_access access = access_by(ONEIB_UFM_BASIC, "password");
    answers(&access, &get, 200);
    assert_string_equal(server.url, "/ufmRest/resources/pkeys");
    /* base64 of the password above */
    assert_string_equal(server.authorization, "Basic b25laWI6c2VjcmV0LW9mLXRoZS10ZXN0");
}

static void a_token_is_shown_as_it_is_under_the_third(void **state)
{
    (void)state;
    const struct oneib_ufm_access access = access_by(ONEIB_UFM_TOKEN, "token");
    answers(&access, &get, 200);
    assert_string_equal(server.url, "/ufmRestV3/resources/pkeys");
    assert_string_equal(server.authorization, "Basic " TOKEN);
}

static void methods_and_bodies_arrive_as_they_are(void **state)
{
    (void)state;
    const struct oneib_ufm_access access = access_by(ONEIB_UFM_BASIC, "password");
    answers(&access, &(struct oneib_ufm_call){"PUT", "/resources/pkeys/", "{\"pkey\":\"0x1\"}"},
            200);
    assert_string_equal(server.method, "PUT");
    assert_string_equal(server.body, "{\"pkey\":\"0x1\"}");
    answers(&access, &(struct oneib_ufm_call){"DELETE", "/resources/pkeys/0x31a", NULL}, 200);
    assert_string_equal(server.method, "DELETE");
    assert_string_equal(server.body, "");
}

static void one_connection_serves_many_calls(void **state)
{
    (void)state;
    const struct oneib_ufm_access access = access_by(ONEIB_UFM_BASIC, "password");
    struct oneib_ufm_client *client = oneib_ufm_client_open(&access, &err);
    assert_non_null(client);
    const struct oneib_ufm_link link = oneib_ufm_client_link(client);
    for (unsigned i = 0; i < 5; i++) {
        struct oneib_ufm_reply reply;
        assert_int_equal(link.ask(link.context, &get, &reply, &err), 0);
        oneib_ufm_reply_clear(&reply);
    }
    oneib_ufm_client_close(client);
    assert_int_equal(server.requests, 5);
    assert_int_equal(server.connections, 1);
}

/* The attacker: whoever can answer in UFM's place. */
static void whoever_cannot_show_a_trusted_certificate_gets_no_password(void **state)
{
    (void)state;
    struct oneib_ufm_access access = access_by(ONEIB_UFM_BASIC, "password");
    access.ca = NULL;
    fails(&access, ONEIB_ERROR_AUTH);
    snprintf(ca, sizeof ca, "%s", in_scratch("other.pem"));
    access.ca = ca;
    fails(&access, ONEIB_ERROR_AUTH);
    assert_int_equal(server.requests, 0);
}

static void a_certificate_of_another_host_is_not_trusted(void **state)
{
    (void)state;
    stop_server();
    assert_int_equal(rename(in_scratch("key.pem"), in_scratch("kept-key.pem")), 0);
    assert_int_equal(rename(in_scratch("other-key.pem"), in_scratch("key.pem")), 0);
    start_server("other.pem");
    assert_int_equal(rename(in_scratch("key.pem"), in_scratch("other-key.pem")), 0);
    assert_int_equal(rename(in_scratch("kept-key.pem"), in_scratch("key.pem")), 0);
    struct oneib_ufm_access access = access_by(ONEIB_UFM_BASIC, "password");
    snprintf(ca, sizeof ca, "%s", in_scratch("other.pem"));
    fails(&access, ONEIB_ERROR_AUTH);
    assert_int_equal(server.requests, 0);
}

static void only_https_is_spoken_and_nothing_but_a_host_named(void **state)
{
    static const char *const wrong[] = {"http://ufm",       "https://",        "ufm",
                                        "https://ufm/",     "https://a:b@ufm", "https://ufm?a",
                                        "https://ufm/rest", "HTTPS://ufm#a",   "file:///etc"};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct oneib_ufm_access access = access_by(ONEIB_UFM_BASIC, "password");
        access.url = wrong[i];
        fails(&access, ONEIB_ERROR_CONFIG);
    }
}

static void a_redirection_is_an_answer_and_is_not_followed(void **state)
{
    (void)state;
    server.behaviour = REDIRECTS;
    const struct oneib_ufm_access access = access_by(ONEIB_UFM_BASIC, "password");
    answers(&access, &get, 302);
    assert_int_equal(server.requests, 1);
}

static void no_proxy_of_the_environment_is_asked(void **state)
{
    (void)state;
    setenv("https_proxy", "http://127.0.0.1:1", 1);
    const struct oneib_ufm_access access = access_by(ONEIB_UFM_BASIC, "password");
    answers(&access, &get, 200);
    unsetenv("https_proxy");
}

static void a_secret_that_others_may_read_is_not_used(void **state)
{
    (void)state;
    const struct oneib_ufm_access access = access_by(ONEIB_UFM_BASIC, "password");
    assert_int_equal(chmod(secret, 0640), 0);
    fails(&access, ONEIB_ERROR_REFUSED);
    assert_int_equal(chmod(secret, 0604), 0);
    fails(&access, ONEIB_ERROR_REFUSED);
    assert_int_equal(unlink(secret), 0);
    fails(&access, ONEIB_ERROR_REFUSED);
    assert_int_equal(server.requests, 0);
}

static void a_secret_is_one_word_and_adds_no_header(void **state)
{
    static const char *const wrong[] = {
        "", "\n", "a:b\nX-Other: yes\n", "a:b\r\n\r\n", "a:b c\n", "nocolon\n", "a:\x01\n"};
    (void)state;
    const struct oneib_ufm_access access = access_by(ONEIB_UFM_BASIC, "password");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_closed("password", wrong[i]);
        fails(&access, ONEIB_ERROR_REFUSED);
    }
    assert_int_equal(server.requests, 0);
}

static void a_secret_that_is_changed_is_the_next_calls(void **state)
{
    (void)state;
    const struct oneib_ufm_access access = access_by(ONEIB_UFM_TOKEN, "token");
    struct oneib_ufm_client *client = oneib_ufm_client_open(&access, &err);
    assert_non_null(client);
    const struct oneib_ufm_link link = oneib_ufm_client_link(client);
    for (unsigned i = 0; i < 2; i++) {
        struct oneib_ufm_reply reply;
        assert_int_equal(link.ask(link.context, &get, &reply, &err), 0);
        oneib_ufm_reply_clear(&reply);
        assert_string_equal(server.authorization, i == 0 ? "Basic " TOKEN : "Basic another");
        write_closed("token", "another\n");
    }
    oneib_ufm_client_close(client);
}

static void a_cut_answer_is_none(void **state)
{
    (void)state;
    server.behaviour = IS_CUT;
    const struct oneib_ufm_access access = access_by(ONEIB_UFM_BASIC, "password");
    fails(&access, ONEIB_ERROR_UNREACHABLE);
}

static void a_slow_answer_is_waited_for_no_longer_than_it_may_take(void **state)
{
    (void)state;
    server.behaviour = IS_SLOW;
    const struct oneib_ufm_access access = access_by(ONEIB_UFM_BASIC, "password");
    fails(&access, ONEIB_ERROR_TIMEOUT);
}

static void an_answer_without_an_end_is_not_taken_in(void **state)
{
    (void)state;
    server.behaviour = IS_ENDLESS;
    struct oneib_ufm_access access = access_by(ONEIB_UFM_BASIC, "password");
    access.timeout_ms = 60000;
    fails(&access, ONEIB_ERROR_TOO_LARGE);
}

static void nobody_there_is_an_error_that_names_the_place(void **state)
{
    (void)state;
    const struct oneib_ufm_access access = access_by(ONEIB_UFM_BASIC, "password");
    stop_server();
    fails(&access, ONEIB_ERROR_UNREACHABLE);
    assert_non_null(strstr(err.text, url));
}

/* ---- a client's certificate ------------------------------------------------------------------ */

static pid_t serve_those_with_a_certificate(unsigned port)
{
    char text[16];
    snprintf(text, sizeof text, "%u", port);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const int null = open("/dev/null", O_RDWR);
        dup2(null, 0);
        dup2(null, 1);
        dup2(null, 2);
        execlp("openssl", "openssl", "s_server", "-accept", text, "-4", "-quiet", "-www", "-cert",
               in_scratch("cert.pem"), "-key", in_scratch("key.pem"), "-CAfile",
               in_scratch("cert.pem"), "-Verify", "1", "-verify_return_error", (char *)NULL);
        _exit(127);
    }
    return pid;
}

static int ask_patiently(const struct oneib_ufm_access *access, struct oneib_ufm_reply *reply)
{
    for (unsigned i = 0; i < 200; i++) {
        if (ask_once(access, &get, reply) == 0)
            return 0;
        usleep(20000);
    }
    return -1;
}

static void a_certificate_says_who_asks(void **state)
{
    (void)state;
    stop_server();
    server.port = free_port();
    const pid_t pid = serve_those_with_a_certificate(server.port);
    struct oneib_ufm_access access = access_by(ONEIB_UFM_CERTIFICATE, "key.pem");
    access.certificate = ca;
    struct oneib_ufm_reply reply;
    const int with = ask_patiently(&access, &reply);
    const long status = with == 0 ? reply.status : 0;
    if (with == 0)
        oneib_ufm_reply_clear(&reply);
    const struct oneib_ufm_access without = access_by(ONEIB_UFM_BASIC, "password");
    const int refused = ask_once(&without, &get, &reply);
    if (refused == 0)
        oneib_ufm_reply_clear(&reply);
    kill(pid, SIGTERM);
    waitpid(pid, NULL, 0);
    assert_int_equal(with, 0);
    assert_int_equal(status, 200);
    assert_int_equal(refused, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_password_is_shown_under_ufms_first_prefix),
        TEST(a_token_is_shown_as_it_is_under_the_third),
        TEST(methods_and_bodies_arrive_as_they_are),
        TEST(one_connection_serves_many_calls),
        TEST(whoever_cannot_show_a_trusted_certificate_gets_no_password),
        TEST(a_certificate_of_another_host_is_not_trusted),
        TEST(only_https_is_spoken_and_nothing_but_a_host_named),
        TEST(a_redirection_is_an_answer_and_is_not_followed),
        TEST(no_proxy_of_the_environment_is_asked),
        TEST(a_secret_that_others_may_read_is_not_used),
        TEST(a_secret_is_one_word_and_adds_no_header),
        TEST(a_secret_that_is_changed_is_the_next_calls),
        TEST(a_cut_answer_is_none),
        TEST(a_slow_answer_is_waited_for_no_longer_than_it_may_take),
        TEST(an_answer_without_an_end_is_not_taken_in),
        TEST(nobody_there_is_an_error_that_names_the_place),
        TEST(a_certificate_says_who_asks),
    };
    return cmocka_run_group_tests(tests, begin_all, remove_scratch);
}
