# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Files that are put in their places, each noted in a list.

# A list in the prefix says what a role has put where, a line each: f, a file; d, a directory that was not there before;
# F and D, the same below the remotes.
list_of() {
    say "$destdir$prefix/share/oneib/installed-$1"
}

listed() { # LINE ROLE...: in the list of one of them
    line=$1
    shift
    for lister; do
        set -- "$@" "$destdir$prefix/share/oneib/installed-$lister"
        shift
    done
    grep -qsxF -e "$line" -- "$@"
}

# make_directory KIND OWNER BASE PATH: BASE/PATH and what is missing above it, each noted as new. Once for each: of most of them many
# files ask.
make_directory() {
    case $known_directories in *"
$1 $3$4
"*) return 0 ;; esac
    known_directories="$known_directories
$1 $3$4
"
    case $4 in ?*/*) make_directory "$1" "$2" "$3" "${4%/*}" ;; esac
    if [ -d "$3$4" ]; then
        # Another role made it: whoever goes last takes it away.
        ! listed "$1 $4" frontend node sm || say "$1 $4" >>"$work/new"
        return 0
    fi
    say "$1 $4" >>"$work/new"
    if step "make the directory $3$4"; then
        as "$2" mkdir -m 755 -- "$3$4" || fail "cannot make the directory $3$4"
    fi
}

# put OWNER BASE PATH SOURCE MODE: SOURCE becomes BASE/PATH, at once or not at all.
put() {
    if [ -f "$2$3" ] && as "$1" cmp -s -- - "$2$3" <"$4" && [ "$(stat -c %a -- "$2$3")" = "$5" ]; then
        return 0
    fi
    say "$2$3" >>"$work/written"
    step "write $2$3" || return 0
    # shellcheck disable=SC2016 # the inner shell expands
    as "$1" sh -c 'umask 077; cat >"$1" && chmod -- "$2" "$1" && mv -f -- "$1" "$3"' \
        sh "$2${3%/*}/.${3##*/}.oneib-new" "$5" "$2$3" <"$4" || fail "cannot write $2$3"
}

# Notes a file that is to be written. One that somebody else has put there stays, and nothing is installed.
must_be_free() { # KIND BASE PATH SOURCE
    say "$1 $3" >>"$work/new"
    [ -e "$2$3" ] || [ -L "$2$3" ] || return 0
    # What is no file may be a pipe that nobody writes to: it is not opened.
    if [ -f "$2$3" ] && { listed "$1 $3" frontend node sm || cmp -s -- "$4" "$2$3"; }; then return 0; fi
    fail "$2$3 is there already and is not oneib's: move it away, or find out who needs it"
}

with_prefix() { # FILE: its text with the programs' real place
    sed "s|/usr/libexec/oneib|$prefix/libexec/oneib|g" -- "$1"
}

mode_of() { # FILE
    if [ -x "$1" ]; then say 755; else say 644; fi
}
