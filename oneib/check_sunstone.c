// SPDX-License-Identifier: Apache-2.0
/* What `oneib check` finds out from FireEdge, the server of Sunstone, where it is on this machine:
 * a view is a directory with a file for each tab that its users see. */
#include "base/cleanup.h"
#include "oneib/print.h"
#include "oneib/verb_check.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static const char check_name[] = "sunstone";

static void oneib_cleanup_closedir(DIR **directory)
{
    if (*directory)
        closedir(*directory);
}

static DIR *open_directory(int below, const char *path)
{
    const int fd = openat(below, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory && fd >= 0)
        close(fd);
    return directory;
}

/* NULL with errno set when there are none. OpenNebula 7 has the views in a directory of their own;
 * an update from 6.10 leaves the old ones beside it. */
static DIR *open_views(const char *sunstone)
{
    oneib_autoclose int all = open(sunstone, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (all < 0)
        return NULL;
    DIR *views = open_directory(all, "views");
    return views ? views : open_directory(all, ".");
}

static bool has_tab(DIR *views, const char *view, const char *tab)
{
    oneib_autotext struct oneib_text path = {0};
    oneib_text_printf(&path, "%s/%s", view, tab);
    return faccessat(dirfd(views), path.data, F_OK, 0) == 0;
}

/* The views in which users, who are no administrators, have services. */
static size_t list_views(DIR *views, struct oneib_text *names)
{
    size_t count = 0;
    const struct dirent *entry;
    while ((entry = readdir(views))) {
        const char *view = entry->d_name;
        if (view[0] == '.' || strcmp(view, "admin") == 0 || strcmp(view, "groupadmin") == 0 ||
            !has_tab(views, view, "service-template-tab.yaml") ||
            !has_tab(views, view, "service-tab.yaml"))
            continue;
        oneib_text_append(names, count++ == 0 ? "" : ", ");
        oneib_append_quoted(names, view);
    }
    return count;
}

void oneib_check_sunstone(struct oneib_checks *checks)
{
    oneib_autotext struct oneib_text path = {0}, names = {0};
    oneib_check_append_front_end("/etc/fireedge/sunstone", "/etc/one/fireedge/sunstone", &path);
    oneib_auto(oneib_cleanup_closedir) DIR *views = open_views(path.data);
    if (!views && (errno == ENOENT || errno == ENOTDIR))
        return;
    if (!views)
        oneib_check_add(checks, ONEIB_CHECK_WARN, check_name, "run this as root, or as oneadmin",
                        "%s: %s", path.data, strerror(errno));
    else if (list_views(views, &names) > 0)
        oneib_check_add(checks, ONEIB_CHECK_OK, check_name, NULL,
                        "users have service templates in the view %s",
                        names.data ? names.data : "");
    else
        oneib_check_add(checks, ONEIB_CHECK_WARN, check_name,
                        ONEIB_SCRIPTS "/sunstone-tabs, as root, gives them what they lack; "
                                      "--dry-run shows it",
                        "users have no service templates: no view of theirs has the tabs");
}
