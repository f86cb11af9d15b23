# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What an interface shall have: its settings, key=value lines (docs/design/guest.md), from the context's variables of its NIC.

# interface_settings NAME GUID NIC INDEX ADDRESS: prints the settings of an interface; NIC, INDEX and ADDRESS may be -. Status 1:
# the context leaves it to the user. To be called in a command substitution: it splits words with IFS and without globs.
interface_settings() {
    set -f
    read_nic "$3"
    [ "$nic_method" != skip ] || [ "$nic_method6" != skip ] || return 1
    [ "$nic_ip" ] || [ "$5" = - ] || [ "$5" = 0.0.0.0 ] || nic_ip=$5
    echo "interface=$1"
    echo "nic=$3"
    echo "guid=$2"
    [ "$4" = - ] || echo "index=$4"
    addresses=$(addresses_of_nic)
    mtu_and_mode
    print_each_once "$addresses"
    [ "$nic_method" = skip ] || gateway_and_metric
    [ "$nic_method6" = skip ] || gateway_and_metric_of_ipv6
    routes_of_nic
    servers_of_names
}

# read_nic NIC: sets nic to it and nic_... to its variables of the context, as they stand there. "-" has none.
# shellcheck disable=SC2034 # nics.sh uses nic_mac and nic_address
read_nic() {
    nic=$1
    nic_ip='' nic_mask='' nic_gateway='' nic_metric='' nic_method='' nic_mtu='' nic_routes='' nic_dns='' nic_domains=''
    nic_ip6='' nic_ip6_length='' nic_ip6_ula='' nic_gateway6='' nic_metric6='' nic_method6='' nic_mode='' nic_mac=''
    nic_address='' nic_detach='' nic_external=''
    [ "$nic" != - ] || return 0
    while IFS= read -r nic_line; do
        nic_value=${nic_line#*=}
        case ${nic_line%%=*} in
        IP) nic_ip=$nic_value ;;
        MASK) nic_mask=$nic_value ;;
        GATEWAY) nic_gateway=$nic_value ;;
        METRIC) nic_metric=$nic_value ;;
        METHOD) nic_method=$nic_value ;;
        MTU) nic_mtu=$nic_value ;;
        ROUTES) nic_routes=$nic_value ;;
        DNS) nic_dns=$nic_value ;;
        SEARCH_DOMAIN) nic_domains=$nic_value ;;
        IP6) nic_ip6=$nic_value ;;
        IP6_PREFIX_LENGTH) nic_ip6_length=$nic_value ;;
        IP6_ULA) nic_ip6_ula=$nic_value ;;
        IP6_GATEWAY) nic_gateway6=$nic_value ;;
        GATEWAY6) nic_gateway6=${nic_gateway6:-$nic_value} ;;
        IP6_METRIC) nic_metric6=$nic_value ;;
        IP6_METHOD) nic_method6=$nic_value ;;
        IPOIB_MODE) nic_mode=$nic_value ;;
        MAC) nic_mac=$nic_value ;;
        ADDRESS) nic_address=$nic_value ;;
        DETACH) nic_detach=$nic_value ;;
        EXTERNAL) nic_external=$nic_value ;;
        esac
    done <<END
$(context_variables "${nic}_")
END
}

# leave_out VARIABLE VALUE WHY: says that a value of the context cannot be used.
leave_out() {
    say "context: ${nic}_$1 '$(printf '%.64s' "$2")' is $3; it is left out"
}

# addresses_of_nic: prints address= lines of a NIC that read_nic has read, and of its aliases; to be called in a command
# substitution, as it reads the aliases in the NIC's place.
addresses_of_nic() {
    family_methods
    addresses_of_families
    [ "$nic" != - ] || return 0
    parent=$nic
    ipv4=$nic_method
    ipv6=$nic_method6
    for alias in $(context_variables "${parent}_ALIAS" | sed -n 's/^\([0-9]\{1,4\}\)_[A-Z0-9_]*=.*/\1/p' | sort -nu); do
        read_nic "${parent}_ALIAS$alias"
        [ -z "$nic_detach" ] || continue
        ! is_yes "$nic_external" || continue
        [ "$ipv4" != skip ] || nic_method=skip
        case $ipv6 in
        skip | disable) nic_method6=$ipv6 ;;
        esac
        addresses_of_families
    done
}

# family_methods: names the methods that cannot be followed.
family_methods() {
    case $nic_method in
    '' | static | skip) ;;
    *) leave_out METHOD "$nic_method" "neither static nor skip (OpenNebula gives the address, DHCP cannot)" ;;
    esac
    case $nic_method6 in
    '' | static | skip | auto | disable) ;;
    *) leave_out IP6_METHOD "$nic_method6" "neither static, auto, disable nor skip" ;;
    esac
}

addresses_of_families() {
    [ "$nic_method" = skip ] || address_of_ipv4
    case $nic_method6 in
    skip | disable) ;;
    *) addresses_of_ipv6 ;;
    esac
}

address_of_ipv4() (
    [ "$nic_ip" ] || exit 0
    if ! is_host_ipv4 "$nic_ip"; then
        leave_out IP "$nic_ip" "no IPv4 address of a machine"
        exit 0
    fi
    prefix=24
    [ -z "$nic_mask" ] || prefix=$(prefix_of_mask "$nic_mask") || {
        prefix=24
        leave_out MASK "$nic_mask" "no network mask (24 bits are taken)"
    }
    echo "address=$nic_ip/$prefix"
)

addresses_of_ipv6() (
    length=64
    if is_number "$nic_ip6_length" 1 128; then
        length=$nic_ip6_length
    elif [ "$nic_ip6_length" ]; then
        leave_out IP6_PREFIX_LENGTH "$nic_ip6_length" "no number from 1 to 128 (64 bits are taken)"
    fi
    address_of_ipv6 IP6 "$nic_ip6" "$length"
    address_of_ipv6 IP6_ULA "$nic_ip6_ula" 64
)

# address_of_ipv6 VARIABLE VALUE LENGTH
address_of_ipv6() {
    if [ -z "$2" ]; then
        return 0
    elif is_host_ipv6 "$2"; then
        echo "address=$(canonical_ipv6 "$2")/$3"
    else
        leave_out "$1" "$2" "no IPv6 address of a machine"
    fi
}

# is_host_ipv4 VALUE: an address that an interface can have: not 0/8, loopback, multicast or reserved.
is_host_ipv4() {
    is_ipv4 "$1" || return 1
    case $1 in
    0.* | 127.* | 22[456789].* | 23?.* | 24?.* | 25?.*) return 1 ;;
    esac
}

is_host_ipv6() {
    is_ipv6 "$1" || return 1
    case $(canonical_ipv6 "$1") in
    :: | ::1 | ff??:*) return 1 ;;
    esac
}

# mtu_and_mode: uses $addresses.
mtu_and_mode() (
    mtu=$(mtu_of_nic)
    mode=$(mode_of_nic)
    if [ -z "$mode" ] && [ "${mtu:-0}" -gt 4092 ]; then
        # Datagrams are no longer than InfiniBand's largest packet: 4096 less the 4 bytes of IPoIB's header (RFC 4391).
        mode=connected
    fi
    [ -z "$mode" ] || echo "mode=$mode"
    [ -z "$mtu" ] || echo "mtu=$mtu"
)

mtu_of_nic() {
    [ "$nic_mtu" ] || return 0
    if ! is_number "$nic_mtu" 68 65520; then
        leave_out MTU "$nic_mtu" "no number from 68 to 65520"
    elif wants_ipv6 && [ "$nic_mtu" -lt 1280 ]; then
        leave_out MTU "$nic_mtu" "less than the 1280 that IPv6 needs"
    else
        echo "$nic_mtu"
    fi
}

wants_ipv6() {
    case $nic_method6-$addresses in
    auto-* | *address=*:*) ;;
    *) return 1 ;;
    esac
}

mode_of_nic() (
    where="context: ${nic}_IPOIB_MODE"
    mode=$nic_mode
    if [ -z "$mode" ]; then
        where=IPOIB_MODE
        mode=$(setting IPOIB_MODE) || exit 0
    fi
    case $mode in
    datagram | connected) echo "$mode" ;;
    '') ;;
    *) say "$where '$(printf '%.64s' "$mode")' is neither datagram nor connected; it is left out" ;;
    esac
)

gateway_and_metric() {
    if [ -z "$nic_gateway" ]; then
        :
    elif is_host_ipv4 "$nic_gateway"; then
        echo "gateway=$nic_gateway"
    else
        leave_out GATEWAY "$nic_gateway" "no IPv4 address of a machine"
    fi
    metric_line metric METRIC "$nic_metric"
}

gateway_and_metric_of_ipv6() {
    if [ -z "$nic_gateway6" ]; then
        :
    elif is_host_ipv6 "$nic_gateway6"; then
        echo "gateway6=$(canonical_ipv6 "$nic_gateway6")"
    else
        leave_out IP6_GATEWAY "$nic_gateway6" "no IPv6 address of a machine"
    fi
    if [ "$nic_metric6" ]; then
        metric_line metric6 IP6_METRIC "$nic_metric6"
    elif is_metric "$nic_metric"; then
        echo "metric6=$nic_metric"
    fi
    case $nic_method6 in
    auto | disable) echo "ip6=$nic_method6" ;;
    esac
}

is_metric() {
    is_number "$1" 0 4294967295
}

# metric_line KEY VARIABLE VALUE
metric_line() {
    if [ -z "$3" ]; then
        :
    elif is_metric "$3"; then
        echo "$1=$3"
    else
        leave_out "$2" "$3" "no number from 0 to 4294967295"
    fi
}

# routes_of_nic: prints route= lines of "NET via GATEWAY, NET via GATEWAY".
routes_of_nic() (
    IFS=,
    for route in $nic_routes; do
        IFS=' '
        # shellcheck disable=SC2086 # its words
        set -- $route
        [ $# -gt 0 ] || continue
        line=$(route_line "$@") || {
            leave_out ROUTES "$route" "no route such as 10.30.0.0/16 via 10.20.0.1"
            continue
        }
        [ -z "$line" ] || echo "$line"
    done
)

# route_line NET via GATEWAY: prints a line, or nothing when the family is left to the user.
route_line() {
    [ $# -eq 3 ] && [ "$2" = via ] || return 1
    if is_host_ipv4 "$3"; then
        is_ipv4 "$1" && set -- "$1/32" via "$3"
        is_ipv4_prefix "$1" || return 1
        [ "$nic_method" = skip ] || echo "route=$(ipv4_network "$1") via $3"
    elif is_host_ipv6 "$3"; then
        is_ipv6 "$1" && set -- "$1/128" via "$3"
        is_ipv6_prefix "$1" || return 1
        case $nic_method6 in
        skip | disable) ;;
        *) echo "route=$(canonical_ipv6 "${1%/*}")/${1##*/} via $(canonical_ipv6 "$3")" ;;
        esac
    else
        return 1
    fi
}

# ipv4_network ADDRESS/LENGTH: prints it without the bits behind its prefix; the kernel takes no others.
ipv4_network() (
    length=${1##*/}
    IFS=.
    # shellcheck disable=SC2086 # split at the dots
    set -- ${1%/*}
    bits=$((($1 << 24 | $2 << 16 | $3 << 8 | $4) & (0xffffffff << (32 - length))))
    printf '%d.%d.%d.%d/%d\n' $((bits >> 24 & 255)) $((bits >> 16 & 255)) $((bits >> 8 & 255)) $((bits & 255)) "$length"
)

# servers_of_names: prints dns= and search= lines.
servers_of_names() (
    IFS=' ,'
    for server in $nic_dns; do
        if is_ipv4 "$server"; then
            echo "dns=$server"
        elif is_ipv6 "$server"; then
            echo "dns=$(canonical_ipv6 "$server")"
        else
            leave_out DNS "$server" "no address"
        fi
    done
    for domain in $nic_domains; do
        if is_domain "$domain"; then
            echo "search=$domain"
        else
            leave_out SEARCH_DOMAIN "$domain" "no domain name"
        fi
    done
)

# print_each_once LINES
print_each_once() {
    [ -z "$1" ] || printf '%s\n' "$1" | awk '!seen[$0]++'
}
