#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/count.awk counts the single tests in what `ctest -V` prints.
# shellcheck disable=SC1091,SC2154,SC2317 # $work and $project are of check.sh, which calls the tests by name
. "$(dirname "$0")/check.sh"

tab=$(printf '\t')

# counts TEXT: what standard input is counted as, a line each, tabs shown as "|".
counts() {
    # shellcheck disable=SC2016 # the inner shell expands
    prints "$1" sh -c 'awk -f "$1/tests/count.awk" | tr "\t" "|"' sh "$project"
}

test_each_test_of_a_program_is_counted() {
    counts 'passed|unit.a.test_x: one|
failed|unit.a.test_x: two|1 != 2' <<'END'
3: [==========] Running 2 test(s).
3: [ RUN      ] one
3: [       OK ] one
3: [ RUN      ] two
3: 1 != 2
3: [  FAILED  ] two
3: [==========] 2 test(s) run.
3: [  FAILED  ] 1 test(s), listed below:
3: [  FAILED  ] two
 3/9 Test  #3: unit.a.test_x .......***Failed    0.61 sec
END
}

test_programs_side_by_side_are_told_apart() {
    counts 'passed|unit.b: other|
passed|unit.a: one|' <<'END'
1: [ RUN      ] one
2: [ RUN      ] other
1: [       OK ] one
2: [       OK ] other
 1/2 Test #2: unit.b ..........   Passed    0.01 sec
 2/2 Test #1: unit.a ..........   Passed    0.01 sec
END
}

test_a_skip_is_counted_with_its_reason() {
    counts 'skipped|unit.a: one|only root can mount' <<'END'
1: [ RUN      ] one
1: only root can mount
1: [  SKIPPED ] one
1: [==========] 1 test(s) run.
1: [  SKIPPED ] 1 test(s), listed below:
1: [  SKIPPED ] one
 1/1 Test #1: unit.a ..........   Passed    0.01 sec
END
}

test_a_skip_without_a_reason_is_a_failure() {
    counts 'failed|unit.a: one|it was skipped without a reason' <<'END'
1: [ RUN      ] one
1: [  SKIPPED ] one
 1/1 Test #1: unit.a ..........   Passed    0.01 sec
END
    counts 'failed|unit.b: (whole program)|it was skipped without a reason' <<'END'
 1/1 Test #1: unit.b ..........***Skipped   0.01 sec
END
}

test_a_test_of_scripts_that_is_skipped_says_why() {
    # shellcheck disable=SC2016 # the inner shell expands
    printf '%s\n' '. "$GUEST_TESTS/check.sh"' 'test_one() { skip "only root can mount"; }' run_tests >"$work/test_a.sh"
    prints '[ RUN      ] test_one
only root can mount
[  SKIPPED ] test_one' env GUEST_TESTS="$GUEST_TESTS" GUEST_FILE="$work/test_a.sh" GUEST_ONLY= sh "$work/test_a.sh"
}

# A directory tree that nobody may enter is found in many of them (tests/unit/hca/reach.h).
test_each_program_may_be_skipped_as_a_whole() {
    find "$project/tests" -name CMakeLists.txt >"$work/lists"
    while read -r list; do
        equal "$list" "$(grep -c SKIP_RETURN_CODE "$list")" "$(grep -c '^ *add_test(' "$list")"
    done <"$work/lists"
}

test_a_reason_is_not_that_of_the_test_before() {
    counts 'passed|unit.a: one|
failed|unit.a: two|it was skipped without a reason' <<'END'
1: [ RUN      ] one
1: a word on the way
1: [       OK ] one
1: [ RUN      ] two
1: [  SKIPPED ] two
 1/1 Test #1: unit.a ..........   Passed    0.01 sec
END
}

test_a_program_that_is_skipped_as_a_whole_is_one() {
    counts 'skipped|simulation.test_x: (whole program)|ibsim is not installed' <<'END'
7: ibsim is not installed
 1/1 Test #7: simulation.test_x ....***Skipped   0.01 sec
END
}

test_a_program_that_ends_in_the_middle_has_failed_there() {
    counts 'passed|unit.a: one|
failed|unit.a: two|the program ended in the middle: Exception: SegFault' <<'END'
1: [ RUN      ] one
1: [       OK ] one
1: [ RUN      ] two
 1/1 Test #1: unit.a ..........***Exception: SegFault  0.01 sec
END
}

test_a_program_that_fails_and_names_no_test_is_one_failure() {
    counts 'passed|unit.a: one|
failed|unit.a: (whole program)|Failed: leaked' <<'END'
1: [ RUN      ] one
1: [       OK ] one
1: leaked
 1/1 Test #1: unit.a ..........***Failed    0.01 sec
END
    counts 'failed|unit.a: (whole program)|Timeout: ' <<'END'
 1/1 Test #1: unit.a ..........***Timeout  600.01 sec
END
}

test_a_program_without_single_tests_is_one() {
    counts 'passed|simulation.demo: (whole program)|' <<'END'
1: step 1
 1/1 Test #1: simulation.demo ..........   Passed    20.01 sec
END
}

test_a_name_with_a_tab_is_one_line() {
    printf '1: [ RUN      ] one\n1: a%sb\n1: [  FAILED  ] one\n 1/1 Test #1: unit.a ...***Failed    0.01 sec\n' "$tab" >"$work/log"
    awk -f "$project/tests/count.awk" "$work/log" >"$work/counted"
    equal 'lines' "$(wc -l <"$work/counted")" 1
}

run_tests
