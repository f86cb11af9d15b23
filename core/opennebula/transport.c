// SPDX-License-Identifier: Apache-2.0
#include "opennebula/transport.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/memory.h"
#include "opennebula/one_client.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xmlrpc-c/client.h>

/* A window of 1,000 VMs is about 12 MiB on the wire; xmlrpc-c's own limit is 512 KiB. */
#define ANSWER_SIZE_MAX ((size_t)512 * 1024 * 1024)

#define FAR_CHARACTER_LENGTH 4

struct oneib_transport {
    xmlrpc_client *client;
    xmlrpc_server_info *server;
    const char *endpoint;
    uint32_t timeout_ms;
    const int *interrupt;             /* NULL: none */
    struct oneib_meanwhile meanwhile; /* look NULL: none */
};

/* xmlrpc-c and libcurl have process-wide state, which the first transport sets up and the last
 * takes down. */
static pthread_mutex_t users_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned users;

static bool enter_library(xmlrpc_env *env)
{
    pthread_mutex_lock(&users_lock);
    if (users == 0)
        xmlrpc_client_setup_global_const(env);
    bool entered = !env->fault_occurred;
    if (entered && users++ == 0)
        xmlrpc_limit_set(XMLRPC_XML_SIZE_LIMIT_ID, ANSWER_SIZE_MAX);
    pthread_mutex_unlock(&users_lock);
    return entered;
}

static void leave_library(void)
{
    pthread_mutex_lock(&users_lock);
    if (--users == 0)
        xmlrpc_client_teardown_global_const();
    pthread_mutex_unlock(&users_lock);
}

static void create_client(struct oneib_transport *transport, xmlrpc_env *env)
{
    const struct xmlrpc_curl_xportparms curl = {
        .user_agent = "oneib/" ONEIB_VERSION,
        .timeout = transport->timeout_ms,
        .dont_advertise = 1,
    };
    const struct xmlrpc_clientparms client = {
        .transport = "curl",
        .transportparmsP = &curl,
        .transportparm_size = sizeof curl,
    };
    xmlrpc_client_create(env, XMLRPC_CLIENT_NO_FLAGS, "oneib", ONEIB_VERSION, &client,
                         sizeof client, &transport->client);
    if (!env->fault_occurred)
        transport->server = xmlrpc_server_info_new(env, transport->endpoint);
}

struct oneib_transport *oneib_transport_open(const char *endpoint, uint32_t timeout_ms,
                                             struct oneib_error *err)
{
    xmlrpc_env env;
    struct oneib_transport *transport = oneib_alloc(1, sizeof *transport);
    *transport = (struct oneib_transport){.endpoint = endpoint, .timeout_ms = timeout_ms};

    xmlrpc_env_init(&env);
    bool entered = enter_library(&env);
    if (entered)
        create_client(transport, &env);
    if (env.fault_occurred) {
        oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "cannot set up XML-RPC for %s: %s", endpoint,
                   env.fault_string);
        if (entered)
            oneib_transport_close(transport);
        else
            free(transport);
        transport = NULL;
    }
    xmlrpc_env_clean(&env);
    return transport;
}

void oneib_transport_close(struct oneib_transport *transport)
{
    if (!transport)
        return;
    if (transport->server)
        xmlrpc_server_info_free(transport->server);
    if (transport->client)
        xmlrpc_client_destroy(transport->client);
    free(transport);
    leave_library();
}

void oneib_transport_set_interrupt(struct oneib_transport *transport, int *flag)
{
    transport->interrupt = flag;
    xmlrpc_client_set_interrupt(transport->client, flag);
}

void oneib_transport_set_meanwhile(struct oneib_transport *transport,
                                   const struct oneib_meanwhile *meanwhile)
{
    transport->meanwhile = meanwhile ? *meanwhile : (struct oneib_meanwhile){0};
}

static bool is_interrupted(const struct oneib_transport *transport)
{
    return transport->interrupt && __atomic_load_n(transport->interrupt, __ATOMIC_RELAXED) != 0;
}

void oneib_transport_free_text(const char *text)
{
    void *owned;
    memcpy(&owned, &text, sizeof owned);
    free(owned);
}

/* A password of a few letters is part of many innocent words. */
static bool repeats(const char *text, const char *secret)
{
    const char *password = strchr(secret, ':');
    return strstr(text, secret) ||
           (password && strlen(password + 1) >= 4 && strstr(text, password + 1));
}

void oneib_transport_show(const char *text, const char *secret, char *shown, size_t size)
{
    oneib_autotext struct oneib_text escaped = {0};
    if (repeats(text, secret))
        text = "(withheld: it repeats the session)";
    /* A byte may become four. */
    oneib_text_append_escaped(&escaped, text, size / 4 - 1);
    size_t length = escaped.length;
    while (length > 0 && escaped.data[length - 1] == '.')
        length--;
    snprintf(shown, size, "%.*s", (int)length, escaped.data ? escaped.data : "");
}

/* SIGPIPE is blocked for this thread while libraries write to sockets, and one that came is taken
 * back. */
struct pipe_guard {
    sigset_t old;
    bool was_pending;
};

static void guard_begin(struct pipe_guard *guard)
{
    sigset_t pipe, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    guard->was_pending = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe, &guard->old);
}

static void guard_end(const struct pipe_guard *guard)
{
    sigset_t pipe;
    const struct timespec now = {0};
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    if (!guard->was_pending)
        sigtimedwait(&pipe, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &guard->old, NULL);
}

/* HTTP codes by which a proxy says that oned is not there. */
static bool is_gateway_code(long code)
{
    return code >= 502 && code <= 504;
}

/* libcurl 7's words, and 8's. */
static bool is_cut_off(const char *cause)
{
    return strstr(cause, "partial file") || strstr(cause, "transfer closed") ||
           strstr(cause, "bytes missing");
}

#define ONED_ABSENT "is oned running there, and is one.endpoint right?"

/* xmlrpc-c tells an HTTP code and a failure of libcurl in words only. */
static int fail_transfer(const struct oneib_transport *transport, const xmlrpc_env *env,
                         const char *secret, struct oneib_error *err)
{
    static const char http_words[] = "HTTP response code is ";
    static const char curl_words[] = "explaining:";
    char shown[512];
    const char *http = strstr(env->fault_string, http_words);
    const char *curl = strstr(env->fault_string, curl_words);
    if (is_interrupted(transport))
        return oneib_fail(err, ONEIB_ERROR_TIMEOUT, "stopped: oneib is ending");
    long code = http ? strtol(http + strlen(http_words), NULL, 10) : 0;

    const char *cause = curl ? curl + strlen(curl_words) : env->fault_string;
    oneib_transport_show(cause + strspn(cause, " "), secret, shown, sizeof shown);
    if (env->fault_code == XMLRPC_TIMEOUT_ERROR || strstr(cause, "timed out") ||
        strstr(cause, "Timeout was reached"))
        return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                          "no answer within %u ms; is oned overloaded, or one.timeout too short?",
                          transport->timeout_ms);
    if (is_gateway_code(code))
        return oneib_fail(err, ONEIB_ERROR_UNREACHABLE,
                          "the proxy answers HTTP code %ld; " ONED_ABSENT, code);
    if (http)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                          "the answer is HTTP code %ld; is the endpoint right?", code);
    if (is_cut_off(cause))
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "the answer was cut off: %s", shown);
    if (env->fault_code == XMLRPC_NETWORK_ERROR && curl)
        return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "cannot reach oned: %s; " ONED_ABSENT,
                          shown);
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                      "the answer is not XML-RPC (%s); is the endpoint right?", shown);
}

/* oned's answers have no document type; a page of a web server has, and entities could be declared
 * there. */
static bool has_document_type(const char *answer, size_t length)
{
    return memmem(answer, length, "<!DOCTYPE", 9) || memmem(answer, length, "<!doctype", 9);
}

static int fail_answer(const char *cause, const char *secret, struct oneib_error *err)
{
    char shown[512];
    oneib_transport_show(cause, secret, shown, sizeof shown);
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                      "the answer is not XML-RPC, or was cut off: is the endpoint right? (%s)",
                      shown);
}

static int fail_fault(int code, const char *text, const char *secret, struct oneib_error *err)
{
    char shown[512];
    oneib_transport_show(text, secret, shown, sizeof shown);
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "fault %d: %s", code, shown);
}

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* UTF-8 of a character beyond U+FFFF: four bytes, the first 0xf0-0xf4. */
static bool is_far_character(const char *bytes)
{
    const unsigned char lead = (unsigned char)bytes[0];
    return lead >= 0xf0 && lead <= 0xf4 && is_continuation(bytes[1]) && is_continuation(bytes[2]) &&
           is_continuation(bytes[3]);
}

/*
 * xmlrpc-c refuses an answer with a character beyond U+FFFF. One tenant's VM with such a name must
 * not stop everybody, and no value that oneib understands has one, so question marks take its
 * place. Anything else that is not UTF-8 stays, to be refused.
 */
static void replace_far_characters(char *bytes, size_t length)
{
    for (size_t i = 0; i + FAR_CHARACTER_LENGTH <= length; i++)
        if (is_far_character(bytes + i))
            memset(bytes + i, '?', FAR_CHARACTER_LENGTH);
}

static xmlrpc_value *parse_answer(const xmlrpc_mem_block *answer, const char *secret,
                                  struct oneib_error *err)
{
    xmlrpc_env env;
    xmlrpc_value *result = NULL;
    int fault_code = 0;
    const char *fault_text = NULL;
    const char *bytes = XMLRPC_MEMBLOCK_CONTENTS(const char, answer);
    size_t length = XMLRPC_MEMBLOCK_SIZE(const char, answer);
    if (has_document_type(bytes, length)) {
        fail_answer("it has a document type, like a web page", secret, err);
        return NULL;
    }

    xmlrpc_env_init(&env);
    xmlrpc_parse_response2(&env, bytes, length, &result, &fault_code, &fault_text);
    if (env.fault_code == XMLRPC_LIMIT_EXCEEDED_ERROR) {
        oneib_fail(err, ONEIB_ERROR_TOO_LARGE, "the answer has %zu bytes, more than are read",
                   length);
        result = NULL;
    } else if (env.fault_occurred) {
        fail_answer(env.fault_string, secret, err);
        result = NULL;
    } else if (fault_text) {
        fail_fault(fault_code, fault_text, secret, err);
        oneib_transport_free_text(fault_text);
        result = NULL;
    }
    xmlrpc_env_clean(&env);
    return result;
}

/* The request holds the session: it is overwritten before its memory is freed. */
static void free_request(xmlrpc_mem_block *request)
{
    explicit_bzero(XMLRPC_MEMBLOCK_CONTENTS(char, request), XMLRPC_MEMBLOCK_SIZE(char, request));
    XMLRPC_MEMBLOCK_FREE(char, request);
}

static xmlrpc_mem_block *make_request(const char *method, xmlrpc_value *parameters, xmlrpc_env *env)
{
    xmlrpc_mem_block *request = XMLRPC_MEMBLOCK_NEW(char, env, 0);
    if (!env->fault_occurred)
        xmlrpc_serialize_call2(env, request, method, parameters, xmlrpc_dialect_i8);
    return request;
}

struct call {
    void (*work)(void *context);
    void *context;
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    bool is_done;
};

static void *run(void *data)
{
    struct call *call = data;
    call->work(call->context);
    pthread_mutex_lock(&call->mutex);
    call->is_done = true;
    pthread_cond_signal(&call->ended);
    pthread_mutex_unlock(&call->mutex);
    return NULL;
}

/* false: the time is over. */
static bool await_end(struct call *call, uint32_t milliseconds)
{
    const struct timespec end = oneib_in_ms(milliseconds);
    pthread_mutex_lock(&call->mutex);
    while (!call->is_done && pthread_cond_timedwait(&call->ended, &call->mutex, &end) != ETIMEDOUT)
        continue;
    const bool is_done = call->is_done;
    pthread_mutex_unlock(&call->mutex);
    return is_done;
}

/* Does work(context), and returns when it is done; until then meanwhile->look() is called every
 * meanwhile->every_ms, in the caller's thread. The other thread has the caller's signal mask, and
 * starts nothing that outlives it. Where no thread can be had, the work is done in this one. */
static void call_apart(const struct oneib_meanwhile *meanwhile, void (*work)(void *context),
                       void *context)
{
    struct call call = {.work = work, .context = context, .mutex = PTHREAD_MUTEX_INITIALIZER};
    pthread_condattr_t clock;
    pthread_t thread;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&call.ended, &clock);
    pthread_condattr_destroy(&clock);
    if (pthread_create(&thread, NULL, run, &call) == 0) {
        while (!await_end(&call, meanwhile->every_ms))
            meanwhile->look(meanwhile->context);
        pthread_join(thread, NULL);
    } else {
        work(context);
    }
    pthread_cond_destroy(&call.ended);
    pthread_mutex_destroy(&call.mutex);
}

struct exchange {
    struct oneib_transport *transport;
    xmlrpc_mem_block *request, *answer;
    xmlrpc_env env;
};

static void do_exchange(void *context)
{
    struct exchange *exchange = context;
    struct pipe_guard guard;
    guard_begin(&guard);
    xmlrpc_client_transport_call2(&exchange->env, exchange->transport->client,
                                  exchange->transport->server, exchange->request,
                                  &exchange->answer);
    guard_end(&guard);
}

/* Sends the request; NULL and *err on failure. */
static xmlrpc_mem_block *exchange(struct oneib_transport *transport, xmlrpc_mem_block *request,
                                  const char *secret, struct oneib_error *err)
{
    struct exchange exchange = {.transport = transport, .request = request};
    if (is_interrupted(transport)) {
        oneib_fail(err, ONEIB_ERROR_TIMEOUT, "not sent: oneib is ending");
        return NULL;
    }
    xmlrpc_env_init(&exchange.env);
    if (transport->meanwhile.look)
        call_apart(&transport->meanwhile, do_exchange, &exchange);
    else
        do_exchange(&exchange);
    if (exchange.env.fault_occurred) {
        fail_transfer(transport, &exchange.env, secret, err);
        exchange.answer = NULL;
    }
    xmlrpc_env_clean(&exchange.env);
    return exchange.answer;
}

xmlrpc_value *oneib_transport_call(struct oneib_transport *transport, const char *method,
                                   xmlrpc_value *parameters, const char *secret,
                                   struct oneib_error *err)
{
    xmlrpc_env env;
    xmlrpc_value *result = NULL;
    xmlrpc_env_init(&env);
    xmlrpc_mem_block *request = make_request(method, parameters, &env);
    if (env.fault_occurred) {
        oneib_fail(err, ONEIB_ERROR_INPUT, "cannot write the request: %s", env.fault_string);
    } else {
        xmlrpc_mem_block *answer = exchange(transport, request, secret, err);
        if (answer) {
            replace_far_characters(XMLRPC_MEMBLOCK_CONTENTS(char, answer),
                                   XMLRPC_MEMBLOCK_SIZE(char, answer));
            result = parse_answer(answer, secret, err);
            XMLRPC_MEMBLOCK_FREE(char, answer);
        }
    }
    if (request)
        free_request(request);
    xmlrpc_env_clean(&env);
    return result;
}
