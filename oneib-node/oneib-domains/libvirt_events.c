// SPDX-License-Identifier: Apache-2.0
#include "oneib-node/oneib-domains/libvirt_events.h"
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/memory.h"
#include <libvirt/virterror.h>
#include <libxml/xmlerror.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS_SHOWN 300
#define NAME_SHOWN 64

/* ---- errors ---------------------------------------------------------------------------------- */

static void silence_libvirt(void *context, virErrorPtr error)
{
    (void)context;
    (void)error;
}

static void silence_libxml2(void *context, const char *format, ...)
{
    (void)context;
    (void)format;
}

void oneib_libvirt_silence(void)
{
    virSetErrorFunc(NULL, silence_libvirt);
    xmlSetGenericErrorFunc(NULL, silence_libxml2);
}

/* libvirt quotes names and files in what it says. */
int oneib_libvirt_fail(struct oneib_error *err, const char *what)
{
    oneib_autotext struct oneib_text why = {0};
    oneib_text_append_escaped(&why, virGetLastErrorMessage(), WORDS_SHOWN);
    return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "%s: %s", what,
                      why.length ? why.data : "no reason given");
}

static bool is_gone(void)
{
    return virGetLastErrorCode() == VIR_ERR_NO_DOMAIN;
}

static void wrap_with_name(struct oneib_error *err, const char *name)
{
    oneib_autotext struct oneib_text shown = {0};
    oneib_text_append_escaped(&shown, name, NAME_SHOWN);
    oneib_wrap(err, "domain \"%s\"", shown.length ? shown.data : "");
}

/* ---- one domain ------------------------------------------------------------------------------ */

static int add_devices_of(virDomainPtr domain, unsigned flags, struct oneib_devices *devices,
                          struct oneib_error *err)
{
    oneib_autofree char *xml = virDomainGetXMLDesc(domain, flags);
    return xml ? oneib_devices_add(xml, strlen(xml), devices, err)
               : oneib_libvirt_fail(err, "its document cannot be read");
}

/* One that runs may be defined with other devices than it has now: both are spoken for. */
static int read_devices(virDomainPtr domain, struct oneib_domain_state *state,
                        struct oneib_error *err)
{
    if (add_devices_of(domain, 0, &state->devices, err) < 0)
        return -1;
    if (!state->running || !state->persistent)
        return 0;
    return add_devices_of(domain, VIR_DOMAIN_XML_INACTIVE, &state->devices, err);
}

static int read_all(virDomainPtr domain, struct oneib_domain_state *state, struct oneib_error *err)
{
    const int active = virDomainIsActive(domain);
    const int persistent = active < 0 ? -1 : virDomainIsPersistent(domain);
    state->running = active == 1;
    state->id = active == 1 ? (int)virDomainGetID(domain) : -1;
    state->persistent = persistent == 1;
    if (persistent < 0)
        return oneib_libvirt_fail(err, "its state cannot be read");
    return read_devices(domain, state, err);
}

enum oneib_domain_found oneib_libvirt_read(virDomainPtr domain, struct oneib_domain_state *state)
{
    const char *name = virDomainGetName(domain);
    *state = (struct oneib_domain_state){
        .name = oneib_strdup(name ? name : ""), .id = -1, .process = -1};
    virDomainGetUUID(domain, state->uuid);
    virResetLastError();
    if (read_all(domain, state, &state->wrong) < 0) {
        if (is_gone()) {
            oneib_domain_state_clear(state);
            return ONEIB_DOMAIN_GONE;
        }
        wrap_with_name(&state->wrong, state->name);
    }
    return ONEIB_DOMAIN_FOUND;
}

enum oneib_domain_found oneib_libvirt_read_uuid(virConnectPtr libvirt,
                                                const unsigned char uuid[VIR_UUID_BUFLEN],
                                                struct oneib_domain_state *state)
{
    virDomainPtr domain = virDomainLookupByUUID(libvirt, uuid);
    if (domain) {
        const enum oneib_domain_found found = oneib_libvirt_read(domain, state);
        virDomainFree(domain);
        return found;
    }
    *state = (struct oneib_domain_state){.id = -1, .process = -1};
    if (is_gone())
        return ONEIB_DOMAIN_GONE;
    memcpy(state->uuid, uuid, VIR_UUID_BUFLEN);
    oneib_libvirt_fail(&state->wrong, "a domain that has changed cannot be found");
    return ONEIB_DOMAIN_FOUND;
}

void oneib_domain_state_clear(struct oneib_domain_state *state)
{
    free(state->name);
    oneib_devices_clear(&state->devices);
    if (state->process >= 0)
        close(state->process);
    *state = (struct oneib_domain_state){.id = -1, .process = -1};
}

bool oneib_domain_state_runs(const struct oneib_domain_state *state)
{
    return state->running && !state->has_ended;
}

void oneib_domain_state_inherit(struct oneib_domain_state *state, struct oneib_domain_state *older)
{
    if (!state->running || state->id != older->id)
        return;
    state->is_sought = older->process >= 0 || older->has_ended;
    state->has_ended = older->has_ended;
    state->process = older->process;
    older->process = -1;
}

static bool are_equal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool oneib_domain_states_are_equal(const struct oneib_domain_state *a,
                                   const struct oneib_domain_state *b)
{
    return memcmp(a->uuid, b->uuid, VIR_UUID_BUFLEN) == 0 && are_equal(a->name, b->name) &&
           oneib_domain_state_runs(a) == oneib_domain_state_runs(b) &&
           oneib_devices_are_equal(&a->devices, &b->devices) &&
           strcmp(a->wrong.text, b->wrong.text) == 0;
}
