# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What an interface shall have: lib/settings.sh.
# shellcheck source=tests/guest/check.sh
. "$GUEST_TESTS/check.sh"
# shellcheck source=tests/guest/machine.sh
. "$GUEST_TESTS/machine.sh"
for library in text context interfaces nics settings; do
    # shellcheck source=/dev/null
    . "$context/lib/$library.sh"
done

# settings_of_nic NIC: as an interface ib0 that is this NIC has them, without the lines that say that.
settings_of_nic() {
    (interface_settings ib0 "$(guid 42 1)" "$1" - -) | sed '/^interface=/d; /^nic=/d; /^guid=/d'
}

test_everything_of_a_nic_becomes_settings() {
    context_has <<'END'
ETH1_DNS='10.20.0.2 2001:DB8::2'
ETH1_EXTERNAL=''
ETH1_GATEWAY='10.20.0.1'
ETH1_IP='10.20.0.10'
ETH1_IP6='2001:DB8:0:0::A'
ETH1_IP6_GATEWAY='2001:db8::1'
ETH1_IP6_METHOD=''
ETH1_IP6_METRIC='20'
ETH1_IP6_PREFIX_LENGTH='48'
ETH1_IP6_ULA='fd00::a'
ETH1_IPOIB_MODE='datagram'
ETH1_MAC='02:00:0a:14:00:0a'
ETH1_MASK='255.255.0.0'
ETH1_METHOD=''
ETH1_METRIC='10'
ETH1_MTU='4092'
ETH1_NETWORK='10.20.0.0'
ETH1_ROUTES='10.30.0.5/16 via 10.20.0.1, 10.40.0.1 via 10.20.0.3,2001:db8:1::/48 via 2001:db8::3'
ETH1_SEARCH_DOMAIN='cluster.example, example'
ETH1_VLAN_ID='100'
END
    prints "interface=ib0
nic=ETH1
guid=$(guid 42 1)
index=0
mode=datagram
mtu=4092
address=10.20.0.10/16
address=2001:db8::a/48
address=fd00::a/64
gateway=10.20.0.1
metric=10
gateway6=2001:db8::1
metric6=20
route=10.30.0.0/16 via 10.20.0.1
route=10.40.0.1/32 via 10.20.0.3
route=2001:db8:1::/48 via 2001:db8::3
dns=10.20.0.2
dns=2001:db8::2
search=cluster.example
search=example" interface_settings ib0 "$(guid 42 1)" ETH1 0 10.20.0.10
    equal messages "$(cat "$work/errors")" ''
}

test_without_a_mask_a_prefix_has_24_bits_and_64() {
    context_has <<'END'
ETH1_IP='10.20.0.10'
ETH1_IP6='2001:db8::a'
END
    prints 'address=10.20.0.10/24
address=2001:db8::a/64' settings_of_nic ETH1
}

test_without_a_nic_the_dummy_gives_the_address() {
    prints "interface=ib0
nic=-
guid=$(guid 42 1)
index=3
address=10.20.0.10/24" interface_settings ib0 "$(guid 42 1)" - 3 10.20.0.10
    prints "interface=ib0
nic=-
guid=$(guid 42 1)
index=3" interface_settings ib0 "$(guid 42 1)" - 3 0.0.0.0
}

test_the_context_wins_over_the_dummy() {
    echo "ETH1_IP='10.20.0.99'" >"$work/context"
    context_has <"$work/context"
    interface_settings ib0 "$(guid 42 1)" ETH1 0 10.20.0.10 >"$work/settings"
    equal addresses "$(grep address "$work/settings")" address=10.20.0.99/24
}

test_aliases_add_addresses_unless_they_are_detached_or_external() {
    context_has <<'END'
ETH1_IP='10.20.0.10'
ETH1_MASK='255.255.0.0'
ETH1_ALIAS0_IP='10.20.0.20'
ETH1_ALIAS0_MASK='255.255.255.0'
ETH1_ALIAS1_IP='10.20.0.30'
ETH1_ALIAS1_DETACH='YES'
ETH1_ALIAS2_IP='10.20.0.40'
ETH1_ALIAS2_EXTERNAL='yes'
ETH1_ALIAS3_IP='10.20.0.50'
ETH1_ALIAS3_EXTERNAL='NO'
ETH1_ALIAS10_IP='10.20.0.10'
ETH1_ALIAS10_MASK='255.255.0.0'
ETH1_ALIAS10_IP6='2001:db8::a'
ETH1_ALIAS10_GATEWAY='10.20.0.1'
ETH10_ALIAS0_IP='10.20.0.60'
END
    prints 'address=10.20.0.10/16
address=10.20.0.20/24
address=10.20.0.50/24
address=2001:db8::a/64' settings_of_nic ETH1
}

test_a_method_of_skip_leaves_a_family_to_the_user() {
    nic="ETH1_IP='10.20.0.10'
ETH1_GATEWAY='10.20.0.1'
ETH1_ALIAS0_IP='10.20.0.20'
ETH1_ALIAS0_IP6='2001:db8::b'
ETH1_IP6='2001:db8::a'
ETH1_IP6_GATEWAY='2001:db8::1'
ETH1_ROUTES='10.30.0.0/16 via 10.20.0.1, 2001:db8:1::/48 via 2001:db8::1'
ETH1_METRIC='5'"
    printf '%s\n' "$nic" "ETH1_METHOD='skip'" >"$work/context"
    context_has <"$work/context"
    prints 'address=2001:db8::a/64
address=2001:db8::b/64
gateway6=2001:db8::1
metric6=5
route=2001:db8:1::/48 via 2001:db8::1' settings_of_nic ETH1
    printf '%s\n' "$nic" "ETH1_IP6_METHOD='skip'" >"$work/context"
    context_has <"$work/context"
    prints 'address=10.20.0.10/24
address=10.20.0.20/24
gateway=10.20.0.1
metric=5
route=10.30.0.0/16 via 10.20.0.1' settings_of_nic ETH1
    printf '%s\n' "$nic" "ETH1_IP6_METHOD='skip'" "ETH1_METHOD='skip'" >"$work/context"
    context_has <"$work/context"
    fails interface_settings ib0 "$(guid 42 1)" ETH1 0 10.20.0.10
}

test_dhcp_is_refused_and_the_address_is_given() {
    context_has <<'END'
ETH1_IP='10.20.0.10'
ETH1_METHOD='dhcp'
ETH1_IP6='2001:db8::a'
ETH1_IP6_METHOD='dhcp'
END
    prints 'address=10.20.0.10/24
address=2001:db8::a/64' settings_of_nic ETH1
    has "$work/errors" "^oneib: context: ETH1_METHOD 'dhcp' is neither static nor skip"
    has "$work/errors" "^oneib: context: ETH1_IP6_METHOD 'dhcp' is neither"
}

test_ipv6_is_automatic_or_disabled_where_the_context_says_so() {
    for method in auto disable; do
        printf "ETH1_IP='10.20.0.10'\nETH1_IP6='2001:db8::a'\nETH1_IP6_METHOD='%s'\n" $method >"$work/context"
        context_has <"$work/context"
        case $method in
        auto) prints 'address=10.20.0.10/24
address=2001:db8::a/64
ip6=auto' settings_of_nic ETH1 ;;
        disable) prints 'address=10.20.0.10/24
ip6=disable' settings_of_nic ETH1 ;;
        esac
    done
}

test_an_mtu_is_in_bounds_and_enough_for_ipv6() {
    while read -r mtu address settings; do
        printf "ETH1_MTU='%s'\nETH1_%s\n" "$mtu" "$address" >"$work/context"
        context_has <"$work/context"
        prints "$(printf '%s' "$settings" | tr ' ' '\n')" settings_of_nic ETH1
    done <<'END'
68 IP='10.20.0.10' mtu=68 address=10.20.0.10/24
67 IP='10.20.0.10' address=10.20.0.10/24
4092 IP='10.20.0.10' mtu=4092 address=10.20.0.10/24
4093 IP='10.20.0.10' mode=connected mtu=4093 address=10.20.0.10/24
65520 IP='10.20.0.10' mode=connected mtu=65520 address=10.20.0.10/24
65521 IP='10.20.0.10' address=10.20.0.10/24
x IP='10.20.0.10' address=10.20.0.10/24
1280 IP6='2001:db8::a' mtu=1280 address=2001:db8::a/64
1279 IP6='2001:db8::a' address=2001:db8::a/64
1279 IP6_METHOD='auto' ip6=auto
END
}

test_the_mode_is_the_nic_s_or_else_that_of_all() {
    mkdir -p "$root/etc/oneib"
    echo "IPOIB_MODE=connected" >"$root/etc/oneib/guest.conf"
    prints 'mode=connected' settings_of_nic -
    printf "IPOIB_MODE='datagram'\nETH1_IP='10.20.0.10'\nETH2_IPOIB_MODE='connected'\nETH3_IPOIB_MODE='fast'\n" >"$work/context"
    context_has <"$work/context"
    prints 'mode=datagram' settings_of_nic -
    prints 'mode=datagram
address=10.20.0.10/24' settings_of_nic ETH1
    prints 'mode=connected' settings_of_nic ETH2
    prints '' settings_of_nic ETH3
    has "$work/errors" "^oneib: context: ETH3_IPOIB_MODE 'fast' is neither datagram nor connected"
}

test_values_that_are_not_what_they_should_be_are_left_out_and_named() {
    context_has <<'END'
ETH1_IP='10.20.0'
ETH1_MASK='255.0.255.0'
ETH1_GATEWAY='224.0.0.1'
ETH1_METRIC='-1'
ETH1_IP6='::1'
ETH1_IP6_ULA='10.20.0.10'
ETH1_IP6_GATEWAY='fe80::1%ib0'
ETH1_IP6_METRIC='4294967296'
ETH1_DNS='10.20.0.2 x'
ETH1_SEARCH_DOMAIN='a..b example'
ETH1_ROUTES='10.30.0.0/16, 10.30.0.0/16 via x, 10.30.0.0/33 via 10.20.0.1, 10.0.0.0/8 via fe80::1, a via b via c,,'
END
    prints 'dns=10.20.0.2
search=example' settings_of_nic ETH1
    for name in IP GATEWAY METRIC IP6 IP6_ULA IP6_GATEWAY IP6_METRIC DNS SEARCH_DOMAIN ROUTES; do
        has "$work/errors" "^oneib: context: ETH1_$name '.*' is .*; it is left out"
    done
    equal 'routes named' "$(grep -c ETH1_ROUTES "$work/errors")" 5
}

test_a_bad_mask_or_length_does_not_cost_the_address() {
    context_has <<'END'
ETH1_IP='10.20.0.10'
ETH1_MASK='255.0.255.0'
ETH1_IP6='2001:db8::a'
ETH1_IP6_PREFIX_LENGTH='129'
END
    prints 'address=10.20.0.10/24
address=2001:db8::a/64' settings_of_nic ETH1
    has "$work/errors" "ETH1_MASK '255.0.255.0' is no network mask"
    has "$work/errors" "ETH1_IP6_PREFIX_LENGTH '129' is no number"
}

test_addresses_that_no_machine_has_are_refused() {
    for address in 0.0.0.0 0.1.2.3 127.0.0.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255; do
        fails is_host_ipv4 $address
    done
    for address in 1.0.0.1 10.20.0.10 100.64.0.1 126.0.0.1 169.254.0.1 192.168.0.1 223.255.255.254; do
        succeeds is_host_ipv4 $address
    done
    for address in :: 0:0::0 ::1 ff02::1 FF02::1; do fails is_host_ipv6 $address; done
    for address in fe80::1 fd00::1 2001:db8::1; do succeeds is_host_ipv6 $address; done
}

test_networks_are_without_the_bits_behind_their_prefix() {
    while read -r given network; do
        prints "$network" ipv4_network "$given"
    done <<'END'
10.30.0.5/16 10.30.0.0/16
10.30.255.255/23 10.30.254.0/23
255.255.255.255/32 255.255.255.255/32
255.255.255.255/31 255.255.255.254/31
255.255.255.255/1 128.0.0.0/1
10.30.0.5/0 0.0.0.0/0
END
}

# hostile_context: every variable of two NICs has this value, and nothing else of them is sound but ETH2's address.
hostile_context() {
    quoted=$(printf '%s' "$1" | sed "s/'/'\\\\''/g")
    for variable in IP MASK GATEWAY METRIC METHOD MTU ROUTES DNS SEARCH_DOMAIN IP6 IP6_PREFIX_LENGTH IP6_ULA IP6_GATEWAY GATEWAY6 \
        IP6_METRIC IP6_METHOD IPOIB_MODE MAC ADDRESS DETACH EXTERNAL ALIAS0_IP ALIAS0_MASK ALIAS0_EXTERNAL ALIAS0_IP6; do
        echo "ETH1_$variable='$quoted'"
        [ "$variable" = IP ] || echo "ETH2_$variable='$quoted'"
        echo "PCI3_$variable='$quoted'"
    done
    echo "ETH2_IP='10.20.0.12'"
    for variable in VMID IPOIB_MODE ONEIB_WAIT NETWORK_MANAGER; do
        echo "$variable='$quoted'"
    done
}

test_hostile_values_of_every_variable_set_nothing() {
    add_ipoib ib0 "$(guid 42 1)" 0000:00:1f.0
    add_ipoib ib1 "$(guid 42 2)" 0000:00:1e.0
    add_dummy eth1 aa:01:0a:14:00:0c
    hostile_values >"$work/values"
    # As many as a shell has time for; all of them are tried on all functions that look at values.
    awk 'NR % 4 == 1' "$work/values" >"$work/some"
    while IFS= read -r value; do
        hostile_context "$value" >"$work/context"
        context_has <"$work/context"
        prints "ib0
ib1" write_settings
        # Words are names of domains, whatever else they are.
        sed '/^interface=/d; /^nic=/d; /^guid=/d; /^search=[a-z]*$/d' "$root/run/oneib/nics/ib0" >"$work/settings"
        equal "settings of ib0 with '$value'" "$(cat "$work/settings")" ''
        equal "settings of ib1 with '$value'" "$(grep -v '^search=[a-z]*$' "$root/run/oneib/nics/ib1")" "interface=ib1
nic=ETH2
guid=$(guid 42 2)
index=1
address=10.20.0.12/24"
        nothing_ran
    done <"$work/some"
    equal 'files written' "$(cd "$root/run/oneib" && find . -type f | sort)" './context
./nics/ib0
./nics/ib1'
}

run_tests
