#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/progress.awk tells how far a stage of tests/run has come.
# shellcheck disable=SC1091,SC2154,SC2317 # $work and $project are of check.sh, which calls the tests by name
. "$(dirname "$0")/check.sh"

# tells TEXT SEEN: of the log that is standard input.
tells() {
    prints "$1" awk -v seen="$2" -f "$project/tests/progress.awk"
}

ctest_log() {
    cat <<'END'
      Start  1: unit.a
 1/9 Test  #1: unit.a ...........   Passed    0.61 sec
      Start  2: unit.b
      Start  3: unit.c
 2/9 Test  #3: unit.c ...........   Passed   11.20 sec
3: a word of a test's
 3/9 Test  #2: unit.b ...........***Failed    2.00 sec
      Start  4: simulation.d
END
}

test_a_build_is_told_by_its_steps() {
    printf '[1/728] Building a.o\n[12/728] Linking b\n' | tells 12/728 ''
}

test_what_has_ended_since_is_named_what_failed_first() {
    ctest_log | tells '3/9 unit.b FAILED 2.00 s, unit.c 11.20 s, unit.a 0.61 s' ''
    ctest_log | tells '3/9 unit.b FAILED 2.00 s, unit.c 11.20 s' 1/9
}

test_only_the_slowest_are_named() {
    {
        for i in 1 2 3 4 5; do echo " $i/9 Test #$i: unit.t$i ......   Passed    $i.00 sec"; done
    } | tells '5/9 unit.t5 5.00 s, unit.t4 4.00 s, unit.t3 3.00 s' 0/9
}

test_when_nothing_has_ended_what_runs_is_named() {
    ctest_log | tells '3/9 running: simulation.d' 3/9
}

test_a_skipped_program_has_not_failed() {
    echo ' 1/9 Test #1: unit.a ......***Skipped   0.10 sec' | tells '1/9 unit.a 0.10 s' ''
}

test_programs_under_valgrind_are_counted() {
    printf 'of 31 programs\ndone test_a\ndone test_b\n' | tells '2/31 test_b' 1/31
}

test_a_log_that_does_not_tell_is_nothing() {
    echo 'In tests/run line 3:' | tells '' ''
    : | tells '' ''
}

run_tests
