// SPDX-License-Identifier: Apache-2.0
/* Reading whole files, and replacing them: a reader or a crash sees the old or the new one only. */
#ifndef ONEIB_BASE_FILE_H
#define ONEIB_BASE_FILE_H

#include "base/error.h"
#include <stddef.h>
#include <sys/types.h>

/*
 * Reads the regular file at path whole. *data is allocated (owned by the caller), NUL terminated
 * beyond *length. A file of more than max_size bytes is an error (ONEIB_ERROR_INPUT), a missing one
 * ONEIB_ERROR_NOT_FOUND.
 */
int oneib_file_read(const char *path, size_t max_size, char **data, size_t *length,
                    struct oneib_error *err);

/* The same for what an open file gives until its end, such as standard input. what: its name in
 * errors. */
int oneib_stream_read(int fd, const char *what, size_t max_size, char **data, size_t *length,
                      struct oneib_error *err);

/*
 * Called with what was read back from the temporary file, before it takes the old one's place.
 * Returns 0 to go on, -1 with *err set to give up: the old file then stays.
 */
typedef int (*oneib_file_check)(const char *data, size_t length, void *context,
                                struct oneib_error *err);

/*
 * Replaces path atomically and durably: a temporary file in the same directory (created O_EXCL,
 * mode `mode` exactly, whatever the umask), written, fsync, read back and compared byte for byte,
 * `check` (may be NULL), rename, fsync of the directory. If path is a symbolic link, the file it
 * points to is replaced. Owner and group of an existing file are kept where the process may. On
 * failure the temporary file is removed and path is what it was, except when the very last step
 * fails, the fsync of the directory: then the error says that the new file is in place. Left-overs
 * of a killed run are named so that a later run finds and removes them (".NAME.oneib-XXXXXX"); the
 * temporary file of a run that is still at work is locked (flock) and left alone.
 */
int oneib_file_replace(const char *path, const char *data, size_t length, mode_t mode,
                       oneib_file_check check, void *context, struct oneib_error *err);

/*
 * The same, for whoever has readers to tell: in_place is called when the new file has the old one's
 * place. That is before the rename is on the disk, and before the old file's space is given back:
 * after a loss of power it may be the old file again. Both take milliseconds.
 */
struct oneib_file_steps {
    oneib_file_check check;          /* may be NULL */
    void (*in_place)(void *context); /* may be NULL */
    void *context;                   /* of both */
};
int oneib_file_replace_in_steps(const char *path, const char *data, size_t length, mode_t mode,
                                const struct oneib_file_steps *steps, struct oneib_error *err);

/* ".NAME.SUFFIX" beside path, where what belongs to it is kept. To be freed. */
char *oneib_path_beside(const char *path, const char *suffix);

#endif
