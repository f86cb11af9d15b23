# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# The program when interfaces and addresses come and go.
# shellcheck source=tests/guest/check.sh
. "$GUEST_TESTS/check.sh"
# shellcheck source=tests/guest/machine.sh
. "$GUEST_TESTS/machine.sh"

test_hot_unplug_and_hot_plug_leave_the_others_alone() {
    a_machine
    succeeds guest network
    remove_interface ib1
    remove_interface eth2
    succeeds guest network
    addresses_are ib0 10.20.0.10/16 2001:db8::a/64
    [ ! -e "$root/run/oneib/nics/ib1" ] || fail "an interface that is gone has settings"
    add_dummy eth2 aa:01:0a:1e:00:0a
    add_ipoib ib1 "$(guid 42 2)" 0000:00:1e.0
    succeeds guest network
    addresses_are ib1 10.30.0.10/24
}

test_a_hot_plug_before_its_context_goes_by_the_dummy() {
    a_machine
    succeeds guest network
    add_dummy eth3 aa:02:0a:28:00:0a
    add_ipoib ib2 "$(guid 42 3)" 0000:00:1d.0
    succeeds guest network
    addresses_are ib2 10.40.0.10/24
    cat "$root/dev/sr0/context.sh" - >"$work/context" <<'END'
ETH3_IP='10.40.0.10'
ETH3_MASK='255.255.0.0'
END
    cp "$work/context" "$root/dev/sr0/context.sh"
    succeeds guest network
    addresses_are ib2 10.40.0.10/16
}

test_an_address_that_the_context_has_changed_replaces_the_old_one() {
    a_machine
    succeeds guest network
    sed 's/10\.30\.0\.10/10.30.0.99/' "$root/dev/sr0/context.sh" >"$work/context"
    cp "$work/context" "$root/dev/sr0/context.sh"
    in_ip addr add 10.99.0.1/24 dev ib1
    succeeds guest network
    addresses_are ib1 10.99.0.1/24 10.30.0.99/24
}

run_tests
