// SPDX-License-Identifier: Apache-2.0
/*
 * oneib-grants-standin DIRECTORY [tcp://ADDRESS:PORT]: stands in for oneibd towards nodes. The
 * directory has
 *
 *   daemon.key    its keys; made when they are absent
 *   daemons       its line, as nodes are to be told of it; written at the start
 *   KEY.grants    what the node with that public key (64 digits) is granted: a line a grant,
 *                   vm=42 nic=1 network=7 device=mlx4_0 port=1 pkey=0x0005 [limited]
 *                   [vf=0000:81:00.1] guid=0x0200000000002a01 [setguid]
 *                 A node without such a file is not admitted. Read again when it changes; one that
 *                 does not parse is complained about, and the list stays. Put it in place by
 *                 renaming.
 *   KEY.wanted    what it is granted besides once it wants it, a line a network, without vm, nic and
 *                 guid: for each NIC that it wants in that network. Read again likewise.
 *   behaviour     words; absent: an honest writer whose host has no subnet manager. Read again when
 *                 it changes.
 *                   no-writer         another is
 *                   sm-lid=N          its host has the master subnet manager, whose port has LID N
 *                   snapshot-age=MS   since it heard of oned
 *                   no-lists          sends none
 *                   no-life           leaves challenges without an answer
 *                   wrong-nonce       answers challenges that nobody made
 *                   wrong-node        everything is addressed to another node
 *                   wrong-signature   everything is signed with another key
 *                   replay            after each sign of life, the list in KEY.first again
 *   KEY.first     the first list that the node was sent, as it was sent; written when it is absent,
 *                 so it may be of an earlier run
 *   KEY.repeated  it is there when the node has made a challenge twice
 *   KEY.report    what the node reported last:
 *                   follows=current|older|other|none serial=3 believes=yes complete=yes boot=DIGITS
 *                 then "port 0xGUID" for each port of its adapters, and a line for each VF, as in
 *                 the node's table
 *   wants         a line for each WANT: KEY vm=42 nic=1 network=7
 *
 * Without an address it listens on a free port of 127.0.0.1. It says "ready" on standard output
 * when it does, and ends with whoever started it.
 */
#include "base/cleanup.h"
#include "base/file.h"
#include "base/number.h"
#include "base/text.h"
#include "grants/daemons.h"
#include "grants/server.h"
#include "grants/server_bytes.h"
#include "ports.h"
#include <dirent.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#define TEXT_MAX 1048576
#define NODES_MAX 256
#define GRANTS ".grants"
#define WANTED ".wanted"
#define WANTS_MAX 512

/* Another content has another one of these, on any file system with nanoseconds; renamed files
 * differ in their inode besides. */
struct mark {
    ino_t inode;
    struct timespec changed;
    off_t size;
};

struct node {
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
    char name[ONEIB_KEY_TEXT_SIZE];
    struct mark mark, wanted_mark;
    struct oneib_want_message wants[WANTS_MAX];
    size_t want_count;
    uint64_t serial;                 /* of `list`; 0: it never had one */
    uint8_t nonce[ONEIB_NONCE_SIZE]; /* of its last challenge */
    struct oneib_list_name follows;
    struct oneib_grant_list list;
};

static struct behaviour {
    struct mark mark;
    struct oneib_daemon_role role;
    bool no_lists, no_life, wrong_nonce, wrong_node, wrong_signature, replay;
} behaviour = {.role.is_writer = true};

static struct node *nodes[NODES_MAX];
static size_t node_count;
static struct oneib_grants_server *server;
static struct oneib_curve_pair curve;
static struct oneib_sign_pair sign;
static uint64_t instance;
static struct oneib_grants_message said;
static struct oneib_error err;

__attribute__((noreturn)) static void give_up(const char *what)
{
    fprintf(stderr, "oneib-grants-standin: %s\n", what);
    exit(1);
}

static void require(int status)
{
    if (status < 0)
        give_up(err.text);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* A name in the directory, which is the working directory. Valid until the next call but one. */
static const char *name_of(const struct node *node, const char *end)
{
    static char names[2][ONEIB_KEY_TEXT_SIZE + 16];
    static unsigned next;
    char *name = names[next++ % 2];
    snprintf(name, sizeof names[0], "%s%s", node->name, end);
    return name;
}

static struct mark mark_of(const char *name)
{
    struct stat status;
    if (stat(name, &status) < 0)
        return (struct mark){0};
    return (struct mark){status.st_ino, status.st_mtim, status.st_size};
}

static bool has_changed(const char *name, struct mark *mark)
{
    const struct mark now = mark_of(name);
    const bool same = now.inode == mark->inode && now.size == mark->size &&
                      now.changed.tv_sec == mark->changed.tv_sec &&
                      now.changed.tv_nsec == mark->changed.tv_nsec;
    *mark = now;
    return !same;
}

/* "" when it is absent; owned by the caller. */
static char *read_text(const char *name, size_t *length)
{
    char *text;
    struct oneib_error absent;
    if (oneib_file_read(name, TEXT_MAX, &text, length, &absent) == 0)
        return text;
    *length = 0;
    return strdup("");
}

/* A reader sees the old or the new one. */
static void write_file(const char *name, const void *bytes, size_t length)
{
    char temporary[256];
    snprintf(temporary, sizeof temporary, ".%s", name);
    oneib_autofclose FILE *file = fopen(temporary, "w");
    if (!file || fwrite(bytes, 1, length, file) != length || fflush(file) != 0 ||
        rename(temporary, name) < 0)
        give_up("writing into its directory");
}

/* ---- what is granted ------------------------------------------------------------------------- */

static bool take_number(const char *value, uint64_t max, uint64_t *number)
{
    return oneib_parse_decimal(value, max, number) || oneib_parse_hex(value, max, number);
}

static bool is_named(const char *word, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(word, name, length) == 0;
}

static bool take_word(const char *word, struct oneib_grant *grant)
{
    const char *value = strchr(word, '=');
    uint64_t number = 0;
    if (strcmp(word, "limited") == 0)
        return grant->limited = true;
    if (strcmp(word, "setguid") == 0)
        return grant->may_set_guid = true;
    if (!value)
        return false;
    const size_t name = (size_t)(value++ - word);
    const bool is_number = take_number(value, INT32_MAX, &number);
    if (is_named(word, name, "vm"))
        grant->vm_id = (uint32_t)number;
    else if (is_named(word, name, "nic"))
        grant->nic_id = (uint8_t)number;
    else if (is_named(word, name, "network"))
        grant->network_id = (uint32_t)number;
    else if (is_named(word, name, "port"))
        grant->port = (uint8_t)number;
    else if (is_named(word, name, "pkey"))
        grant->pkey = (oneib_pkey)number;
    else if (is_named(word, name, "device"))
        return snprintf(grant->device, sizeof grant->device, "%s", value) <
               (int)sizeof grant->device;
    else if (is_named(word, name, "vf"))
        return grant->has_vf = oneib_pci_parse(value, &grant->vf);
    else if (is_named(word, name, "guid"))
        return oneib_guid_parse(value, &grant->guid);
    else
        return false;
    return is_number;
}

/* An empty line has none. */
static bool take_line(char *line, struct oneib_grant *grant, bool *is_any)
{
    char *rest = line;
    *is_any = false;
    for (char *word; (word = strsep(&rest, " \t"));) {
        if (*word == '\0')
            continue;
        if (*word == '#')
            break;
        *is_any = true;
        if (!take_word(word, grant))
            return false;
    }
    return true;
}

static int by_nic(const void *left, const void *right)
{
    return oneib_grant_compare(left, right);
}

static bool take_lines(char *text, struct oneib_grant_list *list)
{
    list->count = 0;
    for (char *line; (line = strsep(&text, "\n"));) {
        struct oneib_grant grant = {0};
        bool is_any;
        if (!take_line(line, &grant, &is_any) || list->count == ONEIB_GRANTS_MAX)
            return false;
        if (is_any)
            list->items[list->count++] = grant;
    }
    qsort(list->items, list->count, sizeof *list->items, by_nic);
    return true;
}

/* What the node has wanted, where nothing else is granted. */
static void add_wanted(const struct node *node, const struct oneib_grant_list *networks,
                       struct oneib_grant_list *list)
{
    for (size_t i = 0; i < node->want_count; i++) {
        const struct oneib_want_message *want = &node->wants[i];
        struct oneib_grant grant = {0};
        for (size_t n = 0; n < networks->count; n++)
            if (networks->items[n].network_id == want->network_id)
                grant = networks->items[n];
        grant.vm_id = want->vm_id;
        grant.nic_id = want->nic_id;
        grant.guid = oneib_guid_encode(0, want->vm_id, want->nic_id);
        if (grant.pkey == 0 || list->count == ONEIB_GRANTS_MAX ||
            oneib_grant_list_find(list, want->vm_id, want->nic_id))
            continue;
        list->items[list->count++] = grant;
        qsort(list->items, list->count, sizeof *list->items, by_nic);
    }
}

/* Only what a node would take: else a test would wait for what cannot be. */
static bool is_sound(const struct oneib_grant_list *list)
{
    static struct oneib_grants_message message;
    static uint8_t bytes[ONEIB_GRANTS_MESSAGE_MAX];
    message = (struct oneib_grants_message){.kind = ONEIB_GRANTS_LIST};
    message.list.name = (struct oneib_list_name){1, 1};
    message.list.grants = *list;
    return oneib_grants_unpack(bytes, oneib_grants_pack(&message, bytes), &message, &err) == 0;
}

/* ---- what is said ---------------------------------------------------------------------------- */

/* Whom and by whom it is said is right, unless it is to be wrong. Returns the length. */
static size_t seal(const struct node *node, uint8_t *bytes)
{
    uint8_t *addressee = said.kind == ONEIB_GRANTS_LIST ? said.list.node : said.life.node;
    struct oneib_sign_pair signer = sign;
    memcpy(addressee, node->key, sizeof node->key);
    if (behaviour.wrong_node)
        addressee[0] ^= 1;
    if (behaviour.wrong_signature)
        signer.secret[0] ^= 1;
    return oneib_seal(&signer, bytes, oneib_grants_pack(&said, bytes));
}

static void say(const struct node *node, const char *keep_as)
{
    static uint8_t bytes[ONEIB_GRANTS_MESSAGE_MAX];
    bool sent;
    const size_t length = seal(node, bytes);
    require(oneib_grants_server_send_bytes(server, node->key, bytes, length, &sent, &err));
    if (sent && keep_as && access(keep_as, F_OK) < 0)
        write_file(keep_as, bytes, length);
}

static void say_list(const struct node *node)
{
    if (behaviour.no_lists || node->serial == 0)
        return;
    said = (struct oneib_grants_message){.kind = ONEIB_GRANTS_LIST};
    said.list.name = (struct oneib_list_name){instance, node->serial};
    said.list.role = behaviour.role;
    said.list.grants = node->list;
    say(node, name_of(node, ".first"));
}

static void say_life(const struct node *node, const uint8_t nonce[ONEIB_NONCE_SIZE])
{
    if (behaviour.no_life)
        return;
    said = (struct oneib_grants_message){.kind = ONEIB_GRANTS_LIFE};
    said.life.name = (struct oneib_list_name){instance, node->serial};
    said.life.role = behaviour.role;
    memcpy(said.life.nonce, nonce, ONEIB_NONCE_SIZE);
    if (behaviour.wrong_nonce)
        said.life.nonce[0] ^= 1;
    say(node, NULL);
}

static void replay(const struct node *node)
{
    size_t length;
    bool sent;
    oneib_autofree char *bytes = read_text(name_of(node, ".first"), &length);
    if (length > 0)
        require(oneib_grants_server_send_bytes(server, node->key, bytes, length, &sent, &err));
}

static bool follows_current(const struct node *node)
{
    return node->follows.instance == instance && node->follows.serial == node->serial;
}

/* An answer to the one before would do for it. */
static void note_repeated_challenge(struct node *node, const uint8_t nonce[ONEIB_NONCE_SIZE])
{
    if (memcmp(node->nonce, nonce, ONEIB_NONCE_SIZE) == 0)
        write_file(name_of(node, ".repeated"), "", 0);
    memcpy(node->nonce, nonce, ONEIB_NONCE_SIZE);
}

static void answer_challenge(struct node *node, const uint8_t nonce[ONEIB_NONCE_SIZE])
{
    note_repeated_challenge(node, nonce);
    say_life(node, nonce);
    if (!follows_current(node))
        say_list(node);
    if (behaviour.replay)
        replay(node);
}

/* ---- what is heard --------------------------------------------------------------------------- */

static const char *what_follows(const struct node *node)
{
    if (node->follows.instance == 0)
        return "none";
    if (node->follows.instance != instance)
        return "other";
    return follows_current(node) ? "current" : "older";
}

static void keep_report(struct node *node, const struct oneib_report_message *report)
{
    oneib_autotext struct oneib_text text = {0};
    node->follows = report->follows;
    oneib_text_printf(
        &text, "follows=%s serial=%" PRIu64 " believes=%s complete=%s boot=", what_follows(node),
        report->follows.serial, report->believes ? "yes" : "no", report->complete ? "yes" : "no");
    for (size_t i = 0; i < sizeof report->boot; i++)
        oneib_text_printf(&text, "%02x", report->boot[i]);
    oneib_text_append(&text, "\n");
    for (size_t i = 0; i < report->port_count; i++)
        oneib_text_printf(&text, "port 0x%016" PRIx64 "\n", report->ports[i].port_guid);
    for (size_t i = 0; i < report->count; i++) {
        oneib_vf_record_render(&report->records[i], &text);
        oneib_text_append(&text, "\n");
    }
    write_file(name_of(node, ".report"), text.data, text.length);
}

/* The newest one of a NIC counts. */
static void remember_want(struct node *node, const struct oneib_want_message *want)
{
    size_t at = 0;
    while (at < node->want_count &&
           (node->wants[at].vm_id != want->vm_id || node->wants[at].nic_id != want->nic_id))
        at++;
    if (at == WANTS_MAX)
        give_up("too many wants");
    node->wants[at] = *want;
    if (at == node->want_count)
        node->want_count++;
    node->wanted_mark = (struct mark){0};
}

static void note_want(struct node *node, const struct oneib_want_message *want)
{
    remember_want(node, want);
    oneib_autofclose FILE *file = fopen("wants", "a");
    if (!file || fprintf(file, "%s vm=%" PRIu32 " nic=%u network=%" PRIu32 "\n", node->name,
                         want->vm_id, want->nic_id, want->network_id) < 0)
        give_up("writing into its directory");
}

static struct node *find_node(const uint8_t key[ONEIB_PUBLIC_KEY_SIZE])
{
    for (size_t i = 0; i < node_count; i++)
        if (memcmp(nodes[i]->key, key, sizeof nodes[i]->key) == 0)
            return nodes[i];
    return NULL;
}

/* Whether there was something to hear. */
static bool hear_all(void)
{
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
    const struct oneib_grants_message *message;
    bool heard = false;
    int status;
    while ((status = oneib_grants_server_next(server, key, &message, &err)) > 0) {
        struct node *node = find_node(key);
        heard = true;
        if (node && message->kind == ONEIB_GRANTS_CHALLENGE)
            answer_challenge(node, message->challenge.nonce);
        else if (node && message->kind == ONEIB_GRANTS_REPORT)
            keep_report(node, &message->report);
        else if (node && message->kind == ONEIB_GRANTS_WANT)
            note_want(node, &message->want);
    }
    require(status);
    return heard;
}

/* ---- looking at the directory ---------------------------------------------------------------- */

static void read_grants(struct node *node)
{
    static struct oneib_grant_list list, networks;
    size_t length;
    const bool is_other = has_changed(name_of(node, GRANTS), &node->mark);
    if (!has_changed(name_of(node, WANTED), &node->wanted_mark) && !is_other)
        return;
    oneib_autofree char *text = read_text(name_of(node, GRANTS), &length);
    oneib_autofree char *wanted = read_text(name_of(node, WANTED), &length);
    if (!take_lines(text, &list) || !take_lines(wanted, &networks)) {
        fprintf(stderr, "oneib-grants-standin: %s" GRANTS " or " WANTED " is wrong\n", node->name);
        return;
    }
    add_wanted(node, &networks, &list);
    if (!is_sound(&list)) {
        fprintf(stderr, "oneib-grants-standin: %s" GRANTS " is none of a node's\n", node->name);
        return;
    }
    if (node->serial > 0 && oneib_grant_list_is(&node->list, list.items, list.count))
        return;
    node->list = list;
    node->serial++;
    say_list(node);
}

static void take_behaviour(const char *word, struct behaviour *taken)
{
    const struct {
        const char *word;
        bool *flag;
    } flags[] = {
        {"no-lists", &taken->no_lists},       {"no-life", &taken->no_life},
        {"wrong-nonce", &taken->wrong_nonce}, {"wrong-node", &taken->wrong_node},
        {"replay", &taken->replay},           {"wrong-signature", &taken->wrong_signature},
    };
    uint64_t number;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strcmp(word, flags[i].word) == 0) {
            *flags[i].flag = true;
            return;
        }
    if (strcmp(word, "no-writer") == 0) {
        taken->role.is_writer = false;
    } else if (strncmp(word, "sm-lid=", 7) == 0 && take_number(word + 7, 0xbfff, &number)) {
        taken->role.has_sm = true;
        taken->role.sm_lid = (uint16_t)number;
    } else if (strncmp(word, "snapshot-age=", 13) == 0 &&
               take_number(word + 13, UINT32_MAX, &number)) {
        taken->role.snapshot_age_ms = (uint32_t)number;
    } else if (*word != '\0') {
        fprintf(stderr, "oneib-grants-standin: it cannot behave as \"%s\"\n", word);
    }
}

static void read_behaviour(void)
{
    size_t length;
    if (!has_changed("behaviour", &behaviour.mark))
        return;
    oneib_autofree char *text = read_text("behaviour", &length);
    struct behaviour taken = {.mark = behaviour.mark, .role.is_writer = true};
    char *rest = text;
    for (char *word; (word = strsep(&rest, " \n"));)
        take_behaviour(word, &taken);
    behaviour = taken;
}

/* The key that a name of the form KEY.grants says. */
static bool is_grants(const char *name, uint8_t key[ONEIB_PUBLIC_KEY_SIZE])
{
    char digits[ONEIB_KEY_TEXT_SIZE];
    const size_t length = strlen(name), end = strlen(GRANTS);
    if (length != sizeof digits - 1 + end || strcmp(name + length - end, GRANTS) != 0)
        return false;
    memcpy(digits, name, sizeof digits - 1);
    digits[sizeof digits - 1] = '\0';
    return oneib_key_parse(digits, key);
}

static void add_node(const uint8_t key[ONEIB_PUBLIC_KEY_SIZE])
{
    struct node *node = node_count < NODES_MAX ? calloc(1, sizeof *node) : NULL;
    if (!node)
        give_up("too many nodes");
    memcpy(node->key, key, sizeof node->key);
    oneib_key_format(key, node->name);
    nodes[node_count++] = node;
}

static void remove_node(size_t at)
{
    free(nodes[at]);
    nodes[at] = nodes[--node_count];
}

static bool find_new_nodes(void)
{
    const size_t before = node_count;
    DIR *names = opendir(".");
    if (!names)
        give_up("reading its directory");
    for (const struct dirent *entry; (entry = readdir(names));) {
        uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
        if (is_grants(entry->d_name, key) && !find_node(key))
            add_node(key);
    }
    closedir(names);
    return node_count != before;
}

static bool forget_gone_nodes(void)
{
    const size_t before = node_count;
    for (size_t i = node_count; i-- > 0;)
        if (access(name_of(nodes[i], GRANTS), F_OK) < 0)
            remove_node(i);
    return node_count != before;
}

static void admit_nodes(void)
{
    static uint8_t keys[NODES_MAX][ONEIB_PUBLIC_KEY_SIZE];
    const bool have_gone = forget_gone_nodes(), have_come = find_new_nodes();
    if (!have_gone && !have_come)
        return;
    for (size_t i = 0; i < node_count; i++)
        memcpy(keys[i], nodes[i]->key, sizeof keys[i]);
    oneib_grants_server_admit(server, (const uint8_t(*)[ONEIB_PUBLIC_KEY_SIZE])keys, node_count);
    require(0);
}

static void look(void)
{
    read_behaviour();
    admit_nodes();
    for (size_t i = 0; i < node_count; i++)
        read_grants(nodes[i]);
}

/* A descriptor that is readable when something in the directory has changed. */
static int watch_directory(void)
{
    const uint32_t changes =
        IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
    const int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0 || inotify_add_watch(fd, ".", changes) < 0)
        give_up("watching its directory");
    return fd;
}

/* What has changed is looked for anyway. */
static void forget_changes(int changes)
{
    char events[4096];
    while (read(changes, events, sizeof events) > 0)
        ;
}

/* ---- beginning ------------------------------------------------------------------------------- */

#define LISTEN_TRIES 20

static int try_to_listen(const char *address)
{
    const struct oneib_grants_server_options options = {
        .listen = address, .curve = &curve, .sign = &sign};
    return oneib_grants_server_open(&options, &server, &err);
}

/* Somebody may take a port between the search and this. */
static const char *listen_somewhere(void)
{
    static char address[ONEIB_ADDRESS_SIZE];
    for (int try = 0; try < LISTEN_TRIES; try++) {
        const unsigned port = free_port();
        if (port == 0)
            give_up("no port is free");
        snprintf(address, sizeof address, "tcp://127.0.0.1:%u", port);
        if (try_to_listen(address) == 0)
            return address;
    }
    give_up(err.text);
}

static const char *listen_at(const char *address)
{
    require(try_to_listen(address));
    return address;
}

static void announce(const char *address)
{
    oneib_autotext struct oneib_text text = {0};
    struct oneib_daemons daemons = {.count = 1};
    snprintf(daemons.items[0].address, sizeof daemons.items[0].address, "%s", address);
    memcpy(daemons.items[0].curve, curve.public, sizeof curve.public);
    memcpy(daemons.items[0].sign, sign.public, sizeof sign.public);
    oneib_daemons_render(&daemons, &text);
    write_file("daemons", text.data, text.length);
}

int main(int argc, char **argv)
{
    bool made;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc < 2 || argc > 3 || chdir(argv[1]) < 0)
        give_up("usage: oneib-grants-standin DIRECTORY [tcp://ADDRESS:PORT]");
    require(oneib_daemon_pairs("daemon.key", &curve, &sign, &made, &err));
    oneib_random(&instance, sizeof instance);
    announce(argc == 3 ? listen_at(argv[2]) : listen_somewhere());
    const int changes = watch_directory();
    look();
    puts("ready");
    fflush(stdout);
    for (;;) {
        struct pollfd files[] = {{.fd = oneib_grants_server_fd(server), .events = POLLIN},
                                 {.fd = changes, .events = POLLIN}};
        poll(files, 2, -1);
        forget_changes(changes);
        /* What comes while something is sent does not make the descriptor readable anew. */
        do
            look();
        while (hear_all());
    }
}
