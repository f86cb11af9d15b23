#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What goes wrong around a VM of machine pc, on one node.
. "$LAB/scenario.sh"
. "$LAB/vm.sh"
vf=0000:01:10.0
mac=aa:00:0a:01:00:05
libvirt='libvirtd.socket libvirtd-ro.socket libvirtd-admin.socket'

is_whole() {
    has_nic 1 "$vf" 0x0101 "$mac" "$(slot_of 0)" | vm_is 2 44
}

checkpoint=/var/lib/one/datastores/0/44/checkpoint

# One of an earlier case that has failed is gone, and what that has done to the node.
a_vm() { # [KERNEL-OPTION]
    put_save_back
    on 2 "systemctl -q stop kills-libvirt 2>/dev/null || true; systemctl start $libvirt"
    scrap 2 44
    one 44 new pc "$@" 1:257:10.1.0.5
    one 44 deploy 2
    is_whole
}

# The VM of the case before; where that has failed, which is its own affair, a new one.
the_vm() {
    [ "$previous" = passed ] || a_vm
}

lacks_its_vf() {
    { reserved 1 "$vf" 0x0101 set; echo "guid 1 $vf"; has_dummy 1 "$mac"; } | vm_is 2 44
    two_minutes_pass 2
    has "$(on 2 'oneib hca 2>&1 || true')" 'vf-not-plugged'
}

repair() {
    on 2 'oneib hca --repair' >/dev/null 2>&1
}

# The upstream action save, until it is put back, is what standard input says.
replace_save() {
    on 2 'cat >/run/save && chmod 755 /run/save && mount --bind /run/save /var/tmp/one/vmm/kvm/save'
}

put_save_back() {
    on 2 'while umount -q /var/tmp/one/vmm/kvm/save 2>/dev/null; do :; done'
}

a_domain_that_does_not_start_leaves_nothing() {
    one 44 new pc 1:257:10.1.0.5
    one 44 disk /var/lib/one/datastores/0/44/none
    fails 44 deploy 2
    has "$said" 'vmm/kvm-ib/deploy failed'
    on 2 "$inside/nothing-left"
}

a_guest_that_does_not_let_go_keeps_its_vf_and_is_not_saved() {
    a_vm acpiphp.disable=1
    fails 44 suspend
    has "$said" '^VM 44: the guest does not let go of NIC 1 '
    is_whole
}

# QEMU takes a device that the guest was asked for when the guest starts anew. This guest sees no hot-plug either.
what_a_reset_takes_later_repair_gives_back() {
    forget_console 2 44
    one 44 reset
    lacks_its_vf
    repair
    { reserved 1 "$vf" 0x0101 set; echo "guid 1 $vf"; echo "vf 1 $vf $(slot_of 0)"; has_dummy 1 "$mac"; } | vm_is 2 44
    one 44 terminate-hard
    on 2 "$inside/nothing-left"
}

without_libvirt_nothing_is_touched() {
    a_vm
    on 2 "systemctl stop $libvirt libvirtd"
    fails 44 suspend
    on 2 "systemctl start $libvirt"
    has "$said" 'libvirt'
    is_whole
}

# As soon as a first part of the guest's memory is in the file; most of it never gets there. Libvirt leaves a domain that runs on,
# when it has started anew and looked at it.
libvirt_killed_in_the_middle_of_a_save_leaves_the_vm_whole() {
    the_vm
    on 2 <<END
rm -f $checkpoint
systemd-run -q --unit kills-libvirt sh -c 'until find $checkpoint -size +1024k 2>/dev/null | grep -q .; do sleep 0.05; done
    kill -KILL \$(pidof libvirtd)'
END
    fails 44 suspend
    on 2 "! systemctl -q is-active kills-libvirt" || fail "the save failed before it had begun: $said"
    is_whole
}

a_save_that_is_killed_halfway_goes_on_when_it_is_called_again() {
    the_vm
    replace_save <<'END'
#!/bin/sh
kill -KILL $PPID
END
    fails 44 suspend
    put_save_back
    lacks_its_vf
    one 44 suspend
    on 2 "$inside/nothing-left"
    one 44 resume
    is_whole
}

what_a_killed_save_took_repair_gives_back() {
    the_vm
    replace_save <<'END'
#!/bin/sh
kill -KILL $PPID
END
    fails 44 suspend
    put_save_back
    lacks_its_vf
    repair
    is_whole
}

a_vf_that_is_torn_away_comes_back_by_repair() {
    the_vm
    on 2 "echo 0 >$pf/sriov_numvfs"
    on 2 <<END
echo 4 >$pf/sriov_numvfs
for vf in $pf/virtfn*; do
    echo vfio-pci >"\$vf/driver_override"
    basename "\$(readlink "\$vf")" >/sys/bus/pci/drivers_probe
done
systemctl reload oneib-node
END
    two_minutes_pass 2
    repair
    is_whole
}

nothing_is_left_of_it_in_the_end() {
    one 44 terminate-hard
    on 2 "$inside/nothing-left"
}

begin_with 2 44
on 2 <<'END'
mkdir -p /etc/oneib
echo 'node = { unplug_wait = 8000; };' >/etc/oneib/oneib.conf
END
cases \
    a_domain_that_does_not_start_leaves_nothing \
    a_guest_that_does_not_let_go_keeps_its_vf_and_is_not_saved \
    what_a_reset_takes_later_repair_gives_back \
    without_libvirt_nothing_is_touched \
    libvirt_killed_in_the_middle_of_a_save_leaves_the_vm_whole \
    a_save_that_is_killed_halfway_goes_on_when_it_is_called_again \
    what_a_killed_save_took_repair_gives_back \
    a_vf_that_is_torn_away_comes_back_by_repair \
    nothing_is_left_of_it_in_the_end
