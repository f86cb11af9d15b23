#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/run says at its end where the time went.
# shellcheck disable=SC1091,SC2154,SC2317 # $work and $project are of check.sh, which calls the tests by name
. "$(dirname "$0")/check.sh"

test_what_programs_took_that_were_waited_for_is_one_sum() {
    printf '0m0.500s 0m0.250s\n2m3.250s 0m7.000s\n' >spent
    : >log
    prints 131 awk -f "$project/tests/processor.awk" spent log
}

test_what_an_emulator_says_of_itself_is_added() {
    printf '0m0.000s 0m0.000s\n0m1.000s 0m0.000s\n' >spent
    printf '%s\n' '3: node1 has had 551 s of a processor' '3: node2 has had 466 s of a processor' '3: 46 s' >log
    prints 1018 awk -f "$project/tests/processor.awk" spent log
}

test_a_stages_times_are_in_the_table() {
    mkdir -p tests build/logs
    cp "$project/tests/run" "$project/tests/"*.awk tests/
    sh tests/run --part stage 'a loop' sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done' >said
    sh tests/run --part tell_times >table
    has table '^ +[0-9]+ +[0-9]+  a loop$'
}

run_tests
