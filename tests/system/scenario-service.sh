#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# oneib-node under systemd and libvirt: what ends by itself, and what ends the service, on one node.
. "$LAB/scenario.sh"
. "$LAB/vm.sh"
vf=0000:01:10.0
mac=aa:00:0a:01:00:05

has_its_nic() {
    has_nic 1 "$vf" 0x0101 "$mac" "$(slot_of 0)" | vm_is 2 45
}

process_of_the_service() {
    on 2 systemctl show -p MainPID --value oneib-node.service
}

only_opennebulas_group_may_ask_for_what_changes_something() {
    is 'root oneadmin 660' "$(on 2 stat -c "'%U %G %a'" /run/oneib/node.sock)" "owner and mode of the socket"
    is 'root root 666' "$(on 2 stat -c "'%U %G %a'" /run/oneib/node-read.sock)" "owner and mode of the other socket"
    as_oneadmin 2 oneib hca --repair
    has "$(on 2 "setpriv --reuid nobody --clear-groups oneib hca")" "^$vf .* free "
    if on 2 "setpriv --reuid nobody --clear-groups test -w /run/oneib/node.sock"; then fail "all may ask"; fi
}

root_keeps_one_capability_and_the_child_none() {
    pid=$(process_of_the_service)
    is 0000000000001000 "$(on 2 "sed -n 's/^CapEff:\t//p' /proc/$pid/status")" "capabilities of the service"
    on 2 <<'END'
children=$(pgrep -u oneib-node)
[ -n "$children" ]
for pid in $children; do
    grep -q '^CapPrm:.0000000000000000$' /proc/$pid/status
    grep -q '^NoNewPrivs:.1$' /proc/$pid/status
done
END
}

# Sampled where it happens: an emulated processor takes longer for a look than a real one for the rest. By itself the service looks
# every ten seconds. What counts is the time that the node's processor has had, which the loop keeps busy.
a_guest_that_is_killed_has_its_vf_closed_at_once() {
    one 45 new pc 1:257:10.1.0.5
    one 45 deploy 2
    has_its_nic
    has "$(on 2 cat "$pf/fake/vfs")" '^0 .* link Follow'
    began="$(date +%s%N) $("$LAB/node" processor 2)"
    closed_after=$(on 2 <<END
before=\$(date +%s%N)
kill -KILL \$(pgrep -f 'guest=one-45')
until grep -q '^0 .* link Down' $pf/fake/vfs; do :; done
echo \$(((\$(date +%s%N) - before) / 1000000))
END
    )
    echo "$began $(date +%s%N) $("$LAB/node" processor 2) $closed_after" | awk '{
        share = ($6 - $3) * 1e9 / ($4 - $1)
        printf "closed after %d ms, in which the node had %.2f of a processor\n", $7, share
        exit $7 * share >= 5000 }'
    has "$(on 2 cat /run/oneib/vfs)" ' vm=45 .* stage=ended '
}

it_is_open_again_when_the_vm_starts_again() {
    one 45 deploy 2
    has_its_nic
    has "$(on 2 cat "$pf/fake/vfs")" '^0 .* link Follow'
}

a_service_that_is_killed_comes_back_and_changes_nothing() {
    before=$(process_of_the_service)
    on 2 "kill -KILL $before"
    on 2 "$inside/wait-for 240 sh -c 'p=\$(systemctl show -p MainPID --value oneib-node.service); test \$p != 0 -a \$p != $before'"
    has_its_nic
    has "$(on 2 cat "$pf/fake/vfs")" '^0 .* link Follow'
}

its_child_is_started_again() {
    on 2 <<END
before=\$(pgrep -x oneib-domains)
kill -KILL \$before
$inside/wait-for 240 sh -c "p=\\\$(pgrep -x oneib-domains) && test \\\$p != \$before"
$inside/wait-for 240 sh -c '! oneib hca 2>&1 | grep -q libvirt-unreachable'
END
    has_its_nic
}

libvirt_may_be_restarted() {
    on 2 systemctl restart libvirtd
    on 2 "$inside/wait-for 240 sh -c '! oneib hca 2>&1 | grep -q libvirt-unreachable'"
    has_its_nic
}

a_nic_is_attached_while_the_service_is_restarted() {
    on 2 'systemd-run -q --unit restarts sh -c "for i in 1 2 3 4 5 6 7 8; do systemctl restart oneib-node.service; sleep 1; done"'
    one 45 attach 2:258:10.1.0.6
    on 2 "$inside/wait-for 240 sh -c '! systemctl -q is-active restarts'"
    { has_nic 1 "$vf" 0x0101 "$mac" "$(slot_of 0)"; has_nic 2 0000:01:10.2 0x0102 aa:01:0a:01:00:06 "$(slot_of 1)"; } | vm_is 2 45
    one 45 detach 2
    has_its_nic
}

what_is_granted_no_more_is_closed_at_once() {
    has "$(on 2 cat "$pf/fake/vfs")" '^0 .* link Follow'
    on 2 "cp /run/lab/oneibd/*.grants /run/granted && $inside/oneibd grant </dev/null"
    on 2 "$inside/wait-for 60 grep -q '^0 .* link Down' $pf/fake/vfs"
}

it_is_open_again_once_it_is_granted_again() {
    on 2 "$inside/oneibd grant </run/granted"
    on 2 "$inside/wait-for 240 grep -q '^0 .* link Follow' $pf/fake/vfs"
    has_its_nic
}

without_the_service_nothing_is_given_and_the_command_is_named() {
    on 2 'systemctl -q stop oneib-node.socket oneib-node-read.socket oneib-node.service'
    fails 45 attach 2:258:10.1.0.6
    has "$said" 'systemctl start oneib-node'
    has "$(on 2 /usr/libexec/oneib/im/probe)" '^IB_PROBLEM.*systemctl start oneib-node'
    has "$(on 2 'oneib check || true')" '^fail  *node: '
    on 2 systemctl start oneib-node.service
    on 2 "$inside/wait-for 240 sh -c '! oneib hca 2>&1 | grep -q -e libvirt-unreachable -e node-service'"
    has_its_nic
}

nothing_is_left_of_it_in_the_end() {
    one 45 terminate-hard
    on 2 "$inside/nothing-left"
}

# The SM: it gives the first VF's own port that entry.
first_key_is() {
    on 2 "echo '0 0 $1' >$pf/fake/vf_pkey && systemctl reload oneib-node.service"
}

# A link that is up while its key is waited for has a record that is not open.
is_closed_by() {
    on 2 "$inside/wait-for 240 sh -c 'grep -q \"^0 .* link Down\" $pf/fake/vfs && grep -q \" vm=46 .* stage=closed \" /run/oneib/vfs'" ||
        fail "not closed by $*: $(on 2 cat "$pf/fake/vfs" /run/oneib/vfs)"
}

is_open_again() {
    on 2 "$inside/wait-for 240 sh -c 'grep -q \"^0 .* link Follow\" $pf/fake/vfs && grep -q \" vm=46 .* stage=open \" /run/oneib/vfs'"
}

# The service has the device through its unit's DeviceAllow=, which looks the name up when it starts.
what_a_vfs_own_port_holds_is_asked_of_firmware() {
    on 2 "$inside/hca" mlx5 4 firmware=1
    on 2 systemctl restart oneib-node.service
    first_key_is 0x8101
    one 46 new pc 1:257:10.1.0.7
    one 46 "do" 2 vnm/infiniband/pre
    is_open_again
    has "$(on 2 oneib hca --json)" '"read_by": *"fwctl"'
    if on 2 oneib check | grep virtual-ports-unread; then fail "the service has not read it"; fi
}

firmware_names_a_subnet_manager_without_virtual_ports() {
    has "$(on 2 oneib hca --json)" '"sm_knows_virtual_ports": *true'
    on 2 'echo 1 >/sys/module/oneib_hca/parameters/sm_is_unaware'
    has "$(on 2 'oneib check || true')" '^warn  *virtual-ports-unserved: .*firmware of mlx5_0'
    has "$(on 2 'oneib hca 2>&1')" '\[virtual-ports-unserved\]'
    on 2 'echo 0 >/sys/module/oneib_hca/parameters/sm_is_unaware'
}

its_link_goes_down_with_its_key() {
    first_key_is 0x7fff
    is_closed_by 'the loss of its key'
    first_key_is 0x8101
    is_open_again
}

firmware_that_does_not_tell_any_more_closes_it() {
    on 2 'echo 1 >/sys/module/oneib_hca/parameters/firmware_refuses && systemctl reload oneib-node.service'
    is_closed_by firmware
    on 2 'echo 0 >/sys/module/oneib_hca/parameters/firmware_refuses && systemctl reload oneib-node.service'
    is_open_again
}

# Whoever has its device open keeps a module.
the_adapter_is_as_it_was_in_the_end() {
    one 46 "do" 2 vnm/infiniband/clean node2
    on 2 'systemctl -q stop oneib-node.socket oneib-node-read.socket oneib-node.service'
    on 2 "$inside/hca" mlx5 4
    on 2 systemctl start oneib-node.service
    on 2 "$inside/nothing-left"
}

begin_with 2 45 46
cases \
    only_opennebulas_group_may_ask_for_what_changes_something \
    root_keeps_one_capability_and_the_child_none \
    a_guest_that_is_killed_has_its_vf_closed_at_once \
    it_is_open_again_when_the_vm_starts_again \
    a_service_that_is_killed_comes_back_and_changes_nothing \
    its_child_is_started_again \
    libvirt_may_be_restarted \
    a_nic_is_attached_while_the_service_is_restarted \
    what_is_granted_no_more_is_closed_at_once \
    it_is_open_again_once_it_is_granted_again \
    without_the_service_nothing_is_given_and_the_command_is_named \
    nothing_is_left_of_it_in_the_end \
    what_a_vfs_own_port_holds_is_asked_of_firmware \
    firmware_names_a_subnet_manager_without_virtual_ports \
    its_link_goes_down_with_its_key \
    firmware_that_does_not_tell_any_more_closes_it \
    the_adapter_is_as_it_was_in_the_end
