#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What share/acceptance reads out of answers that OpenNebula 7.4.0's own commands were recorded to give; of --version some lines.
# shellcheck disable=SC1091,SC2034,SC2154,SC2317 # $work and $project are of check.sh, which calls the tests by name
. "$(dirname "$0")/check.sh"
. "$project/share/acceptance/cloud.sh"
recorded=$project/tests/data/opennebula-7.4/cli

# bounded SECONDS COMMAND WORDS: in place of the command that file's answer.
bounded() {
    cp "$recorded/$answer" "$work/said"
}

answered() { # FILE
    answer=$1
    bounded
}

cannot() {
    fail "$*"
}

state_in() { # FILE
    answer=$1
    note a1 id 0
    ask() { bounded "$@"; }
    state_of a1
    echo "$state"
}

test_a_vms_state_host_and_addresses() {
    equal hold "$(state_in onevm-show-hold)" other
    equal running "$(state_in onevm-show-migrated)" running
    equal ended "$(state_in onevm-show-done)" gone
    answered onevm-show-migrated
    equal id "$(first_element ID)" 0
    equal 'host of two' "$(last_host)" H6
    equal access "$(nic_ip 3)" 10.67.0.1
    equal cluster "$(nic_ip 1)" 10.64.0.1
    equal storage "$(nic_ip 2)" 10.66.1.0
    equal 'no NIC there' "$(nic_ip 7)" ''
}

test_a_networks_id_key_and_membership() {
    answer=onevnet-show-cluster
    need_cluster first
    equal cluster "$id $key" '1 0x0101'
    answer=onevnet-show-limited
    need_network storage
    key_of_answer
    equal limited "$id $key $(first_element IB_MEMBERSHIP)" '2 0x0102 limited'
    answer=onevnet-show-ethernet
    need_network access
    key_of_answer
    equal 'Ethernet, without a key' "$id $key" '3 '
}

test_a_hosts_driver_and_state_and_a_templates_id() {
    answered onehost-show
    equal host "$(first_element VM_MAD) $(first_element STATE)" 'kvm-ib 2'
    answered onetemplate-show
    equal template "$(first_element ID)" 0
}

test_a_vms_id_behind_the_questions_that_enter_has_answered() {
    answer=onetemplate-instantiate access_id=3 network_a=1 storage='' template_id=0 run_name=x host1=H1
    tell() { :; }
    ask() { bounded "$@"; code=0; }
    make_vm a1 || fail "it was not made"
    equal id "$(of a1 id)" 0
    equal host "$(of a1 host)" H1
}

test_vms_by_the_name_of_the_run() {
    answer=onevm-list run_name=oneib-acceptance-77-1780000000
    equal its "$(ids_by_name)" 0
    run_name=oneib-acceptance-7
    equal "another's" "$(ids_by_name)" ''
    answer=onevm-list-empty run_name=oneib-acceptance-77-1780000000
    equal none "$(ids_by_name)" ''
}

test_the_version_stands_among_other_numbers() {
    answer=onevm-version
    equal version "$(opennebula_version)" 7.4.0
}

run_tests
