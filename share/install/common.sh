# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What each part of install.sh says, and with whose rights it acts.
say() {
    printf '%s\n' "$*"
}

fail() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 3
}

refuse() {
    printf "%s: %s; see '%s --help'\n" "${0##*/}" "$*" "$0" >&2
    exit 2
}

# step WORDS...: says what is about to be done; fails in a dry run, where it is not to be done.
step() {
    if $dry_run; then
        say "would $*"
        return 1
    fi
    say "$*"
}

# owner_of DIRECTORY...: the numbers of user and group of the first that is not root's, else root's; symbolic links count
# as what they lead to.
owner_of() {
    for directory; do
        owner=$(stat -L -c '%u:%g' -- "$directory" 2>/dev/null || echo 0:0)
        [ "${owner%:*}" = 0 ] || break
    done
    say "$owner"
}

me=$(id -u)

# as USER:GROUP COMMAND...: only root can and must become somebody else, and leaves the terminal behind, because that
# user can take such a process over.
as() {
    owner=$1
    shift
    if [ "$me" -ne 0 ] || [ "${owner%:*}" = 0 ]; then
        "$@"
    else
        setsid -w setpriv --reuid "${owner%:*}" --regid "${owner#*:}" --clear-groups -- "$@"
    fi
}
