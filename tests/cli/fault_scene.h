// SPDX-License-Identifier: Apache-2.0
/*
 * A simulated node for tests of faults: one mlx4 adapter, the subnet manager's part of it, and the
 * real programs of a node. Whatever goes wrong, a VF must end closed and reusable, which
 * assert_reusable() shows by giving it to another VM.
 */
#ifndef ONEIB_TESTS_CLI_FAULT_SCENE_H
#define ONEIB_TESTS_CLI_FAULT_SCENE_H

#include "../base64.h"
#include "../grants_standin.h"
#include "../skip.h"
#include "base/clock.h"
#include "hca/sm_stand_in.h"
#include "hca/tree.h"
#include "node_process.h"
#include "run.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEADLINE_MS 120000
#define KEY_INDEX 3
#define CLOSED_INDEX "0"
/* Milliseconds, for what does not come. */
#define SOON 150
#define LONG 120000
/* For what comes by itself, on a busy machine too: a grant, before a key that never comes. */
#define ENOUGH 5000

/* ---- documents ------------------------------------------------------------------------------- */

#define TAG(name, value) "<" name ">" value "</" name ">"
#define DEVICE(type, id, rest)                                                                     \
    TAG("TEMPLATE", TAG(type, TAG("NIC_ID", id) TAG("VN_MAD", "infiniband") rest))
#define NIC(id, rest) DEVICE("NIC", id, rest)
#define PCI(id, rest) DEVICE("PCI", id, TAG("TYPE", "NIC") rest)
/* The networks whose keys they are: tests/grants_standin.h. */
#define KEY TAG("NETWORK_ID", "7")
#define OTHER_KEY TAG("NETWORK_ID", "8")
#define VM(id, rest)                                                                               \
    TAG("VM", TAG("ID", id) rest TAG("HISTORY_RECORDS", TAG("HISTORY", TAG("HOSTNAME", "here"))))
#define VM_42 VM("42", NIC("1", KEY))
#define UUID "5dec61fb-6338-452b-9e09-76372ec01406"

/* ---- programs -------------------------------------------------------------------------------- */

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

struct process {
    pid_t pid;
    int said; /* a file, both of its outputs */
};

static char said[65536];

static inline int memory_file(const char *text, size_t length)
{
    const int fd = memfd_create("text", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, length), length);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static inline struct process start_on(const char *const *argv, const char *input, size_t length)
{
    const int in = memory_file(input, length);
    struct process process = {.said = memory_file("", 0)};
    process.pid = fork();
    assert_true(process.pid >= 0);
    if (process.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (dup2(in, STDIN_FILENO) < 0 || dup2(process.said, STDOUT_FILENO) < 0 ||
            dup2(process.said, STDERR_FILENO) < 0)
            _exit(126);
        execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    close(in);
    return process;
}

/* On a document, in base64 as oned writes it. */
static inline struct process start(const char *const *argv, const char *xml)
{
    const size_t length = base64_length(strlen(xml));
    char *text = malloc(length + 1);
    assert_non_null(text);
    base64_encode(xml, strlen(xml), text);
    text[length] = '\n';
    const struct process process = start_on(argv, text, length + 1);
    free(text);
    return process;
}

/* Its exit status, or minus the signal that ended it; what it said is in `said`. */
static inline int end_of(const struct process *process)
{
    int status;
    assert_int_equal(waitpid(process->pid, &status, 0), process->pid);
    const ssize_t length = pread(process->said, said, sizeof said - 1, 0);
    assert_true(length >= 0);
    said[length] = '\0';
    close(process->said);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static inline int run_on(const char *const *argv, const char *input, size_t length)
{
    const struct process process = start_on(argv, input, length);
    return end_of(&process);
}

static inline int run(const char *const *argv, const char *xml)
{
    const struct process process = start(argv, xml);
    return end_of(&process);
}

#define PRE WORDS(VNM_DRIVER, "pre")
#define POST WORDS(VNM_DRIVER, "post", UUID, "here")
#define CLEAN WORDS(VNM_DRIVER, "clean", "here")
#define PROBE WORDS(ONEIB_PROBE_BINARY)
#define REPAIR WORDS(ONEIB_BINARY, "hca", "--repair")
#define ASK(...) run(WORDS(ONEIB_ASK_BINARY, __VA_ARGS__), "")

static inline void must(const char *const *argv, const char *xml)
{
    if (run(argv, xml) != 0)
        fail_msg("%s: %s", argv[0], said);
}

/* With a reason in one line. */
static inline void must_fail(const char *const *argv, const char *xml, const char *reason)
{
    if (run(argv, xml) != 1)
        fail_msg("%s did not fail: %s", argv[0], said);
    assert_contains(said, reason);
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
}

static inline void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* ---- killing --------------------------------------------------------------------------------- */

/* Under the sanitizers each of the programs takes three times as long to start. */
#define KILLS (IS_SANITIZED ? 10 : 25)
#define KILL_WITHIN_US 60000

static inline void pause_for_a_moment(void)
{
    nanosleep(&(struct timespec){.tv_nsec = rand() % KILL_WITHIN_US * 1000L}, NULL);
}

static inline void kill_within_a_moment(const char *const *argv, const char *xml)
{
    const struct process process = start(argv, xml);
    pause_for_a_moment();
    kill(process.pid, SIGKILL);
    end_of(&process);
}

/* ---- the node -------------------------------------------------------------------------------- */

static const struct tree_hca four_vfs = {.name = "mlx4_0", .driver = ONEIB_HCA_MLX4, .vfs = 4};
static const struct tree_hca *hca;

static bool waits_long;

static inline void write_config(unsigned pkey_wait, unsigned guid_wait)
{
    char *text;
    waits_long = pkey_wait == LONG && guid_wait == LONG;
    assert_true(asprintf(&text,
                         "node: { libvirt = \"test://%s/node.xml\"; pkey_wait = %u; "
                         "guid_wait = %u; watch = 100; };",
                         tree_root(), pkey_wait, guid_wait) > 0);
    tree_write(text, "/etc/oneib/oneib.conf");
    free(text);
}

/* For callers and service. */
static inline void configure(unsigned pkey_wait, unsigned guid_wait)
{
    write_config(pkey_wait, guid_wait);
    restart_node();
}

#define HOSTDEV(function)                                                                          \
    "<hostdev mode='subsystem' type='pci'><source><address domain='0' bus='0x81' slot='0' "        \
    "function='" function "'/></source></hostdev>"
#define DOMAIN(name, devices)                                                                      \
    "<domain type='test'><name>" name "</name><memory>1024</memory><os><type>hvm</type></os>"      \
    "<devices>" devices "</devices></domain>"

static inline void put_domains(const char *domains)
{
    char *text;
    assert_true(asprintf(&text, "<node>%s</node>", domains) > 0);
    tree_write(text, "/node.xml");
    free(text);
    if (node > 0)
        kill(node, SIGUSR1);
}

static inline void add_adapter(void)
{
    tree_add_hca(hca);
    tree_set_pkey(hca, 1, KEY_INDEX, 0x8005);
}

static inline void begin_with(const struct tree_hca *adapter)
{
    tree_reset(NULL);
    hca = adapter;
    write_config(LONG, LONG);
    put_domains("");
    add_adapter();
    sm_start(hca);
    start_grants_standin();
    start_node();
}

static inline int begin(void **state)
{
    (void)state;
    begin_with(&four_vfs);
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    stop_node(SIGKILL);
    sm_stop();
    return 0;
}

/* ---- what is there --------------------------------------------------------------------------- */

static inline const char *table(void)
{
    static char text[32768];
    char *path = tree_path("/run/oneib/vfs");
    FILE *file = fopen(path, "r");
    free(path);
    text[file ? fread(text, 1, sizeof text - 1, file) : 0] = '\0';
    if (file)
        fclose(file);
    return text;
}

static inline size_t count_records(void)
{
    size_t count = 0;
    for (const char *at = table(); (at = strchr(at, '\n')); at++)
        count++;
    return count;
}

static inline void await_no_records(void)
{
    const double until = oneib_now_ms() + DEADLINE_MS;
    while (*table() && oneib_now_ms() < until)
        pause_ms(2);
    assert_string_equal(table(), "");
}

static inline void await_record(const char *what)
{
    const double until = oneib_now_ms() + DEADLINE_MS;
    while (!strstr(table(), what) && oneib_now_ms() < until)
        pause_ms(2);
    assert_contains(table(), what);
}

/* Seconds since boot, but another one's: nobody waits for what is so old, even where this machine
 * has only just been started. */
#define LONG_AGO "9999999999"
/* Every record has changed then; the service reads that when it starts. */
static inline void date_records(const char *since)
{
    stop_node(SIGKILL);
    char *path = tree_path("/run/oneib/vfs"), *next = tree_path("/run/oneib/next");
    char *old = strdup(table());
    FILE *file = fopen(next, "w");
    assert_non_null(file);
    for (char *rest = old, *line; (line = strsep(&rest, "\n")) && *line;) {
        char *at = strstr(line, " since=");
        assert_non_null(at);
        fprintf(file, "%.*s since=%s\n", (int)(at - line), line, since);
    }
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(next, path), 0);
    start_node();
    free(path);
    free(next);
    free(old);
}

/* While the service does not run: it would write it again. */
static inline void lose_table(void)
{
    stop_node(SIGKILL);
    tree_remove("/run/oneib/vfs");
    start_node();
}

static inline void read_entry(unsigned vf, unsigned entry, char value[16])
{
    tree_get_vf_pkey(hca, vf, 1, entry, value, 16);
}

/* The key that a VF is open for, 0x7fff: none. */
static inline unsigned key_of(unsigned vf)
{
    char index[16], key[16];
    /* A plain file is empty while it is being written. */
    do
        read_entry(vf, 0, index);
    while (!*index);
    tree_read(key, sizeof key, "/sys/class/infiniband/%s/ports/1/pkeys/%s", hca->name, index);
    return (unsigned)strtoul(key, NULL, 16);
}

static inline void await_key_of(unsigned vf, unsigned key)
{
    const double until = oneib_now_ms() + DEADLINE_MS;
    while (key_of(vf) != key && oneib_now_ms() < until)
        pause_ms(2);
    assert_int_equal(key_of(vf), key);
}

/* The stand-in for the SM may take up a GUID that was wished for a moment ago, and only then the
 * wish to have none. */
static inline void await_no_gid(unsigned vf)
{
    static const char none[] = ":0000:0000:0000:0000";
    char value[64];
    const double until = oneib_now_ms() + DEADLINE_MS;
    for (;;) {
        tree_read(value, sizeof value, "/sys/class/infiniband/%s/iov/ports/1/gids/%u", hca->name,
                  vf + 1);
        if (strstr(value, none))
            return;
        if (oneib_now_ms() > until)
            fail_msg("VF %u still has %s; the table: %s", vf, value, table());
        pause_ms(2);
    }
}

/* As it was never used, or closed: its map leads nowhere, and no port shows a GUID of it. */
static inline void assert_closed(unsigned vf)
{
    char directory[ONEIB_PCI_TEXT_SIZE], value[64];
    read_entry(vf, 0, value);
    assert_string_equal(value, CLOSED_INDEX);
    tree_vf_directory(hca, vf, directory);
    for (unsigned i = 1; tree_exists("/sys/class/infiniband/%s/iov/%s/ports/1/pkey_idx/%u",
                                     hca->name, directory, i);
         i++) {
        read_entry(vf, i, value);
        if (strcmp(value, CLOSED_INDEX) != 0 && strcmp(value, "none") != 0)
            fail_msg("entry %u of VF %u is %s", i, vf, value);
    }
    await_no_gid(vf);
}

static inline const char *address_of(unsigned vf)
{
    static char address[ONEIB_PCI_TEXT_SIZE];
    const struct oneib_pci pci = tree_vf_pci(hca, vf);
    snprintf(address, sizeof address, "%04x:%02x:%02x.%x", pci.domain, pci.bus, pci.slot,
             pci.function);
    return address;
}

/* As the host's PCI_DEVICES give it to a PCI NIC of network 7. */
static inline void grant_vf(unsigned vm_id, unsigned nic_id, const char *address)
{
    char grant[128];
    snprintf(grant, sizeof grant, "network=7 pkey=0x0005 " AT_MLX4 " vf=%s", address);
    grant_nic(vm_id, nic_id, grant);
}

/* Nobody's, closed, and as good as new for another VM. */
static inline void assert_reusable(unsigned vf)
{
    const char *address = address_of(vf);
    assert_lacks(table(), address);
    assert_closed(vf);
    if (!waits_long)
        configure(LONG, LONG);
    char grant[128], vm[16];
    snprintf(grant, sizeof grant, "network=0 pkey=0x0005 " AT_MLX4 " vf=%s", address);
    snprintf(vm, sizeof vm, "%u", 900 + vf);
    grant_nic(900 + vf, 0, grant);
    /* What a domain had is told by another process. */
    for (int i = 0; ASK("have", "--vm", vm, "--nic", "0") != 0; i++) {
        if (i == 100 || !strstr(said, "domain"))
            fail_msg("VF %u is not reusable: %s", vf, said);
        usleep(100000);
    }
    assert_int_equal(key_of(vf), 0x8005);
    if (ASK("release", "--vm", vm) != 0)
        fail_msg("VF %u is not reusable twice: %s", vf, said);
    assert_lacks(table(), address);
    assert_closed(vf);
}

static inline void assert_nothing_is_left(void)
{
    await_no_records();
    for (unsigned vf = 0; vf < 2; vf++)
        assert_reusable(vf);
}

#define FAULT(name) cmocka_unit_test_setup_teardown(name, begin, end)

#endif
