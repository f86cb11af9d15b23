// SPDX-License-Identifier: Apache-2.0
#include "config/config_keys.h"
#include <stdio.h>
#include <stdlib.h>

/* A string in libconfig's syntax. Bytes beyond ASCII stay as they are: libconfig does not look at
 * them. */
static void render_string(struct oneib_text *text, const char *string)
{
    oneib_text_append(text, "\"");
    for (; *string; string++) {
        unsigned char c = (unsigned char)*string;
        if (c == '"' || c == '\\')
            oneib_text_printf(text, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            oneib_text_printf(text, "\\x%02x", c);
        else
            oneib_text_append_bytes(text, string, 1);
    }
    oneib_text_append(text, "\"");
}

static void render_strings(struct oneib_text *text, char *const *strings)
{
    oneib_text_append(text, "[");
    for (size_t i = 0; strings && strings[i]; i++) {
        oneib_text_append(text, i > 0 ? ", " : "");
        render_string(text, strings[i]);
    }
    oneib_text_append(text, "]");
}

/* The shortest form that reads back as the same number: 17 digits always do, but 0.1 has uglier
 * ones. */
static void render_share(struct oneib_text *text, double share)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.15g", share);
    if (strtod(digits, NULL) != share)
        snprintf(digits, sizeof digits, "%.17g", share);
    oneib_text_append(text, digits);
}

static const char *word_of(const struct oneib_config_key_choice *choices, uint32_t value)
{
    while (choices->word && choices->value != value)
        choices++;
    return choices->word ? choices->word : "";
}

static void render_value(struct oneib_text *text, const struct oneib_config *config,
                         const struct oneib_config_key *key)
{
    switch (key->kind) {
    case ONEIB_CONFIG_BOOLEAN:
        oneib_text_append(text, oneib_config_key_number(config, key) ? "true" : "false");
        break;
    case ONEIB_CONFIG_NUMBER:
        oneib_text_printf(text, "%u", oneib_config_key_number(config, key));
        break;
    case ONEIB_CONFIG_SHARE:
        render_share(text, oneib_config_key_share(config, key));
        break;
    case ONEIB_CONFIG_CHOICE:
        render_string(text, word_of(key->choices, oneib_config_key_number(config, key)));
        break;
    case ONEIB_CONFIG_STRING:
        render_string(text, oneib_config_key_string(config, key));
        break;
    case ONEIB_CONFIG_STRINGS:
        render_strings(text, oneib_config_key_strings(config, key));
        break;
    }
}

static void render_key(struct oneib_text *text, const struct oneib_config *config,
                       const struct oneib_config_key *key)
{
    oneib_text_append(text, key->group ? "    " : "");
    if (key->kind == ONEIB_CONFIG_STRING && !oneib_config_key_string(config, key)) {
        oneib_text_printf(text, "# %s is not set\n", key->name);
        return;
    }
    oneib_text_printf(text, "%s = ", key->name);
    render_value(text, config, key);
    oneib_text_append(text, ";\n");
}

void oneib_config_render(const struct oneib_config *config, struct oneib_text *text)
{
    const char *group = NULL;
    for (const struct oneib_config_key *key = oneib_config_keys; key->name; key++) {
        if (!oneib_config_key_in_group(key, group)) {
            oneib_text_append(text, group ? "};\n" : "");
            oneib_text_printf(text, "\n%s = {\n", key->group);
            group = key->group;
        }
        render_key(text, config, key);
    }
    oneib_text_append(text, group ? "};\n" : "");
}
