// SPDX-License-Identifier: Apache-2.0
/* Answers of the SA as they could arrive: their sizes and offsets are not believed. */
#include "fabric/fabric_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RMPP_FLAGS 26
#define ATTRIBUTE_OFFSET 44
#define RECORD 108 /* a NodeRecord; 112 with its padding */

static struct oneib_sa_records records;
static struct oneib_error err;

/* Reads an answer of exactly that many bytes, so that a sanitizer sees a read beyond it. */
static int read_answer(size_t length, uint16_t offset_units, uint8_t rmpp_flags)
{
    uint8_t *mad = calloc(1, length);
    assert_non_null(mad);
    mad[RMPP_FLAGS] = rmpp_flags;
    oneib_put16(mad + ATTRIBUTE_OFFSET, offset_units);
    int result = oneib_sa_records(mad, length, RECORD, &records, &err);
    if (result == 0 && records.count) {
        const uint8_t *last = records.first + (records.count - 1) * records.stride;
        assert_true((size_t)(last - mad) + RECORD <= length);
    }
    free(mad);
    return result;
}

static void records_are_counted_by_their_offset(void **state)
{
    (void)state;
    assert_int_equal(read_answer(56 + 3 * 112, 14, 7), 0);
    assert_int_equal(records.count, 3);
    assert_int_equal(records.stride, 112);
    assert_true(records.whole);
}

static void the_last_record_may_lack_its_padding(void **state)
{
    (void)state;
    assert_int_equal(read_answer(56 + 2 * 112 + RECORD, 14, 7), 0);
    assert_int_equal(records.count, 3);
}

static void a_record_that_is_cut_does_not_count(void **state)
{
    (void)state;
    assert_int_equal(read_answer(56 + 2 * 112 + RECORD - 1, 14, 7), 0);
    assert_int_equal(records.count, 2);
}

static void an_answer_without_room_has_no_record(void **state)
{
    (void)state;
    assert_int_equal(read_answer(56, 14, 7), 0);
    assert_int_equal(records.count, 0);
    assert_int_equal(read_answer(56 + 50, 0xffff, 7), 0);
    assert_int_equal(records.count, 0);
}

static void an_offset_of_zero_means_no_record(void **state)
{
    (void)state;
    assert_int_equal(read_answer(256, 0, 7), 0);
    assert_int_equal(records.count, 0);
}

static void records_that_would_overlap_are_refused(void **state)
{
    (void)state;
    assert_int_equal(read_answer(256, 13, 7), -1);
    assert_int_equal(err.code, ONEIB_ERROR_PROTOCOL);
    assert_int_equal(read_answer(256, 1, 7), -1);
}

static void a_lone_segment_of_several_is_not_the_whole_answer(void **state)
{
    (void)state;
    assert_int_equal(read_answer(256, 14, 1), 0);
    assert_false(records.whole);
    assert_int_equal(read_answer(256, 14, 3),
                     0); /* the first: the kernel put the others behind it */
    assert_true(records.whole);
    assert_int_equal(read_answer(256, 14, 0), 0); /* no RMPP at all */
    assert_true(records.whole);
}

static void no_length_and_no_offset_reads_beyond_the_answer(void **state)
{
    (void)state;
    for (size_t length = 56; length < 600; length++)
        for (uint16_t units = 0; units < 80; units++)
            read_answer(length, units, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_counted_by_their_offset),
        cmocka_unit_test(the_last_record_may_lack_its_padding),
        cmocka_unit_test(a_record_that_is_cut_does_not_count),
        cmocka_unit_test(an_answer_without_room_has_no_record),
        cmocka_unit_test(an_offset_of_zero_means_no_record),
        cmocka_unit_test(records_that_would_overlap_are_refused),
        cmocka_unit_test(a_lone_segment_of_several_is_not_the_whole_answer),
        cmocka_unit_test(no_length_and_no_offset_reads_beyond_the_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
