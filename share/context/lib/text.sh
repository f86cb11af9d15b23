# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What is a number, an address, a name; messages; replacing a file. Values come from outside: whatever is not what a function
# describes is refused, and nothing is guessed.

# say MESSAGE...: one line on standard error. Control characters and long values of a context do not get into a log.
say() {
    say_text=$*
    case $say_text in
    *[!\ -~]*) say_text=$(printf '%s' "$say_text" | tr '\n\t' '  ' | tr -cd ' -~') ;;
    esac
    printf 'oneib: %.400s\n' "$say_text" >&2
}

# is_number VALUE MIN MAX: a decimal number without sign and leading zeros. MAX has at most 15 digits.
is_number() {
    case $1 in
    '' | *[!0123456789]* | 0?* | ????????????????*) return 1 ;;
    esac
    [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]
}

# is_ipv4 VALUE: four numbers 0-255, such as 10.20.0.10.
is_ipv4() {
    case $1 in
    *.*.*.*.* | ????????????????*) return 1 ;;
    *.*.*.*) ;;
    *) return 1 ;;
    esac
    ipv4_first=${1%.*.*}
    ipv4_last=${1#*.*.}
    is_number "${ipv4_first%.*}" 0 255 && is_number "${ipv4_first#*.}" 0 255 &&
        is_number "${ipv4_last%.*}" 0 255 && is_number "${ipv4_last#*.}" 0 255
}

# is_ipv6 VALUE: 2001:db8::a, in any spelling but the ones with an IPv4 address or a zone at the end.
is_ipv6() (
    case $1 in
    *[!0123456789abcdefABCDEF:]* | *:::* | *::*::* | :[!:]* | *[!:]: | ????????????????????????????????????????*) exit 1 ;;
    *::*) least=0 most=7 ;;
    *) least=8 most=8 ;;
    esac
    set -f
    IFS=:
    groups=0
    for group in $1; do
        case $group in
        '') ;;
        ?????*) exit 1 ;;
        *) groups=$((groups + 1)) ;;
        esac
    done
    [ "$groups" -ge "$least" ] && [ "$groups" -le "$most" ]
)

# is_ipv4_prefix VALUE; is_ipv6_prefix VALUE: ADDRESS/LENGTH, such as 10.30.0.0/16 or 2001:db8::/64.
is_ipv4_prefix() {
    case $1 in
    */*) is_ipv4 "${1%/*}" && is_number "${1##*/}" 0 32 ;;
    *) return 1 ;;
    esac
}

is_ipv6_prefix() {
    case $1 in
    */*) is_ipv6 "${1%/*}" && is_number "${1##*/}" 0 128 ;;
    *) return 1 ;;
    esac
}

# canonical_ipv6 ADDRESS: prints an IPv6 address as the kernel prints it (RFC 5952), so that two can be compared.
canonical_ipv6() (
    set -f
    case $1 in
    *::*) before=${1%%::*} after=${1#*::} ;;
    *) before=$1 after='' ;;
    esac
    IFS=:
    # shellcheck disable=SC2086 # split at the colons
    set -- $before
    groups="$*"
    left=$((8 - $#))
    # shellcheck disable=SC2086
    set -- $after
    left=$((left - $#))
    while [ "$left" -gt 0 ]; do
        groups=${groups:+$groups:}0
        left=$((left - 1))
    done
    groups=${groups:+$groups:}$*
    text=''
    # shellcheck disable=SC2086
    for group in ${groups%:}; do
        text=$text:$(printf '%x' "0x$group")
    done
    # The first of the longest runs of zeros becomes "::"; a single zero stays.
    for zeros in :0:0:0:0:0:0:0:0 :0:0:0:0:0:0:0 :0:0:0:0:0:0 :0:0:0:0:0 :0:0:0:0 :0:0:0 :0:0; do
        case $text: in
        *"$zeros":*)
            rest=$text:
            text=${rest%%"$zeros":*}::${rest#*"$zeros":}
            text=${text%:}
            [ "${rest#*"$zeros":}" ] || text=$text:
            break
            ;;
        esac
    done
    case $text in
    ::*) ;;
    :*) text=${text#:} ;;
    esac
    printf '%s\n' "$text"
)

# prefix_of_mask MASK: prints 0-32 of a mask, 255.255.255.0 or 24.
prefix_of_mask() (
    if is_number "$1" 0 32; then
        printf '%s\n' "$1"
        exit
    fi
    is_ipv4 "$1" || exit 1
    set -f
    IFS=.
    prefix=0
    whole=yes
    for byte in $1; do
        [ "$whole" ] || [ "$byte" -eq 0 ] || exit 1
        case $byte in
        255) bits=8 ;;
        254) bits=7 ;;
        252) bits=6 ;;
        248) bits=5 ;;
        240) bits=4 ;;
        224) bits=3 ;;
        192) bits=2 ;;
        128) bits=1 ;;
        0) bits=0 ;;
        *) exit 1 ;;
        esac
        [ "$bits" -eq 8 ] || whole=''
        prefix=$((prefix + bits))
    done
    printf '%s\n' "$prefix"
)

# is_host_name VALUE: one label of a name, letters, digits and hyphens, at most 63 (RFC 1123).
is_host_name() {
    case $1 in
    '' | -* | *- | *[!-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789]*) return 1 ;;
    esac
    [ "${#1}" -le 63 ]
}

# is_domain VALUE: labels with dots between them, at most 253 characters.
is_domain() (
    case $1 in
    '' | .* | *. | *..*) exit 1 ;;
    esac
    [ "${#1}" -le 253 ] || exit 1
    set -f
    IFS=.
    for label in $1; do
        is_host_name "$label" || exit 1
    done
)

# is_interface_name VALUE: what is safe as a file name and as an argument, at most 15 characters as in the kernel.
is_interface_name() {
    case $1 in
    '' | [-.]* | ????????????????*) return 1 ;;
    *[!-._ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789]*) return 1 ;;
    esac
}

# replace_file FILE [MODE]: standard input becomes the file's content, all of it or none, when it differs. The file keeps its
# owner and mode; a new one gets MODE (0644). A link is followed: what it names is replaced, not the link. Status 0: changed;
# 1: it was the same; 2: it could not be written, and that has been said.
replace_file() (
    file=$1
    if [ -L "$file" ]; then
        file=$(readlink -f "$file") || file=$1
    fi
    umask 077
    new=$(mktemp "${file%/*}/.${file##*/}.XXXXXX") || {
        say "$file: no file can be made in its directory: make the directory writable"
        exit 2
    }
    trap 'rm -f "$new"' EXIT
    # For owner and mode; the content follows.
    [ ! -f "$file" ] || cp -p "$file" "$new"
    [ -f "$file" ] || chmod "${2:-0644}" "$new"
    cat >"$new" || {
        say "$file: cannot be written: see whether the disk is full"
        exit 2
    }
    if [ -f "$file" ] && cmp -s "$new" "$file"; then
        exit 1
    fi
    mv -f "$new" "$file" || {
        say "$file: cannot be replaced: make its directory writable"
        exit 2
    }
)

# write_when_it_differs FILE [MODE]: replace_file, where both is well: changed, and the same.
write_when_it_differs() {
    replace_file "$@" || [ $? -eq 1 ]
}
