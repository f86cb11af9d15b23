#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A VM's life on one node, of machine pc. VFs are 0000:01:10.0, .2, .4, .6.
. "$LAB/scenario.sh"
. "$LAB/vm.sh"
nic_1="1 0000:01:10.0 0x0101 aa:00:0a:01:00:05 $(slot_of 0)"
nic_2="2 0000:01:10.2 0x0102 aa:01:0a:01:00:06 $(slot_of 1)"

has_nics() { # what has_nic takes, in one word for each NIC
    # shellcheck disable=SC2086 # words of it
    for nic; do has_nic $nic; done | vm_is 2 42
}

a_deployed_vm_has_its_vf_and_its_dummy_interface() {
    as_oneadmin 2 'mkdir -p /var/lib/one/datastores/0/42 && qemu-img create -q -f qcow2 /var/lib/one/datastores/0/42/disk.0 64M'
    one 42 new pc 1:257:10.1.0.5
    one 42 disk /var/lib/one/datastores/0/42/disk.0
    one 42 deploy 2
    has_nics "$nic_1"
}

a_second_nic_is_plugged_in_while_the_vm_runs() {
    one 42 attach 2:258:10.1.0.6
    has_nics "$nic_1" "$nic_2"
}

the_first_nic_is_taken_out_and_the_second_stays_as_it_is() {
    one 42 detach 1
    has_nics "$nic_2"
    guest_told 2 42 "pci $(slot_of 0) gone"
}

a_reboot_keeps_it_all() {
    forget_console 2 42
    one 42 reboot
    has_nics "$nic_2"
}

a_reset_keeps_it_all() {
    forget_console 2 42
    one 42 reset
    has_nics "$nic_2"
}

a_nic_takes_the_place_that_is_free() {
    one 42 attach 3:257:10.1.0.7
    has_nics "3 0000:01:10.0 0x0101 aa:00:0a:01:00:07 $(slot_of 0)" "$nic_2"
    one 42 detach 3
    has_nics "$nic_2"
}

# A guest that is saved as soon as it has let go may not have looked in between: it is not asked.
a_suspended_vm_has_nothing_here() {
    one 42 suspend
    vm_is 2 42 </dev/null
    on 2 "$inside/nothing-left"
}

a_resumed_vm_has_its_nic_where_it_was() {
    one 42 resume
    has_nics "2 0000:01:10.0 0x0102 aa:01:0a:01:00:06 $(slot_of 1)"
    guest_told 2 42 "pci $(slot_of 1) 8086:10ca"
}

a_snapshot_takes_the_vf_out_and_puts_it_back() {
    forget_console 2 42
    one 42 snapshot-create 0
    guest_told 2 42 "pci $(slot_of 1) gone"
    guest_told 2 42 "pci $(slot_of 1) 8086:10ca"
    has_nics "2 0000:01:10.0 0x0102 aa:01:0a:01:00:06 $(slot_of 1)"
}

a_vm_that_is_put_back_to_a_snapshot_has_the_nics_of_today() {
    one 42 attach 4:257:10.1.0.8
    one 42 snapshot-revert 0
    has_nics "2 0000:01:10.0 0x0102 aa:01:0a:01:00:06 $(slot_of 1)" "4 0000:01:10.2 0x0101 aa:00:0a:01:00:08 $(slot_of 0)"
    one 42 detach 4
    has_nics "2 0000:01:10.0 0x0102 aa:01:0a:01:00:06 $(slot_of 1)"
}

a_vm_that_is_powered_off_has_nothing_here() {
    one 42 poweroff
    on 2 "$inside/nothing-left"
}

# Each node has one processor, so that nobody can be kept off it.
a_vm_that_nobody_has_pinned_is_not_started_beside_one_with_cores_of_its_own() {
    on 2 <<'END'
mkdir -p /etc/oneib
echo 'node = { hpc_cores = "refuse"; };' >/etc/oneib/oneib.conf
cat >/run/hpc.xml <<'XML'
<domain type='qemu'><name>one-99</name><memory unit='MiB'>16</memory><vcpu>1</vcpu>
<metadata><oneib:tuning xmlns:oneib='urn:oneib:domain:1' hpc='yes' pins='yes'/></metadata>
<cputune><vcpupin vcpu='0' cpuset='0'/></cputune><os><type arch='x86_64' machine='pc'>hvm</type></os></domain>
XML
virsh -q create /run/hpc.xml
END
    fails 42 deploy 2
    has "$said" 'VM 42: it is not pinned, and would run on cores that one-99 has to itself'
    on 2 'virsh -q destroy one-99; rm /etc/oneib/oneib.conf'
    on 2 "$inside/nothing-left"
}

a_vm_that_is_powered_on_has_its_nic_as_the_first() {
    one 42 deploy 2
    has_nics "2 0000:01:10.0 0x0102 aa:00:0a:01:00:06 $(slot_of 0)"
}

a_terminated_vm_leaves_nothing() {
    one 42 terminate
    on 2 "$inside/nothing-left"
}

begin_with 2 42
cases \
    a_deployed_vm_has_its_vf_and_its_dummy_interface \
    a_second_nic_is_plugged_in_while_the_vm_runs \
    the_first_nic_is_taken_out_and_the_second_stays_as_it_is \
    a_reboot_keeps_it_all \
    a_reset_keeps_it_all \
    a_nic_takes_the_place_that_is_free \
    a_suspended_vm_has_nothing_here \
    a_resumed_vm_has_its_nic_where_it_was \
    a_snapshot_takes_the_vf_out_and_puts_it_back \
    a_vm_that_is_put_back_to_a_snapshot_has_the_nics_of_today \
    a_vm_that_is_powered_off_has_nothing_here \
    a_vm_that_nobody_has_pinned_is_not_started_beside_one_with_cores_of_its_own \
    a_vm_that_is_powered_on_has_its_nic_as_the_first \
    a_terminated_vm_leaves_nothing
