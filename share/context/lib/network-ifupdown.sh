# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# ifupdown: Debian's, and ifupdown-ng, where /etc/network/interfaces reads interfaces.d/*.cfg. OpenNebula's scripts write
# such a line on Debian, Devuan and Ubuntu. On Alpine they write the file at each boot without it, so that nothing of ours
# would be read: there ip does it, at each boot.

ifupdown_is_used() {
    command -v ifup >/dev/null && ifupdown_reads_our_files || return 1
    ! has_systemd || unit_is_used networking.service
}

ifupdown_reads_our_files() {
    grep -Eqs '^[[:blank:]]*source[[:blank:]]+(/etc/network/)?interfaces\.d/\*(\.cfg)?[[:blank:]]*$' \
        "${ONEIB_ROOT-}/etc/network/interfaces"
}

ifupdown_write() {
    write_interface_files /etc/network/interfaces.d oneib- .cfg 0644 ifupdown_format "$@"
}

# The first stanza has what goes before all addresses, the last one what needs them: where one interface has several, ifupdown
# takes them in turn, and ifupdown-ng all together. What is there already must not keep the rest from being set.
ifupdown_format() (
    name=${1##*/}
    mode=$(setting_of "$1" mode)
    sysctl=/proc/sys/net/ipv6/conf/$name
    autoconf=0
    [ "$(setting_of "$1" ip6)" != auto ] || autoconf=1
    made_by_oneib
    printf 'auto %s\niface %s inet manual\n' "$name" "$name"
    echo "    pre-up ip addr flush dev $name scope global || true"
    [ -z "$mode" ] || echo "    pre-up echo $mode >/sys/class/net/$name/mode || true"
    settings_of "$1" mtu | sed "s/.*/    pre-up ip link set dev $name mtu & || true/"
    if [ "$(setting_of "$1" ip6)" = disable ]; then
        echo "    pre-up echo 1 >$sysctl/disable_ipv6 || true"
    else
        echo "    pre-up echo $autoconf >$sysctl/accept_ra || true"
        echo "    pre-up echo $autoconf >$sysctl/autoconf || true"
    fi
    settings_of "$1" dns | paste -s -d ' ' - | sed -n '/./s/^/    dns-nameservers /p'
    settings_of "$1" search | paste -s -d ' ' - | sed -n '/./s/^/    dns-search /p'
    addresses_of "$1" 4 | sed "s/^/iface $name inet static\\
    address /"
    # Nobody else has an address that OpenNebula has given, and without a carrier the search for one would fail.
    addresses_of "$1" 6 | sed "s/^/iface $name inet6 static\\
    dad-attempts 0\\
    autoconf $autoconf\\
    address /"
    routes_of "$1" | while read -r family to via metric; do
        [ "$metric" = - ] && metric='' || metric=" metric $metric"
        echo "    up ip -$family route add $to via $via dev $name$metric || true"
    done
)

# --force: one that it has brought up before may be a new one of the same name.
ifupdown_apply() (
    ifupdown_runs || exit 1
    for name; do
        [ ! -f "$(possible_directory)/$name" ] || tell ifup --force "$name" || true
    done
)

# There is no daemon: it runs from the moment on when it has brought up its interfaces at boot.
ifupdown_runs() {
    [ -s "${ONEIB_ROOT-}/run/network/ifstate" ] || [ -s "${ONEIB_ROOT-}/run/ifstate" ]
}

ifupdown_hide() {
    hide_in_file /etc/network/interfaces.d/oneib.cfg ifupdown_format_hidden "$@"
}

# Stanzas of OpenNebula's scripts for these interfaces come first; this one undoes them.
ifupdown_format_hidden() (
    made_by_oneib
    for name; do
        printf 'iface %s inet manual\n    up ip addr flush dev %s\n    up ip link set dev %s down\n' "$name" "$name" "$name"
    done
)
