// SPDX-License-Identifier: Apache-2.0
#include "live/live.h"
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/memory.h"
#include "live/live_internal.h"
#include <libvirt/virterror.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_WORDS 400
#define SHOWN_NAME 64

/* ---- errors ---------------------------------------------------------------------------------- */

/* To be asked before anything else resets what libvirt said. */
static bool is_lost(virConnectPtr libvirt, const virError *said)
{
    return (said && said->domain == VIR_FROM_RPC) || virConnectIsAlive(libvirt) != 1;
}

static enum oneib_error_code classify(virConnectPtr libvirt)
{
    const virError *said = virGetLastError();
    if (said && said->code == VIR_ERR_NO_DOMAIN)
        return ONEIB_ERROR_NOT_FOUND;
    return is_lost(libvirt, said) ? ONEIB_ERROR_UNREACHABLE : ONEIB_ERROR_REFUSED;
}

/* libvirt quotes names and files in what it says. */
static int fail_with_words(struct oneib_error *err, enum oneib_error_code code, const char *what,
                           const char *words)
{
    oneib_autotext struct oneib_text shown = {0};
    oneib_text_append_escaped(&shown, words, SHOWN_WORDS);
    return oneib_fail(err, code, "%s: libvirt: %s", what,
                      shown.length ? shown.data : "no reason given");
}

int oneib_live_fail(virConnectPtr libvirt, struct oneib_error *err, const char *format, ...)
{
    oneib_autotext struct oneib_text what = {0};
    oneib_autofree char *words = oneib_strdup(virGetLastErrorMessage());
    va_list arguments;
    va_start(arguments, format);
    oneib_text_vprintf(&what, format, arguments);
    va_end(arguments);
    return fail_with_words(err, classify(libvirt), what.data, words);
}

int oneib_live_wrap(struct oneib_error *err, const char *domain)
{
    oneib_autotext struct oneib_text shown = {0};
    oneib_text_append_escaped(&shown, domain, SHOWN_NAME);
    return oneib_wrap(err, "domain \"%s\"", shown.length ? shown.data : "");
}

/* ---- the connection -------------------------------------------------------------------------- */

int oneib_live_open(const char *uri, struct oneib_live **live, struct oneib_error *err)
{
    struct oneib_live *opened = oneib_alloc(1, sizeof *opened);
    opened->uri = oneib_strdup(uri);
    opened->libvirt = oneib_live_connect(uri, ONEIB_LIVE_CONNECT_MS, err);
    if (!opened->libvirt) {
        oneib_live_close(opened);
        return -1;
    }
    *live = opened;
    return 0;
}

void oneib_live_close(struct oneib_live *live)
{
    if (!live)
        return;
    if (live->libvirt)
        virConnectClose(live->libvirt);
    free(live->uri);
    free(live);
}

/* ---- a domain -------------------------------------------------------------------------------- */

/* A name may look like a UUID. */
static virDomainPtr look_up(virConnectPtr libvirt, const char *domain)
{
    virDomainPtr found = virDomainLookupByUUIDString(libvirt, domain);
    return found ? found : virDomainLookupByName(libvirt, domain);
}

static int require_running(virConnectPtr libvirt, virDomainPtr domain, struct oneib_error *err)
{
    const int active = virDomainIsActive(domain);
    if (active < 0)
        return oneib_live_fail(libvirt, err, "asking whether it runs");
    return active ? 0 : oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "it does not run");
}

virDomainPtr oneib_live_find(virConnectPtr libvirt, const char *domain, struct oneib_error *err)
{
    virResetLastError();
    virDomainPtr found = look_up(libvirt, domain);
    if (!found) {
        oneib_live_fail(libvirt, err, "looking it up");
        return NULL;
    }
    if (require_running(libvirt, found, err) == 0)
        return found;
    virDomainFree(found);
    return NULL;
}

static void append(struct oneib_text *xml, const char *document)
{
    oneib_text_append(xml, document);
}

static int append_document(virConnectPtr libvirt, virDomainPtr domain, struct oneib_text *xml,
                           struct oneib_error *err)
{
    oneib_autofree char *document = virDomainGetXMLDesc(domain, 0);
    if (document) {
        append(xml, document);
        return 0;
    }
    return oneib_live_fail(libvirt, err, "reading its document");
}

int oneib_live_document(struct oneib_live *live, const char *domain, struct oneib_text *xml,
                        struct oneib_error *err)
{
    virDomainPtr found = oneib_live_find(live->libvirt, domain, err);
    if (!found)
        return oneib_live_wrap(err, domain);
    const int status = append_document(live->libvirt, found, xml, err);
    virDomainFree(found);
    return status < 0 ? oneib_live_wrap(err, domain) : 0;
}

static int attach(virConnectPtr libvirt, virDomainPtr domain, const char *device_xml,
                  struct oneib_error *err)
{
    unsigned flags = VIR_DOMAIN_AFFECT_LIVE;
    const int persistent = virDomainIsPersistent(domain);
    if (persistent < 0)
        return oneib_live_fail(libvirt, err, "asking whether it is defined");
    if (persistent)
        flags |= VIR_DOMAIN_AFFECT_CONFIG;
    return virDomainAttachDeviceFlags(domain, device_xml, flags) == 0
               ? 0
               : oneib_live_fail(libvirt, err, "plugging a device in");
}

int oneib_live_attach(struct oneib_live *live, const char *domain, const char *device_xml,
                      struct oneib_error *err)
{
    virDomainPtr found = oneib_live_find(live->libvirt, domain, err);
    if (!found)
        return oneib_live_wrap(err, domain);
    const int status = attach(live->libvirt, found, device_xml, err);
    virDomainFree(found);
    return status < 0 ? oneib_live_wrap(err, domain) : 0;
}

/* ---- saved domains --------------------------------------------------------------------------- */

static int fail_with_path(struct oneib_live *live, struct oneib_error *err, const char *what,
                          const char *path)
{
    oneib_autotext struct oneib_text shown = {0};
    oneib_text_append_escaped(&shown, path, SHOWN_WORDS);
    return oneib_live_fail(live->libvirt, err, "%s \"%s\"", what, shown.length ? shown.data : "");
}

/* With its passwords: it may be put back. */
int oneib_live_saved_document(struct oneib_live *live, const char *path, struct oneib_text *xml,
                              struct oneib_error *err)
{
    virResetLastError();
    oneib_autofree char *document =
        virDomainSaveImageGetXMLDesc(live->libvirt, path, VIR_DOMAIN_SAVE_IMAGE_XML_SECURE);
    if (document) {
        append(xml, document);
        return 0;
    }
    return fail_with_path(live, err, "reading the document in", path);
}

int oneib_live_saved_replace(struct oneib_live *live, const char *path, const char *xml,
                             struct oneib_error *err)
{
    virResetLastError();
    return virDomainSaveImageDefineXML(live->libvirt, path, xml, 0) == 0
               ? 0
               : fail_with_path(live, err, "replacing the document in", path);
}

/* ---- all domains ----------------------------------------------------------------------------- */

struct visit {
    int (*each)(const char *xml, size_t length, void *context, struct oneib_error *err);
    void *context;
};

static int visit(virConnectPtr libvirt, virDomainPtr domain, const struct visit *what,
                 struct oneib_error *err)
{
    oneib_autotext struct oneib_text xml = {0};
    struct oneib_error failure = {0};
    virResetLastError();
    if (append_document(libvirt, domain, &xml, &failure) == 0 &&
        require_running(libvirt, domain, &failure) == 0)
        return what->each(xml.data, xml.length, what->context, err);
    if (failure.code == ONEIB_ERROR_NOT_FOUND)
        return 0;
    *err = failure;
    return oneib_live_wrap(err, virDomainGetName(domain));
}

int oneib_live_each(struct oneib_live *live,
                    int (*each)(const char *xml, size_t length, void *context,
                                struct oneib_error *err),
                    void *context, struct oneib_error *err)
{
    const struct visit what = {each, context};
    virDomainPtr *domains = NULL;
    virResetLastError();
    const int count =
        virConnectListAllDomains(live->libvirt, &domains, VIR_CONNECT_LIST_DOMAINS_ACTIVE);
    int status = count < 0 ? oneib_live_fail(live->libvirt, err, "listing the domains") : 0;
    for (int i = 0; i < count; i++) {
        if (status == 0)
            status = visit(live->libvirt, domains[i], &what, err);
        virDomainFree(domains[i]);
    }
    free(domains);
    return status;
}
