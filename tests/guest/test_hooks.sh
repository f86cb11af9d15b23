# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# share/context/{hooks,udev,systemd,periodic}: what calls the program, when, and with what of the caller's.
# shellcheck source=tests/guest/check.sh
. "$GUEST_TESTS/check.sh"

# Hooks whose /usr/sbin/oneib-guest is a stand-in: it records how it was called and with which environment, and ends with
# what is in $work/status.
prepare() {
    echo 0 >"$work/status"
    write "$work/oneib-guest" <<END
#!/bin/sh
echo "\$*" >>"$work/calls"
env >>"$work/environment"
read -r status <"$work/status"
exit "\$status"
END
    chmod 755 "$work/oneib-guest"
    for file in "$context"/hooks/* "$context"/periodic/*; do
        has "$file" /usr/sbin/oneib-guest
        sed "s|/usr/sbin/oneib-guest|$work/oneib-guest|" "$file" >"$work/${file##*/}"
    done
    : >"$work/calls"
    : >"$work/environment"
}

run() { # SCRIPT ARGUMENT...: under the shell of this run
    case $GUEST_SHELL in
    busybox) busybox sh "$@" ;;
    *) "$GUEST_SHELL" "$@" ;;
    esac
}

hook() { # NAME ARGUMENT...
    name=$1
    shift
    run "$work/$name" "$@"
}

calls() {
    tr '\n' ';' <"$work/calls"
}

test_at_boot_files_are_written_before_managers_run() {
    prepare
    succeeds hook loc-11-oneib local ''
    equal calls "$(calls)" 'network --boot;'
}

test_when_opennebula_reconfigures_managers_are_told() {
    prepare
    succeeds hook loc-11-oneib local reconfigure
    succeeds hook loc-11-oneib local force
    equal calls "$(calls)" 'network;network;'
}

test_the_online_stage_is_left_to_the_next_one() {
    prepare
    succeeds hook loc-11-oneib online ''
    succeeds hook loc-11-oneib online reconfigure
    equal calls "$(calls)" ''
}

test_when_the_network_is_up_interfaces_are_checked_and_members_asked_for() {
    prepare
    succeeds hook net-16-oneib network ''
    equal calls "$(calls)" 'network;cluster;'
}

test_hooks_do_nothing_at_other_stages() {
    prepare
    succeeds hook net-16-oneib local ''
    succeeds hook loc-11-oneib network ''
    equal calls "$(calls)" ''
}

test_a_failure_is_the_hooks_status() {
    prepare
    echo 5 >"$work/status"
    fails hook loc-11-oneib local ''
    : >"$work/calls"
    fails hook net-16-oneib network reconfigure
    equal calls "$(calls)" 'network;cluster;'
}

test_no_variable_of_the_context_reaches_the_program() {
    prepare
    # shellcheck disable=SC2016 # as a context has it
    export ONEIB_LIBRARY=/evil ETH0_IP='$(touch /evil)' ENV="$work/evil"
    echo "touch $work/evil-ran" >"$work/evil"
    succeeds hook loc-11-oneib local ''
    succeeds hook net-16-oneib network ''
    [ ! -e "$work/evil-ran" ] || fail "ENV was read"
    equal variables "$(sed -n 's/=.*//p' "$work/environment" | grep -vx -e _ -e SHLVL -e PWD -e OLDPWD | sort -u)" PATH
    equal PATH "$(grep '^PATH=' "$work/environment" | sort -u)" PATH=/usr/sbin:/usr/bin:/sbin:/bin
}

test_cron_asks_for_members() {
    prepare
    sed "s/logger -t oneib-guest/cat/" "$work/oneib-cluster" >"$work/job"
    succeeds run "$work/job"
    equal calls "$(calls)" 'cluster --if-changed;'
}

# --- udev ---------------------------------------------------------------------------------------------------------------

event() { # [context]: with this test's /run, and with its stand-in where there is no systemd
    sed -e "s|/run/|$root/run/|g" -e "s|/usr/sbin/one-contextd|$root&|" -e "s|logger -t oneib-guest|cat >>$work/log|" \
        -e "s|'oneib-guest|'$work/oneib-guest|" "$context/udev/oneib-event" >"$work/oneib-event"
    run "$work/oneib-event" "$@"
}

test_under_systemd_an_event_leaves_a_mark() {
    prepare
    mkdir -p "$root/run/systemd/system"
    succeeds event
    succeeds event
    [ -f "$root/run/oneib/event" ] || fail "no mark"
    equal calls "$(calls)" ''
    mark=$(sed -n 's/^PathExists=//p' "$context/systemd/oneib-guest.path")
    equal 'what systemd looks at' "$mark" /run/oneib/event
    has "$context/systemd/oneib-guest.service" "^ExecStartPre=/bin/rm -f $mark\$"
}

test_without_systemd_each_event_has_a_run_of_its_own() {
    prepare
    succeeds event
    succeeds event
    tries=0
    while [ "$(calls)" != 'network;network;' ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 50 ] || fail "calls: $(calls)"
        sleep 0.1
    done
}

# As udev reads them: parts of the form KEY OPERATOR "VALUE", and the label that is gone to is there.
test_rules_are_well_formed() {
    sed -e '/^#/d' -e '/^$/d' "$context/udev/61-oneib-guest.rules" >"$work/rules"
    part='[A-Z]+(\{[A-Za-z_]+\})?(==|!=|\+=|=)"[^"]*"'
    if grep -vE "^$part(, $part)*\$" "$work/rules"; then fail "not well-formed"; fi
    sed -n 's/.*GOTO="\([^"]*\)".*/\1/p' "$work/rules" >"$work/labels"
    while read -r label; do
        has "$work/rules" "^LABEL=\"$label\"\$"
    done <"$work/labels"
    equal programs "$(sed -n 's/.*RUN+="\([^" ]*\).*/\1/p' "$work/rules" | sort -u)" /usr/lib/udev/oneib-event
}

test_a_context_that_changes_is_an_event() {
    has "$context/udev/61-oneib-guest.rules" \
        '^SUBSYSTEM=="block", ACTION=="change", .*ENV\{ID_FS_LABEL_ENC\}=="CONTEXT", RUN\+="/usr/lib/udev/oneib-event context"$'
    prepare
    mkdir -p "$root/run/systemd/system"
    succeeds event context
    [ -f "$root/run/oneib/event" ] || fail "no mark"
}

test_opennebulas_context_scripts_see_to_a_new_context_themselves() {
    prepare
    mkdir -p "$root/run/systemd/system"
    : | write "$root/usr/sbin/one-contextd"
    chmod 755 "$root/usr/sbin/one-contextd"
    succeeds event context
    [ ! -e "$root/run/oneib/event" ] || fail "a mark"
    succeeds event
    [ -f "$root/run/oneib/event" ] || fail "no mark"
}

test_units_are_what_systemd_takes() {
    command -v systemd-analyze >/dev/null || return 0
    mkdir "$work/units"
    for unit in "$context"/systemd/*; do
        # The program is not on this machine.
        sed 's|^ExecStart=/usr/sbin/oneib-guest|ExecStart=/bin/true|' "$unit" >"$work/units/${unit##*/}"
    done
    SYSTEMD_UNIT_PATH="$work/units:" systemd-analyze verify --man=no "$work"/units/* >"$work/output" 2>&1 || true
    if grep oneib "$work/output"; then fail "systemd does not take them"; fi
}

run_tests
