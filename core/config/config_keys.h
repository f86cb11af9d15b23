// SPDX-License-Identifier: Apache-2.0
/*
 * The one description of the configuration's keys, for core/base only: where each is written, what
 * it may be, where it goes in struct oneib_config and what it is when nobody sets it. Defaults,
 * loading and rendering all walk this table.
 */
#ifndef ONEIB_CONFIG_CONFIG_KEYS_H
#define ONEIB_CONFIG_CONFIG_KEYS_H

#include "config/config.h"

enum oneib_config_key_kind {
    ONEIB_CONFIG_BOOLEAN,
    ONEIB_CONFIG_NUMBER, /* unsigned, of any size */
    ONEIB_CONFIG_SHARE,  /* double, 0 to 1 */
    ONEIB_CONFIG_CHOICE, /* one of some words */
    ONEIB_CONFIG_STRING,
    ONEIB_CONFIG_STRINGS, /* NULL-terminated, NULL when there are none */
};

struct oneib_config_key_choice {
    const char *word; /* NULL: end of the list */
    unsigned value;
};

/* NULL when the string is good, else what it must be: "must be ...". */
typedef const char *(*oneib_config_key_check)(const char *string);

struct oneib_config_key {
    const char *group; /* NULL: at the top of the file */
    const char *name;
    enum oneib_config_key_kind kind;
    size_t offset, size; /* the field in struct oneib_config */

    uint32_t minimum, maximum; /* NUMBER */
    const uint16_t
        *allowed; /* NUMBER: nothing but these, and, where the minimum is 0, 0; or NULL */
    const struct oneib_config_key_choice *choices; /* CHOICE */
    oneib_config_key_check check;                  /* STRING, STRINGS */
    bool is_command; /* STRINGS: the first one alone is checked: arguments may be anything */

    uint32_t default_number; /* NUMBER, BOOLEAN, CHOICE */
    double default_share;
    const char *default_string; /* NULL: not set */
};

/* Keys of one group stand together; the last has the name NULL. */
extern const struct oneib_config_key oneib_config_keys[];

/* true when both keys, or a key and a group name, belong together. Either may be NULL. */
bool oneib_config_key_in_group(const struct oneib_config_key *key, const char *group);

/* The field of a NUMBER, BOOLEAN or CHOICE key, whatever its size. */
uint32_t oneib_config_key_number(const struct oneib_config *config,
                                 const struct oneib_config_key *key);
void oneib_config_key_set_number(struct oneib_config *config, const struct oneib_config_key *key,
                                 uint32_t value);

double oneib_config_key_share(const struct oneib_config *config,
                              const struct oneib_config_key *key);
void oneib_config_key_set_share(struct oneib_config *config, const struct oneib_config_key *key,
                                double value);

/* The field of a STRING key. Setting one frees what was there and takes ownership. */
const char *oneib_config_key_string(const struct oneib_config *config,
                                    const struct oneib_config_key *key);
void oneib_config_key_set_string(struct oneib_config *config, const struct oneib_config_key *key,
                                 char *value);

/* The same for STRINGS. */
char **oneib_config_key_strings(const struct oneib_config *config,
                                const struct oneib_config_key *key);
void oneib_config_key_set_strings(struct oneib_config *config, const struct oneib_config_key *key,
                                  char **value);

#endif
