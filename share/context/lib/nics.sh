# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Which NIC each IPoIB interface is, and the files that say what it shall have, /run/oneib/nics/NAME.

# match_interfaces: prints "NAME GUID NIC INDEX ADDRESS RULE" of every IPoIB interface, see nics.awk.
match_interfaces() {
    {
        vmid_in_guids
        nic_facts
        ethernet_macs | sed 's/^/mac /'
        dummy_interfaces | sed 's/^/dummy /'
        ipoib_interfaces | sed 's/^/ipoib /'
    } | awk -f "${ONEIB_LIBRARY:-/usr/lib/oneib/guest}/nics.awk"
}

# write_settings: writes /run/oneib/nics/NAME for every IPoIB interface that is to be touched, removes those of others, and
# prints the names. Status 1: not all could be written, and which interfaces there are is not known from what is printed.
write_settings() (
    directory=${ONEIB_ROOT-}/run/oneib/nics
    mkdir -p "$directory" || exit 1
    matches=$(match_interfaces) || exit 1
    kept=' '
    while read -r name guid nic index address rule; do
        case $rule in
        '' | - | port) continue ;;
        esac
        settings=$(interface_settings "$name" "$guid" "$nic" "$index" "$address") || continue
        printf '%s\n' "$settings" | replace_file "$directory/$name" || [ $? -eq 1 ] || exit 1
        kept="$kept$name "
        printf '%s\n' "$name"
    done <<END
$matches
END
    for file in "$directory"/*; do
        case $kept in
        *" ${file##*/} "*) ;;
        *) rm -f "$file" ;;
        esac
    done
)

# nic_facts: prints what nics.awk wants to know of the context's NICs.
nic_facts() {
    for nic in $(nics_of_context); do
        read_nic "$nic"
        is_mac "$nic_mac" || nic_mac=-
        is_pci_address "$nic_address" || nic_address=-
        is_ipv4 "$nic_ip" || nic_ip=-
        ipv6=-
        if [ "$nic_ip6$nic_ip6_ula" ]; then ipv6=yes; fi
        echo "nic $nic $nic_ip $nic_address $nic_mac $ipv6"
    done
}

# nics_of_context: prints ETH0, PCI0 and so on, of whatever variables there are.
nics_of_context() {
    context_variables '' | sed -n -e 's/^\(ETH[0-9]\{1,4\}\)_[A-Z0-9_]*=.*/\1/p' -e 's/^\(PCI[0-9]\{1,4\}\)_[A-Z0-9_]*=.*/\1/p' |
        grep -Ev '^...0.' | sort -u
}

# vmid_in_guids: prints how a VM's id stands in its GUIDs: four bytes.
vmid_in_guids() (
    vmid=$(context_value VMID) || exit 0
    is_number "$vmid" 0 4294967295 || exit 0
    printf 'vmid %08x\n' "$vmid"
)

is_mac() {
    case $1 in
    *[!0123456789abcdefABCDEF:]*) return 1 ;;
    [!:][!:]:[!:][!:]:[!:][!:]:[!:][!:]:[!:][!:]:[!:][!:]) ;;
    *) return 1 ;;
    esac
}

# is_pci_address VALUE: 01:02.0 as OpenNebula writes it, or with a domain.
is_pci_address() {
    case $1 in
    *[!0123456789abcdefABCDEF:.]*) return 1 ;;
    [!:.][!:.]:[!:.][!:.].[!:.] | [!:.][!:.][!:.][!:.]:[!:.][!:.]:[!:.][!:.].[!:.]) ;;
    *) return 1 ;;
    esac
}
