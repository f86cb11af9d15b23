// SPDX-License-Identifier: Apache-2.0
/* Cleanup attributes (GCC and clang): `oneib_autofree char *s = ...;` frees s when it leaves its
 * scope, `oneib_auto(oneib_seen_clear) struct oneib_seen seen = {0};` clears `seen`. What can be
 * left before something has filled it begins as {0}. */
#ifndef ONEIB_BASE_CLEANUP_H
#define ONEIB_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Pointers to pointers of any type are read and written as bytes, so that no type is punned. */

static inline void oneib_cleanup_free(void *pointer_to_pointer)
{
    void *p;
    memcpy(&p, pointer_to_pointer, sizeof p);
    free(p);
}

static inline void oneib_cleanup_close(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void oneib_cleanup_fclose(FILE **file)
{
    if (*file)
        fclose(*file);
}

#define oneib_auto(end) __attribute__((cleanup(end)))
#define oneib_autofree __attribute__((cleanup(oneib_cleanup_free)))
#define oneib_autoclose __attribute__((cleanup(oneib_cleanup_close)))
#define oneib_autofclose __attribute__((cleanup(oneib_cleanup_fclose)))

/* Takes ownership out of a cleanup variable: returns *p and sets it to NULL. */
static inline void *oneib_steal(void *pointer_to_pointer)
{
    void *taken, *nothing = NULL;
    memcpy(&taken, pointer_to_pointer, sizeof taken);
    memcpy(pointer_to_pointer, &nothing, sizeof nothing);
    return taken;
}

/* The same of a descriptor: -1 stays. */
static inline int oneib_steal_fd(int *fd)
{
    const int taken = *fd;
    *fd = -1;
    return taken;
}

#endif
