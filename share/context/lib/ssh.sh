# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Members that let each other in. A user's files are read and written as that user, by fixed commands that get their data on
# standard input: root follows no path that a user controls.

# ssh_refresh MEMBERS DIRECTORY: with ONEIB_SSH makes the user's pair of keys, publishes its public key and this machine's host key
# where OneGate does not have them yet, lets the other members in, and knows their host keys. Without it takes back what was
# let in. When nothing has changed since the last time it does nothing: su would write into the system's log each time. Status 1:
# not everything could be done, which has been said.
ssh_refresh() (
    done=${ONEIB_ROOT-}/run/oneib/ssh-done
    note=${ONEIB_ROOT-}/etc/oneib/ssh-user
    known=${ONEIB_ROOT-}/etc/ssh/ssh_known_hosts
    before=''
    [ ! -f "$note" ] || before=$(cat "$note")
    user=''
    if ssh_is_wanted; then
        user=$(ssh_user) || exit 1
    fi
    if [ "$before" ] && [ "$before" != "$user" ]; then
        : >"$2/block"
        ! is_user "$before" || write_authorized_keys "$before" "$2" || exit 1
        [ "$user" ] || forget_hosts "$known" "$2" || exit 1
        rm -f "$note" "$done"
    fi
    [ "$user" ] || exit 0
    {
        printf '%s\n' "$user"
        this_vm
        # It may be made anew while the machine runs.
        cat "${ONEIB_ROOT-}/etc/ssh/ssh_host_ed25519_key.pub" 2>/dev/null || true
        cat "$1"
    } >"$2/wanted"
    if [ -f "$done" ] && cmp -s "$2/wanted" "$done"; then
        exit 0
    fi
    rm -f "$done"
    # Noted first: what is put in and not noted would not be taken back.
    printf '%s\n' "$user" | write_when_it_differs "$note" || exit 1
    failed=''
    publish_keys "$user" "$1" "$2" || failed=yes
    authorized_lines "$1" >"$2/block" && write_authorized_keys "$user" "$2" || failed=yes
    known_lines "$1" >"$2/block" && write_known_hosts "$known" "$2" || failed=yes
    [ -z "$failed" ] && write_when_it_differs "$done" 0600 <"$2/wanted"
)

ssh_is_wanted() {
    is_yes "$(context_value ONEIB_SSH || true)"
}

# ssh_user: prints the user whose keys these are.
ssh_user() (
    user=$(given ONEIB_SSH_USER) || user=$(given USERNAME) || user=root
    if is_user "$user"; then
        printf '%s\n' "$user"
    else
        say "ONEIB_SSH_USER: '$user' is no user of this machine"
        exit 1
    fi
)

is_user() {
    case $1 in
    '' | [!_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ]*) return 1 ;;
    *[!._abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-]*) return 1 ;;
    esac
    cut -d : -f 1 "${ONEIB_ROOT-}/etc/passwd" | grep -q -x -F -e "$1"
}

# as_user USER COMMANDS: they find the user's home in $HOME.
as_user() {
    su -s /bin/sh "$1" -c "$2"
}

# is_ssh_key TEXT: "ssh-ed25519 " and 68 characters of base64, which are 51 bytes: the length and name of the type, the length of
# a key, 32 bytes (RFC 8709). 51 bytes need no "=", which OneGate would break.
is_ssh_key() {
    [ "${#1}" -eq 80 ] || return 1
    case ${1#ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI} in
    *[!+/ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789]*) return 1 ;;
    [ABCDEFGHIJKLMNOP]*) return 0 ;;
    esac
    return 1
}

# publish_keys USER MEMBERS DIRECTORY
publish_keys() (
    key=$(user_key "$1") && host_key=$(host_key) || exit 1
    published=$(sed -n 's/^self	//p' "$2" | cut -f 5,6)
    if [ "$published" = "$key	$host_key" ] || [ ! -s "$3/service" ]; then
        exit 0
    fi
    printf 'ONEIB_SSH_KEY="%s"\nONEIB_HOST_KEY="%s"\n' "$key" "$host_key" | onegate_publish "$3"
)

# user_key USER: prints the user's public key, of a pair that is made when there is none, or when the one there was made for
# another VM, of whose disk this one's is a copy.
user_key() (
    # shellcheck disable=SC2016 # for the user's shell
    key=$(printf 'oneib-vm-%s\n' "$(this_vm | tr -cd '0-9')" | as_user "$1" '
        umask 077
        read -r comment
        mkdir -p "$HOME/.ssh" && cd "$HOME/.ssh" || exit 1
        if [ -f id_ed25519.pub ]; then
            case $(head -c 1000 id_ed25519.pub) in
            *" $comment") ;;
            *" oneib-vm-"*) rm -f id_ed25519 id_ed25519.pub ;;
            esac
        fi
        [ -f id_ed25519 ] || ssh-keygen -q -t ed25519 -N "" -C "$comment" -f id_ed25519 </dev/null >&2 || exit 1
        [ -f id_ed25519.pub ] || ssh-keygen -y -P "" -f id_ed25519 >id_ed25519.pub || exit 1
        head -c 1000 id_ed25519.pub' | head -c 1000 | head -n 1 | cut -d ' ' -f 1,2)
    is_ssh_key "$key" || {
        say "~$1/.ssh/id_ed25519: is no pair of ed25519 keys without a passphrase: see the file, and whether ssh-keygen is installed"
        exit 1
    }
    printf '%s\n' "$key"
)

host_key() (
    file=/etc/ssh/ssh_host_ed25519_key.pub
    key=''
    [ ! -f "${ONEIB_ROOT-}$file" ] || key=$(head -n 1 "${ONEIB_ROOT-}$file" | cut -d ' ' -f 1,2)
    is_ssh_key "$key" || {
        say "$file: is no ed25519 host key: make it with ssh-keygen -A"
        exit 1
    }
    printf '%s\n' "$key"
)

# authorized_lines MEMBERS: the other members, each from its own address alone.
authorized_lines() (
    others_with_keys "$1" | while IFS='	' read -r address name key host_key; do
        if is_published_key "$name" ONEIB_SSH_KEY "$key"; then
            printf 'from="%s" %s oneib-%s\n' "$address" "$key" "$name"
        fi
    done
)

known_lines() (
    others_with_keys "$1" | while IFS='	' read -r address name key host_key; do
        if is_published_key "$name" ONEIB_HOST_KEY "$host_key"; then
            printf '%s,%s %s\n' "$name" "$address" "$host_key"
        fi
    done
)

others_with_keys() {
    grep -v '^self	' "$1" | cut -f 4-
}

# is_published_key NAME ATTRIBUTE KEY: one that is not there is nothing to speak of: that member has not come so far yet.
is_published_key() {
    [ "$3" != - ] || return 1
    is_ssh_key "$3" && return
    say "member $1: $2 is no ed25519 key; it is not used"
    return 1
}

# write_authorized_keys USER DIRECTORY: DIRECTORY/block becomes the block in the user's authorized_keys. Whatever is read or written is
# preceded by its size: what is cut short is not the whole file.
write_authorized_keys() (
    # shellcheck disable=SC2016 # for the user's shell
    as_user "$1" '
        file=$HOME/.ssh/authorized_keys
        if [ -f "$file" ]; then
            wc -c <"$file" && cat "$file"
        elif [ ! -e "$file" ]; then
            echo 0
        fi' </dev/null | head -c 1048576 >"$2/authorized.sized"
    tail -n +2 "$2/authorized.sized" >"$2/authorized.all"
    size=$(head -n 1 "$2/authorized.sized" | tr -cd '0-9')
    [ "$size" = "$(wc -c <"$2/authorized.all" | tr -cd '0-9')" ] || {
        say "~$1/.ssh/authorized_keys: cannot be read by its user, or is larger than a MiB"
        exit 1
    }
    without_block "$2/authorized.all" "~$1/.ssh/authorized_keys" >"$2/authorized.others" || exit 1
    with_marks <"$2/block" | cat - "$2/authorized.others" >"$2/authorized"
    ! cmp -s "$2/authorized" "$2/authorized.all" || exit 0
    # shellcheck disable=SC2016
    { wc -c <"$2/authorized" && cat "$2/authorized"; } | as_user "$1" '
        umask 077
        read -r size
        mkdir -p "$HOME/.ssh" && cd "$HOME/.ssh" || exit 1
        file=authorized_keys
        [ ! -L "$file" ] || file=$(readlink -f "$file") || exit 1
        new=$(mktemp "$file.XXXXXX") || exit 1
        [ ! -f "$file" ] || cp -p "$file" "$new"
        cat >"$new" && [ "$(wc -c <"$new")" -eq "$size" ] && mv -f "$new" "$file" && exit 0
        rm -f "$new"
        exit 1' || {
        say "~$1/.ssh/authorized_keys: cannot be written by its user"
        exit 1
    }
)

# write_known_hosts FILE DIRECTORY: DIRECTORY/block becomes the block in it.
write_known_hosts() {
    without_block "$1" >"$2/known.others" &&
        with_marks <"$2/block" | cat - "$2/known.others" >"$2/known" &&
        mkdir -p "${1%/*}" && write_when_it_differs "$1" <"$2/known"
}

forget_hosts() (
    [ ! -f "$1" ] || {
        : >"$2/block"
        write_known_hosts "$1" "$2"
    }
)
