# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# sudo's line, and what systemd runs.

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
