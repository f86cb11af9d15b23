// SPDX-License-Identifier: Apache-2.0
/*
 * A stand-in for NVIDIA's UFM: its REST interface over HTTPS, on this machine alone, as far as
 * oneib and its tests use it, by what is published. It is no UFM, and was compared with none.
 *
 *   ufm-standin PORT CERT KEY SECRETS CLIENTS ORDERS LOG [PARTITIONS PID_FILES]
 *
 * SECRETS: a file of "Basic ..." lines, what an Authorization header may be: base64 of a user and a
 * password under /ufmRest, a token under /ufmRestV3. CLIENTS: certificates; whoever shows one of
 * them needs no header. ORDERS: ufm_orders.h. LOG: a line for each
 * call, "METHOD PATH STATUS". PARTITIONS and PID_FILES: ufm_follow.h.
 */
#include "ufm_follow.h"
#include "ufm_orders.h"
#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define V1 "/ufmRest"
#define V3 "/ufmRestV3"

/* opensm sleeps through some signals; it is told again, ever more seldom. */
static const unsigned tell_after_ms[] = {0, 250, 750, 2000, 5000, 10000};

static struct {
    const char *secrets, *orders_path, *log, *partitions, *pid_file;
    struct ufm_model model;
    struct ufm_orders orders;
    double away_until; /* ms */
    double changed_at;
    size_t told; /* of tell_after_ms, since then */
    pthread_mutex_t lock;
} standin = {.lock = PTHREAD_MUTEX_INITIALIZER,
             .told = sizeof tell_after_ms / sizeof tell_after_ms[0]};

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static char *read_all(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = calloc(1, 65536);
    if (!file || !text || fread(text, 1, 65535, file) == 0) {
        fprintf(stderr, "ufm-standin: reading %s: %m\n", path);
        exit(1);
    }
    fclose(file);
    return text;
}

/* ---- a call ---------------------------------------------------------------------------------- */

struct call {
    char *body;
    size_t length;
};

/* Whoever shows none is still asked for a header. */
static bool shows_a_certificate(struct MHD_Connection *connection)
{
    unsigned why_not;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    return info && gnutls_certificate_verify_peers2(info->tls_session, &why_not) == 0 &&
           why_not == 0;
}

static bool says_a_secret(const char *authorization)
{
    char *secrets = read_all(standin.secrets), *place = NULL;
    bool may = false;
    for (char *line = strtok_r(secrets, "\n", &place); line && !may;
         line = strtok_r(NULL, "\n", &place))
        may = authorization && strcmp(authorization, line) == 0;
    free(secrets);
    return may;
}

/* Behind the prefix; NULL: none of them. */
static const char *behind_prefix(const char *url)
{
    if (strncmp(url, V3 "/", strlen(V3 "/")) == 0)
        return url + strlen(V3);
    return strncmp(url, V1 "/", strlen(V1 "/")) == 0 ? url + strlen(V1) : NULL;
}

static void note(const char *method, const char *path, long status)
{
    FILE *log = fopen(standin.log, "ae");
    if (!log)
        return;
    fprintf(log, "%s %s %ld\n", method, path, status);
    fclose(log);
}

static enum MHD_Result append_argument(void *context, enum MHD_ValueKind kind, const char *name,
                                       const char *value)
{
    char *path = context;
    const size_t length = strlen(path);
    (void)kind;
    snprintf(path + length, 8192 - length, "%c%s=%s", strchr(path, '?') ? '&' : '?', name,
             value ? value : "");
    return MHD_YES;
}

static void follow(void)
{
    if (!standin.model.has_changed)
        return;
    standin.model.has_changed = false;
    ufm_follow_write(&standin.model, standin.partitions);
    standin.changed_at = now_ms();
    standin.told = 0;
}

struct answer {
    long status;
    char *text; /* owned */
    enum ufm_fault fault;
    unsigned milliseconds;
};

static bool is_done(enum ufm_fault fault)
{
    return fault != UFM_REFUSE && fault != UFM_LOSE;
}

static struct answer answer_to(const char *method, const char *path, bool may,
                               const struct call *call)
{
    struct answer answer = {.status = 401};
    pthread_mutex_lock(&standin.lock);
    ufm_orders_take(&standin.orders, standin.orders_path, &standin.model);
    const bool is_away = now_ms() < standin.away_until;
    const struct ufm_order order =
        is_away ? (struct ufm_order){.fault = UFM_LOSE} : ufm_orders_for(&standin.orders, method);
    answer.fault = order.fault;
    answer.milliseconds = order.milliseconds;
    standin.model.puts_half = order.fault == UFM_HALF;
    if (order.fault == UFM_REFUSE)
        answer.status = 503;
    else if (may && is_done(order.fault))
        answer.status =
            ufm_model_answer(&standin.model, method, path, call->body, call->length, &answer.text);
    standin.model.puts_half = false;
    if (order.fault == UFM_RESTART)
        standin.away_until = now_ms() + order.milliseconds;
    follow();
    note(method, path, is_away ? 0 : answer.status);
    pthread_mutex_unlock(&standin.lock);
    return answer;
}

/* Half of what was promised, and then the end. */
static ssize_t break_off(void *context, uint64_t position, char *buffer, size_t size)
{
    const char *text = context;
    const size_t half = strlen(text) / 2;
    if (position >= half)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    size = size < half - position ? size : half - position;
    memcpy(buffer, text + position, size);
    return (ssize_t)size;
}

static enum MHD_Result reply(struct MHD_Connection *connection, struct answer *answer)
{
    struct MHD_Response *response;
    if (answer->fault == UFM_LOSE || answer->fault == UFM_RESTART) {
        free(answer->text);
        return MHD_NO;
    }
    if (answer->fault == UFM_SLOW)
        usleep(answer->milliseconds * 1000);
    char *text = answer->text ? answer->text : strdup("");
    if (answer->fault == UFM_CUT)
        response =
            MHD_create_response_from_callback(strlen(text) + 64, 1024, break_off, text, free);
    else
        response = MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
    const enum MHD_Result result =
        MHD_queue_response(connection, (unsigned)answer->status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result serve(void *context, struct MHD_Connection *connection, const char *url,
                             const char *method, const char *version, const char *data,
                             size_t *size, void **request)
{
    struct call *call = *request;
    char path[8192];
    (void)context;
    (void)version;
    if (!call) {
        *request = calloc(1, sizeof *call);
        return *request ? MHD_YES : MHD_NO;
    }
    if (*size > 0) {
        char *longer = realloc(call->body, call->length + *size);
        if (!longer)
            return MHD_NO;
        call->body = longer;
        memcpy(longer + call->length, data, *size);
        call->length += *size;
        *size = 0;
        return MHD_YES;
    }
    const char *behind = behind_prefix(url);
    snprintf(path, sizeof path, "%s", behind ? behind : "/");
    MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, append_argument, path);
    const bool may =
        says_a_secret(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization")) ||
        shows_a_certificate(connection);
    struct answer answer = answer_to(method, path, may, call);
    return reply(connection, &answer);
}

static void end_call(void *context, struct MHD_Connection *connection, void **request,
                     enum MHD_RequestTerminationCode code)
{
    struct call *call = *request;
    (void)context;
    (void)connection;
    (void)code;
    if (call)
        free(call->body);
    free(call);
    *request = NULL;
}

/* ---- the program ----------------------------------------------------------------------------- */

static void tell_when_due(void)
{
    pthread_mutex_lock(&standin.lock);
    if (standin.told < sizeof tell_after_ms / sizeof tell_after_ms[0] &&
        now_ms() >= standin.changed_at + tell_after_ms[standin.told]) {
        standin.told++;
        ufm_follow_tell(standin.pid_file);
    }
    pthread_mutex_unlock(&standin.lock);
}

static volatile sig_atomic_t is_over;

static void end(int signal_number)
{
    (void)signal_number;
    is_over = 1;
}

int main(int argc, char **argv)
{
    if (argc != 8 && argc != 10) {
        fputs(
            "usage: ufm-standin PORT CERT KEY SECRETS CLIENTS ORDERS LOG [PARTITIONS PID_FILES]\n",
            stderr);
        return 2;
    }
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)atoi(argv[1])),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    standin.secrets = argv[4];
    standin.orders_path = argv[6];
    standin.log = argv[7];
    standin.partitions = argc > 8 ? argv[8] : NULL;
    standin.pid_file = argc > 8 ? argv[9] : NULL;
    ufm_model_begin(&standin.model);
    ufm_orders_take(&standin.orders, standin.orders_path, &standin.model);
    standin.model.has_changed = true; /* a subnet manager that has just started reads its files */
    follow();
    signal(SIGTERM, end);
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_TLS,
        (uint16_t)atoi(argv[1]), NULL, NULL, serve, NULL, MHD_OPTION_SOCK_ADDR, &address,
        MHD_OPTION_HTTPS_MEM_CERT, read_all(argv[2]), MHD_OPTION_HTTPS_MEM_KEY, read_all(argv[3]),
        MHD_OPTION_HTTPS_MEM_TRUST, read_all(argv[5]), MHD_OPTION_NOTIFY_COMPLETED, end_call, NULL,
        MHD_OPTION_END);
    if (!daemon) {
        fputs("ufm-standin: no HTTPS there\n", stderr);
        return 1;
    }
    puts("ready");
    fflush(stdout);
    for (; !is_over; usleep(10000))
        tell_when_due();
    MHD_stop_daemon(daemon);
    ufm_model_clear(&standin.model);
    return 0;
}
