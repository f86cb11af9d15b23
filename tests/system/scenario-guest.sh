#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A VM whose image has oneib's guest side, and whose NICs come and go. Nobody logs in: what its interfaces have is what it tells.
. "$LAB/scenario.sh"
. "$LAB/vm.sh"

a_vm_with_three_nics_has_their_addresses_when_it_has_booted() {
    one 71 new pc 1:257:10.1.0.5 2:258:10.2.0.5 3:258:2001:db8::5
    one 71 image
    one 71 context </dev/null
    one 71 deploy 1
    vm_has 1 71 1 10.1.0.5/24
    vm_has 1 71 2 10.2.0.5/24
    vm_has 1 71 3 2001:db8::5/64
}

when_the_middle_one_is_taken_out_the_others_keep_theirs() {
    forget_console 1 71
    one 71 detach 2
    vm_lacks 1 71 2
    guest_told 1 71 "sees .*ib $(guid_of 71 1) [^,]* 10.1.0.5/24,"
    guest_told 1 71 "sees .*ib $(guid_of 71 3) [^,]* 2001:db8::5/64,"
    vm_has_lost_only 1 71 10.2.0.5/24
}

when_it_is_plugged_in_again_it_has_its_address_again() {
    forget_console 1 71
    one 71 attach 2:258:10.2.0.5
    vm_has 1 71 2 10.2.0.5/24
    vm_has_lost_only 1 71 ''
}

# Its context is the one that it had.
a_vm_that_was_suspended_has_its_addresses_again() {
    one 71 suspend
    forget_console 1 71
    one 71 resume
    vm_has 1 71 1 10.1.0.5/24
    vm_has 1 71 2 10.2.0.5/24
    vm_has 1 71 3 2001:db8::5/64
}

it_leaves_nothing() {
    one 71 terminate-hard
    on 1 "$inside/nothing-left"
}

begin_with 1 71
cases \
    a_vm_with_three_nics_has_their_addresses_when_it_has_booted \
    when_the_middle_one_is_taken_out_the_others_keep_theirs \
    when_it_is_plugged_in_again_it_has_its_address_again \
    a_vm_that_was_suspended_has_its_addresses_again \
    it_leaves_nothing
