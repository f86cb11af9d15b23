#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Puts oneib on a machine, or takes it away again: './install.sh --help', and docs/operator.md, "Installing".
#
# Whose rights: what lies in folders of OpenNebula's user (the remotes; below ONE_LOCATION also oned.conf) is written as
# that user, also when root runs this. A symbolic link that the user has put there then leads nowhere that the user
# could not write before. All else lies in root's folders.
set -eu

usage() {
    cat <<'END'
usage: ./install.sh [--frontend] [--node] [--sm] [OPTION...]

  --frontend      OpenNebula's front-end: drivers and probes into its remotes, settings into oned.conf; templates, and
                  what goes into images of VMs, into PREFIX/share/oneib
  --node          a KVM host: programs, a line for sudo, the service that watches virtual functions
  --sm            the host of the subnet manager: oneibd
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
prefix=/usr
build=
roles=
dry_run=false
uninstall=false
destdir=${DESTDIR-}
work=

say() {
    printf '%s\n' "$*"
}

fail() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 3
}

refuse() {
    printf "install.sh: %s; see './install.sh --help'\n" "$*" >&2
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

# --- whose rights -------------------------------------------------------------------------------------------------

# owner_of FOLDER...: the numbers of user and group of the first that is not root's, else root's; symbolic links count
# as what they lead to.
owner_of() {
    for folder; do
        owner=$(stat -L -c '%u:%g' -- "$folder" 2>/dev/null || echo 0:0)
        [ "${owner%:*}" = 0 ] || break
    done
    say "$owner"
}

# as USER:GROUP COMMAND...: only root can and must become somebody else, and leaves the terminal behind, because that
# user can take such a process over.
as() {
    owner=$1
    shift
    if [ "$(id -u)" -ne 0 ] || [ "${owner%:*}" = 0 ]; then
        "$@"
    else
        setsid -w setpriv --reuid "${owner%:*}" --regid "${owner#*:}" --clear-groups -- "$@"
    fi
}

# --- files ----------------------------------------------------------------------------------------------------------

# A list in the prefix says what a role has put where, a line each: f, a file; d, a folder that was not there before;
# F and D, the same below the remotes.
list_of() {
    say "$destdir$prefix/share/oneib/installed-$1"
}

listed() { # LINE ROLE...: in the list of one of them
    line=$1
    shift
    for lister; do
        if [ -f "$(list_of "$lister")" ] && grep -qxF -e "$line" -- "$(list_of "$lister")"; then
            return 0
        fi
    done
    return 1
}

# make_folder KIND OWNER BASE PATH: BASE/PATH and what is missing above it, each noted as new.
make_folder() {
    if grep -qxF -e "$1 $4" -- "$work/new"; then return 0; fi
    case $4 in ?*/*) make_folder "$1" "$2" "$3" "${4%/*}" ;; esac
    if [ -d "$3$4" ]; then
        # Another role made it: whoever goes last takes it away.
        ! listed "$1 $4" frontend node sm || say "$1 $4" >>"$work/new"
        return 0
    fi
    say "$1 $4" >>"$work/new"
    if step "make the folder $3$4"; then
        as "$2" mkdir -m 755 -- "$3$4" || fail "cannot make the folder $3$4"
    fi
}

# put OWNER BASE PATH SOURCE MODE: SOURCE becomes BASE/PATH, at once or not at all.
put() {
    if [ -f "$2$3" ] && as "$1" cmp -s -- - "$2$3" <"$4" && [ "$(stat -c %a -- "$2$3")" = "$5" ]; then
        return 0
    fi
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

# --- programs -------------------------------------------------------------------------------------------------------

components_of() { # ROLE
    say "command $1"
}

prefix_of_build() {
    sed -n 's/^CMAKE_INSTALL_PREFIX:[A-Z]*=//p' "$build/CMakeCache.txt"
}

# Programs name each other by their full paths, so that a build is good for one prefix.
need_build() {
    build_is_made=true
    if [ -n "$build" ]; then
        [ -f "$build/cmake_install.cmake" ] || fail "$build is no build folder of oneib"
    else
        build=$here/build/release
        if ! step "build oneib in $build"; then
            build_is_made=false
        else
            (cd -- "$here" && cmake --preset release "-DCMAKE_INSTALL_PREFIX=$prefix" >"$work/log" 2>&1 &&
                cmake --build "$build" >"$work/log" 2>&1) || {
                tail -n 30 -- "$work/log" >&2
                fail "oneib could not be built; tests/packages installs what it needs"
            }
        fi
    fi
    [ ! -f "$build/CMakeCache.txt" ] || ! $build_is_made || [ "$(prefix_of_build)" = "$prefix" ] ||
        fail "$build was configured for $(prefix_of_build), not for $prefix: say --prefix $(prefix_of_build), or configure" \
            "it anew with -DCMAKE_INSTALL_PREFIX=$prefix"
}

stage_programs() { # ROLE
    rm -rf -- "$work/stage"
    mkdir -- "$work/stage"
    for component in $(components_of "$1"); do
        DESTDIR=$work/stage cmake --install "$build" --component "$component" >"$work/log" 2>&1 || {
            cat -- "$work/log" >&2
            fail "the programs cannot be taken from $build: complete it (cmake --build $build), and run this as a user" \
                "who can write there"
        }
    done
}

# each_file FOLDER FUNCTION ARGUMENT...: calls FUNCTION ARGUMENT... PATH for each, PATH beginning with a slash.
each_file() {
    top=$1
    shift
    (cd -- "$top" && find . -type f) | sed 's|^\.||' | LC_ALL=C sort >"$work/files"
    while read -r path; do
        "$@" "$path" </dev/null
    done <"$work/files"
}

check_program() {
    must_be_free f "$destdir" "$1" "$work/stage$1"
}

make_program_folder() {
    make_folder d 0:0 "$destdir" "${1%/*}"
}

put_program() {
    put 0:0 "$destdir" "$1" "$work/stage$1" "$(mode_of "$work/stage$1")"
}

# --- front-end: OpenNebula's remotes ------------------------------------------------------------------------------

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

# --- front-end: oned.conf -----------------------------------------------------------------------------------------

begin='# BEGIN oneib: written by its install.sh, which takes it out again; change nothing up to END oneib'
end='# END oneib'

# has_vector SETTING NAME FILE: prints SETTING = [ NAME = "NAME", ... ] where it stands in FILE, comments left out.
has_vector() {
    awk -v setting="$1" -v name="$2" '
        function without_comment(line,    i, c, quoted) {
            for (i = 1; i <= length(line); i++) {
                c = substr(line, i, 1)
                if (c == "\"")
                    quoted = !quoted
                else if (c == "#" && !quoted)
                    return substr(line, 1, i - 1)
            }
            return line
        }
        { text = text " " without_comment($0) }
        END {
            vector = "[ \t]" setting "[ \t]*=[ \t]*\\[[^]]*\\]"
            named = "[[, \t]NAME[ \t]*=[ \t]*\"" toupper(name) "\""
            while (match(toupper(text), vector)) {
                found = substr(text, RSTART, RLENGTH)
                if (toupper(found) ~ named)
                    print found
                text = substr(text, RSTART + RLENGTH)
            }
        }' "$3"
}

restrict() { # SETTING ATTRIBUTE FILE: a line, unless FILE has it
    grep -qiE "^[[:space:]]*$1[[:space:]]*=[[:space:]]*\"$2\"" -- "$3" || say "$1 = \"$2\""
}

# What FILE, an oned.conf without our block, lacks. By the restricted attributes a tenant could choose whom to share a
# partition with; oneib check and oneibd ask for the same list.
missing_settings() {
    [ -n "$(has_vector VM_MAD kvm-ib "$1")" ] || cat <<'END'
VM_MAD = [
    NAME              = "kvm-ib",
    SUNSTONE_NAME     = "KVM with InfiniBand",
    EXECUTABLE        = "one_vmm_exec",
    ARGUMENTS         = "-t 15 -r 0 kvm-ib -p",
    DEFAULT           = "vmm_exec/vmm_exec_kvm.conf",
    TYPE              = "kvm",
    KEEP_SNAPSHOTS    = "yes",
    LIVE_RESIZE       = "yes",
    SUPPORT_SHAREABLE = "yes"
]
END
    [ -n "$(has_vector VN_MAD_CONF infiniband "$1")" ] || cat <<'END'
VN_MAD_CONF = [
    NAME        = "infiniband",
    BRIDGE_TYPE = "none"
]
END
    for attribute in VLAN_ID IB_MEMBERSHIP IB_RATE IB_RESERVATION IB_STATIC_GUIDS; do
        for vector in '' AR/; do
            restrict VNET_RESTRICTED_ATTR "$vector$attribute" "$1"
        done
        for vector in NIC/ NIC_DEFAULT/ NIC_ALIAS/ PCI/; do
            restrict VM_RESTRICTED_ATTR "$vector$attribute" "$1"
        done
    done
}

# oned.conf as it is, to $work/oned.conf, and without our block, to $work/plain.
read_oned_conf() {
    as "$oned_owner" cat -- "$oned_conf" >"$work/oned.conf" || fail "$oned_conf cannot be read"
    begins=$(grep -cxF -e "$begin" -- "$work/oned.conf" || true)
    ends=$(grep -cxF -e "$end" -- "$work/oned.conf" || true)
    if [ "$begins" -gt 1 ] || [ "$begins" != "$ends" ]; then
        fail "$oned_conf has the line \"$begin\" $begins times and \"$end\" $ends times: put that in order first"
    fi
    sed "/^$begin\$/,/^$end\$/d" -- "$work/oned.conf" >"$work/plain"
    [ "$begins" = 0 ] || ! grep -qxF -e "$end" -- "$work/plain" ||
        fail "$oned_conf has \"$end\" in front of \"$begin\": put that in order first"
}

check_oned_conf() {
    read_oned_conf
    bridge=$(has_vector VN_MAD_CONF infiniband "$work/plain")
    case $(say "$bridge" | tr -d '[:space:]' | tr '[:lower:]' '[:upper:]') in
    '' | *BRIDGE_TYPE='"NONE"'*) ;;
    *) fail "$oned_conf has a VN_MAD_CONF of infiniband whose BRIDGE_TYPE is not \"none\": VMs would be connected to a" \
        "bridge; correct it, or remove it" ;;
    esac
}

# replace_oned_conf FILE: its bytes become oned.conf's, whose owner and mode stay.
replace_oned_conf() {
    # shellcheck disable=SC2016 # the inner shell expands
    as "$oned_owner" sh -c 'cp -p -- "$1" "$2" && cat >"$2" && mv -f -- "$2" "$1"' \
        sh "$oned_conf" "$oned_conf.oneib-new" <"$1" || fail "cannot write $oned_conf"
}

original=.before-oneib

# The last line of an oned.conf may lack its end.
with_line_end() { # FILE
    cat -- "$1"
    [ -z "$(tail -c 1 -- "$1")" ] || say
}

install_oned_conf() {
    missing_settings "$work/plain" >"$work/settings"
    {
        say "$begin"
        cat -- "$work/settings"
        say "$end"
    } >"$work/block"
    if [ "$begins" = 1 ]; then # in its old place
        sed -e "/^$begin\$/r $work/block" -e "/^$begin\$/,/^$end\$/d" -- "$work/oned.conf" >"$work/changed"
    elif [ ! -s "$work/settings" ]; then
        say "$oned_conf has all that is needed"
        return 0
    else
        {
            with_line_end "$work/oned.conf"
            cat -- "$work/block"
        } >"$work/changed"
    fi
    ! cmp -s -- "$work/oned.conf" "$work/changed" || return 0
    if step "write oneib's settings into $oned_conf (as it was: $oned_conf$original)"; then
        [ "$begins" = 1 ] || as "$oned_owner" cp -p -- "$oned_conf" "$oned_conf$original" ||
            fail "cannot write $oned_conf$original"
        replace_oned_conf "$work/changed"
    fi
    say "  $(wc -l <"$work/settings") lines, between \"${begin%%:*}\" and \"$end\""
}

# Byte for byte what it was, unless somebody changed it since: then that without our lines.
uninstall_oned_conf() {
    [ -f "$oned_conf" ] || return 0
    read_oned_conf
    [ "$begins" = 1 ] || return 0
    step "take oneib's settings out of $oned_conf" || return 0
    if as "$oned_owner" cat -- "$oned_conf$original" >"$work/original" 2>/dev/null &&
        with_line_end "$work/original" | cmp -s -- - "$work/plain"; then
        replace_oned_conf "$work/original"
    else
        replace_oned_conf "$work/plain"
    fi
    as "$oned_owner" rm -f -- "$oned_conf$original"
}

# --- node: sudo and the service ------------------------------------------------------------------------------------

check_sudoers() {
    sudoers=$work/stage$prefix/share/oneib/sudoers
    [ -f "$sudoers" ] || fail "$build has no line for sudo"
    if command -v visudo >/dev/null 2>&1; then
        visudo -c -q -f "$sudoers" >"$work/log" 2>&1 || {
            cat -- "$work/log" >&2
            fail "visudo does not accept the line for sudo: nothing is installed"
        }
    fi
    must_be_free f "$destdir" /etc/sudoers.d/oneib "$sudoers"
}

systemd_runs() {
    [ -z "$destdir" ] && [ -d /run/systemd/system ]
}

start_service() {
    systemd_runs || return 0
    if step "start oneib-vf.service, now and at boot"; then
        systemctl daemon-reload
        systemctl enable oneib-vf.service || fail "oneib-vf.service cannot be enabled"
        # Not only started: after an update the old program would run on. What it watches is not touched by that.
        systemctl restart oneib-vf.service || fail "oneib-vf.service does not start"
    fi
}

stop_service() {
    systemd_runs && systemctl cat oneib-vf.service >/dev/null 2>&1 || return 0
    if step "stop oneib-vf.service"; then
        systemctl disable --now oneib-vf.service || fail "oneib-vf.service cannot be stopped"
    fi
}

# --- roles ----------------------------------------------------------------------------------------------------------

write_list() { # ROLE OLD-LINES
    LC_ALL=C sort -u -- "$work/new" "$2" >"$work/list"
    put 0:0 "$destdir" "$prefix/share/oneib/installed-$1" "$work/list" 644
}

# Everything that can be refused is refused here.
check_role() {
    stage_programs "$role"
    each_file "$work/stage" check_program
    case $role in
    frontend)
        check_oned_conf
        each_file "$here/remotes" check_remote
        ;;
    node) check_sudoers ;;
    esac
}

make_folders() {
    each_file "$work/stage" make_program_folder
    make_folder d 0:0 "$destdir" "$prefix/share/oneib"
    case $role in
    frontend)
        make_folder d 0:0 "$destdir" /etc/oneib
        each_file "$here/remotes" make_remote_folder
        ;;
    node) make_folder d 0:0 "$destdir" /etc/sudoers.d ;;
    esac
}

put_files() {
    each_file "$work/stage" put_program
    case $role in
    frontend)
        each_file "$here/remotes" put_remote
        install_oned_conf
        ;;
    node) put 0:0 "$destdir" /etc/sudoers.d/oneib "$sudoers" 440 ;;
    esac
}

# What an earlier release had put there and this one does not.
remove_stale() { # ROLE
    grep '^[fF] ' -- "$work/old" | grep -vxF -f "$work/new" >"$work/stale" || return 0
    remove_files "$1" "$work/stale"
}

# The list comes before the files, so that what is broken off can be uninstalled.
install_role() {
    if ! $build_is_made; then
        say "would install what $role needs below $destdir$prefix, and more that only a finished build tells"
        return 0
    fi
    : >"$work/new"
    cat -- "$(list_of "$role")" >"$work/old" 2>/dev/null || true
    check_role
    make_folders
    $dry_run || write_list "$role" "$work/old"
    put_files
    remove_stale "$role"
    grep '^[dD] ' -- "$work/old" >"$work/folders" || true
    write_list "$role" "$work/folders"
    [ "$role" != node ] || start_service
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
remove_folders() { # ROLE LIST
    LC_ALL=C sort -r -- "$2" >"$work/folders"
    while read -r kind path; do
        case $kind in
        d) owner=0:0 folder=$destdir$path ;;
        D) owner=$remotes_owner folder=$remotes$path ;;
        *) continue ;;
        esac
        if others_need "$1" "$kind $path"; then continue; fi
        as "$owner" rmdir -- "$folder" 2>/dev/null </dev/null || true
    done <"$work/folders"
}

uninstall_role() {
    if [ ! -f "$(list_of "$role")" ]; then
        say "$role: nothing is installed below $destdir$prefix"
        return 0
    fi
    cp -- "$(list_of "$role")" "$work/list"
    case $role in
    frontend) uninstall_oned_conf ;;
    node) stop_service ;;
    esac
    remove_files "$role" "$work/list"
    ! step "remove $(list_of "$role")" || rm -f -- "$(list_of "$role")"
    $dry_run || remove_folders "$role" "$work/list"
}

say_next() {
    case $role in
    frontend) cat <<END

Next, on the front-end:
  restart oned:                          systemctl restart opennebula
  send the drivers to the hosts:         su - oneadmin -c 'onehost sync -f'
  create hosts with the driver kvm-ib:   onehost create NAME -i kvm -v kvm-ib
  put the guest side into an image:      $prefix/share/oneib/image/oneib-image IMAGE
END
        ;;
    node) cat <<'END'

Next, on this host: SR-IOV for its adapter (docs/operator.md), then 'oneib hca' shows it.
END
        ;;
    sm) cat <<'END'

Next, on this host: /etc/oneib/oneib.conf, then
  systemd-sysusers && udevadm control --reload && udevadm trigger
  systemctl daemon-reload && systemctl enable --now oneibd
END
        ;;
    esac
}

while [ $# -gt 0 ]; do
    case $1 in
    --frontend | --node | --sm) roles="$roles ${1#--}" ;;
    --prefix | --build)
        [ $# -gt 1 ] || refuse "$1 needs a folder"
        case $1 in
        --prefix) prefix=$2 ;;
        --build) build=$2 ;;
        esac
        shift
        ;;
    --dry-run) dry_run=true ;;
    --uninstall) uninstall=true ;;
    --help)
        usage
        exit 0
        ;;
    *) refuse "unknown option: $1" ;;
    esac
    shift
done
[ -n "$roles" ] || refuse "say what this machine is: --frontend, --node or --sm"
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
trap 'rm -rf -- "$work"' EXIT
trap 'exit 3' HUP INT TERM

find_opennebula
if ! $uninstall; then
    case $roles in *frontend*) need_opennebula ;; esac
    need_build
    $dry_run || [ -z "$destdir" ] || mkdir -p -- "$destdir" || fail "cannot make the folder $destdir"
fi
for role in $roles; do
    if $uninstall; then
        uninstall_role
    else
        install_role
        $dry_run || say_next
    fi
done
