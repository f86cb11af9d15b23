// SPDX-License-Identifier: Apache-2.0
#include "opennebula/monitord_conf.h"
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

#define DEFAULT_PORT "4124"
#define BLANKS " \t\r\n"

/* A token: a name, a sign, or a quoted text. */
struct word {
    const char *at;
    size_t length;
    bool is_quoted;
};

struct rest {
    const char *at, *end;
};

static void skip_blanks_and_comments(struct rest *rest)
{
    while (rest->at < rest->end)
        if (memchr(BLANKS, *rest->at, strlen(BLANKS))) {
            rest->at++;
        } else if (*rest->at == '#') {
            const char *line = memchr(rest->at, '\n', (size_t)(rest->end - rest->at));
            rest->at = line ? line : rest->end;
        } else {
            return;
        }
}

static struct word take_quoted(struct rest *rest)
{
    const char *first = ++rest->at;
    const char *end = memchr(first, '"', (size_t)(rest->end - first));
    rest->at = end ? end + 1 : rest->end;
    return (struct word){first, (size_t)((end ? end : rest->end) - first), true};
}

static struct word take_name(struct rest *rest)
{
    const char *first = rest->at;
    while (rest->at < rest->end && !memchr(BLANKS "#=[],\"", *rest->at, strlen(BLANKS) + 6))
        rest->at++;
    if (rest->at == first)
        rest->at++;
    return (struct word){first, (size_t)(rest->at - first), false};
}

/* An empty word without quotes is the end of the text. */
static struct word next_word(struct rest *rest)
{
    skip_blanks_and_comments(rest);
    if (rest->at == rest->end)
        return (struct word){rest->at, 0, false};
    return *rest->at == '"' ? take_quoted(rest) : take_name(rest);
}

static bool is(const struct word *word, const char *name)
{
    return !word->is_quoted && word->length == strlen(name) &&
           strncasecmp(word->at, name, word->length) == 0;
}

static bool ends(const struct word *word)
{
    return word->length == 0 && !word->is_quoted;
}

/* Starts after the "[" of a vector, and stops after the value of that name. */
static bool find_value(struct rest *rest, const char *name, char *text, size_t size)
{
    for (struct word word = next_word(rest); !ends(&word) && !is(&word, "]");
         word = next_word(rest)) {
        if (!is(&word, name))
            continue;
        const struct word sign = next_word(rest), value = next_word(rest);
        if (!is(&sign, "=") || value.length >= size)
            return false;
        memcpy(text, value.at, value.length);
        text[value.length] = '\0';
        return true;
    }
    return false;
}

/* The value of that name in the first NETWORK = [ .. ] outside comments. False: absent, or longer than
 * size. */
static bool find_in_network(const char *text, size_t length, const char *name, char *value,
                            size_t size)
{
    struct rest rest = {text, text + length};
    for (struct word word = next_word(&rest); !ends(&word); word = next_word(&rest)) {
        if (!is(&word, "NETWORK"))
            continue;
        const struct word sign = next_word(&rest), bracket = next_word(&rest);
        return is(&sign, "=") && is(&bracket, "[") && find_value(&rest, name, value, size);
    }
    return false;
}

/* Whether it is the unspecified address, in any form that getaddrinfo(3), and so monitord, takes. */
static bool is_any(const char *address)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    if (!*address)
        return true;
    if (getaddrinfo(address, NULL, &hints, &found) != 0)
        return false;
    struct sockaddr_in v4 = {0};
    struct sockaddr_in6 v6 = {0};
    bool any = false;
    if (found->ai_family == AF_INET) {
        memcpy(&v4, found->ai_addr, sizeof v4);
        any = v4.sin_addr.s_addr == htonl(INADDR_ANY);
    } else if (found->ai_family == AF_INET6) {
        memcpy(&v6, found->ai_addr, sizeof v6);
        any = IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr) ||
              (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) && v6.sin6_addr.s6_addr32[3] == 0);
    }
    freeaddrinfo(found);
    return any;
}

static bool is_set(const char *text, size_t length, const char *name)
{
    char value[4096];
    return find_in_network(text, length, name, value, sizeof value) && *value;
}

static void read_text(const char *text, size_t length, const char *name,
                      char value[ONEIB_MONITORD_TEXT_SIZE])
{
    if (!find_in_network(text, length, name, value, ONEIB_MONITORD_TEXT_SIZE))
        value[0] = '\0';
}

void oneib_monitord_conf_read(const char *text, size_t length, struct oneib_monitord_conf *conf)
{
    read_text(text, length, "ADDRESS", conf->address);
    read_text(text, length, "PORT", conf->port);
    if (!*conf->port)
        strcpy(conf->port, DEFAULT_PORT);
    conf->is_on_all_addresses = is_any(conf->address);
    conf->encrypts = is_set(text, length, "PUBKEY") && is_set(text, length, "PRIKEY");
}
