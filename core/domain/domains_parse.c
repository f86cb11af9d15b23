// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"
#include "base/escape.h"
#include "base/number.h"
#include "domain/domains.h"
#include <stdlib.h>
#include <string.h>

#define BLANK "\\x20"
#define ESCAPE_LENGTH 4 /* of "\xNN" */

/* The words of one line, taken off one by one; at is NULL behind the last. */
struct line {
    const char *at, *end;
};

struct word {
    const char *bytes;
    size_t length;
};

/* --- writing -------------------------------------------------------------------------------- */

void oneib_domain_render(const char *name, bool running, const struct oneib_pci *devices,
                         size_t device_count, struct oneib_text *text)
{
    oneib_autotext struct oneib_text escaped = {0};
    oneib_text_append_escaped(&escaped, name, SIZE_MAX);
    if (oneib_text_failed(&escaped))
        text->failed = true;
    oneib_text_append(text, running ? "running " : "defined ");
    for (size_t i = 0; i < escaped.length; i++)
        if (escaped.data[i] == ' ')
            oneib_text_append(text, BLANK);
        else
            oneib_text_append_bytes(text, &escaped.data[i], 1);
    for (size_t i = 0; i < device_count; i++) {
        char address[ONEIB_PCI_TEXT_SIZE];
        oneib_pci_format(&devices[i], address);
        oneib_text_printf(text, " %s", address);
    }
    oneib_text_append(text, "\n");
}

/* --- reading -------------------------------------------------------------------------------- */

/* False when there is none, or an empty one: words are parted by one blank. */
static bool next_word(struct line *line, struct word *word)
{
    if (!line->at)
        return false;
    const char *blank = memchr(line->at, ' ', (size_t)(line->end - line->at));
    const char *end = blank ? blank : line->end;
    *word = (struct word){line->at, (size_t)(end - line->at)};
    line->at = blank ? blank + 1 : NULL;
    return word->length > 0;
}

/* "\xNN", not of NUL; 0: it is none. */
static unsigned char escaped_byte(const char *bytes, size_t length)
{
    if (length < ESCAPE_LENGTH || bytes[0] != '\\' || bytes[1] != 'x')
        return 0;
    const unsigned high = oneib_hex_digit(bytes[2]), low = oneib_hex_digit(bytes[3]);
    return high > 15 || low > 15 ? 0 : (unsigned char)(high << 4 | low);
}

/* The name as libvirt has it, owned by the caller. NULL with *malformed false: no memory. */
static char *parse_name(const struct word *word, bool *malformed)
{
    char *name = malloc(word->length + 1);
    size_t used = 0;
    *malformed = false;
    for (size_t i = 0; name && i < word->length; i++) {
        char byte = word->bytes[i];
        if (byte == '\\') {
            byte = (char)escaped_byte(word->bytes + i, word->length - i);
            i += ESCAPE_LENGTH - 1;
        }
        if (byte == '\0') {
            *malformed = true;
            free(name);
            return NULL;
        }
        name[used++] = byte;
    }
    if (name)
        name[used] = '\0';
    return name;
}

static bool parse_device(const struct word *word, struct oneib_pci *device)
{
    char text[ONEIB_PCI_TEXT_SIZE];
    if (word->length >= sizeof text || memchr(word->bytes, '\0', word->length))
        return false;
    memcpy(text, word->bytes, word->length);
    text[word->length] = '\0';
    return oneib_pci_parse(text, device);
}

static int refuse(const struct line *line, size_t number, struct oneib_error *err)
{
    oneib_autotext struct oneib_text copy = {0}, shown = {0};
    oneib_text_append_bytes(&copy, line->at, (size_t)(line->end - line->at));
    oneib_text_append_escaped(&shown, copy.data, 80);
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                      "line %zu of the list of domains is malformed: \"%s\"", number,
                      shown.data ? shown.data : "");
}

static int parse_devices(struct line *rest, const struct line *line, size_t number,
                         struct oneib_domain *domain, struct oneib_error *err)
{
    size_t capacity = 0;
    while (rest->at) {
        struct word word;
        struct oneib_pci device;
        if (!next_word(rest, &word) || !parse_device(&word, &device))
            return refuse(line, number, err);
        if (oneib_reserve(&domain->devices, &capacity, domain->device_count + 1,
                          sizeof *domain->devices, err) < 0)
            return -1;
        domain->devices[domain->device_count++] = device;
    }
    return 0;
}

/* On failure *domain may hold something already: it is the caller's to free. */
static int parse_line(const struct line *line, size_t number, struct oneib_domain *domain,
                      struct oneib_error *err)
{
    struct line rest = *line;
    struct word state, name;
    bool malformed;
    if (!next_word(&rest, &state) || !next_word(&rest, &name) || state.length != 7)
        return refuse(line, number, err);
    domain->running = memcmp(state.bytes, "running", 7) == 0;
    if (!domain->running && memcmp(state.bytes, "defined", 7) != 0)
        return refuse(line, number, err);
    domain->name = parse_name(&name, &malformed);
    if (!domain->name)
        return malformed ? refuse(line, number, err) : oneib_fail_memory(err);
    domain->vm_id = oneib_domain_vm_id(domain->name);
    return parse_devices(&rest, line, number, domain, err);
}

static int add_line(const struct line *line, size_t number, struct oneib_domains *domains,
                    struct oneib_error *err)
{
    if (oneib_reserve(&domains->items, &domains->capacity, domains->count + 1,
                      sizeof *domains->items, err) < 0)
        return -1;
    struct oneib_domain *domain = &domains->items[domains->count++];
    *domain = (struct oneib_domain){.vm_id = -1};
    return parse_line(line, number, domain, err);
}

int oneib_domains_parse(const char *text, size_t length, struct oneib_domains *domains,
                        struct oneib_error *err)
{
    const char *end = text + length;
    size_t number = 0;
    *domains = (struct oneib_domains){0};
    for (const char *at = text; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const struct line line = {at, newline ? newline : end};
        /* A list that was cut short would miss devices that are in use. */
        const int status =
            newline ? add_line(&line, ++number, domains, err) : refuse(&line, ++number, err);
        if (status < 0) {
            oneib_domains_clear(domains);
            return -1;
        }
        at = newline + 1;
    }
    return 0;
}
