#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is asked of a VM: sent there by ssh and read by sh, as root. One line a fact, or one word that says how a try ended:
# arrived; silent: sent, and nothing came back; no-path: the subnet administrator knows no path; other: another than the VM
# that was meant has answered; broken: it cannot be said.
#
#   look IP                             net, device, port, guid, lid, state, driver, key INDEX:KEY, tool NAME
#   serve-ibping DEVICE PORT NAME       waits for ibping for 40 s, and signs its answers with NAME
#   ibping DEVICE PORT GUID NAME
#   serve-rc DEVICE PORT TCP            waits for ibv_rc_pingpong likewise
#   rc DEVICE PORT TCP ADDRESS
#   ping NET IP
set -u
root=${ONEIB_ACCEPTANCE_ROOT-}
mark=$root/run/oneib-acceptance.pid

net_of() {
    ip -o -4 addr show | awk -v ip="$1" '{ split($4, part, "/") } part[1] == ip { print $2; exit }'
}

look() {
    net=$(net_of "$1")
    [ -n "$net" ] || exit 1
    device=$(cd "$root/sys/class/net/$net/device/infiniband" && printf '%s\n' * | head -n 1) || exit 1
    number=0
    read -r number <"$root/sys/class/net/$net/dev_port"
    number=$((number + 1))
    port=$root/sys/class/infiniband/$device/ports/$number
    read -r gid <"$port/gids/0" && read -r lid <"$port/lid" && read -r state <"$port/state" || exit 1
    echo "net $net"
    echo "device $device"
    echo "port $number"
    echo "guid 0x$(printf %s "$gid" | cut -d: -f5-8 | tr -d :)"
    echo "lid $((lid))"
    echo "state ${state##* }"
    echo "driver $(basename "$(readlink "$root/sys/class/infiniband/$device/device/driver")")"
    for index in $(cd "$port/pkeys" && printf '%s\n' * | sort -n); do
        read -r key <"$port/pkeys/$index" || exit 1
        [ "$key" = 0x0000 ] || echo "key $index:$key"
    done
    for tool in ibping ibv_rc_pingpong ping; do
        if command -v "$tool" >/dev/null; then echo "tool $tool"; fi
    done
}

# The one that waited before is ended first.
serve() {
    if read -r before <"$mark" 2>/dev/null; then kill -- "-$before" 2>/dev/null; fi
    setsid timeout --foreground 40 "$@" </dev/null >/dev/null 2>&1 &
    echo $! >"$mark"
    sleep 1
}

try_ibping() { # DEVICE PORT GUID NAME
    timeout 8 ibping -C "$1" -P "$2" -c 3 -G "$3" >"$out" 2>&1
    if grep -q "^Pong from $4[. ]" "$out"; then
        echo arrived
    elif grep -q '^Pong from ' "$out"; then
        echo other
    elif grep -Eqi "(can't|cannot|failed to) resolve" "$out"; then
        echo no-path
    elif grep -q ' 0 received' "$out"; then
        echo silent
    else
        echo broken
    fi
}

# Its two ends find each other by TCP, and then by the adapter. It is silent where they have found each other, and then the
# adapter gave up (status 12, retries exceeded), or nothing came until the time was over.
try_rc() { # DEVICE PORT TCP ADDRESS
    for attempt in 1 2 3; do
        timeout 10 stdbuf -oL ibv_rc_pingpong -d "$1" -i "$2" -g 0 -n 100 -p "$3" "$4" >"$out" 2>&1
        status=$?
        grep -q "Couldn't connect" "$out" || break
        [ "$attempt" = 3 ] || sleep 1
    done
    if grep -q ' iters in ' "$out"; then
        echo arrived
    elif grep -q 'remote address:' "$out" && { [ "$status" -eq 124 ] || grep -q '^Failed status .*(12)' "$out"; }; then
        echo silent
    else
        echo broken
    fi
}

try_ping() { # NET IP
    ping -n -c 3 -W 1 -I "$1" "$2" >"$out" 2>&1
    if grep -Eq ' [1-9][0-9]* (packets )?received' "$out"; then
        echo arrived
    elif grep -Eq ' 0 (packets )?received' "$out"; then
        echo silent
    else
        echo broken
    fi
}

out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
case ${1-} in
look) look "$2" ;;
serve-ibping)
    # shellcheck disable=SC2016 # the inner shell expands
    serve unshare --uts sh -c 'hostname "$3" && exec ibping -S -C "$1" -P "$2"' sh "$2" "$3" "$4"
    ;;
ibping) try_ibping "$2" "$3" "$4" "$5" ;;
serve-rc) serve ibv_rc_pingpong -d "$2" -i "$3" -g 0 -n 100 -p "$4" ;;
rc) try_rc "$2" "$3" "$4" "$5" ;;
ping) try_ping "$2" "$3" ;;
*) exit 2 ;;
esac
