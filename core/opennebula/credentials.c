// SPDX-License-Identifier: Apache-2.0
#include "opennebula/credentials.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEFAULT_ENDPOINT "http://localhost:2633/RPC2"
#define SYSTEM_AUTH_FILE "/var/lib/one/.one/one_auth"
#define FILE_SIZE_MAX 4096
#define ENDPOINT_LENGTH_MAX 512

/* The value of an environment variable, or NULL when it is unset or empty. */
static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

/* "$HOME/NAME", or NULL when there is no HOME (or no memory: then no file is found, and that is
 * said). */
static char *in_home(const char *name)
{
    struct oneib_text path = {0};
    const char *home = environment("HOME");
    if (!home)
        return NULL;
    oneib_text_printf(&path, "%s/%s", home, name);
    return path.data;
}

static bool is_file(const char *path)
{
    struct stat status;
    return path && stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static int check_kind(int fd, const char *path, bool secret, struct oneib_error *err)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return oneib_fail_errno(err, errno, "cannot examine %s", path);
    if (!S_ISREG(status.st_mode))
        return oneib_fail(err, ONEIB_ERROR_CONFIG, "%s is not a regular file", path);
    if (secret && (status.st_mode & (S_IROTH | S_IWOTH)) != 0)
        return oneib_fail(err, ONEIB_ERROR_CONFIG,
                          "%s holds a password and is open to all users (mode %04o): chmod o= %s",
                          path, (unsigned)(status.st_mode & 07777), path);
    return 0;
}

/* Reads at most `size` - 1 bytes and terminates them. */
static int read_bytes(int fd, const char *path, char *buffer, size_t size, struct oneib_error *err)
{
    size_t length = 0;
    while (length < size) {
        ssize_t got = read(fd, buffer + length, size - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return oneib_fail_errno(err, errno, "cannot read %s", path);
        if (got == 0)
            break;
        length += (size_t)got;
    }
    if (length == size)
        return oneib_fail(err, ONEIB_ERROR_CONFIG, "%s is longer than %d bytes", path,
                          FILE_SIZE_MAX);
    buffer[length] = '\0';
    if (strlen(buffer) != length)
        return oneib_fail(err, ONEIB_ERROR_CONFIG, "%s holds a NUL byte", path);
    return 0;
}

/* Cuts the line end off; a second line is an error. */
static int keep_one_line(const char *path, char *buffer, struct oneib_error *err)
{
    char *end = strchr(buffer, '\n');
    if (end && end[1] != '\0')
        return oneib_fail(err, ONEIB_ERROR_CONFIG, "%s has more than one line", path);
    if (end)
        *end = '\0';
    if (buffer[0] == '\0')
        return oneib_fail(err, ONEIB_ERROR_CONFIG, "%s is empty", path);
    return 0;
}

/* The one line of a small file, into buffer. A secret must not be readable by everybody. */
static int read_line(const char *path, bool secret, char buffer[FILE_SIZE_MAX + 1],
                     struct oneib_error *err)
{
    /* O_NONBLOCK: a FIFO is refused instead of waited for. */
    oneib_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ENOENT)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "there is no file %s", path);
    if (fd < 0 && errno == EACCES && secret)
        return oneib_fail_errno(err, errno,
                                "cannot open %s (run this as root, or as a user with a session of "
                                "its own in ONE_AUTH or ~/.one/one_auth)",
                                path);
    if (fd < 0)
        return oneib_fail_errno(err, errno, "cannot open %s", path);
    if (check_kind(fd, path, secret, err) < 0 ||
        read_bytes(fd, path, buffer, FILE_SIZE_MAX + 1, err) < 0)
        return -1;
    return keep_one_line(path, buffer, err);
}

static bool is_printable(const char *string)
{
    for (; *string; string++)
        if ((unsigned char)*string <= ' ' || (unsigned char)*string >= 0x7f)
            return false;
    return true;
}

/* The part behind "http://" or "https://", or NULL. */
static const char *after_scheme(const char *endpoint)
{
    if (strncmp(endpoint, "http://", 7) == 0)
        return endpoint + 7;
    if (strncmp(endpoint, "https://", 8) == 0)
        return endpoint + 8;
    return NULL;
}

/* Errors show the endpoint: so it holds no password, and nothing that could forge a line. */
static int check_endpoint(const char *endpoint, const char *source, struct oneib_error *err)
{
    const char *host = after_scheme(endpoint);
    size_t authority = host ? strcspn(host, "/?#") : 0;
    if (authority == 0 || strlen(endpoint) > ENDPOINT_LENGTH_MAX || !is_printable(endpoint))
        return oneib_fail(err, ONEIB_ERROR_CONFIG,
                          "oned's endpoint in %s is not of the form http://HOST:PORT/RPC2 or "
                          "https://HOST:PORT/RPC2",
                          source);
    if (memchr(host, '@', authority))
        return oneib_fail(err, ONEIB_ERROR_CONFIG,
                          "oned's endpoint in %s has a user name in it: put user and password into "
                          "the file that one.auth_file or ONE_AUTH names",
                          source);
    return 0;
}

static int take_endpoint(const char *endpoint, const char *source,
                         struct oneib_credentials *credentials, struct oneib_error *err)
{
    if (check_endpoint(endpoint, source, err) < 0)
        return -1;
    credentials->endpoint = oneib_strdup(endpoint);
    return 0;
}

static int find_endpoint(const struct oneib_config *config, struct oneib_credentials *credentials,
                         struct oneib_error *err)
{
    if (config->one.endpoint)
        return take_endpoint(config->one.endpoint, "one.endpoint of the configuration", credentials,
                             err);
    if (environment("ONE_XMLRPC"))
        return take_endpoint(environment("ONE_XMLRPC"), "ONE_XMLRPC", credentials, err);

    char line[FILE_SIZE_MAX + 1];
    oneib_autofree char *path = in_home(".one/one_endpoint");
    if (!is_file(path))
        return take_endpoint(DEFAULT_ENDPOINT, "oneib", credentials, err);
    if (read_line(path, false, line, err) < 0)
        return oneib_wrap(err, "looking for oned's endpoint");
    return take_endpoint(line, path, credentials, err);
}

/* The session file of whoever runs this, allocated; NULL: there is none. */
static char *own_session_file(void)
{
    const char *named = environment("ONE_AUTH");
    if (named)
        return oneib_strdup(named);
    oneib_autofree char *own = in_home(".one/one_auth");
    if (is_file(own))
        return oneib_steal(&own);
    return is_file(SYSTEM_AUTH_FILE) ? oneib_strdup(SYSTEM_AUTH_FILE) : NULL;
}

/* Copies the path of the session file to *path. */
static int find_session_file(const struct oneib_config *config, char **path,
                             struct oneib_error *err)
{
    *path = config->one.auth_file ? oneib_strdup(config->one.auth_file) : own_session_file();
    if (*path)
        return 0;
    oneib_autofree char *own = in_home(".one/one_auth");
    return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                      "no session for oned: there is no %s and no %s; name a file that holds "
                      "USER:PASSWORD with one.auth_file in the configuration or with ONE_AUTH",
                      own ? own : "~/.one/one_auth", SYSTEM_AUTH_FILE);
}

static bool is_kept_from_us(const char *path)
{
    oneib_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd < 0 && errno == EACCES;
}

bool oneib_credentials_use_own(struct oneib_config *config)
{
    if (!config->one.auth_file || !is_kept_from_us(config->one.auth_file))
        return false;
    oneib_autofree char *own = own_session_file();
    if (!own || is_kept_from_us(own))
        return false;
    free(config->one.auth_file);
    config->one.auth_file = NULL;
    config->one.acl_user = false;
    return true;
}

static int take_session(const char *line, const char *path, struct oneib_credentials *credentials,
                        struct oneib_error *err)
{
    const char *colon = strchr(line, ':');
    if (!colon || colon == line || colon[1] == '\0')
        return oneib_fail(err, ONEIB_ERROR_CONFIG, "%s does not hold USER:PASSWORD", path);
    for (const char *c = line; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return oneib_fail(err, ONEIB_ERROR_CONFIG, "%s holds a control character", path);
    credentials->session = oneib_strdup(line);
    return 0;
}

static int find_session(const struct oneib_config *config, struct oneib_credentials *credentials,
                        struct oneib_error *err)
{
    char line[FILE_SIZE_MAX + 1];
    oneib_autofree char *path = NULL;
    if (find_session_file(config, &path, err) < 0)
        return -1;

    int outcome = read_line(path, true, line, err);
    if (outcome == 0)
        outcome = take_session(line, path, credentials, err);
    explicit_bzero(line, sizeof line);
    return outcome < 0 ? oneib_wrap(err, "looking for the session for oned") : 0;
}

int oneib_credentials_find(const struct oneib_config *config, struct oneib_credentials *credentials,
                           struct oneib_error *err)
{
    *credentials = (struct oneib_credentials){0};
    if (find_endpoint(config, credentials, err) == 0 && find_session(config, credentials, err) == 0)
        return 0;
    oneib_credentials_clear(credentials);
    return -1;
}

void oneib_credentials_clear(struct oneib_credentials *credentials)
{
    if (credentials->session)
        explicit_bzero(credentials->session, strlen(credentials->session));
    free(credentials->session);
    free(credentials->endpoint);
    *credentials = (struct oneib_credentials){0};
}
