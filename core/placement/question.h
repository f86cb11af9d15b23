// SPDX-License-Identifier: Apache-2.0
/*
 * What OpenNebula 6.10's scheduler asks another one over HTTP, once a round, and the answer that it
 * takes: JSON, as its Scheduler.cc (external_scheduler) and VirtualMachineXML.cc (to_json) have it.
 *
 *   {"VMS":[{"CAPACITY":{..},"HOST_IDS":[4,0],"ID":7,"STATE":"PENDING","VM_ATTRIBUTES":{}},..]}
 *   {"VMS":[{"ID":7,"HOST_ID":4},..]}
 *
 * With nobody who waits it asks `null`. It places by itself whom the answer leaves out.
 */
#ifndef ONEIB_PLACEMENT_QUESTION_H
#define ONEIB_PLACEMENT_QUESTION_H

#include "base/error.h"
#include "base/text.h"
#include "placement/message.h"
#include "placement/window.h"
#include <stddef.h>

/* Its HTTP client keeps the last piece alone in which an answer comes, and reads 16,384 bytes at
 * once: head and body must be less. */
#define ONEIB_ANSWER_MAX 12000

/*
 * *message has the requirements of those that wait, and no VMs or hosts yet; not of those that run
 * and are to be moved. PROTOCOL: it is not as 6.10 asks. On failure *message holds nothing.
 */
int oneib_question_read(const char *json, size_t length, struct oneib_sched_message *message,
                        struct oneib_error *err);
/* Appends: of each VM of the window the host that is meant for it; not of those that may go
 * anywhere, nor of those that come when it is full. */
void oneib_answer_write(const struct oneib_window *window, struct oneib_text *text);

#endif
