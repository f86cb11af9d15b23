#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/packages, with stand-ins for what it asks and calls; what is installed is in files.
# shellcheck disable=SC1091,SC2154,SC2317 # $work and $project are of check.sh, which calls the tests by name
. "$(dirname "$0")/check.sh"

# stand_in NAME: its text is standard input.
stand_in() {
    { echo '#!/bin/sh' && cat; } | write "$work/bin/$1"
    chmod 755 "$work/bin/$1"
}

# A user on a machine with nothing, without sudo.
user() {
    : >"$work/installed"
    # shellcheck disable=SC2016 # for the stand-in
    stand_in dpkg-query <<END
shift 3
grep -qxF -e "\$1" "$work/installed" && printf installed
END
    echo 'echo 1000' | stand_in id
    for tool in sh cat env sort printf grep; do ln -s "$(command -v "$tool")" "$work/bin/$tool"; done
}

# sudo that allows it, or not; what is run through it is noted.
may_use_sudo() {
    printf '%s\n' "echo \"\$*\" >>'$work/sudo'" "exit $1" | stand_in sudo
}

packages() {
    env -i PATH="$work/bin" "$project/tests/packages" "$@"
}

test_what_only_builds_gets_no_tools_of_tests() {
    packages() { "$project/tests/packages" "$@"; }
    packages --build --list >"$work/build"
    for package in gcc cmake libxml2-dev; do has "$work/build" "^$package\$"; done
    for package in clang valgrind opensm ibsim-utils mmdebstrap sudo; do has_not "$work/build" "^$package\$"; done
}

test_the_demo_needs_what_builds_it_and_a_fabric() {
    "$project/tests/packages" --demo --list >"$work/demo"
    for package in gcc libcmocka-dev opensm ibsim-utils; do has "$work/demo" "^$package\$"; done
    has_not "$work/demo" '^(valgrind|clang)$'
}

test_all_is_more_than_the_demo_which_is_more_than_building() {
    for set in --build --demo ''; do
        # shellcheck disable=SC2086 # none, or one
        "$project/tests/packages" $set --list >"$work/all"
        equal "order with '$set'" "$(cat "$work/all")" "$(LC_ALL=C sort -u "$work/all")"
        if [ -e "$work/before" ]; then
            equal "what '$set' lacks" "$(comm -13 "$work/all" "$work/before")" ''
            fails cmp "$work/all" "$work/before"
        fi
        cp "$work/all" "$work/before"
    done
}

test_unknown_arguments_are_refused() {
    for argument in --bulid list ''; do
        says '^usage: tests/packages' "$project/tests/packages" "$argument"
        fails "$project/tests/packages" --list "$argument"
    done
}

test_nothing_happens_where_all_is_there() {
    user
    may_use_sudo 0
    packages --list >"$work/installed"
    prints '' packages
    fails test -e "$work/sudo"
}

test_a_user_without_sudo_is_told_what_to_ask_for() {
    user
    packages --build --list | grep -v '^gcc$' >"$work/installed"
    fails packages --demo
    says '^    apt-get update && apt-get install --no-install-recommends gcc ibsim-utils infiniband-diags libcmocka-dev opensm$' \
        packages --demo
    says 'not root, and have no sudo' packages --demo
    says 'systemctl disable --now opensm$' packages --demo
}

test_nothing_is_said_of_opensm_where_it_is_not_missing() {
    user
    fails packages --build
    has "$work/output" 'apt-get install .* gcc '
    has_not "$work/output" opensm
}

test_a_user_who_may_not_use_sudo_is_told_the_same() {
    user
    may_use_sudo 1
    fails packages --build
    has "$work/output" 'may not use sudo'
    has "$work/output" '^    apt-get update && apt-get install .* gcc '
    equal 'what was run as root' "$(cat "$work/sudo")" true
}

test_a_user_with_sudo_installs_only_what_is_missing() {
    user
    may_use_sudo 0
    packages --build --list | grep -v '^gcc$' >"$work/installed"
    prints 'Installing: gcc' packages --build
    has "$work/sudo" ' sh gcc$'
}

test_another_distribution_is_told_so() {
    user
    rm "$work/bin/dpkg-query"
    says "this is no Debian" packages
    fails packages
}

run_tests
