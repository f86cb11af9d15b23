# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# NetworkManager.

networkmanager_is_used() {
    networkmanager_is_enabled && ! networkmanager_leaves_all_alone
}

# Without systemd, it is used when it runs.
networkmanager_is_enabled() {
    command -v nmcli >/dev/null || return 1
    unit_is_used NetworkManager.service || [ "$(nmcli -t -f RUNNING general 2>/dev/null)" = running ]
}

# OpenNebula's scripts tell it to, where they have chosen another manager.
networkmanager_leaves_all_alone() (
    set +f
    cat "${ONEIB_ROOT-}"/etc/NetworkManager/conf.d/*.conf 2>/dev/null | grep -qx 'unmanaged-devices=\*'
)

networkmanager_write() {
    write_interface_files /etc/NetworkManager/system-connections oneib- .nmconnection 0600 networkmanager_format "$@"
}

# It refuses a connection without a mode. In datagram mode it takes every MTU over 2044 for 2044: such a one is left to oneib.
networkmanager_format() (
    mode=$(setting_of "$1" mode)
    mtu=$(setting_of "$1" mtu)
    made_by_oneib
    printf '[connection]\nid=oneib-%s\ntype=infiniband\ninterface-name=%s\n' "${1##*/}" "${1##*/}"
    printf '\n[infiniband]\ntransport-mode=%s\n' "${mode:-datagram}"
    [ -z "$mtu" ] || { [ "$mode" != connected ] && [ "$mtu" -gt 2044 ]; } || echo "mtu=$mtu"
    printf '\n[ipv4]\n'
    if [ "$(addresses_of "$1" 4)" ]; then
        echo "method=manual"
        networkmanager_format_family "$1" 4
    else
        echo "method=disabled"
    fi
    printf '\n[ipv6]\n'
    case $(setting_of "$1" ip6):$(addresses_of "$1" 6) in
    disable:*) echo "method=disabled" ;;
    :) echo "method=link-local" ;;
    *)
        if [ "$(setting_of "$1" ip6)" = auto ]; then echo "method=auto"; else echo "method=manual"; fi
        echo "addr-gen-mode=eui64"
        networkmanager_format_family "$1" 6
        ;;
    esac
)

# networkmanager_format_family FILE 4|6. A gateway is a route like others: the key "gateway" would make its metric that of all.
networkmanager_format_family() {
    addresses_of "$1" "$2" | awk '{ print "address" NR "=" $0 }'
    routes_of "$1" "$2" | awk '{ print "route" NR "=" $2 "," $3 ($4 == "-" ? "" : "," $4) }'
    dns_of "$1" "$2" | paste -s -d ';' - | sed -n '/./s/.*/dns=&;/p'
    settings_of "$1" search | paste -s -d ';' - | sed -n '/./s/.*/dns-search=&;/p'
}

networkmanager_apply() {
    [ "$(nmcli -t -f RUNNING general 2>/dev/null)" = running ] || return 1
    tell nmcli general reload conf || true
    tell nmcli connection reload || true
    for networkmanager_name; do
        [ -f "$(possible_directory)/$networkmanager_name" ] || continue
        tell nmcli --wait 20 connection up "oneib-$networkmanager_name" ifname "$networkmanager_name" || true
    done
}

networkmanager_hide() {
    hide_in_file /etc/NetworkManager/conf.d/60-oneib.conf networkmanager_format_hidden "$@"
}

# What is listed here, nmcli cannot bring up either: OpenNebula's scripts would. A MAC would be compared with the permanent one,
# which not every interface has.
networkmanager_format_hidden() (
    made_by_oneib
    printf '[keyfile]\nunmanaged-devices+='
    for name; do printf 'interface-name:%s;' "$name"; done
    echo
)
