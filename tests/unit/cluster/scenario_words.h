// SPDX-License-Identifier: Apache-2.0
/* Statements of scenarios (test_scenario.c): their words, GUIDs and partitions. */
#ifndef ONEIB_TEST_CLUSTER_SCENARIO_WORDS_H
#define ONEIB_TEST_CLUSTER_SCENARIO_WORDS_H

#include "grant_scene.h"
#include "scenario_fence.h"
#include "scenario_news.h"
#include <inttypes.h>

#define WORDS_MAX 64
#define CLASSES_MAX 8
#define FULL_MEMBERS_MAX 8
#define PORT_PREFIX UINT64_C(0x0002c903)

/* One statement: its first word, and the others. */
struct statement {
    const char *text; /* behind the first word */
    char *copy;       /* owned: the words */
    char *words[WORDS_MAX];
    bool used[WORDS_MAX];
    size_t count;
    int line;
};

struct expectation {
    char *text; /* owned: "partition one4=0x0100: ..." */
    int line;
};

struct scenario {
    const char *file;
    struct oneib_text name, text; /* the lines behind its name */
    int line;
};

struct story {
    const struct scenario *scenario;
    struct grant_scene *played;
    struct fence_scene fence;
    struct news_scene news;
    oneib_guid seen[8]; /* VFs that the reading of the fabric shows */
    size_t seen_count;
    struct oneib_text reports; /* what is wrong with the scenario */
    char must_fail[256];       /* what must be reported; "": nothing */
    char driver[64], default_class[ONEIB_QOS_NAME_SIZE];
    struct oneib_qos_class classes[CLASSES_MAX];
    oneib_guid full_members[FULL_MEMBERS_MAX];
    uint32_t other_vms[8]; /* VMs of oned without a NIC of InfiniBand */
    size_t other_vm_count;
    bool vms_are_unread, hears_no_nodes, is_refused;
    bool settles_ports;           /* the ledger says which ports are which host's */
    struct expectation *expected; /* owned */
    size_t expected_count, expected_capacity;
    int expect_line; /* 0: no expectations are being read */
};

__attribute__((format(printf, 3, 4))) static void complain(struct story *story, int line,
                                                           const char *format, ...)
{
    va_list arguments;
    oneib_text_printf(&story->reports, "%s:%d: ", story->scenario->file, line);
    va_start(arguments, format);
    oneib_text_vprintf(&story->reports, format, arguments);
    va_end(arguments);
    oneib_text_append(&story->reports, "\n");
}

static void split_statement(struct statement *statement)
{
    char *rest = NULL;
    for (char *word = strtok_r(statement->copy, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        assert_true(statement->count < WORDS_MAX);
        statement->words[statement->count++] = word;
    }
    statement->used[0] = true;
}

static const char *plain_word(struct statement *statement, size_t place)
{
    if (place >= statement->count)
        return "";
    statement->used[place] = true;
    return statement->words[place];
}

/* The value of KEY=VALUE, each once; NULL: not, or no more. */
static const char *take_value(struct statement *statement, const char *key)
{
    const size_t length = strlen(key);
    for (size_t i = 1; i < statement->count; i++)
        if (!statement->used[i] && strncmp(statement->words[i], key, length) == 0 &&
            statement->words[i][length] == '=') {
            statement->used[i] = true;
            return statement->words[i] + length + 1;
        }
    return NULL;
}

static bool take_word(struct statement *statement, const char *word)
{
    for (size_t i = 1; i < statement->count; i++)
        if (!statement->used[i] && strcmp(statement->words[i], word) == 0)
            return statement->used[i] = true;
    return false;
}

/* WORD, or WORD=no. */
static void take_flag(struct statement *statement, const char *word, bool *flag)
{
    const char *value = take_value(statement, word);
    if (take_word(statement, word) || value)
        *flag = !value || strcmp(value, "no") != 0;
}

static uint64_t number_of(struct story *story, int line, const char *text)
{
    char *end;
    const uint64_t number = strtoull(text, &end, 0);
    if (!*text || *end)
        complain(story, line, "'%s' is not a number", text);
    return number;
}

static bool take_number(struct story *story, struct statement *statement, const char *key,
                        uint64_t *number)
{
    const char *value = take_value(statement, key);
    if (value)
        *number = number_of(story, statement->line, value);
    return value;
}

#define TAKE_NUMBER(story, statement, key, field)                                                  \
    do {                                                                                           \
        uint64_t taken;                                                                            \
        if (take_number(story, statement, key, &taken))                                            \
            (field) = (__typeof__(field))taken;                                                    \
    } while (0)

static uint32_t id_of(struct story *story, struct statement *statement, size_t place)
{
    return (uint32_t)number_of(story, statement->line, plain_word(statement, place));
}

/* "port3": port 1 of host 3's adapter; "vm10.0": the VF of VM 10 NIC 0; "0x99". */
static oneib_guid guid_of(struct story *story, int line, const char *text)
{
    unsigned id, nic;
    int length = 0;
    if (sscanf(text, "port%u%n", &id, &length) == 1 && !text[length])
        return port_of(id);
    if (sscanf(text, "vm%u.%u%n", &id, &nic, &length) == 2 && !text[length])
        return oneib_guid_encode(SITE, id, (uint8_t)nic);
    return number_of(story, line, text);
}

static void print_guid(oneib_guid guid, struct oneib_text *text)
{
    struct oneib_guid_parts parts;
    if (oneib_guid_in_site(guid, SITE) && oneib_guid_decode(guid, &parts))
        oneib_text_printf(text, "vm%u.%u", parts.vm_id, parts.nic_id);
    else if (guid >> 32 == PORT_PREFIX)
        oneib_text_printf(text, "port%u", (unsigned)guid);
    else
        oneib_text_printf(text, "0x%" PRIx64, guid);
}

static unsigned choice_of(struct story *story, int line, const char *text,
                          const char *const *choices)
{
    unsigned i = 0;
    while (choices[i] && strcmp(text, choices[i]) != 0)
        i++;
    if (!choices[i])
        complain(story, line, "'%s' is not one of %s, ...", text, choices[0]);
    return choices[i] ? i : 0;
}

/* "10.0" */
static void nic_of(struct story *story, int line, const char *text, uint32_t *vm_id, unsigned *nic)
{
    int length = 0;
    if (sscanf(text, "%u.%u%n", vm_id, nic, &length) != 2 || text[length])
        complain(story, line, "'%s' is not VM.NIC", text);
}

/* ---- partitions ------------------------------------------------------------------------------- */

/* Reads one, in the syntax of partitions.conf, with names of GUIDs. */
static void read_partition(struct story *story, const struct statement *statement,
                           struct oneib_partition_table *table)
{
    oneib_autotext struct oneib_text text = {0};
    struct oneib_partition_table read = {0};
    struct oneib_error err;
    for (const char *at = statement->text; *at;) {
        const size_t other = strcspn(at, " ,:=");
        char word[64];
        snprintf(word, sizeof word, "%.*s", (int)other, at);
        if (strncmp(word, "port", 4) == 0 || strncmp(word, "vm", 2) == 0)
            oneib_text_printf(&text, "0x%016" PRIx64, guid_of(story, statement->line, word));
        else
            oneib_text_append(&text, word);
        at += other;
        if (*at)
            oneib_text_append_bytes(&text, at++, 1);
    }
    oneib_text_append(&text, " ;\n");
    if (oneib_partitions_parse(text.data, text.length, "partition", &read, &err) < 0) {
        complain(story, statement->line, "%s", err.text);
        return;
    }
    for (size_t i = 0; i < table->count; i++)
        if (table->items[i].pkey == read.items[0].pkey) {
            free(table->items[i].members);
            table->items[i] = read.items[0];
            free(read.items);
            return;
        }
    *oneib_partition_table_add(table) = read.items[0];
    free(read.items);
}

static void print_partition(const struct oneib_partition *partition, struct oneib_text *text)
{
    oneib_autotext struct oneib_text file = {0};
    struct oneib_partition head = *partition;
    head.member_count = 0;
    oneib_partition_render(&head, &file);
    oneib_text_append_bytes(text, file.data, file.length - strlen(" : ;\n"));
    for (size_t i = 0; i < partition->member_count; i++) {
        const struct oneib_member *member = &partition->members[i];
        const char *wildcard = oneib_member_kind_name(member->kind);
        oneib_text_append(text, i == 0 ? ": " : ", ");
        if (wildcard)
            oneib_text_append(text, wildcard);
        else
            print_guid(member->guid, text);
        oneib_text_printf(text, "=%s", oneib_membership_name(member->membership));
    }
}

static void print_table(const char *keyword, const struct oneib_partition_table *table,
                        struct oneib_text *text)
{
    for (size_t i = 0; i < table->count; i++) {
        const bool is_default = table->items[i].pkey == ONEIB_PKEY_DEFAULT;
        if (is_default && strcmp(keyword, "file") == 0)
            continue;
        oneib_text_printf(text, "%s ", is_default ? "default" : keyword);
        print_partition(&table->items[i], text);
        oneib_text_append(text, "\n");
    }
}

#endif
