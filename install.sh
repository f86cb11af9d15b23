#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Puts oneib on a machine, or takes it away again: './install.sh --help', and docs/operator-install.md. Its parts are
# in share/install.
#
# Whose rights: what lies in directories of OpenNebula's user (the remotes; below ONE_LOCATION also oned.conf) is written as
# that user, also when root runs this. A symbolic link that the user has put there then leads nowhere that the user
# could not write before. All else lies in root's directories.
set -eu

usage() {
    cat <<'END'
usage: ./install.sh [--frontend] [--node] [--sm] [OPTION...]
       ./install.sh --bundle FILE.tar.gz [OPTION...]

  --frontend      OpenNebula's front-end: drivers and probes into its remotes, settings into oned.conf; templates, and
                  what goes into images of VMs, into PREFIX/share/oneib
  --node          a KVM host: programs, and the service that gives virtual functions to VMs
  --sm            the host of the subnet manager: oneibd
  --bundle FILE   makes a tar with the finished programs and this script, for machines without a compiler
  --scheduler     with --frontend: OpenNebula 7's scheduler asks the placer ib, docs/operator-placement.md; without it,
                  what is there stays
  --prefix DIR    where programs go, /usr if not said
  --build DIR     a finished build that was configured for the same prefix; else build/release is made
  --dry-run       says what would be done, and does nothing
  --uninstall     takes away what the same roles have put there
  --help

Environment: ONE_LOCATION, where a self-contained OpenNebula is; DESTDIR, put in front of all places.
Exit status: 0 done, 2 usage, 3 failure.
END
}

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
prefix=
build=
bundle=
roles=
dry_run=false
uninstall=false
scheduler=false
destdir=${DESTDIR-}
work=

# shellcheck source=share/install/common.sh
. "$here/share/install/common.sh"
# shellcheck source=share/install/files.sh
. "$here/share/install/files.sh"
# shellcheck source=share/install/programs.sh
. "$here/share/install/programs.sh"
# shellcheck source=share/install/bundle.sh
. "$here/share/install/bundle.sh"
# shellcheck source=share/install/opennebula.sh
. "$here/share/install/opennebula.sh"
# shellcheck source=share/install/placer.sh
. "$here/share/install/placer.sh"
# shellcheck source=share/install/oned-conf.sh
. "$here/share/install/oned-conf.sh"
# shellcheck source=share/install/sunstone-tabs.sh
. "$here/share/install/sunstone-tabs.sh"
# shellcheck source=share/install/services.sh
. "$here/share/install/services.sh"

write_list() { # ROLE OLD-LINES
    LC_ALL=C sort -u -- "$work/new" "$2" >"$work/list"
    put 0:0 "$destdir" "$prefix/share/oneib/installed-$1" "$work/list" 644
}

# Everything that can be refused is refused here.
check_role() {
    stage_programs "$role"
    ! is_bundle || need_libraries "$role"
    each_file "$work/stage" check_program
    case $role in
    frontend)
        $is_package || check_oned_conf
        each_file "$here/remotes" check_remote
        ;;
    esac
}

make_directories() {
    each_file "$work/stage" make_program_directory
    make_directory d 0:0 "$destdir" "$prefix/share/oneib"
    case $role in
    frontend)
        make_directory d 0:0 "$destdir" /etc/oneib
        ! $is_package || make_directory d 0:0 "$destdir" "${remotes#"$destdir"}"
        each_file "$here/remotes" make_remote_directory
        ;;
    esac
}

put_files() {
    each_file "$work/stage" put_program
    case $role in
    frontend)
        each_file "$here/remotes" put_remote
        $is_package || install_oned_conf
        ;;
    esac
}

# What an earlier release had put there and this one does not.
remove_stale() { # ROLE
    grep '^[fF] ' -- "$work/old" | grep -vxF -f "$work/new" >"$work/stale" || return 0
    remove_files "$1" "$work/stale"
}

# The list comes before the files, so that what is broken off can be uninstalled.
install_role() {
    : >"$work/new"
    known_directories=
    cat -- "$(list_of "$role")" >"$work/old" 2>/dev/null || true
    check_role
    make_directories
    $dry_run || write_list "$role" "$work/old"
    put_files
    remove_stale "$role"
    grep '^[dD] ' -- "$work/old" >"$work/directories" || true
    write_list "$role" "$work/directories"
    case $role in
    node) make_user oneib-node / ;;
    sm)
        make_user_and_directory
        give_devices_to_group
        ;;
    esac
    start_services "$role"
}

others_need() { # ROLE LINE
    case $1 in
    frontend) listed "$2" node sm ;;
    node) listed "$2" frontend sm ;;
    sm) listed "$2" frontend node ;;
    esac
}

remove_files() { # ROLE LIST
    while read -r kind path; do
        case $kind in
        f) owner=0:0 file=$destdir$path ;;
        F) owner=$remotes_owner file=$remotes$path ;;
        *) continue ;;
        esac
        others_need "$1" "$kind $path" || [ ! -e "$file" ] || ! step "remove $file" || as "$owner" rm -f -- "$file" </dev/null ||
            fail "cannot remove $file"
    done <"$2"
}

# Those that were made and that hold nothing of anybody else's.
remove_directories() { # ROLE LIST
    LC_ALL=C sort -k 1,1 -k 2,2r -- "$2" >"$work/directories" # D before d, which may be above it
    while read -r kind path; do
        case $kind in
        d) owner=0:0 directory=$destdir$path ;;
        D) owner=$remotes_owner directory=$remotes$path ;;
        *) continue ;;
        esac
        if others_need "$1" "$kind $path"; then continue; fi
        as "$owner" rmdir -- "$directory" 2>/dev/null </dev/null || true
    done <"$work/directories"
}

uninstall_role() {
    if [ ! -f "$(list_of "$role")" ]; then
        say "$role: nothing is installed below $destdir$prefix"
        return 0
    fi
    cp -- "$(list_of "$role")" "$work/list"
    stop_services "$role"
    case $role in
    frontend)
        uninstall_oned_conf
        uninstall_sunstone_tabs
        ;;
    esac
    remove_files "$role" "$work/list"
    ! step "remove $(list_of "$role")" || rm -f -- "$(list_of "$role")"
    $dry_run || remove_directories "$role" "$work/list"
    forget_units
    [ "$role" != sm ] || say_what_stays
}

say_next() {
    case $role in
    frontend)
        echo
        echo "Next, on the front-end:"
        if $is_package; then
            ! $scheduler || set -- --scheduler
            echo "  settings into oned.conf, as root:      $prefix/share/oneib/install/oned-conf${1+ $1}"
        fi
        cat <<END
  restart oned:                          systemctl restart opennebula
  once oneibd runs, name it for hosts:   oneib daemons | su - oneadmin -c 'cat >~/remotes/etc/oneib/daemons'
  send the drivers to the hosts:         su - oneadmin -c 'onehost sync -f'
  create hosts with the driver kvm-ib:   onehost create NAME -i kvm -v kvm-ib
  accept their keys:                     oneib host accept --all
  put the guest side into an image:      $prefix/share/oneib/image/oneib-image IMAGE
  services for users in Sunstone:        $prefix/share/oneib/install/sunstone-tabs
END
        ;;
    node) cat <<'END'

Next, on this host: SR-IOV for its adapter (docs/operator-node.md), then 'oneib hca' shows it.
END
        ;;
    sm) cat <<'END'

Next, on this host: /etc/oneib/oneib.conf, then
  oneib plan                             # shows the partitions that were there before
  oneib sync                             # with --force, this once, where there were some
  systemctl enable --now oneibd
END
        ;;
    esac
}

while [ $# -gt 0 ]; do
    case $1 in
    --frontend | --node | --sm) roles="$roles ${1#--}" ;;
    --prefix | --build | --bundle)
        [ -n "${2-}" ] || refuse "$1 needs a value"
        case $1 in
        --prefix) prefix=$2 ;;
        --build) build=$2 ;;
        --bundle) bundle=$2 ;;
        esac
        shift
        ;;
    --dry-run) dry_run=true ;;
    --uninstall) uninstall=true ;;
    --scheduler) scheduler=true ;;
    --help)
        usage
        exit 0
        ;;
    *) refuse "unknown option: $1" ;;
    esac
    shift
done
case $bundle in
'') [ -n "$roles" ] || refuse "say what this machine is: --frontend, --node or --sm" ;;
?*.tar.gz)
    if [ -n "$roles" ] || $uninstall; then refuse "a bundle has all roles: say which one where it is used"; fi
    ! is_bundle || refuse "this is a bundle already"
    ;;
*) refuse "the bundle's name must end in .tar.gz" ;;
esac
if $scheduler; then
    case $roles in *frontend*) ;; *) refuse "--scheduler is for --frontend" ;; esac
    ! $uninstall || refuse "--uninstall takes the placer away without --scheduler"
fi
[ -n "$prefix" ] || prefix=$(default_prefix)
case $prefix in
*[!A-Za-z0-9/._-]* | *//* | */) refuse "--prefix must be a plain path without a slash at its end" ;;
/?*) ;;
*) refuse "--prefix must begin with a slash" ;;
esac
for place in "$destdir" "${ONE_LOCATION-}"; do
    case $place in
    '' | /*) ;;
    *) refuse "DESTDIR and ONE_LOCATION must begin with a slash" ;;
    esac
done

work=$(mktemp -d)
: >"$work/written"
trap 'rm -rf -- "$work"' EXIT
trap 'exit 3' HUP INT TERM

find_opennebula
is_package=false
! is_start_of_package || is_package=true
if $uninstall; then
    case $roles in *node*) need_no_vfs ;; esac
else
    case $roles in *frontend*) $is_package || need_opennebula ;; esac
    if is_bundle; then need_bundle; else need_build; fi
fi
if [ -n "$bundle" ]; then
    make_bundle "$bundle"
    exit
fi
$dry_run || $uninstall || [ -z "$destdir" ] || mkdir -p -- "$destdir" || fail "cannot make the directory $destdir"
for role in $roles; do
    if $uninstall; then
        uninstall_role
    else
        install_role
        $dry_run || say_next
    fi
done
