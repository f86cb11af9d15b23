#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/run tries programs again that may have failed because the machine was busy: it runs here in a directory of its own, on a build
# whose tests are scripts of one case each.
# shellcheck disable=SC1091,SC2154,SC2317 # $work and $project are of check.sh, which calls the tests by name
. "$(dirname "$0")/check.sh"

# program NAME TRY...: what it does at each try: pass, fail, crash, or a line that it says before it fails.
program() {
    mkdir -p tests build/dev build/logs
    cp "$project/tests/run" "$project/tests/"*.awk tests/
    name=$1
    shift
    printf '%s\n' "$@" >"$name.tries"
    cat >"$name" <<END
#!/bin/sh
read -r what <'$work/$name.tries'
sed -i 1d '$work/$name.tries'
echo '[ RUN      ] it_works'
case \$what in
pass) echo '[       OK ] it_works' ;;
crash) kill -SEGV \$\$ ;;
*) printf '%s\n' "\$what" '[  FAILED  ] it_works' && exit 1 ;;
esac
END
    chmod +x "$name"
    echo "add_test([=[$name]=] '$work/$name')" | tr "'" '"' >>build/dev/CTestTestfile.cmake
}

# results: of all programs, and then of the second tries.
results() {
    sh tests/run --part run_tests dev >said
    sh tests/run --part try_again >>said
    tr '\t' '|' <build/logs/results | sort
}

test_what_passes_alone_counts_and_the_first_try_is_told() {
    program simulation.test_a 'too late' pass
    program unit.cli.test_b pass
    prints 'passed|dev simulation.test_a: it_works|
passed|dev unit.cli.test_b: it_works|
skipped|dev simulation.test_a: the first try|it failed: it_works: too late; what counts is the second, alone' results
}

test_what_waits_for_stand_ins_is_tried_again() {
    for name in guest.test_a.dash scripts.test_acceptance; do
        rm -rf build
        program "$name" fail pass
        results | grep -q "^passed|dev $name: it_works" || fail "$name was not tried again: $(cat said)"
    done
    rm -rf build
    program scripts.test_layout fail pass
    results | grep -q "^failed|dev scripts.test_layout: " || fail "a script that waits for nobody was tried again"
}

test_what_fails_alone_too_has_failed() {
    program install.test_a 'too late' 'too late again'
    prints 'failed|dev install.test_a: it_works|too late again' results
    has said 'too late again'
}

test_nothing_is_tried_again_where_all_has_passed() {
    program unit.cli.test_a pass fail
    prints 'passed|dev unit.cli.test_a: it_works|' results
    equal 'tries left' "$(cat unit.cli.test_a.tries)" fail
}

# tried_once NAME WHAT: what has failed so has failed.
tried_once() {
    rm -rf build
    program "$1" "$2" pass
    results | grep -q "^failed|dev $1: " || fail "$1 has not failed: $(cat said)"
    equal 'tries left' "$(cat "$1.tries")" pass
}

test_a_walk_is_never_tried_again() {
    tried_once simulation.test_random_walk fail
    tried_once unit.cli.test_node_walk fail
}

test_a_unit_test_of_a_library_is_never_tried_again() { tried_once unit.cluster.test_a fail; }
test_a_crash_is_never_tried_again() {
    tried_once simulation.test_a crash
    tried_once simulation.test_b 'Test failed with exception: Segmentation fault(11)'
    tried_once simulation.test_c 'the program has ended by signal 11'
    tried_once simulation.test_d 'oneib verify ended with 134, not 0'
}
test_what_a_sanitizer_reports_is_never_tried_again() {
    tried_once unit.cli.test_a '==7==ERROR: AddressSanitizer: heap-use-after-free'
}
test_the_node_lab_has_its_own_second_try() { tried_once system.nodes fail; }

test_of_two_with_names_alike_the_one_that_failed_is_tried_again() {
    program simulation.test_a fail pass
    program simulation.test_a_more pass fail
    results >found
    has found '^passed\|dev simulation.test_a: it_works'
    has found '^passed\|dev simulation.test_a_more: it_works'
    equal 'results' "$(wc -l <found)" 3
}

test_where_many_fail_none_is_tried_again() {
    for i in 1 2 3 4 5; do program "simulation.test_$i" fail pass; done
    results >found
    equal 'failures' "$(grep -c '^failed' found)" 5
    has said 'none is tried again'
}

run_tests
