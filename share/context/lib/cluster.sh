# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Who the members of this VM's cluster are. Whoever controls another member chooses its name and its attributes.

# cluster_refresh [--if-changed]: finds the members, and writes the files that name them. Status 1: not everything could be done,
# which has been said; what could not be found out stays as it was. With --if-changed it first looks whether there is anything new.
cluster_refresh() (
    mkdir -p "${ONEIB_ROOT-}/run/oneib" || exit 1
    umask 077
    work=$(mktemp -d "${ONEIB_ROOT-}/run/oneib/cluster.XXXXXX") || exit 1
    trap 'rm -rf "$work"' EXIT
    left=0
    # Nobody else is asked, and has to answer, before those are shut out who are not to get in any more.
    ssh_is_wanted || ssh_refresh /dev/null "$work" || left=1
    status=0
    [ "${1-}" != --if-changed ] || cluster_has_changed "$work" || status=$?
    case $status in
    1) exit "$left" ;;
    2) exit 1 ;;
    esac
    status=$left
    cluster_write "$work" || status=1
    cluster_note "$work" "$status" || status=1
    exit "$status"
)

# cluster_write DIRECTORY
cluster_write() (
    hosts_of_others "$1" || exit 1
    found=0
    find_members "$1" || found=1
    # Files of another VM, whose disk this one's is a copy of, tell nothing of this one's cluster.
    if [ "$found" -ne 0 ] && files_are_of_this_vm; then
        exit 1
    fi
    umask 022
    hosts_write "$1/members" "$1" || found=1
    hostfile_write "$1/members" "$1" || found=1
    ssh_refresh "$1/members" "$1" || found=1
    this_vm | write_when_it_differs "${ONEIB_ROOT-}/etc/oneib/vm" || found=1
    [ "$found" -eq 0 ]
)

this_vm() (
    vmid=$(given VMID) || vmid=-
    printf '%s\n' "$vmid"
)

# given NAME: prints a variable of the context, without blanks at its ends: Sunstone asks for texts in boxes of several lines. Status
# 1: it has none, or an empty one, as OpenNebula writes what a template leaves open.
given() (
    value=$(context_value "$1" | sed 's/^ *//; s/ *$//') && [ "$value" ] && printf '%s\n' "$value"
)

files_are_of_this_vm() {
    [ "$(cat "${ONEIB_ROOT-}/etc/oneib/vm" 2>/dev/null)" = "$(this_vm)" ]
}

# find_members DIRECTORY: writes DIRECTORY/members, lines of members.awk. Status 1: OneGate should have told and has not, and this VM
# stands there alone.
find_members() {
    status=0
    if given ONEGATE_ENDPOINT >/dev/null; then
        members_of_service "$1" || status=$?
        case $status in
        0) return ;;
        2) status=0 ;;
        esac
    fi
    if listed=$(given ONEIB_MEMBERS); then
        members_of_context "$listed" >"$1/members"
    else
        member_alone >"$1/members"
    fi
    return "$status"
}

# members_of_service DIRECTORY: as OneGate says. Status 2: there is no service.
members_of_service() (
    onegate_service "$1" || exit $?
    {
        hosts_taken "$1/others"
        onegate_host
    } >"$1/names"
    awk -v vmid="$(this_vm)" -f "${ONEIB_LIBRARY:-/usr/lib/oneib/guest}/members.awk" \
        part=names "$1/names" part=service "$1/service" >"$1/service.members" || {
        case $? in
        3)
            say "OneGate: this VM has no InfiniBand NIC: members are taken from its context"
            exit 2
            ;;
        esac
        say "OneGate: its answer is no service with this VM: see what answers at ONEGATE_ENDPOINT"
        exit 1
    }
    valid_members <"$1/service.members" >"$1/members"
)

# valid_members: lines of members.awk whose addresses are some.
valid_members() (
    IFS='	'
    while read -r who runs slots address name key host_key; do
        if is_member_address "$address"; then
            printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$who" "$runs" "$slots" "$address" "$name" "$key" "$host_key"
        else
            say "VM $who: '$address' is no address that a member can have; it is left out"
        fi
    done
)

# is_member_address ADDRESS: not a loopback, link-local or multicast one, nor none at all.
is_member_address() {
    case $1 in
    0.* | 127.* | 169.254.* | 22[456789].* | 23?.* | 24?.* | 25?.*) return 1 ;;
    *.*) is_ipv4 "$1" ;;
    *) is_ipv6 "$1" && case $(canonical_ipv6 "$1") in :: | ::1 | fe[89ab]* | ff*) return 1 ;; esac ;;
    esac
}

# members_of_context TEXT: prints lines of members.awk from NAME=ADDRESS[*SLOTS], with spaces or commas between, and of this VM
# when it is not among them.
members_of_context() (
    own=$(own_addresses)
    alone=$(member_alone)
    set -f
    IFS=' ,'
    has_self=''
    names=' localhost '
    # shellcheck disable=SC2086 # split
    for entry in $1; do
        name=$(printf '%s' "${entry%%=*}" | tr '[:upper:]' '[:lower:]')
        address=${entry#*=}
        slots=0
        case $address in
        *'*'*)
            slots=${address#*'*'}
            address=${address%%'*'*}
            ;;
        esac
        if ! is_host_name "$name" || ! is_member_address "$address" || ! is_number "$slots" 0 9999; then
            say "ONEIB_MEMBERS: '$entry' is no NAME=ADDRESS or NAME=ADDRESS*SLOTS; it is left out"
            continue
        fi
        case $name in
        [!abcdefghijklmnopqrstuvwxyz]* | ip6-*) refused=yes ;;
        *) refused='' ;;
        esac
        case $names in
        *" $name "*) refused=yes ;;
        esac
        if [ "$refused" ]; then
            say "ONEIB_MEMBERS: '$name' is there twice, or is no name for a member; it is left out"
            continue
        fi
        names="$names$name "
        who=-
        case " $own " in
        *" $address "*) who=self has_self=yes ;;
        esac
        printf '%s\t1\t%s\t%s\t%s\t-\t-\n' "$who" "$slots" "$address" "$name"
    done
    [ "$has_self" ] || [ -z "$alone" ] || printf '%s\n' "$alone"
)

# member_alone: prints this VM's line; nothing when it has no address on InfiniBand.
member_alone() (
    addresses=$(own_addresses)
    name=$(own_host_name) || name=$(printf 'vm-%s' "$(this_vm | tr -cd '0-9')")
    [ -z "$addresses" ] || printf 'self\t1\t%s\t%s\t%s\t-\t-\n' "$(processors)" "${addresses%% *}" "${name%%.*}"
)

# own_addresses: prints the addresses that this VM's InfiniBand interfaces are to have, with spaces between.
own_addresses() (
    addresses=''
    for settings in "${ONEIB_ROOT-}"/run/oneib/nics/*; do
        [ -f "$settings" ] || continue
        while read -r address; do
            if is_member_address "$address"; then
                addresses="$addresses${addresses:+ }$address"
            fi
        done <<END
$(sed -n 's/^address=\([0-9A-Fa-f.:]*\).*/\1/p' "$settings")
END
    done
    printf '%s\n' "$addresses"
)

# processors: prints how many this machine has.
processors() {
    grep -c '^processor' "${ONEIB_ROOT-}/proc/cpuinfo" || true
}
