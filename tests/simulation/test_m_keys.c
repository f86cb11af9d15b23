// SPDX-License-Identifier: Apache-2.0
/*
 * M_Keys: real opensm gives them to ports, and a stand-in before ibsim makes ports keep them
 * (m-key-standin). What docs/security.md says of the protection levels is what is seen here.
 */
#include "../skip.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "lab.h"
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#define RUN_MS 60000u
#define FILE_MAX ((size_t)1 << 20)

/* Keys of the tests: not random, so that a failure says which one it was. */
#define M_KEY "0x5ec2e70000000001"
#define SECRETS "sa_key 0x5ec2e7000000000a\nsm_key 0x5ec2e7000000000b\n"

static struct lab *lab;
static struct oneib_error err;

#define MUST(call)                                                                                 \
    do {                                                                                           \
        if ((call) < 0)                                                                            \
            fail_msg("%s", err.text);                                                              \
    } while (0)

/* ---- the scene ------------------------------------------------------------------------------- */

/* Hosts are limited members of the default partition, as tenants' are. */
static const char partitions[] = "Default=0x7fff, defmember=limited : ALL=limited, SELF=full;\n";

static void raise_fabric(void)
{
    const struct lab_options options = {
        .leaves = 1, .hosts_per_leaf = 3, .extra_hosts = 1, .m_keys = true};
    lab = lab_open(&options, &err);
    if (!lab)
        fail_msg("%s", err.text);
    MUST(lab_fabric_start(lab, &err));
}

static void start_opensm(const char *settings)
{
    struct lab_sm sm = LAB_SM;
    sm.options = settings;
    MUST(lab_opensm_start(lab, &sm, &err));
}

static int end(void **state)
{
    (void)state;
    lab_close(lab);
    lab = NULL;
    return 0;
}

static void need_ibsim(void)
{
    if (lab_missing())
        skip_because("%s is not installed", lab_missing());
}

/* What a program on that host prints; it must end with the status. To be freed. */
static char *run_on(const char *hca, int status, const char *const *argv)
{
    struct lab_output output = {0};
    MUST(lab_run(lab, hca, argv, RUN_MS, &output, &err));
    if (output.timed_out || output.status != status)
        fail_msg("%s ended with %d, not %d: %s%s", argv[0], output.status, status, output.out,
                 output.error);
    char *out = oneib_steal(&output.out);
    lab_output_clear(&output);
    return out;
}

static const char *keys_file(const char *text)
{
    MUST(lab_write(lab, "m_keys", 0600, text, &err));
    return lab_path(lab, "m_keys");
}

/* Every port's P_Keys, read with that key. */
static char *tables_with(const char *key)
{
    return run_on(LAB_SM_HCA, 0, (const char *[]){FABRIC_TABLES_BINARY, keys_file(key), NULL});
}

/* ---- what a guest's port gets ---------------------------------------------------------------- */

#define ROWS 64
#define COLUMNS 6

/* Rows of one table, in the order in which they came up. */
struct table {
    char *names[ROWS];
    char *cells[ROWS][COLUMNS];
    size_t rows;
};

static void put_cell(struct table *table, size_t column, const char *name, const char *cell)
{
    size_t row = 0;
    while (row < table->rows && strcmp(table->names[row], name) != 0)
        row++;
    assert_true(row < ROWS);
    if (row == table->rows)
        table->names[table->rows++] = strdup(name);
    assert_null(table->cells[row][column]);
    table->cells[row][column] = strdup(cell);
}

static void clear_table(struct table *table)
{
    for (size_t row = 0; row < table->rows; row++) {
        free(table->names[row]);
        for (size_t column = 0; column < COLUMNS; column++)
            free(table->cells[row][column]);
    }
}

static void render(const struct table *table, const char *title, const char *const *columns,
                   size_t count, struct oneib_text *text)
{
    oneib_text_printf(text, "| %s |", title);
    for (size_t i = 0; i < count; i++)
        oneib_text_printf(text, " %s |", columns[i]);
    oneib_text_append(text, "\n| --- |");
    for (size_t i = 0; i < count; i++)
        oneib_text_append(text, " --- |");
    for (size_t row = 0; row < table->rows; row++) {
        oneib_text_printf(text, "\n| %s |", table->names[row]);
        for (size_t i = 0; i < count; i++)
            oneib_text_printf(text, " %s |", table->cells[row][i] ? table->cells[row][i] : "");
    }
    oneib_text_append(text, "\n");
}

/* What the intruder said, into this column; each line that begins with "# " begins another one. */
static void sort_lines(char *said, struct table *table, size_t column)
{
    char *rest = NULL;
    size_t titles = 0;
    for (char *line = strtok_r(said, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *tab = strchr(line, '\t');
        if (strncmp(line, "# ", 2) == 0 && titles++ > 0)
            column++;
        if (!tab)
            continue;
        *tab = '\0';
        put_cell(table, column, line, tab + 1);
    }
}

/* On H1: the subnet manager's host, the switch, its own port and H2's. */
static char *intrude(const char *by)
{
    return run_on("H1", 0, (const char *[]){INTRUDER, by, "0,1,1", "0,1", "0", "0,1,3", NULL});
}

struct protection {
    const char *name, *settings, *key;
    bool changes_nothing;
};

static const struct protection protections[] = {
    {"no M_Key", "", "", false},
    {"level 0", "m_key " M_KEY "\n" SECRETS, M_KEY, false},
    {"level 1", "m_key " M_KEY "\nm_key_protection_level 1\n" SECRETS, M_KEY, true},
    {"level 2", "m_key " M_KEY "\nm_key_protection_level 2\n" SECRETS, M_KEY, true},
    {"level 3", "m_key " M_KEY "\nm_key_protection_level 3\n" SECRETS, M_KEY, true},
};
#define PROTECTIONS (sizeof protections / sizeof *protections)

static char *intrude_into(const struct protection *protection, const char *by)
{
    raise_fabric();
    MUST(lab_write(lab, "partitions.conf", 0644, partitions, &err));
    start_opensm(protection->settings);
    oneib_autofree char *before = tables_with(protection->key);
    char *said = intrude(by);
    if (protection->changes_nothing) {
        oneib_autofree char *after = tables_with(protection->key);
        assert_string_equal(before, after);
    }
    lab_close(lab);
    lab = NULL;
    return said;
}

static char *security_page(void)
{
    char *data;
    size_t length;
    MUST(oneib_file_read(ONEIB_SECURITY_PAGE, FILE_MAX, &data, &length, &err));
    return data;
}

static void must_be_on_page(const struct oneib_text *table)
{
    oneib_autofree char *page = security_page();
    if (strstr(page, table->data))
        return;
    fputs(table->data, stderr); /* whole: it is what belongs on the page */
    fail_msg("docs/security.md does not say what was seen, which is above");
}

static void what_smps_from_a_guests_port_get_is_on_the_page(void **state)
{
    (void)state;
    need_ibsim();
    struct table table = {0};
    const char *columns[PROTECTIONS];
    for (size_t i = 0; i < PROTECTIONS; i++) {
        oneib_autofree char *said = intrude_into(&protections[i], "smp");
        sort_lines(said, &table, i);
        columns[i] = protections[i].name;
    }
    oneib_autotext struct oneib_text text = {0};
    render(&table, "SMP", columns, PROTECTIONS, &text);
    clear_table(&table);
    must_be_on_page(&text);
}

static void what_the_sa_tells_a_guests_port_is_on_the_page(void **state)
{
    (void)state;
    need_ibsim();
    static const struct protection with_default = {
        "", "m_key " M_KEY "\nm_key_protection_level 3\n", M_KEY, true};
    static const char *const columns[] = {"`sa_key` 1, SM_Key 0", "`sa_key` 1, SM_Key 1",
                                          "secret `sa_key`, SM_Key 0", "secret `sa_key`, SM_Key 1"};
    struct table table = {0};
    const struct protection *const both[] = {&with_default, &protections[PROTECTIONS - 1]};
    for (size_t i = 0; i < 2; i++) {
        oneib_autofree char *said = intrude_into(both[i], "sa");
        sort_lines(said, &table, 2 * i);
    }
    oneib_autotext struct oneib_text text = {0};
    render(&table, "record", columns, 4, &text);
    clear_table(&table);
    must_be_on_page(&text);
}

/* H1 is in a partition with H3, which is in another one with H2. */
static void write_two_partitions(void)
{
    uint64_t guids[3];
    for (size_t i = 0; i < 3; i++)
        guids[i] = lab_host_port_guid(lab, i);
    oneib_autofree char *file =
        oneib_asprintf("%sone1=0x0101, ipoib : 0x%016" PRIx64 "=full, 0x%016" PRIx64 "=full;\n"
                       "one2=0x0102, ipoib : 0x%016" PRIx64 "=full, 0x%016" PRIx64 "=full;\n",
                       partitions, guids[0], guids[2], guids[1], guids[2]);
    MUST(lab_write(lab, "partitions.conf", 0644, file, &err));
}

static char *write_by_sa(const char *settings)
{
    raise_fabric();
    write_two_partitions();
    start_opensm(settings);
    free(run_on("H3", 0, (const char *[]){INTRUDER, "join", "0x0101", NULL}));
    char *said = run_on(
        "H1", 0, (const char *[]){INTRUDER, "write", "0,1,1", "0,1", "0", "0,1,3", "0,1,4", NULL});
    lab_close(lab);
    lab = NULL;
    return said;
}

static void what_the_sa_does_for_a_guests_port_is_on_the_page(void **state)
{
    (void)state;
    need_ibsim();
    static const char *const columns[] = {"opensm's defaults", "without the validations"};
    static const char *const settings[] = {
        "", "ipoib_mcgroup_creation_validation FALSE\nmcgroup_join_validation FALSE\n"};
    struct table table = {0};
    for (size_t i = 0; i < 2; i++) {
        oneib_autofree char *said = write_by_sa(settings[i]);
        sort_lines(said, &table, i);
    }
    oneib_autotext struct oneib_text text = {0};
    render(&table, "request", columns, 2, &text);
    clear_table(&table);
    must_be_on_page(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_smps_from_a_guests_port_get_is_on_the_page, end),
        cmocka_unit_test_teardown(what_the_sa_tells_a_guests_port_is_on_the_page, end),
        cmocka_unit_test_teardown(what_the_sa_does_for_a_guests_port_is_on_the_page, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
