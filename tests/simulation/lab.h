// SPDX-License-Identifier: Apache-2.0
/*
 * A laboratory: a simulated InfiniBand fabric (ibsim) with real opensm, and a stand-in for
 * OpenNebula's oned, all in one private directory, for tests, the demo and benches. Every program
 * it starts is a child that dies with this process and is ended by its own pid; lab_close() stops
 * all of them and removes the directory. A process that exits without closing its labs has them
 * closed on the way out; of one that a signal ends, nothing is left either (lab_directory.c).
 *
 *     struct oneib_error err = {0};
 *     struct lab_options options = LAB_DEFAULTS;
 *     struct lab *lab = lab_open(&options, &err);
 *     lab_fabric_start(lab, &err);             ibsim with hosts 0..host_count-1
 *     lab_opensm_start(lab, &LAB_SM, &err);    master on the SM's own host
 *     lab_standin_start(lab, NULL, &err);      empty cloud: the Ethernet network 0, no host, no VM
 *     lab_add_hosts(lab, 7, &err);             one OpenNebula host for each fabric host, ids 0, 1,
 * ... lab_network_create(lab, "blue", "", NULL, &network, &err); lab_vm_start(lab, "vm", &network,
 * 1, host, &vm, &err); lab_config_write(lab, NULL, &err); lab_oneib(lab, (const char *[]){"sync",
 * NULL}, 30000, &output, &err); lab_close(lab);
 *
 * Functions return 0 or -1 with *err set, as in core/. A lab belongs to one thread.
 */
#ifndef ONEIB_LAB_H
#define ONEIB_LAB_H

#include "base/error.h"
#include "cluster/ledger.h"
#include "lab_shape.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct lab;

struct lab_options {
    unsigned leaves;         /* leaf switches, 1 or more */
    unsigned hosts_per_leaf; /* compute hosts of each leaf; the first leaf carries the SM's host
                                besides */
    unsigned spines;         /* each linked once to every leaf; 0 only with a single leaf */
    unsigned extra_hosts;    /* hosts on the first leaf after all others: a second SM's place, a
                                storage server */
    uint64_t last_guid;      /* node GUID of the last extra host, whose port has one more; 0: as all
                                others are numbered */
    bool last_is_unlinked;   /* that host's link is down at first: for command_scene.h */
    const struct lab_shape *shape; /* instead of leaves and spines; NULL: these */
    bool m_keys;                   /* ports have M_Keys: m-key-standin stands before ibsim */
    bool virtual_ports; /* simulated nodes' mlx5 adapters answer about theirs; likewise */
    bool keep;          /* lab_close() leaves the directory */
};
/* 8 compute hosts on 2 leaves and 2 spines, and the SM's host. */
#define LAB_DEFAULTS                                                                               \
    {                                                                                              \
        .leaves = 2, .hosts_per_leaf = 4, .spines = 2                                              \
    }

/* The name of what this machine lacks for lab_fabric_start() and lab_opensm_start() ("ibsim"), or
 * NULL when it is complete. */
const char *lab_missing(void);
/* What main() of a test then returns: ctest reports it as skipped. */
#define LAB_SKIPPED 77

/* Makes the directory and plans the fabric. Starts nothing. */
struct lab *lab_open(const struct lab_options *options, struct oneib_error *err);
void lab_close(struct lab *lab); /* NULL: nothing */
/* From now on it leaves the directory, for somebody to look at; NULL: nothing. */
void lab_preserve(struct lab *lab);

const char *lab_directory(const struct lab *lab);
/* "DIRECTORY/name", owned by the lab until it is closed. */
const char *lab_path(struct lab *lab, const char *name);
/* Writes text to DIRECTORY/name with that mode. */
int lab_write(struct lab *lab, const char *name, mode_t mode, const char *text,
              struct oneib_error *err);
/* Sleeps; for polling loops of tests. */
void lab_sleep_ms(unsigned milliseconds);

/* ---- the fabric: lab_fabric.c ---------------------------------------------------------------- */

/*
 * The net file names HCAs "SM", then "H1", "H2", ... (compute hosts, leaf by leaf), then "X1", ...
 * (extra hosts), switches "L1", ... and "S1", .... ibsim numbers GUIDs in the order of the file:
 * 0x100000 + 2 per HCA, port 1 one higher. So the SM's port is 0x100001, host 0's 0x100003 and so
 * on. Where adapters have two ports there is one more of each. On a shape (lab_shape.h) switches
 * have the names that stand there. With ONEIB_LAB_SM=ufm in the environment the stand-in for UFM is
 * started besides (lab_ufm.h).
 */
int lab_fabric_start(struct lab *lab, struct oneib_error *err);
/* One line to ibsim's console, for instance `Unlink "H1"[1]`; returns after ibsim has carried it
 * out. */
int lab_fabric_command(struct lab *lab, const char *command, struct oneib_error *err);
/* Waits until the program has a place in ibsim, or has ended. A client that ends between asking for one and
 * getting it ends ibsim, too. */
int lab_fabric_await_place(struct lab *lab, pid_t pid, struct oneib_error *err);
/* Port 1 of a host. */
int lab_fabric_link(struct lab *lab, size_t host, bool up, struct oneib_error *err);
/* All links of a switch, counted from 0 in the order of the plan: a fat tree's leaves come first.
 */
int lab_fabric_switch(struct lab *lab, size_t number, bool up, struct oneib_error *err);
size_t lab_switch_count(const struct lab *lab);

#define LAB_SM_HCA "SM"
#define LAB_SM_PORT_GUID UINT64_C(0x100001)
size_t lab_host_count(const struct lab *lab); /* compute hosts */
/* "H1" for host 0; extra hosts follow the compute hosts. */
const char *lab_host_hca(struct lab *lab, size_t host);
uint64_t lab_host_port_guid(const struct lab *lab, size_t host); /* of port 1 */
uint64_t lab_host_guid_of_port(const struct lab *lab, size_t host, unsigned port);
unsigned lab_host_ports(const struct lab *lab); /* of each compute host's adapter */

/* ---- opensm: lab_opensm.c -------------------------------------------------------------------- */

struct lab_sm {
    const char *name; /* its subdirectory, log and pid file are DIRECTORY/NAME/, DIRECTORY/NAME.log,
                         DIRECTORY/NAME.pid */
    const char *hca;  /* where it runs */
    unsigned priority;      /* 0-15 */
    const char *partitions; /* path of its partition file; NULL: DIRECTORY/partitions.conf, which
                               may be absent: all are full members then */
    const char *options;    /* further lines of its opensm.conf; NULL: none */
};
#define LAB_SM                                                                                     \
    (struct lab_sm)                                                                                \
    {                                                                                              \
        .name = "opensm", .hca = LAB_SM_HCA, .priority = 8                                         \
    }

/* For a second SM: .hca = LAB_SECOND_SM_HCA, a lower priority, partitions of its own. */
#define LAB_SECOND_SM_HCA "X1" /* needs extra_hosts */

/* Starts it and waits until it is master with its first sweep done, or standby. */
int lab_opensm_start(struct lab *lab, const struct lab_sm *sm, struct oneib_error *err);
pid_t lab_opensm_pid(const struct lab *lab, const char *name); /* 0: not running */
bool lab_opensm_is_master(struct lab *lab, const char *name);
/* Until its last state is MASTER with a sweep done ("SUBNET UP") since. */
int lab_opensm_await_master(struct lab *lab, const char *name, unsigned timeout_ms,
                            struct oneib_error *err);
int lab_opensm_signal(struct lab *lab, const char *name, int signal, struct oneib_error *err);
/*
 * SIGTERM (gentle) or SIGKILL, and waits for its end. The pid file stays as it was: a stale one is
 * a case to test. A standby has taken over within a second (lab_opensm_await_master()); the one of
 * higher priority, or lower GUID, takes back when it is started again.
 */
int lab_opensm_stop(struct lab *lab, const char *name, bool gentle, struct oneib_error *err);
const char *lab_opensm_pid_file(struct lab *lab, const char *name);
/* Path of the partition file of LAB_SM. */
const char *lab_partitions(struct lab *lab);

/* ---- the daemon: lab_oneibd.c ---------------------------------------------------------------- */

struct lab_daemon {
    const char *name;   /* its log is DIRECTORY/NAME.log */
    const char *hca;    /* where it runs */
    const char *config; /* NULL: lab_config_path() */
    const char *clock;  /* a file with the seconds that its wall clock is ahead; NULL: none */
};
#define LAB_DAEMON                                                                                 \
    (struct lab_daemon)                                                                            \
    {                                                                                              \
        .name = "oneibd", .hca = LAB_SM_HCA                                                        \
    }

/* Starts the `oneibd` of this build and waits until it has looked at all of oned and says that it
 * is watching. */
int lab_oneibd_start(struct lab *lab, const struct lab_daemon *daemon, struct oneib_error *err);
/* The same, without waiting until it watches: oned does not answer. */
int lab_oneibd_begin(struct lab *lab, const struct lab_daemon *daemon, struct oneib_error *err);
pid_t lab_oneibd_pid(const struct lab *lab, const char *name); /* 0: not running */
int lab_oneibd_signal(struct lab *lab, const char *name, int signal, struct oneib_error *err);
/* SIGTERM, after which it must end with status 0, or SIGKILL; waits for its end. */
int lab_oneibd_stop(struct lab *lab, const char *name, int signal, struct oneib_error *err);

/* GET http://ADDRESS/path of 127.0.0.1:PORT; *body is to be freed. Any status is a success. */
int lab_http_get(const char *address, const char *path, unsigned *status, char **body,
                 struct oneib_error *err);
/* One sample of /metrics, named as it stands there: "oneib_sm_master",
 * "oneib_findings{severity=\"warning\"}". */
int lab_metric(const char *address, const char *sample, double *value, struct oneib_error *err);
/* Until it has that value; a daemon that does not answer yet is waited for, too. */
int lab_await_metric(const char *address, const char *sample, double wanted, unsigned timeout_ms,
                     struct oneib_error *err);

/* ---- programs: lab_run.c --------------------------------------------------------------------- */

struct lab_output {
    char *out, *error; /* NUL terminated, at most LAB_OUTPUT_MAX bytes each; the rest is read and
                          dropped */
    size_t out_length, error_length;
    int status;     /* exit status; 128 + signal when a signal ended it */
    bool timed_out; /* killed because the time was over */
};
#define LAB_OUTPUT_MAX ((size_t)16 << 20)
void lab_output_clear(struct lab_output *output);

/*
 * Runs a program (found by PATH) as if on the HCA `hca` of the fabric, in the lab's directory, and
 * waits for it. hca NULL: without the fabric. A program that ends with any status is a success of
 * lab_run(): look at output->status.
 */
int lab_run(struct lab *lab, const char *hca, const char *const *argv, unsigned timeout_ms,
            struct lab_output *output, struct oneib_error *err);
/* Where no daemon runs: gives networks their P_Keys as it would. */
int lab_give_keys(struct lab *lab, struct oneib_error *err);
/* From now on it is the test's to call that. */
void lab_let_keys_wait(struct lab *lab);
/* Somebody edits the ledger: each of two networks has the other's key at once, which oneib itself
 * brings about never. */
int lab_swap_keys(struct lab *lab, uint32_t a, uint32_t b, struct oneib_error *err);
/* *pkey: the network's in the ledger; 0: none. */
int lab_ledger_key(struct lab *lab, uint32_t network, unsigned *pkey, struct oneib_error *err);
/* What the ledger says now; to be cleared. */
int lab_ledger_read(struct lab *lab, struct oneib_ledger *ledger, struct oneib_error *err);
/* The `oneib` of this build on the SM's host with --config DIRECTORY/oneib.conf appended after the
 * verb; arguments end with NULL. Before it, without a daemon, it is lab_give_keys(), when something
 * has changed about networks and one.writer is true. */
int lab_oneib(struct lab *lab, const char *const *arguments, unsigned timeout_ms,
              struct lab_output *output, struct oneib_error *err);
/* Starts one and leaves it running in the lab: output goes to DIRECTORY/name.log. Ended by
 * lab_close(). */
int lab_spawn(struct lab *lab, const char *name, const char *hca, const char *const *argv,
              pid_t *pid, struct oneib_error *err);
/* Signals a child of the lab and waits up to timeout_ms for its end, then kills it. */
int lab_end(struct lab *lab, pid_t pid, int signal, unsigned timeout_ms, struct oneib_error *err);
/*
 * For a bench or test that itself talks to the fabric: first thing in main(). Starts this program
 * again, once, as if on the SM's host of the fabric that the next lab_open() will plan; returns 0
 * in the program started again.
 */
int lab_enter_fabric(char **argv, struct oneib_error *err);
/* The name by which programs find this lab's ibsim (IBSIM_SOCKNAME). */
const char *lab_socket_name(const struct lab *lab);
/* A host's P_Key table, asked by smpquery along a direct route from the SM's host (no SA, no LID):
 * its non-zero entries, in order. */
int lab_host_pkeys(struct lab *lab, size_t host, uint16_t *pkeys, size_t room, size_t *count,
                   struct oneib_error *err);

/* ---- the configuration of oneib: lab_config.c ------------------------------------------------ */

/* Further settings in libconfig syntax ("window = 2;"), within a group or outside (site, pkeys,
 * fabric, ...); NULL: none. one.timeout and one.events replace the lab's own. */
struct lab_config {
    const char *one, *opensm, *daemon, *other;
    const char *partitions; /* a file of the lab's that opensm does not read: what the ports hold is
                               the test's. NULL: the one that it reads */
};
/*
 * DIRECTORY/oneib.conf for this lab: endpoint, events and auth_file of the stand-in, partitions,
 * static partitions (DIRECTORY/static-partitions.conf), reload by the pid file of LAB_SM, metrics
 * at lab_metrics_address(). more may be NULL.
 */
int lab_config_write(struct lab *lab, const struct lab_config *more, struct oneib_error *err);
/* "127.0.0.1:PORT", where nobody listened when the lab was opened. */
const char *lab_metrics_address(const struct lab *lab);
/* How nodes know the daemon of lab_config_write(): daemon.grants, and its public keys. */
int lab_daemon_known_as(struct lab *lab, struct oneib_ledger_daemon *daemon,
                        struct oneib_error *err);
const char *lab_config_path(struct lab *lab);

/* A further instance of oneib, with an opensm of its own. */
struct lab_instance {
    const char *config;                  /* DIRECTORY/NAME.conf */
    const char *partitions;              /* DIRECTORY/NAME.partitions.conf: for its lab_sm */
    char metrics_address[32];            /* another one than lab_metrics_address() */
    struct oneib_ledger_daemon known_as; /* by nodes */
};
/* Like lab_config_write(), for the opensm named sm; one.writer is false. The ports of both SMs
 * belong into default_partition.full_members of both configurations, else oneib refuses to read
 * through the standby's. */
int lab_config_write_named(struct lab *lab, const char *name, const char *sm,
                           const struct lab_config *more, struct lab_instance *instance,
                           struct oneib_error *err);

/* ---- the stand-in for oned: lab_standin.c ---------------------------------------------------- */

/* What happens to the cloud is published as oned would: see tests/simulation/oned-standin. */

/* Further arguments of oned-standin ("--ascending", "--lazy-nics", "--true-time"), NULL terminated, or NULL. */
int lab_standin_start(struct lab *lab, const char *const *arguments, struct oneib_error *err);
int lab_standin_stop(struct lab *lab, struct oneib_error *err);
const char *lab_endpoint(const struct lab *lab);        /* "http://127.0.0.1:PORT/RPC2" */
const char *lab_events_endpoint(const struct lab *lab); /* "tcp://127.0.0.1:PORT" */
const char *lab_session(const struct lab *lab);         /* "oneadmin:..." */
const char *lab_limited_session(const struct lab *lab); /* of a user who sees no host and no VM */

/* One OpenNebula host for each compute host of the fabric, named after its HCA, with mlx4 data of
 * that port: oned's ids 0, 1, .... Without VFs its ports are accepted, as by an operator: `oneib sync`
 * alone gives members on it their P_Keys. */
int lab_add_hosts(struct lab *lab, unsigned vfs_total, struct oneib_error *err);
/* The service of such a host is played: it does at once what the lab's daemons tell it
 * (played-hosts/main.c). */
int lab_host_create(struct lab *lab, const char *name, const char *hca, const char *driver,
                    const char *port_guid, unsigned pkeys_max, unsigned vfs_total, uint32_t *id,
                    struct oneib_error *err);
/* An operator accepts the host's key, 64 digits, as with `oneib host accept --key`: when the first
 * oneibd starts, or at once when it has started. lab_add_hosts(), lab_host_create(), lab_add_nodes()
 * and lab_node_probe() do so of their hosts. */
int lab_host_accept(struct lab *lab, uint32_t id, const char *key, struct oneib_error *err);
/* ... and the port of it, as with `oneib host accept --port`, at once: a port of an adapter without
 * VFs. A P_Key comes to a port of the ledger alone. */
int lab_host_accept_port(struct lab *lab, uint32_t id, const char *device, const char *driver,
                         uint8_t number, uint64_t guid, struct oneib_error *err);
/* All of these now, though no oneibd has started. */
int lab_accept_waiting(struct lab *lab, struct oneib_error *err);
/* That service is not well any more, or is again: a line of MOODS in played-hosts/main.c. */
int lab_host_mood(struct lab *lab, uint64_t first_port, const char *mood, struct oneib_error *err);
/* Its state is ERROR from now on, as when monitoring has failed: all else stays as it is. */
int lab_host_fail(struct lab *lab, uint32_t id, struct oneib_error *err);
int lab_host_create_bare(struct lab *lab, const char *name, uint32_t *id, struct oneib_error *err);
/* What the host's probes printed, as monitord adds it to the host's document. */
int lab_host_monitor(struct lab *lab, uint32_t id, const char *text, struct oneib_error *err);
/* one.host.update with append: "IB_VFS_FREE=6". */
int lab_host_update(struct lab *lab, uint32_t id, const char *attributes, struct oneib_error *err);

/* vlan_id: decimal text, any hostile text, or "" for none. extra: further attributes as "KEY=VALUE"
 * lines, or NULL. VN_MAD is infiniband unless extra says else. */
int lab_network_create(struct lab *lab, const char *name, const char *vlan_id, const char *extra,
                       uint32_t *id, struct oneib_error *err);
int lab_network_reserve(struct lab *lab, uint32_t parent, const char *name, uint32_t *id,
                        struct oneib_error *err);
/* It is that user's from now on, of the group users; networks are made as oneadmin's. */
int lab_network_give(struct lab *lab, uint32_t id, uint32_t uid, struct oneib_error *err);
/* Its state is ERROR from now on, as when vnet_create has failed: all else stays as it is, and VMs
 * start in it. */
int lab_network_fail(struct lab *lab, uint32_t id, struct oneib_error *err);
int lab_network_delete(struct lab *lab, uint32_t id, struct oneib_error *err);
/* one.vn.update with append, as an operator would: "VLAN_ID=300". */
int lab_network_update(struct lab *lab, uint32_t id, const char *attributes,
                       struct oneib_error *err);
int lab_network_vlan_id(struct lab *lab, uint32_t id, char *vlan_id, size_t size,
                        struct oneib_error *err); /* "" when it has none */
/* The text of an element of its document, in CDATA: "IB_SL". */
int lab_network_says(struct lab *lab, uint32_t id, const char *element, char *said, size_t size,
                     struct oneib_error *err);
/* Started with --lazy-nics: running VMs' copies follow their networks now. */
int lab_networks_propagate(struct lab *lab, struct oneib_error *err);

/* A VM in PENDING: NIC 0 on the Ethernet network, NICs 1.. on the given networks. */
int lab_vm_create(struct lab *lab, const char *name, const uint32_t *networks, size_t network_count,
                  uint32_t *id, struct oneib_error *err);
/* Appends a history record on that host and sets ACTIVE/LCM_INIT, then ACTIVE/PROLOG. */
int lab_vm_deploy(struct lab *lab, uint32_t id, uint32_t host, struct oneib_error *err);
/* Many at once, up to 512, VM ids[i] on hosts[i]: what a scheduler does in one cycle. */
int lab_vms_deploy(struct lab *lab, const uint32_t *ids, const uint32_t *hosts, size_t count,
                   struct oneib_error *err);
int lab_vm_state(struct lab *lab, uint32_t id, int state, int lcm_state, struct oneib_error *err);
/* ACTIVE/RUNNING; a migration, attach or detach under way is completed by it. */
int lab_vm_running(struct lab *lab, uint32_t id, struct oneib_error *err);
/* create, deploy and running in one. */
int lab_vm_start(struct lab *lab, const char *name, const uint32_t *networks, size_t network_count,
                 uint32_t host, uint32_t *id, struct oneib_error *err);
/* Appends a history record on the new host and sets ACTIVE/lcm_state (4 MIGRATE for a live
 * migration). */
int lab_vm_migrate(struct lab *lab, uint32_t id, uint32_t host, int lcm_state,
                   struct oneib_error *err);
/* The NIC has ATTACH=YES and the VM is in HOTPLUG_NIC until lab_vm_running(). */
int lab_vm_attach(struct lab *lab, uint32_t id, uint32_t network, uint32_t *nic,
                  struct oneib_error *err);
/* Likewise; lab_vm_running() removes the NIC. */
int lab_vm_detach(struct lab *lab, uint32_t id, uint32_t nic, struct oneib_error *err);
/* Forges the NIC's attributes in its document: "VLAN_ID=5", "NIC_ID=256", "VN_MAD=INFINIBAND",
 * "KEY=" removes. */
int lab_vm_set_nic(struct lab *lab, uint32_t id, uint32_t nic, const char *attributes,
                   struct oneib_error *err);
/* DONE: out of the pools, its addresses are free again. */
int lab_vm_delete(struct lab *lab, uint32_t id, struct oneib_error *err);

/*
 * The next `count` calls of one.* answer wrongly. kind: "html", "truncated", "close", "http500",
 * "badsession", "empty-pools", "hang" (each answers after `seconds`),
 * "slow" (each answers after `seconds` milliseconds), "shrink-window" (every second
 * VM is left out of VM pools, though it can be asked for by itself), "unrestricted" (its
 * configuration restricts no attribute), "no-placer" (it has no SCHED_MAD), "late-placer" (a second SCHED_MAD in it names the placer
 * "ib"), "no-documents" (one.document.info fails, all else is well, until count is 0),
 * "keys-overwritten" (IB_KEYS of a host is "" once it was written), "no-network-update" (nobody may
 * write a network). count 0 ends a fault.
 */
int lab_fault(struct lab *lab, const char *kind, unsigned count, unsigned seconds,
              struct oneib_error *err);
/*
 * The event stream goes wrong for the next `count` state changes (both messages of each) and calls
 * that anybody is subscribed to. kind: "lose", "repeat" (sent three times), "reorder" (held back,
 * and sent in reverse when there are `count`), "no-base64", "no-xml", "huge" (50 MiB each); or
 * until count is 0: "silent" (connected, nothing is sent), "down" (the publisher's port refuses
 * connections; then it is the same port again). count 0 ends a fault of any kind but "down".
 */
int lab_events_fault(struct lab *lab, const char *kind, unsigned count, struct oneib_error *err);
/*
 * An oned that is killed (down) and started again with its database: its connections end, its ports
 * refuse connections; then they are back with the same cloud. All lab_* functions go on working
 * meanwhile.
 */
int lab_standin_down(struct lab *lab, bool down, struct oneib_error *err);
/* How often a method ("one.vm.info") has been called. */
int lab_calls(struct lab *lab, const char *method, unsigned *count, struct oneib_error *err);
/* Any method of oned's that takes integers after the session, and gives a text, which is to be
 * freed. */
int lab_call_document(struct lab *lab, const char *method, const char *session, const int *integers,
                      size_t integer_count, char **document, struct oneib_error *err);

/* A user outside of the group oneadmin who sees all objects of the kinds that lab_acl_rights() last
 * named ("VM HOST NET"; at first none), and writes nothing. */
const char *lab_acl_session(const struct lab *lab);
int lab_acl_rights(struct lab *lab, const char *kinds, struct oneib_error *err);
/* What the owner of a VM writes into an attribute of its user template. oned does not escape "]]>",
 * and neither does the stand-in; for a network lab_network_update() does as well. */
int lab_vm_write(struct lab *lab, uint32_t id, const char *text, struct oneib_error *err);

/* Documents (one.document.*), made by whoever has the session. */
int lab_document_make(struct lab *lab, const char *session, uint32_t type, const char *template,
                      uint32_t *id, struct oneib_error *err);
/* As oneadmin: another template; rights for others; none any more. */
int lab_document_replace(struct lab *lab, uint32_t id, const char *template,
                         struct oneib_error *err);
int lab_document_share(struct lab *lab, uint32_t id, bool manage, struct oneib_error *err);
/* To another owner and group. */
int lab_document_give(struct lab *lab, uint32_t id, int uid, int gid, struct oneib_error *err);
int lab_document_delete(struct lab *lab, uint32_t id, struct oneib_error *err);

#endif
