#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A VM of machine q35 that goes from node to node.
. "$LAB/scenario.sh"
. "$LAB/vm.sh"
vf=0000:01:10.0
mac=aa:00:0a:01:00:05
libvirt='libvirtd.socket libvirtd-ro.socket libvirtd-admin.socket'
refuse=/sys/module/oneib_hca/parameters/guid_error

# Before each action: how many nodes show the VM's GUID. Never more than one.
count_guids() {
    : >"$ONEIB_LAB_RUN/guids"
    before '*' "for n in 1 2; do \$LAB/node ssh \$n grep -c 0200000000002b01 $pf/fake/vfs; done |
        paste -s -d + >>\$ONEIB_LAB_RUN/guids"
}

the_guid_was_never_on_two_nodes() {
    ! grep -n '1+1' "$ONEIB_LAB_RUN/guids" || fail "before this action of the migration both nodes had the GUID"
}

is_whole_on() { # N
    has_nic 1 "$vf" 0x0101 "$mac" "$(port_of 0)" "$(behind_port 0)" | vm_is "$1" 43
}

a_deployed_vm_has_its_vf_behind_the_last_root_port() {
    one 43 new q35 1:257:10.1.0.5
    one 43 deploy 1
    is_whole_on 1
}

a_cold_migration_moves_the_vm_and_its_guid() {
    count_guids
    one 43 migrate 2
    the_guid_was_never_on_two_nodes
    is_whole_on 2
    guest_told 2 43 "pci $(behind_port 0) 8086:10ca"
    on 1 "$inside/nothing-left"
}

without_a_free_vf_there_nothing_is_touched_here() {
    for vm in 901 902 903 904; do
        one $vm new q35 "1:257:10.1.0.$((vm - 800))"
        one $vm "do" 1 vnm/infiniband/pre
    done
    on 2 "grep -c gone /var/lib/one/one-43.console || true" >"$ONEIB_LAB_RUN/gone"
    fails 43 migrate-live 1
    has "$said" 'vnm/infiniband/pre failed'
    is_whole_on 2
    is "$(cat "$ONEIB_LAB_RUN/gone")" "$(on 2 'grep -c gone /var/lib/one/one-43.console || true')" "times that the guest lost a device"
    for vm in 901 902 903 904; do one $vm "do" 1 vnm/infiniband/clean node1; done
    vm_is 1 43 </dev/null
}

a_live_migration_moves_the_vm_and_its_guid() {
    count_guids
    one 43 migrate-live 1
    the_guid_was_never_on_two_nodes
    is_whole_on 1
    guest_told 1 43 "pci $(behind_port 0) 8086:10ca"
    on 2 "$inside/nothing-left"
}

a_migration_that_dies_leaves_the_vm_whole_where_it_is() {
    before vmm/kvm-ib/migrate "\$LAB/node ssh 2 systemctl stop $libvirt libvirtd"
    fails 43 migrate-live 2
    on 2 "systemctl start $libvirt"
    has "$said" 'vmm/kvm-ib/migrate failed'
    is_whole_on 1
    reserved 1 "$vf" 0x0101 deferred | vm_is 2 43
}

# The reservation that the last one left is used. A GUID that the adapter refuses is no reason to lose the VM; once it is
# accepted the watch gives it, and what is missing then is the VF in the VM.
a_vm_whose_guid_is_refused_where_it_arrives_runs_on_without() {
    before vnm/infiniband/post "\$LAB/node ssh 2 'echo 5 >$refuse'"
    succeeds 43 migrate-live 2
    has "$said" 'NIC 1'
    on 2 "echo 0 >$refuse"
    { reserved 1 "$vf" 0x0101 set; echo "guid 1 $vf"; has_dummy 1 "$mac"; } | vm_is 2 43
    two_minutes_pass 2
    has "$(on 2 'oneib hca 2>&1 || true')" 'vf-not-plugged'
    on 1 "$inside/nothing-left"
}

repair_gives_it_back() {
    on 2 'oneib hca --repair' >/dev/null 2>&1
    is_whole_on 2
}

a_terminated_vm_leaves_nothing() {
    one 43 terminate-hard
    on 1 "$inside/nothing-left"
    on 2 "$inside/nothing-left"
}

begin_with '1 2' 43 901 902 903 904
cases \
    a_deployed_vm_has_its_vf_behind_the_last_root_port \
    a_cold_migration_moves_the_vm_and_its_guid \
    without_a_free_vf_there_nothing_is_touched_here \
    a_live_migration_moves_the_vm_and_its_guid \
    a_migration_that_dies_leaves_the_vm_whole_where_it_is \
    a_vm_whose_guid_is_refused_where_it_arrives_runs_on_without \
    repair_gives_it_back \
    a_terminated_vm_leaves_nothing
