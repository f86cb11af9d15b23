// SPDX-License-Identifier: Apache-2.0
/*
 * The real oneib-node on a simulated node: an adapter of a tree of files, libvirt's own test driver
 * (whose file has no events: SIGUSR1 has it read again), a stand-in for oneibd, and callers.
 */
#ifndef ONEIB_TESTS_CLI_NODE_SCENE_H
#define ONEIB_TESTS_CLI_NODE_SCENE_H

#include "base/clock.h"
#include "hca/tree.h"
#include "service/service_client.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../grants_standin.h"

#define DEADLINE_MS 60000
#define LOG_END 4000
#define KEY 5
#define KEY_INDEX 3
#define NETWORK 7

/* Small tables: a look reads every entry. */
static const struct tree_hca mlx4 = {.driver = ONEIB_HCA_MLX4, .vfs = 4, .pkeys = 7};

static struct oneib_error err;
static pid_t node;

static inline void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* A whole file of the node's; "" when it is absent. */
static inline const char *content(const char *name)
{
    static char text[65536];
    char *path = tree_path("/%s", name);
    FILE *file = fopen(path, "r");
    free(path);
    text[file ? fread(text, 1, sizeof text - 1, file) : 0] = '\0';
    if (file)
        fclose(file);
    return text;
}

static inline const char *table(void)
{
    return content("run/oneib/vfs");
}

static inline size_t count_of(const char *text, const char *words)
{
    size_t count = 0;
    for (; (text = strstr(text, words)); text += strlen(words))
        count++;
    return count;
}

static inline void await_content(const char *name, const char *words, bool wanted)
{
    const double until = oneib_now_ms() + DEADLINE_MS;
    while ((strstr(content(name), words) != NULL) != wanted && oneib_now_ms() < until)
        pause_ms(2);
    if ((strstr(content(name), words) != NULL) != wanted)
        fail_msg("\"%s\" is %sin %s: %s", words, wanted ? "not " : "", name, content(name));
}

/* For whoever reads why a test has failed. */
static inline const char *log_end(void)
{
    const char *text = content("log");
    const size_t length = strlen(text);
    return length > LOG_END ? text + length - LOG_END : text;
}

static inline void await_log(const char *words)
{
    await_content("log", words, true);
}

/* ---- the node -------------------------------------------------------------------------------- */

static inline void configure(unsigned pkey_wait, unsigned watch)
{
    char *text;
    assert_true(asprintf(&text,
                         "node: { libvirt = \"test://%s/node.xml\"; pkey_wait = %u; "
                         "guid_wait = 1000; watch = %u; };",
                         tree_root(), pkey_wait, watch) > 0);
    tree_write(text, "/etc/oneib/oneib.conf");
    free(text);
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
}

static inline void put_key(unsigned index, uint16_t raw)
{
    tree_set_pkey(&mlx4, 1, index, raw);
}

static inline bool entry_reads(unsigned vf, const char *what)
{
    char entry[16];
    tree_get_vf_pkey(&mlx4, vf, 1, 0, entry, sizeof entry);
    return strcmp(entry, what) == 0;
}

static inline void await_entry(unsigned vf, const char *what)
{
    const double until = oneib_now_ms() + DEADLINE_MS;
    while (!entry_reads(vf, what) && oneib_now_ms() < until)
        pause_ms(2);
    assert_true(entry_reads(vf, what));
}

static inline int make_node(void **state)
{
    tree_reset(state);
    tree_remove("/log");
    configure(60000, 60000);
    put_domains("");
    tree_add_hca(&mlx4);
    put_key(KEY_INDEX, 0x8000 | KEY);
    start_grants_standin();
    err = (struct oneib_error){0};
    return 0;
}

/* ---- the service ----------------------------------------------------------------------------- */

/* In the child, before the program is executed; NULL: nothing. */
typedef void (*preparation)(void *context);

static inline void become_node(preparation prepare, void *context)
{
    char *log = tree_path("/log");
    const int said = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (said < 0 || dup2(said, STDERR_FILENO) < 0 || dup2(said, STDOUT_FILENO) < 0)
        _exit(126);
    close(said);
    if (prepare)
        prepare(context);
    execl(ONEIB_NODE_BINARY, "oneib-node", (char *)NULL);
    _exit(127);
}

static inline pid_t start_another(preparation prepare, void *context)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        become_node(prepare, context);
    return child;
}

static inline void start_node_with(preparation prepare, void *context)
{
    tree_remove("/log");
    node = start_another(prepare, context);
    await_log(" serves");
}

/* It answers when this returns. */
static inline void start_node(void)
{
    start_node_with(NULL, NULL);
}

/* Its exit status, or minus the signal that ended it. */
static inline int status_of(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static inline int end_node(int number)
{
    kill(node, number);
    const int status = status_of(node);
    node = 0;
    return status;
}

static inline void restart_node(void)
{
    end_node(SIGKILL);
    start_node();
}

static inline int remove_node(void **state)
{
    (void)state;
    if (node > 0)
        end_node(SIGKILL);
    stop_grants_standin();
    return 0;
}

static inline int make_served_node(void **state)
{
    make_node(state);
    start_node();
    return 0;
}

static inline void tell_of_domains(const char *domains)
{
    put_domains(domains);
    kill(node, SIGUSR1);
}

/* ---- callers --------------------------------------------------------------------------------- */

/* The key's network. */
static inline uint32_t network_of(uint16_t pkey)
{
    return NETWORK + (pkey != KEY);
}

static inline struct oneib_request have_of(uint32_t vm_id, uint8_t nic_id, uint16_t pkey)
{
    struct oneib_request request = oneib_request_new(ONEIB_REQUEST_HAVE);
    request.vm_id = vm_id;
    request.nic_id = nic_id;
    request.network_id = network_of(pkey);
    request.numa_node = -1;
    request.flags = ONEIB_HAVE_DEFER_GUID; /* nobody accepts GUIDs here */
    return request;
}

static inline struct oneib_client *open_client(void)
{
    struct oneib_client *client;
    if (oneib_client_open(&client, &err) < 0)
        fail_msg("%s", err.text);
    return client;
}

static inline struct oneib_vf_record must_have(struct oneib_client *client, uint32_t vm_id,
                                               uint8_t nic_id, uint16_t pkey)
{
    struct oneib_vf_record record = {0};
    const struct oneib_request request = have_of(vm_id, nic_id, pkey);
    if (oneib_client_have(client, &request, DEADLINE_MS, &record, &err) < 0)
        fail_msg("%s", err.text);
    return record;
}

static inline void must_wait(struct oneib_client *client)
{
    if (oneib_client_wait(client, DEADLINE_MS, &err) < 0)
        fail_msg("%s", err.text);
}

static inline struct oneib_released must_release(uint32_t vm_id)
{
    struct oneib_released released = {0};
    struct oneib_client *client = open_client();
    struct oneib_request request = oneib_request_new(ONEIB_REQUEST_RELEASE);
    request.vm_id = vm_id;
    request.nic_id = -1;
    if (oneib_client_release(client, &request, &released, &err) < 0)
        fail_msg("%s", err.text);
    must_wait(client);
    oneib_client_close(client);
    return released;
}

static inline void assert_told(const char *words)
{
    if (!strstr(err.text, words))
        fail_msg("\"%s\" is not in: %s", words, err.text);
}

/* Somebody can be served: has a VF and gives it back. Where there is a subnet manager, its GUID may
 * linger for a moment, which is waited for. */
static inline void assert_serves(void)
{
    struct oneib_client *client = open_client();
    must_have(client, 900, 0, KEY);
    must_wait(client);
    oneib_client_close(client);
    const struct oneib_released released = must_release(900);
    if (released.freed + released.lingering != 1)
        fail_msg("it has lost its VF meanwhile; the end of the log:\n%s", log_end());
}

/* ---- callers that are no clients ------------------------------------------------------------- */

static inline int connect_raw(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char *directory = tree_path("/run/oneib");
    const int place = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    free(directory);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", place, name);
    const int connected = connect(fd, (struct sockaddr *)&address, sizeof address);
    close(place);
    if (connected == 0)
        return fd;
    close(fd);
    return -1;
}

static inline void send_raw(int fd, const struct oneib_request *request)
{
    struct oneib_request packed;
    oneib_request_pack(request, &packed);
    assert_int_equal(send(fd, &packed, sizeof packed, MSG_NOSIGNAL), sizeof packed);
}

/* Its kind; 0: the other end has gone. */
static inline uint16_t receive_raw(int fd, struct oneib_answer *answer)
{
    char bytes[sizeof *answer + 1];
    const ssize_t length = recv(fd, bytes, sizeof bytes, 0);
    if (length <= 0)
        return 0;
    if (oneib_answer_check(bytes, (size_t)length, answer, &err) < 0)
        fail_msg("%s", err.text);
    return answer->kind;
}

/* The next answer that tells of no grants. */
static inline uint16_t receive_but_grants(int fd, struct oneib_answer *answer)
{
    uint16_t kind;
    do
        kind = receive_raw(fd, answer);
    while (kind == ONEIB_ANSWER_GRANT || kind == ONEIB_ANSWER_FOLLOWS);
    return kind;
}

#endif
