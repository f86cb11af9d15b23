# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# The context that OpenNebula gives this VM: finding it, and reading it as data. ONEIB_LIBRARY is the directory of these files.

# find_context: puts the context of now into /run/oneib/context, and OneGate's token into /run/oneib/token: from the CD-ROM
# whose label is CONTEXT, else from the copies that OpenNebula's context package keeps. Without either, what was there stays,
# and status 1 says so. Of a context that is cut off, what it does not say stays as it was. Messages name what in it cannot be read.
find_context() (
    directory=${ONEIB_ROOT-}/run/oneib
    mkdir -p "$directory" || exit 1
    umask 077
    exec 8>"$directory/lock.context"
    flock 8
    found=$(mktemp -d "$directory/found.XXXXXX") || exit 1
    trap 'rm -rf "$found"' EXIT
    context_from_cdrom "$directory" "$found" || context_from_package "$found" || exit 1
    context_characters_are_plain "$found/context" ||
        say "context: has control characters, which are left out"
    read_variables "$found/context" -v check=1 | while IFS= read -r complaint; do
        say "context: $complaint; it is left out"
    done
    take_context "$found" "$directory/context" || exit 1
    remember_context "$directory/context"
)

# --- a context that is cut off --------------------------------------------------------------------------------------------

# take_context FOUND CONTEXT: FOUND/context becomes the context of now.
take_context() (
    if [ -f "$2" ]; then
        read_variables "$2" -v ours=1 >"$1/was"
    else
        remembered_context >"$1/was"
    fi
    if why=$(how_it_is_cut "$1"); then
        say "context: is cut off ($why): what it does not say any more stays as it was, until there is a whole one"
        # Nothing is written of what could not be merged: it would be an empty context.
        merge_contexts "$1" >"$1/merged" && write_when_it_differs "$2" 0600 <"$1/merged"
    else
        write_when_it_differs "$2" 0600 <"$1/context"
    fi
)

# how_it_is_cut FOUND: prints how it can be told that FOUND/context is not all of a context. Status 1: as far as can be told, it
# is. OpenNebula ends each line, and writes DISK_ID and TARGET into each context, and VMID where it writes ONEGATE_ENDPOINT.
how_it_is_cut() (
    if [ -e "$1/unreadable" ]; then
        echo "it cannot be read to its end"
    elif ! read_variables "$1/context" -v ends=1; then
        echo "it ends within a value"
    elif ! has_its_last_line "$1/context"; then
        echo "its last line has no end"
    else
        read_variables "$1/context" -v ours=1 >"$1/said"
        expected='DISK_ID TARGET'
        ! grep -q '^ONEGATE_ENDPOINT=' "$1/said" || expected="$expected VMID"
        for name in $expected; do
            if grep -q "^$name=" "$1/was" && ! grep -q "^$name=" "$1/said"; then
                echo "$name is not there"
                exit
            fi
        done
        exit 1
    fi
)

# merge_contexts FOUND: prints FOUND/was with what FOUND/context says. A last line without its end says nothing: its quote may only
# seem to be closed. Where nothing else is known, it counts as it stands there.
merge_contexts() {
    if has_its_last_line "$1/context" || [ ! -s "$1/was" ]; then
        read_variables "$1/context" -v ours=1 >"$1/said"
    else
        sed '$d' "$1/context" >"$1/lines"
        read_variables "$1/lines" -v ours=1 >"$1/said"
    fi
    awk -f "${ONEIB_LIBRARY:-/usr/lib/oneib/guest}/merge.awk" part=was "$1/was" part=said "$1/said"
}

# has_its_last_line FILE: it ends with the end of a line.
has_its_last_line() {
    [ "$(tail -c 1 "$1" | wc -l)" -eq 1 ]
}

# remember_context CONTEXT: /etc/oneib/context has what oneib reads of it, for the next boot of this machine: nothing else of a
# context, where passwords may be.
remember_context() (
    uuid=$(machine_uuid) || exit 0
    # All may enter it: the hostfile is there too.
    (umask 022 && mkdir -p "${ONEIB_ROOT-}/etc/oneib") &&
        { echo "# Machine $uuid" && read_variables "$1" -v ours=1; } |
        write_when_it_differs "${ONEIB_ROOT-}/etc/oneib/context" 0600 || true
)

# remembered_context: prints it; nothing when it is another machine's, whose disk this one's is a copy of.
remembered_context() (
    file=${ONEIB_ROOT-}/etc/oneib/context
    uuid=$(machine_uuid) && [ -f "$file" ] && [ "$(head -n 1 "$file")" = "# Machine $uuid" ] || exit 0
    read_variables "$file" -v ours=1
)

# machine_uuid: prints the one that OpenNebula gives a VM for its life. Status 1: there is none.
machine_uuid() (
    { read -r uuid <"${ONEIB_ROOT-}/sys/class/dmi/id/product_uuid"; } 2>/dev/null || exit 1
    case $uuid in
    *[!0123456789abcdefABCDEF-]* | '') exit 1 ;;
    *[!0-]*) printf '%s\n' "$uuid" ;;
    *) exit 1 ;;
    esac
)

# --- reading it -----------------------------------------------------------------------------------------------------------

# context_value NAME: prints a variable of the context, in one line. Status 1: the context has none.
context_value() {
    read_variables "${ONEIB_ROOT-}/run/oneib/context" -v name="$1"
}

# context_variables PREFIX: prints NAME=value, a line each, of all variables whose names begin with PREFIX, without it.
context_variables() {
    [ ! -f "${ONEIB_ROOT-}/run/oneib/context" ] || read_variables "${ONEIB_ROOT-}/run/oneib/context" -v prefix="$1"
}

# setting NAME: a setting, from the context or else from guest.conf. Status 1: neither has it.
setting() {
    context_value "$1" || read_variables "${ONEIB_ROOT-}/etc/oneib/guest.conf" -v name="$1"
}

# is_yes VALUE: as OpenNebula takes a value for yes.
is_yes() {
    case $1 in
    [Yy] | [Yy][Ee][Ss] | [Tt][Rr][Uu][Ee] | 1) ;;
    *) return 1 ;;
    esac
}

# read_variables FILE AWK-OPTION...
read_variables() (
    [ -f "$1" ] || exit 1
    file=$1
    shift
    tr -d '\000-\010\013-\037\177' <"$file" | awk "$@" -f "${ONEIB_LIBRARY:-/usr/lib/oneib/guest}/context.awk"
)

context_characters_are_plain() {
    [ "$(tr -cd '\000-\010\013-\037\177' <"$1" | wc -c)" -eq 0 ]
}

# --- where it lies --------------------------------------------------------------------------------------------------------

# context_from_cdrom DIRECTORY FOUND: into FOUND/context, the token into DIRECTORY.
context_from_cdrom() (
    device=$(context_device) || exit 1
    cdrom=$1/cdrom
    mkdir -p "$cdrom"
    mount -t iso9660 -o ro,nosuid,nodev,noexec "$device" "$cdrom" || {
        say "$device: the context CD-ROM cannot be mounted"
        exit 1
    }
    trap 'umount "$cdrom"' EXIT
    copy_context "$cdrom/context.sh" "$2" || exit 1
    if is_plain_file "$cdrom/token.txt"; then
        head -c 16777216 "$cdrom/token.txt" >"$2/token" && write_when_it_differs "$1/token" 0600 <"$2/token" || true
    fi
)

# A CD-ROM drive goes before a disk that bears the label: a disk's label is whoever's who wrote its image.
context_device() (
    devices=$(blkid -t LABEL=CONTEXT -o device 2>/dev/null || blkid 2>/dev/null | sed -n 's/: .*LABEL="CONTEXT".*//p')
    link=${ONEIB_ROOT-}/dev/disk/by-label/CONTEXT
    [ ! -e "$link" ] || devices="$devices
$(readlink -f "$link")"
    printf '%s\n' "$devices" | awk '
        /\/sr[0-9]+$/ { print; found = 1; exit }
        /^\// && !/\/loop/ && other == "" { other = $0 }
        END { if (!found && other != "") print other; exit !(found || other != "") }'
)

# context_from_package FOUND
context_from_package() (
    newest=''
    for file in "${ONEIB_ROOT-}"/run/one-context/context.sh.local "${ONEIB_ROOT-}"/run/one-context/context.sh.online \
        "${ONEIB_ROOT-}"/run/one-context/context.sh.network; do
        [ -s "$file" ] || continue
        [ "$newest" ] && [ "$(find "$newest" -newer "$file")" ] || newest=$file
    done
    [ "$newest" ] && copy_context "$newest" "$1"
)

# copy_context FILE FOUND: FOUND/context is it, as far as it can be read and does not fill memory; FOUND/unreadable tells that
# this was not to its end.
copy_context() {
    is_plain_file "$1" || return 1
    head -c 16777216 "$1" >"$2/context" || : >"$2/unreadable"
    [ -s "$2/context" ]
}

# is_plain_file FILE: with something in it, and no link to a file of ours.
is_plain_file() {
    [ -f "$1" ] && [ ! -L "$1" ] && [ -s "$1" ]
}
