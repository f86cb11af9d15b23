// SPDX-License-Identifier: Apache-2.0
/*
 * Following libvirt's events, with the test driver's default node, which all connections of a
 * process share: what a test does to it comes as events. A few of libvirt's functions are replaced,
 * for what the test driver never does: to lose its connection, to fail, to have odd documents.
 */
#include "../../skip.h"
#include "../../valgrind.h"
#include "listener.h"
#include "node_file.h"
#include "oneib-node/oneib-domains/domain_watch.h"
#include <dlfcn.h>
#include <libvirt/libvirt.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define BEAT_MS 20
#define LONG_MS 60000 /* a beat that does not come */
#define URI "test:///default"

static struct oneib_domain_watch *watch;
static int sockets[2]; /* oneib-node's, the watch's */
static virConnectPtr libvirt;

static struct {
    bool is_lost, refuses, is_dumb;
    bool is_silent;  /* no event tells that a domain starts, or ends */
    const char *odd; /* what the document of "one-42" is instead; NULL: what it is */
    bool ends_when_read;
    unsigned documents; /* that were asked for */
    unsigned connections;
} standin;

/* ---- libvirt's functions --------------------------------------------------------------------- */

static void *real(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    assert_non_null(function);
    return function;
}

#define CALL(type, name, ...)                                                                      \
    do {                                                                                           \
        type function;                                                                             \
        void *address = real(name);                                                                \
        memcpy(&function, &address, sizeof function);                                              \
        return function(__VA_ARGS__);                                                              \
    } while (0)

typedef int (*of_connection)(virConnectPtr);
typedef virConnectPtr (*opening)(const char *);
typedef char *(*of_document)(virDomainPtr, unsigned);
typedef int (*registering)(virConnectPtr, virDomainPtr, int, virConnectDomainEventGenericCallback,
                           void *, virFreeCallback);

int virConnectIsAlive(virConnectPtr conn)
{
    if (standin.is_lost)
        return 0;
    CALL(of_connection, "virConnectIsAlive", conn);
}

int virConnectNumOfDomains(virConnectPtr conn)
{
    if (standin.is_dumb)
        return -1;
    CALL(of_connection, "virConnectNumOfDomains", conn);
}

virConnectPtr virConnectOpenReadOnly(const char *uri)
{
    if (standin.refuses)
        uri = "test:///nonexistent/node.xml";
    standin.connections++;
    standin.is_lost = standin.is_dumb = false;
    CALL(opening, "virConnectOpenReadOnly", uri);
}

static int hear_nothing(virConnectPtr conn, virDomainPtr domain, int event, int detail, void *what)
{
    (void)conn;
    (void)domain;
    (void)event;
    (void)detail;
    (void)what;
    return 0;
}

int virConnectDomainEventRegisterAny(virConnectPtr conn, virDomainPtr domain, int event,
                                     virConnectDomainEventGenericCallback callback, void *what,
                                     virFreeCallback free_what)
{
    if (standin.is_silent && event == VIR_DOMAIN_EVENT_ID_LIFECYCLE)
        callback = VIR_DOMAIN_EVENT_CALLBACK((void (*)(void))hear_nothing);
    CALL(registering, "virConnectDomainEventRegisterAny", conn, domain, event, callback, what,
         free_what);
}

static void end_domain(const char *name)
{
    virDomainPtr domain = virDomainLookupByName(libvirt, name);
    assert_non_null(domain);
    assert_int_equal(virDomainDestroy(domain), 0);
    virDomainFree(domain);
}

char *virDomainGetXMLDesc(virDomainPtr domain, unsigned flags)
{
    standin.documents++;
    if (standin.odd && strcmp(virDomainGetName(domain), "one-42") == 0)
        return strdup(standin.odd);
    if (standin.ends_when_read) {
        standin.ends_when_read = false;
        end_domain(virDomainGetName(domain));
    }
    CALL(of_document, "virDomainGetXMLDesc", domain, flags);
}

/* ---- the scene ------------------------------------------------------------------------------- */

static bool has_said_something(void)
{
    return has_more(sockets[0], 0);
}

/* Turns until something is said. */
static void turn(void)
{
    while (!has_said_something())
        assert_true(oneib_domain_watch_turn(watch));
}

static struct heard next_list(void)
{
    turn();
    return hear_list(sockets[0]);
}

static const char *next_unknown(void)
{
    turn();
    return hear_unknown(sockets[0]);
}

/* What comes after signs of life. */
static struct oneib_domain_news next_but_alive(void)
{
    struct oneib_domain_news news;
    do {
        turn();
        news = hear(sockets[0]);
    } while (news.kind == ONEIB_DOMAIN_NEWS_ALIVE);
    return news;
}

static void begin(uint32_t beat_ms)
{
    struct oneib_error err;
    standin.refuses = standin.is_lost = standin.is_dumb = standin.ends_when_read = false;
    standin.is_silent = false;
    standin.odd = NULL;
    standin.connections = 0;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    const struct oneib_domain_watch_options options = {
        .uri = URI, .socket = sockets[1], .beat_ms = beat_ms, .processes = in_scratch("")};
    assert_int_equal(oneib_domain_watch_open(&options, &watch, &err), 0);
    libvirt = virConnectOpen(URI);
    assert_non_null(libvirt);
}

/* One that has told its first list, of the one domain that the node has. */
static void begin_quietly(uint32_t beat_ms)
{
    begin(beat_ms);
    const struct heard heard = next_list();
    assert_int_equal(heard.count, 1);
    assert_int_equal(devices_of(&heard, "test"), 0);
    standin.documents = 0;
}

static int end(void **state)
{
    (void)state;
    if (!watch)
        return 0;
    oneib_domain_watch_close(watch);
    watch = NULL;
    virConnectClose(libvirt);
    close(sockets[0]);
    if (sockets[1] >= 0)
        close(sockets[1]);
    return 0;
}

static void start(const char *xml)
{
    virDomainPtr domain = virDomainCreateXML(libvirt, xml, 0);
    assert_non_null(domain);
    virDomainFree(domain);
}

static void define(const char *xml)
{
    virDomainPtr domain = virDomainDefineXML(libvirt, xml);
    assert_non_null(domain);
    virDomainFree(domain);
}

#define UUID_OF_OTHER "5dec61fb-6338-452b-9e09-76372ec01406"
/* The same domain twice. */
#define OTHER(inside)                                                                              \
    "<domain type='test'><name>other</name><uuid>" UUID_OF_OTHER "</uuid>"                         \
    "<memory>1024</memory><os><type>hvm</type></os><devices>" inside "</devices></domain>"

/* ---- events ---------------------------------------------------------------------------------- */

static void a_domain_that_starts_is_told_and_one_that_ends_is_gone(void **state)
{
    (void)state;
    begin_quietly(LONG_MS);
    start(DOMAIN("one-42", RUNNING, HOSTDEV("0x1")));
    struct heard heard = next_list();
    assert_int_equal(heard.count, 2);
    assert_string_equal(entry_of(&heard, 0, 1)->name, "one-42");
    assert_true(entry_of(&heard, 0, 1)->running);
    end_domain("one-42");
    heard = next_list();
    assert_int_equal(heard.count, 1);
    assert_null(entry_of(&heard, 0, 1));
}

/* After a few signs of life at the most. */
static struct heard next_list_without_an_event(void)
{
    for (int beats = 0; beats < 50; beats++) {
        turn();
        const struct oneib_domain_news news = hear(sockets[0]);
        if (news.kind == ONEIB_DOMAIN_NEWS_BEGIN)
            return hear_rest(sockets[0]);
        assert_int_equal(news.kind, ONEIB_DOMAIN_NEWS_ALIVE);
    }
    fail_msg("no list is told");
    return (struct heard){.count = 0};
}

/* libvirt says that it has started when it has its memory, and never when it has not got it. */
static void
a_domain_that_is_about_to_start_is_told_at_the_next_beat_and_so_is_its_failure(void **state)
{
    (void)state;
    begin(BEAT_MS);
    standin.is_silent = true;
    assert_int_equal(next_list().count, 1);
    start(DOMAIN("one-42", RUNNING, HOSTDEV("0x1")));
    struct heard heard = next_list_without_an_event();
    assert_int_equal(devices_of(&heard, "one-42"), 1);
    end_domain("one-42");
    heard = next_list_without_an_event();
    assert_int_equal(heard.count, 1);
    /* What is known is not read at each beat. */
    standin.documents = 0;
    for (int beats = 0; beats < 3; beats++) {
        turn();
        assert_int_equal(hear(sockets[0]).kind, ONEIB_DOMAIN_NEWS_ALIVE);
    }
    assert_int_equal(standin.documents, 0);
}

static void only_the_domain_of_an_event_is_read_again(void **state)
{
    (void)state;
    begin_quietly(LONG_MS);
    start(DOMAIN("one-1", RUNNING, HOSTDEV("0x1")));
    next_list();
    assert_int_equal(standin.documents, 1);
}

static void of_one_that_runs_and_is_defined_both_are_spoken_for(void **state)
{
    (void)state;
    begin_quietly(LONG_MS);
    start(OTHER(HOSTDEV("0x1")));
    next_list();
    define(OTHER(HOSTDEV("0x2")));
    struct heard heard = next_list();
    assert_int_equal(devices_of(&heard, "other"), 2);
    end_domain("other");
    heard = next_list();
    assert_int_equal(devices_of(&heard, "other"), 1);
    assert_false(entry_of(&heard, 0, 2)->running);
    virDomainPtr domain = virDomainLookupByName(libvirt, "other");
    assert_int_equal(virDomainUndefine(domain), 0);
    virDomainFree(domain);
    heard = next_list();
    assert_int_equal(heard.count, 1);
}

/* It is read again, and found to be as it was. */
static void an_event_that_changes_nothing_is_not_told(void **state)
{
    (void)state;
    begin_quietly(BEAT_MS);
    virDomainPtr domain = virDomainLookupByName(libvirt, "test");
    assert_int_equal(virDomainSuspend(domain), 0);
    while (standin.documents == 0)
        assert_true(oneib_domain_watch_turn(watch));
    assert_int_equal(virDomainResume(domain), 0);
    virDomainFree(domain);
    for (int i = 0; i < 5; i++) {
        turn();
        assert_int_equal(hear(sockets[0]).kind, ONEIB_DOMAIN_NEWS_ALIVE);
    }
}

#define MANY 70

static void many_events_at_once_miss_no_domain(void **state)
{
    (void)state;
    begin_quietly(LONG_MS);
    for (int i = 0; i < MANY; i++) {
        char xml[1024];
        snprintf(xml, sizeof xml,
                 "<domain type='test'><name>one-%d</name><memory>1024</memory><os>"
                 "<type>hvm</type></os></domain>",
                 i);
        start(xml);
    }
    size_t count;
    do {
        turn();
        assert_int_equal(hear(sockets[0]).kind, ONEIB_DOMAIN_NEWS_BEGIN);
        count = 0;
        while (hear(sockets[0]).kind != ONEIB_DOMAIN_NEWS_END)
            count++;
    } while (count < MANY + 1);
    for (int i = 0; i < MANY; i++) {
        char name[32];
        snprintf(name, sizeof name, "one-%d", i);
        end_domain(name);
    }
}

static void a_domain_that_ends_while_it_is_read_is_gone(void **state)
{
    (void)state;
    begin_quietly(BEAT_MS);
    standin.ends_when_read = true;
    start(DOMAIN("one-42", RUNNING, HOSTDEV("0x1")));
    while (standin.ends_when_read)
        assert_true(oneib_domain_watch_turn(watch));
    for (int i = 0; i < 3; i++) {
        turn();
        assert_int_equal(hear(sockets[0]).kind, ONEIB_DOMAIN_NEWS_ALIVE);
    }
}

/* A device that is attached to a definition alone causes no event. */
static void definitions_are_read_again_without_an_event(void **state)
{
    (void)state;
    begin_quietly(BEAT_MS);
    define(DOMAIN("one-42", RUNNING, ""));
    assert_int_equal(next_but_alive().kind, ONEIB_DOMAIN_NEWS_BEGIN);
    struct heard heard = hear_rest(sockets[0]);
    assert_int_equal(devices_of(&heard, "one-42"), 0);
    standin.odd = DOMAIN("one-42", RUNNING, HOSTDEV("0x5"));
    assert_int_equal(next_but_alive().kind, ONEIB_DOMAIN_NEWS_BEGIN);
    heard = hear_rest(sockets[0]);
    assert_int_equal(devices_of(&heard, "one-42"), 1);
    virDomainPtr domain = virDomainLookupByName(libvirt, "one-42");
    assert_int_equal(virDomainUndefine(domain), 0);
    virDomainFree(domain);
}

/* ---- documents ------------------------------------------------------------------------------- */

static void one_that_cannot_be_read_makes_all_unknown_until_it_can(void **state)
{
    (void)state;
    begin_quietly(BEAT_MS);
    standin.odd = DOMAIN("one-42", RUNNING,
                         "<hostdev type='pci'><source><address bus='0x81' slot='32'/></source>"
                         "</hostdev>");
    start(DOMAIN("one-42", RUNNING, HOSTDEV("0x1")));
    struct oneib_domain_news news = next_but_alive();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(news.kind, ONEIB_DOMAIN_NEWS_UNKNOWN);
        assert_string_equal(news.text, "domain \"one-42\": its <hostdev> names no PCI address that "
                                       "can be read");
        turn();
        news = hear(sockets[0]);
    }
    standin.odd = "<domain";
    do {
        turn();
        news = hear(sockets[0]);
    } while (strstr(news.text, "PCI address"));
    assert_contains(news.text, "domain \"one-42\": the domain's document is malformed");
    standin.odd = NULL;
    do {
        turn();
        news = hear(sockets[0]);
    } while (news.kind == ONEIB_DOMAIN_NEWS_UNKNOWN);
    assert_int_equal(news.kind, ONEIB_DOMAIN_NEWS_BEGIN);
    const struct heard heard = hear_rest(sockets[0]);
    assert_int_equal(devices_of(&heard, "one-42"), 1);
    end_domain("one-42");
}

/* ---- processes ------------------------------------------------------------------------------- */

/* A process with that UUID among its arguments, noted as the domain's as libvirt does. */
static pid_t start_process(const char *name, const char *uuid)
{
    char note[64], file[64];
    const pid_t process = fork();
    if (process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl("/bin/sh", "sh", "-c", "kill -STOP $$", name, "-uuid", uuid, (char *)NULL);
        _exit(1);
    }
    assert_true(process > 0);
    assert_int_equal(waitpid(process, NULL, WUNTRACED), process);
    snprintf(note, sizeof note, "%d", (int)process);
    snprintf(file, sizeof file, "%s.pid", name);
    put_text(in_scratch(file), note);
    return process;
}

static void end_process(pid_t process)
{
    assert_int_equal(kill(process, SIGKILL), 0);
    assert_int_equal(waitpid(process, NULL, 0), process);
}

static void a_domain_does_not_run_any_more_when_its_process_has_ended(void **state)
{
    (void)state;
    if (on_valgrind())
        skip_because("valgrind knows no pidfd_open()");
    begin_quietly(LONG_MS);
    const pid_t process = start_process("other", UUID_OF_OTHER);
    start(OTHER(HOSTDEV("0x1")));
    struct heard heard = next_list();
    assert_true(entry_of(&heard, 0, 1)->running);
    end_process(process);
    heard = next_list();
    assert_false(entry_of(&heard, 0, 1)->running);
    /* libvirt, which still has it running, is asked again and again. */
    virDomainPtr domain = virDomainLookupByName(libvirt, "other");
    assert_int_equal(virDomainSuspend(domain), 0);
    assert_int_equal(virDomainResume(domain), 0);
    virDomainFree(domain);
    start(DOMAIN("one-1", RUNNING, ""));
    heard = next_list();
    assert_false(entry_of(&heard, 0, 1)->running);
    end_domain("one-1");
    next_list();
    end_domain("other");
    heard = next_list();
    assert_null(entry_of(&heard, 0, 1));
    /* The next run has another process, which nobody knows. */
    start(OTHER(HOSTDEV("0x1")));
    heard = next_list();
    assert_true(entry_of(&heard, 0, 1)->running);
    end_domain("other");
    next_list();
}

static void one_of_another_domain_says_nothing(void **state)
{
    (void)state;
    begin_quietly(BEAT_MS);
    const pid_t process = start_process("other", "5dec61fb-6338-452b-9e09-76372ec01499");
    start(OTHER(HOSTDEV("0x1")));
    assert_int_equal(next_but_alive().kind, ONEIB_DOMAIN_NEWS_BEGIN);
    hear_rest(sockets[0]);
    end_process(process);
    for (int i = 0; i < 5; i++) {
        turn();
        assert_int_equal(hear(sockets[0]).kind, ONEIB_DOMAIN_NEWS_ALIVE);
    }
    end_domain("other");
}

static void a_note_that_others_could_have_written_says_nothing(void **state)
{
    (void)state;
    begin_quietly(BEAT_MS);
    const pid_t process = start_process("other", UUID_OF_OTHER);
    assert_int_equal(chmod(in_scratch("other.pid"), 0666), 0);
    start(OTHER(HOSTDEV("0x1")));
    assert_int_equal(next_but_alive().kind, ONEIB_DOMAIN_NEWS_BEGIN);
    hear_rest(sockets[0]);
    end_process(process);
    for (int i = 0; i < 5; i++) {
        turn();
        assert_int_equal(hear(sockets[0]).kind, ONEIB_DOMAIN_NEWS_ALIVE);
    }
    end_domain("other");
}

/* ---- the connection -------------------------------------------------------------------------- */

static void a_lost_connection_is_told_at_once_and_a_whole_list_after_the_next(void **state)
{
    (void)state;
    begin_quietly(BEAT_MS);
    standin.is_lost = true;
    standin.refuses = true;
    struct oneib_domain_news news = next_but_alive();
    assert_int_equal(news.kind, ONEIB_DOMAIN_NEWS_UNKNOWN);
    assert_string_equal(news.text, "libvirt has ended the connection");
    assert_contains(next_unknown(), "connecting: ");
    assert_contains(next_unknown(), "connecting: ");
    start(DOMAIN("one-7", RUNNING, HOSTDEV("0x7")));
    standin.refuses = false;
    do {
        turn();
        news = hear(sockets[0]);
    } while (news.kind == ONEIB_DOMAIN_NEWS_UNKNOWN);
    assert_int_equal(news.kind, ONEIB_DOMAIN_NEWS_BEGIN);
    const struct heard heard = hear_rest(sockets[0]);
    assert_int_equal(devices_of(&heard, "one-7"), 1);
    end_domain("one-7");
}

static void a_libvirt_that_answers_no_question_is_connected_to_anew(void **state)
{
    (void)state;
    begin_quietly(BEAT_MS);
    standin.is_dumb = true;
    const struct oneib_domain_news news = next_but_alive();
    assert_int_equal(news.kind, ONEIB_DOMAIN_NEWS_UNKNOWN);
    assert_contains(news.text, "asking whether it is there: ");
    assert_int_equal(next_list().count, 1);
    assert_int_equal(standin.connections, 2);
}

static void events_of_the_next_connection_arrive_too(void **state)
{
    (void)state;
    begin_quietly(LONG_MS);
    const struct oneib_domain_order anew = oneib_domain_order_new();
    assert_int_equal(send(sockets[0], &anew, sizeof anew, 0), sizeof anew);
    assert_int_equal(next_list().count, 1);
    assert_int_equal(standin.connections, 2);
    start(DOMAIN("one-42", RUNNING, HOSTDEV("0x1")));
    assert_int_equal(next_list().count, 2);
    end_domain("one-42");
    assert_int_equal(next_list().count, 1);
}

static void it_is_over_when_nobody_listens(void **state)
{
    (void)state;
    begin_quietly(LONG_MS);
    shutdown(sockets[0], SHUT_RDWR);
    while (oneib_domain_watch_turn(watch))
        ;
}

#define each(test) cmocka_unit_test_teardown(test, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        each(a_domain_that_starts_is_told_and_one_that_ends_is_gone),
        each(a_domain_that_is_about_to_start_is_told_at_the_next_beat_and_so_is_its_failure),
        each(only_the_domain_of_an_event_is_read_again),
        each(of_one_that_runs_and_is_defined_both_are_spoken_for),
        each(an_event_that_changes_nothing_is_not_told),
        each(many_events_at_once_miss_no_domain),
        each(a_domain_that_ends_while_it_is_read_is_gone),
        each(definitions_are_read_again_without_an_event),
        each(one_that_cannot_be_read_makes_all_unknown_until_it_can),
        each(a_domain_does_not_run_any_more_when_its_process_has_ended),
        each(one_of_another_domain_says_nothing),
        each(a_note_that_others_could_have_written_says_nothing),
        each(a_lost_connection_is_told_at_once_and_a_whole_list_after_the_next),
        each(a_libvirt_that_answers_no_question_is_connected_to_anew),
        each(events_of_the_next_connection_arrive_too),
        each(it_is_over_when_nobody_listens),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
