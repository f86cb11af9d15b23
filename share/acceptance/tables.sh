# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What ports hold, each asked in more than one way: the fabric (oneib verify, smpquery), hosts and VMs (sysfs).

# take_adapters HOST: what 'oneib hca --json' says there, as lines PATH<TAB>VALUE.
take_adapters() {
    on_host "$1" 30 adapters && flatten "$work/hca-$1"
}

# place_of VM: DEVICE PORT GUID of the host's port that its VF is at, as its host says.
place_of() {
    awk -F '\t' -v vm="$(of "$1" id)" '
        { value[$1] = $2 }
        $1 ~ /\/record\/vm$/ && $2 == vm && base == "" { base = $1; sub(/\/record\/vm$/, "", base) }
        END {
            if (base == "") exit 1
            adapter = base
            sub(/\/vfs\/.*/, "", adapter)
            for (i = 0; i < 8; i++)
                if (value[adapter "/ports/[" i "]/port"] == value[base "/record/port"]) {
                    print value[adapter "/name"], value[base "/record/port"], value[adapter "/ports/[" i "]/guid"]
                    exit 0
                }
            exit 1
        }' "$work/hca-$(of "$1" host)" | grep -Ex '[a-z0-9_]+ [0-9]+ 0x[0-9a-f]{16}'
}

# --- the fabric

number_at() { # PATH
    sed -n "s|^$1	\([0-9][0-9]*\)\$|\1|p" "$work/answer"
}

check_fabric() {
    on_sm 180 oneib verify --json
    verified=$code
    [ "$verified" -eq 0 ] || complain
    if [ "$verified" -gt 1 ] || ! flatten "$work/answer"; then
        row FAILED 'oneib verify' "it could not look, status $verified"
        return
    fi
    numbers="$(number_at /verification/ports) ports, $(number_at /verification/violations) violations, $(
        number_at /verification/differences) differences, $(number_at /verification/members_unverified) members not verified"
    if [ "$verified" -eq 0 ]; then row ok 'oneib verify' "$numbers"; else row FAILED 'oneib verify' "$numbers"; fi
    case $(sed -n 's|^/virtual_ports/proven	||p' "$work/answer") in
    true) settle mlx5-smp yes "virtual ports' tables were read by management packets, and told two clusters apart" ;;
    false) settle mlx5-smp no "what came back passed no test" ;;
    esac
}

# check_cluster LETTER NETWORK-ID: its two VMs are members in force, and it takes down which GUID each is to have.
check_cluster() {
    what="cluster $1 in force"
    if ! on_sm 60 oneib show "$2" --json || ! flatten "$work/answer"; then
        complain
        row FAILED "$what" "'oneib show' ended with $code"
        return
    fi
    awk -F '\t' -v first="$(of "$1"1 id)" -v second="$(of "$1"2 id)" -v network="$2" '
        { value[$1] = $2 }
        $1 ~ /^\/attachments\/\[[0-9]+\]\/vm$/ && ($2 == first || $2 == second) { base[++n] = substr($1, 1, length($1) - 3) }
        END {
            for (i = 1; i <= n; i++)
                if (value[base[i] "/network"] == network)
                    print value[base[i] "/vm"], value[base[i] "/guid"], value[base[i] "/in_force"]
        }' "$work/answer" >"$work/members"
    for vm in "$1"1 "$1"2; do
        guid=$(sed -n "s/^$(of "$vm" id) \(0x[0-9a-f]\{16\}\) .*/\1/p" "$work/members" | head -n 1)
        note "$vm" wanted-guid "$guid"
    done
    if [ "$(grep -c ' true$' "$work/members")" -eq 2 ]; then
        row ok "$what" 'both VMs'
    elif [ "$(grep -Ec ' (true|null)$' "$work/members")" -eq 2 ]; then
        row 'left out' "$what" 'the fabric does not show what virtual ports hold: see the rows of the VMs'
    else
        row FAILED "$what" "of its two VMs $(grep -c ' true$' "$work/members") are"
    fi
}

# --- hosts

only_keys() {
    grep -o '0x[0-9a-f]\{4\}$' | sort -u | tr '\n' ' '
}

# What smpquery prints: a line 'INDEX: KEY KEY ...' for each eight.
keys_of_smpquery() {
    sed -n 's/^ *[0-9][0-9]*: //p' "$work/said" | tr -s ' ' '\n' | grep -v '^0x0000$' | only_keys
}

compare_with_smpquery() { # HOST DEVICE PORT GUID
    what="$1 $2/$3 by smpquery"
    if ! on_sm 20 smpquery -G pkeys "$4" "$3"; then
        complain
        row 'left out' "$what" 'smpquery cannot read it: not there (infiniband-diags), not allowed, or an M_Key'
        return
    fi
    by_smp=$(keys_of_smpquery)
    if [ "$by_smp" = "$(only_keys <"$work/keys")" ]; then
        row ok "$what" "the same keys: $by_smp"
    else
        row FAILED "$what" "keys $by_smp, and by sysfs $(only_keys <"$work/keys")"
    fi
}

# On mlx4 the host's port has its VMs' keys; on mlx5 VFs have tables of their own.
missing_keys() { # HOST DEVICE
    case $2 in mlx4*) ;; *) return 0 ;; esac
    for vm in $vms; do
        [ "$(of "$vm" host)" = "$1" ] || continue
        wanted=$(key_of "$vm")
        grep -Eq " ($wanted|$(with_full "$wanted"))\$" "$work/keys" || echo "$wanted"
    done | sort -u | tr '\n' ' '
}

check_host() { # HOST
    if ! take_adapters "$1"; then
        complain
        row FAILED "$1: its adapters" "'oneib hca' fails there"
        return
    fi
    : >"$work/places"
    for vm in $vms; do
        [ "$(of "$vm" host)" = "$1" ] || continue
        place_of "$vm" >>"$work/places" || row FAILED "$1: VF of $vm" "'oneib hca' there names none"
    done
    sort -u "$work/places" >"$work/ports-$1"
    while read -r device port guid; do check_port "$1" "$device" "$port" "$guid"; done <"$work/ports-$1"
}

check_port() { # HOST DEVICE PORT GUID
    what="$1 $2/$3 by sysfs"
    if ! on_host "$1" 30 keys "$2" "$3" || ! grep -E '^[0-9]+ 0x[0-9a-f]{4}$' "$work/said" >"$work/keys"; then
        row FAILED "$what" 'its P_Key table cannot be read'
        return
    fi
    missing=$(missing_keys "$1" "$2")
    if ! grep -qx '0 0x7fff' "$work/keys"; then
        row FAILED "$what" 'index 0 is not 0x7fff: the port is to be a limited member of the default partition'
    elif [ -n "$missing" ]; then
        row FAILED "$what" "it lacks ${missing% }"
    else
        row ok "$what" "$(only_keys <"$work/keys")"
    fi
    compare_with_smpquery "$@"
}

# --- VMs

with_full() { # KEY
    printf '0x%04x' $(($1 | 0x8000))
}

# check_table VM FILE KEY WHAT: the key at index 0, and besides that at most the default partition's, limited.
check_table() {
    sed -n 's/^key //p' "$work/$1/$2" >"$work/keys"
    foreign=$(grep -v "^0:$3\$" "$work/keys" | grep -v ':0x7fff$' | tr '\n' ' ')
    is_mlx5=$(grep -c '^driver mlx5' "$work/$1/$2")
    if ! grep -qx "0:$3" "$work/keys"; then
        row FAILED "$4" "index 0 is not $3; in use: $(tr '\n' ' ' <"$work/keys")"
        [ "$is_mlx5" = 0 ] || settle mlx5-index0 no "a VM's port has not its key at index 0"
    elif [ -n "$foreign" ]; then
        row FAILED "$4" "it holds what is not its own: $foreign"
    else
        row ok "$4" "$3 at index 0"
        [ "$is_mlx5" = 0 ] || settle mlx5-index0 yes "the key is at index 0 of the VM's port"
    fi
}

check_guid() { # VM
    wanted=$(of "$1" wanted-guid)
    has=$(look_of "$1" guid)
    is_mlx5=$(grep -c '^driver mlx5' "$work/$1/look")
    if [ -z "$wanted" ]; then
        row 'not shown' "GUID of $1" 'oneib show did not name one'
    elif [ "$wanted" = "$has" ]; then
        row ok "GUID of $1" "$has"
        [ "$is_mlx5" = 0 ] || settle mlx5-guid yes "a VM's port has the GUID that it was given"
    else
        row FAILED "GUID of $1" "it has $has, and was given $wanted"
        [ "$is_mlx5" = 0 ] || settle mlx5-guid no "a VM's port has another GUID than it was given"
    fi
}

check_guest() { # VM
    if ! look_at "$1" "$(of "$1" ip)" look; then
        row FAILED "P_Keys of $1" 'it cannot be asked'
        return
    fi
    check_table "$1" look "$(with_full "$(key_of "$1")")" "P_Keys of $1"
    check_guid "$1"
    case ${storage:+$1} in
    a1 | b2)
        if look_at "$1" "$(of "$1" storage-ip)" look-storage; then
            check_table "$1" look-storage "$storage_key" "P_Keys of $1 in storage"
        else
            row FAILED "P_Keys of $1 in storage" 'it cannot be asked'
        fi
        ;;
    esac
}

# --- what only mlx5, or only one subnet manager, leaves open

settle_lids() {
    for vm in $vms; do
        grep -q '^driver mlx5' "$work/$vm/look" || continue
        if lid_is_shared "$vm"; then
            settle mlx5-lid no "virtual ports of one adapter share LID $(look_of "$vm" lid)"
        else
            settle mlx5-lid yes "each VM had a LID of its own"
        fi
    done
}

# A host whose kernel does not let it be asked says nothing of it.
settle_firmware() {
    if grep -q '/virtual_port/read_by	fwctl$' "$work/hca-$host"; then
        settle mlx5-firmware yes "it told $host virtual ports' tables"
    elif refusal=$(grep -Eo 'firmware does not tell \(status 0x[0-9a-f]{2}, syndrome 0x[0-9a-f]{8}\)' "$work/hca-$host" | head -n 1) &&
        [ -n "$refusal" ]; then
        settle mlx5-firmware no "$host: $refusal"
    fi
}

settle_order() {
    for host in "$host1" "$host2"; do
        grep -q '/driver	mlx5$' "$work/hca-$host" || continue
        if grep -Eq '/virtual_port/guid	0x[0-9a-f]{16}$' "$work/hca-$host"; then
            settle mlx5-host-reads yes "a host showed virtual ports' tables"
        fi
        settle_firmware
        on_host "$host" 20 order || continue
        order=$(grep -Ex 'link_first|key_first' "$work/said" | head -n 1)
        [ -z "$order" ] || settle mlx5-order yes "with node.virtual_ports = \"$order\" VMs got their keys"
    done
}

settle_ufm() {
    [ "$sm_kind" = ufm ] || return 0
    awk -F '\t' '{ value[$1] = $2 } END {
        for (i = 0; i < 500; i++)
            if (value["/checks/[" i "]/check"] == "ufm" && value["/checks/[" i "]/status"] == "ok") exit 0
        exit 1 }' "$work/check" && settle ufm-answers yes "oneib check and oneibd understood what UFM answered"
}

read_tables() {
    tell "reads P_Key tables"
    before=$failed
    check_fabric
    check_cluster a "$network_a"
    check_cluster b "$network_b"
    check_host "$host1"
    check_host "$host2"
    for vm in $vms; do check_guest "$vm"; done
    settle_lids
    [ "$failed" != "$before" ] || settle_order
    settle_ufm
}

# --- after a migration, and after a restart of a host

nothing_left_at() { # HOST VM
    tries=10
    while [ $tries -gt 0 ]; do
        if take_adapters "$1" && ! grep -qx "/adapters/.*/record/vm	$(of "$2" id)" "$work/hca-$1"; then
            row ok "$1 has let go of $2" 'no VF there is its own any more'
            return
        fi
        tries=$((tries - 1))
        pause 3
    done
    row FAILED "$1 has let go of $2" 'a VF there is still its own'
}

boot_of() { # HOST
    sed -n 's/^boot //p' "$work/facts-$1"
}

reboot_host() { # HOST
    before_boot=$(boot_of "$1")
    on_host "$1" 20 reboot
    tries=$((wait_seconds / 3))
    while [ $tries -gt 0 ]; do
        if on_host "$1" 15 facts; then
            cp -- "$work/said" "$work/facts-$1"
            if [ "$(boot_of "$1")" != "$before_boot" ] && take_adapters "$1"; then
                row ok "$1 is up again" ''
                return 0
            fi
        fi
        tries=$((tries - 1))
        pause 3
    done
    row FAILED "$1 is up again" "not within $wait_seconds s (--wait)"
    return 1
}

# The VMs there do not run yet: whatever is open is open to nobody's order.
all_closed_at() { # HOST
    if grep -Eq '/use	(in use|leaked|unknown)$' "$work/hca-$1"; then
        row FAILED "VFs of $1 came up closed" 'one is open, or cannot be read'
        settle reboot-closed no "a VF was open after the start of its host"
    else
        row ok "VFs of $1 came up closed" ''
        settle reboot-closed yes "no VF was open after the start of its host"
    fi
}
