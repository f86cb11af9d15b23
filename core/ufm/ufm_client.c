// SPDX-License-Identifier: Apache-2.0
#include "ufm/ufm_client.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/secret.h"
#include "base/text.h"
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_MAX ((size_t)64 << 20)
#define SECRET_MAX ((size_t)4096)

struct oneib_ufm_client {
    struct oneib_ufm_access access;
    CURL *curl;
    char why[CURL_ERROR_SIZE];
};

static const char *prefix_of(enum oneib_ufm_auth auth)
{
    return auth == ONEIB_UFM_TOKEN ? "/ufmRestV3" : "/ufmRest";
}

/* ---- opening --------------------------------------------------------------------------------- */

/* A host and no more: what comes behind it is UFM's. */
static int check_url(const char *url, struct oneib_error *err)
{
    static const char scheme[] = "https://";
    const char *host = url + strlen(scheme);
    if (strncmp(url, scheme, strlen(scheme)) == 0 && *host && !host[strcspn(host, "/?#@ ")])
        return 0;
    return oneib_fail(err, ONEIB_ERROR_CONFIG, "\"%s\" must be https://HOST or https://HOST:PORT",
                      url);
}

struct oneib_ufm_client *oneib_ufm_client_open(const struct oneib_ufm_access *access,
                                               struct oneib_error *err)
{
    if (check_url(access->url, err) < 0)
        return NULL;
    struct oneib_ufm_client *client = oneib_alloc(1, sizeof *client);
    if (curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) {
        client->access = *access;
        client->curl = curl_easy_init();
    }
    if (client->curl)
        return client;
    oneib_ufm_client_close(client);
    oneib_fail(err, ONEIB_ERROR_SYSTEM, "libcurl cannot be set up");
    return NULL;
}

void oneib_ufm_client_close(struct oneib_ufm_client *client)
{
    if (client && client->curl)
        curl_easy_cleanup(client->curl);
    free(client);
}

/* ---- the secret ------------------------------------------------------------------------------ */

static bool is_ones_own(const struct oneib_secret *secret)
{
    return secret->is_closed &&
           (secret->owner == geteuid() || secret->owner == 0 || geteuid() == 0);
}

static int read_secret(const char *path, struct oneib_secret *secret, struct oneib_error *err)
{
    if (oneib_secret_read(path, SECRET_MAX, secret, err) < 0)
        return -1;
    if (!secret->data)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "%s, which is to say who asks UFM, is absent",
                          path);
    if (is_ones_own(secret))
        return 0;
    oneib_secret_forget(secret);
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "%s says who asks UFM, and others may read it: chown it to who runs this, "
                      "chmod 0600 it, and make a new secret",
                      path);
}

/* Printable, so that it is one word of one header. */
static int take_line(const char *path, struct oneib_secret *secret, struct oneib_error *err)
{
    size_t length = strcspn(secret->data, "\r\n");
    bool is_good = length > 0 && secret->length - length <= 2 &&
                   secret->length == length + strspn(secret->data + length, "\r\n");
    for (size_t i = 0; i < length; i++)
        is_good = is_good && secret->data[i] > ' ' && secret->data[i] <= '~';
    secret->data[length] = '\0';
    return is_good ? 0
                   : oneib_fail(err, ONEIB_ERROR_REFUSED,
                                "%s must be one line of printable characters without blanks", path);
}

/* ---- one call -------------------------------------------------------------------------------- */

/* What a call needs besides what is the same for all. */
struct call {
    struct oneib_ufm_client *client;
    struct oneib_secret secret;
    struct curl_slist *headers;
    struct oneib_text url;
    struct oneib_ufm_reply *reply;
    size_t capacity;
    bool too_large;
};

/* As libcurl wants it: fewer bytes than there are end the call. */
static size_t take_bytes(char *bytes, size_t size, size_t count, void *context)
{
    struct call *call = context;
    struct oneib_ufm_reply *reply = call->reply;
    const size_t length = size * count;
    if (length > ANSWER_MAX - reply->length) {
        call->too_large = true;
        return 0;
    }
    ONEIB_RESERVE(reply->data, call->capacity, reply->length + length + 1);
    memcpy(reply->data + reply->length, bytes, length);
    reply->length += length;
    reply->data[reply->length] = '\0';
    return length;
}

static void add_header(struct call *call, const char *header)
{
    call->headers = oneib_allocated(curl_slist_append(call->headers, header));
}

/* UFM takes the token itself where others have base64 of a user and a password. */
static void add_token(struct call *call)
{
    oneib_autotext struct oneib_text header = {0};
    oneib_text_printf(&header, "Authorization: Basic %s", call->secret.data);
    add_header(call, header.data);
    if (header.data)
        explicit_bzero(header.data, header.length);
}

static int fail_setup(struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_SYSTEM, "libcurl does not know what is asked of it");
}

static int say_who_asks(struct call *call, struct oneib_error *err)
{
    CURL *curl = call->client->curl;
    const struct oneib_ufm_access *access = &call->client->access;
    if (read_secret(access->secret, &call->secret, err) < 0)
        return -1;
    if (access->auth == ONEIB_UFM_CERTIFICATE)
        return curl_easy_setopt(curl, CURLOPT_SSLCERT, access->certificate) == CURLE_OK &&
                       curl_easy_setopt(curl, CURLOPT_SSLKEY, access->secret) == CURLE_OK
                   ? 0
                   : fail_setup(err);
    if (take_line(access->secret, &call->secret, err) < 0)
        return -1;
    if (access->auth == ONEIB_UFM_TOKEN) {
        add_token(call);
        return 0;
    }
    if (!strchr(call->secret.data, ':'))
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "%s must be USER:PASSWORD", access->secret);
    return curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC) == CURLE_OK &&
                   curl_easy_setopt(curl, CURLOPT_USERPWD, call->secret.data) == CURLE_OK
               ? 0
               : fail_setup(err);
}

/* Whom it talks to is proved, whatever the environment says. */
static bool set_trust(const struct oneib_ufm_client *client)
{
    CURL *curl = client->curl;
    return curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https") == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_PROXY, "") == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L) == CURLE_OK &&
           (!client->access.ca ||
            (curl_easy_setopt(curl, CURLOPT_CAINFO, client->access.ca) == CURLE_OK &&
             curl_easy_setopt(curl, CURLOPT_CAPATH, NULL) == CURLE_OK));
}

static bool set_limits(struct call *call)
{
    CURL *curl = call->client->curl;
    const long timeout_ms = (long)call->client->access.timeout_ms;
    return curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, timeout_ms) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, timeout_ms) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, call->client->why) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_bytes) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_WRITEDATA, call) == CURLE_OK;
}

/* No "Expect: 100-continue": a pause of a second for each body. */
static bool set_request(struct call *call, const struct oneib_ufm_call *what)
{
    CURL *curl = call->client->curl;
    add_header(call, "Accept: application/json");
    add_header(call, "Expect:");
    if (what->body)
        add_header(call, "Content-Type: application/json");
    return curl_easy_setopt(curl, CURLOPT_URL, call->url.data) == CURLE_OK &&
           (!what->body || curl_easy_setopt(curl, CURLOPT_POSTFIELDS, what->body) == CURLE_OK) &&
           curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, what->method) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_HTTPHEADER, call->headers) == CURLE_OK;
}

static int prepare(struct call *call, const struct oneib_ufm_call *what, struct oneib_error *err)
{
    const struct oneib_ufm_access *access = &call->client->access;
    curl_easy_reset(call->client->curl);
    oneib_text_printf(&call->url, "%s%s%s", access->url, prefix_of(access->auth), what->path);
    ONEIB_RESERVE(call->reply->data, call->capacity, 1);
    call->reply->data[0] = '\0';
    if (say_who_asks(call, err) < 0)
        return -1;
    return set_trust(call->client) && set_limits(call) && set_request(call, what) ? 0
                                                                                  : fail_setup(err);
}

static enum oneib_error_code code_of(CURLcode outcome)
{
    switch (outcome) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        return ONEIB_ERROR_AUTH;
    case CURLE_OPERATION_TIMEDOUT:
        return ONEIB_ERROR_TIMEOUT;
    default:
        return ONEIB_ERROR_UNREACHABLE;
    }
}

static int perform(struct call *call, struct oneib_error *err)
{
    struct oneib_ufm_client *client = call->client;
    client->why[0] = '\0';
    const CURLcode outcome = curl_easy_perform(client->curl);
    if (outcome == CURLE_OK &&
        curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &call->reply->status) == CURLE_OK)
        return 0;
    if (call->too_large)
        return oneib_fail(err, ONEIB_ERROR_TOO_LARGE, "UFM's answer (%s) is larger than %zu bytes",
                          client->access.url, ANSWER_MAX);
    return oneib_fail(err, code_of(outcome), "asking UFM (%s): %s", client->access.url,
                      client->why[0] ? client->why : curl_easy_strerror(outcome));
}

static void clear_headers(struct curl_slist *headers)
{
    for (struct curl_slist *header = headers; header; header = header->next)
        explicit_bzero(header->data, strlen(header->data));
    curl_slist_free_all(headers);
}

static int ask(void *context, const struct oneib_ufm_call *what, struct oneib_ufm_reply *reply,
               struct oneib_error *err)
{
    struct call call = {.client = context, .reply = reply};
    *reply = (struct oneib_ufm_reply){0};
    int status = prepare(&call, what, err);
    if (status == 0)
        status = perform(&call, err);
    curl_easy_reset(call.client->curl); /* forgets the password, and keeps the connection */
    oneib_secret_forget(&call.secret);
    oneib_text_clear(&call.url);
    clear_headers(call.headers);
    if (status < 0)
        oneib_ufm_reply_clear(reply);
    return status;
}

struct oneib_ufm_link oneib_ufm_client_link(struct oneib_ufm_client *client)
{
    return (struct oneib_ufm_link){ask, client};
}
