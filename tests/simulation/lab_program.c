// SPDX-License-Identifier: Apache-2.0
/* Where programs are, and who has those that are nowhere. */
#include "lab_internal.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *program, *package;
} packages[] = {{"ibsim", "ibsim-utils"}, {"opensm", "opensm"}, {"smpquery", "infiniband-diags"}};

static const char *package_of(const char *program)
{
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++)
        if (strcmp(packages[i].program, program) == 0)
            return packages[i].package;
    return NULL;
}

static bool is_program(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* As a shell looks for a name without a slash. */
static bool search(const char *name, const char *directories, char found[PATH_MAX])
{
    for (const char *directory = directories; *directory; directory += strspn(directory, ":")) {
        const size_t length = strcspn(directory, ":");
        const int size = snprintf(found, PATH_MAX, "%.*s/%s", (int)length, directory, name);
        if (size < PATH_MAX && is_program(found))
            return true;
        directory += length;
    }
    return false;
}

int lab_find_program(const char *name, const char *directories, char found[PATH_MAX],
                     struct oneib_error *err)
{
    const char *package = package_of(name);
    if (strchr(name, '/')) {
        snprintf(found, PATH_MAX, "%s", name);
        return 0;
    }
    if (search(name, directories, found))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "starting %s: it is in no directory of %s%s%s",
                      name, directories, package ? "; it comes with Debian's package " : "",
                      package ? package : "");
}

const char *lab_missing(void)
{
    char found[PATH_MAX];
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++)
        if (!search(packages[i].program, LAB_PATH, found))
            return packages[i].program;
    return *LAB_UMAD2SIM && access(LAB_UMAD2SIM, R_OK) == 0 ? NULL : "libumad2sim";
}
