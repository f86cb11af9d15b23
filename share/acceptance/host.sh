#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is asked of a KVM host: sent there by ssh and read by sh, so that nothing has to be installed.
#
#   facts         kernel, start of the machine, and of each adapter: name, firmware, board
#   adapters      oneib hca --json
#   keys DEVICE PORT   entries of the P_Key table that are in use, a line each: INDEX KEY
#   order         node.virtual_ports
#   may-reboot    succeeds where 'systemctl reboot' is allowed; reboot: does it
set -u

show() {
    if [ -r "$2" ]; then printf '%s %s\n' "$1" "$(head -n 1 "$2" | tr -cd 'A-Za-z0-9._-')"; fi
}

case ${1-} in
facts)
    echo "kernel $(uname -r)"
    show boot /proc/sys/kernel/random/boot_id
    for device in $(cd /sys/class/infiniband && echo *); do
        echo "adapter $device"
        show firmware "/sys/class/infiniband/$device/fw_ver"
        show board "/sys/class/infiniband/$device/board_id"
    done
    ;;
adapters) oneib hca --json || [ $? -eq 1 ] ;;
keys)
    cd "/sys/class/infiniband/$2/ports/$3/pkeys" || exit 1
    for index in $(printf '%s\n' * | sort -n); do
        read -r key <"$index" || exit 1
        [ "$key" = 0x0000 ] || echo "$index $key"
    done
    ;;
order) oneib check --config | sed -n '/^node/,/}/ s/.*virtual_ports = "\([a-z_]*\)".*/\1/p' ;;
may-reboot) sudo -n -l systemctl reboot >/dev/null ;;
reboot) sudo -n systemctl reboot ;;
*) exit 2 ;;
esac
