# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# install.sh --frontend --scheduler: which placer OpenNebula 7's scheduler asks, by its oned.conf.
# shellcheck source=tests/guest/check.sh
. "$GUEST_TESTS/check.sh"
# shellcheck source=tests/install/machine.sh
. "$INSTALL_TESTS/machine.sh"

begin='# BEGIN oneib placer: '
end='# END oneib placer'
conf=root/etc/one/oned.conf # of the directory in which each test is

# The part of OpenNebula 7.4's that is about it.
shipped() {
    cat <<'END'
PORT = 2633
#  SCHED_MAD: Scheduler driver to manage different schedulers
#SCHED_MAD = [ EXECUTABLE = "one_sched", ARGUMENTS = "-t 1 -p none" ]
SCHED_MAD = [
      EXECUTABLE = "one_sched",
      ARGUMENTS  = "-t 15 -p rank -o one_drs"
]

SCHED_MAX_WND_TIME   = 10
END
}

# A front-end whose oned.conf is standard input, as OpenNebula's packages leave it: root's, and readable to oneadmin.
front_end() {
    prepare
    mkdir -p "$root/var/lib/one/remotes" "${conf%/*}"
    cat >"$conf"
    chown 0:9869 "$conf"
    chmod 640 "$conf"
    cp "$conf" "$work/before"
}

# What oned goes by: the words of the first SCHED_MAD's ARGUMENTS.
arguments() {
    awk '/^#/ { next } /^SCHED_MAD/ { inside = 1 } inside && /ARGUMENTS/ { gsub(/.*= *"|".*/, ""); print; exit }' "$conf"
}

settings_only() { # oned.conf as --frontend alone leaves it
    sed "/^$begin/,/^$end\$/d" "$conf"
}

test_without_the_option_the_scheduler_stays_as_it_is() {
    shipped | front_end
    succeeds install --frontend
    equal 'the first SCHED_MAD' "$(arguments)" '-t 15 -p rank -o one_drs'
    has_not "$conf" "$begin"
}

test_the_first_sched_mad_asks_ib_and_is_else_the_operators() {
    shipped | front_end
    succeeds install --frontend --scheduler
    equal 'the first SCHED_MAD' "$(arguments)" '-t 15 -o one_drs -p ib'
    settings_only | head -n "$(wc -l <"$work/before")" >"$work/rest"
    succeeds cmp "$work/rest" "$work/before"
    equal 'owner and mode' "$(stat -c '%u:%g %a' "$conf")" '0:9869 640'
    equal 'what is beside it' "$(ls "${conf%/*}")" 'oned.conf
oned.conf.before-oneib'
    succeeds test -x "$root/var/lib/one/remotes/scheduler/ib/place"
}

test_what_the_placer_is_made_of_follows_the_operators_own() {
    printf '%s\n' 'sched_mad = [ arguments = "--placer=rank -t 40 -o my_drs", # -p none' \
        ' EXECUTABLE = "one_sched" ]' 'SCHED_MAD = [ EXECUTABLE = "other", ARGUMENTS = "x" ]' | front_end
    succeeds install --frontend --scheduler
    equal 'the first SCHED_MAD' "$(arguments)" '-t 40 -o my_drs -p ib'
    sed -i 's/-t 40/-t 41/' "$conf"
    sed -i "/^$begin/,/^$end\$/s/-t 41/-t 40/" "$conf"
    succeeds install --frontend --scheduler
    equal 'the first SCHED_MAD' "$(arguments)" '-t 41 -o my_drs -p ib'
}

test_an_update_without_the_option_keeps_the_placer() {
    shipped | front_end
    succeeds install --frontend --scheduler
    sed -i 's/^PORT = .*/PORT = 2634/; /"NIC\/IB_RATE"/d' "$conf"
    cp "$conf" "$work/edited"
    succeeds install --frontend
    has "$work/output" "write oneib's settings"
    equal 'the first SCHED_MAD' "$(arguments)" '-t 15 -o one_drs -p ib'
    grep -v '"NIC/IB_RATE"' "$conf" >"$work/rest"
    succeeds cmp "$work/rest" "$work/edited"
}

test_twice_is_once_and_later_is_as_at_once() {
    shipped | front_end
    succeeds install --frontend --scheduler
    cp "$conf" "$work/once"
    succeeds install --frontend --scheduler
    has_not "$work/output" '^write '
    succeeds cmp "$conf" "$work/once"
    cp "$work/before" "$conf"
    succeeds install --frontend
    succeeds install --frontend --scheduler
    succeeds cmp "$conf" "$work/once"
}

test_a_sched_mad_that_somebody_puts_in_front_is_behind_again() {
    shipped | front_end
    succeeds install --frontend --scheduler
    sed -i '1i SCHED_MAD = [ EXECUTABLE = "one_sched", ARGUMENTS = "-t 3 -p rank" ]' "$conf"
    succeeds install --frontend --scheduler
    equal 'the first SCHED_MAD' "$(arguments)" '-t 3 -p ib'
    equal 'blocks' "$(grep -c "^$begin" "$conf")" 1
}

test_uninstall_leaves_every_byte() {
    shipped | head -c -1 | front_end
    succeeds install --frontend --scheduler
    succeeds install --uninstall --frontend
    has "$work/output" 'restart it now'
    succeeds cmp "$conf" "$work/before"
    equal 'owner and mode' "$(stat -c '%u:%g %a' "$conf")" '0:9869 640'
    equal 'what is beside it' "$(ls "${conf%/*}")" oned.conf
}

test_uninstall_keeps_what_was_edited_meanwhile() {
    shipped | front_end
    succeeds install --frontend --scheduler
    sed -i 's/^PORT = .*/PORT = 2634/' "$conf"
    succeeds install --uninstall --frontend
    sed 's/^PORT = .*/PORT = 2634/' "$work/before" >"$work/edited"
    succeeds cmp "$conf" "$work/edited"
}

test_where_all_else_is_set_the_placer_alone_comes_and_goes() {
    shipped | front_end
    succeeds install --frontend
    sed -i '/^# [BE].* oneib/d' "$conf" # the operator's own now
    rm "$conf.before-oneib"
    head -c -1 "$conf" >"$work/before"
    cat "$work/before" >"$conf"
    succeeds install --frontend --scheduler
    settings_only >"$work/rest"
    succeeds cmp "$work/rest" "$work/before"
    succeeds install --uninstall --frontend
    succeeds cmp "$conf" "$work/before"
}

test_who_asks_ib_already_needs_no_block() {
    shipped | sed 's/-p rank/-p ib/' | front_end
    succeeds install --frontend --scheduler
    has "$work/output" 'asks the placer ib already'
    has_not "$conf" "$begin"
}

test_a_dry_run_tells_and_does_nothing() {
    shipped | front_end
    succeeds install --frontend --scheduler --dry-run
    has "$work/output" "would write oneib's settings"
    has "$work/output" '  the placer ib, between'
    succeeds cmp "$conf" "$work/before"
}

refused() { # REASON: with this fix, and nothing was done
    fails install --frontend --scheduler
    has "$work/output" "$1"
    succeeds cmp "$conf" "$work/before"
    equal 'what is there' "$(find "$root.prefix" "$root/var/lib/one/remotes" -type f)" ''
    rm -rf "$root" "$root.prefix" && mkdir "$root"
}

test_what_is_not_understood_is_refused_with_a_fix() {
    by_hand='write "-p ib" into the ARGUMENTS of the first SCHED_MAD by hand'
    for arguments in '-t 15 -p mine' '-t 15 -prank' '-t 15 --plac rank' '-t 15 -p' '-t 15 -p a;b' '-t 15 -- -p rank'; do
        shipped | sed "s/-t 15 .*\"/$arguments\"/" | front_end
        refused "$by_hand"
    done
    shipped | sed 's/"one_sched"/"one_sched.mine"/' | front_end
    refused "$by_hand"
    shipped | sed 's/"one_sched",/"one_sched", NAME = "x",/' | front_end
    refused "$by_hand"
    echo 'PORT = 2633' | front_end
    refused 'has no SCHED_MAD .*: leave out --scheduler'
}

test_blocks_that_somebody_tore_apart_are_refused() {
    for edit in "/^$end\$/d" "/^$begin/d" "/^$end\$/{h;d};\$G" "/^$begin/{h;d};\$G"; do
        shipped | front_end
        succeeds install --frontend --scheduler
        sed -i "$edit" "$conf"
        cp "$conf" "$work/torn"
        for options in --frontend '--frontend --scheduler' '--uninstall --frontend'; do
            # shellcheck disable=SC2086 # words
            fails install $options
            has "$work/output" 'put that in order first'
            succeeds cmp "$conf" "$work/torn"
        done
        rm -rf "$root" "$root.prefix" && mkdir "$root"
    done
}

test_the_step_of_a_package_does_the_same() {
    shipped | front_end
    succeeds install --frontend
    succeeds on_machine "$PREFIX/share/oneib/install/oned-conf" --scheduler
    equal 'the first SCHED_MAD' "$(arguments)" '-t 15 -o one_drs -p ib'
    succeeds on_machine "$PREFIX/share/oneib/install/oned-conf" --uninstall
    succeeds cmp "$conf" "$work/before"
    rm -r "$root/var/lib/one/remotes/scheduler"
    fails on_machine "$PREFIX/share/oneib/install/oned-conf" --scheduler
    has "$work/output" 'scheduler/ib/place, without which'
}

test_the_option_is_for_installing_a_front_end() {
    shipped | front_end
    fails install --node --scheduler
    has "$work/output" '--scheduler is for --frontend'
    fails install --uninstall --frontend --scheduler
    has "$work/output" 'without --scheduler'
}

run_tests
