# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Who reaches whom. That nothing arrives across proves something only while the same tool arrives where it should: from the
# same VM, and at the same VM, less than a minute before. Else the row says "not shown".

tcp_port=18600

both_have() { # TOOL VM VM
    if has_tool "$1" "$2" && has_tool "$1" "$3"; then return 0; fi
    outcome=no-tool
    return 1
}

has_tool() { # TOOL VM
    while read -r fact value; do
        if [ "$fact $value" = "tool $1" ]; then return 0; fi
    done <"$work/$2/look"
    return 1
}

look_of() { # VM FACT
    while read -r fact value; do
        if [ "$fact" = "$2" ]; then
            printf '%s\n' "$value"
            return
        fi
    done <"$work/$1/look"
}

# look_at VM IP FILE: what the VM has behind this address.
look_at() {
    in_guest "$1" 30 look "$2" || return 1
    grep -E '^(net|device|port|guid|lid|state|driver|key|tool) [A-Za-z0-9_.:-]*$' "$work/said" >"$work/$1/$3"
}

await_guest() { # VM
    tell "waits for $1"
    tries=$((wait_seconds / 3))
    while [ $tries -gt 0 ]; do
        if look_at "$1" "$(of "$1" ip)" look && [ "$(look_of "$1" state)" = ACTIVE ]; then break; fi
        tries=$((tries - 1))
        pause 3
    done
    if [ $tries -eq 0 ]; then
        complain
        row FAILED "VM $1 has its port" "within $wait_seconds s no login, no interface with its address, or a port that is not active"
        return 1
    fi
    row ok "VM $1 has its port" "$(look_of "$1" driver), GUID $(look_of "$1" guid), LID $(look_of "$1" lid)"
}

await_guests() {
    arrived=0
    for vm in $vms; do
        if await_guest "$vm"; then arrived=$((arrived + 1)); fi
    done
    [ $arrived -eq 4 ]
}

# --- one try: sets outcome

try() { # TOOL FROM TO
    outcome=broken
    case $1 in
    ibping)
        both_have ibping "$2" "$3" || return 0
        in_guest "$3" 20 serve-ibping "$(look_of "$3" device)" "$(look_of "$3" port)" "oneib-$3" || return 0
        in_guest "$2" 20 ibping "$(look_of "$2" device)" "$(look_of "$2" port)" "$(look_of "$3" guid)" "oneib-$3" || return 0
        ;;
    rc)
        both_have ibv_rc_pingpong "$2" "$3" || return 0
        tcp_port=$((tcp_port + 1))
        in_guest "$3" 20 serve-rc "$(look_of "$3" device)" "$(look_of "$3" port)" $tcp_port || return 0
        in_guest "$2" 45 rc "$(look_of "$2" device)" "$(look_of "$2" port)" $tcp_port "$(of "$3" access)" || return 0
        ;;
    ipoib)
        both_have ping "$2" "$3" || return 0
        in_guest "$2" 20 ping "$(look_of "$2" net)" "$(of "$3" ip)" || return 0
        ;;
    esac
    only_line "$work/said"
    case $only in
    arrived) outcome=arrived ;;
    silent) outcome=silent ;;
    no-path) outcome=no-path ;;
    other) outcome=other ;;
    esac
}

name_of_tool() {
    case $1 in rc) echo ibv_rc_pingpong ;; ipoib) echo 'IPoIB ping' ;; *) echo "$1" ;; esac
}

words_of() { # OUTCOME
    case $1 in
    arrived) echo 'it arrived' ;;
    silent) echo 'nothing came back' ;;
    no-path) echo 'the subnet administrator knows no path' ;;
    other) echo 'another function answered' ;;
    no-tool) echo 'the tool is not in the image' ;;
    *) echo 'the try itself failed' ;;
    esac
}

# Two VMs on one host with one LID: who sends to the LID alone may reach another function of the port.
lid_is_shared() { # VM
    for other in $vms; do
        if [ "$other" != "$1" ] && [ "$(of "$other" host)" = "$(of "$1" host)" ] && [ "$(look_of "$other" lid)" = "$(look_of "$1" lid)" ]; then return 0; fi
    done
    return 1
}

# --- within a cluster

remember() { # TOOL FROM TO
    rm -f "$work/reached-$1-$2-$3"
    [ "$outcome" != arrived ] || date +%s >"$work/reached-$1-$2-$3"
}

try_within() { # TOOL FROM TO
    try "$@"
    remember "$@"
    what="$(name_of_tool "$1") $2 to $3"
    case $1/$outcome in
    */arrived)
        row ok "$what" 'it arrived'
        [ "$1" != ibping ] || ! lid_is_shared "$3" || settle ibping yes "the VM that was meant has answered, though it shares its LID"
        ;;
    ibping/*)
        if lid_is_shared "$3"; then
            row 'left out' "$what" "$(words_of "$outcome"); ibping may miss a VF that shares its LID"
            settle ibping no "between VFs that share their LID: $(words_of "$outcome")"
        else
            row FAILED "$what" "$(words_of "$outcome")"
        fi
        ;;
    *) row FAILED "$what" "$(words_of "$outcome")" ;;
    esac
}

# --- across

# Seconds since this tool has arrived there; a lot when it has not.
age_of() { # TOOL FROM TO
    if [ -s "$work/reached-$1-$2-$3" ]; then
        only_line "$work/reached-$1-$2-$3"
        echo $(($(date +%s) - only))
    else
        echo 9999
    fi
}

is_fresh() { # TOOL FROM TO SECONDS
    age=$(age_of "$1" "$2" "$3")
    [ "$age" -ge 0 ] && [ "$age" -le "$4" ]
}

refresh() { # TOOL FROM TO
    if [ -s "$work/reached-$1-$2-$3" ] && ! is_fresh "$1" "$2" "$3" 25; then
        try "$1" "$2" "$3"
        remember "$1" "$2" "$3"
    fi
}

try_across() { # TOOL FROM TO
    refresh "$1" "$2" "$(mate_of "$2")"
    refresh "$1" "$(mate_of "$3")" "$3"
    try "$1" "$2" "$3"
    what="$(name_of_tool "$1") $2 not to $3"
    unproven='not shown'
    if [ "$1" = ibping ] && lid_is_shared "$3"; then unproven='left out'; fi
    case $outcome in
    arrived) row FAILED "$what" 'IT ARRIVED in another cluster' ;;
    silent | no-path)
        if ! is_fresh "$1" "$2" "$(mate_of "$2")" 60; then
            row "$unproven" "$what" "$(words_of "$outcome"), but $2 reached nobody with it within a minute"
        elif ! is_fresh "$1" "$(mate_of "$3")" "$3" 60; then
            row "$unproven" "$what" "$(words_of "$outcome"), but nobody reached $3 with it within a minute"
        else
            row ok "$what" "$(words_of "$outcome")"
        fi
        ;;
    *) row "$unproven" "$what" "$(words_of "$outcome")" ;;
    esac
}

try_everybody() {
    for tool in ibping rc ipoib; do
        tell "tries who reaches whom: $(name_of_tool $tool)"
        for pair in a1:a2 a2:a1 b1:b2 b2:b1; do try_within $tool ${pair%:*} ${pair#*:}; done
        for pair in a1:b1 a2:b2 a1:b2 b1:a2; do try_across $tool ${pair%:*} ${pair#*:}; done
    done
}

# --- limited members

ping_in_storage() { # VM IP
    outcome=broken
    look_at "$1" "$(of "$1" storage-ip)" look-storage || return 0
    in_guest "$1" 20 ping "$(sed -n 's/^net //p' "$work/$1/look-storage")" "$2" || return 0
    only_line "$work/said"
    case $only in arrived) outcome=arrived ;; silent) outcome=silent ;; esac
}

# Both have reached the server just before, so their silence towards each other says something.
try_storage() {
    if [ -z "$storage" ]; then
        row 'left out' 'storage, limited members' '--storage was not given'
        return
    fi
    reached=0
    begun=$(date +%s)
    for vm in a1 b2; do
        ping_in_storage $vm "$storage"
        if [ $outcome = arrived ]; then
            reached=$((reached + 1))
            row ok "$vm to the storage server" 'it arrived'
        else
            row FAILED "$vm to the storage server" "$(words_of $outcome)"
        fi
    done
    for pair in a1:b2 b2:a1; do
        ping_in_storage ${pair%:*} "$(of ${pair#*:} storage-ip)"
        what="${pair%:*} not to ${pair#*:} in storage"
        case $outcome in
        arrived) row FAILED "$what" 'IT ARRIVED at another limited member' ;;
        silent)
            if [ $reached -eq 2 ] && [ $(($(date +%s) - begun)) -le 60 ]; then
                row ok "$what" 'nothing came back'
            else
                row 'not shown' "$what" 'nothing came back, but not both reached the server within a minute'
            fi
            ;;
        *) row 'not shown' "$what" "$(words_of $outcome)" ;;
        esac
    done
    if [ "$sm_kind/$reached" = ufm/2 ]; then settle ufm-limited yes "limited members reached the server"; fi
}
