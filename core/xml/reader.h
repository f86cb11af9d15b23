// SPDX-License-Identifier: Apache-2.0
/*
 * A strict walk over one document of oned on top of libxml2's reader; for core/opennebula alone.
 *
 * oned's documents are elements and text: no prolog, no document type, no comments, no processing
 * instructions. The walk refuses a document type before libxml2 sees it (so there is no entity to
 * expand) and the other two wherever they are: what a user writes between its beginning and its end
 * would be hidden. It bounds the depth, and compares names as pointers: libxml2 keeps one copy of
 * each name.
 *
 * libxml2's own limits (XML_PARSE_HUGE is not given) are kept from hitting the longest of users'
 * attributes by xml/shorten.h.
 */
#ifndef ONEIB_XML_READER_H
#define ONEIB_XML_READER_H

#include "base/error.h"
#include <libxml/xmlreader.h>
#include <stdbool.h>
#include <stddef.h>

#define ONEIB_READER_OPTIONS (XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING)

/* The element names that oneib reads: X(VM) declares ONEIB_NAME_VM for <VM>. */
#define ONEIB_READER_NAMES(X)                                                                      \
    X(ACCEPTED)                                                                                    \
    X(ADDRESS)                                                                                     \
    X(ANSWER)                                                                                      \
    X(AR)                                                                                          \
    X(AR_POOL)                                                                                     \
    X(ARGUMENTS)                                                                                   \
    X(ASKED)                                                                                       \
    X(ATTACH)                                                                                      \
    X(BRIDGE)                                                                                      \
    X(BUS)                                                                                         \
    X(CALL_INFO)                                                                                   \
    X(CURVE)                                                                                       \
    X(DAEMON)                                                                                      \
    X(DEPLOY_ID)                                                                                   \
    X(DOCUMENT)                                                                                    \
    X(DOCUMENT_POOL)                                                                               \
    X(DOMAIN)                                                                                      \
    X(DRIVER)                                                                                      \
    X(ERROR_VMS)                                                                                   \
    X(ETIME)                                                                                       \
    X(FENCE)                                                                                       \
    X(FENCED_PORT)                                                                                 \
    X(FORGOTTEN)                                                                                   \
    X(FUNCTION)                                                                                    \
    X(GID)                                                                                         \
    X(GNAME)                                                                                       \
    X(GROUP)                                                                                       \
    X(GROUPS)                                                                                      \
    X(GUID)                                                                                        \
    X(HID)                                                                                         \
    X(HISTORY)                                                                                     \
    X(HISTORY_RECORDS)                                                                             \
    X(HOOK_MESSAGE)                                                                                \
    X(HOST)                                                                                        \
    X(HOSTNAME)                                                                                    \
    X(HOST_POOL)                                                                                   \
    X(HOST_PORT)                                                                                   \
    X(HOST_SHARE)                                                                                  \
    X(IB_CLASS)                                                                                    \
    X(IB_HCA)                                                                                      \
    X(IB_HPC)                                                                                      \
    X(IB_KEYS_SEAL)                                                                                \
    X(IB_KEYS)                                                                                     \
    X(IB_MEMBERSHIP)                                                                               \
    X(IB_NODE_KEY)                                                                                 \
    X(IB_PLACEMENT)                                                                                \
    X(IB_PROBLEM)                                                                                  \
    X(IB_RATE)                                                                                     \
    X(IB_RESERVATION)                                                                              \
    X(IB_SL)                                                                                       \
    X(IB_STATIC_GUIDS)                                                                             \
    X(IB_SWITCH)                                                                                   \
    X(IB_VFS_FREE)                                                                                 \
    X(IB_VFS_TOTAL)                                                                                \
    X(ID)                                                                                          \
    X(IP)                                                                                          \
    X(KEY)                                                                                         \
    X(LCM_STATE)                                                                                   \
    X(LEASE)                                                                                       \
    X(LEASES)                                                                                      \
    X(MAC)                                                                                         \
    X(MTU)                                                                                         \
    X(NAME)                                                                                        \
    X(NETWORK)                                                                                     \
    X(NETWORK_ID)                                                                                  \
    X(NEXT)                                                                                        \
    X(NIC)                                                                                         \
    X(NIC_ALIAS)                                                                                   \
    X(NIC_ID)                                                                                      \
    X(OTHER_A)                                                                                     \
    X(OTHER_M)                                                                                     \
    X(OTHER_U)                                                                                     \
    X(OUTDATED_VMS)                                                                                \
    X(OWNER)                                                                                       \
    X(PARAMETER)                                                                                   \
    X(PARAMETERS)                                                                                  \
    X(PARENT_NETWORK_ID)                                                                           \
    X(PCI)                                                                                         \
    X(PCI_DEVICES)                                                                                 \
    X(PERMISSIONS)                                                                                 \
    X(PHYDEV)                                                                                      \
    X(PKEY)                                                                                        \
    X(PORT)                                                                                        \
    X(PORT_GUID)                                                                                   \
    X(POSITION)                                                                                    \
    X(PREV_ADDRESS)                                                                                \
    X(RATE)                                                                                        \
    X(RESTING)                                                                                     \
    X(SCHED_MAD)                                                                                   \
    X(SEQ)                                                                                         \
    X(SERIAL)                                                                                      \
    X(SIGN)                                                                                        \
    X(SINCE)                                                                                       \
    X(SL)                                                                                          \
    X(SLOT)                                                                                        \
    X(STATE)                                                                                       \
    X(STIME)                                                                                       \
    X(SWITCH)                                                                                      \
    X(TARGET)                                                                                      \
    X(TEMPLATE)                                                                                    \
    X(TYPE)                                                                                        \
    X(UID)                                                                                         \
    X(UNAME)                                                                                       \
    X(UPDATED_VMS)                                                                                 \
    X(UPDATING_VMS)                                                                                \
    X(USER)                                                                                        \
    X(USERS)                                                                                       \
    X(USER_TEMPLATE)                                                                               \
    X(VALUE)                                                                                       \
    X(VERSION)                                                                                     \
    X(VFS)                                                                                         \
    X(VFS_TOTAL)                                                                                   \
    X(VLAN_ID)                                                                                     \
    X(VM)                                                                                          \
    X(VMM_DRIVER_ACTION_DATA)                                                                      \
    X(VMGROUP)                                                                                     \
    X(VMID)                                                                                        \
    X(VMS)                                                                                         \
    X(VM_BUS)                                                                                      \
    X(VM_DOMAIN)                                                                                   \
    X(VM_FUNCTION)                                                                                 \
    X(VM_POOL)                                                                                     \
    X(VM_SLOT)                                                                                     \
    X(VNET)                                                                                        \
    X(VNET_POOL)                                                                                   \
    X(VN_MAD)                                                                                      \
    X(WISH)

enum oneib_name {
#define X(name) ONEIB_NAME_##name,
    ONEIB_READER_NAMES(X)
#undef X
        ONEIB_NAME_COUNT
};

/* What an element holds. An invalid one keeps the beginning of its text, to be shown. */
enum oneib_value_state {
    ONEIB_VALUE_ABSENT,
    ONEIB_VALUE_TEXT,     /* plain text, perhaps empty */
    ONEIB_VALUE_REPEATED, /* the element occurs twice: nobody can say which one counts */
    ONEIB_VALUE_TOO_LONG,
    ONEIB_VALUE_NESTED, /* it has elements inside */
};

struct oneib_value {
    enum oneib_value_state state;
    size_t length;
    const char *text; /* NUL terminated; NULL only when ABSENT; lives until oneib_reader_forget() */
};

/* Present, plain and not empty: worth parsing. */
bool oneib_value_is_set(const struct oneib_value *value);
/* Absent, or present, plain and empty. */
bool oneib_value_is_empty(const struct oneib_value *value);
/* Plain text that equals `string`, in ASCII's upper or lower case. */
bool oneib_value_equals(const struct oneib_value *value, const char *string);

struct oneib_reader;

/* xml is borrowed until the reader is closed. */
struct oneib_reader *oneib_reader_open(const char *xml, size_t length, struct oneib_error *err);
void oneib_reader_close(struct oneib_reader *reader);
static inline void oneib_reader_end(struct oneib_reader **reader)
{
    oneib_reader_close(*reader);
}
#define oneib_autoreader __attribute__((cleanup(oneib_reader_end)))

/* An element whose children are being read. */
struct oneib_element {
    int depth;
    bool ended;
};

/*
 * From here on, an element of that name that begins with an ID, as oned's objects do, makes the
 * document malformed anywhere but at that depth (the root's is 0): a user who can write elements
 * has put objects of others into an element of his own, where nobody would look for them.
 */
void oneib_reader_guard(struct oneib_reader *reader, enum oneib_name name, int depth);

/* A step failed for what is written in the document, which users may have brought about. */
bool oneib_reader_is_malformed(const struct oneib_reader *reader);
/* The caller finds it malformed: a PROTOCOL error that says why. */
int oneib_reader_refuse(struct oneib_reader *reader, const char *why, struct oneib_error *err);

/* To the root element. */
int oneib_reader_root(struct oneib_reader *reader, struct oneib_error *err);
/* From the root's end to the document's: what follows must be well-formed too. */
int oneib_reader_finish(struct oneib_reader *reader, struct oneib_error *err);

/* Is the element that the reader stands on called so? */
bool oneib_reader_at(const struct oneib_reader *reader, enum oneib_name name);
/* The name of the element that the reader stands on, untrusted; valid until the reader moves. */
const char *oneib_reader_name(const struct oneib_reader *reader);

/* The element that the reader stands on, to iterate over its children. */
struct oneib_element oneib_reader_enter(struct oneib_reader *reader);
/*
 * To the next child of `parent`, over whatever the caller left unread. 1: the reader stands on it,
 * 0: no more, -1: the document is malformed.
 */
int oneib_reader_child(struct oneib_reader *reader, struct oneib_element *parent,
                       struct oneib_error *err);

/* Reads the text of the element that the reader stands on, at most `max` bytes. */
int oneib_reader_value(struct oneib_reader *reader, size_t max, struct oneib_value *value,
                       struct oneib_error *err);

/* One attribute of a vector such as <NIC>: children that hold text. */
struct oneib_field {
    enum oneib_name name;
    size_t max;
};
/* Reads the element that the reader stands on: values[i] is what fields[i] holds. */
int oneib_reader_fields(struct oneib_reader *reader, const struct oneib_field *fields, size_t count,
                        struct oneib_value *values, struct oneib_error *err);

/* Values read after oneib_reader_mark() are dropped by oneib_reader_forget(): a document of any
 * length takes the same memory. */
size_t oneib_reader_mark(const struct oneib_reader *reader);
void oneib_reader_forget(struct oneib_reader *reader, size_t mark);

#endif
