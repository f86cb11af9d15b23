// SPDX-License-Identifier: Apache-2.0
/* The list that `oneib check` prints: one line a thing looked at, each with its mend. */
#ifndef ONEIB_ONEIB_VERB_CHECK_H
#define ONEIB_ONEIB_VERB_CHECK_H

#include "oneib/open.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum oneib_check_status { ONEIB_CHECK_OK, ONEIB_CHECK_WARN, ONEIB_CHECK_FAIL };

struct oneib_check {
    enum oneib_check_status status;
    const char *name; /* static */
    char *text;       /* owned */
    char *fix;        /* owned, may be NULL; lines are separated by newlines */
};

struct oneib_checks {
    struct oneib_check *items;
    size_t count, capacity;
};

void oneib_check_add(struct oneib_checks *checks, enum oneib_check_status status, const char *name,
                     const char *fix, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* What is behind the last "; " of the error's text is the fix; a fix that is not NULL stands instead. */
void oneib_check_add_error(struct oneib_checks *checks, enum oneib_check_status status,
                           const char *name, const char *fix, const struct oneib_error *err);

/* Appends where a file of the front-end is: below ONE_LOCATION where that is set, else as OpenNebula's
 * packages have it. Both paths begin with "/". */
void oneib_check_append_front_end(const char *self_contained, const char *packaged,
                                  struct oneib_text *path);
/* Credentials, oned, its version and restrictions, what hosts report. */
void oneib_check_cloud(struct oneib_session *session, struct oneib_checks *checks);
/* Whether users of Sunstone see service templates; nothing is said where Sunstone's server is not.
 */
void oneib_check_sunstone(struct oneib_checks *checks);
/* Whether any machine can send monitoring messages for any host. Adds nothing without monitord.conf. */
void oneib_check_monitoring(struct oneib_checks *checks);
/* Whether OpenNebula's remotes, where they are on this machine, tell nodes of the ledger's daemons,
 * and whether these answer; elsewhere whether one of them runs here. */
void oneib_check_daemons(struct oneib_session *session, struct oneib_checks *checks);
/* Whether something takes connections at the address of a daemon (tcp://HOST:PORT), within 2 s;
 * else why not. */
int oneib_check_daemon_answers(const char *address, struct oneib_error *err);
/* The command that puts the ledger's daemons into the remotes, and these onto the hosts. */
extern const char oneib_daemons_to_remotes[];
/* The service that gives VFs to VMs; nothing is said on a machine without VFs. */
void oneib_check_node(struct oneib_checks *checks);
/* The umad port and the subnet manager on it. */
void oneib_check_fabric(struct oneib_session *session, struct oneib_checks *checks);
/* The keys of the management plane: opensm's, oneib's, those of the ports. */
void oneib_check_keys(struct oneib_session *session, struct oneib_checks *checks);
/* UFM: whether it answers, and what is wrong with it; nothing is said of other subnet managers. */
void oneib_check_ufm(struct oneib_session *session, struct oneib_checks *checks);
/* The opensm process, and whether it reads our file. */
void oneib_check_opensm(const struct oneib_config *config, struct oneib_checks *checks);
/* Whether opensm is told of the traffic classes; nothing is said where there are none. */
void oneib_check_qos(const struct oneib_config *config, struct oneib_checks *checks);
/* Whether the scheduler's placer can go by qos.links_file; nothing is said where it is not set. */
void oneib_check_links(const struct oneib_config *config, struct oneib_checks *checks);
/* The partitions file and the operator's static partitions. */
void oneib_check_files(const struct oneib_config *config, struct oneib_checks *checks);

/*
 * How an opensm process is set up: by its command line, else its configuration file, else opensm's
 * defaults.
 */
struct oneib_opensm_setup {
    char *partitions;   /* the partitions file that it reads; owned, absolute */
    bool virtual_ports; /* its configuration has them on (NVIDIA's subnet manager only) */
    char *config;       /* the configuration file that it reads, if it is there; owned, absolute */
    char *cache;        /* where it keeps guid2mkey; owned, absolute */
    char *sm_key;       /* of its command line, hexadecimal; owned; NULL: not there */
};
/* False: no opensm runs here, or it cannot be looked at. */
bool oneib_opensm_setup_find(const struct oneib_config *config, struct oneib_opensm_setup *setup);
void oneib_opensm_setup_clear(struct oneib_opensm_setup *setup);
#define oneib_autosetup __attribute__((cleanup(oneib_opensm_setup_clear)))

#endif
