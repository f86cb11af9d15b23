# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Which NIC an interface is, and the files of settings: lib/nics.sh, lib/nics.awk.
# shellcheck source=tests/guest/check.sh
. "$GUEST_TESTS/check.sh"
# shellcheck source=tests/guest/machine.sh
. "$GUEST_TESTS/machine.sh"
for library in text context interfaces nics settings; do
    # shellcheck source=/dev/null
    . "$context/lib/$library.sh"
done

test_an_interface_is_the_nic_of_its_guid() {
    add_ipoib ib0 "$(guid 42 7)" 0000:00:1e.0
    add_ipoib ib1 "$(guid 42 255)" 0000:00:1f.0
    context_has <<'END'
ETH0_IP='10.20.0.10'
ETH255_IP='10.20.0.11'
ETH7_MAC='02:00:0a:14:00:0a'
VMID='42'
END
    prints "ib0 $(guid 42 7) ETH7 - - guid
ib1 $(guid 42 255) ETH255 - - guid" match_interfaces
}

test_a_guid_of_another_vm_is_no_guid_of_ours() {
    add_ipoib ib0 "$(guid 43 1)" 0000:00:1f.0
    context_has <<'END'
ETH1_IP='10.20.0.10'
VMID='42'
END
    prints "ib0 $(guid 43 1) - - - -" match_interfaces
    # It goes by order, as any other.
    add_dummy eth1 aa:00:0a:14:00:0a
    prints "ib0 $(guid 43 1) ETH1 0 10.20.0.10 order" match_interfaces
}

test_without_a_vmid_a_guid_of_any_vm_counts() {
    add_ipoib ib0 "$(guid 43 1)" 0000:00:1f.0
    add_ipoib ib1 0002c90300aaaa02 0000:00:1e.0
    context_has <<'END'
ETH1_IP='10.20.0.10'
ETH2_IP='10.20.0.11'
END
    prints "ib0 $(guid 43 1) ETH1 - - guid
ib1 0002c90300aaaa02 - - - -" match_interfaces
}

test_a_vmid_that_is_none_is_no_vmid() {
    add_ipoib ib0 "$(guid 42 1)" 0000:00:1f.0
    for value in 4294967296 -42 0x2a '42 ' '$(touch executed)'; do
        printf "ETH1_IP='10.20.0.10'\nVMID='%s'\n" "$value" >"$work/context"
        context_has <"$work/context"
        prints "ib0 $(guid 42 1) ETH1 - - guid" match_interfaces
    done
    nothing_ran
}

test_a_nic_that_the_context_does_not_know_goes_by_order() {
    add_ipoib ib0 "$(guid 42 1)" 0000:00:1f.0
    add_ipoib ib1 "$(guid 42 2)" 0000:00:1e.0
    add_dummy eth1 aa:00:0a:14:00:0a
    add_dummy eth2 aa:01:0a:14:00:0b
    context_has <<'END'
ETH1_IP='10.20.0.10'
ETH1_MASK='255.255.0.0'
VMID='42'
END
    prints "ib0 $(guid 42 1) ETH1 0 10.20.0.10 guid
ib1 $(guid 42 2) - 1 10.20.0.11 order" match_interfaces
}

test_two_nics_on_different_adapters_are_told_apart() {
    add_ipoib ibp0s30 "$(guid 42 2)" 0000:00:1e.0
    add_ipoib ibp0s31 "$(guid 42 1)" 0000:00:1f.0
    add_dummy eth1 aa:00:0a:14:00:0a
    add_dummy eth2 aa:01:0a:1e:00:0a
    context_has <<'END'
ETH0_IP='192.168.122.2'
ETH1_IP='10.20.0.10'
ETH2_IP='10.30.0.10'
END
    prints "ibp0s30 $(guid 42 2) ETH2 1 10.30.0.10 guid
ibp0s31 $(guid 42 1) ETH1 0 10.20.0.10 guid" match_interfaces
}

test_two_networks_may_give_the_same_address() {
    add_ipoib ib0 "$(guid 42 1)" 0000:00:1f.0
    add_ipoib ib1 "$(guid 42 2)" 0000:00:1e.0
    add_dummy eth1 aa:00:0a:14:00:0a
    add_dummy eth2 aa:01:0a:14:00:0a
    context_has <<'END'
ETH1_IP='10.20.0.10'
ETH2_IP='10.20.0.10'
END
    prints "ib0 $(guid 42 1) ETH1 0 10.20.0.10 guid
ib1 $(guid 42 2) ETH2 1 10.20.0.10 guid" match_interfaces
    # Without GUIDs the context cannot say which is which.
    remove_interface ib0
    remove_interface ib1
    add_ipoib ib0 0002c90300aaaa01 0000:00:1f.0
    prints "ib0 0002c90300aaaa01 - 0 10.20.0.10 order" match_interfaces
}

test_order_on_pc_is_from_the_highest_address_down() {
    add_ipoib ib0 0002c90300aaaa01 0000:00:1d.0
    add_ipoib ib1 0002c90300aaaa02 0000:00:09.0
    add_ipoib ib2 0002c90300aaaa03 0000:00:1f.0
    add_dummy eth1 aa:00:0a:14:00:0a
    add_dummy eth2 aa:01:0a:14:00:0b
    add_dummy eth3 aa:0a:0a:14:00:0c
    prints "ib0 0002c90300aaaa01 - 1 10.20.0.11 order
ib1 0002c90300aaaa02 - 10 10.20.0.12 order
ib2 0002c90300aaaa03 - 0 10.20.0.10 order" match_interfaces
}

test_order_on_q35_is_from_the_highest_bus_down() {
    add_ipoib ib0 0002c90300aaaa01 0000:00:02.4/0000:05:00.0
    add_ipoib ib1 0002c90300aaaa02 0000:00:02.7/0000:1a:00.0
    add_ipoib ib2 0002c90300aaaa03 0000:00:02.5/0000:06:00.0
    add_dummy eth1 aa:00:0a:14:00:0a
    add_dummy eth2 aa:01:0a:14:00:0b
    add_dummy eth3 aa:02:0a:14:00:0c
    prints "ib0 0002c90300aaaa01 - 2 10.20.0.12 order
ib1 0002c90300aaaa02 - 0 10.20.0.10 order
ib2 0002c90300aaaa03 - 1 10.20.0.11 order" match_interfaces
}

test_the_middle_one_of_three_detached_leaves_the_others_as_they_were() {
    for number in 1 2 3; do
        add_ipoib ib$number "$(guid 42 $number)" 0000:00:1$((6 - number)).0
        add_dummy eth$number aa:0$((number - 1)):0a:14:00:0$number
        echo "ETH${number}_IP='10.20.0.$number'"
    done >"$work/context"
    context_has <"$work/context"
    remove_interface ib2
    remove_interface eth2
    prints "ib1 $(guid 42 1) ETH1 0 10.20.0.1 guid
ib3 $(guid 42 3) ETH3 2 10.20.0.3 guid" match_interfaces
    # The same where the GUIDs say nothing.
    remove_interface ib1
    remove_interface ib3
    add_ipoib ib1 0002c90300aaaa01 0000:00:15.0
    add_ipoib ib3 0002c90300aaaa03 0000:00:13.0
    prints "ib1 0002c90300aaaa01 ETH1 0 10.20.0.1 order
ib3 0002c90300aaaa03 ETH3 2 10.20.0.3 order" match_interfaces
}

test_a_pci_nic_is_at_its_pci_address() {
    add_ipoib ib0 0002c90300aaaa01 0000:01:02.0
    add_ipoib ib1 0002c90300aaaa02 0000:0a:1f.0
    add_ipoib ib2 0002c90300aaaa03 0000:00:1f.0
    context_has <<'END'
ETH0_IP='192.168.122.2'
PCI1_ADDRESS='01:02.0'
PCI1_IP='10.20.0.10'
PCI2_ADDRESS='0A:1F.0'
PCI2_IP6='2001:db8::a'
PCI3_ADDRESS='00:1d.0'
END
    prints "ib0 0002c90300aaaa01 PCI1 - - pci
ib1 0002c90300aaaa02 PCI2 - - pci
ib2 0002c90300aaaa03 - - - -" match_interfaces
}

# Where the guest's PCI addresses are not those that OpenNebula gave, a VF may be at the address of another NIC.
test_a_guid_comes_before_a_pci_address() {
    add_ipoib ib0 "$(guid 42 1)" 0000:01:00.0
    add_ipoib ib1 "$(guid 42 2)" 0000:10:00.0
    add_dummy eth1 aa:00:0a:14:00:0a
    add_dummy eth2 aa:01:0a:14:00:0b
    context_has <<'END'
ETH1_IP='10.20.0.10'
PCI0_ADDRESS='01:00.0'
PCI0_IP='10.20.0.11'
VMID='42'
END
    prints "ib0 $(guid 42 1) ETH1 0 10.20.0.10 guid
ib1 $(guid 42 2) PCI0 1 10.20.0.11 order" match_interfaces
}

test_a_dummy_of_a_named_interface_is_not_another_one_s() {
    add_ipoib ib0 0002c90300aaaa01 0000:00:1d.0
    add_ipoib ib1 "$(guid 42 1)" 0000:00:1f.0
    add_dummy eth1 aa:00:0a:14:00:0a
    add_dummy eth2 aa:01:0a:14:00:0b
    context_has <<'END'
ETH1_IP='10.20.0.10'
ETH2_IP='10.20.0.11'
END
    prints "ib0 0002c90300aaaa01 ETH2 1 10.20.0.11 order
ib1 $(guid 42 1) ETH1 0 10.20.0.10 guid" match_interfaces
}

test_a_nic_of_an_ethernet_interface_is_not_infiniband() {
    add_ethernet eth0 02:00:0a:14:00:0a
    add_ipoib ib0 0002c90300aaaa01 0000:00:1f.0
    add_dummy eth1 aa:00:0a:14:00:0a
    context_has <<'END'
ETH0_IP='10.20.0.10'
ETH0_MAC='02:00:0A:14:00:0A'
ETH1_IP='10.20.0.10'
ETH1_MAC='02:00:0a:14:00:0b'
END
    prints "ib0 0002c90300aaaa01 ETH1 0 10.20.0.10 order" match_interfaces
}

test_an_ipv6_only_nic_has_a_dummy_without_an_address() {
    add_ethernet eth0 02:00:c0:a8:7a:02
    add_ipoib ib0 "$(guid 42 1)" 0000:00:1f.0
    add_ipoib ib1 "$(guid 42 2)" 0000:00:1e.0
    add_dummy eth1 aa:00:00:00:00:00
    add_dummy eth2 aa:01:0a:14:00:0b
    context_has <<'END'
ETH0_IP6='2001:db8:1::a'
ETH0_MAC='02:00:c0:a8:7a:02'
ETH1_IP6='2001:db8::a'
ETH1_MAC='02:00:00:00:00:01'
ETH2_IP='10.20.0.11'
END
    prints "ib0 $(guid 42 1) ETH1 0 0.0.0.0 guid
ib1 $(guid 42 2) ETH2 1 10.20.0.11 guid" match_interfaces
    # By order: ETH0 is the Ethernet interface's, so there is one such NIC.
    remove_interface ib0
    remove_interface ib1
    add_ipoib ib0 0002c90300aaaa01 0000:00:1f.0
    add_ipoib ib1 0002c90300aaaa02 0000:00:1e.0
    prints "ib0 0002c90300aaaa01 ETH1 0 0.0.0.0 order
ib1 0002c90300aaaa02 ETH2 1 10.20.0.11 order" match_interfaces
}

test_two_ipv6_only_nics_are_not_guessed() {
    add_ipoib ib0 0002c90300aaaa01 0000:00:1f.0
    add_ipoib ib1 0002c90300aaaa02 0000:00:1e.0
    add_dummy eth1 aa:00:00:00:00:00
    add_dummy eth2 aa:01:00:00:00:00
    context_has <<'END'
ETH1_IP6='2001:db8::a'
ETH2_IP6='2001:db8::b'
END
    prints "ib0 0002c90300aaaa01 - 0 0.0.0.0 order
ib1 0002c90300aaaa02 - 1 0.0.0.0 order" match_interfaces
}

test_of_an_adapter_s_two_ports_one_is_the_nic() {
    add_ipoib ib0 0002c90300aaaa01 0000:00:1f.0 0
    add_ipoib ib1 "$(guid 42 1)" 0000:00:1f.0 1
    add_ipoib ib2 0002c90300aaaa03 0000:00:1e.0 1
    add_ipoib ib3 0002c90300aaaa02 0000:00:1e.0 0
    add_dummy eth1 aa:00:0a:14:00:0a
    add_dummy eth2 aa:01:0a:14:00:0b
    prints "ib0 0002c90300aaaa01 - - - port
ib1 $(guid 42 1) - 0 10.20.0.10 order
ib2 0002c90300aaaa03 - - - port
ib3 0002c90300aaaa02 - 1 10.20.0.11 order" match_interfaces
    echo "ETH1_IP='10.20.0.10'" >"$work/context"
    context_has <"$work/context"
    prints "ib0 0002c90300aaaa01 - - - port
ib1 $(guid 42 1) ETH1 0 10.20.0.10 guid
ib2 0002c90300aaaa03 - - - port
ib3 0002c90300aaaa02 - 1 10.20.0.11 order" match_interfaces
}

test_interfaces_without_anything_that_names_them_are_nobody_s() {
    add_ipoib ib0 0002c90300aaaa01 0000:00:1f.0
    add_ipoib ib1 "$(guid 42 3)" virtual
    prints "ib0 0002c90300aaaa01 - - - -
ib1 $(guid 42 3) - - - -" match_interfaces
    add_dummy eth1 aa:00:0a:14:00:0a
    prints "ib0 0002c90300aaaa01 - 0 10.20.0.10 order
ib1 $(guid 42 3) - - - -" match_interfaces
}

test_names_that_only_look_like_nics_are_none() {
    context_has <<'END'
ETH01_IP='10.20.0.10'
ETH_IP='10.20.0.10'
ETHX_IP='10.20.0.10'
XETH1_IP='10.20.0.10'
PCI_1_IP='10.20.0.10'
ETH99999_IP='10.20.0.10'
ETH0_ALIAS0_IP='10.20.0.10'
END
    prints ETH0 nics_of_context
}

test_settings_are_written_for_each_interface_and_removed_with_it() {
    add_ipoib ib0 "$(guid 42 1)" 0000:00:1f.0
    add_ipoib ib1 "$(guid 42 2)" 0000:00:1e.0
    add_ipoib ib2 0002c90300aaaa03 0000:00:1d.0
    printf "ETH1_IP='10.20.0.10'\nETH2_IP='10.20.0.11'\n" >"$work/context"
    context_has <"$work/context"
    prints "ib0
ib1" write_settings
    has "$root/run/oneib/nics/ib0" '^address=10.20.0.10/24$'
    has "$root/run/oneib/nics/ib1" '^address=10.20.0.11/24$'
    [ ! -e "$root/run/oneib/nics/ib2" ] || fail "an interface that is nobody's has settings"
    remove_interface ib0
    prints ib1 write_settings
    equal files "$(ls "$root/run/oneib/nics")" ib1
    printf "ETH2_IP='10.20.0.11'\nETH2_METHOD='skip'\nETH2_IP6_METHOD='skip'\n" >"$work/context"
    context_has <"$work/context"
    prints '' write_settings
    equal files "$(ls "$root/run/oneib/nics")" ''
}

test_without_any_interface_there_are_no_settings() {
    prints '' write_settings
    equal files "$(ls "$root/run/oneib/nics")" ''
}

run_tests
