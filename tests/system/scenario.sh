# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What scenarios share; each begins with '. "$LAB/scenario.sh"'. LAB is this directory, here and in the nodes. A scenario is
# a list of cases, functions that name a behaviour and fail as soon as one of their commands does; 'cases' calls them in
# turn, in the same two nodes.
set -eu
inside=$LAB/inside

# on N COMMAND...: as root in a node; without a command the script on standard input. Nothing takes longer than a
# quarter of an hour, even on slow processors that have more to do than this.
on() {
    on_node=$1
    shift
    [ $# -gt 0 ] || set -- sh -eu -s
    timeout 960 "$LAB/node" ssh "$on_node" "$@"
}

as_oneadmin() { # N COMMAND...
    on_node=$1
    shift
    timeout 960 "$LAB/node" as oneadmin "$on_node" "$@"
}

fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

# is WANTED FOUND WORDS...
is() {
    wanted=$1 found=$2
    shift 2
    [ "$wanted" = "$found" ] || fail "$*: \"$found\" instead of \"$wanted\""
}

# has TEXT PATTERN: one of its lines matches.
has() {
    printf '%s\n' "$1" | grep -q -e "$2" || fail "no \"$2\" in:" "$1"
}

# start_guest N NAME OPTION...: as inside/guest; returns when it has told what it sees.
start_guest() {
    node=$1 guest=$2
    shift 2
    on "$node" "rm -f /var/lib/one/$guest.console && $inside/guest $guest $* >/run/$guest.xml && virsh -q create /run/$guest.xml"
    console_gets "$node" "$guest" ready
}

# console_gets N NAME PATTERN [TIMES]: waits until that many lines of its console begin with "guest: " and that; once, if
# not said.
console_gets() {
    on "$1" "$inside/console-gets 900 $2 ${4-1} '$3'" || {
        on "$1" "tail -n 20 /var/lib/one/$2.console" >&2
        return 1
    }
}

# processor_since LINES: what 'node processor' says now is more by so much. In it is what another scenario does at the same time.
processor_since() {
    {
        printf '%s\n' "$1"
        "$LAB/node" processor
    } | awk 'NF == 2 && $1 in before { printf ", %.1f of %s", $2 - before[$1], $1 } NF == 2 { before[$1] = $2 }'
}

# Background commands are not part of a condition, in which the shell would not end at the first that fails.
run_case() {
    echo "[ RUN      ] $scenario: $1"
    echo "$1" >"$ONEIB_LAB_RUN/case-$scenario"
    case_began=$(date +%s)
    case_began_at=$("$LAB/node" processor)
    "$1" 2>&1 &
    status=0
    wait $! || status=$?
    echo "$(($(date +%s) - case_began)) s$(processor_since "$case_began_at")"
    if [ $status -eq 0 ]; then
        echo "[       OK ] $scenario: $1"
        previous=passed
    else
        echo "[  FAILED  ] $scenario: $1"
        previous=failed
        failed=1
    fi
    rm "$ONEIB_LAB_RUN/case-$scenario"
}

cases() {
    scenario=$(basename "$0" .sh)
    scenario=${scenario#scenario-}
    failed=0
    # What a case may ask that goes on with what the one before has left.
    previous=passed
    for case; do run_case "$case"; done
    exit $failed
}
