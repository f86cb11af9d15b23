# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What a machine has: lib/interfaces.sh.
# shellcheck source=tests/guest/check.sh
. "$GUEST_TESTS/check.sh"
# shellcheck source=tests/guest/machine.sh
. "$GUEST_TESTS/machine.sh"
# shellcheck source=share/context/lib/text.sh
. "$context/lib/text.sh"
# shellcheck source=share/context/lib/context.sh
. "$context/lib/context.sh"
# shellcheck source=share/context/lib/interfaces.sh
. "$context/lib/interfaces.sh"

guid1=0200000000002a01

# sample_of_macs: prints thousands of MACs, the same each time: dummy MACs in all spellings, and what is nearly one.
sample_of_macs() {
    awk '
    function random(limit) {
        seed = (seed * 16807) % 2147483647
        return seed % limit
    }
    function digit() { return substr("0123456789abcdefABCDEF", random(22) + 1, 1) }
    function byte() { return digit() digit() }
    BEGIN {
        seed = 20
        for (i = 0; i < 6000; i++) {
            prefix = substr("aaAAaAAaaaaaaaaa", 2 * random(8) + 1, 2)
            mac = prefix ":0" digit() ":" byte() ":" byte() ":" byte() ":" byte()
            kind = random(12)
            at = random(length(mac)) + 1
            if (kind == 0)
                mac = substr(mac, 1, at - 1) substr(mac, at + 1)
            else if (kind == 1)
                mac = substr(mac, 1, at - 1) digit() substr(mac, at)
            else if (kind == 2)
                mac = substr(mac, 1, at - 1) substr("gG:-. zx0#$(`;", random(14) + 1, 1) substr(mac, at + 1)
            else if (kind == 3)
                mac = byte() substr(mac, 3)
            else if (kind == 4)
                mac = substr(mac, 1, 3) byte() substr(mac, 6)
            print mac
        }
    }'
}

decode_each() {
    while IFS= read -r mac; do
        decode_mac "$mac" || echo -
    done
}

test_decoding_is_that_of_oneib_mac_over_a_large_sample() {
    [ "${ONEIB_DECODE_MACS-}" ] || fail "ONEIB_DECODE_MACS is to be the program decode_macs: run this with ctest"
    sample_of_macs >"$work/macs"
    equal MACs "$(sort -u "$work/macs" | wc -l | tr -d ' ')" 6000
    "$ONEIB_DECODE_MACS" <"$work/macs" >"$work/expected"
    [ "$(grep -c index "$work/expected")" -gt 3500 ] || fail "the sample has too few dummy MACs"
    [ "$(grep -c -e - "$work/expected")" -gt 1000 ] || fail "the sample has too few other MACs"
    decode_each <"$work/macs" >"$work/decoded"
    paste "$work/macs" "$work/decoded" "$work/expected" | awk -F '\t' '$2 != $3' >"$work/differences"
    [ ! -s "$work/differences" ] || fail "MAC, decoded, expected: $(head -n 5 "$work/differences")"
}

test_decoding_prints_what_the_command_prints() {
    [ "${ONEIB_COMMAND-}" ] || fail "ONEIB_COMMAND is to be the program oneib: run this with ctest"
    for mac in aa:00:0a:14:00:0a AA:0F:FF:ff:00:01 aa:01:00:00:00:00; do
        prints "$("$ONEIB_COMMAND" mac decode "$mac")" decode_mac "$mac"
    done
    for mac in aa:10:0a:14:00:0a ab:00:0a:14:00:0a '' aa:00:0a:14:00; do
        fails "$ONEIB_COMMAND" mac decode "$mac"
        fails decode_mac "$mac"
    done
}

test_what_is_no_mac_is_not_decoded() {
    hostile_values >"$work/values"
    while IFS= read -r value; do
        fails decode_mac "$value"
        fails decode_mac "aa:00:0a:14:00:$value"
    done <"$work/values"
    fails decode_mac "aa:00:0a:14:00:0a
"
    fails decode_mac "aa:00:0a:14:00:0a aa:00:0a:14:00:0b"
    nothing_ran
}

test_dummy_interfaces_are_ethernet_devices_with_a_dummy_mac() {
    add_ethernet eth0 02:00:c0:a8:7a:02
    add_dummy eth2 aa:01:0a:14:00:0b
    add_dummy eth1 AA:00:0A:14:00:0A
    add_dummy eth3 aa:0a:00:00:00:00
    add_ethernet eth4 aa:10:0a:14:00:0b
    add_ipoib ib0 $guid1 0000:00:1f.0
    # A bridge takes the MAC of one of its ports; it is no device.
    add_ethernet br0 aa:02:0a:14:00:0c
    rm "$root/sys/class/net/br0/device"
    prints '0 10.20.0.10 eth1
1 10.20.0.11 eth2
10 0.0.0.0 eth3' dummy_interfaces
    for name in eth1 eth2 eth3; do succeeds is_dummy "$name"; done
    for name in eth0 eth4 ib0 br0 eth9 '' ../eth1 '*' '-e'; do fails is_dummy "$name"; done
    prints '02:00:c0:a8:7a:02
aa:10:0a:14:00:0b' ethernet_macs
}

test_ipoib_interfaces_hang_on_a_device() {
    add_ethernet eth0 02:00:c0:a8:7a:02
    add_ipoib ib0 $guid1 0000:00:1f.0
    add_ipoib ib1 0002C903001ABCDE 0000:00:1e.0 1
    # Child interfaces, as kernels show them: a parent, or another interface that they are linked to.
    add_ipoib ib0.8001 $guid1 0000:00:1f.0
    echo ib0 >"$root/sys/class/net/ib0.8001/parent"
    add_ipoib ib0.8002 $guid1 0000:00:1f.0
    cat "$root/sys/class/net/ib0/ifindex" >"$root/sys/class/net/ib0.8002/iflink"
    # A bond of IPoIB interfaces has their type and no device.
    add_ipoib bond0 $guid1 0000:00:1f.0
    rm "$root/sys/class/net/bond0/device"
    prints "ib0 $guid1 0000:00:1f.0 0
ib1 0002c903001abcde 0000:00:1e.0 1" ipoib_interfaces
}

test_a_pci_address_is_that_of_the_nearest_device() {
    add_device ib0 32 x 0x1002 pci0000:00/0000:00:02.4/0000:05:00.0
    add_device ib1 32 x 0x1002 pci0000:00/0000:00:03.0/virtio1
    add_device ib2 32 x 0x1002 virtual/fake
    add_device ib3 32 x 0x1002 pci10000:00/10000:e1:00.1
    prints 0000:05:00.0 pci_address ib0
    prints 0000:00:03.0 pci_address ib1
    prints - pci_address ib2
    prints 10000:e1:00.1 pci_address ib3
    prints - pci_address ib4
}

test_an_interface_whose_address_is_not_to_be_read_is_left_out() {
    add_ipoib ib0 $guid1 0000:00:1f.0
    add_ipoib ib1 ${guid1%1}2 0000:00:1e.0
    for address in '' 00:11 zz:00 "$(cat "$root/sys/class/net/ib1/address"):00" '$(touch executed)'; do
        printf '%s\n' "$address" >"$root/sys/class/net/ib0/address"
        prints "ib1 ${guid1%1}2 0000:00:1e.0 0" ipoib_interfaces
    done
    nothing_ran
}

test_without_any_interface_there_are_none() {
    prints '' dummy_interfaces
    prints '' ipoib_interfaces
    prints '' ethernet_macs
    mkdir -p "$root/sys/class/net"
    : >"$root/sys/class/net/bonding_masters"
    prints '' dummy_interfaces
    prints '' ipoib_interfaces
}

test_dummy_interfaces_are_taken_down_once() {
    add_dummy eth1 aa:00:0a:14:00:0a
    add_ethernet eth0 02:00:c0:a8:7a:02
    hide_dummies
    equal calls "$(grep down "$work/ip/calls")" 'link set dev eth1 down'
    hide_dummies
    equal calls "$(grep down "$work/ip/calls")" 'link set dev eth1 down'
}

test_the_drivers_of_the_adapters_that_are_here_are_loaded() {
    MODPROBE_CALLS=$work/modprobe
    export MODPROBE_CALLS
    add_pci() { # ADDRESS CLASS VENDOR DRIVER
        mkdir -p "$root/sys/bus/pci/devices/$1"
        echo "$2" >"$root/sys/bus/pci/devices/$1/class"
        echo "$3" >"$root/sys/bus/pci/devices/$1/vendor"
        echo "pci:of-$1" >"$root/sys/bus/pci/devices/$1/modalias"
        [ "$4" = - ] || ln -s "../../../bus/pci/drivers/$4" "$root/sys/bus/pci/devices/$1/driver"
    }
    add_pci 0000:00:03.0 0x020000 0x1af4 virtio-pci
    add_pci 0000:00:1d.0 0x020700 0x1077 -
    add_pci 0000:00:1e.0 0x020000 0x15b3 mlx4_core
    add_pci 0000:00:1f.0 0x020700 0x15b3 mlx5_core
    load_modules
    equal modules "$(cat "$work/modprobe")" '-q ib_ipoib
-q pci:of-0000:00:1d.0
-q pci:of-0000:00:1e.0
-q mlx4_ib
-q pci:of-0000:00:1f.0
-q mlx5_ib'
}

test_a_kernel_that_loads_no_modules_is_no_failure() {
    MODPROBE_FAILS=yes
    export MODPROBE_FAILS
    mkdir -p "$root/sys/bus/pci/devices/0000:00:1f.0"
    echo 0x15b3 >"$root/sys/bus/pci/devices/0000:00:1f.0/vendor"
    succeeds load_modules
    rm -r "$root/sys"
    succeeds load_modules
}

test_nothing_is_waited_for_when_every_dummy_has_an_interface() {
    add_ethernet eth0 02:00:c0:a8:7a:02
    succeeds wait_for_interfaces
    add_dummy eth1 aa:00:0a:14:00:0a
    add_ipoib ib0 $guid1 0000:00:1f.0
    prints '' wait_for_interfaces
    equal messages "$(cat "$work/errors")" ''
}

test_an_interface_that_comes_late_is_waited_for() {
    add_dummy eth1 aa:00:0a:14:00:0a
    (sleep 1 && add_ipoib ib0 $guid1 0000:00:1f.0) &
    prints '' wait_for_interfaces
    wait
    equal messages "$(cat "$work/errors")" ''
}

test_an_interface_that_never_comes_is_waited_for_as_long_as_the_image_says() {
    mkdir -p "$root/etc/oneib"
    echo ONEIB_WAIT=1 >"$root/etc/oneib/guest.conf"
    add_dummy eth1 aa:00:0a:14:00:0a
    says 'fewer IPoIB interfaces than dummy interfaces' wait_for_interfaces
}

test_a_time_to_wait_that_is_none_is_said() {
    mkdir -p "$root/etc/oneib"
    prints 20 wait_seconds
    echo ONEIB_WAIT=0 >"$root/etc/oneib/guest.conf"
    prints 0 wait_seconds
    for value in 301 -1 1s '$(touch${IFS}executed)'; do
        echo "ONEIB_WAIT=$value" >"$root/etc/oneib/guest.conf"
        prints 20 wait_seconds
        has "$work/errors" "^oneib: ONEIB_WAIT '.*' is no number from 0 to 300"
    done
    nothing_ran
}

run_tests
