# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Commands with an end: here, on hosts and in VMs. Each ends after its time, and at once when the run ends.

child=''
making=''

tell() {
    echo "acceptance: $*" >&2 || true
}

mistake() {
    echo "acceptance: $* (run --help)" >&2
    exit 2
}

cannot() {
    [ ! -s "$work/complaint" ] || sed 's/^/  /' "$work/complaint" >&2
    echo "acceptance: $*" >&2
    exit 2
}

# ended PID: waits for it, interrupted by signals, which then are obeyed at once. Sets code.
ended() {
    child=$1
    wait "$child"
    code=$?
    child=''
    return $code
}

# bounded SECONDS COMMAND...: what it prints is in $work/said and $work/complaint. Its standard input is $input, if set.
bounded() {
    seconds=$1
    shift
    timeout -k 5 "$seconds" "$@" <"${input:-/dev/null}" >"$work/said" 2>"$work/complaint" &
    ended $!
}

# ask SECONDS COMMAND...: bounded, and its complaint is told.
ask() {
    bounded "$@" && return 0
    complain
    return 1
}

complain() {
    sed 's/^/    /' "$work/complaint" >&2 || true
}

pause() {
    sleep "$1" &
    ended $!
}

# What is making a VM is left to its end: else nobody would know of the VM.
end_child() {
    [ -n "$child" ] || return 0
    [ -n "$making" ] || kill "$child" 2>/dev/null
    wait "$child" 2>/dev/null
    child=''
}

ssh_bounded() { # SECONDS ARGUMENT...
    allowed=$(($1 + 20))
    shift
    bounded "$allowed" ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 -o ServerAliveCountMax=3 "$@"
}

# on_host HOST SECONDS VERB [ARGUMENT...]: a verb of host.sh.
on_host() {
    remote=$1 limit=$2
    shift 2
    input=$here/host.sh
    ssh_bounded "$limit" -- "$remote" "timeout $limit sh -s -- $*"
    input=''
    return "$code"
}

# on_sm SECONDS COMMAND...: of words.
on_sm() {
    if [ -z "$sm" ]; then
        bounded "$@"
        return
    fi
    limit=$1
    shift
    ssh_bounded "$limit" -- "$sm" "timeout $limit $*"
}

# in_guest VM SECONDS VERB [ARGUMENT...]: a verb of guest.sh, as root there. A VM is new, so nobody knows its host key.
in_guest() {
    remote=$guest_user@$(of "$1" access) limit=$2
    shift 2
    input=$here/guest.sh
    ssh_bounded "$limit" -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -- "$remote" \
        "if [ \"\$(id -u)\" = 0 ]; then set --; else set -- sudo -n; fi; \"\$@\" timeout $limit sh -s -- $*"
    input=''
    return "$code"
}

# flatten FILE: the JSON document that was said becomes lines PATH<TAB>VALUE.
flatten() {
    LC_ALL=C awk -f "$here/../context/lib/json.awk" "$work/said" >"$1" 2>"$work/complaint"
}
