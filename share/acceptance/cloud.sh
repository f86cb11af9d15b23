# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# OpenNebula's commands, and what is known of the VMs: a file for each fact, below $work.

note() { # VM FACT VALUE
    mkdir -p "$work/$1" && printf '%s\n' "$3" >"$work/$1/$2"
}

# only_line FILE: what it has is one line, which becomes $only; status 1 where it is not there. It starts no process: a run asks for
# facts some hundred times.
only_line() {
    only='' more=''
    [ -r "$1" ] || return 1
    { IFS= read -r only && IFS= read -r more; } <"$1" || [ -n "$more" ] || return 0
    only=''
}

of() { # VM FACT
    if only_line "$work/$1/$2"; then printf '%s\n' "$only"; fi
}

mate_of() {
    case $1 in a1) echo a2 ;; a2) echo a1 ;; b1) echo b2 ;; b2) echo b1 ;; esac
}

key_of() { # VM: its cluster's P_Key, without the membership bit
    case $1 in a*) echo "$key_a" ;; b*) echo "$key_b" ;; esac
}

# --- answers, which have an element on each line

first_element() { # NAME
    awk -v name="$1" '
        index($0, "<" name ">") {
            sub("^ *<" name ">", ""); sub("</" name ">.*", ""); sub(/^<!\[CDATA\[/, ""); sub(/\]\]>$/, "")
            print
            exit
        }' "$work/said"
}

last_host() {
    awk '/<HOSTNAME>/ {
        sub(/^ *<HOSTNAME>/, ""); sub(/<\/HOSTNAME>.*/, ""); sub(/^<!\[CDATA\[/, ""); sub(/\]\]>$/, "")
        host = $0
    } END { print host }' "$work/said"
}

# nic_ip NETWORK-ID: the address of the NIC in this network.
nic_ip() {
    awk -v want="$1" '
        function text() { sub(/^[^>]*>/, ""); sub(/<\/.*/, ""); sub(/^<!\[CDATA\[/, ""); sub(/\]\]>$/, ""); return $0 }
        /<NIC>/ { ip = network = "" }
        /<IP>/ { ip = text() }
        /<NETWORK_ID>/ { network = text() }
        /<\/NIC>/ && network == want { print ip; exit }' "$work/said"
}

# 7.4's --version prints its whole help, in which other numbers stand before this one.
opennebula_version() {
    bounded 20 onevm --version
    sed -n 's/^OpenNebula \([0-9][0-9.]*[0-9]\).*/\1/p' "$work/said" | head -n 1
}

# --- networks

# key_of_answer: sets key to the network's P_Key in four hexadecimal digits, empty when it has none.
key_of_answer() {
    key=$(first_element VLAN_ID)
    case $key in
    '' | *[!0-9]* | ??????*) key='' ;;
    *) key=$(printf '0x%04x' "$key") ;;
    esac
}

# need_network NAME: sets id.
need_network() {
    bounded 30 onevnet show "$1" -x || cannot "there is no network '$1': 'onevnet list' shows those that there are"
    id=$(first_element ID)
    case $id in '' | *[!0-9]*) cannot "network '$1': OpenNebula says no id" ;; esac
}

# need_cluster NAME: sets id and key.
need_cluster() {
    need_network "$1"
    key_of_answer
    [ -n "$key" ] || cannot "network '$1' has no P_Key (VLAN_ID): is it one of oneib's, and does oneibd run?"
    [ "$(first_element IB_MEMBERSHIP)" != limited ] || cannot "network '$1' is limited: its VMs do not reach each other, so it is no cluster"
}

# --- VMs

nics_of() { # VM
    echo "NIC = [ NETWORK_ID = \"$access_id\" ]"
    case $1 in a*) echo "NIC = [ NETWORK_ID = \"$network_a\" ]" ;; b*) echo "NIC = [ NETWORK_ID = \"$network_b\" ]" ;; esac
    case ${storage:+$1} in a1 | b2) echo "NIC = [ NETWORK_ID = \"$storage_id\" ]" ;; esac
}

# What the template asks is answered by Enter: what it proposes.
make_vm() { # VM
    tell "makes $1"
    nics_of "$1" >"$work/nics"
    yes '' | head -n 40 >"$work/enter"
    made=yes making=yes
    input=$work/enter
    ask 60 onetemplate instantiate "$template_id" "$work/nics" --name "$run_name-$1" --hold
    input='' making=''
    id=$(sed -n 's/.*VM ID: \([0-9][0-9]*\)$/\1/p' "$work/said" | head -n 1)
    if [ "$code" -ne 0 ] || [ -z "$id" ]; then
        row FAILED "VM $1 is made" "onetemplate instantiate ended with $code"
        return 1
    fi
    note "$1" id "$id"
    case $1 in ?1) note "$1" host "$host1" ;; *) note "$1" host "$host2" ;; esac
}

# state_of VM: sets state, running: failed: other, as OpenNebula's numbers say.
state_of() {
    state=other
    ask 30 onevm show "$(of "$1" id)" -x || return 0
    case $(first_element STATE)/$(first_element LCM_STATE) in
    3/3) state=running ;;
    3/36 | 3/37 | 3/38 | 3/39 | 3/4[0-24] | 3/4[6-9] | 3/50 | 3/6[0-4]) state=failed ;;
    8/* | 5/*) state=off ;;
    6/*) state=gone ;;
    11/*) state=failed ;;
    esac
}

await_running() { # VM HOST
    tries=$((wait_seconds / 3))
    while [ $tries -gt 0 ]; do
        state_of "$1"
        case $state in
        running) [ "$(last_host)" != "$2" ] || return 0 ;;
        failed | gone) return 1 ;;
        esac
        tries=$((tries - 1))
        pause 3
    done
    return 1
}

deploy_vm() { # VM
    host=$(of "$1" host)
    tell "starts $1 on $host"
    if ! ask 60 onevm deploy "$(of "$1" id)" "$host"; then
        row FAILED "VM $1 runs" "onevm deploy was refused"
        return 1
    fi
}

await_vm() { # VM
    host=$(of "$1" host)
    if ! await_running "$1" "$host"; then
        row FAILED "VM $1 runs" "it did not within $wait_seconds s, or failed ($state): 'onevm show' and oneib-node's log say why"
        return 1
    fi
    note "$1" access "$(nic_ip "$access_id")"
    case $1 in a*) note "$1" ip "$(nic_ip "$network_a")" ;; b*) note "$1" ip "$(nic_ip "$network_b")" ;; esac
    [ -z "$storage_id" ] || note "$1" storage-ip "$(nic_ip "$storage_id")"
    row ok "VM $1 runs" "on $host"
}

# A VM that could not be moved runs on where it was, and that is no success.
migrate_vm() { # VM HOST
    ask 60 onevm migrate --live "$(of "$1" id)" "$2" || return 1
    await_running "$1" "$2" || return 1
    note "$1" host "$2"
}

resume_vm() { # VM
    host=$(of "$1" host)
    tell "starts $1 again"
    tries=$((wait_seconds / 3))
    while [ $tries -gt 0 ]; do
        state_of "$1"
        [ "$state" != running ] || break
        if ask 60 onevm resume "$(of "$1" id)"; then break; fi
        tries=$((tries - 1))
        pause 3
    done
    if await_running "$1" "$host"; then
        row ok "VM $1 runs again" "on $host"
    else
        row FAILED "VM $1 runs again" "it did not within $wait_seconds s"
        return 1
    fi
}

# --- cleaning up, when every other trap is off

ids_by_name() {
    bounded 30 onevm list --csv -l ID,NAME || return 0
    sed -n "s/^\([0-9][0-9]*\),\"\{0,1\}$run_name-.*/\1/p" "$work/said"
}

ids_known() {
    for vm in $vms; do of "$vm" id; done
}

# The list, too: a VM may have been made by a call whose answer did not come any more.
clean_up() {
    [ -n "${made-}" ] || return 0
    ids=$({ ids_known; ids_by_name; } | sort -un)
    [ -n "$ids" ] || return 0
    if [ "$keep" = yes ]; then
        tell "left there (--keep): VMs $(echo "$ids" | tr '\n' ' ')"
        return 0
    fi
    tell "ends VMs $(echo "$ids" | tr '\n' ' ')"
    for id in $ids; do bounded 60 onevm terminate --hard "$id"; done
    for id in $ids; do
        await_gone "$id" || { bounded 60 onevm recover --delete "$id" && await_gone "$id"; } ||
            tell "VM $id could not be ended: 'onevm terminate --hard $id', by hand"
    done
}

await_gone() { # ID
    tries=30
    while [ $tries -gt 0 ]; do
        if bounded 30 onevm show "$1" -x && [ "$(first_element STATE)" = 6 ]; then return 0; fi
        tries=$((tries - 1))
        sleep 2
    done
    return 1
}
