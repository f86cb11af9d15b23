# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# install.sh on a machine that runs: the user, its directory, and services.
# shellcheck source=tests/guest/check.sh
. "$GUEST_TESTS/check.sh"
# shellcheck source=tests/install/machine.sh
. "$INSTALL_TESTS/machine.sh"

long_ago=1000000000
in_the_future=9000000000

test_the_host_of_the_sm_has_the_daemons_directory_before_the_daemon() {
    prepare
    succeeds install --sm
    prints 'oneib oneib 755' on_machine stat -c '%U %G %a' /var/lib/oneib
    succeeds install --sm
    has_not "$work/output" 'make the user'
}

test_a_directory_of_roots_in_its_place_becomes_the_daemons() {
    prepare
    mkdir -m 700 "$root/var/lib/oneib"
    succeeds install --sm
    prints 'oneib oneib 755' on_machine stat -c '%U %G %a' /var/lib/oneib
}

# A container, or a root directory that is being made.
test_a_machine_without_systemds_tools_has_them_too() {
    prepare
    printf '#!/bin/sh\nPATH=/standins:/tools exec "$@"\n' >"$root/standins/without-systemd"
    chmod 755 "$root/standins/without-systemd"
    mkdir "$root/tools"
    for tool in /usr/bin/* /usr/sbin/*; do
        case ${tool##*/} in systemd*) ;; *) ln -sf "$tool" "$root/tools/" ;; esac
    done
    succeeds on_machine without-systemd "$SOURCES/install.sh" --build "$BUILD" --prefix "$PREFIX" --sm
    prints 'oneib oneib 755' on_machine stat -c '%U %G %a' /var/lib/oneib
    prints 'oneib:/var/lib/oneib:/usr/sbin/nologin' sh -c "grep ^oneib: '$root/etc/passwd' | cut -d: -f1,6,7"
}

test_a_dry_run_makes_neither() {
    prepare
    succeeds install --sm --dry-run
    has "$work/output" '^would make the user oneib$'
    has "$work/output" '^would make the directory /var/lib/oneib$'
    fails on_machine id oneib
    fails test -e "$root/var/lib/oneib"
    equal 'calls that change something' "$(calls | grep -v ^show)" ''
}

test_a_dry_run_tells_of_the_restart() {
    prepare
    succeeds install --sm
    runs_since oneibd.service $in_the_future
    echo old >"$root.prefix/sbin/oneibd"
    succeeds install --sm --dry-run
    has "$work/output" '^would restart oneibd.service for its new program'
}

test_oneibd_is_not_started_before_it_has_a_configuration() {
    prepare
    succeeds install --sm
    equal 'calls that start something' "$(calls | grep -e start -e enable)" ''
}

test_an_update_restarts_a_daemon_whose_program_has_changed() {
    prepare
    succeeds install --sm
    runs_since oneibd.service $long_ago
    forget_calls
    succeeds install --sm
    has "$work/output" 'restart oneibd.service.* no VM notices'
    prints "daemon-reload
restart oneibd.service" sh -c "grep -v ^show $root/var/systemctl-standin/calls"
}

test_what_has_not_changed_runs_on() {
    prepare
    succeeds install --sm --node
    runs_since oneibd.service $in_the_future
    runs_since oneib-node.service $in_the_future
    forget_calls
    succeeds install --sm --node
    equal 'calls that restart' "$(calls | grep start)" ''
}

test_a_changed_configuration_restarts_both() {
    prepare
    succeeds install --sm --node
    soon=$(($(date +%s) + 2))
    runs_since oneibd.service $soon
    runs_since oneib-node.service $soon
    sleep 3
    echo 'site = 1;' >"$root/etc/oneib.conf.new"
    mkdir -p "$root/etc/oneib" && mv "$root/etc/oneib.conf.new" "$root/etc/oneib/oneib.conf"
    succeeds install --sm --node
    has "$root/var/systemctl-standin/calls" '^restart oneibd.service$'
    has "$root/var/systemctl-standin/calls" '^restart oneib-node.service$'
}

test_a_configuration_that_is_refused_leaves_the_old_daemon_running() {
    prepare
    succeeds install --sm
    runs_since oneibd.service $long_ago
    echo 'nonsense' | write "$root/etc/oneib/oneib.conf"
    forget_calls
    fails install --sm
    has "$work/output" 'oneibd.service goes on as it was.*/etc/oneib/oneib.conf'
    equal 'calls that restart' "$(calls | grep start)" ''
}

test_the_nodes_service_is_started_once() {
    prepare
    succeeds install --node
    has "$root/var/systemctl-standin/calls" '^enable oneib-node.service$'
    has "$root/var/systemctl-standin/calls" '^restart oneib-node.service$'
}

test_the_part_that_asks_libvirt_has_a_user_of_its_own() {
    prepare
    succeeds install --node
    prints 'oneib-node:/:/usr/sbin/nologin' sh -c "grep ^oneib-node: '$root/etc/passwd' | cut -d: -f1,6,7"
    fails on_machine id oneib
}

test_a_node_without_opennebulas_group_is_told_what_to_do() {
    prepare
    sed -i /^oneadmin:/d "$root/etc/group"
    fails install --node
    has "$work/output" 'no group oneadmin: install .*systemctl start oneib-node'
    has "$root/var/systemctl-standin/calls" '^enable oneib-node.service$'
    equal 'calls that start' "$(calls | grep '^restart')" ''
}

# The service has several: that one of them runs as it was would be seen by nobody.
test_the_nodes_service_is_restarted_for_each_program_that_it_starts() {
    prepare
    succeeds install --node
    for program in oneib-domains oneib-grants; do
        runs_since oneib-node.service $in_the_future
        echo old >"$root.prefix/libexec/oneib/$program"
        forget_calls
        succeeds install --node
        has "$root/var/systemctl-standin/calls" '^restart oneib-node.service$'
    done
}

test_a_changed_socket_is_restarted_with_its_service() {
    prepare
    succeeds install --node
    echo old >"$root.prefix/lib/systemd/system/oneib-node.socket"
    forget_calls
    succeeds install --node
    has "$root/var/systemctl-standin/calls" '^restart oneib-node.socket$'
    has_not "$root/var/systemctl-standin/calls" '^restart oneib-node-read.socket$'
}

test_taking_away_stops_and_disables_first() {
    prepare
    succeeds install --sm --node
    runs_since oneibd.service $long_ago
    forget_calls
    succeeds install --uninstall --sm --node
    has "$root/var/systemctl-standin/calls" '^disable --now oneibd.service$'
    has "$root/var/systemctl-standin/calls" '^disable --now oneib-node.socket oneib-node-read.socket oneib-node.service$'
    has "$work/output" '/var/lib/oneib stays'
    fails test -e "$root.prefix/sbin/oneibd"
    succeeds test -d "$root/var/lib/oneib"
}

test_a_node_whose_vms_have_virtual_functions_keeps_its_service() {
    prepare
    succeeds install --sm --node
    mkdir -p "$root/run/oneib"
    echo 'vf=0000:81:00.1 ...' >"$root/run/oneib/vfs"
    forget_calls
    fails install --uninstall --sm --node
    has "$work/output" 'virtual functions .*oneib hca.*: migrate or end these VMs'
    equal 'calls that change something' "$(calls | grep -v ^show)" ''
    succeeds test -e "$root.prefix/libexec/oneib/oneib-node"
    succeeds test -e "$root.prefix/sbin/oneibd"
    : >"$root/run/oneib/vfs"
    succeeds install --uninstall --sm --node
    fails test -e "$root.prefix/libexec/oneib/oneib-node"
}

test_under_destdir_nothing_of_the_machine_is_touched() {
    prepare
    succeeds on_machine env DESTDIR=/tmp/staged "$SOURCES/install.sh" --build "$BUILD" --prefix "$PREFIX" --sm --node
    succeeds on_machine env DESTDIR=/tmp/staged "$SOURCES/install.sh" --prefix "$PREFIX" --uninstall --sm --node
    equal calls "$(calls)" ''
    fails on_machine id oneib
    fails test -e "$root/var/lib/oneib"
}

run_tests
