#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The guest's scripts (share/context) with network managers as Debian has them; tests/guest has only stand-ins of them. node1
# is the guest: its adapter's interface has a GUID such as oneib gives, and its context is OpenNebula's of a VM with that NIC.
# udev calls it by where its adapter is. The managers do not touch the node's own network, which udev sets up.
. "$LAB/scenario.sh"
guest=${LAB%/tests/system}/share/context/oneib-guest

# What managers leave in /run, and no boot would: netplan's rules for udev keep NetworkManager off an interface.
left_in_run='/run/NetworkManager /run/netplan /run/udev/rules.d/*netplan* /run/systemd/network/* /run/network/ifstate'

# begin_with MANAGER: a guest that has this one, and an interface without anything.
begin_with() {
    on 1 <<END
systemctl -q stop systemd-networkd.socket systemd-networkd NetworkManager networking 2>/dev/null
systemctl -q --no-reload disable systemd-networkd.socket systemd-networkd NetworkManager networking 2>/dev/null
$inside/hca none
$inside/forget-guest
rm -rf /run/one-context $left_in_run /etc/netplan/* /etc/systemd/network/* \
    /etc/NetworkManager/system-connections/* /etc/NetworkManager/conf.d/* /etc/network/interfaces.d/*
udevadm control --reload
printf '[keyfile]\nunmanaged-devices=interface-name:e*\n' >/etc/NetworkManager/conf.d/10-lab.conf
printf 'auto lo\niface lo inet loopback\n' >/etc/network/interfaces
mkdir -p /run/network /run/one-context
$inside/hca mlx5 0 guid=0x0200000000000701
case $1 in
netplan) printf 'network:\n  version: 2\n  renderer: networkd\n' >/etc/netplan/50-one-context.yaml ;;
ifupdown) echo 'source /etc/network/interfaces.d/*.cfg' >>/etc/network/interfaces ;;
esac
END
    # All units are loaded; who asks whether one is enabled is told what is on the disk.
    [ "$1" = none ] || on 1 systemctl -q --no-reload enable "$(unit_of "$1")"
    start_manager "$1"
    tell_context "ETH1_ROUTES='10.30.0.0/16 via 10.20.0.1'"
}

# tell_context LINE...: of the NIC, besides what all have.
tell_context() {
    {
        printf "%s\n" "ETH1_GATEWAY='10.20.0.1'" "ETH1_IP='10.20.0.10'" "ETH1_MAC='aa:01:0a:14:00:0a'" \
            "ETH1_MASK='255.255.255.0'" "ETH1_MTU='1500'" "VMID='7'" "$@"
    } | on 1 "cat >/run/one-context/context.sh.network"
}

unit_of() {
    case $1 in
    netplan | networkd) echo systemd-networkd ;;
    networkmanager) echo NetworkManager ;;
    ifupdown) echo networking ;;
    esac
}

start_manager() {
    [ "$1" = none ] || on 1 systemctl restart "$(unit_of "$1")"
}

stop_manager() {
    on 1 "systemctl stop systemd-networkd.socket $(unit_of "$1")"
}

all_is_there() {
    on 1 "$inside/wait-for" 240 "$inside/interface-is" "$1"
}

files_of_oneib() {
    on 1 "find /etc/netplan /etc/systemd/network /etc/NetworkManager/system-connections /etc/network/interfaces.d -name '*oneib-*'"
}

gives_all() { # MANAGER
    begin_with "$1"
    on 1 "$guest" network
    all_is_there "$1"
    is 1 "$(files_of_oneib | wc -l)" "files for the interface"
}

# A second run tells nobody anything: the kernel has no event of it.
second_run_changes_nothing() {
    on 1 <<END
ip -o monitor address link route >/run/events & monitor=\$!
sleep 1
$guest network
sleep 1
kill \$monitor
END
    # The link's own address comes into use in the kernel's time, which may be now.
    is '' "$(on 1 "grep -w ibp1s0 /run/events | grep -v fe80: || true")" "what a second run does to ibp1s0"
}

new_address_replaces_the_old_one() { # MANAGER
    tell_context "ETH1_IP='10.20.0.99'" "ETH1_GATEWAY=''"
    on 1 "$guest" network
    is 10.20.0.99/24 "$(on 1 "ip -o -4 addr show dev ibp1s0 | awk '{ print \$4 }'")" "ibp1s0's address after a change"
    is '' "$(on 1 ip route show default dev ibp1s0)" "ibp1s0's gateway after a change"
}

# At boot the files are written, and nobody is called; the manager that starts then has all that it needs. What was in /run
# is gone, and the context has changed since.
boot_is_enough() { # MANAGER
    stop_manager "$1"
    on 1 <<END
$inside/forget-guest
rm -rf $left_in_run
udevadm control --reload
ip address flush dev ibp1s0
ip link set ibp1s0 down
END
    tell_context "ETH1_ROUTES='10.30.0.0/16 via 10.20.0.1'"
    on 1 "$guest" network --boot
    is '' "$(on 1 ip -o -4 addr show dev ibp1s0)" "ibp1s0's addresses before its manager starts"
    start_manager "$1"
    all_is_there "$1"
}

interface_that_is_gone_has_no_files() {
    on 1 "$inside/hca" none
    on 1 "$guest" network
    is '' "$(files_of_oneib)" "files of an interface that is gone"
}

networkd_gives_an_interface_all_that_it_shall_have() { gives_all networkd; }
networkd_is_not_called_by_a_second_run() { second_run_changes_nothing; }
networkd_gives_a_new_address_instead_of_the_old_one() { new_address_replaces_the_old_one networkd; }
networkd_does_it_by_itself_after_a_boot() { boot_is_enough networkd; }
networkd_has_no_files_of_an_interface_that_is_gone() { interface_that_is_gone_has_no_files; }

netplan_gives_an_interface_all_that_it_shall_have() { gives_all netplan; }
netplan_is_not_called_by_a_second_run() { second_run_changes_nothing; }
netplan_gives_a_new_address_instead_of_the_old_one() { new_address_replaces_the_old_one netplan; }
netplan_does_it_by_itself_after_a_boot() { boot_is_enough netplan; }
netplan_has_no_files_of_an_interface_that_is_gone() { interface_that_is_gone_has_no_files; }

networkmanager_gives_an_interface_all_that_it_shall_have() { gives_all networkmanager; }
networkmanager_is_not_called_by_a_second_run() { second_run_changes_nothing; }
networkmanager_gives_a_new_address_instead_of_the_old_one() { new_address_replaces_the_old_one networkmanager; }
networkmanager_does_it_by_itself_after_a_boot() { boot_is_enough networkmanager; }
networkmanager_has_no_files_of_an_interface_that_is_gone() { interface_that_is_gone_has_no_files; }

ifupdown_gives_an_interface_all_that_it_shall_have() { gives_all ifupdown; }
ifupdown_is_not_called_by_a_second_run() { second_run_changes_nothing; }
ifupdown_gives_a_new_address_instead_of_the_old_one() { new_address_replaces_the_old_one ifupdown; }
ifupdown_does_it_by_itself_after_a_boot() { boot_is_enough ifupdown; }
ifupdown_has_no_files_of_an_interface_that_is_gone() { interface_that_is_gone_has_no_files; }

without_a_manager_ip_does_it_at_boot() {
    begin_with none
    on 1 "$guest" network --boot
    all_is_there none
    on 1 "$inside/forget-guest && rm -rf /run/one-context"
}

managers="networkd netplan networkmanager ifupdown"
list=''
for manager in $managers; do
    for what in gives_an_interface_all_that_it_shall_have is_not_called_by_a_second_run \
        gives_a_new_address_instead_of_the_old_one does_it_by_itself_after_a_boot has_no_files_of_an_interface_that_is_gone; do
        list="$list ${manager}_$what"
    done
done
list="$list without_a_manager_ip_does_it_at_boot"

# shellcheck disable=SC2086 # a list of names
cases $list
