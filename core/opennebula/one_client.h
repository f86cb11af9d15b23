// SPDX-License-Identifier: Apache-2.0
/*
 * oned's XML-RPC API (OpenNebula 6.10 and 7.x), over xmlrpc-c and its curl transport. One client
 * belongs to one thread. Error replies of oned ([false, text, code, ...]) and XML-RPC faults become
 * errors: code 256 AUTH, 512 PERMISSION, 1024 NOT_FOUND, others PROTOCOL; no connection
 * UNREACHABLE; too slow TIMEOUT; an answer that is not XML-RPC (an HTML page of a proxy, truncated
 * XML) PROTOCOL. Each names the method, the object and the endpoint.
 */
#ifndef ONEIB_OPENNEBULA_ONE_CLIENT_H
#define ONEIB_OPENNEBULA_ONE_CLIENT_H

#include "base/error.h"
#include "cluster/cloud.h"
#include "opennebula/credentials.h"
#include "opennebula/documents.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oneib_one; /* a client */

struct oneib_one *oneib_one_open(const struct oneib_credentials *credentials, uint32_t timeout_ms,
                                 struct oneib_error *err);
void oneib_one_close(struct oneib_one *one); /* NULL: nothing */

/* Each returns oned's document in *xml (owned by the caller, NUL terminated) and its length. */
int oneib_one_system_version(struct oneib_one *one, char **version, struct oneib_error *err);
int oneib_one_system_config(struct oneib_one *one, char **xml, size_t *length,
                            struct oneib_error *err);
int oneib_one_host_pool(struct oneib_one *one, char **xml, size_t *length, struct oneib_error *err);
/* one.vnpool.info, all users, ids first..last inclusive; last -1: open end. */
int oneib_one_network_window(struct oneib_one *one, int64_t first, int64_t last, char **xml,
                             size_t *length, struct oneib_error *err);
/* one.vmpool.infoextended, all users, all states but DONE, ids first..last inclusive; last -1: open
 * end. */
int oneib_one_vm_window(struct oneib_one *one, int64_t first, int64_t last, char **xml,
                        size_t *length, struct oneib_error *err);
/* one.vmpool.infoset, with all attributes: those of these VMs that there are. */
int oneib_one_vms(struct oneib_one *one, const uint32_t *ids, size_t count, char **xml,
                  size_t *length, struct oneib_error *err);
int oneib_one_vm(struct oneib_one *one, uint32_t id, char **xml, size_t *length,
                 struct oneib_error *err);
int oneib_one_network(struct oneib_one *one, uint32_t id, char **xml, size_t *length,
                      struct oneib_error *err);
int oneib_one_host(struct oneib_one *one, uint32_t id, char **xml, size_t *length,
                   struct oneib_error *err);
/* one.user.info of the caller: does it see everything? The document holds the user's password, so
 * nobody gets it. */
int oneib_one_is_administrator(struct oneib_one *one, bool *is, struct oneib_error *err);
/* The key that the network has now. */
int oneib_one_network_key(struct oneib_one *one, uint32_t id, enum oneib_key_state *state,
                          oneib_pkey *pkey, struct oneib_error *err);
/* one.vn.update with append: sets IB_SL, 1-15, or 0: empty. Not read back. */
int oneib_one_set_sl(struct oneib_one *one, uint32_t network_id, uint8_t sl,
                     struct oneib_error *err);
/* one.vn.update with append: sets VLAN_ID = "KEY" (decimal) of a network, then reads it back: a
 * value that did not take is an error. */
int oneib_one_set_pkey(struct oneib_one *one, uint32_t network_id, uint16_t pkey,
                       struct oneib_error *err);
/* The same, for a network that is to have no key: VLAN_ID = "". */
int oneib_one_remove_pkey(struct oneib_one *one, uint32_t network_id, struct oneib_error *err);

/* one.host.update with append: IB_VFS_FREE and IB_SWITCH of a host. vfs_free < 0 or switches NULL:
 * that one is left as it is. `switches` consists of GUIDs and commas, which is checked. What is
 * read back as something else is written a second time, because probes write too. */
int oneib_one_set_host(struct oneib_one *one, uint32_t host_id, int32_t vfs_free,
                       const char *switches, struct oneib_error *err);
/* The same for IB_KEYS and IB_KEYS_SEAL: what the host may hold. Ascending, each once, at most
 * ONEIB_HOST_KEYS_MAX. seal: oneibd's signature of it (grants/seal.h); "": none. IB_VFS_FREE comes
 * with it in one call, without being read back; vfs_free < 0: it is left as it is. */
int oneib_one_set_host_keys(struct oneib_one *one, uint32_t host_id, const oneib_pkey *keys,
                            size_t count, const char *seal, int32_t vfs_free,
                            struct oneib_error *err);
/* The members of the group oneadmin, sorted: only they, and oneadmin, write an administrator's
 * documents. */
int oneib_one_administrators(struct oneib_one *one, struct oneib_id_set *users,
                             struct oneib_error *err);
/* An owner in oneib_one_documents(): the caller and its groups. */
#define ONEIB_OWN_AND_GROUPS (-1)
/*
 * Documents (one.document.*) are oned's objects without a meaning of its own: a template, an owner,
 * rights. Of a type: those of one user, or ONEIB_OWN_AND_GROUPS.
 */
int oneib_one_documents(struct oneib_one *one, uint32_t type, int64_t owner, char **xml,
                        size_t *length, struct oneib_error *err);
int oneib_one_document(struct oneib_one *one, uint32_t id, char **xml, size_t *length,
                       struct oneib_error *err);
/* `template` may say NAME. */
int oneib_one_make_document(struct oneib_one *one, uint32_t type, const char *template,
                            uint32_t *id, struct oneib_error *err);
/* The whole template is another one then. */
int oneib_one_replace_document(struct oneib_one *one, uint32_t id, const char *template,
                               struct oneib_error *err);
/* Owner and group may see and change it, others nothing. */
int oneib_one_close_document(struct oneib_one *one, uint32_t id, struct oneib_error *err);
/* oned's lock of a document, a mutex for programs: *taken says whether it was free (test and set).
 * It keeps an administrator from nothing else. */
int oneib_one_lock_document(struct oneib_one *one, uint32_t id, bool *taken,
                            struct oneib_error *err);
int oneib_one_unlock_document(struct oneib_one *one, uint32_t id, struct oneib_error *err);
int oneib_one_delete_document(struct oneib_one *one, uint32_t id, struct oneib_error *err);

/*
 * A call under way is given up as TIMEOUT once *flag is not 0: at once when a signal that this
 * thread handles has set it, else within some three seconds; the same for calls that begin then.
 * NULL: never. The flag may be set by a signal handler, and must outlive the client.
 */
void oneib_one_set_interrupt(struct oneib_one *one, int *flag);

/*
 * look(context) is called every every_ms while a call is under way, in the thread that calls: for
 * what must not wait for an oned that hangs. The call itself is made by another thread meanwhile.
 * look() must make no call of this client. NULL: nothing is done, and there is no other thread.
 */
struct oneib_meanwhile {
    void (*look)(void *context);
    void *context;
    uint32_t every_ms;
};
void oneib_one_set_meanwhile(struct oneib_one *one, const struct oneib_meanwhile *meanwhile);

/* Whether an error is not about the object that was asked for: the next one will fail likewise. */
bool oneib_one_error_is_general(enum oneib_error_code code);

#endif
