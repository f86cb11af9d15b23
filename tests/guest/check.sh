# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Tests of share/context. A test file reads this one, has functions whose names begin with test_ and state a behaviour, and
# ends with `run_tests`. Each runs in a shell of its own, with a directory of its own: $root stands for the guest's root directory
# (ONEIB_ROOT), $work is for everything else. They are told as cmocka tells its tests, for tests/count.awk.
#
#   ./run dash test_text.sh [TEST...]

# Where the program and its libraries are.
# shellcheck disable=SC2034 # test files use it
context=$(CDPATH='' cd -- "$GUEST_TESTS/../../share/context" && pwd)
ONEIB_LIBRARY=$context/lib
export ONEIB_LIBRARY

# fail MESSAGE...: this test has failed.
fail() {
    echo "$*"
    exit 1
}

# skip REASON...: this test needs what is not here.
skip() {
    echo "$*"
    exit 77
}

# equal WHAT IS SHALL
equal() {
    [ "$2" = "$3" ] || fail "$1 is '$2', not '$3'"
}

# succeeds COMMAND...; fails COMMAND...: whatever it prints is shown when it does otherwise.
succeeds() {
    "$@" >"$work/output" 2>&1 || fail "$* failed ($?): $(cat "$work/output")"
}

fails() {
    if "$@" >"$work/output" 2>&1; then fail "$* did not fail: $(cat "$work/output")"; fi
}

# prints TEXT COMMAND...: succeeds, and standard output is this text (without the newlines at its end).
prints() {
    shall=$1
    shift
    is=$("$@" 2>"$work/errors") || fail "$* failed ($?): $(cat "$work/errors")"
    [ "$is" = "$shall" ] || fail "$* printed '$is', not '$shall'"
}

# says PATTERN COMMAND...: whether it succeeds or not, a line of standard error matches (grep -E).
says() {
    pattern=$1
    shift
    "$@" >"$work/output" 2>"$work/errors" || true
    grep -Eq -e "$pattern" "$work/errors" || fail "$* said '$(cat "$work/errors")', nothing like '$pattern'"
}

# has FILE PATTERN; has_not FILE PATTERN: a line matches (grep -E), or none.
has() {
    grep -Eq -e "$2" "$1" || fail "$1 has no '$2': $(cat "$1")"
}

has_not() {
    if grep -Eq -e "$2" "$1"; then fail "$1 has '$2': $(cat "$1")"; fi
}

# write FILE: standard input, into a file whose directory is made.
write() {
    mkdir -p "${1%/*}" && cat >"$1"
}

run_tests() {
    failures=0
    tests=${GUEST_ONLY:-$(sed -n 's/^\(test_[a-z0-9_]*\)() .*/\1/p' "$GUEST_FILE")}
    [ -n "$tests" ] || { echo "$GUEST_FILE has no tests" && exit 1; }
    work=
    trap 'rm -rf "$work"; exit 1' HUP INT TERM
    for test in $tests; do
        echo "[ RUN      ] $test"
        work=$(mktemp -d) && root=$work/root && mkdir "$root" || exit 1
        # Not as a condition: there a command that fails would not end the test.
        (
            set -e
            export ONEIB_ROOT="$root"
            cd "$work"
            "$test"
        )
        case $? in
        0) echo "[       OK ] $test" ;;
        77) echo "[  SKIPPED ] $test" ;;
        *)
            echo "[  FAILED  ] $test"
            failures=$((failures + 1))
            ;;
        esac
        rm -rf "$work"
    done
    exit $((failures > 0))
}
