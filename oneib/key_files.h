// SPDX-License-Identifier: Apache-2.0
/* Fresh keys of the management plane, written to new files that their owner alone can read. */
#ifndef ONEIB_ONEIB_KEY_FILES_H
#define ONEIB_ONEIB_KEY_FILES_H

#include "base/error.h"
#include "ib/m_key.h"

#define ONEIB_KEY_FILE "m_key"                   /* for fabric.m_key_file: the new M_Key */
#define ONEIB_KEY_FILE_BOTH "m_key.both"         /* the same, and the old ones behind it */
#define ONEIB_KEY_FILE_OPENSM "opensm.conf.keys" /* lines for opensm.conf */

/*
 * Makes the directory (mode 0700) unless it is there, and in it the files (mode 0600); with `old`
 * also ONEIB_KEY_FILE_BOTH. Replaces nothing: a file that is there already is an error, and none is
 * left behind then. Keys come from the kernel's random numbers.
 */
int oneib_key_files_make(const char *directory, const struct oneib_m_keys *old,
                         struct oneib_error *err);

#endif
