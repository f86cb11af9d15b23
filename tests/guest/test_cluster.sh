# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/guest/check.sh
. "$GUEST_TESTS/check.sh"
# shellcheck source=tests/guest/cluster_machine.sh
. "$GUEST_TESTS/cluster_machine.sh"

own_line='10.20.0.10 myhost.example.org myhost'

test_members_of_a_service_are_named() {
    make_machine
    start_onegate
    service '4 head_0_(service_4) 10.20.0.9 3 3' '5 worker_0_(service_4) 10.20.0.10 3 3' '6 worker_1_(service_4) 10.20.0.11 3 3'
    succeeds cluster_refresh
    block_is etc/hosts "10.20.0.9 head-0
$own_line worker-0
10.20.0.11 worker-1"
    hostfile_is 'head-0 slots=4
worker-0 slots=4
worker-1 slots=4'
}

test_members_come_and_go() {
    make_machine
    start_onegate
    service '5 a 10.20.0.10 3 3'
    succeeds cluster_refresh
    hostfile_is 'a slots=4'
    service '5 a 10.20.0.10 3 3' '6 b 10.20.0.11 3 3' '7 c 10.20.0.12 3 3'
    succeeds cluster_refresh
    hostfile_is 'a slots=4
b slots=4
c slots=4'
    service '5 a 10.20.0.10 3 3' '7 c 10.20.0.12 3 3'
    succeeds cluster_refresh
    hostfile_is 'a slots=4
c slots=4'
    block_is etc/hosts "$own_line a
10.20.0.12 c"
}

test_a_second_refresh_changes_nothing() {
    make_machine
    start_onegate
    service '5 a 10.20.0.10 3 3' '6 b 10.20.0.11 3 3'
    succeeds cluster_refresh
    find "$root/etc" -type f -exec ls -i {} + >"$work/before"
    succeeds cluster_refresh
    find "$root/etc" -type f -exec ls -i {} + >"$work/after"
    succeeds cmp "$work/before" "$work/after"
}

test_a_suspended_member_leaves_the_hostfile_alone() {
    make_machine
    start_onegate
    service '5 a 10.20.0.10 3 3' '6 b 10.20.0.11 5 0' '7 c 10.20.0.12 3 99' '8 d 10.20.0.13 3 25' '9 gone 10.20.0.14 6 0'
    succeeds cluster_refresh
    hostfile_is 'a slots=4
d slots=4'
    block_is etc/hosts "$own_line a
10.20.0.11 b
10.20.0.12 c
10.20.0.13 d"
}

test_this_vm_is_in_the_hostfile_whatever_onegate_takes_its_state_for() {
    make_machine
    start_onegate
    service '5 a 10.20.0.10 3 2'
    succeeds cluster_refresh
    hostfile_is 'a slots=4'
}

test_members_of_other_networks_are_none() {
    make_machine
    start_onegate
    service '5 a 10.20.0.10 3 3' '6 b 10.20.0.11 3 3'
    sed -i 's/"NETWORK_ID":"7","VN_MAD":"infiniband","IP":"10.20.0.11"/"NETWORK_ID":"8","VN_MAD":"infiniband","IP":"10.20.0.11"/' \
        "$work/onegate/service"
    succeeds cluster_refresh
    hostfile_is 'a slots=4'
}

test_one_nic_and_ipv6_alone_are_understood() {
    make_machine
    start_onegate
    cat >"$work/onegate/service" <<'END'
{"SERVICE":{"roles":[{"nodes":[{"vm_info":{"VM":{"ID":"5","NAME":"a","STATE":"3","LCM_STATE":"3","USER_TEMPLATE":{},"TEMPLATE":{
"NIC":{"NIC_ID":"0","NETWORK_ID":"7","VN_MAD":"infiniband","IP6_LINK":"fe80::1","IP6_GLOBAL":"2001:db8::a","IP6_ULA":"fd00::a"}}}}},
{"vm_info":{"VM":{"ID":"6","NAME":"b","STATE":"3","LCM_STATE":"3","USER_TEMPLATE":{},"TEMPLATE":{
"PCI":{"TYPE":"NIC","NIC_ID":"0","NETWORK_ID":"7","VN_MAD":"infiniband","IP6_ULA":"fd00::b"}}}}}]}]}}
END
    succeeds cluster_refresh
    block_is etc/hosts "2001:db8::a myhost.example.org myhost a
fd00::b b"
    hostfile_is 'a slots=1
b slots=1'
}

# What a real OneGate has sent of a real service: see tests/data/onegate.
test_a_recorded_service_is_understood() {
    make_machine
    start_onegate
    cp "$GUEST_TESTS/../data/onegate/service.json" "$work/onegate/service"
    sed -i "s/^VMID=.*/VMID='$(cat "$GUEST_TESTS/../data/onegate/vmid")'/" "$root/run/oneib/context"
    succeeds cluster_refresh
    cp "$root/etc/oneib/hostfile" "$work/hostfile"
    succeeds cmp "$work/hostfile" "$GUEST_TESTS/../data/onegate/hostfile"
    succeeds cmp "$root/etc/hosts" "$GUEST_TESTS/../data/onegate/hosts"
}

test_hostile_names_become_host_names() {
    make_machine
    start_onegate
    service '5 a 10.20.0.10 3 3' '6 \u0000;reboot\u000a10.20.0.66\ta 10.20.0.11 3 3' '7 $(id)`id` 10.20.0.12 3 3' \
        '8 localhost 10.20.0.13 3 3' '9 2130706433 10.20.0.14 3 3' '10 ../../etc 10.20.0.15 3 3' '11 \u00e9\u00e9 10.20.0.16 3 3' \
        '12 ip6-localhost 10.20.0.17 3 3' '13 MyHost 10.20.0.18 3 3' '14 a=b*c[1]slots=900 10.20.0.19 3 3' '15 0x7f000001 10.20.0.20 3 3'
    succeeds cluster_refresh
    block_is etc/hosts "$own_line a
10.20.0.11 reboot-10-20-0-66-a
10.20.0.12 id-id
10.20.0.13 localhost-8
10.20.0.14 vm-2130706433
10.20.0.15 etc
10.20.0.16 vm
10.20.0.17 ip6-localhost-12
10.20.0.18 myhost-13
10.20.0.19 a-b-c-1-slots-900
10.20.0.20 vm-0x7f000001"
}

test_names_that_come_out_alike_are_told_apart() {
    make_machine
    start_onegate
    service '5 a 10.20.0.10 3 3' '6 B 10.20.0.11 3 3' '7 b 10.20.0.12 3 3' '8 b-6 10.20.0.13 3 3' '9 printer 10.20.0.14 3 3'
    echo '192.0.2.1 printer.example.org printer' >>"$root/etc/hosts"
    succeeds cluster_refresh
    block_is etc/hosts "$own_line a
10.20.0.11 b-6
10.20.0.12 b-7
10.20.0.13 b-6-8
10.20.0.14 printer-9"
}

test_a_member_does_not_take_the_name_of_onegate() {
    make_machine
    start_onegate
    service '5 a 10.20.0.10 3 3' '6 gate 10.20.0.11 3 3'
    # What was asked of the stand-in is asked of an endpoint with a name.
    onegate_host() {
        echo gate
    }
    succeeds cluster_refresh
    block_is etc/hosts "$own_line a
10.20.0.11 gate-6"
}

test_hostile_addresses_are_left_out() {
    make_machine
    start_onegate
    service '5 a 10.20.0.10 3 3' '6 b 127.0.0.1 3 3' '7 c 1.2.3 3 3' '8 d 224.0.0.1 3 3' '9 e 10.20.0.11\u0020x 3 3' '10 f ::1 3 3' \
        '11 g fe80::1 3 3' '12 h 10.20.0.0.1 3 3' '13 i 1:2 3 3'
    succeeds cluster_refresh
    hostfile_is 'a slots=4'
    says "VM 6: '127.0.0.1' is no address that a member can have" cluster_refresh
}

test_without_an_answer_files_stay_and_it_is_said() {
    make_machine
    start_onegate
    service '5 a 10.20.0.10 3 3' '6 b 10.20.0.11 3 3'
    succeeds cluster_refresh
    cp "$root/etc/hosts" "$work/before"
    kill "$onegate"
    wait "$onegate" || true
    fails cluster_refresh
    says 'OneGate: no answer' cluster_refresh
    succeeds cmp "$work/before" "$root/etc/hosts"
    hostfile_is 'a slots=4
b slots=4'
}

test_garbage_changes_nothing() {
    make_machine
    start_onegate
    service '5 a 10.20.0.10 3 3' '6 b 10.20.0.11 3 3'
    succeeds cluster_refresh
    cp "$work/onegate/service" "$work/whole"
    for garbage in '<html><body>Welcome</body></html>' '' '{"SERVICE":' 'null' '[]' '{"SERVICE":{"roles":[]}}' "$(head -c 300 "$work/whole")"; do
        printf '%s' "$garbage" >"$work/onegate/service"
        fails cluster_refresh
        hostfile_is 'a slots=4
b slots=4'
    done
}

test_without_an_infiniband_nic_in_the_service_the_context_counts() {
    make_machine
    start_onegate
    service '5 a 10.20.0.10 3 3'
    sed -i 's/infiniband/bridge/' "$work/onegate/service"
    succeeds cluster_refresh
    hostfile_is 'myhost slots=2'
}

test_a_vm_that_has_never_heard_of_its_cluster_is_alone() {
    make_machine "VMID='5'" "ONEGATE_ENDPOINT='http://127.0.0.1:1'"
    echo U2VjcmV0 >"$root/run/oneib/token"
    fails cluster_refresh
    hostfile_is 'myhost slots=2'
    block_is etc/hosts "$own_line"
}

test_members_of_the_disk_that_was_copied_are_forgotten() {
    make_machine
    start_onegate
    service '5 a 10.20.0.10 3 3' '6 b 10.20.0.11 3 3'
    succeeds cluster_refresh
    sed -i "s/^VMID=.*/VMID='77'/; s/^ONEGATE_ENDPOINT=.*/ONEGATE_ENDPOINT='http:\/\/127.0.0.1:1'/" "$root/run/oneib/context"
    fails cluster_refresh
    hostfile_is 'myhost slots=2'
}

test_without_a_service_the_context_counts() {
    make_machine "ONEIB_MEMBERS='head=10.20.0.9*8, me=10.20.0.10 worker=10.20.0.11*2'"
    start_onegate
    echo 'Empty or invalid SERVICE_ID' >"$work/onegate/service"
    echo 400 >"$work/onegate/code"
    succeeds cluster_refresh
    hostfile_is 'head slots=8
me
worker slots=2'
    block_is etc/hosts "10.20.0.9 head
$own_line me
10.20.0.11 worker"
}

# As they are typed into a box of several lines.
test_members_of_the_context_may_stand_in_a_line_each() {
    make_machine "ONEIB_MEMBERS='
head=10.20.0.9*8

 me=10.20.0.10
worker=10.20.0.11*2
'"
    succeeds cluster_refresh
    hostfile_is 'head slots=8
me
worker slots=2'
}

test_a_list_of_members_with_nothing_but_line_ends_is_none() {
    make_machine "ONEIB_MEMBERS='
 
'"
    succeeds cluster_refresh
    hostfile_is 'myhost slots=2'
}

test_another_refusal_is_a_failure() {
    make_machine
    start_onegate
    service '5 a 10.20.0.10 3 3'
    succeeds cluster_refresh
    echo 'Service 4 does not contain VM 5.' >"$work/onegate/service"
    for code in 400 401 403 404 500 302; do
        echo "$code" >"$work/onegate/code"
        fails cluster_refresh
        hostfile_is 'a slots=4'
    done
}

test_members_of_the_context_are_checked() {
    make_machine "ONEIB_MEMBERS='a=10.20.0.11 b c= =10.20.0.12 localhost=10.20.0.13 d=127.0.0.1 e=10.20.0.14*x f=10.20.0.15*-1 a=10.20.0.16 \$(id)=10.20.0.17 *=10.20.0.18 12=10.20.0.19'"
    succeeds cluster_refresh
    hostfile_is 'a
myhost slots=2'
    says "'localhost' is there twice, or is no name" cluster_refresh
}

test_a_vm_without_onegate_and_members_is_alone() {
    make_machine
    succeeds cluster_refresh
    hostfile_is 'myhost slots=2'
    block_is etc/hosts "$own_line"
}

test_a_vm_without_infiniband_leaves_its_hosts_alone() {
    make_machine
    rm "$root/run/oneib/nics/ib0"
    cp "$root/etc/hosts" "$work/before"
    succeeds cluster_refresh
    succeeds cmp "$work/before" "$root/etc/hosts"
}

run_tests
