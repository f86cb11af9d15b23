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

test_what_runs_beside_is_waited_for_and_its_status_and_times_are_known() {
    mkdir -p tests build/logs
    cp "$project/tests/run" "$project/tests/"*.awk tests/
    # shellcheck disable=SC2016 # for tests/run
    sh tests/run --part eval 'begin_beside one sh -c "sleep 2; exit 3"
        begin_beside two sh -c "sleep 1; echo >ended; exit 4"
        stage "a stage" test ! -e ended
        end_beside one; echo "one: $status, $(took)"; echo "left: $(printf "%s" "$beside" | wc -w)"
        end_beside two; echo "two: $status"; echo "left: $(printf "%s" "$beside" | wc -w)"' >said
    has said '^one, beside what follows$'
    has said '^    ok, '
    has said '^one: 3, [2-9] s$'
    equal 'left after one, and after both' "$(sed -n 's/^left: //p' said | paste -s -d ,)" 1,0
    has said '^two: 4$'
    sh tests/run --part tell_times >table
    has table '^ +[2-9] +0  one$'
}

run_tests
