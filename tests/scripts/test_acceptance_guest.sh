#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What share/acceptance/guest.sh makes of the tools' words, with stand-ins that print them; and what it finds in sysfs.
# shellcheck disable=SC1091,SC2154,SC2317 # $work and $project are of check.sh, which calls the tests by name
. "$(dirname "$0")/check.sh"

# tool NAME STATUS: prints standard input, and ends so.
tool() {
    mkdir -p "$work/bin"
    cat >"$work/text-$1"
    printf '#!/bin/sh\ncat "%s/text-%s"\nexit %s\n' "$work" "$1" "$2" >"$work/bin/$1"
    chmod 755 "$work/bin/$1"
}

guest() {
    ONEIB_ACCEPTANCE_ROOT=$root PATH=$work/bin:$PATH sh -s -- "$@" <"$project/share/acceptance/guest.sh"
}

test_an_answer_of_ibping_counts_when_it_is_signed_by_whom_it_was_for() {
    printf 'Pong from oneib-a2.(none) (Lid 4): time 0.123 ms\n' | tool ibping 0
    prints arrived guest ibping mlx4_0 1 0x0200000000000a01 oneib-a2
    for other in oneib-a22 node2 oneib-a1; do
        printf 'Pong from %s.(none) (Lid 4): time 0.123 ms\n' "$other" | tool ibping 0
        prints other guest ibping mlx4_0 1 0x0200000000000a01 oneib-a2
    done
}

test_ibping_without_an_answer_is_silent_and_without_a_path_says_so() {
    printf -- '--- (Lid 4) ibping statistics ---\n3 packets transmitted, 0 received, 100%% packet loss, time 3000 ms\n' | tool ibping 0
    prints silent guest ibping mlx4_0 1 0x0200000000000a01 oneib-a2
    printf "ibping: iberror: failed: can't resolve destination port 0x0200000000000a01\n" | tool ibping 1
    prints no-path guest ibping mlx4_0 1 0x0200000000000a01 oneib-a2
    printf 'ibwarn: [7] mad_rpc_open_port: client_register for mgmt 1 failed\n' | tool ibping 1
    prints broken guest ibping mlx4_0 1 0x0200000000000a01 oneib-a2
}

test_rc_is_silent_only_when_the_two_have_met_and_the_adapter_gave_up() {
    met='  remote address: LID 0x0004, QPN 0x00004a, PSN 0x1, GID ::'
    printf '%s\n819200 bytes in 0.01 seconds = 5263.45 Mbit/sec\n100 iters in 0.01 seconds = 12.45 usec/iter\n' "$met" | tool ibv_rc_pingpong 0
    prints arrived guest rc mlx4_0 1 18601 192.168.0.11
    printf '%s\nFailed status transport retry counter exceeded (12) for wr_id 2\n' "$met" | tool ibv_rc_pingpong 1
    prints silent guest rc mlx4_0 1 18601 192.168.0.11
    printf '%s\nFailed to modify QP to RTR\n' "$met" | tool ibv_rc_pingpong 1
    prints broken guest rc mlx4_0 1 18601 192.168.0.11
    printf "Couldn't connect to 192.168.0.11:18601\n" | tool ibv_rc_pingpong 1
    prints broken guest rc mlx4_0 1 18601 192.168.0.11
}

test_ping_counts_answers_and_not_complaints() {
    printf '3 packets transmitted, 3 received, 0%% packet loss, time 2003ms\n' | tool ping 0
    prints arrived guest ping ib0 10.64.0.11
    printf 'From 10.64.0.10 Destination Host Unreachable\n3 packets transmitted, 0 received, +3 errors, 100%% packet loss\n' | tool ping 1
    prints silent guest ping ib0 10.64.0.11
    printf 'ping: unknown iface ib0\n' | tool ping 2
    prints broken guest ping ib0 10.64.0.11
}

test_it_finds_the_port_behind_an_address() {
    printf '2: eth0 inet 192.168.0.10/24 scope global eth0\n3: ib1 inet 10.64.0.10/16 scope global ib1\n' | tool ip 0
    mkdir -p "$root/sys/class/net/ib1/device/infiniband/mlx4_1" "$root/sys/class/infiniband/mlx4_1/device" "$root/drivers/mlx4_core"
    ln -s "$root/drivers/mlx4_core" "$root/sys/class/infiniband/mlx4_1/device/driver"
    echo 1 | write "$root/sys/class/net/ib1/dev_port"
    port=$root/sys/class/infiniband/mlx4_1/ports/2
    echo fe80:0000:0000:0000:0200:0000:0000:0a01 | write "$port/gids/0"
    echo 0x1f | write "$port/lid"
    echo '4: ACTIVE' | write "$port/state"
    echo 0x8100 | write "$port/pkeys/0"
    echo 0x7fff | write "$port/pkeys/2"
    echo 0x0000 | write "$port/pkeys/10"
    guest look 10.64.0.10 >"$work/look" || fail "it failed"
    for line in 'net ib1' 'device mlx4_1' 'port 2' 'guid 0x0200000000000a01' 'lid 31' 'state ACTIVE' 'driver mlx4_core' 'key 0:0x8100' \
        'key 2:0x7fff'; do
        has "$work/look" "^$line\$"
    done
    equal keys "$(grep -c '^key' "$work/look")" 2
    fails guest look 10.64.0.99
}

run_tests
