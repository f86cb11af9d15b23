# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# The front-end: where OpenNebula is, and its remotes.

find_opennebula() {
    if [ -n "${ONE_LOCATION-}" ]; then
        one_base=$destdir$ONE_LOCATION
        remotes=$one_base/var/remotes
        oned_conf=$one_base/etc/oned.conf
        oned_owner=$(owner_of "$one_base" "$one_base/etc")
    else
        one_base=$destdir/var/lib/one
        remotes=$one_base/remotes
        oned_conf=$destdir/etc/one/oned.conf
        oned_owner=$(owner_of "$destdir/etc/one")
    fi
    remotes_owner=$(owner_of "$one_base" "$remotes")
}

need_opennebula() {
    [ -d "$remotes" ] ||
        fail "there is no folder $remotes: is this an OpenNebula front-end? ONE_LOCATION says where a self-contained one is"
    [ ! -L "$oned_conf" ] || fail "$oned_conf is a symbolic link: it must be the file itself"
    [ -f "$oned_conf" ] || fail "there is no file $oned_conf, which oned is configured by"
    as "$oned_owner" test -r "$oned_conf" || fail "$oned_conf cannot be read"
    as "$oned_owner" test -w "${oned_conf%/*}" || fail "cannot write to the folder ${oned_conf%/*}: run this as root"
    as "$remotes_owner" test -w "$remotes" || fail "cannot write to the folder $remotes: run this as root"
}

check_remote() {
    with_prefix "$here/remotes$1" >"$work/remote"
    must_be_free F "$remotes" "$1" "$work/remote"
}

make_remote_folder() {
    make_folder D "$remotes_owner" "$remotes" "${1%/*}"
}

put_remote() {
    with_prefix "$here/remotes$1" >"$work/remote"
    put "$remotes_owner" "$remotes" "$1" "$work/remote" "$(mode_of "$here/remotes$1")"
}
