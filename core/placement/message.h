// SPDX-License-Identifier: Apache-2.0
/*
 * What OpenNebula 7 asks a placer (remotes/scheduler/PLACER/place, on standard input, in base64),
 * and the same with fewer hosts for some VMs. Pure. The form is that of oned's
 * SchedulerManagerDriver.cc and SchedulerManagerMatch.h (7.4.0):
 *
 *   <SCHEDULER_DRIVER_ACTION><VM_POOL>..</VM_POOL><HOST_POOL>..</HOST_POOL><DATASTORE_POOL>..
 *   <REQUIREMENTS><VM><ID>1</ID><HOSTS><ID>0</ID>..</HOSTS><DATASTORES>..</DATASTORES>..</VM>..
 *   </REQUIREMENTS></SCHEDULER_DRIVER_ACTION>
 *
 * VMs' documents hold what their owners wrote, which oned does not escape. Behind the last
 * <REQUIREMENTS> are numbers alone, so these are beyond doubt; where the pools are not, the same
 * documents can be asked of oned, one by one (scheduler/vm_sets.h).
 */
#ifndef ONEIB_PLACEMENT_MESSAGE_H
#define ONEIB_PLACEMENT_MESSAGE_H

#include "base/error.h"
#include "base/text.h"
#include "cluster/cloud.h"
#include "placement/window.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which hosts a VM may have, to be read by oneib_requirement_next(). A thousand lists of ten
 * thousand hosts are most of a message, so they stay as they are written there. Borrowed pointers
 * into the message. */
struct oneib_requirement {
    uint32_t vm_id;
    const char *text; /* from <VM> to behind </VM> */
    size_t length;
    const char *hosts; /* in it: <ID>4</ID>.., of ids that ascend */
    const char *rest;  /* in it, behind them: from </HOSTS> on */
};

/* A VM of the message, whether it has InfiniBand or not. */
struct oneib_asking_vm {
    uint32_t id;
    uint32_t owner;  /* its user's id; ONEIB_NO_ID: not said */
    int64_t since;   /* Unix seconds: when it was made, or has left its last host; 0: not said */
    bool is_grouped; /* it is in a VM group, whose rules of affinity count */
};

struct oneib_sched_message {
    const char *xml;                        /* borrowed, while the message is in use */
    size_t head;                            /* bytes before <REQUIREMENTS> */
    struct oneib_requirement *requirements; /* owned; by VM id, each once */
    size_t requirement_count, requirement_capacity;
    struct oneib_asking_vm *vms; /* owned; by id, each once */
    size_t vm_count, vm_capacity;
    struct oneib_cloud cloud; /* its hosts, and its VMs' InfiniBand NICs; sorted */
};

/* A message in its order: what is as it was is borrowed from the one that was read. */
struct oneib_sched_piece {
    const char *bytes;
    size_t length;
};
struct oneib_sched_pieces {
    struct oneib_sched_piece *items; /* owned */
    size_t count, capacity;
    struct oneib_text words; /* owned: what is new, for pieces to point into */
};

/* The requirements alone. PROTOCOL: it is not as oned writes it, and is to be left as it is. On
 * failure *message holds nothing. */
int oneib_sched_message_read(const char *xml, size_t length, struct oneib_sched_message *message,
                             struct oneib_error *err);
/* Its VMs and hosts, by its own pools. PROTOCOL: a user's text has spoilt them; *message has its
 * requirements alone then, as before. vn_mad: whose NICs are InfiniBand ones. */
int oneib_sched_message_read_pools(struct oneib_sched_message *message, const char *vn_mad,
                                   struct oneib_error *err);
/*
 * More VMs, as oned shows them: a pool, or one VM's document, of ids within first..last that are
 * higher than all before. PROTOCOL: malformed; nothing of it is kept.
 */
int oneib_sched_message_add_vms(struct oneib_sched_message *message, const char *xml, size_t length,
                                uint32_t first, uint32_t last, const char *vn_mad,
                                struct oneib_error *err);
/* All hosts, as oned shows them. */
int oneib_sched_message_add_hosts(struct oneib_sched_message *message, const char *xml,
                                  size_t length, struct oneib_error *err);
/* NULL: the message does not have it. */
const struct oneib_asking_vm *oneib_sched_vm(const struct oneib_sched_message *message,
                                             uint32_t vm_id);
/* The next host of a list; *at is 0 before the first one. False: there is none. */
bool oneib_requirement_next(const struct oneib_requirement *requirement, size_t *at, uint32_t *id);
/* The message in which the window's VMs may have the hosts that they are offered and no others. On
 * failure *pieces holds nothing. */
void oneib_sched_message_write(const struct oneib_sched_message *message,
                               const struct oneib_window *window,
                               struct oneib_sched_pieces *pieces);
void oneib_sched_pieces_clear(struct oneib_sched_pieces *pieces);
void oneib_sched_message_clear(struct oneib_sched_message *message);

#endif
