#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# share/hooks/fence_host.sh as it is shipped, with stand-ins for OpenNebula's xpath.rb and for oneib.
# shellcheck disable=SC1091,SC2154,SC2317 # $work and $project are of check.sh, which calls the tests by name
. "$(dirname "$0")/check.sh"

# stand_in PATH: its text is standard input.
stand_in() {
    mkdir -p "$(dirname "$1")"
    { echo '#!/bin/sh' && cat; } | write "$1"
    chmod 755 "$1"
}

# front_end STATUS: an installation whose oneib notes its arguments, one a line, and ends with that. The document of a host is
# its name here, and xpath.rb gives it as OpenNebula's does: with a NUL behind it.
front_end() {
    stand_in "$work/one/var/remotes/datastore/xpath.rb" <<'END'
[ "$*" = /HOST/NAME ] || exit 1
cat
printf '\000'
END
    stand_in "$work/bin/oneib" <<END
printf '%s\n' "\$@" >"$work/arguments"
exit $1
END
    rm -f "$work/arguments"
}

# fence NAME: its exit status.
fence() {
    printf %s "$1" | base64 | PATH=$work/bin:$PATH ONE_LOCATION=$work/one \
        sh "$project/share/hooks/fence_host.sh" >"$work/said" 2>&1
}

test_it_ends_with_0_only_when_oneib_has() {
    front_end 0
    fence node3 || fail "it ends with $?"
    for status in 1 2 3 126 127 139; do
        front_end "$status"
        ! fence node3 || fail "oneib ended with $status, and it with 0"
    done
}

test_without_oneib_nothing_is_fenced() {
    front_end 0
    printf 'exec nothing-of-this-name "$@"\n' | stand_in "$work/bin/oneib"
    ! fence node3 || fail "there is no oneib, and it ends with 0"
}

test_a_name_is_one_argument_and_no_option() {
    front_end 0
    # shellcheck disable=SC2016 # a name
    for name in -x --force --help 'node 3' ' node3' "\$(touch $work/touched)" '`id`' "a';id;'b" 'a"b' '*' 7 'n\003'; do
        fence "$name" || fail "$name: it ends with $?"
        printf '%s\n' fence -- "$name" | cmp -s - "$work/arguments" || fail "$name: oneib was given $(cat "$work/arguments")"
    done
    [ ! -e "$work/touched" ] || fail "a name was executed"
}

test_what_names_no_host_fences_none() {
    front_end 0
    ! fence '' || fail "no name, and it ends with 0"
    [ ! -e "$work/arguments" ] || fail "oneib was called without a name"
    for input in '' '!!!!' 'bm9k!!!'; do
        rm -f "$work/arguments"
        printf %s "$input" | PATH=$work/bin:$PATH ONE_LOCATION=$work/one \
            sh "$project/share/hooks/fence_host.sh" >"$work/said" 2>&1 && fail "$input: it ends with 0"
        [ ! -e "$work/arguments" ] || fail "$input: oneib was called"
    done
}

# What cannot read the document must not make a name of its complaint.
test_an_xpath_that_fails_fences_none() {
    front_end 0
    printf 'exit 1\n' | stand_in "$work/one/var/remotes/datastore/xpath.rb"
    ! fence node3 || fail "it ends with 0"
    rm "$work/one/var/remotes/datastore/xpath.rb"
    ! fence node3 || fail "there is no xpath.rb, and it ends with 0"
    [ ! -e "$work/arguments" ] || fail "oneib was called"
}

run_tests
