# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What this machine has: dummy interfaces, IPoIB interfaces, their GUIDs and PCI addresses, and the modules for them.

# decode_mac MAC: prints "10.20.0.10 index 0" of a dummy MAC, aa:0N:A:B:C:D. Status 1: it is none.
decode_mac() {
    case $1 in
    *[!0123456789abcdefABCDEF:]*) return 1 ;;
    [Aa][Aa]:0[!:]:[!:][!:]:[!:][!:]:[!:][!:]:[!:][!:]) ;;
    *) return 1 ;;
    esac
    decode_mac_index=${1#*:}
    decode_mac_bytes=${decode_mac_index#*:}
    decode_mac_half=${decode_mac_bytes#*:*:}
    decode_mac_bytes=${decode_mac_bytes%:*:*}
    printf '%d.%d.%d.%d index %d\n' "0x${decode_mac_bytes%:*}" "0x${decode_mac_bytes#*:}" \
        "0x${decode_mac_half%:*}" "0x${decode_mac_half#*:}" "0x${decode_mac_index%%:*}"
}

# is_dummy NAME: an Ethernet interface of a device (no bridge, no bond) whose MAC is a dummy MAC.
is_dummy() {
    is_interface_name "$1" && is_ethernet "$1" && read_fact "$1" address && decode_mac "$fact" >/dev/null
}

# is_ipoib NAME: an InfiniBand interface (ARPHRD_INFINIBAND, 32) of a device, and not one on top of another interface: a child
# interface such as ib0.8001 names its parent, a bond has no device.
is_ipoib() {
    is_interface_name "$1" && read_fact "$1" type && [ "$fact" = 32 ] &&
        [ -e "${ONEIB_ROOT-}/sys/class/net/$1/device" ] && [ ! -e "${ONEIB_ROOT-}/sys/class/net/$1/parent" ] &&
        [ "$(interface_fact "$1" iflink)" = "$(interface_fact "$1" ifindex)" ]
}

# dummy_interfaces: prints "INDEX ADDRESS NAME" of every dummy interface, from the lowest index up. ADDRESS is 0.0.0.0 where
# there is no IPv4 address.
dummy_interfaces() {
    for name in $(interface_names); do
        # is_dummy has read its address.
        ! is_dummy "$name" || printf '%s %s\n' "$(decode_mac "$fact")" "$name"
    done | while read -r address _ index name; do
        printf '%s %s %s\n' "$index" "$address" "$name"
    done | sort -n
}

# ipoib_interfaces: prints "NAME GUID PCI-ADDRESS PORT" of every IPoIB interface. The PCI address is - where there is none.
ipoib_interfaces() (
    for name in $(interface_names); do
        is_ipoib "$name" || continue
        guid=$(interface_guid "$name") || continue
        printf '%s %s %s %s\n' "$name" "$guid" "$(pci_address "$name")" "$(interface_port "$name")"
    done
)

# ethernet_macs: prints the MAC of every Ethernet interface of a device that is no dummy interface.
ethernet_macs() (
    for name in $(interface_names); do
        if is_ethernet "$name" && ! is_dummy "$name"; then
            interface_fact "$name" address
        fi
    done
)

# hide_dummy NAME: takes a dummy interface down.
hide_dummy() {
    is_down "$1" || ip link set dev "$1" down ||
        say "$1: this dummy interface cannot be taken down: run 'ip link set dev $1 down' and see what it says"
}

# load_modules: the drivers of the InfiniBand adapters that are here, and IPoIB. Where a kernel has them built in, or there is no
# adapter, there is nothing to load.
load_modules() (
    modprobe -q ib_ipoib || true
    for device in "${ONEIB_ROOT-}"/sys/bus/pci/devices/*; do
        is_adapter "$device" || continue
        modprobe -q "$(cat "$device/modalias" 2>/dev/null)" || true
        case $(readlink "$device/driver") in
        */mlx4_core) modprobe -q mlx4_ib || true ;;
        */mlx5_core) modprobe -q mlx5_ib || true ;;
        esac
    done
)

# is_adapter DIRECTORY: class 0x0207 (PCI Code and ID Assignment: InfiniBand controller) or NVIDIA's vendor id, whose adapters may
# be of another class.
is_adapter() {
    case $(cat "$1/class" 2>/dev/null)-$(cat "$1/vendor" 2>/dev/null) in
    0x0207??-* | *-0x15b3) ;;
    *) return 1 ;;
    esac
}

interface_names() (
    for directory in "${ONEIB_ROOT-}"/sys/class/net/*; do
        [ ! -d "$directory" ] || ! is_interface_name "${directory##*/}" || printf '%s\n' "${directory##*/}"
    done
)

# interface_fact NAME FILE: prints what sysfs says, one line, or nothing. read_fact sets fact to it, without a process of its own.
interface_fact() {
    read_fact "$1" "$2"
    printf '%s\n' "$fact"
}

read_fact() {
    fact=''
    { read -r fact <"${ONEIB_ROOT-}/sys/class/net/$1/$2"; } 2>/dev/null || true
}

# is_down NAME: IFF_UP (1) is not among its flags.
is_down() (
    flags=$(interface_fact "$1" flags)
    case $flags in
    0x*[!0123456789abcdef]* | '' | [!0]* | 0) exit 1 ;;
    esac
    [ $((flags & 1)) -eq 0 ]
)

# is_ethernet NAME: ARPHRD_ETHER, 1, of a device.
is_ethernet() {
    read_fact "$1" type && [ "$fact" = 1 ] && [ -e "${ONEIB_ROOT-}/sys/class/net/$1/device" ]
}

# interface_guid NAME: the last 8 of the 20 bytes of an IPoIB hardware address, 16 digits (RFC 4391, 9.1.1).
interface_guid() (
    address=$(interface_fact "$1" address | tr -d ':' | tr ABCDEF abcdef)
    case $address in
    *[!0123456789abcdef]*) exit 1 ;;
    esac
    [ ${#address} -eq 40 ] && printf '%s\n' "${address#????????????????????????}"
)

# pci_address NAME: prints where the interface's device is, 0000:00:1f.0, or - when it is not on PCI.
pci_address() (
    path=$(readlink -f "${ONEIB_ROOT-}/sys/class/net/$1/device") || path=''
    while [ "$path" ]; do
        case ${path##*/} in
        ????*:??:??.?)
            printf '%s\n' "${path##*/}"
            exit
            ;;
        esac
        path=${path%/*}
    done
    echo -
)

# interface_port NAME: prints which port of its device an interface is, from 0.
interface_port() (
    port=$(interface_fact "$1" dev_port)
    is_number "$port" 0 255 || port=0
    printf '%s\n' "$port"
)

# wait_for_interfaces: until there are as many IPoIB interfaces as dummy interfaces, at most ONEIB_WAIT seconds.
wait_for_interfaces() (
    left=$(wait_seconds)
    while interfaces_are_missing; do
        if [ "$left" -le 0 ]; then
            say_interfaces_are_missing
            break
        fi
        sleep 1
        left=$((left - 1))
    done
)

interfaces_are_missing() {
    [ "$(ipoib_interfaces | wc -l)" -lt "$(dummy_interfaces | wc -l)" ]
}

say_interfaces_are_missing() {
    say "there are fewer IPoIB interfaces than dummy interfaces: see what the kernel says of its InfiniBand adapter (dmesg)"
}

# wait_seconds: prints ONEIB_WAIT, or 20.
wait_seconds() (
    seconds=$(setting ONEIB_WAIT) || seconds=20
    is_number "$seconds" 0 300 || {
        say "ONEIB_WAIT '$seconds' is no number from 0 to 300; 20 is taken"
        seconds=20
    }
    printf '%s\n' "$seconds"
)

# hide_dummies: takes every dummy interface down.
hide_dummies() (
    for name in $(dummy_interfaces | cut -d ' ' -f 3); do
        hide_dummy "$name"
    done
)
