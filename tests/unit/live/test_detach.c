// SPDX-License-Identifier: Apache-2.0
/*
 * Unplugging, with a stand-in for libvirt in this file: one domain with two devices, and turns of
 * the event loop in each of which a test lets something happen.
 */
#include "../base/scratch.h"
#include "base/clock.h"
#include "live/live.h"
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

#define DEVICES 2
#define TURNS 32

static const char *const both[DEVICES] = {"ua-oneib-0", "ua-oneib-1"};

enum happening {
    NOTHING,     /* until the timer */
    LETS_GO,     /* device 0, with an event */
    LETS_GO_TOO, /* device 1, with an event */
    LOST_EVENT,  /* device 0, without one; then the timer */
    REJECTS,     /* device 0, with an event */
    LOST,        /* the connection; then the timer */
    ENDS,        /* the domain; then the timer */
    STOPS        /* the domain is defined and does not run any more; then the timer */
};

static struct {
    bool has[DEVICES];
    bool defined, exists, active, alive, opens;
    enum happening turns[TURNS];
    unsigned turn;
    bool goes_when_asked; /* device 0 */
    int refused_code;     /* of the request for device 0; 0: it is taken */
    const char *refused_words;
    unsigned asked, forgotten, open, watches, timers, freed;
} libvirt;

static struct oneib_live *live;
static struct oneib_error err;
static bool gone[DEVICES];

/* Time goes on while somebody waits, and only then. */
static double now_ms;

double oneib_now_ms(void)
{
    return now_ms;
}

/* ---- the stand-in ---------------------------------------------------------------------------- */

/* Nobody looks into them. */
static char connection, domain_object;
static virError last_error;
static char last_words[256];

static struct {
    virEventTimeoutCallback call;
    void *context;
    int timeout_ms;
} timer;
static struct {
    virConnectDomainEventDeviceRemovedCallback call;
    void *context;
} events[VIR_DOMAIN_EVENT_ID_DEVICE_REMOVAL_FAILED + 1];

static int fail_as(int domain, int code, const char *words)
{
    snprintf(last_words, sizeof last_words, "%s", words);
    last_error = (virError){.domain = domain, .code = code, .message = last_words};
    return -1;
}

static int check_connection(void)
{
    return libvirt.alive ? 0 : fail_as(VIR_FROM_RPC, VIR_ERR_INTERNAL_ERROR, "socket is closed");
}

static int check_domain(void)
{
    if (check_connection() < 0)
        return -1;
    return libvirt.exists ? 0 : fail_as(VIR_FROM_QEMU, VIR_ERR_NO_DOMAIN, "Domain not found");
}

virConnectPtr virConnectOpen(const char *uri)
{
    (void)uri;
    if (!libvirt.opens) {
        fail_as(VIR_FROM_RPC, VIR_ERR_SYSTEM_ERROR, "Connection refused");
        return NULL;
    }
    libvirt.open++;
    return (virConnectPtr)(void *)&connection;
}

int virConnectClose(virConnectPtr conn)
{
    (void)conn;
    libvirt.open--;
    return 0;
}

int virConnectIsAlive(virConnectPtr conn)
{
    (void)conn;
    return libvirt.alive;
}

int virConnectSetKeepAlive(virConnectPtr conn, int interval, unsigned count)
{
    (void)conn;
    (void)interval;
    (void)count;
    return 0;
}

static virDomainPtr look_up(bool found)
{
    if (check_domain() < 0 || !found)
        return NULL;
    libvirt.freed--;
    return (virDomainPtr)(void *)&domain_object;
}

virDomainPtr virDomainLookupByUUIDString(virConnectPtr conn, const char *uuid)
{
    (void)conn;
    return look_up(strlen(uuid) == 36);
}

virDomainPtr virDomainLookupByName(virConnectPtr conn, const char *name)
{
    (void)conn;
    return look_up(strcmp(name, "one-42") == 0);
}

int virDomainFree(virDomainPtr domain)
{
    (void)domain;
    libvirt.freed++;
    return 0;
}

int virDomainIsActive(virDomainPtr domain)
{
    (void)domain;
    return check_domain() < 0 ? -1 : libvirt.active;
}

int virDomainIsPersistent(virDomainPtr domain)
{
    (void)domain;
    return check_domain() < 0 ? -1 : libvirt.defined;
}

/* What a user writes elsewhere in the document is no device. */
char *virDomainGetXMLDesc(virDomainPtr domain, unsigned flags)
{
    (void)domain;
    (void)flags;
    struct oneib_text xml = {0};
    if (check_domain() < 0)
        return NULL;
    oneib_text_append(&xml, "<domain><metadata><hostdev><alias name='ua-oneib-0'/></hostdev>"
                            "</metadata><devices><emulator>qemu</emulator>");
    for (size_t i = 0; i < DEVICES; i++)
        if (libvirt.has[i])
            oneib_text_printf(&xml, "<hostdev><alias name='%s'/></hostdev>", both[i]);
    oneib_text_append(&xml, "</devices></domain>");
    return xml.data;
}

int virDomainDetachDeviceAlias(virDomainPtr domain, const char *alias, unsigned flags)
{
    (void)domain;
    if (flags == VIR_DOMAIN_AFFECT_CONFIG) {
        libvirt.forgotten++;
        return 0;
    }
    assert_int_equal(flags, VIR_DOMAIN_AFFECT_LIVE);
    /* An event that came earlier would be missed otherwise. */
    assert_int_equal(libvirt.watches, 2);
    libvirt.asked++;
    if (check_domain() < 0)
        return -1;
    libvirt.has[0] = libvirt.has[0] && !libvirt.goes_when_asked;
    if (libvirt.refused_words && strcmp(alias, both[0]) == 0)
        return fail_as(VIR_FROM_QEMU, libvirt.refused_code, libvirt.refused_words);
    return 0;
}

int virConnectDomainEventRegisterAny(virConnectPtr conn, virDomainPtr domain, int id,
                                     virConnectDomainEventGenericCallback call, void *context,
                                     virFreeCallback release)
{
    (void)conn;
    assert_non_null(domain);
    assert_null(release);
    memcpy(&events[id].call, &call, sizeof call);
    events[id].context = context;
    libvirt.watches++;
    return id;
}

int virConnectDomainEventDeregisterAny(virConnectPtr conn, int id)
{
    (void)conn;
    assert_non_null(events[id].call);
    events[id].call = NULL;
    libvirt.watches--;
    return 0;
}

int virEventRegisterDefaultImpl(void)
{
    return 0;
}

int virEventAddTimeout(int timeout_ms, virEventTimeoutCallback call, void *context,
                       virFreeCallback release)
{
    assert_null(release);
    timer.call = call;
    timer.context = context;
    timer.timeout_ms = timeout_ms;
    libvirt.timers++;
    return 7;
}

void virEventUpdateTimeout(int id, int timeout_ms)
{
    assert_int_equal(id, 7);
    timer.timeout_ms = timeout_ms;
}

int virEventRemoveTimeout(int id)
{
    assert_int_equal(id, 7);
    libvirt.timers--;
    return 0;
}

static void send_event(int id, const char *alias)
{
    events[id].call((virConnectPtr)(void *)&connection, (virDomainPtr)(void *)&domain_object, alias,
                    events[id].context);
}

static void let_go(size_t device)
{
    libvirt.has[device] = false;
    send_event(VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED, both[device]);
}

static void wait_for_timer(void)
{
    now_ms += timer.timeout_ms;
    timer.call(7, timer.context);
}

int virEventRunDefaultImpl(void)
{
    switch (libvirt.turn < TURNS ? libvirt.turns[libvirt.turn++] : NOTHING) {
    case NOTHING:
        break;
    case LETS_GO:
        let_go(0);
        return 0;
    case LETS_GO_TOO:
        let_go(1);
        return 0;
    case LOST_EVENT:
        libvirt.has[0] = false;
        break;
    case REJECTS:
        send_event(VIR_DOMAIN_EVENT_ID_DEVICE_REMOVAL_FAILED, both[0]);
        return 0;
    case LOST:
        libvirt.alive = false;
        break;
    case ENDS:
        libvirt.exists = false;
        break;
    case STOPS:
        libvirt.active = false;
        break;
    }
    wait_for_timer();
    return 0;
}

void virResetLastError(void)
{
    last_error = (virError){0};
}

virErrorPtr virGetLastError(void)
{
    return last_error.code ? &last_error : NULL;
}

int virGetLastErrorCode(void)
{
    return last_error.code;
}

const char *virGetLastErrorMessage(void)
{
    return last_error.code ? last_error.message : "no error";
}

/* ---- the tests ------------------------------------------------------------------------------- */

static int start_anew(void **state)
{
    (void)state;
    memset(&libvirt, 0, sizeof libvirt);
    now_ms = 0;
    libvirt.has[0] = libvirt.has[1] = true;
    libvirt.exists = libvirt.active = libvirt.alive = libvirt.opens = true;
    err = (struct oneib_error){0};
    return oneib_live_open("qemu:///system", &live, &err);
}

/* Whatever happened nothing is left behind. */
static int finish(void **state)
{
    (void)state;
    oneib_live_close(live);
    assert_int_equal(libvirt.open, 0);
    assert_int_equal(libvirt.watches, 0);
    assert_int_equal(libvirt.timers, 0);
    assert_int_equal(libvirt.freed, 0);
    return 0;
}

static void let_happen(enum happening first, enum happening second)
{
    libvirt.turns[0] = first;
    libvirt.turns[1] = second;
}

static int detach(uint32_t timeout_ms)
{
    return oneib_live_detach(live, "one-42", both, DEVICES, timeout_ms, gone, &err);
}

static void expect_all_gone(uint32_t timeout_ms)
{
    if (detach(timeout_ms) < 0)
        fail_msg("%s", err.text);
    assert_true(gone[0] && gone[1]);
}

static void expect_failure(int status, enum oneib_error_code code, const char *word)
{
    assert_int_equal(status, -1);
    assert_contains(err.text, "one-42");
    assert_contains(err.text, word);
    assert_int_equal(err.code, code);
}

static void both_are_asked_for_and_waited_for(void **state)
{
    (void)state;
    let_happen(LETS_GO_TOO, LETS_GO);
    expect_all_gone(60000);
    assert_int_equal(libvirt.asked, 2);
    assert_int_equal(libvirt.turn, 2);
    assert_int_equal(libvirt.forgotten, 0);
}

static void what_is_gone_already_is_not_asked_for(void **state)
{
    (void)state;
    libvirt.has[0] = false;
    let_happen(LETS_GO_TOO, NOTHING);
    expect_all_gone(60000);
    assert_int_equal(libvirt.asked, 1);
}

static void a_lost_event_is_made_up_for_by_the_document(void **state)
{
    (void)state;
    let_happen(LOST_EVENT, LETS_GO_TOO);
    expect_all_gone(60000);
    assert_true(now_ms < 2000);
}

static void a_guest_that_keeps_one_is_given_its_time(void **state)
{
    (void)state;
    let_happen(LETS_GO_TOO, NOTHING);
    expect_failure(detach(700), ONEIB_ERROR_TIMEOUT, "ua-oneib-0 in 1 s");
    assert_false(gone[0]);
    assert_true(gone[1]);
    assert_true(now_ms >= 700 && now_ms < 750);
}

/* What went in the last moment counts. */
static void the_document_is_looked_at_when_time_is_over(void **state)
{
    (void)state;
    let_happen(LETS_GO_TOO, LOST_EVENT);
    expect_all_gone(50);
}

static void a_guest_that_rejects_one_may_give_the_other(void **state)
{
    (void)state;
    let_happen(REJECTS, LETS_GO_TOO);
    expect_failure(detach(60000), ONEIB_ERROR_REFUSED, "ua-oneib-0");
    assert_false(gone[0]);
    assert_true(gone[1]);
    assert_int_equal(libvirt.turn, 2);
}

static void a_request_that_was_made_before_is_waited_for(void **state)
{
    (void)state;
    const char *const words[] = {
        "internal error: unable to execute QEMU command 'device_del': Device ua-oneib-0 is already "
        "in the process of unplug",
        "internal error: unable to execute QEMU command 'device_del': Hot-unplug failed: guest is "
        "busy (power indicator blinking)"};
    for (size_t i = 0; i < 2; i++) {
        libvirt.has[0] = libvirt.has[1] = true;
        libvirt.turn = 0;
        libvirt.refused_code = VIR_ERR_INTERNAL_ERROR;
        libvirt.refused_words = words[i];
        let_happen(LETS_GO, LETS_GO_TOO);
        expect_all_gone(60000);
    }
}

static void one_that_goes_before_it_is_asked_for_is_gone(void **state)
{
    (void)state;
    libvirt.refused_code = VIR_ERR_DEVICE_MISSING;
    libvirt.refused_words = "device not found";
    let_happen(LETS_GO_TOO, NOTHING);
    expect_all_gone(60000);
}

/* libvirt calls that an internal error. */
static void one_that_goes_while_it_is_asked_for_is_gone(void **state)
{
    (void)state;
    libvirt.goes_when_asked = true;
    libvirt.refused_code = VIR_ERR_INTERNAL_ERROR;
    libvirt.refused_words = "internal error: no device found with alias ua-oneib-0";
    let_happen(LETS_GO_TOO, NOTHING);
    expect_all_gone(60000);
}

/* It may just have been starting. */
static void a_guest_that_does_not_answer_is_asked_again(void **state)
{
    (void)state;
    libvirt.turns[16] = LETS_GO;
    libvirt.turns[17] = LETS_GO_TOO;
    expect_all_gone(60000);
    assert_int_equal(libvirt.asked, 4);
    assert_true(now_ms < 10000);
}

static void what_libvirt_refuses_does_not_keep_the_other(void **state)
{
    (void)state;
    libvirt.refused_code = VIR_ERR_OPERATION_INVALID;
    libvirt.refused_words = "a job is running";
    let_happen(NOTHING, LETS_GO_TOO);
    expect_failure(detach(60000), ONEIB_ERROR_REFUSED,
                   "unplugging ua-oneib-0: libvirt: a job is running");
    assert_false(gone[0]);
    assert_true(gone[1]);
}

static void a_libvirt_that_goes_away_leaves_what_is_known(void **state)
{
    (void)state;
    let_happen(LETS_GO_TOO, LOST);
    expect_failure(detach(60000), ONEIB_ERROR_UNREACHABLE, "socket is closed");
    assert_false(gone[0]);
    assert_true(gone[1]);
    assert_true(now_ms < 2000);
}

static void a_libvirt_that_does_not_answer_is_unreachable(void **state)
{
    (void)state;
    libvirt.opens = false;
    expect_failure(detach(60000), ONEIB_ERROR_UNREACHABLE, "Connection refused");
    assert_false(gone[0] || gone[1]);
}

static void a_domain_that_ends_has_nothing_any_more(void **state)
{
    (void)state;
    let_happen(ENDS, NOTHING);
    expect_failure(detach(60000), ONEIB_ERROR_NOT_FOUND, "ended");
    assert_true(gone[0] && gone[1]);
    libvirt.exists = true;
    libvirt.turn = 0;
    let_happen(STOPS, NOTHING);
    expect_failure(detach(60000), ONEIB_ERROR_NOT_FOUND, "ended");
    assert_true(gone[0] && gone[1]);
}

static void a_definition_loses_what_is_gone(void **state)
{
    (void)state;
    libvirt.defined = true;
    let_happen(LETS_GO_TOO, REJECTS);
    expect_failure(detach(60000), ONEIB_ERROR_REFUSED, "ua-oneib-0");
    assert_int_equal(libvirt.forgotten, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start_anew, finish)
    const struct CMUnitTest tests[] = {
        TEST(both_are_asked_for_and_waited_for),
        TEST(what_is_gone_already_is_not_asked_for),
        TEST(a_lost_event_is_made_up_for_by_the_document),
        TEST(a_guest_that_keeps_one_is_given_its_time),
        TEST(the_document_is_looked_at_when_time_is_over),
        TEST(a_guest_that_rejects_one_may_give_the_other),
        TEST(a_request_that_was_made_before_is_waited_for),
        TEST(one_that_goes_before_it_is_asked_for_is_gone),
        TEST(one_that_goes_while_it_is_asked_for_is_gone),
        TEST(a_guest_that_does_not_answer_is_asked_again),
        TEST(what_libvirt_refuses_does_not_keep_the_other),
        TEST(a_libvirt_that_goes_away_leaves_what_is_known),
        TEST(a_libvirt_that_does_not_answer_is_unreachable),
        TEST(a_domain_that_ends_has_nothing_any_more),
        TEST(a_definition_loses_what_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
