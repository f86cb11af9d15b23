// SPDX-License-Identifier: Apache-2.0
#ifndef ONEIB_BASE_THREAD_H
#define ONEIB_BASE_THREAD_H

#include <pthread.h>

/* Starts a thread that no signal reaches: signals are for the main thread. 0, or an errno. */
int oneib_thread_start(pthread_t *thread, void *(*run)(void *context), void *context);

#endif
