# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# systemd-networkd. Names begin with 05: the first file that matches an interface has it, and OpenNebula's scripts, netplan and
# distributions write files for all kinds of interfaces.

networkd_is_used() {
    command -v networkctl >/dev/null && unit_is_used systemd-networkd.service
}

networkd_write() {
    write_interface_files /etc/systemd/network 05-oneib- .network 0644 networkd_format "$@"
}

# Where the port is down for a while (a subnet manager that changes, a cable) the addresses stay, and connections with them;
# nobody waits for it at boot.
networkd_format() (
    made_by_oneib
    printf '[Match]\nName=%s\n\n[Link]\nRequiredForOnline=no\n' "${1##*/}"
    settings_of "$1" mtu | sed 's/^/MTUBytes=/'
    printf '\n[Network]\nConfigureWithoutCarrier=yes\n'
    settings_of "$1" address | sed 's/^/Address=/'
    settings_of "$1" dns | sed 's/^/DNS=/'
    settings_of "$1" search | sed 's/^/Domains=/'
    case $(setting_of "$1" ip6) in
    auto) printf 'IPv6AcceptRA=yes\n\n[IPv6AcceptRA]\nDHCPv6Client=no\n' ;;
    disable) printf 'LinkLocalAddressing=no\nIPv6AcceptRA=no\n' ;;
    *) echo "IPv6AcceptRA=no" ;;
    esac
    routes_of "$1" | while read -r _ to via metric; do
        printf '\n[Route]\nDestination=%s\nGateway=%s\n' "$to" "$via"
        [ "$metric" = - ] || echo "Metric=$metric"
    done
)

networkd_apply() {
    systemctl is-active --quiet systemd-networkd.service 2>/dev/null || return 1
    # Before systemd 244 it could not be told to read its files again.
    networkctl reload >/dev/null 2>&1 || tell systemctl try-restart systemd-networkd.service || true
    for networkd_name; do
        [ ! -f "$(possible_directory)/$networkd_name" ] || tell networkctl reconfigure "$networkd_name" || true
    done
}

networkd_hide() {
    hide_in_file /etc/systemd/network/05-oneib.network networkd_format_hidden "$@"
}

networkd_format_hidden() (
    made_by_oneib
    echo "[Match]"
    for name; do echo "MACAddress=$(mac_of "$name")"; done
    printf '\n[Link]\nUnmanaged=yes\n'
)
