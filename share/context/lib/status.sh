# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What each interface is, has and lacks, for a human.

status_fix="run 'oneib-guest network', or see its messages in the journal"

# status: prints a table. Status 1: something is not as it should be.
status() {
    status_is_wrong=0
    status_row INTERFACE NIC GUID BY ADDRESS FROM STATE
    while read -r name guid nic index address rule; do
        [ "$name" ] || continue
        status_of_interface || status_is_wrong=1
    done <<END
$(match_interfaces)
END
    while read -r index address name; do
        [ "$name" ] || continue
        status_of_dummy || status_is_wrong=1
    done <<END
$(dummy_interfaces)
END
    if interfaces_are_missing; then
        say_interfaces_are_missing
        status_is_wrong=1
    fi
    return "$status_is_wrong"
}

status_row() {
    printf '%-12s %-6s %-18s %-6s %-28s %-8s %s\n' "$@"
}

# status_of_interface: of $name, $guid, $nic, $index, $address and $rule, as match_interfaces prints them.
status_of_interface() {
    case $rule in
    port)
        status_row "$name" - "0x$guid" - - - "another port of an adapter, not used"
        return 0
        ;;
    -)
        status_row "$name" - "0x$guid" - - - "WRONG: neither a NIC nor a dummy interface says what it shall have"
        return 1
        ;;
    esac
    settings=$(interface_settings "$name" "$guid" "$nic" "$index" "$address" 2>/dev/null) || {
        status_row "$name" "$nic" "0x$guid" "$rule" - - "left to the user (METHOD)"
        return 0
    }
    from=context
    [ "$nic" != - ] || from=dummy
    wanted=$(printf '%s\n' "$settings" | sed -n 's/^address=//p')
    present=$(ip -o addr show dev "$name" scope global | awk '{ print $4 }')
    wrong=0
    for each in $wanted; do
        state="there"
        if ! has_line "$present" "$each"; then
            state="WRONG: $(what_it_lacks "address $each"): $status_fix"
            wrong=1
        fi
        status_row "$name" "$nic" "0x$guid" "$rule" "$each" "$from" "$state"
    done
    for each in $present; do
        has_line "$wanted" "$each" || status_row "$name" "$nic" "0x$guid" "$rule" "$each" - "not of oneib"
    done
    status_of_the_rest || wrong=1
    return "$wrong"
}

# status_of_the_rest: MTU, routes and so on, which network.sh knows to compare.
status_of_the_rest() {
    if [ ! -f "$(possible_directory)/$name" ]; then
        status_row "$name" "$nic" "0x$guid" "$rule" - "$from" "WRONG: is not configured yet: $status_fix"
        return 1
    fi
    lacking=$(lacks "$(possible_directory)/$name" | grep -v '^address ') || {
        [ "$wanted$present" ] || status_row "$name" "$nic" "0x$guid" "$rule" - "$from" "there, and shall have no address"
        return 0
    }
    printf '%s\n' "$lacking" | while IFS= read -r each; do
        status_row "$name" "$nic" "0x$guid" "$rule" - "$from" "WRONG: $(what_it_lacks "$each"): $status_fix"
    done
    return 1
}

# what_it_lacks LINE: a line of network.sh's lacks, for a human.
what_it_lacks() (
    # shellcheck disable=SC2086 # words of values that have no blanks
    set -- $1
    case $1 in
    interface) echo "is gone" ;;
    ip6) echo "has IPv6 switched $([ "$2" = enable ] && echo off || echo on)" ;;
    mtu) echo "has not the MTU $2" ;;
    up) echo "is not up" ;;
    address) echo "has no address $2" ;;
    route) echo "has no route $(canonical_destination "$3") via $4" ;;
    esac
)

# status_of_dummy: of $index, $address and $name, as dummy_interfaces prints them.
status_of_dummy() {
    if is_down "$name"; then
        status_row "$name" - - - "$address" "index $index" "dummy interface, hidden"
    else
        status_row "$name" - - - "$address" "index $index" "WRONG: is a dummy interface and is up: $status_fix"
        return 1
    fi
}

# has_line LINES LINE
has_line() {
    printf '%s\n' "$1" | grep -Fqx -e "$2"
}
