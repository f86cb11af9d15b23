// SPDX-License-Identifier: Apache-2.0
/* The keys of hosts, through a stand-in for ssh that a test writes. */
#include "../base/scratch.h"
#include "cluster/names.h"
#include "grants/node_key.h"
#include "grants/seal.h"

#define KEY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define HOSTS 40

static struct oneib_host hosts[HOSTS];
static struct oneib_node_key keys[HOSTS];
static char *path;

static void write_program(const char *name, const char *script)
{
    FILE *file = fopen(in_scratch(name), "we");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", script);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(in_scratch(name), 0755), 0);
}

/* ssh -o BatchMode=yes -o ConnectTimeout=10 -- HOST cat FILE: the script has HOST in $host, and in
 * $scratch the test's directory. */
static void ssh_is(const char *script)
{
    char whole[4096];
    snprintf(whole, sizeof whole,
             "test \"$1 $2 $3 $4 $5 $7 $8\" = "
             "\"-o BatchMode=yes -o ConnectTimeout=10 -- cat /run/oneib/node-key\" || exit 99\n"
             "host=$6 scratch='%s'\n%s",
             scratch, script);
    write_program("ssh", whole);
}

static int begin(void **state)
{
    char programs[PATH_MAX + 64];
    if (make_scratch(state) < 0)
        return -1;
    path = strdup(getenv("PATH"));
    snprintf(programs, sizeof programs, "%s:/usr/bin:/bin", scratch);
    setenv("PATH", programs, 1);
    /* as root, where there is an oneadmin */
    write_program("runuser",
                  "test \"$1 $2 $3\" = '-u oneadmin --' || exit 98; shift 3; exec \"$@\"");
    memset(keys, 0, sizeof keys);
    for (size_t i = 0; i < HOSTS; i++) {
        static char names[HOSTS][8];
        snprintf(names[i], sizeof names[i], "node%zu", i);
        hosts[i] = (struct oneib_host){.id = (uint32_t)i, .name = names[i]};
        keys[i].host = &hosts[i];
    }
    return 0;
}

static int end(void **state)
{
    setenv("PATH", path, 1);
    free(path);
    return remove_scratch(state);
}

static void assert_failed(size_t host, enum oneib_error_code code, const char *words)
{
    assert_false(keys[host].has_key);
    assert_int_equal(keys[host].err.code, code);
    if (!strstr(keys[host].err.text, words))
        fail_msg("\"%s\" is not said: %s", words, keys[host].err.text);
}

static void a_key_is_read_on_the_host(void **state)
{
    (void)state;
    uint8_t expected[ONEIB_PUBLIC_KEY_SIZE];
    assert_true(oneib_key_parse(KEY, expected));
    ssh_is("test $host = node0 && echo " KEY);
    oneib_node_keys_fetch(keys, 1);
    assert_true(keys[0].has_key);
    assert_memory_equal(keys[0].key, expected, sizeof expected);
}

static void a_host_that_shows_no_key_has_none(void **state)
{
    (void)state;
    ssh_is("case $host in\n"
           "node0) echo 'Permission denied (publickey).' >&2; exit 255;;\n"
           "node1) echo 'cat: /run/oneib/node-key: No such file' >&2; exit 1;;\n"
           "node2) ;;\n"
           "node3) echo " KEY "0;;\n"
           "node4) echo Welcome; echo " KEY ";;\n"
           "node5) kill -9 $$;;\n"
           "esac");
    hosts[6].name = NULL;
    oneib_node_keys_fetch(keys, 7);
    assert_failed(0, ONEIB_ERROR_UNREACHABLE,
                  "ssh exited with status 255: Permission denied (publickey).");
    assert_failed(0, ONEIB_ERROR_UNREACHABLE, "reading the key of host \"node0\"");
    assert_failed(1, ONEIB_ERROR_NOT_FOUND, "No such file");
    assert_failed(2, ONEIB_ERROR_NOT_FOUND, "is oneib-node running there?");
    assert_failed(3, ONEIB_ERROR_NOT_FOUND, "has no key");
    assert_failed(4, ONEIB_ERROR_NOT_FOUND, "has no key");
    assert_failed(5, ONEIB_ERROR_UNREACHABLE, "signal 9");
    assert_failed(6, ONEIB_ERROR_NOT_FOUND, "reading the key of host 6");
}

/* Each of the first 16 waits until all of them have been asked. */
static void sixteen_hosts_are_asked_at_a_time_and_all_in_the_end(void **state)
{
    (void)state;
    ssh_is("touch \"$scratch/asked-$host\"\n"
           "while set -- \"$scratch\"/asked-*; [ $# -lt 16 ]; do sleep 0.05; done\n"
           "echo " KEY);
    oneib_node_keys_fetch(keys, HOSTS);
    for (size_t i = 0; i < HOSTS; i++)
        if (!keys[i].has_key)
            fail_msg("node%zu: %s", i, keys[i].err.text);
}

#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_key_is_read_on_the_host),
        test(a_host_that_shows_no_key_has_none),
        test(sixteen_hosts_are_asked_at_a_time_and_all_in_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
