#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The lab itself: what the other scenarios take for granted.
. "$LAB/scenario.sh"
. "$LAB/vm.sh"
pf=/sys/bus/pci/devices/0000:01:00.0
vf=0000:01:10.0
mac=02:00:c0:a8:00:05

libvirt_answers_on_both_nodes() {
    for n in 1 2; do
        is "node$n" "$(on "$n" virsh -q hostname)" "libvirt's host name"
        on "$n" virsh -q domcapabilities --virttype kvm >/dev/null
    done
}

four_vfs_have_iommu_groups_of_their_own() {
    for n in 1 2; do
        on "$n" "$inside/hca" mlx5 4
        is 4 "$(on "$n" "readlink -f $pf/virtfn*/iommu_group | sort -u | wc -l")" "IOMMU groups of node$n's VFs"
    done
}

oneib_lists_an_adapter_with_four_free_vfs() {
    for n in 1 2; do
        found=$(on "$n" oneib hca)
        has "$found" '^mlx5_0/1 .*active .* 4/8 .*0000:01:00\.0$'
        is 4 "$(printf '%s\n' "$found" | grep -c '^0000:01:10\.[0246] .* free .* vfio-pci$')" "free VFs in: $found"
    done
}

an_assigned_vf_has_its_guid_on_the_adapter() {
    one 1 new pc 0:257:10.1.0.5
    one 1 "do" 1 vnm/infiniband/pre
    has "$(on 1 cat "$pf/fake/vfs")" '^0 node 02[0-9a-f]*\(0100\) port 02[0-9a-f]*\1 link Follow'
    has "$(on 2 cat "$pf/fake/vfs")" '^0 node 0* port 0* link Down'
}

a_guest_sees_its_vf_and_its_interface() {
    start_guest 1 one-1 --nic "$mac" --vf "$vf"
    console_gets 1 one-1 'pci [0-9a-f:.]* 8086:10ca'
    console_gets 1 one-1 "nic $mac eth0 down"
    has "$(on 1 oneib hca)" "^$vf .* VM 1 NIC "
}

a_guest_acknowledges_hot_unplug_and_sees_the_vf_come_back() {
    on 1 <<END
virsh -q dumpxml one-1 | sed -n '/<hostdev/,/<\/hostdev>/p' >/run/hostdev.xml
virsh -q detach-device one-1 /run/hostdev.xml
$inside/wait-for 20 sh -c '! virsh dumpxml one-1 | grep "<hostdev"'
END
    console_gets 1 one-1 'pci [0-9a-f:.]* gone'
    on 1 virsh -q attach-device one-1 /run/hostdev.xml
    console_gets 1 one-1 'pci [0-9a-f:.]* 8086:10ca' 2
}

a_destroyed_guest_leaves_its_vf_on_vfio_pci() {
    on 1 virsh -q destroy one-1
    one 1 "do" 1 vnm/infiniband/clean node1
    on 1 "$inside/wait-for 12 sh -c 'oneib hca | grep -q \"^$vf .* free .* vfio-pci\$\"'"
}

oneadmin_reaches_the_other_node() {
    is node2 "$(as_oneadmin 1 ssh node2 hostname)" "node2's name, from node1"
    is node1 "$(as_oneadmin 2 ssh node1 hostname)" "node1's name, from node2"
    is node2 "$(as_oneadmin 1 virsh -q -c qemu+ssh://node2/system hostname)" "libvirt's host name, from node1"
}

a_guest_moves_to_the_other_node_alive() {
    start_guest 1 one-2 --nic "$mac"
    as_oneadmin 1 virsh -q -c qemu:///system migrate --live one-2 qemu+ssh://node2/system
    console_gets 2 one-2 "sees .*nic $mac"
    is running "$(on 2 virsh -q domstate one-2)" "state on node2"
}

# The one that has moved; where that failed, another one.
a_guest_switches_itself_off_at_its_power_button() {
    if [ "$previous" = failed ]; then
        on 2 'virsh -q destroy one-2 || true'
        start_guest 2 one-2
    fi
    on 2 virsh -q shutdown one-2
    on 2 "$inside/wait-for 60 sh -c '! virsh -q domstate one-2'"
    has "$(on 2 cat /var/lib/one/one-2.console)" '^guest: power button'
}

the_adapter_may_be_an_mlx4() {
    on 2 "$inside/hca" mlx4 3
    has "$(on 2 oneib hca)" '^mlx4_0/1 .* 3/8 '
    is 1 "$(on 2 cat /sys/class/infiniband/mlx4_0/iov/0000:01:10.0/ports/1/gid_idx/0)" "the first VF's GID index"
}

cases \
    libvirt_answers_on_both_nodes \
    four_vfs_have_iommu_groups_of_their_own \
    oneib_lists_an_adapter_with_four_free_vfs \
    an_assigned_vf_has_its_guid_on_the_adapter \
    a_guest_sees_its_vf_and_its_interface \
    a_guest_acknowledges_hot_unplug_and_sees_the_vf_come_back \
    a_destroyed_guest_leaves_its_vf_on_vfio_pci \
    oneadmin_reaches_the_other_node \
    a_guest_moves_to_the_other_node_alive \
    a_guest_switches_itself_off_at_its_power_button \
    the_adapter_may_be_an_mlx4
