// SPDX-License-Identifier: Apache-2.0
/* The file of M_Keys (fabric.m_key_file), read again whenever it is another one. Private to
 * core/fabric. */
#ifndef ONEIB_FABRIC_M_KEY_FILE_H
#define ONEIB_FABRIC_M_KEY_FILE_H

#include "base/error.h"
#include "ib/m_key.h"
#include <stdbool.h>
#include <sys/stat.h>

/* All zero: there is no file, and the keys are 0. */
struct oneib_m_key_file {
    char *path; /* owned */
    bool read;
    struct stat status; /* of what was read */
    struct oneib_m_keys keys;
};

/* Reads the file at `path`; NULL: there is none. On failure *file holds nothing. */
int oneib_m_key_file_open(const char *path, struct oneib_m_key_file *file, struct oneib_error *err);
/* Reads it again if it is not what was read. On failure the keys stay as they were. */
int oneib_m_key_file_renew(struct oneib_m_key_file *file, struct oneib_error *err);
void oneib_m_key_file_close(struct oneib_m_key_file *file);

#endif
