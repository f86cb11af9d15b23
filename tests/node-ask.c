// SPDX-License-Identifier: Apache-2.0
/*
 * oneib-node-ask: asks the oneib-node of the node that ONEIB_NODE_ROOT names, for tests.
 *
 *   have --vm 42 --nic 1 [--network 7] [--defer-guid] [--attach]   prints the record
 *   release --vm 42 [--nic 1 | --vf 0000:81:00.1] [--nic-gone]   prints "released N"
 *   list                                                prints the records, then the domains
 *   await up              until the service answers
 *   await known           until it knows the domains
 *   await fresh           until it knows what oneibd grants now
 *   await VM COUNT        until it knows the running domain of that VM, with so many VFs
 *   await VM gone         until it knows of no domain of that VM
 *
 * The first two wait until all is done, but with --no-wait. Exits 3 with one line when it is
 * refused, or waits in vain for half a minute.
 */
#include "base/clock.h"
#include "base/escape.h"
#include "base/number.h"
#include "service/service_client.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WAIT_MS 20000
#define AWAIT_MS 30000.0

enum { USAGE = 2, REFUSED = 3 };

__attribute__((noreturn)) static void fail(const struct oneib_error *err)
{
    fprintf(stderr, "oneib-node-ask: %s\n", err->text);
    exit(REFUSED);
}

__attribute__((noreturn)) static void misused(const char *word)
{
    fprintf(stderr, "oneib-node-ask: what is \"%s\"?\n", word ? word : "");
    exit(USAGE);
}

/* ---- words ----------------------------------------------------------------------------------- */

static uint32_t number_of(const char *word)
{
    uint64_t number;
    if (!word || !oneib_parse_decimal(word, INT32_MAX, &number))
        misused(word);
    return (uint32_t)number;
}

static void set_vf(struct oneib_request *request, const char *word)
{
    if (!word || !oneib_pci_parse(word, &request->vf))
        misused(word);
    request->kind = ONEIB_REQUEST_RELEASE_VF;
}

static uint16_t flag_of(const char *word)
{
    static const struct {
        const char *word;
        uint16_t flag;
    } flags[] = {{"--defer-guid", ONEIB_HAVE_DEFER_GUID},
                 {"--attach", ONEIB_HAVE_ATTACH},
                 {"--nic-gone", ONEIB_RELEASE_NIC_GONE}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strcmp(word, flags[i].word) == 0)
            return flags[i].flag;
    return 0;
}

static void set_value(struct oneib_request *request, const char *word, const char *value)
{
    if (strcmp(word, "--vm") == 0)
        request->vm_id = number_of(value);
    else if (strcmp(word, "--nic") == 0)
        request->nic_id = (int32_t)number_of(value);
    else if (strcmp(word, "--network") == 0)
        request->network_id = number_of(value);
    else if (request->kind != ONEIB_REQUEST_HAVE && strcmp(word, "--vf") == 0)
        set_vf(request, value);
    else
        misused(word);
}

static struct oneib_request read_request(enum oneib_request_kind kind, char **words, bool *waits)
{
    struct oneib_request request = oneib_request_new(kind);
    *waits = true;
    request.nic_id = kind == ONEIB_REQUEST_RELEASE ? -1 : 0;
    request.numa_node = kind == ONEIB_REQUEST_HAVE ? -1 : 0;
    for (; *words; words++) {
        if (strcmp(*words, "--no-wait") == 0)
            *waits = false;
        else if (flag_of(*words))
            request.flags |= flag_of(*words);
        else {
            set_value(&request, words[0], words[1]);
            words++;
        }
    }
    if (request.kind == ONEIB_REQUEST_RELEASE_VF)
        request.nic_id = 0;
    return request;
}

/* ---- verbs ----------------------------------------------------------------------------------- */

static void print_record(const struct oneib_vf_record *record)
{
    struct oneib_text line = {0};
    oneib_vf_record_render(record, &line);
    puts(line.data ? line.data : "");
    oneib_text_clear(&line);
}

static void ask(enum oneib_request_kind kind, char **words)
{
    bool waits;
    const struct oneib_request request = read_request(kind, words, &waits);
    struct oneib_client *client;
    struct oneib_vf_record record;
    struct oneib_released released;
    struct oneib_error err = {0};
    if (oneib_client_open(&client, &err) < 0 ||
        (kind == ONEIB_REQUEST_HAVE
             ? oneib_client_have(client, &request, WAIT_MS, &record, &err)
             : oneib_client_release(client, &request, &released, &err)) < 0 ||
        (waits && oneib_client_wait(client, WAIT_MS, &err) < 0))
        fail(&err);
    if (kind == ONEIB_REQUEST_HAVE)
        print_record(&record);
    else
        printf("released %" PRIu32 "\n", released.freed + released.lingering);
    oneib_client_close(client);
}

static struct oneib_service_list read_list(void)
{
    struct oneib_service_list list;
    struct oneib_error err = {0};
    if (oneib_client_list(&list, &err) < 0)
        fail(&err);
    return list;
}

static void print_domain(const struct oneib_domain *domain)
{
    char vf[ONEIB_PCI_TEXT_SIZE];
    oneib_autotext struct oneib_text name = {0};
    oneib_text_append_escaped(&name, domain->name, ONEIB_MESSAGE_NAME);
    printf("%s %s", domain->running ? "running" : "defined", name.data ? name.data : "");
    for (size_t i = 0; i < domain->device_count; i++) {
        oneib_pci_format(&domain->devices[i], vf);
        printf(" %s", vf);
    }
    putchar('\n');
}

static void print_list(void)
{
    struct oneib_service_list list = read_list();
    for (size_t i = 0; i < list.table.count; i++)
        print_record(&list.table.items[i]);
    for (size_t i = 0; i < list.domains.count; i++)
        print_domain(&list.domains.items[i]);
    if (!list.domains_known)
        printf("unknown %s\n", list.why.text);
    oneib_service_list_clear(&list);
}

static bool is_as_wanted(const struct oneib_service_list *list, char **words)
{
    if (strcmp(words[0], "known") == 0)
        return true;
    const uint32_t vm = number_of(words[0]);
    const bool gone = strcmp(words[1], "gone") == 0;
    for (size_t i = 0; i < list->domains.count; i++) {
        const struct oneib_domain *domain = &list->domains.items[i];
        if (domain->vm_id == (int64_t)vm)
            return !gone && domain->running && domain->device_count == number_of(words[1]);
    }
    return gone;
}

static bool has_fresh_grants(const struct oneib_service_list *list, struct oneib_error *err)
{
    *err = list->stale;
    return list->follows.fresh;
}

static bool knows_domains(const struct oneib_service_list *list, char **words,
                          struct oneib_error *err)
{
    *err = list->why;
    return list->domains_known && is_as_wanted(list, words);
}

static bool looks_right(char **words, struct oneib_error *err)
{
    struct oneib_service_list list;
    bool done = true;
    if (oneib_client_list(&list, err) < 0)
        return false;
    if (strcmp(words[0], "fresh") == 0)
        done = has_fresh_grants(&list, err);
    else if (strcmp(words[0], "up") != 0)
        done = knows_domains(&list, words, err);
    oneib_service_list_clear(&list);
    return done;
}

static bool is_enough(char **words)
{
    static const char *const alone[] = {"up", "known", "fresh"};
    for (size_t i = 0; words[0] && i < sizeof alone / sizeof *alone; i++)
        if (strcmp(words[0], alone[i]) == 0)
            return true;
    return words[0] && words[1];
}

/* The service may only be about to start. */
static void await(char **words)
{
    const double end = oneib_now_ms() + AWAIT_MS;
    struct oneib_error err = {0};
    if (!is_enough(words))
        misused(words[0]);
    while (!looks_right(words, &err)) {
        if (oneib_now_ms() > end)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    if (oneib_now_ms() <= end)
        return;
    fprintf(stderr, "oneib-node-ask: the service does not get to know \"%s %s\": %s\n", words[0],
            words[1] ? words[1] : "", err.text);
    exit(REFUSED);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        misused(NULL);
    if (strcmp(argv[1], "have") == 0)
        ask(ONEIB_REQUEST_HAVE, argv + 2);
    else if (strcmp(argv[1], "release") == 0)
        ask(ONEIB_REQUEST_RELEASE, argv + 2);
    else if (strcmp(argv[1], "list") == 0)
        print_list();
    else if (strcmp(argv[1], "await") == 0)
        await(argv + 2);
    else
        misused(argv[1]);
    return 0;
}
