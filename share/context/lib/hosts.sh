# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# The files that name members: /etc/hosts and /etc/oneib/hostfile. Also the block of lines between two marks that is ours in a
# file of others, here and in those of ssh. It is always in front: so it does not matter how the file ends.

block_begin="# oneib begin: the cluster's members, kept by oneib-guest"
block_end="# oneib end"

# without_block FILE [NAME]: prints a file without our block, byte for byte; nothing when there is no file. Status 1: the marks
# in it are not as we make them, so nobody knows which lines are whose; that has been said, of NAME.
without_block() (
    [ -f "$1" ] || exit 0
    begin=$(block_lines "$1" "$block_begin")
    end=$(block_lines "$1" "$block_end")
    like_ours=$(grep -c -e '# oneib begin' -e '# oneib end' "$1") || true
    case $begin:$end:$like_ours in
    ::0)
        cat "$1"
        exit
        ;;
    [123456789]*:[123456789]*:2)
        if [ "$begin" -lt "$end" ]; then
            head -n $((begin - 1)) "$1"
            tail -n +$((end + 1)) "$1"
            exit
        fi
        ;;
    esac
    say "${2:-$1}: its lines '# oneib begin' and '# oneib end' are not as oneib-guest makes them:" \
        "remove them, and what is oneib's between them"
    exit 1
)

# with_marks: prints standard input between our marks; nothing when it is empty.
with_marks() (
    IFS= read -r line || exit 0
    printf '%s\n' "$block_begin" "$line"
    cat
    printf '%s\n' "$block_end"
)

# block_lines FILE LINE: prints the numbers of the lines that are this one, with spaces between.
block_lines() {
    awk -v line="$2" '$0 == line { printf "%s%d", space, NR; space = " " }' "$1"
}

# own_host_name: prints this machine's host name. Status 1: it has none of its own.
own_host_name() (
    name=$(tr '[:upper:]' '[:lower:]' <"${ONEIB_ROOT-}/proc/sys/kernel/hostname") || exit 1
    case $name in
    localhost | localhost.*) exit 1 ;;
    esac
    is_domain "$name" && printf '%s\n' "$name"
)

# hosts_of_others DIRECTORY: writes DIRECTORY/others, /etc/hosts without what we have put into it. Status 1: it cannot be told what
# that is, which has been said.
hosts_of_others() (
    file=${ONEIB_ROOT-}/etc/hosts
    if [ -f "$file" ]; then
        # shellcheck disable=SC2094 # it is only read
        tr -d '\000' <"$file" | cmp -s - "$file" || {
            say "/etc/hosts: is no text: it has a NUL character"
            exit 1
        }
    fi
    without_block "$file" /etc/hosts >"$1/outside" && sed 's/^#oneib //' "$1/outside" >"$1/others"
)

# hosts_taken OTHERS: prints the names in a file that hosts_of_others has written, for members.awk.
hosts_taken() {
    own=$(own_host_name) || own=''
    hosts_awk names "$own" part=others "$1"
    [ -z "$own" ] || printf '%s own\n' "${own%%.*}"
}

# hosts_write MEMBERS DIRECTORY: writes /etc/hosts, the members (lines of members.awk) before DIRECTORY/others. This machine's own name
# goes with its address in the cluster, and lines of others that give it a loopback address are switched off with "#oneib ":
# getaddrinfo() prefers loopback addresses wherever they stand. A VM without an address in a cluster leaves its name to others.
hosts_write() (
    own=''
    if grep -q '^self	' "$1"; then
        own=$(own_host_name) || own=''
    fi
    hosts_awk block "$own" part=others "$2/others" part=members FS='\t' "$1" >"$2/block" &&
        with_marks <"$2/block" >"$2/hosts" &&
        hosts_awk off "$own" part=others "$2/others" >"$2/off" &&
        sed -f "$2/off" "$2/others" >>"$2/hosts" &&
        write_when_it_differs "${ONEIB_ROOT-}/etc/hosts" <"$2/hosts"
)

# hosts_awk SHOW NAME FILE...: see hosts.awk; NAME is this machine's.
hosts_awk() {
    show=$1
    name=$2
    shift 2
    awk -v show="$show" -v own="$name" -f "${ONEIB_LIBRARY:-/usr/lib/oneib/guest}/hosts.awk" "$@"
}

# hostfile_write MEMBERS DIRECTORY: writes /etc/oneib/hostfile, members that run, as Open MPI reads it. Without slots it takes as many as
# the machine has cores.
hostfile_write() {
    mkdir -p "${ONEIB_ROOT-}/etc/oneib" &&
        awk -F '\t' '
            BEGIN { print "# Made by oneib-guest: changes are lost." }
            $2 == 1 { print $5 ($3 > 0 ? " slots=" $3 : "") }' "$1" >"$2/hostfile" &&
        write_when_it_differs "${ONEIB_ROOT-}/etc/oneib/hostfile" <"$2/hostfile"
}
