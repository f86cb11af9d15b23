// SPDX-License-Identifier: Apache-2.0
/* systemd's side is a datagram socket, as sd_notify(3) describes it. */
#include "oneibd/notify.h"

#include "../base/scratch.h"
#include "base/clock.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int systemd = -1;

static int open_systemd(void **state)
{
    union {
        struct sockaddr any;
        struct sockaddr_un local;
    } address = {.local = {.sun_family = AF_UNIX}};
    if (make_scratch(state) < 0)
        return -1;
    const int length =
        snprintf(address.local.sun_path, sizeof address.local.sun_path, "%s", in_scratch("notify"));
    if (length >= (int)sizeof address.local.sun_path)
        return -1;
    systemd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    setenv("NOTIFY_SOCKET", address.local.sun_path, 1);
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    return bind(systemd, &address.any, sizeof address.local);
}

static int close_systemd(void **state)
{
    close(systemd);
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    return remove_scratch(state);
}

/* What was told next; "" when nothing was. */
static const char *told(void)
{
    static char message[1024];
    const ssize_t length = recv(systemd, message, sizeof message - 1, MSG_DONTWAIT);
    message[length > 0 ? length : 0] = '\0';
    return message;
}

static void states_are_told(void **state)
{
    (void)state;
    struct oneib_notify notify;
    oneib_notify_begin(&notify, 30000);
    assert_string_equal(told(), "");
    oneib_notify_ready(&notify);
    assert_string_equal(told(), "READY=1");
    oneib_notify_reloading(&notify);
    assert_string_equal(told(), "RELOADING=1");
    oneib_notify_ready(&notify);
    assert_string_equal(told(), "READY=1");
    oneib_notify_stopping(&notify);
    assert_string_equal(told(), "STOPPING=1");
}

static void a_status_is_told_once(void **state)
{
    (void)state;
    struct oneib_notify notify;
    oneib_notify_begin(&notify, 30000);
    oneib_notify_status(&notify, "%d clusters", 5);
    assert_string_equal(told(), "STATUS=5 clusters");
    oneib_notify_status(&notify, "%d clusters", 5);
    assert_string_equal(told(), "");
    oneib_notify_status(&notify, "%d clusters", 6);
    assert_string_equal(told(), "STATUS=6 clusters");
}

static void a_status_cannot_be_another_message(void **state)
{
    (void)state;
    struct oneib_notify notify;
    oneib_notify_begin(&notify, 30000);
    oneib_notify_status(&notify, "VM %s", "a\nSTOPPING=1\r\t\x7f\x1b[31m k\xc3\xb6ln");
    assert_string_equal(told(), "STATUS=VM a?STOPPING=1????[31m k??ln");
}

static void a_long_status_is_cut(void **state)
{
    (void)state;
    struct oneib_notify notify;
    char text[600];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    oneib_notify_begin(&notify, 30000);
    oneib_notify_status(&notify, "%s", text);
    assert_int_equal(strlen(told()), strlen("STATUS=") + sizeof notify.status - 1);
    text[300] = 'y'; /* beyond the cut: nothing new */
    oneib_notify_status(&notify, "%s", text);
    assert_string_equal(told(), "");
}

static void signs_of_life_come_at_a_quarter_of_the_watchdogs_time(void **state)
{
    (void)state;
    struct oneib_notify notify;
    setenv("WATCHDOG_USEC", "400000", 1);
    oneib_notify_begin(&notify, 200);
    assert_string_equal(told(), "");
    assert_true(notify.watchdog_ms > 399 && notify.watchdog_ms < 401);
    oneib_notify_alive(&notify);
    assert_string_equal(told(), "WATCHDOG=1");

    const double begin = oneib_now_ms();
    unsigned count = 0;
    while (oneib_now_ms() - begin < 350) {
        oneib_notify_alive(&notify);
        count += told()[0] != '\0';
        poll(NULL, 0, 1);
    }
    assert_in_range(count, 1, 3);
}

static void a_watchdog_too_short_for_a_call_is_made_longer(void **state)
{
    (void)state;
    struct oneib_notify notify;
    setenv("WATCHDOG_USEC", "30000000", 1);
    oneib_notify_begin(&notify, 30000);
    assert_string_equal(told(), "WATCHDOG_USEC=60000000");
    assert_true(notify.watchdog_ms > 59999 && notify.watchdog_ms < 60001);
}

static void without_a_watchdog_no_signs_of_life_are_given(void **state)
{
    (void)state;
    struct oneib_notify notify;
    oneib_notify_begin(&notify, 30000);
    oneib_notify_alive(&notify);
    assert_string_equal(told(), "");
}

static void a_watchdog_of_another_process_is_not_ours(void **state)
{
    (void)state;
    struct oneib_notify notify;
    setenv("WATCHDOG_USEC", "400000", 1);
    setenv("WATCHDOG_PID", "1", 1);
    oneib_notify_begin(&notify, 30000);
    oneib_notify_alive(&notify);
    assert_string_equal(told(), "");
    unsetenv("WATCHDOG_PID");
}

static void without_systemd_nothing_happens(void **state)
{
    (void)state;
    struct oneib_notify notify;
    unsetenv("NOTIFY_SOCKET");
    setenv("WATCHDOG_USEC", "nonsense", 1);
    oneib_notify_begin(&notify, 30000);
    oneib_notify_ready(&notify);
    oneib_notify_status(&notify, "%s", "well");
    oneib_notify_alive(&notify);
    oneib_notify_stopping(&notify);
    assert_true(notify.watchdog_ms == 0);
    assert_string_equal(told(), "");
}

#define WITH_SYSTEMD(test) cmocka_unit_test_setup_teardown(test, open_systemd, close_systemd)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SYSTEMD(states_are_told),
        WITH_SYSTEMD(a_status_is_told_once),
        WITH_SYSTEMD(a_status_cannot_be_another_message),
        WITH_SYSTEMD(a_long_status_is_cut),
        WITH_SYSTEMD(signs_of_life_come_at_a_quarter_of_the_watchdogs_time),
        WITH_SYSTEMD(a_watchdog_too_short_for_a_call_is_made_longer),
        WITH_SYSTEMD(without_a_watchdog_no_signs_of_life_are_given),
        WITH_SYSTEMD(a_watchdog_of_another_process_is_not_ours),
        WITH_SYSTEMD(without_systemd_nothing_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
