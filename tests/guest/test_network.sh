# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Bringing settings into force: choosing a manager, asking the kernel, completing with ip.
# shellcheck source=tests/guest/check.sh
. "$GUEST_TESTS/check.sh"
# shellcheck source=tests/guest/network.sh
. "$GUEST_TESTS/network.sh"

# --- with ip alone

test_everything_that_is_asked_for_is_set_with_ip() {
    a_machine
    full_settings
    succeeds network_apply ib0
    equal "addresses" "$(addresses ib0)" "10.20.0.10/24 10.20.0.11/24 2001:db8::a/64"
    equal "the MTU" "$(mtu_of ib0)" 65520
    equal "the mode" "$(cat "$root/sys/class/net/ib0/mode")" connected
    equal "routes" "$(routes ib0)" "default via 10.20.0.1 metric 2049
10.30.0.0/16 via 10.20.0.1
default via 2001:db8::1 metric 300 pref medium
2001:db8:1::/48 via 2001:db8::2 metric 1024 pref medium"
}

test_an_interface_is_set_at_boot_when_there_is_no_manager() {
    a_machine
    small_settings ib0 10.20.0.10/24
    succeeds network_apply --boot ib0
    equal "addresses" "$(addresses ib0)" 10.20.0.10/24
}

test_an_ipv6_only_network_works() {
    a_machine
    small_settings ib0 2001:db8::a/64
    succeeds network_apply ib0
    equal "addresses" "$(addresses ib0)" 2001:db8::a/64
}

test_a_second_run_changes_nothing() {
    a_machine
    full_settings
    succeeds network_apply ib0
    : >"$IP_STATE/calls"
    succeeds network_apply ib0
    has_not "$IP_STATE/calls" 'addr (add|del|flush)|route (add|del)|mtu|ib0 up'
}

test_two_interfaces_get_what_is_theirs() {
    a_machine
    an_interface ib1 infiniband 80:00:02:08:fe:80:00:00:00:00:00:00:02:00:00:00:00:00:07:02 32
    small_settings ib0 10.20.0.10/24
    small_settings ib1 10.21.0.10/24
    succeeds network_apply ib0 ib1
    equal "ib0's addresses" "$(addresses ib0)" 10.20.0.10/24
    equal "ib1's addresses" "$(addresses ib1)" 10.21.0.10/24
}

test_gateways_of_two_nics_do_not_have_the_same_metric() {
    a_machine
    an_interface ib1 infiniband 80:00:02:08:fe:80:00:00:00:00:00:00:02:00:00:00:00:00:07:02 32
    printf 'interface=ib0\nnic=ETH1\naddress=10.20.0.10/24\ngateway=10.20.0.1\n' | settings ib0
    printf 'interface=ib1\nnic=ETH2\naddress=10.21.0.10/24\ngateway=10.21.0.1\n' | settings ib1
    succeeds network_apply ib0 ib1
    equal "ib0's routes" "$(routes ib0)" "default via 10.20.0.1 metric 2049"
    equal "ib1's routes" "$(routes ib1)" "default via 10.21.0.1 metric 2050"
}

test_a_metric_of_zero_is_found_again() {
    a_machine
    printf 'interface=ib0\nnic=ETH1\naddress=10.20.0.10/24\ngateway=10.20.0.1\nmetric=0\n' | settings ib0
    succeeds network_apply ib0
    succeeds network_apply ib0
}

test_ipv6_is_switched_off_and_on_again() {
    a_machine
    { printf 'interface=ib0\nnic=ETH1\naddress=10.20.0.10/24\nip6=disable\n'; } | settings ib0
    succeeds network_apply ib0
    equal disable_ipv6 "$(cat "$root/proc/sys/net/ipv6/conf/ib0/disable_ipv6")" 1
    printf 'interface=ib0\nnic=ETH1\nip6=auto\n' | settings ib0
    succeeds network_apply ib0
    equal disable_ipv6 "$(cat "$root/proc/sys/net/ipv6/conf/ib0/disable_ipv6")" 0
    equal accept_ra "$(cat "$root/proc/sys/net/ipv6/conf/ib0/accept_ra")" 1
}

test_without_a_method_no_router_is_listened_to() {
    a_machine
    echo 1 >"$root/proc/sys/net/ipv6/conf/ib0/accept_ra"
    small_settings ib0 2001:db8::a/64
    succeeds network_apply ib0
    equal accept_ra "$(cat "$root/proc/sys/net/ipv6/conf/ib0/accept_ra")" 0
}

# --- mode and MTU

test_an_adapter_without_connected_mode_gets_the_highest_mtu_there() {
    a_machine
    write_mode() { :; }
    echo 4092 >"$IP_STATE/links/ib0/mtu_max"
    full_settings
    says 'ib0: its adapter has no connected mode.*IPOIB_MODE' network_apply ib0
    succeeds network_apply ib0
    equal "the MTU" "$(mtu_of ib0)" 4092
    equal "the mode" "$(cat "$root/sys/class/net/ib0/mode")" datagram
}

test_a_fabric_with_an_mtu_of_2048_has_2044_in_datagram_mode() {
    a_machine
    write_mode() { :; }
    echo 2044 >"$IP_STATE/links/ib0/mtu_max"
    full_settings
    succeeds network_apply ib0
    equal "the MTU" "$(mtu_of ib0)" 2044
}

test_an_interface_without_modes_is_taken_as_it_is() {
    a_machine
    rm "$root/sys/class/net/ib0/mode"
    small_settings ib0 10.20.0.10/24
    prints '' network_apply ib0
    has_not "$root/run/oneib/network/ib0" '^mode='
}

test_an_mtu_that_is_too_large_is_said_with_a_fix() {
    a_machine
    echo 2044 >"$IP_STATE/links/ib0/mtu_max"
    printf 'interface=ib0\nnic=ETH1\nmtu=4092\naddress=10.20.0.10/24\n' | settings ib0
    fails network_apply ib0
    says 'ib0: MTU 4092 is missing \(RTNETLINK answers: Invalid argument\): ask for a smaller MTU' network_apply ib0
    equal "addresses" "$(addresses ib0)" 10.20.0.10/24
}

test_the_mode_is_set_before_the_mtu() {
    a_machine
    ip() {
        case "$*" in
        *" mtu "*) cat "$root/sys/class/net/ib0/mode" >>"$work/modes" ;;
        esac
        command ip "$@"
    }
    full_settings
    succeeds network_apply ib0
    equal "the mode when the MTU was set" "$(cat "$work/modes")" connected
}

# --- what is not wanted any more

test_an_address_that_oneib_gave_is_taken_back() {
    a_machine
    small_settings ib0 10.20.0.10/24
    succeeds network_apply ib0
    small_settings ib0 10.20.0.99/24
    succeeds network_apply ib0
    equal "addresses" "$(addresses ib0)" 10.20.0.99/24
}

test_an_address_does_not_take_others_of_its_network_with_it() {
    a_machine
    echo 0 | write "$root/proc/sys/net/ipv4/conf/ib0/promote_secondaries"
    small_settings ib0 10.20.0.10/24
    succeeds network_apply ib0
    small_settings ib0 10.20.0.99/24
    succeeds network_apply ib0
    equal promote_secondaries "$(cat "$root/proc/sys/net/ipv4/conf/ib0/promote_secondaries")" 1
}

test_an_address_of_somebody_else_stays() {
    a_machine
    ip addr add 192.0.2.1/24 dev ib0
    small_settings ib0 10.20.0.10/24
    succeeds network_apply ib0
    small_settings ib0 10.20.0.99/24
    succeeds network_apply ib0
    equal "addresses" "$(addresses ib0)" "192.0.2.1/24 10.20.0.99/24"
}

test_a_route_that_oneib_gave_is_taken_back() {
    a_machine
    full_settings
    succeeds network_apply ib0
    sed -i '/^route=/d; /^gateway=/d' "$root/run/oneib/nics/ib0"
    succeeds network_apply ib0
    equal "routes" "$(routes ib0)" "default via 2001:db8::1 metric 300 pref medium"
}

test_an_interface_that_is_nobodys_any_more_loses_what_oneib_gave() {
    a_machine
    small_settings ib0 10.20.0.10/24
    succeeds network_apply ib0
    succeeds network_apply
    equal "addresses" "$(addresses ib0)" ''
    [ ! -e "$root/run/oneib/given/ib0" ]
}

test_what_was_given_to_an_interface_that_is_gone_is_forgotten() {
    a_machine
    small_settings ib0 10.20.0.10/24
    succeeds network_apply ib0
    ip link del ib0
    succeeds network_apply
    [ ! -e "$root/run/oneib/given/ib0" ]
}

# --- what goes wrong

test_an_interface_that_has_gone_is_said_and_the_others_are_set() {
    a_machine
    small_settings ib7 10.20.7.10/24
    small_settings ib0 10.20.0.10/24
    fails network_apply ib7 ib0
    says '^oneib: ib7: is not there any more' network_apply ib7 ib0
    equal "addresses" "$(addresses ib0)" 10.20.0.10/24
}

test_settings_that_are_none_are_refused() {
    a_machine
    for line in 'address=10.20.0.10/33' 'address=10.20.0.10/24 dev eth0' 'mtu=$(reboot)' 'gateway=10.20.0.1;reboot' 'search=a b' \
        'route=default' 'route=10.0.0.0/8 via ::1' 'mode=fast' 'PATH=/tmp' 'no setting at all' 'metric=-1' 'dns=`id`' 'ip6=yes'; do
        printf 'interface=ib0\n%s\naddress=10.20.0.10/24\n' "$line" | settings ib0
        fails network_apply ib0
        grep -q "^oneib: ib0: .* is no setting" "$work/output" || fail "nothing is said of $line: $(cat "$work/output")"
        equal "addresses with $line" "$(addresses ib0)" ''
    done
}

test_a_gateway_out_of_reach_is_named_with_a_fix() {
    a_machine
    printf 'interface=ib0\nnic=ETH1\naddress=10.20.0.10/24\ngateway=192.0.2.1\n' | settings ib0
    fails network_apply ib0
    has "$work/output" 'ib0: route default via 192.0.2.1 is missing \(.*invalid gateway.*\): the gateway has to be in'
}

test_an_address_that_the_kernel_refuses_is_named_with_a_fix() {
    a_machine
    small_settings ib0 10.20.0.10/24
    IP_FAILS='*addr add*'
    fails network_apply ib0
    has "$work/output" 'ib0: address 10.20.0.10/24 is missing \(RTNETLINK answers: Operation not permitted\): see with'
}

# --- dummy interfaces

test_a_dummy_interface_loses_its_address_and_goes_down() {
    a_machine
    ip link set eth1 up
    ip addr add 10.20.0.10/24 dev eth1
    small_settings ib0 10.20.0.10/24
    succeeds network_apply ib0
    equal "eth1's addresses" "$(addresses eth1)" ''
    [ ! -e "$IP_STATE/links/eth1/up" ]
    equal "ib0's addresses" "$(addresses ib0)" 10.20.0.10/24
}

# --- which manager

test_without_any_manager_it_is_ip() {
    a_machine
    prints ip network_manager
}

test_a_manager_is_taken_that_systemd_starts() {
    a_machine
    ENABLED_UNITS=systemd-networkd.service
    prints networkd network_manager
    ENABLED_UNITS=NetworkManager.service
    prints networkmanager network_manager
}

test_a_manager_is_taken_that_runs_without_being_enabled() {
    a_machine
    ACTIVE_UNITS=systemd-networkd.service
    prints networkd network_manager
}

test_networkmanager_that_is_to_leave_all_alone_is_not_taken() {
    a_machine
    ENABLED_UNITS='NetworkManager.service systemd-networkd.service'
    printf '[keyfile]\nunmanaged-devices=*\n' | write "$root/etc/NetworkManager/conf.d/50-unmanaged-devices.conf"
    prints networkd network_manager
    ENABLED_UNITS=NetworkManager.service
    prints ip network_manager
}

test_networkmanager_is_taken_at_boot_though_opennebula_has_told_it_to_leave_all_alone() {
    a_machine
    ENABLED_UNITS=NetworkManager.service
    printf '[keyfile]\nunmanaged-devices=*\n' | write "$root/etc/NetworkManager/conf.d/50-unmanaged-devices.conf"
    prints networkmanager network_manager yes
}

test_networkmanager_is_taken_without_systemd_when_it_runs() {
    a_machine
    rmdir "$root/run/systemd/system"
    prints ip network_manager
    NM_RUNS=yes
    prints networkmanager network_manager
}

test_netplan_is_taken_when_somebody_uses_it() {
    a_machine
    ENABLED_UNITS=systemd-networkd.service
    prints networkd network_manager
    printf 'network:\n  version: 2\n' | write "$root/etc/netplan/60-oneib-ib0.yaml"
    prints networkd network_manager
    printf 'network:\n  version: 2\n  renderer: networkd\n' | write "$root/etc/netplan/50-one-context.yaml"
    prints netplan network_manager
}

test_netplan_for_networkmanager_leaves_it_to_that() {
    a_machine
    ENABLED_UNITS=NetworkManager.service
    printf 'network:\n  version: 2\n  renderer: NetworkManager\n' | write "$root/etc/netplan/01-network-manager-all.yaml"
    prints networkmanager network_manager
}

test_ifupdown_is_taken_when_it_reads_our_files() {
    a_machine
    ENABLED_UNITS=networking.service
    printf 'auto lo\niface lo inet loopback\n' | write "$root/etc/network/interfaces"
    prints ip network_manager
    echo 'source /etc/network/interfaces.d/*.cfg' >>"$root/etc/network/interfaces"
    prints ifupdown network_manager
    printf '  source interfaces.d/*\n' >"$root/etc/network/interfaces"
    prints ifupdown network_manager
}

test_the_image_or_the_context_names_a_manager() {
    a_machine
    ENABLED_UNITS=systemd-networkd.service
    for name in NetworkManager:networkmanager nm:networkmanager none:ip systemd-networkd:networkd ifupdown:ifupdown; do
        echo "NETWORK_MANAGER=${name%:*}" >"$root/etc/oneib/guest.conf"
        prints "${name#*:}" network_manager
    done
}

test_a_manager_that_nobody_knows_is_said_and_the_one_in_use_is_taken() {
    a_machine
    ENABLED_UNITS=systemd-networkd.service
    echo 'NETWORK_MANAGER=wicked' >"$root/etc/oneib/guest.conf"
    prints networkd network_manager
    says "NETWORK_MANAGER wicked: is none that oneib knows" network_manager
}

run_tests
