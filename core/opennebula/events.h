// SPDX-License-Identifier: Apache-2.0
/*
 * oned's event stream: a ZeroMQ publisher of its hook manager (HM_MAD; port 2101 of the front-end's
 * loopback). An event only says "look again", and at what; what is there is always asked of oned
 * itself. So events can be lost, repeated, out of order or forged: that costs time, never
 * correctness. Nothing in a message is believed beyond the number of an object.
 *
 * Two frames a message: a key, and one line of base64 (a HOOK_MESSAGE). "EVENT STATE
 * VM/ACTIVE/BOOT/1 " says that a state changed: the state, the LCM state (empty for HOST and NET),
 * the object; a blank ends the key. "EVENT API one.vn.update 1" says that a call succeeded (0:
 * failed); its object stands in the payload; no blank ends the key.
 *
 * Subscribed to: states of VM, NET and HOST, and the calls one.vn.*, one.host.*,
 * one.document.update (of the ledger) and some of one.vm.*: changing an attribute changes no state.
 * From calls of one.vm.*, only those that change what a VM is connected to are of interest.
 */
#ifndef ONEIB_OPENNEBULA_EVENTS_H
#define ONEIB_OPENNEBULA_EVENTS_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum oneib_event_kind {
    ONEIB_EVENT_NOTHING, /* of no interest */
    ONEIB_EVENT_VM,
    ONEIB_EVENT_NETWORK,
    ONEIB_EVENT_HOST,
    ONEIB_EVENT_DOCUMENT,
    ONEIB_EVENT_GAP, /* messages may have been lost, or one was not understood: look at everything
                      */
};

struct oneib_event {
    enum oneib_event_kind kind;
    uint32_t id; /* of VM, NETWORK, HOST, DOCUMENT */
};

/*
 * Pure: what a message says. A state's id stands in its key, and its payload is not looked at. A
 * call's id is its second IN parameter (POSITION 2), and what follows is not looked at: oned does
 * not escape what users write there. For one.vn.allocate and such it is the second OUT parameter;
 * calls that failed are NOTHING. What is not understood is a GAP: a key of a kind that was
 * subscribed to with a broken rest, an id that is none, a payload that is no base64, no XML, or too
 * large. Never crashes on any input (tests/fuzz).
 */
struct oneib_event oneib_event_read(const char *key, size_t key_length, const char *payload,
                                    size_t payload_length);

struct oneib_events; /* a subscription; belongs to one thread */

/* How the stream is doing. */
struct oneib_stream {
    bool connected;
    uint64_t messages;   /* received */
    uint64_t unreadable; /* of those, not understood */
    uint64_t gaps;       /* connections lost since the start */
    char trouble[160];   /* why it is not connected, as far as it is known; "" */
};

/* Subscribes; connecting goes on in the background, again and again, with pauses of up to 2 s. A
 * message of more than 16 MiB ends the connection (and is a GAP). */
struct oneib_events *oneib_events_open(const char *endpoint, struct oneib_error *err);
void oneib_events_close(struct oneib_events *events); /* NULL: nothing */

/*
 * The next event that is of interest, without waiting: 1, or 0 when there is none now. A connection
 * that came about, or was lost, is a GAP. A failure of the socket itself is -1.
 *
 * To be called every few seconds while the stream is not connected, readable or not: after some
 * faults of the publisher (such as a message that is too long) connecting again is begun here.
 * Subscriptions reach the publisher within a millisecond or so after the connection's GAP, unseen:
 * ZeroMQ does not acknowledge them. What is read after that GAP makes up for it.
 */
int oneib_events_next(struct oneib_events *events, struct oneib_event *event,
                      struct oneib_error *err);

/*
 * Descriptors to poll(2) for POLLIN before the next oneib_events_next(): they tell edges (ZMQ_FD),
 * so drain with oneib_events_next() until 0 first.
 */
void oneib_events_descriptors(const struct oneib_events *events, int descriptors[2]);

const struct oneib_stream *oneib_events_stream(const struct oneib_events *events);

#endif
