# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# sudo's line, oneibd's user, and what systemd runs.

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

# --- the user of oneibd, and its folder -----------------------------------------------------------------------------

state=/var/lib/oneib

# systemd's tools make them by the files that are installed, also where systemd itself does not run; a machine without
# them, such as a container, has the user's own.
by_systemd() {
    systemd-sysusers "$prefix/lib/sysusers.d/oneib.conf" && systemd-tmpfiles --create "$prefix/lib/tmpfiles.d/oneib.conf"
}

by_hand() {
    { id oneib >/dev/null 2>&1 || useradd --system --user-group --home-dir $state --shell /usr/sbin/nologin oneib; } &&
        install -d -m 755 -o oneib -g oneib $state
}

make_user_and_folder() {
    [ -z "$destdir" ] || return 0
    [ "$(stat -c '%U:%G:%a' -- $state 2>/dev/null)" != oneib:oneib:755 ] || return 0
    step "make the user oneib and the folder $state" || return 0
    if command -v systemd-sysusers >/dev/null; then by_systemd; else by_hand; fi ||
        fail "the user oneib and its folder $state, mode 755, cannot be made: make them by hand"
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

# what_is_new SERVICE PROGRAM: prints what it does not run with yet.
what_is_new() {
    newer "$1" "$2" && say program && return
    newer "$1" "$prefix/lib/systemd/system/$1" && say unit && return
    ! newer "$1" "$configuration" || say configuration
}

# Who runs well goes on with what it has read, rather than end with what the new program refuses.
must_be_readable() { # SERVICE
    [ -e "$configuration" ] || return 0
    "$prefix/bin/oneib" check --config >"$work/log" 2>&1 || {
        cat -- "$work/log" >&2
        fail "$1 goes on as it was: correct $configuration, then 'systemctl restart $1'"
    }
}

restart_if_new() { # SERVICE PROGRAM
    new=$(what_is_new "$1" "$2")
    [ -n "$new" ] || return 0
    if step "restart $1 for its new $new: what is in force stays so, no VM notices"; then
        must_be_readable "$1"
        systemctl restart "$1" || fail "$1 does not start: journalctl -u $1"
    fi
}

start_services() { # ROLE
    systemd_runs || return 0
    $dry_run || systemctl daemon-reload
    case $1 in
    node)
        if runs oneib-vf.service; then
            restart_if_new oneib-vf.service "$prefix/libexec/oneib/oneib-vf"
        elif step "start oneib-vf.service, now and at boot"; then
            systemctl enable oneib-vf.service || fail "oneib-vf.service cannot be enabled"
            systemctl restart oneib-vf.service || fail "oneib-vf.service does not start: journalctl -u oneib-vf"
        fi
        ;;
    # Its first start is the operator's: it needs a configuration, and takes opensm's partitions over.
    sm) ! runs oneibd.service || restart_if_new oneibd.service "$prefix/sbin/oneibd" ;;
    esac
}

service_of() { # ROLE
    case $1 in
    node) say oneib-vf.service ;;
    sm) say oneibd.service ;;
    esac
}

stop_services() { # ROLE
    service=$(service_of "$1")
    [ -n "$service" ] && systemd_runs && systemctl cat "$service" >/dev/null 2>&1 || return 0
    if step "stop $service, and start it no more: what is in force stays so"; then
        systemctl disable --now "$service" || fail "$service cannot be stopped"
    fi
}

forget_units() {
    if systemd_runs && ! $dry_run; then systemctl daemon-reload; fi
}
