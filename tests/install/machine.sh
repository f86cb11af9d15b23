# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# A make-believe machine, in $root: its own /etc and /var, under a systemd that a stand-in for systemctl plays.

prepare() {
    mkdir -p "$root/etc" "$root/var/lib" "$root/var/tmp" "$root/tmp" "$root/run/systemd/system" "$root.prefix"
    chmod 1777 "$root/tmp"
    echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
    printf '%s\n' 'root:x:0:' 'oneadmin:x:9869:' >"$root/etc/group"
    echo 'passwd: files' >"$root/etc/nsswitch.conf"
    cp /etc/ld.so.cache "$root/etc/"
    cp -R /etc/alternatives "$root/etc/"
    cp -R "$INSTALL_TESTS/standins" "$root/"
}

on_machine() { # COMMAND...
    unshare -m --propagation private sh "$INSTALL_TESTS/enter" "$root" "$@"
}

install() { # OPTION...
    on_machine "$SOURCES/install.sh" --build "$BUILD" --prefix "$PREFIX" "$@"
}

forget_calls() {
    rm -f "$root/var/systemctl-standin/calls"
}

calls() {
    cat "$root/var/systemctl-standin/calls" 2>/dev/null || true
}

runs_since() { # UNIT SECONDS
    mkdir -p "$root/var/systemctl-standin"
    echo "$2" >"$root/var/systemctl-standin/$1"
}
