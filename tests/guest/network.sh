# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What tests of lib/network*.sh share: a machine with ib0 and eth1, a dummy interface, stand-ins of ip and the managers.
for library in "$context"/lib/*.sh; do
    # shellcheck source=/dev/null # all of lib/
    . "$library"
done
PATH=$GUEST_TESTS/standins:$PATH
export PATH

# a_machine: to be called first in a test.
a_machine() {
    export IP_STATE="$work/ip" CALLS="$work/calls" MANAGER_WORKS='' NM_RUNS='' NM_FAILS='' NETPLAN_FAILS=''
    export ENABLED_UNITS='' ACTIVE_UNITS='' IP_FAILS=''
    mkdir -p "$IP_STATE" "$root/run/systemd/system" "$root/run/oneib/nics" "$root/etc/oneib"
    echo 'ONEIB_WAIT=0' >"$root/etc/oneib/guest.conf"
    : >"$CALLS"
    an_interface ib0 infiniband 80:00:02:08:fe:80:00:00:00:00:00:00:02:00:00:00:00:00:07:01 32
    echo datagram >"$root/sys/class/net/ib0/mode"
    an_interface eth1 ether aa:00:0a:14:00:0a 1
}

# an_interface NAME TYPE ADDRESS ARPHRD
an_interface() {
    ip link add "$1" type "$2" address "$3"
    mkdir -p "$root/sys/class/net/$1/device" "$root/proc/sys/net/ipv6/conf/$1"
    echo "$3" >"$root/sys/class/net/$1/address"
    echo "$4" >"$root/sys/class/net/$1/type"
    for file in disable_ipv6 accept_ra autoconf; do echo 0 >"$root/proc/sys/net/ipv6/conf/$1/$file"; done
}

# settings NAME: from standard input.
settings() {
    write "$root/run/oneib/nics/$1"
}

full_settings() {
    settings ib0 <<'END'
interface=ib0
nic=ETH1
guid=0200000000000701
index=1
mode=connected
mtu=65520
address=10.20.0.10/24
address=10.20.0.11/24
address=2001:DB8::a/64
gateway=10.20.0.1
gateway6=2001:db8::1
metric6=300
route=10.30.0.0/16 via 10.20.0.1
route=2001:db8:1::/48 via 2001:db8::2
dns=10.20.0.2
dns=2001:db8::53
search=hpc.example
search=example.org
END
}

small_settings() {
    settings "$1" <<END
interface=$1
nic=ETH1
guid=0200000000000701
address=$2
END
}

addresses() {
    ip -o addr show dev "$1" scope global | awk '{ print $4 }' | paste -s -d ' ' -
}

routes() {
    { ip -4 route show dev "$1" && ip -6 route show dev "$1"; } | sed -n 's/ proto static//; s/ *$//; / via /p'
}

calls_of() {
    grep "^$1 " "$CALLS" || true
}
