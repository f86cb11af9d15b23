// SPDX-License-Identifier: Apache-2.0
#include "lab_ufm.h"
#include "../ports.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "lab_internal.h"
#include "ufm/ufm_client.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "ufm-standin"
#define LOG "ufm.calls"
#define ORDERS "ufm.orders"
#define TOKEN "standin-token"
#define TIMEOUT_MS 20000u

bool lab_ufm_can_be_had(void)
{
    char path[PATH_MAX];
    struct oneib_error ignored;
    return lab_find_program("openssl", LAB_PATH, path, &ignored) == 0;
}

/* Its own authority: NAME-ca.pem, NAME-key.pem. */
static int make_certificate(struct lab *lab, const char *name, struct oneib_error *err)
{
    char key[32], certificate[32], subject[32];
    snprintf(key, sizeof key, "%s-key.pem", name);
    snprintf(certificate, sizeof certificate, "%s-ca.pem", name);
    snprintf(subject, sizeof subject, "/CN=%s", name);
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
                          subject,
                          "-addext",
                          "subjectAltName=IP:127.0.0.1",
                          "-keyout",
                          key,
                          "-out",
                          certificate,
                          NULL};
    struct lab_output output = {0};
    if (lab_run(lab, NULL, argv, TIMEOUT_MS, &output, err) < 0)
        return -1;
    const int status = output.status == 0
                           ? 0
                           : oneib_fail(err, ONEIB_ERROR_SYSTEM, "openssl ended with %d: %s",
                                        output.status, output.error);
    lab_output_clear(&output);
    return status;
}

/* "admin:123456", and the token. */
static int write_secrets(struct lab *lab, struct oneib_error *err)
{
    return lab_write(lab, "ufm.secrets", 0600, "Basic YWRtaW46MTIzNDU2\nBasic " TOKEN "\n", err) <
                       0 ||
                   lab_write(lab, "ufm.token", 0600, TOKEN "\n", err) < 0 ||
                   lab_write(lab, "ufm.password", 0600, "admin:123456\n", err) < 0
               ? -1
               : 0;
}

static int start(struct lab *lab, struct oneib_error *err)
{
    char port[16];
    pid_t pid;
    snprintf(port, sizeof port, "%u", lab->ufm_port);
    const char *argv[] = {LAB_UFM_STANDIN,
                          port,
                          "ufm-ca.pem",
                          "ufm-key.pem",
                          "ufm.secrets",
                          "client-ca.pem",
                          ORDERS,
                          LOG,
                          "partitions.conf",
                          "opensm.pid,standby.pid",
                          NULL};
    const long begin = lab_size(lab, NAME ".log");
    return lab_spawn(lab, NAME, NULL, argv, &pid, err) < 0 ||
                   lab_await_text(lab, NAME ".log", begin, "ready", pid, TIMEOUT_MS, err) < 0
               ? -1
               : 0;
}

int lab_ufm_start(struct lab *lab, const char *orders, struct oneib_error *err)
{
    if (lab->ufm_port == 0) {
        lab->ufm_port = free_port();
        if (make_certificate(lab, "ufm", err) < 0 || make_certificate(lab, "client", err) < 0 ||
            make_certificate(lab, "stranger", err) < 0 || write_secrets(lab, err) < 0)
            return -1;
    }
    return (orders && lab_ufm_order(lab, orders, err) < 0) || start(lab, err) < 0 ? -1 : 0;
}

int lab_ufm_stop(struct lab *lab, struct oneib_error *err)
{
    return lab_end(lab, lab_child_pid(lab, NAME), SIGTERM, TIMEOUT_MS, err);
}

/* Whole, or not there. */
int lab_ufm_order(struct lab *lab, const char *orders, struct oneib_error *err)
{
    if (lab_write(lab, ORDERS ".new", 0600, orders, err) < 0)
        return -1;
    const char *from = lab_path(lab, ORDERS ".new"), *to = lab_path(lab, ORDERS);
    return rename(from, to) < 0 ? oneib_fail_errno(err, errno, "writing %s", to) : 0;
}

unsigned lab_ufm_calls(struct lab *lab, const char *begin)
{
    oneib_autofree char *log = lab_read(lab, LOG);
    unsigned count = 0;
    for (const char *line = log; *line; line += strcspn(line, "\n"), line += *line == '\n')
        count += strncmp(line, begin, strlen(begin)) == 0;
    return count;
}

int lab_ufm_ask(struct lab *lab, const char *method, const char *path, const char *body,
                char **answer, struct oneib_error *err)
{
    char url[64];
    snprintf(url, sizeof url, "https://127.0.0.1:%u", lab->ufm_port);
    const struct oneib_ufm_access access = {.url = url,
                                            .ca = lab_path(lab, "ufm-ca.pem"),
                                            .auth = ONEIB_UFM_BASIC,
                                            .secret = lab_path(lab, "ufm.password"),
                                            .timeout_ms = TIMEOUT_MS};
    struct oneib_ufm_client *client = oneib_ufm_client_open(&access, err);
    if (!client)
        return -1;
    const struct oneib_ufm_link link = oneib_ufm_client_link(client);
    const struct oneib_ufm_call call = {method, path, body};
    struct oneib_ufm_reply reply = {0};
    int status = link.ask(link.context, &call, &reply, err);
    if (status == 0 && reply.status != 200)
        status = oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "%s %s: %ld, %s", method, path,
                            reply.status, reply.data);
    if (status == 0 && answer) {
        *answer = reply.data;
        reply.data = NULL;
    }
    oneib_ufm_reply_clear(&reply);
    oneib_ufm_client_close(client);
    return status;
}

void lab_ufm_more(struct lab *lab, const char *settings)
{
    lab->ufm_more = settings;
}

void lab_ufm_settings(const struct lab *lab, struct oneib_text *config)
{
    if (lab->ufm_port == 0)
        return;
    oneib_text_printf(config,
                      "sm: { kind = \"ufm\"; };\n"
                      "ufm: {\n  url = \"https://127.0.0.1:%u\";\n  ca = \"%s/ufm-ca.pem\";\n"
                      "  record = \"%s/ufm-record.conf\";\n  timeout = 5000;\n",
                      lab->ufm_port, lab->directory, lab->directory);
    if (!lab->ufm_more || !strstr(lab->ufm_more, "auth"))
        oneib_text_printf(config, "  auth = \"token\";\n  secret = \"%s/ufm.token\";\n",
                          lab->directory);
    oneib_text_printf(config, "  %s\n};\n", lab->ufm_more ? lab->ufm_more : "");
}
