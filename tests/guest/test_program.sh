# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# The program: oneib-guest network, decode, is-dummy, with everything behind it.
# shellcheck source=tests/guest/check.sh
. "$GUEST_TESTS/check.sh"
# shellcheck source=tests/guest/machine.sh
. "$GUEST_TESTS/machine.sh"

test_each_interface_gets_what_its_nic_says() {
    a_machine
    succeeds guest network
    addresses_are ib0 10.20.0.10/16 2001:db8::a/64
    addresses_are ib1 10.30.0.10/24
    in_ip -o link show >"$work/links"
    has "$work/links" '^[0-9]*: ib0: <.*UP.*> mtu 4092 '
    has "$work/links" '^[0-9]*: ib1: <.*UP.*> mtu 2044 '
    has "$work/links" '^[0-9]*: eth0: <.*UP.*>'
    has_not "$work/links" '^[0-9]*: eth[12]: <.*UP.*>'
    in_ip -4 route show dev ib0 >"$work/routes"
    has "$work/routes" '^default via 10.20.0.1 '
    equal mounts "$(cat "$root/mounts")" "mount /dev/sr0
umount"
}

test_a_second_run_changes_nothing() {
    a_machine
    succeeds guest network
    in_ip -o addr show >"$work/before"
    in_ip -o link show >>"$work/before"
    : >"$work/ip/calls"
    succeeds guest network
    in_ip -o addr show >"$work/after"
    in_ip -o link show >>"$work/after"
    cmp "$work/before" "$work/after" || fail "something has changed"
    has_not "$work/ip/calls" ' (set|add|replace|del|flush) '
}

test_at_boot_managers_are_not_called() {
    a_machine
    succeeds guest network --boot
    in_ip -o link show >"$work/links"
    has_not "$work/links" '^[0-9]*: eth[12]: <.*UP.*>'
}

test_an_interface_that_cannot_be_configured_is_a_failure_of_its_own() {
    a_machine
    fails guest_failing '*addr*10.20.0.10*' network
    addresses_are ib1 10.30.0.10/24
}

# guest_failing PATTERN WORD...: with a stand-in of ip that refuses calls like this.
guest_failing() {
    mkdir -p "$work/failing"
    printf '#!/bin/sh\nIP_FAILS="%s" exec "%s/standins/ip" "$@"\n' "$1" "$GUEST_TESTS" >"$work/failing/ip"
    chmod 755 "$work/failing/ip"
    shift
    (PATH=$work/failing:$PATH && guest "$@")
}

test_settings_that_cannot_be_written_change_nothing() {
    a_machine
    succeeds guest network
    rm -r "$root/run/oneib/nics"
    : >"$root/run/oneib/nics"
    status=0
    guest network >"$work/output" 2>&1 || status=$?
    equal status "$status" 3
    has "$work/output" '^oneib: the settings of interfaces cannot be written'
    addresses_are ib0 10.20.0.10/16 2001:db8::a/64
}

test_only_root_can_hold_a_lock() {
    a_machine
    succeeds guest network
    for lock in network context; do equal "mode of lock.$lock" "$(stat -c %a "$root/run/oneib/lock.$lock")" 600; done
}

# a_host: what the program looks at to name members.
a_host() {
    mkdir -p "$root/proc/sys/kernel" "$root/etc"
    echo node1 >"$root/proc/sys/kernel/hostname"
    echo '100.50 90.00' >"$root/proc/uptime"
    echo 'processor : 0' >"$root/proc/cpuinfo"
    echo '127.0.0.1 localhost' >"$root/etc/hosts"
}

test_a_vm_alone_names_itself() {
    a_machine
    a_host
    succeeds guest network
    succeeds guest cluster
    has "$root/etc/hosts" '^10\.20\.0\.10 '
    has "$root/etc/hosts" '^127\.0\.0\.1 localhost$'
    [ -s "$root/etc/oneib/hostfile" ] || fail "there is no hostfile"
}

# Each mount is a line in the kernel's log, and the timer calls twice a minute.
test_members_are_refreshed_without_mounting_the_context_again() {
    a_machine
    a_host
    succeeds guest cluster --if-changed
    equal 'mounts without a copy of the context' "$(grep -c '^mount ' "$root/mounts")" 1
    succeeds guest cluster --if-changed
    equal 'mounts with one' "$(grep -c '^mount ' "$root/mounts")" 1
    rm "$root/etc/oneib/hostfile"
    succeeds guest cluster --if-changed
    equal 'mounts when there is something to do' "$(grep -c '^mount ' "$root/mounts")" 1
    [ -s "$root/etc/oneib/hostfile" ] || fail "there is no hostfile"
    succeeds guest cluster
    equal 'mounts when called by hand' "$(grep -c '^mount ' "$root/mounts")" 2
}

test_without_a_context_the_timer_says_nothing() {
    a_machine
    a_host
    rm -r "$root/dev/sr0"
    succeeds guest cluster --if-changed
    equal 'what it said' "$(cat "$work/output")" ''
    succeeds guest cluster
    has "$work/output" 'there is no context: this VM is taken to be alone'
}

test_runs_wait_for_each_other() {
    a_machine
    mkdir -p "$root/run/oneib"
    (
        flock 9
        sleep 1
        echo first >>"$work/order"
    ) 9>"$root/run/oneib/lock.network" &
    sleep 0.3
    succeeds guest network
    echo second >>"$work/order"
    wait
    equal order "$(tr '\n' ' ' <"$work/order")" 'first second '
}

test_decode_prints_as_oneib_does() {
    prints '10.20.0.10 index 0' guest decode aa:00:0a:14:00:0a
    prints '10.20.0.10 index 0
255.255.0.1 index 15' guest decode aa:00:0a:14:00:0a AA:0F:FF:FF:00:01
    printf 'aa:00:0a:14:00:0a\naa:0f:ff:ff:00:01\n' >"$work/macs"
    equal 'of standard input' "$(guest decode - <"$work/macs")" '10.20.0.10 index 0
255.255.0.1 index 15'
    status=0
    guest decode aa:10:0a:14:00:0a aa:00:0a:14:00:0a >"$work/output" 2>"$work/errors" || status=$?
    equal status "$status" 2
    equal output "$(cat "$work/output")" '10.20.0.10 index 0'
    has "$work/errors" "^oneib: 'aa:10:0a:14:00:0a' is not a dummy MAC such as aa:00:0a:14:00:0a"
}

test_is_dummy_tells_by_its_exit_status() {
    a_machine
    succeeds guest is-dummy eth1
    for name in eth0 ib0 eth9 '' ../../etc; do fails guest is-dummy "$name"; done
}

test_a_wrong_call_is_refused() {
    for words in '' 'help' 'network --bot' 'network --boot x' 'cluster x' 'cluster --if-changed x' 'status x' 'decode' 'is-dummy' 'is-dummy a b' '-x'; do
        status=0
        # shellcheck disable=SC2086 # words
        guest $words >"$work/output" 2>"$work/errors" || status=$?
        equal "status of '$words'" "$status" 2
        equal 'standard output' "$(cat "$work/output")" ''
        has "$work/errors" '^usage: oneib-guest network'
    done
    [ ! -e "$work/ip/calls" ] || fail "ip was called"
}

test_help_and_version_are_printed() {
    guest --help >"$work/help"
    for verb in network cluster status decode is-dummy; do has "$work/help" "oneib-guest $verb"; done
    [ "${ONEIB_COMMAND-}" ] || fail "ONEIB_COMMAND is to be the program oneib: run this with ctest"
    prints "$("$ONEIB_COMMAND" --version | sed 's/oneib/oneib-guest/')" guest --version
}

test_a_library_has_no_side_effect_when_it_is_read() {
    for library in "$context"/lib/*.sh; do
        prints '' sh -c '. "$1"' sh "$library"
        equal messages "$(cat "$work/errors")" ''
    done
    equal files "$(ls -A "$root")" ''
}

test_nothing_of_a_value_is_evaluated_anywhere() {
    if grep -nE '(^|[^a-z_])eval([^a-z_]|$)' "$context/oneib-guest" "$context"/lib/* >"$work/evals"; then
        fail "$(cat "$work/evals")"
    fi
}

run_tests
