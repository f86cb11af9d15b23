// SPDX-License-Identifier: Apache-2.0
/*
 * What the tests of the daemon share: the scene of the command's tests (command_scene.h), an oneibd
 * in it, and waiting until something is so. Every wait has a generous limit, then fails the test
 * with what the daemon logged last.
 */
#ifndef ONEIB_DAEMON_SCENE_H
#define ONEIB_DAEMON_SCENE_H

#include "command_scene.h"
#include <sys/types.h>

/* Until anything is so, on a machine that is busy with other things too. */
#define DAEMON_PATIENCE_MS 120000u
/* How long something that must not happen is given to happen. */
#define DAEMON_DOUBT_MS 400u

/* In daemon_configure() without daemon settings of its own: polls that come often. */
#define DAEMON_QUICK "poll_preparing = 300; poll_idle = 1000;"

/* Events alone: no poll comes within the time of a test. */
#define DAEMON_EVENTS_ONLY "poll_preparing = 5000; poll_idle = 600000;"
/* Of `one`: everything is read again and again. */
#define DAEMON_NO_EVENTS "events = \"none\";"

/* Fixtures of cmocka, with DAEMON_QUICK; end with scene_end(). The partitions file is oneib's, but
 * for those of daemon_raise_new(). */
int daemon_raise_new(void **state); /* there is no partitions file, and no oneibd */
int daemon_raise(void **state);     /* oneibd is not started */
int daemon_raise_watching(void **state);
/* The same fabric and cloud, as they differ: for a fixture of a test program's own. standin:
 * further arguments of the stand-in, or NULL. */
int daemon_raise_on(const struct lab_options *options, const char *const *standin);
#define DAEMON_CASE(raise, test) SCENE_CASE(raise, test)

/* Writes the configuration; more may be NULL. */
void daemon_configure(const struct lab_config *more);
/* Starts LAB_DAEMON; returns when it is watching, or at once. */
void daemon_start(void);
void daemon_spawn(void);
/* daemon_configure() and daemon_start(). */
void daemon_start_with(const char *one, const char *daemon, const char *other);
pid_t daemon_pid(void);
void daemon_signal(int signal);
void daemon_end(void);  /* by SIGTERM; it must end with 0 */
void daemon_kill(void); /* by SIGKILL */
bool daemon_is_running(void);
/* Until it ends by itself; its exit status, 128 + signal. */
int daemon_await_end(void);

/* Everything below looks only at what was logged since the last daemon_forget_log(). */
void daemon_forget_log(void);
char *daemon_log(void); /* to be freed */
bool daemon_said(const char *words);
unsigned daemon_said_times(const char *words);
void await_said(const char *words);

/* Ports: of a fabric host, the raw key; FULL(key). */
void await_holds(size_t host, unsigned raw);
void await_lacks(size_t host, unsigned raw);
/* For that long, looked at again and again. */
void stays_holding(size_t host, unsigned raw, unsigned milliseconds);
void stays_lacking(size_t host, unsigned raw, unsigned milliseconds);

/* A sample of /metrics, as it stands there: "oneib_findings{severity=\"warning\"}". Waits for the
 * first ones. */
double metric(const char *sample);
void await_metric(const char *sample, double wanted);
void await_metric_at_least(const char *sample, double wanted);
/* /healthz answers with that status, and says the words (NULL: any). */
void await_health(unsigned status, const char *words);

/* Runs `oneib sync --adopt`, with any exit status; what it printed is to be cleared. */
struct lab_output adopt_ledger(void);

/* The first value of an attribute in the document of an OpenNebula host, "" when it has none. */
void host_attribute(uint32_t host, const char *name, char *value, size_t size);
void await_host_attribute(uint32_t host, const char *name, const char *wanted);
/* How often a method of oned's was called. */
unsigned calls_of(const char *method);
/* Key of a network, as soon as it has one. */
unsigned await_key_of(uint32_t network);
/* The network "red", and its key. */
#define RED 257u
uint32_t red_network(void);

#endif
