// SPDX-License-Identifier: Apache-2.0
#include "live_standin_store.h"
#include "base/cleanup.h"
#include "base/command.h"
#include "base/file.h"
#include "base/memory.h"
#include "hca/place.h"
#include "live_standin.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY "/var/lib/live-standin"
#define FILE_MAX ((size_t)64 * 1024 * 1024)

/* ---- paths ----------------------------------------------------------------------------------- */

static void make_directories(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
}

int standin_path(char path[STANDIN_PATH_SIZE], const char *below, struct oneib_error *err)
{
    if (!oneib_node_is_simulated())
        return oneib_fail(err, ONEIB_ERROR_UNREACHABLE,
                          "the stand-in for libvirt works on a simulated node alone");
    if (oneib_node_path(path, STANDIN_PATH_SIZE, err, "%s/%s", DIRECTORY, below) < 0)
        return -1;
    make_directories(path);
    return 0;
}

int standin_lock(struct oneib_error *err)
{
    char path[STANDIN_PATH_SIZE];
    if (standin_path(path, "", err) < 0)
        return -1;
    int lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0 || flock(lock, LOCK_EX) < 0)
        return oneib_fail_errno(err, errno, "locking %s", path);
    return lock;
}

char *standin_read_file(const char *below)
{
    char path[STANDIN_PATH_SIZE], *data;
    size_t length;
    struct oneib_error err = {0};
    if (standin_path(path, below, &err) < 0 ||
        oneib_file_read(path, FILE_MAX, &data, &length, &err) < 0)
        return oneib_strdup("");
    return data;
}

int standin_append_line(const char *below, const char *line, struct oneib_error *err)
{
    char path[STANDIN_PATH_SIZE];
    if (standin_path(path, below, err) < 0)
        return -1;
    oneib_autofclose FILE *file = fopen(path, "ae");
    if (!file || fprintf(file, "%s\n", line) < 0 || fflush(file) != 0)
        return oneib_fail_errno(err, errno, "writing %s", path);
    return 0;
}

/* ---- domains --------------------------------------------------------------------------------- */

static int file_name_of(const xmlDoc *document, char name[256], struct oneib_error *err)
{
    xmlChar *value = standin_value(document, "name");
    const char *text = value ? (const char *)value : "";
    const bool good = *text && *text != '.' && !strchr(text, '/') && strlen(text) < 240 &&
                      strcmp(text, "node") != 0;
    if (good)
        snprintf(name, 256, "%s.xml", text);
    xmlFree(value);
    return good ? 0 : oneib_fail(err, ONEIB_ERROR_REFUSED, "XML error: no name for a domain");
}

static bool is_document(const char *name)
{
    const size_t length = strlen(name);
    return name[0] != '.' && length > 4 && strcmp(name + length - 4, ".xml") == 0 &&
           strcmp(name, STANDIN_NODE) != 0;
}

static int load_file(const char *path, xmlDoc **document, struct oneib_error *err)
{
    oneib_autofree char *data = NULL;
    size_t length;
    if (oneib_file_read(path, FILE_MAX, &data, &length, err) < 0)
        return -1;
    *document = standin_parse(data, length, "domain", err);
    return *document ? 0 : oneib_wrap(err, "%s", path);
}

int standin_each(int (*each)(xmlDoc *document, void *context, struct oneib_error *err),
                 void *context, struct oneib_error *err)
{
    char directory[STANDIN_PATH_SIZE], path[STANDIN_PATH_SIZE];
    if (standin_path(directory, "", err) < 0)
        return -1;
    DIR *entries = opendir(directory);
    if (!entries)
        return oneib_fail_errno(err, errno, "reading %s", directory);
    int status = 0;
    for (struct dirent *entry; status == 0 && (entry = readdir(entries));) {
        xmlDoc *document = NULL;
        if (!is_document(entry->d_name))
            continue;
        status = standin_path(path, entry->d_name, err);
        if (status == 0)
            status = load_file(path, &document, err);
        if (status == 0)
            status = each(document, context, err);
        xmlFreeDoc(document);
    }
    closedir(entries);
    return status;
}

struct wanted {
    const char *domain;
    xmlDoc *found;
};

static bool has_value(const xmlDoc *document, const char *element, const char *wanted)
{
    xmlChar *value = standin_value(document, element);
    const bool same = value && strcasecmp((const char *)value, wanted) == 0;
    xmlFree(value);
    return same;
}

static int keep_wanted(xmlDoc *document, void *context, struct oneib_error *err)
{
    struct wanted *wanted = context;
    (void)err;
    if (wanted->found || (!has_value(document, "name", wanted->domain) &&
                          !has_value(document, "uuid", wanted->domain)))
        return 0;
    wanted->found = oneib_allocated(xmlCopyDoc(document, 1));
    return 0;
}

int standin_load(const char *domain, xmlDoc **document, struct oneib_error *err)
{
    struct wanted wanted = {domain, NULL};
    if (standin_each(keep_wanted, &wanted, err) < 0) {
        xmlFreeDoc(wanted.found);
        return -1;
    }
    *document = wanted.found;
    return wanted.found ? 0
                        : oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                                     "domain \"%s\": Domain not found: no domain with matching "
                                     "name or uuid",
                                     domain);
}

static int append_to_node(xmlDoc *document, void *context, struct oneib_error *err)
{
    return standin_append_for_test_driver(document, context, err);
}

/* A process of that id that is something else by now is left alone. */
static bool is_service(int pid)
{
    char path[32], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    oneib_autofclose FILE *file = fopen(path, "re");
    return file && fgets(name, sizeof name, file) && strcmp(name, "oneib-node\n") == 0;
}

/* libvirt's event: its test driver has none for what is in its file. */
static void tell_service(void)
{
    char path[STANDIN_PATH_SIZE];
    struct oneib_error err;
    int pid = 0;
    if (oneib_node_path(path, sizeof path, &err, "/run/service.pid") < 0)
        return;
    oneib_autofclose FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%d", &pid) == 1 && pid > 1 && is_service(pid))
        kill(pid, SIGUSR1);
}

int standin_refresh(struct oneib_error *err)
{
    char path[STANDIN_PATH_SIZE];
    oneib_autotext struct oneib_text text = {0};
    oneib_text_append(&text, "<node><cpu><mhz>2000</mhz><model>x</model><active>2</active></cpu>"
                             "<memory>4194304</memory>\n");
    if (standin_path(path, STANDIN_NODE, err) < 0 || standin_each(append_to_node, &text, err) < 0)
        return -1;
    oneib_text_append(&text, "</node>\n");
    if (oneib_file_replace(path, text.data, text.length, 0644, NULL, NULL, err) < 0)
        return -1;
    tell_service();
    return 0;
}

static int refuse_shared(xmlDoc *other, void *context, struct oneib_error *err)
{
    const xmlDoc *document = context;
    char name[256], name_of_other[256], shown[32];
    if (file_name_of(document, name, err) < 0 || file_name_of(other, name_of_other, err) < 0)
        return -1;
    if (strcmp(name, name_of_other) == 0 || !standin_shared_device(document, other, shown))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "Requested operation is not valid: PCI device %s is in use by driver QEMU, "
                      "domain %s",
                      shown, name_of_other);
}

int standin_store(xmlDoc *document, struct oneib_error *err)
{
    char name[256], path[STANDIN_PATH_SIZE];
    oneib_autotext struct oneib_text text = {0};
    if (file_name_of(document, name, err) < 0 || standin_path(path, name, err) < 0 ||
        standin_each(refuse_shared, document, err) < 0 || standin_render(document, &text, err) < 0)
        return -1;
    if (oneib_file_replace(path, text.data, text.length, 0644, NULL, NULL, err) < 0)
        return -1;
    return standin_refresh(err);
}

int standin_drop(const xmlDoc *document, struct oneib_error *err)
{
    char name[256], path[STANDIN_PATH_SIZE];
    if (file_name_of(document, name, err) < 0 || standin_path(path, name, err) < 0)
        return -1;
    if (unlink(path) < 0)
        return oneib_fail_errno(err, errno, "removing %s", path);
    return standin_refresh(err);
}

/* ---- what the upstream actions do ------------------------------------------------------------ */

static int start_document(xmlDoc *document, struct oneib_error *err)
{
    char name[256];
    oneib_autoclose int lock = standin_lock(err);
    if (lock < 0 || file_name_of(document, name, err) < 0)
        return -1;
    name[strlen(name) - strlen(".xml")] = '\0';
    if (live_standin_runs(name))
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "operation failed: domain '%s' already exists",
                          name);
    return standin_complete(document, err) < 0 ? -1 : standin_store(document, err);
}

int live_standin_start(const char *xml, size_t length, struct oneib_text *uuid,
                       struct oneib_error *err)
{
    xmlDoc *document = standin_parse(xml, length, "domain", err);
    if (!document)
        return -1;
    const int status = start_document(document, err);
    if (status == 0 && uuid) {
        xmlChar *value = standin_value(document, "uuid");
        oneib_text_append(uuid, (const char *)value);
        xmlFree(value);
    }
    xmlFreeDoc(document);
    return status;
}

static int write_document(xmlDoc *document, const char *path, struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    return standin_render(document, &text, err) < 0
               ? -1
               : oneib_file_replace(path, text.data, text.length, 0644, NULL, NULL, err);
}

/* Does something to the document of a running domain, with nobody in between. */
static int with_document(const char *domain, const char *argument,
                         int (*change)(xmlDoc *document, const char *argument,
                                       struct oneib_error *err),
                         struct oneib_error *err)
{
    xmlDoc *document = NULL;
    oneib_autoclose int lock = standin_lock(err);
    if (lock < 0 || standin_load(domain, &document, err) < 0)
        return -1;
    const int status = change(document, argument, err);
    xmlFreeDoc(document);
    return status;
}

static int refuse_host_devices(const xmlDoc *document, struct oneib_error *err)
{
    return standin_has_host_device(document)
               ? oneib_fail(err, ONEIB_ERROR_REFUSED,
                            "Requested operation is not valid: the domain has assigned host "
                            "devices")
               : 0;
}

static int drop_it(xmlDoc *document, const char *argument, struct oneib_error *err)
{
    (void)argument;
    return standin_drop(document, err);
}

int live_standin_stop(const char *domain, struct oneib_error *err)
{
    return with_document(domain, NULL, drop_it, err);
}

static int move_to_file(xmlDoc *document, const char *path, struct oneib_error *err)
{
    return refuse_host_devices(document, err) < 0 || write_document(document, path, err) < 0
               ? -1
               : standin_drop(document, err);
}

int live_standin_save(const char *domain, const char *path, struct oneib_error *err)
{
    return with_document(domain, path, move_to_file, err);
}

int live_standin_restore(const char *path, struct oneib_error *err)
{
    xmlDoc *document;
    if (load_file(path, &document, err) < 0)
        return -1;
    const int status = start_document(document, err);
    xmlFreeDoc(document);
    if (status == 0 && unlink(path) < 0)
        return oneib_fail_errno(err, errno, "removing %s", path);
    return status;
}

/* By another process: each has one root. */
static int start_there(const char *root, const char *path, struct oneib_error *err)
{
    char variable[PATH_MAX + sizeof ONEIB_NODE_ROOT_VARIABLE + 1], output[1024];
    const char *program = getenv("LIVE_STANDIN");
    snprintf(variable, sizeof variable, "%s=%s", ONEIB_NODE_ROOT_VARIABLE, root);
    const char *const argv[] = {"env", variable, program, "restore", path, NULL};
    return program ? oneib_command_run(argv, 60000, output, sizeof output, err)
                   : oneib_fail(err, ONEIB_ERROR_SYSTEM, "LIVE_STANDIN is not set");
}

static int start_at_peer(xmlDoc *document, const char *root, struct oneib_error *err)
{
    oneib_autofree char *path = oneib_asprintf("%s%s/arriving", root, DIRECTORY);
    make_directories(path);
    if (write_document(document, path, err) < 0)
        return -1;
    const int status = start_there(root, path, err);
    if (status < 0)
        unlink(path);
    return status;
}

static int move_to_peer(xmlDoc *document, const char *host, struct oneib_error *err)
{
    char below[300], path[STANDIN_PATH_SIZE], root[PATH_MAX];
    snprintf(below, sizeof below, "peers/%s", host);
    if (refuse_host_devices(document, err) < 0 || standin_path(path, below, err) < 0)
        return -1;
    if (!realpath(path, root))
        return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "unable to connect to server at '%s'",
                          host);
    return start_at_peer(document, root, err) < 0 ? -1 : standin_drop(document, err);
}

int live_standin_migrate(const char *domain, const char *host, struct oneib_error *err)
{
    return with_document(domain, host, move_to_peer, err);
}

static int snapshot_path(const xmlDoc *document, const char *name, char path[STANDIN_PATH_SIZE],
                         struct oneib_error *err)
{
    char file[256], below[768];
    if (file_name_of(document, file, err) < 0)
        return -1;
    snprintf(below, sizeof below, "snapshots/%s/%s", file, name);
    return standin_path(path, below, err);
}

static int take_snapshot(xmlDoc *document, const char *name, struct oneib_error *err)
{
    char path[STANDIN_PATH_SIZE];
    return refuse_host_devices(document, err) < 0 || snapshot_path(document, name, path, err) < 0
               ? -1
               : write_document(document, path, err);
}

int live_standin_snapshot(const char *domain, const char *name, struct oneib_error *err)
{
    return with_document(domain, name, take_snapshot, err);
}

static int go_back(xmlDoc *document, const char *name, struct oneib_error *err)
{
    char path[STANDIN_PATH_SIZE];
    xmlDoc *old;
    if (refuse_host_devices(document, err) < 0 || snapshot_path(document, name, path, err) < 0 ||
        load_file(path, &old, err) < 0)
        return -1;
    const int status = standin_store(old, err);
    xmlFreeDoc(old);
    return status;
}

int live_standin_revert(const char *domain, const char *name, struct oneib_error *err)
{
    return with_document(domain, name, go_back, err);
}

static int plug_it(xmlDoc *document, const char *device_xml, struct oneib_error *err)
{
    xmlDoc *device = standin_parse(device_xml, strlen(device_xml), NULL, err);
    if (!device)
        return -1;
    const int status =
        standin_insert(document, device, err) < 0 ? -1 : standin_store(document, err);
    xmlFreeDoc(device);
    return status;
}

int live_standin_plug(const char *domain, const char *device_xml, struct oneib_error *err)
{
    return with_document(domain, device_xml, plug_it, err);
}

static int unplug_it(xmlDoc *document, const char *mac, struct oneib_error *err)
{
    xmlNode *node = standin_interface_of_mac(document, mac);
    if (!node)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "no interface with MAC %s", mac);
    xmlUnlinkNode(node);
    xmlFreeNode(node);
    return standin_store(document, err);
}

int live_standin_unplug_mac(const char *domain, const char *mac, struct oneib_error *err)
{
    return with_document(domain, mac, unplug_it, err);
}
