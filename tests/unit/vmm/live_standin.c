// SPDX-License-Identifier: Apache-2.0
#include "live_standin.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/memory.h"
#include "hca/place.h"
#include "live/live.h"
#include "live_standin_store.h"
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAULTS "faults"
#define LOG "log"
#define LEAVING "leaving" /* "ALIAS" of devices that the guest lets go of late */
#define IMAGE_MAX ((size_t)64 * 1024 * 1024)

struct oneib_live {
    bool lost;
};

/* Of this process. */
static unsigned calls;

/* ---- faults ---------------------------------------------------------------------------------- */

/* The rest of the first line of `file` that begins with these words; NULL: there is none. Freed
 * with free(). */
static char *find_line(const char *file, const char *words)
{
    oneib_autofree char *text = standin_read_file(file);
    const size_t length = strlen(words);
    char *left = text;
    for (char *line; left && (line = strsep(&left, "\n"));)
        if (strncmp(line, words, length) == 0 && (line[length] == '\0' || line[length] == ' '))
            return oneib_strdup(line + length + (line[length] == ' '));
    return NULL;
}

static bool has_fault(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool has_fault(const char *format, ...)
{
    char words[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    oneib_autofree char *found = find_line(FAULTS, words);
    return found;
}

static int lose(struct oneib_live *live, struct oneib_error *err)
{
    live->lost = true;
    return oneib_fail(err, ONEIB_ERROR_UNREACHABLE,
                      "libvirt: internal error: client socket is closed");
}

static void lose_table(void)
{
    char path[PATH_MAX];
    struct oneib_error err;
    if (oneib_node_path(path, sizeof path, &err, "/run/oneib/vfs") == 0)
        unlink(path);
}

static void change_table(void)
{
    char path[PATH_MAX], next[PATH_MAX];
    struct oneib_error err;
    if (oneib_node_path(path, sizeof path, &err, "/run/oneib/vfs") == 0 &&
        oneib_node_path(next, sizeof next, &err, "/run/oneib/vfs.next") == 0)
        rename(next, path);
}

/* moment: "", "-amid" or "-after". */
static int suffer(struct oneib_live *live, const char *moment, struct oneib_error *err)
{
    if (has_fault("die%s %u", moment, calls))
        raise(SIGKILL);
    if (*moment == '\0' && has_fault("table-lost %u", calls))
        lose_table();
    if (*moment == '\0' && has_fault("table-next %u", calls))
        change_table();
    if (has_fault("term%s %u", moment, calls))
        raise(SIGTERM);
    return has_fault("lost%s %u", moment, calls) ? lose(live, err) : 0;
}

/* ---- a call ---------------------------------------------------------------------------------- */

static int remove_alias(xmlDoc *document, void *context, struct oneib_error *err)
{
    xmlNode *node = standin_device_of_alias(document, context);
    if (!node)
        return 0;
    xmlUnlinkNode(node);
    xmlFreeNode(node);
    return standin_store(document, err);
}

/* What a guest let go of too late for whoever had asked. */
static int let_late_devices_go(struct oneib_error *err)
{
    char path[STANDIN_PATH_SIZE];
    oneib_autofree char *aliases = standin_read_file(LEAVING);
    char *left = aliases;
    if (!aliases || !*aliases)
        return 0;
    for (char *alias; (alias = strsep(&left, "\n"));)
        if (*alias && standin_each(remove_alias, alias, err) < 0)
            return -1;
    if (standin_path(path, LEAVING, err) < 0)
        return -1;
    unlink(path);
    return 0;
}

static int begin(struct oneib_live *live, struct oneib_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int begin(struct oneib_live *live, struct oneib_error *err, const char *format, ...)
{
    char line[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    calls++;
    if (standin_append_line(LOG, line, err) < 0)
        return -1;
    if (live->lost)
        return lose(live, err);
    return suffer(live, "", err) < 0 ? -1 : let_late_devices_go(err);
}

/* status: of the call, unless nobody is told any more. */
static int end(struct oneib_live *live, int status, struct oneib_error *err)
{
    struct oneib_error lost = {0};
    if (suffer(live, "-after", &lost) == 0)
        return status;
    *err = lost;
    return -1;
}

/* ---- live.h ---------------------------------------------------------------------------------- */

int oneib_live_open(const char *uri, struct oneib_live **live, struct oneib_error *err)
{
    struct oneib_live *opened = oneib_alloc(1, sizeof *opened);
    if (begin(opened, err, "open %s", uri) < 0 ||
        (has_fault("refuse-open") && lose(opened, err) < 0) || end(opened, 0, err) < 0) {
        free(opened);
        return oneib_wrap(err, "connecting to %s", uri);
    }
    *live = opened;
    return 0;
}

void oneib_live_close(struct oneib_live *live)
{
    free(live);
}

static int append_document(const char *domain, struct oneib_text *xml, struct oneib_error *err)
{
    xmlDoc *document;
    if (standin_load(domain, &document, err) < 0)
        return -1;
    const int status = standin_render(document, xml, err);
    xmlFreeDoc(document);
    return status;
}

int oneib_live_document(struct oneib_live *live, const char *domain, struct oneib_text *xml,
                        struct oneib_error *err)
{
    if (begin(live, err, "document %s", domain) < 0)
        return -1;
    return end(live, append_document(domain, xml, err), err);
}

static int refuse_or_plug(const char *domain, const char *alias, const char *device_xml,
                          struct oneib_error *err)
{
    if (has_fault("attach-fails %s", alias))
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "plugging %s into domain \"%s\": libvirt: internal error: unable to "
                          "execute QEMU command 'device_add'",
                          alias, domain);
    return live_standin_plug(domain, device_xml, err) < 0
               ? oneib_wrap(err, "plugging %s into domain \"%s\"", alias, domain)
               : 0;
}

int oneib_live_attach(struct oneib_live *live, const char *domain, const char *device_xml,
                      struct oneib_error *err)
{
    char alias[64];
    xmlDoc *device = standin_parse(device_xml, strlen(device_xml), NULL, err);
    if (!device)
        return -1;
    standin_alias_of(xmlDocGetRootElement(device), alias);
    xmlFreeDoc(device);
    if (begin(live, err, "attach %s %s", domain, alias) < 0)
        return -1;
    return end(live, refuse_or_plug(domain, alias, device_xml, err), err);
}

/* *gone: whether the domain has it no longer. Fails when the guest does not let go of it. */
static int ask_guest(xmlDoc *document, const char *alias, uint32_t timeout_ms, bool *gone,
                     struct oneib_error *err)
{
    *gone = !standin_device_of_alias(document, alias);
    if (*gone)
        return 0;
    if (has_fault("rejects %s", alias))
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "the guest did not let go of %s", alias);
    if (has_fault("keeps %s", alias))
        return oneib_fail(err, ONEIB_ERROR_TIMEOUT, "the guest did not let go of %s in %u ms",
                          alias, timeout_ms);
    char words[128];
    snprintf(words, sizeof words, "slow %s", alias);
    oneib_autofree char *late = find_line(FAULTS, words);
    if (late && strtoul(late, NULL, 10) > timeout_ms)
        return standin_append_line(LEAVING, alias, err) < 0
                   ? -1
                   : oneib_fail(err, ONEIB_ERROR_TIMEOUT, "the guest did not let go of %s in %u ms",
                                alias, timeout_ms);
    char removed[64];
    snprintf(removed, sizeof removed, "%s", alias);
    if (remove_alias(document, removed, err) < 0)
        return -1;
    *gone = true;
    return 0;
}

/* All are asked for, whatever becomes of one; the first failure is told. */
static int detach_all(struct oneib_live *live, xmlDoc *document, const char *const *aliases,
                      size_t count, uint32_t timeout_ms, bool *gone, struct oneib_error *err)
{
    int status = 0;
    for (size_t i = 0; i < count; i++) {
        struct oneib_error failure = {0};
        if (ask_guest(document, aliases[i], timeout_ms, &gone[i], &failure) < 0 && status == 0) {
            *err = failure;
            status = -1;
        }
        if (i == 0 && suffer(live, "-amid", &failure) < 0) {
            *err = failure;
            return -1;
        }
    }
    return status;
}

static int detach(struct oneib_live *live, const char *domain, const char *const *aliases,
                  size_t count, uint32_t timeout_ms, bool *gone, struct oneib_error *err)
{
    xmlDoc *document;
    oneib_autoclose int lock = standin_lock(err);
    if (lock < 0 || standin_load(domain, &document, err) < 0)
        return -1;
    const int status = detach_all(live, document, aliases, count, timeout_ms, gone, err);
    xmlFreeDoc(document);
    return status;
}

int oneib_live_detach(struct oneib_live *live, const char *domain, const char *const *aliases,
                      size_t count, uint32_t timeout_ms, bool *gone, struct oneib_error *err)
{
    oneib_autotext struct oneib_text list = {0};
    for (size_t i = 0; i < count; i++) {
        gone[i] = false;
        oneib_text_printf(&list, " %s", aliases[i]);
    }
    if (begin(live, err, "detach %s%s", domain, list.length ? list.data : "") < 0)
        return -1;
    const int status = detach(live, domain, aliases, count, timeout_ms, gone, err);
    if (end(live, 0, err) == 0)
        return status;
    memset(gone, 0, count * sizeof *gone);
    return -1;
}

/* ---- pins ------------------------------------------------------------------------------------ */

static const struct {
    const char *element, *attribute;
} pins[] = {
    [ONEIB_LIVE_VCPU] = {"vcpupin", "vcpu"},
    [ONEIB_LIVE_EMULATOR] = {"emulatorpin", NULL},
    [ONEIB_LIVE_IO] = {"iothreadpin", "iothread"},
};

int oneib_live_pin(struct oneib_live *live, const char *domain, enum oneib_live_thread kind,
                   uint32_t id, const struct oneib_cpu_set *cpus, struct oneib_error *err)
{
    xmlDoc *document;
    oneib_autotext struct oneib_text list = {0};
    oneib_cpu_set_render(cpus, &list);
    if (begin(live, err, "pin %s %s %u %s", domain, pins[kind].element, id, list.data) < 0)
        return -1;
    oneib_autoclose int lock = standin_lock(err);
    if (lock < 0 || standin_load(domain, &document, err) < 0)
        return -1;
    int status =
        has_fault("pin-fails %s", domain)
            ? oneib_fail(err, ONEIB_ERROR_REFUSED, "domain \"%s\" takes no pin", domain)
            : standin_pin(document, pins[kind].element, pins[kind].attribute, id, list.data, err);
    xmlFreeDoc(document);
    return end(live, status, err);
}

int oneib_live_set_metadata(struct oneib_live *live, const char *domain, const char *element,
                            const char *prefix, const char *namespace, struct oneib_error *err)
{
    xmlDoc *document;
    if (begin(live, err, "metadata %s %s", domain, element) < 0)
        return -1;
    oneib_autoclose int lock = standin_lock(err);
    if (lock < 0 || standin_load(domain, &document, err) < 0)
        return -1;
    const int status = standin_set_metadata(document, element, prefix, namespace, err);
    xmlFreeDoc(document);
    return end(live, status, err);
}

static int read_image(const char *path, xmlDoc **document, struct oneib_error *err)
{
    oneib_autofree char *data = NULL;
    size_t length;
    if (oneib_file_read(path, IMAGE_MAX, &data, &length, err) < 0)
        return -1;
    *document = standin_parse(data, length, "domain", err);
    return *document ? 0 : oneib_wrap(err, "%s is no saved domain", path);
}

static int append_image(const char *path, struct oneib_text *xml, struct oneib_error *err)
{
    xmlDoc *document;
    if (read_image(path, &document, err) < 0)
        return -1;
    const int status = standin_render(document, xml, err);
    xmlFreeDoc(document);
    return status;
}

int oneib_live_saved_document(struct oneib_live *live, const char *path, struct oneib_text *xml,
                              struct oneib_error *err)
{
    if (begin(live, err, "saved-document %s", path) < 0)
        return -1;
    return end(live, append_image(path, xml, err), err);
}

static bool is_same_domain(const xmlDoc *one, const xmlDoc *other)
{
    xmlChar *name = standin_value(one, "name"), *of_other = standin_value(other, "name");
    const bool same = name && of_other && xmlStrEqual(name, of_other);
    xmlFree(name);
    xmlFree(of_other);
    return same;
}

/* libvirt takes another document of the same domain alone. */
static int replace_image(const char *path, const char *xml, struct oneib_error *err)
{
    xmlDoc *before, *after = NULL;
    oneib_autotext struct oneib_text text = {0};
    if (read_image(path, &before, err) < 0)
        return -1;
    after = standin_parse(xml, strlen(xml), "domain", err);
    int status = after ? 0 : -1;
    if (status == 0 && !is_same_domain(before, after))
        status = oneib_fail(err, ONEIB_ERROR_REFUSED,
                            "%s: operation failed: Target domain name does not match source", path);
    if (status == 0)
        status = standin_render(after, &text, err);
    if (status == 0)
        status = oneib_file_replace(path, text.data, text.length, 0644, NULL, NULL, err);
    xmlFreeDoc(before);
    xmlFreeDoc(after);
    return status;
}

int oneib_live_saved_replace(struct oneib_live *live, const char *path, const char *xml,
                             struct oneib_error *err)
{
    if (begin(live, err, "saved-replace %s", path) < 0)
        return -1;
    return end(live, replace_image(path, xml, err), err);
}

struct visit {
    int (*each)(const char *xml, size_t length, void *context, struct oneib_error *err);
    void *context;
};

static int visit(xmlDoc *document, void *context, struct oneib_error *err)
{
    const struct visit *what = context;
    oneib_autotext struct oneib_text xml = {0};
    return standin_render(document, &xml, err) < 0
               ? -1
               : what->each(xml.data, xml.length, what->context, err);
}

int oneib_live_each(struct oneib_live *live,
                    int (*each)(const char *xml, size_t length, void *context,
                                struct oneib_error *err),
                    void *context, struct oneib_error *err)
{
    struct visit what = {each, context};
    if (begin(live, err, "each") < 0)
        return -1;
    return end(live, standin_each(visit, &what, err), err);
}

/* ---- for tests ------------------------------------------------------------------------------- */

static void must(int status, const struct oneib_error *err)
{
    if (status == 0)
        return;
    fprintf(stderr, "live-standin: %s\n", err->text);
    exit(EXIT_FAILURE);
}

static void remove_file(const char *below)
{
    char path[STANDIN_PATH_SIZE];
    struct oneib_error err = {0};
    must(standin_path(path, below, &err), &err);
    unlink(path);
}

static int drop(xmlDoc *document, void *context, struct oneib_error *err)
{
    (void)context;
    return standin_drop(document, err);
}

void live_standin_reset(void)
{
    struct oneib_error err = {0};
    const char *directory = "";
    char path[STANDIN_PATH_SIZE];
    must(standin_path(path, directory, &err), &err);
    must(standin_each(drop, NULL, &err), &err);
    must(standin_refresh(&err), &err);
    remove_file(LEAVING);
    live_standin_forget_log();
    live_standin_heal();
}

void live_standin_fault(const char *format, ...)
{
    char line[256];
    struct oneib_error err = {0};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    must(standin_append_line(FAULTS, line, &err), &err);
}

void live_standin_heal(void)
{
    remove_file(FAULTS);
    calls = 0;
}

unsigned live_standin_calls(void)
{
    return calls;
}

/* Keeps `text` until the next call. */
static const char *keep(char **kept, char *text)
{
    free(*kept);
    *kept = text;
    return text;
}

const char *live_standin_log(void)
{
    static char *kept;
    return keep(&kept, standin_read_file(LOG));
}

void live_standin_forget_log(void)
{
    remove_file(LOG);
}

const char *live_standin_document(const char *domain)
{
    static char *kept;
    struct oneib_text xml = {0};
    struct oneib_error err = {0};
    if (append_document(domain, &xml, &err) < 0)
        oneib_text_clear(&xml);
    return keep(&kept, xml.data);
}

bool live_standin_runs(const char *domain)
{
    xmlDoc *document = NULL;
    struct oneib_error err = {0};
    const bool runs = standin_load(domain, &document, &err) == 0;
    xmlFreeDoc(document);
    return runs;
}

void live_standin_run(const char *xml)
{
    struct oneib_error err = {0};
    must(live_standin_start(xml, strlen(xml), NULL, &err), &err);
}

void live_standin_add_peer(const char *host, const char *root)
{
    char below[300], path[STANDIN_PATH_SIZE];
    struct oneib_error err = {0};
    snprintf(below, sizeof below, "peers/%s", host);
    must(standin_path(path, below, &err), &err);
    unlink(path);
    must(symlink(root, path) == 0 ? 0 : oneib_fail(&err, ONEIB_ERROR_SYSTEM, "no link %s", path),
         &err);
}

const char *live_standin_uri(void)
{
    static char uri[STANDIN_PATH_SIZE + 16];
    char path[STANDIN_PATH_SIZE];
    struct oneib_error err = {0};
    must(standin_path(path, STANDIN_NODE, &err), &err);
    snprintf(uri, sizeof uri, "test://%s", path);
    return uri;
}
