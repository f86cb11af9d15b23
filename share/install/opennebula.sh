# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# The front-end: where OpenNebula is, and its remotes.

find_opennebula() {
    if [ -n "${ONE_LOCATION-}" ]; then
        one_base=$ONE_LOCATION
        remotes=$destdir$one_base/var/remotes
        oned_conf=$destdir$one_base/etc/oned.conf
        oned_owner=$(owner_of "$destdir$one_base" "${oned_conf%/*}")
    else
        one_base=/var/lib/one
        remotes=$destdir$one_base/remotes
        oned_conf=$destdir/etc/one/oned.conf
        oned_owner=$(owner_of "${oned_conf%/*}")
    fi
    remotes_owner=$(owner_of "$destdir$one_base" "$remotes")
}

# Whether DESTDIR is the beginning of a package: its files are staged, and oned.conf is the front-end's that gets it.
is_start_of_package() {
    [ -n "$destdir" ] && [ ! -e "$oned_conf" ] && [ ! -L "$oned_conf" ] &&
        { [ ! -e "$remotes" ] || listed "d ${remotes#"$destdir"}" frontend; }
}

need_oned_conf() {
    [ ! -L "$oned_conf" ] || fail "$oned_conf is a symbolic link: it must be the file itself"
    [ -f "$oned_conf" ] || fail "there is no file $oned_conf, which oned is configured by"
    as "$oned_owner" test -r "$oned_conf" || fail "$oned_conf cannot be read"
    as "$oned_owner" test -w "${oned_conf%/*}" || fail "cannot write to the directory ${oned_conf%/*}: run this as root"
}

need_opennebula() {
    [ -d "$remotes" ] ||
        fail "there is no directory $remotes: is this an OpenNebula front-end? ONE_LOCATION says where a self-contained one is"
    need_oned_conf
    as "$remotes_owner" test -w "$remotes" || fail "cannot write to the directory $remotes: run this as root"
}

check_remote() {
    with_prefix "$here/remotes$1" >"$work/remote"
    must_be_free F "$remotes" "$1" "$work/remote"
}

make_remote_directory() {
    make_directory D "$remotes_owner" "$remotes" "${1%/*}"
}

put_remote() {
    with_prefix "$here/remotes$1" >"$work/remote"
    put "$remotes_owner" "$remotes" "$1" "$work/remote" "$(mode_of "$here/remotes$1")"
}
