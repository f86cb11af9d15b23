// SPDX-License-Identifier: Apache-2.0
#include "partitions/partition.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "partition_samples.h"

/* A text that is refused, in which line, and words of the reason. */
struct refusal {
    const char *text;
    unsigned line;
    const char *reason;
};

static void assert_refused_bytes(const char *text, size_t length, unsigned line, const char *reason)
{
    struct oneib_partition_table table = {0};
    struct oneib_error err = {0};
    sample_partition(&table, "kept", 9);
    /* Without a NUL behind it, so that a sanitizer sees a step too far. */
    char *exact = malloc(length);
    assert_non_null(exact);
    memcpy(exact, text, length);
    int result = oneib_partitions_parse(exact, length, "/etc/p.conf", &table, &err);
    free(exact);

    if (result == 0)
        fail_msg("taken: \"%s\"", text);
    char place[64];
    snprintf(place, sizeof place, "line %u of /etc/p.conf: ", line);
    if (strncmp(err.text, place, strlen(place)) != 0 || !strstr(err.text, reason))
        fail_msg("\"%s\": expected \"%s...%s\", not \"%s\"", text, place, reason, err.text);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    assert_int_equal(table.count, 1);
    assert_string_equal(table.items[0].name, "kept");
    oneib_partition_table_clear(&table);
}

static void assert_refused(const struct refusal *refusals, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_refused_bytes(refusals[i].text, strlen(refusals[i].text), refusals[i].line,
                             refusals[i].reason);
}
#define ASSERT_REFUSED(refusals) assert_refused(refusals, sizeof(refusals) / sizeof *(refusals))

static void every_part_of_the_grammar_is_read(void **state)
{
    (void)state;
    struct oneib_partition_table table = table_of(
        "# a comment: x=0x1 : ALL ;\n"
        "\n"
        " Default = 0x7fff ,ipoib :\tALL = limited , SELF=full ; # behind\n"
        "a.b-c_DZ9=5,indx0, mtu = 0x4,rate=12,sl=0,scope=2,scope=0xe,Q_Key=0xB1B,TClass=255,"
        "FlowLabel=0,defmember=both:0x1,\n"
        "\n"
        "  # between\n"
        "  0x2=full # and here\n"
        "  , 0xFFFFFFFFFFFFFFFE=limited;e=0X6:;f=7 : ;\n"
        "g=8 : ALL_CAS, ALL_SWITCHES=both, ALL_ROUTERS=full ;");
    assert_int_equal(table.count, 5);

    const struct oneib_partition *partition = &table.items[0];
    assert_string_equal(partition->name, "Default");
    assert_int_equal(partition->pkey, 0x7fff);
    assert_true(partition->ipoib && !partition->indx0 && !partition->has_sl);
    assert_int_equal(partition->member_count, 2);
    assert_int_equal(partition->members[0].kind, ONEIB_MEMBER_ALL);
    assert_int_equal(partition->members[0].membership, ONEIB_LIMITED);
    assert_int_equal(partition->members[1].kind, ONEIB_MEMBER_SELF);
    assert_int_equal(partition->members[1].membership, ONEIB_FULL);

    partition = &table.items[1];
    assert_string_equal(partition->name, "a.b-c_DZ9");
    assert_int_equal(partition->pkey, 5);
    assert_true(partition->indx0 && !partition->ipoib && partition->has_sl);
    assert_int_equal(partition->mtu, 4);
    assert_int_equal(partition->rate, 12);
    assert_int_equal(partition->sl, 0);
    assert_int_equal(partition->scopes, 1 << 2 | 1 << 14);
    assert_int_equal(partition->q_key, 0xb1b);
    assert_int_equal(partition->t_class, 255);
    assert_int_equal(partition->flow_label, 0);
    assert_int_equal(partition->default_membership, ONEIB_BOTH);
    assert_int_equal(partition->member_count, 3);
    assert_true(partition->members[0].guid == 1);
    assert_int_equal(partition->members[0].membership, ONEIB_BOTH);
    assert_true(partition->members[1].guid == 2);
    assert_int_equal(partition->members[1].membership, ONEIB_FULL);
    assert_true(partition->members[2].guid == UINT64_MAX - 1);
    assert_int_equal(partition->members[2].membership, ONEIB_LIMITED);

    assert_int_equal(table.items[2].pkey, 6);
    assert_int_equal(table.items[2].member_count, 0);
    assert_int_equal(table.items[3].member_count, 0);

    partition = &table.items[4];
    assert_int_equal(partition->member_count, 3);
    assert_int_equal(partition->members[0].kind, ONEIB_MEMBER_ALL_CAS);
    assert_int_equal(partition->members[0].membership, ONEIB_LIMITED);
    assert_int_equal(partition->members[1].kind, ONEIB_MEMBER_ALL_SWITCHES);
    assert_int_equal(partition->members[1].membership, ONEIB_BOTH);
    assert_int_equal(partition->members[2].kind, ONEIB_MEMBER_ALL_ROUTERS);
    assert_int_equal(partition->members[2].membership, ONEIB_FULL);
    oneib_partition_table_clear(&table);
}

static void a_text_without_partitions_is_an_empty_table(void **state)
{
    (void)state;
    static const char *const empty[] = {"", "\n", "# nothing", " \t\n\n# nothing\n  ", "#\r\n"};
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        struct oneib_partition_table table = {0};
        struct oneib_error err;
        sample_partition(&table, "replaced", 9);
        assert_int_equal(
            oneib_partitions_parse(empty[i], strlen(empty[i]), "static_partitions", &table, &err),
            0);
        assert_int_equal(table.count, 0);
        oneib_partition_table_clear(&table);
    }
    struct oneib_partition_table table = {0};
    struct oneib_error err;
    assert_int_equal(oneib_partitions_parse(NULL, 0, "static_partitions", &table, &err), 0);
}

static void wrong_keys_are_refused(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {"a : ALL;", 1, "no key"},
        {"a,ipoib : ALL;", 1, "no key"},
        {"Default : ALL;", 1, "write Default=0x7fff"},
        {"a= : ALL;", 1, "a key such as 0x0005"},
        {"a=", 1, "the file ends"},
        {"a=0 : ALL;", 1, "not the key"},
        {"a=0x0000 : ALL;", 1, "not the key"},
        {"a=0x8000 : ALL;", 1, "not the key"},
        {"a=010 : ALL;", 1, "\"010\" is not the key"},
        {"a=00x5 : ALL;", 1, "not the key"},
        {"a=+5 : ALL;", 1, "\"+5\" is not the key"},
        {"a=-5 : ALL;", 1, "not the key"},
        {"a=abc : ALL;", 1, "\"abc\" is not the key"},
        {"a=5a : ALL;", 1, "not the key"},
        {"a=0x : ALL;", 1, "not the key"},
        {"a=0xg : ALL;", 1, "not the key"},
        {"a=65536 : ALL;", 1, "not the key"},
        {"a=70000 : ALL;", 1, "not the key"},
        {"a=0x10005 : ALL;", 1, "not the key"},
        {"a=5 6 : ALL;", 1, "'6' where"},
        {"a==5 : ALL;", 1, "'=' where a key"},
        {"a=\"5\" : ALL;", 1, "where a key"},
    };
    ASSERT_REFUSED(refusals);
}

static void a_key_with_the_membership_bit_is_refused(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {"b=1 : ;\na=0x8005 : ALL;", 2, "write 0x0005"},
        {"a=0xffff : ALL;", 1, "write 0x7fff"},
        {"a=32769 : ALL;", 1, "write 0x0001"},
    };
    ASSERT_REFUSED(refusals);
}

static void wrong_names_are_refused(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {"=0x5 : ALL;", 1, "'=' where the name"},
        {"\n\n : ALL;", 3, "':' where the name"},
        {";", 1, "';' where the name"},
        {"a=1 : ALL;;", 1, "';' where the name"},
        {"0x5 : ALL;", 1, "\"0x5\" is not a name"},
        {"5=5 : ALL;", 1, "\"5\" is not a name"},
        {"9a=5 : ALL;", 1, "\"9a\" is not a name"},
        {"a+b=5 : ALL;", 1, "\"a+b\" is not a name"},
        {"a b=5 : ALL;", 1, "no key"},
        {"\"a\"=5 : ALL;", 1, "'\"' where the name"},
        {"\xef\xbb\xbf"
         "a=5 : ALL;",
         1, "byte 0xef where the name"},
        {"abcdefghijklmnopqrstuvwxyz012345=5 : ALL;", 1, "more than 31 bytes"},
        {"a=1 : ;\nDefault=0x0005 : ALL;", 2, "\"Default\" is opensm's name"},
    };
    ASSERT_REFUSED(refusals);
}

/* opensm adds the members of a later definition to those of the first, whose name stays. */
static void definitions_of_one_key_with_the_same_flags_are_one_partition(void **state)
{
    (void)state;
    struct oneib_partition_table table = table_of("Default=0x7fff,ipoib : ALL=limited;\n"
                                                  "b=6 : 0x2=full;\n"
                                                  "Default=0x7fff,ipoib : SELF=full;\n"
                                                  "other=0x7fff,ipoib,defmember=full : 0x1;");
    assert_int_equal(table.count, 2);
    assert_string_equal(table.items[0].name, "Default");
    assert_int_equal(table.items[0].member_count, 3);
    assert_int_equal(table.items[0].members[0].kind, ONEIB_MEMBER_ALL);
    assert_int_equal(table.items[0].members[1].kind, ONEIB_MEMBER_SELF);
    assert_int_equal(table.items[0].members[2].guid, 1);
    assert_int_equal(table.items[0].members[2].membership, ONEIB_FULL);
    assert_string_equal(table.items[1].name, "b");
    assert_int_equal(table.items[1].member_count, 1);
    oneib_partition_table_clear(&table);
}

static void a_key_with_other_flags_or_a_name_used_twice_is_refused(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {"a=5 : ALL;\n\nb=6 : ;\nc=0x0005,ipoib : SELF;", 4,
         "key 0x0005 is defined in line 1 with other flags: give both definitions the same flags"},
        {"a=5 : ALL; b=5,sl=1 : SELF;", 1, "with other flags"},
        {"a=5,mtu=4 : ALL;\na=5 : SELF;\nc=7 : ;\n", 2, "defined in line 1 with other flags"},
        {"a=5 : ALL;\nb=6 : ;\na=7 : SELF;", 3, "\"a\" is used already in line 1"},
    };
    ASSERT_REFUSED(refusals);
}

static void an_mtu_may_be_given_in_bytes(void **state)
{
    (void)state;
    struct oneib_partition_table table =
        table_of("a=5,mtu=4096 : ALL;\nb=6,mtu=256 : ALL;\nc=7,mtu=0x800 : ALL;\n");
    assert_int_equal(table.items[0].mtu, 5);
    assert_int_equal(table.items[1].mtu, 1);
    assert_int_equal(table.items[2].mtu, 4);
    oneib_partition_table_clear(&table);
}

/* Up to 24 Gb/s the numbers are codes, too: 10 is 120 Gb/s. */
static void a_rate_in_gbps_is_refused_with_its_code(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {"a=5,rate=25 : ALL;", 1, "for 25 Gb/s write rate=15"},
        {"a=5,rate=56 : ALL;", 1, "for 56 Gb/s write rate=12"},
        {"a=5,rate=100 : ALL;", 1, "for 100 Gb/s write rate=16"},
        {"a=5,rate=800 : ALL;", 1, "for 800 Gb/s write rate=23"},
        {"a=5,rate=26 : ALL;", 1, "rate needs a number from 2 to 24"},
    };
    ASSERT_REFUSED(refusals);
}

static void wrong_flags_are_refused(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {"a=5, : ALL;", 1, "':' where a flag"},
        {"a=5,,ipoib : ALL;", 1, "',' where a flag"},
        {"a=5,ipo : ALL;", 1, "\"ipo\" is not a flag"},
        {"a=5,i : ALL;", 1, "\"i\" is not a flag"},
        {"a=5,IPoIB : ALL;", 1, "\"IPoIB\" is not a flag"},
        {"a=5,indx : ALL;", 1, "\"indx\" is not a flag"},
        {"a=5,m=4 : ALL;", 1, "\"m\" is not a flag"},
        {"a=5,q_key=4 : ALL;", 1, "\"q_key\" is not a flag"},
        {"a=5,full : ALL;", 1, "\"full\" is not a flag"},
        {"a=5,ipoib=1 : ALL;", 1, "'=' where ',' and a flag"},
        {"a=5,indx0=1 : ALL;", 1, "'=' where ',' and a flag"},
        {"a=5 ipoib : ALL;", 1, "'i' where ',' and a flag"},
        {"a=5,ipoib,ipoib : ALL;", 1, "given twice"},
        {"a=5,mtu=4,mtu=5 : ALL;", 1, "mtu is given twice"},
        {"a=5,defmember=full,defmember=full : ALL;", 1, "given twice"},
        {"a=5,mtu : ALL;", 1, "mtu needs a number from 1 to 5, or the bytes"},
        {"a=5,mtu= : ALL;", 1, "mtu needs"},
        {"a=5,mtu=0 : ALL;", 1, "mtu needs"},
        {"a=5,mtu=6 : ALL;", 1, "mtu needs"},
        {"a=5,mtu=2047 : ALL;", 1, "not \"2047\""},
        {"a=5,mtu=04 : ALL;", 1, "not \"04\""},
        {"a=5,mtu=+4 : ALL;", 1, "not \"+4\""},
        {"a=5,mtu=4x : ALL;", 1, "not \"4x\""},
        {"a=5,rate=1 : ALL;", 1, "rate needs"},
        {"a=5,rate=256 : ALL;", 1, "rate needs"},
        {"a=5,sl=16 : ALL;", 1, "sl needs"},
        {"a=5,sl=-1 : ALL;", 1, "sl needs"},
        {"a=5,scope=0 : ALL;", 1, "scope needs"},
        {"a=5,scope=16 : ALL;", 1, "scope needs"},
        {"a=5,Q_Key=0 : ALL;", 1, "Q_Key needs"},
        {"a=5,Q_Key=0x100000000 : ALL;", 1, "Q_Key needs"},
        {"a=5,TClass=256 : ALL;", 1, "TClass needs"},
        {"a=5,FlowLabel=0x100000 : ALL;", 1, "FlowLabel needs"},
        {"a=5,defmember : ALL;", 1, "defmember is"},
        {"a=5,defmember=lim : ALL;", 1, "not \"lim\""},
        {"a=5,defmember=FULL : ALL;", 1, "not \"FULL\""},
    };
    ASSERT_REFUSED(refusals);
}

static void a_head_on_two_lines_is_refused(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {"a=5\n: ALL;", 1, "the line ends"},    {"a\n=5 : ALL;", 1, "no key"},
        {"a=\n5 : ALL;", 1, "the line ends"},   {"a=5,\nipoib : ALL;", 1, "the line ends"},
        {"a=5,mtu\n=4 : ALL;", 1, "mtu needs"}, {"a=5,ipoib # here\n: ALL;", 1, "the line ends"},
        {"b=1 : ;\na=5", 2, "the file ends"},   {"a=5 ;", 1, "';' where"},
        {"a=5 {ALL}", 1, "'{' where"},
    };
    ASSERT_REFUSED(refusals);
}

static void wrong_members_are_refused(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {"a=5 : AL;", 1, "\"AL\" is not a member"},
        {"a=5 : all;", 1, "not a member"},
        {"a=5 : ALL_CA;", 1, "not a member"},
        {"a=5 : ALL_;", 1, "not a member"},
        {"a=5 : NONE;", 1, "not a member"},
        {"a=5 : N;", 1, "not a member"},
        {"a=5 : S;", 1, "not a member"},
        {"a=5 : 0x0;", 1, "not a member"},
        {"a=5 : 0xffffffffffffffff;", 1, "not a member"},
        {"a=5 : 0x10000000000000001;", 1, "not a member"},
        {"a=5 : 0x00000000000000001;", 1, "not a member"},
        {"a=5 : 0x;", 1, "not a member"},
        {"a=5 : 0x12345g;", 1, "not a member"},
        {"a=5 : 1048579;", 1, "not a member"},
        {"a=5 : 04000003;", 1, "not a member"},
        {"a=5 : -1;", 1, "\"-1\" is not a member"},
        {"a=5 : 0002:c903:0011:2233;", 1, "not a member"},
        {"a=5 : 0x1:0x2;", 1, "':' where"},
        {"a=5 : 0x1 0x2;", 1, "'0' where"},
        {"a=5 :\n0x1\n0x2;", 3, "'0' where ',' and another member"},
        {"a=5 :\n0x1,\n0xz,\n0x2;", 3, "\"0xz\""},
        {"a=5 : ,0x1;", 1, "',' where a member"},
        {"a=5 : 0x1,,0x2;", 1, "',' where a member"},
        {"a=5 :\n0x1,\n;", 3, "';' where a member"},
        {"a=5 : 0x1, ;", 1, "';' where a member"},
        {"a=5 : =full;", 1, "'=' where a member"},
        {"a=5 : \"0x1\";", 1, "'\"' where a member"},
        {"a=5 : 0x1\x01;", 1, "byte 0x01 where"},
        {"a=5 : 0x1\x7f;", 1, "byte 0x7f where"},
        {"a=5 : 0x1\xff;", 1, "byte 0xff where"},
        {"a=5 : 0x1\v;", 1, "byte 0x0b where"},
    };
    ASSERT_REFUSED(refusals);
}

static void wrong_memberships_are_refused(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {"a=5 : 0x1=;", 1, "not \"\""},
        {"a=5 : 0x1=ful;", 1, "not \"ful\""},
        {"a=5 : 0x1=f;", 1, "not \"f\""},
        {"a=5 : 0x1=Full;", 1, "not \"Full\""},
        {"a=5 : 0x1=fulll;", 1, "not \"fulll\""},
        {"a=5 : ALL=1;", 1, "not \"1\""},
        {"a=5 : 0x1=full=full;", 1, "'=' where"},
        {"a=5 : 0x1=full limited;", 1, "'l' where"},
        {"a=5 : 0x1==full;", 1, "full, limited or both"},
    };
    ASSERT_REFUSED(refusals);
}

static void a_membership_on_the_next_line_is_refused(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {"a=5 : 0x1\n=full;", 2, "'=' where"},
        {"a=5 : 0x1=\nfull;", 1, "full, limited or both"},
        {"a=5 : 0x1 # here\n=full;", 2, "'=' where"},
    };
    ASSERT_REFUSED(refusals);
}

static void a_semicolon_that_begins_a_line_is_refused(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {"a=5 : 0x1=full\n;", 2, "';' that begins a line"},
        {"a=5 :\n\t0x1=full\n\n \t;", 4, "';' that begins a line"},
        {"a=5 : 0x1=full # here\n;", 2, "';' that begins a line"},
        {"a=5 :\n;", 2, "';' that begins a line"},
        {"a=5 : # none\n;", 2, "';' that begins a line"},
    };
    ASSERT_REFUSED(refusals);
}

static void a_partition_without_its_semicolon_is_refused(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {"a=5 :", 1, "the file ends"},
        {"a=5 : ALL", 1, "the file ends"},
        {"a=5 : ALL\n", 2, "the file ends"},
        {"a=5 : ALL,\n\n", 3, "the file ends where a member"},
        {"a=5 : ALL # ;\n", 2, "the file ends"},
        {"a=5 : ALL\nb=6 : ALL;", 2, "'b' where"},
        {"a=5 : ALL,\nb=6 : ALL;", 2, "\"b\" is not a member"},
        {"a=5 : ALL; b", 1, "no key"},
    };
    ASSERT_REFUSED(refusals);
}

static void windows_line_ends_are_refused(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {"a=5 : 0x1=full\r\n, 0x2;", 1, "carriage return"},
        {"a=5 : 0x1=full;\r\nb=6 : ;\r\n", 1, "carriage return"},
        {"a=5 :\r\n0x1;", 1, "carriage return"},
    };
    ASSERT_REFUSED(refusals);
}

static void multicast_groups_are_refused(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {"Default=0x7fff,ipoib :\n\tmgid=ff12:401b::0707,sl=1\n\tALL=full ;", 2,
         "remove the line: the subnet manager makes a group when its first member joins"},
    };
    ASSERT_REFUSED(refusals);
}

static void what_is_no_partition_file_is_refused(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {"<html>502 Bad Gateway</html>", 1, "'<' where the name"},
        {"/* a=5 : ALL; */", 1, "'/' where the name"},
        {"a=5 : ALL;\n[section]\n", 2, "'[' where the name"},
        {"x=0x7fff : ALL=full; : ALL=full;", 1, "':' where the name"},
    };
    ASSERT_REFUSED(refusals);
}

static void a_nul_byte_is_refused_anywhere(void **state)
{
    (void)state;
    static const char text[] = "a=5 : ALL;\n# x\nb=6 : 0x1=full, 0x2 ;\n";
    for (size_t i = 0; i < sizeof text - 1; i++) {
        char with_nul[sizeof text];
        memcpy(with_nul, text, sizeof text);
        with_nul[i] = '\0';
        unsigned line = 1;
        for (size_t j = 0; j < i; j++)
            line += with_nul[j] == '\n';
        assert_refused_bytes(with_nul, sizeof text - 1, line, "NUL byte");
    }
}

/* A line of `length` bytes: `head`, blanks, `tail`. */
static char *long_line(const char *before, const char *head, const char *tail, size_t length)
{
    size_t start = strlen(before);
    char *text = malloc(start + length + 1);
    assert_non_null(text);
    memset(text, ' ', start + length);
    memcpy(text, before, start);
    memcpy(text + start, head, strlen(head));
    memcpy(text + start + length - strlen(tail), tail, strlen(tail));
    text[start + length] = '\0';
    return text;
}

static void a_line_that_opensm_would_cut_is_refused(void **state)
{
    (void)state;
    static const char *const lines[][2] = {{"a=5 : 0x1,", "0x2=full;"}, {"# from", "to"}};
    for (size_t i = 0; i < 2; i++) {
        char *fits = long_line("\n", lines[i][0], lines[i][1], ONEIB_PARTITIONS_LINE_MAX);
        struct oneib_partition_table table = table_of(fits);
        oneib_partition_table_clear(&table);
        free(fits);

        char *longer = long_line("\n", lines[i][0], lines[i][1], ONEIB_PARTITIONS_LINE_MAX + 1);
        assert_refused_bytes(longer, strlen(longer), 2, "4094 bytes: opensm cuts");
        free(longer);
    }
}

static void a_refused_word_is_cut_in_the_error(void **state)
{
    (void)state;
    size_t length = ONEIB_PARTITIONS_LINE_MAX;
    char *text = malloc(length + 1);
    assert_non_null(text);
    memset(text, 'x', length);
    memcpy(text, "a=5 : ", 6);
    text[length] = '\0';
    assert_refused_bytes(text, length, 1, "SELF are");
    free(text);
}

static void every_beginning_of_a_file_is_refused_or_whole(void **state)
{
    (void)state;
    struct random_source random = random_seeded(31);
    struct oneib_partition_table table = random_table(&random, 12, 4);
    struct oneib_text text = {0};
    oneib_partitions_render(&table, &text);
    for (size_t length = 0; length < text.length; length++) {
        char *beginning = malloc(length + 1);
        assert_non_null(beginning);
        memcpy(beginning, text.data, length);
        struct oneib_partition_table part = {0};
        struct oneib_error err;
        if (oneib_partitions_parse(beginning, length, "f", &part, &err) == 0 && part.count > 0)
            assert_int_equal(
                beginning[length - 1] == '\n' ? beginning[length - 2] : beginning[length - 1], ';');
        oneib_partition_table_clear(&part);
        free(beginning);
    }
    oneib_text_clear(&text);
    oneib_partition_table_clear(&table);
}

/* One byte changed: the parser must live, and what it takes must come back from its own rendering.
 */
static void damaged_files_do_no_harm(void **state)
{
    (void)state;
    struct random_source random = random_seeded(37);
    struct oneib_partition_table table = random_table(&random, 10, 4);
    struct oneib_text text = {0};
    oneib_partitions_render(&table, &text);
    for (int i = 0; i < 20000; i++) {
        size_t at = random_below(&random, text.length);
        char kept = text.data[at];
        text.data[at] = random_below(&random, 2) ? (char)random_next(&random)
                                                 : "=,:;# \n0x"[random_below(&random, 9)];
        struct oneib_partition_table damaged = {0};
        struct oneib_error err;
        if (oneib_partitions_parse(text.data, text.length, "f", &damaged, &err) == 0) {
            struct oneib_text again = {0};
            oneib_partitions_render(&damaged, &again);
            struct oneib_partition_table back = table_of(again.data);
            assert_true(oneib_partition_table_equal(&damaged, &back));
            oneib_partition_table_clear(&back);
            oneib_text_clear(&again);
        }
        oneib_partition_table_clear(&damaged);
        text.data[at] = kept;
    }
    oneib_text_clear(&text);
    oneib_partition_table_clear(&table);
}

static void what_lies_behind_the_end_is_not_read(void **state)
{
    (void)state;
    const char text[] = "a=0x0101 : ALL;";
    struct oneib_partition_table table = {0};
    struct oneib_error err;
    assert_int_equal(oneib_partitions_parse(text, strlen(text) - 1, "f", &table, &err), -1);
    assert_int_equal(oneib_partitions_parse(text, strlen(text), "f", &table, &err), 0);
    oneib_partition_table_clear(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lies_behind_the_end_is_not_read),
        cmocka_unit_test(every_part_of_the_grammar_is_read),
        cmocka_unit_test(a_text_without_partitions_is_an_empty_table),
        cmocka_unit_test(wrong_keys_are_refused),
        cmocka_unit_test(a_key_with_the_membership_bit_is_refused),
        cmocka_unit_test(wrong_names_are_refused),
        cmocka_unit_test(definitions_of_one_key_with_the_same_flags_are_one_partition),
        cmocka_unit_test(a_key_with_other_flags_or_a_name_used_twice_is_refused),
        cmocka_unit_test(an_mtu_may_be_given_in_bytes),
        cmocka_unit_test(a_rate_in_gbps_is_refused_with_its_code),
        cmocka_unit_test(wrong_flags_are_refused),
        cmocka_unit_test(a_head_on_two_lines_is_refused),
        cmocka_unit_test(wrong_members_are_refused),
        cmocka_unit_test(wrong_memberships_are_refused),
        cmocka_unit_test(a_membership_on_the_next_line_is_refused),
        cmocka_unit_test(a_semicolon_that_begins_a_line_is_refused),
        cmocka_unit_test(a_partition_without_its_semicolon_is_refused),
        cmocka_unit_test(windows_line_ends_are_refused),
        cmocka_unit_test(multicast_groups_are_refused),
        cmocka_unit_test(what_is_no_partition_file_is_refused),
        cmocka_unit_test(a_nul_byte_is_refused_anywhere),
        cmocka_unit_test(a_line_that_opensm_would_cut_is_refused),
        cmocka_unit_test(a_refused_word_is_cut_in_the_error),
        cmocka_unit_test(every_beginning_of_a_file_is_refused_or_whole),
        cmocka_unit_test(damaged_files_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
