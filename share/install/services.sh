# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# The users of services, and what systemd runs.

systemd_runs() {
    [ -z "$destdir" ] && [ -d /run/systemd/system ]
}

# --- users, and the directory of oneibd -----------------------------------------------------------------------------

state=/var/lib/oneib

# systemd's tools make them by the files that are installed, also where systemd itself does not run; a machine without
# them, such as a container, has useradd.
make_user() { # NAME HOME
    [ -z "$destdir" ] || return 0
    ! id "$1" >/dev/null 2>&1 || return 0
    step "make the user $1" || return 0
    if command -v systemd-sysusers >/dev/null; then
        systemd-sysusers "$prefix/lib/sysusers.d/$1.conf"
    else
        useradd --system --user-group --home-dir "$2" --shell /usr/sbin/nologin "$1"
    fi || fail "the user $1 cannot be made: make it by hand"
}

by_systemd() {
    systemd-tmpfiles --create "$prefix/lib/tmpfiles.d/oneib.conf"
}

by_hand() {
    install -d -m 755 -o oneib -g oneib $state
}

make_user_and_directory() {
    make_user oneib $state
    [ -z "$destdir" ] || return 0
    [ "$(stat -c '%U:%G:%a' -- $state 2>/dev/null)" != oneib:oneib:755 ] || return 0
    step "make the directory $state" || return 0
    if command -v systemd-tmpfiles >/dev/null; then by_systemd; else by_hand; fi ||
        fail "$state, which is the user oneib's and has mode 755, cannot be made: make it by hand"
}


give_devices_to_group() {
    systemd_runs && command -v udevadm >/dev/null || return 0
    ! step "give /dev/infiniband/umad* to the group oneib" ||
        { udevadm control --reload && udevadm trigger --subsystem-match=infiniband_mad; } ||
        say "udev does not answer: they are given to it at the next boot"
}

say_what_stays() {
    if [ -z "$destdir" ] && [ -d $state ]; then
        say "$state stays, since opensm may read its partitions there, and so does the user oneib"
    fi
}

# --- services ---------------------------------------------------------------------------------------------------------

configuration=/etc/oneib/oneib.conf

property_of() { # SERVICE PROPERTY [OPTION]
    systemctl show -p "$2" ${3+"$3"} --value "$1"
}

runs() { # SERVICE
    case $(property_of "$1" MainPID) in '' | 0) return 1 ;; esac
}

# newer SERVICE FILE: whether the file is put there now, or was since the service started. What cannot be told counts as
# newer.
newer() {
    ! grep -qxF -e "$2" -- "$work/written" || return 0
    [ -e "$2" ] || return 1
    since=$(property_of "$1" ExecMainStartTimestamp --timestamp=unix 2>/dev/null) || since=
    case $since in
    @*[!0-9]* | @) return 0 ;;
    @*) [ "$(stat -c %Z -- "$2")" -ge "${since#@}" ] ;;
    *) return 0 ;;
    esac
}

# what_is_new SERVICE PROGRAM...: prints what it does not run with yet.
what_is_new() (
    service=$1
    shift
    for program; do
        newer "$service" "$program" && say program && exit
    done
    newer "$service" "$prefix/lib/systemd/system/$service" && say unit && exit
    ! newer "$service" "$configuration" || say configuration
)

# Who runs well goes on with what it has read, rather than end with what the new program refuses.
must_be_readable() { # SERVICE
    [ -e "$configuration" ] || return 0
    "$prefix/bin/oneib" check --config >"$work/log" 2>&1 || {
        cat -- "$work/log" >&2
        fail "$1 goes on as it was: correct $configuration, then 'systemctl restart $1'"
    }
}

restart_if_new() { # SERVICE PROGRAM...: it runs all of these
    new=$(what_is_new "$@")
    [ -n "$new" ] || return 0
    if step "restart $1 for its new $new: what is in force stays so, no VM notices"; then
        must_be_readable "$1"
        systemctl restart "$1" || fail "$1 does not start: journalctl -u $1"
    fi
}

# Those whose unit was put there now. Who asks meanwhile asks again.
restart_new_sockets() { # SOCKET...
    for socket in "$@"; do
        ! grep -qxF -e "$prefix/lib/systemd/system/$socket" -- "$work/written" || ! step "restart $socket for its new unit" ||
            systemctl restart "$socket" || fail "$socket does not start: journalctl -u $socket"
    done
}

# The group of those who may ask for virtual functions comes with OpenNebula's package for nodes.
start_node() {
    if runs oneib-node.service; then
        restart_new_sockets oneib-node.socket oneib-node-read.socket
        restart_if_new oneib-node.service "$prefix/libexec/oneib/oneib-node" "$prefix/libexec/oneib/oneib-domains" \
            "$prefix/libexec/oneib/oneib-grants"
    elif step "start oneib-node.service, now and at boot"; then
        systemctl enable oneib-node.service || fail "oneib-node.service cannot be enabled"
        getent group oneadmin >/dev/null ||
            fail "there is no group oneadmin: install OpenNebula's package for nodes, then 'systemctl start oneib-node'"
        systemctl restart oneib-node.service || fail "oneib-node.service does not start: journalctl -u oneib-node"
    fi
}

start_services() { # ROLE
    systemd_runs || return 0
    $dry_run || systemctl daemon-reload
    case $1 in
    node) start_node ;;
    # Its first start is the operator's: it needs a configuration, and takes opensm's partitions over.
    sm) ! runs oneibd.service || restart_if_new oneibd.service "$prefix/sbin/oneibd" ;;
    esac
}

# A function that is open is closed when its VM ends, by the service alone. Without it the function would stay open for whoever
# has it next.
need_no_vfs() {
    [ -z "$destdir" ] && [ -s /run/oneib/vfs ] || return 0
    fail "VMs have virtual functions of this host ('oneib hca'), which nobody would close when they end: migrate or end these VMs," \
        "and wait until it shows none"
}

# What a service is asked by would start it again.
units_of() { # ROLE
    case $1 in
    node) say oneib-node.socket oneib-node-read.socket oneib-node.service ;;
    sm) say oneibd.service ;;
    esac
}

stop_services() { # ROLE
    units=$(units_of "$1")
    # shellcheck disable=SC2086 # several
    [ -n "$units" ] && systemd_runs && systemctl cat $units >/dev/null 2>&1 || return 0
    if step "stop ${units##* }, and start it no more: what is in force stays so"; then
        # shellcheck disable=SC2086 # several
        systemctl disable --now $units || fail "${units##* } cannot be stopped"
    fi
}

forget_units() {
    if systemd_runs && ! $dry_run; then systemctl daemon-reload; fi
}
