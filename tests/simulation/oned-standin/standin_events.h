// SPDX-License-Identifier: Apache-2.0
/*
 * What oned publishes, with the keys, documents and order that were recorded from oned 7.4.0: a
 * change of state twice, as "EVENT VM 1/ACTIVE/BOOT " and "EVENT STATE VM/ACTIVE/BOOT/1 ", a call
 * that succeeded once, as "EVENT API one.vn.update 1".
 */
#ifndef STANDIN_EVENTS_H
#define STANDIN_EVENTS_H

#include "standin_state.h"

/* The object's state has become what it is now. */
void standin_event_vm(const struct standin_state *state, const struct standin_vm *vm);
void standin_event_network(const struct standin_state *state,
                           const struct standin_network *network);
void standin_event_host(const struct standin_state *state, const struct standin_host *host);

struct standin_call_event {
    const char *call;
    const char *in[6]; /* parameters after the session, up to the first NULL */
    uint32_t id;       /* that was answered */
    /* At most one: the object that is attached, as it is with calls that make or delete one. */
    const struct standin_network *network;
    const struct standin_host *host;
};
void standin_event_call(const struct standin_state *state, const struct standin_call_event *event);

/* A number as a parameter. */
struct standin_number {
    char text[16];
};
struct standin_number standin_number(uint32_t number);

#endif
