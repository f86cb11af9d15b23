// SPDX-License-Identifier: Apache-2.0
/*
 * Attributes of sysfs: small files of one value. Paths are as oneib_node_path() makes them. Errors
 * name the path.
 */
#ifndef ONEIB_HCA_ATTRIBUTE_H
#define ONEIB_HCA_ATTRIBUTE_H

#include "base/error.h"
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>

#define ONEIB_ATTRIBUTE_SIZE 256

/* Reads it whole, without blanks and newlines at its end. NOT_FOUND when there is none; INPUT when
 * it is longer than size - 1. Returns 0 or -1. */
int oneib_attribute_read(const char *path, char *text, size_t size, struct oneib_error *err);

/* Writes the value, of less than ONEIB_ATTRIBUTE_SIZE bytes, in one write(2). A short write is an
 * error. Says nothing about whether it took effect: read it back. */
int oneib_attribute_write(const char *path, const char *value, struct oneib_error *err);

/* Strict: INPUT names what was read instead. */
int oneib_attribute_decimal(const char *path, uint64_t max, uint64_t *value,
                            struct oneib_error *err);
/* With or without "0x". */
int oneib_attribute_hex(const char *path, uint64_t max, uint64_t *value, struct oneib_error *err);

/* The last component of what a symbolic link points to: a driver's name, a PCI address. NOT_FOUND
 * when there is no link. */
int oneib_attribute_link(const char *path, char *name, size_t size, struct oneib_error *err);

/*
 * The names in a directory, without "." and "..", sorted as numbers where they are numbers; at most
 * 4,096. *names is one allocation, NULL-terminated, to be freed with free(). An absent directory
 * has none, and is not an error.
 */
int oneib_attribute_list(const char *path, char ***names, size_t *count, struct oneib_error *err);

/*
 * A directory of attributes that are named 0, 1, 2, ...: a port's P_Key table, a VF's map of it.
 * They have 128 of them, so that the directory is kept open: to walk its path again for each costs
 * more than to read what is there.
 */
#define ONEIB_ATTRIBUTE_TABLE_PATH 1024
struct oneib_attribute_table {
    DIR *directory;                        /* owned; NULL: not open */
    char path[ONEIB_ATTRIBUTE_TABLE_PATH]; /* the directory's, or an entry's, which stands behind it
                                            */
    size_t length;                         /* of the directory's */
};

/* NOT_FOUND when there is no such directory. In any case *table is to be closed. */
int oneib_attribute_table_open(const char *path, struct oneib_attribute_table *table,
                               struct oneib_error *err);
void oneib_attribute_table_close(struct oneib_attribute_table *table);
#define oneib_autoattributes __attribute__((cleanup(oneib_attribute_table_close)))

/* How many entries it has. NOT_FOUND when it has none, or lacks one: a gap is an entry that can be
 * neither seen nor written. INPUT when there are more than max. */
int oneib_attribute_table_count(struct oneib_attribute_table *table, size_t max, size_t *count,
                                struct oneib_error *err);

/* As oneib_attribute_read(), write() and hex(). table->path is then the entry's. */
int oneib_attribute_table_read(struct oneib_attribute_table *table, size_t entry, char *text,
                               size_t size, struct oneib_error *err);
int oneib_attribute_table_write(struct oneib_attribute_table *table, size_t entry,
                                const char *value, struct oneib_error *err);
int oneib_attribute_table_hex(struct oneib_attribute_table *table, size_t entry, uint64_t max,
                              uint64_t *value, struct oneib_error *err);

#endif
