// SPDX-License-Identifier: Apache-2.0
/* What oneibd knows of links, written down and read again. */
#include "base/array.h"
#include "placement/links_text.h"
#include "tests/tree_routes.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { HOSTS = 4, LEAVES = 2 };
#define RED 1u
#define BLUE 2u

static struct oneib_error err;

static struct oneib_links scene(void)
{
    static const unsigned leaf_of[HOSTS] = {0, 0, 1, 1}, pod_of[LEAVES];
    const struct tree tree = {HOSTS, LEAVES, 1, 2, leaf_of, pod_of};
    struct oneib_links links = {.routes = tree_routes(&tree)};
    ONEIB_RESERVE(links.ports, links.port_capacity, HOSTS);
    for (unsigned host = 0; host < HOSTS; host++)
        links.ports[links.port_count++] = (struct oneib_host_port_guid){host, host + 1};
    oneib_links_add_cluster(&links, RED, 3, (const oneib_guid[]){1, 3}, 2);
    oneib_links_add_cluster(&links, BLUE, 3, (const oneib_guid[]){2}, 1);
    return links;
}

static char *written(const struct oneib_links *links)
{
    struct oneib_text text = {0};
    oneib_links_write(links, &text);
    return text.data;
}

static void what_is_written_is_read_as_it_was(void **state)
{
    (void)state;
    struct oneib_links links = scene(), again;
    char *text = written(&links);
    if (oneib_links_read(text, strlen(text), &again, &err) < 0)
        fail_msg("%s", err.text);
    char *text_again = written(&again);
    assert_string_equal(text_again, text);
    const uint32_t ids[HOSTS] = {0, 1, 2, 3};
    bool before[HOSTS], after[HOSTS];
    oneib_links_judge(&links, BLUE, ids, HOSTS, before);
    oneib_links_judge(&again, BLUE, ids, HOSTS, after);
    assert_memory_equal(before, after, sizeof before);
    assert_true(after[0]);
    assert_false(after[3]);
    free(text);
    free(text_again);
    oneib_links_clear(&links);
    oneib_links_clear(&again);
}

static void nothing_is_written_and_read_too(void **state)
{
    (void)state;
    struct oneib_links links = {0};
    char *text = written(&links);
    assert_string_equal(text, "oneib-links 1\nend\n");
    assert_int_equal(oneib_links_read(text, strlen(text), &links, &err), 0);
    assert_int_equal(links.routes.hop_count, 0);
    free(text);
    oneib_links_clear(&links);
}

static void must_be_refused(const char *text, size_t length)
{
    struct oneib_links links;
    char *copy = malloc(length + 1);
    assert_non_null(copy);
    memcpy(copy, text, length);
    if (oneib_links_read(copy, length, &links, &err) == 0)
        fail_msg("taken: %.*s", (int)length, text);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    assert_null(links.clusters);
    free(copy);
}

static void a_text_that_is_cut_anywhere_is_refused(void **state)
{
    (void)state;
    struct oneib_links links = scene();
    char *text = written(&links);
    for (size_t length = 0; length < strlen(text); length++)
        must_be_refused(text, length);
    free(text);
    oneib_links_clear(&links);
}

#define A "0x0000000000000001"
#define B "0x0000000000000002"

static void what_is_not_as_it_is_written_is_refused(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "nonsense\n",
        "port " A "\n",
        "port " A " 49152\n",
        "port " A " -1\n",
        "port " A " 1 \n",
        "port 0x1 1\n",
        "port " A " 01\n",
        "port 0x0000000000000000 1\n",
        "port 0xffffffffffffffff 1\n",
        "port 0x000000000000000G 1\n",
        "port " B " 1\nport " A " 2\n",
        "link " A " 256 1 " B "\n",
        "link " A " 1 4 " B "\n",
        "link " A " 1 1 " B " " B "\n",
        "link " A " 1 2 " B "\n",
        "exits " A "\n",
        "exits " A " 0\n",
        "exits " A " 0x\n",
        "exits " A " 00 \n",
        "exits " A " 00\nexits " A " 00\n",
        "host 2147483648 " A "\n",
        "host 2 " A "\nhost 1 " A "\n",
        "host 1 " A " " B "\n",
        "cluster 1 0\n",
        "cluster 1 16\n",
        "cluster 1\n",
        "cluster 1 1 x\n",
        "cluster 1 1 " A "x\n",
        "host 1 " A "\nport " A " 1\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct oneib_text text = {0};
        oneib_text_printf(&text, "oneib-links 1\n%send\n", lines[i]);
        must_be_refused(text.data, text.length);
        oneib_text_clear(&text);
    }
    must_be_refused("oneib-links 2\nend\n", strlen("oneib-links 2\nend\n"));
    must_be_refused("oneib-links 1\nend\nend\n", strlen("oneib-links 1\nend\nend\n"));
    must_be_refused("oneib-links 1\n\0end\n", strlen("oneib-links 1\n") + 5);
}

/* Such as one that was moved while the fabric was read. */
static void a_port_at_two_cables_is_written_so_that_it_can_be_read(void **state)
{
    (void)state;
    static const char text[] = "oneib-links 1\nport " A " 1\nlink " B " 1 1 " A "\nlink " B
                               " 2 1 " A "\nexits " B " ff01\nend\n";
    struct oneib_links links;
    assert_int_equal(oneib_links_read(text, strlen(text), &links, &err), 0);
    char *again = written(&links);
    assert_string_equal(again, text);
    free(again);
    oneib_links_clear(&links);
}

static void the_line_is_named(void **state)
{
    (void)state;
    static const char text[] = "oneib-links 1\nport " A " 1\nlink x\nend\n";
    must_be_refused(text, strlen(text));
    assert_non_null(strstr(err.text, "line 3 "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_as_it_was),
        cmocka_unit_test(nothing_is_written_and_read_too),
        cmocka_unit_test(a_text_that_is_cut_anywhere_is_refused),
        cmocka_unit_test(what_is_not_as_it_is_written_is_refused),
        cmocka_unit_test(a_port_at_two_cables_is_written_so_that_it_can_be_read),
        cmocka_unit_test(the_line_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
