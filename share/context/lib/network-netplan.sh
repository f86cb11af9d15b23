# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# netplan, where it makes files for systemd-networkd. Where it makes them for NetworkManager, that is asked directly: it knows
# what an InfiniBand connection is, and netplan only since 0.105.

# It is used when somebody else has written something for it.
netplan_is_used() (
    command -v netplan >/dev/null || exit 1
    set +f
    used=''
    for file in "${ONEIB_ROOT-}"/etc/netplan/*.yaml "${ONEIB_ROOT-}"/run/netplan/*.yaml "${ONEIB_ROOT-}"/lib/netplan/*.yaml; do
        case $file in
        */60-oneib-*) continue ;;
        esac
        [ -f "$file" ] || continue
        ! grep -Eq '^ *renderer: *"?NetworkManager' "$file" || exit 1
        used=yes
    done
    [ "$used" ]
)

# It becomes networkd's files at once: at boot nobody else does that. One that netplan refuses would keep it from configuring any
# interface.
netplan_write() (
    changed=$(write_interface_files /etc/netplan 60-oneib- .yaml 0600 netplan_format "$@") || exit 1
    [ "$changed" ] || exit 0
    tell netplan generate || {
        say "netplan: does not take the files 60-oneib-*.yaml, which are removed again; the interfaces are set up with ip"
        write_interface_files /etc/netplan 60-oneib- .yaml 0600 netplan_format >/dev/null
        tell netplan generate || true
        exit 1
    }
    printf '%s\n' "$changed"
)

netplan_format() (
    made_by_oneib
    printf 'network:\n  version: 2\n  ethernets:\n    "%s":\n      renderer: networkd\n      optional: true\n' "${1##*/}"
    settings_of "$1" mtu | sed 's/^/      mtu: /'
    case $(setting_of "$1" ip6) in
    auto) printf '      accept-ra: true\n' ;;
    disable) printf '      accept-ra: false\n      link-local: []\n' ;;
    *) printf '      accept-ra: false\n' ;;
    esac
    settings_of "$1" address | netplan_list '      ' addresses
    netplan_routes "$1"
    [ -z "$(settings_of "$1" dns)$(settings_of "$1" search)" ] || echo "      nameservers:"
    settings_of "$1" dns | netplan_list '        ' addresses
    settings_of "$1" search | netplan_list '        ' search
)

# netplan_list INDENT KEY: of the lines of standard input; nothing if there are none.
netplan_list() {
    sed "s/.*/$1  - \"&\"/; 1s/^/$1$2:\\
/"
}

netplan_routes() (
    first=yes
    routes_of "$1" | while read -r _ to via metric; do
        [ -z "$first" ] || echo "      routes:"
        first=''
        printf '        - to: "%s"\n          via: "%s"\n' "$to" "$via"
        [ "$metric" = - ] || echo "          metric: $metric"
    done
)

netplan_apply() {
    networkd_apply "$@"
}

netplan_hide() {
    networkd_hide "$@"
}
