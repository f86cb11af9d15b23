// SPDX-License-Identifier: Apache-2.0
/* What the files of the lab share. */
#ifndef ONEIB_LAB_INTERNAL_H
#define ONEIB_LAB_INTERNAL_H

#include "base/text.h"
#include "lab.h"
#include "lab_plan.h"
#include <limits.h>
#include <xmlrpc-c/base.h>
#include <xmlrpc-c/client.h>

struct lab_child {
    char *name;
    pid_t pid;      /* 0: ended and waited for */
    pid_t was;      /* the same, after its end, too */
    int status;     /* at its end, as waitpid() gives it */
    bool on_fabric; /* has a place in ibsim */
};

/* A host whose key is to be in the ledger: lab_accept.c. */
struct lab_accepted {
    uint32_t id;
    char key[65];
};

struct lab {
    struct lab *next; /* of all labs of this process */
    bool closing;
    pid_t owner; /* a forked copy of this process must not end our children */
    struct lab_options options;
    struct lab_plan plan;
    char directory[64];
    int lock;     /* held while the lab is open, see lab_directory.c; -1: none */
    pid_t keeper; /* 0: none */
    char socket_name[64];
    char **texts; /* paths and names handed out */
    size_t text_count, text_capacity;
    struct lab_child *children; /* in the order of their start */
    size_t child_count, child_capacity;
    pid_t ibsim;
    int ibsim_stdin; /* -1: not started */
    unsigned ibsim_commands;
    pid_t standin;
    char endpoint[64];
    char control_endpoint[64]; /* the same cloud; up while oned's own is down */
    char events_endpoint[64];
    char metrics_address[32], grants_address[32];
    char session[64], limited_session[64], acl_session[64];
    bool client_global;
    xmlrpc_env env;
    xmlrpc_client *client;
    struct lab_nodes *nodes; /* NULL: not started */
    bool keys_are_given;     /* nothing has changed about networks since */
    bool keys_wait;          /* lab_let_keys_wait() */
    bool has_begun_oneibd;
    struct lab_accepted *accepted; /* not written yet */
    size_t accepted_count, accepted_capacity;
    struct oneib_ledger_port *ports; /* likewise */
    size_t port_count, port_capacity;
    unsigned ufm_port;    /* of the stand-in for UFM; 0: there is none */
    const char *ufm_more; /* lab_ufm_more() */
    bool is_faulty;       /* lab_fault() was called: what comes of it is the test's alone */
};

void lab_accept_later(struct lab *lab, uint32_t id, const char *key);
void lab_accept_port(struct lab *lab, uint32_t id, const char *device, const char *driver,
                     uint8_t number, uint64_t guid);
/* Writes them to the ledger. Keys of hosts without such a port wait for lab_accept_waiting(): without
 * oneibd the command adds no member on a host that may have VFs. */
int lab_accept_now(struct lab *lab, struct oneib_error *err);

/* lab_give_keys(), unless a daemon runs that does it, or faults are set. */
void lab_play_daemon(struct lab *lab);

/* Keeps text (allocated) until the lab is closed. */
const char *lab_keep(struct lab *lab, char *text);

struct lab_program {
    const char *name; /* its log is DIRECTORY/NAME.log when out is -1 */
    const char *hca;  /* NULL: without the fabric */
    const char *const *argv;
    const char *const *environment; /* further NAME=VALUE, NULL terminated, or NULL */
    int in, out, error;             /* -1: /dev/null, the log, the log */
    bool as_node_user;              /* not as root, see lab_node.h */
    void (*meanwhile)(void);        /* of lab_run_program(): called once it runs; or NULL */
};
/* Where programs of the system are looked for, whatever the user's PATH: many users' has no sbin,
 * where opensm and smpquery are. */
#define LAB_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
/* A name with a slash is found as it is; others in one of the directories, joined by colons. */
int lab_find_program(const char *name, const char *directories, char found[PATH_MAX],
                     struct oneib_error *err);
/* "LD_PRELOAD=" with the simulator's library and one of this build, for the environment of a
 * program on the fabric. To be freed. */
char *lab_preload(struct lab *lab, const char *library, struct oneib_error *err);
/* Starts a child that dies with this process. One that cannot be executed is an error. */
int lab_start(struct lab *lab, const struct lab_program *program, pid_t *pid,
              struct oneib_error *err);
/* Runs it to its end, with that text on its standard input (NULL: nothing); as lab_run() does. */
int lab_run_program(struct lab *lab, struct lab_program *program, const char *input,
                    unsigned timeout_ms, struct lab_output *output, struct oneib_error *err);
/* The end of a child; waits until then, or until the time is over (returns false). *status as
 * waitpid() gives it. */
bool lab_wait(struct lab *lab, pid_t pid, unsigned timeout_ms, int *status);
bool lab_is_running(struct lab *lab, pid_t pid);
/* For an error's text: "ended by signal 11", "ended with status 2", "still running". To be freed;
 * NULL: out of memory. */
char *lab_how_it_ended(const struct lab *lab, pid_t pid);
void lab_kill_children(struct lab *lab);
long lab_clock_ms(void);

/* The groups sm and ufm of a configuration; nothing without the stand-in for UFM. */
void lab_ufm_settings(const struct lab *lab, struct oneib_text *config);

/* Between programs and ibsim, where that lacks something; lab_behind() is the name by which it
 * finds ibsim then. */
bool lab_has_behind(const struct lab *lab);
int lab_m_keys_start(struct lab *lab, struct oneib_error *err);
void lab_behind(const struct lab *lab, char name[80]);
/* Until a control socket of that name is there. */
int lab_await_listening(struct lab *lab, const char *name, pid_t pid, const char *log,
                        struct oneib_error *err);

/* The child of that name that was started last; 0: it is not running. */
pid_t lab_child_pid(const struct lab *lab, const char *name);
/* ibsim takes back the places of programs that ended without giving them back. */
void lab_fabric_reclaim(struct lab *lab);

/* Whether DIRECTORY/file holds text from byte `start` on, now or within timeout_ms while the child
 * runs. */
int lab_await_text(struct lab *lab, const char *file, long start, const char *text, pid_t pid,
                   unsigned timeout_ms, struct oneib_error *err);
/* Bytes of DIRECTORY/file, 0 when it is not there. */
long lab_size(struct lab *lab, const char *file);
/* For an error's text, since the log goes with the lab: "opensm.log ends with:" and its last lines,
 * or "it has said nothing". To be freed. */
char *lab_log_end(struct lab *lab, const char *file);
/* All of DIRECTORY/file (to be freed), "" when it is not there. */
char *lab_read(struct lab *lab, const char *file);
char *lab_read_from(struct lab *lab, const char *file, long start);

/* Ports that lead from the SM's host to a host, for smpquery -D: "0,1,3". */
void lab_direct_route(const struct lab *lab, size_t host, char *route, size_t size);
size_t lab_all_hosts(const struct lab *lab); /* with the extra ones */

void lab_client_close(struct lab *lab);
int lab_directory_open(struct lab *lab, struct oneib_error *err);
/* When all children have ended: removes it, unless the lab is to keep it. */
void lab_directory_close(struct lab *lab);

/* Whom programs of a node run as when root runs the lab. */
#define LAB_NODE_USER 65534
void lab_nodes_clear(struct lab *lab);
/* Directories: what is that user's, and the programs of nodes. */
#define LAB_NODES "nodes"
#define LAB_MEMORY "/dev/shm" /* where LAB_NODES is a link to, if there is room */
#define LAB_NODE_PROGRAMS "programs"

/* The host's service is played, and reports these ports, ascending (0: none); played services know
 * of a further daemon. */
int lab_play_host(struct lab *lab, uint32_t id, const char *device, const char *driver,
                  unsigned vfs, uint64_t first_port, uint64_t second_port, struct oneib_error *err);
int lab_played_daemon(struct lab *lab, const struct oneib_ledger_daemon *daemon,
                      struct oneib_error *err);

/* Ports for this lab's daemon; other labs' daemons may run at the same time. */
int lab_find_addresses(struct lab *lab, struct oneib_error *err);

#endif
