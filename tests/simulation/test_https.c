// SPDX-License-Identifier: Apache-2.0
/*
 * oned behind HTTPS, as operators put it: socat holds the certificate and passes on to the
 * stand-in. The session is a password, so whoever cannot show a trusted certificate must not get
 * it.
 */
#include "../ports.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "lab.h"
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../skip.h"
#include <cmocka.h>

#define TIMEOUT_MS 30000
#define TRUSTED_CERTIFICATES "/etc/ssl/certs/ca-certificates.crt"

static struct lab *lab;

#define MUST(call)                                                                                 \
    do {                                                                                           \
        if ((call) < 0)                                                                            \
            fail_msg("%s", err.text);                                                              \
    } while (0)

/* 0 when the program ended with 0, 1 when it did not or is not there. */
static int run(const char *const *argv)
{
    struct oneib_error err = {0};
    struct lab_output output = {0};
    if (lab_run(lab, NULL, argv, TIMEOUT_MS, &output, &err) < 0)
        return 1;
    const int status = output.status;
    lab_output_clear(&output);
    return status == 0 ? 0 : 1;
}

static void needs(const char *what, const char *const *argv)
{
    if (run(argv) == 0)
        return;
    skip_because("%s", what);
}

static bool listens(unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool connected = connect(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    return connected;
}

/* socat, from a port of its own to the stand-in's. */
static unsigned start_tls(void)
{
    struct oneib_error err = {0};
    const unsigned port = free_port();
    unsigned standin_port = 0;
    assert_int_equal(sscanf(lab_endpoint(lab), "http://127.0.0.1:%u", &standin_port), 1);

    char from[512], to[64];
    snprintf(from, sizeof from,
             "OPENSSL-LISTEN:%u,bind=127.0.0.1,reuseaddr,fork,verify=0,cert=cert.pem,key=key.pem",
             port);
    snprintf(to, sizeof to, "TCP4:127.0.0.1:%u", standin_port);
    pid_t pid;
    MUST(lab_spawn(lab, "socat", NULL, (const char *[]){"socat", from, to, NULL}, &pid, &err));
    for (int i = 0; i < 500 && !listens(port); i++)
        lab_sleep_ms(10);
    return port;
}

/* The lab's configuration with another endpoint. */
static void write_config(unsigned port)
{
    struct oneib_error err = {0};
    oneib_autofree char *config = NULL;
    size_t length;
    MUST(lab_config_write(lab, NULL, &err));
    MUST(oneib_file_read(lab_config_path(lab), (size_t)1 << 16, &config, &length, &err));
    char *endpoint = strstr(config, lab_endpoint(lab));
    assert_non_null(endpoint);

    oneib_autotext struct oneib_text text = {0};
    oneib_text_append_bytes(&text, config, (size_t)(endpoint - config));
    oneib_text_printf(&text, "https://127.0.0.1:%u/RPC2", port);
    oneib_text_append(&text, endpoint + strlen(lab_endpoint(lab)));
    MUST(lab_write(lab, "oneib.conf", 0600, text.data, &err));
}

static void raise_tls(void)
{
    needs("openssl is not installed", (const char *[]){"openssl", "version", NULL});
    needs("socat is not installed", (const char *[]){"socat", "-V", NULL});
    assert_int_equal(
        run((const char *[]){"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout",
                             "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=127.0.0.1",
                             "-addext", "subjectAltName=IP:127.0.0.1", NULL}),
        0);
    write_config(start_tls());
}

static void a_certificate_that_nobody_vouches_for_is_refused(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct lab_output output = {0};
    unsigned before, after;
    raise_tls();
    MUST(lab_calls(lab, "one.system.config", &before, &err));
    MUST(lab_oneib(lab, (const char *[]){"list", "--no-fabric", NULL}, TIMEOUT_MS, &output, &err));
    assert_int_equal(output.status, 3);
    if (!strstr(output.error, "certificate"))
        fail_msg("the error does not speak of a certificate: %s", output.error);
    assert_null(strstr(output.error, strchr(lab_session(lab), ':') + 1));
    lab_output_clear(&output);
    MUST(lab_calls(lab, "one.system.config", &after, &err));
    assert_int_equal(after, before);
}

static void a_trusted_certificate_is_talked_to(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct lab_output output = {0};
    if (access(TRUSTED_CERTIFICATES, R_OK) < 0) {
        skip_because("%s is not there to be covered", TRUSTED_CERTIFICATES);
    }
    needs("no mount namespace can be made here",
          (const char *[]){"unshare", "-rm", "mount", "--bind", "/dev/null", TRUSTED_CERTIFICATES,
                           NULL});
    raise_tls();
    /* Among the trusted ones only for this one process, in a mount namespace of its own. */
    const char *const argv[] = {"unshare",
                                "-rm",
                                "sh",
                                "-c",
                                "mount --bind cert.pem " TRUSTED_CERTIFICATES
                                " && exec \"$0\" --config \"$1\" list --no-fabric",
                                ONEIB_BINARY,
                                lab_config_path(lab),
                                NULL};
    MUST(lab_run(lab, NULL, argv, TIMEOUT_MS, &output, &err));
    if (output.status != 0)
        fail_msg("list ended with %d: %s%s", output.status, output.out, output.error);
    lab_output_clear(&output);
}

static int raise_lab(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    const struct lab_options options = LAB_DEFAULTS;
    lab = lab_open(&options, &err);
    if (!lab || lab_standin_start(lab, NULL, &err) < 0) {
        print_error("%s\n", err.text);
        return -1;
    }
    return 0;
}

static int end_lab(void **state)
{
    (void)state;
    lab_close(lab);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_certificate_that_nobody_vouches_for_is_refused, raise_lab,
                                        end_lab),
        cmocka_unit_test_setup_teardown(a_trusted_certificate_is_talked_to, raise_lab, end_lab),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
