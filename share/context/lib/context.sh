# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# The context that OpenNebula gives this VM: finding it, and reading it as data. ONEIB_LIBRARY is the folder of these files.

# find_context: puts the context of now into /run/oneib/context, and OneGate's token into /run/oneib/token: from the CD-ROM
# whose label is CONTEXT, else from the copies that OpenNebula's context package keeps. Without either, what was there stays,
# and status 1 says so. Messages name what in it cannot be read.
find_context() (
    folder=${ONEIB_ROOT-}/run/oneib
    mkdir -p "$folder" || exit 1
    umask 077
    exec 8>"$folder/lock.context"
    flock 8
    context_from_cdrom "$folder" || context_from_package "$folder" || exit 1
    context_characters_are_plain "$folder/context" ||
        say "context: has control characters, which are left out"
    read_variables "$folder/context" -v check=1 | while IFS= read -r complaint; do
        say "context: $complaint; it is left out"
    done
)

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

# context_from_cdrom FOLDER
context_from_cdrom() (
    device=$(context_device) || exit 1
    cdrom=$1/cdrom
    mkdir -p "$cdrom"
    mount -t iso9660 -o ro,nosuid,nodev,noexec "$device" "$cdrom" || {
        say "$device: the context CD-ROM cannot be mounted"
        exit 1
    }
    trap 'umount "$cdrom"' EXIT
    keep_context "$cdrom/context.sh" "$1/context" || exit 1
    keep_context "$cdrom/token.txt" "$1/token" || true
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

# context_from_package FOLDER
context_from_package() (
    newest=''
    for file in "${ONEIB_ROOT-}"/run/one-context/context.sh.local "${ONEIB_ROOT-}"/run/one-context/context.sh.online \
        "${ONEIB_ROOT-}"/run/one-context/context.sh.network; do
        [ -s "$file" ] || continue
        [ "$newest" ] && [ "$(find "$newest" -newer "$file")" ] || newest=$file
    done
    [ "$newest" ] && keep_context "$newest" "$1/context"
)

# keep_context FILE COPY: a file that is a file, no link to one of ours, and not as large as to fill memory.
keep_context() (
    [ -f "$1" ] && [ ! -L "$1" ] && [ -s "$1" ] || exit 1
    head -c 16777216 "$1" | replace_file "$2" 0600 || [ $? -eq 1 ]
)
