// SPDX-License-Identifier: Apache-2.0
#include "hca/place.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOT_SIZE 512
#define DIRECTORIES_ABOVE 3 /* as deep as programs lie in a build directory */

/* Written once, before any thread is there. */
static char root[ROOT_SIZE];
static bool is_known;

static void find_root(void)
{
    /* A privileged program does not let its caller choose what it reads and writes. */
    const char *wanted = geteuid() == 0 ? NULL : secure_getenv(ONEIB_NODE_ROOT_VARIABLE);
    size_t length = wanted ? strlen(wanted) : 0;
    is_known = true;
    while (length > 0 && wanted[length - 1] == '/')
        length--;
    if (length == 0 || wanted[0] != '/' || length >= sizeof root)
        return;
    memcpy(root, wanted, length);
}

const char *oneib_node_root(void)
{
    if (!is_known)
        find_root();
    return root;
}

bool oneib_node_is_simulated(void)
{
    return oneib_node_root()[0] != '\0';
}

int oneib_node_path(char *path, size_t size, struct oneib_error *err, const char *format, ...)
{
    va_list arguments;
    int used = snprintf(path, size, "%s", oneib_node_root());
    if (used >= 0 && (size_t)used < size) {
        va_start(arguments, format);
        int more = vsnprintf(path + used, size - (size_t)used, format, arguments);
        va_end(arguments);
        if (more >= 0 && (size_t)more < size - (size_t)used)
            return 0;
    }
    return oneib_fail(err, ONEIB_ERROR_INPUT, "a path below \"%s/\" is too long",
                      oneib_node_root());
}

/* A directory of that name, as a build makes, is no program. */
static bool is_there(char path[PATH_MAX], const char *directory, const char *name)
{
    const int length = snprintf(path, PATH_MAX, "%s/%s", directory, name);
    struct stat status;
    return length > 0 && length < PATH_MAX && stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
           access(path, X_OK) == 0;
}

/* "/a/b" of "/a/b/c"; false when nothing is above. */
static bool go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return false;
    *slash = '\0';
    return true;
}

/* Beside the running program, or above it: as it lies in a build directory, or installed elsewhere.
 */
static bool find_near(const char *installed, const char *built, char path[PATH_MAX])
{
    char directory[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", directory, sizeof directory - 1);
    if (length <= 0)
        return false;
    directory[length] = '\0';
    for (int i = 0; i <= DIRECTORIES_ABOVE && go_up(directory); i++)
        if (is_there(path, directory, installed) || is_there(path, directory, built))
            return true;
    return false;
}

void oneib_node_program(const char *installed, const char *built, char path[PATH_MAX])
{
    if (!oneib_node_is_simulated() || !find_near(installed, built, path))
        snprintf(path, PATH_MAX, "%s/%s", ONEIB_PROGRAMS, installed);
}

int oneib_node_config(struct oneib_config *config, struct oneib_error *err)
{
    char path[ROOT_SIZE + sizeof ONEIB_CONFIG_DEFAULT_PATH];
    if (!oneib_node_is_simulated())
        return oneib_config_load(NULL, config, err);
    snprintf(path, sizeof path, "%s%s", oneib_node_root(), ONEIB_CONFIG_DEFAULT_PATH);
    if (access(path, F_OK) < 0) {
        oneib_config_defaults(config);
        return 0;
    }
    return oneib_config_load(path, config, err);
}
