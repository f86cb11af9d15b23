# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Without a network manager: Alpine's and other images, where what is set at each boot is all there is. bring_into_force sets the
# rest. Name servers are left to OpenNebula's own scripts, which write /etc/resolv.conf.

ip_is_used() {
    true
}

ip_write() {
    true
}

ip_hide() {
    true
}

# ip_apply NAME...: says which interfaces listen to routers. Status 1: there is nobody to wait for.
ip_apply() {
    for ip_name; do
        ip_file=$(possible_directory)/$ip_name
        [ -f "$ip_file" ] || continue
        ip_listens=0
        [ "$(setting_of "$ip_file" ip6)" != auto ] || ip_listens=1
        write_ipv6_setting "$ip_name" accept_ra "$ip_listens" || true
        write_ipv6_setting "$ip_name" autoconf "$ip_listens" || true
    done
    return 1
}
