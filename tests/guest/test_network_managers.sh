# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What each network manager is told: files compared whole, and the calls by which it takes them.
# shellcheck source=tests/guest/check.sh
. "$GUEST_TESTS/check.sh"
# shellcheck source=tests/guest/network.sh
. "$GUEST_TESTS/network.sh"

networkd=/etc/systemd/network
netplan=/etc/netplan
connections=/etc/NetworkManager/system-connections
ifupdown=/etc/network/interfaces.d

# use NAME
use() {
    printf 'ONEIB_WAIT=0\nNETWORK_MANAGER=%s\n' "$1" >"$root/etc/oneib/guest.conf"
    ENABLED_UNITS='systemd-networkd.service NetworkManager.service networking.service'
    ACTIVE_UNITS=$ENABLED_UNITS
    NM_RUNS=yes
    echo 'lo=lo' | write "$root/run/network/ifstate"
}

# file_is FILE: whole, as standard input.
file_is() {
    cat >"$work/shall"
    diff "$work/shall" "$root$1" || fail "$1 is another one"
}

# --- files

test_networkd_is_told_everything() {
    a_machine && full_settings && use networkd
    succeeds network_apply --boot ib0
    file_is "$networkd/05-oneib-ib0.network" <<'END'
# Made by oneib-guest, which writes it again at each boot and change of the context.
[Match]
Name=ib0

[Link]
RequiredForOnline=no
MTUBytes=65520

[Network]
ConfigureWithoutCarrier=yes
Address=10.20.0.10/24
Address=10.20.0.11/24
Address=2001:DB8::a/64
DNS=10.20.0.2
DNS=2001:db8::53
Domains=hpc.example
Domains=example.org
IPv6AcceptRA=no

[Route]
Destination=0.0.0.0/0
Gateway=10.20.0.1
Metric=2049

[Route]
Destination=::/0
Gateway=2001:db8::1
Metric=300

[Route]
Destination=10.30.0.0/16
Gateway=10.20.0.1

[Route]
Destination=2001:db8:1::/48
Gateway=2001:db8::2
END
}

test_netplan_is_told_everything() {
    a_machine && full_settings && use netplan
    succeeds network_apply --boot ib0
    file_is "$netplan/60-oneib-ib0.yaml" <<'END'
# Made by oneib-guest, which writes it again at each boot and change of the context.
network:
  version: 2
  ethernets:
    "ib0":
      renderer: networkd
      optional: true
      mtu: 65520
      accept-ra: false
      addresses:
        - "10.20.0.10/24"
        - "10.20.0.11/24"
        - "2001:DB8::a/64"
      routes:
        - to: "0.0.0.0/0"
          via: "10.20.0.1"
          metric: 2049
        - to: "::/0"
          via: "2001:db8::1"
          metric: 300
        - to: "10.30.0.0/16"
          via: "10.20.0.1"
        - to: "2001:db8:1::/48"
          via: "2001:db8::2"
      nameservers:
        addresses:
          - "10.20.0.2"
          - "2001:db8::53"
        search:
          - "hpc.example"
          - "example.org"
END
    equal "the file's mode" "$(stat -c %a "$root$netplan/60-oneib-ib0.yaml")" 600
}

test_networkmanager_is_told_everything() {
    a_machine && full_settings && use networkmanager
    succeeds network_apply --boot ib0
    file_is "$connections/oneib-ib0.nmconnection" <<'END'
# Made by oneib-guest, which writes it again at each boot and change of the context.
[connection]
id=oneib-ib0
type=infiniband
interface-name=ib0

[infiniband]
transport-mode=connected
mtu=65520

[ipv4]
method=manual
address1=10.20.0.10/24
address2=10.20.0.11/24
route1=0.0.0.0/0,10.20.0.1,2049
route2=10.30.0.0/16,10.20.0.1
dns=10.20.0.2;
dns-search=hpc.example;example.org;

[ipv6]
method=manual
addr-gen-mode=eui64
address1=2001:DB8::a/64
route1=::/0,2001:db8::1,300
route2=2001:db8:1::/48,2001:db8::2
dns=2001:db8::53;
dns-search=hpc.example;example.org;
END
    equal "the file's mode" "$(stat -c %a "$root$connections/oneib-ib0.nmconnection")" 600
}

test_ifupdown_is_told_everything() {
    a_machine && full_settings && use ifupdown
    succeeds network_apply --boot ib0
    file_is "$ifupdown/oneib-ib0.cfg" <<'END'
# Made by oneib-guest, which writes it again at each boot and change of the context.
auto ib0
iface ib0 inet manual
    pre-up ip addr flush dev ib0 scope global || true
    pre-up echo connected >/sys/class/net/ib0/mode || true
    pre-up ip link set dev ib0 mtu 65520 || true
    pre-up echo 0 >/proc/sys/net/ipv6/conf/ib0/accept_ra || true
    pre-up echo 0 >/proc/sys/net/ipv6/conf/ib0/autoconf || true
    dns-nameservers 10.20.0.2 2001:db8::53
    dns-search hpc.example example.org
iface ib0 inet static
    address 10.20.0.10/24
iface ib0 inet static
    address 10.20.0.11/24
iface ib0 inet6 static
    dad-attempts 0
    autoconf 0
    address 2001:DB8::a/64
    up ip -4 route add 0.0.0.0/0 via 10.20.0.1 dev ib0 metric 2049 || true
    up ip -6 route add ::/0 via 2001:db8::1 dev ib0 metric 300 || true
    up ip -4 route add 10.30.0.0/16 via 10.20.0.1 dev ib0 || true
    up ip -6 route add 2001:db8:1::/48 via 2001:db8::2 dev ib0 || true
END
}

small_with() {
    small_settings ib0 10.20.0.10/24
    echo "$1" >>"$root/run/oneib/nics/ib0"
}

test_managers_listen_to_routers_where_that_is_asked_for() {
    a_machine && small_with ip6=auto
    for manager in networkd netplan networkmanager ifupdown; do
        use $manager
        succeeds network_apply --boot ib0
        case $manager in
        networkd)
            has "$root$networkd/05-oneib-ib0.network" '^IPv6AcceptRA=yes$'
            has "$root$networkd/05-oneib-ib0.network" '^DHCPv6Client=no$'
            ;;
        netplan) has "$root$netplan/60-oneib-ib0.yaml" '^      accept-ra: true$' ;;
        networkmanager) has "$root$connections/oneib-ib0.nmconnection" '^method=auto$' ;;
        ifupdown) has "$root$ifupdown/oneib-ib0.cfg" 'pre-up echo 1 >/proc/sys/net/ipv6/conf/ib0/accept_ra ' ;;
        esac
    done
}

test_managers_switch_ipv6_off_where_that_is_asked_for() {
    a_machine && small_with ip6=disable
    for manager in networkd netplan networkmanager ifupdown; do
        use $manager
        succeeds network_apply --boot ib0
        case $manager in
        networkd) has "$root$networkd/05-oneib-ib0.network" '^LinkLocalAddressing=no$' ;;
        netplan) has "$root$netplan/60-oneib-ib0.yaml" '^      link-local: \[\]$' ;;
        networkmanager) has "$root$connections/oneib-ib0.nmconnection" '^method=disabled$' ;;
        ifupdown) has "$root$ifupdown/oneib-ib0.cfg" 'pre-up echo 1 >/proc/sys/net/ipv6/conf/ib0/disable_ipv6 ' ;;
        esac
    done
}

test_networkmanager_always_has_a_mode_and_no_mtu_that_it_would_cut() {
    a_machine && small_with mtu=4092 && use networkmanager
    rm "$root/sys/class/net/ib0/mode"
    succeeds network_apply --boot ib0
    has "$root$connections/oneib-ib0.nmconnection" '^transport-mode=datagram$'
    has_not "$root$connections/oneib-ib0.nmconnection" '^mtu='
}

test_networkmanager_gets_an_ipv6_only_network() {
    a_machine && small_settings ib0 2001:db8::a/64 && use networkmanager
    succeeds network_apply --boot ib0
    prints 'method=disabled
method=manual' grep '^method=' "$root$connections/oneib-ib0.nmconnection"
}

test_a_manager_is_told_the_mode_that_the_adapter_has() {
    a_machine && full_settings && use networkmanager
    write_mode() { :; }
    succeeds network_apply --boot ib0
    has "$root$connections/oneib-ib0.nmconnection" '^transport-mode=datagram$'
}

# --- running managers

test_at_boot_no_manager_is_called_and_no_address_set() {
    a_machine && small_settings ib0 10.20.0.10/24
    for manager in networkd networkmanager ifupdown; do
        use $manager
        succeeds network_apply --boot ib0
    done
    has_not "$CALLS" 'reload|reconfigure| up |ifup|restart'
    equal "addresses" "$(addresses ib0)" ''
}

test_what_a_manager_gives_is_not_given_again() {
    a_machine && full_settings && use networkd
    MANAGER_WORKS=yes
    ip link set ib0 mtu 65520
    : >"$IP_STATE/calls"
    succeeds network_apply ib0
    equal "addresses" "$(addresses ib0)" "10.20.0.10/24 10.20.0.11/24 2001:db8::a/64"
    has_not "$IP_STATE/calls" 'addr add|route add'
}

test_what_a_manager_does_not_give_is_given_with_ip() {
    a_machine && full_settings && use networkd
    succeeds network_apply ib0
    equal "addresses" "$(addresses ib0)" "10.20.0.10/24 10.20.0.11/24 2001:db8::a/64"
}

test_a_second_run_tells_no_manager_anything() {
    a_machine && small_settings ib0 10.20.0.10/24
    MANAGER_WORKS=yes
    for manager in networkd netplan networkmanager ifupdown; do
        use $manager
        succeeds network_apply ib0
        : >"$CALLS"
        succeeds network_apply ib0
        has_not "$CALLS" 'reload|reconfigure| up |ifup|restart|generate'
    done
}

test_networkd_is_told_to_read_and_to_reconfigure() {
    a_machine && small_settings ib0 10.20.0.10/24 && use networkd
    succeeds network_apply ib0
    equal "calls" "$(calls_of networkctl)" 'networkctl reload
networkctl reconfigure ib0'
}

test_networkmanager_is_told_to_bring_the_connection_up() {
    a_machine && small_settings ib0 10.20.0.10/24 && use networkmanager
    succeeds network_apply ib0
    equal "calls" "$(calls_of nmcli | grep -v RUNNING)" 'nmcli general reload conf
nmcli connection reload
nmcli --wait 20 connection up oneib-ib0 ifname ib0'
}

test_networkmanager_that_cannot_is_said_and_ip_does_it() {
    a_machine && small_settings ib0 10.20.0.10/24 && use networkmanager
    NM_FAILS=yes
    succeeds network_apply ib0
    has "$work/output" 'connection up oneib-ib0.*No suitable device'
    equal "addresses" "$(addresses ib0)" 10.20.0.10/24
}

test_ifupdown_is_told_to_bring_the_interface_up() {
    a_machine && small_settings ib0 10.20.0.10/24 && use ifupdown
    succeeds network_apply ib0
    equal "calls" "$(calls_of ifup)" 'ifup --force ib0'
}

test_a_manager_that_does_not_run_is_not_waited_for() {
    a_machine && small_settings ib0 10.20.0.10/24
    for manager in networkd networkmanager ifupdown; do
        use $manager
        printf 'ONEIB_WAIT=200\nNETWORK_MANAGER=%s\n' $manager >"$root/etc/oneib/guest.conf"
        ACTIVE_UNITS='' NM_RUNS=''
        rm "$root/run/network/ifstate"
        ip addr flush dev ib0
        succeeds network_apply ib0
        has_not "$CALLS" 'reload|reconfigure| up |ifup|restart'
        equal "addresses" "$(addresses ib0)" 10.20.0.10/24
    done
}

test_netplans_files_become_networkds_at_boot() {
    a_machine && small_settings ib0 10.20.0.10/24 && use netplan
    succeeds network_apply --boot ib0
    equal "calls" "$(calls_of netplan)" 'netplan generate'
}

test_a_file_that_netplan_refuses_is_removed_and_ip_does_it() {
    a_machine && small_settings ib0 10.20.0.10/24 && use netplan
    NETPLAN_FAILS=yes
    fails network_apply ib0
    has "$work/output" 'netplan generate: has failed: .*unknown key'
    [ ! -e "$root$netplan/60-oneib-ib0.yaml" ] || fail "the file is there"
    equal "addresses" "$(addresses ib0)" 10.20.0.10/24
}

# --- what is not wanted any more

test_an_interface_that_is_gone_loses_its_files() {
    a_machine && small_settings ib0 10.20.0.10/24
    for manager in networkd netplan networkmanager ifupdown; do
        use $manager
        succeeds network_apply ib0
        succeeds network_apply
        equal "files of $manager" "$(find "$root/etc" -name '*ib0*')" ''
    done
}

test_another_manager_takes_the_files_of_the_one_before() {
    a_machine && small_settings ib0 10.20.0.10/24
    for manager in networkd netplan networkmanager ifupdown ip; do
        use $manager
        succeeds network_apply ib0
        count=1
        [ $manager != ip ] || count=0
        equal "number of files with $manager" "$(find "$root/etc" -name '*ib0*' | wc -l)" $count
    done
}

test_files_of_others_stay_as_they_are() {
    a_machine && small_settings ib0 10.20.0.10/24 && use networkd
    for file in "$networkd/10-eth0.network" "$netplan/50-one-context.yaml" "$connections/eth0.nmconnection" \
        "$ifupdown/eth0.cfg" /etc/network/interfaces; do
        echo "not ours" | write "$root$file"
    done
    succeeds network_apply ib0
    succeeds network_apply
    equal "files of others" "$(grep -rlx 'not ours' "$root/etc" | wc -l)" 5
}

# --- dummy interfaces

test_networkd_stays_off_dummy_interfaces() {
    a_machine && small_settings ib0 10.20.0.10/24 && use networkd
    succeeds network_apply --boot ib0
    file_is "$networkd/05-oneib.network" <<'END'
# Made by oneib-guest, which writes it again at each boot and change of the context.
[Match]
MACAddress=aa:00:0a:14:00:0a

[Link]
Unmanaged=yes
END
}

test_networkmanager_stays_off_dummy_interfaces() {
    a_machine && small_settings ib0 10.20.0.10/24 && use networkmanager
    an_interface eth2 ether aa:01:0a:15:00:0a 1
    succeeds network_apply --boot ib0
    file_is /etc/NetworkManager/conf.d/60-oneib.conf <<'END'
# Made by oneib-guest, which writes it again at each boot and change of the context.
[keyfile]
unmanaged-devices+=interface-name:eth1;interface-name:eth2;
END
}

test_ifupdown_stays_off_dummy_interfaces() {
    a_machine && small_settings ib0 10.20.0.10/24 && use ifupdown
    succeeds network_apply --boot ib0
    file_is "$ifupdown/oneib.cfg" <<'END'
# Made by oneib-guest, which writes it again at each boot and change of the context.
iface eth1 inet manual
    up ip addr flush dev eth1
    up ip link set dev eth1 down
END
}

test_a_manager_that_is_to_stay_off_a_new_dummy_interface_is_told() {
    a_machine && use networkd
    succeeds network_apply
    equal "calls" "$(calls_of networkctl)" 'networkctl reload'
}

test_without_dummy_interfaces_no_file_is_for_them() {
    a_machine && small_settings ib0 10.20.0.10/24 && use networkd
    succeeds network_apply ib0
    rm -r "$root/sys/class/net/eth1"
    succeeds network_apply ib0
    [ ! -e "$root$networkd/05-oneib.network" ]
}

run_tests
