# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What oneib-guest status says: lib/status.sh.
# shellcheck source=tests/guest/check.sh
. "$GUEST_TESTS/check.sh"
# shellcheck source=tests/guest/machine.sh
. "$GUEST_TESTS/machine.sh"

test_status_tells_what_is_there() {
    a_machine
    succeeds guest network
    prints_status=$(guest status) || fail "status is not 0: $prints_status"
    printf '%s\n' "$prints_status" | tr -s ' ' >"$work/status"
    has "$work/status" "^ib0 ETH1 0x$(guid 42 1) guid 10.20.0.10/16 context there$"
    has "$work/status" "^ib0 ETH1 0x$(guid 42 1) guid 2001:db8::a/64 context there$"
    has "$work/status" "^ib1 ETH2 0x$(guid 42 2) guid 10.30.0.10/24 context there$"
    has "$work/status" "^eth1 - - - 10.20.0.10 index 0 dummy interface, hidden$"
    has_not "$work/status" WRONG
}

test_status_tells_what_is_wrong() {
    a_machine
    succeeds guest network
    in_ip addr del 10.20.0.10/16 dev ib0
    in_ip addr add 10.99.0.1/24 dev ib0
    in_ip link set eth2 up
    in_ip -4 route del default dev ib0
    in_ip link set ib1 mtu 1500
    add_ipoib ib2 0002c90300aaaa03 0000:00:1d.0
    fails guest status
    tr -s ' ' <"$work/output" >"$work/status"
    has "$work/status" "^ib0 .* 10.20.0.10/16 context WRONG: has no address 10.20.0.10/16: run 'oneib-guest network', or see its messages in the journal$"
    has "$work/status" "^ib0 .* - context WRONG: has no route default via 10.20.0.1: run 'oneib-guest network'"
    has "$work/status" "^ib0 .* 10.99.0.1/24 - not of oneib$"
    has "$work/status" "^ib2 - 0x0002c90300aaaa03 - - - WRONG: neither a NIC nor a dummy interface"
    has "$work/status" "^eth2 .* WRONG: is a dummy interface and is up: run"
    has "$work/status" "^eth1 .* hidden$"
}

test_each_thing_that_is_missing_is_told_in_words() {
    a_machine
    succeeds guest network
    echo mtu=1500 >>"$root/run/oneib/network/ib1"
    in_ip link set ib1 down
    mkdir -p "$root/proc/sys/net/ipv6/conf/ib0"
    echo 1 >"$root/proc/sys/net/ipv6/conf/ib0/disable_ipv6"
    fails guest status
    has "$work/output" "^ib1 .*WRONG: has not the MTU 1500: run 'oneib-guest network'"
    has "$work/output" "^ib1 .*WRONG: is not up: run 'oneib-guest network'"
    has "$work/output" "^ib0 .*WRONG: has IPv6 switched off: run 'oneib-guest network'"
}

test_status_before_anything_was_done_says_so() {
    a_machine
    fails guest status
    has "$work/output" "^ib0 .*WRONG: is not configured yet: run 'oneib-guest network'"
}

test_status_tells_of_interfaces_that_are_not_there() {
    a_machine
    succeeds guest network
    remove_interface ib1
    fails guest status
    has "$work/output" '^oneib: there are fewer IPoIB interfaces than dummy interfaces'
}

test_status_of_a_machine_without_infiniband_is_fine() {
    add_ethernet eth0 02:00:c0:a8:7a:02
    succeeds guest status
}

run_tests
