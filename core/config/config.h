// SPDX-License-Identifier: Apache-2.0
/*
 * The configuration of oneib, in libconfig syntax, by default /etc/oneib/oneib.conf. Every key has
 * a default, so an absent default file is an empty one; a file named with --config must exist.
 * Unknown keys, wrong types and values out of range are errors that name file, line and key. One
 * file holds everything: @include is refused. Numbers are written and read in the C locale, which
 * programs have unless they call setlocale().
 */
#ifndef ONEIB_CONFIG_CONFIG_H
#define ONEIB_CONFIG_CONFIG_H

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "ib/guid.h"
#include "ib/pci.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONEIB_CONFIG_DEFAULT_PATH "/etc/oneib/oneib.conf"

enum oneib_reload_method {
    ONEIB_RELOAD_PID_FILE, /* opensm.pid_file names a file that holds opensm's process id */
    ONEIB_RELOAD_SYSTEMD,  /* opensm.unit names the systemd unit whose main process is opensm */
    ONEIB_RELOAD_COMMAND,  /* opensm.reload_command is run, without a shell */
};

/* What kind of subnet manager the fabric has: core/sm/kind.h. */
enum oneib_sm_kind {
    ONEIB_SM_OPENSM,        /* opensm of Linux distributions */
    ONEIB_SM_NVIDIA_OPENSM, /* opensm of MLNX_OFED and DOCA: reads the same file, has virtual ports
                             */
    ONEIB_SM_UFM,           /* NVIDIA's UFM, by its REST interface */
};

/* Which comes first when a VF of mlx5 is opened, where its own port can be read on the host. */
enum oneib_config_virtual_ports {
    ONEIB_VIRTUAL_PORTS_LINK_FIRST, /* its link: the SM gives keys to ports that are up */
    ONEIB_VIRTUAL_PORTS_KEY_FIRST,  /* its key: the SM gives keys to GUIDs, up or not */
};

/* Domains that nobody has pinned, and cores of VMs with IB_HPC: docs/design/vmm.md. */
enum oneib_config_hpc_cores {
    ONEIB_HPC_CORES_SHARED,   /* they may run there */
    ONEIB_HPC_CORES_REFUSE,   /* who comes second to a host is not started there */
    ONEIB_HPC_CORES_KEEP_OFF, /* they are pinned to all other cores meanwhile */
};

/* Whether ports are asked about their virtual ports: fabric/virtual_ports_read.h. */
enum oneib_config_vports {
    ONEIB_VPORTS_OFF,
    ONEIB_VPORTS_TRY, /* what they answer counts when it shows what is known otherwise */
};

/* How UFM knows who asks: ufm/ufm_client.h. */
enum oneib_config_ufm_auth {
    ONEIB_CONFIG_UFM_BASIC,       /* a user and a password */
    ONEIB_CONFIG_UFM_TOKEN,       /* a token of UFM's */
    ONEIB_CONFIG_UFM_CERTIFICATE, /* a client's certificate */
};

struct oneib_config {
    /* site: 0-65535, part of every GUID that oneib makes (ib/guid.h). Default 0. */
    uint16_t site;

    struct {
        /* one.endpoint; NULL: as the OpenNebula CLI finds it (opennebula/credentials.h) */
        char *endpoint;
        /* one.auth_file; NULL: likewise. Holds "user:password" on one line. */
        char *auth_file;
        /* one.vn_mad; default "infiniband" */
        char *vn_mad;
        /* one.timeout, milliseconds for one call, 100-600000; default 30000 */
        uint32_t timeout_ms;
        /* one.window, VM ids asked for in one call, 1-100000; default 1000 */
        uint32_t window;
        /* one.writer: this instance writes to oned: P_Keys of networks and, the daemon,
         * IB_VFS_FREE and IB_SWITCH of hosts. One instance of a site. Default true */
        bool writer;
        /* one.acl_user: oneib's OpenNebula user is not of the group oneadmin and has rights on all
         * VMs, hosts and networks by ACL, for which the operator answers. Default false */
        bool acl_user;
        /* one.events: oned's event stream, tcp://HOST:PORT or ipc://PATH, or "none": the daemon
         * polls only. Default tcp://127.0.0.1:2101 */
        char *events;
    } one;

    struct {
        uint16_t first;   /* pkeys.first, 1-32766; default 256: room below for the operator's own */
        uint16_t last;    /* pkeys.last, first-32766; default 32766 */
        uint32_t resting; /* pkeys.resting, 1-32766: keys of one user's deleted networks that hosts
                             may still hold, before the user gets no new one; default 16 */
        uint32_t owned;   /* pkeys.owned, 0-32766: keys that networks of one user have at most; 0:
                             any; default 1024 */
        uint32_t per_owner; /* pkeys.per_owner, 0-32766: keys of one user's networks that a port
                               takes, more only of VMs that run there; 0: any; default 16 */
    } pkeys;

    struct {
        /* sm.kind = "opensm" | "nvidia-opensm" | "ufm"; default "opensm" */
        enum oneib_sm_kind kind;
    } sm;

    /* What counts when sm.kind is "ufm". */
    struct {
        /* ufm.url, https://HOST or https://HOST:PORT; needed then */
        char *url;
        /* ufm.ca: a file of certificates that prove who UFM is; NULL: the system's */
        char *ca;
        /* ufm.auth = "basic" | "token" | "certificate"; default "token" */
        enum oneib_config_ufm_auth auth;
        /* ufm.secret: the file with USER:PASSWORD, the token or the certificate's key; default
         * /etc/oneib/ufm.secret */
        char *secret;
        /* ufm.certificate: the client's, for auth "certificate" */
        char *certificate;
        /* ufm.timeout, milliseconds for one call, 1000-600000; default 30000 */
        uint32_t timeout_ms;
        /* ufm.release: what it is taken for, whatever it says, such as "6.15.1"; NULL: it is asked
         */
        char *release;
        /* ufm.default_limited: the operator vouches for 0x7fff where a release does not let its
         * memberships be read; default false */
        bool default_limited;
        /* ufm.record: what oneib has put there, and under which names; default
         * /var/lib/oneib/ufm-partitions.conf */
        char *record;
    } ufm;

    struct {
        /* opensm.partitions: the file that opensm reads; default /etc/opensm/partitions.conf */
        char *partitions;
        /* opensm.static_partitions: the operator's own partitions, may be absent; default
         * /etc/oneib/static-partitions.conf */
        char *static_partitions;
        /* opensm.qos_policy: the file of opensm's option qos_policy_file, which oneib writes; NULL:
         * it writes none */
        char *qos_policy;
        /* opensm.reload = "pid_file" | "systemd" | "command"; default "systemd" */
        enum oneib_reload_method method;
        /* opensm.pid_file; default /run/opensm.pid */
        char *pid_file;
        /* opensm.unit, a name or a pattern of systemd's; default "opensm*.service": Debian runs one
         * opensm@PORTGUID.service a port, others one opensm.service */
        char *unit;
        /* opensm.reload_command = ["/path/of/program", "argument"]; NULL-terminated, or NULL */
        char **reload_command;
        /* opensm.apply_timeout, milliseconds from reload to keys in force, 1000-600000; default
         * 30000 */
        uint32_t apply_timeout_ms;
    } opensm;

    struct {
        /* fabric.ca, e.g. "mlx4_0"; NULL: the first active InfiniBand port */
        char *ca;
        /* fabric.port; 0, the default: any */
        uint8_t port;
        /* fabric.window, MADs in flight, 1-256; default 16 */
        uint16_t window;
        /* fabric.timeout, milliseconds for one MAD, 10-60000; default 500 */
        uint32_t timeout_ms;
        /* fabric.retries, 0-15; default 3 */
        uint8_t retries;
        /* fabric.m_key_file: the M_Keys of the subnet's ports; NULL: they have none */
        char *m_key_file;
        /* fabric.virtual_ports = "off" | "try"; default "off" */
        enum oneib_config_vports virtual_ports;
        /* fabric.mtu in bytes: 256 512 1024 2048 4096; 0, the default: the site's */
        uint16_t mtu;
        /* fabric.rate in Gb/s as opensm's rates name it; 0, the default: the site's */
        uint16_t rate;
    } fabric;

    struct {
        /* default_partition.full_members = ["0x..."]: port GUIDs, as text, NULL-terminated or NULL,
         * and as they are used */
        char **full_members;
        oneib_guid *full_guids;
        size_t full_count;
        /* default_partition.ipoib; default false */
        bool ipoib;
    } default_partition;

    struct {
        /* removal_hold.share, 0-1: when more than this share of members is missing from answers
         * at once, the removals are held; default 0.5 */
        double share;
        /* removal_hold.minimum: fewer missing members than this are never held; default 16 */
        uint32_t minimum;
    } removal_hold;

    struct {
        /* qos.classes = ["gold: weight 64, SL 1-2"], as ib/qos_class.h parses them, no name and
         * no SL twice, no more SLs than lanes; NULL-terminated, or NULL: there is no quality of
         * service, and all else here counts for nothing */
        char **classes;
        /* qos.default_class: of networks without IB_CLASS; one of the classes, or NULL: they have
         * SL 0 */
        char *default_class;
        /* qos.others, 1-255: the weight of SL 0; default 16 */
        uint8_t others;
        /* qos.vls: the data lanes that every port of the fabric has: 2, 4, 8 or 15; default 8 */
        uint8_t vls;
        /* qos.entries, 2-64: of the arbitration table of every port; default 8 */
        uint8_t entries;
        /* qos.drop_unused: SLs that nobody has are dropped; default false: they are SL 0's lane's
         */
        bool drop_unused;
        /* qos.links_file: where oneibd writes which links clusters use, for the placer on the same
         * machine; NULL: nowhere, and placement does not look at links */
        char *links_file;
        /* qos.exclusive: a host is offered to nobody whose cluster would come to share a link there
         * with another one of its SL; default false: such hosts come last */
        bool exclusive;
    } qos;

    struct {
        /* daemon.poll_preparing, milliseconds between two looks at VMs that are being prepared,
         * and, while the event stream cannot be relied on, at everything; 100-5000; default 5000 */
        uint32_t poll_preparing_ms;
        /* daemon.poll_idle, milliseconds between two looks for new VMs, and at opensm's file and
         * the static partitions, when nothing is being prepared; 1000-600000; default 15000 */
        uint32_t poll_idle_ms;
        /* daemon.reread, milliseconds between two readings of all of oned at the least (they come
         * seldomer where they take long); 1000-86400000; default 600000 */
        uint32_t reread_ms;
        /* daemon.verify, milliseconds between two readings of all ports; 1000-86400000; default
         * 120000 */
        uint32_t verify_ms;
        /* daemon.metrics: ADDRESS:PORT, [ADDRESS]:PORT for IPv6, or "none"; default
         * 127.0.0.1:9677 */
        char *metrics;
        /* daemon.grants: where the services of nodes connect, tcp://ADDRESS:PORT. Default: port
         * 9678 of all of this host's addresses, which ADDRESS '*' means */
        char *grants;
        /* daemon.address: where nodes reach that, as they are told, tcp://HOST:PORT; NULL: this
         * host's name and the port of daemon.grants */
        char *address;
        /* daemon.key: the file with the daemon's secret keys, made when it is absent; default
         * /var/lib/oneib/daemon.key */
        char *key;
        /* daemon.control: the socket at which oneib asks the daemon, or "none"; default
         * /run/oneibd/control */
        char *control;
        /* daemon.readers: the group that may ask there, besides root and the daemon's own; default
         * "oneadmin" */
        char *readers;
    } daemon;

    /* On a node: what its drivers, probe and oneib-node go by. */
    struct {
        /* node.libvirt: the connection that tells which domains there are; default
         * "qemu:///system" */
        char *libvirt;
        /* node.host_vfs = ["0000:81:00.1"]: virtual functions that are kept for the host itself, as
         * text, NULL-terminated or NULL, and as they are used */
        char **host_vfs;
        struct oneib_pci *host_pcis;
        size_t host_vf_count;
        /* node.pkey_wait, milliseconds that a VM waits for its key to be in its port's table,
         * 100-300000; default 30000 */
        uint32_t pkey_wait_ms;
        /* node.guid_wait, milliseconds for the subnet manager to accept a GUID, or to let it go,
         * 100-300000; default 15000 */
        uint32_t guid_wait_ms;
        /* node.virtual_ports = "link_first" | "key_first"; default "link_first" */
        enum oneib_config_virtual_ports virtual_ports;
        /* node.unplug_wait, milliseconds for a guest to let go of a virtual function that is
         * unplugged, 1000-600000; default 30000 */
        uint32_t unplug_wait_ms;
        /* node.hpc_cores = "shared" | "refuse" | "keep_off"; default "shared" */
        enum oneib_config_hpc_cores hpc_cores;
        /* node.watch, milliseconds between two looks of oneib-node when the adapter reports
         * nothing, 100-600000; default 10000 */
        uint32_t watch_ms;
    } node;

    struct {
        /* log.level = "error" | "warning" | "info" | "debug"; default "info" */
        enum oneib_log_level level;
        /* log.format = "text" | "json"; default "text" */
        enum oneib_log_format format;
    } log;
};

/* Fills *config with the defaults. */
void oneib_config_defaults(struct oneib_config *config);

/*
 * Reads path over the defaults. path NULL: ONEIB_CONFIG_DEFAULT_PATH, which may be absent. On
 * failure *config holds nothing that must be cleared.
 */
int oneib_config_load(const char *path, struct oneib_config *config, struct oneib_error *err);

/*
 * The effective configuration, every key with its value, in the syntax that oneib_config_load()
 * reads. A key that is not set is a comment that says so.
 */
void oneib_config_render(const struct oneib_config *config, struct oneib_text *text);

/* The path beside which is kept what belongs to this installation: locks, fences, what nodes have
 * said. Whoever writes to the same subnet manager has the same. */
const char *oneib_config_state(const struct oneib_config *config);

void oneib_config_clear(struct oneib_config *config);
#define oneib_autoconfig __attribute__((cleanup(oneib_config_clear)))

#endif
